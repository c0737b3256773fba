/* Rules of RTokens that no capture shows well: how many RMBs a side may have, and what only strict
 * users are told of.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#define RESPONSE SMCR_LLC_FLAG_RESPONSE
#define REFUSED (RESPONSE | SMCR_LLC_FLAG_NEGATIVE | SMCR_LLC_FLAG_RETRY)
#define RKEY 0x5000U
#define SECOND (1000 * MILLISECOND)

typedef struct {
    capture_t capture;
    smcr_conn_t *conn;
    smcr_lgr_t *lgr;
} scene_t;

/* A first contact, its link confirmed; both sides have sent a CDC message. */
static void
begin(scene_t *scene)
{
    capture_open(&scene->capture);
    scene->conn = first_contact(&scene->capture);
    scene->lgr = scene->conn->lgr;
    confirm_first_link(&scene->capture);
    play_cdc(&scene->capture, SERVER, (smcr_cdc_t){.seq = 1, .token = CLIENT_TOKEN});
    play_cdc(&scene->capture, CLIENT, (smcr_cdc_t){.seq = 1, .token = SERVER_TOKEN});
}

static void
confirm_rkey(scene_t *scene, int side, uint8_t flags, uint32_t rkey, uint64_t va)
{
    play_llc(&scene->capture, side,
             (smcr_llc_t){.type = SMCR_LLC_CONFIRM_RKEY,
                          .flags = flags,
                          .u.confirm_rkey = {.rkey = rkey, .va = va}});
}

static void
delete_rkey(scene_t *scene, int side, uint8_t flags, uint32_t rkey)
{
    smcr_rtoken_t rtoken = {.rkey = rkey};

    play_llc(&scene->capture, side,
             (smcr_llc_t){.type = SMCR_LLC_DELETE_RKEY,
                          .flags = flags,
                          .u.delete_rkey = {1, 0},
                          .rtoken_count = 1,
                          .rtokens_in_message = &rtoken});
}

/* Whether the last frame says so, and what has come since bears it out. */
static bool
says(const scene_t *scene, const smcr_event_t *event, smcr_event_id_t id)
{
    scene->capture.state->last_time = scene->capture.time;
    return event && event->id == id &&
           (!event->deferred_check ||
            smcr_doubt_proof_holds(scene->capture.state, event->deferred_check));
}

static void
go_on(scene_t *scene)
{
    smcr_llc_t test = {.type = SMCR_LLC_TEST_LINK};

    play_llc(&scene->capture, SERVER, test);
    play_llc(&scene->capture, CLIENT, test);
}

/* smcr.rkey.too_many: the first RMB is that of the connection; one that is withdrawn counts no
 * more. (R-2.1-1) */
static void
test_number(void)
{
    scene_t scene;

    begin(&scene);
    for (unsigned i = 1; i < SMCR_RMBS_MAX; i++) {
        confirm_rkey(&scene, CLIENT, 0, RKEY + i, RKEY * i);
        g_assert_cmpstr(events(&scene.capture), ==, "");
        confirm_rkey(&scene, SERVER, RESPONSE, RKEY + i, RKEY * i);
    }
    g_assert_cmpuint(scene.lgr->rmb_count[CLIENT], ==, SMCR_RMBS_MAX);
    delete_rkey(&scene, CLIENT, 0, RKEY + 7);
    delete_rkey(&scene, SERVER, RESPONSE, RKEY + 7);
    g_assert_cmpuint(scene.lgr->rmb_count[CLIENT], ==, SMCR_RMBS_MAX - 1);
    confirm_rkey(&scene, CLIENT, 0, RKEY + 1000, 1);
    g_assert_cmpstr(events(&scene.capture), ==, "");
    confirm_rkey(&scene, CLIENT, 0, RKEY + 1001, 1);
    g_assert_cmpstr(events(&scene.capture), ==, "rkey_too_many");
    const smcr_event_t *event = scene.capture.record.events;
    g_assert_false(says(&scene, event, SMCR_EVENT_rkey_too_many));
    go_on(&scene);
    g_assert_true(says(&scene, event, SMCR_EVENT_rkey_too_many));
    capture_close(&scene.capture);
}

/* smcr.rkey.again: the RMB of an open connection, with its address. (R-A.3.5-8) */
static void
test_again(void)
{
    scene_t scene;

    begin(&scene);
    confirm_rkey(&scene, CLIENT, 0, CLIENT_RKEY, CLIENT_VA);
    g_assert_cmpstr(events(&scene.capture), ==, "rkey_again");
    const smcr_event_t *event = scene.capture.record.events;
    go_on(&scene);
    g_assert_true(says(&scene, event, SMCR_EVENT_rkey_again));
    capture_close(&scene.capture);
}

/* The same, but the connection has ended. Where that was on another link, nobody knows which came
 * first. */
static void
test_ended(void)
{
    scene_t scene;
    smcr_cdc_t closed = {.seq = 2, .token = SERVER_TOKEN, .state = SMCR_CDC_STATE_CLOSED};

    begin(&scene);
    confirm_rkey(&scene, CLIENT, 0, CLIENT_RKEY, CLIENT_VA + 1);
    g_assert_cmpstr(events(&scene.capture), ==, "rkey_in_use");
    const smcr_event_t *event = scene.capture.record.events;
    play_cdc(&scene.capture, CLIENT, closed);
    go_on(&scene);
    g_assert_true(says(&scene, event, SMCR_EVENT_rkey_in_use));
    scene.conn->side[SERVER].last_cdc_received.qp = &scene.lgr->newest_link->qp[CLIENT];
    g_assert_false(says(&scene, event, SMCR_EVENT_rkey_in_use));
    capture_close(&scene.capture);

    begin(&scene);
    play_cdc(&scene.capture, CLIENT, closed);
    confirm_rkey(&scene, CLIENT, 0, CLIENT_RKEY, CLIENT_VA + 1);
    g_assert_cmpstr(events(&scene.capture), ==, "");
    capture_close(&scene.capture);
}

/* smcr.rkey.not_retried: for 5 seconds after a negative response with retry flag. (R-3.5.5.3-6) */
static void
test_retry(gconstpointer data)
{
    bool retried = GPOINTER_TO_INT(data);
    scene_t scene;

    begin(&scene);
    confirm_rkey(&scene, CLIENT, 0, RKEY, 1);
    confirm_rkey(&scene, SERVER, REFUSED, RKEY, 1);
    g_assert_cmpstr(events(&scene.capture), ==, "rkey_not_retried");
    const smcr_event_t *event = scene.capture.record.events;
    if (retried)
        confirm_rkey(&scene, CLIENT, 0, RKEY, 1);
    scene.capture.time += 4 * SECOND;
    go_on(&scene);
    g_assert_false(says(&scene, event, SMCR_EVENT_rkey_not_retried));
    scene.capture.time += 2 * SECOND;
    go_on(&scene);
    g_assert_true(says(&scene, event, SMCR_EVENT_rkey_not_retried) == !retried);
    capture_close(&scene.capture);
}

/* smcr.rkey.accepted_in_change: a CONFIRM RKEY of the client that crosses DELETE LINK, or comes
 * long after it. (R-3.5.5.3-5) */
static void
test_change(gconstpointer data)
{
    bool late = GPOINTER_TO_INT(data);
    smcr_llc_t asked = {.type = SMCR_LLC_DELETE_LINK, .u.delete_link = {.link = 9}};
    scene_t scene;

    begin(&scene);
    play_llc(&scene.capture, SERVER, asked);
    confirm_rkey(&scene, CLIENT, 0, RKEY, 1);
    scene.capture.time += late ? 3 * SECOND : 0;
    confirm_rkey(&scene, SERVER, RESPONSE, RKEY, 1);
    bool said = scene.capture.record.events &&
                scene.capture.record.events->id == SMCR_EVENT_rkey_accepted_in_change;
    g_assert_true(said == !late);
    capture_close(&scene.capture);
}

/* smcr.rkey.clc_early: the Accept of a later contact; the CONFIRM RKEY of its RMB is answered
 * before or afterwards. (R-3.5.5.2.1-2) */
static void
test_early(gconstpointer data)
{
    bool early = GPOINTER_TO_INT(data);
    scene_t scene;
    smcr_clc_accept_t accept = announcement(SERVER);

    begin(&scene);
    accept.rkey = RKEY;
    confirm_rkey(&scene, SERVER, 0, RKEY, accept.va);
    if (!early)
        confirm_rkey(&scene, CLIENT, RESPONSE, RKEY, accept.va);
    play_accept(&scene.capture, smcr_conn_new(scene.capture.state), false, &accept);
    const smcr_event_t *event = scene.capture.record.events;
    while (event && event->id != SMCR_EVENT_rkey_clc_early)
        event = event->next;
    scene.capture.time += SECOND;
    if (early)
        confirm_rkey(&scene, CLIENT, RESPONSE, RKEY, accept.va);
    g_assert_true(says(&scene, event, SMCR_EVENT_rkey_clc_early) == early);
    capture_close(&scene.capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rules/rkey/number", test_number);
    g_test_add_func("/rules/rkey/again", test_again);
    g_test_add_func("/rules/rkey/ended", test_ended);
    g_test_add_data_func("/rules/rkey/retry/none", GINT_TO_POINTER(false), test_retry);
    g_test_add_data_func("/rules/rkey/retry/comes", GINT_TO_POINTER(true), test_retry);
    g_test_add_data_func("/rules/rkey/change/now", GINT_TO_POINTER(false), test_change);
    g_test_add_data_func("/rules/rkey/change/late", GINT_TO_POINTER(true), test_change);
    g_test_add_data_func("/rules/rkey/early", GINT_TO_POINTER(true), test_early);
    g_test_add_data_func("/rules/rkey/in-time", GINT_TO_POINTER(false), test_early);
    return g_test_run();
}
