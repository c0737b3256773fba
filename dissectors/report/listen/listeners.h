/* Knows the four taps that feed a report. Does not know how anything is counted. Called by the
 * rooms report/ and report/lines/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/collect/assembly/collection.h"

typedef struct smcr_listeners smcr_listeners_t;

/* A function that gets a report to show it. `context`: the one that was given together with the
 * function. */
typedef void smcr_listeners_draw_t(const smcr_entry_report_t *report, void *context);

/* Registers listeners for the packets that the display filter `filter` selects, until
 * smcr_listeners_free(). If `filter` is NULL, the listeners get all packets.
 *
 * Returns NULL if the filter has a syntax error. Then `*error` is set to the error message, which
 * the caller frees by g_free(). */
smcr_listeners_t *smcr_listeners_new(const char *filter, smcr_listeners_draw_t *draw, void *context,
                                     char **error);
void smcr_listeners_free(smcr_listeners_t *listeners);

/* Whether exactly one report has listeners, and no data is collected for smcr.finding. Then records
 * and connections may be forgotten. */
bool smcr_listeners_are_of_one(void);

/* The functions of a writer that writes while frames come. `context`: from
 * smcr_listeners_of_frames(). */
typedef struct {
    /* called after each frame */
    void (*end_frame)(smcr_collection_t *collection, const packet_info *pinfo, void *context);
    /* called after the last frame: when Wireshark draws, or when it closes the file without
     * drawing */
    void (*end)(smcr_collection_t *collection, void *context);
} smcr_listeners_writer_t;

/* As smcr_listeners_new(), for a writer of lines. The collection lets go of connections. */
smcr_listeners_t *smcr_listeners_of_frames(const char *filter,
                                           const smcr_listeners_writer_t *writer, void *context,
                                           char **error);

/* Makes the listeners take their packets into `series`, too, from which a page gets its pictures.
 * The caller frees `series` after the listeners. */
void smcr_listeners_draw_series(smcr_listeners_t *listeners, smcr_series_t *series);

/* Registers listeners for a statistic whose own listener Wireshark registers. Wireshark gives the
 * user's filter only to that listener. So the listeners registered by this function get all frames,
 * and count the frames that smcr_listeners_select() selects. Wireshark draws these listeners before
 * the statistic. */
smcr_listeners_t *smcr_listeners_of_selected(smcr_listeners_draw_t *draw, void *context);

/* Selects this frame. Called by the listener of the statistic, which is on the tap `frame`. */
void smcr_listeners_select(smcr_listeners_t *listeners, const packet_info *pinfo);

/* Makes a report of all packets of each first pass from now on, and passes it to `watch` after the
 * last frame of the pass. In a file that is read in two passes this is before the first frame that
 * the listeners get. Called by at most one caller. */
void smcr_listeners_watch_first_pass(smcr_listeners_draw_t *watch, void *context);

/* Registers smcr.finding (finding_marks.h), and the cleanup that runs when Wireshark closes a
 * capture file. Called once at start. */
void smcr_listeners_register(void);
