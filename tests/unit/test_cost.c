/* What an abnormal close, a silent peer or the end of a link group costs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define LOST(unread, unannounced) \
    unread " bytes announced and not reported as read so far, " unannounced \
           " written and not announced"

/* The client writes and announces, the server reads; then one thing ends it. */
static const struct {
    const char *name;
    uint32_t written, announced, read; /* bytes of the client's stream */
    bool lossy;                        /* the capture lacks a packet of the server */
    const char *cost;                  /* what is said of it; NULL: nothing */
} cases[] = {
    {.name = "nothing under way", .written = 100, .announced = 100, .read = 100},
    {.name = "not read", .written = 100, .announced = 100, .read = 40, .cost = LOST("60", "0")},
    {.name = "not announced", .written = 100, .cost = LOST("0", "100")},
    {.name = "both", .written = 300, .announced = 200, .read = 50, .cost = LOST("150", "100")},
    {.name = "not known", .written = 300, .announced = 200, .read = 50, .lossy = true},
};

/* What was said about the last frame by this event; NULL: nothing. */
static const char *
said(const capture_t *capture, smcr_event_id_t id)
{
    for (const smcr_event_t *event = capture->record.events; event; event = event->next)
        if (event->id == id)
            return event->text;
    return NULL;
}

static void
check(const char *text, const char *begin, const char *cost)
{
    char *whole = cost ? g_strdup_printf("%s: %s", begin, cost) : g_strdup(begin);

    g_assert_cmpstr(text, ==, whole);
    g_free(whole);
}

/* Returns the client's last sequence number. */
static uint16_t
begin(capture_t *capture, unsigned i)
{
    uint16_t seq = 0;

    capture_open(capture);
    first_contact(capture);
    confirm_first_link(capture);
    play_write(capture, CLIENT, SERVER_RKEY, SERVER_VA, cases[i].written);
    play_cdc(capture, SERVER, (smcr_cdc_t){.seq = 1, .token = CLIENT_TOKEN});
    if (cases[i].announced)
        play_cdc(capture, CLIENT, (smcr_cdc_t){.seq = ++seq, .token = SERVER_TOKEN,
                                               .prod = {0, cases[i].announced}});
    play_cdc(capture, SERVER, (smcr_cdc_t){.seq = 2, .token = CLIENT_TOKEN,
                                           .cons = {0, cases[i].read}});
    if (cases[i].lossy) {
        smcr_ib_qp_key_t target = qp_of_side(CLIENT);
        smcr_qp_find(capture->state, &target)->traffic.flow.expected_psn++;
        play_llc(capture, SERVER, (smcr_llc_t){.type = SMCR_LLC_TEST_LINK});
    }
    return seq;
}

static void
test_abort(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    capture_t capture;
    uint16_t seq = begin(&capture, i);

    play_cdc(&capture, CLIENT, (smcr_cdc_t){.seq = (uint16_t)(seq + 1), .token = SERVER_TOKEN,
                                            .prod = {0, cases[i].announced},
                                            .state = SMCR_CDC_STATE_ABORT});
    check(said(&capture, SMCR_EVENT_conn_aborted), "Abnormal close", cases[i].cost);
    capture_close(&capture);
}

static void
test_group(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    static const smcr_llc_t ends[] = {
        {.type = SMCR_LLC_DELETE_LINK, .flags = SMCR_LLC_FLAG_ALL, .u.delete_link = {0, 0x30000}},
        {.type = SMCR_LLC_DELETE_LINK, .u.delete_link = {1, 0x10000}},
    };

    for (unsigned end = 0; end < G_N_ELEMENTS(ends); end++) {
        capture_t capture;
        begin(&capture, i);
        play_llc(&capture, SERVER, ends[end]);
        if (cases[i].lossy) { /* it may have closed */
            g_assert_null(said(&capture, SMCR_EVENT_lgr_lost));
            capture_close(&capture);
            continue;
        }
        check(said(&capture, SMCR_EVENT_lgr_lost), "The link group ends with 1 open connection",
              cases[i].cost);
        capture_close(&capture);
    }
}

/* A connection that both sides have closed is not lost. */
static void
test_closed(void)
{
    capture_t capture;

    capture_open(&capture);
    first_contact(&capture);
    confirm_first_link(&capture);
    for (int side = CLIENT; side <= SERVER; side++)
        play_cdc(&capture, side, (smcr_cdc_t){.seq = 1, .state = SMCR_CDC_STATE_CLOSED,
                                              .token = side ? CLIENT_TOKEN : SERVER_TOKEN});
    play_llc(&capture, SERVER, (smcr_llc_t){.type = SMCR_LLC_DELETE_LINK,
                                            .flags = SMCR_LLC_FLAG_ALL,
                                            .u.delete_link = {0, 0x30000}});
    g_assert_cmpstr(events(&capture), ==, "lgr_ended");
    capture_close(&capture);
}

static void
test_silence(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    smcr_ib_qp_key_t target = qp_of_side(SERVER);
    smcr_ib_headers_t ping = {.opcode = SMCR_RC_SEND_ONLY};
    capture_t capture;

    begin(&capture, i);
    uint32_t psn = play(&capture, HOST(CLIENT), target, AUTO_PSN, ping);
    for (unsigned again = 0; again < 3; again++) {
        g_assert_null(said(&capture, SMCR_EVENT_silent));
        play(&capture, HOST(CLIENT), target, psn, ping);
    }
    check(said(&capture, SMCR_EVENT_silent),
          "Peer silent: third retransmission of the packet, no answer",
          cases[i].cost);
    capture_close(&capture);
}

static void
add(const char *kind, unsigned i, GTestDataFunc test)
{
    char *path = g_strdup_printf("/cost/%s/%s", kind, cases[i].name);

    g_test_add_data_func(path, GUINT_TO_POINTER(i), test);
    g_free(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        add("abort", i, test_abort);
        add("group", i, test_group);
        add("silence", i, test_silence);
    }
    g_test_add_func("/cost/closed", test_closed);
    return g_test_run();
}
