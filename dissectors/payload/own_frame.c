/* Replaces members of packet_info for the time of a call (own_frame.h): the members that identify
 * the frame, and the list and counts of its protocols. The earlier frame and the later frame have
 * the same protocols below SMC-R, so a copy of the later frame's list is used.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "own_frame.h"

#include <epan/column-utils.h>

#include "host/host.h"

#define ALL_COLUMNS (-1)

/* Frees what Wireshark's functions have added to the stand-in. Called when the memory of file scope
 * is freed. */
static compat_pool_bool
free_stand_in(wmem_allocator_t *allocator, wmem_cb_event_t event, void *own)
{
    (void)allocator;
    (void)event;
    frame_data_destroy(&((struct smcr_payload_own_frame *)own)->frame);
    return false;
}

/* Dissectors of the held bytes get this stand-in for `pinfo->fd`, so it needs the members that they
 * read: number, time, precision and `visited`. It lives as long as the file. */
struct smcr_payload_own_frame *
smcr_payload_new_own_frame(const packet_info *pinfo, uint32_t number, uint64_t stamp)
{
    struct smcr_payload_own_frame *own = wmem_new0(wmem_file_scope(),
                                                   struct smcr_payload_own_frame);
    frame_data *frame = &own->frame;

    frame->num = number;
    frame->visited = true; /* smcr_payload_enter_frame() clears `visited` while dissectors get the
                              bytes for the first time */
    frame->has_ts = true;
    frame->tsprec = pinfo->fd->tsprec;
    frame->abs_ts.secs = (time_t)(stamp / SMCR_TIME_SECOND);
    frame->abs_ts.nsecs = (int)(stamp % SMCR_TIME_SECOND);
    wmem_register_callback(wmem_file_scope(), free_stand_in, own);
    return own;
}

/* Counts a protocol of the frame, as call_dissector() does. */
static void
count_layer(const packet_info *pinfo, const void *protocol)
{
    int *count = wmem_map_lookup(pinfo->proto_layers, protocol);

    if (!count) {
        count = wmem_new0(pinfo->pool, int);
        wmem_map_insert(pinfo->proto_layers, protocol, count);
    }
    ++*count;
}

/* Gives the packet copies of its list of protocols, and of their counts. */
static void
copy_layers(packet_info *pinfo)
{
    const wmem_list_t *layers = pinfo->layers;

    pinfo->layers = wmem_list_new(pinfo->pool);
    pinfo->proto_layers = wmem_map_new(pinfo->pool, g_direct_hash, g_direct_equal);
    wmem_list_frame_t *layer = wmem_list_head(layers);
    for (; layer; layer = wmem_list_frame_next(layer)) {
        wmem_list_append(pinfo->layers, wmem_list_frame_data(layer));
        count_layer(pinfo, wmem_list_frame_data(layer));
    }
}

/* `*outer` keeps all that is replaced here: smcr_payload_leave_frame() restores it. What else a
 * dissector may change has to be added in both functions. */
void
smcr_payload_enter_frame(packet_info *pinfo, const smcr_held_t *held,
                         smcr_payload_outer_frame_t *outer)
{
    nstime_t ago;

    *outer = (smcr_payload_outer_frame_t){
        .fd = pinfo->fd,
        .num = pinfo->num,
        .abs_ts = pinfo->abs_ts,
        .rel_ts = pinfo->rel_ts,
        .layers = pinfo->layers,
        .proto_layers = pinfo->proto_layers,
        .curr_layer_num = pinfo->curr_layer_num,
        .is_column_writable = col_get_writable(pinfo->cinfo, ALL_COLUMNS),
    };
    pinfo->fd = &held->own_frame->frame;
    pinfo->fd->visited = false;
    pinfo->num = pinfo->fd->num;
    pinfo->abs_ts = pinfo->fd->abs_ts;
    nstime_delta(&ago, &outer->abs_ts, &pinfo->abs_ts);
    nstime_delta(&pinfo->rel_ts, &outer->rel_ts, &ago);
    copy_layers(pinfo);
    pinfo->curr_layer_num = held->layer;
    col_set_writable(pinfo->cinfo, ALL_COLUMNS, false);
}

/* Restores what smcr_payload_enter_frame() has replaced, and nothing else. `visited` is set first,
 * while `fd` is still that of the stand-in. */
void
smcr_payload_leave_frame(packet_info *pinfo, const smcr_payload_outer_frame_t *outer)
{
    pinfo->fd->visited = true;
    pinfo->fd = outer->fd;
    pinfo->num = outer->num;
    pinfo->abs_ts = outer->abs_ts;
    pinfo->rel_ts = outer->rel_ts;
    pinfo->layers = outer->layers;
    pinfo->proto_layers = outer->proto_layers;
    pinfo->curr_layer_num = outer->curr_layer_num;
    col_set_writable(pinfo->cinfo, ALL_COLUMNS, outer->is_column_writable);
}
