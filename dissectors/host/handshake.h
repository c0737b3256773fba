/* Attaches connections of `state` to Wireshark's TCP conversations, for the dissectors of the TCP
 * option and of CLC. Also: addresses of a connection's ends; the packet that the user has
 * selected.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "compat.h"
#include "state/state.h"

/* Ids that Wireshark has given to protocols and fields; not set before the hand-off. */
typedef struct {
    int proto;      /* protocol TCP */
    int hf_stream;  /* field tcp.stream */
    int hf_payload; /* field tcp.payload */
    int proto_data; /* protocol "data", of bytes that no other dissector knows */
} smcr_handshake_tcp_ids_t;

/* Returns these ids. They do not change after the hand-off. */
const smcr_handshake_tcp_ids_t *smcr_handshake_tcp_ids(void);

/* Looks up the ids, and the dissector `smcr` of CLC; called once, after all protocols have
 * registered. */
void smcr_handshake_handoff(void);

/* Registers the wrapper that is called instead of TCP's dissector; called once, when protocols
 * register. The wrapper is active in an open file from the first connection of SMC-R on. It has to
 * call smcr_handshake_original(). */
void smcr_handshake_wrap(dissector_t wrapper);

/* Calls TCP's dissector, as Wireshark would have without the wrapper. Returns its result. */
int smcr_handshake_original(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Sets the bypass, and returns the former one. Called before and after a call of TCP's dissector
 * with bytes that are no CLC: with their conversation before the call, with the former bypass after
 * it. In between, the CLC dissector passes all bytes to the dissector that `conversation` had
 * before our claim. Bypasses nest within a packet. The second call must also be made if TCP's
 * dissector throws an exception. */
conversation_t *smcr_handshake_set_bypass(conversation_t *conversation);

/* Returns the conversation of the innermost bypass; NULL: none is set. */
conversation_t *smcr_handshake_bypass(void);

/* ---- the two ends of a connection ---- */

/* Sets `addr` to the address of the TCP connection's client (`role` 0) or server (1). The TCP
 * connection must be known. The bytes of the address live as long as the connection. */
void smcr_endpoint_tcp_address(const smcr_conn_t *conn, unsigned role, address *addr);

/* Sets address and port (host order) of an end. If the TCP connection is not known, these are GID
 * and number of the link's queue pair, as in Wireshark's InfiniBand. If it is not known which side
 * is the client, `role` is a side. Returns false if the queue pair is not known, either. */
bool smcr_endpoint_address(const smcr_conn_t *conn, unsigned role, address *addr, uint32_t *port);

/* Returns the role of the connection's side: 0 client, 1 server. While the role is not known,
 * returns the side itself. */
unsigned smcr_endpoint_role(const smcr_conn_t *conn, int side);

/* Sets `addr` to the address in a GID: IPv4 if the GID is IPv4-mapped, else IPv6. The bytes of
 * `addr` are those of the GID. */
void smcr_endpoint_of_gid(const uint8_t gid[SMCR_GID_LENGTH], address *addr);

/* Writes an address as a GID: IPv4 becomes IPv4-mapped; other types than IPv4 and IPv6 become all
 * zeros. */
static inline void
smcr_endpoint_gid(const address *from, uint8_t gid[SMCR_GID_LENGTH])
{
    memset(gid, 0, SMCR_GID_LENGTH);
    if (from->type == AT_IPv4 && from->len == SMCR_GID_IPV4_LENGTH)
        smcr_gid_map_ipv4(gid, from->data);
    else if (from->len == SMCR_GID_LENGTH)
        memcpy(gid, from->data, SMCR_GID_LENGTH);
}

/* The two ends that dissectors above TCP see: client and server of a TCP connection. If the TCP
 * connection is not known, a stand-in takes its place: a conversation between the queue pairs'
 * addresses. The ends of a stand-in are side 0 and side 1, numbered as they were before any swap of
 * sides. */
typedef struct {
    conversation_t *conversation; /* conversation of TCP, or the stand-in */
    wmem_tree_t *dissectors;      /* dissectors of the application that have claimed the
                                     conversation, by frame. CLC has its own claim, for TCP's
                                     segments */
    address addr[2];              /* addresses of the ends */
    uint32_t port[2];             /* ports of the ends, host order; of a stand-in above 65535 */
    uint32_t stream;              /* value of tcp.stream */
    uint32_t server_port;         /* pinfo->match_uint for dissectors that were not found by a port;
                                     0: match_uint does not change */
} smcr_handshake_ends_t;

/* The tcp.stream of a stand-in is this plus the number of the connection, so that TCP's own numbers
 * do not change. */
#define SMCR_HANDSHAKE_STAND_IN 1000000000u

/* Makes the ends of the connection, in the first pass. They live as long as the file. */
smcr_handshake_ends_t *smcr_handshake_ends(const packet_info *pinfo, const smcr_conn_t *conn);

/* Gives the packet addresses and ports of a TCP segment from the end `sender`. */
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

/* Returns the dissector of the application that a conversation has in this frame, by its tree of
 * dissectors: one that has claimed the conversation after us, or one that our claim has replaced.
 * NULL: there is only ours. */
dissector_handle_t smcr_handshake_app_dissector(wmem_tree_t *dissectors, uint32_t frame);

/* Returns the connection of this TCP packet; NULL: the TCP connection has had no sign of SMC. */
smcr_conn_t *smcr_handshake_find_conn(packet_info *pinfo);

/* First pass: returns the connection of this TCP packet, which is made if there is none.
 * `from_client`: the client sends this packet. From this frame on, the bytes of the conversation
 * come to the CLC dissector first, whatever the ports are. */
smcr_conn_t *smcr_handshake_claim_conversation(packet_info *pinfo, bool from_client);

/* First pass: gives the connection the TCP conversation of the addresses and ports that a host has
 * reported. */
void smcr_handshake_set_conversation(packet_info *pinfo, smcr_conn_t *conn);

/* First pass: returns whether the TCP connection has been reset before this frame. */
bool smcr_handshake_was_reset(const smcr_conn_t *conn);

/* First pass: returns whether the client (`role` 0) or the server (1) has sent a FIN before this
 * frame, and before the other end did. */
bool smcr_handshake_began_to_close(const smcr_conn_t *conn, unsigned role);

/* First pass: returns whether the capture has had the SYN and the SYN-ACK. */
bool smcr_handshake_has_syns(const smcr_conn_t *conn);

/* Returns the time from the client's SYN to the acknowledgement of the SYN-ACK; NULL: not known. */
const nstime_t *smcr_handshake_initial_rtt(const smcr_conn_t *conn);

/* Returns whether the connection's client sends this TCP packet. */
bool smcr_handshake_from_client(const packet_info *pinfo, const smcr_conn_t *conn);

/* ---- the packet that the user has selected, for the menus ---- */

/* Fills in the record of the frame's outermost packet, completed with facts from later packets.
 * Returns false if there is none; `record` is then not changed. */
bool smcr_selected_record(const packet_info *pinfo, smcr_record_t *record);

/* Returns the connection of the packet: by its TCP conversation, which also finds the connection of
 * segments without messages, else by its record. NULL: none is known. */
const smcr_conn_t *smcr_selected_conn(packet_info *pinfo);
