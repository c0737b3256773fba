/* Knows all that is known of the SMC-R traffic of one capture file: the door of model,
 * evidence, rules and flow. Knows GLib and wmem, no dissection. Learning rooms call it in the first
 * pass; every room above reads it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"
#include "state/flow/packet_flow.h"
#include "state/model/record.h"
#include "state/model/socket.h"
#include "state/rules/links/links.h"
#include "state/rules/rules.h"

/* The state of a capture file, which goes with `scope`. */
smcr_state_t *smcr_state_new(wmem_allocator_t *scope);

/* What is learned next was captured on this interface. */
void smcr_state_place(smcr_state_t *state, uint32_t interface);

/* ---- whose ICRCs mean something: where an adapter fills them in, a capture on its own host has
 * something else in their place (docs/fabric.md) ---- */

/* First pass, in the order of the capture: counts the ICRC of a packet in `frame`, which is right
 * or wrong. One that is unverified tells nothing. */
void smcr_senders_count(smcr_state_t *state, const smcr_icrc_t *icrc, uint32_t frame);

/* Whether its sender has sent a right one, as far as is known now. `doubted`: the frame of the
 * sender's wrong one with which all of them turned out to mean nothing; 0: they mean something. */
bool smcr_senders_trust(const smcr_state_t *state, const smcr_icrc_t *icrc, uint32_t *doubted);
