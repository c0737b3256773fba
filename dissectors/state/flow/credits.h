/* The credits of ANCK, the kernel of Alibaba (smc_wr.h there): a host sends a message only if its
 * peer has announced space for it. For a new link, CLC and ADD LINK announce space; then CDC
 * messages, immediate data and ANNOUNCE CREDITS announce more. Called by packet_flow.c for
 * requests, and by the functions that take in messages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* Takes in for how many messages the host of the queue pair has space on a new link. `count`:
 * number in Accept, Confirm or ADD LINK; 0: the host does not limit its peer. */
void smcr_state_credits_begin(smcr_qp_t *qp, uint8_t count);

/* Notes that the packet uses one of the credits that its receiver has announced. Only a whole SEND,
 * the last packet of a SEND, and a packet with immediate data use a credit. Adds an event if it was
 * certainly the last one. Called with each packet that the receiver takes in, or may take in. */
void smcr_state_credits_use(const smcr_arrival_t *arrival);

/* Takes in that the sender of the arriving message has announced space for `count` further
 * messages. `count` may be 0. Adds an event if the peer certainly had no credits. */
void smcr_state_credits_add(const smcr_arrival_t *arrival, unsigned count);

/* Notes that the arriving message may announce space, and that its credits are not captured. */
void smcr_state_credits_miss(const smcr_arrival_t *arrival);
