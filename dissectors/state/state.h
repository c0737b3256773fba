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

/* A new, empty state of a capture file. It lives as long as `scope`, and so does all in it. */
smcr_state_t *smcr_state_new(wmem_allocator_t *scope);

/* What is learned next was captured on this interface; `interface`: its number in the file. Packets
 * of several interfaces may be in the file in another order than they were sent. */
void smcr_state_set_interface(smcr_state_t *state, uint32_t interface);

/* ---- whose ICRCs mean something ----
 *
 * Where an adapter computes the ICRC, a capture on its own host has other bytes in its place, and
 * each ICRC of this sender looks wrong (docs/fabric.md). So a wrong ICRC shows a corrupt packet
 * only if the sender has sent a right one. */

/* Counts the ICRC of the packet in `frame`: right or wrong. One that was not verified says nothing.
 * Called in the first pass, in the order of the capture. */
void smcr_senders_count(smcr_state_t *state, const smcr_icrc_t *icrc, uint32_t frame);

/* Whether the sender has sent a right ICRC, as far as is known now. `*doubted`: the frame of the
 * wrong ICRC after which all wrong ones of this sender mean nothing; 0: there was no such frame, or
 * a right one has come since. */
bool smcr_senders_trust(const smcr_state_t *state, const smcr_icrc_t *icrc, uint32_t *doubted);
