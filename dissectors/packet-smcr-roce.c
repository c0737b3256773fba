/* packet-smcr-roce.c
 * 3. RoCE and InfiniBand packets: decides which of them are SMC-R and has them dissected.
 *
 * Wireshark's InfiniBand dissector offers payloads to heuristics, in an order that changes
 * whenever one of them matches, and offers no packet that was cut short and no acknowledgement.
 * So its handles are wrapped: the wrapper reads the headers itself and decides, by queue pair and
 * content, before anybody else is asked. For a packet that is ours all other payload heuristics
 * are kept out for that one call, and ours then shows what was decided.
 *
 * Where there is much RoCEv2 but no SMC-R, the wrapper steps aside, so that other people's traffic
 * takes no longer than it did; until a sign of SMC-R brings it back, our heuristic alone looks out
 * for one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet-smcr.h"

#include <epan/exceptions.h>

#include "annotate.h"
#include "cdc.h"
#include "claim.h"
#include "dissector_state.h"
#include "fields.h"
#include "follow.h"
#include "handshake.h"
#include "heuristic.h"
#include "infiniband.h"
#include "llc.h"
#include "preferences.h"
#include "rdma_write.h"
#include "recognise.h"
#include "send_parts.h"
#include "stream.h"
#include "wire/llc_codes.h"

#define IGNORED_MAX 1000   /* packets, after which the wrapper steps aside */
#define TELLING_LENGTH 200 /* of frames; more than any with a message of SMC-R that is to be seen */

static smcr_frame_t *current;       /* NULL: it is not ours, or no wrapper has seen it */
static uint32_t foreign_frame; /* where the wrapper found the packet not to be ours; 0: nowhere */
static dissector_handle_t payload_handle;
static heur_dtbl_entry_t *own_heuristic;
static bool enabled; /* ours, in this file */
static heur_dtbl_entry_t *builtin_heuristic; /* of Wireshark's own `smc`; NULL when it has none */
static heur_dissector_t builtin_dissect;     /* what it did before us */
static bool builtin_allowed;                 /* it is there, and the user has not disabled it */

/* ---- showing ---- */

static void
run_builtin(tvbuff_t *message, packet_info *pinfo, proto_tree *tree)
{
    if (!smcr_preferences.builtin_too || !builtin_allowed)
        return;
    struct infinibandinfo infiniband = {.opCode = SMCR_RC_SEND_ONLY};
    ws_bool behind_gate = builtin_heuristic->enabled;

    col_append_str(pinfo->cinfo, COL_INFO, " ");
    col_set_fence(pinfo->cinfo, COL_INFO);
    builtin_heuristic->enabled = true;
    call_heur_dissector_direct(builtin_heuristic, message, pinfo, tree, &infiniband);
    builtin_heuristic->enabled = behind_gate;
}

static void
learn_cdc(const smcr_cdc_t *cdc, const smcr_frame_t *frame)
{
    const smcr_record_t *record = frame->packet;

    smcr_state_cdc(&frame->arrival, cdc);
    if (record->conn && smcr_handshake_was_reset(record->conn))
        smcr_state_tcp_reset(&frame->arrival, cdc);
}

/* An LLC or CDC message; the first pass learns from it. Returns its subtree. */
static proto_tree *
show_send(tvbuff_t *message, packet_info *pinfo, proto_tree *tree, const smcr_frame_t *frame)
{
    bool learn = !pinfo->fd->visited;
    proto_tree *below;

    if (smcr_llc_type_is_cdc(tvb_get_uint8(message, 0))) {
        smcr_cdc_t cdc;
        below = smcr_cdc_dissect(message, pinfo, tree, &cdc);
        if (learn)
            learn_cdc(&cdc, frame);
    } else {
        smcr_llc_t llc;
        below = smcr_llc_dissect(message, pinfo, tree, &llc);
        if (learn)
            smcr_state_llc(&frame->arrival, &llc);
    }
    return below;
}

static bool
is_send(uint8_t opcode)
{
    return opcode <= SMCR_RC_SEND_ONLY_IMMEDIATE || opcode == SMCR_RC_SEND_LAST_INVALIDATE ||
           opcode == SMCR_RC_SEND_ONLY_INVALIDATE;
}

/* A packet of a message that is longer than the path MTU. Returns the subtree of the message in its
 * last packet, of the part in the others. */
static proto_tree *
show_send_part(tvbuff_t *data, packet_info *pinfo, proto_tree *tree, const smcr_frame_t *frame)
{
    uint8_t opcode = frame->roce.opcode;
    bool more = opcode == SMCR_RC_SEND_FIRST || opcode == SMCR_RC_SEND_MIDDLE;
    tvbuff_t *message = NULL;
    proto_item *item = proto_tree_add_item(tree, proto_smcr, data, 0, -1, ENC_NA);
    proto_tree *below = proto_item_add_subtree(item, ett_smcr);

    col_set_str(pinfo->cinfo, COL_PROTOCOL, "SMC-R");
    col_set_str(pinfo->cinfo, COL_INFO, "Part of a message");
    proto_item_append_text(item, ", part of a message");
    if (frame->packet->has_part)
        message = smcr_parts_collect(data, pinfo, below, frame->packet, more);
    if (!message)
        return below;
    return show_send(message, pinfo, tree, frame);
}

/* Shows the payload of a packet that is ours. Returns whether there was anything to show. */
static bool
show_payload(tvbuff_t *payload, packet_info *pinfo, proto_tree *tree, const smcr_frame_t *frame)
{
    int length = frame->roce.payload_length;
    int captured = MIN((int)tvb_captured_length(payload), length);
    bool write = frame->packet->kind == SMCR_PACKET_WRITE;
    proto_tree *below;

    if (!write && (!is_send(frame->roce.opcode) || captured <= 0))
        return false;
    bool exact = captured == (int)tvb_captured_length(payload) &&
                 length == (int)tvb_reported_length(payload);
    tvbuff_t *data =
        exact ? payload : tvb_new_subset_length_caplen(payload, 0, captured, length);
    if (write)
        below = smcr_rdma_write_dissect(data, pinfo, tree, &frame->roce, frame->packet);
    else if (smcr_is_whole_send(frame->roce.opcode))
        below = show_send(data, pinfo, tree, frame);
    else
        below = show_send_part(data, pinfo, tree, frame);
    smcr_record_t now = smcr_record_now(frame->packet);
    smcr_annotate_packet(data, pinfo, below, &now);
    if (now.view)
        smcr_follow_read(pinfo, &now, now.view->consumed);
    if (write)
        smcr_stream_dissect(data, pinfo, tree, below, &now);
    else
        smcr_stream_end(data, pinfo, tree, below, &now);
    if (!write && smcr_is_whole_send(frame->roce.opcode))
        run_builtin(data, pinfo, tree);
    return true;
}

/* Acknowledgements and what else carries no data: only what the state knows of them. */
static void
show_link_only(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_frame_t *frame)
{
    proto_item *item = proto_tree_add_item(tree, proto_smcr, tvb, 0, 0, ENC_NA);
    smcr_record_t now = smcr_record_now(frame->packet);

    if (frame->packet->link)
        proto_item_append_text(item, ", link %u", frame->packet->link->index);
    smcr_annotate_packet(tvb, pinfo, proto_item_add_subtree(item, ett_smcr), &now);
}

/* Called through `payload_handle`. A WRITE without data is a layer, too. */
static int
show_current(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data _U_)
{
    smcr_frame_t *frame = current;

    frame->shown = show_payload(tvb, pinfo, tree, frame);
    return frame->shown ? MAX((int)tvb_captured_length(tvb), 1) : 0;
}

/* ---- packets that are ours ---- */

/* What goes on around a packet that is ours. */
typedef struct {
    smcr_frame_t *frame;
    smcr_gate_t gate;
} outer_t;

/* From here on `frame` is what our heuristic shows, and no other is asked. */
static outer_t
enter_frame(const packet_info *pinfo, smcr_frame_t *frame)
{
    outer_t outer = {.frame = current};

    current = frame;
    builtin_allowed = builtin_heuristic && builtin_heuristic->enabled;
    outer.gate = smcr_infiniband_close_gate(pinfo->pool);
    return outer;
}

/* The first pass has learned all of this packet. */
static void
leave_frame(const packet_info *pinfo, const smcr_frame_t *frame, const outer_t *outer)
{
    smcr_infiniband_open_gate(&outer->gate);
    current = outer->frame;
    smcr_claim_end(pinfo, frame);
}

/* ---- without the wrapper ---- */

/* A packet whose payload comes to our heuristic without the wrapper: that has stepped aside, or
 * the packet is in an encapsulation that is not wrapped. */
static bool
dissect_unwrapped(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                  const struct infinibandinfo *infiniband)
{
    smcr_frame_t frame;

    smcr_roce_from_infiniband(tvb, pinfo, infiniband, &frame.roce);
    /* the wrapper does not count InfiniBand's layer yet */
    smcr_claim_begin(pinfo, tvb, 0, (uint8_t)(pinfo->curr_layer_num - 1), &frame);
    if (!frame.packet) {
        smcr_claim_end(pinfo, &frame);
        return false;
    }
    smcr_roce_watch();
    const outer_t outer = enter_frame(pinfo, &frame);
    TRY {
        call_dissector_only(payload_handle, tvb, pinfo, tree, NULL);
    }
    FINALLY {
        leave_frame(pinfo, &frame, &outer);
    }
    ENDTRY;
    return frame.shown;
}

static ws_bool
dissect_payload_heuristic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct infinibandinfo *infiniband = data;

    if (current)
        return call_dissector_only(payload_handle, tvb, pinfo, tree, NULL) > 0;
    if (!enabled || !infiniband || pinfo->num == foreign_frame ||
        smcr_claim_ignores(pinfo, infiniband->opCode, pinfo->destport))
        return false;
    return dissect_unwrapped(tvb, pinfo, tree, infiniband);
}

/* Instead of the built-in's: that may come before ours, and takes whatever has the length and one
 * of the types of LLC. */
static ws_bool
dissect_builtin_heuristic(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct infinibandinfo *infiniband = data;
    bool undecided = enabled && !current && infiniband && pinfo->num != foreign_frame;

    if (undecided && smcr_is_whole_send(infiniband->opCode)) {
        smcr_roce_t roce;
        uint32_t sender;
        smcr_roce_from_infiniband(tvb, pinfo, infiniband, &roce);
        if (smcr_recognise(tvb, pinfo, &roce, &sender))
            return false; /* then ours is asked, too */
    }
    return builtin_dissect(tvb, pinfo, tree, data);
}

/* ---- the wrapper ---- */

static dissector_handle_t wrapper[SMCR_ROCE_STARTS];
static dissector_handle_t original[SMCR_ROCE_STARTS];
static bool is_wrapped;
static unsigned ignored; /* packets of no interest since the last sign of SMC-R */
static bool has_cut;     /* the capture has cut a packet: our heuristic is not asked about such */

void
smcr_roce_watch(void)
{
    ignored = 0;
    if (enabled && !is_wrapped) {
        smcr_infiniband_wrap(wrapper, original);
        is_wrapped = true;
    }
}

static void
step_aside(void)
{
    smcr_infiniband_unwrap(wrapper, original);
    is_wrapped = false;
}

/* Of many packets, long ones that are whole, none is of interest: there is no SMC-R, or what there
 * will be our heuristic gets to see. */
static void
count_ignored(const packet_info *pinfo)
{
    if (pinfo->fd->cap_len >= TELLING_LENGTH && ++ignored >= IGNORED_MAX && !has_cut)
        step_aside();
}

/* Shows what InfiniBand's dissector kept from the heuristics: what the capture cut, and packets
 * without payload. */
static void
show_the_rest(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_frame_t *frame)
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

/* A packet that is ours, as the wrapper has found. */
static int
dissect_ours(smcr_roce_start_t start, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
             void *data, smcr_frame_t *frame)
{
    const outer_t outer = enter_frame(pinfo, frame);
    volatile int used = 0;

    TRY {
        used = call_dissector_only(original[start], tvb, pinfo, tree, data);
        if (used > 0 && !frame->shown)
            show_the_rest(tvb, pinfo, tree, frame);
    }
    FINALLY {
        leave_frame(pinfo, frame, &outer);
    }
    ENDTRY;
    return used;
}

/* A packet that is not ours, as far as is known. TRY costs as much as all that found it out, and is
 * only there for a packet of ours around this one. */
static int
dissect_foreign(smcr_roce_start_t start, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                void *data)
{
    smcr_frame_t *const outer = current;
    const uint32_t outer_foreign = foreign_frame;
    volatile int used = 0;

    foreign_frame = pinfo->num; /* an exception leaves it; it means nothing after this frame */
    if (!outer) {
        used = call_dissector_only(original[start], tvb, pinfo, tree, data);
        foreign_frame = outer_foreign;
        return used;
    }
    current = NULL;
    TRY {
        used = call_dissector_only(original[start], tvb, pinfo, tree, data);
    }
    FINALLY {
        current = outer;
        foreign_frame = outer_foreign;
    }
    ENDTRY;
    return used;
}

static int
dissect_wrapped(smcr_roce_start_t start, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                void *data)
{
    smcr_frame_t frame;

    if (!enabled)
        return call_dissector_only(original[start], tvb, pinfo, tree, data);
    if (pinfo->fd->cap_len < pinfo->fd->pkt_len)
        has_cut = true;
    if (start == SMCR_ROCE_BTH && tvb_captured_length(tvb) >= SMCR_BTH_LENGTH) {
        const uint8_t *bth = tvb_get_ptr(tvb, 0, SMCR_BTH_LENGTH);
        if (smcr_claim_ignores(pinfo, bth[0], smcr_roce_qpn(bth))) {
            count_ignored(pinfo);
            return dissect_foreign(start, tvb, pinfo, tree, data);
        }
    }
    if (!smcr_roce_read(tvb, pinfo, start, &frame.roce))
        return call_dissector_only(original[start], tvb, pinfo, tree, data);
    smcr_claim_begin(pinfo, tvb, frame.roce.payload, pinfo->curr_layer_num, &frame);
    if (frame.packet)
        return dissect_ours(start, tvb, pinfo, tree, data, &frame);
    smcr_claim_end(pinfo, &frame);
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
    enabled = smcr_heuristic_enabled(own_heuristic);
    current = NULL;
    foreign_frame = 0;
    has_cut = false;
    step_aside();
    smcr_roce_watch();
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

    int observer = proto_register_protocol_in_name_only(
        "InfiniBand (observed by SMC-R)", "InfiniBand/SMC-R", "smcr.roce",
        proto_get_id_by_filter_name("infiniband"), FT_BYTES);
    for (unsigned i = 0; i < SMCR_ROCE_STARTS; i++)
        wrapper[i] = create_dissector_handle(wrappers[i], observer);
}

void
smcr_roce_handoff(void)
{
    own_heuristic = smcr_heuristic_add("infiniband.payload", dissect_payload_heuristic,
                                       "SMC-R over RoCE", "smcr_roce");
    builtin_heuristic = find_heur_dissector_by_unique_short_name("smcr_infiniband");
    payload_handle = create_dissector_handle(show_current, proto_smcr);
    if (builtin_heuristic) {
        builtin_dissect = builtin_heuristic->dissector;
        builtin_heuristic->dissector = dissect_builtin_heuristic;
    }
    register_init_routine(hook_in);
    hook_in(); /* so that Decode As knows the wrappers */
}
