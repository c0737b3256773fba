/* stream_bytes.c
 * Counts each position of a byte stream once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "stream_bytes.h"

uint32_t
smcr_collect_stream_bytes_take(smcr_collect_stream_bytes_t *bytes, wmem_allocator_t *scope,
                               const smcr_record_t *record)
{
    const smcr_place_t *place = record->place;

    if (record->kind != SMCR_RECORD_WRITE || !place || record->order == SMCR_FLOW_IS_COPY)
        return 0;
    smcr_stream_piece_t piece = smcr_place_piece(place);
    /* A repeat counts only where all places are known: else its first packet may have been counted
     * without one. */
    if (record->order == SMCR_FLOW_IS_REPEAT && (bytes->has_unplaced || !piece.known))
        return 0;
    bytes->has_unplaced |= !piece.known;
    if (!piece.known)
        return place->length;
    return (uint32_t)smcr_ranges_add(&bytes->positions, scope, SMCR_RANGES_OF_STREAM,
                                     piece.position, piece.position + place->length);
}
