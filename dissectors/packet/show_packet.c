/* Shows an LLC or CDC message, a part of one, or an RDMA WRITE, and what was learned of it. Puts
 * messages together with Wireshark's reassembly; PSNs say which part is which.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet.h"

#include "fields.h"
#include "message/message.h"
#include "payload/payload.h"
#include "show/show.h"
#include "wire/wire.h"

/* ---- messages in several packets ---- */

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

/* ---- which message: link, direction, and PSN of its first packet ---- */

typedef struct {
    const smcr_link_t *link;
    int sender;
    uint32_t psn;
} part_key_t;

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

fragment_head *
smcr_packet_parts_add(tvbuff_t *payload, packet_info *pinfo, const smcr_record_t *record, bool more)
{
    unsigned length = tvb_captured_length(payload);

    if (length < tvb_reported_length(payload)) /* cut: the message cannot be put together */
        return NULL;
    return fragment_add_seq_check(&messages, payload, 0, pinfo, record->part.message_psn, record,
                                  record->part.number, length, more);
}

/* ---- packets ---- */

/* The message that a packet has carried. */
typedef struct {
    bool is_cdc, is_llc; /* neither: none */
    smcr_cdc_t cdc;
    smcr_llc_t llc;
} carried_t;

/* Returns the message's subtree. */
static proto_tree *
show_message(tvbuff_t *message, packet_info *pinfo, proto_tree *tree, carried_t *carried)
{
    carried->is_cdc = smcr_wire_llc_type_is_cdc(tvb_get_uint8(message, 0));
    carried->is_llc = !carried->is_cdc;
    return carried->is_cdc ? smcr_cdc_dissect(message, pinfo, tree, &carried->cdc)
                           : smcr_llc_dissect(message, pinfo, tree, &carried->llc);
}

/* A packet of a message that is longer than the path MTU. Returns the subtree of the message in its
 * last packet, of the part in the others. */
static proto_tree *
show_part(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet, carried_t *carried)
{
    proto_item *item = smcr_item_top(tree, packet->payload, "SMC-R");
    proto_tree *below = proto_item_add_subtree(item, ett_smcr);

    col_append_str(pinfo->cinfo, COL_INFO, "Part of a message");
    proto_item_append_text(item, ", part of a message");
    if (packet->parts) /* it was put together outside the layer that shows it */
        packet->parts->reas_in_layer_num = pinfo->curr_layer_num;
    tvbuff_t *message = process_reassembled_data(packet->payload, 0, pinfo,
                                                 "Reassembled SMC-R message", packet->parts,
                                                 &part_items, NULL, below);
    return message ? show_message(message, pinfo, tree, carried) : below;
}

/* Returns the subtree into which goes what was learned. */
static proto_tree *
show_payload(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet, carried_t *carried)
{
    if (packet->record.kind == SMCR_RECORD_WRITE)
        return smcr_show_rdma_write(packet->payload, pinfo, tree, &packet->roce, &packet->record);
    if (smcr_ib_is_whole_send(packet->roce.opcode))
        return show_message(packet->payload, pinfo, tree, carried);
    return show_part(pinfo, tree, packet, carried);
}

/* What is left to do when the packet is shown. Returns what it hands on; NULL: nothing. */
static wmem_array_t *
tell(packet_info *pinfo, const smcr_packet_t *packet, const carried_t *carried)
{
    bool write = packet->record.kind == SMCR_RECORD_WRITE;
    const smcr_link_t *link = packet->record.link;
    wmem_array_t *held = link ? smcr_held_of(link->lgr->state, pinfo->num, packet->layer) : NULL;

    smcr_show_source_port(pinfo, &packet->record, &packet->roce);
    smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &packet->record,
                                         .roce = &packet->roce,
                                         .llc = carried && carried->is_llc ? &carried->llc : NULL,
                                         .cdc = carried && carried->is_cdc ? &carried->cdc : NULL,
                                         .data = write ? packet->payload : NULL,
                                         .hands_on = held});
    return held;
}

bool
smcr_packet_show(packet_info *pinfo, proto_tree *tree, const smcr_packet_t *packet)
{
    const smcr_record_t *record = &packet->record;
    bool write = record->kind == SMCR_RECORD_WRITE;
    bool send = smcr_ib_is_send(packet->roce.opcode);

    /* A WRITE is worth a line even when it has no data, or none of its data was captured. */
    if (!packet->payload || (!write && (!send || !smcr_packet_has_bytes(packet))))
        return false;
    smcr_info_begin(pinfo, record);
    carried_t carried;
    carried.is_cdc = carried.is_llc = false;
    proto_tree *below = show_payload(pinfo, tree, packet, &carried);
    smcr_annotate_packet(packet->payload, pinfo, below, record, &packet->roce);
    smcr_info_trouble(pinfo, record);
    wmem_array_t *held = tell(pinfo, packet, &carried);
    if (held)
        smcr_payload_hand_on(held, packet->payload, write ? packet->payload : NULL, pinfo, tree,
                             below, record);
    if (write)
        smcr_payload_hold(packet->payload, pinfo, record);
    if (write && !held)
        smcr_payload_dissect(packet->payload, pinfo, tree, below, record);
    else if (!write)
        smcr_payload_end(packet->payload, pinfo, tree, below, record);
    return true;
}

void
smcr_packet_hold(const packet_info *pinfo, const smcr_packet_t *packet)
{
    if (packet->payload && packet->record.place)
        smcr_payload_hold(packet->payload, pinfo, &packet->record);
}

/* What a packet without payload is, for its line. */
static const char *
answer_text(packet_info *pinfo, const smcr_packet_t *packet)
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

void
smcr_packet_show_empty(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                       const smcr_packet_t *packet)
{
    const smcr_record_t *record = &packet->record;
    const char *protocol = pinfo->current_proto; /* under which expert items are listed */
    proto_item *item = proto_tree_add_protocol_format(tree, proto_smcr, tvb, 0, 0, "SMC-R%s",
                                                      tree ? answer_text(pinfo, packet) : "");
    proto_tree *below = proto_item_add_subtree(item, ett_smcr);

    if (record->has_number)
        proto_item_append_text(item, ", link %u", record->link->number);
    pinfo->current_proto = "SMC-R";
    smcr_annotate_packet(tvb, pinfo, below, record, &packet->roce);
    pinfo->current_proto = protocol;
    smcr_info_answer(pinfo, record, &packet->roce);
    smcr_info_trouble(pinfo, record);
    wmem_array_t *held = tell(pinfo, packet, NULL);
    if (held)
        smcr_payload_hand_on(held, tvb, NULL, pinfo, tree, below, record);
}

void
smcr_packet_show_foreign(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                         const smcr_packet_t *packet)
{
    smcr_show_rdma_connection(tvb, pinfo, tree, &packet->record, &packet->roce);
    tell(pinfo, packet, NULL);
}
