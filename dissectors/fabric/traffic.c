/* traffic.c
 * Takes packets in, and tells what responses say of requests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include "wire/wire.h"

/* When the request was sent that a response with `psn` answers: of one within a READ, the READ.
 * Frame 0: not known. */
static smcr_when_t
request_of(const smcr_flow_t *flow, smcr_psn_t psn)
{
    smcr_psn_t read = smcr_reads_find(flow->reads, psn);
    const smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, read ? read : psn);
    smcr_when_t sent = smcr_reads_sent(flow->reads, read);

    if (sent.frame || !seen)
        return sent;
    return (smcr_when_t){seen->frame, seen->time};
}

/* The READ or atomic whose response ends with the packet; 0: none does. */
static smcr_psn_t
answered(const smcr_flow_t *flow, const smcr_sent_t *packet, smcr_psn_t psn)
{
    bool ends = packet->opcode == SMCR_RC_READ_RESPONSE_LAST ||
                packet->opcode == SMCR_RC_READ_RESPONSE_ONLY;

    if (packet->opcode == SMCR_RC_ATOMIC_ACK)
        return psn;
    return ends ? smcr_reads_find(flow->reads, psn) : 0;
}

/* The messages that the response completes. */
static const smcr_completion_t *
complete(smcr_traffic_t *requests, smcr_slab_t *slab, const smcr_sent_t *packet,
         smcr_psn_t psn, smcr_psn_t taken)
{
    smcr_psn_t from = MAX(requests->completed_up_to, requests->flow.taken) + 1;

    if (taken < from)
        return NULL;
    requests->completed_up_to = taken;
    return smcr_completion_of(&requests->flow, slab, from, taken,
                              answered(&requests->flow, packet, psn));
}

static bool
was_sent_again(const smcr_flow_t *flow, smcr_psn_t psn)
{
    smcr_psn_t read = smcr_reads_find(flow->reads, psn);
    const smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, read ? read : psn);

    return seen && smcr_seen_last_frame(seen) != seen->frame;
}

smcr_traffic_answer_t
smcr_traffic_answer(smcr_traffic_t *requests, smcr_slab_t *slab, const smcr_sent_t *packet)
{
    const smcr_flow_t *flow = &requests->flow;
    smcr_flow_coverage_t said = smcr_flow_coverage(flow, packet);
    smcr_traffic_answer_t answer = {.taken = said.taken};

    if (!said.psn)
        return answer;
    answer.again = said.taken <= flow->taken;
    answer.sent_again = was_sent_again(flow, said.psn);
    if (said.kind == SMCR_IB_SYNDROME_ACK)
        answer.acks = request_of(flow, said.psn);
    else
        answer.refuses = request_of(flow, said.psn);
    if (packet->when.time < answer.acks.time)
        answer.acks = (smcr_when_t){0, 0};
    answer.completes = complete(requests, slab, packet, said.psn, said.taken);
    return answer;
}

void
smcr_traffic_skip(smcr_traffic_t *requests, const smcr_sent_t *packet)
{
    requests->completed_up_to =
        MAX(requests->completed_up_to, smcr_flow_coverage(&requests->flow, packet).taken);
}

void
smcr_traffic_skip_all(smcr_traffic_t *requests)
{
    requests->completed_up_to = MAX(requests->completed_up_to, requests->flow.highest);
}

smcr_flow_verdict_t
smcr_traffic_take(smcr_traffic_t *traffic, smcr_traffic_t *reverse, wmem_allocator_t *scope,
                  const smcr_sent_t *packet)
{
    bool anew = !smcr_ib_is_response(packet->opcode) && !packet->corrupt &&
                smcr_flow_begins_anew(&traffic->flow, packet->psn);
    smcr_flow_verdict_t verdict =
        smcr_flow_take(&traffic->flow, reverse ? &reverse->flow : NULL, scope, packet);

    if (anew)
        traffic->completed_up_to = 0;
    return verdict;
}
