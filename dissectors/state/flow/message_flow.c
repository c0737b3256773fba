/* Learns LLC and CDC messages: what they change at once, and what only if the receiver takes them
 * in (deferred.h). Functions report_*() add events for the user, and change nothing else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet_flow.h"

#include "cdc_conn.h"
#include "credits.h"
#include "deferred.h"
#include "llc_flow.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

/* Reports a first captured packet that does not have the PSN that its sender announced
 * (`other_first_psn`). Only CONFIRM LINK is judged, since it is the first message of each side on a
 * link. Before any other message, packets may be missing in the capture. */
static void
report_initial_psn(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    if (arrival->other_first_psn && llc->type == SMCR_LLC_CONFIRM_LINK)
        smcr_event_add(arrival, SMCR_EVENT_psn_wrong,
                       "The first packet has PSN %u, but its sender announced %u",
                       arrival->roce->psn, arrival->other_first_psn - 1);
}

/* ---- messages ---- */

/* Whether the message has come before: the packet is a duplicate made by the network, or a
 * retransmission. A retransmission counts as new if all earlier packets with its PSN had a wrong
 * ICRC (`replaces_corrupt`). */
static bool
is_known_message(const smcr_arrival_t *arrival)
{
    uint8_t order = arrival->record->order;

    return order == SMCR_FLOW_IS_COPY ||
           (order == SMCR_FLOW_IS_RETRANSMISSION && !arrival->replaces_corrupt);
}

/* Whether the state has the content of the message: the receiver takes the message in now, or
 * discards it, since an earlier packet with its PSN was taken in. */
static bool
was_received(const smcr_arrival_t *arrival)
{
    return arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES ||
           arrival->record->receiver_action == SMCR_FLOW_RECEIVER_DROPS;
}

/* Notes the frame of a DELETE LINK whose content the state does not take in now: the message is
 * truncated by snaplen, comes after a PSN gap, or is captured out of order. Such a message may end
 * any link of its group. The links of its group count as uncertain in any case, because the message
 * counts as missing. But if the capture may miss links of the group, they may be listed in another
 * group that began before the capture, since the two objects may be one group. Only then the frame
 * is noted. */
static void
note_unread_deletion(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    bool taken = llc->complete && was_received(arrival);

    if ((llc->type & ~SMCR_LLC_TYPE_V2) == SMCR_LLC_DELETE_LINK && !taken &&
        smcr_evidence_may_lack_link(arrival->qp->link->lgr))
        arrival->state->uncertain_deletions[0] = arrival->when.frame;
}

/* Takes in an LLC message that is truncated by snaplen: its content counts as missing. But a
 * response to CONFIRM LINK shows which side is the server, whatever its content: the client sends
 * such a response. (RFC 7609 3.5.1) */
static void
take_in_cut_llc(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    const smcr_qp_t *qp = arrival->qp;
    bool confirms = (llc->type & ~SMCR_LLC_TYPE_V2) == SMCR_LLC_CONFIRM_LINK &&
                    llc->flags & SMCR_LLC_FLAG_RESPONSE;

    if (confirms && !is_known_message(arrival))
        smcr_lgr_set_server(qp->link->lgr, qp->side);
    smcr_evidence_pass_over(arrival);
}

/* A request is paired even if its receiver discards the packet, so that its retransmission is the
 * same request. */
void
smcr_state_llc(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    const smcr_qp_t *qp = arrival->qp;

    smcr_state_learns(arrival->state, arrival->when.frame);
    arrival->record->kind = SMCR_RECORD_LLC;
    bool is_taken = arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES;
    if (llc->type == SMCR_LLC_ANNOUNCE_CREDITS && llc->complete && is_taken)
        smcr_state_credits_add(arrival, llc->u.announce_credits.credits);
    if (!smcr_state_llc_is_known(llc->type) || llc->type == SMCR_LLC_ANNOUNCE_CREDITS)
        return; /* messages of unknown types change nothing in the state; ANNOUNCE CREDITS changes
                   only the credits */
    note_unread_deletion(arrival, llc);
    report_initial_psn(arrival, llc);
    if (!llc->complete) {
        take_in_cut_llc(arrival, llc);
        return;
    }
    /* Requests and responses are paired when they are sent for the first time, even if the receiver
     * discards the packet. */
    smcr_llc_t meant = *llc;
    bool requested = is_known_message(arrival) || smcr_state_llc_exchange(arrival, &meant);
    smcr_state_take_in_or_defer(arrival,
                              &(smcr_state_content_t){.llc = &meant, .requested = requested});
    smcr_record_set_link(arrival->record, qp->link, !qp->side);
}

/* Notes that a CDC message has come in the group. Returns true if the message changes nothing,
 * since the hosts have agreed on immediate data in place of CDC messages: its receiver discards it
 * (ANCK's smc_cdc.c, smc_cdc_rx_handler()), and an event reports the message. Returns false if the
 * hosts have not agreed, and for a failover validation, the only CDC message that ANCK sends then.
 * Also returns false if only WRITEs, and not CLC, have shown the agreement: then the message
 * refutes the agreement, and it is not known any more what the immediate data of the group mean. */
static bool
discard_beside_immediate(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    smcr_lgr_t *lgr = qp->link->lgr;

    lgr->has_plain_messages = true;
    if (!lgr->immediate_agreed || cdc->flags & SMCR_CDC_FLAG_FAILOVER)
        return false;
    if (!lgr->immediate_known) {
        lgr->immediate_agreed = false;
        lgr->immediate = true;
        return false;
    }
    arrival->record->conn = smcr_conn_find(arrival->state, lgr, qp->side, cdc->token);
    smcr_event_add(arrival, SMCR_EVENT_cdc_beside_immediate, NULL);
    return true;
}

/* Takes in the credits of a CDC message (credits.h), if the receiver takes the packet in now. Those
 * of a message that waits for missing PSNs are not counted. ANCK takes them in
 * before it looks for the connection (smc_cdc.c there, smc_cdc_rx_handler()). */
static void
take_in_credits(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    if (arrival->record->receiver_action != SMCR_FLOW_RECEIVER_TAKES)
        return;
    if (cdc->lacks_credits)
        smcr_state_credits_miss(arrival);
    else
        smcr_state_credits_add(arrival, cdc->credits);
}

/* The content of a truncated message counts as missing: its cursors are not known. */
void
smcr_state_cdc(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    smcr_state_learns(arrival->state, arrival->when.frame);
    arrival->record->kind = SMCR_RECORD_CDC;
    if (!cdc->complete) {
        smcr_evidence_pass_over(arrival);
        return;
    }
    smcr_rules_check_link_use(arrival);
    take_in_credits(arrival, cdc);
    if (discard_beside_immediate(arrival, cdc))
        return;
    arrival->record->conn = smcr_state_cdc_conn(arrival, cdc);
    smcr_state_take_in_or_defer(arrival,
                              &(smcr_state_content_t){.cdc = cdc, .conn = arrival->record->conn});
}

/* Called if the sender of the CDC message has closed TCP. Returns whether the sender has certainly
 * not ended SMC before: neither this message nor an earlier message reports an end of SMC. Three
 * conditions: 1. no message of the group can be missing; 2. the message is new, and no failover
 * validation; 3. the capture has TCP and RoCE in the order in which they were sent
 * (smcr_doubt_place()). */
static bool
closed_tcp_first(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_conn_side_t *sender = &arrival->record->conn->side[!qp->side];

    bool may_have_ended = cdc->state & SMCR_CDC_STATE_ENDS || smcr_conn_side_has_ended(sender);

    if (may_have_ended || cdc->flags & SMCR_CDC_FLAG_FAILOVER)
        return false;
    return smcr_doubt_is_new(arrival) && !smcr_doubt_place(arrival).kind &&
           !smcr_evidence_lacks_between(qp->link->lgr, 0, arrival->when.frame);
}

/* Notes that the last CDC message of the reader is missing, if no captured message of the reader
 * reports its end. A host closes TCP after its last CDC message, and the reader has closed TCP. So
 * it is not known how far the reader has read. */
static void
note_missing_end(const smcr_arrival_t *arrival)
{
    smcr_conn_side_t *reader = &arrival->record->conn->side[arrival->qp->side];

    if (smcr_conn_side_has_ended(reader) || !arrival->record->cdc_analysis)
        return;
    reader->last_cdc_missing = true;
    arrival->record->cdc_analysis->has_unread_bytes = false;
}

/* A connection has to be closed in SMC before TCP is closed. (R-4.8.1-8) */
void
smcr_state_check_tcp_end(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc, bool by_reset,
                         bool by_sender, bool by_reader)
{
    bool ends = (cdc->state & (SMCR_CDC_STATE_ABORT | SMCR_CDC_STATE_CLOSED)) != 0;

    if (arrival->record->receiver_action != SMCR_FLOW_RECEIVER_TAKES)
        return;
    if (by_reset && !ends)
        smcr_event_add(arrival, SMCR_EVENT_tcp_ended, NULL);
    if (by_reader)
        note_missing_end(arrival);
    if (by_sender && !by_reset && closed_tcp_first(arrival, cdc))
        smcr_event_add(arrival, SMCR_EVENT_tcp_closed_before, NULL);
}
