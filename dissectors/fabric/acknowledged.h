/* What the responses of the reverse flow prove of the requests of a flow: which of them the
 * receiver has accepted, and which it has refused or discarded.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "flow_state.h"

/* What a response says about requests (InfiniBand Architecture Specification, volume 1, 9.7.5). */
typedef struct {
    smcr_psn_t psn; /* PSN in the response, unwrapped; 0: the response says nothing about requests
                       of the flow, and the other members are 0 */
    /* Highest PSN that the response acknowledges. For an ACK: `psn`. For a NAK or RNR NAK: the PSN
     * before `psn`. */
    smcr_psn_t acked_psn;
    uint8_t kind; /* enum smcr_ib_syndrome_kind; a response with data counts as an ACK */
} smcr_flow_coverage_t;

/* What the response `packet` says about the requests of `flow`. */
smcr_flow_coverage_t smcr_flow_coverage(const smcr_flow_t *flow, const smcr_sent_t *packet);

/* Raises `expected_psn` over requests that have come already, at most to `end`. In the capture,
 * these requests came when a lower PSN was still expected. If no NAK refuses them, the receiver got
 * all packets in order, and the packets before these requests are missing in the capture only.
 *
 * `gone_on`: the sender has sent a new PSN after these requests. If `gone_on` is false, the
 * function stops at a request that came before a packet with a lower PSN (overtook_late_packet()),
 * because the receiver may have discarded that request. If `gone_on` is true, the function does not
 * stop there: a receiver that had discarded the request would have sent a NAK. */
void smcr_flow_advance_in_order(smcr_flow_t *flow, smcr_psn_t end, bool gone_on);

/* Takes in a request that was retransmitted, or came late, with `step`, to which it belongs; NULL:
 * it belongs to no step. The receiver answers it if it already had it.
 *
 * `is_counted`: the request is certainly a retransmission of a SEND or WRITE, whose second answer
 * shows. If false, it is not known whether a later answer is that of this request, and nothing is
 * proven of the retransmissions that have not been answered. */
void smcr_flow_await_repeat(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_step_back_t *step,
                            bool is_counted);

/* Takes in what a response to the requests of `flow` proves of their retransmissions: whether the
 * receiver already had them. Called before smcr_flow_take_response(), which changes the PSN that
 * was acknowledged last. `is_original`: the response is certainly no duplicate of an earlier
 * one. */
void smcr_flow_settle_repeats(smcr_flow_t *flow, const smcr_sent_t *packet, bool is_original);

/* Takes in a response to the requests of `flow`. Before the first request it is not known what a
 * response says, so the last such response is kept in `early_ack`, and taken in when the first
 * request comes (smcr_flow_take_early_ack()). If the first PSN was announced, each response is
 * taken in at once. */
void smcr_flow_take_response(smcr_flow_t *flow, wmem_allocator_t *scope,
                             const smcr_sent_t *packet);

/* Called when the first request of the flow has come. Handles the last acknowledgement that came
 * before this request. */
void smcr_flow_take_early_ack(smcr_flow_t *flow, wmem_allocator_t *scope);
