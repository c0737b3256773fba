/* What Wireshark's TCP conversation and our connection have to do with each other: shared by the
 * TCP option and CLC dissectors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "state/state.h"

/* Ids of Wireshark's TCP: its protocol, the fields tcp.stream and tcp.payload; and the
 * protocol of bytes that no dissector above it knows. */
typedef struct {
    int proto;
    int hf_stream;
    int hf_payload;
    int proto_data;
} smcr_handshake_tcp_ids_t;

const smcr_handshake_tcp_ids_t *smcr_handshake_tcp_ids(void);

/* Looks up what this file needs of others, the dissector `smcr` of CLC among them; called once,
 * after all protocols have registered. */
void smcr_handshake_handoff(void);

/* Called once, when protocols register: what is put in front of TCP's dissector while a file is
 * open, from the first connection on. It calls smcr_handshake_original(). */
void smcr_handshake_wrap(dissector_t wrapper);

/* Calls TCP's dissector. */
int smcr_handshake_original(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Before and after a call of TCP whose bytes are no CLC. In between, the CLC dissector hands on
 * what comes to it, to a dissector that `conversation` may have below our claim. Calls nest within
 * a packet: what the first returns, the second takes. An exception must not pass by the second. */
conversation_t *smcr_handshake_set_bypass(conversation_t *conversation);

/* The conversation of the innermost such call, NULL outside of one. */
conversation_t *smcr_handshake_bypass(void);

/* ---- the two ends of a connection ---- */

/* The address of the TCP connection's client (`role` 0) or server (1), which must be known. It
 * lives as long as the connection. */
void smcr_endpoint_tcp_address(const smcr_conn_t *conn, unsigned role, address *addr);

/* The same and the port. Where the TCP connection is not known: GID and queue pair number of the
 * link's queue pair, as InfiniBand has it; then 0 is side 0 while it is not known which the client
 * is. Returns false when that is not known either. */
bool smcr_endpoint_address(const smcr_conn_t *conn, unsigned role, address *addr, uint32_t *port);

/* Which role the connection's side has: 0 client, 1 server; the side itself while not known. */
unsigned smcr_endpoint_role(const smcr_conn_t *conn, int side);

/* The address that a GID is; it points into the GID. */
void smcr_endpoint_of_gid(const uint8_t gid[SMCR_GID_LENGTH], address *addr);

/* Writes an address as a GID; addresses that are none become all zeros. */
static inline void
smcr_endpoint_gid(const address *from, uint8_t gid[SMCR_GID_LENGTH])
{
    memset(gid, 0, SMCR_GID_LENGTH);
    if (from->type == AT_IPv4 && from->len == SMCR_GID_IPV4_LENGTH)
        smcr_gid_map_ipv4(gid, from->data);
    else if (from->len == SMCR_GID_LENGTH)
        memcpy(gid, from->data, SMCR_GID_LENGTH);
}

/* Whose bytes dissectors above TCP see: those of a TCP connection, from client and server, or of
 * what stands in for one that is not known, from sides as they were before they changed places. */
typedef struct {
    conversation_t *conversation;
    wmem_tree_t *dissectors; /* that have taken it, by frame: TCP's segments still come to CLC */
    address addr[2];
    uint32_t port[2];
    uint32_t stream; /* tcp.stream */
    uint32_t server_port; /* for dissectors that nobody has found by a port; 0: for others */
} smcr_handshake_ends_t;

/* What stands in has this tcp.stream, plus its connection's number: those of TCP stay the same. */
#define SMCR_HANDSHAKE_STAND_IN 1000000000u

/* The ends of the connection. What stands in is a conversation between the addresses of its queue
 * pairs, and ports that TCP does not have. First pass. */
smcr_handshake_ends_t *smcr_handshake_ends(const packet_info *pinfo, const smcr_conn_t *conn);

/* What the end `sender` sends looks as a segment of TCP does. */
static inline void
smcr_handshake_set_ends(packet_info *pinfo, const smcr_handshake_ends_t *ends, unsigned sender)
{
    pinfo->src = pinfo->net_src = ends->addr[sender];
    pinfo->dst = pinfo->net_dst = ends->addr[!sender];
    pinfo->ptype = PT_TCP;
    pinfo->srcport = ends->port[sender];
    pinfo->destport = ends->port[!sender];
}

/* ---- the connection of a TCP packet ---- */

/* Of the dissectors of a conversation, that of all of it in this frame: one above our claim, or one
 * that it hides. NULL: there is none but ours. */
dissector_handle_t smcr_handshake_other(wmem_tree_t *dissectors, uint32_t frame);

/* The connection of this TCP packet, NULL when nothing of SMC has been seen on it. */
smcr_conn_t *smcr_handshake_find(packet_info *pinfo);

/* First pass: the connection of this TCP packet, made when it is not there. `from_client` says
 * who sends this packet. From this frame on the conversation's bytes come to the CLC dissector
 * first, whatever its port. */
smcr_conn_t *smcr_handshake_claim(packet_info *pinfo, bool from_client);

/* First pass: a host has named the connection, which gets the conversation of its addresses. */
void smcr_handshake_adopt(packet_info *pinfo, smcr_conn_t *conn);

/* First pass: whether the TCP connection has been reset before this frame. */
bool smcr_handshake_was_reset(const smcr_conn_t *conn);

/* First pass: whether the connection's client (`role` 0) or server (1) has closed the TCP
 * connection before this frame, and before the other one. */
bool smcr_handshake_began_to_close(const smcr_conn_t *conn, unsigned role);

/* First pass: whether the capture has had the SYN and the SYN-ACK. */
bool smcr_handshake_has_syns(const smcr_conn_t *conn);

/* From the client's SYN to the acknowledgement of the SYN-ACK; NULL: not known. */
const nstime_t *smcr_handshake_initial_rtt(const smcr_conn_t *conn);

/* Whether the connection's client sends this TCP packet. */
bool smcr_handshake_from_client(const packet_info *pinfo, const smcr_conn_t *conn);

/* ---- the packet that the user has selected, for the menus ---- */

/* The record of the frame's outermost packet, with what has turned out since. Returns false when
 * there is none; `record` is then not changed. */
bool smcr_selected_record(const packet_info *pinfo, smcr_record_t *record);

/* The connection that the packet belongs to, by TCP or by its record: bare segments of TCP have
 * one, too. NULL: to none that is known. */
const smcr_conn_t *smcr_selected_conn(packet_info *pinfo);
