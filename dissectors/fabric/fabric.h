/* Knows how packets fared: order of PSNs, retransmissions, gaps, steps back and their causes,
 * acknowledgements, congestion, the ICRC (docs/fabric.md). Does not know SMC-R or Wireshark.
 * Called by the state, by roce/ for the ICRC, by payload/ for its ranges, and by reports.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "acknowledged.h"
#include "copies.h"
#include "icrc.h"
#include "ranges.h"
#include "slab.h"
#include "sorted.h"
#include "traffic.h"
