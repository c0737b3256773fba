/* Counts the TCP connections of a capture, by Wireshark's tcp.stream. The struct of Wireshark's tap
 * `tcp` has neither the IP header nor TCP's options, so both are searched in the bytes of the
 * frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "collectors.h"

#include "report/congestion/congestion.h"

#define SHORTEST 20 /* length of a TCP header without options, bytes */
#define PATTERN 14  /* length of the first part of a TCP header, from ports to flags, bytes; this
                       part identifies the header in a frame */

/* Kinds of TCP options that host/tcp_segment.h does not have (RFC 2018, 3) */
#define OPTION_SACK 5
#define OPTION_FAST_OPEN 34 /* Fast Open (RFC 7413, 4.1.1) */
#define NOPS 6 /* number of consecutive NOPs that show a removed SMC-R option: the option has 6
                  bytes, and no sender needs 6 NOPs */
/* length of a SACK block, bytes */
#define SACK_BLOCK 8

/* ---- a segment: finding its header ---- */

/* The first PATTERN bytes of a TCP header, in network byte order. */
typedef struct {
    uint16_t ports[2]; /* source and destination port */
    uint32_t seq, ack; /* sequence number and acknowledgement number */
    uint16_t flags; /* length of the header in units of 4 bytes (upper 4 bits), and flags */
} pattern_t;

/* Whether `bytes` has the pattern at `offset`. */
static bool
is_at(smcr_host_bytes_t bytes, uint32_t offset, const pattern_t *pattern)
{
    return offset <= bytes.length && bytes.length - offset >= PATTERN &&
           memcmp(&bytes.bytes[offset], pattern, PATTERN) == 0;
}

/* Finds the TCP header that begins with the pattern, stores its offset in `*offset`, and returns
 * true. Looks at offset `try` first, then at each byte. Returns false if `bytes` has no such
 * header. */
static bool
find_tcp_header(smcr_host_bytes_t bytes, uint32_t try, const pattern_t *pattern, uint32_t *offset)
{
    *offset = try;
    if (!bytes.bytes || is_at(bytes, try, pattern))
        return bytes.bytes != NULL;
    for (*offset = 0; *offset + PATTERN <= bytes.length; ++*offset)
        if (is_at(bytes, *offset, pattern))
            return true;
    return false;
}

/* Where the headers of a segment are. */
typedef struct {
    smcr_host_bytes_t bytes; /* the frame, or reassembled or decrypted bytes, in which the TCP
                                header was found; NULL: the header was not found */
    uint32_t tcp;            /* offset of the TCP header in `bytes` */
    /* the IP header was found, and `ip` is valid */
    bool has_ip;
    smcr_host_ip_packet_t ip; /* facts of the IP header; only valid if `has_ip` */
} headers_t;

/* Finds the IP header of the segment: at offset `try`, or before the TCP header. If Wireshark has
 * reassembled IP fragments, the reassembled bytes do not have the IP header, so it is searched in
 * the frame. */
static void
find_ip(headers_t *headers, smcr_host_bytes_t frame, const struct tcpheader *tcp, uint32_t try)
{
    const address *src = &tcp->ip_src, *dst = &tcp->ip_dst;

    headers->has_ip =
        (try < headers->tcp &&
         smcr_host_ip_packet_at(headers->bytes, try, src, dst, &headers->ip)) ||
        smcr_host_ip_packet_before(headers->bytes, headers->tcp, src, dst, &headers->ip) ||
        smcr_host_ip_packet_first(frame, src, dst, &headers->ip);
}

/* Offsets of the headers in the last segment. The next segment most likely has its headers at the
 * same offsets. Zeros: no segment yet. */
typedef struct {
    uint32_t ip, tcp; /* offset of the IP header and of the TCP header, bytes */
} offsets_t;

/* Finds the headers of a segment: in the frame, or in bytes that Wireshark has reassembled or
 * decrypted from the frame. Updates `offsets`. */
static headers_t
find_headers(const packet_info *pinfo, const struct tcpheader *tcp, offsets_t *offsets)
{
    uint16_t flags = (uint16_t)(tcp->th_hlen / 4 << 12 | (tcp->th_flags & 0xfff));
    pattern_t pattern = {{g_htons(tcp->th_sport), g_htons(tcp->th_dport)},
                         g_htonl(tcp->th_rawseq), g_htonl(tcp->th_rawack), g_htons(flags)};
    headers_t headers = {.bytes = {NULL, 0}};

    for (const GSList *source = pinfo->data_src; source; source = source->next) {
        smcr_host_bytes_t bytes = smcr_host_bytes_of(get_data_source_tvb(source->data));

        if (!find_tcp_header(bytes, offsets->tcp, &pattern, &headers.tcp))
            continue;
        headers.bytes = bytes;
        find_ip(&headers, smcr_host_bytes_of_frame(pinfo), tcp, offsets->ip);
        *offsets = (offsets_t){headers.ip.offset, headers.tcp};
        break;
    }
    return headers;
}

/* ---- a segment: reading it ---- */

/* Reads one TCP option of `length` bytes: Fast Open, SACK blocks, or time stamps. Other options are
 * ignored. */
static void
read_option(smcr_congestion_tcp_segment_t *segment, const uint8_t *option, unsigned length)
{
    if (option[0] == OPTION_FAST_OPEN)
        segment->sign = MAX(segment->sign, SMCR_FIGURE_SIGN_FAST_OPEN);
    if (option[0] == OPTION_SACK) {
        for (unsigned at = 2;
             at + SACK_BLOCK <= length && segment->sacks < SMCR_CONGESTION_TCP_SACKS;
             at += SACK_BLOCK) {
            segment->sack[segment->sacks].left = smcr_wire_number32(option + at);
            segment->sack[segment->sacks].right = smcr_wire_number32(option + at + 4);
            segment->sacks++;
        }
    } else if (option[0] == SMCR_HOST_TCP_OPTION_TIMESTAMPS &&
               length == SMCR_HOST_TCP_TIMESTAMPS_LENGTH) {
        segment->timestamps = true;
        segment->tsval = smcr_wire_number32(option + 2);
        segment->tsecr = smcr_wire_number32(option + 6);
    }
}

/* Reads `length` bytes of captured options, up to the first malformed option. NOPS NOPs in a row
 * are a sign that a middlebox has replaced the SMC-R option. */
static void
read_options(smcr_congestion_tcp_segment_t *segment, const uint8_t *options, unsigned length)
{
    unsigned nops = 0;

    while (length && options[0] != SMCR_HOST_TCP_OPTION_END) {
        unsigned step = smcr_host_tcp_option_length(options, length);

        if (!step)
            return;
        nops = options[0] == SMCR_HOST_TCP_OPTION_NOP ? nops + 1 : 0;
        if (nops == NOPS)
            segment->sign = SMCR_FIGURE_SIGN_NOPS;
        if (step > 1)
            read_option(segment, options, step);
        options += step;
        length -= step;
    }
}

/* Returns the length of an IP header without options or extension headers, bytes; 0: the address is
 * neither IPv4 nor IPv6. */
static uint32_t
ip_header_length(const address *addr)
{
    if (addr->type == AT_IPv6)
        return 40;
    return addr->type == AT_IPv4 ? 20 : 0;
}

/* Returns the total length of the IP packet, bytes. If the IP header does not have the length,
 * returns the sum of the known parts: IP header, TCP header, data. */
static uint32_t
ip_bytes(const headers_t *headers, const struct tcpheader *tcp, uint32_t length)
{
    uint32_t segment = tcp->th_hlen + length;

    if (headers->has_ip && headers->ip.total_length)
        return headers->ip.total_length;
    if (headers->has_ip && headers->ip.offset < headers->tcp)
        return headers->tcp - headers->ip.offset + segment;
    return segment + ip_header_length(&tcp->ip_src);
}

/* Returns the segment as a struct, from the tap `tcp` and from the bytes of the frame. Updates
 * `offsets`. If the headers are not found, for example truncated by snaplen, the struct has no time
 * stamps and no SACK blocks, and `no_ecn` is set. The length of the IP packet is then the sum of
 * its known parts. */
static smcr_congestion_tcp_segment_t
segment_of(const packet_info *pinfo, const struct tcpheader *tcp, offsets_t *offsets)
{
    headers_t headers = find_headers(pinfo, tcp, offsets);
    uint32_t length = tcp->th_have_seglen ? tcp->th_seglen : 0;
    smcr_congestion_tcp_segment_t segment = {
        .time = smcr_capture_when(pinfo).time,
        .place = smcr_capture_interface(pinfo) << 16 ^ smcr_capture_device(pinfo),
        .seq = tcp->th_rawseq,
        .ack = tcp->th_rawack,
        .length = length,
        .ip_bytes = ip_bytes(&headers, tcp, length),
        .ip_id = headers.has_ip ? headers.ip.id : -1,
        .flags = tcp->th_flags,
        .ecn = headers.has_ip ? headers.ip.traffic_class & SMCR_MASK_ECN : 0,
        .no_length = !tcp->th_have_seglen,
        .no_ecn = !headers.has_ip,
        .ace = tcp->th_use_ace,
    };

    if (headers.bytes.bytes && tcp->th_hlen > SHORTEST) {
        uint32_t options = headers.tcp + SHORTEST, end = headers.tcp + tcp->th_hlen;
        end = MIN(end, headers.bytes.length);
        if (options < end)
            read_options(&segment, &headers.bytes.bytes[options], end - options);
    }
    return segment;
}

/* ---- what an application answers ---- */

/* Writes what the first bytes of a segment's data are into `answer`: "HTTP 400", "a TLS alert"; ""
 * if the bytes are not those of a known protocol. If no byte is captured, `answer` stays as it
 * is. */
static void
name_answer(const packet_info *pinfo, const struct tcpheader *tcp, char *answer)
{
    offsets_t offsets = {0, 0};
    headers_t headers = find_headers(pinfo, tcp, &offsets);
    uint32_t begin = headers.tcp + tcp->th_hlen;

    if (headers.bytes.bytes && headers.bytes.length > begin)
        smcr_application_name_answer(&headers.bytes.bytes[begin], headers.bytes.length - begin,
                                     answer);
}

/* ---- flows ---- */

enum { UP, DOWN };       /* directions of a connection: that of the first captured segment, and the
                            other one */
enum { CLIENT, SERVER }; /* ends of a connection */

/* A TCP connection, as it is kept while packets come. */
typedef struct {
    smcr_collect_tcp_facts_t facts; /* first member: smcr_collect_tcp_flows_facts() returns its
                                       address */
    smcr_collect_heard_t *heard[2]; /* last packets from the sender of each direction to its
                                       receiver; index: UP, DOWN */
    const char *host[2]; /* IP address of the sender of each direction (smcr_collect_host()); index:
                            UP, DOWN */
    uint16_t port[2]; /* TCP port of the sender of each direction; index: UP, DOWN */
    uint32_t stream;  /* Wireshark's tcp.stream */
    wmem_allocator_t *scope; /* memory pool that owns everything of the connection */
    /* whether a SYN asks for ECN, and whether a SYN-ACK agrees */
    smcr_figure_maybe_t ecn_initiated, ecn_accepted;
    offsets_t offsets[2]; /* offsets of the headers in the last segment of each direction; index:
                             UP, DOWN */
    smcr_packed_object_t kept; /* figures of both directions, packed while no segment is taken */
    smcr_congestion_tcp_direction_t *direction; /* the same, open: an array of two, index: UP, DOWN;
                                                   valid while a segment is taken */
} tcp_conn_t;

void
smcr_collect_tcp_flows_begin(smcr_collect_t *collection)
{
    collection->open_tcp.size = 2 * sizeof(smcr_congestion_tcp_direction_t);
}

/* ---- flows: finding ---- */

/* Returns a new connection. `tcp` is the first segment. The sender of this segment counts as client
 * until a SYN or SYN-ACK shows which end is the client. */
static tcp_conn_t *
new_flow(smcr_collect_t *collection, const struct tcpheader *tcp, smcr_when_t when)
{
    wmem_allocator_t *scope = smcr_collect_pool(collection);
    tcp_conn_t *flow = wmem_new0(scope, tcp_conn_t);
    uint8_t src[SMCR_GID_LENGTH], dst[SMCR_GID_LENGTH];

    smcr_endpoint_gid(&tcp->ip_src, src);
    smcr_endpoint_gid(&tcp->ip_dst, dst);
    flow->heard[UP] = smcr_collect_heard_of(collection, src, dst);
    flow->heard[DOWN] = smcr_collect_heard_of(collection, dst, src);
    flow->host[UP] = smcr_collect_host(collection, &tcp->ip_src);
    flow->host[DOWN] = smcr_collect_host(collection, &tcp->ip_dst);
    flow->scope = scope;
    flow->stream = tcp->th_stream;
    flow->port[UP] = tcp->th_sport;
    flow->port[DOWN] = tcp->th_dport;
    flow->facts.first = when;
    flow->facts.client_is_up = true;
    flow->facts.up_port = tcp->th_sport;
    flow->facts.isn[CLIENT] = flow->facts.isn[SERVER] = SMCR_FIGURE_UNKNOWN;
    return flow;
}

/* Returns the connection with the segment's tcp.stream. If there is none, makes it. */
static tcp_conn_t *
get_flow(smcr_collect_t *collection, const struct tcpheader *tcp, smcr_when_t when)
{
    const void *key = GUINT_TO_POINTER(tcp->th_stream);
    tcp_conn_t *flow = wmem_map_lookup(collection->tcp, key);

    if (!flow) {
        flow = new_flow(collection, tcp, when);
        wmem_map_insert(collection->tcp, key, flow);
    }
    return flow;
}

/* ---- flows: facts ---- */

/* Returns which end sends a direction: CLIENT or SERVER. The result may change when a SYN or
 * SYN-ACK shows which end is the client. */
static unsigned
end_of(const smcr_collect_tcp_facts_t *facts, unsigned direction)
{
    return (direction == UP) == facts->client_is_up ? CLIENT : SERVER;
}

/* Notes that the client sends `direction`. When the first SYN or SYN-ACK shows this, the times of
 * earlier FINs are swapped if they were noted for the wrong ends. */
static void
set_client(smcr_collect_tcp_facts_t *facts, unsigned direction)
{
    if (!facts->client_known && direction != UP) {
        smcr_when_t fin = facts->fin[CLIENT];
        facts->fin[CLIENT] = facts->fin[SERVER];
        facts->fin[SERVER] = fin;
        facts->client_is_up = false;
    }
    facts->client_known = true;
}

/* Takes a SYN-ACK. A SYN-ACK with ECE and without CWR agrees on ECN (RFC 3168, 6.1.1). If an
 * acknowledgement of the client was captured before the first SYN-ACK, the capture is out of
 * order. */
static void
take_syn_ack(tcp_conn_t *flow, unsigned direction, uint16_t flags)
{
    smcr_collect_tcp_facts_t *facts = &flow->facts;
    bool accepts_ecn = (flags & SMCR_CONGESTION_TCP_ECE) && !(flags & SMCR_CONGESTION_TCP_CWR);
    bool is_first = facts->isn[SERVER] == SMCR_FIGURE_UNKNOWN;

    set_client(facts, direction == UP ? DOWN : UP);
    facts->is_disordered |= is_first && flow->direction[!direction].counts.acks;
    flow->ecn_accepted = MAX(flow->ecn_accepted, smcr_figure_truth(accepts_ecn));
}

/* Takes a SYN without ACK. A SYN with ECE and CWR asks for ECN (RFC 3168, 6.1.1). */
static void
take_client_syn(tcp_conn_t *flow, unsigned direction, uint16_t flags, smcr_when_t when)
{
    smcr_collect_tcp_facts_t *facts = &flow->facts;
    bool asks_for_ecn = (flags & SMCR_CONGESTION_TCP_ECE) && (flags & SMCR_CONGESTION_TCP_CWR);

    set_client(facts, direction);
    flow->ecn_initiated = MAX(flow->ecn_initiated, smcr_figure_truth(asks_for_ecn));
    if (!facts->syn.frame)
        facts->syn = when;
    facts->syns++;
}

/* Takes a segment with SYN. The segment shows which end is the client, the initial sequence number
 * of its sender, and the sender's options. A sign lasts: the same segment at another capture point,
 * before a firewall has changed it, does not have the sign. */
static void
take_syn(tcp_conn_t *flow, unsigned direction, const smcr_congestion_tcp_segment_t *segment,
         smcr_when_t when)
{
    smcr_collect_tcp_facts_t *facts = &flow->facts;
    bool is_syn_ack = segment->flags & SMCR_CONGESTION_TCP_ACK;

    if (is_syn_ack)
        take_syn_ack(flow, direction, segment->flags);
    else
        take_client_syn(flow, direction, segment->flags, when);
    if (facts->isn[end_of(facts, direction)] == SMCR_FIGURE_UNKNOWN)
        facts->isn[end_of(facts, direction)] = segment->seq;
    if (segment->sign)
        facts->syn_sign[is_syn_ack] = segment->sign;
}

/* Notes the first RST of a connection, and the first FIN of each end. Who sent the RST is noted
 * only if it is known which end is the client. */
static void
take_end(smcr_collect_tcp_facts_t *facts, unsigned end, uint16_t flags, smcr_when_t when)
{
    if (flags & SMCR_CONGESTION_TCP_RST && !facts->reset.frame) {
        facts->reset = when;
        if (facts->client_known)
            facts->reset_by = smcr_figure_role(end == SERVER);
    }
    if (flags & SMCR_CONGESTION_TCP_FIN && !facts->fin[end].frame)
        facts->fin[end] = when;
}

/* Adds the pause of the sender before a retransmission to the waits of the connection. Data that is
 * acknowledged is not waited for: a keepalive may repeat it. */
static void
take_wait(smcr_collect_tcp_wait_t *wait, const smcr_collect_newest_data_t *newest, smcr_when_t when)
{
    uint64_t pause = smcr_figure_or_zero(smcr_figure_time_between(newest->before, when));

    if (newest->is_acked)
        return;
    wait->sum += pause;
    if (pause <= wait->longest)
        return;
    wait->longest = pause;
    wait->begin = newest->before;
}

/* Takes a segment with data: keeps the newest one of its direction, and counts its transmissions.
 * `is_repeated`: the segment is a retransmission. A duplicate made by the network is none. */
static void
take_data(tcp_conn_t *flow, unsigned direction, const smcr_congestion_tcp_segment_t *segment,
          smcr_when_t when, bool is_repeated)
{
    smcr_collect_newest_data_t *newest = &flow->facts.newest[direction];
    bool is_newer = !newest->end || (int32_t)(segment->seq - newest->seq) > 0;

    if (is_repeated)
        take_wait(&flow->facts.wait, newest, when);
    if (is_newer && !is_repeated) {
        bool has_fin = segment->flags & SMCR_CONGESTION_TCP_FIN;
        *newest = (smcr_collect_newest_data_t){.seq = segment->seq, .sent = 1, .last = when};
        newest->end = flow->direction[direction].next_seq - has_fin;
    } else if (segment->seq == newest->seq && is_repeated) {
        newest->sent++;
        newest->last = when;
    }
    newest->before = when;
}

/* Updates for both directions whether the newest data segment is acknowledged. Called for each
 * segment of either direction. */
static void
note_acknowledged(tcp_conn_t *flow)
{
    for (unsigned way = UP; way <= DOWN; way++) {
        smcr_collect_newest_data_t *newest = &flow->facts.newest[way];
        newest->is_acked = newest->end && flow->direction[way].acked >= newest->end;
    }
}

/* Updates the facts of a connection with a segment. A SYN without ACK does not show that the server
 * has answered (`is_connected`), nor does an RST of the server. Every other segment does. An RST of
 * the client counts, since it may be the reaction to a SYN-ACK that was not captured.
 * `is_at_other_point`: the segment is a duplicate of an earlier one at another capture point, which
 * may have another clock. */
static void
take_facts(tcp_conn_t *flow, unsigned direction, const smcr_congestion_tcp_segment_t *segment,
           smcr_when_t when, bool is_at_other_point)
{
    smcr_collect_tcp_facts_t *facts = &flow->facts;
    uint32_t frame_before = facts->last.frame;
    bool missed_bytes = facts->may_lack_bytes;

    facts->last = is_at_other_point ? facts->last : when;
    facts->may_lack_end = smcr_congestion_tcp_direction_may_lack_end(&flow->direction[UP]) ||
                       smcr_congestion_tcp_direction_may_lack_end(&flow->direction[DOWN]);
    for (unsigned way = UP; way <= DOWN; way++)
        facts->may_lack_bytes_of[way] =
            smcr_congestion_tcp_direction_may_lack_bytes(&flow->direction[way]);
    facts->may_lack_bytes = facts->may_lack_bytes_of[UP] || facts->may_lack_bytes_of[DOWN];
    if (facts->may_lack_bytes && !missed_bytes)
        facts->bytes_missing_since = frame_before;
    facts->payload[direction] = flow->direction[direction].payload;
    note_acknowledged(flow);
    if (segment->flags & SMCR_CONGESTION_TCP_RST) {
        take_end(facts, end_of(facts, direction), segment->flags, when);
        facts->is_connected |= end_of(facts, direction) == CLIENT; /* the client may have received a
                                                                      SYN-ACK */
        return;
    }
    facts->is_connected |= (segment->flags & (SMCR_CONGESTION_TCP_SYN | SMCR_CONGESTION_TCP_ACK)) !=
                           SMCR_CONGESTION_TCP_SYN;
    if (segment->flags & SMCR_CONGESTION_TCP_SYN)
        take_syn(flow, direction, segment, when);
    take_end(facts, end_of(facts, direction), segment->flags, when);
}

/* Whether the segment does not count: it was captured a second time after a translation of its
 * addresses (NAT), or its options are truncated by snaplen. Wireshark 4.0 does not pass such a
 * truncated segment to the tap, and the report is to be the same with all versions. A damaged
 * segment does not count either, since its receiver discards it; but a client waits from its first
 * SYN on. */
static bool
does_not_count(const packet_info *pinfo, const struct tcpheader *tcp)
{
    bool is_truncated =
        tcp->th_have_seglen && pinfo->fd->cap_len + tcp->th_seglen < pinfo->fd->pkt_len;

    bool is_discarded = smcr_host_tcp_is_damaged(pinfo) && !(tcp->th_flags & TH_SYN);

    return is_truncated || is_discarded || smcr_translation_is_copy(tcp->th_stream);
}

/* Returns the direction of the segment, UP or DOWN. The source port shows it, unless both ends have
 * the same port; then the source address does. */
static unsigned
direction_of(const smcr_collect_t *collection, const tcp_conn_t *flow, const struct tcpheader *tcp)
{
    bool has_two_ports = flow->port[UP] != flow->port[DOWN];
    bool is_up = has_two_ports ? tcp->th_sport == flow->port[UP]
                               : smcr_collect_host(collection, &tcp->ip_src) == flow->host[UP];

    return is_up ? UP : DOWN;
}

/* Counts what the segment has added to the direction as notices. `before`: counts of the direction
 * before the segment. */
static void
count_notices(smcr_collect_t *collection, const smcr_entry_tcp_direction_t *counts,
              const smcr_entry_tcp_direction_t *before, smcr_when_t when)
{
    if (counts->ce > before->ce)
        smcr_collect_notices_count(collection, "ip.dsfield.ecn == 3 && tcp", when, 1);
    if (counts->ece > before->ece)
        smcr_collect_notices_count(collection, "tcp.flags.ece == 1", when, 1);
    if (counts->repeated_segments > before->repeated_segments)
        smcr_collect_notices_count(collection, "tcp.analysis.retransmission", when, 1);
}

/* Whether the connection has been reset before, and the segment is another RST. The duplicate of an
 * RST at another capture point does not count among `copies`, so it is found this way. */
static bool
is_second_reset(const tcp_conn_t *flow, const smcr_congestion_tcp_segment_t *segment)
{
    return segment->flags & SMCR_CONGESTION_TCP_RST && flow->facts.reset.frame;
}

/* `before` has the counts before the segment: what the segment has added makes the notices. A
 * segment of a connection that is gone counts in `late_packets` only. */
void
smcr_collect_tcp_flows_take(smcr_collect_t *collection, const packet_info *pinfo,
                            const struct tcpheader *tcp)
{
    if (does_not_count(pinfo, tcp))
        return;
    if (smcr_collect_bits_has(collection->gone_streams, tcp->th_stream)) {
        collection->late_packets++;
        return;
    }
    smcr_when_t when = smcr_capture_when(pinfo);
    tcp_conn_t *flow = get_flow(collection, tcp, when);
    unsigned direction = direction_of(collection, flow, tcp);
    flow->direction =
        smcr_packed_open(&collection->open_tcp, collection->scope, &flow->kept, flow->scope);
    const smcr_entry_tcp_direction_t *counts = &flow->direction[direction].counts;
    const smcr_entry_tcp_direction_t before = *counts;
    smcr_congestion_tcp_segment_t segment = segment_of(pinfo, tcp, &flow->offsets[direction]);

    smcr_congestion_tcp_direction_take(&flow->direction[direction], &flow->direction[!direction],
                                       flow->scope, &segment);
    count_notices(collection, counts, &before, when);
    if (segment.length && !flow->facts.newest[direction].end)
        name_answer(pinfo, tcp, flow->facts.answer[direction]);
    if (segment.length)
        take_data(flow, direction, &segment, when,
                  counts->repeated_segments > before.repeated_segments);
    take_facts(flow, direction, &segment, when,
               smcr_state_points(smcr_capture_state()) &&
                   (counts->copies > before.copies || is_second_reset(flow, &segment)));
    if (flow->facts.wait.sum > collection->tcp_wait.sum)
        collection->tcp_wait = flow->facts.wait;
    if (!(segment.flags & SMCR_CONGESTION_TCP_RST))
        flow->heard[direction]->tcp = *flow->heard[direction]->host = when;
}

/* ---- flows: reporting ---- */

const smcr_collect_tcp_facts_t *
smcr_collect_tcp_flows_facts(const smcr_collect_t *collection, uint64_t tcp_stream)
{
    return tcp_stream == SMCR_FIGURE_UNKNOWN
               ? NULL
               : wmem_map_lookup(collection->tcp, GUINT_TO_POINTER((unsigned)tcp_stream));
}

SMCR_FIGURE_ORDER(by_stream, tcp_conn_t *const, flow, (*flow)->stream)

wmem_array_t *
smcr_collect_tcp_flows_all(const smcr_collect_t *collection, wmem_allocator_t *scope)
{
    return smcr_figure_values(collection->tcp, by_stream, scope);
}

/* Without a captured SYN, the first bytes of the connection are missing. */
smcr_collect_gap_t
smcr_collect_tcp_flows_gap(const smcr_collect_tcp_facts_t *tcp)
{
    if (!tcp->may_lack_bytes || !tcp->is_connected)
        return (smcr_collect_gap_t){0, 0};
    return tcp->syn.frame ? (smcr_collect_gap_t){tcp->bytes_missing_since, tcp->last.frame}
                          : (smcr_collect_gap_t){0, tcp->first.frame};
}

/* Makes the entry of a connection. `source`: its tcp_conn_t, which does not change: the directions
 * are copied, since segments may still come. */
static void
make_entry(const smcr_figure_maker_t *maker, void *made, const void *source)
{
    const tcp_conn_t *flow = source;
    smcr_entry_tcp_t *entry = made;
    smcr_congestion_tcp_direction_t direction[2];

    smcr_packed_copy(maker->context, &flow->kept, direction);
    entry->tcp_stream = flow->stream;
    entry->tcp_isn.client = flow->facts.isn[CLIENT];
    entry->tcp_isn.server = flow->facts.isn[SERVER];
    entry->src = flow->host[UP];
    entry->dst = flow->host[DOWN];
    entry->src_port = flow->port[UP];
    entry->dst_port = flow->port[DOWN];
    entry->first_time = flow->facts.first.time;
    entry->last_frame = flow->facts.last;
    entry->ecn_initiated = flow->ecn_initiated;
    entry->ecn_accepted = flow->ecn_accepted;
    smcr_congestion_tcp_direction_report(&direction[UP], &entry->up, maker->scope);
    smcr_congestion_tcp_direction_report(&direction[DOWN], &entry->down, maker->scope);
}

/* Each element of the list is a tcp_conn_t until the list's maker makes an entry of it
 * (make_entry()). */
void
smcr_collect_tcp_flows_report(const smcr_collect_t *collection, bool only_over,
                              smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    wmem_array_t *all = smcr_collect_tcp_flows_all(collection, scope);
    unsigned count = wmem_array_get_count(all);

    list->maker = smcr_figure_maker_new(scope, &smcr_entry_tcp_description, make_entry,
                                        &collection->open_tcp);
    list->entries = wmem_alloc_array(scope, void *, count + 1);
    for (unsigned i = 0; i < count; i++) {
        tcp_conn_t *flow = *(tcp_conn_t **)wmem_array_index(all, i);
        if (flow->facts.is_over || !only_over)
            list->entries[list->length++] = flow;
    }
}

/* ---- flows: letting go ---- */

void
smcr_collect_tcp_flows_own(const smcr_collect_t *collection, uint32_t tcp_stream, bool is_over)
{
    tcp_conn_t *flow = wmem_map_lookup(collection->tcp, GUINT_TO_POINTER(tcp_stream));

    flow->facts.is_owned = true;
    flow->facts.is_over = is_over;
}

/* Lets go of a connection: keeps its gap, and its number if TCP has closed it, so that later
 * segments are not taken for a new connection. */
static void
let_go(smcr_collect_t *collection, tcp_conn_t *flow)
{
    smcr_collect_gap_t gap = smcr_collect_tcp_flows_gap(&flow->facts);

    if (gap.until)
        smcr_collect_gaps_add(&collection->roce_gaps, gap);
    if (smcr_collect_tcp_flows_has_closed(&flow->facts))
        smcr_collect_bits_set(collection->gone_streams, flow->stream);
    wmem_map_remove(collection->tcp, GUINT_TO_POINTER(flow->stream));
    smcr_packed_forget(&collection->open_tcp, &flow->kept);
    smcr_collect_pool_free(collection, flow->scope);
}

/* The gap of a connection stays, and its number if TCP has closed it (let_go()). */
void
smcr_collect_tcp_flows_let_go(smcr_collect_t *collection)
{
    wmem_array_t *all = smcr_collect_tcp_flows_all(collection, NULL);

    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        tcp_conn_t *flow = *(tcp_conn_t **)wmem_array_index(all, i);
        if (flow->facts.is_over)
            let_go(collection, flow);
    }
    wmem_destroy_array(all);
}

/* Frees a connection. Called for each entry of a map. */
static void
free_flow(void *key _U_, void *flow, void *collection)
{
    smcr_collect_pool_free(collection, ((tcp_conn_t *)flow)->scope);
}

void
smcr_collect_tcp_flows_free(smcr_collect_t *collection)
{
    wmem_map_foreach(collection->tcp, free_flow, collection);
}
