/* Findings about time: writers that wait for space in the receive buffer, and why; slow answers; a
 * slow setup; data written in small pieces.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include "report/words/words.h"
#include "wire/wire.h"

/* Lower bounds of what counts; times are in nanoseconds. */
#define LONG_WAIT (500 * SMCR_TIME_MILLISECOND)  /* all waits of a writer, one stop, one answer */
#define LONG_PAUSE (100 * SMCR_TIME_MILLISECOND) /* one wait of a writer */
#define LONG_HALF (50 * SMCR_TIME_MILLISECOND)   /* all waits, if half of the connection's time */
#define LONG_SETUP SMCR_TIME_SECOND              /* a setup that makes the finding a note */
#define MANY_WRITES 100                          /* number of WRITEs, for small writes */
#define QUEUE_TIME (20 * SMCR_TIME_MILLISECOND)  /* mean time of acknowledgements, from a queue */
#define PROGRAMS_MOST 3  /* maximum number of slow readers, and of slow servers, that have a finding
                            of their own */
#define ENOUGH_ACKS 16   /* minimum number of acknowledgements from which the path is judged */
#define ENOUGH_ANSWERS 4 /* minimum number of answers whose mean time counts as usual */

/* The waits of one direction of a connection. All times are in nanoseconds. */
typedef struct {
    const smcr_entry_connection_t *conn;        /* the connection of this direction */
    const smcr_entry_conn_direction_t *figures; /* figures of this direction */
    bool to_server;       /* true: the client writes and the server reads; false: the server writes
                             and the client reads */
    uint64_t full_time;   /* time in which the receive buffer was full; 0: never, or not known */
    uint64_t reader_time; /* part of `full_time` in which the reader's program had data to read */
    uint64_t conn_time;   /* time from the first to the last frame of the connection; 0: not
                             known */
    uint64_t buffer_size; /* size of the receive buffer, bytes; SMCR_FIGURE_UNKNOWN: not known */
    uint64_t round_trip;  /* sum of the mean acknowledgement times of both directions; 0: not
                             measured */
    const smcr_entry_conn_wait_t *longest; /* longest wait of the writer for space; NULL: none */
    const smcr_entry_conn_wait_t *stop;    /* longest time in which the reader's program read
                                              nothing while the writer waited; NULL: none */
} wait_t;

/* Returns the mean of a distribution; 0 if nothing was measured. */
static uint64_t
mean(const smcr_distribution_t *times)
{
    return times ? times->sum / times->count : 0;
}

/* Returns the longest wait of the writer of one direction, of one kind (space, answer, ...); NULL:
 * the writer had no such wait. */
static const smcr_entry_conn_wait_t *
find_longest_wait(const smcr_entry_connection_t *conn, bool to_server, smcr_figure_wait_t kind)
{
    smcr_figure_role_t writer = smcr_figure_role(!to_server);

    SMCR_FIGURE_EACH(conn_wait, wait, conn->longest_waits)
        if (wait->writer == writer && wait->kind == kind)
            return wait;
    return NULL;
}

/* Appends beginning and end of the connection's longest waits of one kind to the list. */
static void
add_waits(wmem_array_t *frames, const smcr_entry_connection_t *conn, bool to_server,
          smcr_figure_wait_t kind)
{
    SMCR_FIGURE_EACH(conn_wait, wait, conn->longest_waits) {
        if (wait->writer != smcr_figure_role(!to_server) || wait->kind != kind)
            continue;
        smcr_finder_frames_add(frames, wait->begin_frame);
        smcr_finder_frames_add(frames, wait->end_frame);
    }
}

/* Returns the figures of one direction. `buffer_size` is the size of the reader's receive
 * buffer. */
static wait_t
wait_of(const smcr_entry_connection_t *conn, bool to_server)
{
    const smcr_entry_conn_direction_t *figures = smcr_figure_direction(conn, to_server);
    const smcr_entry_conn_direction_t *back = smcr_figure_direction(conn, !to_server);

    return (wait_t){
        .conn = conn,
        .figures = figures,
        .to_server = to_server,
        .buffer_size = to_server ? conn->buffer_bytes.server : conn->buffer_bytes.client,
        .full_time = smcr_figure_buffer_full_time(figures),
        .reader_time = figures->time ? figures->time->reader_s : 0,
        .conn_time =
            smcr_figure_or_zero(smcr_figure_time_between(conn->first_frame, conn->last_frame)),
        .round_trip = mean(figures->ack_time_s) + mean(back->ack_time_s),
        .longest = find_longest_wait(conn, to_server, SMCR_FIGURE_WAIT_SPACE),
        .stop = find_longest_wait(conn, to_server, SMCR_FIGURE_WAIT_READER)};
}

/* ---- the receive buffer is full ---- */

/* Returns the time for which later packets of the peer's host prove the wait, nanoseconds. */
static uint64_t
proven_time(const smcr_entry_conn_open_wait_t *wait)
{
    return smcr_figure_or_zero(smcr_figure_time_between(wait->begin_frame, wait->proven_frame));
}

/* Whether nearly all of the time for which the writer waited is one wait that has not ended when
 * the capture ends. It has a finding of its own (find_hung_reader()). */
static bool
is_one_open_wait(const wait_t *wait)
{
    const smcr_entry_conn_open_wait_t *open = wait->figures->open_wait;

    if (!open || open->kind != SMCR_FIGURE_WAIT_READER)
        return false;
    return proven_time(open) >= LONG_WAIT && proven_time(open) * 10 >= wait->full_time * 9;
}

/* Whether the writer waited long: the receive buffer was full for 7 % of the connection's time, or
 * for half a second in all. A wait that has a finding of its own does not count. */
static bool
waits_long(const wait_t *wait)
{
    return wait->full_time && !is_one_open_wait(wait) &&
           (wait->full_time * 100 >= wait->conn_time * 7 || wait->full_time >= LONG_WAIT);
}

/* Whether `full_time` is only a lower bound: packets are missing in the capture, and the unknown
 * time is a tenth of `full_time` or more. */
static bool
is_lower_bound(const wait_t *wait)
{
    const smcr_entry_conn_time_t *time = wait->figures->time;

    return time && time->unknown_s * 10 >= time->buffer_full_s;
}

/* Whether the reader's program had stopped before the capture: the stop begins with the first frame
 * of a connection that began before the capture. */
static bool
began_before_capture(const wait_t *wait)
{
    const smcr_entry_connection_t *conn = wait->conn;

    return wait->stop && conn->began_before == SMCR_FIGURE_YES &&
           wait->stop->begin_frame.frame == conn->first_frame.frame;
}

/* Whether the waits of the direction count as cost: all waits together last half a second, or one
 * wait lasts a tenth of a second. Shorter waits are no cost. */
static bool
is_felt(const wait_t *wait)
{
    return wait->full_time >= LONG_WAIT ||
           (wait->longest && wait->longest->lasted_s >= LONG_PAUSE);
}

/* Whether a user notices the wait. There are three cases:
 * 1. the waits last half a second in all;
 * 2. the longest wait lasts a tenth of a second;
 * 3. the waits last 50 ms in all, and half of the connection's time.
 * Shorter waits are normal, also in a connection that lasts only some milliseconds. */
static bool
is_noticed(const wait_t *wait)
{
    bool is_half = wait->full_time * 2 >= wait->conn_time;

    return is_felt(wait) || (is_half && wait->full_time >= LONG_HALF);
}

/* Whether packets of the direction wait in a queue of the network: acknowledgements take ten times
 * as long on average as at best, and 20 ms or more. A larger receive buffer would make such a queue
 * longer. */
static bool
has_queue(const wait_t *wait)
{
    const smcr_distribution_t *acks = wait->figures->ack_time_s;

    return acks && acks->count >= ENOUGH_ACKS && mean(acks) >= QUEUE_TIME &&
           mean(acks) >= 10 * acks->min;
}

/* Whether a single stop of the reader's program explains most of the wait: it lasts half a second
 * or more, and half of the time in which the buffer was full. */
static bool
is_one_stop(const wait_t *wait)
{
    return wait->stop && wait->stop->lasted_s >= LONG_WAIT &&
           wait->stop->lasted_s * 2 >= wait->full_time;
}

/* Returns the duration of the writer's wait with which the reader's part is compared, nanoseconds.
 * If packets are missing in the capture, the buffer may have been full for all of the unknown time,
 * because of the path: then the upper bound is returned. But if a single stop of the reader's
 * program explains half of the known wait or more, the known wait is returned. */
static uint64_t
judged_time(const wait_t *wait)
{
    bool is_partial = is_lower_bound(wait) && !is_one_stop(wait);

    return is_partial ? wait->figures->time->buffer_full_most_s : wait->full_time;
}

/* Whether the reader's program is the cause of the wait: a user notices the wait (is_noticed()),
 * and the program had data to read for 60 % of the time. A larger buffer would not help then, since
 * it would fill, too. Retransmissions in the same time do not excuse the program: the timeline has
 * charged each moment to one cause only (docs/report.md, "Where the time went"). */
static bool
has_slow_reader(const wait_t *wait)
{
    return is_noticed(wait) && wait->reader_time * 10 >= judged_time(wait) * 6;
}

/* Whether the path is the cause of the wait: data or cursor updates were under way for half of the
 * time. */
static bool
has_long_path(const wait_t *wait)
{
    return !is_lower_bound(wait) && (wait->full_time - wait->reader_time) * 2 >= wait->full_time;
}

/* Returns how severe the wait is. A slow reader is a warning if its buffer was full for half of the
 * connection's time or more. */
static smcr_figure_severity_t
severity_of_wait(const wait_t *wait)
{
    bool is_most = has_slow_reader(wait) && wait->full_time * 2 >= wait->conn_time;

    return is_most ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE;
}

/* Whether the direction `wait` is worse than the direction `than`. A direction whose wait is a
 * warning (severity_of_wait()) is worse than a direction whose wait is none: a long connection must
 * not hide a short one that hardly did anything but wait. Else a direction with a slow reader is
 * worse than a direction without. Otherwise the direction that waited longer is worse. */
static bool
is_worse(const wait_t *wait, const wait_t *than)
{
    bool slow = has_slow_reader(wait), other_slow = has_slow_reader(than);
    bool warns = severity_of_wait(wait) == SMCR_FIGURE_WARN;
    bool other_warns = severity_of_wait(than) == SMCR_FIGURE_WARN;

    if (warns != other_warns)
        return warns;
    return slow != other_slow ? slow : wait->full_time > than->full_time;
}

/* Returns the address of one end: that of TCP; if this is not captured, that of the first link of
 * the link group; NULL: neither is known. */
static const char *
address_of(const smcr_finder_t *finder, const smcr_entry_connection_t *conn, bool is_server)
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

/* Returns an end of the connection with its role: "server 10.0.0.2", or "the server" if the address
 * is not known. If it is not known who is the client: "10.0.0.2". */
static const char *
reader_name(const smcr_finder_t *finder, const smcr_entry_connection_t *conn, bool is_server)
{
    const char *address = address_of(finder, conn, is_server);

    if (!smcr_words_knows_roles(conn) || !address)
        return smcr_words_end(finder->scope, conn, is_server);
    return wmem_strdup_printf(finder->scope, "%s %s", is_server ? "server" : "client", address);
}

/* ---- a program that waits itself ---- */

/* A wait of a host on another connection. It explains why a program of this host does nothing
 * meanwhile: a proxy does not answer before its server has answered the proxy, and does not read
 * before its client reads. All zeros: there is none. */
typedef struct {
    const smcr_entry_connection_t *conn; /* the other connection; the host is its writer */
    const smcr_entry_conn_wait_t *wait;  /* the wait: for an answer, or for space */
    bool to_server;                      /* direction that the host writes */
    uint64_t overlap;                    /* part of the explained wait, nanoseconds */
} own_wait_t;

/* Returns how long both waits last at the same time, nanoseconds. */
static uint64_t
overlap_of(const smcr_entry_conn_wait_t *one, const smcr_entry_conn_wait_t *other)
{
    uint64_t begin = MAX(one->begin_frame.time, other->begin_frame.time);
    uint64_t end = MIN(one->end_frame.time, other->end_frame.time);
    bool are_known = one->begin_frame.frame && one->end_frame.frame &&
                     other->begin_frame.frame && other->end_frame.frame;

    return are_known && end > begin ? end - begin : 0;
}

/* Whether the wait `own` explains the wait `outer`. The same host causes `outer` and suffers
 * `own`. `own` ends first, and covers half of `outer`: the host continued when its own wait was
 * over. The rest may be the setup of the connection on which the host waits, as in a proxy that
 * connects for each request. If the host waits for an answer, it has asked after it was asked: an
 * earlier request may be of another program of the host. */
static bool
is_explained_by(const smcr_entry_conn_wait_t *outer, const smcr_entry_conn_wait_t *own)
{
    bool is_later = own->kind != SMCR_FIGURE_WAIT_ANSWER ||
                    own->begin_frame.time >= outer->begin_frame.time;

    return is_later && own->end_frame.time < outer->end_frame.time &&
           overlap_of(outer, own) * 2 >= outer->lasted_s;
}

/* Whether the wait is one in which the writer of this direction depends on its peer: for space, or
 * as a client for an answer. A server that waits for the next request depends on nobody, nor does
 * the client of a server that also writes unasked. */
static bool
depends_on_peer(const smcr_entry_connection_t *conn, const smcr_entry_conn_wait_t *wait)
{
    if (wait->kind == SMCR_FIGURE_WAIT_SPACE)
        return true;
    return wait->kind == SMCR_FIGURE_WAIT_ANSWER && wait->writer == SMCR_FIGURE_ROLE_CLIENT &&
           smcr_words_knows_roles(conn) &&
           !smcr_figure_or_zero(conn->server_to_client.unasked_writes);
}

/* Returns the wait of the host `host` on another connection than `conn` that explains most of the
 * wait `outer`, for which this host is responsible. */
static own_wait_t
find_own_wait(const smcr_finder_t *finder, const smcr_entry_connection_t *conn, const char *host,
              const smcr_entry_conn_wait_t *outer)
{
    own_wait_t found = {0};

    SMCR_FIGURE_EACH(connection, other, finder->report->connections) {
        if (other == conn || !other->longest_waits.length)
            continue;
        SMCR_FIGURE_EACH(conn_wait, wait, other->longest_waits) {
            bool is_server = wait->writer == SMCR_FIGURE_ROLE_SERVER;
            uint64_t overlap = overlap_of(outer, wait);
            if (overlap > found.overlap && depends_on_peer(other, wait) &&
                is_explained_by(outer, wait) &&
                g_strcmp0(address_of(finder, other, is_server), host) == 0)
                found = (own_wait_t){other, wait, !is_server, overlap};
        }
    }
    return found;
}

/* Returns "; meanwhile 10.0.0.2 waited 5.00 s for an answer on 10.0.0.2:51000 → 10.0.0.9:5432
 * (frames 136 to 141)"; "" if the host did not wait itself. */
static const char *
own_wait_text(const smcr_finder_t *finder, const own_wait_t *own)
{
    if (!own->conn)
        return "";
    return wmem_strdup_printf(
        finder->scope,
        "; meanwhile %s waited %s for %s on %s (frames %" PRIu32 " to %" PRIu32 ")",
        address_of(finder, own->conn, !own->to_server),
        smcr_words_duration(finder->scope, own->wait->lasted_s),
        own->wait->kind == SMCR_FIGURE_WAIT_SPACE ? "space" : "an answer",
        smcr_words_direction(finder->scope, own->conn, own->to_server),
        own->wait->begin_frame.frame, own->wait->end_frame.frame);
}

/* ---- who waited ---- */

/* Whether one of the `count` findings of `told` is about the reader of `wait`: the same host in the
 * same role. */
static bool
was_told(const smcr_finder_t *finder, const wait_t *told, unsigned count, const wait_t *wait)
{
    const char *reader = reader_name(finder, wait->conn, wait->to_server);

    for (unsigned i = 0; i < count; i++)
        if (!strcmp(reader, reader_name(finder, told[i].conn, told[i].to_server)))
            return true;
    return false;
}

/* Returns the worst of all directions that waited long (waits_long()), and adds their number to
 * `*count`. If no direction waited long, the returned struct is all zeros. Directions whose reader
 * the `told_count` findings of `told` describe do not count. */
static wait_t
find_worst_wait(const smcr_finder_t *finder, const wait_t *told, unsigned told_count,
                uint32_t *count)
{
    const smcr_figure_list_t *conns = &finder->report->connections;
    wait_t found = {0};

    for (uint32_t i = 0; i < conns->length; i++) {
        for (int to_server = 1; to_server >= 0; to_server--) {
            wait_t wait = wait_of(conns->entries[i], to_server);
            if (!waits_long(&wait) || was_told(finder, told, told_count, &wait))
                continue;
            if (!(*count)++ || is_worse(&wait, &found))
                found = wait;
        }
    }
    return found;
}

/* Returns the size of a buffer as text. A size below 1 MiB that is a multiple of 1024 bytes is
 * written in whole KiB. */
static const char *
size_of(const smcr_finder_t *finder, uint64_t size)
{
    return size % 1024 || size >= 1 << 20
               ? smcr_words_size(finder->scope, size)
               : wmem_strdup_printf(finder->scope, "%" PRIu64 " KiB", size / 1024);
}

/* Returns the size of a buffer that the writer would not fill, bytes. The writer fills the present
 * buffer in the time `transfer_s`, and waits for space in `full_time`. To write at the same rate
 * all the time, it would need a buffer of size * (transfer_s + full_time) / transfer_s. Linux
 * rounds sizes up to powers of two. Example: a writer that fills 64 KiB in 1 ms and waits 3 ms
 * would need 256 KiB. If the size of all data of the direction is known, a buffer of this size
 * suffices. */
static uint64_t
needed_buffer_size(const wait_t *wait)
{
    const smcr_entry_conn_time_t *time = wait->figures->time;
    uint64_t size = wait->buffer_size, sending = MAX(time->transfer_s, wait->full_time / 64);
    double needed = (double)size * (double)(sending + wait->full_time) / (double)MAX(sending, 1);

    if (wait->figures->lacks_bytes == SMCR_FIGURE_NO)
        needed = MIN(needed, (double)wait->figures->bytes);
    while ((double)size < needed)
        size *= 2;
    return size;
}

/* Returns "; longest wait 10.7 s". Returns "" if the sentence has that time already: a single wait
 * is 90 % or more of the whole time, or the reader's program stopped once. */
static const char *
longest_text(const smcr_finder_t *finder, const wait_t *wait)
{
    bool says_stop = has_slow_reader(wait) && is_one_stop(wait);

    if (!wait->longest || says_stop || wait->longest->lasted_s * 10 >= wait->full_time * 9)
        return "";
    return wmem_strdup_printf(finder->scope, "; longest wait %s",
                              smcr_words_duration(finder->scope, wait->longest->lasted_s));
}

/* Returns the times of acknowledgements as text, for a direction with a queue (has_queue()). */
static const char *
queue_text(const smcr_finder_t *finder, const wait_t *wait)
{
    const smcr_distribution_t *acks = wait->figures->ack_time_s;

    return wmem_strdup_printf(
        finder->scope,
        "; acknowledgements took %s at best, %s on average: probably a queue on the path",
        smcr_words_duration(finder->scope, acks->min),
        smcr_words_duration(finder->scope, mean(acks)));
}

/* Returns the end of the sentence. If the path is the cause, the text names a queue on it, or a
 * sufficient buffer size. Otherwise it names the longest wait. */
static const char *
cause_text(const smcr_finder_t *finder, const wait_t *wait)
{
    bool knows_path = wait->round_trip && wait->buffer_size != SMCR_FIGURE_UNKNOWN;

    if (!has_slow_reader(wait) && has_queue(wait))
        return queue_text(finder, wait);

    if (!has_long_path(wait) || !knows_path || needed_buffer_size(wait) <= wait->buffer_size)
        return longest_text(finder, wait);
    return wmem_strdup_printf(finder->scope,
                              "; %s would suffice (ACK times both ways add up to %s)",
                              size_of(finder, needed_buffer_size(wait)),
                              smcr_words_duration(finder->scope, wait->round_trip));
}

/* Returns the beginning of the sentence, which names the cause of the wait, and whose side it is
 * on. */
static const char *
blame_text(const smcr_finder_t *finder, const wait_t *wait)
{
    if (!has_slow_reader(wait))
        return "Receive buffer full";
    if (!is_one_stop(wait))
        return wmem_strdup_printf(finder->scope, "The program of %s reads slowly",
                                  reader_name(finder, wait->conn, wait->to_server));
    return wmem_strdup_printf(finder->scope, "The program of %s read nothing for %s%s",
                              reader_name(finder, wait->conn, wait->to_server),
                              began_before_capture(wait) ? "at least " : "",
                              smcr_words_duration(finder->scope, wait->stop->lasted_s));
}

/* Returns " (64 KiB buffer)"; "" if the size is not known. */
static const char *
buffer_text(const smcr_finder_t *finder, const wait_t *wait)
{
    if (wait->buffer_size == SMCR_FIGURE_UNKNOWN)
        return "";
    return wmem_strdup_printf(finder->scope, " (%s buffer)", size_of(finder, wait->buffer_size));
}

/* Returns "; long waits: 2 more directions" for 3 directions; "" if `count` is 0 or 1. */
static const char *
how_many_waited(const smcr_finder_t *finder, uint32_t count)
{
    if (count <= 1)
        return "";
    return wmem_strdup_printf(finder->scope, "; long waits: %s",
                              smcr_words_things(finder->scope, count - 1, "more direction"));
}

/* Returns the frame in which the finding shows: the begin of the longest wait. If the wait began
 * before the capture, no packet shows its begin, and the frame is the report that the buffer is
 * full. */
static smcr_when_t
when_of(const wait_t *wait)
{
    if (wait->longest && began_before_capture(wait))
        return wait->conn->named_frame;
    return wait->longest ? wait->longest->begin_frame : (smcr_when_t){0};
}

/* Returns the wait of the reader's own host that explains why its program read nothing; all zeros:
 * none does, or the program stopped more than once. */
static own_wait_t
own_wait_of_reader(const smcr_finder_t *finder, const wait_t *wait)
{
    if (!has_slow_reader(wait) || !is_one_stop(wait))
        return (own_wait_t){0};
    return find_own_wait(finder, wait->conn, address_of(finder, wait->conn, wait->to_server),
                         wait->stop);
}

/* Makes the finding of a direction that waited long. `count`: number of directions that waited.
 * Only a slow reader makes it a finding of its own kind; a wait that no user feels has a lower
 * rank. The finding costs the time of the wait, so a longer wait comes before. Time in which the
 * reader's host waited itself costs nothing: another finding has it. */
static void
add_full_buffer(smcr_finder_t *finder, wait_t wait, uint32_t count)
{
    wmem_allocator_t *scope = finder->scope;
    own_wait_t own = own_wait_of_reader(finder, &wait);
    smcr_finder_facts_t facts = {
        .kind = SMCR_FIGURE_FOUND_BUFFER_FULL,
        .count = count,
        .when = when_of(&wait),
        .frames = smcr_finder_frames(finder),
        .filter = "smcr.window.full || smcr.window.writer_blocked",
        .rank = is_felt(&wait) ? 0 : SMCR_FINDING_BY_SHORT_WAIT,
        .cost = wait.full_time - MIN(wait.full_time, own.overlap)};

    add_waits(facts.frames, wait.conn, wait.to_server, SMCR_FIGURE_WAIT_SPACE);
    add_waits(facts.frames, wait.conn, wait.to_server, SMCR_FIGURE_WAIT_READER);
    smcr_finder_frames_add(facts.frames, facts.when);
    if (has_slow_reader(&wait))
        facts.kind = SMCR_FIGURE_FOUND_SLOW_READER;
    smcr_finder_add_as(finder, severity_of_wait(&wait), &facts,
                       "%s: on %s, the writer waited %s%s%s (%s of the time) for space%s%s%s%s",
                       blame_text(finder, &wait),
                       smcr_words_direction(scope, wait.conn, wait.to_server),
                       is_lower_bound(&wait) || began_before_capture(&wait) ? "at least " : "",
                       smcr_words_duration(scope, wait.full_time),
                       has_slow_reader(&wait) && is_one_stop(&wait) ? " in all" : "",
                       smcr_words_share(scope, wait.full_time, wait.conn_time),
                       buffer_text(finder, &wait), cause_text(finder, &wait),
                       own_wait_text(finder, &own), how_many_waited(finder, count));
}

/* Finding: receive buffer full, or slow reader. The writer may only write as many bytes as the
 * reader's receive buffer has free space (RFC 7609, 4.5.1). Then the writer waits. The finding is
 * made if a direction waited long (waits_long()), and describes the worst one (is_worse()). Short
 * waits make no finding: they are part of normal flow control. Programs of other hosts or roles
 * that read slowly, too, have findings of their own, PROGRAMS_MOST in all. */
static void
find_full_buffer(smcr_finder_t *finder)
{
    wait_t told[PROGRAMS_MOST];

    for (unsigned i = 0; i < PROGRAMS_MOST; i++) {
        uint32_t count = 0;
        told[i] = find_worst_wait(finder, told, i, &count);
        bool is_other = has_slow_reader(&told[i]) && is_felt(&told[i]);
        if (!count || (i > 0 && !is_other))
            return;
        add_full_buffer(finder, told[i], count);
    }
}

/* ---- answers ---- */

/* Returns the wait for the server's slowest answer. Returns NULL if this wait was shorter than
 * LONG_WAIT, or if it is not known which end is the client. Returns NULL as well if the server also
 * writes unasked, as one that publishes messages does: what comes late may be its next message, not
 * its answer. Waits for the client are not judged: a client may pause between requests. */
static const smcr_entry_conn_wait_t *
find_long_answer(const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_wait_t *wait = find_longest_wait(conn, true, SMCR_FIGURE_WAIT_ANSWER);

    if (smcr_figure_or_zero(conn->server_to_client.unasked_writes))
        return NULL;
    return wait && wait->lasted_s >= LONG_WAIT && smcr_words_knows_roles(conn) ? wait : NULL;
}

/* The slow answers of one server program, in all its connections. */
typedef struct {
    uint64_t conns;   /* number of connections with a slow answer */
    uint64_t answers; /* number of slow answers */
    uint64_t time;    /* sum of the times of these answers, nanoseconds */
    uint64_t cost;    /* cost of the connection whose answers cost most (cost_of_answers()),
                         nanoseconds */
    const smcr_entry_connection_t *worst;  /* connection with the longest answer; NULL: none */
    const smcr_entry_conn_wait_t *longest; /* the longest answer; NULL: none */
    const char *filter; /* display filter of the connections; NULL: too many connections for one
                           filter */
    wmem_array_t *frames; /* numbers of the frames that begin and end the
                             longest slow answer of each of these connections */
} slow_answers_t;

/* Returns the mean time of the answers that were not slow, nanoseconds; 0: there are fewer than
 * ENOUGH_ANSWERS. */
static uint64_t
usual_answer(const smcr_entry_conn_direction_t *asked)
{
    const smcr_distribution_t *all = smcr_distribution_get(asked->answer_time_s);
    uint64_t slow = smcr_figure_or_zero(asked->slow_answers);

    if (all->count < slow + ENOUGH_ANSWERS)
        return 0;
    return (all->sum - smcr_figure_or_zero(asked->slow_answers_s)) / (all->count - slow);
}

/* Returns how much of the time of the connection's slow answers counts as cost, nanoseconds. An
 * answer that takes ten times as long as the usual ones counts with its whole time: the program was
 * stopped, or waited for something. Otherwise the request may have asked for long work, which is no
 * fault: a twentieth of the time counts. */
static uint64_t
cost_of_answers(const smcr_entry_conn_direction_t *asked, uint64_t longest)
{
    uint64_t usual = usual_answer(asked), time = smcr_figure_or_zero(asked->slow_answers_s);

    return usual && longest >= 10 * usual ? time : time / 20;
}

/* Whether one program may be the server of both connections: the server has the same address, and
 * the same port unless a port is not known. */
static bool
have_same_server(const smcr_finder_t *finder, const smcr_entry_connection_t *one,
                 const smcr_entry_connection_t *other)
{
    bool are_ports_known = one->server.port != SMCR_FIGURE_UNKNOWN &&
                           other->server.port != SMCR_FIGURE_UNKNOWN;

    return (!are_ports_known || one->server.port == other->server.port) &&
           g_strcmp0(address_of(finder, one, true), address_of(finder, other, true)) == 0;
}

/* Whether one of the `count` findings of `told` is about the server's program of `conn`. */
static bool
was_server_told(const smcr_finder_t *finder, const slow_answers_t *told, unsigned count,
                const smcr_entry_connection_t *conn)
{
    for (unsigned i = 0; i < count; i++)
        if (have_same_server(finder, told[i].worst, conn))
            return true;
    return false;
}

/* Returns the connection with the slowest answer; NULL: there is none. Servers that the
 * `told_count` findings of `told` describe do not count. */
static const smcr_entry_connection_t *
find_slowest_server(const smcr_finder_t *finder, const slow_answers_t *told, unsigned told_count)
{
    const smcr_entry_connection_t *worst = NULL;
    uint64_t longest = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_conn_wait_t *wait = find_long_answer(conn);
        if (!wait || wait->lasted_s <= longest || was_server_told(finder, told, told_count, conn))
            continue;
        longest = wait->lasted_s;
        worst = conn;
    }
    return worst;
}

/* Returns the slow answers of the server's program of `worst`, the connection with the longest
 * answer of this program. */
static slow_answers_t
sum_slow_answers(const smcr_finder_t *finder, const smcr_entry_connection_t *worst)
{
    slow_answers_t sum = {.filter = "",
                          .frames = smcr_finder_frames(finder),
                          .worst = worst,
                          .longest = find_long_answer(worst)};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_conn_wait_t *wait = find_long_answer(conn);
        if (!wait || !have_same_server(finder, conn, worst))
            continue;
        sum.filter = smcr_finder_either(
            finder, sum.filter, smcr_words_connection_filter(finder->scope, conn), sum.conns++);
        add_waits(sum.frames, conn, true, SMCR_FIGURE_WAIT_ANSWER);
        sum.answers += smcr_figure_or_zero(conn->client_to_server.slow_answers);
        sum.time += smcr_figure_or_zero(conn->client_to_server.slow_answers_s);
        uint64_t cost = cost_of_answers(&conn->client_to_server, wait->lasted_s);
        sum.cost = MAX(sum.cost, cost);
    }
    return sum;
}

/* Returns "; 2 slow answers on 2 connections took 6.17 s together; the other answers of this
 * program took 34 ms on average". Parts that do not apply are left out. */
static const char *
other_answers_text(const smcr_finder_t *finder, const slow_answers_t *sum)
{
    wmem_strbuf_t *text = wmem_strbuf_new(finder->scope, "");
    uint64_t usual = usual_answer(&sum->worst->client_to_server);

    if (sum->answers > 1)
        wmem_strbuf_append_printf(text, "; with this one, %" PRIu64 " slow answers", sum->answers);
    if (sum->conns > 1)
        wmem_strbuf_append_printf(text, " on %" PRIu64 " connections", sum->conns);
    if (sum->answers > 1)
        wmem_strbuf_append_printf(text, " took %s together",
                                  smcr_words_duration(finder->scope, sum->time));
    if (usual && sum->longest->lasted_s >= 10 * usual)
        wmem_strbuf_append_printf(text, "; the other answers of this program took %s on average",
                                  smcr_words_duration(finder->scope, usual));
    return wmem_strbuf_finalize(text);
}

/* Makes the finding of a server's program with slow answers. Time in which its host waited itself
 * costs nothing: another finding has it. */
static void
add_slow_answer(smcr_finder_t *finder, const slow_answers_t *sum)
{
    own_wait_t own = find_own_wait(finder, sum->worst, address_of(finder, sum->worst, true),
                                   sum->longest);

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_SLOW_ANSWER,
                                           .count = sum->conns,
                                           .when = sum->longest->end_frame,
                                           .frames = sum->frames,
                                           .filter = sum->filter ? sum->filter : "smcr",
                                           .cost = sum->cost - MIN(sum->cost, own.overlap)},
                    "The program of %s took %s to answer a request on %s (wait from frame %" PRIu32
                    " to frame %" PRIu32 ")%s%s",
                    reader_name(finder, sum->worst, true),
                    smcr_words_duration(finder->scope, sum->longest->lasted_s),
                    smcr_words_direction(finder->scope, sum->worst, true),
                    sum->longest->begin_frame.frame, sum->longest->end_frame.frame,
                    own_wait_text(finder, &own), other_answers_text(finder, sum));
}

/* Finding: slow answer. The server's host had acknowledged a request, and the server's first data
 * came LONG_WAIT or more after the acknowledgement. The server's program took this time: network
 * and buffers have no part in it. The finding names the longest answer, and the frame with which
 * the wait for it begins. Each program has a finding of its own, PROGRAMS_MOST in all. */
static void
find_slow_answers(smcr_finder_t *finder)
{
    slow_answers_t told[PROGRAMS_MOST];

    for (unsigned i = 0; i < PROGRAMS_MOST; i++) {
        const smcr_entry_connection_t *worst = find_slowest_server(finder, told, i);
        if (!worst)
            return;
        told[i] = sum_slow_answers(finder, worst);
        add_slow_answer(finder, &told[i]);
    }
}

/* The longest wait for an answer of one end, on a connection of which it is not known who is the
 * client. All zeros: there is none. */
typedef struct {
    const smcr_entry_connection_t *conn; /* the connection */
    const smcr_entry_conn_wait_t *wait;  /* the wait; NULL: none */
    bool to_server;                      /* `server` of the entry is the end that wrote nothing */
    uint64_t usual;                      /* mean time of the other answers, nanoseconds */
    uint64_t count;                      /* number of connections with such a wait */
} idle_end_t;

/* Returns the wait for the longest pause of the end that reads the direction; `wait` NULL: the end
 * has not paused for LONG_WAIT, or not for ten times as long as it usually takes, or it also writes
 * unasked. */
static idle_end_t
pause_of(const smcr_entry_connection_t *conn, bool to_server)
{
    const smcr_entry_conn_wait_t *wait =
        find_longest_wait(conn, to_server, SMCR_FIGURE_WAIT_ANSWER);
    uint64_t usual = usual_answer(smcr_figure_direction(conn, to_server));
    bool is_asked = !smcr_figure_or_zero(smcr_figure_direction(conn, !to_server)->unasked_writes);
    bool is_long = wait && wait->lasted_s >= MAX(LONG_WAIT, 10 * usual);

    return (idle_end_t){conn, is_long && usual && is_asked ? wait : NULL, to_server, usual, 1};
}

/* Finding: an end of a connection wrote nothing for long after data of its peer, and it is not
 * known who is the client: as a server, its program was slow; as a client, it paused. */
static void
find_long_pause(smcr_finder_t *finder)
{
    wmem_allocator_t *scope = finder->scope;
    idle_end_t longest = {0};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        for (int to_server = 1; to_server >= 0 && !smcr_words_knows_roles(conn); to_server--) {
            idle_end_t pause = pause_of(conn, to_server);
            if (!pause.wait)
                continue;
            pause.count += longest.count;
            if (!longest.wait || pause.wait->lasted_s > longest.wait->lasted_s)
                longest = pause;
            longest.count = pause.count;
        }
    }
    if (!longest.wait)
        return;
    smcr_finder_add_as(finder, SMCR_FIGURE_INFO,
                       &(smcr_finder_facts_t){
                           .kind = SMCR_FIGURE_FOUND_SLOW_ANSWER,
                           .count = longest.count,
                           .when = longest.wait->end_frame,
                           .frames = SMCR_FINDER_FRAMES(finder, longest.wait->begin_frame,
                                                        longest.wait->end_frame),
                           .filter = smcr_words_connection_filter(scope, longest.conn)},
                       "%s wrote nothing for %s after data of its peer (otherwise %s on average): "
                       "a slow server, or a client that paused; %s, frames %" PRIu32 " to %" PRIu32
                       "%s",
                       reader_name(finder, longest.conn, longest.to_server),
                       smcr_words_duration(scope, longest.wait->lasted_s),
                       smcr_words_duration(scope, longest.usual),
                       smcr_words_connection(scope, longest.conn),
                       longest.wait->begin_frame.frame, longest.wait->end_frame.frame,
                       longest.count > 1
                           ? wmem_strdup_printf(scope, "; %s of connections paused, too",
                                                smcr_words_things(scope, longest.count - 1,
                                                                  "more end"))
                           : "");
}

/* ---- waits that have not ended when the capture ends ---- */

/* A wait that has not ended when the capture ends. All zeros: there is none. */
typedef struct {
    const smcr_entry_connection_t *conn;     /* the connection that waits */
    bool to_server;                          /* the client waits, for the server */
    const smcr_entry_conn_open_wait_t *wait; /* begin of the wait, and up to where it is proven */
    uint64_t lasted;                         /* time from its begin to the end of the capture,
                                                nanoseconds */
    uint64_t count;                          /* number of such waits */
} open_wait_t;

/* Returns the open wait of this kind in one direction of a connection; all zeros: there is none. */
static open_wait_t
open_wait_of(const smcr_finder_t *finder, const smcr_entry_connection_t *conn, bool to_server,
             smcr_figure_wait_t kind)
{
    const smcr_entry_conn_open_wait_t *wait = smcr_figure_direction(conn, to_server)->open_wait;
    uint64_t end = finder->report->capture.last_time;

    if (conn->close != SMCR_FIGURE_CLOSE_OPEN || !wait || wait->kind != kind)
        return (open_wait_t){0};
    if (end == SMCR_FIGURE_UNKNOWN || end < wait->begin_frame.time)
        return (open_wait_t){0};
    return (open_wait_t){conn, to_server, wait, end - wait->begin_frame.time, 1};
}

/* Whether an answer that is missing says that the server's program hangs. It has answered each
 * earlier message at least ten times as fast, it never writes unasked, and its host sends other
 * packets on the link later. */
static bool
is_overdue(const open_wait_t *open)
{
    const smcr_entry_connection_t *conn = open->conn;
    const smcr_distribution_t *answers =
        smcr_distribution_get(conn->client_to_server.answer_time_s);
    bool is_asked = open->to_server && smcr_words_knows_roles(conn) &&
                    !smcr_figure_or_zero(conn->server_to_client.unasked_writes);

    return is_asked && answers->count >= ENOUGH_ANSWERS &&
           proven_time(open->wait) >= MAX(LONG_WAIT, 10 * answers->max);
}

/* Whether the wait says that a program hangs: it lasts half a second or more, and is a wait for
 * space or for an overdue answer. */
static bool
is_hang(const open_wait_t *open)
{
    if (!open->wait || open->lasted < LONG_WAIT)
        return false;
    return open->wait->kind == SMCR_FIGURE_WAIT_READER || is_overdue(open);
}

bool
smcr_finding_hangs(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    for (int to_server = 1; to_server >= 0; to_server--) {
        open_wait_t reader = open_wait_of(finder, conn, to_server, SMCR_FIGURE_WAIT_READER);
        open_wait_t answer = open_wait_of(finder, conn, to_server, SMCR_FIGURE_WAIT_ANSWER);
        if (is_hang(&reader) || is_hang(&answer))
            return true;
    }
    return false;
}

/* Returns the longest wait of this kind that says that a program hangs (is_hang()), with the number
 * of such waits. */
static open_wait_t
find_longest_hang(const smcr_finder_t *finder, smcr_figure_wait_t kind)
{
    open_wait_t worst = {0};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        for (int to_server = 1; to_server >= 0; to_server--) {
            open_wait_t open = open_wait_of(finder, conn, to_server, kind);
            if (!is_hang(&open))
                continue;
            open.count += worst.count;
            if (!worst.wait || open.lasted > worst.lasted)
                worst = open;
            worst.count = open.count;
        }
    }
    return worst;
}

/* Returns the facts of a finding about a wait that has not ended. */
static smcr_finder_facts_t
facts_of_hang(const smcr_finder_t *finder, const open_wait_t *open, smcr_figure_finding_t kind)
{
    return (smcr_finder_facts_t){
        .kind = kind,
        .count = open->count,
        .when = open->wait->begin_frame,
        .frames = SMCR_FINDER_FRAMES(finder, open->wait->begin_frame, open->wait->proven_frame),
        .filter = smcr_words_connection_filter(finder->scope, open->conn),
        .cost = open->lasted};
}

/* Returns text about other directions that hang: the reverse direction of the same connection, or
 * the number of all. */
static const char *
other_hangs_text(const smcr_finder_t *finder, const open_wait_t *open)
{
    open_wait_t back =
        open_wait_of(finder, open->conn, !open->to_server, SMCR_FIGURE_WAIT_READER);

    if (is_hang(&back) && open->count == 2)
        return "; the other direction waits, too: both programs write, and neither reads";
    return how_many_waited(finder, (uint32_t)open->count);
}

/* Finding: a writer waits for space when the capture ends, and the reader's program has data to
 * read. Later packets of the reader's host on the link prove that no update was lost: then the
 * program is to blame. Without them, the path may have failed as well. */
static void
find_hung_reader(smcr_finder_t *finder)
{
    open_wait_t open = find_longest_hang(finder, SMCR_FIGURE_WAIT_READER);
    wmem_allocator_t *scope = finder->scope;

    if (!open.count)
        return;
    wait_t wait = wait_of(open.conn, open.to_server);
    bool is_proven = proven_time(open.wait) >= LONG_WAIT;
    uint64_t before = smcr_figure_or_zero(
        smcr_figure_time_between(open.conn->first_frame, open.wait->begin_frame));
    bool is_most = open.lasted >= before;
    smcr_finder_facts_t facts = facts_of_hang(finder, &open, is_proven
                                                                 ? SMCR_FIGURE_FOUND_SLOW_READER
                                                                 : SMCR_FIGURE_FOUND_BUFFER_FULL);
    const char *direction = smcr_words_direction(scope, open.conn, open.to_server);

    if (is_proven)
        smcr_finder_add_as(finder, is_most ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE, &facts,
                           "The program of %s has read nothing for %s, to the last packet of its "
                           "host (frame %" PRIu32 "): the writer of %s waits for space%s%s",
                           reader_name(finder, open.conn, open.to_server),
                           smcr_words_duration(scope, proven_time(open.wait)),
                           open.wait->proven_frame.frame, direction, buffer_text(finder, &wait),
                           other_hangs_text(finder, &open));
    else
        smcr_finder_add_as(finder, SMCR_FIGURE_NOTE, &facts,
                           "The writer of %s waits for space%s when the capture ends, %s "
                           "after it was full; "
                           "%s sends no later packet on the link%s",
                           direction, buffer_text(finder, &wait),
                           smcr_words_duration(scope, open.lasted),
                           reader_name(finder, open.conn, open.to_server),
                           other_hangs_text(finder, &open));
}

/* Finding: a server has not answered the last message of its client when the capture ends. The
 * finding is for information: the message may need no answer. */
static void
find_hung_server(smcr_finder_t *finder)
{
    open_wait_t open = find_longest_hang(finder, SMCR_FIGURE_WAIT_ANSWER);
    wmem_allocator_t *scope = finder->scope;

    if (!open.count)
        return;
    smcr_finder_facts_t facts = facts_of_hang(finder, &open, SMCR_FIGURE_FOUND_SLOW_ANSWER);
    const smcr_distribution_t *answers = open.conn->client_to_server.answer_time_s;
    const char *others = "";
    if (open.count > 1)
        others = wmem_strdup_printf(scope, "; %s in all",
                                    smcr_words_things(scope, open.count, "connection"));
    smcr_finder_add_as(finder, SMCR_FIGURE_INFO, &facts,
                       "The program of %s has not answered %s for %s, to the last packet of its "
                       "host (frame %" PRIu32 "); it had answered all earlier messages, in %s on "
                       "average: it hangs, or the last message needs no answer%s",
                       reader_name(finder, open.conn, true),
                       smcr_words_direction(scope, open.conn, true),
                       smcr_words_duration(scope, proven_time(open.wait)),
                       open.wait->proven_frame.frame,
                       smcr_words_duration(scope, mean(answers)), others);
}

/* ---- clients that give up ---- */

/* Returns the wait of a client for an answer that ended when the client closed or aborted the
 * connection; NULL: there is none, or the server also writes unasked, so that no answer may be
 * due. */
static const smcr_entry_conn_open_wait_t *
given_up_wait(const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_open_wait_t *wait = conn->client_to_server.open_wait;
    bool is_asked = smcr_words_knows_roles(conn) &&
                    !smcr_figure_or_zero(conn->server_to_client.unasked_writes);

    return wait && is_asked && conn->close != SMCR_FIGURE_CLOSE_OPEN ? wait : NULL;
}

const char *
smcr_finding_given_up_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_open_wait_t *wait = given_up_wait(conn);

    if (!wait)
        return "";
    return wmem_strdup_printf(finder->scope,
                              "; before that, the program of %s had not answered for %s (since "
                              "frame %" PRIu32 ")",
                              reader_name(finder, conn, true),
                              smcr_words_duration(finder->scope, proven_time(wait)),
                              wait->begin_frame.frame);
}

/* Answers of a server's program. */
typedef struct {
    uint64_t count;   /* number of answers */
    uint64_t sum;     /* sum of their times, nanoseconds */
    uint64_t max;     /* time of the slowest answer, nanoseconds */
    bool is_of_other; /* they are the answers on other connections of the same server */
} answers_t;

/* Adds the answers on the connection. */
static void
add_answers(answers_t *answers, const smcr_entry_connection_t *conn)
{
    const smcr_distribution_t *own = smcr_distribution_get(conn->client_to_server.answer_time_s);

    answers->count += own->count;
    answers->sum += own->sum;
    answers->max = MAX(answers->max, own->count ? own->max : 0);
}

/* Returns the answers that show how long the server's program usually takes: those on the
 * connection or, if they are fewer than ENOUGH_ANSWERS, those on other connections of the
 * server. */
static answers_t
usual_answers(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    answers_t own = {0}, others = {.is_of_other = true};

    add_answers(&own, conn);
    if (own.count >= ENOUGH_ANSWERS || conn->server.port == SMCR_FIGURE_UNKNOWN)
        return own;
    SMCR_FIGURE_EACH (connection, other, finder->report->connections) {
        bool is_of_port = other->server.port == conn->server.port;
        if (other != conn && is_of_port && have_same_server(finder, conn, other))
            add_answers(&others, other);
    }
    return others;
}

/* Whether the client closed the connection in order, and its last message was one that the server
 * should have answered: it has answered each other message at least ten times as fast
 * (usual_answers()). */
static bool
gave_up(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_open_wait_t *wait = given_up_wait(conn);

    if (!wait || conn->close == SMCR_FIGURE_CLOSE_ABORT)
        return false;
    answers_t answers = usual_answers(finder, conn);
    return answers.count >= ENOUGH_ANSWERS && proven_time(wait) >= 10 * answers.max;
}

/* Finding: a client closed a connection on which the server had not answered for long. The finding
 * is for information: the last message may need no answer. It names the longest of these waits. An
 * abort has a finding of its own, which reports the wait. */
static void
find_given_up(smcr_finder_t *finder)
{
    const smcr_entry_connection_t *worst = NULL;
    const char *filter = "";
    uint32_t count = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!gave_up(finder, conn))
            continue;
        filter = smcr_finder_either(finder, filter,
                                    smcr_words_connection_filter(finder->scope, conn), count++);
        if (!worst || proven_time(given_up_wait(conn)) > proven_time(given_up_wait(worst)))
            worst = conn;
    }
    if (!worst)
        return;
    const smcr_entry_conn_open_wait_t *wait = given_up_wait(worst);
    answers_t answers = usual_answers(finder, worst);
    smcr_finder_add_as(
        finder, SMCR_FIGURE_INFO,
        &(smcr_finder_facts_t){
            .kind = SMCR_FIGURE_FOUND_SLOW_ANSWER,
            .count = count,
            .when = wait->begin_frame,
            .frames = SMCR_FINDER_FRAMES(finder, wait->begin_frame, wait->proven_frame),
            .filter = filter ? filter : "smcr",
            .cost = proven_time(wait)},
        "The client closed %s (frame %" PRIu32 ")%s; it had answered %s, in %s on average: it "
        "hung, or the last message needs no answer",
        smcr_words_connections(finder->scope, worst, count), wait->proven_frame.frame,
        smcr_finding_given_up_text(finder, worst),
        answers.is_of_other ? "messages on other connections" : "all earlier messages",
        smcr_words_duration(finder->scope, answers.sum / answers.count));
}

/* ---- setup ---- */

/* Returns " (mostly CONFIRM LINK on link 1)": the slowest exchange of LLC messages of the
 * setup; "" if it is not known. */
static const char *
exchange_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    if (!conn->setup_longest)
        return "";
    return wmem_strdup_printf(finder->scope, " (mostly %s)", conn->setup_longest);
}

/* Returns "; TCP retransmitted 3 segments of this connection"; "" if it retransmitted none, or its
 * segments are not known. */
static const char *
tcp_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    SMCR_FIGURE_EACH(tcp, flow, finder->report->tcp_flows) {
        uint64_t count = smcr_figure_or_zero(flow->up.repeated_segments) +
                         smcr_figure_or_zero(flow->down.repeated_segments);
        if (flow->tcp_stream == conn->tcp_stream && count)
            return wmem_strdup_printf(finder->scope,
                                      "; TCP retransmitted %s of this connection",
                                      smcr_words_things(finder->scope, count, "segment"));
    }
    return "";
}

/* Returns text about the longest step of the setup: "longest step: LLC of the first contact, 1.2
 * s". If two steps took equally long, the later step is named. If LLC of the first contact took
 * longest, the text also names the slowest exchange of LLC messages. If a step over TCP took
 * longest, it has the number of segments that TCP retransmitted. */
static const char *
longest_step(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    if (conn->outcome == SMCR_FIGURE_OUTCOME_FALLBACK)
        return smcr_finding_step_before_fallback(finder, conn);
    const smcr_entry_conn_setup_t *setup = &conn->setup;
    const struct {
        uint64_t time;
        const char *name;
    } steps[] = {{smcr_figure_or_zero(setup->llc_s), "LLC of the first contact"},
                 {smcr_figure_or_zero(setup->confirm_s), "from the CLC Accept to the Confirm"},
                 {smcr_figure_or_zero(setup->accept_s), "from the CLC Proposal to the Accept"},
                 {smcr_figure_or_zero(setup->tcp_s), "from the SYN to the CLC Proposal"}};
    uint64_t all = smcr_figure_or_zero(conn->setup_s), known = 0;
    unsigned longest = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        known += steps[i].time;
        if (steps[i].time > steps[longest].time)
            longest = i;
    }
    /* an unknown step may have taken all of the remaining time */
    if (steps[longest].time + known < all)
        return "longest step not known";
    return wmem_strdup_printf(finder->scope, "longest step: %s, %s%s", steps[longest].name,
                              smcr_words_duration(finder->scope, steps[longest].time),
                              longest == 0 ? exchange_text(finder, conn) : tcp_text(finder, conn));
}

/* Whether the path explains a slow setup. `handshake`: time from the SYN to the CLC Proposal, which
 * shows how long a round trip takes. A setup of less than ten times this duration is slow because
 * of the path. But a handshake of a second or more is slow itself, and explains nothing. */
static bool
is_setup_slow_by_path(uint64_t setup, uint64_t handshake)
{
    return handshake < LONG_SETUP && setup < 10 * handshake;
}

/* Returns the time that the setup took, nanoseconds: from the SYN until the connection can carry
 * data. If this time is not known: the sum of the known steps from the SYN on. For a fallback: the
 * time from the SYN to the fallback. */
static uint64_t
setup_time(const smcr_entry_connection_t *conn)
{
    if (conn->outcome == SMCR_FIGURE_OUTCOME_FALLBACK)
        return smcr_finding_fallback_time(conn);
    const uint64_t steps[] = {conn->setup.tcp_s, conn->setup.accept_s, conn->setup.confirm_s};
    uint64_t sum = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(steps) && steps[i] != SMCR_FIGURE_UNKNOWN; i++)
        sum += steps[i];
    return conn->setup_s == SMCR_FIGURE_UNKNOWN ? sum : conn->setup_s;
}

/* Whether the connection goes over SMC-R or has fallen back, took SMCR_FINDING_SLOW_SETUP or more
 * to set up, and the path does not explain this. */
static bool
has_slow_setup(const smcr_entry_connection_t *conn)
{
    uint64_t setup = setup_time(conn);

    bool has_setup = conn->outcome == SMCR_FIGURE_OUTCOME_SMCR ||
                     conn->outcome == SMCR_FIGURE_OUTCOME_FALLBACK;

    return has_setup && setup >= SMCR_FINDING_SLOW_SETUP &&
           !is_setup_slow_by_path(setup, smcr_figure_or_zero(conn->setup.tcp_s));
}

/* Finding: slow setup. A connection needed half a second or more from the SYN until it could carry
 * data over SMC-R, or until it fell back to TCP, and the path does not explain this time
 * (is_setup_slow_by_path()). Below LONG_SETUP the finding is for information. It names the
 * connection with the longest setup. Two kinds of connections have no setup time and are not
 * judged: connections that stayed on TCP, and connections whose beginning was not captured. */
static void
find_slow_setup(smcr_finder_t *finder)
{
    const smcr_entry_connection_t *worst_conn = NULL;
    const char *filter = "";
    uint32_t count = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!has_slow_setup(conn))
            continue;
        filter = smcr_finder_either(finder, filter,
                                    smcr_words_connection_filter(finder->scope, conn), count++);
        if (!worst_conn || setup_time(conn) > setup_time(worst_conn))
            worst_conn = conn;
    }
    if (!count)
        return;
    uint64_t worst = setup_time(worst_conn);
    smcr_finder_add_as(finder, worst >= LONG_SETUP ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_SLOW_SETUP,
                                           .count = count,
                                           .when = worst_conn->first_frame,
                                           .filter = filter ? filter : "smcr",
                                           .cost = worst},
                    "%s took %s to %s; %s%s", smcr_words_connection(finder->scope, worst_conn),
                    smcr_words_duration(finder->scope, worst),
                    worst_conn->outcome == SMCR_FIGURE_OUTCOME_FALLBACK ? "fall back to TCP"
                                                                        : "set up SMC-R",
                    longest_step(finder, worst_conn),
                    count > 1 ? wmem_strdup_printf(finder->scope, "; the slowest of %u slow setups",
                                                   count)
                              : "");
}

/* ---- needless cost, without harm ---- */

/* Whether the direction has MANY_WRITES or more WRITEs, one a second or more, on average smaller
 * than a CDC message (44 bytes). SMC-R sends one CDC message for each WRITE, so less than half of
 * the bytes are data then. Fewer than one a second are signs of life, which cost nothing. */
static bool
writes_small_pieces(const wait_t *wait)
{
    uint64_t writes = smcr_figure_or_zero(wait->figures->writes);
    uint64_t bytes = smcr_figure_or_zero(wait->figures->bytes);
    bool is_often = writes >= MANY_WRITES && writes * SMCR_TIME_SECOND >= wait->conn_time;

    return is_often && bytes && bytes < SMCR_LLC_LENGTH * writes;
}

/* Finding: small writes. The finding names the first direction that writes small pieces
 * (writes_small_pieces()), and the number of other such directions. */
static void
find_small_writes(smcr_finder_t *finder)
{
    const smcr_figure_list_t *conns = &finder->report->connections;
    const smcr_entry_conn_direction_t *found = NULL;
    const char *name = NULL;
    smcr_when_t first = {0};
    uint32_t count = 0;

    for (uint32_t i = 0; i < conns->length; i++) {
        for (int to_server = 1; to_server >= 0; to_server--) {
            wait_t wait = wait_of(conns->entries[i], to_server);
            if (!writes_small_pieces(&wait) || count++)
                continue;
            found = wait.figures;
            first = wait.conn->first_frame;
            name = smcr_words_direction(finder->scope, wait.conn, to_server);
        }
    }
    if (!found)
        return;
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_SMALL_WRITES,
                               .count = count,
                               .when = first,
                               .filter = "smcr.write.len"},
        "%s%s: many small writes (%s of %s on average); each needs a 44-byte CDC message", name,
        count > 1
            ? wmem_strdup_printf(finder->scope, " (and %s)",
                                 smcr_words_things(finder->scope, count - 1, "more direction"))
            : "",
        smcr_words_things(finder->scope, found->writes, "WRITE"),
        smcr_words_bytes(finder->scope, found->bytes / found->writes));
}

void
smcr_finding_on_times(smcr_finder_t *finder)
{
    find_full_buffer(finder);
    find_slow_answers(finder);
    find_long_pause(finder);
    if (!smcr_finder_is_filtered(finder)) {
        find_hung_reader(finder);
        find_hung_server(finder);
        find_given_up(finder);
    }
    find_slow_setup(finder);
    find_small_writes(finder);
}
