/* Whose an RDMA WRITE is, and where in the byte stream, when the capture lacks packets: right or
 * absent. The client writes into the server's RMB; docs/architecture.md, "What still holds".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define NO_PLACE (-1)

typedef enum {
    END,
    WRITE,        /* of the client: `at` in the element, `length` */
    CDC,          /* of the client: `at` is its producer cursor */
    CLOSE,        /* of the client: likewise, and it is done */
    ANSWER,       /* CDC of the server */
    LOSE,         /* the capture lacks `length` packets of the client */
    LOSE_SERVER,  /* and of the server */
    CONFIRM_RKEY, /* the server announces its RMB anew */
    CONFIRMED,    /* the client's response to that; the capture lacks the request */
    DELETE_RKEY,  /* the server withdraws its RMB */
    DELETED,      /* likewise */
    ACCEPT,       /* another connection gets the RMB */
} what_t;

typedef struct {
    what_t what;
    uint32_t at, length;
    int conn;         /* WRITE, CDC: 1 the first connection, 2 the second, 0 none */
    int64_t position; /* WRITE: of its first byte; NO_PLACE: not known */
    bool later;       /* `conn` and `position` are known when all has come, not at once */
} step_t;

#define STEPS_MAX 12

static const struct {
    const char *name;
    step_t steps[STEPS_MAX];
} cases[] = {
    {"nothing missing",
     {{.what = WRITE, .length = 100, .conn = 1}, {CDC, 100, .conn = 1},
      {.what = WRITE, .at = 100, .length = 50, .conn = 1, .position = 100}}},
    {"one packet missing, the stream goes on",
     {{.what = WRITE, .length = 100, .conn = 1}, {CDC, 100, .conn = 1}, {LOSE, .length = 1},
      {.what = WRITE, .at = 600, .length = 50, .conn = 1, .position = 600}}},
    {"one packet missing, the element begins again",
     {{.what = WRITE, .length = 100, .conn = 1}, {CDC, 100, .conn = 1}, {LOSE, .length = 1},
      {.what = WRITE, .length = 50, .position = NO_PLACE}}},
    {"the next CDC message tells",
     {{.what = WRITE, .length = 100, .conn = 1}, {CDC, 100, .conn = 1}, {LOSE, .length = 5},
      {.what = WRITE, .at = 500, .length = 50, .conn = 1, .position = 500, .later = true},
      {CDC, 550, .conn = 1}}},
    {"three packets missing",
     {{.what = WRITE, .length = 100, .conn = 1}, {CDC, 100, .conn = 1}, {LOSE, .length = 3},
      {.what = WRITE, .at = 600, .length = 50, .position = NO_PLACE}}},
    {"more than a round may be missing",
     {{.what = WRITE, .length = 100, .conn = 1}, {CDC, 100, .conn = 1}, {LOSE, .length = 40},
      {.what = WRITE, .at = 600, .length = 50, .conn = 1, .position = 600, .later = true},
      {CDC, 650, .conn = 1}}},
    {"the writer has closed",
     {{.what = WRITE, .length = 100, .conn = 1}, {CLOSE, 100, .conn = 1},
      {.what = WRITE, .at = 100, .length = 50, .position = NO_PLACE}}},
    {"the RMB is announced anew",
     {{.what = WRITE, .length = 100, .conn = 1}, {CDC, 100, .conn = 1}, {CONFIRM_RKEY},
      {.what = WRITE, .at = 100, .length = 50, .position = NO_PLACE}}},
    {"the response tells that",
     {{.what = WRITE, .length = 100, .conn = 1}, {CDC, 100, .conn = 1}, {LOSE_SERVER, .length = 1},
      {CONFIRMED}, {.what = WRITE, .at = 100, .length = 50, .position = NO_PLACE}}},
    {"the RMB is withdrawn",
     {{.what = WRITE, .length = 100, .conn = 1}, {CDC, 100, .conn = 1}, {DELETE_RKEY},
      {.what = WRITE, .at = 100, .length = 50, .conn = 1, .position = 100}, {DELETED},
      {.what = WRITE, .at = 150, .length = 50, .position = NO_PLACE}}},
    {"the response tells that, too",
     {{.what = WRITE, .length = 100, .conn = 1}, {CDC, 100, .conn = 1}, {LOSE_SERVER, .length = 1},
      {DELETED}, {.what = WRITE, .at = 100, .length = 50, .position = NO_PLACE}}},
    {"announced before anything was sent: the same",
     {{CONFIRM_RKEY}, {.what = WRITE, .length = 100, .conn = 1}}},
    {"another connection gets the RMB",
     {{.what = WRITE, .length = 100, .conn = 1}, {CLOSE, 100, .conn = 1}, {CONFIRM_RKEY}, {ACCEPT},
      {.what = WRITE, .length = 50, .conn = 2}}},
};

static void
play_llc_of(capture_t *capture, int side, uint8_t type, uint8_t flags)
{
    smcr_rtoken_t rkey = {.rkey = SERVER_RKEY};
    smcr_llc_t llc = {.type = type, .flags = flags};

    if (type == SMCR_LLC_CONFIRM_RKEY) {
        llc.u.confirm_rkey.rkey = SERVER_RKEY;
        llc.u.confirm_rkey.va = SERVER_VA;
    } else {
        llc.u.delete_rkey.count = 1;
        llc.rtokens_in_message = &rkey;
        llc.rtoken_count = 1;
    }
    play_llc(capture, side, llc);
}

/* The next packet of `side` is as many PSNs later. */
static void
lose(capture_t *capture, int side, uint32_t packets)
{
    smcr_ib_qp_key_t target = qp_of_side(!side);
    smcr_flow_t *flow = &smcr_qp_find(capture->state, &target)->traffic.flow;

    flow->expected_psn += packets; /* from which play() takes the next PSN */
}

static void
accept_again(capture_t *capture, smcr_conn_t *conn)
{
    smcr_clc_accept_t accept = announcement(SERVER);

    accept.token = SERVER_TOKEN + 1;
    play_accept(capture, conn, false, &accept);
}

static void
play_step(capture_t *capture, smcr_conn_t *second, const step_t *step, uint16_t *seq)
{
    smcr_cdc_t cdc = {.token = SERVER_TOKEN, .prod = {0, step->at}};

    switch (step->what) {
    case WRITE:
        play_write(capture, CLIENT, SERVER_RKEY, SERVER_VA + step->at, step->length);
        break;
    case CDC:
    case CLOSE:
        cdc.seq = ++*seq;
        cdc.state = step->what == CLOSE ? SMCR_CDC_STATE_CLOSED : 0;
        play_cdc(capture, CLIENT, cdc);
        break;
    case LOSE:
    case LOSE_SERVER:
        lose(capture, step->what == LOSE ? CLIENT : SERVER, step->length);
        *seq = (uint16_t)(*seq + (step->what == LOSE));
        break;
    case CONFIRM_RKEY:
        play_llc_of(capture, SERVER, SMCR_LLC_CONFIRM_RKEY, 0);
        break;
    case CONFIRMED:
        play_llc_of(capture, CLIENT, SMCR_LLC_CONFIRM_RKEY, SMCR_LLC_FLAG_RESPONSE);
        break;
    case DELETE_RKEY:
        play_llc_of(capture, SERVER, SMCR_LLC_DELETE_RKEY, 0);
        break;
    case DELETED:
        play_llc_of(capture, CLIENT, SMCR_LLC_DELETE_RKEY, SMCR_LLC_FLAG_RESPONSE);
        break;
    case ACCEPT:
        accept_again(capture, second);
        break;
    default:
        break;
    }
}

static void
check(const step_t *step, const smcr_record_t *record, smcr_conn_t *const conns[3])
{
    g_assert_true(record->conn == conns[step->conn]);
    if (step->what != WRITE)
        return;
    smcr_stream_range_t piece = smcr_place_range(record->write_location);
    g_assert_cmpint(piece.known, ==, step->position != NO_PLACE);
    if (piece.known)
        g_assert_cmpuint(piece.position, ==, (uint64_t)step->position);
}

static void
test_case(gconstpointer data)
{
    const step_t *steps = cases[GPOINTER_TO_UINT(data)].steps;
    smcr_record_t records[STEPS_MAX];
    capture_t capture;
    uint16_t seq = 0;

    capture_open(&capture);
    smcr_conn_t *conns[3] = {NULL, first_contact(&capture), smcr_conn_new(capture.state)};
    confirm_first_link(&capture);
    for (unsigned i = 0; i < STEPS_MAX && steps[i].what != END; i++) {
        g_test_message("step %u", i + 1);
        play_step(&capture, conns[2], &steps[i], &seq);
        records[i] = capture.record;
        if (steps[i].what <= CLOSE)
            check(steps[i].later ? &(step_t){WRITE, .position = NO_PLACE} : &steps[i], &records[i],
                conns);
    }
    for (unsigned i = 0; i < STEPS_MAX && steps[i].what != END; i++) {
        smcr_record_complete(capture.state, &records[i]);
        if (steps[i].later)
            check(&steps[i], &records[i], conns);
    }
    capture_close(&capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/attribution/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    return g_test_run();
}
