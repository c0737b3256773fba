/* Waits of programs on connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "waits.h"

#include "report/words/words.h"

uint64_t
smcr_finding_wait_mean(const smcr_distribution_t *times)
{
    return times ? times->sum / times->count : 0;
}

/* An entry has at most one wait of each writer and kind, so the first one is the longest. */
const smcr_entry_conn_wait_t *
smcr_finding_wait_longest(const smcr_entry_connection_t *conn, bool to_server,
                          smcr_figure_wait_t kind)
{
    smcr_figure_role_t writer = smcr_figure_role(!to_server);

    SMCR_FIGURE_EACH(conn_wait, wait, conn->longest_waits)
        if (wait->writer == writer && wait->kind == kind)
            return wait;
    return NULL;
}

void
smcr_finding_wait_add(wmem_array_t *frames, const smcr_entry_connection_t *conn, bool to_server,
                      smcr_figure_wait_t kind)
{
    SMCR_FIGURE_EACH(conn_wait, wait, conn->longest_waits) {
        if (wait->writer != smcr_figure_role(!to_server) || wait->kind != kind)
            continue;
        smcr_finder_frames_add(frames, wait->begin_frame);
        smcr_finder_frames_add(frames, wait->end_frame);
    }
}

uint64_t
smcr_finding_wait_proven(const smcr_entry_conn_open_wait_t *wait)
{
    return smcr_figure_or_zero(smcr_figure_time_between(wait->begin_frame, wait->proven_frame));
}

/* The first link stands for the host if TCP is not captured. */
const char *
smcr_finding_wait_address(const smcr_finder_t *finder, const smcr_entry_connection_t *conn,
                          bool is_server)
{
    const smcr_entry_endpoint_t *end = is_server ? &conn->server : &conn->client;

    if (end->addr)
        return end->addr;
    SMCR_FIGURE_EACH(link_group, group, finder->report->link_groups) {
        if (group->index != conn->link_group || !group->links.length)
            continue;
        const smcr_entry_link_t *link = group->links.entries[0];
        return is_server ? link->server.gid : link->client.gid;
    }
    return NULL;
}

/* The role is named only if it is known. */
const char *
smcr_finding_wait_program(const smcr_finder_t *finder, const smcr_entry_connection_t *conn,
                          bool is_server)
{
    const char *address = smcr_finding_wait_address(finder, conn, is_server);

    if (!smcr_words_knows_roles(conn) || !address)
        return smcr_words_end(finder->scope, conn, is_server);
    return wmem_strdup_printf(finder->scope, "%s %s", is_server ? "server" : "client", address);
}

const char *
smcr_finding_wait_size(const smcr_finder_t *finder, uint64_t size)
{
    return size % 1024 || size >= 1 << 20
               ? smcr_words_size(finder->scope, size)
               : wmem_strdup_printf(finder->scope, "%" PRIu64 " KiB", size / 1024);
}

uint64_t
smcr_finding_wait_buffer(const smcr_entry_connection_t *conn, bool to_server)
{
    return to_server ? conn->buffer_bytes.server : conn->buffer_bytes.client;
}

/* Begins with a space, since it follows the name of the reader. */
const char *
smcr_finding_wait_buffer_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn,
                              bool to_server)
{
    uint64_t size = smcr_finding_wait_buffer(conn, to_server);

    if (size == SMCR_FIGURE_UNKNOWN)
        return "";
    return wmem_strdup_printf(finder->scope, " (%s buffer)", smcr_finding_wait_size(finder, size));
}

const char *
smcr_finding_wait_more(const smcr_finder_t *finder, uint32_t count)
{
    if (count <= 1)
        return "";
    return wmem_strdup_printf(finder->scope, "; %s with long waits",
                              smcr_words_things(finder->scope, count - 1, "more direction"));
}

/* ---- a program that waits itself ---- */

/* Returns how long both waits last at the same time, nanoseconds; 0 also if a begin or an end is
 * not known. */
static uint64_t
overlap_of(const smcr_entry_conn_wait_t *one, const smcr_entry_conn_wait_t *other)
{
    uint64_t begin = MAX(one->begin_frame.time, other->begin_frame.time);
    uint64_t end = MIN(one->end_frame.time, other->end_frame.time);
    bool are_known = one->begin_frame.frame && one->end_frame.frame &&
                     other->begin_frame.frame && other->end_frame.frame;

    return are_known && end > begin ? end - begin : 0;
}

/* Whether the wait `own` explains the wait `outer`. The same host causes `outer` and suffers `own`.
 * `own` ends first, and covers half of `outer`: the host continued when its own wait was over. The
 * rest may be the setup of the connection on which the host waits, as in a proxy that connects for
 * each request. If the host waits for an answer, `own` must not begin before `outer`: the host got
 * a request before it sent its own. An earlier request may be of another program of the host. */
static bool
is_explained_by(const smcr_entry_conn_wait_t *outer, const smcr_entry_conn_wait_t *own)
{
    bool is_later = own->kind != SMCR_FIGURE_WAIT_ANSWER ||
                    own->begin_frame.time >= outer->begin_frame.time;

    return is_later && own->end_frame.time < outer->end_frame.time &&
           overlap_of(outer, own) * 2 >= outer->lasted_s;
}

/* Whether the wait is one in which the writer depends on its peer: for space, or as a client for an
 * answer. A server that waits for the next request depends on nobody, nor does the client of a
 * server that also writes unasked. False for an answer if it is not known who is the client. */
static bool
depends_on_peer(const smcr_entry_connection_t *conn, const smcr_entry_conn_wait_t *wait)
{
    if (wait->kind == SMCR_FIGURE_WAIT_SPACE)
        return true;
    return wait->kind == SMCR_FIGURE_WAIT_ANSWER && wait->writer == SMCR_FIGURE_ROLE_CLIENT &&
           smcr_words_knows_roles(conn) &&
           !smcr_figure_or_zero(conn->server_to_client.unasked_writes);
}

/* Of equal overlaps, the first one in the order of the report is returned. */
smcr_finding_own_wait_t
smcr_finding_wait_own(const smcr_finder_t *finder, const smcr_entry_connection_t *conn,
                      const char *host, const smcr_entry_conn_wait_t *outer)
{
    smcr_finding_own_wait_t found = {0};

    SMCR_FIGURE_EACH(connection, other, finder->report->connections) {
        if (other == conn || !other->longest_waits.length)
            continue;
        SMCR_FIGURE_EACH(conn_wait, wait, other->longest_waits) {
            bool is_server = wait->writer == SMCR_FIGURE_ROLE_SERVER;
            uint64_t overlap = overlap_of(outer, wait);
            if (overlap > found.overlap && depends_on_peer(other, wait) &&
                is_explained_by(outer, wait) &&
                g_strcmp0(smcr_finding_wait_address(finder, other, is_server), host) == 0)
                found = (smcr_finding_own_wait_t){other, wait, !is_server, overlap};
        }
    }
    return found;
}

/* A slow program may itself have waited for another host. Then the cause is that host, and the text
 * names the connection to it. */
const char *
smcr_finding_wait_own_text(const smcr_finder_t *finder, const smcr_finding_own_wait_t *own)
{
    if (!own->conn)
        return "";
    return wmem_strdup_printf(
        finder->scope,
        "; meanwhile %s waited %s for %s on %s (frames %" PRIu32 " to %" PRIu32 ")",
        smcr_finding_wait_address(finder, own->conn, !own->to_server),
        smcr_words_duration(finder->scope, own->wait->lasted_s),
        own->wait->kind == SMCR_FIGURE_WAIT_SPACE ? "space" : "an answer",
        smcr_words_direction(finder->scope, own->conn, own->to_server),
        own->wait->begin_frame.frame, own->wait->end_frame.frame);
}

/* ---- a program that had stopped before an abort ---- */

/* Returns how long one program of the connection, the one that had stopped for longer, had read
 * nothing when the connection was aborted, nanoseconds; 0: both read, no writer waited for space,
 * the connection was not aborted, or the longest stop of the program ended before. An entry has
 * only the longest stop. Unless the result is 0, `*wait` gets the wait of the writer, which lasts
 * until the abort at least. */
static uint64_t
stopped_before_abort(const smcr_entry_connection_t *conn, const smcr_entry_conn_wait_t **wait)
{
    smcr_when_t abort = conn->end ? conn->end->aborted_frame : (smcr_when_t){0};
    uint64_t longest = 0;

    if (!abort.frame)
        return 0;
    for (int to_server = 0; to_server < 2; to_server++) {
        const smcr_entry_conn_wait_t *stop =
            smcr_finding_wait_longest(conn, to_server, SMCR_FIGURE_WAIT_READER);
        bool lasts = stop && stop->end_frame.frame >= abort.frame;
        uint64_t lasted = lasts ? smcr_figure_or_zero(smcr_figure_time_between(
                                      stop->begin_frame, abort))
                                : 0;
        if (lasted <= longest)
            continue;
        longest = lasted;
        *wait = stop;
    }
    return longest;
}

/* If two connections waited equally long, the later one in the report is named. The text is the end
 * of a sentence, so it begins with "; ". */
const char *
smcr_finding_wait_stop_text(const smcr_finder_t *finder)
{
    const char *text = "";
    uint64_t longest = SMCR_FINDING_LONG_WAIT;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_conn_wait_t *wait = NULL;
        uint64_t lasted = stopped_before_abort(conn, &wait);
        if (lasted < longest)
            continue;
        longest = lasted;
        text = wmem_strdup_printf(
            finder->scope,
            "; before that, the program of %s had read nothing for %s (since frame %" PRIu32 ")",
            smcr_finding_wait_program(finder, conn, wait->writer == SMCR_FIGURE_ROLE_CLIENT),
            smcr_words_duration(finder->scope, lasted), wait->begin_frame.frame);
    }
    return text;
}
