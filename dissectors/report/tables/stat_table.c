/* stat_table.c
 * Wireshark has a listener for each table, with the filter that the user gave. It counts nothing:
 * it selects frames, the report is made of these frames, and the rows are made of the report.
 *
 * A window points to the cells that it shows until it is closed, and two windows may show the same
 * table. So rows that are shown are never changed: each round begins with a table of its own, and
 * the former ones stay until Wireshark gives all back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tables.h"

#include "report/listen/listeners.h"
#include "table_kinds.h"

/* A table, as Wireshark has it. */
typedef struct {
    stat_tap_table_ui ui; /* the first member: Wireshark hands over its address */
    const smcr_table_kind_t *kind;
    smcr_listeners_t *listeners; /* NULL: nobody has asked for the table yet */
    GPtrArray *retired; /* stat_tap_table: of former rounds, windows may point to their cells */
} table_t;

#define KIND(name) &smcr_table_of_##name,
static const smcr_table_kind_t *const kinds[] = {SMCR_TABLES(KIND)};
static table_t all_tables[G_N_ELEMENTS(kinds)];

/* ---- rows ---- */

static stat_tap_table *
shown_table(const table_t *table)
{
    const GArray *tables = table->ui.tables;

    return tables && tables->len ? g_array_index(tables, stat_tap_table *, 0) : NULL;
}

static void
draw(const smcr_entry_report_t *report, void *context)
{
    const table_t *table = context;
    stat_tap_table *shown = shown_table(table);

    if (!shown || shown->num_elements)
        return; /* nobody asks for it, or it has been drawn */
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    smcr_table_rows_t rows = {.table = shown, .columns = table->kind->columns, .scope = scope};

    table->kind->fill(&rows, report);
    wmem_destroy_allocator(scope);
}

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

/* ---- what Wireshark calls ---- */

static table_t *
owner_of(stat_tap_table_ui *ui)
{
    return (table_t *)(void *)ui;
}

/* A round begins. */
static void
begin(stat_tap_table_ui *ui)
{
    table_t *table = owner_of(ui);
    stat_tap_table *former = shown_table(table);

    if (ui->refcount <= 1) /* windows: no other than this one */
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

static tap_packet_status
select_frame(void *listener, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data _U_,
             tap_flags_t flags _U_)
{
    table_t *table = owner_of(((stat_data_t *)listener)->stat_tap_data);

    if (table->listeners)
        smcr_listeners_select(table->listeners, pinfo);
    return TAP_PACKET_REDRAW;
}

/* `argument`: of -z. tshark has one list of rows for each kind of table. Two filters would make one
 * table of both. */
static void
check_argument(const char *argument, const char **filter _U_, char **error)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds) && !*error; i++)
        if (all_tables[i].listeners && g_str_has_prefix(argument, kinds[i]->name))
            *error = g_strdup_printf("-z %s can be given only once.", kinds[i]->name);
}

/* No window shows the table any more: Wireshark frees it, and calls this for each of its cells. */
static void
free_cell(stat_tap_table *shown _U_, guint row _U_, guint column _U_,
          stat_tap_table_item_type *cell)
{
    g_free(cell->user_data.ptr_value);
}

/* ---- registration ---- */

static void
register_table(table_t *table, const smcr_table_kind_t *kind)
{
    stat_tap_table_item *fields = g_new(stat_tap_table_item, kind->column_count);

    for (unsigned i = 0; i < kind->column_count; i++) {
        const smcr_table_column_t *column = &kind->columns[i];
        fields[i] = (stat_tap_table_item){
            TABLE_ITEM_STRING, column->is_figure ? TAP_ALIGN_RIGHT : TAP_ALIGN_LEFT, column->name,
            column->is_figure ? "%s" : g_strdup_printf("%%-%us", smcr_table_column_width(column))};
    }
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
        .nfields = kind->column_count,
        .fields = fields,
    };
    register_stat_tap_table_ui(&table->ui);
}

void
smcr_tables_register(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        register_table(&all_tables[i], kinds[i]);
}
