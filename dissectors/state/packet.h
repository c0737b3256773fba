/* packet.h
 * What the first pass learns of one RoCE frame, pinned to the frame and read by every pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_PACKET_H
#define SMCR_STATE_PACKET_H

typedef enum {
    SMCR_PACKET_OTHER, /* a packet on an SMC-R queue pair that is none of the below */
    SMCR_PACKET_LLC,
    SMCR_PACKET_CDC,
} smcr_packet_kind_t;

typedef struct {
    smcr_packet_kind_t kind;
} smcr_packet_t;

#endif /* SMCR_STATE_PACKET_H */
