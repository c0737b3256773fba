/* Knows the two halves of a packet's way: learn, then show. Does not know which transport carries
 * the packet. Called by each transport: tcp/, roce/, netlink/, anck/.
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
 * The first pass learns a packet from its headers and its payload, and keeps its record (what is
 * known of the packet), before any other dissector gets the packet. */

/* A message or data that a tap in the kernel of a host has copied. */
typedef struct {
    const smcr_cdc_t *cdc; /* the decoded message, with the numbers that the state has computed for
                              it; NULL: the tap has copied data */
    bool is_smcd;          /* the message has the format of SMC-D */
    bool lacks_before;     /* data or messages before the message are missing, or out of order */
} smcr_packet_tapped_t;

/* A RoCE packet. smcr_packet_begin() fills it in first; the transport adds headers and payload. */
typedef struct {
    smcr_ib_headers_t roce; /* transport headers */
    tvbuff_t *payload;      /* captured payload without padding; NULL: none. The payload of an RDMA
                               WRITE may be set after smcr_packet_learn(), before
                               smcr_packet_show() */
    smcr_qp_t *receiver;    /* queue pair that receives the packet, if `is_receiver_sought`; NULL:
                               not known */
    bool is_receiver_sought; /* smcr_packet_wants_icrc() has looked for the queue pair */
    uint16_t layer;         /* number of the packet in its frame, the same in every pass */
    smcr_record_t record;   /* record of the packet; set by smcr_packet_learn() */
    fragment_head *fragments; /* all parts of the message that the packet is a part of; NULL: it is
                                 no part, or smcr_packet_parts_add() has returned NULL */
    const smcr_packet_tapped_t *tapped; /* a tap has copied the packet, which no network has
                                           carried; its headers are those that RoCE would have.
                                           NULL: a packet of RoCE */
} smcr_packet_t;

/* Fills in a new `packet` in the layer that Wireshark dissects now: the GIDs of source and
 * destination come from the addresses in `pinfo`. All other members get the value "not known",
 * mostly 0. */
void smcr_packet_begin(const packet_info *pinfo, smcr_packet_t *packet);

/* Whether some of the packet's payload was captured. */
static inline bool
smcr_packet_has_bytes(const smcr_packet_t *packet)
{
    return packet->payload && tvb_captured_length(packet->payload) > 0;
}

/* Fills in `record` and `fragments` of the packet. The first pass learns from the packet, and keeps
 * the record if something is known of the packet; later passes find the kept record. Returns
 * whether the packet is known to be SMC-R. Returns false for a packet that another packet quotes
 * (smcr_capture_is_quoted()). With the preference smcr.roce, the record of a packet that is not
 * SMC-R contains the packet's RDMA connection. */
bool smcr_packet_learn(packet_info *pinfo, smcr_packet_t *packet);

/* Decides whether the packet is corrupt, and sets `has_bad_icrc` and `icrc` of its headers. The
 * first pass also counts the ICRC for its sender. A wrong ICRC means corruption only if the same
 * sender has sent right ICRCs, because some senders do not compute the ICRC; without the preference
 * smcr.check_icrc, most of them have to be right. `icrc`: the result of smcr_roce_check_icrc(). Its
 * status becomes "unverified" if the ICRCs of the sender mean nothing. Must be called before
 * smcr_packet_learn(). */
void smcr_packet_learn_icrc(const packet_info *pinfo, smcr_packet_t *packet, smcr_icrc_t *icrc);

/* Whether the ICRC of the packet has to be checked without the preference smcr.check_icrc: in the
 * first pass, of each packet that may be a whole LLC or CDC message, or that is doubtful
 * (smcr_state_packet_is_doubtful()). Must be called after the payload is known, and before
 * smcr_packet_learn(), which uses the queue pair that is looked up here. */
bool smcr_packet_wants_icrc(const packet_info *pinfo, smcr_packet_t *packet);

/* First pass: returns a smcr_arrival_t, the argument with which the state learns a packet or
 * message, with the state, the time and the VLAN of this frame. The caller adds the record, and the
 * packet or message. */
static inline smcr_arrival_t
smcr_packet_arrival(const packet_info *pinfo)
{
    return (smcr_arrival_t){.state = smcr_capture_learn(pinfo),
                            .when = smcr_capture_learn_when(pinfo),
                            .vlan = smcr_capture_vlan(pinfo)};
}

/* First pass: learns from a CLC message, and keeps its record. `arrival`: from
 * smcr_packet_arrival(), with the position of the message in the TCP byte stream added. `nth`:
 * number of the message in the frame, from 0. `from_server`: the server of the TCP connection sends
 * the message. */
void smcr_packet_learn_clc(smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc,
                           unsigned nth, bool from_server);

/* First pass: learns from the first bytes of the application in one direction of the TCP
 * connection. A record is kept only if the bytes cause an event (an expert item). Arguments as in
 * smcr_packet_learn_clc(). */
void smcr_packet_learn_data(smcr_arrival_t *arrival, smcr_conn_t *conn, bool from_server);

/* First pass: learns from `told`, a host's report over netlink. A record is kept only if the report
 * causes an event (an expert item). `nth`: number of the netlink message in the frame;
 * smcr_packet_find_record() finds the record by the same number. */
void smcr_packet_learn_netlink(packet_info *pinfo, const smcr_told_t *told, unsigned nth);

/* Layer numbers of records: all records of a frame have different layer numbers. RoCE packets have
 * the numbers below 0x100. Each constant is the first number of another kind of record. */
typedef enum {
    SMCR_PACKET_CLC = 0x100,   /* CLC messages */
    SMCR_PACKET_DATA = 0x500,  /* the first bytes of the application */
    SMCR_PACKET_TOLD = 0x1000, /* netlink messages of hosts */
} smcr_packet_layer_t;

/* Every pass: finds the record number `nth` of the kind `kind` that the first pass has kept for
 * this frame. Returns false, and does not change `record`, if no record was kept. */
bool smcr_packet_find_record(const packet_info *pinfo, smcr_packet_layer_t kind, unsigned nth,
                             smcr_record_t *record);

/* ---- show ----
 *
 * These functions make fields, expert items, the Info column and the data of the tap from the
 * record of the packet. They do not change the record. */

/* Shows the payload of a packet for which smcr_packet_learn() has returned true, and passes the
 * application's data to dissectors. Returns false if the packet has no payload to show. */
bool smcr_packet_show(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet);

/* First pass: keeps the payload of a packet that later packets may show to be SMC-R. */
void smcr_packet_buffer_payload(const packet_info *pinfo, const smcr_packet_t *packet);

/* Shows an acknowledgement, or another packet without payload, such as a congestion notification.
 * `tvb`: the headers of the packet. */
void smcr_packet_show_empty(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                            const smcr_packet_t *packet);

/* Shows the RDMA connection of a packet that is not SMC-R. The record of the packet has an RDMA
 * flow. `tvb`: the headers of the packet. */
void smcr_packet_show_foreign(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                              const smcr_packet_t *packet);

/* ---- messages of several packets ----
 *
 * A message that is longer than the path MTU comes in several packets: SEND FIRST, MIDDLE and LAST.
 * Example: ADD LINK of SMCv2 with many RKeys (net/smc/smc_llc.c: up to 8 KiB). */

/* Registers the table of messages that are being put together. */
void smcr_packet_parts_register(void);

/* Adds the payload of a packet to the message that the packet is a part of. `more`: further packets
 * of the message come after this one. Returns all parts of the message. NULL: the payload is
 * truncated; or the message is not complete, in the first pass perhaps not yet. */
fragment_head *smcr_packet_parts_add(tvbuff_t *payload, packet_info *pinfo,
                                     const smcr_record_t *record, bool more);
