/* Rules for the order of CLC messages and of the application's bytes on TCP, and for the point
 * after which there is no way back to TCP (RFC 7609 3.2, C).
 *
 * The acknowledgement number of a segment shows which bytes its sender had received. So these rules
 * notice that an answer is missing in the capture: the receiver of the answer acknowledges bytes
 * that are not captured.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

#define PATIENCE (6 * SMCR_TIME_SECOND)      /* longest time between two CLC messages: CLC_WAIT_TIME
                                                of Linux */
#define ADD_LINK_WAIT (2 * SMCR_TIME_SECOND) /* longest wait for the ADD LINK response:
                                                SMC_LLC_WAIT_TIME of Linux */

/* ---- the order ---- */

/* The client sends Proposal and Confirm, the server sends Accept, and both may decline (R-3.2-1). A
 * message breaks the rule if it comes from the wrong side. The SYN shows which side is the
 * client. */
SMCR_RULES_CLC(check_sender)
{
    smcr_breach_report(arrival, SMCR_EVENT_clc_wrong_sender, "Only the %s sends this message",
                       smcr_arrival_role(arrival) ? "client" : "server");
}

/* Whether the connection has had a CLC message of this type (enum smcr_clc_type). */
static bool
has_message(const smcr_conn_t *conn, unsigned type)
{
    return conn->clc_types_received & 1U << type;
}

/* Whether the message is a Proposal, Accept or Confirm, and the capture has all earlier CLC bytes
 * of the connection. */
static bool
is_next_of_handshake(const smcr_rules_clc_t *message)
{
    unsigned type = message->clc->header.type;

    return type >= SMCR_CLC_PROPOSAL && type <= SMCR_CLC_CONFIRM && message->evidence.is_next;
}

/* Proposal, Accept and Confirm each come once, in this order (R-3.2-2). A message breaks the rule
 * in two cases: 1. the connection already had a message of its type; 2. the message that it answers
 * has not come. No earlier CLC byte of the connection may be missing. */
SMCR_RULES_CLC(check_order)
{
    unsigned type = message->clc->header.type;

    if (!is_next_of_handshake(message))
        return;
    if (has_message(conn, type))
        smcr_breach_report(arrival, SMCR_EVENT_clc_order, "The sender has already sent this "
                                                          "message");
    else if (type != SMCR_CLC_PROPOSAL && !has_message(conn, type - 1))
        smcr_breach_report(arrival, SMCR_EVENT_clc_order, "No %s precedes this message",
                           type == SMCR_CLC_ACCEPT ? "Proposal" : "Accept");
}

/* Whether the message is the first CLC message of the connection, and the capture has the SYN and
 * SYN-ACK. */
static bool
begins_clc(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    return arrival->span && arrival->span->has_syns && !conn->clc_types_received;
}

/* Whether a SYN or SYN-ACK without the option has come. A SYN-ACK whose options cannot be read may
 * have had it. */
static bool
lacks_option(const smcr_conn_t *conn)
{
    return !conn->option_syn || (!conn->option_synack && conn->has_synack);
}

/* CLC needs the SMC-R option of both sides (R-1-1). The first CLC message breaks the rule if the
 * SYN or SYN-ACK has no option. A Decline is allowed, since Linux sends it in this case. If the CLC
 * message is truncated by snaplen, it is not judged: the snaplen may have truncated the option,
 * too. */
SMCR_RULES_CLC(check_option)
{
    const smcr_clc_t *clc = message->clc;

    if (!lacks_option(conn) || !begins_clc(arrival, conn))
        return;
    if (clc->complete && clc->header.type != SMCR_CLC_DECLINE)
        smcr_breach_report(arrival, SMCR_EVENT_clc_no_option, "The %s has no SMC-R option",
                           conn->option_syn ? "SYN-ACK" : "SYN");
}

/* ---- time ---- */

/* A timer guards the CLC handshake. When the timer runs out, the TCP connection ends as well
 * (R-C.5-1, R-C.5-2). A CLC message or data breaks the rule if it comes more than PATIENCE after
 * the message that it answers. No earlier CLC byte of the connection may be missing. The RFC sets
 * no time; Linux uses 6 seconds. */
SMCR_RULES_CLC(check_time)
{
    const smcr_exchange_t *asked = smcr_slab_entry(&arrival->state->entries, conn->clc_step);
    uint64_t time = 0;

    if (asked && arrival->when.time > asked->request_time)
        time = arrival->when.time - asked->request_time;
    if (time > PATIENCE && message->evidence.is_next)
        smcr_breach_report(
            arrival, SMCR_EVENT_clc_late,
            "The connection continues %u.%u seconds after the message in frame %u; Linux ends it "
            "after 6 seconds", (unsigned)(time / SMCR_TIME_SECOND),
            (unsigned)(time % SMCR_TIME_SECOND / (SMCR_TIME_SECOND / 10)), asked->request_frame);
}

/* ---- errors ---- */

/* The receiver of a malformed CLC message ends the connection (R-C.6-2). A later CLC message or
 * later data of this receiver breaks the rule, if no earlier CLC byte of the connection is
 * missing. */
SMCR_RULES_CLC(check_error_kept)
{
    const smcr_rules_conn_t *kept = smcr_rules_of_conn(conn);

    if (message->evidence.is_next && kept->malformed_frame &&
        kept->malformed_by_server != smcr_arrival_role(arrival))
        smcr_breach_report(arrival, SMCR_EVENT_clc_error_kept,
                           "The message in frame %u is malformed, but its receiver continues",
                           kept->malformed_frame);
}

/* A reserved value in a first contact leads to a Decline (R-C.6-3). A Confirm breaks the rule if
 * the Accept had a reserved MTU code. Linux breaks this rule: it accepts such a code. */
SMCR_RULES_CLC(check_reserved)
{
    if (smcr_rules_of_conn(conn)->mtu_reserved)
        smcr_breach_report(
            arrival, SMCR_EVENT_clc_error_kept,
            "The MTU of the Accept is reserved, but the client continues, as Linux does "
            "(smc_ib_modify_qp_rtr())");
}

/* ---- Declines ---- */

/* In a later contact, the server does not decline after its Accept, and the client does not decline
 * after its Confirm, since the other side may already use RDMA (R-C.1-2). A Decline breaks the rule
 * if its sender has already sent the Accept or the Confirm. Returns whether the Decline breaks the
 * rule. */
static bool
check_decline_after_agreement(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    uint32_t last = smcr_arrival_role(arrival) ? conn->accept_frame : conn->confirm_frame;

    if (!last || !conn->accept_frame || conn->first_contact)
        return false;
    smcr_breach_report(arrival, SMCR_EVENT_clc_decline_late,
                       "The sender agreed in frame %u, on a link that both sides have", last);
    return true;
}

/* Whether the last CLC message of the connection came from the sender of the Decline and has no
 * answer yet. `by_server`: the server sends the Decline. False after a Confirm, which needs no
 * answer. */
static bool
has_no_answer(const smcr_conn_t *conn, bool by_server)
{
    return conn->clc_types_received && !has_message(conn, SMCR_CLC_CONFIRM) &&
           smcr_rules_of_conn(conn)->last_by_server == by_server;
}

/* A side does not decline while its last CLC message has no answer (R-C.1-1). A Decline breaks the
 * rule if it comes right after another CLC message of its sender. After the Confirm of a first
 * contact either side may decline. Whether the contact is a first contact is known only if the
 * Accept is captured. */
static void
check_unanswered_decline(const smcr_arrival_t *arrival, const smcr_conn_t *conn, bool is_next)
{
    bool by_server = smcr_arrival_role(arrival);
    bool knows_contact = !by_server || conn->accept_frame;

    if (is_next && knows_contact && has_no_answer(conn, by_server))
        smcr_breach_report(arrival, SMCR_EVENT_clc_decline_chases,
                           "The last message of the sender has no answer");
}

/* Returns the reason to doubt that the sender of the Decline had seen an LLC message before it
 * declined. `sent_message`: time and acknowledgement of the LLC message. The LLC message is on RoCE
 * and the Decline on TCP, so their order is certain only if both were captured at the same point of
 * the network. */
static smcr_doubt_t
doubt_seen_before(const smcr_arrival_t *arrival, const smcr_link_sent_message_t *sent_message)
{
    smcr_doubt_t seen = sent_message->sent
                            ? smcr_doubt_seen(arrival, sent_message->sent, sent_message->acked)
                            : (smcr_doubt_t){SMCR_DOUBT_UNSEEN, NULL};

    return smcr_doubt_or(smcr_doubt_or(smcr_doubt_message(arrival), smcr_doubt_place(arrival)),
                         seen);
}

/* Whether the server has waited for the ADD LINK response for ADD_LINK_WAIT. Linux before 5.8
 * declines after this time (R-C.7-4). */
static bool
has_given_up_add_link(const smcr_arrival_t *arrival, const smcr_link_sent_message_t *set_up)
{
    return !set_up[SMCR_RULES_SET_UP_ANSWERED].sent &&
           arrival->when.time >= set_up[SMCR_RULES_SET_UP_OFFERED].sent + ADD_LINK_WAIT;
}

/* In a first contact there are three rules for a Decline after the Confirm:
 *
 * 1. The server does not decline after the client has received ADD LINK (R-C.3-1).
 * 2. The client does not decline after the server has received the response to ADD LINK (R-C.3-1).
 * 3. No side declines after the response to CONFIRM LINK was received (R-C.2-1). The event is a
 *    NOTE, since C.3 seems to allow such a Decline.
 *
 * The acknowledgement of an LLC message proves that it was received before the Decline. If a server
 * declines since it has waited too long for the ADD LINK response, another event reports this. */
static void
check_set_up(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    bool by_server = smcr_arrival_role(arrival);
    const smcr_link_sent_message_t *set_up = smcr_rules_of_lgr(conn->lgr)->set_up;
    const smcr_link_sent_message_t *last =
        &set_up[by_server ? SMCR_RULES_SET_UP_OFFERED : SMCR_RULES_SET_UP_ANSWERED];

    if (doubt_seen_before(arrival, last).kind)
        smcr_breach_report_unless(arrival, SMCR_EVENT_clc_decline_confirmed,
                                  doubt_seen_before(arrival, &set_up[SMCR_RULES_SET_UP_CONFIRMED]),
                                  "CONFIRM LINK has completed before");
    else if (by_server && has_given_up_add_link(arrival, set_up))
        smcr_breach_report(
            arrival, SMCR_EVENT_llc_no_recovery,
            "ADD LINK has no response: the server declines, as Linux before 5.8 does "
            "(smcr_serv_conf_first_link()), instead of resetting the TCP connection");
    else
        smcr_breach_report(arrival, SMCR_EVENT_clc_decline_late,
                           "The %s for the second link was received before",
                           by_server ? "ADD LINK request" : "ADD LINK response");
}

/* The rules of check_decline_after_agreement(), check_unanswered_decline() and check_set_up().
 * Remembers the time of the first Decline of a first contact: the group ends with it
 * (use_rules.c). */
SMCR_RULES_CLC(check_decline)
{
    if (check_decline_after_agreement(arrival, conn))
        return;
    check_unanswered_decline(arrival, conn, message->evidence.is_next);
    if (!conn->first_contact || !conn->lgr)
        return;
    if (conn->confirm_frame)
        check_set_up(arrival, conn);
    if (!smcr_rules_of_lgr(conn->lgr)->declined_time)
        smcr_rules_lgr(arrival, conn->lgr)->declined_time = arrival->when.time;
}

/* ---- memory of CLC messages ---- */

/* Whether the message is a complete Accept of a first contact with SMC-R, whose MTU code is
 * reserved. */
static bool
has_reserved_mtu(const smcr_clc_t *clc)
{
    if (clc->header.type != SMCR_CLC_ACCEPT || !clc->complete || clc->smcd)
        return false;
    return clc->header.flags & SMCR_CLC_FLAG_FIRST_CONTACT &&
           !smcr_mtu_bytes(smcr_wire_bits(clc->u.accept.sizes, SMCR_MASK_MTU));
}

/* Remembers of a CLC message: its sender, whether it is malformed, whether it has a reserved MTU
 * code, and whether it is a Decline with the S flag. A retransmitted message changes nothing. If
 * two messages of the two sides have crossed on the way, the sender of the first one stays in
 * `last_by_server`: the sender of the second one had not received it. */
SMCR_RULES_CLC(note_order)
{
    const smcr_clc_t *clc = message->clc;

    if (message->evidence.is_repeat)
        return;
    smcr_rules_conn_t *kept = smcr_rules_conn(arrival, conn);
    if (!message->evidence.has_crossed)
        kept->last_by_server = smcr_arrival_role(arrival);
    if (clc->malformed) {
        kept->malformed_frame = arrival->when.frame;
        kept->malformed_by_server = smcr_arrival_role(arrival);
    }
    kept->mtu_reserved = has_reserved_mtu(clc);
    kept->out_of_sync |= clc->header.type == SMCR_CLC_DECLINE &&
                         clc->header.flags & SMCR_CLC_FLAG_OUT_OF_SYNC;
}

/* ---- bytes of the application ---- */

/* A connection that uses RDMA never returns to TCP (R-1-2). Application data on TCP breaks the rule
 * if a CDC message of the connection has come before. A connection that has fallen back to TCP is
 * not judged. */
static void
check_switch(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    uint32_t last = MAX(conn->side[0].last_cdc_frame, conn->side[1].last_cdc_frame);

    if (!conn->fallback.kind && last)
        smcr_breach_report(arrival, SMCR_EVENT_clc_data_after_switch,
                           "The connection has used RDMA, last in frame %u", last);
}

/* The CLC message that has to come before the side may send application data, for the text of the
 * event. */
static const char *
text_of_due(const smcr_conn_t *conn, bool by_server)
{
    if (has_message(conn, SMCR_CLC_ACCEPT))
        return "The Confirm of the client";
    return by_server ? "The Accept of the server" : "The answer to the Proposal";
}

/* After the Proposal, no application data comes on TCP until Confirm or Decline has ended the CLC
 * handshake (R-C.6-1). Application data breaks the rule if a CLC message has to come first. Both
 * sides must have sent the option. */
static void
check_data_instead(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    const char *due = text_of_due(conn, smcr_arrival_role(arrival));

    if (has_message(conn, SMCR_CLC_PROPOSAL) && conn->option_syn && conn->option_synack)
        smcr_breach_report(arrival, SMCR_EVENT_clc_data_instead,
                           "%s, or a Decline, has to come first", due);
}

/* Remembers the time at which the receiver of a Decline with the S flag (out of sync) had certainly
 * seen the Decline: it sends application data on TCP. From this time on the receiver knows that the
 * link group has to end. */
static void
note_out_of_sync(const smcr_arrival_t *arrival, const smcr_conn_t *conn)
{
    smcr_lgr_t *lgr = conn->lgr;
    bool by_receiver = conn->fallback.by_server != smcr_arrival_role(arrival);

    if (!lgr || !smcr_rules_of_conn(conn)->out_of_sync || !by_receiver)
        return;
    if (smcr_rules_of_lgr(lgr)->out_of_sync_time)
        return;
    smcr_rules_lgr_t *kept = smcr_rules_lgr(arrival, lgr);
    kept->out_of_sync_time = arrival->when.time;
    kept->out_of_sync_side = smcr_arrival_role(arrival) ? lgr->server : !lgr->server;
}

/* Nothing is checked if earlier CLC bytes of the connection may be missing. After a Decline the
 * connection stays on TCP, so its data are checked by check_error_kept() only. */
void
smcr_rules_check_tcp_data(const smcr_arrival_t *arrival, smcr_conn_t *conn)
{
    const smcr_rules_clc_t data = {.evidence = smcr_evidence_of_clc(arrival, conn)};

    if (!data.evidence.is_next || conn->clc_cut)
        return;
    note_out_of_sync(arrival, conn);
    smcr_rules_clc_check_error_kept(arrival, conn, &data);
    if (has_message(conn, SMCR_CLC_DECLINE))
        return;
    smcr_rules_clc_check_time(arrival, conn, &data);
    if (has_message(conn, SMCR_CLC_CONFIRM))
        check_switch(arrival, conn);
    else
        check_data_instead(arrival, conn);
}
