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
    {"one after the other", 0,
     {{WRITE, 0, 100, 0, 0, 0}, {PROD, 0, 100, 100, 0, 0}, {WRITE, 100, 50, 100, 0, 0},
      {WRITE, 150, 1, 150, 0, 0}, {PROD, 0, 151, 51, 0, 0}, {CONS, 0, 151, 151, 0, 0}}},
    {"wrap in two requests", 0,
     {{WRITE, 0, 16000, 0, 0, 0}, {PROD, 0, 16000, 16000, 0, 0}, {CONS, 0, 16000, 16000, 0, 0},
      {WRITE, 16000, 384, 16000, 0, 0}, {WRITE, 0, 616, 16384, 0, 0},
      {PROD, 1, 616, 1000, 0, 0}}},
    {"wrap behind the eyecatcher", 4,
     {{WRITE, 4, 16000, 0, 0, 0}, {PROD, 0, 16004, 16000, 0, 0}, {CONS, 0, 16004, 16000, 0, 0},
      {WRITE, 16004, 380, 16000, 0, 0}, {WRITE, 4, 620, 16380, 0, 0},
      {PROD, 1, 624, 1000, 0, 0}}},
    {"full window", 0,
     {{WRITE, 0, SIZE, 0, 0, 0}, {PROD, 1, 0, SIZE, 0, 0}, {CONS, 1, 0, SIZE, 0, 0},
      {WRITE, 0, SIZE, SIZE, 0, 0}, {PROD, 2, 0, SIZE, 0, 0}, {CONS, 1, 1, 1, 0, 0},
      {WRITE, 0, 1, 2 * SIZE, 0, 0}, {PROD, 2, 1, 1, 0, 0}}},
    {"full window behind the eyecatcher", 4,
     {{WRITE, 4, 16380, 0, 0, 0}, {PROD, 1, 4, 16380, 0, 0}, {CONS, 1, 4, 16380, 0, 0},
      {WRITE, 4, 16380, 16380, 0, 0}}},
    {"full window from the middle", 0,
     {{WRITE, 0, 1000, 0, 0, 0}, {PROD, 0, 1000, 1000, 0, 0}, {CONS, 0, 1000, 1000, 0, 0},
      {WRITE, 1000, 15384, 1000, 0, 0}, {WRITE, 0, 1000, SIZE, 0, 0},
      {PROD, 1, 1000, SIZE, 0, 0}}},
    {"WRITE missing before a CDC message", 0,
     {{PROD, 0, 300, 300, 0, 0}, {CONS, 0, 300, 300, 0, 0}, {WRITE, 300, 10, 300, 0, 300}}},
    {"missing WRITE", 0,
     {{WRITE, 0, 100, 0, 0, 0}, {PROD, 0, 100, 100, 0, 0}, {PROD, 0, 500, 400, 0, 0},
      {WRITE, 500, 100, 500, 0, 400}, {WRITE, 600, 100, 600, 0, 0}}},
    {"missing WRITE over the end", 0,
     {{WRITE, 0, 16000, 0, 0, 0}, {PROD, 0, 16000, 16000, 0, 0}, {CONS, 0, 16000, 16000, 0, 0},
      {WRITE, 100, 50, 16484, 0, 484}, {WRITE, 150, 50, 16534, 0, 0}}},
    {"missing WRITE that came after all", 0,
     {{WRITE, 0, 100, 0, 0, 0}, {WRITE, 200, 100, 200, 0, 100}, {PROD, 0, 300, 300, 0, 0},
      {WRITE, 300, 10, 300, 0, 0}}},
    {"rounds missing, the reader's cursor tells", 0,
     {{WRITE, 0, 100, 0, 0, 0}, {PROD, 0, 100, 100, 0, 0}, {CONS, 7, 500, 7 * SIZE + 500, 0, 0},
      {WRITE, 500, 100, 7 * SIZE + 500, 0, 7 * SIZE + 400},
      {WRITE, 600, 10, 7 * SIZE + 600, 0, 0}}},
    {"the reader's cursor came too early", 0,
     {{WRITE, 0, 300, 0, 0, 0}, {PROD, 0, 300, 300, 0, 0}, {CONS, 0, 370, 370, 0, 0},
      {WRITE_EARLY, 300, 70, 300, 0, 0}}},
    {"rounds missing, the writer's cursor tells", 0,
     {{WRITE, 0, 100, 0, 0, 0}, {PROD, 7, 500, 7 * SIZE + 500, 0, 0},
      {WRITE, 500, 100, 7 * SIZE + 500, 0, 7 * SIZE + 400}}},
    {"duplicate", 0,
     {{WRITE, 0, 100, 0, 0, 0}, {MOVE, 0, 0, 0, 0, 0}, {WRITE, 0, 100, 0, 100, 0},
      {WRITE, 0, 100, 0, 100, 0}, {WRITE, 100, 100, 100, 0, 0}}},
    {"failover, written again in one", 0,
     {{WRITE, 0, 100, 0, 0, 0}, {WRITE, 100, 200, 100, 0, 0}, {MOVE, 0, 0, 0, 0, 0},
      {WRITE, 0, 300, 0, 300, 0}, {WRITE, 300, 10, 300, 0, 0}}},
    {"failover, written again and more", 0,
     {{WRITE, 0, 300, 0, 0, 0}, {MOVE, 0, 0, 0, 0, 0}, {WRITE, 200, 300, 200, 100, 0},
      {WRITE, 500, 10, 500, 0, 0}}},
    {"failover, nothing written again", 0,
     {{WRITE, 0, 300, 0, 0, 0}, {MOVE, 0, 0, 0, 0, 0}, {WRITE, 300, 10, 300, 0, 0},
      {WRITE, 310, 10, 310, 0, 0}}},
    {"failover, written again over the end", 0,
     {{WRITE, 0, 16000, 0, 0, 0}, {PROD, 0, 16000, 16000, 0, 0}, {CONS, 0, 16000, 16000, 0, 0},
      {WRITE, 16000, 384, 16000, 0, 0}, {WRITE, 0, 616, SIZE, 0, 0}, {MOVE, 0, 0, 0, 0, 0},
      {WRITE, 16000, 384, 16000, 384, 0}, {WRITE, 0, 616, SIZE, 616, 0},
      {WRITE, 616, 84, 17000, 0, 0}}},
    {"failover, read before it was written again", 0,
     {{WRITE, 0, 1000, 0, 0, 0}, {PROD, 0, 1000, 1000, 0, 0}, {CONS, 0, 1000, 1000, 0, 0},
      {MOVE, 0, 0, 0, 0, 0}, {WRITE, 500, 500, 500, 500, 0}, {WRITE, 1000, 1, 1000, 0, 0}}},
    {"failover, packets missing, the stream goes on", 0,
     {{WRITE, 0, 1000, 0, 0, 0}, {PROD, 0, 1000, 1000, 0, 0}, {CONS, 0, 1000, 1000, 0, 0},
      {MOVE, 0, 0, 0, 0, 0}, {WRITE_UNSURE, 2000, 500, 2000, 0, 1000}}},
    {"failover, packets missing, in the next round or again", 0,
     {{WRITE, 0, 1000, 0, 0, 0}, {PROD, 0, 1000, 1000, 0, 0}, {CONS, 0, 1000, 1000, 0, 0},
      {MOVE, 0, 0, 0, 0, 0}, {WRITE_UNSURE, 500, 500, NO_PLACE, 0, 0}}},
    {"failover, messages of the reader missing, goes on or again", 0,
     {{WRITE, 0, SIZE, 0, 0, 0}, {PROD, 1, 0, SIZE, 0, 0}, {MOVE, 0, 0, 0, 0, 0},
      {WRITE_NOT_READ, 0, 10, NO_PLACE, 0, 0}}},
    {"failover, messages of the reader missing, in the first round", 0,
     {{WRITE, 0, 1000, 0, 0, 0}, {PROD, 0, 1000, 1000, 0, 0}, {MOVE, 0, 0, 0, 0, 0},
      {WRITE_NOT_READ, 1000, 10, 1000, 0, 0}}},
    {"failover, packets missing, no room for the next round", 0,
     {{WRITE, 0, 1000, 0, 0, 0}, {PROD, 0, 1000, 1000, 0, 0},
      {MOVE, 0, 0, 0, 0, 0}, {WRITE_UNSURE, 500, 500, 500, 500, 0}}},
    {"failover, full window written again", 0,
     {{WRITE, 0, SIZE, 0, 0, 0}, {PROD, 1, 0, SIZE, 0, 0}, {MOVE, 0, 0, 0, 0, 0},
      {WRITE, 0, SIZE, 0, SIZE, 0}, {CONS, 1, 0, SIZE, 0, 0}, {WRITE, 0, 10, SIZE, 0, 0}}},
    {"failover, full window, then new data", 0,
     {{WRITE, 0, SIZE, 0, 0, 0}, {PROD, 1, 0, SIZE, 0, 0}, {CONS, 1, 0, SIZE, 0, 0},
      {MOVE, 0, 0, 0, 0, 0}, {WRITE, 0, SIZE, SIZE, 0, 0}}},
    {"no room for it, no failover: the reader's cursor is missing", 0,
     {{WRITE, 0, SIZE, 0, 0, 0}, {PROD, 1, 0, SIZE, 0, 0}, {WRITE, 100, 50, SIZE + 100, 0, 100}}},
    {"cursors go back", 0,
     {{WRITE, 0, 500, 0, 0, 0}, {PROD, 0, 500, 500, 0, 0}, {PROD, 0, 400, -100, 0, 0},
      {CONS, 0, 300, 300, 0, 0}, {CONS, 0, 299, -1, 0, 0}, {PROD, 0, 500, 0, 0, 0},
      {CONS, 0, 500, 200, 0, 0}}},
};

static void
play(smcr_stream_t *stream, const step_t *step)
{
    smcr_cursor_t cursor = {(uint16_t)step->a, step->b};

    if (step->what == MOVE) {
        stream->moved = true;
    } else if (step->what == PROD) {
        g_assert_cmpint(smcr_stream_announce(stream, cursor), ==, step->result);
    } else if (step->what == CONS) {
        g_assert_cmpint(smcr_stream_consume(stream, cursor), ==, step->result);
    } else {
        uint64_t position;
        smcr_stream_unseen_t unseen = {stream->moved ? 0 : 4096, step->what == WRITE_NOT_READ,
                                       step->what == WRITE_EARLY};
        if (step->what == WRITE_UNSURE)
            unseen.bytes = UINT64_MAX;
        bool known = smcr_stream_locate(stream, (smcr_stream_extent_t){step->a, step->b}, unseen,
                                        &position);
        g_assert_cmpint(known, ==, step->result != NO_PLACE);
        if (!known)
            return;
        g_assert_cmpuint(position, ==, (uint64_t)step->result);
        smcr_stream_piece_t piece = smcr_stream_write(stream, position, step->b);
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
    g_assert_true(stream.known);
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
        smcr_stream_piece_t piece = smcr_stream_write(&stream, position, length);
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
    g_assert_false(stream.known);
    smcr_stream_start(&stream, 4, 4);
    g_assert_false(stream.known);
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
    return g_test_run();
}
