/* Knows who talks to whom where no CLC says so: flows, source queue pairs and their grounds,
 * RDMA-CM and its states. Knows nothing of SMC-R or Wireshark. Called by the state only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "cm.h"

typedef struct smcr_rdma smcr_rdma_t;           /* the flows and connections of one capture */
typedef struct smcr_rdma_flow smcr_rdma_flow_t; /* one flow */
typedef struct smcr_port_pair smcr_port_pair_t; /* flows with the same port (rdma.c) */

/* A flow is all packets from one address to one queue pair of another address. RoCE packets carry
 * the number of the queue pair that receives them. The source queue pair of a flow is known from
 * one of three grounds: communication management (cm.h), the datagram header (DETH), or the UDP
 * source port. Linux (rdma_get_udp_sport()) gives both flows of a connection the same source port.
 * Two opposite flows that are alone with their port belong together when responses of one have PSNs
 * that requests of the other have taken.
 *
 * When communication management sets up a queue pair number anew, new flows begin. So they do with
 * another source port, where the ground is the port, or where communication management has ended
 * the connection. docs/fabric.md, "Flows, lives, pairs", has the rules.
 *
 * All rooms above read flows. Flows change in the first pass only. */
struct smcr_rdma_flow {
    struct {
        uint8_t source[SMCR_GID_LENGTH]; /* address of the sender, IPv4 mapped */
        smcr_ib_qp_key_t target;         /* address and queue pair of the receiver */
    } key;
    uint32_t index;          /* of all flows of the capture, from 0 */
    smcr_rdma_flow_t *peer;  /* the opposite flow; NULL: not known, or it has no packet */
    uint32_t src_qpn;        /* queue pair that sends the flow, 24 bits; set with a ground */
    uint8_t ground;          /* enum smcr_ground: what proves `src_qpn` */
    bool several_sources;    /* several queue pairs send the flow: datagrams */
    uint16_t port;           /* UDP source port of its last packet of RC or UC; 0: not known */
    smcr_port_pair_t *pair;  /* the flows with this port; NULL: none */
    smcr_cm_conn_t *conn;    /* connection of communication management; NULL: none is known */
    /* messages of communication management when `conn` was looked up last; UINT32_MAX: never */
    uint32_t conn_looked_up_at;
    smcr_sent_t first;       /* the first packet of the flow */
    smcr_traffic_t *traffic; /* NULL: the first packet is not judged yet */
};

/* A registry without flows and connections, allocated from `scope`. */
smcr_rdma_t *smcr_rdma_new(wmem_allocator_t *scope);

/* Takes in the next packet of the capture, which has the headers `roce`, and returns its flow. The
 * flow has its traffic, and so has its peer, if they are needed to judge the packet. Else the
 * traffic is NULL, and nothing is said of the packet yet. */
smcr_rdma_flow_t *smcr_rdma_take_packet(smcr_rdma_t *rdma, const smcr_ib_headers_t *roce,
                                        const smcr_sent_t *packet);

/* The newest flow from the address `source` to the queue pair `target`; NULL: there is none. */
smcr_rdma_flow_t *smcr_rdma_find(const smcr_rdma_t *rdma, const uint8_t source[SMCR_GID_LENGTH],
                                 const smcr_ib_qp_key_t *target);

/* The traffic of the opposite flow; NULL: that flow is not known, or not judged yet. */
smcr_traffic_t *smcr_rdma_reverse(const smcr_rdma_flow_t *flow);

/* Takes in the next message of communication management, and judges it. */
smcr_cm_verdict_t smcr_rdma_take_cm(smcr_rdma_t *rdma, const smcr_cm_packet_t *packet);
