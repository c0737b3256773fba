/* fabric.h
 * How the packets of a queue pair fared: what other rooms include.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_FABRIC_H
#define SMCR_FABRIC_FABRIC_H

#include "icrc.h"
#include "ranges.h"
#include "slab.h"
#include "traffic.h"
#include "unacked.h"

#endif /* SMCR_FABRIC_FABRIC_H */
