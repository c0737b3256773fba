/* Knows how a report is written as a page of text and as JSON. Does not know where figures come
 * from, and adds none. Called by report/, report/page/ and report/lines/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include <stdio.h>

#include "report/figures/figures.h"

#define SMCR_PAGE_WIDTH 72             /* width of the page, characters */
#define SMCR_PAGE_MARK  "  %" PRIu32 ". " /* format of the number at the beginning of a finding */

/* Writes the page into `text`, in the place of what `text` had: at most 60 lines of 72
 * characters of UTF-8, however large the capture is. Times are UTC. `has_filters`: a finding
 * ends with the display filter of its frames, if it has one. */
void smcr_text_write(GString *text, const smcr_entry_report_t *report, bool has_filters);

/* Parts of the page that are neither findings nor tables. PART(name) */
#define SMCR_TEXT_PARTS(PART)                                                                      \
    PART(limits)     /* facts that limit the report */                                             \
    PART(health)     /* "no fault", or what was not analysed */                                    \
    PART(classes)    /* DSCPs and priorities of RDMA packets */                                    \
    PART(congestion) /* marks over time, and how CNPs come and help */                             \
    PART(tcp)        /* segments of TCP that show trouble */

#define SMCR_TEXT_PART(name) SMCR_TEXT_##name,
typedef enum { SMCR_TEXT_PARTS(SMCR_TEXT_PART) SMCR_TEXT_PART_COUNT } smcr_text_part_t;
#undef SMCR_TEXT_PART

/* Appends a part of the page to `text`, each of its sentences in one line. */
void smcr_text_write_part(GString *text, const smcr_entry_report_t *report, smcr_text_part_t part);

/* Returns the display filter of the frames that a finding rests on; NULL: it has none. `number`:
 * number of the finding. `is_marked`: Wireshark shows smcr.finding in these frames, under this
 * number. Without the field, the filter is the one of the finding's rule. `scope` owns the
 * filter. */
const char *smcr_text_filter(wmem_allocator_t *scope, const smcr_entry_finding_t *finding,
                             uint32_t number, bool is_marked);

/* Writes the report as JSON (schema "smcr-report/1", docs/json.md), and a newline. Texts that are
 * not valid UTF-8 are made valid. */
void smcr_json_write(FILE *file, const smcr_entry_report_t *report);

/* Appends a line (schema "smcr-lines/1", docs/lines.md) to `text`, with a newline at its end and
 * none before. The line leaves out what its reader knows by the rules of docs/lines.md. Texts are
 * made valid UTF-8. */
void smcr_json_write_line(GString *text, const smcr_entry_line_t *line);

/* Chooses entries of the report's lists, and of lists within entries. */
typedef struct {
    /* returns whether the entry number `at` of the list `list` is chosen; `list` is the name of the
     * list, as in JSON */
    bool (*chooses)(const void *data, const char *list, const void *entry, uint32_t at);
    const void *data; /* first argument of `chooses` */
} smcr_json_choice_t;

/* Appends the report as JSON in one line, with the chosen entries of its lists. Sums include all
 * entries. */
void smcr_json_append_chosen(GString *text, const smcr_entry_report_t *report,
                             const smcr_json_choice_t *choice);

/* A table of some figures of all entries of a list. */
typedef struct {
    const smcr_figure_list_t *list;               /* the entries */
    const smcr_figure_description_t *description; /* description of the entries */
    const char *const *paths; /* names of the figures, as in JSON: "client.addr" */
    unsigned path_count;      /* number of `paths` */
} smcr_json_table_t;

/* Appends the table as JSON: {"columns": the paths, "rows": an array of values for each entry,
 * "texts": all texts of the rows}. In a row a text is written as its index in `texts`, since few
 * texts come often; a time, such as "first_time", is written as it is. The values are those of
 * smcr_json_write(). */
void smcr_json_append_table(GString *text, const smcr_json_table_t *table);
