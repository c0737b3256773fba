/* The only way by which packets change the state. A packet passes three steps.
 *
 * 1. Judge: how did the packet fare, and what did its receiver do with it?
 * 2. Place: on its link; a WRITE also gets a position in the byte stream.
 * 3. Take in: at once if the receiver takes the packet in now; after a PSN gap, when the receiver
 *    acknowledges the packet. A packet that was taken in before changes nothing, and a packet that
 *    the receiver discarded counts when it is retransmitted.
 *
 * Functions report_*() add events for the user, and change nothing else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet_flow.h"

#include <stdio.h>

#include "cdc_flow.h"
#include "credits.h"
#include "llc_flow.h"
#include "write.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"

#define DEFERRED_MAX 8192 /* maximum number of deferred packets of one queue pair: a sender has no
                             more unacknowledged packets */
#define ABSENT_MAX 131072 /* maximum number of packets that may be missing before the first captured
                             packet of a flow */
#define PARTS_MAX 64 /* maximum number of packets of one SEND: 8 KiB at an MTU of 256 need 32 */

/* ---- judge: how a packet fared ---- */

/* Reports that the peer has stopped answering, so the bytes on their way to the peer may be lost.
 * The event is added to the arriving retransmission. A second pass does not show the event if the
 * peer has sent a packet later. */
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

/* Reports the packet if it is a retransmission, and if it proves that the peer has stopped
 * answering. A retransmission after the end of the link group has an event of its own: the peer
 * does not receive it any more, so its silence is not reported. */
static void
report_retransmission(const smcr_arrival_t *arrival, const smcr_flow_verdict_t *verdict)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;

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

/* Reports a first captured packet that does not have the PSN that its sender announced
 * (note_initial_psn()). Only CONFIRM LINK is judged, since it is the first message of each side on
 * a link. Before any other message, packets may be missing in the capture. */
static void
report_initial_psn(const smcr_arrival_t *arrival, const smcr_llc_t *llc)
{
    if (arrival->other_first_psn && llc->type == SMCR_LLC_CONFIRM_LINK)
        smcr_event_add(arrival, SMCR_EVENT_psn_wrong,
                       "The first packet has PSN %u, but its sender announced %u",
                       arrival->roce->psn, arrival->other_first_psn - 1);
}

/* Judges a request by its PSN. Reports a retransmission, a silent peer and a payload above the MTU.
 * Returns what the receiver does with the request. */
static smcr_flow_receiver_action_t
judge_request(smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    note_initial_psn(arrival);
    report_above_mtu(arrival);
    report_wrong_length(arrival);
    smcr_flow_verdict_t verdict =
        smcr_outcome_judge(arrival, &qp->traffic, &smcr_qp_peer(qp)->traffic);
    bool first = verdict.order == SMCR_FLOW_IS_NEXT || verdict.order == SMCR_FLOW_IS_LATE;
    if (first && verdict.psn <= qp->traffic.flow.acked_psn) { /* request captured after its ACK */
        arrival->state->is_out_of_order = true;
        arrival->first_sent = (smcr_when_t){0, 0};
    }
    report_retransmission(arrival, &verdict);
    if (verdict.receiver_action == SMCR_FLOW_RECEIVER_HAD_IT)
        smcr_evidence_pass_over(arrival);
    return verdict.receiver_action;
}

/* Changes the verdict on a retransmitted WRITE packet from SMCR_FLOW_RECEIVER_DROPS to
 * SMCR_FLOW_RECEIVER_HAD_IT, if connection or position were not known when the first transmission
 * came. The bytes of the first transmission may have no position so far. */
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
 * A gap in the PSNs has one of two causes. If packets were lost on the network, the receiver
 * discards all packets after the gap, and the sender retransmits them. If only the capture misses
 * packets, the receiver takes in the packets after the gap, and its acknowledgement proves this:
 *
 *     PSN 100, 101, (102 missing), 103     103 is deferred
 *     ACK 103                              102 had reached the receiver: 103 is taken in now
 *     or: PSN 102, PSN 103 once more       103 was discarded: the retransmitted one counts */

/* The content of a packet: an LLC message, a CDC message, or the bytes of a WRITE packet. So at
 * most one of `llc`, `cdc` and `place` is set, and the others are NULL. A WRITE packet may also
 * have a message in its immediate data. Then `place` is NULL, too, if the place is not known or the
 * packet has no data. */
typedef struct {
    const smcr_llc_t *llc;         /* the LLC message; NULL: none */
    const smcr_cdc_t *cdc;         /* the CDC message; NULL: none */
    smcr_place_t *place;           /* place of the WRITE packet's bytes; NULL: no WRITE */
    const smcr_ib_headers_t *roce; /* headers of the WRITE packet; NULL: no WRITE */
    smcr_conn_t *conn;             /* connection of `cdc` or `place`; NULL: not certain */
    bool requested;                /* `llc` is a response, and the capture has its request */
    smcr_state_immediate_t message; /* message in the immediate data of the WRITE packet */
} content_t;

/* A packet after a PSN gap, kept until its receiver acknowledges or discards it. */
typedef struct {
    content_t content; /* content of the packet; its message and headers point into `copy` */
    smcr_psn_t psn;    /* PSN of the packet, without wrap */
    smcr_when_t when;  /* frame and time of the packet (`when` of smcr_arrival_t) */
    smcr_when_t sent;  /* frame and time of the packet's first transmission (`first_sent` of
                          smcr_arrival_t); frame 0: not known */
    uint8_t order;     /* order of the packet's PSN in its flow, smcr_flow_order_t */
    const uint32_t *discard_proof; /* in the packet's record: frame proving that the receiver has
                                    discarded the packet; NULL: none */
    smcr_record_cdc_t *analysis; /* analysis in the record of the CDC message; NULL: no CDC */
    union {            /* copy of the message or headers that `content` points to */
        smcr_llc_t llc;
        smcr_cdc_t cdc;
        smcr_ib_headers_t roce;
    } copy;
} deferred_t;

/* Compares two deferred packets by PSN, for a sorted list. */
static int
compare_deferred(const void *one, const void *other)
{
    smcr_psn_t a = ((const deferred_t *)one)->psn, b = ((const deferred_t *)other)->psn;

    return (a > b) - (a < b);
}

/* Inserts the packet into the list, in the order of PSNs. Packets mostly arrive in this order, so
 * the packet is mostly appended. */
static void
insert_deferred(wmem_list_t *list, deferred_t *deferred)
{
    wmem_list_frame_t *last = wmem_list_tail(list);

    if (last && compare_deferred(deferred, wmem_list_frame_data(last)) < 0)
        wmem_list_insert_sorted(list, deferred, compare_deferred);
    else
        wmem_list_append(list, deferred);
}

/* Copies the message or the headers of the packet into `deferred->copy`, since the originals are
 * valid only during this packet. The content then points to the copies. */
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

/* Makes the analysis of a CDC message that arrives after a PSN gap, and puts it into the record of
 * the message. The analysis is filled in if the receiver takes the message in. */
static smcr_record_cdc_t *
defer_analysis(const smcr_arrival_t *arrival)
{
    smcr_record_cdc_t *analysis = smcr_state_alloc0(arrival->state, sizeof *analysis);

    analysis->is_deferred = true;
    arrival->record->cdc_analysis = analysis;
    return analysis;
}

/* Keeps the content of the packet, which arrives after a PSN gap, until an acknowledgement shows
 * whether the receiver has taken the packet in. If DEFERRED_MAX packets wait already, the content
 * of this one is not kept. */
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
    smcr_conn_keep(content->conn);
    smcr_conn_keep(content->message.conn);
    deferred->psn = arrival->psn;
    deferred->when = arrival->when;
    deferred->sent = arrival->first_sent;
    deferred->order = arrival->record->order;
    deferred->discard_proof = arrival->record->discard_proof_frame;
    deferred->analysis = content->cdc || content->message.conn ? defer_analysis(arrival) : NULL;
    copy_message(scope, deferred);
    insert_deferred(qp->deferred, deferred);
    if (content->place)
        smcr_held_new(arrival, 0);
}

/* Removes the deferred packet with the lowest PSN from the list of `qp`, and returns it, if its PSN
 * is less than `end`; otherwise NULL. The caller frees the packet. */
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

/* Frees a deferred packet. Its held payload is freed, too, if the payload was not handed on. */
static void
free_deferred(smcr_state_t *state, deferred_t *deferred)
{
    if (deferred->content.place)
        smcr_held_drop(state, deferred->content.place);
    if (deferred->content.llc)
        wmem_free(state->scope, deferred->copy.llc.rtokens_in_message);
    wmem_free(state->scope, deferred);
}

/* ---- the content of a packet is taken in, or deferred ---- */

/* Changes the state by the data of a WRITE packet whose connection is certain. */
static void
take_in_data(const smcr_arrival_t *arrival, const content_t *content)
{
    smcr_stream_t *stream =
        smcr_write_stream(content->conn, arrival->qp->side, content->place->offset);

    if (stream)
        smcr_write_take_in_packet(arrival, stream, content->place);
}

/* Changes the state by the content of a packet that its receiver has taken in. If the connection of
 * a CDC message or of data is not certain, they change nothing. */
static void
take_in_content(const smcr_arrival_t *arrival, const content_t *content)
{
    if (content->cdc && content->conn)
        smcr_state_cdc_take_in(arrival, content->conn, content->cdc);
    else if (content->llc)
        smcr_state_llc_take_in(arrival, content->llc, content->requested);
    else if (content->place && content->conn)
        take_in_data(arrival, content);
    if (content->message.conn)
        smcr_state_immediate_take_in(arrival, &content->message, content->place);
}

/* Takes in the content of the packet if its receiver takes the packet in now. Keeps the content if
 * the packet comes after a PSN gap. Does nothing if the receiver discards the packet, or had taken
 * it in before. */
static void
take_in_or_defer(const smcr_arrival_t *arrival, const content_t *content)
{
    if (arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        take_in_content(arrival, content);
    else if (arrival->record->receiver_action == SMCR_FLOW_RECEIVER_WAITS)
        defer_content(arrival, content);
}

/* Gives a deferred WRITE packet its place, by its request. `then`: the packet as it arrived.
 * Returns false if the position of the packet is not known. If its request is known nevertheless,
 * its bytes stay held until the request has a position. */
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

/* Gives a WRITE packet that came after a PSN gap its connection and its place. The packets before
 * this WRITE packet have come meanwhile, so connection and place may be known now. Returns false if
 * connection or place is still not known. `then`: the packet as it arrived. */
static bool
place_deferred_write(smcr_arrival_t *then, content_t *content)
{
    smcr_record_t *record = then->record;
    smcr_place_late_t *late = smcr_place_late(content->place);

    record->write_location = content->place;
    content->conn = late ? late->conn : NULL;
    if (content->place->has_position && content->conn) /* connection and position are known */
        return true;
    then->roce = content->roce;
    if (!place_in_request(then))
        return false;
    content->conn = record->conn;
    if (late) {
        smcr_place_late_set_conn(late, record->conn);
        late->link = then->qp->link;
        late->sender = !then->qp->side;
    }
    return content->conn != NULL;
}

/* The connection of the CDC message of a deferred packet, or of the immediate data in its place;
 * NULL: the packet has none, or its connection is not certain. */
static const smcr_conn_t *
conn_of_message(const content_t *content)
{
    return content->cdc ? content->conn : content->message.conn;
}

/* Removes values from the analysis of a CDC message that came after a PSN gap. The analysis is made
 * when the message is taken in. If CDC messages of the message's receiver have come in the
 * meantime, values that depend on the receiver's cursors are of a later time than the message.
 * `conn`: connection of the message; NULL: none. */
static void
forget_later_reading(const smcr_arrival_t *then, const smcr_conn_t *conn)
{
    smcr_record_cdc_t *analysis = then->record->cdc_analysis;
    bool is_made = conn && analysis && !analysis->is_deferred;

    if (!is_made || conn->side[then->qp->side].last_cdc_frame < then->when.frame)
        return;
    analysis->has_unread_bytes = false;
    analysis->own_free_bytes = SMCR_RECORD_NOT_KNOWN;
    analysis->read_announced_frame = 0;
}

/* Takes in the packet `deferred`, which came after a PSN gap. `now`: the arriving packet, which
 * proves that the receiver `qp` has taken in the deferred packet. */
static void
take_in_after_gap(const smcr_arrival_t *now, smcr_qp_t *qp, deferred_t *deferred)
{
    smcr_record_t gone = smcr_record_new(); /* this record is not kept: the packet's own record
                                               was kept when the packet came */
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
    if (content->cdc) /* packets of the gap, which have come meanwhile, may have ended the
                         connection */
        content->conn = smcr_state_cdc_conn(&then, content->cdc);
    if (content->place && !content->conn && !place_deferred_write(&then, content)) {
        content->place = NULL;
        if (!content->message.conn)
            return;
    }
    content->conn = smcr_conn_merged(content->conn);
    content->message.conn = smcr_conn_merged(content->message.conn);
    then.roce = NULL; /* headers are not kept (smcr_arrival_t) */
    gone.write_location = NULL;
    gone.conn = NULL;
    gone.cdc_analysis = deferred->analysis;
    take_in_content(&then, content);
    forget_later_reading(&then, conn_of_message(content));
    if (content->place)
        smcr_held_hand_on(now, smcr_place_rare(content->place)->buffered_payload, content->conn,
                          !qp->side);
}

/* Notes the acknowledgement of the deferred packet, which the queue pair `qp` has received: in the
 * place of a WRITE packet, and in the analysis of a CDC message. `ack`: acknowledgement that covers
 * the packet; NULL: none has come so far, so the next one is noted when it comes. */
static void
note_ack(const smcr_arrival_t *arrival, smcr_qp_t *qp, const deferred_t *deferred,
         smcr_ack_t *ack)
{
    const smcr_ack_t **const acked[] = {
        deferred->content.place ? &deferred->content.place->acked : NULL,
        deferred->analysis ? &deferred->analysis->acked : NULL,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(acked); i++) {
        if (acked[i] && ack)
            *acked[i] = smcr_ack_hold(ack);
        else if (acked[i])
            smcr_unacked_add(&qp->unacked, arrival->state->scope, deferred->psn, acked[i]);
    }
}

/* Whether a frame proves that the receiver has discarded the deferred packet. If its retransmission
 * is not captured, its content counts nevertheless, since the receiver got the same content with
 * the retransmission. */
static bool
was_discarded(const deferred_t *deferred)
{
    return deferred->discard_proof && *deferred->discard_proof;
}

/* Whether the deferred packet does not count, since another packet with the same PSN has the same
 * content. Two cases: 1. the packet was discarded, and its retransmission is deferred, too; 2. a
 * packet with this PSN was taken in right before. `taken`: PSN of the deferred packet that was
 * taken in last; 0: none. */
static bool
is_repeated(const smcr_qp_t *qp, const deferred_t *deferred, smcr_psn_t taken)
{
    wmem_list_frame_t *next = wmem_list_head(qp->deferred);
    const deferred_t *after = next ? wmem_list_frame_data(next) : NULL;

    return deferred->psn == taken ||
           (was_discarded(deferred) && after && after->psn == deferred->psn);
}

/* Takes in a deferred packet of the receiver `qp`. `ack`: see note_ack(). */
static void
take_in_received(const smcr_arrival_t *arrival, smcr_qp_t *qp, deferred_t *deferred,
                 smcr_ack_t *ack)
{
    if (was_discarded(deferred))
        deferred->analysis = NULL; /* the acknowledgement is that of the retransmission, so this
                                      record gets no analysis */
    else
        note_ack(arrival, qp, deferred, ack);
    take_in_after_gap(arrival, qp, deferred);
}

/* Takes in all deferred packets of the receiver `qp` whose PSN is less than `end`: the packet that
 * arrives proves that `qp` has taken them in. If this packet is an acknowledgement, the deferred
 * packets that it covers are marked as acknowledged in its frame. */
static void
take_in_deferred(const smcr_arrival_t *arrival, smcr_qp_t *qp, smcr_psn_t end)
{
    bool is_ack = arrival->record->kind == SMCR_RECORD_ACK;
    deferred_t *deferred;
    smcr_ack_t *kept = NULL;
    smcr_psn_t taken = 0;

    while ((deferred = take_next_deferred(qp, end)) != NULL) {
        bool is_covered = is_ack && deferred->psn <= qp->traffic.flow.acked_psn;
        if (is_covered && !kept) {
            kept = smcr_state_alloc0(arrival->state, sizeof *kept);
            *kept = smcr_ack_new(arrival->when, arrival->roce->psn);
        }
        if (!is_repeated(qp, deferred, taken)) {
            taken = deferred->psn;
            take_in_received(arrival, qp, deferred, is_covered ? kept : NULL);
        }
        free_deferred(arrival->state, deferred);
    }
}

/* ---- place: WRITEs in the byte stream, packets in their message ---- */

/* Counts a WRITE packet whose position is not known. Such packets form one run, from
 * `unpositioned_from` to `unpositioned_psn`, as long as their PSNs are at most
 * SMCR_WRITE_UNPLACED_NEAR apart. `write`: request of the packet; NULL: not known. */
static void
note_unpositioned(const smcr_arrival_t *arrival, smcr_write_t *write)
{
    smcr_qp_t *qp = arrival->qp;

    if (!qp->unpositioned_psn || arrival->psn < qp->unpositioned_from ||
        arrival->psn > qp->unpositioned_psn + SMCR_WRITE_UNPLACED_NEAR) {
        qp->unpositioned_from = arrival->psn;
        qp->unpositioned_before = qp->unpositioned;
    }
    qp->unpositioned++;
    qp->unpositioned_psn = MAX(qp->unpositioned_psn, arrival->psn);
    if (write && arrival->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        smcr_write_buffer_payload(arrival, write);
}

/* Makes the object for the place of a WRITE packet, in the packet's record. Also activates the
 * link, since a link that carries WRITEs is in use. */
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

/* Notes a packet with a wrong ICRC, if it is the first packet of a WRITE request, or continues a
 * request whose first packet has a wrong ICRC. */
static void
note_damaged_write(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    if (arrival->roce->opcode == SMCR_RC_WRITE_FIRST)
        qp->damaged_first = qp->damaged_last = arrival->psn;
    else if (arrival->psn == qp->damaged_last + 1)
        qp->damaged_last = arrival->psn;
}

/* Whether the packet continues a WRITE request whose first packet is captured, but has a wrong
 * ICRC. Then the first packet is not missing, and the request reaches up to this packet
 * (`damaged_last`). */
static bool
is_of_damaged_write(const smcr_arrival_t *arrival)
{
    smcr_qp_t *qp = arrival->qp;

    if (!qp->damaged_first || arrival->psn <= qp->damaged_first ||
        arrival->psn > qp->damaged_last + 1)
        return false;
    qp->damaged_last = MAX(qp->damaged_last, arrival->psn);
    return true;
}

/* Finds the request of the WRITE packet, or begins it. NULL: the first packet of the request is
 * missing, which an event reports, or has a wrong ICRC. A packet whose request or RMB is not known
 * is kept as an orphan (orphan.h). If the packet begins a new request, orphans that belong to this
 * request get their places. */
static smcr_write_t *
find_request(const smcr_arrival_t *arrival)
{
    bool begun;
    smcr_write_t *write = smcr_write_find_request(arrival, &begun);

    if (begun)
        smcr_orphan_place(arrival, write);
    if (!write && !is_of_damaged_write(arrival))
        smcr_event_add(arrival, SMCR_EVENT_write_no_start, NULL);
    if (!write || !write->rmb)
        smcr_orphan_add(arrival);
    return write;
}

/* Whether the WRITE packet shows that the hosts of the group announce data by WRITEs with immediate
 * data, and not by CDC messages. Hosts of another vendor than Linux may do so.
 *
 * The operation code of a packet may be wrong, so the code alone proves nothing. The packet counts
 * in three cases:
 *
 * - The connection of the packet is not known, so its position cannot be checked.
 * - The position of the packet is known, and the receiver takes the packet in.
 * - Otherwise, packets before this one may be missing, which would explain a position that does not
 *   fit. The packet must not be a retransmission.
 *
 * `placed`: the position of the packet is known. */
static bool
shows_immediate_data(const smcr_arrival_t *arrival, bool placed)
{
    const smcr_record_t *record = arrival->record;

    if (!smcr_ib_operations[arrival->roce->opcode].has_immediate)
        return false;
    if (!record->conn || (placed && record->receiver_action == SMCR_FLOW_RECEIVER_TAKES))
        return true;
    return smcr_doubt_is_in_time(arrival) && smcr_doubt_before(arrival).kind != SMCR_DOUBT_NONE;
}

/* Whether the packet with this record has the same piece of the stream as `place`, and its bytes
 * count in the first pass: the receiver took the packet in when it came, or the packet is a
 * retransmission that replaces a refused packet. */
static bool
carries_bytes(const smcr_record_t *record, const smcr_place_t *place)
{
    if (!record->write_location)
        return false;
    const smcr_place_rare_t *rare = smcr_place_rare(record->write_location);
    smcr_stream_range_t range = smcr_place_range(record->write_location);
    bool counts = record->receiver_action == SMCR_FLOW_RECEIVER_TAKES || (rare && rare->replaces);

    return counts && range.known && range.position == place->position &&
           record->write_location->length == place->length;
}

/* Notes that a retransmitted WRITE packet replaces its previous transmission, if the receiver has
 * refused the previous transmission (smcr_flow_verdict_t.refused_frame). The refused packet is in
 * order in the capture, so its bytes count in the first pass. But downstream of the capture point
 * the packet was lost or damaged, or an earlier packet was lost. So the receiver has the bytes of
 * the retransmission. */
static void
note_replacement(const smcr_arrival_t *arrival)
{
    smcr_state_t *state = arrival->state;
    smcr_place_t *place = arrival->record->write_location;
    uint32_t frame = arrival->refused_frame;
    smcr_record_t refused;

    if (!frame || !smcr_record_find(state, frame, SMCR_RECORD_OUTERMOST, &refused) ||
        !carries_bytes(&refused, place))
        return;
    smcr_place_rare_t *old = smcr_place_make_rare(state, refused.write_location);
    old->replaced_in = arrival->when.frame;
    smcr_place_make_rare(state, place)->replaces =
        old->replaces ? old->replaces : refused.write_location;
}

/* Takes in the message in the immediate data of a WRITE without data. */
static void
take_in_bare_message(const smcr_arrival_t *arrival)
{
    const content_t content = {.message = smcr_state_immediate_of(arrival, NULL)};

    arrival->record->conn = content.message.conn;
    if (content.message.conn)
        take_in_or_defer(arrival, &content);
}

/* Returns the message in the immediate data of the WRITE packet. The message names a connection: if
 * this is the likely connection of the request, it becomes the certain one. `write`: request of the
 * packet; NULL: not known. */
static smcr_state_immediate_t
find_message(const smcr_arrival_t *arrival, smcr_write_t *write)
{
    smcr_state_immediate_t message = smcr_state_immediate_of(arrival, write);

    if (write && message.conn && write->likely_conn == message.conn) {
        smcr_write_prove_owner(write, message.conn);
        smcr_orphan_place(arrival, write);
    }
    return message;
}

/* Takes in the bytes of a WRITE packet, and the message in its immediate data (`content->message`).
 * Keeps both if the packet comes after a PSN gap. `placed`: the position of the bytes is known. */
static void
take_in_write(const smcr_arrival_t *arrival, content_t *content, bool placed)
{
    smcr_record_t *record = arrival->record;

    if (placed || record->receiver_action == SMCR_FLOW_RECEIVER_WAITS) {
        content->place = record->write_location;
        content->roce = arrival->roce;
        content->conn = record->conn;
    }
    if (!record->conn)
        record->conn = content->message.conn;
    if (content->place || content->message.conn)
        take_in_or_defer(arrival, content);
}

/* Finds the request of a WRITE packet, and its place in the RMB element and in the byte stream. The
 * packet's bytes, and the message in its immediate data, change the state now, or later if the
 * packet comes after a PSN gap. */
static void
place_write(const smcr_arrival_t *arrival)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;

    begin_place(arrival);
    judge_retransmitted_write(arrival);
    if (smcr_state_immediate_is_bare(arrival)) {
        take_in_bare_message(arrival);
        return;
    }
    smcr_write_t *write = find_request(arrival);
    content_t content = {.message = find_message(arrival, write)};
    bool placed = write && smcr_write_place_packet(arrival, write);
    if (!lgr->immediate_agreed && shows_immediate_data(arrival, placed))
        lgr->immediate = true;
    if (placed)
        note_replacement(arrival);
    else
        note_unpositioned(arrival, write);
    take_in_write(arrival, &content, placed);
    if (!content.message.conn)
        smcr_state_immediate_begin(arrival, write);
}

/* Numbers a SEND packet within its message, by the distance of its PSN from the PSN of the
 * message's first packet. If the first packet has not come, the packet gets no number, and its
 * content counts as missing. */
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
    qp->send_unfinished = record->has_part && smcr_ib_operations[opcode].is_first_or_middle;
    if (!record->has_part) {
        smcr_evidence_pass_over(arrival);
        return;
    }
    record->part = (smcr_record_part_t){(uint32_t)(qp->send_psn & SMCR_PSN_MASK), (uint32_t)part};
}

/* Notes the place of a SEND packet in its message, if the message has several packets. If a packet
 * of the message came after a PSN gap, the message is not reassembled, so its content is not
 * known. */
static void
place_send_packet(const smcr_arrival_t *arrival)
{
    const smcr_record_t *record = arrival->record;
    const smcr_ib_operation_t *operation = &smcr_ib_operations[arrival->roce->opcode];

    if (!operation->is_send || operation->is_whole_send)
        return;
    if (record->receiver_action == SMCR_FLOW_RECEIVER_WAITS)
        smcr_evidence_pass_over(arrival);
    if (record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        number_part(arrival);
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
        take_in_deferred(arrival, arrival->qp, arrival->psn);
        deferred_t *before = take_next_deferred(arrival->qp, arrival->psn + 1);
        if (before) /* the receiver discarded an earlier packet with this PSN */
            free_deferred(arrival->state, before);
    }
    smcr_rules_check_request(arrival);
    if (operation->fetches_data)
        smcr_evidence_pass_over(arrival); /* the opcode may be wrong: a WRITE */
    if (operation->is_write)
        place_write(arrival);
    else
        place_send_packet(arrival);
}

/* Gives a link to the WRITE packets that came to `qp` before `qp` was known. `taken`: true if a
 * message has made `qp` known: then the WRITEs are judged and placed as requests. False if an
 * acknowledgement has made `qp` known: then only their link is set. Returns `qp`. */
static smcr_qp_t *
adopt_unknown_qp_writes(smcr_state_t *state, smcr_qp_t *qp, bool taken)
{
    const smcr_qp_t *sender = smcr_qp_peer(qp);
    wmem_list_t *writes = smcr_orphan_take_unknown_qp(state, &qp->key);

    SMCR_LIST_EACH(const smcr_orphan_write_t *, orphan, writes) {
        if (!smcr_gid_is_same(orphan->headers.source, sender->key.gid))
            continue; /* the packet was sent to an earlier queue pair with this number */
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
 * taken in. */
static void
take_in_response(smcr_arrival_t *arrival)
{
    smcr_qp_t *receiver = smcr_qp_peer(arrival->qp); /* receiver of the answered requests */

    arrival->record->kind = SMCR_RECORD_ACK;
    smcr_traffic_answer_t answer = smcr_outcome_answer(arrival, &receiver->traffic);
    smcr_unacked_acknowledge(&receiver->unacked, &arrival->state->entries, answer.acked_psn,
                             arrival->when);
    smcr_outcome_judge(arrival, &arrival->qp->traffic, &receiver->traffic);
    take_in_deferred(arrival, receiver, receiver->traffic.flow.expected_psn);
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
is_from_stranger(const smcr_qp_t *peer, const smcr_ib_headers_t *roce)
{
    return peer->gid_known && !smcr_gid_is_same(peer->key.gid, roce->source);
}

/* Whether the packet may belong to the known link of `qp`, after many missing packets. Two
 * conditions: 1. as far as the capture shows, the link still exists; 2. time and PSN of the packet
 * allow so many missing packets (smcr_flow_can_go_on()). */
static bool
can_go_on(const smcr_arrival_t *arrival, const smcr_qp_t *qp)
{
    return !qp->link->deleted_frame && !qp->link->lgr->ended_frame &&
           smcr_flow_can_go_on(&qp->traffic.flow, arrival->roce->psn, arrival->when);
}

/* Whether the content of a packet proves that the packet belongs to the link of `qp`, though its
 * PSN is far from the highest PSN of the flow. There are two cases: 1. the packet writes to an RMB
 * element of an open connection, and the link may go on (can_go_on()); 2. it has a CDC message of a
 * connection that its sender has not closed (`goes_on`). A newer queue pair with the same number
 * would have other RMBs and connections. */
static bool
proves_link(const smcr_arrival_t *arrival, const smcr_qp_t *qp)
{
    return arrival->goes_on || (smcr_write_names_open_conn(arrival, qp) && can_go_on(arrival, qp));
}

bool
smcr_state_cdc_goes_on(smcr_arrival_t *arrival, uint32_t token)
{
    smcr_qp_t *qp = smcr_qp_find(arrival->state, &arrival->roce->destination);

    if (!qp || is_from_stranger(smcr_qp_peer(qp), arrival->roce) || !can_go_on(arrival, qp))
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
 * there is none. */
static smcr_qp_t *
find_receiver(const smcr_arrival_t *arrival)
{
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_qp_t *qp = smcr_qp_find(arrival->state, &roce->destination);

    if (roce->opcode >= SMCR_RC_OPCODES && roce->opcode != SMCR_IB_CNP)
        return NULL;
    if (may_complete_link(qp, roce))
        qp = find_receiver_of_ack(arrival, qp);
    return qp;
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
    if (is_from_stranger(peer, roce) || !is_of_link(arrival, qp))
        return false;

    qp->link->packet_count += !roce->has_bad_icrc;
    arrival->qp = qp;
    smcr_record_set_link(arrival->record, qp->link, peer->side);
    /* The receiver discards a packet with a wrong ICRC. Any byte of the packet may be wrong, so
     * only the order of its PSN is judged. */
    if (roce->has_bad_icrc) {
        smcr_flow_verdict_t verdict = smcr_outcome_judge(arrival, &qp->traffic, &peer->traffic);
        arrival->record->kind = SMCR_RECORD_CORRUPT;
        note_damaged_write(arrival);
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

bool
smcr_state_copy(smcr_arrival_t *arrival)
{
    const smcr_state_t *state = arrival->state;
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_record_t *record = arrival->record;
    smcr_qp_t *qp = smcr_qp_find(arrival->state, &roce->destination);
    bool has_link = qp && !is_from_stranger(smcr_qp_peer(qp), roce);

    smcr_state_learns(arrival->state, arrival->when.frame);
    if (has_link)
        smcr_record_set_link(record, qp->link, smcr_qp_peer(qp)->side);
    else if (state->rdma)
        record->rdma = smcr_rdma_find(state->rdma, roce);
    record->order = SMCR_FLOW_IS_ELSEWHERE;
    record->receiver_action = SMCR_FLOW_RECEIVER_DROPS;
    if (smcr_ib_operations[roce->opcode].is_response)
        record->kind = SMCR_RECORD_ACK;
    return record->link || record->rdma;
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
 * any link of its group. If the capture may miss links of the group, they may be listed in another
 * group that began before the capture, since the two objects may be one group. Otherwise the
 * message is about no other group, and the links of its own group count as uncertain because the
 * message counts as missing. */
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
    take_in_or_defer(arrival, &(content_t){.llc = &meant, .requested = requested});
    smcr_record_set_link(arrival->record, qp->link, !qp->side);
}

/* Notes that the group has sent a CDC message. Returns true if the message changes nothing, since
 * the hosts have agreed on immediate data in place of CDC messages: its receiver discards it
 * (ANCK's smc_cdc.c, smc_cdc_rx_handler()), and an event reports the message. Returns false for a
 * failover validation, the only CDC message that ANCK sends then. Also returns false if only
 * WRITEs, and not CLC, have shown the agreement: then the message refutes the agreement, and it is
 * not known any more what the immediate data of the group mean. */
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

/* Takes in the credits of a CDC message. ANCK takes them in before it looks for the connection
 * (smc_cdc.c there, smc_cdc_rx_handler()). */
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
    take_in_or_defer(arrival, &(content_t){.cdc = cdc, .conn = arrival->record->conn});
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

    if (cdc->state || smcr_conn_side_has_ended(sender) || cdc->flags & SMCR_CDC_FLAG_FAILOVER)
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
 * 2. the link has had a CONFIRM LINK request. */
static void
report_link_mismatch(const smcr_arrival_t *arrival, const smcr_qp_t *wrong)
{
    if (wrong->key.qpn >= SMCR_WIRE_QPN_MIN && !wrong->link->confirm_frame)
        smcr_event_add(arrival, SMCR_EVENT_link_mismatch,
                       "One end of the link is another queue pair than was announced");
}

/* Corrects a link for which a wrong queue pair was announced. CONFIRM LINK goes from one queue pair
 * of its link to the other. Correct peers have announced both queue pairs before, in CLC or ADD
 * LINK. `from`, `to`: sender and receiver of the message; NULL: this queue pair was not announced.
 *
 * The link is corrected under three conditions: 1. exactly one of the two queue pairs was
 * announced; 2. the link of this queue pair has another queue pair with a number on its other side;
 * 3. the packet has the first PSN that was announced for this link. Then the message belongs to
 * this link. So the other queue pair of the link was announced wrong, and is forgotten. (R-3.3-5,
 * R-A.3.1-3) */
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
 * PSNs of its flow, the number has been reused for a new queue pair. If the old link has not ended
 * in the capture, and the packet is no CONFIRM LINK, with which a new link begins, packets are
 * certainly missing. */
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
