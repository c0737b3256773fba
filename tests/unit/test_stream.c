/* The byte stream of one direction: requests find their place in it, cursors move along it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "state/model/stream.h"

#define SIZE 16384
#define NO_PLACE (-1)
#define GIB UINT64_C(1073741824)

enum { END, WRITE, WRITE_UNSURE, WRITE_NOT_READ, WRITE_EARLY, PROD, CONS, MOVE };

/* One thing that happens, and what becomes of it. */
typedef struct {
    int what;           /* WRITE_UNSURE: after a failover in which packets may be missing;
                         * WRITE_NOT_READ: messages of the reader may be;
                         * WRITE_EARLY: messages of the reader may have come too early */
    uint32_t a, b;      /* WRITE: offset, length; PROD and CONS: wrap, count */
    int64_t result;     /* WRITE: position, NO_PLACE: not known; PROD and CONS: bytes */
    uint32_t rewritten; /* WRITE */
    uint64_t gap;       /* WRITE */
} step_t;

static const struct {
    const char *name;
    uint32_t base;
    step_t steps[14];
} cases[] = {
    {.name = "one after the other",
     .steps = {{.what = WRITE, .b = 100}, {.what = PROD, .b = 100, .result = 100},
               {.what = WRITE, .a = 100, .b = 50, .result = 100},
               {.what = WRITE, .a = 150, .b = 1, .result = 150},
               {.what = PROD, .b = 151, .result = 51}, {.what = CONS, .b = 151, .result = 151}}},
    {.name = "wrap in two requests",
     .steps = {{.what = WRITE, .b = 16000}, {.what = PROD, .b = 16000, .result = 16000},
               {.what = CONS, .b = 16000, .result = 16000},
               {.what = WRITE, .a = 16000, .b = 384, .result = 16000},
               {.what = WRITE, .b = 616, .result = 16384},
               {.what = PROD, .a = 1, .b = 616, .result = 1000}}},
    {.name = "wrap behind the eyecatcher", .base = 4,
     .steps = {{.what = WRITE, .a = 4, .b = 16000}, {.what = PROD, .b = 16004, .result = 16000},
               {.what = CONS, .b = 16004, .result = 16000},
               {.what = WRITE, .a = 16004, .b = 380, .result = 16000},
               {.what = WRITE, .a = 4, .b = 620, .result = 16380},
               {.what = PROD, .a = 1, .b = 624, .result = 1000}}},
    {.name = "full window",
     .steps = {{.what = WRITE, .b = SIZE}, {.what = PROD, .a = 1, .result = SIZE},
               {.what = CONS, .a = 1, .result = SIZE}, {.what = WRITE, .b = SIZE, .result = SIZE},
               {.what = PROD, .a = 2, .result = SIZE}, {.what = CONS, .a = 1, .b = 1, .result = 1},
               {.what = WRITE, .b = 1, .result = 2 * SIZE},
               {.what = PROD, .a = 2, .b = 1, .result = 1}}},
    {.name = "full window behind the eyecatcher", .base = 4,
     .steps = {{.what = WRITE, .a = 4, .b = 16380}, {.what = PROD, .a = 1, .b = 4, .result = 16380},
               {.what = CONS, .a = 1, .b = 4, .result = 16380},
               {.what = WRITE, .a = 4, .b = 16380, .result = 16380}}},
    {.name = "full window from the middle",
     .steps = {{.what = WRITE, .b = 1000}, {.what = PROD, .b = 1000, .result = 1000},
               {.what = CONS, .b = 1000, .result = 1000},
               {.what = WRITE, .a = 1000, .b = 15384, .result = 1000},
               {.what = WRITE, .b = 1000, .result = SIZE},
               {.what = PROD, .a = 1, .b = 1000, .result = SIZE}}},
    {.name = "WRITE missing before a CDC message",
     .steps = {{.what = PROD, .b = 300, .result = 300}, {.what = CONS, .b = 300, .result = 300},
               {.what = WRITE, .a = 300, .b = 10, .result = 300, .gap = 300}}},
    {.name = "missing WRITE",
     .steps = {{.what = WRITE, .b = 100}, {.what = PROD, .b = 100, .result = 100},
               {.what = PROD, .b = 500, .result = 400},
               {.what = WRITE, .a = 500, .b = 100, .result = 500, .gap = 400},
               {.what = WRITE, .a = 600, .b = 100, .result = 600}}},
    {.name = "missing WRITE over the end",
     .steps = {{.what = WRITE, .b = 16000}, {.what = PROD, .b = 16000, .result = 16000},
               {.what = CONS, .b = 16000, .result = 16000},
               {.what = WRITE, .a = 100, .b = 50, .result = 16484, .gap = 484},
               {.what = WRITE, .a = 150, .b = 50, .result = 16534}}},
    {.name = "missing WRITE that came after all",
     .steps = {{.what = WRITE, .b = 100},
               {.what = WRITE, .a = 200, .b = 100, .result = 200, .gap = 100},
               {.what = PROD, .b = 300, .result = 300},
               {.what = WRITE, .a = 300, .b = 10, .result = 300}}},
    {.name = "rounds missing, the reader's cursor tells",
     .steps = {{.what = WRITE, .b = 100}, {.what = PROD, .b = 100, .result = 100},
               {.what = CONS, .a = 7, .b = 500, .result = 7 * SIZE + 500},
               {.what = WRITE, .a = 500, .b = 100, .result = 7 * SIZE + 500, .gap = 7 * SIZE + 400},
               {.what = WRITE, .a = 600, .b = 10, .result = 7 * SIZE + 600}}},
    {.name = "the reader's cursor came too early",
     .steps = {{.what = WRITE, .b = 300}, {.what = PROD, .b = 300, .result = 300},
               {.what = CONS, .b = 370, .result = 370},
               {.what = WRITE_EARLY, .a = 300, .b = 70, .result = 300}}},
    {.name = "rounds missing, the writer's cursor tells",
     .steps = {{.what = WRITE, .b = 100},
               {.what = PROD, .a = 7, .b = 500, .result = 7 * SIZE + 500},
               {.what = WRITE, .a = 500, .b = 100, .result = 7 * SIZE + 500,
                .gap = 7 * SIZE + 400}}},
    {.name = "duplicate",
     .steps = {{.what = WRITE, .b = 100}, {.what = MOVE},
               {.what = WRITE, .b = 100, .rewritten = 100},
               {.what = WRITE, .b = 100, .rewritten = 100},
               {.what = WRITE, .a = 100, .b = 100, .result = 100}}},
    {.name = "failover, written again in one",
     .steps = {{.what = WRITE, .b = 100}, {.what = WRITE, .a = 100, .b = 200, .result = 100},
               {.what = MOVE}, {.what = WRITE, .b = 300, .rewritten = 300},
               {.what = WRITE, .a = 300, .b = 10, .result = 300}}},
    {.name = "failover, written again and more",
     .steps = {{.what = WRITE, .b = 300}, {.what = MOVE},
               {.what = WRITE, .a = 200, .b = 300, .result = 200, .rewritten = 100},
               {.what = WRITE, .a = 500, .b = 10, .result = 500}}},
    {.name = "failover, nothing written again",
     .steps = {{.what = WRITE, .b = 300}, {.what = MOVE},
               {.what = WRITE, .a = 300, .b = 10, .result = 300},
               {.what = WRITE, .a = 310, .b = 10, .result = 310}}},
    {.name = "failover, written again over the end",
     .steps = {{.what = WRITE, .b = 16000}, {.what = PROD, .b = 16000, .result = 16000},
               {.what = CONS, .b = 16000, .result = 16000},
               {.what = WRITE, .a = 16000, .b = 384, .result = 16000},
               {.what = WRITE, .b = 616, .result = SIZE}, {.what = MOVE},
               {.what = WRITE, .a = 16000, .b = 384, .result = 16000, .rewritten = 384},
               {.what = WRITE, .b = 616, .result = SIZE, .rewritten = 616},
               {.what = WRITE, .a = 616, .b = 84, .result = 17000}}},
    {.name = "failover, read before it was written again",
     .steps = {{.what = WRITE, .b = 1000}, {.what = PROD, .b = 1000, .result = 1000},
               {.what = CONS, .b = 1000, .result = 1000}, {.what = MOVE},
               {.what = WRITE, .a = 500, .b = 500, .result = 500, .rewritten = 500},
               {.what = WRITE, .a = 1000, .b = 1, .result = 1000}}},
    {.name = "failover, packets missing, the stream goes on",
     .steps = {{.what = WRITE, .b = 1000}, {.what = PROD, .b = 1000, .result = 1000},
               {.what = CONS, .b = 1000, .result = 1000}, {.what = MOVE},
               {.what = WRITE_UNSURE, .a = 2000, .b = 500, .result = 2000, .gap = 1000}}},
    {.name = "failover, packets missing, in the next round or again",
     .steps = {{.what = WRITE, .b = 1000}, {.what = PROD, .b = 1000, .result = 1000},
               {.what = CONS, .b = 1000, .result = 1000}, {.what = MOVE},
               {.what = WRITE_UNSURE, .a = 500, .b = 500, .result = NO_PLACE}}},
    {.name = "failover, messages of the reader missing, goes on or again",
     .steps = {{.what = WRITE, .b = SIZE}, {.what = PROD, .a = 1, .result = SIZE}, {.what = MOVE},
               {.what = WRITE_NOT_READ, .b = 10, .result = NO_PLACE}}},
    {.name = "failover, messages of the reader missing, in the first round",
     .steps = {{.what = WRITE, .b = 1000}, {.what = PROD, .b = 1000, .result = 1000},
               {.what = MOVE}, {.what = WRITE_NOT_READ, .a = 1000, .b = 10, .result = 1000}}},
    {.name = "failover, packets missing, no room for the next round",
     .steps = {{.what = WRITE, .b = 1000}, {.what = PROD, .b = 1000, .result = 1000},
               {.what = MOVE},
               {.what = WRITE_UNSURE, .a = 500, .b = 500, .result = 500, .rewritten = 500}}},
    {.name = "failover, full window written again",
     .steps = {{.what = WRITE, .b = SIZE}, {.what = PROD, .a = 1, .result = SIZE}, {.what = MOVE},
               {.what = WRITE, .b = SIZE, .rewritten = SIZE},
               {.what = CONS, .a = 1, .result = SIZE}, {.what = WRITE, .b = 10, .result = SIZE}}},
    {.name = "failover, full window, then new data",
     .steps = {{.what = WRITE, .b = SIZE}, {.what = PROD, .a = 1, .result = SIZE},
               {.what = CONS, .a = 1, .result = SIZE}, {.what = MOVE},
               {.what = WRITE, .b = SIZE, .result = SIZE}}},
    {.name = "no room for it, no failover: the reader's cursor is missing",
     .steps = {{.what = WRITE, .b = SIZE}, {.what = PROD, .a = 1, .result = SIZE},
               {.what = WRITE, .a = 100, .b = 50, .result = SIZE + 100, .gap = 100}}},
    {.name = "cursors go back",
     .steps = {{.what = WRITE, .b = 500}, {.what = PROD, .b = 500, .result = 500},
               {.what = PROD, .b = 400, .result = -100}, {.what = CONS, .b = 300, .result = 300},
               {.what = CONS, .b = 299, .result = -1}, {.what = PROD, .b = 500},
               {.what = CONS, .b = 500, .result = 200}}},
};

static void
play(smcr_stream_t *stream, const step_t *step)
{
    smcr_cursor_t cursor = {(uint16_t)step->a, step->b};

    if (step->what == MOVE) {
        stream->may_rewrite = true;
    } else if (step->what == PROD) {
        g_assert_cmpint(smcr_stream_announce(stream, cursor), ==, step->result);
    } else if (step->what == CONS) {
        g_assert_cmpint(smcr_stream_consume(stream, cursor), ==, step->result);
    } else {
        uint64_t position;
        smcr_stream_unseen_t unseen = {.bytes = stream->may_rewrite ? 0 : 4096,
                                       .reads_missing = step->what == WRITE_NOT_READ,
                                       .reads_early = step->what == WRITE_EARLY};
        if (step->what == WRITE_UNSURE)
            unseen.bytes = UINT64_MAX;
        bool known = smcr_stream_locate(stream, (smcr_stream_extent_t){step->a, step->b}, unseen,
                                        &position);
        g_assert_cmpint(known, ==, step->result != NO_PLACE);
        if (!known)
            return;
        g_assert_cmpuint(position, ==, (uint64_t)step->result);
        smcr_stream_range_t piece = smcr_stream_write(stream, position, step->b);
        g_assert_true(piece.known);
        g_assert_cmpuint(piece.position, ==, position);
        g_assert_cmpuint(piece.rewritten, ==, step->rewritten);
        g_assert_cmpuint(piece.gap, ==, step->gap);
    }
}

static void
test_case(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    smcr_stream_t stream;

    smcr_stream_start(&stream, SIZE, cases[i].base);
    g_assert_true(stream.positions_known);
    for (const step_t *step = cases[i].steps; step->what != END; step++)
        play(&stream, step);
}

/* Writes of all kinds of lengths go round and round until positions no longer fit into 32 bits
 * and the wrap count has begun anew. */
static void
long_stream(uint32_t base)
{
    const uint32_t size = 1 << 17;
    const uint32_t room = size - base;
    smcr_stream_t stream;
    smcr_cursor_t cursor = {0, base};
    uint64_t position = 0;

    smcr_stream_start(&stream, size, base);
    for (uint32_t i = 0; position < 9 * GIB; i++) {
        uint32_t length = MIN(1 + i * 7919 % 50000, size - cursor.count);
        uint64_t located;
        g_assert_true(smcr_stream_locate(&stream, (smcr_stream_extent_t){cursor.count, length},
                                         (smcr_stream_unseen_t){0}, &located));
        g_assert_cmpuint(located, ==, position);
        smcr_stream_range_t piece = smcr_stream_write(&stream, position, length);
        g_assert_cmpuint(piece.gap + piece.rewritten, ==, 0);
        position += length;
        cursor.count += length;
        if (cursor.count == size)
            cursor = (smcr_cursor_t){(uint16_t)(cursor.wrap + 1), base};
        g_assert_cmpint(smcr_stream_announce(&stream, cursor), ==, length);
        g_assert_cmpuint(smcr_stream_free(&stream), ==, room - length);
        g_assert_cmpint(smcr_stream_consume(&stream, cursor), ==, length);
        g_assert_cmpuint(stream.announced, ==, position);
        g_assert_cmpuint(stream.consumed, ==, position);
    }
    g_assert_cmpuint(position / room, >, 65536);
}

static void
test_long_stream(void)
{
    long_stream(0);
    long_stream(4);
}

static void
test_space(void)
{
    smcr_stream_t stream;

    smcr_stream_start(&stream, SIZE, 4);
    g_assert_cmpuint(smcr_stream_unread(&stream), ==, 0);
    g_assert_cmpuint(smcr_stream_free(&stream), ==, 16380);
    smcr_stream_announce(&stream, (smcr_cursor_t){0, 1004});
    g_assert_cmpuint(smcr_stream_unread(&stream), ==, 1000);
    g_assert_cmpuint(smcr_stream_free(&stream), ==, 15380);
    smcr_stream_announce(&stream, (smcr_cursor_t){1, 4});
    g_assert_cmpuint(smcr_stream_unread(&stream), ==, 16380);
    g_assert_cmpuint(smcr_stream_free(&stream), ==, 0);
    smcr_stream_announce(&stream, (smcr_cursor_t){1, 14}); /* more than there is room for */
    g_assert_cmpuint(smcr_stream_free(&stream), ==, 0);
    smcr_stream_consume(&stream, (smcr_cursor_t){1, 20}); /* more than was announced */
    g_assert_cmpuint(smcr_stream_unread(&stream), ==, 0);
    g_assert_cmpuint(smcr_stream_free(&stream), ==, 16380);
}

static void
test_element_not_known(void)
{
    smcr_stream_t stream;

    smcr_stream_start(&stream, 0, 0);
    g_assert_false(stream.positions_known);
    smcr_stream_start(&stream, 4, 4);
    g_assert_false(stream.positions_known);
}

/* A host reports the cursors of a connection that began before the capture. The wrap count begins
 * anew between the two cursors, and again later. */
static void
test_told(void)
{
    const smcr_ring_t ring = {SIZE, 4};
    const uint32_t room = SIZE - 4;
    uint64_t position;
    smcr_stream_t stream;

    smcr_stream_start(&stream, 0, 4);
    smcr_stream_start_told(&stream, ring, (smcr_cursor_t){0, 104},
                           (smcr_cursor_t){UINT16_MAX, SIZE - 100});
    g_assert_cmpuint(smcr_stream_unread(&stream), ==, 200);
    g_assert_cmpuint(smcr_stream_free(&stream), ==, room - 200);
    g_assert_true(
        smcr_stream_position_before(&stream, (smcr_cursor_t){0, 204}, 150, &position));
    g_assert_cmpuint(position, ==, stream.announced - 50);
    /* a cursor of the round before the one in which the stream started, and one of it */
    g_assert_false(smcr_stream_position_before_start(
        &stream, (smcr_cursor_t){UINT16_MAX, SIZE - 50}, 10, &position));
    g_assert_true(
        smcr_stream_position_before_start(&stream, (smcr_cursor_t){0, 54}, 10, &position));
    g_assert_cmpuint(position, ==, 40);

    smcr_stream_start(&stream, 0, 4);
    smcr_stream_start_told(&stream, ring, (smcr_cursor_t){3, 104}, (smcr_cursor_t){0});
    g_assert_cmpuint(stream.consumed, ==, 0);
    g_assert_cmpint(smcr_stream_consume(&stream, (smcr_cursor_t){0, 14}), ==, 10);
    for (unsigned round = 4; round < 70004; round++)
        smcr_stream_announce(&stream, (smcr_cursor_t){(uint16_t)round, 104});
    g_assert_cmpuint(stream.announced, ==, UINT64_C(70003) * room + 100);
    g_assert_true(smcr_stream_position_before(
        &stream, (smcr_cursor_t){(uint16_t)70003, 104}, 100, &position));
    g_assert_cmpuint(position, ==, UINT64_C(70003) * room);
    g_assert_true(
        smcr_stream_position_before_start(&stream, (smcr_cursor_t){2, 104}, 100, &position));
    g_assert_cmpuint(position, ==, 2 * room);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/stream/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    g_test_add_func("/stream/long", test_long_stream);
    g_test_add_func("/stream/space", test_space);
    g_test_add_func("/stream/element-not-known", test_element_not_known);
    g_test_add_func("/stream/told", test_told);
    return g_test_run();
}
