/* recognise.h
 * Whether the payload of a SEND on an unknown queue pair is an LLC or CDC message.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_MESSAGE_RECOGNISE_H
#define SMCR_MESSAGE_RECOGNISE_H

#include "compat.h"
#include "wire/wire.h"

/*
 * True when the `roce->payload_length` bytes at the beginning of `payload` are a message that
 * keeps every rule: it fits its layout, and in CONFIRM LINK the GID is the sender's own. Messages
 * of unknown type are never recognised. Bytes that the capture lacks are not judged; too few of
 * them prove nothing.
 *
 * sender: the queue pair that sent the message, 0 when the message does not tell.
 */
bool smcr_message_recognise(tvbuff_t *payload, packet_info *pinfo, const smcr_ib_headers_t *roce,
                            uint32_t *sender);

#endif /* SMCR_MESSAGE_RECOGNISE_H */
