/* Records are kept and found as they were, whatever they have.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include <string.h>

#define SOME(MEMBER) \
    SMCR_RECORD_SOMETIMES(MEMBER) \
    MEMBER(uint32_t, acks.frame) \
    MEMBER(bool, acks.is_ambiguous) \
    MEMBER(uint64_t, acks.time)

/* A record with one member that is not as in a new record: number `which`. */
static smcr_record_t
make(smcr_state_t *state, unsigned which)
{
    smcr_record_t record = smcr_record_new();
    unsigned i = 0;

#define ALWAYS(type, name, width, value) \
    if (i++ == which) \
        record.name = (value) ? 0 : 1;
#define ENTRY(type, name) \
    if (i++ == which) \
        record.name = smcr_state_alloc0(state, sizeof *record.name);
#define SOMETIMES(type, name) \
    if (i++ == which) \
        memset(&record.name, 1, sizeof record.name);
    SMCR_RECORD_ALWAYS(ALWAYS)
    SMCR_RECORD_ENTRIES(ENTRY)
    SOME(SOMETIMES)
#undef ALWAYS
#undef ENTRY
#undef SOMETIMES
    return record;
}

enum {
#define COUNT(...) +1
    MEMBERS = 0 SMCR_RECORD_ALWAYS(COUNT) SMCR_RECORD_ENTRIES(COUNT) SOME(COUNT)
};

static void
assert_equal(const smcr_record_t *one, const smcr_record_t *other)
{
#define ALWAYS(type, name, width, value) g_assert_cmpint(one->name, ==, other->name);
#define SOMETIMES(type, name) \
    g_assert_true(memcmp(&one->name, &other->name, sizeof one->name) == 0);
    SMCR_RECORD_ALWAYS(ALWAYS)
    SMCR_RECORD_ENTRIES(SOMETIMES)
    SOME(SOMETIMES)
}

/* Packets have small ones, CLC messages large ones. */
static const uint16_t layers[] = {3, 4, 254, 255, 256, 0x100 + 1024};

static void
keep(const capture_t *capture, uint32_t frame, uint16_t layer, smcr_record_t *record)
{
    smcr_record_keep(&(smcr_arrival_t){.state = capture->state, .when = {frame, 1},
                                       .record = record}, layer);
}

/* Each member comes back, alone, and with another packet of the same frame. */
static void
test_members(void)
{
    capture_t capture;

    capture_open(&capture);
    for (unsigned i = 0; i <= MEMBERS; i++) { /* the last one has none */
        smcr_record_t record = make(capture.state, i), found;
        smcr_record_t other = make(capture.state, (i + 1) % MEMBERS);
        uint16_t first = layers[i % G_N_ELEMENTS(layers)];
        uint16_t second = layers[(i + 1) % G_N_ELEMENTS(layers)];
        keep(&capture, i + 1, first, &record);
        g_assert_true(smcr_record_find(capture.state, i + 1, first, &found));
        assert_equal(&record, &found);
        keep(&capture, i + 1, second, &other);
        g_assert_true(smcr_record_find(capture.state, i + 1, first, &found));
        assert_equal(&record, &found);
        g_assert_true(smcr_record_find(capture.state, i + 1, second, &found));
        assert_equal(&other, &found);
        g_assert_true(smcr_record_find(capture.state, i + 1, SMCR_RECORD_OUTERMOST, &found));
        assert_equal(&record, &found);
        g_assert_false(smcr_record_find(capture.state, i + 1, 5, &found));
        g_assert_false(smcr_record_find(capture.state, i + 1, first + 0x1000, &found));
    }
    g_assert_false(smcr_record_find(capture.state, MEMBERS + 2, 3, &(smcr_record_t){0}));
    g_assert_false(smcr_record_find(capture.state, UINT32_MAX, 3, &(smcr_record_t){0}));
    capture_close(&capture);
}

/* What turns out later is there from then on, and what was known stays. */
static void
test_late(void)
{
    smcr_conn_t first = {.index = 1}, second = {.index = 2};
    smcr_link_t old = {.index = 3}, new = {.index = 4};
    smcr_place_late_t late = {0};
    smcr_record_t record = smcr_record_new();
    capture_t capture;

    capture_open(&capture);
    record.write_location = smcr_state_alloc0(capture.state, sizeof *record.write_location);
    *smcr_place_make_rare(capture.state, record.write_location) =
        (smcr_place_rare_t){.late = &late, .offset_in_request = 100};
    smcr_record_t now = record;
    smcr_record_complete(capture.state, &now);
    g_assert_true(!now.conn && !now.link && !now.conn_learned_late &&
                  now.sender == SMCR_LGR_SIDE_UNKNOWN);
    g_assert_false(smcr_place_range(record.write_location).known);
    late = (smcr_place_late_t){
        .conn = &first, .link = &new, .sender = 1, .has_position = true, .position = 50};
    now = record;
    smcr_record_complete(capture.state, &now);
    g_assert_true(now.conn == &first && now.link == &new &&now.conn_learned_late &&now.sender == 1);
    g_assert_cmpuint(smcr_place_range(record.write_location).position, ==, 150);
    record.conn = &second;
    record.link = &old;
    record.sender = 0;
    now = record;
    smcr_record_complete(capture.state, &now);
    g_assert_true(now.conn == &second && now.link == &old && !now.conn_learned_late &&
                  now.sender == 0);
    capture_close(&capture);
}

/* Records of a page of frames are forgotten together. Later ones stay, and their memory does not
 * grow. */
static void
test_forgetting(void)
{
    capture_t capture;
    uint32_t blocks = 0;
    enum { PAGE = 1024, FRAMES = 64 * PAGE };

    capture_open(&capture);
    for (uint32_t frame = 1; frame < FRAMES; frame++) {
        smcr_record_t record = make(capture.state, frame % 8), found;
        keep(&capture, frame, layers[0], &record);
        if (frame % PAGE)
            continue;
        smcr_record_forget(capture.state, frame - PAGE + 1); /* not a whole page: nothing */
        g_assert_true(smcr_record_find(capture.state, frame - 1, layers[0], &found));
        smcr_record_forget(capture.state, frame);
        g_assert_false(smcr_record_find(capture.state, frame - 1, layers[0], &found));
        g_assert_true(smcr_record_find(capture.state, frame, layers[0], &found));
        assert_equal(&record, &found);
        if (frame == 8 * PAGE)
            blocks = capture.state->records.count;
    }
    g_assert_cmpuint(capture.state->records.count, ==, blocks);
    capture_close(&capture);
}

typedef enum { WAITS, HANDED_ON, RELEASED } held_fate_t;

/* Holds a megabyte in each frame. HANDED_ON: the packet at `layer` of the frame hands it on.
 * RELEASED: later passes do not need the copy either. Returns how many of `frames` frames had no
 * room for the copy. */
static unsigned
hold(capture_t *capture, unsigned frames, uint16_t layer, held_fate_t fate)
{
    static const uint8_t bytes[1 << 20];
    unsigned without_room = 0;

    for (uint32_t frame = 1; frame <= frames; frame++) {
        smcr_conn_t conn = {0};
        smcr_place_t place = {0};
        smcr_record_t record = {.write_location = &place};
        smcr_arrival_t arrival = {.state = capture->state, .when.frame = frame, .layer = layer,
                                  .record = &record};
        capture->state->last_frame = frame;
        smcr_held_t *held = smcr_held_new(&arrival, 0);
        smcr_held_fill(capture->state, held, bytes, sizeof bytes);
        without_room += !held->bytes;
        if (fate == WAITS)
            continue;
        smcr_held_hand_on(&arrival, held, &conn, 0);
        if (held->bytes && fate == RELEASED)
            smcr_held_release(capture->state, held);
        g_assert_true(!held->bytes == !smcr_held_of(capture->state, frame, layer));
        g_assert_null(smcr_held_of(capture->state, frame ^ 1, layer ^ 0x100));
    }
    return without_room;
}

/* At most 32 MiB of the capture wait at one time. Bytes that were handed on do not wait. */
static void
test_held(void)
{
    for (held_fate_t fate = WAITS; fate <= RELEASED; fate++) {
        capture_t capture;
        capture_open(&capture);
        g_assert_cmpuint(hold(&capture, 40, 0x100, fate), ==, fate == WAITS ? 8 : 0);
        capture_close(&capture);
    }
}

/* A packet of a request replaces the one with its offset: only one of both is held. */
static void
test_held_twice(void)
{
    static const uint8_t bytes[100];
    smcr_held_t *request = NULL;
    capture_t capture;

    capture_open(&capture);
    for (uint32_t frame = 1; frame <= 6; frame++) {
        smcr_record_t record = {
            .write_location = smcr_state_alloc0(capture.state, sizeof(smcr_place_t))};
        smcr_arrival_t arrival = {
            .state = capture.state, .when.frame = frame, .record = &record};
        smcr_held_t *held = smcr_held_new(&arrival, frame % 3 * 100);
        smcr_held_fill(capture.state, held, bytes, sizeof bytes);
        smcr_held_insert(capture.state, &request, held);
        smcr_held_insert(capture.state, &request, held); /* it does not replace itself */
    }
    g_assert_cmpuint(capture.state->buffered_bytes, ==, 3 * sizeof bytes);
    request = smcr_held_first(request);
    for (uint32_t nth = 0; nth < 3; nth++, request = request->next) {
        g_assert_cmpuint(request->offset_in_request, ==, nth * 100);
        g_assert_nonnull(request->bytes);
    }
    g_assert_null(request);
    capture_close(&capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/record/members", test_members);
    g_test_add_func("/record/late", test_late);
    g_test_add_func("/record/forgetting", test_forgetting);
    g_test_add_func("/record/held", test_held);
    g_test_add_func("/record/held twice", test_held_twice);
    return g_test_run();
}
