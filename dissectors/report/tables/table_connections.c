/* Three tables: connections, in the words of smcss; the directions of connections, with the parts
 * of the time of each direction; and the reasons why connections stayed on TCP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "tables.h"

#include "report/words/words.h"

/* ---- a row for each connection ---- */

/* Returns the mode of a connection: "SMCR", "SMCD", "TCP", or "TCP 0x03030002" with the reason code
 * of the fallback, from the Decline or from a host's report; NULL: not known. */
static const char *
mode_of(wmem_allocator_t *scope, const smcr_entry_connection_t *conn)
{
    if (conn->outcome == SMCR_FIGURE_OUTCOME_SMCR)
        return "SMCR";
    if (conn->outcome == SMCR_FIGURE_OUTCOME_SMCD)
        return "SMCD";
    if (conn->outcome == SMCR_FIGURE_OUTCOME_UNKNOWN)
        return NULL;
    if (!conn->fallback || conn->fallback->code == SMCR_FIGURE_UNKNOWN)
        return "TCP";
    return wmem_strdup_printf(scope, "TCP %s",
                              smcr_figure_hex_text(scope, conn->fallback->code, 4));
}

/* Returns the numbers of the connection's links in the order in which the connection used them:
 * "1", "1,2". "?" stands for a number that is not known. NULL: the connection has used no link. */
static const char *
links_of(wmem_allocator_t *scope, const smcr_entry_connection_t *conn)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    for (uint32_t i = 0; i < conn->links.length; i++) {
        const smcr_entry_conn_link_t *link = conn->links.entries[i];
        const char *comma = i ? "," : "";
        if (link->number == SMCR_FIGURE_UNKNOWN)
            wmem_strbuf_append_printf(text, "%s?", comma);
        else
            wmem_strbuf_append_printf(text, "%s%" PRIu64, comma, link->number);
    }
    return conn->links.length ? wmem_strbuf_get_str(text) : NULL;
}

/* Whether only bounds of the time of the setup are known: of the time from the SYN until the
 * connection can carry data over SMC-R. */
static bool
has_setup_in_bounds(const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_setup_t *setup = &conn->setup;
    bool has_bound =
        setup->least_s != SMCR_FIGURE_UNKNOWN || setup->most_s != SMCR_FIGURE_UNKNOWN;

    return !conn->fallback && conn->setup_s == SMCR_FIGURE_UNKNOWN && has_bound;
}

/* Returns the time of the setup, nanoseconds: from the SYN until the connection can carry data over
 * SMC-R, or until it fell back to TCP. If only bounds are known, returns the lower bound; 0: only
 * the upper one is known. SMCR_FIGURE_UNKNOWN: nothing is known. */
static uint64_t
setup_of(const smcr_entry_connection_t *conn)
{
    if (has_setup_in_bounds(conn))
        return smcr_figure_or_zero(conn->setup.least_s);
    return conn->fallback ? conn->setup.fallback_s : conn->setup_s;
}

/* After the time of a setup: its bounds, if `is_bounded`. */
#define SETUP_BOUNDS(is_bounded)                                                                   \
    SMCR_TABLE_AT_LEAST(is_bounded)                                                                \
    SMCR_TABLE_AT_MOST(smcr_figure_or_zero(conn->setup.most_s))

#define CONNECTION(X)                                                                              \
    X(NUMBER, "Stream", NULL, 0, conn->stream)                                                     \
    X(TEXT, "Client Address", NULL, 21,                                                            \
      conn->ends ? conn->ends : smcr_words_endpoint(taker->texts, &conn->client))                  \
    X(TEXT, "Server Address", NULL, 21, smcr_words_endpoint(taker->texts, &conn->server))          \
    X(TEXT, "Mode", NULL, 14, mode_of(taker->texts, conn))                                         \
    X(TEXT, "Version", NULL, 9, smcr_figure_version_words[conn->version])                          \
    X(NUMBER, "LG-ID", NULL, 0, conn->link_group)                                                  \
    X(TEXT, "Linkid", NULL, 0, links_of(taker->texts, conn))                                       \
    X(SECONDS, "Setup (s)", NULL, 9,                                                               \
      setup_of(conn) SETUP_BOUNDS(has_setup_in_bounds(conn)))                                      \
    X(SECONDS, "Time (s)", NULL, 12,                                                               \
      smcr_figure_time_between(conn->first_frame, conn->last_frame))                               \
    X(BYTES, "Bytes →", NULL, 12, conn->client_to_server.bytes)                                    \
    X(BYTES, "Bytes ←", NULL, 12, conn->server_to_client.bytes)                                    \
    X(TEXT, "Close", NULL, 7, smcr_figure_close_words[conn->close])

/* Makes a row for each connection. Both ranks are 0: the page of text has the table of directions
 * instead. */
static void
fill_connections(const smcr_table_row_sink_t *taker)
{
    SMCR_FIGURE_EACH(connection, conn, taker->report->connections)
        SMCR_TABLE_ROW(taker, CONNECTION, 0, 0);
}

SMCR_TABLE(connections, "SMC-R Connections", CONNECTION, NULL);

/* ---- a row for each direction ---- */

/* Whether the cell of a part of the time shows bounds: the unknown time may change the part
 * notably. This holds if the unknown time is a millisecond or more, and more than 1 % of the
 * part. */
static bool
is_partly(uint64_t part, uint64_t unknown)
{
    return unknown >= SMCR_TIME_MILLISECOND && unknown > part / 100;
}

/* Whether nothing is known of a part of the time: no time certainly belongs to the part, and all
 * time may. `whole`: time from the first frame of the connection to its last frame. */
static bool
is_nothing_known(uint64_t part, uint64_t unknown, uint64_t whole)
{
    return part == 0 && unknown > 0 && unknown >= whole;
}

/* Whether it is known that no data of the connection goes over RDMA: it stayed on TCP or fell back
 * to TCP, uses SMC-D, or was not set up. */
static bool
is_not_over_rdma(const smcr_entry_connection_t *conn)
{
    return conn->outcome != SMCR_FIGURE_OUTCOME_SMCR &&
           conn->outcome != SMCR_FIGURE_OUTCOME_UNKNOWN;
}

/* Whether only bounds of the setup's part of the time are known: those of the setup. */
static bool
has_connecting_in_bounds(const smcr_entry_conn_time_t *time, const smcr_entry_connection_t *conn)
{
    return time && time->connecting_s == SMCR_FIGURE_UNKNOWN && has_setup_in_bounds(conn);
}

/* Returns the setup's part of the time of a direction, nanoseconds, or its lower bound.
 * SMCR_FIGURE_UNKNOWN: not known. */
static uint64_t
connecting_of(const smcr_entry_conn_time_t *time, const smcr_entry_connection_t *conn)
{
    if (has_connecting_in_bounds(time, conn))
        return setup_of(conn);
    return time ? time->connecting_s : SMCR_FIGURE_UNKNOWN;
}

/* A column for a part of the time, with its bounds. `unknown`: time that may belong to the part
 * beside the time that certainly does. */
#define PART_OF(X, name, page, part, unknown)                                                      \
    X(SECONDS, name " (s)", page, 0, way->time ? way->time->part : SMCR_FIGURE_UNKNOWN             \
      SMCR_TABLE_OF_TCP(!way->time && is_not_over_rdma(conn))                                      \
      SMCR_TABLE_AT_LEAST(way->time && is_partly(way->time->part, unknown))                        \
      SMCR_TABLE_AT_MOST(                                                                          \
          way->time && !is_nothing_known(way->time->part, unknown, CONNECTION_TIME)                \
              ? way->time->part + (unknown)                                                        \
              : 0))

/* The same for a part that has an upper bound in the entry. */
#define PART(X, name, page, part)                                                                  \
    PART_OF(X, name, page, part##_s, way->time->part##_most_s - way->time->part##_s)

/* Time from the first frame of the connection to its last frame. */
#define CONNECTION_TIME                                                                            \
    smcr_figure_or_zero(smcr_figure_time_between(conn->first_frame, conn->last_frame))

#define DIRECTION(X)                                                                               \
    X(NUMBER, "Stream", NULL, 0, conn->stream)                                                     \
    X(TEXT, "Writer → reader", "writer → reader", 33,                                              \
      smcr_words_direction(taker->texts, conn, to_server))                                         \
    X(SECONDS, "Time (s)", "lasted", 12,                                                           \
      smcr_figure_time_between(conn->first_frame, conn->last_frame))                               \
    X(BYTES, "Bytes", "data", 12,                                                                  \
      way->bytes SMCR_TABLE_AT_LEAST(way->lacks_bytes == SMCR_FIGURE_YES))                         \
    PART(X, "Buffer full", "buf. full", buffer_full)                                               \
    PART(X, "Retransmission", "recovery", retransmission)                                          \
    PART(X, "Transfer", NULL, transfer)                                                            \
    PART(X, "Answer", NULL, answer)                                                                \
    PART(X, "Nothing to write", NULL, nothing_to_write)                                            \
    X(SECONDS, "Setup (s)", NULL, 0,                                                               \
      connecting_of(way->time, conn) SMCR_TABLE_OF_TCP(!way->time && is_not_over_rdma(conn))       \
          SETUP_BOUNDS(has_connecting_in_bounds(way->time, conn)))                                 \
    PART_OF(X, "Unknown", NULL, unknown_s, 0)                                                      \
    X(BYTES, "Buffer", NULL, 7, to_server ? conn->buffer_bytes.server : conn->buffer_bytes.client) \
    X(COUNT, "Blocked", NULL, 0, way->blocked_count)                                               \
    X(COUNT, "Window full", NULL, 0, way->window_full_count)                                       \
    X(COUNT, "WRITEs", NULL, 7, way->writes)                                                       \
    X(COUNT, "CDC", NULL, 7, way->cdc)                                                             \
    X(COUNT, "Retransmitted", NULL, 0, way->repeated_packets)                                      \
    SMCR_TABLE_SPREAD(X, "ACK", way->ack_time_s)                                                   \
    SMCR_TABLE_SPREAD(X, "Sent to reported read", way->read_reported_s)                            \
    X(BYTES, "Unreported", NULL, 0, way->unreported_bytes)                                         \
    X(COUNT, "Urgent", NULL, 0, way->urgent_count)

/* Adds the row of a direction. The row has suffered for the time that its writer lost. The macro
 * DIRECTION reads `taker`, `conn`, `to_server` and `way`. */
static void
add_direction(const smcr_table_row_sink_t *taker, const smcr_entry_connection_t *conn,
              bool to_server)
{
    const smcr_entry_conn_direction_t *way = smcr_figure_direction(conn, to_server);

    SMCR_TABLE_ROW(taker, DIRECTION, 1 + smcr_figure_or_zero(way->bytes),
                   smcr_figure_lost_time(way));
}

/* Makes a row for each direction of a connection. */
static void
fill_directions(const smcr_table_row_sink_t *taker)
{
    SMCR_FIGURE_EACH(connection, conn, taker->report->connections) {
        add_direction(taker, conn, true);
        if (!smcr_words_names_both_ends(conn)) /* else the second row would have the same name */
            add_direction(taker, conn, false);
    }
}

/* Whether the capture has TCP connections, and the SYN of each: `ecn_initiated` is known only if
 * the SYN was captured. If no connection has SMC-R, no SYN then offers SMC-R. */
static bool
has_all_syns(const smcr_figure_list_t *flows)
{
    SMCR_FIGURE_EACH(tcp, flow, *flows)
        if (flow->ecn_initiated == SMCR_FIGURE_MAYBE)
            return false;
    return flows->length != 0;
}

/* Whether the capture may have connections of SMC-R: it has link groups, or truncated RoCE
 * packets. */
static bool
may_have_smcr(const smcr_entry_report_t *report)
{
    return report->link_groups.length != 0 || smcr_words_may_hide_smcr(report);
}

/* Returns the heading for a capture without connections of SMC-R: the number of TCP connections.
 * Links may have connections, and so may RoCE packets of which the capture has truncated frames. */
static const char *
plain_connections(const smcr_table_row_sink_t *taker)
{
    const smcr_figure_list_t *flows = &taker->report->tcp_flows;
    bool is_cut = smcr_figure_or_zero(taker->report->capture.cut_frames) != 0;
    bool may_have_conns = may_have_smcr(taker->report);

    if (!flows->length)
        return may_have_conns ? "Connections: none known" : "Connections: none";
    return wmem_strdup_printf(
        taker->scope, "Connections: none %swith SMC-R; %s%s", may_have_conns ? "known " : "",
        smcr_words_things(taker->scope, flows->length,
                          may_have_conns ? "TCP connection" : "plain TCP connection"),
        has_all_syns(flows) && !is_cut ? ": no SYN offers SMC-R" : "");
}

/* Returns the number of connections by outcome and by close: "Connections: 3 SMC-Rv2.0, 1 fell back
 * to TCP; close: 3 normal, 1 reset". */
static const char *
heading_of_directions(const smcr_table_row_sink_t *taker)
{
    uint64_t outcomes[SMCR_FIGURE_OUTCOME_FALLBACK + 1] = {0};
    uint64_t closes[SMCR_FIGURE_CLOSE_ABORT + 1] = {0};
    uint64_t versions[SMCR_FIGURE_IS_SMCR_V2_X + 1] = {0}; /* number of connections over RDMA of
                                                              each version */
    bool has_inferred = false; /* the name of a connection begins with "probably" */

    if (!taker->report->connections.length)
        return plain_connections(taker);
    SMCR_FIGURE_EACH(connection, conn, taker->report->connections) {
        outcomes[conn->outcome]++;
        closes[conn->close]++;
        versions[conn->version] += conn->outcome == SMCR_FIGURE_OUTCOME_SMCR;
        has_inferred |= smcr_words_is_inferred(conn);
    }
    return wmem_strdup_printf(
        taker->scope, "Connections: %s; close: %s%s",
        SMCR_WORDS_COUNTS(
            taker->scope, {versions[SMCR_FIGURE_IS_SMCR_V1], "SMC-Rv1"},
            {versions[SMCR_FIGURE_IS_SMCR_V2], "SMC-Rv2.0"},
            {versions[SMCR_FIGURE_IS_SMCR_V2_1], "SMC-Rv2.1"},
            {versions[SMCR_FIGURE_IS_SMCR_V2_X], "SMC-Rv2 (2.0 or 2.1)"},
            {versions[SMCR_FIGURE_IS_OF_NO_VERSION], "SMC-R of unknown version"},
            {outcomes[SMCR_FIGURE_OUTCOME_SMCD], "SMC-D"},
            {outcomes[SMCR_FIGURE_OUTCOME_FALLBACK], "fell back to TCP"},
            {outcomes[SMCR_FIGURE_OUTCOME_TCP], "stayed on TCP"},
            {outcomes[SMCR_FIGURE_OUTCOME_FAILED], "failed in the handshake"},
            {outcomes[SMCR_FIGURE_OUTCOME_NO_CONNECTION], "refused or not answered by TCP"},
            {outcomes[SMCR_FIGURE_OUTCOME_UNKNOWN], "with unknown handshake outcome"}),
        SMCR_WORDS_COUNTS(taker->scope, {closes[SMCR_FIGURE_CLOSE_NORMAL], "normal"},
                          {closes[SMCR_FIGURE_CLOSE_ABORT], "aborted"},
                          {closes[SMCR_FIGURE_CLOSE_RESET], "reset"},
                          {closes[SMCR_FIGURE_CLOSE_OPEN], "still open"},
                          {closes[SMCR_FIGURE_CLOSE_UNKNOWN], "not captured"}),
        has_inferred ? " (\"probably\": TCP ports inferred from order and times)" : "");
}

SMCR_TABLE_NOTED(directions, "SMC-R Directions",
                 "buf. full: waits for space in the reader's buffer; recovery: time that "
                 "retransmissions by either host cost the connection",
                 DIRECTION, heading_of_directions);

/* ---- a row for each reason why connections stayed on TCP ---- */

#define FALLBACK(X)                                                                                \
    X(TEXT, "Code", NULL, 10,                                                                      \
      fallback->code == SMCR_FIGURE_UNKNOWN                                                        \
          ? NULL                                                                                   \
          : smcr_figure_hex_text(taker->texts, fallback->code, 4))                                 \
    X(TEXT, "By", NULL, 6, smcr_figure_role_words[fallback->by])                                   \
    X(COUNT, "Count", NULL, 0, fallback->count)                                                    \
    X(TEXT, "Reason", NULL, 0, fallback->reason)

/* Makes a row for each reason of a fallback. Both ranks are 0: the page of text does not have this
 * table. */
static void
fill_fallbacks(const smcr_table_row_sink_t *taker)
{
    SMCR_FIGURE_EACH(fallback, fallback, taker->report->fallbacks)
        SMCR_TABLE_ROW(taker, FALLBACK, 0, 0);
}

SMCR_TABLE(fallbacks, "SMC-R Fallbacks", FALLBACK, NULL);
