/* capture.c
 * Makes a new state whenever Wireshark opens a file or dissects it anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "capture.h"

#include <wiretap/wtap.h>
#include <wsutil/ws_assert.h>

/* From the opening of a file to its end. */
static struct {
    smcr_state_t *state;
    bool is_read;
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
    smcr_state_place(capture.state, named ? pinfo->rec->rec_header.packet_header.interface_id : 0);
    return capture.state;
}

static void
end_file(void)
{
    if (capture.state)
        smcr_state_free(capture.state);
    capture.state = NULL;
    capture.is_read = false;
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
}

nstime_t
smcr_capture_nstime(uint64_t nanoseconds)
{
    return (nstime_t){(time_t)(nanoseconds / SMCR_TIME_SECOND),
                      (int)(nanoseconds % SMCR_TIME_SECOND)};
}

void
smcr_capture_register(void)
{
    register_init_routine(smcr_capture_begin);
    register_postseq_cleanup_routine(end_pass);
    register_cleanup_routine(end_file);
}
