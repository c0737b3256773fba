/* Prints what the room fabric/ says of packets. Each line of the input is a packet of a reliable or
 * unreliable connection, in decimal numbers:
 *
 *     frame time_ns flow reverse_flow opcode psn dma_length payload_length syndrome ip_id hop_limit corrupt
 *
 * `reverse_flow` is -1 where it is not known, `syndrome` where there is none, `ip_id` likewise,
 * `hop_limit` 0; `corrupt` is 1 where the ICRC is wrong. For each it prints, when the input has ended:
 *
 *     frame verdict frame_before absent taken discarded cause step_first silent
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <inttypes.h>
#include <stdio.h>

#include "fabric/fabric.h"
#include "wire/wire.h"

#define FLOWS_MAX 2000000

static smcr_flow_t *flows[FLOWS_MAX];

static smcr_flow_t *
flow_of(wmem_allocator_t *scope, int number)
{
    if (number < 0 || number >= FLOWS_MAX)
        return NULL;
    if (!flows[number])
        flows[number] = wmem_new0(scope, smcr_flow_t);
    return flows[number];
}

typedef struct {
    uint32_t frame;
    uint8_t opcode;
    smcr_flow_verdict_t verdict;
} judged_t;

static void
print(const judged_t *packet)
{
    static const char *const orders[] = {"next", "repeat", "late", "behind", "copy"};
    static const char *const causes[] = {"-", "unknown", "rnr", "nak", "read", "timeout"};
    const smcr_flow_verdict_t *verdict = &packet->verdict;
    bool known =
        verdict->order == SMCR_FLOW_IS_RETRANSMISSION || verdict->order == SMCR_FLOW_IS_COPY;
    const smcr_step_back_t *step = verdict->step;
    bool caused = step && step->cause != SMCR_CAUSE_NONE;

    printf("%u %s %u %u %d %u %s %u %d\n", packet->frame, orders[verdict->order],
           known ? verdict->first.frame : 0, verdict->missing, verdict->acked_before,
           verdict->discard_proof ? *verdict->discard_proof : 0, causes[caused ? step->cause : 0],
           caused ? step->frame : 0, verdict->peer_silent);
}

int
main(void)
{
    GArray *packets = g_array_new(FALSE, TRUE, sizeof(judged_t));
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    smcr_sent_t sent = {0};
    unsigned opcode;
    int flow, reverse, syndrome, corrupt;

    while (scanf("%" SCNu32 "%" SCNu64 "%d%d%u%" SCNu32 "%" SCNu32 "%" SCNu32 "%d%" SCNd32 "%" SCNu8
                 "%d",
                 &sent.when.frame, &sent.when.time, &flow, &reverse, &opcode, &sent.psn,
                 &sent.dma_length, &sent.payload_length, &syndrome, &sent.ip_id,
                 &sent.hop_limit, &corrupt) == 12) {
        if (!flow_of(scope, flow))
            return 1;
        sent.opcode = (uint8_t)opcode;
        sent.corrupt = corrupt != 0;
        sent.has_aeth = syndrome >= 0;
        sent.syndrome = (uint8_t)syndrome;
        judged_t judged = {.frame = sent.when.frame, .opcode = sent.opcode,
                           .verdict = smcr_flow_judge(flow_of(scope, flow),
                                                      flow_of(scope, reverse), scope, &sent)};
        g_array_append_val(packets, judged);
    }
    for (unsigned i = 0; i < packets->len; i++)
        print(&g_array_index(packets, judged_t, i));
    g_array_free(packets, TRUE);
    wmem_destroy_allocator(scope);
    return 0;
}
