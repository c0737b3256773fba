/* Knows who talks to whom where no CLC says so: flows, source queue pairs and their grounds,
 * RDMA-CM and its states. Does not know SMC-R or Wireshark. Called by the state only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "cm.h"

typedef struct smcr_rdma smcr_rdma_t;           /* the flows and connections of one capture */
typedef struct smcr_rdma_flow smcr_rdma_flow_t; /* one flow */
typedef struct smcr_port_pair smcr_port_pair_t; /* the flows between two addresses that have the
                                                   same UDP source port (rdma.c) */

/* A flow is all packets from one address to one queue pair of another address, in one network. RoCE
 * packets carry the number of the queue pair that receives them, but not that of the sender. Four
 * grounds can prove the source queue pair of a flow: communication management (cm.h), the datagram
 * header (DETH), the UDP source port, or PSNs. Linux (rdma_get_udp_sport()) gives both flows of a
 * connection the same source port. Two opposite flows belong together if two conditions hold: no
 * other flow has their source port, and responses in one flow have PSNs of requests in the other
 * flow.
 *
 * A sender that sprays changes its source port from packet to packet, an adapter may give all flows
 * one port, or each direction its own, and RoCEv1 has none. Then PSNs alone prove the pair: several
 * successive responses have PSNs of requests in one flow of the opposite direction, and of no
 * other.
 *
 * A new flow begins when communication management sets up a new connection with a queue pair number
 * of an earlier flow. A new flow also begins when the source port changes, if the port is the
 * ground of the flow or if communication management has ended the flow's connection.
 * docs/fabric.md, "Flows, lives, pairs", has the rules.
 *
 * Rooms on higher floors read the members, and change none. Flows change in the first pass
 * only. */
struct smcr_rdma_flow {
    struct {
        uint8_t source[SMCR_GID_LENGTH]; /* address of the sender, IPv4 mapped */
        smcr_ib_qp_key_t target;         /* address and queue pair of the receiver */
        smcr_ib_network_t network;       /* VLAN and tunnel of the packets */
    } key;
    uint32_t index;          /* number of the flow in the capture, from 0 */
    smcr_rdma_flow_t *peer;  /* the opposite flow; NULL: not known, or it has no packet yet */
    uint32_t src_qpn;        /* queue pair that sends the flow, 24 bits; set if `ground` is not 0 */
    uint8_t ground;          /* enum smcr_ground: what proves `src_qpn` */
    bool several_sources;    /* the flow carries datagrams from more than one queue pair */
    uint16_t port;           /* UDP source port of the last RC or UC packet of the flow; 0: not
                                known */
    smcr_port_pair_t *pair;  /* the flows whose UDP source port is `port`; NULL: `port` is 0 */
    bool is_sprayed;         /* packets of the flow have had several UDP source ports */
    /* number of successive responses so far that count for or against a peer. There are three
     * cases, by `ground`. Without a ground: responses with PSNs of requests of `answered`.
     * SMCR_GROUND_PORT: responses with PSNs of requests of `peer`, 4 at most. SMCR_GROUND_ACK:
     * responses whose PSNs no request of `peer` has */
    uint8_t answers;
    uint32_t answered_psn;   /* PSN of the last response counted in `answers`, 24 bits */
    smcr_rdma_flow_t *answered; /* opposite flow that the last responses answer; NULL: none */
    smcr_rdma_flow_t *before;   /* the flow between the same addresses, in this direction, that
                                   began before this one; NULL: none */
    smcr_cm_conn_t *conn;    /* connection of communication management that the flow belongs to;
                                NULL: none is known */
    /* How many messages of communication management the capture had when `conn` was last looked up;
     * UINT32_MAX: `conn` was never looked up. */
    uint32_t conn_looked_up_at;
    smcr_sent_t first;       /* the first packet of the flow */
    smcr_traffic_t *traffic; /* verdicts on the packets of the flow; NULL: no packet of the flow is
                                judged yet */
};

/* Returns a new smcr_rdma_t without flows and connections, allocated from `scope`. */
smcr_rdma_t *smcr_rdma_new(wmem_allocator_t *scope);

/* Takes in the next packet of the capture, which has the headers `roce`, and returns its flow. The
 * caller then judges the packet with `traffic` of the flow and of its peer. If `traffic` of the
 * flow is NULL, the caller does not judge the packet; a later call does. */
smcr_rdma_flow_t *smcr_rdma_take_packet(smcr_rdma_t *rdma, const smcr_ib_headers_t *roce,
                                        const smcr_sent_t *packet);

/* The newest flow of packets with the addresses, the queue pair and the network of these headers;
 * NULL: there is none. */
smcr_rdma_flow_t *smcr_rdma_find(const smcr_rdma_t *rdma, const smcr_ib_headers_t *roce);

/* The traffic of the opposite flow; NULL: that flow is not known, or not judged yet. */
smcr_traffic_t *smcr_rdma_reverse(const smcr_rdma_flow_t *flow);

/* Takes in the next message of communication management, and judges it. */
smcr_cm_verdict_t smcr_rdma_take_cm(smcr_rdma_t *rdma, const smcr_cm_packet_t *packet);
