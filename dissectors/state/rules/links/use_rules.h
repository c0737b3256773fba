/* use_rules.h
 * When a link may be used, and when it may not (RFC 7609 3.5.1.5, 3.5.1.6, 3.5.5.1.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_LINKS_USE_RULES_H
#define SMCR_STATE_RULES_LINKS_USE_RULES_H

#include "state/model/record.h"

/* An RDMA WRITE or a CDC message arrives, before anything is learned of it. */
void smcr_rules_use(const smcr_arrival_t *arrival);

/* A message that needs its link arrives. */
void smcr_rules_deleted(const smcr_arrival_t *arrival);

/* An LLC message but CONFIRM LINK arrives on a link that must be there. */
void smcr_rules_llc_use(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* An RDMA WRITE with data of a connection arrives on a link that must be there. */
void smcr_rules_data(const smcr_arrival_t *arrival);

/* A link was offered, accepted, confirmed, rejected or deleted, as far as the LLC message tells:
 * all of it has been learned. */
void smcr_rules_second(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* A Decline arrives. */
void smcr_rules_declined(const smcr_arrival_t *arrival, const smcr_conn_t *conn);

#endif /* SMCR_STATE_RULES_LINKS_USE_RULES_H */
