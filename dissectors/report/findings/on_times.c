/* Findings about time: writers that wait for space in the receive buffer, and why; a slow setup;
 * data written in small pieces.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */


#include "subjects.h"

#include "report/findings/finder/waits.h"
#include "report/words/words.h"
#include "wire/wire.h"

/* Lower bounds: times in nanoseconds, or numbers, from which on a rule of this file applies. */
#define LONG_PAUSE (100 * SMCR_TIME_MILLISECOND) /* one wait of a writer that counts as cost */
#define LONG_HALF (50 * SMCR_TIME_MILLISECOND)   /* sum of all waits that a user notices, if it is
                                                    half of the connection's time */
#define LONG_SETUP SMCR_TIME_SECOND              /* a setup that makes the finding a note */
#define MANY_WRITES 100                          /* number of WRITEs of a direction, for the finding
                                                    of small writes */
#define QUEUE_TIME (20 * SMCR_TIME_MILLISECOND)  /* mean time of acknowledgements that shows a queue
                                                    on the path */
#define ENOUGH_ACKS 16                           /* number of acknowledgements that is enough to
                                                    judge the path */

/* The waits of one direction of a connection. All times are in nanoseconds. */
typedef struct {
    const smcr_entry_connection_t *conn;        /* the connection of this direction */
    const smcr_entry_conn_direction_t *figures; /* figures of this direction */
    const smcr_entry_conn_direction_t *back;    /* figures of the other direction */
    bool to_server;       /* true: the client writes and the server reads; false: the server writes
                             and the client reads */
    uint64_t full_time;   /* time in which the receive buffer was full; 0: never, or not known */
    uint64_t reader_time; /* part of `full_time` in which the reader's program had data to read */
    uint64_t conn_time;   /* time from the first to the last frame of the connection; 0: not
                             known */
    uint64_t buffer_size; /* size of the receive buffer, bytes; SMCR_FIGURE_UNKNOWN: not known */
    uint64_t round_trip;  /* sum of the mean acknowledgement times of both directions, or the
                             one that was measured; 0: neither was measured */
    const smcr_entry_conn_wait_t *longest; /* longest wait of the writer for space; NULL: none */
    const smcr_entry_conn_wait_t *stop;    /* longest time in which the reader's program read
                                              nothing while the writer waited; NULL: none */
} wait_t;

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
        .back = back,
        .to_server = to_server,
        .buffer_size = smcr_finding_wait_buffer(conn, to_server),
        .full_time = smcr_figure_buffer_full_time(figures),
        .reader_time = figures->time ? figures->time->reader_s : 0,
        .conn_time =
            smcr_figure_or_zero(smcr_figure_time_between(conn->first_frame, conn->last_frame)),
        .round_trip = smcr_finding_wait_mean(figures->ack_time_s) +
                      smcr_finding_wait_mean(back->ack_time_s),
        .longest = smcr_finding_wait_longest(conn, to_server, SMCR_FIGURE_WAIT_SPACE),
        .stop = smcr_finding_wait_longest(conn, to_server, SMCR_FIGURE_WAIT_READER)};
}

/* ---- the receive buffer is full ---- */

/* Whether the reader's program is proven to have read nothing for half a second or more, and for
 * 90 % or more of `full_time`, in a wait that is open when the capture ends. */
static bool
is_one_open_wait(const wait_t *wait)
{
    const smcr_entry_conn_open_wait_t *open = wait->figures->open_wait;

    if (!open || open->kind != SMCR_FIGURE_WAIT_READER ||
        wait->conn->close != SMCR_FIGURE_CLOSE_OPEN)
        return false;
    uint64_t proven = smcr_finding_wait_proven(open);
    return proven >= SMCR_FINDING_LONG_WAIT && proven * 10 >= wait->full_time * 9;
}

/* Whether the writer waited long: the receive buffer was full for 7 % of the connection's time, or
 * for half a second in all. A wait that has a finding of its own does not count:
 * find_hung_reader() reports an open wait, except under a display filter. */
static bool
waits_long(const smcr_finder_t *finder, const wait_t *wait)
{
    bool has_own = !smcr_finder_is_filtered(finder) && is_one_open_wait(wait);

    return wait->full_time && !has_own &&
           (wait->full_time * 100 >= wait->conn_time * 7 ||
            wait->full_time >= SMCR_FINDING_LONG_WAIT);
}

/* Whether `full_time` may be much too low: the time of unknown state (`unknown_s`) is a tenth of
 * `full_time` or more. */
static bool
may_be_much_longer(const wait_t *wait)
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
    return wait->full_time >= SMCR_FINDING_LONG_WAIT ||
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

/* Returns the shortest acknowledgement time of all connections that have the path of the direction,
 * nanoseconds: those of the same link group, in the same direction. */
static uint64_t
best_ack(const smcr_finder_t *finder, const wait_t *wait)
{
    uint64_t best = wait->figures->ack_time_s->min;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_distribution_t *acks =
            smcr_figure_direction(conn, wait->to_server)->ack_time_s;
        if (acks && conn->link_group == wait->conn->link_group)
            best = MIN(best, acks->min);
    }
    return best;
}

/* Whether packets of the direction wait in a queue of the network: ENOUGH_ACKS or more
 * acknowledgements take ten times as long on average as at best, and QUEUE_TIME or more. Half of
 * them take at least half as long as the average: a few that took very long show another cause,
 * such as a host that stood still. A larger receive buffer would make such a queue longer. */
static bool
has_queue(const smcr_finder_t *finder, const wait_t *wait)
{
    const smcr_distribution_t *acks = wait->figures->ack_time_s;

    if (!acks || acks->count < ENOUGH_ACKS)
        return false;
    uint64_t mean = smcr_finding_wait_mean(acks);
    bool is_usual = smcr_distribution_quantile(acks, 500) >= mean / 2;
    return is_usual && mean >= QUEUE_TIME && mean >= 10 * best_ack(finder, wait);
}

/* Whether a single stop of the reader's program explains most of the wait: it lasts half a second
 * or more, and half of the time in which the buffer was full. */
static bool
is_one_stop(const wait_t *wait)
{
    return wait->stop && wait->stop->lasted_s >= SMCR_FINDING_LONG_WAIT &&
           wait->stop->lasted_s * 2 >= wait->full_time;
}

/* Returns the duration of the writer's wait with which the reader's part is compared, nanoseconds.
 * If `full_time` may be much too low, the buffer may have been full for all of the time of unknown
 * state, because of the path: then the upper bound is returned. But if a single stop of the
 * reader's program explains half of the known wait or more, the known wait is returned. */
static uint64_t
judged_time(const wait_t *wait)
{
    bool is_partial = may_be_much_longer(wait) && !is_one_stop(wait);

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

/* Whether the path is the cause of the wait: data or cursor updates were under way for half of
 * the time. False if `full_time` may be much too low. */
static bool
has_long_path(const wait_t *wait)
{
    return !may_be_much_longer(wait) &&
           (wait->full_time - wait->reader_time) * 2 >= wait->full_time;
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
 * not hide a short one that waited most of its time. Else a direction with a slow reader is worse
 * than a direction without. Otherwise the direction that waited longer is worse. */
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

/* ---- who waited ---- */

/* Whether one of the `count` findings made so far (`told`) is about the reader of `wait`: the same
 * host in the same role. */
static bool
was_told(const smcr_finder_t *finder, const wait_t *told, unsigned count, const wait_t *wait)
{
    const char *reader = smcr_finding_wait_program(finder, wait->conn, wait->to_server);

    for (unsigned i = 0; i < count; i++)
        if (!strcmp(reader, smcr_finding_wait_program(finder, told[i].conn, told[i].to_server)))
            return true;
    return false;
}

/* Returns the worst of all directions that waited long (waits_long()), and adds their number to
 * `*count`. If no direction waited long, the returned struct is all zeros. Directions whose reader
 * has one of the `told_count` findings made so far (`told`) do not count. */
static wait_t
find_worst_wait(const smcr_finder_t *finder, const wait_t *told, unsigned told_count,
                uint32_t *count)
{
    const smcr_figure_list_t *conns = &finder->report->connections;
    wait_t found = {0};

    for (uint32_t i = 0; i < conns->length; i++) {
        for (int to_server = 1; to_server >= 0; to_server--) {
            wait_t wait = wait_of(conns->entries[i], to_server);
            if (!waits_long(finder, &wait) || was_told(finder, told, told_count, &wait))
                continue;
            if (!(*count)++ || is_worse(&wait, &found))
                found = wait;
        }
    }
    return found;
}

/* Returns the size of a buffer that the writer would not fill, bytes. The writer fills the present
 * buffer in the time `filling_s`, and waits for space in `full_time`. To write at the same rate all
 * the time, it would need a buffer of size * (filling_s + full_time) / filling_s. A transfer that
 * no wait for space follows does not count: small requests do not show the rate. Linux rounds sizes
 * up to powers of two. Example: a writer that fills 64 KiB in 1 ms and waits 3 ms would need 256
 * KiB. A `filling_s` below 1/64 of the wait counts as 1/64, so that a time near 0 gives no absurd
 * size. If the size of all data of the direction is known, a buffer of this size suffices. The size
 * of the present buffer must be known: 0 would never grow. */
static uint64_t
needed_buffer_size(const wait_t *wait)
{
    const smcr_entry_conn_time_t *time = wait->figures->time;
    uint64_t size = wait->buffer_size, sending = MAX(time->filling_s, wait->full_time / 64);
    double needed = (double)size * (double)(sending + wait->full_time) / (double)MAX(sending, 1);

    if (wait->figures->lacks_bytes == SMCR_FIGURE_NO)
        needed = MIN(needed, (double)wait->figures->bytes);
    while ((double)size < needed)
        size *= 2;
    return size;
}

/* Whether the path is the cause of the wait, and a larger buffer would suffice. */
static bool
would_larger_buffer_help(const wait_t *wait)
{
    bool knows_path = wait->round_trip && wait->buffer_size != SMCR_FIGURE_UNKNOWN;

    return has_long_path(wait) && knows_path && needed_buffer_size(wait) > wait->buffer_size;
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

/* Whether the wait ended with a reset of TCP, and the reader's host had sent no packet for half
 * of it or more: then neither the reader's program nor the size of its buffer explains the wait. */
static bool
is_unheard(const wait_t *wait)
{
    const smcr_entry_conn_open_wait_t *open = wait->figures->open_wait;
    bool is_reset = wait->conn->close == SMCR_FIGURE_CLOSE_RESET;

    if (!open || !is_reset || open->kind != SMCR_FIGURE_WAIT_READER)
        return false;
    uint64_t unheard =
        smcr_figure_or_zero(smcr_figure_time_between(open->proven_frame, wait->conn->last_frame));
    return unheard * 2 >= wait->full_time;
}

/* Returns text about a reader's host that sends no packet for long (is_unheard()). */
static const char *
unheard_text(const smcr_finder_t *finder, const wait_t *wait)
{
    smcr_when_t last = wait->figures->open_wait->proven_frame;

    return wmem_strdup_printf(finder->scope,
                              "; for the last %s (since frame %" PRIu32 "), %s sent no packet on "
                              "the link",
                              smcr_words_duration(finder->scope,
                                                  wait->conn->last_frame.time - last.time),
                              last.frame,
                              smcr_finding_wait_address(finder, wait->conn, wait->to_server));
}

/* Returns the times of acknowledgements as text, for a direction with a queue (has_queue()). */
static const char *
queue_text(const smcr_finder_t *finder, const wait_t *wait)
{
    const smcr_distribution_t *acks = wait->figures->ack_time_s;

    return wmem_strdup_printf(
        finder->scope,
        "; acknowledgements took %s at best, %s on average: probably a queue on the path",
        smcr_words_duration(finder->scope, best_ack(finder, wait)),
        smcr_words_duration(finder->scope, smcr_finding_wait_mean(acks)));
}

/* Returns the end of the sentence. If the reader's host was silent, the text says so. If the path
 * is the cause, the text names a queue on it, or a sufficient buffer size. Otherwise it names the
 * longest wait. */
static const char *
cause_text(const smcr_finder_t *finder, const wait_t *wait)
{
    if (is_unheard(wait))
        return unheard_text(finder, wait);
    if (!has_slow_reader(wait) && has_queue(finder, wait))
        return queue_text(finder, wait);
    if (!would_larger_buffer_help(wait))
        return longest_text(finder, wait);
    bool are_both = wait->figures->ack_time_s && wait->back->ack_time_s;
    return wmem_strdup_printf(finder->scope, "; %s would suffice (%s %s)",
                              smcr_finding_wait_size(finder, needed_buffer_size(wait)),
                              are_both ? "ACK times both ways add up to" : "mean ACK time",
                              smcr_words_duration(finder->scope, wait->round_trip));
}

/* Whether the sentence has two times that differ: the one stop of the reader's program, and all
 * waits of the writer. */
static bool
has_other_waits(const smcr_finder_t *finder, const wait_t *wait)
{
    if (!has_slow_reader(wait) || !is_one_stop(wait))
        return false;
    return strcmp(smcr_words_duration(finder->scope, wait->full_time),
                  smcr_words_duration(finder->scope, wait->stop->lasted_s)) != 0;
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
                                  smcr_finding_wait_program(finder, wait->conn, wait->to_server));
    return wmem_strdup_printf(finder->scope, "The program of %s read nothing for %s%s",
                              smcr_finding_wait_program(finder, wait->conn, wait->to_server),
                              began_before_capture(wait) ? "at least " : "",
                              smcr_words_duration(finder->scope, wait->stop->lasted_s));
}

/* Adds the longest wait to the facts. The finding shows in the frame with which it begins. If the
 * wait began before the capture, no packet shows its begin, and the frame is the report that the
 * buffer is full. */
static void
add_worst_time(const wait_t *wait, smcr_finder_facts_t *facts)
{
    if (!wait->longest)
        return;
    facts->begin = wait->longest->begin_frame;
    facts->end = wait->longest->end_frame;
    facts->when = began_before_capture(wait) ? wait->conn->named_frame : facts->begin;
}

/* Returns the wait of the reader's own host that explains why its program read nothing; all zeros:
 * none does, or the program stopped more than once. */
static smcr_finding_own_wait_t
own_wait_of_reader(const smcr_finder_t *finder, const wait_t *wait)
{
    if (!has_slow_reader(wait) || !is_one_stop(wait))
        return (smcr_finding_own_wait_t){0};
    return smcr_finding_wait_own(finder, wait->conn,
                                 smcr_finding_wait_address(finder, wait->conn, wait->to_server),
                                 wait->stop);
}

/* Makes the finding of a direction that waited long. `count`: number of directions that waited.
 * Only a slow reader makes it a finding of its own kind; a wait that no user feels has a lower
 * rank. The finding costs the time of the wait, so a longer wait comes before. Time in which the
 * reader's host itself waited on another connection is no part of the cost: another finding has
 * that wait. */
static void
add_full_buffer(smcr_finder_t *finder, wait_t wait, uint32_t count)
{
    wmem_allocator_t *scope = finder->scope;
    smcr_finding_own_wait_t own = own_wait_of_reader(finder, &wait);
    smcr_finder_facts_t facts = {
        .kind = SMCR_FIGURE_FOUND_BUFFER_FULL,
        .count = count,
        .frames = smcr_finder_frames(finder),
        .filter = "smcr.window.full || smcr.window.writer_blocked",
        .rank = is_felt(&wait) ? 0 : SMCR_FINDING_BY_SHORT_WAIT,
        .cost = wait.full_time - MIN(wait.full_time, own.overlap)};

    smcr_finding_wait_add(facts.frames, wait.conn, wait.to_server, SMCR_FIGURE_WAIT_SPACE);
    smcr_finding_wait_add(facts.frames, wait.conn, wait.to_server, SMCR_FIGURE_WAIT_READER);
    add_worst_time(&wait, &facts);
    if (has_slow_reader(&wait))
        facts.kind = SMCR_FIGURE_FOUND_SLOW_READER;
    smcr_finder_add_as(finder, severity_of_wait(&wait), &facts,
                       "%s: %s, the writer waited %s%s%s (%s of the time) for space%s%s%s%s",
                       blame_text(finder, &wait),
                       smcr_words_on_direction(scope, wait.conn, wait.to_server),
                       may_be_much_longer(&wait) || began_before_capture(&wait) ? "at least " : "",
                       smcr_words_duration(scope, wait.full_time),
                       has_other_waits(finder, &wait) ? " in all" : "",
                       smcr_words_share(scope, wait.full_time, wait.conn_time),
                       smcr_finding_wait_buffer_text(finder, wait.conn, wait.to_server),
                       cause_text(finder, &wait), smcr_finding_wait_own_text(finder, &own),
                       smcr_finding_wait_more(finder, count));
}

/* Finding: receive buffer full, or slow reader. The writer may only write as many bytes as the
 * reader's receive buffer has free space (RFC 7609, 4.5.1). Then the writer waits. The finding is
 * made if a direction waited long (waits_long()), and describes the worst one (is_worse()). Short
 * waits make no finding: they are part of normal flow control. Programs of other hosts or roles
 * that read slowly, too, have findings of their own, SMCR_FINDING_PROGRAMS_MOST in all. */
static void
find_full_buffer(smcr_finder_t *finder)
{
    wait_t told[SMCR_FINDING_PROGRAMS_MOST];

    for (unsigned i = 0; i < SMCR_FINDING_PROGRAMS_MOST; i++) {
        uint32_t count = 0;
        told[i] = find_worst_wait(finder, told, i, &count);
        bool is_other = has_slow_reader(&told[i]) && is_felt(&told[i]);
        if (!count || (i > 0 && !is_other))
            return;
        add_full_buffer(finder, told[i], count);
    }
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
 * s". "longest known step" if the end of the setup is not captured: a later step may be longer.
 * If two steps took equally long, the later step is named. If LLC of the first contact took
 * longest, the text also names the slowest exchange of LLC messages. If a step over TCP took
 * longest, it has the number of segments that TCP retransmitted. */
static const char *
longest_step(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    if (conn->outcome == SMCR_FIGURE_OUTCOME_FALLBACK)
        return smcr_finding_step_before_fallback(finder, conn);
    const smcr_entry_conn_setup_t *setup = &conn->setup;
    const struct {
        uint64_t time;    /* time of the step, nanoseconds; 0: not known */
        const char *name; /* the step */
    } steps[] = {{smcr_figure_or_zero(setup->llc_s), "LLC of the first contact"},
                 {smcr_figure_or_zero(setup->confirm_s), "from the CLC Accept to the Confirm"},
                 {smcr_figure_or_zero(setup->accept_s), "from the CLC Proposal to the Accept"},
                 {smcr_figure_or_zero(setup->tcp_s), "from the SYN to the CLC Proposal"}};
    uint64_t all = conn->setup_s == SMCR_FIGURE_UNKNOWN ? setup->most_s : conn->setup_s;
    uint64_t known = 0;
    unsigned longest = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(steps); i++) {
        known += steps[i].time;
        if (steps[i].time > steps[longest].time)
            longest = i;
    }
    /* an unknown step may have taken all of the remaining time, which may be SMCR_FIGURE_UNKNOWN */
    bool is_longest = steps[longest].time + known >= all;
    if (!is_longest && conn->setup_s != SMCR_FIGURE_UNKNOWN)
        return "longest step not known";
    return wmem_strdup_printf(finder->scope, "longest %sstep: %s, %s%s",
                              is_longest ? "" : "known ", steps[longest].name,
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
 * data. If this time is not known, returns the time that the setup took at least: its lower bound,
 * or the sum of the steps from the SYN on, up to the first step that is not known. For a fallback:
 * the time from the SYN to the fallback. */
static uint64_t
setup_time(const smcr_entry_connection_t *conn)
{
    if (conn->outcome == SMCR_FIGURE_OUTCOME_FALLBACK)
        return smcr_finding_fallback_time(conn);
    const uint64_t steps[] = {conn->setup.tcp_s, conn->setup.accept_s, conn->setup.confirm_s};
    uint64_t sum = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(steps) && steps[i] != SMCR_FIGURE_UNKNOWN; i++)
        sum += steps[i];
    return conn->setup_s == SMCR_FIGURE_UNKNOWN
               ? MAX(sum, smcr_figure_or_zero(conn->setup.least_s))
               : conn->setup_s;
}

/* Whether the connection goes over SMC-R or has fallen back, and took SMCR_FINDING_SLOW_SETUP or
 * more to set up. `by_path`: true: only if the path explains this time; false: only if it does
 * not. */
static bool
has_slow_setup(const smcr_entry_connection_t *conn, bool by_path)
{
    uint64_t setup = setup_time(conn);

    bool has_setup = conn->outcome == SMCR_FIGURE_OUTCOME_SMCR ||
                     conn->outcome == SMCR_FIGURE_OUTCOME_FALLBACK;

    return has_setup && setup >= SMCR_FINDING_SLOW_SETUP &&
           is_setup_slow_by_path(setup, smcr_figure_or_zero(conn->setup.tcp_s)) == by_path;
}

/* Returns "took 5.36 s to set up SMC-R", or the same of a fallback to TCP. "took at least" if only
 * a lower bound is known. */
static const char *
setup_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    bool falls_back = conn->outcome == SMCR_FIGURE_OUTCOME_FALLBACK;
    bool is_bound = !falls_back && conn->setup_s == SMCR_FIGURE_UNKNOWN;

    return wmem_strdup_printf(finder->scope, "took %s%s to %s", is_bound ? "at least " : "",
                              smcr_words_duration(finder->scope, setup_time(conn)),
                              falls_back ? "fall back to TCP" : "set up SMC-R");
}

/* Returns "its TCP handshake took 507 ms". The cause is a slow path or a slow host. */
static const char *
slow_handshake_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    return wmem_strdup_printf(finder->scope, "its TCP handshake took %s",
                              smcr_words_duration(finder->scope, conn->setup.tcp_s));
}

/* Finding: slow setup. A connection needed half a second or more from the SYN until it could carry
 * data over SMC-R, or until it fell back to TCP. Below LONG_SETUP the finding is for information,
 * and so it is if the path explains the time (`by_path`: is_setup_slow_by_path()). It names the
 * connection with the longest setup. Two kinds of connections have no setup time and are not
 * judged: connections that stayed on TCP, and connections whose beginning was not captured. Returns
 * whether there is a finding. */
static bool
find_slow_setup(smcr_finder_t *finder, bool by_path)
{
    const smcr_entry_connection_t *worst_conn = NULL;
    const char *filter = "";
    uint32_t count = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!has_slow_setup(conn, by_path))
            continue;
        filter = smcr_finder_either(finder, filter,
                                    smcr_words_connection_filter(finder->scope, conn), count++);
        if (!worst_conn || setup_time(conn) > setup_time(worst_conn))
            worst_conn = conn;
    }
    if (!count)
        return false;
    uint64_t worst = setup_time(worst_conn);
    bool is_grave = worst >= LONG_SETUP && !by_path;
    smcr_finder_add_as(finder, is_grave ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_SLOW_SETUP,
                                           .count = count,
                                           .when = worst_conn->first_frame,
                                           .filter = filter ? filter : "smcr",
                                           .cost = worst},
                    "%s %s; %s%s", smcr_words_connection(finder->scope, worst_conn),
                    setup_text(finder, worst_conn),
                    by_path ? slow_handshake_text(finder, worst_conn)
                            : longest_step(finder, worst_conn),
                    count > 1 ? wmem_strdup_printf(finder->scope, "; the slowest of %u slow setups",
                                                   count)
                              : "");
    return true;
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
        smcr_words_others(finder->scope, count - 1, "direction"),
        smcr_words_things(finder->scope, found->writes, "WRITE"),
        smcr_words_bytes(finder->scope, found->bytes / found->writes));
}

void
smcr_finding_on_times(smcr_finder_t *finder)
{
    find_full_buffer(finder);
    if (!find_slow_setup(finder, false))
        find_slow_setup(finder, true);
    find_small_writes(finder);
}
