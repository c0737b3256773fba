/* byte_ranges.h
 * A set of numbers as a few ranges in ascending order: which bytes of a stream have come, and which
 * are acknowledged out of turn. Where there are more ranges than it keeps, the lowest two become
 * one, with what lies between them: bytes are then rather counted too few than twice.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_FIGURES_BYTE_RANGES_H
#define SMCR_REPORT_FIGURES_BYTE_RANGES_H

#include <stdint.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#define SMCR_BYTE_RANGES_KEPT 16

/* All zeros: the empty set. */
typedef struct {
    struct smcr_byte_range *list; /* NULL: there has been none */
    uint8_t count, room;
} smcr_byte_ranges_t;

/* Adds the numbers from `from` to the one before `to`. Returns how many were not in the set. */
uint64_t smcr_byte_ranges_add(smcr_byte_ranges_t *ranges, wmem_allocator_t *scope, uint64_t from,
                              uint64_t to);

/* Takes out all numbers below `below`. Returns how many were in the set. */
uint64_t smcr_byte_ranges_remove(smcr_byte_ranges_t *ranges, uint64_t below);

#endif /* SMCR_REPORT_FIGURES_BYTE_RANGES_H */
