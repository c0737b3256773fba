/* port_pairs.h
 * Opposite flows with the same UDP source port. Linux gives both flows of a connection one port,
 * which it works out from the flow label, or from the numbers of the two queue pairs
 * (include/rdma/ib_verbs.h, rdma_get_udp_sport()). Other connections may have the same port.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_PEERS_PORT_PAIRS_H
#define SMCR_FABRIC_PEERS_PORT_PAIRS_H

#include "rdma_flow.h"

typedef struct smcr_port_pairs smcr_port_pairs_t; /* of one capture */

/* No flows. Lives as long as the scope. */
smcr_port_pairs_t *smcr_port_pairs_new(wmem_allocator_t *scope);

/* Frees what the scope does not own. */
void smcr_port_pairs_free(smcr_port_pairs_t *pairs);

/* The flow has `flow->port`. Returns the opposite flow that shares the port with it alone; NULL:
 * there is none. Flows that turn out to share it with a third are no pair any more. */
smcr_rdma_flow_t *smcr_port_pairs_join(smcr_port_pairs_t *pairs, smcr_rdma_flow_t *flow);

/* The flow's source queue pair is known by other means. */
void smcr_port_pairs_leave(smcr_rdma_flow_t *flow);

/* A response in `flow`. Returns whether it is proven now that it answers the requests of
 * `opposite`, whose traffic is there. What an answer before the proof completes is told by no later
 * one. */
bool smcr_port_pairs_prove(smcr_rdma_flow_t *flow, smcr_rdma_flow_t *opposite,
                           const smcr_sent_t *packet);

#endif /* SMCR_FABRIC_PEERS_PORT_PAIRS_H */
