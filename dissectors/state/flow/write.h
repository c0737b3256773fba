/* Finds for each RDMA WRITE packet its request, and its place: in the RMB element, and in the byte
 * stream of a connection (RFC 7609 4.2, 4.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* ---- requests ----
 *
 * A request is one RDMA WRITE of the sender: one packet (ONLY), or FIRST, MIDDLE..., LAST. Only the
 * first packet has the address and the RKey (RETH). The others follow from it by their PSNs:
 *
 *     PSN 200 FIRST   address 0x1000, length 10000, 4096 bytes here
 *     PSN 201 MIDDLE  4096 bytes more: to 0x2000
 *     PSN 202 LAST    1808 bytes more: to 0x3000 */

struct smcr_write {
    smcr_psn_t first_psn;    /* PSN of its first packet, unwrapped */
    uint32_t packets;        /* number of its packets; 1: an ONLY */
    uint32_t packet_length;  /* payload of each packet but the last one, bytes */
    uint32_t length;         /* of the whole request, bytes */
    uint64_t remote_address; /* virtual address to which the first packet writes */
    uint32_t rkey;           /* of the RMB, in host byte order */
    bool after_gap;          /* its first packet came after a PSN gap: a retransmission in order
                                replaces it */
    bool positioned;         /* `position` is known */
    uint64_t position;       /* of its first byte in the byte stream, bytes; see `placed` */
    smcr_rmb_t *rmb;         /* to which it writes; NULL: not known for sure */
    uint64_t rmb_va;         /* address of the first byte of `rmb`, or of `likely_rmb` */
    smcr_conn_t *conn;       /* to which it belongs; NULL: not known for sure */
    smcr_rmb_t *likely_rmb;  /* with `likely`: the RMB that its RKey named last; NULL: none */
    /* the connection that used its element last, and may have ended; NULL: none, or `conn` is
     * known */
    smcr_conn_t *likely_conn;
    smcr_place_late_t *deferred_place; /* gets what turns out later; NULL: all was known when it
                                          came */
    /* its packets whose bytes are kept until `conn` and `position` are known, the last one
     * first; NULL: none */
    smcr_held_t *buffered_payload;
};

/* The request that `qp` received `back` requests ago: 1 is the last one. NULL when it has received
 * fewer, or when so old a request is not remembered. */
smcr_write_t *smcr_write_recent(const smcr_qp_t *qp, unsigned back);

/* The request of the WRITE packet that arrives; NULL: its first packet has not come. A first packet
 * makes a new request, and finds its RMB, its connection and its position. `*begun`: it did so; a
 * retransmitted first packet does only where its first transmission came after a PSN gap. */
smcr_write_t *smcr_write_find_request(const smcr_arrival_t *arrival, bool *begun);

/* Writes the place of the WRITE packet to `record->place`: element and offset where the RMB is
 * known, and the position in the byte stream, which is that of its request plus the bytes of the
 * packets before. Returns whether the position is known. (4.2) */
bool smcr_write_place_packet(const smcr_arrival_t *arrival, const smcr_write_t *write);

/* Keeps the bytes of the WRITE packet that arrives, until its request has a connection and a
 * position. */
void smcr_write_buffer_payload(const smcr_arrival_t *arrival, smcr_write_t *write);

/* The packet that arrives hands on the kept bytes of the request, if that has a connection and a
 * position by now. */
void smcr_write_hand_on_payload(const smcr_arrival_t *arrival, smcr_write_t *write);

/* ---- what CDC messages show of requests (4.5) ---- */

/* A CDC message of `conn` with the producer cursor `prod` arrives, so the connection is alive. If
 * the request was likely to be of `conn`, it is. Returns whether this is news. */
bool smcr_write_confirm_owner(const smcr_arrival_t *arrival, smcr_write_t *write, smcr_conn_t *conn,
                              smcr_cursor_t prod);

/* A CDC message with the producer cursor `prod` arrives on a connection whose positions are not
 * known, since the capture begins in its middle: the requests that have come since the last CDC
 * message end at `prod`. */
void smcr_write_note_announcement(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                                  smcr_cursor_t prod);

/* A CDC message arrives that announces `stream` up to stream->announced. Requests of `conn` without
 * a position that came right before it end there: the last one at the cursor, the one before it
 * where that begins, and so on, as long as the offsets of their addresses agree. */
void smcr_write_position_before_cursor(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                       smcr_stream_t *stream);

/* The receiver has taken the WRITE packet in. `place`: of the packet, with a known position;
 * `stream`: to which its bytes are added. */
void smcr_write_take_in_packet(const smcr_arrival_t *arrival, smcr_stream_t *stream,
                               smcr_place_t *place);

/* ---- where data begins in an RMB element ----
 *
 * A host may keep the first four bytes of each element for the eyecatcher of RFC 7609, so that
 * data begin at offset 4. Linux keeps none, and data begin at offset 0. */

/* Learns from an offset to which data goes in the element of `side`, or from which it comes.
 * `offset`: bytes from the begin of the element. */
void smcr_write_learn_base(smcr_conn_t *conn, int side, uint32_t offset);

/* Whether it is known where data begins in the elements of `side`. */
bool smcr_write_has_base(const smcr_conn_t *conn, int side);

/* The byte stream that `side` receives. It begins when the size of its element is known, and where
 * data begins in it. `offset`: as for smcr_write_learn_base(), which this calls. NULL: not
 * known. */
smcr_stream_t *smcr_write_stream(smcr_conn_t *conn, int side, uint32_t offset);

/* WRITE packets without a position belong to one run if their PSNs differ by no more than this. */
#define SMCR_WRITE_UNPLACED_NEAR 1024
