/* A wrapper in front of InfiniBand's dissector learns a packet, has that dissector show the
 * headers, and shows the rest, when the payload is offered to our heuristic or, if it is not,
 * afterwards. InfiniBand's dissector stands between: what our heuristic needs to know of the packet
 * goes along with the frame (slot_of()). Where the wrapper has stepped aside or does not reach, the
 * heuristic decides itself (hooks.c).
 *
 * Borrowed from its inside: it offers no acknowledgement and no cut packet; when it offers a
 * payload it has counted its layer; it sets `ptype` and `destport` only, as dissect_headers() does
 * in its place. If it offers more, packets are shown twice; if it counts otherwise, a record is
 * not found in the second pass; if it sets more, a run without a tree shows other columns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "roce.h"

#include <epan/exceptions.h>

#include "headers.h"
#include "message/message.h"
#include "packet/packet.h"
#include "show/show.h"

/* Set when protocols register. */
static struct {
    dissector_handle_t payload; /* makes SMC-R a layer of the packet */
    dissector_handle_t headers; /* makes InfiniBand one, in the place of its dissector */
} handles;

/* ---- between the two calls of ours ---- */

/* A packet that is being dissected. */
typedef struct {
    smcr_packet_t *packet; /* NULL: it is not ours */
    const smcr_gate_t *gate;
    bool shown;
    bool hides; /* InfiniBand's dissector writes no column: what is shown takes their place */
} nested_packet_t;

#define SLOT 0 /* key of p_add_proto_data() */

/* Packets of a frame may lie within others: where the innermost is; NULL: none that we have seen.
 * Made if that is wanted; else NULL where there is no such place. */
static nested_packet_t **
slot_of(packet_info *pinfo, bool make)
{
    nested_packet_t **slot = p_get_proto_data(pinfo->pool, pinfo, proto_smcr, SLOT);

    if (!slot && make) {
        slot = wmem_new0(pinfo->pool, nested_packet_t *);
        p_add_proto_data(pinfo->pool, pinfo, proto_smcr, SLOT, slot);
    }
    return slot;
}

static nested_packet_t *
current_of(packet_info *pinfo)
{
    nested_packet_t **slot = smcr_hooks_stand_aside(pinfo) ? NULL : slot_of(pinfo, false);

    return slot ? *slot : NULL;
}

/* ---- showing ---- */

/* `tvb` has the payload at `offset`: a WRITE does not get its own before it is shown. */
static bool
show(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
     const nested_packet_t *current)
{
    smcr_packet_t *packet = current->packet;

    if (!packet->payload)
        packet->payload = smcr_roce_payload(tvb, offset, &packet->roce);
    if (!smcr_packet_show(pinfo, tree, packet))
        return false;
    if (smcr_ib_is_whole_send(packet->roce.opcode))
        smcr_hooks_show_builtin(packet->payload, pinfo, tree, current->gate);
    return true;
}

/* Called through `handles.payload`. A WRITE without data is a layer, too. */
static int
show_current(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    nested_packet_t *current = data;

    current->shown = show(tvb, 0, pinfo, tree, current);
    return current->shown ? MAX((int)tvb_captured_length(tvb), 1) : 0;
}

static bool
show_as_layer(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, nested_packet_t *current)
{
    return call_dissector_only(handles.payload, tvb, pinfo, tree, current) > 0;
}

/* Shows what InfiniBand's dissector kept from the heuristics: what the capture cut, and packets
 * without payload. */
static void
show_the_rest(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, nested_packet_t *current)
{
    const smcr_packet_t *packet = current->packet;
    const smcr_ib_headers_t *roce = &packet->roce;
    int captured = (int)tvb_captured_length(tvb) - roce->payload;
    bool write = packet->record.kind == SMCR_RECORD_WRITE;

    /* A WRITE is worth a line even when none of its data was captured. */
    if (roce->payload_length > 0 && (captured > 0 || (write && captured == 0))) {
        col_clear_fence(pinfo->cinfo, COL_INFO);
        current->shown = show(tvb, roce->payload, pinfo, tree, current);
    }
    if (!current->shown)
        smcr_packet_show_empty(tvb, pinfo, tree, packet);
}

/* ---- packets that are ours ---- */

/* Whether the capture has all bytes of the packet. */
static bool
is_whole(tvbuff_t *tvb)
{
    return tvb_captured_length(tvb) == tvb_reported_length(tvb);
}

/* Whether InfiniBand's dissector is bound to offer the payload to our heuristic, which then begins
 * the columns anew: all is there, and no other dissector may come first. */
static bool
is_bound_to_show(tvbuff_t *tvb, const smcr_packet_t *packet)
{
    const smcr_ib_headers_t *roce = &packet->roce;
    bool shows = packet->record.kind == SMCR_RECORD_WRITE ? smcr_ib_is_write(roce->opcode)
                                                          : smcr_ib_is_send(roce->opcode);

    return shows && roce->payload_length > 0 && roce->target.qpn > SMCR_IB_GSI_QPN &&
           is_whole(tvb) && smcr_hooks_offer_first();
}

static void
unhide_columns(packet_info *pinfo, nested_packet_t *current)
{
    if (!current->hides)
        return;
    col_set_writable(pinfo->cinfo, -1, true);
    current->hides = false;
}

/* What is to be done with a packet while it is the innermost one. */
typedef void action_t(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data,
                      nested_packet_t *current);

/* Does it, with all heuristics but ours kept out. */
static void
with_current(action_t *action, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data,
             nested_packet_t *current)
{
    nested_packet_t **slot = slot_of(pinfo, true);
    nested_packet_t *outer = *slot;
    smcr_gate_t gate;

    smcr_gate_close(&gate);
    current->gate = &gate;
    *slot = current;
    TRY {
        action(tvb, pinfo, tree, data, current);
    }
    FINALLY {
        smcr_gate_open(&gate);
        *slot = outer;
        unhide_columns(pinfo, current);
    }
    ENDTRY;
}

/* What the wrapper is called with, and what it returns. */
typedef struct {
    smcr_hooks_start_t start;
    tvbuff_t *tvb;
    packet_info *pinfo;
    proto_tree *tree;
    void *data;
    int used;
} call_t;

static int
call_original(const call_t *call)
{
    return smcr_hooks_original(call->start, call->tvb, call->pinfo, call->tree, call->data);
}

static void
dissect_ours(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data,
             nested_packet_t *current)
{
    call_t *call = data;

    call->used = call_original(call);
    if (call->used > 0 && !current->shown)
        show_the_rest(tvb, pinfo, tree, current);
}

/* ---- without InfiniBand's dissector ---- */

/* What InfiniBand's dissector does with a packet of the service RC, besides what it shows. Called
 * through `handles.headers`. */
static int
dissect_headers(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    nested_packet_t *current = data;
    smcr_packet_t *packet = current->packet;

    pinfo->ptype = PT_IBQP;
    pinfo->destport = packet->roce.target.qpn;
    if (packet->roce.opcode == SMCR_RC_ACK) {
        smcr_info_begin_answer(pinfo, &packet->roce);
    } else {
        if (!packet->payload)
            packet->payload = smcr_roce_payload(tvb, packet->roce.payload, &packet->roce);
        show_as_layer(packet->payload, pinfo, tree, current);
    }
    return (int)tvb_captured_length(tvb);
}

/* Whether that is enough: there is no tree to show anything in. InfiniBand's dissector finds out
 * who has sent a packet by RDMA-CM only; here it has to be known. */
static bool
needs_no_infiniband(const call_t *call, const smcr_packet_t *packet)
{
    return COMPAT_INFINIBAND_IS_KNOWN && !call->tree && call->start == SMCR_HOOKS_BTH &&
           packet->record.sender_known && !smcr_preferences.builtin_too;
}

/* An acknowledgement that is ours. InfiniBand's dissector offers it to nobody. */
static int
dissect_acknowledgement(const call_t *call, smcr_packet_t *packet)
{
    bool alone = needs_no_infiniband(call, packet) && packet->roce.has_aeth && is_whole(call->tvb);
    nested_packet_t current = {.packet = packet};
    int used =
        alone ? call_dissector_only(handles.headers, call->tvb, call->pinfo, call->tree, &current)
              : call_original(call);

    if (used > 0)
        smcr_packet_show_empty(call->tvb, call->pinfo, call->tree, packet);
    return used;
}

/* A packet that is not ours, as far as is known. TRY costs as much as all that found it out, and is
 * only there for a packet of ours around this one. */
static int
dissect_foreign(const call_t *call)
{
    static nested_packet_t foreign; /* never written: it says that this packet is decided */
    nested_packet_t **slot = slot_of(call->pinfo, true);
    nested_packet_t *outer = *slot;
    volatile int used = 0;

    *slot = &foreign; /* an exception leaves it; it means nothing after this frame */
    if (!outer || !outer->packet) {
        used = call_original(call);
        *slot = outer;
        return used;
    }
    TRY {
        used = call_original(call);
    }
    FINALLY {
        *slot = outer;
    }
    ENDTRY;
    return used;
}

/* The same, and it is not known which queue pair has sent it: somebody quotes it, its ICRC is
 * wrong, or it may turn out to be ours. */
static int
dissect_nameless(const call_t *call)
{
    int used = dissect_foreign(call);

    smcr_show_no_source_port(call->pinfo);
    return used;
}

/* ---- through the wrapper ---- */

/* Whether a packet is of no interest: where there is no SMC-R it has to cost next to nothing. */
static bool
is_of_no_interest(const packet_info *pinfo, uint8_t opcode, uint32_t qpn)
{
    const address *to = &pinfo->dst;

    if (to->len < 4 || smcr_ib_is_whole_send(opcode))
        return false;
    return smcr_state_ignores(smcr_capture_state(), opcode,
                              (const uint8_t *)to->data + to->len - 4, qpn);
}

static bool
ignore(const call_t *call)
{
    if (smcr_preferences.check_icrc || smcr_preferences.roce || call->start != SMCR_HOOKS_BTH ||
        tvb_captured_length(call->tvb) < SMCR_IB_BTH_LENGTH)
        return false;
    const uint8_t *bth = tvb_get_ptr(call->tvb, 0, SMCR_IB_BTH_LENGTH);
    if (!is_of_no_interest(call->pinfo, bth[0], smcr_ib_bth_qpn(bth)))
        return false;
    smcr_hooks_ignore(call->pinfo);
    return true;
}

/* The same where the user wants its RDMA connection, also where InfiniBand's dissector gives up. */
static int
dissect_foreign_rdma(const call_t *call, const smcr_packet_t *packet)
{
    volatile int used = 0;

    TRY {
        used = dissect_foreign(call);
    }
    FINALLY {
        smcr_packet_show_foreign(call->tvb, call->pinfo, call->tree, packet);
    }
    ENDTRY;
    return used;
}

/* A packet whose headers have been read. */
static int
dissect_read(call_t *call, smcr_packet_t *packet)
{
    tvbuff_t *tvb = call->tvb;
    packet_info *pinfo = call->pinfo;
    bool manages = packet->roce.opcode == SMCR_UD_SEND_ONLY && smcr_preferences.roce;

    /* what has to be known before it is shown */
    if (manages || smcr_ib_is_send(packet->roce.opcode))
        packet->payload = smcr_roce_payload(tvb, packet->roce.payload, &packet->roce);
    if (!smcr_packet_learn(pinfo, packet)) {
        if (packet->record.place) {
            packet->payload = smcr_roce_payload(tvb, packet->roce.payload, &packet->roce);
            smcr_packet_hold(pinfo, packet);
        }
        return packet->record.rdma                             ? dissect_foreign_rdma(call, packet)
               : smcr_preferences.roce || packet->record.place ? dissect_nameless(call)
                                                               : dissect_foreign(call);
    }
    smcr_udp_ports_watch();
    if (packet->roce.opcode == SMCR_RC_ACK)
        return dissect_acknowledgement(call, packet);
    nested_packet_t current = {.packet = packet};
    if (is_bound_to_show(tvb, packet)) {
        if (needs_no_infiniband(call, packet))
            return call_dissector_only(handles.headers, tvb, pinfo, call->tree, &current);
        current.hides = col_get_writable(pinfo->cinfo, -1); /* until unhide_columns() */
        col_set_writable(pinfo->cinfo, -1, false);
    }
    with_current(dissect_ours, tvb, pinfo, call->tree, call, &current);
    return call->used;
}

/* The same, with its ICRC, which is shown even where InfiniBand's dissector gives up. */
static int
dissect_checked(call_t *call, smcr_packet_t *packet)
{
    smcr_icrc_t icrc = smcr_roce_check_icrc(call->tvb, call->pinfo, call->start, &packet->roce);
    volatile int used = 0;

    smcr_packet_learn_icrc(call->pinfo, packet, &icrc);
    TRY {
        used = dissect_read(call, packet);
    }
    FINALLY {
        icrc.reported = packet->record.kind == SMCR_RECORD_CORRUPT;
        smcr_roce_show_icrc(call->tvb, call->pinfo, call->tree, &icrc);
        if (!packet->record.link && !packet->record.rdma)
            smcr_tap_packet(call->pinfo, &(smcr_tap_t){.record = &packet->record,
                                                       .stray_icrc = packet->roce.icrc});
    }
    ENDTRY;
    return used;
}

/* A packet that begins with the header `start` says, in front of InfiniBand's dissector. */
int
smcr_roce_dissect(smcr_hooks_start_t start, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                  void *data)
{
    call_t call = {start, tvb, pinfo, tree, data, 0};

    if (!smcr_hooks_enabled())
        return call_original(&call);
    if (pinfo->flags.in_error_pkt)
        return dissect_nameless(&call);
    smcr_hooks_note_cut(pinfo);
    if (ignore(&call))
        return dissect_foreign(&call);
    smcr_packet_t packet;
    smcr_packet_begin(pinfo, &packet);
    if (!smcr_roce_read(tvb, pinfo, start, &packet.roce))
        return call_original(&call);
    return smcr_preferences.check_icrc ? dissect_checked(&call, &packet)
                                       : dissect_read(&call, &packet);
}

/* ---- without it ---- */

static void
dissect_unwrapped(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data _U_,
                  nested_packet_t *current)
{
    show_as_layer(tvb, pinfo, tree, current);
}

/* A payload that comes to our heuristic, though the wrapper has not seen the packet: that has
 * stepped aside, or the packet is in an encapsulation that is not wrapped. */
ws_bool
smcr_roce_dissect_payload(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct infinibandinfo *infiniband = data;
    nested_packet_t *decided = current_of(pinfo);

    if (decided) {
        unhide_columns(pinfo, decided);
        return decided->packet && show_as_layer(tvb, pinfo, tree, decided);
    }
    if (!smcr_hooks_enabled() || !infiniband ||
        is_of_no_interest(pinfo, infiniband->opCode, pinfo->destport))
        return false;
    smcr_packet_t packet;
    smcr_packet_begin(pinfo, &packet);
    packet.layer--; /* the wrapper does not count InfiniBand's layer yet */
    smcr_roce_from_infiniband(tvb, pinfo, infiniband, &packet.roce);
    packet.payload = smcr_roce_payload(tvb, 0, &packet.roce);
    if (!smcr_packet_learn(pinfo, &packet)) {
        smcr_packet_hold(pinfo, &packet);
        return false;
    }
    smcr_hooks_watch();
    smcr_udp_ports_watch();
    nested_packet_t current = {.packet = &packet};
    with_current(dissect_unwrapped, tvb, pinfo, tree, NULL, &current);
    return current.shown;
}

/* The built-in's heuristic may come first, and takes what has the length and a type of LLC. */
ws_bool
smcr_roce_dissect_builtin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct infinibandinfo *infiniband = data;

    if (smcr_hooks_enabled() && pinfo->flags.in_error_pkt)
        return false;
    if (smcr_hooks_enabled() && infiniband && smcr_ib_is_whole_send(infiniband->opCode) &&
        !current_of(pinfo)) {
        smcr_packet_t packet;
        uint32_t sender;
        smcr_packet_begin(pinfo, &packet);
        smcr_roce_from_infiniband(tvb, pinfo, infiniband, &packet.roce);
        if (smcr_message_recognise(tvb, pinfo, &packet.roce, &sender))
            return false; /* then ours is asked, too */
    }
    return smcr_hooks_builtin(tvb, pinfo, tree, data);
}

void
smcr_roce_handoff(void)
{
    handles.payload = create_dissector_handle(show_current, proto_smcr);
    handles.headers =
        create_dissector_handle(dissect_headers, proto_get_id_by_filter_name("infiniband"));
}
