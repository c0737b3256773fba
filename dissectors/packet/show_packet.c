/* Shows an LLC or CDC message, a part of such a message, or an RDMA WRITE, and the facts that the
 * first pass has learned of the packet. Reassembles messages of several packets; the number of a
 * part is the distance of its PSN from that of the first packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 * */

#include "packet.h"

#include <epan/exceptions.h>

#include "fields.h"
#include "message/message.h"
#include "payload/payload.h"
#include "show/show.h"
#include "wire/wire.h"

/* ---- messages in several packets ---- */

/* The messages of several packets, for Wireshark's reassembly. */
static reassembly_table messages;

static const fragment_items part_items = {
    .ett_fragment = &ett_smcr_part,
    .ett_fragments = &ett_smcr_parts,
    .hf_fragments = &hf_smcr_parts,
    .hf_fragment = &hf_smcr_part,
    .hf_fragment_overlap = &hf_smcr_part_overlap,
    .hf_fragment_overlap_conflict = &hf_smcr_part_conflict,
    .hf_fragment_multiple_tails = &hf_smcr_part_tails,
    .hf_fragment_too_long_fragment = &hf_smcr_part_too_long,
    .hf_fragment_error = &hf_smcr_part_error,
    .hf_fragment_count = &hf_smcr_part_count,
    .hf_reassembled_in = &hf_smcr_whole_in,
    .hf_reassembled_length = &hf_smcr_whole_length,
    .tag = "parts",
};

/* ---- the key of a message: link, direction, and PSN of its first packet ---- */

/* The key of a message of several packets in `messages`. */
typedef struct {
    const smcr_link_t *link; /* link of the message */
    int sender;   /* sender of the message: side of the link group, 0 or 1 */
    uint32_t psn; /* PSN of the first packet of the message */
} part_key_t;

/* Makes the permanent key of a message, for Wireshark's reassembly. `psn`: PSN of the first packet
 * of the message. `data`: record of a packet of the message. */
static void *
new_key(const packet_info *pinfo _U_, const uint32_t psn, const void *data)
{
    const smcr_record_t *record = data;
    part_key_t *key = g_slice_new(part_key_t);

    *key = (part_key_t){record->link, record->sender, psn};
    return key;
}

static void
free_key(void *key)
{
    g_slice_free(part_key_t, key);
}

SMCR_WIRE_KEY(hash_key, equal_keys, sizeof(part_key_t))

void
smcr_packet_parts_register(void)
{
    static const reassembly_table_functions functions = {hash_key, equal_keys, new_key,
                                                         new_key,  free_key,   free_key};

    reassembly_table_register(&messages, &functions);
}

/* The key of a message is its link, its sender and its first PSN, so messages of two directions
 * never mix. Parts may come in any order, since each has its number. A truncated part leaves its
 * message incomplete. */
fragment_head *
smcr_packet_parts_add(tvbuff_t *payload, packet_info *pinfo, const smcr_record_t *record, bool more)
{
    unsigned length = tvb_captured_length(payload);

    if (length < tvb_reported_length(payload)) /* truncated: the message cannot be reassembled */
        return NULL;
    return fragment_add_seq_check(&messages, payload, 0, pinfo, record->part.message_psn, record,
                                  record->part.number, length, more);
}

/* ---- packets ---- */

/* What a packet carries; a carried_t without a message has NO_MESSAGE. */
typedef enum { NO_MESSAGE, CDC_MESSAGE, LLC_MESSAGE } message_kind_t;

/* The message that a packet carries or completes. */
typedef struct {
    message_kind_t kind; /* kind of the message */
    smcr_cdc_t cdc; /* set if `kind` is CDC_MESSAGE */
    smcr_llc_t llc; /* set if `kind` is LLC_MESSAGE */
} carried_t;

/* Shows a message. Returns its subtree. */
static proto_tree *
show_message(tvbuff_t *message, packet_info *pinfo, proto_tree *tree, carried_t *carried)
{
    if (smcr_wire_llc_type_is_cdc(tvb_get_uint8(message, 0))) {
        carried->kind = CDC_MESSAGE;
        return smcr_cdc_dissect(message, pinfo, tree, &carried->cdc);
    }
    carried->kind = LLC_MESSAGE;
    return smcr_llc_dissect(message, pinfo, tree, &carried->llc);
}

/* Shows a packet of a message that is longer than the path MTU. For the packet that completes the
 * message, returns the subtree of the message; for other packets, the subtree of the part. */
static proto_tree *
show_part(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet, carried_t *carried)
{
    proto_item *item = smcr_item_top(tree, packet->payload, "SMC-R");
    proto_tree *below = proto_item_add_subtree(item, ett_smcr);

    col_append_str(pinfo->cinfo, COL_INFO, "Part of a message");
    proto_item_append_text(item, ", part of a message");
    if (packet->fragments) /* smcr_packet_learn() has reassembled the message */
        packet->fragments->reas_in_layer_num = pinfo->curr_layer_num;
    tvbuff_t *message = process_reassembled_data(packet->payload, 0, pinfo,
                                                 "Reassembled SMC-R message", packet->fragments,
                                                 &part_items, NULL, below);
    return message ? show_message(message, pinfo, tree, carried) : below;
}

/* Shows an RDMA WRITE packet, and the message in its immediate data. Returns its subtree. */
static proto_tree *
show_write(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet, carried_t *carried)
{
    if (smcr_state_immediate_cdc(&packet->record, &packet->roce, &carried->cdc)) {
        carried->kind = CDC_MESSAGE;
        smcr_info_immediate(pinfo, packet->roce.immediate, &carried->cdc);
    }
    return smcr_show_rdma_write(packet->payload, pinfo, tree, &packet->roce, &packet->record);
}

/* Shows a CDC message that a tap in the kernel of a host has copied. The listeners of the tap
 * `smcr` get the message with the numbers that the state has computed for it. */
static proto_tree *
show_tapped_message(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet,
                    carried_t *carried)
{
    smcr_cdc_t shown;
    proto_tree *below =
        packet->tapped->is_smcd ? smcr_cdc_dissect_smcd(packet->payload, pinfo, tree, &shown)
                                : smcr_cdc_dissect(packet->payload, pinfo, tree, &shown);

    carried->kind = CDC_MESSAGE;
    carried->cdc = *packet->tapped->cdc;
    return below;
}

/* Shows a message with a wrong ICRC, without the expert items of its contents. Returns its
 * subtree. */
static proto_tree *
show_damaged_message(tvbuff_t *message, packet_info *pinfo, proto_tree *tree, carried_t *carried)
{
    proto_tree *volatile below = NULL;

    smcr_items_raise_of_messages(false);
    TRY {
        below = show_message(message, pinfo, tree, carried);
    }
    FINALLY {
        smcr_items_raise_of_messages(true);
    }
    ENDTRY;
    return below;
}

/* Shows the payload. Returns the subtree to which the learned facts are added. */
static proto_tree *
show_payload(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet, carried_t *carried)
{
    if (packet->record.kind == SMCR_RECORD_WRITE)
        return show_write(pinfo, tree, packet, carried);
    if (packet->tapped)
        return show_tapped_message(pinfo, tree, packet, carried);
    if (packet->record.kind == SMCR_RECORD_CORRUPT &&
        smcr_ib_operations[packet->roce.opcode].is_whole_send)
        return show_damaged_message(packet->payload, pinfo, tree, carried);
    if (smcr_ib_operations[packet->roce.opcode].is_whole_send)
        return show_message(packet->payload, pinfo, tree, carried);
    return show_part(pinfo, tree, packet, carried);
}

/* Returns the held packets, as smcr_held_t *: earlier packets whose payload dissectors get in the
 * frame of this packet (docs/architecture.md, "Held bytes"); NULL: none. */
static wmem_array_t *
held_packets(const packet_info *pinfo, const smcr_packet_t *packet)
{
    const smcr_link_t *link = packet->record.link;

    return link ? smcr_held_of(link->lgr->state, pinfo->num, packet->layer) : NULL;
}

/* Whether the receiver discards the CDC message of the packet, since the hosts have agreed on
 * immediate data in its place. So the message changes nothing, and no listener counts it. */
static bool
is_discarded_message(const smcr_record_t *record)
{
    return smcr_record_has_event(record, SMCR_EVENT_cdc_beside_immediate);
}

/* Sets the source port of the packet, and reports the packet to the listeners of the tap.
 * `carried`: message of the packet; NULL: none. `held`: from held_packets(). */
static void
tap_packet(packet_info *pinfo, const smcr_packet_t *packet, const carried_t *carried,
           wmem_array_t *held)
{
    smcr_tap_t tap = {.record = &packet->record, .roce = &packet->roce, .delivered = held};

    if (packet->record.kind == SMCR_RECORD_WRITE)
        tap.data = packet->payload;
    if (carried && carried->kind == LLC_MESSAGE)
        tap.llc = &carried->llc;
    if (carried && carried->kind == CDC_MESSAGE && !is_discarded_message(&packet->record))
        tap.cdc = &carried->cdc;
    smcr_show_source_port(pinfo, &packet->record, &packet->roce);
    if (packet->record.order == SMCR_FLOW_IS_ELSEWHERE) /* a copy: the frame of the other capture
                                                           point, in which the packet counts, is
                                                           reported */
        return;
    smcr_tap_packet(pinfo, &tap);
}

/* Whether the packet has a payload to show. An RDMA WRITE is shown even if it has no data, or if
 * none of its data was captured. */
static bool
has_payload_to_show(const smcr_packet_t *packet)
{
    if (!packet->payload)
        return false;
    if (packet->record.kind == SMCR_RECORD_WRITE)
        return true;
    return smcr_ib_operations[packet->roce.opcode].is_send && smcr_packet_has_bytes(packet);
}

/* Passes the application's bytes to dissectors: the bytes of held packets, then the bytes of this
 * packet if it is an RDMA WRITE. If the packet brings a message that ends a stream, reports the end
 * of the stream to dissectors. `held`: from held_packets(). */
static void
dissect_application(const smcr_payload_target_t *target, const smcr_packet_t *packet,
                    wmem_array_t *held)
{
    tvbuff_t *payload = packet->payload;
    bool write = packet->record.kind == SMCR_RECORD_WRITE;

    if (held)
        smcr_payload_hand_on(target, held, payload, write ? payload : NULL);
    if (write) {
        smcr_payload_buffer(payload, target->pinfo, target->record);
        if (!held)
            smcr_payload_dissect(target, payload);
    }
    smcr_payload_end_stream(target, payload);
}

/* The application's bytes are dissected last: a dissector may throw an exception, which skips the
 * rest of this function. So all facts of SMC-R are shown and reported before. */
bool
smcr_packet_show(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet)
{
    const smcr_record_t *record = &packet->record;

    if (!has_payload_to_show(packet))
        return false;
    smcr_info_begin(pinfo, record);
    carried_t carried;
    carried.kind = NO_MESSAGE;
    proto_tree *below = show_payload(pinfo, tree, packet, &carried);
    smcr_annotate_packet(packet->payload, pinfo, below, record, &packet->roce);
    smcr_info_trouble(pinfo, record);
    wmem_array_t *held = held_packets(pinfo, packet);
    tap_packet(pinfo, packet, &carried, held);
    const smcr_payload_target_t target = {pinfo, tree, below, record};
    dissect_application(&target, packet, held);
    return true;
}

void
smcr_packet_buffer_payload(const packet_info *pinfo, const smcr_packet_t *packet)
{
    if (packet->payload && packet->record.write_location)
        smcr_payload_buffer(packet->payload, pinfo, &packet->record);
}

/* Returns the kind of a packet without payload as text, for the line of its protocol; "": it is
 * none of CNP, NAK and ACK. */
static const char *
text_of_answer(packet_info *pinfo, const smcr_packet_t *packet)
{
    const smcr_record_t *record = &packet->record;
    bool refuses =
        packet->roce.has_aeth &&
        smcr_wire_bits(packet->roce.syndrome, SMCR_MASK_SYNDROME_KIND) != SMCR_IB_SYNDROME_ACK;

    if (record->kind == SMCR_RECORD_CNP)
        return ", congestion notification";
    if (refuses)
        return ", NAK";
    if (record->acks.frame)
        return wmem_strdup_printf(pinfo->pool, ", ACK of frame %u", record->acks.frame);
    return packet->roce.opcode == SMCR_RC_ACK ? ", ACK" : "";
}

/* The item of SMC-R has no bytes: the headers belong to InfiniBand's dissector. */
void
smcr_packet_show_empty(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                       const smcr_packet_t *packet)
{
    const smcr_record_t *record = &packet->record;
    const char *protocol = pinfo->current_proto; /* protocol name under which Wireshark lists expert
                                                    items */
    proto_item *item = proto_tree_add_protocol_format(tree, proto_smcr, tvb, 0, 0, "SMC-R%s",
                                                      tree ? text_of_answer(pinfo, packet) : "");
    proto_tree *below = proto_item_add_subtree(item, ett_smcr);

    if (record->has_number)
        proto_item_append_text(item, ", link %u", record->link->number);
    pinfo->current_proto = "SMC-R";
    smcr_annotate_packet(tvb, pinfo, below, record, &packet->roce);
    pinfo->current_proto = protocol;
    smcr_info_answer(pinfo, record, &packet->roce);
    smcr_info_trouble(pinfo, record);
    wmem_array_t *held = held_packets(pinfo, packet);
    tap_packet(pinfo, packet, NULL, held);
    const smcr_payload_target_t target = {pinfo, tree, below, record};
    if (held)
        smcr_payload_hand_on(&target, held, tvb, NULL);
}

void
smcr_packet_show_foreign(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                         const smcr_packet_t *packet)
{
    smcr_show_rdma_connection(tvb, pinfo, tree, &packet->record, &packet->roce);
    tap_packet(pinfo, packet, NULL, held_packets(pinfo, packet));
}
