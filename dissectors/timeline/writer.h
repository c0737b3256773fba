/* The timeline of a connection: what the writer of each direction does, packet by packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "directions.h"

/* Takes in the next packet of the connection, in the order of the capture. Memory is allocated in
 * `scope`. */
void smcr_timeline_take(smcr_timeline_t *timeline, wmem_allocator_t *scope,
                        const smcr_timeline_packet_t *packet, const smcr_timeline_sink_t *sink);

/* Takes in the acknowledgements up to frame `now`: ends the transfers and waits that these
 * acknowledgements end. */
void smcr_timeline_advance(smcr_timeline_t *timeline, wmem_allocator_t *scope, uint32_t now,
                           const smcr_timeline_sink_t *sink);
