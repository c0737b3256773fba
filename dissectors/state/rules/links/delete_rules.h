/* delete_rules.h
 * Reasons and responses of DELETE LINK (RFC 7609 2.2.1, 3.5.5.1.3, 3.5.5.1.4, A.3.4, C.7.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_LINKS_DELETE_RULES_H
#define SMCR_STATE_RULES_LINKS_DELETE_RULES_H

#include "state/model/record.h"

/* A DELETE LINK message arrives, before anything is learned of it. */
void smcr_rules_delete_link(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

#endif /* SMCR_STATE_RULES_LINKS_DELETE_RULES_H */
