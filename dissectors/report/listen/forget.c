/* How this file finds out that the program reads the file in one pass: Wireshark calls tap
 * listeners in the only pass or in the last one. So a listener is registered for a moment. If it is
 * called in the first pass, no other pass follows. In programs with windows a listener is called in
 * the first pass as well, but frames are dissected again at each click; so these keep everything.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "forget.h"

#include "payload/payload.h"

#define RECORDS_STAY (10 * SMCR_TIME_SECOND) /* minimum time for which the records of packets are
                                                kept, nanoseconds: acknowledgements and
                                                retransmissions come within this time */
#define RECORDS_KEPT 65536 /* minimum number of frames whose records are kept */

/* What is known about the passes over the open file. */
typedef enum {
    PASSES_UNKNOWN, /* not asked yet */
    PASSES_ASKED,   /* the listener is registered, and has not been called */
    PASSES_ONE,     /* the listener has been called in the first pass */
    PASSES_SEVERAL  /* the listener was not called for the frame after its registration, or could
                       not be registered */
} passes_t;

/* What is kept of the open file from one call to the next. */
static struct {
    smcr_when_t kept_from; /* records before this frame are forgotten next; frame 0: no frame is
                              chosen yet */
    passes_t passes;   /* whether the program reads the file in one pass */
    uint32_t asked_at; /* the frame in which the listener was registered; set with PASSES_ASKED */
    bool listens;      /* the listener is registered */
    bool has_reader;   /* somebody makes a report, and points to connections */
} old;

/* ---- the number of passes ---- */

/* Called by Wireshark at the end of a frame, in the only or in the last pass. Notes that this is
 * the only pass if the file is not read to its end yet. */
static tap_packet_status
note_pass(void *listener _U_, packet_info *pinfo _U_, epan_dissect_t *edt _U_, const void *data _U_,
          tap_flags_t flags _U_)
{
    if (old.passes == PASSES_ASKED && !smcr_capture_is_read())
        old.passes = PASSES_ONE;
    return TAP_PACKET_DONT_REDRAW;
}

/* Finds out, by a listener on the tap `frame`, whether Wireshark reads the capture once or several
 * times. The answer comes with the next frames (is_read_once()). Without a listener the answer is
 * "several", so that nothing is forgotten. */
static void
begin_listening(uint32_t frame)
{
    GString *error = register_tap_listener("frame", &old, NULL, TL_IS_DISSECTOR_HELPER, NULL,
                                           note_pass, NULL, NULL);

    old.asked_at = frame;
    old.listens = !error;
    old.passes = old.listens ? PASSES_ASKED : PASSES_SEVERAL;
    if (error)
        g_string_free(error, TRUE);
}

static void
end_listening(void)
{
    if (old.listens)
        remove_tap_listener(&old);
    old.listens = false;
}

/* Whether the program is known to read the file in one pass. `frame`: number of the current frame,
 * for which listeners are not called yet. Wireshark calls a new listener from the next frame on, so
 * the answer to the first question is known two frames later. */
static bool
is_read_once(uint32_t frame)
{
    if (old.passes == PASSES_UNKNOWN)
        begin_listening(frame);
    if (old.passes == PASSES_ASKED && frame - old.asked_at < 2)
        return false;
    end_listening();
    if (old.passes == PASSES_ASKED)
        old.passes = PASSES_SEVERAL;
    return old.passes == PASSES_ONE;
}

/* ---- forgetting ---- */

/* Whether the frame that was chosen last came so long ago that records before it are not needed:
 * RECORDS_KEPT frames or more have followed, and RECORDS_STAY has passed or the clock went back. If
 * no frame is chosen yet, chooses this one. */
static bool
is_time(smcr_when_t now)
{
    if (!old.kept_from.frame)
        old.kept_from = now;
    bool went_back = now.time < old.kept_from.time;
    bool has_passed = went_back || now.time - old.kept_from.time >= RECORDS_STAY;

    return has_passed && now.frame - old.kept_from.frame >= RECORDS_KEPT;
}

/* Forgets what came before the frame that was chosen last, and chooses the current frame. So what
 * came since the last call stays until the next one. */
static void
forget_before_chosen(smcr_when_t now, const smcr_state_finished_t *finished)
{
    smcr_capture_forget(old.kept_from.frame, finished);
    old.kept_from = now;
}

void
smcr_listener_forget_old(smcr_when_t now, const smcr_state_finished_t *finished)
{
    if (is_time(now))
        forget_before_chosen(now, finished);
}

/* Nobody makes a report, so nobody points to a connection. */
static bool
is_finished(const smcr_conn_t *conn _U_, const void *data _U_)
{
    return true;
}

/* Nothing is forgotten that a second pass or a window may want. */
void
smcr_listener_forget_unread(const packet_info *pinfo)
{
    static const smcr_state_finished_t finished = {is_finished, NULL, smcr_payload_release};
    smcr_when_t now = smcr_capture_when(pinfo);

    if (old.has_reader || smcr_capture_is_read() || !is_time(now) || smcr_host_window_ops())
        return;
    if (is_read_once(now.frame))
        forget_before_chosen(now, &finished);
}

void
smcr_listener_forget_allow(bool is_allowed)
{
    old.has_reader = !is_allowed;
}

void
smcr_listener_forget_end_file(void)
{
    end_listening();
    old.passes = PASSES_UNKNOWN;
    old.kept_from.frame = 0;
}
