/* What became of transmissions at their receivers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "chain.h"

/* Sets `fate` and `is_one_of_several` of the chain's transmissions. */
void smcr_fates_find(smcr_chain_t *chain);
