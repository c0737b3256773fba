/* Makes the chain of a path: finds out which observations are of one transmission, in which order
 * the transmissions pass the points, and how far the points' clocks are apart.
 *
 * The order of the points and the offsets of their clocks come from packets that each point has
 * once. After that, the times of equal packets show which observations belong together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "chain.h"

#define ALIKE_IN_SAMPLES 4 /* highest number of equal packets at a point that are used as samples of
                              its clock */
#define ALIKE_MOST 64 /* highest number of equal observations of a path that time assigns to
                         transmissions; more of them are counted instead */

/* The observations of a path at its points, by identity. */
typedef struct {
    const smcr_points_t *points;
    smcr_chain_t *chain;
    uint32_t *numbers; /* numbers of observations, in the order of identity, then of the file */
    uint32_t count;    /* number of entries in `numbers` */
    smcr_transmission_t *made; /* transmissions made so far */
    uint32_t made_count;       /* number of entries in `made` */
} grouping_t;

/* A group: all observations with one identity, a part of grouping_t.numbers. */
typedef struct {
    const uint32_t *numbers;         /* numbers of the observations, in the order of the file */
    uint32_t count;                  /* number of entries in `numbers` */
    bool is_back;                    /* the observations are of way 1 */
    uint32_t at[SMCR_POINTS_OF_PATH]; /* by position in the chain: number of observations at the
                                         point */
    uint32_t most;                   /* the highest element of `at` */
} group_t;

/* ---- time ---- */

uint64_t
smcr_chain_time(const smcr_chain_t *chain, uint32_t position, uint64_t time)
{
    for (; position; position--) {
        const smcr_clock_line_t *line = &chain->clock[position];
        uint64_t nearly = time - (uint64_t)smcr_clock_offset(line, time);
        time -= (uint64_t)smcr_clock_offset(line, nearly);
    }
    return time;
}

static int
compare_integers(const void *one, const void *other)
{
    const int64_t *a = one, *b = other;

    return *a < *b ? -1 : *a > *b;
}

void
smcr_chain_sort(GArray *values)
{
    qsort(values->data, values->len, sizeof(int64_t), compare_integers);
}

int64_t
smcr_chain_quantile(const GArray *values, double part)
{
    return g_array_index(values, int64_t, (unsigned)(part * (values->len - 1)));
}

/* ---- groups ---- */

uint32_t
smcr_chain_position(const smcr_chain_t *chain, uint32_t point)
{
    uint32_t position = 0;

    while (position < chain->count && chain->point[position] != point)
        position++;
    return position;
}

/* Comparison: sorts observations by identity, then by their order in the file. */
static int
compare_observed(const void *one, const void *other, void *observed)
{
    const uint32_t *a = one, *b = other;
    const smcr_observed_t *all = observed;
    uint64_t first = all[*a].identity, second = all[*b].identity;

    if (first != second)
        return first < second ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

/* Collects the observations of the chain's path at its points. */
static void
begin_grouping(grouping_t *grouping, const smcr_points_t *points, smcr_chain_t *chain)
{
    *grouping = (grouping_t){.points = points, .chain = chain};
    grouping->numbers = g_new(uint32_t, points->count + 1);
    for (uint32_t i = 1; i <= points->count; i++) {
        const smcr_observed_flow_t *flow = &points->flows[points->observed[i].flow];
        if (flow->path == chain->path && flow->is_known &&
            smcr_chain_position(chain, points->observed[i].point) < chain->count)
            grouping->numbers[grouping->count++] = i;
    }
    g_qsort_with_data(grouping->numbers, (int)grouping->count, sizeof *grouping->numbers,
                      compare_observed, points->observed);
}

/* Finds the group whose first observation is grouping->numbers[begin]. Returns false if `begin` is
 * after the last observation. */
static bool
find_group(const grouping_t *grouping, uint32_t begin, group_t *group)
{
    const smcr_observed_t *observed = grouping->points->observed;

    *group = (group_t){.numbers = &grouping->numbers[begin]};
    if (begin >= grouping->count)
        return false;
    uint64_t identity = observed[group->numbers[0]].identity;
    while (begin + group->count < grouping->count &&
           observed[group->numbers[group->count]].identity == identity) {
        uint32_t point = observed[group->numbers[group->count++]].point;
        uint32_t at = ++group->at[smcr_chain_position(grouping->chain, point)];
        group->most = MAX(group->most, at);
    }
    group->is_back = smcr_observed_is_back(
        grouping->points, &grouping->points->flows[observed[group->numbers[0]].flow]);
    return true;
}

/* Returns the `nth` observation (from 0) that the group has at the point at `position`; NULL: there
 * is none. */
static const smcr_observed_t *
nth_at(const grouping_t *grouping, const group_t *group, uint32_t position, uint32_t nth)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const smcr_observed_t *each = &grouping->points->observed[group->numbers[i]];
        if (each->point == grouping->chain->point[position] && !nth--)
            return each;
    }
    return NULL;
}

/* ---- the order of the points, and their clocks ---- */

/* Samples of the clocks of two points, from packets of both ways. */
typedef struct {
    GArray *way[2];    /* by way: the samples; element smcr_clock_sample_t */
    int64_t hops[2];   /* by way: number of packets whose hop limit is lower at the second point,
                          minus number of packets whose hop limit is lower at the first point */
    int64_t order[2];  /* by way: number of packets that the file has at the first point first,
                          minus number of packets that the file has at the second point first */
    bool is_one_clock; /* both points have the same clock, and the file has their packets in
                          order */
} samples_t;

/* Adds a sample: a packet of which `first` and `second` are the observations at the two points. */
static void
add_sample(samples_t *samples, bool is_back, const smcr_observed_t *first,
           const smcr_observed_t *second)
{
    smcr_clock_sample_t sample = {first->time, (int64_t)(second->time - first->time)};

    g_array_append_val(samples->way[is_back], sample);
    samples->hops[is_back] += (second->hop_limit < first->hop_limit) -
                              (second->hop_limit > first->hop_limit);
    samples->order[is_back] += second > first ? 1 : -1;
}

/* Adds samples of the groups that have equally many observations at both points, at most `most`.
 * The n-th observation at one point and the n-th at the other make a sample. */
static void
add_samples(const grouping_t *grouping, samples_t *samples, const uint32_t point[2], uint32_t most)
{
    group_t group;

    for (uint32_t at = 0; find_group(grouping, at, &group); at += group.count) {
        uint32_t count = group.at[point[0]];
        if (count != group.at[point[1]] || count > most)
            continue;
        for (uint32_t i = 0; i < count; i++)
            add_sample(samples, group.is_back, nth_at(grouping, &group, point[0], i),
                       nth_at(grouping, &group, point[1], i));
    }
}

/* Collects the samples of the points at the positions `one` and `other`: a sample of each packet
 * that each of the two points has once. If there are no such packets, since a mirror port shows
 * each packet of a point several times, packets that both points have equally often are used. */
static samples_t
collect_samples(const grouping_t *grouping, uint32_t one, uint32_t other)
{
    const smcr_chain_t *chain = grouping->chain;
    const uint32_t point[2] = {one, other};
    samples_t samples = {.is_one_clock = smcr_observed_share_clock(
                             grouping->points, chain->point[one], chain->point[other])};

    for (unsigned way = 0; way < 2; way++)
        samples.way[way] = g_array_new(FALSE, FALSE, sizeof(smcr_clock_sample_t));
    add_samples(grouping, &samples, point, 1);
    if (!samples.way[0]->len && !samples.way[1]->len)
        add_samples(grouping, &samples, point, ALIKE_IN_SAMPLES);
    return samples;
}

static void
free_samples(samples_t *samples)
{
    for (unsigned way = 0; way < 2; way++)
        g_array_free(samples->way[way], TRUE);
}

/* Returns the sorted distances of samples. */
static GArray *
distances_of(const GArray *samples)
{
    GArray *distances = g_array_sized_new(FALSE, FALSE, sizeof(int64_t), samples->len);

    for (unsigned i = 0; i < samples->len; i++)
        g_array_append_val(distances, g_array_index(samples, smcr_clock_sample_t, i).distance);
    smcr_chain_sort(distances);
    return distances;
}

static int64_t
median_distance(const GArray *samples)
{
    GArray *distances = distances_of(samples);
    int64_t median = distances->len ? smcr_chain_quantile(distances, 0.5) : 0;

    g_array_free(distances, TRUE);
    return median;
}

/* Returns a number above 0 if packets of way 0 pass the first point first, below 0 if they pass the
 * second point first, 0 if the order is not known. The first of these proofs decides:
 *
 * - The hop limits: each router lowers them.
 * - If the points have one clock: the order of the packets in the file.
 * - The times. A packet's time at the second point minus its time at the first is the offset of the
 *   clocks plus the delay, if it passes the first point first; else the offset minus the delay. So
 *   the median of way 0 minus the median of way 1 is the sum of both delays, or minus this sum. */
static int64_t
order_of(const samples_t *samples)
{
    int64_t hops = samples->hops[0] - samples->hops[1];

    if (hops)
        return hops;
    if (samples->is_one_clock)
        return samples->order[0] - samples->order[1];
    if (samples->way[0]->len && samples->way[1]->len)
        return median_distance(samples->way[0]) - median_distance(samples->way[1]);
    return 0;
}

/* Puts the points in the order in which way 0 passes them. */
static void
arrange_points(const grouping_t *grouping)
{
    smcr_chain_t *chain = grouping->chain;

    chain->order_known = true;
    for (uint32_t i = 1; i < chain->count; i++) {
        for (uint32_t at = i; at; at--) {
            samples_t samples = collect_samples(grouping, at - 1, at);
            int64_t order = order_of(&samples);
            free_samples(&samples);
            chain->order_known &= order != 0;
            if (order >= 0)
                break;
            uint8_t point = chain->point[at];
            chain->point[at] = chain->point[at - 1];
            chain->point[at - 1] = point;
        }
    }
}

/* Finds the offset of the second point's clock. Returns false if the samples contradict each other:
 * the offset is then the mean of the medians of both ways. */
static bool
find_line(const samples_t *samples, smcr_clock_line_t *line)
{
    const GArray *forward = samples->way[0], *back = samples->way[1];
    bool agrees = smcr_clock_line_find(
        (smcr_clock_samples_t){(const void *)forward->data, forward->len},
        (smcr_clock_samples_t){(const void *)back->data, back->len}, line);

    if (!agrees)
        line->offset = (median_distance(forward) + median_distance(back)) / 2;
    return agrees;
}

/* Finds the offset of each point's clock from that of the point before, and the usual delay of the
 * whole chain. */
static void
find_clocks(const grouping_t *grouping)
{
    smcr_chain_t *chain = grouping->chain;

    for (uint32_t i = 1; i < chain->count; i++) {
        samples_t samples = collect_samples(grouping, i - 1, i);
        const GArray *forward = samples.way[0], *back = samples.way[1];
        smcr_clock_line_t *line = &chain->clock[i];
        chain->clock_agrees[i] = samples.is_one_clock || find_line(&samples, line);
        if (samples.is_one_clock)
            *line = (smcr_clock_line_t){.is_bounded = true};
        chain->usual[0] += forward->len ? median_distance(forward) - line->offset : 0;
        chain->usual[1] += back->len ? line->offset - median_distance(back) : 0;
        free_samples(&samples);
    }
    for (unsigned way = 0; way < 2; way++)
        chain->usual[way] = MAX(chain->usual[way], 0);
}

/* Finds the time in which all points of the chain were capturing: from the latest of their first
 * packets to the earliest of their last packets. */
static void
find_span(const grouping_t *grouping)
{
    const smcr_points_t *points = grouping->points;
    smcr_chain_t *chain = grouping->chain;
    uint64_t first[SMCR_POINTS_OF_PATH], last[SMCR_POINTS_OF_PATH] = {0};

    memset(first, 0xff, sizeof first);
    for (uint32_t i = 1; i <= points->count; i++) {
        uint32_t position = smcr_chain_position(chain, points->observed[i].point);
        if (position == chain->count)
            continue;
        first[position] = MIN(first[position], points->observed[i].time);
        last[position] = MAX(last[position], points->observed[i].time);
    }
    chain->end = UINT64_MAX;
    for (uint32_t i = 0; i < chain->count; i++) {
        chain->begin = MAX(chain->begin, smcr_chain_time(chain, i, first[i]));
        chain->end = MIN(chain->end, smcr_chain_time(chain, i, last[i]));
    }
}

/* ---- transmissions ---- */

static smcr_transmission_t *
add_transmission(grouping_t *grouping)
{
    smcr_transmission_t *made = &grouping->made[grouping->made_count++];

    *made = (smcr_transmission_t){.time = UINT64_MAX};
    return made;
}

/* Adds the observation `observed` to the transmission. */
static void
add_observed(const grouping_t *grouping, smcr_transmission_t *transmission,
             const smcr_observed_t *observed)
{
    const smcr_chain_t *chain = grouping->chain;
    uint32_t position = smcr_chain_position(chain, observed->point);
    uint64_t time = smcr_chain_time(chain, position, observed->time);

    transmission->at[position] = (uint32_t)(observed - grouping->points->observed);
    transmission->any = transmission->any ? transmission->any : transmission->at[position];
    transmission->flow = observed->flow;
    transmission->time = MIN(transmission->time, time);
}

/* Returns how far apart the times of one transmission at two points may be, nanoseconds: twice the
 * usual delay, plus a millisecond, plus twice the error of each clock's offset. */
static uint64_t
widest(const smcr_chain_t *chain)
{
    int64_t widest = 2 * MAX(chain->usual[0], chain->usual[1]) + (int64_t)SMCR_TIME_MILLISECOND;

    for (uint32_t i = 1; i < chain->count; i++)
        widest += 2 * chain->clock[i].error;
    return (uint64_t)widest;
}

/* Whether the observation may belong to the transmission. Two conditions hold: 1. the transmission
 * has no observation at this point so far; 2. their times are not further apart than widest(). */
static bool
may_join(const grouping_t *grouping, const smcr_transmission_t *transmission,
         const smcr_observed_t *observed)
{
    const smcr_chain_t *chain = grouping->chain;
    uint32_t position = smcr_chain_position(chain, observed->point);
    uint64_t time = smcr_chain_time(chain, position, observed->time);
    uint64_t distance = time > transmission->time ? time - transmission->time
                                                  : transmission->time - time;

    return !transmission->at[position] && distance <= widest(chain);
}

/* Makes the transmissions of a group with several observations at one point. Each observation joins
 * the first transmission of the group whose time fits; if none fits, it begins a transmission. If
 * several fit, the transmission is ambiguous. */
static void
make_by_time(grouping_t *grouping, const group_t *group)
{
    uint32_t begin = grouping->made_count;

    for (uint32_t i = 0; i < group->count; i++) {
        const smcr_observed_t *observed = &grouping->points->observed[group->numbers[i]];
        smcr_transmission_t *joined = NULL;
        uint32_t candidates = 0;
        for (uint32_t k = begin; k < grouping->made_count; k++) {
            if (!may_join(grouping, &grouping->made[k], observed))
                continue;
            joined = joined ? joined : &grouping->made[k];
            candidates++;
        }
        if (!joined)
            joined = add_transmission(grouping);
        joined->is_ambiguous |= candidates > 1;
        add_observed(grouping, joined, observed);
    }
}

/* Makes the transmissions of a group by counting: the n-th observation at one point and the n-th
 * observations at the other points are one transmission. */
static void
make_by_number(grouping_t *grouping, const group_t *group, bool is_ambiguous)
{
    uint32_t begin = grouping->made_count;
    uint32_t counted[SMCR_POINTS_OF_PATH] = {0};

    for (uint32_t i = 0; i < group->most; i++)
        add_transmission(grouping)->is_ambiguous = is_ambiguous;
    for (uint32_t i = 0; i < group->count; i++) {
        const smcr_observed_t *observed = &grouping->points->observed[group->numbers[i]];
        uint32_t nth = counted[smcr_chain_position(grouping->chain, observed->point)]++;
        add_observed(grouping, &grouping->made[begin + nth], observed);
    }
}

/* Sets `numbers` to the numbers of the observations of two transmissions at the first point that
 * has both. If no point has both, to any observation of each transmission. */
static void
common_numbers(const smcr_transmission_t *one, const smcr_transmission_t *other,
               uint32_t numbers[2])
{
    uint32_t at = 0;

    while (at < SMCR_POINTS_OF_PATH && !(one->at[at] && other->at[at]))
        at++;
    bool is_found = at < SMCR_POINTS_OF_PATH;
    numbers[0] = is_found ? one->at[at] : one->any;
    numbers[1] = is_found ? other->at[at] : other->any;
}

/* Comparison: sorts transmissions by flow, then by time, then by their order in the file. */
static int
compare_transmissions(const void *one, const void *other)
{
    const smcr_transmission_t *a = one, *b = other;
    uint32_t number[2];

    if (a->flow != b->flow)
        return a->flow < b->flow ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    common_numbers(a, b, number);
    return number[0] < number[1] ? -1 : number[0] > number[1];
}

/* Makes the transmissions of a path, and sets `transmission` of their observations in
 * `observed`. */
static void
make_transmissions(grouping_t *grouping, smcr_observed_t *observed, wmem_allocator_t *scope)
{
    smcr_chain_t *chain = grouping->chain;
    group_t group;

    grouping->made = wmem_alloc_array(scope, smcr_transmission_t, grouping->count + 1);
    for (uint32_t at = 0; find_group(grouping, at, &group); at += group.count) {
        if (group.most > 1 && group.count <= ALIKE_MOST)
            make_by_time(grouping, &group);
        else
            make_by_number(grouping, &group, group.most > 1);
    }
    qsort(grouping->made, grouping->made_count, sizeof *grouping->made, compare_transmissions);
    chain->transmissions = grouping->made;
    chain->transmission_count = grouping->made_count;
    for (uint32_t i = 0; i < chain->transmission_count; i++)
        for (uint32_t k = 0; k < chain->count; k++)
            if (grouping->made[i].at[k])
                observed[grouping->made[i].at[k]].transmission = i + 1;
}

/* Whether the point is not in the chain, and shows the same traffic as each point of the chain. Two
 * links of a bond do not show the same traffic: each link carries other flows. */
static bool
fits_chain(const smcr_chain_t *chain, uint32_t point)
{
    const smcr_observed_path_t *path = &chain->points->paths[chain->path];

    for (uint32_t i = 0; i < chain->count; i++)
        if (chain->point[i] == point || !smcr_observed_share(path, chain->point[i], point))
            return false;
    return true;
}

/* Collects the points that show the same traffic as the point `first`. */
static void
collect_points(smcr_chain_t *chain, uint32_t first)
{
    chain->count = 0;
    chain->point[chain->count++] = (uint8_t)first;
    for (uint32_t i = 0; i < chain->points->point_count && chain->count < SMCR_POINTS_OF_PATH; i++)
        if (fits_chain(chain, i))
            chain->point[chain->count++] = (uint8_t)i;
}

/* Finds the points of a path: the preferred point, and all points that show the same traffic. If no
 * other point does, the first points in the file that show the same traffic as each other. */
static void
find_points(smcr_chain_t *chain)
{
    const smcr_points_t *points = chain->points;

    collect_points(chain, points->paths[chain->path].preferred);
    for (uint32_t i = 0; i < points->point_count && chain->count < 2; i++)
        collect_points(chain, i);
}

void
smcr_chain_make(smcr_chain_t *chain, const smcr_points_t *points, uint32_t path,
                smcr_observed_t *observed)
{
    grouping_t grouping;

    *chain = (smcr_chain_t){.points = points, .path = path};
    find_points(chain);
    if (chain->count < 2)
        return;
    begin_grouping(&grouping, points, chain);
    arrange_points(&grouping);
    find_clocks(&grouping);
    find_span(&grouping);
    make_transmissions(&grouping, observed, points->scope);
    g_free(grouping.numbers);
}
