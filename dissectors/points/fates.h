/* What became of transmissions at their receivers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "chain.h"

/* Finds the fates of all transmissions of the chain. */
void smcr_fates_find(smcr_chain_t *chain);
