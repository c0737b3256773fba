/* Compares the capture points of all paths, and decides what the packets of one path alone do not
 * prove.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "compare.h"

#include "damaged.h"
#include "fates.h"
#include "observed_tcp.h"

/* All packets that a point does not have may be of one direction. Then they were lost before the
 * point, or the capture missed them by chance. If the probability of the latter is at most this,
 * they were lost (captures_all()). */
#define CHANCE_MOST 1e-4

/* ---- what no answer proves ---- */

bool
smcr_points_are_same(const smcr_points_segment_t *one, const smcr_points_segment_t *other)
{
    const smcr_points_place_t *a = one->place, *b = other->place;

    return memcmp(a, b, sizeof one->place) == 0 ||
           (memcmp(&a[0], &b[1], sizeof a[0]) == 0 && memcmp(&a[1], &b[0], sizeof a[1]) == 0);
}

/* The verdicts on the transmissions between two points, in both directions, of RoCE and TCP. */
typedef struct {
    const smcr_points_segment_t *segment; /* a segment between the two points */
    uint64_t lost;         /* number of transmissions that were lost */
    uint64_t not_captured; /* number of transmissions that one of the points did not capture,
                              although they passed it */
} known_t;

/* Returns the element of the two points of the segment; adds one with zeros if `all` has none. The
 * pointer is valid until the next call. `all`: element known_t; there are few, since a file has at
 * most SMCR_POINTS_MOST points. */
static known_t *
known_between(GArray *all, const smcr_points_segment_t *segment)
{
    const known_t nothing = {segment, 0, 0};
    unsigned i = 0;

    while (i < all->len &&
           !smcr_points_are_same(g_array_index(all, known_t, i).segment, segment))
        i++;
    if (i == all->len)
        g_array_append_val(all, nothing);
    return &g_array_index(all, known_t, i);
}

/* Adds the counts of lost and not captured transmissions of one way of a segment. */
static void
add_known(known_t *known, const smcr_points_way_t *way)
{
    known->lost += way->verdicts[SMCR_VERDICT_LOST];
    known->not_captured += way->not_captured_at[0] + way->not_captured_at[1];
}

/* ---- paths ---- */

/* Adds the segment between the points at `position` - 1 and `position`, with the verdicts on its
 * two ways. A way is judged only if both points have shown packets of it. The first way goes from
 * the first point to the second one, the other way back. */
static void
add_segment(smcr_compared_t *result, const smcr_chain_t *chain, uint32_t position)
{
    const smcr_points_t *points = chain->points;
    const smcr_observed_path_t *path = &points->paths[chain->path];
    smcr_points_segment_t segment = {
        .is_tcp = points->is_tcp,
        .place = {points->places[chain->point[position - 1]],
                  points->places[chain->point[position]]},
        .order_known = chain->order_known,
        .clock_agrees = chain->clock_agrees[position],
        .clock = chain->clock[position],
    };
    memcpy(segment.gid, path->gid, sizeof segment.gid);
    const smcr_judge_way_t ways[2] = {
        {chain, &segment, &segment.way[0], false, position - 1, position, chain->count - 1},
        {chain, &segment, &segment.way[1], true, position, position - 1, 0},
    };
    for (unsigned i = 0; i < 2; i++)
        if (smcr_observed_has_way(path, chain->point[position - 1], i) &&
            smcr_observed_has_way(path, chain->point[position], i))
            smcr_judge_way(&ways[i]);
    wmem_array_append_one(result->segments, segment);
}

/* Returns 1 if only the first point on the way has a lost transmission, or has a damaged one
 * undamaged; -1 if only the second point does; 0 otherwise. The chain has two points. */
static int
lost_after(const smcr_chain_t *chain, const smcr_transmission_t *transmission)
{
    bool has_both = transmission->at[0] && transmission->at[1];
    bool is_back =
        smcr_observed_is_back(chain->points, &chain->points->flows[transmission->flow]);

    if (transmission->damaged)
        return smcr_chain_is_whole_at(transmission, is_back) ? 1 : -1;
    if (transmission->fate != SMCR_FATE_LOST || has_both)
        return 0;
    return transmission->at[is_back] ? 1 : -1;
}

/* Returns how much the losses speak for the order of the chain's two points: the number of lost or
 * damaged transmissions that only the first point on their way has, minus the number of those that
 * only the second point has. If a packet was lost between two points, the first point has it. If
 * only the second point has a lost packet, the first point did not capture it, which is less
 * likely. */
static int64_t
proof_of_order(const smcr_chain_t *chain)
{
    int64_t at_first = 0;

    for (uint32_t i = 0; i < chain->transmission_count; i++)
        at_first += lost_after(chain, &chain->transmissions[i]);
    return at_first;
}

/* Whether one of the chain's two points does not have all transmissions undamaged. */
static bool
misses_any(const smcr_chain_t *chain)
{
    for (uint32_t i = 0; i < chain->transmission_count; i++)
        if (!smcr_chain_is_whole_at(&chain->transmissions[i], 0) ||
            !smcr_chain_is_whole_at(&chain->transmissions[i], 1))
            return true;
    return false;
}

/* Makes the chain of a path. If it has two points or more, joins damaged packets to its
 * transmissions, and sets the fates of these. `turned`: as `is_turned` of smcr_chain_make(). */
static void
follow_path(smcr_chain_t *chain, smcr_points_t *points, uint32_t path, bool turned)
{
    smcr_chain_make(chain, points, path, points->observed, turned);
    if (chain->count < 2)
        return;
    smcr_chain_join_damaged(chain, points->observed);
    smcr_fates_find(chain);
}

/* Makes the chain again, with the two points in the opposite order if `turned`. */
static void
follow_again(smcr_chain_t *chain, smcr_points_t *points, uint32_t path, bool turned)
{
    wmem_free(points->scope, chain->transmissions);
    follow_path(chain, points, path, turned);
}

/* Finds the order of two points if neither hop limits nor times have shown it. Keeps the present
 * order if the losses speak for it (proof_of_order()), or not less than for the other order. */
static void
order_by_losses(smcr_chain_t *chain, smcr_points_t *points, uint32_t path)
{
    if (chain->order_known || chain->count != 2 || !misses_any(chain))
        return;
    int64_t proof = proof_of_order(chain);
    if (proof > 0)
        return;
    follow_again(chain, points, path, true);
    if (proof_of_order(chain) <= proof)
        follow_again(chain, points, path, false);
}

/* Makes the chain of the path's points, adds a segment for each two neighbours, and keeps the chain
 * in `result`. Does nothing if fewer than two points show the same traffic. */
static void
compare_path(smcr_points_t *points, smcr_compared_t *result, uint32_t path)
{
    smcr_chain_t chain;

    follow_path(&chain, points, path, false);
    if (chain.count < 2)
        return;
    order_by_losses(&chain, points, path);
    for (uint32_t i = 1; i < chain.count; i++)
        add_segment(result, &chain, i);
    wmem_array_append_one(result->chains, chain);
    result->chain_of[points->is_tcp][path] = wmem_array_get_count(result->chains);
}

/* The segments of all chains have one numbering. A chain of n points has n - 1 segments. */
smcr_judge_way_t
smcr_compare_way(const smcr_compared_t *result, uint32_t number, bool is_back)
{
    smcr_points_segment_t *segment = wmem_array_index(result->segments, number);
    smcr_judge_way_t way = {
        .segment = segment, .way = &segment->way[is_back], .is_back = is_back};
    uint32_t first = 0; /* number of the first segment of the chain */

    for (unsigned i = 0; i < wmem_array_get_count(result->chains); i++) {
        const smcr_chain_t *chain = wmem_array_index(result->chains, i);
        uint32_t position = number - first + 1;
        if (position < chain->count) {
            way.chain = chain;
            way.from = is_back ? position : position - 1;
            way.to = is_back ? position - 1 : position;
            break;
        }
        first += chain->count - 1;
    }
    return way;
}

/* Whether the second point captures all that passes it, so that packets of the way that it does not
 * have were lost before it. A capture that misses packets by chance misses packets of both ways. So
 * the probability that it has missed packets of this way only, by chance, must be at most
 * CHANCE_MOST. The caller knows that no packet of either way was proven not to be captured. */
static bool
captures_all(const smcr_judge_way_t *way)
{
    const smcr_points_way_t *back = &way->segment->way[!way->is_back];

    if (!way->chain || !way->way->verdicts[SMCR_VERDICT_UNDECIDED])
        return false;
    uint64_t events = smcr_judge_undecided_events(way);
    double own = (double)(way->way->at_both + events), chance = 1;
    for (uint64_t i = 0; i < events && chance > CHANCE_MOST; i++)
        chance *= own / (own + (double)back->at_both);
    return chance <= CHANCE_MOST;
}

/* Decides the transmissions with the verdict "undecided" between two capture points. They are lost
 * if no transmission between the two points was proven not to be captured, and one of two
 * conditions holds: at least SMCR_JUDGE_PROVEN_LEAST transmissions of both ways are proven to be
 * lost; or the second point captures all that passes it. They are not captured if at least
 * SMCR_JUDGE_PROVEN_LEAST transmissions are proven not to be captured, and none is lost. */
static void
infer_verdicts(const smcr_compared_t *result)
{
    unsigned count = wmem_array_get_count(result->segments);
    GArray *all = g_array_new(FALSE, FALSE, sizeof(known_t));

    for (unsigned i = 0; i < 2 * count; i++) {
        const smcr_points_segment_t *segment = wmem_array_index(result->segments, i / 2);
        add_known(known_between(all, segment), &segment->way[i % 2]);
    }
    for (unsigned i = 0; i < 2 * count; i++) {
        const smcr_judge_way_t way = smcr_compare_way(result, i / 2, i % 2);
        const known_t *known = known_between(all, way.segment);
        bool has_lost = known->lost >= SMCR_JUDGE_PROVEN_LEAST;
        if (!known->not_captured && (has_lost || captures_all(&way)))
            smcr_judge_undecided(&way, true);
        else if (known->not_captured >= SMCR_JUDGE_PROVEN_LEAST && !known->lost)
            smcr_judge_undecided(&way, false);
    }
    g_array_free(all, TRUE);
}

/* Frees the result of the last comparison. */
static void
free_result(smcr_points_t *points)
{
    smcr_compared_t *result = points->result;

    for (unsigned i = 0; i < wmem_array_get_count(result->chains); i++) {
        smcr_chain_t *chain = wmem_array_index(result->chains, i);
        wmem_free(points->scope, chain->transmissions);
    }
    wmem_destroy_array(result->chains);
    wmem_destroy_array(result->segments);
    for (unsigned i = 0; i < 2; i++)
        wmem_free(points->scope, result->chain_of[i]);
    wmem_free(points->scope, result);
}

/* Compares the points of all paths with known flows. `points`: of RoCE or of TCP. */
static void
compare_paths(smcr_points_t *points, smcr_compared_t *result)
{
    result->chain_of[points->is_tcp] =
        wmem_alloc0_array(points->scope, uint32_t, points->path_count + 1);
    for (uint32_t i = 0; i < points->path_count; i++)
        if (points->paths[i].is_known)
            compare_path(points, result, i);
}

/* Whether there is a comparison, and no packet and no TCP segment has been kept since. */
static bool
is_compared(const smcr_points_t *points)
{
    uint32_t segments = points->tcp ? points->tcp->segment_count : 0;

    return points->result && points->compared == points->count &&
           points->result->segment_count == segments;
}

/* Each comparison is of all packets so far, and replaces the result of the last one. The TCP
 * segments are cut anew for it. */
void
smcr_points_compare(smcr_points_t *points)
{
    if (is_compared(points))
        return;
    if (points->result)
        free_result(points);
    smcr_compared_t *result = wmem_new0(points->scope, smcr_compared_t);
    result->segments = wmem_array_new(points->scope, sizeof(smcr_points_segment_t));
    result->chains = wmem_array_new(points->scope, sizeof(smcr_chain_t));
    points->result = result;
    points->compared = points->count;
    compare_paths(points, result);
    if (points->tcp) {
        smcr_observed_cut(points->tcp, points);
        compare_paths(points->tcp, result);
        result->segment_count = points->tcp->segment_count;
    }
    infer_verdicts(result);
}

const smcr_points_segment_t *
smcr_points_segments(const smcr_points_t *points, uint32_t *count)
{
    const smcr_compared_t *result = points->result;

    *count = result ? wmem_array_get_count(result->segments) : 0;
    return *count ? wmem_array_get_raw(result->segments) : NULL;
}
