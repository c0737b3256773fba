/* How connections began and ended: over TCP instead of RDMA, with an abort, with a reset, or with
 * a handshake that leads nowhere. How TCP fared: segments retransmitted, marks of congestion.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include "report/words/words.h"
#include "wire/wire.h"

#define MOST_REASONS 3 /* for which connections fell back, each in a finding */

typedef bool is_t(const smcr_entry_connection_t *conn);

/* What connections may have in common. */
#define IS(name, condition) \
    static bool is_##name(const smcr_entry_connection_t *conn) \
    { \
        return condition; \
    }
#define CLOSE(word) (conn->close == SMCR_FIGURE_CLOSE_##word)
#define OUTCOME(word) (conn->outcome == SMCR_FIGURE_OUTCOME_##word)
#define ENDED (CLOSE(RESET) || CLOSE(NORMAL))
IS(over_too_soon, OUTCOME(TCP) && !conn->fallback && ENDED)
IS(not_offered, OUTCOME(TCP) && !conn->fallback && !ENDED)
IS(aborted, CLOSE(ABORT))
IS(reset, CLOSE(RESET) && OUTCOME(SMCR))
IS(unsure_reset, CLOSE(RESET) && OUTCOME(UNKNOWN))
/* Over TCP: that is how programs end in a hurry; or nobody knows. */
IS(tcp_reset, CLOSE(RESET) && !OUTCOME(SMCR) && !OUTCOME(NO_CONNECTION))
IS(refused, CLOSE(RESET) && OUTCOME(NO_CONNECTION))
IS(unanswered, !CLOSE(RESET) && OUTCOME(NO_CONNECTION))
IS(unfinished, OUTCOME(UNKNOWN) && conn->began_before == SMCR_FIGURE_NO &&
               conn->tcp_stream != SMCR_FIGURE_UNKNOWN)

/* Connections with the same trouble. */
typedef struct {
    uint32_t count;
    const smcr_entry_connection_t *first;
    const char *streams; /* a display filter of all of them; NULL: they are too many */
} alike_conns_t;

static alike_conns_t
all_that(const smcr_finder_t *finder, is_t *is)
{
    alike_conns_t group = {0};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!is(conn))
            continue;
        if (!group.first)
            group.first = conn;
        const char *stream =
            conn->tcp_stream == SMCR_FIGURE_UNKNOWN
                ? smcr_words_connection_filter(finder->scope, conn)
                : wmem_strdup_printf(finder->scope, "tcp.stream == %" PRIu64, conn->tcp_stream);
        group.streams = smcr_finder_either(finder, group.streams, stream, group.count++);
    }
    return group;
}

static const char *
undelivered(const smcr_finder_t *finder, const alike_conns_t *group)
{
    return smcr_finder_undelivered(finder, group->first->client.addr, group->first->server.addr);
}

static const char *
name(const smcr_finder_t *finder, const alike_conns_t *group)
{
    return smcr_words_connections(finder->scope, group->first, group->count);
}

/* The filter, of one connection where there is one. */
static const char *
filter(const smcr_finder_t *finder, const alike_conns_t *group, const char *what)
{
    if (group->count != 1)
        return what;
    return wmem_strdup_printf(finder->scope, "%s && %s",
                              smcr_words_connection_filter(finder->scope, group->first), what);
}

/* The filter, of all connections where they fit. */
static const char *
filter_of_all(const smcr_finder_t *finder, const alike_conns_t *group, const char *what)
{
    if (!group->streams)
        return what;
    return wmem_strdup_printf(finder->scope, group->count == 1 ? "%s && %s" : "(%s) && %s",
                              group->streams, what);
}

/* ---- fallback ---- */

/* Where the option is missing, or no Proposal follows it. A socket of Linux with TCP_FASTOPEN is
 * one of TCP for good (smc_setsockopt()). */
static const char *const signs[] = {
    [SMCR_FIGURE_SIGN_NONE] = "",
    [SMCR_FIGURE_SIGN_NOPS] = "; six NOPs in a row: a firewall may have overwritten it",
    [SMCR_FIGURE_SIGN_FAST_OPEN] =
        "; the handshake has TCP Fast Open, with which Linux uses no SMC-R",
};

/* What else the code may mean, by what the Proposal offered. Where no EID is common, Linux gives
 * the lack of a device, or the code of SMC-R v1 if that was offered, too
 * (smc_listen_find_device()). It offers v2 over IPv4 only, and with an EID
 * (smc_find_proposal_devices()). */
static const char *
other_cause(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_fallback_t *fallback = conn->fallback;
    bool no_device = fallback->code == SMCR_CLC_DECLINE_NO_DEVICE;
    bool by_server = fallback->by == SMCR_FIGURE_ROLE_SERVER;

    if (fallback->code == SMCR_FIGURE_UNKNOWN)
        return signs[fallback->syn_sign];
    if (by_server && fallback->offered_eids &&
        (no_device || fallback->code == SMCR_CLC_DECLINE_PREFIX))
        return wmem_strdup_printf(finder->scope, "%s common EID: the client offers %s",
                                  no_device ? ", or no" : "; for SMC-Rv2 perhaps no",
                                  fallback->offered_eids);
    if (!no_device || fallback->by != SMCR_FIGURE_ROLE_CLIENT)
        return "";
    return conn->client.addr && strchr(conn->client.addr, ':')
               ? "; over IPv6 Linux offers no SMC-Rv2" : ", or no EID is defined there";
}

/* Adds the connection to those with the same reason. */
static void
add_fallback(const smcr_finder_t *finder, wmem_map_t *by_reason, wmem_array_t *groups,
             const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_fallback_t *fallback = conn->fallback;
    const char *key = wmem_strdup_printf(finder->scope, "%" PRIu64 " %s %s%s", fallback->code,
                                         fallback->by ? smcr_figure_role_words[fallback->by] : "",
                                         fallback->reason ? fallback->reason : "",
                                         other_cause(finder, conn));
    uintptr_t place = (uintptr_t)wmem_map_lookup(by_reason, key);

    if (!place) {
        wmem_array_append_one(groups, ((alike_conns_t){.first = conn}));
        place = wmem_array_get_count(groups);
        wmem_map_insert(by_reason, key, (void *)place);
    }
    alike_conns_t *group = wmem_array_index(groups, (unsigned)place - 1);
    group->streams = smcr_finder_either(
        finder, group->streams, smcr_words_connection_filter(finder->scope, conn), group->count++);
}

/* Nothing is wrong with a peer that does not want SMC-R; a handshake that fails is trouble. */
static smcr_figure_severity_t
severity_of_fallback(const smcr_entry_conn_fallback_t *fallback)
{
    return smcr_finding_is_timeout(fallback->code) ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE;
}

static void
find_fallback(smcr_finder_t *finder, const alike_conns_t *group)
{
    const smcr_entry_conn_fallback_t *fallback = group->first->fallback;

    smcr_finder_add_as(
        finder, severity_of_fallback(fallback),
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_FALLBACK,
                               .count = group->count,
                               .when = fallback->frame,
                               .filter = filter_of_all(finder, group, "smcr.fallback")},
        "%s %s: %s%s%s", name(finder, group),
        group->first->outcome == SMCR_FIGURE_OUTCOME_TCP ? "stayed on TCP" : "fell back to TCP",
        fallback->reason ? fallback->reason : "reason not known", other_cause(finder, group->first),
        smcr_finding_is_timeout(fallback->code) ? undelivered(finder, group) : "");
}

/* Failed handshakes first, then what concerns most connections. */
static int
compare_groups(const void *one, const void *other)
{
    const alike_conns_t *a = one, *b = other;
    smcr_figure_severity_t grave = severity_of_fallback(a->first->fallback);
    smcr_figure_severity_t other_grave = severity_of_fallback(b->first->fallback);

    if (grave != other_grave)
        return grave > other_grave ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->first->fallback->frame.frame < b->first->fallback->frame.frame ? -1 : 1;
}

/* All reasons from the `from`th on, in one. */
static void
find_other_fallbacks(smcr_finder_t *finder, wmem_array_t *groups, unsigned from)
{
    unsigned reasons = wmem_array_get_count(groups);
    smcr_when_t first = {0};
    uint32_t count = 0;

    for (unsigned i = from; i < reasons; i++) {
        const alike_conns_t *group = wmem_array_index(groups, i);
        first = smcr_figure_when_earlier(first, group->first->fallback->frame);
        count += group->count;
    }
    if (!count)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_FALLBACK,
                                           .count = count,
                                           .when = first,
                                           .filter = "smcr.fallback"},
                    "%s fell back to TCP, for %s",
                    smcr_words_connections(finder->scope,
                                           ((alike_conns_t *)wmem_array_index(groups, from))->first,
                                           count),
                    smcr_words_things(finder->scope, reasons - from, "other reason"));
}

static void
find_fallbacks(smcr_finder_t *finder)
{
    wmem_map_t *by_reason = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);
    wmem_array_t *groups = wmem_array_new(finder->scope, sizeof(alike_conns_t));

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (conn->fallback)
            add_fallback(finder, by_reason, groups, conn);
    }
    wmem_array_sort(groups, compare_groups);
    for (unsigned i = 0; i < wmem_array_get_count(groups) && i < MOST_REASONS; i++)
        find_fallback(finder, wmem_array_index(groups, i));
    find_other_fallbacks(finder, groups, MOST_REASONS);
}

/* ---- ends ---- */

/* What readers have not reported as read of what was announced, and what was not even announced. */
static const char *
losses(const smcr_finder_t *finder, is_t *is)
{
    uint64_t lost = 0;
    bool least = false; /* of a direction it is not known */

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const uint64_t bytes[] = {
            conn->client_to_server.unreported_bytes, conn->server_to_client.unreported_bytes,
            conn->client_to_server.unannounced_bytes, conn->server_to_client.unannounced_bytes};
        for (unsigned i = 0; i < G_N_ELEMENTS(bytes) && is(conn); i++) {
            lost += smcr_figure_known(bytes[i]);
            least |= bytes[i] == SMCR_FIGURE_UNKNOWN;
        }
    }
    return lost ? wmem_strdup_printf(finder->scope, "; %s%s not reported as read",
                                     least ? "at least " : "",
                                     smcr_words_bytes(finder->scope, lost)) : "";
}

static void
find_aborted(smcr_finder_t *finder)
{
    alike_conns_t group = all_that(finder, is_aborted);
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.conn.aborted");
    const char *text = name(finder, &group);

    for (uint32_t i = 0; i < finder->notice_count && group.count > 1; i++)
        if (strcmp(finder->notices[i].filter, "smcr.conn.aborted") == 0 &&
            finder->notices[i].by != notice.by)
            notice.by = SMCR_FIGURE_ROLE_NONE; /* some of them by the other side */
    /* the other one may have done so before in what the capture lacks */
    if (notice.by && !finder->has_rank[SMCR_FINDING_BY_LACK])
        text = wmem_strdup_printf(finder->scope, "The %s aborted %s",
                                  smcr_figure_role_words[notice.by], text);
    else
        text = wmem_strdup_printf(finder->scope, "%s ended with an abort", text);
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_ABORT,
                               .count = group.count,
                               .when = notice.first,
                               .filter = filter(finder, &group, "smcr.conn.aborted")},
        "%s%s%s", text,
        group.count == 1 && notice.by && notice.closed
            ? wmem_strdup_printf(finder->scope, "; the %s had closed it in frame %" PRIu32,
                                 notice.by == SMCR_FIGURE_ROLE_CLIENT ? "server" : "client",
                                 notice.closed)
            : "",
        losses(finder, is_aborted));
}

/* `notice`: of all resets. */
static const char *
reset_filter(const smcr_finder_t *finder, const alike_conns_t *group,
             const smcr_figure_notice_t *notice)
{
    if (group->count != 1 || notice->count != 1 || group->first->tcp_stream == SMCR_FIGURE_UNKNOWN)
        return "tcp.flags.reset == 1";
    return wmem_strdup_printf(finder->scope, "tcp.stream == %" PRIu64 " && tcp.flags.reset == 1",
                              group->first->tcp_stream);
}

static void
find_resets(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "tcp.flags.reset == 1");
    alike_conns_t group = all_that(finder, is_reset), over_tcp = all_that(finder, is_tcp_reset);

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_RESET,
                                           .count = group.count,
                                           .when = notice.first,
                                           .filter = reset_filter(finder, &group, &notice)},
                    "%s ended with a TCP reset, not with an end in CDC%s%s", name(finder, &group),
                    losses(finder, is_reset), group.count ? undelivered(finder, &group) : "");
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_TCP_RESET,
                                           .count = over_tcp.count,
                                           .when = group.count ? (smcr_when_t){0} : notice.first,
                                           .filter = reset_filter(finder, &over_tcp, &notice)},
                    "%s%s ended with a TCP reset", name(finder, &over_tcp),
                    all_that(finder, is_unsure_reset).count ? "" : ", over TCP,");
}

/* ---- handshakes ---- */

/* What all of them have in common. A filter of the report may hide how they went on. */
static void
find_alike(smcr_finder_t *finder, is_t *is, smcr_figure_finding_t kind, const char *what)
{
    alike_conns_t group = all_that(finder, is);

    if (group.count && !smcr_finder_is_filtered(finder))
        smcr_finder_add(
            finder,
            &(smcr_finder_facts_t){
                .kind = kind,
                .count = group.count,
                .when = group.first->first_frame,
                .filter = filter_of_all(finder, &group, "(smcr.clc || tcp.flags.syn == 1)")},
            "%s%s%s", name(finder, &group), what, undelivered(finder, &group));
}

/* Why nobody answers the first one. A host that TCP hears of later is not dead. */
static const char *
cause_of_silence(const smcr_finder_t *finder)
{
    const smcr_entry_connection_t *first = all_that(finder, is_unanswered).first;

    SMCR_FIGURE_EACH(tcp, flow, finder->report->tcp_flows)
        if (first && flow->first_time > first->first_frame.time &&
            smcr_figure_known(flow->down.packets) && strcmp(flow->dst, first->server.addr) == 0)
            return wmem_strdup_printf(finder->scope,
                                      ": no answer to SYNs with the SMC-R option: %s answers "
                                      "others: a firewall, or a full accept queue", flow->dst);
    return ": no answer to SYNs with the SMC-R option: a dead host, or a firewall";
}

/* ---- TCP ---- */

#define A_FEW 3 /* a timer that was early retransmits what had arrived */

typedef struct {
    uint64_t all, segments, again, marked, echoed; /* `segments`: with data */
    unsigned flows, repeaters;                     /* with congestion; with repeats */
    const smcr_entry_tcp_t *first, *repeats;       /* with congestion; with repeats */
} tcp_sum_t;

static void
add_segments(tcp_sum_t *sum, const smcr_entry_tcp_direction_t *direction)
{
    uint64_t again = smcr_figure_known(direction->repeated_segments);

    /* what has an older time stamp was sent before what came before it: it is only late */
    sum->again += again - MIN(again, smcr_figure_known(direction->late_segments));
    sum->segments += smcr_figure_known(direction->data_segments);
    sum->marked += smcr_figure_known(direction->ce);
    sum->echoed += smcr_figure_known(direction->ece);
}

static tcp_sum_t
sum_up(const smcr_finder_t *finder)
{
    tcp_sum_t sum = {0};

    SMCR_FIGURE_EACH(tcp, flow, finder->report->tcp_flows) {
        uint64_t before = sum.marked + sum.echoed, again = sum.again;
        add_segments(&sum, &flow->up);
        add_segments(&sum, &flow->down);
        if (sum.again > again) {
            sum.repeats = sum.repeats ? sum.repeats : flow;
            sum.repeaters++;
            sum.all += smcr_figure_known(smcr_figure_sum(flow->up.segments, flow->down.segments));
        }
        if (sum.marked + sum.echoed != before && !sum.flows++)
            sum.first = flow;
    }
    return sum;
}

/* "10.0.0.1:46464 → 10.0.0.2:80 and 2 more connections" */
static const char *
name_of_flow(const smcr_finder_t *finder, const smcr_entry_tcp_t *flow, uint64_t count)
{
    smcr_entry_connection_t conn = {.client = {flow->src, flow->src_port},
                                    .server = {flow->dst, flow->dst_port}};

    return smcr_words_connections(finder->scope, &conn, count);
}

static void
find_tcp_congestion(smcr_finder_t *finder, const tcp_sum_t *sum)
{
    if (!sum->first)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){
                        .kind = SMCR_FIGURE_FOUND_TCP_CONGESTION,
                        .count = sum->marked + sum->echoed,
                        .when = smcr_finder_notice(finder, "ip.dsfield.ecn == 3 && tcp").first,
                        .filter =
                            "tcp.flags.syn == 0 && tcp.flags.fin == 0 && "
                            "(ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3 || tcp.flags.ece == 1)"},
                    "Congestion of TCP, %s: of %s, %s marked CE, %s with its echo (ECE)",
                    name_of_flow(finder, sum->first, sum->flows),
                    smcr_words_things(finder->scope, sum->segments, "data segment"),
                    smcr_words_things(finder->scope, sum->marked, "segment"),
                    smcr_words_things(finder->scope, sum->echoed, "segment"));
}

static void
find_tcp_repeats(smcr_finder_t *finder, const tcp_sum_t *sum)
{
    if (!sum->repeats || sum->again * 500 < sum->segments) /* SYN and FIN count, too */
        return;
    smcr_finder_add_as(
        finder, sum->again < A_FEW ? SMCR_FIGURE_INFO : SMCR_FIGURE_NOTE,
        &(smcr_finder_facts_t){
            .kind = SMCR_FIGURE_FOUND_TCP_LOSS,
            .count = sum->again,
            .when = smcr_finder_notice(finder, "tcp.analysis.retransmission").first,
            .filter = "tcp.analysis.retransmission || tcp.analysis.fast_retransmission || "
                      "tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order"},
        "TCP, %s: %s of %s retransmitted", name_of_flow(finder, sum->repeats, sum->repeaters),
        smcr_words_number(finder->scope, sum->again),
        smcr_words_things(finder->scope, sum->all, "segment"));
}

void
smcr_finding_on_connections(smcr_finder_t *finder)
{
    tcp_sum_t sum = sum_up(finder);

    find_aborted(finder);
    find_resets(finder);
    find_fallbacks(finder);
    find_alike(finder, is_over_too_soon, SMCR_FIGURE_FOUND_NO_OPTION,
               " stayed on TCP: TCP ended before CLC began");
    find_alike(finder, is_not_offered, SMCR_FIGURE_FOUND_NO_OPTION,
               " stayed on TCP: the client's SYN has no SMC-R option");
    find_alike(finder, is_refused, SMCR_FIGURE_FOUND_NO_CONNECTION,
               ": TCP refused the connection: nobody listens, or a firewall answers");
    find_alike(finder, is_unanswered, SMCR_FIGURE_FOUND_NO_CONNECTION, cause_of_silence(finder));
    find_alike(finder, is_unfinished, SMCR_FIGURE_FOUND_HANDSHAKE_UNFINISHED,
               ": the capture does not show how the handshake ended");
    find_tcp_repeats(finder, &sum);
    find_tcp_congestion(finder, &sum);
}
