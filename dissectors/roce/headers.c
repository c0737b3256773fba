/* Reads InfiniBand transport headers. Wireshark's own dissector shows them, but keeps neither the
 * opcode nor the PSN where a plugin could get at them, and calls nobody for acknowledgements and
 * for packets that were cut short. Finds what the ICRC of a packet covers: IP's header lies before
 * the packet's buffer, in the buffer of the frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "headers.h"

#include "fields.h"

#define LRH_WORDS_MASK 0x07ff /* bytes 4 and 5 of the LRH: length in words of 4 bytes */

enum { IPV4_AND_UDP = 28, IPV6_AND_UDP = 48, UDP_LENGTH = 8, IP_UDP = 17 };

/* Extension headers of IPv6 (RFC 8200, 4). */
enum { IPV6_HOP_BY_HOP = 0, IPV6_ROUTING = 43, IPV6_FRAGMENT = 44, IPV6_DESTINATION = 60 };

static bool
has_reth(uint8_t opcode)
{
    return opcode == SMCR_RC_WRITE_FIRST || opcode == SMCR_RC_WRITE_ONLY ||
           opcode == SMCR_RC_WRITE_ONLY_IMMEDIATE || opcode == SMCR_RC_READ_REQUEST;
}

static bool
has_aeth(uint8_t opcode)
{
    return opcode == SMCR_RC_ACK || opcode == SMCR_RC_ATOMIC_ACK ||
           (opcode >= SMCR_RC_READ_RESPONSE_FIRST && opcode <= SMCR_RC_READ_RESPONSE_ONLY &&
            opcode != SMCR_RC_READ_RESPONSE_MIDDLE);
}

/* `opcode`: without its service. */
static bool
has_payload(uint8_t opcode)
{
    return smcr_ib_is_send(opcode) || smcr_ib_is_write(opcode) ||
           (opcode >= SMCR_RC_READ_RESPONSE_FIRST && opcode <= SMCR_RC_READ_RESPONSE_ONLY);
}

/* The opcode without its service; of a congestion notification one that has no payload. */
static uint8_t
operation_of(uint8_t opcode)
{
    return opcode == SMCR_IB_CNP ? opcode : opcode & (uint8_t)~SMCR_MASK_SERVICE;
}

/* Skips LRH and GRH. Returns the offset of the BTH, -1 when there is none. */
static int
find_bth(tvbuff_t *tvb, smcr_hooks_start_t start, smcr_ib_headers_t *roce)
{
    int offset = 0;

    if (start == SMCR_HOOKS_BTH)
        return offset;

    bool global = true;
    if (start == SMCR_HOOKS_LRH) {
        memset(roce->source, 0, SMCR_GID_LENGTH);
        memset(roce->target.gid, 0, SMCR_GID_LENGTH);
        if (tvb_captured_length(tvb) < SMCR_IB_LRH_LENGTH)
            return -1;
        uint8_t next = smcr_wire_bits(tvb_get_uint8(tvb, 1), SMCR_MASK_LRH_NEXT);
        if (next != SMCR_IB_LRH_NEXT_GRH && next != SMCR_IB_LRH_NEXT_BTH)
            return -1;
        global = next == SMCR_IB_LRH_NEXT_GRH;
        offset = SMCR_IB_LRH_LENGTH;
    }
    if (!global)
        return offset;

    if (tvb_captured_length_remaining(tvb, offset) < SMCR_IB_GRH_LENGTH ||
        tvb_get_uint8(tvb, offset + 6) != SMCR_IB_GRH_NEXT_BTH)
        return -1;
    tvb_memcpy(tvb, roce->source, offset + 8, SMCR_GID_LENGTH);
    tvb_memcpy(tvb, roce->target.gid, offset + 24, SMCR_GID_LENGTH);
    return offset + SMCR_IB_GRH_LENGTH;
}

/* The length of an extension header, in units of 8 bytes; 0: it is none. */
static uint32_t
extension_units(uint8_t kind, uint8_t length)
{
    if (kind == IPV6_FRAGMENT)
        return 1;
    return kind == IPV6_HOP_BY_HOP || kind == IPV6_ROUTING || kind == IPV6_DESTINATION
               ? length + 1U : 0;
}

/* Whether extension headers lead from the header of IPv6 to that of UDP at `end`. */
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

/* The IP header of the packet whose BTH is at `offset`, also in front of extension headers. `*end`:
 * where UDP begins. */
static bool
find_first_ip(tvbuff_t *tvb, int offset, const packet_info *pinfo, smcr_host_ip_packet_t *ip,
              uint32_t *end)
{
    smcr_host_bytes_t frame = smcr_host_bytes_of(tvb_get_ds_tvb(tvb));

    *end = (uint32_t)(tvb_raw_offset(tvb) + offset - UDP_LENGTH);
    return smcr_host_ip_packet_before(frame, *end, &pinfo->net_src, NULL, ip) &&
           leads_to_udp(frame, ip, *end);
}

/* What IP's header says, of the packet whose BTH is at `offset`. */
static void
read_ip(tvbuff_t *tvb, int offset, const packet_info *pinfo, smcr_ib_headers_t *roce)
{
    smcr_host_ip_packet_t ip;
    uint32_t end;

    if (!find_first_ip(tvb, offset, pinfo, &ip, &end))
        return;
    roce->ip_id = ip.id;
    roce->has_ecn = true;
    roce->ecn = ip.traffic_class & SMCR_MASK_ECN;
    if (ip.total_length)
        roce->length = ip.total_length;
}

/* Bytes of the headers from the BTH on, of SEND and RDMA WRITE. */
static int
header_length(uint8_t opcode)
{
    return SMCR_IB_BTH_LENGTH + (has_reth(opcode) ? SMCR_IB_RETH_LENGTH : 0) +
           (smcr_ib_has_immediate(opcode) ? SMCR_IB_IMMEDIATE_LENGTH : 0);
}

/* Reads the headers of a service other than RC that come before those which all services have.
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

/* Reads the headers that follow the BTH. `opcode`: without its service. Returns the offset after
 * them. */
static int
read_extended_headers(tvbuff_t *tvb, int offset, uint8_t opcode, smcr_ib_headers_t *roce)
{
    if (roce->opcode >= SMCR_RD)
        offset = read_service(tvb, offset, roce);
    if (has_reth(opcode)) {
        roce->has_reth = tvb_captured_length_remaining(tvb, offset) >= SMCR_IB_RETH_LENGTH;
        if (roce->has_reth) {
            roce->va = tvb_get_ntoh64(tvb, offset);
            roce->rkey = tvb_get_ntohl(tvb, offset + 8);
            roce->dma_length = tvb_get_ntohl(tvb, offset + 12);
        }
        offset += SMCR_IB_RETH_LENGTH;
    }
    if (opcode == SMCR_RC_CMP_SWAP || opcode == SMCR_RC_FETCH_ADD)
        offset += SMCR_IB_ATOMIC_LENGTH;
    if (has_aeth(opcode)) {
        roce->has_aeth = tvb_captured_length_remaining(tvb, offset) >= SMCR_IB_AETH_LENGTH;
        if (roce->has_aeth)
            roce->syndrome = tvb_get_uint8(tvb, offset);
        offset += SMCR_IB_AETH_LENGTH;
    }
    if (opcode == SMCR_RC_ATOMIC_ACK)
        offset += SMCR_IB_ATOMIC_ACK_LENGTH;
    if (smcr_ib_has_immediate(opcode)) {
        roce->has_immediate = tvb_bytes_exist(tvb, offset, SMCR_IB_IMMEDIATE_LENGTH);
        roce->immediate = roce->has_immediate ? tvb_get_ntohl(tvb, offset) : 0;
        offset += SMCR_IB_IMMEDIATE_LENGTH;
    }
    return offset;
}

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

bool
smcr_roce_read(tvbuff_t *tvb, const packet_info *pinfo, smcr_hooks_start_t start,
               smcr_ib_headers_t *roce)
{
    int offset = find_bth(tvb, start, roce);

    if (offset < 0 || tvb_captured_length_remaining(tvb, offset) < SMCR_IB_BTH_LENGTH)
        return false;
    const uint8_t *bth = tvb_get_ptr(tvb, offset, SMCR_IB_BTH_LENGTH); /* checks once */
    roce->opcode = bth[0];
    roce->pad = smcr_wire_bits(bth[1], SMCR_MASK_BTH_PAD);
    roce->target.qpn = smcr_ib_bth_qpn(bth);
    roce->psn = tvb_get_ntoh24(tvb, offset + 9);

    roce->fecn = (bth[4] & SMCR_MASK_BTH_FECN) != 0;
    roce->becn = (bth[4] & SMCR_MASK_BTH_BECN) != 0;
    uint8_t operation = operation_of(roce->opcode);
    roce->payload = read_extended_headers(tvb, offset + SMCR_IB_BTH_LENGTH, operation, roce);
    bool over_udp = start == SMCR_HOOKS_BTH && pinfo->ptype == PT_UDP;
    uint32_t before = pinfo->net_src.type == AT_IPv6 ? IPV6_AND_UDP : IPV4_AND_UDP;
    roce->length = tvb_reported_length(tvb) + (over_udp ? before : 0); /* or as IP's header says */
    if (start == SMCR_HOOKS_BTH)
        read_ip(tvb, offset, pinfo, roce);
    if (over_udp)
        roce->port = (uint16_t)pinfo->srcport;
    int trailer =
        roce->pad + SMCR_IB_ICRC_LENGTH + (start == SMCR_HOOKS_LRH ? SMCR_IB_VCRC_LENGTH : 0);
    int length = (int)tvb_reported_length(tvb) - roce->payload - trailer;
    roce->payload_length = has_payload(operation) ? MAX(length, 0) : 0;
    return true;
}

void
smcr_roce_from_infiniband(tvbuff_t *payload, const packet_info *pinfo,
                          const struct infinibandinfo *infiniband, smcr_ib_headers_t *roce)
{
    roce->target.qpn = pinfo->destport;
    roce->opcode = infiniband->opCode;
    roce->pad = infiniband->pad_count;
    roce->psn = infiniband->packet_seq_num;
    roce->has_reth = has_reth(roce->opcode);
    roce->va = infiniband->reth_remote_address;
    roce->rkey = infiniband->reth_remote_key;
    roce->dma_length = infiniband->reth_dma_length;
    roce->payload_length = MAX((int)tvb_reported_length(payload) - roce->pad, 0);
    roce->length = (uint32_t)(header_length(roce->opcode) + roce->payload_length + roce->pad +
                              SMCR_IB_ICRC_LENGTH);
    read_ip(payload, -header_length(roce->opcode), pinfo, roce);
}

/* ---- what the ICRC covers ---- */

/* Where the bytes are that it covers. */
typedef struct {
    smcr_icrc_start_t start;
    tvbuff_t *tvb;
    int offset; /* of the first header */
    int bth;    /* of the BTH, from there */
    int length; /* bytes from there to the ICRC's end; 0: not known */
} cover_t;

static bool
cover_ip(tvbuff_t *tvb, const packet_info *pinfo, cover_t *cover)
{
    smcr_host_ip_packet_t ip;
    uint32_t end;

    /* right before UDP's: IP has put no fragments together, IPv6 has no extension headers */
    if (!find_first_ip(tvb, 0, pinfo, &ip, &end) || ip.offset + ip.header_length != end ||
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

/* smcr_roce_read() has seen that the headers are there. */
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
    if (cover.length < cover.bth + SMCR_IB_BTH_LENGTH + SMCR_IB_ICRC_LENGTH ||
        cover.length > (int)tvb_captured_length(cover.tvb) - cover.offset)
        return icrc;
    int end = cover.length - SMCR_IB_ICRC_LENGTH;
    icrc.computed = smcr_icrc_compute(cover.start, tvb_get_ptr(cover.tvb, cover.offset, end),
                                      (size_t)cover.bth, (size_t)end);
    icrc.found = tvb_get_ntohl(cover.tvb, cover.offset + end);
    icrc.status = icrc.computed == icrc.found ? SMCR_IB_ICRC_GOOD : SMCR_IB_ICRC_BAD;
    icrc.offset = end - (start == SMCR_HOOKS_BTH ? cover.bth : 0);
    memcpy(icrc.sender, roce->source, SMCR_GID_LENGTH);
    if (cover.start == SMCR_ICRC_LRH && cover.bth == SMCR_IB_LRH_LENGTH) /* no GIDs: their LIDs */
        tvb_memcpy(tvb, icrc.sender + SMCR_GID_LENGTH - 2, 6, 2);
    return icrc;
}

/* ---- showing the ICRC ---- */

/* The item of its status, over the packet's bytes where these are in the buffer. */
static proto_item *
add_status(tvbuff_t *tvb, proto_tree *tree, const smcr_icrc_t *icrc, const char *text)
{
    bool there = icrc->offset >= 0 &&
                 tvb_captured_length_remaining(tvb, icrc->offset) >= SMCR_IB_ICRC_LENGTH;
    proto_item *item = proto_tree_add_uint_format(
        tree, hf_smcr_icrc_status, tvb, there ? icrc->offset : 0, there ? SMCR_IB_ICRC_LENGTH : 0,
        icrc->status, "Invariant CRC: %s", text);

    proto_item_set_generated(item);
    return item;
}

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
        expert_add_info(pinfo, item, &ei_smcr_icrc_bad);
}

void
smcr_roce_show_icrc(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_icrc_t *icrc)
{
    const char *protocol = pinfo->current_proto; /* under which expert items are listed */

    pinfo->current_proto = "SMC-R";
    if (icrc->status == SMCR_IB_ICRC_BAD)
        show_bad(tvb, pinfo, tree, icrc);
    else if (icrc->status == SMCR_IB_ICRC_GOOD)
        add_status(tvb, tree, icrc, "correct");
    else if (icrc->doubted)
        expert_add_info(pinfo, add_status(tvb, tree, icrc, "unverified"), &ei_smcr_icrc_doubted);
    else
        add_status(tvb, tree, icrc, "unverified");
    pinfo->current_proto = protocol;
}
