/* Shows [SMC-R analysis], in the manner of tcp.analysis, and the meaning of the cursors of a CDC
 * message, in a subtree for each direction. Numbers are fields, so that graphs can plot them.
 * smcr_show_events() raises the expert items.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include "generated.h"

/* The subtree of the analysis. It is made when its first field is added. */
typedef struct {
    tvbuff_t *tvb;     /* the bytes of the packet */
    packet_info *pinfo; /* the frame */
    proto_tree *tree;  /* parent of the analysis subtree */
    const char *title; /* title of the subtree; NULL: "SMC-R analysis" */
    proto_tree *own;   /* the subtree; NULL: not made yet */
} analysis_t;

/* Returns the subtree of the analysis. The first call makes this subtree. */
static proto_tree *
own_tree(analysis_t *analysis)
{
    if (!analysis->own)
        analysis->own = smcr_generated_tree(analysis->tree, hf_smcr_analysis, ett_smcr_analysis,
                                            analysis->title);
    return analysis->own;
}

/* Adds the field `hf` with a number, in most cases a frame number. Adds nothing if `value` is 0. */
static void
add_number(analysis_t *analysis, int hf, uint32_t value)
{
    if (value)
        smcr_generated_uint(own_tree(analysis), hf, value);
}

/* Adds the field `hf` with a frame number, which may be the number of the current frame. Adds
 * nothing if `frame` is 0. */
static void
add_frame(analysis_t *analysis, int hf, uint32_t frame)
{
    char text[SMCR_QUICK_TEXT_NUMBER + sizeof " (this frame)"];
    smcr_quick_text_t to = SMCR_QUICK_TEXT(text);

    if (frame != analysis->pinfo->num) {
        add_number(analysis, hf, frame);
        return;
    }
    smcr_quick_text_put_number(&to, "", frame);
    smcr_quick_text_put(&to, " (this frame)");
    smcr_generated_text(own_tree(analysis), hf, frame, text);
}

/* Shows the frame and the time of a wait, as far as they are known. */
static void
show_wait(proto_tree *tree, int hf_frame, int hf_time, const smcr_record_wait_t *wait)
{
    if (!wait->frame)
        return;
    smcr_generated_uint(tree, hf_frame, wait->frame);
    if (wait->time != SMCR_RECORD_NO_TIME)
        smcr_generated_time(tree, hf_time, wait->time);
}

/* Adds the frame and the time of a wait, if the frame is known. */
static void
add_wait(analysis_t *analysis, int hf_frame, int hf_time, const smcr_record_wait_t *wait)
{
    if (wait->frame)
        show_wait(own_tree(analysis), hf_frame, hf_time, wait);
}

/* Returns the time between this packet and the packet of the frame `other`: from `from` to `to`,
 * both nanoseconds since the epoch. If `to` is before `from`, the time is not known. */
static smcr_record_wait_t
wait_for(uint32_t other, uint64_t from, uint64_t to)
{
    return (smcr_record_wait_t){.frame = other,
                                .time = to >= from ? to - from : SMCR_RECORD_NO_TIME};
}

/* Returns the time from the earlier packet `then` to this packet, with the frame of the earlier
 * one. */
static smcr_record_wait_t
wait_until_this_packet(const analysis_t *analysis, const smcr_when_t *then)
{
    return wait_for(then->frame, then->time, smcr_capture_when(analysis->pinfo).time);
}

/* Adds a boolean field to the subtree. */
static void
add_flag(analysis_t *analysis, int hf, bool value)
{
    proto_item_set_generated(proto_tree_add_boolean(own_tree(analysis), hf, NULL, 0, 0, value));
}

/* ---- order and retransmission ---- */

uint32_t
smcr_analysis_overtaken_by(const packet_info *pinfo, const smcr_record_t *record)
{
    return pinfo->fd->visited && smcr_record_is_out_of_order(record) ? record->first_frame : 0;
}

/* Adds the cause of a step back to an earlier PSN, and the frame of its first packet; neither if
 * there was no step back (SMCR_CAUSE_NONE). In the frame of this first packet, also adds the NAK
 * that caused the step back, and the time from the NAK to this packet. */
static void
add_step_back(analysis_t *analysis, const smcr_step_back_t *step)
{
    if (step->cause != SMCR_CAUSE_NONE) {
        add_number(analysis, hf_smcr_resent_cause, step->cause);
        add_frame(analysis, hf_smcr_resent_from, step->frame);
    }
    if (step->nak.frame && step->frame == analysis->pinfo->num) {
        smcr_record_wait_t wait = wait_until_this_packet(analysis, &step->nak);
        add_wait(analysis, hf_smcr_resent_nak, hf_smcr_resent_wait, &wait);
    }
}

/* Adds the earlier packet with the same PSN, if it is captured and this packet is its
 * retransmission or a duplicate made by the network. If this packet came out of order, adds the
 * packet that overtook it. Also adds whether the receiver had discarded or acknowledged the earlier
 * packet, and the step back to which the packet belongs. */
static void
add_earlier_packet(analysis_t *analysis, const smcr_record_t *record)
{
    bool copy = record->order == SMCR_FLOW_IS_COPY;

    if (record->order != SMCR_FLOW_IS_LATE)
        add_number(analysis, copy ? hf_smcr_duplicate : hf_smcr_retransmission,
                   record->first_frame);
    add_number(analysis, hf_smcr_out_of_order, smcr_analysis_overtaken_by(analysis->pinfo, record));
    if (record->was_discarded && record->order == SMCR_FLOW_IS_RETRANSMISSION)
        add_number(analysis, hf_smcr_sent_before, record->first_frame);
    if (record->was_acked)
        add_flag(analysis, hf_smcr_taken, true);
    if (record->step)
        add_step_back(analysis, record->step);
}

/* ---- numbers that are bounds ---- */

/* Returns "at most " if messages may be missing unnoticed, so that this number of bytes is only an
 * upper bound; otherwise "". 0 bytes are exact. */
static const char *
at_most(const smcr_record_t *record, uint32_t bytes)
{
    return bytes && smcr_record_shows_bounds(record) ? "at most " : "";
}

/* Returns "at least " if messages may be missing unnoticed, so that the free space in the peer's
 * RMB element is only a lower bound; otherwise "". If no data is unread, the space is exact. */
static const char *
at_least(const smcr_record_t *record)
{
    bool is_empty = record->cdc_analysis->unread_bytes == 0;

    return !is_empty && smcr_record_shows_bounds(record) ? "at least " : "";
}

/* Shows a number as the generated field `hf`. `bound`: "at most ", "at least ", or "" if the number
 * is exact. */
static void
show_bound(proto_tree *tree, int hf, uint32_t value, const char *bound)
{
    char text[SMCR_QUICK_TEXT_NUMBER + sizeof "at least "];
    smcr_quick_text_t to = SMCR_QUICK_TEXT(text);

    if (!*bound) {
        smcr_generated_uint(tree, hf, value);
        return;
    }
    smcr_quick_text_put_number(&to, bound, value);
    smcr_generated_text(tree, hf, value, text);
}

/* ---- an RDMA WRITE: the receiver's window, announcement and acknowledgement of its data ---- */

/* Adds the number of bytes in the receive buffer after this RDMA WRITE, the CDC message that
 * announces the data of the WRITE, and the acknowledgement of the data, each if it is known. */
static void
add_write(analysis_t *analysis, const smcr_record_t *record)
{
    const smcr_place_t *place = record->write_location;

    if (place->element_fill && smcr_evidence_hears_reader(record, analysis->pinfo->num))
        show_bound(own_tree(analysis), hf_smcr_window_written, place->element_fill,
                   at_most(record, place->element_fill));
    add_number(analysis, hf_smcr_announced_in, place->is_unannounced ? 0 : place->announced_in);
    bool is_discarded = record->discard_proof_frame && *record->discard_proof_frame;
    if (place->acked && !is_discarded) { /* if the receiver discarded the packet, its retransmission
                                            was acknowledged */
        uint64_t sent = smcr_capture_when(analysis->pinfo).time;
        smcr_record_wait_t acked = wait_for(place->acked->frame, sent, place->acked->time);
        add_wait(analysis, hf_smcr_write_acked_in, hf_smcr_write_ack_time, &acked);
    }
}

/* ---- acknowledgements and other responses ---- */

/* Adds the code of a NAK or the timer of an RNR NAK, and the packet that the NAK refuses. `frame`:
 * frame of the first packet with the PSN of the NAK; 0: not known. A NAK with the code "PSN
 * sequence error" does not refuse the packet: the receiver waits for this packet. */
static void
add_refusal(analysis_t *analysis, const smcr_ib_headers_t *roce, uint32_t frame)
{
    unsigned kind = smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_KIND);
    unsigned code = smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_CODE);

    if (kind == SMCR_IB_SYNDROME_NAK)
        smcr_generated_uint(own_tree(analysis), hf_smcr_nak_code, code);
    else if (kind == SMCR_IB_SYNDROME_RNR_NAK)
        proto_item_set_generated(proto_tree_add_double_format_value(
            own_tree(analysis), hf_smcr_rnr_timer, NULL, 0, 0, smcr_ib_rnr_timer_ms(code),
            "%g ms", smcr_ib_rnr_timer_ms(code)));
    if (!frame)
        return;
    proto_item *item = smcr_generated_uint(own_tree(analysis), hf_smcr_refuses, frame);
    if (kind == SMCR_IB_SYNDROME_NAK && code == SMCR_IB_NAK_PSN_SEQUENCE)
        proto_item_set_text(item, "Expects: %u", frame);
}

/* Adds what a NAK refuses, the request that a response acknowledges, and the message that the
 * response completes; the last message, if the response completes several. */
static void
add_response(analysis_t *analysis, const smcr_record_t *record, const smcr_ib_headers_t *roce)
{
    const smcr_completion_t *message = record->completed_messages;

    if (roce && roce->has_aeth)
        add_refusal(analysis, roce, record->refuses);
    add_wait(analysis, hf_smcr_acks, hf_smcr_ack_time, &record->acks);
    while (message && message->next)
        message = smcr_completion_next(message);
    if (message) {
        smcr_when_t begin = {message->frame, message->time};
        smcr_record_wait_t wait = wait_until_this_packet(analysis, &begin);
        add_wait(analysis, hf_smcr_completes, hf_smcr_completion_time, &wait);
    }
}

/* ---- congestion ---- */

/* Adds the fields of a CNP: the packet with CE that the CNP answers, and the time since the
 * previous CNP. */
static void
add_cnp(analysis_t *analysis, const smcr_ecn_cnp_t *cnp)
{
    smcr_record_wait_t ce = wait_until_this_packet(analysis, &cnp->ce);
    smcr_record_wait_t before = wait_until_this_packet(analysis, &cnp->last_cnp);

    smcr_item_kind(own_tree(analysis), hf_smcr_cnp, analysis->tvb, "CNP");
    add_wait(analysis, hf_smcr_cnp_ce_in, hf_smcr_cnp_ce_time, &ce);
    if (before.frame && before.time != SMCR_RECORD_NO_TIME)
        smcr_generated_time(own_tree(analysis), hf_smcr_cnp_interval, before.time);
}

/* Shows the ECN codepoints of the packet, and how marks and CNPs belong together. */
static void
add_congestion(analysis_t *analysis, const smcr_record_t *record, const smcr_ib_headers_t *roce)
{
    add_number(analysis, hf_smcr_ecn, roce->ecn);
    add_number(analysis, hf_smcr_ecn_outer, roce->outer.ecn);
    if (record->ce)
        add_number(analysis, hf_smcr_ce_cnp_in, record->ce->cnp.frame);
    if (record->cnp || roce->fecn || roce->becn) {
        add_flag(analysis, hf_smcr_fecn, roce->fecn);
        add_flag(analysis, hf_smcr_becn, roce->becn);
    }
    if (record->cnp)
        add_cnp(analysis, record->cnp);
}

/* ---- cursors ---- */

/* Makes the subtree of one direction. `direction`: 0 client to server, 1 server to client;
 * negative: not known. */
static proto_tree *
begin_direction(packet_info *pinfo, proto_tree *tree, int hf, int direction)
{
    const char *name = proto_registrar_get_name(hf);
    const char *text = name;

    if (direction >= 0)
        text = wmem_strdup_printf(
            pinfo->pool, "%s, %s", name,
            val_to_str_const((uint32_t)direction, smcr_values_directions, ""));
    return smcr_generated_tree(tree, hf, ett_smcr_data, text);
}

/* ---- CDC: the data that the sender of the message writes. `heard`: the capture has all messages
 * by which the peer reports data as read, so the number of bytes in the peer's buffer is known
 * ---- */

/* Appends three numbers of bytes to the label of the subtree, each if it is known: announced, not
 * reported as read, and free. */
static void
sum_up_sent(proto_item *item, const smcr_record_t *record, bool heard)
{
    const smcr_record_cdc_t *view = record->cdc_analysis;

    if (view->has_announced_bytes)
        proto_item_append_text(item, ": %s%u bytes announced",
                               at_most(record, view->announced_bytes), view->announced_bytes);
    if (heard)
        proto_item_append_text(item, "%s %s%u bytes not reported as read",
                               view->has_announced_bytes ? "," : ":",
                               at_most(record, view->unread_bytes), view->unread_bytes);
    if (heard && view->size)
        proto_item_append_text(item, ", %s%u of %u bytes free", at_least(record),
                               smcr_record_cdc_free(view), view->size);
}

/* Whether the end of announced data is known, as a position from the beginning of the stream. */
static bool
knows_announced(const smcr_record_t *record)
{
    return record->cdc_analysis->has_announced &&
           !smcr_record_is_relative(record, record->sender);
}

/* Whether the end of the data reported as read is known, as a position from the beginning of the
 * stream. */
static bool
knows_consumed(const smcr_record_t *record)
{
    return record->cdc_analysis->has_consumed &&
           !smcr_record_is_relative(record, !record->sender);
}

/* Shows what a CDC message announces, each fact if it is known. */
static void
show_announced(proto_tree *tree, const smcr_record_t *record)
{
    const smcr_record_cdc_t *view = record->cdc_analysis;

    if (view->has_announced_bytes)
        show_bound(tree, hf_smcr_cdc_len, view->announced_bytes,
                   at_most(record, view->announced_bytes));
    if (knows_announced(record))
        smcr_generated_uint64(tree, hf_smcr_cdc_announced, view->announced);
    if (view->writes) {
        smcr_generated_uint(tree, hf_smcr_cdc_writes, view->writes);
        smcr_generated_uint(tree, hf_smcr_cdc_first_write, view->first_write);
        smcr_generated_uint(tree, hf_smcr_cdc_last_write, view->last_write);
    }
    if (view->urgent && knows_announced(record))
        smcr_generated_uint64(tree, hf_smcr_cdc_urgent_offset, view->announced - 1);
}

/* Shows what the message announces, and the writer's wait for space that begins with the message.
 * Shows the unread bytes and the free space in the peer's buffer only if `heard` is true: otherwise
 * messages of the reader may be missing. */
static void
show_sent(proto_tree *tree, const smcr_record_t *record, bool heard)
{
    const smcr_record_cdc_t *view = record->cdc_analysis;
    smcr_record_wait_t wait = smcr_record_cdc_wait(view);

    sum_up_sent(proto_tree_get_parent(tree), record, heard);
    show_announced(tree, record);
    if (heard)
        show_bound(tree, hf_smcr_window_unread, view->unread_bytes,
                   at_most(record, view->unread_bytes));
    if (heard && view->size) {
        uint32_t free_bytes = smcr_record_cdc_free(view);
        show_bound(tree, hf_smcr_window_free, free_bytes, at_least(record));
        show_bound(tree, hf_smcr_window_percent,
                   (uint32_t)((uint64_t)free_bytes * 100 / view->size), at_least(record));
    }
    show_wait(tree, hf_smcr_window_wait_until, hf_smcr_window_wait_time, &wait);
}

/* ---- CDC: the data that the sender of the message reads. `offers`: the free space in the sender's
 * buffer is known ---- */

/* Shows what the message reports as read, each fact if it is known: the number of bytes; their end
 * in the stream; the earlier message that announced the last of these bytes, and the time since
 * then; the free space in the sender's buffer. If messages may be missing, the two numbers are
 * upper bounds (at_most()). */
static void
show_received(proto_tree *tree, const smcr_record_t *record, bool offers)
{
    const smcr_record_cdc_t *view = record->cdc_analysis;
    proto_item *item = proto_tree_get_parent(tree);
    smcr_record_wait_t read = {.frame = view->read_announced_frame, .time = view->read_time};

    if (view->has_read_bytes) {
        proto_item_append_text(item, ": %s%u bytes reported as read",
                               at_most(record, view->read_bytes), view->read_bytes);
        show_bound(tree, hf_smcr_cdc_read, view->read_bytes, at_most(record, view->read_bytes));
    }
    if (knows_consumed(record))
        smcr_generated_uint64(tree, hf_smcr_cdc_consumed, view->consumed);
    show_wait(tree, hf_smcr_cdc_read_of, hf_smcr_cdc_read_time, &read);
    if (offers) {
        proto_item_append_text(item, "%s %s%u bytes free", view->has_read_bytes ? "," : ":",
                               at_most(record, view->own_free_bytes), view->own_free_bytes);
        show_bound(tree, hf_smcr_window_offered, view->own_free_bytes,
                   at_most(record, view->own_free_bytes));
    }
}

/* Whether the subtree of the data that the sender writes may have a field. */
static bool
has_sent_fields(const smcr_record_t *record)
{
    const smcr_record_cdc_t *view = record->cdc_analysis;

    return view->has_announced_bytes || knows_announced(record) || view->writes || view->rare;
}

/* Shows a subtree for each direction: data that the sender of the message writes, and data that it
 * reads. */
static void
show_cdc_view(packet_info *pinfo, proto_tree *tree, const smcr_record_t *record)
{
    const smcr_record_cdc_t *view = record->cdc_analysis;
    int direction = record->direction;
    int back = direction < 0 ? direction : !direction;
    bool hears = smcr_evidence_hears_reader(record, pinfo->num);
    bool offers = hears && view->own_free_bytes != SMCR_RECORD_NOT_KNOWN;

    if (has_sent_fields(record))
        show_sent(begin_direction(pinfo, tree, hf_smcr_cdc_sent, direction), record,
                  hears && view->has_unread_bytes);
    if (view->has_read_bytes || knows_consumed(record) || offers)
        show_received(begin_direction(pinfo, tree, hf_smcr_cdc_received, back), record, offers);
}

/* ---- all packets ---- */

/* The items come in this order for all kinds of packets. */
void
smcr_analysis_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                   const smcr_record_t *record, const smcr_ib_headers_t *roce)
{
    const char *title = record->link || !roce ? NULL : "RDMA analysis";
    analysis_t analysis = {tvb, pinfo, tree, title, NULL};

    if (record->cdc_analysis)
        show_cdc_view(pinfo, tree, record);
    add_earlier_packet(&analysis, record);
    add_number(&analysis, hf_smcr_missing, record->missing_before);
    add_frame(&analysis, hf_smcr_behind_gap, record->gap_frame);
    if (record->discard_proof_frame) /* only later packets set the proof, as they may set the cause
                                        of a retransmission */
        add_number(&analysis, hf_smcr_discarded, *record->discard_proof_frame);
    if (record->write_location)
        add_write(&analysis, record);
    add_response(&analysis, record, roce);
    if (roce) {
        add_congestion(&analysis, record, roce);
        smcr_show_points(pinfo, tree);
    }
}
