/* psn.c
 * Arithmetic of PSNs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "psn.h"

#define BEGIN UINT64_C(0x100000000) /* so that there is room before the first packet */

int32_t
smcr_psn_distance(uint32_t from, uint32_t to)
{
    uint32_t ahead = (to - from) & SMCR_PSN_MASK;

    return ahead < (SMCR_PSN_MASK + 1) / 2 ? (int32_t)ahead
                                           : (int32_t)ahead - (int32_t)(SMCR_PSN_MASK + 1);
}

smcr_psn_t
smcr_psn_begin(uint32_t psn)
{
    return BEGIN + (psn & SMCR_PSN_MASK);
}

smcr_psn_t
smcr_psn_near(smcr_psn_t from, uint32_t psn)
{
    return from + (smcr_psn_t)(int64_t)smcr_psn_distance((uint32_t)(from & SMCR_PSN_MASK), psn);
}
