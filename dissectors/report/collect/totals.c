/* totals.c
 * Counts frames and, by what they carry, IP packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "totals.h"

#include <epan/epan_dissect.h>

#include "host/host.h"

void
smcr_collect_totals_init(smcr_collect_totals_t *totals)
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
take_frame(smcr_entry_capture_t *capture, const packet_info *pinfo)
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
    bool ip, other; /* there is an IP header; it is TCP or RoCE */
    bool icmp;      /* what comes behind are quotes */
} layers_t;

static layers_t
layers_of(const smcr_collect_totals_t *totals, const packet_info *pinfo)
{
    layers_t layers = {false, false, false};
    wmem_list_frame_t *layer = wmem_list_head(pinfo->layers);

    for (; layer && !layers.icmp; layer = wmem_list_frame_next(layer)) {
        int proto = GPOINTER_TO_INT(wmem_list_frame_data(layer));

        layers.ip |= proto == totals->proto_ip || proto == totals->proto_ipv6;
        layers.other |= proto == totals->proto_tcp || proto == totals->proto_infiniband;
        layers.icmp |= proto == totals->proto_icmp || proto == totals->proto_icmpv6;
    }
    return layers;
}

/* Total length of the frame's IP packet, bytes; where its header does not say, what the frame has
 * from there on. Behind ICMP, Wireshark remembers the addresses of what an error quotes. */
static uint32_t
ip_bytes(const packet_info *pinfo, epan_dissect_t *edt, bool icmp)
{
    smcr_host_bytes_t frame = smcr_host_bytes_of(edt->tvb);
    smcr_host_ip_packet_t ip = {.offset = 0};

    if (smcr_host_ip_packet_first(frame, &pinfo->net_src, &pinfo->net_dst, &ip) && icmp)
        smcr_host_ip_packet_of_error(frame, ip.offset, &ip);
    return ip.total_length ? ip.total_length : pinfo->fd->pkt_len - ip.offset;
}

void
smcr_collect_totals_take(smcr_collect_totals_t *totals, const packet_info *pinfo,
                         epan_dissect_t *edt)
{
    layers_t layers = layers_of(totals, pinfo);

    take_frame(&totals->capture, pinfo);
    if (!layers.ip || layers.other)
        return;
    totals->ip.packets++;
    totals->ip.bytes += ip_bytes(pinfo, edt, layers.icmp);
}
