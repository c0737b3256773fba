/* The one way by which packets change the state. Judge the packet: how did it fare, and what did
 * its receiver do with it? Place it: on its link, and a WRITE in the byte stream, too. Take it in:
 * at once if it is the next one in its receiver's order; after a gap, when the receiver
 * acknowledges it; never if it was taken in before, or is retransmitted later. Functions tell_*()
 * report to the user on the way, and change nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet_flow.h"

#include <stdio.h>

#include "cdc_flow.h"
#include "llc_flow.h"
#include "write.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

#define DEFERRED_MAX 8192 /* packets of one queue pair: as many as a sender may have under way */
#define ABSENT_MAX 131072 /* packets that may be missing before the first one */
#define PARTS_MAX 64 /* packets of one message: 8 KiB at an MTU of 256 need 32 */

/* ---- judge: how a packet fared ---- */

/* The peer answers nothing any more: the bytes on their way to it are lost. Reported when it
 * happens. A second pass does not show it if the peer has answered later. */
static void
report_silence(const smcr_arrival_t *arrival)
{
    static const char text[] =
        "The peer has stopped answering: the packet is sent for the fourth time";
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

static void
report_retransmission(const smcr_arrival_t *arrival, const smcr_flow_verdict_t *verdict)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;

    if (verdict->order == SMCR_FLOW_IS_RETRANSMISSION)
        smcr_event_add(arrival,
                       lgr->ended_frame ? SMCR_EVENT_sent_to_nobody : SMCR_EVENT_retransmission,
                       NULL);
    /* else the peer may have ended the group by a message that is missing */
    if (verdict->peer_silent && !lgr->ended_frame && smcr_evidence_knows_link(arrival->qp->link))
        report_silence(arrival);
}

static void
report_above_mtu(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;
    int mtu = smcr_link_mtu(qp->link);

    /* later its queue pairs may be somebody else's */
    if (mtu && arrival->roce->payload_length > mtu && !qp->link->deleted_frame)
        smcr_event_add(arrival, SMCR_EVENT_above_mtu,
                       "The packet has %d bytes, but the MTU of the link is %d",
                       arrival->roce->payload_length, mtu);
}

/* A sender announces the PSN of its first packet in CLC or ADD LINK. If the
 * first captured packet has a somewhat higher PSN, earlier packets are missing. A lower PSN, or one
 * that is far ahead, is wrong. */
static void
report_initial_psn(const smcr_arrival_t *arrival)
{
    const smcr_flow_t *flow = &arrival->qp->traffic.flow;
    uint32_t announced = (uint32_t)(flow->first & SMCR_PSN_MASK);

    int32_t ahead = smcr_psn_distance(announced, arrival->roce->psn);

    if (flow->first && !flow->psn_history.used && (ahead < 0 || ahead > ABSENT_MAX))
        smcr_event_add(arrival, SMCR_EVENT_psn_wrong,
                       "The first packet has PSN %u, but its sender announced %u",
                       arrival->roce->psn, announced);
}

static smcr_flow_receiver_action_t
judge_request(smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    report_initial_psn(arrival);
    report_above_mtu(arrival);
    smcr_flow_verdict_t verdict =
        smcr_outcome_judge(arrival, &qp->traffic, &smcr_qp_peer(qp)->traffic);
    bool first = verdict.order == SMCR_FLOW_IS_NEXT || verdict.order == SMCR_FLOW_IS_LATE;
    if (first && verdict.psn <= qp->traffic.flow.acked_psn) { /* captured after its ACK */
        arrival->state->is_out_of_order = true;
        arrival->first_sent = (smcr_when_t){0, 0};
    }
    report_retransmission(arrival, &verdict);
    if (verdict.receiver_action == SMCR_FLOW_RECEIVER_HAD_IT)
        smcr_evidence_pass_over(arrival);
    return verdict.receiver_action;
}

/* The bytes of a retransmitted WRITE packet are known from its first transmission, unless the
 * connection of the first one was not known when it came. */
static void
judge_retransmitted_write(const smcr_arrival_t *arrival)
{
    smcr_record_t *record = arrival->record;
    smcr_record_t first;

    if (record->receiver_action != SMCR_FLOW_RECEIVER_DROPS ||
        record->order != SMCR_FLOW_IS_RETRANSMISSION)
        return;
    if (smcr_record_find(arrival->state, record->first_frame, SMCR_RECORD_OUTERMOST, &first) &&
        first.write_location && smcr_place_late(first.write_location))
        record->receiver_action = SMCR_FLOW_RECEIVER_HAD_IT;
}

/* ---- packets after a PSN gap ----
 *
 * A gap in the PSNs has one of two causes. Packets were lost on their way: then the receiver
 * discards all after the gap, and the sender retransmits them. Or only the capture misses
 * packets: then the receiver takes the next ones in, and its acknowledgement shows that:
 *
 *     PSN 100, 101, (102 missing), 103     103 is deferred
 *     ACK 103                              102 had reached the receiver: 103 is taken in now
 *     or: PSN 102, PSN 103 once more       103 was discarded: the retransmitted one counts */

/* What a packet brings to its receiver: one of `llc`, `cdc` and, of a WRITE packet, `place`. The
 * others are NULL. */
typedef struct {
    const smcr_llc_t *llc;         /* an LLC message */
    const smcr_cdc_t *cdc;         /* a CDC message */
    smcr_place_t *place;           /* place of the bytes of a WRITE packet */
    const smcr_ib_headers_t *roce; /* with `place`: headers of its packet */
    smcr_conn_t *conn;             /* of `cdc` or `place`; NULL: none, or not known for sure */
    bool requested;                /* `llc` is a response, and the capture has its request */
} content_t;

/* The content of a packet after a gap, and the packet. */
typedef struct {
    content_t content; /* its message and its headers are those of `copy` */
    smcr_psn_t psn;    /* of the packet, unwrapped */
    smcr_when_t when;  /* its frame; as in smcr_arrival_t */
    smcr_when_t sent;  /* when it was sent for the first time; as in smcr_arrival_t */
    uint8_t order;     /* as in smcr_record_t */
    union {            /* what `content` has */
        smcr_llc_t llc;
        smcr_cdc_t cdc;
        smcr_ib_headers_t roce;
    } copy;
} deferred_t;

static int
compare_deferred(const void *one, const void *other)
{
    smcr_psn_t a = ((const deferred_t *)one)->psn, b = ((const deferred_t *)other)->psn;

    return (a > b) - (a < b);
}

/* Inserts it in the order of PSNs, which mostly is the order of arrival. */
static void
insert_deferred(wmem_list_t *list, deferred_t *deferred)
{
    wmem_list_frame_t *last = wmem_list_tail(list);

    if (last && compare_deferred(deferred, wmem_list_frame_data(last)) < 0)
        wmem_list_insert_sorted(list, deferred, compare_deferred);
    else
        wmem_list_append(list, deferred);
}

static void
copy_message(wmem_allocator_t *scope, deferred_t *deferred)
{
    content_t *content = &deferred->content;

    if (content->cdc) {
        deferred->copy.cdc = *content->cdc;
        content->cdc = &deferred->copy.cdc;
    }
    if (content->roce) {
        deferred->copy.roce = *content->roce;
        content->roce = &deferred->copy.roce;
    }
    if (content->llc) {
        smcr_llc_t *llc = &deferred->copy.llc;
        *llc = *content->llc;
        llc->rtokens_in_message = wmem_memdup(scope, llc->rtokens_in_message,
                                              llc->rtoken_count * sizeof *llc->rtokens_in_message);
        content->llc = llc;
    }
}

/* Keeps the content of a packet that arrives after a gap. */
static void
defer_content(const smcr_arrival_t *arrival, const content_t *content)
{
    wmem_allocator_t *scope = arrival->state->scope;
    smcr_qp_t *qp = arrival->qp;

    if (!qp->deferred)
        qp->deferred = wmem_list_new(scope);
    if (wmem_list_count(qp->deferred) >= DEFERRED_MAX)
        return;
    deferred_t *deferred = wmem_new(scope, deferred_t);
    deferred->content = *content;
    deferred->psn = arrival->psn;
    deferred->when = arrival->when;
    deferred->sent = arrival->first_sent;
    deferred->order = arrival->record->order;
    copy_message(scope, deferred);
    insert_deferred(qp->deferred, deferred);
    if (content->place)
        smcr_held_new(arrival, 0);
}

/* Takes out the first of what was kept for `qp`, in the order of PSNs, that lies before `end`; NULL
 * when there is none. The caller frees it. */
static deferred_t *
take_next_deferred(smcr_qp_t *qp, smcr_psn_t end)
{
    wmem_list_frame_t *first = qp->deferred ? wmem_list_head(qp->deferred) : NULL;
    deferred_t *deferred = first ? wmem_list_frame_data(first) : NULL;

    if (!deferred || deferred->psn >= end)
        return NULL;
    wmem_list_remove_frame(qp->deferred, first);
    return deferred;
}

static void
free_deferred(smcr_state_t *state, deferred_t *deferred)
{
    if (deferred->content.place)
        smcr_held_drop(state, deferred->content.place);
    if (deferred->content.llc)
        wmem_free(state->scope, deferred->copy.llc.rtokens_in_message);
    wmem_free(state->scope, deferred);
}

/* ---- what a packet brings is taken in, or deferred ---- */

static void
take_in_content(const smcr_arrival_t *arrival, const content_t *content)
{
    smcr_stream_t *stream;

    if (!content->conn && !content->llc) /* a message of one of two connections */
        return;
    if (content->cdc)
        smcr_state_cdc_take_in(arrival, content->conn, content->cdc);
    else if (content->llc)
        smcr_state_llc_take_in(arrival, content->llc, content->requested);
    else if ((stream = smcr_write_stream(content->conn, arrival->qp->side, content->place->offset)))
        smcr_write_take_in_packet(arrival, stream, content->place);
}

static void
take_in_or_defer(const smcr_arrival_t *arrival, const content_t *content)
{
    if (arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        take_in_content(arrival, content);
    else if (arrival->record->receiver_action == SMCR_FLOW_RECEIVER_WAITS)
        defer_content(arrival, content);
}

/* The WRITE packet finds its place in its request. Returns false where the place is not known:
 * its bytes are held on then. */
static bool
place_in_request(const smcr_arrival_t *then)
{
    bool begun;
    smcr_write_t *write = smcr_write_find_request(then, &begun);

    if (!write)
        return false;
    if (smcr_write_place_packet(then, write))
        return true;
    smcr_write_buffer_payload(then, write);
    return false;
}

/* A WRITE packet came after a PSN gap, and now the packets before it have come: its request may
 * have an owner and a place. Returns false where it has none. */
static bool
place_deferred_write(smcr_arrival_t *then, content_t *content)
{
    smcr_record_t *record = then->record;
    smcr_place_late_t *late = smcr_place_late(content->place);

    record->write_location = content->place;
    content->conn = late ? late->conn : NULL;
    if (content->place->has_position && content->conn) /* known from its request */
        return true;
    then->roce = content->roce;
    if (!place_in_request(then))
        return false;
    content->conn = record->conn;
    if (late) {
        late->conn = record->conn;
        late->link = then->qp->link;
        late->sender = !then->qp->side;
    }
    return content->conn != NULL;
}

/* The receiver has taken in a packet after a gap. `now`: the packet that proves it. */
static void
take_in_after_gap(const smcr_arrival_t *now, smcr_qp_t *qp, deferred_t *deferred)
{
    smcr_record_t gone = smcr_record_new(); /* that of its packet has been kept */
    smcr_arrival_t then = {
        .state = now->state,
        .qp = qp,
        .psn = deferred->psn,
        .when = deferred->when,
        .first_sent = deferred->sent,
        .layer = now->layer,
        .record = &gone,
    };
    content_t *content = &deferred->content;

    gone.order = deferred->order & 0x7U;
    if (content->cdc) /* the missing packets may have ended the connection */
        content->conn = smcr_state_cdc_conn(&then, content->cdc);
    if (content->place && !content->conn && !place_deferred_write(&then, content)) {
        content->place = NULL;
        return;
    }
    content->conn = smcr_conn_merged(content->conn);
    then.roce = NULL; /* its frame has gone by */
    gone.write_location = NULL;
    gone.conn = NULL;
    take_in_content(&then, content);
    if (content->place)
        smcr_held_hand_on(now, smcr_place_rare(content->place)->buffered_payload, content->conn,
                          !qp->side);
}

/* The receiver `qp` has taken in all deferred packets before the PSN `end`, as the packet that
 * arrives proves. If it is an acknowledgement, it acknowledges those WRITEs. */
static void
take_in_deferred(const smcr_arrival_t *arrival, smcr_qp_t *qp, smcr_psn_t end)
{
    deferred_t *deferred;
    smcr_ack_t *kept = NULL;

    while ((deferred = take_next_deferred(qp, end)) != NULL) {
        if (arrival->record->kind == SMCR_RECORD_ACK && deferred->content.place &&
            deferred->psn <= qp->traffic.flow.acked_psn) {
            if (!kept)
                kept = smcr_state_alloc0(arrival->state, sizeof *kept);
            *kept = (smcr_ack_t){arrival->when.frame, arrival->roce->psn, arrival->when.time};
            deferred->content.place->acked = kept;
        }
        take_in_after_gap(arrival, qp, deferred);
        free_deferred(arrival->state, deferred);
    }
}

/* ---- place: WRITEs in the byte stream, packets in their message ---- */

/* Counts a WRITE packet whose position is not known. Those that lie close together in the order of
 * PSNs form one run, from `unpositioned_from` to `unpositioned_psn`. */
static void
note_unpositioned(const smcr_arrival_t *arrival, smcr_write_t *write)
{
    smcr_qp_t *qp = arrival->qp;

    qp->unpositioned++;
    if (!qp->unpositioned_psn || arrival->psn < qp->unpositioned_from ||
        arrival->psn > qp->unpositioned_psn + SMCR_WRITE_UNPLACED_NEAR)
        qp->unpositioned_from = arrival->psn;
    qp->unpositioned_psn = MAX(qp->unpositioned_psn, arrival->psn);
    if (write && arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        smcr_write_buffer_payload(arrival, write);
}

/* The record of a WRITE packet gets an object for its place. */
static void
begin_place(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_record_t *record = arrival->record;

    record->kind = SMCR_RECORD_WRITE;
    smcr_link_activate(qp->link);
    if (!record->write_location)
        record->write_location = smcr_state_alloc0(arrival->state, sizeof *record->write_location);
    record->write_location->length =
        (uint32_t)arrival->roce->payload_length & SMCR_PLACE_LENGTH_MASK;
    if (record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        smcr_unacked_add(&qp->unacked, arrival->state->scope, arrival->psn,
                         &record->write_location->acked);
}

/* The request of the WRITE packet; NULL: its first packet is missing. A packet whose RMB is not
 * known waits among the orphans. A new request takes its own packets out of them. */
static smcr_write_t *
find_request(const smcr_arrival_t *arrival)
{
    bool begun;
    smcr_write_t *write = smcr_write_find_request(arrival, &begun);

    if (begun)
        smcr_orphan_place(arrival, write);
    if (!write)
        smcr_event_add(arrival, SMCR_EVENT_write_no_start, NULL);
    if (!write || !write->rmb)
        smcr_orphan_add(arrival);
    return write;
}

/* Whether the WRITE packet shows that the group announces data by immediate data, as the host of
 * another vendor may, and not by producer cursors.
 *
 * Its operation code may be wrong, so the code alone proves nothing. The packet is believed where
 * its connection is not known, and where its position can be right. Where the position cannot be
 * right, the packet is believed only if earlier packets may be missing, which would explain the
 * position. */
static bool
shows_immediate_data(const smcr_arrival_t *arrival, bool placed)
{
    const smcr_record_t *record = arrival->record;

    if (!smcr_ib_has_immediate(arrival->roce->opcode))
        return false;
    if (!record->conn || (placed && record->receiver_action == SMCR_FLOW_RECEIVER_TAKES))
        return true;
    return smcr_doubt_is_in_time(arrival) && smcr_doubt_before(arrival).kind != SMCR_DOUBT_NONE;
}

/* A WRITE packet: its request, its place in the RMB element and in the byte stream, and its
 * bytes. */
static void
place_write(const smcr_arrival_t *arrival)
{
    smcr_record_t *record = arrival->record;

    begin_place(arrival);
    judge_retransmitted_write(arrival);
    smcr_write_t *write = find_request(arrival);
    bool placed = write && smcr_write_place_packet(arrival, write);
    if (shows_immediate_data(arrival, placed))
        arrival->qp->link->lgr->immediate = true;
    if (!placed)
        note_unpositioned(arrival, write);
    if (placed || record->receiver_action == SMCR_FLOW_RECEIVER_WAITS)
        take_in_or_defer(arrival, &(content_t){
                                  .place = record->write_location,
                                  .roce = arrival->roce,
                                  .conn = record->conn,
                              });
}

/* Which part of its message the next SEND packet of a queue pair is, from the PSN of the first. A
 * packet whose message has no first packet is a part of no message. */
static void
number_part(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;
    smcr_record_t *record = arrival->record;
    uint8_t opcode = arrival->roce->opcode;
    bool first = opcode == SMCR_RC_SEND_FIRST;

    if (first)
        qp->send_psn = arrival->psn;
    uint64_t part = arrival->psn - qp->send_psn;
    record->has_part = first || (qp->send_unfinished && part > 0 && part < PARTS_MAX);
    qp->send_unfinished = record->has_part && smcr_ib_is_first_or_middle(opcode);
    if (!record->has_part) {
        smcr_evidence_pass_over(arrival);
        return;
    }
    record->part = (smcr_record_part_t){(uint32_t)(qp->send_psn & SMCR_PSN_MASK), (uint32_t)part};
}

/* A SEND packet of a message that needs several packets. A message of which a packet came after a
 * PSN gap is not put together: nobody knows what it says. */
static void
place_send_packet(const smcr_arrival_t *arrival)
{
    const smcr_record_t *record = arrival->record;
    uint8_t opcode = arrival->roce->opcode;

    if (!smcr_ib_is_send(opcode) || smcr_ib_is_whole_send(opcode))
        return;
    if (record->receiver_action == SMCR_FLOW_RECEIVER_WAITS)
        smcr_evidence_pass_over(arrival);
    if (record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        number_part(arrival);
}

/* ---- packets ---- */

static void
take_in_request(smcr_arrival_t *arrival)
{
    if (judge_request(arrival) == SMCR_FLOW_RECEIVER_TAKES) {
        take_in_deferred(arrival, arrival->qp, arrival->psn);
        deferred_t *before = take_next_deferred(arrival->qp, arrival->psn + 1);
        if (before) /* a packet with this PSN came after a gap: the retransmitted one counts */
            free_deferred(arrival->state, before);
    }
    smcr_rules_check_request(arrival);
    if (smcr_ib_fetches_data(arrival->roce->opcode))
        smcr_evidence_pass_over(arrival); /* it may be a WRITE, with a wrong operation */
    if (smcr_ib_is_write(arrival->roce->opcode))
        place_write(arrival);
    else
        place_send_packet(arrival);
}

/* WRITE packets that came to the queue pair before it was known came on its link. `taken`: the
 * message that makes it known proves that no packet before it is missing. Returns the queue
 * pair. */
static smcr_qp_t *
adopt_unknown_qp_writes(smcr_state_t *state, smcr_qp_t *qp, bool taken)
{
    const smcr_qp_t *sender = smcr_qp_peer(qp);
    wmem_list_t *writes = smcr_orphan_take_unknown_qp(state, &qp->key);

    SMCR_LIST_EACH(const smcr_orphan_write_t *, orphan, writes) {
        if (!smcr_gid_is_same(orphan->headers.source, sender->key.gid))
            continue; /* of an earlier life of this queue pair */
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

static void
take_in_response(smcr_arrival_t *arrival)
{
    smcr_qp_t *receiver = smcr_qp_peer(arrival->qp); /* of the requests that are answered */

    arrival->record->kind = SMCR_RECORD_ACK;
    smcr_traffic_answer_t answer = smcr_outcome_answer(arrival, &receiver->traffic);
    smcr_unacked_acknowledge(&receiver->unacked, &arrival->state->entries, answer.acked_psn,
                             arrival->when);
    smcr_outcome_judge(arrival, &arrival->qp->traffic, &receiver->traffic);
    take_in_deferred(arrival, receiver, receiver->traffic.flow.expected_psn);
}

/* Whether the packet is of another life of the queue pair than the state knows: hosts reuse numbers
 * of queue pairs, and a new life begins at a random PSN. */
static bool
is_of_other_life(smcr_qp_t *qp, const smcr_ib_headers_t *roce)
{
    const smcr_flow_t *requests =
        smcr_ib_is_response(roce->opcode) ? &smcr_qp_peer(qp)->traffic.flow : &qp->traffic.flow;

    return roce->opcode < SMCR_RC_OPCODES && smcr_flow_begins_anew(requests, roce->psn);
}

/* The queue pair that receives an acknowledgement, of which at most itself is known so far: `qp`,
 * else NULL. It may be that of a link of which its sender is known. */
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

/* Whether the packet may name a queue pair of a link of which the other one is known: an ACK is
 * matched to its link by the requests that it acknowledges. `qp`: its target; NULL: not known. */
static bool
may_complete_link(smcr_qp_t *qp, const smcr_ib_headers_t *roce)
{
    return (!qp || !smcr_qp_peer(qp)->number_known) && roce->opcode == SMCR_RC_ACK &&
           !roce->has_bad_icrc;
}

/* Whether somebody else than the peer of the queue pair has sent the packet: the number of the
 * queue pair is known, but it was another host's packet. */
static bool
is_from_stranger(smcr_qp_t *qp, const smcr_ib_headers_t *roce)
{
    const smcr_qp_t *other = smcr_qp_peer(qp);

    return other->gid_known && !smcr_gid_is_same(other->key.gid, roce->source);
}

/* The queue pair of a link that receives the packet; NULL: none that is known. */
static smcr_qp_t *
find_receiver(const smcr_arrival_t *arrival)
{
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_qp_t *qp = smcr_qp_find(arrival->state, &roce->destination);

    if (roce->opcode >= SMCR_RC_OPCODES && roce->opcode != SMCR_IB_CNP)
        return NULL;
    if (may_complete_link(qp, roce))
        qp = find_receiver_of_ack(arrival, qp);
    if (!qp || is_from_stranger(qp, roce))
        return NULL;
    return is_of_other_life(qp, roce) ? NULL : qp;
}

bool
smcr_state_packet(smcr_arrival_t *arrival)
{
    const smcr_ib_headers_t *roce = arrival->roce;

    smcr_state_learns(arrival->state, arrival->when.frame);
    smcr_qp_t *qp = find_receiver(arrival);
    if (!qp)
        return false;
    smcr_qp_t *peer = smcr_qp_peer(qp);

    qp->link->packet_count += !roce->has_bad_icrc;
    arrival->qp = qp;
    smcr_record_set_link(arrival->record, qp->link, peer->side);
    /* its receiver discards a corrupt packet; any byte may be wrong, so only its PSN counts */
    if (roce->has_bad_icrc) {
        smcr_flow_verdict_t verdict = smcr_outcome_judge(arrival, &qp->traffic, &peer->traffic);
        arrival->record->kind = SMCR_RECORD_CORRUPT;
        smcr_event_add(arrival, SMCR_EVENT_icrc_bad, NULL);
        report_retransmission(arrival, &verdict);
        return true;
    }
    if (roce->opcode == SMCR_IB_CNP) {
        smcr_outcome_cnp(arrival, &qp->traffic, &peer->traffic);
        return true;
    }
    smcr_outcome_marks(arrival, &qp->traffic, &peer->traffic);
    if (smcr_ib_is_response(roce->opcode))
        take_in_response(arrival);
    else
        take_in_request(arrival);
    return true;
}

/* ---- messages ---- */

/* Whether the message is no first transmission: a copy made by the network, or a retransmission of
 * a packet that was intact. A retransmission counts as the first where all packets before it had a
 * wrong ICRC (`replaces_corrupt`). */
static bool
is_known_message(const smcr_arrival_t *arrival)
{
    uint8_t order = arrival->record->order;

    return order == SMCR_FLOW_IS_COPY ||
           (order == SMCR_FLOW_IS_RETRANSMISSION && !arrival->replaces_corrupt);
}

/* Whether the receiver certainly has the message: taken in now, or before. */
static bool
was_received(const smcr_arrival_t *arrival)
{
    return arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES ||
           arrival->record->receiver_action == SMCR_FLOW_RECEIVER_DROPS;
}

/* A DELETE LINK that is cut, or that waits after a gap, may end any link: the frame is
 * remembered. */
static void
note_unread_deletion(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    bool taken = llc->complete && was_received(arrival);

    if ((llc->type & ~SMCR_LLC_TYPE_V2) == SMCR_LLC_DELETE_LINK && !taken)
        arrival->state->uncertain_deletions[0] = arrival->when.frame;
}

/* The capture has only the beginning of the message, which counts as not captured. But a response
 * to CONFIRM LINK comes from the client, whatever the rest of it says. (RFC 7609 3.5.1) */
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

void
smcr_state_llc(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    const smcr_qp_t *qp = arrival->qp;

    smcr_state_learns(arrival->state, arrival->when.frame);
    arrival->record->kind = SMCR_RECORD_LLC;
    if (!smcr_state_llc_is_known(llc->type) || llc->type == SMCR_LLC_ANNOUNCE_CREDITS)
        return; /* whatever it is, it changes nothing here */
    note_unread_deletion(arrival, llc);
    if (!llc->complete) {
        take_in_cut_llc(arrival, llc);
        return;
    }
    /* an exchange is a matter of first transmissions, whatever becomes of them */
    smcr_llc_t meant = *llc;
    bool requested = is_known_message(arrival) || smcr_state_llc_exchange(arrival, &meant);
    take_in_or_defer(arrival, &(content_t){.llc = &meant, .requested = requested});
    smcr_record_set_link(arrival->record, qp->link, !qp->side);
}

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
    arrival->record->conn = smcr_state_cdc_conn(arrival, cdc);
    take_in_or_defer(arrival, &(content_t){.cdc = cdc, .conn = arrival->record->conn});
}

/* Whether the sender of the CDC message has closed TCP but not SMC: the message says nothing of an
 * end, nor did one before. Only where no message of the sender can be missing, and the message
 * speaks for now: it comes for the first time, and is no failover validation. */
static bool
closed_tcp_first(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    const smcr_qp_t *qp = arrival->qp;
    const smcr_conn_side_t *sender = &arrival->record->conn->side[!qp->side];

    if (cdc->state || smcr_conn_side_has_ended(sender) || cdc->flags & SMCR_CDC_FLAG_FAILOVER)
        return false;
    return smcr_doubt_is_new(arrival) && !smcr_doubt_place(arrival).kind &&
           !smcr_evidence_lacks_before(qp->link->lgr, arrival->when.frame);
}

/* The reader has closed TCP, which it does after its last CDC message: that message is missing, and
 * how far it has read is not known. */
static void
note_missing_end(const smcr_arrival_t *arrival)
{
    smcr_conn_side_t *reader = &arrival->record->conn->side[arrival->qp->side];

    if (smcr_conn_side_has_ended(reader) || !arrival->record->cdc_analysis)
        return;
    reader->last_cdc_missing = true;
    arrival->record->cdc_analysis->has_unread_bytes = false;
}

/* SMC is closed before TCP. (R-4.8.1-8) */
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

/* ---- queue pairs that nobody announced ---- */

/* Whether the first request of the flow has the PSN that its sender announced, and arrives now. */
static bool
begins_as_announced(const smcr_flow_t *flow, const smcr_ib_headers_t *roce)
{
    return flow->first && !flow->psn_history.used && (flow->first & SMCR_PSN_MASK) == roce->psn;
}

/* `wrong`: the end of a link that is another queue pair than was announced. Other messages report
 * that where the announced number is reserved, or where a CONFIRM LINK request has come before. */
static void
report_link_mismatch(const smcr_arrival_t *arrival, const smcr_qp_t *wrong)
{
    if (wrong->key.qpn >= SMCR_WIRE_QPN_MIN && !wrong->link->confirm_frame)
        smcr_event_add(arrival, SMCR_EVENT_link_mismatch,
                       "One end of the link is another queue pair than was announced");
}

/* CONFIRM LINK flows between the two queue pairs of its link that CLC or ADD LINK announced.
 * `from`, `to`: its sender and receiver, NULL where nobody announced them. If one is NULL, and the
 * PSN is the first one that was announced for the link, it is this link, and its other end was
 * announced wrong. (R-3.3-5, R-A.3.1-3) */
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

/* Returns whether the link of the sender has the queue pair to which its CONFIRM LINK goes. */
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

void
smcr_state_prove_qp(const smcr_arrival_t *arrival, uint32_t sender_qpn)
{
    if (sender_qpn && completes_link(arrival, sender_qpn))
        return;
    smcr_qp_t *before = smcr_qp_find(arrival->state, &arrival->roce->destination);
    if (before && is_of_other_life(before, arrival->roce)) {
        smcr_link_forget_qps(arrival->state, before->link);
        before = NULL;
    }
    if (!before)
        adopt_unknown_qp_writes(arrival->state,
                                smcr_link_new_of_packet(arrival->state, arrival->roce), true);
}
