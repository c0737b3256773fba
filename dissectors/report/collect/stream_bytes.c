/* Counts each position of a stream once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "stream_bytes.h"

/* After a packet without a position, a retransmission adds no bytes: they may have been counted
 * without a position. */
uint32_t
smcr_collect_stream_bytes_take(smcr_collect_stream_bytes_t *bytes, wmem_allocator_t *scope,
                               const smcr_record_t *record)
{
    const smcr_place_t *place = record->write_location;

    if (record->kind != SMCR_RECORD_WRITE || !place || record->order == SMCR_FLOW_IS_COPY)
        return 0;
    smcr_stream_range_t piece = smcr_place_proven_range(place);
    /* A retransmission adds bytes only if all positions so far are known. If a position is not
     * known, the first transmission may have been counted without a position, and the same bytes
     * would count twice. */
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION && (bytes->has_unpositioned || !piece.known))
        return 0;
    bytes->has_unpositioned |= !piece.known;
    if (!piece.known)
        return place->length;
    return (uint32_t)smcr_ranges_add(&bytes->positions, scope, SMCR_RANGES_OF_STREAM,
                                     piece.position, piece.position + place->length);
}
