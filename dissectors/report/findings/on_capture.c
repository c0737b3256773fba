/* Findings about what the capture does not have: the beginning of connections, packets, a RoCE
 * port, the ends of frames. Also connections that go silent before the capture ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "finder.h"

#include "report/words/words.h"
#include "wire/wire.h"

/* ---- connections that began before the capture ---- */

/* The connections whose beginning is not captured. */
typedef struct {
    /* number of connections */
    uint64_t count;
    const smcr_entry_connection_t *earliest; /* the connection with the lowest first frame; NULL:
                                                none */
    const char *filter;                      /* display filter of all; NULL: they are too many for
                                                one filter */
    uint64_t named;                          /* number of connections whose ends a host has
                                                reported */
    const smcr_entry_connection_t *by;       /* first connection whose ends a host has reported;
                                                NULL: none */
} late_conns_t;

/* Returns "it", "them", "2 of them": a pronoun for the connections whose ends a host has
 * reported. */
static const char *
named_pronoun(const smcr_finder_t *finder, const late_conns_t *late)
{
    if (late->count == 1)
        return "it";
    if (late->named == late->count)
        return "them";
    return wmem_strdup_printf(finder->scope, "%" PRIu64 " of them", late->named);
}

/* Returns text that says which host has reported the ends of connections: over netlink in a frame
 * of the capture, or in a file of smcss next to the capture (frame 0). "": no host has. */
static const char *
named_text(const smcr_finder_t *finder, const late_conns_t *late)
{
    const smcr_entry_connection_t *by = late->by;

    if (!late->named)
        return "";
    const char *which = named_pronoun(finder, late);
    if (by->named_frame.frame == 0)
        return wmem_strdup_printf(finder->scope, "; the smcss file of %s names %s", by->named_by,
                                  which);
    return wmem_strdup_printf(finder->scope, "; what %s told in frame %u names %s", by->named_by,
                              by->named_frame.frame, which);
}

/* Returns a display filter of the connection. Frames that came before the number of its stream was
 * known do not have the field smcr.stream, so the TCP stream selects them. */
static const char *
filter_of_conn(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const char *filter = smcr_words_connection_filter(finder->scope, conn);

    if (conn->tcp_stream == SMCR_FIGURE_UNKNOWN)
        return filter;
    return wmem_strdup_printf(finder->scope, "%s || tcp.stream == %" PRIu64, filter,
                              conn->tcp_stream);
}

/* Gathers the connections that did not, or may not, begin in the capture. */
static late_conns_t
gather_late_conns(const smcr_finder_t *finder)
{
    late_conns_t late = {.filter = ""};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (conn->began_before == SMCR_FIGURE_NO)
            continue;
        if (!late.earliest || conn->first_frame.frame < late.earliest->first_frame.frame)
            late.earliest = conn;
        if (conn->named_by) {
            late.by = late.by ? late.by : conn;
            late.named++;
        }
        late.filter = smcr_finder_either(finder, late.filter, filter_of_conn(finder, conn),
                                         late.count++);
    }
    return late;
}

/* Whether the expert items are about the same connections as the finding: there is one item for
 * each connection, or one for each direction, and the first item is about the earliest
 * connection. */
static bool
are_items_of(const smcr_figure_notice_t *items, const late_conns_t *late)
{
    return items->count >= late->count && items->count <= 2 * late->count && items->subject &&
           items->subject->stream == late->earliest->stream;
}

/* Late start: a connection began before the capture, which has neither its TCP handshake nor its
 * CLC messages. Everything that CLC negotiates (roles, RMB sizes, version) is then not known. The
 * finding names the earliest such connection. Its filter is that of the expert items if they are
 * about the same connections, since that filter is shorter, or if the connections are too many for
 * one filter. No finding is made for connections that began in the capture, nor under a display
 * filter of the report. */
static void
find_late_start(smcr_finder_t *finder)
{
    smcr_figure_notice_t items = smcr_finder_notice(finder, "smcr.conn.began_before");
    late_conns_t late = gather_late_conns(finder);
    const char *filter = late.filter ? late.filter : "smcr";

    if (!late.count)
        return;
    bool same = are_items_of(&items, &late);
    if (same || (!late.filter && items.count))
        filter = items.filter;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_LATE_START,
                                           .count = late.count,
                                           .when = same ? items.first : late.earliest->first_frame,
                                           .filter = filter},
                    "%s: the capture lacks the beginning%s",
                    smcr_words_connections(finder->scope, late.earliest, late.count),
                    named_text(finder, &late));
}

/* ---- only one direction captured ---- */

static bool
has_acknowledgement(const smcr_entry_rdma_t *flow)
{
    for (unsigned i = 0; i < flow->opcodes.length; i++)
        if (flow->opcodes.counts[i].opcode == SMCR_RC_ACK)
            return true;
    return false;
}

static bool
are_all_damaged(const smcr_entry_rdma_t *flow)
{
    return flow->icrc && flow->icrc->bad == flow->packets;
}

/* Whether the capture has only one direction between two hosts. A host that acknowledges has
 * received requests. If the capture has no packet at all from the other host to it, the requests
 * were not captured. `directions` has "src → dst" of all captured flows. A flow whose packets are
 * all damaged is left out: its addresses may be wrong. */
static bool
is_one_sided(const smcr_finder_t *finder, wmem_map_t *directions, const smcr_entry_rdma_t *flow)
{
    if (!flow->src || !flow->dst || smcr_finding_flow_peer(finder, flow) || are_all_damaged(flow))
        return false;
    return has_acknowledgement(flow) &&
           !wmem_map_contains(directions, smcr_words_hosts(finder->scope, flow->dst, flow->src));
}

/* Returns a display filter of the flow's packets; NULL: its queue pair is not known. An IPv6
 * address is in the IP header (RoCEv2) or in the GRH (RoCEv1). */
static const char *
filter_of_flow(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    if (flow->dst_qpn == SMCR_FIGURE_UNKNOWN)
        return NULL;
    if (strchr(flow->src, ':'))
        return wmem_strdup_printf(finder->scope,
                                  "infiniband.bth.destqp == %" PRIu64
                                  " && (ipv6.src == %s || infiniband.grh.sgid == %s)",
                                  flow->dst_qpn, flow->src, flow->src);
    return wmem_strdup_printf(finder->scope, "infiniband.bth.destqp == %" PRIu64 " && ip.src == %s",
                              flow->dst_qpn, flow->src);
}

/* Returns the first flow of which the capture has only one direction; NULL: none. */
static const smcr_entry_rdma_t *
first_one_sided_flow(const smcr_finder_t *finder)
{
    wmem_map_t *directions = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (flow->src && flow->dst)
            wmem_map_insert(directions, smcr_words_hosts(finder->scope, flow->src, flow->dst),
                            flow);
    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (is_one_sided(finder, directions, flow))
            return flow;
    return NULL;
}

/* One direction is not captured: a port of the switch or of the host was left out. The finding
 * names the first flow that shows this. No finding is made if the capture has a single packet in
 * the other direction between the hosts, nor if the flow has no acknowledgement: then nothing
 * proves that there were requests. */
static void
find_one_sided(smcr_finder_t *finder)
{
    const smcr_entry_rdma_t *first = first_one_sided_flow(finder);

    if (!first)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_ONE_SIDED,
                                           .count = first->packets,
                                           .when = first->first_frame,
                                           .filter = filter_of_flow(finder, first)},
                    "The capture has no RoCE packet from %s to %s, though some are acknowledged: "
                    "is one direction left out?",
                    first->dst, first->src);
}

/* No RoCE packets: CLC has agreed on SMC-R, and the capture has no RoCE packet of the connection.
 * An expert item marks each such connection; the finding names the first one and counts the
 * others. */
static void
find_no_roce(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.no_roce");

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_NO_ROCE,
                                           .count = notice.count,
                                           .when = notice.first,
                                           .filter = notice.filter},
                    "The capture has no RoCE packet that is known to be of %s: is a port left out?",
                    smcr_words_and_more(finder->scope, smcr_finder_subject(finder, notice.subject),
                                        notice.count));
}

/* Frames that are truncated by snaplen. The finding is a note if the missing bytes are SMC-R data,
 * which an expert item reports; else it is for information. */
static void
find_cut_frames(smcr_finder_t *finder)
{
    const smcr_entry_capture_t *capture = &finder->report->capture;
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.cut_short");

    smcr_finder_add_as(finder, notice.count ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO,
                       &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_CUT_FRAMES,
                                              .count = smcr_figure_or_zero(capture->cut_frames),
                                              .when = notice.first,
                                              .filter = "frame.cap_len < frame.len"},
                       "%s of %s cut: the capture has only their beginnings",
                       smcr_words_number(finder->scope, capture->cut_frames),
                       smcr_words_things(finder->scope, capture->frames, "frame"));
}

/* ---- connections that go silent ---- */

/* Shortest silence that counts. */
#define SILENCE SMCR_TIME_SECOND

/* Whether the connection is open at the end of the capture, and the time of its last frame is
 * usable. */
static bool
stays_open(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    uint64_t end = finder->report->capture.last_time;

    if (conn->close != SMCR_FIGURE_CLOSE_OPEN || !conn->last_frame.frame)
        return false;
    return end != SMCR_FIGURE_UNKNOWN && end >= conn->last_frame.time;
}

/* A connection goes silent if it stays open and sends nothing until the capture ends, at least as
 * long as it was active before, and at least for a second. Example: a connection that was active
 * for 10 s goes silent if its last frame is 10 s or more before the end of the capture. */
static bool
goes_silent(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    if (!stays_open(finder, conn))
        return false;
    uint64_t active =
        smcr_figure_or_zero(smcr_figure_time_between(conn->first_frame, conn->last_frame));
    return finder->report->capture.last_time - conn->last_frame.time >= MAX(active, SILENCE);
}

/* Two hosts: their last packet, and their connections that are silent at the end of the capture. */
typedef struct {
    smcr_when_t last;                   /* last packet between the hosts, of whatever connection */
    const smcr_entry_connection_t *one; /* first of the silent connections; NULL: none */
    smcr_when_t first;                  /* the earliest of the last packets of silent connections */
    uint64_t count;                     /* number of silent connections */
} host_pair_t;

/* Returns the pair of two hosts, in either order; NULL: one of the hosts is not known. */
static host_pair_t *
pair_of(const smcr_finder_t *finder, wmem_map_t *by_hosts, const char *one, const char *other)
{
    if (!one || !other)
        return NULL;
    bool up = strcmp(one, other) < 0;
    const char *key = smcr_words_hosts(finder->scope, up ? one : other, up ? other : one);

    return smcr_figure_of(by_hosts, finder->scope, key, sizeof(host_pair_t));
}

/* Notes a packet between the hosts. `pair` may be NULL. */
static void
note_packet(host_pair_t *pair, smcr_when_t last)
{
    if (pair && last.frame > pair->last.frame)
        pair->last = last;
}

/* Returns the pair of hosts of each connection, in the order of connections, with the last packet
 * between the hosts. RoCE may have other IP addresses than TCP. So a flow of a link group counts
 * for the hosts of the group's connections, too. */
static host_pair_t **
find_pairs(const smcr_finder_t *finder)
{
    const smcr_entry_report_t *report = finder->report;
    wmem_map_t *by_hosts = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);
    /* from the index of a link group plus 1 to its pair */
    wmem_map_t *by_group = wmem_map_new(finder->scope, g_direct_hash, g_direct_equal);
    host_pair_t **pairs =
        wmem_alloc_array(finder->scope, host_pair_t *, report->connections.length + 1);
    host_pair_t **next = pairs;

    SMCR_FIGURE_EACH(connection, conn, report->connections) {
        host_pair_t *pair = pair_of(finder, by_hosts, conn->client.addr, conn->server.addr);
        note_packet(pair, conn->last_frame);
        if (pair && conn->link_group != SMCR_FIGURE_UNKNOWN)
            wmem_map_insert(by_group, GSIZE_TO_POINTER(conn->link_group + 1), pair);
        *next++ = pair;
    }
    SMCR_FIGURE_EACH(rdma, flow, report->rdma_flows) {
        const smcr_entry_link_group_t *group = finder->owners[flow->index].group;
        note_packet(pair_of(finder, by_hosts, flow->src, flow->dst), flow->last_frame);
        if (group)
            note_packet(wmem_map_lookup(by_group, GSIZE_TO_POINTER(group->index + 1)),
                    flow->last_frame);
    }
    SMCR_FIGURE_EACH(tcp, flow, report->tcp_flows)
        note_packet(pair_of(finder, by_hosts, flow->src, flow->dst), flow->last_frame);
    return pairs;
}

#define SPOKEN 8 /* CDC messages from which on the mean pause of a connection is meaningful */

/* Whether the connection stops together with all other traffic between its hosts. The connection
 * has to be regularly active until then: the last packet between the hosts comes at most two of its
 * mean pauses after its own last packet. Example: 100 CDC messages in 10 s make a mean pause of 0.1
 * s. The traffic stops together if the last packet between the hosts comes at most 0.2 s after the
 * connection's last one. */
static bool
stops_with(const smcr_finder_t *finder, const host_pair_t *pair,
           const smcr_entry_connection_t *conn)
{
    uint64_t spoken = smcr_figure_or_zero(
        smcr_figure_sum(conn->client_to_server.cdc, conn->server_to_client.cdc));

    if (!pair || spoken < SPOKEN || !goes_silent(finder, conn))
        return false;
    return smcr_figure_or_zero(smcr_figure_time_between(conn->last_frame, pair->last)) <=
           2 * smcr_figure_time_between(conn->first_frame, conn->last_frame) / spoken;
}

/* Counts a silent connection of the pair. */
static void
add_silent(host_pair_t *pair, const smcr_entry_connection_t *conn)
{
    pair->one = pair->one ? pair->one : conn;
    pair->first = smcr_figure_when_earlier(pair->first, conn->last_frame);
    pair->count++;
}

/* Connections that have to stop together: a single one proves nothing about its hosts. */
#define AT_ONCE 2

/* Makes the finding of one pair of hosts whose connections stop together. */
static void
find_stop(smcr_finder_t *finder, const host_pair_t *pair)
{
    const smcr_entry_connection_t *one = pair->one;

    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_SILENCE_AT_ONCE,
                               .count = pair->count,
                               .when = pair->last,
                               .filter = wmem_strdup_printf(
                                   finder->scope, "frame.number >= %" PRIu32, pair->first.frame)},
        "%s and %s fall silent at the same time, %s before the end (%s): port, cable or host "
        "down, or the programs pause%s",
        one->client.addr, one->server.addr,
        smcr_words_duration(finder->scope, finder->report->capture.last_time - pair->last.time),
        smcr_words_connections(finder->scope, one, pair->count),
        smcr_finder_undelivered(finder, one->client.addr, one->server.addr));
}

/* Counts the connections of each pair of hosts that stop with all other traffic of the pair. */
static void
count_stopped(const smcr_finder_t *finder, host_pair_t **pair_of_conn)
{
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        host_pair_t *pair = *pair_of_conn++;
        if (stops_with(finder, pair, conn))
            add_silent(pair, conn);
    }
}

/* Open connections that are silent at the end of the capture: their programs wait, or the peer is
 * gone. The finding is for information: nothing is wrong with an idle connection. */
static void
find_idle(smcr_finder_t *finder, const host_pair_t *idle, bool are_all_alive)
{
    if (!idle->count)
        return;
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_SILENT_END,
                               .count = idle->count,
                               .when = idle->last,
                               .filter = wmem_strdup_printf(
                                   finder->scope, "frame.number >= %" PRIu32, idle->first.frame)},
        "%s: open and silent in the last %s%s",
        smcr_words_connections(finder->scope, idle->one, idle->count),
        smcr_words_duration(finder->scope, finder->report->capture.last_time - idle->last.time),
        are_all_alive ? "; other packets pass between the hosts" : "");
}

/* Whether packets pass between the hosts a second or more after the connection's last packet. */
static bool
are_hosts_alive(const host_pair_t *pair, const smcr_entry_connection_t *conn)
{
    return pair &&
           smcr_figure_or_zero(smcr_figure_time_between(conn->last_frame, pair->last)) >= SILENCE;
}

static bool
has_room_for_stop(const smcr_finder_t *finder)
{
    return finder->rank_count[SMCR_FIGURE_NOTE][SMCR_FINDING_BY_STOP] < SMCR_FINDINGS_MOST;
}

/* Two kinds of findings of silence. If AT_ONCE or more connections stop together with all traffic
 * between their hosts, they have a common cause: port, cable, host, or programs that pause
 * together. There is one such finding for each pair of hosts. All other silent connections share
 * one finding, for information. Connections that have closed, or were active until shortly before
 * the end, are not counted. */
static void
find_silence(smcr_finder_t *finder)
{
    host_pair_t **pair_of_conn = find_pairs(finder), **next = pair_of_conn;
    host_pair_t idle = {.count = 0};
    uint64_t alive = 0; /* number of idle connections whose hosts are alive */

    count_stopped(finder, pair_of_conn);
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const host_pair_t *pair = *next++;
        bool stopped = pair && pair->count >= AT_ONCE && stops_with(finder, pair, conn);

        if (stopped && pair->one == conn && has_room_for_stop(finder))
            find_stop(finder, pair);
        if (stopped || !goes_silent(finder, conn))
            continue;
        add_silent(&idle, conn);
        alive += are_hosts_alive(pair, conn);
        note_packet(&idle, conn->last_frame);
    }
    find_idle(finder, &idle, alive == idle.count);
}

/* A display filter of the report hides beginnings and packets that the capture has. So no finding
 * says that they are missing. The ranks of those findings count as made, so that expert items about
 * missing packets give no findings, either. */
static void
suppress_findings_of_missing(smcr_finder_t *finder)
{
    finder->has_rank[SMCR_FINDING_BY_LATE_START] = true;
    finder->has_rank[SMCR_FINDING_BY_LACK] = true;
}

void
smcr_finding_on_capture(smcr_finder_t *finder)
{
    find_cut_frames(finder);
    if (smcr_finder_is_filtered(finder)) {
        suppress_findings_of_missing(finder);
        return;
    }
    find_late_start(finder);
    find_no_roce(finder);
    find_one_sided(finder);
    find_silence(finder);
}
