/* Takes packets into the pictures of connections and flows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "series.h"

/* ---- beginning and end ---- */

smcr_series_t *
smcr_series_new(void)
{
    return g_new0(smcr_series_t, 1);
}

/* The choice of connections belongs to the user, and not to the file. */
void
smcr_series_empty(smcr_series_t *series)
{
    GHashTable *chosen = series->chosen;

    if (series->scope)
        wmem_destroy_allocator(series->scope);
    *series = (smcr_series_t){.chosen = chosen};
}

void
smcr_series_free(smcr_series_t *series)
{
    smcr_series_empty(series);
    smcr_series_choose_none(series);
    g_free(series);
}

void
smcr_series_choose_none(smcr_series_t *series)
{
    if (series->chosen)
        g_hash_table_destroy(series->chosen);
    series->chosen = NULL;
}

void
smcr_series_choose(smcr_series_t *series, uint64_t stream)
{
    if (!series->chosen)
        series->chosen = g_hash_table_new(g_direct_hash, g_direct_equal);
    g_hash_table_add(series->chosen, GUINT_TO_POINTER((unsigned)stream + 1));
}

void
smcr_series_choose_same(smcr_series_t *series, const smcr_series_t *other)
{
    GHashTableIter at;
    void *number;

    smcr_series_choose_none(series);
    if (!other->chosen)
        return;
    g_hash_table_iter_init(&at, other->chosen);
    while (g_hash_table_iter_next(&at, &number, NULL))
        smcr_series_choose(series, GPOINTER_TO_UINT(number) - 1);
}

/* Returns the memory pool of the pictures. */
static wmem_allocator_t *
scope_of(smcr_series_t *series)
{
    if (!series->scope)
        series->scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    return series->scope;
}

/* ---- connections ---- */

/* Returns the connection's pictures; NULL: it has none so far. */
static smcr_series_conn_t *
find_conn(const smcr_series_t *series, const smcr_conn_t *conn)
{
    for (uint32_t i = 0; i < series->conn_count; i++)
        if (series->conn[i]->conn == conn)
            return series->conn[i];
    return NULL;
}

/* Whether a connection without pictures gets some: there is room for it, and it is chosen. If no
 * connections were chosen, each one counts as chosen. */
static bool
is_wanted(const smcr_series_t *series, const smcr_conn_t *conn)
{
    if (series->conn_count == SMCR_SERIES_CONNS)
        return false;
    return !series->chosen ||
           g_hash_table_contains(series->chosen, GUINT_TO_POINTER(conn->index + 1));
}

/* Swaps the directions if the state has swapped the sides of the connection. */
static void
follow_sides(smcr_series_conn_t *pictures)
{
    const smcr_series_direction_t first = pictures->direction[0];

    if (pictures->sides_swapped == pictures->conn->sides_swapped)
        return;
    pictures->sides_swapped = pictures->conn->sides_swapped;
    pictures->direction[0] = pictures->direction[1];
    pictures->direction[1] = first;
}

/* Returns the pictures of the packet's connection, which its first packet makes; NULL: it gets
 * none. If the state has swapped the sides of the connection, the pictures follow. */
static smcr_series_conn_t *
conn_of(smcr_series_t *series, const smcr_conn_t *conn)
{
    smcr_series_conn_t *pictures = find_conn(series, conn);

    if (!pictures && is_wanted(series, conn)) {
        pictures = wmem_new0(scope_of(series), smcr_series_conn_t);
        pictures->conn = conn;
        pictures->sides_swapped = conn->sides_swapped;
        pictures->direction[0].scope = pictures->direction[1].scope = series->scope;
        series->conn[series->conn_count++] = pictures;
    }
    if (pictures)
        follow_sides(pictures);
    return pictures;
}

/* Adds a point to a line of positions, which does not fall. While it is not known how the line goes
 * on, a point at its last position is not added: a retransmission may have this position. */
static void
add_line(smcr_series_direction_t *direction, smcr_series_line_id_t line,
         smcr_series_point_t point)
{
    smcr_series_line_t *drawn = &direction->line[line];
    uint64_t last = smcr_series_line_last(drawn);
    bool repeats_last = point.value == last && drawn->length && drawn->is_lost;

    if (point.value >= last && !repeats_last)
        smcr_series_line_add(drawn, direction->scope, point);
}

/* Adds a point that a new message shows. If the position is the last one of the line, it has not
 * changed in between: a position does not fall. So the line has no hole there. */
static void
add_current(smcr_series_direction_t *direction, smcr_series_line_id_t line,
            smcr_series_point_t point)
{
    smcr_series_line_t *drawn = &direction->line[line];

    if (drawn->length && point.value == smcr_series_line_last(drawn))
        drawn->is_lost = false;
    add_line(direction, line, point);
}

/* Notes that a packet came whose position on the line is not known. The next known point ends
 * this. */
static void
lose_line(smcr_series_direction_t *direction, smcr_series_line_id_t line)
{
    direction->line[line].is_lost = true;
}

/* Notes that the position on the line is not known in a part of `gap`, as packets are missing. The
 * gap begins with the last packet before them. Frame 0: not known, so the last point of the line
 * takes its place. Points may have come before the gap was noticed: those of acknowledgements and
 * retransmissions. They may end the unknown time. */
static void
lose_line_in(smcr_series_direction_t *direction, smcr_series_line_id_t line,
             smcr_interval_t gap)
{
    smcr_series_line_t *drawn = &direction->line[line];
    smcr_when_t since = gap.begin;

    if (since.frame && smcr_series_line_break(drawn, since.time, gap.end.time))
        return;
    if (since.frame && drawn->length && !drawn->is_lost)
        smcr_series_line_add(drawn, direction->scope,
                             (smcr_series_point_t){since, smcr_series_line_last(drawn)});
    lose_line(direction, line);
}

/* Whether the last position of the line is that of `limit`, and this position is known. The line is
 * never above `limit`. */
static bool
is_at(const smcr_series_direction_t *direction, smcr_series_line_id_t line,
      smcr_series_line_id_t limit)
{
    const smcr_series_line_t *above = &direction->line[limit];

    return !above->is_lost &&
           smcr_series_line_last(&direction->line[line]) == smcr_series_line_last(above);
}

/* Ends the uncertainty of lines that have reached their limit: only data that is written can be
 * acknowledged, and only data that is announced can be reported as read. */
static void
settle_lines(smcr_series_direction_t *direction)
{
    if (is_at(direction, SMCR_SERIES_acknowledged, SMCR_SERIES_written))
        direction->line[SMCR_SERIES_acknowledged].is_lost = false;
    if (is_at(direction, SMCR_SERIES_read, SMCR_SERIES_announced))
        direction->line[SMCR_SERIES_read].is_lost = direction->line[SMCR_SERIES_edge].is_lost =
            false;
}

/* Adds a mark at the position up to which the writer has written. */
static void
add_mark(smcr_series_direction_t *direction, smcr_series_mark_id_t mark, smcr_when_t when)
{
    uint64_t written = smcr_series_line_last(&direction->line[SMCR_SERIES_written]);

    smcr_series_line_add(&direction->mark[mark], direction->scope,
                         (smcr_series_point_t){when, written});
}

/* Returns how many of the oldest waiting packets are acknowledged. An acknowledgement covers all
 * earlier packets. So a packet without acknowledgement does not wait any more if a later packet has
 * one: the acknowledgement belongs to another transmission of the packet. */
static uint32_t
count_acknowledged(const smcr_series_direction_t *direction)
{
    for (uint32_t count = direction->pending_count; count; count--) {
        uint32_t last = (direction->pending_first + count - 1) % SMCR_SERIES_PENDING;
        if (direction->pending[last].place->acked)
            return count;
    }
    return 0;
}

/* Adds the acknowledgements that packets of the direction have got, the oldest packet first. The
 * packets up to the last acknowledged one wait no more. */
static void
add_acknowledged(smcr_series_direction_t *direction)
{
    for (uint32_t count = count_acknowledged(direction); count; count--) {
        const smcr_series_pending_t *oldest = &direction->pending[direction->pending_first];
        const smcr_ack_t *ack = oldest->place->acked;
        if (ack)
            add_line(direction, SMCR_SERIES_acknowledged,
                     (smcr_series_point_t){smcr_ack_when(ack), oldest->end});
        direction->pending_first = (direction->pending_first + 1) % SMCR_SERIES_PENDING;
        direction->pending_count--;
    }
}

/* Notes that packets of a host are missing on the link of a connection. They may be WRITEs and CDC
 * messages of this connection, and acknowledgements may be missing with them. An acknowledgement of
 * a missing WRITE has no known position. `own`: the direction that the host writes; `other`: the
 * one that it reads. */
static void
lose_missing(smcr_series_direction_t *own, smcr_series_direction_t *other, smcr_interval_t gap)
{
    add_acknowledged(own);
    add_acknowledged(other);
    lose_line_in(own, SMCR_SERIES_written, gap);
    lose_line_in(own, SMCR_SERIES_announced, gap);
    lose_line_in(own, SMCR_SERIES_acknowledged, gap);
    lose_line_in(other, SMCR_SERIES_acknowledged, gap);
    lose_line_in(other, SMCR_SERIES_read, gap);
    lose_line_in(other, SMCR_SERIES_edge, gap);
    settle_lines(other);
}

/* Lets the packet wait for its acknowledgement. If SMCR_SERIES_PENDING packets wait already, the
 * oldest one waits no more, and its acknowledgement is not drawn. */
static void
await_ack(smcr_series_direction_t *direction, const smcr_place_t *place, uint64_t end)
{
    if (direction->pending_count == SMCR_SERIES_PENDING) {
        direction->pending_first = (direction->pending_first + 1) % SMCR_SERIES_PENDING;
        direction->pending_count--;
    }
    uint32_t at = (direction->pending_first + direction->pending_count) % SMCR_SERIES_PENDING;
    direction->pending[at] = (smcr_series_pending_t){place, end};
    direction->pending_count++;
}

/* Adds a point to a line: add_line() or add_current(). */
typedef void (*add_point_t)(smcr_series_direction_t *, smcr_series_line_id_t, smcr_series_point_t);

/* Adds the end of the receive buffer to the line `edge`: the position `consumed` plus the size of
 * the buffer. Adds nothing if the size is not known. */
static void
add_edge(smcr_series_conn_t *pictures, int writer, smcr_series_point_t consumed, add_point_t add)
{
    uint32_t room = smcr_ring_room(&pictures->conn->side[!writer].in.ring);

    consumed.value += room;
    if (room)
        add(&pictures->direction[writer], SMCR_SERIES_edge, consumed);
}

/* A writer does not write after the end of the receive buffer that it knows. So a WRITE after the
 * last known end proves that the reader has reported more, and that this is not captured: it is not
 * known how the lines `read` and `edge` go on. */
static void
lose_passed_edge(smcr_series_direction_t *direction, uint64_t written)
{
    const smcr_series_line_t *edge = &direction->line[SMCR_SERIES_edge];

    if (!edge->length || written <= smcr_series_line_last(edge))
        return;
    lose_line(direction, SMCR_SERIES_read);
    lose_line(direction, SMCR_SERIES_edge);
}

/* Ends the line `edge` where it begins, if no packet of the reader's host is known: neither a CDC
 * message nor an acknowledgement. Then the reader may have reported what it has read. */
static void
lose_unheard_edge(smcr_series_direction_t *direction)
{
    if (!direction->line[SMCR_SERIES_read].length &&
        !direction->line[SMCR_SERIES_acknowledged].length)
        lose_line(direction, SMCR_SERIES_edge);
}

/* Takes an RDMA WRITE packet. When the first bytes of the stream come, the reader's buffer is
 * empty: the line `edge` begins at its size. If the position of the packet is not known, it is not
 * known how the lines `written` and `acknowledged` go on. */
static void
take_write(smcr_series_conn_t *pictures, const smcr_series_packet_t *packet)
{
    const smcr_place_t *place = packet->record->write_location;
    int writer = packet->record->sender;
    smcr_series_direction_t *direction = &pictures->direction[writer];
    smcr_stream_range_t range = {.known = false};

    if (place)
        range = smcr_place_proven_range(place);
    else if (packet->record->order == SMCR_FLOW_IS_RETRANSMISSION)
        return;
    direction->is_write_unknown = !range.known;
    if (!range.known) {
        lose_line(direction, SMCR_SERIES_written);
        lose_line(direction, SMCR_SERIES_acknowledged);
        return;
    }
    uint64_t end = range.position + place->length;
    if (!direction->line[SMCR_SERIES_edge].length && !range.position)
        add_edge(pictures, writer, (smcr_series_point_t){packet->when, 0}, add_line);
    lose_passed_edge(direction, end);
    add_line(direction, SMCR_SERIES_written, (smcr_series_point_t){packet->when, end});
    await_ack(direction, place, end);
}

/* Notes which cursors of a CDC message are not known. Its sender writes in `own` and reads in
 * `other`. `cdc`: NULL: the record has no positions of the cursors. Then a cursor counts as
 * unchanged, unless the position of the last WRITE in its direction is not known. */
static void
lose_cursors(smcr_series_direction_t *own, smcr_series_direction_t *other,
             const smcr_record_cdc_t *cdc)
{
    bool knows_announced = cdc ? cdc->has_announced : !own->is_write_unknown;
    bool knows_consumed = cdc ? cdc->has_consumed : !other->is_write_unknown;

    if (!knows_announced)
        lose_line(own, SMCR_SERIES_announced);
    if (knows_consumed)
        return;
    lose_line(other, SMCR_SERIES_read);
    lose_line(other, SMCR_SERIES_edge);
}

/* Whether the packet is a CDC message that its receiver does not defer. */
static bool
is_taken_message(const smcr_record_t *record)
{
    const smcr_record_cdc_t *cdc = record->cdc_analysis;

    return record->kind == SMCR_RECORD_CDC && !(cdc && cdc->is_deferred);
}

/* Takes a producer cursor. It shows, too, how far the writer has written if WRITEs are missing. */
static void
take_announced(smcr_series_direction_t *direction, smcr_series_point_t announced, add_point_t add)
{
    add(direction, SMCR_SERIES_announced, announced);
    if (direction->line[SMCR_SERIES_written].is_lost)
        add(direction, SMCR_SERIES_written, announced);
    settle_lines(direction);
}

/* Takes a CDC message: its sender announces what it has written, and reports what it has read. */
static void
take_cdc(smcr_series_conn_t *pictures, const smcr_series_packet_t *packet)
{
    const smcr_record_cdc_t *cdc = packet->record->cdc_analysis;
    int sender = packet->record->sender;

    if (is_taken_message(packet->record))
        lose_cursors(&pictures->direction[sender], &pictures->direction[!sender], cdc);
    if (!cdc)
        return;
    add_point_t add = smcr_record_is_new(packet->record) ? add_current : add_line;
    if (cdc->has_announced)
        take_announced(&pictures->direction[sender],
                       (smcr_series_point_t){packet->when, cdc->announced}, add);
    if (cdc->has_consumed) {
        smcr_series_point_t consumed = {packet->when, cdc->consumed};
        add(&pictures->direction[!sender], SMCR_SERIES_read, consumed);
        add_edge(pictures, !sender, consumed, add);
    }
    if (cdc->urgent)
        add_mark(&pictures->direction[sender], SMCR_SERIES_urgent, packet->when);
}

/* Whether the packet's own IP header has CE. */
static bool
has_own_mark(const smcr_ib_headers_t *roce)
{
    return roce->has_ecn && roce->ecn == SMCR_WIRE_ECN_CE;
}

/* Whether only the IP header of the packet's tunnel has CE, as the report counts `outer_ce`. */
static bool
has_outer_mark_only(const smcr_ib_headers_t *roce)
{
    return smcr_ib_has_outer_mark(roce) && roce->ecn != SMCR_WIRE_ECN_CE;
}

/* Adds the marks of a packet of the connection. A retransmission of a WRITE is marked at its own
 * position, if that is known. */
static void
mark_packet(smcr_series_direction_t *direction, const smcr_series_packet_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_place_t *place = record->write_location;
    smcr_stream_range_t range = {.known = false};

    if (direction->link && record->link != direction->link &&
        smcr_record_has_event(record, SMCR_EVENT_conn_moved))
        add_mark(direction, SMCR_SERIES_failover, packet->when);
    if (has_own_mark(packet->roce))
        add_mark(direction, SMCR_SERIES_ce, packet->when);
    if (has_outer_mark_only(packet->roce))
        add_mark(direction, SMCR_SERIES_outer_ce, packet->when);
    if (record->order != SMCR_FLOW_IS_RETRANSMISSION)
        return;
    if (place)
        range = smcr_place_proven_range(place);
    if (range.known)
        smcr_series_line_add(&direction->mark[SMCR_SERIES_retransmission], direction->scope,
                             (smcr_series_point_t){packet->when, range.position + place->length});
    else
        add_mark(direction, SMCR_SERIES_retransmission, packet->when);
}

/* Takes a packet of a connection: adds points and marks to the pictures of both directions. The
 * caller passes packets in the order of the capture, since a picture only grows at its end. */
static void
take_conn(smcr_series_conn_t *pictures, const smcr_series_packet_t *packet)
{
    smcr_series_direction_t *direction = &pictures->direction[packet->record->sender];

    add_acknowledged(&pictures->direction[0]);
    add_acknowledged(&pictures->direction[1]);
    mark_packet(direction, packet);
    direction->link = packet->record->link;
    if (packet->record->kind == SMCR_RECORD_WRITE)
        take_write(pictures, packet);
    take_cdc(pictures, packet); /* immediate data of a WRITE may stand for a CDC message */
}

/* ---- links ---- */

/* The mark that a packet puts into the pictures of all connections on its link, and whether the
 * mark concerns what the packet's sender writes, or what its receiver writes. */
typedef struct {
    smcr_series_mark_id_t mark; /* SMCR_SERIES_MARK_COUNT: no mark */
    bool of_receiver;           /* the mark concerns what the receiver of the packet writes */
} link_mark_t;

/* Returns the mark of a packet. An acknowledgement or CNP is about the data of its receiver; a
 * sequence gap is about the data of the packet's own sender. */
static link_mark_t
link_mark_of(const smcr_series_packet_t *packet)
{
    const smcr_ib_headers_t *roce = packet->roce;
    unsigned kind = smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_KIND);

    if (roce->opcode == SMCR_IB_CNP)
        return (link_mark_t){SMCR_SERIES_cnp, true};
    if (roce->opcode == SMCR_RC_ACK && roce->has_aeth && kind == SMCR_IB_SYNDROME_NAK)
        return (link_mark_t){SMCR_SERIES_nak, true};
    if (roce->opcode == SMCR_RC_ACK && roce->has_aeth && kind == SMCR_IB_SYNDROME_RNR_NAK)
        return (link_mark_t){SMCR_SERIES_rnr, true};
    if (packet->record->missing_before)
        return (link_mark_t){SMCR_SERIES_gap, false};
    return (link_mark_t){SMCR_SERIES_MARK_COUNT, false};
}

/* Whether both sides of the connection have closed or aborted it before the frame. */
static bool
has_ended(const smcr_conn_t *conn, uint32_t frame)
{
    for (int side = 0; side < 2; side++) {
        const smcr_conn_side_t *each = &conn->side[side];
        uint32_t end = each->closed_frame ? each->closed_frame : each->abort_frame;
        if (!end || end >= frame)
            return false;
    }
    return true;
}

/* Returns the link of a direction of the connection. As long as its writer has sent nothing on
 * RoCE, this is the link on which the other side sends. NULL: not known. */
static const smcr_link_t *
link_of(const smcr_series_conn_t *pictures, int writer)
{
    const smcr_link_t *link = pictures->direction[writer].link;

    return link ? link : pictures->direction[!writer].link;
}

/* Marks the open connections on the packet's link, in the direction that the mark is about. A gap
 * also breaks the lines of both directions of each connection (lose_missing()): the missing packets
 * may have carried WRITEs, cursors and acknowledgements. */
static void
take_link(smcr_series_t *series, const smcr_series_packet_t *packet)
{
    link_mark_t found = link_mark_of(packet);
    int writer = found.of_receiver ? !packet->record->sender : packet->record->sender;

    for (uint32_t i = 0; found.mark < SMCR_SERIES_MARK_COUNT && i < series->conn_count; i++) {
        follow_sides(series->conn[i]);
        if (link_of(series->conn[i], writer) != packet->record->link ||
            has_ended(series->conn[i]->conn, packet->when.frame))
            continue;
        add_mark(&series->conn[i]->direction[writer], found.mark, packet->when);
        if (found.mark == SMCR_SERIES_gap)
            lose_missing(&series->conn[i]->direction[writer],
                         &series->conn[i]->direction[!writer],
                         (smcr_interval_t){packet->gap_begin, packet->when});
    }
}

/* A packet may mark all connections on its link. Only packets of a connection add points to its
 * lines. */
void
smcr_series_take(smcr_series_t *series, const smcr_series_packet_t *packet)
{
    const smcr_record_t *record = packet->record;
    smcr_series_conn_t *pictures;

    if (!record->link || record->sender < 0 || record->order == SMCR_FLOW_IS_COPY)
        return;
    take_link(series, packet);
    if (!record->conn || record->kind == SMCR_RECORD_ACK)
        return;
    pictures = conn_of(series, record->conn);
    if (pictures)
        take_conn(pictures, packet);
}

/* take_conn() adds an acknowledgement with the next packet of the connection. The last
 * acknowledgements have no such packet, so they are added here. */
smcr_series_conn_t *
smcr_series_conn(smcr_series_t *series, const smcr_conn_t *conn)
{
    smcr_series_conn_t *pictures = find_conn(series, conn);

    if (!pictures)
        return NULL;
    follow_sides(pictures);
    for (int writer = 0; writer < 2; writer++) {
        add_acknowledged(&pictures->direction[writer]);
        lose_unheard_edge(&pictures->direction[writer]);
    }
    return pictures;
}

/* ---- lanes ---- */

/* Whether two pieces of a picture can be drawn as one lane: all time of both pieces is charged to
 * the same part. */
static bool
can_join_lanes(const smcr_interval_piece_t *one, const smcr_interval_piece_t *other)
{
    uint64_t length = smcr_interval_length(one->interval);

    for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++)
        if (one->share[part] == length)
            return other->share[part] == smcr_interval_length(other->interval);
    return false;
}

/* Empty pieces are left out. The sums of parts of joined pieces are added, so that the whole time
 * stays divided. */
void
smcr_series_add_lane(void *data, const smcr_interval_piece_t *piece)
{
    smcr_series_direction_t *direction = data;
    smcr_interval_piece_t *last =
        direction->lane_count ? &direction->lanes[direction->lane_count - 1] : NULL;

    if (!smcr_interval_length(piece->interval))
        return;
    if (last && can_join_lanes(last, piece)) {
        last->interval.end = piece->interval.end;
        for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++)
            last->share[part] += piece->share[part];
        return;
    }
    if (direction->lane_count == direction->lane_room) {
        direction->lane_room = 2 * direction->lane_room + 16;
        direction->lanes = wmem_realloc(direction->scope, direction->lanes,
                                        direction->lane_room * sizeof *direction->lanes);
    }
    direction->lanes[direction->lane_count++] = *piece;
}

/* ---- flows ---- */

#define FIRST_WIDTH 1000 /* length of a bin of the first packets, nanoseconds */

/* Returns the flow; makes it if there is room. NULL: the flow has no pictures. Pause frames have a
 * place of their own, so that many flows do not hide them. */
static smcr_series_flow_t *
flow_of(smcr_series_t *series, const void *key)
{
    uint32_t flows = 0;

    for (uint32_t i = 0; i < series->flow_count; i++) {
        if (series->flow[i]->key == key)
            return series->flow[i];
        flows += series->flow[i]->key != NULL;
    }
    if (key && flows == SMCR_SERIES_FLOWS)
        return NULL;
    smcr_series_flow_t *flow = wmem_new0(scope_of(series), smcr_series_flow_t);
    flow->key = key;
    flow->number = UINT64_MAX;
    series->flow[series->flow_count++] = flow;
    return flow;
}

/* Doubles the width of the bins of all flows: each bin takes in its neighbour. */
static void
widen(smcr_series_t *series)
{
    series->width *= 2;
    for (uint32_t i = 0; i < series->flow_count; i++) {
        smcr_series_bin_t *bin = series->flow[i]->bin;
        for (unsigned at = 0; at < SMCR_SERIES_BINS; at += 2) {
            const smcr_series_bin_t one = bin[at], other = bin[at + 1];
            bin[at / 2] = (smcr_series_bin_t){
                one.bytes + other.bytes, one.packets + other.packets,
                one.retransmissions + other.retransmissions, one.ce + other.ce,
                one.outer_ce + other.outer_ce, one.cnp + other.cnp,
                one.misses_packets || other.misses_packets};
        }
        memset(bin + SMCR_SERIES_BINS / 2, 0, sizeof *bin * SMCR_SERIES_BINS / 2);
    }
}

/* Returns the number of the bin of `time`. A time before that of the first packet counts in bin
 * 0. */
static uint64_t
bin_of(smcr_series_t *series, uint64_t time)
{
    if (!series->width) {
        series->width = FIRST_WIDTH;
        series->begin = time;
    }
    uint64_t since = time > series->begin ? time - series->begin : 0;
    while (since / series->width >= SMCR_SERIES_BINS)
        widen(series);
    return since / series->width;
}

/* Whether the packet is the newest request of its flow. */
static bool
is_newest_request(const smcr_record_t *record)
{
    bool is_request = record->kind != SMCR_RECORD_ACK && record->kind != SMCR_RECORD_CNP;

    return is_request && smcr_record_is_new(record);
}

/* Notes that packets of the flow are missing between its newest request and `time`, in the bins
 * between both. */
static void
note_missing(smcr_series_t *series, smcr_series_flow_t *flow, uint64_t time)
{
    uint64_t end = bin_of(series, time);

    for (uint64_t at = bin_of(series, flow->newest) + 1; flow->newest && at < end; at++)
        flow->bin[at].misses_packets = true;
}

/* Of a pause frame only the number of packets counts. */
void
smcr_series_take_flow(smcr_series_t *series, const void *key, const smcr_series_packet_t *packet)
{
    smcr_series_flow_t *flow = flow_of(series, key);

    if (!flow)
        return;
    smcr_series_bin_t *bin = &flow->bin[bin_of(series, packet->when.time)];
    bin->packets++;
    if (!key)
        return;
    if (packet->record->missing_before)
        note_missing(series, flow, packet->when.time);
    if (is_newest_request(packet->record))
        flow->newest = packet->when.time;
    bin->bytes += packet->roce->length;
    bin->retransmissions += packet->record->order == SMCR_FLOW_IS_RETRANSMISSION;
    bin->ce += has_own_mark(packet->roce);
    bin->outer_ce += has_outer_mark_only(packet->roce);
    bin->cnp += packet->roce->opcode == SMCR_IB_CNP;
}

void
smcr_series_number_flow(smcr_series_t *series, const void *key, uint64_t number)
{
    for (uint32_t i = 0; i < series->flow_count; i++)
        if (series->flow[i]->key == key)
            series->flow[i]->number = number;
}

/* ---- capture points ---- */

/* The line of a way while it is drawn. */
typedef struct {
    smcr_series_line_t *line; /* the line, which gets the delays */
    wmem_allocator_t *scope; /* memory pool that owns the line */
} drawn_way_t;

/* Takes the next delay of a way between two points, in the order of time. A delay may be negative,
 * since two clocks differ, so it is stored as its distance from SMCR_SERIES_NO_DELAY. */
static void
take_delay(void *context, smcr_when_t when, int64_t delay)
{
    const drawn_way_t *way = context;
    uint64_t value = SMCR_SERIES_NO_DELAY + (uint64_t)delay;

    smcr_series_line_add(way->line, way->scope, (smcr_series_point_t){when, value});
}

/* Lines are emptied and filled anew, since a comparison may change all delays. */
void
smcr_series_take_delays(smcr_series_t *series, const smcr_points_t *points)
{
    uint32_t count = 0;
    const smcr_points_segment_t *segments = points ? smcr_points_segments(points, &count) : NULL;

    series->way_count = 0;
    for (uint32_t i = 0; i < 2 * count && series->way_count < SMCR_SERIES_WAYS; i++) {
        if (!segments[i / 2].way[i % 2].packets)
            continue; /* the report does not have it */
        drawn_way_t way = {&series->way[series->way_count++], scope_of(series)};
        way.line->length = 0;
        way.line->width = 0;
        smcr_points_delays(points, i / 2, i % 2, take_delay, &way);
    }
}
