/* Fills in both directions of a connection: what they carried, and where their time went.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "counts.h"

/* What may be missing at the end of a connection. All zeros: nothing. */
typedef struct {
    bool is_part;         /* the last messages of the connection may be missing */
    bool is_part_in_time; /* the last messages may be missing, and they may have come before the
                             last captured frame of the connection */
} ending_t;

/* Returns what may be missing at the end of the connection. If both sides have ended, nothing is
 * missing. Otherwise the last messages may be missing in three cases:
 * 1. both ends have closed TCP;
 * 2. packets, also of other flows, are missing after the last packet of a direction of the
 *    connection's link;
 * 3. another connection may have the rest of the packets.
 * Messages may also be missing before the last frame of the connection (`last_frame`) in case 1,
 * and in case 2 if the gap begins at this frame or before. */
static ending_t
ending_of(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
          uint32_t last_frame, const smcr_collect_gap_list_t *gaps)
{
    const smcr_conn_side_t *side = counted->conn->side;
    const smcr_link_t *link = counted->last_use ? counted->last_use->link : NULL;
    uint32_t newest =
        link ? MIN(link->qp[0].traffic.flow.highest_frame, link->qp[1].traffic.flow.highest_frame)
             : UINT32_MAX;
    bool tcp_closed = smcr_collect_conn_tcp_close(tcp) == SMCR_FIGURE_CLOSE_NORMAL;
    uint32_t since = smcr_collect_gaps_begin(gaps, newest);

    if (smcr_conn_side_has_ended(&side[0]) && smcr_conn_side_has_ended(&side[1]))
        return (ending_t){false, false};
    bool has_rest = since != UINT32_MAX || smcr_collect_conn_may_go_on_as_other(counted->conn);
    return (ending_t){tcp_closed || has_rest, tcp_closed || since <= last_frame};
}

/* Whether the sender has certainly sent neither a message nor a WRITE since the capture began. */
static bool
has_sent_nothing(const smcr_collect_conn_stats_t *counted, int sender)
{
    return !counted->counts->direction[sender].unowned_write &&
           smcr_evidence_sent_no_message(counted->conn, sender);
}

/* Whether all captured packets of `sender` certainly count for the connection: the token of its
 * messages is known, or it has sent nothing. */
static bool
knows_packets_of(const smcr_collect_conn_stats_t *counted, int sender)
{
    return smcr_collect_conn_is_captured(counted, sender) &&
           (counted->conn->side[!sender].has_token || has_sent_nothing(counted, sender));
}

/* Whether the RoCE packets certainly belong to the connection, and cursors give positions: both
 * directions are captured, and no cursor is impossible. */
static bool
is_time_known(const smcr_collect_conn_stats_t *counted)
{
    for (int side = 0; side < 2; side++)
        if (!knows_packets_of(counted, side) ||
            smcr_conn_side_has_invalid_cursor(&counted->conn->side[side]))
            return false;
    return true;
}

/* Whether the reader's positions are needed to divide the time, and are not known. They are not
 * needed if the writer has written nothing: it has sent nothing; or the capture has CDC messages of
 * it, but no WRITE to the reader, and no CDC message that announces data. */
static bool
misses_positions(const smcr_collect_conn_stats_t *counted, int reader)
{
    const smcr_conn_t *conn = counted->conn;
    bool has_written = counted->counts->times.timeline.writer[!reader].has_written ||
                       conn->side[!reader].has_announced;

    if (conn->side[reader].in.positions_known || has_sent_nothing(counted, !reader))
        return false;
    return has_written || !conn->side[!reader].last_cdc_frame;
}

/* Returns why the time of the connection may not be divided exactly. The capture is out of order;
 * or packets of the connection may not be recognised, since WRITEs have immediate data whose
 * meaning is not known, or two connections share an alert token; or the positions of a stream are
 * not known. */
static smcr_timeline_doubt_t
doubt_of_time(const smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;
    bool misses_more = conn->lgr->immediate;

    if (smcr_lgr_is_in_disorder(conn->lgr))
        return smcr_lgr_disorder(conn->lgr) == UINT64_MAX ? SMCR_TIMELINE_IN_DISORDER
                                                          : SMCR_TIMELINE_MISSES_MORE;
    for (int side = 0; side < 2; side++)
        misses_more |= misses_positions(counted, side) || conn->side[side].token_shared;
    return misses_more ? SMCR_TIMELINE_MISSES_MORE : SMCR_TIMELINE_NO_DOUBT;
}

/* Whether data of `sender` may be missing after its last message, or may be a WRITE whose
 * connection is not known. */
static bool
may_miss_data_of(const smcr_collect_conn_stats_t *counted, int sender)
{
    return smcr_evidence_may_miss_data_to(counted->conn, !sender) ||
           counted->counts->direction[sender].unowned_write != 0;
}

/* Returns what may be missing of the connection: acknowledgements (`acks`) and the last messages
 * (`last`), for each sender. If both sides have closed, `last` stays false: later messages do not
 * change how the time is divided. `is_part`: the caller knows that the last messages may be
 * missing. If another connection may have them, `since` stays zero: not known since when. */
static smcr_timeline_missing_t
missing_of(const smcr_collect_conn_stats_t *counted, bool is_part)
{
    const smcr_conn_t *conn = counted->conn;
    const smcr_conn_side_t *sides = conn->side;
    bool is_elsewhere = smcr_collect_conn_may_go_on_as_other(conn);
    bool have_closed = smcr_conn_side_has_closed(&sides[0]) && smcr_conn_side_has_closed(&sides[1]);
    smcr_timeline_missing_t missing = {.doubt = doubt_of_time(counted)};

    for (int sender = 0; sender < 2; sender++) {
        const smcr_link_t *link = sides[sender].link;
        bool knows_link = !link || smcr_evidence_knows_link(link);
        missing.acks[sender] = is_part || !smcr_evidence_is_current(conn, !sender);
        missing.last[sender] = !have_closed && (missing.acks[sender] || !knows_link);
        missing.answer[sender] =
            missing.last[sender] && (is_part || may_miss_data_of(counted, sender));
        if (have_closed && !sides[sender].wrote_after_end)
            missing.closed[sender] = sides[sender].closed_frame;
        if (!is_elsewhere)
            missing.since[sender] = counted->missing_since[sender];
    }
    return missing;
}

/* Adds the pieces of time of the direction that `side` writes to its pictures. */
static void
draw_lanes(smcr_collect_conn_stats_t *counted, int side, const smcr_collect_span_t *span)
{
    smcr_series_direction_t *direction = &counted->pictures->direction[side];
    const smcr_timeline_pieces_t pieces = {smcr_series_add_lane, direction};

    direction->lane_count = 0;
    smcr_collect_times_each_piece(&counted->counts->times, side, span, &pieces);
}

/* Returns the longest time that retransmissions may have taken, nanoseconds; 0 for SMC-D, which has
 * no network. SMCR_FIGURE_UNKNOWN: the last messages may be missing, or the packets of the link do
 * not show this time (link_flows.c). */
static uint64_t
retransmission_most(const smcr_collect_conn_stats_t *counted,
                    const smcr_timeline_missing_t *missing)
{
    if (smcr_collect_conn_is_tapped_smcd(counted->conn))
        return 0;
    if (missing->last[0] || missing->last[1])
        return SMCR_FIGURE_UNKNOWN;
    return counted->retransmission_most;
}

/* Returns the last packet of the host of `side` on the links of the link group that are not deleted
 * (`links` of smcr_lgr); frame 0: there is none. */
static smcr_when_t
last_heard(const smcr_collect_t *collection, const smcr_lgr_t *lgr, int side)
{
    smcr_when_t last = {0, 0};

    SMCR_LIST_EACH_BACK(smcr_link_t *, link, lgr->links) {
        smcr_when_t heard = smcr_collect_rdma_flows_last(collection, &link->qp[!side]);
        if (heard.frame > last.frame)
            last = heard;
    }
    return last;
}

/* Returns the time that is divided: it lasts up to the last frame of the connection.
 * `is_part_in_time`: as in ending_t. `first` and `full_since` stay zero: begin_span() sets
 * them. */
static smcr_collect_span_t
span_of(const smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
        const smcr_collect_tcp_facts_t *tcp, const smcr_collect_t *collection,
        bool is_part_in_time)
{
    smcr_when_t can_carry = smcr_collect_conn_ready(counted);
    smcr_timeline_missing_t missing = missing_of(counted, is_part_in_time);

    for (int side = 0; side < 2; side++)
        missing.heard[side] = last_heard(collection, counted->conn->lgr, side);

    return (smcr_collect_span_t){
        .last = entry->last_frame.time,
        .last_frame = entry->last_frame.frame,
        .ready = can_carry.frame ? can_carry.time : SMCR_FIGURE_UNKNOWN,
        .connecting_until = smcr_collect_conn_connecting_until(counted),
        .ready_until = smcr_collect_conn_ready_until(counted),
        .has_syn = tcp && tcp->syn.frame,
        .missing = missing,
        .retransmission_most = retransmission_most(counted, &missing),
    };
}

/* Sets for both directions since when the receive buffer was full, if a host reports that it was
 * full before the first captured packet. The connection then begins with the packet since which the
 * buffer was full, at the latest. */
static void
begin_span(smcr_collect_span_t *span, smcr_entry_connection_t *entry,
           const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_times_t *times = &counted->counts->times;

    for (int writer = 0; writer < 2; writer++) {
        smcr_when_t since = smcr_collect_times_full_since(times, counted->conn, writer);
        span->full_since[writer] = since;
        entry->first_frame = smcr_figure_when_earlier(entry->first_frame, since);
    }
    span->first = entry->first_frame.time;
}

/* Whether the writer may have waited for credits of ANCK at some time: it may send a message only
 * if its peer has announced space for it. It is certain that the writer never did if the capture
 * has all packets since CLC, and credits were left at any time. `writer`: a side of the link group,
 * not a role. */
static bool
may_wait_for_credits(const smcr_collect_conn_stats_t *counted, int writer)
{
    const smcr_lgr_t *lgr = counted->conn->lgr;

    for (const smcr_collect_link_use_t *use = counted->first_use; use; use = use->next) {
        const smcr_qp_t *reader = &use->link->qp[!writer];
        bool may_be_none = reader->limits_peer && (reader->has_had_no_credits ||
                                                   smcr_collect_conn_lacks_packets(counted->conn));
        if (may_be_none || (lgr->immediate_agreed && !reader->has_credits))
            return true;
    }
    return false;
}

/* Charges two parts of a writer's time to "unknown", since a wait for credits may explain them as
 * well: the time in which the writer seems to have nothing to write, and the time in which it seems
 * to wait for an answer. Upper bounds stay: such a wait is never a wait for space. */
static void
doubt_pauses(smcr_entry_conn_time_t *time)
{
    time->unknown_s += time->nothing_to_write_s + time->answer_s;
    time->nothing_to_write_s = time->answer_s = 0;
}

/* Charges nothing to the peer's program if a wait for credits may explain a late answer or a late
 * window update: the program may have written or read, and its host could not send the message. The
 * reader's part of a full buffer becomes the path's part; the sum of both stays. */
static void
doubt_programs(smcr_timeline_direction_t *direction)
{
    uint64_t *share = direction->division.share;

    direction->longest_answer = direction->division.longest_reader = (smcr_interval_t){0};
    share[SMCR_INTERVAL_IS_FULL_PATH] += share[SMCR_INTERVAL_IS_FULL_READER];
    share[SMCR_INTERVAL_IS_FULL_READER] = 0;
}

/* Whether packets of the connection may be missing at its end, or the time may not be divided
 * exactly for another reason (doubt_of_time()). */
static bool
misses_any(const smcr_timeline_missing_t *missing)
{
    return missing->doubt || missing->last[0] || missing->last[1];
}

/* A writer that waits when the capture ends, or when the connection ends. */
typedef struct {
    smcr_figure_wait_t kind; /* the writer waits until the reader's program reads
                                (SMCR_FIGURE_WAIT_READER), or until it answers
                                (SMCR_FIGURE_WAIT_ANSWER) */
    smcr_when_t begin;       /* the packet with which the wait begins; frame 0: there is no wait */
    smcr_when_t proven;      /* up to this packet the capture proves the wait: the last packet of
                                the reader's host on the link, or the end of the connection; frame
                                0: not known */
} waiting_writer_t;

/* Returns the wait of the side `writer` that has not ended when the capture ends; all zeros: there
 * is none, or the link of its peer is not known. */
static waiting_writer_t
find_open_wait(const smcr_collect_conn_stats_t *counted, const smcr_collect_t *collection,
               int writer)
{
    const smcr_link_t *link = counted->conn->side[!writer].link;
    smcr_timeline_open_t open = smcr_timeline_open(&counted->counts->times.timeline, writer);
    bool is_reader = open.unread.frame != 0;
    smcr_when_t begin = is_reader ? open.unread : open.asked;

    if (!link || !begin.frame)
        return (waiting_writer_t){0};
    return (waiting_writer_t){
        .kind = is_reader ? SMCR_FIGURE_WAIT_READER : SMCR_FIGURE_WAIT_ANSWER,
        .begin = begin,
        .proven = smcr_collect_rdma_flows_last(collection, &link->qp[writer]),
    };
}

/* Whether the waits at the end of the connection are known. Three conditions: the time of the
 * connection is known, no packet may be missing at its end, and no host may wait for credits: the
 * reader's program may have read or answered, and its host could not send. */
static bool
knows_last_waits(const smcr_collect_conn_stats_t *counted)
{
    smcr_timeline_missing_t missing = missing_of(counted, false);
    bool has_known_end = is_time_known(counted) && !misses_any(&missing);

    return has_known_end && !may_wait_for_credits(counted, 0) && !may_wait_for_credits(counted, 1);
}

/* Whether the wait has not ended when a connection ends in this way: `close`. A reset of TCP ends a
 * connection whose writer may still wait for the reader's program: then this wait has not ended. */
static bool
is_open_at_close(const waiting_writer_t *wait, smcr_figure_close_t close)
{
    bool is_reset = close == SMCR_FIGURE_CLOSE_RESET;

    return close == SMCR_FIGURE_CLOSE_OPEN || (is_reset && wait->kind == SMCR_FIGURE_WAIT_READER);
}

/* Finds for each writer (index: side) the wait that has not ended when the capture ends, or TCP
 * resets the connection. */
static void
find_open_waits(const smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
                const smcr_collect_t *collection, waiting_writer_t waits[2])
{
    bool is_known = knows_last_waits(counted);

    for (int writer = 0; writer < 2; writer++) {
        waits[writer] =
            is_known ? find_open_wait(counted, collection, writer) : (waiting_writer_t){0};
        if (!is_open_at_close(&waits[writer], entry->close))
            waits[writer] = (waiting_writer_t){0};
    }
}

/* Extends the time of a connection whose writer waits for its reader at the end, to the packet
 * up to which the wait is proven. The connection may have no packet of its own for a long time
 * before. */
static void
extend_to_wait(smcr_entry_connection_t *entry, const waiting_writer_t waits[2])
{
    for (int writer = 0; writer < 2; writer++) {
        const waiting_writer_t *wait = &waits[writer];
        if (wait->kind == SMCR_FIGURE_WAIT_READER &&
            wait->proven.frame > entry->last_frame.frame)
            entry->last_frame = wait->proven;
    }
}

/* Whether all data of the direction are known: the connection began in the capture, and no packet
 * with data is missing. */
static bool
has_all_data(const smcr_entry_connection_t *entry, const smcr_entry_conn_direction_t *direction)
{
    return entry->began_before == SMCR_FIGURE_NO && direction->lacks_bytes == SMCR_FIGURE_NO;
}

/* Whether the receive buffer certainly was never full: all data of the direction are known, and are
 * less than the buffer holds; no message shows a wait for space or a full window. `size`: size of
 * the buffer with its eyecatcher, bytes; SMCR_FIGURE_UNKNOWN: not known, and the smallest possible
 * one counts. */
static bool
never_fills(const smcr_entry_connection_t *entry, const smcr_entry_conn_direction_t *direction,
            uint64_t size)
{
    uint64_t least = size == SMCR_FIGURE_UNKNOWN ? smcr_bsize_to_bytes(SMCR_BSIZE_16K) : size;

    if (direction->blocked_count || smcr_figure_or_zero(direction->window_full_count))
        return false;
    return has_all_data(entry, direction) &&
           direction->bytes + SMCR_WIRE_EYECATCHER_LENGTH < least;
}

/* Charges no unknown time to the full buffer of a direction if its buffer was never full. `role`:
 * its writer, 0 the client, 1 the server. */
static void
bound_full_time(const smcr_entry_connection_t *entry, smcr_entry_conn_direction_t *direction,
                int role)
{
    uint64_t size = role ? entry->buffer_bytes.client : entry->buffer_bytes.server;

    if (never_fills(entry, direction, size))
        direction->time->buffer_full_most_s = direction->time->buffer_full_s;
}

/* Fills in how the time of the direction is divided in which `role` (0: client, 1: server) writes.
 * If packets are missing, the entry has lower and upper bounds. Returns false if nothing is known
 * of this time. */
static bool
fill_time_of(smcr_entry_connection_t *entry, smcr_collect_conn_stats_t *counted, int role,
             const smcr_collect_span_t *span, wmem_allocator_t *scope)
{
    const smcr_collect_times_t *times = &counted->counts->times;
    int client = smcr_collect_conn_client_side(counted);
    int writer = role ? !client : client;
    smcr_entry_conn_direction_t *filled =
        role ? &entry->server_to_client : &entry->client_to_server;
    smcr_timeline_direction_t direction;

    if (!smcr_collect_times_find(times, writer, span, &direction))
        return false;
    if (may_wait_for_credits(counted, !writer))
        doubt_programs(&direction);
    filled->time = smcr_collect_times_entry(times, writer, span, &direction, scope);
    if (may_wait_for_credits(counted, writer))
        doubt_pauses(filled->time);
    bound_full_time(entry, filled, role);
    smcr_collect_times_add_waits(entry, smcr_figure_role(role), &direction, scope);
    if (counted->pictures)
        draw_lanes(counted, writer, span);
    return true;
}

/* Fills in how the time of both directions is divided, if it is known at all. Both directions have
 * their parts, or neither has. */
static void
fill_time(smcr_entry_connection_t *entry, smcr_collect_conn_stats_t *counted,
          smcr_collect_span_t *span, wmem_allocator_t *scope)
{
    if (!is_time_known(counted))
        return;
    begin_span(span, entry, counted);
    if (fill_time_of(entry, counted, 0, span, scope))
        fill_time_of(entry, counted, 1, span, scope);
}

/* Returns the report's entry of an open wait; NULL: there is none. */
static smcr_entry_conn_open_wait_t *
open_wait_entry(const waiting_writer_t *wait, wmem_allocator_t *scope)
{
    if (!wait->begin.frame)
        return NULL;
    smcr_entry_conn_open_wait_t *entry = wmem_new(scope, smcr_entry_conn_open_wait_t);
    *entry = (smcr_entry_conn_open_wait_t){
        .kind = wait->kind, .begin_frame = wait->begin, .proven_frame = wait->proven};
    return entry;
}

/* Whether the TCP connection shows that the other end had closed before: it has sent its FIN. A
 * host closes over RDMA before it closes TCP. So the message with which the other end closed is
 * missing, and its acknowledgement, too. A FIN after a CDC message with the flag sending done shows
 * no close: Linux sends both if a program shuts down its writing side only (smc_shutdown() in
 * net/smc/af_smc.c). `tcp`: NULL gives false. */
static bool
had_peer_closed(const smcr_entry_conn_end_t *end, const smcr_collect_conn_stats_t *counted,
                const smcr_collect_tcp_facts_t *tcp)
{
    if (!tcp)
        return false;
    bool is_server = end->by == SMCR_FIGURE_ROLE_CLIENT;
    int client = smcr_collect_conn_client_side(counted);
    uint32_t fin = tcp->fin[is_server].frame;
    uint32_t done = counted->counts->times.of[is_server ? !client : client].sending_done;
    bool is_shutdown = done && done < fin;

    return fin && fin < end->frame.frame && !is_shutdown;
}

/* Whether the link has a WRITE after `frame` whose connection is not known, and which may be one of
 * this connection. */
static bool
has_unowned_writes(const smcr_collect_conn_stats_t *counted, uint32_t frame)
{
    const smcr_collect_direction_t *directions = counted->counts->direction;

    return directions[0].unowned_write > frame || directions[1].unowned_write > frame;
}

/* Whether a WRITE of the connection after `frame` may be missing in its figures. There are two
 * cases:
 * 1. a WRITE that may be one of this connection has no known connection (has_unowned_writes());
 * 2. this is the first pass, and requests on links of the link group are missing: only a second
 *    pass knows the connection of each WRITE after missing packets. */
static bool
misses_writes_after(const smcr_collect_conn_stats_t *counted, uint32_t frame)
{
    return has_unowned_writes(counted, frame) ||
           (!smcr_capture_is_read() && smcr_collect_conn_lacks_packets(counted->conn));
}

/* Returns the frame of the last WRITE of either side before the end of the connection; without such
 * a WRITE, the frame before which the connection has no packet. */
static uint32_t
last_write_before(const smcr_collect_conn_stats_t *counted, const smcr_entry_conn_end_t *end)
{
    bool has_written = end->idle_frame.frame > counted->counts->times.timeline.begun.frame;

    return has_written ? end->idle_frame.frame : smcr_evidence_first_frame(counted->conn);
}

/* Whether a WRITE of the connection may be missing in its figures between the last captured WRITE
 * and the end of the connection. `complete`: by side, smcr_collect_times_complete_in(): if messages
 * of both sides show that their last WRITEs are captured, none is missing. */
static bool
misses_last_write(const smcr_collect_conn_stats_t *counted, const smcr_entry_conn_end_t *end,
                  const uint32_t complete[2])
{
    return !(complete[0] && complete[1]) &&
           misses_writes_after(counted, last_write_before(counted, end));
}

/* Whether a WRITE that the other end sent after the end of the connection may be missing in the
 * figures. `complete`: smcr_collect_times_complete_in() of the other end: up to this message, no
 * WRITE is missing; 0: not known. */
static bool
misses_late_write(const smcr_collect_conn_stats_t *counted, const smcr_entry_conn_end_t *end,
                  uint32_t complete)
{
    return complete ? has_unowned_writes(counted, complete)
                    : misses_writes_after(counted, end->frame.frame);
}

/* Removes from the end of the connection what a missing WRITE leaves open: which WRITE was the last
 * one before the close, and whether a WRITE came after the close. */
static void
doubt_writes(smcr_entry_conn_end_t *end, const smcr_collect_conn_stats_t *counted)
{
    int client = smcr_collect_conn_client_side(counted);
    int other = end->by == SMCR_FIGURE_ROLE_CLIENT ? !client : client;
    uint32_t complete[2];

    for (int side = 0; side < 2; side++)
        complete[side] = smcr_collect_times_complete_in(&counted->counts->times, counted->conn,
                                                        side, end->frame);
    if (misses_last_write(counted, end, complete))
        end->idle_frame = (smcr_when_t){0, 0};
    if (end->written_after != SMCR_FIGURE_YES && misses_late_write(counted, end, complete[other])) {
        end->written_after = SMCR_FIGURE_MAYBE;
        end->late_write_after_frame = end->frame;
        end->late_write_by_frame = (smcr_when_t){0, 0};
    }
}

/* Fills in which end closed or aborted the connection first, and the last WRITE before this close
 * and a WRITE after it. `entry->end` is NULL if the peer may have closed before. Values that a
 * missing WRITE may change become not known. */
static void
fill_end(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
         const smcr_collect_tcp_facts_t *tcp, wmem_allocator_t *scope)
{
    entry->end = smcr_collect_times_end(&counted->counts->times, counted->conn,
                                        smcr_collect_conn_client_side(counted), scope);
    if (entry->end && had_peer_closed(entry->end, counted, tcp))
        entry->end = NULL;
    if (entry->end)
        doubt_writes(entry->end, counted);
}

/* Shortest wait for an answer that an end gives up, nanoseconds. */
#define GIVEN_UP_AFTER (500 * SMCR_TIME_MILLISECOND)

/* Whether a captured message shows which end closed or aborted the connection first. */
static bool
has_captured_end(const smcr_entry_conn_end_t *end)
{
    return end && end->by && end->frame.frame && end->is_reported != SMCR_FIGURE_YES;
}

/* Returns the wait for an answer of the side `writer`, which ends the connection with the frame
 * `end`. All zeros: there is no such wait, or it is shorter than GIVEN_UP_AFTER. */
static waiting_writer_t
wait_before_end(const smcr_collect_conn_stats_t *counted, int writer, smcr_when_t end)
{
    smcr_timeline_open_t open = smcr_timeline_open(&counted->counts->times.timeline, writer);
    bool waits_for_answer = open.asked.frame && !open.unread.frame;

    if (!waits_for_answer || open.asked.time + GIVEN_UP_AFTER > end.time)
        return (waiting_writer_t){0};
    return (waiting_writer_t){SMCR_FIGURE_WAIT_ANSWER, open.asked, end};
}

/* Fills in the open wait of an end that closes or aborts the connection first, and whose last data
 * its peer's program has not answered. Fills in nothing if no captured message shows which end was
 * the first, or if the waits or the time of the connection are not known (knows_last_waits()). */
static void
fill_wait_before_end(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
                     wmem_allocator_t *scope)
{
    const smcr_entry_conn_end_t *end = entry->end;
    int client = smcr_collect_conn_client_side(counted);

    if (!has_captured_end(end) || !knows_last_waits(counted))
        return;
    bool by_client = end->by == SMCR_FIGURE_ROLE_CLIENT;
    smcr_entry_conn_direction_t *asked =
        by_client ? &entry->client_to_server : &entry->server_to_client;
    waiting_writer_t wait = wait_before_end(counted, by_client ? client : !client, end->frame);
    if (asked->time)
        asked->open_wait = open_wait_entry(&wait, scope);
}

/* Fills in the two directions of a connection over RDMA. An open wait may prolong the connection,
 * so the waits are found before the time is divided. */
static void
fill_rdma_directions(smcr_entry_connection_t *entry, smcr_collect_conn_stats_t *counted,
                     const smcr_collect_tcp_facts_t *tcp, const smcr_collect_t *collection,
                     wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;
    int client = smcr_collect_conn_client_side(counted);
    uint32_t size = conn->side[client].size, server_size = conn->side[!client].size;
    ending_t ending = ending_of(counted, tcp, entry->last_frame.frame, &collection->gaps);
    waiting_writer_t waits[2];
    find_open_waits(entry, counted, collection, waits);
    extend_to_wait(entry, waits);
    smcr_collect_span_t span = span_of(entry, counted, tcp, collection, ending.is_part_in_time);

    entry->buffer_bytes.client = size ? size : SMCR_FIGURE_UNKNOWN;
    entry->buffer_bytes.server = server_size ? server_size : SMCR_FIGURE_UNKNOWN;
    smcr_collect_conn_fill_direction(&entry->client_to_server, counted, ending.is_part, client);
    smcr_collect_conn_fill_direction(&entry->server_to_client, counted, ending.is_part, !client);
    fill_time(entry, counted, &span, scope);
    if (entry->client_to_server.time) {
        entry->client_to_server.open_wait = open_wait_entry(&waits[client], scope);
        entry->server_to_client.open_wait = open_wait_entry(&waits[!client], scope);
    }
    fill_end(entry, counted, tcp, scope);
    fill_wait_before_end(entry, counted, scope);
}

/* If the outcome is not known, data may have gone over RDMA. Then TCP's bytes may be only a part of
 * the data, so no figure is known. */
void
smcr_collect_conn_fill_directions(smcr_entry_connection_t *entry,
                                  smcr_collect_conn_stats_t *counted,
                                  const smcr_collect_tcp_facts_t *tcp,
                                  const smcr_collect_t *collection, wmem_allocator_t *scope)
{
    bool is_smcr = entry->outcome == SMCR_FIGURE_OUTCOME_SMCR ||
                   smcr_collect_conn_is_tapped(counted->conn);
    /* After a damaged handshake, the link group may not be known. Then the connection has no RoCE
     * packet in the capture. */
    bool is_unknown = entry->outcome == SMCR_FIGURE_OUTCOME_UNKNOWN || is_smcr;

    if (is_smcr && counted->conn->lgr) {
        fill_rdma_directions(entry, counted, tcp, collection, scope);
        return;
    }
    smcr_collect_conn_fill_tcp_direction(&entry->client_to_server, counted, tcp, 0, is_unknown);
    smcr_collect_conn_fill_tcp_direction(&entry->server_to_client, counted, tcp, 1, is_unknown);
}
