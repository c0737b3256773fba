/* Reads InfiniBand transport headers, and finds which bytes the ICRC of a packet covers.
 *
 * Wireshark's own dissector reads the same headers, but passes only some of them on, and calls no
 * heuristic for acknowledgements and for truncated packets. The ICRC covers the IP header, too. The
 * IP header is not in the buffer that a dissector gets, but earlier in the buffer of the frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "headers.h"

#include "fields.h"
#include "message/message.h"

#define LRH_WORDS_MASK 0x07ff /* mask of bytes 4 and 5 of the LRH: length of the packet in words of
                                 4 bytes */

enum { IPV4_AND_UDP = 28, IPV6_AND_UDP = 48, UDP_LENGTH = 8, IP_UDP = 17 };

/* Extension headers of IPv6 (RFC 8200, 4). */
enum { IPV6_HOP_BY_HOP = 0, IPV6_ROUTING = 43, IPV6_FRAGMENT = 44, IPV6_DESTINATION = 60 };

/* Whether packets with this opcode of the service RC have a RETH. */
static bool
has_reth(uint8_t opcode)
{
    return opcode == SMCR_RC_WRITE_FIRST || opcode == SMCR_RC_WRITE_ONLY ||
           opcode == SMCR_RC_WRITE_ONLY_IMMEDIATE || opcode == SMCR_RC_READ_REQUEST;
}

/* Whether the opcode of the service RC is that of a READ response. */
static bool
is_read_response(uint8_t opcode)
{
    return opcode >= SMCR_RC_READ_RESPONSE_FIRST && opcode <= SMCR_RC_READ_RESPONSE_ONLY;
}

/* Whether packets with this opcode of the service RC have an AETH. */
static bool
has_aeth(uint8_t opcode)
{
    if (is_read_response(opcode))
        return opcode != SMCR_RC_READ_RESPONSE_MIDDLE;
    return opcode == SMCR_RC_ACK || opcode == SMCR_RC_ATOMIC_ACK;
}

/* Whether packets with this opcode have a payload. `opcode`: without its service. */
static bool
has_payload(uint8_t opcode)
{
    const smcr_ib_operation_t *operation = &smcr_ib_operations[opcode];

    return operation->is_send || operation->is_write || is_read_response(opcode);
}

/* Returns the opcode without the bits of its service. Returns the opcode of a congestion
 * notification unchanged: without these bits it would be SEND MIDDLE, which has a payload. */
static uint8_t
operation_of(uint8_t opcode)
{
    return opcode == SMCR_IB_CNP ? opcode : opcode & (uint8_t)~SMCR_MASK_SERVICE;
}

/* Skips the GRH at `offset`, and reads the GIDs. Returns the offset of the BTH; -1: no BTH follows,
 * or the GRH was not captured. */
static int
skip_grh(tvbuff_t *tvb, int offset, smcr_ib_headers_t *roce)
{
    enum { NEXT_AT = 6, SOURCE_AT = 8, TARGET_AT = 24 };

    if (tvb_captured_length_remaining(tvb, offset) < SMCR_IB_GRH_LENGTH ||
        tvb_get_uint8(tvb, offset + NEXT_AT) != SMCR_IB_GRH_NEXT_BTH)
        return -1;
    tvb_memcpy(tvb, roce->source, offset + SOURCE_AT, SMCR_GID_LENGTH);
    tvb_memcpy(tvb, roce->destination.gid, offset + TARGET_AT, SMCR_GID_LENGTH);
    return offset + SMCR_IB_GRH_LENGTH;
}

/* Skips the LRH, and the GRH if the LRH names one. Without a GRH the GIDs are zeros. Returns the
 * offset of the BTH; -1: no BTH follows, or a header was not captured. */
static int
skip_lrh(tvbuff_t *tvb, smcr_ib_headers_t *roce)
{
    memset(roce->source, 0, SMCR_GID_LENGTH);
    memset(roce->destination.gid, 0, SMCR_GID_LENGTH);
    if (tvb_captured_length(tvb) < SMCR_IB_LRH_LENGTH)
        return -1;
    switch (smcr_wire_bits(tvb_get_uint8(tvb, 1), SMCR_MASK_LRH_NEXT)) {
    case SMCR_IB_LRH_NEXT_GRH:
        return skip_grh(tvb, SMCR_IB_LRH_LENGTH, roce);
    case SMCR_IB_LRH_NEXT_BTH:
        return SMCR_IB_LRH_LENGTH;
    default:
        return -1;
    }
}

/* Returns the offset of the BTH in a packet that begins with the header `start`; -1: the packet has
 * no BTH, or the headers before the BTH were not captured. */
static int
find_bth(tvbuff_t *tvb, smcr_hooks_start_t start, smcr_ib_headers_t *roce)
{
    if (start == SMCR_HOOKS_BTH)
        return 0;
    return start == SMCR_HOOKS_LRH ? skip_lrh(tvb, roce) : skip_grh(tvb, 0, roce);
}

/* Returns the length of an extension header of IPv6, in units of 8 bytes; 0: `kind` is no extension
 * header. `length`: byte 1 of the header. */
static uint32_t
extension_units(uint8_t kind, uint8_t length)
{
    if (kind == IPV6_FRAGMENT)
        return 1;
    return kind == IPV6_HOP_BY_HOP || kind == IPV6_ROUTING || kind == IPV6_DESTINATION
               ? length + 1U : 0;
}

/* Whether the IP header leads to the UDP header at `end`: directly, or in IPv6 over a chain of
 * extension headers. */
static bool
leads_to_udp(smcr_host_bytes_t frame, const smcr_host_ip_packet_t *ip, uint32_t end)
{
    uint32_t at = ip->offset + ip->header_length;
    uint8_t next = ip->next;

    while (ip->version == 6 && at + 8 <= end) {
        uint32_t units = extension_units(next, frame.bytes[at + 1]);
        if (!units)
            return false;
        next = frame.bytes[at];
        at += 8 * units;
    }
    return at == end && next == IP_UDP;
}

/* Finds the IP header of the packet whose BTH is at `offset`, even if extension headers of IPv6
 * follow the IP header. `*end`: offset of the UDP header in the buffer that `tvb` is a part of.
 * Returns false if no IP header leads to it. */
static bool
find_ip_header(tvbuff_t *tvb, int offset, const packet_info *pinfo, smcr_host_ip_packet_t *ip,
              uint32_t *end)
{
    smcr_host_bytes_t frame = smcr_host_bytes_of(tvb_get_ds_tvb(tvb));

    *end = (uint32_t)(tvb_raw_offset(tvb) + offset - UDP_LENGTH);
    return smcr_host_ip_packet_before(frame, *end, &pinfo->net_src, NULL, ip) &&
           leads_to_udp(frame, ip, *end);
}

/* Reads the headers around the packet (VLAN tags, tunnels), whose IP header or GRH is at `offset`
 * of the buffer `source`. Reads nothing if `source` is not the frame, or if there is an Ethernet
 * header alone, as in most frames. */
static void
read_outer(tvbuff_t *source, uint32_t offset, const packet_info *pinfo, smcr_ib_headers_t *roce)
{
    if (smcr_host_encapsulation_is_bare(pinfo, offset))
        return;
    if (smcr_host_bytes_of(source).bytes == smcr_host_bytes_of_frame(pinfo).bytes)
        roce->outer = smcr_host_encapsulation_read(pinfo, offset);
}

/* Reads the IP header of a packet that came in IP fragments. Wireshark has reassembled the packet
 * in a buffer that does not have the IP header. The frame has the last fragment. An earlier
 * fragment may have a CE mark that the last one does not have, so the ECN codepoint is not
 * known. */
static void
read_fragment(tvbuff_t *tvb, const packet_info *pinfo, smcr_ib_headers_t *roce)
{
    smcr_host_bytes_t frame = smcr_host_bytes_of_frame(pinfo);
    smcr_host_ip_packet_t ip;

    if (smcr_host_bytes_of(tvb_get_ds_tvb(tvb)).bytes == frame.bytes ||
        !smcr_host_ip_packet_before(frame, frame.length, &pinfo->net_src, &pinfo->net_dst, &ip))
        return;
    roce->was_fragmented = ip.is_fragment || ip.next == IPV6_FRAGMENT;
    if (!roce->was_fragmented)
        return;
    roce->ip_id = ip.id;
    roce->traffic_class = ip.traffic_class;
    roce->hop_limit = ip.hop_limit;
    roce->outer = smcr_host_encapsulation_read(pinfo, ip.offset);
}

/* Reads the IP header of the packet whose BTH is at `offset`, if there is one. */
static void
read_ip(tvbuff_t *tvb, int offset, const packet_info *pinfo, smcr_ib_headers_t *roce)
{
    smcr_host_ip_packet_t ip;
    uint32_t end;

    if (!find_ip_header(tvb, offset, pinfo, &ip, &end)) {
        read_fragment(tvb, pinfo, roce);
        return;
    }
    roce->ip_id = ip.id;
    roce->has_ecn = true;
    roce->ecn = ip.traffic_class & SMCR_MASK_ECN;
    read_outer(tvb_get_ds_tvb(tvb), ip.offset, pinfo, roce);
    roce->traffic_class = ip.traffic_class;
    roce->hop_limit = ip.hop_limit;
    if (ip.total_length)
        roce->length = ip.total_length;
}

/* Returns the number of bytes from the beginning of the BTH to the payload, for a SEND or RDMA
 * WRITE with this opcode. */
static int
header_length(uint8_t opcode)
{
    int reth = has_reth(opcode) ? SMCR_IB_RETH_LENGTH : 0;
    int immediate = smcr_ib_operations[opcode].has_immediate ? SMCR_IB_IMMEDIATE_LENGTH : 0;

    return SMCR_IB_BTH_LENGTH + reth + immediate;
}

/* Reads the headers that only a service other than RC has. They come directly after the BTH.
 * Returns the offset after them. */
static int
read_service(tvbuff_t *tvb, int offset, smcr_ib_headers_t *roce)
{
    uint8_t service = roce->opcode & SMCR_MASK_SERVICE;

    if (service == SMCR_XRC)
        return offset + SMCR_IB_XRCETH_LENGTH;
    if (service == SMCR_RD)
        offset += SMCR_IB_RDETH_LENGTH;
    if (service != SMCR_RD && service != SMCR_UD)
        return offset;
    roce->has_src_qpn = tvb_captured_length_remaining(tvb, offset) >= SMCR_IB_DETH_LENGTH;
    if (roce->has_src_qpn)
        roce->src_qpn = tvb_get_ntoh24(tvb, offset + 5);
    return offset + SMCR_IB_DETH_LENGTH;
}

/* Reads the RETH at `offset`, if it was captured. Returns the offset after the RETH. */
static int
read_reth(tvbuff_t *tvb, int offset, smcr_ib_headers_t *roce)
{
    enum { RKEY_AT = 8, LENGTH_AT = 12 };

    roce->has_reth = tvb_captured_length_remaining(tvb, offset) >= SMCR_IB_RETH_LENGTH;
    if (roce->has_reth) {
        roce->virtual_address = tvb_get_ntoh64(tvb, offset);
        roce->rkey = tvb_get_ntohl(tvb, offset + RKEY_AT);
        roce->dma_length = tvb_get_ntohl(tvb, offset + LENGTH_AT);
    }
    return offset + SMCR_IB_RETH_LENGTH;
}

/* Reads the AETH at `offset`, if it was captured. Returns the offset after the AETH. */
static int
read_aeth(tvbuff_t *tvb, int offset, smcr_ib_headers_t *roce)
{
    roce->has_aeth = tvb_captured_length_remaining(tvb, offset) >= SMCR_IB_AETH_LENGTH;
    if (roce->has_aeth)
        roce->syndrome = tvb_get_uint8(tvb, offset);
    return offset + SMCR_IB_AETH_LENGTH;
}

/* Reads the four bytes of immediate data (or RKey) at `offset`, if they were captured. Returns the
 * offset after them. */
static int
read_immediate(tvbuff_t *tvb, int offset, smcr_ib_headers_t *roce)
{
    roce->has_immediate = tvb_bytes_exist(tvb, offset, SMCR_IB_IMMEDIATE_LENGTH);
    roce->immediate = roce->has_immediate ? tvb_get_ntohl(tvb, offset) : 0;
    return offset + SMCR_IB_IMMEDIATE_LENGTH;
}

/* Returns the length in bytes of the atomic header in an atomic request or response; 0: packets
 * with this opcode have no atomic header. `opcode`: without its service. */
static int
atomic_length(uint8_t opcode)
{
    if (opcode == SMCR_RC_ATOMIC_ACK)
        return SMCR_IB_ATOMIC_ACK_LENGTH;
    return opcode == SMCR_RC_CMP_SWAP || opcode == SMCR_RC_FETCH_ADD ? SMCR_IB_ATOMIC_LENGTH : 0;
}

/* Reads the headers after the BTH. `opcode`: without its service. Returns the offset of the
 * payload. */
static int
read_extended_headers(tvbuff_t *tvb, int offset, uint8_t opcode, smcr_ib_headers_t *roce)
{
    if (roce->opcode >= SMCR_RD)
        offset = read_service(tvb, offset, roce);
    if (has_reth(opcode))
        offset = read_reth(tvb, offset, roce);
    if (has_aeth(opcode))
        offset = read_aeth(tvb, offset, roce);
    offset += atomic_length(opcode);
    if (smcr_ib_operations[opcode].has_immediate)
        offset = read_immediate(tvb, offset, roce);
    return offset;
}

/* `payload_length` of the headers counts no padding, so padding is left out. */
tvbuff_t *
smcr_roce_payload(tvbuff_t *tvb, int offset, const smcr_ib_headers_t *roce)
{
    int length = roce->payload_length;
    int captured = (int)tvb_captured_length(tvb);

    if (!has_payload(operation_of(roce->opcode)))
        return NULL;
    if (offset == 0 && captured == length && (int)tvb_reported_length(tvb) == length)
        return tvb;
    return tvb_new_subset_length_caplen(tvb, MIN(offset, captured),
                                        CLAMP(captured - offset, 0, length), length);
}

/* Returns the length of the packet from the first byte of the IP header, in bytes, if the header
 * has no options and no extension headers follow it. `tvb`: the payload of UDP. */
static uint32_t
length_with_udp(tvbuff_t *tvb, const packet_info *pinfo)
{
    uint32_t headers = pinfo->net_src.type == AT_IPv6 ? IPV6_AND_UDP : IPV4_AND_UDP;

    return tvb_reported_length(tvb) + headers;
}

/* Returns the packet with the length that its headers of IP and UDP say, if they agree and `tvb`
 * is shorter; otherwise `tvb`. A device that mirrors packets may truncate them before it sends them
 * on, in a tunnel or alone. Then no length of the frame shows it, but these headers do. A sender's
 * packet cannot be shorter than its headers say. */
static tvbuff_t *
find_whole_packet(tvbuff_t *tvb, const packet_info *pinfo, const smcr_ib_headers_t *roce)
{
    smcr_host_ip_packet_t ip;
    uint32_t end;

    if (pinfo->ptype != PT_UDP || roce->length <= length_with_udp(tvb, pinfo))
        return tvb;
    if (!find_ip_header(tvb, 0, pinfo, &ip, &end) || ip.is_fragment)
        return tvb;
    uint32_t told = tvb_get_ntohs(tvb_get_ds_tvb(tvb), (int)end + 4);
    if (told <= tvb_reported_length(tvb) + UDP_LENGTH || ip.offset + ip.total_length != end + told)
        return tvb;
    return tvb_new_subset_length_caplen(tvb, 0, (int)tvb_captured_length(tvb),
                                        (int)told - UDP_LENGTH);
}

/* Sets the lengths of a packet and its UDP source port. The opcode and the offset of the payload
 * are known. `roce->length` is the length in the IP header, or 0. */
static void
read_lengths(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
             smcr_ib_headers_t *roce)
{
    int vcrc = start == SMCR_HOOKS_LRH ? SMCR_IB_VCRC_LENGTH : 0;
    int trailer = roce->pad + SMCR_IB_ICRC_LENGTH + vcrc;
    int length = (int)tvb_reported_length(tvb) - roce->payload - trailer;

    roce->is_short = length < 0;
    roce->has_immediate &= !roce->is_short; /* the packet is too short for immediate data: the bytes
                                               read are those of the ICRC */
    roce->payload_length = has_payload(operation_of(roce->opcode)) ? MAX(length, 0) : 0;
    bool is_udp = start == SMCR_HOOKS_BTH && pinfo->ptype == PT_UDP;
    if (is_udp)
        roce->udp_port = (uint16_t)pinfo->srcport;
    if (!roce->length)
        roce->length = is_udp ? length_with_udp(tvb, pinfo) : tvb_reported_length(tvb);
}

/* The packet may be no RoCE packet at all, and belong to another dissector. So nothing here may
 * throw an exception. */
tvbuff_t *
smcr_roce_read(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
               smcr_ib_headers_t *roce)
{
    int offset = find_bth(tvb, start, roce);

    if (offset < 0 || tvb_captured_length_remaining(tvb, offset) < SMCR_IB_BTH_LENGTH)
        return NULL;
    const uint8_t *bth = tvb_get_ptr(tvb, offset, SMCR_IB_BTH_LENGTH);
    roce->opcode = bth[0];
    roce->pad = smcr_wire_bits(bth[1], SMCR_MASK_BTH_PAD);
    roce->destination.qpn = smcr_ib_bth_qpn(bth);
    roce->psn = tvb_get_ntoh24(tvb, offset + 9);

    roce->fecn = (bth[4] & SMCR_MASK_BTH_FECN) != 0;
    roce->becn = (bth[4] & SMCR_MASK_BTH_BECN) != 0;
    roce->asks_ack = (bth[8] & SMCR_MASK_BTH_ACK_REQUEST) != 0;
    uint8_t operation = operation_of(roce->opcode);
    roce->payload = read_extended_headers(tvb, offset + SMCR_IB_BTH_LENGTH, operation, roce);
    if (start == SMCR_HOOKS_BTH) {
        read_ip(tvb, offset, pinfo, roce);
        tvb = find_whole_packet(tvb, pinfo, roce);
    } else if (start == SMCR_HOOKS_GRH)
        read_outer(tvb_get_ds_tvb(tvb), (uint32_t)tvb_raw_offset(tvb), pinfo, roce);
    read_lengths(tvb, pinfo, start, roce);
    return tvb;
}

/* The IP header lies before the payload; the opcode shows how far. Values that InfiniBand's
 * dissector does not pass on keep the value "not known". */
void
smcr_roce_from_infiniband(tvbuff_t *payload, const packet_info *pinfo,
                          const struct infinibandinfo *infiniband, smcr_ib_headers_t *roce)
{
    roce->destination.qpn = pinfo->destport;
    roce->opcode = infiniband->opCode;
    roce->pad = infiniband->pad_count;
    roce->psn = infiniband->packet_seq_num;
    roce->has_reth = has_reth(roce->opcode);
    roce->virtual_address = infiniband->reth_remote_address;
    roce->rkey = infiniband->reth_remote_key;
    roce->dma_length = infiniband->reth_dma_length;
    roce->payload_length = MAX((int)tvb_reported_length(payload) - roce->pad, 0);
    roce->length = (uint32_t)(header_length(roce->opcode) + roce->payload_length + roce->pad +
                              SMCR_IB_ICRC_LENGTH);
    read_ip(payload, -header_length(roce->opcode), pinfo, roce);
}

/* ---- the bytes that the ICRC covers ---- */

/* The bytes that the ICRC covers, and where they are. */
typedef struct {
    smcr_icrc_start_t start; /* the first header */
    tvbuff_t *tvb;           /* buffer that has the covered bytes */
    int offset;              /* offset of the first covered header in `tvb` */
    int bth;                 /* offset of the BTH from the first header */
    int length;              /* number of bytes from the first covered header to the end of the
                                ICRC; 0: not known */
} cover_t;

/* Finds the covered bytes of a RoCEv2 packet. Returns false if the bytes on the wire are not known:
 * no IP header is found, extension headers are between IP and UDP, or the packet came in
 * fragments. */
static bool
cover_ip(tvbuff_t *tvb, const packet_info *pinfo, cover_t *cover)
{
    smcr_host_ip_packet_t ip;
    uint32_t end;

    if (!find_ip_header(tvb, 0, pinfo, &ip, &end) || ip.offset + ip.header_length != end ||
        ip.is_fragment)
        return false;
    *cover = (cover_t){
        .start = ip.version == 4 ? SMCR_ICRC_IPV4 : SMCR_ICRC_IPV6,
        .tvb = tvb_get_ds_tvb(tvb),
        .offset = (int)ip.offset,
        .bth = ip.header_length + UDP_LENGTH,
        .length = (int)ip.total_length,
    };
    return true;
}

/* Finds the covered bytes of a RoCEv1 or InfiniBand packet. smcr_roce_read() has checked that the
 * capture has the headers. */
static void
cover_headers(tvbuff_t *tvb, smcr_hooks_start_t start, cover_t *cover)
{
    *cover = (cover_t){.tvb = tvb};
    if (start == SMCR_HOOKS_GRH) {
        cover->start = SMCR_ICRC_GRH;
        cover->bth = SMCR_IB_GRH_LENGTH;
        cover->length = SMCR_IB_GRH_LENGTH + tvb_get_ntohs(tvb, 4);
        return;
    }
    bool global = smcr_wire_bits(tvb_get_uint8(tvb, 1), SMCR_MASK_LRH_NEXT) == SMCR_IB_LRH_NEXT_GRH;
    cover->start = SMCR_ICRC_LRH;
    cover->bth = SMCR_IB_LRH_LENGTH + (global ? SMCR_IB_GRH_LENGTH : 0);
    cover->length = (tvb_get_ntohs(tvb, 4) & LRH_WORDS_MASK) * 4;
}

/* Whether the length of the covered bytes is known and plausible, and the capture has all of
 * them. */
static bool
has_covered_bytes(const cover_t *cover)
{
    return cover->length >= cover->bth + SMCR_IB_BTH_LENGTH + SMCR_IB_ICRC_LENGTH &&
           cover->length <= (int)tvb_captured_length(cover->tvb) - cover->offset;
}

/* Sets `sender` to the key of the packet's sender, by which the ICRCs of one sender are compared:
 * the GID; if the packet has no GID, the source LID. */
static void
read_sender(tvbuff_t *tvb, const cover_t *cover, const smcr_ib_headers_t *roce,
            uint8_t sender[SMCR_GID_LENGTH])
{
    enum { SOURCE_LID_AT = 6, LID_LENGTH = 2 };

    memcpy(sender, roce->source, SMCR_GID_LENGTH);
    if (cover->start == SMCR_ICRC_LRH && cover->bth == SMCR_IB_LRH_LENGTH)
        tvb_memcpy(tvb, sender + SMCR_GID_LENGTH - LID_LENGTH, SOURCE_LID_AT, LID_LENGTH);
}

/* The value in the packet is read in the byte order of smcr_icrc_compute(). */
smcr_icrc_t
smcr_roce_check_icrc(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
                     const smcr_ib_headers_t *roce)
{
    smcr_icrc_t icrc = {.status = SMCR_IB_ICRC_UNVERIFIED, .offset = -1};
    cover_t cover;

    if (start != SMCR_HOOKS_BTH)
        cover_headers(tvb, start, &cover);
    else if (!cover_ip(tvb, pinfo, &cover))
        return icrc;
    if (!has_covered_bytes(&cover))
        return icrc;
    int end = cover.length - SMCR_IB_ICRC_LENGTH;
    icrc.computed = smcr_icrc_compute(cover.start, tvb_get_ptr(cover.tvb, cover.offset, end),
                                      (size_t)cover.bth, (size_t)end);
    icrc.found = tvb_get_ntohl(cover.tvb, cover.offset + end);
    icrc.status = icrc.computed == icrc.found ? SMCR_IB_ICRC_GOOD : SMCR_IB_ICRC_BAD;
    icrc.offset = end - (start == SMCR_HOOKS_BTH ? cover.bth : 0);
    read_sender(tvb, &cover, roce, icrc.sender);
    icrc.interface = smcr_capture_interface(pinfo);
    return icrc;
}

/* ---- showing the ICRC ---- */

/* Adds the item with the status of the ICRC. The item covers the bytes of the ICRC, if the buffer
 * has them. */
static proto_item *
add_status(tvbuff_t *tvb, proto_tree *tree, const smcr_icrc_t *icrc, const char *text)
{
    bool in_buffer = icrc->offset >= 0 &&
                     tvb_captured_length_remaining(tvb, icrc->offset) >= SMCR_IB_ICRC_LENGTH;
    int offset = in_buffer ? icrc->offset : 0;
    int length = in_buffer ? SMCR_IB_ICRC_LENGTH : 0;
    proto_item *item = proto_tree_add_uint_format(tree, hf_smcr_icrc_status, tvb, offset, length,
                                                  icrc->status, "Invariant CRC: %s", text);

    proto_item_set_generated(item);
    return item;
}

/* Shows a wrong ICRC, and below its item the value that would be right. */
static void
show_bad(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_icrc_t *icrc)
{
    const char *text = wmem_strdup_printf(pinfo->pool, "incorrect, should be 0x%08x",
                                          icrc->computed);
    proto_item *item = add_status(tvb, tree, icrc, text);
    proto_tree *below = proto_item_add_subtree(item, ett_smcr_icrc);

    proto_item_set_generated(proto_tree_add_uint(below, hf_smcr_icrc_calculated, tvb, 0, 0,
                                                 icrc->computed));
    if (!icrc->reported)
        smcr_item_raise_unconditionally(pinfo, item, &ei_smcr_icrc_bad);
}

/* Wireshark lists expert items under the protocol in `current_proto`. The caller's value is
 * restored at the end. */
void
smcr_roce_show_icrc(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_icrc_t *icrc)
{
    const char *protocol = pinfo->current_proto; /* protocol name under which expert items are
                                                    listed */

    pinfo->current_proto = "SMC-R";
    if (icrc->status == SMCR_IB_ICRC_BAD)
        show_bad(tvb, pinfo, tree, icrc);
    else if (icrc->status == SMCR_IB_ICRC_GOOD)
        add_status(tvb, tree, icrc, "correct");
    else if (icrc->sender_doubted)
        smcr_item_raise_unconditionally(pinfo, add_status(tvb, tree, icrc, "unverified"),
                                        &ei_smcr_icrc_doubted);
    else
        add_status(tvb, tree, icrc, "unverified");
    pinfo->current_proto = protocol;
}
