/* Attaches SMC-R connections of the state to Wireshark's TCP conversations, for the dissectors of
 * the TCP option and of CLC. Also finds the addresses of a connection's ends, and the record of the
 * packet that the user has selected.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "compat.h"
#include "state/state.h"

/* Ids that Wireshark has given to protocols and fields of other dissectors. Not set before
 * smcr_handshake_handoff() is called. */
typedef struct {
    int proto;      /* protocol TCP */
    int hf_stream;  /* field tcp.stream */
    int hf_payload; /* field tcp.payload */
    int proto_data; /* protocol "data", of bytes that no other dissector knows */
} smcr_handshake_tcp_ids_t;

/* Returns the ids of protocols and fields. They do not change after the hand-off. */
const smcr_handshake_tcp_ids_t *smcr_handshake_tcp_ids(void);

/* Looks up the ids of protocols and fields, and the CLC dissector `smcr`; called once, after all
 * protocols have registered. */
void smcr_handshake_handoff(void);

/* Registers the wrapper that is called instead of TCP's dissector; called once, when protocols
 * register. In an open file, the wrapper is active from the first TCP connection on that shows a
 * sign of SMC: the option, a CLC message, a report of a host, data copied by a tap in a kernel. It
 * is active, too, from the first damaged segment of such a handshake on. If the file has several
 * capture points, it is active from the first RoCE packet on, too; if all of TCP is compared at
 * them (smcr_capture_compares_all_tcp()), from the first frame on. It has to call
 * smcr_handshake_original(). */
void smcr_handshake_wrap(dissector_t wrapper);

/* First pass: puts the wrapper in the place of TCP's dissector, from the next segment of the file
 * on. Does nothing if it is there already. */
void smcr_handshake_watch_segments(void);

/* Whether the wrapper is in the place of TCP's dissector. */
bool smcr_handshake_watches_segments(void);

/* Calls TCP's dissector, as Wireshark would have without the wrapper. Returns its result. */
int smcr_handshake_original(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Sets the bypass of the CLC dissector, and returns the previous bypass. While the bypass is a
 * conversation, the CLC dissector passes all bytes to the dissector that this conversation had
 * before the plugin claimed it. The caller sets the bypass before it calls TCP's dissector with
 * bytes that are not CLC. After that call, the caller sets the bypass to the returned value, even
 * if TCP's dissector has thrown an exception. Bypasses nest within a packet. */
conversation_t *smcr_handshake_set_bypass(conversation_t *conversation);

/* Returns the conversation of the innermost bypass; NULL: none is set. */
conversation_t *smcr_handshake_bypass(void);

/* ---- the two ends of a connection ---- */

/* Sets `addr` to the address of the TCP connection's client (`role` 0) or server (1). The TCP
 * connection must be known. The bytes of the address live as long as the connection. */
void smcr_endpoint_tcp_address(const smcr_conn_t *conn, unsigned role, address *addr);

/* Sets address and port (host order) of the end `role` of a connection: 0 client, 1 server; if the
 * roles are not known, `role` is a side of the link group. If the TCP connection is not known,
 * address and port are GID and number of the link's queue pair, as in Wireshark's InfiniBand.
 * Returns false if neither the TCP connection nor the queue pair is known. */
bool smcr_endpoint_address(const smcr_conn_t *conn, unsigned role, address *addr, uint32_t *port);

/* Returns the role of the side `side` of the connection's link group: 0 client, 1 server. If the
 * roles are not known, returns `side`. */
unsigned smcr_endpoint_role(const smcr_conn_t *conn, int side);

/* Sets `addr` to the address in a GID: IPv4 if the GID is IPv4-mapped, else IPv6. `addr` points to
 * bytes of `gid`, which must live as long as `addr`. */
void smcr_endpoint_of_gid(const uint8_t gid[SMCR_GID_LENGTH], address *addr);

/* Writes an address as a GID, in network byte order. IPv4 becomes IPv4-mapped. An address of 16
 * bytes stays as it is: IPv6, or a GID of InfiniBand. Any other address becomes all zeros. */
static inline void
smcr_endpoint_gid(const address *from, uint8_t gid[SMCR_GID_LENGTH])
{
    memset(gid, 0, SMCR_GID_LENGTH);
    if (from->type == AT_IPv4 && from->len == SMCR_GID_IPV4_LENGTH)
        smcr_gid_map_ipv4(gid, from->data);
    else if (from->len == SMCR_GID_LENGTH)
        memcpy(gid, from->data, SMCR_GID_LENGTH);
}

/* The two ends of a connection that dissectors above TCP see in pinfo: client (index 0) and server
 * (index 1) of the TCP connection. If the TCP connection is not known, the plugin makes a stand-in:
 * a conversation between the addresses of the queue pairs. The ends of a stand-in are side 0 and
 * side 1 of the link group, numbered as they were before any swap of sides. */
typedef struct {
    conversation_t *conversation; /* conversation of the TCP connection, or the stand-in */
    wmem_tree_t *dissectors;      /* the application's dissectors that have claimed the
                                     conversation, by frame; NULL: no dissector has, as with most
                                     connections (smcr_handshake_dissectors()) */
    address addr[2];              /* addresses of the ends; of TCP, they are those of the
                                     connection */
    uint32_t port[2];             /* ports of the ends, host order; a stand-in has ports above
                                     65535 */
    uint32_t stream;              /* value of tcp.stream */
    uint32_t server_port;         /* value of pinfo->match_uint for a dissector that a conversation
                                     or heuristic has selected; 0: match_uint does not change */
} smcr_handshake_ends_t;

/* Lowest tcp.stream of a stand-in. The tcp.stream of a stand-in is this number plus the number of
 * the connection, and so differs from all numbers that Wireshark's TCP gives. */
#define SMCR_HANDSHAKE_STAND_IN 1000000000u

/* First pass: makes the ends of the connection, which live until the file is closed. */
smcr_handshake_ends_t *smcr_handshake_ends(const packet_info *pinfo, const smcr_conn_t *conn);

/* Returns a new tree for smcr_handshake_ends_t.dissectors, for a TCP conversation that no dissector
 * of the application has claimed yet: only the CLC dissector is in the tree, from frame 1 on. The
 * tree is in file scope. */
wmem_tree_t *smcr_handshake_no_dissectors(void);

/* Returns the tree `ends->dissectors`, so that a dissector can be added; makes it if it is NULL. */
wmem_tree_t *smcr_handshake_dissectors(smcr_handshake_ends_t *ends);

/* Sets addresses and ports in `pinfo` to those of a TCP segment that the end `sender` sends. */
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

/* Returns the application's dissector that a conversation has in `frame`. `dissectors`: the
 * dissectors that have claimed the conversation, by frame. The result is never the CLC dissector.
 * It is the dissector that has claimed the conversation after the plugin, or else the last one
 * before the plugin. NULL: only the CLC dissector has claimed the conversation. */
dissector_handle_t smcr_handshake_app_dissector(wmem_tree_t *dissectors, uint32_t frame);

/* Returns the connection of this TCP packet; NULL: the TCP connection has had no sign of SMC. */
smcr_conn_t *smcr_handshake_find_conn(packet_info *pinfo);

/* First pass: lets the conversation of this SYN or SYN-ACK have the connection of an earlier
 * conversation between the same ends. Two conditions hold: the capture has had no such segment of
 * the earlier conversation, and both have the same initial sequence number of the client.
 * Wireshark begins the new conversation if the frames of the two ends have times of clocks that
 * differ: the SYN-ACK then comes after the FIN of the client, or the SYN after that of the server.
 * `first`: the initial sequence number of the client, as in the packet, host byte order: a SYN has
 * this number, and a SYN-ACK acknowledges it. */
void smcr_handshake_rejoin(packet_info *pinfo, bool from_client, uint32_t first);

/* First pass: returns the connection of this TCP packet. Makes the connection if it does not exist
 * yet. `from_client`: the client sends this packet. From this frame on, TCP calls the CLC dissector
 * first for the bytes of the conversation, whatever the ports are. */
smcr_conn_t *smcr_handshake_claim_conversation(packet_info *pinfo, bool from_client);

/* First pass: claims the TCP conversation of this packet for the CLC dissector. Makes no
 * connection, because the capture shows the same connection a second time, with translated
 * addresses (translation.h): the other conversation has the connection. */
void smcr_handshake_claim_translated(packet_info *pinfo);

/* First pass: returns the connection between the addresses and ports of this packet: a UDP packet
 * in which a tap in the kernel of a host has copied a message or data of the connection. Makes the
 * connection and its TCP conversation in two cases: 1. the connection does not exist yet; 2. it has
 * ended, and `may_begin` is true: the packet may begin another connection. The end with the lower
 * port of a new connection counts as the server. */
smcr_conn_t *smcr_handshake_claim_tapped(packet_info *pinfo, bool may_begin);

/* First pass: attaches the connection to the TCP conversation of the addresses and ports that a
 * host has reported, over netlink or in a file of smcss. If the host reports a fallback, and the
 * conversation has another connection already, that connection gets the fallback instead. */
void smcr_handshake_set_conversation(packet_info *pinfo, smcr_conn_t *conn);

/* First pass: returns whether the TCP connection has been reset before this frame. Returns false if
 * this is not certain: another connection has reused the ports, or a damaged segment may have been
 * taken for the reset. */
bool smcr_handshake_was_reset(const smcr_conn_t *conn);

/* First pass: returns whether the client (`role` 0) or the server (1) was the first end to send a
 * FIN, in a frame before this frame. Returns false if this is not certain, as
 * smcr_handshake_was_reset() does, or if the FIN belongs to a later connection with these ports. */
bool smcr_handshake_began_to_close(const smcr_conn_t *conn, unsigned role);

/* First pass: returns whether the capture has had the SYN and the SYN-ACK, and none of them was
 * damaged. */
bool smcr_handshake_has_syns(const smcr_conn_t *conn);

/* Returns the time from the client's SYN to the acknowledgement of the SYN-ACK; NULL: not known. */
const nstime_t *smcr_handshake_initial_rtt(const smcr_conn_t *conn);

/* Returns whether the packet, a TCP segment or a UDP packet of a tap, has the address and port of
 * the connection's client as its source. */
bool smcr_handshake_from_client(const packet_info *pinfo, const smcr_conn_t *conn);

/* ---- the packet that the user has selected, for menus and windows ---- */

/* Returns the packet that is selected in the packet list of Wireshark's main window; NULL: none is
 * selected, or the program has no window. */
packet_info *smcr_selected_packet(void);

/* Fills in the record of the frame's outermost packet, with facts from later packets. Returns false
 * and does not change `record` if the frame has no record. */
bool smcr_selected_record(const packet_info *pinfo, smcr_record_t *record);

/* Returns the connection of the selected packet. The TCP conversation comes first, because it also
 * finds the connection of segments without messages; then the record of the packet. NULL: no
 * connection is known. */
const smcr_conn_t *smcr_selected_conn(packet_info *pinfo);

/* Returns a display filter of the selected packet's connection, which the caller frees by g_free();
 * NULL: no connection is known. If the TCP connection is known, the filter also selects all its
 * segments. */
char *smcr_selected_conn_filter(packet_info *pinfo);
