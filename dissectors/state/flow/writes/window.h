/* Learns which bytes of a stream are written, announced and read, and how long the writer waits for
 * free space in the RMB element (RFC 7609 4.5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"

/* Learns that the bytes of a WRITE packet are in the stream. `place`: place of the packet, which is
 * kept until a CDC message announces the packet. */
void smcr_window_written(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place);

/* Learns that the arriving CDC message has announced the stream up to stream->announced. `flags`:
 * flags of the message, SMCR_CDC_FLAG_ bits. `known`: what is known of the cursors of the message.
 * Needs `record->cdc_analysis` of the message. Returns the number of bytes in the captured WRITEs
 * that the message, or a missing message before it, announces. */
uint64_t smcr_window_announced(const smcr_arrival_t *arrival, smcr_stream_t *stream, uint8_t flags,
                           const smcr_evidence_cursors_t *known);

/* What a CDC message of the reader changes, compared with the state before it. */
typedef struct {
    uint64_t consumed_before; /* position up to which the reader had read before the message */
    uint64_t free_before;     /* free space for the writer before the message, bytes; 0: none, or
                                 the size of the element is not known */
    bool is_mere_update;      /* only the consumer cursor of the message has changed since the
                                 reader's last message, and the message answers no request. Also
                                 false if it is not known what the message announces, or whether it
                                 reports all bytes that were read */
    bool writer_is_complete;  /* the capture has all messages of the writer that precede the
                                 message */
} smcr_window_reading_t;

/* Learns that the arriving CDC message reports the bytes up to stream->consumed as read. */
void smcr_window_consumed(const smcr_arrival_t *arrival, smcr_stream_t *stream,
                          const smcr_window_reading_t *reading);

/* Forgets which captured WRITEs of the stream no CDC message has announced so far: it stays unknown
 * which message announces them. */
void smcr_window_forget_unannounced(const smcr_state_t *state, smcr_stream_t *stream);

/* Frees what the stream has beside itself: announcements that its reader has not read, and its rare
 * members. */
void smcr_window_free(smcr_state_t *state, smcr_stream_t *stream);
