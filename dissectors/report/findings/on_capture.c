/* What the capture lacks: its beginning, packets, the path of RoCE, the ends of frames. It limits
 * what can be said.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include "report/words/words.h"
#include "wire/wire.h"

/* What follows where hosts have named so many of the connections, `by` the first of them. */
static const char *
named_text(const smcr_finder_t *finder, const smcr_entry_connection_t *by, uint64_t named,
           uint64_t count)
{
    if (!named)
        return "";
    const char *which = count == 1 ? "it"
                        : named == count
                            ? "them"
                            : wmem_strdup_printf(finder->scope, "%" PRIu64 " of them", named);
    if (by->named_frame.frame == 0)
        return wmem_strdup_printf(finder->scope, "; the smcss file of %s names %s", by->named_by,
                                  which);
    return wmem_strdup_printf(finder->scope, "; what %s told in frame %u names %s", by->named_by,
                              by->named_frame.frame, which);
}

static void
find_late_start(smcr_finder_t *finder)
{
    const smcr_entry_connection_t *by = NULL;
    uint64_t named = 0;
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.conn.began_before");
    const smcr_entry_connection_t *earliest = NULL;
    const char *filter = "";
    smcr_when_t first = {0};
    uint64_t count = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (conn->began_before == SMCR_FIGURE_NO)
            continue;
        if (!earliest || conn->first_frame.frame < first.frame)
            earliest = conn;
        first = earliest->first_frame;
        by = by || !conn->named_by ? by : conn;
        named += conn->named_by != NULL;
        const char *all = smcr_words_connection_filter(finder->scope, conn);
        if (conn->tcp_stream != SMCR_FIGURE_UNKNOWN) /* what came before its number was known,
                                                        too */
            all = wmem_strdup_printf(finder->scope, "%s || tcp.stream == %" PRIu64, all,
                                     conn->tcp_stream);
        filter = smcr_finder_either(finder, filter, all, count++);
    }
    /* the filter of the items is shorter, where these are about each direction of the same ones */
    bool noticed = notice.count >= count && notice.count <= 2 * count && notice.subject &&
                   notice.subject->stream == earliest->stream;
    smcr_finder_add(finder, SMCR_FIGURE_FOUND_LATE_START, count, noticed ? notice.first : first,
                    noticed || (!filter && notice.count) ? notice.filter : filter ? filter : "smcr",
                    "%s: the capture lacks the beginning%s",
                    smcr_words_connections(finder->scope, earliest, count),
                    named_text(finder, by, named, count));
}

/* ---- one direction alone ---- */

/* Who acknowledges has got packets, and the capture has none of them. */
static bool
is_one_sided(const smcr_finder_t *finder, wmem_map_t *directions, const smcr_entry_rdma_t *flow)
{
    bool acknowledges = false;

    if (!flow->src || !flow->dst || smcr_finding_flow_peer(finder, flow) ||
        (flow->icrc && flow->icrc->bad == flow->packets)) /* their addresses may be wrong */
        return false;
    for (unsigned i = 0; i < flow->opcodes.length; i++)
        acknowledges |= flow->opcodes.counts[i].opcode == SMCR_RC_ACK;
    return acknowledges &&
           !wmem_map_contains(directions, smcr_words_hosts(finder->scope, flow->dst, flow->src));
}

static void
find_one_sided(smcr_finder_t *finder)
{
    wmem_map_t *directions = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);
    const smcr_entry_rdma_t *first = NULL;
    const char *filter = NULL;

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (flow->src && flow->dst)
            wmem_map_insert(directions, smcr_words_hosts(finder->scope, flow->src, flow->dst),
                            flow);
    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (!first && is_one_sided(finder, directions, flow))
            first = flow;
    if (!first)
        return;
    if (first->dst_qpn != SMCR_FIGURE_UNKNOWN)
        filter = wmem_strdup_printf(finder->scope,
                                    strchr(first->src, ':')
                                        ? "infiniband.bth.destqp == %" PRIu64
                                          " && (ipv6.src == %s || infiniband.grh.sgid == %s)"
                                        : "infiniband.bth.destqp == %" PRIu64 " && ip.src == %s",
                                    first->dst_qpn, first->src, first->src);
    smcr_finder_add(finder, SMCR_FIGURE_FOUND_ONE_SIDED, first->packets, first->first_frame, filter,
                    "The capture has no RoCE packet from %s to %s, though some are acknowledged: "
                    "is one direction left out?", first->dst, first->src);
}

static void
find_no_roce(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.no_roce");

    smcr_finder_add(finder, SMCR_FIGURE_FOUND_NO_ROCE, notice.count, notice.first, notice.filter,
                    "The capture has no RoCE packet that is known to be of %s: is a port left out?",
                    smcr_words_and_more(finder->scope,
                                        smcr_finder_subject(finder, notice.subject), notice.count));
}

static void
find_cut(smcr_finder_t *finder)
{
    const smcr_entry_capture_t *capture = &finder->report->capture;
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.cut_short");

    smcr_finder_add_as(
        finder, SMCR_FIGURE_FOUND_CUT_FRAMES, notice.count ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO,
        smcr_figure_known(capture->cut_frames), notice.first, "frame.cap_len < frame.len",
        "%s of %s cut: the capture has only their beginnings",
        smcr_words_number(finder->scope, capture->cut_frames),
        smcr_words_things(finder->scope, capture->frames, "frame"));
}

/* ---- connections that go silent ---- */

#define SILENCE SMCR_TIME_SECOND

/* Nothing says that it has ended, and it says nothing for most of the rest of the capture. */
static bool
goes_silent(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    uint64_t end = finder->report->capture.last_time;
    uint64_t lived;

    if (conn->close != SMCR_FIGURE_CLOSE_OPEN || !conn->last_frame.frame ||
        end == SMCR_FIGURE_UNKNOWN || end < conn->last_frame.time)
        return false;
    lived = smcr_figure_known(smcr_figure_time_between(conn->first_frame, conn->last_frame));
    return end - conn->last_frame.time >= MAX(lived, SILENCE);
}

/* All that passes between two hosts, and the connections that stop with it. */
typedef struct {
    smcr_when_t last; /* packet */
    const smcr_entry_connection_t *one;
    smcr_when_t first; /* of the last packets of these connections */
    uint64_t count;
} host_pair_t;

/* NULL: a host is not known. */
static host_pair_t *
pair_of(const smcr_finder_t *finder, wmem_map_t *by_hosts, const char *one, const char *other)
{
    if (!one || !other)
        return NULL;
    bool up = strcmp(one, other) < 0;
    const char *key = smcr_words_hosts(finder->scope, up ? one : other, up ? other : one);

    return smcr_figure_of(by_hosts, finder->scope, key, sizeof(host_pair_t));
}

static void
goes_on(host_pair_t *pair, smcr_when_t last)
{
    if (pair && last.frame > pair->last.frame)
        pair->last = last;
}

/* The hosts of each connection, in their order, with the last packet between them. */
static host_pair_t **
find_pairs(const smcr_finder_t *finder)
{
    const smcr_entry_report_t *report = finder->report;
    wmem_map_t *by_hosts = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);
    /* by index of a link group and 1, since addresses of RoCE are others */
    wmem_map_t *by_group = wmem_map_new(finder->scope, g_direct_hash, g_direct_equal);
    host_pair_t **pairs =
        wmem_alloc_array(finder->scope, host_pair_t *, report->connections.length + 1);
    host_pair_t **next = pairs;

    SMCR_FIGURE_EACH(connection, conn, report->connections) {
        host_pair_t *pair = pair_of(finder, by_hosts, conn->client.addr, conn->server.addr);
        goes_on(pair, conn->last_frame);
        if (pair && conn->link_group != SMCR_FIGURE_UNKNOWN)
            wmem_map_insert(by_group, GSIZE_TO_POINTER(conn->link_group + 1), pair);
        *next++ = pair;
    }
    SMCR_FIGURE_EACH(rdma, flow, report->rdma_flows) {
        const smcr_entry_link_group_t *group = finder->owners[flow->index].group;
        goes_on(pair_of(finder, by_hosts, flow->src, flow->dst), flow->last_frame);
        if (group)
            goes_on(wmem_map_lookup(by_group, GSIZE_TO_POINTER(group->index + 1)),
                    flow->last_frame);
    }
    SMCR_FIGURE_EACH(tcp, flow, report->tcp_flows)
        goes_on(pair_of(finder, by_hosts, flow->src, flow->dst), flow->last_frame);
    return pairs;
}

#define SPOKEN 8 /* messages by which a connection shows how often it speaks */

/* It spoke again and again until all that passes between its hosts stopped, and no pause before was
 * as long. */
static bool
stops_with(const smcr_finder_t *finder, const host_pair_t *pair,
           const smcr_entry_connection_t *conn)
{
    uint64_t spoken =
        smcr_figure_known(smcr_figure_sum(conn->client_to_server.cdc, conn->server_to_client.cdc));

    return pair && spoken >= SPOKEN && goes_silent(finder, conn) &&
           smcr_figure_known(smcr_figure_time_between(conn->last_frame, pair->last)) <=
               2 * smcr_figure_time_between(conn->first_frame, conn->last_frame) / spoken;
}

/* One more that stops, or is silent. */
static void
add_silent(host_pair_t *pair, const smcr_entry_connection_t *conn)
{
    pair->one = pair->one ? pair->one : conn;
    pair->first = smcr_figure_when_earlier(pair->first, conn->last_frame);
    pair->count++;
}

/* One connection alone that stops tells nothing of its hosts. */
#define AT_ONCE 2

static void
find_stop(smcr_finder_t *finder, const host_pair_t *pair)
{
    const smcr_entry_connection_t *one = pair->one;

    smcr_finder_add(
        finder, SMCR_FIGURE_FOUND_SILENCE_AT_ONCE, pair->count, pair->last,
        wmem_strdup_printf(finder->scope, "frame.number >= %" PRIu32, pair->first.frame),
        "%s and %s fall silent at the same time, %s before the end (%s): port, cable or host "
        "down, or the programs pause%s",
        one->client.addr, one->server.addr,
        smcr_words_duration(finder->scope, finder->report->capture.last_time - pair->last.time),
        smcr_words_connections(finder->scope, one, pair->count),
        smcr_finder_undelivered(finder, one->client.addr, one->server.addr));
}

static void
find_silence(smcr_finder_t *finder)
{
    host_pair_t **pairs = find_pairs(finder), **of = pairs;
    host_pair_t idle = {.count = 0};
    uint64_t alive = 0; /* of the idle ones: something passes between their hosts later */

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        host_pair_t *pair = *of++;
        if (stops_with(finder, pair, conn))
            add_silent(pair, conn);
    }
    of = pairs;
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const host_pair_t *pair = *of++;
        bool stopped = pair && pair->count >= AT_ONCE && stops_with(finder, pair, conn);

        if (stopped && pair->one == conn &&
            finder->count[SMCR_FIGURE_NOTE][SMCR_FINDING_BY_STOP] < SMCR_FINDINGS_MOST)
            find_stop(finder, pair);
        if (stopped || !goes_silent(finder, conn))
            continue;
        add_silent(&idle, conn);
        alive += pair && smcr_figure_known(smcr_figure_time_between(conn->last_frame,
                                                                    pair->last)) >= SILENCE;
        goes_on(&idle, conn->last_frame);
    }
    if (idle.count)
        smcr_finder_add(
            finder, SMCR_FIGURE_FOUND_SILENT_END, idle.count, idle.last,
            wmem_strdup_printf(finder->scope, "frame.number >= %" PRIu32, idle.first.frame),
            "%s: open and silent in the last %s%s",
            smcr_words_connections(finder->scope, idle.one, idle.count),
            smcr_words_duration(finder->scope,
                                finder->report->capture.last_time - idle.last.time),
            alive == idle.count ? "; other packets pass between the hosts" : "");
}

void
smcr_finding_on_capture(smcr_finder_t *finder)
{
    find_cut(finder);
    if (smcr_finder_is_filtered(finder)) {
        /* but unsaid */
        finder->has[SMCR_FINDING_BY_LATE_START] = finder->has[SMCR_FINDING_BY_LACK] = true;
        return;
    }
    find_late_start(finder);
    find_no_roce(finder);
    find_one_sided(finder);
    find_silence(finder);
}
