/* Finds out which RoCE packets probably are those of a TCP connection, where no token shows it. A
 * capture of one direction has only one of the two CLC messages that name tokens, and a capture
 * that is truncated by snaplen has none. The state then has two connections: one of TCP and CLC,
 * one of RoCE. The report shows them as one.
 *
 * Halves are paired by the order of their tokens, if there are as many halves of TCP as tokens and
 * the order is not refuted; all others by their ends; and those that remain between two such pairs
 * by the order of tokens again. Single packets that are missing make halves, too. Such halves are
 * not paired: which belong together would be a guess. So no half is paired in a group that has a
 * connection known from TCP and RoCE, nor in a capture in disorder. Doubtful halves are never
 * paired, but no other half is paired in their stead.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "counts.h"

#include "wire/wire.h"

/* Longest time between the close of TCP and that over RoCE of the same connection, nanoseconds.
 * Hosts close SMC-R and TCP at almost the same time. */
#define CLOSE_TOGETHER (100 * SMCR_TIME_MILLISECOND)

#define HALVES_MOST 512 /* maximum number of halves of one kind that are compared with each other */
#define ROUNDS_MOST 16  /* maximum number of times in which all halves are compared: each time finds
                           pairs that were not clear before */

/* One half of a connection. */
typedef struct half {
    smcr_collect_conn_stats_t *counted;  /* its figures */
    const smcr_collect_tcp_facts_t *tcp; /* facts of its TCP connection; NULL: half of RoCE */
    smcr_when_t agreed; /* half of TCP: last CLC message; half of RoCE: first packet */
    smcr_when_t close;  /* first FIN or RST; half of RoCE: first CDC message that ends the
                           connection; frame 0: none is captured */
    smcr_when_t closes[2]; /* first close of each end; half of TCP: first FIN, by role; half of
                              RoCE: first CDC message that ends the connection, by side; frame 0:
                              none */
    smcr_when_t end;    /* last FIN or RST, frame 0: none is captured; half of RoCE: last packet */
    struct half *partner; /* the other half; NULL: none yet */
    bool is_doubtful;     /* what would show that it began in the capture, or agreed on SMC-R, is
                             not captured: it is not paired, but others are not paired in its
                             stead */
} half_t;

/* Halves of one kind. */
typedef struct {
    half_t *list;   /* the halves */
    unsigned count; /* number of halves */
} halves_t;

/* The data of one attempt to pair halves. */
typedef struct {
    halves_t roce; /* halves that are known from RoCE alone */
    halves_t tcp;  /* halves that are known from TCP and CLC alone */
    halves_t roce_doubtful; /* likewise, doubtful ones */
    halves_t tcp_doubtful;
    const smcr_lgr_t *only_group; /* the only link group that connections have; NULL: there are
                                     several, or none */
    wmem_map_t *whole_groups; /* smcr_lgr_t -> itself: groups that have a connection on RoCE
                                 whose TCP ports are known */
} pairing_t;

/* Whether the capture has the first CDC message of one direction at least, and misses packets of
 * each direction whose first message it does not have. So the connection began in the capture. */
static bool
began_with_loss(const smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;
    bool has_first = false;

    for (int side = 0; side < 2; side++) {
        const smcr_collect_direction_t *direction = &counted->counts->direction[side];
        uint32_t frame = conn->side[side].first_cdc_frame;
        bool is_first = direction->figures.cdc && direction->first_cdc_seq == 1;
        if (frame && !is_first && !smcr_evidence_side_lacks_between(conn->lgr, side, 0, frame))
            return false;
        has_first |= is_first;
    }
    return has_first;
}

/* Whether the connection is known from RoCE alone. Returns false if TCP and RoCE have times of two
 * clocks, or if the capture is in disorder: then the order of packets does not show which halves
 * belong together. */
static bool
is_on_roce_alone(const smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;

    if (conn->conversation || !counted->on_roce || !conn->lgr)
        return false;
    return !conn->lgr->clocks_differ && !smcr_lgr_is_in_disorder(conn->lgr);
}

/* Whether the connection is known from RoCE alone, and began in the capture. */
static bool
is_roce_half(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
{
    if (!is_on_roce_alone(counted))
        return false;
    smcr_collect_conn_open(collection, counted);
    return smcr_collect_conn_has_first_data(counted) || began_with_loss(counted);
}

/* Whether the connection is known from RoCE alone, and the capture does not show where it began. */
static bool
is_doubtful_roce_half(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
{
    return is_on_roce_alone(counted) && !is_roce_half(collection, counted);
}

/* Whether the connection is known from TCP and CLC alone, and did not fall back, as far as the
 * capture shows. */
static bool
is_on_tcp_alone(smcr_collect_t *collection, const smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;
    bool goes_elsewhere = counted->on_roce || counted->is_smcd || conn->fallback.kind;

    return conn->conversation && !goes_elsewhere &&
           smcr_collect_tcp_flows_facts(collection, conn->tcp_stream);
}

/* Whether the capture has the Accept or the Confirm of the connection. */
static bool
has_agreed(const smcr_collect_conn_stats_t *counted)
{
    return counted->clc[SMCR_CLC_ACCEPT].frame || counted->clc[SMCR_CLC_CONFIRM].frame;
}

/* Whether the connection is known from TCP and CLC alone, and agreed on SMC-R as far as the capture
 * shows. */
static bool
is_tcp_half(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
{
    return has_agreed(counted) && is_on_tcp_alone(collection, counted);
}

/* Whether the connection is known from TCP and CLC alone, and no CLC message is captured that shows
 * whether it agreed on SMC-R. */
static bool
is_doubtful_tcp_half(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
{
    return !has_agreed(counted) && is_on_tcp_alone(collection, counted);
}

/* Returns the half of RoCE. The figures are opened first, since the times of the closes are in
 * their packed part. */
static half_t
roce_half_of(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
{
    smcr_collect_conn_open(collection, counted);
    const smcr_collect_writer_times_t *of = counted->counts->times.of;

    return (half_t){.counted = counted,
                    .agreed = counted->first,
                    .close = smcr_figure_when_earlier(of[0].ended.first, of[1].ended.first),
                    .closes = {of[0].ended.first, of[1].ended.first},
                    .end = counted->last};
}

/* Returns the half of TCP: when the CLC handshake agreed, which is its last message, and when TCP
 * began to close (`close`) and ended (`end`). */
static half_t
tcp_half_of(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_tcp_facts_t *tcp =
        smcr_collect_tcp_flows_facts(collection, counted->conn->tcp_stream);
    const smcr_when_t ends[] = {tcp->reset, tcp->fin[0], tcp->fin[1]};
    half_t half = {.counted = counted, .tcp = tcp, .closes = {tcp->fin[0], tcp->fin[1]}};

    for (unsigned type = SMCR_CLC_PROPOSAL; type <= SMCR_CLC_CONFIRM; type++)
        if (counted->clc[type].frame > half.agreed.frame)
            half.agreed = counted->clc[type];
    for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++) {
        half.close = smcr_figure_when_earlier(half.close, ends[i]);
        if (ends[i].frame > half.end.frame)
            half.end = ends[i];
    }
    return half;
}

/* Returns the time between two packets, nanoseconds. */
static uint64_t
distance(smcr_when_t one, smcr_when_t other)
{
    return one.time > other.time ? one.time - other.time : other.time - one.time;
}

/* Returns the time between the first close of TCP and the first close over RoCE, or the last packet
 * if no close over RoCE is captured, nanoseconds. UINT64_MAX: TCP does not end in the capture. */
static uint64_t
distance_of_ends(const half_t *roce, const half_t *tcp)
{
    if (!tcp->close.frame)
        return UINT64_MAX;
    return distance(tcp->close, roce->close.frame ? roce->close : roce->end);
}

/* Whether CLC and RoCE name different alert tokens or element sizes for one of the sides. */
static bool
contradict(const smcr_conn_t *one, const smcr_conn_t *other)
{
    for (unsigned side = 0; side < 2; side++) {
        const smcr_conn_side_t *a = &one->side[side], *b = &other->side[side];
        if (a->has_token && b->has_token && a->token != b->token)
            return true;
        if (a->size && b->size && a->size != b->size)
            return true;
    }
    return false;
}

/* Whether the queue pair has the address of the TCP connection's client (`role` 0) or server
 * (1). */
static bool
is_at_end(const smcr_qp_t *qp, const smcr_conn_t *tcp, unsigned role)
{
    address end, device;

    smcr_endpoint_tcp_address(tcp, role, &end);
    smcr_endpoint_of_gid(qp->key.gid, &device);
    return addresses_equal(&end, &device);
}

/* Whether the addresses of the link group's devices are those of the TCP connection, and side 0 is
 * its client (`client` 0), or side 1 (1). */
static bool
has_client_at(const smcr_lgr_t *lgr, const smcr_conn_t *tcp, unsigned client)
{
    const smcr_link_t *link = lgr->newest_link;

    return link && !tcp->roles_unknown && is_at_end(&link->qp[client], tcp, 0) &&
           is_at_end(&link->qp[!client], tcp, 1);
}

/* Whether it is known which side of the RoCE half is the client: its link group shows it, or its
 * devices have the addresses of the TCP connection. */
static bool
can_name_client(const smcr_conn_t *roce, const smcr_conn_t *tcp)
{
    return smcr_evidence_knows_server(roce->lgr) || has_client_at(roce->lgr, tcp, 0) ||
           has_client_at(roce->lgr, tcp, 1);
}

/* Returns the side of the RoCE half that is the client. */
static unsigned
side_of_client(const smcr_conn_t *roce, const smcr_conn_t *tcp)
{
    if (smcr_evidence_knows_server(roce->lgr))
        return !roce->lgr->server;
    return has_client_at(roce->lgr, tcp, 1);
}

/* Returns how far the closes of one end lie apart in the halves, nanoseconds. Each end closes TCP
 * and SMC-R together. The nearer one of the two ends counts, since the first close of the other may
 * be missing. UINT64_MAX: no end has both closes in the capture. */
static uint64_t
distance_of_one_end(const half_t *roce, const half_t *tcp)
{
    unsigned client = side_of_client(roce->counted->conn, tcp->counted->conn);
    uint64_t nearest = UINT64_MAX;

    for (unsigned role = 0; role < 2; role++) {
        smcr_when_t close = roce->closes[role ? !client : client];
        if (close.frame && tcp->closes[role].frame)
            nearest = MIN(nearest, distance(close, tcp->closes[role]));
    }
    return nearest;
}

/* Returns distance_of_one_end() or, if no end has both closes in the capture,
 * distance_of_ends(). */
static uint64_t
distance_of_closes(const half_t *roce, const half_t *tcp)
{
    uint64_t nearest = distance_of_one_end(roce, tcp);

    return nearest != UINT64_MAX ? nearest : distance_of_ends(roce, tcp);
}

/* Whether the capture has the close of one end over TCP and over RoCE, or a RST without any FIN and
 * a close over RoCE, and more than a second lies between the two: then the halves are not one
 * connection. The FIN of one end and the close of the other may lie apart, since one end may close
 * long after the other. */
static bool
end_apart(const half_t *roce, const half_t *tcp)
{
    bool has_fin = tcp->closes[0].frame || tcp->closes[1].frame;
    bool has_closes = roce->close.frame && tcp->close.frame;
    uint64_t nearest = distance_of_one_end(roce, tcp);

    if (nearest != UINT64_MAX)
        return nearest > SMCR_TIME_SECOND;
    return has_closes && !has_fin && distance_of_ends(roce, tcp) > SMCR_TIME_SECOND;
}

/* Whether CLC names the link group of the half that is known from RoCE, and the halves do not
 * contradict each other; or CLC is truncated before it names a group, and there is only one. */
static bool
may_share_group(const pairing_t *pairing, const smcr_conn_t *roce, const smcr_conn_t *clc)
{
    if (!clc->lgr)
        return clc->clc_cut && pairing->only_group != NULL;
    return clc->lgr == roce->lgr && !contradict(roce, clc);
}

/* Whether the half that is known from RoCE lies in the time of the TCP connection: it begins before
 * the first FIN or RST, and ends at most CLOSE_TOGETHER after the last one. If both close together,
 * it may end later: a host may still retransmit over RoCE after the end of TCP. True if no FIN or
 * RST is captured. */
static bool
lies_within(const half_t *roce, const half_t *tcp)
{
    bool close_together =
        roce->close.frame && distance_of_closes(roce, tcp) <= CLOSE_TOGETHER;

    if (!tcp->close.frame)
        return true;
    return roce->agreed.frame < tcp->close.frame &&
           (close_together || roce->end.time <= tcp->end.time + CLOSE_TOGETHER);
}

/* Whether the halves `roce` and `tcp` may be one connection: they may share a link group
 * (may_share_group()), the first RoCE packet comes after CLC, the times agree (lies_within(),
 * end_apart()), and it is known which side is the client (can_name_client()). Returns false if the
 * link group has a connection that is known from TCP and from RoCE. */
static bool
may_be_one(const pairing_t *pairing, const half_t *roce, const half_t *tcp)
{
    const smcr_conn_t *conn = roce->counted->conn;

    if (roce->agreed.frame < tcp->agreed.frame || !can_name_client(conn, tcp->counted->conn))
        return false;
    bool may_share = tcp->is_doubtful ? pairing->only_group != NULL
                                      : may_share_group(pairing, conn, tcp->counted->conn);
    return may_share && !end_apart(roce, tcp) && lies_within(roce, tcp) &&
           !wmem_map_contains(pairing->whole_groups, conn->lgr);
}

/* The halves of the other kind that one half may be paired with: its candidates. */
typedef struct {
    half_t *nearest;   /* candidate whose end is nearest; NULL: no candidate */
    half_t *first;     /* candidate that began first; NULL: no candidate */
    uint64_t distance; /* distance of the ends of the nearest, nanoseconds */
    uint64_t second;   /* distance of the ends of the next nearest; UINT64_MAX: no other
                          candidate */
    unsigned count;    /* number of candidates */
} candidates_t;

/* Adds a candidate, whose end is at `distance` from the end of the half, nanoseconds. */
static void
add_candidate(candidates_t *found, half_t *other, uint64_t distance)
{
    if (!found->first || other->counted->first.frame < found->first->counted->first.frame)
        found->first = other;
    if (!found->count++ || distance < found->distance) {
        found->nearest = other;
        found->second = found->distance;
        found->distance = distance;
    } else
        found->second = MIN(found->second, distance);
}

/* Adds those of `others`, halves of the other kind, that are candidates for `half`: they have no
 * partner, and may be one connection with `half` (may_be_one()). */
static void
add_candidates(const pairing_t *pairing, candidates_t *found, half_t *half, const halves_t *others)
{
    for (unsigned i = 0; i < others->count; i++) {
        half_t *other = &others->list[i];
        const half_t *roce = half->tcp ? other : half, *tcp = half->tcp ? half : other;

        if (!other->partner && may_be_one(pairing, roce, tcp))
            add_candidate(found, other, distance_of_closes(roce, tcp));
    }
}

/* Returns the candidates for `half` (add_candidates()), doubtful ones included. */
static candidates_t
find_candidates(const pairing_t *pairing, half_t *half)
{
    candidates_t found = {.distance = UINT64_MAX, .second = UINT64_MAX};

    add_candidates(pairing, &found, half, half->tcp ? &pairing->roce : &pairing->tcp);
    add_candidates(pairing, &found, half,
                   half->tcp ? &pairing->roce_doubtful : &pairing->tcp_doubtful);
    return found;
}

/* Whether the nearest candidate is clearly nearer than the next one: at most half as far. */
static bool
is_clear(const candidates_t *found)
{
    return found->second / 2 >= found->distance;
}

/* Whether the half `roce` and its nearest candidate end together (CLOSE_TOGETHER), and each of the
 * two is clearly the nearest candidate of the other. `tcp`: candidates for `roce`. `own`:
 * candidates for tcp->nearest, so `roce` is among them. */
static bool
end_together(const half_t *roce, const candidates_t *tcp, const candidates_t *own)
{
    return tcp->distance < CLOSE_TOGETHER && own->nearest == roce && is_clear(tcp) && is_clear(own);
}

/* Whether the half `roce` has only one candidate, is the first of all halves that this candidate
 * may be paired with, and the candidate does not end together with another of these halves. The
 * arguments are those of end_together(). */
static bool
is_only_choice(const half_t *roce, const candidates_t *tcp, const candidates_t *own)
{
    bool is_of_other = own->distance < CLOSE_TOGETHER && own->nearest != roce;

    return tcp->count == 1 && own->first == roce && !is_of_other;
}

/* Returns the half that is known from TCP and belongs to the half `roce`; NULL: none, or this is
 * not certain. */
static half_t *
find_partner(const pairing_t *pairing, half_t *roce)
{
    const candidates_t tcp = find_candidates(pairing, roce);

    if (!tcp.count || tcp.nearest->is_doubtful)
        return NULL;
    const candidates_t own = find_candidates(pairing, tcp.nearest);
    return end_together(roce, &tcp, &own) || is_only_choice(roce, &tcp, &own) ? tcp.nearest : NULL;
}

/* Makes two halves each other's partners, and notes which side is the client. The halves last as
 * long as the pairing; the report reads the partners of their figures (`counted`). */
static void
pair_up(half_t *roce, half_t *tcp)
{
    roce->partner = tcp;
    tcp->partner = roce;
    roce->counted->partner = tcp->counted;
    tcp->counted->partner = roce->counted;
    const smcr_conn_t *conn = roce->counted->conn;
    roce->counted->client_is_second = !smcr_evidence_knows_server(conn->lgr) &&
                                      has_client_at(conn->lgr, tcp->counted->conn, 1);
}

/* Pairs halves that are known from RoCE, and returns true. Returns false if no half can be
 * paired. */
static bool
pair_some(const pairing_t *pairing)
{
    bool found = false;

    for (unsigned i = 0; i < pairing->roce.count; i++) {
        half_t *roce = &pairing->roce.list[i];
        half_t *partner = roce->partner ? NULL : find_partner(pairing, roce);
        if (partner)
            pair_up(roce, partner);
        found |= partner != NULL;
    }
    return found;
}

/* ---- pairs by the order of alert tokens ---- */

/* Compares two halves for sorting, by the token of the side `side`. */
static int
compare_tokens(const void *one, const void *other, void *side)
{
    const smcr_conn_t *a = (*(half_t *const *)one)->counted->conn;
    const smcr_conn_t *b = (*(half_t *const *)other)->counted->conn;
    uint32_t token = a->side[GPOINTER_TO_INT(side)].token;
    uint32_t other_token = b->side[GPOINTER_TO_INT(side)].token;

    return token < other_token ? -1 : token > other_token;
}

/* Compares two halves of TCP for sorting, by the frame of their CLC message of this type. */
static int
compare_clc(const void *one, const void *other, void *type)
{
    uint32_t frame = (*(half_t *const *)one)->counted->clc[GPOINTER_TO_INT(type)].frame;
    uint32_t other_frame = (*(half_t *const *)other)->counted->clc[GPOINTER_TO_INT(type)].frame;

    return frame < other_frame ? -1 : frame > other_frame;
}

/* Returns the frame in which the half of TCP names a token, as far as the capture shows: that of
 * the Accept, or that of the Confirm if no Accept is captured. */
static uint32_t
token_frame(const half_t *tcp)
{
    const smcr_when_t *clc = tcp->counted->clc;

    return clc[SMCR_CLC_ACCEPT].frame ? clc[SMCR_CLC_ACCEPT].frame : clc[SMCR_CLC_CONFIRM].frame;
}

/* Compares two halves of TCP for sorting, by token_frame(). */
static int
compare_token_frames(const void *one, const void *other, void *unused _U_)
{
    uint32_t frame = token_frame(*(half_t *const *)one);
    uint32_t other_frame = token_frame(*(half_t *const *)other);

    return frame < other_frame ? -1 : frame > other_frame;
}

/* Returns pointers to the halves, sorted by `compare`, which gets `by` as its last argument. The
 * halves stay where they are, since partners point to them. */
static half_t **
sort_halves(const halves_t *halves, GCompareDataFunc compare, int by, wmem_allocator_t *scope)
{
    half_t **sorted = wmem_alloc_array(scope, half_t *, halves->count);

    for (unsigned i = 0; i < halves->count; i++)
        sorted[i] = &halves->list[i];
    g_qsort_with_data(sorted, (int)halves->count, sizeof *sorted, compare, GINT_TO_POINTER(by));
    return sorted;
}

/* Whether the side has given the tokens of the halves one after the other, as Linux does: all
 * tokens differ, and at least half of the numbers from the lowest to the highest one are among
 * them. `sorted`: the halves, in ascending order of these tokens. */
static bool
are_in_sequence(half_t *const *sorted, unsigned count, int side)
{
    uint32_t first = sorted[0]->counted->conn->side[side].token;
    uint32_t last = sorted[count - 1]->counted->conn->side[side].token;

    for (unsigned i = 1; i < count; i++)
        if (compare_tokens(&sorted[i - 1], &sorted[i], GINT_TO_POINTER(side)) == 0)
            return false;
    return last - first < 2 * count;
}

/* Returns the halves, sorted by the tokens of a side that has given them one after the other
 * (are_in_sequence()), and sets `*side` to that side. NULL: there is no such side. */
static half_t **
sort_by_token(const halves_t *halves, int *side, wmem_allocator_t *scope)
{
    for (*side = 0; *side < 2; ++*side) {
        bool have_tokens = true;
        for (unsigned i = 0; i < halves->count; i++)
            have_tokens &= halves->list[i].counted->conn->side[*side].has_token;
        if (!have_tokens)
            continue;
        half_t **sorted = sort_halves(halves, compare_tokens, *side, scope);
        if (are_in_sequence(sorted, halves->count, *side))
            return sorted;
    }
    return NULL;
}

/* Whether the halves of TCP have the order of their Accepts, although some Accepts are not
 * captured. `sorted`: the halves, in ascending order of token_frame(). A half without an Accept has
 * the place of its Confirm; its Accept came at an unknown time before. So the first captured packet
 * of such a half must not come before token_frame() of the half before it. */
static bool
are_one_after_another(half_t *const *sorted, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        bool has_accept = sorted[i]->counted->clc[SMCR_CLC_ACCEPT].frame != 0;
        if (!has_accept && sorted[i]->counted->first.frame < token_frame(sorted[i - 1]))
            return false;
    }
    return true;
}

/* Returns the halves of TCP in the order in which their tokens were given. The messages decide, the
 * first of these that apply: 1. the Accepts, if all are captured; 2. the Confirms, if all are
 * captured; 3. token_frame(), if the handshakes come one after another (are_one_after_another()).
 * NULL: their order is not known. */
static half_t **
sort_by_clc(const halves_t *tcp, wmem_allocator_t *scope)
{
    for (int type = SMCR_CLC_ACCEPT; type <= SMCR_CLC_CONFIRM; type++) {
        bool have_message = true;
        for (unsigned i = 0; i < tcp->count; i++)
            have_message &= tcp->list[i].counted->clc[type].frame != 0;
        if (have_message)
            return sort_halves(tcp, compare_clc, type, scope);
    }
    half_t **sorted = sort_halves(tcp, compare_token_frames, 0, scope);
    return are_one_after_another(sorted, tcp->count) ? sorted : NULL;
}

/* The halves of both kinds in the order of their tokens: a half of `roce` and a half of `tcp` at
 * the same place of the order are one connection, if none is missing before them. */
typedef struct {
    half_t **roce; /* halves of RoCE, sorted by token */
    half_t **tcp;  /* halves of TCP, sorted by token or by CLC message */
    int side;      /* side whose tokens sort the halves of RoCE */
    unsigned roce_count; /* number of halves of RoCE */
} order_t;

/* A part of the order that lies between two pairs, or before or after all pairs. Indices of both
 * lists, the ends exclusive. */
typedef struct {
    unsigned roce, roce_end; /* halves of RoCE */
    unsigned tcp, tcp_end;   /* halves of TCP */
} order_run_t;

/* Sorts the halves of both kinds by token; see pair_by_order() for halves of TCP without tokens.
 * Returns false if a kind has no order. */
static bool
sort_both(const pairing_t *pairing, order_t *order, wmem_allocator_t *scope)
{
    int unused;

    order->roce_count = pairing->roce.count;
    order->roce = sort_by_token(&pairing->roce, &order->side, scope);
    order->tcp = sort_by_token(&pairing->tcp, &unused, scope);
    if (!order->tcp)
        order->tcp = sort_by_clc(&pairing->tcp, scope);
    return order->roce && order->tcp;
}

/* Returns the token of a half of RoCE that sorts it. */
static uint32_t
token_at(const order_t *order, unsigned i)
{
    return order->roce[i]->counted->conn->side[order->side].token;
}

/* Returns the token that the first half of TCP in the run has, if no number is left out before. */
static uint32_t
first_token(const order_t *order, const order_run_t *run)
{
    return run->roce ? token_at(order, run->roce - 1) + 1 : token_at(order, run->roce);
}

/* Returns how many tokens the run has: those from the pair before it, or from its first half, to
 * the pair after it, or to its last half. */
static uint32_t
count_tokens(const order_t *order, const order_run_t *run)
{
    uint32_t end = run->roce_end < order->roce_count ? token_at(order, run->roce_end)
                                                     : token_at(order, run->roce_end - 1) + 1;

    return end - first_token(order, run);
}

/* Sets `partners` to the halves of TCP that belong to the halves of RoCE in the run, by the order
 * of tokens. If the run has as many halves of TCP as it has tokens, the token is the place. If not,
 * there have to be as many halves of both kinds, and no packet of the link group may be missing:
 * the missing packets may be those of a connection, and another half would take its place. Returns
 * false if the order does not show the partners. */
static bool
find_places(const order_t *order, const order_run_t *run, half_t **partners)
{
    unsigned count = run->roce_end - run->roce, tcp_count = run->tcp_end - run->tcp;

    if (!count)
        return false;
    const smcr_lgr_t *lgr = order->roce[run->roce]->counted->conn->lgr;
    bool has_each_token = count_tokens(order, run) == tcp_count;
    if (!has_each_token &&
        (count != tcp_count || smcr_evidence_lacks_between(lgr, 0, UINT32_MAX)))
        return false;
    for (unsigned i = 0; i < count; i++) {
        unsigned place =
            has_each_token ? token_at(order, run->roce + i) - first_token(order, run) : i;
        partners[i] = order->tcp[run->tcp + place];
    }
    return true;
}

/* Pairs the halves of a run (find_places()). Nothing is paired if one of them has a partner, or if
 * the times of one pair do not agree. */
static void
pair_run(const pairing_t *pairing, const order_t *order, const order_run_t *run)
{
    half_t *partners[HALVES_MOST];
    half_t *const *roce = order->roce + run->roce;

    if (!find_places(order, run, partners))
        return;
    for (unsigned i = 0; i < run->roce_end - run->roce; i++)
        if (partners[i]->partner || !may_be_one(pairing, roce[i], partners[i]))
            return;
    for (unsigned i = 0; i < run->roce_end - run->roce; i++)
        pair_up(roce[i], partners[i]);
}

/* Pairs all halves at once, if there are two of each kind or more. Hosts give the tokens of a link
 * group one after the other, in the order in which connections agree on SMC-R. So halves of RoCE
 * are sorted by token; halves of TCP by the token in CLC or, if these are not captured, by the
 * messages that name tokens. All pairs have to agree in their times, too: a single pair that does
 * not refutes the order. */
static void
pair_by_order(const pairing_t *pairing, wmem_allocator_t *scope)
{
    const halves_t *roce = &pairing->roce, *tcp = &pairing->tcp;
    order_t order;

    if (roce->count < 2 || tcp->count < 2)
        return;
    if (sort_both(pairing, &order, scope))
        pair_run(pairing, &order, &(order_run_t){0, roce->count, 0, tcp->count});
}

/* Returns the index of the partner of `roce` in the halves of TCP, from the index `from` on; the
 * number of these halves: it is not among them. */
static unsigned
index_of_partner(const pairing_t *pairing, const order_t *order, const half_t *roce, unsigned from)
{
    while (from < pairing->tcp.count && order->tcp[from] != roce->partner)
        from++;
    return from;
}

/* Returns the index of the first half of RoCE with a partner, from the index `from` on; the number
 * of these halves: none has one. */
static unsigned
next_pair(const pairing_t *pairing, const order_t *order, unsigned from)
{
    while (from < pairing->roce.count && !order->roce[from]->partner)
        from++;
    return from;
}

/* Pairs the halves that lie between pairs which are known by their ends, in the order of tokens
 * (pair_run()). Nothing more is paired when a pair contradicts the order. */
static void
pair_between(const pairing_t *pairing, const order_t *order)
{
    const unsigned count = pairing->roce.count;
    unsigned roce = 0, tcp = 0;

    for (unsigned i = next_pair(pairing, order, 0); i < count;
         i = next_pair(pairing, order, i + 1)) {
        unsigned at = index_of_partner(pairing, order, order->roce[i], tcp);
        if (at == pairing->tcp.count)
            return;
        pair_run(pairing, order, &(order_run_t){roce, i, tcp, at});
        roce = i + 1;
        tcp = at + 1;
    }
    pair_run(pairing, order, &(order_run_t){roce, count, tcp, pairing->tcp.count});
}

/* Pairs halves that remain, by the order between pairs (pair_between()). */
static void
pair_rest(const pairing_t *pairing, wmem_allocator_t *scope)
{
    order_t order;

    if (pairing->tcp.count && sort_both(pairing, &order, scope))
        pair_between(pairing, &order);
}

/* ---- the halves ---- */

/* A property of a connection; and a function that makes a half of it. */
typedef bool has_half_t(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted);
typedef half_t make_half_t(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted);

/* Returns the halves of the connections in `all` that have the property. Memory is allocated in
 * `scope`. */
static halves_t
gather_halves(smcr_collect_t *collection, wmem_array_t *all, has_half_t *has_half,
              make_half_t *make_half, wmem_allocator_t *scope)
{
    unsigned length = wmem_array_get_count(all);
    halves_t halves = {.list = wmem_alloc_array(scope, half_t, length)};

    for (unsigned i = 0; i < length; i++) {
        smcr_collect_conn_stats_t *counted =
            *(smcr_collect_conn_stats_t **)wmem_array_index(all, i);
        if (has_half(collection, counted))
            halves.list[halves.count++] = make_half(collection, counted);
    }
    return halves;
}

/* As gather_halves(), but the halves are doubtful ones. */
static halves_t
gather_doubtful(smcr_collect_t *collection, wmem_array_t *all, has_half_t *has_half,
                make_half_t *make_half, wmem_allocator_t *scope)
{
    halves_t halves = gather_halves(collection, all, has_half, make_half, scope);

    for (unsigned i = 0; i < halves.count; i++)
        halves.list[i].is_doubtful = true;
    return halves;
}

/* Returns the only link group of the connections; NULL: there are several, or none. */
static const smcr_lgr_t *
find_only_group(wmem_array_t *all)
{
    const smcr_lgr_t *only = NULL;

    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        const smcr_lgr_t *lgr =
            (*(smcr_collect_conn_stats_t **)wmem_array_index(all, i))->conn->lgr;
        if (only && lgr && lgr != only)
            return NULL;
        only = lgr ? lgr : only;
    }
    return only;
}

/* Returns the link groups that have a connection on RoCE whose TCP ports are known. */
static wmem_map_t *
find_whole_groups(wmem_array_t *all, wmem_allocator_t *scope)
{
    wmem_map_t *groups = wmem_map_new(scope, g_direct_hash, g_direct_equal);

    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        const smcr_collect_conn_stats_t *counted =
            *(smcr_collect_conn_stats_t **)wmem_array_index(all, i);
        if (counted->conn->conversation && counted->on_roce)
            wmem_map_insert(groups, counted->conn->lgr, counted->conn->lgr);
    }
    return groups;
}

/* Pairs of an earlier report are forgotten first, since packets that have come since may refute
 * them. If there are more than HALVES_MOST halves of one kind, no pairs are made. Pairs by the
 * order of all tokens come before pairs by time, and pairs by the order between these come last. */
void
smcr_collect_halves_pair(smcr_collect_t *collection, wmem_array_t *all, wmem_allocator_t *scope)
{
    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        smcr_collect_conn_stats_t *counted =
            *(smcr_collect_conn_stats_t **)wmem_array_index(all, i);
        counted->partner = NULL;
        counted->client_is_second = false;
    }
    pairing_t pairing = {0};

    pairing.roce = gather_halves(collection, all, is_roce_half, roce_half_of, scope);
    if (!pairing.roce.count || pairing.roce.count > HALVES_MOST)
        return;
    pairing.tcp = gather_halves(collection, all, is_tcp_half, tcp_half_of, scope);
    if (pairing.tcp.count > HALVES_MOST)
        return;
    pairing.roce_doubtful =
        gather_doubtful(collection, all, is_doubtful_roce_half, roce_half_of, scope);
    pairing.tcp_doubtful =
        gather_doubtful(collection, all, is_doubtful_tcp_half, tcp_half_of, scope);
    pairing.only_group = find_only_group(all);
    pairing.whole_groups = find_whole_groups(all, scope);
    pair_by_order(&pairing, scope);
    for (unsigned i = 0; i < ROUNDS_MOST && pair_some(&pairing); i++)
        continue;
    pair_rest(&pairing, scope);
}

/* Takes a member of the TCP half, if the RoCE half does not know it. */
#define TAKE(member_, unknown_)                                                                    \
    (entry->member_ = entry->member_ == (unknown_) ? clc->member_ : entry->member_)

/* Figures of data stay those of RoCE. Ends, setup and TCP stream are those of the half of TCP. */
void
smcr_collect_halves_join(smcr_entry_connection_t *entry, const smcr_entry_connection_t *clc)
{
    entry->roce_stream = entry->stream;
    entry->stream = clc->stream;
    entry->tcp_stream = clc->tcp_stream;
    entry->client = clc->client;
    entry->server = clc->server;
    entry->ends = NULL;
    entry->began_before = clc->began_before;
    entry->setup = clc->setup;
    entry->setup_s = clc->setup_s;
    entry->setup_longest = clc->setup_longest;
    if (clc->version)
        entry->version = clc->version;
    TAKE(tokens.client, NULL);
    TAKE(tokens.server, NULL);
    TAKE(buffer_bytes.client, SMCR_FIGURE_UNKNOWN);
    TAKE(buffer_bytes.server, SMCR_FIGURE_UNKNOWN);
    TAKE(link_group, SMCR_FIGURE_UNKNOWN);
}
