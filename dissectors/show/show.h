/* Knows how a record becomes fields, expert items, the Info column and the tap. Learns nothing: it
 * reads. Called by packet/ and the transports; listeners include it for the tap.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "state/state.h"
#include "wire/wire.h"

/* ---- what the first pass learned: generated fields, in [brackets] ---- */

/* Shows the connection of a socket that a host reports, below `tree`; in the frame that reports a
 * fallback also its reason, with an expert item. Nothing where the connection is not known.
 * `socket` may be NULL. */
void smcr_show_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                      const smcr_socket_t *socket);

/* Shows the fields of a connection, below `tree`. Frames after this one are not named. `sender`:
 * the role of the packet's sender: 0 client, 1 server, SMCR_LGR_SIDE_UNKNOWN. */
void smcr_annotate_conn(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn, int sender);

/* The same for a segment of TCP without a message: shows the connection's number, and hidden below
 * `tree` the fields that Conversations and Endpoints need. Returns the item of the number. */
proto_item *smcr_annotate_segment(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                                  const smcr_conn_t *conn);

/* Returns whether a filter or a table asks for the fields that Conversations and Endpoints need. */
bool smcr_show_ends_are_wanted(proto_tree *tree);

/* Returns how often smcr_annotate_conn() and smcr_annotate_segment() have been called. A caller
 * compares the number before and after another dissector to find out whether that dissector has
 * shown one. */
unsigned smcr_annotate_conns_shown(void);

/* Shows all that the record has, below `tree`, and raises the expert items of its events at the
 * item of `tree`. `roce`: headers of the packet; NULL: TCP carries it. */
void smcr_annotate_packet(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                          const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* Shows the queue pair that sends a packet, and its ground: what it is known from. `in_headers`:
 * another line of the frame already shows the packet's headers, as with RoCE; what they have is
 * hidden here. */
void smcr_annotate_source(proto_tree *tree, const smcr_ib_qp_key_t *key, enum smcr_ground ground,
                          bool in_headers);

/* Shows the queue pair that receives the packet. Arguments as above. */
void smcr_annotate_target(proto_tree *tree, const smcr_ib_qp_key_t *key, bool in_headers);

/* ---- what `state` reports to the user, as expert items ---- */

/* Raises the expert items of the record's events, at `item`. An event that later packets have to
 * bear out is shown in the second pass only. */
void smcr_show_events(packet_info *pinfo, proto_item *item, const smcr_record_t *record);

/* Returns the expert item of an event. */
const expert_field *smcr_show_event_expert(const smcr_event_t *event);

/* Returns the words for the reason why a connection of RDMA-CM is refused; NULL: the message
 * refuses none. (InfiniBand 12.6.7.2, 12.11.2.2) */
const char *smcr_show_rejection(const smcr_record_cm_t *note);

/* ---- analysis ---- */

/* Shows below `tree` what the cursors of a CDC message mean: a subtree for each direction, with
 * bytes announced and read, free space, and waits of writer and reader. Then the subtree [SMC-R
 * analysis], on other connections [RDMA analysis]: order and retransmission of the packet, the
 * acknowledgement of its data, and the packet that a response answers. A subtree without fields is
 * not shown. `roce`: headers of the packet; NULL: TCP carries it. */
void smcr_analysis_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                        const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* Returns the frame of the packet that overtook this one on the network; 0: none, or not known yet.
 * Only later packets show whether the sender continued after this packet, which would make it a
 * retransmission. So the first pass always returns 0. */
uint32_t smcr_analysis_overtaken_by(const packet_info *pinfo, const smcr_record_t *record);

/* ---- why a connection went back to TCP (RFC 7609 3.6, C) ---- */

/* Returns the reason of a fallback, a phrase that lives at least as long as `scope`. */
const char *smcr_show_fallback_reason(wmem_allocator_t *scope, const smcr_fallback_t *fallback);

/* For the frame that decides a fallback: shows the reason below `tree`, raises its expert item,
 * puts it into the Info column, and hands it to the tap. */
void smcr_show_fallback(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn);

/* ---- RDMA WRITEs into RMB elements (RFC 7609 4.2, 4.4) ---- */

/* Shows one packet of an RDMA WRITE: adds its subtree to `tree`.
 *
 * data: the captured bytes of the application in this packet. record: has a place, which may be
 * without index. Returns the packet's subtree, for more fields; NULL without a tree. */
proto_tree *smcr_show_rdma_write(tvbuff_t *data, packet_info *pinfo, proto_tree *tree,
                                 const smcr_ib_headers_t *roce, const smcr_record_t *record);

/* ---- packets that are not SMC-R, for users who ask for them ---- */

/* Shows the RDMA connection of the packet as a subtree of `tree`, with analysis and expert items,
 * and adds to the Info column what acknowledgements answer and trouble. The record has a flow of
 * fabric/peers. `tvb`: the bytes that its fields stand for. */
void smcr_show_rdma_connection(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                               const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* ---- the Info column ----
 *
 * Trouble in brackets first, as TCP has it, then whose the packet is, then what it is. The message
 * itself is named in between, by those who show it. */

/* Begins the columns of a packet with the ports of its connection, as TCP's Info has them; else
 * with the number of the connection, else of the link. For an RDMA WRITE its length and its offset
 * in the RMB element follow. Replaces earlier text. */
void smcr_info_begin(packet_info *pinfo, const smcr_record_t *record);

/* As smcr_info_begin(), for CLC messages, which TCP carries: the ports. */
void smcr_info_begin_tcp(packet_info *pinfo);

/* Puts the trouble of the record, "[Retransmission] " and so on, before all other text. It stays
 * when the application's dissector writes its own text. */
void smcr_info_trouble(packet_info *pinfo, const smcr_record_t *record);

/* Begins the columns of an acknowledgement that InfiniBand's dissector does not get, in the words
 * of that dissector. */
void smcr_info_begin_answer(packet_info *pinfo, const smcr_ib_headers_t *roce);

/* Appends which packet an acknowledgement, a NAK or a CNP answers. Nothing for other packets. */
void smcr_info_answer(packet_info *pinfo, const smcr_record_t *record,
                      const smcr_ib_headers_t *roce);

/* ---- the queue pair that sends a RoCE packet ---- */

/* The queue pair that sends a packet. RoCE headers name only the one that receives. */
typedef struct {
    bool known;     /* else the others are not set */
    uint32_t qpn;   /* number of the queue pair */
    uint8_t known_from; /* enum smcr_ground: what it is known from */
} smcr_show_source_t;

/* Returns the sender of a packet: from the headers of a datagram, else from the link, else from the
 * flow of fabric/peers. */
smcr_show_source_t smcr_show_source(const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* Sets the packet's source port, which columns, flow graphs and conversations show, to the number
 * of the sending queue pair; 0 where it is not known. InfiniBand's dissector has 4294967295 then,
 * which others cut to 65535. Called after that dissector, which needs the port itself. */
void smcr_show_source_port(packet_info *pinfo, const smcr_record_t *record,
                           const smcr_ib_headers_t *roce);

/* The same for a packet without a record: the port becomes 0 where InfiniBand's dissector does not
 * know it. */
void smcr_show_no_source_port(packet_info *pinfo);

/* ---- names of ends and links: Conversations, Endpoints and the filters made there ---- */

/* The two ends of a connection, by role (see smcr_endpoint_address()). */
typedef struct {
    address host[2];        /* of type AT_NONE: not known */
    const char *address[2]; /* the same as text; "": not known */
    const char *name[2];    /* "10.0.0.1:54558", "[fd00::1]:54558". Where the TCP connection is not
                               known: address of the queue pair, if known, and role and number,
                               "fe80::1 (server, stream 3)". The two differ */
} smcr_show_ends_t;

/* Returns addresses and names of both ends. The texts live as long as `scope`, the addresses as
 * long as the capture file. */
smcr_show_ends_t smcr_show_ends_of(wmem_allocator_t *scope, const smcr_conn_t *conn);

/* Returns the name of a link, "link 1 of group 0". Where its number or the group's is not known:
 * "link index 3". Lives as long as `scope`. */
const char *smcr_show_name_of_link(wmem_allocator_t *scope, const smcr_link_t *link);

/* ---- the tap `smcr`: what is known of each packet, for whoever counts, collects or lists ----
 *
 * Nothing of ours counts in the dissection path. Without a listener a tap costs a comparison. */

#define SMCR_TAP "smcr" /* its name, for register_tap_listener() */

/* A segment of a connection's TCP: of the handshake, with the SMC-R option; with data after the
 * fallback to TCP; or any other. Its CLC messages go to the tap, too, each on its own. */
typedef struct {
    const smcr_conn_t *conn;
    bool from_server; /* else from the client */
    bool has_option;  /* of SMC-R */
    uint8_t flags;    /* of the TCP header; 0: this entry has data, not a header */
    uint32_t seq;     /* sequence number of the application's data, as TCP's dissector has it */
    uint32_t length;  /* bytes of these data, which may come from several segments; 0: none */
} smcr_tap_segment_t;

/* What listeners get of a packet. It lives as long as the frame. Listeners change nothing. */
typedef struct {
    const smcr_record_t *record;       /* never NULL */
    const smcr_ib_headers_t *roce;     /* headers of the packet; NULL: TCP carries it */
    const smcr_clc_t *clc;             /* CLC message; NULL: none */
    const smcr_llc_t *llc;             /* LLC message, a retransmission too; NULL: none */
    const smcr_cdc_t *cdc;             /* CDC message; NULL: none */
    tvbuff_t *data;                    /* RDMA WRITE: the application's captured bytes; else NULL */
    wmem_array_t *delivered;           /* smcr_held_t *: bytes of earlier packets; NULL: none */
    const smcr_tap_segment_t *segment; /* the record is then smcr_record_new(); NULL: none */
    const smcr_conn_t *falls_back;     /* goes back to TCP in this frame; NULL: none does */
    uint8_t unassigned_icrc;           /* packet without flow: as smcr_ib_headers_t.icrc; else 0 */
    bool first_pass;                   /* the tap sets it: later packets are not known yet */
} smcr_tap_t;

/* Makes of a packet what another tap's listeners get, and queues it for them. */
typedef void (*smcr_tap_queue_t)(packet_info *pinfo, const smcr_tap_t *packet);

/* Adds a tap, SMCR_TAP or one with another name, when protocols register. `tap`: its number, from
 * register_tap(). `queue` NULL: its listeners get an smcr_tap_t. */
void smcr_tap_add(int tap, smcr_tap_queue_t queue);

/* Returns whether any of the taps has a listener. */
bool smcr_tap_has_listener(void);

/* Hands a packet to all listeners. Without one nothing is copied. */
void smcr_tap_packet(packet_info *pinfo, const smcr_tap_t *packet);

/* The same for a segment of TCP. A segment that an ICMP error quotes is left out. */
void smcr_tap_segment(packet_info *pinfo, const smcr_tap_segment_t *segment);
