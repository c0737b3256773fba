/* foreign.c
 * Takes in what fabric/ says of RDMA connections that are not SMC-R.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "message_flow.h"
#include "packet_flow.h"

static smcr_rdma_t *
rdma_of(smcr_state_t *state)
{
    if (!state->rdma) {
        state->rdma = smcr_rdma_new(state->scope);
        state->cm_notes = wmem_array_new(state->scope, sizeof(const smcr_record_cm_t *));
    }
    return state->rdma;
}

/* ---- RDMA-CM ---- */

/* The last note of a connection. Returns where its place is. */
static const smcr_record_cm_t **
note_of(smcr_state_t *state, const smcr_cm_conn_t *conn)
{
    const smcr_record_cm_t *none = NULL;

    while (wmem_array_get_count(state->cm_notes) <= conn->index)
        wmem_array_append_one(state->cm_notes, none);
    return wmem_array_index(state->cm_notes, conn->index);
}

static void
take_in_message(const smcr_arrival_t *arrival, const smcr_cm_message_t *message)
{
    smcr_cm_packet_t packet = {
        .when = arrival->when,
        .source = arrival->roce->source,
        .target = arrival->roce->target.gid,
        .message = message,
        .received = true,
    };
    smcr_cm_verdict_t verdict = smcr_rdma_manage(rdma_of(arrival->state), &packet);

    arrival->record->kind = SMCR_RECORD_CM;
    if (!verdict.conn)
        return;
    smcr_record_cm_t *note = smcr_state_alloc0(arrival->state, sizeof *note);
    *note = verdict;
    arrival->record->cm = *note_of(arrival->state, verdict.conn) = note;
    if (verdict.repeat_of)
        smcr_event_add(arrival, SMCR_EVENT_cm_repeat, NULL);
    if (verdict.unexpected_sent || verdict.unexpected_received)
        smcr_event_add(arrival, SMCR_EVENT_cm_unexpected, NULL);
}

/* ---- data and acknowledgements ---- */

static void
judge(smcr_arrival_t *arrival, smcr_rdma_flow_t *flow)
{
    smcr_flow_verdict_t verdict =
        smcr_outcome_judge(arrival, flow->traffic, smcr_rdma_reverse(flow));

    if (verdict.order == SMCR_FLOW_IS_REPEAT && !smcr_ib_is_response(arrival->roce->opcode))
        smcr_event_add(arrival, SMCR_EVENT_retransmission, NULL);
    if (verdict.silent)
        smcr_event_add(arrival, SMCR_EVENT_silent, NULL);
}

/* Any byte of the packet may be what is wrong: nothing is learned from it but how it fared. */
static void
judge_corrupt(smcr_arrival_t *arrival)
{
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_rdma_flow_t *flow = smcr_rdma_find(rdma_of(arrival->state), roce->source, &roce->target);

    if (!flow)
        return;
    arrival->record->kind = SMCR_RECORD_CORRUPT;
    arrival->record->rdma = flow;
    smcr_event_add(arrival, SMCR_EVENT_icrc_bad, NULL);
    if (flow->traffic && roce->opcode < SMCR_RD)
        judge(arrival, flow);
}

void
smcr_state_foreign(smcr_arrival_t *arrival, const smcr_cm_message_t *message)
{
    smcr_state_learns(arrival->state, arrival->when.frame);
    if (arrival->roce->corrupt) {
        judge_corrupt(arrival);
        return;
    }
    if (message)
        take_in_message(arrival, message);
    smcr_sent_t sent = smcr_outcome_sent(arrival);
    smcr_rdma_flow_t *flow = smcr_rdma_take(rdma_of(arrival->state), arrival->roce, &sent);

    arrival->record->rdma = flow;
    if (flow->conn && !arrival->record->cm)
        arrival->record->cm = *note_of(arrival->state, flow->conn);
    if (arrival->roce->opcode == SMCR_IB_CNP) {
        smcr_outcome_cnp(arrival, flow->traffic, smcr_rdma_reverse(flow));
        return;
    }
    if (flow->traffic)
        smcr_outcome_marks(arrival, flow->traffic, smcr_rdma_reverse(flow));
    if (arrival->roce->opcode >= SMCR_RD) /* no packet of a reliable or unreliable connection */
        return;
    if (smcr_ib_is_response(arrival->roce->opcode)) {
        arrival->record->kind = SMCR_RECORD_ACK;
        smcr_outcome_answer(arrival, smcr_rdma_reverse(flow));
    }
    if (flow->traffic)
        judge(arrival, flow);
}
