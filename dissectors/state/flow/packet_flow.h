/* Knows what packets and messages change; the receiver's order of packets decides when a message
 * counts. Does not know how anything is shown. Called through state.h, in the order of the
 * capture, in the first pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "clc_flow.h"
#include "orphan.h"
#include "outcome.h"
#include "told_flow.h"
#include "window.h"

/* ---- packets of SMC-R, and their messages ----
 *
 * For each packet, smcr_state_packet() is called first, and then, if the packet completes a
 * message, the function of the message. If smcr_state_packet() does not know the queue pair, and
 * the message can be nothing but SMC-R, smcr_state_prove_qp() makes it known, and
 * smcr_state_packet() is called a second time. */

/* A packet of the reliable connection service, or a congestion notification, arrives. Finds its
 * link by its target queue pair, judges the packet by its PSN, and gives an RDMA WRITE its place.
 * Fills in `arrival->qp`, `arrival->psn` and `arrival->record`. `arrival->roce` has its headers.
 *
 * Returns false when its queue pair is not known to carry SMC-R; the record is then not changed. */
bool smcr_state_packet(smcr_arrival_t *arrival);

/* The LLC message of a SEND that smcr_state_packet() has seen. It is taken in now, or, after a PSN
 * gap, when the receiver acknowledges it. `llc`: as decoded; the caller keeps it. (RFC 7609 3.5,
 * A.3) */
void smcr_state_llc(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* The CDC message of a SEND that smcr_state_packet() has seen. It is taken in as an LLC message is.
 * `record->conn` gets its connection; NULL where the token can mean several. (RFC 7609 4.7, A.4) */
void smcr_state_cdc(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc);

/* The TCP connection below the connection of this CDC message had ended before the message came;
 * SMC ought to end first (RFC 7609 4.8.1). Each of these may be true along with the others:
 * `by_reset`: with a RST; `by_sender`: the sender of the message has closed its direction of TCP,
 * so `cdc` ought to say that it ends; `by_reader`: the receiver has closed its own, so its own last
 * CDC message said that. */
void smcr_state_check_tcp_end(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc, bool by_reset,
                              bool by_sender, bool by_reader);

/* A message has proven that the queue pair to which its packet goes carries SMC-R. `sender_qpn`:
 * the queue pair number of its sender, as CONFIRM LINK says, in host byte order; 0: the message
 * does not say. If the sender is one end of a known link whose other end is not known, the queue
 * pair is that other end; else it begins a new link. (A.3.1) */
void smcr_state_prove_qp(const smcr_arrival_t *arrival, uint32_t sender_qpn);
