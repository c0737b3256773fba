/* cdc_flow.c
 * What CDC messages tell: which connection, and how it lives and ends (RFC 7609 4.5 to 4.8, A.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "exchange.h"
#include "orphan.h"
#include "state_private.h"
#include "window.h"
#include "wire/cdc_codes.h"

#define HALVES_MAX 256 /* late connections of a group that wait for their other direction */

/* ---- which connection ---- */

/*
 * The other direction of a connection that began before the capture. Its two directions have a
 * token each, and nothing in CDC says that they belong together. But the sender's consumer cursor
 * repeats the other direction's producer cursor; where a single connection fits in that, and has
 * the same token too (both hosts of a pair commonly count theirs in step), it is that one.
 */
static smcr_conn_t *
other_half(const smcr_lgr_t *lgr, int receiver, const smcr_cdc_t *cdc)
{
    smcr_conn_t *found = NULL;

    for (wmem_list_frame_t *at = wmem_list_head(lgr->halves); at; at = wmem_list_frame_next(at)) {
        smcr_conn_t *half = wmem_list_frame_data(at);
        const smcr_conn_side_t *writer = &half->side[receiver];
        const smcr_conn_side_t *reader = &half->side[!receiver];
        if (writer->has_token || !reader->has_token || cdc->cons.count == 0 ||
            writer->prod.count != cdc->cons.count || writer->prod.wrap != cdc->cons.wrap)
            continue;
        if (found)
            return NULL;
        found = half;
    }
    return found && found->side[!receiver].token == cdc->token ? found : NULL;
}

static smcr_conn_t *
late_conn(smcr_state_t *state, smcr_lgr_t *lgr, int receiver, const smcr_cdc_t *cdc,
          smcr_packet_t *packet)
{
    smcr_conn_t *conn = other_half(lgr, receiver, cdc);

    if (conn) {
        smcr_event_add(state, packet, SMCR_EVENT_LATE_CONN,
                       "Token and cursors show that this is the other direction of connection %u",
                       conn->index);
        wmem_list_remove(lgr->halves, conn);
    } else {
        conn = smcr_conn_new(state);
        conn->lgr = lgr;
        wmem_list_append(lgr->halves, conn);
        if (wmem_list_count(lgr->halves) > HALVES_MAX)
            wmem_list_remove_frame(lgr->halves, wmem_list_head(lgr->halves));
        smcr_event_add(state, packet,
                       lgr->from_start ? SMCR_EVENT_UNKNOWN_TOKEN : SMCR_EVENT_LATE_CONN, NULL);
    }
    smcr_conn_set_token(state, conn, receiver, cdc->token);
    return conn;
}

/*
 * The RMB of a late connection, from the WRITE right before its CDC message: the producer cursor
 * is where the write ended. RMBs begin at a page, and the cursor has moved since the message
 * before, which rules out a WRITE of another connection.
 */
static void
learn_rmb(smcr_state_t *state, smcr_end_t *end, smcr_conn_t *conn, const smcr_cdc_t *cdc,
          const smcr_roce_t *roce)
{
    smcr_conn_side_t *side = &conn->side[end->side];
    const smcr_conn_side_t *writer = &conn->side[!end->side];
    bool moved = !writer->cdc_frame || writer->prod.count != cdc->prod.count ||
                 writer->prod.wrap != cdc->prod.wrap;

    if (side->rmb || end->write_count == 0 || !moved)
        return;
    const smcr_write_t *write = &end->writes[(end->write_count - 1) % SMCR_WRITES_KEPT];
    uint32_t after = (write->first_psn + write->packets) & SMCR_PSN_MASK;
    if (!write->late || after != roce->psn || cdc->prod.count < write->length)
        return;
    uint64_t base = write->va - (cdc->prod.count - write->length);
    if (base & SMCR_PAGE_MASK)
        return;
    side->rmb = smcr_rmb_announce(state, end, write->rkey, base);
    side->rmb_index = 1;
    smcr_rmb_set_conn(state, side->rmb, 1, conn);
    write->late->conn = conn;
    if (cdc->prod.wrap != 0)
        return; /* how often it has wrapped before is not known for sure */
    write->late->placed = true;
    write->late->position = cdc->prod.count - write->length;
    side->in = (smcr_stream_t){
        .known = true,
        .written = cdc->prod.count,
        .announced = cdc->prod.count - write->length,
        .prod = {0, cdc->prod.count - write->length},
    };
}

/* The sender was done with the connection, and this is not its next message: the token is in use
 * again, and the capture lacks the CLC messages that say so. */
static bool
is_over(const smcr_conn_side_t *sender, const smcr_cdc_t *cdc)
{
    bool ended = sender->closed_frame || sender->abort_frame;
    bool replay = sender->moved_frame > sender->cdc_frame; /* after a failover (4.6.1) */

    return ended && !replay && !(cdc->flags & SMCR_CDC_FLAG_FAILOVER) &&
           !(cdc->state & (SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT)) &&
           (uint16_t)(cdc->seq - sender->cdc_seq) != 1;
}

void
smcr_state_cdc(smcr_state_t *state, const smcr_roce_t *roce, const smcr_cdc_t *cdc,
               smcr_when_t when, smcr_packet_t *packet)
{
    smcr_end_t *end = smcr_end_find(state, &roce->target);
    smcr_lgr_t *lgr = end->link->lgr;

    packet->kind = SMCR_PACKET_CDC;
    if (!cdc->complete)
        return;
    smcr_note_deleted_link(state, end, packet);
    packet->conn = smcr_conn_find(state, lgr, end->side, cdc->token);
    if (!packet->conn || (packet->order == SMCR_PSN_NEXT &&
                          is_over(&packet->conn->side[!end->side], cdc)))
        packet->conn = late_conn(state, lgr, end->side, cdc, packet);
    if (packet->order == SMCR_PSN_NEXT) {
        learn_rmb(state, end, packet->conn, cdc, roce);
        smcr_cdc_apply(state, end, packet->conn, roce->psn, cdc, when, packet);
    } else if (packet->order == SMCR_PSN_AHEAD) {
        smcr_deferred_add(
            state, end,
            &(smcr_deferred_t){.psn = roce->psn, .cdc = cdc, .conn = packet->conn, .when = when});
    }
}

/* ---- what it changes ---- */

static void
take_link(smcr_state_t *state, smcr_end_t *end, smcr_conn_t *conn, bool validated,
          smcr_when_t when, smcr_packet_t *packet)
{
    smcr_conn_side_t *side = &conn->side[!end->side];
    bool has_sent = side->cdc_frame || validated; /* before, any link of the group may be chosen */

    if (side->link && side->link != end->link && has_sent) {
        smcr_event_add(state, packet, SMCR_EVENT_MOVED,
                       "Connection %u moves from link %u to link %u%s", conn->index,
                       side->link->index, end->link->index,
                       validated ? "" : ", without failover validation");
        side->moved_frame = when.frame;
        conn->side[end->side].in.moved = true;
    }
    side->link = end->link;
}

static void
check_sequence(smcr_state_t *state, const smcr_conn_side_t *side, const smcr_cdc_t *cdc,
               smcr_packet_t *packet)
{
    int16_t step = (int16_t)(uint16_t)(cdc->seq - side->cdc_seq);

    if (!side->cdc_frame || step == 1)
        return;
    /* After a failover the messages that were not acknowledged may come again (4.6.1). */
    if (step <= 0 && side->moved_frame <= side->cdc_frame)
        smcr_event_add(state, packet, SMCR_EVENT_SEQ_BACKWARDS,
                       "Sequence number %u follows %u, which frame %u had", cdc->seq,
                       side->cdc_seq, side->cdc_frame);
    else if (step > 1)
        smcr_event_add(state, packet, SMCR_EVENT_SEQ_GAP,
                       "Sequence number %u follows %u: CDC messages before this one are missing",
                       cdc->seq, side->cdc_seq);
}

smcr_cdc_more_t *
smcr_cdc_more(smcr_state_t *state, smcr_cdc_view_t *view)
{
    if (!view->more)
        view->more = smcr_state_alloc0(state, sizeof *view->more);
    return view->more;
}

uint32_t
smcr_cdc_free(const smcr_cdc_view_t *view)
{
    return view->unread < view->size ? view->size - view->unread : 0;
}

static bool
has_ended(const smcr_conn_side_t *side)
{
    return side->sending_done_frame || side->closed_frame || side->abort_frame;
}

static void
take_state(smcr_state_t *state, smcr_conn_side_t *side, const smcr_cdc_t *cdc, smcr_when_t when,
           smcr_packet_t *packet)
{
    static const struct {
        uint8_t bit;
        smcr_event_id_t event;
        size_t member;
    } ends[] = {
        {SMCR_CDC_STATE_SENDING_DONE, SMCR_EVENT_SENDING_DONE,
         offsetof(smcr_conn_side_t, sending_done_frame)},
        {SMCR_CDC_STATE_CLOSED, SMCR_EVENT_CLOSED, offsetof(smcr_conn_side_t, closed_frame)},
        {SMCR_CDC_STATE_ABORT, SMCR_EVENT_ABORTED, offsetof(smcr_conn_side_t, abort_frame)},
    };
    bool had_ended = has_ended(side);

    for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++) {
        uint32_t *frame = (uint32_t *)(void *)((uint8_t *)side + ends[i].member);
        if (!(cdc->state & ends[i].bit) || *frame)
            continue;
        *frame = when.frame;
        smcr_event_add(state, packet, ends[i].event, NULL);
    }
    if (packet->view)
        packet->view->last = has_ended(side) && !had_ended;
}

static void
check_cursors(smcr_state_t *state, int64_t len, int64_t read, const smcr_stream_t *in,
              smcr_packet_t *packet)
{
    if (len < 0 || read < 0)
        smcr_event_add(state, packet, SMCR_EVENT_CURSOR_BACKWARDS,
                       len < 0 ? "The producer cursor is behind that of the message before"
                               : "The consumer cursor is behind that of the message before");
    if (in && in->announced && in->consumed > in->announced)
        smcr_event_add(state, packet, SMCR_EVENT_READ_TOO_FAR, NULL);
}

/* Whether the writer knows that all it has announced has been read. */
static bool
all_read(const smcr_conn_side_t *writer, const smcr_conn_side_t *reader)
{
    if (!reader->cdc_frame) /* nothing but an eyecatcher */
        return writer->prod.wrap == 0 && writer->prod.count <= SMCR_EYECATCHER_LENGTH;
    return writer->prod.wrap == reader->cons.wrap && writer->prod.count == reader->cons.count;
}

/* A consumer cursor update that the peer has asked for, or that the sender asks for (4.5.1). Every
 * CDC message has the cursor, so the next one is the answer. */
static void
take_update(smcr_state_t *state, smcr_conn_side_t *sender, smcr_conn_side_t *peer,
            const smcr_cdc_t *cdc, smcr_when_t when, smcr_packet_t *packet)
{
    if (peer->update) {
        smcr_exchange_close(peer->update, when);
        packet->answers = peer->update;
        peer->update = NULL;
    }
    if (!(cdc->flags & SMCR_CDC_FLAG_UPDATE) || all_read(sender, peer))
        return;
    if (!sender->update)
        sender->update = smcr_exchange_open(state, when);
    packet->asks = sender->update;
}

/* Whether the message tells nothing that its sender has not told before, but for the consumer
 * cursor. */
static bool
only_reads(const smcr_conn_side_t *sender, const smcr_cdc_t *cdc, const smcr_packet_t *packet)
{
    return packet->view && packet->view->len == 0 && !packet->answers &&
           cdc->flags == sender->cdc_flags && cdc->state == sender->cdc_state;
}

/* Bytes announced and read; `packet` gets the numbers as they are now. */
static void
take_cursors(smcr_state_t *state, smcr_end_t *end, smcr_conn_t *conn, uint32_t psn,
             const smcr_cdc_t *cdc, smcr_when_t when, smcr_packet_t *packet)
{
    smcr_stream_t *out = smcr_conn_stream(conn, end->side, cdc->prod.count);
    smcr_stream_t *in = smcr_conn_stream(conn, !end->side, cdc->cons.count);

    if (out && smcr_ring_room(&out->ring) == 0 && cdc->prod.wrap != out->prod.wrap) {
        out->known = false; /* how long a round is, is not known */
        out = NULL;
    }
    if (in && smcr_ring_room(&in->ring) == 0 && cdc->cons.wrap != in->cons.wrap)
        in = NULL;
    smcr_reading_t reading = {in ? in->consumed : 0, in ? smcr_stream_free(in) : 0, false};
    int64_t len = out ? smcr_stream_announce(out, cdc->prod) : 0;
    int64_t read = in ? smcr_stream_consume(in, cdc->cons) : 0;

    check_cursors(state, len, read, in, packet);
    if (len > 0)
        smcr_orphan_end(state, end, conn, out, psn, out->announced);
    if (out) {
        packet->view = smcr_state_alloc0(state, sizeof *packet->view);
        packet->view->len = len > 0 ? (uint32_t)len : 0;
        packet->view->read = read > 0 ? (uint32_t)read : 0;
        smcr_window_announced(state, out, (cdc->flags & SMCR_CDC_FLAG_BLOCKED) != 0, when, packet);
        if (cdc->flags & SMCR_CDC_FLAG_URGENT_PRESENT)
            smcr_window_urgent(state, out);
    }
    reading.alone = only_reads(&conn->side[!end->side], cdc, packet);
    if (in && read > 0)
        smcr_window_consumed(state, in, &reading, when, packet);
    if (!out)
        return;
    packet->view->offered =
        in && smcr_ring_room(&in->ring) ? (uint32_t)smcr_stream_free(in) : SMCR_NOT_KNOWN;
    packet->view->announced = out->announced;
    packet->view->consumed = in ? in->consumed : 0;
    packet->view->unread = (uint32_t)smcr_stream_unread(out);
    packet->view->size = smcr_ring_room(&out->ring);
    packet->view->urgent = cdc->flags & SMCR_CDC_FLAG_URGENT_PRESENT && out->announced > 0;
}

void
smcr_cdc_apply(smcr_state_t *state, smcr_end_t *end, smcr_conn_t *conn, uint32_t psn,
               const smcr_cdc_t *cdc, smcr_when_t when, smcr_packet_t *packet)
{
    smcr_conn_side_t *side = &conn->side[!end->side];
    bool validation = (cdc->flags & SMCR_CDC_FLAG_FAILOVER) != 0;

    take_link(state, end, conn, validation, when, packet);
    if (validation) /* nothing else in it counts (A.4) */
        return;
    if (side->closed_frame && !(cdc->state & (SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT)))
        smcr_event_add(state, packet, SMCR_EVENT_AFTER_CLOSE,
                       "The sender said in frame %u that it is done with the connection",
                       side->closed_frame);
    check_sequence(state, side, cdc, packet);
    side->cdc_frame = when.frame;
    side->cdc_seq = cdc->seq;
    side->prod = cdc->prod;
    side->cons = cdc->cons;
    take_update(state, side, &conn->side[end->side], cdc, when, packet);
    take_cursors(state, end, conn, psn, cdc, when, packet);
    side->cdc_flags = cdc->flags;
    side->cdc_state = cdc->state;
    take_state(state, side, cdc, when, packet);
}

void
smcr_state_tcp_reset(smcr_state_t *state, const smcr_cdc_t *cdc, smcr_packet_t *packet)
{
    const uint8_t over = SMCR_CDC_STATE_ABORT | SMCR_CDC_STATE_CLOSED;

    if (packet->order == SMCR_PSN_NEXT && !(cdc->state & over))
        smcr_event_add(state, packet, SMCR_EVENT_TCP_ENDED, NULL);
}
