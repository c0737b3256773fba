/* link_rules.h
 * Which links a group may have, and what CONFIRM LINK and ADD LINK say of them (RFC 7609 2.2,
 * 3.5.1.5, 3.5.1.6, A.3.1, A.3.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_LINKS_LINK_RULES_H
#define SMCR_STATE_RULES_LINKS_LINK_RULES_H

#include "state/model/record.h"

/* An LLC message arrives, before anything is learned of it; and when all has been. */
void smcr_rules_link(const smcr_arrival_t *arrival, const smcr_llc_t *llc);
void smcr_rules_link_learned(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* A CLC message that names the queue pair arrives, or CONFIRM LINK from it. */
void smcr_rules_vlan(const smcr_arrival_t *arrival, const smcr_qp_t *qp);

#endif /* SMCR_STATE_RULES_LINKS_LINK_RULES_H */
