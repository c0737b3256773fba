/* collection.c
 * Hands what the taps bring to the collectors, and puts their reports together. Counts frames and,
 * by what they carry, IP packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "collection.h"

#include <string.h>

#include <epan/epan_dissect.h>

#include "host/host.h"
#include "collectors.h"
#include "wire/wire.h"

#define SCHEMA "smcr-report/1"

/* How much a capture holds, and how much of it is neither TCP nor RoCE. */
typedef struct {
    smcr_entry_capture_t capture; /* up to `passes`; the rest is for others */
    smcr_entry_ip_t ip;
    int proto_ip, proto_ipv6, proto_tcp, proto_infiniband, proto_icmp, proto_icmpv6;
} totals_t;

struct smcr_collection {
    wmem_allocator_t *scope; /* of all that is collected; NULL: nothing has come yet */
    totals_t totals;
    wmem_array_t *times; /* smcr_when_t: frames that the state knows by their number only */
    smcr_collect_tcp_flows_t *tcp;
    smcr_collect_rdma_flows_t *rdma;
    smcr_collect_connections_t *connections;
    smcr_collect_link_groups_t *groups;
    smcr_collect_notices_t *notices;
};

/* ---- totals ---- */

/* Nothing has been counted. Dissectors have registered before. */
static void
init_totals(totals_t *totals)
{
    smcr_entry_clear(&totals->capture, &smcr_entry_capture_description);
    smcr_entry_clear(&totals->ip, &smcr_entry_ip_description);
    totals->capture.passes = 1;
    totals->proto_ip = proto_get_id_by_filter_name("ip");
    totals->proto_ipv6 = proto_get_id_by_filter_name("ipv6");
    totals->proto_tcp = proto_get_id_by_filter_name("tcp");
    totals->proto_infiniband = proto_get_id_by_filter_name("infiniband");
    totals->proto_icmp = proto_get_id_by_filter_name("icmp");
    totals->proto_icmpv6 = proto_get_id_by_filter_name("icmpv6");
}

static void
count_frame(smcr_entry_capture_t *capture, const packet_info *pinfo)
{
    uint64_t time = smcr_capture_when(pinfo).time;

    capture->frames++;
    capture->bytes += pinfo->fd->pkt_len;
    capture->cut_frames += pinfo->fd->cap_len < pinfo->fd->pkt_len ? 1 : 0;
    capture->passes = smcr_capture_is_read() ? 2 : 1;
    if (!pinfo->fd->has_ts)
        return;
    if (capture->first_time == SMCR_FIGURE_UNKNOWN || time < capture->first_time)
        capture->first_time = time;
    if (capture->last_time == SMCR_FIGURE_UNKNOWN || time > capture->last_time)
        capture->last_time = time;
}

/* The packet that IP carries. */
typedef struct {
    bool ip, tcp, roce;
    bool icmp; /* what comes behind are quotes */
} layers_t;

static layers_t
layers_of(const totals_t *totals, const packet_info *pinfo)
{
    layers_t layers = {.ip = false};
    wmem_list_frame_t *layer = wmem_list_head(pinfo->layers);

    for (; layer && !layers.icmp; layer = wmem_list_frame_next(layer)) {
        int proto = GPOINTER_TO_INT(wmem_list_frame_data(layer));

        layers.ip |= proto == totals->proto_ip || proto == totals->proto_ipv6;
        layers.tcp |= proto == totals->proto_tcp;
        layers.roce |= proto == totals->proto_infiniband;
        layers.icmp |= proto == totals->proto_icmp || proto == totals->proto_icmpv6;
    }
    return layers;
}

/* Counts the frame's IP packet; where its header does not say how long it is, what the frame has
 * from there on. Behind ICMP, Wireshark may remember the addresses of what an error quotes. */
static void
count_ip(smcr_collection_t *collection, const packet_info *pinfo, epan_dissect_t *edt, bool icmp)
{
    smcr_host_bytes_t frame = smcr_host_bytes_of(edt->tvb);
    smcr_host_ip_packet_t ip = {.offset = 0};
    smcr_entry_ip_t *count = &collection->totals.ip;

    if (smcr_host_ip_packet_first(frame, &pinfo->net_src, &pinfo->net_dst, &ip) && icmp) {
        smcr_host_ip_packet_of_error(frame, ip.offset, &ip);
        smcr_collect_notices_undelivered(collection->notices, pinfo, frame, &ip);
    }
    count->packets++;
    count->bytes += ip.total_length ? ip.total_length : pinfo->fd->pkt_len - ip.offset;
}

/* ---- beginning and end ---- */

smcr_collection_t *
smcr_collection_new(void)
{
    return g_new0(smcr_collection_t, 1);
}

void
smcr_collection_empty(smcr_collection_t *collection)
{
    if (collection->scope)
        wmem_destroy_allocator(collection->scope);
    memset(collection, 0, sizeof *collection);
}

void
smcr_collection_free(smcr_collection_t *collection)
{
    smcr_collection_empty(collection);
    g_free(collection);
}

static void
begin(smcr_collection_t *collection)
{
    if (collection->scope)
        return;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    collection->scope = scope;
    init_totals(&collection->totals);
    collection->times = wmem_array_new(scope, sizeof(smcr_when_t));
    collection->tcp = smcr_collect_tcp_flows_new(scope);
    collection->rdma = smcr_collect_rdma_flows_new(scope);
    collection->connections = smcr_collect_connections_new(scope);
    collection->groups = smcr_collect_link_groups_new(scope);
    collection->notices = smcr_collect_notices_new(scope);
}

/* ---- taking ---- */

void
smcr_collection_take_tcp(smcr_collection_t *collection, packet_info *pinfo,
                         const struct tcpheader *tcp)
{
    begin(collection);
    smcr_collect_tcp_flows_take(collection->tcp, pinfo, tcp);
}

void
smcr_collection_take_expert(smcr_collection_t *collection, packet_info *pinfo,
                            const expert_info_t *item)
{
    begin(collection);
    smcr_collect_notices_take(collection->notices, pinfo, item);
}

void
smcr_collection_take_frame(smcr_collection_t *collection, packet_info *pinfo, epan_dissect_t *edt)
{
    totals_t *totals = &collection->totals;

    begin(collection);
    layers_t layers = layers_of(totals, pinfo);
    count_frame(&totals->capture, pinfo);
    totals->capture.roce_frames += layers.roce;
    if (layers.ip && !layers.tcp && !layers.roce)
        count_ip(collection, pinfo, edt, layers.icmp);
    smcr_collect_notices_end_frame(collection->notices, pinfo);
}

/* Whether somebody may ask when the frame was sent: for messages that change links or connections,
 * for where a connection falls back, and for a link's first packet in a late capture. */
static bool
is_noted(const smcr_tap_t *packet, uint32_t frame)
{
    uint8_t type = packet->llc ? packet->llc->type & (uint8_t)~SMCR_LLC_TYPE_V2 : 0;
    const smcr_link_t *link = packet->record->link;

    return !packet->roce || (packet->llc && type != SMCR_LLC_TEST_LINK) ||
           (link && link->added_frame == frame);
}

void
smcr_collection_take_smcr(smcr_collection_t *collection, packet_info *pinfo,
                          const smcr_tap_t *packet)
{
    smcr_when_t when = smcr_capture_when(pinfo);

    begin(collection);
    smcr_collect_rdma_flows_stray(collection->rdma, packet->stray_icrc);
    if (packet->segment || packet->stray_icrc) /* of a segment the tap `tcp` tells */
        return;
    if (is_noted(packet, when.frame))
        wmem_array_append_one(collection->times, when);
    if (packet->roce)
        smcr_collect_rdma_flows_take(collection->rdma, when, packet);
    smcr_collect_connections_take(collection->connections, when, packet);
    smcr_collect_link_groups_take(collection->groups, when, packet, pinfo->vlan_id);
    smcr_collect_notices_blame(collection->notices, packet);
    if (packet->first_pass)
        smcr_collect_notices_claim(collection->notices, pinfo, packet);
}

/* ---- reporting ---- */

static void
fill_capture(smcr_entry_report_t *report, const smcr_collection_t *collection, const char *filter)
{
    smcr_entry_capture_t *capture = &report->capture;

    *capture = collection->totals.capture;
    capture->filter = filter;
    capture->wireshark = epan_get_version();
    capture->plugin = SMCR_VERSION;
    capture->smcr_roce = smcr_preferences.roce ? SMCR_FIGURE_YES : SMCR_FIGURE_NO;
    capture->check_icrc = smcr_preferences.check_icrc ? SMCR_FIGURE_YES : SMCR_FIGURE_NO;
    report->ip = collection->totals.ip;
}

/* Fallbacks of a kind. There are few kinds. */
static smcr_entry_fallback_t *
fallback_of(smcr_entry_report_t *report, const smcr_entry_conn_fallback_t *fallback,
            wmem_allocator_t *scope)
{
    SMCR_FIGURE_EACH(fallback, entry, report->fallbacks) {
        if (entry->code == fallback->code && entry->by == fallback->by &&
            g_strcmp0(entry->reason, fallback->reason) == 0)
            return entry;
    }
    smcr_entry_fallback_t *entry =
        smcr_figure_list_add(&report->fallbacks, scope, &smcr_entry_fallback_description);
    entry->code = fallback->code;
    entry->by = fallback->by;
    entry->reason = fallback->reason;
    return entry;
}

/* What Accept and Confirm tell; else what the messages of the link group show. */
static void
fill_versions(smcr_entry_report_t *report)
{
    GHashTable *versions = g_hash_table_new(g_int64_hash, g_int64_equal);

    SMCR_FIGURE_EACH(link_group, group, report->link_groups)
        g_hash_table_insert(versions, &group->index, group);
    SMCR_FIGURE_EACH(connection, entry, report->connections) {
        const smcr_entry_link_group_t *group = g_hash_table_lookup(versions, &entry->link_group);
        if (group && !entry->version)
            entry->version = group->version;
    }
    g_hash_table_destroy(versions);
}

smcr_entry_report_t *
smcr_collection_report(smcr_collection_t *collection, const char *filter, wmem_allocator_t *scope)
{
    smcr_entry_report_t *report = wmem_new(scope, smcr_entry_report_t);
    const smcr_state_t *state = smcr_capture_state();

    begin(collection);
    smcr_entry_clear(report, &smcr_entry_report_description);
    report->schema = SCHEMA;
    fill_capture(report, collection, filter);
    smcr_collect_sources_t sources = {state, collection->connections, collection->rdma,
                                      collection->tcp, collection->times};
    smcr_collect_rdma_flows_report(collection->rdma, state, &report->rdma_flows, scope);
    smcr_collect_connections_report(collection->connections, &sources, &report->connections, scope);
    smcr_collect_link_groups_report(collection->groups, &sources, &report->link_groups, scope);
    fill_versions(report);
    SMCR_FIGURE_EACH(connection, entry, report->connections)
        if (entry->fallback)
            fallback_of(report, entry->fallback, scope)->count++;
    smcr_collect_notices_report_breaches(collection->notices, &report->breaches, scope);
    smcr_collect_tcp_flows_report(collection->tcp, &report->tcp_flows, scope);
    return report;
}

/* ---- notices ---- */

/* Packets that a display filter selects; none is noted where `first` has no frame. */
static void
note(wmem_array_t *notices, const char *filter, smcr_when_t first, uint64_t count)
{
    smcr_figure_notice_t notice = {.filter = filter, .count = count, .first = first};

    if (first.frame)
        wmem_array_append_one(notices, notice);
}

/* TCP connections of SMC-R that were reset. */
static void
note_resets(const smcr_collection_t *collection, const smcr_entry_report_t *report,
            wmem_array_t *notices)
{
    smcr_when_t first = {0, 0};
    uint64_t count = 0;

    SMCR_FIGURE_EACH(connection, entry, report->connections) {
        const smcr_collect_tcp_facts_t *tcp =
            entry->tcp_stream < UINT32_MAX
                ? smcr_collect_tcp_flows_facts(collection->tcp, (uint32_t)entry->tcp_stream)
                : NULL;
        if (!tcp || !tcp->reset.frame)
            continue;
        first = smcr_figure_when_earlier(first, tcp->reset);
        count++;
    }
    note(notices, "tcp.flags.reset == 1", first, count);
}

static void
note_marks(const smcr_collection_t *collection, wmem_array_t *notices)
{
    smcr_when_t first = {0, 0};
    uint64_t count = 0;

    for (uint32_t i = 0; i < smcr_collect_tcp_flows_count(collection->tcp); i++) {
        const smcr_collect_tcp_facts_t *tcp = smcr_collect_tcp_flows_facts(collection->tcp, i);
        if (!tcp || !tcp->ce.frame)
            continue;
        first = smcr_figure_when_earlier(first, tcp->ce);
        count++;
    }
    note(notices, "ip.dsfield.ecn == 3 && tcp", first, count);
    smcr_collect_rdma_firsts_t firsts = smcr_collect_rdma_flows_firsts(collection->rdma);
    note(notices, "smcr.ecn == 3", firsts.ce, 1);
    note(notices, "smcr.nak.code > 0", firsts.refusal, 1);
}

const smcr_figure_notice_t *
smcr_collection_notices(const smcr_collection_t *collection, const smcr_entry_report_t *report,
                        wmem_allocator_t *scope, uint32_t *count)
{
    uint32_t items;
    const smcr_figure_notice_t *expert =
        smcr_collect_notices_all(collection->notices, scope, &items);
    wmem_array_t *notices = wmem_array_new(scope, sizeof(smcr_figure_notice_t));

    if (items)
        wmem_array_append(notices, expert, items);
    note_resets(collection, report, notices);
    note_marks(collection, notices);
    smcr_collect_rewritten_t rewritten =
        smcr_collect_connections_rewritten(collection->connections);
    note(notices, "smcr.stream.rewritten", rewritten.first, rewritten.bytes);
    *count = wmem_array_get_count(notices);
    return wmem_array_get_raw(notices);
}
