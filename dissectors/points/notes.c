/* Reports from the last comparison what is known of a frame, of its copies, and of the delays
 * between two capture points.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "compare.h"

/* A packet that two points have. */
typedef struct {
    smcr_when_t when; /* frame and time of the packet, from when_of() */
    int64_t delay;    /* time from the first to the second point, nanoseconds */
} delayed_t;

/* Compares delays for sorting, by time, then by frame. */
static int
by_time(const void *one, const void *other)
{
    const delayed_t *a = one, *b = other;

    if (a->when.time != b->when.time)
        return a->when.time < b->when.time ? -1 : 1;
    return (a->when.frame > b->when.frame) - (a->when.frame < b->when.frame);
}

/* Returns the passage of the transmission. `from` of the result is NULL if the transmission is of
 * the other way, or if one of the two points does not have the transmission. */
static smcr_judge_passage_t
whole_passage(const smcr_judge_way_t *way, const smcr_transmission_t *transmission)
{
    smcr_judge_passage_t passage = smcr_judge_passage(way, transmission);

    if (!passage.to || !smcr_judge_is_of_way(way, transmission))
        passage.from = NULL;
    return passage;
}

/* Returns the position of the point on which the analysis of the path runs; 0: that point is not in
 * the chain. */
static uint32_t
analysed_at(const smcr_chain_t *chain)
{
    uint32_t position = smcr_chain_position(chain, chain->points->paths[chain->path].preferred);

    return position < chain->count ? position : 0;
}

/* Returns frame and time of a packet that both points of the segment have: at the point `at` (a
 * position) if it is one of the two; otherwise at the first point, with the time by the clock of
 * the point `at`. So the times of all packets of a chain are by one clock. */
static smcr_when_t
when_of(const smcr_judge_way_t *way, const smcr_judge_passage_t *passage, uint32_t at)
{
    const smcr_observed_t *observed = way->to == at ? passage->to : passage->from;
    bool is_there = way->to == at || way->from == at;

    if (is_there)
        return (smcr_when_t){observed->frame, observed->time};
    uint64_t first = smcr_chain_time(way->chain, way->from, observed->time);
    return (smcr_when_t){observed->frame, smcr_chain_time_at(way->chain, at, first)};
}

/* The delays are sorted before the first call of `take`, so that a caller may draw them at once. */
void
smcr_points_delays(const smcr_points_t *points, uint32_t number, bool is_back,
                   smcr_points_take_delay_t *take, void *context)
{
    const smcr_compared_t *result = points->result;
    smcr_judge_way_t way = smcr_compare_way(result, number, is_back);

    if (!way.chain || !way.segment->clock_agrees || !way.segment->clock.is_bounded)
        return;
    uint32_t at = analysed_at(way.chain);
    GArray *all = g_array_new(FALSE, FALSE, sizeof(delayed_t));
    for (uint32_t i = 0; i < way.chain->transmission_count; i++) {
        smcr_judge_passage_t passage = whole_passage(&way, &way.chain->transmissions[i]);
        if (!passage.from)
            continue;
        delayed_t one = {when_of(&way, &passage, at), smcr_judge_delay(&way, &passage)};
        g_array_append_val(all, one);
    }
    g_array_sort(all, by_time);
    for (unsigned i = 0; i < all->len; i++) {
        const delayed_t *one = &g_array_index(all, delayed_t, i);
        take(context, one->when, one->delay);
    }
    g_array_free(all, TRUE);
}

/* Returns the frame of an observation. A function of type smcr_sorted_key_t. */
static uint64_t
frame_of(const void *observed, uint32_t index)
{
    return ((const smcr_observed_t *)observed)[index].frame;
}

/* Returns the first observation of a frame; NULL: there is none. A TCP segment may have several,
 * one for each of its parts. */
static const smcr_observed_t *
observed_in(const smcr_points_t *points, uint32_t frame)
{
    if (!points->count)
        return NULL;
    const smcr_observed_t *list = &points->observed[1]; /* element 0 is not used */
    uint32_t first = smcr_sorted_first(list, points->count, frame_of, frame);

    return first < points->count && list[first].frame == frame ? &list[first] : NULL;
}

bool
smcr_points_is_copy(const smcr_points_t *points, uint32_t frame)
{
    const smcr_observed_t *observed = points ? observed_in(points, frame) : NULL;

    return observed && observed->is_copy;
}

/* Whether the offset between the clocks at two positions of the chain is known: each clock after
 * the lower position, up to the higher one, has a known offset from the clock before. */
static bool
is_offset_known(const smcr_chain_t *chain, uint32_t one, uint32_t other)
{
    for (uint32_t i = MIN(one, other) + 1; i <= MAX(one, other); i++) {
        if (!chain->clock_agrees[i] || !chain->clock[i].is_bounded)
            return false;
    }
    return true;
}

/* Fills in the delay between two observations of one transmission, `before` and `here`, and whether
 * it is known. */
static void
note_delay(const smcr_chain_t *chain, const smcr_observed_t *before, const smcr_observed_t *here,
           smcr_points_note_t *note)
{
    uint32_t from = smcr_chain_position(chain, before->point);
    uint32_t to = smcr_chain_position(chain, here->point);

    note->has_delay = is_offset_known(chain, from, to);
    note->delay = (int64_t)(smcr_chain_time(chain, to, here->time) -
                            smcr_chain_time(chain, from, before->time));
}

/* Fills in `note` for the observation `observed` of the transmission: the frames of the other
 * observations, the delay from the last earlier point that has it, the time, and the verdict, if
 * this is the last point that has it. */
static void
fill_note(const smcr_chain_t *chain, const smcr_transmission_t *transmission,
          const smcr_observed_t *observed, smcr_points_note_t *note)
{
    const smcr_points_t *points = chain->points;
    bool is_back = smcr_observed_is_back(points, &points->flows[observed->flow]);
    const smcr_observed_t *seen[SMCR_POINTS_OF_PATH];
    uint32_t count = 0, copies = 0;

    for (uint32_t i = 0; i < chain->count; i++) {
        seen[count] = smcr_chain_at(chain, transmission, is_back ? chain->count - 1 - i : i);
        count += seen[count] != NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (seen[i] != observed)
            note->copies[copies++] = seen[i]->frame;
        else if (i)
            note_delay(chain, seen[i - 1], observed, note);
    }
    note->verdict =
        seen[count - 1] == observed ? transmission->verdict : SMCR_VERDICT_AT_ALL;
    note->time =
        smcr_chain_time(chain, smcr_chain_position(chain, observed->point), observed->time);
    note->has_time = true;
}

/* Adds a frame to the list of copies, unless the list has it or is full. */
static void
add_copy(smcr_points_note_t *note, uint32_t frame)
{
    uint32_t i = 0;

    while (i < SMCR_POINTS_OF_PATH && note->copies[i] && note->copies[i] != frame)
        i++;
    if (i < SMCR_POINTS_OF_PATH)
        note->copies[i] = frame;
}

/* Adds to the note of a TCP segment what is known of a further part of it: its copies, and its
 * verdict if the parts before have none. */
static void
add_part(smcr_points_note_t *note, const smcr_points_note_t *part)
{
    for (unsigned i = 0; i < SMCR_POINTS_OF_PATH && part->copies[i]; i++)
        add_copy(note, part->copies[i]);
    note->verdict = note->verdict == SMCR_VERDICT_AT_ALL ? part->verdict : note->verdict;
}

/* Fills in `note` for an observation. Returns false if nothing is known of its packet. `points`: of
 * RoCE or of TCP. */
static bool
find_note(const smcr_compared_t *result, const smcr_points_t *points,
          const smcr_observed_t *observed, smcr_points_note_t *note)
{
    *note = (smcr_points_note_t){.verdict = SMCR_VERDICT_AT_ALL};
    uint32_t path = points->flows[observed->flow].path;
    uint32_t number =
        result && observed->transmission ? result->chain_of[points->is_tcp][path] : 0;
    if (!number)
        return false;
    const smcr_chain_t *chain = wmem_array_index(result->chains, number - 1);
    const smcr_transmission_t *transmission = &chain->transmissions[observed->transmission - 1];
    fill_note(chain, transmission, observed, note);
    return true;
}

/* A TCP segment may have several observations, one for each part. The note has the copies of all
 * parts, the first verdict that a part has, and delay and time of the first part. */
bool
smcr_points_note(const smcr_points_t *points, uint32_t frame, smcr_points_note_t *note)
{
    const smcr_observed_t *observed = observed_in(points, frame);
    const smcr_points_t *own = points;
    smcr_points_note_t part;

    if (!observed) {
        own = points->tcp;
        observed = own ? observed_in(own, frame) : NULL;
    }
    if (!observed || !find_note(points->result, own, observed, note))
        return false;
    while (observed++ < &own->observed[own->count] && observed->frame == frame) {
        find_note(points->result, own, observed, &part);
        add_part(note, &part);
    }
    return true;
}
