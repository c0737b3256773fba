/* summary.h
 * What is said of a message: its text in the Info column, that of its line in the tree, and expert
 * items. Texts are added to the end. Where the walk only examines the message nothing is said.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "layout.h"

/* A text, in the Info column behind `info`, in the line behind `line`; NULL: it is not there. */
void smcr_say_behind(const smcr_layout_walk_t *walk, const char *info, const char *line,
                     const char *format, ...) G_GNUC_PRINTF(4, 5);

/* A text for the Info column alone, one for the line alone, and the same text for both. A remark:
 * " text" in the Info column, ", text" in the line. */
#define smcr_say_info(walk, ...) smcr_say_behind(walk, "", NULL, __VA_ARGS__)
#define smcr_say_line(walk, ...) smcr_say_behind(walk, NULL, "", __VA_ARGS__)
#define smcr_say_both(walk, ...) smcr_say_behind(walk, "", "", __VA_ARGS__)
#define smcr_say_remark(walk, ...) smcr_say_behind(walk, " ", ", ", __VA_ARGS__)

/* A value: " key=value" in the Info column, ", words value" in the line. */
void smcr_say(const smcr_layout_walk_t *walk, const char *key, const char *words,
              const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Trouble: "[text] " before all else in the Info column, where no later text removes it. */
void smcr_say_trouble(const smcr_layout_walk_t *walk, const char *text);

/* An expert item at what the message has last shown of field `hf`; with the sentence of the table
 * of expert items, or with one of its own. */
void smcr_say_note(const smcr_layout_walk_t *walk, int hf, expert_field *expert);
void smcr_say_note_format(const smcr_layout_walk_t *walk, int hf, expert_field *expert,
                          const char *format, ...) G_GNUC_PRINTF(4, 5);

/* What follows the message in the payload, from a byte on, and an expert item, if anything does. */
void smcr_say_extra_bytes(const smcr_layout_walk_t *walk, tvbuff_t *payload, unsigned from);
