/* llc_rules.h
 * What LLC messages may say, and who may send them (RFC 7609 2.2.1, 3.5.1.5, 3.5.5, A.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_LINKS_LLC_RULES_H
#define SMCR_STATE_RULES_LINKS_LLC_RULES_H

#include "state/model/record.h"

/* An LLC message arrives, before anything is learned of it. */
void smcr_rules_llc(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* An ADD LINK response has made the link. */
void smcr_rules_added(const smcr_arrival_t *arrival, smcr_link_t *link);

#endif /* SMCR_STATE_RULES_LINKS_LLC_RULES_H */
