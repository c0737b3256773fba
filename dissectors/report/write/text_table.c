/* A table of the page of text. The page shows the rows that suffered most, and the rows that
 * carried most.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "text_table.h"
#include "report/words/words.h"

#define ROWS_KEPT    64 /* number of rows that are kept until some of them can be left out */
#define ROWS_COLUMNS 8  /* highest number of columns that the page shows of a table */
#define BETWEEN      2 /* spaces between the columns of a table */

/* A row that the page may show. */
typedef struct {
    smcr_table_cell_t cells[ROWS_COLUMNS]; /* cells of the columns that the page shows */
    char *texts[ROWS_COLUMNS]; /* texts of these cells; NULL: not known, or the column has no
                                  texts */
    uint64_t weights[2]; /* how much the row has suffered (index 0) and carried (index 1), as in
                            tables.h */
    bool chosen; /* the page shows the row */
} row_t;

/* A table of the page. */
typedef struct {
    const smcr_text_page_t *page;  /* the page */
    const smcr_table_kind_t *kind; /* columns of the table, and what fills its rows */
    row_t *rows;         /* ROWS_KEPT rows, in the order of the table */
    unsigned kept;       /* number of rows in `rows` that are in use */
    uint32_t row_count;  /* number of all rows of the table */
    const row_t *chosen[SMCR_TEXT_ROWS_MOST];         /* rows that the page shows, in the order of
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
 * the rows. The rows that carried most fill the rest. */
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

/* Forgets the rows that the page would not show if the table ended here. Such a row is never shown:
 * further rows compete with it for the same places. So a table with many rows takes little
 * memory. */
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

/* Keeps a row of the table, with the cells of the columns that the page shows. `context`: the
 * columns_t. `busy`, `troubled`: how much the row has carried and suffered (tables.h). The texts of
 * `cells` are copied. */
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

/* Returns the text of a cell: "?" if its value is not known, "n/a" if the row cannot have one. Kind
 * TEXT: the text. Kind NUMBER (an index, a frame): the digits. Other kinds: "-" for zero, and a
 * range if only the bounds of the value are known (bounds_text()). */
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
        return "?";
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
        glong space = table->widths[i] - smcr_text_width(cells[i]);
        bool is_text = table->columns[i]->kind == SMCR_TABLE_TEXT;
        if (space < 0) {
            smcr_text_item(table->page, "  ", 2 * SMCR_TEXT_INDENT, cells[i]);
            smcr_text_pad(text, SMCR_TEXT_INDENT + table->widths[i]);
            continue;
        }
        smcr_text_pad(text, (is_text ? 0 : space) + (i ? BETWEEN : SMCR_TEXT_INDENT));
        g_string_append(text, cells[i]);
        smcr_text_pad(text, is_text ? space : 0);
    }
    while (text->str[text->len - 1] == ' ')
        g_string_truncate(text, text->len - 1);
    g_string_append_c(text, '\n');
}

/* Makes each column as wide as its widest cell. But the first column gets at most the space that
 * the other columns leave in a line, though at least the width of its name. `lines`: texts of the
 * cells, in row 0 the names of the columns. */
static void
measure(columns_t *table, const char *(*lines)[ROWS_COLUMNS])
{
    glong left = SMCR_PAGE_WIDTH - SMCR_TEXT_INDENT;

    for (unsigned i = table->count; i-- > 0;) {
        for (unsigned line = 0; line <= table->chosen_count; line++)
            table->widths[i] = MAX(table->widths[i], smcr_text_width(lines[line][i]));
        left -= i ? table->widths[i] + BETWEEN : 0;
    }
    table->widths[0] = MIN(table->widths[0], MAX(left, smcr_text_width(lines[0][0])));
}

/* Whether a line with all columns fits into the page. */
static bool
fits(const columns_t *table)
{
    glong length = SMCR_TEXT_INDENT + table->widths[0];

    for (unsigned i = 1; i < table->count; i++)
        length += BETWEEN + table->widths[i];
    return length <= SMCR_PAGE_WIDTH;
}

/* Whether a cell has the sign, such as "≤". The sign "-" has a cell of its own: in other cells it
 * is a minus. */
static bool
is_sign_of(const char *sign, const char *cell)
{
    return strcmp(sign, "-") == 0 ? strcmp(cell, sign) == 0 : strstr(cell, sign) != NULL;
}

/* Whether a cell of the chosen rows has the sign. Columns of the kind TEXT are not examined: a peer
 * may have chosen the text. `lines`: as in measure(). */
static bool
has_sign(const columns_t *table, const char *(*lines)[ROWS_COLUMNS], const char *sign)
{
    for (unsigned i = 0; i < table->count; i++)
        for (unsigned line = 1; line <= table->chosen_count; line++)
            if (table->columns[i]->kind != SMCR_TABLE_TEXT && is_sign_of(sign, lines[line][i]))
                return true;
    return false;
}

/* Whether the table's note explains a number that the page shows: the note has the name of a
 * column, and a chosen row has a number in this column. `lines`: as in measure(). */
static bool
needs_note(const columns_t *table, const char *(*lines)[ROWS_COLUMNS])
{
    for (unsigned i = 0; i < table->count && table->kind->note; i++)
        for (unsigned line = 1; line <= table->chosen_count; line++)
            if (strstr(table->kind->note, lines[0][i]) && strpbrk(lines[line][i], "0123456789"))
                return true;
    return false;
}

/* Whether the page says what the sign means: the chosen rows have it. "-" is explained only beside
 * "?", with which a reader may confuse it. */
static bool
needs_meaning(const columns_t *table, const char *(*lines)[ROWS_COLUMNS], const char *sign)
{
    bool is_clear = strcmp(sign, "-") == 0 && !has_sign(table, lines, "?");

    return !is_clear && has_sign(table, lines, sign);
}

/* Writes below the rows what their columns and signs mean, as far as the chosen rows have them. */
static void
write_note(const columns_t *table, const char *(*lines)[ROWS_COLUMNS])
{
    static const struct {
        const char *sign;    /* sign in a cell */
        const char *meaning; /* what it means */
    } signs[] = {{"≥", "≥: at least"}, {"≤", "≤: at most"}, {"?", "?: not known"},
                 {"-", "-: none"}, {"n/a", "n/a: no data over RDMA"}};
    GString *text = g_string_new(needs_note(table, lines) ? table->kind->note : "");
    const char *separator = text->len ? "; " : "";

    for (unsigned i = 0; i < G_N_ELEMENTS(signs); i++)
        if (needs_meaning(table, lines, signs[i].sign)) {
            g_string_append_printf(text, "%s%s", separator, signs[i].meaning);
            separator = ", ";
        }
    if (text->len)
        smcr_text_line(table->page, "%s", text->str);
    g_string_free(text, true);
}

/* Writes the names of the columns, the chosen rows, and the note (write_note()). If the columns do
 * not fit into the page, the last ones are left out until they fit, but the first two stay. Times
 * of many hours are that long. */
static void
write_rows(columns_t *table)
{
    const char *lines[1 + SMCR_TEXT_ROWS_MOST][ROWS_COLUMNS];

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

/* Writes a table: its heading, the chosen rows, and the number of further rows. A table without
 * heading is left out; if no row is chosen, only the heading is written. */
static void
write_rows_of(const smcr_text_page_t *page, const smcr_table_kind_t *kind)
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
    smcr_text_item(page, "", SMCR_TEXT_INDENT, heading);
    if (table.chosen_count)
        write_rows(&table);
    if (more && table.chosen_count)
        smcr_text_line(page, "and %s: Statistics > %s, -z %s",
                       smcr_words_things(page->scope, more, "more row"), kind->title, kind->name);
}

/* The texts of the rows, of which the page shows few, are freed with the table. */
void
smcr_text_write_table(const smcr_text_page_t *page, const smcr_table_kind_t *kind)
{
    smcr_text_page_t own = *page;

    own.scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    write_rows_of(&own, kind);
    wmem_destroy_allocator(own.scope);
}
