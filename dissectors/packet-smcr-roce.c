/* packet-smcr-roce.c
 * 3. RoCE and InfiniBand packets: decides which of them are SMC-R and has them dissected.
 *
 * Wireshark's InfiniBand dissector offers payloads to heuristics, in an order that changes
 * whenever one of them matches, and offers no packet that was cut short and no acknowledgement.
 * So its handles are wrapped: the wrapper reads the headers itself and decides, by queue pair and
 * content, before anybody else is asked. For a packet that is ours all other payload heuristics
 * are kept out for that one call, and ours then shows what was decided.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet-smcr.h"

#include <epan/exceptions.h>

#include "annotate.h"
#include "cdc.h"
#include "dissector_state.h"
#include "fields.h"
#include "follow.h"
#include "handshake.h"
#include "infiniband.h"
#include "llc.h"
#include "preferences.h"
#include "recognise.h"
#include "rdma_write.h"
#include "send_parts.h"
#include "roce.h"
#include "state/orphan.h"
#include "stream.h"

/* The packet that the wrapper is about, for the heuristic that it calls through InfiniBand. */
typedef struct {
    smcr_roce_t roce;
    smcr_packet_t record;  /* what is known of the packet, if it has a record */
    smcr_packet_t *packet; /* the record; NULL: not ours. Changed in the first pass only */
    uint8_t layer;         /* of the packet in its frame */
    bool has_record, shown;
} frame_t;

static frame_t *current; /* NULL: it is in an encapsulation that is not wrapped */
static int proto_observer = -1;
static dissector_handle_t wrapper[SMCR_ROCE_STARTS];
static dissector_handle_t original[SMCR_ROCE_STARTS];
static heur_dtbl_entry_t *own_heuristic;
static bool enabled; /* both the protocol and the heuristic */
static heur_dtbl_entry_t *builtin_heuristic; /* of Wireshark's own `smc`; NULL when it has none */
static bool builtin_allowed;                 /* it is there, and the user has not disabled it */

/* ---- deciding ---- */

static bool
is_whole_send(uint8_t opcode)
{
    return opcode == RC_SEND_ONLY || opcode == RC_SEND_ONLY_IMM ||
           opcode == RC_SEND_ONLY_INVAL;
}

/* A SEND on an unknown queue pair: does its content prove that it is SMC-R? */
static bool
recognise(tvbuff_t *tvb, int payload_at, const smcr_roce_t *roce, smcr_when_t when)
{
    uint32_t sender_qpn;

    if (!is_whole_send(roce->opcode) || tvb_captured_length_remaining(tvb, payload_at) <= 0)
        return false;
    tvbuff_t *payload = tvb_new_subset_remaining(tvb, payload_at);
    if (!smcr_recognise(payload, roce))
        return false;
    if (smcr_recognise_sender(payload, &sender_qpn))
        smcr_state_recognise_link(smcr_state, roce, sender_qpn, when);
    else
        smcr_state_recognise(smcr_state, roce, when);
    return true;
}

/* First pass: is this packet SMC-R? Its payload is at `payload_at` of `tvb`, if it has any. Returns
 * whether it gets a record. */
static bool
decide(const packet_info *pinfo, tvbuff_t *tvb, int payload_at, const smcr_roce_t *roce,
       smcr_packet_t *packet)
{
    smcr_when_t when = smcr_when(pinfo);

    *packet = (smcr_packet_t){.kind = SMCR_PACKET_OTHER, .direction = SMCR_SIDE_UNKNOWN};
    bool known = smcr_state_packet(smcr_state, roce, when, packet);
    if (!known && recognise(tvb, payload_at, roce, when))
        known = smcr_state_packet(smcr_state, roce, when, packet);
    return known || smcr_orphan_stranger(smcr_state, roce, when, packet);
}

/* Whether the packet is SMC-R, as far as is known now. */
static bool
is_ours(const smcr_packet_t *packet)
{
    const smcr_late_t *late = packet->place ? smcr_place_late(packet->place) : NULL;

    return packet->link || (late && late->link);
}

/* Gets the record of this packet; the first pass makes it. */
static void
begin_packet(packet_info *pinfo, tvbuff_t *tvb, int payload_at, frame_t *frame)
{
    frame->layer = pinfo->curr_layer_num;
    frame->shown = false;
    if (pinfo->fd->visited)
        frame->has_record =
            smcr_record_find(smcr_state, pinfo->num, frame->layer, &frame->record);
    else
        frame->has_record = decide(pinfo, tvb, payload_at, &frame->roce, &frame->record);
    frame->packet = frame->has_record && is_ours(&frame->record) ? &frame->record : NULL;
}

/* The first pass has learned all of this packet. */
static void
end_packet(const packet_info *pinfo, const frame_t *frame)
{
    if (frame->has_record && !pinfo->fd->visited)
        smcr_record_keep(smcr_state, pinfo->num, frame->layer, &frame->record);
}

/* ---- showing ---- */

static void
run_builtin(tvbuff_t *message, packet_info *pinfo, proto_tree *tree)
{
    if (!smcr_preferences.builtin_too || !builtin_allowed)
        return;
    struct infinibandinfo infiniband = {.opCode = RC_SEND_ONLY};
    ws_bool behind_gate = builtin_heuristic->enabled;

    col_append_str(pinfo->cinfo, COL_INFO, " ");
    col_set_fence(pinfo->cinfo, COL_INFO);
    builtin_heuristic->enabled = true;
    call_heur_dissector_direct(builtin_heuristic, message, pinfo, tree, &infiniband);
    builtin_heuristic->enabled = behind_gate;
}

static void
learn_cdc(packet_info *pinfo, const smcr_cdc_t *cdc, const frame_t *frame)
{
    smcr_packet_t *packet = frame->packet;

    smcr_state_cdc(smcr_state, &frame->roce, cdc, smcr_when(pinfo), packet);
    if (packet->conn && smcr_handshake_was_reset(packet->conn))
        smcr_state_tcp_reset(smcr_state, cdc, packet);
}

/* An LLC or CDC message; the first pass learns from it. Returns its item. */
static proto_item *
show_send(tvbuff_t *message, packet_info *pinfo, proto_tree *tree, const frame_t *frame)
{
    bool learn = !pinfo->fd->visited;
    proto_item *item;

    if ((tvb_get_uint8(message, 0) & 0xc0) == 0xc0) { /* the range of CDC (A.3) */
        smcr_cdc_t cdc;
        item = smcr_cdc_dissect(message, pinfo, tree, &cdc);
        if (learn)
            learn_cdc(pinfo, &cdc, frame);
    } else {
        smcr_llc_t llc;
        item = smcr_llc_dissect(message, pinfo, tree, &llc);
        if (learn)
            smcr_state_llc(smcr_state, &frame->roce, &llc, smcr_when(pinfo), frame->packet);
    }
    return item;
}

static bool
is_send(uint8_t opcode)
{
    return opcode <= RC_SEND_ONLY_IMM || opcode == RC_SEND_LAST_INVAL ||
           opcode == RC_SEND_ONLY_INVAL;
}

/* A packet of a message that is longer than the path MTU. Returns its item. */
static proto_item *
show_send_part(tvbuff_t *data, packet_info *pinfo, proto_tree *tree, const frame_t *frame)
{
    uint8_t opcode = frame->roce.opcode;
    bool more = opcode == RC_SEND_FIRST || opcode == RC_SEND_MIDDLE;
    tvbuff_t *message = NULL;
    proto_item *item = proto_tree_add_item(tree, proto_smcr, data, 0, -1, ENC_NA);
    proto_tree *below = proto_item_add_subtree(item, ett_smcr);

    col_set_str(pinfo->cinfo, COL_PROTOCOL, "SMC-R");
    col_set_str(pinfo->cinfo, COL_INFO, "Part of a message");
    proto_item_append_text(item, ", part of a message");
    if (frame->packet->has_part)
        message = smcr_parts_collect(data, pinfo, below, frame->packet, more);
    if (!message)
        return item;
    return show_send(message, pinfo, tree, frame);
}

/* Shows the payload of a packet that is ours. Returns whether there was anything to show. */
static bool
show_payload(tvbuff_t *payload, packet_info *pinfo, proto_tree *tree, const frame_t *frame)
{
    int length = frame->roce.payload_length;
    int captured = MIN((int)tvb_captured_length(payload), length);
    bool write = frame->packet->kind == SMCR_PACKET_WRITE;
    proto_item *item;

    if (!write && (!is_send(frame->roce.opcode) || captured <= 0))
        return false;
    bool exact = captured == (int)tvb_captured_length(payload) &&
                 length == (int)tvb_reported_length(payload);
    tvbuff_t *data =
        exact ? payload : tvb_new_subset_length_caplen(payload, 0, captured, length);
    if (write)
        item = smcr_rdma_write_dissect(data, pinfo, tree, &frame->roce, frame->packet);
    else if (is_whole_send(frame->roce.opcode))
        item = show_send(data, pinfo, tree, frame);
    else
        item = show_send_part(data, pinfo, tree, frame);
    proto_tree *below = item == tree ? tree : proto_item_get_subtree(item);
    smcr_annotate_packet(data, pinfo, below, item, frame->packet);
    if (frame->packet->view)
        smcr_follow_read(pinfo, frame->packet, frame->packet->view->consumed);
    if (write)
        smcr_stream_dissect(data, pinfo, tree, below, frame->packet);
    else
        smcr_stream_end(data, pinfo, tree, below, frame->packet);
    if (!write && is_whole_send(frame->roce.opcode))
        run_builtin(data, pinfo, tree);
    return true;
}

/* Acknowledgements and what else carries no data: only what the state knows of them. */
static void
show_link_only(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const frame_t *frame)
{
    proto_item *item = proto_tree_add_item(tree, proto_smcr, tvb, 0, 0, ENC_NA);

    if (frame->packet->link)
        proto_item_append_text(item, ", link %u", frame->packet->link->index);
    smcr_annotate_packet(tvb, pinfo, proto_item_add_subtree(item, ett_smcr), item, frame->packet);
}

/* In an encapsulation that is not wrapped. */
static bool
dissect_unwrapped(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                  const struct infinibandinfo *infiniband)
{
    frame_t frame = {.packet = NULL};

    smcr_roce_from_infiniband(tvb, pinfo, infiniband, &frame.roce);
    begin_packet(pinfo, tvb, 0, &frame);
    TRY {
        if (frame.packet)
            frame.shown = show_payload(tvb, pinfo, tree, &frame);
    }
    FINALLY {
        end_packet(pinfo, &frame);
    }
    ENDTRY;
    return frame.shown;
}

static ws_bool
dissect_payload_heuristic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (!current)
        return data && dissect_unwrapped(tvb, pinfo, tree, data);
    current->shown = show_payload(tvb, pinfo, tree, current);
    return current->shown;
}

/* ---- the wrapper ---- */

/* Shows what InfiniBand's dissector kept from the heuristics: what the capture cut, and packets
 * without payload. */
static void
show_the_rest(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, frame_t *frame)
{
    int length = (int)tvb_captured_length(tvb) - frame->roce.payload;
    bool write = frame->packet->kind == SMCR_PACKET_WRITE;

    /* A WRITE is worth a line even when none of its data was captured. */
    if (frame->roce.payload_length > 0 && (length > 0 || (write && length == 0))) {
        col_clear_fence(pinfo->cinfo, COL_INFO);
        tvbuff_t *payload = tvb_new_subset_length_caplen(
            tvb, frame->roce.payload, length,
            tvb_reported_length_remaining(tvb, frame->roce.payload));
        frame->shown = show_payload(payload, pinfo, tree, frame);
    }
    if (!frame->shown)
        show_link_only(tvb, pinfo, tree, frame);
}

/* A packet that is ours. */
static int
dissect_ours(smcr_roce_start_t start, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
             void *data, frame_t *frame)
{
    frame_t *outer = current;
    ws_bool own_enabled = own_heuristic->enabled;
    volatile int used = 0;
    volatile uint64_t gate;

    current = frame;
    builtin_allowed = builtin_heuristic && builtin_heuristic->enabled;
    gate = smcr_infiniband_close_gate();
    own_heuristic->enabled = true; /* a packet that is not ours may be around this one */
    TRY {
        used = call_dissector_only(original[start], tvb, pinfo, tree, data);
        if (used > 0 && !frame->shown)
            show_the_rest(tvb, pinfo, tree, frame);
    }
    FINALLY {
        own_heuristic->enabled = own_enabled;
        smcr_infiniband_open_gate(gate);
        current = outer;
        end_packet(pinfo, frame);
    }
    ENDTRY;
    return used;
}

/* A packet that is not ours, as far as is known: so there is no need to ask our heuristic, which
 * takes Wireshark longer than all of the above. */
static int
dissect_foreign(smcr_roce_start_t start, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                void *data)
{
    ws_bool own_enabled = own_heuristic->enabled;
    volatile int used = 0;

    own_heuristic->enabled = false;
    TRY {
        used = call_dissector_only(original[start], tvb, pinfo, tree, data);
    }
    FINALLY {
        own_heuristic->enabled = own_enabled;
    }
    ENDTRY;
    return used;
}

/* Whether the packet is of no interest: where there is no SMC-R, it has to cost next to nothing. */
static bool
is_ignored(smcr_roce_start_t start, tvbuff_t *tvb, const packet_info *pinfo)
{
    const address *to = &pinfo->dst;

    if (start != SMCR_ROCE_BTH || tvb_captured_length(tvb) < SMCR_ROCE_BTH_LENGTH || to->len < 4)
        return false;
    const uint8_t *bth = tvb_get_ptr(tvb, 0, SMCR_ROCE_BTH_LENGTH);
    uint64_t target = smcr_target((const uint8_t *)to->data + to->len - 4, smcr_roce_qpn(bth));
    return !is_whole_send(bth[0]) && smcr_state_ignores(smcr_state, bth[0], target);
}

static int
dissect_wrapped(smcr_roce_start_t start, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                void *data)
{
    frame_t frame;

    if (enabled && is_ignored(start, tvb, pinfo))
        return dissect_foreign(start, tvb, pinfo, tree, data);
    if (!enabled || !smcr_roce_read(tvb, pinfo, start, &frame.roce))
        return call_dissector_only(original[start], tvb, pinfo, tree, data);
    begin_packet(pinfo, tvb, frame.roce.payload, &frame);
    if (frame.packet)
        return dissect_ours(start, tvb, pinfo, tree, data, &frame);
    end_packet(pinfo, &frame);
    return dissect_foreign(start, tvb, pinfo, tree, data);
}

static int
dissect_wrapped_bth(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return dissect_wrapped(SMCR_ROCE_BTH, tvb, pinfo, tree, data);
}

static int
dissect_wrapped_grh(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return dissect_wrapped(SMCR_ROCE_GRH, tvb, pinfo, tree, data);
}

static int
dissect_wrapped_lrh(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return dissect_wrapped(SMCR_ROCE_LRH, tvb, pinfo, tree, data);
}

/* Before each file, and before one is dissected anew, since the user has changed a preference (any
 * of InfiniBand puts the originals back) or what is enabled. */
static void
hook_in(void)
{
    enabled = own_heuristic && own_heuristic->enabled &&
              proto_is_protocol_enabled(find_protocol_by_id(proto_smcr));
    smcr_infiniband_wrap(wrapper, original);
    smcr_infiniband_list_others(own_heuristic);
}

/*
 * A protocol in name only below InfiniBand owns the wrappers: it keeps frame.protocols as it is,
 * and disabling InfiniBand or SMC-R does what it did without us.
 */
void
smcr_roce_register_observer(void)
{
    static const dissector_t wrappers[SMCR_ROCE_STARTS] = {
        dissect_wrapped_bth, dissect_wrapped_grh, dissect_wrapped_lrh};

    proto_observer = proto_register_protocol_in_name_only(
        "InfiniBand (observed by SMC-R)", "InfiniBand/SMC-R", "smcr.roce",
        proto_get_id_by_filter_name("infiniband"), FT_BYTES);
    for (unsigned i = 0; i < SMCR_ROCE_STARTS; i++)
        wrapper[i] = create_dissector_handle(wrappers[i], proto_observer);
    register_init_routine(hook_in);
}

void
smcr_roce_handoff(void)
{
    smcr_llc_register_layouts();
    smcr_cdc_register_layouts();
    heur_dissector_add("infiniband.payload", dissect_payload_heuristic, "SMC-R over RoCE",
                       "smcr_roce", proto_smcr, HEURISTIC_ENABLE);
    own_heuristic = find_heur_dissector_by_unique_short_name("smcr_roce");
    builtin_heuristic = find_heur_dissector_by_unique_short_name("smcr_infiniband");
    hook_in();
}
