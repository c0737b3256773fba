/* roce.h
 * Knows SMC-R on Wireshark's InfiniBand: transport headers, which packets are ours. Does not know
 * what messages mean. Called by the entry for RoCE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_ROCE_ROCE_H
#define SMCR_ROCE_ROCE_H

#include "carrier.h"

#endif /* SMCR_ROCE_ROCE_H */
