/* Knows the application's bytes: dissected as over TCP, Follow Stream, Export Objects, Export PDUs.
 * Does not know what carried them. Called by packet/ only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"
#include "show/show.h"

/* ---- dissected as over TCP ---- */

/* Where the bytes of a packet are shown. */
typedef struct {
    packet_info *pinfo;
    proto_tree *tree;            /* of the frame: dissectors above TCP add their items here */
    proto_tree *below;           /* of the packet, for what the plugin says of its bytes */
    const smcr_record_t *record; /* of the packet whose bytes they are */
} smcr_payload_target_t;

/* Bytes of an RDMA WRITE packet that are new in the stream. */
typedef struct {
    tvbuff_t *data;    /* the new bytes, as far as they were captured */
    uint64_t position; /* of the first new byte, in bytes from the beginning of the stream */
    uint64_t gap;      /* bytes right before `position` that are missing in the capture */
    bool gap_may_be_filled; /* a later frame of the capture may have the missing bytes */
} smcr_payload_fresh_t;

/* Finds the new bytes among the captured bytes `data` of an RDMA WRITE packet. An RMB element is a
 * ring, and a sender may rewrite bytes that the receiver has already: these are not new.
 * Returns false if no byte is new, or if the position is not known; `*fresh` is not set then. */
bool smcr_payload_find_new_bytes(tvbuff_t *data, const smcr_record_t *record,
                                 smcr_payload_fresh_t *fresh);

/* Has the new bytes of an RDMA WRITE packet dissected as TCP would have. If none is new, all bytes
 * are shown as data. `data`: the bytes of the packet, as far as they were captured. */
void smcr_payload_dissect(const smcr_payload_target_t *target, tvbuff_t *data);

/* First pass: keeps the bytes of an RDMA WRITE packet that a later frame may hand on. Later passes
 * do nothing. */
void smcr_payload_buffer(tvbuff_t *data, const packet_info *pinfo, const smcr_record_t *record);

/* Has the bytes of earlier RDMA WRITEs dissected that this packet hands on, and then the bytes of
 * this packet: in one buffer, in the order of the stream.
 *
 * held: the earlier packets, as smcr_held_t *. tvb: this packet. data: its bytes if it is an RDMA
 * WRITE, else NULL. */
void smcr_payload_hand_on(const smcr_payload_target_t *target, wmem_array_t *held, tvbuff_t *tvb,
                          tvbuff_t *data);

/* For listeners of the tap, in the first pass: the bytes of the next earlier packet that this one
 * hands on and that were not reported when they came. `*next`: index among these packets, 0 before
 * the first call. Fills in `*record`, what is known of the earlier packet. NULL: there are no more.
 * The caller frees the returned buffer with tvb_free(). */
tvbuff_t *smcr_payload_next_buffered(const smcr_tap_t *packet, unsigned *next,
                                     smcr_record_t *record);

/* At a CDC message: if it ends the stream of its sender, what waits for the end is dissected here,
 * such as an HTTP response without a length. `message`: the bytes of the CDC message. */
void smcr_payload_end_stream(const smcr_payload_target_t *target, tvbuff_t *message);

/* ---- whether the heuristics of TCP are asked about the application's bytes ----
 *
 * Wireshark's TCP asks dozens of heuristics about each segment of an unknown protocol, and all of
 * them decline each time: that is half of the time that the dissection of bulk data takes. But a
 * heuristic recognises its protocol at the beginning of a message. So when the heuristics have
 * declined a direction SMCR_POLICY_REFUSALS times in a row, they are asked again only where a
 * message may begin.
 *
 * This does not change what dissectors of a port or of a conversation get, nor what happens on a
 * connection that a heuristic has accepted once. */

/* Refusals in a row after which a direction counts as unknown. A protocol that greets, logs in and
 * then speaks has shown by then what it is. */
#define SMCR_POLICY_REFUSALS 16

/* A message may begin after a pause of this length, nanoseconds. RDMA sends data within a
 * millisecond, so within a message there is no such pause. */
#define SMCR_POLICY_IDLE (100 * SMCR_TIME_MILLISECOND)

/* Without a pause or an answer, a message may begin after the bytes that a CDC message has
 * announced: the program has written these bytes at once, or the kernel has collected them. There
 * the heuristics are asked after so many packets without being asked. */
#define SMCR_POLICY_ANNOUNCED 16

/* After so many packets without being asked, the heuristics are asked about the next packet in any
 * case: a stream without pauses has messages, too. */
#define SMCR_POLICY_SELDOM 64

typedef enum {
    SMCR_POLICY_ASK_AS_TCP, /* the policy does not apply: TCP decides */
    SMCR_POLICY_ASK_NOW,    /* as TCP, and the policy wants to know whether a heuristic accepts */
    SMCR_POLICY_ASK_NOT,    /* no heuristic is asked: the bytes are shown as data */
} smcr_policy_ask_t;

/* Bytes of a stream. */
typedef struct {
    uint64_t begin;                    /* position of the first byte */
    uint64_t end;                      /* position after the last byte */
    const smcr_handshake_ends_t *ends; /* of the TCP connection that dissectors see */
    unsigned sender;                   /* which of `ends` sends the bytes: 0 or 1 */
} smcr_policy_stretch_t;

/* Decides whether heuristics are asked about bytes of an RDMA WRITE packet that are new in the
 * stream. The first pass decides, and keeps its decision with the record for later passes. */
smcr_policy_ask_t smcr_policy_decide_asking(packet_info *pinfo, const smcr_record_t *record,
                                            smcr_policy_stretch_t bytes);

/* After SMCR_POLICY_ASK_NOW: reports whether all heuristics have declined the bytes. */
void smcr_policy_note_answer(const packet_info *pinfo, const smcr_record_t *record,
                             smcr_policy_stretch_t bytes, bool declined);

/* Called once, after all protocols have registered. */
void smcr_policy_handoff(void);

/* ---- Decode As ---- */

/* Decode As by the number of a connection (`-d smcr.stream==0,http`). Called once, when protocols
 * register. */
void smcr_decode_as_register(int proto);

/* ---- Export Objects ---- */

/* Registers the type of object SMC-R (`--export-objects smcr,FOLDER`, File > Export Objects): one
 * file for each direction of each connection, with the bytes that the program sent. Called once,
 * when protocols register. */
void smcr_export_register(int proto);

/* ---- Export PDUs ---- */

/* The connections as segments of TCP (`-U "SMC-R as TCP" -w FILE`, File > Export PDUs to File).
 * Called once, after the tap SMCR_TAP is registered. */
void smcr_export_segments_register(void);

/* ---- Follow Stream ---- */

/* Follow Stream (`-z follow,smcr,ascii,N`, and the menu). Called once, when protocols register. */
void smcr_follow_register(int proto);

/* Makes Follow Stream of TLS, HTTP and their like work on RoCE frames. Called once, after all
 * protocols have registered. */
void smcr_follow_handoff(void);
