/* Makes the entry of a connection: its ends, its outcome, how it ended, and what it carried.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "collectors.h"

#include <stdlib.h>

#include "fields.h"
#include "wire/wire.h"

/* Whether a tap has copied the connection's messages and data. */
static bool
is_tapped(const smcr_conn_t *conn)
{
    return conn->lgr && conn->lgr->tapped;
}

uint64_t
smcr_collect_lgr_number(const smcr_lgr_t *lgr)
{
    const smcr_state_t *state = smcr_capture_state();

    if (lgr->tapped)
        return SMCR_FIGURE_UNKNOWN;
    if (lgr->index != SMCR_LGR_NO_INDEX || !lgr->newest_link || !state)
        return lgr->index;
    return (uint64_t)smcr_lgr_count(state) + lgr->first_link_index;
}

SMCR_FIGURE_ORDER(by_frame, smcr_when_t, when, when->frame)

smcr_when_t
smcr_collect_when(const smcr_collect_t *collection, uint32_t frame)
{
    wmem_array_t *const lists[] = {collection->times, collection->clc_times};
    smcr_when_t key = {frame, 0};

    for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++) {
        const smcr_when_t *found = bsearch(&key, wmem_array_get_raw(lists[i]),
                                           wmem_array_get_count(lists[i]), sizeof key, by_frame);
        if (found)
            return *found;
    }
    return (smcr_when_t){0, 0};
}

void
smcr_collect_times_forget(smcr_collect_t *collection, uint32_t frame)
{
    wmem_array_t *kept = wmem_array_new(collection->scope, sizeof(smcr_when_t));

    for (unsigned i = 0; i < wmem_array_get_count(collection->clc_times); i++) {
        const smcr_when_t *when = wmem_array_index(collection->clc_times, i);
        if (when->frame >= frame)
            wmem_array_append(kept, when, 1);
    }
    wmem_destroy_array(collection->clc_times);
    collection->clc_times = kept;
}

/* ---- ends ---- */

static void
fill_endpoint(smcr_entry_endpoint_t *entry, const smcr_conn_t *conn, unsigned role,
              const smcr_collect_t *collection)
{
    address addr;

    if (!conn->conversation || conn->roles_unknown)
        return;
    smcr_endpoint_tcp_address(conn, role, &addr);
    entry->addr = smcr_collect_host(collection, &addr);
    entry->port = conn->port[role];
}

static const char *
token_text(const smcr_conn_side_t *side, wmem_allocator_t *scope)
{
    return side->has_token ? smcr_figure_hex_text(scope, side->token, 4) : NULL;
}

/* Whether it is known which end is the client: TCP or CLC shows it; without a TCP connection, the
 * roles of the link group show it. */
static bool
knows_roles(const smcr_conn_t *conn)
{
    if (conn->conversation)
        return !conn->roles_unknown;
    return smcr_evidence_knows_server(conn->lgr);
}

static void
fill_ends(smcr_entry_connection_t *entry, const smcr_conn_t *conn,
          const smcr_collect_tcp_facts_t *tcp, const smcr_collect_t *collection,
          wmem_allocator_t *scope)
{
    int client = smcr_lgr_client_side(conn->lgr);

    fill_endpoint(&entry->client, conn, 0, collection);
    fill_endpoint(&entry->server, conn, 1, collection);
    if (!knows_roles(conn)) {
        smcr_show_ends_t ends = smcr_show_ends_of(scope, conn);
        const char **name = conn->conversation ? ends.name : ends.address;
        entry->ends = smcr_figure_ends(scope, name[0], name[1]);
    }
    entry->tokens.client = token_text(&conn->side[client], scope);
    entry->tokens.server = token_text(&conn->side[!client], scope);
    if (conn->conversation)
        entry->tcp_stream = conn->tcp_stream;
    if (tcp) {
        entry->tcp_isn.client = tcp->isn[0];
        entry->tcp_isn.server = tcp->isn[1];
    }
}

/* ---- the outcome: SMC-R, TCP, or a fallback ---- */

/* The side that caused the fallback; SMCR_FIGURE_ROLE_NONE: neither side is known to have caused
 * it. */
static smcr_figure_role_t
fallback_by(const smcr_fallback_t *fallback)
{
    switch (fallback->kind) {
    case SMCR_FALLBACK_DECLINED:
        return smcr_figure_role(fallback->by_server);
    case SMCR_FALLBACK_NO_OPTION:
        return SMCR_FIGURE_ROLE_SERVER;
    case SMCR_FALLBACK_NO_ANSWER:
        return smcr_figure_role(fallback->step != SMCR_CLC_ACCEPT);
    default:
        return SMCR_FIGURE_ROLE_NONE;
    }
}

/* Whether the fallback is only a guess: data follows on TCP, but a CLC message that explains this
 * may be missing. Then it is not known whether CLC began. */
static bool
is_guess(const smcr_fallback_t *fallback)
{
    return fallback->kind == SMCR_FALLBACK_NO_CLC && fallback->clc_may_be_missing;
}

/* Returns the sign that explains why the SMC-R option is missing. If the SYN-ACK has no option,
 * this is the sign of the SYN-ACK, otherwise the sign of the SYN. TCP Fast Open in the SYN is a
 * sign in both cases. */
static smcr_figure_syn_sign_t
syn_sign_of(const smcr_fallback_t *fallback, const smcr_collect_tcp_facts_t *tcp)
{
    smcr_figure_syn_sign_t of_answer = tcp->syn_sign[1];
    bool is_fast = tcp->syn_sign[0] == SMCR_FIGURE_SIGN_FAST_OPEN;

    if (fallback->kind != SMCR_FALLBACK_NO_OPTION)
        return tcp->syn_sign[0];
    return !of_answer && is_fast ? SMCR_FIGURE_SIGN_FAST_OPEN : of_answer;
}

/* Whether the reason code of the fallback is known: a complete Decline or the host's kernel reports
 * it. */
static bool
has_code(const smcr_fallback_t *fallback)
{
    bool is_declined = fallback->kind == SMCR_FALLBACK_DECLINED && !fallback->code_cut;

    return is_declined || fallback->kind == SMCR_FALLBACK_TOLD;
}

/* The Decline of the other side, if both sides have sent one; frame 0: they have not, or it is not
 * known which side caused the fallback (`by`). */
static smcr_when_t
crossed_decline(const smcr_collect_conn_stats_t *counted, smcr_figure_role_t by)
{
    bool crossed = counted->decline[0].frame && counted->decline[1].frame;

    if (!crossed || !by)
        return (smcr_when_t){0};
    return counted->decline[by == SMCR_FIGURE_ROLE_CLIENT];
}

/* Fills in why the connection fell back to TCP, if it did so. `tcp` may be NULL. */
static void
fill_fallback(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
              const smcr_collect_tcp_facts_t *tcp, const smcr_collect_t *collection,
              wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;
    const smcr_fallback_t *fallback = &conn->fallback;
    /* without a TCP handshake, Proposal, Accept and Confirm, either side may have sent a Decline */
    bool knows_client = smcr_evidence_clc_knows_client(conn) || (tcp && tcp->client_known);

    if (!fallback->kind || is_guess(fallback) || entry->handshake_end)
        return;
    smcr_entry_conn_fallback_t *filled = wmem_new(scope, smcr_entry_conn_fallback_t);
    smcr_entry_clear(filled, &smcr_entry_conn_fallback_description);
    filled->reason = smcr_show_fallback_reason(scope, fallback);
    if (has_code(fallback))
        filled->code = fallback->code;
    if (knows_client && !fallback->clc_may_be_missing)
        filled->by = fallback_by(fallback);
    filled->frame = fallback->kind == SMCR_FALLBACK_TOLD
                        ? entry->named_frame : smcr_collect_when(collection, fallback->frame);
    filled->offered_eids = counted->offered_eids;
    if (tcp)
        filled->syn_sign = syn_sign_of(fallback, tcp);
    filled->crossed_frame = crossed_decline(counted, filled->by);
    entry->fallback = filled;
}

/* Whether a CLC message of the connection is captured, or a part of one. */
static bool
has_clc(const smcr_conn_t *conn)
{
    return smcr_evidence_clc_knows_client(conn) || conn->decline_frame || conn->partial_clc[0] ||
           conn->partial_clc[1];
}

/* Whether TCP has carried no data but CLC, in both directions. */
static bool
has_carried_nothing(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp)
{
    uint64_t clc_bytes = counted->clc_bytes[0] + counted->clc_bytes[1];

    return !tcp->may_lack_bytes && tcp->payload[0] + tcp->payload[1] <= clc_bytes;
}

/* Whether the connection has certainly stayed on TCP: CLC has not begun, and cannot begin any more.
 * There are two cases: the SYN has no option, or TCP has ended, with no data but CLC. */
static bool
stayed_tcp(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp)
{
    if (!tcp || !tcp->syn.frame)
        return false;
    if (counted->on_roce || has_clc(counted->conn))
        return false;
    return !counted->conn->option_syn ||
           (smcr_collect_tcp_flows_has_closed(tcp) && has_carried_nothing(counted, tcp));
}

/* Whether the capture ends before it is certain that the first contact succeeds: CONFIRM LINK has
 * not confirmed the link so far, and a host declines the connection if CONFIRM LINK gets no
 * response for 5 s (LLC_WAIT_FIRST_TIME, net/smc/smc_llc.h). The time has an allowance of 1 s.
 * `last_time`: when the capture ends, nanoseconds since 1970; SMCR_FIGURE_UNKNOWN: not known. */
static bool
may_yet_be_declined(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
                    uint64_t last_time)
{
    const uint64_t wait = 6 * SMCR_TIME_SECOND;
    const smcr_conn_t *conn = counted->conn;
    const smcr_link_t *link = conn->side[0].link;
    bool is_confirmed = link && link->state == SMCR_LINK_ACTIVE;

    if (!conn->first_contact || last_time == SMCR_FIGURE_UNKNOWN || is_confirmed)
        return false;
    bool is_over = tcp && smcr_collect_tcp_flows_has_closed(tcp);
    return !is_over && last_time < counted->clc[SMCR_CLC_CONFIRM].time + wait;
}

/* Whether a tap has copied the connection's messages and data, and they are of SMC-D. */
static bool
is_tapped_smcd(const smcr_conn_t *conn)
{
    return is_tapped(conn) && conn->lgr->tapped == SMCR_LGR_TAPPED_SMCD;
}

/* Whether the TCP handshake has not succeeded: a RST answers the SYN, or the SYN is retransmitted
 * at least twice and gets no answer. */
static bool
never_connected(const smcr_collect_tcp_facts_t *tcp)
{
    const unsigned syns_at_least = tcp->reset.frame ? 1 : 3;

    return !tcp->is_connected && tcp->syns >= syns_at_least;
}

/* The outcome of a connection that has not fallen back to TCP, as far as captured. `last_time`: as
 * for may_yet_be_declined(). */
static smcr_figure_outcome_t
outcome_without_fallback(const smcr_collect_conn_stats_t *counted,
                         const smcr_collect_tcp_facts_t *tcp, uint64_t last_time)
{
    if (counted->is_smcd || is_tapped_smcd(counted->conn))
        return SMCR_FIGURE_OUTCOME_SMCD;
    if (counted->on_roce)
        return SMCR_FIGURE_OUTCOME_SMCR;
    if (counted->conn->confirm_frame) {
        bool may_miss_decline = tcp && tcp->may_lack_bytes;
        return may_miss_decline || may_yet_be_declined(counted, tcp, last_time)
                   ? SMCR_FIGURE_OUTCOME_UNKNOWN : SMCR_FIGURE_OUTCOME_SMCR;
    }
    return stayed_tcp(counted, tcp) ? SMCR_FIGURE_OUTCOME_TCP : SMCR_FIGURE_OUTCOME_UNKNOWN;
}

/* The outcome of the connection. If CLC has never begun, the outcome is TCP, and not a fallback.
 * `last_time`: as for may_yet_be_declined(). */
static smcr_figure_outcome_t
outcome_of(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
           uint64_t last_time)
{
    const smcr_fallback_t *fallback = &counted->conn->fallback;

    if (is_guess(fallback))
        return SMCR_FIGURE_OUTCOME_UNKNOWN;
    if (tcp && never_connected(tcp))
        return SMCR_FIGURE_OUTCOME_NO_CONNECTION;
    switch (fallback->kind) {
    case SMCR_FALLBACK_NO_OPTION:
    case SMCR_FALLBACK_NO_CLC:
        return SMCR_FIGURE_OUTCOME_TCP;
    case SMCR_FALLBACK_NONE:
        return outcome_without_fallback(counted, tcp, last_time);
    default:
        return SMCR_FIGURE_OUTCOME_FALLBACK;
    }
}

/* ---- the end of the connection ---- */

/* How TCP ended; SMCR_FIGURE_CLOSE_UNKNOWN: not known. `tcp` may be NULL. */
static smcr_figure_close_t
close_of_tcp(const smcr_collect_tcp_facts_t *tcp)
{
    if (!tcp)
        return SMCR_FIGURE_CLOSE_UNKNOWN;
    if (tcp->reset.frame)
        return SMCR_FIGURE_CLOSE_RESET;
    if (tcp->fin[0].frame && tcp->fin[1].frame)
        return SMCR_FIGURE_CLOSE_NORMAL;
    return tcp->may_lack_end ? SMCR_FIGURE_CLOSE_UNKNOWN : SMCR_FIGURE_CLOSE_OPEN;
}

/* Whether data of the connection may have gone over RDMA, captured or not. */
static bool
may_have_left_tcp(const smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;
    bool may_have_begun = conn->confirm_frame || conn->clc_cut;

    return counted->on_roce || (may_have_begun && !conn->fallback.kind);
}

/* Whether CDC messages that end the connection over RDMA may be missing. `of_tcp`: how TCP
 * ended. */
static bool
may_miss_close(const smcr_conn_t *conn, smcr_figure_close_t of_tcp)
{
    const smcr_conn_side_t *side = conn->side;
    bool is_silent =
        smcr_evidence_is_silent(side[0].link) || smcr_evidence_is_silent(side[1].link);

    if (of_tcp == SMCR_FIGURE_CLOSE_NORMAL) /* CDC closed before TCP */
        return true;
    if (of_tcp == SMCR_FIGURE_CLOSE_OPEN && is_silent) /* a RST may be missing, too */
        return true;
    return !smcr_evidence_has_end(conn, 0) || !smcr_evidence_has_end(conn, 1);
}

/* How a connection ended whose two sides have neither aborted nor both closed over RDMA. */
static smcr_figure_close_t
close_without_cdc(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
                  smcr_figure_outcome_t outcome)
{
    const smcr_conn_t *conn = counted->conn;
    smcr_figure_close_t of_tcp = close_of_tcp(tcp);
    bool is_open_on_tcp = of_tcp == SMCR_FIGURE_CLOSE_OPEN && !counted->on_roce;
    bool may_miss_clc = tcp && tcp->may_lack_bytes && !conn->fallback.kind;

    if (outcome == SMCR_FIGURE_OUTCOME_UNKNOWN && (is_open_on_tcp || may_miss_clc))
        return SMCR_FIGURE_CLOSE_UNKNOWN;
    if (may_have_left_tcp(counted) && (is_open_on_tcp || may_miss_close(conn, of_tcp)))
        return SMCR_FIGURE_CLOSE_UNKNOWN;
    return counted->on_roce && !tcp ? SMCR_FIGURE_CLOSE_OPEN : of_tcp;
}

/* How the connection ended. Both hosts first close SMC-R with CDC messages, and then close TCP. So
 * if CDC messages of a connection over RDMA may be missing, the end of TCP does not show whether
 * the connection was aborted. */
static smcr_figure_close_t
close_of(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
         smcr_figure_outcome_t outcome)
{
    const smcr_conn_side_t *side = counted->conn->side;

    if (side[0].abort_frame || side[1].abort_frame)
        return SMCR_FIGURE_CLOSE_ABORT;
    if (side[0].closed_frame && side[1].closed_frame)
        return SMCR_FIGURE_CLOSE_NORMAL;
    return close_without_cdc(counted, tcp, outcome);
}

/* ---- bytes and messages of the connection ---- */

/* Whether packets of the side `sender` are captured on the connection's last link, and these
 * packets cannot be of another connection. */
static bool
is_captured(const smcr_collect_conn_stats_t *counted, int sender)
{
    const smcr_link_t *link = counted->last_use ? counted->last_use->link : NULL;
    const smcr_conn_side_t *receiver = &counted->conn->side[!sender];

    if (!counted->on_roce || receiver->element_shared || receiver->token_shared)
        return false;
    return counted->counts->direction[sender].link || !link ||
           smcr_evidence_has_packets_to(&link->qp[!sender]);
}

/* What may be missing at the end of a connection. All zeros: nothing. */
typedef struct {
    bool is_part;         /* the last messages of the connection may be missing */
    bool is_part_in_time; /* they may be missing before the last captured frame of the connection */
} ending_t;

/* What may be missing at the end of the connection. The last messages may be missing if the end of
 * the connection is not captured, in two cases: 1. both ends have closed TCP; 2. packets of other
 * flows are missing after the last packet of the connection's link. In the second case, no message
 * before that gap is missing. */
static ending_t
ending_of(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
          uint32_t last_frame, const smcr_collect_gap_list_t *gaps)
{
    const smcr_conn_side_t *side = counted->conn->side;
    const smcr_link_t *link = counted->last_use ? counted->last_use->link : NULL;
    uint32_t newest =
        link ? MIN(link->qp[0].traffic.flow.highest_frame, link->qp[1].traffic.flow.highest_frame)
             : UINT32_MAX;
    bool tcp_closed = close_of_tcp(tcp) == SMCR_FIGURE_CLOSE_NORMAL;
    uint32_t since = smcr_collect_gaps_begin(gaps, newest);

    if (smcr_conn_side_has_ended(&side[0]) && smcr_conn_side_has_ended(&side[1]))
        return (ending_t){false, false};
    return (ending_t){tcp_closed || since != UINT32_MAX, tcp_closed || since <= last_frame};
}

/* Returns the number of bytes that the sender has announced, by its producer cursor;
 * SMCR_FIGURE_UNKNOWN: the cursor does not show the number. The sender's first CDC message, with
 * sequence number 1, has to be captured: only then is the number of rounds of the element known. */
static uint64_t
bytes_by_cursor(const smcr_collect_conn_stats_t *counted, int sender)
{
    const smcr_collect_direction_t *direction = &counted->counts->direction[sender];
    const smcr_conn_side_t *sides = counted->conn->side;
    smcr_cursor_t prod = sides[sender].prod;
    smcr_ring_t ring = {sides[!sender].size, counted->conn->lgr->base[!sender]};

    if (!smcr_lgr_has_base(counted->conn->lgr, !sender)) /* it may begin after an eyecatcher */
        return SMCR_FIGURE_UNKNOWN;
    if (!direction->figures.cdc || direction->first_cdc_seq != 1 ||
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

/* Whether the number of WRITEs of the direction is not known: no WRITE is recognised, or the WRITEs
 * may be of another connection with the same RMB. */
static bool
has_unknown_writes(const smcr_collect_conn_stats_t *counted, int sender)
{
    const smcr_conn_t *conn = counted->conn;
    const smcr_conn_side_t *receiver = &conn->side[!sender];
    bool has_no_writes = !counted->counts->direction[sender].figures.writes;

    if (has_no_writes && (!receiver->rmb || receiver->in.announced))
        return true;
    return conn->lgr && conn->lgr->clocks_differ;
}

/* Whether packets with data may be missing after the sender's last captured CDC message. */
static bool
may_miss_last_bytes(const smcr_conn_t *conn, int sender)
{
    const smcr_point_t *last = smcr_evidence_last_to(&conn->side[!sender]);

    if (!smcr_conn_side_has_ended(&conn->side[sender]))
        return !smcr_evidence_holds(last);
    return smcr_evidence_absent(last, last->qp, last->psn + SMCR_EVIDENCE_AFTER_CLOSE) != 0;
}

/* Whether packets with data may be missing that no cursor shows: the positions of the stream are
 * not known, and packets are missing; or the cursors are impossible. */
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
    if (counted->counts->direction[sender].has_unowned_writes && !receiver->announced_at.qp)
        return true;
    return has_odd_cursor && smcr_evidence_lacks_before(conn->lgr, UINT32_MAX);
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
    return may_miss_uncounted_bytes(counted, sender) || may_miss_last_bytes(conn, sender);
}

/* Fills in a direction of a connection over RDMA. `is_part`: the last messages of the connection
 * may be missing. */
static void
fill_direction(smcr_entry_conn_direction_t *entry, const smcr_collect_conn_stats_t *counted,
               bool is_part, int sender)
{
    if (!is_captured(counted, sender)) {
        smcr_entry_forget(entry, &smcr_entry_conn_direction_description);
        return;
    }
    smcr_cost_t cost = smcr_cost_of_direction(counted->conn, !sender);
    bool known = smcr_evidence_knows_reader(counted->conn, !sender) && !is_part;
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
    if (!knows_positions && !entry->window_full_count) /* nor is a full window */
        entry->window_full_count = SMCR_FIGURE_UNKNOWN;
    entry->unreported_bytes = known && cost.reader_known ? cost.unread : SMCR_FIGURE_UNKNOWN;
    entry->unannounced_bytes = known ? cost.unannounced : SMCR_FIGURE_UNKNOWN;
}

/* Index of the role's direction in the facts of TCP. `role`: 0 client, 1 server. */
static unsigned
tcp_way(const smcr_conn_t *conn, const smcr_collect_tcp_facts_t *tcp, unsigned role)
{
    bool client_is_up =
        tcp->client_known ? tcp->client_is_up : tcp->up_port == conn->port[0];

    return client_is_up ? role : !role;
}

/* Whether CLC bytes may be counted as data: a CLC message is truncated or out of order, or the
 * roles are not known. */
static bool
may_mix_clc(const smcr_conn_t *conn, const smcr_collect_tcp_facts_t *tcp)
{
    bool may_miss_clc = conn->fallback.clc_may_be_missing && tcp->client_known;

    return conn->roles_unknown || conn->clc_cut || may_miss_clc;
}

/* Fills in a direction of a connection over TCP. `role`: role of the sender, 0 client, 1 server.
 * `tcp` may be NULL. `may_go_elsewhere`: the end of the handshake may be missing. Then data may go
 * over RDMA, and no figure is known. */
static void
fill_tcp_direction(smcr_entry_conn_direction_t *entry, const smcr_collect_conn_stats_t *counted,
                   const smcr_collect_tcp_facts_t *tcp, unsigned role, bool may_go_elsewhere)
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
    entry->lacks_bytes = smcr_figure_truth(tcp->may_lack_bytes_of[way]);
}

/* Returns the duration of one step of the setup, nanoseconds: from the time `*from` to the packet
 * `to`. SMCR_FIGURE_UNKNOWN: one of the two is not captured, or the times decrease. `*from` gets
 * the time of `to`, at which the next step begins. */
static uint64_t
step(uint64_t *from, smcr_when_t to)
{
    uint64_t begin = *from;

    *from = to.frame ? to.time : SMCR_FIGURE_UNKNOWN;
    return begin == SMCR_FIGURE_UNKNOWN || !to.frame || to.time < begin ? SMCR_FIGURE_UNKNOWN
                                                                        : to.time - begin;
}

/* Whether LLC messages of the first contact may be missing: a packet of the link group is missing,
 * or the capture is out of order. */
static bool
may_lack_step(const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_contact_t *contact = &counted->contact;

    return !contact->last_request || contact->is_unsure ||
           smcr_evidence_lacks_before(counted->conn->lgr, contact->ready.frame + 1);
}

/* Whether the first contact of the connection has not succeeded as far as captured: its last LLC
 * request has no response, and the link carries no data. */
static bool
is_contact_open(const smcr_collect_conn_stats_t *counted)
{
    const smcr_exchange_t *last = counted->contact.last_request;

    return !counted->on_roce && last && !last->response_frame;
}

/* Whether only one direction of the connection is captured on RoCE, or none. */
static bool
misses_direction(const smcr_collect_conn_stats_t *counted)
{
    return !is_captured(counted, 0) || !is_captured(counted, 1);
}

/* The packet from which on the connection could carry data; frame 0: not known. */
static smcr_when_t
ready(const smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;
    bool uses_old_link = conn->accept_frame && !conn->first_contact;

    if (uses_old_link)
        return counted->contact.ready;
    if (may_lack_step(counted) || misses_direction(counted) || is_contact_open(counted))
        return (smcr_when_t){0};
    return counted->contact.ready;
}

/* Whether the capture proves that the LLC request got no response in time. The capture continues
 * long enough after the request. Also, both directions of the link are captured, or the connection
 * has fallen back to TCP. */
static bool
is_unanswered(const smcr_collect_conn_stats_t *counted, const smcr_exchange_t *request)
{
    const smcr_state_t *state = smcr_capture_state();
    const smcr_link_t *link = counted->contact.last_request_link;
    bool has_both = link && smcr_evidence_has_packets_to(&link->qp[0]) &&
                    smcr_evidence_has_packets_to(&link->qp[1]);

    return state && (has_both || counted->conn->fallback.kind) &&
           smcr_evidence_is_unanswered(state, request);
}

/* The LLC request of the longest step of the first contact; NULL: not known, since an LLC message
 * may be missing. */
static const smcr_exchange_t *
longest_step_request(const smcr_collect_conn_stats_t *counted)
{
    const smcr_exchange_t *longest = counted->contact.longest_step_request;

    if (!longest || may_lack_step(counted))
        return NULL;
    if (counted->on_roce && misses_direction(counted))
        return NULL;
    return longest->response_frame || is_unanswered(counted, longest) ? longest : NULL;
}

/* Text that names the longest step of the first contact; NULL: not known. */
static const char *
longest_step(const smcr_collect_conn_stats_t *counted, wmem_allocator_t *scope)
{
    const smcr_collect_contact_t *contact = &counted->contact;
    const smcr_exchange_t *longest = longest_step_request(counted);

    if (!longest)
        return NULL;
    return wmem_strdup_printf(
        scope, "%s%s on link %u%s", contact->longest_step_after_response ? "the step after " : "",
        val_to_str_const(longest->llc_type, smcr_values_llc_types, "LLC"), contact->longest_link,
        longest->response_frame ? "" : ", without an answer");
}

static void
fill_setup(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
           const smcr_collect_tcp_facts_t *tcp, wmem_allocator_t *scope)
{
    bool known = tcp && tcp->syn.frame && !tcp->is_disordered;
    uint64_t from = known ? tcp->syn.time : SMCR_FIGURE_UNKNOWN, syn = from;

    entry->setup.tcp_s = step(&from, counted->clc[SMCR_CLC_PROPOSAL]);
    entry->setup.accept_s = step(&from, counted->clc[SMCR_CLC_ACCEPT]);
    entry->setup.confirm_s = step(&from, counted->clc[SMCR_CLC_CONFIRM]);
    entry->setup.llc_s = step(&from, ready(counted));
    entry->setup_s = step(&syn, ready(counted));
    entry->setup_longest = longest_step(counted, scope);
}

/* Whether the RoCE packets certainly belong to the connection, and cursors give positions. Three
 * conditions: both directions are captured, both tokens are known, and no cursor is impossible. */
static bool
is_time_known(const smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_side_t *sides = counted->conn->side;

    for (int side = 0; side < 2; side++)
        if (!is_captured(counted, side) || !sides[side].has_token ||
            smcr_conn_side_has_invalid_cursor(&sides[side]))
            return false;
    return true;
}

/* Why the time of the connection may not be divided exactly: the capture is out of order, or
 * packets of the connection may not be recognised, or the positions of a stream are not known. */
static smcr_timeline_doubt_t
doubt_of_time(const smcr_conn_t *conn)
{
    bool misses_more = conn->lgr->immediate;

    if (smcr_lgr_is_in_disorder(conn->lgr))
        return SMCR_TIMELINE_IN_DISORDER;
    for (int side = 0; side < 2; side++)
        misses_more |= !conn->side[side].in.positions_known || conn->side[side].token_shared;
    return misses_more ? SMCR_TIMELINE_MISSES_MORE : SMCR_TIMELINE_NO_DOUBT;
}

/* What may be missing of the connection: acknowledgements (`acks`) and the last messages (`last`),
 * for each sender. If both sides have closed, `last` stays false: later messages do not change how
 * the time is divided. `is_part`: the caller knows that the last messages may be missing. */
static smcr_timeline_missing_t
missing_of(const smcr_conn_t *conn, bool is_part)
{
    const smcr_conn_side_t *sides = conn->side;
    bool have_closed = smcr_conn_side_has_closed(&sides[0]) && smcr_conn_side_has_closed(&sides[1]);
    smcr_timeline_missing_t missing = {.doubt = doubt_of_time(conn)};

    for (int sender = 0; sender < 2; sender++) {
        const smcr_link_t *link = sides[sender].link;
        bool knows_link = !link || smcr_evidence_knows_link(link);
        missing.acks[sender] = is_part || !smcr_evidence_is_current(conn, !sender);
        missing.last[sender] = !have_closed && (missing.acks[sender] || !knows_link);
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

/* The time that is divided, up to the last frame of the connection. `is_part`: the last messages
 * may be missing. */
static smcr_collect_span_t
span_of(const smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
        const smcr_collect_tcp_facts_t *tcp, bool is_part)
{
    smcr_when_t can_carry = ready(counted);

    return (smcr_collect_span_t){
        .last = entry->last_frame.time,
        .last_frame = entry->last_frame.frame,
        .ready = can_carry.frame ? can_carry.time : SMCR_FIGURE_UNKNOWN,
        .has_syn = tcp && tcp->syn.frame,
        .missing = missing_of(counted->conn, is_part),
        .retransmitted_most = counted->retransmitted_most,
    };
}

/* Sets since when the buffers of both directions were full before the first captured frame. The
 * connection, and the time that is divided, begins then at the latest. */
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

/* Fills in how the time of both directions is divided. If packets are missing, the entry has lower
 * and upper bounds. */
static void
fill_time(smcr_entry_connection_t *entry, smcr_collect_conn_stats_t *counted,
          smcr_collect_span_t *span, wmem_allocator_t *scope)
{
    const smcr_collect_times_t *times = &counted->counts->times;
    int client = smcr_lgr_client_side(counted->conn->lgr);
    smcr_entry_conn_direction_t *const directions[] = {&entry->client_to_server,
                                                       &entry->server_to_client};

    if (!is_time_known(counted))
        return;
    if (span->missing.last[0] || span->missing.last[1])
        span->retransmitted_most = SMCR_FIGURE_UNKNOWN;
    begin_span(span, entry, counted);
    for (int role = 0; role < 2; role++) {
        int writer = role ? !client : client;
        smcr_timeline_direction_t direction;
        if (!smcr_collect_times_find(times, writer, span, &direction))
            return;
        directions[role]->time = smcr_collect_times_entry(times, span, &direction, scope);
        smcr_collect_times_add_waits(entry, smcr_figure_role(role), &direction, scope);
        if (counted->pictures)
            draw_lanes(counted, writer, span);
    }
}

/* Fills in the two directions of a connection over RDMA. */
static void
fill_rdma_directions(smcr_entry_connection_t *entry, smcr_collect_conn_stats_t *counted,
                     const smcr_collect_tcp_facts_t *tcp, const smcr_collect_gap_list_t *gaps,
                     wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;
    int client = smcr_lgr_client_side(conn->lgr);
    uint32_t size = conn->side[client].size, server_size = conn->side[!client].size;
    ending_t ending = ending_of(counted, tcp, entry->last_frame.frame, gaps);
    smcr_collect_span_t span = span_of(entry, counted, tcp, ending.is_part_in_time);

    entry->buffer_bytes.client = size ? size : SMCR_FIGURE_UNKNOWN;
    entry->buffer_bytes.server = server_size ? server_size : SMCR_FIGURE_UNKNOWN;
    fill_direction(&entry->client_to_server, counted, ending.is_part, client);
    fill_direction(&entry->server_to_client, counted, ending.is_part, !client);
    fill_time(entry, counted, &span, scope);
    if (!smcr_evidence_lacks_before(conn->lgr, UINT32_MAX))
        entry->end = smcr_collect_times_end(&counted->counts->times, conn, scope);
}

static void
fill_directions(smcr_entry_connection_t *entry, smcr_collect_conn_stats_t *counted,
                const smcr_collect_tcp_facts_t *tcp, const smcr_collect_gap_list_t *gaps,
                wmem_allocator_t *scope)
{
    bool is_unknown = entry->outcome == SMCR_FIGURE_OUTCOME_UNKNOWN;

    if (entry->outcome == SMCR_FIGURE_OUTCOME_SMCR || is_tapped(counted->conn)) {
        fill_rdma_directions(entry, counted, tcp, gaps, scope);
        return;
    }
    fill_tcp_direction(&entry->client_to_server, counted, tcp, 0, is_unknown);
    fill_tcp_direction(&entry->server_to_client, counted, tcp, 1, is_unknown);
}

/* Whether the capture has the first CDC message of each captured direction: messages are numbered
 * from 1 (A.4). Then at most TCP and CLC came before the capture. */
static bool
has_first_data(const smcr_collect_conn_stats_t *counted)
{
    bool has_any = false;

    for (unsigned side = 0; side < 2; side++) {
        const smcr_collect_direction_t *direction = &counted->counts->direction[side];
        if (direction->figures.cdc && direction->first_cdc_seq != 1)
            return false;
        has_any |= direction->figures.cdc != 0;
    }
    return has_any;
}

/* Whether the connection has messages that come only after a SYN: CLC, CLC of the group's first
 * contact, or its first data. */
static bool
has_later_messages(const smcr_collect_conn_stats_t *counted)
{
    const smcr_lgr_t *lgr = counted->conn->lgr;
    bool has_clc_messages =
        counted->clc[SMCR_CLC_PROPOSAL].frame || counted->clc[SMCR_CLC_ACCEPT].frame;

    return has_clc_messages || (lgr && lgr->first_contact_captured) || has_first_data(counted);
}

/* Fills in when the connection began and ended as far as captured. */
static void
fill_frames(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
            const smcr_collect_tcp_facts_t *tcp)
{
    entry->first_frame = counted->first;
    entry->last_frame = counted->last;
    if (tcp) {
        entry->first_frame = smcr_figure_when_earlier(counted->first, tcp->first);
        if (tcp->last.frame > counted->last.frame)
            entry->last_frame = tcp->last;
    }
    if ((tcp && tcp->syn.frame) || counted->conn->has_synack)
        entry->began_before = SMCR_FIGURE_NO;
    else if (!has_later_messages(counted)) /* otherwise only TCP and CLC may be missing */
        entry->began_before = SMCR_FIGURE_YES;
}

/* Fills in how the connection ended, and whether it goes on after the capture. */
static void
fill_close(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
           const smcr_collect_tcp_facts_t *tcp, const smcr_collect_gap_list_t *gaps)
{
    smcr_figure_close_t of_tcp = close_of_tcp(tcp);
    bool may_lack_end = smcr_collect_gaps_begin(gaps, entry->last_frame.frame) != UINT32_MAX;

    entry->close = close_of(counted, tcp, entry->outcome);
    if (entry->close == SMCR_FIGURE_CLOSE_OPEN && may_lack_end)
        entry->close = SMCR_FIGURE_CLOSE_UNKNOWN; /* the close may be missing, too */
    if (entry->close != SMCR_FIGURE_CLOSE_UNKNOWN)
        entry->goes_on = smcr_figure_truth(entry->close == SMCR_FIGURE_CLOSE_OPEN);
    else if (of_tcp == SMCR_FIGURE_CLOSE_NORMAL || of_tcp == SMCR_FIGURE_CLOSE_RESET)
        entry->goes_on = SMCR_FIGURE_NO; /* an open TCP connection may have ended over RDMA */
}

/* The version of SMC-R that the connection uses. */
static smcr_figure_version_t
version_of(const smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;
    bool is_reported = conn->socket || is_tapped(conn);
    bool only_reported = !counted->version && is_reported && conn->lgr;

    return smcr_figure_version_of(only_reported ? conn->lgr->version : counted->version,
                                  smcr_lgr_release(conn->lgr));
}

/* Fills in which host's kernel has reported the connection's socket, and in which frame. */
static void
fill_reporter(smcr_entry_connection_t *entry, const smcr_conn_t *conn, wmem_allocator_t *scope)
{
    address addr;

    if (!conn->socket)
        return;
    smcr_endpoint_of_gid(conn->socket->reported.address[SMCR_TOLD_OWN], &addr);
    entry->named_by = address_to_str(scope, &addr);
    entry->named_frame = conn->socket->first;
}

/* Fills in the link group of the connection, and the links that it has used. */
static void
fill_links(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
           wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;

    if (conn->lgr && !conn->fallback.kind)
        entry->link_group = smcr_collect_lgr_number(conn->lgr);
    const smcr_collect_link_use_t *use = is_tapped(conn) ? NULL : counted->first_use;
    for (; use; use = use->next) {
        smcr_entry_conn_link_t *used = SMCR_FIGURE_ADD(conn_link, &entry->links, scope);
        used->number = use->link->has_number ? use->link->number : SMCR_FIGURE_UNKNOWN;
        used->from_frame = use->from;
    }
}

void
smcr_collect_conn_entry_fill(smcr_entry_connection_t *entry,
                             smcr_collect_conn_stats_t *counted,
                             const smcr_collect_tcp_facts_t *tcp,
                             const smcr_collect_t *collection, wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;

    entry->stream = conn->index;
    counted->pictures = collection->series ? smcr_series_conn(collection->series, conn) : NULL;
    fill_ends(entry, conn, tcp, collection, scope);
    fill_reporter(entry, conn, scope);
    if (!counted->is_smcd)
        entry->version = version_of(counted);
    entry->handshake_end = smcr_collect_handshake_end(
        counted, tcp, smcr_collect_when(collection, conn->fallback.frame), scope);
    entry->outcome = entry->handshake_end
                         ? SMCR_FIGURE_OUTCOME_FAILED
                         : outcome_of(counted, tcp, collection->capture.last_time);
    fill_fallback(entry, counted, tcp, collection, scope);
    if (tcp)
        entry->reset_by = tcp->reset_by;
    fill_links(entry, counted, scope);
    fill_frames(entry, counted, tcp);
    fill_close(entry, counted, tcp, &collection->gaps);
    fill_setup(entry, counted, tcp, scope);
    fill_directions(entry, counted, tcp, &collection->gaps, scope);
}
