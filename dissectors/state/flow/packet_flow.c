/* The only way by which packets change the state. A packet passes three steps.
 *
 * - Judge: whether the packet is new, late or a retransmission, and what its receiver does with it.
 * - Place: the packet gets its link, and a WRITE its position in the byte stream.
 * - Take in: at once if the receiver takes the packet in now; after a PSN gap, when the receiver
 *   acknowledges the packet. A packet that was taken in before changes nothing, and a packet that
 *   the receiver discarded counts when it is retransmitted.
 *
 * The second step is in place_packet.c, the third in deferred.c. message_flow.c takes in the
 * messages of SENDs, which are known only after their packet. The functions report_*() add events
 * for the user; report_retransmission() also notes in the state that packets were retransmitted
 * (`has_trouble`).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet_flow.h"

#include <stdio.h>

#include "credits.h"
#include "deferred.h"
#include "place_packet.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

#define ABSENT_MAX 131072 /* maximum number of packets that may be missing before the first captured
                             packet of a flow */

#define LATE_MIN (10 * SMCR_TIME_MILLISECOND) /* shortest time after its acknowledgement by which a
                                                 request counts as captured late */
#define LATE_REQUESTS 8 /* number of requests that are captured late until this is reported */

/* ---- judge: what happened to a packet ---- */

/* Reports that the peer has stopped answering, so the bytes on their way to the peer may be lost.
 * The event is added to the arriving retransmission. A second pass does not show the event if later
 * packets show that the peer still sends (smcr_doubt_heard()). */
static void
report_silence(const smcr_arrival_t *arrival)
{
    static const char text[] =
        "Peer silent: third retransmission of the packet, no answer";
    smcr_cost_t cost = smcr_cost_of_group(arrival->qp->link->lgr);
    char what[sizeof text + 64];

    if (cost.open_conns > 1 && smcr_cost_is_loss(&cost))
        snprintf(what, sizeof what, "%s; on %u connections of the link group", text,
                 cost.open_conns);
    else
        g_strlcpy(what, text, sizeof what);
    smcr_cost_report(arrival, SMCR_EVENT_silent, what, &cost)->deferred_check =
        smcr_doubt_heard(arrival);
}

/* Reports the packet if it is a retransmission. Also reports the peer if the packet proves that the
 * peer has stopped answering. A retransmission after the end of the link group has an event of its
 * own: the peer does not receive it any more, so its silence is not reported. Notes a
 * retransmission in `has_trouble`. */
static void
report_retransmission(const smcr_arrival_t *arrival, const smcr_flow_verdict_t *verdict)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;

    arrival->state->has_trouble |= verdict->order == SMCR_FLOW_IS_RETRANSMISSION;
    if (verdict->order == SMCR_FLOW_IS_RETRANSMISSION)
        smcr_event_add(arrival,
                       lgr->ended_frame ? SMCR_EVENT_sent_to_nobody : SMCR_EVENT_retransmission,
                       NULL);
    /* not if the state of the link is uncertain: a missing message of the peer may have ended the
     * group */
    if (verdict->peer_silent && !lgr->ended_frame && smcr_evidence_knows_link(arrival->qp->link))
        report_silence(arrival);
}

/* Reports the packet if its payload is longer than the MTU of the link, which has to be known. */
static void
report_above_mtu(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;
    int mtu = smcr_link_mtu(qp->link);

    /* not on a deleted link: its queue pair numbers may be reused by another program */
    if (mtu && arrival->roce->payload_length > mtu && !qp->link->deleted_frame)
        smcr_event_add(arrival, SMCR_EVENT_above_mtu,
                       "The packet has %d bytes, but the MTU of the link is %d",
                       arrival->roce->payload_length, mtu);
}

/* Whether the length in the RETH contradicts the data of the packet: a WRITE of one packet has as
 * many bytes, and the first packet of several has fewer (InfiniBand, volume 1, 9.4.3). */
static bool
has_wrong_length(const smcr_ib_headers_t *roce)
{
    const smcr_ib_operation_t *operation = &smcr_ib_operations[roce->opcode];
    uint32_t length = (uint32_t)roce->payload_length;

    if (!operation->is_write || !operation->begins || !roce->has_reth)
        return false;
    return operation->ends ? roce->dma_length != length : roce->dma_length <= length;
}

/* Reports the RDMA WRITE if its lengths contradict each other. */
static void
report_wrong_length(const smcr_arrival_t *arrival)
{
    const smcr_ib_headers_t *roce = arrival->roce;

    if (roce->is_short)
        smcr_event_add(arrival, SMCR_EVENT_write_length,
                       "The packet is shorter than its headers");
    else if (has_wrong_length(roce))
        smcr_event_add(arrival, SMCR_EVENT_write_length,
                       "The packet has %d bytes of data, but the length in its RETH is %u",
                       roce->payload_length, roce->dma_length);
}

/* Notes, in `arrival->other_first_psn`, a first captured packet whose PSN does not fit the PSN that
 * its sender announced in CLC or ADD LINK: it is lower, or more than ABSENT_MAX higher. */
static void
note_initial_psn(smcr_arrival_t *arrival)
{
    const smcr_flow_t *flow = &arrival->qp->traffic.flow;

    if (!flow->first || flow->psn_history.used)
        return;
    uint32_t announced = (uint32_t)(flow->first & SMCR_PSN_MASK);
    int32_t ahead = smcr_psn_distance(announced, arrival->roce->psn);
    if (ahead < 0 || ahead > ABSENT_MAX)
        arrival->other_first_psn = announced + 1;
}

/* Whether a request that is captured after its acknowledgement shows that the capture is out of
 * order. If it fills a sequence gap, it may be a retransmission instead, and the capture misses the
 * first transmission; not so in a file that is not sorted, where it is older than its
 * acknowledgement. */
static bool
shows_disorder(const smcr_arrival_t *arrival, const smcr_flow_verdict_t *verdict)
{
    return verdict->order == SMCR_FLOW_IS_NEXT ||
           arrival->when.time < arrival->qp->traffic.flow.acked_time;
}

/* Notes that the request of `arrival` is captured after its acknowledgement, and how long after. */
static void
note_disorder(const smcr_arrival_t *arrival, const smcr_flow_t *flow)
{
    smcr_state_t *state = arrival->state;
    uint64_t sent = arrival->when.time, acked = flow->acked_time;

    state->is_out_of_order = true;
    if (!state->disordered.frame)
        state->disordered = arrival->when;
    if (sent > acked)
        state->disorder_most = MAX(state->disorder_most, sent - acked);
    state->disorder_widest =
        MAX(state->disorder_widest, MAX(sent, acked) - MIN(sent, acked));
}

/* Reports once that the times of the capture do not show the order of packets: the eighth request,
 * in the order of its flow, comes LATE_MIN or more after its acknowledgement. Fewer ones, or ones
 * that come less late, have other causes: the capture has only the retransmission of a request, or
 * it has the packets of two receive queues of its host. */
static void
report_disorder(const smcr_arrival_t *arrival, const smcr_flow_t *flow)
{
    smcr_state_t *state = arrival->state;

    if (arrival->when.time < flow->acked_time + LATE_MIN)
        return;
    if (++state->captured_late == LATE_REQUESTS)
        smcr_event_add(arrival, SMCR_EVENT_captured_late, NULL);
}

/* Takes in a request that is captured after its acknowledgement: it gives no times. */
static void
take_in_acked(smcr_arrival_t *arrival, const smcr_flow_verdict_t *verdict)
{
    const smcr_flow_t *flow = &arrival->qp->traffic.flow;

    if (shows_disorder(arrival, verdict))
        note_disorder(arrival, flow);
    arrival->first_sent = (smcr_when_t){0, 0};
    if (verdict->order == SMCR_FLOW_IS_NEXT)
        report_disorder(arrival, flow);
}

/* Judges a request by its PSN. Reports a retransmission, a silent peer, a payload above the MTU,
 * and lengths that contradict each other. Notes that the capture is out of order, if it has the
 * request after its acknowledgement. Returns what the receiver does with the request. */
static smcr_flow_receiver_action_t
judge_request(smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    note_initial_psn(arrival);
    report_above_mtu(arrival);
    report_wrong_length(arrival);
    smcr_flow_verdict_t verdict =
        smcr_outcome_judge(arrival, &qp->traffic, &smcr_qp_peer(qp)->traffic);
    bool is_new = verdict.order == SMCR_FLOW_IS_NEXT && !verdict.first_missing;
    bool is_first = is_new || smcr_flow_is_out_of_order(verdict.order, verdict.step);
    if (is_first && verdict.psn <= qp->traffic.flow.acked_psn)
        take_in_acked(arrival, &verdict);
    report_retransmission(arrival, &verdict);
    if (verdict.receiver_action == SMCR_FLOW_RECEIVER_HAD_IT)
        smcr_evidence_pass_over(arrival);
    return verdict.receiver_action;
}

/* ---- packets ---- */

/* Takes in a request: judges the packet, takes in deferred packets that precede it, and gives a
 * WRITE or a part of a SEND its place. Whole SENDs are taken in later, by smcr_state_llc() or
 * smcr_state_cdc(). */
static void
take_in_request(smcr_arrival_t *arrival)
{
    const smcr_ib_operation_t *operation = &smcr_ib_operations[arrival->roce->opcode];
    smcr_flow_receiver_action_t action = judge_request(arrival);

    if (action == SMCR_FLOW_RECEIVER_TAKES || action == SMCR_FLOW_RECEIVER_WAITS)
        smcr_state_credits_use(arrival);
    if (action == SMCR_FLOW_RECEIVER_TAKES) {
        smcr_state_take_in_deferred(arrival, arrival->qp, arrival->psn);
        smcr_state_drop_deferred(arrival);
    }
    smcr_rules_check_request(arrival);
    if (operation->fetches_data)
        smcr_evidence_pass_over(arrival); /* the opcode may be wrong: a WRITE */
    if (operation->is_write)
        smcr_state_place_write(arrival);
    else
        smcr_state_place_send(arrival);
}

/* Gives a link to the WRITE packets that came to `qp` before `qp` was known. `taken`: true if a
 * message has made `qp` known: then the WRITEs are judged and placed as requests. False if an
 * acknowledgement has made `qp` known: then only their link is set, and their held bytes are freed.
 * WRITEs of another device than that of the peer get no link. Returns `qp`. */
static smcr_qp_t *
adopt_unknown_qp_writes(smcr_state_t *state, smcr_qp_t *qp, bool taken)
{
    const smcr_qp_t *sender = smcr_qp_peer(qp);
    wmem_list_t *writes = smcr_orphan_take_unknown_qp(state, &qp->key);

    SMCR_LIST_EACH(const smcr_orphan_write_t *, orphan, writes) {
        /* otherwise the packet was sent to an earlier queue pair with this number */
        bool is_from_peer = smcr_gid_is_same(orphan->headers.source, sender->key.gid);
        if (!is_from_peer || !taken)
            smcr_held_drop(state, orphan->write_location);
        if (!is_from_peer)
            continue;
        smcr_record_t gone = smcr_record_new();
        gone.kind = SMCR_RECORD_WRITE;
        gone.write_location = orphan->write_location;
        if (taken)
            take_in_request(&(smcr_arrival_t){.state = state, .roce = &orphan->headers, .qp = qp,
                                              .when = orphan->when, .record = &gone});
        smcr_place_late_t *late = smcr_place_late(orphan->write_location);
        late->link = qp->link;
        late->sender = sender->side;
        smcr_place_rare_t *more = smcr_place_make_rare(state, orphan->write_location);
        more->order = gone.order;
        more->first_frame = gone.first_frame;
        more->first_time = gone.first_time;
        more->events = gone.events;
    }
    if (writes)
        wmem_destroy_list(writes);
    return qp;
}

/* Takes in an acknowledgement, NAK or RNR NAK. The deferred requests that the response covers are
 * taken in last. smcr_outcome_answer() has to read the flow before smcr_outcome_judge() changes
 * it. */
static void
take_in_response(smcr_arrival_t *arrival)
{
    smcr_qp_t *receiver = smcr_qp_peer(arrival->qp); /* receiver of the answered requests */

    arrival->record->kind = SMCR_RECORD_ACK;
    smcr_traffic_answer_t answer = smcr_outcome_answer(arrival, &receiver->traffic);
    smcr_unacked_acknowledge(&receiver->unacked, &arrival->state->entries, answer.acked_psn,
                             arrival->when);
    smcr_outcome_judge(arrival, &arrival->qp->traffic, &receiver->traffic);
    smcr_state_take_in_deferred(arrival, receiver, receiver->traffic.flow.expected_psn);
}

/* Whether the packet probably goes to a newer queue pair with the number of `qp`. Hosts reuse
 * numbers of queue pairs, and each new queue pair begins at a random PSN. So a PSN that is far from
 * the highest PSN of the flow (smcr_flow_begins_anew()) is a sign of a newer queue pair. `peer`:
 * the peer of `qp`. */
static bool
is_of_other_life(const smcr_qp_t *qp, const smcr_qp_t *peer, const smcr_ib_headers_t *roce)
{
    const smcr_flow_t *requests =
        smcr_ib_operations[roce->opcode].is_response ? &peer->traffic.flow : &qp->traffic.flow;

    return roce->opcode < SMCR_RC_OPCODES && smcr_flow_begins_anew(requests, roce->psn);
}

/* Whether the packet comes from another device than that of `peer`. `peer`: the known peer of the
 * queue pair with the receiver's number. If so, the receiver is another queue pair with the same
 * number. */
static bool
is_from_other_device(const smcr_qp_t *peer, const smcr_ib_headers_t *roce)
{
    return peer->gid_known && !smcr_gid_is_same(peer->key.gid, roce->source);
}

/* Whether the packet may belong to the known link of `qp`, after many missing packets: the link
 * still exists, as far as the capture shows, and time and PSN of the packet allow so many missing
 * packets (smcr_flow_can_go_on()). */
static bool
can_go_on(const smcr_arrival_t *arrival, const smcr_qp_t *qp)
{
    return !qp->link->deleted_frame && !qp->link->lgr->ended_frame &&
           smcr_flow_can_go_on(&qp->traffic.flow, arrival->roce->psn, arrival->when);
}

/* Whether the content of a packet proves that the packet belongs to the link of `qp`, though its
 * PSN is far from the highest PSN of the flow. This is so in two cases:
 *
 * - The packet writes to an RMB element of an open connection, and the link may go on
 *   (can_go_on()).
 * - It has a CDC message of a connection that its sender has not closed (`goes_on`).
 *
 * A newer queue pair with the same number would have other RMBs and connections. */
static bool
proves_link(const smcr_arrival_t *arrival, const smcr_qp_t *qp)
{
    return arrival->goes_on || (smcr_write_names_open_conn(arrival, qp) && can_go_on(arrival, qp));
}

/* Called before smcr_state_packet(), which would reject the packet: only its message proves that
 * the flow goes on. */
bool
smcr_state_cdc_goes_on(smcr_arrival_t *arrival, uint32_t token)
{
    smcr_qp_t *qp = smcr_qp_find(arrival->state, &arrival->roce->destination);

    if (!qp || is_from_other_device(smcr_qp_peer(qp), arrival->roce) || !can_go_on(arrival, qp))
        return false;
    const smcr_conn_t *conn = smcr_conn_find(arrival->state, qp->link->lgr, qp->side, token);
    arrival->goes_on = conn && !conn->merged_into &&
                       !smcr_conn_side_has_closed(&conn->side[!qp->side]);
    return arrival->goes_on;
}

/* Finds the queue pair that receives an acknowledgement, by a link of which only the queue pair
 * that sends the acknowledgement is known (smcr_link_of_ack()). The receiver becomes the other
 * queue pair of this link. `qp`: the queue pair with the receiver's number, whose peer is not
 * known; NULL: no such queue pair is known. Returns the receiver; NULL: not known. */
static smcr_qp_t *
find_receiver_of_ack(const smcr_arrival_t *arrival, smcr_qp_t *qp)
{
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_link_t *link = smcr_link_of_ack(arrival->state, roce, arrival->when);

    if (!link)
        return qp;
    if (!qp)
        return adopt_unknown_qp_writes(
            arrival->state, smcr_link_learn_qp_of_ack(arrival->state, link, roce), false);
    smcr_join_links(arrival->state, link, &roce->destination);
    return smcr_qp_find(arrival->state, &roce->destination);
}

/* Whether the packet is an acknowledgement that may show the unknown queue pair of a link. An
 * acknowledgement names its receiver, and the PSN that it acknowledges shows the link. `qp`: queue
 * pair that receives the packet; NULL: not known. */
static bool
may_complete_link(smcr_qp_t *qp, const smcr_ib_headers_t *roce)
{
    bool is_ack = roce->opcode == SMCR_RC_ACK && !roce->has_bad_icrc;

    return is_ack && (!qp || !smcr_qp_peer(qp)->number_known);
}

/* Whether the packet, which goes to the number of `qp`, belongs to the link of `qp`. If its PSN is
 * far from the highest PSN of the flow, the content decides (proves_link()): the result is kept in
 * `arrival->goes_on`, and a packet that is not accepted is noted in the flow. */
static bool
is_of_link(smcr_arrival_t *arrival, smcr_qp_t *qp)
{
    const smcr_ib_headers_t *roce = arrival->roce;

    if (!is_of_other_life(qp, smcr_qp_peer(qp), roce))
        return true;
    arrival->goes_on = proves_link(arrival, qp);
    if (!arrival->goes_on)
        smcr_flow_note_far(&qp->traffic.flow, arrival->when.frame, roce->psn);
    return arrival->goes_on;
}

/* Finds the known SMC-R queue pair with the number and the GID of the packet's receiver; NULL:
 * there is none, or the packet is neither of the reliable connection service nor a congestion
 * notification. A second call for the same packet looks it up once more, since the message of the
 * packet may have changed what is known. */
static smcr_qp_t *
find_receiver(smcr_arrival_t *arrival)
{
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_qp_t *qp = arrival->is_qp_sought ? arrival->sought_qp
                                          : smcr_qp_find(arrival->state, &roce->destination);

    arrival->is_qp_sought = false;
    if (roce->opcode >= SMCR_RC_OPCODES && roce->opcode != SMCR_IB_CNP)
        return NULL;
    if (may_complete_link(qp, roce))
        qp = find_receiver_of_ack(arrival, qp);
    return qp;
}

/* Whether the packet is none of those that SMC-R sends while nothing goes wrong: whole SENDs, RDMA
 * WRITEs and positive acknowledgements. */
static bool
is_unusual(const smcr_ib_headers_t *roce)
{
    const smcr_ib_operation_t *operation = &smcr_ib_operations[roce->opcode];

    if (roce->opcode == SMCR_RC_ACK)
        return smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_KIND) != SMCR_IB_SYNDROME_ACK;
    return !operation->is_whole_send && !operation->is_write;
}

/* An acknowledgement may cover any PSN, so its PSN shows nothing. */
bool
smcr_state_packet_is_doubtful(const smcr_state_t *state, const smcr_ib_headers_t *roce,
                              const smcr_qp_t *receiver)
{
    if (state->has_trouble || is_unusual(roce))
        return true;
    if (roce->opcode == SMCR_RC_ACK)
        return false;
    if (!smcr_flow_is_next(&receiver->traffic.flow, roce->psn))
        return true;
    return roce->has_reth && !smcr_write_fits(state, receiver, roce);
}

/* Whether the packet is of a known link is decided before the record changes. Of a packet with a
 * wrong ICRC, only the PSN counts. */
bool
smcr_state_packet(smcr_arrival_t *arrival)
{
    const smcr_ib_headers_t *roce = arrival->roce;

    smcr_state_learns(arrival->state, arrival->when.frame);
    smcr_qp_t *qp = find_receiver(arrival);
    if (!qp)
        return false;
    smcr_qp_t *peer = smcr_qp_peer(qp);
    if (is_from_other_device(peer, roce) || !is_of_link(arrival, qp))
        return false;

    qp->link->packet_count += !roce->has_bad_icrc;
    arrival->qp = qp;
    smcr_record_set_link(arrival->record, qp->link, peer->side);
    /* The receiver discards a packet with a wrong ICRC. Any byte of the packet may be wrong, so
     * only the order of its PSN is judged. */
    if (roce->has_bad_icrc) {
        smcr_flow_verdict_t verdict = smcr_outcome_judge(arrival, &qp->traffic, &peer->traffic);
        arrival->record->kind = SMCR_RECORD_CORRUPT;
        arrival->state->has_trouble = true;
        smcr_state_note_damaged_write(arrival);
        smcr_event_add(arrival, SMCR_EVENT_icrc_bad, NULL);
        report_retransmission(arrival, &verdict);
        return true;
    }
    if (roce->opcode == SMCR_IB_CNP) {
        smcr_outcome_cnp(arrival, &qp->traffic, &peer->traffic);
        return true;
    }
    smcr_outcome_marks(arrival, &qp->traffic, &peer->traffic);
    if (smcr_ib_operations[roce->opcode].is_response)
        take_in_response(arrival);
    else
        take_in_request(arrival);
    return true;
}

/* The record says that the receiver drops the packet, so that nothing counts its bytes: the state
 * learns them at the other capture point. */
bool
smcr_state_copy(smcr_arrival_t *arrival)
{
    const smcr_state_t *state = arrival->state;
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_record_t *record = arrival->record;
    smcr_qp_t *qp = smcr_qp_find(arrival->state, &roce->destination);
    bool has_link = qp && !is_from_other_device(smcr_qp_peer(qp), roce);

    smcr_state_learns(arrival->state, arrival->when.frame);
    if (has_link)
        smcr_record_set_link(record, qp->link, smcr_qp_peer(qp)->side);
    else if (state->rdma)
        record->rdma = smcr_rdma_find(state->rdma, roce);
    record->order = SMCR_FLOW_IS_ELSEWHERE;
    record->receiver_action = SMCR_FLOW_RECEIVER_DROPS;
    if (roce->has_bad_icrc)
        record->kind = SMCR_RECORD_CORRUPT;
    else if (smcr_ib_operations[roce->opcode].is_response)
        record->kind = SMCR_RECORD_ACK;
    return record->link || record->rdma;
}

/* ---- queue pairs that no message announced ---- */

/* Whether no request of the flow has come before the packet, and the packet has the first PSN that
 * its sender announced. */
static bool
begins_as_announced(const smcr_flow_t *flow, const smcr_ib_headers_t *roce)
{
    return flow->first && !flow->psn_history.used && (flow->first & SMCR_PSN_MASK) == roce->psn;
}

/* Reports that CLC or ADD LINK has announced a wrong queue pair, `wrong`, for one end of a link.
 * Nothing is reported in two cases, which other events report: 1. the announced number is reserved;
 * 2. the link has had a CONFIRM LINK request. Nothing is reported either if the capture is out of
 * order: the announcement of this queue pair may come later. */
static void
report_link_mismatch(const smcr_arrival_t *arrival, const smcr_qp_t *wrong)
{
    bool is_announced_late = arrival->state->is_out_of_order;

    if (wrong->key.qpn >= SMCR_WIRE_QPN_MIN && !wrong->link->confirm_frame && !is_announced_late)
        smcr_event_add(arrival, SMCR_EVENT_link_mismatch,
                       "One end of the link is another queue pair than was announced");
}

/* Corrects a link for which a wrong queue pair was announced. CONFIRM LINK goes from one queue pair
 * of its link to the other. Correct peers have announced both queue pairs before, in CLC or ADD
 * LINK. `from`, `to`: sender and receiver of the message; NULL: this queue pair was not announced.
 *
 * The link is corrected under three conditions:
 *
 * - Exactly one of the two queue pairs was announced.
 * - The link of this queue pair has another queue pair with a number on its other side.
 * - The packet has the first PSN that was announced for this link.
 *
 * Then the message belongs to this link. So the other queue pair of the link was announced wrong,
 * and is forgotten. (R-3.3-5, R-A.3.1-3) */
static void
correct_announced(const smcr_arrival_t *arrival, smcr_qp_t *from, smcr_qp_t *to)
{
    if (!from == !to)
        return;
    smcr_qp_t *wrong = smcr_qp_peer(to ? to : from);
    const smcr_flow_t *flow = &(to ? to : wrong)->traffic.flow;

    if (!wrong->number_known || !begins_as_announced(flow, arrival->roce))
        return;
    report_link_mismatch(arrival, wrong);
    smcr_qp_forget_announced(arrival->state, wrong);
}

/* Sets the unknown queue pair of the sender's link to the queue pair that receives the sender's
 * CONFIRM LINK. Before, corrects a link of which the wrong queue pair was announced, and joins two
 * links that this message shows to be one. `sender_qpn`: number of the sender's queue pair. Returns
 * false, and sets no queue pair, in three cases: 1. the sender's queue pair is not known; 2. its
 * peer is known already; 3. the receiver is known already. */
static bool
completes_link(const smcr_arrival_t *arrival, uint32_t sender_qpn)
{
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_ib_qp_key_t sender = smcr_qp_key(roce->source, sender_qpn);
    smcr_qp_t *qp = smcr_qp_find(arrival->state, &sender);

    correct_announced(arrival, qp, smcr_qp_find(arrival->state, &roce->destination));
    if (qp)
        smcr_join_links(arrival->state, qp->link, &roce->destination);
    if (!qp || smcr_qp_peer(qp)->number_known || smcr_qp_find(arrival->state, &roce->destination))
        return false;
    smcr_qp_set(arrival->state, qp->link, !qp->side, &roce->destination, SMCR_GROUND_LLC);
    return true;
}

/* If the receiver's number is that of a known queue pair, but the PSN of the packet is far from the
 * PSNs of its flow, the number has been reused for a new queue pair. Packets are certainly missing
 * under two conditions: 1. the old link may go on (can_go_on()); 2. the packet is no CONFIRM LINK,
 * with which a new link begins. */
void
smcr_state_prove_qp(const smcr_arrival_t *arrival, uint32_t sender_qpn)
{
    if (sender_qpn && completes_link(arrival, sender_qpn))
        return;
    smcr_qp_t *before = smcr_qp_find(arrival->state, &arrival->roce->destination);
    if (before && is_of_other_life(before, smcr_qp_peer(before), arrival->roce)) {
        if (!sender_qpn && can_go_on(arrival, before))
            smcr_event_add(arrival, SMCR_EVENT_absent, NULL);
        smcr_link_forget_qps(arrival->state, before->link);
        before = NULL;
    }
    if (!before)
        adopt_unknown_qp_writes(arrival->state,
                                smcr_link_new_of_packet(arrival->state, arrival->roce), true);
}
