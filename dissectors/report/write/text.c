/* The report as one page of text. The page has three parts. 1. The capture, and facts that limit
 * the report. 2. The findings, in their order. 3. From each table the rows that suffered most, and
 * the rows that carried most. If the text is longer than a page, it is written once more with fewer
 * rows and findings. Widths are in characters, not in bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "output.h"

#include <stdarg.h>

#include "report/tables/tables.h"
#include "report/words/words.h"

#define PAGE_LINES    60
#define ROWS_MOST     6 /* maximum number of rows of a table on the page */
#define ROWS_KEPT     64 /* number of rows that are kept until some of them can be left out */
#define ROWS_COLUMNS  8
#define FINDINGS_MORE 4 /* the page has up to `most` + FINDINGS_MORE findings (page_t.most) */
#define INDENT        2
#define BETWEEN       2 /* spaces between the columns of a table */

typedef struct {
    GString *text;
    const smcr_entry_report_t *report; /* the report that is written */
    wmem_allocator_t *scope; /* memory pool that owns the texts of the page */
    glong width;             /* width of the page, characters */
    unsigned most;           /* maximum number of rows of each table */
    bool is_marked;          /* smcr.finding selects the frames of the findings
                                (are_frames_marked()) */
    bool has_filters;        /* findings end with their display filters */
} page_t;

/* ---- lines ---- */

/* Returns the width of a text, characters. */
static glong
width(const char *text)
{
    return g_utf8_strlen(text, -1);
}

/* Appends `columns` spaces to the text; none if `columns` is negative. */
static void
pad(GString *text, glong columns)
{
    for (; columns > 0; columns--)
        g_string_append_c(text, ' ');
}

/* Returns how many bytes of the text fit into a line of `columns` characters. The line ends before
 * a space. If the text has no space there, the line ends within a word. */
static size_t
that_fits(const char *text, glong columns)
{
    const char *end = NULL, *at = text;

    if (width(text) <= columns)
        return strlen(text);
    for (glong column = 0; column <= columns; column++, at += g_utf8_skip[(uint8_t)*at])
        if (*at == ' ' && at != text)
            end = at;
    return (size_t)((end ? end : g_utf8_prev_char(at)) - text);
}

/* Writes a line: the mark, then the text. If the text does not fit into one line, it continues in
 * further lines, which are indented by `indent` columns. */
static void
write_item(const page_t *page, const char *mark, glong indent, const char *text)
{
    glong before = width(mark);

    g_string_append(page->text, mark);
    while (*text) {
        size_t length = that_fits(text, page->width - before);
        g_string_append_len(page->text, text, (gssize)length);
        g_string_append_c(page->text, '\n');
        text += length;
        text += strspn(text, " ");
        if (*text)
            pad(page->text, indent);
        before = indent;
    }
}

static G_GNUC_PRINTF(2, 3) void
/* Writes a line, indented by INDENT columns. `format` and the arguments after it are as for
 * printf(). */
write_line(const page_t *page, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    write_item(page, "  ", INDENT, wmem_strdup_vprintf(page->scope, format, arguments));
    va_end(arguments);
}

/* ---- the capture ---- */

/* Whether the page has a finding of truncated frames. */
static bool
has_truncation_finding(const smcr_entry_report_t *report)
{
    SMCR_FIGURE_EACH(finding, finding, report->findings)
        if (g_strcmp0(finding->kind, "cut_frames") == 0)
            return true;
    return false;
}

/* Writes facts that limit the report: a display filter, truncated frames, too many RDMA flows, a
 * capture that was read in a single pass. A finding of truncated frames reports them instead of the
 * first lines. */
static void
write_limits(const page_t *page)
{
    const smcr_entry_capture_t *capture = &page->report->capture;

    if (capture->filter)
        write_line(page, "display filter %s; no findings about missing packets",
                   smcr_words_clean(page->scope, capture->filter));
    if (smcr_figure_or_zero(capture->cut_frames) && !has_truncation_finding(page->report))
        write_line(page, "%s truncated by snaplen",
                   smcr_words_things(page->scope, capture->cut_frames, "frame"));
    if (smcr_figure_or_zero(capture->flows_not_counted))
        write_line(page, "%s not counted: after 65,536 flows only those of SMC-R are",
                   smcr_words_things(page->scope, capture->flows_not_counted, "RDMA flow"));
    if (capture->passes == 1 && page->report->rdma_flows.length)
        write_line(page, "read in one pass; two passes show more (tshark -2, or close and open "
                         "the window of the report)");
}

/* Writes the head of the page: size and time of the capture, and what limits the report. */
static void
write_capture(const page_t *page)
{
    const smcr_entry_capture_t *capture = &page->report->capture;
    uint64_t first = capture->first_time, last = capture->last_time;
    const char *when = "";

    if (first != SMCR_FIGURE_UNKNOWN && last != SMCR_FIGURE_UNKNOWN)
        when = wmem_strdup_printf(page->scope, ", %s from %s",
                                  smcr_words_duration(page->scope, last > first ? last - first : 0),
                                  smcr_words_moment(page->scope, first));
    write_item(page, "", INDENT,
               wmem_strdup_printf(page->scope, "%s, %s%s",
                                  smcr_words_things(page->scope, capture->frames, "frame"),
                                  smcr_words_bytes(page->scope, capture->bytes), when));
    write_limits(page);
}

/* ---- findings ---- */

/* Returns the frame and its time since the first frame, as in Wireshark's column Time: "frame 4,
 * 0.000123 s"; "" for frame 0. */
static const char *
when_of(const page_t *page, const smcr_when_t *when)
{
    uint64_t first = page->report->capture.first_time, micros;

    if (!when->frame)
        return "";
    if (first == SMCR_FIGURE_UNKNOWN || when->time < first)
        return wmem_strdup_printf(page->scope, "frame %" PRIu32, when->frame);
    micros = (when->time - first) / SMCR_TIME_MICROSECOND;
    return wmem_strdup_printf(page->scope, "frame %" PRIu32 ", %" PRIu64 ".%06" PRIu64 " s",
                              when->frame, micros / 1000000, micros % 1000000);
}

const char *
smcr_text_filter(wmem_allocator_t *scope, const smcr_entry_finding_t *finding, uint32_t number,
                 bool is_marked)
{
    if (!finding->frame.frame)
        return NULL;
    return is_marked ? wmem_strdup_printf(scope, "smcr.finding == %" PRIu32, number)
                     : finding->filter;
}

/* Whether `tshark -2 -Y 'smcr.finding == 1'` finds the frames of the findings under their numbers
 * in this report. It finds those of the first pass (finding_marks.h). A host that reports a socket
 * late names a connection in the second pass only, which may change findings. Findings of a report
 * with a display filter have other numbers. */
static bool
are_frames_marked(const smcr_entry_report_t *report)
{
    SMCR_FIGURE_EACH(connection, conn, report->connections)
        if (conn->named_by)
            return false;
    return !report->capture.filter;
}

/* Writes a finding: severity and sentence in the first lines, then frame, time and display filter.
 * These three are in one line if they fit into it. A finding without frames has no filter. The
 * filter stands as an option of tshark; smcr.finding needs two passes. */
static void
write_finding(const page_t *page, uint32_t number, const smcr_entry_finding_t *finding)
{
    const char *mark = wmem_strdup_printf(page->scope, SMCR_PAGE_MARK "%-5s ", number,
                                          smcr_figure_severity_words[finding->severity]);
    const char *when = when_of(page, &finding->frame), *line = "";
    const char *filter = smcr_text_filter(page->scope, finding, number, page->is_marked);
    const char *indent = wmem_strdup_printf(page->scope, "%*s", (int)width(mark), "");

    if (filter && page->has_filters)
        line = wmem_strdup_printf(page->scope, "  %s-Y '%s'", page->is_marked ? "-2 " : "", filter);
    write_item(page, mark, width(mark), finding->text);
    if (!*when)
        return;
    if (width(mark) + width(when) + width(line) <= SMCR_PAGE_WIDTH) {
        write_item(page, indent, width(mark),
                   wmem_strdup_printf(page->scope, "%s%s", when, line));
        return;
    }
    write_item(page, indent, width(mark), when);
    write_item(page, indent, width(mark), line + strspn(line, " "));
}

/* Returns the number of frames with RoCE packets that are not known to be SMC-R, which the report
 * has not analysed. */
static uint64_t
count_others(const smcr_entry_report_t *report)
{
    return report->other_roce ? report->other_roce->packets : 0;
}

/* Whether all findings are for information (severity "info"). True if there are no findings. */
static bool
are_findings_informative(const smcr_entry_report_t *report)
{
    SMCR_FIGURE_EACH(finding, finding, report->findings)
        if (finding->severity != SMCR_FIGURE_INFO)
            return false;
    return true;
}

/* Returns that no fault was found, with the protocols that were examined: SMC-R and TCP or, with
 * the preference smcr.roce, all RoCE packets. */
static const char *
no_fault_text(const smcr_entry_report_t *report)
{
    if (report->capture.smcr_roce == SMCR_FIGURE_YES)
        return "No fault found";
    return report->connections.length || report->rdma_flows.length
               ? "No fault of SMC-R or TCP found"
               : "No SMC-R; no fault of TCP found";
}

/* Writes that no fault was found. */
static void
write_no_fault(const page_t *page)
{
    const smcr_entry_report_t *report = page->report;

    write_line(page, "%s in %s.%s", no_fault_text(report),
               report->capture.filter ? "these frames" : "this capture",
               report->findings.length ? " For information:" : "");
}

/* Writes that `count` RoCE packets were not examined, which are not known to be SMC-R: those of a
 * connection that began before the capture may be. `has_examined`: the report has examined other
 * packets. */
static void
write_others(const page_t *page, uint64_t count, bool has_examined)
{
    write_line(page, "%s%s %s not known to be SMC-R, and not analysed. To analyse %s, set the "
                     "preference \"Analyse other RoCE packets, too\" (-o smcr.roce:TRUE).",
               has_examined ? "" : "No SMC-R is recognised. ",
               smcr_words_things(page->scope, count, "RoCE packet"), count == 1 ? "is" : "are",
               count == 1 ? "it" : "them");
}

/* Writes the first lines of the findings: that there are no frames; if all findings are for
 * information, that no fault was found, or that packets not known to be SMC-R were not examined. */
static void
write_health(const page_t *page)
{
    const smcr_entry_report_t *report = page->report;
    uint64_t other_packets = count_others(report);
    bool has_traffic =
        report->connections.length || report->rdma_flows.length || report->tcp_flows.length;
    bool has_examined = has_traffic || !other_packets;

    if (!report->capture.frames)
        write_line(page, "No frames.");
    if (!report->capture.frames || !are_findings_informative(report))
        return;
    if (has_examined)
        write_no_fault(page);
    if (other_packets)
        write_others(page, other_packets, has_examined);
}

/* Writes the findings, in their order. Writes at most FINDINGS_MORE findings more than a table may
 * have rows. */
static void
write_findings(const page_t *page)
{
    const smcr_figure_list_t *findings = &page->report->findings;
    uint32_t most = MIN(findings->length, page->most + FINDINGS_MORE);

    g_string_append(page->text, "\nFindings\n");
    write_health(page);
    for (uint32_t i = 0; i < most; i++)
        write_finding(page, i + 1, findings->entries[i]);
    if (most < findings->length)
        write_line(page, "and %s: -z smcr,json",
                   smcr_words_things(page->scope, findings->length - most, "more finding"));
}

/* ---- tables ---- */

/* A row that the page may show. */
typedef struct {
    smcr_table_cell_t cells[ROWS_COLUMNS]; /* cells of the columns that the page shows */
    char *texts[ROWS_COLUMNS]; /* texts of these cells; NULL: the cell has no text */
    uint64_t weights[2]; /* rank of the row; index: 0 how much it has suffered, 1 how much it has
                            carried (tables.h) */
    bool chosen; /* the page shows the row */
} row_t;

/* A table of the page. */
typedef struct {
    const page_t *page;
    const smcr_table_kind_t *kind;
    row_t *rows;         /* ROWS_KEPT rows, in the order of the table */
    unsigned kept;       /* number of rows in `rows` that are in use */
    uint32_t row_count;  /* number of all rows of the table */
    const row_t *chosen[ROWS_MOST];                   /* rows that the page shows, in the order of
                                                         their choice */
    unsigned chosen_count;                            /* number of rows in `chosen` */
    const smcr_table_column_t *columns[ROWS_COLUMNS]; /* the columns of the table that the page
                                                         shows */
    glong widths[ROWS_COLUMNS]; /* widths of these columns, characters */
    unsigned count; /* number of columns that the page shows */
} columns_t;

/* Chooses the rows with the highest weight, until `most` rows of the table are chosen. Of rows with
 * equal weight, the first one is chosen. A row whose weight is 0 is not chosen. `weight`: index of
 * row_t.weights. */
static void
choose(columns_t *table, unsigned weight, unsigned most)
{
    while (table->chosen_count < most) {
        row_t *best = NULL;
        uint64_t most_weight = 0;
        for (row_t *row = table->rows; row < table->rows + table->kept; row++) {
            if (row->chosen || row->weights[weight] <= most_weight)
                continue;
            best = row;
            most_weight = row->weights[weight];
        }
        if (!best)
            return;
        best->chosen = true;
        table->chosen[table->chosen_count++] = best;
    }
}

/* Chooses the rows that the page shows. The rows that suffered most are chosen first, up to half of
 * the rows. The rows that carried most fill the other half. */
static void
choose_rows(columns_t *table)
{
    choose(table, 0, table->page->most / 2);
    choose(table, 1, table->page->most);
}

/* Frees the texts of a row. */
static void
free_texts(const columns_t *table, row_t *row)
{
    for (unsigned i = 0; i < table->count; i++)
        wmem_free(table->page->scope, row->texts[i]);
}

/* Forgets the rows that the page would not show if the table ended here. Further rows cannot make
 * the page show them. So the rows of many connections take little memory. */
static void
forget_rows(columns_t *table)
{
    unsigned kept = 0;

    choose_rows(table);
    for (unsigned i = 0; i < table->kept; i++) {
        if (!table->rows[i].chosen) {
            free_texts(table, &table->rows[i]);
            continue;
        }
        table->rows[kept] = table->rows[i];
        table->rows[kept++].chosen = false;
    }
    table->kept = kept;
    table->chosen_count = 0;
}

/* Keeps a row of the table, with the cells of the columns that the page shows. */
static void
take_row(void *context, const smcr_table_cell_t *cells, uint64_t busy, uint64_t troubled)
{
    columns_t *table = context;
    unsigned count = 0;

    if (table->kept == ROWS_KEPT)
        forget_rows(table);
    row_t *row = &table->rows[table->kept++];
    *row = (row_t){.weights = {troubled, busy}};
    for (unsigned i = 0; i < table->kind->column_count; i++) {
        const smcr_table_column_t *column = &table->kind->columns[i];
        if (!column->page)
            continue;
        row->cells[count] = cells[i];
        if (column->kind == SMCR_TABLE_TEXT && cells[i].TEXT)
            row->texts[count] = wmem_strdup(table->page->scope, cells[i].TEXT);
        if (column->kind == SMCR_TABLE_TEXT)
            row->cells[count].TEXT = row->texts[count];
        count++;
    }
    table->row_count++;
}

/* Returns a cell's number with its unit. `kind`: COUNT, BYTES or SECONDS. */
static const char *
number_text(wmem_allocator_t *scope, smcr_table_cell_kind_t kind, const smcr_table_cell_t *cell)
{
    if (kind == SMCR_TABLE_COUNT)
        return smcr_words_number(scope, cell->COUNT);
    if (kind == SMCR_TABLE_BYTES)
        return smcr_words_size(scope, cell->BYTES);
    return smcr_words_duration(scope, cell->SECONDS);
}

/* Returns a range, "1.03 to 1.05 s". The unit is written once if both bounds have the same one. */
static const char *
range_text(wmem_allocator_t *scope, const char *least, const char *most)
{
    const char *unit = strchr(least, ' '), *other = strchr(most, ' ');
    bool is_same = unit && other && strcmp(unit, other) == 0;

    return wmem_strdup_printf(scope, "%.*s to %s",
                              is_same ? (int)(unit - least) : (int)strlen(least), least, most);
}

/* Returns the text of a number that is known only by its bounds:
 * 1. "?" if the lower bound is 0 and there is no upper bound;
 * 2. "≤2 ms" if the lower bound is 0;
 * 3. "≥1.03 s" if there is no upper bound, or if the upper bound is twice the lower bound or more;
 * 4. "1.03 to 1.05 s" otherwise; a single number if both bounds have the same text. */
static const char *
bounds_text(wmem_allocator_t *scope, smcr_table_cell_kind_t kind, const smcr_table_cell_t *cell)
{
    const char *least = number_text(scope, kind, cell);
    smcr_table_cell_t upper = *cell;

    upper.NUMBER = cell->most;
    if (!cell->most)
        return cell->NUMBER ? wmem_strdup_printf(scope, "≥%s", least) : "?";
    const char *most = number_text(scope, kind, &upper);
    if (!cell->NUMBER)
        return wmem_strdup_printf(scope, "≤%s", most);
    if (cell->most >= 2 * cell->NUMBER)
        return wmem_strdup_printf(scope, "≥%s", least);
    return strcmp(least, most) == 0 ? least : range_text(scope, least, most);
}

/* Returns the text of a cell. Kind NUMBER (an index, a frame): the digits, "" if it is not known.
 * Other kinds: "-" for zero, "?" if the value is not known, "n/a" if the row cannot have one, a
 * range if only its bounds are known (bounds_text()). */
static const char *
text_of(const columns_t *table, unsigned column, const smcr_table_cell_t *cell)
{
    smcr_table_cell_kind_t kind = table->columns[column]->kind;
    wmem_allocator_t *scope = table->page->scope;

    if (kind == SMCR_TABLE_TEXT)
        return cell->TEXT ? cell->TEXT : "?";
    if (cell->is_of_tcp)
        return "n/a";
    if (cell->NUMBER == SMCR_FIGURE_UNKNOWN)
        return kind == SMCR_TABLE_NUMBER ? "" : "?";
    if (kind == SMCR_TABLE_NUMBER)
        return wmem_strdup_printf(scope, "%" PRIu64, cell->NUMBER);
    if (cell->at_least)
        return bounds_text(scope, kind, cell);
    return cell->NUMBER ? number_text(scope, kind, cell) : "-";
}

/* Writes a row as a line of cells. Only the cell of the first column can be wider than its column.
 * Such a cell gets a line of its own. */
static void
write_cells(const columns_t *table, const char *const *cells)
{
    GString *text = table->page->text;

    for (unsigned i = 0; i < table->count; i++) {
        glong space = table->widths[i] - width(cells[i]);
        bool is_text = table->columns[i]->kind == SMCR_TABLE_TEXT;
        if (space < 0) {
            write_item(table->page, "  ", 2 * INDENT, cells[i]);
            pad(text, INDENT + table->widths[i]);
            continue;
        }
        pad(text, (is_text ? 0 : space) + (i ? BETWEEN : INDENT));
        g_string_append(text, cells[i]);
        pad(text, is_text ? space : 0);
    }
    while (text->str[text->len - 1] == ' ')
        g_string_truncate(text, text->len - 1);
    g_string_append_c(text, '\n');
}

/* Makes each column as wide as its widest cell. But the first column gets at most the space that
 * the other columns leave in a line. `lines`: texts of the cells, in row 0 the names of the
 * columns. */
static void
measure(columns_t *table, const char *(*lines)[ROWS_COLUMNS])
{
    glong left = SMCR_PAGE_WIDTH - INDENT;

    for (unsigned i = table->count; i-- > 0;) {
        for (unsigned line = 0; line <= table->chosen_count; line++)
            table->widths[i] = MAX(table->widths[i], width(lines[line][i]));
        left -= i ? table->widths[i] + BETWEEN : 0;
    }
    table->widths[0] = MIN(table->widths[0], MAX(left, width(lines[0][0])));
}

/* Whether a line with all columns fits into the page. */
static bool
fits(const columns_t *table)
{
    glong length = INDENT + table->widths[0];

    for (unsigned i = 1; i < table->count; i++)
        length += BETWEEN + table->widths[i];
    return length <= SMCR_PAGE_WIDTH;
}

/* Whether a cell of the chosen rows has the sign, such as "≤". Texts of peers are not examined.
 * `lines`: as in measure(). */
static bool
has_sign(const columns_t *table, const char *(*lines)[ROWS_COLUMNS], const char *sign)
{
    for (unsigned i = 0; i < table->count; i++)
        for (unsigned line = 1; line <= table->chosen_count; line++)
            if (table->columns[i]->kind != SMCR_TABLE_TEXT && strstr(lines[line][i], sign))
                return true;
    return false;
}

/* Whether the table's note is about a column of which a chosen row has a number. `lines`: as in
 * measure(). */
static bool
needs_note(const columns_t *table, const char *(*lines)[ROWS_COLUMNS])
{
    for (unsigned i = 0; i < table->count && table->kind->note; i++)
        for (unsigned line = 1; line <= table->chosen_count; line++)
            if (strstr(table->kind->note, lines[0][i]) && strpbrk(lines[line][i], "0123456789"))
                return true;
    return false;
}

/* Writes below the rows what their columns and signs mean, as far as the chosen rows have them. */
static void
write_note(const columns_t *table, const char *(*lines)[ROWS_COLUMNS])
{
    static const struct {
        const char *sign;    /* sign in a cell */
        const char *meaning; /* what it means */
    } signs[] = {{"≥", "≥: at least"}, {"≤", "≤: at most"}, {"?", "?: not known"},
                 {"n/a", "n/a: no data over RDMA"}};
    GString *text = g_string_new(needs_note(table, lines) ? table->kind->note : "");
    const char *separator = text->len ? "; " : "";

    for (unsigned i = 0; i < G_N_ELEMENTS(signs); i++)
        if (has_sign(table, lines, signs[i].sign)) {
            g_string_append_printf(text, "%s%s", separator, signs[i].meaning);
            separator = ", ";
        }
    if (text->len)
        write_line(table->page, "%s", text->str);
    g_string_free(text, true);
}

/* Writes the names of the columns, then the chosen rows, and what they mean. The last columns are
 * left out if the columns do not fit into the page: times of many hours are that long. */
static void
write_rows(columns_t *table)
{
    const char *lines[1 + ROWS_MOST][ROWS_COLUMNS];

    for (unsigned i = 0; i < table->count; i++) {
        lines[0][i] = table->columns[i]->page;
        for (unsigned row = 0; row < table->chosen_count; row++)
            lines[1 + row][i] = text_of(table, i, &table->chosen[row]->cells[i]);
    }
    measure(table, lines);
    for (; !fits(table) && table->count > 2; measure(table, lines))
        table->count--;
    for (unsigned line = 0; line <= table->chosen_count; line++)
        write_cells(table, lines[line]);
    write_note(table, lines);
}

/* Writes a table: its heading, the chosen rows, and the number of further rows. */
static void
write_rows_of(const page_t *page, const smcr_table_kind_t *kind)
{
    columns_t table = {.page = page,
                       .kind = kind,
                       .rows = wmem_alloc_array(page->scope, row_t, ROWS_KEPT)};
    smcr_table_row_sink_t taker = {page->report, page->scope, NULL, take_row, &table};
    const char *heading = kind->heading ? kind->heading(&taker) : NULL;
    unsigned more;

    if (!heading)
        return;
    for (unsigned i = 0; i < kind->column_count; i++)
        if (kind->columns[i].page)
            table.columns[table.count++] = &kind->columns[i];
    taker.texts = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    kind->fill(&taker);
    wmem_destroy_allocator(taker.texts);
    choose_rows(&table);
    more = table.row_count - table.chosen_count;
    g_string_append_c(page->text, '\n');
    write_item(page, "", INDENT, heading);
    if (table.chosen_count)
        write_rows(&table);
    if (more && table.chosen_count)
        write_line(page, "and %s: Statistics > %s, -z %s",
                   smcr_words_things(page->scope, more, "more row"), kind->title, kind->name);
}

/* Writes a table. The texts of its rows, of which the page shows few, are freed with the table. */
static void
write_table(const page_t *page, const smcr_table_kind_t *kind)
{
    page_t own = *page;

    own.scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    write_rows_of(&own, kind);
    wmem_destroy_allocator(own.scope);
}

/* ---- TCP ---- */

/* Writes a line about TCP, if any segment was retransmitted, came twice, or has a mark of
 * congestion. */
static void
write_tcp(const page_t *page)
{
    smcr_entry_tcp_direction_t sum = {0};
    const char *trouble;

    SMCR_FIGURE_EACH(tcp, flow, page->report->tcp_flows) {
        smcr_entry_join(&sum, &flow->up, &smcr_entry_tcp_direction_description, page->scope);
        smcr_entry_join(&sum, &flow->down, &smcr_entry_tcp_direction_description, page->scope);
    }
    trouble = SMCR_WORDS_COUNTS(page->scope, {sum.repeated_segments, "retransmitted"},
                                {sum.copies, "duplicated"}, {sum.ce, "marked CE"},
                                {sum.sce, "marked ECT(1)"}, {sum.ece, "with ECE"},
                                {sum.cwr, "with CWR"}, {sum.esce, "with NS"});
    if (!*trouble)
        return;
    g_string_append_c(page->text, '\n');
    write_item(page, "", INDENT,
               wmem_strdup_printf(page->scope, "TCP: %s; %s",
                                  smcr_words_things(page->scope, sum.segments, "segment"),
                                  trouble));
}

/* ---- classes ---- */

/* Appends the values of a header field: " DSCP 26, 48"; nothing if there are none. */
static void
append_values(GString *text, const char *name, const smcr_figure_tally_t *tally)
{
    for (uint32_t i = 0; i < tally->length; i++)
        g_string_append_printf(text, "%s%" PRIu32, i ? ", " : name, tally->counts[i].value);
}

/* Appends the classes of a kind of packet: "; CNPs: DSCP 48 priority 6". `counts` NULL: none. */
static void
append_classes(GString *text, const char *kind, const smcr_entry_packet_class_t *counts)
{
    if (!counts || !(counts->by_dscp.length + counts->by_priority.length))
        return;
    g_string_append_printf(text, "%s%s:", text->len ? "; " : "", kind);
    append_values(text, " DSCP ", &counts->by_dscp);
    append_values(text, " priority ", &counts->by_priority);
}

/* Whether the packets have a class other than the default one: DSCP 0 without a VLAN tag. `counts`
 * NULL: there are no packets. */
static bool
has_class(const smcr_entry_packet_class_t *counts)
{
    bool is_default = !counts || !counts->by_dscp.length ||
                      (counts->by_dscp.length == 1 && counts->by_dscp.counts[0].value == 0);

    return counts && (counts->by_priority.length || !is_default);
}

/* Writes a line with the classes of RDMA packets, if any of them has a class. */
static void
write_classes(const page_t *page)
{
    smcr_entry_flow_classes_t sum = {NULL, NULL, NULL};
    GString *text = g_string_new(NULL);

    SMCR_FIGURE_EACH(rdma, flow, page->report->rdma_flows)
        smcr_entry_join(&sum, &flow->classes, &smcr_entry_flow_classes_description, page->scope);
    append_classes(text, "data", sum.data);
    append_classes(text, "acknowledgements", sum.acknowledgement);
    append_classes(text, "CNPs", sum.cnp);
    if (has_class(sum.data) || has_class(sum.acknowledgement) || has_class(sum.cnp))
        write_item(page, "", INDENT,
                   wmem_strdup_printf(page->scope, "Classes of RDMA: %s", text->str));
    g_string_free(text, true);
}

/* ---- address translation ---- */

#define TRANSLATIONS_MOST 3 /* translated ends that the page names */

/* The translated ends of a page. */
typedef struct {
    GString *text;     /* the first TRANSLATIONS_MOST of them, in words */
    wmem_map_t *known; /* set of all of them, in words: many connections may have the same ones */
} translations_t;

/* Adds "10.96.0.10:80 is 10.0.0.2:12345, too", if it is not known yet. `translated` NULL: the end
 * has no other address or port. */
static void
add_translation(const page_t *page, translations_t *ends, const smcr_entry_endpoint_t *end,
                const smcr_entry_endpoint_t *translated)
{
    if (!translated)
        return;
    char *line =
        wmem_strdup_printf(page->scope, "%s is %s, too", smcr_words_endpoint(page->scope, end),
                           smcr_words_endpoint(page->scope, translated));

    if (wmem_map_lookup(ends->known, line))
        return;
    wmem_map_insert(ends->known, line, line);
    if (wmem_map_size(ends->known) <= TRANSLATIONS_MOST)
        g_string_append_printf(ends->text, "%s%s", ends->text->len ? "; " : "", line);
}

/* Writes which ends of connections the capture shows with other addresses or ports, too. "..." at
 * the end: there are more than those that are named. */
static void
write_translations(const page_t *page)
{
    translations_t ends = {g_string_new(NULL),
                           wmem_map_new(page->scope, wmem_str_hash, g_str_equal)};

    SMCR_FIGURE_EACH(connection, conn, page->report->connections) {
        add_translation(page, &ends, &conn->server, conn->translated_server);
        add_translation(page, &ends, &conn->client, conn->translated_client);
    }
    if (ends.text->len)
        write_item(page, "", INDENT,
                   wmem_strdup_printf(page->scope, "Address translation: %s%s", ends.text->str,
                                      wmem_map_size(ends.known) > TRANSLATIONS_MOST ? " ..." : ""));
    g_string_free(ends.text, true);
}

/* ---- congestion ---- */

/* Returns a rate: "9.4 Gbit/s". `bytes` in `time` nanoseconds, which is not 0. */
static const char *
rate_text(const page_t *page, uint64_t bytes, uint64_t time)
{
    double bits = 8.0 * (double)bytes / (double)time; /* Gbit/s */

    if (bits >= 1)
        return wmem_strdup_printf(page->scope, "%.1f Gbit/s", bits);
    return bits >= 0.001 ? wmem_strdup_printf(page->scope, "%.1f Mbit/s", bits * 1000)
                         : wmem_strdup_printf(page->scope, "%.1f kbit/s", bits * 1000000);
}

/* Returns the share of marks in the worst interval: "at most 41 % of packets marked CE in any 2
 * ms". */
static const char *
share_text(const page_t *page, const smcr_entry_marked_share_t *share)
{
    uint64_t packets = share->packets.numbers[share->worst];
    uint64_t marked = share->marked.numbers[share->worst];

    return wmem_strdup_printf(page->scope, "at most %.0f %% of packets marked CE in any %s",
                              100.0 * (double)marked / (double)packets,
                              smcr_words_duration(page->scope, share->interval_s));
}

/* Appends the pace of CNPs. `pacing` NULL: there are no CNPs. */
static void
append_pace(GString *text, const page_t *page, const smcr_entry_flow_pacing_t *pacing)
{
    const smcr_distribution_t *pace = smcr_distribution_get(pacing ? pacing->flow_s : NULL);

    if (pace->count)
        g_string_append_printf(text, "%sinterval of CNPs of a flow at least %s, median %s",
                               text->len ? "; " : "",
                               smcr_words_duration(page->scope, pace->min),
                               smcr_words_duration(page->scope,
                                                   smcr_distribution_quantile(pace, 500)));
}

/* Appends the rates before and after CNPs. `reaction` NULL: not known. */
static void
append_reaction(GString *text, const page_t *page, const smcr_entry_flow_reaction_t *reaction)
{
    if (reaction && reaction->before_s && reaction->after_s)
        g_string_append_printf(text, "%srate %s before CNPs, %s after CNPs", text->len ? "; " : "",
                               rate_text(page, reaction->before_bytes, reaction->before_s),
                               rate_text(page, reaction->after_bytes, reaction->after_s));
}

/* Writes a line about marks over time, the pace of CNPs, and the rates before and after them. */
static void
write_congestion(const page_t *page)
{
    const smcr_entry_marked_share_t *share = page->report->marked_share;
    smcr_entry_rdma_t sum = {0};
    GString *text = g_string_new(share ? share_text(page, share) : NULL);

    SMCR_FIGURE_EACH(rdma, flow, page->report->rdma_flows)
        smcr_entry_join(&sum, flow, &smcr_entry_rdma_description, page->scope);
    append_pace(text, page, sum.cnp_pacing);
    append_reaction(text, page, sum.reaction);
    if (text->len)
        write_item(page, "", INDENT,
                   wmem_strdup_printf(page->scope, "Congestion: %s", text->str));
    g_string_free(text, true);
}

/* ---- pauses of Ethernet ---- */

/* Returns how long the class was paused: ", 101 ms"; without the speed of the link ", 65,535
 * quanta, ≤33.6 ms". "": no class was paused. */
static const char *
paused_text(const page_t *page, const smcr_entry_pause_t *pause)
{
    const char *time = smcr_words_paused_time(page->scope, pause, &page->report->capture);

    if (!smcr_words_pauses_a_class(pause))
        return "";
    if (pause->paused_s != SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(page->scope, ", %s", time);
    return wmem_strdup_printf(page->scope, ", %s quanta, %s",
                              smcr_words_number(page->scope, pause->quanta), time);
}

/* Writes a line about a port and a class that its frames pause. */
static void
write_pause(const page_t *page, const smcr_entry_pause_t *pause)
{
    write_line(page, "%s %s: %s%s", pause->port_mac ? pause->port_mac : "other ports",
               smcr_words_paused_class(page->scope, pause),
               smcr_words_things(page->scope, pause->frames, "frame"), paused_text(page, pause));
}

/* Writes the ports that send PAUSE and PFC frames, and the classes that they pause. */
static void
write_pauses(const page_t *page)
{
    const smcr_figure_list_t *pauses = &page->report->pauses;
    uint32_t most = MIN(pauses->length, MAX(page->most, 1));

    if (!pauses->length)
        return;
    g_string_append(page->text, "\nPauses of Ethernet\n");
    for (uint32_t i = 0; i < most; i++)
        write_pause(page, pauses->entries[i]);
    if (most < pauses->length)
        write_line(page, "and %" PRIu32 " more: -z smcr,json", pauses->length - most);
}

/* ---- the page ---- */

/* Writes the page with at most `most` rows in each table. Returns its number of lines. */
static unsigned
write_page(GString *text, const smcr_entry_report_t *report, unsigned most, bool has_filters)
{
    page_t page = {text, report, wmem_allocator_new(WMEM_ALLOCATOR_BLOCK), SMCR_PAGE_WIDTH, most,
                   are_frames_marked(report), has_filters};
    unsigned lines = 0;

    g_string_truncate(text, 0);
    write_capture(&page);
    write_findings(&page);
#define WRITE(name) write_table(&page, &smcr_table_of_##name);
    SMCR_TABLES(WRITE)
#undef WRITE
    write_translations(&page);
    write_classes(&page);
    write_congestion(&page);
    write_pauses(&page);
    write_tcp(&page);
    wmem_destroy_allocator(page.scope);
    for (const char *at = text->str; *at; at++)
        lines += *at == '\n';
    return lines;
}

void
smcr_text_write(GString *text, const smcr_entry_report_t *report, bool has_filters)
{
    unsigned most = ROWS_MOST;

    while (write_page(text, report, most, has_filters) > PAGE_LINES && most)
        most--;
}

/* ---- parts of the page ---- */

/* Lines have no width here: whoever shows them breaks them. */
void
smcr_text_write_part(GString *text, const smcr_entry_report_t *report, smcr_text_part_t part)
{
#define WRITE(name) write_##name,
    static void (*const writers[])(const page_t *) = {SMCR_TEXT_PARTS(WRITE)};
#undef WRITE
    page_t page = {.text = text,
                   .report = report,
                   .scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK),
                   .width = G_MAXINT};

    writers[part](&page);
    wmem_destroy_allocator(page.scope);
}
