/* listeners.h
 * A report that Wireshark's taps feed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_LISTEN_LISTENERS_H
#define SMCR_REPORT_LISTEN_LISTENERS_H

#include <stdio.h>

#include "report/collect/collection.h"
#include "compat.h"

typedef struct smcr_listeners smcr_listeners_t;

/* Draws the report; Wireshark says when. `context` is what smcr_listeners_new() got. */
typedef void smcr_draw_t(const smcr_report_entry_t *report, void *context);

/*
 * Listens to the packets that `filter` selects (NULL: to all), until smcr_listeners_free().
 *
 * Returns NULL where the filter is none; `*error` then says why, and is freed by g_free().
 */
smcr_listeners_t *smcr_listeners_new(const char *filter, smcr_draw_t *draw, void *context,
                                     char **error);
void smcr_listeners_free(smcr_listeners_t *listeners);

/* Called once at start. */
void smcr_listeners_register(void);

#endif /* SMCR_REPORT_LISTEN_LISTENERS_H */
