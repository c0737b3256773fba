/* Takes in that bytes of a stream are written, announced and read, and finds who waits for whom:
 * the writer for free space in the element, the reader for data (RFC 7609 4.5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"

/* Takes in that the bytes of a WRITE packet are in the stream: `place` waits for the CDC message
 * that announces the packet. */
void smcr_window_written(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place);

/* Takes in that a CDC message has announced the stream up to stream->announced. `flags`: flags of
 * the message, SMCR_CDC_FLAG_ bits. `known`: what is known of its cursors. Needs
 * `record->cdc_analysis` of the message. */
void smcr_window_announced(const smcr_arrival_t *arrival, smcr_stream_t *stream, uint8_t flags,
                           const smcr_evidence_cursors_t *known);

/* What a CDC message of the reader changes, compared with the state before it. */
typedef struct {
    uint64_t consumed_before; /* position up to which the reader had read before */
    uint64_t free_before;     /* free space of the writer before, bytes; 0: none, or the size of the
                                 element is not known */
    bool is_mere_update;      /* only the consumer cursor of the message is new */
    bool writer_is_complete;  /* the capture has all messages of the writer that precede the
                                 message */
} smcr_window_reading_t;

/* Takes in that a CDC message reports bytes up to stream->consumed as read. */
void smcr_window_consumed(const smcr_arrival_t *arrival, smcr_stream_t *stream,
                          const smcr_window_reading_t *reading);
