/* Which acknowledgement covers which packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "fabric/fabric.h"

#define PACKETS 20000 /* more than are kept */
#define KEPT 8192

static const smcr_ack_t *acked[PACKETS];
static wmem_allocator_t *scope;
static smcr_unacked_t unacked;
static smcr_slab_t slab;

static void
start(void)
{
    scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    unacked = (smcr_unacked_t){.count = 0};
    slab = (smcr_slab_t){.scope = scope};
    for (unsigned i = 0; i < PACKETS; i++)
        acked[i] = NULL;
}

static void
add(unsigned from, unsigned to, uint32_t first_psn)
{
    for (unsigned i = from; i < to; i++)
        smcr_unacked_add(&unacked, scope, first_psn + i, &acked[i]);
}

static void
settle(uint32_t psn, uint32_t frame)
{
    smcr_unacked_acknowledge(&unacked, &slab, psn, (smcr_when_t){frame, frame * 10});
}

static void
check(unsigned from, unsigned to, uint32_t frame)
{
    for (unsigned i = from; i < to; i++) {
        g_assert_cmpuint(acked[i] ? acked[i]->frame : 0, ==, frame);
        g_assert_cmpuint(acked[i] ? acked[i]->time : 0, ==, frame * 10);
    }
}

static void
test_one_for_several(void)
{
    start();
    settle(5, 90); /* nothing waits */
    add(0, 10, 100);
    settle(99, 91); /* old */
    check(0, 10, 0);
    settle(103, 92);
    settle(103, 93); /* again */
    settle(108, 94);
    check(0, 4, 92);
    check(4, 9, 94);
    check(9, 10, 0);
    g_assert_cmpuint(unacked.count, ==, 1);
    wmem_destroy_allocator(scope);
}

/* An acknowledgement goes with the last packet that it covers, unless these were too many to be
 * counted. */
static void
test_holders(void)
{
    start();
    add(0, 300, 100);
    settle(102, 90);
    settle(399, 91);
    g_assert_false(smcr_ack_let_go(acked[0]));
    g_assert_false(smcr_ack_let_go(acked[1]));
    g_assert_true(smcr_ack_let_go(acked[2]));
    for (unsigned i = 3; i < 300; i++)
        g_assert_false(smcr_ack_let_go(acked[i]));
    wmem_destroy_allocator(scope);
}

/* Over the end of the 24 bits, while the ring grows with packets in the middle of it. */
static void
test_psn_wraps(void)
{
    const uint32_t first = SMCR_PSN_MASK - 20;

    start();
    add(0, 12, first);
    settle(first + 9, 50);
    add(12, 60, first);
    settle(first + 40, 51);
    settle(first + 59, 52);
    check(0, 10, 50);
    check(10, 41, 51);
    check(41, 60, 52);
    g_assert_cmpuint(unacked.count, ==, 0);
    wmem_destroy_allocator(scope);
}

/* Without acknowledgements the oldest are given up. */
static void
test_no_acknowledgements(void)
{
    start();
    add(0, PACKETS, 0);
    g_assert_cmpuint(unacked.count, ==, KEPT);
    settle(PACKETS - 1, 7);
    check(0, PACKETS - KEPT, 0);
    check(PACKETS - KEPT, PACKETS, 7);
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/unacked/one-for-several", test_one_for_several);
    g_test_add_func("/unacked/holders", test_holders);
    g_test_add_func("/unacked/psn-wraps", test_psn_wraps);
    g_test_add_func("/unacked/no-acknowledgements", test_no_acknowledgements);
    return g_test_run();
}
