/* Fills in what one direction of a connection has carried: bytes and messages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "counts.h"

/* Shared elements and tokens give false: the packets may be those of the other connection. */
bool
smcr_collect_conn_is_captured(const smcr_collect_conn_stats_t *counted, int sender)
{
    const smcr_link_t *link = counted->last_use ? counted->last_use->link : NULL;
    const smcr_conn_side_t *receiver = &counted->conn->side[!sender];

    if (!counted->on_roce || receiver->element_shared || receiver->token_shared)
        return false;
    return counted->counts->direction[sender].link || !link ||
           smcr_evidence_has_packets_to(&link->qp[!sender]);
}

/* Whether the capture shows how many rounds of the reader's RMB element the sender has written: it
 * has the sender's first CDC message, with sequence number 1. If a tap has copied the connection,
 * the positions of the stream must count from its beginning instead. */
static bool
knows_rounds(const smcr_collect_conn_stats_t *counted, int sender)
{
    const smcr_conn_t *conn = counted->conn;

    if (smcr_collect_conn_is_tapped(conn))
        return !conn->side[!sender].in.is_relative;
    return counted->counts->direction[sender].first_cdc_seq == 1;
}

/* Returns the number of bytes that the sender has announced, by its producer cursor;
 * SMCR_FIGURE_UNKNOWN: the cursor does not show the number. */
static uint64_t
bytes_by_cursor(const smcr_collect_conn_stats_t *counted, int sender)
{
    const smcr_collect_direction_t *direction = &counted->counts->direction[sender];
    const smcr_conn_side_t *sides = counted->conn->side;
    smcr_cursor_t prod = sides[sender].prod;
    smcr_ring_t ring = {sides[!sender].size, counted->conn->lgr->base[!sender]};

    if (!smcr_lgr_has_base(counted->conn->lgr, !sender)) /* it is not known whether data begins
                                                            after an eyecatcher */
        return SMCR_FIGURE_UNKNOWN;
    if (!direction->figures.cdc || !knows_rounds(counted, sender) ||
        smcr_conn_side_has_invalid_cursor(&sides[sender]))
        return SMCR_FIGURE_UNKNOWN;
    if (prod.wrap && !smcr_ring_room(&ring))
        return SMCR_FIGURE_UNKNOWN;
    uint64_t count = prod.count > ring.base ? prod.count - ring.base : 0;
    return (uint64_t)prod.wrap * smcr_ring_room(&ring) + count;
}

/* Fills in the bytes that the sender's cursors announce, unless the captured RDMA WRITEs of the
 * direction have more bytes. The number is exact if the sender has sent its last message, and no
 * later message can be missing: Linux may announce data after a close. */
static void
fill_announced_bytes(smcr_entry_conn_direction_t *entry,
                     const smcr_collect_conn_stats_t *counted, int sender)
{
    uint64_t announced = bytes_by_cursor(counted, sender);
    bool is_known = entry->bytes != SMCR_FIGURE_UNKNOWN;

    if (announced == SMCR_FIGURE_UNKNOWN || (is_known && entry->bytes > announced))
        return;
    bool has_last_message = smcr_conn_side_has_ended(&counted->conn->side[sender]) &&
                            smcr_evidence_is_current(counted->conn, !sender);
    if (has_last_message)
        entry->lacks_bytes = SMCR_FIGURE_NO;
    else if (!is_known || entry->bytes < announced)
        entry->lacks_bytes = SMCR_FIGURE_YES;
    entry->bytes = announced;
}

/* Whether the number of bytes that the captured WRITEs of the direction carry is not known. */
static bool
has_unknown_bytes(const smcr_collect_conn_stats_t *counted, int sender)
{
    const smcr_collect_direction_t *direction = &counted->counts->direction[sender];

    /* after a move, WRITEs without a position may be retransmissions of counted bytes */
    return direction->bytes.has_unpositioned && counted->conn->side[sender].moved_frame;
}

/* Whether CDC messages of the sender announce data, or have an impossible cursor, which may
 * announce data. If no WRITE of the direction is recognised, the WRITEs of these data may be listed
 * with another connection. */
static bool
has_announced_data(const smcr_conn_t *conn, int sender)
{
    return conn->side[!sender].in.announced ||
           smcr_conn_side_has_invalid_cursor(&conn->side[sender]);
}

/* Whether the number of WRITEs of the direction is not known. Any other number says that the report
 * lists all captured WRITEs of the direction here; 0 says that there is none. So a new reason to
 * list WRITEs with another connection is a new case. There are three cases:
 * 1. no WRITE is recognised, and data was announced, or the reader's RMB is not known, or a cursor
 *    of the sender is impossible;
 * 2. TCP and RoCE have times of two clocks, so that the WRITEs may be of another connection with
 *    the same RMB;
 * 3. CLC messages are out of order, so data and messages may be, too. */
static bool
has_unknown_writes(const smcr_collect_conn_stats_t *counted, int sender)
{
    const smcr_conn_t *conn = counted->conn;
    const smcr_conn_side_t *receiver = &conn->side[!sender];
    bool has_no_writes = !counted->counts->direction[sender].figures.writes;

    if (has_no_writes && (!receiver->rmb || has_announced_data(conn, sender)))
        return true;
    return (conn->lgr && conn->lgr->clocks_differ) || !smcr_collect_conn_has_ordered_clc(counted);
}

/* Whether packets with data may be missing after the sender's last captured CDC message. */
static bool
may_miss_last_bytes(const smcr_conn_t *conn, int sender)
{
    const smcr_point_t *last = smcr_evidence_last_to(&conn->side[!sender]);

    if (!smcr_conn_side_has_ended(&conn->side[sender]))
        return !smcr_evidence_has_all_after(last);
    return smcr_evidence_absent(last, last->qp, last->psn + SMCR_EVIDENCE_AFTER_CLOSE) != 0;
}

/* Whether packets with data may be missing that no cursor shows. There are three cases:
 * 1. the positions of the stream are not known, and packets are missing, at the start of the
 *    connection or later;
 * 2. the owner of a WRITE of the sender is not known, and CLC has not announced the reader's RMB
 *    element;
 * 3. a cursor of the sender is impossible, and a packet of the link group is missing. */
static bool
may_miss_uncounted_bytes(const smcr_collect_conn_stats_t *counted, int sender)
{
    const smcr_conn_t *conn = counted->conn;
    const smcr_timeline_t *timeline = &counted->counts->times.timeline;
    const smcr_conn_side_t *receiver = &conn->side[!sender];
    bool has_gap = timeline->is_late || timeline->writer[sender].gap_noticed.frame;
    bool has_odd_cursor = smcr_conn_side_has_invalid_cursor(&conn->side[sender]);

    if (!receiver->in.positions_known && has_gap)
        return true;
    if (counted->counts->direction[sender].unowned_write && !receiver->announced_at.qp)
        return true;
    return has_odd_cursor && smcr_collect_conn_lacks_packets(conn);
}

/* Whether the captured WRITEs of the direction are perhaps only a part of its bytes. `is_part`: the
 * last messages of the connection may be missing. */
static bool
may_lack_bytes(const smcr_collect_conn_stats_t *counted, bool is_part, int sender)
{
    const smcr_conn_t *conn = counted->conn;
    uint64_t announced = conn->side[!sender].in.announced;

    if (announced > counted->counts->direction[sender].figures.bytes)
        return true;
    if (is_part && !smcr_conn_side_has_ended(&conn->side[sender]))
        return true;
    if (conn->side[!sender].in.is_relative) /* the beginning of the stream is missing */
        return true;
    return may_miss_uncounted_bytes(counted, sender) || may_miss_last_bytes(conn, sender);
}

/* Whether the last messages of the connection may be missing unnoticed: the tap of a host shows it,
 * and nothing in a tap shows that packets are missing at the end, before both sides have ended. */
static bool
may_miss_last_unnoticed(const smcr_conn_t *conn)
{
    bool have_ended = smcr_conn_side_has_ended(&conn->side[0]) &&
                      smcr_conn_side_has_ended(&conn->side[1]);

    return smcr_collect_conn_is_tapped(conn) && !have_ended;
}

/* fill_announced_bytes() is called after `bytes` is set from the WRITEs: if that number is not
 * known, or lower, the announced bytes replace it. */
void
smcr_collect_conn_fill_direction(smcr_entry_conn_direction_t *entry,
                                 const smcr_collect_conn_stats_t *counted, bool is_part, int sender)
{
    if (!smcr_collect_conn_is_captured(counted, sender)) {
        smcr_entry_forget(entry, &smcr_entry_conn_direction_description);
        return;
    }
    smcr_cost_t cost = smcr_cost_of_direction(counted->conn, !sender);
    bool known = smcr_evidence_knows_reader(counted->conn, !sender) && !is_part &&
                 !may_miss_last_unnoticed(counted->conn);
    bool knows_positions = counted->conn->side[!sender].in.positions_known;

    *entry = counted->counts->direction[sender].figures;
    if (has_unknown_writes(counted, sender))
        entry->bytes = entry->writes = SMCR_FIGURE_UNKNOWN;
    if (has_unknown_bytes(counted, sender))
        entry->bytes = SMCR_FIGURE_UNKNOWN;
    if (entry->bytes != SMCR_FIGURE_UNKNOWN)
        entry->lacks_bytes = smcr_figure_truth(may_lack_bytes(counted, is_part, sender));
    fill_announced_bytes(entry, counted, sender);
    smcr_collect_times_fill(&counted->counts->times, sender, entry);
    if (!knows_positions && !entry->window_full_count) /* then a full window is not recognised */
        entry->window_full_count = SMCR_FIGURE_UNKNOWN;
    entry->unreported_bytes = known && cost.reader_known ? cost.unread : SMCR_FIGURE_UNKNOWN;
    /* if positions are relative, it is not known how far the cursors of a tap have announced
     * data */
    bool is_relative = counted->conn->side[!sender].in.is_relative;
    entry->unannounced_bytes = known && !is_relative ? cost.unannounced : SMCR_FIGURE_UNKNOWN;
}

/* Returns the index, in the facts of TCP, of the direction that the role sends. `role`: 0 client, 1
 * server. */
static unsigned
tcp_way(const smcr_conn_t *conn, const smcr_collect_tcp_facts_t *tcp, unsigned role)
{
    bool client_is_up =
        tcp->client_known ? tcp->client_is_up : tcp->up_port == conn->port[0];

    return client_is_up ? role : !role;
}

/* Whether CLC bytes may be counted as data: an Accept or Confirm is truncated, CLC messages may be
 * missing, or the roles are not known. */
static bool
may_mix_clc(const smcr_conn_t *conn, const smcr_collect_tcp_facts_t *tcp)
{
    bool may_miss_clc = conn->fallback.clc_may_be_missing && tcp->client_known;

    return conn->roles_unknown || conn->clc_cut || may_miss_clc;
}

/* TCP shows the bytes only. All other figures of the direction stay empty or unknown. */
void
smcr_collect_conn_fill_tcp_direction(smcr_entry_conn_direction_t *entry,
                                     const smcr_collect_conn_stats_t *counted,
                                     const smcr_collect_tcp_facts_t *tcp, unsigned role,
                                     bool may_go_elsewhere)
{
    const smcr_conn_t *conn = counted->conn;
    uint64_t clc = counted->clc_bytes[role];

    if (may_go_elsewhere) {
        smcr_entry_forget(entry, &smcr_entry_conn_direction_description);
        return;
    }
    *entry = (smcr_entry_conn_direction_t){.bytes = SMCR_FIGURE_UNKNOWN};
    entry->unreported_bytes = entry->unannounced_bytes = SMCR_FIGURE_UNKNOWN;
    if (!tcp || counted->is_smcd || may_mix_clc(conn, tcp))
        return;
    unsigned way = tcp_way(conn, tcp, role);
    entry->bytes = tcp->payload[way] > clc ? tcp->payload[way] - clc : 0;
    /* without a TCP handshake there is no data that could be missing */
    bool may_have_data = !smcr_collect_conn_never_connected(tcp);
    entry->lacks_bytes = smcr_figure_truth(may_have_data && tcp->may_lack_bytes_of[way]);
}
