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

/* ---- packets of SMC-R, and their messages ---- */

/* A packet of the reliable connection service, or a congestion notification. Finds its link, keeps
 * the order of PSNs, and gives an RDMA WRITE its place. Fills in `arrival->qp` and `psn`.
 *
 * Returns false when its queue pair is not known to carry SMC-R; the record is then not changed. */
bool smcr_state_packet(smcr_arrival_t *arrival);

/* The LLC message of a SEND that smcr_state_packet() has seen. (RFC 7609 3.5, A.3) */
void smcr_state_llc(const smcr_arrival_t *arrival, const smcr_llc_t *llc);

/* The CDC message of a SEND that smcr_state_packet() has seen. (RFC 7609 4.7, A.4) */
void smcr_state_cdc(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc);

/* The TCP connection of this CDC message's connection was reset before, or its sender has closed
 * it: `cdc` ought to say so. Or its reader has: its own last message did. (4.8.1) */
void smcr_state_tcp_ended(const smcr_arrival_t *arrival, const smcr_cdc_t *cdc, bool by_reset,
                          bool by_sender, bool by_reader);

/* A message has proven that the queue pair to which the packet goes carries SMC-R. `sender_qpn`:
 * from which it comes, as CONFIRM LINK says; 0: it does not tell. That may be one queue pair of a
 * link whose other one the capture has not shown. */
void smcr_state_prove(const smcr_arrival_t *arrival, uint32_t sender_qpn);
