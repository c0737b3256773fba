/* Finds IP headers by their addresses, whatever bytes come before and after them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "ip_packet.h"

#include "wire/wire.h"

#define ICMP_HEADER 8 /* length of the ICMP header before the quoted packet, bytes */
#define IPV4_FRAGMENT 0x3fff /* bits that are set only in fragments: "more fragments", and the
                                fragment offset */

/* A version of IP. Offsets are in bytes from the beginning of the header. */
typedef struct {
    uint8_t version;  /* 4 or 6 */
    uint8_t shortest; /* shortest length of a header, bytes */
    uint8_t addresses, next, hop_limit; /* offsets of these fields */
    uint8_t icmp;     /* protocol number of ICMP for this version of IP */
} kind_t;

static const kind_t ipv4 = {4, 20, 12, 9, 8, 1}, ipv6 = {6, 40, 8, 6, 7, 58};

/* No bytes and NULL are the same: {NULL, 0}. */
smcr_host_bytes_t
smcr_host_bytes_of(tvbuff_t *tvb)
{
    uint32_t length = tvb ? (uint32_t)tvb_captured_length(tvb) : 0;

    if (!length)
        return (smcr_host_bytes_t){NULL, 0};
    return (smcr_host_bytes_t){tvb_get_ptr(tvb, 0, (int)length), length};
}

smcr_host_bytes_t
smcr_host_bytes_of_frame(const packet_info *pinfo)
{
    const GSList *frame = pinfo->data_src; /* Wireshark's first data source is the frame itself */

    return smcr_host_bytes_of(frame ? get_data_source_tvb(frame->data) : NULL);
}

/* Returns the kind of IP header that has addresses of this type; NULL: it is no IP address. */
static const kind_t *
kind_of(const address *addr)
{
    if (addr->type == AT_IPv4)
        return &ipv4;
    return addr->type == AT_IPv6 ? &ipv6 : NULL;
}

/* Returns the length in bytes of the IP header at `offset`; 0: there is no IP header of this
 * version. */
static uint32_t
header_length(smcr_host_bytes_t bytes, uint32_t offset, const kind_t *kind)
{
    if (offset > bytes.length || bytes.length - offset < kind->shortest ||
        bytes.bytes[offset] >> 4 != kind->version)
        return 0;
    uint32_t length = kind == &ipv4 ? 4 * (uint32_t)(bytes.bytes[offset] & 0xf) : kind->shortest;
    return length >= kind->shortest && length <= bytes.length - offset ? length : 0;
}

/* Reads an IP header into `*ip`, numbers in host byte order. `length`: length of the header, from
 * header_length(). Members that only IPv4 has are -1 or false for IPv6. */
static void
read_header(smcr_host_bytes_t bytes, uint32_t offset, const kind_t *kind, uint32_t length,
            smcr_host_ip_packet_t *ip)
{
    const uint8_t *header = &bytes.bytes[offset];

    *ip = (smcr_host_ip_packet_t){
        .offset = offset,
        .version = kind->version,
        .header_length = (uint8_t)length,
        .next = header[kind->next],
        .hop_limit = header[kind->hop_limit],
        .id = -1,
    };
    if (kind == &ipv4) {
        ip->total_length = smcr_wire_number16(header + 2);
        ip->traffic_class = header[1];
        ip->id = smcr_wire_number16(header + 4);
        ip->is_fragment = (smcr_wire_number16(header + 6) & IPV4_FRAGMENT) != 0;
        return;
    }
    uint16_t payload = smcr_wire_number16(header + 4);
    /* Two kinds of packets have the length 0: a jumbogram (RFC 2675, 3), and a packet that the
     * sender's adapter will split. */
    ip->total_length = payload ? (uint32_t)kind->shortest + payload : 0;
    ip->traffic_class = (uint8_t)(smcr_wire_number16(header) >> 4);
}

/* The addresses of a header begin with that of its source. */
void
smcr_host_ip_packet_source(smcr_host_bytes_t bytes, const smcr_host_ip_packet_t *ip,
                           uint8_t *gid)
{
    const kind_t *kind = ip->version == ipv4.version ? &ipv4 : &ipv6;
    const uint8_t *source = &bytes.bytes[ip->offset + kind->addresses];

    if (kind == &ipv4)
        smcr_gid_map_ipv4(gid, source);
    else
        memcpy(gid, source, SMCR_GID_LENGTH);
}

/* ---- by addresses ---- */

/* The IP header that a function looks for. */
typedef struct {
    const kind_t *kind; /* version of IP; NULL: the addresses are not IPv4 and not IPv6 */
    const address *src; /* source address that the header must have */
    const address *dst; /* destination address that the header must have; NULL: any */
} wanted_header_t;

static wanted_header_t
wanted_header(const address *src, const address *dst)
{
    return (wanted_header_t){.kind = kind_of(src), .src = src, .dst = dst};
}

/* Whether the two addresses at `addresses` are the wanted ones. */
static bool
addresses_match(const uint8_t *addresses, const wanted_header_t *wanted)
{
    const address *src = wanted->src, *dst = wanted->dst;
    size_t size = (size_t)src->len;

    if (memcmp(addresses, src->data, size) != 0)
        return false;
    return !dst || (dst->type == src->type && memcmp(addresses + size, dst->data, size) == 0);
}

/* Reads the wanted header if it is at `offset` and ends at or before `end`. Returns whether the
 * header was found. */
static bool
read_wanted_header(smcr_host_bytes_t bytes, uint32_t offset, uint32_t end,
                   const wanted_header_t *wanted,
                   smcr_host_ip_packet_t *ip)
{
    uint32_t length = header_length(bytes, offset, wanted->kind);

    if (!length || offset + length > end)
        return false;
    if (!addresses_match(&bytes.bytes[offset + wanted->kind->addresses], wanted))
        return false;
    read_header(bytes, offset, wanted->kind, length, ip);
    return true;
}

bool
smcr_host_ip_packet_at(smcr_host_bytes_t bytes, uint32_t offset, const address *src,
                       const address *dst, smcr_host_ip_packet_t *ip)
{
    const wanted_header_t wanted = wanted_header(src, dst);

    return wanted.kind && read_wanted_header(bytes, offset, bytes.length, &wanted, ip);
}

/* Goes from `end` backwards, so the innermost header is found. */
bool
smcr_host_ip_packet_before(smcr_host_bytes_t bytes, uint32_t end, const address *src,
                           const address *dst, smcr_host_ip_packet_t *ip)
{
    const wanted_header_t wanted = wanted_header(src, dst);

    if (!wanted.kind || end < wanted.kind->shortest || end > bytes.length)
        return false;
    for (uint32_t after = end - wanted.kind->shortest + 1; after > 0; after--) {
        if (read_wanted_header(bytes, after - 1, end, &wanted, ip))
            return true;
    }
    return false;
}

/* The lowest offset wins, so the outer one of two equal headers is found. */
bool
smcr_host_ip_packet_first(smcr_host_bytes_t bytes, const address *src, const address *dst,
                          smcr_host_ip_packet_t *ip)
{
    const wanted_header_t wanted = wanted_header(src, dst);

    for (uint32_t offset = 0; wanted.kind && offset < bytes.length; offset++) {
        if (read_wanted_header(bytes, offset, bytes.length, &wanted, ip))
            return true;
    }
    return false;
}

/* ---- errors ---- */

/* Only a header that ends exactly before the ICMP header and names ICMP is taken: other bytes of
 * the frame may look like an IP header. */
bool
smcr_host_ip_packet_of_error(smcr_host_bytes_t bytes, uint32_t quote, smcr_host_ip_packet_t *ip)
{
    for (uint32_t offset = 0; offset < quote; offset++) {
        const kind_t *kind = header_length(bytes, offset, &ipv4) ? &ipv4 : &ipv6;
        uint32_t length = header_length(bytes, offset, kind);

        if (length && offset + length + ICMP_HEADER == quote &&
            bytes.bytes[offset + kind->next] == kind->icmp) {
            read_header(bytes, offset, kind, length, ip);
            return true;
        }
    }
    return false;
}

/* Only an ICMP header directly after the IP header counts. */
bool
smcr_host_ip_packet_quoted(smcr_host_bytes_t bytes, const smcr_host_ip_packet_t *error,
                           smcr_host_ip_packet_t *ip)
{
    const kind_t *kind = error->version == ipv4.version ? &ipv4 : &ipv6;
    uint32_t quote = error->offset + error->header_length + ICMP_HEADER;
    uint32_t length = error->next == kind->icmp ? header_length(bytes, quote, kind) : 0;

    if (length)
        read_header(bytes, quote, kind, length, ip);
    return length != 0;
}
