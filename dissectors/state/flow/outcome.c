/* Writes the verdicts of fabric/ into the records of packets, and makes events of the verdicts. For
 * packets of RDMA connections that are not SMC-R, the state learns nothing else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "outcome.h"
#include "state/model/store.h"

/* The arriving packet, in the form that the functions of fabric/ take. They know nothing else of
 * the packet. */
static smcr_sent_t
sent_of(const smcr_arrival_t *arrival)
{
    const smcr_ib_headers_t *roce = arrival->roce;

    return (smcr_sent_t){
        .when = arrival->when,
        .opcode = roce->opcode,
        .syndrome = roce->syndrome,
        .has_aeth = roce->has_aeth,
        .psn = roce->psn,
        .payload_length = (uint32_t)roce->payload_length,
        .dma_length = roce->dma_length,
        .ip_id = roce->ip_id,
        .hop_limit = roce->hop_limit,
        .corrupt = roce->has_bad_icrc,
        .goes_on = arrival->goes_on,
    };
}

/* ---- responses ---- */

/* Reports a NAK or RNR NAK. Of the NAK codes only "PSN sequence error" asks for a
 * retransmission. */
static void
report_nak(const smcr_arrival_t *arrival)
{
    static const char *const reasons[SMCR_MASK_SYNDROME_CODE + 1] = {
        SMCR_IB_NAK_CODES(SMCR_WIRE_TEXT_ROW)};
    int kind = smcr_wire_bits(arrival->roce->syndrome, SMCR_MASK_SYNDROME_KIND);
    unsigned code = smcr_wire_bits(arrival->roce->syndrome, SMCR_MASK_SYNDROME_CODE);
    const char *reason = reasons[code] ? reasons[code] : "unknown reason";
    const char *does = code == SMCR_IB_NAK_PSN_SEQUENCE ? "waits for" : "refuses";

    if (arrival->roce->opcode != SMCR_RC_ACK || !arrival->roce->has_aeth)
        return;
    if (kind == SMCR_IB_SYNDROME_NAK)
        smcr_event_add(arrival, SMCR_EVENT_nak, "NAK, %s: the receiver %s PSN %u", reason, does,
                       arrival->roce->psn);
    else if (kind == SMCR_IB_SYNDROME_RNR_NAK)
        smcr_event_add(arrival, SMCR_EVENT_rnr_nak, NULL);
}

/* Reads the flow before smcr_outcome_judge() changes it. */
smcr_traffic_answer_t
smcr_outcome_answer(const smcr_arrival_t *arrival, smcr_traffic_t *requests)
{
    smcr_record_t *record = arrival->record;
    smcr_sent_t sent = sent_of(arrival);
    smcr_traffic_answer_t answer = {.acked_psn = 0};

    report_nak(arrival);
    if (requests)
        answer = smcr_traffic_read_response(requests, &arrival->state->entries, &sent);
    if (answer.acked_request.frame)
        record->acks = (smcr_record_wait_t){
            .frame = answer.acked_request.frame,
            .is_ambiguous = answer.was_retransmitted,
            .time = answer.acked_before ? SMCR_RECORD_NO_TIME
                                        : arrival->when.time - answer.acked_request.time,
        };
    record->refuses = answer.refused_request.frame;
    record->completed_messages = answer.completes;
    return answer;
}

/* ---- order ---- */

/* The members of the record are narrower than the enums: a new value has to fit into the masks. */
smcr_flow_verdict_t
smcr_outcome_judge(smcr_arrival_t *arrival, smcr_traffic_t *traffic, smcr_traffic_t *reverse)
{
    smcr_record_t *record = arrival->record;
    smcr_sent_t sent = sent_of(arrival);
    smcr_flow_verdict_t verdict =
        smcr_traffic_judge(traffic, reverse, arrival->state->scope, &sent);
    bool before =
        verdict.order == SMCR_FLOW_IS_RETRANSMISSION || verdict.order == SMCR_FLOW_IS_COPY;

    record->order = verdict.order & 0x7;
    record->receiver_action = verdict.receiver_action & 0x3;
    record->was_acked = verdict.acked_before || verdict.is_old;
    record->was_discarded = verdict.first_discarded || verdict.first_missing;
    record->first_frame = before ? verdict.first.frame : verdict.overtaken_by;
    record->first_time = verdict.order == SMCR_FLOW_IS_RETRANSMISSION ? verdict.first.time : 0;
    record->missing_before = verdict.missing;
    record->gap_frame = verdict.after_gap_frame;
    record->step = verdict.step;
    record->discard_proof_frame = verdict.discard_proof;
    arrival->psn = verdict.psn;
    arrival->replaces_corrupt = verdict.first_good;
    arrival->refused_frame = verdict.refused_frame;
    arrival->first_sent = verdict.original ? verdict.first : (smcr_when_t){0, 0};
    if (verdict.order == SMCR_FLOW_IS_COPY)
        smcr_event_add(arrival, SMCR_EVENT_copy, NULL);
    if (verdict.missing)
        smcr_event_add(arrival, SMCR_EVENT_absent, NULL);
    return verdict;
}

/* ---- congestion ---- */

void
smcr_outcome_marks(const smcr_arrival_t *arrival, smcr_traffic_t *traffic, smcr_traffic_t *reverse)
{
    if (smcr_ib_has_mark(arrival->roce))
        arrival->record->ce = smcr_ecn_take_ce(&traffic->marks, reverse ? &reverse->marks : NULL,
                                               arrival->state->scope, arrival->when);
}

/* The record keeps the pointer to the CNP, so later packets can complete it. */
void
smcr_outcome_cnp(const smcr_arrival_t *arrival, smcr_traffic_t *traffic, smcr_traffic_t *reverse)
{
    smcr_ecn_cnp_t *cnp = smcr_state_alloc0(arrival->state, sizeof *cnp);

    cnp->when = arrival->when;
    smcr_ecn_take_cnp(&traffic->marks, reverse ? &reverse->marks : NULL, arrival->state->scope,
                      cnp);
    arrival->record->kind = SMCR_RECORD_CNP;
    arrival->record->cnp = cnp;
    smcr_event_add(arrival, SMCR_EVENT_cnp, NULL);
}

/* ---- not SMC-R ---- */

/* The object with the flows and connections of RDMA that is not SMC-R. The first call makes the
 * object. */
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

/* Pointer to the last verdict of the RDMA-CM connection (`cm_notes`). The verdict is NULL if the
 * connection has had none. */
static const smcr_record_cm_t **
note_of(smcr_state_t *state, const smcr_cm_conn_t *conn)
{
    const smcr_record_cm_t *none = NULL;

    while (wmem_array_get_count(state->cm_notes) <= conn->index)
        wmem_array_append_one(state->cm_notes, none);
    return wmem_array_index(state->cm_notes, conn->index);
}

/* Takes in a message of RDMA-CM: fabric/peers/ follows the state of the RDMA-CM connection.
 * (InfiniBand 12.9) A message that names no connection sets only the kind of its record. */
static void
take_in_cm_message(const smcr_arrival_t *arrival, const smcr_cm_message_t *message)
{
    smcr_cm_packet_t packet = {
        .when = arrival->when,
        .source = arrival->roce->source,
        .target = arrival->roce->destination.gid,
        .network = arrival->roce->outer.network,
        .message = message,
        .has_good_icrc = true,
    };
    smcr_cm_verdict_t verdict = smcr_rdma_take_cm(rdma_of(arrival->state), &packet);

    arrival->record->kind = SMCR_RECORD_CM;
    if (!verdict.conn)
        return;
    smcr_record_cm_t *note = smcr_state_alloc0(arrival->state, sizeof *note);
    *note = verdict;
    arrival->record->cm = *note_of(arrival->state, verdict.conn) = note;
    if (verdict.retransmission_of)
        smcr_event_add(arrival, SMCR_EVENT_cm_repeat, NULL);
    if (verdict.unexpected_sent || verdict.unexpected_received)
        smcr_event_add(arrival, SMCR_EVENT_cm_unexpected, NULL);
}

/* ---- data and acknowledgements ---- */

/* Judges the order of a packet in its flow. Reports a retransmitted request, and a peer that has
 * stopped answering. */
static void
judge_flow_packet(smcr_arrival_t *arrival, smcr_rdma_flow_t *flow)
{
    smcr_flow_verdict_t verdict =
        smcr_outcome_judge(arrival, flow->traffic, smcr_rdma_reverse(flow));

    if (verdict.order == SMCR_FLOW_IS_RETRANSMISSION &&
        !smcr_ib_operations[arrival->roce->opcode].is_response)
        smcr_event_add(arrival, SMCR_EVENT_retransmission, NULL);
    if (verdict.peer_silent)
        smcr_event_add(arrival, SMCR_EVENT_silent, NULL);
}

/* Learns a packet with a wrong ICRC. Any byte of the packet may be wrong, so only its order is
 * judged, and only if its flow is known already. */
static void
judge_corrupt(smcr_arrival_t *arrival)
{
    const smcr_ib_headers_t *roce = arrival->roce;
    smcr_rdma_flow_t *flow = smcr_rdma_find(rdma_of(arrival->state), roce);

    if (!flow)
        return;
    arrival->record->kind = SMCR_RECORD_CORRUPT;
    arrival->record->rdma = flow;
    smcr_event_add(arrival, SMCR_EVENT_icrc_bad, NULL);
    if (flow->traffic && roce->opcode < SMCR_RD)
        judge_flow_packet(arrival, flow);
}

/* Takes in a packet of the flow that is no congestion notification. Opcodes from SMCR_RD on belong
 * neither to reliable nor to unreliable connections, so their PSNs have no order. */
static void
take_in_flow_packet(smcr_arrival_t *arrival, smcr_rdma_flow_t *flow)
{
    if (flow->traffic)
        smcr_outcome_marks(arrival, flow->traffic, smcr_rdma_reverse(flow));
    if (arrival->roce->opcode >= SMCR_RD)
        return;
    if (smcr_ib_operations[arrival->roce->opcode].is_response) {
        arrival->record->kind = SMCR_RECORD_ACK;
        smcr_outcome_answer(arrival, smcr_rdma_reverse(flow));
    }
    if (flow->traffic)
        judge_flow_packet(arrival, flow);
}

/* A message of RDMA-CM is taken in before its packet, since it may announce the first PSN of a
 * flow. */
void
smcr_state_foreign(smcr_arrival_t *arrival, const smcr_cm_message_t *message)
{
    smcr_state_learns(arrival->state, arrival->when.frame);
    if (arrival->roce->has_bad_icrc) {
        judge_corrupt(arrival);
        return;
    }
    if (message)
        take_in_cm_message(arrival, message);
    smcr_sent_t sent = sent_of(arrival);
    smcr_rdma_flow_t *flow = smcr_rdma_take_packet(rdma_of(arrival->state), arrival->roce, &sent);

    arrival->record->rdma = flow;
    if (flow->conn && !arrival->record->cm)
        arrival->record->cm = *note_of(arrival->state, flow->conn);
    if (arrival->roce->opcode == SMCR_IB_CNP)
        smcr_outcome_cnp(arrival, flow->traffic, smcr_rdma_reverse(flow));
    else
        take_in_flow_packet(arrival, flow);
}
