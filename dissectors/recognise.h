/* recognise.h
 * Whether the payload of a SEND on an unknown queue pair is an LLC or CDC message.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_RECOGNISE_H
#define SMCR_RECOGNISE_H

#include "roce.h"

/*
 * True when the `roce->payload_length` bytes at the beginning of `payload` are a message that
 * keeps every rule: exact length, all reserved bytes zero, counts within limits, and in CONFIRM
 * LINK the sender's own GID. Messages of unknown type are never recognised.
 */
bool smcr_recognise(tvbuff_t *payload, const smcr_roce_t *roce);

/* Of a message that was recognised: the queue pair that sent it, if it is CONFIRM LINK. */
bool smcr_recognise_sender(tvbuff_t *payload, uint32_t *qpn);

#endif /* SMCR_RECOGNISE_H */
