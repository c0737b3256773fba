/* Finds out which transmissions have reached their receivers. What comes after the last capture
 * point is known from answers only, so the receiver of a flow is followed at the flow's last point
 * (fates_receiver.c), and the sender at its first point (fates_sender.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fates.h"

#include "fates_receiver.h"
#include "fates_sender.h"
#include "fates_tcp.h"

/* ---- events ---- */

/* Compares events for sorting, by time, then by the order in the file. */
static int
compare_events(const void *one, const void *other)
{
    const smcr_fates_event_t *a = one, *b = other;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Returns when the transmissions with the indexes `begin` to `end` - 1, all of one flow in the
 * order in which they were sent, passed the point at `position`. A transmission that the point does
 * not have is placed after all that were sent before it, and before all that were sent later. If
 * both is impossible because packets came out of order, it is placed before those that were sent
 * later. The caller frees the array. */
static uint64_t *
passing_times(const smcr_chain_t *chain, uint32_t begin, uint32_t end, uint32_t position)
{
    uint64_t *times = g_new(uint64_t, end - begin + 1);
    uint64_t latest = 0; /* latest time at the point of all transmissions that were sent before */
    uint64_t soonest = UINT64_MAX; /* earliest time of all that were sent later */

    for (uint32_t i = begin; i < end; i++) {
        const smcr_transmission_t *transmission = &chain->transmissions[i];
        const smcr_observed_flow_t *flow = &chain->points->flows[transmission->flow];
        bool is_back = smcr_observed_is_back(chain->points, flow);
        uint64_t time = smcr_chain_passing_time(chain, transmission, position, is_back);
        if (transmission->at[position])
            latest = MAX(latest, time);
        times[i - begin] = transmission->at[position] ? time : MAX(time, latest + 1);
    }
    for (uint32_t i = end; i-- > begin;) {
        if (chain->transmissions[i].at[position])
            soonest = MIN(soonest, times[i - begin]);
        else
            times[i - begin] = MIN(times[i - begin], soonest);
    }
    return times;
}

/* Adds the transmissions of a flow to `events`: its responses if `responses` is true, else its
 * requests, as they pass the point at `position`. */
static void
add_events(GArray *events, const smcr_chain_t *chain, uint32_t flow, bool responses,
           uint32_t position)
{
    uint32_t begin = smcr_chain_first_of(chain, flow);
    uint32_t end = smcr_chain_first_of(chain, flow + 1);
    uint64_t *times = passing_times(chain, begin, end, position);

    for (uint32_t i = begin; i < end; i++) {
        smcr_transmission_t *transmission = &chain->transmissions[i];
        const smcr_observed_t *packet = &chain->points->observed[transmission->any];
        uint32_t here = transmission->at[position];
        if (packet->opcode >= SMCR_RC_OPCODES ||
            smcr_ib_operations[packet->opcode].is_response != responses)
            continue;
        smcr_fates_event_t event = {
            .time = times[i - begin],
            .order = here ? here : transmission->any,
            .transmission = transmission,
            .packet = packet,
            .psns = 1,
            .is_response = responses,
            .is_seen = smcr_chain_is_whole_at(transmission, position),
        };
        g_array_append_val(events, event);
    }
    g_free(times);
}

/* Returns the number of PSNs that the request takes: of a READ the number of its responses,
 * otherwise 1. `mtu`: path MTU, bytes; 0: no message of the flow or of its responses has several
 * packets, so a READ takes 1. */
static uint32_t
psns_of(const smcr_observed_t *packet, uint32_t mtu)
{
    return mtu && packet->fetched ? MIN((packet->fetched - 1) / mtu + 1, SMCR_PSN_MASK / 2) : 1;
}

/* Fills `events` with the requests of the flow and their answers, as they pass the point at
 * `position`. Returns the first request; NULL: there is none. */
static const smcr_fates_event_t *
collect_events(GArray *events, const smcr_chain_t *chain, uint32_t flow, uint32_t position)
{
    const smcr_observed_flow_t *flows = chain->points->flows;
    uint32_t answers = smcr_chain_answers_of(chain, flow), mtu = flows[flow].mtu;

    g_array_set_size(events, 0);
    add_events(events, chain, flow, false, position);
    if (answers < chain->points->flow_count) {
        add_events(events, chain, answers, true, position);
        mtu = MAX(mtu, flows[answers].mtu);
    }
    for (unsigned i = 0; i < events->len; i++) {
        smcr_fates_event_t *event = &g_array_index(events, smcr_fates_event_t, i);
        event->psns = psns_of(event->packet, mtu);
    }
    g_array_sort(events, compare_events);
    for (unsigned i = 0; i < events->len; i++)
        if (!g_array_index(events, smcr_fates_event_t, i).is_response)
            return &g_array_index(events, smcr_fates_event_t, i);
    return NULL;
}

/* Follows the receiver of a flow, at the last point of the flow, and its sender, at the first
 * point. Does nothing if the flow has no request. */
static void
follow_flow(const smcr_chain_t *chain, uint32_t flow, GArray *events, smcr_fates_slot_t *slots)
{
    bool is_back = smcr_observed_is_back(chain->points, &chain->points->flows[flow]);
    uint32_t far = chain->count - 1;

    for (unsigned at_first = 0; at_first < 2; at_first++) {
        bool is_far = is_back ? at_first : !at_first;
        const smcr_fates_event_t *first =
            collect_events(events, chain, flow, is_far ? far : 0);
        if (!first)
            return;
        memset(slots, 0, SMCR_FATES_SLOTS * sizeof *slots);
        smcr_psn_t psn = smcr_psn_begin(first->packet->psn);
        if (at_first)
            smcr_fates_follow_sender(events, slots, psn);
        else
            smcr_fates_follow_receiver(events, slots, psn);
    }
}

/* Responses go to the sender of a request, so only flows with a known sender are followed. */
void
smcr_fates_find(smcr_chain_t *chain)
{
    const smcr_points_t *points = chain->points;

    if (points->is_tcp) {
        smcr_fates_find_tcp(chain);
        return;
    }
    GArray *events = g_array_new(FALSE, FALSE, sizeof(smcr_fates_event_t));
    smcr_fates_slot_t *slots = g_new(smcr_fates_slot_t, SMCR_FATES_SLOTS);

    for (uint32_t i = 0; i < points->flow_count; i++) {
        const smcr_observed_flow_t *flow = &points->flows[i];
        if (flow->path == chain->path && flow->source_qpn)
            follow_flow(chain, i, events, slots);
    }
    g_free(slots);
    g_array_free(events, TRUE);
}
