/* Finds out which transmissions were damaged between two capture points.
 *
 * Any byte of a RoCE packet with a wrong ICRC may be wrong. The packet is the transmission of the
 * same flow that an earlier point of the way has with a right ICRC, and its own point does not
 * have, under two conditions: all headers are equal, or the IPv4 identification is (the IPv4 header
 * has a checksum of its own); and the packet comes at the usual time. The parts of TCP segments are
 * compared by their sequence numbers, so a segment with a wrong checksum is in its transmission
 * already.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "damaged.h"

/* Whether packets of the way pass the point at position `one` before that at position `other`. If
 * the order of the points is not known, true for any two of them. */
static bool
is_before(const smcr_chain_t *chain, bool is_back, uint32_t one, uint32_t other)
{
    if (!chain->order_known)
        return one != other;
    return is_back ? one > other : one < other;
}

/* ---- RoCE ---- */

/* A packet with a wrong ICRC. */
typedef struct {
    const smcr_chain_t *chain; /* the chain of the packet's path */
    const smcr_observed_t *observed; /* the packet */
    uint32_t position;  /* position of its point in the chain */
    bool is_back;       /* it is of way 1 */
    uint64_t departure; /* when it passed the first point (smcr_chain_departure()) */
} damaged_t;

/* How well a transmission fits to a damaged packet. */
typedef struct {
    uint32_t number; /* index of the transmission, plus 1; 0: none */
    bool is_equal;   /* all headers are equal; false: the IPv4 identifications are */
    uint64_t apart;  /* difference between their departures, nanoseconds */
} fit_t;

/* Returns the time of a transmission. A function of type smcr_sorted_key_t. */
static uint64_t
time_of(const void *transmissions, uint32_t index)
{
    return ((const smcr_transmission_t *)transmissions)[index].time;
}

/* Returns an observation of the transmission with a right ICRC, at a point that the damaged packet
 * passed before its own point; NULL: there is none, or the point of the damaged packet has the
 * transmission. */
static const smcr_observed_t *
earlier_of(const damaged_t *damaged, const smcr_transmission_t *transmission)
{
    if (transmission->at[damaged->position])
        return NULL;
    for (uint32_t i = 0; i < damaged->chain->count; i++)
        if (smcr_chain_is_whole_at(transmission, i) &&
            is_before(damaged->chain, damaged->is_back, i, damaged->position) &&
            smcr_chain_at(damaged->chain, transmission, i)->is_right)
            return smcr_chain_at(damaged->chain, transmission, i);
    return NULL;
}

/* Returns how well the transmission with the index `index` fits to the damaged packet. */
static fit_t
fit_of(const damaged_t *damaged, uint32_t index)
{
    const smcr_chain_t *chain = damaged->chain;
    const smcr_observed_t *own = damaged->observed;
    const smcr_observed_t *earlier = earlier_of(damaged, &chain->transmissions[index]);
    fit_t fit = {.number = 0};

    if (!earlier)
        return fit;
    uint64_t departure = smcr_chain_departure(chain, smcr_chain_position(chain, earlier->point),
                                              damaged->is_back, earlier->time);
    fit.apart = MAX(departure, damaged->departure) - MIN(departure, damaged->departure);
    fit.is_equal = earlier->identity == own->identity;
    bool is_alike = fit.is_equal || (own->ip_id && earlier->ip_id == own->ip_id);
    if (is_alike && fit.apart <= smcr_chain_widest(chain))
        fit.number = index + 1;
    return fit;
}

/* Whether the first transmission fits better than the second one: equal headers are better than
 * equal identifications, then the nearer time decides. */
static bool
is_better(const fit_t *one, const fit_t *other)
{
    if (!one->number || !other->number)
        return one->number;
    return one->is_equal != other->is_equal ? one->is_equal : one->apart < other->apart;
}

/* Returns the index, plus 1, of the transmission that fits best to the damaged packet; 0: none
 * fits. The transmissions of a flow are in the order of time. */
static uint32_t
find_transmission(const damaged_t *damaged)
{
    const smcr_chain_t *chain = damaged->chain;
    uint64_t most = smcr_chain_widest(chain) + (uint64_t)chain->usual[damaged->is_back];
    uint32_t first = smcr_chain_first_of(chain, damaged->observed->flow);
    uint32_t end = smcr_chain_first_of(chain, damaged->observed->flow + 1);
    uint64_t earliest = damaged->departure - MIN(damaged->departure, most);
    uint32_t i = first + smcr_sorted_first(chain->transmissions + first, end - first, time_of,
                                           earliest);
    fit_t best = {.number = 0};

    for (; i < end && chain->transmissions[i].time <= damaged->departure + most; i++) {
        fit_t fit = fit_of(damaged, i);
        if (is_better(&fit, &best))
            best = fit;
    }
    return best.number;
}

/* Joins the observation `observed`, a packet with a wrong ICRC, to the transmission that fits best,
 * if its point is on the chain and a transmission fits. `number`: number of the observation. */
static void
join_packet(smcr_chain_t *chain, smcr_observed_t *observed, uint32_t number)
{
    bool is_back = smcr_observed_is_back(chain->points, &chain->points->flows[observed->flow]);
    damaged_t damaged = {chain, observed, smcr_chain_position(chain, observed->point), is_back, 0};

    if (damaged.position == chain->count)
        return;
    damaged.departure =
        smcr_chain_departure(chain, damaged.position, is_back, observed->time);
    observed->transmission = find_transmission(&damaged);
    if (!observed->transmission)
        return;
    smcr_transmission_t *transmission = &chain->transmissions[observed->transmission - 1];
    transmission->at[damaged.position] = number;
    transmission->damaged |= (uint8_t)(1U << damaged.position);
}

/* Joins all damaged packets of the path. */
static void
join_packets(smcr_chain_t *chain, smcr_observed_t *observed)
{
    const smcr_points_t *points = chain->points;

    for (uint32_t i = 1; i <= points->count && points->has_damaged; i++)
        if (observed[i].is_damaged && points->flows[observed[i].flow].path == chain->path)
            join_packet(chain, &observed[i], i);
}

/* ---- TCP ---- */

/* Returns the TCP header at the point at `position`; NULL: the point does not have the
 * transmission. */
static const smcr_points_tcp_t *
header_at(const smcr_chain_t *chain, const smcr_transmission_t *transmission, uint32_t position)
{
    const smcr_observed_t *observed = smcr_chain_at(chain, transmission, position);

    return observed ? &chain->points->segments[observed->segment].tcp : NULL;
}

/* Whether two headers are of the same segment, which the first point has with a right checksum and
 * the second one with a wrong checksum. A host that merges segments may keep the checksum of one of
 * them, so both points need the same bytes. */
static bool
shows_damage(const smcr_points_tcp_t *one, const smcr_points_tcp_t *other)
{
    bool is_same = one && one->seq == other->seq && one->length == other->length;

    return is_same && one->checksum == SMCR_POINTS_CHECKSUM_RIGHT &&
           other->checksum == SMCR_POINTS_CHECKSUM_WRONG;
}

/* Whether a point before that at `position` has the transmission with a right checksum, and this
 * one with a wrong checksum. */
static bool
is_damaged_at(const smcr_chain_t *chain, const smcr_transmission_t *transmission, uint32_t position)
{
    const smcr_observed_flow_t *flow = &chain->points->flows[transmission->flow];
    const smcr_points_tcp_t *here = header_at(chain, transmission, position);
    bool is_back = smcr_observed_is_back(chain->points, flow);

    for (uint32_t i = 0; here && i < chain->count; i++)
        if (is_before(chain, is_back, i, position) &&
            shows_damage(header_at(chain, transmission, i), here))
            return true;
    return false;
}

/* Sets `damaged` of all transmissions of TCP. */
static void
mark_segments(smcr_chain_t *chain)
{
    for (uint32_t i = 0; i < chain->transmission_count; i++) {
        smcr_transmission_t *transmission = &chain->transmissions[i];
        for (uint32_t k = 0; k < chain->count; k++)
            if (is_damaged_at(chain, transmission, k))
                transmission->damaged |= (uint8_t)(1U << k);
    }
}

void
smcr_chain_join_damaged(smcr_chain_t *chain, smcr_observed_t *observed)
{
    if (chain->points->is_tcp)
        mark_segments(chain);
    else
        join_packets(chain, observed);
}
