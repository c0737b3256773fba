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

/* The connection of a socket of which a host tells, if it is known; and why it has fallen back. */
void smcr_show_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                      const smcr_socket_t *socket);

/* The fields of a connection, below `tree`; frames later than this one are not named. `sender`: of
 * the packet: 0 client, 1 server, SMCR_LGR_SIDE_UNKNOWN. */
void smcr_annotate_conn(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn, int sender);

/* The same of a segment of TCP that has no message: its number, and hidden below `tree` what
 * Conversations and Endpoints need. Returns the item of the number. */
proto_item *smcr_annotate_segment(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                                  const smcr_conn_t *conn);

/* Whether somebody asks for what Conversations and Endpoints need. */
bool smcr_show_ends_are_wanted(proto_tree *tree);

/* How often either was called: tells whether a dissector that is called shows a connection. */
unsigned smcr_annotate_count(void);

/* All that the record says, below `tree`, with its events at the item of `tree`. `roce`: headers of
 * the packet, NULL: TCP carries it. */
void smcr_annotate_packet(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                          const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* The queue pair that sends a packet, and what it is known from. `in_headers`: the packet's headers
 * say what they can, as those of RoCE do, and that is hidden here. */
void smcr_annotate_source(proto_tree *tree, const smcr_ib_qp_key_t *key, enum smcr_ground ground,
                          bool in_headers);

/* The queue pair that receives it. */
void smcr_annotate_target(proto_tree *tree, const smcr_ib_qp_key_t *key, bool in_headers);

/* ---- what the state tells the user, as expert items ---- */

/* The expert items of the record's events, at `item`. */
void smcr_show_events(packet_info *pinfo, proto_item *item, const smcr_record_t *record);

/* The event's expert item. */
const expert_field *smcr_show_event_expert(const smcr_event_t *event);

/* Why a connection of RDMA-CM does not come about, or ends; NULL: the message does not say that. */
const char *smcr_show_rejection(const smcr_record_cm_t *note);

/* ---- analysis ---- */

/* Below `tree`: what the cursors of a CDC message mean, a subtree per direction, with bytes
 * announced and read, free space, and who waited for whom; and the subtree [SMC-R analysis], or
 * [RDMA analysis] on other connections: how the packet fared on its way, what became of its data,
 * and what a response answers. Nothing where there is nothing to say. `roce`: headers of the
 * packet, NULL: TCP carries it. */
void smcr_analysis_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                        const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* The packet that overtook this one on the network; 0: none. Whether its sender went on from it,
 * which makes it a retransmission, is known in the second pass only. */
uint32_t smcr_analysis_overtaken_by(const packet_info *pinfo, const smcr_record_t *record);

/* ---- why a connection went back to TCP (RFC 7609 3.6, C) ---- */

/* The reason, a phrase that lives at least as long as `scope`. */
const char *smcr_show_fallback_reason(wmem_allocator_t *scope, const smcr_fallback_t *fallback);

/* In the frame that decides it: the reason below `tree`, and its expert item. */
void smcr_show_fallback(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn);

/* ---- RDMA WRITEs into RMB elements (RFC 7609 4.2, 4.4) ---- */

/* Shows one packet of an RDMA WRITE: adds its tree to `tree`, sets the Info column.
 *
 * data: the application's bytes in this packet, as far as they were captured. Returns the
 * subtree for what else there is to say of the packet: the packet's own, or `tree` itself where
 * nobody looks at our fields. NULL without a tree. */
proto_tree *smcr_show_rdma_write(tvbuff_t *data, packet_info *pinfo, proto_tree *tree,
                                 const smcr_ib_headers_t *roce, const smcr_record_t *record);

/* ---- packets that are not SMC-R, for users who ask for them ---- */

/* The RDMA connection of the packet: adds the subtree to `tree`, and to the Info column what it
 * says of SMC-R's packets, too. The record has a flow. `tvb` is where its fields are. */
void smcr_show_rdma_connection(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                               const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* ---- the Info column ----
 *
 * Trouble in brackets first, as TCP has it, then whose the packet is, then what it is. The message
 * itself is named in between, by those who show it. */

/* Begins the columns with whose the packet is: the ports of its connection, as TCP's Info has them,
 * else the number of its link. Of an RDMA WRITE also what it writes, and where. What stands there
 * already is replaced. */
void smcr_info_begin(packet_info *pinfo, const smcr_record_t *record);

/* As smcr_info_begin(), for CLC messages, which TCP carries. */
void smcr_info_begin_tcp(packet_info *pinfo);

/* Puts the trouble that the record tells of before everything else. It stays when the application's
 * dissector writes its own text. */
void smcr_info_trouble(packet_info *pinfo, const smcr_record_t *record);

/* Begins the columns as InfiniBand's dissector does, of an acknowledgement that it does not get. */
void smcr_info_begin_answer(packet_info *pinfo, const smcr_ib_headers_t *roce);

/* Behind that text: which packet an acknowledgement answers. */
void smcr_info_answer(packet_info *pinfo, const smcr_record_t *record,
                      const smcr_ib_headers_t *roce);

/* ---- the queue pair that sends a RoCE packet ---- */

typedef struct {
    bool known;
    uint32_t qpn;
    uint8_t ground; /* enum smcr_ground: how that is known */
} smcr_show_source_t;

smcr_show_source_t smcr_show_source(const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* Called when InfiniBand's dissector has no more use for the source port, which columns, flow
 * graphs and conversations show: it becomes the number of that queue pair, and 0 where it is not
 * known. InfiniBand's dissector says 4294967295 then, which others cut to 65535. */
void smcr_show_source_port(packet_info *pinfo, const smcr_record_t *record,
                           const smcr_ib_headers_t *roce);

/* The same of an unknown packet: 0, unless InfiniBand's dissector knows. */
void smcr_show_no_source_port(packet_info *pinfo);

/* ---- names of ends and links: Conversations, Endpoints and the filters made there ---- */

/* The two ends of a connection, by role (see smcr_endpoint_address()). */
typedef struct {
    address host[2];        /* of type AT_NONE: not known */
    const char *address[2]; /* the same as text; "": not known */
    const char *name[2];    /* "10.0.0.1:54558", "[fd00::1]:54558" of TCP. Where that is not known:
                               the address of its queue pair, as far as known, and which end of
                               which connection it is. The two differ */
} smcr_show_ends_t;

/* The texts live as long as `scope`, the addresses as long as the capture file. */
smcr_show_ends_t smcr_show_ends_of(wmem_allocator_t *scope, const smcr_conn_t *conn);

/* A link: "link 1 of group 0". Where its number or the group's is not known: "link index 3". Lives
 * as long as `scope`. */
const char *smcr_show_name_of_link(wmem_allocator_t *scope, const smcr_link_t *link);

/* ---- the tap `smcr`: what is known of each packet, for whoever counts, collects or lists ----
 *
 * Nothing of ours counts in the dissection path. Without a listener a tap costs a comparison. */

#define SMCR_TAP "smcr" /* its name, for register_tap_listener() */

/* A segment of a connection's TCP: of the handshake, with our option; with data after the
 * connection has gone back to TCP; or any other. It may have CLC messages, which are told, too. */
typedef struct {
    const smcr_conn_t *conn;
    bool from_server;
    bool has_option;
    uint8_t flags;   /* TCP's, of a segment that is told for its headers; 0: not told */
    uint32_t seq;    /* of the application's data, as TCP's dissector tells it */
    uint32_t length; /* of them, bytes; TCP may have put together what came in several segments. 0:
                        of no interest but to whoever counts packets */
} smcr_tap_segment_t;

/* What listeners get. It lives until the frame is done with. Listeners change nothing. */
typedef struct {
    const smcr_record_t *record; /* never NULL */
    const smcr_ib_headers_t *roce; /* headers of the packet; NULL: TCP carries it */
    const smcr_clc_t *clc;       /* the message, if it is one of CLC */
    const smcr_llc_t *llc;       /* the message, if it is one of LLC; it may have come before */
    const smcr_cdc_t *cdc;       /* the message, if it is one of CDC */
    tvbuff_t *data;              /* RDMA WRITE: the application's bytes, as far as captured */
    wmem_array_t *hands_on;      /* smcr_held_t *: bytes of earlier packets; NULL: none */
    const smcr_tap_segment_t *segment; /* the record is then smcr_record_new() */
    const smcr_conn_t *falls_back; /* goes back to TCP in this frame; NULL: none does */
    uint8_t stray_icrc; /* as smcr_ib_headers_t.icrc, of a packet in no flow; 0: it is none */
    bool first_pass; /* over the capture, which knows nothing of later packets; set by the tap */
} smcr_tap_t;

/* Makes of a packet what another tap's listeners get, and queues that. */
typedef void (*smcr_tap_queue_t)(packet_info *pinfo, const smcr_tap_t *packet);

/* Adds a tap, SMCR_TAP or one with another name, when protocols register. `queue` NULL: its
 * listeners get an smcr_tap_t. */
void smcr_tap_add(int tap, smcr_tap_queue_t queue);

/* Whether there is a listener. */
bool smcr_tap_is_heard(void);

/* Hands it to all listeners. */
void smcr_tap_packet(packet_info *pinfo, const smcr_tap_t *packet);

/* The same of such a segment. */
void smcr_tap_segment(packet_info *pinfo, const smcr_tap_segment_t *segment);
