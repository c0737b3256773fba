/* Shows an RDMA WRITE packet: its data, and the place in the receiver's RMB into which the data are
 * written. Only the first packet of a WRITE request names the place, by RKey and address.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include "generated.h"

/* Names of the packets of a WRITE request, as in InfiniBand's dissector. */
#define PART "WRITE " /* the names of the parts of a WRITE begin so */
static const char *const part_names[SMCR_RC_WRITE_ONLY_IMMEDIATE + 1] = {
    [SMCR_RC_WRITE_FIRST] = PART "First",
    [SMCR_RC_WRITE_MIDDLE] = PART "Middle",
    [SMCR_RC_WRITE_LAST] = PART "Last",
    [SMCR_RC_WRITE_LAST_IMMEDIATE] = PART "Last",
    [SMCR_RC_WRITE_ONLY] = PART "Only",
    [SMCR_RC_WRITE_ONLY_IMMEDIATE] = PART "Only",
};

/* Returns "WRITE First" and so on; "data" for data that a tap in a host has copied; "WRITE ?" for
 * another opcode. */
static const char *
name_of_part(const smcr_ib_headers_t *roce, const smcr_record_t *record)
{
    if (smcr_record_tapped(record))
        return "data";
    return smcr_ib_operations[roce->opcode].is_write ? part_names[roce->opcode] : PART "?";
}

/* Shows the place of the data, as far as it is known: index and offset in the RMB, position in the
 * stream, and bytes that are rewritten or missing. */
static void
show_place(proto_tree *tree, const smcr_record_t *record)
{
    const smcr_place_t *place = record->write_location;
    smcr_stream_range_t piece = smcr_place_proven_range(place);

    if (!smcr_show_knows_place(record))
        return;
    if (place->index) {
        smcr_generated_hidden_uint(tree, hf_smcr_rmb_index, place->index);
        smcr_generated_hidden_uint(tree, hf_smcr_write_offset, place->offset);
    }
    if (piece.known)
        smcr_generated_uint64(tree, hf_smcr_stream_offset, piece.position);
    /* bytes were rewritten only if the receiver has accepted the packet */
    if (piece.rewritten && record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        smcr_generated_uint(tree, hf_smcr_stream_rewritten, piece.rewritten);
    if (piece.gap && !smcr_place_rare(place)->gap_may_be_captured)
        smcr_generated_uint64(tree, hf_smcr_stream_gap, piece.gap);
}

/* ---- immediate data of ANCK (wire/immediate.h) ---- */

/* Shows the CDC flags that the immediate data of ANCK have, as generated fields. cdc.def has the
 * flags in the order in which an opcode can have them: the first `read->parts->flags` ones. */
static void
show_immediate_flags(proto_tree *tree, const smcr_cdc_immediate_t *read)
{
    static const struct {
        const int *hf; /* field of the flag */
        bool is_state; /* the flag is in byte 25 of a CDC message; false: in byte 24 */
    } flags[] = {
#define SMCR_CDC_FLAG(name, mask, field, words) {&hf_smcr_cdc_##field, false},
#define SMCR_CDC_STATE(name, mask, field, words) {&hf_smcr_cdc_##field, true},
#include "wire/cdc.def"
    };

    for (unsigned i = 0; i < read->parts->flags; i++)
        proto_item_set_generated(
            proto_tree_add_boolean(tree, *flags[i].hf, NULL, 0, 0,
                                   flags[i].is_state ? read->state : read->flags));
}

/* Raises the expert item of reserved bits that are set in the immediate data; `item`: as for
 * smcr_item_raise(). */
static void
examine_immediate(packet_info *pinfo, proto_item *item, uint32_t immediate)
{
    if (smcr_wire_immediate_read(immediate).has_reserved)
        smcr_item_raise(pinfo, item, &ei_smcr_reserved);
}

/* Shows the immediate data of ANCK: a message in place of a CDC message, or an unknown opcode. */
static void
show_immediate(packet_info *pinfo, proto_tree *tree, uint32_t immediate)
{
    const smcr_cdc_immediate_t read = smcr_wire_immediate_read(immediate);
    proto_item *item = smcr_generated_uint(tree, hf_smcr_immediate, read.opcode);
    proto_tree *below = proto_item_add_subtree(item, ett_smcr_flags);

    smcr_generated_uint(below, hf_smcr_immediate_token, read.token);
    show_immediate_flags(below, &read);
    if (read.parts->credits)
        smcr_generated_uint(below, hf_smcr_credits, read.credits);
    if (read.parts->step)
        smcr_generated_uint(below, hf_smcr_immediate_step, read.step);
    examine_immediate(pinfo, item, immediate);
}

/* ---- the packet ---- */

/* Adds the line of the packet. Fields whose values are in this line are hidden. */
static proto_tree *
show_top(tvbuff_t *data, proto_tree *tree, const smcr_ib_headers_t *roce,
         const smcr_record_t *record)
{
    const smcr_place_t *place = record->write_location;
    char text[128];
    smcr_quick_text_t to = SMCR_QUICK_TEXT(text);

    smcr_quick_text_put(&to, smcr_show_protocol(record));
    smcr_quick_text_put(&to, smcr_record_tapped(record) ? ", " : ", RDMA ");
    smcr_quick_text_put(&to, name_of_part(roce, record));
    smcr_quick_text_put_number(&to, ", ", place->length);
    smcr_quick_text_put(&to, " bytes");
    if (place->index && smcr_show_knows_place(record)) {
        smcr_quick_text_put_number(&to, " to offset ", place->offset);
        smcr_quick_text_put_number(&to, " of RMB element ", place->index);
    }
    proto_item *top = smcr_item_top(tree, data, text);
    return proto_item_add_subtree(top, ett_smcr);
}

/* Shows the RDMA WRITE: its length, its place in the RMB and the stream, its RKey (data from a tap
 * have none), and its immediate data, if they name a connection. */
static void
show_fields(tvbuff_t *data, packet_info *pinfo, proto_tree *below, const smcr_ib_headers_t *roce,
            const smcr_record_t *record)
{
    const smcr_place_rare_t *rare = smcr_place_rare(record->write_location);
    uint32_t length = record->write_location->length;

    smcr_item_kind(below, hf_smcr_write, data, name_of_part(roce, record));
    smcr_generated_hidden_uint(below, hf_smcr_write_len, length);
    show_place(below, record);
    if (roce->has_reth && !smcr_record_tapped(record))
        smcr_generated_uint(below, hf_smcr_rkey, roce->rkey);
    if (rare && rare->names_conn)
        show_immediate(pinfo, below, roce->immediate);
}

/* The expert items are raised for each packet. Most fields are added only if a filter, column or
 * tree needs a field of the protocol. */
proto_tree *
smcr_show_rdma_write(tvbuff_t *data, packet_info *pinfo, proto_tree *tree,
                     const smcr_ib_headers_t *roce, const smcr_record_t *record)
{
    const smcr_place_t *place = record->write_location;
    const smcr_place_rare_t *rare = smcr_place_rare(place);
    uint32_t captured = tvb_captured_length(data);
    proto_tree *below = tree ? show_top(data, tree, roce, record) : NULL;

    if (proto_field_is_referenced(tree, proto_smcr))
        show_fields(data, pinfo, below, roce, record);
    else if (rare && rare->names_conn)
        examine_immediate(pinfo, NULL, roce->immediate);
    if (rare && rare->buffered_payload && rare->buffered_payload->handed_on_frame)
        smcr_generated_uint(below, hf_smcr_data_in, rare->buffered_payload->handed_on_frame);
    if (captured < place->length)
        smcr_item_raise(pinfo, smcr_generated_uint(below, hf_smcr_write_cut, captured),
                        &ei_smcr_cut_short);
    return below;
}
