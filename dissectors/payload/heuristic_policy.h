/* heuristic_policy.h
 * Whether the heuristics of TCP are asked about the application's bytes.
 *
 * Wireshark's TCP asks dozens of heuristics about each segment of a protocol that nobody knows, and
 * all of them decline again and again: that is half of what dissecting bulk data costs. A heuristic
 * knows its protocol by how a message begins. So a direction whose bytes were declined
 * SMCR_POLICY_REFUSALS times in a row is asked about again only where a message may begin. What a
 * dissector of the port or of the conversation is for, and a connection that a heuristic has once
 * accepted, is not concerned.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "state/state.h"

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
    conversation_t *conversation; /* to which dissectors get them, sent by this end of it */
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
