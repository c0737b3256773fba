/* Findings about the ends of connections: an abort, a server that closes an idle connection, a TCP
 * reset.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "subjects.h"

#include "report/findings/finder/alike.h"
#include "report/findings/finder/causes.h"
#include "report/findings/finder/waits.h"
#include "report/words/words.h"

/* Predicates for smcr_finding_alike_gather(). */
SMCR_FINDING_IS(aborted, SMCR_FINDING_CLOSE(ABORT))
SMCR_FINDING_IS(reset, SMCR_FINDING_CLOSE(RESET) && SMCR_FINDING_OUTCOME(SMCR))
SMCR_FINDING_IS(unsure_reset, SMCR_FINDING_CLOSE(RESET) && SMCR_FINDING_OUTCOME(UNKNOWN))
/* A connection that has failed before it carried data: another finding reports its reset. */
SMCR_FINDING_IS(failed_before_data, SMCR_FINDING_OUTCOME(NO_CONNECTION) ||
                                        SMCR_FINDING_OUTCOME(FAILED) ||
                                        smcr_finding_is_broken_by_option(conn))
/* A TCP reset of a connection that is not over SMC-R: over TCP, where programs that end in a hurry
 * reset connections; or of a connection whose outcome is not known. */
SMCR_FINDING_IS(tcp_reset, SMCR_FINDING_CLOSE(RESET) && !SMCR_FINDING_OUTCOME(SMCR) &&
                               !is_failed_before_data(conn))

/* ---- aborts ---- */

/* Bytes that the readers of a connection have lost, or may have lost. Such bytes were announced and
 * not reported as read, or written and never announced. */
typedef struct {
    uint64_t of_client; /* bytes that the client wrote */
    uint64_t of_server; /* bytes that the server wrote */
    bool is_least;      /* the lost bytes of at least one direction are not known */
} losses_t;

/* Adds the bytes of one direction to `*lost`. */
static void
add_losses(const smcr_entry_conn_direction_t *direction, uint64_t *lost, bool *is_least)
{
    *lost += smcr_figure_or_zero(direction->unreported_bytes) +
             smcr_figure_or_zero(direction->unannounced_bytes);
    *is_least |= direction->unreported_bytes == SMCR_FIGURE_UNKNOWN ||
                 direction->unannounced_bytes == SMCR_FIGURE_UNKNOWN;
}

/* Returns the lost bytes of a connection. */
static losses_t
losses_of(const smcr_entry_connection_t *conn)
{
    losses_t lost = {0};

    add_losses(&conn->client_to_server, &lost.of_client, &lost.is_least);
    add_losses(&conn->server_to_client, &lost.of_server, &lost.is_least);
    return lost;
}

/* Returns "; 12,000 bytes from the client not reported as read"; "" if there are none. The number
 * counts bytes of all connections with the property; the text says "in all" if there are several.
 * The text says "at least" if the bytes of one direction are not known. It names no side if both
 * sides have lost bytes, or if the client's address is not known. */
static const char *
losses_text(const smcr_finder_t *finder, smcr_finding_property_t *has_property)
{
    losses_t sum = {0};
    bool knows_roles = true;
    uint64_t conns = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        losses_t lost = has_property(conn) ? losses_of(conn) : (losses_t){0};
        conns += has_property(conn);
        sum.of_client += lost.of_client;
        sum.of_server += lost.of_server;
        sum.is_least |= lost.is_least;
        knows_roles &= !has_property(conn) || conn->client.addr;
    }
    if (!sum.of_client && !sum.of_server)
        return "";
    const char *from = sum.of_server ? " from the server" : " from the client";
    bool is_both = sum.of_client && sum.of_server;
    return wmem_strdup_printf(finder->scope, "; %s%s%s%s not reported as read",
                              conns > 1 ? "in all, " : "", sum.is_least ? "at least " : "",
                              smcr_words_bytes(finder->scope, sum.of_client + sum.of_server),
                              knows_roles && !is_both ? from : "");
}

/* Whether the connection was aborted, and its readers had read all but a small part of the data: a
 * sixteenth or less was lost. A program that stops a transfer ends its connections in this way. So
 * does a program that crashes. */
static bool
is_hasty_abort(const smcr_entry_connection_t *conn)
{
    losses_t lost = losses_of(conn);
    uint64_t bytes = smcr_figure_or_zero(conn->client_to_server.bytes) +
                     smcr_figure_or_zero(conn->server_to_client.bytes);
    uint64_t all_lost = lost.of_client + lost.of_server;

    return is_aborted(conn) && all_lost && !lost.is_least && all_lost * 16 <= bytes;
}

/* Whether the connection was aborted in another way than is_hasty_abort(). */
static bool
is_other_abort(const smcr_entry_connection_t *conn)
{
    return is_aborted(conn) && !is_hasty_abort(conn);
}

/* Which ends have aborted the connections of a group. */
typedef struct {
    uint32_t by[SMCR_FIGURE_ROLE_SERVER + 1]; /* number of connections; index: the side that aborted
                                                 first; SMCR_FIGURE_ROLE_NONE: not known */
    const char *aborter; /* the end that aborted each connection, by its role or address: "the
                            server", "10.0.0.2"; NULL: there are several, or one is not known */
    smcr_when_t first;   /* first abort of a known end; frame 0: none */
} aborts_t;

/* Returns the end that aborted the connection first: "the server"; "10.0.0.2" if it is not known
 * which end is the client; NULL if the end is not known. */
static const char *
aborter_of(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    if (!conn->end || !conn->end->aborted_by)
        return NULL;
    return smcr_words_end(finder->scope, conn, conn->end->aborted_by == SMCR_FIGURE_ROLE_SERVER);
}

/* Adds the abort of a connection. `is_first`: no connection has been added so far. */
static void
add_abort(aborts_t *aborts, const smcr_finder_t *finder, const smcr_entry_connection_t *conn,
          bool is_first)
{
    const char *aborter = aborter_of(finder, conn);
    bool knows_role = aborter && smcr_words_knows_roles(conn);

    aborts->by[knows_role ? conn->end->aborted_by : SMCR_FIGURE_ROLE_NONE]++;
    if (aborter)
        aborts->first = smcr_figure_when_earlier(aborts->first, conn->end->aborted_frame);
    if (is_first)
        aborts->aborter = aborter;
    else if (g_strcmp0(aborter, aborts->aborter) != 0)
        aborts->aborter = NULL;
}

/* Returns which ends have aborted the aborted connections. */
static aborts_t
sides_of_aborts(const smcr_finder_t *finder)
{
    aborts_t aborts = {0};
    bool is_first = true;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!is_aborted(conn))
            continue;
        add_abort(&aborts, finder, conn, is_first);
        is_first = false;
    }
    return aborts;
}

/* Returns the beginning of the sentence: "The server aborted 10.0.0.1:58724 → 10.0.0.2:8088 and 1
 * more connection"; "10.0.0.2 aborted connection 0" if it is not known which end is the client;
 * "... ended with an abort" if the aborting end is not known; with the number of each
 * side if both sides have aborted connections. `captured`: side whose message is the first captured
 * abort. If only the direction of `captured` is captured, the text says so: the other side may have
 * aborted first. */
static const char *
aborted_text(const smcr_finder_t *finder, const smcr_finding_alike_t *group, const aborts_t *aborts,
             smcr_figure_role_t captured)
{
    const uint32_t *sides = aborts->by;
    const char *name = smcr_finding_alike_text(finder, group);

    if (aborts->aborter)
        return wmem_strdup_printf(finder->scope, "%s aborted %s", aborts->aborter, name);
    bool is_half = captured && smcr_finding_flow_one_sided(finder);
    if (sides[SMCR_FIGURE_ROLE_NONE] || group->count < 2)
        return wmem_strdup_printf(finder->scope, "%s ended with an abort%s%s%s", name,
                                  is_half ? "; only the abort by the " : "",
                                  is_half ? smcr_figure_role_words[captured] : "",
                                  is_half ? " is captured" : "");
    return wmem_strdup_printf(finder->scope,
                              "%s ended with an abort, %" PRIu32 " by the server and %" PRIu32
                              " by the client",
                              name, sides[SMCR_FIGURE_ROLE_SERVER],
                              sides[SMCR_FIGURE_ROLE_CLIENT]);
}

/* Whether the side that aborted the connection had closed it before, and the other side wrote after
 * this close. */
static bool
is_written_after_close(const smcr_entry_conn_end_t *end)
{
    bool is_same_end = end && end->aborted_by && end->by == end->aborted_by;

    return is_same_end && end->frame.frame != end->aborted_frame.frame &&
           end->written_after == SMCR_FIGURE_YES;
}

/* Returns text about a close before the abort of the group's connection: "; the server had closed
 * it in frame 7" if the side that did not abort had closed it; ", which it had closed in frame 7;
 * the server wrote after this close" if the side that aborted had closed it, and its peer wrote
 * after that; else "". */
static const char *
earlier_close_text(const smcr_finder_t *finder, const smcr_finding_alike_t *group,
                   const smcr_figure_notice_t *abort)
{
    const smcr_entry_conn_end_t *end = group->first->end;

    if (is_written_after_close(end))
        return wmem_strdup_printf(
            finder->scope, ", which it had closed in frame %" PRIu32 "; %s wrote after this close",
            end->frame.frame,
            smcr_words_end(finder->scope, group->first, end->by == SMCR_FIGURE_ROLE_CLIENT));
    if (!abort->by || !abort->closed)
        return "";
    return wmem_strdup_printf(finder->scope, "; the %s had closed it in frame %" PRIu32,
                              abort->by == SMCR_FIGURE_ROLE_CLIENT ? "server" : "client",
                              abort->closed);
}

/* Returns the port of the connection's server as a key: "10.0.0.2 8080". */
static const char *
port_key(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    return wmem_strdup_printf(finder->scope, "%s %" PRIu64,
                              conn->server.addr ? conn->server.addr : "", conn->server.port);
}

/* Returns the first connection that the server of an aborted connection refused after its abort, at
 * the same port; NULL: none. A program that has ended listens no more. */
static const smcr_entry_connection_t *
refused_after_abort(const smcr_finder_t *finder)
{
    wmem_map_t *aborted = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_conn_end_t *end = is_aborted(conn) ? conn->end : NULL;
        if (end && end->aborted_by == SMCR_FIGURE_ROLE_SERVER)
            wmem_map_insert(aborted, port_key(finder, conn), (void *)conn);
    }
    if (!wmem_map_size(aborted))
        return NULL;
    SMCR_FIGURE_EACH(connection, refused, finder->report->connections) {
        const smcr_entry_connection_t *conn =
            smcr_finding_is_refused(refused) ? wmem_map_lookup(aborted, port_key(finder, refused))
                                             : NULL;
        if (conn && refused->first_frame.time >= conn->end->aborted_frame.time)
            return refused;
    }
    return NULL;
}

/* Returns smcr_finding_given_up_text() of the aborted connection that waited longest for an answer,
 * among those with such a text; "" if no client gave up. */
static const char *
longest_given_up_text(const smcr_finder_t *finder)
{
    const char *text = "";
    uint64_t longest = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_conn_open_wait_t *wait = conn->client_to_server.open_wait;
        uint64_t lasted = wait ? smcr_figure_or_zero(smcr_figure_time_between(
                                     wait->begin_frame, wait->proven_frame))
                               : 0;
        const char *given_up = is_aborted(conn) && lasted > longest
                                   ? smcr_finding_given_up_text(finder, conn)
                                   : "";
        if (!*given_up)
            continue;
        longest = lasted;
        text = given_up;
    }
    return text;
}

/* Returns "; after that, port 80 of the server refused a connection (frame 245): its program had
 * ended". */
static const char *
refused_text(const smcr_finder_t *finder, const smcr_entry_connection_t *refused)
{
    return wmem_strdup_printf(finder->scope,
                              "; after that, port %" PRIu64 " of the server refused a connection "
                              "(frame %" PRIu32 "): its program had ended",
                              refused->server.port, refused->first_frame.frame);
}

/* Returns text about the cause of the aborts of a group, of which the first is in the frame
 * `first`: RoCE had failed; the server's program ended, or did not answer; or a program did not
 * read. */
static const char *
cause_of_abort(const smcr_finder_t *finder, const smcr_finding_alike_t *group, uint32_t first,
               const smcr_entry_connection_t *refused)
{
    const char *failure = smcr_finding_flow_failed_text(finder, group->first, first);

    if (*failure)
        return failure;
    if (refused)
        return refused_text(finder, refused);
    const char *given_up = longest_given_up_text(finder);
    return *given_up ? given_up : smcr_finding_wait_stop_text(finder);
}

/* Returns the display filter `what`. If the group has exactly one connection, the filter is limited
 * to this connection. */
static const char *
filter_of_one(const smcr_finder_t *finder, const smcr_finding_alike_t *group, const char *what)
{
    if (group->count != 1)
        return what;
    return wmem_strdup_printf(finder->scope, "%s && %s",
                              smcr_words_connection_filter(finder->scope, group->first), what);
}

/* Finding: aborted connections. A CDC message has the abort flag (RFC 7609, 4.8.2), so the reader
 * may have lost data. The finding names the side that aborted first if no message to this side is
 * missing in the capture: a missing one may be an earlier abort by the other side. If every abort
 * left a small part of the data unread (is_hasty_abort()), and the server's program did not end,
 * the finding counts as a second of lost time: it comes before findings that cost less time.
 * Otherwise the finding is a failure. */
static void
find_aborted(smcr_finder_t *finder)
{
    smcr_finding_alike_t group = smcr_finding_alike_gather(finder, is_aborted);
    aborts_t aborts = sides_of_aborts(finder);
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.conn.aborted");
    const smcr_entry_connection_t *refused = refused_after_abort(finder);
    bool is_hasty = !refused && !smcr_finding_alike_gather(finder, is_other_abort).count;
    smcr_when_t first = aborts.first.frame ? aborts.first : notice.first;

    if (!group.count)
        return;
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_ABORT,
                               .count = group.count,
                               .when = first,
                               .frames = SMCR_FINDER_FRAMES(
                                   finder, (smcr_when_t){.frame = notice.closed}),
                               .filter = filter_of_one(finder, &group, "smcr.conn.aborted"),
                               .rank = is_hasty ? SMCR_FINDING_BY_HASTY_ABORT : 0,
                               .cost = is_hasty ? SMCR_TIME_SECOND : 0},
        "%s%s%s%s", aborted_text(finder, &group, &aborts, notice.by),
        group.count == 1 ? earlier_close_text(finder, &group, &notice) : "",
        losses_text(finder, is_aborted),
        cause_of_abort(finder, &group, first.frame, refused));
}

/* ---- a server closes an idle connection, and its client keeps the connection ---- */

#define LONG_IDLE SMCR_TIME_SECOND /* shortest time without data after which a connection is idle,
                                      and after which a client has not noticed a close */

#define MOST_EXAMINED 100 /* maximum number of connections whose pools are examined: each pool
                             needs a loop over all connections */

/* Whether it is not known when the other end closed the connection, although it has done so or may
 * have done so: the packet with its close is missing, or an earlier close may be missing. */
static bool
has_unknown_other_end(const smcr_entry_connection_t *conn)
{
    bool may_have_closed =
        conn->close == SMCR_FIGURE_CLOSE_NORMAL || conn->close == SMCR_FIGURE_CLOSE_UNKNOWN;

    return !conn->end->other_frame.frame && may_have_closed;
}

/* Returns how long the client kept the connection open after the server had closed it, nanoseconds:
 * up to the client's close, or to the end of the capture. Returns 0 if the server was not the first
 * to close, if the connection was aborted, or if it is not known when the client closed. */
static uint64_t
kept_after_close(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_end_t *end = conn->end;
    uint64_t until = finder->report->capture.last_time;

    if (!end || end->by != SMCR_FIGURE_ROLE_SERVER || is_aborted(conn))
        return 0;
    if (has_unknown_other_end(conn))
        return 0;
    if (end->other_frame.frame)
        until = end->other_frame.time;
    return until != SMCR_FIGURE_UNKNOWN && until > end->frame.time ? until - end->frame.time : 0;
}

/* Returns how long neither side had written before the first close, nanoseconds; 0: not known. */
static uint64_t
idle_time(const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_end_t *end = conn->end;

    return smcr_figure_or_zero(smcr_figure_time_between(end->idle_frame, end->frame));
}

/* Whether the server closed the connection while it was idle, and the client kept it open for
 * LONG_IDLE or more. If only a netlink report shows the close, the idle time before the close is
 * not known, and is not examined. False if the client's address is not known. */
static bool
is_closed_while_idle(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    return kept_after_close(finder, conn) >= LONG_IDLE && conn->client.addr &&
           (conn->end->is_reported == SMCR_FIGURE_YES || idle_time(conn) >= LONG_IDLE);
}

/* A pool of a connection that the server has closed: all connections between the same hosts, to the
 * same port of the server. The closed connection is one of them. */
typedef struct {
    uint32_t open;   /* number of connections of the pool that were open at the close */
    uint32_t closed; /* number of these open connections that the server closed while idle */
    uint32_t later;  /* number of other connections in `open` that were used more than LONG_IDLE
                        after the client closed the connection of the pool */
} pool_t;

/* Whether both connections have the same client host, server host and server port. */
static bool
have_same_ends(const smcr_entry_connection_t *one, const smcr_entry_connection_t *other)
{
    return one->server.port == other->server.port &&
           g_strcmp0(one->server.addr, other->server.addr) == 0 &&
           g_strcmp0(one->client.addr, other->client.addr) == 0;
}

/* Returns the pool of `conn`, which the server has closed: the connections of the same client host
 * with the same port of the server that were open at that moment, `conn` included. */
static pool_t
pool_of(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    uint64_t closed = conn->end->frame.time;
    uint64_t given_up = closed + kept_after_close(finder, conn);
    pool_t pool = {0};

    SMCR_FIGURE_EACH(connection, other, finder->report->connections) {
        bool is_later =
            other->first_frame.time > closed && other->began_before != SMCR_FIGURE_YES;
        if (!have_same_ends(conn, other) || is_later || other->last_frame.time < closed)
            continue;
        pool.open++;
        pool.closed += is_closed_while_idle(finder, other);
        pool.later += other != conn && other->last_frame.time > given_up + LONG_IDLE;
    }
    return pool;
}

/* Whether the client still wanted to use the connection that the server closed. Either of two signs
 * is enough: 1. The client wrote to the connection after the close. 2. The client closed the
 * connection, and then used other connections to the same server, which had closed less than half
 * of the open connections of the pool. */
static bool
is_missed(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    if (conn->end->written_after == SMCR_FIGURE_YES)
        return true;
    if (!conn->end->other_frame.frame)
        return false;
    pool_t pool = pool_of(finder, conn);
    return pool.later && pool.closed * 2 < pool.open;
}

/* Returns "; 19 other connections to this port were open": a server that stops, or its host, would
 * have closed these connections, too. "" if there were none. `open`: number of connections of the
 * pool that were open at the close, the closed connection included. */
static const char *
others_open_text(wmem_allocator_t *scope, uint64_t open)
{
    if (open < 2)
        return "";
    return wmem_strdup_printf(scope, "; %s to this port %s open",
                              smcr_words_things(scope, open - 1, "other connection"),
                              open == 2 ? "was" : "were");
}

/* Returns the sentence about a connection that the server closed while it was idle. `count`: number
 * of such connections. */
static const char *
idle_close_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn, uint32_t count)
{
    wmem_allocator_t *scope = finder->scope;
    bool is_reported = conn->end->is_reported == SMCR_FIGURE_YES;
    const char *when =
        is_reported
            ? wmem_strdup_printf(scope, "before the netlink report of frame %" PRIu32,
                                 conn->end->frame.frame)
            : wmem_strdup_printf(scope, "after %s without data",
                                 smcr_words_duration(scope, idle_time(conn)));
    const char *use =
        conn->end->written_after == SMCR_FIGURE_YES ? "wrote to" : "closed";

    return wmem_strdup_printf(
        scope,
        "The server closed %s %s%s; the client %s this connection %s %s",
        smcr_words_connections(scope, conn, count), when,
        others_open_text(scope, pool_of(finder, conn).open), use,
        smcr_words_duration(scope, kept_after_close(finder, conn)),
        is_reported ? "after the report" : "later");
}

/* Finding: the server closes an idle connection, for example after a timeout or because a user ends
 * the session. The client, which keeps connections in a pool, notices the close when it uses the
 * connection: the request fails. The finding names the connection that the client kept longest. */
static void
find_idle_closes(smcr_finder_t *finder)
{
    const smcr_entry_connection_t *worst = NULL;
    const char *filter = "";
    wmem_array_t *frames = smcr_finder_frames(finder);
    uint32_t count = 0, examined = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!is_closed_while_idle(finder, conn) || examined++ >= MOST_EXAMINED ||
            !is_missed(finder, conn))
            continue;
        filter = smcr_finder_either(finder, filter,
                                    smcr_words_connection_filter(finder->scope, conn), count++);
        smcr_finder_frames_add(frames, conn->end->idle_frame);
        smcr_finder_frames_add(frames, conn->end->frame);
        smcr_finder_frames_add(frames, conn->end->other_frame);
        if (!worst || kept_after_close(finder, conn) > kept_after_close(finder, worst))
            worst = conn;
    }
    if (!count)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_IDLE_CLOSE,
                                           .count = count,
                                           .when = worst->end->frame,
                                           .frames = frames,
                                           .filter = filter ? filter : "smcr"},
                    "%s", idle_close_text(finder, worst, count));
}

/* ---- TCP resets ---- */

/* Returns a display filter of the segments with RST. If only one connection of SMC-R was reset, the
 * filter is limited to this connection. `notice`: counts all connections of SMC-R that were
 * reset. */
static const char *
reset_filter(const smcr_finder_t *finder, const smcr_finding_alike_t *group,
             const smcr_figure_notice_t *notice)
{
    if (group->count != 1 || notice->count != 1 || group->first->tcp_stream == SMCR_FIGURE_UNKNOWN)
        return "tcp.flags.reset == 1";
    return wmem_strdup_printf(finder->scope, "tcp.stream == %" PRIu64 " && tcp.flags.reset == 1",
                              group->first->tcp_stream);
}

/* Returns the end that has reset all connections with the property: "the server"; "10.0.0.2" if it
 * is not known which end is the client; NULL: there are several, or one is not known. */
static const char *
end_of_resets(const smcr_finder_t *finder, smcr_finding_property_t *has_property)
{
    const char *common = NULL;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!has_property(conn))
            continue;
        if (!conn->reset_by)
            return NULL;
        const char *end =
            smcr_words_end(finder->scope, conn, conn->reset_by == SMCR_FIGURE_ROLE_SERVER);
        if (common && strcmp(common, end) != 0)
            return NULL;
        common = end;
    }
    return common;
}

/* Returns the sentence about connections that were reset: "X, over TCP: TCP reset by the server",
 * or "X, over TCP, ended with a TCP reset" if they have no common known end that sent the RST
 * (end_of_resets()). `over`: "" or ", over TCP". */
static const char *
reset_text(const smcr_finder_t *finder, smcr_finding_property_t *has_property,
           const smcr_finding_alike_t *group, const char *over)
{
    const char *by = end_of_resets(finder, has_property);
    const char *conns = group->count ? smcr_finding_alike_text(finder, group) : "";

    if (!by)
        return wmem_strdup_printf(finder->scope, "%s%s%s ended with a TCP reset", conns, over,
                                  over[0] ? "," : "");
    return wmem_strdup_printf(finder->scope, "%s%s: TCP reset by %s", conns, over, by);
}

/* Returns text about RoCE packets that still came after a reset; "" if they came for less than half
 * a second. A host that resets TCP ends SMC-R, too. So a middlebox may have sent the RST. */
static const char *
after_reset_text(const smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    if (notice->went_on < 500 * SMCR_TIME_MILLISECOND)
        return "";
    return wmem_strdup_printf(finder->scope,
                              "; RoCE packets%s continued for %s after it: perhaps a middlebox "
                              "sent the reset", notice->count > 1 ? " of one connection" : "",
                              smcr_words_duration(finder->scope, notice->went_on));
}

/* Findings: TCP resets. A reset of a connection over RDMA ends the connection without the close
 * flags of CDC, so data may be lost: the finding has a high rank. A reset of a connection over TCP
 * has a low rank, since programs that end in a hurry send one. The sentence of the second finding
 * does not say "over TCP" if the outcome of one of its connections is not known. */
static void
find_resets(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "tcp.flags.reset == 1");
    smcr_finding_alike_t group = smcr_finding_alike_gather(finder, is_reset),
                  over_tcp = smcr_finding_alike_gather(finder, is_tcp_reset);

    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_RESET,
                               .count = group.count,
                               .when = notice.first,
                               .filter = reset_filter(finder, &group, &notice)},
        "%s, without a CDC close%s%s%s%s", reset_text(finder, is_reset, &group, ""),
        losses_text(finder, is_reset), after_reset_text(finder, &notice),
        group.count ? smcr_finding_alike_icmp_text(finder, &group) : "",
        group.count ? smcr_finding_flow_failed_text(finder, group.first, notice.first.frame) : "");
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_TCP_RESET,
                               .count = over_tcp.count,
                               .when = group.count ? (smcr_when_t){0} : notice.first,
                               .filter = reset_filter(finder, &over_tcp, &notice)},
        "%s",
        reset_text(finder, is_tcp_reset, &over_tcp,
                   smcr_finding_alike_gather(finder, is_unsure_reset).count ? "" : ", over TCP"));
}

void
smcr_finding_on_ends(smcr_finder_t *finder)
{
    find_aborted(finder);
    find_idle_closes(finder);
    find_resets(finder);
}
