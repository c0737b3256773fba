/* Who made whom wait: each rule of report/findings/on_times.c and on_answers.c on waits where it
 * holds, and where it nearly holds.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "scene.h"

#include "report/findings/findings.h"

#define MILLISECOND (SECOND / 1000)

/* The waits of a connection of ten seconds. Times are milliseconds. What is left out is 0, or
 * false. */
typedef struct {
    const char *name;
    uint64_t full;    /* the client waits for space */
    uint64_t reader;  /* the server's program had data to read for so much of it */
    uint64_t lasts;   /* the connection; 0: ten seconds */
    uint64_t longest; /* of the waits for space */
    uint64_t answer;  /* the longest of the server */
    uint64_t usual;   /* each of four other answers of the server; 0: there are none */
    uint64_t stop;    /* the longest time in which the server's program read nothing */
    uint64_t open;    /* its wait to read that is open when the capture ends */
    uint64_t acks;    /* mean time of 16 acknowledgements, the shortest of which takes 2; 0: none */
    bool is_one_slow; /* all of these but one take 2 */
    uint64_t client_answers; /* the longest of the client */
    uint64_t lost;    /* the client waits for retransmissions, of which 20 are after NAKs */
    uint64_t peer_lost; /* the server waits for retransmissions; with `lost` */
    bool is_nameless; /* it is not known which end is the client */
    bool lacks_time;  /* a second connection, whose time is not known */
    bool is_filtered; /* a display filter selects the packets of the report */
    const char *found; /* severity, kind, count of each finding */
    const char *text; /* of the finding on waits, or a part of it; NULL: any */
} wait_case_t;

static const wait_case_t cases[] = {
    /* when a wait is long: 7 % of the connection, or half a second */
    {.name = "half a second", .full = 500, .found = "note buffer_full 1"},
    {.name = "nearly half a second, of ten", .full = 499, .found = ""},
    {.name = "7 %", .full = 70, .lasts = 1000, .found = "note buffer_full 1"},
    {.name = "nearly 7 %", .full = 69, .lasts = 1000, .found = ""},

    /* whose wait it is: the reader's from 60 % on */
    {.name = "60 % of the reader", .full = 1000, .reader = 600, .found = "note slow_reader 1",
     .text = "The program of server 10.0.0.2 reads slowly: on 10.0.0.1:46464 → 10.0.0.2:8080, the "
             "writer waited 1.00 s (10 % of the time) for space (64 KiB buffer)"},
    {.name = "nearly 60 % of the reader", .full = 1000, .reader = 599,
     .found = "note buffer_full 1", .text = "Receive buffer full: "},
    {.name = "a reader, for half of the time", .full = 5000, .reader = 5000,
     .found = "warn slow_reader 1"},
    {.name = "a reader, for nearly half of the time", .full = 4999, .reader = 4999,
     .found = "note slow_reader 1"},
    {.name = "a reader, for half of a tenth of a second", .full = 50, .reader = 50, .lasts = 100,
     .found = "warn slow_reader 1"},
    {.name = "a reader, for most of a short time", .full = 49, .reader = 49, .lasts = 50,
     .found = "note buffer_full 1"},
    {.name = "the path, for most of the time", .full = 9000, .found = "note buffer_full 1"},
    {.name = "a reader whose role is not known", .full = 1000, .reader = 1000,
     .is_nameless = true, .found = "note slow_reader 1",
     .text = "The program of 10.0.0.2 reads slowly: "},

    /* a size is advised where the path took half of the time, and of a longest wait is spoken
     * elsewhere. A buffer of 64 KiB is filled in 1 s, and 1 s is waited: twice as much would do */
    {.name = "half of the time of the path", .full = 1000, .reader = 500, .longest = 300,
     .found = "note buffer_full 1",
     .text = "for space (64 KiB buffer); 128 KiB would suffice (mean ACK time 1.0 ms)"},
    {.name = "nearly half of the time of the path", .full = 1000, .reader = 501, .longest = 300,
     .found = "note buffer_full 1", .text = "for space (64 KiB buffer); longest wait 300 ms"},
    {.name = "one wait is nearly all", .full = 1000, .reader = 1000, .longest = 899,
     .found = "note slow_reader 1", .text = "for space (64 KiB buffer); longest wait 899 ms"},
    {.name = "one wait is 90 %", .full = 1000, .reader = 1000, .longest = 900,
     .found = "note slow_reader 1",
     .text = "(10 % of the time) for space (64 KiB buffer)"},

    /* loss takes the blame from a wait only if it costs as much */
    {.name = "loss that costs less than the wait", .full = 9000, .reader = 9000, .lost = 39,
     .found = "warn slow_reader 1, warn loss 30"},
    {.name = "loss that costs as much as the wait", .full = 5000, .reader = 5000, .lost = 5000,
     .found = "warn loss 30, warn slow_reader 1"},
    {.name = "loss that costs nearly as much", .full = 5000, .reader = 5000, .lost = 4999,
     .found = "warn slow_reader 1, warn loss 30"},
    {.name = "loss for which both sides wait", .full = 5000, .reader = 5000, .lost = 4999,
     .peer_lost = 4999, .found = "warn slow_reader 1, warn loss 30"},
    {.name = "loss for which the peer waits longer", .full = 5000, .reader = 5000, .lost = 39,
     .peer_lost = 5001, .found = "warn loss 30, warn slow_reader 1"},
    {.name = "loss whose cost is not known", .full = 9000, .reader = 9000, .lost = 39,
     .lacks_time = true, .found = "warn slow_reader 1, warn loss 30"},
    {.name = "loss, and a wait that is no warning", .full = 4999, .reader = 4999, .lost = 39,
     .found = "note slow_reader 1, warn loss 30"},
    {.name = "loss of many packets, and a wait that nobody feels", .full = 499, .reader = 499,
     .lasts = 900, .longest = 99, .lost = 39, .found = "warn loss 30, warn slow_reader 1"},
    {.name = "a single stop of the reader", .full = 1000, .reader = 1000, .stop = 500,
     .found = "note slow_reader 1",
     .text = "The program of server 10.0.0.2 read nothing for 500 ms: "},
    {.name = "several stops of the reader", .full = 1001, .reader = 1001, .stop = 500,
     .found = "note slow_reader 1", .text = "The program of server 10.0.0.2 reads slowly: "},
    {.name = "a reader that has not read up to the end", .full = 1000, .reader = 1000, .open = 900,
     .found = "note slow_reader 1", .text = "The program of server 10.0.0.2 has read nothing for "},
    {.name = "the same, of selected packets", .full = 1000, .reader = 1000, .open = 900,
     .is_filtered = true, .found = "note slow_reader 1",
     .text = "The program of server 10.0.0.2 reads slowly: "},
    {.name = "a queue on the path", .full = 1000, .acks = 20, .longest = 300,
     .found = "note buffer_full 1",
     .text = "; acknowledgements took 2.0 ms at best, 20 ms on average: probably a queue on "
             "the path"},
    {.name = "a path that is long", .full = 1000, .acks = 19, .found = "note buffer_full 1",
     .text = "128 KiB would suffice (mean ACK time 19 ms)"},
    {.name = "a host that stood still once", .full = 1000, .acks = 300, .is_one_slow = true,
     .found = "note buffer_full 1", .text = "128 KiB would suffice (mean ACK time 300 ms)"},

    /* the answer of the server's program */
    {.name = "an answer after half a second", .answer = 500, .found = "note slow_answer 1",
     .text = "The program of server 10.0.0.2 took 500 ms to answer a request on "
             "10.0.0.1:46464 → 10.0.0.2:8080"},
    {.name = "an answer after nearly half a second", .answer = 499, .found = ""},
    {.name = "a client that takes its time", .client_answers = 5000, .found = ""},
    {.name = "an answer of an end whose role is not known", .answer = 500, .is_nameless = true,
     .found = ""},
    {.name = "an answer that takes longer than the reader", .full = 1000, .reader = 600,
     .answer = 1001, .usual = 100, .found = "note slow_answer 1, note slow_reader 1"},
    {.name = "an answer that takes as long as the reader", .full = 1000, .reader = 600,
     .answer = 1000, .usual = 100, .found = "note slow_reader 1, note slow_answer 1"},
    {.name = "an answer that is not unusual", .full = 1000, .reader = 600, .answer = 2000,
     .usual = 201, .found = "note slow_reader 1, note slow_answer 1"},
    {.name = "an answer, and nobody knows what is usual", .full = 1000, .reader = 600,
     .answer = 2000, .found = "note slow_reader 1, note slow_answer 1"},
};

static void
lose_packets(scene_t *scene, smcr_entry_connection_t *conn, const wait_case_t *wait)
{
    pair_t flows = pair(scene);

    lose(flows.data);
    flows.answers->nak.psn_sequence = 4;
    notice(scene, "smcr.packet_retransmitted", NOTE, 21);
    conn->client_to_server.time->retransmission_s = wait->lost * MILLISECOND;
    conn->server_to_client.time->retransmission_s = wait->peer_lost * MILLISECOND;
    if (wait->lacks_time)
        connection(scene);
}

static void
answer(scene_t *scene, smcr_entry_connection_t *conn, const wait_case_t *wait)
{
    smcr_entry_conn_direction_t *asked = &conn->client_to_server;
    uint64_t longest = wait->answer * MILLISECOND;

    wait_longest(scene, conn, SMCR_FIGURE_ROLE_CLIENT, SMCR_FIGURE_WAIT_ANSWER, longest);
    asked->slow_answers = wait->answer >= 500;
    asked->slow_answers_s = wait->answer >= 500 ? longest : 0;
    smcr_distribution_add(&asked->answer_time_s, scene->scope, longest);
    for (unsigned i = 0; i < 4 && wait->usual; i++)
        smcr_distribution_add(&asked->answer_time_s, scene->scope, wait->usual * MILLISECOND);
}

static void
acknowledge(scene_t *scene, smcr_entry_connection_t *conn, const wait_case_t *wait)
{
    smcr_distribution_t **acks = &conn->client_to_server.ack_time_s;
    unsigned slow = wait->is_one_slow ? 1 : 15, fast = 16 - slow;

    *acks = NULL;
    for (unsigned i = 0; i < fast; i++)
        smcr_distribution_add_time(acks, scene->scope, 2 * MILLISECOND);
    for (unsigned i = 0; i < slow; i++)
        smcr_distribution_add_time(acks, scene->scope,
                                   (16 * wait->acks - 2 * fast) * MILLISECOND / slow);
}

/* The server's program has not read since so long, as its last packet, at the connection's end,
 * proves. */
static void
leave_open(scene_t *scene, smcr_entry_connection_t *conn, const wait_case_t *wait)
{
    smcr_entry_conn_open_wait_t *open = wmem_new0(scene->scope, smcr_entry_conn_open_wait_t);

    open->kind = SMCR_FIGURE_WAIT_READER;
    open->proven_frame = conn->last_frame;
    open->begin_frame = (smcr_when_t){
        conn->first_frame.frame + 1, conn->last_frame.time - wait->open * MILLISECOND};
    conn->client_to_server.open_wait = open;
    scene->report.capture.last_time = conn->last_frame.time;
    conn->close = SMCR_FIGURE_CLOSE_OPEN;
}

static void
play(scene_t *scene, const wait_case_t *wait)
{
    smcr_entry_connection_t *conn = connection(scene);

    if (wait->lasts)
        conn->last_frame.time = conn->first_frame.time + wait->lasts * MILLISECOND;
    wait_for_space(scene, conn, wait->full * MILLISECOND, wait->reader * MILLISECOND);
    if (wait->longest)
        wait_longest(scene, conn, SMCR_FIGURE_ROLE_CLIENT, SMCR_FIGURE_WAIT_SPACE,
                     wait->longest * MILLISECOND);
    if (wait->answer)
        answer(scene, conn, wait);
    if (wait->stop)
        wait_longest(scene, conn, SMCR_FIGURE_ROLE_CLIENT, SMCR_FIGURE_WAIT_READER,
                     wait->stop * MILLISECOND);
    if (wait->open)
        leave_open(scene, conn, wait);
    if (wait->acks)
        acknowledge(scene, conn, wait);
    if (wait->is_filtered)
        scene->report.capture.filter = "smcr";
    if (wait->client_answers)
        wait_longest(scene, conn, SMCR_FIGURE_ROLE_SERVER, SMCR_FIGURE_WAIT_ANSWER,
                     wait->client_answers * MILLISECOND);
    if (wait->is_nameless) {
        conn->client.addr = NULL;
        conn->ends = "? ↔ 10.0.0.2";
    }
    if (wait->lost)
        lose_packets(scene, conn, wait);
}

/* The sentence of the first finding that is not about loss. */
static const char *
text_of_wait(const scene_t *scene)
{
    SMCR_FIGURE_EACH(finding, found, scene->report.findings)
        if (strcmp(found->kind, "loss") != 0)
            return found->text;
    return "";
}

static void
test_case(gconstpointer data)
{
    const wait_case_t *wait = data;
    scene_t scene;

    scene_open(&scene);
    play(&scene, wait);
    char *found = scene_find(&scene);
    g_assert_cmpstr(found, ==, wait->found);
    if (wait->text && !g_str_has_suffix(text_of_wait(&scene), wait->text) &&
        !g_str_has_prefix(text_of_wait(&scene), wait->text))
        g_error("%s: %s", wait->name, text_of_wait(&scene));
    g_free(found);
    scene_close(&scene);
}

/* Of several directions the worst one is named: that of a slow reader, else the one that waited
 * longer. All are counted. */
static void
test_worst(void)
{
    scene_t scene;

    scene_open(&scene);
    wait_for_space(&scene, connection(&scene), 3 * SECOND, 0);
    smcr_entry_connection_t *slow = connection(&scene);
    slow->client.port = 3;
    wait_for_space(&scene, slow, SECOND, SECOND);
    wait_for_space(&scene, connection(&scene), 2 * SECOND, 0);
    char *found = scene_find(&scene);
    g_assert_cmpstr(found, ==, "note slow_reader 3");
    g_assert_nonnull(strstr(text_of_wait(&scene),
                            ": on 10.0.0.1:3 → 10.0.0.2:8080, the writer waited 1.00 s"));
    g_assert_nonnull(strstr(text_of_wait(&scene),
                            "; 2 more directions with long waits"));
    g_free(found);
    scene_close(&scene);
}

/* A client closed its connection after an open wait of 5 s. The server had answered four times in
 * 100 ms on another connection, and once in `own` ms on this one. Only a wait ten times as long as
 * the slowest of all these answers is unusual. */
static void
test_given_up(void)
{
    static const struct {
        uint64_t own; /* milliseconds */
        const char *found;
    } answers[] = {{500, "info slow_answer 1"}, {501, ""}};

    for (unsigned i = 0; i < G_N_ELEMENTS(answers); i++) {
        scene_t scene;
        scene_open(&scene);
        smcr_entry_connection_t *closed = connection(&scene), *other = connection(&scene);
        for (unsigned n = 0; n < 4; n++)
            smcr_distribution_add(&other->client_to_server.answer_time_s, scene.scope,
                                  100 * MILLISECOND);
        smcr_distribution_add(&closed->client_to_server.answer_time_s, scene.scope,
                              answers[i].own * MILLISECOND);
        leave_open(&scene, closed, &(wait_case_t){.open = 5000});
        closed->client_to_server.open_wait->kind = SMCR_FIGURE_WAIT_ANSWER;
        closed->close = SMCR_FIGURE_CLOSE_NORMAL;
        char *found = scene_find(&scene);
        g_assert_cmpstr(found, ==, answers[i].found);
        g_free(found);
        scene_close(&scene);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *name = g_strdup_printf("/findings/waits/%s", cases[i].name);
        g_test_add_data_func(name, &cases[i], test_case);
        g_free(name);
    }
    g_test_add_func("/findings/waits/worst", test_worst);
    g_test_add_func("/findings/waits/given up", test_given_up);
    return g_test_run();
}
