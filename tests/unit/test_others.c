/* RoCE that is not analysed: PSNs that wrap and begin anew, truncated headers, and more queue pairs
 * than are followed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "report/others/others.h"

typedef struct {
    wmem_allocator_t *scope;
    smcr_others_t *others;
    uint32_t frame; /* number of the last frame */
    unsigned vlan;  /* VLAN of all packets; 0: none */
} scene_t;

static void
begin(scene_t *scene)
{
    scene->scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    scene->others = smcr_others_new(scene->scope);
    scene->frame = scene->vlan = 0;
}

/* A packet of `length` captured bytes from the BTH on, to the queue pair. */
static void
take(scene_t *scene, uint8_t opcode, uint32_t qpn, uint32_t psn, uint32_t length)
{
    uint8_t bth[SMCR_IB_BTH_LENGTH + SMCR_IB_AETH_LENGTH] = {opcode};
    smcr_others_packet_t packet = {
        .network.vlan = scene->vlan & 0xfff, .bth = length ? bth : NULL, .length = length};

    for (unsigned i = 0; i < 3; i++) {
        bth[5 + i] = (uint8_t)(qpn >> (16 - 8 * i));
        bth[9 + i] = (uint8_t)(psn >> (16 - 8 * i));
    }
    bth[SMCR_IB_BTH_LENGTH] = SMCR_IB_SYNDROME_NAK << 5;
    scene->frame++;
    smcr_others_take(scene->others, (smcr_when_t){scene->frame, scene->frame}, &packet);
}

static void
request(scene_t *scene, uint32_t qpn, uint32_t psn)
{
    take(scene, SMCR_RC_SEND_ONLY, qpn, psn, SMCR_IB_BTH_LENGTH);
}

static smcr_entry_other_roce_t *
counts_of(const scene_t *scene)
{
    return smcr_others_report(scene->others, scene->scope);
}

static void
check_psns(void)
{
    static const struct {
        uint32_t psn;
        uint64_t repeated; /* requests with an earlier PSN so far */
    } rows[] = {
        {0xfffffe, 0}, {0xffffff, 0}, {0, 0},        {0xffffff, 1}, {0, 2},
        {1, 2},        {1, 3},        {0x900000, 3}, {5, 3},        {0x10005, 3},
        {6, 4},        {5, 4},        {6, 4},        {5, 5},
    };
    scene_t scene;

    begin(&scene);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        request(&scene, 7, rows[i].psn);
        g_assert_cmpuint(counts_of(&scene)->repeated, ==, rows[i].repeated);
    }
    request(&scene, 8, 0); /* another queue pair has PSNs of its own */
    g_assert_cmpuint(counts_of(&scene)->repeated, ==, 5);
    g_assert_cmpuint(counts_of(&scene)->queue_pairs, ==, 2);
    scene.vlan = 7; /* so has the same number in another network */
    request(&scene, 8, 0);
    g_assert_cmpuint(counts_of(&scene)->repeated, ==, 5);
    g_assert_cmpuint(counts_of(&scene)->queue_pairs, ==, 3);
    g_assert_cmpuint(counts_of(&scene)->first_frame.frame, ==, 4);
    wmem_destroy_allocator(scene.scope);
}

static void
check_truncated(void)
{
    scene_t scene;

    begin(&scene);
    for (uint32_t length = 0; length <= SMCR_IB_BTH_LENGTH + 1; length++)
        take(&scene, SMCR_RC_ACK, 7, 0, length);
    g_assert_cmpuint(counts_of(&scene)->packets, ==, SMCR_IB_BTH_LENGTH + 2);
    g_assert_cmpuint(counts_of(&scene)->unread, ==, SMCR_IB_BTH_LENGTH);
    g_assert_cmpuint(counts_of(&scene)->naks, ==, 1);
    g_assert_null(smcr_others_report(NULL, scene.scope));
    wmem_destroy_allocator(scene.scope);
}

/* Queue pairs above the limit are counted as packets, but their PSNs are not followed. */
static void
check_many(void)
{
    scene_t scene;

    begin(&scene);
    for (unsigned round = 0; round < 2; round++)
        for (uint32_t qpn = 0; qpn < SMCR_OTHERS_QUEUE_PAIRS_MOST + 10; qpn++)
            request(&scene, qpn, 1);
    g_assert_cmpuint(counts_of(&scene)->queue_pairs, ==, SMCR_OTHERS_QUEUE_PAIRS_MOST);
    g_assert_cmpuint(counts_of(&scene)->repeated, ==, SMCR_OTHERS_QUEUE_PAIRS_MOST);
    g_assert_cmpuint(counts_of(&scene)->packets, ==, 2 * (SMCR_OTHERS_QUEUE_PAIRS_MOST + 10));
    wmem_destroy_allocator(scene.scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    wmem_init(); /* else all keys of a map have the same hash */
    g_test_add_func("/others/psns", check_psns);
    g_test_add_func("/others/truncated", check_truncated);
    g_test_add_func("/others/many", check_many);
    int failed = g_test_run();

    wmem_cleanup();
    return failed;
}
