/* What holds of the state and of a frame's record, whatever the frame was.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "input.h"
#include "state/model/conn.h"
#include "state/state.h"

#define CAPTURE_CONNS 8
#define CAPTURE_ANSWERED 32

/* How far a stream had come. */
typedef struct {
    bool known;
    uint64_t written, announced, consumed;
} progress_t;

typedef struct {
    wmem_allocator_t *scope;
    smcr_state_t *state;
    uint32_t frame;   /* last one */
    uint32_t seconds; /* that nothing happened */
    bool known;       /* the state knew its queue pair */
    smcr_record_t record; /* its record */
    smcr_ib_headers_t roce; /* its headers */
    smcr_arrival_t arrival;
    smcr_conn_t *conn[CAPTURE_CONNS];        /* those with CLC messages; NULL: not yet */
    progress_t progress[CAPTURE_CONNS][2]; /* of their streams */
    const smcr_exchange_t *answered[CAPTURE_ANSWERED]; /* the last ones, a ring */
    unsigned answered_count;
} capture_t;

void capture_open(capture_t *capture);
void capture_close(capture_t *capture);

/* Begins a frame with an empty record; without headers it is one of TCP. */
void capture_next(capture_t *capture, const smcr_ib_headers_t *roce);

/* Stops unless everything about the last frame is right. */
void capture_check(capture_t *capture);
