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

#include "as_tcp.h"

#include <epan/exceptions.h>

#include "application/application.h"
#include "fields.h"
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
 * called. Each member of `pinfo` that changes here has to be in TCP_MEMBERS, so that it is
 * restored. */
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
 * function ends the message with the sequence number `seq`, which the FIN would have. Then an empty
 * segment with this sequence number completes the message. Returns false if no message lasts until
 * the end. */
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
    tvbuff_t *tvb; /* the segment's bytes */
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

/* Whether the first pass gave the bytes to another conversation: the frame came before the two
 * objects that describe the directions of its connection were joined, and its direction is that of
 * the removed object. The removed object knows the token of the receiver only. */
static bool
was_joined_later(const packet_info *pinfo, const smcr_record_t *record)
{
    const smcr_conn_t *half = record->conn->merged_half;

    return half && record->sender >= 0 && half->side[!record->sender].has_token &&
           pinfo->num < half->conversation_from;
}

bool
smcr_payload_is_belated(const packet_info *pinfo, const smcr_record_t *record)
{
    if (!record->conn)
        return false;
    return pinfo->num < record->conn->conversation_from || was_joined_later(pinfo, record);
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

/* Dissects belated bytes (smcr_payload_is_belated()). The first pass did not know the TCP
 * connection of these bytes. A later pass passes each byte to dissectors once, in the order of the
 * stream. So a later pass over all frames passes all bytes. A frame that is dissected alone passes
 * its bytes only if they are the next in order. */
static void
dissect_belated(const smcr_payload_target_t *target, const smcr_payload_fresh_t *fresh)
{
    packet_info *pinfo = target->pinfo;
    unsigned sender = (unsigned)smcr_payload_sender(target->record);
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

/* The first pass decides, before the bytes are dissected, whether heuristics are called. Later
 * passes use its decision, so all passes show the same. */
void
smcr_payload_dissect_fresh(const smcr_payload_target_t *target, const smcr_payload_fresh_t *fresh)
{
    packet_info *pinfo = target->pinfo;
    const smcr_record_t *record = target->record;

    if (smcr_payload_is_belated(pinfo, record)) {
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
        bytes.time = smcr_capture_when(pinfo).time;
        bytes.has_dissector = smcr_policy_has_dissector(pinfo, record->conn, flow->ends) ||
                              claim_by_first_bytes(pinfo, fresh->data, flow->ends, sender);
        flow->last_frame = pinfo->num;
        flow->last_stamp = smcr_capture_stamp(pinfo);
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
 * the packet, and the connection of the packet is known. False for a packet after a gap, because
 * the receiver may discard the packet, and dissectors need the bytes in order. If the connection
 * became known in a later frame, that frame passes the bytes to dissectors, so the result is false,
 * too; but a connection that has its addresses and ports from a host's report counts as known. */
static bool
is_taken_in(const smcr_record_t *record)
{
    if (record->receiver_action != SMCR_FLOW_RECEIVER_TAKES || !record->conn)
        return false;
    return (!record->conn_learned_late || record->conn->socket) && smcr_payload_sender(record) >= 0;
}

/* The order matters: a packet whose bytes are not for dissectors must not get a position in the
 * order of arrival. */
bool
smcr_payload_is_for_dissectors(tvbuff_t *data, const packet_info *pinfo,
                               const smcr_record_t *record, smcr_payload_fresh_t *fresh)
{
    bool is_whole = tvb_captured_length(data) == tvb_reported_length(data);

    if (!smcr_preferences.dissect_payload || !is_whole || !is_taken_in(record))
        return false;
    if (!record->conn->conversation)
        smcr_payload_is_arrival_ordered(pinfo, record);
    return smcr_payload_find_new_bytes(data, record, fresh);
}

/* Whether a CDC message ends the stream of its sender, and dissectors get the stream. */
static bool
ends_dissected_stream(const smcr_record_cdc_t *cdc)
{
    return cdc && cdc->ends_stream && smcr_preferences.dissect_payload &&
           smcr_preferences.desegment;
}

/* Dissectors can have kept data only of a stream of which they have got bytes. */
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
