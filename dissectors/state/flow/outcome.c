/* outcome.c
 * From the verdicts of fabric/ to records and events.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "message_flow.h"

smcr_sent_t
smcr_outcome_sent(const smcr_arrival_t *arrival)
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
        .corrupt = roce->corrupt,
    };
}

/* ---- responses ---- */

static void
tell_nak(const smcr_arrival_t *arrival)
{
    static const char *const reasons[SMCR_MASK_SYNDROME_CODE + 1] = {
        SMCR_IB_NAK_CODES(SMCR_WIRE_TEXT_ROW)};
    int kind = smcr_wire_bits(arrival->roce->syndrome, SMCR_MASK_SYNDROME_KIND);
    unsigned code = smcr_wire_bits(arrival->roce->syndrome, SMCR_MASK_SYNDROME_CODE);

    if (arrival->roce->opcode != SMCR_RC_ACK || !arrival->roce->has_aeth)
        return;
    if (kind == SMCR_IB_SYNDROME_NAK)
        smcr_event_add(arrival, SMCR_EVENT_nak, "NAK, %s: the receiver %s PSN %u",
                       reasons[code] ? reasons[code] : "unknown reason",
                       code == SMCR_IB_NAK_PSN_SEQUENCE ? "waits for" : "refuses",
                       arrival->roce->psn);
    else if (kind == SMCR_IB_SYNDROME_RNR_NAK)
        smcr_event_add(arrival, SMCR_EVENT_rnr_nak, NULL);
}

smcr_traffic_answer_t
smcr_outcome_answer(const smcr_arrival_t *arrival, smcr_traffic_t *requests)
{
    smcr_record_t *record = arrival->record;
    smcr_sent_t sent = smcr_outcome_sent(arrival);
    smcr_traffic_answer_t answer = {.taken = 0};

    tell_nak(arrival);
    if (requests)
        answer = smcr_traffic_answer(requests, &arrival->state->entries, &sent);
    if (answer.acks.frame)
        record->acks = (smcr_record_wait_t){
            .frame = answer.acks.frame,
            .is_ambiguous = answer.sent_again,
            .time = answer.again ? SMCR_RECORD_NO_TIME : arrival->when.time - answer.acks.time,
        };
    record->refuses = answer.refuses.frame;
    record->completes = answer.completes;
    return answer;
}

/* ---- order ---- */

smcr_flow_verdict_t
smcr_outcome_judge(smcr_arrival_t *arrival, smcr_traffic_t *traffic, smcr_traffic_t *reverse)
{
    smcr_record_t *record = arrival->record;
    smcr_sent_t sent = smcr_outcome_sent(arrival);
    smcr_flow_verdict_t verdict = smcr_traffic_take(traffic, reverse, arrival->state->scope, &sent);
    bool before = verdict.order == SMCR_FLOW_IS_REPEAT || verdict.order == SMCR_FLOW_IS_COPY;

    record->order = verdict.order & 0x7;
    record->fate = verdict.fate & 0x3;
    record->taken = verdict.taken;
    record->refused = verdict.refused;
    record->first_frame = before ? verdict.first.frame : verdict.overtaken_by;
    record->missing = verdict.absent;
    record->gap_frame = verdict.gap_frame;
    record->step = verdict.step;
    record->discarded = verdict.discarded;
    arrival->psn = verdict.psn;
    arrival->replaces = verdict.replaces;
    arrival->sent = verdict.original ? verdict.first : (smcr_when_t){0, 0};
    if (verdict.order == SMCR_FLOW_IS_COPY)
        smcr_event_add(arrival, SMCR_EVENT_copy, NULL);
    if (verdict.absent)
        smcr_event_add(arrival, SMCR_EVENT_absent, NULL);
    return verdict;
}

/* ---- congestion ---- */

void
smcr_outcome_marks(const smcr_arrival_t *arrival, smcr_traffic_t *traffic,
                   const smcr_traffic_t *reverse)
{
    if (arrival->roce->ecn == SMCR_WIRE_ECN_CE)
        arrival->record->ce = smcr_ecn_take_ce(&traffic->marks, reverse ? &reverse->marks : NULL,
                                               arrival->state->scope, arrival->when);
}

void
smcr_outcome_cnp(const smcr_arrival_t *arrival, smcr_traffic_t *traffic, smcr_traffic_t *reverse)
{
    smcr_ecn_cnp_t *cnp = smcr_state_alloc0(arrival->state, sizeof *cnp);

    *cnp = smcr_ecn_take_cnp(&traffic->marks, reverse ? &reverse->marks : NULL, arrival->when);
    arrival->record->kind = SMCR_RECORD_CNP;
    arrival->record->cnp = cnp;
    smcr_event_add(arrival, SMCR_EVENT_cnp, NULL);
}
