/* A page of text while it is written, and its lines. Widths are in characters, not in bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "output.h"

#define SMCR_TEXT_INDENT 2 /* indentation of a line below its heading, characters */

/* The page that is being written. */
typedef struct {
    GString *text; /* the page, to which lines are appended */
    const smcr_entry_report_t *report; /* the report that is written */
    wmem_allocator_t *scope; /* memory pool that owns the texts of the page */
    glong width;             /* width of the page, characters; G_MAXINT: no limit */
    unsigned most;           /* maximum number of rows of each table */
    bool is_marked;          /* smcr.finding selects the frames of the findings
                                (are_frames_marked() in text.c) */
    bool has_filters;        /* findings end with their display filters */
} smcr_text_page_t;

/* Returns the width of a text, characters. */
glong smcr_text_width(const char *text);

/* Appends `columns` spaces to the text; none if `columns` is negative. */
void smcr_text_pad(GString *text, glong columns);

/* Writes a line: the mark, then the text, which is not empty. If the text does not fit into one
 * line, it continues in further lines, which are indented by `indent` columns. */
void smcr_text_item(const smcr_text_page_t *page, const char *mark, glong indent, const char *text);

/* Writes a line, indented by SMCR_TEXT_INDENT columns. `format` and the arguments after it are as
 * for printf(). */
G_GNUC_PRINTF(2, 3)
void smcr_text_line(const smcr_text_page_t *page, const char *format, ...);
