/* text_waits.c
 * Where the time of the directions went, and what they wrote.
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

/* The directions whose writers were busy longest. */
static smcr_page_few_t
find_worst(const smcr_page_t *page)
{
    smcr_page_few_t worst = {.count = 0};

    SMCR_FIGURE_EACH(connection, conn, page->report->connections) {
        for (int to_server = 1; to_server >= 0; to_server--) {
            direction_t direction = {conn, smcr_figure_direction(conn, to_server), to_server};
            const smcr_entry_conn_time_t *time = direction.figures->time;
            uint64_t busy =
                time ? time->buffer_full_s + time->retransmission_s + time->transfer_s : 0;
            if (busy)
                smcr_page_few_add(&worst, wmem_memdup(page->scope, &direction, sizeof direction),
                                  busy);
        }
    }
    return worst;
}

static const char *
share(const smcr_page_t *page, uint64_t part, uint64_t whole)
{
    if (part == SMCR_FIGURE_UNKNOWN)
        return "?";
    return part ? smcr_words_share(page->scope, part, whole) : "-";
}

static void
add_times(smcr_text_table_t *table, const direction_t *direction)
{
    const smcr_page_t *page = table->page;
    const smcr_entry_connection_t *conn = direction->conn;
    const smcr_entry_conn_time_t *time = direction->figures->time;
    uint64_t whole = smcr_figure_time_between(conn->first_frame, conn->last_frame);

    smcr_text_table_row(
        table, smcr_words_direction(page->scope, conn, direction->to_server),
        share(page, time->connecting_s, whole), share(page, time->nothing_to_write_s, whole),
        share(page, time->answer_s, whole), share(page, time->buffer_full_s, whole),
        share(page, time->retransmission_s, whole), share(page, time->transfer_s, whole),
        share(page, time->unknown_s, whole));
}

static void
add_writes(smcr_text_table_t *table, const direction_t *direction)
{
    const smcr_page_t *page = table->page;
    const smcr_entry_connection_t *conn = direction->conn;
    const smcr_entry_conn_direction_t *figures = direction->figures;
    uint64_t writes = smcr_figure_known(figures->writes);
    uint64_t time = smcr_figure_time_between(conn->first_frame, conn->last_frame);

    uint64_t buffer = direction->to_server ? conn->buffer_bytes.server : conn->buffer_bytes.client;

    smcr_text_table_row(
        table, smcr_words_direction(page->scope, conn, direction->to_server),
        buffer == SMCR_FIGURE_UNKNOWN ? "?" : smcr_words_size(page->scope, buffer),
        smcr_words_number(page->scope, writes),
        writes ? smcr_words_size(page->scope, smcr_figure_known(figures->bytes) / writes) : "",
        writes && smcr_figure_known(time)
            ? wmem_strdup_printf(page->scope, "%.1f/s", (double)writes * 1e9 / (double)time)
            : "",
        smcr_page_spread(page, &figures->read_reported_s));
}

static void
write_worst(const smcr_page_t *page)
{
    smcr_page_few_t worst = find_worst(page);
    smcr_text_table_t times = smcr_text_table_new(page, "lrrrrrrr");
    smcr_text_table_t writes = smcr_text_table_new(page, "lrrrrl");

    if (!worst.count)
        return;
    smcr_text_table_row(&times, "writer → reader", "setup", "no data", "answer", "full", "retrans.",
                        "transfer", "unknown");
    smcr_text_table_row(&writes, "writer → reader", "buffer", "WRITEs", "mean", "rate",
                        "reported as read after");
    for (uint32_t i = 0; i < worst.length; i++) {
        add_times(&times, worst.entries[i]);
        add_writes(&writes, worst.entries[i]);
    }
    smcr_text_table_write(&times);
    smcr_text_table_write(&writes);
    smcr_page_more(page, worst.count, " directions that were less busy");
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

    if (!*acks && !*reads && !sum.time)
        return;
    smcr_page_heading(page, "Where the time went");
    if (sum.time)
        write_worst(page);
    if (*acks)
        smcr_page_line(page, 2, "WRITEs were acknowledged after %s%s", acks,
                       of_how_many(page, &sum));
    if (*reads)
        smcr_page_line(page, 2, "reads were reported after %s%s%s", reads,
                       read > 1 ? " (all directions)" : "",
                       sum.time && !sum.time->buffer_full_s ? "; no writer waited for space" : "");
    if (smcr_figure_known(sum.urgent_count))
        smcr_page_line(page, 2, "urgent data was announced %s",
                       smcr_words_things(page->scope, sum.urgent_count, "time"));
}
