/* Follows the receiver of a flow, as packets at the last capture point of the flow show it: it
 * accepts the expected PSN and no other (InfiniBand Architecture Specification, volume 1, 9.7).
 *
 * - An acknowledgement proves that the receiver has all packets up to its PSN.
 * - A NAK with a PSN sequence error proves that the receiver does not have the packet with the PSN
 *   of the NAK, and has all packets with lower PSNs.
 * - A retransmission without a NAK proves that the sender has got no acknowledgement of the packet.
 *   If the last point does not have the first transmission, this transmission was lost. If the last
 *   point has the first transmission, the transmission or its acknowledgement was lost after that
 *   point, if a request asked for one. If several packets are retransmitted together, this holds
 *   for at least one of them. If the last point has a later transmission, and the receiver answers
 *   none of them to the end, the receiver may be dead: then nothing is proven of the first one.
 * - If the receiver expects a packet that the last point does not have, requests after it ask for
 *   acknowledgements, none comes, and the sender goes back without a NAK, then the packet was lost.
 * - If packets come to the last point out of order, a NAK for the later one of them proves nothing.
 * - An RDMA READ takes as many PSNs as it has responses. A response acknowledges all PSNs up to its
 *   own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fates_receiver.h"

/* A receiver is silent if it has acknowledged none of the requests after a missing packet, at least
 * this many of which ask for an acknowledgement. One acknowledgement alone may have been lost. */
#define ASKED_LEAST 2

/* Nanoseconds. If a request asks for an acknowledgement, the acknowledgement comes at most this
 * time after it, unless it or the request was lost. */
#define TIME_TO_ANSWER (5 * SMCR_TIME_MILLISECOND)

/* A transmission whose fate depends on later answers. */
typedef struct {
    smcr_psn_t psn; /* its PSN */
    smcr_transmission_t *transmission; /* the transmission */
} doubt_t;

/* A READ or atomic that the sender requests once more after the receiver has accepted it. The last
 * point does not have this request. */
typedef struct {
    smcr_transmission_t *transmission; /* the request; NULL: none is undecided */
    smcr_psn_t first; /* the first PSN that it takes */
    smcr_psn_t last;  /* the last PSN that it takes */
    uint64_t time;    /* as in smcr_fates_event_t */
} fetched_again_t;

/* A receiver, as the packets at the last point show it. */
typedef struct {
    smcr_fates_slot_t *slots; /* hash table of SMCR_FATES_SLOTS slots (smcr_fates_slot_of()) */
    smcr_psn_t expected;    /* PSN that the receiver expects */
    smcr_psn_t acked;       /* highest PSN that was acknowledged */
    smcr_psn_t highest;     /* highest PSN that was sent */
    smcr_psn_t last;        /* last PSN of the request that was sent last; a READ takes several
                               PSNs */
    smcr_transmission_t *newest; /* the request that was sent last; NULL: none so far */
    smcr_psn_t resent;      /* highest PSN that was retransmitted in the last step back; 0: none */
    uint64_t resent_time;   /* time of the last retransmission, as in smcr_fates_event_t; or time of
                               a later acknowledgement that covers PSNs above `resent` */
    uint64_t last_retransmission; /* time of the last retransmission, as in smcr_fates_event_t; 0:
                                     none */
    smcr_psn_t refused;     /* PSN of the last NAK or RNR NAK that no step back has answered; 0:
                               none */
    bool is_asked;          /* a NAK has asked for the retransmissions of the last step back */
    smcr_psn_t begun;       /* PSN with which the last step back began; 0: none */
    smcr_transmission_t *missing; /* the last transmission that got SMCR_FATE_PENDING; NULL: none */
    unsigned asked;         /* number of requests that came with a higher PSN than `expected` and
                               ask for an acknowledgement, since `missing` or the last step back */
    uint64_t asked_time;    /* time of the last of the first ASKED_LEAST of these, as in
                               smcr_fates_event_t */
    smcr_psn_t asked_psn;   /* last PSN of the newest accepted request that asks for an
                               acknowledgement or for data; 0: none */
    bool has_gap;           /* a request with a higher PSN than `expected` has come to the last
                               point, and since then neither the expected request nor a NAK for
                               it */
    bool was_silent;        /* the receiver was silent (ASKED_LEAST) before the last step back, for
                               which no NAK has asked */
    smcr_psn_t fetched;     /* PSN with which the last step back began, if that request is a READ or
                               atomic and no NAK has asked for it; otherwise 0 */
    fetched_again_t again;  /* the last READ or atomic that was requested once more */
    smcr_transmission_t *unanswered; /* the last transmission that got SMCR_FATE_UNANSWERED; NULL:
                                        none, or a later acknowledgement or step back has come */
    bool is_timed;          /* the last point has the response that is being taken */
    uint64_t fastest;       /* shortest time from a request to its acknowledgement, nanoseconds;
                               UINT64_MAX: not known */
    GArray *doubtful;       /* doubt_t: transmissions with SMCR_FATE_DOUBTFUL, in ascending order of
                               PSNs */
    GArray *unproven;       /* doubt_t: transmissions with SMCR_FATE_LOST for which no NAK has
                               asked: proven if the receiver acknowledges the PSN later */
} follower_t;

/* ---- PSNs ---- */

/* Returns the slot of the PSN. NULL: the PSN has no slot any more, since a higher PSN has taken
 * it. */
static smcr_fates_slot_t *
kept_slot_of(const follower_t *receiver, smcr_psn_t psn)
{
    bool is_taken = receiver->slots[psn & (SMCR_FATES_SLOTS - 1)].psn > psn;

    return is_taken ? NULL : smcr_fates_slot_of(receiver->slots, psn);
}

/* Whether the receiver counts as having accepted a packet with the PSN. A later NAK may have
 * lowered the expected PSN. */
static bool
has_accepted(const follower_t *receiver, const smcr_fates_slot_t *slot)
{
    return slot->accepted && slot->psn < receiver->expected;
}

/* Whether the receiver counts as having accepted this transmission of the PSN. */
static bool
is_accepted(const follower_t *receiver, const smcr_fates_slot_t *slot,
            const smcr_transmission_t *transmission)
{
    return has_accepted(receiver, slot) && slot->accepted == transmission;
}

/* Whether a response at `now` may answer a packet of the time `then`: the time between is at least
 * half of the shortest time from a request to its acknowledgement. */
static bool
may_answer(const follower_t *receiver, uint64_t then, uint64_t now)
{
    return now >= then &&
           now - then >= (receiver->fastest == UINT64_MAX ? 0 : receiver->fastest / 2);
}

/* ---- requests ---- */

/* Sets the fate of an accepted transmission whose PSN is retransmitted, though no NAK has asked for
 * it. If no accepted request from this PSN on has asked for a response, the receiver need not have
 * sent one, and the retransmission proves nothing. Else the fate is SMCR_FATE_DOUBTFUL: either the
 * transmission or the response was lost. */
static void
settle_accepted(follower_t *receiver, const doubt_t *doubt)
{
    bool was_asked_for = doubt->psn <= receiver->asked_psn;

    doubt->transmission->fate = was_asked_for ? SMCR_FATE_DOUBTFUL : SMCR_FATE_UNKNOWN;
    if (was_asked_for)
        g_array_append_val(receiver->doubtful, *doubt);
}

/* Sets the fate of a pending transmission that is retransmitted. A step back proves a loss of the
 * PSN with which it begins, and, if the receiver was silent, of the PSN that the receiver
 * expects. */
static void
settle_pending(follower_t *receiver, const doubt_t *doubt)
{
    bool is_reason = doubt->psn == receiver->begun || receiver->was_silent;

    doubt->transmission->fate = is_reason ? SMCR_FATE_LOST : SMCR_FATE_UNKNOWN;
    if (is_reason && !receiver->is_asked)
        g_array_append_val(receiver->unproven, *doubt);
}

/* Sets the fate of the earlier transmission of a PSN that is retransmitted now. `was_seen`: the
 * last point has the earlier transmission. A PSN that is acknowledged already is left alone, and so
 * is a transmission that is known to be lost. If the step back began with a READ or atomic that no
 * NAK has asked for (`fetched`), the fates of the other PSNs are unknown. */
static void
settle_earlier(follower_t *receiver, smcr_fates_slot_t *slot, bool was_seen)
{
    smcr_transmission_t *earlier = slot->latest;

    if (slot->psn <= receiver->acked || earlier->fate == SMCR_FATE_LOST)
        return;
    if (receiver->fetched && slot->psn != receiver->fetched) {
        earlier->fate = SMCR_FATE_UNKNOWN;
        return;
    }
    const doubt_t doubt = {slot->psn, earlier};
    if (was_seen && is_accepted(receiver, slot, earlier) && !receiver->is_asked)
        settle_accepted(receiver, &doubt);
    else if (earlier->fate == SMCR_FATE_PENDING)
        settle_pending(receiver, &doubt);
    else
        earlier->fate = SMCR_FATE_DISCARDED;
}

/* Whether the receiver is silent (ASKED_LEAST) at `now`. */
static bool
is_silent(const follower_t *receiver, uint64_t now)
{
    bool is_missing = receiver->missing && receiver->missing->fate == SMCR_FATE_PENDING;

    return is_missing && receiver->asked >= ASKED_LEAST &&
           now >= receiver->asked_time + TIME_TO_ANSWER;
}

/* Notes a request that the last point has, and that has a higher PSN than the receiver expects. */
static void
note_early(follower_t *receiver, const smcr_fates_event_t *event)
{
    receiver->has_gap = true;
    receiver->asked += event->packet->asks_ack;
    if (event->packet->asks_ack && receiver->asked == ASKED_LEAST)
        receiver->asked_time = event->time;
}

/* Whether the receiver answers the request: it asks for an acknowledgement or for data. */
static bool
wants_answer(const smcr_observed_t *packet)
{
    return packet->asks_ack || smcr_ib_operations[packet->opcode].fetches_data;
}

/* Whether another request that was sent later than this one has come before it. */
static bool
is_overtaken(const follower_t *receiver, const smcr_fates_event_t *event)
{
    return receiver->newest && event->transmission < receiver->newest;
}

/* Notes a retransmission of the PSN. If the PSN is not above that of the request that was sent
 * before, and the packet is not out of order, a step back begins. The step back answers the last
 * NAK if it begins at the PSN of the NAK or lower, even if this packet comes after later packets of
 * the same step. */
static void
note_step(follower_t *receiver, smcr_psn_t psn, const smcr_fates_event_t *event)
{
    bool is_late = is_overtaken(receiver, event), answers = receiver->refused >= psn;
    bool begins = psn <= receiver->last && !is_late;

    if (begins) {
        receiver->begun = psn;
        receiver->is_asked = answers;
        receiver->was_silent = !answers && is_silent(receiver, event->time);
        receiver->asked = 0;
        receiver->fetched =
            smcr_ib_operations[event->packet->opcode].fetches_data && !answers ? psn : 0;
        receiver->refused = answers ? 0 : receiver->refused;
        receiver->unanswered = NULL;
    }
    receiver->is_asked |= is_late && answers;
    receiver->resent = begins ? psn : MAX(receiver->resent, psn);
    receiver->resent_time = receiver->last_retransmission = event->time;
}

/* Takes a request for a READ or atomic that the receiver has accepted before. An earlier such
 * request that takes this PSN, and that the last point does not have, was lost if no response has
 * come since. */
static void
take_fetch_again(follower_t *receiver, const smcr_fates_event_t *event, smcr_psn_t psn)
{
    fetched_again_t *again = &receiver->again;

    if (again->transmission && psn >= again->first && psn <= again->last)
        again->transmission->fate = SMCR_FATE_LOST;
    *again = (fetched_again_t){event->is_seen ? NULL : event->transmission, psn,
                               psn + event->psns - 1, event->time};
}

/* Takes a request as a retransmission if its PSN was sent before, or if it is a READ or atomic with
 * a PSN that the receiver has accepted. */
static void
take_retransmission(follower_t *receiver, const smcr_fates_event_t *event,
                    smcr_fates_slot_t *slot)
{
    bool is_fetch = smcr_ib_operations[event->packet->opcode].fetches_data;
    bool is_fetch_again = is_fetch && slot->psn < receiver->expected;

    if (slot->latest || is_fetch_again)
        note_step(receiver, slot->psn, event);
    if (is_fetch_again)
        take_fetch_again(receiver, event, slot->psn);
    if (slot->latest)
        settle_earlier(receiver, slot, slot->is_timed);
}

/* Takes the next request, in the order of the last point, which may not have it. If it has the
 * expected PSN and the point has it, notes it in the PSN's slot as accepted until an answer shows
 * otherwise; that sets no fate. If the point does not have it, its fate is SMCR_FATE_PENDING. */
static void
take_request(follower_t *receiver, const smcr_fates_event_t *event)
{
    smcr_psn_t psn = smcr_psn_near(receiver->highest, event->packet->psn);
    smcr_fates_slot_t *slot = smcr_fates_slot_of(receiver->slots, psn);

    take_retransmission(receiver, event, slot);
    slot->came_late = event->is_seen && psn == receiver->expected && receiver->has_gap;
    if (event->is_seen && psn == receiver->expected) {
        slot->accepted = event->transmission;
        receiver->expected += event->psns;
        if (wants_answer(event->packet))
            receiver->asked_psn = receiver->expected - 1;
        receiver->has_gap = false;
    } else if (psn == receiver->expected) {
        event->transmission->fate = SMCR_FATE_PENDING;
        receiver->missing = event->transmission;
        receiver->asked = 0;
    } else if (event->is_seen && psn > receiver->expected) {
        note_early(receiver, event);
    }
    slot->latest = event->transmission;
    slot->time = event->time;
    slot->is_timed = event->is_seen;
    slot->was_seen |= event->is_seen;
    receiver->highest = MAX(receiver->highest, psn + event->psns - 1);
    if (is_overtaken(receiver, event))
        return;
    receiver->last = psn + event->psns - 1;
    receiver->newest = event->transmission;
}

/* ---- responses ---- */

/* Sets the fates of the doubtful transmissions. All of them are acknowledged now, after they were
 * retransmitted. If the acknowledgement came too soon after the retransmission, it answers the
 * first transmissions, and was only late: the receiver has got all of them. Otherwise the last of
 * them, or its acknowledgement, was lost. If there are several, any of them may have been lost
 * (`is_one_of_several`). */
static void
settle_doubtful(follower_t *receiver, uint64_t now)
{
    bool was_late = !may_answer(receiver, receiver->resent_time, now);
    unsigned count = receiver->doubtful->len;

    for (unsigned i = 0; i < count; i++) {
        smcr_transmission_t *each = g_array_index(receiver->doubtful, doubt_t, i).transmission;
        bool is_last = i + 1 == count && !was_late;
        each->fate = is_last ? SMCR_FATE_UNANSWERED : SMCR_FATE_RECEIVED;
        each->is_one_of_several = count > 1;
        if (is_last)
            receiver->unanswered = each;
    }
    g_array_set_size(receiver->doubtful, 0);
}

/* Takes a NAK or RNR NAK: the receiver has not accepted the doubtful transmissions, so their fate
 * is SMCR_FATE_DISCARDED. */
static void
discard_doubtful(follower_t *receiver)
{
    for (unsigned i = 0; i < receiver->doubtful->len; i++)
        g_array_index(receiver->doubtful, doubt_t, i).transmission->fate = SMCR_FATE_DISCARDED;
    g_array_set_size(receiver->doubtful, 0);
}

/* Returns the highest PSN among the doubtful transmissions; 0: there are none. A step back adds
 * them in ascending order. */
static smcr_psn_t
highest_doubtful(const follower_t *receiver)
{
    const GArray *doubtful = receiver->doubtful;

    return doubtful->len ? g_array_index(doubtful, doubt_t, doubtful->len - 1).psn : 0;
}

/* Notes the time from a request to its acknowledgement at `now`, if the last point has both and the
 * time is the shortest so far. */
static void
note_fastest(follower_t *receiver, const smcr_fates_slot_t *slot, uint64_t now)
{
    if (slot->is_timed && receiver->is_timed && now > slot->time)
        receiver->fastest = MIN(receiver->fastest, now - slot->time);
}

/* Returns the transmission of the PSN that the receiver has accepted before it acknowledged the PSN
 * at `now`; NULL: none is known. If the acknowledgement comes too soon after the latest
 * transmission to answer it, the accepted transmission is the one that is noted in the slot. */
static smcr_transmission_t *
acked_transmission(const follower_t *receiver, const smcr_fates_slot_t *slot, uint64_t now)
{
    bool is_too_soon = slot->accepted && !may_answer(receiver, slot->time, now);

    return is_too_soon || has_accepted(receiver, slot) ? slot->accepted : slot->latest;
}

/* Sets the fate of the transmission that the receiver accepted, for a PSN that is acknowledged at
 * `now`. `acked`: PSN of the acknowledgement. If a NAK has shown that the latest transmission was
 * lost, and no retransmission was captured since, the fate becomes unknown: either the NAK was
 * about an earlier transmission, or no point has captured the retransmission. */
static void
settle_acked(follower_t *receiver, smcr_fates_slot_t *slot, smcr_psn_t acked, uint64_t now)
{
    smcr_transmission_t *received = acked_transmission(receiver, slot, now);

    if (!received || received->fate == SMCR_FATE_DOUBTFUL)
        return;
    if (received->fate == SMCR_FATE_LOST) {
        received->fate = received == slot->latest ? SMCR_FATE_UNKNOWN : SMCR_FATE_LOST;
        return;
    }
    received->fate = SMCR_FATE_RECEIVED;
    if (slot->psn == acked && received == slot->latest)
        note_fastest(receiver, slot, now);
}

/* Takes an acknowledgement of all PSNs up to `psn`. If it covers PSNs above those retransmitted,
 * the receiver has got all first transmissions. A receiver acknowledges each transmission. So if a
 * second acknowledgement of the same PSN follows a retransmission, the receiver has got the first
 * transmission, too (`unanswered`). */
static void
take_ack(follower_t *receiver, smcr_psn_t psn, uint64_t now)
{
    psn = MIN(psn, receiver->highest);
    if (psn == receiver->acked && receiver->unanswered)
        receiver->unanswered->fate = SMCR_FATE_RECEIVED;
    receiver->unanswered = NULL;
    if (psn <= receiver->acked)
        return;
    smcr_psn_t kept = psn >= SMCR_FATES_SLOTS ? psn - SMCR_FATES_SLOTS + 1 : 0;
    smcr_psn_t first = MAX(receiver->acked + 1, kept);
    for (smcr_psn_t each = first; each <= psn; each++) {
        smcr_fates_slot_t *slot = kept_slot_of(receiver, each);
        if (slot)
            settle_acked(receiver, slot, psn, now);
    }
    receiver->acked = psn;
    receiver->expected = MAX(receiver->expected, psn + 1);
    if (psn > receiver->resent)
        receiver->resent_time = now;
    if (psn >= highest_doubtful(receiver))
        settle_doubtful(receiver, now);
}

/* Whether the latest transmission of the PSN of `one` came after the latest transmission of the PSN
 * of `other`. If the last point does not have both transmissions, the order in which they were sent
 * decides. */
static bool
is_after(const smcr_fates_slot_t *one, const smcr_fates_slot_t *other)
{
    bool is_known = one->is_timed && other->is_timed && one->time != other->time;

    return is_known ? one->time > other->time : one->latest > other->latest;
}

/* Returns the transmission that a NAK for the PSN proves to be lost: the latest one of the PSN.
 * NULL: none is known, or the NAK proves no loss, because the latest transmission came before the
 * latest packet with the PSN before it. The receiver may have discarded the transmission because it
 * still expected that lower PSN; the transmission that was lost may then be missing in the capture.
 * If no packet with the lower PSN is known (its slot has another PSN, or a READ took the PSN), the
 * NAK proves the loss, unless some retransmission came after the transmission. */
static smcr_transmission_t *
refused_transmission(const follower_t *receiver, const smcr_fates_slot_t *slot)
{
    const smcr_fates_slot_t *below = kept_slot_of(receiver, slot->psn - 1);
    bool has_below = below && below->latest;
    bool is_later = has_below ? is_after(slot, below)
                              : slot->time >= receiver->last_retransmission;

    return slot->latest && is_later ? slot->latest : NULL;
}

/* Takes a NAK for the PSN `psn`, which the receiver does not have. `is_lost`: the packet has not
 * come (PSN sequence error); false: the receiver was not ready for the packet (RNR NAK). */
static void
take_nak(follower_t *receiver, smcr_psn_t psn, uint64_t now, bool is_lost)
{
    smcr_fates_slot_t *slot = kept_slot_of(receiver, psn);
    smcr_transmission_t *refused = slot ? refused_transmission(receiver, slot) : NULL;

    if (slot && slot->latest && !may_answer(receiver, slot->time, now))
        return; /* the packet has come since the NAK was sent */
    if (slot && slot->came_late && is_lost) { /* the receiver has seen the same order */
        slot->came_late = false;
        receiver->refused = psn;
        return;
    }
    receiver->has_gap &= psn != receiver->expected;
    if (refused && is_lost && psn > receiver->acked)
        refused->fate = SMCR_FATE_LOST;
    receiver->expected = MIN(receiver->expected, psn);
    receiver->refused = psn;
}

/* Takes a response to a READ or atomic. It acknowledges all PSNs up to its own. */
static void
take_data(follower_t *receiver, smcr_psn_t psn, uint64_t now)
{
    fetched_again_t *again = &receiver->again;

    if (again->transmission && psn >= again->first && psn <= again->last &&
        may_answer(receiver, again->time, now)) {
        again->transmission->fate = SMCR_FATE_RECEIVED;
        again->transmission = NULL;
    }
    if (psn > receiver->acked && psn <= receiver->highest)
        take_ack(receiver, psn, now);
}

/* Takes the next response. Each acknowledges requests: an ACK and data of a READ up to their PSN, a
 * NAK or RNR NAK up to the PSN before it. */
static void
take_response(follower_t *receiver, const smcr_fates_event_t *event)
{
    smcr_psn_t psn = smcr_psn_near(receiver->highest, event->packet->psn);
    uint8_t syndrome = event->packet->syndrome;
    int kind = smcr_wire_bits(syndrome, SMCR_MASK_SYNDROME_KIND);
    unsigned code = smcr_wire_bits(syndrome, SMCR_MASK_SYNDROME_CODE);

    receiver->is_timed = event->is_seen;
    if (smcr_fates_is_data(event->packet)) {
        take_data(receiver, psn, event->time);
        return;
    }
    if (!event->packet->has_aeth || psn > receiver->highest)
        return;
    if (kind == SMCR_IB_SYNDROME_ACK) {
        take_ack(receiver, psn, event->time);
        return;
    }
    discard_doubtful(receiver);
    take_ack(receiver, psn - 1, event->time);
    if (kind == SMCR_IB_SYNDROME_RNR_NAK || code == SMCR_IB_NAK_PSN_SEQUENCE)
        take_nak(receiver, psn, event->time, kind == SMCR_IB_SYNDROME_NAK);
}

/* A receiver that has answered none of the transmissions of a PSN, though the last point has one of
 * them, may be dead. So it is not known which of the others passed that point. */
static void
doubt_unproven(const follower_t *receiver)
{
    for (unsigned i = 0; i < receiver->unproven->len; i++) {
        const doubt_t *each = &g_array_index(receiver->unproven, doubt_t, i);
        const smcr_fates_slot_t *slot = kept_slot_of(receiver, each->psn);
        if (each->psn > receiver->acked && slot && slot->was_seen)
            each->transmission->fate = SMCR_FATE_UNKNOWN;
    }
}

/* ---- all packets ---- */

/* The order of the events is that of the last point, which is the nearest to the receiver. */
void
smcr_fates_follow_receiver(const GArray *events, smcr_fates_slot_t *slots, smcr_psn_t first)
{
    follower_t receiver = {
        .slots = slots,
        .expected = first,
        .acked = first - 1,
        .highest = first - 1,
        .last = first - 1,
        .fastest = UINT64_MAX,
        .doubtful = g_array_new(FALSE, FALSE, sizeof(doubt_t)),
        .unproven = g_array_new(FALSE, FALSE, sizeof(doubt_t)),
    };

    for (unsigned i = 0; i < events->len; i++) {
        const smcr_fates_event_t *event = &g_array_index(events, smcr_fates_event_t, i);
        if (event->is_response)
            take_response(&receiver, event);
        else
            take_request(&receiver, event);
    }
    doubt_unproven(&receiver);
    g_array_free(receiver.doubtful, TRUE);
    g_array_free(receiver.unproven, TRUE);
}
