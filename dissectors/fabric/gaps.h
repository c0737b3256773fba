/* gaps.h
 * PSNs that no packet of the capture has had: a short list of ranges in ascending order. Where
 * there are more ranges than it keeps, the oldest two become one, with what lies between them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_GAPS_H
#define SMCR_FABRIC_GAPS_H

#include <stdbool.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "psn.h"

#define SMCR_GAPS_KEPT 32

typedef struct {
    struct smcr_gap *list; /* NULL: there has been none */
    unsigned count;
    smcr_psn_t corrupt; /* from here on all requests had wrong ICRCs; 0: the last one had not */
} smcr_gaps_t;

/* The PSNs from `from` to the one before `to` are absent; they are above all others. `frame` is the
 * first packet behind them. */
void smcr_gaps_add(smcr_gaps_t *gaps, wmem_allocator_t *scope, smcr_psn_t from, smcr_psn_t to,
                   uint32_t frame);

/* Whether `psn` is absent. */
bool smcr_gaps_has(const smcr_gaps_t *gaps, smcr_psn_t psn);

/* `psn` has come after all. */
void smcr_gaps_fill(smcr_gaps_t *gaps, smcr_psn_t psn);

/* The frame behind the first gap of which a PSN is from `from` to the one before `to`; 0: there is
 * none. */
uint32_t smcr_gaps_frame(const smcr_gaps_t *gaps, smcr_psn_t from, smcr_psn_t to);

/* Absent PSNs from `from` to the one before `to`. */
uint64_t smcr_gaps_count(const smcr_gaps_t *gaps, smcr_psn_t from, smcr_psn_t to);

/* A request with a wrong ICRC has `psn`, which is above all others: its receiver lacks it. */
void smcr_gaps_corrupt(smcr_gaps_t *gaps, smcr_psn_t psn);

/* A request with a right ICRC has `psn`, and `highest` is the highest so far. Those with wrong ones
 * before it become a gap, and `frame` is the first packet behind it. */
void smcr_gaps_close(smcr_gaps_t *gaps, wmem_allocator_t *scope, smcr_psn_t psn, smcr_psn_t highest,
                     uint32_t frame);

#endif /* SMCR_FABRIC_GAPS_H */
