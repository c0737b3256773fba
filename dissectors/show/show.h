/* Knows how a record becomes fields, expert items, the Info column and the tap. Does not know how
 * the state learns from packets: show/ only reads the state. The rooms packet/ and payload/, the
 * transports, and listeners of the tap include this header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "state/state.h"
#include "wire/wire.h"

/* ---- generated fields, in [brackets]: facts from the first pass ---- */

/* Shows the connection of a socket that a host reports over netlink, below `tree`. In the frame
 * that reports a fallback of the connection, also shows the reason of the fallback, with an expert
 * item. Shows nothing if `socket` is NULL or its connection is not known. */
void smcr_show_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                      const smcr_socket_t *socket);

/* Shows the fields of a connection, below `tree`. Fields that contain the number of a frame of the
 * handshake, and a fallback, are shown only if that frame is earlier than this one. The frame of
 * the report that names the ends (smcr.named_in) may be later. `sender`: the role of the packet's
 * sender, 0 client or 1 server; if the roles are not known, its side; SMCR_LGR_SIDE_UNKNOWN: not
 * known. */
void smcr_annotate_conn(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn, int sender);

/* Shows the number of a TCP segment's connection below `tree`. If the hidden fields of the ends are
 * needed (smcr_show_ends_are_wanted()), adds these, too. Returns the item of the connection's
 * number. */
proto_item *smcr_annotate_segment(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                                  const smcr_conn_t *conn);

/* Returns whether any of the hidden fields of a connection's ends (names, addresses, ports) has to
 * be added: the tree is shown, or a filter, column or statistics table uses one of them. */
bool smcr_show_ends_are_wanted(proto_tree *tree);

/* Returns how often smcr_annotate_conn() and smcr_annotate_segment() have been called since
 * Wireshark was started. A caller compares the number before and after another dissector to find
 * out whether that dissector has shown a connection. */
unsigned smcr_annotate_conns_shown(void);

/* Shows the facts in the record, below `tree`, appends the announced bytes (Len) and the free space
 * (Win) of a CDC message to the Info column, and raises the packet's expert items at the item of
 * `tree`. `roce`: headers of the packet; NULL: TCP carries the message. */
void smcr_annotate_packet(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                          const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* Shows the queue pair that sends a packet, and the ground: the evidence that proves this queue
 * pair. `in_headers`: other items of the frame already show the packet's headers, as in RoCE;
 * values from the headers then become hidden fields. */
void smcr_annotate_source(proto_tree *tree, const smcr_ib_qp_key_t *key, enum smcr_ground ground,
                          bool in_headers);

/* Shows the queue pair that receives the packet. Arguments as in smcr_annotate_source(). */
void smcr_annotate_target(proto_tree *tree, const smcr_ib_qp_key_t *key, bool in_headers);

/* ---- events in the record, as expert items ---- */

/* Raises the expert items of the record's events, at `item`, unless the capture gives reason for
 * doubt. An event that later packets have to confirm is shown only in the second pass, but for
 * those of smcr_show_event_at_once(). */
void smcr_show_events(packet_info *pinfo, proto_item *item, const smcr_record_t *record);

/* Whether the first pass shows the event at once, though later packets may refute it. The second
 * pass shows it only if they do not. */
bool smcr_show_event_at_once(const smcr_event_t *event);

/* Returns the expert item with the name of the event. */
const expert_field *smcr_show_event_expert(const smcr_event_t *event);

/* Returns the text of the reason for which an RDMA-CM message refuses a connection; NULL: the
 * message is not a refusal. (InfiniBand 12.6.7.2, 12.11.2.2) */
const char *smcr_show_rejection(const smcr_record_cm_t *note);

/* ---- analysis ---- */

/* Shows the analysis of a packet below `tree`. 1. For a CDC message, the meaning of its cursors: a
 * subtree for each direction, with bytes announced and read, free space, and waits of writer and
 * reader. 2. The subtree [SMC-R analysis], or [RDMA analysis] for a connection that is not SMC-R:
 * order and retransmission of the packet, the acknowledgement of its data, and the packet that a
 * response answers. 3. For a RoCE packet, the other capture points (smcr_show_points()). `roce`:
 * headers of the packet; NULL: TCP carries the message. */
void smcr_analysis_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                        const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* Returns the frame of the packet that has overtaken the packet of `record` on the network; 0: no
 * packet has overtaken it, or this is not known yet. Only later packets prove whether the packet
 * was overtaken or retransmitted (a sender continues after a retransmission). So the first pass
 * always returns 0. */
uint32_t smcr_analysis_overtaken_by(const packet_info *pinfo, const smcr_record_t *record);

/* ---- fallbacks to TCP (RFC 7609 3.6, C) ---- */

/* Returns the reason of a fallback as text, which lives at least as long as `scope`. */
const char *smcr_show_fallback_reason(wmem_allocator_t *scope, const smcr_fallback_t *fallback);

/* Must be called in the frame that decides the fallback of `conn` to TCP. Shows the reason below
 * `tree`, raises the expert item, writes the fallback into the Info column (not of a Decline, whose
 * own text shows it), and reports the fallback to the tap. */
void smcr_show_fallback(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn);

/* ---- RDMA WRITEs into RMB elements (RFC 7609 4.2, 4.4) ---- */

/* Shows one packet of an RDMA WRITE: adds its subtree to `tree`.
 *
 * data: the captured bytes of the application in this packet. record: its `write_location` is set,
 * in which the number of the RMB element may be 0: not known. Returns the packet's subtree, for
 * more fields; NULL if `tree` is NULL. */
proto_tree *smcr_show_rdma_write(tvbuff_t *data, packet_info *pinfo, proto_tree *tree,
                                 const smcr_ib_headers_t *roce, const smcr_record_t *record);

/* ---- packets that are not SMC-R, for users who ask for them ---- */

/* Shows the RDMA connection of the packet as a subtree of `tree`, with analysis and expert items.
 * Writes into the Info column what smcr_info_answer() and smcr_info_trouble() write, and the
 * connection of a message of RDMA-CM. The record has a flow of fabric/peers. `tvb`: the bytes to
 * which the fields belong. */
void smcr_show_rdma_connection(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                               const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* ---- the Info column ----
 *
 * Order of the texts in the Info column: 1. trouble: words in brackets, such as "[Retransmission]",
 * as in TCP; 2. the connection of the packet; 3. the message, written by message/; 4. the packet
 * that an acknowledgement answers. */

/* Returns the name of the protocol of a packet: "SMC-D" if a tap has copied it from SMC-D;
 * otherwise "SMC-R". */
static inline const char *
smcr_show_protocol(const smcr_record_t *record)
{
    return smcr_record_tapped(record) == SMCR_LGR_TAPPED_SMCD ? "SMC-D" : "SMC-R";
}

/* Whether the offset of a WRITE in the RMB element, and its position in the stream, may be shown.
 * False in two cases, which only data from the tap of a host have: later packets have shown that
 * the position is not known; or positions count from the first captured byte, and not from the
 * beginning of the stream. */
static inline bool
smcr_show_knows_place(const smcr_record_t *record)
{
    const smcr_place_rare_t *rare = smcr_place_rare(record->write_location);

    return !(rare && rare->is_doubtful) && !smcr_record_is_relative(record, record->sender);
}

/* Sets the columns of a packet. The Info column begins with the ports of the TCP connection, as in
 * TCP's Info. If the ports or the direction are not known, it begins with the number of the
 * connection; if the connection is not known, with the number of the link, if known. For an RDMA
 * WRITE, the length and, if known, the offset in the RMB element follow. Replaces earlier text. */
void smcr_info_begin(packet_info *pinfo, const smcr_record_t *record);

/* Appends to the Info column the message in the immediate data of an RDMA WRITE packet: opcode,
 * step, credits and flags. `immediate`: the immediate data, host order. `cdc`: the message, from
 * smcr_state_immediate_cdc(). */
void smcr_info_immediate(packet_info *pinfo, uint32_t immediate, const smcr_cdc_t *cdc);

/* Begins the Info column of a TCP segment with its ports. Replaces earlier text. */
void smcr_info_begin_tcp(packet_info *pinfo);

/* Puts the trouble in the record, such as "[Retransmission] ", before all other text of the Info
 * column. The text stays even if the application's dissector clears the column. */
void smcr_info_trouble(packet_info *pinfo, const smcr_record_t *record);

/* Sets the columns of an acknowledgement that is not passed to InfiniBand's dissector, to the texts
 * that InfiniBand's dissector would write. */
void smcr_info_begin_answer(packet_info *pinfo, const smcr_ib_headers_t *roce);

/* Writes into the Info column which packet a response or a CNP answers. Does nothing for other
 * packets. */
void smcr_info_answer(packet_info *pinfo, const smcr_record_t *record,
                      const smcr_ib_headers_t *roce);

/* ---- other capture points ---- */

/* If NAT has translated the addresses of this packet's TCP connection, and the capture also shows
 * the connection with its other addresses: shows the first frame of that other conversation. Shows
 * nothing otherwise, or if smcr_show_points() shows frames of other capture points. */
void smcr_show_translated(packet_info *pinfo, proto_tree *tree);

/* Shows how other capture points have captured the packet: their frames, the delay between the
 * points, the verdict, and the time by the clock of the first point, each if it is known. Shows
 * nothing in the first pass, and if nothing is known of the packet, as in a file with one capture
 * point. */
void smcr_show_points(packet_info *pinfo, proto_tree *tree);

/* ---- the queue pair that sends a RoCE packet ---- */

/* The queue pair that sends a packet. RoCE headers name only the queue pair that receives. */
typedef struct {
    bool known;     /* the other members are set */
    uint32_t qpn;   /* number of the queue pair, 24 bits */
    uint8_t known_from; /* evidence that proves the queue pair, enum smcr_ground */
} smcr_show_source_t;

/* Returns the queue pair that sends a packet. Asks in this order: the headers of a datagram, the
 * link in the record, the flow of fabric/peers in the record. The first that has the queue pair
 * decides. */
smcr_show_source_t smcr_show_source(const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* Sets pinfo->srcport, which columns, flow graphs and conversations show, to the number of the
 * sending queue pair. If the plugin does not know this number, the number that InfiniBand's
 * dissector has found stays. If InfiniBand's dissector does not know it either, sets 0 in place of
 * its value 4294967295. Must be called after InfiniBand's dissector, which uses the source port
 * itself. */
void smcr_show_source_port(packet_info *pinfo, const smcr_record_t *record,
                           const smcr_ib_headers_t *roce);

/* For a packet whose sending queue pair the plugin does not know: sets pinfo->srcport to 0 if
 * InfiniBand's dissector does not know the queue pair either. */
void smcr_show_no_source_port(packet_info *pinfo);

/* ---- names of ends and links: Conversations, Endpoints and the filters that these tables make
 * ---- */

/* The two ends of a connection, by role (see smcr_endpoint_address()). */
typedef struct {
    address host[2];        /* addresses of the two ends; if the TCP connection is not known, those
                               of their queue pairs; type AT_NONE: not known */
    const char *address[2]; /* addresses of the two ends as text; "": not known */
    const char *name[2];    /* Names of the ends, which always differ from each other. Examples:
                               "10.0.0.1:54558", "[fd00::1]:54558". If the TCP connection is not
                               known: address of the queue pair (if known), role or side, and number
                               of the connection, such as "fe80::1 (server, stream 3)". */
} smcr_show_ends_t;

/* Returns addresses and names of both ends of `conn`. The texts live as long as `scope`, the
 * addresses as long as `conn`. */
smcr_show_ends_t smcr_show_ends_of(wmem_allocator_t *scope, const smcr_conn_t *conn);

/* Returns the name of a link, such as "link 1 of group 0". If the number of the link or of the link
 * group is not known, the name is such as "link index 3". The text lives as long as `scope`. */
const char *smcr_show_name_of_link(wmem_allocator_t *scope, const smcr_link_t *link);

/* ---- the tap `smcr`: the facts of each packet, for listeners that count, collect or list ----
 *
 * The plugin counts nothing while it dissects; only listeners count. */

#define SMCR_TAP "smcr" /* name of the tap, for register_tap_listener() */

/* A TCP segment of an SMC-R connection, its SMC-R option, or application data on TCP after a
 * fallback: each is reported to the tap by a struct of its own. CLC messages of the segment are in
 * smcr_tap_t.clc. */
typedef struct {
    const smcr_conn_t *conn; /* the connection */
    bool from_server; /* the server sends the segment; false: the client does */
    bool has_option;  /* the struct is of the SMC-R option */
    uint8_t flags;    /* flags of the TCP header; 0: the struct is of the option or of data, or the
                         segment is damaged */
    uint32_t seq;     /* sequence number of the application's data, from TCP's dissector: relative
                         or absolute, as the user's preferences say */
    uint32_t length;  /* length of the application's data in bytes, which several segments may have
                         carried; 0: no data */
} smcr_tap_segment_t;

/* The facts of a packet that listeners get. They live as long as the frame is dissected. Listeners
 * must not change them. */
typedef struct {
    const smcr_record_t *record;       /* record of the packet; never NULL */
    const smcr_ib_headers_t *roce;     /* headers of the packet; of a packet from a tap, those that
                                          RoCE would have; NULL: TCP carries it */
    const smcr_clc_t *clc;             /* CLC message; NULL: none */
    const smcr_llc_t *llc;             /* LLC message, also a retransmitted one; NULL: none */
    const smcr_cdc_t *cdc;             /* CDC message; NULL: none, or its receiver discards it,
                                          since the hosts have agreed on immediate data */
    tvbuff_t *data;                    /* captured bytes of the application in an RDMA WRITE packet;
                                          NULL: none */
    wmem_array_t *delivered;           /* smcr_held_t *: earlier RDMA WRITE packets whose bytes the
                                          application's dissectors get only in this frame; NULL:
                                          none */
    const smcr_tap_segment_t *segment; /* TCP segment; `record` is then an empty record; NULL: not a
                                          TCP segment */
    const smcr_conn_t *falls_back;     /* connection that falls back to TCP in this frame; NULL:
                                          none */
    uint8_t unassigned_icrc;           /* result of the ICRC check for a packet whose record has
                                          neither a link nor an RDMA flow, coded as in
                                          smcr_ib_headers_t.icrc; 0 for other packets */
    bool first_pass;                   /* the frame is in its first pass, so facts from later
                                          packets are not known; set by smcr_tap_packet() */
} smcr_tap_t;

/* Makes the struct that the listeners of a tap other than SMCR_TAP get for the packet, and queues
 * the struct for this tap. */
typedef void (*smcr_tap_queue_t)(packet_info *pinfo, const smcr_tap_t *packet);

/* Adds a tap, SMCR_TAP or another tap. `tap`: number of the tap, from register_tap(). `queue`:
 * function that queues packets for the tap; NULL: the listeners of the tap get an smcr_tap_t. */
void smcr_tap_add(int tap, smcr_tap_queue_t queue);

/* Gets packets as a listener of SMCR_TAP does, and also in the first of two passes (tshark -2), in
 * which Wireshark calls no listeners. */
typedef struct {
    bool (*wants_frame)(const packet_info *pinfo); /* whether the observer wants the packets of this
                                                      frame */
    void (*take_packet)(packet_info *pinfo, const smcr_tap_t *packet); /* takes one packet */
} smcr_tap_observer_t;

/* Sets the observer of the tap, in place of an earlier one; `with` is kept, not copied. */
void smcr_tap_observe(const smcr_tap_observer_t *with);

/* Returns whether any of the taps has a listener, or the observer wants the frame. */
bool smcr_tap_has_listener(const packet_info *pinfo);

/* Passes a packet to the observer and to the listeners of all taps. They get copies of `packet` and
 * of its `record`, `roce`, `clc`, `llc`, `cdc` and `segment`, which live until the frame has been
 * dissected. Copies nothing if nobody listens. */
void smcr_tap_packet(packet_info *pinfo, const smcr_tap_t *packet);

/* Passes a TCP segment to the observer and to the listeners of all taps, with an empty record. Does
 * nothing if an ICMP error quotes the segment. */
void smcr_tap_segment(packet_info *pinfo, const smcr_tap_segment_t *segment);
