/* Shows an RDMA WRITE packet: its data, and the place in the receiver's RMB into which the data are
 * written. Only the first packet of a WRITE request names the place, by RKey and address.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include "generated.h"

/* Names of the packets of a WRITE request, as in InfiniBand's dissector. */
static const char *const part_names[SMCR_RC_WRITE_ONLY_IMMEDIATE + 1] = {
    [SMCR_RC_WRITE_FIRST] = "First", [SMCR_RC_WRITE_MIDDLE] = "Middle",
    [SMCR_RC_WRITE_LAST] = "Last",   [SMCR_RC_WRITE_LAST_IMMEDIATE] = "Last",
    [SMCR_RC_WRITE_ONLY] = "Only",   [SMCR_RC_WRITE_ONLY_IMMEDIATE] = "Only",
};

/* Shows the place of the data: index and offset in the RMB, position in the stream, and bytes that
 * are rewritten or missing. */
static void
show_place(proto_tree *tree, const smcr_record_t *record)
{
    const smcr_place_t *place = record->write_location;
    smcr_stream_range_t piece = smcr_place_range(place);

    if (place->index) {
        smcr_generated_hidden_uint(tree, hf_smcr_rmb_index, place->index);
        smcr_generated_hidden_uint(tree, hf_smcr_write_offset, place->offset);
    }
    if (piece.known)
        smcr_generated_uint64(tree, hf_smcr_stream_offset, piece.position);
    /* the piece's `rewritten` counts only if the receiver has taken in the packet */
    if (piece.rewritten && record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        smcr_generated_uint(tree, hf_smcr_stream_rewritten, piece.rewritten);
    if (piece.gap && !smcr_place_rare(place)->gap_is_captured)
        smcr_generated_uint64(tree, hf_smcr_stream_gap, piece.gap);
}

/* ---- immediate data of ANCK: smc_wr.h, union smc_wr_imm_msg ---- */

#define FLAGS_OF_BYTE_24 5 /* number of CDC flags in byte 24 of a CDC message; the other flags are
                              in byte 25 */

/* The parts of the immediate data that follow the token (8 bits) and the opcode (3 bits). The
 * opcode decides which parts there are. */
typedef struct {
    uint8_t step;    /* number of bits of the step of the consumer cursor */
    uint8_t credits; /* number of bits of the credits, which are the next higher bits after the
                        step */
    uint8_t flags;   /* number of CDC flags in the immediate data: the first rows of cdc.def */
} immediate_parts_t;

static const immediate_parts_t immediate_parts[8] = {
    [0] = {.step = 21},
    [1] = {.step = 17, .flags = 3},
    [2] = {.flags = 8},
    [6] = {.step = 13, .credits = 8},
    [7] = {.step = 10, .credits = 8, .flags = 3},
};

/* Returns the flag byte that has the CDC flag number `i`. If the immediate data have a step, they
 * contain only three flags, at bit 20. If they have no step, they contain bytes 24 and 25 of a CDC
 * message. */
static unsigned
flag_byte(uint32_t immediate, const immediate_parts_t *parts, unsigned i)
{
    if (parts->step)
        return immediate >> 13;
    return i < FLAGS_OF_BYTE_24 ? immediate >> 8 : immediate;
}

static void
show_immediate_flags(proto_tree *tree, uint32_t immediate, const immediate_parts_t *parts)
{
    static const int *const flags[] = {
#define SMCR_CDC_FLAG(name, mask, field, words) &hf_smcr_cdc_##field,
#define SMCR_CDC_STATE SMCR_CDC_FLAG
#include "wire/cdc.def"
    };

    for (unsigned i = 0; i < parts->flags; i++)
        proto_item_set_generated(proto_tree_add_boolean(tree, *flags[i], NULL, 0, 0,
                                                        flag_byte(immediate, parts, i)));
}

/* Shows the immediate data. Shows nothing if their token differs from the low byte of the
 * receiver's alert token, because they then belong to another connection. */
static void
show_immediate(proto_tree *tree, const smcr_conn_side_t *receiver, uint32_t immediate)
{
    unsigned opcode = immediate >> 21 & 7;
    const immediate_parts_t *parts = &immediate_parts[opcode];

    if (!receiver->has_token || (uint8_t)receiver->token != immediate >> 24)
        return;
    proto_tree *below = proto_item_add_subtree(
        smcr_generated_uint(tree, hf_smcr_immediate, opcode), ett_smcr_flags);
    smcr_generated_uint(below, hf_smcr_immediate_token, immediate >> 24);
    show_immediate_flags(below, immediate, parts);
    if (parts->credits)
        smcr_generated_uint(below, hf_smcr_credits, immediate >> parts->step & 0xff);
    if (parts->step)
        smcr_generated_uint(below, hf_smcr_immediate_step,
                            immediate & ((1U << parts->step) - 1));
}

/* ---- the packet ---- */

/* Adds the line of the packet. Fields whose values are in this line are hidden. */
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
    uint32_t length = record->write_location->length;

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
    const smcr_place_t *place = record->write_location;
    const smcr_place_rare_t *rare = smcr_place_rare(place);
    uint32_t captured = tvb_captured_length(data);
    proto_tree *below = tree ? show_top(data, tree, roce, place) : NULL;

    if (proto_field_is_referenced(tree, proto_smcr))
        show_fields(data, below, roce, record);
    if (rare && rare->buffered_payload && rare->buffered_payload->handed_on_frame)
        smcr_generated_uint(below, hf_smcr_data_in, rare->buffered_payload->handed_on_frame);
    if (captured < place->length)
        smcr_item_raise(pinfo, smcr_generated_uint(below, hf_smcr_write_cut, captured),
                        &ei_smcr_cut_short);
    return below;
}
