/* Makes the words and the descriptions of entries from the tables (*.def). Adds entries up by their
 * descriptions. Writes addresses and numbers as text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "figures.h"

#include <math.h>

#include <wsutil/inet_addr.h>

_Static_assert((int)SMCR_FIGURE_SOURCE_CLC == (int)SMCR_GROUND_CLC &&
                   (int)SMCR_FIGURE_SOURCE_ACK == (int)SMCR_GROUND_ACK,
               "sources are named as grounds");

#define CHOICE(list) const char *const smcr_figure_##list##_words[] = {
#define WORD(constant, text) [SMCR_FIGURE_##constant] = text,
#define END(list) };
#include "choices.def"

#define STATE(name, code, text) [SMCR_FIGURE_CM_STATE_KNOWN(name)] = text,
const char *const smcr_figure_cm_state_words[] = {NULL, SMCR_IB_CM_STATES(STATE)};

#define FINDING(constant, word, ...) [SMCR_FIGURE_FOUND_##constant] = word,
const char *const smcr_figure_finding_words[] = {
#include "finding_kinds.def"
};

#define REASON(name, code, text) [SMCR_FIGURE_FOR_##name] = text,
const char *const smcr_figure_delete_reason_words[] = {
    SMCR_LLC_DELETE_REASONS(REASON)
    [SMCR_FIGURE_FOR_UNKNOWN_REASON] = "unknown reason"};

/* All codes that are not in SMCR_LLC_DELETE_REASONS have one value; the code itself is not kept. */
smcr_figure_delete_reason_t
smcr_figure_delete_reason_of(uint32_t code)
{
    switch (code) {
#define REASON_OF(name, code, text) \
    case name: \
        return SMCR_FIGURE_FOR_##name;
        SMCR_LLC_DELETE_REASONS(REASON_OF)
    default:
        return SMCR_FIGURE_FOR_UNKNOWN_REASON;
    }
}

/* The words of the column `null` of entries.def: smcr_figure_member_t.is_known_with_entry. */
#define KNOWN_always true
#define KNOWN_together true
#define KNOWN_or_null false

#define ROW(entry, name, kind, of, words, is_known) \
    {#name, SMCR_FIGURE_KIND_##kind, offsetof(smcr_entry_##entry##_t, name), of, words, is_known},

#define ENTRY(entry, text) static const smcr_figure_member_t entry##_members[] = {
#define FIGURE(entry, kind, name, values, null, ...) \
    ROW(entry, name, kind, NULL, NULL, KNOWN_##null)
#define CHOICE(entry, name, list, null, ...) \
    ROW(entry, name, CHOICE, NULL, smcr_figure_##list##_words, KNOWN_##null)
#define PART(entry, kind, name, of, ...) \
    ROW(entry, name, kind, &smcr_entry_##of##_description, NULL, false)
#define END(entry) \
    }; \
    const smcr_figure_description_t smcr_entry_##entry##_description = { \
        sizeof(smcr_entry_##entry##_t), G_N_ELEMENTS(entry##_members), entry##_members};
#include "entries.def"

#define ENTRY(entry, text) static const smcr_figure_member_t entry##_members[] = {
#define FIGURE(entry, kind, name, values, null, ...) \
    ROW(entry, name, kind, NULL, NULL, KNOWN_##null)
#define CHOICE(entry, name, list, null, ...) \
    ROW(entry, name, CHOICE, NULL, smcr_figure_##list##_words, KNOWN_##null)
#define PART(entry, kind, name, of, ...) \
    ROW(entry, name, kind, &smcr_entry_##of##_description, NULL, false)
#define END(entry) \
    }; \
    const smcr_figure_description_t smcr_entry_##entry##_description = { \
        sizeof(smcr_entry_##entry##_t), G_N_ELEMENTS(entry##_members), entry##_members};
#include "lines.def"

/* ---- distributions ---- */

/* Adds all measurements of `other` to `*distribution`; NULL is a distribution without measurements.
 * If `*distribution` is NULL, it becomes a copy of `other`, so that `other` never changes later. */
static void
join_distribution(smcr_distribution_t **distribution, const smcr_distribution_t *other,
                  wmem_allocator_t *scope)
{
    smcr_distribution_t *into = *distribution;

    if (!other)
        return;
    if (!into) {
        *distribution = wmem_memdup(scope, other, sizeof *other);
        return;
    }
    into->min = MIN(into->min, other->min);
    into->max = MAX(into->max, other->max);
    into->count += other->count;
    into->sum += other->sum;
    into->sum_of_squares += other->sum_of_squares;
}

/* Adds the values of a distribution of times to `histogram`. */
static void
add_to_histogram(smcr_histogram_t *histogram, const smcr_distribution_t *times,
                 wmem_allocator_t *scope)
{
    if (times->histogram)
        smcr_histogram_join(histogram, scope, times->histogram);
    else if (times->count)
        smcr_histogram_add(histogram, scope, smcr_histogram_bucket(times->max), times->count);
}

/* A histogram is made with the first time in a second bucket: most distributions have few times,
 * and need none. */
void
smcr_distribution_join_times(smcr_distribution_t **distribution, wmem_allocator_t *scope,
                             const smcr_distribution_t *other)
{
    smcr_histogram_t both = {0};
    smcr_distribution_t *into = *distribution;

    if (!other)
        return;
    if (into && into->histogram) {
        add_to_histogram(into->histogram, other, scope);
        join_distribution(distribution, other, scope);
        return;
    }
    bool is_one_bucket = !other->histogram &&
                         (!into || smcr_histogram_bucket(into->max) ==
                                       smcr_histogram_bucket(other->max));
    if (!is_one_bucket) {
        add_to_histogram(&both, smcr_distribution_get(into), scope);
        add_to_histogram(&both, other, scope);
    }
    join_distribution(distribution, other, scope);
    (*distribution)->histogram = is_one_bucket ? NULL : wmem_memdup(scope, &both, sizeof both);
}

void
smcr_distribution_add(smcr_distribution_t **distribution, wmem_allocator_t *scope, uint64_t value)
{
    smcr_distribution_t one = {1, value, value, value, (double)value * (double)value, NULL};

    join_distribution(distribution, &one, scope);
}

void
smcr_distribution_add_time(smcr_distribution_t **distribution, wmem_allocator_t *scope,
                           uint64_t time)
{
    smcr_distribution_t one = {1, time, time, time, (double)time * (double)time, NULL};

    smcr_distribution_join_times(distribution, scope, &one);
}

/* The shared distribution does not change. */
void
smcr_distribution_add_to_copy(smcr_distribution_t **distribution, wmem_allocator_t *scope,
                              uint64_t value)
{
    const smcr_distribution_t *shared = *distribution;

    *distribution = NULL;
    join_distribution(distribution, shared, scope);
    smcr_distribution_add(distribution, scope, value);
}

const smcr_distribution_t *
smcr_distribution_get(const smcr_distribution_t *distribution)
{
    static const smcr_distribution_t none;

    return distribution ? distribution : &none;
}

/* The middle of a bucket is limited to the smallest and the largest time: no quantile lies outside
 * of what was measured. */
uint64_t
smcr_distribution_quantile(const smcr_distribution_t *distribution, unsigned per_mille)
{
    const smcr_distribution_t *times = smcr_distribution_get(distribution);
    uint64_t rank = times->count / 1000 * per_mille +
                    (times->count % 1000 * per_mille + 999) / 1000;

    if (!times->count)
        return SMCR_FIGURE_UNKNOWN;
    if (rank <= 1)
        return times->min;
    if (rank == times->count)
        return times->max;
    int32_t bucket = times->histogram ? smcr_histogram_at(times->histogram, rank)
                                      : smcr_histogram_bucket(times->max);
    return CLAMP(smcr_histogram_middle(bucket), times->min, times->max);
}

smcr_histogram_t
smcr_distribution_histogram(const smcr_distribution_t *distribution, wmem_allocator_t *scope)
{
    smcr_histogram_t histogram = {0};

    add_to_histogram(&histogram, smcr_distribution_get(distribution), scope);
    return histogram;
}

/* ---- building ---- */

/* Clears an entry. `count`: the value that its COUNT and SECONDS members get. */
static void
unset(void *entry, const smcr_figure_description_t *description, uint64_t count)
{
    memset(entry, 0, description->size);
    for (unsigned i = 0; i < description->count; i++) {
        const smcr_figure_member_t *member = &description->members[i];
        void *value = (uint8_t *)entry + member->offset;
        switch (member->kind) {
        case SMCR_FIGURE_KIND_COUNT:
        case SMCR_FIGURE_KIND_SECONDS:
            *(uint64_t *)value = count;
            break;
        case SMCR_FIGURE_KIND_SAMPLE:
        case SMCR_FIGURE_KIND_NUMBER:
        case SMCR_FIGURE_KIND_TIME:
            *(uint64_t *)value = SMCR_FIGURE_UNKNOWN;
            break;
        case SMCR_FIGURE_KIND_RATIO:
            *(double *)value = NAN;
            break;
        case SMCR_FIGURE_KIND_OBJECT:
            unset(value, member->of, count);
            break;
        default:
            break;
        }
    }
}

void
smcr_entry_clear(void *entry, const smcr_figure_description_t *description)
{
    unset(entry, description, 0);
}

void
smcr_entry_forget(void *entry, const smcr_figure_description_t *description)
{
    unset(entry, description, SMCR_FIGURE_UNKNOWN);
}

/* The map keeps the pointer `key`, and not a copy: the key lives as long as the map. */
void *
smcr_figure_of(wmem_map_t *map, wmem_allocator_t *scope, const void *key, size_t size)
{
    void *value = wmem_map_lookup(map, key);

    if (!value) {
        value = wmem_alloc0(scope, size);
        wmem_map_insert(map, key, value);
    }
    return value;
}

/* Appends a value to the array `all`. Called for each entry of a map. */
static void
append_value(void *key _U_, void *value, void *all)
{
    wmem_array_append_one((wmem_array_t *)all, value);
}

/* The order of a map depends on addresses, so it must never reach a report: the sorted one does. */
wmem_array_t *
smcr_figure_values(wmem_map_t *map, int (*compare)(const void *, const void *),
                   wmem_allocator_t *scope)
{
    wmem_array_t *all = wmem_array_new(scope, sizeof(void *));

    wmem_map_foreach(map, append_value, all);
    wmem_array_sort(all, compare);
    return all;
}

/* The entry never moves: the list has pointers. */
void *
smcr_figure_list_add(smcr_figure_list_t *list, wmem_allocator_t *scope,
                     const smcr_figure_description_t *description)
{
    void *entry = wmem_alloc(scope, description->size);

    smcr_entry_clear(entry, description);
    smcr_figure_list_append(list, scope, entry);
    return entry;
}

void
smcr_figure_list_append(smcr_figure_list_t *list, wmem_allocator_t *scope, void *entry)
{
    if (list->length == list->room) {
        list->room = list->room ? 2 * list->room : 1;
        list->entries = wmem_realloc(scope, list->entries, list->room * sizeof(void *));
    }
    list->entries[list->length++] = entry;
}

/* Frees the memory of a maker's entry. Called when the memory of the maker itself is freed. */
static SMCR_WIRE_TYPEOF(((wmem_user_cb_t)NULL)(NULL, WMEM_CB_FREE_EVENT, NULL))
free_entry(wmem_allocator_t *owner _U_, wmem_cb_event_t event _U_, void *scope)
{
    wmem_destroy_allocator(scope);
    return false;
}

/* One entry is made at a time: the entry before is overwritten. */
smcr_figure_maker_t *
smcr_figure_maker_new(wmem_allocator_t *scope, const smcr_figure_description_t *description,
                      smcr_figure_make_t *make, const void *context)
{
    smcr_figure_maker_t *maker = wmem_new(scope, smcr_figure_maker_t);

    *maker = (smcr_figure_maker_t){
        .make = make,
        .description = description,
        .context = context,
        .entry = wmem_alloc(scope, description->size),
        .scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE),
    };
    wmem_register_callback(scope, free_entry, maker->scope);
    return maker;
}

/* The entry made before is overwritten: callers copy what they keep of it. */
void *
smcr_figure_make(const smcr_figure_maker_t *maker, const void *source)
{
    wmem_free_all(maker->scope);
    smcr_entry_clear(maker->entry, maker->description);
    maker->make(maker, maker->entry, source);
    if (maker->names)
        maker->replace(maker->names, maker->scope, maker->entry, maker->description);
    return maker->entry;
}

/* A flow has few opcodes, so a linear search is fast enough. */
void
smcr_figure_opcodes_count(smcr_figure_opcodes_t *opcodes, wmem_allocator_t *scope, uint8_t opcode,
                          uint64_t count)
{
    for (unsigned i = 0; i < opcodes->length; i++) {
        if (opcodes->counts[i].opcode == opcode) {
            opcodes->counts[i].count += count;
            return;
        }
    }
    if (opcodes->length == UINT8_MAX)
        return; /* no room for a 256th opcode; InfiniBand defines far fewer */
    if (opcodes->length == opcodes->room) {
        opcodes->room = (uint8_t)MIN(2 * opcodes->room + 2, UINT8_MAX);
        opcodes->counts = wmem_realloc(scope, opcodes->counts,
                                       opcodes->room * sizeof(smcr_figure_opcode_count_t));
    }
    opcodes->counts[opcodes->length++] = (smcr_figure_opcode_count_t){opcode, count};
}

/* Adds packets with one value. Returns false if the tally has no room for the value. */
static bool
add_to_tally(smcr_figure_tally_t *tally, wmem_allocator_t *scope,
             const smcr_figure_value_count_t *added)
{
    for (uint32_t i = 0; i < tally->length; i++) {
        smcr_figure_value_count_t *count = &tally->counts[i];
        if (count->value == added->value) {
            count->count += added->count;
            count->first = smcr_figure_when_earlier(count->first, added->first);
            return true;
        }
    }
    if (tally->length == SMCR_FIGURE_TALLY_MOST)
        return false;
    if (tally->length == tally->room) {
        tally->room = tally->room ? 2 * tally->room : 1;
        tally->counts = wmem_realloc(scope, tally->counts,
                                     tally->room * sizeof(smcr_figure_value_count_t));
    }
    tally->counts[tally->length++] = *added;
    return true;
}

bool
smcr_figure_tally_count(smcr_figure_tally_t *tally, wmem_allocator_t *scope, uint32_t value,
                        smcr_when_t when)
{
    return add_to_tally(tally, scope, &(smcr_figure_value_count_t){value, 1, when});
}

void
smcr_figure_tally_join(smcr_figure_tally_t *tally, wmem_allocator_t *scope,
                       const smcr_figure_tally_t *from)
{
    for (uint32_t i = 0; i < from->length; i++)
        add_to_tally(tally, scope, &from->counts[i]);
}

void
smcr_figure_numbers_add(smcr_figure_numbers_t *numbers, wmem_allocator_t *scope, uint64_t number)
{
    numbers->numbers =
        wmem_realloc(scope, numbers->numbers, (numbers->length + 1) * sizeof(uint64_t));
    numbers->numbers[numbers->length++] = number;
}

void
smcr_figure_texts_add(smcr_figure_texts_t *texts, wmem_allocator_t *scope, const char *text)
{
    texts->texts = wmem_realloc(scope, texts->texts, (texts->length + 1) * sizeof(char *));
    texts->texts[texts->length++] = text;
}

/* ---- adding up ---- */

/* Flows of no link have no owner: both members are NULL. */
const smcr_figure_flow_owner_t *
smcr_figure_flow_owners(const smcr_entry_report_t *report, wmem_allocator_t *scope)
{
    uint32_t count = report->rdma_flows.length;
    smcr_figure_flow_owner_t *owners =
        wmem_alloc0_array(scope, smcr_figure_flow_owner_t, count + 1);

    SMCR_FIGURE_EACH(link_group, group, report->link_groups) {
        SMCR_FIGURE_EACH(link, link, group->links) {
            for (uint32_t k = 0; k < link->flows.length; k++)
                if (link->flows.numbers[k] < count)
                    owners[link->flows.numbers[k]] = (smcr_figure_flow_owner_t){group, link};
        }
    }
    return owners;
}

/* The upper six bits of the byte are the DSCP (RFC 3168, 5), so the whole traffic class may be
 * given. */
void
smcr_figure_codepoints_count(smcr_entry_codepoints_t *codepoints, uint8_t ecn)
{
    uint64_t *const counts[] = {
        [SMCR_WIRE_ECN_NOT_ECT] = &codepoints->not_ect,
        [SMCR_WIRE_ECN_ECT_1] = &codepoints->ect1,
        [SMCR_WIRE_ECN_ECT_0] = &codepoints->ect0,
        [SMCR_WIRE_ECN_CE] = &codepoints->ce,
    };

    (*counts[ecn & SMCR_MASK_ECN])++;
}

uint64_t
smcr_figure_naks_count(const smcr_entry_naks_t *naks)
{
    return smcr_figure_or_zero(naks->psn_sequence) + smcr_figure_or_zero(naks->invalid_request) +
           smcr_figure_or_zero(naks->remote_access) +
           smcr_figure_or_zero(naks->remote_operational) + smcr_figure_or_zero(naks->invalid_rd);
}

uint64_t
smcr_figure_marks_count(const smcr_entry_rdma_t *flow)
{
    uint64_t marks = smcr_figure_sum(flow->ecn.ce, flow->outer_ce);

    return marks == SMCR_FIGURE_UNKNOWN
               ? marks
               : marks - MIN(marks, smcr_figure_or_zero(flow->marked_again));
}

uint64_t
smcr_figure_missing_count(const smcr_entry_rdma_t *flow)
{
    uint64_t late = flow->recovery ? smcr_figure_or_zero(flow->recovery->reordered) : 0;

    return flow->missing == SMCR_FIGURE_UNKNOWN ? flow->missing
                                                : flow->missing - MIN(flow->missing, late);
}

uint64_t
smcr_figure_cnps_count(const smcr_entry_rdma_t *flow)
{
    return smcr_figure_or_zero(flow->cnp) - smcr_figure_or_zero(flow->cnp_copies);
}

/* Members of a new entry are unknown until something is added. */
void *
smcr_entry_join_maybe(void *into, const void *from, const smcr_figure_description_t *description,
                      wmem_allocator_t *scope)
{
    if (!from)
        return into;
    if (!into) {
        into = wmem_alloc(scope, description->size);
        smcr_entry_forget(into, description);
    }
    smcr_entry_join(into, from, description, scope);
    return into;
}

/* Adds the value `from` of a member to the value `into` of the same member. Members of kinds that
 * cannot be added up are ignored. */
static void
join_member(const smcr_figure_member_t *member, void *into, const void *from,
            wmem_allocator_t *scope)
{
    const smcr_figure_opcodes_t *opcodes = from;

    switch (member->kind) {
    case SMCR_FIGURE_KIND_COUNT:
    case SMCR_FIGURE_KIND_SECONDS:
        *(uint64_t *)into = smcr_figure_sum(*(uint64_t *)into, *(const uint64_t *)from);
        break;
    case SMCR_FIGURE_KIND_SPREAD:
    case SMCR_FIGURE_KIND_LENGTHS:
        join_distribution(into, *(smcr_distribution_t *const *)from, scope);
        break;
    case SMCR_FIGURE_KIND_TIMES:
        smcr_distribution_join_times(into, scope, *(smcr_distribution_t *const *)from);
        break;
    case SMCR_FIGURE_KIND_OPCODES:
        for (unsigned i = 0; i < opcodes->length; i++)
            smcr_figure_opcodes_count(into, scope, opcodes->counts[i].opcode,
                                      opcodes->counts[i].count);
        break;
    case SMCR_FIGURE_KIND_TALLY:
        smcr_figure_tally_join(into, scope, from);
        break;
    case SMCR_FIGURE_KIND_OBJECT:
        smcr_entry_join(into, from, member->of, scope);
        break;
    case SMCR_FIGURE_KIND_MAYBE:
        *(void **)into = smcr_entry_join_maybe(*(void **)into, *(void *const *)from, member->of,
                                               scope);
        break;
    default:
        break;
    }
}

/* Both entries have the type that `description` describes: members are found by their offsets.
 * Members that cannot be added up stay as they are in `into` (join_member()). */
void
smcr_entry_join(void *into, const void *from, const smcr_figure_description_t *description,
                wmem_allocator_t *scope)
{
    for (unsigned i = 0; i < description->count; i++) {
        const smcr_figure_member_t *member = &description->members[i];
        join_member(member, (uint8_t *)into + member->offset,
                    (const uint8_t *)from + member->offset, scope);
    }
}

/* ---- taking away ---- */

/* Subtracts the measurements of `before` from those of `*distribution`, which becomes a new
 * distribution; NULL: nothing remains. If one of the two is NULL, nothing changes. */
static void
reduce_distribution(smcr_distribution_t **distribution, const smcr_distribution_t *before,
                    wmem_allocator_t *scope)
{
    const smcr_distribution_t *all = *distribution;

    if (!all || !before)
        return;
    *distribution = NULL;
    if (all->count <= before->count)
        return;
    smcr_distribution_t rest = {.count = all->count - before->count,
                                .sum = all->sum - before->sum,
                                .min = SMCR_FIGURE_UNKNOWN,
                                .max = SMCR_FIGURE_UNKNOWN,
                                .sum_of_squares =
                                    MAX(all->sum_of_squares - before->sum_of_squares, 0)};
    *distribution = wmem_memdup(scope, &rest, sizeof rest);
}

/* Subtracts as reduce_distribution() does, from a distribution of times. The smallest and the
 * largest time that remain become the middles of their buckets. */
static void
reduce_times(smcr_distribution_t **distribution, const smcr_distribution_t *before,
             wmem_allocator_t *scope)
{
    smcr_histogram_t all = smcr_distribution_histogram(*distribution, scope);
    smcr_histogram_t less = smcr_distribution_histogram(before, scope);
    smcr_histogram_t *rest = wmem_new0(scope, smcr_histogram_t);

    reduce_distribution(distribution, before, scope);
    if (!*distribution || !before)
        return;
    rest->zeros = all.zeros - less.zeros;
    for (uint32_t i = 0; i < all.length; i++) {
        int32_t bucket = all.first + (int32_t)i, at = bucket - less.first;
        bool has_less = at >= 0 && (uint32_t)at < less.length;
        uint64_t count = all.counts[i] - (has_less ? less.counts[at] : 0);
        if (count)
            smcr_histogram_add(rest, scope, bucket, count);
    }
    (*distribution)->histogram = rest;
    (*distribution)->min = smcr_histogram_middle(smcr_histogram_at(rest, 1));
    (*distribution)->max =
        smcr_histogram_middle(smcr_histogram_at(rest, (*distribution)->count));
}

/* Returns what a count has grown by. A count that has become smaller, since later packets have
 * explained earlier ones, has grown by 0. If one of the two is not known, returns `now`. */
static uint64_t
grown(uint64_t now, uint64_t before)
{
    if (now == SMCR_FIGURE_UNKNOWN || before == SMCR_FIGURE_UNKNOWN)
        return now;
    return now > before ? now - before : 0;
}

/* Subtracts the counts of `before` from those of `*opcodes`, which becomes a new list. */
static void
reduce_opcodes(smcr_figure_opcodes_t *opcodes, const smcr_figure_opcodes_t *before,
               wmem_allocator_t *scope)
{
    const smcr_figure_opcodes_t all = *opcodes;

    *opcodes = (smcr_figure_opcodes_t){.length = 0};
    for (unsigned i = 0; i < all.length; i++) {
        uint64_t rest = all.counts[i].count;
        for (unsigned k = 0; k < before->length; k++)
            if (before->counts[k].opcode == all.counts[i].opcode)
                rest = grown(rest, before->counts[k].count);
        if (rest)
            smcr_figure_opcodes_count(opcodes, scope, all.counts[i].opcode, rest);
    }
}

/* Subtracts the counts of `before` from those of `*tally`, which becomes a new list in `scope`. The
 * list does not have values whose counts are 0 then. */
static void
reduce_tally(smcr_figure_tally_t *tally, const smcr_figure_tally_t *before,
             wmem_allocator_t *scope)
{
    const smcr_figure_tally_t all = *tally;

    *tally = (smcr_figure_tally_t){.length = 0};
    for (uint32_t i = 0; i < all.length; i++) {
        smcr_figure_value_count_t rest = all.counts[i];
        for (uint32_t k = 0; k < before->length; k++)
            if (before->counts[k].value == rest.value)
                rest.count = grown(rest.count, before->counts[k].count);
        if (rest.count)
            add_to_tally(tally, scope, &rest);
    }
}

/* Subtracts the value `before` of a member from its value `into`: what has come since. Kinds that
 * cannot be subtracted, such as texts and lists of entries, keep their values. Entries and counts
 * that `into` shares with another report are copied before they are changed. */
static void
reduce_member(const smcr_figure_member_t *member, void *into, const void *before,
              wmem_allocator_t *scope)
{
    switch (member->kind) {
    case SMCR_FIGURE_KIND_COUNT:
    case SMCR_FIGURE_KIND_SECONDS:
        *(uint64_t *)into = grown(*(uint64_t *)into, *(const uint64_t *)before);
        break;
    case SMCR_FIGURE_KIND_SPREAD:
    case SMCR_FIGURE_KIND_LENGTHS:
        reduce_distribution(into, *(smcr_distribution_t *const *)before, scope);
        break;
    case SMCR_FIGURE_KIND_TIMES:
        reduce_times(into, *(smcr_distribution_t *const *)before, scope);
        break;
    case SMCR_FIGURE_KIND_OPCODES:
        reduce_opcodes(into, before, scope);
        break;
    case SMCR_FIGURE_KIND_TALLY:
        reduce_tally(into, before, scope);
        break;
    case SMCR_FIGURE_KIND_OBJECT:
        smcr_entry_take_away(into, before, member->of, scope);
        break;
    case SMCR_FIGURE_KIND_MAYBE:
        if (!*(void **)into || !*(void *const *)before)
            break;
        *(void **)into = wmem_memdup(scope, *(void **)into, member->of->size);
        smcr_entry_take_away(*(void **)into, *(void *const *)before, member->of, scope);
        break;
    default:
        break;
    }
}

/* Has to treat each kind of member as smcr_entry_join() does. */
void
smcr_entry_take_away(void *into, const void *before, const smcr_figure_description_t *description,
                     wmem_allocator_t *scope)
{
    for (unsigned i = 0; i < description->count; i++) {
        const smcr_figure_member_t *member = &description->members[i];
        reduce_member(member, (uint8_t *)into + member->offset,
                      (const uint8_t *)before + member->offset, scope);
    }
}

/* ---- addresses and numbers ---- */

/* The form is that of Wireshark's address fields, so that a reader may search for it. */
const char *
smcr_figure_gid_text(wmem_allocator_t *scope, const uint8_t gid[SMCR_GID_LENGTH])
{
    static const uint8_t zeros[SMCR_GID_LENGTH];
    char *text = wmem_alloc(scope, WS_INET6_ADDRSTRLEN);

    if (smcr_gid_is_same(gid, zeros))
        return NULL;
    if (smcr_gid_is_ipv4(gid))
        return ws_inet_ntop4(gid + SMCR_GID_IPV4_AT, text, WS_INET6_ADDRSTRLEN);
    return ws_inet_ntop6(gid, text, WS_INET6_ADDRSTRLEN);
}

const char *
smcr_figure_ends(wmem_allocator_t *scope, const char *one, const char *other)
{
    return wmem_strdup_printf(scope, "%s ↔ %s", one && *one ? one : "?",
                              other && *other ? other : "?");
}

const char *
smcr_figure_hex_text(wmem_allocator_t *scope, uint64_t number, unsigned bytes)
{
    return wmem_strdup_printf(scope, "0x%0*" PRIx64, (int)(2 * bytes), number);
}

/* Release 0 is version 2 without a number. */
smcr_figure_version_t
smcr_figure_version_of(unsigned version, int release)
{
    if (version < 2)
        return version ? SMCR_FIGURE_IS_SMCR_V1 : SMCR_FIGURE_IS_OF_NO_VERSION;
    if (release < 0)
        return SMCR_FIGURE_IS_SMCR_V2_X;
    return release ? SMCR_FIGURE_IS_SMCR_V2_1 : SMCR_FIGURE_IS_SMCR_V2;
}
