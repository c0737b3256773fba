/* Knows what packets and messages change, in the order in which the receiver takes them in. Does
 * not know how anything is shown. Called through state.h, in the first pass, in the order of the
 * capture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "clc_flow.h"
#include "immediate_flow.h"
#include "outcome.h"
#include "state/flow/tapped/tapped.h"
#include "told_flow.h"
#include "state/flow/writes/writes.h"

/* ---- packets of SMC-R, and their messages ----
 *
 * For each packet, smcr_state_packet() is called first. If the packet completes a message, the
 * function for this kind of message is called next. If smcr_state_packet() does not know the
 * receiver's queue pair, and the message can only be one of SMC-R, smcr_state_prove_qp() makes the
 * queue pair known, and smcr_state_packet() is called a second time. */

/* Learns a packet of the reliable connection service, or a congestion notification. Finds its link
 * by the queue pair that receives it, judges the packet by its PSN, and gives an RDMA WRITE its
 * place. Needs the headers in `arrival->roce`. Fills in `arrival->qp`, `arrival->psn` and
 * `arrival->record`.
 *
 * Returns false if the packet is not known to be of an SMC-R link: no known queue pair has the
 * receiver's number, or the packet probably goes to another queue pair with the same number. The
 * record is not changed then. */
bool smcr_state_packet(smcr_arrival_t *arrival);

/* Notes in `arrival->record` the link or the RDMA flow of a packet that the state does not learn,
 * since the same transmission is learned at another capture point, and that this copy counts for
 * nothing (`order`, `receiver_action`). Links and flows do not change. Needs the headers in
 * `arrival->roce`. Returns false if neither link nor flow is known. */
bool smcr_state_copy(smcr_arrival_t *arrival);

/* Learns the LLC message of a SEND, after smcr_state_packet(). The message is taken in now, or,
 * after a PSN gap, when the receiver acknowledges it. `llc`: the decoded message, which is not
 * changed. (RFC 7609 3.5, A.3) */
void smcr_state_llc(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* Learns the CDC message of a SEND, after smcr_state_packet(). The message is taken in now, or,
 * after a PSN gap, when the receiver acknowledges it. `record->conn` gets the connection of the
 * message; NULL: not known (smcr_state_cdc_conn()). (RFC 7609 4.7, A.4) */
void smcr_state_cdc(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc);

/* Reports that TCP has ended before SMC, on the connection of this CDC message. SMC has to end
 * first (RFC 7609 4.8.1). More than one of the flags may be true:
 *
 * - `by_reset`: a RST has ended TCP.
 * - `by_sender`: the sender of the message has closed its direction of TCP, so `cdc` should report
 *   the end of SMC.
 * - `by_reader`: the receiver of the message has closed its direction of TCP, so it has sent its
 *   last CDC message before. */
void smcr_state_check_tcp_end(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc, bool by_reset,
                              bool by_sender, bool by_reader);

/* Whether the packet of a CDC message belongs to a known link, though its PSN is far from the
 * highest PSN of the flow: many packets in between are missing in the capture. This is so if the
 * link may still be in use, and `token`, the alert token of the message in host byte order, names a
 * connection of the link group that the sender has not closed. Sets `arrival->goes_on`, by which
 * smcr_state_packet() accepts the packet. */
bool smcr_state_cdc_goes_on(smcr_arrival_t *arrival, uint32_t token);

/* Whether a packet of a known link may be damaged: it is none of the packets that SMC-R sends while
 * nothing goes wrong, it contradicts what is known of the link, or earlier packets of the capture
 * were damaged or retransmitted. Correct peers send such packets, too. */
bool smcr_state_packet_is_doubtful(const smcr_state_t *state, const smcr_ib_headers_t *roce,
                                   const smcr_qp_t *receiver);

/* Makes the queue pair that receives the packet known, since a message has proven that it carries
 * SMC-R. `sender_qpn`: queue pair number of the sender, as CONFIRM LINK reports it, in host byte
 * order; 0: the message is no CONFIRM LINK. If the sender's queue pair is known, and the other
 * queue pair of its link is not, the receiver is this other queue pair. Otherwise the receiver gets
 * a new link, unless it is known already, and the PSN of the packet is near those of its flow.
 * (A.3.1) */
void smcr_state_prove_qp(const smcr_arrival_t *arrival, uint32_t sender_qpn);

/* ---- captures that are read once ---- */

/* Which connections the caller has finished with: it does not point to them any more. */
typedef struct {
    /* whether the caller has finished with the connection */
    bool (*has)(const smcr_conn_t *conn, const void *data);
    const void *data; /* the last argument of `has` */
    /* frees what the caller keeps in the connection, which is released next */
    void (*release)(smcr_conn_t *conn);
} smcr_state_finished_t;

/* Forgets the records of packets before `frame` (smcr_record_forget()), and releases connections
 * that have ended before it and to which nothing points. Also releases RMBs of their link groups,
 * and the history of links that were deleted before (release.c). `finished`: NULL: only records are
 * forgotten. */
void smcr_state_forget(smcr_state_t *state, uint32_t frame, const smcr_state_finished_t *finished);
