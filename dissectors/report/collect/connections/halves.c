/* Finds out which RoCE packets probably are those of a TCP connection, where no token shows it. A
 * capture of one direction has only one of the two CLC messages that name tokens, and a capture
 * that is truncated by snaplen has none. The state then has two connections: one of TCP and CLC,
 * one of RoCE. The report shows them as one.
 *
 * Single packets that are missing make halves, too. Such halves are not paired: which belong
 * together would be a guess. So no half is paired in a group that has a connection known from TCP
 * and RoCE, nor in a capture in disorder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "counts.h"

#include "wire/wire.h"

/* Longest time between the close of TCP and the last CDC message of the same connection,
 * nanoseconds. Hosts close SMC-R and TCP at almost the same time. */
#define CLOSE_TOGETHER (100 * SMCR_TIME_MILLISECOND)

/* Halves of one kind. */
typedef struct {
    smcr_collect_conn_stats_t **list; /* the halves */
    unsigned count;                   /* number of halves */
} halves_t;

/* The data of one attempt to pair halves. */
typedef struct {
    smcr_collect_t *collection;
    halves_t roce; /* halves that are known from RoCE alone */
    halves_t tcp;  /* halves that are known from TCP and CLC alone */
    const smcr_lgr_t *only_group; /* the link group that carried all connections; NULL: there are
                                     several */
    wmem_map_t *whole_groups; /* smcr_lgr_t -> itself: groups with a connection that is known from
                                 both, TCP and RoCE */
} pairing_t;

/* Whether the connection is known from RoCE alone, and began in the capture. Returns false if TCP
 * and RoCE have times of two clocks, or if the capture is in disorder: then the order of packets
 * does not show which halves belong together. */
static bool
is_roce_half(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;

    if (conn->conversation || !counted->on_roce || !conn->lgr)
        return false;
    smcr_collect_conn_open(collection, counted);
    bool has_order = !conn->lgr->clocks_differ && !smcr_lgr_is_in_disorder(conn->lgr);
    return smcr_collect_conn_has_first_data(counted) && has_order &&
           smcr_evidence_knows_server(conn->lgr);
}

/* Returns the last CLC message; frame 0: none is captured. */
static smcr_when_t
last_clc(const smcr_collect_conn_stats_t *counted)
{
    smcr_when_t last = {0, 0};

    for (unsigned type = SMCR_CLC_PROPOSAL; type <= SMCR_CLC_CONFIRM; type++)
        if (counted->clc[type].frame > last.frame)
            last = counted->clc[type];
    return last;
}

/* Whether the connection is known from TCP and CLC alone, and agreed on SMC-R as far as the capture
 * shows. */
static bool
is_tcp_half(smcr_collect_t *collection _U_, smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;
    bool agrees = counted->clc[SMCR_CLC_ACCEPT].frame || counted->clc[SMCR_CLC_CONFIRM].frame;
    bool goes_elsewhere = counted->on_roce || counted->is_smcd || conn->fallback.kind;

    return conn->conversation && agrees && !goes_elsewhere;
}

/* Returns the first FIN or RST of the TCP connection; frame 0: none is captured. */
static smcr_when_t
first_close_of_tcp(const smcr_collect_tcp_facts_t *tcp)
{
    smcr_when_t end = tcp->reset;

    for (unsigned role = 0; role < 2; role++)
        if (tcp->fin[role].frame && (!end.frame || tcp->fin[role].frame < end.frame))
            end = tcp->fin[role];
    return end;
}

/* Returns the time between the end of TCP and the last packet on RoCE, nanoseconds; UINT64_MAX: TCP
 * does not end in the capture. */
static uint64_t
distance_of_ends(const smcr_collect_conn_stats_t *roce, const smcr_collect_tcp_facts_t *tcp)
{
    smcr_when_t end = first_close_of_tcp(tcp);

    if (!end.frame)
        return UINT64_MAX;
    return end.time > roce->last.time ? end.time - roce->last.time : roce->last.time - end.time;
}

/* Whether the capture has the end of TCP and a close over RoCE, and more than a second lies between
 * the end of TCP and the last RoCE packet: then the halves are not one connection. */
static bool
end_apart(const smcr_collect_conn_stats_t *roce, const smcr_collect_tcp_facts_t *tcp)
{
    const smcr_conn_side_t *sides = roce->conn->side;
    bool has_closed = sides[0].closed_frame || sides[1].closed_frame;

    return has_closed && first_close_of_tcp(tcp).frame &&
           distance_of_ends(roce, tcp) > SMCR_TIME_SECOND;
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

/* Whether CLC names the link group of the half that is known from RoCE, or is truncated before the
 * name and there is only one group. The two halves do not contradict each other. */
static bool
may_share_group(const pairing_t *pairing, const smcr_conn_t *roce, const smcr_conn_t *clc)
{
    if (!clc->lgr)
        return clc->clc_cut && pairing->only_group != NULL;
    return clc->lgr == roce->lgr && !contradict(roce, clc);
}

/* Whether the half that is known from RoCE lies in the time of the TCP connection: it begins before
 * TCP ends, and does not end long after. */
static bool
lies_within(const smcr_collect_conn_stats_t *roce, const smcr_collect_tcp_facts_t *tcp)
{
    smcr_when_t end = first_close_of_tcp(tcp);

    if (!end.frame)
        return true;
    return roce->first.frame < end.frame && roce->last.time <= end.time + CLOSE_TOGETHER;
}

/* Whether the halves `roce` and `clc` may be one connection: they may share a link group
 * (may_share_group()), the first RoCE packet comes after CLC, and the times agree (lies_within(),
 * end_apart()). Returns false if the link group has a connection that is known from TCP and from
 * RoCE. */
static bool
may_be_one(const pairing_t *pairing, const smcr_collect_conn_stats_t *roce,
           const smcr_collect_conn_stats_t *clc)
{
    const smcr_collect_tcp_facts_t *tcp =
        smcr_collect_tcp_flows_facts(pairing->collection, clc->conn->tcp_stream);

    if (!tcp || wmem_map_contains(pairing->whole_groups, roce->conn->lgr))
        return false;
    if (!may_share_group(pairing, roce->conn, clc->conn))
        return false;
    if (roce->first.frame < last_clc(clc).frame)
        return false;
    return !end_apart(roce, tcp) && lies_within(roce, tcp);
}

/* The halves of the other kind that one half may be paired with: its candidates. */
typedef struct {
    smcr_collect_conn_stats_t *nearest; /* candidate whose end is nearest; NULL: no candidate */
    smcr_collect_conn_stats_t *first;   /* candidate that began first; NULL: no candidate */
    uint64_t distance;                  /* distance of the ends of the nearest, nanoseconds */
    uint64_t second;                    /* distance of the ends of the next nearest; UINT64_MAX: no
                                           other candidate */
    unsigned count;                     /* number of candidates */
} candidates_t;

/* Adds a candidate, whose end is at `distance` from the end of the half, nanoseconds. */
static void
add_candidate(candidates_t *found, smcr_collect_conn_stats_t *other, uint64_t distance)
{
    if (!found->first || other->first.frame < found->first->first.frame)
        found->first = other;
    if (!found->count++ || distance < found->distance) {
        found->nearest = other;
        found->second = found->distance;
        found->distance = distance;
    } else
        found->second = MIN(found->second, distance);
}

/* Returns the candidates for `half`. `is_roce`: `half` is known from RoCE, the candidates from TCP;
 * else the other way round. */
static candidates_t
find_candidates(const pairing_t *pairing, smcr_collect_conn_stats_t *half, bool is_roce)
{
    const halves_t *others = is_roce ? &pairing->tcp : &pairing->roce;
    candidates_t found = {.distance = UINT64_MAX, .second = UINT64_MAX};

    for (unsigned i = 0; i < others->count; i++) {
        smcr_collect_conn_stats_t *other = others->list[i];
        smcr_collect_conn_stats_t *roce = is_roce ? half : other, *clc = is_roce ? other : half;

        if (other->partner || !may_be_one(pairing, roce, clc))
            continue;
        const smcr_collect_tcp_facts_t *tcp =
            smcr_collect_tcp_flows_facts(pairing->collection, clc->conn->tcp_stream);
        add_candidate(&found, other, distance_of_ends(roce, tcp));
    }
    return found;
}

/* Whether the nearest candidate is clearly nearer than the next one. */
static bool
is_clear(const candidates_t *found)
{
    return found->second / 2 >= found->distance;
}

/* Whether the half `roce` and its nearest candidate end together (CLOSE_TOGETHER), and each of the
 * two is clearly the nearest candidate of the other. `clc`: candidates for `roce`. `own`:
 * candidates for clc->nearest, so `roce` is among them. */
static bool
end_together(const smcr_collect_conn_stats_t *roce, const candidates_t *clc,
             const candidates_t *own)
{
    return clc->distance < CLOSE_TOGETHER && own->nearest == roce && is_clear(clc) && is_clear(own);
}

/* Whether the half `roce` has only one candidate, is the first of all halves that this candidate
 * may be paired with, and the candidate does not end together with another of these halves. The
 * arguments are those of end_together(). */
static bool
is_only_choice(const smcr_collect_conn_stats_t *roce, const candidates_t *clc,
               const candidates_t *own)
{
    bool is_of_other = own->distance < CLOSE_TOGETHER && own->nearest != roce;

    return clc->count == 1 && own->first == roce && !is_of_other;
}

/* The half that is known from TCP and belongs to the half `roce`; NULL: none, or this is not
 * certain. */
static smcr_collect_conn_stats_t *
find_partner(const pairing_t *pairing, smcr_collect_conn_stats_t *roce)
{
    const candidates_t clc = find_candidates(pairing, roce, true);

    if (!clc.count)
        return NULL;
    const candidates_t own = find_candidates(pairing, clc.nearest, false);
    return end_together(roce, &clc, &own) || is_only_choice(roce, &clc, &own) ? clc.nearest : NULL;
}

/* Pairs one more half that is known from RoCE, and returns true. Returns false if no half can be
 * paired. */
static bool
pair_one(const pairing_t *pairing)
{
    for (unsigned i = 0; i < pairing->roce.count; i++) {
        smcr_collect_conn_stats_t *roce = pairing->roce.list[i];
        smcr_collect_conn_stats_t *partner = roce->partner ? NULL : find_partner(pairing, roce);
        if (!partner)
            continue;
        roce->partner = partner;
        partner->partner = roce;
        return true;
    }
    return false;
}

/* Returns the halves among `all` that have the property. Memory is allocated in `scope`. */
static halves_t
gather_halves(smcr_collect_t *collection, wmem_array_t *all,
              bool (*has_property)(smcr_collect_t *, smcr_collect_conn_stats_t *),
              wmem_allocator_t *scope)
{
    unsigned length = wmem_array_get_count(all);
    halves_t halves = {.list = wmem_alloc_array(scope, smcr_collect_conn_stats_t *, length)};

    for (unsigned i = 0; i < length; i++) {
        smcr_collect_conn_stats_t *counted =
            *(smcr_collect_conn_stats_t **)wmem_array_index(all, i);
        if (has_property(collection, counted))
            halves.list[halves.count++] = counted;
    }
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

/* Returns the groups that have a connection known from TCP and RoCE. */
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

#define HALVES_MOST 64 /* maximum number of halves that are compared with each other */

void
smcr_collect_halves_pair(smcr_collect_t *collection, wmem_array_t *all, wmem_allocator_t *scope)
{
    for (unsigned i = 0; i < wmem_array_get_count(all); i++)
        (*(smcr_collect_conn_stats_t **)wmem_array_index(all, i))->partner = NULL;
    pairing_t pairing = {.collection = collection};

    pairing.roce = gather_halves(collection, all, is_roce_half, scope);
    if (!pairing.roce.count || pairing.roce.count > HALVES_MOST)
        return;
    pairing.tcp = gather_halves(collection, all, is_tcp_half, scope);
    pairing.only_group = find_only_group(all);
    pairing.whole_groups = find_whole_groups(all, scope);
    while (pair_one(&pairing))
        continue;
}

/* Takes a member of the TCP half, if the RoCE half does not know it. */
#define TAKE(member_, unknown_)                                                                    \
    (entry->member_ = entry->member_ == (unknown_) ? clc->member_ : entry->member_)

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
