/* text_page.h
 * A page of text on its way, and its sections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <glib.h>

#include "report/figures/figures.h"

#define SMCR_PAGE_WIDTH 100 /* columns */
#define SMCR_PAGE_MOST  6   /* rows of a list; what goes beyond is summed up */

typedef struct {
    GString *text;
    const smcr_entry_report_t *report;
    wmem_allocator_t *scope; /* of the page */
} smcr_page_t;

/* A heading, behind an empty line. */
void smcr_page_heading(const smcr_page_t *page, const char *heading);

/* A line below a heading. What does not fit goes on in further lines, that many columns in. */
void smcr_page_line(const smcr_page_t *page, unsigned indent, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* A line that begins with a mark; further lines begin where the first one does behind it. What is
 * no character to print becomes a question mark. */
void smcr_page_item(const smcr_page_t *page, const char *mark, const char *text);

/* "  and 12 more", where `count` entries are more than fit. */
void smcr_page_more(const smcr_page_t *page, uint32_t count, const char *hint);

/* ---- tables ---- */

typedef struct {
    const smcr_page_t *page;
    wmem_array_t *cells; /* const char *; "": empty */
    unsigned columns;
    const char *alignment; /* a letter for each column: l, r */
    unsigned indent;
} smcr_text_table_t;

/* A table; each letter of `alignment` is a column, to the left (l) or to the right (r). */
smcr_text_table_t smcr_text_table_new(const smcr_page_t *page, const char *alignment);

/* One row more: a `const char *` for each column. NULL and "": empty. */
void smcr_text_table_row(const smcr_text_table_t *table, ...);

/* Writes the rows. Where a row would be too long, the cells of the widest columns go on in further
 * lines. */
void smcr_text_table_write(const smcr_text_table_t *table);

/* ---- parts of lines ---- */

/* A list of facts with a separator between them; what is "" is left out. NULL ends it. */
const char *
smcr_page_list(const smcr_page_t *page, const char *separator, ...) G_GNUC_NULL_TERMINATED;

/* The entries that weigh most, in this order, of equals the first first. All zeros: none so far. */
typedef struct {
    const void *entries[SMCR_PAGE_MOST];
    uint64_t weights[SMCR_PAGE_MOST];
    uint32_t length; /* of the arrays */
    uint32_t count;  /* that have been added */
} smcr_page_few_t;

void smcr_page_few_add(smcr_page_few_t *few, const void *entry, uint64_t weight);

/* A number with the noun; "" where it is 0 or unknown: nothing to say. */
const char *smcr_page_things(const smcr_page_t *page, uint64_t number, const char *thing);

/* A mean and a maximum: "0.6 ms, at most 2.4 ms"; "" where nothing was measured. */
const char *smcr_page_spread(const smcr_page_t *page, const smcr_distribution_t *spread);

/* Seconds since the first frame, as Wireshark's column Time has them. */
const char *smcr_page_when(const smcr_page_t *page, const smcr_when_t *when);

/* ---- sections ---- */

void smcr_text_connections(const smcr_page_t *page);
void smcr_text_waits(const smcr_page_t *page);
void smcr_text_links(const smcr_page_t *page);
void smcr_text_fabric(const smcr_page_t *page);
void smcr_text_tcp(const smcr_page_t *page);
