/* Sets of intervals: adds them, and divides time among them when somebody asks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "interval.h"

/* Calls of for_each_piece() get these. */
typedef void (*piece_sink_t)(void *data, const smcr_interval_piece_t *piece);

static smcr_when_t
earlier(smcr_when_t one, smcr_when_t other)
{
    return other.time < one.time ? other : one;
}

static smcr_when_t
later(smcr_when_t one, smcr_when_t other)
{
    return other.time > one.time ? other : one;
}

/* ---- adding ---- */

static void
make_room(smcr_interval_list_t *list, wmem_allocator_t *scope)
{
    if (list->length < list->room)
        return;
    list->room = list->room ? 2 * list->room : 2;
    list->entries = wmem_realloc(scope, list->entries, list->room * sizeof *list->entries);
}

/* Number of intervals that end before `time`: nearly always all of them, since events come in
 * order. */
static uint32_t
count_before(const smcr_interval_list_t *list, uint64_t time)
{
    uint32_t count = list->length;

    while (count && list->entries[count - 1].end.time >= time)
        count--;
    return count;
}

/* Number of intervals that begin at `time` or before it. */
static uint32_t
count_begun(const smcr_interval_list_t *list, uint64_t time)
{
    uint32_t count = list->length;

    while (count && list->entries[count - 1].begin.time > time)
        count--;
    return count;
}

static void
add_to_list(smcr_interval_list_t *list, wmem_allocator_t *scope, smcr_interval_t interval)
{
    if (interval.end.time <= interval.begin.time)
        return;
    uint32_t first = count_before(list, interval.begin.time);
    uint32_t after = count_begun(list, interval.end.time);
    for (uint32_t i = first; i < after; i++) {
        interval.begin = earlier(interval.begin, list->entries[i].begin);
        interval.end = later(interval.end, list->entries[i].end);
    }
    if (after == first)
        make_room(list, scope);
    memmove(list->entries + first + 1, list->entries + after,
            (list->length - after) * sizeof *list->entries);
    list->entries[first] = interval;
    list->length += first + 1 - after;
}

void
smcr_intervals_add(smcr_intervals_t *intervals, wmem_allocator_t *scope, smcr_interval_kind_t kind,
                   smcr_interval_t interval)
{
    add_to_list(&intervals->list[kind], scope, interval);
}

/* ---- unions ---- */

static smcr_interval_t
longer(smcr_interval_t one, smcr_interval_t other)
{
    return smcr_interval_length(other) > smcr_interval_length(one) ? other : one;
}

/* The older half leaves the list: hardly an interval to come begins before its end. */
static void
settle_older_half(smcr_interval_union_t *all)
{
    smcr_interval_list_t *list = &all->list;
    uint32_t gone = list->length / 2;

    for (uint32_t i = 0; i < gone; i++) {
        all->settled += smcr_interval_length(list->entries[i]);
        all->longest = longer(all->longest, list->entries[i]);
    }
    all->until = list->entries[gone - 1].end;
    list->length -= gone;
    memmove(list->entries, list->entries + gone, list->length * sizeof *list->entries);
}

void
smcr_interval_union_add(smcr_interval_union_t *all, wmem_allocator_t *scope,
                        smcr_interval_t interval)
{
    interval.begin = later(interval.begin, all->until);
    add_to_list(&all->list, scope, interval);
    if (all->list.length > SMCR_INTERVAL_LIST_MOST)
        settle_older_half(all);
}

void
smcr_interval_union_join(smcr_interval_union_t *all, wmem_allocator_t *scope,
                         const smcr_interval_union_t *from)
{
    for (uint32_t i = 0; i < from->list.length; i++)
        smcr_interval_union_add(all, scope, from->list.entries[i]);
    all->settled += from->settled;
    all->longest = longer(all->longest, from->longest);
}

uint64_t
smcr_interval_union_length(const smcr_interval_union_t *all)
{
    uint64_t length = all->settled;

    for (uint32_t i = 0; i < all->list.length; i++)
        length += smcr_interval_length(all->list.entries[i]);
    return length;
}

smcr_interval_t
smcr_interval_union_longest(const smcr_interval_union_t *all)
{
    smcr_interval_t longest = all->longest;

    for (uint32_t i = 0; i < all->list.length; i++)
        longest = longer(longest, all->list.entries[i]);
    return longest;
}

/* ---- dividing ---- */

/* A case of what a moment is charged to: all kinds of `all` hold, and none of `none`. */
typedef struct {
    unsigned all;  /* bits: BIT() of each kind */
    unsigned none; /* likewise */
    smcr_interval_part_t part;
} moment_case_t;

#define BIT(kind) (1U << SMCR_INTERVAL_##kind)

/* The first case that fits counts. Intervals of the peer are left out where the writer does not
 * depend on it. */
static const moment_case_t moment_cases[] = {
    /* The writer waits for space, and acknowledged data lie unread at the reader: the reader's
     * program is the cause, whatever the fabric does meanwhile. It has something to read. Where
     * packets of the reader are missing, one of them may have freed space. */
    {BIT(FULL) | BIT(UNREAD), BIT(PEER_NOT_CAPTURED), SMCR_INTERVAL_IS_FULL_READER},
    /* The reader has sent a message after missing packets: it may have freed space. */
    {BIT(FULL) | BIT(MAYBE_UNREAD), 0, SMCR_INTERVAL_IS_UNKNOWN},
    /* The reader's program may be the cause, and something is retransmitted: nobody knows what is
     * the cause. The writer may wait for space if packets of it are missing; data may lie unread if
     * packets of the reader are. */
    {BIT(RETRANSMISSION) | BIT(FULL) | BIT(UNREAD), 0, SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(RETRANSMISSION) | BIT(NOT_CAPTURED) | BIT(UNREAD), 0, SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(RETRANSMISSION) | BIT(NOT_CAPTURED) | BIT(MAYBE_UNREAD), 0, SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(PEER_RETRANSMISSION) | BIT(FULL) | BIT(UNREAD), 0, SMCR_INTERVAL_IS_UNKNOWN},
    /* While a packet of the writer is retransmitted, the reader gets nothing of what came after it;
     * while a packet of the peer is, the writer may have done anything. */
    {BIT(PEER_RETRANSMISSION) | BIT(NOT_CAPTURED), BIT(RETRANSMISSION), SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(RETRANSMISSION), 0, SMCR_INTERVAL_IS_RETRANSMISSION},
    {BIT(PEER_RETRANSMISSION), 0, SMCR_INTERVAL_IS_RETRANSMISSION},
    /* Packets are missing: nobody knows what the writer does, or what it waits for. */
    {BIT(NOT_CAPTURED), 0, SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(PEER_NOT_CAPTURED), 0, SMCR_INTERVAL_IS_UNKNOWN},
    /* The writer waits for space, and nothing unread lies at the reader: data or update are under
     * way. */
    {BIT(FULL), 0, SMCR_INTERVAL_IS_FULL_PATH},
    {BIT(TRANSFER), 0, SMCR_INTERVAL_IS_TRANSFER},
    {BIT(MAYBE_TRANSFER) | BIT(TRANSFER_IN_DOUBT), 0, SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(MAYBE_TRANSFER), 0, SMCR_INTERVAL_IS_MAYBE_TRANSFER},
    {BIT(ANSWER), 0, SMCR_INTERVAL_IS_ANSWER},
};

/* The writer depends on its peer while it waits for space, or for an answer without data under
 * way. */
static bool
depends_on_peer(unsigned holds)
{
    bool is_under_way = (holds & (BIT(TRANSFER) | BIT(MAYBE_TRANSFER))) != 0;

    return (holds & BIT(FULL)) != 0 || ((holds & BIT(ANSWER)) != 0 && !is_under_way);
}

/* What a moment is charged to. `holds`: a bit for each kind of interval that holds then. */
static smcr_interval_part_t
part_of(unsigned holds)
{
    if (!depends_on_peer(holds))
        holds &= ~(BIT(PEER_RETRANSMISSION) | BIT(PEER_NOT_CAPTURED));
    for (unsigned i = 0; i < G_N_ELEMENTS(moment_cases); i++) {
        const moment_case_t *each = &moment_cases[i];
        if ((holds & each->all) == each->all && !(holds & each->none))
            return each->part;
    }
    return SMCR_INTERVAL_IS_NOTHING;
}

/* Looks at the interval `at` of a list: does it hold at `now`? Moves *next to where that changes,
 * if this is earlier. */
static bool
holds_at(const smcr_interval_list_t *list, uint32_t *at, uint64_t now, smcr_when_t *next)
{
    while (*at < list->length && list->entries[*at].end.time <= now)
        ++*at;
    if (*at == list->length)
        return false;
    const smcr_interval_t *interval = &list->entries[*at];
    bool holds = interval->begin.time <= now;
    *next = earlier(*next, holds ? interval->end : interval->begin);
    return holds;
}

/* Cuts the span wherever an interval begins or ends, and hands on each piece with its part. */
static void
for_each_piece(const smcr_intervals_t *intervals, smcr_interval_t span, piece_sink_t sink,
               void *data)
{
    uint32_t at[SMCR_INTERVAL_KINDS] = {0};

    while (span.begin.time < span.end.time) {
        smcr_interval_piece_t piece = {.interval = span};
        unsigned holds = 0;

        for (unsigned kind = 0; kind < SMCR_INTERVAL_KINDS; kind++)
            if (holds_at(&intervals->list[kind], &at[kind], span.begin.time, &piece.interval.end))
                holds |= 1U << kind;
        piece.share[part_of(holds)] = smcr_interval_length(piece.interval);
        sink(data, &piece);
        span.begin = piece.interval.end;
    }
}

/* ---- counting ---- */

/* What the pieces so far add up to, and the stretches that the next piece may prolong. */
typedef struct {
    smcr_interval_division_t division;
    smcr_interval_t reader;         /* end frame 0: no such stretch ends with the last piece */
    smcr_interval_t full;           /* likewise */
    smcr_interval_t retransmission; /* likewise */
} tally_t;

/* The piece prolongs the stretch if it is of it, else the stretch ends. */
static void
prolong(smcr_interval_t *stretch, smcr_interval_t *longest, const smcr_interval_piece_t *piece,
        uint64_t share)
{
    if (!share || share < smcr_interval_length(piece->interval)) {
        *stretch = (smcr_interval_t){{0}, {0}};
        return;
    }
    if (!stretch->end.frame)
        stretch->begin = piece->interval.begin;
    stretch->end = piece->interval.end;
    if (smcr_interval_length(*stretch) > smcr_interval_length(*longest))
        *longest = *stretch;
}

static void
count_piece(void *data, const smcr_interval_piece_t *piece)
{
    tally_t *counted = data;
    smcr_interval_division_t *division = &counted->division;
    const uint64_t *share = piece->share;

    for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++)
        division->share[part] += share[part];
    prolong(&counted->reader, &division->longest_reader, piece,
            share[SMCR_INTERVAL_IS_FULL_READER]);
    prolong(&counted->full, &division->longest_full, piece,
            share[SMCR_INTERVAL_IS_FULL_READER] + share[SMCR_INTERVAL_IS_FULL_PATH]);
    prolong(&counted->retransmission, &division->longest_retransmission, piece,
            share[SMCR_INTERVAL_IS_RETRANSMISSION]);
}

/* ---- settling ---- */

struct smcr_interval_settled {
    tally_t counted; /* of all pieces, before any were joined */
    smcr_interval_piece_t *pieces; /* ascending, without holes */
    uint32_t length;   /* of them */
    uint32_t room;     /* pieces that the memory has room for */
    wmem_allocator_t *scope;
};

/* Whether two pieces that touch are of one part, and of no other. */
static bool
is_same_part(const smcr_interval_piece_t *one, const smcr_interval_piece_t *other)
{
    for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++)
        if ((one->share[part] != 0) != (other->share[part] != 0))
            return false;
    return true;
}

static void
join_piece(smcr_interval_piece_t *piece, const smcr_interval_piece_t *next)
{
    piece->interval.end = next->interval.end;
    for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++)
        piece->share[part] += next->share[part];
}

static void
gather_piece(void *data, const smcr_interval_piece_t *piece)
{
    smcr_interval_settled_t *all = data;

    count_piece(&all->counted, piece);
    if (all->length && is_same_part(&all->pieces[all->length - 1], piece)) {
        join_piece(&all->pieces[all->length - 1], piece);
        return;
    }
    if (all->length == all->room) {
        all->room = 2 * all->room + 8;
        all->pieces = wmem_realloc(all->scope, all->pieces, all->room * sizeof *all->pieces);
    }
    all->pieces[all->length++] = *piece;
}

/* What is lost if the piece is joined with others, nanoseconds: the length of a wait. Idle time and
 * transfers are no waits, and a mixed piece has no begin and end of a wait any more. */
static uint64_t
wait_length(const smcr_interval_piece_t *piece)
{
    uint64_t length = smcr_interval_length(piece->interval);

    for (unsigned part = SMCR_INTERVAL_IS_FULL_PATH; part < SMCR_INTERVAL_PARTS; part++)
        if (piece->share[part] == length)
            return length;
    return 0;
}

/* The neighbours whose waits are shortest; of equal ones those that last shortest. Returns the
 * number of the first one. */
static uint32_t
find_shortest(const smcr_interval_settled_t *all)
{
    uint64_t least_wait = UINT64_MAX, least_length = UINT64_MAX;
    uint32_t best = 0;

    for (uint32_t i = 0; i + 1 < all->length; i++) {
        const smcr_interval_piece_t *one = &all->pieces[i], *next = one + 1;
        uint64_t wait = wait_length(one) + wait_length(next);
        uint64_t length = next->interval.end.time - one->interval.begin.time;
        if (wait < least_wait || (wait == least_wait && length < least_length)) {
            least_wait = wait;
            least_length = length;
            best = i;
        }
    }
    return best;
}

/* Joins neighbours until half of SMCR_INTERVAL_SETTLED_MOST are left: the long waits stay as they
 * are. */
static void
join_shortest(smcr_interval_settled_t *all)
{
    while (all->length > SMCR_INTERVAL_SETTLED_MOST / 2) {
        uint32_t best = find_shortest(all);

        join_piece(&all->pieces[best], &all->pieces[best + 1]);
        all->length--;
        memmove(all->pieces + best + 1, all->pieces + best + 2,
                (all->length - best - 1) * sizeof *all->pieces);
    }
}

/* Drops what is before `until`. */
static void
clip_list(smcr_interval_list_t *list, smcr_when_t until)
{
    uint32_t gone = 0;

    while (gone < list->length && list->entries[gone].end.time <= until.time)
        gone++;
    list->length -= gone;
    if (gone)
        memmove(list->entries, list->entries + gone, list->length * sizeof *list->entries);
    if (list->length && list->entries[0].begin.time < until.time)
        list->entries[0].begin = until;
}

/* When the first interval that is not settled begins; UINT64_MAX: there is none. */
static smcr_when_t
first_begin(const smcr_intervals_t *intervals)
{
    smcr_when_t first = {0, UINT64_MAX};

    for (unsigned kind = 0; kind < SMCR_INTERVAL_KINDS; kind++)
        if (intervals->list[kind].length)
            first = earlier(first, intervals->list[kind].entries[0].begin);
    return first;
}

static smcr_interval_settled_t *
make_settled(smcr_intervals_t *intervals, wmem_allocator_t *scope)
{
    if (!intervals->settled) {
        intervals->settled = wmem_new0(scope, smcr_interval_settled_t);
        intervals->settled->scope = scope;
    }
    return intervals->settled;
}

static uint32_t
count_intervals(const smcr_intervals_t *intervals)
{
    uint32_t length = 0;

    for (unsigned kind = 0; kind < SMCR_INTERVAL_KINDS; kind++)
        length += intervals->list[kind].length;
    return length;
}

void
smcr_intervals_settle(smcr_intervals_t *intervals, wmem_allocator_t *scope, smcr_when_t until)
{
    if (count_intervals(intervals) <= SMCR_INTERVAL_LIST_MOST)
        return;
    smcr_interval_settled_t *all = make_settled(intervals, scope);
    smcr_when_t from = all->length ? all->pieces[all->length - 1].interval.end
                                   : first_begin(intervals);
    for_each_piece(intervals, (smcr_interval_t){from, until}, gather_piece, all);
    for (unsigned kind = 0; kind < SMCR_INTERVAL_KINDS; kind++)
        clip_list(&intervals->list[kind], until);
    if (all->length > SMCR_INTERVAL_SETTLED_MOST)
        join_shortest(all);
}

/* ---- what is asked ---- */

/* What is settled; nothing lasts from `begin` to where it begins: its first interval is the first
 * of all. */
static tally_t
count_settled(const smcr_interval_settled_t *settled, smcr_when_t begin)
{
    tally_t counted = settled->counted;
    smcr_interval_t quiet = {begin, settled->pieces[0].interval.begin};

    counted.division.share[SMCR_INTERVAL_IS_NOTHING] += smcr_interval_length(quiet);
    return counted;
}

smcr_interval_division_t
smcr_intervals_divide(const smcr_intervals_t *intervals, smcr_interval_t span)
{
    const smcr_interval_settled_t *settled = intervals->settled;
    tally_t counted = {0};

    if (settled && settled->length) {
        counted = count_settled(settled, span.begin);
        span.begin = settled->pieces[settled->length - 1].interval.end;
    }
    for_each_piece(intervals, span, count_piece, &counted);
    return counted.division;
}
