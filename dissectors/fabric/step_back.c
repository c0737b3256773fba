/* Finds steps back and their causes: each rule here is one of docs/fabric.md, "Steps back". A
 * capture may miss the NAK that made a sender go back, so the causes `nak` and `timeout` both need
 * a proof of their own, and a step without a proof has the cause `unknown`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "step_back.h"

/* Nanoseconds. A sender's timer runs for 4.096 us * 2^14 = 67 ms, or longer; a sender follows a NAK
 * within a round trip. So a pause of 64 ms is no answer to a NAK. */
#define PAUSE UINT64_C(64000000)

/* Nanoseconds. The network does not delay a packet that long: what comes later is retransmitted. */
#define REORDERED_WITHIN UINT64_C(1000000)

/* ---- NAKs ---- */

/* The NAK that names `psn`; NULL: there is none that a step has not followed. */
static smcr_step_nak_t *
find_nak_of_psn(smcr_steps_t *steps, smcr_psn_t psn)
{
    for (unsigned i = 0; steps->naks && i < SMCR_STEP_NAKS_KEPT; i++)
        if (steps->naks[i].psn == psn)
            return &steps->naks[i];
    return NULL;
}

/* The entry of a NAK that names `psn`, moved to the end of the list: the one that the PSN has, or
 * else the oldest entry, emptied. */
static smcr_step_nak_t *
renew_nak(smcr_steps_t *steps, smcr_psn_t psn)
{
    smcr_step_nak_t *entry = find_nak_of_psn(steps, psn);
    smcr_step_nak_t *newest = &steps->naks[SMCR_STEP_NAKS_KEPT - 1];
    smcr_step_nak_t nak = entry ? *entry : (smcr_step_nak_t){.psn = psn};

    if (!entry)
        entry = steps->naks;
    memmove(entry, entry + 1, (size_t)(newest - entry) * sizeof *entry);
    *newest = nak;
    return newest;
}

/* Several NAKs that name one PSN count as one. Among them an RNR NAK goes before the others: the
 * sender waits for the RNR timer, even when a NAK names the same PSN. */
void
smcr_steps_nak(smcr_steps_t *steps, wmem_allocator_t *scope, smcr_psn_t psn,
               smcr_step_refusal_t refusal, smcr_when_t when)
{
    bool rnr = refusal == SMCR_STEP_NOT_READY;

    if (refusal == SMCR_STEP_REFUSED_OTHERWISE)
        return;
    if (!steps->naks)
        steps->naks = wmem_alloc0_array(scope, smcr_step_nak_t, SMCR_STEP_NAKS_KEPT);
    smcr_step_nak_t *nak = renew_nak(steps, psn);
    nak->step = steps->number;
    steps->nak_count++;
    if (rnr || !nak->rnr)
        nak->when = when;
    nak->rnr |= rnr;
    nak->pending = true;
    steps->last_activity = when.time;
}

/* Whether the NAK may have made the sender send the request: it names the PSN of the request, or a
 * lower PSN that no acknowledgement has covered since. In the latter case the sender has gone back
 * to the lower PSN, and the capture misses the packets between. */
static bool
may_have_caused(const smcr_step_nak_t *nak, const smcr_step_request_t *request)
{
    if (!nak->psn || nak->psn > request->psn)
        return false;
    return nak->psn == request->psn || nak->psn > request->acked;
}

/* The NAK of the request: of all that may have caused it, the one with the highest PSN. NULL: there
 * is none. */
static const smcr_step_nak_t *
find_nak_of_request(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    const smcr_step_nak_t *found = NULL;

    for (unsigned i = 0; steps->naks && i < SMCR_STEP_NAKS_KEPT; i++) {
        const smcr_step_nak_t *nak = &steps->naks[i];
        if (may_have_caused(nak, request) && (!found || nak->psn > found->psn))
            found = nak;
    }
    return found;
}

/* ---- pauses ---- */

/* What the time between a request and the last activity of the flow proves. */
typedef enum {
    NO_PAUSE,     /* a NAK that the capture misses may have caused the request */
    AFTER_PAUSE,  /* no NAK came for so long that the sender's timer has run out */
    BEFORE_PAUSED /* as its identification says, it was sent before a packet that came after a
                     pause: the network has reordered the two, and the pause was before both */
} pause_t;

/* Whether the request came so long after `since` that no NAK of that time is why. After an RNR NAK,
 * the sender waits for the RNR timer in addition. `since`: nanoseconds; 0: nothing has come yet. */
static bool
is_long_after(const smcr_steps_t *steps, uint64_t since, const smcr_step_request_t *request)
{
    return since && request->when.time > since + PAUSE + steps->rnr_timer;
}

static pause_t
pause_before(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    if (steps->after_pause && request->has_sender_order &&
        (int16_t)(request->id - steps->after_pause_id) < 0)
        return BEFORE_PAUSED;
    return is_long_after(steps, steps->last_activity, request) ? AFTER_PAUSE : NO_PAUSE;
}

/* ---- which step a request belongs to ---- */

/* Whether the identification of the request differs from that of the step's highest packet by as
 * much as the PSN does: then the sender has sent both in one run of ascending PSNs. */
static bool
is_in_line(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    return request->has_sender_order &&
           (uint16_t)(request->id - steps->position_id - request->psn + steps->position) == 0;
}

/* Whether the last step is not over. It is over when the sender has sent a new PSN and the receiver
 * has acknowledged all PSNs of the step. */
static bool
is_step_open(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    return steps->step && !(steps->passed_end && steps->end <= request->acked);
}

/* Whether the last step retransmits `psn`. */
static bool
is_in_range(const smcr_steps_t *steps, smcr_psn_t psn)
{
    return psn >= steps->first && psn <= steps->end;
}

/* Whether a NAK has named the PSN since the step began: then the request begins a step of its own.
 * A late packet that is in line with the step was sent before that NAK could reach the sender. */
static bool
is_asked_for_again(smcr_steps_t *steps, const smcr_step_request_t *request)
{
    const smcr_step_nak_t *nak = find_nak_of_psn(steps, request->psn);

    if (!nak || nak->step != steps->number)
        return false;
    return request->kind != SMCR_STEP_REQUEST_LATE || !is_in_line(steps, request);
}

/* Whether the network may have reordered the request within the step, which has sent a higher PSN
 * already: the step has not sent the PSN yet, and the identification does not prove that the
 * request was sent after that higher PSN. */
static bool
may_be_reordered(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    if (request->steps.last == steps->number || request->steps.tentative == steps->number)
        return false;
    return !request->has_sender_order || (int16_t)(request->id - steps->position_id) <= 0;
}

/* Whether a retransmission or late packet belongs to the last step. A packet after a pause never
 * does, nor a READ that re-requests only the rest of another READ: the sender has decided anew. */
static bool
belongs_to_step(smcr_steps_t *steps, const smcr_step_request_t *request, pause_t pause)
{
    if (!is_in_range(steps, request->psn) || pause != NO_PAUSE || request->reads_from_within)
        return false;
    if (!is_step_open(steps, request) || is_asked_for_again(steps, request))
        return false;
    return request->psn > steps->position || may_be_reordered(steps, request);
}

/* Whether a NAK may be why a request of the step has come: one that came since the step began, or
 * one that the capture misses, if the PSN comes too long after the step's last activity to be
 * reordered. Only the identification can prove that neither is so. */
static bool
may_answer_new_nak(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    bool below = request->psn < steps->position;

    if ((request->has_sender_order && below) || is_in_line(steps, request))
        return false;
    if (below && request->when.time > steps->last_activity + REORDERED_WITHIN)
        return true;
    const smcr_step_nak_t *nak = find_nak_of_request(steps, request);
    return nak && nak->step == steps->number;
}

/* ---- causes ---- */

/* Whether the sender's timer is certainly the cause, where no NAK is known. Either of two proofs is
 * enough:
 *
 * - The request comes after a pause, and has the first PSN that is not acknowledged: a sender whose
 *   timer has run out goes back to that PSN. With a higher PSN, the capture may miss the step's
 *   first packets, and a NAK before.
 * - The receiver has acknowledged everything, and neither did the sender retransmit the PSN before,
 *   nor did a packet come late. A receiver that sends a NAK discards what comes after the gap, and
 *   could not have acknowledged that. */
static bool
is_timeout(const smcr_steps_t *steps, const smcr_step_request_t *request, pause_t pause)
{
    smcr_seen_steps_t sent = request->steps;
    bool was_in_step =
        sent.last || (sent.tentative && sent.tentative == steps->number);

    if (pause != NO_PAUSE && request->psn <= request->acked + 1)
        return true;
    return !steps->disorder && !was_in_step && request->acked >= request->highest;
}

/* Why the sender has gone back with a request that is certainly retransmitted. `nak`: its NAK;
 * NULL: the capture has none. */
static smcr_step_cause_t
cause_of(const smcr_steps_t *steps, const smcr_step_request_t *request, const smcr_step_nak_t *nak,
         pause_t pause)
{
    if (nak)
        return nak->rnr ? SMCR_CAUSE_RNR : SMCR_CAUSE_NAK;
    if (!request->reverse_has_carried)
        return SMCR_CAUSE_UNKNOWN;
    if (request->reads_again)
        return SMCR_CAUSE_READ;
    return is_timeout(steps, request, pause) ? SMCR_CAUSE_TIMEOUT : SMCR_CAUSE_UNKNOWN;
}

/* ---- beginnings of steps ---- */

static smcr_step_back_t *
new_step(wmem_allocator_t *scope, uint32_t frame, smcr_step_cause_t cause)
{
    smcr_step_back_t *step = wmem_new(scope, smcr_step_back_t);

    *step = (smcr_step_back_t){.frame = frame, .cause = (uint8_t)cause};
    return step;
}

/* A step that the request begins, with its cause. `nak`: the NAK of the request; NULL: none. A NAK
 * (PSN sequence error) that came before a pause is not the cause: the sender would have followed it
 * at once. */
static smcr_step_back_t *
new_step_from(const smcr_steps_t *steps, wmem_allocator_t *scope,
              const smcr_step_request_t *request, const smcr_step_nak_t *nak, pause_t pause)
{
    if (nak && !nak->rnr &&
        (pause != NO_PAUSE || is_long_after(steps, nak->when.time, request)))
        nak = NULL;
    smcr_step_back_t *step =
        new_step(scope, request->when.frame, cause_of(steps, request, nak, pause));
    step->nak = nak && nak->psn == request->psn ? nak->when : (smcr_when_t){0, 0};
    return step;
}

/* From now on `step` is the last step. It retransmits from PSN `first` on, and `request` has the
 * highest PSN in it. The NAK that names `first` has been followed, and counts no more. */
static void
set_last_step(smcr_steps_t *steps, smcr_step_back_t *step, uint32_t number, smcr_psn_t first,
              const smcr_step_request_t *request)
{
    smcr_step_nak_t *nak = find_nak_of_psn(steps, first);

    if (nak)
        *nak = (smcr_step_nak_t){.psn = 0};
    steps->step = step;
    steps->number = number;
    steps->first = first;
    steps->passed_end = steps->awaits_first = false;
    steps->end = request->highest;
    steps->position = request->psn;
    steps->position_id = request->id;
}

/* The request begins a tentative step. Only requests that continue from it prove that a late packet
 * was retransmitted rather than reordered, or that a retransmission is no copy. Until then the late
 * packet has no cause, and the retransmission the cause `unknown`. */
static smcr_step_back_t *
begin_tentative(smcr_steps_t *steps, wmem_allocator_t *scope, const smcr_step_request_t *request,
                pause_t pause)
{
    const smcr_step_nak_t *nak = find_nak_of_request(steps, request);
    smcr_step_cause_t lone = request->kind == SMCR_STEP_REQUEST_LATE ? SMCR_CAUSE_NONE
                                                                     : SMCR_CAUSE_UNKNOWN;

    steps->tentative = (smcr_step_tentative_t){
        .lone = new_step(scope, request->when.frame, lone),
        .step = new_step_from(steps, scope, request, nak, pause),
        .last = request->psn,
        .number = ++steps->numbers,
        .nak_count = steps->nak_count,
        .first = nak ? nak->psn : request->psn,
    };
    steps->tentative.cause = steps->tentative.step->cause;
    steps->tentative.step->cause = SMCR_CAUSE_NONE;
    return steps->tentative.lone;
}

/* Whether a retransmission may be a copy of the request right before it, which has the same PSN.
 * Neither its identification nor a NAK between the two proves the opposite. `nak`: the NAK of the
 * request; NULL: none. */
static bool
may_copy_last_request(const smcr_steps_t *steps, const smcr_step_request_t *request,
                      const smcr_step_nak_t *nak)
{
    bool is_asked_for = nak && nak->psn == request->psn && nak->pending;

    return request->kind == SMCR_STEP_REQUEST_RETRANSMITTED &&
           request->psn == steps->last_request && !request->has_sender_order && !is_asked_for;
}

/* Whether the request is certainly retransmitted: the flow had the PSN, and the request is no copy,
 * since it has a NAK, re-requests a READ, or has an identification of its own. `nak`: the NAK of
 * the request; NULL: none. */
static bool
is_certainly_retransmitted(const smcr_step_request_t *request, const smcr_step_nak_t *nak)
{
    if (request->kind == SMCR_STEP_REQUEST_LATE)
        return false;
    return nak || request->reads_again || request->has_sender_order;
}

/* A retransmission or late packet that belongs to no step begins one, if it is proven to be
 * retransmitted; else it begins a tentative step. Returns what is said of the packet. */
static smcr_step_back_t *
begin_step(smcr_steps_t *steps, wmem_allocator_t *scope, const smcr_step_request_t *request,
           pause_t pause)
{
    const smcr_step_nak_t *nak = find_nak_of_request(steps, request);

    if (may_copy_last_request(steps, request, nak))
        return new_step(scope, request->when.frame, SMCR_CAUSE_UNKNOWN);
    if (!is_certainly_retransmitted(request, nak))
        return begin_tentative(steps, scope, request, pause);
    smcr_step_back_t *step = new_step_from(steps, scope, request, nak, pause);
    set_last_step(steps, step, ++steps->numbers, nak ? nak->psn : request->psn, request);
    steps->awaits_first = pause != NO_PAUSE && step->cause == SMCR_CAUSE_UNKNOWN;
    return step;
}

/* ---- tentative steps ---- */

/* Whether the request continues the tentative step: with a higher PSN that is retransmitted or
 * late, and without a NAK since the step began. */
static bool
continues_tentative(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    const smcr_step_tentative_t *tentative = &steps->tentative;

    if (!tentative->lone || request->kind == SMCR_STEP_REQUEST_NEW)
        return false;
    return request->psn > tentative->last && tentative->nak_count == steps->nak_count;
}

/* The tentative step is proven, and becomes the last step. */
static void
prove_tentative(smcr_steps_t *steps, const smcr_step_request_t *request)
{
    smcr_step_tentative_t tentative = steps->tentative;

    steps->tentative = (smcr_step_tentative_t){.lone = NULL};
    tentative.lone->cause = tentative.step->cause = tentative.cause;
    tentative.lone->nak = tentative.step->nak;
    set_last_step(steps, tentative.step, tentative.number, tentative.first, request);
}

/* Holds a request that is not in the last step against the tentative step. A late packet continues
 * that step, a retransmission also proves it, and any other request ends it unproven. Returns the
 * tentative step; NULL: the request does not belong to it. */
static smcr_step_back_t *
follow_tentative(smcr_steps_t *steps, const smcr_step_request_t *request)
{
    smcr_step_back_t *step = steps->tentative.step;

    if (!continues_tentative(steps, request)) {
        steps->tentative = (smcr_step_tentative_t){.lone = NULL};
        return NULL;
    }
    if (request->kind == SMCR_STEP_REQUEST_RETRANSMITTED)
        prove_tentative(steps, request);
    else
        steps->tentative.last = request->psn;
    return step;
}

/* ---- requests ---- */

/* A request of the last step. Returns what is said of it: the step, or a cause `unknown` of its own
 * where it may be the answer to a NAK. */
static smcr_step_back_t *
continue_step(smcr_steps_t *steps, wmem_allocator_t *scope, const smcr_step_request_t *request)
{
    steps->tentative = (smcr_step_tentative_t){.lone = NULL};
    if (may_answer_new_nak(steps, request))
        return new_step(scope, request->when.frame, SMCR_CAUSE_UNKNOWN);
    if (request->psn > steps->position) {
        steps->position_id = request->id;
        steps->position = request->psn;
    }
    return steps->step;
}

/* Whether the last step was caused by the timer, as the request shows: the step began after a
 * pause, but with a higher PSN than a timer goes back to. The first PSN that is not acknowledged
 * comes now, in the step, or reordered. */
static bool
is_awaited_first(const smcr_steps_t *steps, const smcr_step_request_t *request, bool in_step,
                 pause_t pause)
{
    return steps->awaits_first && request->psn <= request->acked + 1 &&
           (in_step || pause == BEFORE_PAUSED);
}

/* Finds the step of a request, and begins or ends steps with it. NULL: the request is in none. */
static smcr_step_back_t *
find_step(smcr_steps_t *steps, wmem_allocator_t *scope, const smcr_step_request_t *request,
          pause_t pause)
{
    bool is_new = request->kind == SMCR_STEP_REQUEST_NEW;
    bool in_step = !is_new && belongs_to_step(steps, request, pause);

    if (is_awaited_first(steps, request, in_step, pause))
        steps->step->cause = SMCR_CAUSE_TIMEOUT;
    if (in_step)
        return continue_step(steps, scope, request);
    smcr_step_back_t *step = follow_tentative(steps, request);
    if (step)
        return step;
    if (!is_new)
        return begin_step(steps, scope, request, pause);
    steps->passed_end |= steps->step && request->psn > steps->end;
    return NULL;
}

/* The steps in which the PSN of a request has been sent, after find_step() has returned `step`. */
static smcr_seen_steps_t
steps_of_psn(const smcr_steps_t *steps, smcr_seen_steps_t before, const smcr_step_back_t *step)
{
    const smcr_step_tentative_t *tentative = &steps->tentative;
    bool is_tentative = tentative->lone && (step == tentative->lone || step == tentative->step);

    if (step && step == steps->step)
        before.last = steps->number;
    else if (step && is_tentative)
        before.tentative = tentative->number;
    return before;
}

/* Remembers what later requests are compared with. */
static void
note_request(smcr_steps_t *steps, const smcr_step_request_t *request, pause_t pause)
{
    bool is_new = request->kind == SMCR_STEP_REQUEST_NEW;

    steps->disorder |= request->kind == SMCR_STEP_REQUEST_LATE;
    steps->last_request = request->psn;
    steps->last_activity = request->when.time;
    if (pause != NO_PAUSE)
        steps->after_pause_id = request->id;
    steps->after_pause = !is_new && (pause != NO_PAUSE || steps->after_pause);
    for (unsigned i = 0; steps->naks && i < SMCR_STEP_NAKS_KEPT; i++)
        steps->naks[i].pending = false;
}

smcr_step_taken_t
smcr_steps_take(smcr_steps_t *steps, wmem_allocator_t *scope, const smcr_step_request_t *request)
{
    smcr_seen_steps_t numbers = request->steps;
    pause_t pause = pause_before(steps, request);

    if (numbers.tentative == steps->number) /* that step has been proven since */
        numbers.last = numbers.tentative;
    smcr_step_back_t *step = find_step(steps, scope, request, pause);
    note_request(steps, request, pause);
    return (smcr_step_taken_t){step, steps_of_psn(steps, numbers, step)};
}
