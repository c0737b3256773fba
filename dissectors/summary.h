/* summary.h
 * What a message is in short: its text in the Info column, and that of its line in the tree. All
 * functions add to the end; where the walk only examines the message they do nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SUMMARY_H
#define SMCR_SUMMARY_H

#include "layout.h"

/* A text for the Info column alone, and one for the line alone. */
void smcr_say_info(const smcr_walk_t *walk, const char *format, ...) G_GNUC_PRINTF(2, 3);
void smcr_say_line(const smcr_walk_t *walk, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The same text for both. */
void smcr_say_both(const smcr_walk_t *walk, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* A value: " key=value" in the Info column, ", words value" in the line. */
void smcr_say(const smcr_walk_t *walk, const char *key, const char *words, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* A remark: " text" in the Info column, ", text" in the line. */
void smcr_remark(const smcr_walk_t *walk, const char *format, ...) G_GNUC_PRINTF(2, 3);

#endif /* SMCR_SUMMARY_H */
