/* The capture file that Wireshark has open: the smcr_state_t of the file, facts about its frames,
 * and Wireshark's windows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

#include "state/state.h"

/* Returns all that is known of the SMC-R traffic of the open file; NULL while no file is open. */
const smcr_state_t *smcr_capture_state(void);

/* Returns the state of the open file, for the first pass, which may change the state. Asserts that
 * the frame is in its first pass. If the frame is not a netlink message, also notes in the state
 * the interface on which the frame was captured. Makes the capture points as soon as the file is
 * known to have more than one, unless the preference `points` turns them off; from then on keeps
 * the names of interfaces. */
smcr_state_t *smcr_capture_learn(const packet_info *pinfo);

/* Returns whether the packet or segment did not pass the capture point in this frame, so that the
 * state must not learn from it. Two cases: 1. an ICMP error quotes it; 2. the data of an SMC-R
 * connection contain it, for example OpenFlow, which reports packets. In case 2 the plugin has held
 * the data until now, and dissects them in the name of an earlier frame: the first pass has already
 * learned from later frames. */
bool smcr_capture_is_quoted(const packet_info *pinfo);

/* Whether the user wants all TCP connections to be compared at several capture points
 * (preference `points`). */
bool smcr_capture_compares_all_tcp(void);

/* Returns the index of the network device on which the packet was captured, in a Linux cooked
 * capture (SLL2), which may be taken on several devices; 0: another kind of capture, or the header
 * is truncated. */
uint32_t smcr_capture_device(const packet_info *pinfo);

/* First pass: keeps the name of the packet's interface, once. */
void smcr_capture_note_name(const packet_info *pinfo);

/* Returns the name of an interface, if smcr_capture_note_name() has kept it; NULL: not kept. Names
 * are kept of the first SMCR_POINTS_MOST interfaces. */
const char *smcr_capture_interface_name(uint32_t interface);

/* Makes an empty smcr_state_t, and learns the sockets in the file that the preference `smcss`
 * names. Wireshark calls this function when it opens a file, and when it dissects the file anew.
 * The fuzzer calls it for each capture. */
void smcr_capture_begin(void);

/* Returns whether the first pass over the file is complete: every frame has been dissected once.
 * Returns false while the file is being read, and in tshark without the option -2. */
bool smcr_capture_is_read(void);

/* Forgets the records of packets before `frame`, in a program that reads the file once, and
 * releases connections that have ended (smcr_state_forget()). `finished`: connections that the
 * caller has finished with; NULL: no connection is released. */
void smcr_capture_forget(uint32_t frame, const smcr_state_finished_t *finished);

/* Returns the VLAN ID of a packet; 0: the packet has no VLAN tag, or the VLAN ID is not known. The
 * VLAN ID of a packet within a tunnel is not known, because Wireshark does not report whether the
 * outer or the inner packet has the tag. */
uint16_t smcr_capture_vlan(const packet_info *pinfo);

/* Converts a duration in nanoseconds to Wireshark's nstime_t. */
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
