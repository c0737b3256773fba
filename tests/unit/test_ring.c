/* Arithmetic of RMB elements: cursors against each other, offsets to positions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "state/model/stream.h"

#define MIB UINT32_C(1048576)
#define GIB UINT64_C(1073741824)

static void
test_room(void)
{
    static const struct {
        smcr_ring_t ring;
        uint32_t room;
    } cases[] = {
        {{16384, 0}, 16384}, {{16384, 4}, 16380}, {{512 * MIB, 0}, 512 * MIB},
        {{0, 0}, 0},         {{0, 4}, 0},         {{4, 4}, 0},
        {{5, 4}, 1},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpuint(smcr_ring_room(&cases[i].ring), ==, cases[i].room);
}

static const struct {
    const char *name;
    smcr_ring_t ring;
    smcr_cursor_t from, to;
    int64_t distance;
} distances[] = {
    {.name = "nothing", .ring = {16384, 0}, .from = {0, 0}, .to = {0, 0}},
    {.name = "within a round", .ring = {16384, 0}, .from = {3, 100}, .to = {3, 1548},
     .distance = 1448},
    {.name = "backwards", .ring = {16384, 0}, .from = {3, 1548}, .to = {3, 100}, .distance = -1448},
    {.name = "over the end", .ring = {16384, 0}, .from = {0, 16000}, .to = {1, 616},
     .distance = 1000},
    {.name = "back over the end", .ring = {16384, 0}, .from = {1, 616}, .to = {0, 16000},
     .distance = -1000},
    {.name = "one whole buffer", .ring = {16384, 0}, .from = {0, 0}, .to = {1, 0},
     .distance = 16384},
    {.name = "one whole buffer in the middle", .ring = {16384, 0}, .from = {0, 77}, .to = {1, 77},
     .distance = 16384},
    {.name = "many rounds", .ring = {16384, 0}, .from = {0, 5}, .to = {1000, 5},
     .distance = 16384000},
    {.name = "eyecatcher", .ring = {16384, 4}, .from = {0, 16000}, .to = {1, 620},
     .distance = 1000},
    {.name = "eyecatcher, one whole buffer", .ring = {16384, 4}, .from = {0, 4}, .to = {1, 4},
     .distance = 16380},
    {.name = "wrap count overflows", .ring = {16384, 0}, .from = {65535, 16000}, .to = {0, 616},
     .distance = 1000},
    {.name = "wrap count overflows, eyecatcher", .ring = {16384, 4}, .from = {65535, 16383},
     .to = {0, 4}, .distance = 1},
    {.name = "back over the overflow", .ring = {16384, 0}, .from = {0, 616}, .to = {65535, 16000},
     .distance = -1000},
    {.name = "as far as can be told", .ring = {16384, 0}, .from = {1, 0}, .to = {32768, 0},
     .distance = INT64_C(32767) * 16384},
    {.name = "farther counts as behind", .ring = {16384, 0}, .from = {0, 0}, .to = {32768, 0},
     .distance = INT64_C(-32768) * 16384},
    {.name = "largest element", .ring = {512 * MIB, 0}, .from = {0, 1}, .to = {1, 0},
     .distance = INT64_C(536870911)},
    {.name = "largest element, many rounds", .ring = {512 * MIB, 0}, .from = {65530, 0},
     .to = {94, 0}, .distance = INT64_C(53687091200)},
};

static void
test_distance(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);

    g_assert_cmpint(smcr_ring_distance(&distances[i].ring, distances[i].from, distances[i].to), ==,
                    distances[i].distance);
}

static const struct {
    const char *name;
    smcr_ring_t ring;
    uint64_t position;
    uint32_t offset;
    uint64_t next;
} nexts[] = {
    {.name = "begin", .ring = {16384, 0}},
    {.name = "begin behind the eyecatcher", .ring = {16384, 4}, .offset = 4},
    {.name = "further on", .ring = {16384, 0}, .offset = 100, .next = 100},
    {.name = "further on behind the eyecatcher", .ring = {16384, 4}, .offset = 104, .next = 100},
    {.name = "right here", .ring = {16384, 0}, .position = 100, .offset = 100, .next = 100},
    {.name = "last byte", .ring = {16384, 0}, .position = 100, .offset = 16383, .next = 16383},
    {.name = "next round", .ring = {16384, 0}, .position = 100, .offset = 99, .next = 16384 + 99},
    {.name = "next round, first byte", .ring = {16384, 0}, .position = 16384, .next = 16384},
    {.name = "next round behind the eyecatcher", .ring = {16384, 4}, .position = 16380, .offset = 4,
     .next = 16380},
    {.name = "a byte back is nearly a round", .ring = {16384, 4}, .position = 16381, .offset = 4,
     .next = 2 * 16380},
    {.name = "beyond 4 GiB", .ring = {16384, 0}, .position = 5 * GIB, .offset = 10,
     .next = 5 * GIB + 10},
    {.name = "just before 4 GiB", .ring = {16384, 0}, .position = 4 * GIB - 1, .next = 4 * GIB},
    {.name = "beyond 4 GiB behind the eyecatcher", .ring = {16384, 4},
     .position = UINT64_C(16380) * 400000, .offset = 14, .next = UINT64_C(16380) * 400000 + 10},
    {.name = "largest element", .ring = {512 * MIB, 0}, .position = 6 * GIB + 1,
     .next = 6 * GIB + 512 * MIB},
    {.name = "element not known", .ring = {0, 0}, .position = 77, .offset = 5, .next = 77},
    {.name = "into the eyecatcher", .ring = {16384, 4}, .position = 77, .offset = 3, .next = 77},
};

static void
test_next(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);

    g_assert_cmpuint(smcr_ring_next_position(&nexts[i].ring, nexts[i].position, nexts[i].offset),
                     ==, nexts[i].next);
}

#define ROOM 12

/* A writer fills a small ring again and again: cursor and offset say the same. */
static void
go_round(uint32_t base, uint32_t step)
{
    const smcr_ring_t ring = {ROOM + base, base};
    smcr_cursor_t cursor = {65530, base};
    uint64_t position = 0;

    for (unsigned i = 0; i < 200; i++) {
        smcr_cursor_t before = cursor;
        g_assert_cmpuint(smcr_ring_next_position(&ring, position, before.count), ==, position);
        cursor.count += step;
        if (cursor.count >= ring.size) {
            cursor.count -= ROOM;
            cursor.wrap++;
        }
        g_assert_cmpint(smcr_ring_distance(&ring, before, cursor), ==, step);
        g_assert_cmpint(smcr_ring_distance(&ring, cursor, before), ==, -(int64_t)step);
        g_assert_cmpuint(smcr_ring_next_position(&ring, position + 1, cursor.count), ==,
                         position + step);
        position += step;
    }
}

static void
test_all_wraps(void)
{
    for (uint32_t step = 1; step <= ROOM; step++) {
        go_round(0, step);
        go_round(4, step);
    }
}

static void
add(const char *group, const char *name, unsigned i, GTestDataFunc function)
{
    char *path = g_strdup_printf("/ring/%s/%s", group, name);

    g_test_add_data_func(path, GUINT_TO_POINTER(i), function);
    g_free(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ring/room", test_room);
    for (unsigned i = 0; i < G_N_ELEMENTS(distances); i++)
        add("distance", distances[i].name, i, test_distance);
    for (unsigned i = 0; i < G_N_ELEMENTS(nexts); i++)
        add("next", nexts[i].name, i, test_next);
    g_test_add_func("/ring/all-wraps", test_all_wraps);
    return g_test_run();
}
