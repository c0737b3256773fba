/* What Accept, Confirm and Decline tell of link groups, links and connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include <string.h>

#define A 1 /* host of the client, and its second device */
#define A2 0x11
#define B 2 /* host of the server */
#define CONNS 3

enum { END, PROPOSAL, ACCEPT, CONFIRM, DECLINE, DELETE };

/* One frame and what is known after it. DELETE is no frame: link number `qpn` is deleted. */
typedef struct {
    int type;
    bool first;       /* the bit for first contact */
    unsigned conn;
    uint8_t host;     /* of the queue pair that the message names */
    uint32_t qpn;
    uint32_t number;  /* RKey and token: each message has its own, or takes one over */
    const char *events;
    int lgr, link;    /* indices in the record; -1: none */
} step_t;

#define UNCONFIRMED "rkey_not_confirmed rkey_clc_early"

static const struct {
    const char *name;
    step_t steps[8];
} cases[] = {
    {"first contact",
     {
        {.type = PROPOSAL, .events = "", .lgr = -1, .link = -1},
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""}}},
    {"equal numbers on both hosts",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 7, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = A, .qpn = 7, .number = 1, .events = ""}}},
    {"one host talks to itself",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 7, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = B, .qpn = 8, .number = 2, .events = ""}}},
    {"both ends on one queue pair",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 7, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = B, .qpn = 7, .number = 2, .events = "link_mismatch"}}},
    {"subsequent contact",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
        {.type = ACCEPT, .conn = 1, .host = B, .qpn = 2, .number = 3, .events = UNCONFIRMED},
        {.type = CONFIRM, .conn = 1, .host = A, .qpn = 1, .number = 4, .events = UNCONFIRMED}}},
    {"the same RKey and token again",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
        {.type = ACCEPT, .conn = 1, .host = B, .qpn = 2, .number = 1, .events = "token_reused"},
        {.type = CONFIRM, .conn = 1, .host = A, .qpn = 1, .number = 2, .events = "token_reused"}}},
    /* a link may be absent */
    {"Confirm from another queue pair",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
        {.type = ACCEPT, .conn = 1, .host = B, .qpn = 2, .number = 3, .events = UNCONFIRMED},
        {.type = CONFIRM, .conn = 1, .host = A, .qpn = 9, .number = 4,
         .events = "breach_doubtful " UNCONFIRMED}}},
    {"Confirm without Accept",
     {{.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = "clc_confirm_without_accept"}}},
    {"Confirm without Accept, of a known link",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
        {.type = CONFIRM, .conn = 1, .host = A, .qpn = 1, .number = 2,
         .events = "clc_confirm_without_accept token_reused"}}},
    {"Confirm without Accept, of an RMB that the link does not have",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
        {.type = CONFIRM, .conn = 1, .host = A, .qpn = 1, .number = 4,
         .events = "clc_confirm_without_accept", .lgr = -1, .link = -1}}},
    {"Confirm without Accept, from a server's queue pair",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
        {.type = CONFIRM, .conn = 1, .host = B, .qpn = 2, .number = 4,
         .events = "clc_confirm_without_accept", .lgr = 1, .link = 1}}},
    {"Accept without Confirm",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = ACCEPT, .conn = 1, .host = B, .qpn = 2, .number = 3, .events = UNCONFIRMED},
        {.type = CONFIRM, .conn = 1, .host = A, .qpn = 1, .number = 4, .events = UNCONFIRMED}}},
    {"queue pairs set up again",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
        {.type = ACCEPT, .first = 1, .conn = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact breach_doubtful", .lgr = 1, .link = 1},
        {.type = CONFIRM, .conn = 1, .host = A, .qpn = 1, .number = 2, .events = "breach_doubtful",
         .lgr = 1, .link = 1},
        {.type = ACCEPT, .conn = 2, .host = B, .qpn = 2, .number = 3, .events = UNCONFIRMED,
         .lgr = 1, .link = 1}}},
    {"two clients of one server",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = ACCEPT, .first = 1, .conn = 1, .host = B, .qpn = 3, .number = 1,
         .events = "lgr_first_contact", .lgr = 1, .link = 1},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
        {.type = CONFIRM, .conn = 1, .host = A2, .qpn = 1, .number = 2, .events = "", .lgr = 1,
         .link = 1}}},
    {"capture begins late",
     {
        {.type = ACCEPT, .host = B, .qpn = 2, .number = 1, .events = ""},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
        {.type = ACCEPT, .conn = 1, .host = B, .qpn = 2, .number = 3, .events = ""}}},
    /* likewise */
    {"no first contact on an unknown queue pair of a known server",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = ACCEPT, .conn = 1, .host = B, .qpn = 9, .number = 1, .events = "breach_doubtful",
         .lgr = 1, .link = 1}}},
    {"roles changed",
     {/* A's queue pair has been set up again, and the capture lacks how */
      {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1, .events = "lgr_first_contact"},
      {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
      {.type = ACCEPT, .conn = 1, .host = A, .qpn = 1, .number = 3, .events = "", .lgr = 1,
       .link = 1},
      {.type = CONFIRM, .conn = 1, .host = B, .qpn = 2, .number = 4, .events = "", .lgr = 1,
       .link = 1}}},
    {"the link is gone",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
        {.type = DELETE, .host = B, .qpn = 2, .events = "", .lgr = -1, .link = -1},
        {.type = ACCEPT, .conn = 1, .host = B, .qpn = 2, .number = 3, .events = "", .lgr = 1,
         .link = 1},
        {.type = CONFIRM, .conn = 1, .host = A, .qpn = 1, .number = 4, .events = "", .lgr = 1,
         .link = 1}}},
    {"Decline alone", {{.type = DECLINE, .events = "", .lgr = -1, .link = -1}}},
    {"Decline after Confirm frees the tokens",
     {
        {.type = ACCEPT, .first = 1, .host = B, .qpn = 2, .number = 1,
         .events = "lgr_first_contact"},
        {.type = CONFIRM, .host = A, .qpn = 1, .number = 2, .events = ""},
        {.type = DECLINE, .events = "", .lgr = -1, .link = -1},
        {.type = ACCEPT, .conn = 1, .host = B, .qpn = 2, .number = 1, .events = ""}}},
};

static void
play_step(capture_t *capture, smcr_conn_t *const *conns, const step_t *step)
{
    smcr_ib_qp_key_t key = key_of(step->host, step->qpn);
    smcr_clc_accept_t message = {
        .peer_id = {step->host}, .qpn = step->qpn, .rkey = step->number, .rmb_index = 1,
        .token = step->number, .va = CLIENT_VA, .sizes = 0x03,
    };

    memcpy(message.gid, key.gid, SMCR_GID_LENGTH);
    smcr_qp_t *qp = smcr_qp_find(capture->state, &key);
    bool is_of_server = qp && qp->side == qp->link->lgr->server;
    if (step->type == ACCEPT && !step->first && is_of_server && !qp->link->deleted_frame)
        smcr_link_activate(qp->link); /* as CONFIRM LINK does, before a later contact uses it */
    if (step->type == DELETE)
        smcr_link_delete(qp->link, capture->frame);
    else
        play_clc(capture, conns[step->conn], (uint8_t)step->type, step->first, &message);
}

static void
check_step(const capture_t *capture, const smcr_conn_t *conn, const step_t *step)
{
    const smcr_record_t *packet = &capture->record;

    g_assert_cmpstr(events(capture), ==, step->events);
    g_assert_true(packet->conn == conn);
    g_assert_cmpint(packet->link ? (int)packet->link->index : -1, ==, step->link);
    g_assert_cmpint(packet->link ? (int)packet->link->lgr->index : -1, ==, step->lgr);
    static const int directions[] = {[PROPOSAL] = 0, [ACCEPT] = 1, [CONFIRM] = 0, [DECLINE] = 1};
    bool alone = step->type == DECLINE && step->conn == 0 && !conn->lgr; /* of either side */
    g_assert_cmpint(packet->direction, ==,
                    alone ? SMCR_LGR_SIDE_UNKNOWN : directions[step->type]);
    if (step->type == DECLINE && conn->lgr)
        for (int side = 0; side < 2; side++) {
            uint32_t token = conn->side[side].token;
            g_assert_null(smcr_conn_find(capture->state, conn->lgr, side, token));
            g_assert_null(smcr_rmb_conn(conn->side[side].rmb, 1));
        }
    if (step->link < 0)
        return;
    const smcr_link_t *link = packet->link;
    const smcr_conn_side_t *side = &conn->side[packet->sender];
    g_assert_cmpint(packet->sender == link->lgr->server, ==, step->type == ACCEPT);
    g_assert_true(conn->lgr == link->lgr);
    g_assert_true(packet->lgr_proven);
    g_assert_true(smcr_conn_find(capture->state, link->lgr, packet->sender, step->number) == conn);
    g_assert_true(smcr_rmb_conn(side->rmb, 1) == conn);
    g_assert_true(smcr_rmb_find(capture->state, &link->qp[packet->sender], step->number)->rmb ==
                  side->rmb);
    if (link->qp[packet->sender].key.qpn != step->qpn) /* what is known stays */
        return;
    g_assert_cmpuint(link->qp[packet->sender].key.qpn, ==, step->qpn);
    g_assert_cmpuint(link->qp[packet->sender].key.gid[15], ==, step->host);
}

static void
test_case(gconstpointer data)
{
    capture_t capture;
    smcr_conn_t *conns[CONNS];

    capture_open(&capture);
    for (unsigned i = 0; i < CONNS; i++)
        conns[i] = smcr_conn_new(capture.state);
    for (const step_t *step = data; step->type != END; step++) {
        play_step(&capture, conns, step);
        if (step->type != DELETE)
            check_step(&capture, conns[step->conn], step);
    }
    capture_close(&capture);
}

/* What the messages announce. */
static void
test_values(void)
{
    capture_t capture;

    capture_open(&capture);
    const smcr_conn_t *conn = first_contact(&capture);
    const smcr_link_t *link = conn->side[SERVER].link;
    const smcr_lgr_t *lgr = conn->lgr;

    g_assert_true(conn->side[CLIENT].link == link);
    g_assert_true(conn->first_contact && lgr->first_contact_captured);
    g_assert_cmpint(lgr->server, ==, SERVER);
    g_assert_cmpuint(conn->accept_frame, ==, 1);
    g_assert_cmpuint(conn->confirm_frame, ==, 2);
    g_assert_cmpuint(lgr->peer_id[CLIENT][0], ==, 0xc0);
    g_assert_cmpuint(lgr->peer_id[SERVER][0], ==, 0xc1);
    g_assert_cmpuint(link->qp[CLIENT].traffic.flow.first & SMCR_PSN_MASK, ==, SERVER_PSN);
    g_assert_cmpuint(link->qp[SERVER].traffic.flow.first & SMCR_PSN_MASK, ==, CLIENT_PSN);
    g_assert_cmpint(link->state, ==, SMCR_LINK_ANNOUNCED);
    capture_close(&capture);
}

static void
test_sizes(void)
{
    static const struct {
        uint8_t code;
        uint32_t size;
    } sizes[] = {{0x03, 16384}, {0x13, 32768}, {0x53, 524288}, {0xf3, 536870912}};

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        capture_t capture;
        capture_open(&capture);
        smcr_conn_t *conn = smcr_conn_new(capture.state);
        smcr_clc_accept_t accept = announcement(SERVER);
        accept.sizes = sizes[i].code;
        play_accept(&capture, conn, true, &accept);
        g_assert_cmpuint(conn->side[SERVER].size, ==, sizes[i].size);
        g_assert_cmpuint(conn->side[SERVER].rmb->element_size, ==, sizes[i].size);
        g_assert_cmpuint(conn->side[SERVER].link->qp[SERVER].mtu, ==, 3);
        capture_close(&capture);
    }
}

/* Each side names its own MTU. */
static void
test_mtu(void)
{
    static const struct {
        uint8_t accept, confirm;
        const char *events;
    } mtus[] = {{.accept = 3, .confirm = 3, .events = ""},
                {.accept = 3, .confirm = 2, .events = ""},
                {.accept = 3, .confirm = 4, .events = ""},
                {.confirm = 4, .events = "clc_error_kept"}};

    for (unsigned i = 0; i < G_N_ELEMENTS(mtus); i++) {
        capture_t capture;
        capture_open(&capture);
        smcr_conn_t *conn = smcr_conn_new(capture.state);
        smcr_clc_accept_t accept = announcement(SERVER);
        smcr_clc_accept_t confirm = announcement(CLIENT);
        accept.sizes = mtus[i].accept;
        confirm.sizes = mtus[i].confirm;
        play_accept(&capture, conn, true, &accept);
        play_confirm(&capture, conn, &confirm);
        g_assert_cmpstr(events(&capture), ==, mtus[i].events);
        capture_close(&capture);
    }
}

/* What is cut short or of SMC-D says nothing about RoCE. */
static void
test_not_for_us(void)
{
    for (unsigned i = 0; i < 2; i++) {
        capture_t capture;
        capture_open(&capture);
        smcr_conn_t *conn = smcr_conn_new(capture.state);
        bool smcd = i == 0;
        smcr_clc_t accept = {.header = {.eyecatcher = 0xe2d4c3c4, .type = 2, .length = 48,
                                        .flags = 0x11},
                             .complete = smcd, .smcd = smcd};
        smcr_clc_t confirm = {.header = {.eyecatcher = 0xe2d4c3c4, .type = 3, .length = 48,
                                         .flags = 0x11},
                              .complete = smcd, .smcd = smcd};
        accept.u.accept.qpn = 1;
        confirm.u.accept.qpn = 2;
        smcr_clc_t decline = {.header = {.eyecatcher = 0xe2d4c3c4, .type = 4, .length = 28,
                                         .flags = 0x10}};
        smcr_arrival_t arrival = {
            .state = capture.state, .when = {1, 1}, .record = &capture.record};
        smcr_state_clc(&arrival, conn, &accept, true);
        smcr_state_clc(&arrival, conn, &confirm, false);
        smcr_state_clc(&arrival, conn, &decline, true);
        g_assert_null(conn->lgr);
        g_assert_null(capture.record.link);
        g_assert_cmpuint(conn->decline_frame, ==, 1);
        g_assert_cmpstr(events(&capture), ==, "");
        capture_close(&capture);
    }
}

/* Every message answers the step before it, in whatever order the capture has them. */
static void
test_exchanges(void)
{
    static const struct {
        uint8_t types[4]; /* 0 behind the last one */
        uint32_t requests[4]; /* frame that each answers; 0: none */
        bool asks[4];
    } orders[] = {
        {.types = {1, 2, 3}, .requests = {0, 1, 2}, .asks = {true, true, false}},
        /* both from the server */
        {.types = {1, 2, 4}, .requests = {0, 1, 0}, .asks = {true, true, false}},
        {.types = {1, 4}, .requests = {0, 1}, .asks = {true, false}},
        {.types = {1, 3}, .requests = {0, 0}, .asks = {true, false}},
        {.types = {2, 1, 3}, .requests = {0, 0, 1}, .asks = {true, false, false}},
        {.types = {2, 3, 1}, .requests = {0, 1, 0}, .asks = {true, false, false}},
        {.types = {3, 2, 1}, .requests = {0, 0, 0}, .asks = {false, false, false}},
        {.types = {1, 3, 2}, .requests = {0, 0, 0}, .asks = {true, false, false}},
    };

    for (unsigned order = 0; order < G_N_ELEMENTS(orders); order++) {
        capture_t capture;
        capture_open(&capture);
        smcr_conn_t *conn = smcr_conn_new(capture.state);
        for (unsigned i = 0; orders[order].types[i]; i++) {
            uint8_t type = orders[order].types[i];
            smcr_clc_accept_t message = announcement(type == 2);
            play_clc(&capture, conn, type, type == 2, &message);
            const smcr_exchange_t *answered = capture.record.ends_exchange;
            g_assert_cmpuint(answered ? answered->request_frame : 0, ==,
                             orders[order].requests[i]);
            if (answered)
                g_assert_cmpuint(answered->response_frame, ==, i + 1);
            g_assert_cmpint(capture.record.begins_exchange != NULL, ==, orders[order].asks[i]);
        }
        capture_close(&capture);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/clc/%s", cases[i].name);
        g_test_add_data_func(path, cases[i].steps, test_case);
        g_free(path);
    }
    g_test_add_func("/clc/values", test_values);
    g_test_add_func("/clc/sizes", test_sizes);
    g_test_add_func("/clc/MTU", test_mtu);
    g_test_add_func("/clc/not for us", test_not_for_us);
    g_test_add_func("/clc/exchanges", test_exchanges);
    return g_test_run();
}
