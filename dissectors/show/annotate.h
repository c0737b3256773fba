/* annotate.h
 * Shows what the first pass learned of a frame: generated fields, in [brackets], and its events.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_ANNOTATE_H
#define SMCR_SHOW_ANNOTATE_H

#include "compat.h"
#include "state/state.h"

/* The fields of a connection, below `tree`; frames later than this one are not named. `sender`: of
 * the packet: 0 client, 1 server, SMCR_LGR_SIDE_UNKNOWN. */
void smcr_annotate_conn(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn, int sender);

/* All that the record says, below `tree`, with its events at the item of `tree`. `roce`: headers of
 * the packet, NULL: TCP carries it. */
void smcr_annotate_packet(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                          const smcr_record_t *record, const smcr_ib_headers_t *roce);

/* The queue pair that sends a packet, and what it is known from. `in_headers`: the packet's headers
 * say what they can, as those of RoCE do, and that is hidden here. */
void smcr_annotate_source(proto_tree *tree, const smcr_ib_qp_key_t *key, enum smcr_ground ground,
                          bool in_headers);

/* The queue pair that receives it. */
void smcr_annotate_target(proto_tree *tree, const smcr_ib_qp_key_t *key, bool in_headers);

#endif /* SMCR_SHOW_ANNOTATE_H */
