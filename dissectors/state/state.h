/* Knows what the first pass learns of the SMC-R traffic of one capture file: the door of model,
 * evidence, rules and flow. Does not know dissection; uses GLib and wmem only. The rooms above
 * include it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "points/points.h"
#include "state/evidence/evidence.h"
#include "state/flow/packet_flow.h"
#include "state/model/record.h"
#include "state/model/socket.h"
#include "state/rules/links/links.h"
#include "state/rules/rules.h"

/* Makes an empty state of a capture file. The state, with all that it keeps, lives as long as
 * `scope`. */
smcr_state_t *smcr_state_new(wmem_allocator_t *scope);

/* Notes the interface on which the arriving packet was captured. `interface`: its number in the
 * file. If packets of several interfaces are in the file, their order may not be that in which they
 * were sent. */
void smcr_state_set_interface(smcr_state_t *state, uint32_t interface);

/* Whether the state has learned from a frame after `frame`. */
bool smcr_state_is_beyond(const smcr_state_t *state, uint32_t frame);

/* Requests that are captured after their own acknowledgement: the times of the capture do not show
 * which packet was first. */
typedef struct {
    smcr_when_t first; /* first such request; frame 0: there is none */
    uint64_t most;     /* how long after its acknowledgement such a request came at most,
                          nanoseconds */
} smcr_state_disorder_t;

/* Returns the requests that are captured after their acknowledgement, as far as is known now. */
smcr_state_disorder_t smcr_state_disorder(const smcr_state_t *state);

/* Returns the capture points of the file; NULL: only one point is known so far, or the preference
 * `points` turns them off. */
smcr_points_t *smcr_state_points(const smcr_state_t *state);

/* Sets the capture points of the file. */
void smcr_state_set_points(smcr_state_t *state, smcr_points_t *points);

/* ---- senders whose ICRCs mean something ----
 *
 * If an adapter computes the ICRC, a capture on the adapter's host has other bytes in place of the
 * ICRC. So each ICRC of this sender looks wrong (docs/fabric.md). A wrong ICRC counts as a corrupt
 * packet only if a right ICRC of the same sender is captured. */

/* First pass, in the order of the capture: counts the ICRC of the packet in `frame`, right or
 * wrong. An ICRC that was not verified is not counted. */
void smcr_senders_count(smcr_state_t *state, const smcr_icrc_t *icrc, uint32_t frame);

/* Whether the sender has sent a right ICRC, as far as is known now. `*doubted`: frame of the wrong
 * ICRC from which on wrong ICRCs of this sender mean nothing; 0: there is no such frame, or a right
 * ICRC has come since. */
bool smcr_senders_trust(const smcr_state_t *state, const smcr_icrc_t *icrc, uint32_t *doubted);

/* Whether most checked ICRCs of this sender are right. A network damages few packets. If half of
 * the ICRCs are wrong or more, a part of the capture may be from the sender's own host, before the
 * adapter computes them. */
bool smcr_senders_are_mostly_right(const smcr_state_t *state, const smcr_icrc_t *icrc);

/* ---- damaged TCP segments ----
 *
 * A receiver discards a segment whose checksum is wrong. An adapter that fills in the checksum
 * makes all checksums wrong that its host sends, in a capture on that host. So a wrong checksum
 * means a damaged segment only if few checksums of its sender are wrong. */

/* Kinds of checksums, which are judged apart. */
typedef enum {
    SMCR_SENDER_ICRC, /* ICRC of a RoCE packet */
    SMCR_SENDER_IP,   /* header checksum of IPv4 */
    SMCR_SENDER_TCP,  /* checksum of TCP */
    SMCR_SENDER_CLC,  /* checksum of TCP of a segment with CLC messages */
} smcr_sender_checksum_t;

/* Whose checksums are judged together. */
typedef struct {
    uint8_t address[SMCR_GID_LENGTH]; /* address of the sender as a GID; all zeros: all senders */
    uint32_t interface;               /* number of the interface that captured the packet */
    smcr_sender_checksum_t checksum;  /* kind of the checksum */
} smcr_sender_t;

/* First pass, in the order of the capture: counts a checksum of the packet in `frame`, right or
 * wrong. */
void smcr_senders_count_checksum(smcr_state_t *state, const smcr_sender_t *sender, bool is_right,
                                 uint32_t frame);

/* Whether a wrong checksum of this sender means that the packet was damaged: a right one has come,
 * and smcr_senders_mean_nothing() is false. */
bool smcr_senders_mean_damage(const smcr_state_t *state, const smcr_sender_t *sender);

/* Whether wrong checksums of this sender mean nothing, since a network does not damage so many
 * packets: the number of wrong ones is above 1 plus a third of the number of right ones. Its
 * adapter may fill in the checksums, or a program may have changed the packets of the capture. */
bool smcr_senders_mean_nothing(const smcr_state_t *state, const smcr_sender_t *sender);

/* Whether exactly one checksum of this sender was counted so far. */
bool smcr_senders_are_new(const smcr_state_t *state, const smcr_sender_t *sender);

/* Segments of one TCP connection that are damaged, or may be. */
typedef struct {
    bool has_syn[2];  /* [0]: a SYN may be damaged, and no undamaged SYN has come since; [1]: the
                         same for the SYN-ACK */
    bool has_end;     /* a segment with FIN or RST is damaged, or may be, so that TCP's dissector
                         may have seen an end of the connection that was none */
    bool is_absolute; /* TCP's dissector shows sequence numbers as they are, not relative to those
                         of the SYNs */
} smcr_state_damage_t;

/* Whether a TCP segment was damaged so far, or may have been. */
bool smcr_state_has_damage(const smcr_state_t *state);

/* Returns what is known of damaged segments of Wireshark's TCP conversation `conversation`; NULL:
 * nothing. */
smcr_state_damage_t *smcr_state_damage(const smcr_state_t *state, const void *conversation);

/* First pass: as smcr_state_damage(), for writing. The first call for a conversation makes the
 * struct. */
smcr_state_damage_t *smcr_state_damage_of(smcr_state_t *state, const void *conversation);
