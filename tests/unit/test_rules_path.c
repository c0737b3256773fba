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
    {"receiver goes on", {
        {CLIENT, 1, 0, 0, 0, ""}, {CLIENT, 2, 0, 0, 1, MOVE}, {SERVER, 1, 0, 0, 0, ""},
        {SERVER, 2, F, 0, 1, "conn_moved"}, STOP}, true},
    {"receiver says nothing on one link", {
        {CLIENT, 1, 0, 0, 0, ""}, {CLIENT, 2, 0, 0, 1, MOVE}, {SERVER, 1, 0, 0, 0, ""}, STOP},
        false},
    {"receiver has closed", {
        {CLIENT, 1, 0, 0, 0, ""}, {CLIENT, 2, 0, 0, 1, MOVE},
        {SERVER, 1, 0, CLOSED, 0, "conn_closed"}, {SERVER, 1, F, 0, 1, "conn_moved"}, STOP}, false},
    {"closed before, as Linux moves it", {
        {CLIENT, 1, 0, DONE, 0, "conn_sending_done"},
        {CLIENT, 2, 0, DONE, 1, "conn_moved"}, STOP}, false},
    {"validated", {
        {CLIENT, 1, 0, 0, 0, ""}, {CLIENT, 1, F, 0, 1, "conn_moved"},
        {CLIENT, 2, 0, 0, 1, ""}, STOP},
        false},
    {"validated with what is still to come", {
        {CLIENT, 1, 0, 0, 0, ""}, {CLIENT, 2, F, 0, 1, "conn_moved"},
        {CLIENT, 2, 0, 0, 1, "move_number"}, {CLIENT, 3, 0, 0, 1, ""}, STOP}, false},
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
        smcr_flow_start(&link->qp[side].traffic.flow, 5000);
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
            claim = capture.record.events->claim;
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
