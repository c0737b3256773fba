/* Knows the application's bytes: dissected as over TCP, Follow Stream, Export Objects, Export PDUs.
 * Does not know which packets carried the bytes. Called by packet/, and by report/ when a
 * connection is released.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"
#include "show/show.h"

/* ---- dissected as over TCP ---- */

/* The place where the bytes of a packet are shown. */
typedef struct {
    packet_info *pinfo;          /* the frame in which the bytes are shown */
    proto_tree *tree;            /* tree of the frame, to which dissectors above TCP add their
                                    items */
    proto_tree *below;           /* subtree of the packet, to which the plugin adds its own items
                                    about the bytes */
    const smcr_record_t *record; /* record of the packet that carried the bytes */
} smcr_payload_target_t;

/* Bytes of an RDMA WRITE packet that are new in the stream. */
typedef struct {
    tvbuff_t *data;    /* the captured new bytes */
    uint64_t position; /* stream position of the first new byte */
    uint64_t gap;      /* number of bytes directly before `position` that no earlier frame has; 0:
                          none, or not known */
    bool gap_may_be_filled; /* a later frame of the capture may have the bytes counted in `gap` */
} smcr_payload_fresh_t;

/* Finds the new bytes among the captured bytes `data` of an RDMA WRITE packet. Bytes that an
 * earlier WRITE of the same stream positions has carried are not new. Returns true and sets
 * `*fresh` if there are new bytes. Returns false, without setting `*fresh`, if no byte is new, if
 * the connection or the stream position of the bytes is not known, or if the receiver discards the
 * packet. */
bool smcr_payload_find_new_bytes(tvbuff_t *data, const smcr_record_t *record,
                                 smcr_payload_fresh_t *fresh);

/* Finds the bytes of a retransmission that replaces a packet which came in order: a NAK or RNR NAK
 * proves that the receiver has refused that packet. Returns true and sets `*fresh` to the bytes
 * that were new in the first transmission, and `*replaced` to its frame. Returns false if the
 * packet replaces none, or no byte was new. */
bool smcr_payload_find_replacing_bytes(tvbuff_t *data, const smcr_record_t *record,
                                       smcr_payload_fresh_t *fresh, uint32_t *replaced);

/* Finds the new bytes as smcr_payload_find_new_bytes() does, but in later passes a
 * packet that the receiver refused has no new bytes, and the retransmission that replaces it has
 * them (smcr_payload_find_replacing_bytes()). The first pass cannot know this when the packet
 * comes. */
bool smcr_payload_find_accepted_bytes(tvbuff_t *data, const packet_info *pinfo,
                                      const smcr_record_t *record, smcr_payload_fresh_t *fresh);

/* Finds the bytes of a packet none of whose payload was captured (snap length): `data` has a
 * reported length, but no captured bytes. Returns true and sets `*fresh` if all bytes of the packet
 * are new and their position is known. */
bool smcr_payload_find_truncated_bytes(tvbuff_t *data, const smcr_record_t *record,
                                       smcr_payload_fresh_t *fresh);

/* Finds the bytes of a retransmission that are not new: they have been passed on with an earlier
 * packet. Returns true and sets `*fresh` to all its bytes. Returns false if the packet is no
 * retransmission, its connection or position is not known, or its bytes may be damaged. */
bool smcr_payload_find_repeated_bytes(tvbuff_t *data, const smcr_record_t *record,
                                      smcr_payload_fresh_t *fresh);

/* Frees what is kept of the application's bytes of the connection, of which no byte comes any
 * more. Trees of messages and dissectors stay: few connections have them. */
void smcr_payload_release(smcr_conn_t *conn);

/* Dissects the new bytes of an RDMA WRITE packet as if TCP had carried these bytes. If dissectors
 * get none of them, for example since no byte is new, all bytes are shown as data. Held bytes are
 * shown as data in the first pass; later passes dissect them, unless another frame shows them.
 * Bytes of earlier packets that this frame shows come last. `data`: the captured bytes of the
 * packet. */
void smcr_payload_dissect(const smcr_payload_target_t *target, tvbuff_t *data);

/* First pass: keeps the bytes of an RDMA WRITE packet that only a later frame can pass to
 * dissectors (see smcr_payload_hand_on()). Does nothing in later passes. */
void smcr_payload_buffer(tvbuff_t *data, const packet_info *pinfo, const smcr_record_t *record);

/* Dissects the bytes of held packets, then the bytes of this packet. Held packets are earlier RDMA
 * WRITE packets whose bytes dissectors did not get when the packets came; this packet shows where
 * their bytes belong. In the first pass, most held bytes are dissected as if an earlier frame were
 * being dissected (own_frame.h). All bytes that this frame itself shows are in one buffer, in the
 * order of the stream.
 *
 * held: the held packets, as smcr_held_t *. tvb: this packet. data: the bytes of this packet if it
 * is an RDMA WRITE; NULL if it is not. */
void smcr_payload_hand_on(const smcr_payload_target_t *target, wmem_array_t *held, tvbuff_t *tvb,
                          tvbuff_t *data);

/* For listeners of the tap, in the first pass: returns the bytes of the next held packet in
 * packet->delivered that the tap has not reported yet; NULL: there are no more. `*next`: index of
 * the next held packet, 0 before the first call. Fills in `*record` with the record of the held
 * packet. The caller frees the returned buffer with tvb_free(). */
tvbuff_t *smcr_payload_next_buffered(const smcr_tap_t *packet, unsigned *next,
                                     smcr_record_t *record);

/* Called for each CDC message. If the message ends the stream of its sender, dissects the data that
 * a dissector has kept until the end of the stream. Example: an HTTP response without a length.
 * `message`: the bytes of the CDC message. */
void smcr_payload_end_stream(const smcr_payload_target_t *target, tvbuff_t *message);

/* ---- when heuristics are asked ----
 *
 * Wireshark's TCP calls dozens of heuristic dissectors for each segment of an unknown protocol, and
 * all of them decline. These calls take half of the time that the dissection of bulk data takes. A
 * heuristic recognises its protocol only at the beginning of a message. So after all heuristics
 * have declined SMCR_POLICY_REFUSALS packets of a direction in a row, they are called only for
 * packets with which a message may begin.
 *
 * This policy does not concern dissectors that a port or a conversation selects, nor a connection
 * that a heuristic has accepted once. */

/* Number of packets of one direction in a row that all heuristics have to decline until the
 * protocol of the direction counts as unknown. After 16 packets even a protocol with a greeting and
 * a login has sent a message that its heuristic would recognise. */
#define SMCR_POLICY_REFUSALS 16

/* Length in nanoseconds of a pause after which a message may begin. Within a message such a
 * pause is rare: RDMA sends it without one, as long as the receiver has space. */
#define SMCR_POLICY_IDLE (100 * SMCR_TIME_MILLISECOND)

/* A CDC message announces the bytes of one write call of the program, or the bytes that the kernel
 * has collected. So a message of the application may also begin directly after announced bytes. The
 * heuristics are called for a packet that begins there, if they were not called for this number of
 * packets before. */
#define SMCR_POLICY_ANNOUNCED 16

/* The heuristics are called for a packet in any case if they were not called for this number of
 * packets before it: a stream without pauses has messages, too. */
#define SMCR_POLICY_SELDOM 64

/* The decision about the heuristics for a packet's new bytes. */
typedef enum {
    SMCR_POLICY_ASK_AS_TCP, /* the policy does not apply: TCP decides whether to call heuristics */
    SMCR_POLICY_ASK_NOW,    /* as SMCR_POLICY_ASK_AS_TCP; in addition, the caller reports the result
                               with smcr_policy_note_answer() */
    SMCR_POLICY_ASK_NOT,    /* no heuristic is called: the bytes are shown as data */
} smcr_policy_ask_t;

/* A range of bytes in a stream. */
typedef struct {
    uint64_t begin;                    /* position of the first byte */
    uint64_t end;                      /* position after the last byte */
    const smcr_handshake_ends_t *ends; /* client and server of the TCP connection that dissectors
                                          see */
    uint64_t time;                     /* time of the frame, nanoseconds since 1970; set in the
                                          first pass */
    unsigned sender;                   /* end that sends the bytes: index in `ends`, 0 or 1 */
    bool has_dissector;                /* a dissector of the conversation or of a port gets the
                                          bytes before the heuristics; set in the first pass */
} smcr_policy_stretch_t;

/* Returns whether heuristics are called for `bytes`, the new bytes of an RDMA WRITE packet. The
 * first pass decides, and keeps the decision in the packet's record; later passes return this
 * decision. */
smcr_policy_ask_t smcr_policy_decide_asking(packet_info *pinfo, const smcr_record_t *record,
                                            smcr_policy_stretch_t bytes);

/* Called after the decision SMCR_POLICY_ASK_NOW, when `bytes` have been dissected. `declined`: all
 * heuristics have declined the bytes. */
void smcr_policy_note_answer(const packet_info *pinfo, const smcr_record_t *record,
                             smcr_policy_stretch_t bytes, bool declined);

/* Whether a dissector of the conversation or of a port gets the bytes of this packet before the
 * heuristics. `ends`: client and server of the conversation. */
bool smcr_policy_has_dissector(const packet_info *pinfo, const smcr_conn_t *conn,
                               const smcr_handshake_ends_t *ends);

/* Returns the dissector that TCP calls for this port, in host byte order; NULL: none, or the port
 * is 0, not known. */
dissector_handle_t smcr_policy_dissector_of_port(uint16_t port);

/* Looks up Wireshark's table of TCP ports, and the tap of Export PDUs, on which the decision
 * depends. Called once, after all protocols have registered. */
void smcr_policy_handoff(void);

/* ---- Decode As ---- */

/* Registers Decode As by the number of a connection (`-d smcr.stream==0,http`). Called once, when
 * protocols register. */
void smcr_decode_as_register(int proto);

/* ---- Export Objects ---- */

/* Registers the type of object SMC-R (`--export-objects smcr,FOLDER`, File > Export Objects): one
 * file for each direction of each connection, with the bytes that the program sent. Called once,
 * when protocols register. */
void smcr_export_register(int proto);

/* ---- Export PDUs ---- */

/* Registers the export of connections as TCP segments (`-U "SMC-R as TCP" -w FILE`, File > Export
 * PDUs to File). Called once, after the tap SMCR_TAP is registered. */
void smcr_export_segments_register(void);

/* ---- Follow Stream ---- */

/* Registers Follow Stream (`-z follow,smcr,ascii,N`, and the menu). Called once, when protocols
 * register. */
void smcr_follow_register(int proto);

/* Makes Follow Stream of TLS, HTTP, WebSocket and HTTP2 work on RoCE frames. Called once, after all
 * protocols have registered. */
void smcr_follow_handoff(void);
