/* windows.c
 * Windows show a file that has been read. Wireshark goes over its frames again for each window of
 * statistics, and tells no tap which frame is the last. So a tap that listens from the beginning
 * remembers it. Where there are no windows, no tap listens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "windows.h"

/* From the beginning of the file to its end; `listens` until the program ends. */
static struct {
    bool listens;
    uint32_t last_frame;
} file;

/* Programs without windows have the functions too, but nothing that they work on. */
const funnel_ops_t *
smcr_host_window_ops(void)
{
    const funnel_ops_t *ops = funnel_get_funnel_ops();

    return ops && ops->ops_id && ops->new_text_window && ops->set_text ? ops : NULL;
}

uint32_t
smcr_host_windows_last_frame(void)
{
    return file.last_frame;
}

static tap_packet_status
take_frame(void *listener _U_, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data _U_,
           tap_flags_t flags _U_)
{
    if (pinfo->num > file.last_frame)
        file.last_frame = pinfo->num;
    return TAP_PACKET_DONT_REDRAW;
}

static void
begin_file(void)
{
    if (file.listens || !smcr_host_window_ops())
        return;
    GString *error = register_tap_listener("frame", &file, NULL, TL_REQUIRES_NOTHING, NULL,
                                           take_frame, NULL, NULL);

    file.listens = !error;
    if (error)
        g_string_free(error, TRUE);
}

static void
end_file(void)
{
    file.last_frame = 0;
}

void
smcr_host_windows_register(void)
{
    register_init_routine(begin_file);
    register_cleanup_routine(end_file);
}
