/* frame_times.h
 * When frames were sent that the state knows by their number only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_FRAME_TIMES_H
#define SMCR_REPORT_COLLECT_FRAME_TIMES_H

#include "fabric/fabric.h"

/* All zeros: no frame. */
typedef struct {
    smcr_when_t *frames; /* in their order */
    uint32_t count, room;
} smcr_collect_frame_times_t;

/* A frame that may be asked for; frames come in order. What is kept lives as long as `scope`. */
void smcr_collect_frame_times_add(smcr_collect_frame_times_t *times, wmem_allocator_t *scope,
                                  smcr_when_t when);

/* The frame with its time; frame 0 where that is not known. */
smcr_when_t smcr_collect_frame_times_find(const smcr_collect_frame_times_t *times, uint32_t frame);

#endif /* SMCR_REPORT_COLLECT_FRAME_TIMES_H */
