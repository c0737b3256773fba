/* tap.c
 * Queues what listeners get.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include <wsutil/ws_assert.h>

/* Set when protocols register. */
static struct {
    int tap[3];
    smcr_tap_queue_t queue[3];
    unsigned count;
} taps;

void
smcr_tap_add(int tap, smcr_tap_queue_t queue)
{
    ws_assert(taps.count < array_length(taps.tap));
    taps.tap[taps.count] = tap;
    taps.queue[taps.count++] = queue;
}

bool
smcr_tap_is_heard(void)
{
    for (unsigned i = 0; i < taps.count; i++)
        if (have_tap_listener(taps.tap[i]))
            return true;
    return false;
}

/* A copy that lives as long as the frame is dissected. */
static const smcr_tap_t *
keep(const packet_info *pinfo, const smcr_tap_t *packet)
{
    smcr_tap_t *kept = wmem_memdup(pinfo->pool, packet, sizeof *packet);

    kept->first_pass = !pinfo->fd->visited;
    kept->record = wmem_memdup(pinfo->pool, packet->record, sizeof *packet->record);
    if (packet->roce)
        kept->roce = wmem_memdup(pinfo->pool, packet->roce, sizeof *packet->roce);
    if (packet->clc)
        kept->clc = wmem_memdup(pinfo->pool, packet->clc, sizeof *packet->clc);
    if (packet->llc)
        kept->llc = wmem_memdup(pinfo->pool, packet->llc, sizeof *packet->llc);
    if (packet->cdc)
        kept->cdc = wmem_memdup(pinfo->pool, packet->cdc, sizeof *packet->cdc);
    if (packet->segment)
        kept->segment = wmem_memdup(pinfo->pool, packet->segment, sizeof *packet->segment);
    return kept;
}

void
smcr_tap_segment(packet_info *pinfo, const smcr_tap_segment_t *segment)
{
    const smcr_record_t none = smcr_record_new();

    if (!pinfo->flags.in_error_pkt) /* quoted: it is no segment on the wire */
        smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &none, .segment = segment});
}

void
smcr_tap_packet(packet_info *pinfo, const smcr_tap_t *packet)
{
    const smcr_tap_t *kept = NULL;

    for (unsigned i = 0; i < taps.count; i++) {
        if (!have_tap_listener(taps.tap[i]))
            continue;
        if (!kept)
            kept = keep(pinfo, packet);
        if (taps.queue[i])
            taps.queue[i](pinfo, kept);
        else
            tap_queue_packet(taps.tap[i], pinfo, kept);
    }
}
