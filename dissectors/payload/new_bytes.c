/* Finds which bytes of an RDMA WRITE packet are new in the stream, and their position.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

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

/* Bytes at positions that an earlier WRITE has filled are cut off at the front. A packet whose
 * connection was learned late is passed on as a whole, and reports no gap. */
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
        .gap_may_be_filled = rare && rare->gap_may_be_captured,
    };
    return true;
}

/* The bytes are passed on as missing, so that the positions after them stay right. */
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

/* Bytes of a packet with a wrong ICRC are not passed on. */
bool
smcr_payload_find_repeated_bytes(tvbuff_t *data, const smcr_record_t *record,
                                 smcr_payload_fresh_t *fresh)
{
    const smcr_place_t *place = record->write_location;
    smcr_stream_range_t piece = find_piece(smcr_place_range(place), smcr_place_rare(place));
    bool is_repeated = record->order == SMCR_FLOW_IS_RETRANSMISSION &&
                       !smcr_record_has_event(record, SMCR_EVENT_icrc_bad);

    if (!is_repeated || !record->conn || !piece.known)
        return false;
    *fresh = (smcr_payload_fresh_t){data, piece.position, 0, false};
    return true;
}

/* The record of the replaced packet is not changed: a copy of it is examined. */
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

/* The first pass shows the bytes of a refused packet in its own frame, later passes in the frame of
 * the packet that replaces it. */
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
