/* Segments of TCP that carry neither the SMC-R option nor a CLC message: acknowledgements, FIN and
 * RST. A filter for the connection has to find them, and its statistics count them. Wireshark's TCP
 * passes such a segment to no dissector. So TCP's own dissector is wrapped (packet-smcr-tcpopt.c),
 * and the functions of this file run after it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp.h"

#include "message/message.h"
#include "packet/packet.h"
#include "show/show.h"
#include "fields.h"

/* Offsets in the header of TCP (RFC 9293 3.1). */
enum { TCP_SEQ = 4, TCP_FLAGS = 13 };

/* A TCP segment of an SMC-R connection, while this file shows the segment. */
typedef struct {
    tvbuff_t *tvb; /* bytes of the segment, from the TCP header on */
    packet_info *pinfo;
    proto_tree *tree;
    smcr_conn_t *conn;       /* connection of the segment */
    bool from_server;        /* the server has sent the segment */
    uint8_t flags;           /* flags of the TCP header; 0: the segment is damaged */
    smcr_tcp_begun_t *begun; /* CLC message that is not complete, whose first bytes end in this
                                segment; NULL: none */
} shown_segment_t;

/* Returns the sequence number of the first byte after the segment's payload, computed from the TCP
 * header. A FIN does not count as a byte. */
static uint32_t
next_sequence_number(tvbuff_t *tvb)
{
    unsigned header = (unsigned)smcr_tcp_header_length(tvb);

    return tvb_get_ntohl(tvb, TCP_SEQ) + tvb_reported_length(tvb) - header;
}

static bool
closes_connection(uint8_t flags)
{
    return flags & (TH_FIN | TH_RST);
}

/* ---- CLC messages that never become complete ----
 *
 * A sender of CLC writes each message at once. So if the capture has only the first bytes of a
 * message, there are two cases:
 *
 * - The sender has closed the connection within the message. Its FIN or RST has the sequence number
 *   right after these bytes. The first pass finds that, and shows the message at the FIN or RST. A
 *   RST of the receiver proves nothing, since the rest of the message may have been sent.
 * - The rest is missing in the capture. Only a later pass knows that no frame continues the
 *   message, and shows the message at its own frame. */

/* First pass: if the segment is a FIN or RST that has the last of the first bytes of an incomplete
 * message, or comes directly after them, notes in the smcr_tcp_begun_t that the segment ends this
 * message. */
static void
note_end_of_begun(const shown_segment_t *segment)
{
    smcr_tcp_begun_t *begun = segment->conn->partial_clc[segment->from_server];
    bool may_end = begun && closes_connection(segment->flags) && !begun->end_frame;

    if (may_end && begun->next_seq == next_sequence_number(segment->tvb))
        begun->end_frame = segment->pinfo->num;
}

/* Whether no later frame has the next bytes of the message `begun`, and no FIN or RST ends it. */
static bool
stays_incomplete(const smcr_tcp_begun_t *begun)
{
    return begun && !begun->continues && !begun->end_frame;
}

/* Shows the first bytes of an incomplete message. `whole`: length of the whole message in bytes. */
static void
show_incomplete(const shown_segment_t *segment, const smcr_tcp_begun_t *begun, unsigned whole)
{
    packet_info *pinfo = segment->pinfo;
    smcr_record_t record = smcr_record_new();
    smcr_clc_t clc;
    tvbuff_t *tvb =
        tvb_new_child_real_data(segment->tvb, begun->bytes, begun->length, (int)whole);

    add_new_data_source(pinfo, tvb, "CLC message");
    col_append_str(pinfo->cinfo, COL_INFO, ", ");
    record.conn = segment->conn;
    record.direction = segment->from_server;
    proto_tree *below = smcr_clc_dissect(tvb, pinfo, segment->tree, 0, &clc);
    clc.continues = whole > begun->length;
    smcr_annotate_packet(tvb, pinfo, below, &record, NULL);
    smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &record, .clc = &clc});
}

/* Shows the incomplete message that this segment ends; if it ends none, the incomplete message that
 * begins in this segment. */
static void
show_begun(const shown_segment_t *segment)
{
    const smcr_tcp_begun_t *begun = segment->conn->partial_clc[segment->from_server];
    bool later_pass = segment->pinfo->fd->visited;

    if (!later_pass)
        note_end_of_begun(segment);
    if (begun && begun->end_frame == segment->pinfo->num)
        show_incomplete(segment, begun, begun->length);
    else if (later_pass && stays_incomplete(segment->begun))
        show_incomplete(segment, segment->begun, segment->begun->least_length);
}

/* ---- every segment ---- */

/* The parts that this file shows at a segment. */
typedef struct {
    bool conn;  /* the connection is to be shown: a filter, a column or the tree asks for its
                   fields */
    bool begun; /* the segment may have to show a CLC message that never becomes complete */
    bool data;  /* the events of the application's first bytes are to be shown */
} parts_t;

/* Whether a filter, a column or the tree asks for the connection of a segment. */
static bool
is_conn_wanted(proto_tree *tree)
{
    return tree &&
           (proto_field_is_referenced(tree, hf_smcr_stream) || smcr_show_ends_are_wanted(tree));
}

/* Whether this frame has the first bytes of the application, and no function has shown them: TCP
 * calls no dissector for data if an earlier dissector has asked for more. `annotated`: see
 * smcr_tcp_show_segment(). */
static bool
has_unshown_data(const packet_info *pinfo, unsigned annotated)
{
    smcr_record_t record;

    return annotated == smcr_annotate_conns_shown() &&
           smcr_packet_find_record(pinfo, SMCR_PACKET_DATA, 0, &record);
}

/* Returns which parts of the segment are to be shown. */
static parts_t
find_parts(const shown_segment_t *segment, unsigned annotated)
{
    return (parts_t){.conn = is_conn_wanted(segment->tree),
                     .begun = closes_connection(segment->flags) || segment->begun,
                     .data = has_unshown_data(segment->pinfo, annotated)};
}

/* Whether any part of the segment is to be shown. */
static bool
has_parts(const parts_t *parts)
{
    return parts->conn || parts->begun || parts->data;
}

/* Shows the parts of a segment that are of SMC-R, and reports the segment to the tap, once. */
static void
show_parts(const shown_segment_t *segment, const parts_t *parts, unsigned annotated)
{
    packet_info *pinfo = segment->pinfo;

    if (parts->data)
        smcr_tcp_show_data(segment->tvb, pinfo, segment->tree, segment->conn);
    if (parts->begun)
        show_begun(segment);
    smcr_tap_segment(pinfo, &(smcr_tap_segment_t){.conn = segment->conn,
                                                  .from_server = segment->from_server,
                                                  .flags = segment->flags});
    /* the connection is not shown a second time if another function has shown it in this frame */
    if (parts->conn && annotated == smcr_annotate_conns_shown())
        smcr_item_hide(smcr_annotate_segment(segment->tvb, pinfo, segment->tree, segment->conn));
}

/* Whether the segment is on the wire, not quoted by an ICMP error, and TCP has dissected it. */
static bool
is_on_the_wire(const packet_info *pinfo)
{
    return !pinfo->flags.in_error_pkt && pinfo->ptype == PT_TCP;
}

/* If the segment ends within a CLC message, stores the sequence number of the next segment, even if
 * nothing is shown. */
void
smcr_tcp_show_segment(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, unsigned annotated)
{
    shown_segment_t segment = {.tvb = tvb, .pinfo = pinfo, .tree = tree};

    segment.begun = p_get_proto_data(wmem_file_scope(), pinfo, proto_smcr, SMCR_TCP_BEGUN);
    if (segment.begun)
        segment.begun->next_seq = next_sequence_number(tvb);
    if (!is_on_the_wire(pinfo))
        return;
    segment.flags = tvb_get_uint8(tvb, TCP_FLAGS);
    if (smcr_tcp_take_end(tvb, pinfo, tree, segment.flags))
        segment.flags = 0; /* any flag may be wrong */
    parts_t parts = find_parts(&segment, annotated);
    if (!has_parts(&parts) && !smcr_tap_has_listener(pinfo))
        return;
    segment.conn = smcr_handshake_find_conn(pinfo);
    if (!segment.conn || pinfo->num < segment.conn->conversation_from) /* no connection is known in
                                                                          this frame: a later frame
                                                                          claims the conversation */
        return;
    segment.from_server = !smcr_handshake_from_client(pinfo, segment.conn);
    show_parts(&segment, &parts, annotated);
}
