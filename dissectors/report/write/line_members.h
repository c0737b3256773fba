/* Which members of a report's entry a line of -z smcr,lines has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/figures/figures.h"

/* Name of the list of members of an entry that are not known, although a reader would assume a
 * value for them. */
#define SMCR_JSON_LINE_UNKNOWN "not_known"

/* Whether lines have the numbers of the frames of this kind of entry. Of other entries they have
 * the times of the frames only. */
bool smcr_json_line_has_frames(const smcr_figure_description_t *description);

/* Name of the time that a line has in the place of the time of a frame (smcr_json_line_begin()). */
#define SMCR_JSON_LINE_LASTED "lasted_s"

/* Returns the name of the member of an entry of the kind `description` in a line. */
const char *smcr_json_line_name(const smcr_figure_member_t *member,
                                const smcr_figure_description_t *description);

/* Returns the time of `entry`, of the kind `description`, from which a line counts the time of the
 * frame `member`, nanoseconds since 1970; NULL: a line has the time of the frame itself, or the
 * member is no frame. */
const uint64_t *smcr_json_line_begin(const smcr_figure_member_t *member, const void *entry,
                                     const smcr_figure_description_t *description);

/* Whether the line does not have the member: it is not known or empty, other members of the line
 * say it, only full lines have it, or it has the value that a reader assumes (docs/lines.md).
 * `entry`: the entry of the member, of the kind `description`. `is_full`: the line is a full
 * one. */
bool smcr_json_line_leaves_out(const smcr_figure_member_t *member, const void *entry,
                               const smcr_figure_description_t *description, bool is_full);

/* Whether the member is in the list SMCR_JSON_LINE_UNKNOWN of the entry. */
bool smcr_json_line_is_unknown(const smcr_figure_member_t *member, const void *entry,
                               const smcr_figure_description_t *description);
