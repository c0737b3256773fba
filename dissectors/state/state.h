/* state.h
 * All that is known of the SMC-R traffic of one capture file, as far as the first pass has come,
 * and the messages and packets that it learns from.
 *
 * Every function that takes a record (`packet`) fills in what it finds out about this frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_STATE_H
#define SMCR_STATE_STATE_H

#include "packet.h"

/* `scope` owns almost everything. */
smcr_state_t *smcr_state_new(wmem_allocator_t *scope);

/* Frees what the scope does not own; before the scope goes. */
void smcr_state_free(smcr_state_t *state);

/* ---- CLC, in the order of the TCP stream ---- */

/* A CLC message of `conn`, not SMC-D. (RFC 7609 3.5.1, 3.5.2) */
void smcr_state_clc(smcr_state_t *state, smcr_conn_t *conn, const smcr_clc_t *clc,
                    smcr_when_t when, smcr_packet_t *packet);

/* ---- RoCE, in the order of the capture ---- */

/* What tells queue pairs apart for smcr_state_ignores(): `address` are the last four bytes of the
 * address or GID. */
uint64_t smcr_target(const uint8_t address[4], uint32_t qpn);

/* Whether a packet that is no SEND can tell nothing, so that there is no need to read it: no queue
 * pair of SMC-R is known yet, and it is no WRITE to keep until one is. */
bool smcr_state_ignores(smcr_state_t *state, uint8_t opcode, uint64_t target);

/* Makes known that the queue pair `roce->target` carries SMC-R: a message has proven it. */
void smcr_state_recognise(smcr_state_t *state, const smcr_roce_t *roce, smcr_when_t when);

/* The same for CONFIRM LINK, which names the queue pair `sender_qpn` from which it comes: it may be
 * one end of a link whose other end the capture has not shown. */
void smcr_state_recognise_link(smcr_state_t *state, const smcr_roce_t *roce, uint32_t sender_qpn,
                               smcr_when_t when);

/*
 * A packet of the reliable connection service, or a congestion notification. Finds its link,
 * keeps the order of PSNs, and gives an RDMA WRITE its place.
 *
 * Returns false when its queue pair is not known to carry SMC-R; the record is then not changed.
 */
bool smcr_state_packet(smcr_state_t *state, const smcr_roce_t *roce, smcr_when_t when,
                       smcr_packet_t *packet);

/* The LLC message of a SEND that smcr_state_packet() has seen. (RFC 7609 3.5, A.3) */
void smcr_state_llc(smcr_state_t *state, const smcr_roce_t *roce, const smcr_llc_t *llc,
                    smcr_when_t when, smcr_packet_t *packet);

/* The TCP connection of this CDC message's connection was reset before; `cdc` ought to say so. */
void smcr_state_tcp_reset(smcr_state_t *state, const smcr_cdc_t *cdc, smcr_packet_t *packet);

/* The CDC message of a SEND that smcr_state_packet() has seen. (RFC 7609 4.7, A.4) */
void smcr_state_cdc(smcr_state_t *state, const smcr_roce_t *roce, const smcr_cdc_t *cdc,
                    smcr_when_t when, smcr_packet_t *packet);

/* ---- records ---- */

/* Keeps the record of a frame, once the first pass has learned all of it. `layer` tells the packets
 * of one frame apart. */
void smcr_record_keep(smcr_state_t *state, uint32_t frame, uint16_t layer,
                      const smcr_packet_t *packet);

#define SMCR_ANY_LAYER UINT16_MAX

/* The record that was kept, or any of the frame's. Returns false when there is none; `packet` is
 * then not changed. */
bool smcr_record_find(smcr_state_t *state, uint32_t frame, uint16_t layer, smcr_packet_t *packet);

#endif /* SMCR_STATE_STATE_H */
