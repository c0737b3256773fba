/* failover.h
 * Lost links: where their connections went, and what that has cost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_WORDS_FAILOVER_H
#define SMCR_REPORT_WORDS_FAILOVER_H

#include "report/figures/figures.h"

typedef struct {
    unsigned moved; /* connections that went to another link */
    uint64_t to;    /* number of that link; SMCR_FIGURE_UNKNOWN: several, or not known */
    uint64_t still; /* longest interruption of a moved connection, nanoseconds; 0: unknown */
    smcr_when_t first_move;
} smcr_words_failover_t;

/* Whether a side has given the link up since its path is lost; whether connections have left it. */
bool smcr_words_link_is_lost(const smcr_entry_link_t *link);
bool smcr_words_link_is_left(const smcr_entry_link_t *link);

/* Whether the capture has no packet and no connection of the link: there is nothing to move. */
bool smcr_words_link_is_unused(const smcr_entry_link_t *link);

/* The connections that left the link, and where they went. */
smcr_words_failover_t smcr_words_failover_of(const smcr_entry_report_t *report,
                                             const smcr_entry_link_group_t *group,
                                             const smcr_entry_link_t *link);

/* "3 connections moved to link 1, 4.1 ms after the last message on it"; "" where none has moved. */
const char *smcr_words_failover(wmem_allocator_t *scope, const smcr_words_failover_t *failover);

#endif /* SMCR_REPORT_WORDS_FAILOVER_H */
