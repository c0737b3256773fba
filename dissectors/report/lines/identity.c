/* Names of connections and links: Community ID, and our own `uid`, which has TCP's initial sequence
 * numbers, too, so that two connections with the same ports have different names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "identity.h"

#include <epan/ipproto.h>
#include <wsutil/inet_addr.h>

#include "host/host.h"

#define SHA1_LENGTH 20 /* length of a SHA-1 digest, bytes */
#define UID_BYTES 12   /* bytes of the SHA-1 that make a name: 16 characters of base64 */

/* ---- Community ID ---- */

/* One end of a TCP connection. */
typedef struct {
    uint8_t addr[SMCR_GID_LENGTH]; /* address in network byte order */
    uint8_t port[2];               /* port in network byte order */
    unsigned length;               /* length of the address, bytes; 0: it is no IP address */
} end_t;

/* Returns the end as the hash of a Community ID takes it: address and port in network byte order.
 * An address that is not known, or that is no IP address, has the length 0. */
static end_t
end_of(const char *addr, uint16_t port)
{
    end_t end = {.port = {(uint8_t)(port >> 8), (uint8_t)port}};
    ws_in4_addr ipv4;
    ws_in6_addr ipv6;

    if (addr && ws_inet_pton4(addr, &ipv4)) {
        end.length = sizeof ipv4;
        memcpy(end.addr, &ipv4, sizeof ipv4);
    } else if (addr && ws_inet_pton6(addr, &ipv6)) {
        end.length = sizeof ipv6;
        memcpy(end.addr, &ipv6, sizeof ipv6);
    }
    return end;
}

/* Whether `one` comes before `other`: by address, then by port. */
static bool
is_first(const end_t *one, const end_t *other)
{
    int order = memcmp(one->addr, other->addr, one->length);

    return order ? order < 0 : memcmp(one->port, other->port, sizeof one->port) < 0;
}

/* Returns the Community ID, version 1 with the seed 0, of a TCP connection, allocated in `scope`.
 * `addr`, `port`: the two ends in any order; addresses as text. NULL: an address is not one of IPv4
 * or IPv6, or one is of IPv4 and the other of IPv6. */
static const char *
community_id(wmem_allocator_t *scope, const char *const addr[2], const uint16_t port[2])
{
    static const uint8_t seed[2], protocol[2] = {IP_PROTO_TCP, 0}; /* the second byte is padding */
    end_t one = end_of(addr[0], port[0]), other = end_of(addr[1], port[1]);
    bool in_order = is_first(&one, &other);
    const end_t *first = in_order ? &one : &other, *second = in_order ? &other : &one;
    uint8_t digest[SHA1_LENGTH];
    gsize length = sizeof digest;

    if (!one.length || one.length != other.length)
        return NULL;
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA1);
    g_checksum_update(sum, seed, sizeof seed);
    g_checksum_update(sum, first->addr, (gssize)first->length);
    g_checksum_update(sum, second->addr, (gssize)second->length);
    g_checksum_update(sum, protocol, sizeof protocol);
    g_checksum_update(sum, first->port, sizeof first->port);
    g_checksum_update(sum, second->port, sizeof second->port);
    g_checksum_get_digest(sum, digest, &length);
    g_checksum_free(sum);
    char *text = g_base64_encode(digest, length);
    const char *id = wmem_strdup_printf(scope, "1:%s", text);
    g_free(text);
    return id;
}

/* ---- our own names ---- */

/* Returns the name that a text makes: the first bytes of its SHA-1 in the alphabet of base64url
 * (RFC 4648, section 5), so that a name may be a part of an URL or of a file's name. */
static const char *
uid_of(wmem_allocator_t *scope, const char *text)
{
    uint8_t digest[SHA1_LENGTH];
    gsize length = sizeof digest;
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA1);

    g_checksum_update(sum, (const guchar *)text, -1);
    g_checksum_get_digest(sum, digest, &length);
    g_checksum_free(sum);
    char *encoded = g_base64_encode(digest, UID_BYTES);
    char *uid = wmem_strdup(scope, encoded);
    g_free(encoded);
    g_strdelimit(uid, "+", '-');
    return g_strdelimit(uid, "/", '_');
}

/* Returns the number as text; "-" if it is not known. */
static const char *
number_text(wmem_allocator_t *scope, uint64_t number)
{
    return number == SMCR_FIGURE_UNKNOWN ? "-" : wmem_strdup_printf(scope, "%" PRIu64, number);
}

/* Fills in the names that addresses, ports and initial sequence numbers make. Arrays are by role,
 * or in the order of the addresses if the roles are not known. */
static void
name_by_tcp(smcr_entry_line_t *line, const char *const addr[2], const uint16_t port[2],
            const uint64_t isn[2], wmem_allocator_t *scope)
{
    const char *text = wmem_strdup_printf(scope, "%s %u %s %u %s %s", addr[0], port[0], addr[1],
                                          port[1], number_text(scope, isn[0]),
                                          number_text(scope, isn[1]));

    line->community_id = community_id(scope, addr, port);
    line->uid = uid_of(scope, text);
    line->uid_partial =
        smcr_figure_truth(isn[0] == SMCR_FIGURE_UNKNOWN || isn[1] == SMCR_FIGURE_UNKNOWN);
}

/* Adds the keys of the connection on a link: one for each side whose GID, queue pair and alert
 * token are known. The queue pair stands for the link group: its number and GID are in each packet,
 * while peer IDs are in CLC only. */
static void
add_keys(smcr_entry_line_t *line, const smcr_collection_subject_t *subject,
         const smcr_link_t *link, wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = subject->conn;

    for (int side = 0; side < 2; side++) {
        const smcr_qp_t *qp = &link->qp[side];
        const char *gid = qp->gid_known ? smcr_figure_gid_text(scope, qp->key.gid) : NULL;
        if (!gid || !qp->number_known || !conn->side[side].has_token)
            continue;
        smcr_figure_texts_t *keys =
            side == subject->client ? &line->client_keys : &line->server_keys;
        smcr_figure_texts_add(keys, scope,
                              wmem_strdup_printf(scope, "%s/0x%x/0x%x", gid, qp->key.qpn,
                                                 conn->side[side].token));
    }
}

/* Whether other files may have a part of the connection: its beginning is not in this file, or its
 * end was not there long enough before the line was written. */
static bool
may_have_other_parts(const smcr_entry_line_t *line)
{
    return line->uid_partial == SMCR_FIGURE_YES || line->ended != SMCR_FIGURE_LINE_END_ENDED;
}

/* Returns the lowest of the keys and of `lowest`; NULL: there is none. */
static const char *
lowest_key(const smcr_figure_texts_t *keys, const char *lowest)
{
    for (uint32_t i = 0; i < keys->length; i++)
        if (!lowest || strcmp(keys->texts[i], lowest) < 0)
            lowest = keys->texts[i];
    return lowest;
}

/* Returns a name that is unique only within the file: the number of the connection and the time of
 * its first frame. */
static const char *
name_in_file(const smcr_entry_connection_t *entry, wmem_allocator_t *scope)
{
    return wmem_strdup_printf(scope, "%" PRIu64 " %" PRIu64, entry->stream,
                              entry->first_frame.time);
}

/* The uid has to be the same in each file that has a part of the connection. So it is made of the
 * ends and initial sequence numbers, or of keys of RoCE; of numbers of this file only if there is
 * no key. */
void
smcr_lines_name_connection(smcr_entry_line_t *line, const smcr_collection_subject_t *subject,
                           wmem_allocator_t *scope)
{
    const smcr_entry_connection_t *entry = line->connection;
    const smcr_conn_t *conn = subject->conn;

    for (unsigned i = 0; i < wmem_array_get_count(subject->links); i++)
        add_keys(line, subject, *(const smcr_link_t **)wmem_array_index(subject->links, i), scope);
    if (entry->client.addr && entry->server.addr) {
        const char *const addr[2] = {entry->client.addr, entry->server.addr};
        const uint16_t port[2] = {(uint16_t)entry->client.port, (uint16_t)entry->server.port};
        const uint64_t isn[2] = {entry->tcp_isn.client, entry->tcp_isn.server};
        name_by_tcp(line, addr, port, isn, scope);
        if (!may_have_other_parts(line))
            line->client_keys.length = line->server_keys.length = 0;
        return;
    }
    if (conn->conversation) { /* it is not known which end is the client */
        address ends[2];
        const uint64_t isn[2] = {SMCR_FIGURE_UNKNOWN, SMCR_FIGURE_UNKNOWN};
        smcr_endpoint_tcp_address(conn, 0, &ends[0]);
        smcr_endpoint_tcp_address(conn, 1, &ends[1]);
        const char *const addr[2] = {address_to_str(scope, &ends[0]),
                                     address_to_str(scope, &ends[1])};
        name_by_tcp(line, addr, conn->port, isn, scope);
        return;
    }
    const char *key = lowest_key(&line->client_keys, lowest_key(&line->server_keys, NULL));
    line->uid = uid_of(scope, key ? key : name_in_file(entry, scope));
    line->uid_partial = SMCR_FIGURE_YES;
}

/* The client is index 0 in all three arrays, as far as the client is known: the uid depends on this
 * order. */
void
smcr_lines_name_tcp(smcr_entry_line_t *line, bool is_up, wmem_allocator_t *scope)
{
    const smcr_entry_tcp_t *entry = line->tcp;
    const char *const addr[2] = {is_up ? entry->src : entry->dst, is_up ? entry->dst : entry->src};
    const uint16_t port[2] = {(uint16_t)(is_up ? entry->src_port : entry->dst_port),
                              (uint16_t)(is_up ? entry->dst_port : entry->src_port)};
    const uint64_t isn[2] = {entry->tcp_isn.client, entry->tcp_isn.server};

    name_by_tcp(line, addr, port, isn, scope);
}

/* ---- links ---- */

/* Returns the name of a queue pair: its GID and its number. Sets `*is_partial` if one is not
 * known. */
static const char *
queue_pair_name(wmem_allocator_t *scope, const smcr_entry_queue_pair_t *qp, bool *is_partial)
{
    *is_partial |= !qp->gid || qp->qpn == SMCR_FIGURE_UNKNOWN;
    return wmem_strdup_printf(scope, "%s/%s", qp->gid ? qp->gid : "-",
                              number_text(scope, qp->qpn));
}

/* The order of the two names is that of the texts, so that captures of both hosts give the link the
 * same uid. */
const char *
smcr_lines_link_uid(wmem_allocator_t *scope, const smcr_entry_link_t *link, bool *is_partial)
{
    const char *one = queue_pair_name(scope, &link->client, is_partial);
    const char *other = queue_pair_name(scope, &link->server, is_partial);
    bool in_order = strcmp(one, other) < 0;

    return uid_of(scope, wmem_strdup_printf(scope, "%s %s", in_order ? one : other,
                                            in_order ? other : one));
}
