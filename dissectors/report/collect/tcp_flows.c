/* Keeps the TCP connections of a capture by Wireshark's number of the stream. Wireshark's tap `tcp`
 * has neither the IP header nor the time stamps: they are read where they stand in the frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "collectors.h"

#include "report/congestion/congestion.h"

#define SHORTEST 20 /* bytes of a header without options */
#define PATTERN 14  /* bytes of ports, sequence number, acknowledgement, length and flags */

/* Options (RFC 9293, 3.1; RFC 7323, 3.2; RFC 2018, 3) */
#define OPTION_END 0
#define OPTION_NOP 1
#define OPTION_SACK 5
#define OPTION_TIMESTAMPS 8
#define OPTION_FAST_OPEN 34 /* RFC 7413, 4.1.1 */
#define TIMESTAMPS_LENGTH 10
#define NOPS 6 /* in a row, which no sender needs: bytes of our option */
#define SACK_BLOCK 8

static uint32_t
number32(const uint8_t *bytes)
{
    return (uint32_t)smcr_wire_number(bytes, 4);
}

/* ---- a segment: finding its header ---- */

/* What a TCP header begins with, as on the wire. */
typedef struct {
    uint16_t ports[2];
    uint32_t seq, ack;
    uint16_t flags; /* with the header's length before */
} pattern_t;

static bool
is_at(smcr_host_bytes_t bytes, uint32_t offset, const pattern_t *pattern)
{
    return offset <= bytes.length && bytes.length - offset >= PATTERN &&
           memcmp(&bytes.bytes[offset], pattern, PATTERN) == 0;
}

/* Returns whether `offset` has been found; `try` is looked at first. */
static bool
find(smcr_host_bytes_t bytes, uint32_t try, const pattern_t *pattern, uint32_t *offset)
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
    smcr_host_bytes_t bytes; /* that have the TCP header; none: it has not been found */
    uint32_t tcp;            /* offset in them */
    bool has_ip;
    smcr_host_ip_packet_t ip;
} headers_t;

/* The IP header is before TCP's; where fragments have been put together, in the frame itself. */
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

/* Offsets in the frame of the headers of a flow's last segment, to try them first; zeros: none. */
typedef struct {
    uint32_t ip, tcp;
} offsets_t;

/* Looks through the frame, then through what has been put together or decrypted. */
static headers_t
find_headers(const packet_info *pinfo, const struct tcpheader *tcp, offsets_t *offsets)
{
    uint16_t flags = (uint16_t)(tcp->th_hlen / 4 << 12 | (tcp->th_flags & 0xfff));
    pattern_t pattern = {{g_htons(tcp->th_sport), g_htons(tcp->th_dport)},
                         g_htonl(tcp->th_rawseq), g_htonl(tcp->th_rawack), g_htons(flags)};
    smcr_host_bytes_t frame = {NULL, 0};
    headers_t headers = {.bytes = {NULL, 0}};

    for (const GSList *source = pinfo->data_src; source; source = source->next) {
        smcr_host_bytes_t bytes = smcr_host_bytes_of(get_data_source_tvb(source->data));

        if (source == pinfo->data_src)
            frame = bytes;
        if (!find(bytes, offsets->tcp, &pattern, &headers.tcp))
            continue;
        headers.bytes = bytes;
        find_ip(&headers, frame, tcp, offsets->ip);
        *offsets = (offsets_t){headers.ip.offset, headers.tcp};
        break;
    }
    return headers;
}

/* ---- a segment: reading it ---- */

static void
read_option(smcr_congestion_tcp_segment_t *segment, const uint8_t *option, unsigned length)
{
    if (option[0] == OPTION_FAST_OPEN)
        segment->sign = MAX(segment->sign, SMCR_FIGURE_SIGN_FAST_OPEN);
    if (option[0] == OPTION_SACK) {
        for (unsigned at = 2;
             at + SACK_BLOCK <= length && segment->sacks < SMCR_CONGESTION_TCP_SACKS;
             at += SACK_BLOCK) {
            segment->sack[segment->sacks].left = number32(option + at);
            segment->sack[segment->sacks].right = number32(option + at + 4);
            segment->sacks++;
        }
    } else if (option[0] == OPTION_TIMESTAMPS && length == TIMESTAMPS_LENGTH) {
        segment->timestamps = true;
        segment->tsval = number32(option + 2);
        segment->tsecr = number32(option + 6);
    }
}

/* Length of the first option, bytes (RFC 9293, 3.1): a NOP has no length field, all others have at
 * least a kind and a length. 0: the option is broken, or cut. */
static unsigned
option_length(const uint8_t *options, unsigned length)
{
    if (options[0] == OPTION_NOP)
        return 1;
    if (length <= 1 || options[1] < 2 || options[1] > length)
        return 0;
    return options[1];
}

/* Reads `length` bytes of captured options; a broken option ends them. */
static void
read_options(smcr_congestion_tcp_segment_t *segment, const uint8_t *options, unsigned length)
{
    unsigned nops = 0;

    while (length && options[0] != OPTION_END) {
        unsigned step = option_length(options, length);

        if (!step)
            return;
        nops = options[0] == OPTION_NOP ? nops + 1 : 0;
        if (nops == NOPS)
            segment->sign = SMCR_FIGURE_SIGN_NOPS;
        if (step > 1)
            read_option(segment, options, step);
        options += step;
        length -= step;
    }
}

/* Length of an IP header without options or extension headers, bytes; 0: another protocol. */
static uint32_t
ip_header_length(const address *addr)
{
    if (addr->type == AT_IPv6)
        return 40;
    return addr->type == AT_IPv4 ? 20 : 0;
}

/* Total length of the IP packet, bytes: that of its header, else the sum of the known parts. */
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

/* What the tap hands over, and what the frame's bytes tell besides; `offsets` are brought up to
 * date. Where the headers are not found (they are cut off, say), there are no time stamps and
 * no SACK blocks, `no_ecn` is set, and the length of the IP packet is made of its parts. */
static smcr_congestion_tcp_segment_t
segment_of(const packet_info *pinfo, const struct tcpheader *tcp, offsets_t *offsets)
{
    headers_t headers = find_headers(pinfo, tcp, offsets);
    uint32_t length = tcp->th_have_seglen ? tcp->th_seglen : 0;
    smcr_congestion_tcp_segment_t segment = {
        .time = smcr_capture_when(pinfo).time,
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

/* ---- flows ---- */

enum { UP, DOWN };       /* directions */
enum { CLIENT, SERVER }; /* ends */

typedef struct {
    smcr_collect_tcp_facts_t facts; /* the first member: others have its address */
    address end[2]; /* who sends up and down */
    uint16_t port[2];
    smcr_figure_maybe_t ecn_initiated, ecn_accepted;
    offsets_t offsets[2];
    smcr_congestion_tcp_direction_t direction[2];
} tcp_conn_t;

/* ---- flows: finding ---- */

/* A connection whose first segment this is. */
static tcp_conn_t *
new_flow(wmem_allocator_t *scope, const struct tcpheader *tcp, smcr_when_t when)
{
    tcp_conn_t *flow = wmem_new0(scope, tcp_conn_t);

    copy_address_wmem(scope, &flow->end[UP], &tcp->ip_src);
    copy_address_wmem(scope, &flow->end[DOWN], &tcp->ip_dst);
    flow->port[UP] = tcp->th_sport;
    flow->port[DOWN] = tcp->th_dport;
    flow->facts.first = when;
    flow->facts.client_is_up = true;
    flow->facts.up_port = tcp->th_sport;
    flow->facts.isn[CLIENT] = flow->facts.isn[SERVER] = SMCR_FIGURE_UNKNOWN;
    return flow;
}

static tcp_conn_t *
get_flow(smcr_collect_t *collection, const struct tcpheader *tcp, smcr_when_t when)
{
    static tcp_conn_t *const none;

    while (wmem_array_get_count(collection->tcp) <= tcp->th_stream)
        wmem_array_append_one(collection->tcp, none);
    tcp_conn_t **flow = wmem_array_index(collection->tcp, tcp->th_stream);
    if (!*flow)
        *flow = new_flow(collection->scope, tcp, when);
    return *flow;
}

/* ---- flows: facts ---- */

static unsigned
end_of(const smcr_collect_tcp_facts_t *facts, unsigned direction)
{
    return (direction == UP) == facts->client_is_up ? CLIENT : SERVER;
}

/* It has become known which way the client sends. What was seen before stands with its end. */
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

/* A SYN-ACK that agrees on ECN has ECE alone (RFC 3168, 6.1.1). */
static void
take_syn_ack(tcp_conn_t *flow, unsigned direction, uint16_t flags)
{
    smcr_collect_tcp_facts_t *facts = &flow->facts;
    bool accepts_ecn = (flags & SMCR_CONGESTION_TCP_ECE) && !(flags & SMCR_CONGESTION_TCP_CWR);
    bool is_first = facts->isn[SERVER] == SMCR_FIGURE_UNKNOWN;

    set_client(facts, direction == UP ? DOWN : UP);
    facts->is_disordered |= is_first && flow->direction[!direction].counts.acks;
    flow->ecn_accepted = MAX(flow->ecn_accepted, accepts_ecn ? SMCR_FIGURE_YES : SMCR_FIGURE_NO);
}

/* A SYN that asks for ECN has ECE and CWR (RFC 3168, 6.1.1). */
static void
take_client_syn(tcp_conn_t *flow, unsigned direction, uint16_t flags, smcr_when_t when)
{
    smcr_collect_tcp_facts_t *facts = &flow->facts;
    bool asks_for_ecn = (flags & SMCR_CONGESTION_TCP_ECE) && (flags & SMCR_CONGESTION_TCP_CWR);

    set_client(facts, direction);
    flow->ecn_initiated = MAX(flow->ecn_initiated, asks_for_ecn ? SMCR_FIGURE_YES : SMCR_FIGURE_NO);
    if (!facts->syn.frame)
        facts->syn = when;
    facts->syns++;
}

/* A segment with SYN: it names the client, the initial sequence numbers and the options. */
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
    facts->syn_sign[is_syn_ack] = segment->sign;
}

static void
take_facts(tcp_conn_t *flow, unsigned direction, const smcr_congestion_tcp_segment_t *segment,
           smcr_when_t when)
{
    smcr_collect_tcp_facts_t *facts = &flow->facts;

    facts->last = when;
    facts->may_lack_end = smcr_congestion_tcp_direction_may_lack_end(&flow->direction[UP]) ||
                       smcr_congestion_tcp_direction_may_lack_end(&flow->direction[DOWN]);
    for (unsigned way = UP; way <= DOWN; way++)
        facts->may_lack_bytes_of[way] =
            smcr_congestion_tcp_direction_may_lack_bytes(&flow->direction[way]);
    facts->may_lack_bytes = facts->may_lack_bytes_of[UP] || facts->may_lack_bytes_of[DOWN];
    facts->payload[direction] = flow->direction[direction].payload;
    if (segment->flags & SMCR_CONGESTION_TCP_RST) {
        facts->reset = facts->reset.frame ? facts->reset : when;
        facts->is_connected |= end_of(facts, direction) == CLIENT; /* it may have had an answer */
        return;
    }
    facts->is_connected |= (segment->flags & (SMCR_CONGESTION_TCP_SYN | SMCR_CONGESTION_TCP_ACK)) !=
                           SMCR_CONGESTION_TCP_SYN;
    if (segment->flags & SMCR_CONGESTION_TCP_SYN)
        take_syn(flow, direction, segment, when);
    if (segment->flags & SMCR_CONGESTION_TCP_FIN && !facts->fin[end_of(facts, direction)].frame)
        facts->fin[end_of(facts, direction)] = when;
}

void
smcr_collect_tcp_flows_take(smcr_collect_t *collection, const packet_info *pinfo,
                            const struct tcpheader *tcp)
{
    /* its options are cut: Wireshark 4.0 does not tap such a segment */
    if (tcp->th_have_seglen && pinfo->fd->cap_len + tcp->th_seglen < pinfo->fd->pkt_len)
        return;
    smcr_when_t when = smcr_capture_when(pinfo);
    tcp_conn_t *flow = get_flow(collection, tcp, when);
    bool tells = flow->port[UP] != flow->port[DOWN]; /* the ports: which way the segment goes */
    bool is_up = tells ? tcp->th_sport == flow->port[UP]
                       : addresses_equal(&tcp->ip_src, &flow->end[UP]);
    unsigned direction = is_up ? UP : DOWN;
    const smcr_entry_tcp_direction_t *counts = &flow->direction[direction].counts;
    uint64_t ce = counts->ce, repeated = counts->repeated_segments;
    smcr_congestion_tcp_segment_t segment = segment_of(pinfo, tcp, &flow->offsets[direction]);

    smcr_congestion_tcp_direction_take(&flow->direction[direction], &flow->direction[!direction],
                                       collection->scope, &segment);
    if (counts->ce > ce)
        smcr_collect_notices_count(collection, "ip.dsfield.ecn == 3 && tcp", when, 1);
    if (counts->repeated_segments > repeated)
        smcr_collect_notices_count(collection, "tcp.analysis.retransmission", when, 1);
    take_facts(flow, direction, &segment, when);
}

/* ---- flows: reporting ---- */

const smcr_collect_tcp_facts_t *
smcr_collect_tcp_flows_facts(const smcr_collect_t *collection, uint64_t tcp_stream)
{
    if (tcp_stream >= wmem_array_get_count(collection->tcp))
        return NULL;
    return *(void **)wmem_array_index(collection->tcp, (unsigned)tcp_stream);
}

void
smcr_collect_tcp_flows_report(const smcr_collect_t *collection, smcr_figure_list_t *list,
                              wmem_allocator_t *scope)
{
    for (unsigned stream = 0; stream < wmem_array_get_count(collection->tcp); stream++) {
        const tcp_conn_t *flow = *(tcp_conn_t **)wmem_array_index(collection->tcp, stream);

        if (!flow)
            continue;
        smcr_entry_tcp_t *entry = SMCR_FIGURE_ADD(tcp, list, scope);
        entry->tcp_stream = stream;
        entry->tcp_isn.client = flow->facts.isn[CLIENT];
        entry->tcp_isn.server = flow->facts.isn[SERVER];
        entry->src = address_to_str(scope, &flow->end[UP]);
        entry->dst = address_to_str(scope, &flow->end[DOWN]);
        entry->src_port = flow->port[UP];
        entry->dst_port = flow->port[DOWN];
        entry->first_time = flow->facts.first.time;
        entry->last_frame = flow->facts.last;
        entry->ecn_initiated = flow->ecn_initiated;
        entry->ecn_accepted = flow->ecn_accepted;
        smcr_congestion_tcp_direction_report(&flow->direction[UP], &entry->up);
        smcr_congestion_tcp_direction_report(&flow->direction[DOWN], &entry->down);
    }
}
