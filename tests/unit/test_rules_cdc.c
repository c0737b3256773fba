/* Rules of CDC messages and of the RDMA WRITEs between them: urgent data, and how connections end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include <string.h>

#define LENGTH 10 /* bytes of each RDMA WRITE */

/*
 * What happens on the first connection of a group, letter by letter. The client writes (w),
 * announces that (a), or announces it as urgent (u); it announces what it has not written (e); it
 * is done with sending (d), closes (c), aborts (x), says nothing new (p), or sets a reserved bit
 * beside the flags of the end (r). The server says nothing new (P), reads all (R) or more than that
 * (Q), is done with sending (D), closes (C), or aborts (X). All that was sent to the server (k) or
 * to the client (K) is acknowledged. 10 ms pass (_), or 0.5 s (=). The capture lacks a packet of
 * the server (l) or of the client (L). 3 s pass, and both sides test the link (t).
 */
static const struct {
    const char *name, *letters;
    const char *breaches; /* events, of those that are looked at */
} cases[] = {
    {.name = "all in order", .letters = "waRwakKRcCt", .breaches = ""},
    {.name = "announced early", .letters = "wae", .breaches = "cdc_announced_early"},
    {.name = "announced early, lossy", .letters = "waLe", .breaches = ""},
    {.name = "first announced early", .letters = "e", .breaches = "cdc_announced_early"},
    {.name = "read unsent", .letters = "waQt", .breaches = "cdc_read_unsent"},
    {.name = "read unsent, not known", .letters = "waQ", .breaches = ""},
    {.name = "read unsent, out of order", .letters = "waQwat", .breaches = ""},
    {.name = "urgent, answered", .letters = "wuPwat", .breaches = ""},
    {.name = "urgent, overrun", .letters = "wuw=aPt", .breaches = "cdc_urgent_overrun"},
    {.name = "urgent, out of order", .letters = "wuwaPt", .breaches = ""},
    {.name = "urgent, overrun, lossy", .letters = "wulw=aPt", .breaches = ""},
    {.name = "urgent, unanswered", .letters = "wut", .breaches = "cdc_urgent_unanswered"},
    {.name = "urgent, unanswered, lossy", .letters = "wult", .breaches = ""},
    {.name = "done, then a WRITE", .letters = "wadwt", .breaches = "write_after_close"},
    {.name = "done, then a WRITE, not known", .letters = "wadw", .breaches = ""},
    {.name = "closed, then a WRITE", .letters = "wacwt", .breaches = "write_after_close"},
    {.name = "both closed, then a WRITE", .letters = "wacCwt", .breaches = "write_after_end"},
    {.name = "aborted, then a WRITE", .letters = "waxXwt", .breaches = "write_after_end"},
    {.name = "aborted, then a WRITE, lossy", .letters = "waxXLwt", .breaches = ""},
    {.name = "reader closed, WRITE under way", .letters = "waRCwt", .breaches = ""},
    {.name = "reader closed, WRITE", .letters = "waRCK_wt", .breaches = "write_after_close"},
    {.name = "closed unread", .letters = "wak_C", .breaches = "cdc_closed_unread"},
    {.name = "closed unread, not acknowledged", .letters = "wa_C", .breaches = ""},
    {.name = "closed unread, on its way", .letters = "wakC", .breaches = ""},
    {.name = "closed unread, some of it", .letters = "wakRwa_C", .breaches = ""},
    {.name = "closed, all read", .letters = "wak_RC", .breaches = ""},
    {.name = "aborted unread", .letters = "wak_Xx", .breaches = ""},
    {.name = "closed unannounced", .letters = "wc", .breaches = "cdc_closed_unannounced"},
    {.name = "done unannounced", .letters = "wawd", .breaches = "cdc_closed_unannounced"},
    {.name = "a reserved bit is no end", .letters = "wr", .breaches = ""},
    {.name = "done withdrawn", .letters = "dp", .breaches = "cdc_flag_withdrawn"},
    {.name = "done with a reserved bit, withdrawn", .letters = "drp",
     .breaches = "cdc_flag_withdrawn"},
    {.name = "done, then closed", .letters = "dc", .breaches = ""},
    {.name = "abort unanswered", .letters = "xt", .breaches = "cdc_abort_unanswered"},
    {.name = "abort unanswered, lossy", .letters = "xlt", .breaches = ""},
    {.name = "abort answered", .letters = "xXt", .breaches = ""},
    {.name = "abort of who was done", .letters = "Dxt", .breaches = ""},
};

static const smcr_event_id_t looked_at[] = {
    SMCR_EVENT_cdc_announced_early, SMCR_EVENT_cdc_read_unsent, SMCR_EVENT_cdc_urgent_overrun,
    SMCR_EVENT_cdc_urgent_unanswered, SMCR_EVENT_cdc_abort_unanswered,
    SMCR_EVENT_cdc_flag_withdrawn, SMCR_EVENT_cdc_closed_unread,
    SMCR_EVENT_cdc_closed_unannounced, SMCR_EVENT_write_after_end, SMCR_EVENT_write_after_close,
    SMCR_EVENT_cdc_after_close, SMCR_EVENT_cdc_after_done, SMCR_EVENT_cdc_cursor_ahead,
};

#define EXPERT(ei, filter, group, severity, sentence) [SMCR_EVENT_##ei] = #ei,
static const char *const names[] = {
#include "experts.def"
};

typedef struct {
    capture_t capture;
    smcr_cdc_t last[2];  /* message of each side */
    uint32_t written;    /* bytes of the client */
    GPtrArray *found;    /* events */
} scene_t;

static bool
is_looked_at(const smcr_event_t *event)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(looked_at); i++)
        if (event->id == looked_at[i])
            return true;
    return false;
}

static void
note_events(scene_t *scene)
{
    for (smcr_event_t *event = scene->capture.record.events; event; event = event->next)
        if (is_looked_at(event))
            g_ptr_array_add(scene->found, event);
}

static smcr_flow_t *
flow_to(scene_t *scene, int side)
{
    smcr_ib_qp_key_t target = qp_of_side(side);

    return &smcr_qp_find(scene->capture.state, &target)->traffic.flow;
}

static void
say(scene_t *scene, int side, uint8_t flags, uint8_t state)
{
    smcr_cdc_t *last = &scene->last[side];

    last->seq++;
    last->token = side == CLIENT ? SERVER_TOKEN : CLIENT_TOKEN;
    last->flags = flags;
    last->state |= state;
    play_cdc(&scene->capture, side, *last);
    note_events(scene);
}

static void
play_data(scene_t *scene, char letter)
{
    if (letter == 'w') {
        play_write(&scene->capture, CLIENT, SERVER_RKEY, SERVER_VA + scene->written, LENGTH);
        scene->written += LENGTH;
        note_events(scene);
        return;
    }
    scene->last[CLIENT].prod.count = scene->written + (letter == 'e' ? LENGTH : 0);
    say(scene, CLIENT,
        letter == 'u' ? SMCR_CDC_FLAG_URGENT_PENDING | SMCR_CDC_FLAG_URGENT_PRESENT : 0, 0);
}

static void
play_reading(scene_t *scene, char letter)
{
    scene->last[SERVER].cons.count = scene->last[CLIENT].prod.count + (letter == 'Q' ? 9 : 0);
    say(scene, SERVER, 0, 0);
}

static void
play_end(scene_t *scene, char letter)
{
    static const struct {
        char letter;
        uint8_t state;
    } ends[] = {{'d', SMCR_CDC_STATE_SENDING_DONE},
                {'c', SMCR_CDC_STATE_CLOSED},
                {'x', SMCR_CDC_STATE_ABORT},
                {'r', 0x01},
                {'p', 0}};
    int side = g_ascii_isupper(letter) ? SERVER : CLIENT;

    for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++) {
        if (ends[i].letter != g_ascii_tolower(letter))
            continue;
        if (!ends[i].state)
            scene->last[side].state = 0;
        say(scene, side, 0, ends[i].state);
    }
}

static void
play_test(scene_t *scene)
{
    scene->capture.time += 3000 * MILLISECOND;
    for (int side = CLIENT; side <= SERVER; side++)
        play_llc(&scene->capture, side, (smcr_llc_t){.type = SMCR_LLC_TEST_LINK});
    scene->capture.state->last_time = scene->capture.time;
}

static void
play_letter(scene_t *scene, char letter)
{
    if (strchr("waue", letter))
        play_data(scene, letter);
    else if (strchr("RQ", letter))
        play_reading(scene, letter);
    else if (letter == 't')
        play_test(scene);
    else if (letter == '_')
        scene->capture.time += 10 * MILLISECOND;
    else if (letter == '=')
        scene->capture.time += 500 * MILLISECOND;
    else if (g_ascii_tolower(letter) == 'l')
        flow_to(scene, letter == 'l' ? CLIENT : SERVER)->expected_psn++;
    else if (g_ascii_tolower(letter) == 'k')
        play_ack(&scene->capture, letter == 'k' ? SERVER : CLIENT,
                 (uint32_t)(flow_to(scene, letter == 'k' ? SERVER : CLIENT)->highest &
                            SMCR_PSN_MASK));
    else
        play_end(scene, letter);
}

/* The names of what was found, and what came later has borne out. */
static char *
found(const scene_t *scene)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < scene->found->len; i++) {
        const smcr_event_t *event = scene->found->pdata[i];
        if (event->deferred_check &&
            !smcr_doubt_proof_holds(scene->capture.state, event->deferred_check))
            continue;
        g_string_append_printf(text, "%s%s", text->len ? " " : "",
                               names[event->id]);
    }
    return g_string_free(text, FALSE);
}

static void
test_case(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    scene_t scene = {.found = g_ptr_array_new()};

    capture_open(&scene.capture);
    first_contact(&scene.capture);
    confirm_first_link(&scene.capture);
    for (const char *letter = cases[i].letters; *letter; letter++)
        play_letter(&scene, *letter);
    char *text = found(&scene);
    g_assert_cmpstr(text, ==, cases[i].breaches);
    g_free(text);
    g_ptr_array_free(scene.found, TRUE);
    capture_close(&scene.capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/rules/cdc/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    return g_test_run();
}
