/* cont_rules.h
 * Messages that go on with a list of RTokens: ADD LINK CONTINUATION, CONFIRM RKEY CONTINUATION
 * (RFC 7609 3.5.5.2.3, A.3.3, A.3.6).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_LINKS_CONT_RULES_H
#define SMCR_STATE_RULES_LINKS_CONT_RULES_H

#include "state/model/record.h"

/* An LLC message arrives, before anything is learned of it. */
void smcr_rules_continuation(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

#endif /* SMCR_STATE_RULES_LINKS_CONT_RULES_H */
