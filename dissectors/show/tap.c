/* Queues packets for the listeners of the plugin's taps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include <wsutil/ws_assert.h>

/* The plugin's taps; set when protocols register. */
static struct {
    int tap;                /* number of the tap */
    smcr_tap_queue_t queue; /* see smcr_tap_add(); NULL: listeners get an smcr_tap_t */
} taps[3];
static unsigned tap_count; /* number of elements used in `taps` */

void
smcr_tap_add(int tap, smcr_tap_queue_t queue)
{
    ws_assert(tap_count < array_length(taps));
    taps[tap_count].tap = tap;
    taps[tap_count++].queue = queue;
}

static const smcr_tap_observer_t *observer; /* see smcr_tap_observe(); NULL: none */

void
smcr_tap_observe(const smcr_tap_observer_t *with)
{
    observer = with;
}

/* Whether the observer wants the packets of the frame. */
static bool
is_observed(const packet_info *pinfo)
{
    return observer && observer->wants_frame(pinfo);
}

/* Asked for each packet before data for the taps are made, so it has to be cheap. */
bool
smcr_tap_has_listener(const packet_info *pinfo)
{
    if (is_observed(pinfo))
        return true;
    for (unsigned i = 0; i < tap_count; i++)
        if (have_tap_listener(taps[i].tap))
            return true;
    return false;
}

#define KEEP(member) \
    if (packet->member) \
        kept->member = wmem_memdup(pinfo->pool, packet->member, sizeof *packet->member);

/* Returns a copy of the packet that lives as long as the frame is dissected. */
static const smcr_tap_t *
copy_packet(const packet_info *pinfo, const smcr_tap_t *packet)
{
    smcr_tap_t *kept = wmem_memdup(pinfo->pool, packet, sizeof *packet);

    kept->first_pass = !pinfo->fd->visited;
    kept->record = wmem_memdup(pinfo->pool, packet->record, sizeof *packet->record);
    KEEP(roce) KEEP(clc) KEEP(llc) KEEP(cdc) KEEP(segment)
    return kept;
}

/* The record is empty, since TCP carries the segment. `record` of the tap must not be NULL. */
void
smcr_tap_segment(packet_info *pinfo, const smcr_tap_segment_t *segment)
{
    const smcr_record_t none = smcr_record_new();

    if (!pinfo->flags.in_error_pkt) /* a segment that an ICMP error quotes did not pass the capture
                                       point in this frame */
        smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &none, .segment = segment});
}

/* The observer and all listeners get the same copy, made when the first of them is found. */
void
smcr_tap_packet(packet_info *pinfo, const smcr_tap_t *packet)
{
    const smcr_tap_t *kept = NULL;

    if (is_observed(pinfo)) {
        kept = copy_packet(pinfo, packet);
        observer->take_packet(pinfo, kept);
    }
    for (unsigned i = 0; i < tap_count; i++) {
        if (!have_tap_listener(taps[i].tap))
            continue;
        if (!kept)
            kept = copy_packet(pinfo, packet);
        if (taps[i].queue)
            taps[i].queue(pinfo, kept);
        else
            tap_queue_packet(taps[i].tap, pinfo, kept);
    }
}
