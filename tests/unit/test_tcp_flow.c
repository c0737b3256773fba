/* The TCP connection: its handshake, the end of CLC, and why it does not use SMC-R.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"
#include "wire/clc_codes.h"

#define DIAGNOSIS SMCR_CLC_DECLINE_NO_SMCR_DEVICE

static smcr_conn_t *
new_tcp(capture_t *capture, bool ipv4)
{
    static int conversation; /* anything with an address */
    smcr_state_tcp_t tcp = {
        .conversation = &conversation,
        .stream = 7,
        .ipv4 = ipv4,
        .gid = {{[10] = 0xff, 0xff, 10, 0, 0, 1}, {[10] = 0xff, 0xff, 10, 0, 1, 2}},
        .port = {4000, 80},
    };

    return smcr_state_tcp(capture->state, &tcp);
}

static void
test_addresses(void)
{
    for (int ipv4 = 0; ipv4 < 2; ipv4++) {
        capture_t capture;
        capture_open(&capture);
        const smcr_conn_t *conn = new_tcp(&capture, ipv4);
        g_assert_true(smcr_conn_of_conversation(capture.state, conn->conversation) == conn);
        g_assert_null(smcr_conn_of_conversation(capture.state, &capture));
        g_assert_cmpuint(conn->tcp_stream, ==, 7);
        g_assert_cmpuint(conn->port[0], ==, 4000);
        g_assert_cmpuint(conn->port[1], ==, 80);
        for (unsigned role = 0; role < 2; role++) {
            const uint8_t *last = ipv4 ? conn->addr.ipv4[role] : conn->addr.ipv6[role] + 12;
            g_assert_cmpuint(last[0], ==, 10);
            g_assert_cmpuint(last[2], ==, role);
            g_assert_cmpuint(last[3], ==, role + 1);
        }
        capture_close(&capture);
    }
}

/* ---- what happens on a connection, and why it falls back then ---- */

enum {
    END,
    SYN,            /* with the option */
    SYNACK,         /* with it */
    SYNACK_WITHOUT,
    PROPOSAL,       /* of a client in 10.0.0.0/24; the server is outside */
    ACCEPT,
    CONFIRM,
    CLIENT_DECLINES,
    SERVER_DECLINES,
    ROCE,           /* a packet on the link */
    DATA,           /* of the application */
};

typedef struct {
    const char *name;
    int steps[8];
    smcr_fallback_t fallback;
} case_t;

#define DECLINED(in) .frame = (in), .code = DIAGNOSIS, .kind = SMCR_FALLBACK_DECLINED
#define BY_SERVER .by_server = true
#define OUTSIDE .outside_subnet = true
#define BOTH .both_options = true

static const case_t cases[] = {
    {.name = "nothing", .steps = {SYN, SYNACK}},
    {.name = "SMC-R", .steps = {SYN, SYNACK, PROPOSAL, ACCEPT, CONFIRM, ROCE, DATA}},
    {.name = "no option in SYN-ACK", .steps = {SYN, SYNACK_WITHOUT},
     .fallback = {.frame = 2, .kind = SMCR_FALLBACK_NO_OPTION}},
    {.name = "no option twice", .steps = {SYN, SYNACK_WITHOUT, SYNACK_WITHOUT},
     .fallback = {.frame = 2, .kind = SMCR_FALLBACK_NO_OPTION}},
    {.name = "SYN-ACK retransmitted without", .steps = {SYN, SYNACK, SYNACK_WITHOUT}},
    {.name = "no option at all", .steps = {SYNACK_WITHOUT}},
    {.name = "data after the options", .steps = {SYN, SYNACK, DATA, DATA},
     .fallback = {.frame = 3, .kind = SMCR_FALLBACK_NO_CLC, BOTH}},
    {.name = "data after one option", .steps = {SYNACK, DATA},
     .fallback = {.frame = 2, .kind = SMCR_FALLBACK_NO_CLC}},
    {.name = "data after SYN", .steps = {SYN, DATA},
     .fallback = {.frame = 2, .kind = SMCR_FALLBACK_NO_CLC}},
    {.name = "data after Proposal", .steps = {SYN, SYNACK, PROPOSAL, DATA},
     .fallback = {.frame = 4, .kind = SMCR_FALLBACK_NO_ANSWER, .step = SMCR_CLC_PROPOSAL, BOTH}},
    {.name = "data after Accept", .steps = {PROPOSAL, ACCEPT, DATA},
     .fallback = {.frame = 3, .kind = SMCR_FALLBACK_NO_ANSWER, .step = SMCR_CLC_ACCEPT}},
    {.name = "declined first of all", .steps = {CLIENT_DECLINES}, .fallback = {DECLINED(1)}},
    {.name = "declined after Proposal", .steps = {SYN, SYNACK, PROPOSAL, SERVER_DECLINES},
     .fallback = {DECLINED(4), .step = SMCR_CLC_PROPOSAL, BY_SERVER, BOTH, OUTSIDE}},
    {.name = "declined after Accept", .steps = {PROPOSAL, ACCEPT, CLIENT_DECLINES, SERVER_DECLINES},
     .fallback = {DECLINED(3), .step = SMCR_CLC_ACCEPT, OUTSIDE}},
    {.name = "declined without RoCE", .steps = {PROPOSAL, ACCEPT, CONFIRM, SERVER_DECLINES, DATA},
     .fallback = {DECLINED(4), .step = SMCR_CLC_CONFIRM, BY_SERVER, OUTSIDE, .roce_missing = true}},
    {.name = "declined with RoCE", .steps = {PROPOSAL, ACCEPT, CONFIRM, ROCE, SERVER_DECLINES},
     .fallback = {DECLINED(5), .step = SMCR_CLC_CONFIRM, BY_SERVER, OUTSIDE}},
    {.name = "Decline after data", .steps = {PROPOSAL, DATA, SERVER_DECLINES},
     .fallback = {.frame = 2, .kind = SMCR_FALLBACK_NO_ANSWER, .step = SMCR_CLC_PROPOSAL}},
};

static void
play_message(capture_t *capture, smcr_conn_t *conn, int step)
{
    bool from_server = step == ACCEPT || step == SERVER_DECLINES;
    smcr_clc_t clc = {.header = {.flags = 0x18}, .complete = true, .usable = true};

    if (step == PROPOSAL) {
        clc.header.type = SMCR_CLC_PROPOSAL;
        clc.u.proposal =
            (smcr_clc_proposal_t){.has_ip_area = true, .subnet = {10}, .subnet_length = 24};
    } else if (step == ACCEPT || step == CONFIRM) {
        clc.header.type = step == ACCEPT ? SMCR_CLC_ACCEPT : SMCR_CLC_CONFIRM;
        clc.u.accept = announcement(step == ACCEPT ? SERVER : CLIENT);
    } else {
        clc.header.type = SMCR_CLC_DECLINE;
        clc.u.decline.diagnosis = DIAGNOSIS;
    }
    next_frame(capture, NULL);
    smcr_state_clc(&capture->arrival, conn, &clc, from_server);
}

static void
play_step(capture_t *capture, smcr_conn_t *conn, int step)
{
    if (step >= PROPOSAL && step <= SERVER_DECLINES) {
        play_message(capture, conn, step);
        return;
    }
    if (step == ROCE) {
        play_ack(capture, CLIENT, 1);
        return;
    }
    next_frame(capture, NULL);
    if (step == DATA)
        smcr_state_tcp_data(&capture->arrival, conn, false);
    else
        smcr_state_syn(capture->state, conn,
                       &(smcr_state_syn_t){.answer = step != SYN,
                                           .option = step == SYN || step == SYNACK,
                                           .when.frame = capture->frame});
}

static void
test_fallback(gconstpointer data)
{
    const case_t *expected = data;
    capture_t capture;

    capture_open(&capture);
    smcr_conn_t *conn = new_tcp(&capture, true);
    for (const int *step = expected->steps; *step != END; step++)
        play_step(&capture, conn, *step);
    const smcr_fallback_t *found = &conn->fallback, *wanted = &expected->fallback;
    g_assert_cmpuint(found->kind, ==, wanted->kind);
    g_assert_cmpuint(found->frame, ==, wanted->frame);
    g_assert_cmpuint(found->code, ==, wanted->code);
    g_assert_cmpuint(found->step, ==, wanted->step);
    g_assert_cmpint(found->by_server, ==, wanted->by_server);
    g_assert_cmpint(found->both_options, ==, wanted->both_options);
    g_assert_cmpint(found->outside_subnet, ==, wanted->outside_subnet);
    g_assert_cmpint(found->roce_missing, ==, wanted->roce_missing);
    capture_close(&capture);
}

/* Each direction ends once. */
static void
test_clc_ended(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_conn_t *conn = new_tcp(&capture, true);
    smcr_state_clc_ended(capture.state, conn, 1, 5);
    smcr_state_clc_ended(capture.state, conn, 1, 6);
    g_assert_cmpuint(conn->clc_end_frame[0], ==, 0);
    g_assert_cmpuint(conn->clc_end_frame[1], ==, 5);
    capture_close(&capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tcp/addresses", test_addresses);
    g_test_add_func("/tcp/end of CLC", test_clc_ended);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/tcp/fallback/%s", cases[i].name);
        g_test_add_data_func(path, &cases[i], test_fallback);
        g_free(path);
    }
    return g_test_run();
}
