/* What is kept of one RDMA flow while packets come: its figures, and what the figures are made of.
 * rdma_flows.c counts packets, flow_entries.c makes the entry of the report.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "collectors.h"

/* Number of last steps back that are kept for each flow: later packets may show their cause. */
#define SMCR_COLLECT_STEPS_KEPT 16

/* Number of last marked packets that are kept for each flow, so that their duplicates are not
 * counted as further marked packets. */
#define SMCR_COLLECT_MARKED_KEPT 64

/* Highest number of elements of smcr_collect_followed_t.asked. */
#define SMCR_COLLECT_ASKED_MOST 256

/* The packets that a flow retransmitted in one step back (go-back-N). */
typedef struct {
    const smcr_step_back_t *step; /* the step back, in the state; NULL: this element and all later
                                     ones are not used */
    /* number of packets retransmitted in this step back */
    uint64_t packets;
} smcr_collect_stepped_t;

/* A CNP of a flow whose reverse flow was not known. */
typedef struct smcr_collect_early {
    const smcr_ecn_cnp_t *cnp;       /* the CNP, in the state */
    struct smcr_collect_early *next; /* the CNP before it; NULL: none */
} smcr_collect_early_t;

/* A flow with its figures. Exactly one of `to` and `foreign` is set, and identifies the flow. */
typedef struct {
    const smcr_qp_t *to;             /* queue pair of a link that receives the flow; NULL: the flow
                                        belongs to no link */
    const smcr_rdma_flow_t *foreign; /* the flow in fabric/peers, if it is the flow of no link;
                                        NULL: flow of a link */
    wmem_allocator_t *scope;         /* memory pool that owns everything of the flow but marks, CNPs
                                        and standstills */
    uint32_t index;                  /* index of the flow in the last report */
    uint32_t gone_before;            /* number of flows with packets that came before this flow in
                                        the list, and were let go of */
    bool is_over;                    /* its link group is over
                                        (smcr_collect_link_groups_find_over()) */
    bool merged;                     /* the figures were added to the flow of a link, since both are
                                        the same flow */
    bool lacks_ecn;                  /* the ECN codepoint of at least one packet is not known */
    const smcr_record_cm_t *cm;      /* last RDMA-CM message of the flow; NULL: none */
    wmem_array_t *asked;             /* connections of RDMA-CM (const smcr_cm_conn_t *) whose REQ
                                        the flow has retransmitted; NULL: none */
    uint8_t source[SMCR_GID_LENGTH]; /* source GID of the flow's last packet */
    smcr_collect_heard_t *heard;     /* last packets from the flow's source to its destination;
                                        NULL: no packet yet */
    smcr_collect_heard_t *back;      /* last packets in the other direction; NULL: no packet yet */
    /* entry of the flow, filled while packets come */
    smcr_entry_rdma_t figures;
    smcr_entry_icrcs_t icrc;         /* counts of checked ICRCs of the flow's packets */
    smcr_collect_flow_times_t times; /* times of retransmissions, of waits after RNR NAKs, and of
                                        silences */
    smcr_collect_flow_sizes_t sizes; /* sizes of acknowledged packets, and of a stuck one */
    smcr_recovery_flow_t recovery;   /* gaps, NAKs and retransmissions of the flow's requests */
    smcr_ib_network_t network;       /* VLAN and tunnel of the first packet */
    smcr_figure_tally_t ports;       /* packets by UDP source port */
    smcr_when_t cnp;                 /* the flow's last CNP; frame 0: none */
    int32_t cnp_id;                  /* IPv4 identification of this CNP; negative: not known */
    bool has_cnp_copy;               /* a duplicate of this CNP has come, or this CNP may be one
                                        itself: a next CNP without IP identification is no
                                        duplicate */
    uint64_t *marked;                /* the last packets with CE: PSN, opcode and IP
                                        identification; NULL: none */
    unsigned marked_next;            /* index of the oldest one in `marked` */
    smcr_collect_early_t *early_cnps; /* the flow's CNPs that came while the reverse flow was not
                                         known, the last one first; NULL: none, or they are counted
                                         since */
    unsigned early_count;            /* number of `early_cnps` */
    smcr_classes_marks_t *marks;     /* marked packets that wait for a CNP; NULL: no packet was
                                        marked */
    uint16_t port;                   /* UDP source port of the last data packet; 0: none */
    smcr_when_t ack;                 /* the flow's last acknowledgement; frame 0: none */
    smcr_classes_reaction_t *reaction; /* reaction of the flow's sender to CNPs; NULL: the flow has
                                        no data packet so far that a switch can mark (all are
                                        Not-ECT) */
    smcr_pause_flow_t pause;         /* standstills of the flow while a port paused its class */
    /* last steps back of the flow, the newest first */
    smcr_collect_stepped_t steps[SMCR_COLLECT_STEPS_KEPT];
    uint32_t frame_before; /* frame of the flow's packet before the current one; 0: none */
    bool asks_again; /* a request belongs to a step back of its sender, so the peer may send READ
                        responses twice */
    wmem_map_t *odd; /* packets with something odd: number of the frame -> smcr_collect_odd_t; NULL:
                        none */
} smcr_collect_followed_t;

/* What is odd about a packet. */
typedef enum {
    SMCR_COLLECT_NOT_ODD,
    SMCR_COLLECT_ODD_LATE,    /* the packet came out of order */
    SMCR_COLLECT_ODD_LATE_AND_ASKED_FOR, /* the packet came out of order, and a NAK that asks for
                                            the packet has been counted */
    SMCR_COLLECT_ODD_DAMAGED, /* the packet has a wrong ICRC */
    SMCR_COLLECT_ODD_ASKS_FOR_DAMAGED, /* the packet is a NAK of the reverse flow that asks for a
                                          damaged packet */
} smcr_collect_odd_t;

/* Returns the figures of the flow to queue pair `to` of a link or, if `to` is NULL, of the flow
 * `foreign`. If there are none, they are made; they last as long as `collection`, or until it lets
 * go of their link group. Returns NULL if `to` and `foreign` are both NULL, or if so many flows
 * have figures that only flows of links get new ones. */
smcr_collect_followed_t *smcr_collect_follow(smcr_collect_t *collection, const smcr_qp_t *to,
                                             const smcr_rdma_flow_t *foreign);

/* Whether nothing has happened to the packets of the flow that a finding may count: no sequence
 * gap, no retransmission, no duplicate, no NAK or RNR NAK, no odd packet, no wrong ICRC, no CE
 * mark, no CNP, no standstill while a port was paused, no silence. `flow` NULL: there is no such
 * flow, and the result is true. */
bool smcr_collect_followed_is_calm(const smcr_collect_followed_t *flow);

/* Frees the flows of link groups that are over (`is_over`). */
void smcr_collect_followed_let_go(smcr_collect_t *collection);

/* Returns the queue pair that sends the flow of a link; NULL: the flow is of no link. */
const smcr_qp_t *smcr_collect_followed_sender(const smcr_collect_followed_t *flow);

/* Returns the figures of the reverse flow; NULL: the reverse flow is not known, or none of its
 * packets has come. */
smcr_collect_followed_t *smcr_collect_followed_peer(const smcr_collect_t *collection,
                                                    const smcr_collect_followed_t *flow);

/* Returns what is odd about the packet in `frame`; SMCR_COLLECT_NOT_ODD: nothing. */
smcr_collect_odd_t smcr_collect_followed_odd(const smcr_collect_followed_t *flow, uint32_t frame);

/* Adds the packets of a step back to the count of its cause. A step back after a NAK for a damaged
 * packet counts as caused by the wrong ICRC. */
void smcr_collect_followed_count_cause(smcr_entry_causes_t *causes,
                                       const smcr_collect_followed_t *flow,
                                       const smcr_collect_stepped_t *stepped);

/* Notes the packets that the silent peer of the flow has sent elsewhere so far. */
void smcr_collect_followed_note_elsewhere(const smcr_collect_t *collection,
                                          smcr_collect_followed_t *flow);
