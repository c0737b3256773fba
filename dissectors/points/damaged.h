/* Which transmissions were damaged between two capture points.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "chain.h"

/* Finds the transmissions of the chain that a point has damaged, and an earlier point of the way
 * undamaged, and sets their `damaged`. RoCE: joins packets with a wrong ICRC to these
 * transmissions. `observed`: the observations of the file; sets `transmission` of these packets. */
void smcr_chain_join_damaged(smcr_chain_t *chain, smcr_observed_t *observed);
