/* Knows the two halves of a packet's way: learn, then show. Does not know which transport carries
 * the packet. Called by each transport.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

#include <epan/reassemble.h>

#include "host/host.h"
#include "state/state.h"

/* Makes the record of a packet from its headers and its payload. The packet is learned, and its
 * record is kept, before any dissector is called. */

/* A packet on the wire. smcr_packet_begin() makes it; the transport adds headers and payload. */
typedef struct {
    smcr_ib_headers_t roce; /* transport headers */
    tvbuff_t *payload;      /* captured payload without padding; NULL: none. Of an RDMA WRITE, it
                               may be set as late as before the packet is shown */
    uint16_t layer;         /* number of the packet in its frame, the same in every pass */
    smcr_record_t record;   /* record of the packet, as known now; set by smcr_packet_learn() */
    fragment_head *fragments; /* parts of the message to which the packet belongs; NULL: the packet
                                 has a whole message or none */
} smcr_packet_t;

/* Begins a packet of the layer that is being dissected, from the source address of that layer to
 * its destination address. Members that the transport has no header for keep the values set here:
 * not known. */
void smcr_packet_begin(const packet_info *pinfo, smcr_packet_t *packet);

/* Whether some of the packet's payload was captured. */
static inline bool
smcr_packet_has_bytes(const smcr_packet_t *packet)
{
    return packet->payload && tvb_captured_length(packet->payload) > 0;
}

/* Fills in the record and the parts: in the first pass by learning from the packet, in later passes
 * from the record that was kept. Returns whether the packet is SMC-R, as far as is known now.
 * Returns false for a packet that an ICMP error quotes: it was not on the wire here. With the
 * preference smcr.roce, the record of a packet that is not SMC-R has its RDMA connection. */
bool smcr_packet_learn(packet_info *pinfo, smcr_packet_t *packet);

/* Decides what the ICRC of the packet means, and sets `has_bad_icrc` and `icrc` of its headers. A
 * wrong ICRC means corruption only if earlier packets of the same sender had right ones: some
 * senders write another value. `icrc`: computed from the bytes of the packet; becomes "not
 * verified" if its sender is not trusted. Called before smcr_packet_learn(). */
void smcr_packet_learn_icrc(const packet_info *pinfo, smcr_packet_t *packet, smcr_icrc_t *icrc);

/* First pass: returns an arrival with the state, the time and the VLAN of this frame. The caller
 * adds the record, and the packet or message that has arrived. */
static inline smcr_arrival_t
smcr_packet_arrival(const packet_info *pinfo)
{
    return (smcr_arrival_t){.state = smcr_capture_learn(pinfo),
                            .when = smcr_capture_when(pinfo), .vlan = smcr_capture_vlan(pinfo)};
}

/* First pass: learns from a CLC message, and keeps its record. `arrival`: of the frame, with the
 * place of the message in the byte stream. `nth`: number of the message in the frame, from 0.
 * `from_server`: the server of the TCP connection sends the message. */
void smcr_packet_learn_clc(smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc,
                           unsigned nth, bool from_server);

/* First pass: learns from the first bytes of the application in a direction of the TCP connection.
 * A record is kept only if there is an event to show. Arguments as in smcr_packet_learn_clc(). */
void smcr_packet_learn_data(smcr_arrival_t *arrival, smcr_conn_t *conn, bool from_server);

/* First pass: learns from a host's report over netlink. A record is kept only if there is an event
 * to show. `nth`: number of the netlink message in the frame, from 0. */
void smcr_packet_learn_netlink(packet_info *pinfo, const smcr_told_t *told, unsigned nth);

/* Other things than packets of the fabric that have records. A record has a layer number in its
 * frame; these are the first layer numbers of each kind, above those of packets. */
typedef enum {
    SMCR_PACKET_CLC = 0x100,   /* CLC messages */
    SMCR_PACKET_DATA = 0x500,  /* the first bytes of the application */
    SMCR_PACKET_TOLD = 0x1000, /* netlink messages of hosts */
} smcr_packet_layer_t;

/* Every pass: finds the record that the first pass has kept, number `nth` of its kind in the frame.
 * Returns false if there is none: no record was kept, or it has no connection of SMC-R. */
bool smcr_packet_find_record(const packet_info *pinfo, smcr_packet_layer_t kind, unsigned nth,
                             smcr_record_t *record);

/* Makes fields, expert items, the Info column and the data of the tap from the record, and passes
 * the application's data to dissectors. The record does not change any more. */

/* Shows the payload of a packet for which smcr_packet_learn() has returned true. Returns false if
 * it has no payload to show. */
bool smcr_packet_show(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet);

/* First pass: keeps the payload of a packet that later packets may show to be SMC-R. */
void smcr_packet_buffer_payload(const packet_info *pinfo, const smcr_packet_t *packet);

/* Shows an acknowledgement, or another packet without payload, such as a congestion notification.
 * `tvb`: the headers of the packet. */
void smcr_packet_show_empty(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                            const smcr_packet_t *packet);

/* Shows the RDMA connection of a packet that is not SMC-R. Its record has an RDMA flow. `tvb`: the
 * headers of the packet. */
void smcr_packet_show_foreign(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                              const smcr_packet_t *packet);

/* Some messages are longer than the path MTU and come as SEND FIRST, MIDDLE and LAST: ADD LINK of
 * SMCv2 with many RKeys (net/smc/smc_llc.c: up to 8 KiB). */

/* Called once, when protocols register. */
void smcr_packet_parts_register(void);

/* Adds the bytes of a packet to its message. `more`: the message has further packets. Returns the
 * parts of the message. NULL: the capture has truncated this packet, or, in the first pass, the
 * message is not complete yet. */
fragment_head *smcr_packet_parts_add(tvbuff_t *payload, packet_info *pinfo,
                                     const smcr_record_t *record, bool more);
