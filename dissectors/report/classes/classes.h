/* Knows in which classes the packets of an RDMA flow go: DSCP, ECN and VLAN priority, of data,
 * acknowledgements and congestion notifications; and which flows have the same UDP source port.
 * Knows neither Wireshark nor how RDMA flows are found. Called by report/collect/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/figures/figures.h"

/* Counts a packet of a flow in the class in which it goes. */
void smcr_classes_count(smcr_entry_flow_classes_t *classes, wmem_allocator_t *scope,
                        smcr_when_t when, const smcr_ib_headers_t *roce);

/* Returns the entry of VLAN and tunnel of a flow, allocated in `scope`; NULL: the flow has
 * neither. */
smcr_entry_flow_network_t *smcr_classes_network(smcr_ib_network_t network,
                                                wmem_allocator_t *scope);

/* Adds to `list` an entry for each UDP source port between two addresses, with the flows that have
 * it. `flows` are the flows of the report. Memory is allocated in `scope`. */
void smcr_classes_ports(const smcr_figure_list_t *flows, smcr_figure_list_t *list,
                        wmem_allocator_t *scope);

/* ---- congestion notifications (congestion.c) ---- */

/* The last CNPs of the capture, by sender, receiver and network. */
typedef struct smcr_classes_pacing smcr_classes_pacing_t;

/* Returns an empty object, allocated in `scope`. Its memory grows with pairs of addresses that
 * exchange CNPs: 128 bytes or so for each pair and each address. */
smcr_classes_pacing_t *smcr_classes_pacing_new(wmem_allocator_t *scope);

/* Takes the next CNP of the capture, which is no duplicate, and adds the times since the CNPs
 * before it to `*figures`, which is made if it is NULL. `last`: the CNP before it in the same flow;
 * frame 0: none. */
void smcr_classes_pacing_take(smcr_classes_pacing_t *pacing, smcr_entry_flow_pacing_t **figures,
                              smcr_when_t last, smcr_when_t when, const smcr_ib_headers_t *roce);

/* A packet with a mark. */
typedef struct {
    smcr_when_t when;              /* when it came */
    const smcr_ib_headers_t *roce; /* its headers */
} smcr_classes_marked_t;

/* Marked packets of a flow that wait for a CNP. A NULL pointer to this struct: no marked packet of
 * the flow was taken. */
typedef struct {
    uint64_t first;    /* time of the first marked packet since the last CNP, nanoseconds; 0:
                          none */
    bool came_at_rest; /* `first` came when its receiver had sent no CNP for 10 ms or more */
    uint64_t time;     /* time of the watched packet, nanoseconds; 0: no packet is watched. It is
                          not yet known whether a CNP answers the watched packet at once. One packet
                          is watched at a time: marked packets that come meanwhile are not */
    uint64_t since[3]; /* nanoseconds from the last CNP of the receiver to the watched packet; if
                          there is none, from the first CNP or mark of the capture. Index: 0 CNPs of
                          the reverse flow, 1 CNPs to the sender's address, 2 CNPs to any address */
} smcr_classes_marks_t;

/* Takes the next packet with a mark, which is no duplicate. `*marks` is made if it is NULL. If the
 * watched packet is known to have got no CNP at once, adds it to `*figures`, which is made if it is
 * NULL. `cnp`: the last CNP of the reverse flow; frame 0: none. */
void smcr_classes_pacing_mark(smcr_classes_pacing_t *pacing, smcr_classes_marks_t **marks,
                              smcr_entry_flow_withheld_t **figures, smcr_when_t cnp,
                              const smcr_classes_marked_t *packet);

/* Notes that the CNP `roce` has come for a flow with these marks, which may be NULL;
 * smcr_classes_pacing_take() took the CNP before. If the watched packet is known to have got no CNP
 * at once, adds it to `*figures`, which is made if it is NULL. */
void smcr_classes_pacing_answer(smcr_classes_pacing_t *pacing, smcr_classes_marks_t *marks,
                                smcr_entry_flow_withheld_t **figures, smcr_when_t when,
                                const smcr_ib_headers_t *roce);

#define SMCR_CLASSES_REACTION_PACKETS 16 /* packets over which a rate is measured */

/* How the sender of a flow reacts to CNPs. A NULL pointer to this struct: the flow has no data
 * packet that a switch can mark. */
typedef struct {
    smcr_when_t times[SMCR_CLASSES_REACTION_PACKETS + 1]; /* when the last data packets came; a
                                                             ring */
    uint32_t bytes[SMCR_CLASSES_REACTION_PACKETS + 1]; /* lengths of these packets, bytes */
    uint64_t packets;          /* number of packets taken since the last measurement began or
                                  ended */
    uint32_t left;             /* number of packets that the measurement after a CNP still needs; 0:
                                  no measurement is under way */
    uint64_t before_bytes;     /* of the current measurement: bytes of the packets before the CNP,
                                  without the first of them */
    uint64_t before;           /* of the current measurement: time from the first to the last of
                                  these packets, nanoseconds */
} smcr_classes_reaction_t;

/* Takes the next data packet of a flow, which is no duplicate. `*reaction` is made in `scope` with
 * the first packet that is not Not-ECT. If a measurement is complete, adds it to `*figures`. */
void smcr_classes_reaction_take(smcr_classes_reaction_t **reaction,
                                smcr_entry_flow_reaction_t **figures, wmem_allocator_t *scope,
                                smcr_when_t when, const smcr_ib_headers_t *roce);

/* Notes that a CNP for the flow has come: a measurement begins, if none is under way and more than
 * SMCR_CLASSES_REACTION_PACKETS packets have come since the last one. `reaction` may be NULL. */
void smcr_classes_reaction_notify(smcr_classes_reaction_t *reaction);

/* The share of packets with CE over the time of the capture. */
typedef struct smcr_classes_shares smcr_classes_shares_t;

/* Returns an empty object, allocated in `scope`. Its memory does not grow. */
smcr_classes_shares_t *smcr_classes_shares_new(wmem_allocator_t *scope);

/* Takes the next packet that is not Not-ECT. `is_marked`: the packet has CE. `is_packet`: it counts
 * among the packets of which a share is marked; false for a duplicate, of which only the mark
 * counts. */
void smcr_classes_shares_take(smcr_classes_shares_t *shares, smcr_when_t when, bool is_marked,
                              bool is_packet);

/* Returns the entry of the shares, allocated in `scope`; NULL: no packet was marked. `shares` may
 * be NULL. */
smcr_entry_marked_share_t *smcr_classes_shares_report(const smcr_classes_shares_t *shares,
                                                      wmem_allocator_t *scope);
