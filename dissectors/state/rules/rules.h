/* rules.h
 * The rules of RFC 7609 that several frames together break (docs/rfc7609.md): what other rooms
 * include. The flow calls a rule before it overwrites what the rule holds the message against;
 * other things it may have learned from the message already. smcr_rules_close() comes after all
 * of them. links/ has those of links, LLC and RMBs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_RULES_RULES_H
#define SMCR_STATE_RULES_RULES_H

#include "cdc_rules.h"
#include "certain.h"
#include "clc_rules.h"
#include "close_rules.h"
#include "move_rules.h"
#include "tcp_rules.h"
#include "v2_rules.h"
#include "write_rules.h"

#endif /* SMCR_STATE_RULES_RULES_H */
