/* text_connections.c
 * Connections: how they came out, and what the busiest ones carried.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "report/words/words.h"
#include "text_page.h"

/* How many connections came out how. */
typedef struct {
    uint64_t outcomes[SMCR_FIGURE_OUTCOME_FALLBACK + 1], closes[SMCR_FIGURE_CLOSE_ABORT + 1];
    uint64_t versions[SMCR_FIGURE_IS_SMCR_V2_1 + 1]; /* of those that went over RDMA */
    uint64_t plain;                                  /* on TCP without a fallback: nobody tried */
} counts_t;

static counts_t
count(const smcr_figure_list_t *conns)
{
    counts_t counts = {0};

    SMCR_FIGURE_EACH(connection, entry, *conns) {
        counts.outcomes[entry->outcome]++;
        counts.closes[entry->close]++;
        counts.versions[entry->version] += entry->outcome == SMCR_FIGURE_OUTCOME_SMCR;
        counts.plain += entry->outcome == SMCR_FIGURE_OUTCOME_TCP && !entry->fallback;
    }
    return counts;
}

static void
write_outcomes(const smcr_page_t *page, const counts_t *counts)
{
    const uint64_t *versions = counts->versions, *outcomes = counts->outcomes;
    const uint64_t *closes = counts->closes;

    smcr_page_line(
        page, 2, "%s: %s",
        smcr_words_things(page->scope, page->report->connections.length, "connection"),
        SMCR_WORDS_COUNTS(
            page->scope, {versions[SMCR_FIGURE_IS_SMCR_V1], "SMC-R"},
            {versions[SMCR_FIGURE_IS_SMCR_V2], "SMC-Rv2"},
            {versions[SMCR_FIGURE_IS_SMCR_V2_1], "SMC-Rv2.1"},
            {versions[SMCR_FIGURE_IS_OF_NO_VERSION], "SMC-R of unknown version"},
            {outcomes[SMCR_FIGURE_OUTCOME_SMCD], "SMC-D"},
            {outcomes[SMCR_FIGURE_OUTCOME_FALLBACK], "fell back to TCP"},
            {outcomes[SMCR_FIGURE_OUTCOME_TCP], "stayed on TCP"},
            {outcomes[SMCR_FIGURE_OUTCOME_NO_CONNECTION], "refused or not answered by TCP"},
            {outcomes[SMCR_FIGURE_OUTCOME_UNKNOWN], "without an end of the handshake"}));
    smcr_page_line(page, 2, "%s",
                   SMCR_WORDS_COUNTS(page->scope,
                                     {closes[SMCR_FIGURE_CLOSE_NORMAL], "closed normally"},
                                     {closes[SMCR_FIGURE_CLOSE_ABORT], "aborted"},
                                     {closes[SMCR_FIGURE_CLOSE_RESET], "reset"},
                                     {closes[SMCR_FIGURE_CLOSE_OPEN], "still open at the end"},
                                     {closes[SMCR_FIGURE_CLOSE_UNKNOWN], "with unknown end"}));
}

static void
write_fallbacks(const smcr_page_t *page, uint64_t plain)
{
    const smcr_figure_list_t *fallbacks = &page->report->fallbacks;

    for (uint32_t i = 0; i < fallbacks->length && i < SMCR_PAGE_MOST; i++) {
        const smcr_entry_fallback_t *fallback = fallbacks->entries[i];
        smcr_page_item(page,
                       wmem_strdup_printf(page->scope, "  %s on TCP: ",
                                          smcr_words_number(page->scope, fallback->count)),
                       fallback->reason ? fallback->reason : "reason not known");
    }
    smcr_page_more(page, fallbacks->length, " reasons");
    if (plain)
        smcr_page_line(page, 2, "%s on TCP: one side did not offer SMC-R",
                       smcr_words_number(page->scope, plain));
}

/* ---- the busiest ---- */

static const char *
size_of(const smcr_page_t *page, const smcr_entry_conn_direction_t *direction)
{
    return direction->bytes == SMCR_FIGURE_UNKNOWN ? "?"
                                                   : smcr_words_size(page->scope, direction->bytes);
}

/* Where some are not known, it is a sum of the others. */
static const char *
size_of_all(const smcr_page_t *page, const smcr_entry_connection_t *sum, bool to_server)
{
    const smcr_entry_conn_direction_t *direction = smcr_figure_direction(sum, to_server);
    bool known = true;

    SMCR_FIGURE_EACH(connection, conn, page->report->connections)
        known &= smcr_figure_direction(conn, to_server)->bytes != SMCR_FIGURE_UNKNOWN;
    if (known)
        return size_of(page, direction);
    return smcr_figure_known(direction->bytes)
               ? wmem_strdup_printf(page->scope, "≥ %s", size_of(page, direction))
               : "?";
}

/* Little data has no rate worth the name. */
static const char *
rate_of(const smcr_page_t *page, const smcr_entry_conn_direction_t *direction, uint64_t time)
{
    return smcr_figure_known(direction->bytes)
               ? smcr_words_rate(page->scope, direction->bytes, time)
               : "";
}

/* How it was closed, and over what it went where that is not RDMA. */
static const char *
end_of(const smcr_page_t *page, const smcr_entry_connection_t *conn)
{
    smcr_figure_outcome_t over =
        conn->outcome == SMCR_FIGURE_OUTCOME_FALLBACK ? SMCR_FIGURE_OUTCOME_TCP : conn->outcome;

    return smcr_page_list(page, ", ",
                          over == SMCR_FIGURE_OUTCOME_SMCR ? "" : smcr_figure_outcome_words[over],
                          smcr_figure_close_words[conn->close], NULL);
}

/* A connection, or their sum. */
static void
add_row(const smcr_text_table_t *table, const smcr_entry_connection_t *conn, const char *name,
        const char *sent, const char *received, const char *end)
{
    const smcr_page_t *page = table->page;
    uint64_t time =
        smcr_figure_known(smcr_figure_time_between(conn->first_frame, conn->last_frame));

    smcr_text_table_row(table, name, sent, received,
                        time ? smcr_words_duration(page->scope, time) : "",
                        rate_of(page, &conn->client_to_server, time),
                        rate_of(page, &conn->server_to_client, time), end);
}

/* All of them: their bytes, from the first frame to the last one. */
static smcr_entry_connection_t
add_up(const smcr_page_t *page)
{
    smcr_entry_connection_t sum;

    smcr_entry_clear(&sum, &smcr_entry_connection_description);
    SMCR_FIGURE_EACH(connection, conn, page->report->connections) {
        smcr_entry_join(&sum, conn, &smcr_entry_connection_description, page->scope);
        if (!sum.first_frame.frame || conn->first_frame.frame < sum.first_frame.frame)
            sum.first_frame = conn->first_frame;
        if (conn->last_frame.frame > sum.last_frame.frame)
            sum.last_frame = conn->last_frame;
    }
    return sum;
}

static void
write_busiest(const smcr_page_t *page)
{
    const smcr_figure_list_t *conns = &page->report->connections;
    smcr_page_few_t busiest = {.count = 0};
    smcr_text_table_t table = smcr_text_table_new(page, "lrrrrrl");

    smcr_text_table_row(&table, "client → server", "sent", "received", "time", "rate →", "rate ←",
                        "end");
    if (conns->length > 1) {
        smcr_entry_connection_t sum = add_up(page);
        const char *count = smcr_words_number(page->scope, conns->length);
        add_row(&table, &sum, wmem_strdup_printf(page->scope, "all %s", count),
                size_of_all(page, &sum, true), size_of_all(page, &sum, false), "");
    }
    SMCR_FIGURE_EACH(connection, conn, *conns) {
        smcr_page_few_add(&busiest, conn,
                          smcr_figure_known(conn->client_to_server.bytes) +
                              smcr_figure_known(conn->server_to_client.bytes));
    }
    for (uint32_t i = 0; i < busiest.length; i++) {
        const smcr_entry_connection_t *conn = busiest.entries[i];
        add_row(&table, conn, smcr_words_connection(page->scope, conn),
                size_of(page, &conn->client_to_server), size_of(page, &conn->server_to_client),
                end_of(page, conn));
    }
    smcr_text_table_write(&table);
    smcr_page_more(page, busiest.count,
                   busiest.length && busiest.weights[busiest.length - 1] ? " with less data" : "");
}

/* Each SYN is in the capture, and none has the option. */
static bool
has_all_syns(const smcr_figure_list_t *flows)
{
    SMCR_FIGURE_EACH(tcp, flow, *flows)
        if (flow->ecn_initiated == SMCR_FIGURE_MAYBE)
            return false;
    return flows->length != 0;
}

static void
write_plain(const smcr_page_t *page)
{
    const smcr_figure_list_t *flows = &page->report->tcp_flows;

    smcr_page_line(page, 2, "%s%s",
                   smcr_page_list(page, "; ", "none with SMC-R",
                                  smcr_page_things(page, flows->length, "plain TCP connection"),
                                  NULL),
                   has_all_syns(flows) ? ": no SYN offers SMC-R" : "");
}

void
smcr_text_connections(const smcr_page_t *page)
{
    counts_t counts = count(&page->report->connections);

    smcr_page_heading(page, "Connections");
    if (!page->report->connections.length) {
        write_plain(page);
        return;
    }
    write_outcomes(page, &counts);
    write_fallbacks(page, counts.plain);
    write_busiest(page);
}
