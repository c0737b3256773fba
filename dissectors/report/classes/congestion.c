/* Measures how congestion notifications (CNPs) are paced, how senders react to them, and which
 * share of packets has marks over time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "classes.h"

/* ---- pacing ---- */

struct smcr_classes_pacing {
    wmem_allocator_t *scope; /* memory pool that owns the object */
    GHashTable *last; /* set of cnp_ends_t: the last CNPs of each sender, of each receiver, and of
                         each pair of them */
    uint64_t begin;   /* time of the first CNP or mark, nanoseconds; 0: none */
};

/* The last two CNPs in a network: from an address, to an address, or from one address to
 * another. */
typedef struct {
    uint8_t from[SMCR_GID_LENGTH]; /* sender; zeros: any */
    uint8_t to[SMCR_GID_LENGTH];   /* receiver; zeros: any */
    smcr_ib_network_t network;     /* VLAN and tunnel */
    uint64_t time;                 /* time of the last CNP, nanoseconds */
    uint64_t before;               /* time of the CNP before it, nanoseconds; 0: none */
    uint64_t prompt;               /* shortest time that `from` took to answer a mark while it was
                                      at rest (AT_REST), nanoseconds; 0: not known. Only set if `to`
                                      is zeros */
} cnp_ends_t;

SMCR_WIRE_KEY(hash_ends, equal_ends, offsetof(cnp_ends_t, time))

smcr_classes_pacing_t *
smcr_classes_pacing_new(wmem_allocator_t *scope)
{
    smcr_classes_pacing_t *pacing = wmem_new(scope, smcr_classes_pacing_t);

    *pacing = (smcr_classes_pacing_t){scope, smcr_slab_table(scope, hash_ends, equal_ends), 0};
    return pacing;
}

/* Takes a CNP: adds the time since the last CNP with the same addresses to the distribution, unless
 * the clock of the capture went back, and keeps the time of this one. `sought`: addresses and
 * network of the CNP, and its time. */
static void
measure(smcr_classes_pacing_t *pacing, smcr_distribution_t **distribution, const cnp_ends_t *sought)
{
    cnp_ends_t *ends = g_hash_table_lookup(pacing->last, sought);
    uint64_t now = sought->time;

    if (!ends) {
        g_hash_table_add(pacing->last, wmem_memdup(pacing->scope, sought, sizeof *sought));
        return;
    }
    if (now >= ends->time)
        smcr_distribution_add_time(distribution, pacing->scope, now - ends->time);
    ends->before = ends->time;
    ends->time = now;
}

/* Hosts are distinguished by address and network: equal addresses in two VLANs are two hosts. If
 * the clock of the capture went back, no time is added. */
void
smcr_classes_pacing_take(smcr_classes_pacing_t *pacing, smcr_entry_flow_pacing_t **figures,
                         smcr_when_t last, smcr_when_t when, const smcr_ib_headers_t *roce)
{
    cnp_ends_t from = {.network = roce->outer.network, .time = when.time}, to = from, both;

    if (!pacing->begin)
        pacing->begin = when.time;
    memcpy(from.from, roce->source, SMCR_GID_LENGTH);
    memcpy(to.to, roce->destination.gid, SMCR_GID_LENGTH);
    both = from;
    memcpy(both.to, to.to, SMCR_GID_LENGTH);
    if (!*figures) {
        *figures = wmem_new(pacing->scope, smcr_entry_flow_pacing_t);
        smcr_entry_clear(*figures, &smcr_entry_flow_pacing_description);
    }
    if (last.frame && when.time >= last.time)
        smcr_distribution_add_time(&(*figures)->flow_s, pacing->scope, when.time - last.time);
    measure(pacing, &(*figures)->pair_s, &both);
    measure(pacing, &(*figures)->source_s, &from);
    measure(pacing, &(*figures)->destination_s, &to);
}

/* ---- marks without a CNP ---- */

/* An adapter limits the CNPs that it sends: for some time after a CNP it sends no other CNP. There
 * are three kinds of limits: for the CNPs of the same flow, for those to the same address, or for
 * all CNPs of the adapter. A marked packet that gets no CNP at once shows that the limit is longer
 * than the time since the last CNP that such a limit counts. Each CNP shows that the limit is not
 * longer than the time since the CNP before it. report/adapters/ compares the two.
 *
 * The time that counts as "at once" is measured at receivers at rest: AT_REST after its last CNP no
 * limit keeps an adapter from sending a CNP. */

#define AT_REST (10 * SMCR_TIME_MILLISECOND) /* mlx5 allows limits up to 4.1 ms */
#define CLOCK_STEP 2000 /* error of a measured time, nanoseconds: time stamps of a capture may have
                           microseconds only */

/* Returns the last CNPs from `from` to `to`; NULL: none. `to` NULL: to any address. */
static cnp_ends_t *
last_cnp(const smcr_classes_pacing_t *pacing, const uint8_t *from, const uint8_t *to,
         smcr_ib_network_t network)
{
    cnp_ends_t sought = {.network = network};

    memcpy(sought.from, from, sizeof sought.from);
    if (to)
        memcpy(sought.to, to, sizeof sought.to);
    return g_hash_table_lookup(pacing->last, &sought);
}

/* Returns the nanoseconds from the CNP at the time `cnp` to `now`. If `cnp` is 0, the capture has
 * no such CNP. The time since the last CNP is then at least the time since the first CNP or mark of
 * the capture, which is returned. */
static uint64_t
time_since(const smcr_classes_pacing_t *pacing, uint64_t cnp, uint64_t now)
{
    uint64_t from = cnp ? cnp : pacing->begin;

    return now - MIN(now, from);
}

/* The watched packet of a flow (smcr_classes_marks_t), and the last CNPs of its receiver. */
typedef struct {
    smcr_classes_pacing_t *pacing;     /* the last CNPs of the capture */
    const smcr_classes_marks_t *marks; /* marks of the flow */
    cnp_ends_t *sender;                /* last CNPs of the receiver to any address; NULL: it has
                                          sent none */
    const cnp_ends_t *pair;            /* last CNPs of the receiver to the sender of the flow; NULL:
                                          none */
} watch_t;

/* Returns the watch of a flow. `cnps`: GID of the receiver, which sends the CNPs. `data`: GID of
 * the flow's sender. `network`: VLAN and tunnel of both. */
static watch_t
watch_of(smcr_classes_pacing_t *pacing, const smcr_classes_marks_t *marks, const uint8_t *cnps,
         const uint8_t *data, smcr_ib_network_t network)
{
    return (watch_t){.pacing = pacing,
                     .marks = marks,
                     .sender = last_cnp(pacing, cnps, NULL, network),
                     .pair = last_cnp(pacing, cnps, data, network)};
}

/* Returns how long the receiver had sent none of the CNPs `ends` when the watched packet came,
 * nanoseconds: a limit of this kind is longer. This is `since`, unless such a CNP, for another
 * flow, came at once after the watched packet: then the limit has begun with that CNP, and 0 is
 * returned. 0 is also returned if several such CNPs came after the watched packet, since the time
 * of the first one is not kept. `ends` NULL: there is no such CNP. `patience`: longest time, in
 * nanoseconds, that counts as "at once". */
static uint64_t
time_of_limit(const watch_t *watch, const cnp_ends_t *ends, uint64_t since, uint64_t patience)
{
    uint64_t time = watch->marks->time;
    bool is_one = ends && ends->time > time && ends->time <= time + patience;
    bool are_several = ends && ends->before > time;

    return is_one || are_several ? 0 : since;
}

/* Adds the watched packet to the figures if it is known to have got no CNP at once, and returns
 * true. Returns false if no packet is watched, if it may still get a CNP at the time `now`, or if
 * it is not known which time counts as "at once" (`prompt`). */
static bool
add_withheld(const watch_t *watch, smcr_entry_flow_withheld_t **figures, uint64_t now)
{
    const smcr_classes_marks_t *marks = watch->marks;
    const cnp_ends_t *sender = watch->sender;
    wmem_allocator_t *scope = watch->pacing->scope;

    if (!marks->time || !sender || !sender->prompt)
        return false;
    uint64_t patience = 2 * sender->prompt + CLOCK_STEP;
    if (now <= marks->time + patience)
        return false;
    if (!*figures) {
        *figures = wmem_new(scope, smcr_entry_flow_withheld_t);
        smcr_entry_clear(*figures, &smcr_entry_flow_withheld_description);
    }
    smcr_distribution_add_time(&(*figures)->flow_s, scope, marks->since[0]);
    smcr_distribution_add_time(&(*figures)->pair_s, scope,
                               time_of_limit(watch, watch->pair, marks->since[1], patience));
    smcr_distribution_add_time(&(*figures)->source_s, scope,
                               time_of_limit(watch, sender, marks->since[2], patience));
    return true;
}

/* Begins to watch the packet with a mark that came at `now`. `cnp`: the last CNP of the reverse
 * flow; frame 0: none. */
static void
begin_watch(smcr_classes_marks_t *marks, const watch_t *watch, smcr_when_t cnp, uint64_t now)
{
    const smcr_classes_pacing_t *pacing = watch->pacing;

    marks->time = now;
    marks->since[0] = time_since(pacing, cnp.time, now);
    marks->since[1] = time_since(pacing, watch->pair ? watch->pair->time : 0, now);
    marks->since[2] = time_since(pacing, watch->sender ? watch->sender->time : 0, now);
}

/* At most one packet of a flow is watched at a time: the next watch begins after the one before has
 * ended. */
void
smcr_classes_pacing_mark(smcr_classes_pacing_t *pacing, smcr_classes_marks_t **marks,
                         smcr_entry_flow_withheld_t **figures, smcr_when_t cnp,
                         const smcr_classes_marked_t *packet)
{
    const smcr_ib_headers_t *roce = packet->roce;
    uint64_t now = packet->when.time;

    if (!pacing->begin)
        pacing->begin = now;
    if (!*marks)
        *marks = wmem_new0(pacing->scope, smcr_classes_marks_t);
    smcr_classes_marks_t *own = *marks;
    watch_t watch =
        watch_of(pacing, own, roce->destination.gid, roce->source, roce->outer.network);
    if (!own->first) {
        own->first = now;
        own->came_at_rest = !watch.sender || now >= watch.sender->time + AT_REST;
    }
    if (!own->time || add_withheld(&watch, figures, now))
        begin_watch(own, &watch, cnp, now);
}

/* The watch ends with the CNP: the marks are emptied for the next one. */
void
smcr_classes_pacing_answer(smcr_classes_pacing_t *pacing, smcr_classes_marks_t *marks,
                           smcr_entry_flow_withheld_t **figures, smcr_when_t when,
                           const smcr_ib_headers_t *roce)
{
    watch_t watch =
        watch_of(pacing, marks, roce->source, roce->destination.gid, roce->outer.network);
    cnp_ends_t *sender = watch.sender;

    if (!marks || !marks->first || !sender)
        return;
    uint64_t wait = when.time - MIN(when.time, marks->first);
    if (marks->came_at_rest && (!sender->prompt || wait < sender->prompt))
        sender->prompt = MAX(wait, 1);
    add_withheld(&watch, figures, when.time);
    memset(marks, 0, sizeof *marks);
}

/* ---- reaction ---- */

#define RING (SMCR_CLASSES_REACTION_PACKETS + 1)

/* Stores in `*bytes` the length of all packets in the ring except the oldest one, and in `*time`
 * the nanoseconds from the oldest packet to the newest. */
static void
add_up(const smcr_classes_reaction_t *reaction, uint64_t *bytes, uint64_t *time)
{
    uint64_t newest = (reaction->packets - 1) % RING, oldest = reaction->packets % RING;

    *bytes = 0;
    for (unsigned i = 0; i < RING; i++)
        *bytes += i == oldest ? 0 : reaction->bytes[i];
    *time = reaction->times[newest].time - MIN(reaction->times[oldest].time,
                                               reaction->times[newest].time);
}

/* Adds a complete measurement: bytes and time of the packets before the CNP
 * (smcr_classes_reaction_notify()), and of the packets after it, which now fill the ring. */
static void
add_measurement(const smcr_classes_reaction_t *reaction, smcr_entry_flow_reaction_t **figures,
                wmem_allocator_t *scope)
{
    uint64_t bytes, time;

    if (!*figures) {
        *figures = wmem_new(scope, smcr_entry_flow_reaction_t);
        smcr_entry_clear(*figures, &smcr_entry_flow_reaction_description);
    }
    add_up(reaction, &bytes, &time);
    (*figures)->measured++;
    (*figures)->before_bytes += reaction->before_bytes;
    (*figures)->before_s += reaction->before;
    (*figures)->after_bytes += bytes;
    (*figures)->after_s += time;
}

/* Before the first packet that is not Not-ECT nothing is kept. With the beginning and with the end
 * of a measurement the ring begins anew. */
void
smcr_classes_reaction_take(smcr_classes_reaction_t **reaction,
                           smcr_entry_flow_reaction_t **figures, wmem_allocator_t *scope,
                           smcr_when_t when, const smcr_ib_headers_t *roce)
{
    if (!*reaction && roce->ecn == SMCR_WIRE_ECN_NOT_ECT)
        return;
    if (!*reaction)
        *reaction = wmem_new0(scope, smcr_classes_reaction_t);
    smcr_classes_reaction_t *own = *reaction;
    own->times[own->packets % RING] = when;
    own->bytes[own->packets % RING] = roce->length;
    own->packets++;
    if (!own->left || --own->left)
        return;
    add_measurement(own, figures, scope);
    own->packets = 0;
}

/* A CNP during a measurement changes nothing, so one measurement shows one reaction. The ring has
 * to be full: otherwise there is no rate before the CNP to compare with. */
void
smcr_classes_reaction_notify(smcr_classes_reaction_t *reaction)
{
    if (!reaction || reaction->left || reaction->packets < RING)
        return;
    add_up(reaction, &reaction->before_bytes, &reaction->before);
    reaction->packets = 0;
    reaction->left = RING;
}

/* ---- share of marks ---- */

#define INTERVALS 64 /* even: lengthen() joins intervals in pairs. docs/json.md names the number */
#define SHORTEST_INTERVAL SMCR_TIME_MILLISECOND /* length of an interval at first, nanoseconds */

struct smcr_classes_shares {
    uint64_t begin;               /* time of the first packet, nanoseconds */
    uint64_t length;              /* length of an interval, nanoseconds */
    uint64_t packets[INTERVALS];  /* number of packets in each interval */
    uint64_t marked[INTERVALS];   /* of these, number of packets with CE */
};

smcr_classes_shares_t *
smcr_classes_shares_new(wmem_allocator_t *scope)
{
    smcr_classes_shares_t *shares = wmem_new0(scope, smcr_classes_shares_t);

    shares->length = SHORTEST_INTERVAL;
    return shares;
}

/* Joins pairs of neighbouring intervals, so that each interval is twice as long. */
static void
lengthen(smcr_classes_shares_t *shares)
{
    shares->length *= 2;
    for (unsigned i = 0; i < INTERVALS; i++) {
        bool exists = i < INTERVALS / 2;
        shares->packets[i] = exists ? shares->packets[2 * i] + shares->packets[2 * i + 1] : 0;
        shares->marked[i] = exists ? shares->marked[2 * i] + shares->marked[2 * i + 1] : 0;
    }
}

/* Intervals get longer when the capture does: their number stays. A marked duplicate counts as a
 * packet if its interval has not enough packets without it: its original came in an earlier
 * interval, or was Not-ECT. So an interval with marks has packets, and no share is above 1. */
void
smcr_classes_shares_take(smcr_classes_shares_t *shares, smcr_when_t when, bool is_marked,
                         bool is_packet)
{
    if (!shares->begin)
        shares->begin = when.time;
    uint64_t since = when.time - MIN(when.time, shares->begin);
    while (since / shares->length >= INTERVALS)
        lengthen(shares);
    uint64_t *packets = &shares->packets[since / shares->length];
    uint64_t *marked = &shares->marked[since / shares->length];
    *packets += is_packet;
    *marked += is_marked;
    *packets = MAX(*packets, *marked);
}

/* Whether the interval `one` has a larger share of marked packets than `other`, or the same share
 * and more marked packets. */
static bool
is_larger(const smcr_classes_shares_t *shares, unsigned one, unsigned other)
{
    double share = (double)shares->marked[one] / (double)MAX(shares->packets[one], 1);
    double before = (double)shares->marked[other] / (double)MAX(shares->packets[other], 1);

    return share > before || (share >= before && shares->marked[one] > shares->marked[other]);
}

/* Returns the interval with the largest share of marks. */
static unsigned
worst_of(const smcr_classes_shares_t *shares)
{
    unsigned worst = 0;

    for (unsigned i = 0; i < INTERVALS; i++)
        worst = is_larger(shares, i, worst) ? i : worst;
    return worst;
}

/* Intervals without packets at the end are left out. Those in between stay, since the place in the
 * list is the time. */
smcr_entry_marked_share_t *
smcr_classes_shares_report(const smcr_classes_shares_t *shares, wmem_allocator_t *scope)
{
    unsigned last = INTERVALS, worst = shares ? worst_of(shares) : 0;

    if (!shares || !shares->marked[worst])
        return NULL;
    while (!shares->packets[last - 1]) /* ends, since the interval `worst` has packets */
        last--;
    smcr_entry_marked_share_t *entry = wmem_new(scope, smcr_entry_marked_share_t);
    smcr_entry_clear(entry, &smcr_entry_marked_share_description);
    entry->begin_time = shares->begin;
    entry->interval_s = shares->length;
    entry->worst = worst;
    for (unsigned i = 0; i < last; i++) {
        smcr_figure_numbers_add(&entry->packets, scope, shares->packets[i]);
        smcr_figure_numbers_add(&entry->marked, scope, shares->marked[i]);
    }
    return entry;
}
