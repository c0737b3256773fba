/* Keeps what is under way: written and not announced, announced and not read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"

/* ---- who waits for whom: the writer for free space, the reader for data, and for how long
 * (RFC 7609 4.5, 4.6): fed with what is written, announced and read of one stream ---- */

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

/* ---- what the end of a connection or of a link group costs: bytes that are on their way ---- */

typedef struct {
    bool known;           /* the capture lacks nothing that would change the numbers */
    bool reader_known;    /* of one direction: nor what its reader has sent, which `unread` needs */
    unsigned open;        /* connections that neither side has ended */
    uint64_t unread;      /* bytes announced and not read, of both directions */
    uint64_t unannounced; /* bytes written and not announced */
} smcr_cost_t;

/* Of what one connection sends to `side`; `open` says nothing. */
smcr_cost_t smcr_cost_of_direction(const smcr_conn_t *conn, int side);

/* Of one connection, and of all open ones of a group. */
smcr_cost_t smcr_cost_of_conn(const smcr_conn_t *conn);
smcr_cost_t smcr_cost_of_group(smcr_lgr_t *lgr);

/* Whether it is known, and not nothing. */
static inline bool
smcr_cost_is_loss(const smcr_cost_t *cost)
{
    return cost->known && (cost->unread || cost->unannounced);
}

/* Tells the user that something has happened, and what it costs where that is known. `what`: the
 * beginning of the sentence. Returns what was kept. */
smcr_event_t *smcr_cost_tell(const smcr_arrival_t *arrival, smcr_event_id_t event, const char *what,
                             const smcr_cost_t *cost);

/* The group has no link any more: tells the user of its open connections, which are lost. */
void smcr_cost_tell_end(const smcr_arrival_t *arrival, smcr_lgr_t *lgr);
