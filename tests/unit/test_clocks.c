/* The offset between two clocks: bounds from packets of both directions, whatever the delays.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "points/points.h"

#define US INT64_C(1000) /* nanoseconds */
#define MS (1000 * US)
#define BEGIN UINT64_C(1700000000000000000)
#define SAMPLES 200

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

typedef struct {
    const char *name;
    int64_t offset;   /* of the second clock, at the first sample */
    int64_t ppm;      /* how much faster it is, millionths */
    int64_t delay;    /* shortest delay, both directions */
    int64_t jitter;   /* further delay, at most */
    int64_t step;     /* the second clock is set by this after half of the samples */
    bool one_way;     /* no packet of the second direction */
    bool contradicts; /* no line fits */
} clock_case_t;

static const clock_case_t cases[] = {
    {"same clock, no delay"},
    {"apart by 137 s", .offset = 137250 * MS, .delay = 30 * US, .jitter = 500 * US},
    {"behind", .offset = -2750 * MS, .delay = 30 * US, .jitter = 500 * US},
    {"drift of 100 ppm", .offset = 3 * MS, .ppm = 100, .delay = 50 * US, .jitter = 200 * US},
    {"drift of -100 ppm", .ppm = -100, .delay = 50 * US, .jitter = 9 * MS},
    {"one direction only", .offset = 5 * MS, .delay = 40 * US, .one_way = true},
    {"set by 20 ms", .delay = 50 * US, .jitter = 100 * US, .step = 20 * MS, .contradicts = true},
};

/* Returns the true offset at a time of the first clock, nanoseconds after the begin. */
static int64_t
true_offset(const clock_case_t *row, int64_t since)
{
    bool is_set = since > SAMPLES / 2 * 10 * MS;

    return row->offset + since * row->ppm / 1000000 + (is_set ? row->step : 0);
}

static void
make_samples(const clock_case_t *row, smcr_clock_sample_t *forward, smcr_clock_sample_t *back)
{
    uint32_t random = 1;

    for (unsigned i = 0; i < SAMPLES; i++) {
        int64_t since = i * 10 * MS, delay[2];
        for (unsigned way = 0; way < 2; way++) {
            random = random * 1664525 + 1013904223;
            delay[way] = row->delay + (row->jitter ? random % row->jitter : 0);
        }
        forward[i].time = BEGIN + (uint64_t)since;
        forward[i].distance = true_offset(row, since) + delay[0];
        back[i].time = BEGIN + (uint64_t)(since + delay[1]);
        back[i].distance = true_offset(row, since) - delay[1];
    }
}

static void
test_line(const void *data)
{
    const clock_case_t *row = data;
    smcr_clock_sample_t forward[SAMPLES], back[SAMPLES];
    smcr_clock_line_t line;

    make_samples(row, forward, back);
    bool found = smcr_clock_line_find((smcr_clock_samples_t){forward, SAMPLES},
                                      (smcr_clock_samples_t){back, row->one_way ? 0 : SAMPLES},
                                      &line);
    g_assert_true(found == !row->contradicts);
    if (!found)
        return;
    g_assert_true(line.is_bounded == !row->one_way);
    if (!line.is_bounded) {
        g_assert_cmpint(line.offset, >=, row->offset + row->delay);
        g_assert_cmpint(line.offset, <=, row->offset + row->delay + US);
        return;
    }
    g_assert_cmpint(line.lowest, <=, row->offset);
    g_assert_cmpint(line.highest, >=, row->offset);
    g_assert_cmpint(line.highest - line.lowest, <=, 2 * row->delay + row->jitter + 4 * US);
    g_assert_true(line.drift_lowest * 1e6 <= (double)row->ppm + 0.01);
    g_assert_true(line.drift_highest * 1e6 >= (double)row->ppm - 0.01);
    for (unsigned i = 0; i < SAMPLES; i++) {
        int64_t wrong = smcr_clock_offset(&line, forward[i].time) -
                        true_offset(row, (int64_t)(forward[i].time - BEGIN));
        g_assert_cmpint(wrong < 0 ? -wrong : wrong, <=, line.error + 2);
    }
}

/* No packet: a line that says nothing. */
static void
test_nothing(void)
{
    smcr_clock_line_t line;

    g_assert_true(smcr_clock_line_find((smcr_clock_samples_t){NULL, 0},
                                       (smcr_clock_samples_t){NULL, 0}, &line));
    g_assert_false(line.is_bounded);
    g_assert_cmpint(smcr_clock_offset(&line, BEGIN), ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/clocks/nothing", test_nothing);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/clocks/%s", cases[i].name);
        g_test_add_data_func(path, &cases[i], test_line);
        g_free(path);
    }
    return g_test_run();
}
