/* Knows who talks to whom where no CLC says so: flows, source queue pairs and their grounds,
 * RDMA-CM and its states. Knows nothing of SMC-R or Wireshark. Called by the state only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "cm.h"

typedef struct smcr_rdma smcr_rdma_t; /* of one capture */
typedef struct smcr_rdma_flow smcr_rdma_flow_t;
typedef struct smcr_port_pair smcr_port_pair_t;

/* A flow is what goes from one address to a queue pair of another: RoCE packets carry the number of
 * the queue pair that receives them only. Its source queue pair is known from communication
 * management (cm.h), from the datagram header (DETH), or from the UDP source port: Linux
 * (rdma_get_udp_sport()) gives both flows of a connection the same one. Two opposite flows, alone
 * with their port, are a pair when one answers a PSN of the other.
 *
 * A queue pair number that communication management sets up again begins new flows. So does another
 * port, where a pair is known by its port or communication management has ended the connection.
 *
 * Read by all; written in the first pass only. */
struct smcr_rdma_flow {
    struct {
        uint8_t source[SMCR_GID_LENGTH];
        smcr_ib_qp_key_t target;
    } key;
    uint32_t index;          /* within the capture, from 0 */
    smcr_rdma_flow_t *peer;  /* the opposite flow; NULL: not known, or it has no packet */
    uint32_t src_qpn;        /* the queue pair that sends it; with a ground */
    uint8_t ground;          /* enum smcr_ground: what `src_qpn` rests on */
    bool mixed;              /* several queue pairs send it: datagrams */
    uint16_t port;           /* UDP source port of its data and acknowledgements; 0: not known */
    smcr_port_pair_t *pair;  /* those with the same port; NULL: none */
    smcr_cm_conn_t *conn;    /* of communication management; NULL: none is known */
    uint32_t conn_messages;  /* messages of communication management when that was looked up */
    smcr_sent_t first;       /* its first packet */
    smcr_traffic_t *traffic; /* NULL: the first packet is not judged yet */
};

/* No connections. Lives as long as the scope. */
smcr_rdma_t *smcr_rdma_new(wmem_allocator_t *scope);

/* The flow of the capture's next packet, which has the headers `roce`. Its traffic, and that of its
 * peer, are there when they are needed to judge the packet; else the traffic is NULL. */
smcr_rdma_flow_t *smcr_rdma_take(smcr_rdma_t *rdma, const smcr_ib_headers_t *roce,
                                 const smcr_sent_t *packet);

/* The newest flow of `source` to `target`; NULL: there is none. */
smcr_rdma_flow_t *smcr_rdma_find(const smcr_rdma_t *rdma, const uint8_t source[SMCR_GID_LENGTH],
                                 const smcr_ib_qp_key_t *target);

/* What `flow` receives in the other direction; NULL: not known. */
smcr_traffic_t *smcr_rdma_reverse(const smcr_rdma_flow_t *flow);

/* A message of communication management. */
smcr_cm_verdict_t smcr_rdma_manage(smcr_rdma_t *rdma, const smcr_cm_packet_t *packet);
