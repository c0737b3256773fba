/* Finds for each RDMA WRITE packet its request, and its place.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* ---- RDMA WRITE requests: where each of their packets writes, in the RMB element and in the byte
 * stream (RFC 7609 4.2, 4.4) ---- */

/* One request, so that its MIDDLE and LAST packets find their place. */
struct smcr_write {
    smcr_psn_t first_psn;
    uint32_t packets;        /* that the request has; 1 when it is an ONLY */
    uint32_t packet_length;  /* payload of each packet but the last, bytes */
    uint32_t length;         /* of the whole request, bytes */
    uint64_t va;             /* where the first packet writes */
    uint32_t rkey;
    bool waits;              /* it came behind a gap: its repeat counts */
    bool placed;             /* `position` is known */
    uint64_t position;       /* of the first byte in the byte stream */
    smcr_rmb_t *rmb;         /* NULL: not known for sure */
    uint64_t rmb_va;         /* of its first byte */
    smcr_conn_t *conn;       /* NULL: not known for sure */
    smcr_rmb_t *likely_rmb;  /* that the RKey named last, if nothing says that it has begun a new
                                life since; NULL: none */
    smcr_conn_t *likely;     /* that used it */
    smcr_place_late_t *late; /* NULL when the RMB is known */
    smcr_held_t *held;       /* its packets whose bytes are held, the last one first */
};

/* The request that `qp` received `back` requests ago: 1 is the last one. NULL when it has received
 * fewer, or has forgotten it. */
smcr_write_t *smcr_write_last(const smcr_qp_t *qp, unsigned back);

/* The request of the WRITE packet that arrives. `*begun` tells whether this is its first packet,
 * and not one that comes again. NULL: its first packet has not come. */
smcr_write_t *smcr_write_of(const smcr_arrival_t *arrival, bool *begun);

/* The WRITE packet's place: in the RMB element, and in the byte stream, which is decided once for
 * the whole request. Returns whether the place in the byte stream is known. */
bool smcr_write_place(const smcr_arrival_t *arrival, const smcr_write_t *write);

/* The bytes of the packet that arrives are held until its request has an owner and a place. */
void smcr_write_hold(const smcr_arrival_t *arrival, smcr_write_t *write);

/* The packet that arrives hands on what is held of a request that has an owner and a place. */
void smcr_write_take_in_held(const smcr_arrival_t *arrival, smcr_write_t *write);

/* The CDC message that arrives shows that `conn` is alive, and that it has written up to `prod`. If
 * the request was likely its own, it is. Returns whether this is news. */
bool smcr_write_confirm(const smcr_arrival_t *arrival, smcr_write_t *write, smcr_conn_t *conn,
                        smcr_cursor_t prod);

/* A CDC message with the cursor `prod` arrives on a late connection, of whose stream too little is
 * known: that is where the requests end that have come since the last one. */
void smcr_write_announce(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                         smcr_cursor_t prod);

/* A CDC message arrives: unplaced requests of `conn` right before it end at stream->announced. */
void smcr_write_end(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_stream_t *stream);

/* The receiver has taken the packet at `place` in; its position is known. */
void smcr_write_take_in(const smcr_arrival_t *arrival, smcr_stream_t *stream, smcr_place_t *place);

/* Data goes to `offset` in the element of `side`, or comes from there. */
void smcr_write_learn_base(smcr_conn_t *conn, int side, uint32_t offset);

/* Whether it is known where data begins in the elements of `side`. */
bool smcr_write_has_base(const smcr_conn_t *conn, int side);

/* The stream that `side` receives, begun when its element's size is known, and where data begins in
 * it. `offset` is a place in the element that data goes to, or comes from. NULL: not known. */
smcr_stream_t *smcr_write_stream(smcr_conn_t *conn, int side, uint32_t offset);

/* Packets without a place that are further apart have nothing to do with each other. */
#define SMCR_WRITE_UNPLACED_NEAR 1024
