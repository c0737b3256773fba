/* Knows the application's bytes: dissected as over TCP, Follow Stream, Export Objects, Export PDUs.
 * Does not know which packets carried the bytes. Called by packet/ only.
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
    packet_info *pinfo;
    proto_tree *tree;            /* tree of the frame, to which dissectors above TCP add their
                                    items */
    proto_tree *below;           /* subtree of the packet, for items of the plugin about the
                                    bytes */
    const smcr_record_t *record; /* record of the packet that carried the bytes */
} smcr_payload_target_t;

/* Bytes of an RDMA WRITE packet that are new in the stream. */
typedef struct {
    tvbuff_t *data;    /* the new bytes, as far as they were captured */
    uint64_t position; /* stream position of the first new byte */
    uint64_t gap;      /* number of bytes right before `position` that are missing in the capture */
    bool gap_may_be_filled; /* a later frame of the capture may have the missing bytes */
} smcr_payload_fresh_t;

/* Finds the new bytes among the captured bytes `data` of an RDMA WRITE packet. A sender may write
 * bytes once more that the receiver has already: these are not new. Returns false if no byte is
 * new, or if the position is not known; `*fresh` is not set then. */
bool smcr_payload_find_new_bytes(tvbuff_t *data, const smcr_record_t *record,
                                 smcr_payload_fresh_t *fresh);

/* Has the new bytes of an RDMA WRITE packet dissected as if TCP had carried them. If no byte is
 * new, all bytes are shown as data. `data`: the captured bytes of the packet. */
void smcr_payload_dissect(const smcr_payload_target_t *target, tvbuff_t *data);

/* First pass: keeps the bytes of an RDMA WRITE packet, if a later frame may hand them on to
 * dissectors. Later passes do nothing. */
void smcr_payload_buffer(tvbuff_t *data, const packet_info *pinfo, const smcr_record_t *record);

/* Has bytes dissected: first those of earlier RDMA WRITEs that this packet hands on, then those of
 * this packet. All are in one buffer, in the order of the stream.
 *
 * held: the earlier packets, as smcr_held_t *. tvb: this packet. data: the bytes of this packet if
 * it is an RDMA WRITE, else NULL. */
void smcr_payload_hand_on(const smcr_payload_target_t *target, wmem_array_t *held, tvbuff_t *tvb,
                          tvbuff_t *data);

/* For listeners of the tap, in the first pass: returns the bytes of the next earlier packet that
 * this one hands on and that were not reported when they came; NULL: there are no more. `*next`:
 * index of the packet, 0 before the first call. Fills in `*record` with the facts of the earlier
 * packet. The caller frees the returned buffer by tvb_free(). */
tvbuff_t *smcr_payload_next_buffered(const smcr_tap_t *packet, unsigned *next,
                                     smcr_record_t *record);

/* At a CDC message: if the message ends the stream of its sender, has the data dissected that wait
 * for the end, such as an HTTP response without a length. `message`: the bytes of the CDC
 * message. */
void smcr_payload_end_stream(const smcr_payload_target_t *target, tvbuff_t *message);

/* Wireshark's TCP asks dozens of heuristics about each segment of an unknown protocol, and all of
 * them decline each time. That is half of the time that the dissection of bulk data takes. But a
 * heuristic recognises its protocol at the beginning of a message. So after SMCR_POLICY_REFUSALS
 * refusals of a direction in a row, the heuristics are asked only where a message may begin.
 *
 * Dissectors of a port or of a conversation get the same bytes as before. A connection that a
 * heuristic has accepted once is not changed, either. */

/* Refusals in a row after which the protocol of a direction counts as unknown. By then, even a
 * protocol with a greeting and a login has sent data of its own. */
#define SMCR_POLICY_REFUSALS 16

/* A message may begin after a pause of this length, nanoseconds. RDMA sends the data of a message
 * within a millisecond, so there is no such pause within a message. */
#define SMCR_POLICY_IDLE (100 * SMCR_TIME_MILLISECOND)

/* A message may also begin after the bytes that a CDC message has announced: the program has
 * written these bytes at once, or the kernel has collected them. At such a place the heuristics are
 * asked after this number of packets about which they were not asked. */
#define SMCR_POLICY_ANNOUNCED 16

/* After this number of packets about which they were not asked, the heuristics are asked about the
 * next packet in any case: a stream without pauses has messages, too. */
#define SMCR_POLICY_SELDOM 64

typedef enum {
    SMCR_POLICY_ASK_AS_TCP, /* the policy does not apply: TCP decides */
    SMCR_POLICY_ASK_NOW,    /* as TCP does; then smcr_policy_note_answer() reports the answer */
    SMCR_POLICY_ASK_NOT,    /* no heuristic is asked: the bytes are shown as data */
} smcr_policy_ask_t;

/* A range of bytes in a stream. */
typedef struct {
    uint64_t begin;                    /* position of the first byte */
    uint64_t end;                      /* position after the last byte */
    const smcr_handshake_ends_t *ends; /* ends of the TCP connection that dissectors see */
    unsigned sender;                   /* end that sends the bytes: index in `ends`, 0 or 1 */
} smcr_policy_stretch_t;

/* Decides whether heuristics are asked about new bytes of an RDMA WRITE packet. The first pass
 * decides, and keeps its decision in the record for later passes. */
smcr_policy_ask_t smcr_policy_decide_asking(packet_info *pinfo, const smcr_record_t *record,
                                            smcr_policy_stretch_t bytes);

/* After SMCR_POLICY_ASK_NOW: reports whether all heuristics have declined the bytes. */
void smcr_policy_note_answer(const packet_info *pinfo, const smcr_record_t *record,
                             smcr_policy_stretch_t bytes, bool declined);

/* Called once, after all protocols have registered. */
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
