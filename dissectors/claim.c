/* claim.c
 * Decides which packets are SMC-R: those of queue pairs that the state knows, and SENDs on others
 * that prove themselves. All else is not ours, although the first WRITEs are remembered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "claim.h"

#include "dissector_state.h"
#include "recognise.h"

bool
smcr_is_whole_send(uint8_t opcode)
{
    return opcode == SMCR_RC_SEND_ONLY || opcode == SMCR_RC_SEND_ONLY_IMMEDIATE ||
           opcode == SMCR_RC_SEND_ONLY_INVALIDATE;
}

bool
smcr_claim_ignores(const packet_info *pinfo, uint8_t opcode, uint32_t qpn)
{
    const address *to = &pinfo->dst;

    if (to->len < 4 || smcr_is_whole_send(opcode))
        return false;
    uint64_t target = smcr_target((const uint8_t *)to->data + to->len - 4, qpn);
    return smcr_state_ignores(smcr_state, opcode, target);
}

/* A SEND on an unknown queue pair: does its content prove that it is SMC-R? */
static bool
recognise(tvbuff_t *tvb, packet_info *pinfo, int payload_at, const smcr_arrival_t *arrival)
{
    uint32_t sender;

    if (!smcr_is_whole_send(arrival->roce->opcode) ||
        tvb_captured_length_remaining(tvb, payload_at) <= 0)
        return false;
    tvbuff_t *payload = tvb_new_subset_remaining(tvb, payload_at);
    if (!smcr_recognise(payload, pinfo, arrival->roce, &sender))
        return false;
    if (sender)
        smcr_state_prove_link(arrival, sender);
    else
        smcr_state_prove(arrival);
    return true;
}

/* First pass: is this packet SMC-R? Returns whether it gets a record. */
static bool
decide(packet_info *pinfo, tvbuff_t *tvb, int payload_at, smcr_frame_t *frame)
{
    smcr_arrival_t *arrival = &frame->arrival;

    frame->record = smcr_record_new();
    *arrival = (smcr_arrival_t){
        .state = smcr_state,
        .roce = &frame->roce,
        .when = smcr_when(pinfo),
        .record = &frame->record,
    };
    return smcr_state_packet(arrival) ||
           (recognise(tvb, pinfo, payload_at, arrival) && smcr_state_packet(arrival)) ||
           smcr_state_stranger(arrival);
}

void
smcr_claim_begin(packet_info *pinfo, tvbuff_t *tvb, int payload_at, uint8_t layer,
                 smcr_frame_t *frame)
{
    frame->layer = layer;
    frame->shown = false;
    if (pinfo->fd->visited)
        frame->has_record =
            smcr_record_find(smcr_state, pinfo->num, frame->layer, &frame->record);
    else
        frame->has_record = decide(pinfo, tvb, payload_at, frame);
    /* a WRITE that came too early is ours once its link is known */
    bool ours = frame->has_record && smcr_record_now(&frame->record).link;
    frame->packet = ours ? &frame->record : NULL;
}

void
smcr_claim_end(const packet_info *pinfo, const smcr_frame_t *frame)
{
    if (frame->has_record && !pinfo->fd->visited)
        smcr_record_keep(smcr_state, pinfo->num, frame->layer, &frame->record);
}
