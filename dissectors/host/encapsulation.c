/* Walks along the headers of a frame, from its beginning to a RoCE packet.
 *
 * Each function read_...() reads one header, and sets the function that reads the next one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "encapsulation.h"

/* The header with which a frame begins. */
typedef enum {
    LINK_ETHERNET,
    LINK_COOKED,   /* Linux cooked capture (SLL) */
    LINK_COOKED_2, /* its second version (SLL2) */
    LINK_IP,       /* no header: the frame begins with an IP header */
    LINK_OTHER,    /* a header that this module does not know */
} link_t;

typedef struct headers_walk headers_walk_t;

/* Reads the header at `at` and moves `at` to its end. Returns false if the header is not known, or
 * does not end before the packet. */
typedef bool read_t(headers_walk_t *walk);

/* A walk along the headers of a frame. */
struct headers_walk {
    const uint8_t *bytes;  /* the frame */
    uint32_t at;           /* offset of the next header */
    uint32_t end;          /* offset of the packet: no header before it goes beyond it */
    read_t *read;          /* reads the next header; NULL: not known */
    smcr_ib_outer_t outer; /* values of the headers that were read so far */
};

static read_t read_ethernet, read_ip;

/* Whether the header at `at` has `length` bytes before the packet. If so, `*header` points to
 * it. */
static bool
has_bytes(const headers_walk_t *walk, uint32_t length, const uint8_t **header)
{
    *header = walk->bytes + walk->at;
    return length <= walk->end - walk->at;
}

/* ---- networks ---- */

/* Enters a tunnel: the VLAN tags before it are of another network. */
static void
enter_tunnel(headers_walk_t *walk, enum smcr_ib_tunnel kind, uint32_t id)
{
    walk->outer.network = (smcr_ib_network_t){.tunnel_id = id, .tunnel = (uint8_t)kind};
}

/* Enters a mirrored frame. All headers before it are of the path to the analyser, and say nothing
 * of the packet. */
static void
enter_mirror(headers_walk_t *walk)
{
    walk->outer = (smcr_ib_outer_t){.ecn = 0};
}

/* ---- headers ---- */

/* Takes a VLAN tag. ID 0 stands for no VLAN. If the frame's first tag is not within a tunnel, its
 * priority is the priority of the frame. A tag after an IP header (`has_ecn`: one was read) is
 * within a tunnel. */
static void
take_tag(headers_walk_t *walk, uint16_t tag)
{
    smcr_ib_network_t *network = &walk->outer.network;

    if (!walk->outer.has_ecn && !walk->outer.has_priority) {
        walk->outer.has_priority = true;
        walk->outer.priority = (uint8_t)(tag >> SMCR_WIRE_VLAN_PRIORITY_AT);
    }
    if (!(tag & SMCR_MASK_VLAN_ID))
        return;
    network->outer_vlan = network->vlan;
    network->vlan = (unsigned)tag & SMCR_MASK_VLAN_ID;
}

/* What follows the MPLS labels: an IP header, or a frame of Ethernet, which may have a control word
 * before it (RFC 4385, 3). */
static bool
read_after_mpls(headers_walk_t *walk)
{
    enum { CONTROL_WORD = 4 };
    const uint8_t *header;

    if (!has_bytes(walk, CONTROL_WORD, &header))
        return false;
    unsigned version = header[0] >> 4;
    walk->read = version == 4 || version == 6 ? read_ip : read_ethernet;
    walk->at += version == 0 ? CONTROL_WORD : 0U;
    return true;
}

/* Reads an MPLS label (RFC 3032, 2.1). The label at the bottom of the stack ends before a packet
 * whose type no header names. */
static bool
read_mpls(headers_walk_t *walk)
{
    enum { LABEL = 4, BOTTOM = 1 };
    const uint8_t *label;

    if (!has_bytes(walk, LABEL, &label))
        return false;
    walk->at += LABEL;
    walk->read = label[2] & BOTTOM ? read_after_mpls : read_mpls;
    return true;
}

/* Reads the header of PPPoE, session stage (RFC 2516, 4), and the protocol of PPP, which has to be
 * IP. */
static bool
read_pppoe(headers_walk_t *walk)
{
    enum { LENGTH = 8, IPV4 = 0x0021, IPV6 = 0x0057 };
    const uint8_t *header;

    if (!has_bytes(walk, LENGTH, &header))
        return false;
    uint16_t protocol = smcr_wire_number16(header + 6);
    walk->read = read_ip;
    walk->at += LENGTH;
    return protocol == IPV4 || protocol == IPV6;
}

/* Reads the header of ERSPAN of type III, with a subheader if the last bit of the header says so.
 * Values of earlier headers are forgotten: they are not of the mirrored frame. */
static bool
read_erspan_3(headers_walk_t *walk)
{
    enum { LENGTH = 12, SUBHEADER = 8 };
    const uint8_t *header;

    if (!has_bytes(walk, LENGTH, &header))
        return false;
    walk->at += LENGTH + (header[LENGTH - 1] & 1U) * SUBHEADER;
    walk->read = read_ethernet;
    enter_mirror(walk);
    return walk->at <= walk->end;
}

static read_t read_tag;

/* Sets the function that reads the next header, by the Ethernet type of this header. Returns false
 * if the type is not known. */
static bool
set_next(headers_walk_t *walk, uint16_t type)
{
    static const struct {
        uint16_t type;
        read_t *read;
    } known[] = {
        {0x0800, read_ip},     {0x86dd, read_ip},     {0x8100, read_tag},      {0x88a8, read_tag},
        {0x9100, read_tag},    {0x8847, read_mpls},   {0x8848, read_mpls},     {0x8864, read_pppoe},
        {0x8915, read_ip},     {0x6558, read_ethernet}, {0x22eb, read_erspan_3},
    };

    walk->read = NULL;
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
        if (known[i].type == type)
            walk->read = known[i].read;
    return walk->read != NULL;
}

/* Skips a header of `length` bytes, which has the type of the next one at offset `type_at`. */
static bool
skip_header(headers_walk_t *walk, uint32_t length, uint32_t type_at)
{
    const uint8_t *header;

    if (!has_bytes(walk, length, &header))
        return false;
    walk->at += length;
    return set_next(walk, smcr_wire_number16(header + type_at));
}

/* A VLAN tag: 2 bytes, and the Ethernet type of the next header. */
static bool
read_tag(headers_walk_t *walk)
{
    const uint8_t *tag;

    if (!has_bytes(walk, 4, &tag))
        return false;
    take_tag(walk, smcr_wire_number16(tag));
    return skip_header(walk, 4, 2);
}

/* The header of Ethernet: two addresses of 6 bytes, then the type of the next header. */
static bool
read_ethernet(headers_walk_t *walk)
{
    return skip_header(walk, 14, 12);
}

/* The header of a Linux cooked capture (SLL), which ends with the type of the next header. */
static bool
read_cooked(headers_walk_t *walk)
{
    return skip_header(walk, 16, 14);
}

/* The header of its second version (SLL2), which begins with the type of the next header. */
static bool
read_cooked_2(headers_walk_t *walk)
{
    return skip_header(walk, 20, 0);
}

/* ---- tunnels ---- */

/* Reads the header of VXLAN (RFC 7348, 5), which ends before a frame of Ethernet. From then on, the
 * network is that of the VNI, a number of 24 bits. */
static bool
read_vxlan(headers_walk_t *walk)
{
    enum { LENGTH = 8 };
    const uint8_t *header;

    if (!has_bytes(walk, LENGTH, &header))
        return false;
    enter_tunnel(walk, SMCR_IB_TUNNEL_VXLAN, (uint32_t)smcr_wire_number(header + 4, 3));
    walk->at += LENGTH;
    walk->read = read_ethernet;
    return true;
}

/* Geneve (RFC 8926, 3.4): length of the options in words of four bytes, type of the next header,
 * VNI of 24 bits. */
static bool
read_geneve(headers_walk_t *walk)
{
    enum { LENGTH = 8, WORDS = 0x3f };
    const uint8_t *header;

    if (!has_bytes(walk, LENGTH, &header))
        return false;
    enter_tunnel(walk, SMCR_IB_TUNNEL_GENEVE, (uint32_t)smcr_wire_number(header + 4, 3));
    return skip_header(walk, LENGTH + 4 * (uint32_t)(header[0] & WORDS), 2);
}

/* Returns the length of a part of the GRE header that exists if its flag is set: 4 or 0 bytes. */
static uint32_t
optional_length(uint8_t flags, uint8_t flag)
{
    return (flags & flag) ? 4 : 0;
}

/* GRE (RFC 2784, RFC 2890): flags, type of the next header; then checksum, key and sequence number
 * of four bytes each, if the flags say so. With the type of ERSPAN, a sequence number means that
 * the eight bytes of ERSPAN II follow. */
static bool
read_gre(headers_walk_t *walk)
{
    enum { CHECKSUM = 0x80, KEY = 0x20, SEQUENCE = 0x10, VERSION = 7, ERSPAN = 0x88be, LENGTH = 4 };
    const uint8_t *header;

    if (!has_bytes(walk, LENGTH, &header) || header[1] & VERSION)
        return false;
    uint32_t key_at = LENGTH + optional_length(header[0], CHECKSUM);
    uint32_t sequence_at = key_at + optional_length(header[0], KEY);
    uint32_t length = sequence_at + optional_length(header[0], SEQUENCE);
    if (!has_bytes(walk, length, &header))
        return false;
    enter_tunnel(walk, SMCR_IB_TUNNEL_GRE,
                 header[0] & KEY ? smcr_wire_number32(header + key_at) : 0);
    if (smcr_wire_number16(header + 2) != ERSPAN)
        return skip_header(walk, length, 2);
    enter_mirror(walk);
    walk->at += length + 2 * optional_length(header[0], SEQUENCE);
    walk->read = read_ethernet;
    return walk->at <= walk->end;
}

/* A UDP header of a tunnel: the destination port names the kind of the tunnel. Other ports are not
 * known. */
static bool
read_udp(headers_walk_t *walk)
{
    enum { LENGTH = 8, VXLAN = 4789, VXLAN_OF_LINUX = 8472, GENEVE = 6081 };
    const uint8_t *header;

    if (!has_bytes(walk, LENGTH, &header))
        return false;
    uint16_t port = smcr_wire_number16(header + 2);
    walk->at += LENGTH;
    walk->read = port == GENEVE ? read_geneve : read_vxlan;
    return port == GENEVE || port == VXLAN || port == VXLAN_OF_LINUX;
}

/* ---- IP ---- */

/* Notes the ECN codepoint in the traffic class of a tunnel's IP header. If a packet is in several
 * tunnels, CE in any of their headers counts. */
static void
take_class(headers_walk_t *walk, uint8_t traffic_class)
{
    uint8_t ecn = traffic_class & SMCR_MASK_ECN;

    walk->outer.has_ecn = true;
    if (walk->outer.ecn != SMCR_WIRE_ECN_CE)
        walk->outer.ecn = ecn;
}

/* Sets the next header by the protocol number of IP. Returns false if the protocol has no header
 * that leads to a tunneled packet. */
static bool
set_next_protocol(headers_walk_t *walk, uint8_t protocol)
{
    enum { IPV4 = 4, UDP = 17, IPV6 = 41, GRE = 47 };

    switch (protocol) {
    case IPV4:
    case IPV6:
        enter_tunnel(walk, SMCR_IB_TUNNEL_IP, 0);
        walk->read = read_ip;
        return true;
    case GRE:
        walk->read = read_gre;
        return true;
    default:
        walk->read = read_udp;
        return protocol == UDP;
    }
}

/* Skips the extension headers of IPv6 (RFC 8200, 4). Returns the protocol number after them. */
static uint8_t
skip_extensions(headers_walk_t *walk, uint8_t protocol)
{
    enum { HOP_BY_HOP = 0, ROUTING = 43, DESTINATION = 60 };
    const uint8_t *header;

    while (has_bytes(walk, 8, &header) &&
           (protocol == HOP_BY_HOP || protocol == ROUTING || protocol == DESTINATION)) {
        protocol = header[0];
        walk->at += MIN(8 * (header[1] + 1U), walk->end - walk->at);
    }
    return protocol;
}

/* Reads the IP header of a tunnel, and its class if it has one. Returns whether the walk goes on:
 * false if the header is cut off, is of neither IP version, or no header that this walk knows
 * follows. The IP header of the packet itself is at `end`, and is not read. */
static bool
read_ip(headers_walk_t *walk)
{
    enum { IPV4_LENGTH = 20, IPV6_LENGTH = 40, IPV4_PROTOCOL_AT = 9, IPV6_NEXT_AT = 6 };
    const uint8_t *header;

    if (!has_bytes(walk, IPV4_LENGTH, &header))
        return false;
    if (header[0] >> 4 == 4) {
        take_class(walk, header[1]);
        walk->at += MAX(4 * (header[0] & 0xfU), IPV4_LENGTH);
        return walk->at <= walk->end && set_next_protocol(walk, header[IPV4_PROTOCOL_AT]);
    }
    if (header[0] >> 4 != 6 || !has_bytes(walk, IPV6_LENGTH, &header))
        return false;
    take_class(walk, (uint8_t)(smcr_wire_number16(header) >> 4));
    walk->at += IPV6_LENGTH;
    return set_next_protocol(walk, skip_extensions(walk, header[IPV6_NEXT_AT]));
}

/* ---- the walk ---- */

/* Returns the header with which the frame begins. LINK_OTHER: Wireshark has another type for the
 * frame, and its headers are not read. */
static link_t
link_of(const packet_info *pinfo)
{
    switch (pinfo->rec->rec_header.packet_header.pkt_encap) {
    case WTAP_ENCAP_ETHERNET:
        return LINK_ETHERNET;
    case WTAP_ENCAP_SLL:
        return LINK_COOKED;
    case WTAP_ENCAP_SLL2:
        return LINK_COOKED_2;
    case WTAP_ENCAP_RAW_IP:
    case WTAP_ENCAP_RAW_IP4:
    case WTAP_ENCAP_RAW_IP6:
        return LINK_IP;
    default:
        return LINK_OTHER;
    }
}

/* Each function of the walk sets the next one, or NULL after a header that it does not know. The
 * walk has to end exactly at `end`, else the network of the packet is not known. */
smcr_ib_outer_t
smcr_host_encapsulation_read(const packet_info *pinfo, uint32_t end)
{
    static read_t *const first[] = {
        [LINK_ETHERNET] = read_ethernet,
        [LINK_COOKED] = read_cooked,
        [LINK_COOKED_2] = read_cooked_2,
        [LINK_IP] = read_ip,
        [LINK_OTHER] = NULL,
    };
    headers_walk_t walk = {.bytes = smcr_host_bytes_of_frame(pinfo).bytes,
                           .end = end,
                           .read = first[link_of(pinfo)]};

    while (walk.at < end && walk.read)
        if (!walk.read(&walk))
            return (smcr_ib_outer_t){.ecn = 0};
    return walk.at == end ? walk.outer : (smcr_ib_outer_t){.ecn = 0};
}
