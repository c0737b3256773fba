/* Rules of LLC messages whose breaches do no harm, and what an exchange side by side needs for
 * proof.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include <string.h>

#define SECOND (1000 * MILLISECOND)

static void
begin(capture_t *capture)
{
    capture_open(capture);
    first_contact(capture);
    confirm_first_link(capture);
}

static smcr_llc_t
message(uint8_t type, uint8_t flags)
{
    return (smcr_llc_t){.type = type, .length = 44, .flags = flags, .complete = true};
}

static smcr_llc_t
delete_link(uint8_t flags, uint8_t link, uint32_t reason)
{
    smcr_llc_t llc = message(SMCR_LLC_DELETE_LINK, flags);

    llc.u.delete_link.link = link;
    llc.u.delete_link.reason = reason;
    return llc;
}

static smcr_llc_t
confirm_rkey(uint8_t flags, uint32_t rkey)
{
    smcr_llc_t llc = message(SMCR_LLC_CONFIRM_RKEY, flags);

    llc.u.confirm_rkey.rkey = rkey;
    return llc;
}

static bool
has_event(const capture_t *capture, const char *name)
{
    char **names = g_strsplit(events(capture), " ", 0);
    bool found = g_strv_contains((const char *const *)names, name);

    g_strfreev(names);
    return found;
}

/* ---- DELETE LINK: smcr.delete_link.reason_kind, smcr.llc.on_unwanted ---- */

static const struct {
    const char *name;
    int side;
    uint8_t flags;
    uint32_t reason;
    bool kind; /* the reason is not one that this sender may give */
} reasons[] = {
    {.name = "server", .side = SERVER, .reason = SMCR_LLC_DELETE_PROGRAM},
    {.name = "client", .side = CLIENT, .reason = SMCR_LLC_DELETE_OPERATOR},
    {.name = "client, nobody uses it", .side = CLIENT, .reason = SMCR_LLC_DELETE_PROGRAM,
     .kind = true},
    {.name = "client, nobody uses the group", .side = CLIENT, .flags = SMCR_LLC_FLAG_ALL,
     .reason = SMCR_LLC_DELETE_PROGRAM},
    {.name = "a response's", .side = SERVER, .reason = SMCR_LLC_DELETE_UNKNOWN_LINK, .kind = true},
    {.name = "response", .side = CLIENT, .flags = SMCR_LLC_FLAG_RESPONSE,
     .reason = SMCR_LLC_DELETE_UNKNOWN_LINK},
};

static void
test_reason(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    capture_t capture;

    begin(&capture);
    play_llc(&capture, reasons[i].side, delete_link(reasons[i].flags, 9, reasons[i].reason));
    g_assert_true(has_event(&capture, "delete_link_reason_kind") == reasons[i].kind);
    capture_close(&capture);
}

/* A client that asks to delete a link ignores what comes over it: but what had come before. */
static void
test_unwanted(void)
{
    capture_t capture;

    begin(&capture);
    play_llc(&capture, SERVER, confirm_rkey(0, 1));
    play_llc(&capture, CLIENT, delete_link(0, 1, SMCR_LLC_DELETE_OPERATOR));
    capture.time += MILLISECOND;
    play_llc(&capture, SERVER, confirm_rkey(0, 2));
    play_llc(&capture, CLIENT, confirm_rkey(SMCR_LLC_FLAG_RESPONSE, 1));
    g_assert_false(has_event(&capture, "llc_on_unwanted"));
    play_llc(&capture, CLIENT, confirm_rkey(SMCR_LLC_FLAG_RESPONSE, 2));
    g_assert_true(has_event(&capture, "llc_on_unwanted"));
    capture_close(&capture);
}

/* ---- wishes: smcr.llc.wish_ignored ---- */

/* The client asks for a link; whether the server adds one; whether the capture goes on for five
 * seconds. */
static void
play_wish(bool adds, bool goes_on, bool ignored)
{
    smcr_llc_t test = message(SMCR_LLC_TEST_LINK, 0), offer = message(SMCR_LLC_ADD_LINK, 0);
    capture_t capture;

    begin(&capture);
    play_llc(&capture, CLIENT, offer);
    g_assert_true(has_event(&capture, "llc_wish_ignored"));
    const smcr_doubt_proof_t *claim = capture.record.events->deferred_check;
    offer.u.add_link.qpn = 0x30;
    offer.u.add_link.link = 2;
    if (adds)
        play_llc(&capture, SERVER, offer);
    capture.time += goes_on ? 6 * SECOND : 4 * SECOND;
    play_llc(&capture, SERVER, test);
    capture.state->last_time = capture.time;
    g_assert_true(smcr_doubt_proof_holds(capture.state, claim) == ignored);
    capture_close(&capture);
}

static void
test_wish(void)
{
    play_wish(false, true, true);
    play_wish(false, false, false);
    play_wish(true, true, false);
}

/* ---- exchanges side by side: smcr.llc.overlap ---- */

/* The server begins CONFIRM RKEY while another one of its own is open; the response to that comes
 * so many milliseconds later: 0, never. */
static void
play_overlap(unsigned later, bool proven)
{
    capture_t capture;

    begin(&capture);
    play_llc(&capture, SERVER, confirm_rkey(0, 1));
    smcr_ib_qp_key_t client = qp_of_side(CLIENT);
    const smcr_flow_t *flow = &smcr_qp_find(capture.state, &client)->traffic.flow;
    play_ack(&capture, CLIENT, (uint32_t)(flow->highest & SMCR_PSN_MASK));
    play_llc(&capture, SERVER, confirm_rkey(0, 2));
    g_assert_true(has_event(&capture, "llc_overlap"));
    const smcr_doubt_proof_t *claim = capture.record.events->deferred_check;
    g_assert_false(smcr_doubt_proof_holds(capture.state, claim));
    if (later) {
        capture.time += (later - 1) * MILLISECOND;
        play_llc(&capture, CLIENT, confirm_rkey(SMCR_LLC_FLAG_RESPONSE, 1));
    }
    g_assert_true(smcr_doubt_proof_holds(capture.state, claim) == proven);
    capture_close(&capture);
}

static void
test_overlap(void)
{
    play_overlap(5, true);
    play_overlap(0, false);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(reasons); i++) {
        char *path = g_strdup_printf("/rules_llc/reason/%s", reasons[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_reason);
        g_free(path);
    }
    g_test_add_func("/rules_llc/unwanted", test_unwanted);
    g_test_add_func("/rules_llc/wish", test_wish);
    g_test_add_func("/rules_llc/overlap", test_overlap);
    return g_test_run();
}
