/* The order of CLC on TCP by what segments acknowledge, and the point behind which there is no way
 * back, where TCP and RoCE are captured at one place or at two.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#define PROPOSAL SMCR_CLC_PROPOSAL
#define ACCEPT SMCR_CLC_ACCEPT
#define CONFIRM SMCR_CLC_CONFIRM
#define DECLINE SMCR_CLC_DECLINE
#define DATA 9
#define LENGTH 100U /* of every message */

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* Messages of a connection, in units of their length: who sends it, which one it is of its
 * direction, and how many of the other direction its sender had taken in. */
typedef struct {
    int sender;
    uint8_t type;
    uint32_t nth, taken;
    const char *events;
} message_t;

static const struct {
    const char *name;
    message_t messages[5];
} orders[] = {
    {"in order",
     {{.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = SERVER, .type = DECLINE, .taken = 1, .events = ""},
      {.sender = CLIENT, .type = DATA, .nth = 1, .taken = 1, .events = ""}}},
    {"twice",
     {{.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = CLIENT, .type = PROPOSAL, .nth = 1, .events = "clc_order"}}},
    {"retransmitted by TCP",
     {{.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = SERVER, .type = DECLINE, .taken = 1, .events = ""}}},
    {"a segment is absent",
     {{.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = CLIENT, .type = PROPOSAL, .nth = 2, .events = ""},
      {.sender = CLIENT, .type = PROPOSAL, .nth = 3, .events = ""}}},
    {"chases",
     {{.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = CLIENT, .type = DECLINE, .nth = 1, .events = "clc_decline_chases"}}},
    {"answered before",
     {{.sender = SERVER, .type = ACCEPT, .taken = 1, .events = ""},
      {.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = CLIENT, .type = DECLINE, .nth = 1, .taken = 1, .events = ""}}},
    {"answers what is absent",
     {{.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = CLIENT, .type = DECLINE, .nth = 1, .taken = 1, .events = ""}}},
    {"data",
     {{.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = CLIENT, .type = DATA, .nth = 1, .events = "clc_data_instead"}}},
    {"data behind what is absent",
     {{.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = CLIENT, .type = DATA, .nth = 1, .taken = 1, .events = ""}}},
    {"data of a server",
     {{.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = SERVER, .type = DATA, .taken = 1, .events = "clc_data_instead"}}},
    {"keepalive",
     {{.sender = CLIENT, .type = PROPOSAL, .events = ""},
      {.sender = CLIENT, .type = DATA, .events = ""}}},
};

static smcr_conn_t *
new_conn(capture_t *capture)
{
    smcr_state_tcp_t tcp = {.conversation = capture, .ipv4 = true};
    smcr_conn_t *conn = smcr_state_tcp(capture->state, &tcp);

    next_frame(capture, NULL);
    for (unsigned role = CLIENT; role <= SERVER; role++)
        smcr_state_syn(capture->state, conn,
                       &(smcr_state_syn_t){.answer = role == SERVER,
                                           .option = true,
                                           .first = UINT32_MAX,
                                           .when.frame = capture->frame});
    return conn;
}

static void
play_message(capture_t *capture, smcr_conn_t *conn, const message_t *message)
{
    uint32_t first = UINT32_MAX + message->nth * LENGTH; /* numbers wrap around */
    smcr_arrival_span_t span = {.first = first,
                                .end = first + LENGTH,
                                .acked_seq = UINT32_MAX + message->taken * LENGTH,
                                .has_syns = true};
    smcr_clc_t clc = {
        .header = {.type = message->type, .flags = 0x10}, .complete = true, .usable = true};

    next_frame(capture, NULL);
    capture->arrival.span = &span;
    if (message->type == DATA)
        smcr_state_tcp_data(&capture->arrival, conn, message->sender == SERVER);
    else
        smcr_state_clc(&capture->arrival, conn, &clc, message->sender == SERVER);
    g_assert_cmpstr(events(capture), ==, message->events);
}

static void
test_order(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    capture_t capture;

    capture_open(&capture);
    smcr_conn_t *conn = new_conn(&capture);
    for (const message_t *message = orders[i].messages; message->type; message++)
        play_message(&capture, conn, message);
    capture_close(&capture);
}

/* A first contact; LLC, letter by letter: CONFIRM LINK both ways (c), only its request (q), ADD
 * LINK request (o) and response (r), an acknowledgement of the last packet (a), some time (t), 499
 * ms (w), packets of another interface (i); then a Decline. */
static const struct {
    const char *name, *steps;
    int sender;
    const char *events;
} ways_back[] = {
    {.name = "at once", .steps = "", .sender = CLIENT, .events = ""},
    {.name = "not acknowledged", .steps = "ct", .sender = CLIENT, .events = ""},
    {.name = "just acknowledged", .steps = "ca", .sender = CLIENT, .events = ""},
    {.name = "confirmed", .steps = "cat", .sender = CLIENT, .events = "clc_decline_confirmed"},
    {.name = "confirmed, of the server", .steps = "cat", .sender = SERVER,
     .events = "clc_decline_confirmed"},
    {.name = "offered", .steps = "caoat", .sender = SERVER, .events = "clc_decline_late"},
    {.name = "offered, of the client", .steps = "caoat", .sender = CLIENT,
     .events = "clc_decline_confirmed"},
    {.name = "answered", .steps = "caorat", .sender = CLIENT, .events = "clc_decline_late"},
    {.name = "without response", .steps = "qawt", .sender = SERVER, .events = "llc_no_recovery"},
    {.name = "without response, of the client", .steps = "qawt", .sender = CLIENT, .events = ""},
    {.name = "without response, acknowledged late", .steps = "qwat", .sender = SERVER,
     .events = ""},
    {.name = "two places", .steps = "caorati", .sender = CLIENT, .events = ""},
};

static void
play_step(capture_t *capture, const smcr_conn_t *conn, char step)
{
    smcr_link_t *link = conn->side[0].link;
    uint32_t last = (uint32_t)(link->qp[CLIENT].traffic.flow.highest & SMCR_PSN_MASK);

    if (step == 'c') {
        confirm_first_link(capture);
    } else if (step == 'q') {
        play_confirm_link(capture, SERVER);
    } else if (step == 'o' || step == 'r') {
        bool response = step == 'r';
        play_llc(capture, response ? CLIENT : SERVER,
                 (smcr_llc_t){.type = SMCR_LLC_ADD_LINK,
                              .flags = response ? SMCR_LLC_FLAG_RESPONSE : 0,
                              .u.add_link = {.qpn = response ? 0x11 : 0x21, .link = 2}});
    } else if (step == 'a') {
        play_ack(capture, CLIENT, last);
        last = (uint32_t)(link->qp[SERVER].traffic.flow.highest & SMCR_PSN_MASK);
        play_ack(capture, SERVER, last);
    } else if (step == 't') {
        capture->time += 10 * MILLISECOND;
    } else if (step == 'w') {
        capture->time += 499 * MILLISECOND;
    } else {
        smcr_state_set_interface(capture->state, 1);
        smcr_state_set_interface(capture->state, 2);
    }
}

static void
test_way_back(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    smcr_clc_t decline = {.header = {.type = DECLINE, .flags = 0x10}, .complete = true};
    capture_t capture;

    capture_open(&capture);
    smcr_conn_t *conn = first_contact(&capture);
    for (const char *step = ways_back[i].steps; *step; step++)
        play_step(&capture, conn, *step);
    next_frame(&capture, NULL);
    smcr_state_clc(&capture.arrival, conn, &decline, ways_back[i].sender == SERVER);
    g_assert_cmpstr(events(&capture), ==, ways_back[i].events);
    capture_close(&capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(orders); i++) {
        char *path = g_strdup_printf("/rules_clc/order/%s", orders[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_order);
        g_free(path);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(ways_back); i++) {
        char *path = g_strdup_printf("/rules_clc/way back/%s", ways_back[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_way_back);
        g_free(path);
    }
    return g_test_run();
}
