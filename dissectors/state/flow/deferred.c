/* Takes in the content of packets, at once or when the receiver has acknowledged the packet.
 *
 * A gap in the PSNs has one of two causes. If packets were lost on the network, the receiver
 * discards all packets after the gap, and the sender retransmits them. If only the capture misses
 * packets, the receiver takes in the packets after the gap, and its acknowledgement proves this:
 *
 *     PSN 100, 101, (102 missing), 103     103 is deferred
 *     ACK 103                              102 had reached the receiver: 103 is taken in now
 *     or: PSN 102, PSN 103 once more       103 was discarded: the retransmitted one counts
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "deferred.h"

#include "cdc_conn.h"
#include "cdc_flow.h"
#include "llc_flow.h"
#include "state/flow/writes/writes.h"
#include "state/model/store.h"

#define DEFERRED_MAX 8192 /* maximum number of deferred packets of one queue pair: more than a
                             sender usually has unacknowledged */

/* A packet after a PSN gap, kept until its receiver acknowledges or discards it. */
typedef struct {
    smcr_state_content_t content; /* content of the packet; its message and headers point into
                                     `copy` */
    smcr_psn_t psn;    /* PSN of the packet, without wrap */
    smcr_when_t when;  /* frame and time of the packet (`when` of smcr_arrival_t) */
    smcr_when_t sent;  /* frame and time of the packet's first transmission (`first_sent` of
                          smcr_arrival_t); frame 0: not known */
    uint8_t order;     /* order of the packet's PSN in its flow, smcr_flow_order_t */
    const uint32_t *discard_proof; /* `discard_proof_frame` of the packet's record: points to the
                                      frame proving that the receiver has discarded the packet, or
                                      to 0: no proof so far; NULL: not after a gap */
    smcr_record_cdc_t *analysis; /* analysis in the record of the CDC message, or of the immediate
                                    data in its place; NULL: no such message */
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
    smcr_state_content_t *content = &deferred->content;

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

/* Keeps the content of the packet, which arrives after a PSN gap, until a later packet shows
 * whether the receiver has taken the packet in: an acknowledgement, or a request that the receiver
 * takes in. If DEFERRED_MAX packets wait already, the content of this one is not kept. */
static void
defer_content(const smcr_arrival_t *arrival, const smcr_state_content_t *content)
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

/* Changes the state by the data of a WRITE packet whose connection is certain. */
static void
take_in_data(const smcr_arrival_t *arrival, const smcr_state_content_t *content)
{
    smcr_stream_t *stream =
        smcr_write_stream(content->conn, arrival->qp->side, content->place->offset);

    if (stream)
        smcr_write_take_in_packet(arrival, stream, content->place);
}

/* Changes the state by the content of a packet that its receiver has taken in. If the connection of
 * a CDC message or of data is not certain, they change nothing. */
static void
take_in_content(const smcr_arrival_t *arrival, const smcr_state_content_t *content)
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

void
smcr_state_take_in_or_defer(const smcr_arrival_t *arrival, const smcr_state_content_t *content)
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
place_deferred_write(smcr_arrival_t *then, smcr_state_content_t *content)
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
conn_of_message(const smcr_state_content_t *content)
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
    smcr_state_content_t *content = &deferred->content;

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

/* Takes the packets in the order of their PSNs. Of several packets with one PSN, is_repeated() says
 * which one counts. */
void
smcr_state_take_in_deferred(const smcr_arrival_t *arrival, smcr_qp_t *qp, smcr_psn_t end)
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

void
smcr_state_drop_deferred(const smcr_arrival_t *arrival)
{
    deferred_t *deferred = take_next_deferred(arrival->qp, arrival->psn + 1);

    if (deferred)
        free_deferred(arrival->state, deferred);
}
