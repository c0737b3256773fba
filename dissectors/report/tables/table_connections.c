/* table_connections.c
 * A row for each connection, in the words of smcss.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "table_kinds.h"

#include "report/words/words.h"

/* "SMCR", "TCP 0x03030002": of TCP, the code of the Decline. */
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

/* "1", "1,2": the numbers of its links, in the order of their use. */
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

/* Where the time of a direction went. */
#define PART_OF(way, part) (conn->way.time ? conn->way.time->part : SMCR_FIGURE_UNKNOWN)
#define PART(SECONDS, title, part) \
    SECONDS(title " → (s)", 0, PART_OF(client_to_server, part)) \
    SECONDS(title " ← (s)", 0, PART_OF(server_to_client, part))

#define COLUMNS(TEXT, NUMBER, SECONDS, FRAME, QPN) \
    NUMBER("Stream", 0, conn->stream) \
    TEXT("Client Address", 21, smcr_words_endpoint(rows->scope, &conn->client)) \
    TEXT("Server Address", 21, smcr_words_endpoint(rows->scope, &conn->server)) \
    TEXT("Mode", 14, mode_of(rows->scope, conn)) \
    TEXT("Version", 9, smcr_figure_version_words[conn->version]) \
    NUMBER("LG-ID", 0, conn->link_group) \
    TEXT("Linkid", 0, links_of(rows->scope, conn)) \
    SECONDS("Setup (s)", 9, conn->setup_s) \
    SECONDS("Time (s)", 12, smcr_figure_time_between(conn->first_frame, conn->last_frame)) \
    NUMBER("Bytes →", 12, conn->client_to_server.bytes) \
    NUMBER("Bytes ←", 12, conn->server_to_client.bytes) \
    NUMBER("WRITEs →", 0, conn->client_to_server.writes) \
    NUMBER("WRITEs ←", 0, conn->server_to_client.writes) \
    NUMBER("CDC →", 7, conn->client_to_server.cdc) \
    NUMBER("CDC ←", 7, conn->server_to_client.cdc) \
    NUMBER("Retransmitted →", 0, conn->client_to_server.repeated_packets) \
    NUMBER("Retransmitted ←", 0, conn->server_to_client.repeated_packets) \
    NUMBER("Blocked →", 0, conn->client_to_server.blocked_count) \
    NUMBER("Blocked ←", 0, conn->server_to_client.blocked_count) \
    NUMBER("Window full →", 0, conn->client_to_server.window_full_count) \
    NUMBER("Window full ←", 0, conn->server_to_client.window_full_count) \
    PART(SECONDS, "Nothing to write", nothing_to_write_s) \
    PART(SECONDS, "Answer", answer_s) \
    PART(SECONDS, "Buffer full", buffer_full_s) \
    PART(SECONDS, "Retransmission", retransmission_s) \
    PART(SECONDS, "Transfer", transfer_s) \
    PART(SECONDS, "Unknown", unknown_s) \
    NUMBER("Unreported →", 0, conn->client_to_server.unreported_bytes) \
    NUMBER("Unreported ←", 0, conn->server_to_client.unreported_bytes) \
    TEXT("Close", 7, smcr_figure_close_words[conn->close])

static void
fill(smcr_table_rows_t *rows, const smcr_entry_report_t *report)
{
    SMCR_FIGURE_EACH(connection, conn, report->connections) {
        SMCR_TABLE_CELLS(COLUMNS)
        smcr_table_row_end(rows);
    }
}

SMCR_TABLE(connections, "SMC-R Connections");
