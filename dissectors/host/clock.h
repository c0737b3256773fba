/* Where and when a frame was captured, also in a capture whose clock was set back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include <epan/packet_info.h>

#include "fabric/fabric.h"

/* Returns the number of the interface on which the frame was captured; 0: the file does not name
 * it, or it is the first one. */
uint32_t smcr_capture_interface(const packet_info *pinfo);

/* Returns number and time of this frame; the time in nanoseconds since 1970, 1 at least, as that
 * of smcr_capture_stamp(). If the clock was set back by a second or more before this frame, the
 * time is that of a clock which was not set back: see clock.c. */
smcr_when_t smcr_capture_when(const packet_info *pinfo);

/* Returns what smcr_capture_when() returns, and before this notes whether the clock was set back
 * before this frame. Called in the first pass, for each frame from which the state learns. */
smcr_when_t smcr_capture_learn_when(const packet_info *pinfo);

/* Returns the time stamp that the frame has in the file, nanoseconds since 1970. The least time is
 * 1, also for times before and for files without times: in the state 0 means that an event has not
 * happened. */
uint64_t smcr_capture_stamp(const packet_info *pinfo);

/* Returns by how much the clock was set back immediately before this frame, nanoseconds; 0: it was
 * not, or a frame of another interface has shown the same step before. */
uint64_t smcr_capture_clock_step(const packet_info *pinfo);

/* Forgets the clocks of the previous file. */
void smcr_capture_clock_begin(void);
