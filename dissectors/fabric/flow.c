/* Judges the packets of a flow. Everything counts in unwrapped PSNs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flow.h"

#define FAR_AHEAD 131072 /* PSNs: no capture lacks more and still tells what comes behind */
#define FAR_BEHIND 16384 /* nobody retransmits what is older */

static smcr_seen_packet_t *
remember(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_psn_t psn, const smcr_sent_t *packet)
{
    uint64_t under_way = flow->acknowledged ? flow->highest - MIN(flow->taken, flow->highest)
                                            : UINT64_MAX;

    return smcr_seen_add(&flow->seen, scope, psn, under_way, packet);
}

/* ---- the beginning ---- */

static void
begin(smcr_flow_t *flow, uint32_t psn)
{
    flow->first = flow->in_order = smcr_psn_begin(psn);
    flow->highest = flow->first - 1;
    flow->taken = 0;
}

void
smcr_flow_start(smcr_flow_t *flow, uint32_t psn)
{
    if (flow->first)
        return;
    begin(flow, psn);
    flow->announced = true;
}

static void
begin_again(smcr_flow_t *flow, uint32_t psn)
{
    flow->gaps.count = 0;
    flow->lacked.count = flow->unheard.count = 0;
    flow->corrupt = 0;
    flow->steps = (smcr_steps_t){0};
    flow->seen = (smcr_seen_t){0};
    flow->reads = NULL;
    flow->unproven = flow->asked = flow->refused = 0;
    flow->announced = flow->acknowledged = false;
    flow->ids = (smcr_ids_t){0};
    flow->mtu = 0;
    begin(flow, psn);
}

static bool
is_far(const smcr_flow_t *flow, uint32_t psn)
{
    int32_t distance = smcr_psn_distance((uint32_t)(flow->highest & SMCR_PSN_MASK), psn);

    return distance > FAR_AHEAD || distance < -FAR_BEHIND;
}

bool
smcr_flow_begins_anew(const smcr_flow_t *flow, uint32_t psn)
{
    return flow->seen.used && is_far(flow, psn);
}

/* ---- identification ---- */

static void
take_id(smcr_ids_t *ids, const smcr_sent_t *packet)
{
    uint16_t id = (uint16_t)packet->ip_id;

    if (packet->ip_id < 0)
        return;
    if (ids->started) {
        ids->differ |= ids->id != id;
        ids->same |= ids->id == id && (ids->psn != packet->psn || ids->opcode != packet->opcode);
    }
    ids->psn = packet->psn;
    ids->opcode = packet->opcode;
    ids->id = id;
    ids->started = true;
}

/* Whether the identification tells if a packet with the PSN of one before is a copy of it: they
 * change, or the flow has had nothing but its first packet, and that has one other than 0. */
static bool
tells_copy(const smcr_ids_t *ids, const smcr_sent_t *packet)
{
    return packet->ip_id >= 0 && !ids->same && (ids->differ || ids->id != 0);
}

/* Whether time tells that the packet is a copy of the request right before it. Nobody sends so soon
 * again what was not refused since; but a READ or an atomic, where a response has come since: its
 * own may be lost. */
static bool
is_soon_again(const smcr_flow_t *flow, const smcr_seen_packet_t *seen, const smcr_sent_t *packet)
{
    smcr_when_t last = smcr_seen_last(seen);

    return flow->steps.before == seen->psn && seen->arrived && !packet->corrupt &&
           (!seen->fetches || (flow->answered_at && flow->answered_at < last.frame)) &&
           flow->refused_at < last.frame && smcr_seen_is_soon(last, packet->when);
}

/* The frame that a packet copies; 0: none. */
static uint32_t
copied_frame(const smcr_flow_t *flow, const smcr_seen_packet_t *seen, const smcr_sent_t *packet)
{
    if (!seen)
        return 0;
    if (!tells_copy(&flow->ids, packet))
        return is_soon_again(flow, seen, packet) ? smcr_seen_last(seen).frame : 0;
    if (!seen->corrupt && seen->id == packet->ip_id)
        return seen->frame;
    return seen->arrived && smcr_seen_last_id(seen) == packet->ip_id ? smcr_seen_last(seen).frame
                                                                     : 0;
}

/* ---- the path MTU, and how many PSNs a READ takes ---- */

static void
rise_to(smcr_flow_t *flow, smcr_psn_t psn)
{
    if (psn > flow->highest)
        flow->highest = psn;
}

static void
set_mtu(smcr_flow_t *flow, uint32_t mtu)
{
    if (!flow || flow->mtu == mtu || mtu == 0)
        return;
    flow->mtu = mtu;
    rise_to(flow, smcr_reads_settle(flow->reads, mtu));
}

/* ---- responses ---- */

/* What comes next in order has come before, and nothing refuses it: only the capture lacked what
 * was before it; or, where the sender has `gone_on`, had it in another order. Up to the packet
 * before `end`. */
static void
catch_up(smcr_flow_t *flow, smcr_psn_t end, bool gone_on)
{
    while (flow->in_order < end && flow->in_order > flow->refused) {
        const smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, flow->in_order);
        const smcr_seen_packet_t *last = smcr_seen_find(&flow->seen, flow->in_order - 1);
        bool ahead = last && last->late && seen && seen->frame < last->frame;
        if (!seen || !seen->arrived || (ahead && !gone_on))
            break;
        flow->in_order++;
    }
}

/* The requests of `flow` up to `psn` have been taken in. */
static void
cover(smcr_flow_t *flow, smcr_psn_t psn)
{
    if (psn <= flow->taken)
        return;
    flow->taken = psn;
    if (flow->unproven && flow->unproven <= psn)
        flow->unproven = psn < flow->highest ? psn + 1 : 0;
    if (MIN(psn, flow->highest) < flow->in_order)
        return;
    flow->in_order = MIN(psn, flow->highest) + 1;
    catch_up(flow, flow->highest + 1, false);
}

/* A NAK in `frame` names `psn`: the receiver has had nothing from there on until now, and has
 * discarded what came behind. */
static void
take_refusal(smcr_flow_t *flow, smcr_psn_t psn, uint32_t frame)
{
    for (unsigned i = 0; i < flow->lacked.count; i++)
        if (flow->lacked.list[i].from >= psn)
            flow->lacked.list[i].after = frame;
    for (smcr_psn_t at = MAX(flow->unproven, psn + 1); flow->unproven && at <= flow->highest;
         at++) {
        const smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, at);
        if (seen && seen->more && seen->more->proof && !*seen->more->proof)
            *seen->more->proof = frame;
    }
    if (flow->unproven > psn)
        flow->unproven = 0;
}

smcr_flow_coverage_t
smcr_flow_coverage(const smcr_flow_t *flow, const smcr_sent_t *packet)
{
    bool plain = packet->opcode == SMCR_RC_ACK;
    uint8_t kind = plain ? smcr_wire_bits(packet->syndrome, SMCR_MASK_SYNDROME_KIND)
                         : SMCR_IB_SYNDROME_ACK;

    if (!flow->first || (plain && !packet->has_aeth) || is_far(flow, packet->psn))
        return (smcr_flow_coverage_t){.psn = 0};
    smcr_psn_t psn = smcr_psn_near(flow->highest, packet->psn);
    return (smcr_flow_coverage_t){psn, kind == SMCR_IB_SYNDROME_ACK ? psn : psn - 1, kind};
}

/* A response to the requests of `flow`. */
static void
take_response(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet)
{
    smcr_flow_coverage_t said = smcr_flow_coverage(flow, packet);

    if (packet->opcode == SMCR_RC_ACK && !packet->has_aeth)
        return;
    flow->acknowledged = true;
    if (!flow->first)
        flow->early = (smcr_flow_early_t){true, packet->syndrome, packet->psn, packet->when};
    if (!said.psn)
        return;
    cover(flow, said.taken);
    if (said.kind == SMCR_IB_SYNDROME_ACK)
        return;
    flow->refused_at = packet->when.frame;
    int code = smcr_wire_bits(packet->syndrome, SMCR_MASK_SYNDROME_CODE);
    if (said.kind == SMCR_IB_SYNDROME_RNR_NAK)
        flow->steps.rnr_timer = (uint64_t)(smcr_ib_rnr_timer_ms((unsigned)code) * 1e6);
    smcr_steps_nak(&flow->steps, scope, said.psn, said.kind == SMCR_IB_SYNDROME_RNR_NAK,
                   said.kind == SMCR_IB_SYNDROME_NAK && code == SMCR_IB_NAK_PSN_SEQUENCE,
                   packet->when);
    take_refusal(flow, said.psn, packet->when.frame);
    flow->asked = said.psn;
    flow->refused = flow->highest;
}

static void
take_early(smcr_flow_t *flow, wmem_allocator_t *scope)
{
    smcr_sent_t packet = {
        .when = flow->early.when,
        .opcode = SMCR_RC_ACK,
        .has_aeth = true,
        .syndrome = flow->early.syndrome,
        .psn = flow->early.psn,
    };

    if (flow->early.known)
        take_response(flow, scope, &packet);
}

/* ---- order ---- */

/* The PSNs up to the one before `to` are absent; the frame is the first packet behind them. */
static void
add_gap(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_psn_t from, smcr_psn_t to, uint32_t frame)
{
    smcr_range_t gap = {from, to, flow->newest, frame};

    smcr_ranges_append(&flow->gaps, scope, SMCR_FLOW_GAPS_KEPT, gap);
}

/* `psn` has come after all. */
static void
fill_gap(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_psn_t psn)
{
    smcr_ranges_remove(&flow->gaps, scope, SMCR_FLOW_GAPS_KEPT, psn, psn + 1);
}

static bool
is_late(const smcr_flow_t *flow, smcr_psn_t psn)
{
    return !smcr_seen_find(&flow->seen, psn) &&
           !smcr_reads_find(flow->reads, psn) &&
           (psn < flow->first || smcr_ranges_find(&flow->gaps, psn, psn + 1));
}

/* A PSN above all before it. */
static void
take_new(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet,
         smcr_flow_verdict_t *verdict)
{
    smcr_psn_t psn = verdict->psn;

    rise_to(flow, smcr_reads_end(flow->reads, psn));
    if (flow->highest + 1 < psn) {
        verdict->absent = (uint32_t)(psn - flow->highest - 1);
        add_gap(flow, scope, flow->highest + 1, psn, packet->when.frame);
    }
    const smcr_range_t *gap = NULL; /* the oldest one before it that is not acknowledged */
    if (packet->opcode < SMCR_RC_OPCODES && !packet->corrupt && flow->acknowledged)
        gap = smcr_ranges_find(&flow->gaps, MAX(flow->taken + 1, flow->first), psn);
    bool behind = gap && gap->frame;
    verdict->gap_frame = gap ? gap->frame : 0;
    verdict->order = behind ? SMCR_FLOW_IS_BEHIND : SMCR_FLOW_IS_NEXT;
    flow->highest = psn;
    flow->newest = packet->when.frame;
    if (packet->corrupt && !flow->corrupt)
        flow->corrupt = psn;
    smcr_seen_packet_t *seen = remember(flow, scope, psn, packet);
    if (behind && seen) {
        verdict->discarded = smcr_seen_rare(seen, scope)->proof = wmem_new0(scope, uint32_t);
        flow->unproven = flow->unproven ? flow->unproven : psn;
    }
    if (packet->opcode == SMCR_RC_READ_REQUEST)
        rise_to(flow, smcr_reads_add(&flow->reads, scope, psn, packet, flow->mtu));
}

static void
take_late(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet,
          smcr_flow_verdict_t *verdict)
{
    smcr_psn_t psn = verdict->psn;
    const smcr_range_t *gap = smcr_ranges_find(&flow->gaps, psn, psn + 1);

    verdict->order = SMCR_FLOW_IS_LATE;
    verdict->overtaken_by = gap ? gap->frame : 0;
    bool asked = flow->asked && flow->asked <= psn; /* a receiver that did not have it */
    uint32_t after = gap ? MAX(gap->after, asked ? flow->refused_at : 0) : 0;
    if (gap)
        smcr_ranges_append(&flow->lacked, scope, SMCR_FLOW_LACKED_KEPT,
                           (smcr_range_t){psn, psn + 1, after, packet->when.frame});
    if (!packet->corrupt)
        fill_gap(flow, scope, verdict->psn);
    verdict->original = false;
    smcr_seen_packet_t *seen = remember(flow, scope, verdict->psn, packet);
    if (seen)
        seen->late = true;
    if (packet->opcode != SMCR_RC_READ_REQUEST || packet->corrupt)
        return;
    smcr_psn_t last = smcr_reads_add_late(&flow->reads, scope, verdict->psn, packet, flow->mtu);
    while (++psn <= MIN(last, flow->highest))
        fill_gap(flow, scope, psn);
    rise_to(flow, last);
}

/* Sent for the fourth time: three repeats without an answer since the first. */
static bool
is_silence(smcr_flow_t *flow, const smcr_flow_t *reverse, smcr_seen_rare_t *seen)
{
    enum { REPEATS = 3 };

    if (!reverse || !reverse->carried)
        return false;
    if (seen->reverse_packets_before != reverse->carried) {
        seen->reverse_packets_before = reverse->carried;
        seen->repeats = 0;
    }
    if (seen->repeats < REPEATS)
        seen->repeats++;
    if (seen->repeats < REPEATS || flow->silent_at == reverse->carried)
        return false;
    flow->silent_at = reverse->carried;
    return true;
}

/* When the PSN was first taken, frame 0: forgotten. Of one within a READ, the READ. */
static smcr_when_t
first_of(const smcr_flow_t *flow, smcr_psn_t psn)
{
    smcr_psn_t read = smcr_reads_find(flow->reads, psn);
    const smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, read ? read : psn);
    return seen ? (smcr_when_t){seen->frame, seen->time}
                : smcr_reads_sent(flow->reads, read == psn ? 0 : read);
}

/* A packet with a right ICRC repeats `psn` and the rest of its READ: maybe the first such one. */
static void
arrive(smcr_flow_t *flow, wmem_allocator_t *scope, smcr_psn_t psn)
{
    smcr_psn_t read = smcr_reads_find(flow->reads, psn);

    do
        fill_gap(flow, scope, psn++);
    while (read && psn <= flow->highest && smcr_reads_find(flow->reads, psn) == read);
    if (flow->corrupt && flow->corrupt < psn)
        flow->corrupt = psn <= flow->highest ? psn : 0;
}

static void
take_repeat(smcr_flow_t *flow, const smcr_flow_t *reverse, wmem_allocator_t *scope,
            const smcr_sent_t *packet, smcr_flow_verdict_t *verdict)
{
    smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, verdict->psn);

    verdict->order = SMCR_FLOW_IS_REPEAT;
    verdict->taken = flow->taken >= verdict->psn;
    verdict->first = first_of(flow, verdict->psn);
    verdict->original = seen && seen->frame == verdict->first.frame && !seen->late;
    if (!packet->corrupt && (!seen || !seen->arrived))
        arrive(flow, scope, verdict->psn);
    if (seen && !verdict->taken && verdict->psn < flow->in_order) /* perhaps lost on its way */
        smcr_ranges_add(&flow->unheard, scope, SMCR_FLOW_LACKED_KEPT, seen->frame,
                        packet->when.frame);
    if (!seen) { /* within a READ: from now on it has a slot of its own */
        remember(flow, scope, verdict->psn, packet);
        return;
    }
    smcr_seen_rare_t *more = smcr_seen_rare(seen, scope);
    if (more->proof && !*more->proof && !verdict->taken)
        *more->proof = packet->when.frame;
    verdict->refused = more->proof && *more->proof;
    verdict->replaces = !seen->arrived && !packet->corrupt;
    if (!packet->corrupt) {
        seen->arrived = true;
        smcr_seen_again(seen, scope, packet);
    }
    verdict->silent = packet->opcode < SMCR_RC_OPCODES && is_silence(flow, reverse, more);
}

/* ---- what becomes of it ---- */

/* Whether the receiver takes in the request next: what is before it was taken in, or is the rest of
 * a READ. Where nobody acknowledges, what has not come is missing in the capture. */
static bool
is_expected(const smcr_flow_t *flow, const smcr_flow_verdict_t *verdict)
{
    smcr_psn_t psn = verdict->psn;
    smcr_psn_t read = psn > flow->in_order ? smcr_reads_find(flow->reads, psn - 1) : 0;

    return psn == flow->in_order || (read && read < flow->in_order) ||
           (!flow->acknowledged && verdict->order == SMCR_FLOW_IS_NEXT);
}

static smcr_flow_fate_t
fate_of(smcr_flow_t *flow, const smcr_sent_t *packet, const smcr_flow_verdict_t *verdict)
{
    bool is_known = verdict->order == SMCR_FLOW_IS_REPEAT && !verdict->replaces;
    bool reliable = packet->opcode < SMCR_RC_OPCODES;

    if (packet->corrupt)
        return SMCR_FLOW_FATE_DROP;
    if (verdict->order == SMCR_FLOW_IS_NEXT) /* the sender has gone on */
        catch_up(flow, verdict->psn, true);
    if (verdict->psn < flow->in_order)
        return is_known ? SMCR_FLOW_FATE_DROP : SMCR_FLOW_FATE_TOO_LATE;
    if (reliable && !is_expected(flow, verdict)) {
        /* a receiver that waits for what it has asked for throws away what is behind it */
        if (!is_known && flow->asked >= flow->in_order)
            flow->refused = MAX(flow->refused, verdict->psn);
        return is_known ? SMCR_FLOW_FATE_DROP : SMCR_FLOW_FATE_WAIT;
    }
    flow->in_order = verdict->psn + 1;
    return SMCR_FLOW_FATE_TAKE;
}

static void
take_step(smcr_flow_t *flow, const smcr_flow_t *reverse, wmem_allocator_t *scope,
          const smcr_sent_t *packet, smcr_psn_t highest, smcr_flow_verdict_t *verdict)
{
    smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, verdict->psn);
    bool repeat = verdict->order == SMCR_FLOW_IS_REPEAT;
    smcr_psn_t read = smcr_reads_find(flow->reads, verdict->psn);
    smcr_step_request_t request = {
        .psn = verdict->psn,
        .highest = highest,
        .taken = MAX(flow->taken, flow->first - 1),
        .when = packet->when,
        .id = (uint16_t)packet->ip_id,
        .step = repeat && seen && seen->more ? seen->more->step : 0,
        .candidate_step = repeat && seen && seen->more ? seen->more->candidate_step : 0,
        .repeat = repeat,
        .late = verdict->order == SMCR_FLOW_IS_LATE,
        .proven = verdict->psn <= highest && verdict->first.frame && packet->ip_id >= 0 &&
                  flow->ids.differ && !flow->ids.same,
        .read = repeat && packet->opcode == SMCR_RC_READ_REQUEST && read != 0,
        .within = repeat && packet->opcode == SMCR_RC_READ_REQUEST && read != verdict->psn,
        .reverse_has_carried = reverse && reverse->carried,
    };

    verdict->step = smcr_steps_take(&flow->steps, scope, &request);
    if (seen && (seen->more || request.step || request.candidate_step)) {
        smcr_seen_rare_t *more = smcr_seen_rare(seen, scope);
        more->step = request.step;
        more->candidate_step = request.candidate_step;
    }
}

/* Finds the place of a request among those of the flow, or begins anew with it. */
static void
unwrap(smcr_flow_t *flow, wmem_allocator_t *scope, const smcr_sent_t *packet,
       smcr_flow_verdict_t *verdict)
{
    if (packet->corrupt) {
        verdict->psn = flow->first ? smcr_psn_near(flow->highest, packet->psn) : 0;
        return;
    }
    if (!flow->first) {
        begin(flow, packet->psn);
        take_early(flow, scope);
    } else if (is_far(flow, packet->psn)) {
        begin_again(flow, packet->psn);
        take_id(&flow->ids, packet);
    }
    verdict->psn = smcr_psn_near(flow->highest, packet->psn);
}

/* Whether `psn` comes behind the highest, or, of a retransmission, behind the request before. */
static bool
comes_next(const smcr_flow_t *flow, smcr_psn_t psn)
{
    smcr_psn_t before = flow->steps.before;
    smcr_psn_t read = smcr_reads_find(flow->reads, before);

    return flow->first &&
           (psn == flow->highest + 1 || (before < flow->highest && psn == before + 1 &&
                                         !(read && smcr_reads_find(flow->reads, psn) == read)));
}

/* A request that is no copy. */
static void
take_own(smcr_flow_t *flow, const smcr_flow_t *reverse, wmem_allocator_t *scope,
         const smcr_sent_t *packet, smcr_flow_verdict_t *verdict)
{
    smcr_psn_t highest = flow->highest, psn = verdict->psn;

    if (!packet->corrupt && flow->corrupt && psn >= flow->corrupt) {
        if (flow->corrupt < psn) /* those with wrong ICRCs before this right one become a gap */
            add_gap(flow, scope, flow->corrupt, MIN(psn, highest + 1), packet->when.frame);
        flow->corrupt = psn < highest ? psn + 1 : 0;
    }
    if (verdict->psn > highest)
        take_new(flow, scope, packet, verdict);
    else if (is_late(flow, verdict->psn))
        take_late(flow, scope, packet, verdict);
    else
        take_repeat(flow, reverse, scope, packet, verdict);
    if (packet->opcode < SMCR_RC_OPCODES)
        take_step(flow, reverse, scope, packet, highest, verdict);
    verdict->fate = fate_of(flow, packet, verdict);
}

static void
take_request(smcr_flow_t *flow, const smcr_flow_t *reverse, wmem_allocator_t *scope,
             const smcr_sent_t *packet, smcr_flow_verdict_t *verdict)
{
    unwrap(flow, scope, packet, verdict);
    const smcr_seen_packet_t *seen = smcr_seen_find(&flow->seen, verdict->psn);
    uint32_t copied = copied_frame(flow, seen, packet);

    if (copied) {
        verdict->order = SMCR_FLOW_IS_COPY;
        verdict->fate = SMCR_FLOW_FATE_DROP;
        verdict->first = (smcr_when_t){copied, seen->time};
    } else if (packet->corrupt && !comes_next(flow, verdict->psn)) {
        verdict->fate = SMCR_FLOW_FATE_DROP; /* its PSN may be what is wrong */
    } else {
        take_own(flow, reverse, scope, packet, verdict);
    }
}

/* ---- packets ---- */

smcr_flow_verdict_t
smcr_flow_take(smcr_flow_t *flow, smcr_flow_t *reverse, wmem_allocator_t *scope,
               const smcr_sent_t *packet)
{
    smcr_flow_verdict_t verdict = {.first = packet->when, .original = true};
    smcr_response_grounds_t grounds = {.heard = reverse ? reverse->carried : 0};
    uint8_t operation = packet->opcode & (uint8_t)~SMCR_MASK_SERVICE;
    bool is_request = packet->opcode < SMCR_RD && !smcr_ib_is_response(operation), copy;

    if (!packet->corrupt) {
        take_id(&flow->ids, packet);
        if (smcr_ib_is_full(operation)) {
            set_mtu(flow, packet->payload_length);
            set_mtu(reverse, packet->payload_length);
        }
    }
    grounds.by_id = tells_copy(&flow->ids, packet);
    if (packet->corrupt && !is_request) {
        verdict.fate = SMCR_FLOW_FATE_DROP; /* it answers nothing */
    } else if (smcr_ib_is_response(packet->opcode)) {
        uint32_t before = smcr_responses_take(&flow->responses, scope, packet, grounds, &copy);
        if (before) {
            verdict.order = copy ? SMCR_FLOW_IS_COPY : SMCR_FLOW_IS_REPEAT;
            verdict.first = (smcr_when_t){before, 0};
        }
        if (reverse && !copy) {
            reverse->answered_at = packet->when.frame;
            take_response(reverse, scope, packet);
        }
    } else {
        take_request(flow, reverse, scope, packet, &verdict);
    }
    flow->carried += verdict.order != SMCR_FLOW_IS_COPY && !packet->corrupt;
    return verdict;
}

const smcr_seen_packet_t *
smcr_flow_seen(const smcr_flow_t *flow, uint32_t psn)
{
    return flow->first ? smcr_seen_find(&flow->seen, smcr_psn_near(flow->highest, psn)) : NULL;
}
