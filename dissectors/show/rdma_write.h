/* rdma_write.h
 * RDMA WRITEs into RMB elements (RFC 7609 4.2, 4.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_RDMA_WRITE_H
#define SMCR_SHOW_RDMA_WRITE_H

#include "compat.h"
#include "state/state.h"

/*
 * Shows one packet of an RDMA WRITE: adds its tree to `tree`, sets the Info column.
 *
 * data: the application's bytes in this packet, as far as they were captured. Returns the
 * subtree for what else there is to say of the packet: the packet's own, or `tree` itself where
 * nobody looks at our fields. NULL without a tree.
 */
proto_tree *smcr_show_rdma_write(tvbuff_t *data, packet_info *pinfo, proto_tree *tree,
                                 const smcr_ib_headers_t *roce, const smcr_record_t *record);

#endif /* SMCR_SHOW_RDMA_WRITE_H */
