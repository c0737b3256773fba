/* rdma_connection.h
 * The RDMA connection of a packet that is not SMC-R, for users who ask for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_RDMA_CONNECTION_H
#define SMCR_SHOW_RDMA_CONNECTION_H

#include "compat.h"
#include "state/state.h"

/* Adds the subtree to `tree`, and to the Info column what it says of SMC-R's packets, too. The
 * record has a flow. `tvb` is where its fields are. */
void smcr_show_rdma_connection(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                               const smcr_record_t *record, const smcr_ib_headers_t *roce);

#endif /* SMCR_SHOW_RDMA_CONNECTION_H */
