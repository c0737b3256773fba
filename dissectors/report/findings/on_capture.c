/* Findings about what the capture does not have: the beginning of connections, packets, a RoCE
 * port, the ends of frames. Also connections that go silent before the capture ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "subjects.h"

#include "report/findings/finder/causes.h"
#include "report/words/words.h"
#include "wire/wire.h"

/* ---- connections that began before the capture ---- */

/* The connections whose beginning is not captured. */
typedef struct {
    /* number of connections */
    uint64_t count;
    bool have_data;    /* each connection may have begun in the capture: its first data is captured,
                          and only its TCP handshake and CLC messages are missing */
    bool may_be_damaged; /* CLC messages of some connection are damaged */
    bool may_be_truncated; /* see the static function may_be_truncated() */
    const smcr_entry_connection_t *earliest; /* the connection with the lowest first frame; NULL:
                                                none */
    const char *filter;                      /* display filter of all these connections; NULL: too
                                                many connections for one filter */
    uint64_t named;                          /* number of connections whose ends a host has
                                                reported */
    const smcr_entry_connection_t *by;       /* first connection whose ends a host has reported;
                                                NULL: none */
    wmem_array_t *frames; /* first frame of each connection, and the frame that names it */
} late_conns_t;

/* Returns "the ports of 2" if a host has reported the ends of some of the connections; "the ports"
 * if it has reported the ends of all. */
static const char *
which_are_named(const smcr_finder_t *finder, const late_conns_t *late)
{
    if (late->named == late->count)
        return "the ports";
    return wmem_strdup_printf(finder->scope, "the ports of %" PRIu64, late->named);
}

/* Returns text that names the host that has reported the ends of connections. If no host has:
 * "; ports unknown" if the capture has no TCP of these connections, otherwise "".
 * The host has reported over netlink in a captured frame, or in a file of smcss beside the capture
 * (frame 0). */
static const char *
named_text(const smcr_finder_t *finder, const late_conns_t *late)
{
    const smcr_entry_connection_t *by = late->by;

    if (!late->named)
        return late->have_data ? "; ports unknown" : "";
    const char *which = which_are_named(finder, late);
    if (by->named_frame.frame == 0)
        return wmem_strdup_printf(finder->scope, "; the smcss file of %s reports %s",
                                  by->named_by, which);
    return wmem_strdup_printf(finder->scope, "; host %s reports %s over netlink (frame %u)",
                              by->named_by, which, by->named_frame.frame);
}

/* Returns a display filter of the connection. The filter also selects tcp.stream if it is known:
 * the first frames of the connection may not have the field smcr.stream. */
static const char *
filter_of_conn(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const char *filter = smcr_words_connection_filter(finder->scope, conn);

    if (conn->tcp_stream == SMCR_FIGURE_UNKNOWN)
        return filter;
    return wmem_strdup_printf(finder->scope, "%s || tcp.stream == %" PRIu64, filter,
                              conn->tcp_stream);
}

/* Returns the connections that began before the capture, or may have done so. */
static late_conns_t
gather_late_conns(const smcr_finder_t *finder)
{
    late_conns_t late = {
        .filter = "",
        .have_data = true,
        .may_be_damaged = smcr_finder_notice(finder, "smcr.tcp.checksum_wrong").count,
        .frames = smcr_finder_frames(finder)};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (conn->began_before == SMCR_FIGURE_NO)
            continue;
        late.have_data &= conn->began_before == SMCR_FIGURE_MAYBE &&
                          conn->tcp_stream == SMCR_FIGURE_UNKNOWN;
        if (!late.earliest || conn->first_frame.frame < late.earliest->first_frame.frame)
            late.earliest = conn;
        if (conn->named_by) {
            late.by = late.by ? late.by : conn;
            late.named++;
        }
        smcr_finder_frames_add(late.frames, conn->first_frame);
        smcr_finder_frames_add(late.frames, conn->named_frame);
        late.filter = smcr_finder_either(finder, late.filter, filter_of_conn(finder, conn),
                                         late.count++);
    }
    return late;
}

/* Whether the expert items `items` are about the same connections as the finding `late`. Two
 * conditions hold. There is one item for each connection, or one for each direction of a
 * connection. The first item is about the earliest connection. */
static bool
are_items_of(const smcr_figure_notice_t *items, const late_conns_t *late)
{
    return items->count >= late->count && items->count <= 2 * late->count && items->subject &&
           items->subject->stream == late->earliest->stream;
}

/* Whether the TCP handshake of the connection may be captured, and truncated: the capture has
 * segments of the connection, and truncated frames. */
static bool
may_be_truncated(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    return finder->report->capture.cut_frames && conn->tcp_stream != SMCR_FIGURE_UNKNOWN;
}

/* Returns the sentence about connections that began before the capture, or of which only TCP and
 * CLC are missing. `is_likely`: the name of the earliest connection begins with "probably", so the
 * sentence must not begin with the name. */
static const char *
late_format(const late_conns_t *late, bool is_likely)
{
    if (late->have_data)
        return late->may_be_damaged ? "%s: CLC messages not captured, truncated or damaged%s"
                                    : "%s: CLC messages not captured, or truncated%s";
    if (is_likely)
        return "The capture starts mid-connection: %s%s";
    return late->may_be_truncated
               ? "%s: the capture starts mid-connection, or the TCP handshake is truncated%s"
               : "%s: the capture starts mid-connection%s";
}

/* Finding: late start. A connection began before the capture, so the capture has neither its TCP
 * handshake nor its CLC messages. Facts that CLC negotiates (roles, RMB sizes, version) are then
 * not known. The finding names the earliest such connection.
 * The filter of the finding is the filter of the expert items in two cases: the items are about the
 * same connections (are_items_of()), or the connections are too many for one filter. No finding is
 * made for connections that began in the capture, and none under a display filter of the report. */
static void
find_late_start(smcr_finder_t *finder)
{
    smcr_figure_notice_t items = smcr_finder_notice(finder, "smcr.conn.began_before");
    late_conns_t late = gather_late_conns(finder);
    const char *filter = late.filter ? late.filter : "smcr";

    if (!late.count)
        return;
    late.may_be_truncated = may_be_truncated(finder, late.earliest);
    bool same = are_items_of(&items, &late);
    const char *conns = smcr_words_connections(finder->scope, late.earliest, late.count);
    bool is_likely = g_str_has_prefix(conns, "probably "); /* the name, not the late start */
    if (same || (!late.filter && items.count))
        filter = items.filter;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_LATE_START,
                                           .count = late.count,
                                           .when = same ? items.first : late.earliest->first_frame,
                                           .frames = late.frames,
                                           .filter = filter},
                    late_format(&late, is_likely),
                    conns, named_text(finder, &late));
}

/* ---- only one direction captured ---- */

/* Whether the flow has an acknowledgement packet (RC Acknowledge). */
static bool
has_acknowledgement(const smcr_entry_rdma_t *flow)
{
    for (unsigned i = 0; i < flow->opcodes.length; i++)
        if (flow->opcodes.counts[i].opcode == SMCR_RC_ACK)
            return true;
    return false;
}

/* Whether every packet of the flow has a wrong ICRC. */
static bool
are_all_damaged(const smcr_entry_rdma_t *flow)
{
    return flow->icrc && flow->icrc->bad == flow->packets;
}

/* Whether the capture has only the direction of `flow` between its two hosts. A host that sends
 * acknowledgements has received requests. If the capture has no packet in the other direction, the
 * requests were not captured. `directions`: the text "src → dst" of each captured flow. A flow
 * whose packets are all damaged does not count: its addresses may be wrong. */
static bool
is_one_sided(const smcr_finder_t *finder, wmem_map_t *directions, const smcr_entry_rdma_t *flow)
{
    if (!flow->src || !flow->dst || smcr_finding_flow_peer(finder, flow) || are_all_damaged(flow))
        return false;
    return has_acknowledgement(flow) &&
           !wmem_map_contains(directions, smcr_words_hosts(finder->scope, flow->dst, flow->src));
}

/* Returns a display filter of the flow's packets; NULL: the flow's queue pair is not known. An IPv6
 * address is searched in the IP header (RoCEv2) and in the GRH (RoCEv1). */
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

/* Returns the directions that the capture has: the text "src → dst" of each captured flow. */
static wmem_map_t *
captured_directions(const smcr_finder_t *finder)
{
    wmem_map_t *directions = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (flow->src && flow->dst)
            wmem_map_insert(directions, smcr_words_hosts(finder->scope, flow->src, flow->dst),
                            flow);
    return directions;
}

/* A packet in the other direction between the two hosts, of whatever flow, is enough to say that
 * the direction is captured. */
const smcr_entry_rdma_t *
smcr_finding_flow_one_sided(const smcr_finder_t *finder)
{
    wmem_map_t *directions = captured_directions(finder);

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (is_one_sided(finder, directions, flow))
            return flow;
    return NULL;
}

/* Returns the number of requests of RC in the flow, retransmitted ones included: a SEND or WRITE
 * counts with its first packet. */
static uint64_t
count_requests(const smcr_entry_rdma_t *flow)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < flow->opcodes.length; i++) {
        uint8_t opcode = (uint8_t)flow->opcodes.counts[i].opcode;
        const smcr_ib_operation_t *operation = &smcr_ib_operations[opcode];
        if (opcode >> 5 == 0 && (operation->begins || operation->fetches_data))
            count += flow->opcodes.counts[i].count;
    }
    return count;
}

/* Lowest number of requests without an answer for a finding. Fewer may be the last packets of the
 * capture, whose answers come after its end. */
#define REQUESTS_LEAST 8

/* Whether the flow has REQUESTS_LEAST or more requests of RC, and the capture has nothing in the
 * other direction between its two hosts. Flows of SMC-R and of RDMA-CM are not examined, nor flows
 * that other findings report: those whose packets are mostly retransmissions, or all damaged. */
static bool
is_unanswered(const smcr_finder_t *finder, wmem_map_t *directions, const smcr_entry_rdma_t *flow)
{
    bool is_named = flow->kind == SMCR_FIGURE_FLOW_OTHER && flow->src && flow->dst;

    if (!is_named || smcr_finding_flow_is_unheard(finder, flow) || are_all_damaged(flow))
        return false;
    return count_requests(flow) >= REQUESTS_LEAST &&
           !wmem_map_contains(directions, smcr_words_hosts(finder->scope, flow->dst, flow->src));
}

/* Returns the facts of a finding about a direction that is not captured. `flow`: the captured
 * direction. */
static smcr_finder_facts_t
facts_of_one_sided(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    return (smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_ONE_SIDED,
                                 .count = flow->packets,
                                 .when = flow->first_frame,
                                 .frames = SMCR_FINDER_FRAMES(finder, flow->last_frame),
                                 .filter = filter_of_flow(finder, flow)};
}

/* Finding: requests, and nothing from the host that gets them. Nothing proves that this host has
 * answered. The finding describes the flow with the most requests. */
static void
find_unanswered(smcr_finder_t *finder)
{
    wmem_map_t *directions = captured_directions(finder);
    const smcr_entry_rdma_t *worst = NULL;

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (is_unanswered(finder, directions, flow) &&
            (!worst || count_requests(flow) > count_requests(worst)))
            worst = flow;
    if (!worst)
        return;
    smcr_finder_facts_t facts = facts_of_one_sided(finder, worst);
    uint64_t repeated = smcr_figure_or_zero(worst->repeated);
    const char *count = repeated ? smcr_words_number(finder->scope, repeated) : "none";
    smcr_finder_add(finder, &facts,
                    "No packet from %s to %s is captured; %s to it, %s retransmitted: one "
                    "direction not captured, or the %s",
                    worst->dst, worst->src,
                    smcr_words_things(finder->scope, count_requests(worst), "request"), count,
                    repeated ? "host does not answer" : "capture ends early");
}

/* Finding: one direction is not captured. A port of the switch or of the host was left out. The
 * finding names the first flow that shows this. Nothing proves a missing direction in two cases: 1.
 * the capture has at least one packet in the other direction between the two hosts; 2. the flow has
 * no acknowledgement, so the other host may have sent no requests. Then find_unanswered() looks for
 * requests without an answer. */
static void
find_one_sided(smcr_finder_t *finder)
{
    const smcr_entry_rdma_t *first = smcr_finding_flow_one_sided(finder);

    if (!first) {
        find_unanswered(finder);
        return;
    }
    smcr_finder_facts_t facts = facts_of_one_sided(finder, first);
    smcr_finder_add(finder, &facts,
                    "One direction is not captured: %s acknowledges RoCE packets of %s, but none "
                    "of these packets is captured",
                    first->src, first->dst);
}

/* Returns the first link of the connection `stream` whose devices are known; NULL: there is none,
 * or the capture has packets of this link, so that those of the connection pass other ports.
 * `stream`: number of the connection (smcr.stream). */
static const smcr_entry_link_t *
link_of_stream(const smcr_finder_t *finder, uint64_t stream)
{
    uint64_t index = SMCR_FIGURE_UNKNOWN;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections)
        if (conn->stream == stream)
            index = conn->link_group;
    SMCR_FIGURE_EACH(link_group, group, finder->report->link_groups) {
        if (group->index != index || index == SMCR_FIGURE_UNKNOWN)
            continue;
        SMCR_FIGURE_EACH(link, link, group->links)
            if (link->client.gid && link->server.gid)
                return link->flows.length ? NULL : link;
    }
    return NULL;
}

/* Returns the name of a device: its GID, and its MAC address if that is known: "fe80::1 (MAC
 * 52:54:00:aa:00:01)". */
static const char *
device_text(const smcr_finder_t *finder, const smcr_entry_queue_pair_t *end)
{
    if (!end->mac)
        return end->gid;
    return wmem_strdup_printf(finder->scope, "%s (MAC %s)", end->gid, end->mac);
}

/* Returns the advice to capture at the ports that the connection's RoCE packets pass: it names the
 * GID and MAC address of both devices, as CLC states them. If these are not known, the advice names
 * no port. */
static const char *
ports_text(const smcr_finder_t *finder, const smcr_figure_subject_t *subject)
{
    const smcr_entry_link_t *link = subject ? link_of_stream(finder, subject->stream) : NULL;

    if (!link)
        return "capture the RoCE port, too";
    return wmem_strdup_printf(finder->scope, "capture the RoCE port of client %s or server %s",
                              device_text(finder, &link->client),
                              device_text(finder, &link->server));
}

/* ---- connections captured twice ---- */

/* The connections that are captured twice, before and after a translation of their addresses. */
typedef struct {
    uint64_t count;      /* number of connections that are captured twice */
    const smcr_entry_connection_t *one;   /* earlier entry of the first of these connections */
    const smcr_entry_connection_t *other; /* later entry of the same connection */
    wmem_array_t *frames; /* first and last frames of these connections */
} translated_t;

/* One end of a connection. */
typedef struct {
    const smcr_entry_connection_t *conn; /* the connection */
    uint32_t order;                      /* its index among the connections of the report */
    bool is_server;                      /* the end is that of the server */
} conn_end_t;

/* Returns address and port of the end. */
static const smcr_entry_endpoint_t *
endpoint_of(const conn_end_t *end)
{
    return end->is_server ? &end->conn->server : &end->conn->client;
}

/* Whether the address and port of the end are known, and both alert tokens of the connection. A
 * host gives a token to one open connection only. */
static bool
is_end_known(const conn_end_t *end)
{
    const smcr_entry_endpoint_t *endpoint = endpoint_of(end);
    bool has_tokens = end->conn->tokens.client && end->conn->tokens.server;

    return has_tokens && endpoint->addr && endpoint->port != SMCR_FIGURE_UNKNOWN;
}

/* Compares two known ends: role, port, address, and both alert tokens. 0: the same end. */
static int
compare_ends(const conn_end_t *one, const conn_end_t *other)
{
    const smcr_entry_endpoint_t *a = endpoint_of(one), *b = endpoint_of(other);
    int order = one->is_server - other->is_server;

    if (!order)
        order = (a->port > b->port) - (a->port < b->port);
    if (!order)
        order = strcmp(a->addr, b->addr);
    if (!order)
        order = strcmp(one->conn->tokens.client, other->conn->tokens.client);
    return order ? order : strcmp(one->conn->tokens.server, other->conn->tokens.server);
}

/* Order of ends for qsort(): equal ends in the order of the report. */
static int
compare_in_order(const void *one, const void *other)
{
    const conn_end_t *a = one, *b = other;
    int order = compare_ends(a, b);

    return order ? order : (a->order > b->order) - (a->order < b->order);
}

/* Returns the known ends of all connections in the order of compare_in_order(); stores their number
 * in `*count`. */
static conn_end_t *
sorted_ends(const smcr_finder_t *finder, wmem_allocator_t *scope, size_t *count)
{
    const smcr_figure_list_t *conns = &finder->report->connections;
    conn_end_t *ends = wmem_alloc_array(scope, conn_end_t, 2 * (size_t)conns->length + 1);
    uint32_t order = 0;

    *count = 0;
    SMCR_FIGURE_EACH(connection, conn, *conns) {
        for (int role = 0; role < 2; role++) {
            ends[*count] = (conn_end_t){conn, order, role == 1};
            *count += is_end_known(&ends[*count]);
        }
        order++;
    }
    qsort(ends, *count, sizeof *ends, compare_in_order);
    return ends;
}

/* Returns an array with two pointers for each connection of the report: the connection before it
 * that has the same end, of the client and of the server, and is open at the same time. NULL: there
 * is none. */
static const smcr_entry_connection_t **
conns_before(const smcr_finder_t *finder, wmem_allocator_t *scope)
{
    size_t count;
    const conn_end_t *ends = sorted_ends(finder, scope, &count);
    const smcr_entry_connection_t **before = wmem_alloc0_array(
        scope, const smcr_entry_connection_t *, 2 * (size_t)finder->report->connections.length + 1);

    for (size_t i = 1; i < count; i++) {
        const conn_end_t *last = &ends[i - 1], *end = &ends[i];
        bool is_same = compare_ends(last, end) == 0;
        if (is_same && end->conn->first_frame.frame <= last->conn->last_frame.frame)
            before[2 * (size_t)end->order + end->is_server] = last->conn;
    }
    return before;
}

/* Whether both endpoints have an address, and two different ones. */
static bool
has_moved(const smcr_entry_endpoint_t *one, const smcr_entry_endpoint_t *other)
{
    return one->addr && other->addr && strcmp(one->addr, other->addr) != 0;
}

/* Returns the connections that are captured twice. The two entries of each have one end in common,
 * with the same alert tokens at the same time, and the other end has another address. If only its
 * port is another one, the same two hosts have two connections with the same alert tokens, which is
 * a breach of RFC 7609 and no translation. */
static translated_t
find_translated(const smcr_finder_t *finder)
{
    translated_t found = {.frames = smcr_finder_frames(finder)};
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    const smcr_entry_connection_t **same = conns_before(finder, scope);

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_connection_t *by_client = *same++, *by_server = *same++;
        if (!by_client == !by_server)
            continue;
        const smcr_entry_connection_t *one = by_client ? by_client : by_server;
        bool is_translated = by_client ? has_moved(&one->server, &conn->server)
                                       : has_moved(&one->client, &conn->client);
        if (!is_translated)
            continue;
        found.one = found.count ? found.one : one;
        found.other = found.count++ ? found.other : conn;
        smcr_finder_frames_add_ends(found.frames, one);
        smcr_finder_frames_add_ends(found.frames, conn);
    }
    wmem_destroy_allocator(scope);
    return found;
}

/* Finding: connections that are captured twice, on both sides of a translation of addresses (NAT),
 * as on all interfaces of a host that translates. The report counts each of them as two, since it
 * has two TCP connections. RoCE belongs to one of the two. */
static void
find_connections_twice(smcr_finder_t *finder, const translated_t *translated)
{
    if (!translated->count)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_TRANSLATED,
                                           .count = translated->count,
                                           .when = translated->other->first_frame,
                                           .frames = translated->frames,
                                           .filter = smcr_finder_either(
                                               finder, filter_of_conn(finder, translated->one),
                                               filter_of_conn(finder, translated->other), 1)},
                    "%s captured and counted twice, on both sides of an address translation (NAT): "
                    "also as %s",
                    smcr_words_connections(finder->scope, translated->one, translated->count),
                    smcr_words_connection(finder->scope, translated->other));
}

/* Returns the number of connections that are known from RoCE only, if one direction is not
 * captured. Each of them may be one of the TCP connections without RoCE: the CLC message that would
 * show this, since it names queue pair and buffer, may be of the direction that is missing.
 * Otherwise returns 0. */
static uint64_t
count_without_ports(const smcr_finder_t *finder)
{
    uint64_t count = 0;

    if (!smcr_finding_flow_one_sided(finder))
        return 0;
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections)
        count += conn->client.port == SMCR_FIGURE_UNKNOWN;
    return count;
}

/* Finding: no RoCE packets. CLC has agreed on SMC-R, and the capture has no RoCE packet of the
 * connection. An expert item marks each such connection. The finding names the first of them,
 * counts the others, and names the devices whose port was left out. Three kinds of connections are
 * not counted. A connection whose Confirm was never acknowledged has no RoCE packets. Of a
 * connection that is captured twice, the other entry has the RoCE packets. If one direction is not
 * captured, RoCE without a TCP connection may be that of the connection. */
static void
find_no_roce(smcr_finder_t *finder, const translated_t *translated)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.no_roce");

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections)
        notice.count -= conn->handshake_end &&
                        conn->handshake_end->step == SMCR_FIGURE_STEP_CONFIRM && notice.count;
    notice.count -= MIN(notice.count, translated->count);
    notice.count -= MIN(notice.count, count_without_ports(finder));
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_NO_ROCE,
                                           .count = notice.count,
                                           .when = notice.first,
                                           .filter = notice.filter},
                    "RoCE is not captured for %s: %s",
                    smcr_words_and_more(finder->scope, smcr_finder_subject(finder, notice.subject),
                                        notice.count),
                    ports_text(finder, notice.subject));
}

/* Whether truncated frames may hide all SMC-R on RoCE: they may hide some
 * (smcr_words_may_hide_smcr()), and the report has no link group, and no connection of which the
 * outcome of the handshake is known. */
static bool
may_hide_all_smcr(const smcr_entry_report_t *report)
{
    if (!smcr_words_may_hide_smcr(report) || report->link_groups.length)
        return false;
    SMCR_FIGURE_EACH(connection, conn, report->connections)
        if (conn->outcome != SMCR_FIGURE_OUTCOME_UNKNOWN)
            return false;
    return true;
}

/* Finding: frames are truncated by snaplen. The finding is a note if an expert item reports that
 * SMC-R data is missing in a truncated frame. Otherwise the finding is for information. Without
 * a VLAN tag, a message of 44 bytes ends with the 98th byte of a RoCEv2 frame, over IPv6 with
 * the 118th. */
static void
find_cut_frames(smcr_finder_t *finder)
{
    const smcr_entry_capture_t *capture = &finder->report->capture;
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.cut_short");

    const char *advice =
        may_hide_all_smcr(finder->report)
            ? "; SMC-R is recognised if 128 bytes or more of each RoCE frame are captured"
            : "";
    smcr_finder_add_as(finder, notice.count ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO,
                       &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_CUT_FRAMES,
                                              .count = smcr_figure_or_zero(capture->cut_frames),
                                              .when = notice.first,
                                              .filter = "frame.cap_len < frame.len"},
                       "%s of %s truncated by snaplen%s",
                       smcr_words_number(finder->scope, capture->cut_frames),
                       smcr_words_things(finder->scope, capture->frames, "frame"),
                       advice);
}

/* Finding: the clock of the capture was set back. Times across this moment are not negative, since
 * all later times are moved. */
static void
find_clock_step(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, SMCR_FIGURE_CLOCK_FILTER);
    const char *others = "";

    if (notice.count > 1)
        others = wmem_strdup_printf(finder->scope, ", and %s",
                                    smcr_words_things(finder->scope, notice.count - 1,
                                                      "more time"));
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_CLOCK_STEP,
                                           .count = notice.count,
                                           .when = notice.first,
                                           .filter = notice.filter},
                    "The time stamps of the capture go back by %s at frame %" PRIu32 "%s: the "
                    "clock was set back, or the file is not sorted. All later times are moved "
                    "by this step",
                    smcr_words_duration(finder->scope, notice.back), notice.first.frame, others);
}

/* Finding: the file is not sorted by time. The finding is a note if RoCE packets are out of order,
 * or come after their acknowledgements, because times are not known then. */
static void
find_unsorted(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, SMCR_FIGURE_UNSORTED_FILTER);
    bool hides_times = smcr_finder_notice(finder, "smcr.out_of_order").count != 0 ||
                       finder->report->capture.disorder_frame.frame != 0;

    smcr_finder_add_as(finder, hides_times ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO,
                       &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_UNSORTED,
                                              .count = notice.count,
                                              .when = notice.first,
                                              .filter = notice.filter},
                       "The file is not sorted: time goes back at %s, the first time by %s; "
                       "`reordercap` sorts the file%s",
                       smcr_words_things(finder->scope, notice.count, "frame"),
                       smcr_words_duration(finder->scope, notice.back),
                       hides_times ? ", so that times are known" : "");
}

/* Finding: packets are captured after their own acknowledgements. They are few, or come only a
 * little later: so the capture may have the packets of two receive queues of its host, each in
 * order, and both out of order to each other. The finding says why
 * most times of connections are not known. A file that is not sorted has another finding. */
static void
find_disorder(smcr_finder_t *finder)
{
    const smcr_entry_capture_t *capture = &finder->report->capture;
    bool is_unsorted = smcr_finder_notice(finder, SMCR_FIGURE_UNSORTED_FILTER).count != 0;
    bool is_found = capture->disorder_frame.frame != 0 && !is_unsorted &&
                    !smcr_finder_notice(finder, "smcr.captured_late").count;

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_DISORDER,
                                           .count = is_found,
                                           .when = capture->disorder_frame,
                                           .filter = wmem_strdup_printf(
                                               finder->scope, "frame.number == %" PRIu32,
                                               capture->disorder_frame.frame)},
                    "Packets are captured up to %s after their own acknowledgements: two receive "
                    "queues, or interfaces whose clocks differ; so most times of connections are "
                    "not known",
                    smcr_words_duration(finder->scope, capture->disorder_most_s));
}

/* Finding: packets are captured after their own acknowledgements, or CLC and RoCE in an
 * impossible order, so the times of the capture do not show which packet was first. The two
 * directions, or TCP and RoCE, may come from two interfaces with different clocks. */
static void
find_differing_clocks(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.captured_late");
    bool is_late = notice.count != 0;

    if (!is_late)
        notice = smcr_finder_notice(finder, "smcr.clocks_differ");
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_CLOCKS_DIFFER,
                                           .count = notice.count,
                                           .when = notice.first,
                                           .filter = notice.filter},
                    "%s: the clocks of interfaces differ, the file is not sorted, or packets came "
                    "late; times and causes are not proven",
                    is_late ? "Packets are captured after their own acknowledgements"
                            : "CLC messages and RoCE packets are captured in an order in which no "
                              "host sends them");
}

/* ---- connections that go silent ---- */

/* Shortest silence that counts, nanoseconds. */
#define SILENCE SMCR_TIME_SECOND

/* Whether the connection is open at the end of the capture. Returns false also if the end of the
 * capture is not known or is earlier than the connection's last frame: then no silence can be
 * measured. */
static bool
stays_open(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    uint64_t end = finder->report->capture.last_time;

    if (conn->close != SMCR_FIGURE_CLOSE_OPEN || !conn->last_frame.frame)
        return false;
    return end != SMCR_FIGURE_UNKNOWN && end >= conn->last_frame.time;
}

/* Whether the connection goes silent. It does if it stays open and has no packet until the capture
 * ends, for at least as long as it was active before, and at least for SILENCE. Example: a
 * connection that was active for 10 s goes silent if its last frame is 10 s or more before the end
 * of the capture. */
static bool
goes_silent(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    if (!stays_open(finder, conn))
        return false;
    uint64_t active =
        smcr_figure_or_zero(smcr_figure_time_between(conn->first_frame, conn->last_frame));
    return finder->report->capture.last_time - conn->last_frame.time >= MAX(active, SILENCE);
}

/* A pair of hosts: the last packet between them, and their connections that are silent at the end
 * of the capture. */
typedef struct {
    smcr_when_t last;                   /* last packet between the hosts, of any connection or
                                           flow */
    const smcr_entry_connection_t *one; /* first of the silent connections; NULL: none */
    smcr_when_t first;                  /* last packet of the connection that fell silent first;
                                           frame 0: none */
    uint64_t count;                     /* number of silent connections */
} host_pair_t;

/* Returns the pair of the hosts `one` and `other`, whatever their order; makes the pair if there is
 * none. Returns NULL if one of the hosts is not known. */
static host_pair_t *
pair_of(const smcr_finder_t *finder, wmem_map_t *by_hosts, const char *one, const char *other)
{
    if (!one || !other)
        return NULL;
    bool up = strcmp(one, other) < 0;
    const char *key = smcr_words_hosts(finder->scope, up ? one : other, up ? other : one);

    return smcr_figure_of(by_hosts, finder->scope, key, sizeof(host_pair_t));
}

/* Notes that `last` is a packet between the hosts. Does nothing if `pair` is NULL. */
static void
note_packet(host_pair_t *pair, smcr_when_t last)
{
    if (pair && last.frame > pair->last.frame)
        pair->last = last;
}

/* Returns an array with the pair of hosts of each connection, in the order of connections. Each
 * pair has the last packet between its hosts. RoCE may have other IP addresses than TCP, so a flow
 * of a link group also counts for the hosts of the group's connections. */
static host_pair_t **
find_pairs(const smcr_finder_t *finder)
{
    const smcr_entry_report_t *report = finder->report;
    wmem_map_t *by_hosts = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);
    /* map: index of a link group plus 1 -> pair of hosts of a connection of the group */
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

#define SPOKEN 8 /* minimum number of CDC messages for which the mean pause between messages of a
                    connection is meaningful */

/* Whether the connection stops together with all other traffic between its hosts. The last packet
 * between the hosts then comes at most two mean pauses after the connection's last frame. The mean
 * pause is the connection's time divided by its number of CDC messages. Example: 100 CDC messages
 * in 10 s have a mean pause of 0.1 s. So the last packet between the hosts comes at most 0.2 s
 * after the connection's last frame. Connections with fewer than SPOKEN CDC messages are not
 * judged. */
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

/* Counts `conn` as a silent connection of the pair. */
static void
add_silent(host_pair_t *pair, const smcr_entry_connection_t *conn)
{
    pair->one = pair->one ? pair->one : conn;
    pair->first = smcr_figure_when_earlier(pair->first, conn->last_frame);
    pair->count++;
}

/* Minimum number of connections between two hosts that have to stop together: a single connection
 * proves nothing about its hosts. */
#define AT_ONCE 2

/* Makes the finding about a pair of hosts whose connections stop together. */
static void
find_stop(smcr_finder_t *finder, const host_pair_t *pair)
{
    const smcr_entry_connection_t *one = pair->one;

    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_SILENCE_AT_ONCE,
                               .count = pair->count,
                               .when = pair->last,
                               .begin = pair->last,
                               .frames = SMCR_FINDER_FRAMES(finder, pair->first, pair->last),
                               .filter = wmem_strdup_printf(
                                   finder->scope, "frame.number >= %" PRIu32, pair->first.frame)},
        "%s and %s stop sending at the same time, %s before the end of the capture (%s): port, "
        "cable or host down, or programs idle%s",
        one->client.addr, one->server.addr,
        smcr_words_duration(finder->scope, finder->report->capture.last_time - pair->last.time),
        smcr_words_connections(finder->scope, one, pair->count),
        smcr_finder_undelivered(finder, one->client.addr, one->server.addr));
}

/* Counts, for each pair of hosts, the connections that stop together with all other traffic of the
 * pair (stops_with()). `pair_of_conn`: the result of find_pairs(). */
static void
count_stopped(const smcr_finder_t *finder, host_pair_t **pair_of_conn)
{
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        host_pair_t *pair = *pair_of_conn++;
        if (stops_with(finder, pair, conn))
            add_silent(pair, conn);
    }
}

/* Finding: open connections are silent at the end of the capture. Their programs wait, or the peer
 * is gone. The finding is for information, since an idle connection is nothing wrong.
 * `are_all_alive`: other packets pass between the hosts of each of these connections. */
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
                               .begin = idle->last,
                               .frames = SMCR_FINDER_FRAMES(finder, idle->first, idle->last),
                               .filter = wmem_strdup_printf(
                                   finder->scope, "frame.number >= %" PRIu32, idle->first.frame)},
        "%s: still open, but no packet in the last %s%s",
        smcr_words_connections(finder->scope, idle->one, idle->count),
        smcr_words_duration(finder->scope, finder->report->capture.last_time - idle->last.time),
        are_all_alive ? "; the hosts exchange other packets" : "");
}

/* Whether packets pass between the hosts a second or more after the connection's last packet. */
static bool
are_hosts_alive(const host_pair_t *pair, const smcr_entry_connection_t *conn)
{
    return pair &&
           smcr_figure_or_zero(smcr_figure_time_between(conn->last_frame, pair->last)) >= SILENCE;
}

/* Whether fewer than SMCR_FINDINGS_MOST findings of traffic that stops were made. */
static bool
has_room_for_stop(const smcr_finder_t *finder)
{
    return finder->rank_count[SMCR_FIGURE_NOTE][SMCR_FINDING_BY_STOP] < SMCR_FINDINGS_MOST;
}

/* Findings about silence, of two kinds:
 * 1. AT_ONCE or more connections stop together with all traffic between their hosts. The cause is
 *    common: port, cable, host, or programs that pause together. Each pair of hosts has a finding
 *    of its own.
 * 2. All other silent connections share one finding, for information. A connection is not counted
 *    if it has closed, if it was active until shortly before the capture ended (goes_silent()), or
 *    if another finding says that a program of it hangs (smcr_finding_hangs()). */
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
        if (stopped || !goes_silent(finder, conn) || smcr_finding_hangs(finder, conn))
            continue;
        add_silent(&idle, conn);
        alive += are_hosts_alive(pair, conn);
        note_packet(&idle, conn->last_frame);
    }
    find_idle(finder, &idle, alive == idle.count);
}

/* Suppresses findings of missing packets under a display filter of the report. The filter hides
 * packets that the capture has, so no finding may say that they are missing. The two ranks count as
 * made. So expert items about missing packets make no findings, either. */
static void
suppress_findings_of_missing(smcr_finder_t *finder)
{
    finder->has_rank[SMCR_FINDING_BY_LATE_START] = true;
    finder->has_rank[SMCR_FINDING_BY_LACK] = true;
}

/* Under a display filter, no packet is certainly missing in the capture. So only those rules are
 * called that do not need that. */
void
smcr_finding_on_capture(smcr_finder_t *finder)
{
    find_cut_frames(finder);
    find_clock_step(finder);
    find_unsorted(finder);
    find_differing_clocks(finder);
    find_disorder(finder);
    if (smcr_finder_is_filtered(finder)) {
        suppress_findings_of_missing(finder);
        return;
    }
    find_late_start(finder);
    translated_t translated = find_translated(finder);
    find_connections_twice(finder, &translated);
    find_no_roce(finder, &translated);
    find_one_sided(finder);
    find_silence(finder);
}
