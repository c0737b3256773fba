/* Follows the sender of a flow, as packets at the first capture point of the flow show it: which
 * responses of the receiver it has got.
 *
 * - If the sender retransmits a packet after an acknowledgement that covers the packet, the
 *   acknowledgement was lost.
 * - If the sender goes back to the PSN of a NAK at once, it has got the NAK.
 * - If the sender requests an RDMA READ or atomic once more, from a PSN on, it has not got the
 *   response with this PSN, and has got all responses of the READ with lower PSNs. Requests that
 *   follow are retransmitted, too, whether the receiver has them or not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fates_sender.h"

/* Nanoseconds. If an acknowledgement comes at least this time before a retransmission, and the
 * sender retransmits nevertheless, the sender did not get the acknowledgement. An acknowledgement
 * that comes later proves nothing, since the sender may have begun the retransmission already. */
#define TIME_TO_REACT (5 * SMCR_TIME_MILLISECOND)

/* Nanoseconds. A sender that goes back to the PSN of a NAK so soon after the NAK has got it. A step
 * back later than this proves nothing: rxe has ignored NAKs that certainly came, and has waited for
 * its timer. */
#define ANSWER_MOST SMCR_TIME_MILLISECOND

#define ACKS_KEPT 256 /* number of the latest acknowledgements that are kept */

/* ---- acknowledgements that the sender has not got ---- */

/* An acknowledgement on its way to the sender of the requests. */
typedef struct {
    smcr_transmission_t *transmission; /* the transmission of the acknowledgement */
    smcr_psn_t psn; /* highest PSN that the acknowledgement covers */
    uint64_t time;  /* time at the first point, as in smcr_fates_event_t */
    bool is_nak;    /* the acknowledgement is a NAK or RNR NAK */
    bool is_gap;    /* it is a NAK with a PSN sequence error */
} ack_t;

/* The latest response to a READ or atomic with a PSN. */
typedef struct {
    smcr_psn_t psn; /* the unwrapped PSN; 0: the element is free */
    smcr_transmission_t *transmission; /* the transmission of the response */
    uint64_t time; /* as in smcr_fates_event_t */
    bool is_seen;  /* the first point has it */
    bool is_followed;  /* the first point has it, and after it the response with the next PSN */
    bool is_one_of_several;  /* the response was sent more than once */
} data_t;

/* The sender of a flow, as the packets at the first point show it. */
typedef struct {
    smcr_fates_slot_t *slots; /* hash table of SMCR_FATES_SLOTS PSNs that were sent; only `psn`,
                                 `latest` and `time` are set */
    smcr_psn_t highest;    /* highest PSN that was sent */
    smcr_psn_t last;       /* last PSN that the last request takes; 0: no request so far */
    data_t *data;          /* hash table of SMCR_FATES_SLOTS responses to READs and atomics: the low
                              bits of a PSN are the index; NULL: none so far */
    smcr_psn_t data_highest; /* highest PSN of the responses to READs and atomics; 0: none */
    smcr_psn_t data_seen;  /* highest PSN of those that the first point has, lowered when the sender
                              requests data once more; 0: none */
    uint64_t step;         /* time of the last step back, as in smcr_fates_event_t; 0: none */
    smcr_psn_t awaited;    /* PSN that the sender has requested once more, and whose response the
                              first point does not have so far; 0: none */
    uint64_t now;          /* time of the last event, as in smcr_fates_event_t */
    ack_t acks[ACKS_KEPT]; /* circular list of the latest acknowledgements */
    uint32_t ack_count;    /* number of all acknowledgements so far */
} requester_t;

/* The sender has gone back to a PSN at `now`, and no NAK has asked for that. So the sender has got
 * no acknowledgement of the PSN since its last transmission at `sent`: acknowledgements of the PSN
 * since then, except the most recent ones (TIME_TO_REACT), were lost. */
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

/* Returns the latest acknowledgement (`back` 0), or the one before it (`back` 1), NAKs included;
 * NULL: there is none. */
static const ack_t *
latest_ack(const requester_t *sender, uint32_t back)
{
    return sender->ack_count > back ? &sender->acks[(sender->ack_count - 1 - back) % ACKS_KEPT]
                                    : NULL;
}

/* Returns the NAK (PSN sequence error) with the PSN `psn`, if it is the latest acknowledgement and
 * the sender has not gone back since; NULL: there is no such NAK, or the acknowledgement before it
 * is a NAK with the same PSN, which the sender may have answered instead. */
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

/* The sender has gone back to the PSN `psn` at `now`. If a NAK with this PSN came so shortly before
 * (ANSWER_MOST), the sender has got the NAK. */
static void
settle_nak(const requester_t *sender, smcr_psn_t psn, uint64_t now)
{
    const ack_t *nak = open_nak(sender, psn);

    if (nak && now - nak->time < ANSWER_MOST)
        nak->transmission->fate = SMCR_FATE_RECEIVED;
}

/* ---- responses to READs and atomics that the sender has got ---- */

/* Returns the latest response with the PSN; NULL: none is known. */
static data_t *
find_data(const requester_t *sender, smcr_psn_t psn)
{
    data_t *data = sender->data ? &sender->data[psn & (SMCR_FATES_SLOTS - 1)] : NULL;

    return data && data->psn == psn ? data : NULL;
}

/* Decides the fate of a response whose PSN was not requested once more, if the fate is not known. A
 * sender that gets a response with a higher PSN sees the gap at once (IBA, volume 1, 9.7.5.2.8): so
 * it has got the response if it had time to react. */
static void
settle_data(const requester_t *sender, const data_t *data)
{
    bool had_time = sender->data_seen > data->psn && sender->now - data->time >= TIME_TO_REACT;
    bool is_open = data->transmission && data->transmission->fate == SMCR_FATE_UNKNOWN;

    if (is_open && had_time && !data->is_one_of_several)
        data->transmission->fate = SMCR_FATE_RECEIVED;
}

/* Notes the highest PSN of the responses so far. If the sender still awaits a response with a PSN
 * lower than `psn`, it discards the response of `event`. */
static void
advance_data(requester_t *sender, const smcr_fates_event_t *event, smcr_psn_t psn)
{
    if (sender->awaited && psn > sender->awaited)
        event->transmission->fate = SMCR_FATE_DISCARDED;
    sender->data_highest = MAX(sender->data_highest, psn);
    if (!event->is_seen)
        return;
    sender->data_seen = MAX(sender->data_seen, psn);
    sender->awaited = psn == sender->awaited ? 0 : sender->awaited;
}

/* Notes data of a READ or atomic that the receiver has sent. If its slot had data with another PSN,
 * the fate of those data is decided first: they are forgotten now. */
static void
note_data(requester_t *sender, const smcr_fates_event_t *event, smcr_psn_t psn)
{
    if (!sender->data)
        sender->data = g_new0(data_t, SMCR_FATES_SLOTS);
    data_t *data = &sender->data[psn & (SMCR_FATES_SLOTS - 1)];
    data_t *before = find_data(sender, psn - 1);
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

/* Sets the fates of the responses with the PSNs below `psn`, down to the first whose fate is known
 * or that was sent more than once: the sender has got them, since it requests only the data from
 * `psn` on. */
static void
settle_data_before(const requester_t *sender, smcr_psn_t psn)
{
    for (const data_t *data; (data = find_data(sender, psn - 1)) != NULL; psn--) {
        if (data->transmission->fate != SMCR_FATE_UNKNOWN || data->is_one_of_several)
            return;
        data->transmission->fate = SMCR_FATE_RECEIVED;
    }
}

/* Sets the fates of the responses with PSNs above `psn` that are not known so far: the sender
 * discards them, since it still awaits the response with `psn`. */
static void
settle_data_after(const requester_t *sender, smcr_psn_t psn)
{
    smcr_psn_t last = MIN(sender->data_highest, psn + SMCR_FATES_SLOTS);

    while (psn++ < last) {
        const data_t *data = find_data(sender, psn);
        if (data && data->transmission->fate == SMCR_FATE_UNKNOWN)
            data->transmission->fate = SMCR_FATE_DISCARDED;
    }
}

/* The sender requests data of a READ or atomic once more at `now`, from the PSN `psn` on. Sets the
 * fates of the responses with this PSN, with lower PSNs and with higher ones. */
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
    for (uint32_t i = 0; sender->data && i < SMCR_FATES_SLOTS; i++)
        settle_data(sender, &sender->data[i]);
    g_free(sender->data);
}

/* Notes a request at the first point. A request that goes back settles the fates of responses: a
 * retransmission shows which of them the sender has not got. */
static void
note_sent(requester_t *sender, const smcr_fates_event_t *event)
{
    smcr_psn_t psn = smcr_psn_near(sender->highest, event->packet->psn);
    smcr_fates_slot_t *slot = smcr_fates_slot_of(sender->slots, psn);
    bool fetches = smcr_ib_operations[event->packet->opcode].fetches_data;
    const ack_t *newest = latest_ack(sender, 0);

    if (fetches && psn <= sender->last)
        settle_fetched(sender, psn, event->time);
    else if (slot->latest && psn <= sender->last && newest && !newest->is_nak)
        settle_acks(sender, psn, slot->time, event->time);
    if (psn <= sender->last) {
        settle_nak(sender, psn, event->time);
        sender->step = event->time;
    }
    slot->latest = event->transmission;
    slot->time = event->time;
    sender->last = psn + event->psns - 1;
    sender->highest = MAX(sender->highest, sender->last);
}

/* Notes a response that comes to the first point. A NAK acknowledges the PSNs up to the one before
 * its own. */
static void
note_response(requester_t *sender, const smcr_fates_event_t *event)
{
    int kind = smcr_wire_bits(event->packet->syndrome, SMCR_MASK_SYNDROME_KIND);
    unsigned code = smcr_wire_bits(event->packet->syndrome, SMCR_MASK_SYNDROME_CODE);
    bool is_nak = kind != SMCR_IB_SYNDROME_ACK;
    smcr_psn_t psn = smcr_psn_near(sender->highest, event->packet->psn);

    if (smcr_fates_is_data(event->packet))
        note_data(sender, event, psn);
    else if (event->packet->has_aeth)
        sender->acks[sender->ack_count++ % ACKS_KEPT] =
            (ack_t){event->transmission, psn - is_nak, event->time, is_nak,
                    kind == SMCR_IB_SYNDROME_NAK && code == SMCR_IB_NAK_PSN_SEQUENCE};
}

/* ---- all packets ---- */

/* The order of the events is that of the first point, which is the nearest to the sender. */
void
smcr_fates_follow_sender(const GArray *events, smcr_fates_slot_t *slots, smcr_psn_t first)
{
    requester_t *sender = g_new0(requester_t, 1);

    sender->slots = slots;
    sender->highest = first - 1;
    for (unsigned i = 0; i < events->len; i++) {
        const smcr_fates_event_t *event = &g_array_index(events, smcr_fates_event_t, i);
        sender->now = event->time;
        if (event->is_response)
            note_response(sender, event);
        else
            note_sent(sender, event);
    }
    end_data(sender);
    g_free(sender);
}
