/* Writes the page: the template, and in its middle four blocks of JSON. A block of data is no
 * script, so the content security policy of the page, which allows only the page's own scripts,
 * does not concern it. In a block, "<" is written as \u003c, so no text of the capture can end the
 * block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "page.h"

#include "page_tables.h"
#include "page_text.h" /* made of the files of this folder by make-page */
#include "report/write/output.h"

/* ---- which entries the page has ---- */

/* Maximum number of entries of each list on the page. A connection beyond this number has only a
 * row of figures (append_rows()), unless it has pictures. "connections" stays first: chooses()
 * knows it by its index 0. Lists that are not named here have no limit. */
static const struct {
    const char *list; /* name of the list in JSON */
    uint32_t most;    /* maximum number of entries */
} limits[] = {
    {"connections", 100}, {"link_groups", 60}, {"rdma_flows", 120}, {"tcp_flows", 120},
    {"breaches", 500},    {"links", 200},      {"rmbs", 10}};

/* Whether the page has pictures of the connection of this entry. */
static bool
is_drawn(const smcr_series_t *series, const smcr_entry_connection_t *entry)
{
    for (uint32_t i = 0; i < series->conn_count; i++)
        if (series->conn[i]->conn->index == entry->stream ||
            series->conn[i]->conn->index == entry->roce_stream)
            return true;
    return false;
}

/* Whether the page's JSON has the entry: of a list with a limit the first entries, and of
 * connections also those with pictures; of other lists all entries. */
static bool
chooses(const void *data, const char *list, const void *entry, uint32_t at)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(limits); i++)
        if (strcmp(limits[i].list, list) == 0 && at >= limits[i].most)
            return i == 0 && is_drawn(data, entry);
    return true;
}

/* ---- columns of the rows of connections ---- */

#define MANY_ROWS 10000 /* a page with more connections than this has fewer figures of each */

/* has_other_number() to has_translated_server(): whether the connection has a figure that most
 * connections do not have. The page has the column of this figure only if one of its connections
 * has it. */
static bool
has_other_number(const smcr_entry_connection_t *entry)
{
    return entry->roce_stream != SMCR_FIGURE_UNKNOWN;
}

static bool
has_ends(const smcr_entry_connection_t *entry)
{
    return entry->ends != NULL;
}

/* Whether the entry has no addresses and ports of a client and a server, so that tokens name the
 * connection. */
static bool
has_no_ports(const smcr_entry_connection_t *entry)
{
    return has_ends(entry) || (!entry->client.addr && !entry->server.addr);
}

static bool
has_fallback(const smcr_entry_connection_t *entry)
{
    return entry->fallback != NULL;
}

/* Whether the connection has used several links. */
static bool
has_moved(const smcr_entry_connection_t *entry)
{
    return entry->links.length > 1;
}

/* Whether the entry has the end of the connection (`end`). */
static bool
has_first_to_close(const smcr_entry_connection_t *entry)
{
    return entry->end != NULL;
}

static bool
has_lower_bounds(const smcr_entry_connection_t *entry)
{
    return entry->client_to_server.lacks_bytes == SMCR_FIGURE_YES ||
           entry->server_to_client.lacks_bytes == SMCR_FIGURE_YES;
}

/* Whether it is not known of a part of the time what the writers waited for. */
static bool
has_unknown_time(const smcr_entry_connection_t *entry)
{
    const smcr_entry_conn_time_t *to_server = entry->client_to_server.time;
    const smcr_entry_conn_time_t *to_client = entry->server_to_client.time;

    return (to_server && to_server->unknown_s) || (to_client && to_client->unknown_s);
}

/* Whether a writer waited for space, and its reader's program had data to read. */
static bool
has_reader_time(const smcr_entry_connection_t *entry)
{
    const smcr_entry_conn_time_t *to_server = entry->client_to_server.time;
    const smcr_entry_conn_time_t *to_client = entry->server_to_client.time;

    return (to_server && to_server->reader_s) || (to_client && to_client->reader_s);
}

/* Whether a writer waited for retransmissions. */
static bool
has_recovery_time(const smcr_entry_connection_t *entry)
{
    const smcr_entry_conn_time_t *to_server = entry->client_to_server.time;
    const smcr_entry_conn_time_t *to_client = entry->server_to_client.time;

    return (to_server && to_server->retransmission_s) || (to_client && to_client->retransmission_s);
}

/* Whether only bounds of the time of the setup are known. */
static bool
has_setup_in_bounds(const smcr_entry_connection_t *entry)
{
    return entry->setup_s != entry->setup.least_s || entry->setup_s != entry->setup.most_s;
}

/* Whether another address or port of an end is in the capture, after a translation. */
static bool
has_translated_client(const smcr_entry_connection_t *entry)
{
    return entry->translated_client != NULL;
}

static bool
has_translated_server(const smcr_entry_connection_t *entry)
{
    return entry->translated_server != NULL;
}

/* Figures of all connections. Each empty cell takes 5 bytes of the page. */
static const struct {
    const char *path; /* name in the JSON */
    bool (*is_there)(const smcr_entry_connection_t *); /* the page has the figure only if this is
                                                          true of a connection; NULL: always */
    bool only_of_few; /* the page has the figure only if it has at most MANY_ROWS rows */
} columns[] = {
    {"stream", NULL, false},
    {"roce_stream", has_other_number, false},
    {"client.addr", NULL, false},
    {"client.port", NULL, false},
    {"server.addr", NULL, false},
    {"server.port", NULL, false},
    {"translated_client.addr", has_translated_client, true},
    {"translated_client.port", has_translated_client, true},
    {"translated_server.addr", has_translated_server, true},
    {"translated_server.port", has_translated_server, true},
    {"outcome", NULL, false},
    {"first_frame", NULL, false},
    {"client_to_server.bytes", NULL, false},
    {"server_to_client.bytes", NULL, false},
    {"client_to_server.repeated_packets", NULL, false},
    {"server_to_client.repeated_packets", NULL, false},
    {"client_to_server.time.buffer_full_s", NULL, false},
    {"server_to_client.time.buffer_full_s", NULL, false},
    {"client_to_server.time.reader_s", has_reader_time, true},
    {"server_to_client.time.reader_s", has_reader_time, true},
    {"client_to_server.time.retransmission_s", has_recovery_time, true},
    {"server_to_client.time.retransmission_s", has_recovery_time, true},
    {"client_to_server.lacks_bytes", has_lower_bounds, true},
    {"server_to_client.lacks_bytes", has_lower_bounds, true},
    {"client_to_server.time.buffer_full_most_s", has_unknown_time, true},
    {"server_to_client.time.buffer_full_most_s", has_unknown_time, true},
    {"client_to_server.time.retransmission_most_s", has_unknown_time, true},
    {"server_to_client.time.retransmission_most_s", has_unknown_time, true},
    {"client_to_server.time.unknown_s", has_unknown_time, true},
    {"server_to_client.time.unknown_s", has_unknown_time, true},
    {"close", NULL, false},
    {"end.by", has_first_to_close, true},
    {"ends", has_ends, false},
    {"fallback.reason", has_fallback, false},
    {"fallback.time", has_fallback, true},
    {"setup.fallback_s", has_fallback, true},
    {"links", has_moved, true},
    {"setup_s", NULL, true},
    {"setup.least_s", has_setup_in_bounds, true},
    {"setup.most_s", has_setup_in_bounds, true},
    {"first_time", NULL, true},
    {"last_time", NULL, true},
    {"tokens.client", has_no_ports, true},
    {"tokens.server", has_no_ports, true},
};

/* Whether any connection of the report has the figure of this column. */
static bool
any_has(const smcr_entry_report_t *report, unsigned column)
{
    if (!columns[column].is_there)
        return true;
    SMCR_FIGURE_EACH(connection, entry, report->connections)
        if (columns[column].is_there(entry))
            return true;
    return false;
}

/* Whether the rows of this report have the column. */
static bool
is_column(const smcr_entry_report_t *report, unsigned column)
{
    if (columns[column].only_of_few && report->connections.length > MANY_ROWS)
        return false;
    return any_has(report, column);
}

/* Appends the rows of all connections. */
static void
append_rows(GString *json, const smcr_entry_report_t *report)
{
    const char *paths[G_N_ELEMENTS(columns)];
    unsigned count = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(columns); i++)
        if (is_column(report, i))
            paths[count++] = columns[i].path;
    const smcr_json_table_t table = {&report->connections, &smcr_entry_connection_description,
                                     paths, count};
    smcr_json_append_table(json, &table);
}

/* ---- choosing connections ---- */

/* A connection over SMC-R, which may get pictures. */
typedef struct {
    uint64_t stream; /* number of the connection under which its RoCE packets are dissected */
    uint64_t lost;   /* time that it lost, nanoseconds; see trouble_of() */
    uint64_t bytes;  /* bytes that it carried */
} candidate_t;

/* Time that a connection lost, nanoseconds. It counts as a second more if the connection has moved
 * to another link, and as a second more if it ended by abort or reset. */
static uint64_t
trouble_of(const smcr_entry_connection_t *entry)
{
    bool is_broken =
        entry->close == SMCR_FIGURE_CLOSE_ABORT || entry->close == SMCR_FIGURE_CLOSE_RESET;
    uint64_t events = (entry->links.length > 1 ? 1U : 0U) + (is_broken ? 1U : 0U);

    return smcr_figure_lost_time(&entry->client_to_server) +
           smcr_figure_lost_time(&entry->server_to_client) + events * SMCR_TIME_SECOND;
}

/* Compares connections for sorting: the one that lost more time comes first. */
static int
by_lost(const void *one, const void *other)
{
    const candidate_t *a = one, *b = other;

    return (a->lost < b->lost) - (a->lost > b->lost);
}

/* Compares connections for sorting: the one that carried more bytes comes first. */
static int
by_bytes(const void *one, const void *other)
{
    const candidate_t *a = one, *b = other;

    return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* The connections of the second half are chosen among those that the first half does not have. */
void
smcr_html_choose(smcr_series_t *series, const smcr_entry_report_t *report)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(candidate_t));

    smcr_series_choose_none(series);
    SMCR_FIGURE_EACH(connection, entry, report->connections) {
        candidate_t candidate = {
            entry->roce_stream == SMCR_FIGURE_UNKNOWN ? entry->stream : entry->roce_stream,
            trouble_of(entry),
            smcr_figure_or_zero(entry->client_to_server.bytes) +
                smcr_figure_or_zero(entry->server_to_client.bytes)};
        if (entry->outcome == SMCR_FIGURE_OUTCOME_SMCR)
            g_array_append_val(all, candidate);
    }
    g_array_sort(all, by_lost);
    for (unsigned i = 0; i < MIN(all->len, SMCR_SERIES_CONNS / 2); i++)
        smcr_series_choose(series, g_array_index(all, candidate_t, i).stream);
    g_array_remove_range(all, 0, MIN(all->len, SMCR_SERIES_CONNS / 2));
    g_array_sort(all, by_bytes);
    for (unsigned i = 0; i < MIN(all->len, SMCR_SERIES_CONNS / 2); i++)
        smcr_series_choose(series, g_array_index(all, candidate_t, i).stream);
    g_array_free(all, TRUE);
}

/* ---- pictures ---- */

/* Names of lines, marks and parts, as the page's script knows them. */
#define NAME(name) #name,
static const char *const lines[] = {SMCR_SERIES_LINES(NAME)};
static const char *const marks[] = {SMCR_SERIES_MARKS(NAME)};
#undef NAME
static const char *const parts[SMCR_INTERVAL_PARTS] = {
    [SMCR_INTERVAL_IS_NOTHING] = "nothing_to_write",
    [SMCR_INTERVAL_IS_ANSWER] = "answer",
    [SMCR_INTERVAL_IS_MAYBE_ANSWER] = "unknown",
    [SMCR_INTERVAL_IS_TRANSFER] = "transfer",
    [SMCR_INTERVAL_IS_NEEDLESS] = "needless",
    [SMCR_INTERVAL_IS_MAYBE_TRANSFER] = "transfer", /* not used: a report charges this time to
                                                       another part */
    [SMCR_INTERVAL_IS_FULL_PATH] = "path",
    [SMCR_INTERVAL_IS_FULL_READER] = "reader",
    [SMCR_INTERVAL_IS_RETRANSMISSION] = "retransmission",
    [SMCR_INTERVAL_IS_UNKNOWN] = "unknown",
};

/* An array of numbers while it is written. Each number is written as the difference to the number
 * before it. */
typedef struct {
    GString *json;   /* text of the page's JSON */
    uint64_t before; /* last number */
    bool any;        /* at least one number was written */
} numbers_t;

/* Appends a number as its difference to the number before, which takes fewer digits. The page's
 * script adds the differences up. */
static void
append_number(numbers_t *numbers, uint64_t number)
{
    g_string_append_printf(numbers->json, "%s%" PRId64, numbers->any ? "," : "",
                           (int64_t)(number - numbers->before));
    numbers->before = number;
    numbers->any = true;
}

/* Which number of a point is written. */
typedef enum { OF_TIME, OF_VALUE, OF_FRAME } number_of_t;

/* Appends one of the three numbers of a point; each kind of number has an array of its own. */
static void
append_point(numbers_t *numbers, const smcr_series_point_t *point, number_of_t which)
{
    const uint64_t number[] = {point->when.time, point->value, point->when.frame};

    append_number(numbers, number[which]);
}

/* Appends an array with one number of each point of the line, in the order of their times. Each
 * number is written as the difference to the number before it, the first one as the difference to
 * `zero`. */
static void
append_numbers(GString *json, const smcr_series_line_t *line, number_of_t which, uint64_t zero)
{
    numbers_t numbers = {json, zero, false};

    g_string_append_c(json, '[');
    for (uint32_t i = 0; i < line->length; i++) {
        const smcr_series_bucket_t *bucket = &line->buckets[i];
        bool is_falling = bucket->high.when.time < bucket->low.when.time;
        append_point(&numbers, is_falling ? &bucket->high : &bucket->low, which);
        if (bucket->count > 1)
            append_point(&numbers, is_falling ? &bucket->low : &bucket->high, which);
    }
    g_string_append_c(json, ']');
}

/* Appends the indices of the points before which the value of the line was not known; nothing if
 * there are none. */
static void
append_breaks(GString *json, const smcr_series_line_t *line)
{
    unsigned points = 0, breaks = 0;

    for (uint32_t i = 0; i < line->length; i++) {
        if (line->buckets[i].after_hole)
            g_string_append_printf(json, breaks++ ? ",%u" : ",\"breaks\":[%u", points);
        points += line->buckets[i].count > 1 ? 2 : 1;
    }
    if (breaks)
        g_string_append_c(json, ']');
}

/* Appends a line: {"n": number of points before thinning, "t": times, "v": values, "f": frames},
 * its breaks, and "lost": true if it is not known how the line goes on. Times are nanoseconds since
 * `begin`, values above `zero`. */
static void
append_line(GString *json, const smcr_series_line_t *line, uint64_t begin, uint64_t zero)
{
    uint64_t points = 0;

    for (uint32_t at = 0; at < line->length; at++)
        points += line->buckets[at].count;
    g_string_append_printf(json, "{\"n\":%" PRIu64 ",\"t\":", points);
    append_numbers(json, line, OF_TIME, begin);
    g_string_append(json, ",\"v\":");
    append_numbers(json, line, OF_VALUE, zero);
    g_string_append(json, ",\"f\":");
    append_numbers(json, line, OF_FRAME, 0);
    append_breaks(json, line);
    g_string_append(json, line->is_lost ? ",\"lost\":true}" : "}");
}

/* Appends the lines, or the marks, of a direction: {name: line}. Lines without points are left out.
 * Times are nanoseconds since `begin`. */
static void
append_lines(GString *json, const smcr_series_line_t *all, const char *const *names, unsigned count,
             uint64_t begin)
{
    const char *comma = "";

    g_string_append_c(json, '{');
    for (unsigned i = 0; i < count; i++) {
        if (!all[i].length)
            continue;
        g_string_append_printf(json, "%s\"%s\":", comma, names[i]);
        append_line(json, &all[i], begin, 0);
        comma = ",";
    }
    g_string_append_c(json, '}');
}

/* Appends the pieces of time of a direction: [begin, end, begin frame, end frame, {part: time}].
 * Times are nanoseconds since `begin`. */
static void
append_lanes(GString *json, const smcr_series_direction_t *direction, uint64_t begin)
{
    g_string_append_c(json, '[');
    for (uint32_t i = 0; i < direction->lane_count; i++) {
        const smcr_interval_piece_t *piece = &direction->lanes[i];
        const char *comma = "";
        g_string_append_printf(json, "%s[%" PRId64 ",%" PRId64 ",%u,%u,{", i ? "," : "",
                               (int64_t)(piece->interval.begin.time - begin),
                               (int64_t)(piece->interval.end.time - begin),
                               piece->interval.begin.frame, piece->interval.end.frame);
        for (unsigned part = 0; part < SMCR_INTERVAL_PARTS; part++) {
            if (!piece->share[part])
                continue;
            g_string_append_printf(json, "%s\"%s\":%" PRIu64, comma, parts[part],
                                   piece->share[part]);
            comma = ",";
        }
        g_string_append(json, "}]");
    }
    g_string_append_c(json, ']');
}

/* Appends the pictures of a direction of a connection. The page's script reads the members by these
 * names. Times are nanoseconds since `begin`. */
static void
append_direction(GString *json, const smcr_series_direction_t *direction, uint64_t begin)
{
    g_string_append(json, "{\"lines\":");
    append_lines(json, direction->line, lines, SMCR_SERIES_LINE_COUNT, begin);
    g_string_append(json, ",\"marks\":");
    append_lines(json, direction->mark, marks, SMCR_SERIES_MARK_COUNT, begin);
    g_string_append(json, ",\"lanes\":");
    append_lanes(json, direction, begin);
    g_string_append_c(json, '}');
}

/* Appends the pictures of a connection: the direction from its client first. */
static void
append_conn(GString *json, smcr_series_t *series, const smcr_conn_t *conn, uint64_t begin)
{
    const smcr_series_conn_t *pictures = smcr_series_conn(series, conn);
    int client = pictures->client_is_second ? 1 : smcr_lgr_client_side(conn->lgr);

    g_string_append_printf(json, "{\"stream\":%u,\"directions\":[", conn->index);
    append_direction(json, &pictures->direction[client], begin);
    g_string_append_c(json, ',');
    append_direction(json, &pictures->direction[!client], begin);
    g_string_append(json, "]}");
}

/* Appends the bins in which packets of the flow are missing and no packet was captured. Appends two
 * numbers for each run of such bins: the first bin of the run, and the bin after the last one. A
 * run that ends with the last bin of the flow has only the first number. Appends nothing if there
 * are no such bins. */
static void
append_missing(GString *json, const smcr_series_flow_t *flow)
{
    unsigned count = 0;   /* number of numbers that are written */
    bool is_open = false; /* the bin before is one in which packets are missing */

    for (unsigned at = 0; at < SMCR_SERIES_BINS; at++) {
        const smcr_series_bin_t *bin = &flow->bin[at];
        bool is_missing = bin->misses_packets && !bin->packets;
        if (is_missing == is_open)
            continue;
        g_string_append_printf(json, count++ ? ",%u" : ",\"missing\":[%u", at);
        is_open = is_missing;
    }
    if (count)
        g_string_append_c(json, ']');
}

/* Appends the rates of a flow: [bin, bytes, packets, retransmissions, CE, CE of the tunnel only,
 * CNP] of each bin with packets; then the bins of append_missing(). */
static void
append_flow(GString *json, const smcr_series_flow_t *flow)
{
    const char *comma = "";

    if (flow->key)
        g_string_append_printf(json, "{\"flow\":%" PRIu64 ",\"bins\":[", flow->number);
    else
        g_string_append(json, "{\"flow\":null,\"bins\":[");
    for (unsigned at = 0; at < SMCR_SERIES_BINS; at++) {
        const smcr_series_bin_t *bin = &flow->bin[at];
        if (!bin->packets)
            continue;
        g_string_append_printf(json, "%s[%u,%" PRIu64 ",%u,%u,%u,%u,%u]", comma, at, bin->bytes,
                               bin->packets, bin->retransmissions, bin->ce, bin->outer_ce,
                               bin->cnp);
        comma = ",";
    }
    g_string_append_c(json, ']');
    append_missing(json, flow);
    g_string_append_c(json, '}');
}

/* Appends the delays of each way between capture points, in nanoseconds; null for a way of which no
 * delay is known. */
static void
append_ways(GString *json, const smcr_series_t *series, uint64_t begin)
{
    g_string_append_c(json, '[');
    for (uint32_t i = 0; i < series->way_count; i++) {
        g_string_append(json, i ? "," : "");
        if (series->way[i].length)
            append_line(json, &series->way[i], begin, SMCR_SERIES_NO_DELAY);
        else
            g_string_append(json, "null");
    }
    g_string_append_c(json, ']');
}

/* Appends all pictures. A connection or a flow that has turned out to be a part of another one is
 * left out: such a flow has no number in the report. */
static void
append_pictures(GString *json, smcr_series_t *series, uint64_t begin)
{
    const char *comma = "";

    g_string_append_printf(json, "{\"connections\":[");
    for (uint32_t i = 0; i < series->conn_count; i++) {
        if (series->conn[i]->conn->merged_into)
            continue;
        g_string_append(json, comma);
        append_conn(json, series, series->conn[i]->conn, begin);
        comma = ",";
    }
    comma = "";
    g_string_append_printf(json, "],\"bins_begin\":%" PRId64 ",\"bin_width\":%" PRIu64
                           ",\"flows\":[",
                           series->width ? (int64_t)(series->begin - begin) : 0, series->width);
    for (uint32_t i = 0; i < series->flow_count; i++) {
        const smcr_series_flow_t *flow = series->flow[i];
        if (flow->key && flow->number == UINT64_MAX)
            continue;
        g_string_append(json, comma);
        append_flow(json, flow);
        comma = ",";
    }
    g_string_append(json, "],\"ways\":");
    append_ways(json, series, begin);
    g_string_append_c(json, '}');
}

/* ---- the page ---- */

/* Appends a block of data, which the page's script finds by `id`. Each `<` in the data is escaped,
 * so that the data cannot end the block. */
static void
append_block(GString *html, const char *id, const GString *json)
{
    g_string_append_printf(html, "<script type=\"application/json\" id=\"%s\">", id);
    for (const char *at = json->str, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "<");
        g_string_append_len(html, at, end - at);
        if (*end)
            g_string_append(html, "\\u003c");
    }
    g_string_append(html, "</script>\n");
}

/* The scripts of the page find the blocks by these four names. */
void
smcr_html_append(GString *html, const smcr_entry_report_t *report, smcr_series_t *series)
{
    const smcr_json_choice_t choice = {chooses, series};
    const uint64_t first = report->capture.first_time;
    GString *json = g_string_new(NULL);

    g_string_append_len(html, (const char *)page_begin, sizeof page_begin - 1);
    smcr_json_append_chosen(json, report, &choice);
    append_block(html, "report", json);
    g_string_truncate(json, 0);
    append_rows(json, report);
    append_block(html, "rows", json);
    g_string_truncate(json, 0);
    append_pictures(json, series, first == SMCR_FIGURE_UNKNOWN ? 0 : first);
    append_block(html, "pictures", json);
    g_string_truncate(json, 0);
    smcr_html_append_tables(json, report);
    append_block(html, "tables", json);
    g_string_append_len(html, (const char *)page_end, sizeof page_end - 1);
    g_string_free(json, TRUE);
}
