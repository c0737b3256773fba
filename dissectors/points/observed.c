/* Takes packets while the file is read, and finds out which are copies. A copy is a packet that
 * another point has shown already, or that the analysis leaves out because it runs on another
 * point.
 *
 * While the file is read, the n-th of equal packets at one point and the n-th at another point
 * count as one transmission; chain.c decides later by their times. Two points are points of the
 * same path if they have enough transmissions in common. From then on, the analysis of the path
 * runs on the preferred point, which has shown the path first (with a list of the user: of the
 * points with packets of the path, the one that comes first in the list). If the preferred point
 * has packets of a flow, all packets of the flow at other points are copies. Before that, a packet
 * counts at the point that shows its transmission first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "observed.h"

#define FIRST_ROOM 1024 /* number of observations in the first allocation */

/* Two points show the same traffic if at least SHARED_LEAST of their common transmissions are
 * certainly no retransmissions over another interface, and at least every SHARED_PART-th packet of
 * the point with fewer packets is a common transmission. */
#define SHARED_LEAST 4
#define SHARED_PART 4

/* Equal packets at two interfaces may also be retransmissions: after the first link of a bond has
 * failed, the sender retransmits over the second one. If nothing in the packets distinguishes the
 * two cases, two points show the same traffic under these conditions: ALIKE_LEAST equal packets or
 * more; of the packets of the point with fewer packets, at least three in ALIKE_PARTS are equal;
 * and the two points show packets in turn (TURNS_LEAST changes), or UNDER_WAY equal packets, which
 * are more than a sender has under way. */
#define ALIKE_LEAST 16
#define ALIKE_PARTS 4
#define TURNS_LEAST 8
#define UNDER_WAY 1024
#define REFUTED_LEAST 32 /* number of packets at a point from which on is_refuted() decides */

#define IN_VAIN 262144  /* number of observations after which the search for common traffic ends, if
                           none was found */

/* Nanoseconds. Without IPv4 identifications that change, a retransmission over another interface
 * looks like a copy. A sender changes to the other link of a bond after the first link has failed,
 * which takes longer than this time. The clocks of two hosts that use NTP differ by less. */
#define COPY_DISTANCE (50 * SMCR_TIME_MILLISECOND)

/* With a list, all its points count from the start, though no packet has come there: `point_count`
 * is then its length and does not grow. */
smcr_points_t *
smcr_points_new(wmem_allocator_t *scope, const uint32_t *list, uint32_t count)
{
    smcr_points_t *points = wmem_new0(scope, smcr_points_t);

    points->scope = scope;
    points->list_length = MIN(count, SMCR_POINTS_MOST);
    for (uint32_t i = 0; i < points->list_length; i++)
        points->list[i] = list[i];
    points->point_count = points->list_length;
    points->flow_numbers = smcr_slab_table(scope, g_int64_hash, g_int64_equal);
    points->path_numbers = smcr_slab_table(scope, g_int64_hash, g_int64_equal);
    return points;
}

/* ---- identities ---- */

/* The finalizer of MurmurHash3, by A. Appleby. */
uint64_t
smcr_observed_mix(uint64_t hash, uint64_t value)
{
    hash ^= value;
    hash ^= hash >> 33;
    hash *= UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 33;
    hash *= UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 33;
}

uint64_t
smcr_observed_mix_gid(uint64_t hash, const uint8_t *gid)
{
    uint64_t half[2];

    memcpy(half, gid, sizeof half);
    return smcr_observed_mix(smcr_observed_mix(hash, half[0]), half[1]);
}

/* Returns the hash of the packet's addresses and of the queue pair that receives it. */
static uint64_t
ends_of(const smcr_ib_headers_t *roce)
{
    uint64_t hash = smcr_observed_mix_gid(1, roce->source);

    return smcr_observed_mix(smcr_observed_mix_gid(hash, roce->destination.gid),
                             roce->destination.qpn);
}

/* Returns the hash of the members of `roce` by which two observations count as equal packets. No
 * router changes one of them, as it does hop limit, DSCP and ECN. `ends`: see ends_of(). */
static uint64_t
identity_of(const smcr_ib_headers_t *roce, uint64_t ends)
{
    uint64_t hash = smcr_observed_mix(ends, (uint64_t)roce->opcode << 32 | roce->psn);

    hash = smcr_observed_mix(hash, (uint64_t)(uint32_t)roce->ip_id << 32 | roce->udp_port);
    hash = smcr_observed_mix(hash, (uint64_t)roce->length << 32 | (uint32_t)roce->payload_length);
    if (roce->has_reth)
        hash = smcr_observed_mix(smcr_observed_mix(hash, roce->virtual_address),
                                 (uint64_t)roce->rkey << 32 | roce->dma_length);
    if (roce->has_aeth)
        hash = smcr_observed_mix(hash, roce->syndrome);
    return roce->has_immediate ? smcr_observed_mix(hash, roce->immediate) : hash;
}

/* ---- flows and paths ---- */

/* Numbers begin with 1: 0 stands for none in the table. */
uint32_t
smcr_observed_find(GHashTable *table, uint64_t key)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(table, &key));
}

void
smcr_observed_set(GHashTable *table, wmem_allocator_t *scope, uint64_t key, uint32_t number)
{
    g_hash_table_insert(table, wmem_memdup(scope, &key, sizeof key), GUINT_TO_POINTER(number));
}

/* Returns the number that the table has for `key`, a hash. If the table has none, adds the key with
 * the number `next`, and returns `next`. */
static uint32_t
number_of(GHashTable *table, wmem_allocator_t *scope, uint64_t key, uint32_t next)
{
    uint32_t found = smcr_observed_find(table, key);

    if (found)
        return found;
    smcr_observed_set(table, scope, key, next);
    return next;
}

/* The array doubles its size, so that adding an element stays cheap. The array may move: indexes
 * are kept, and pointers are not. */
void *
smcr_observed_grow(wmem_allocator_t *scope, void *array, uint32_t *room, size_t size)
{
    uint32_t more = *room ? *room * 2 : 16;

    array = wmem_realloc(scope, array, more * size);
    memset((uint8_t *)array + *room * size, 0, (more - *room) * size);
    *room = more;
    return array;
}

/* Adds a path between the two hosts of a packet, in the order of their GIDs, and returns its index.
 * The hosts may have paths already, in other networks (branch_path()). The array may move: callers
 * keep indexes, not pointers. */
static uint32_t
add_path(smcr_points_t *points, const uint8_t *source, const uint8_t *destination)
{
    bool back = memcmp(source, destination, SMCR_GID_LENGTH) > 0;

    if (points->path_count == points->path_room)
        points->paths = smcr_observed_grow(points->scope, points->paths, &points->path_room,
                             sizeof *points->paths);
    smcr_observed_path_t *path = &points->paths[points->path_count];
    memcpy(path->gid[back], source, SMCR_GID_LENGTH);
    memcpy(path->gid[!back], destination, SMCR_GID_LENGTH);
    path->preferred = SMCR_POINTS_MOST;
    return points->path_count++;
}

/* Returns the hash of two hosts, which is the same for both orders. */
static uint64_t
hosts_of(const uint8_t *source, const uint8_t *destination)
{
    bool back = memcmp(source, destination, SMCR_GID_LENGTH) > 0;

    return smcr_observed_mix_gid(smcr_observed_mix_gid(0, back ? destination : source),
                                 back ? source : destination);
}

bool
smcr_observed_has_path(const smcr_points_t *points, const uint8_t *source,
                       const uint8_t *destination)
{
    return smcr_observed_find(points->path_numbers, hosts_of(source, destination)) != 0;
}

/* Both directions have the same path. */
uint32_t
smcr_observed_path(smcr_points_t *points, const uint8_t *source, const uint8_t *destination)
{
    uint64_t key = hosts_of(source, destination);
    uint32_t number =
        number_of(points->path_numbers, points->scope, key, points->path_count + 1);

    return number > points->path_count ? add_path(points, source, destination) + 1 : number;
}

/* ---- the network of a path ----
 *
 * One point may show a path with a VLAN tag or in a tunnel, and another point without. A router
 * changes the VLAN. So each point of a path has its own network. If a packet in a new
 * network is a copy of a packet that another point has shown, the network belongs to the path of
 * that packet. */

static bool
is_same_network(const smcr_ib_network_t *one, const smcr_ib_network_t *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

/* Whether a bridge or the end of a tunnel may pass a packet from one network to the other: such a
 * device adds or removes tags, but changes none. */
static bool
may_bridge(const smcr_ib_network_t *one, const smcr_ib_network_t *other)
{
    bool is_one_vlan = one->vlan == other->vlan || !one->vlan || !other->vlan;
    bool is_one_tunnel = !one->tunnel || !other->tunnel ||
                         (one->tunnel == other->tunnel && one->tunnel_id == other->tunnel_id);

    return is_one_vlan && is_one_tunnel;
}

/* Whether a point has shown the path in this network. */
static bool
has_network(const smcr_observed_path_t *path, const smcr_ib_network_t *network)
{
    for (uint32_t i = 0; i < SMCR_POINTS_MOST; i++)
        if (path->has_network[i] && is_same_network(&path->network[i], network))
            return true;
    return false;
}

/* Whether a bridge may pass packets between the network and each network of the path. */
static bool
may_bridge_path(const smcr_observed_path_t *path, const smcr_ib_network_t *network)
{
    for (uint32_t i = 0; i < SMCR_POINTS_MOST; i++)
        if (path->has_network[i] && !may_bridge(&path->network[i], network))
            return false;
    return true;
}

/* Returns the bucket of the identity in the hash table. */
static uint32_t *
bucket_of(const smcr_points_t *points, uint64_t identity)
{
    return &points->heads[identity >> (64 - points->head_bits)];
}

/* Highest number of observations of a bucket that are compared, from the newest on. The number is
 * odd, because two points may show equal packets in turn: among an odd number of observations, the
 * point with the newest one has one more than the other point. */
#define ALIKE_MOST 255

/* Whether the packet at `point` may be a copy of the earlier packet `observed`, so that its network
 * belongs to the same path. Conditions: 1. another point has shown the earlier packet; 2. the path
 * has no network at `point` so far; 3. a router lies between the points (the hop limits differ), or
 * a bridge may have passed the packet, or the path's network at the earlier point is not known. */
static bool
may_be_copy(const smcr_points_t *points, const smcr_observed_t *observed,
            const smcr_ib_headers_t *roce, uint32_t point)
{
    const smcr_observed_path_t *path = &points->paths[points->flows[observed->flow].path];
    const smcr_ib_network_t *network = &roce->outer.network;

    if (observed->point == point || path->has_network[point])
        return false;
    return observed->hop_limit != roce->hop_limit || !path->has_network[observed->point] ||
           may_bridge(&path->network[observed->point], network);
}

/* Returns the number of the path that has an earlier packet of which this packet, at `point`, may
 * be a copy; 0: none is among the newest ALIKE_MOST of its bucket. */
static uint32_t
path_of_copy(const smcr_points_t *points, const smcr_ib_headers_t *roce, uint64_t identity,
             uint32_t point)
{
    uint32_t left = ALIKE_MOST;

    if (!points->head_bits)
        return 0;
    for (uint32_t i = *bucket_of(points, identity); i && left--;
         i = points->observed[i].previous) {
        const smcr_observed_t *observed = &points->observed[i];
        if (observed->identity == identity && may_be_copy(points, observed, roce, point))
            return points->flows[observed->flow].path + 1;
    }
    return 0;
}

/* A condition by which find_path() chooses a path for the network in which a point shows a
 * packet. */
typedef bool fits_t(const smcr_observed_path_t *path, const smcr_ib_network_t *network,
                    uint32_t point);

/* Whether the point has shown the path in this network. */
static bool
is_here(const smcr_observed_path_t *path, const smcr_ib_network_t *network, uint32_t point)
{
    return path->has_network[point] && is_same_network(&path->network[point], network);
}

/* Whether another point has shown the path in this network, and no network of the path is known at
 * this point. */
static bool
is_elsewhere(const smcr_observed_path_t *path, const smcr_ib_network_t *network, uint32_t point)
{
    return !path->has_network[point] && has_network(path, network);
}

/* Whether no network of the path is known at this point, and a bridge may pass packets between this
 * network and the networks in which other points have shown the path. */
static bool
is_bridged(const smcr_observed_path_t *path, const smcr_ib_network_t *network, uint32_t point)
{
    return !path->has_network[point] && may_bridge_path(path, network);
}

/* Whether no network of the path is known at the point. */
static bool
is_open(const smcr_observed_path_t *path, const smcr_ib_network_t *network G_GNUC_UNUSED,
        uint32_t point)
{
    return !path->has_network[point];
}

/* Returns the number of the first path for which `fits` is true, in the list from the path `number`
 * on; 0: there is none. */
static uint32_t
find_path(const smcr_points_t *points, uint32_t number, fits_t *fits,
          const smcr_ib_network_t *network, uint32_t point)
{
    while (number && !fits(&points->paths[number - 1], network, point))
        number = points->paths[number - 1].next;
    return number;
}

/* Notes the network in which the point shows the path, and returns the path's number. */
static uint32_t
join_path(smcr_points_t *points, uint32_t number, const smcr_ib_network_t *network, uint32_t point)
{
    smcr_observed_path_t *path = &points->paths[number - 1];

    path->has_network[point] = true;
    path->network[point] = *network;
    return number;
}

/* Adds a path of another network to the list that begins with the path `first`. Returns its
 * number. */
static uint32_t
branch_path(smcr_points_t *points, uint32_t first, const smcr_ib_headers_t *roce)
{
    uint32_t number = add_path(points, roce->source, roce->destination.gid) + 1;

    points->paths[number - 1].next = points->paths[first - 1].next;
    points->paths[first - 1].next = number;
    return number;
}

/* Returns the number of the packet's path, among the paths between its two addresses; 0: the path
 * is not known. The first of these answers that applies:
 *
 * - The path that the point has shown in this network.
 * - The first path, if it has no packet so far.
 * - The path that another point has shown in this network.
 * - The path of an earlier packet of which this packet may be a copy.
 * - A new path, if the point has shown all paths in other networks.
 * - A path that a bridge may connect with this network. The network is not noted, since another
 *   path may turn out to be the right one. */
static uint32_t
path_of(smcr_points_t *points, const smcr_ib_headers_t *roce, uint64_t identity, uint32_t point)
{
    uint32_t first = smcr_observed_path(points, roce->source, roce->destination.gid);
    const smcr_ib_network_t *network = &roce->outer.network;
    uint32_t number = find_path(points, first, is_here, network, point);

    if (number)
        return number;
    if (points->paths[first - 1].preferred == SMCR_POINTS_MOST)
        return join_path(points, first, network, point);
    number = find_path(points, first, is_elsewhere, network, point);
    number = number ? number : path_of_copy(points, roce, identity, point);
    if (number)
        return join_path(points, number, network, point);
    if (!find_path(points, first, is_open, network, point))
        return join_path(points, branch_path(points, first, roce), network, point);
    return find_path(points, first, is_bridged, network, point);
}

/* Returns the index of the packet's flow. `ends`: see ends_of(); `path`: index of the path. */
static uint32_t
flow_of(smcr_points_t *points, const smcr_ib_headers_t *roce, uint64_t ends, uint32_t path)
{
    uint32_t number =
        number_of(points->flow_numbers, points->scope, smcr_observed_mix(ends, path),
                  points->flow_count + 1);

    if (number > points->flow_count) {
        if (points->flow_count == points->flow_room)
            points->flows = smcr_observed_grow(points->scope, points->flows, &points->flow_room,
                                 sizeof *points->flows);
        smcr_observed_flow_t *flow = &points->flows[points->flow_count++];
        flow->destination = roce->destination;
        memcpy(flow->source, roce->source, SMCR_GID_LENGTH);
        flow->path = path;
    }
    return number - 1;
}

bool
smcr_observed_is_back(const smcr_points_t *points, const smcr_observed_flow_t *flow)
{
    return !smcr_gid_is_same(flow->source, points->paths[flow->path].gid[0]);
}

/* Returns the index of a place in the user's list of points; `list_length`: the place is not in the
 * list. */
static uint32_t
listed(const smcr_points_t *points, const smcr_points_place_t *place)
{
    uint32_t wanted = place->device ? place->device : place->interface, i = 0;

    while (i < points->list_length && points->list[i] != wanted)
        i++;
    return i;
}

/* Returns the index of the point at this place, which becomes a point if it is new.
 * SMCR_POINTS_MOST: the place is not in the user's list, or there are too many points. */
static uint32_t
place_of(smcr_points_t *points, const smcr_points_place_t *place)
{
    for (uint32_t i = 0; i < points->point_count; i++)
        if (points->is_found[i] && points->places[i].interface == place->interface &&
            points->places[i].device == place->device)
            return i;
    uint32_t next = points->list_length ? listed(points, place) : points->point_count;
    bool is_full = next == (points->list_length ? points->list_length : SMCR_POINTS_MOST);
    if (is_full || points->is_found[next])
        return SMCR_POINTS_MOST;
    points->is_found[next] = true;
    points->places[next] = *place;
    points->point_count += !points->list_length;
    return next;
}

/* Times of a point may come in any order, so begin and end are the least and the greatest. */
uint32_t
smcr_observed_point(smcr_points_t *points, const smcr_points_place_t *place, uint64_t time)
{
    uint32_t point = place_of(points, place);

    if (point == SMCR_POINTS_MOST)
        return point;
    points->begin[point] = points->begin[point] ? MIN(points->begin[point], time) : time;
    points->end[point] = MAX(points->end[point], time);
    return point;
}

bool
smcr_observed_share_clock(const smcr_points_t *points, uint32_t one, uint32_t other)
{
    return points->places[one].interface == points->places[other].interface;
}

/* ---- copies ---- */

/* Whether most packets of the point with fewer packets are copies of those of the other point. */
static bool
share_most(const smcr_observed_path_t *path, uint32_t lower, uint32_t higher)
{
    uint64_t fewer = MIN(path->seen[lower], path->seen[higher]);

    return (uint64_t)path->shared[lower][higher] * ALIKE_PARTS >= fewer * (ALIKE_PARTS - 1);
}

/* Symmetric in `one` and `other`. */
bool
smcr_observed_share(const smcr_observed_path_t *path, uint32_t one, uint32_t other)
{
    uint32_t lower = MIN(one, other), higher = MAX(one, other);
    uint32_t shared = path->shared[lower][higher], proven = path->proven[lower][higher];
    uint64_t fewer = MIN(path->seen[one], path->seen[other]);
    bool are_in_turn = path->turns[lower][higher] >= TURNS_LEAST || shared >= UNDER_WAY;

    if (proven >= SHARED_LEAST && (uint64_t)shared * SHARED_PART >= fewer)
        return true;
    return shared >= ALIKE_LEAST && are_in_turn && share_most(path, lower, higher);
}

/* Whether the point has many packets, and too few in common with the preferred one (share_most()):
 * both may be links of a bond. */
static bool
is_refuted(const smcr_observed_path_t *path, uint32_t point)
{
    return path->seen[point] >= REFUTED_LEAST && path->preferred < SMCR_POINTS_MOST &&
           !share_most(path, MIN(point, path->preferred), MAX(point, path->preferred));
}

/* Enlarges the table and puts all observations into it, but for damaged packets. */
static void
rehash(smcr_points_t *points)
{
    points->head_bits = points->head_bits ? points->head_bits + 1 : 10;
    wmem_free(points->scope, points->heads);
    points->heads = wmem_alloc0_array(points->scope, uint32_t, (size_t)1 << points->head_bits);
    for (uint32_t i = 1; i <= points->count; i++) {
        if (points->observed[i].is_damaged)
            continue;
        uint32_t *bucket = bucket_of(points, points->observed[i].identity);
        points->observed[i].previous = *bucket;
        *bucket = i;
    }
}

/* Counts of the earlier observations that have the same flow and identity as the newest one, which
 * is not in its bucket yet. Only the last ALIKE_MOST observations of the bucket are compared. */
typedef struct {
    uint32_t at[SMCR_POINTS_MOST]; /* by point: number of these observations */
    uint32_t counting;             /* number of these observations that are no copies */
    uint64_t last_time;            /* time of the last of them at another point than the newest one,
                                      nanoseconds; 0: there is none */
    uint8_t hop_limit[SMCR_POINTS_MOST]; /* by point: hop limit of the last of these observations;
                                            set if there is one */
} alike_t;

/* Counts the earlier observations with the flow and identity of the newest one, among the last
 * ALIKE_MOST of its bucket. */
static alike_t
count_alike(const smcr_points_t *points)
{
    const smcr_observed_t *last = &points->observed[points->count];
    alike_t alike = {.counting = 0};
    uint32_t left = ALIKE_MOST;

    for (uint32_t i = *bucket_of(points, last->identity); i && left--;
         i = points->observed[i].previous) {
        const smcr_observed_t *observed = &points->observed[i];
        if (observed->identity != last->identity || observed->flow != last->flow)
            continue;
        if (!alike.at[observed->point]++)
            alike.hop_limit[observed->point] = observed->hop_limit;
        alike.counting += !observed->is_copy;
        if (observed->point != last->point && !alike.last_time)
            alike.last_time = observed->time;
    }
    return alike;
}

/* Whether the packet is certainly a copy of the packet at the point `other`, and not a
 * retransmission over another interface: the sender gives each packet an IPv4 identification of its
 * own, or a router between the two points has changed the hop limit. */
static bool
is_told_apart(const smcr_ib_headers_t *roce, const alike_t *alike, uint32_t other)
{
    return roce->ip_id > 0 || roce->hop_limit != alike->hop_limit[other];
}

/* Whether the point `other` had more packets equal to the newest packet than its point `point` had
 * before it. */
static bool
has_more(const alike_t *alike, uint32_t other, uint32_t point)
{
    return other != point && alike->at[other] > alike->at[point];
}

/* Counts the newest packet as a transmission that `point` shares with another point, for each other
 * point that had more packets equal to it (has_more()). */
static void
note_shared(smcr_observed_path_t *path, const smcr_ib_headers_t *roce, const alike_t *alike,
            uint32_t point)
{
    for (uint32_t other = 0; other < SMCR_POINTS_MOST; other++) {
        if (!has_more(alike, other, point))
            continue;
        path->shared[MIN(point, other)][MAX(point, other)]++;
        path->proven[MIN(point, other)][MAX(point, other)] += is_told_apart(roce, alike, other);
    }
}

/* Whether the packet, which is equal to packets of other points, is certainly a copy: it has an
 * IPv4 identification; or other points had more packets equal to it than its own point, and it has
 * the hop limit of none of them. A packet with the hop limit of one of them may be a
 * retransmission, even if a router lies between its point and another one. */
static bool
is_told_apart_from_all(const smcr_ib_headers_t *roce, const alike_t *alike, uint32_t point)
{
    bool is_any = roce->ip_id > 0;

    for (uint32_t other = 0; other < SMCR_POINTS_MOST; other++) {
        if (!has_more(alike, other, point))
            continue;
        if (!is_told_apart(roce, alike, other))
            return false;
        is_any = true;
    }
    return is_any;
}

/* If the packet is a NAK or RNR NAK, notes its time. `is_back`: the packet is of way 1. */
static void
note_refusal(smcr_observed_path_t *path, const smcr_points_packet_t *packet, bool is_back)
{
    const smcr_ib_headers_t *roce = packet->roce;

    if (roce->has_aeth &&
        smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_KIND) != SMCR_IB_SYNDROME_ACK)
        path->refused[is_back] = packet->when.time;
}

/* Notes that the path's next packet has come at the point. If the packet before came at another
 * point, the two points have one change more (`turns`). */
static void
note_turn(smcr_observed_path_t *path, uint32_t point)
{
    uint32_t last = path->last_point - 1U; /* set if the path has a last point */

    if (path->last_point && last != point)
        path->turns[MIN(point, last)][MAX(point, last)]++;
    path->last_point = (uint8_t)(point + 1);
}

/* Whether a packet that is equal to an earlier packet at another point is a copy, and not a
 * retransmission over another interface, if it is not known whether the two points are points of
 * one path. Any of three conditions is enough: 1. the packet has an IPv4 identification other than
 * 0, the value that some adapters give to all packets; 2. its hop limit differs from those at all
 * points that had more equal packets, so routers lie between the points; 3. the packets come at
 * nearly the same time (COPY_DISTANCE), the receiver has refused none in between, the packet does
 * not follow a retransmission, and the point is not known to have other packets (is_refuted()). */
static bool
is_plausible_copy(const smcr_points_t *points, const smcr_points_packet_t *packet,
                  const alike_t *alike, uint32_t point)
{
    const smcr_observed_flow_t *flow = &points->flows[points->observed[points->count].flow];
    const smcr_observed_path_t *path = &points->paths[flow->path];
    uint64_t now = packet->when.time, then = alike->last_time;
    uint64_t distance = now > then ? now - then : then - now;
    bool is_refused = path->refused[!smcr_observed_is_back(points, flow)] > then;
    bool follows = flow->resent_at == point + 1 && flow->resent_next == packet->roce->psn;

    if (is_told_apart_from_all(packet->roce, alike, point))
        return true;
    return distance <= COPY_DISTANCE && !is_refused && !follows && !is_refuted(path, point);
}

/* Whether the user has given a list of points, and `one` comes before `other` in the list. */
static bool
is_preferred(const smcr_points_t *points, uint32_t one, uint32_t other)
{
    return points->list_length && one < other;
}

/* Whether the packet, which is the last observation, is a copy. `alike`: from count_alike(). If the
 * preferred point has packets of the flow, all packets of the flow at other points of the path are
 * copies. Otherwise a packet is a copy if more packets equal to it have counted than its point has
 * shown, and the points are of one path (`is_path`), or is_plausible_copy(). */
static bool
is_copy(const smcr_points_t *points, const smcr_points_packet_t *packet, const alike_t *alike)
{
    const smcr_observed_t *last = &points->observed[points->count];
    const smcr_observed_flow_t *flow = &points->flows[last->flow];
    const smcr_observed_path_t *path = &points->paths[flow->path];
    bool is_path = points->list_length || smcr_observed_share(path, path->preferred, last->point);

    if (path->preferred != last->point && is_path &&
        smcr_observed_has_flow(flow, path->preferred))
        return true;
    return alike->counting > alike->at[last->point] &&
           (is_path || is_plausible_copy(points, packet, alike, last->point));
}

/* Whether no point has shown the same traffic as the preferred point of a path. False if the user
 * has given a list of points. */
static bool
is_in_vain(smcr_points_t *points)
{
    if (points->list_length)
        return false;
    for (uint32_t i = 0; i < points->path_count; i++)
        for (uint32_t k = 0; k < points->point_count; k++)
            if (k != points->paths[i].preferred &&
                smcr_observed_share(&points->paths[i], points->paths[i].preferred, k))
                return false;
    return true;
}

/* Whether the packet is kept: its place is a capture point, the frame has no earlier packet, and
 * the points may have common traffic. When IN_VAIN packets are kept, decides once for the rest of
 * the capture whether the points have common traffic. */
static bool
is_kept(smcr_points_t *points, const smcr_points_packet_t *packet, uint32_t point)
{
    if (point == SMCR_POINTS_MOST ||
        (points->count && points->observed[points->count].frame == packet->when.frame))
        return false;
    if (points->count == IN_VAIN)
        points->is_in_vain |= is_in_vain(points);
    return !points->is_in_vain;
}

/* Appends an observation with the values of the packet, and returns it. Its flow, point and
 * identity are not set yet. */
static smcr_observed_t *
append(smcr_points_t *points, const smcr_points_packet_t *packet)
{
    const smcr_ib_headers_t *roce = packet->roce;

    if (points->count + 1 >= points->room) {
        points->room = points->room ? points->room * 2 : FIRST_ROOM;
        points->observed = wmem_realloc(points->scope, points->observed,
                                        points->room * sizeof *points->observed);
        rehash(points);
    }
    smcr_observed_t *observed = &points->observed[++points->count];
    *observed = (smcr_observed_t){
        .time = packet->when.time,
        .frame = packet->when.frame,
        .psn = roce->psn,
        .ip_id = roce->ip_id > 0 ? (uint16_t)roce->ip_id : 0,
        .fetched = roce->opcode == SMCR_RC_READ_REQUEST && roce->has_reth ? roce->dma_length : 0,
        .opcode = roce->opcode,
        .syndrome = roce->syndrome,
        .traffic_class = roce->traffic_class,
        .hop_limit = roce->hop_limit,
        .was_fragmented = roce->was_fragmented,
        .is_checked = roce->icrc != 0,
        .is_right = roce->icrc == 1 + SMCR_IB_ICRC_GOOD,
        .has_aeth = roce->has_aeth,
        .asks_ack = roce->asks_ack,
    };
    return observed;
}

/* The packet is compared with earlier packets, so its bucket of the hash table changes last. */
bool
smcr_points_take(smcr_points_t *points, const smcr_points_packet_t *packet)
{
    uint32_t point = smcr_observed_point(points, &packet->place, packet->when.time);

    if (!is_kept(points, packet, point))
        return false;
    uint64_t ends = ends_of(packet->roce), identity = identity_of(packet->roce, ends);
    uint32_t number = path_of(points, packet->roce, identity, point);
    if (!number)
        return false;
    smcr_observed_path_t *path = &points->paths[number - 1];
    smcr_observed_t *observed = append(points, packet);
    observed->flow = flow_of(points, packet->roce, ends, number - 1);
    observed->point = (uint8_t)point;
    observed->identity = identity;
    smcr_observed_flow_t *flow = &points->flows[observed->flow];
    alike_t alike = count_alike(points);
    if (path->preferred == SMCR_POINTS_MOST || is_preferred(points, point, path->preferred))
        path->preferred = (uint8_t)point;
    path->seen[point]++;
    bool is_back = smcr_observed_is_back(points, flow);
    path->ways[point] |= is_back ? 2 : 1;
    note_refusal(path, packet, is_back);
    note_turn(path, point);
    note_shared(path, packet->roce, &alike, point);
    flow->points |= 1U << point;
    if (smcr_ib_operations[packet->roce->opcode].is_first_or_middle)
        flow->mtu = (uint32_t)packet->roce->payload_length;
    observed->is_copy = is_copy(points, packet, &alike);
    if (!observed->is_copy && alike.counting > alike.at[point]) {
        flow->resent_at = (uint8_t)(point + 1);
        flow->resent_next = (observed->psn + 1) & SMCR_PSN_MASK;
    }
    uint32_t *bucket = bucket_of(points, identity);
    observed->previous = *bucket;
    *bucket = points->count;
    return observed->is_copy;
}

/* ---- damaged packets ---- */

/* Whether another point has shown the same damaged packet before, among the last
 * SMCR_POINTS_DAMAGED of them. If none has, the packet is kept for later ones. */
static bool
is_damaged_copy(smcr_points_t *points, uint64_t identity, uint32_t point)
{
    uint32_t kept = MIN(points->damaged_count, SMCR_POINTS_DAMAGED);

    for (uint32_t i = 0; i < kept; i++)
        if (points->damaged[i].identity == identity && points->damaged[i].point != point)
            return true;
    points->damaged[points->damaged_count++ % SMCR_POINTS_DAMAGED] =
        (smcr_observed_damaged_t){identity, point};
    return false;
}

/* Returns the number of the flow that the packet's headers name, if undamaged packets have shown
 * this flow before; 0: none has. `ends`: see ends_of(). A damaged packet adds no path and no flow,
 * since its addresses or its queue pair may be wrong. */
static uint32_t
known_flow_of(const smcr_points_t *points, const smcr_ib_headers_t *roce, uint64_t ends,
              uint32_t point)
{
    const smcr_ib_network_t *network = &roce->outer.network;
    uint64_t hosts = hosts_of(roce->source, roce->destination.gid);
    uint32_t first = smcr_observed_find(points->path_numbers, hosts);
    uint32_t number = find_path(points, first, is_here, network, point);

    number = number ? number : find_path(points, first, is_open, network, point);
    return number ? smcr_observed_find(points->flow_numbers, smcr_observed_mix(ends, number - 1))
                  : 0;
}

/* Whether the newest packet with the same headers at another point has an ICRC that was not
 * checked: that packet may be damaged, too. Only the last ALIKE_MOST of the bucket are compared. */
static bool
has_unchecked_copy(const smcr_points_t *points, uint64_t identity, uint32_t point)
{
    uint32_t left = ALIKE_MOST;

    for (uint32_t i = points->head_bits ? *bucket_of(points, identity) : 0; i && left--;
         i = points->observed[i].previous) {
        const smcr_observed_t *observed = &points->observed[i];
        if (observed->identity == identity && observed->point != point)
            return !observed->is_checked;
    }
    return false;
}

/* If its flow is known, the packet is kept, and compared with undamaged packets in the end
 * (damaged.c). It does not get into the hash table: no later packet is a copy of it. If nobody has
 * checked the ICRC of the same packet at another point, nothing shows that it was damaged between
 * the points: then it is taken as an undamaged packet is. */
bool
smcr_points_take_damaged(smcr_points_t *points, const smcr_points_packet_t *packet)
{
    uint32_t point = smcr_observed_point(points, &packet->place, packet->when.time);
    uint64_t ends = ends_of(packet->roce), identity = identity_of(packet->roce, ends);
    bool was_shown = is_damaged_copy(points, identity, point);
    uint32_t flow =
        point < SMCR_POINTS_MOST ? known_flow_of(points, packet->roce, ends, point) : 0;

    if (has_unchecked_copy(points, identity, point))
        return smcr_points_take(points, packet);
    if (!flow || !is_kept(points, packet, point))
        return was_shown;
    smcr_observed_t *observed = append(points, packet);
    observed->flow = flow - 1;
    observed->point = (uint8_t)point;
    observed->identity = identity;
    observed->is_copy = was_shown;
    observed->is_damaged = points->has_damaged = true;
    return was_shown;
}

/* smcr_points_take() keeps one packet of a frame at most, and may have kept none of this frame. A
 * damaged packet proves nothing about its flow. */
void
smcr_points_know(smcr_points_t *points, uint32_t frame, uint32_t source)
{
    const smcr_observed_t *last = points->count ? &points->observed[points->count] : NULL;

    if (!last || last->frame != frame || last->is_damaged)
        return;
    smcr_observed_flow_t *flow = &points->flows[last->flow];
    flow->is_known = true;
    points->paths[flow->path].is_known = true;
    if (source)
        flow->source_qpn = source;
}
