/* Dissects the bytes of RDMA WRITE packets, and those of held packets: earlier packets whose bytes
 * dissectors could not get when they came. docs/architecture.md, "Held bytes", says why dissectors
 * get these bytes in the first pass, in the name of an earlier frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <epan/exceptions.h>
#include <epan/packet.h>
#include <epan/show_exception.h>

#include "as_tcp.h"
#include "fields.h"
#include "own_frame.h"
#include "tcp_state.h"
#include "message/message.h"

/* Whether the bytes of the packet were held, so that a later frame passes them to dissectors. False
 * if this frame itself passes the bytes: belated bytes (smcr_payload_is_belated()), or bytes whose
 * position is the order of their arrival. */
static bool
is_held(const packet_info *pinfo, const smcr_record_t *record)
{
    const smcr_place_rare_t *rare = smcr_place_rare(record->write_location);

    if (!rare || !rare->buffered_payload)
        return false;
    if (rare->buffered_payload->handed_on_frame)
        return true;
    return !smcr_payload_is_belated(pinfo, record) &&
           !smcr_payload_is_arrival_ordered(pinfo, record);
}

/* Shows the bytes of a packet as data: dissectors get none of them with this packet. */
static void
show_data(const smcr_payload_target_t *target, tvbuff_t *data)
{
    unsigned length = tvb_captured_length(data);

    if (length && proto_field_is_referenced(target->below, hf_smcr_write_data))
        smcr_item_bytes(target->below, hf_smcr_write_data, data, 0, length);
}

/* Only whole payloads are kept: after a truncated one, dissectors would get the next bytes in place
 * of its missing end. */
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
    held->stamp = smcr_capture_stamp(pinfo);
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

    if (!smcr_payload_is_for_dissectors(data, handing->target->pinfo, record, &fresh))
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

/* Makes a record of an earlier packet, with its connection as it is known now. Other facts of the
 * packet are not in it. Sides may have been swapped since the packet came. */
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

/* Only the first pass returns bytes, so listeners get the bytes of each held packet once. A packet
 * is skipped if its place was known when it came (smcr_place_late()): its bytes were reported with
 * the packet itself. */
tvbuff_t *
smcr_payload_next_buffered(const smcr_tap_t *packet, unsigned *next, smcr_record_t *record)
{
    bool has_held = packet->delivered && packet->first_pass;

    while (has_held && *next < wmem_array_get_count(packet->delivered)) {
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
        return smcr_payload_new_own_frame(pinfo, held->frame, held->stamp);
    struct smcr_payload_flow *flow = flow_of(record);
    smcr_payload_add_guest(flow, held);
    return smcr_payload_new_own_frame(pinfo, flow->last_frame, flow->last_stamp);
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
 * dissected. If a dissector throws an exception, for example because the bytes are malformed, the
 * bytes of the next held packets are dissected nevertheless. Nothing is shown of the exception
 * here: later passes dissect the bytes in the frame of new_own_frame(), which then shows it. */
static void
dissect_for_own_frame(const handing_t *handing, smcr_held_t *held, const smcr_record_t *record)
{
    packet_info *pinfo = handing->target->pinfo;
    smcr_payload_target_t target = {.pinfo = pinfo, .record = record};
    tvbuff_t *data = copy_held(pinfo, handing->tvb, held);
    smcr_payload_outer_frame_t outer;
    smcr_payload_fresh_t fresh;

    held->own_frame = new_own_frame(pinfo, record, held);
    if (!smcr_payload_is_for_dissectors(data, pinfo, record, &fresh))
        return;
    smcr_payload_enter_frame(pinfo, held, &outer);
    TRY {
        smcr_payload_dissect_fresh(&target, &fresh);
    }
    CATCH_BOUNDS_AND_DISSECTOR_ERRORS {
        /* shown in later passes */
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
    flow->last_stamp = smcr_capture_stamp(pinfo);
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

/* Dissects bytes, and shows an exception that a dissector throws, as Wireshark shows it for a whole
 * frame. The frame then goes on with the bytes that follow. */
static void
dissect_and_go_on(const smcr_payload_target_t *target, const smcr_payload_fresh_t *fresh)
{
    TRY {
        smcr_payload_dissect_fresh(target, fresh);
    }
    CATCH_BOUNDS_AND_DISSECTOR_ERRORS {
        show_exception(fresh->data, target->pinfo, target->tree, EXCEPT_CODE, GET_MESSAGE);
    }
    ENDTRY;
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
        dissect_and_go_on(&target, &fresh);
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
    if (!smcr_payload_is_for_dissectors(data, pinfo, &record, &fresh))
        return false;
    own.record = &record;
    pinfo->fd = &held->own_frame->frame;
    TRY {
        dissect_and_go_on(&own, &fresh);
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

/* Bytes of held packets come before those of this packet, as in the stream. If dissectors get none
 * of the bytes of this packet, the bytes are shown as data. */
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

/* The bytes are shown once: by show_held(), by a dissector, or as data. The bytes of earlier
 * packets that this frame shows, too, come after them. */
void
smcr_payload_dissect(const smcr_payload_target_t *target, tvbuff_t *data)
{
    smcr_payload_fresh_t fresh;

    if (is_held(target->pinfo, target->record))
        show_held(target, data);
    else if (smcr_payload_is_for_dissectors(data, target->pinfo, target->record, &fresh))
        smcr_payload_dissect_fresh(target, &fresh);
    else
        show_data(target, data);
    show_guests(target, data);
}
