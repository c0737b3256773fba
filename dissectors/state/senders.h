/* senders.h
 * Whose ICRCs mean something. Where an adapter fills them in, a capture on its own host has
 * something else in their place (docs/fabric.md).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_SENDERS_H
#define SMCR_STATE_SENDERS_H

#include "fabric/fabric.h"
#include "state/model/store.h"

/* First pass, in the order of the capture: counts the ICRC of a packet in `frame`, which is right
 * or wrong. One that is unverified tells nothing. */
void smcr_senders_count(smcr_state_t *state, const smcr_icrc_t *icrc, uint32_t frame);

/* Whether its sender has sent a right one, as far as is known now. */
bool smcr_senders_trust(const smcr_state_t *state, const smcr_icrc_t *icrc);

/* The frame of the sender's wrong one with which all of them turned out to mean nothing; 0: they
 * mean something, as far as is known now. */
uint32_t smcr_senders_doubted(const smcr_state_t *state, const smcr_icrc_t *icrc);

#endif /* SMCR_STATE_SENDERS_H */
