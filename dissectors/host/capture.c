/* capture.c
 * Makes a new state whenever Wireshark opens a file or dissects it anew.
 *
 * Windows show a file that has been read. Wireshark goes over its frames again for each window of
 * statistics, and tells no tap which frame is the last. So a tap that listens from the beginning
 * remembers it. Where there are no windows, no tap listens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "capture.h"

#include <wiretap/wtap.h>
#include <wsutil/ws_assert.h>

/* From the opening of a file to its end; `listens` until the program ends. */
static struct {
    smcr_state_t *state;
    bool is_read, listens;
    uint32_t last_frame; /* that the tap has got */
} capture;

const smcr_state_t *
smcr_capture_state(void)
{
    return capture.state;
}

smcr_state_t *
smcr_capture_learn(const packet_info *pinfo)
{
    bool named = pinfo->rec->presence_flags & WTAP_HAS_INTERFACE_ID;

    ws_assert(!pinfo->fd->visited);
    if (pinfo->rec->rec_header.packet_header.pkt_encap == WTAP_ENCAP_NETLINK)
        return capture.state; /* what a host tells is on no wire */
    smcr_state_place(capture.state, named ? pinfo->rec->rec_header.packet_header.interface_id : 0);
    return capture.state;
}

static void
end_file(void)
{
    capture.state = NULL;
    capture.is_read = false;
    capture.last_frame = 0;
}

/* The first pass over the frames of a file has come to its end. */
static void
end_pass(void)
{
    capture.is_read = true;
}

bool
smcr_capture_is_read(void)
{
    return capture.is_read;
}

void
smcr_capture_begin(void)
{
    end_file();
    capture.state = smcr_state_new(wmem_file_scope());
    smcr_capture_tell_smcss(capture.state);
}

nstime_t
smcr_capture_nstime(uint64_t nanoseconds)
{
    return (nstime_t){(time_t)(nanoseconds / SMCR_TIME_SECOND),
                      (int)(nanoseconds % SMCR_TIME_SECOND)};
}

/* ---- windows ---- */

/* Programs without windows have the functions too, but nothing that they work on. */
const funnel_ops_t *
smcr_host_window_ops(void)
{
    const funnel_ops_t *ops = funnel_get_funnel_ops();

    return ops && ops->ops_id && ops->new_text_window && ops->set_text &&
                   ops->append_text && ops->add_button && ops->new_dialog
               ? ops
               : NULL;
}

uint32_t
smcr_host_windows_last_frame(void)
{
    return capture.last_frame;
}

static tap_packet_status
take_frame(void *listener _U_, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data _U_,
           tap_flags_t flags _U_)
{
    if (pinfo->num > capture.last_frame)
        capture.last_frame = pinfo->num;
    return TAP_PACKET_DONT_REDRAW;
}

static void
begin_windows(void)
{
    if (capture.listens || !smcr_host_window_ops())
        return;
    GString *error = register_tap_listener("frame", &capture, NULL, TL_REQUIRES_NOTHING, NULL,
                                           take_frame, NULL, NULL);

    capture.listens = !error;
    if (error)
        g_string_free(error, TRUE);
}

void
smcr_capture_register(void)
{
    register_init_routine(smcr_capture_begin);
    register_init_routine(begin_windows);
    register_postseq_cleanup_routine(end_pass);
    register_cleanup_routine(end_file);
}
