/* What the files of this room ask each other: how packets fared, where RDMA WRITEs belong, what
 * messages change, what they have in common, and who waits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"
#include "state/model/store.h"
#include "state/rules/links/links.h"
#include "state/rules/rules.h"
#include "wire/wire.h"

/* ---- how packets fared, for their records: what fabric/ says, on any RDMA connection ---- */

/* A response to `requests`, NULL where these are not known: what it acknowledges, refuses and
 * completes. Asked before smcr_outcome_judge(). */
smcr_traffic_answer_t smcr_outcome_answer(const smcr_arrival_t *arrival, smcr_traffic_t *requests);

/* A request or response in `traffic`; `reverse` is what the peer receives, NULL where that is not
 * known. Writes the verdict to the record, to `arrival->psn` and `arrival->sent`. */
smcr_flow_verdict_t smcr_outcome_judge(smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                                       smcr_traffic_t *reverse);

/* A congestion notification in `traffic`; `reverse` as above. */
void smcr_outcome_cnp(const smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                      smcr_traffic_t *reverse);

/* Any packet but a congestion notification: notes its ECN mark, CE. */
void smcr_outcome_marks(const smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                        const smcr_traffic_t *reverse);

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

/* ---- RDMA WRITE packets that come before anything that names their connection: on a queue pair
 * that nobody has announced yet, or without the first packet of their request. What is found out
 * later completes their place, so that a second pass shows them where they belong ---- */

/* A WRITE packet that waits for its connection. */
typedef struct {
    smcr_ib_headers_t roce;
    smcr_psn_t psn; /* of a known queue pair */
    smcr_when_t when;
    smcr_place_t *place;
} smcr_orphan_t;

/* The queue pair `qp` has just become known: takes out the packets that came to it before. Returns
 * a list of smcr_orphan_t that the caller destroys; NULL when there are none. */
wmem_list_t *smcr_orphan_take_unknown_qp(smcr_state_t *state, const smcr_ib_qp_key_t *key);

/* A MIDDLE or LAST packet whose FIRST has not come. */
void smcr_orphan_add(const smcr_arrival_t *arrival);

/* The request of some orphans has come: they find their places in it, and those that were taken in
 * are handed on when it has an owner and a place. */
void smcr_orphan_place(const smcr_arrival_t *arrival, smcr_write_t *write);

/* A CDC message of `conn` arrives, with the producer cursor `prod`: requests that were likely its
 * own are, and their packets find their places. */
void smcr_orphan_confirm(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_cursor_t prod);

/* A CDC message of `conn` shows that the request right before it, whose owner was not known, ends
 * at `prod` of its stream. The message hands on its bytes. */
void smcr_orphan_claim(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_write_t *write,
                       smcr_cursor_t prod);

/* A CDC message of `conn` arrives that announces data up to `position` in `stream`: what came right
 * before it, of a request whose FIRST is missing, ends there. */
void smcr_orphan_end(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_stream_t *stream,
                     uint64_t position);

/* ---- LLC messages (RFC 7609 3.5.1, 3.5.5, A.3) ---- */

/* Whether the state can learn something from messages of a type. */
bool smcr_state_llc_is_known(uint8_t type);

/* The message is sent for the first time: a request, or a response. Returns whether the capture has
 * the request of a response, and sets right what that says of the response. */
bool smcr_state_llc_exchange(const smcr_arrival_t *arrival, smcr_llc_t *llc);

/* The receiver has taken the message in. `requested`: as returned above. */
void smcr_state_llc_take_in(const smcr_arrival_t *arrival, const smcr_llc_t *llc, bool requested);

/* ---- CDC messages (RFC 7609 4.5 to 4.8, A.4) ---- */

/* The connection that the message names by its token; a new one where none is known. */
smcr_conn_t *smcr_state_cdc_conn(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc);

/* The receiver has taken the message in. */
void smcr_state_cdc_take_in(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                            const smcr_cdc_t *cdc);

/* ---- what hosts have told ---- */

/* The socket that alone can be the connection of the message, whose token means none; the host that
 * tells of it has `*side`. NULL: there is none. */
smcr_socket_t *smcr_state_told_socket(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc,
                                      int *side);

/* Its connection, of which the other direction is known already; NULL: it is not. */
smcr_conn_t *smcr_state_told_conn(const smcr_arrival_t *arrival, const smcr_socket_t *socket);

/* The connection is that of the socket. */
void smcr_state_told_name(const smcr_arrival_t *arrival, smcr_socket_t *socket, smcr_conn_t *conn,
                          int side);

/* The message may show that a host has told of another time, or another host. */
void smcr_state_told_check(const smcr_arrival_t *arrival, smcr_conn_t *conn, const smcr_cdc_t *cdc);

/* After a message of a connection: it may stand now where a host was, or where a file says that it
 * was. */
void smcr_state_told_again(const smcr_arrival_t *arrival, smcr_conn_t *conn);

/* ---- requests and their responses: LLC, and the steps of CLC (RFC 7609 3.5, A.3) ---- */

/* A request: opens an exchange. A server's ADD LINK or DELETE LINK also answers a client that
 * asked for it (3.5.5.3); two exchanges that must not run at the same time are a collision. */
void smcr_state_exchange_request(const smcr_exchange_message_t *message);

/* A response: closes the exchange that it answers, where that is known for sure: `*answered`, else
 * NULL. Returns whether the capture has a request that it may answer. */
bool smcr_state_exchange_response(const smcr_exchange_message_t *message,
                                  const smcr_exchange_request_t **answered);

/* Whether the client answers an open request of the server, but for the flag of responses. */
bool smcr_state_exchange_lacks_flag(const smcr_exchange_message_t *message);

/* An exchange that is in no list: a step of the CLC handshake, a cursor update. The message that
 * arrives begins it, or ends it. */
smcr_exchange_t *smcr_state_exchange_open(const smcr_arrival_t *arrival);
void smcr_state_exchange_close(const smcr_arrival_t *arrival, smcr_exchange_t *exchange);

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
