/* on_capture.c
 * What the capture lacks: its beginning, packets, the path of RoCE, the ends of frames. It limits
 * what can be said.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include <inttypes.h>
#include <string.h>

#include "report/words/words.h"
#include "wire/wire.h"

static void
find_late_start(smcr_finder_t *finder)
{
    const smcr_figure_list_t *conns = &finder->report->connections;
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.conn.began_before");
    const smcr_entry_connection_t *earliest = NULL;
    const char *filter = "";
    smcr_when_t first = {0};
    uint64_t count = 0;

    for (uint32_t i = 0; i < conns->length; i++) {
        const smcr_entry_connection_t *conn = conns->entries[i];
        if (conn->began_before != SMCR_FIGURE_YES)
            continue;
        if (!earliest || conn->first_frame.frame < first.frame)
            earliest = conn;
        first = earliest->first_frame;
        const char *all = smcr_words_connection_filter(finder->scope, conn);
        if (conn->tcp_stream != SMCR_FIGURE_UNKNOWN) /* what came before its number was known,
                                                        too */
            all = wmem_strdup_printf(finder->scope, "%s || tcp.stream == %" PRIu64, all,
                                     conn->tcp_stream);
        filter = smcr_finder_either(finder, filter, all, count++);
    }
    bool noticed = notice.count >= count;
    smcr_finder_add(finder, SMCR_FIGURE_FOUND_LATE_START, count, noticed ? notice.first : first,
                    noticed  ? notice.filter
                    : filter ? filter
                             : "smcr",
                    "%s: the capture lacks the beginning, so what came first is not known",
                    smcr_words_connections(finder->scope, earliest, count));
}

/* Unreliable: nobody acknowledges its packets, and nobody repeats them. */
static bool
is_unreliable(const smcr_entry_rdma_t *flow)
{
    for (unsigned i = 0; i < flow->opcodes.length; i++)
        if (smcr_ib_is_uc(flow->opcodes.counts[i].opcode))
            return true;
    return false;
}

/* Missing packets that no peer asked to have sent again. */
static uint64_t
not_captured(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);

    if (is_unreliable(flow))
        return smcr_figure_known(flow->missing);
    if (!peer || smcr_figure_known(flow->repeated) || smcr_figure_known(peer->nak.psn_sequence) ||
        smcr_finding_flow_is_damaged(finder, flow))
        return 0;
    return smcr_figure_known(flow->missing);
}

static const char *
hosts_of(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    if (!flow || !flow->src || !flow->dst)
        return "Unknown hosts";
    return wmem_strdup_printf(finder->scope, "%s → %s", flow->src, flow->dst);
}

static void
find_lack(smcr_finder_t *finder)
{
    const smcr_figure_list_t *flows = &finder->report->rdma_flows;
    uint64_t missing = 0, most = 0, dropped = smcr_figure_known(finder->report->dropped);
    const smcr_entry_rdma_t *worst = NULL;

    for (uint32_t i = 0; i < flows->length; i++) {
        const smcr_entry_rdma_t *flow = flows->entries[i];
        uint64_t lacking = not_captured(finder, flow);
        missing += lacking;
        if (lacking > most) {
            most = lacking;
            worst = flow;
        }
    }
    smcr_finder_add(finder, SMCR_FIGURE_FOUND_NOT_CAPTURED, missing,
                    smcr_finder_notice(finder, "smcr.packet_ahead").first, "smcr.packet_ahead",
                    worst && is_unreliable(worst)
                        ? "%s: the capture lacks %s of UC, which retransmits none: lost, or not "
                          "captured"
                        : "%s: the capture lacks %s that nobody retransmitted, or has %s out of "
                          "order",
                    hosts_of(finder, worst),
                    smcr_words_things(finder->scope, missing, "RoCE packet"),
                    missing == 1 ? "it" : "them");
    smcr_finder_add(finder, SMCR_FIGURE_FOUND_CAPTURE_DROPPED, dropped, (smcr_when_t){0}, NULL,
                    "The capture lacks %s: whoever captured dropped them",
                    smcr_words_things(finder->scope, dropped, "packet"));
}

/* ---- one direction alone ---- */

static guint
hash_direction(gconstpointer key)
{
    const smcr_entry_rdma_t *flow = key;

    return 31 * wmem_str_hash(flow->src) + wmem_str_hash(flow->dst);
}

static gboolean
equal_directions(gconstpointer one_key, gconstpointer other_key)
{
    const smcr_entry_rdma_t *one = one_key, *other = other_key;

    return strcmp(one->src, other->src) == 0 && strcmp(one->dst, other->dst) == 0;
}

/* A flow from each address to each other one. */
static wmem_map_t *
directions_of(const smcr_finder_t *finder)
{
    const smcr_figure_list_t *flows = &finder->report->rdma_flows;
    wmem_map_t *directions = wmem_map_new(finder->scope, hash_direction, equal_directions);

    for (uint32_t i = 0; i < flows->length; i++) {
        const smcr_entry_rdma_t *flow = flows->entries[i];
        if (flow->src && flow->dst)
            wmem_map_insert(directions, flow, flows->entries[i]);
    }
    return directions;
}

/* Who acknowledges has got packets, and the capture has none of them. */
static bool
is_one_sided(const smcr_finder_t *finder, wmem_map_t *directions, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t reverse = {.src = flow->dst, .dst = flow->src};
    bool acknowledges = false;

    if (!flow->src || !flow->dst || smcr_finding_flow_peer(finder, flow) ||
        (flow->icrc && flow->icrc->bad == flow->packets)) /* their addresses may be wrong */
        return false;
    for (unsigned i = 0; i < flow->opcodes.length; i++)
        acknowledges |= flow->opcodes.counts[i].opcode == SMCR_RC_ACK;
    return acknowledges && !wmem_map_contains(directions, &reverse);
}

static void
find_one_sided(smcr_finder_t *finder)
{
    const smcr_figure_list_t *flows = &finder->report->rdma_flows;
    wmem_map_t *directions = directions_of(finder);
    const smcr_entry_rdma_t *first = NULL;
    const char *filter = NULL;

    for (uint32_t i = 0; i < flows->length && !first; i++)
        if (is_one_sided(finder, directions, flows->entries[i]))
            first = flows->entries[i];
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
                    "is one direction left out?",
                    first->dst, first->src);
}

/* Connections that gave up because RoCE did not get through. */
static uint64_t
timed_out(const smcr_finder_t *finder)
{
    const smcr_figure_list_t *fallbacks = &finder->report->fallbacks;
    uint64_t count = 0;

    for (uint32_t i = 0; i < fallbacks->length; i++) {
        const smcr_entry_fallback_t *fallback = fallbacks->entries[i];
        if (smcr_finding_is_timeout(fallback->code))
            count += fallback->count;
    }
    return count;
}

static void
find_no_roce(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.no_roce");

    if (notice.count <= timed_out(finder))
        return;
    smcr_finder_add(
        finder, SMCR_FIGURE_FOUND_NO_ROCE, notice.count, notice.first, notice.filter,
        "%s%s: the capture has no RoCE packet of %s: is a port left out, or does RoCE not get "
        "through?",
        smcr_finder_subject(finder, notice.subject),
        notice.count > 1
            ? wmem_strdup_printf(
                  finder->scope, " and %s",
                  smcr_words_things(finder->scope, notice.count - 1, "more connection"))
            : "",
        notice.count > 1 ? "them" : "it");
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

static uint64_t
unread_of(const smcr_entry_connection_t *conn)
{
    return smcr_figure_known(conn->client_to_server.unreported_bytes) +
           smcr_figure_known(conn->server_to_client.unreported_bytes);
}

/* Connections that go silent. */
typedef struct {
    const smcr_entry_connection_t *one;
    smcr_when_t first, last; /* of their last packets */
    uint64_t count, unread;
    uint64_t time; /* from the last of them to the end of the capture, nanoseconds */
} silence_t;

static silence_t
silence_of(const smcr_finder_t *finder)
{
    const smcr_figure_list_t *conns = &finder->report->connections;
    silence_t silence = {0};

    for (uint32_t i = 0; i < conns->length; i++) {
        const smcr_entry_connection_t *conn = conns->entries[i];
        if (!goes_silent(finder, conn))
            continue;
        if (!silence.one)
            silence.one = conn;
        if (conn->last_frame.frame > silence.last.frame)
            silence.last = conn->last_frame;
        silence.first = smcr_figure_when_earlier(silence.first, conn->last_frame);
        silence.unread += unread_of(conn);
        silence.count++;
    }
    silence.time = finder->report->capture.last_time - silence.last.time;
    return silence;
}

static bool
is_between(const char *const hosts[2], const char *one, const char *other)
{
    return (g_strcmp0(one, hosts[0]) == 0 && g_strcmp0(other, hosts[1]) == 0) ||
           (g_strcmp0(one, hosts[1]) == 0 && g_strcmp0(other, hosts[0]) == 0);
}

#define AT_ONCE 20 /* parts of the silence, within one of which the last packets lie */

/* Whether all that passes between two hosts stops, and at one time. That only one connection stops
 * tells nothing of its hosts. */
static bool
stops_at_once(const smcr_finder_t *finder, const silence_t *silence)
{
    const smcr_figure_list_t *conns = &finder->report->connections;
    const smcr_figure_list_t *flows = &finder->report->rdma_flows;

    if (silence->count < 2 || !silence->one->client.addr ||
        (silence->last.time - silence->first.time) > silence->time / AT_ONCE)
        return false;
    const char *const hosts[2] = {silence->one->client.addr, silence->one->server.addr};
    for (uint32_t i = 0; i < conns->length; i++) {
        const smcr_entry_connection_t *conn = conns->entries[i];
        if (is_between(hosts, conn->client.addr, conn->server.addr)
                ? conn->last_frame.frame > silence->last.frame
                : goes_silent(finder, conn))
            return false;
    }
    for (uint32_t i = 0; i < flows->length; i++) {
        const smcr_entry_rdma_t *flow = flows->entries[i];
        if (is_between(hosts, flow->src, flow->dst) && flow->last_frame.time > silence->last.time &&
            flow->last_frame.time - silence->last.time > silence->time / AT_ONCE)
            return false;
    }
    return true;
}

static void
find_silence(smcr_finder_t *finder)
{
    silence_t silence = silence_of(finder);

    if (!silence.count)
        return;
    bool at_once = stops_at_once(finder, &silence);
    const char *names = smcr_words_connections(finder->scope, silence.one, silence.count);
    const char *time = smcr_words_duration(finder->scope, silence.time);
    const char *what = wmem_strdup_printf(
        finder->scope,
        at_once ? "%s: SMC-R and RoCE between the two hosts stopped at once, %s before the end; a "
                  "port, a cable or a host may be down, or the programs pause"
                : "%s: open and silent in the last %s",
        names, time);
    const char *unread = at_once ? "" : "; idle, or cut off without a word";

    if (silence.unread)
        unread = wmem_strdup_printf(finder->scope, "; %s not reported as read",
                                    smcr_words_bytes(finder->scope, silence.unread));
    smcr_finder_add_as(finder,
                       at_once ? SMCR_FIGURE_FOUND_SILENCE_AT_ONCE : SMCR_FIGURE_FOUND_SILENT_END,
                       silence.unread ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO, silence.count,
                       silence.last,
                       wmem_strdup_printf(finder->scope, "frame.number >= %" PRIu32,
                                          silence.first.frame),
                       "%s%s", what, unread);
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
    find_lack(finder);
    find_silence(finder);
}
