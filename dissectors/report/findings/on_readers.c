/* on_readers.c
 * Writers that wait for readers. A writer is blocked, or has filled the RMB element, until the
 * reader frees space.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include <string.h>

#include "report/words/words.h"

#define LATE UINT64_C(500000000) /* nanoseconds: an expert item says so, too */

/* One direction of a connection, and how long its writer waited. */
typedef struct {
    const smcr_entry_connection_t *conn;
    bool to_server;
    uint64_t waited; /* nanoseconds */
    uint64_t whole;  /* of the connection, nanoseconds */
} wait_t;

static wait_t
wait_of(const smcr_entry_connection_t *conn, bool to_server)
{
    const smcr_entry_conn_direction_t *direction = smcr_figure_direction(conn, to_server);
    wait_t wait = {.conn = conn, .to_server = to_server};

    if (smcr_figure_has_waited(direction))
        wait.waited = smcr_figure_waited(direction);
    wait.whole = smcr_figure_known(smcr_figure_time_between(conn->first_frame, conn->last_frame));
    return wait;
}

static bool
waits_long(const wait_t *wait)
{
    return wait->waited && (wait->waited * 10 >= wait->whole || wait->waited >= LATE);
}

/* The one that waited longest, and how many waited long. */
static wait_t
longest(const smcr_finder_t *finder, uint32_t *count)
{
    const smcr_figure_list_t *conns = &finder->report->connections;
    wait_t worst = {0};

    for (uint32_t i = 0; i < conns->length; i++) {
        for (int to_server = 1; to_server >= 0; to_server--) {
            wait_t wait = wait_of(conns->entries[i], to_server);
            *count += waits_long(&wait);
            if (waits_long(&wait) && wait.waited > worst.waited)
                worst = wait;
        }
    }
    return worst;
}

static bool
is_lossy(const smcr_entry_connection_t *conn)
{
    return smcr_figure_known(conn->client_to_server.repeated_packets) ||
           smcr_figure_known(conn->server_to_client.repeated_packets);
}

/* Where packets of the connection were sent again, the network may be what made it wait. */
static smcr_figure_severity_t
severity_of(const wait_t *wait)
{
    return !is_lossy(wait->conn) && wait->waited * 2 >= wait->whole ? SMCR_FIGURE_WARN
                                                                    : SMCR_FIGURE_NOTE;
}

static const char *
share(const smcr_finder_t *finder, const wait_t *wait)
{
    if (!wait->whole || wait->waited > wait->whole)
        return "";
    return wmem_strdup_printf(finder->scope, " (%s of its time)",
                              smcr_words_share(finder->scope, wait->waited, wait->whole));
}

/* Where packets were sent again, too: whether somebody waited before that. */
static const char *
order(const smcr_finder_t *finder, const wait_t *wait, smcr_when_t when)
{
    smcr_when_t loss = smcr_finder_first(finder, "smcr.nak", "smcr.packet_retransmitted");

    if (!is_lossy(wait->conn) || !when.frame || !loss.frame || when.frame >= loss.frame)
        return "";
    return "; waiting began before any retransmission";
}

void
smcr_finding_on_readers(smcr_finder_t *finder)
{
    uint32_t count = 0;
    wait_t wait = longest(finder, &count);
    smcr_when_t when = smcr_finder_first(finder, "smcr.window.writer_blocked", "smcr.window.full");

    if (!count)
        return;
    smcr_finder_add_as(
        finder, SMCR_FIGURE_FOUND_SLOW_READER, severity_of(&wait), count, when,
        "smcr.window.full || smcr.window.writer_blocked", "%s: %s waited %s for space%s%s%s",
        is_lossy(wait.conn) ? "Loss or a slow reader"
        : wait.to_server    ? "The server reads slowly"
                            : "The client reads slowly",
        smcr_words_direction(finder->scope, wait.conn, wait.to_server),
        smcr_words_duration(finder->scope, wait.waited), share(finder, &wait),
        count > 1 ? wmem_strdup_printf(finder->scope, "; others waited, too: %s in all",
                                       smcr_words_things(finder->scope, count, "direction"))
                  : "",
        order(finder, &wait, when));
}
