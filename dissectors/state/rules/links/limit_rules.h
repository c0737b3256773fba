/* limit_rules.h
 * How many links of each kind a group may have (RFC 7609 2.2.1, 2.2.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_LINKS_LIMIT_RULES_H
#define SMCR_STATE_RULES_LINKS_LIMIT_RULES_H

#include "state/model/record.h"

/* The maximum of links that both sides have agreed on; UINT_MAX: it is not known. */
unsigned smcr_rules_maximum(const smcr_lgr_t *lgr);

/* A response to CONFIRM LINK has confirmed a link. */
void smcr_rules_count(const smcr_arrival_t *arrival);

/* The client asks for a link, by ADD LINK. */
void smcr_rules_wish(const smcr_arrival_t *arrival, const smcr_llc_add_link_t *wish);

#endif /* SMCR_STATE_RULES_LINKS_LIMIT_RULES_H */
