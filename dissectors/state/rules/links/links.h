/* links.h
 * Knows the same rules for links, LLC and RMBs. Does not know what a message changes. Called by
 * the flow, as the other rules are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_LINKS_LINKS_H
#define SMCR_STATE_RULES_LINKS_LINKS_H

#include "cont_rules.h"
#include "delete_rules.h"
#include "exchange_rules.h"
#include "limit_rules.h"
#include "link_rules.h"
#include "llc_rules.h"
#include "rkey_rules.h"
#include "rmb_rules.h"
#include "use_rules.h"

#endif /* SMCR_STATE_RULES_LINKS_LINKS_H */
