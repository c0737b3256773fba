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

/* A request: one RDMA WRITE of one or several packets. */
struct smcr_write {
    smcr_psn_t first_psn;    /* PSN of its first packet, without wrap */
    uint32_t packets;        /* number of its packets; 1: an ONLY */
    uint32_t packet_length;  /* payload of each packet but the last one, bytes */
    uint32_t length;         /* length of the whole request, bytes */
    uint64_t remote_address; /* virtual address to which the first packet writes */
    uint32_t rkey;           /* RKey of the RMB, in host byte order */
    bool after_gap;          /* its first packet came after a PSN gap; a retransmission in order
                                replaces the request */
    bool positioned;         /* `position` is known */
    uint64_t position;       /* position of its first byte in the byte stream; see `positioned` */
    smcr_rmb_t *rmb;         /* RMB to which it writes; NULL: not known for sure */
    uint64_t rmb_va;         /* address of the first byte of `rmb`, or of `likely_rmb` */
    smcr_conn_t *conn;       /* connection to which it belongs; NULL: not known for sure */
    smcr_rmb_t *likely_rmb;  /* RMB that its RKey named last; set with `likely_conn`; NULL: none */
    /* likely connection: the last one that used its element, which may have ended; NULL: none, or
     * `conn` is known */
    smcr_conn_t *likely_conn;
    smcr_place_late_t *deferred_place; /* object that gets facts which are learned later; NULL: all
                                          was known when the request came */
    /* packets of the request whose bytes are kept until `conn` and `positioned` are set, the last
     * packet first; NULL: none */
    smcr_held_t *buffered_payload;
};

/* The request that `qp` received `back` requests ago: 1 is the last one. NULL: `qp` has received
 * fewer, or the request is too old to be kept. */
smcr_write_t *smcr_write_recent(const smcr_qp_t *qp, unsigned back);

/* The request of the WRITE packet; NULL: the first packet of the request has not come. A first
 * packet makes a new request, and finds its RMB, its connection and its position. `*begun`: the
 * packet has made a new request. A retransmitted first packet does so only if its first
 * transmission came after a PSN gap. */
smcr_write_t *smcr_write_find_request(const smcr_arrival_t *arrival, bool *begun);

/* Whether the packet begins a WRITE whose RKey and address name, on the link of `qp`, which
 * receives the packet, an RMB element of an open connection. */
bool smcr_write_names_open_conn(const smcr_arrival_t *arrival, const smcr_qp_t *qp);

/* Writes the place of the WRITE packet to `record->write_location`. If the RMB is known: element
 * and offset. If the position of its request is known: the position in the byte stream, which is
 * that of the request plus the bytes of the packets before this one. Returns whether the position
 * is known. (4.2) */
bool smcr_write_place_packet(const smcr_arrival_t *arrival, const smcr_write_t *write);

/* Keeps the bytes of the WRITE packet until its request has a connection and a position. */
void smcr_write_buffer_payload(const smcr_arrival_t *arrival, smcr_write_t *write);

/* Hands on the kept bytes of the request, with the packet that arrives, if the request has a
 * connection and a position now. */
void smcr_write_hand_on_payload(const smcr_arrival_t *arrival, smcr_write_t *write);

/* ---- what CDC messages show of requests (4.5) ---- */

/* Takes in that a CDC message of `conn` with the producer cursor `prod` arrives, so that the
 * connection is alive. If the request was likely to be of `conn`, it belongs to `conn` now. Returns
 * whether this is new. */
bool smcr_write_confirm_owner(const smcr_arrival_t *arrival, smcr_write_t *write, smcr_conn_t *conn,
                              smcr_cursor_t prod);

/* Takes in that the request, which was likely to be of `conn`, certainly belongs to `conn`. */
void smcr_write_prove_owner(smcr_write_t *write, smcr_conn_t *conn);

/* Takes in a CDC message with the producer cursor `prod`, on a connection whose positions are not
 * known since the capture starts mid-connection. The message announces the requests of the
 * connection that have come since its last announcement: the last one ends at `prod`, the one
 * before it ends where the last one begins, and so on. */
void smcr_write_note_announcement(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                                  smcr_cursor_t prod);

/* Takes in that a CDC message announces `stream` up to stream->announced. Requests of `conn`
 * without a position that came right before the message end at this position: the last request ends
 * at the cursor, the request before it ends where the last one begins, and so on, as long as the
 * addresses fit. */
void smcr_write_position_before_cursor(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                       smcr_stream_t *stream);

/* Adds the bytes of a WRITE packet, which its receiver has taken in, to `stream`. `place`: place of
 * the packet, with a known position. */
void smcr_write_take_in_packet(const smcr_arrival_t *arrival, smcr_stream_t *stream,
                               smcr_place_t *place);

/* ---- where data begins in an RMB element ----
 *
 * A host may keep the first four bytes of each element for the eyecatcher of RFC 7609, so that
 * data begin at offset 4. Linux keeps none, and data begin at offset 0. */

/* Learns where data begins in the elements of `side`, from an offset to which data goes in its
 * element, or from which data comes. `offset`: bytes from the begin of the element. */
void smcr_write_learn_base(smcr_conn_t *conn, int side, uint32_t offset);

/* The byte stream that `side` receives. If the size of its element is known, and where data begins
 * in the element, the stream is started. `offset`: as for smcr_write_learn_base(), which is called.
 * NULL: positions are not known. */
smcr_stream_t *smcr_write_stream(smcr_conn_t *conn, int side, uint32_t offset);

/* WRITE packets without a position belong to one run if their PSNs differ by no more than this. */
#define SMCR_WRITE_UNPLACED_NEAR 1024
