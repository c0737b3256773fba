/* Finds steps back and their causes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flow.h"

/* ---- NAKs ---- */

static smcr_step_nak_t *
nak_of(smcr_steps_t *steps, smcr_psn_t psn)
{
    for (unsigned i = 0; steps->naks && i < SMCR_STEP_NAKS_KEPT; i++)
        if (steps->naks[i].psn == psn)
            return &steps->naks[i];
    return NULL;
}

void
smcr_steps_nak(smcr_steps_t *steps, wmem_allocator_t *scope, smcr_psn_t psn, bool rnr,
               bool sequence, smcr_when_t when)
{
    smcr_step_nak_t *nak = nak_of(steps, psn);

    if (!rnr && !sequence)
        return;
    if (!steps->naks)
        steps->naks = wmem_alloc0_array(scope, smcr_step_nak_t, SMCR_STEP_NAKS_KEPT);
    smcr_step_nak_t all = nak ? *nak : (smcr_step_nak_t){.psn = psn};
    smcr_step_nak_t *out = nak ? nak : steps->naks; /* else the oldest */
    smcr_step_nak_t *last = &steps->naks[SMCR_STEP_NAKS_KEPT - 1];
    memmove(out, out + 1, (size_t)(last - out) * sizeof *out);
    nak = last;
    *nak = all;
    nak->step = steps->number;
    steps->arrivals++;
    if (rnr || !nak->rnr)
        nak->when = when;
    nak->rnr |= rnr;
    nak->fresh = true;
    steps->busy = when.time;
}

/* The NAK that makes the sender retransmit the request: it names its PSN, or one before that is
 * still to be retransmitted. NULL: there is none. */
static const smcr_step_nak_t *
find_nak(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    const smcr_step_nak_t *found = NULL;

    for (unsigned i = 0; steps->naks && i < SMCR_STEP_NAKS_KEPT; i++) {
        const smcr_step_nak_t *nak = &steps->naks[i];
        bool open = nak->psn == request->psn || nak->psn > request->taken;
        if (nak->psn && nak->psn <= request->psn && open && (!found || nak->psn > found->psn))
            found = nak;
    }
    return found;
}

/* ---- steps ---- */

/* Whether its identification is as far from the step's highest packet as the request is. */
static bool
is_in_line(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    return request->proven &&
           (uint16_t)(request->id - steps->position_id - request->psn + steps->position) == 0;
}

static bool
is_in_step(smcr_steps_t *steps, const smcr_step_request_t *request)
{
    smcr_psn_t psn = request->psn;
    bool over = steps->passed && steps->end <= request->taken;
    bool sent = request->step == steps->number || request->candidate_step == steps->number;
    const smcr_step_nak_t *nak = nak_of(steps, psn);
    bool asked = nak && nak->step == steps->number &&
                 !(request->late && is_in_line(steps, request));
    bool behind = request->proven && (int16_t)(request->id - steps->position_id) > 0;

    return steps->step && !over && !asked && !request->within && psn >= steps->first &&
           psn <= steps->end && !request->waited && (psn > steps->position || !(sent || behind));
}

/* Whether a NAK in the step, or one that the capture lacks, may be why the request comes. */
static bool
is_doubtful(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    const smcr_step_nak_t *nak = find_nak(steps, request);
    bool below = request->psn < steps->position;
    bool slow = below && request->when.time > steps->busy + UINT64_C(1000000); /* to be reordered */
    bool tells = (request->proven && below) || is_in_line(steps, request);

    return !tells && ((nak && nak->step == steps->number) || slow);
}

/* The step begins at `first`; a NAK that names it is followed now. */
static void
begin(smcr_steps_t *steps, smcr_step_back_t *step, uint32_t number, smcr_psn_t first,
      const smcr_step_request_t *request)
{
    smcr_step_nak_t *nak = nak_of(steps, first);

    steps->step = step;
    steps->number = number;
    steps->first = first;
    steps->passed = steps->hopeful = false;
    if (nak)
        *nak = (smcr_step_nak_t){.psn = 0};
    steps->end = request->highest;
    steps->position = request->psn;
    steps->position_id = request->id;
}

/* Whether so much time is between that a NAK of then is not why the request comes now. */
static bool
is_long_after(const smcr_steps_t *steps, uint64_t before, const smcr_step_request_t *request)
{
    uint64_t timer = UINT64_C(64000000) + steps->rnr_timer; /* those in use: 4.096 us * 2^14, ... */

    return before && request->when.time > before + timer;
}

/* Of a request that is certainly retransmitted. Where no NAK is seen, the capture may lack it, but
 * not where the receiver has discarded nothing, and has taken in all. */
static smcr_step_cause_t
cause_of(const smcr_steps_t *steps, const smcr_step_request_t *request, const smcr_step_nak_t *nak)
{
    if (nak)
        return nak->rnr ? SMCR_CAUSE_RNR : SMCR_CAUSE_NAK;
    if (!request->reverse_has_carried)
        return SMCR_CAUSE_UNKNOWN;
    if (request->read)
        return SMCR_CAUSE_READ;
    bool needless = !steps->disorder && !request->step && request->taken >= request->highest;
    bool first = request->psn <= request->taken + 1;
    return (request->waited && first) || needless ? SMCR_CAUSE_TIMEOUT : SMCR_CAUSE_UNKNOWN;
}

static smcr_step_back_t *
new_step(wmem_allocator_t *scope, uint32_t frame, smcr_step_cause_t cause)
{
    smcr_step_back_t *step = wmem_new(scope, smcr_step_back_t);

    *step = (smcr_step_back_t){.frame = frame, .cause = (uint8_t)cause};
    return step;
}

/* The step that begins with the request, where a NAK names its PSN or one before. */
static smcr_step_back_t *
step_of(const smcr_steps_t *steps, wmem_allocator_t *scope, const smcr_step_request_t *request,
        const smcr_step_nak_t *nak)
{
    if (nak && !nak->rnr && (request->waited || is_long_after(steps, nak->when.time, request)))
        nak = NULL; /* it is not why */
    smcr_step_back_t *step = new_step(scope, request->when.frame, cause_of(steps, request, nak));
    step->nak = nak && nak->psn == request->psn ? nak->when : (smcr_when_t){0, 0};
    return step;
}

/* Only the sender's going on from here can prove a late packet to be retransmitted, or a repeat
 * to be no copy. */
static smcr_step_back_t *
begin_candidate(smcr_steps_t *steps, wmem_allocator_t *scope, const smcr_step_request_t *request)
{
    const smcr_step_nak_t *nak = find_nak(steps, request);

    steps->candidate = (smcr_step_candidate_t){
        .lone = new_step(scope, request->when.frame,
                         request->late ? SMCR_CAUSE_NONE : SMCR_CAUSE_UNKNOWN),
        .step = step_of(steps, scope, request, nak),
        .last = request->psn,
        .number = ++steps->numbers,
        .naks = steps->arrivals,
        .begin = nak ? nak->psn : request->psn,
    };
    steps->candidate.cause = steps->candidate.step->cause;
    steps->candidate.step->cause = SMCR_CAUSE_NONE;
    return steps->candidate.lone;
}

/* A packet that is in no step begins one, or may turn out to. */
static smcr_step_back_t *
start(smcr_steps_t *steps, wmem_allocator_t *scope, const smcr_step_request_t *request)
{
    const smcr_step_nak_t *nak = find_nak(steps, request);
    bool asked = nak && nak->psn == request->psn && nak->fresh;
    bool again = request->psn == steps->before && !request->proven && !asked;

    if (request->repeat && again)
        return new_step(scope, request->when.frame, SMCR_CAUSE_UNKNOWN);
    if (request->late || !(nak || request->read || request->proven))
        return begin_candidate(steps, scope, request);
    smcr_step_back_t *step = step_of(steps, scope, request, nak);
    begin(steps, step, ++steps->numbers, nak ? nak->psn : request->psn, request);
    steps->hopeful = request->waited && step->cause == SMCR_CAUSE_UNKNOWN;
    return step;
}

/* The sender may have gone on from a packet; a repeat proves it. Returns what is said of the
 * request then, NULL when it belongs to no guess. */
static smcr_step_back_t *
check_guess(smcr_steps_t *steps, const smcr_step_request_t *request)
{
    smcr_step_candidate_t *candidate = &steps->candidate;
    smcr_step_back_t *step = candidate->step;
    bool goes_on = candidate->lone && request->psn > candidate->last &&
                   (request->repeat || request->late) && candidate->naks == steps->arrivals;

    if (goes_on) {
        candidate->last = request->psn;
        if (!request->repeat)
            return step;
        candidate->lone->cause = step->cause = candidate->cause;
        candidate->lone->nak = step->nak;
        begin(steps, step, candidate->number, candidate->begin, request);
    }
    *candidate = (smcr_step_candidate_t){.lone = NULL};
    return goes_on ? step : NULL;
}

static smcr_step_back_t *
take(smcr_steps_t *steps, wmem_allocator_t *scope, const smcr_step_request_t *request)
{
    bool again = request->repeat || request->late, held = again && is_in_step(steps, request);

    if (steps->hopeful && (held || request->before) && request->psn <= request->taken + 1)
        steps->step->cause = SMCR_CAUSE_TIMEOUT;
    if (held) {
        steps->candidate = (smcr_step_candidate_t){.lone = NULL};
        if (is_doubtful(steps, request))
            return new_step(scope, request->when.frame, SMCR_CAUSE_UNKNOWN);
        steps->position_id = request->psn > steps->position ? request->id : steps->position_id;
        steps->position = MAX(steps->position, request->psn);
        return steps->step;
    }
    smcr_step_back_t *step = check_guess(steps, request);
    if (step || again)
        return step ? step : start(steps, scope, request);
    steps->passed |= steps->step && request->psn > steps->end;
    return NULL;
}

smcr_step_back_t *
smcr_steps_take(smcr_steps_t *steps, wmem_allocator_t *scope, smcr_step_request_t *request)
{
    if (request->candidate_step == steps->number) /* it has turned out to be one */
        request->step = request->candidate_step;
    request->before = steps->waited && request->proven && (int16_t)(request->id - steps->id) < 0;
    request->waited = request->before || is_long_after(steps, steps->busy, request);
    smcr_step_back_t *step = take(steps, scope, request);
    const smcr_step_candidate_t *candidate = &steps->candidate;

    if (step && step == steps->step)
        request->step = steps->number;
    else if (step && candidate->lone && (step == candidate->lone || step == candidate->step))
        request->candidate_step = candidate->number;
    steps->disorder |= request->late;
    steps->before = request->psn;
    steps->busy = request->when.time;
    steps->id = request->waited ? request->id : steps->id;
    steps->waited = (request->waited || steps->waited) && (request->repeat || request->late);
    for (unsigned i = 0; steps->naks && i < SMCR_STEP_NAKS_KEPT; i++)
        steps->naks[i].fresh = false;
    return step;
}
