/* Learns from packets, and decides which packets are SMC-R. A packet is SMC-R in two cases: 1. the
 * state knows its queue pair; 2. the packet is a SEND on another queue pair, and its bytes prove
 * SMC-R. The state also keeps the first RDMA WRITEs of an unknown queue pair, because their
 * connection may become known later. This file decodes the messages of SMC-R packets without
 * showing them, and the state learns from the messages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet.h"

#include "message/message.h"
#include "wire/wire.h"

/* Highest number of records of each kind in one frame. No sender needs so many. */
#define CLC_MAX (SMCR_PACKET_DATA - SMCR_PACKET_CLC) /* CLC messages */
#define TOLD_MAX 0x8000                              /* netlink messages */

static bool
is_first_pass(const packet_info *pinfo)
{
    return !pinfo->fd->visited;
}

/* ---- first pass ---- */

/* Begins a record, and the arrival by which the state fills the record. Both structs are large, so
 * the caller provides them. */
static void
begin_arrival(const packet_info *pinfo, smcr_record_t *record, smcr_arrival_t *arrival)
{
    smcr_record_begin(record);
    *arrival = smcr_packet_arrival(pinfo);
    arrival->record = record;
}

/* Whether the SEND is a CDC message of a known link, although its PSN is far from the last captured
 * one: packets of the link were not captured for a while. If so, sets arrival->goes_on, so that
 * smcr_state_packet() accepts the packet. */
static bool
continues_known_link(packet_info *pinfo, const smcr_packet_t *packet, smcr_arrival_t *arrival)
{
    smcr_cdc_t cdc;

    return smcr_wire_llc_type_is_cdc(tvb_get_uint8(packet->payload, 0)) &&
           smcr_cdc_decode(packet->payload, pinfo, &cdc) &&
           smcr_state_cdc_goes_on(arrival, cdc.token);
}

/* Whether a SEND on an unknown queue pair is SMC-R. A SEND that keeps every rule of an LLC or CDC
 * message proves a link between its two queue pairs; the state learns that link here, if it is
 * new. */
static bool
recognise_send(packet_info *pinfo, const smcr_packet_t *packet, smcr_arrival_t *arrival)
{
    uint32_t sender;

    if (!smcr_ib_operations[packet->roce.opcode].is_whole_send || !smcr_packet_has_bytes(packet) ||
        !smcr_message_is_smcr(packet->payload, pinfo, &packet->roce, &sender))
        return false;
    if (!continues_known_link(pinfo, packet, arrival))
        smcr_state_prove_qp(arrival, sender);
    return true;
}

/* Whether the packet gets a record as one that is or may be of SMC-R: the state knows its queue
 * pair, its payload proves SMC-R, or the packet is one of the first RDMA WRITEs on an unknown queue
 * pair. */
static bool
recognise_packet(packet_info *pinfo, smcr_packet_t *packet, smcr_arrival_t *arrival)
{
    if (smcr_state_packet(arrival))
        return true;
    if (packet->roce.has_bad_icrc) /* the ICRC is wrong: the bytes of a corrupt packet prove
                                      nothing */
        return false;
    return (recognise_send(pinfo, packet, arrival) && smcr_state_packet(arrival)) ||
           smcr_state_unknown_qp_write(arrival);
}

/* Has the state check a CDC message against the end of its TCP connection. Example: a RST of the
 * TCP connection came before the CDC message. The record has a connection. */
static void
learn_tcp_end(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc)
{
    const smcr_conn_t *conn = arrival->record->conn;
    unsigned role = smcr_endpoint_role(conn, !arrival->qp->side);
    bool by_sender = smcr_handshake_began_to_close(conn, role);
    bool by_reader = smcr_handshake_began_to_close(conn, !role);

    smcr_state_check_tcp_end(arrival, cdc, smcr_handshake_was_reset(conn), by_sender, by_reader);
}

/* Attaches Wireshark's TCP conversation to each connection that a host has reported since the last
 * call, over netlink or in a file of smcss. */
static void
adopt_named_conns(const smcr_arrival_t *arrival, packet_info *pinfo)
{
    smcr_conn_t *conn;

    while ((conn = smcr_socket_take_named(arrival->state)) != NULL)
        smcr_handshake_set_conversation(pinfo, conn);
}

/* Lets the state learn from a decoded CDC message. */
static void
learn_cdc(packet_info *pinfo, const smcr_cdc_t *cdc, const smcr_arrival_t *arrival)
{
    smcr_state_cdc(arrival, cdc);
    adopt_named_conns(arrival, pinfo);
    if (arrival->record->conn)
        learn_tcp_end(arrival, cdc);
}

/* Decodes an LLC or CDC message, and lets the state learn from the message. */
static void
learn_message(packet_info *pinfo, tvbuff_t *message, const smcr_arrival_t *arrival)
{
    if (smcr_wire_llc_type_is_cdc(tvb_get_uint8(message, 0))) {
        smcr_cdc_t cdc;
        smcr_cdc_decode(message, pinfo, &cdc);
        learn_cdc(pinfo, &cdc, arrival);
    } else {
        smcr_llc_t llc;
        smcr_llc_decode(message, pinfo, &llc);
        smcr_state_llc(arrival, &llc);
    }
}

/* Parses the message of RDMA-CM in the packet. Returns false if the packet has no such message:
 * these messages are in unreliable datagrams to queue pair 1. */
static bool
parse_management(const smcr_packet_t *packet, smcr_cm_message_t *message)
{
    const smcr_ib_headers_t *roce = &packet->roce;

    if (roce->opcode != SMCR_UD_SEND_ONLY || roce->destination.qpn != SMCR_IB_GSI_QPN ||
        !smcr_packet_has_bytes(packet))
        return false;
    size_t length = tvb_captured_length(packet->payload);
    return smcr_cm_message_parse(message, tvb_get_ptr(packet->payload, 0, (int)length), length);
}

/* Learns a packet that is not SMC-R, for the RDMA connections of other programs (smcr.roce).
 * Returns whether the packet has a flow of fabric/peers, which goes into its record. */
static bool
learn_foreign(const smcr_packet_t *packet, smcr_arrival_t *arrival)
{
    smcr_cm_message_t management;
    bool manages = parse_management(packet, &management);

    smcr_state_foreign(arrival, manages ? &management : NULL);
    return packet->record.rdma != NULL;
}

/* ---- every pass ---- */

void
smcr_packet_begin(const packet_info *pinfo, smcr_packet_t *packet)
{
    *packet = (smcr_packet_t){.layer = pinfo->curr_layer_num, .roce.ip_id = -1};
    smcr_endpoint_gid(&pinfo->src, packet->roce.source);
    smcr_endpoint_gid(&pinfo->dst, packet->roce.destination.gid);
}

/* Adds the packet to the message of several packets that the packet is a part of. Returns the
 * message if this packet completes it; otherwise NULL. */
static tvbuff_t *
add_part(packet_info *pinfo, smcr_packet_t *packet)
{
    uint8_t opcode = packet->roce.opcode;
    bool more = opcode == SMCR_RC_SEND_FIRST || opcode == SMCR_RC_SEND_MIDDLE;

    packet->fragments = smcr_packet_parts_add(packet->payload, pinfo, &packet->record, more);
    bool ends = packet->fragments && packet->fragments->reassembled_in == pinfo->num;
    return ends ? packet->fragments->tvb_data : NULL;
}

/* Returns the LLC or CDC message that this packet completes; NULL: none. Also sets `fragments` of
 * the packet if the packet is a part of a longer message. */
static tvbuff_t *
find_message(packet_info *pinfo, smcr_packet_t *packet)
{
    if (!smcr_packet_has_bytes(packet))
        return NULL;
    if (smcr_ib_operations[packet->roce.opcode].is_whole_send)
        return packet->payload;
    if (!smcr_ib_operations[packet->roce.opcode].is_send || !packet->record.has_part)
        return NULL;
    return add_part(pinfo, packet);
}

/* Whether some of the packet's payload was not captured, or it has none. */
static bool
is_cut(const tvbuff_t *payload)
{
    return !payload || tvb_captured_length(payload) < tvb_reported_length(payload);
}

/* Whether the packet belongs to a link of SMC-R, and its ICRC is not known to be wrong. */
static bool
is_intact_smcr(const smcr_record_t *record)
{
    return record->link && record->kind != SMCR_RECORD_CORRUPT;
}

/* Returns the number of the queue pair that sends the packet of this record; 0: not known. */
static uint32_t
sender_of(const smcr_record_t *record)
{
    if (record->link && record->sender >= 0)
        return record->link->qp[record->sender].key.qpn;
    return record->rdma && record->rdma->ground ? record->rdma->src_qpn : 0;
}

/* First pass: gives the packet to the comparison of capture points. Returns whether the packet is a
 * copy, which counts at another capture point: then the state does not learn it. `points` NULL: the
 * file has one capture point, and the result is false. Of a packet with a wrong ICRC, any byte may
 * be wrong, so it is compared in another way. */
static bool
take_at_point(const packet_info *pinfo, const smcr_packet_t *packet, smcr_points_t *points)
{
    if (!points)
        return false;
    smcr_points_packet_t at_point = {
        .when = smcr_capture_learn_when(pinfo),
        .place = {smcr_capture_interface(pinfo), smcr_capture_device(pinfo)},
        .roce = &packet->roce,
    };
    return packet->roce.has_bad_icrc ? smcr_points_take_damaged(points, &at_point)
                                     : smcr_points_take(points, &at_point);
}

/* If the WRITE has a message in its immediate data, checks the message against the end of the TCP
 * connection. smcr_state_packet() has learned the message itself. */
static void
learn_immediate(packet_info *pinfo, const smcr_packet_t *packet, const smcr_arrival_t *arrival)
{
    smcr_cdc_t cdc;

    if (!smcr_state_immediate_cdc(&packet->record, &packet->roce, &cdc))
        return;
    adopt_named_conns(arrival, pinfo);
    learn_tcp_end(arrival, &cdc);
}

/* Learns the message that the packet completes, or the message in the immediate data of an RDMA
 * WRITE. A message with a truncated part cannot be decoded, so it counts as missing. */
static void
learn_part(packet_info *pinfo, smcr_packet_t *packet, const smcr_arrival_t *arrival)
{
    tvbuff_t *message = find_message(pinfo, packet);

    if (packet->record.has_part && is_cut(packet->payload))
        smcr_evidence_pass_over(arrival);
    if (message && is_intact_smcr(&packet->record))
        learn_message(pinfo, message, arrival);
    if (packet->record.kind == SMCR_RECORD_WRITE)
        learn_immediate(pinfo, packet, arrival);
}

/* Learns from a message or data that a tap in the kernel of a host has copied. Returns false if the
 * state does not know the link of the packet. */
static bool
learn_tapped(packet_info *pinfo, const smcr_packet_t *packet, smcr_arrival_t *arrival)
{
    const smcr_packet_tapped_t *tapped = packet->tapped;

    if (!smcr_state_packet(arrival))
        return false;
    if (tapped->lacks_before)
        smcr_evidence_pass_over(arrival);
    if (tapped->cdc)
        learn_cdc(pinfo, tapped->cdc, arrival);
    return true;
}

/* Learns from a packet that is no copy of a packet at another capture point. Returns whether the
 * packet gets a record. */
static bool
learn_counting(packet_info *pinfo, smcr_packet_t *packet, smcr_arrival_t *arrival)
{
    if (packet->tapped)
        return learn_tapped(pinfo, packet, arrival);
    bool found = recognise_packet(pinfo, packet, arrival);
    if (smcr_preferences.roce && !packet->record.link)
        found |= learn_foreign(packet, arrival);
    if (found)
        learn_part(pinfo, packet, arrival);
    return found;
}

/* First pass: makes the record of the packet. Returns false if the packet gets no record. The
 * comparison of capture points comes first, since the state must not learn a copy as a packet. */
static bool
learn_packet(packet_info *pinfo, smcr_packet_t *packet)
{
    smcr_arrival_t arrival;

    begin_arrival(pinfo, &packet->record, &arrival);
    arrival.roce = &packet->roce;
    arrival.sought_qp = packet->receiver;
    arrival.is_qp_sought = packet->is_receiver_sought;
    arrival.layer = packet->layer;
    smcr_points_t *points = packet->tapped ? NULL : smcr_state_points(arrival.state);
    bool found = take_at_point(pinfo, packet, points) ? smcr_state_copy(&arrival)
                                                      : learn_counting(pinfo, packet, &arrival);

    if (!found)
        return false;
    if (points && (packet->record.link || packet->record.rdma)) {
        smcr_points_know(points, pinfo->num, sender_of(&packet->record));
        smcr_handshake_watch_segments();
    }
    smcr_record_keep(&arrival, packet->layer);
    smcr_record_complete(arrival.state, &packet->record);
    return true;
}

/* Later passes: finds the record that the first pass has made. Returns false if the packet has no
 * record. If the first pass has found the ICRC wrong, sets this in the headers, too: without the
 * preference smcr.check_icrc, later passes do not check it. A packet that a tap in a kernel has
 * copied (`tapped`) is never a part of a message. */
static bool
recall_packet(packet_info *pinfo, smcr_packet_t *packet)
{
    const smcr_state_t *state = smcr_capture_state();

    if (!smcr_record_find(state, pinfo->num, packet->layer, &packet->record))
        return false;
    if (packet->record.kind == SMCR_RECORD_CORRUPT) {
        packet->roce.has_bad_icrc = true;
        packet->roce.icrc = 1 + SMCR_IB_ICRC_BAD;
    }
    if (!packet->tapped)
        find_message(pinfo, packet); /* sets `fragments` of the packet, which are shown */
    smcr_record_complete(state, &packet->record);
    return true;
}

/* Later passes find the record of the first pass, and do not change the state. */
bool
smcr_packet_learn(packet_info *pinfo, smcr_packet_t *packet)
{
    if (smcr_capture_is_quoted(pinfo))
        return false;
    packet->fragments = NULL;
    bool found = is_first_pass(pinfo) ? learn_packet(pinfo, packet) : recall_packet(pinfo, packet);
    return found && packet->record.link != NULL;
}

/* ---- the ICRC ---- */

/* Whether the packet may be a whole LLC or CDC message, of which all bytes are captured. Requests
 * of other programs begin with the same values: to an unknown queue pair, only a message of the
 * usual length counts. */
static bool
may_be_whole_message(const smcr_packet_t *packet)
{
    bool is_whole = smcr_ib_operations[packet->roce.opcode].is_whole_send &&
                    smcr_packet_has_bytes(packet) && !is_cut(packet->payload);

    return is_whole && (packet->roce.payload_length == SMCR_LLC_LENGTH || packet->receiver);
}

/* The messages change what is known of links, RMBs and connections: a damaged one would make a link
 * or a connection that does not exist, or seem to break a rule. They are short, so the check costs
 * little. Of other packets, those are checked that would look like a fault of their sender. */
bool
smcr_packet_wants_icrc(const packet_info *pinfo, smcr_packet_t *packet)
{
    const smcr_state_t *state = smcr_capture_state();

    if (!is_first_pass(pinfo) || smcr_capture_is_quoted(pinfo))
        return false;
    packet->receiver = smcr_qp_find(state, &packet->roce.destination);
    packet->is_receiver_sought = true;
    if (may_be_whole_message(packet))
        return true;
    return packet->receiver &&
           smcr_state_packet_is_doubtful(state, &packet->roce, packet->receiver);
}

/* The ICRC of this packet is counted first, and the decision about its sender includes it. Later
 * passes count nothing. */
void
smcr_packet_learn_icrc(const packet_info *pinfo, smcr_packet_t *packet, smcr_icrc_t *icrc)
{
    if (is_first_pass(pinfo))
        smcr_senders_count(smcr_capture_learn(pinfo), icrc, pinfo->num);
    uint32_t doubted = 0;

    packet->roce.has_bad_icrc = icrc->status == SMCR_IB_ICRC_BAD &&
                           smcr_senders_trust(smcr_capture_state(), icrc, &doubted) &&
                           (smcr_preferences.check_icrc ||
                            smcr_senders_are_mostly_right(smcr_capture_state(), icrc));
    if (doubted) {
        icrc->status = SMCR_IB_ICRC_UNVERIFIED;
        icrc->sender_doubted = doubted == pinfo->num;
    }
    packet->roce.icrc = (uint8_t)(1 + icrc->status);
}

/* ---- CLC, the first bytes of the application, and netlink messages of hosts ---- */

/* Returns the layer under which the record of the `nth` message of this kind in the frame is kept.
 * The layers differ from those of Wireshark's protocols, which RoCE packets have. After TOLD_MAX
 * messages of a frame the layers repeat. */
static uint16_t
layer_of(smcr_packet_layer_t kind, unsigned nth)
{
    return (uint16_t)(kind + nth % TOLD_MAX);
}

bool
smcr_packet_find_record(const packet_info *pinfo, smcr_packet_layer_t kind, unsigned nth,
                        smcr_record_t *record)
{
    return (kind != SMCR_PACKET_CLC || nth < CLC_MAX) &&
           smcr_record_find(smcr_capture_state(), pinfo->num, layer_of(kind, nth), record);
}

/* Messages beyond CLC_MAX of a frame are shown, but not learned, since their records would have no
 * layer. */
void
smcr_packet_learn_clc(smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_clc_t *clc,
                      unsigned nth, bool from_server)
{
    smcr_record_t record;

    if (nth >= CLC_MAX)
        return;
    uint16_t layer = layer_of(SMCR_PACKET_CLC, nth);
    smcr_record_begin(&record);
    arrival->record = &record;
    smcr_state_clc(arrival, conn, clc, from_server);
    smcr_record_keep(arrival, layer);
}

/* Most connections have no event here, and need no record. */
void
smcr_packet_learn_data(smcr_arrival_t *arrival, smcr_conn_t *conn, bool from_server)
{
    smcr_record_t record;

    smcr_record_begin(&record);
    arrival->record = &record;
    smcr_state_tcp_data(arrival, conn, from_server);
    if (record.events)
        smcr_record_keep(arrival, SMCR_PACKET_DATA);
}

/* Most reports have no event, and need no record. */
void
smcr_packet_learn_netlink(packet_info *pinfo, const smcr_told_t *told, unsigned nth)
{
    smcr_record_t record;
    smcr_arrival_t arrival;

    begin_arrival(pinfo, &record, &arrival);
    smcr_state_report(&arrival, told);
    adopt_named_conns(&arrival, pinfo);
    if (record.events)
        smcr_record_keep(&arrival, layer_of(SMCR_PACKET_TOLD, nth));
}
