/* Follows gaps and NAKs of a flow. Example, captured near the receiver: PSN 102 is lost.
 *
 *     request   101  103  104            102              105
 *     response       |    `- NAK(102)    |                |
 *                    gap to NAK |        |                |
 *                               `--------NAK to request   `- new: selective repeat
 *
 * If the request after 102 were 103 or 104 once more, the sender would go back (go-back-N).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "recovery.h"

enum { KEPT = 16 /* number of gaps, of NAKs, of late packets and of steps back that are kept for
                    each flow */ };

/* A gap: PSNs that no packet had when a later PSN came. */
typedef struct {
    uint32_t first;   /* first missing PSN, 24 bits */
    uint32_t length;  /* number of missing PSNs; 0: no gap */
    uint32_t left;    /* how many of them no packet has had since */
    bool is_named;    /* a NAK has named a PSN of the gap */
    smcr_when_t when; /* packet after the gap */
} gap_t;

/* What the sender did after it had retransmitted the PSN of a NAK. */
typedef enum {
    NOT_KNOWN, /* not decided so far, or there was no higher PSN to retransmit */
    WENT_BACK, /* it retransmitted higher PSNs, too */
    SELECTIVE, /* it sent a new PSN */
} went_on_t;

/* A NAK for a PSN sequence error. */
typedef struct {
    uint32_t psn;        /* PSN that it names, 24 bits */
    smcr_when_t nak;     /* the last NAK that names it; frame 0: no entry */
    smcr_when_t request; /* the request with this PSN that counts as the retransmission for `nak`
                            (take_asked()); frame 0: none so far */
    smcr_when_t gap;     /* packet after the gap that had the PSN; frame 0: not known */
    bool was_missing;    /* no packet had the PSN before `request` */
    uint32_t depth;      /* how far the PSN was below the highest when `request` came */
    went_on_t went_on;   /* what the sender did after `request` */
} asked_t;

/* A packet that came after packets with higher PSNs. No NAK has named its PSN, or a later
 * transmission of the PSN has shown that the packet was only out of order (take_asked()). */
typedef struct {
    const smcr_step_back_t *step; /* the step back to which it belongs; NULL: none */
    uint32_t depth;               /* how far its PSN is below the highest; 0: no entry */
    smcr_when_t when;             /* the packet */
    uint64_t late;                /* time since the packet after its gap, nanoseconds;
                                     SMCR_FIGURE_UNKNOWN: not known */
} late_t;

/* A step back of the sender. */
typedef struct {
    const smcr_step_back_t *step; /* the step back; NULL: no entry */
    uint64_t begin;               /* time of its first packet, nanoseconds since 1970 */
    uint64_t waited; /* how long the sender's timer had run at `begin`, nanoseconds; 0: not known */
    uint32_t psn;    /* PSN of its first packet, 24 bits */
    bool is_retry;   /* the previous step back of the sender began with the same PSN */
    bool is_timeout; /* a READ is requested anew because the timer has run out (count_read()) */
} kept_step_t;

struct smcr_recovery {
    gap_t gaps[KEPT];         /* the last gaps, in a ring */
    asked_t asked[KEPT];      /* the last NAKs, in a ring */
    late_t late[KEPT];        /* the last late packets, in a ring */
    kept_step_t stepped[KEPT];  /* the last steps back, in a ring */
    unsigned next_gap;        /* where the next gap goes */
    unsigned next_asked;      /* where the next NAK goes */
    unsigned next_late;       /* where the next late packet goes */
    unsigned next_stepped;    /* where the next step back goes */
    int answered;         /* place in `asked` of the NAK that the last request answers; -1: it
                             answers none */
    unsigned unsettled;   /* number of retransmissions, not acknowledged before, of which it is not
                             known yet whether both transmissions arrived */
    unsigned unsettled_acked; /* as `unsettled`, of retransmissions that were acknowledged before */
    uint32_t answer;      /* highest PSN, 24 bits, of a response since the last step back; see
                             `answer_time` */
    uint64_t answer_time; /* when this response came, nanoseconds since 1970; 0: none since the last
                             step back */
    uint32_t settled_by;  /* PSN, 24 bits, that was the highest at the last retransmission: the
                             acknowledgement of a later PSN comes after all answers to the
                             retransmissions */
    smcr_when_t reordered; /* first reordered packet, without those in `late`; frame 0: none */
    bool has_read;        /* a READ came late: how many PSNs of a gap it has taken is not known */
    smcr_entry_flow_recovery_t figures; /* counts; those of elements that are still in a ring are
                                           not included */
};

/* ---- finding ---- */

/* Returns flow->rare; the first call makes it. */
static smcr_recovery_t *
rare_of(smcr_recovery_flow_t *flow, wmem_allocator_t *scope)
{
    if (!flow->rare) {
        flow->rare = wmem_new0(scope, smcr_recovery_t);
        flow->rare->answered = -1;
        flow->rare->answer = flow->acked;
        flow->rare->answer_time = flow->acked_time;
    }
    return flow->rare;
}

/* Returns the kept gap that had the PSN; NULL: none. */
static gap_t *
gap_of(smcr_recovery_t *rare, uint32_t psn)
{
    for (unsigned i = 0; i < KEPT; i++) {
        gap_t *gap = &rare->gaps[i];
        int32_t place = smcr_psn_distance(gap->first, psn);
        if (gap->length && place >= 0 && (uint32_t)place < gap->length)
            return gap;
    }
    return NULL;
}

/* Returns the place in `asked` of the NAK that names the PSN; -1: none. */
static int
place_of_nak(const smcr_recovery_t *rare, uint32_t psn)
{
    for (int i = 0; i < KEPT; i++)
        if (rare->asked[i].nak.frame && rare->asked[i].psn == psn)
            return i;
    return -1;
}

/* ---- counting ---- */

/* Shortest pause, nanoseconds, that proves a timeout (docs/fabric.md, "Steps back"); longest time
 * from a NAK to the retransmission that it causes. */
#define PAUSE (64 * SMCR_TIME_MILLISECOND)

/* Adds the time from one packet to a later one. Adds nothing if the clock of the capture went
 * back. */
static void
measure(smcr_distribution_t **times, wmem_allocator_t *scope, smcr_when_t from, smcr_when_t to)
{
    if (to.time >= from.time)
        smcr_distribution_add_time(times, scope, to.time - from.time);
}

/* Adds to the figures what the sender did after a NAK: the time to the first request with the PSN
 * of the NAK, and how the sender went on. If no such request has come, adds nothing. */
static void
count_asked(smcr_entry_flow_recovery_t *figures, wmem_allocator_t *scope, const asked_t *asked)
{
    if (!asked->request.frame)
        return;
    measure(&figures->nak_to_resend_s, scope, asked->nak, asked->request);
    figures->refilled += asked->was_missing;
    figures->go_back_n += asked->went_on == WENT_BACK;
    figures->selective += asked->went_on == SELECTIVE;
}

/* Adds the number of PSNs of a gap that no packet has filled so far to the figures. */
static void
count_gap(smcr_entry_flow_recovery_t *figures, const gap_t *gap)
{
    figures->unfilled += gap->left;
}

/* Returns the earlier of `first` and the late packet, if the network has reordered the packet. */
static smcr_when_t
first_reordered(smcr_when_t first, const late_t *late)
{
    bool is_reordered = late->depth && !smcr_step_retransmits(late->step);

    return is_reordered ? smcr_figure_when_earlier(first, late->when) : first;
}

/* Counts a late packet, whose step back is known now: a retransmission of a packet that was lost
 * upstream, or a packet that the network has reordered. `depth` 0: the element of the ring is not
 * used. */
static void
count_late(smcr_entry_flow_recovery_t *figures, wmem_allocator_t *scope, const late_t *late)
{
    if (!late->depth)
        return;
    if (smcr_step_retransmits(late->step)) {
        figures->refilled++;
        return;
    }
    figures->reordered++;
    smcr_distribution_add(&figures->reorder_depth, scope, late->depth);
    if (late->late != SMCR_FIGURE_UNKNOWN)
        smcr_distribution_add_time(&figures->late_s, scope, late->late);
}

/* Counts the wait before a step back, whose cause is known now: only after a timeout, and only a
 * wait that may be that of a timer (PAUSE). */
static void
count_step(smcr_entry_flow_recovery_t *figures, wmem_allocator_t *scope, const kept_step_t *stepped)
{
    bool is_timeout = stepped->step && stepped->step->cause == SMCR_CAUSE_TIMEOUT;

    if (!(is_timeout || stepped->is_timeout) || stepped->waited < PAUSE)
        return;
    smcr_distribution_add_time(&figures->timeout_s, scope, stepped->waited);
    if (stepped->is_retry)
        smcr_distribution_add_time(&figures->retry_s, scope, stepped->waited);
}

/* Returns the time from the packet after a gap to a late packet; SMCR_FIGURE_UNKNOWN: not known. */
static uint64_t
late_by(smcr_when_t gap, smcr_when_t late)
{
    return gap.frame && late.time >= gap.time ? late.time - gap.time : SMCR_FIGURE_UNKNOWN;
}

/* ---- requests ---- */

/* Keeps the gap before the request, in the place of the oldest one, which is counted now. */
static void
add_gap(smcr_recovery_t *rare, const smcr_recovery_request_t *request)
{
    gap_t *gap = &rare->gaps[rare->next_gap];

    count_gap(&rare->figures, gap);
    *gap = (gap_t){.first = (request->psn - request->missing) & SMCR_PSN_MASK,
                   .length = request->missing,
                   .left = request->missing,
                   .when = request->when};
    rare->next_gap = (rare->next_gap + 1) % KEPT;
}

/* Keeps a late packet, in the place of the oldest one, which is counted now. */
static void
add_late(smcr_recovery_t *rare, wmem_allocator_t *scope, late_t late)
{
    count_late(&rare->figures, scope, &rare->late[rare->next_late]);
    rare->reordered = first_reordered(rare->reordered, &rare->late[rare->next_late]);
    rare->late[rare->next_late] = late;
    rare->next_late = (rare->next_late + 1) % KEPT;
}

/* Counts a READ that is requested anew, with which a step back begins. `waited`: how long the
 * sender's timer had run, nanoseconds; 0: not known. A response with a later PSN shows the
 * requester that a response is missing: an implied NAK. The requester asks within a round trip
 * then. Without such a response, or long after it, a wait of PAUSE or more shows that the timer has
 * run out. A shorter wait proves nothing: the response may be missing in the capture. Returns
 * whether the timer has certainly run out. */
static bool
count_read(smcr_recovery_t *rare, const smcr_recovery_request_t *request, uint64_t waited)
{
    bool shows_gap = rare->answer_time && smcr_psn_distance(request->psn, rare->answer) > 0;

    if (request->step->cause != SMCR_CAUSE_READ)
        return false;
    if (shows_gap && request->when.time < rare->answer_time + PAUSE) {
        rare->figures.implied_naks++;
        return false;
    }
    rare->figures.read_timeouts += waited >= PAUSE;
    return waited >= PAUSE;
}

/* Keeps the step back that begins with the request; does nothing if none begins. The sender's timer
 * runs from the latest of three events: the first transmission of the request, the last step back,
 * the last acknowledgement that covered a new PSN. */
static void
add_step(smcr_recovery_flow_t *flow, wmem_allocator_t *scope,
         const smcr_recovery_request_t *request)
{
    smcr_recovery_t *rare = flow->rare;
    const kept_step_t *last = &rare->stepped[(rare->next_stepped + KEPT - 1) % KEPT];
    kept_step_t *stepped = &rare->stepped[rare->next_stepped];
    uint64_t since = MAX(MAX(request->first_time, flow->acked_time), last->begin);
    bool is_known = request->first_time && request->when.time > since;

    if (!request->step || (last->step && last->step->frame == request->step->frame))
        return; /* a step may have two objects (smcr_step_tentative_t) */
    count_step(&rare->figures, scope, stepped);
    uint64_t waited = is_known ? request->when.time - since : 0;
    *stepped = (kept_step_t){.step = request->step,
                             .begin = request->when.time,
                             .psn = request->psn,
                             .is_retry = last->step && last->psn == request->psn,
                             .is_timeout = count_read(rare, request, waited),
                             .waited = waited};
    rare->answer_time = 0;
    rare->next_stepped = (rare->next_stepped + 1) % KEPT;
}

/* Decides by the next request what the sender did after it had retransmitted the PSN of a NAK. */
static void
note_next(smcr_recovery_t *rare, uint32_t highest, const smcr_recovery_request_t *request)
{
    asked_t *asked = rare->answered >= 0 ? &rare->asked[rare->answered] : NULL;
    bool is_new = smcr_psn_distance(highest, request->psn) > 0;

    if (!asked || !asked->depth || asked->went_on != NOT_KNOWN)
        return;
    if (is_new)
        asked->went_on = SELECTIVE;
    else if (smcr_psn_distance(asked->psn, request->psn) > 0)
        asked->went_on = WENT_BACK;
}

/* Whether the request is the retransmission for a NAK after which a packet with the PSN has come
 * already. Then that packet was not lost: it came late, out of order. Returns false if the packet
 * was acknowledged before the request, or if the request came PAUSE or later after the NAK: such a
 * request may have been caused by a timeout. */
static bool
shows_disorder(const asked_t *asked, const smcr_recovery_request_t *request)
{
    return asked->was_missing && request->order == SMCR_FLOW_IS_RETRANSMISSION &&
           !request->was_acked && request->when.time < asked->nak.time + PAUSE;
}

/* Takes a request with a PSN that a NAK has named. The first such request is the retransmission
 * that the NAK asks for. If a later one shows that the first was only out of order, the later one
 * takes its place, and the first counts as late. */
static void
take_asked(smcr_recovery_t *rare, wmem_allocator_t *scope, const smcr_recovery_request_t *request,
           uint32_t depth)
{
    int place = place_of_nak(rare, request->psn);
    asked_t *asked = &rare->asked[place];
    bool is_disorder = asked->request.frame && shows_disorder(asked, request);

    if (asked->request.frame && !is_disorder)
        return;
    if (is_disorder)
        add_late(rare, scope, (late_t){NULL, asked->depth, asked->request,
                                       late_by(asked->gap, asked->request)});
    asked->was_missing = request->order == SMCR_FLOW_IS_LATE;
    asked->request = request->when;
    asked->depth = depth;
    asked->went_on = NOT_KNOWN;
    rare->answered = place;
}

/* Takes a packet that comes after a packet with a higher PSN, and whose PSN no packet had. It
 * counts as late, unless a NAK has asked for its PSN. */
static void
take_late(smcr_recovery_t *rare, wmem_allocator_t *scope, const smcr_recovery_request_t *request,
          uint32_t depth)
{
    gap_t *gap = gap_of(rare, request->psn);

    rare->has_read |= request->is_read;
    if (gap)
        gap->left -= gap->left > 0;
    if (place_of_nak(rare, request->psn) >= 0)
        return; /* take_asked() counts the packet: it was lost and retransmitted, unless a further
                   transmission shows disorder */
    add_late(rare, scope,
             (late_t){request->step, MAX(depth, 1), request->when,
                      late_by(gap ? gap->when : (smcr_when_t){0, 0}, request->when)});
}

/* If the request is a retransmission, counts it: as needless if an acknowledgement had covered it
 * before. But the acknowledgement of a READ is its own response, and a later response covers the
 * READ even if this one is missing. If the receiver gets a packet twice, it acknowledges the packet
 * twice: until then, the retransmission is unsettled. */
static void
note_repeat(smcr_recovery_t *rare, uint32_t highest, const smcr_recovery_request_t *request)
{
    if (request->order != SMCR_FLOW_IS_RETRANSMISSION)
        return;
    rare->figures.needless += request->was_acked && !request->is_read;
    rare->unsettled_acked += request->was_acked;
    rare->unsettled += !request->was_acked;
    rare->settled_by = highest;
}

/* Takes a request of a flow that has `rare`. */
static void
take_rare(smcr_recovery_flow_t *flow, wmem_allocator_t *scope,
          const smcr_recovery_request_t *request)
{
    smcr_recovery_t *rare = flow->rare;
    uint32_t highest = flow->has_highest ? flow->highest : request->psn;
    int32_t below = smcr_psn_distance(request->psn, highest);
    uint32_t depth = below > 0 ? (uint32_t)below : 0;

    note_next(rare, highest, request);
    rare->answered = -1;
    if (request->missing)
        add_gap(rare, request);
    if (request->order == SMCR_FLOW_IS_LATE)
        take_late(rare, scope, request, depth);
    if (place_of_nak(rare, request->psn) >= 0)
        take_asked(rare, scope, request, depth);
    add_step(flow, scope, request);
    note_repeat(rare, highest, request);
}

/* Allocates nothing for a flow without a gap, a NAK, a retransmission or an out-of-order packet. */
void
smcr_recovery_take_request(smcr_recovery_flow_t *flow, wmem_allocator_t *scope,
                           const smcr_recovery_request_t *request)
{
    bool is_rare = request->missing || request->order == SMCR_FLOW_IS_LATE ||
                   request->order == SMCR_FLOW_IS_RETRANSMISSION;

    if (is_rare)
        rare_of(flow, scope);
    if (flow->rare)
        take_rare(flow, scope, request);
    if (!flow->has_highest || smcr_psn_distance(flow->highest, request->psn) > 0)
        flow->highest = request->psn;
    flow->has_highest = true;
}

/* ---- responses ---- */

/* Takes an acknowledgement of the PSN that was acknowledged last. The receiver sends it for a
 * packet that it already had. Retransmissions come to the receiver in their order: those that were
 * acknowledged before are the older ones. */
static void
settle_repeat(smcr_recovery_t *rare)
{
    if (rare->unsettled_acked) {
        rare->unsettled_acked--;
    } else if (rare->unsettled) {
        rare->unsettled--;
        rare->figures.answered_twice++;
    }
}

/* Takes an acknowledgement of a PSN that was not acknowledged before. If the PSN was sent after the
 * last retransmission, the receiver has answered all retransmissions that it got. */
static void
settle_all(smcr_recovery_t *rare, uint32_t psn)
{
    if (smcr_psn_distance(rare->settled_by, psn) > 0)
        rare->unsettled = rare->unsettled_acked = 0;
}

/* Notes a response for count_read(). `rare` may be NULL. */
static void
note_answer(smcr_recovery_t *rare, smcr_when_t when, uint32_t psn)
{
    if (!rare || (rare->answer_time && smcr_psn_distance(rare->answer, psn) <= 0))
        return;
    rare->answer = psn;
    rare->answer_time = when.time;
}

/* An acknowledgement of a lower PSN than the last one came out of order, and acknowledges nothing.
 * One of the same PSN answers a retransmission (settle_repeat()). */
void
smcr_recovery_take_ack(smcr_recovery_flow_t *flow, smcr_when_t when, uint32_t psn)
{
    note_answer(flow->rare, when, psn);
    if (flow->acked_time && smcr_psn_distance(flow->acked, psn) < 0)
        return;
    if (flow->acked_time && flow->acked == psn) {
        if (flow->rare)
            settle_repeat(flow->rare);
        return;
    }
    flow->acked = psn;
    flow->acked_time = when.time;
    if (flow->rare)
        settle_all(flow->rare, psn);
}

/* If several NAKs name a PSN before a request with this PSN comes, they count as one NAK, and the
 * time runs from the last of them. */
void
smcr_recovery_take_nak(smcr_recovery_flow_t *flow, wmem_allocator_t *scope, smcr_when_t when,
                       uint32_t psn)
{
    smcr_recovery_t *rare = rare_of(flow, scope);
    gap_t *gap = gap_of(rare, psn);
    int place = place_of_nak(rare, psn);

    if (gap && !gap->is_named) {
        measure(&rare->figures.gap_to_nak_s, scope, gap->when, when);
        gap->is_named = true;
    }
    if (place >= 0 && !rare->asked[place].request.frame) {
        rare->asked[place].nak = when;
        return;
    }
    if (place < 0) {
        place = (int)rare->next_asked;
        rare->next_asked = (rare->next_asked + 1) % KEPT;
    }
    count_asked(&rare->figures, scope, &rare->asked[place]);
    rare->asked[place] = (asked_t){.psn = psn, .nak = when};
    if (gap)
        rare->asked[place].gap = gap->when;
}

/* ---- reporting ---- */

/* A measured time may be up to 5 % shorter than the timer, and up to 5 % longer than four times the
 * timer, since timers of busy hosts vary. */
uint64_t
smcr_recovery_ack_timeout(const smcr_distribution_t *retries)
{
    const uint64_t unit = 4096; /* nanoseconds */

    if (!retries || retries->min < unit)
        return SMCR_FIGURE_UNKNOWN;
    uint64_t least = retries->min + retries->min / 20;
    for (unsigned n = 31; n > 0; n--)
        if (least >= unit << n)
            return retries->max <= (unit << n) * 420 / 100 ? n : SMCR_FIGURE_UNKNOWN;
    return SMCR_FIGURE_UNKNOWN;
}

/* Elements that are still in a ring are counted in the entry only: a later report counts them
 * anew. */
smcr_entry_flow_recovery_t *
smcr_recovery_report(const smcr_recovery_flow_t *flow, wmem_allocator_t *scope)
{
    const smcr_recovery_t *rare = flow->rare;

    if (!rare)
        return NULL;
    smcr_entry_flow_recovery_t *entry = wmem_new(scope, smcr_entry_flow_recovery_t);
    smcr_entry_clear(entry, &smcr_entry_flow_recovery_description);
    smcr_entry_join(entry, &rare->figures, &smcr_entry_flow_recovery_description, scope);
    for (unsigned i = 0; i < KEPT; i++) {
        count_asked(entry, scope, &rare->asked[i]);
        count_gap(entry, &rare->gaps[i]);
        count_late(entry, scope, &rare->late[i]);
        count_step(entry, scope, &rare->stepped[i]);
    }
    if (rare->has_read)
        entry->unfilled = SMCR_FIGURE_UNKNOWN;
    entry->ack_timeout = smcr_recovery_ack_timeout(entry->retry_s);
    return entry;
}

/* Late packets that are still kept count, too. */
smcr_when_t
smcr_recovery_reordered(const smcr_recovery_flow_t *flow)
{
    smcr_when_t first = {0, 0};

    if (!flow->rare)
        return first;
    first = flow->rare->reordered;
    for (unsigned i = 0; i < KEPT; i++)
        first = first_reordered(first, &flow->rare->late[i]);
    return first;
}

/* The joined part has ended: the elements of its rings are counted as they are. */
void
smcr_recovery_join(smcr_recovery_flow_t *flow, wmem_allocator_t *scope,
                   const smcr_recovery_flow_t *other)
{
    const smcr_entry_flow_recovery_t *entry = smcr_recovery_report(other, scope);

    if (!entry)
        return;
    smcr_recovery_t *rare = rare_of(flow, scope);
    smcr_entry_join(&rare->figures, entry, &smcr_entry_flow_recovery_description, scope);
    rare->reordered = smcr_figure_when_earlier(rare->reordered, smcr_recovery_reordered(other));
    rare->has_read |= other->rare->has_read;
}
