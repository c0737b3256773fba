/* Intervals: what is added becomes disjoint lists, and each moment is charged to one part. A reader
 * of its own, which looks at each nanosecond, has the same shares.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "timeline/timeline.h"

#define LATEST 400 /* nanoseconds: events are before that */

static wmem_allocator_t *scope; /* from the beginning of main() to its end */

static smcr_when_t
at(uint64_t time)
{
    return (smcr_when_t){(uint32_t)time + 1, time};
}

static void
add(smcr_intervals_t *intervals, smcr_interval_kind_t kind, uint64_t begin, uint64_t end)
{
    smcr_intervals_add(intervals, scope, kind, (smcr_interval_t){at(begin), at(end)});
}

static void
forget(smcr_intervals_t *intervals)
{
    wmem_free_all(scope);
    *intervals = (smcr_intervals_t){0};
}

/* ---- lists ---- */

static void
test_what_touches_is_one(void)
{
    smcr_intervals_t intervals = {0};
    const smcr_interval_list_t *list = &intervals.list[SMCR_INTERVAL_TRANSFER];

    add(&intervals, SMCR_INTERVAL_TRANSFER, 10, 20);
    add(&intervals, SMCR_INTERVAL_TRANSFER, 30, 40);
    add(&intervals, SMCR_INTERVAL_TRANSFER, 25, 25); /* empty */
    add(&intervals, SMCR_INTERVAL_TRANSFER, 28, 27); /* the clock goes back */
    g_assert_cmpuint(list->length, ==, 2);
    add(&intervals, SMCR_INTERVAL_TRANSFER, 20, 30);
    g_assert_cmpuint(list->length, ==, 1);
    g_assert_cmpuint(list->entries[0].begin.time, ==, 10);
    g_assert_cmpuint(list->entries[0].end.time, ==, 40);
    g_assert_cmpuint(list->entries[0].begin.frame, ==, 11);
    g_assert_cmpuint(list->entries[0].end.frame, ==, 41);
    add(&intervals, SMCR_INTERVAL_TRANSFER, 1, 2);
    add(&intervals, SMCR_INTERVAL_TRANSFER, 5, 6);
    add(&intervals, SMCR_INTERVAL_TRANSFER, 0, 50);
    g_assert_cmpuint(list->length, ==, 1);
    forget(&intervals);
}

/* ---- unions ---- */

/* Intervals in the order of their ends, each of which begins at most 64 ns before its end: more
 * than the list keeps. Each nanosecond in one of them counts. */
static void
test_union_counts_each_moment_once(void)
{
    enum { COUNT = 3000, STEP = 40, MOST = 64 };
    static bool holds[COUNT * STEP + MOST];
    smcr_interval_union_t all = {0};
    uint64_t length = 0;
    GRand *random = g_rand_new_with_seed(1);

    for (unsigned i = 2; i < COUNT; i++) {
        uint64_t end = (uint64_t)i * STEP;
        uint64_t begin = end - (uint64_t)g_rand_int_range(random, 0, MOST);
        smcr_interval_union_add(&all, scope, (smcr_interval_t){at(begin), at(end)});
        memset(holds + begin, true, (size_t)(end - begin));
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(holds); i++)
        length += holds[i];
    g_assert_cmpuint(all.list.length, <=, SMCR_INTERVAL_LIST_MOST);
    g_assert_cmpuint(smcr_interval_union_length(&all), ==, length);
    g_rand_free(random);
    wmem_free_all(scope);
}

/* What the list has no longer is not counted twice, and two unions become one. */
static void
test_unions_are_joined(void)
{
    smcr_interval_union_t all = {0}, other = {0};

    for (unsigned i = 0; i <= SMCR_INTERVAL_LIST_MOST; i++)
        smcr_interval_union_add(&all, scope, (smcr_interval_t){at(10 * i), at(10 * i + 4)});
    uint64_t length = smcr_interval_union_length(&all);
    g_assert_cmpuint(length, ==, 4 * (SMCR_INTERVAL_LIST_MOST + 1));
    smcr_interval_union_add(&all, scope, (smcr_interval_t){at(10), at(14)});
    g_assert_cmpuint(smcr_interval_union_length(&all), ==, length);
    smcr_interval_union_add(&other, scope, (smcr_interval_t){at(5000), at(5050)});
    smcr_interval_union_join(&all, scope, &other);
    g_assert_cmpuint(smcr_interval_union_length(&all), ==, length + 50);
    wmem_free_all(scope);
}

/* Two unions with more intervals than a list keeps. The first one has the intervals from 0 on,
 * 10 ns apart. */
static const struct {
    const char *name;
    uint64_t from;  /* begin of the second union */
    bool is_exact;  /* the length of the joined union is exact; false: a lower bound */
} joined_cases[] = {
    {.name = "the same intervals", .from = 0, .is_exact = true},
    {.name = "intervals between those of the other", .from = 5},
    {.name = "the settled parts overlap a little", .from = 10 * 290 + 5},
    {.name = "one after the other", .from = 10 * 300, .is_exact = true},
    {.name = "one after the other, with a pause", .from = 10 * 600, .is_exact = true},
};

/* A span that no interval of the tests leaves. */
static const smcr_interval_t whole_time = {{1, 0}, {UINT32_MAX, UINT64_MAX}};

static void
test_settled_parts_are_joined(void)
{
    enum { COUNT = 300, LENGTH = 4 };

    for (unsigned i = 0; i < 2 * G_N_ELEMENTS(joined_cases); i++) {
        uint64_t from = joined_cases[i / 2].from;
        bool is_same = from == 0, is_second_first = i % 2;
        smcr_interval_union_t one = {0}, other = {0};
        for (unsigned k = 0; k < COUNT; k++) {
            uint64_t first = 10 * k, second = from + first;
            smcr_interval_union_add(&one, scope, (smcr_interval_t){at(first), at(first + LENGTH)});
            smcr_interval_union_add(&other, scope,
                                    (smcr_interval_t){at(second), at(second + LENGTH)});
        }
        smcr_interval_union_join(is_second_first ? &other : &one, scope,
                                 is_second_first ? &one : &other);
        uint64_t length = smcr_interval_union_length(is_second_first ? &other : &one);
        uint64_t true_length = (is_same ? 1 : 2) * COUNT * LENGTH;
        g_assert_cmpuint(length, <=, true_length);
        g_assert_cmpuint(length, >=, COUNT * LENGTH);
        uint64_t most =
            smcr_interval_union_length_most(is_second_first ? &other : &one, whole_time);
        g_assert_cmpuint(most, >=, true_length);
        g_assert_true(!joined_cases[i / 2].is_exact || length == true_length);
    }
    wmem_free_all(scope);
}

/* An interval with time that is settled already is not counted before the end of the settled parts.
 * The upper bound counts it. */
static void
test_late_interval_has_bounds(void)
{
    enum { COUNT = 300, LENGTH = 4 };
    smcr_interval_union_t all = {0};

    for (unsigned i = 0; i < COUNT; i++)
        smcr_interval_union_add(&all, scope, (smcr_interval_t){at(10 * i), at(10 * i + LENGTH)});
    g_assert_cmpuint(smcr_interval_union_length(&all), ==, COUNT * LENGTH);
    g_assert_cmpuint(smcr_interval_union_length_most(&all, whole_time), ==, COUNT * LENGTH);
    smcr_interval_union_add(&all, scope, (smcr_interval_t){at(0), at(10 * COUNT)});
    g_assert_cmpuint(smcr_interval_union_length(&all), <, 10 * COUNT);
    g_assert_cmpuint(smcr_interval_union_length_most(&all, whole_time), >=, 10 * COUNT);
    smcr_interval_t first_half = {at(0), at(5 * COUNT)};
    g_assert_cmpuint(smcr_interval_union_length_most(&all, first_half), <,
                     smcr_interval_union_length_most(&all, whole_time));
    wmem_free_all(scope);
}

/* ---- each moment has one part ---- */

#define BIT(kind) (1U << SMCR_INTERVAL_##kind)
#define FULL_AND_UNREAD (BIT(FULL) | BIT(UNREAD))

static const struct {
    const char *name;
    unsigned kinds; /* that hold */
    smcr_interval_part_t part;
} moments[] = {
    {.name = "nothing holds", .kinds = 0, .part = SMCR_INTERVAL_IS_NOTHING},
    {.name = "data are under way", .kinds = BIT(TRANSFER), .part = SMCR_INTERVAL_IS_TRANSFER},
    {.name = "unread data, and space for more",
     .kinds = BIT(UNREAD) | BIT(TRANSFER),
     .part = SMCR_INTERVAL_IS_TRANSFER},
    {.name = "the reader does not read",
     .kinds = FULL_AND_UNREAD,
     .part = SMCR_INTERVAL_IS_FULL_READER},
    {.name = "the reader does not read, and packets are retransmitted",
     .kinds = FULL_AND_UNREAD | BIT(RETRANSMISSION) | BIT(TRANSFER),
     .part = SMCR_INTERVAL_IS_FULL_READER},
    {.name = "the reader does not read, and packets of the writer are missing",
     .kinds = FULL_AND_UNREAD | BIT(NOT_CAPTURED),
     .part = SMCR_INTERVAL_IS_FULL_READER},
    {.name = "an update may be missing",
     .kinds = FULL_AND_UNREAD | BIT(PEER_NOT_CAPTURED),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "the update is under way", .kinds = BIT(FULL), .part = SMCR_INTERVAL_IS_FULL_PATH},
    {.name = "the update is retransmitted",
     .kinds = BIT(FULL) | BIT(PEER_RETRANSMISSION),
     .part = SMCR_INTERVAL_IS_RETRANSMISSION},
    {.name = "the peer retransmits what the writer does not wait for",
     .kinds = BIT(TRANSFER) | BIT(PEER_RETRANSMISSION),
     .part = SMCR_INTERVAL_IS_TRANSFER},
    {.name = "the answer is retransmitted",
     .kinds = BIT(ANSWER) | BIT(PEER_RETRANSMISSION),
     .part = SMCR_INTERVAL_IS_RETRANSMISSION},
    {.name = "an answer may be missing",
     .kinds = BIT(ANSWER) | BIT(PEER_NOT_CAPTURED),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "an answer may be missing at the end",
     .kinds = BIT(MAYBE_ANSWER),
     .part = SMCR_INTERVAL_IS_MAYBE_ANSWER},
    {.name = "perhaps the writer waits for an answer, and the peer retransmits",
     .kinds = BIT(MAYBE_ANSWER) | BIT(PEER_RETRANSMISSION),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "packets of the peer are missing, of whom nobody waits",
     .kinds = BIT(PEER_NOT_CAPTURED),
     .part = SMCR_INTERVAL_IS_NOTHING},
    {.name = "perhaps the reader does not read, and the update is retransmitted",
     .kinds = BIT(FULL) | BIT(MAYBE_UNREAD) | BIT(PEER_RETRANSMISSION),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "perhaps the reader does not read, and nothing is retransmitted",
     .kinds = BIT(FULL) | BIT(MAYBE_UNREAD),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "an update may be missing, and a packet is retransmitted",
     .kinds = FULL_AND_UNREAD | BIT(PEER_NOT_CAPTURED) | BIT(RETRANSMISSION),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "perhaps the writer waits for space, and a packet is retransmitted",
     .kinds = BIT(NOT_CAPTURED) | BIT(UNREAD) | BIT(RETRANSMISSION),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "the peer retransmits, and nobody knows what the writer does",
     .kinds = BIT(ANSWER) | BIT(NOT_CAPTURED) | BIT(PEER_RETRANSMISSION),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "a packet is retransmitted, and data are unread of whom nobody waits",
     .kinds = BIT(UNREAD) | BIT(RETRANSMISSION),
     .part = SMCR_INTERVAL_IS_RETRANSMISSION},
    {.name = "a retransmission is proven, since nothing is unread",
     .kinds = BIT(RETRANSMISSION) | BIT(NOT_CAPTURED),
     .part = SMCR_INTERVAL_IS_RETRANSMISSION},
    {.name = "the retransmitted packet may have been acknowledged before",
     .kinds = BIT(RETRANSMISSION) | BIT(RETRANSMISSION_IN_DOUBT) | BIT(TRANSFER),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "the same, and another retransmission is proven",
     .kinds = BIT(RETRANSMISSION) | BIT(RETRANSMISSION_IN_DOUBT) | BIT(RETRANSMISSION_PROVEN),
     .part = SMCR_INTERVAL_IS_RETRANSMISSION},
    {.name = "the answer is retransmitted, and may have been acknowledged before",
     .kinds = BIT(ANSWER) | BIT(PEER_RETRANSMISSION) | BIT(RETRANSMISSION_IN_DOUBT),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "data are retransmitted without need",
     .kinds = BIT(TRANSFER) | BIT(NEEDLESS),
     .part = SMCR_INTERVAL_IS_NEEDLESS},
    {.name = "a message is retransmitted without need, and no data are under way",
     .kinds = BIT(NEEDLESS) | BIT(ANSWER),
     .part = SMCR_INTERVAL_IS_ANSWER},
    {.name = "one packet is retransmitted without need, another one is needed",
     .kinds = BIT(TRANSFER) | BIT(NEEDLESS) | BIT(RETRANSMISSION),
     .part = SMCR_INTERVAL_IS_RETRANSMISSION},
    {.name = "the writer waits for space, and retransmits without need",
     .kinds = BIT(FULL) | BIT(TRANSFER) | BIT(NEEDLESS),
     .part = SMCR_INTERVAL_IS_FULL_PATH},
    {.name = "perhaps the writer has continued after the update",
     .kinds = FULL_AND_UNREAD | BIT(FREED) | BIT(NOT_CAPTURED),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "the update is under way, and the reader does not read the rest",
     .kinds = FULL_AND_UNREAD | BIT(FREED),
     .part = SMCR_INTERVAL_IS_FULL_READER},
    {.name = "packets of the writer are missing",
     .kinds = BIT(NOT_CAPTURED) | BIT(TRANSFER),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "the answer comes while data are under way",
     .kinds = BIT(ANSWER) | BIT(TRANSFER),
     .part = SMCR_INTERVAL_IS_TRANSFER},
    {.name = "an acknowledgement may be missing, where packets are",
     .kinds = BIT(MAYBE_TRANSFER) | BIT(TRANSFER_IN_DOUBT),
     .part = SMCR_INTERVAL_IS_UNKNOWN},
    {.name = "an acknowledgement may be missing",
     .kinds = BIT(ANSWER) | BIT(MAYBE_TRANSFER) | BIT(PEER_RETRANSMISSION),
     .part = SMCR_INTERVAL_IS_MAYBE_TRANSFER},
    {.name = "an acknowledgement may be missing, and later data are under way",
     .kinds = BIT(TRANSFER) | BIT(MAYBE_TRANSFER),
     .part = SMCR_INTERVAL_IS_TRANSFER},
    {.name = "the peer answers", .kinds = BIT(ANSWER), .part = SMCR_INTERVAL_IS_ANSWER},
};

static void
test_each_moment_has_one_part(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(moments); i++) {
        smcr_intervals_t intervals = {0};

        for (unsigned kind = 0; kind < SMCR_INTERVAL_KINDS; kind++)
            if (moments[i].kinds & 1U << kind)
                add(&intervals, (smcr_interval_kind_t)kind, 10, 20);
        smcr_interval_division_t found =
            smcr_intervals_divide(&intervals, (smcr_interval_t){at(10), at(20)});
        for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++)
            if (found.share[part] != (part == moments[i].part ? 10 : 0))
                g_error("%s: part %u has %u", moments[i].name, part, (unsigned)found.share[part]);
        forget(&intervals);
    }
}

/* ---- a reader of its own ---- */

/* What holds at each nanosecond. */
typedef struct {
    unsigned holds[LATEST];
} moments_t;

static smcr_interval_part_t
expected_part(unsigned holds)
{
    bool waits = holds & BIT(FULL);
    bool is_under_way = holds & (BIT(TRANSFER) | BIT(MAYBE_TRANSFER));
    bool asks = holds & BIT(ANSWER) && !is_under_way;
    bool may_ask = holds & (BIT(ANSWER) | BIT(MAYBE_ANSWER)) && !is_under_way;
    unsigned peer = BIT(PEER_RETRANSMISSION) | BIT(PEER_NOT_CAPTURED);
    unsigned counts = waits || may_ask ? holds : holds & ~peer; /* else the peer delays nobody */

    bool may_go_on = holds & BIT(FREED) && holds & BIT(NOT_CAPTURED);
    if (waits && holds & BIT(UNREAD) && !(holds & BIT(PEER_NOT_CAPTURED)))
        return may_go_on ? SMCR_INTERVAL_IS_UNKNOWN : SMCR_INTERVAL_IS_FULL_READER;
    if (waits && holds & BIT(MAYBE_UNREAD))
        return SMCR_INTERVAL_IS_UNKNOWN;
    bool is_retransmitted = counts & (BIT(RETRANSMISSION) | BIT(PEER_RETRANSMISSION));
    bool may_be_reader = holds & (BIT(FULL) | BIT(NOT_CAPTURED)) &&
                         holds & (BIT(UNREAD) | BIT(MAYBE_UNREAD));
    may_be_reader |= !(holds & BIT(RETRANSMISSION)) && holds & BIT(NOT_CAPTURED);
    bool may_delay_nobody = !(holds & (BIT(RETRANSMISSION) | BIT(FULL) | BIT(ANSWER)));
    bool may_be_needless =
        holds & BIT(RETRANSMISSION_IN_DOUBT) && !(holds & BIT(RETRANSMISSION_PROVEN));
    if (is_retransmitted && !may_be_reader && !may_be_needless && !may_delay_nobody)
        return SMCR_INTERVAL_IS_RETRANSMISSION;
    if (is_retransmitted)
        return SMCR_INTERVAL_IS_UNKNOWN;
    if (counts & (BIT(NOT_CAPTURED) | BIT(PEER_NOT_CAPTURED)))
        return SMCR_INTERVAL_IS_UNKNOWN;
    if (waits)
        return SMCR_INTERVAL_IS_FULL_PATH;
    if (holds & BIT(TRANSFER))
        return holds & BIT(NEEDLESS) ? SMCR_INTERVAL_IS_NEEDLESS : SMCR_INTERVAL_IS_TRANSFER;
    if (holds & BIT(MAYBE_TRANSFER))
        return holds & BIT(TRANSFER_IN_DOUBT) ? SMCR_INTERVAL_IS_UNKNOWN
                                              : SMCR_INTERVAL_IS_MAYBE_TRANSFER;
    if (asks)
        return SMCR_INTERVAL_IS_ANSWER;
    return may_ask ? SMCR_INTERVAL_IS_MAYBE_ANSWER : SMCR_INTERVAL_IS_NOTHING;
}

static void
add_random(GRand *random, smcr_intervals_t *intervals, moments_t *moments_of, uint64_t from,
           uint64_t until)
{
    int kind = g_rand_int_range(random, 0, SMCR_INTERVAL_KINDS);
    uint64_t begin = (uint64_t)g_rand_int_range(random, (gint32)from, (gint32)until);
    uint64_t length = (uint64_t)g_rand_int_range(random, 0, 12);
    uint64_t end = MIN(until, begin + length);

    add(intervals, (smcr_interval_kind_t)kind, begin, end);
    for (uint64_t time = begin; time < end; time++)
        moments_of->holds[time] |= 1U << kind;
}

/* The shares of both agree, whether what is old was settled or not. */
static void
check_against_moments(const smcr_intervals_t *intervals, const moments_t *moments_of)
{
    smcr_interval_division_t found =
        smcr_intervals_divide(intervals, (smcr_interval_t){at(0), at(LATEST - 1)});
    uint64_t share[SMCR_INTERVAL_PARTS] = {0};

    for (unsigned time = 0; time < LATEST - 1; time++)
        share[expected_part(moments_of->holds[time])]++;
    for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++)
        g_assert_cmpuint(found.share[part], ==, share[part]);
}

static void
test_against_each_nanosecond(void)
{
    GRand *random = g_rand_new_with_seed(7609);

    for (unsigned round = 0; round < 20; round++) {
        smcr_intervals_t intervals = {0};
        moments_t moments_of = {0};

        for (unsigned i = 0; i < 60; i++)
            add_random(random, &intervals, &moments_of, 0, LATEST - 1);
        check_against_moments(&intervals, &moments_of);
        forget(&intervals);
    }
    g_rand_free(random);
}

/* Many short intervals, in their order: what is old is settled, and joined. */
static void
test_settled_shares_stay(void)
{
    GRand *random = g_rand_new_with_seed(1);

    for (unsigned round = 0; round < 10; round++) {
        smcr_intervals_t intervals = {0};
        moments_t moments_of = {0};

        for (uint64_t from = 0; from + 20 < LATEST; from += 4) {
            for (unsigned i = 0; i < 12; i++)
                add_random(random, &intervals, &moments_of, from, from + 20);
            smcr_intervals_settle(&intervals, scope, at(from + 4));
        }
        g_assert_nonnull(intervals.settled);
        check_against_moments(&intervals, &moments_of);
        forget(&intervals);
    }
    g_rand_free(random);
}

/* However many short waits there are, the long one keeps its begin and its end, and the times in
 * which the buffer was filled add up. */
static void
test_long_waits_stay(void)
{
    smcr_intervals_t intervals = {0};

    for (uint64_t time = 1000; time < 2000000; time += 1000) {
        uint64_t length = time == 500000 ? 900 : 10;
        add(&intervals, SMCR_INTERVAL_TRANSFER, time - 5, time + 3);
        add(&intervals, SMCR_INTERVAL_TRANSFER, time + 950, time + 955); /* no wait follows */
        add(&intervals, SMCR_INTERVAL_FULL, time, time + length);
        add(&intervals, SMCR_INTERVAL_UNREAD, time + 1, time + length);
        smcr_intervals_settle(&intervals, scope, at(time));
    }
    smcr_interval_division_t found =
        smcr_intervals_divide(&intervals, (smcr_interval_t){at(0), at(2000000)});
    g_assert_cmpuint(found.share[SMCR_INTERVAL_IS_FULL_PATH], ==, 1999);
    g_assert_cmpuint(found.share[SMCR_INTERVAL_IS_FULL_READER], ==, 1998 * 9 + 899);
    g_assert_cmpuint(found.longest_reader.begin.time, ==, 500001);
    g_assert_cmpuint(found.longest_reader.end.time, ==, 500900);
    g_assert_cmpuint(found.longest_full.begin.frame, ==, 500001);
    g_assert_cmpuint(found.filling, ==, 1999 * 5);
    forget(&intervals);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    g_test_add_func("/interval/what-touches-is-one", test_what_touches_is_one);
    g_test_add_func("/interval/union-counts-each-moment-once",
                    test_union_counts_each_moment_once);
    g_test_add_func("/interval/unions-are-joined", test_unions_are_joined);
    g_test_add_func("/interval/settled-parts-are-joined", test_settled_parts_are_joined);
    g_test_add_func("/interval/late-interval-has-bounds", test_late_interval_has_bounds);
    g_test_add_func("/interval/each-moment-has-one-part", test_each_moment_has_one_part);
    g_test_add_func("/interval/against-each-nanosecond", test_against_each_nanosecond);
    g_test_add_func("/interval/settled-shares-stay", test_settled_shares_stay);
    g_test_add_func("/interval/long-waits-stay", test_long_waits_stay);
    int status = g_test_run();
    wmem_destroy_allocator(scope);
    return status;
}
