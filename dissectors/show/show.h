/* Knows how a record becomes fields, expert items, the Info column and the tap. Does not know how
 * to learn: it only reads. Called by packet/ and the transports; listeners of the tap include this
 * header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "state/state.h"
#include "wire/wire.h"

/* ---- generated fields, in [brackets]: facts from the first pass ---- */

/* Shows the connection of a socket that a host reports, below `tree`. In the frame that reports a
 * fallback, also shows its reason, with an expert item. Shows nothing if the connection is not
 * known. `socket` may be NULL. */
void smcr_show_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                      const smcr_socket_t *socket);

/* Shows the fields of a connection, below `tree`, without fields that name later frames. `sender`:
 * the role of the packet's sender: 0 client, 1 server, SMCR_LGR_SIDE_UNKNOWN. */
void smcr_annotate_conn(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn, int sender);

/* For a segment of TCP without a message: shows the number of the connection, and below `tree` the
 * hidden fields that Conversations and Endpoints need. Returns the item of the number. */
proto_item *smcr_annotate_segment(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                                  const smcr_conn_t *conn);

/* Returns whether a filter or a table asks for the fields that Conversations and Endpoints need. */
bool smcr_show_ends_are_wanted(proto_tree *tree);

/* Returns how often smcr_annotate_conn() and smcr_annotate_segment() have been called. A caller
 * compares the number before and after another dissector to find out whether that dissector has
 * shown a connection. */
unsigned smcr_annotate_conns_shown(void);

/* Shows everything in the record, below `tree`, and raises the expert items of its events at the
 * item of `tree`. `roce`: headers of the packet; NULL: TCP carries the message. */
void smcr_annotate_packet(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                          const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* Shows the queue pair that sends a packet, and its ground: what the queue pair is known from.
 * `in_headers`: another line of the frame already shows the packet's headers, as in RoCE; values of
 * the headers are then hidden. */
void smcr_annotate_source(proto_tree *tree, const smcr_ib_qp_key_t *key, enum smcr_ground ground,
                          bool in_headers);

/* Shows the queue pair that receives the packet. Arguments as in smcr_annotate_source(). */
void smcr_annotate_target(proto_tree *tree, const smcr_ib_qp_key_t *key, bool in_headers);

/* ---- events that `state` has recorded, as expert items ---- */

/* Raises the expert items of the record's events, at `item`. An event that later packets have to
 * confirm is shown only in the second pass. */
void smcr_show_events(packet_info *pinfo, proto_item *item, const smcr_record_t *record);

/* Returns the expert item of an event. */
const expert_field *smcr_show_event_expert(const smcr_event_t *event);

/* Returns the text of the reason why RDMA-CM refuses a connection; NULL: the message refuses none.
 * (InfiniBand 12.6.7.2, 12.11.2.2) */
const char *smcr_show_rejection(const smcr_record_cm_t *note);

/* ---- analysis ---- */

/* Shows the meaning of the cursors of a CDC message below `tree`: a subtree for each direction,
 * with bytes announced and read, free space, and waits of writer and reader. Then shows the subtree
 * [SMC-R analysis], of other connections [RDMA analysis]: order and retransmission of the packet,
 * the acknowledgement of its data, and the packet that a response answers. A subtree without fields
 * is not shown. `roce`: headers of the packet; NULL: TCP carries the message. */
void smcr_analysis_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                        const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* Returns the frame of the packet that overtook this one on the network; 0: none, or not known yet.
 * The packet may also be a retransmission: then its sender continues after it. Only later packets
 * show this, so the first pass always returns 0. */
uint32_t smcr_analysis_overtaken_by(const packet_info *pinfo, const smcr_record_t *record);

/* ---- fallbacks to TCP (RFC 7609 3.6, C) ---- */

/* Returns the reason of a fallback, a phrase that lives at least as long as `scope`. */
const char *smcr_show_fallback_reason(wmem_allocator_t *scope, const smcr_fallback_t *fallback);

/* Called in the frame that decides a fallback: shows the reason below `tree`, raises the expert
 * item, writes the fallback into the Info column, and passes it to the tap. */
void smcr_show_fallback(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn);

/* ---- RDMA WRITEs into RMB elements (RFC 7609 4.2, 4.4) ---- */

/* Shows one packet of an RDMA WRITE: adds its subtree to `tree`.
 *
 * data: the captured bytes of the application in this packet. record: has a place; the index of the
 * place may be unknown (0). Returns the packet's subtree, for more fields; NULL without a tree. */
proto_tree *smcr_show_rdma_write(tvbuff_t *data, packet_info *pinfo, proto_tree *tree,
                                 const smcr_ib_headers_t *roce, const smcr_record_t *record);

/* ---- packets that are not SMC-R, for users who ask for them ---- */

/* Shows the RDMA connection of the packet as a subtree of `tree`, with analysis and expert items.
 * Adds to the Info column which packet an acknowledgement answers, and trouble. The record has a
 * flow of fabric/peers. `tvb`: the bytes to which the fields belong. */
void smcr_show_rdma_connection(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                               const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* Trouble comes first, in brackets, as in TCP. Then comes the connection of the packet, then what
 * the packet is. The name of a message is written between these by the functions that show the
 * message. */

/* Begins the columns of a packet with the ports of its connection, as in TCP's Info; if they are
 * not known, with the number of the connection, else of the link. For an RDMA WRITE its length and
 * its offset in the RMB element follow. Replaces earlier text. */
void smcr_info_begin(packet_info *pinfo, const smcr_record_t *record);

/* Does the same as smcr_info_begin() for CLC messages, which TCP carries: writes the ports. */
void smcr_info_begin_tcp(packet_info *pinfo);

/* Puts the trouble of the record, "[Retransmission] " and so on, before all other text. It stays
 * when the application's dissector writes its own text. */
void smcr_info_trouble(packet_info *pinfo, const smcr_record_t *record);

/* Begins the columns of an acknowledgement that is not passed to InfiniBand's dissector, in the
 * words of that dissector. */
void smcr_info_begin_answer(packet_info *pinfo, const smcr_ib_headers_t *roce);

/* Appends which packet an acknowledgement, a NAK or a CNP answers. Appends nothing for other
 * packets. */
void smcr_info_answer(packet_info *pinfo, const smcr_record_t *record,
                      const smcr_ib_headers_t *roce);

/* ---- the queue pair that sends a RoCE packet ---- */

/* The queue pair that sends a packet. RoCE headers name only the one that receives. */
typedef struct {
    bool known;     /* false: the other members are not set */
    uint32_t qpn;   /* number of the queue pair */
    uint8_t known_from; /* enum smcr_ground: what the queue pair is known from */
} smcr_show_source_t;

/* Returns the sender of a packet: from the headers of a datagram, else from the link, else from the
 * flow of fabric/peers. */
smcr_show_source_t smcr_show_source(const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* Sets the packet's source port, which columns, flow graphs and conversations show, to the number
 * of the sending queue pair; 0 if it is not known. Else they would show what InfiniBand's dissector
 * sets, 4294967295, or 65535 after a cut to 16 bits. Called after that dissector, which needs the
 * port itself. */
void smcr_show_source_port(packet_info *pinfo, const smcr_record_t *record,
                           const smcr_ib_headers_t *roce);

/* For a packet without a record: sets the source port to 0 if InfiniBand's dissector does not know
 * it. */
void smcr_show_no_source_port(packet_info *pinfo);

/* ---- names of ends and links: Conversations, Endpoints and the filters made there ---- */

/* The two ends of a connection, by role (see smcr_endpoint_address()). */
typedef struct {
    address host[2];        /* addresses; type AT_NONE: not known */
    const char *address[2]; /* addresses as text; "": not known */
    const char *name[2];    /* "10.0.0.1:54558", "[fd00::1]:54558". If the TCP connection is not
                               known: address of the queue pair, if known, role and number of the
                               connection, "fe80::1 (server, stream 3)". The two names differ */
} smcr_show_ends_t;

/* Returns addresses and names of both ends. The texts live as long as `scope`, the addresses as
 * long as the capture file. */
smcr_show_ends_t smcr_show_ends_of(wmem_allocator_t *scope, const smcr_conn_t *conn);

/* Returns the name of a link, "link 1 of group 0"; "link index 3" if the number of the link or of
 * the group is not known. The text lives as long as `scope`. */
const char *smcr_show_name_of_link(wmem_allocator_t *scope, const smcr_link_t *link);

/* ---- the tap `smcr`: the facts of each packet, for listeners that count, collect or list ----
 *
 * The plugin counts nothing while it dissects. Without a listener a tap costs a comparison. */

#define SMCR_TAP "smcr" /* name of the tap, for register_tap_listener() */

/* A segment of a connection's TCP: a SYN with the SMC-R option, data after the fallback to TCP, or
 * any other segment. Its CLC messages go to the tap separately. */
typedef struct {
    const smcr_conn_t *conn; /* the connection */
    bool from_server; /* the server sends the segment; false: the client */
    bool has_option;  /* the segment has the SMC-R option */
    uint8_t flags;    /* flags of the TCP header; 0: the struct describes data, not a header */
    uint32_t seq;     /* sequence number of the application's data, as TCP's dissector has it */
    uint32_t length;  /* bytes of the application's data, which may come from several segments; 0:
                         none */
} smcr_tap_segment_t;

/* The facts of a packet that listeners get. They live as long as the frame is dissected. Listeners
 * must not change them. */
typedef struct {
    const smcr_record_t *record;       /* never NULL */
    const smcr_ib_headers_t *roce;     /* headers of the packet; NULL: TCP carries the message */
    const smcr_clc_t *clc;             /* CLC message; NULL: none */
    const smcr_llc_t *llc;             /* LLC message, also a retransmitted one; NULL: none */
    const smcr_cdc_t *cdc;             /* CDC message; NULL: none */
    tvbuff_t *data;                    /* of an RDMA WRITE: the application's captured bytes; else
                                          NULL */
    wmem_array_t *delivered;           /* smcr_held_t *: bytes of earlier packets that this one
                                          hands on; NULL: none */
    const smcr_tap_segment_t *segment; /* TCP segment, whose record is smcr_record_new(); NULL:
                                          none */
    const smcr_conn_t *falls_back;     /* connection that falls back to TCP in this frame; NULL:
                                          none */
    uint8_t unassigned_icrc;           /* of a packet without flow: as smcr_ib_headers_t.icrc; else
                                          0 */
    bool first_pass;                   /* set by smcr_tap_packet(): it is the first pass, in which
                                          later packets are not known */
} smcr_tap_t;

/* Makes the struct that listeners of another tap get of the packet, and queues it for them. */
typedef void (*smcr_tap_queue_t)(packet_info *pinfo, const smcr_tap_t *packet);

/* Adds a tap, SMCR_TAP or another one, when protocols register. `tap`: its number, from
 * register_tap(). `queue`: function of the tap; NULL: its listeners get an smcr_tap_t. */
void smcr_tap_add(int tap, smcr_tap_queue_t queue);

/* Returns whether any of the taps has a listener. */
bool smcr_tap_has_listener(void);

/* Passes a packet to all listeners. Without a listener nothing is copied. */
void smcr_tap_packet(packet_info *pinfo, const smcr_tap_t *packet);

/* Passes a segment of TCP to all listeners, unless an ICMP error quotes the segment. */
void smcr_tap_segment(packet_info *pinfo, const smcr_tap_segment_t *segment);
