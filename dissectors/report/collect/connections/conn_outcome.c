/* How a connection went: over SMC-R, over TCP or as a fallback, and how it ended.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "counts.h"

#include "wire/wire.h"

/* ---- the outcome: SMC-R, TCP, or a fallback ---- */

/* Returns the role of the side that caused the fallback; SMCR_FIGURE_ROLE_NONE: neither side is
 * known to have caused it. */
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
 * this is the sign of the SYN-ACK, otherwise the sign of the SYN. If the SYN-ACK has no sign of its
 * own, TCP Fast Open in the SYN is the sign. */
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

/* Returns the Decline of the side that did not cause the fallback (`by` did), if both sides have
 * sent a Decline: `crossed_frame` of the fallback. Frame 0: they have not, or `by` is not
 * known. */
static smcr_when_t
crossed_decline(const smcr_collect_conn_stats_t *counted, smcr_figure_role_t by)
{
    bool crossed = counted->decline[0].frame && counted->decline[1].frame;

    if (!crossed || !by)
        return (smcr_when_t){0};
    return counted->decline[by == SMCR_FIGURE_ROLE_CLIENT];
}

/* A guess is no fallback, nor is a handshake without a result (smcr_collect_handshake_end()). The
 * entry names a side only if no CLC message may be missing. */
void
smcr_collect_conn_fill_fallback(smcr_entry_connection_t *entry,
                                const smcr_collect_conn_stats_t *counted,
                                const smcr_collect_tcp_facts_t *tcp,
                                const smcr_collect_t *collection, wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;
    const smcr_fallback_t *fallback = &conn->fallback;
    /* if neither the TCP handshake nor Proposal, Accept or Confirm is captured, either side may
     * have sent the Decline */
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

/* Whether TCP has carried no data but CLC, in both directions. False if bytes may not be
 * captured. */
static bool
has_carried_nothing(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp)
{
    uint64_t clc_bytes = counted->clc_bytes[0] + counted->clc_bytes[1];

    return !tcp->may_lack_bytes && tcp->payload[0] + tcp->payload[1] <= clc_bytes;
}

/* Whether the connection has certainly stayed on TCP: its SYN is captured, CLC has not begun, and
 * cannot begin any more. There are two cases: the SYN has no option, or TCP has ended, with no data
 * but CLC. */
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

/* Whether the capture ends before it is certain that the first contact succeeds, and before TCP is
 * closed: CONFIRM LINK has not confirmed the link so far, and a host declines the connection if
 * CONFIRM LINK gets no response. Linux before 5.8 waits 5 s (SMC_LLC_WAIT_FIRST_TIME,
 * net/smc/smc_llc.h), later versions up to 4 s; 1 s is added, since other hosts may wait a little
 * longer. `last_time`: when the capture ends, nanoseconds since 1970; SMCR_FIGURE_UNKNOWN: not
 * known. */
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

bool
smcr_collect_conn_never_connected(const smcr_collect_tcp_facts_t *tcp)
{
    const unsigned syns_at_least = tcp->reset.frame ? 1 : 3;

    return !tcp->is_connected && tcp->syns >= syns_at_least;
}

/* Returns the outcome of a connection that has not fallen back to TCP, as far as captured.
 * `last_time`: as for may_yet_be_declined(). */
static smcr_figure_outcome_t
outcome_without_fallback(const smcr_collect_conn_stats_t *counted,
                         const smcr_collect_tcp_facts_t *tcp, uint64_t last_time)
{
    if (counted->is_smcd || smcr_collect_conn_is_tapped_smcd(counted->conn))
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

/* If the fallback is only a guess, nothing else is asked: the capture may miss the message that
 * explains the data, so the outcome is not known. */
smcr_figure_outcome_t
smcr_collect_conn_outcome(const smcr_collect_conn_stats_t *counted,
                          const smcr_collect_tcp_facts_t *tcp, uint64_t last_time)
{
    const smcr_fallback_t *fallback = &counted->conn->fallback;

    if (is_guess(fallback))
        return SMCR_FIGURE_OUTCOME_UNKNOWN;
    if (tcp && smcr_collect_conn_never_connected(tcp))
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

/* A RST counts more than FINs. */
smcr_figure_close_t
smcr_collect_conn_tcp_close(const smcr_collect_tcp_facts_t *tcp)
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

    if (conn->lgr && conn->lgr->tapped) /* nothing shows that the last messages are missing */
        return true;
    if (of_tcp == SMCR_FIGURE_CLOSE_NORMAL) /* CDC closed before TCP */
        return true;
    if (of_tcp == SMCR_FIGURE_CLOSE_OPEN && is_silent) /* a RST may be missing, too */
        return true;
    return !smcr_evidence_has_end(conn, 0) || !smcr_evidence_has_end(conn, 1);
}

/* Returns how a connection ended of which no side has aborted over RDMA, and not both sides have
 * closed. */
static smcr_figure_close_t
close_without_cdc(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
                  smcr_figure_outcome_t outcome)
{
    const smcr_conn_t *conn = counted->conn;
    smcr_figure_close_t of_tcp = smcr_collect_conn_tcp_close(tcp);
    bool is_open_on_tcp = of_tcp == SMCR_FIGURE_CLOSE_OPEN && !counted->on_roce;
    bool may_miss_clc = tcp && tcp->may_lack_bytes && !conn->fallback.kind;

    if (outcome == SMCR_FIGURE_OUTCOME_UNKNOWN && (is_open_on_tcp || may_miss_clc))
        return SMCR_FIGURE_CLOSE_UNKNOWN;
    if (may_have_left_tcp(counted) && (is_open_on_tcp || may_miss_close(conn, of_tcp)))
        return SMCR_FIGURE_CLOSE_UNKNOWN;
    return counted->on_roce && !tcp ? SMCR_FIGURE_CLOSE_OPEN : of_tcp;
}

/* Returns how the connection ended. Both hosts first close SMC-R with CDC messages, then TCP. So
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

bool
smcr_collect_conn_may_go_on_as_other(const smcr_conn_t *conn)
{
    const smcr_lgr_t *lgr = conn->lgr;

    return !conn->conversation && lgr && lgr->clocks_differ;
}

/* `goes_on` is known only if the close is, or if TCP has ended. */
void
smcr_collect_conn_fill_close(smcr_entry_connection_t *entry,
                             const smcr_collect_conn_stats_t *counted,
                             const smcr_collect_tcp_facts_t *tcp,
                             const smcr_collect_gap_list_t *gaps)
{
    smcr_figure_close_t of_tcp = smcr_collect_conn_tcp_close(tcp);
    bool may_lack_end = smcr_collect_gaps_begin(gaps, entry->last_frame.frame) != UINT32_MAX ||
                        smcr_collect_conn_may_go_on_as_other(counted->conn);

    entry->close = close_of(counted, tcp, entry->outcome);
    if (entry->close == SMCR_FIGURE_CLOSE_OPEN && may_lack_end)
        entry->close = SMCR_FIGURE_CLOSE_UNKNOWN; /* the close may be missing, too */
    if (entry->close != SMCR_FIGURE_CLOSE_UNKNOWN)
        entry->goes_on = smcr_figure_truth(entry->close == SMCR_FIGURE_CLOSE_OPEN);
    else if (of_tcp == SMCR_FIGURE_CLOSE_NORMAL || of_tcp == SMCR_FIGURE_CLOSE_RESET)
        entry->goes_on = SMCR_FIGURE_NO; /* an open TCP connection may have ended over RDMA */
}
