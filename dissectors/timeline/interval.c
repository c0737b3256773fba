/* Keeps sets of intervals, and divides time among the parts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "interval.h"

/* Of two events, the event with the earlier time; `one` if the times are equal. */
static smcr_when_t
earlier(smcr_when_t one, smcr_when_t other)
{
    return other.time < one.time ? other : one;
}

/* Of two events, the event with the later time; `one` if the times are equal. */
static smcr_when_t
later(smcr_when_t one, smcr_when_t other)
{
    return other.time > one.time ? other : one;
}

/* ---- adding ---- */

/* Makes sure that the list has memory for one more interval. */
static void
make_room(smcr_interval_list_t *list, wmem_allocator_t *scope)
{
    if (list->length < list->room)
        return;
    list->room = list->room ? 2 * list->room : 1;
    list->entries = wmem_realloc(scope, list->entries, list->room * sizeof *list->entries);
}

/* Number of intervals of the list that end before `time`. Events come mostly in order, so nearly
 * all intervals of the list end before `time`: the search starts at the newest interval. */
static uint32_t
count_before(const smcr_interval_list_t *list, uint64_t time)
{
    uint32_t count = list->length;

    while (count && list->entries[count - 1].end.time >= time)
        count--;
    return count;
}

/* Number of intervals of the list that begin at `time` or earlier. */
static uint32_t
count_begun(const smcr_interval_list_t *list, uint64_t time)
{
    uint32_t count = list->length;

    while (count && list->entries[count - 1].begin.time > time)
        count--;
    return count;
}

/* Adds an interval to the list. If the interval touches or overlaps intervals of the list, they are
 * joined into one interval. An interval whose end is not after its begin is not added. */
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

/* Removes from the list all time before `until`: the intervals that end by then, and the beginning
 * of an interval that lasts longer. */
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

/* `count` is the sum of all lists. Joining may make it smaller. */
void
smcr_intervals_add(smcr_intervals_t *intervals, wmem_allocator_t *scope, smcr_interval_kind_t kind,
                   smcr_interval_t interval)
{
    smcr_interval_list_t *list = &intervals->list[kind];
    uint32_t before = list->length;

    add_to_list(list, scope, interval);
    intervals->count += list->length - before;
}

/* ---- unions ---- */

/* Removes the older half of the list, and adds the length of the removed intervals to `settled`. Of
 * an interval that is added later, the time before the end of this half is not counted; intervals
 * are seldom that late. */
static void
settle_older_half(smcr_interval_union_t *all)
{
    smcr_interval_list_t *list = &all->list;
    uint32_t gone = list->length / 2;

    for (uint32_t i = 0; i < gone; i++)
        all->settled += smcr_interval_length(list->entries[i]);
    if (!all->settled_from.frame)
        all->settled_from = list->entries[0].begin;
    all->until = list->entries[gone - 1].end;
    list->length -= gone;
    memmove(list->entries, list->entries + gone, list->length * sizeof *list->entries);
}

/* Time before `until` goes to `uncounted`: the lower bound stays low, and the upper bound grows. */
void
smcr_interval_union_add(smcr_interval_union_t *all, wmem_allocator_t *scope,
                        smcr_interval_t interval)
{
    smcr_interval_t before = {interval.begin, earlier(interval.end, all->until)};

    all->uncounted += smcr_interval_length(before);
    interval.begin = later(interval.begin, all->until);
    add_to_list(&all->list, scope, interval);
    if (all->list.length > SMCR_INTERVAL_LIST_MOST)
        settle_older_half(all);
}

/* The time of the union up to `cut`, as settled parts. The list of the result is empty. */
static smcr_interval_union_t
settled_up_to(const smcr_interval_union_t *all, smcr_when_t cut)
{
    smcr_interval_union_t part = {.settled_from = all->settled_from, .until = all->until,
                                  .settled = all->settled};

    for (uint32_t i = 0; i < all->list.length; i++) {
        smcr_interval_t interval = all->list.entries[i];
        if (interval.begin.time >= cut.time)
            break;
        interval.end = earlier(interval.end, cut);
        part.settled += smcr_interval_length(interval);
        if (!part.settled_from.frame)
            part.settled_from = interval.begin;
        part.until = interval.end;
    }
    return part;
}

/* Replaces the settled parts of `all` by those of `one` and `other`. The time that may belong to
 * both is at most the overlap of both, from the first to the last part of each; it counts once. */
static void
join_settled(smcr_interval_union_t *all, const smcr_interval_union_t *one,
             const smcr_interval_union_t *other)
{
    if (!one->settled || !other->settled) {
        const smcr_interval_union_t *only = one->settled ? one : other;
        all->settled_from = only->settled_from;
        all->until = only->until;
        all->settled = only->settled;
        return;
    }
    smcr_interval_t overlap = {later(one->settled_from, other->settled_from),
                               earlier(one->until, other->until)};
    uint64_t shorter = MIN(one->settled, other->settled);
    all->settled_from = earlier(one->settled_from, other->settled_from);
    all->until = later(one->until, other->until);
    uint64_t in_both = MIN(smcr_interval_length(overlap), shorter);
    all->settled = one->settled + other->settled - in_both;
    all->uncounted += in_both;
}

/* For the time before its `until`, a union has only a sum. So both unions are reduced to sums up to
 * `cut`, the later one of the two `until`, and the sums are joined. The intervals after `cut` are
 * added one by one. */
void
smcr_interval_union_join(smcr_interval_union_t *all, wmem_allocator_t *scope,
                         const smcr_interval_union_t *from)
{
    smcr_when_t cut = later(all->until, from->until);

    all->uncounted += from->uncounted;
    if (cut.frame) {
        smcr_interval_union_t one = settled_up_to(all, cut), other = settled_up_to(from, cut);
        join_settled(all, &one, &other);
        clip_list(&all->list, cut);
    }
    for (uint32_t i = 0; i < from->list.length; i++) {
        smcr_interval_t interval = from->list.entries[i];
        interval.begin = later(interval.begin, cut);
        smcr_interval_union_add(all, scope, interval);
    }
}

/* Of the parts that were removed from the list, only the total length is known (`settled`). */
uint64_t
smcr_interval_union_length(const smcr_interval_union_t *all)
{
    uint64_t length = all->settled;

    for (uint32_t i = 0; i < all->list.length; i++)
        length += smcr_interval_length(all->list.entries[i]);
    return length;
}

/* Parts that were removed from the list may lie outside of the span. They count in full, so the
 * result is never too low. */
uint64_t
smcr_interval_union_length_most(const smcr_interval_union_t *all, smcr_interval_t span)
{
    uint64_t length = all->settled + all->uncounted;

    for (uint32_t i = 0; i < all->list.length; i++) {
        const smcr_interval_t *each = &all->list.entries[i];
        length += smcr_interval_length((smcr_interval_t){later(each->begin, span.begin),
                                                         earlier(each->end, span.end)});
    }
    return length;
}

/* ---- dividing ---- */

/* A row of `moment_cases`: a moment is charged to `part` if all kinds of `all` hold at this moment,
 * and no kind of `none` holds. */
typedef struct {
    unsigned all;  /* BIT() of each kind that has to hold */
    unsigned none; /* BIT() of each kind that must not hold */
    smcr_interval_part_t part; /* part to which the moment is charged */
} moment_case_t;

/* The bit of a kind of interval, which a moment_case_t tests. */
#define BIT(kind) (1U << SMCR_INTERVAL_##kind)

/* The rules that charge each moment to a part; the first row that fits a moment counts. If no row
 * fits, the part is SMCR_INTERVAL_IS_NOTHING. part_of() first removes PEER_RETRANSMISSION and
 * PEER_NOT_CAPTURED if the writer certainly does not depend on its peer at the moment. The writer
 * and the reader are those of smcr_interval_kind_t. */
static const moment_case_t moment_cases[] = {
    /* The reader has freed space for the writer, and packets of the writer are missing: with a
     * missing packet the writer may have continued, or acknowledged the reader's update. Or the
     * capture is out of order, and the update came before the data. */
    {BIT(FULL) | BIT(UNREAD) | BIT(FREED) | BIT(NOT_CAPTURED), 0, SMCR_INTERVAL_IS_UNKNOWN},
    /* The writer waits for space, and acknowledged data lie unread at the reader. The cause is the
     * reader's program, which does not read the data. It does not matter what the fabric does at
     * this moment. This row does not fit if packets of the reader are missing: a missing packet may
     * have freed space. */
    {BIT(FULL) | BIT(UNREAD), BIT(PEER_NOT_CAPTURED), SMCR_INTERVAL_IS_FULL_READER},
    /* The writer waits for space, and it is not known up to which position the reader has read: the
     * reader may have freed space. */
    {BIT(FULL) | BIT(MAYBE_UNREAD), 0, SMCR_INTERVAL_IS_UNKNOWN},
    /* A packet is retransmitted while the writer waits, or may wait, for space (FULL; NOT_CAPTURED:
     * missing packets may begin a wait). At the same time data lie, or may lie, unread at the
     * reader (UNREAD, MAYBE_UNREAD). So it is not known whether the cause is the retransmission or
     * the reader's program. */
    {BIT(RETRANSMISSION) | BIT(FULL) | BIT(UNREAD), 0, SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(RETRANSMISSION) | BIT(NOT_CAPTURED) | BIT(UNREAD), 0, SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(RETRANSMISSION) | BIT(NOT_CAPTURED) | BIT(MAYBE_UNREAD), 0, SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(PEER_RETRANSMISSION) | BIT(FULL) | BIT(UNREAD), 0, SMCR_INTERVAL_IS_UNKNOWN},
    /* As long as a packet of the writer is retransmitted, the reader takes in no later packet of
     * the writer, so missing packets of the writer do not matter. If only a packet of the peer is
     * retransmitted, it is not known what the missing packets of the writer did. */
    {BIT(PEER_RETRANSMISSION) | BIT(NOT_CAPTURED), BIT(RETRANSMISSION), SMCR_INTERVAL_IS_UNKNOWN},
    /* The retransmission may have been needless: then no side waited for it. */
    {BIT(RETRANSMISSION) | BIT(RETRANSMISSION_IN_DOUBT), BIT(RETRANSMISSION_PROVEN),
     SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(PEER_RETRANSMISSION) | BIT(RETRANSMISSION_IN_DOUBT), BIT(RETRANSMISSION_PROVEN),
     SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(RETRANSMISSION), 0, SMCR_INTERVAL_IS_RETRANSMISSION},
    /* A packet of the peer is retransmitted, and it is not known whether the writer waits for an
     * answer: only a writer that waits for an answer waits for the retransmission. */
    {BIT(PEER_RETRANSMISSION) | BIT(MAYBE_ANSWER), BIT(FULL) | BIT(ANSWER),
     SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(PEER_RETRANSMISSION), 0, SMCR_INTERVAL_IS_RETRANSMISSION},
    /* Packets are missing, or another reason of SMCR_INTERVAL_NOT_CAPTURED holds: it is not known
     * what the writer does, or for what the writer waits. */
    {BIT(NOT_CAPTURED), 0, SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(PEER_NOT_CAPTURED), 0, SMCR_INTERVAL_IS_UNKNOWN},
    /* The writer waits for space, and no unread data are known to lie at the reader: the data, or
     * the reader's update, have not arrived yet. */
    {BIT(FULL), 0, SMCR_INTERVAL_IS_FULL_PATH},
    {BIT(TRANSFER) | BIT(NEEDLESS), 0, SMCR_INTERVAL_IS_NEEDLESS},
    {BIT(TRANSFER), 0, SMCR_INTERVAL_IS_TRANSFER},
    {BIT(MAYBE_TRANSFER) | BIT(TRANSFER_IN_DOUBT), 0, SMCR_INTERVAL_IS_UNKNOWN},
    {BIT(MAYBE_TRANSFER), 0, SMCR_INTERVAL_IS_MAYBE_TRANSFER},
    {BIT(ANSWER), 0, SMCR_INTERVAL_IS_ANSWER},
    {BIT(MAYBE_ANSWER), 0, SMCR_INTERVAL_IS_MAYBE_ANSWER},
};

/* Whether the writer depends, or may depend, on its peer at a moment. `holds`: BIT() of each kind
 * that holds then. The writer depends on its peer in two cases: 1. the writer waits for space; 2.
 * the writer waits, or may wait, for an answer, and no data of the writer are under way. */
static bool
may_depend_on_peer(unsigned holds)
{
    bool is_under_way = (holds & (BIT(TRANSFER) | BIT(MAYBE_TRANSFER))) != 0;
    bool may_await_answer = (holds & (BIT(ANSWER) | BIT(MAYBE_ANSWER))) != 0;

    return (holds & BIT(FULL)) != 0 || (may_await_answer && !is_under_way);
}

/* The part to which a moment is charged: that of the first row of `moment_cases` that fits. A
 * retransmission and missing packets of the peer count only if the writer may depend on its peer.
 * `holds`: BIT() of each kind that holds at this moment. */
static smcr_interval_part_t
part_of(unsigned holds)
{
    if (!may_depend_on_peer(holds))
        holds &= ~(BIT(PEER_RETRANSMISSION) | BIT(PEER_NOT_CAPTURED));
    for (unsigned i = 0; i < G_N_ELEMENTS(moment_cases); i++) {
        const moment_case_t *each = &moment_cases[i];
        if ((holds & each->all) == each->all && !(holds & each->none))
            return each->part;
    }
    return SMCR_INTERVAL_IS_NOTHING;
}

/* Whether an interval of the list holds at `now`. The search begins at interval number `*at`. The
 * function moves `*at` to the first interval that ends after `now`. If the result changes at an
 * event before `*next`, the function sets `*next` to this event. */
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

/* Cuts the span into pieces, at each event at which an interval begins or ends. Calls `sink` with
 * each piece. The whole time of a piece is charged to one part. */
static void
for_each_piece(const smcr_intervals_t *intervals, smcr_interval_t span, smcr_interval_sink_t sink,
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

/* The sums of all pieces so far. Also the current stretches, each of which the next piece may
 * prolong. A stretch is a run of successive pieces that are charged to the same parts. An end frame
 * of 0 means that the last piece belongs to no such stretch. */
typedef struct {
    smcr_interval_division_t division; /* the sums, and the longest stretches so far */
    smcr_interval_t reader;         /* current stretch that may become `longest_reader` of the
                                       division */
    smcr_interval_t full;           /* current stretch that may become `longest_full` */
    smcr_interval_t retransmission; /* current stretch that may become `longest_retransmission` */
    smcr_interval_t transfer;       /* current stretch of transfer; if a wait for space follows, the
                                       writer filled the buffer in it */
} tally_t;

/* Adds the piece to the current stretch, if the whole piece is charged to the parts of the stretch.
 * Otherwise ends the stretch. `share`: time of the piece that is charged to the parts of the
 * stretch, nanoseconds. If the stretch is now longer than `*longest`, the function copies it to
 * `*longest`. */
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

/* Adds the stretch of transfer before the piece to `filling`, if the piece begins a wait for
 * space. */
static void
count_filling(tally_t *counted, const smcr_interval_piece_t *piece)
{
    const uint64_t *share = piece->share;
    smcr_interval_t none = {{0}, {0}};

    if (share[SMCR_INTERVAL_IS_FULL_READER] + share[SMCR_INTERVAL_IS_FULL_PATH])
        counted->division.filling += smcr_interval_length(counted->transfer);
    prolong(&counted->transfer, &none, piece,
            share[SMCR_INTERVAL_IS_TRANSFER] + share[SMCR_INTERVAL_IS_NEEDLESS] +
                share[SMCR_INTERVAL_IS_MAYBE_TRANSFER]);
}

/* Adds the piece to the sums in `data`, a tally_t. */
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
    count_filling(counted, piece);
}

/* ---- settling ---- */

struct smcr_interval_settled {
    tally_t counted; /* sums of all settled pieces; each piece was counted before it was joined with
                        others */
    smcr_interval_piece_t *pieces; /* array of the pieces, in ascending order; each one begins where
                                      the previous one ends */
    uint32_t length;   /* number of pieces in `pieces` */
    uint32_t room;     /* number of pieces for which `pieces` has memory */
    wmem_allocator_t *scope; /* scope of the memory of `pieces` */
};

/* Whether the time of both pieces is charged to the same set of parts. */
static bool
is_same_part(const smcr_interval_piece_t *one, const smcr_interval_piece_t *other)
{
    for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++)
        if ((one->share[part] != 0) != (other->share[part] != 0))
            return false;
    return true;
}

/* Adds the piece `next` to `piece`, which ends where `next` begins. */
static void
join_piece(smcr_interval_piece_t *piece, const smcr_interval_piece_t *next)
{
    piece->interval.end = next->interval.end;
    for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++)
        piece->share[part] += next->share[part];
}

/* Callback of for_each_piece(): adds the piece to the settled pieces in `data`, a
 * smcr_interval_settled_t. If the piece has the same parts as the last settled piece, the two
 * pieces are joined. */
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

/* Length of the piece, nanoseconds, if its begin and end are worth keeping: the whole piece is
 * charged to one of the parts from SMCR_INTERVAL_IS_FULL_PATH on, for example a wait for space. 0
 * for any other piece: idle time, a wait for an answer, a transfer, or a piece of several parts. */
static uint64_t
wait_length(const smcr_interval_piece_t *piece)
{
    uint64_t length = smcr_interval_length(piece->interval);

    for (unsigned part = SMCR_INTERVAL_IS_FULL_PATH; part < SMCR_INTERVAL_PARTS; part++)
        if (piece->share[part] == length)
            return length;
    return 0;
}

/* Finds the two neighbouring pieces whose waits (wait_length()) have the lowest sum. If several
 * pairs have the same sum, the pair with the shortest time counts. Returns the number of the first
 * piece of the pair. */
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

/* Joins neighbouring pieces until the number of pieces is half of SMCR_INTERVAL_SETTLED_MOST. The
 * pieces with the longest waits are joined last. */
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

/* Begin of the first interval that is not settled; time UINT64_MAX: there is none. */
static smcr_when_t
first_begin(const smcr_intervals_t *intervals)
{
    smcr_when_t first = {0, UINT64_MAX};

    for (unsigned kind = 0; kind < SMCR_INTERVAL_KINDS; kind++)
        if (intervals->list[kind].length)
            first = earlier(first, intervals->list[kind].entries[0].begin);
    return first;
}

/* Returns the settled pieces of the writer: its older time, whose division is final. The first call
 * makes the object, without pieces. */
static smcr_interval_settled_t *
make_settled(smcr_intervals_t *intervals, wmem_allocator_t *scope)
{
    if (!intervals->settled) {
        intervals->settled = wmem_new0(scope, smcr_interval_settled_t);
        intervals->settled->scope = scope;
    }
    return intervals->settled;
}

/* The order matters: pieces are gathered before the lists are cut off at `until`, since they need
 * the whole intervals. */
void
smcr_intervals_settle(smcr_intervals_t *intervals, wmem_allocator_t *scope, smcr_when_t until)
{
    if (!smcr_intervals_are_many(intervals))
        return;
    smcr_interval_settled_t *all = make_settled(intervals, scope);
    smcr_when_t from = all->length ? all->pieces[all->length - 1].interval.end
                                   : first_begin(intervals);
    for_each_piece(intervals, (smcr_interval_t){from, until}, gather_piece, all);
    intervals->count = 0;
    for (unsigned kind = 0; kind < SMCR_INTERVAL_KINDS; kind++) {
        clip_list(&intervals->list[kind], until);
        intervals->count += intervals->list[kind].length;
    }
    if (all->length > SMCR_INTERVAL_SETTLED_MOST)
        join_shortest(all);
}

/* ---- what reports ask for ---- */

/* The sums of the settled pieces. The time from `begin` to the first piece is added as
 * SMCR_INTERVAL_IS_NOTHING: the first piece begins with the first interval of the direction. */
static tally_t
count_settled(const smcr_interval_settled_t *settled, smcr_when_t begin)
{
    tally_t counted = settled->counted;
    smcr_interval_t quiet = {begin, settled->pieces[0].interval.begin};

    counted.division.share[SMCR_INTERVAL_IS_NOTHING] += smcr_interval_length(quiet);
    return counted;
}

/* The pieces come in the order of time, without gaps. */
void
smcr_intervals_each_piece(const smcr_intervals_t *intervals, smcr_interval_t span,
                          smcr_interval_sink_t sink, void *data)
{
    const smcr_interval_settled_t *settled = intervals->settled;

    if (settled && settled->length) {
        smcr_interval_piece_t quiet = {.interval = {span.begin,
                                                    settled->pieces[0].interval.begin}};
        quiet.share[SMCR_INTERVAL_IS_NOTHING] = smcr_interval_length(quiet.interval);
        sink(data, &quiet);
        for (uint32_t i = 0; i < settled->length; i++)
            sink(data, &settled->pieces[i]);
        span.begin = settled->pieces[settled->length - 1].interval.end;
    }
    for_each_piece(intervals, span, sink, data);
}

/* The sums of all settled pieces are added first. Then the time after them is divided. */
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
