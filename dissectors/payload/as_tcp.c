/* Gives the application's bytes to the dissectors that TCP would have asked. Wireshark's TCP does
 * all of it (desegmentation, choice of the dissector, Decode As): the bytes come with the TCP
 * connection's addresses and ports, and with sequence numbers that begin anew. So TCP remembers
 * messages that go on apart from those of the connection's segments.
 *
 * Borrowed from TCP's inside: `multisegment_pdus`, `flags` and `ooo_segments` of tcp_flow_t, which
 * are ours for the call, as `dissector_tree` of conversation_t is: who takes the conversation takes
 * our bytes, not the segments. A message until FIN, as tcp_multisegment_pdu has it; the members of
 * packet_info below. If TCP keeps messages elsewhere, ours mix with those of the segments; if it
 * ends a message until FIN otherwise, HTTP without a length stays open; if dissectors read another
 * member, they read RoCE's. tests/facts/test_payload.py and test_other_protocols.py fail then.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

#include <epan/exceptions.h>

#include "fields.h"
#include "talk.h"
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

#define DECLARE(member) __typeof__(((packet_info *)NULL)->member) member;
#define SAVE(member) .member = pinfo->member,
#define RESTORE(member) pinfo->member = saved.member;

/* The frame as it was before it took the place of a TCP segment. */
typedef struct {
    TCP_MEMBERS(DECLARE)
    wmem_list_frame_t *tcp_layer; /* added for the call */
    wmem_tree_t *dissectors;      /* of the conversation */
} saved_frame_t;

/* The frame takes the place of a TCP segment, until its members are restored. */
static void
become_tcp(packet_info *pinfo, const smcr_handshake_ends_t *ends, unsigned sender,
           saved_frame_t *saved)
{
    *saved = (saved_frame_t){TCP_MEMBERS(SAVE)};
    saved->dissectors = ends->conversation->dissector_tree;
    ends->conversation->dissector_tree = ends->dissectors;
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
    /* Some dissectors ask whether they are on TCP. In front, where Wireshark's count of the layers
     * above is not concerned. */
    wmem_list_prepend(pinfo->layers, GINT_TO_POINTER(smcr_handshake_tcp_ids()->proto));
    saved->tcp_layer = wmem_list_head(pinfo->layers);
}

/* So that filters of dissectors above TCP, and Follow Stream for them, find the frame. */
static void
add_tcp_stream(tvbuff_t *tvb, proto_tree *tree, const smcr_handshake_ends_t *ends)
{
    smcr_item_hide(proto_tree_add_uint(tree, smcr_handshake_tcp_ids()->hf_stream, tvb, 0, 0,
                                       ends->stream));
}

static uint32_t
sequence_number(uint64_t position)
{
    return 1 + (uint32_t)position; /* as Wireshark's relative ones */
}

/* A message that lasts until the end of the stream is kept by TCP as one that goes on and on
 * (DESEGMENT_UNTIL_FIN). TCP ends it at a FIN; here it is cut off behind the last byte, `seq`, so
 * that an empty segment completes it. Returns false when there is no such message. */
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
    message->flags |= MSP_FLAGS_REASSEMBLE_ENTIRE_SEGMENT; /* the segment is as long as its tvb */
    pinfo->can_desegment = 1; /* for TCP: who comes next gets no more data */
    return true;
}

/* Has TCP dissect what begins with sequence number `seq`. With `last`, it is the empty segment that
 * ends the stream, and what waits for that. */
static void
dissect_as_tcp(tvbuff_t *fresh, packet_info *pinfo, proto_tree *tree, proto_tree *below,
               const smcr_record_t *record, uint32_t seq, bool last)
{
    unsigned sender = (unsigned)smcr_payload_sender(record);
    struct smcr_payload_flow *own = smcr_payload_flow(pinfo, record->conn, sender);
    const smcr_handshake_ends_t *ends = own->ends;
    struct tcpinfo tcpinfo = {.seq = seq, .nxtseq = seq + tvb_reported_length(fresh) + last};
    saved_frame_t saved;

    become_tcp(pinfo, ends, sender, &saved);
    struct tcp_analysis *tcpd = get_tcp_conversation_data(ends->conversation, pinfo);
    tcp_flow_t *flow = tcpd->fwd, as_it_was = *flow;
    /* TCP's flow is that of our bytes. They come in the order of the receiver: without a list of
     * early segments TCP looks for no other (tcp.reassemble_out_of_order) */
    flow->multisegment_pdus = own->messages;
    flow->flags = own->flags;
    flow->ooo_segments = NULL;
    compat_tcpinfo_set_stream(&tcpinfo, ends->stream);
    conversation_t *outer = smcr_handshake_set_bypass(ends->conversation);
    TRY {
        if (!last || end_message(tcpd, pinfo, seq)) {
            add_tcp_stream(fresh, below, ends);
            dissect_tcp_payload(fresh, pinfo, 0, seq, tcpinfo.nxtseq, pinfo->srcport,
                                pinfo->destport, tree, below, tcpd, &tcpinfo);
        }
    }
    FINALLY {
        smcr_handshake_set_bypass(outer);
        own->flags = flow->flags;
        *flow = as_it_was; /* that of the TCP connection again */
        ends->conversation->dissector_tree = saved.dissectors;
        TCP_MEMBERS(RESTORE)
        wmem_list_remove_frame(pinfo->layers, saved.tcp_layer);
    }
    ENDTRY;
    /* TCP names itself where no dissector above it has got a whole message yet. */
    const char *protocol = col_get_text(pinfo->cinfo, COL_PROTOCOL);
    if (protocol && strcmp(protocol, "TCP") == 0)
        col_set_str(pinfo->cinfo, COL_PROTOCOL, "SMC-R");
}

bool
smcr_payload_fresh_bytes(tvbuff_t *data, const smcr_record_t *record, smcr_payload_fresh_t *fresh)
{
    smcr_stream_piece_t piece = smcr_place_piece(record->place);
    const smcr_place_rare_t *rare = smcr_place_rare(record->place);

    if (!piece.known && rare && rare->is_taped)
        piece = (smcr_stream_piece_t){.known = true, .position = rare->taped};
    if (!record->conn || !piece.known || record->fate == SMCR_FLOW_FATE_DROP)
        return false;
    if (record->is_late) { /* nobody judged then what had been written before */
        *fresh = (smcr_payload_fresh_t){data, piece.position, 0, false};
        return true;
    }
    if (piece.rewritten >= tvb_captured_length(data))
        return false;
    *fresh = (smcr_payload_fresh_t){
        .data = piece.rewritten ? tvb_new_subset_remaining(data, (int)piece.rewritten) : data,
        .position = piece.position + piece.rewritten,
        .gap = piece.gap,
        .waits = rare && rare->gap_is_seen,
    };
    return true;
}

/* Shows bytes that nobody is asked about as TCP shows those that all have declined. */
static void
show_unasked(tvbuff_t *fresh, packet_info *pinfo, proto_tree *tree, proto_tree *below,
             const struct smcr_payload_flow *flow)
{
    unsigned length = tvb_reported_length(fresh);

    add_tcp_stream(fresh, below, flow->ends);
    proto_tree_add_bytes_format(below, smcr_handshake_tcp_ids()->hf_payload, fresh, 0, -1, NULL,
                                "TCP payload (%u byte%s)", length, length == 1 ? "" : "s");
    call_data_dissector(fresh, pinfo, tree);
}

/* Whether the frame came before a host named the connection. */
static bool
is_belated(const packet_info *pinfo, const smcr_record_t *record)
{
    return record->conn && pinfo->num < record->conn->known_from;
}

/* Bytes that came before a host named the connection. The first pass had nobody to give them to. A
 * later pass gives them in their order, each once, as if it were the first one: a pass over all
 * frames gives all of them, and a frame that is shown alone only what comes next. */
static void
dissect_belated(const smcr_payload_fresh_t *fresh, packet_info *pinfo, proto_tree *tree,
                proto_tree *below, const smcr_record_t *record)
{
    const smcr_place_rare_t *rare = smcr_place_rare(record->place);
    unsigned sender = (unsigned)record->direction;
    struct smcr_payload_flow *flow = smcr_payload_flow(pinfo, record->conn, sender);
    uint64_t end = fresh->position + tvb_captured_length(fresh->data);
    bool visited = pinfo->fd->visited;
    bool begins = flow->begin == flow->end && (!rare || rare->within == 0) &&
                  pinfo->num <= record->conn->side[record->sender].first_cdc;

    if (begins)
        flow->begin = flow->end = fresh->position;
    bool given = fresh->position >= flow->begin && end <= flow->end;
    bool next = (begins || flow->begin != flow->end) && fresh->position == flow->end;
    if (!visited || (!given && !next)) {
        show_unasked(fresh->data, pinfo, tree, below, flow);
        return;
    }
    pinfo->fd->visited = given;
    flow->end = MAX(flow->end, end);
    TRY {
        dissect_as_tcp(fresh->data, pinfo, tree, below, record, sequence_number(fresh->position),
                       false);
    }
    FINALLY {
        pinfo->fd->visited = visited;
    }
    ENDTRY;
}

static void
dissect_fresh(const smcr_payload_fresh_t *fresh, packet_info *pinfo, proto_tree *tree,
              proto_tree *below, const smcr_record_t *record)
{
    if (is_belated(pinfo, record)) {
        dissect_belated(fresh, pinfo, tree, below, record);
        return;
    }
    unsigned sender = (unsigned)smcr_payload_sender(record);
    const struct smcr_payload_flow *flow = smcr_payload_flow(pinfo, record->conn, sender);
    smcr_policy_stretch_t bytes = {
        .begin = fresh->position,
        .end = fresh->position + tvb_captured_length(fresh->data),
        .ends = flow->ends,
        .sender = sender,
    };
    smcr_policy_ask_t ask = smcr_policy_decide(pinfo, record, bytes);
    wmem_list_frame_t *last = wmem_list_tail(pinfo->layers);

    if (ask == SMCR_POLICY_ASK_NOT) {
        show_unasked(fresh->data, pinfo, tree, below, flow);
        return;
    }
    dissect_as_tcp(fresh->data, pinfo, tree, below, record, sequence_number(fresh->position),
                   false);
    if (ask == SMCR_POLICY_ASK_NOW) {
        wmem_list_frame_t *above = wmem_list_frame_next(last);
        bool is_only_data =
            above && !wmem_list_frame_next(above) &&
            GPOINTER_TO_INT(wmem_list_frame_data(above)) == smcr_handshake_tcp_ids()->proto_data;
        smcr_policy_answer(pinfo, record, bytes, is_only_data);
    }
}

/* What comes behind a gap may be discarded, then retransmitted; dissectors need it in order. Where
 * the connection has turned out late, a later frame hands the bytes on, unless a host tells it. */
static bool
is_for_dissectors(tvbuff_t *data, const packet_info *pinfo, const smcr_record_t *record,
                  smcr_payload_fresh_t *fresh)
{
    if (record->fate != SMCR_FLOW_FATE_TAKE || !smcr_preferences.dissect_payload ||
        !record->conn || (record->is_late && !record->conn->socket) ||
        smcr_payload_sender(record) < 0 || tvb_captured_length(data) != tvb_reported_length(data))
        return false;
    if (!record->conn->conversation)
        smcr_payload_is_taped(pinfo, record);
    return smcr_payload_fresh_bytes(data, record, fresh);
}

/* Whether another frame hands the bytes on. Those for which nobody was known, nobody has got. */
static bool
is_held(const packet_info *pinfo, const smcr_record_t *record)
{
    const smcr_place_rare_t *rare = smcr_place_rare(record->place);

    return rare && rare->held &&
           (rare->held->handed_in ||
            (!is_belated(pinfo, record) && !smcr_payload_is_taped(pinfo, record)));
}

/* Of a packet whose bytes no dissector gets from here. */
static void
show_data(tvbuff_t *data, proto_tree *below)
{
    unsigned length = tvb_captured_length(data);

    if (length && proto_field_is_referenced(below, hf_smcr_write_data))
        smcr_item_bytes(below, hf_smcr_write_data, data, 0, length);
}

void
smcr_payload_dissect(tvbuff_t *data, packet_info *pinfo, proto_tree *tree, proto_tree *below,
                     const smcr_record_t *record)
{
    smcr_payload_fresh_t fresh;

    if (!is_held(pinfo, record) && is_for_dissectors(data, pinfo, record, &fresh))
        dissect_fresh(&fresh, pinfo, tree, below, record);
    else
        show_data(data, below);
}

void
smcr_payload_hold(tvbuff_t *data, const packet_info *pinfo, const smcr_record_t *record)
{
    unsigned length = tvb_captured_length(data);

    if (!pinfo->fd->visited && is_held(pinfo, record) && length &&
        length == tvb_reported_length(data))
        smcr_held_fill(smcr_capture_learn(pinfo), smcr_place_rare(record->place)->held,
                       tvb_get_ptr(data, 0, (int)length), length);
}

/* Bytes that follow each other in a stream, as one piece of the buffer. */
typedef struct {
    smcr_record_t record; /* of the first of them */
    uint64_t position;
    int begin, end; /* in the buffer */
} handed_run_t;

/* All that a frame hands on. */
typedef struct {
    packet_info *pinfo;
    tvbuff_t *tvb; /* the packet that hands on */
    proto_tree *tree, *below;
    wmem_array_t *bytes; /* fresh ones only */
    wmem_array_t *runs;
} handing_t;

/* Whether dissectors get bytes of it. */
static bool
add_to_runs(handing_t *handing, tvbuff_t *data, const smcr_record_t *record)
{
    unsigned count = wmem_array_get_count(handing->runs);
    handed_run_t *last = count ? wmem_array_index(handing->runs, count - 1) : NULL;
    int begin = (int)wmem_array_get_count(handing->bytes);
    smcr_payload_fresh_t fresh;

    if (!is_for_dissectors(data, handing->pinfo, record, &fresh))
        return false;
    unsigned length = tvb_captured_length(fresh.data);
    wmem_array_append(handing->bytes, tvb_get_ptr(fresh.data, 0, (int)length), length);
    if (last && last->record.conn == record->conn && last->record.direction == record->direction &&
        last->position + (uint64_t)(last->end - last->begin) == fresh.position) {
        last->end += (int)length;
        return true;
    }
    handed_run_t run = {*record, fresh.position, begin, begin + (int)length};
    wmem_array_append_one(handing->runs, run);
    return true;
}

static tvbuff_t *
held_packet(const smcr_held_t *held, smcr_record_t *record)
{
    smcr_record_begin(record);
    record->kind = SMCR_RECORD_WRITE;
    record->conn = smcr_conn_now(held->conn);
    record->place = held->place;
    record->sender = held->conn->flips == held->flips ? held->sender : !held->sender;
    record->direction = (int8_t)smcr_conn_direction(record->conn->lgr, record->sender);
    return tvb_new_real_data(held->bytes, held->length, (int)held->length);
}

tvbuff_t *
smcr_payload_next_held(const smcr_tap_t *packet, unsigned *next, smcr_record_t *record)
{
    bool told = packet->hands_on && packet->first_pass;

    while (told && *next < wmem_array_get_count(packet->hands_on)) {
        const smcr_held_t *held = *(smcr_held_t **)wmem_array_index(packet->hands_on, (*next)++);
        if (smcr_place_late(held->place))
            return held_packet(held, record);
    }
    return NULL;
}

static void
add_held(handing_t *handing, const smcr_record_t *by, const smcr_held_t *held)
{
    smcr_record_t record;
    tvbuff_t *data = held_packet(held, &record);

    proto_item_set_generated(
        proto_tree_add_uint(handing->below, hf_smcr_data_of, handing->tvb, 0, 0, held->frame));
    if (record.conn != by->conn)
        smcr_item_hide(proto_tree_add_uint(handing->below, hf_smcr_stream, handing->tvb, 0, 0,
                                           record.conn->index));
    add_to_runs(handing, data, &record);
    tvb_free(data);
}

/* One buffer for all: some dissectors tell the parts of a frame apart by their offset in it. */
static void
dissect_runs(const handing_t *handing)
{
    int length = (int)wmem_array_get_count(handing->bytes);
    tvbuff_t *all = tvb_new_child_real_data(handing->tvb, wmem_array_get_raw(handing->bytes),
                                            (unsigned)length, length);

    add_new_data_source(handing->pinfo, all, "Data taken in now");
    for (unsigned i = 0; i < wmem_array_get_count(handing->runs); i++) {
        const handed_run_t *run = wmem_array_index(handing->runs, i);
        smcr_payload_fresh_t fresh = {
            .data = tvb_new_subset_length(all, run->begin, run->end - run->begin),
            .position = run->position,
        };
        dissect_fresh(&fresh, handing->pinfo, handing->tree, handing->below, &run->record);
    }
}

void
smcr_payload_hand_on(wmem_array_t *held, tvbuff_t *tvb, tvbuff_t *data, packet_info *pinfo,
                     proto_tree *tree, proto_tree *below, const smcr_record_t *record)
{
    handing_t handing = {.pinfo = pinfo,
                         .tvb = tvb,
                         .tree = tree,
                         .below = below,
                         .bytes = wmem_array_new(pinfo->pool, 1),
                         .runs = wmem_array_new(pinfo->pool, sizeof(handed_run_t))};

    for (unsigned i = 0; i < wmem_array_get_count(held); i++)
        add_held(&handing, record, *(smcr_held_t **)wmem_array_index(held, i));
    if (data && (is_held(pinfo, record) || !add_to_runs(&handing, data, record)))
        show_data(data, below);
    if (wmem_array_get_count(handing.runs))
        dissect_runs(&handing);
}

void
smcr_payload_end(tvbuff_t *message, packet_info *pinfo, proto_tree *tree, proto_tree *below,
                 const smcr_record_t *record)
{
    const smcr_record_cdc_t *view = record->view;

    if (!view || !view->last || !smcr_preferences.dissect_payload || !smcr_preferences.desegment)
        return;
    int sender = smcr_payload_sender(record);
    if (sender >= 0 && smcr_payload_find_flow(record->conn, (unsigned)sender))
        dissect_as_tcp(tvb_new_subset_length(message, 0, 0), pinfo, tree, below, record,
                       sequence_number(view->announced), true);
}
