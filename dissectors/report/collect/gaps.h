/* Gaps of the capture: intervals of frames in which packets of one flow are missing. Packets of
 * other flows may be missing at the same time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wireshark.h>

#define SMCR_COLLECT_GAPS_MOST 32 /* maximum number of gaps that are kept separately */

/* A gap: packets are missing after frame `since`, and before frame `until`. */
typedef struct {
    uint32_t since; /* last captured frame of the flow before the gap; 0: the gap is before the
                       first captured frame of the flow */
    uint32_t until; /* first captured frame of the flow after the gap; of a TCP connection with a
                       captured SYN its last frame, as bytes may be missing anywhere after
                       `since` */
} smcr_collect_gap_t;

/* The gaps of a capture. All zeros: there is none. If there are more than SMCR_COLLECT_GAPS_MOST,
 * the last entry spans all later gaps. */
typedef struct {
    smcr_collect_gap_t list[SMCR_COLLECT_GAPS_MOST]; /* the gaps; see `count` */
    unsigned count; /* number of entries of `list` that are set */
} smcr_collect_gap_list_t;

/* Adds the gap. If the list is full, the last entry is extended so that it contains the gap. */
void smcr_collect_gaps_add(smcr_collect_gap_list_t *gaps, smcr_collect_gap_t gap);

/* Removes the gaps that end at frame `frame` or before: connections whose last frame is `frame` or
 * later do not need them. */
void smcr_collect_gaps_forget(smcr_collect_gap_list_t *gaps, uint32_t frame);

/* Returns the lowest member `since` of all gaps that end after frame `frame`: packets may be
 * missing from there on. UINT32_MAX: no gap ends after this frame. */
uint32_t smcr_collect_gaps_begin(const smcr_collect_gap_list_t *gaps, uint32_t frame);
