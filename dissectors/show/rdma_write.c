/* Shows what an RDMA WRITE packet carries, and where in the receiver's RMB it goes. RoCE frames
 * say that with an RKey and an address, and only in the first packet of a request.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include "generated.h"

/* As InfiniBand's dissector calls them. */
static const char *const part_names[SMCR_RC_WRITE_ONLY_IMMEDIATE + 1] = {
    [SMCR_RC_WRITE_FIRST] = "First", [SMCR_RC_WRITE_MIDDLE] = "Middle",
    [SMCR_RC_WRITE_LAST] = "Last",   [SMCR_RC_WRITE_LAST_IMMEDIATE] = "Last",
    [SMCR_RC_WRITE_ONLY] = "Only",   [SMCR_RC_WRITE_ONLY_IMMEDIATE] = "Only",
};

static void
show_place(proto_tree *tree, const smcr_record_t *record)
{
    const smcr_place_t *place = record->place;
    smcr_stream_piece_t piece = smcr_place_piece(place);

    if (place->index) {
        smcr_generated_hidden_uint(tree, hf_smcr_rmb_index, place->index);
        smcr_generated_hidden_uint(tree, hf_smcr_write_offset, place->offset);
    }
    if (piece.known)
        smcr_generated_uint64(tree, hf_smcr_stream_offset, piece.position);
    if (piece.rewritten && record->fate == SMCR_FLOW_FATE_TAKE) /* else it has turned out later */
        smcr_generated_uint(tree, hf_smcr_stream_rewritten, piece.rewritten);
    if (piece.gap && !smcr_place_rare(place)->gap_is_seen)
        smcr_generated_uint64(tree, hf_smcr_stream_gap, piece.gap);
}

/* ANCK's smc_wr.h, union smc_wr_imm_msg; of those that name the connection */
static void
show_immediate(proto_tree *tree, const smcr_conn_side_t *receiver, uint32_t immediate)
{
    static const int *const flags[] = {
#define SMCR_CDC_FLAG(name, mask, field, words) &hf_smcr_cdc_##field,
#define SMCR_CDC_STATE SMCR_CDC_FLAG
#include "wire/cdc.def"
    };
    static const struct {
        uint8_t step, credits, flags; /* bits; the first of `flags` */
    } parts[8] = {{21, 0, 0}, {17, 0, 3}, {0, 0, 8}, [6] = {13, 8, 0}, {10, 8, 3}};
    unsigned opcode = immediate >> 21 & 7, step = parts[opcode].step;

    if (!receiver->has_token || (uint8_t)receiver->token != immediate >> 24)
        return;
    proto_tree *below = proto_item_add_subtree(
        smcr_generated_uint(tree, hf_smcr_immediate, opcode), ett_smcr_flags);
    smcr_generated_uint(below, hf_smcr_immediate_token, immediate >> 24);
    for (unsigned i = 0; i < parts[opcode].flags; i++) { /* five, then three of byte 25 of CDC */
        unsigned byte = step ? immediate >> 13 : i < 5 ? immediate >> 8 : immediate;
        proto_item_set_generated(proto_tree_add_boolean(below, *flags[i], NULL, 0, 0, byte));
    }
    if (parts[opcode].credits)
        smcr_generated_uint(below, hf_smcr_credits, immediate >> step & 0xff);
    if (step)
        smcr_generated_uint(below, hf_smcr_immediate_step, immediate & ((1U << step) - 1));
}

/* What stands in this line has no other: its fields are hidden. */
static proto_tree *
show_top(tvbuff_t *data, proto_tree *tree, const smcr_ib_headers_t *roce, const smcr_place_t *place)
{
    char text[128];
    smcr_quick_text_t to = SMCR_QUICK_TEXT(text);

    smcr_quick_text_put(&to, "SMC-R, RDMA WRITE ");
    smcr_quick_text_put(&to, smcr_ib_is_write(roce->opcode) ? part_names[roce->opcode] : "?");
    smcr_quick_text_put_number(&to, ", ", place->length);
    smcr_quick_text_put(&to, " bytes");
    if (place->index) {
        smcr_quick_text_put_number(&to, " to offset ", place->offset);
        smcr_quick_text_put_number(&to, " of RMB element ", place->index);
    }
    proto_item *top = smcr_item_top(tree, data, text);
    return proto_item_add_subtree(top, ett_smcr);
}

static void
show_fields(tvbuff_t *data, proto_tree *below, const smcr_ib_headers_t *roce,
            const smcr_record_t *record)
{
    uint32_t length = record->place->length;

    smcr_item_kind(below, hf_smcr_write, data);
    smcr_generated_hidden_uint(below, hf_smcr_write_len, length);
    show_place(below, record);
    if (roce->has_reth)
        smcr_generated_uint(below, hf_smcr_rkey, roce->rkey);
    if (roce->has_immediate && record->conn && record->conn->lgr->immediate_agreed)
        show_immediate(below, &record->conn->side[!record->sender], roce->immediate);
}

proto_tree *
smcr_show_rdma_write(tvbuff_t *data, packet_info *pinfo, proto_tree *tree,
                     const smcr_ib_headers_t *roce, const smcr_record_t *record)
{
    const smcr_place_t *place = record->place;
    uint32_t captured = tvb_captured_length(data);
    proto_tree *below = tree ? show_top(data, tree, roce, place) : NULL;

    if (proto_field_is_referenced(tree, proto_smcr))
        show_fields(data, below, roce, record);
    if (smcr_place_rare(place) && smcr_place_rare(place)->held &&
        smcr_place_rare(place)->held->handed_in)
        smcr_generated_uint(below, hf_smcr_data_in, smcr_place_rare(place)->held->handed_in);
    if (captured < place->length)
        smcr_item_raise(pinfo, smcr_generated_uint(below, hf_smcr_write_cut, captured),
                        &ei_smcr_cut_short);
    return below;
}
