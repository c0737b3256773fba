/* Makes the entry of a connection: its ends, its outcome, how it ended, and what it carried.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "collectors.h"

#include <stdlib.h>

#include "fields.h"
#include "wire/wire.h"

uint64_t
smcr_collect_lgr_number(const smcr_lgr_t *lgr)
{
    const smcr_state_t *state = smcr_capture_state();

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

static void
fill_ends(smcr_entry_connection_t *entry, const smcr_conn_t *conn,
          const smcr_collect_tcp_facts_t *tcp, const smcr_collect_t *collection,
          wmem_allocator_t *scope)
{
    int client = smcr_lgr_client_side(conn->lgr);

    fill_endpoint(&entry->client, conn, 0, collection);
    fill_endpoint(&entry->server, conn, 1, collection);
    if (conn->conversation ? conn->roles_unknown : !smcr_evidence_knows_server(conn->lgr)) {
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

static void
fill_fallback(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
              const smcr_collect_tcp_facts_t *tcp, const smcr_collect_t *collection,
              wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;
    const smcr_fallback_t *fallback = &conn->fallback;
    /* without a TCP handshake, Proposal, Accept and Confirm, either side may have sent a Decline */
    bool knows_roles = smcr_evidence_clc_knows_client(conn) || (tcp && tcp->client_known);

    if (!fallback->kind || is_guess(fallback) || entry->handshake_end)
        return;
    entry->fallback = wmem_new(scope, smcr_entry_conn_fallback_t);
    smcr_entry_clear(entry->fallback, &smcr_entry_conn_fallback_description);
    entry->fallback->reason = smcr_show_fallback_reason(scope, fallback);
    if (fallback->kind == SMCR_FALLBACK_TOLD ||
        (fallback->kind == SMCR_FALLBACK_DECLINED && !fallback->code_cut))
        entry->fallback->code = fallback->code;
    if (knows_roles && !fallback->clc_may_be_missing)
        entry->fallback->by = fallback_by(fallback);
    entry->fallback->frame = fallback->kind == SMCR_FALLBACK_TOLD
                                 ? entry->named_frame
                                 : smcr_collect_when(collection, fallback->frame);
    entry->fallback->offered_eids = counted->offered_eids;
    if (tcp)
        entry->fallback->syn_sign = syn_sign_of(fallback, tcp);
    if (counted->decline[0].frame && counted->decline[1].frame && entry->fallback->by)
        entry->fallback->crossed_frame =
            counted->decline[entry->fallback->by == SMCR_FIGURE_ROLE_CLIENT];
}

/* Whether the connection has certainly stayed on TCP: CLC has not begun, and cannot begin any more.
 * There are two cases: the SYN has no option, or TCP has ended, with no data but CLC. */
static bool
stayed_tcp(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp)
{
    const smcr_conn_t *conn = counted->conn;
    bool clc = smcr_evidence_clc_knows_client(conn) || conn->decline_frame ||
               conn->partial_clc[0] || conn->partial_clc[1];

    if (clc || counted->on_roce || !tcp || !tcp->syn.frame)
        return false;
    bool over = tcp->reset.frame || (tcp->fin[0].frame && tcp->fin[1].frame);
    const uint64_t *all = tcp->payload, *clc_bytes = counted->clc_bytes;
    return !conn->option_syn ||
           (over && !tcp->may_lack_bytes && all[0] + all[1] <= clc_bytes[0] + clc_bytes[1]);
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
    bool is_over = tcp && (tcp->reset.frame || (tcp->fin[0].frame && tcp->fin[1].frame));
    return !is_over && last_time < counted->clc[SMCR_CLC_CONFIRM].time + wait;
}

/* The outcome of the connection. If CLC has never begun, the outcome is TCP, and not a fallback.
 * `last_time`: as for may_yet_be_declined(). */
static smcr_figure_outcome_t
outcome_of(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
           uint64_t last_time)
{
    const smcr_conn_t *conn = counted->conn;

    if (is_guess(&conn->fallback))
        return SMCR_FIGURE_OUTCOME_UNKNOWN;
    if (tcp && !tcp->is_connected && (tcp->reset.frame ? tcp->syns : tcp->syns > 2))
        return SMCR_FIGURE_OUTCOME_NO_CONNECTION;
    switch (conn->fallback.kind) {
    case SMCR_FALLBACK_NO_OPTION:
    case SMCR_FALLBACK_NO_CLC:
        return SMCR_FIGURE_OUTCOME_TCP;
    case SMCR_FALLBACK_NONE:
        break;
    default:
        return SMCR_FIGURE_OUTCOME_FALLBACK;
    }
    if (counted->is_smcd)
        return SMCR_FIGURE_OUTCOME_SMCD;
    if (counted->on_roce)
        return SMCR_FIGURE_OUTCOME_SMCR;
    if (conn->confirm_frame) /* a Decline may be missing, or may follow */
        return (tcp && tcp->may_lack_bytes) || may_yet_be_declined(counted, tcp, last_time)
                   ? SMCR_FIGURE_OUTCOME_UNKNOWN
                   : SMCR_FIGURE_OUTCOME_SMCR;
    return stayed_tcp(counted, tcp) ? SMCR_FIGURE_OUTCOME_TCP : SMCR_FIGURE_OUTCOME_UNKNOWN;
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

/* How the connection ended. Both hosts first close SMC-R with CDC messages, and then close TCP. So
 * if CDC messages of a connection over RDMA may be missing, the end of TCP does not show whether
 * the connection was aborted. */
static smcr_figure_close_t
close_of(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
         smcr_figure_outcome_t outcome)
{
    const smcr_conn_t *conn = counted->conn;
    const smcr_conn_side_t *side = conn->side;
    smcr_figure_close_t below = close_of_tcp(tcp);
    /* data of the connection may have gone over RDMA, captured or not */
    bool left_tcp =
        counted->on_roce || ((conn->confirm_frame || conn->clc_cut) && !conn->fallback.kind);

    if (side[0].abort_frame || side[1].abort_frame)
        return SMCR_FIGURE_CLOSE_ABORT;
    if (side[0].closed_frame && side[1].closed_frame)
        return SMCR_FIGURE_CLOSE_NORMAL;
    bool open = below == SMCR_FIGURE_CLOSE_OPEN && !counted->on_roce;
    if (outcome == SMCR_FIGURE_OUTCOME_UNKNOWN && /* CLC may be missing */
        (open || (tcp && tcp->may_lack_bytes && !conn->fallback.kind)))
        return SMCR_FIGURE_CLOSE_UNKNOWN;
    bool silent = smcr_evidence_is_silent(side[0].link) || smcr_evidence_is_silent(side[1].link);
    bool lacks = below == SMCR_FIGURE_CLOSE_NORMAL || /* CDC closed before TCP */
                 (below == SMCR_FIGURE_CLOSE_OPEN && silent) || /* a RST may be missing */
                 !smcr_evidence_has_end(conn, 0) || !smcr_evidence_has_end(conn, 1);
    if (left_tcp && (open || lacks))
        return SMCR_FIGURE_CLOSE_UNKNOWN;
    return counted->on_roce && !tcp ? SMCR_FIGURE_CLOSE_OPEN : below;
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
    return counted->direction[sender].link || !link ||
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
    const smcr_collect_direction_t *direction = &counted->direction[sender];
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

static void
fill_direction(smcr_entry_conn_direction_t *entry, const smcr_collect_conn_stats_t *counted,
               bool is_part, int sender)
{
    if (!is_captured(counted, sender)) {
        smcr_entry_forget(entry, &smcr_entry_conn_direction_description);
        return;
    }
    const smcr_collect_direction_t *direction = &counted->direction[sender];
    const smcr_timeline_t *timeline = &counted->times.timeline;
    const smcr_conn_side_t *side = counted->conn->side;
    const smcr_stream_t *in = &side[!sender].in;
    smcr_cost_t cost = smcr_cost_of_direction(counted->conn, !sender);
    bool known = smcr_evidence_knows_reader(counted->conn, !sender) && !is_part;

    *entry = direction->figures;
    /* no WRITE of the direction is recognised, so the numbers of WRITEs and bytes are not known */
    if (!entry->writes && (!side[!sender].rmb || in->announced))
        entry->bytes = entry->writes = SMCR_FIGURE_UNKNOWN;
    /* the WRITEs may be of another connection with the same RMB */
    if (counted->conn->lgr && counted->conn->lgr->clocks_differ)
        entry->bytes = entry->writes = SMCR_FIGURE_UNKNOWN;
    /* after a move, WRITEs without a position may be retransmissions of counted bytes */
    if (direction->bytes.has_unpositioned && side[sender].moved_frame)
        entry->bytes = SMCR_FIGURE_UNKNOWN;
    bool has_ended = smcr_conn_side_has_ended(&side[sender]);
    const smcr_point_t *last = smcr_evidence_last_to(&side[!sender]);
    bool lacks = in->announced > direction->figures.bytes || (is_part && !has_ended) ||
                 (!in->positions_known &&
                  (timeline->is_late || timeline->writer[sender].gap_noticed.frame)) ||
                 (direction->has_unowned_writes && !side[!sender].announced_at.qp) ||
                 (smcr_conn_side_has_invalid_cursor(&side[sender]) &&
                  smcr_evidence_lacks_before(counted->conn->lgr, UINT32_MAX)) ||
                 (has_ended ? smcr_evidence_absent(last, last->qp,
                                        last->psn + SMCR_EVIDENCE_AFTER_CLOSE) != 0
                            : !smcr_evidence_holds(last));
    if (entry->bytes != SMCR_FIGURE_UNKNOWN)
        entry->lacks_bytes = smcr_figure_truth(lacks);
    fill_announced_bytes(entry, counted, sender);
    smcr_collect_times_fill(&counted->times, sender, entry);
    if (!in->positions_known && !entry->window_full_count) /* nor is a full window */
        entry->window_full_count = SMCR_FIGURE_UNKNOWN;
    entry->unreported_bytes = known && cost.reader_known ? cost.unread : SMCR_FIGURE_UNKNOWN;
    entry->unannounced_bytes = known ? cost.unannounced : SMCR_FIGURE_UNKNOWN;
}

/* Fills in a direction of a connection over TCP. `role`: role of the sender, 0 client, 1 server.
 * `may_go_elsewhere`: the end of the handshake may be missing. Then data may go over RDMA, and no
 * figure is known. */
static void
fill_tcp_direction(smcr_entry_conn_direction_t *entry, const smcr_collect_conn_stats_t *counted,
                   const smcr_collect_tcp_facts_t *tcp, unsigned role, bool may_go_elsewhere)
{
    const smcr_conn_t *conn = counted->conn;
    bool client_is_up =
        tcp && (tcp->client_known ? tcp->client_is_up : tcp->up_port == counted->conn->port[0]);
    unsigned way = client_is_up ? role : !role;
    uint64_t payload = tcp ? tcp->payload[way] : 0;
    uint64_t clc = counted->clc_bytes[role];
    uint64_t bytes = payload > clc ? payload - clc : 0;

    /* CLC bytes may be counted as data: a CLC message is truncated or out of order, or the roles
     * are not known */
    bool mixed = conn->roles_unknown || conn->clc_cut ||
                 (conn->fallback.clc_may_be_missing && tcp && tcp->client_known);

    if (may_go_elsewhere) {
        smcr_entry_forget(entry, &smcr_entry_conn_direction_description);
        return;
    }
    *entry = (smcr_entry_conn_direction_t){.bytes = SMCR_FIGURE_UNKNOWN};
    if (tcp && !counted->is_smcd && !mixed) {
        entry->bytes = bytes;
        entry->lacks_bytes = smcr_figure_truth(tcp->may_lack_bytes_of[way]);
    }
    entry->unreported_bytes = entry->unannounced_bytes = SMCR_FIGURE_UNKNOWN;
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

/* The packet from which on the connection could carry data; frame 0: not known. */
static smcr_when_t
ready(const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_contact_t *contact = &counted->contact;

    if (counted->conn->accept_frame && !counted->conn->first_contact)
        return contact->ready;
    bool lacks =
        may_lack_step(counted) || !is_captured(counted, 0) || !is_captured(counted, 1);
    bool is_open =
        !counted->on_roce && contact->last_request && !contact->last_request->response_frame;
    return lacks || is_open ? (smcr_when_t){0} : contact->ready;
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

/* Text that names the LLC request of the longest step of the first contact; NULL: not known, since
 * an LLC message may be missing. */
static const char *
longest_step(const smcr_collect_conn_stats_t *counted, wmem_allocator_t *scope)
{
    const smcr_collect_contact_t *contact = &counted->contact;
    const smcr_exchange_t *longest = contact->longest_step_request;
    bool one_way = counted->on_roce && (!is_captured(counted, 0) || !is_captured(counted, 1));

    if (!longest || one_way || may_lack_step(counted))
        return NULL;
    if (!longest->response_frame && !is_unanswered(counted, longest))
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
    smcr_collect_times_each_piece(&counted->times, side, span, &pieces);
}

/* Fills in how the time of both directions is divided. `is_part`: the last messages may be missing.
 * If packets are missing, the entry has lower and upper bounds. */
static void
fill_time(smcr_entry_connection_t *entry, smcr_collect_conn_stats_t *counted,
          const smcr_collect_tcp_facts_t *tcp, bool is_part, wmem_allocator_t *scope)
{
    smcr_when_t can_carry = ready(counted);
    smcr_collect_span_t span = {
        .first = entry->first_frame.time,
        .last = entry->last_frame.time,
        .last_frame = entry->last_frame.frame,
        .ready = can_carry.frame ? can_carry.time : SMCR_FIGURE_UNKNOWN,
        .has_syn = tcp && tcp->syn.frame,
        .missing = missing_of(counted->conn, is_part),
    };
    int client = smcr_lgr_client_side(counted->conn->lgr);

    if (!is_time_known(counted))
        return;
    for (int writer = 0; writer < 2; writer++) {
        smcr_when_t since = smcr_collect_times_full_since(&counted->times, counted->conn, writer);
        span.full_since[writer] = since;
        entry->first_frame = smcr_figure_when_earlier(entry->first_frame, since);
    }
    span.first = entry->first_frame.time;
    for (int role = 0; role < 2; role++) {
        smcr_timeline_direction_t direction;
        if (!smcr_collect_times_find(&counted->times, role ? !client : client, &span, &direction))
            return;
        *(role ? &entry->server_to_client.time : &entry->client_to_server.time) =
            smcr_collect_times_entry(&counted->times, &span, &direction, scope);
        smcr_collect_times_add_waits(
            entry, smcr_figure_role(role), &direction, scope);
        if (counted->pictures)
            draw_lanes(counted, role ? !client : client, &span);
    }
}

static void
fill_directions(smcr_entry_connection_t *entry, smcr_collect_conn_stats_t *counted,
                const smcr_collect_tcp_facts_t *tcp, const smcr_collect_gap_list_t *gaps,
                wmem_allocator_t *scope)
{
    int client = smcr_lgr_client_side(counted->conn->lgr);
    bool is_unknown = entry->outcome == SMCR_FIGURE_OUTCOME_UNKNOWN;

    if (entry->outcome == SMCR_FIGURE_OUTCOME_SMCR) {
        const smcr_conn_side_t *side = counted->conn->side;
        ending_t ending = ending_of(counted, tcp, entry->last_frame.frame, gaps);
        entry->buffer_bytes.client = side[client].size ? side[client].size : SMCR_FIGURE_UNKNOWN;
        entry->buffer_bytes.server = side[!client].size ? side[!client].size : SMCR_FIGURE_UNKNOWN;
        fill_direction(&entry->client_to_server, counted, ending.is_part, client);
        fill_direction(&entry->server_to_client, counted, ending.is_part, !client);
        fill_time(entry, counted, tcp, ending.is_part_in_time, scope);
        if (!smcr_evidence_lacks_before(counted->conn->lgr, UINT32_MAX))
            entry->end = smcr_collect_times_end(&counted->times, counted->conn, scope);
        return;
    }
    fill_tcp_direction(&entry->client_to_server, counted, tcp, 0, is_unknown);
    fill_tcp_direction(&entry->server_to_client, counted, tcp, 1, is_unknown);
}

static void
fill_times(smcr_entry_connection_t *entry, const smcr_collect_conn_stats_t *counted,
           const smcr_collect_tcp_facts_t *tcp, const smcr_collect_gap_list_t *gaps)
{
    bool has_syn = tcp && tcp->syn.frame;
    bool later = counted->clc[SMCR_CLC_PROPOSAL].frame || counted->clc[SMCR_CLC_ACCEPT].frame ||
                 (counted->conn->lgr && counted->conn->lgr->first_contact_captured);

    entry->first_frame =
        tcp ? smcr_figure_when_earlier(counted->first, tcp->first) : counted->first;
    entry->last_frame = tcp && tcp->last.frame > counted->last.frame ? tcp->last : counted->last;
    if (has_syn || !later) /* otherwise only the SYN may be missing */
        entry->began_before = has_syn ? SMCR_FIGURE_NO : SMCR_FIGURE_YES;
    entry->close = close_of(counted, tcp, entry->outcome);
    bool may_lack_end = smcr_collect_gaps_begin(gaps, entry->last_frame.frame) != UINT32_MAX;
    if (entry->close == SMCR_FIGURE_CLOSE_OPEN && may_lack_end)
        entry->close = SMCR_FIGURE_CLOSE_UNKNOWN; /* the close may be missing, too */
    smcr_figure_close_t close = entry->close ? entry->close : close_of_tcp(tcp);
    bool may_have_ended = close == SMCR_FIGURE_CLOSE_OPEN && !entry->close; /* over RDMA */
    if (close != SMCR_FIGURE_CLOSE_UNKNOWN && !may_have_ended)
        entry->goes_on = smcr_figure_truth(close == SMCR_FIGURE_CLOSE_OPEN);
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
    if (conn->socket) {
        address addr;
        smcr_endpoint_of_gid(conn->socket->reported.address[SMCR_TOLD_OWN], &addr);
        entry->named_by = address_to_str(scope, &addr);
        entry->named_frame = conn->socket->first;
    }
    if (!counted->is_smcd)
        entry->version = smcr_figure_version_of(
            counted->version || !conn->socket || !conn->lgr ? counted->version : conn->lgr->version,
            smcr_lgr_release(conn->lgr));
    entry->handshake_end = smcr_collect_handshake_end(
        counted, tcp, smcr_collect_when(collection, conn->fallback.frame), scope);
    entry->outcome = entry->handshake_end
                         ? SMCR_FIGURE_OUTCOME_FAILED
                         : outcome_of(counted, tcp, collection->capture.last_time);
    fill_fallback(entry, counted, tcp, collection, scope);
    if (tcp)
        entry->reset_by = tcp->reset_by;
    if (conn->lgr && !conn->fallback.kind)
        entry->link_group = smcr_collect_lgr_number(conn->lgr);
    for (const smcr_collect_link_use_t *use = counted->first_use; use; use = use->next) {
        smcr_entry_conn_link_t *used = SMCR_FIGURE_ADD(conn_link, &entry->links, scope);
        used->number = use->link->has_number ? use->link->number : SMCR_FIGURE_UNKNOWN;
        used->from_frame = use->from;
    }
    fill_times(entry, counted, tcp, &collection->gaps);
    fill_setup(entry, counted, tcp, scope);
    fill_directions(entry, counted, tcp, &collection->gaps, scope);
}
