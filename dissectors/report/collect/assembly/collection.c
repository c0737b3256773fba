/* Passes the data of each tap to the collectors that need them, and assembles the entries of the
 * collectors into a report. Counts frames, and IP packets that are neither TCP nor RoCE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "collection.h"

#include <epan/ipproto.h>

#include "report/collect/collectors.h"
#include "report/collect/connections/connections.h"
#include "wire/wire.h"

#define UDP_HEADER_LENGTH 8 /* bytes */

#define SCHEMA "smcr-report/1"

/* ---- counts of the capture: frames, and IP packets that are neither TCP nor RoCE ---- */

/* Layers of a packet, a bit each. */
enum { IP = 1, TCP = 2, ROCE = 4, ICMP = 8, MAC_CONTROL = 16 };

/* Wireshark's protocols, and the layer (IP, TCP, ROCE, ...) that each stands for. `id`:
 * Wireshark's number of the protocol, which begin() looks up. */
static struct {
    const char *name;
    unsigned layer;
    int id;
} protos[] = {{"ip", IP, 0},           {"ipv6", IP, 0},   {"tcp", TCP, 0},
              {"infiniband", ROCE, 0}, {"icmp", ICMP, 0}, {"icmpv6", ICMP, 0},
              {"macc", MAC_CONTROL, 0}};

/* Counts a frame. `time`: its time, nanoseconds since 1970. Frames of a capture need not be in
 * order of time. So `first_time` is the lowest time of all frames, and `last_time` the highest. A
 * frame without a time changes neither. */
static void
count_frame(smcr_entry_capture_t *capture, const packet_info *pinfo, uint64_t time)
{
    capture->frames++;
    capture->bytes += pinfo->fd->pkt_len;
    capture->cut_frames += pinfo->fd->cap_len < pinfo->fd->pkt_len ? 1 : 0;
    capture->passes = smcr_capture_is_read() ? 2 : 1;
    if (!pinfo->fd->has_ts)
        return;
    capture->first_time = MIN(capture->first_time, time); /* before the first frame, `first_time` is
                                                             UINT64_MAX (not known) */
    if (capture->last_time == SMCR_FIGURE_UNKNOWN || time > capture->last_time)
        capture->last_time = time;
}

/* Counts the frame if the file is not sorted at this frame: its time is before that of the frame
 * before. `when`: number and time of the frame. After the clock was set back, the corrected times
 * are compared. */
static void
count_unsorted(smcr_collect_t *all, const packet_info *pinfo, smcr_when_t when)
{
    if (pinfo->fd->has_ts && when.time < all->last_time)
        smcr_collect_notices_count_step_back(all, SMCR_FIGURE_UNSORTED_FILTER, when,
                                             all->last_time - when.time);
    all->last_time = pinfo->fd->has_ts ? when.time : 0;
}

/* Returns the layer that a protocol of Wireshark stands for; 0: none. */
static unsigned
layer_of(int id)
{
    for (unsigned i = 0; i < array_length(protos); i++)
        if (protos[i].id == id)
            return protos[i].layer;
    return 0;
}

/* Returns the layers of the packet as a set of bits: IP, TCP, ROCE and so on. Layers after ICMP
 * belong to a packet that an ICMP error quotes, and are ignored. */
static unsigned
layers_of(const packet_info *pinfo)
{
    unsigned layers = 0;
    wmem_list_frame_t *layer = wmem_list_head(pinfo->layers);

    for (; layer && !(layers & ICMP); layer = wmem_list_frame_next(layer))
        layers |= layer_of(GPOINTER_TO_INT(wmem_list_frame_data(layer)));
    return layers;
}

/* Notes the frame, which is neither a RoCE packet nor a TCP segment, as the last one of its sender.
 * `ip`: the outermost IP header of the frame; version 0: none was found. */
static void
note_sender(smcr_collect_t *all, const packet_info *pinfo, const smcr_host_ip_packet_t *ip)
{
    bool has_mac = pinfo->dl_src.type == AT_ETHER && pinfo->dl_src.len == SMCR_WIRE_MAC_LENGTH;
    uint8_t gid[SMCR_GID_LENGTH];

    if (ip->version)
        smcr_host_ip_packet_source(smcr_host_bytes_of_frame(pinfo), ip, gid);
    smcr_collect_heard_take_other(all, has_mac ? pinfo->dl_src.data : NULL,
                                  ip->version ? gid : NULL, smcr_capture_when(pinfo));
}

/* Counts the IP packet of the frame, notes its sender, and takes an ICMP error into the notices.
 *
 * `icmp`: the packet has ICMP. Inside an ICMP error, Wireshark's addresses may be those of the
 * quoted packet. The header that is found first is then the header of the quoted packet, and the
 * header of the ICMP error itself is searched before it. */
static void
count_ip(smcr_collect_t *all, const packet_info *pinfo, bool icmp)
{
    smcr_host_bytes_t frame = smcr_host_bytes_of_frame(pinfo);
    smcr_host_ip_packet_t ip = {.offset = 0};

    if (smcr_host_ip_packet_first(frame, &pinfo->net_src, &pinfo->net_dst, &ip) && icmp) {
        smcr_host_ip_packet_of_error(frame, ip.offset, &ip);
        smcr_collect_notices_undelivered(all, pinfo, frame, &ip);
    }
    note_sender(all, pinfo, &ip);
    all->ip.packets++;
    all->ip.bytes += smcr_host_ip_packet_length(pinfo, &ip);
}

/* ---- pauses of Ethernet ---- */

/* Returns the captured bytes of a frame that begins with an Ethernet header; length 0: it does not
 * begin with one. */
static smcr_host_bytes_t
ethernet_bytes(const packet_info *pinfo)
{
    bool is_ethernet = pinfo->rec->rec_header.packet_header.pkt_encap == WTAP_ENCAP_ETHERNET;

    return is_ethernet ? smcr_host_bytes_of_frame(pinfo) : (smcr_host_bytes_t){NULL, 0};
}

/* Takes a frame of MAC control, if it is a PAUSE or PFC frame: into the pauses, which the first
 * such frame makes, into the pictures, and into the notices. */
static void
count_pause(smcr_collect_t *all, const packet_info *pinfo)
{
    smcr_host_bytes_t bytes = ethernet_bytes(pinfo);

    if (!smcr_pause_is_frame(bytes.bytes, bytes.length))
        return;
    if (!all->pauses)
        all->pauses = smcr_pauses_new(all->scope, smcr_preferences.link_speed);
    smcr_pauses_take(all->pauses, smcr_capture_when(pinfo), bytes.bytes, bytes.length);
    if (all->series)
        smcr_series_take_flow(all->series, NULL,
                              &(smcr_series_packet_t){.when = smcr_capture_when(pinfo)});
    smcr_collect_notices_count(all, SMCR_PAUSE_FILTER, smcr_capture_when(pinfo), 1);
}

/* ---- RoCE that is not analysed ---- */

/* Finds the UDP datagram in the IP packet of the frame. Returns its captured bytes, without any if
 * UDP does not follow the IP header, and reads the IP header into `ip`. */
static smcr_host_bytes_t
find_datagram(const packet_info *pinfo, smcr_host_ip_packet_t *ip)
{
    smcr_host_bytes_t frame = smcr_host_bytes_of_frame(pinfo);
    bool is_found = smcr_host_ip_packet_first(frame, &pinfo->net_src, &pinfo->net_dst, ip);
    uint32_t at = is_found ? ip->offset + ip->header_length : 0;

    if (!is_found || ip->next != IP_PROTO_UDP || frame.length <= at)
        return (smcr_host_bytes_t){NULL, 0};
    return (smcr_host_bytes_t){frame.bytes + at, frame.length - at};
}

/* Whether the frame has a RoCE packet that UDP has passed to the protocol of its source port. */
static bool
hides_roce(const packet_info *pinfo)
{
    smcr_host_ip_packet_t ip;
    smcr_host_bytes_t datagram = find_datagram(pinfo, &ip);

    return datagram.bytes && !ip.is_fragment &&
           smcr_udp_ports_hides(datagram,
                                smcr_host_ip_packet_length(pinfo, &ip) - ip.header_length);
}

/* Whether the frame, which Wireshark takes for RoCE and the plugin has not analysed, has a datagram
 * of another protocol. A fragment of IP has no ports. */
static bool
has_other_datagram(const packet_info *pinfo)
{
    smcr_host_ip_packet_t ip;
    smcr_host_bytes_t datagram = find_datagram(pinfo, &ip);

    return datagram.length >= UDP_HEADER_LENGTH && !ip.is_fragment &&
           smcr_udp_ports_is_other(pinfo, smcr_wire_number16(datagram.bytes),
                                   smcr_wire_number16(datagram.bytes + 2));
}

/* Returns the layers of the frame. ROCE is one of them if the frame has a RoCE packet, whatever its
 * source port, and not if its UDP datagram is of another protocol. */
static unsigned
find_layers(const smcr_collect_t *all, const packet_info *pinfo)
{
    unsigned layers = layers_of(pinfo);

    if (layers == IP && pinfo->ptype == PT_UDP && hides_roce(pinfo))
        return layers | ROCE;
    if (layers & ROCE && all->roce_frame != pinfo->num && has_other_datagram(pinfo))
        return layers & ~(unsigned)ROCE;
    return layers;
}

/* Finds the RoCEv1 packet in the frame: its GRH looks like the header of IPv6. Returns its captured
 * bytes from the BTH on, without any if there is no GRH with the packet's GIDs, and reads the GRH
 * into `grh`. */
static smcr_host_bytes_t
find_after_grh(const packet_info *pinfo, smcr_host_ip_packet_t *grh)
{
    enum { NEXT_IS_BTH = 27 };
    smcr_host_bytes_t frame = smcr_host_bytes_of_frame(pinfo);
    address from = pinfo->src, to = pinfo->dst;

    if (from.type != AT_IB || from.len != SMCR_GID_LENGTH || to.len != SMCR_GID_LENGTH)
        return (smcr_host_bytes_t){NULL, 0};
    from.type = to.type = AT_IPv6;
    if (!smcr_host_ip_packet_first(frame, &from, &to, grh) || grh->next != NEXT_IS_BTH)
        return (smcr_host_bytes_t){NULL, 0};
    uint32_t at = grh->offset + grh->header_length;
    return (smcr_host_bytes_t){frame.bytes + at, frame.length - at};
}

/* Returns the captured bytes of the frame's RoCE packet from the BTH on, without any if the BTH was
 * not found. Reads the IP header or the GRH before it into `ip`, and the receiver's GID into
 * `to`. */
static smcr_host_bytes_t
find_bth(const packet_info *pinfo, smcr_host_ip_packet_t *ip, uint8_t to[SMCR_GID_LENGTH])
{
    smcr_host_bytes_t datagram = find_datagram(pinfo, ip);

    if (!datagram.bytes) {
        smcr_host_bytes_t packet = find_after_grh(pinfo, ip);
        if (packet.bytes)
            memcpy(to, pinfo->dst.data, SMCR_GID_LENGTH);
        return packet;
    }
    smcr_endpoint_gid(&pinfo->net_dst, to);
    if (datagram.length < UDP_HEADER_LENGTH)
        return (smcr_host_bytes_t){NULL, 0};
    return (smcr_host_bytes_t){datagram.bytes + UDP_HEADER_LENGTH,
                               datagram.length - UDP_HEADER_LENGTH};
}

/* Reads the headers of the RoCE packet of the frame. Leaves `packet->bth` NULL if no BTH comes
 * after IP and UDP (RoCEv2) or after a GRH (RoCEv1), or if snaplen has truncated the BTH. A GRH has
 * no congestion mark; the IP header of a tunnel around it may have one. */
static void
read_others(const packet_info *pinfo, smcr_others_packet_t *packet)
{
    smcr_host_ip_packet_t ip;

    *packet = (smcr_others_packet_t){.bth = NULL};
    smcr_host_bytes_t bytes = find_bth(pinfo, &ip, packet->to);
    if (bytes.length < SMCR_IB_BTH_LENGTH)
        return;
    packet->bth = bytes.bytes;
    packet->length = bytes.length;
    bool is_udp = ip.next == IP_PROTO_UDP;
    packet->is_marked = is_udp && (ip.traffic_class & SMCR_MASK_ECN) == SMCR_WIRE_ECN_CE;
    if (smcr_host_encapsulation_is_bare(pinfo, ip.offset))
        return;
    smcr_ib_outer_t outer = smcr_host_encapsulation_read(pinfo, ip.offset);
    packet->network = outer.network;
    packet->is_marked |= outer.ecn == SMCR_WIRE_ECN_CE;
}

/* Counts the RoCE packet of the frame, if the plugin has not analysed it. */
static void
count_others(smcr_collect_t *all, const packet_info *pinfo)
{
    smcr_others_packet_t packet;

    if (smcr_preferences.roce || all->roce_frame == pinfo->num)
        return;
    if (!all->others)
        all->others = smcr_others_new(all->scope);
    read_others(pinfo, &packet);
    smcr_others_take(all->others, smcr_capture_when(pinfo), &packet);
    smcr_collect_notices_count(all, SMCR_OTHERS_FILTER, smcr_capture_when(pinfo), 1);
}

/* Reads the Ethernet header of a packet, which decides whether pauses stop the packet. */
static void
read_header(smcr_collect_t *all, const packet_info *pinfo)
{
    smcr_host_bytes_t bytes = ethernet_bytes(pinfo);

    all->has_header = smcr_pause_header_read(bytes.bytes, bytes.length, &all->header);
}

/* ---- beginning and end ---- */

smcr_collection_t *
smcr_collection_new(bool keeps_frames)
{
    smcr_collection_t *collection = g_new0(smcr_collection_t, 1);

    collection->keeps_frames = keeps_frames;
    return collection;
}

void
smcr_collection_begin_letting_go(smcr_collection_t *collection)
{
    collection->lets_go = true;
}

void
smcr_collection_draw(smcr_collection_t *collection, smcr_series_t *series)
{
    collection->series = series;
}

/* What the user has chosen stays: options and pictures. Pools of connections are freed before the
 * scope that owns their list. */
void
smcr_collection_empty(smcr_collection_t *collection)
{
    if (collection->scope) {
        smcr_collect_connections_free(collection);
        smcr_collect_tcp_flows_free(collection);
        smcr_collect_rdma_flows_free(collection);
        wmem_destroy_allocator(collection->scope);
    }
    if (collection->series)
        smcr_series_empty(collection->series);
    *collection = (smcr_collection_t){.keeps_frames = collection->keeps_frames,
                                      .lets_go = collection->lets_go,
                                      .series = collection->series};
}

void
smcr_collection_free(smcr_collection_t *collection)
{
    smcr_collection_empty(collection);
    g_free(collection);
}

/* Allocates the memory of an empty collection. Called before data is taken and before a report is
 * made; does nothing if the memory exists. */
static void
begin(smcr_collect_t *all)
{
    if (all->scope)
        return;

    wmem_map_t **const maps[] = {&all->rdma, &all->flow_times, &all->conns, &all->contacts,
                                 &all->link_flows, &all->moves, &all->groups,
                                 &all->tcp,        &all->given_up};
    all->scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    for (unsigned i = 0; i < array_length(protos); i++)
        protos[i].id = proto_get_id_by_filter_name(protos[i].name);
    smcr_entry_clear(&all->capture, &smcr_entry_capture_description);
    smcr_entry_clear(&all->ip, &smcr_entry_ip_description);
    all->capture.passes = 1;
    all->times = wmem_array_new(all->scope, sizeof(smcr_when_t));
    all->clc_times = wmem_array_new(all->scope, sizeof(smcr_when_t));
    all->gone_conns = wmem_array_new(all->scope, 1);
    all->gone_streams = wmem_array_new(all->scope, 1);
    all->gone_groups = wmem_array_new(all->scope, 1);
    all->hosts = wmem_map_new(all->scope, wmem_str_hash, g_str_equal);
    all->late_steps = wmem_array_new(all->scope, sizeof(const smcr_step_back_t *));
    for (unsigned i = 0; i < array_length(maps); i++)
        *maps[i] = wmem_map_new(all->scope, g_direct_hash, g_direct_equal);
    smcr_collect_connections_begin(all);
    smcr_collect_tcp_flows_begin(all);
    smcr_collect_notices_begin(all);
}

/* ---- taking ---- */

/* Counts a frame. Called after all packets of the frame, so that each of its expert items has its
 * connection before smcr_collect_notices_end_frame() counts the items. */
static void
take_frame(smcr_collect_t *all, const packet_info *pinfo)
{
    unsigned layers = find_layers(all, pinfo);
    smcr_when_t when = smcr_capture_when(pinfo);
    uint64_t set_back = smcr_capture_clock_step(pinfo);

    count_frame(&all->capture, pinfo, when.time);
    count_unsorted(all, pinfo, when);
    if (set_back)
        smcr_collect_notices_count_step_back(all, SMCR_FIGURE_CLOCK_FILTER, when, set_back);
    if (all->keeps_frames && pinfo->fd->cap_len < pinfo->fd->pkt_len)
        smcr_collect_notices_count(all, "frame.cap_len < frame.len", when, 1);
    all->capture.roce_frames += (layers & ROCE) != 0;
    bool is_copy = smcr_points_is_copy(smcr_state_points(smcr_capture_state()), pinfo->num);
    all->capture.point_copies += (layers & ROCE) && is_copy;
    if (layers & ROCE && !is_copy)
        count_others(all, pinfo);
    if ((layers & (IP | TCP | ROCE)) == IP)
        count_ip(all, pinfo, layers & ICMP);
    else if (!(layers & (TCP | ROCE)))
        note_sender(all, pinfo, &(smcr_host_ip_packet_t){.version = 0});
    if (layers & MAC_CONTROL)
        count_pause(all, pinfo);
    smcr_collect_notices_end_frame(all, pinfo);
}

/* The first time is computed back from this frame, since the frames before are not read. */
void
smcr_collection_skip(smcr_collection_t *collection, const packet_info *pinfo)
{
    const nstime_t *since = &pinfo->rel_ts; /* time since the first frame of the file */

    begin(collection);
    collection->capture.frames = pinfo->num - 1;
    if (pinfo->fd->has_ts && pinfo->num > 1)
        collection->capture.first_time = smcr_capture_when(pinfo).time -
                                         (uint64_t)since->secs * SMCR_TIME_SECOND -
                                         (uint64_t)since->nsecs;
}

/* Whether the packet is an LLC message other than TEST LINK, of version 1 or 2. TEST LINK changes
 * neither links nor RMBs. */
static bool
is_llc_step(const smcr_tap_t *packet)
{
    return packet->llc && (packet->llc->type & (uint8_t)~SMCR_LLC_TYPE_V2) != SMCR_LLC_TEST_LINK;
}

/* Whether the frame is the first one of the packet's link. */
static bool
is_first_of_link(const smcr_tap_t *packet, uint32_t frame)
{
    const smcr_link_t *link = packet->record->link;

    return link && link->added_frame == frame;
}

/* Whether the report may need the time of the frame. The state keeps only the numbers of frames,
 * and the report looks up the times of four kinds: frames of messages outside RoCE, such as CLC;
 * frames of LLC messages other than TEST LINK; packets after a sequence gap; and the first frame of
 * each link. */
static bool
is_time_needed(const smcr_tap_t *packet, uint32_t frame)
{
    return !packet->roce || is_llc_step(packet) || is_first_of_link(packet, frame) ||
           packet->record->missing_before;
}

/* Whether only the packet's connection needs the time of the frame, so that it can be forgotten
 * with the connection. */
static bool
is_of_connection(const smcr_collect_t *all, const smcr_tap_t *packet, uint32_t frame)
{
    return all->lets_go && packet->clc && !is_first_of_link(packet, frame);
}

/* Passes a RoCE packet to the pictures of connections. If packets of its link are missing before
 * it, the pictures also get the begin of this gap: lines are not drawn through the gap. */
static void
draw_packet(smcr_collect_t *all, smcr_when_t when, const smcr_tap_t *packet)
{
    smcr_series_packet_t drawn = {when, packet->record, packet->roce, {0, 0}};

    if (packet->record->link && packet->record->missing_before)
        drawn.gap_begin = smcr_collect_connections_gap_begin(all, packet->record);
    smcr_series_take(all->series, &drawn);
}

/* Passes a packet of the tap `smcr` to the collectors in a fixed order: RDMA flows, connections,
 * link groups, expert items. A TCP segment makes at most the figures of its connection here, and of
 * a packet that belongs to no flow only the ICRC counts. */
static void
take_packet(smcr_collect_t *all, const packet_info *pinfo, const smcr_tap_t *packet)
{
    smcr_when_t when = smcr_capture_when(pinfo);

    smcr_collect_rdma_flows_count_stray_icrc(all, packet->unassigned_icrc);
    if (packet->segment && all->lets_go)
        smcr_collect_connections_take_segment(all, packet->segment->conn);
    if (packet->segment || packet->unassigned_icrc) /* segments are counted by the tap `tcp` */
        return;
    if (packet->roce)
        all->roce_frame = when.frame;
    if (smcr_collect_link_groups_has_gone(all, packet)) {
        all->late_packets++;
        return;
    }
    if (is_time_needed(packet, when.frame))
        wmem_array_append_one(is_of_connection(all, packet, when.frame) ? all->clc_times
                                                                        : all->times,
                              when);
    if (packet->roce) {
        read_header(all, pinfo);
        smcr_collect_rdma_flows_take(all, when, packet);
    }
    smcr_collect_connections_take(all, when, packet);
    if (all->series && packet->roce)
        draw_packet(all, when, packet);
    smcr_collect_link_groups_take(all, pinfo, packet);
    smcr_collect_notices_set_subject(all, packet);
    if (packet->first_pass)
        smcr_collect_notices_defer(all, pinfo, packet);
}

/* Returns the name of the interface that captured the frame; NULL: not known. The collection keeps
 * it for a connection that begins with this frame. Only a collection that lets go of what has ended
 * (`lets_go`) needs it. Equal names have one pointer (smcr_collect_text()). */
static const char *
interface_of(smcr_collect_t *all, const packet_info *pinfo)
{
    const char *name = (pinfo->rec->presence_flags & WTAP_HAS_INTERFACE_ID)
                           ? compat_interface_name(
                                 pinfo, pinfo->rec->rec_header.packet_header.interface_id)
                           : NULL;

    return name ? smcr_collect_text(all, name) : NULL;
}

/* The interface is noted before the packet is counted: a connection that begins with it gets its
 * name. */
void
smcr_collection_take(smcr_collection_t *collection, smcr_collection_tap_t tap, packet_info *pinfo,
                     const void *data)
{
    begin(collection);
    if (collection->lets_go)
        collection->interface = interface_of(collection, pinfo);
    if (tap == SMCR_COLLECTION_FRAME)
        take_frame(collection, pinfo);
    else if (tap == SMCR_COLLECTION_TCP)
        smcr_collect_tcp_flows_take(collection, pinfo, data);
    else if (tap == SMCR_COLLECTION_SMCR)
        take_packet(collection, pinfo, data);
    else
        smcr_collect_notices_take(collection, pinfo, data);
}

/* ---- reporting ---- */

/* Fills in the facts about the file, the versions and the preferences, and the counts of IP
 * packets. What was counted is copied, so the collection may go on counting. */
static void
fill_capture(smcr_entry_report_t *report, const smcr_collect_t *all, const char *filter)
{
    smcr_entry_capture_t *capture = &report->capture;

    *capture = all->capture;
    smcr_state_disorder_t disorder = smcr_state_disorder(smcr_capture_state());
    capture->disorder_frame = disorder.first;
    capture->disorder_most_s = disorder.first.frame ? disorder.most : SMCR_FIGURE_UNKNOWN;
    capture->filter = filter;
    capture->wireshark = epan_get_version();
    capture->plugin = SMCR_VERSION;
    capture->smcr_roce = smcr_figure_truth(smcr_preferences.roce);
    capture->check_icrc = smcr_figure_truth(smcr_preferences.check_icrc);
    if (smcr_preferences.link_speed)
        capture->link_speed = smcr_preferences.link_speed;
    report->ip = all->ip;
}

/* Returns the entry of all fallbacks with the same code, reason and deciding side; makes the entry
 * if there is none. There are few such entries, so a linear search is fast enough. */
static smcr_entry_fallback_t *
fallback_of(smcr_entry_report_t *report, const smcr_entry_conn_fallback_t *fallback,
            wmem_allocator_t *scope)
{
    SMCR_FIGURE_EACH(fallback, entry, report->fallbacks) {
        if (entry->code == fallback->code && entry->by == fallback->by &&
            g_strcmp0(entry->reason, fallback->reason) == 0)
            return entry;
    }
    smcr_entry_fallback_t *entry = SMCR_FIGURE_ADD(fallback, &report->fallbacks, scope);
    entry->code = fallback->code;
    entry->by = fallback->by;
    entry->reason = fallback->reason;
    return entry;
}

/* Fills in the version of connections whose Accept and Confirm do not show a version. Such a
 * connection gets the version of its link group, which LLC messages may show. */
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

/* Entries that are made of other entries come after those: UDP ports and adapters after the flows,
 * names of flows in pauses after flows and pauses. */
smcr_entry_report_t *
smcr_collection_report(smcr_collection_t *collection, const char *filter, wmem_allocator_t *scope)
{
    smcr_entry_report_t *report = wmem_new(scope, smcr_entry_report_t);

    begin(collection);
    smcr_entry_clear(report, &smcr_entry_report_description);
    report->schema = SCHEMA;
    fill_capture(report, collection, filter);
    smcr_collect_rdma_flows_report(collection, false, &report->rdma_flows, scope);
    smcr_collect_connections_report(collection, false, &report->connections, scope);
    /* a collection that lets go of connections serves -z smcr,lines, whose lines have no RMBs */
    smcr_collect_link_groups_report(
        collection, collection->lets_go ? SMCR_COLLECT_GROUPS : SMCR_COLLECT_GROUPS_WITH_RMBS,
        &report->link_groups, scope);
    fill_versions(report);
    SMCR_FIGURE_EACH(connection, entry, report->connections)
        if (entry->fallback)
            fallback_of(report, entry->fallback, scope)->count++;
    smcr_collect_notices_report_breaches(collection, &report->breaches, scope);
    if (!filter)
        report->other_roce = smcr_others_report(collection->others, scope);
    report->marked_share = smcr_classes_shares_report(collection->shares, scope);
    smcr_classes_ports(&report->rdma_flows, &report->udp_ports, scope);
    smcr_adapters_report(&report->rdma_flows, &report->adapters, scope);
    smcr_pauses_report(collection->pauses, &report->pauses, scope);
    smcr_pauses_name_flows(&report->pauses, &report->rdma_flows);
    smcr_ways_report(smcr_state_points(smcr_capture_state()), smcr_capture_interface_name,
                     &report->points, scope);
    if (collection->series)
        smcr_series_take_delays(collection->series, smcr_state_points(smcr_capture_state()));
    smcr_collect_tcp_flows_report(collection, false, &report->tcp_flows, scope);
    return report;
}

/* ---- letting go ---- */

/* What has ended is found before any entry is made: most calls find nothing. Only connections and
 * TCP flows are limited to what has ended. */
smcr_entry_report_t *
smcr_collection_report_ended(smcr_collection_t *collection,
                             const smcr_collection_patience_t *patience, bool even_if_none,
                             wmem_allocator_t *scope)
{
    smcr_entry_report_t *report = wmem_new(scope, smcr_entry_report_t);

    begin(collection);
    if (!smcr_collect_connections_find_over(collection, patience) && !even_if_none)
        return NULL;
    smcr_entry_clear(report, &smcr_entry_report_description);
    fill_capture(report, collection, NULL);
    smcr_collect_rdma_flows_report(collection, false, &report->rdma_flows, scope);
    smcr_collect_connections_report(collection, true, &report->connections, scope);
    smcr_collect_link_groups_report(collection, SMCR_COLLECT_GROUPS, &report->link_groups, scope);
    fill_versions(report);
    smcr_collect_tcp_flows_report(collection, true, &report->tcp_flows, scope);
    return report;
}

void
smcr_collection_let_go(smcr_collection_t *collection)
{
    smcr_collect_connections_let_go(collection);
}

smcr_entry_report_t *
smcr_collection_report_over(smcr_collection_t *collection,
                            const smcr_collection_patience_t *patience, wmem_allocator_t *scope)
{
    if (!smcr_collect_link_groups_find_over(collection, patience))
        return NULL;
    smcr_entry_report_t *report = wmem_new(scope, smcr_entry_report_t);
    smcr_entry_clear(report, &smcr_entry_report_description);
    fill_capture(report, collection, NULL);
    smcr_collect_rdma_flows_report(collection, true, &report->rdma_flows, scope);
    smcr_collect_link_groups_report(collection, SMCR_COLLECT_GROUPS_OVER, &report->link_groups,
                                    scope);
    return report;
}

void
smcr_collection_let_go_of_groups(smcr_collection_t *collection, bool may_go)
{
    smcr_collect_link_groups_let_go(collection, may_go);
}

bool
smcr_collection_is_finished(const smcr_collection_t *collection, const smcr_conn_t *conn)
{
    return smcr_collect_bits_has(collection->gone_conns, conn->index) &&
           !wmem_map_contains(collection->conns, conn) &&
           !wmem_map_contains(collection->given_up, conn);
}

uint64_t
smcr_collection_flow_number(const smcr_collection_t *collection, uint64_t index)
{
    return smcr_collect_rdma_flows_number(collection, index);
}

const smcr_collection_subject_t *
smcr_collection_subject(const smcr_collection_t *collection, uint32_t index)
{
    return wmem_array_index(collection->subjects, index);
}

bool
smcr_collection_tcp_client_is_up(const smcr_collection_t *collection, uint64_t tcp_stream)
{
    const smcr_collect_tcp_facts_t *tcp = smcr_collect_tcp_flows_facts(collection, tcp_stream);

    return !tcp || tcp->client_is_up;
}

uint64_t
smcr_collection_late_packets(const smcr_collection_t *collection)
{
    return collection->late_packets;
}

/* ---- notices ---- */

/* Returns the facts of the entry's TCP connection, if it was reset; else NULL. */
static const smcr_collect_tcp_facts_t *
reset_of(const smcr_collect_t *all, const smcr_entry_connection_t *entry)
{
    const smcr_collect_tcp_facts_t *tcp = smcr_collect_tcp_flows_facts(all, entry->tcp_stream);

    return tcp && tcp->reset.frame ? tcp : NULL;
}

/* Returns a notice of the TCP connections of SMC-R that were reset; count 0: none was. */
static smcr_figure_notice_t
resets(const smcr_collect_t *all, const smcr_entry_report_t *report, wmem_allocator_t *scope)
{
    smcr_figure_notice_t notice = {.filter = "tcp.flags.reset == 1"};
    wmem_array_t *occurrences = wmem_array_new(scope, sizeof(smcr_figure_occurrence_t));

    SMCR_FIGURE_EACH(connection, entry, report->connections) {
        const smcr_collect_tcp_facts_t *tcp = reset_of(all, entry);
        if (!tcp)
            continue;
        const smcr_figure_occurrence_t occurrence = {tcp->reset.frame, entry->stream,
                                                     entry->link_group, SMCR_FIGURE_UNKNOWN,
                                                     false};
        notice.first = smcr_figure_when_earlier(notice.first, tcp->reset);
        wmem_array_append_one(occurrences, occurrence);
    }
    notice.occurrences = wmem_array_get_raw(occurrences);
    notice.count = notice.occurrence_count = wmem_array_get_count(occurrences);
    notice.went_on = notice.count ? smcr_collect_connections_after_reset(all) : 0;
    return notice;
}

/* Appends the notices that are made here: of packets out of order, resets, and waits of TCP. */
const smcr_figure_notice_t *
smcr_collection_notices(const smcr_collection_t *collection, const smcr_entry_report_t *report,
                        wmem_allocator_t *scope, uint32_t *count)
{
    wmem_array_t *notices = smcr_collect_notices_all(collection, scope);
    smcr_figure_notice_t reset = resets(collection, report, scope);
    /* counted when the report is made: later packets may show that a packet was retransmitted, and
     * not out of order */
    smcr_figure_notice_t overtaken = {.filter = "smcr.out_of_order"};

    for (unsigned i = 0; i < wmem_array_get_count(collection->late_steps); i++) {
        smcr_record_t late = {.order = SMCR_FLOW_IS_LATE};
        late.step = *(smcr_step_back_t **)wmem_array_index(collection->late_steps, i);
        overtaken.count += smcr_record_is_out_of_order(&late);
    }
    if (overtaken.count)
        wmem_array_append_one(notices, overtaken);
    if (reset.count)
        wmem_array_append_one(notices, reset);
    const smcr_collect_tcp_wait_t *wait = &collection->tcp_wait;
    smcr_figure_notice_t waited = {.filter = SMCR_FIGURE_TCP_WAIT_FILTER, .count = 1,
                                   .first = wait->begin, .waited = wait->sum,
                                   .longest = wait->longest};
    if (wait->sum)
        wmem_array_append_one(notices, waited);
    *count = wmem_array_get_count(notices);
    return wmem_array_get_raw(notices);
}
