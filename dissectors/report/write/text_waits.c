/* text_waits.c
 * Who waited for whom: writers for readers, and both for the fabric.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "report/words/words.h"
#include "text_page.h"

typedef struct {
    const smcr_entry_connection_t *conn;
    const smcr_entry_conn_direction_t *figures;
    bool to_server;
} direction_t;

/* The directions that waited longest. */
static smcr_page_few_t
find_worst(const smcr_page_t *page)
{
    const smcr_figure_list_t *conns = &page->report->connections;
    smcr_page_few_t worst = {.count = 0};

    for (uint32_t i = 0; i < conns->length; i++) {
        const smcr_entry_connection_t *conn = conns->entries[i];
        for (int to_server = 1; to_server >= 0; to_server--) {
            direction_t direction = {conn, smcr_figure_direction(conn, to_server), to_server};
            if (smcr_figure_has_waited(direction.figures))
                smcr_page_few_add(&worst, wmem_memdup(page->scope, &direction, sizeof direction),
                                  smcr_figure_waited(direction.figures));
        }
    }
    return worst;
}

static const char *
time_and_count(const smcr_page_t *page, uint64_t count, uint64_t time)
{
    if (!smcr_figure_known(count))
        return "-";
    if (!smcr_figure_known(time)) /* the end of none is known */
        return wmem_strdup_printf(page->scope, "(%s×)", smcr_words_number(page->scope, count));
    return wmem_strdup_printf(page->scope, "%s (%s×)",
                              smcr_words_duration(page->scope, smcr_figure_known(time)),
                              smcr_words_number(page->scope, count));
}

static void
add_direction(smcr_text_table_t *table, const direction_t *direction)
{
    const smcr_page_t *page = table->page;
    const smcr_entry_conn_direction_t *figures = direction->figures;

    smcr_text_table_row(table,
                        smcr_words_direction(page->scope, direction->conn, direction->to_server),
                        time_and_count(page, figures->blocked_count, figures->blocked_s),
                        time_and_count(page, figures->window_full_count, figures->window_full_s),
                        smcr_page_spread(page, &figures->read_reported_s));
}

static void
write_worst(const smcr_page_t *page)
{
    smcr_page_few_t worst = find_worst(page);
    smcr_text_table_t table = smcr_text_table_new(page, "lrrl");

    if (!worst.count)
        return;
    smcr_text_table_row(&table, "writer → reader", "writer blocked", "window full",
                        "reads reported after");
    for (uint32_t i = 0; i < worst.length; i++)
        add_direction(&table, worst.entries[i]);
    smcr_text_table_write(&table);
    smcr_page_more(page, worst.count, " directions that waited less");
}

/* Of all directions. Returns how many have data that is known to have been read at a certain time.
 */
static unsigned
join(const smcr_page_t *page, smcr_entry_conn_direction_t *sum)
{
    const smcr_figure_list_t *conns = &page->report->connections;
    unsigned read = 0;

    for (uint32_t i = 0; i < conns->length; i++) {
        for (int to_server = 0; to_server < 2; to_server++) {
            const smcr_entry_conn_direction_t *figures =
                smcr_figure_direction(conns->entries[i], to_server);
            smcr_entry_join(sum, figures, &smcr_entry_conn_direction_description, page->scope);
            read += figures->read_reported_s.count != 0;
        }
    }
    return read;
}

/* Nobody knows which transmission of a WRITE it is that an acknowledgement answers. */
static const char *
of_how_many(const smcr_page_t *page, const smcr_entry_conn_direction_t *sum)
{
    uint64_t measured = sum->ack_time_s.count, writes = smcr_figure_known(sum->writes);

    if (measured >= writes || !smcr_figure_known(sum->repeated_packets))
        return "";
    return wmem_strdup_printf(page->scope, " (%s of %s, never retransmitted)",
                              smcr_words_number(page->scope, measured),
                              smcr_words_things(page->scope, writes, "WRITE"));
}

void
smcr_text_waits(const smcr_page_t *page)
{
    smcr_entry_conn_direction_t sum = {0};
    unsigned read = join(page, &sum);
    const char *acks = smcr_page_spread(page, &sum.ack_time_s);
    const char *reads = smcr_page_spread(page, &sum.read_reported_s);
    bool waited = smcr_figure_has_waited(&sum);

    if (!*acks && !*reads && !waited)
        return;
    smcr_page_heading(page, "Who waited for whom");
    if (!waited)
        smcr_page_line(page, 2, "no writer waited for a reader");
    write_worst(page);
    if (*acks)
        smcr_page_line(page, 2, "WRITEs were acknowledged after %s%s", acks,
                       of_how_many(page, &sum));
    if (*reads)
        smcr_page_line(page, 2, "reads were reported after %s%s", reads,
                       waited && read > 1 ? " (all directions)" : "");
}
