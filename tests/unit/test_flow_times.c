/* Long silences of a flow that was counted in two parts, which are joined later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "report/collect/collectors.h"

#define MS SMCR_TIME_MILLISECOND

/* Takes an RDMA WRITE with the PSN 1 in the frame, which comes `ms` milliseconds after the begin of
 * the capture. `first`: frame of the first transmission; 0: this one is the first. */
static void
take_request(smcr_collect_flow_times_t *times, wmem_allocator_t *scope, uint32_t frame, uint64_t ms,
             uint32_t first)
{
    const smcr_ib_headers_t roce = {.opcode = SMCR_RC_WRITE_ONLY, .psn = 1};
    const smcr_record_t record = {
        .order = first ? SMCR_FLOW_IS_RETRANSMISSION : SMCR_FLOW_IS_NEXT, .first_frame = first};
    const smcr_tap_t packet = {.roce = &roce, .record = &record};

    smcr_collect_flow_times_take(times, scope, (smcr_when_t){frame, (1000 + ms) * MS}, &packet);
}

/* Takes an acknowledgement of the PSN `psn` in the frame, `ms` milliseconds after the begin. */
static void
take_answer(smcr_collect_flow_times_t *times, wmem_allocator_t *scope, uint32_t frame, uint64_t ms,
            uint32_t psn)
{
    const smcr_ib_headers_t roce = {.opcode = SMCR_RC_ACK, .has_aeth = true, .psn = psn};
    const smcr_record_t record = {.order = SMCR_FLOW_IS_NEXT};
    const smcr_tap_t packet = {.roce = &roce, .record = &record};

    smcr_collect_flow_times_hear(times, scope, (smcr_when_t){frame, (1000 + ms) * MS}, &packet);
}

/* Takes a long silence of the peer, from the frame `begin` to the answer in the frame `begin` + 5,
 * with retransmissions in the three frames before the answer. */
static void
take_silence(smcr_collect_flow_times_t *times, wmem_allocator_t *scope, uint32_t begin)
{
    take_answer(times, scope, begin, begin * 1000, 0);
    take_request(times, scope, begin + 1, begin * 1000 + 1, 0);
    for (uint32_t i = 2; i < 5; i++)
        take_request(times, scope, begin + i, begin * 1000 + 100 * i, begin + 1);
    take_answer(times, scope, begin + 5, begin * 1000 + 500, 1);
}

/* Checks that the last long silence of the flow has its last retransmission in the frame. */
static void
check_last(const smcr_collect_flow_times_t *times, uint32_t frame)
{
    g_assert_true(smcr_collect_flow_times_was_silent(times, frame - 1));
    g_assert_false(smcr_collect_flow_times_was_silent(times, frame));
}

/* The earlier part is added to the later one, whose silence stays the last. */
static void
check_move(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    smcr_collect_flow_times_t earlier = {.long_silences = 0}, later = earlier;

    take_silence(&earlier, scope, 10);
    check_last(&earlier, 14);
    take_silence(&later, scope, 30);
    check_last(&later, 34);
    smcr_collect_flow_times_move(&later, scope, &earlier);
    check_last(&later, 34);
    g_assert_cmpuint(later.long_silences, ==, 2);
    check_last(&earlier, 14);
    wmem_destroy_allocator(scope);
}

/* Silences that come after the parts were joined are those of the joined flow only. */
static void
check_after_move(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    smcr_collect_flow_times_t earlier = {.long_silences = 0}, later = earlier;

    take_silence(&earlier, scope, 10);
    smcr_collect_flow_times_move(&later, scope, &earlier);
    check_last(&later, 14);
    take_silence(&later, scope, 50);
    check_last(&later, 54);
    check_last(&earlier, 14);
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/flow_times/move", check_move);
    g_test_add_func("/flow_times/after_move", check_after_move);
    return g_test_run();
}
