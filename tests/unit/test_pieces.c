/* Bytes in the order of the stream, in whatever order they come.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "payload/pieces.h"

#define STREAM "abcdefghijklmnopqrstuvwxyz"
#define STEPS 8

static const struct {
    const char *name;
    struct {
        unsigned from, to; /* of STREAM */
    } steps[STEPS];        /* up to an empty one */
    const char *there;
    unsigned missing;
    unsigned runs;
} cases[] = {
    {.name = "nothing", .steps = {{0, 0}}, .there = ""},
    {.name = "in order", .steps = {{0, 3}, {3, 9}, {9, 10}}, .there = "abcdefghij", .runs = 1},
    {.name = "a hole", .steps = {{0, 3}, {5, 9}}, .there = "abcfghi", .missing = 2, .runs = 2},
    {.name = "the beginning lacks", .steps = {{4, 9}}, .there = "efghi", .missing = 4, .runs = 1},
    {.name = "a hole is filled", .steps = {{0, 3}, {5, 9}, {3, 5}}, .there = "abcdefghi",
     .runs = 1},
    {.name = "a hole is filled in part", .steps = {{0, 3}, {8, 9}, {5, 6}}, .there = "abcfi",
     .missing = 4, .runs = 3},
    {.name = "backwards", .steps = {{9, 12}, {6, 9}, {3, 6}, {0, 3}}, .there = "abcdefghijkl",
     .runs = 1},
    {.name = "backwards with holes", .steps = {{10, 12}, {6, 8}, {2, 4}}, .there = "cdghkl",
     .missing = 6, .runs = 3},
    {.name = "twice", .steps = {{0, 5}, {0, 5}}, .there = "abcde", .runs = 1},
    {.name = "a part again", .steps = {{0, 5}, {2, 4}}, .there = "abcde", .runs = 1},
    {.name = "overlaps at the end", .steps = {{0, 5}, {3, 8}}, .there = "abcdefgh", .runs = 1},
    {.name = "overlaps at the beginning", .steps = {{3, 8}, {0, 5}}, .there = "abcdefgh",
     .runs = 1},
    {.name = "over several holes", .steps = {{2, 4}, {6, 8}, {10, 12}, {0, 14}},
     .there = "abcdefghijklmn", .runs = 1},
    {.name = "from within one to within the next", .steps = {{0, 4}, {8, 12}, {2, 10}},
     .there = "abcdefghijkl", .runs = 1},
};

static void
check(const smcr_pieces_t *pieces, const char *there, uint64_t missing)
{
    g_assert_cmpuint(pieces->length, ==, strlen(there));
    g_assert_true(memcmp(pieces->length ? pieces->bytes : (const uint8_t *)"", there,
                         pieces->length) == 0);
    g_assert_cmpuint(smcr_pieces_missing(pieces), ==, missing);
}

static void
test_add(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    smcr_pieces_t pieces = {.length = 0};

    for (unsigned n = 0; n < STEPS && cases[i].steps[n].to; n++) {
        unsigned from = cases[i].steps[n].from;
        smcr_pieces_add(&pieces, from, (const uint8_t *)STREAM + from,
                        cases[i].steps[n].to - from);
    }
    check(&pieces, cases[i].there, cases[i].missing);
    g_assert_cmpuint(pieces.runs.count, ==, cases[i].runs);
    g_free(pieces.bytes);
    smcr_pieces_end(&pieces);
}

/* What came first stays. */
static void
test_first_stays(void)
{
    smcr_pieces_t pieces = {.length = 0};

    smcr_pieces_add(&pieces, 2, (const uint8_t *)"xx", 2);
    smcr_pieces_add(&pieces, 0, (const uint8_t *)"yyyyy", 5);
    check(&pieces, "yyxxy", 0);
    g_free(pieces.bytes);
    smcr_pieces_end(&pieces);
}

static void
test_reach(void)
{
    const uint64_t far = UINT64_C(5000000000);
    smcr_pieces_t pieces = {.length = 0};

    smcr_pieces_add(&pieces, 0, (const uint8_t *)STREAM, 4);
    smcr_pieces_note_end(&pieces, 3);
    check(&pieces, "abcd", 0);
    smcr_pieces_note_end(&pieces, 10);
    check(&pieces, "abcd", 6);
    smcr_pieces_add(&pieces, 12, NULL, 0);
    check(&pieces, "abcd", 8);
    smcr_pieces_add(&pieces, far, (const uint8_t *)STREAM, 1);
    check(&pieces, "abcda", far - 4);
    g_free(pieces.bytes);
    smcr_pieces_end(&pieces);
}

/* Backwards, a hole between any two: that must not cost the more the more of them there are. */
static void
test_gives_up(void)
{
    enum { PIECE = 1 << 16, COUNT = 1000 };
    uint8_t *bytes = g_malloc0(PIECE);
    smcr_pieces_t pieces = {.length = 0};

    for (uint64_t i = COUNT; i > 0; i--)
        smcr_pieces_add(&pieces, i * 2 * PIECE, bytes, PIECE);
    unsigned taken = pieces.runs.count;
    g_assert_cmpuint(taken, >, COUNT / 10);
    g_assert_cmpuint(taken, <, COUNT / 2);
    uint64_t end = pieces.known_end;
    smcr_pieces_add(&pieces, end - PIECE / 2, bytes, PIECE); /* one half is at the end */
    g_assert_cmpuint(pieces.length, ==, taken * (size_t)PIECE + PIECE / 2);
    g_assert_cmpuint(smcr_pieces_missing(&pieces), ==, end - taken * (uint64_t)PIECE);
    g_free(pieces.bytes);
    g_free(bytes);
    smcr_pieces_end(&pieces);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/pieces/add/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_add);
        g_free(path);
    }
    g_test_add_func("/pieces/first-stays", test_first_stays);
    g_test_add_func("/pieces/reach", test_reach);
    g_test_add_func("/pieces/gives-up", test_gives_up);
    return g_test_run();
}
