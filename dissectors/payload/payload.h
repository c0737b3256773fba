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

/* Bytes of an RDMA WRITE packet that are new in the stream. */
typedef struct {
    tvbuff_t *data;
    uint64_t position; /* of the first one, in the stream */
    uint64_t gap;      /* bytes before them that the capture lacks */
    bool waits;        /* these may still come: the capture has them */
} smcr_payload_fresh_t;

/* Which of the captured bytes `data` of a packet are new. Returns false: none, or nobody knows. */
bool smcr_payload_fresh_bytes(tvbuff_t *data, const smcr_record_t *record,
                              smcr_payload_fresh_t *fresh);

/* Has those bytes of an RDMA WRITE packet dissected that are new in the stream. Where none is, all
 * bytes are shown as data.
 *
 * data: all its bytes, as far as they were captured. tree: of the frame, for the protocol above.
 * below: of the packet, for what is said of it. */
void smcr_payload_dissect(tvbuff_t *data, packet_info *pinfo, proto_tree *tree, proto_tree *below,
                          const smcr_record_t *record);

/* First pass: keeps the bytes of an RDMA WRITE packet that a later frame may hand on. */
void smcr_payload_hold(tvbuff_t *data, const packet_info *pinfo, const smcr_record_t *record);

/* Has the bytes of earlier RDMA WRITEs dissected that this packet hands on, `held`, and then, in
 * the same way, those of its own, if it is a WRITE: `data`, else NULL.
 *
 * tvb: the packet. tree, below: as above. */
void smcr_payload_hand_on(wmem_array_t *held, tvbuff_t *tvb, tvbuff_t *data, packet_info *pinfo,
                          proto_tree *tree, proto_tree *below, const smcr_record_t *record);

/* The bytes of an earlier packet that are told now, from the `*next`th that this one hands on, and
 * in `*record` what is known of it; NULL: there are no more. The others were told when they came,
 * or will be. The caller frees what is returned with tvb_free(). */
tvbuff_t *smcr_payload_next_held(const smcr_tap_t *packet, unsigned *next, smcr_record_t *record);

/* A CDC message that may end the stream of its sender: whatever waits for the end (such as an HTTP
 * response without a length) is dissected here.
 *
 * message: its bytes. tree, below: as above. */
void smcr_payload_end(tvbuff_t *message, packet_info *pinfo, proto_tree *tree, proto_tree *below,
                      const smcr_record_t *record);

/* ---- whether the heuristics of TCP are asked about the application's bytes ----
 *
 * Wireshark's TCP asks dozens of heuristics about each segment of a protocol that nobody knows, and
 * all of them decline again and again: that is half of what dissecting bulk data costs. A heuristic
 * knows its protocol by how a message begins. So a direction whose bytes were declined
 * SMCR_POLICY_REFUSALS times in a row is asked about again only where a message may begin. What a
 * dissector of the port or of the conversation is for, and a connection that a heuristic has once
 * accepted, is not concerned. */

/* Refusals in a row after which a direction counts as unknown. A protocol that greets, logs in and
 * then speaks has shown by then what it is. */
#define SMCR_POLICY_REFUSALS 16

/* A message begins after a pause, nanoseconds: RDMA sends what is there within a millisecond. */
#define SMCR_POLICY_IDLE (100 * SMCR_TIME_MILLISECOND)

/* Without pause or answer a message may begin behind what a CDC message has announced, which is as
 * much as the program wrote at once, or the kernel took together. There the heuristics are asked
 * after so many packets that they were not asked about. */
#define SMCR_POLICY_ANNOUNCED 16

/* And about the packet after so many in any case: what goes on without an end begins somewhere. */
#define SMCR_POLICY_SELDOM 64

typedef enum {
    SMCR_POLICY_ASK_AS_TCP, /* the policy is not concerned: TCP does as it does */
    SMCR_POLICY_ASK_NOW, /* as TCP does, and whoever accepts the bytes counts */
    SMCR_POLICY_ASK_NOT, /* nobody is asked: the bytes are data */
} smcr_policy_ask_t;

/* Bytes of a stream. */
typedef struct {
    uint64_t begin, end; /* positions of the first one, and behind the last */
    const smcr_handshake_ends_t *ends; /* between which dissectors get them, sent by this one */
    unsigned sender;
} smcr_policy_stretch_t;

/* What is done with bytes of an RDMA WRITE packet that are new in the stream. The first pass
 * decides, later ones do the same. */
smcr_policy_ask_t smcr_policy_decide(packet_info *pinfo, const smcr_record_t *record,
                                     smcr_policy_stretch_t bytes);

/* After SMCR_POLICY_ASK_NOW: whether all have declined the bytes. */
void smcr_policy_answer(const packet_info *pinfo, const smcr_record_t *record,
                        smcr_policy_stretch_t bytes, bool declined);

/* Looks up what this file needs of others; called once, after all protocols have registered. */
void smcr_policy_handoff(void);

/* ---- Decode As ---- */

/* By the number of a connection. Called once, when protocols register. */
void smcr_decode_as_register(int proto);

/* ---- Export Objects ---- */

/* A file for each direction of each connection, with the bytes that the program sent
 * (`--export-objects smcr,FOLDER`, File > Export Objects > SMC-R). Registers the type of object;
 * called once, when protocols register. */
void smcr_export_register(int proto);

/* ---- Export PDUs ---- */

/* The connections as segments of TCP (`-U "SMC-R as TCP" -w FILE`, File > Export PDUs to File).
 * Called once, behind the tap SMCR_TAP. */
void smcr_export_segments_register(void);

/* ---- Follow Stream ---- */

/* `-z follow,smcr,ascii,N`, and the Follow menu. Called once, when protocols register. */
void smcr_follow_register(int proto);

/* Follow of TLS, HTTP and their like takes RoCE frames. Called once, behind all registrations. */
void smcr_follow_handoff(void);
