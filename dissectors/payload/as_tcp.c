/* Passes the application's bytes to the dissectors that would get them over TCP. The plugin calls
 * functions of Wireshark's TCP, which does desegmentation, choice of the dissector, and Decode As.
 * Wireshark's TCP gets the bytes with the addresses and ports of the TCP connection, and with
 * sequence numbers that begin at 1. The plugin keeps the TCP state for these bytes apart from the
 * TCP state for the segments of the connection.
 *
 * The plugin relies on TCP's internals. For the time of a call it replaces `multisegment_pdus`,
 * `flags` and `ooo_segments` of tcp_flow_t, and `dissector_tree` of conversation_t. So a dissector
 * that claims the conversation claims the bytes of SMC-R, not the TCP segments. The plugin ends a
 * message that lasts until FIN by changing its tcp_multisegment_pdu. It sets the members of
 * packet_info in TCP_MEMBERS.
 *
 * If a future version of Wireshark changes this, there are the following faults: 1. If TCP keeps
 * incomplete messages in another member, messages of SMC-R mix with messages of TCP segments. 2. If
 * TCP ends a message that lasts until FIN in another way, HTTP without a length stays open. 3. If
 * dissectors read other members of packet_info, they read values of RoCE.
 * tests/facts/test_payload.py and test_other_protocols.py find these faults.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

#include <epan/exceptions.h>

#include "application/application.h"
#include "fields.h"
#include "own_frame.h"
#include "tcp_state.h"
#include "message/message.h"

/* The members of packet_info that a dissector above TCP reads and changes. */
#define TCP_MEMBERS(DO) \
    DO(src) \
    DO(dst) \
    DO(net_src) \
    DO(net_dst) \
    DO(ptype) \
    DO(srcport) \
    DO(destport) \
    DO(match_uint) \
    DO(can_desegment) \
    DO(saved_can_desegment) \
    DO(desegment_offset) \
    DO(desegment_len) \
    DO(use_conv_addr_port_endpoints) \
    DO(conv_elements) \
    DO(conv_addr_port_endpoints)

#define DECLARE(member) SMCR_WIRE_TYPEOF(((packet_info *)NULL)->member) member;
#define SAVE(member) .member = pinfo->member,
#define RESTORE(member) pinfo->member = saved->member;

/* The values that become_tcp() has replaced, for end_tcp(). */
typedef struct {
    TCP_MEMBERS(DECLARE)
    wmem_list_frame_t *tcp_layer; /* layer of TCP that was added to the packet for the call */
    wmem_tree_t *dissectors;      /* saved member `dissector_tree` of the conversation */
    smcr_payload_trees_t trees;   /* trees that TCP writes to */
} saved_frame_t;

/* Makes the frame look like a TCP segment of the flow, from the end `sender`, until end_tcp() is
 * called. */
static void
become_tcp(packet_info *pinfo, const struct smcr_payload_flow *flow, unsigned sender,
           saved_frame_t *saved)
{
    const smcr_handshake_ends_t *ends = flow->ends;

    *saved = (saved_frame_t){TCP_MEMBERS(SAVE)};
    saved->dissectors = ends->conversation->dissector_tree;
    saved->trees = smcr_payload_lend_trees(flow);
    ends->conversation->dissector_tree = saved->trees.dissectors;
    smcr_handshake_set_ends(pinfo, ends, sender);
    if (ends->server_port)
        pinfo->match_uint = ends->server_port;
    pinfo->can_desegment = smcr_preferences.desegment ? 2 : 0;
    pinfo->saved_can_desegment = pinfo->can_desegment;
    pinfo->desegment_offset = 0;
    pinfo->desegment_len = 0;
    pinfo->use_conv_addr_port_endpoints = false;
    pinfo->conv_elements = NULL;
    pinfo->conv_addr_port_endpoints = NULL;
    /* Some dissectors ask whether they are on TCP. The layer goes to the front, where it does not
     * change Wireshark's count of the layers above. */
    wmem_list_prepend(pinfo->layers, GINT_TO_POINTER(smcr_handshake_tcp_ids()->proto));
    saved->tcp_layer = wmem_list_head(pinfo->layers);
}

/* Makes the frame look as before become_tcp(). */
static void
end_tcp(packet_info *pinfo, struct smcr_payload_flow *flow, const saved_frame_t *saved)
{
    flow->ends->conversation->dissector_tree = saved->dissectors;
    smcr_payload_return_trees(flow, saved->trees);
    TCP_MEMBERS(RESTORE)
    wmem_list_remove_frame(pinfo->layers, saved->tcp_layer);
}

/* Adds a hidden field tcp.stream: by this field, filters of dissectors above TCP and their Follow
 * Stream find the frame. */
static void
add_tcp_stream(tvbuff_t *tvb, proto_tree *tree, const smcr_handshake_ends_t *ends)
{
    smcr_item_hide(proto_tree_add_uint(tree, smcr_handshake_tcp_ids()->hf_stream, tvb, 0, 0,
                                       ends->stream));
}

/* Returns the TCP sequence number of the byte at the stream position `position`. */
static uint32_t
sequence_number(uint64_t position)
{
    return 1 + (uint32_t)position; /* the first byte has sequence number 1, as in Wireshark's
                                      relative sequence numbers */
}

/* Ends a message that lasts until the end of the stream (DESEGMENT_UNTIL_FIN), such as an HTTP
 * response without a length. TCP extends such a message with each segment until a FIN. This
 * function sets the end of the message to the byte before `seq`. Then an empty segment with the
 * sequence number `seq` completes the message. Returns false if no message lasts until the end. */
static bool
end_message(struct tcp_analysis *tcpd, packet_info *pinfo, uint32_t seq)
{
    if (!(tcpd->fwd->flags & TCP_FLOW_REASSEMBLE_UNTIL_FIN))
        return false;
    struct tcp_multisegment_pdu *message =
        wmem_tree_lookup32_le(tcpd->fwd->multisegment_pdus, seq - 1);
    if (!message)
        return false;
    if (!pinfo->fd->visited)
        message->nxtpdu = seq + 1;
    message->flags |= MSP_FLAGS_REASSEMBLE_ENTIRE_SEGMENT; /* the reported length of the tvb is the
                                                              length of the whole segment */
    pinfo->can_desegment = 1; /* needed by TCP; the dissector of the message cannot ask for more
                                 data */
    return true;
}

/* A segment that TCP gets in the place of an RDMA WRITE packet. */
typedef struct {
    tvbuff_t *tvb;
    uint32_t seq; /* sequence number of the segment's first byte */
    bool last;    /* the segment is empty, and ends the stream */
} tcp_segment_t;

/* Replaces the name of TCP in the column Protocol. TCP writes its own name there if no dissector
 * above TCP has got a whole message. */
static void
correct_protocol_column(packet_info *pinfo, const smcr_record_t *record)
{
    const char *protocol = col_get_text(pinfo->cinfo, COL_PROTOCOL);

    if (protocol && strcmp(protocol, "TCP") == 0)
        col_set_str(pinfo->cinfo, COL_PROTOCOL, smcr_show_protocol(record));
}

/* Calls Wireshark's TCP to dissect a segment. If `last` of the segment is set, TCP dissects the
 * message that lasts until the end of the stream. */
static void
dissect_as_tcp(const smcr_payload_target_t *target, const tcp_segment_t *segment)
{
    packet_info *pinfo = target->pinfo;
    const smcr_record_t *record = target->record;
    unsigned sender = (unsigned)smcr_payload_sender(record);
    struct smcr_payload_flow *own = smcr_payload_flow(pinfo, record->conn, sender);
    const smcr_handshake_ends_t *ends = own->ends;
    struct tcpinfo tcpinfo = {
        .seq = segment->seq,
        .nxtseq = segment->seq + tvb_reported_length(segment->tvb) + segment->last,
    };
    saved_frame_t saved;

    become_tcp(pinfo, own, sender, &saved);
    struct tcp_analysis *tcpd = get_tcp_conversation_data(ends->conversation, pinfo);
    tcp_flow_t *flow = tcpd->fwd, flow_of_segments = *flow;
    /* During the call, TCP's flow has the state of SMC-R's bytes. The bytes come in the order of
     * the stream, so TCP needs no list of out-of-order segments (tcp.reassemble_out_of_order). */
    flow->multisegment_pdus = saved.trees.messages;
    flow->flags = own->flags;
    flow->ooo_segments = NULL;
    compat_tcpinfo_set_stream(&tcpinfo, ends->stream);
    conversation_t *outer = smcr_handshake_set_bypass(ends->conversation);
    TRY {
        if (!segment->last || end_message(tcpd, pinfo, segment->seq)) {
            add_tcp_stream(segment->tvb, target->below, ends);
            dissect_tcp_payload(segment->tvb, pinfo, 0, segment->seq, tcpinfo.nxtseq,
                                pinfo->srcport, pinfo->destport, target->tree, target->below, tcpd,
                                &tcpinfo);
        }
    }
    FINALLY {
        smcr_handshake_set_bypass(outer);
        own->flags = flow->flags;
        *flow = flow_of_segments;
        end_tcp(pinfo, own, &saved);
    }
    ENDTRY;
    correct_protocol_column(pinfo, record);
}

/* Calls Wireshark's TCP to dissect new bytes of the stream. */
static void
dissect_bytes_as_tcp(const smcr_payload_target_t *target, const smcr_payload_fresh_t *fresh)
{
    const tcp_segment_t segment = {fresh->data, sequence_number(fresh->position), false};

    dissect_as_tcp(target, &segment);
}

/* Returns the range of the stream that the packet carries: `piece`, as the state knows it. If the
 * position of the bytes is not known, the first pass may have assigned a position: directly after
 * the bytes of earlier packets (tcp_state.c). `rare`: rarely set members of the packet's place. */
static smcr_stream_range_t
find_piece(smcr_stream_range_t piece, const smcr_place_rare_t *rare)
{
    if (!piece.known && rare && rare->is_arrival_ordered)
        return (smcr_stream_range_t){.known = true, .position = rare->arrival_position};
    return piece;
}

/* Whether the receiver discards the packet, because it already has the bytes of the packet, or
 * because the ICRC is wrong. */
static bool
is_dropped(const smcr_record_t *record)
{
    return record->receiver_action == SMCR_FLOW_RECEIVER_DROPS;
}

bool
smcr_payload_find_new_bytes(tvbuff_t *data, const smcr_record_t *record,
                            smcr_payload_fresh_t *fresh)
{
    const smcr_place_t *place = record->write_location;
    const smcr_place_rare_t *rare = smcr_place_rare(place);
    smcr_stream_range_t piece = find_piece(smcr_place_range(place), rare);

    if (!record->conn || !piece.known || is_dropped(record))
        return false;
    /* when this packet came, the state did not know the bytes of earlier packets, so no gap is
     * reported */
    if (record->conn_learned_late) {
        *fresh = (smcr_payload_fresh_t){data, piece.position, 0, false};
        return true;
    }
    if (piece.rewritten >= tvb_captured_length(data))
        return false;
    *fresh = (smcr_payload_fresh_t){
        .data = piece.rewritten ? tvb_new_subset_remaining(data, (int)piece.rewritten) : data,
        .position = piece.position + piece.rewritten,
        .gap = piece.gap,
        .gap_may_be_filled = rare && rare->gap_is_captured,
    };
    return true;
}

bool
smcr_payload_find_truncated_bytes(tvbuff_t *data, const smcr_record_t *record,
                                  smcr_payload_fresh_t *fresh)
{
    const smcr_place_t *place = record->write_location;
    smcr_stream_range_t piece = find_piece(smcr_place_range(place), smcr_place_rare(place));

    if (tvb_captured_length(data) || piece.rewritten)
        return false;
    if (!record->conn || !piece.known || is_dropped(record))
        return false;
    *fresh = (smcr_payload_fresh_t){data, piece.position, 0, false};
    return true;
}

/* Shows bytes without asking any dissector, as TCP shows bytes that all dissectors have
 * declined. Without a tree there is nothing to show: "Data" writes no column. */
static void
show_unasked(const smcr_payload_target_t *target, tvbuff_t *fresh,
             const struct smcr_payload_flow *flow)
{
    unsigned length = tvb_reported_length(fresh);

    if (!target->tree)
        return;
    if (target->below) {
        add_tcp_stream(fresh, target->below, flow->ends);
        proto_tree_add_bytes_format(target->below, smcr_handshake_tcp_ids()->hf_payload, fresh, 0,
                                    -1, NULL, "TCP payload (%u byte%s)", length,
                                    length == 1 ? "" : "s");
    }
    call_data_dissector(fresh, target->pinfo, target->tree);
}

bool
smcr_payload_find_replacing_bytes(tvbuff_t *data, const smcr_record_t *record,
                                  smcr_payload_fresh_t *fresh, uint32_t *replaced)
{
    const smcr_place_rare_t *rare = smcr_place_rare(record->write_location);
    smcr_record_t first = *record;

    if (!rare || !rare->replaces)
        return false;
    first.write_location = rare->replaces; /* new bytes: those of the replaced packet */
    first.receiver_action = SMCR_FLOW_RECEIVER_TAKES;
    *replaced = rare->replaces->frame;
    return smcr_payload_find_new_bytes(data, &first, fresh);
}

bool
smcr_payload_find_accepted_bytes(tvbuff_t *data, const packet_info *pinfo,
                                 const smcr_record_t *record, smcr_payload_fresh_t *fresh)
{
    const smcr_place_rare_t *rare = smcr_place_rare(record->write_location);
    bool is_known = pinfo->fd->visited && rare;
    uint32_t replaced;

    if (is_known && rare->replaced_in)
        return false;
    if (is_known && rare->replaces)
        return smcr_payload_find_replacing_bytes(data, record, fresh, &replaced);
    return smcr_payload_find_new_bytes(data, record, fresh);
}

/* Whether the frame came before a host reported over netlink to which connection its bytes
 * belong ("belated" bytes). */
static bool
is_belated(const packet_info *pinfo, const smcr_record_t *record)
{
    return record->conn && pinfo->num < record->conn->conversation_from;
}

/* Whether these belated bytes are the first bytes of the stream for dissectors. Three conditions
 * hold: 1. no belated byte has been passed to dissectors yet; 2. the packet is the first of its
 * request; 3. the sender has sent CDC messages, and none of them comes before this frame. */
static bool
begins_stream(const smcr_payload_target_t *target, const struct smcr_payload_flow *flow)
{
    const smcr_record_t *record = target->record;
    const smcr_place_rare_t *rare = smcr_place_rare(record->write_location);
    bool is_nothing_given = flow->belated_begin == flow->belated_end;

    return is_nothing_given && (!rare || rare->offset_in_request == 0) &&
           target->pinfo->num <= record->conn->side[record->sender].first_cdc_frame;
}

/* Whether an earlier call of dissect_belated() has passed these bytes to dissectors. */
static bool
were_given(const struct smcr_payload_flow *flow, const smcr_payload_fresh_t *fresh, uint64_t end)
{
    return fresh->position >= flow->belated_begin && end <= flow->belated_end;
}

/* Dissects belated bytes: bytes that came before a host reported to which connection they belong.
 * The first pass did not know the TCP connection of these bytes. A later pass passes each byte to
 * dissectors once, in the order of the stream. So a later pass over all frames passes all bytes. A
 * frame that is dissected alone passes its bytes only if they are the next in order. */
static void
dissect_belated(const smcr_payload_target_t *target, const smcr_payload_fresh_t *fresh)
{
    packet_info *pinfo = target->pinfo;
    unsigned sender = (unsigned)target->record->direction;
    struct smcr_payload_flow *flow = smcr_payload_flow(pinfo, target->record->conn, sender);
    uint64_t end = fresh->position + tvb_captured_length(fresh->data);
    bool visited = pinfo->fd->visited;
    bool begins = begins_stream(target, flow);

    if (begins)
        flow->belated_begin = flow->belated_end = fresh->position;
    bool given = were_given(flow, fresh, end);
    bool next = fresh->position == flow->belated_end &&
                (begins || flow->belated_begin != flow->belated_end);
    if (!visited || (!given && !next)) {
        show_unasked(target, fresh->data, flow);
        return;
    }
    pinfo->fd->visited = given;
    flow->belated_end = MAX(flow->belated_end, end);
    TRY {
        dissect_bytes_as_tcp(target, fresh);
    }
    FINALLY {
        pinfo->fd->visited = visited;
    }
    ENDTRY;
}

/* Whether all dissectors have declined the bytes: the only layer after `last` is Wireshark's
 * "Data". */
static bool
is_only_data(wmem_list_frame_t *last)
{
    wmem_list_frame_t *above = wmem_list_frame_next(last);

    return above && !wmem_list_frame_next(above) &&
           GPOINTER_TO_INT(wmem_list_frame_data(above)) == smcr_handshake_tcp_ids()->proto_data;
}

/* First pass: if the bytes prove a protocol of databases, its dissector claims the conversation
 * from this frame on, as a heuristic of this protocol would do. Wireshark has no such heuristics,
 * and the connection has no port that names the protocol. `sender`: end that sends the bytes.
 * Returns whether a dissector claims it. */
static bool
claim_by_first_bytes(const packet_info *pinfo, tvbuff_t *bytes, smcr_handshake_ends_t *ends,
                     unsigned sender)
{
    uint32_t length = tvb_captured_length(bytes);
    const smcr_application_protocol_t *protocol =
        length ? smcr_application_protocol_of(tvb_get_ptr(bytes, 0, (int)length), length) : NULL;
    dissector_handle_t dissector = protocol ? smcr_policy_dissector_of_port(protocol->port) : NULL;

    if (!dissector)
        return false;
    wmem_tree_insert32(smcr_handshake_dissectors(ends), pinfo->num, (void *)dissector);
    ends->server_port = ends->port[protocol->by_server ? sender : !sender];
    return true;
}

/* Dissects new bytes of the stream, through Wireshark's TCP. If smcr_policy_decide_asking() decides
 * that heuristics are not called, shows the bytes as data. */
static void
dissect_fresh(const smcr_payload_target_t *target, const smcr_payload_fresh_t *fresh)
{
    packet_info *pinfo = target->pinfo;
    const smcr_record_t *record = target->record;

    if (is_belated(pinfo, record)) {
        dissect_belated(target, fresh);
        return;
    }
    unsigned sender = (unsigned)smcr_payload_sender(record);
    struct smcr_payload_flow *flow = smcr_payload_flow(pinfo, record->conn, sender);
    smcr_policy_stretch_t bytes = {
        .begin = fresh->position,
        .end = fresh->position + tvb_captured_length(fresh->data),
        .ends = flow->ends,
        .sender = sender,
    };
    if (!pinfo->fd->visited) {
        bytes.has_dissector = smcr_policy_has_dissector(pinfo, record->conn, flow->ends) ||
                              claim_by_first_bytes(pinfo, fresh->data, flow->ends, sender);
        flow->last_frame = pinfo->num;
        flow->last_time = smcr_capture_when(pinfo).time;
    }
    smcr_policy_ask_t ask = smcr_policy_decide_asking(pinfo, record, bytes);
    wmem_list_frame_t *last = wmem_list_tail(pinfo->layers);

    if (ask == SMCR_POLICY_ASK_NOT) {
        show_unasked(target, fresh->data, flow);
        return;
    }
    dissect_bytes_as_tcp(target, fresh);
    if (ask == SMCR_POLICY_ASK_NOW)
        smcr_policy_note_answer(pinfo, record, bytes, is_only_data(last));
}

/* Whether dissectors may get the bytes in the frame of the packet itself: the receiver has taken in
 * the packet, and the connection of the packet is known. Returns false for a packet after a gap,
 * because the receiver may discard the packet, and dissectors need the bytes in order. Returns
 * false if the connection became known in a later frame, except if a host reported the connection
 * over netlink; that later frame passes the bytes to dissectors. */
static bool
is_taken_in(const smcr_record_t *record)
{
    if (record->receiver_action != SMCR_FLOW_RECEIVER_TAKES || !record->conn)
        return false;
    return (!record->conn_learned_late || record->conn->socket) && smcr_payload_sender(record) >= 0;
}

/* Whether dissectors get bytes of the packet. If so, finds the new bytes. Before, the first pass
 * gives the bytes their position in the order of arrival, if their TCP connection is not captured:
 * smcr_payload_is_arrival_ordered(). */
static bool
is_for_dissectors(tvbuff_t *data, const packet_info *pinfo, const smcr_record_t *record,
                  smcr_payload_fresh_t *fresh)
{
    bool is_whole = tvb_captured_length(data) == tvb_reported_length(data);

    if (!smcr_preferences.dissect_payload || !is_whole || !is_taken_in(record))
        return false;
    if (!record->conn->conversation)
        smcr_payload_is_arrival_ordered(pinfo, record);
    return smcr_payload_find_new_bytes(data, record, fresh);
}

/* Whether the bytes of the packet were held, so that a later frame passes them to dissectors. False
 * if this frame itself passes the bytes: belated bytes (is_belated()), or bytes whose position is
 * the order of their arrival. */
static bool
is_held(const packet_info *pinfo, const smcr_record_t *record)
{
    const smcr_place_rare_t *rare = smcr_place_rare(record->write_location);

    if (!rare || !rare->buffered_payload)
        return false;
    return rare->buffered_payload->handed_on_frame ||
           (!is_belated(pinfo, record) && !smcr_payload_is_arrival_ordered(pinfo, record));
}

/* Shows the bytes of a packet as data: dissectors get none of them with this packet. */
static void
show_data(const smcr_payload_target_t *target, tvbuff_t *data)
{
    unsigned length = tvb_captured_length(data);

    if (length && proto_field_is_referenced(target->below, hf_smcr_write_data))
        smcr_item_bytes(target->below, hf_smcr_write_data, data, 0, length);
}

void
smcr_payload_buffer(tvbuff_t *data, const packet_info *pinfo, const smcr_record_t *record)
{
    unsigned length = tvb_captured_length(data);

    if (pinfo->fd->visited || !is_held(pinfo, record) || !length ||
        length < tvb_reported_length(data))
        return;
    smcr_held_t *held = smcr_place_rare(record->write_location)->buffered_payload;
    held->raw_offset = (uint32_t)tvb_raw_offset(data);
    held->layer = pinfo->curr_layer_num;
    smcr_held_fill(smcr_capture_learn(pinfo), held, tvb_get_ptr(data, 0, (int)length), length);
}

/* ---- bytes that a later frame hands on ---- */

/* A run: successive bytes of a stream, in one piece of the buffer. */
typedef struct {
    smcr_record_t record; /* record of the packet with the first of these bytes */
    uint64_t position;    /* stream position of the first byte */
    int begin;            /* offset of the first byte in the buffer */
    int end;              /* offset after the last byte */
} handed_run_t;

/* The bytes of held packets (smcr_payload_hand_on()) that a frame passes to dissectors. */
typedef struct {
    const smcr_payload_target_t *target; /* place where this frame shows the bytes */
    tvbuff_t *tvb;                       /* packet of this frame */
    bool is_write;                       /* the packet is an RDMA WRITE, with bytes of its own */
    wmem_array_t *bytes;                 /* the buffer: new bytes of all runs, one run after the
                                            other */
    wmem_array_t *runs;                  /* handed_run_t */
} handing_t;

/* Whether new bytes of a packet at `position` continue a run. */
static bool
continues_run(const handed_run_t *run, const smcr_record_t *record, uint64_t position)
{
    return run->record.conn == record->conn && run->record.direction == record->direction &&
           run->position + (uint64_t)(run->end - run->begin) == position;
}

/* Adds the new bytes of a packet to the bytes that dissectors get in this frame: to the last run,
 * if they continue it, else as a new run. Returns false if dissectors get none of its bytes. */
static bool
add_to_runs(handing_t *handing, tvbuff_t *data, const smcr_record_t *record)
{
    unsigned count = wmem_array_get_count(handing->runs);
    handed_run_t *last = count ? wmem_array_index(handing->runs, count - 1) : NULL;
    int begin = (int)wmem_array_get_count(handing->bytes);
    smcr_payload_fresh_t fresh;

    if (!is_for_dissectors(data, handing->target->pinfo, record, &fresh))
        return false;
    unsigned length = tvb_captured_length(fresh.data);
    wmem_array_append(handing->bytes, tvb_get_ptr(fresh.data, 0, (int)length), length);
    if (last && continues_run(last, record, fresh.position)) {
        last->end += (int)length;
        return true;
    }
    handed_run_t run = {*record, fresh.position, begin, begin + (int)length};
    wmem_array_append_one(handing->runs, run);
    return true;
}

/* Makes a record of an earlier packet, with its connection as it is known now. */
static void
make_held_record(const smcr_held_t *held, smcr_record_t *record)
{
    smcr_record_begin(record);
    record->kind = SMCR_RECORD_WRITE;
    record->conn = smcr_conn_merged(held->conn);
    record->write_location = held->write_location;
    record->sender =
        held->conn->sides_swapped == held->sides_swapped ? held->sender : !held->sender;
    record->direction = (int8_t)smcr_conn_direction(record->conn->lgr, record->sender);
}

/* Makes a record of an earlier packet. Returns the packet's bytes, which the caller frees. */
static tvbuff_t *
open_held(const smcr_held_t *held, smcr_record_t *record)
{
    make_held_record(held, record);
    return tvb_new_real_data(held->bytes, held->length, (int)held->length);
}

tvbuff_t *
smcr_payload_next_buffered(const smcr_tap_t *packet, unsigned *next, smcr_record_t *record)
{
    bool told = packet->delivered && packet->first_pass;

    while (told && *next < wmem_array_get_count(packet->delivered)) {
        const smcr_held_t *held = *(smcr_held_t **)wmem_array_index(packet->delivered, (*next)++);
        if (smcr_place_late(held->write_location))
            return open_held(held, record);
    }
    return NULL;
}

/* Returns the TCP state of the stream to which the bytes of the record belong; NULL: dissectors
 * have got no byte of the stream so far. The record must have a connection. */
static struct smcr_payload_flow *
flow_of(const smcr_record_t *record)
{
    int sender = smcr_payload_sender(record);

    return sender < 0 ? NULL : smcr_payload_find_flow(record->conn, (unsigned)sender);
}

/* Whether dissectors have got bytes of the stream in a later frame than that of the held packet. */
static bool
follows_later_frame(const smcr_record_t *record, const smcr_held_t *held)
{
    const struct smcr_payload_flow *flow = flow_of(record);

    return flow && flow->last_frame > held->frame;
}

/* Makes the frame to which dissectors assign the bytes of a held packet (own_frame.h): the frame of
 * the packet or, if dissectors have got bytes of the stream in a later frame, the last such frame.
 * In later passes that frame shows the bytes, too: the packet becomes its guest. */
static struct smcr_payload_own_frame *
new_own_frame(const packet_info *pinfo, const smcr_record_t *record, smcr_held_t *held)
{
    if (!follows_later_frame(record, held))
        return smcr_payload_new_own_frame(pinfo, held->frame, held->time);
    struct smcr_payload_flow *flow = flow_of(record);
    smcr_payload_add_guest(flow, held);
    return smcr_payload_new_own_frame(pinfo, flow->last_frame, flow->last_time);
}

/* Returns the bytes of a held packet in a new buffer, at the same offset as in their frame, because
 * TLS distinguishes the TLS records of a frame by their offsets. */
static tvbuff_t *
copy_held(const packet_info *pinfo, tvbuff_t *parent, const smcr_held_t *held)
{
    uint32_t length = held->raw_offset + held->length;
    uint8_t *bytes = wmem_alloc0(pinfo->pool, length);

    memcpy(bytes + held->raw_offset, held->bytes, held->length);
    return tvb_new_subset_remaining(
        tvb_new_child_real_data(parent, bytes, length, (int)length), (int)held->raw_offset);
}

/* First pass: dissects the bytes of a held packet as if the frame of new_own_frame() were being
 * dissected. */
static void
dissect_for_own_frame(const handing_t *handing, smcr_held_t *held, const smcr_record_t *record)
{
    packet_info *pinfo = handing->target->pinfo;
    smcr_payload_target_t target = {.pinfo = pinfo, .record = record};
    tvbuff_t *data = copy_held(pinfo, handing->tvb, held);
    smcr_payload_outer_frame_t outer;
    smcr_payload_fresh_t fresh;

    held->own_frame = new_own_frame(pinfo, record, held);
    if (!is_for_dissectors(data, pinfo, record, &fresh))
        return;
    smcr_payload_enter_frame(pinfo, held, &outer);
    TRY {
        dissect_fresh(&target, &fresh);
    }
    FINALLY {
        smcr_payload_leave_frame(pinfo, &outer);
    }
    ENDTRY;
}

/* First pass: notes that dissectors get bytes of the stream in the frame that is being
 * dissected. */
static void
note_last_frame(const handing_t *handing, const smcr_record_t *record)
{
    const packet_info *pinfo = handing->target->pinfo;
    unsigned sender = (unsigned)smcr_payload_sender(record);

    if (pinfo->fd->visited)
        return;
    struct smcr_payload_flow *flow = smcr_payload_flow(pinfo, record->conn, sender);
    flow->last_frame = pinfo->num;
    flow->last_time = smcr_capture_when(pinfo).time;
}

/* Whether this frame shows the bytes of a held packet. Two conditions hold: 1. the packet of this
 * frame is an RDMA WRITE; 2. dissectors have got bytes of the stream in a later frame than that of
 * the held packet. */
static bool
is_for_this_frame(const handing_t *handing, const smcr_record_t *record, const smcr_held_t *held)
{
    return handing->is_write && follows_later_frame(record, held);
}

/* Passes the bytes of a held packet to dissectors: with the bytes of this frame
 * (is_for_this_frame()) or, in the first pass, as if an earlier frame were being dissected. */
static void
pass_on_held(handing_t *handing, const smcr_record_t *record, smcr_held_t *held)
{
    if (held->own_frame)
        return;
    if (!handing->target->pinfo->fd->visited && !is_for_this_frame(handing, record, held)) {
        dissect_for_own_frame(handing, held, record);
        if (held->own_frame->frame.num == held->frame)
            smcr_held_release(record->conn->lgr->state, held);
        return;
    }
    tvbuff_t *data = tvb_new_real_data(held->bytes, held->length, (int)held->length);
    if (add_to_runs(handing, data, record))
        note_last_frame(handing, record);
    tvb_free(data);
}

/* Shows the frame number of a held packet in the tree, and passes its bytes to dissectors. `by`:
 * record of the packet that proves where the bytes belong. */
static void
add_held(handing_t *handing, const smcr_record_t *by, smcr_held_t *held)
{
    proto_tree *below = handing->target->below;
    smcr_record_t record;

    make_held_record(held, &record);
    proto_item_set_generated(
        proto_tree_add_uint(below, hf_smcr_data_of, handing->tvb, 0, 0, held->frame));
    if (record.conn != by->conn)
        smcr_item_hide(proto_tree_add_uint(below, hf_smcr_stream, handing->tvb, 0, 0,
                                           record.conn->index));
    pass_on_held(handing, &record, held);
}

/* Dissects the runs. All runs are in one buffer, because TLS distinguishes the TLS records of a
 * frame by their offsets in the buffer. */
static void
dissect_runs(const handing_t *handing)
{
    int length = (int)wmem_array_get_count(handing->bytes);
    tvbuff_t *all = tvb_new_child_real_data(handing->tvb, wmem_array_get_raw(handing->bytes),
                                            (unsigned)length, length);

    add_new_data_source(handing->target->pinfo, all, "Reassembled data");
    for (unsigned i = 0; i < wmem_array_get_count(handing->runs); i++) {
        const handed_run_t *run = wmem_array_index(handing->runs, i);
        smcr_payload_target_t target = *handing->target;
        smcr_payload_fresh_t fresh = {
            .data = tvb_new_subset_length(all, run->begin, run->end - run->begin),
            .position = run->position,
        };
        target.record = &run->record;
        dissect_fresh(&target, &fresh);
    }
}

/* Later passes: dissects the bytes of a held packet. Dissectors find what they have kept with the
 * stand-in for the packet's frame in the first pass. Returns false if dissectors get none of the
 * bytes. */
static bool
dissect_held(const smcr_payload_target_t *target, const smcr_held_t *held, tvbuff_t *data)
{
    packet_info *pinfo = target->pinfo;
    smcr_payload_target_t own = *target;
    frame_data *frame = pinfo->fd;
    smcr_payload_fresh_t fresh;
    smcr_record_t record;

    make_held_record(held, &record);
    if (!is_for_dissectors(data, pinfo, &record, &fresh))
        return false;
    own.record = &record;
    pinfo->fd = &held->own_frame->frame;
    TRY {
        dissect_fresh(&own, &fresh);
    }
    FINALLY {
        pinfo->fd = frame;
    }
    ENDTRY;
    return true;
}

/* Shows the bytes of a held packet in the packet's own frame. Later passes dissect the bytes there.
 * The first pass, and later passes if another frame shows the dissected bytes, show them as
 * data. */
static void
show_held(const smcr_payload_target_t *target, tvbuff_t *data)
{
    const packet_info *pinfo = target->pinfo;
    const smcr_held_t *held = smcr_place_rare(target->record->write_location)->buffered_payload;
    bool is_own = held->own_frame && held->own_frame->frame.num == pinfo->num;

    if (!pinfo->fd->visited || !is_own || !dissect_held(target, held, data))
        show_data(target, data);
}

/* Later passes: dissects the bytes of the held packets that this frame shows after its own bytes
 * (smcr_payload_flow.guests). */
static void
show_guests(const smcr_payload_target_t *target, tvbuff_t *data)
{
    const smcr_record_t *record = target->record;

    if (!target->pinfo->fd->visited || !record->conn)
        return;
    const struct smcr_payload_flow *flow = flow_of(record);
    wmem_array_t *guests = flow ? smcr_payload_guests(flow, target->pinfo->num) : NULL;
    for (unsigned i = 0; guests && i < wmem_array_get_count(guests); i++) {
        const smcr_held_t *held = *(smcr_held_t **)wmem_array_index(guests, i);
        tvbuff_t *bytes = copy_held(target->pinfo, data, held);
        add_new_data_source(target->pinfo, bytes, "Data of an earlier packet");
        dissect_held(target, held, bytes);
    }
}

void
smcr_payload_hand_on(const smcr_payload_target_t *target, wmem_array_t *held, tvbuff_t *tvb,
                     tvbuff_t *data)
{
    const smcr_record_t *record = target->record;
    handing_t handing = {.target = target,
                         .tvb = tvb,
                         .is_write = data != NULL,
                         .bytes = wmem_array_new(target->pinfo->pool, 1),
                         .runs = wmem_array_new(target->pinfo->pool, sizeof(handed_run_t))};

    for (unsigned i = 0; i < wmem_array_get_count(held); i++)
        add_held(&handing, record, *(smcr_held_t **)wmem_array_index(held, i));
    if (data && is_held(target->pinfo, record))
        show_held(target, data);
    else if (data && !add_to_runs(&handing, data, record))
        show_data(target, data);
    if (wmem_array_get_count(handing.runs))
        dissect_runs(&handing);
    if (data)
        show_guests(target, data);
}

void
smcr_payload_dissect(const smcr_payload_target_t *target, tvbuff_t *data)
{
    smcr_payload_fresh_t fresh;

    if (is_held(target->pinfo, target->record))
        show_held(target, data);
    else if (is_for_dissectors(data, target->pinfo, target->record, &fresh))
        dissect_fresh(target, &fresh);
    else
        show_data(target, data);
    show_guests(target, data);
}

/* Whether a CDC message ends the stream of its sender, and dissectors get the stream. */
static bool
ends_dissected_stream(const smcr_record_cdc_t *cdc)
{
    return cdc && cdc->ends_stream && smcr_preferences.dissect_payload &&
           smcr_preferences.desegment;
}

void
smcr_payload_end_stream(const smcr_payload_target_t *target, tvbuff_t *message)
{
    const smcr_record_t *record = target->record;
    const smcr_record_cdc_t *cdc = smcr_record_cdc_in_order(record);

    if (!ends_dissected_stream(cdc))
        return;
    int sender = smcr_payload_sender(record);
    if (sender >= 0 && smcr_payload_find_flow(record->conn, (unsigned)sender)) {
        const tcp_segment_t segment = {tvb_new_subset_length(message, 0, 0),
                                       sequence_number(cdc->announced), true};
        dissect_as_tcp(target, &segment);
    }
}
