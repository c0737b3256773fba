/* Makes the chain of a path: finds out which observations are of one transmission, in which order
 * the transmissions pass the points, and how far the points' clocks are apart.
 *
 * The order of the points and the offsets of their clocks come from packets that two points have
 * once or equally often. After that, the times of equal packets show which observations belong
 * together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "chain.h"

#define ALIKE_IN_SAMPLES 4 /* highest number of equal packets at a point that are used as samples of
                              its clock */
#define RESOLUTION 1000 /* coarsest unit of time stamps, nanoseconds */
#define ALIKE_MOST 64 /* highest number of equal observations of a path that time assigns to
                         transmissions; more of them are counted instead */

/* The observations of a path at its points, by identity. */
typedef struct {
    const smcr_points_t *points; /* the capture points of the file */
    smcr_chain_t *chain; /* the chain that is being made */
    uint32_t *numbers; /* numbers of observations, in the order of identity, then of the file */
    uint32_t count;    /* number of entries in `numbers` */
    smcr_transmission_t *made; /* the transmissions that are made so far */
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

/* The offset between two clocks depends on the time by the first clock, which is not known yet. So
 * the time is converted twice. The first conversion uses the time by the second clock instead. The
 * second conversion uses the result of the first one. */
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

uint64_t
smcr_chain_time_at(const smcr_chain_t *chain, uint32_t position, uint64_t time)
{
    for (uint32_t i = 1; i <= position; i++)
        time += (uint64_t)smcr_clock_offset(&chain->clock[i], time);
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
    g_array_sort(values, compare_integers); /* unlike qsort(), also of an empty array */
}

int64_t
smcr_chain_quantile(const GArray *values, double part)
{
    return g_array_index(values, int64_t, (unsigned)(part * (values->len - 1)));
}

/* ---- groups ---- */

/* The points of a chain are few (SMCR_POINTS_OF_PATH), so a search is cheap. */
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

/* Collects the observations that the points of the chain have of the path's analysed flows, sorted
 * by identity. Damaged packets are joined to the transmissions later (damaged.c). The caller frees
 * `numbers`. */
static void
begin_grouping(grouping_t *grouping, const smcr_points_t *points, smcr_chain_t *chain)
{
    *grouping = (grouping_t){.points = points, .chain = chain};
    grouping->numbers = g_new(uint32_t, points->count + 1);
    for (uint32_t i = 1; i <= points->count; i++) {
        const smcr_observed_flow_t *flow = &points->flows[points->observed[i].flow];
        bool is_undamaged = !points->observed[i].is_damaged;
        if (is_undamaged && flow->path == chain->path && flow->is_known &&
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
    bool is_one_clock; /* both points have the same clock (smcr_observed_share_clock()) */
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
 * `point`: positions of the two points in the chain. The n-th observation at one point and the n-th
 * at the other make a sample. */
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

/* Collects the samples of the points at the positions `one` and `other`, from which their order and
 * the offset of their clocks are found: a sample of each packet that each of the two points has
 * once. If there are no such packets, since a mirror port shows each packet of a point several
 * times, packets that both points have equally often are used. */
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

/* Returns the median of the distances of the samples, nanoseconds; 0: there is no sample. */
static int64_t
median_distance(const GArray *samples)
{
    GArray *distances = distances_of(samples);
    int64_t median = distances->len ? smcr_chain_quantile(distances, 0.5) : 0;

    g_array_free(distances, TRUE);
    return median;
}

/* Returns the mean of the samples' distances minus their median, nanoseconds; 0: there is no
 * sample. */
static int64_t
mean_above_median(const GArray *samples)
{
    int64_t median = median_distance(samples), sum = 0;

    for (unsigned i = 0; i < samples->len; i++)
        sum += g_array_index(samples, smcr_clock_sample_t, i).distance - median;
    return samples->len ? sum / (int64_t)samples->len : 0;
}

/* Returns how much the distances of most samples differ, nanoseconds: the 99th percentile minus the
 * shortest; 0: there is no sample. */
static uint64_t
variation_of(const GArray *samples)
{
    GArray *distances = distances_of(samples);
    uint64_t variation = 0;

    if (distances->len)
        variation = (uint64_t)(smcr_chain_quantile(distances, 0.99) -
                               smcr_chain_quantile(distances, 0));
    g_array_free(distances, TRUE);
    return variation;
}

/* Returns a number above 0 if packets of way 0 pass the first point first, below 0 if they pass the
 * second point first, 0 if the order is not known. The first of these proofs decides:
 *
 * - The hop limits: each router lowers them.
 * - If the points have one clock: the order of the packets in the file.
 * - The times. A packet's time at the second point minus its time at the first is the offset of the
 *   clocks plus the delay, if it passes the first point first; else the offset minus the delay. So
 *   the median of way 0 minus the median of way 1 is the sum of both delays, or minus this sum. If
 *   the medians are equal, most delays are too short for the clocks: the means of the longer ones
 *   decide. */
static int64_t
order_of(const samples_t *samples)
{
    int64_t hops = samples->hops[0] - samples->hops[1];

    if (hops)
        return hops;
    if (samples->is_one_clock)
        return samples->order[0] - samples->order[1];
    if (!samples->way[0]->len || !samples->way[1]->len)
        return 0;
    int64_t both = median_distance(samples->way[0]) - median_distance(samples->way[1]);
    return both ? both
                : mean_above_median(samples->way[0]) - mean_above_median(samples->way[1]);
}

/* Exchanges the points at `position` and at `position` + 1. */
static void
swap_points(smcr_chain_t *chain, uint32_t position)
{
    uint8_t point = chain->point[position];

    chain->point[position] = chain->point[position + 1];
    chain->point[position + 1] = point;
}

/* Sorts the points into the order in which way 0 passes them (insertion sort), and sets
 * `order_known`. Two points of unknown order keep theirs. */
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
            swap_points(chain, at - 1);
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

/* Finds the offset of each point's clock from that of the point before, and the usual delays of the
 * chain with their variation. */
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
        chain->way[0][i] = chain->usual[0];
        chain->way[1][i] = -chain->usual[1];
        chain->variation += MAX(variation_of(forward), variation_of(back));
        free_samples(&samples);
    }
    for (unsigned way = 0; way < 2; way++)
        chain->usual[way] = MAX(chain->usual[way], 0);
}

/* ---- transmissions ---- */

/* Adds a transmission without observations to `made`, and returns it. add_observed() sets its
 * time. */
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

uint64_t
smcr_chain_widest(const smcr_chain_t *chain)
{
    int64_t widest = 2 * MAX(chain->usual[0], chain->usual[1]) + (int64_t)SMCR_TIME_MILLISECOND;

    for (uint32_t i = 1; i < chain->count; i++)
        widest += 2 * chain->clock[i].error;
    return (uint64_t)widest;
}

/* ---- equal packets: which observations are of one transmission ----
 *
 * Equal packets are retransmissions whose IP identification is always the same, or duplicates that
 * a mirror port makes. Each observation has a time of departure: when the packet left the first
 * point, if it took the usual time from there. Observations of one transmission have departures
 * that differ by the variation of the delays. So those with the nearest departures are joined
 * first. If another observation is about as near, the transmission is ambiguous. */

/* The observations of a group, while they are joined to transmissions. */
typedef struct {
    const smcr_observed_t *observed[ALIKE_MOST]; /* the observations, in the order of the file */
    uint32_t position[ALIKE_MOST]; /* by observation: position of its point in the chain */
    uint64_t departure[ALIKE_MOST]; /* by observation: time of departure (smcr_chain_departure()),
                                       nanoseconds since the epoch */
    uint32_t joined[ALIKE_MOST]; /* by observation: index of the first observation of its
                                    transmission */
    uint32_t points[ALIKE_MOST]; /* by first observation of a transmission: bit n: it has an
                                    observation at the position n */
    bool is_ambiguous[ALIKE_MOST]; /* by first observation of a transmission: `is_ambiguous` of the
                                      transmission */
    uint32_t count;               /* number of observations */
} equals_t;

/* Two observations of a group at different points. */
typedef struct {
    uint64_t apart;      /* difference of their departures, nanoseconds */
    uint32_t one, other; /* indexes in equals_t */
} near_t;

static uint64_t
difference(uint64_t one, uint64_t other)
{
    return one > other ? one - other : other - one;
}

uint64_t
smcr_chain_departure(const smcr_chain_t *chain, uint32_t position, bool is_back, uint64_t time)
{
    return smcr_chain_time(chain, position, time) - (uint64_t)chain->way[is_back][position];
}

/* Puts each observation of the group into a transmission of its own. Observations of one
 * transmission are joined later. */
static void
begin_equals(const grouping_t *grouping, const group_t *group, equals_t *equals)
{
    equals->count = group->count;
    for (uint32_t i = 0; i < group->count; i++) {
        const smcr_observed_t *observed = &grouping->points->observed[group->numbers[i]];
        uint32_t position = smcr_chain_position(grouping->chain, observed->point);
        equals->observed[i] = observed;
        equals->position[i] = position;
        equals->departure[i] =
            smcr_chain_departure(grouping->chain, position, group->is_back, observed->time);
        equals->joined[i] = i;
        equals->points[i] = 1U << position;
        equals->is_ambiguous[i] = false;
    }
}

/* Compares pairs of observations for sorting: the pair with the shorter distance comes first. Equal
 * distances are in the order of observations, so that the result is the same on every system. */
static int
compare_near(const void *one, const void *other)
{
    const near_t *a = one, *b = other;

    if (a->apart != b->apart)
        return a->apart < b->apart ? -1 : 1;
    if (a->one != b->one)
        return a->one < b->one ? -1 : 1;
    return a->other < b->other ? -1 : a->other > b->other;
}

/* Returns all pairs of observations that may be of one transmission: the nearest first, equally
 * near ones in the order of the observations (compare_near()). The order decides which pairs are
 * joined. The caller frees the array. */
static GArray *
pairs_of(const smcr_chain_t *chain, const equals_t *equals)
{
    GArray *pairs = g_array_new(FALSE, FALSE, sizeof(near_t));
    uint64_t most = smcr_chain_widest(chain);

    for (uint32_t i = 0; i < equals->count; i++) {
        for (uint32_t k = i + 1; k < equals->count; k++) {
            near_t pair = {difference(equals->departure[i], equals->departure[k]), i, k};
            if (equals->position[i] != equals->position[k] && pair.apart <= most)
                g_array_append_val(pairs, pair);
        }
    }
    g_array_sort(pairs, compare_near);
    return pairs;
}

/* The observations `own` and `far` are about to be joined. Another observation at the point of
 * `far` may belong to `own` instead if their departures differ by at most `most` nanoseconds, and
 * its transmission has no observation at the point of `own`. Marks the transmissions of `own` and
 * of the other observation as ambiguous then. */
static void
mark_ambiguous(equals_t *equals, uint32_t own, uint32_t far, uint64_t most)
{
    for (uint32_t i = 0; i < equals->count; i++) {
        uint32_t first = equals->joined[i];
        bool is_free = !(equals->points[first] >> equals->position[own] & 1);
        if (i == far || equals->position[i] != equals->position[far] || !is_free ||
            difference(equals->departure[i], equals->departure[own]) > most)
            continue;
        equals->is_ambiguous[first] = equals->is_ambiguous[equals->joined[own]] = true;
    }
}

/* Joins the transmissions of two observations to one, if no point has an observation of both. */
static void
join(const smcr_chain_t *chain, equals_t *equals, const near_t *pair)
{
    uint32_t one = equals->joined[pair->one], other = equals->joined[pair->other];

    if (one == other || equals->points[one] & equals->points[other])
        return;
    uint64_t most = pair->apart + 2 * chain->variation + RESOLUTION;
    mark_ambiguous(equals, pair->one, pair->other, most);
    mark_ambiguous(equals, pair->other, pair->one, most);
    uint32_t first = MIN(one, other), second = MAX(one, other);
    equals->points[first] |= equals->points[second];
    equals->is_ambiguous[first] |= equals->is_ambiguous[second];
    for (uint32_t i = 0; i < equals->count; i++)
        if (equals->joined[i] == second)
            equals->joined[i] = first;
}

/* Makes the transmissions of a group with several observations at one point, by their times. */
static void
make_by_time(grouping_t *grouping, const group_t *group)
{
    equals_t equals;

    begin_equals(grouping, group, &equals);
    GArray *pairs = pairs_of(grouping->chain, &equals);
    for (unsigned i = 0; i < pairs->len; i++)
        join(grouping->chain, &equals, &g_array_index(pairs, near_t, i));
    g_array_free(pairs, TRUE);
    for (uint32_t i = 0; i < equals.count; i++) {
        if (equals.joined[i] != i)
            continue;
        smcr_transmission_t *made = add_transmission(grouping);
        made->is_ambiguous = equals.is_ambiguous[i];
        for (uint32_t k = i; k < equals.count; k++)
            if (equals.joined[k] == i)
                add_observed(grouping, made, equals.observed[k]);
    }
}

/* Makes the transmissions of a group by counting: the n-th observation at one point and the n-th
 * observations at the other points are one transmission. `is_ambiguous`: as in
 * smcr_transmission_t. */
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

/* Whether the points have equally many observations of the group, and the n-th ones of all points
 * have about the same time of departure. So they are one transmission, and none is missing. */
static bool
is_whole(const grouping_t *grouping, const group_t *group)
{
    const smcr_chain_t *chain = grouping->chain;
    uint64_t most = 2 * chain->variation + RESOLUTION;

    for (uint32_t i = 0; i < chain->count; i++)
        if (group->at[i] != group->most)
            return false;
    for (uint32_t nth = 0; nth < group->most; nth++) {
        uint64_t first = 0;
        for (uint32_t i = 0; i < chain->count; i++) {
            uint64_t departure = smcr_chain_departure(chain, i, group->is_back,
                                                      nth_at(grouping, group, i, nth)->time);
            first = i ? first : departure;
            if (difference(departure, first) > most)
                return false;
        }
    }
    return true;
}

/* Whether two successive observations of a whole group are nearer to each other than delays vary: a
 * mirror port shows packets several times. */
static bool
has_near_ones(const grouping_t *grouping, const group_t *group)
{
    uint64_t before = 0;

    for (uint32_t nth = 0; nth < group->most; nth++) {
        uint64_t time = nth_at(grouping, group, 0, nth)->time;
        if (nth && difference(time, before) <= 4 * grouping->chain->variation + RESOLUTION)
            return true;
        before = time;
    }
    return false;
}

/* Makes the transmissions of a group: by counting if no point has several observations, or if the
 * points show equally many observations at the expected times; otherwise by their times. A group of
 * more than ALIKE_MOST observations is counted in any case. */
static void
make_group(grouping_t *grouping, const group_t *group)
{
    if (group->most == 1)
        make_by_number(grouping, group, false);
    else if (group->most <= ALIKE_MOST && is_whole(grouping, group))
        make_by_number(grouping, group, has_near_ones(grouping, group));
    else if (group->count <= ALIKE_MOST)
        make_by_time(grouping, group);
    else
        make_by_number(grouping, group, true);
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
    for (uint32_t at = 0; find_group(grouping, at, &group); at += group.count)
        make_group(grouping, &group);
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

/* Collects the point `first` and the points that show the same traffic as all collected before
 * them. */
static void
collect_points(smcr_chain_t *chain, uint32_t first)
{
    chain->count = 0;
    chain->point[chain->count++] = (uint8_t)first;
    for (uint32_t i = 0; i < chain->points->point_count && chain->count < SMCR_POINTS_OF_PATH; i++)
        if (fits_chain(chain, i))
            chain->point[chain->count++] = (uint8_t)i;
}

/* Finds the points of a path: the preferred point, and points that show the same traffic. If no
 * other point does, the first points in the file that show the same traffic as each other. */
static void
find_points(smcr_chain_t *chain)
{
    const smcr_points_t *points = chain->points;

    collect_points(chain, points->paths[chain->path].preferred);
    for (uint32_t i = 0; i < points->point_count && chain->count < 2; i++)
        collect_points(chain, i);
}

/* Each step uses what the steps before it have found: the points, their order, their clocks, the
 * transmissions. */
void
smcr_chain_make(smcr_chain_t *chain, const smcr_points_t *points, uint32_t path,
                smcr_observed_t *observed, bool is_turned)
{
    grouping_t grouping;

    *chain = (smcr_chain_t){.points = points, .path = path};
    find_points(chain);
    if (chain->count < 2)
        return;
    begin_grouping(&grouping, points, chain);
    arrange_points(&grouping);
    if (is_turned && !chain->order_known && chain->count == 2)
        swap_points(chain, 0);
    find_clocks(&grouping);
    make_transmissions(&grouping, observed, points->scope);
    g_free(grouping.numbers);
}

/* ---- transmissions of a chain ---- */

/* The way back has the chain's last point first: its end is position 0. */
uint64_t
smcr_chain_passing_time(const smcr_chain_t *chain, const smcr_transmission_t *transmission,
                        uint32_t position, bool is_back)
{
    const smcr_observed_t *here = smcr_chain_at(chain, transmission, position);
    uint32_t end = is_back ? 0 : chain->count - 1;

    if (here)
        return smcr_chain_time(chain, position, here->time);
    return transmission->time + (position == end ? (uint64_t)chain->usual[is_back] : 0);
}

/* Returns the flow of a transmission. A function of type smcr_sorted_key_t. */
static uint64_t
flow_of(const void *transmissions, uint32_t index)
{
    return ((const smcr_transmission_t *)transmissions)[index].flow;
}

uint32_t
smcr_chain_first_of(const smcr_chain_t *chain, uint32_t flow)
{
    return smcr_sorted_first(chain->transmissions, chain->transmission_count, flow_of, flow);
}

uint32_t
smcr_chain_answers_of(const smcr_chain_t *chain, uint32_t flow)
{
    const smcr_points_t *points = chain->points;
    const smcr_observed_flow_t *own = &points->flows[flow];
    uint32_t i = 0;

    if (points->is_tcp)
        return flow ^ 1; /* the two flows of a connection have neighbouring indexes */
    for (; i < points->flow_count; i++) {
        const smcr_observed_flow_t *other = &points->flows[i];
        if (other->destination.qpn == own->source_qpn && other->path == own->path &&
            smcr_gid_is_same(other->source, own->destination.gid))
            break;
    }
    return i;
}
