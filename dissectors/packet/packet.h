/* Knows the two halves of a packet's way: learn, then show. Does not know what carries the packet.
 * Called by each transport.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

#include <epan/reassemble.h>

#include "host/host.h"
#include "state/state.h"

/* ---- learn ----
 *
 * From a packet's headers and its payload to its record. All of it is learned, and the record is
 * kept, before any dissector is called. */

/* A packet on the wire. smcr_packet_begin() makes it; the transport adds headers and payload. */
typedef struct {
    smcr_ib_headers_t roce; /* its headers */
    tvbuff_t *payload;     /* without padding, as far as captured; NULL: none. A WRITE needs its own
                              only to be shown */
    uint16_t layer;        /* tells the packets of a frame apart, the same in every pass */
    smcr_record_t record;  /* what is known of the packet now */
    fragment_head *parts;  /* of the message that it is a part of; NULL: none, or it is whole */
} smcr_packet_t;

/* A packet of the layer that is being dissected, which goes from the source address of that layer
 * to its destination. What the transport has no header for may stay as it is here: not known. */
void smcr_packet_begin(const packet_info *pinfo, smcr_packet_t *packet);

/* Whether some of the packet's payload was captured. */
static inline bool
smcr_packet_has_bytes(const smcr_packet_t *packet)
{
    return packet->payload && tvb_captured_length(packet->payload) > 0;
}

/* Fills in the rest: in the first pass by learning from the packet, later from what was kept.
 * Returns whether the packet is SMC-R, as far as is known now. A packet that an ICMP error quotes
 * is not: it is no packet on the wire. With the preference smcr.roce the record names the RDMA
 * connection of a packet that is not SMC-R. */
bool smcr_packet_learn(packet_info *pinfo, smcr_packet_t *packet);

/* What the packet's ICRC means, as its bytes have it: nothing where its sender's mean nothing. The
 * packet is corrupt when it is wrong and the sender has sent right ones before. Called before
 * smcr_packet_learn(). */
void smcr_packet_learn_icrc(const packet_info *pinfo, smcr_packet_t *packet, smcr_icrc_t *icrc);

/* First pass: what comes with this frame. What it is, and its record, is filled in later. */
static inline smcr_arrival_t
smcr_packet_arrival(const packet_info *pinfo)
{
    return (smcr_arrival_t){.state = smcr_capture_learn(pinfo),
                            .when = smcr_capture_when(pinfo), .vlan = smcr_capture_vlan(pinfo)};
}

/* First pass: learns from the CLC message that is number `nth` in the frame, from 0. `arrival`: of
 * the frame, with where the message is. `from_server`: which side of the TCP connection sent it. */
void smcr_packet_learn_clc(smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc,
                           unsigned nth, bool from_server);

/* The same for the first bytes of the application in a direction. */
void smcr_packet_learn_data(smcr_arrival_t *arrival, smcr_conn_t *conn, bool from_server);

/* First pass: learns what a host tells about itself; number `nth` in the frame, from 0. */
void smcr_packet_learn_told(packet_info *pinfo, const smcr_told_t *told, unsigned nth);

/* What has a record beside the packets of the fabric. */
typedef enum {
    SMCR_PACKET_CLC = 0x100,   /* messages, above the layers of packets */
    SMCR_PACKET_DATA = 0x500,  /* the first bytes of the application */
    SMCR_PACKET_TOLD = 0x1000, /* what hosts tell */
} smcr_packet_layer_t;

/* The record of that, number `nth` in the frame. Returns false when there is none: nothing is said
 * about it, or it speaks of no connection of ours. */
bool smcr_packet_learned(const packet_info *pinfo, smcr_packet_layer_t kind, unsigned nth,
                         smcr_record_t *record);

/* ---- show ----
 *
 * From the record, which is not changed any more, to fields, expert items, the Info column, the tap
 * and the dissectors of the application's data. */

/* Shows a packet that smcr_packet_learn() has taken. Returns whether it has a payload to show. */
bool smcr_packet_show(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet);

/* First pass: keeps the payload of a packet that may still turn out to be SMC-R. */
void smcr_packet_hold(const packet_info *pinfo, const smcr_packet_t *packet);

/* Shows an acknowledgement, or what else carries no data, at the fields in `tvb`. */
void smcr_packet_show_empty(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                            const smcr_packet_t *packet);

/* Shows the RDMA connection of a packet that is not SMC-R; its record has a flow. */
void smcr_packet_show_foreign(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                              const smcr_packet_t *packet);

/* ---- parts ----
 *
 * Messages that are longer than the path MTU and come as SEND FIRST, MIDDLE and LAST: ADD LINK of
 * SMCv2 with many RKeys (net/smc/smc_llc.c: up to 8 KiB). */

/* Called once, when protocols register. */
void smcr_packet_parts_register(void);

/* Adds this packet's bytes to its message. `more`: further packets follow. Returns what is there of
 * the message; NULL: this packet is cut, or the message is not whole yet in the first pass. */
fragment_head *smcr_packet_parts_add(tvbuff_t *payload, packet_info *pinfo,
                                     const smcr_record_t *record, bool more);
