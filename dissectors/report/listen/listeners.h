/* Knows the four taps that feed a report. Counts nothing itself. Called by whoever shows a report
 * or makes a table of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/collect/collection.h"

typedef struct smcr_listeners smcr_listeners_t;

/* Draws the report; Wireshark says when. `context` is what smcr_listeners_new() got. */
typedef void smcr_listeners_draw_t(const smcr_entry_report_t *report, void *context);

/* Listens to the packets that `filter` selects (NULL: to all), until smcr_listeners_free().
 *
 * Returns NULL where the filter is none; `*error` then says why, and is freed by g_free(). */
smcr_listeners_t *smcr_listeners_new(const char *filter, smcr_listeners_draw_t *draw, void *context,
                                     char **error);
void smcr_listeners_free(smcr_listeners_t *listeners);

/* The same for a statistic whose listener Wireshark registers itself, with a filter that nobody
 * else gets to know. It listens to all frames, and takes those that smcr_listeners_select() names.
 * It draws before that statistic does. */
smcr_listeners_t *smcr_listeners_of_selected(smcr_listeners_draw_t *draw, void *context);

/* The listener of the statistic, at the tap `frame`, has got this frame. */
void smcr_listeners_select(smcr_listeners_t *listeners, const packet_info *pinfo);

/* Called once at start. */
void smcr_listeners_register(void);
