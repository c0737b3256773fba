/* rules.h
 * Knows the rules of RFC 7609 that several frames together break (docs/rfc7609.md), and whether a
 * capture proves a breach (certain.h). Does not know what a message changes. Called by the flow,
 * before it overwrites what a rule holds the message against; smcr_rules_close() comes last.
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
