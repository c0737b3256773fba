/* CLC messages in the byte stream of TCP (RFC 7609 3.5, A.2). CLC comes first on a connection. Each
 * direction is CLC until the first byte that is not part of a CLC message, or until a Decline. The
 * bytes after that go to the dissectors that would get them without the plugin. A Decline may
 * follow a Confirm: until CONFIRM LINK is complete, each side may still decline (RFC 7609 C.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp.h"

#include <epan/exceptions.h>

#include "message/message.h"
#include "packet/packet.h"
#include "show/show.h"
#include "fields.h"

/* Set at hand-off. */
static struct {
    dissector_handle_t clc;     /* the plugin's dissector of CLC */
    dissector_handle_t builtin; /* Wireshark's own dissector `smc`; NULL: this version of Wireshark
                                   has none */
} handles;

static bool
is_eyecatcher(tvbuff_t *tvb, int offset)
{
    return smcr_wire_is_eyecatcher(tvb_get_ntohl(tvb, offset));
}

/* The first three bytes of both eyecatchers are equal. */
bool
smcr_tcp_clc_begins(tvbuff_t *tvb, int offset, const packet_info *pinfo)
{
    static const uint8_t start[] = {SMCR_CLC_EYECATCHER_R >> 24, SMCR_CLC_EYECATCHER_R >> 16 & 0xff,
                                    SMCR_CLC_EYECATCHER_R >> 8 & 0xff};
    int length = tvb_captured_length_remaining(tvb, offset);

    if (length >= SMCR_WIRE_EYECATCHER_LENGTH)
        return is_eyecatcher(tvb, offset);
    return length > 0 && pinfo->can_desegment &&
           tvb_memeql(tvb, offset, start, (size_t)length) == 0;
}

/* ---- messages in the byte stream ---- */

/* Whether a CLC message can have the length `length`, in bytes. */
static bool
is_possible(int length)
{
    return length >= SMCR_CLC_HEADER_LENGTH && length <= SMCR_CLC_LENGTH_MAX;
}

/* Whether the message of `length` bytes at `offset` ends with its trailer, an eyecatcher. */
static bool
has_trailer(tvbuff_t *tvb, int offset, int length)
{
    return length <= tvb_captured_length_remaining(tvb, offset) &&
           is_eyecatcher(tvb, offset + length - SMCR_WIRE_EYECATCHER_LENGTH);
}

/* Whether the bytes at `offset` are the header of a message: eyecatcher, known type, length. */
static bool
is_header(tvbuff_t *tvb, int offset)
{
    return tvb_captured_length_remaining(tvb, offset) >= SMCR_CLC_HEADER_LENGTH &&
           is_eyecatcher(tvb, offset) &&
           is_possible(tvb_get_ntohs(tvb, offset + SMCR_CLC_LENGTH_AT)) &&
           try_val_to_str(tvb_get_uint8(tvb, offset + SMCR_CLC_TYPE_AT), smcr_values_clc_types);
}

/* Whether a message of this length ends after `length` bytes: it has its trailer, or the header of
 * the next message follows. */
static bool
ends_at(tvbuff_t *tvb, int offset, int length)
{
    return is_possible(length) &&
           (has_trailer(tvb, offset, length) || is_header(tvb, offset + length));
}

/* Returns the length of the message at `offset`, as its trailer shows. `stated`: the length in the
 * header. If the bytes show that a message ends after `stated` bytes, returns `stated`. If not,
 * returns the number of bytes up to the end of the first trailer, or up to the next message,
 * whichever comes first; 0: there is neither. */
static int
length_by_trailer(tvbuff_t *tvb, int offset, int stated)
{
    int left = tvb_captured_length_remaining(tvb, offset);

    if (ends_at(tvb, offset, stated))
        return stated;
    for (int length = SMCR_CLC_HEADER_LENGTH; length <= MIN(left, SMCR_CLC_LENGTH_MAX); length++)
        if (ends_at(tvb, offset, length))
            return length;
    return 0;
}

/* Returns the length of a message whose header is incomplete in `tvb`: all bytes from `offset` on,
 * at least the length of a header if the header is truncated. 0: the rest of the header may come in
 * the next segment. */
static int
length_without_header(tvbuff_t *tvb, int offset, const packet_info *pinfo)
{
    int left = tvb_reported_length_remaining(tvb, offset);

    if (pinfo->can_desegment)
        return 0;
    if (tvb_captured_length_remaining(tvb, offset) < left) /* the header is truncated by snaplen */
        return MAX(left, SMCR_CLC_HEADER_LENGTH);
    return left;
}

/* Returns the length of a message that has no trailer in `tvb`. The fields of the message show how
 * many bytes the message needs. `stated`: the length in the header. 0: bytes of the message may be
 * missing, and Wireshark's TCP can deliver them with a later segment. */
static int
length_by_contents(tvbuff_t *tvb, int offset, packet_info *pinfo, int stated)
{
    int left = tvb_reported_length_remaining(tvb, offset);
    smcr_clc_t clc = {0};

    smcr_clc_decode(tvb_new_subset_remaining(tvb, offset), pinfo, &clc);
    bool is_complete = clc.has_exact_length && (int)clc.expected_length == left;
    if ((int)clc.expected_length > left)
        return 0;
    if (is_complete || !is_possible(stated))
        return clc.has_exact_length ? left : 0;
    return stated > left ? 0 : stated;
}

/* Returns the length of the message at `offset`, in bytes. 0: the message is incomplete, and
 * Wireshark's TCP can deliver more of it.
 *
 * If the header is captured, the length comes from the first of these sources that is available:
 * 1. the length in the header, if a trailer or the next message confirms it; 2. the distance to
 * the end of the first trailer, or to the next message; 3. if TCP can deliver more bytes, the
 * length that the fields of the message need; 4. the length in the header, if a message can have
 * that length; 5. all bytes from `offset` on. */
static int
length_of_message(tvbuff_t *tvb, int offset, packet_info *pinfo)
{
    if (tvb_captured_length_remaining(tvb, offset) < SMCR_CLC_HEADER_LENGTH)
        return length_without_header(tvb, offset, pinfo);
    int stated = tvb_get_ntohs(tvb, offset + SMCR_CLC_LENGTH_AT);
    int length = length_by_trailer(tvb, offset, stated);
    if (length)
        return length;
    if (pinfo->can_desegment)
        return length_by_contents(tvb, offset, pinfo, stated);
    return is_possible(stated) ? stated : tvb_reported_length_remaining(tvb, offset);
}

/* Returns the CLC message at `offset`. NULL: the message is incomplete, and Wireshark's TCP can
 * deliver more of it. */
static tvbuff_t *
message_at(tvbuff_t *tvb, int offset, packet_info *pinfo)
{
    int length = length_of_message(tvb, offset, pinfo);
    int captured = MIN(length, tvb_captured_length_remaining(tvb, offset));

    return length ? tvb_new_subset_length_caplen(tvb, offset, captured, length) : NULL;
}

/* Whether the header at the beginning of `tvb` has a known type. Also true if the type is truncated
 * by snaplen. */
static bool
has_known_type(tvbuff_t *tvb)
{
    return tvb_captured_length(tvb) <= SMCR_CLC_TYPE_AT ||
           try_val_to_str(tvb_get_uint8(tvb, SMCR_CLC_TYPE_AT), smcr_values_clc_types);
}

/* Bytes that are not captured count as right. */
bool
smcr_tcp_clc_is_plausible(tvbuff_t *tvb)
{
    if (!has_known_type(tvb))
        return false;
    int stated = tvb_captured_length(tvb) < SMCR_CLC_HEADER_LENGTH
                     ? SMCR_CLC_HEADER_LENGTH
                     : tvb_get_ntohs(tvb, SMCR_CLC_LENGTH_AT);
    return is_possible(stated) || length_by_trailer(tvb, 0, stated);
}

bool
smcr_tcp_clc_has_ended(const packet_info *pinfo, const smcr_conn_t *conn)
{
    if (!conn || !(conn->clc_end_frame[0] || conn->clc_end_frame[1]))
        return false;
    uint32_t end = conn->clc_end_frame[!smcr_handshake_from_client(pinfo, conn)];
    return end && pinfo->num > end;
}

/* ---- segments that a mirror port has truncated ---- */

/* Returns the number of bytes that the payload of the frame's TCP segment had on the wire, as the
 * lengths in the headers of IP and TCP show; 0: not known. */
static unsigned
length_on_wire(packet_info *pinfo)
{
    struct tcpheader header;

    return smcr_host_tcp_segment(pinfo, &header) && header.th_have_seglen ? header.th_seglen : 0;
}

/* A mirror port may truncate packets, so that no length of the capture file shows it. Wireshark's
 * TCP then takes the rest of the segment for missing, and would wait for it. */
tvbuff_t *
smcr_tcp_clc_of_mirror(tvbuff_t *tvb, packet_info *pinfo, const struct tcpinfo *tcp)
{
    unsigned length = tvb_reported_length(tvb);
    bool is_segment = tcp && !tcp->is_reassembled && tcp->nxtseq - tcp->seq == length;
    bool has_all = tvb_captured_length(tvb) == length;

    if (!is_segment || !has_all || !smcr_tcp_clc_begins(tvb, 0, pinfo))
        return tvb;
    unsigned on_wire = length_on_wire(pinfo);
    if (on_wire <= length)
        return tvb;
    pinfo->can_desegment = 0;
    return tvb_new_subset_length_caplen(tvb, 0, (int)length, (int)on_wire);
}

/* ---- first pass ---- */

/* The state while a segment is learned. "Segment" also means several segments whose payloads
 * Wireshark's TCP has put together. */
typedef struct {
    tvbuff_t *tvb; /* payload of the segment */
    packet_info *pinfo;
    smcr_conn_t *conn;         /* connection of the segment */
    const struct tcpinfo *tcp; /* sequence number of the segment, from TCP; NULL: not known */
    bool from_server;         /* the server has sent the segment */
    smcr_tcp_begun_t **begun; /* place in `conn` of the message of this direction that is not
                                 complete; it has NULL if there is none */
    bool declined;            /* the last CLC message of the segment is a Decline */
    smcr_arrival_span_t span; /* sequence numbers of the message that is learned; before and after a
                                 message, an empty range at the first byte that is not learned */
    smcr_arrival_t arrival;   /* argument of the functions that learn; `arrival.span` points to
                                 `span` of this struct, and is NULL if `tcp` is NULL */
} clc_segment_t;

/* Whether the first bytes of the segment may be part of a CLC message whose other part is not
 * captured. The segment may end a message if its last bytes are an eyecatcher, or if they are not
 * captured. */
static bool
is_part_of_message(const clc_segment_t *segment)
{
    unsigned length = tvb_reported_length(segment->tvb);
    int trailer = (int)length - SMCR_WIRE_EYECATCHER_LENGTH;
    bool may_end = !tvb_bytes_exist(segment->tvb, 0, (int)length) ||
                   (trailer >= 0 && is_eyecatcher(segment->tvb, trailer));
    smcr_arrival_span_t span = segment->span;

    span.end += length;
    return smcr_evidence_tcp_is_part(segment->conn, segment->from_server, &span, may_end);
}

/* Keeps the first bytes of an incomplete message, which begins at `offset`, in case the rest never
 * comes. */
static smcr_tcp_begun_t *
keep_begun(tvbuff_t *tvb, int offset, packet_info *pinfo)
{
    smcr_tcp_begun_t *begun = wmem_new0(wmem_file_scope(), smcr_tcp_begun_t);

    begun->length = tvb_captured_length(tvb) - (unsigned)offset;
    begun->bytes = tvb_memdup(wmem_file_scope(), tvb, offset, begun->length);
    begun->least_length = MAX(begun->length + 1, SMCR_CLC_HEADER_LENGTH);
    if (begun->length >= SMCR_CLC_HEADER_LENGTH)
        begun->least_length =
            MAX(begun->least_length, tvb_get_ntohs(tvb, offset + SMCR_CLC_LENGTH_AT));
    p_add_proto_data(wmem_file_scope(), pinfo, proto_smcr, SMCR_TCP_BEGUN, begun);
    return begun;
}

/* Returns `begun`, the incomplete message of an earlier segment, if this segment does not continue
 * the message. NULL: `begun` is NULL, or TCP has reassembled the message with this segment, or
 * `tcp` is NULL. */
static smcr_tcp_begun_t *
still_begun(smcr_tcp_begun_t *begun, const struct tcpinfo *tcp)
{
    if (!begun || (tcp && !tcp->is_reassembled))
        return begun;
    begun->continues = true;
    return NULL;
}

/* Initialises the state at the first byte of the segment. The state may not be copied, since
 * `arrival` points into it. */
static void
begin_segment(clc_segment_t *segment)
{
    const struct tcpinfo *tcp = segment->tcp;
    smcr_conn_t *conn = segment->conn;
    bool from_client = smcr_handshake_from_client(segment->pinfo, conn);

    segment->from_server = !from_client;
    segment->begun = &conn->partial_clc[!from_client];
    segment->span = (smcr_arrival_span_t){
        .has_syns = smcr_handshake_has_syns(conn),
        .has_fin = smcr_handshake_began_to_close(conn, from_client),
    };
    segment->arrival = smcr_packet_arrival(segment->pinfo);
    if (!tcp)
        return;
    segment->span.first = segment->span.end = tcp->seq;
    segment->span.acked_seq = tcp->lastackseq;
    segment->arrival.span = &segment->span;
}

/* Learns one CLC message. `nth`: its number in the frame, from 0. */
static void
learn_message(clc_segment_t *segment, tvbuff_t *message, unsigned nth)
{
    smcr_clc_t clc;

    smcr_clc_decode(message, segment->pinfo, &clc);
    segment->span.end += tvb_reported_length(message);
    smcr_packet_learn_clc(&segment->arrival, segment->conn, &clc, nth, segment->from_server);
    smcr_hooks_restore_wrappers();
    smcr_udp_ports_watch();
    segment->span.first = segment->span.end;
    segment->declined = clc.header.type == SMCR_CLC_DECLINE;
}

/* Learns the messages of the segment. Returns the number of their bytes; -1: the last message is
 * not complete. */
static int
learn_messages(clc_segment_t *segment)
{
    tvbuff_t *tvb = segment->tvb;
    packet_info *pinfo = segment->pinfo;
    int offset = 0;

    for (unsigned nth = 0;
         !segment->declined && smcr_tcp_clc_begins(tvb, offset, pinfo); nth++) {
        tvbuff_t *message = message_at(tvb, offset, pinfo);
        if (!message) {
            *segment->begun = keep_begun(tvb, offset, pinfo);
            return -1;
        }
        learn_message(segment, message, nth);
        offset += (int)tvb_reported_length(message);
    }
    return offset;
}

/* Whether a segment that does not begin with an eyecatcher may have the rest of a CLC message, so
 * that CLC has not ended. Two cases: 1. another dissector has got the Proposal, because the capture
 * has the SYN after the Proposal; 2. segments are missing in the capture. */
static bool
may_be_rest_of_clc(const clc_segment_t *segment)
{
    if (!segment->tcp)
        return false;
    return (segment->tcp->is_reassembled && !segment->conn->proposal_frame) ||
           is_part_of_message(segment);
}

/* Learns where CLC ends in this direction: at a Decline, or at `offset`, the first byte of the
 * application. */
static void
learn_end_of_clc(clc_segment_t *segment, int offset)
{
    int rest = tvb_captured_length_remaining(segment->tvb, offset);

    if (rest > 0 || segment->declined)
        smcr_state_clc_ended(segment->arrival.state, segment->conn, segment->from_server,
                             segment->pinfo->num);
    if (rest < SMCR_WIRE_EYECATCHER_LENGTH) /* these few bytes may be the beginning of an
                                               eyecatcher */
        segment->arrival.span = NULL;
    if (rest > 0)
        smcr_packet_learn_data(&segment->arrival, segment->conn, segment->from_server);
}

/* Learns a segment: its messages, and where CLC ends. */
static void
learn_segment(clc_segment_t *segment)
{
    begin_segment(segment);
    *segment->begun = still_begun(*segment->begun, segment->tcp);
    int offset = learn_messages(segment);
    if (offset < 0 || (offset == 0 && may_be_rest_of_clc(segment)))
        return;
    learn_end_of_clc(segment, offset);
}

/* Makes the connection of a segment that begins with a CLC message, if the handshake was not
 * captured. Only a server sends an Accept, so the sender of an Accept is the server. The sender of
 * any other message is taken for the client, which is not certain for a Decline. NULL: the segment
 * is not CLC. */
static smcr_conn_t *
claim_without_handshake(tvbuff_t *tvb, packet_info *pinfo)
{
    if (!smcr_tcp_clc_is_plausible(tvb))
        return NULL;
    bool accepts = tvb_captured_length(tvb) > SMCR_CLC_TYPE_AT &&
                   tvb_get_uint8(tvb, SMCR_CLC_TYPE_AT) == SMCR_CLC_ACCEPT;
    return smcr_handshake_claim_conversation(pinfo, !accepts);
}

/* Takes a segment that begins with a CLC message. Returns whether the segment is a copy of an
 * earlier segment with other addresses (host/translation.h): the capture shows the connection
 * before and after NAT. `is_unknown`: the conversation of the segment has no connection so far. */
static bool
take_translated(tvbuff_t *tvb, packet_info *pinfo, bool is_unknown)
{
    conversation_t *original = smcr_translation_take_message(pinfo, tvb, is_unknown);

    if (!original)
        return false;
    smcr_state_translated(smcr_capture_state(), original);
    smcr_handshake_claim_translated(pinfo);
    return true;
}

/* If the segment belongs to the copy of a connection behind NAT, makes no connection for the
 * copy. */
smcr_conn_t *
smcr_tcp_clc_learn(tvbuff_t *tvb, packet_info *pinfo, smcr_conn_t *conn,
                   const struct tcpinfo *tcp)
{
    bool is_unknown = !conn && !smcr_translation_original(pinfo);

    if ((conn || is_unknown) && smcr_tcp_clc_begins(tvb, 0, pinfo)) {
        if (take_translated(tvb, pinfo, is_unknown))
            return NULL;
        conn = conn ? conn : claim_without_handshake(tvb, pinfo);
    }
    if (conn) {
        clc_segment_t segment = {.tvb = tvb, .pinfo = pinfo, .conn = conn, .tcp = tcp};
        learn_segment(&segment);
    }
    return conn;
}

/* ---- every pass ---- */

/* Whether the Decline in this frame has caused the connection's fallback to TCP. False if the
 * connection had fallen back in an earlier frame. */
static bool
has_caused_fallback(const packet_info *pinfo, const smcr_conn_t *conn)
{
    return conn && conn->fallback.frame == pinfo->num &&
           conn->fallback.kind == SMCR_FALLBACK_DECLINED;
}

/* Shows that a Decline ends SMC-R, unless its conversation is a copy behind NAT. `below`: subtree
 * of the Decline. */
static void
show_decline(packet_info *pinfo, proto_tree *below, const smcr_conn_t *conn)
{
    if (has_caused_fallback(pinfo, conn))
        smcr_show_fallback(pinfo, below, conn);
    else if (!smcr_translation_original(pinfo))
        smcr_item_raise(pinfo, proto_tree_get_parent(below), &ei_smcr_clc_declined);
}

/* A CLC message of a segment. */
typedef struct {
    tvbuff_t *tvb;  /* its bytes; its reported length may be larger than the segment */
    unsigned nth;   /* number of the message in this frame, from 0 */
    bool continues; /* the segment ends before the message: the rest is in later segments */
} shown_message_t;

/* Shows a CLC message with the record that the first pass has learned. Returns the type of the
 * message. */
static uint8_t
show_message(const shown_message_t *message, packet_info *pinfo, proto_tree *tree,
             const smcr_conn_t *conn)
{
    smcr_clc_t clc;
    smcr_record_t record;
    bool learned = smcr_packet_find_record(pinfo, SMCR_PACKET_CLC, message->nth, &record);
    unsigned release = learned && record.link ? record.link->lgr->release : 0;
    proto_tree *below = smcr_clc_dissect(message->tvb, pinfo, tree, release, &clc);

    clc.continues = message->continues;
    if (learned) {
        smcr_annotate_packet(message->tvb, pinfo, below, &record, NULL);
        smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &record, .clc = &clc});
    }
    if (clc.header.type == SMCR_CLC_DECLINE)
        show_decline(pinfo, below, conn);
    if (handles.builtin && smcr_preferences.builtin_too)
        call_dissector(handles.builtin, message->tvb, pinfo, tree);
    return clc.header.type;
}

/* Bytes after a Decline are those of the application, whatever they look like. */
int
smcr_tcp_clc_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
{
    int offset = 0;

    for (unsigned nth = 0; smcr_tcp_clc_begins(tvb, offset, pinfo); nth++) {
        tvbuff_t *message = message_at(tvb, offset, pinfo);
        if (!message) {
            pinfo->desegment_offset = offset;
            pinfo->desegment_len = DESEGMENT_ONE_MORE_SEGMENT;
            return -1;
        }
        if (offset == 0)
            smcr_info_begin_tcp(pinfo);
        else
            col_append_str(pinfo->cinfo, COL_INFO, ", ");
        int length = (int)tvb_reported_length(message);
        int left = tvb_reported_length_remaining(tvb, offset);
        shown_message_t shown = {.tvb = message, .nth = nth, .continues = length > left};
        uint8_t type = show_message(&shown, pinfo, tree, conn);
        offset += MIN(length, left);
        if (type == SMCR_CLC_DECLINE)
            break;
    }
    return offset;
}

/* ---- after CLC ---- */

/* Calls the dissector that another protocol has set for the conversation, if there is one. TCP does
 * not call that dissector, because the plugin has claimed the conversation. Returns the number of
 * bytes dissected; 0: there is no such dissector, or it rejects the bytes. */
static int
call_hidden_dissector(conversation_t *conversation, tvbuff_t *tvb, packet_info *pinfo,
                      proto_tree *tree, void *data)
{
    dissector_handle_t hidden =
        smcr_handshake_app_dissector(conversation->dissector_tree, pinfo->num);

    if (!hidden)
        return 0;
    int offset = pinfo->desegment_offset;
    uint32_t length = pinfo->desegment_len;
    int used = call_dissector_only(hidden, tvb, pinfo, tree, data);
    if (used == 0) { /* some dissectors reject bytes and ask for more at the same time; TCP would
                        report this as a bug of CLC */
        pinfo->desegment_offset = offset;
        pinfo->desegment_len = length;
    }
    return used;
}

/* Keeps the text of CLC in the Info column: the next dissector writes its text after it. */
static void
fence_info(packet_info *pinfo)
{
    col_append_str(pinfo->cinfo, COL_INFO, ", ");
    col_set_fence(pinfo->cinfo, COL_INFO);
}

/* Removes the comma at the end of the Info column, if no dissector has added any text. */
static void
trim_info(packet_info *pinfo)
{
    const char *text = col_get_text(pinfo->cinfo, COL_INFO);

    if (!text || !g_str_has_suffix(text, ", "))
        return;
    char *trimmed = wmem_strndup(pinfo->pool, text, strlen(text) - 2);
    col_clear_fence(pinfo->cinfo, COL_INFO);
    col_add_str(pinfo->cinfo, COL_INFO, trimmed);
}

/* Lets TCP dissect the bytes after the CLC messages of this segment. Sets the bypass, because TCP
 * would otherwise call the CLC dissector for these bytes.
 *
 * The dissector that gets the bytes may claim the conversation from this frame on. In the next pass
 * it would then get the CLC messages of this frame, too. So the function moves its claim to the
 * next frame. */
static void
dissect_following(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, void *data)
{
    conversation_t *conversation = find_or_create_conversation(pinfo);

    fence_info(pinfo);
    conversation_t *outer = smcr_handshake_set_bypass(conversation);
    TRY {
        decode_tcp_ports(tvb, offset, pinfo, tree, (int)pinfo->srcport, (int)pinfo->destport,
                         get_tcp_conversation_data(conversation, pinfo), data);
    }
    FINALLY {
        smcr_handshake_set_bypass(outer);
    }
    ENDTRY;
    dissector_handle_t next = conversation_get_dissector(conversation, pinfo->num);
    if (next && next != handles.clc) {
        conversation_set_dissector_from_frame_number(conversation, pinfo->num, handles.clc);
        conversation_set_dissector_from_frame_number(conversation, pinfo->num + 1, next);
    }
    trim_info(pinfo);
    if (pinfo->desegment_len)
        pinfo->desegment_offset += offset;
}

/* Bytes that are not CLC have to look as they do without the plugin. */
int
smcr_tcp_dissect_rest(tvbuff_t *tvb, int offset, packet_info *pinfo, proto_tree *tree, void *data)
{
    pinfo->can_desegment = pinfo->saved_can_desegment;
    if (offset > 0) {
        dissect_following(tvb, offset, pinfo, tree, data);
        return (int)tvb_captured_length(tvb);
    }
    smcr_record_t first;
    if (smcr_packet_find_record(pinfo, SMCR_PACKET_CLC, 0, &first))
        fence_info(pinfo); /* TCP has reassembled a message from this segment and earlier ones */
    return call_hidden_dissector(find_or_create_conversation(pinfo), tvb, pinfo, tree, data);
}

int
smcr_tcp_dissect_bypassed(conversation_t *conversation, tvbuff_t *tvb, packet_info *pinfo,
                          proto_tree *tree, void *data)
{
    pinfo->can_desegment = pinfo->saved_can_desegment;
    return call_hidden_dissector(conversation, tvb, pinfo, tree, data);
}

void
smcr_tcp_clc_call(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, struct tcpinfo *tcp)
{
    uint16_t can_desegment = pinfo->can_desegment;

    pinfo->can_desegment = 0;
    TRY {
        call_dissector_only(handles.clc, tvb, pinfo, tree, tcp);
    }
    FINALLY {
        pinfo->can_desegment = can_desegment;
    }
    ENDTRY;
}

/* ---- data on TCP ---- */

/* Whether the connection has fallen back to TCP, in this frame or before. */
static bool
has_fallen_back(const packet_info *pinfo, const smcr_conn_t *conn)
{
    return conn && conn->fallback.kind && conn->fallback.frame <= pinfo->num;
}

/* `offset` may be after CLC messages in the same segment, so it is added to the sequence number. */
void
smcr_tcp_tap_fallback(tvbuff_t *tvb, int offset, packet_info *pinfo, const smcr_conn_t *conn,
                      const struct tcpinfo *tcp)
{
    int length = tvb_reported_length_remaining(tvb, offset);

    if (!has_fallen_back(pinfo, conn) || !tcp || length <= 0)
        return;
    /* Sequence number of the first byte of `tvb`. If a FIN completes the data, TCP's `seq` is the
     * number of the FIN and not of the data. */
    uint32_t seq = tcp->is_reassembled ? tcp->seq : tcp->nxtseq - tvb_reported_length(tvb);
    smcr_tap_segment(pinfo,
                     &(smcr_tap_segment_t){.conn = conn,
                                           .from_server = !smcr_handshake_from_client(pinfo, conn),
                                           .seq = seq + (uint32_t)offset,
                                           .length = (uint32_t)length});
}

/* A frame has a record SMCR_PACKET_DATA only if it has the first bytes of the application in one
 * direction. */
void
smcr_tcp_show_data(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
{
    smcr_record_t record;

    if (!conn || !smcr_packet_find_record(pinfo, SMCR_PACKET_DATA, 0, &record))
        return;
    proto_item *stream = smcr_annotate_segment(tvb, pinfo, tree, conn);
    proto_item_set_generated(stream);
    smcr_show_events(pinfo, stream, &record);
    smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &record});
}

/* In the frame of the fallback, shows the fallback, unless a Decline has caused it: the Decline
 * shows its own reason. In the other frames and for a Decline, adds only the hidden field of the
 * reason. */
void
smcr_tcp_show_fallback(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                       const smcr_conn_t *conn)
{
    if (!has_fallen_back(pinfo, conn))
        return;
    smcr_item_hide(smcr_annotate_segment(tvb, pinfo, tree, conn));
    if (conn->fallback.frame == pinfo->num && conn->fallback.kind != SMCR_FALLBACK_DECLINED) {
        smcr_show_fallback(pinfo, tree, conn);
        return;
    }
    smcr_item_hide(proto_tree_add_string(tree, hf_smcr_fallback_reason, tvb, 0, 0,
                                         smcr_show_fallback_reason(pinfo->pool, &conn->fallback)));
}

void
smcr_tcp_clc_handoff(dissector_handle_t clc)
{
    handles.clc = clc;
    handles.builtin = find_dissector("smc");
}
