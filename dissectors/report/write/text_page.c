/* text_page.c
 * Lines and tables of a page. Widths are those of characters, not of bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "text_page.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "report/words/words.h"

#define INDENT  2
#define BETWEEN 2 /* columns of a table */
#define ARROW   " →"

static glong
width(const char *text)
{
    return g_utf8_strlen(text, -1);
}

static void
pad(GString *text, glong columns)
{
    for (; columns > 0; columns--)
        g_string_append_c(text, ' ');
}

/* ---- lines ---- */

void
smcr_page_heading(const smcr_page_t *page, const char *heading)
{
    g_string_append_printf(page->text, "\n%s\n", heading);
}

/* Bytes of the longest beginning of the text that fits and ends before a space. */
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

void
smcr_page_item(const smcr_page_t *page, const char *mark, const char *text)
{
    glong indent = width(mark), columns = SMCR_PAGE_WIDTH - indent;

    g_string_append(page->text, mark);
    for (bool first = true; *text; first = false) {
        size_t length = that_fits(text, columns);
        if (!first)
            pad(page->text, indent);
        g_string_append_len(page->text, text, (gssize)length);
        g_string_append_c(page->text, '\n');
        text += length;
        while (*text == ' ')
            text++;
    }
}

void
smcr_page_line(const smcr_page_t *page, unsigned indent, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    smcr_page_item(page, wmem_strdup_printf(page->scope, "%*s", (int)indent, ""),
                   wmem_strdup_vprintf(page->scope, format, arguments));
    va_end(arguments);
}

void
smcr_page_more(const smcr_page_t *page, uint32_t count, const char *hint)
{
    if (count > SMCR_PAGE_MOST)
        smcr_page_line(page, INDENT, "and %s more%s",
                       smcr_words_number(page->scope, count - SMCR_PAGE_MOST), hint);
}

/* ---- the few that weigh most ---- */

void
smcr_page_few_add(smcr_page_few_t *few, const void *entry, uint64_t weight)
{
    uint32_t place = few->length;

    while (place > 0 && few->weights[place - 1] < weight)
        place--;
    few->count++;
    if (place == SMCR_PAGE_MOST)
        return;
    few->length = MIN(few->length + 1, SMCR_PAGE_MOST);
    for (uint32_t i = few->length - 1; i > place; i--) {
        few->entries[i] = few->entries[i - 1];
        few->weights[i] = few->weights[i - 1];
    }
    few->entries[place] = entry;
    few->weights[place] = weight;
}

/* ---- tables ---- */

smcr_text_table_t
smcr_text_table_new(const smcr_page_t *page, const char *alignment)
{
    return (smcr_text_table_t){.page = page,
                               .cells = wmem_array_new(page->scope, sizeof(const char *)),
                               .columns = (unsigned)strlen(alignment),
                               .alignment = alignment,
                               .indent = INDENT};
}

void
smcr_text_table_row(const smcr_text_table_t *table, ...)
{
    va_list cells;

    va_start(cells, table);
    for (unsigned column = 0; column < table->columns; column++) {
        const char *cell = va_arg(cells, const char *);
        const char *text = cell ? cell : "";
        wmem_array_append_one(table->cells, text);
    }
    va_end(cells);
}

static const char *
cell_of(const smcr_text_table_t *table, unsigned row, unsigned column)
{
    return *(const char **)wmem_array_index(table->cells, row * table->columns + column);
}

static unsigned
rows_of(const smcr_text_table_t *table)
{
    return wmem_array_get_count(table->cells) / table->columns;
}

/* Takes from the cell what fits in a line. An arrow begins the next line rather than end this
 * one. */
static const char *
next_line(const smcr_text_table_t *table, const char **cell, glong columns)
{
    size_t length = that_fits(*cell, columns);
    const char *line;

    if ((*cell)[length] && length > strlen(ARROW) &&
        strncmp(*cell + length - strlen(ARROW), ARROW, strlen(ARROW)) == 0)
        length -= strlen(ARROW);
    line = wmem_strndup(table->page->scope, *cell, length);
    *cell += length;
    while (**cell == ' ')
        (*cell)++;
    return line;
}

static void
write_cell(const smcr_text_table_t *table, unsigned column, const char *line, glong columns)
{
    GString *text = table->page->text;

    if (table->alignment[column] == 'r')
        pad(text, columns - width(line));
    g_string_append(text, line);
    if (table->alignment[column] == 'l')
        pad(text, columns - width(line));
    pad(text, BETWEEN);
}

/* Writes a line of the row; `cells`: what is left of them. Returns whether anything is. */
static bool
write_line(const smcr_text_table_t *table, const char **cells, const glong *widths)
{
    GString *text = table->page->text;
    bool more = false;

    pad(text, (glong)table->indent);
    for (unsigned column = 0; column < table->columns; column++) {
        if (!widths[column])
            continue;
        write_cell(table, column, next_line(table, &cells[column], widths[column]), widths[column]);
        more |= *cells[column] != '\0';
    }
    while (text->len && text->str[text->len - 1] == ' ')
        g_string_truncate(text, text->len - 1);
    g_string_append_c(text, '\n');
    return more;
}

/* Returns by how much the rows are too long. */
static glong
measure(const smcr_text_table_t *table, glong *widths)
{
    glong sum = (glong)table->indent - BETWEEN;

    for (unsigned column = 0; column < table->columns; column++) {
        widths[column] = 0;
        for (unsigned row = 0; row < rows_of(table); row++)
            widths[column] = MAX(widths[column], width(cell_of(table, row, column)));
        sum += widths[column] ? widths[column] + BETWEEN : 0;
    }
    return sum - SMCR_PAGE_WIDTH;
}

void
smcr_text_table_write(const smcr_text_table_t *table)
{
    glong *widths = wmem_alloc_array(table->page->scope, glong, table->columns);
    glong excess = measure(table, widths);

    for (; excess > 0; excess--) {
        unsigned widest = 0;
        for (unsigned column = 1; column < table->columns; column++)
            if (widths[column] > widths[widest])
                widest = column;
        widths[widest]--;
    }
    for (unsigned row = 0; row < rows_of(table); row++) {
        const char **cells = wmem_alloc_array(table->page->scope, const char *, table->columns);
        for (unsigned column = 0; column < table->columns; column++)
            cells[column] = cell_of(table, row, column);
        while (write_line(table, cells, widths))
            ;
    }
}

/* ---- parts of lines ---- */

const char *
smcr_page_list(const smcr_page_t *page, const char *separator, ...)
{
    wmem_strbuf_t *list = wmem_strbuf_new(page->scope, "");
    const char *fact;
    va_list facts;

    va_start(facts, separator);
    while ((fact = va_arg(facts, const char *)))
        if (*fact)
            wmem_strbuf_append_printf(list, "%s%s", wmem_strbuf_get_len(list) ? separator : "",
                                      fact);
    va_end(facts);
    return wmem_strbuf_finalize(list);
}

const char *
smcr_page_things(const smcr_page_t *page, uint64_t number, const char *thing)
{
    return smcr_figure_known(number) ? smcr_words_things(page->scope, number, thing) : "";
}

const char *
smcr_page_spread(const smcr_page_t *page, const smcr_distribution_t *spread)
{
    if (!spread->count)
        return "";
    return wmem_strdup_printf(page->scope, "%s, at most %s",
                              smcr_words_duration(page->scope, spread->sum / spread->count),
                              smcr_words_duration(page->scope, spread->max));
}

const char *
smcr_page_when(const smcr_page_t *page, const smcr_when_t *when)
{
    uint64_t first = page->report->capture.first_time;
    uint64_t time;

    if (!when->frame)
        return "";
    if (first == SMCR_FIGURE_UNKNOWN || when->time < first)
        return wmem_strdup_printf(page->scope, "frame %" PRIu32, when->frame);
    time = (when->time - first) / 1000;
    return wmem_strdup_printf(page->scope, "frame %" PRIu32 ", %" PRIu64 ".%06" PRIu64 " s",
                              when->frame, time / 1000000, time % 1000000);
}
