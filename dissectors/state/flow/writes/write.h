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
 * first packet has the address and the RKey (RETH). The addresses of the other packets follow from
 * their PSNs:
 *
 *     PSN 200 FIRST   address 0x1000, length 10000, 4096 bytes here
 *     PSN 201 MIDDLE  4096 bytes more: to 0x2000
 *     PSN 202 LAST    1808 bytes more: to 0x3000 */

/* A request: one RDMA WRITE of one or several packets. */
struct smcr_write {
    smcr_psn_t first_psn;    /* PSN of the request's first packet, without wrap */
    uint32_t packets;        /* number of packets of the request, as its first packet shows: by its
                                opcode, its payload and the length in its RETH */
    uint32_t packet_length;  /* payload of each packet but the last one, bytes */
    uint32_t length;         /* length of the whole request, bytes */
    uint64_t remote_address; /* virtual address to which the first packet writes */
    uint32_t rkey;           /* RKey of the RMB, in host byte order */
    bool after_gap;          /* the first packet came after a PSN gap. If the packet is
                                retransmitted in order, a new request replaces this one */
    bool positioned;         /* `position` is known */
    uint64_t position;       /* position of the request's first byte in the byte stream; see
                                `positioned` */
    smcr_rmb_t *rmb;         /* RMB to which the request writes; NULL: not certain */
    uint64_t rmb_va;         /* address of the first byte of `rmb`, or of `likely_rmb` */
    smcr_conn_t *conn;       /* connection of the request; NULL: not certain */
    smcr_rmb_t *likely_rmb;  /* RMB that the RKey of the request named when the request came; set
                                with `likely_conn` */
    /* likely connection of the request: the last connection that used the RMB element. It may have
     * ended. NULL: there is none, `conn` is known, or two open connections share the element */
    smcr_conn_t *likely_conn;
    smcr_place_late_t *deferred_place; /* object for facts about the request that are learned later;
                                          NULL: RMB and position were known when the request came */
    /* packets of the request whose bytes are held until `conn` and `positioned` are set, in a list
     * with the last packet first; NULL: none */
    smcr_held_t *buffered_payload;
};

/* The request that `qp` received as the `back`-th last one: 1 is the last request. NULL: `qp` has
 * received fewer, or the request is too old to be kept. */
smcr_write_t *smcr_write_recent(const smcr_qp_t *qp, unsigned back);

/* The request of the WRITE packet; NULL: the first packet of the request has not come, or came so
 * long ago that the request is not kept any more. A first packet makes a new request, and finds its
 * RMB, its connection and its position. `*begun`: the packet has made a new request. A
 * retransmitted first packet of a kept request does so only if its first transmission came after a
 * PSN gap and was discarded. */
smcr_write_t *smcr_write_find_request(const smcr_arrival_t *arrival, bool *begun);

/* Whether LLC alone has announced the RMB of the request, and no connection is known that uses the
 * RMB or may have sent the request: CLC messages that name the RMB are not captured. */
bool smcr_write_has_free_rmb(const smcr_write_t *write);

/* Whether the packet begins a WRITE to an RMB element of an open connection, by its RKey and its
 * address. `qp`: queue pair that receives the packet. */
bool smcr_write_names_open_conn(const smcr_arrival_t *arrival, const smcr_qp_t *qp);

/* Whether a WRITE of one packet fits to what is known: its RKey and its address name the RMB
 * element of a connection, its length is that of its payload, and it continues the stream. Correct
 * peers send other ones, too: retransmissions, WRITEs after a move, and WRITEs of several packets.
 * `qp`: queue pair that receives the packet. */
bool smcr_write_fits(const smcr_state_t *state, const smcr_qp_t *qp, const smcr_ib_headers_t *roce);

/* Writes the place of the WRITE packet to `record->write_location`. If the RMB is known: element
 * and offset. If the position of its request is known: the position in the byte stream, which is
 * that of the request plus the bytes of the packets before this one. Returns whether the position
 * is known. (4.2) */
bool smcr_write_place_packet(const smcr_arrival_t *arrival, const smcr_write_t *write);

/* Arranges that the bytes of the WRITE packet are held until its request has a connection and a
 * position. Does nothing if not even a likely connection is known. */
void smcr_write_buffer_payload(const smcr_arrival_t *arrival, smcr_write_t *write);

/* Hands the held bytes of the request on to the application's dissectors, with the packet that
 * arrives, and adds them to the stream. Does nothing while the request has no connection or no
 * position. */
void smcr_write_hand_on_payload(const smcr_arrival_t *arrival, smcr_write_t *write);

/* ---- what CDC messages show of requests (4.5) ---- */

/* Learns from the arriving CDC message of `conn`, which has the producer cursor `prod`, that the
 * connection is alive. If `conn` was the likely connection of the request, the request belongs to
 * `conn` from now on, with two exceptions:
 *
 * - The request has a higher PSN than the message.
 * - The writer has ended the connection, and the message does not announce the request.
 *
 * Returns whether this has changed the request. */
bool smcr_write_confirm_owner(const smcr_arrival_t *arrival, smcr_write_t *write, smcr_conn_t *conn,
                              smcr_cursor_t prod);

/* Makes the likely connection `conn` of the request its certain connection. */
void smcr_write_prove_owner(smcr_write_t *write, smcr_conn_t *conn);

/* Learns from a CDC message with the producer cursor `prod`, on a connection whose positions are
 * not known because the capture starts mid-connection. The message announces the requests of the
 * connection that have come since its last announcement: the last one ends at `prod`, the one
 * before it ends where the last one begins, and so on. */
void smcr_write_note_announcement(const smcr_arrival_t *arrival, const smcr_conn_t *conn,
                                  smcr_cursor_t prod);

/* Called when the arriving CDC message of `conn` announces `stream` up to stream->announced. Gives
 * positions to requests of `conn` that came right before the message and have none: the last
 * request ends at stream->announced, the request before it ends where the last one begins, and so
 * on, as long as the addresses fit. */
void smcr_write_position_before_cursor(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                       smcr_stream_t *stream);

/* Adds the bytes of a WRITE packet, which its receiver has taken in, to `stream`. `place`: place of
 * the packet, with a known position. */
void smcr_write_take_in_packet(const smcr_arrival_t *arrival, smcr_stream_t *stream,
                               smcr_place_t *place);

/* Forgets the kept requests of `qp` that are, or may be, of connections that are leaving
 * (`is_leaving`). */
void smcr_write_forget_leaving(smcr_state_t *state, smcr_qp_t *qp);

/* Adds the RMBs of the kept requests of `qp` to the set `rmbs` of smcr_rmb_t. */
void smcr_write_add_rmbs(const smcr_qp_t *qp, GHashTable *rmbs);

/* Forgets all kept requests of `qp`, and frees their memory. */
void smcr_write_forget_all(smcr_state_t *state, smcr_qp_t *qp);

/* ---- where data begins in an RMB element ----
 *
 * A host may use the first four bytes of each element for the eyecatcher of RFC 7609: then data
 * begins at offset 4. Linux has no eyecatcher: data begins at offset 0. */

/* Learns where data begins in the RMB elements of `side`. `offset`: offset in the side's element at
 * which a WRITE begins, or to which a cursor points, bytes from the start of the element. */
void smcr_write_learn_base(smcr_conn_t *conn, int side, uint32_t offset);

/* The byte stream that `side` receives. Starts the stream if it is not started, under three
 * conditions: 1. the size of the side's element is known; 2. it is known where data begins in the
 * element; 3. the peer has sent no producer cursor before. `offset`: as for
 * smcr_write_learn_base(), which is called. NULL: positions are not known. */
smcr_stream_t *smcr_write_stream(smcr_conn_t *conn, int side, uint32_t offset);

/* A run: WRITE packets without a position whose PSNs are near each other. A packet is near a run if
 * its PSN is at most this much above the highest PSN of the run. Then it continues the run, or, if
 * it has a position, the run may explain a gap in the stream before it. */
#define SMCR_WRITE_UNPLACED_NEAR 1024
