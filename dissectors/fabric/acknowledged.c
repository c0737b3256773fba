/* What ACKs, NAKs and other responses prove of the requests that they answer. All PSNs in this file
 * are unwrapped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "acknowledged.h"

/* Whether the packet with the PSN directly before `seen` came after `seen` in the capture. There
 * are two explanations: 1. the network has reordered the two packets; 2. the sender sent the lower
 * PSN later, and the receiver has discarded `seen`. */
static bool
overtook_late_packet(const smcr_flow_t *flow, const smcr_seen_packet_t *seen)
{
    const smcr_seen_packet_t *before = smcr_seen_find(&flow->psn_history, seen->psn - 1);

    return before && before->late && seen->frame < before->frame;
}

/* Does nothing while `expected_psn` is at or below `discarded_up_to`: the receiver has discarded
 * the requests up to there, so they have to be retransmitted first. */
void
smcr_flow_advance_in_order(smcr_flow_t *flow, smcr_psn_t end, bool gone_on)
{
    while (flow->expected_psn < end && flow->expected_psn > flow->discarded_up_to) {
        const smcr_seen_packet_t *seen = smcr_seen_find(&flow->psn_history, flow->expected_psn);
        if (!seen || !seen->had_good_icrc || (!gone_on && overtook_late_packet(flow, seen)))
            break;
        flow->expected_psn++;
    }
}

/* Handles an acknowledgement that covers the requests of `flow` up to `psn`: the receiver has taken
 * in all these requests, even if their packets are missing in the capture. */
static void
cover_up_to(smcr_flow_t *flow, smcr_psn_t psn, uint64_t time)
{
    if (psn <= flow->acked_psn)
        return;
    flow->acked_psn = psn;
    flow->acked_time = time;
    if (flow->unproven && flow->unproven <= psn)
        flow->unproven = psn < flow->highest ? psn + 1 : 0;
    if (MIN(psn, flow->highest) < flow->expected_psn)
        return;
    flow->expected_psn = MIN(psn, flow->highest) + 1;
    smcr_flow_advance_in_order(flow, flow->highest + 1, false);
}

/* Notes that `frame` proves that the receiver has discarded all packets that came after a gap and
 * have PSNs above `psn`. Packets older than the history are left out. */
static void
prove_discarded(smcr_flow_t *flow, smcr_psn_t psn, uint32_t frame)
{
    if (!flow->unproven)
        return;
    smcr_psn_t from = MAX(flow->unproven, psn + 1);
    if (flow->highest >= flow->psn_history.size) /* the history does not keep older PSNs */
        from = MAX(from, flow->highest - flow->psn_history.size + 1);
    for (smcr_psn_t at = from; at <= flow->highest; at++) {
        const smcr_seen_packet_t *seen = smcr_seen_find(&flow->psn_history, at);
        if (smcr_seen_awaits_proof(seen))
            *seen->rare->discard_proof = frame;
    }
    if (flow->unproven > psn)
        flow->unproven = 0;
}

/* Handles a NAK or RNR NAK in `frame` that names `psn`. The NAK proves that the receiver did not
 * have the requests from `psn` on, and has discarded all packets with higher PSNs. So all these
 * PSNs were missing at the receiver until `frame`, even if the capture has their packets before
 * `frame`. */
static void
take_refusal(smcr_flow_t *flow, smcr_psn_t psn, uint32_t frame)
{
    for (unsigned i = 0; i < flow->filled_gaps.count; i++)
        if (flow->filled_gaps.list[i].from >= psn)
            flow->filled_gaps.list[i].frame_before = frame;
    prove_discarded(flow, psn, frame);
    if (psn != flow->refused_psn)
        flow->other_refusal_frame = flow->last_refusal_frame;
    flow->last_refusal_frame = frame;
    flow->refused_psn = psn;
    flow->discarded_up_to = flow->highest;
}

/* A response whose PSN is far from the highest PSN of the flow says nothing about the flow: it
 * belongs to an earlier or later connection of the queue pair. */
smcr_flow_coverage_t
smcr_flow_coverage(const smcr_flow_t *flow, const smcr_sent_t *packet)
{
    bool has_kind = packet->opcode == SMCR_RC_ACK; /* any other response has data, and counts as an
                                                      ACK */
    uint8_t kind = has_kind ? smcr_wire_bits(packet->syndrome, SMCR_MASK_SYNDROME_KIND)
                            : SMCR_IB_SYNDROME_ACK;

    if (!flow->first || (has_kind && !packet->has_aeth) || smcr_flow_is_far(flow, packet->psn))
        return (smcr_flow_coverage_t){.psn = 0};
    smcr_psn_t psn = smcr_psn_near(flow->highest, packet->psn);
    return (smcr_flow_coverage_t){psn, kind == SMCR_IB_SYNDROME_ACK ? psn : psn - 1, kind};
}

/* What a NAK of the kind `kind` (enum smcr_ib_syndrome_kind) with the code `code` means for the
 * sender of the refused request. */
static smcr_step_refusal_t
refusal_of(uint8_t kind, unsigned code)
{
    if (kind == SMCR_IB_SYNDROME_RNR_NAK)
        return SMCR_STEP_NOT_READY;
    return kind == SMCR_IB_SYNDROME_NAK && code == SMCR_IB_NAK_PSN_SEQUENCE
               ? SMCR_STEP_OUT_OF_SEQUENCE : SMCR_STEP_REFUSED_OTHERWISE;
}

/* Notes the highest PSN that the sender has certainly sent, as a NAK or RNR NAK with the code
 * `code` proves. The NAK names a request that the receiver got. A NAK with the code "PSN sequence
 * error" names the first missing PSN instead, and the receiver got a request with a higher PSN. */
static void
note_sent(smcr_flow_t *flow, smcr_flow_coverage_t said, unsigned code)
{
    bool has_later = refusal_of(said.kind, code) == SMCR_STEP_OUT_OF_SEQUENCE;

    flow->sent_psn = MAX(flow->sent_psn, said.psn + has_later);
}

/* Takes in a NAK or RNR NAK. The low bits of the syndrome are the timer of an RNR NAK, or the
 * reason of any other NAK. */
static void
take_nak(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet,
         smcr_flow_coverage_t said)
{
    unsigned code = smcr_wire_bits(packet->syndrome, SMCR_MASK_SYNDROME_CODE);

    if (said.kind == SMCR_IB_SYNDROME_RNR_NAK)
        flow->steps.rnr_timer = (uint64_t)(smcr_ib_rnr_timer_ms(code) * 1e6);
    smcr_steps_nak(&flow->steps, scope, said.psn, refusal_of(said.kind, code), packet->when);
    take_refusal(flow, said.psn, packet->when.frame);
    note_sent(flow, said, code);
}

/* A NAK acknowledges all PSNs before the one that it names, so cover_up_to() is called before
 * take_nak(). An ACK whose AETH is not captured proves nothing. */
void
smcr_flow_take_response(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet)
{
    smcr_flow_coverage_t said = smcr_flow_coverage(flow, packet);

    if (packet->opcode == SMCR_RC_ACK && !packet->has_aeth)
        return;
    flow->has_acks = true;
    if (!flow->first)
        flow->early_ack = (smcr_flow_early_t){true, packet->syndrome, packet->psn, packet->when};
    if (!said.psn)
        return;
    cover_up_to(flow, said.acked_psn, packet->when.time);
    if (said.kind != SMCR_IB_SYNDROME_ACK)
        take_nak(flow, scope, packet, said);
}

/* `early_ack` stays: it shows that packets before the first captured request are missing
 * (state/evidence/flows.c). Since `first` is set now, nothing changes it any more. */
void
smcr_flow_take_early_ack(smcr_flow_t *flow, wmem_allocator_t *scope)
{
    smcr_sent_t packet = {
        .when = flow->early_ack.when,
        .opcode = SMCR_RC_ACK,
        .has_aeth = true,
        .syndrome = flow->early_ack.syndrome,
        .psn = flow->early_ack.psn,
    };

    if (flow->early_ack.known)
        smcr_flow_take_response(flow, scope, &packet);
}

/* ---- retransmissions that the receiver already had ---- */

/* A step shares the fate of the retransmissions before it that have not been answered. A step that
 * goes on after all its packets were answered keeps its fate, which is open again. */
void
smcr_flow_await_repeat(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_step_back_t *step,
                       bool is_counted)
{
    smcr_flow_repeats_t *repeats = &flow->repeats;

    if (!step) {
        if (repeats->count)
            repeats->fate->is_doubtful = true;
        return;
    }
    if (!step->fate)
        step->fate = repeats->count ? repeats->fate : wmem_new0(scope, smcr_step_fate_t);
    repeats->fate = step->fate;
    repeats->fate->needless_frame = 0;
    repeats->fate->is_doubtful |= !is_counted || step->nak.frame;
    repeats->count++;
    repeats->until = flow->highest;
    repeats->joined = repeats->ended_by = 0;
}

/* Handles an acknowledgement, in `frame`, of `psn`, which was acknowledged last: the receiver has
 * got one more request that it already had. If it has answered all retransmissions in this way,
 * none of them was needed. An acknowledgement of a lower PSN than `until` shows that the receiver
 * does not have the higher ones. */
static void
take_repeat(smcr_flow_repeats_t *repeats, smcr_psn_t psn, uint32_t frame)
{
    repeats->count--;
    repeats->fate->is_partial |= psn >= repeats->until;
    if (!repeats->count && !repeats->fate->is_doubtful)
        repeats->fate->needless_frame = frame;
}

/* Handles a response that acknowledges `psn`, above all PSNs that were acknowledged before, or a
 * NAK (`is_refused`). If `psn` was sent after the last retransmission, the receiver has answered
 * all retransmissions that it got. The rest were lost, or were needed. But the request with this
 * PSN may have been retransmitted with them, and its first transmission not be captured
 * (take_late_repeat()). `is_captured`: a captured request has this PSN, or a higher one. */
static void
end_repeats(smcr_flow_repeats_t *repeats, smcr_psn_t psn, bool is_refused, bool is_captured)
{
    bool is_over = psn > repeats->until;

    if (!is_over && !is_refused)
        return;
    repeats->fate->is_doubtful = true;
    if (!is_over)
        return;
    repeats->count = 0;
    repeats->ended_by = psn <= repeats->joined || !is_captured ? psn : 0;
}

/* Handles a response after end_repeats(). A further acknowledgement of the same PSN shows that the
 * receiver has got a request that it already had: some of the retransmissions may not have been
 * needed. `is_original`: the response is certainly no duplicate. */
static void
take_late_repeat(smcr_flow_repeats_t *repeats, smcr_flow_coverage_t said, bool is_original)
{
    bool is_same = said.acked_psn == repeats->ended_by && said.kind == SMCR_IB_SYNDROME_ACK;

    repeats->fate->is_partial |= is_same && is_original;
    if (!is_same)
        repeats->ended_by = 0;
}

/* Compares with the PSN that was acknowledged last, so it is called before
 * smcr_flow_take_response(). Only an ACK shows that a retransmission was needless: the response to
 * a READ or atomic has a PSN of its own. */
void
smcr_flow_settle_repeats(smcr_flow_t *flow, const smcr_sent_t *packet, bool is_original)
{
    if (!flow->repeats.count && !flow->repeats.ended_by) /* as nearly always */
        return;
    smcr_flow_coverage_t said = smcr_flow_coverage(flow, packet);
    bool is_refused = said.kind != SMCR_IB_SYNDROME_ACK;

    if (!said.psn)
        return;
    if (flow->repeats.ended_by) {
        take_late_repeat(&flow->repeats, said, is_original);
        return;
    }
    flow->repeats.fate->is_doubtful |= !is_original;
    if (is_refused || said.acked_psn > flow->acked_psn)
        end_repeats(&flow->repeats, said.acked_psn, is_refused, said.acked_psn <= flow->highest);
    else if (said.acked_psn == flow->acked_psn && packet->opcode == SMCR_RC_ACK)
        take_repeat(&flow->repeats, said.acked_psn, packet->when.frame);
}
