/* What CDC messages tell: which connection, how it goes on, moves and ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include "state/flow/tapped/tapped.h"

#include <string.h>

#define END (-1)
#define STOP {.side = END}
#define F SMCR_CDC_FLAG_FAILOVER
#define DONE SMCR_CDC_STATE_SENDING_DONE
#define CLOSED SMCR_CDC_STATE_CLOSED
#define ABORT SMCR_CDC_STATE_ABORT

/* The queue pairs of link 2. */
#define CLIENT_2 key_of(0x11, 0x30)
#define SERVER_2 key_of(0x12, 0x40)

/* A message of the connection that first_contact() begins. */
typedef struct {
    int side; /* sender */
    uint16_t seq;
    uint8_t flags, state;
    bool on_second;  /* over link 2 */
    bool behind_gap; /* retransmitted later, for the receiver has missed the packet before */
    const char *events;
} step_t;

static const struct {
    const char *name;
    step_t steps[8];
} cases[] = {
    {"in order",
     {
        {.side = CLIENT, .seq = 1, .events = ""}, {.side = SERVER, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 2, .events = ""}, {.side = SERVER, .seq = 2, .events = ""}, STOP}},
    {"sequence wraps",
     {
        {.side = CLIENT, .seq = 65534, .events = "breach_doubtful"},
        {.side = CLIENT, .seq = 65535, .events = ""}, {.side = CLIENT, .events = ""},
        {.side = CLIENT, .seq = 1, .events = ""}, STOP}},
    {"sequence gap",
     {
        {.side = CLIENT, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 3, .events = "cdc_seq_skipped"},
        {.side = CLIENT, .seq = 4, .events = ""}, STOP}},
    {"gap behind a failover",
     {
        {.side = CLIENT, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 1, .flags = F, .on_second = 1, .events = "conn_moved"},
        {.side = CLIENT, .seq = 3, .on_second = 1, .events = "cdc_seq_gap"}, STOP}},
    {"gap over the wrap",
     {
        {.side = CLIENT, .seq = 65534, .events = "breach_doubtful"},
        {.side = CLIENT, .seq = 65535, .events = ""},
        {.side = CLIENT, .seq = 1, .events = "cdc_seq_skipped"}, STOP}},
    {"sequence backwards",
     {
        {.side = CLIENT, .seq = 4, .events = "breach_doubtful"},
        {.side = CLIENT, .seq = 5, .events = ""},
        {.side = CLIENT, .seq = 5, .events = "cdc_seq_backwards"},
        {.side = CLIENT, .seq = 4, .events = "cdc_seq_backwards"},
        {.side = CLIENT, .seq = 5, .events = ""}, STOP}},
    {"first number wrong",
     {
        {.side = CLIENT, .seq = 5, .events = "breach_doubtful"},
        {.side = CLIENT, .seq = 2, .events = ""}, {.side = CLIENT, .seq = 3, .events = ""},
        {.side = CLIENT, .seq = 5, .events = "cdc_seq_skipped"}, STOP}},
    {"behind a gap",
     {
        {.side = CLIENT, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 3, .behind_gap = 1, .events = "absent"},
        {.side = CLIENT, .seq = 2, .events = ""},
        {.side = CLIENT, .seq = 3, .events = "retransmission"}, STOP}},
    {"failover",
     {
        {.side = CLIENT, .seq = 1, .events = ""}, {.side = SERVER, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 1, .flags = F, .on_second = 1, .events = "conn_moved"},
        {.side = SERVER, .seq = 1, .flags = F, .on_second = 1, .events = "conn_moved"},
        {.side = CLIENT, .seq = 2, .on_second = 1, .events = ""},
        {.side = SERVER, .seq = 2, .on_second = 1, .events = ""}, STOP}},
    {"failover before anything was sent",
     {
        {.side = CLIENT, .flags = F, .on_second = 1, .events = "conn_moved"},
        {.side = CLIENT, .seq = 1, .on_second = 1, .events = ""}, STOP}},
    {"replay after failover",
     {
        {.side = CLIENT, .seq = 1, .events = ""}, {.side = CLIENT, .seq = 2, .events = ""},
        {.side = CLIENT, .seq = 3, .events = ""},
        {.side = CLIENT, .seq = 1, .flags = F, .on_second = 1, .events = "conn_moved"},
        {.side = CLIENT, .seq = 2, .on_second = 1, .events = ""},
        {.side = CLIENT, .seq = 3, .on_second = 1, .events = ""},
        {.side = CLIENT, .seq = 3, .on_second = 1, .events = "cdc_seq_backwards"}, STOP}},
    {"validation without move",
     {
        {.side = CLIENT, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 1, .flags = F, .events = ""},
        {.side = CLIENT, .seq = 2, .events = ""}, STOP}},
    {"moved without validation",
     {
        {.side = CLIENT, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 2, .on_second = 1, .events = "breach_doubtful conn_moved"}, STOP}},
    {"begun on another link than CLC named",
     {
        {.side = CLIENT, .seq = 1, .on_second = 1, .events = ""},
        {.side = CLIENT, .seq = 2, .on_second = 1, .events = ""}, STOP}},
    {"each direction closes by itself",
     {
        {.side = CLIENT, .seq = 1, .state = DONE, .events = "conn_sending_done"},
        {.side = SERVER, .seq = 1, .events = ""},
        {.side = SERVER, .seq = 2, .state = DONE | CLOSED,
         .events = "conn_sending_done conn_closed"},
        {.side = CLIENT, .seq = 2, .state = DONE | CLOSED, .events = "conn_closed"},
        {.side = CLIENT, .seq = 3, .state = DONE | CLOSED, .events = "cdc_after_close"}, STOP}},
    {"abnormal close",
     {{.side = CLIENT, .seq = 1, .state = ABORT, .events = "conn_aborted"}, STOP}},
    {"goes on after close",
     {
        {.side = CLIENT, .seq = 1, .state = CLOSED, .events = "conn_closed"},
        {.side = CLIENT, .seq = 2, .events = "cdc_after_close"}, STOP}},
    {"close replayed after failover",
     {
        {.side = CLIENT, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 2, .state = CLOSED, .events = "conn_closed"},
        {.side = CLIENT, .flags = F, .on_second = 1, .events = "conn_moved"},
        {.side = CLIENT, .seq = 1, .on_second = 1, .events = ""},
        {.side = CLIENT, .seq = 2, .state = CLOSED, .on_second = 1, .events = ""}, STOP}},
};

static void
add_second_link(capture_t *capture, const smcr_conn_t *conn)
{
    smcr_link_t *link = smcr_link_new(capture->state, conn->lgr);
    smcr_ib_qp_key_t keys[] = {CLIENT_2, SERVER_2};

    for (int side = 0; side < 2; side++)
        smcr_qp_set(capture->state, link, side, &keys[side], SMCR_GROUND_CLC);
    smcr_link_activate(link);
}

static void
play_step(capture_t *capture, const smcr_conn_t *conn, const step_t *step)
{
    smcr_cdc_t cdc = {
        .seq = step->seq,
        .token = step->side == CLIENT ? SERVER_TOKEN : CLIENT_TOKEN,
        .flags = step->flags,
        .state = step->state,
    };
    const smcr_qp_t *target = &conn->side[0].link->qp[!step->side];

    if (step->on_second) {
        play_cdc_on(capture, step->side == CLIENT ? 0x11 : 0x12,
                    step->side == CLIENT ? SERVER_2 : CLIENT_2, AUTO_PSN, cdc);
    } else if (step->behind_gap) {
        uint32_t next = target->traffic.flow.expected_psn & SMCR_PSN_MASK;
        play_ack(capture, !step->side, next - 1);
        play_cdc_on(capture, HOST(step->side), qp_of_side(!step->side), next + 1, cdc);
    } else {
        play_cdc(capture, step->side, cdc);
    }
}

static void
test_case(gconstpointer data)
{
    capture_t capture;

    capture_open(&capture);
    smcr_conn_t *conn = first_contact(&capture);
    confirm_first_link(&capture);
    add_second_link(&capture, conn);
    for (const step_t *step = data; step->side != END; step++) {
        play_step(&capture, conn, step);
        g_assert_cmpstr(events(&capture), ==, step->events);
        g_assert_true(capture.record.conn == conn);
        g_assert_cmpint(capture.record.kind, ==, SMCR_RECORD_CDC);
        g_assert_cmpint(capture.record.direction, ==, step->side == SERVER);
        g_assert_cmpuint(capture.record.link->index, ==, step->on_second);
        if (step->behind_gap)
            continue;
        g_assert_true(conn->side[step->side].link == capture.record.link);
        if (!(step->flags & F))
            g_assert_cmpuint(conn->side[step->side].cdc_seq_actual, ==, step->seq);
    }
    capture_close(&capture);
}

/* A token of a connection that ended comes up again: not the old connection. */
static void
test_token_again(void)
{
    static const struct {
        uint8_t state;
        uint16_t seq;
        bool same;
    } ends[] = {{.state = CLOSED, .seq = 1}, {.state = ABORT, .seq = 1},
                {.state = DONE, .seq = 1, .same = true},
                {.state = CLOSED, .seq = 10, .same = true}};

    for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++) {
        capture_t capture;
        capture_open(&capture);
        smcr_conn_t *conn = first_contact(&capture);
        play_cdc(&capture, CLIENT, (smcr_cdc_t){.seq = 9, .token = SERVER_TOKEN,
                                                .state = ends[i].state});
        play_cdc(&capture, CLIENT, (smcr_cdc_t){.seq = ends[i].seq, .token = SERVER_TOKEN});
        g_assert_cmpint(capture.record.conn == conn, ==, ends[i].same);
        capture_close(&capture);
    }
}

/* ---- waits ---- */

/* The client fills the server's element, and is blocked. The server frees space, then the client
 * goes on. It is not known how long it waited where the capture lacks a packet of either side. */
static const struct {
    const char *name;
    bool is_freed;
    unsigned absent[2]; /* packets before the message of that side */
    bool is_known;
} waits[] = {
    {.name = "buffer full", .is_freed = true, .absent = {0, 0}, .is_known = true},
    {.name = "buffer full, the reader's packet absent", .absent = {0, 0}},
    {.name = "buffer full, a packet of the reader absent", .is_freed = true,
     .absent = {[SERVER] = 1}},
    {.name = "buffer full, a packet of the writer absent", .is_freed = true,
     .absent = {[CLIENT] = 1}},
};

static void
play_next_cdc(capture_t *capture, const smcr_conn_t *conn, int side, unsigned absent,
              smcr_cdc_t message)
{
    const smcr_flow_t *flow = &conn->side[0].link->qp[!side].traffic.flow;
    uint32_t next = (uint32_t)(flow->expected_psn & SMCR_PSN_MASK);

    play_cdc_on(capture, HOST(side), qp_of_side(!side), next + absent, message);
    g_assert_nonnull(capture->record.cdc_analysis);
}

static void
test_wait(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    capture_t capture;

    capture_open(&capture);
    smcr_conn_t *conn = first_contact(&capture);
    confirm_first_link(&capture);
    play_write(&capture, CLIENT, SERVER_RKEY, SERVER_VA, 1000);
    smcr_stream_t *stream = &conn->side[SERVER].in;
    uint32_t size = smcr_ring_room(&stream->ring);
    play_write(&capture, CLIENT, SERVER_RKEY, SERVER_VA + 1000, size - 1000);
    play_cdc(&capture, CLIENT, (smcr_cdc_t){.seq = 1, .token = SERVER_TOKEN, .prod = {1, 0},
                                            .flags = SMCR_CDC_FLAG_BLOCKED});
    const smcr_record_cdc_t *view = capture.record.cdc_analysis;
    uint64_t from = capture.time;
    if (waits[i].is_freed)
        play_next_cdc(&capture, conn, SERVER, waits[i].absent[SERVER],
                      (smcr_cdc_t){.seq = 1, .token = CLIENT_TOKEN, .cons = {1, 0}});
    g_assert_cmpuint(smcr_record_cdc_wait(view).frame, ==, 0);
    play_next_cdc(&capture, conn, CLIENT, waits[i].absent[CLIENT],
                  (smcr_cdc_t){.seq = 2, .token = SERVER_TOKEN, .prod = {1, 0}});
    smcr_record_wait_t wait = smcr_record_cdc_wait(view);
    g_assert_cmpuint(wait.frame, ==, waits[i].is_known ? capture.frame : 0);
    if (waits[i].is_known)
        g_assert_cmpuint(wait.time, ==, capture.time - from);
    capture_close(&capture);
}

/* What is cut short says nothing. */
static void
test_incomplete(void)
{
    capture_t capture;
    smcr_cdc_t cdc = {.token = SERVER_TOKEN};

    capture_open(&capture);
    first_contact(&capture);
    play(&capture, HOST(CLIENT), qp_of_side(SERVER), AUTO_PSN,
         (smcr_ib_headers_t){.opcode = SMCR_RC_SEND_ONLY});
    smcr_state_cdc(&capture.arrival, &cdc);
    g_assert_cmpint(capture.record.kind, ==, SMCR_RECORD_CDC);
    g_assert_null(capture.record.conn);
    capture_close(&capture);
}

static void
test_unknown_token(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_conn_t *conn = first_contact(&capture);
    confirm_first_link(&capture);
    play_cdc(&capture, CLIENT, (smcr_cdc_t){.seq = 1, .token = 0x999});
    g_assert_cmpstr(events(&capture), ==, "cdc_unknown_token");
    const smcr_conn_t *unknown = capture.record.conn;
    g_assert_true(unknown && unknown != conn);
    play_cdc(&capture, CLIENT, (smcr_cdc_t){.seq = 2, .token = 0x999});
    g_assert_cmpstr(events(&capture), ==, "");
    g_assert_true(capture.record.conn == unknown);
    capture_close(&capture);
}

/* ---- connections that began before the capture ---- */

/* The client writes on up to two connections; then the server sends one message. */
static const struct {
    const char *name;
    struct {
        uint32_t token;
        smcr_cursor_t prod;
    } writers[2];
    uint32_t token;     /* of the server's message */
    smcr_cursor_t cons;
    int conn;           /* that it belongs to; -1: a new one */
} halves[] = {
    {.name = "token and cursor", .writers = {{5, {0, 100}}, {0, {0, 0}}}, .token = 5,
     .cons = {0, 100}},
    {.name = "another token", .writers = {{5, {0, 100}}, {0, {0, 0}}}, .token = 6, .cons = {0, 100},
     .conn = -1},
    {.name = "another cursor", .writers = {{5, {0, 100}}, {0, {0, 0}}}, .token = 5,
     .cons = {0, 101}, .conn = -1},
    {.name = "another wrap", .writers = {{5, {0, 100}}, {0, {0, 0}}}, .token = 5, .cons = {1, 100},
     .conn = -1},
    {.name = "nothing read yet", .writers = {{5, {0, 0}}, {0, {0, 0}}}, .token = 5, .cons = {0, 0},
     .conn = -1},
    {.name = "two connections", .writers = {{5, {0, 100}}, {6, {0, 200}}}, .token = 6,
     .cons = {0, 200}, .conn = 1},
    {.name = "two with equal cursors", .writers = {{5, {0, 100}}, {6, {0, 100}}}, .token = 6,
     .cons = {0, 100}, .conn = -1},
};

/* Both queue pairs of a link, without a word of CLC. */
static void
begin_late(capture_t *capture)
{
    smcr_llc_t llc = {.type = SMCR_LLC_CONFIRM_LINK};
    smcr_ib_qp_key_t server = qp_of_side(SERVER);

    memcpy(llc.u.confirm_link.gid, server.gid, SMCR_GID_LENGTH);
    llc.u.confirm_link.qpn = server.qpn;
    play_llc_on(capture, HOST(SERVER), qp_of_side(CLIENT), 500, llc);
}

static void
test_half(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    capture_t capture;
    smcr_conn_t *conns[2] = {NULL};

    capture_open(&capture);
    begin_late(&capture);
    for (unsigned n = 0; n < 2 && halves[i].writers[n].token; n++) {
        play_cdc(&capture, CLIENT, (smcr_cdc_t){.seq = 7, .token = halves[i].writers[n].token,
                                                .prod = halves[i].writers[n].prod});
        g_assert_cmpstr(events(&capture), ==, "conn_late");
        conns[n] = capture.record.conn;
        g_assert_cmpuint(conns[n]->index, ==, n);
    }
    play_cdc(&capture, SERVER, (smcr_cdc_t){.seq = 3, .token = halves[i].token,
                                            .cons = halves[i].cons});
    smcr_conn_t *found = capture.record.conn;
    g_assert_nonnull(found);
    if (halves[i].conn >= 0)
        g_assert_true(found == conns[halves[i].conn]);
    else
        g_assert_true(found != conns[0] && found != conns[1]);
    g_assert_cmpstr(events(&capture), ==, "conn_late");
    g_assert_null(found->conversation);
    capture_close(&capture);
}

/* Tens of thousands of them must not make each other slow. */
static void
test_many_halves(void)
{
    capture_t capture;

    capture_open(&capture);
    begin_late(&capture);
    for (uint32_t token = 1; token <= 1000; token++)
        play_cdc(&capture, CLIENT, (smcr_cdc_t){.seq = 1, .token = token});
    g_assert_cmpuint(wmem_list_count(capture.record.link->lgr->one_direction_conns), <=, 256);
    capture_close(&capture);
}

/* ---- the RMB of a late connection ---- */

/* A WRITE of 100 bytes to offset `at`, then a message with the cursor `prod`. */
static const struct {
    const char *name;
    uint32_t before; /* producer cursor of an earlier message; 0: there is none */
    uint64_t va;
    uint32_t prod;
    bool other_between; /* another packet comes between the two */
    bool learned;
} rmbs[] = {
    {.name = "first", .va = 0x70000000, .prod = 100, .learned = true},
    {.name = "later", .before = 4000, .va = 0x70000000 + 4000, .prod = 4100, .learned = true},
    {.name = "not at a page", .va = 0x70000010, .prod = 100},
    {.name = "shorter than the WRITE", .va = 0x70000000, .prod = 50},
    {.name = "not next to it", .va = 0x70000000, .prod = 100, .other_between = true},
    {.name = "nothing written since", .before = 100, .va = 0x70000000, .prod = 100},
};

static void
test_rmb(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    capture_t capture;

    capture_open(&capture);
    begin_late(&capture);
    if (rmbs[i].before)
        play_cdc(&capture, CLIENT, (smcr_cdc_t){.seq = 6, .token = 5,
                                                .prod = {0, rmbs[i].before}});
    play_write(&capture, CLIENT, 0x77, rmbs[i].va, 100);
    smcr_place_t *place = capture.record.write_location;
    g_assert_nonnull(smcr_place_late(place));
    if (rmbs[i].other_between)
        play_cdc(&capture, CLIENT, (smcr_cdc_t){.seq = 6, .token = 99});
    play_cdc(&capture, CLIENT, (smcr_cdc_t){.seq = 7, .token = 5, .prod = {0, rmbs[i].prod}});
    smcr_conn_t *conn = capture.record.conn;
    g_assert_true(smcr_place_late(place)->conn == (rmbs[i].learned ? conn : NULL));
    play_write(&capture, CLIENT, 0x77, rmbs[i].va + 100, 10);
    g_assert_true(capture.record.conn == (rmbs[i].learned ? conn : NULL));
    if (rmbs[i].learned)
        g_assert_cmpuint(capture.record.write_location->offset, ==, rmbs[i].prod);
    capture_close(&capture);
}

/* A tap shows both ends of a connection: each message twice. The receiver gets the messages when
 * the sender has sent all of them. The state learns each once. */
static void
test_tapped_copies(void)
{
    enum { MESSAGES = 100 };
    capture_t capture;

    capture_open(&capture);
    smcr_tapped_packet_t packet = {.conn = smcr_conn_new(capture.state), .version = 2};
    for (unsigned i = 0; i < 2 * MESSAGES; i++) {
        smcr_cdc_t cdc = {.seq = (uint16_t)(1 + i % MESSAGES), .token = 5, .complete = true};
        smcr_tapped_part_t part;
        smcr_tapped_verdict_t verdict;
        next_frame(&capture, NULL);
        bool is_new =
            smcr_tapped_take_message(&capture.arrival, &packet, &cdc, &part, &verdict);
        g_assert_true(is_new == (i < MESSAGES));
    }
    capture_close(&capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/cdc/%s", cases[i].name);
        g_test_add_data_func(path, cases[i].steps, test_case);
        g_free(path);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(waits); i++) {
        char *path = g_strdup_printf("/cdc/waits/%s", waits[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_wait);
        g_free(path);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(halves); i++) {
        char *path = g_strdup_printf("/cdc/halves/%s", halves[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_half);
        g_free(path);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(rmbs); i++) {
        char *path = g_strdup_printf("/cdc/late RMB/%s", rmbs[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_rmb);
        g_free(path);
    }
    g_test_add_func("/cdc/token again", test_token_again);
    g_test_add_func("/cdc/incomplete", test_incomplete);
    g_test_add_func("/cdc/unknown token", test_unknown_token);
    g_test_add_func("/cdc/many halves", test_many_halves);
    g_test_add_func("/cdc/tapped copies", test_tapped_copies);
    return g_test_run();
}
