/* The tables of a report as Wireshark's tables. Wireshark registers a listener for each table, with
 * the filter that the user gave. This listener counts nothing: it only selects frames. A report is
 * made of the selected frames, and the rows of the table are made of the report.
 *
 * Wireshark reads all packets for a table once or more often. Each such round begins with a reset.
 * Until a window is closed, it points to the cells that it shows, and two windows may show the same
 * table. So cells that a window shows must not change. Each round begins with a new table, and the
 * tables of earlier rounds are kept until no other window shows them.
 *
 * Every cell is a text: Wireshark's tables have only numbers of 32 bits and doubles, and none for
 * "not known". Numbers are padded with spaces on the left up to the width of their column:
 * Wireshark's window sorts texts by characters, so padded numbers are sorted as numbers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "report.h"

#include "compat.h" /* must precede the headers of Wireshark */

#include <epan/stat_tap_ui.h>

#include "host/host.h"
#include "listen/listeners.h"
#include "tables/tables.h"

#define NOT_KNOWN "-"
#define NO_ROW "none in these frames"

/* A table that is registered with Wireshark. */
typedef struct {
    stat_tap_table_ui ui; /* first member: Wireshark passes the address of `ui`, which is that of
                             the table */
    const smcr_table_kind_t *kind; /* columns of the table, and the function that makes its rows */
    smcr_listeners_t *listeners; /* listeners of the report that the rows are made of; NULL: the
                                    user has not asked for the table */
    GPtrArray *retired; /* tables of earlier rounds, whose cells windows may still show; element
                           stat_tap_table * */
} table_t;

#define KIND(name) &smcr_table_of_##name,
static const smcr_table_kind_t *const kinds[] = {SMCR_TABLES(KIND)};
static table_t all_tables[G_N_ELEMENTS(kinds)];

/* ---- rows ---- */

/* Returns the table that Wireshark shows now, to be filled with rows; NULL: it shows none. */
static stat_tap_table *
shown_table(const table_t *table)
{
    const GArray *tables = table->ui.tables;

    return tables && tables->len ? g_array_index(tables, stat_tap_table *, 0) : NULL;
}

/* Wireshark's table while its rows are made. */
typedef struct {
    stat_tap_table *shown; /* Wireshark's table, which gets the rows */
    const smcr_table_kind_t *kind;
    wmem_allocator_t *scope;
    unsigned row; /* number of rows made so far */
} rows_t;

/* Returns the width of a column, characters: the minimum width or, if longer, the name. */
static unsigned
width_of(const smcr_table_column_t *column)
{
    unsigned name = (unsigned)g_utf8_strlen(column->name, -1);

    return MAX(column->width, name);
}

/* A number as a text: room for two numbers of 64 bits and a point. */
typedef struct {
    char text[2 * 20 + 2];
} number_t;

/* Returns a number as the text of a cell of Wireshark's table, times as seconds with six decimals;
 * SMCR_FIGURE_UNKNOWN: NOT_KNOWN. */
static number_t
number_of(smcr_table_cell_kind_t kind, uint64_t value)
{
    number_t number = {NOT_KNOWN};
    uint64_t micros = (value + SMCR_TIME_MICROSECOND / 2) / SMCR_TIME_MICROSECOND;

    if (value == SMCR_FIGURE_UNKNOWN)
        return number;
    if (kind == SMCR_TABLE_SECONDS)
        snprintf(number.text, sizeof number.text, "%" PRIu64 ".%06" PRIu64, micros / 1000000,
                 micros % 1000000);
    else
        snprintf(number.text, sizeof number.text, "%" PRIu64, value);
    return number;
}

/* Returns the number of a cell as a text, which the caller frees by g_free(). If only bounds of the
 * number are known, the lower one comes first, in the place of the number, so that the window sorts
 * by it: "0.976178 or more", "0.976178 to 1.333173". NOT_KNOWN if the lower bound is 0 and there is
 * no upper one. */
static char *
number_text(const smcr_table_column_t *column, const smcr_table_cell_t *cell)
{
    number_t least = number_of(column->kind, cell->NUMBER);
    number_t most = number_of(column->kind, cell->most);
    int width = (int)width_of(column);

    if (!cell->at_least || cell->NUMBER == SMCR_FIGURE_UNKNOWN)
        return g_strdup_printf("%*s", width, least.text);
    if (cell->most)
        return g_strdup_printf("%*s to %s", width, least.text, most.text);
    return cell->NUMBER ? g_strdup_printf("%*s or more", width, least.text)
                        : g_strdup_printf("%*s", width, NOT_KNOWN);
}

/* Returns the text of a cell, which the caller frees by g_free(). */
static char *
text_of(const smcr_table_column_t *column, const smcr_table_cell_t *cell)
{
    if (column->kind == SMCR_TABLE_TEXT)
        return g_strdup(cell->TEXT ? cell->TEXT : NOT_KNOWN);
    return number_text(column, cell);
}

/* Adds a row to Wireshark's table. If `cells` is NULL, the table has no rows, and the added row
 * says so. */
static void
take_row(void *context, const smcr_table_cell_t *cells, uint64_t busy _U_, uint64_t troubled _U_)
{
    rows_t *rows = context;
    unsigned count = rows->shown->num_fields, field = 0;

    stat_tap_init_table_row(rows->shown, rows->row, count,
                            wmem_alloc0_array(rows->scope, stat_tap_table_item_type, count));
    for (unsigned i = 0; i < rows->kind->column_count; i++) {
        if (!rows->kind->columns[i].name)
            continue;
        const char *without_row = field ? "" : NO_ROW;
        char *text = cells ? text_of(&rows->kind->columns[i], &cells[i]) : g_strdup(without_row);
        stat_tap_table_item_type cell = {
            .type = TABLE_ITEM_STRING, .value.string_value = text, .user_data.ptr_value = text};
        stat_tap_set_field_data(rows->shown, rows->row, field++, &cell);
    }
    rows->row++;
}

/* Makes the rows of the table from the report. In a window, a table without rows gets one row that
 * says so. */
static void
draw(const smcr_entry_report_t *report, void *context)
{
    const table_t *table = context;
    rows_t rows = {.shown = shown_table(table), .kind = table->kind};
    smcr_table_row_sink_t taker = {.report = report, .take = take_row, .context = &rows};

    if (!rows.shown || rows.shown->num_elements)
        return; /* the user does not show the table, or it has been drawn */
    rows.scope = taker.scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    taker.texts = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    table->kind->fill(&taker);
    if (!rows.row && smcr_host_window_ops())
        take_row(&rows, NULL, 0, 0);
    wmem_destroy_allocator(taker.texts);
    wmem_destroy_allocator(rows.scope);
}

/* Frees a table that a later one has replaced, with the texts of its cells. Called when no window
 * shows the table. */
static void
free_rows(void *retired)
{
    stat_tap_table *table = retired;

    for (unsigned row = 0; row < table->num_elements; row++) {
        for (unsigned column = 0; column < table->num_fields; column++)
            g_free(stat_tap_get_field_data(table, row, column)->user_data.ptr_value);
        g_free(table->elements[row]);
    }
    g_free(table->elements);
    g_free(table);
}

/* ---- functions that Wireshark calls ---- */

/* Returns the table_t that has `ui` as its first member. */
static table_t *
owner_of(stat_tap_table_ui *ui)
{
    return (table_t *)(void *)ui;
}

/* Begins a round: moves the table of the last round to `retired`, and adds an empty one. If only
 * this window shows the table, the tables in `retired` are freed first. */
static void
begin(stat_tap_table_ui *ui)
{
    table_t *table = owner_of(ui);
    stat_tap_table *former = shown_table(table);

    if (ui->refcount <= 1) /* number of windows with the table, including this one */
        g_ptr_array_set_size(table->retired, 0);
    if (former) {
        g_ptr_array_add(table->retired, former);
        g_array_set_size(ui->tables, 0);
    }
    stat_tap_add_table(ui, stat_tap_init_table(table->kind->title, (int)ui->nfields, 0, NULL));
    if (table->listeners)
        smcr_listeners_free(table->listeners);
    table->listeners = smcr_listeners_of_selected(draw, table);
}

/* Selects a frame for the report. Called by Wireshark for each frame that passes the user's
 * filter. */
static tap_packet_status
select_frame(void *listener, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data _U_,
             tap_flags_t flags _U_)
{
    table_t *table = owner_of(((stat_data_t *)listener)->stat_tap_data);

    if (table->listeners)
        smcr_listeners_select(table->listeners, pinfo);
    return TAP_PACKET_REDRAW;
}

/* Reports an error in `*error` if -z asks for the same table twice. tshark has one list of rows for
 * each kind of table, so two filters would mix their rows. `argument`: the argument of -z. */
static void
check_argument(const char *argument, const char **filter _U_, char **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds) && !*error; i++)
        if (all_tables[i].listeners && g_str_has_prefix(argument, kinds[i]->name))
            *error = g_strdup_printf("-z %s can be given only once.", kinds[i]->name);
}

/* Frees the text of a cell. Wireshark calls this function for each cell of a table that no window
 * shows any more. */
static void
free_cell(stat_tap_table *shown _U_, guint row _U_, guint column _U_,
          stat_tap_table_item_type *cell)
{
    g_free(cell->user_data.ptr_value);
}

/* ---- registration ---- */

/* Fills in the descriptions of the columns that Wireshark shows, and returns the number of these
 * columns. */
static unsigned
add_fields(const smcr_table_kind_t *kind, stat_tap_table_item *fields)
{
    unsigned count = 0;

    for (unsigned i = 0; i < kind->column_count; i++) {
        const smcr_table_column_t *column = &kind->columns[i];
        bool is_text = column->kind == SMCR_TABLE_TEXT;
        if (column->name)
            fields[count++] = (stat_tap_table_item){
                TABLE_ITEM_STRING, is_text ? TAP_ALIGN_LEFT : TAP_ALIGN_RIGHT, column->name,
                is_text ? g_strdup_printf("%%-%us", width_of(column)) : "%s"};
    }
    return count;
}

/* Registers a table with Wireshark, which keeps `table->ui` and the fields as long as it runs. */
static void
register_table(table_t *table, const smcr_table_kind_t *kind)
{
    stat_tap_table_item *fields = g_new(stat_tap_table_item, kind->column_count);

    table->kind = kind;
    table->retired = g_ptr_array_new_with_free_func(free_rows);
    table->ui = (stat_tap_table_ui){
        .group = REGISTER_PACKET_STAT_GROUP_UNSORTED,
        .title = kind->title,
        .tap_name = "frame",
        .cli_string = kind->name,
        .stat_tap_init_cb = begin,
        .packet_func = select_frame,
        .stat_tap_free_table_item_cb = free_cell,
        .stat_filter_check_cb = check_argument,
        .nfields = add_fields(kind, fields),
        .fields = fields,
    };
    register_stat_tap_table_ui(&table->ui);
}

void
smcr_report_register_tables(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        register_table(&all_tables[i], kinds[i]);
}
