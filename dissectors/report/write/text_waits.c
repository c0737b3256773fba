/* text_waits.c
 * Who waited for whom: writers for readers, and both for the fabric.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "report/words/words.h"
#include "text_page.h"

typedef struct {
    const smcr_connection_entry_t *conn;
    const smcr_conn_way_entry_t *way;
    bool to_server;
    uint64_t waited; /* nanoseconds */
} way_t;

static way_t
way_of(const smcr_connection_entry_t *conn, bool to_server)
{
    const smcr_conn_way_entry_t *way =
        to_server ? &conn->client_to_server : &conn->server_to_client;

    return (way_t){conn, way, to_server,
                   MAX(smcr_known(way->blocked_s), smcr_known(way->window_full_s))};
}

static bool
has_waited(const way_t *way)
{
    return smcr_known(way->way->blocked_count) || smcr_known(way->way->window_full_count);
}

/* The directions that waited longest. */
static smcr_few_t
find_worst(const smcr_page_t *page)
{
    const smcr_list_t *conns = &page->report->connections;
    smcr_few_t worst = {.count = 0};

    for (uint32_t i = 0; i < conns->length; i++) {
        for (int to_server = 1; to_server >= 0; to_server--) {
            way_t way = way_of(conns->entries[i], to_server);
            if (has_waited(&way))
                smcr_few_add(&worst, wmem_memdup(page->scope, &way, sizeof way), way.waited);
        }
    }
    return worst;
}

static const char *
time_and_count(const smcr_page_t *page, uint64_t count, uint64_t time)
{
    if (!smcr_known(count))
        return "-";
    if (!smcr_known(time)) /* the end of none is known */
        return smcr_page_text(page, "(%s×)", smcr_words_number(page->scope, count));
    return smcr_page_text(page, "%s (%s×)", smcr_words_duration(page->scope, smcr_known(time)),
                          smcr_words_number(page->scope, count));
}

static void
add_way(smcr_text_table_t *table, const way_t *way)
{
    const smcr_page_t *page = table->page;

    smcr_table_cell(table, smcr_words_way(page->scope, way->conn, way->to_server));
    smcr_table_cell(table, time_and_count(page, way->way->blocked_count, way->way->blocked_s));
    smcr_table_cell(table,
                    time_and_count(page, way->way->window_full_count, way->way->window_full_s));
    smcr_table_cell(table, smcr_page_spread(page, &way->way->read_time_s));
}

static void
write_worst(const smcr_page_t *page)
{
    static const char *const headings[] = {"writer → reader", "writer blocked", "window full",
                                           "data read after"};
    smcr_few_t worst = find_worst(page);
    smcr_text_table_t table = smcr_table_new(page, "lrrl");

    if (!worst.count)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(headings); i++)
        smcr_table_cell(&table, headings[i]);
    for (uint32_t i = 0; i < worst.length; i++)
        add_way(&table, worst.entries[i]);
    smcr_table_write(&table);
    smcr_page_more(page, worst.count, " directions that waited less");
}

static void
join(const smcr_page_t *page, smcr_conn_way_entry_t *sum)
{
    const smcr_list_t *conns = &page->report->connections;

    memset(sum, 0, sizeof *sum);
    for (uint32_t i = 0; i < conns->length; i++) {
        const smcr_connection_entry_t *conn = conns->entries[i];
        smcr_entry_join(sum, &conn->client_to_server, &smcr_conn_way_description, page->scope);
        smcr_entry_join(sum, &conn->server_to_client, &smcr_conn_way_description, page->scope);
    }
}

/* Directions whose data is known to have been read at a certain time. */
static uint64_t
count_read(const smcr_page_t *page)
{
    const smcr_list_t *conns = &page->report->connections;
    uint64_t count = 0;

    for (uint32_t i = 0; i < conns->length; i++) {
        const smcr_connection_entry_t *conn = conns->entries[i];
        count += conn->client_to_server.read_time_s.count != 0;
        count += conn->server_to_client.read_time_s.count != 0;
    }
    return count;
}

/* Nobody knows which transmission of a WRITE it is that an acknowledgement answers. */
static const char *
of_how_many(const smcr_page_t *page, const smcr_conn_way_entry_t *sum)
{
    uint64_t measured = sum->ack_time_s.count, writes = smcr_known(sum->writes);

    if (measured >= writes || !smcr_known(sum->repeated_packets))
        return "";
    return smcr_page_text(page, " (%s of %s; without those sent again)",
                          smcr_words_number(page->scope, measured),
                          smcr_words_things(page->scope, writes, "WRITE"));
}

void
smcr_text_waits(const smcr_page_t *page)
{
    smcr_conn_way_entry_t sum;
    const char *acks, *reads;
    bool waited;

    join(page, &sum);
    acks = smcr_page_spread(page, &sum.ack_time_s);
    reads = smcr_page_spread(page, &sum.read_time_s);
    waited = smcr_known(sum.blocked_count) || smcr_known(sum.window_full_count);
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
        smcr_page_line(page, 2, "announced data was read after %s%s", reads,
                       waited && count_read(page) > 1 ? " (all directions)" : "");
}
