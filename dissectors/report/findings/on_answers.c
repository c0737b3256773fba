/* Findings about programs that do not answer, or do not read: slow answers, programs that hang when
 * the capture ends, clients that give up, and orderly closes of programs that had not read all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */


#include "subjects.h"

#include "report/findings/finder/causes.h"
#include "report/findings/finder/waits.h"
#include "report/words/words.h"
#include "timeline/timeline.h"

#define ENOUGH_ANSWERS 4 /* minimum number of answers whose mean time counts as usual */

/* ---- slow answers ---- */

/* Returns the wait for the server's slowest answer. Returns NULL in three cases: 1. there is none,
 * or it is shorter than SMCR_FINDING_LONG_WAIT, so no user notices it; 2. it is not known which end
 * is the client; 3. the server also writes without a request, as a server that publishes messages
 * does: the data that end the wait may be no answer. Waits for the client are not judged: a client
 * may pause between requests. */
static const smcr_entry_conn_wait_t *
find_long_answer(const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_wait_t *wait =
        smcr_finding_wait_longest(conn, true, SMCR_FIGURE_WAIT_ANSWER);
    bool is_long = wait && wait->lasted_s >= SMCR_FINDING_LONG_WAIT;

    if (smcr_figure_or_zero(conn->server_to_client.unasked_writes))
        return NULL;
    return is_long && smcr_words_knows_roles(conn) ? wait : NULL;
}

/* The slow answers of one server program, in all its connections. */
typedef struct {
    uint64_t conns;   /* number of connections with a slow answer */
    uint64_t answers; /* number of slow answers */
    uint64_t time;    /* sum of the times of these answers, nanoseconds */
    uint64_t cost;    /* cost of the connection whose answers cost most (cost_of_answers()),
                         nanoseconds */
    uint64_t covered; /* time in which at least one client waited for the longest slow answer of its
                         connection, nanoseconds */
    uint64_t together; /* sum of the times of these longest slow answers, nanoseconds */
    uint64_t usual;    /* mean time of the program's other answers, nanoseconds; 0: there are fewer
                          than ENOUGH_ANSWERS */
    const smcr_entry_connection_t *worst;  /* connection that the finding names: see leads() */
    const smcr_entry_conn_wait_t *longest; /* its longest answer */
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

/* Returns how much of the time of the connection's slow answers counts as cost, nanoseconds. If
 * the longest one took ten times as long as the usual ones, the whole time counts: the program
 * was stopped, or waited for something. Otherwise the request may have asked for long work,
 * which is no fault: a twentieth of the time counts. */
static uint64_t
cost_of_answers(const smcr_entry_conn_direction_t *asked, uint64_t longest)
{
    uint64_t usual = usual_answer(asked), time = smcr_figure_or_zero(asked->slow_answers_s);

    return usual && longest >= 10 * usual ? time : time / 20;
}

/* Whether one program may be the server of both connections: the server has the same address, or
 * neither address is known, and it has the same port unless a port is not known. */
static bool
have_same_server(const smcr_finder_t *finder, const smcr_entry_connection_t *one,
                 const smcr_entry_connection_t *other)
{
    bool are_ports_known = one->server.port != SMCR_FIGURE_UNKNOWN &&
                           other->server.port != SMCR_FIGURE_UNKNOWN;

    return (!are_ports_known || one->server.port == other->server.port) &&
           g_strcmp0(smcr_finding_wait_address(finder, one, true),
                     smcr_finding_wait_address(finder, other, true)) == 0;
}

/* Whether one of the `count` findings made so far (`told`) is about the program that is the server
 * of `conn`. */
static bool
was_server_told(const smcr_finder_t *finder, const slow_answers_t *told, unsigned count,
                const smcr_entry_connection_t *conn)
{
    for (unsigned i = 0; i < count; i++)
        if (have_same_server(finder, told[i].worst, conn))
            return true;
    return false;
}

/* Returns the connection with the slowest answer; NULL: there is none. Servers that have one of the
 * `told_count` findings made so far (`told`) do not count. */
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

/* Whether the wait is a better example than the wait `than`: it ended earlier, and lasted as long,
 * within 0.5 %. If several clients asked at the same time, the request that is answered first may
 * be the one that has delayed the others. `most`: time of the longest wait, nanoseconds. */
static bool
leads(const smcr_entry_conn_wait_t *wait, const smcr_entry_conn_wait_t *than, uint64_t most)
{
    return wait->lasted_s * 200 >= most * 199 && wait->end_frame.frame < than->end_frame.frame;
}

/* Returns the mean time of the answers of the server's program of `worst` that were not slow,
 * nanoseconds; 0: there are fewer than ENOUGH_ANSWERS. */
static uint64_t
usual_answer_of_program(const smcr_finder_t *finder, const smcr_entry_connection_t *worst)
{
    uint64_t count = 0, sum = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_conn_direction_t *asked = &conn->client_to_server;
        const smcr_distribution_t *all = smcr_distribution_get(asked->answer_time_s);
        if (!all->count || !have_same_server(finder, conn, worst))
            continue;
        count += all->count - smcr_figure_or_zero(asked->slow_answers);
        sum += all->sum - smcr_figure_or_zero(asked->slow_answers_s);
    }
    return count >= ENOUGH_ANSWERS ? sum / count : 0;
}

/* Returns the slow answers of the server's program of `worst`, the connection with the longest
 * answer of this program. */
static slow_answers_t
sum_slow_answers(const smcr_finder_t *finder, const smcr_entry_connection_t *worst)
{
    slow_answers_t sum = {.filter = "",
                          .frames = smcr_finder_frames(finder),
                          .usual = usual_answer_of_program(finder, worst),
                          .worst = worst,
                          .longest = find_long_answer(worst)};
    uint64_t most = sum.longest->lasted_s;
    smcr_interval_union_t waits = {0};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_conn_wait_t *wait = find_long_answer(conn);
        if (!wait || !have_same_server(finder, conn, worst))
            continue;
        sum.filter = smcr_finder_either(
            finder, sum.filter, smcr_words_connection_filter(finder->scope, conn), sum.conns++);
        smcr_finding_wait_add(sum.frames, conn, true, SMCR_FIGURE_WAIT_ANSWER);
        sum.answers += smcr_figure_or_zero(conn->client_to_server.slow_answers);
        sum.time += smcr_figure_or_zero(conn->client_to_server.slow_answers_s);
        uint64_t cost = cost_of_answers(&conn->client_to_server, wait->lasted_s);
        sum.cost = MAX(sum.cost, cost);
        sum.together += wait->lasted_s;
        smcr_interval_union_add(&waits, finder->scope,
                                (smcr_interval_t){wait->begin_frame, wait->end_frame});
        if (leads(wait, sum.longest, most)) {
            sum.worst = conn;
            sum.longest = wait;
        }
    }
    sum.covered = smcr_interval_union_length(&waits);
    return sum;
}

/* Returns " took 6.17 s together"; or " overlap: 2.03 s in all" if several clients waited at the
 * same time: then the sum of their waits counts the same time more than once. Only the longest wait
 * of each connection has a known place in time. So with several waits on one connection the text is
 * " overlap: at least 2.03 s in all". */
static const char *
all_time_text(const smcr_finder_t *finder, const slow_answers_t *sum)
{
    bool is_one_each = sum->answers == sum->conns;

    if (sum->covered * 10 < sum->together * 9)
        return wmem_strdup_printf(finder->scope, " overlap: %s%s in all",
                                  is_one_each ? "" : "at least ",
                                  smcr_words_duration(finder->scope, sum->covered));
    return wmem_strdup_printf(finder->scope, " took %s together",
                              smcr_words_duration(finder->scope, sum->time));
}

/* Returns "; 2 slow answers, this one included, on 2 connections took 6.17 s together; the other
 * answers of this program took 34 ms on average". Parts that do not apply are left out. */
static const char *
other_answers_text(const smcr_finder_t *finder, const slow_answers_t *sum)
{
    wmem_strbuf_t *text = wmem_strbuf_new(finder->scope, "");

    if (sum->answers > 1)
        wmem_strbuf_append_printf(text, "; %" PRIu64 " slow answers, this one included,",
                                  sum->answers);
    if (sum->conns > 1)
        wmem_strbuf_append_printf(text, " on %" PRIu64 " connections", sum->conns);
    if (sum->answers > 1)
        wmem_strbuf_append(text, all_time_text(finder, sum));
    if (sum->usual && sum->longest->lasted_s >= 10 * sum->usual)
        wmem_strbuf_append_printf(text, "; the other answers of this program took %s on average",
                                  smcr_words_duration(finder->scope, sum->usual));
    return wmem_strbuf_finalize(text);
}

/* Makes the finding of a server's program with slow answers. Time in which the host itself waited
 * on another connection is no part of the cost: another finding has that wait. */
static void
add_slow_answer(smcr_finder_t *finder, const slow_answers_t *sum)
{
    smcr_finding_own_wait_t own =
        smcr_finding_wait_own(finder, sum->worst,
                              smcr_finding_wait_address(finder, sum->worst, true), sum->longest);

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_SLOW_ANSWER,
                                           .count = sum->conns,
                                           .when = sum->longest->end_frame,
                                           .begin = sum->longest->begin_frame,
                                           .end = sum->longest->end_frame,
                                           .frames = sum->frames,
                                           .filter = sum->filter ? sum->filter : "smcr",
                                           .cost = sum->cost - MIN(sum->cost, own.overlap)},
                    "The program of %s took %s to answer a request %s (asked in frame %" PRIu32
                    ", answered in frame %" PRIu32 ")%s%s",
                    smcr_finding_wait_program(finder, sum->worst, true),
                    smcr_words_duration(finder->scope, sum->longest->lasted_s),
                    smcr_words_on_direction(finder->scope, sum->worst, true),
                    sum->longest->request_frame.frame, sum->longest->end_frame.frame,
                    smcr_finding_wait_own_text(finder, &own), other_answers_text(finder, sum));
}

/* Finding: slow answer. The server's host had acknowledged a request, and the server's first data
 * came SMCR_FINDING_LONG_WAIT or more after the acknowledgement. The server's program took this
 * time: network and buffers have no part in it. The finding names the longest answer, and the
 * frames of the request and of the answer. Each program has a finding of its own,
 * SMCR_FINDING_PROGRAMS_MOST in all. */
static void
find_slow_answers(smcr_finder_t *finder)
{
    slow_answers_t told[SMCR_FINDING_PROGRAMS_MOST];

    for (unsigned i = 0; i < SMCR_FINDING_PROGRAMS_MOST; i++) {
        const smcr_entry_connection_t *worst = find_slowest_server(finder, told, i);
        if (!worst)
            return;
        told[i] = sum_slow_answers(finder, worst);
        add_slow_answer(finder, &told[i]);
    }
}

/* The pauses of one host, on connections of which it is not known who is the client. A pause is a
 * long wait of the host's peer for its data. All zeros: there is none. */
typedef struct {
    const smcr_entry_connection_t *conn; /* the connection with the longest pause */
    const smcr_entry_conn_wait_t *wait;  /* the longest pause; NULL: none */
    bool to_server;                      /* `server` of the entry is the end that wrote nothing */
    uint64_t usual;                      /* mean time of the other answers, nanoseconds; 0: they are
                                            too few, or took nearly as long */
    uint64_t conns;                      /* number of connections with such a pause */
    uint64_t pauses;                     /* number of pauses */
    uint64_t time;                       /* sum of their times, nanoseconds */
} idle_end_t;

/* Whether the end that reads the direction paused for half of the connection's time or more, and
 * its peer never did. */
static bool
paused_alone(const smcr_entry_connection_t *conn, bool to_server)
{
    uint64_t lasted =
        smcr_figure_or_zero(smcr_figure_time_between(conn->first_frame, conn->last_frame));
    uint64_t time = smcr_figure_or_zero(smcr_figure_direction(conn, to_server)->slow_answers_s);
    const smcr_entry_conn_direction_t *back = smcr_figure_direction(conn, !to_server);

    return time * 2 >= lasted && !smcr_figure_or_zero(back->slow_answers);
}

/* Returns the mean time of the other answers, if the wait is ten times as long; else 0. */
static uint64_t
exceeded_answer(const smcr_entry_conn_direction_t *asked, const smcr_entry_conn_wait_t *wait)
{
    uint64_t usual = usual_answer(asked);

    return wait->lasted_s >= 10 * usual ? usual : 0;
}

/* Returns the pauses of the end that reads the direction. `wait` is NULL in each of three cases:
 * 1. the end also writes unasked;
 * 2. it has not paused for SMCR_FINDING_LONG_WAIT;
 * 3. its longest pause is shorter than ten of its usual answers, and its pauses last less than half
 *    of the time (paused_alone()). */
static idle_end_t
pause_of(const smcr_entry_connection_t *conn, bool to_server)
{
    const smcr_entry_conn_direction_t *asked = smcr_figure_direction(conn, to_server);
    const smcr_entry_conn_wait_t *wait =
        smcr_finding_wait_longest(conn, to_server, SMCR_FIGURE_WAIT_ANSWER);
    bool is_asked = !smcr_figure_or_zero(smcr_figure_direction(conn, !to_server)->unasked_writes);
    uint64_t usual = wait ? exceeded_answer(asked, wait) : 0;

    if (!wait || wait->lasted_s < SMCR_FINDING_LONG_WAIT || !is_asked)
        return (idle_end_t){0};
    if (!usual && !paused_alone(conn, to_server))
        return (idle_end_t){0};
    return (idle_end_t){conn, wait, to_server, usual, 1,
                        smcr_figure_or_zero(asked->slow_answers),
                        smcr_figure_or_zero(asked->slow_answers_s)};
}

/* A function that looks at the pauses of one end of a connection, and adds them to `all`. */
typedef void add_pause_t(const smcr_finder_t *finder, const idle_end_t *pause, idle_end_t *all);

/* Takes the pause if it is longer than the longest one so far. An add_pause_t. */
static void
take_longer(const smcr_finder_t *finder, const idle_end_t *pause, idle_end_t *all)
{
    (void)finder;
    if (!all->wait || pause->wait->lasted_s > all->wait->lasted_s)
        *all = *pause;
}

/* Adds the pauses of another connection, if the same host paused. An add_pause_t. */
static void
add_of_host(const smcr_finder_t *finder, const idle_end_t *pause, idle_end_t *all)
{
    const char *host = smcr_finding_wait_address(finder, all->conn, all->to_server);

    if (pause->conn == all->conn ||
        g_strcmp0(host, smcr_finding_wait_address(finder, pause->conn, pause->to_server)) != 0)
        return;
    all->conns += pause->conns;
    all->pauses += pause->pauses;
    all->time += pause->time;
}

/* Calls `add` for all pauses on connections of which it is not known who is the client. */
static void
each_pause(const smcr_finder_t *finder, add_pause_t *add, idle_end_t *all)
{
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        for (int to_server = 1; to_server >= 0 && !smcr_words_knows_roles(conn); to_server--) {
            const idle_end_t pause = pause_of(conn, to_server);
            if (pause.wait)
                add(finder, &pause, all);
        }
    }
}

/* Returns "; 15 such pauses on 3 connections took 11.9 s together"; "" for a single pause. */
static const char *
pauses_text(const smcr_finder_t *finder, const idle_end_t *idle)
{
    const char *conns = "";

    if (idle->pauses < 2)
        return "";
    if (idle->conns > 1)
        conns = wmem_strdup_printf(finder->scope, " on %" PRIu64 " connections", idle->conns);
    return wmem_strdup_printf(finder->scope, "; %" PRIu64 " such pauses%s took %s together",
                              idle->pauses, conns,
                              smcr_words_duration(finder->scope, idle->time));
}

/* Returns " (otherwise 3.5 ms on average)"; "" if the other answers are too few, or took nearly as
 * long. */
static const char *
usual_text(const smcr_finder_t *finder, const idle_end_t *idle)
{
    return idle->usual ? wmem_strdup_printf(finder->scope, " (otherwise %s on average)",
                                            smcr_words_duration(finder->scope, idle->usual))
                       : "";
}

/* Finding: an end of a connection wrote nothing for long after data of its peer, and it is not
 * known who is the client: as a server, its program was slow; as a client, it paused. */
static void
find_long_pause(smcr_finder_t *finder)
{
    wmem_allocator_t *scope = finder->scope;
    idle_end_t idle = {0};

    each_pause(finder, take_longer, &idle);
    if (!idle.wait)
        return;
    each_pause(finder, add_of_host, &idle);
    smcr_finder_add_as(finder, SMCR_FIGURE_INFO,
                       &(smcr_finder_facts_t){
                           .kind = SMCR_FIGURE_FOUND_SLOW_ANSWER,
                           .count = idle.conns,
                           .when = idle.wait->end_frame,
                           .begin = idle.wait->begin_frame,
                           .end = idle.wait->end_frame,
                           .frames = SMCR_FINDER_FRAMES(finder, idle.wait->begin_frame,
                                                        idle.wait->end_frame),
                           .filter = smcr_words_connection_filter(scope, idle.conn)},
                       "%s wrote nothing for %s after data of its peer%s: a slow server, or a "
                       "client that paused; %s, frames %" PRIu32 " to %" PRIu32 "%s",
                       smcr_finding_wait_program(finder, idle.conn, idle.to_server),
                       smcr_words_duration(scope, idle.wait->lasted_s), usual_text(finder, &idle),
                       smcr_words_connection(scope, idle.conn), idle.wait->begin_frame.frame,
                       idle.wait->end_frame.frame, pauses_text(finder, &idle));
}

/* ---- data that are announced late ---- */

/* Data that were announced late. All zeros: there are none. */
typedef struct {
    const smcr_entry_connection_t *conn; /* connection with the longest time until the message */
    const smcr_entry_conn_wait_t *wait;  /* this time, from the WRITE to the message; NULL: none */
    bool to_server;                      /* the client wrote the data */
    uint32_t count;                      /* number of directions with such data */
} late_data_t;

/* Adds the data of one direction, if they were announced SMCR_FINDING_LONG_WAIT or more after the
 * WRITE. */
static void
add_late_data(late_data_t *late, const smcr_entry_connection_t *conn, bool to_server)
{
    const smcr_entry_conn_wait_t *wait =
        smcr_finding_wait_longest(conn, to_server, SMCR_FIGURE_WAIT_MESSAGE);

    if (!wait || wait->lasted_s < SMCR_FINDING_LONG_WAIT)
        return;
    if (!late->count++ || wait->lasted_s > late->wait->lasted_s)
        *late = (late_data_t){conn, wait, to_server, late->count};
}

/* Whether packets of any flow are captured out of order: then a WRITE may have been sent long after
 * the packets that are captured after it. */
static bool
has_reordered_packets(const smcr_entry_report_t *report)
{
    SMCR_FIGURE_EACH(rdma, flow, report->rdma_flows)
        if (flow->recovery && smcr_figure_or_zero(flow->recovery->reordered))
            return true;
    return false;
}

/* Finding: a host wrote data, and announced them long after. Until then the peer's program cannot
 * read them, so the peer is not to blame for the time. The host may have had no room for the
 * message in its send queue, or the path held the message. The finding names the longest time. It
 * is left out if packets are captured out of order. */
static void
find_late_message(smcr_finder_t *finder)
{
    wmem_allocator_t *scope = finder->scope;
    late_data_t late = {0};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections)
        for (int to_server = 1; to_server >= 0; to_server--)
            add_late_data(&late, conn, to_server);
    if (!late.count || has_reordered_packets(finder->report))
        return;
    const char *more =
        late.count > 1 ? wmem_strdup_printf(scope, "; also on %s",
                                            smcr_words_things(scope, late.count - 1,
                                                              "more direction"))
                       : "";
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){
                        .kind = SMCR_FIGURE_FOUND_LATE_MESSAGE,
                        .count = late.count,
                        .when = late.wait->end_frame,
                        .begin = late.wait->begin_frame,
                        .end = late.wait->end_frame,
                        .frames = SMCR_FINDER_FRAMES(finder, late.wait->begin_frame,
                                                     late.wait->end_frame),
                        .filter = smcr_words_connection_filter(scope, late.conn),
                        .cost = late.wait->lasted_s},
                    "%s announced data of %s %s after the WRITE (frames %" PRIu32 " to %" PRIu32
                    "): its host, or the path upstream of the capture point, held the CDC "
                    "message%s",
                    smcr_finding_wait_program(finder, late.conn, !late.to_server),
                    smcr_words_direction(scope, late.conn, late.to_server),
                    smcr_words_duration(scope, late.wait->lasted_s), late.wait->begin_frame.frame,
                    late.wait->end_frame.frame, more);
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

/* Returns the open wait of this kind in one direction of a connection. All zeros: there is none,
 * the connection has ended, or the time of the end of the capture is not known. */
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

/* Whether an answer that is missing shows that the server's program hangs. Three conditions hold:
 * 1. The roles are known, and the server's program never writes unasked: so the client waits for an
 *    answer, and not for a message that may come at any time.
 * 2. The program has given ENOUGH_ANSWERS or more answers on this connection. The slowest one took
 *    a tenth of the proven wait at most.
 * 3. Packets of its host on the link prove the wait for SMCR_FINDING_LONG_WAIT or longer: so its
 *    host and the path work. */
static bool
is_overdue(const open_wait_t *open)
{
    const smcr_entry_connection_t *conn = open->conn;
    const smcr_distribution_t *answers =
        smcr_distribution_get(conn->client_to_server.answer_time_s);
    bool is_asked = open->to_server && smcr_words_knows_roles(conn) &&
                    !smcr_figure_or_zero(conn->server_to_client.unasked_writes);

    return is_asked && answers->count >= ENOUGH_ANSWERS &&
           smcr_finding_wait_proven(open->wait) >= MAX(SMCR_FINDING_LONG_WAIT, 10 * answers->max);
}

/* Whether the wait says that a program hangs: it lasts SMCR_FINDING_LONG_WAIT or more, and is a
 * wait for the reader's program (SMCR_FIGURE_WAIT_READER) or for an overdue answer. */
static bool
is_hang(const open_wait_t *open)
{
    if (!open->wait || open->lasted < SMCR_FINDING_LONG_WAIT)
        return false;
    return open->wait->kind == SMCR_FIGURE_WAIT_READER || is_overdue(open);
}

/* Called by the findings about silence (on_capture.c), so that a program that hangs has one finding
 * only. */
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
        .begin = open->wait->begin_frame,
        .end = open->wait->proven_frame,
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
    return smcr_finding_wait_more(finder, (uint32_t)open->count);
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
    bool is_proven = smcr_finding_wait_proven(open.wait) >= SMCR_FINDING_LONG_WAIT;
    uint64_t before = smcr_figure_or_zero(
        smcr_figure_time_between(open.conn->first_frame, open.wait->begin_frame));
    bool is_most = open.lasted >= before;
    smcr_finder_facts_t facts = facts_of_hang(finder, &open, is_proven
                                                                 ? SMCR_FIGURE_FOUND_SLOW_READER
                                                                 : SMCR_FIGURE_FOUND_BUFFER_FULL);
    const char *direction = smcr_words_direction(scope, open.conn, open.to_server);
    const char *buffer = smcr_finding_wait_buffer_text(finder, open.conn, open.to_server);

    if (is_proven)
        smcr_finder_add_as(finder, is_most ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE, &facts,
                           "The program of %s has read nothing for %s, to the last packet of its "
                           "host (frame %" PRIu32 "): the writer of %s waits for space%s%s",
                           smcr_finding_wait_program(finder, open.conn, open.to_server),
                           smcr_words_duration(scope, smcr_finding_wait_proven(open.wait)),
                           open.wait->proven_frame.frame, direction, buffer,
                           other_hangs_text(finder, &open));
    else
        smcr_finder_add_as(finder, SMCR_FIGURE_NOTE, &facts,
                           "The writer of %s waits for space%s when the capture ends, %s "
                           "after it was full; "
                           "%s sends no later packet on the link%s",
                           direction, buffer,
                           smcr_words_duration(scope, open.lasted),
                           smcr_finding_wait_program(finder, open.conn, open.to_server),
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
                       smcr_finding_wait_program(finder, open.conn, true),
                       smcr_words_direction(scope, open.conn, true),
                       smcr_words_duration(scope, smcr_finding_wait_proven(open.wait)),
                       open.wait->proven_frame.frame,
                       smcr_words_duration(scope, smcr_finding_wait_mean(answers)), others);
}

/* ---- clients that give up ---- */

/* Returns the wait of a client for an answer that was open when the connection closed. NULL: there
 * is none, the roles are not known, or the server also writes unasked, so that no answer may be
 * due. */
static const smcr_entry_conn_open_wait_t *
given_up_wait(const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_open_wait_t *wait = conn->client_to_server.open_wait;
    bool is_asked = smcr_words_knows_roles(conn) &&
                    !smcr_figure_or_zero(conn->server_to_client.unasked_writes);

    if (!wait || wait->kind != SMCR_FIGURE_WAIT_ANSWER)
        return NULL;
    return is_asked && conn->close != SMCR_FIGURE_CLOSE_OPEN ? wait : NULL;
}

/* The text is the end of a sentence, so it begins with "; ". */
const char *
smcr_finding_given_up_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_open_wait_t *wait = given_up_wait(conn);

    if (!wait)
        return "";
    return wmem_strdup_printf(finder->scope,
                              "; before that, the program of %s had not answered for %s (since "
                              "frame %" PRIu32 ")",
                              smcr_finding_wait_program(finder, conn, true),
                              smcr_words_duration(finder->scope, smcr_finding_wait_proven(wait)),
                              wait->begin_frame.frame);
}

/* Answers of a server's program. */
typedef struct {
    uint64_t count;   /* number of answers */
    uint64_t sum;     /* sum of their times, nanoseconds */
    uint64_t max;     /* time of the slowest answer, nanoseconds */
    bool is_of_other; /* the answers are those on other connections of the same server */
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
 * connection or, if they are fewer than ENOUGH_ANSWERS and the server's port is known, those on
 * other connections of the server. `max` is never less than the time of an answer on the
 * connection. */
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
    others.max = MAX(others.max, own.max);
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
    return answers.count >= ENOUGH_ANSWERS && smcr_finding_wait_proven(wait) >= 10 * answers.max;
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
        if (!worst || smcr_finding_wait_proven(given_up_wait(conn)) >
                          smcr_finding_wait_proven(given_up_wait(worst)))
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
            .begin = wait->begin_frame,
            .end = wait->proven_frame,
            .frames = SMCR_FINDER_FRAMES(finder, wait->begin_frame, wait->proven_frame),
            .filter = filter ? filter : "smcr",
            .cost = smcr_finding_wait_proven(wait)},
        "The client closed %s (frame %" PRIu32 ")%s; it had answered %s, in %s on average: it "
        "hung, or the last message needs no answer",
        smcr_words_connections(finder->scope, worst, count), wait->proven_frame.frame,
        smcr_finding_given_up_text(finder, worst),
        answers.is_of_other ? "messages on other connections" : "all earlier messages",
        smcr_words_duration(finder->scope, answers.sum / answers.count));
}

/* ---- programs that close without having read all data ---- */

/* Connections that were closed in the same way with unread data. */
typedef struct {
    const smcr_entry_connection_t *first; /* the connection with the lowest index; NULL: none */
    smcr_figure_role_t writer;            /* who wrote the unread data of `first` */
    uint32_t count;                       /* number of connections */
    uint64_t bytes;                       /* unread data of all of them, bytes */
    const char *filter;                   /* display filter of all these connections; NULL: too many
                                             connections for one filter */
    wmem_array_t *frames;                 /* frames of both closes of each connection */
} unread_closes_t;

/* Returns the number of bytes from the writer that the reader's message of its close does not
 * report as read; 0: none, or not known. A message reports all bytes that the program has read so
 * far. Linux closes with an abort if unread data has arrived (smc_close_final() in
 * net/smc/smc_close.c). So after a close without an abort, the unread bytes had not arrived when
 * the reader closed. */
static uint64_t
unread_of(const smcr_entry_connection_t *conn, smcr_figure_role_t writer)
{
    const smcr_entry_conn_end_t *end = conn->end;
    bool is_known = end && end->frame.frame && end->other_frame.frame &&
                    end->is_reported != SMCR_FIGURE_YES;

    if (conn->close != SMCR_FIGURE_CLOSE_NORMAL || !is_known)
        return 0;
    return smcr_figure_or_zero(
        smcr_figure_direction(conn, writer == SMCR_FIGURE_ROLE_CLIENT)->unreported_bytes);
}

/* Adds the unread data of one direction of the connection. `of_first`: data of the end that closed
 * first; else data of its peer. */
static void
add_unread(const smcr_finder_t *finder, unread_closes_t *closes,
           const smcr_entry_connection_t *conn, bool of_first)
{
    smcr_figure_role_t first = conn->end ? conn->end->by : SMCR_FIGURE_ROLE_NONE;
    bool is_client = (first == SMCR_FIGURE_ROLE_CLIENT) == of_first;
    smcr_figure_role_t writer = smcr_figure_role(!is_client);
    uint64_t bytes = first ? unread_of(conn, writer) : 0;

    if (!bytes)
        return;
    if (!closes->first) {
        closes->first = conn;
        closes->writer = writer;
    }
    closes->bytes += bytes;
    closes->filter = smcr_finder_either(finder, closes->filter,
                                        smcr_words_connection_filter(finder->scope, conn),
                                        closes->count++);
    smcr_finder_frames_add(closes->frames, conn->end->frame);
    smcr_finder_frames_add(closes->frames, conn->end->other_frame);
}

/* Returns all connections that were closed with unread data of the end that closed first
 * (`of_first`), or of its peer. */
static unread_closes_t
gather_closes(const smcr_finder_t *finder, bool of_first)
{
    unread_closes_t closes = {.filter = "", .frames = smcr_finder_frames(finder)};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections)
        add_unread(finder, &closes, conn, of_first);
    return closes;
}

/* Returns "6,000 bytes in all from the client". */
static const char *
bytes_text(const smcr_finder_t *finder, const unread_closes_t *closes)
{
    return wmem_strdup_printf(
        finder->scope, "%s%s from %s", smcr_words_bytes(finder->scope, closes->bytes),
        closes->count > 1 ? " in all" : "",
        smcr_words_end(finder->scope, closes->first, closes->writer == SMCR_FIGURE_ROLE_SERVER));
}

/* Returns the facts of a finding about closes with unread data. `when`: the frame to look at.
 * `cost`: nanoseconds, by which the finding is ordered. */
static smcr_finder_facts_t
facts_of_unread_closes(const unread_closes_t *closes, smcr_when_t when, uint64_t cost)
{
    return (smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_UNREAD_CLOSE,
                                 .count = closes->count,
                                 .when = when,
                                 .frames = closes->frames,
                                 .filter = closes->filter ? closes->filter : "smcr",
                                 .cost = cost};
}

/* Finding: a writer closed in order, and its peer closed later without having read all data. The
 * writer's program counts the data as delivered, but the data is lost. Another finding may have the
 * cause: a retransmission, a silence, or a path MTU. So this finding counts as a second of lost
 * time, as a hasty abort does, and findings that cost more time come before it. */
static void
find_lost_data(smcr_finder_t *finder)
{
    unread_closes_t lost = gather_closes(finder, true);
    const smcr_entry_connection_t *conn = lost.first;

    if (!conn)
        return;
    smcr_finder_facts_t facts =
        facts_of_unread_closes(&lost, conn->end->other_frame, SMCR_TIME_SECOND);
    smcr_finder_add_as(finder, SMCR_FIGURE_WARN, &facts,
                       "%s: closed without an abort, but %s not reported as read when %s closed%s",
                       smcr_words_connections(finder->scope, conn, lost.count),
                       bytes_text(finder, &lost),
                       smcr_words_end(finder->scope, conn, lost.writer == SMCR_FIGURE_ROLE_CLIENT),
                       smcr_finding_flow_failed_text(finder, conn, conn->end->frame.frame));
}

/* Finding: an end closed first, and did not wait for data that its peer was sending. If the server
 * closed, a client's request got no answer. If the client closed, it needed no more data. */
static void
find_early_closes(smcr_finder_t *finder)
{
    unread_closes_t early = gather_closes(finder, false);
    const smcr_entry_connection_t *conn = early.first;

    if (!conn)
        return;
    smcr_finder_facts_t facts = facts_of_unread_closes(&early, conn->end->frame, 0);
    bool is_request = early.writer == SMCR_FIGURE_ROLE_CLIENT && smcr_words_knows_roles(conn);
    smcr_finder_add_as(finder, is_request ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO, &facts,
                       "%s closed %s first; %s not reported as read",
                       smcr_words_end(finder->scope, conn,
                                      conn->end->by == SMCR_FIGURE_ROLE_SERVER),
                       smcr_words_connections(finder->scope, conn, early.count),
                       bytes_text(finder, &early));
}

/* Under a display filter, which may hide answers, waits that have not ended are not examined. */
void
smcr_finding_on_answers(smcr_finder_t *finder)
{
    find_lost_data(finder);
    find_early_closes(finder);
    find_slow_answers(finder);
    find_long_pause(finder);
    find_late_message(finder);
    if (smcr_finder_is_filtered(finder))
        return;
    find_hung_reader(finder);
    find_hung_server(finder);
    find_given_up(finder);
}
