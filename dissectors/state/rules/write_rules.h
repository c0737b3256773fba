/* write_rules.h
 * Where RDMA WRITEs may go (RFC 7609 4.1, 4.2, A.3.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_WRITE_RULES_H
#define SMCR_STATE_RULES_WRITE_RULES_H

#include "state/model/record.h"

/* A WRITE request begins, with `rkey`. `entry`: what that names on the link; NULL: nothing. */
void smcr_rules_rkey(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry,
                     uint32_t rkey);

/* A WRITE goes to element `index` of the RMB, which no connection uses. */
void smcr_rules_element(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb, unsigned index);

/* A request arrives. */
void smcr_rules_operation(const smcr_arrival_t *arrival);

/* A WRITE goes to `offset` in an element of the RMB. */
void smcr_rules_eyecatcher(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb, uint32_t offset);

/* A WRITE of `length` bytes was located at `position` of the connection's stream to its receiver;
 * before, the stream went to `end`. All that came since is known. */
void smcr_rules_hole(const smcr_arrival_t *arrival, const smcr_conn_t *conn, uint64_t end,
                     uint64_t position, uint32_t length);

/* A WRITE of the connection ends behind the space that its reader has freed so far; `goal` is what
 * the reader ought to have consumed. */
void smcr_rules_overwrite(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                          const smcr_stream_cursor_deadline_t *goal);

#endif /* SMCR_STATE_RULES_WRITE_RULES_H */
