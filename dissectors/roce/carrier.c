/* Takes RoCE packets from Wireshark and has them learned and shown. Packets reach this file in two
 * ways:
 *
 * 1. The wrapper. It replaces InfiniBand's dissector in Wireshark's tables. It learns the packet,
 * and calls InfiniBand's dissector, which shows the transport headers. Then it shows the parts of
 * SMC-R that the heuristic has not shown. 2. The payload heuristic. InfiniBand's dissector offers
 * the payload of a packet to heuristics, in the middle of the wrapper's call. The heuristic gets
 * only the payload. The wrapper leaves the learned packet for it in the proto data of the frame
 * (find_slot()). If the packet did not come through the wrapper (host/hooks.c says when), the
 * heuristic learns the packet itself.
 *
 * InfiniBand's dissector does not offer acknowledgements, nor packets that are truncated by
 * snaplen. The wrapper shows these packets after the call.
 *
 * This file relies on three properties of InfiniBand's dissector that Wireshark's API does not
 * promise:
 *
 * - It offers no acknowledgement and no truncated packet. Otherwise packets would be shown twice. -
 * It has counted its own layer (curr_layer_num) when it offers a payload. Otherwise the second pass
 * would not find the record of the packet. - For RoCEv2, it sets only `ptype`, `destport` and
 * `srcport` of packet_info, as the plugin does without it. Otherwise a run without a tree would
 * show other columns than a run with a tree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "roce.h"

#include <epan/exceptions.h>

#include "headers.h"
#include "message/message.h"
#include "packet/packet.h"
#include "show/show.h"

/* Dissector handles, created by smcr_roce_handoff(). Each call of a handle counts as a layer of the
 * packet in Wireshark. */
static struct {
    dissector_handle_t payload; /* dissector whose calls count as the layer of SMC-R */
    dissector_handle_t headers; /* dissector whose calls count as the layer of InfiniBand, if
                                   InfiniBand's dissector is not called */
} handles;

/* The arguments of a call from Wireshark to the wrapper or the heuristic, and the wrapper's return
 * value. */
typedef struct {
    smcr_hooks_start_t start; /* header that `tvb` begins with; not set in calls of the heuristic */
    tvbuff_t *tvb; /* the packet, from the header `start` on; in calls of the heuristic its
                      payload */
    packet_info *pinfo; /* the frame */
    proto_tree *tree; /* tree to add items to; NULL: Wireshark needs no items in this run */
    void *data;       /* the caller's argument, passed on to InfiniBand's dissector */
    int used;         /* number of bytes that the wrapper returns as dissected; 0: InfiniBand's
                         dissector was not called yet, or has rejected the packet */
} call_t;

/* ---- handing the packet from the wrapper to the heuristic ---- */

/* A packet that is being dissected. */
typedef struct {
    smcr_packet_t *packet;   /* the learned packet; NULL: the packet is not of SMC-R */
    const smcr_gate_t *gate; /* the closed gate, which disables other heuristics; NULL: no gate is
                                closed */
    bool shown;              /* the items of SMC-R have been added to the tree */
    bool hides_columns;      /* hide_columns() has made the columns read-only; unhide_columns() ends
                                this */
} nested_packet_t;

#define SLOT 0 /* key of the slot in p_add_proto_data() */

/* Returns the slot of the frame: a pointer to the packet that do_with_current() or
 * dissect_foreign() is dissecting. A frame may have RoCE packets within RoCE packets; the slot
 * points to the innermost one. A slot with NULL: neither function is running. If the frame has no
 * slot, the function adds a slot if `make` is true, and returns NULL if `make` is false. */
static nested_packet_t **
find_slot(packet_info *pinfo, bool make)
{
    nested_packet_t **slot = p_get_proto_data(pinfo->pool, pinfo, proto_smcr, SLOT);

    if (!slot && make) {
        slot = wmem_new0(pinfo->pool, nested_packet_t *);
        p_add_proto_data(pinfo->pool, pinfo, proto_smcr, SLOT, slot);
    }
    return slot;
}

/* Returns the packet in the slot of the frame; NULL: there is none, or the wrapper has stepped
 * aside. */
static nested_packet_t *
find_current(packet_info *pinfo)
{
    nested_packet_t **slot = smcr_hooks_have_stepped_aside(pinfo) ? NULL : find_slot(pinfo, false);

    return slot ? *slot : NULL;
}

/* ---- showing ---- */

/* Shows the SMC-R items of the packet. `tvb` has the payload at `offset`; not used if `payload` of
 * the packet is set already. Returns false if the packet has no payload to show. */
static bool
show_smcr(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree,
     const nested_packet_t *current)
{
    smcr_packet_t *packet = current->packet;

    if (!packet->payload)
        packet->payload = smcr_roce_payload(tvb, offset, &packet->roce);
    if (!smcr_packet_show(pinfo, tree, packet))
        return false;
    if (smcr_ib_operations[packet->roce.opcode].is_whole_send)
        smcr_hooks_show_builtin(packet->payload, pinfo, tree, current->gate);
    return true;
}

/* Called through `handles.payload`. Returns the number of bytes shown, but at least 1 if something
 * is shown: so a WRITE without captured data counts as a layer, too. 0: nothing is shown. */
static int
show_payload_layer(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    nested_packet_t *current = data;

    current->shown = show_smcr(tvb, 0, pinfo, tree, current);
    return current->shown ? MAX((int)tvb_captured_length(tvb), 1) : 0;
}

/* Shows the payload through `handles.payload`, so that SMC-R counts as a layer. */
static bool
show_as_layer(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, nested_packet_t *current)
{
    return call_dissector_only(handles.payload, tvb, pinfo, tree, current) > 0;
}

/* Whether enough of the payload was captured to show it. A WRITE is shown even when none of its
 * data was captured, if all of its headers were. */
static bool
has_payload_to_show(tvbuff_t *tvb, const smcr_packet_t *packet)
{
    int captured = (int)tvb_captured_length(tvb) - packet->roce.payload;

    if (packet->roce.payload_length == 0)
        return false;
    return captured > 0 || (captured == 0 && packet->record.kind == SMCR_RECORD_WRITE);
}

/* Shows a packet that the heuristic has not shown, for example since the packet is truncated by
 * snaplen or has no payload. */
static void
show_unoffered(const call_t *call, nested_packet_t *current)
{
    const smcr_packet_t *packet = current->packet;

    if (has_payload_to_show(call->tvb, packet)) {
        col_clear_fence(call->pinfo->cinfo, COL_INFO);
        current->shown =
            show_smcr(call->tvb, packet->roce.payload, call->pinfo, call->tree, current);
    }
    if (!current->shown)
        smcr_packet_show_empty(call->tvb, call->pinfo, call->tree, packet);
}

/* ---- packets of SMC-R ---- */

/* Whether the capture has all bytes of the packet. */
static bool
is_whole(tvbuff_t *tvb)
{
    return tvb_captured_length(tvb) == tvb_reported_length(tvb);
}

/* Whether the packet has a payload of SMC-R: data of an RDMA WRITE, or a message. */
static bool
has_own_payload(const smcr_packet_t *packet)
{
    const smcr_ib_headers_t *roce = &packet->roce;

    bool has_opcode_of_kind = packet->record.kind == SMCR_RECORD_WRITE
                                  ? smcr_ib_operations[roce->opcode].is_write
                                  : smcr_ib_operations[roce->opcode].is_send;

    return has_opcode_of_kind && roce->payload_length > 0;
}

/* Whether InfiniBand's dissector certainly offers the payload to the plugin's heuristic: the
 * capture has the whole packet, and no other dissector gets the payload first. The plugin then
 * replaces the columns, so InfiniBand's dissector need not write them. */
static bool
is_offered_for_certain(tvbuff_t *tvb, const smcr_packet_t *packet)
{
    if (!has_own_payload(packet) || packet->roce.destination.qpn <= SMCR_IB_GSI_QPN)
        return false;
    return is_whole(tvb) && smcr_hooks_offer_first();
}

/* Keeps InfiniBand's dissector from writing columns, until unhide_columns() is called. */
static void
hide_columns(packet_info *pinfo, nested_packet_t *current)
{
    current->hides_columns = col_get_writable(pinfo->cinfo, -1);
    col_set_writable(pinfo->cinfo, -1, false);
}

/* Makes the columns writable again, if hide_columns() has made them read-only. */
static void
unhide_columns(packet_info *pinfo, nested_packet_t *current)
{
    if (!current->hides_columns)
        return;
    col_set_writable(pinfo->cinfo, -1, true);
    current->hides_columns = false;
}

/* A function that do_with_current() calls while `current` is the innermost packet of the frame. */
typedef void action_t(call_t *call, nested_packet_t *current);

/* Calls the action, while the slot points to `current` and the gate disables all other heuristics.
 * If the action throws an exception, the slot, the heuristics and the columns are restored, and the
 * exception passes on. */
static void
do_with_current(action_t *action, call_t *call, nested_packet_t *current)
{
    packet_info *pinfo = call->pinfo;
    nested_packet_t **slot = find_slot(pinfo, true);
    nested_packet_t *outer = *slot;
    smcr_gate_t gate;

    smcr_gate_close(&gate);
    current->gate = &gate;
    *slot = current;
    TRY {
        action(call, current);
    }
    FINALLY {
        smcr_gate_open(&gate);
        *slot = outer;
        unhide_columns(pinfo, current);
    }
    ENDTRY;
}

/* Calls InfiniBand's dissector. Returns the bytes that it used. */
static int
call_original(const call_t *call)
{
    return smcr_hooks_original(call->start, call->tvb, call->pinfo, call->tree, call->data);
}

/* An action: dissects a packet of SMC-R other than an acknowledgement. */
static void
dissect_ours(call_t *call, nested_packet_t *current)
{
    call->used = call_original(call);
    if (call->used > 0 && !current->shown)
        show_unoffered(call, current);
}

/* ---- packets that do not need InfiniBand's dissector ---- */

/* Replaces InfiniBand's dissector for a packet of the service RC: sets packet_info and the columns
 * of an acknowledgement as InfiniBand's dissector does, and shows the payload of another packet.
 * Shows no headers. Called through `handles.headers`. */
static int
dissect_headers(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    nested_packet_t *current = data;
    smcr_packet_t *packet = current->packet;

    pinfo->ptype = PT_IBQP;
    pinfo->destport = packet->roce.destination.qpn;
    if (packet->roce.opcode == SMCR_RC_ACK) {
        smcr_info_begin_answer(pinfo, &packet->roce);
    } else {
        if (!packet->payload)
            packet->payload = smcr_roce_payload(tvb, packet->roce.payload, &packet->roce);
        show_as_layer(packet->payload, pinfo, tree, current);
    }
    return (int)tvb_captured_length(tvb);
}

/* Whether dissect_headers() may replace InfiniBand's dissector. Without a tree, nothing shows what
 * that dissector adds. InfiniBand's dissector knows some senders by RDMA-CM, for the source port;
 * if it is not called, the record of the packet has to contain the sender. */
static bool
needs_no_infiniband(const call_t *call, const smcr_packet_t *packet)
{
    if (!compat_infiniband_is_known() || call->tree || smcr_preferences.builtin_too)
        return false;
    return call->start == SMCR_HOOKS_BTH && packet->record.sender_known;
}

/* Dissects an acknowledgement of a link. InfiniBand's dissector offers acknowledgements to no
 * heuristic, so the wrapper shows SMC-R's part after the call. Returns the number of bytes used. */
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

/* Dissects a packet that is not known to be of SMC-R. The slot of the frame points to `foreign`
 * meanwhile, so that the heuristic does not examine the payload. Returns the number of bytes used.
 *
 * The slot needs to be restored after an exception only if a packet of SMC-R surrounds this one.
 * Otherwise nothing reads the slot after this packet, since the slot ends with the frame. So most
 * packets need no TRY, which costs time. */
static int
dissect_foreign(const call_t *call)
{
    static nested_packet_t foreign; /* never written: its member `packet` is NULL, which means "not
                                       of SMC-R" */
    nested_packet_t **slot = find_slot(call->pinfo, true);
    nested_packet_t *outer = *slot;
    volatile int used = 0;

    *slot = &foreign;
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

/* Dissects a packet that is not known to be of SMC-R, and whose source queue pair is not known.
 * Three cases: 1. an ICMP error quotes the packet; 2. with the preference `smcr.roce`, the packet
 * is in no flow, for example since its ICRC is wrong; 3. later frames may prove that the packet is
 * of SMC-R. If InfiniBand's dissector does not know the source queue pair either, the source port
 * becomes 0. Returns the number of bytes used. */
static int
dissect_without_source(const call_t *call)
{
    int used = dissect_foreign(call);

    smcr_show_no_source_port(call->pinfo);
    return used;
}

/* ---- the wrapper ---- */

/* Whether the plugin would learn nothing from a packet with this opcode to the queue pair `qpn`,
 * since no queue pair of SMC-R is known so far (smcr_state_can_skip_packet()). False if the
 * packet's address is no IP address or GID, but a LID. A whole SEND is always of interest, since
 * its bytes may prove SMC-R. Captures of other RDMA traffic have millions of such packets. So this
 * is decided before the plugin reads the packet's headers. */
static bool
is_of_no_interest(const packet_info *pinfo, uint8_t opcode, uint32_t qpn)
{
    const address *to = &pinfo->dst;

    if (to->len < SMCR_GID_IPV4_LENGTH || smcr_ib_operations[opcode].is_whole_send)
        return false;
    return smcr_state_can_skip_packet(smcr_capture_state(), opcode, to->data, (size_t)to->len, qpn);
}

/* Whether the wrapper skips the packet: the packet is not learned, and the plugin adds no items.
 * Reads only the BTH. Counts each skipped packet, so it is called once for a packet. A later pass
 * may decide otherwise, since the state then knows more queue pairs. */
static bool
skips_and_counts(const call_t *call)
{
    if (smcr_preferences.check_icrc || smcr_preferences.roce || call->start != SMCR_HOOKS_BTH ||
        tvb_captured_length(call->tvb) < SMCR_IB_BTH_LENGTH)
        return false;
    const uint8_t *bth = tvb_get_ptr(call->tvb, 0, SMCR_IB_BTH_LENGTH);
    if (!is_of_no_interest(call->pinfo, bth[0], smcr_ib_bth_qpn(bth)))
        return false;
    smcr_hooks_count_ignored(call->pinfo);
    return true;
}

/* Dissects a packet that is not of SMC-R, and shows its RDMA connection for the preference
 * `smcr.roce`. The connection is shown even if InfiniBand's dissector throws an exception. Returns
 * the number of bytes used. */
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

/* Whether smcr_packet_learn() needs the payload of the packet. SENDs contain messages of SMC-R, and
 * datagrams contain messages of communication management. */
static bool
is_learned_from_payload(const smcr_ib_headers_t *roce)
{
    bool may_manage = roce->opcode == SMCR_UD_SEND_ONLY && smcr_preferences.roce;

    return may_manage || smcr_ib_operations[roce->opcode].is_send;
}

/* Dissects a packet that is not known to be of SMC-R. If the record of the packet has a
 * `write_location`, later frames may prove that the packet is data of an SMC-R connection, so the
 * payload is kept. Returns the number of bytes used. */
static int
dissect_not_ours(call_t *call, smcr_packet_t *packet)
{
    if (packet->record.write_location) {
        packet->payload = smcr_roce_payload(call->tvb, packet->roce.payload, &packet->roce);
        smcr_packet_buffer_payload(call->pinfo, packet);
    }
    if (packet->record.rdma)
        return dissect_foreign_rdma(call, packet);
    if (smcr_preferences.roce || packet->record.write_location)
        return dissect_without_source(call);
    return dissect_foreign(call);
}

/* Learns whether the ICRC of a packet that smcr_packet_wants_icrc() names is wrong, without the
 * preference `smcr.check_icrc`. If the packet does not count as corrupt, it is shown as one
 * whose ICRC was not checked. */
static void
check_message(const call_t *call, smcr_packet_t *packet)
{
    smcr_icrc_t icrc = smcr_roce_check_icrc(call->tvb, call->pinfo, call->start, &packet->roce);

    smcr_packet_learn_icrc(call->pinfo, packet, &icrc);
    if (!packet->roce.has_bad_icrc)
        packet->roce.icrc = 0;
}

/* Learns and dissects a packet whose headers are in `packet->roce`. Returns the number of bytes
 * used. */
static int
dissect_known_headers(call_t *call, smcr_packet_t *packet)
{
    if (is_learned_from_payload(&packet->roce))
        packet->payload = smcr_roce_payload(call->tvb, packet->roce.payload, &packet->roce);
    if (!smcr_preferences.check_icrc && smcr_packet_wants_icrc(call->pinfo, packet))
        check_message(call, packet);
    if (!smcr_packet_learn(call->pinfo, packet))
        return dissect_not_ours(call, packet);
    smcr_udp_ports_watch();
    if (packet->roce.opcode == SMCR_RC_ACK)
        return dissect_acknowledgement(call, packet);
    nested_packet_t current = {.packet = packet};
    if (is_offered_for_certain(call->tvb, packet)) {
        if (needs_no_infiniband(call, packet))
            return call_dissector_only(handles.headers, call->tvb, call->pinfo, call->tree,
                                       &current);
        hide_columns(call->pinfo, &current);
    }
    do_with_current(dissect_ours, call, &current);
    return call->used;
}

/* Does what dissect_known_headers() does, for the preference `smcr.check_icrc`: learns whether the
 * ICRC is right, and shows the ICRC even if InfiniBand's dissector throws an exception. Also
 * reports the ICRC of a packet without link and RDMA flow to the tap. */
static int
dissect_checked(call_t *call, smcr_packet_t *packet)
{
    smcr_icrc_t icrc = smcr_roce_check_icrc(call->tvb, call->pinfo, call->start, &packet->roce);
    volatile int used = 0;

    smcr_packet_learn_icrc(call->pinfo, packet, &icrc);
    TRY {
        used = dissect_known_headers(call, packet);
    }
    FINALLY {
        icrc.reported = packet->record.kind == SMCR_RECORD_CORRUPT;
        smcr_roce_show_icrc(call->tvb, call->pinfo, call->tree, &icrc);
        if (!packet->record.link && !packet->record.rdma)
            smcr_tap_packet(call->pinfo, &(smcr_tap_t){.record = &packet->record,
                                                       .unassigned_icrc = packet->roce.icrc});
    }
    ENDTRY;
    return used;
}

/* Whether the packet is a UDP datagram of another protocol, with RoCE's port as source port. */
static bool
is_other_datagram(const call_t *call)
{
    const packet_info *pinfo = call->pinfo;

    return call->start == SMCR_HOOKS_BTH && pinfo->ptype == PT_UDP &&
           smcr_udp_ports_is_other(pinfo, (uint16_t)pinfo->srcport, (uint16_t)pinfo->destport);
}

/* The wrapper: dissects a packet that begins with the header `start`, in place of InfiniBand's
 * dissector. Returns the number of bytes used; 0: `tvb` has no InfiniBand packet. The order of the
 * checks matters: a packet that an ICMP error quotes is not counted as skipped. After
 * call_original() the heuristic may still take the payload, after dissect_foreign() it may not. */
int
smcr_roce_dissect(smcr_hooks_start_t start, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                  void *data)
{
    call_t call = {.start = start, .tvb = tvb, .pinfo = pinfo, .tree = tree, .data = data};

    if (!smcr_hooks_enabled())
        return call_original(&call);
    if (pinfo->flags.in_error_pkt)
        return dissect_without_source(&call);
    smcr_hooks_note_cut(pinfo);
    if (skips_and_counts(&call) || is_other_datagram(&call))
        return dissect_foreign(&call);
    smcr_packet_t packet;
    smcr_packet_begin(pinfo, &packet);
    tvbuff_t *whole = smcr_roce_read(tvb, pinfo, start, &packet.roce);
    if (!whole)
        return call_original(&call);
    call.tvb = whole;
    return smcr_preferences.check_icrc ? dissect_checked(&call, &packet)
                                       : dissect_known_headers(&call, &packet);
}

/* ---- the heuristics ---- */

/* An action: shows a packet that the wrapper has not seen. */
static void
dissect_unwrapped(call_t *call, nested_packet_t *current)
{
    show_as_layer(call->tvb, call->pinfo, call->tree, current);
}

/* The plugin's payload heuristic. If the wrapper is dissecting the packet, the heuristic shows the
 * packet or declines. Otherwise the heuristic learns the packet itself: for example, the wrapper
 * has stepped aside, or the packet is in an encapsulation that is not wrapped. */
ws_bool
smcr_roce_dissect_payload(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    const struct infinibandinfo *infiniband = data;
    nested_packet_t *decided = find_current(pinfo);

    if (decided) {
        unhide_columns(pinfo, decided);
        return decided->packet && show_as_layer(tvb, pinfo, tree, decided);
    }
    if (!smcr_hooks_enabled() || !infiniband ||
        is_of_no_interest(pinfo, infiniband->opCode, pinfo->destport))
        return false;
    smcr_packet_t packet;
    smcr_packet_begin(pinfo, &packet);
    packet.layer--; /* the layer number that the wrapper would have seen, which is called before
                       InfiniBand's layer is counted */
    smcr_roce_from_infiniband(tvb, pinfo, infiniband, &packet.roce);
    packet.payload = smcr_roce_payload(tvb, 0, &packet.roce);
    if (!smcr_packet_learn(pinfo, &packet)) {
        smcr_packet_buffer_payload(pinfo, &packet);
        return false;
    }
    smcr_hooks_restore_wrappers();
    smcr_udp_ports_watch();
    nested_packet_t current = {.packet = &packet};
    call_t call = {.tvb = tvb, .pinfo = pinfo, .tree = tree};
    do_with_current(dissect_unwrapped, &call, &current);
    return current.shown;
}

/* Whether the bytes of the payload alone prove a message of SMC-R, in a packet that the wrapper is
 * not dissecting. `infiniband`: data from InfiniBand's dissector; NULL: none. */
static bool
is_message_for_us(tvbuff_t *tvb, packet_info *pinfo, const struct infinibandinfo *infiniband)
{
    smcr_packet_t packet;
    uint32_t sender;

    if (!infiniband || !smcr_ib_operations[infiniband->opCode].is_whole_send || find_current(pinfo))
        return false;
    smcr_packet_begin(pinfo, &packet);
    smcr_roce_from_infiniband(tvb, pinfo, infiniband, &packet.roce);
    return smcr_message_is_smcr(tvb, pinfo, &packet.roce, &sender);
}

/* Replaces the heuristic of Wireshark's own dissector `smc`. Wireshark may ask that heuristic
 * before the plugin's heuristic, and it takes every payload that has the length and a type of LLC.
 * The replacement declines the messages that prove themselves, so that Wireshark calls the plugin's
 * heuristic next. It does not decline a message of the packet that is being dissected:
 * smcr_hooks_show_builtin() calls it for such messages. It declines all packets that ICMP errors
 * quote. While the plugin is disabled, it declines nothing that `smc` takes. No payload may be
 * taken by both heuristics, so a change of one needs a change of the other. */
ws_bool
smcr_roce_dissect_builtin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    bool enabled = smcr_hooks_enabled();

    if (enabled && (pinfo->flags.in_error_pkt || is_message_for_us(tvb, pinfo, data)))
        return false;
    return smcr_hooks_builtin(tvb, pinfo, tree, data);
}

void
smcr_roce_handoff(void)
{
    handles.payload = create_dissector_handle(show_payload_layer, proto_smcr);
    handles.headers =
        create_dissector_handle(dissect_headers, proto_get_id_by_filter_name("infiniband"));
}
