/* What one direction of a TCP connection counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <math.h>
#include <string.h>

#include "report/congestion/congestion.h"

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define SYN SMCR_CONGESTION_TCP_SYN
#define FIN SMCR_CONGESTION_TCP_FIN
#define RST SMCR_CONGESTION_TCP_RST
#define ACK SMCR_CONGESTION_TCP_ACK
#define ECE SMCR_CONGESTION_TCP_ECE
#define CWR SMCR_CONGESTION_TCP_CWR
#define NS SMCR_CONGESTION_TCP_NS
#define SCE SMCR_WIRE_ECN_ECT_1
#define CE SMCR_WIRE_ECN_CE
#define NO_ACK 0x8000 /* the flag ACK is not set, which all others have */

/* Segments come a millisecond apart, and results have milliseconds. A acknowledges this, if a row
 * says no other. */
#define B_BEGINS 5000

typedef enum { NOBODY, A, B } sender_t;

typedef struct {
    sender_t from;
    uint32_t seq, length, ack;
    uint16_t flags;
    uint8_t ecn;
    uint32_t tsval, tsecr; /* 0: no option */
    struct {
        uint32_t left, right;
    } sack[SMCR_CONGESTION_TCP_SACKS];
    bool ace, no_length;
    bool at_once; /* behind the one before */
} step_t;

/* The member `name` of the entry of a sender: a number, or count and sum of a distribution. */
typedef struct {
    sender_t of;
    const char *name;
    uint64_t number, sum;
} result_t;

#define MAX_STEPS 10
#define MAX_RESULTS 8

static const struct {
    const char *name;
    step_t steps[MAX_STEPS];
    result_t results[MAX_RESULTS];
} cases[] = {
    /* ---- what is sent ---- */
    {"a connection from SYN to FIN",
     {{A, 99, .flags = SYN | NO_ACK}, {B, 4999, .ack = 100, .flags = SYN}, {A, 100, 10},
      {B, 5000, .ack = 110}, {A, 110, .flags = FIN}, {B, 5000, .ack = 111, .flags = FIN},
      {A, 111, .ack = 5001}},
     {{A, "packets", 4}, {A, "data_segments", 1}, {A, "acks", 3}, {A, "acked_bytes", 10},
      {A, "ack_elapsed_s", 4}, {A, "ipg_s", 3, 6}, {B, "acked_bytes", 0}, {A, "gaps", 0}}},
    {"RST counts as a packet only",
     {{A, 100, 10}, {A, 110, 5, .flags = RST}, {A, 110, 10}},
     {{A, "packets", 3}, {A, "segments", 2}, {A, "data_segments", 2}, {A, "acks", 2},
      {A, "ip_bytes", 145}, {A, "ipg_s", 1, 2}, {A, "repeated_segments", 0}}},
    {"a gap",
     {{A, 100, 10}, {A, 130, 10}, {A, 140, 10}},
     {{A, "gaps", 1}, {A, "gap_bytes", 20}}},
    {"an empty segment shows a gap",
     {{A, 100, 10}, {A, 130}},
     {{A, "gaps", 1}, {A, "gap_bytes", 20}}},
    {"a gap across the wrap",
     {{A, 0xfffffff0, 10}, {A, 4, 10}},
     {{A, "gaps", 1}, {A, "gap_bytes", 10}}},
    {"no gap at the wrap",
     {{A, 0xfffffff6, 10}, {A, 0, 10}, {A, 10, 10}},
     {{A, "gaps", 0}, {A, "repeated_segments", 0}}},
    {"no window is that large",
     {{A, 100, 10}, {A, 0x50000000, 10}, {A, 0x5000000a, 10}},
     {{A, "gaps", 0}, {A, "repeated_segments", 0}}},
    {"a repeated segment",
     {{A, 100, 10}, {A, 110, 10}, {A, 100, 10}, {A, 120, 10}},
     {{A, "repeated_segments", 1}, {A, "gaps", 0}}},
    {"copies at once, without stamps",
     {{A, 99, .flags = SYN | NO_ACK}, {A, 99, .flags = SYN | NO_ACK, .at_once = true},
      {A, 100, 10}, {A, 100, 10, .at_once = true}, {A, 110}, {A, 110, .at_once = true}},
     {{A, "copies", 2}, {A, "repeated_segments", 0}, {A, "acks", 3}}},
    {"repeated at once, as the peer asks",
     {{A, 100, 10}, {B, 5000, .ack = 100, .at_once = true}, {A, 100, 10, .at_once = true}},
     {{A, "copies", 0}, {A, "repeated_segments", 1}}},
    {"repeated, with more behind it",
     {{A, 100, 10}, {A, 105, 10}, {A, 115, 10}},
     {{A, "repeated_segments", 1}, {A, "gaps", 0}}},
    {"a gap that is filled",
     {{A, 100, 10}, {A, 120, 10}, {A, 110, 10}, {A, 130, 10}},
     {{A, "gaps", 1}, {A, "gap_bytes", 10}, {A, "repeated_segments", 1}}},
    {"a repeated SYN",
     {{A, 99, .flags = SYN | NO_ACK}, {A, 99, .flags = SYN | NO_ACK}},
     {{A, "repeated_segments", 1}}},
    {"a repeated FIN",
     {{A, 100, 5, .flags = FIN}, {A, 105, .flags = FIN}},
     {{A, "repeated_segments", 1}}},
    {"an empty keep-alive",
     {{A, 100, 10}, {B, 5000, .ack = 110}, {A, 109}},
     {{A, "repeated_segments", 0}}},
    {"a keep-alive with a byte",
     {{A, 100, 10}, {B, 5000, .ack = 110}, {A, 109, 1}},
     {{A, "repeated_segments", 0}}},
    {"a byte that is retransmitted",
     {{A, 100, 1}, {A, 100, 1}},
     {{A, "repeated_segments", 1}}},
    {"an old empty segment repeats nothing",
     {{A, 100, 10}, {A, 100}},
     {{A, "repeated_segments", 0}}},
    {"no gap behind a segment of unknown length",
     {{A, 100, .no_length = true}, {A, 2000, 10}},
     {{A, "gaps", 0}}},
    {"a late segment",
     {{A, 100, 10, .tsval = 7}, {A, 120, 10, .tsval = 9}, {A, 110, 10, .tsval = 8},
      {A, 130, 10, .tsval = 9}},
     {{A, "late_segments", 1}}},
    {"TSval wraps",
     {{A, 100, 10, .tsval = 0xffffffff}, {A, 110, 10, .tsval = 1}},
     {{A, "late_segments", 0}}},
    {"no time stamps",
     {{A, 100, 10}},
     {{A, "late_segments", SMCR_FIGURE_UNKNOWN}, {B, "late_segments", 0}}},

    /* ---- what is acknowledged ---- */
    {"from the first ACK on",
     {{A, 100, 10}, {B, 5000, .ack = 105}, {B, 5000, .ack = 110}},
     {{A, "acked_bytes", 5}, {A, "ack_elapsed_s", 1}, {B, "acks", 2}, {B, "acked_bytes", 0}}},
    {"never acknowledged",
     {{A, 100, 10, .flags = NO_ACK}},
     {{A, "acked_bytes", 0}, {A, "ack_elapsed_s", SMCR_FIGURE_UNKNOWN}}},
    {"duplicate ACKs, with data and without",
     {{B, 5000, .ack = 100}, {B, 5000, .ack = 100}, {B, 5000, 10, .ack = 100},
      {B, 5010, .ack = 110}},
     {{B, "duplicate_acks", 2}, {B, "acks", 4}, {A, "acked_bytes", 10}, {A, "ack_elapsed_s", 3}}},
    {"an old ACK is no duplicate",
     {{B, 5000, .ack = 100}, {B, 5000, .ack = 120}, {B, 5000, .ack = 110}, {B, 5000, .ack = 130}},
     {{B, "duplicate_acks", 0}, {A, "acked_bytes", 30}}},
    {"ACKs wrap",
     {{B, 5000, .ack = 0xfffffff0}, {B, 5000, .ack = 16}},
     {{A, "acked_bytes", 32}}},
    {"an ACK that skips a window begins anew",
     {{B, 5000, .ack = 100}, {B, 5000, .ack = 0x50000000}, {B, 5000, .ack = 0x5000000a}},
     {{A, "acked_bytes", 10}}},
    {"each SACKed byte counts once",
     {{B, 5000, .ack = 100}, {B, 5000, .ack = 100, .sack = {{120, 130}}},
      {B, 5000, .ack = 100, .sack = {{120, 140}}}, {B, 5000, .ack = 140}},
     {{A, "sacked_bytes", 20}, {A, "acked_bytes", 20}}},
    {"several blocks",
     {{B, 5000, .ack = 100}, {B, 5000, .ack = 100, .sack = {{140, 150}, {120, 130}}},
      {B, 5000, .ack = 125}},
     {{A, "sacked_bytes", 20}, {A, "acked_bytes", 20}}},
    {"blocks below the ACK tell of copies",
     {{B, 5000, .ack = 100}, {B, 5000, .ack = 100, .sack = {{80, 90}}}, {B, 5000, .ack = 120}},
     {{A, "sacked_bytes", 0}, {A, "acked_bytes", 20}}},
    {"SACKed before the count begins",
     {{B, 5000, .ack = 100, .sack = {{110, 120}}}, {B, 5000, .ack = 130}},
     {{A, "sacked_bytes", 0}, {A, "acked_bytes", 20}}},
    {"a SACKed FIN is no byte",
     {{A, 100, 10}, {B, 5000, .ack = 100}, {A, 110, 10, .flags = FIN},
      {B, 5000, .ack = 100, .sack = {{110, 121}}}, {B, 5000, .ack = 121}},
     {{A, "sacked_bytes", 10}, {A, "acked_bytes", 10}}},

    /* ---- round trips ---- */
    {"from the segment to its ACK",
     {{A, 100, 10}, {B, 5000, .ack = 100}, {A, 110, 10}, {B, 5000, .ack = 110}},
     {{A, "rtt_s", 1, 3}}},
    {"of several segments the first that is not acknowledged",
     {{B, 5000, .ack = 100}, {A, 100, 10}, {A, 110, 10}, {B, 5000, .ack = 120}},
     {{A, "rtt_s", 1, 2}}},
    {"a repetition restarts it",
     {{B, 5000, .ack = 100}, {A, 100, 10}, {A, 100, 10}, {B, 5000, .ack = 110}},
     {{A, "rtt_s", 1, 1}}},
    {"no segment begins at the last ACK",
     {{B, 5000, .ack = 105}, {A, 100, 10}, {B, 5000, .ack = 110}},
     {{A, "rtt_s", 0}}},
    {"the last segment with a TSval, its first echo",
     {{A, 100, 10, .tsval = 7, .tsecr = 1}, {A, 110, 10, .tsval = 7, .tsecr = 1},
      {B, 5000, .ack = 110, .tsval = 50, .tsecr = 7},
      {B, 5000, .ack = 120, .tsval = 51, .tsecr = 7}},
     {{A, "tsval_rtt_s", 1, 1}, {B, "tsval_rtt_s", 0}}},
    {"without ACK there is no echo",
     {{A, 100, .tsval = 7}, {B, 5000, .flags = NO_ACK | SYN, .tsval = 5, .tsecr = 7}},
     {{A, "tsval_rtt_s", 0}}},

    /* ---- marks ---- */
    {"SCE, its gaps and its runs",
     {{A, 100, 10, .ecn = SCE}, {A, 110, 10, .ecn = SCE}, {A, 120, 10, .ecn = 2},
      {A, 130, 10, .ecn = SCE}, {A, 140, 10, .ecn = CE}, {A, 150, 10}},
     {{A, "sce", 3}, {A, "ce", 1}, {A, "sce_ipg_s", 2, 3}, {A, "sce_run_length", 2, 3}}},
    {"the last run counts",
     {{A, 100, 10}, {A, 110, 10, .ecn = SCE}, {A, 120, 10, .ecn = SCE}},
     {{A, "sce_run_length", 1, 2}}},
    {"flags",
     {{A, 100, 10, .flags = CWR}, {A, 110, 10, .flags = ECE}, {A, 120, 10, .flags = NS | ECE}},
     {{A, "cwr", 1}, {A, "ece", 2}, {A, "esce", 1}}},
    {"no marks on SYN, FIN and behind FIN",
     {{A, 99, .flags = SYN | ECE | CWR, .ecn = CE}, {A, 100, 10, .flags = FIN | ECE, .ecn = CE},
      {A, 111, .flags = ECE | NS, .ecn = SCE}},
     {{A, "ece", 0}, {A, "cwr", 0}, {A, "ce", 0}, {A, "sce", 0}, {A, "esce", 0},
      {A, "sce_run_length", 0}}},
    {"no marks without ACK",
     {{A, 100, 10, .flags = NO_ACK | ECE, .ecn = CE}},
     {{A, "ece", 0}, {A, "ce", 0}}},
    {"Accurate ECN has a counter in the flags",
     {{A, 100, 10, .flags = ECE | CWR | NS, .ecn = CE, .ace = true}},
     {{A, "ece", 0}, {A, "cwr", 0}, {A, "esce", 0}, {A, "ce", 1}}},
    {"what ACKs with ESCE acknowledge",
     {{B, 5000, .ack = 100}, {B, 5000, .ack = 110, .flags = NS}, {B, 5000, .ack = 130},
      {B, 5000, .ack = 130, .flags = NS, .sack = {{140, 145}}}},
     {{A, "esce_acked_bytes", 15}, {A, "acked_bytes", 30}, {B, "esce", 2},
      {B, "esce_acked_bytes", 0}}},
};

static smcr_congestion_tcp_segment_t
segment_of(const step_t *step, uint64_t time)
{
    smcr_congestion_tcp_segment_t segment = {
        .time = (step->at_once ? time - 1 : time) * SMCR_TIME_MILLISECOND,
        .seq = step->seq,
        .length = step->length,
        .ack = step->ack ? step->ack : step->from == A ? B_BEGINS : 0,
        .flags = (uint16_t)(step->flags & NO_ACK ? step->flags & ~NO_ACK : step->flags | ACK),
        .ecn = step->ecn,
        .tsval = step->tsval,
        .tsecr = step->tsecr,
        .timestamps = step->tsval != 0,
        .ip_bytes = 40 + step->length,
        .ace = step->ace,
        .no_length = step->no_length,
    };

    for (; segment.sacks < SMCR_CONGESTION_TCP_SACKS && step->sack[segment.sacks].right;
         segment.sacks++) {
        segment.sack[segment.sacks].left = step->sack[segment.sacks].left;
        segment.sack[segment.sacks].right = step->sack[segment.sacks].right;
    }
    return segment;
}

static const smcr_figure_member_t *
find_member(const char *name)
{
    for (unsigned i = 0; i < smcr_entry_tcp_direction_description.count; i++) {
        if (strcmp(smcr_entry_tcp_direction_description.members[i].name, name) == 0)
            return &smcr_entry_tcp_direction_description.members[i];
    }
    g_error("there is no member %s", name);
}

static void
check(const smcr_entry_tcp_direction_t *entry, const result_t *result)
{
    const smcr_figure_member_t *member = find_member(result->name);
    const void *value = (const uint8_t *)entry + member->offset;
    const smcr_distribution_t *spread = value;
    bool is_time = g_str_has_suffix(result->name, "_s") && result->number != SMCR_FIGURE_UNKNOWN;
    uint64_t unit = is_time ? SMCR_TIME_MILLISECOND : 1;

    g_test_message("%c %s", result->of == A ? 'A' : 'B', result->name);
    if (member->kind != SMCR_FIGURE_KIND_SPREAD && member->kind != SMCR_FIGURE_KIND_LENGTHS) {
        g_assert_cmpuint(*(const uint64_t *)value, ==, result->number * unit);
        return;
    }
    g_assert_cmpuint(spread->count, ==, result->number);
    g_assert_cmpuint(spread->sum, ==, result->sum * unit);
}

static void
test_case(gconstpointer number)
{
    const step_t *steps = cases[GPOINTER_TO_UINT(number)].steps;
    const result_t *results = cases[GPOINTER_TO_UINT(number)].results;
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_congestion_tcp_direction_t ways[B + 1] = {0};

    for (unsigned i = 0; i < MAX_STEPS && steps[i].from != NOBODY; i++) {
        smcr_congestion_tcp_segment_t segment = segment_of(&steps[i], i + 1);
        smcr_congestion_tcp_direction_take(&ways[steps[i].from], &ways[A + B - steps[i].from],
                                           scope, &segment);
    }
    for (unsigned i = 0; i < MAX_RESULTS && results[i].of != NOBODY; i++) {
        smcr_entry_tcp_direction_t entry;
        smcr_congestion_tcp_direction_report(&ways[results[i].of], &entry);
        check(&entry, &results[i]);
    }
    wmem_destroy_allocator(scope);
}

/* ---- each byte once ---- */

static uint64_t
payload_of(const step_t *steps, unsigned count)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_congestion_tcp_direction_t way = {0}, reverse = {0};

    for (unsigned i = 0; i < count; i++) {
        smcr_congestion_tcp_segment_t segment = segment_of(&steps[i], i + 1);
        smcr_congestion_tcp_direction_take(&way, &reverse, scope, &segment);
    }
    wmem_destroy_allocator(scope);
    return way.payload;
}

static void
test_payload(void)
{
    static const step_t in_order[] = {{A, 0xfffffffb, 10}, {A, 5, 10}, {A, 15, .flags = FIN}};
    static const step_t overlapping[] = {{A, 100, 10}, {A, 105, 10}, {A, 100, 20}};
    static const step_t filled[] = {{A, 100, 10}, {A, 120, 10}, {A, 90, 45}};

    g_assert_cmpuint(payload_of(in_order, G_N_ELEMENTS(in_order)), ==, 20);
    g_assert_cmpuint(payload_of(overlapping, G_N_ELEMENTS(overlapping)), ==, 20);
    g_assert_cmpuint(payload_of(filled, G_N_ELEMENTS(filled)), ==, 45);
}

/* More holes than are kept: filled late, the oldest no longer count, and nothing counts twice. */
static void
test_many_holes(void)
{
    step_t steps[2 * SMCR_RANGES_OF_STREAM + 11];
    unsigned count = SMCR_RANGES_OF_STREAM + 5;

    for (unsigned i = 0; i < count; i++)
        steps[i] = (step_t){A, 100 + 20 * i, 10};
    g_assert_cmpuint(payload_of(steps, count), ==, 10 * count);
    for (unsigned i = 0; i < count; i++)
        steps[count + i] = (step_t){A, 110 + 20 * i, 10};
    g_assert_cmpuint(payload_of(steps, 2 * count), ==, 20 * count - 50);
}

/* The first of many times that wait is forgotten, not the last. */
static void
test_many_times(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_congestion_sent_times_t times = {0};
    uint64_t time = 0, most = 3 * SMCR_CONGESTION_SENT_TIMES_KEPT;

    for (uint64_t i = 0; i < most; i++)
        smcr_congestion_sent_times_set(&times, scope, i, i + 7, 0);
    g_assert_false(smcr_congestion_sent_times_take(&times, 0, &time));
    g_assert_true(smcr_congestion_sent_times_take(&times, most - 1, &time));
    g_assert_cmpuint(time, ==, most + 6);
    g_assert_false(smcr_congestion_sent_times_take(&times, most - 1, &time));
    g_assert_cmpuint(times.room, <=, SMCR_CONGESTION_SENT_TIMES_KEPT);
    wmem_destroy_allocator(scope);
}

static void
test_derived(void)
{
    smcr_congestion_tcp_direction_t way = {.acked = 1, .any_ecn = true};
    smcr_entry_tcp_direction_t entry;

    smcr_congestion_tcp_direction_report(&way, &entry);
    g_assert_true(isnan(entry.derived.sce_percent) && isnan(entry.derived.goodput_bit_s));
    way.counts = (smcr_entry_tcp_direction_t){.data_segments = 4,
                                              .sce = 1,
                                              .ce = 2,
                                              .acked_bytes = 1000,
                                              .esce_acked_bytes = 500,
                                              .ack_elapsed_s = 2000};
    smcr_congestion_tcp_direction_report(&way, &entry);
    g_assert_cmpfloat(entry.derived.sce_percent, ==, 25);
    g_assert_cmpfloat(entry.derived.ce_percent, ==, 50);
    g_assert_cmpfloat(entry.derived.esce_acked_bytes_percent, ==, 50);
    g_assert_cmpfloat(entry.derived.goodput_bit_s, ==, 4e9);
}

int
main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    wmem_init();
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/tcp_way/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    g_test_add_func("/tcp_way/payload", test_payload);
    g_test_add_func("/tcp_way/many holes", test_many_holes);
    g_test_add_func("/tcp_way/many times", test_many_times);
    g_test_add_func("/tcp_way/derived", test_derived);
    status = g_test_run();
    wmem_cleanup();
    return status;
}
