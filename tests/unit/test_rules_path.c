/* Moves to another link that break a rule, and what must bear that out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include <string.h>

#define END (-1)
#define STOP {.side = END}
#define F SMCR_CDC_FLAG_FAILOVER
#define DONE SMCR_CDC_STATE_SENDING_DONE
#define CLOSED SMCR_CDC_STATE_CLOSED

/* The queue pairs of link 2. */
#define CLIENT_2 key_of(0x11, 0x30)
#define SERVER_2 key_of(0x12, 0x40)

/* A message of the connection that first_contact() begins. */
typedef struct {
    int side; /* sender */
    uint16_t seq;
    uint8_t flags, state;
    bool on_second; /* over link 2 */
    const char *events;
} step_t;

#define MOVE "move_not_validated conn_moved" /* in doubt until the receiver has gone on */

static const struct {
    const char *name;
    step_t steps[6];
    bool holds; /* what the second step claims, at the end */
} cases[] = {
    {.name = "receiver goes on",
     .steps = {
        {.side = CLIENT, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 2, .on_second = 1, .events = MOVE},
        {.side = SERVER, .seq = 1, .events = ""},
        {.side = SERVER, .seq = 2, .flags = F, .on_second = 1, .events = "conn_moved"}, STOP},
     .holds = true},
    {.name = "receiver says nothing on one link",
     .steps = {
        {.side = CLIENT, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 2, .on_second = 1, .events = MOVE},
        {.side = SERVER, .seq = 1, .events = ""}, STOP}},
    {.name = "receiver has closed",
     .steps = {
        {.side = CLIENT, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 2, .on_second = 1, .events = MOVE},
        {.side = SERVER, .seq = 1, .state = CLOSED, .events = "conn_closed"},
        {.side = SERVER, .seq = 1, .flags = F, .on_second = 1, .events = "conn_moved"}, STOP}},
    {.name = "closed before, as Linux moves it",
     .steps = {
        {.side = CLIENT, .seq = 1, .state = DONE, .events = "conn_sending_done"},
        {.side = CLIENT, .seq = 2, .state = DONE, .on_second = 1, .events = "conn_moved"}, STOP}},
    {.name = "validated",
     .steps = {
        {.side = CLIENT, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 1, .flags = F, .on_second = 1, .events = "conn_moved"},
        {.side = CLIENT, .seq = 2, .on_second = 1, .events = ""}, STOP}},
    {.name = "validated with what is still to come",
     .steps = {
        {.side = CLIENT, .seq = 1, .events = ""},
        {.side = CLIENT, .seq = 2, .flags = F, .on_second = 1, .events = "conn_moved"},
        {.side = CLIENT, .seq = 2, .on_second = 1, .events = "move_number"},
        {.side = CLIENT, .seq = 3, .on_second = 1, .events = ""}, STOP}},
};

/* A second link, of which the capture has all requests. */
static void
add_second_link(capture_t *capture, const smcr_conn_t *conn)
{
    smcr_link_t *link = smcr_link_new(capture->state, conn->lgr);
    smcr_ib_qp_key_t keys[] = {CLIENT_2, SERVER_2};
    smcr_llc_t test = {.type = SMCR_LLC_TEST_LINK};

    for (int side = 0; side < 2; side++) {
        smcr_qp_set(capture->state, link, side, &keys[side], SMCR_GROUND_CLC);
        smcr_flow_announce(&link->qp[side].traffic.flow, 5000);
    }
    play_llc_on(capture, 0x11, SERVER_2, AUTO_PSN, test);
    play_llc_on(capture, 0x12, CLIENT_2, AUTO_PSN, test);
    smcr_link_activate(link);
}

static void
play_step(capture_t *capture, const step_t *step)
{
    smcr_cdc_t cdc = {
        .seq = step->seq,
        .token = step->side == CLIENT ? SERVER_TOKEN : CLIENT_TOKEN,
        .flags = step->flags,
        .state = step->state,
    };

    if (step->on_second)
        play_cdc_on(capture, step->side == CLIENT ? 0x11 : 0x12,
                    step->side == CLIENT ? SERVER_2 : CLIENT_2, AUTO_PSN, cdc);
    else
        play_cdc(capture, step->side, cdc);
}

static void
test_case(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    const smcr_doubt_proof_t *claim = NULL;
    capture_t capture;

    capture_open(&capture);
    smcr_conn_t *conn = first_contact(&capture);
    confirm_first_link(&capture);
    add_second_link(&capture, conn);
    for (const step_t *step = cases[i].steps; step->side != END; step++) {
        play_step(&capture, step);
        g_assert_cmpstr(events(&capture), ==, step->events);
        if (step == &cases[i].steps[1])
            claim = capture.record.events->deferred_check;
    }
    g_assert_true((claim && smcr_doubt_proof_holds(capture.state, claim)) == cases[i].holds);
    capture_close(&capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/rules/move/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    return g_test_run();
}
