/* Keeps what is under way: bytes written and not announced, announced and not read. Says who waits
 * for whom, and what is lost when a connection ends abnormally (RFC 7609 4.5, 4.6, 4.8).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"

/* ---- who waits for whom: the writer for free space, the reader for data, and for how long. Fed
 * with what is written, announced and read of one byte stream ---- */

/* The bytes of a WRITE packet are in the stream: `place` waits for the CDC message that announces
 * it. */
void smcr_window_written(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place);

/* A CDC message has announced the stream up to stream->announced. `flags`: of the message, bits of
 * SMCR_CDC_FLAG_...; `known`: what is known of its cursors. Needs `record->view` of the message. */
void smcr_window_announced(const smcr_arrival_t *arrival, smcr_stream_t *stream, uint8_t flags,
                           const smcr_evidence_cursors_t *known);

/* A CDC message of the reader, as compared with what was known before it. */
typedef struct {
    uint64_t consumed_before; /* position up to which the reader had read, bytes */
    uint64_t free_before;     /* space that the writer had, bytes; 0: none, or the size of
                                 the element is not known */
    bool is_mere_update;      /* the message says nothing but that the reader has read on */
    bool writer_is_complete;  /* the capture has all messages of the writer before it */
} smcr_window_reading_t;

/* A CDC message says that the reader has read up to stream->consumed. */
void smcr_window_consumed(const smcr_arrival_t *arrival, smcr_stream_t *stream,
                          const smcr_window_reading_t *reading);

/* ---- what the end of a connection or of a link group costs: the bytes that are under way ---- */

typedef struct {
    bool known;           /* no packet is missing that would change the numbers */
    bool reader_known;    /* of one direction: no message of its reader is missing either, which
                             `unread` needs */
    unsigned open_conns;  /* connections that neither side has ended */
    uint64_t unread;      /* bytes announced and not read, of both directions */
    uint64_t unannounced; /* bytes written and not announced, of both directions */
} smcr_cost_t;

/* What the end costs of the bytes that one connection sends to `side`; `open` is not set. */
smcr_cost_t smcr_cost_of_direction(const smcr_conn_t *conn, int side);

/* What the end of a connection costs, both directions together. `open` is 1 or 0. */
smcr_cost_t smcr_cost_of_conn(const smcr_conn_t *conn);

/* What the end of a link group costs: the sum over its open connections. */
smcr_cost_t smcr_cost_of_group(smcr_lgr_t *lgr);

/* Whether the cost is known, and bytes are lost. */
static inline bool
smcr_cost_is_loss(const smcr_cost_t *cost)
{
    return cost->known && (cost->unread || cost->unannounced);
}

/* Adds the event to the packet, with `what` as the beginning of its sentence, and the lost bytes
 * where they are known. Returns the event. */
smcr_event_t *smcr_cost_report(const smcr_arrival_t *arrival, smcr_event_id_t event,
                               const char *what, const smcr_cost_t *cost);

/* The group has no link any more: adds an event for its open connections, which are lost. */
void smcr_cost_report_group_end(const smcr_arrival_t *arrival, smcr_lgr_t *lgr);
