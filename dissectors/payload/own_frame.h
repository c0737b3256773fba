/* Lets dissectors read the bytes of an earlier frame as if that frame were being dissected, when a
 * later frame has proved to which connection the bytes belong. In the first pass, the later frame
 * calls the dissectors. During this call packet_info has number and time of the earlier frame, and
 * a stand-in for its frame_data, with which dissectors keep what they learn. In later passes the
 * earlier frame itself shows the bytes, with the same stand-in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "state/state.h"

/* The frame to which dissectors assign the bytes of a held packet: the frame of the packet or, if
 * dissectors have got bytes of the stream in a later frame meanwhile, the last such frame. Kept
 * with the packet, in file scope. */
struct smcr_payload_own_frame {
    frame_data frame; /* stands in for Wireshark's frame_data of the frame */
};

/* The members of packet_info that smcr_payload_enter_frame() has replaced. */
typedef struct {
    frame_data *fd;            /* frame_data of the frame that is being dissected */
    uint32_t num;              /* number of this frame */
    nstime_t abs_ts;           /* time of this frame, since 1970 */
    nstime_t rel_ts;           /* time of this frame, since the first frame */
    wmem_list_t *layers;       /* protocols of this frame */
    wmem_map_t *proto_layers;  /* how often this frame has each protocol */
    uint8_t curr_layer_num;    /* number of the protocol that is being dissected */
    bool is_column_writable;   /* dissectors may write the columns of this frame */
} smcr_payload_outer_frame_t;

/* First pass: makes the stand-in for an earlier frame. `pinfo`: the later frame. `number`: number
 * of the earlier frame. `stamp`: time stamp of the earlier frame in the file, nanoseconds since
 * 1970. */
struct smcr_payload_own_frame *smcr_payload_new_own_frame(const packet_info *pinfo, uint32_t number,
                                                          uint64_t stamp);

/* First pass: makes `pinfo` describe the frame held->own_frame, until smcr_payload_leave_frame() is
 * called. Columns cannot be written until then. `*outer` is set to the replaced members. */
void smcr_payload_enter_frame(packet_info *pinfo, const smcr_held_t *held,
                              smcr_payload_outer_frame_t *outer);

/* First pass: restores `pinfo` as it was before smcr_payload_enter_frame(). The stand-in counts as
 * visited from then on, so that dissectors read in later passes what they have kept with it. */
void smcr_payload_leave_frame(packet_info *pinfo, const smcr_payload_outer_frame_t *outer);
