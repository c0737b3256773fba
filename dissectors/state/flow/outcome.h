/* How packets fared at their receiver: what fabric/ says of any RDMA connection goes into the
 * records of its packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later / */

#pragma once

#include "state/model/record.h"

/* A response, ACK or NAK, to `requests`; NULL: the requests are not known. Returns what the
 * response acknowledges, refuses and completes, and writes it into the record. Call it before
 * smcr_outcome_judge(). (InfiniBand Architecture Specification, volume 1, 9.7.5) */
smcr_traffic_answer_t smcr_outcome_answer(const smcr_arrival_t *arrival, smcr_traffic_t *requests);

/* A request or response that is a packet of `traffic`. `reverse` is what the peer receives; NULL:
 * not known. Returns the verdict: the order of the packet, and what its receiver does with it.
 * Writes the verdict into the record, and into `psn`, `first_sent` and `replaces_corrupt` of the
 * arrival. */
smcr_flow_verdict_t smcr_outcome_judge(smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                                       smcr_traffic_t *reverse);

/* A congestion notification packet (CNP) of `traffic`; `reverse` as above. Writes into the record
 * which marks it answers. */
void smcr_outcome_cnp(const smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                      smcr_traffic_t *reverse);

/* Any packet but a congestion notification: if its ECN codepoint is CE, writes that into the
 * record. `reverse` as above. */
void smcr_outcome_marks(const smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                        const smcr_traffic_t *reverse);

/* ---- packets of RDMA connections that are not SMC-R ---- */

/* A packet of no link, as far as is known. `message` is the message of RDMA-CM that the packet
 * carries; NULL: none. Finds the flow of the packet, and fills in the record. */
void smcr_state_foreign(smcr_arrival_t *arrival, const smcr_cm_message_t *message);
