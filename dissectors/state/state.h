/* Knows all that is known of the SMC-R traffic of one capture file: the door of model, evidence,
 * rules and flow. Does not know dissection; uses GLib and wmem only. Called by the room packet/
 * to learn, in the first pass, and read by every room above.
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

/* Notes the interface on which the next packet was captured. `interface`: its number in the file.
 * If packets of several interfaces are in the file, their order may not be that in which they were
 * sent. */
void smcr_state_set_interface(smcr_state_t *state, uint32_t interface);

/* Whether the state has learned from a frame after `frame`. */
bool smcr_state_is_beyond(const smcr_state_t *state, uint32_t frame);

/* Returns the capture points of the file; NULL: the file has one interface. */
smcr_points_t *smcr_state_points(const smcr_state_t *state);

/* Sets the capture points of the file. */
void smcr_state_set_points(smcr_state_t *state, smcr_points_t *points);

/* ---- senders whose ICRCs mean something ----
 *
 * If an adapter computes the ICRC, a capture on the adapter's host has other bytes in place of the
 * ICRC. So each ICRC of this sender looks wrong (docs/fabric.md). A wrong ICRC counts as a corrupt
 * packet only if a right ICRC of the same sender is captured. */

/* Counts the ICRC of the packet in `frame`, right or wrong. An ICRC that was not verified is not
 * counted. Called in the first pass, in the order of the capture. */
void smcr_senders_count(smcr_state_t *state, const smcr_icrc_t *icrc, uint32_t frame);

/* Whether the sender has sent a right ICRC, as far as is known now. `*doubted`: frame of the wrong
 * ICRC from which on wrong ICRCs of this sender mean nothing; 0: there is no such frame, or a right
 * ICRC has come since. */
bool smcr_senders_trust(const smcr_state_t *state, const smcr_icrc_t *icrc, uint32_t *doubted);

/* Whether most checked ICRCs of this sender are right. A network damages few packets. If half of
 * the ICRCs are wrong or more, a part of the capture may be from the sender's own host, before the
 * adapter computes them. */
bool smcr_senders_are_mostly_right(const smcr_state_t *state, const smcr_icrc_t *icrc);
