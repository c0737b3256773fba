/* The capture file that Wireshark has open: its state, and the windows that show it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

#include "state/state.h"

/* Returns all that is known of the SMC-R traffic of the open file; NULL while no file is open. */
const smcr_state_t *smcr_capture_state(void);

/* Returns the state of the open file for changing. Asserts that the frame is in its first pass.
 * Also sets the place of capture, which is the interface of the packet, unless the packet is of
 * netlink. */
smcr_state_t *smcr_capture_learn(const packet_info *pinfo);

/* Makes an empty `state`, and learns the sockets of the preference `smcss`. Wireshark calls it for
 * each file. Test harnesses that play many captures in one file call it for each capture. */
void smcr_capture_begin(void);

/* Returns whether every frame of the file has been dissected once. Taps then get the knowledge of a
 * second pass. False while a file is read, and in tshark with one pass. */
bool smcr_capture_is_read(void);

/* Returns number and time of this frame; the time in nanoseconds since 1970, 0 for times before. */
static inline smcr_when_t
smcr_capture_when(const packet_info *pinfo)
{
    uint64_t seconds = (uint64_t)MAX(pinfo->abs_ts.secs, 0);

    return (smcr_when_t){pinfo->num, seconds * SMCR_TIME_SECOND + (uint64_t)pinfo->abs_ts.nsecs};
}

/* Returns the VLAN ID of a packet; 0: none, or not known. In a packet within another packet it is
 * not known: Wireshark does not report which of the two has the tag. */
uint16_t smcr_capture_vlan(const packet_info *pinfo);

/* Returns a duration as Wireshark's nstime_t. */
nstime_t smcr_capture_nstime(uint64_t nanoseconds);

/* ---- windows of Wireshark; tshark has none ---- */

/* Returns the functions that make text windows; NULL: the program has no windows. */
const funnel_ops_t *smcr_host_window_ops(void);

/* Returns the number of the last frame that has been read from the file; 0 in programs without
 * windows, or without a file. */
uint32_t smcr_host_windows_last_frame(void);

/* Registers the functions that Wireshark calls at the beginning and the end of a file; called once
 * at start. */
void smcr_capture_register(void);
