/* Knows when ports of Ethernet ask their peers to stop sending: PAUSE frames (IEEE 802.3, annex
 * 31B) and PFC frames (IEEE 802.1Q, 36; IEEE 802.3, annex 31D), and which RDMA flows stood still
 * meanwhile. Knows neither Wireshark nor how RDMA flows are found. Called by report/collect/;
 * report/findings/ includes it for the filter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/figures/figures.h"

/* Display filter of PAUSE and PFC frames. */
#define SMCR_PAUSE_FILTER "macc.opcode == 0x0001 || macc.opcode == 0x0101"

#define SMCR_PAUSE_MAC_LENGTH 6 /* bytes */

/* The pauses of one capture. */
typedef struct smcr_pauses smcr_pauses_t;

/* The Ethernet header of a packet, as far as it decides which pauses stop the packet. */
typedef struct {
    uint8_t to[SMCR_PAUSE_MAC_LENGTH];   /* MAC address of the receiver */
    uint8_t from[SMCR_PAUSE_MAC_LENGTH]; /* MAC address of the sender */
    bool has_priority;                   /* the packet has a VLAN tag */
    uint8_t priority;                    /* class of the packet, 0 to 7: VLAN priority of the outer
                                            tag; set with `has_priority` */
} smcr_pause_header_t;

/* A gap between two packets of a flow, and the packets of the flow before the gap. */
typedef struct {
    smcr_when_t from;    /* last packet before the gap; frame 0: the flow has no packet so far */
    smcr_when_t to;      /* packet that ends the gap; frame 0: the time is the end of the capture */
    smcr_when_t first;   /* first packet of the flow */
    uint64_t packets;    /* number of packets of the flow before the gap */
} smcr_pause_gap_t;

/* How long a class was paused, nanoseconds. If the speed of the link is known, all three are equal
 * in the sums of one class. */
typedef struct {
    uint64_t least;   /* at least: on the fastest link */
    uint64_t renewed; /* on the slowest link, without pauses that are over before the next frame */
    uint64_t most;    /* at most: on the slowest link */
} smcr_pause_sums_t;

/* Number of standstills that a flow keeps: the longest ones. */
#define SMCR_PAUSE_STANDSTILLS 16

/* A standstill of an RDMA flow. */
typedef struct {
    smcr_when_t begin; /* packet before it */
    smcr_when_t end;   /* packet after it */
    uint64_t least;    /* how long pauses were in force in it at least, nanoseconds */
    uint64_t most;     /* how long they were in force at most, nanoseconds */
    const void *by;    /* port whose pauses were in force */
    bool by_switch;    /* no packet had the address of `by` up to the standstill, so `by` counted as
                          a switch's port */
    uint8_t lane;      /* class of the packet after it, or SMCR_PAUSE_OF_ALL */
} smcr_pause_standstill_t;

/* The standstills of an RDMA flow. All zeros: none so far. */
typedef struct {
    smcr_pause_header_t header; /* Ethernet header of the last packet that has one; set with
                                   `has_header` */
    bool has_header;     /* an Ethernet header of the flow was captured */
    uint32_t last;       /* frame of the last packet with an Ethernet header; 0: none */
    const void *port;    /* port whose pauses stop the flow; NULL: none was known at the last
                            packet */
    uint8_t lane;        /* class of the last packet, or SMCR_PAUSE_OF_ALL; set with `port` */
    smcr_pause_sums_t paused[2]; /* how long `port` had paused this class (index 0), and all classes
                                    (index 1), up to the last packet */
    uint64_t count;      /* number of standstills */
    uint64_t gaps;       /* sum of their gaps, nanoseconds */
    uint64_t least;      /* how long pauses were in force in these gaps at least, nanoseconds */
    uint64_t most;       /* how long they were in force at most, nanoseconds */
    smcr_pause_standstill_t *kept; /* the longest standstills, in the order of their frames; NULL:
                                      none */
    uint32_t kept_count; /* number of `kept`, at most SMCR_PAUSE_STANDSTILLS */
} smcr_pause_flow_t;

#define SMCR_PAUSE_OF_ALL 8 /* in place of a class: PAUSE frames stop all classes */

/* Returns an empty collection of pauses, allocated in `scope`. Its memory does not grow with the
 * number of frames. `speed`: speed of the link in Gbit/s, which decides how long a quantum lasts;
 * 0: not known. */
smcr_pauses_t *smcr_pauses_new(wmem_allocator_t *scope, unsigned speed);

/* Whether the frame is a PAUSE or PFC frame: MAC control with the opcode 0x0001 or 0x0101. `bytes`:
 * the captured bytes of the frame from the Ethernet header on, `length` of them. */
bool smcr_pause_is_frame(const uint8_t *bytes, uint32_t length);

/* Takes the next frame of the capture for which smcr_pause_is_frame() is true. */
void smcr_pauses_take(smcr_pauses_t *pauses, smcr_when_t when, const uint8_t *bytes,
                      uint32_t length);

/* Reads the Ethernet header of a packet. Returns false if fewer than 16 bytes of the packet were
 * captured. */
bool smcr_pause_header_read(const uint8_t *bytes, uint32_t length, smcr_pause_header_t *header);

/* Takes the next packet of the flow; `header` is that of the packet. `pauses` NULL: no pause frame
 * has come so far. The gap before the packet counts as a standstill if a port is known to have
 * paused the class of the packet in the gap for ten times as long as the flow's packets are usually
 * apart. */
void smcr_pauses_take_packet(smcr_pauses_t *pauses, smcr_pause_flow_t *flow,
                             const smcr_pause_gap_t *gap, const smcr_pause_header_t *header);

/* Adds an entry for each port and class to `list`. Memory is allocated in `scope`. `pauses` may be
 * NULL: there are none. */
void smcr_pauses_report(const smcr_pauses_t *pauses, smcr_figure_list_t *list,
                        wmem_allocator_t *scope);

/* Notes that packets of the flow have the addresses of its last packet: ports with one of these
 * addresses are no switch's. Called for all flows before the first one is reported. */
void smcr_pause_flow_note_ends(smcr_pauses_t *pauses, const smcr_pause_flow_t *flow);

/* Returns the entry of the flow's standstills, allocated in `scope`; NULL: there are none, and the
 * flow did not stop for good while its class was paused. `gap`: the time after the flow's last
 * packet, up to the end of the capture; `to` has no frame. `pauses` may be NULL: there are none. */
smcr_entry_flow_pause_t *smcr_pause_flow_report(const smcr_pauses_t *pauses,
                                                const smcr_pause_flow_t *flow,
                                                const smcr_pause_gap_t *gap,
                                                wmem_allocator_t *scope);

/* Adds the standstills of `other` to those of `flow`. Both are parts of the same flow. Memory is
 * allocated in `scope`. */
void smcr_pause_flow_join(smcr_pause_flow_t *flow, wmem_allocator_t *scope,
                          const smcr_pause_flow_t *other);

/* Notes in the intervals of `pauses`, which are entries of smcr_pauses_report(), the flows that
 * stood still in them. `flows`: the RDMA flows of the same report. */
void smcr_pauses_name_flows(const smcr_figure_list_t *pauses, const smcr_figure_list_t *flows);
