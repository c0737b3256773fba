/* Finds steps back and their causes. docs/fabric.md, "Steps back", has all rules of this file. The
 * NAK that made a sender go back may be missing in the capture. So a step has the cause `nak` or
 * `timeout` only if there is a proof for this cause. A step without a proof has the cause
 * `unknown`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "step_back.h"

/* Nanoseconds. A sender's timer runs for 4.096 us * 2^14 = 67 ms, or longer. If a NAK comes, the
 * sender goes back within a round trip. So a NAK is not the cause of a request that comes after a
 * pause of 64 ms. */
#define PAUSE UINT64_C(64000000)

/* Nanoseconds. The network delays no packet for longer than this: a packet that comes later was
 * retransmitted. */
#define REORDERED_WITHIN UINT64_C(1000000)

/* ---- NAKs ---- */

/* Returns the entry of the NAK that names `psn`; NULL: no NAK names `psn`, a step has begun with
 * `psn` since the NAK, or SMCR_STEP_NAKS_KEPT later NAKs have named other PSNs. */
static smcr_step_nak_t *
find_nak_of_psn(smcr_steps_t *steps, smcr_psn_t psn)
{
    for (unsigned i = 0; steps->naks && i < SMCR_STEP_NAKS_KEPT; i++)
        if (steps->naks[i].psn == psn)
            return &steps->naks[i];
    return NULL;
}

/* Returns the entry for a NAK that names `psn`, and moves the entry to the end of the list. If no
 * entry has `psn`, the oldest entry is removed, and a new entry for `psn` is returned. */
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

/* Several NAKs that name one PSN count as one. An RNR NAK takes precedence over the other NAKs: the
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

/* Whether the NAK may have made the sender send the request. The NAK names the PSN of the request,
 * or a lower PSN that no acknowledgement has covered so far. In the second case the sender has gone
 * back to the lower PSN, and the packets from there to the request are missing in the capture. */
static bool
may_have_caused(const smcr_step_nak_t *nak, const smcr_step_request_t *request)
{
    if (!nak->psn || nak->psn > request->psn)
        return false;
    return nak->psn == request->psn || nak->psn > request->acked;
}

/* Returns the NAK that made the sender send the request. If several NAKs may have done so, returns
 * the NAK with the highest PSN. NULL: there is no such NAK. */
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

/* Whether the sender has paused before it sent a request. */
typedef enum {
    NO_PAUSE,     /* not certain: the request comes soon after the last activity of the flow, and a
                     NAK that is missing in the capture may have caused it */
    AFTER_PAUSE,  /* the request comes so late that the sender's timer has run out; no NAK came */
    BEFORE_PAUSED /* the sender paused, sent the request, and then another packet; the network has
                     reordered the two, as their IPv4 identifications prove */
} pause_t;

/* Whether the request came so long after the time `since` that a NAK at this time is not its cause.
 * After an RNR NAK the sender waits longer, by the RNR timer. `since`: nanoseconds since the epoch;
 * 0: no request or NAK has come yet, and the result is false. */
static bool
is_long_after(const smcr_steps_t *steps, uint64_t since, const smcr_step_request_t *request)
{
    return since && request->when.time > since + PAUSE + steps->rnr_timer;
}

/* Returns whether the sender has paused before it sent the request. */
static pause_t
pause_before(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    if (steps->after_pause && request->has_sender_order &&
        (int16_t)(request->id - steps->after_pause_id) < 0)
        return BEFORE_PAUSED;
    return is_long_after(steps, steps->last_activity, request) ? AFTER_PAUSE : NO_PAUSE;
}

/* ---- which step a request belongs to ---- */

/* Whether the request and the step's packet with the highest PSN belong to one run of packets that
 * the sender sent with ascending PSNs. The proof: their IPv4 identifications differ by the same
 * number as their PSNs. */
static bool
is_in_line(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    return request->has_sender_order &&
           (uint16_t)(request->id - steps->position_id - request->psn + steps->position) == 0;
}

/* Whether the last step is open. A step is over when the sender has sent a new PSN and the receiver
 * has acknowledged all PSNs of the step. */
static bool
is_step_open(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    return steps->step && !(steps->passed_end && steps->end <= request->acked);
}

/* Whether `psn` is one of the PSNs that the last step retransmits. */
static bool
is_in_range(const smcr_steps_t *steps, smcr_psn_t psn)
{
    return psn >= steps->first && psn <= steps->end;
}

/* Whether a NAK has named the PSN of the request since the last step began, so that the request
 * begins a new step. Returns false for a late packet for which is_in_line() is true, because its
 * sender sent the packet before the NAK came. */
static bool
is_asked_for_again(smcr_steps_t *steps, const smcr_step_request_t *request)
{
    const smcr_step_nak_t *nak = find_nak_of_psn(steps, request->psn);

    if (!nak || nak->step != steps->number)
        return false;
    return request->kind != SMCR_STEP_REQUEST_LATE || !is_in_line(steps, request);
}

/* Whether the network may have reordered the request within the last step, which has already sent a
 * higher PSN. Returns true if two conditions hold: 1. the step has not sent this PSN yet; 2. the
 * IPv4 identification does not prove that the request was sent after the higher PSN. */
static bool
may_be_reordered(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    if (request->steps.last == steps->number || request->steps.tentative == steps->number)
        return false;
    return !request->has_sender_order || (int16_t)(request->id - steps->position_id) <= 0;
}

/* Whether a retransmission or late packet belongs to the last step. Two kinds of packets never
 * belong to the last step, because they begin a new step: 1. a packet after a pause; 2. a READ that
 * requests only the last part of an earlier READ. */
static bool
belongs_to_step(smcr_steps_t *steps, const smcr_step_request_t *request, pause_t pause)
{
    if (!is_in_range(steps, request->psn) || pause != NO_PAUSE || request->reads_from_within)
        return false;
    if (!is_step_open(steps, request) || is_asked_for_again(steps, request))
        return false;
    return request->psn > steps->position || may_be_reordered(steps, request);
}

/* Whether the sender may have sent the request because of a NAK that came after the beginning of
 * the last step. This NAK may be missing in the capture. It may be the reason if a PSN below the
 * step's highest PSN comes so late that the network has not reordered the packet. Returns false if
 * the IPv4 identification proves that the request was sent in the order of the step. */
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

/* Whether the sender's timer is certainly the cause of a step without a known NAK. Either of two
 * proofs is enough:
 *
 * - The request comes after a pause, and has the lowest PSN that is not acknowledged. A sender
 *   whose timer has run out goes back to that PSN. (A request with a higher PSN would not be a
 *   proof: the first packets of the step, and a NAK before them, may be missing in the capture.)
 * - All requests are acknowledged, no earlier step has sent the PSN, and no packet of the flow came
 *   late. So the receiver has sent no NAK: it would have discarded the packets after the gap, and
 *   could not have acknowledged them. Not for an atomic: a later response makes the sender repeat
 *   an atomic whose own response is missing. */
static bool
is_timeout(const smcr_steps_t *steps, const smcr_step_request_t *request, pause_t pause)
{
    smcr_seen_steps_t sent = request->steps;
    bool was_in_step =
        sent.last || (sent.tentative && sent.tentative == steps->number);

    if (pause != NO_PAUSE && request->psn <= request->acked + 1)
        return true;
    return !steps->disorder && !was_in_step && !request->is_atomic &&
           request->acked >= request->highest;
}

/* The cause of a step that begins with `request`, if `request` is a retransmission. `nak`: the NAK
 * that made the sender send the request; NULL: the capture has none. Without a NAK and without any
 * packet of the reverse flow the cause is unknown, because the NAKs may be missing in the
 * capture. */
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

/* Allocates a step whose first packet is in `frame`. */
static smcr_step_back_t *
new_step(wmem_allocator_t *scope, uint32_t frame, smcr_step_cause_t cause)
{
    smcr_step_back_t *step = wmem_new(scope, smcr_step_back_t);

    *step = (smcr_step_back_t){.frame = frame, .cause = (uint8_t)cause};
    return step;
}

/* Makes the step that begins with `request`, with its cause. `nak`: the NAK that may have made the
 * sender send the request; NULL: none. A NAK (PSN sequence error) before a pause is not the cause:
 * the sender would have answered the NAK at once. */
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

/* Makes `step` the last step. The step retransmits from the PSN `first` on, and `request` has the
 * highest PSN of the step so far. Also removes the entry of the NAK that names `first`, because the
 * step answers this NAK. */
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

/* Begins a tentative step with the request. A later retransmission with a higher PSN proves the
 * step: a late packet was retransmitted, not reordered, and a retransmission is not a duplicate.
 * Until the proof, the step of a late packet has no cause, and the step of a retransmission has the
 * cause `unknown`. */
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

/* Whether a retransmission may be a duplicate of the request directly before it, which has the same
 * PSN. Three facts prove that the retransmission is not a duplicate: 1. its IPv4 identification
 * differs; 2. a NAK came between the two packets; 3. it comes after a pause: the network delays no
 * duplicate for so long. `nak`: result of find_nak_of_request(). */
static bool
may_copy_last_request(const smcr_steps_t *steps, const smcr_step_request_t *request,
                      const smcr_step_nak_t *nak, pause_t pause)
{
    bool is_asked_for = nak && nak->psn == request->psn && nak->pending;
    bool is_proven = request->has_sender_order || is_asked_for || pause == AFTER_PAUSE;

    return request->kind == SMCR_STEP_REQUEST_RETRANSMITTED &&
           request->psn == steps->last_request && !is_proven;
}

/* Whether the request is certainly retransmitted: an earlier packet had its PSN, and the request is
 * not a duplicate. Any of four facts proves that the request is not a duplicate: 1. a NAK asks for
 * the request; 2. the request repeats a READ; 3. its IPv4 identification differs from that of all
 * earlier packets; 4. it comes after a pause. `nak`: result of find_nak_of_request(). */
static bool
is_certainly_retransmitted(const smcr_step_request_t *request, const smcr_step_nak_t *nak,
                           pause_t pause)
{
    if (request->kind == SMCR_STEP_REQUEST_LATE)
        return false;
    return nak || request->reads_again || request->has_sender_order || pause == AFTER_PAUSE;
}

/* Handles a retransmission or late packet that belongs neither to the last step nor to the
 * tentative one. If the request may be a duplicate of the request directly before it, the verdict
 * gets a step with the cause `unknown`, which the flow does not keep. If the request is certainly
 * retransmitted, it begins a step. Any other request begins a tentative step. Returns the step for
 * the verdict on the packet. */
static smcr_step_back_t *
begin_step(smcr_steps_t *steps, wmem_allocator_t *scope, const smcr_step_request_t *request,
           pause_t pause)
{
    const smcr_step_nak_t *nak = find_nak_of_request(steps, request);

    if (may_copy_last_request(steps, request, nak, pause))
        return new_step(scope, request->when.frame, SMCR_CAUSE_UNKNOWN);
    if (!is_certainly_retransmitted(request, nak, pause))
        return begin_tentative(steps, scope, request, pause);
    smcr_step_back_t *step = new_step_from(steps, scope, request, nak, pause);
    set_last_step(steps, step, ++steps->numbers, nak ? nak->psn : request->psn, request);
    steps->awaits_first = pause != NO_PAUSE && step->cause == SMCR_CAUSE_UNKNOWN;
    return step;
}

/* ---- tentative steps ---- */

/* Whether the request continues the tentative step: the request is a retransmission or late packet,
 * its PSN is above all PSNs of the step so far, and no NAK has come since the step began. */
static bool
continues_tentative(const smcr_steps_t *steps, const smcr_step_request_t *request)
{
    const smcr_step_tentative_t *tentative = &steps->tentative;

    if (!tentative->lone || request->kind == SMCR_STEP_REQUEST_NEW)
        return false;
    return request->psn > tentative->last && tentative->nak_count == steps->nak_count;
}

/* Makes the tentative step, which is proven now, the last step. */
static void
prove_tentative(smcr_steps_t *steps, const smcr_step_request_t *request)
{
    smcr_step_tentative_t tentative = steps->tentative;

    steps->tentative = (smcr_step_tentative_t){.lone = NULL};
    tentative.lone->cause = tentative.step->cause = tentative.cause;
    tentative.lone->nak = tentative.step->nak;
    set_last_step(steps, tentative.step, tentative.number, tentative.first, request);
}

/* Compares a request that does not belong to the last step with the tentative step. If the request
 * continues the tentative step: a retransmission proves the step, a late packet does not. If the
 * request does not continue the tentative step, the step ends unproven. Returns the tentative step;
 * NULL: the request does not belong to the tentative step. */
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

/* Takes in a request that belongs to the last step. Returns the step for the verdict on the packet:
 * the last step or, if the request may answer a newer NAK, a new step with the cause `unknown`. */
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

/* Whether the request proves that the timer caused the last step. The last step began after a
 * pause, but not with the lowest unacknowledged PSN, so the timer was not proven as its cause. This
 * request has the lowest unacknowledged PSN: the network has only reordered the packets of the
 * step. */
static bool
is_awaited_first(const smcr_steps_t *steps, const smcr_step_request_t *request, bool in_step,
                 pause_t pause)
{
    return steps->awaits_first && request->psn <= request->acked + 1 &&
           (in_step || pause == BEFORE_PAUSED);
}

/* Finds the step of a request. The request may begin or end steps, and may show that a timeout was
 * the cause of the step before (is_awaited_first()). NULL: the request is in no step. */
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

/* Returns the steps in which the PSN of a request has been sent. `before`: the steps of earlier
 * packets with the PSN. `step`: the step of this request, from find_step(). */
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

/* Keeps the facts of the request with which later requests are compared. `step`: the step that the
 * request belongs to; NULL: none. */
static void
note_request(smcr_steps_t *steps, const smcr_step_request_t *request, pause_t pause,
             const smcr_step_back_t *step)
{
    bool is_new = request->kind == SMCR_STEP_REQUEST_NEW;
    bool is_late = request->kind == SMCR_STEP_REQUEST_LATE;

    steps->disorder |= is_late && !smcr_step_retransmits(step);
    steps->last_is_repeat = request->kind == SMCR_STEP_REQUEST_RETRANSMITTED;
    steps->last_request = request->psn;
    steps->last_activity = request->when.time;
    if (pause != NO_PAUSE)
        steps->after_pause_id = request->id;
    steps->after_pause = !is_new && (pause != NO_PAUSE || steps->after_pause);
    for (unsigned i = 0; steps->naks && i < SMCR_STEP_NAKS_KEPT; i++)
        steps->naks[i].pending = false;
}

/* pause_before() is called before note_request(), since it needs the time of the request before
 * this one. */
smcr_step_taken_t
smcr_steps_take(smcr_steps_t *steps, wmem_allocator_t *scope, const smcr_step_request_t *request)
{
    smcr_seen_steps_t numbers = request->steps;
    pause_t pause = pause_before(steps, request);

    if (numbers.tentative == steps->number) /* the tentative step has been proven */
        numbers.last = numbers.tentative;
    smcr_step_back_t *step = find_step(steps, scope, request, pause);
    note_request(steps, request, pause, step);
    return (smcr_step_taken_t){step, steps_of_psn(steps, numbers, step)};
}
