/* claim.c
 * Decides which packets are SMC-R: those of queue pairs that the state knows, and SENDs on others
 * that prove themselves. All else is not ours, although the first WRITEs are remembered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "claim.h"

#include "dissector_state.h"
#include "recognise.h"
#include "state/orphan.h"

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
recognise(tvbuff_t *tvb, packet_info *pinfo, int payload_at, const smcr_roce_t *roce)
{
    smcr_when_t when = smcr_when(pinfo);
    uint32_t sender;

    if (!smcr_is_whole_send(roce->opcode) || tvb_captured_length_remaining(tvb, payload_at) <= 0)
        return false;
    tvbuff_t *payload = tvb_new_subset_remaining(tvb, payload_at);
    if (!smcr_recognise(payload, pinfo, roce, &sender))
        return false;
    if (sender)
        smcr_state_recognise_link(smcr_state, roce, sender, when);
    else
        smcr_state_recognise(smcr_state, roce, when);
    return true;
}

/* First pass: is this packet SMC-R? Returns whether it gets a record. */
static bool
decide(packet_info *pinfo, tvbuff_t *tvb, int payload_at, const smcr_roce_t *roce,
       smcr_packet_t *packet)
{
    smcr_when_t when = smcr_when(pinfo);

    *packet = (smcr_packet_t){.kind = SMCR_PACKET_OTHER, .direction = SMCR_SIDE_UNKNOWN};
    bool known = smcr_state_packet(smcr_state, roce, when, packet);
    if (!known && recognise(tvb, pinfo, payload_at, roce))
        known = smcr_state_packet(smcr_state, roce, when, packet);
    return known || smcr_orphan_stranger(smcr_state, roce, when, packet);
}

/* Whether the packet is SMC-R, as far as is known now. */
static bool
is_ours(const smcr_packet_t *packet)
{
    const smcr_late_t *late = packet->place ? smcr_place_late(packet->place) : NULL;

    return packet->link || (late && late->link);
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
        frame->has_record = decide(pinfo, tvb, payload_at, &frame->roce, &frame->record);
    frame->packet = frame->has_record && is_ours(&frame->record) ? &frame->record : NULL;
}

void
smcr_claim_end(const packet_info *pinfo, const smcr_frame_t *frame)
{
    if (frame->has_record && !pinfo->fd->visited)
        smcr_record_keep(smcr_state, pinfo->num, frame->layer, &frame->record);
}
