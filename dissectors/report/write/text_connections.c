/* text_connections.c
 * Connections: how they came out, and what the busiest ones carried; where the time of their
 * directions went, and what these wrote.
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

/* ---- where the time went ---- */

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
