/* Bytes that dissectors get in the name of the frame that carried them, although a later frame has
 * proved where they belong. In the first pass the later frame has its dissectors read the bytes as
 * if the earlier frame were being dissected: its number, its time, and a stand-in for its
 * frame_data, with which dissectors keep what they learn. In later passes the frame itself shows
 * the bytes, with that stand-in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "state/state.h"

/* The frame in whose name dissectors get the bytes of a held packet: its own, or the later one with
 * the bytes before them. Kept with the packet, in file scope. */
struct smcr_payload_own_frame {
    frame_data frame; /* stands in for Wireshark's frame_data of the frame */
};

/* The members of packet_info that smcr_payload_enter_frame() has replaced. */
typedef struct {
    frame_data *fd;            /* frame_data of the frame that is being dissected */
    uint32_t num;              /* its number */
    nstime_t abs_ts;           /* its time since 1970 */
    nstime_t rel_ts;           /* its time since the first frame */
    wmem_list_t *layers;       /* its protocols */
    wmem_map_t *proto_layers;  /* how often it has each protocol */
    uint8_t curr_layer_num;    /* number of the protocol that is being dissected */
    bool is_column_writable;   /* dissectors may write its columns */
} smcr_payload_outer_frame_t;

/* First pass: makes the stand-in for an earlier frame. `pinfo`: the later frame. `number`, `time`:
 * those of the earlier frame; the time in nanoseconds since 1970. */
struct smcr_payload_own_frame *smcr_payload_new_own_frame(const packet_info *pinfo, uint32_t number,
                                                          uint64_t time);

/* First pass: makes `pinfo` that of the frame held->own_frame, until smcr_payload_leave_frame() is
 * called. Columns cannot be written until then. `*outer` gets the replaced members. */
void smcr_payload_enter_frame(packet_info *pinfo, const smcr_held_t *held,
                              smcr_payload_outer_frame_t *outer);

/* First pass: makes `pinfo` as before smcr_payload_enter_frame(). Later passes find what dissectors
 * have kept with the frame. */
void smcr_payload_leave_frame(packet_info *pinfo, const smcr_payload_outer_frame_t *outer);
