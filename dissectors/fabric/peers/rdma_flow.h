/* rdma_flow.h
 * A flow of RoCE packets: what goes from one address to a queue pair of another.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_PEERS_RDMA_FLOW_H
#define SMCR_FABRIC_PEERS_RDMA_FLOW_H

#include "cm.h"
#include "fabric/fabric.h"

typedef struct smcr_rdma_flow smcr_rdma_flow_t;
typedef struct smcr_port_pair smcr_port_pair_t;

/* Read by all; written in the first pass only. */
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

#endif /* SMCR_FABRIC_PEERS_RDMA_FLOW_H */
