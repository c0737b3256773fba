/* Finds out which transmissions have reached their receivers. What comes after the last capture
 * point is known from answers only, so this file follows the receiver of each flow: it accepts the
 * expected PSN and no other (InfiniBand Architecture Specification, volume 1, 9.7).
 *
 * - An acknowledgement proves that the receiver has all packets up to its PSN.
 * - A NAK with a PSN sequence error proves that the receiver does not have the packet with the PSN
 *   of the NAK, and has all packets with lower PSNs.
 * - A retransmission without a NAK proves that the sender has got no acknowledgement of the packet.
 *   If the last point does not have the first transmission, this transmission was lost. If the last
 *   point has the first transmission, the transmission or its acknowledgement was lost after that
 *   point. If several packets are retransmitted together, this holds for at least one of them.
 * - If the sender retransmits a packet after an acknowledgement that covers the packet, the
 *   acknowledgement was lost.
 * - If the sender goes back to the PSN of a NAK at once, it has got the NAK.
 * - An RDMA READ takes as many PSNs as it has responses. A response acknowledges all PSNs up to its
 *   own.
 * - If the sender requests an RDMA READ or atomic once more, from a PSN on, it has not got the
 *   response with this PSN, and has got all responses of the READ with lower PSNs. Requests that
 *   follow are retransmitted, too, whether the receiver has them or not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fates.h"

#include "fates_tcp.h"

#define SLOTS 16384 /* number of PSNs that are kept, a power of two; no sender has more PSNs under
                       way */

/* Nanoseconds. If an acknowledgement comes at least this time before a retransmission, and the
 * sender retransmits nevertheless, the sender did not get the acknowledgement. An acknowledgement
 * that comes later proves nothing, since the sender may have begun the retransmission already. */
#define TIME_TO_REACT (5 * SMCR_TIME_MILLISECOND)

/* Nanoseconds. A sender that goes back to the PSN of a NAK so soon after the NAK has got it. A step
 * back later than this proves nothing: rxe has ignored NAKs that certainly came, and has waited for
 * its timer. */
#define ANSWER_MOST SMCR_TIME_MILLISECOND

#define ACKS_KEPT 256 /* number of the latest acknowledgements that are kept */

/* A request or response of a flow, at one point of the path. */
typedef struct {
    uint64_t time; /* when the transmission passed or would have passed the point, by the clock of
                      the path's first point, nanoseconds since the epoch */
    uint32_t order; /* number of an observation: puts equal times in the order of the file */
    smcr_transmission_t *transmission;
    const smcr_observed_t *packet; /* an observation of the transmission */
    uint32_t psns; /* number of PSNs that a request takes: 1, or the number of responses to a
                      READ */
    bool is_response; /* a response; false: a request */
    bool is_seen;  /* the point has the transmission */
} event_t;

/* What is known of a PSN. */
typedef struct {
    smcr_psn_t psn; /* the unwrapped PSN; 0: the slot is free */
    smcr_transmission_t *latest;   /* the latest transmission with the PSN; NULL: none */
    smcr_transmission_t *accepted; /* the transmission that the receiver accepted, as far as the
                                      last point shows; NULL: none */
    uint64_t time;                 /* time of `latest`, as event_t.time */
    bool is_timed;                 /* the point has `latest`, so `time` is no estimate */
} slot_t;

/* A transmission with SMCR_FATE_DOUBTFUL. */
typedef struct {
    smcr_psn_t psn; /* its PSN */
    smcr_transmission_t *transmission;
} doubt_t;

/* A READ or atomic that the sender requests once more after the receiver has accepted it. The last
 * point does not have this request. */
typedef struct {
    smcr_transmission_t *transmission; /* the request; NULL: none is undecided */
    smcr_psn_t first; /* the first PSN that it takes */
    smcr_psn_t last;  /* the last PSN that it takes */
    uint64_t time;    /* as event_t.time */
} fetched_again_t;

/* A receiver, as the packets at the last point show it. */
typedef struct {
    slot_t *slots;          /* hash table of SLOTS slots: the low bits of a PSN are the index */
    smcr_psn_t expected;    /* PSN that the receiver expects */
    smcr_psn_t acked;       /* highest PSN that was acknowledged */
    smcr_psn_t highest;     /* highest PSN that was sent */
    smcr_psn_t last;        /* PSN of the last request */
    smcr_psn_t resent;      /* highest PSN that was retransmitted in the last step back; 0: none */
    uint64_t resent_time;   /* time of the last retransmission, as event_t.time; or time of a later
                               acknowledgement that covers PSNs above `resent` */
    uint64_t last_retransmission; /* time of the last retransmission, as event_t.time; 0: none */
    smcr_psn_t refused;     /* PSN of the last NAK that no step back has answered; 0: none */
    bool is_asked;          /* a NAK has asked for the retransmissions of the last step back */
    smcr_psn_t begun;       /* PSN with which the last step back began; 0: none */
    smcr_psn_t fetched;     /* PSN with which the last step back began, if that request is a READ or
                               atomic and no NAK has asked for it; 0: it is another request */
    fetched_again_t again;  /* the last READ or atomic that was requested once more */
    smcr_transmission_t *unanswered; /* the last transmission that got SMCR_FATE_UNANSWERED; NULL:
                                        none, or a later response or step back has settled it */
    bool is_timed;          /* the last point has the response that is being taken */
    uint64_t fastest;       /* shortest time from a request to its acknowledgement, nanoseconds;
                               UINT64_MAX: not known */
    GArray *doubtful;       /* doubt_t: transmissions with SMCR_FATE_DOUBTFUL, in ascending order of
                               PSNs */
} follower_t;

/* ---- PSNs ---- */

/* Returns the slot of the PSN. If the slot has another PSN, it is emptied first. */
static slot_t *
slot_of(const follower_t *receiver, smcr_psn_t psn)
{
    slot_t *slot = &receiver->slots[psn & (SLOTS - 1)];

    if (slot->psn != psn)
        *slot = (slot_t){.psn = psn};
    return slot;
}

/* Returns the slot of the PSN. NULL: the PSN has no slot any more, since a higher PSN has taken
 * it. */
static slot_t *
kept_slot_of(const follower_t *receiver, smcr_psn_t psn)
{
    return receiver->slots[psn & (SLOTS - 1)].psn > psn ? NULL : slot_of(receiver, psn);
}

/* Whether the receiver counts as having accepted a packet with the PSN. A later NAK may have
 * lowered the expected PSN again. */
static bool
has_accepted(const follower_t *receiver, const slot_t *slot)
{
    return slot->accepted && slot->psn < receiver->expected;
}

/* Whether the receiver counts as having accepted this transmission of the PSN. */
static bool
is_accepted(const follower_t *receiver, const slot_t *slot,
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

/* Sets the fate of the earlier transmission of a PSN that is retransmitted now. `was_seen`: the
 * last point has the earlier transmission. A PSN that is acknowledged already is left alone. A step
 * back proves a loss of the PSN only with which it begins. */
static void
settle_earlier(follower_t *receiver, slot_t *slot, bool was_seen)
{
    smcr_transmission_t *earlier = slot->latest;

    if (slot->psn <= receiver->acked || earlier->fate == SMCR_FATE_LOST)
        return;
    if (receiver->fetched && slot->psn != receiver->fetched) {
        earlier->fate = SMCR_FATE_UNKNOWN;
        return;
    }
    bool is_doubtful = was_seen && is_accepted(receiver, slot, earlier) && !receiver->is_asked;
    if (is_doubtful) {
        const doubt_t doubt = {slot->psn, earlier};
        earlier->fate = SMCR_FATE_DOUBTFUL;
        g_array_append_val(receiver->doubtful, doubt);
    } else if (earlier->fate == SMCR_FATE_PENDING) {
        bool is_reason = slot->psn == receiver->begun;
        earlier->fate = is_reason ? SMCR_FATE_LOST : SMCR_FATE_UNKNOWN;
    } else {
        earlier->fate = SMCR_FATE_DISCARDED;
    }
}

/* Notes a retransmission of the PSN. If the PSN is not above the PSN of the last request, a step
 * back begins. The step back answers the last NAK if it begins at the PSN of the NAK or lower. */
static void
note_step(follower_t *receiver, smcr_psn_t psn, const event_t *event)
{
    bool begins = psn <= receiver->last;

    if (begins) {
        receiver->begun = psn;
        receiver->is_asked = receiver->refused >= psn;
        receiver->fetched =
            smcr_ib_operations[event->packet->opcode].fetches_data && !receiver->is_asked ? psn : 0;
        receiver->refused = 0;
        receiver->unanswered = NULL;
    }
    receiver->resent = begins ? psn : MAX(receiver->resent, psn);
    receiver->resent_time = receiver->last_retransmission = event->time;
}

/* Takes a request for a READ or atomic that the receiver has accepted before. An earlier such
 * request that has this PSN, and that the last point does not have, was lost if no response has
 * come since. */
static void
take_fetch_again(follower_t *receiver, const event_t *event, smcr_psn_t psn)
{
    fetched_again_t *again = &receiver->again;

    if (again->transmission && psn >= again->first && psn <= again->last)
        again->transmission->fate = SMCR_FATE_LOST;
    *again = (fetched_again_t){event->is_seen ? NULL : event->transmission, psn,
                               psn + event->psns - 1, event->time};
}

/* Takes a request, if its PSN was sent before, or a READ that was accepted took the PSN. */
static void
take_retransmission(follower_t *receiver, const event_t *event, slot_t *slot, uint32_t last)
{
    bool is_fetch = smcr_ib_operations[event->packet->opcode].fetches_data;
    bool is_fetch_again = is_fetch && slot->psn < receiver->expected;

    if (slot->latest || is_fetch_again)
        note_step(receiver, slot->psn, event);
    if (is_fetch_again)
        take_fetch_again(receiver, event, slot->psn);
    if (slot->latest)
        settle_earlier(receiver, slot, slot->latest->at[last] != 0);
}

/* Takes the next request at the last point. A request with the expected PSN that the last point has
 * is accepted until an answer shows otherwise. If the last point does not have it, its fate is
 * pending. */
static void
take_request(follower_t *receiver, const event_t *event, uint32_t last)
{
    smcr_psn_t psn = smcr_psn_near(receiver->highest, event->packet->psn);
    slot_t *slot = slot_of(receiver, psn);

    take_retransmission(receiver, event, slot, last);
    if (event->is_seen && psn == receiver->expected) {
        slot->accepted = event->transmission;
        receiver->expected += event->psns;
    } else if (psn == receiver->expected) {
        event->transmission->fate = SMCR_FATE_PENDING;
    }
    slot->latest = event->transmission;
    slot->time = event->time;
    slot->is_timed = event->is_seen;
    receiver->last = psn + event->psns - 1;
    receiver->highest = MAX(receiver->highest, receiver->last);
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

/* Called for a NAK. The NAK shows that a packet before or among the doubtful transmissions was
 * lost, so the receiver discarded them. */
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

/* Notes the time from a request to its acknowledgement at `now`, if it is the shortest so far. */
static void
note_fastest(follower_t *receiver, const slot_t *slot, uint64_t now)
{
    if (slot->is_timed && receiver->is_timed && now > slot->time)
        receiver->fastest = MIN(receiver->fastest, now - slot->time);
}

/* Returns the transmission of the PSN that the receiver has accepted before it acknowledged the PSN
 * at `now`; NULL: none is known. The acknowledgement may come too soon after the latest one to
 * answer it. */
static smcr_transmission_t *
acked_transmission(const follower_t *receiver, const slot_t *slot, uint64_t now)
{
    bool is_too_soon = slot->accepted && !may_answer(receiver, slot->time, now);

    return is_too_soon || has_accepted(receiver, slot) ? slot->accepted : slot->latest;
}

/* Sets the fate of the transmission that the receiver accepted, for a PSN that is acknowledged at
 * `now`. `acked`: PSN of the acknowledgement. If a NAK has shown that the latest transmission was
 * lost, and no retransmission was captured since, the fate becomes unknown: either the NAK was
 * about an earlier transmission, or no point has captured the retransmission. */
static void
settle_acked(follower_t *receiver, slot_t *slot, smcr_psn_t acked, uint64_t now)
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
    smcr_psn_t first = MAX(receiver->acked + 1, psn >= SLOTS ? psn - SLOTS + 1 : 0);
    for (smcr_psn_t each = first; each <= psn; each++) {
        slot_t *slot = kept_slot_of(receiver, each);
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

/* Returns the transmission that a NAK for the PSN proves to be lost: the latest one of the PSN.
 * NULL: the NAK proves none. Reason: the latest transmission was sent before the latest packet with
 * the PSN below. The receiver may have discarded it because it expected the lower PSN, and the
 * transmission that was lost may be missing in the capture. No packet with the PSN below may be
 * known, since its slot is used again or a READ took it. Its latest packet was then sent before if
 * nothing was retransmitted since. */
static smcr_transmission_t *
refused_transmission(const follower_t *receiver, const slot_t *slot)
{
    const slot_t *below = kept_slot_of(receiver, slot->psn - 1);
    bool has_below = below && below->latest;
    bool follows = has_below ? slot->latest > below->latest
                             : slot->time >= receiver->last_retransmission;

    return slot->latest && follows ? slot->latest : NULL;
}

/* Takes a NAK for the PSN `psn`, which the receiver does not have. `is_lost`: the packet has not
 * come (PSN sequence error); false: the receiver was not ready for the packet (RNR NAK). */
static void
take_nak(follower_t *receiver, smcr_psn_t psn, uint64_t now, bool is_lost)
{
    const slot_t *slot = kept_slot_of(receiver, psn);
    smcr_transmission_t *refused = slot ? refused_transmission(receiver, slot) : NULL;

    if (slot && slot->latest && !may_answer(receiver, slot->time, now))
        return; /* the packet has come since the NAK was sent */
    if (refused && is_lost && psn > receiver->acked)
        refused->fate = SMCR_FATE_LOST;
    receiver->expected = MIN(receiver->expected, psn);
    receiver->refused = psn;
}

/* Whether the packet is a response that carries data: of a READ, or of an atomic. */
static bool
is_data_response(const smcr_observed_t *packet)
{
    return smcr_ib_operations[packet->opcode].is_response &&
           packet->opcode != SMCR_RC_ACK;
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
take_response(follower_t *receiver, const event_t *event)
{
    smcr_psn_t psn = smcr_psn_near(receiver->highest, event->packet->psn);
    uint8_t syndrome = event->packet->syndrome;
    int kind = smcr_wire_bits(syndrome, SMCR_MASK_SYNDROME_KIND);
    unsigned code = smcr_wire_bits(syndrome, SMCR_MASK_SYNDROME_CODE);

    receiver->is_timed = event->is_seen;
    if (is_data_response(event->packet)) {
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

/* ---- the sender of requests: which acknowledgements the sender has not got ---- */

/* An acknowledgement on its way to the sender of the requests. */
typedef struct {
    smcr_transmission_t *transmission;
    smcr_psn_t psn; /* highest PSN that the acknowledgement covers */
    uint64_t time;  /* time at the first point, as event_t.time */
    bool is_nak;    /* the acknowledgement is a NAK or RNR NAK */
    bool is_gap;    /* it is a NAK with a PSN sequence error */
} ack_t;

/* The latest response to a READ or atomic with a PSN. */
typedef struct {
    smcr_psn_t psn; /* the unwrapped PSN; 0: the element is free */
    smcr_transmission_t *transmission;
    uint64_t time; /* as event_t.time */
    bool is_seen;  /* the first point has it */
    bool is_followed;  /* the first point has it, and after it a response with a higher PSN */
    bool is_one_of_several;  /* the response was sent more than once */
} data_t;

/* The sender of a flow, as the packets at the first point show it. */
typedef struct {
    follower_t sent;       /* the PSNs that were sent; only `slots`, `highest`, `last` are set */
    data_t *data;          /* hash table of SLOTS responses to READs and atomics: the low bits of a
                              PSN are the index; NULL: none so far */
    smcr_psn_t data_highest; /* highest PSN of the responses to READs and atomics; 0: none */
    smcr_psn_t data_seen;  /* highest PSN of those that the first point has; 0: none */
    uint64_t step;         /* time of the last step back, as event_t.time; 0: none */
    smcr_psn_t awaited;    /* PSN that the sender has requested once more, and whose response the
                              first point does not have so far; 0: none */
    uint64_t now;          /* time of the last event, as event_t.time */
    ack_t acks[ACKS_KEPT]; /* circular list of the latest acknowledgements */
    uint32_t ack_count;    /* number of all acknowledgements so far */
} requester_t;

/* Called when the sender has gone back to a PSN, and no NAK has asked for that. So the sender has
 * got no acknowledgement of the PSN since its last transmission at `sent`: acknowledgements that
 * the first point shows since then, except the most recent ones (TIME_TO_REACT), were lost. */
static void
settle_acks(requester_t *sender, smcr_psn_t psn, uint64_t sent, uint64_t now)
{
    uint32_t kept = MIN(sender->ack_count, ACKS_KEPT);

    for (uint32_t i = 1; i <= kept; i++) {
        ack_t *ack = &sender->acks[(sender->ack_count - i) % ACKS_KEPT];
        if (ack->time < sent)
            return;
        if (ack->psn >= psn && now - ack->time >= TIME_TO_REACT)
            ack->transmission->fate = SMCR_FATE_LOST;
    }
}

/* Returns the latest acknowledgement (`back` 0), or the one before (1); NULL: there is none. */
static const ack_t *
latest_ack(const requester_t *sender, uint32_t back)
{
    return sender->ack_count > back ? &sender->acks[(sender->ack_count - 1 - back) % ACKS_KEPT]
                                    : NULL;
}

/* Returns the NAK with the PSN `psn`, if it is the latest acknowledgement and the sender has not
 * gone back since; NULL: there is no such NAK. If the acknowledgement before it is a NAK with the
 * same PSN, the sender may have answered that, and the result is NULL. */
static const ack_t *
open_nak(const requester_t *sender, smcr_psn_t psn)
{
    const ack_t *nak = latest_ack(sender, 0), *before = latest_ack(sender, 1);

    if (!nak || !nak->is_gap)
        return NULL;
    if (before && before->is_nak && before->psn == nak->psn)
        return NULL;
    return nak->psn + 1 == psn && sender->step <= nak->time ? nak : NULL;
}

/* Called when the sender has gone back to the PSN `psn`: see ANSWER_MOST. */
static void
settle_nak(const requester_t *sender, smcr_psn_t psn, uint64_t now)
{
    const ack_t *nak = open_nak(sender, psn);

    if (nak && now - nak->time < ANSWER_MOST)
        nak->transmission->fate = SMCR_FATE_RECEIVED;
}

/* ---- the sender of requests: which responses to READs and atomics it has got ---- */

/* Returns the latest response with the PSN; NULL: none is known. */
static data_t *
find_data(const requester_t *sender, smcr_psn_t psn)
{
    data_t *data = sender->data ? &sender->data[psn & (SLOTS - 1)] : NULL;

    return data && data->psn == psn ? data : NULL;
}

/* Decides about a response whose PSN was not requested once more. A sender that gets a response
 * with a higher PSN sees the gap at once (IBA, volume 1, 9.7.5.2.8): so it has got the response if
 * it had time to react. */
static void
settle_data(const requester_t *sender, const data_t *data)
{
    bool had_time = sender->data_seen > data->psn && sender->now - data->time >= TIME_TO_REACT;
    bool is_open = data->transmission && data->transmission->fate == SMCR_FATE_UNKNOWN;

    if (is_open && had_time && !data->is_one_of_several)
        data->transmission->fate = SMCR_FATE_RECEIVED;
}

/* Notes how far the responses have come. The sender discards those after the awaited one. */
static void
advance_data(requester_t *sender, const event_t *event, smcr_psn_t psn)
{
    if (sender->awaited && psn > sender->awaited)
        event->transmission->fate = SMCR_FATE_DISCARDED;
    sender->data_highest = MAX(sender->data_highest, psn);
    if (!event->is_seen)
        return;
    sender->data_seen = MAX(sender->data_seen, psn);
    sender->awaited = psn == sender->awaited ? 0 : sender->awaited;
}

/* Notes data of a READ that the receiver has sent. If its slot had data with another PSN, the fate
 * of these is settled first, since nothing later can settle it. */
static void
note_data(requester_t *sender, const event_t *event, smcr_psn_t psn)
{
    if (!sender->data)
        sender->data = g_new0(data_t, SLOTS);
    data_t *data = &sender->data[psn & (SLOTS - 1)], *before = find_data(sender, psn - 1);
    bool is_again = data->psn == psn;
    if (!is_again)
        settle_data(sender, data);
    if (before && event->is_seen)
        before->is_followed |= before->is_seen;
    *data = (data_t){
        .psn = psn,
        .transmission = event->transmission,
        .time = event->time,
        .is_seen = event->is_seen,
        .is_one_of_several = is_again,
    };
    advance_data(sender, event, psn);
}

/* Whether the sender, which requests the PSN of the response once more at `now`, certainly has not
 * got it: the first point does not have it; or the sender had time to react; or the gap in the
 * responses is the reason, since the sender has not gone back for another reason shortly before. */
static bool
is_data_lost(const requester_t *sender, const data_t *data, uint64_t now)
{
    bool is_gap = data->is_followed && (!sender->step || now - sender->step >= TIME_TO_REACT);

    return !data->is_seen || now - data->time >= TIME_TO_REACT || is_gap;
}

/* The sender has got all responses of the READ before the PSN that it requests once more. */
static void
settle_data_before(const requester_t *sender, smcr_psn_t psn)
{
    for (const data_t *data; (data = find_data(sender, psn - 1)) != NULL; psn--) {
        if (data->transmission->fate != SMCR_FATE_UNKNOWN || data->is_one_of_several)
            return;
        data->transmission->fate = SMCR_FATE_RECEIVED;
    }
}

/* The sender discards responses after the PSN that it requests once more. */
static void
settle_data_after(const requester_t *sender, smcr_psn_t psn)
{
    smcr_psn_t last = MIN(sender->data_highest, psn + SLOTS);

    while (psn++ < last) {
        const data_t *data = find_data(sender, psn);
        if (data && data->transmission->fate == SMCR_FATE_UNKNOWN)
            data->transmission->fate = SMCR_FATE_DISCARDED;
    }
}

/* Called when the sender goes back to a READ or atomic, from the PSN `psn` on. */
static void
settle_fetched(requester_t *sender, smcr_psn_t psn, uint64_t now)
{
    const data_t *data = find_data(sender, psn);
    bool is_open = data && data->transmission->fate == SMCR_FATE_UNKNOWN;

    if (is_open && is_data_lost(sender, data, now))
        data->transmission->fate = SMCR_FATE_LOST;
    settle_data_before(sender, psn);
    settle_data_after(sender, psn);
    sender->awaited = psn;
    sender->data_seen = MIN(sender->data_seen, psn - 1);
}

/* Frees the responses, after deciding about those whose PSNs were not requested once more. */
static void
end_data(requester_t *sender)
{
    for (uint32_t i = 0; sender->data && i < SLOTS; i++)
        settle_data(sender, &sender->data[i]);
    g_free(sender->data);
}

/* Notes a request at the sender's point. A request that goes back settles the fates of responses: a
 * retransmission shows which of them the sender has not got. */
static void
note_sent(requester_t *sender, const event_t *event)
{
    follower_t *sent = &sender->sent;
    smcr_psn_t psn = smcr_psn_near(sent->highest, event->packet->psn);
    slot_t *slot = slot_of(sent, psn);
    bool fetches = smcr_ib_operations[event->packet->opcode].fetches_data;
    const ack_t *newest = latest_ack(sender, 0);

    if (fetches && psn <= sent->last)
        settle_fetched(sender, psn, event->time);
    else if (slot->latest && psn <= sent->last && newest && !newest->is_nak)
        settle_acks(sender, psn, slot->time, event->time);
    if (psn <= sent->last) {
        settle_nak(sender, psn, event->time);
        sender->step = event->time;
    }
    slot->latest = event->transmission;
    slot->time = event->time;
    sent->last = psn + event->psns - 1;
    sent->highest = MAX(sent->highest, sent->last);
}

/* Notes a response that comes to the sender's point; a NAK acknowledges up to the PSN before its
 * own. */
static void
note_response(requester_t *sender, const event_t *event)
{
    int kind = smcr_wire_bits(event->packet->syndrome, SMCR_MASK_SYNDROME_KIND);
    unsigned code = smcr_wire_bits(event->packet->syndrome, SMCR_MASK_SYNDROME_CODE);
    bool is_nak = kind != SMCR_IB_SYNDROME_ACK;
    smcr_psn_t psn = smcr_psn_near(sender->sent.highest, event->packet->psn);

    if (is_data_response(event->packet))
        note_data(sender, event, psn);
    else if (event->packet->has_aeth)
        sender->acks[sender->ack_count++ % ACKS_KEPT] =
            (ack_t){event->transmission, psn - is_nak, event->time, is_nak,
                    kind == SMCR_IB_SYNDROME_NAK && code == SMCR_IB_NAK_PSN_SEQUENCE};
}

/* ---- events ---- */

/* Compares events for sorting, by time, then by the order in the file. */
static int
compare_events(const void *one, const void *other)
{
    const event_t *a = one, *b = other;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Adds the transmissions of a flow to `events`: its responses if `responses` is true, else its
 * requests. A transmission that the point does not have is placed before all transmissions that
 * were sent later. */
static void
add_events(GArray *events, const smcr_chain_t *chain, uint32_t flow, bool responses,
           uint32_t position)
{
    const smcr_points_t *points = chain->points;
    bool is_back = smcr_observed_is_back(points, &points->flows[flow]);

    uint64_t soonest = UINT64_MAX; /* earliest time at the point of all transmissions that were sent
                                      later */
    uint32_t begin = smcr_chain_first_of(chain, flow);

    for (uint32_t i = smcr_chain_first_of(chain, flow + 1); i-- > begin;) {
        smcr_transmission_t *transmission = &chain->transmissions[i];
        const smcr_observed_t *packet = &points->observed[transmission->any];
        uint32_t here = transmission->at[position];
        uint64_t time = smcr_chain_passing_time(chain, transmission, position, is_back);
        if (here)
            soonest = MIN(soonest, time);
        if (packet->opcode >= SMCR_RC_OPCODES ||
            smcr_ib_operations[packet->opcode].is_response != responses)
            continue;
        event_t event = {
            .time = here ? time : MIN(time, soonest),
            .order = here ? here : transmission->any,
            .transmission = transmission,
            .packet = packet,
            .psns = 1,
            .is_response = responses,
            .is_seen = here != 0,
        };
        g_array_append_val(events, event);
    }
}

/* Returns the number of PSNs that the request takes. `mtu`: path MTU, bytes; 0: not known, so each
 * message of the capture has one packet. */
static uint32_t
psns_of(const smcr_observed_t *packet, uint32_t mtu)
{
    return mtu && packet->fetched ? MIN((packet->fetched - 1) / mtu + 1, SMCR_PSN_MASK / 2) : 1;
}

/* Fills `events` with the requests of the flow and their answers, as they pass the point at
 * `position`. Returns the first request; NULL: there is none. */
static const event_t *
collect_events(GArray *events, const smcr_chain_t *chain, uint32_t flow, uint32_t position)
{
    const smcr_observed_flow_t *flows = chain->points->flows;
    uint32_t answers = smcr_chain_answers_of(chain, flow), mtu = flows[flow].mtu;

    g_array_set_size(events, 0);
    add_events(events, chain, flow, false, position);
    if (answers < chain->points->flow_count) {
        add_events(events, chain, answers, true, position);
        mtu = MAX(mtu, flows[answers].mtu);
    }
    for (unsigned i = 0; i < events->len; i++) {
        event_t *event = &g_array_index(events, event_t, i);
        event->psns = psns_of(event->packet, mtu);
    }
    g_array_sort(events, compare_events);
    for (unsigned i = 0; i < events->len; i++)
        if (!g_array_index(events, event_t, i).is_response)
            return &g_array_index(events, event_t, i);
    return NULL;
}

/* Follows the receiver of a flow, at the last point of the flow. */
static void
follow_receiver(const smcr_chain_t *chain, uint32_t flow, GArray *events, slot_t *slots)
{
    bool is_back = smcr_observed_is_back(chain->points, &chain->points->flows[flow]);
    uint32_t last = is_back ? 0 : chain->count - 1;
    const event_t *first = collect_events(events, chain, flow, last);

    if (!first)
        return;
    memset(slots, 0, SLOTS * sizeof *slots);
    follower_t receiver = {
        .slots = slots,
        .expected = smcr_psn_begin(first->packet->psn),
        .highest = smcr_psn_begin(first->packet->psn) - 1,
        .fastest = UINT64_MAX,
        .doubtful = g_array_new(FALSE, FALSE, sizeof(doubt_t)),
    };
    receiver.acked = receiver.last = receiver.highest;
    for (unsigned i = 0; i < events->len; i++) {
        const event_t *event = &g_array_index(events, event_t, i);
        if (event->is_response)
            take_response(&receiver, event);
        else
            take_request(&receiver, event, last);
    }
    g_array_free(receiver.doubtful, TRUE);
}

/* Follows the sender of a flow, at the first point of the flow. */
static void
follow_sender(const smcr_chain_t *chain, uint32_t flow, GArray *events, slot_t *slots)
{
    bool is_back = smcr_observed_is_back(chain->points, &chain->points->flows[flow]);
    const event_t *first =
        collect_events(events, chain, flow, is_back ? chain->count - 1 : 0);

    if (!first)
        return;
    memset(slots, 0, SLOTS * sizeof *slots);
    requester_t *sender = g_new0(requester_t, 1);
    sender->sent = (follower_t){.slots = slots,
                                .highest = smcr_psn_begin(first->packet->psn) - 1};
    for (unsigned i = 0; i < events->len; i++) {
        const event_t *event = &g_array_index(events, event_t, i);
        sender->now = event->time;
        if (event->is_response)
            note_response(sender, event);
        else
            note_sent(sender, event);
    }
    end_data(sender);
    g_free(sender);
}

void
smcr_fates_find(smcr_chain_t *chain)
{
    const smcr_points_t *points = chain->points;

    if (points->is_tcp) {
        smcr_fates_find_tcp(chain);
        return;
    }
    GArray *events = g_array_new(FALSE, FALSE, sizeof(event_t));
    slot_t *slots = g_new(slot_t, SLOTS);

    for (uint32_t i = 0; i < points->flow_count; i++) {
        const smcr_observed_flow_t *flow = &points->flows[i];
        if (flow->path != chain->path || !flow->source_qpn)
            continue;
        follow_receiver(chain, i, events, slots);
        follow_sender(chain, i, events, slots);
    }
    g_free(slots);
    g_array_free(events, TRUE);
}
