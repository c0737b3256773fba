/* The capture file that Wireshark has open: its state, and the windows that show it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

#include "state/state.h"

/* What is known; NULL while no file is open. */
const smcr_state_t *smcr_capture_state(void);

/* The same, to be changed: in the first pass over the frames only. */
smcr_state_t *smcr_capture_learn(const packet_info *pinfo);

/* Begins with a new state. Wireshark calls it for each file; harnesses that play many captures in
 * one file call it for each. */
void smcr_capture_begin(void);

/* Whether every frame of the file has been dissected once: taps then get what a second pass finds.
 * It is false while a file is read, and in tshark with one pass. */
bool smcr_capture_is_read(void);

/* Number and time of this frame, for the state. */
static inline smcr_when_t
smcr_capture_when(const packet_info *pinfo)
{
    uint64_t seconds = (uint64_t)MAX(pinfo->abs_ts.secs, 0);

    return (smcr_when_t){pinfo->num, seconds * SMCR_TIME_SECOND + (uint64_t)pinfo->abs_ts.nsecs};
}

/* The VLAN of a packet; 0: none, or not known, since the tag may be that of a packet around it. */
uint16_t smcr_capture_vlan(const packet_info *pinfo);

/* How long something took, as Wireshark has it. */
nstime_t smcr_capture_nstime(uint64_t nanoseconds);

/* ---- the windows that Wireshark has, and tshark has not ---- */

/* What makes text windows; NULL: the program has no windows. */
const funnel_ops_t *smcr_host_window_ops(void);

/* The number of the last frame of the file, as far as it has been read; 0 in programs without
 * windows, or without a file. */
uint32_t smcr_host_windows_last_frame(void);

/* Called once at start. */
void smcr_capture_register(void);
