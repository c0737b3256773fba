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
    {"first contact", {
        {PROPOSAL, 0, 0, 0, 0, 0, "", -1, -1},
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0}}},
    {"equal numbers on both hosts", {
        {ACCEPT, 1, 0, B, 7, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 7, 1, "", 0, 0}}},
    {"one host talks to itself", {
        {ACCEPT, 1, 0, B, 7, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, B, 8, 2, "", 0, 0}}},
    {"both ends on one queue pair", {
        {ACCEPT, 1, 0, B, 7, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, B, 7, 2, "link_mismatch", 0, 0}}},
    {"subsequent contact", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {ACCEPT, 0, 1, B, 2, 3, UNCONFIRMED, 0, 0},
        {CONFIRM, 0, 1, A, 1, 4, UNCONFIRMED, 0, 0}}},
    {"the same RKey and token again", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {ACCEPT, 0, 1, B, 2, 1, "token_reused", 0, 0},
        {CONFIRM, 0, 1, A, 1, 2, "token_reused", 0, 0}}},
    {"Confirm from another queue pair", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {ACCEPT, 0, 1, B, 2, 3, UNCONFIRMED, 0, 0},
        {CONFIRM, 0, 1, A, 9, 4, "breach_doubtful " UNCONFIRMED, 0, 0}}}, /* a link may be absent */
    {"Confirm without Accept", {
        {CONFIRM, 0, 0, A, 1, 2, "clc_confirm_without_accept", 0, 0}}},
    {"Confirm without Accept, of a known link", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {CONFIRM, 0, 1, A, 1, 2, "clc_confirm_without_accept token_reused", 0, 0}}},
    {"Confirm without Accept, of an RMB that the link does not have", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {CONFIRM, 0, 1, A, 1, 4, "clc_confirm_without_accept", -1, -1}}},
    {"Confirm without Accept, from a server's queue pair", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {CONFIRM, 0, 1, B, 2, 4, "clc_confirm_without_accept", 1, 1}}},
    {"Accept without Confirm", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {ACCEPT, 0, 1, B, 2, 3, UNCONFIRMED, 0, 0},
        {CONFIRM, 0, 1, A, 1, 4, UNCONFIRMED, 0, 0}}},
    {"queue pairs set up again", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {ACCEPT, 1, 1, B, 2, 1, "lgr_first_contact breach_doubtful", 1, 1},
        {CONFIRM, 0, 1, A, 1, 2, "breach_doubtful", 1, 1},
        {ACCEPT, 0, 2, B, 2, 3, UNCONFIRMED, 1, 1}}},
    {"two clients of one server", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {ACCEPT, 1, 1, B, 3, 1, "lgr_first_contact", 1, 1},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {CONFIRM, 0, 1, A2, 1, 2, "", 1, 1}}},
    {"capture begins late", {
        {ACCEPT, 0, 0, B, 2, 1, "", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {ACCEPT, 0, 1, B, 2, 3, "", 0, 0}}},
    {"no first contact on an unknown queue pair of a known server", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {ACCEPT, 0, 1, B, 9, 1, "breach_doubtful", 1, 1}}}, /* likewise */
    {"roles changed", { /* A's queue pair has been set up again, and the capture lacks how */
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {ACCEPT, 0, 1, A, 1, 3, "", 1, 1},
        {CONFIRM, 0, 1, B, 2, 4, "", 1, 1}}},
    {"the link is gone", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {DELETE, 0, 0, B, 2, 0, "", -1, -1},
        {ACCEPT, 0, 1, B, 2, 3, "", 1, 1},
        {CONFIRM, 0, 1, A, 1, 4, "", 1, 1}}},
    {"Decline alone", {{DECLINE, 0, 0, 0, 0, 0, "", -1, -1}}},
    {"Decline after Confirm frees the tokens", {
        {ACCEPT, 1, 0, B, 2, 1, "lgr_first_contact", 0, 0},
        {CONFIRM, 0, 0, A, 1, 2, "", 0, 0},
        {DECLINE, 0, 0, 0, 0, 0, "", -1, -1},
        {ACCEPT, 0, 1, B, 2, 1, "", 0, 0}}},
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
    if (step->type == DELETE)
        smcr_link_delete(smcr_qp_find(capture->state, &key)->link, capture->frame);
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
    g_assert_true(conn->first_contact && lgr->from_start);
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
    } mtus[] = {{3, 3, ""}, {3, 2, ""}, {3, 4, ""}, {0, 4, "clc_error_kept"}};

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
        smcr_clc_t accept = {.header = {0xe2d4c3c4, 2, 48, 0x11}, .complete = smcd, .smcd = smcd};
        smcr_clc_t confirm = {.header = {0xe2d4c3c4, 3, 48, 0x11}, .complete = smcd, .smcd = smcd};
        accept.u.accept.qpn = 1;
        confirm.u.accept.qpn = 2;
        smcr_clc_t decline = {.header = {0xe2d4c3c4, 4, 28, 0x10}};
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
        {{1, 2, 3}, {0, 1, 2}, {true, true, false}},
        {{1, 2, 4}, {0, 1, 0}, {true, true, false}}, /* both from the server */
        {{1, 4}, {0, 1}, {true, false}},
        {{1, 3}, {0, 0}, {true, false}},
        {{2, 1, 3}, {0, 0, 1}, {true, false, false}},
        {{2, 3, 1}, {0, 1, 0}, {true, false, false}},
        {{3, 2, 1}, {0, 0, 0}, {false, true, false}},
        {{1, 3, 2}, {0, 0, 0}, {true, false, true}},
    };

    for (unsigned order = 0; order < G_N_ELEMENTS(orders); order++) {
        capture_t capture;
        capture_open(&capture);
        smcr_conn_t *conn = smcr_conn_new(capture.state);
        for (unsigned i = 0; orders[order].types[i]; i++) {
            uint8_t type = orders[order].types[i];
            smcr_clc_accept_t message = announcement(type == 2);
            play_clc(&capture, conn, type, type == 2, &message);
            const smcr_exchange_t *answered = capture.record.answers;
            g_assert_cmpuint(answered ? answered->request_frame : 0, ==,
                             orders[order].requests[i]);
            if (answered)
                g_assert_cmpuint(answered->response_frame, ==, i + 1);
            g_assert_cmpint(capture.record.asks != NULL, ==, orders[order].asks[i]);
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
