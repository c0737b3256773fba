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
    {"nothing", {16384, 0}, {0, 0}, {0, 0}, 0},
    {"within a round", {16384, 0}, {3, 100}, {3, 1548}, 1448},
    {"backwards", {16384, 0}, {3, 1548}, {3, 100}, -1448},
    {"over the end", {16384, 0}, {0, 16000}, {1, 616}, 1000},
    {"back over the end", {16384, 0}, {1, 616}, {0, 16000}, -1000},
    {"one whole buffer", {16384, 0}, {0, 0}, {1, 0}, 16384},
    {"one whole buffer in the middle", {16384, 0}, {0, 77}, {1, 77}, 16384},
    {"many rounds", {16384, 0}, {0, 5}, {1000, 5}, 16384000},
    {"eyecatcher", {16384, 4}, {0, 16000}, {1, 620}, 1000},
    {"eyecatcher, one whole buffer", {16384, 4}, {0, 4}, {1, 4}, 16380},
    {"wrap count overflows", {16384, 0}, {65535, 16000}, {0, 616}, 1000},
    {"wrap count overflows, eyecatcher", {16384, 4}, {65535, 16383}, {0, 4}, 1},
    {"back over the overflow", {16384, 0}, {0, 616}, {65535, 16000}, -1000},
    {"as far as can be told", {16384, 0}, {1, 0}, {32768, 0}, INT64_C(32767) * 16384},
    {"farther counts as behind", {16384, 0}, {0, 0}, {32768, 0}, INT64_C(-32768) * 16384},
    {"largest element", {512 * MIB, 0}, {0, 1}, {1, 0}, INT64_C(536870911)},
    {"largest element, many rounds", {512 * MIB, 0}, {65530, 0}, {94, 0}, INT64_C(53687091200)},
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
    {"begin", {16384, 0}, 0, 0, 0},
    {"begin behind the eyecatcher", {16384, 4}, 0, 4, 0},
    {"further on", {16384, 0}, 0, 100, 100},
    {"further on behind the eyecatcher", {16384, 4}, 0, 104, 100},
    {"right here", {16384, 0}, 100, 100, 100},
    {"last byte", {16384, 0}, 100, 16383, 16383},
    {"next round", {16384, 0}, 100, 99, 16384 + 99},
    {"next round, first byte", {16384, 0}, 16384, 0, 16384},
    {"next round behind the eyecatcher", {16384, 4}, 16380, 4, 16380},
    {"a byte back is nearly a round", {16384, 4}, 16381, 4, 2 * 16380},
    {"beyond 4 GiB", {16384, 0}, 5 * GIB, 10, 5 * GIB + 10},
    {"just before 4 GiB", {16384, 0}, 4 * GIB - 1, 0, 4 * GIB},
    {"beyond 4 GiB behind the eyecatcher", {16384, 4}, UINT64_C(16380) * 400000, 14,
     UINT64_C(16380) * 400000 + 10},
    {"largest element", {512 * MIB, 0}, 6 * GIB + 1, 0, 6 * GIB + 512 * MIB},
    {"element not known", {0, 0}, 77, 5, 77},
    {"into the eyecatcher", {16384, 4}, 77, 3, 77},
};

static void
test_next(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);

    g_assert_cmpuint(smcr_ring_next(&nexts[i].ring, nexts[i].position, nexts[i].offset), ==,
                     nexts[i].next);
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
        g_assert_cmpuint(smcr_ring_next(&ring, position, before.count), ==, position);
        cursor.count += step;
        if (cursor.count >= ring.size) {
            cursor.count -= ROOM;
            cursor.wrap++;
        }
        g_assert_cmpint(smcr_ring_distance(&ring, before, cursor), ==, step);
        g_assert_cmpint(smcr_ring_distance(&ring, cursor, before), ==, -(int64_t)step);
        g_assert_cmpuint(smcr_ring_next(&ring, position + 1, cursor.count), ==, position + step);
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
