/* Where the time went: a long setup, writers that wait for space in the receive buffer, and whose
 * doing that is; writes that are small, and reads that are reported late.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include "report/words/words.h"
#include "wire/wire.h"

#define LATE (500 * SMCR_TIME_MILLISECOND)
#define LONG_SETUP SMCR_TIME_SECOND
#define MANY_WRITES 100

/* One direction of a connection. Times in nanoseconds. */
typedef struct {
    const smcr_entry_connection_t *conn;
    const smcr_entry_conn_direction_t *figures;
    bool to_server, is_lossy;
    uint64_t full, reader;  /* the buffer was full; of that, the reader's host took so long */
    uint64_t whole;         /* of the connection */
    uint64_t buffer;        /* its size, bytes; SMCR_FIGURE_UNKNOWN */
    uint64_t drain, trip;   /* half of a full buffer was free after, and a round trip: means */
} wait_t;

static uint64_t
mean(const smcr_distribution_t *times)
{
    return times->count ? times->sum / times->count : 0;
}

static wait_t
wait_of(const smcr_entry_connection_t *conn, bool to_server)
{
    const smcr_entry_conn_direction_t *figures = smcr_figure_direction(conn, to_server);
    const smcr_entry_conn_direction_t *back = smcr_figure_direction(conn, !to_server);

    return (wait_t){
        .conn = conn,
        .figures = figures,
        .to_server = to_server,
        .is_lossy = smcr_figure_known(figures->repeated_packets) ||
                    smcr_figure_known(back->repeated_packets),
        .buffer = to_server ? conn->buffer_bytes.server : conn->buffer_bytes.client,
        .full = smcr_figure_waited(figures),
        .reader = figures->reader_time_s.sum,
        .whole = smcr_figure_known(smcr_figure_time_between(conn->first_frame, conn->last_frame)),
        .drain = mean(&figures->drain_time_s),
        .trip = mean(&figures->ack_time_s) + mean(&back->ack_time_s)};
}

/* ---- the receive buffer is full ---- */

static bool
waits_long(const wait_t *wait)
{
    return wait->full && (wait->full * 100 >= wait->whole * 7 || wait->full >= LATE);
}

/* The reader leaves data unread for long compared with the path: half of a full buffer is free
 * after three round trips and a millisecond at least, its host takes most of the wait, and waiting
 * is most of what the writer does while it has data. Retransmissions may delay what the reader
 * says. (docs/report.md, "Where the time went") */
static bool
is_slow(const wait_t *wait)
{
    return !wait->is_lossy && wait->trip && wait->figures->drain_time_s.count &&
           wait->drain >= MAX(3 * wait->trip, SMCR_TIME_MILLISECOND) &&
           wait->reader * 10 >= wait->full * 6 && wait->full >= 3 * wait->figures->time->transfer_s;
}

/* The one that waited longest, one with a slow reader before all others; and how many waited. */
static wait_t
worst(const smcr_finder_t *finder, uint32_t *count)
{
    const smcr_figure_list_t *conns = &finder->report->connections;
    wait_t found = {0};

    for (uint32_t i = 0; i < conns->length; i++) {
        for (int to_server = 1; to_server >= 0; to_server--) {
            wait_t wait = wait_of(conns->entries[i], to_server);
            bool better = !found.conn || is_slow(&wait) > is_slow(&found) ||
                          (is_slow(&wait) == is_slow(&found) && wait.full > found.full);
            *count += waits_long(&wait);
            if (waits_long(&wait) && better)
                found = wait;
        }
    }
    return found;
}

static const char *
size_of(const smcr_finder_t *finder, uint64_t size)
{
    return size % 1024 || size >= 1 << 20
               ? smcr_words_size(finder->scope, size)
               : wmem_strdup_printf(finder->scope, "%" PRIu64 " KiB", size / 1024);
}

/* While it may write it fills the buffer, and then waits: with what it could write meanwhile, it
 * would not. Linux rounds sizes up to powers of two. */
static uint64_t
size_that_would_do(const wait_t *wait)
{
    const smcr_entry_conn_time_t *time = wait->figures->time;
    uint64_t size = wait->buffer, sending = MAX(time->transfer_s, wait->full / 64);
    double needed = (double)size * (double)(sending + wait->full) / (double)MAX(sending, 1);

    while ((double)size < needed)
        size *= 2;
    return size;
}

/* Why: as far as that is known. */
static const char *
cause(const smcr_finder_t *finder, const wait_t *wait)
{
    wmem_allocator_t *scope = finder->scope;

    if (wait->is_lossy)
        return "; packets were retransmitted, too";
    if (is_slow(wait))
        return wmem_strdup_printf(scope, "; half free after %s, round trip %s",
                                  smcr_words_duration(scope, wait->drain),
                                  smcr_words_duration(scope, wait->trip));
    if (!wait->trip || wait->reader * 10 >= wait->full * 6 || wait->buffer == SMCR_FIGURE_UNKNOWN)
        return "";
    return wmem_strdup_printf(scope, "; with a round trip of %s, %s would do",
                              smcr_words_duration(scope, wait->trip),
                              size_of(finder, size_that_would_do(wait)));
}

static void
find_full(smcr_finder_t *finder)
{
    uint32_t count = 0;
    wait_t wait = worst(finder, &count);
    wmem_allocator_t *scope = finder->scope;

    if (!count)
        return;
    bool slow = is_slow(&wait);
    smcr_finder_add_as(
        finder, slow ? SMCR_FIGURE_FOUND_SLOW_READER : SMCR_FIGURE_FOUND_BUFFER_FULL,
        slow && wait.full * 2 >= wait.whole ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE, count,
        smcr_finder_first(finder, "smcr.window.writer_blocked", "smcr.window.full"),
        "smcr.window.full || smcr.window.writer_blocked",
        "%s: %s waited %s (%s) for space in %s%s%s",
        !slow                     ? "Receive buffer full"
        : !wait.conn->client.addr ? "The program reads slowly" /* nobody knows who is client */
        : wait.to_server          ? "The server reads slowly"
                                  : "The client reads slowly",
        smcr_words_direction(scope, wait.conn, wait.to_server),
        smcr_words_duration(scope, wait.full), smcr_words_share(scope, wait.full, wait.whole),
        wait.buffer == SMCR_FIGURE_UNKNOWN
            ? "the receive buffer"
            : wmem_strdup_printf(scope, "a %s buffer", size_of(finder, wait.buffer)),
        cause(finder, &wait),
        count > 1 ? wmem_strdup_printf(scope, "; %s waited",
                                       smcr_words_things(scope, count, "direction")) : "");
}

/* ---- setup ---- */

/* The part that took longest. */
static const char *
longest_step(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_setup_t *setup = &conn->setup;
    const struct {
        uint64_t time;
        const char *name;
    } steps[] = {{smcr_figure_known(setup->llc_s), "the first contact's LLC"},
                 {smcr_figure_known(setup->confirm_s), "the client's CLC Confirm"},
                 {smcr_figure_known(setup->accept_s), "the server's CLC Accept"},
                 {smcr_figure_known(setup->tcp_s), "TCP's handshake and the CLC Proposal"}};
    unsigned longest = 0;

    for (unsigned i = 1; i < G_N_ELEMENTS(steps); i++)
        if (steps[i].time > steps[longest].time)
            longest = i;
    return wmem_strdup_printf(
        finder->scope, "%s of it for %s%s%s",
        smcr_words_duration(finder->scope, steps[longest].time), steps[longest].name,
        !longest && conn->setup_longest ? ", most for " : "",
        !longest && conn->setup_longest ? conn->setup_longest : "");
}

static void
find_slow_setup(smcr_finder_t *finder)
{
    const smcr_entry_connection_t *worst_conn = NULL;
    const char *filter = "";
    uint32_t count = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        uint64_t time = smcr_figure_known(conn->setup_s);
        uint64_t tcp = smcr_figure_known(conn->setup.tcp_s);
        bool by_path = tcp < LONG_SETUP && time < 10 * tcp;
        if (conn->outcome != SMCR_FIGURE_OUTCOME_SMCR || time < LONG_SETUP || by_path)
            continue;
        filter = smcr_finder_either(finder, filter,
                                    smcr_words_connection_filter(finder->scope, conn), count++);
        if (!worst_conn || time > worst_conn->setup_s)
            worst_conn = conn;
    }
    if (!count)
        return;
    smcr_finder_add(finder, SMCR_FIGURE_FOUND_SLOW_SETUP, count, worst_conn->first_frame,
                    filter ? filter : "smcr", "%s took %s to set up, %s%s",
                    smcr_words_connection(finder->scope, worst_conn),
                    smcr_words_duration(finder->scope, worst_conn->setup_s),
                    longest_step(finder, worst_conn),
                    count > 1 ? wmem_strdup_printf(finder->scope, "; %u connections", count) : "");
}

/* ---- what costs, and harms nobody ---- */

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
            uint64_t writes = smcr_figure_known(wait.figures->writes);
            uint64_t bytes = smcr_figure_known(wait.figures->bytes);
            if (writes < MANY_WRITES || !bytes || bytes >= SMCR_LLC_LENGTH * writes || count++)
                continue;
            found = wait.figures;
            first = wait.conn->first_frame;
            name = smcr_words_direction(finder->scope, wait.conn, to_server);
        }
    }
    if (!found)
        return;
    smcr_finder_add(finder, SMCR_FIGURE_FOUND_SMALL_WRITES, count,
                    first, "smcr.write.len",
                    "%s%s writes little at a time: %s, %s on average; each CDC message has 44",
                    name,
                    count > 1 ? wmem_strdup_printf(finder->scope, " (and %s)",
                                                   smcr_words_things(finder->scope, count - 1,
                                                                     "more direction"))
                              : "",
                    smcr_words_things(finder->scope, found->writes, "WRITE"),
                    smcr_words_bytes(finder->scope, found->bytes / found->writes));
}

void
smcr_finding_on_times(smcr_finder_t *finder)
{
    find_full(finder);
    find_slow_setup(finder);
    find_small_writes(finder);
}
