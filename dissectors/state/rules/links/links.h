/* links.h
 * The rules of links, LLC and RMBs that several frames together break: what other rooms include.
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
