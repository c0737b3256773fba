/* rkey_rules.h
 * Which RTokens LLC tells, and withdraws: CONFIRM RKEY, DELETE RKEY, ADD LINK CONTINUATION (RFC
 * 7609 3.5.5.2, A.3.3, A.3.5, A.3.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_LINKS_RKEY_RULES_H
#define SMCR_STATE_RULES_LINKS_RKEY_RULES_H

#include "state/model/record.h"

/* An LLC message arrives, before anything is learned of it. */
void smcr_rules_keys(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

#endif /* SMCR_STATE_RULES_LINKS_RKEY_RULES_H */
