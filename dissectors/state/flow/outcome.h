/* outcome.h
 * How packets fared, for their records: what fabric/ says of a packet, whatever RDMA connection it
 * belongs to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* The packet, as fabric/ wants it. */
smcr_sent_t smcr_outcome_sent(const smcr_arrival_t *arrival);

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
