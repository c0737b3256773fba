/* roce.h
 * SMC-R on Wireshark's InfiniBand: what other rooms include.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_ROCE_ROCE_H
#define SMCR_ROCE_ROCE_H

#include "carrier.h"

#endif /* SMCR_ROCE_ROCE_H */
