/* claim.h
 * Which RoCE and InfiniBand packets are SMC-R.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_CLAIM_H
#define SMCR_CLAIM_H

#include "compat.h"
#include "roce.h"
#include "state/state.h"

/* A packet that is being dissected. */
typedef struct {
    smcr_roce_t roce;
    smcr_record_t record;  /* what is known of the packet, if it has a record */
    smcr_record_t *packet; /* the record; NULL: not ours. Changed in the first pass only */
    smcr_arrival_t arrival; /* first pass: what the state learns from */
    uint8_t layer;         /* of the packet in its frame */
    bool has_record, shown;
} smcr_frame_t;

/* Whether an opcode is a SEND that is a message by itself. */
bool smcr_is_whole_send(uint8_t opcode);

/* Whether a packet is of no interest, for where there is no SMC-R: there it has to cost next to
 * nothing. */
bool smcr_claim_ignores(const packet_info *pinfo, uint8_t opcode, uint32_t qpn);

/* Gets the record of the packet with the headers `frame->roce`; the first pass makes it.
 * `payload_at` is where its payload is in `tvb`, `layer` the number of layers below InfiniBand. */
void smcr_claim_begin(packet_info *pinfo, tvbuff_t *tvb, int payload_at, uint8_t layer,
                      smcr_frame_t *frame);

/* The first pass has learned all of this packet. */
void smcr_claim_end(const packet_info *pinfo, const smcr_frame_t *frame);

#endif /* SMCR_CLAIM_H */
