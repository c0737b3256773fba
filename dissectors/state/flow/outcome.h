/* Writes the verdict of fabric/ on a packet into the record of the packet: the order of its PSN,
 * and what its receiver does with it. For packets of SMC-R, and of all other RDMA connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "state/model/record.h"

/* Learns a response: an ACK, a NAK, or the data of an RDMA READ. `requests`: traffic in the
 * opposite direction, which has the answered requests; NULL: not known. Returns the requests that
 * the response acknowledges, refuses and completes, and writes them into the record. Adds an event
 * for a NAK or RNR NAK. Has to be called before smcr_outcome_judge(). (InfiniBand Architecture
 * Specification, volume 1, 9.7.5) */
smcr_traffic_answer_t smcr_outcome_answer(const smcr_arrival_t *arrival, smcr_traffic_t *requests);

/* Judges a request or response of `traffic`. `reverse`: the traffic in the opposite direction;
 * NULL: not known. Returns the verdict: the order of the packet, and what its receiver does with
 * the packet. Writes the verdict into the record, and into `psn`, `first_sent`, `replaces_corrupt`
 * and `refused_frame` of the arrival. Adds events for a duplicate made by the network, and for
 * missing packets. */
smcr_flow_verdict_t smcr_outcome_judge(smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                                       smcr_traffic_t *reverse);

/* Learns a congestion notification packet (CNP) of `traffic`. `reverse`: the traffic in the
 * opposite direction; NULL: not known. Writes into the record which marks the CNP answers. */
void smcr_outcome_cnp(const smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                      smcr_traffic_t *reverse);

/* Learns the congestion mark of a packet that is no congestion notification: if the packet has the
 * mark CE (smcr_ib_has_mark()), writes the mark into the record. `traffic`, `reverse`: as for
 * smcr_outcome_cnp(). */
void smcr_outcome_marks(const smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                        smcr_traffic_t *reverse);

/* ---- packets of RDMA connections that are not SMC-R ---- */

/* Learns a packet that belongs to no known SMC-R link. `message`: the message of RDMA-CM that the
 * packet carries; NULL: none. Finds the RDMA flow of the packet, and fills in the record. A packet
 * with a wrong ICRC changes nothing if its flow is not known. */
void smcr_state_foreign(smcr_arrival_t *arrival, const smcr_cm_message_t *message);
