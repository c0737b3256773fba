/* What became of TCP segments at their receivers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "chain.h"

/* Sets `fate` of the transmissions of a chain of TCP segments. */
void smcr_fates_find_tcp(smcr_chain_t *chain);
