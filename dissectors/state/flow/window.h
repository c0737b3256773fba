/* window.h
 * Who waits for whom: the writer for free space, the reader for data, and for how long (RFC 7609
 * 4.5, 4.6). Fed with what is written, announced and read of one stream.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"

/* A WRITE packet's bytes are in the stream: `place` waits for the CDC message that announces it. */
void smcr_window_written(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place);

/* A CDC message with these flags has announced up to stream->announced. */
void smcr_window_announced(const smcr_arrival_t *arrival, smcr_stream_t *stream, uint8_t flags,
                           const smcr_evidence_cursors_t *known);

/* What a CDC message of the reader is for. */
typedef struct {
    uint64_t consumed_before;
    uint64_t free_before; /* space that the writer had before it */
    bool alone;           /* it tells nothing but that the reader has read on */
    bool current;         /* the capture has all messages of the writer before it */
} smcr_window_reading_t;

/* A CDC message says that the reader has come to stream->consumed. */
void smcr_window_consumed(const smcr_arrival_t *arrival, smcr_stream_t *stream,
                          const smcr_window_reading_t *reading);
