/* responses.c
 * Remembers the last responses of a flow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "responses.h"

#include "wire/wire.h"

static uint32_t
take_acknowledgement(smcr_responses_t *responses, const smcr_sent_t *packet, bool changes,
                     bool *copy)
{
    for (unsigned i = 0; changes && packet->ip_id >= 0 && i < SMCR_RESPONSES_KEPT; i++)
        if (responses->kept[i].frame && responses->kept[i].psn == packet->psn &&
            responses->kept[i].id == packet->ip_id) {
            *copy = true;
            return responses->kept[i].frame;
        }
    responses->newest = (responses->newest + 1) % SMCR_RESPONSES_KEPT;
    responses->kept[responses->newest].frame = packet->when.frame;
    responses->kept[responses->newest].psn = packet->psn;
    responses->kept[responses->newest].id = (uint16_t)packet->ip_id;
    return 0;
}

static uint32_t
take_data(smcr_responses_t *responses, wmem_allocator_t *scope, const smcr_sent_t *packet,
          bool changes, bool *copy)
{
    if (!responses->highest)
        responses->highest = smcr_psn_begin(packet->psn);
    smcr_psn_t psn = smcr_psn_near(responses->highest, packet->psn);
    smcr_seen_packet_t *seen = smcr_seen_find(&responses->seen, psn);
    uint16_t id = (uint16_t)packet->ip_id;

    responses->highest = MAX(responses->highest, psn);
    if (seen) {
        uint16_t last = smcr_seen_last_id(seen);
        *copy = changes && packet->ip_id >= 0 && (seen->id == id || last == id);
        uint32_t before = *copy && seen->id != id ? smcr_seen_last_frame(seen) : seen->frame;
        if (!*copy) {
            smcr_seen_rare_t *more = smcr_seen_rare(seen, scope);
            more->last_id = id;
            more->last_frame = packet->when.frame;
        }
        return before;
    }
    smcr_seen_add(&responses->seen, scope, psn, 0, packet);
    return 0;
}

uint32_t
smcr_responses_take(smcr_responses_t **responses, wmem_allocator_t *scope,
                    const smcr_sent_t *packet, bool changes, bool *copy)
{
    if (!*responses)
        *responses = wmem_new0(scope, smcr_responses_t);
    *copy = false;
    return packet->opcode == SMCR_RC_ACK
               ? take_acknowledgement(*responses, packet, changes, copy)
               : take_data(*responses, scope, packet, changes, copy);
}
