/* Takes TCP segments while the file is read, and cuts them into parts for a comparison.
 *
 * The same bytes may be one segment at one point and several at another: the adapter of the sender
 * divides large segments (TSO), and the kernel of the receiver merges small ones (GRO). So the
 * segments of a flow are cut at each sequence number at which any segment begins or ends. A part
 * then has the same bytes at each point, and is compared as a RoCE packet is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "observed_tcp.h"

#define PARTS_OF_SEGMENT 512 /* highest number of parts of a segment: the largest ones have 512 KiB
                                (BIG TCP), and parts about 1448 bytes. A segment with more of them
                                is not cut */
#define PARTS_FACTOR 8  /* highest number of parts for each segment of a capture, on average.
                           Further segments are not cut */

#define IN_VAIN 262144 /* number of segments after which no more are kept, if no connection was
                          captured at two points */

/* A connection that is not taken: the number that `flow_numbers` has for its two flows, and the
 * index that flow_of() returns. */
#define REFUSED UINT32_MAX
#define FLOW_REFUSED (REFUSED - 1)

/* ---- taking segments ---- */

/* Returns the struct of the TCP segments. Makes it at the first call. */
static smcr_points_t *
begin_tcp(smcr_points_t *points)
{
    if (!points->tcp) {
        points->tcp = smcr_points_new(points->scope, NULL, 0);
        points->tcp->is_tcp = true;
    }
    return points->tcp;
}

/* Adds the flow of the segment's connection from the end `sender`, an index of `segment->gid`, to
 * the other end. `path`: index of the path of both directions. */
static void
add_flow(smcr_points_t *points, const smcr_points_tcp_segment_t *segment, unsigned sender,
         uint32_t path)
{
    if (points->flow_count == points->flow_room)
        points->flows = smcr_observed_grow(points->scope, points->flows, &points->flow_room,
                                           sizeof *points->flows);
    smcr_observed_flow_t *flow = &points->flows[points->flow_count++];
    flow->destination.qpn = flow->source_qpn = segment->connection + 1;
    memcpy(flow->destination.gid, segment->gid[!sender], SMCR_GID_LENGTH);
    memcpy(flow->source, segment->gid[sender], SMCR_GID_LENGTH);
    flow->path = path;
    flow->is_known = true;
}

/* Adds the two flows of the segment's connection: the segment's flow, then the reverse flow.
 * smcr_chain_answers_of() relies on their indexes: n and n + 1, n even. */
static void
add_flows(smcr_points_t *points, const smcr_points_tcp_segment_t *segment)
{
    uint32_t path = smcr_observed_path(points, segment->gid[0], segment->gid[1]) - 1;

    add_flow(points, segment, 0, path);
    add_flow(points, segment, 1, path);
}

void
smcr_points_take_plain(smcr_points_t *points)
{
    points->takes_plain = true;
}

/* Whether the plain connection of the segment is taken: all are, or its hosts have had an SMC-R
 * connection or RoCE packets. This is decided at the connection's first segment in the file: if
 * only later segments were taken, a point whose packets come earlier in the file would seem to miss
 * them. */
static bool
is_plain_taken(const smcr_points_t *all, const smcr_points_tcp_segment_t *segment)
{
    return all->takes_plain || smcr_observed_has_path(all, segment->gid[0], segment->gid[1]) ||
           smcr_observed_has_path(all->tcp, segment->gid[0], segment->gid[1]);
}

/* Returns the index of the segment's flow, which is added with the reverse flow if it is new;
 * FLOW_REFUSED: the segment's connection is not taken. */
static uint32_t
flow_of(const smcr_points_t *all, const smcr_points_tcp_segment_t *segment)
{
    smcr_points_t *points = all->tcp;
    uint64_t key = smcr_observed_mix_gid(segment->connection, segment->gid[0]);
    uint64_t back = smcr_observed_mix_gid(segment->connection, segment->gid[1]);
    uint32_t known = smcr_observed_find(points->flow_numbers, key);
    bool is_new = !known || (known == REFUSED && !segment->is_plain);

    if (!is_new)
        return known - 1;
    bool is_refused = segment->is_plain && !is_plain_taken(all, segment);
    uint32_t number = is_refused ? REFUSED : points->flow_count + 1;
    smcr_observed_set(points->flow_numbers, points->scope, key, number);
    smcr_observed_set(points->flow_numbers, points->scope, back, number + !is_refused);
    if (!is_refused)
        add_flows(points, segment);
    return number - 1;
}

/* Notes that a point has shown the flow. */
static void
note_point(smcr_points_t *points, uint32_t number, uint32_t point)
{
    smcr_observed_flow_t *flow = &points->flows[number];
    smcr_observed_path_t *path = &points->paths[flow->path];

    flow->points |= 1U << point;
    path->ways[point] |= smcr_observed_is_back(points, flow) ? 2 : 1;
    path->is_known = true;
    if (path->preferred == SMCR_POINTS_MOST)
        path->preferred = (uint8_t)point;
}

/* Whether no two points have shown segments of the same flow. */
static bool
share_nothing(const smcr_points_t *points)
{
    for (uint32_t i = 0; i < points->flow_count; i++)
        if (points->flows[i].points & (points->flows[i].points - 1))
            return false;
    return true;
}

/* Whether segments are still kept. When IN_VAIN of them are kept, decides once for the rest of the
 * capture whether points have common traffic. */
static bool
is_kept(smcr_points_t *tcp)
{
    if (tcp->segment_count == IN_VAIN && share_nothing(tcp))
        tcp->is_in_vain = true;
    return !tcp->is_in_vain;
}

/* After IN_VAIN segments without a connection that two points share, no further segment is kept. */
bool
smcr_points_take_tcp(smcr_points_t *points, const smcr_points_tcp_segment_t *segment)
{
    if (smcr_gid_is_same(segment->gid[0], segment->gid[1]))
        return false;
    smcr_points_t *tcp = begin_tcp(points);
    uint32_t flow = is_kept(tcp) ? flow_of(points, segment) : FLOW_REFUSED;
    if (flow == FLOW_REFUSED)
        return false;
    uint32_t point = smcr_observed_point(points, &segment->place, segment->when.time);
    if (point == SMCR_POINTS_MOST)
        return false;
    if (tcp->segment_count == tcp->segment_room)
        tcp->segments = smcr_observed_grow(tcp->scope, tcp->segments, &tcp->segment_room,
                                           sizeof *tcp->segments);
    tcp->segments[tcp->segment_count++] = (smcr_observed_segment_t){
        .tcp = *segment->tcp,
        .time = segment->when.time,
        .frame = segment->when.frame,
        .flow = flow,
        .point = (uint8_t)point,
    };
    note_point(tcp, flow, point);
    return tcp->flows[flow].points == 1U << point;
}

/* ---- connections behind NAT ---- */

/* Makes the flow `copy` a copy of the flow `original`, and notes that the points of the copy have
 * shown the original. Both are indexes of flows. */
static void
join_flow(smcr_points_t *points, uint32_t copy, uint32_t original)
{
    uint32_t shown = points->flows[copy].points;

    points->flows[copy].original = original + 1;
    for (uint32_t i = 0; i < SMCR_POINTS_MOST; i++)
        if (shown >> i & 1)
            note_point(points, original, i);
}

/* Returns the index of the segment's flow. If the connection was not taken, the index is higher
 * than that of any flow. */
static uint32_t
taken_flow_of(const smcr_points_t *points, const smcr_points_tcp_segment_t *segment)
{
    uint64_t key = smcr_observed_mix_gid(segment->connection, segment->gid[0]);

    return smcr_observed_find(points->flow_numbers, key) - 1;
}

/* Returns the index of the flow that the flow `index` is a copy of, after any number of copies;
 * `index` itself if it is no copy. */
static uint32_t
last_original(const smcr_points_t *points, uint32_t index)
{
    while (points->flows[index].original)
        index = points->flows[index].original - 1;
    return index;
}

/* The two flows of a connection have the indexes n and n + 1, n even. A flow is never a copy of one
 * of its own copies. */
void
smcr_points_join_tcp(smcr_points_t *points, const smcr_points_tcp_segment_t *copy,
                     const smcr_points_tcp_segment_t *original)
{
    smcr_points_t *tcp = points->tcp;
    uint32_t own = taken_flow_of(tcp, copy), first = taken_flow_of(tcp, original);

    if (MAX(own, first) >= tcp->flow_count)
        return;
    own = last_original(tcp, own);
    first = last_original(tcp, first);
    if (own == first)
        return;
    join_flow(tcp, own, first);
    join_flow(tcp, own ^ 1, first ^ 1);
}

/* Moves all segments of copies to the flows of their originals. */
static void
move_translated(smcr_points_t *points)
{
    for (uint32_t i = 0; i < points->segment_count; i++)
        points->segments[i].flow = last_original(points, points->segments[i].flow);
}

/* ---- cutting segments into parts ---- */

/* The segments of a capture, while they are cut. */
typedef struct {
    smcr_points_t *points; /* the struct of the TCP segments */
    uint64_t *from;      /* by segment: its sequence number, unwrapped */
    GArray **cuts;       /* by flow: where its segments begin and end, unwrapped sequence numbers
                            (uint64_t), in ascending order; NULL: no segment of it takes a sequence
                            number */
    uint64_t most;       /* if there are more parts than this, further segments stay whole */
} cutting_t;

/* Returns how many sequence numbers the segment takes. */
static uint32_t
span_of(const smcr_points_tcp_t *tcp)
{
    return tcp->length + ((tcp->flags & SMCR_POINTS_TCP_SYN) != 0) +
           ((tcp->flags & SMCR_POINTS_TCP_FIN) != 0);
}

static int
compare_numbers(const void *one, const void *other)
{
    const uint64_t *a = one, *b = other;

    return *a < *b ? -1 : *a > *b;
}

/* Keeps each of the sorted numbers once. */
static void
keep_once(GArray *numbers)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < numbers->len; i++) {
        uint64_t each = g_array_index(numbers, uint64_t, i);
        if (!kept || g_array_index(numbers, uint64_t, kept - 1) != each)
            g_array_index(numbers, uint64_t, kept++) = each;
    }
    g_array_set_size(numbers, kept);
}

/* Adds beginning and end of a segment to the cuts of its flow, unless it takes no sequence numbers
 * (`span` is 0). */
static void
add_cuts(cutting_t *cutting, uint32_t flow, uint64_t from, uint32_t span)
{
    GArray **cuts = &cutting->cuts[flow];
    const uint64_t both[2] = {from, from + span};

    if (!span)
        return;
    if (!*cuts)
        *cuts = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    g_array_append_vals(*cuts, both, 2);
}

/* Unwraps the sequence numbers of all segments, each near the number before it in its flow.
 * Collects the cuts of all flows: of each flow in ascending order, each cut once. */
static void
find_cuts(cutting_t *cutting)
{
    const uint64_t first = UINT64_C(1) << 62; /* so that no number falls below 0 */
    smcr_points_t *points = cutting->points;
    uint64_t *near = g_new0(uint64_t, points->flow_count + 1); /* by flow: unwrapped sequence number
                                                                  of its last segment; 0: none */

    for (uint32_t i = 0; i < points->segment_count; i++) {
        const smcr_observed_segment_t *segment = &points->segments[i];
        uint64_t last = near[segment->flow], seq = segment->tcp.seq;
        uint64_t from =
            last ? last + (uint64_t)(int64_t)(int32_t)(segment->tcp.seq - (uint32_t)last)
                 : first + seq;
        near[segment->flow] = cutting->from[i] = from;
        add_cuts(cutting, segment->flow, from, span_of(&segment->tcp));
    }
    for (uint32_t i = 0; i < points->flow_count; i++) {
        if (cutting->cuts[i]) {
            g_array_sort(cutting->cuts[i], compare_numbers);
            keep_once(cutting->cuts[i]);
        }
    }
    g_free(near);
}

/* Returns the sequence number of a cut. A function of type smcr_sorted_key_t. */
static uint64_t
number_of(const void *cuts, uint32_t index)
{
    return g_array_index((const GArray *)cuts, uint64_t, index);
}

/* Returns the index of the cut at the sequence number `from`, which the array has. */
static unsigned
cut_at(const GArray *cuts, uint64_t from)
{
    return smcr_sorted_first(cuts, cuts->len, number_of, from);
}

/* Returns the hash of all values of a part that are the same at each point. If the part takes
 * sequence numbers, acknowledgement, echoed time stamp, window and SACK blocks do not count: a host
 * that merges segments replaces them by those of another segment. A retransmission most often has
 * another time stamp, so its hash differs. The time stamp of a SYN or SYN-ACK does not count: one
 * point may have truncated it, or a device between the points may have removed it. */
static uint64_t
identity_of(const smcr_observed_segment_t *segment, uint64_t from, uint32_t span)
{
    const smcr_points_tcp_t *tcp = &segment->tcp;
    uint64_t hash = smcr_observed_mix(smcr_observed_mix(segment->flow, from), span);
    unsigned flags = tcp->flags & (SMCR_POINTS_TCP_SYN | SMCR_POINTS_TCP_RST);

    uint64_t stamp = tcp->flags & SMCR_POINTS_TCP_SYN ? 0 : tcp->tsval;

    hash = smcr_observed_mix(hash, stamp << 32 | flags);
    if (span)
        return hash;
    hash = smcr_observed_mix(hash, (uint64_t)tcp->ack << 32 | tcp->tsecr);
    hash = smcr_observed_mix(hash, (uint64_t)tcp->flags << 32 | tcp->window);
    for (unsigned i = 0; i < SMCR_POINTS_SACKS; i++)
        hash = smcr_observed_mix(hash, (uint64_t)tcp->sack[i].left << 32 | tcp->sack[i].right);
    return hash;
}

/* Appends a part of the segment with the index `number`: `span` sequence numbers from the unwrapped
 * number `from` on. The first observation has the index 1. */
static void
add_part(smcr_points_t *points, uint32_t number, uint64_t from, uint32_t span)
{
    const smcr_observed_segment_t *segment = &points->segments[number];

    if (points->count + 1 >= points->room)
        points->observed = smcr_observed_grow(points->scope, points->observed, &points->room,
                                              sizeof *points->observed);
    points->observed[++points->count] = (smcr_observed_t){
        .time = segment->time,
        .identity = identity_of(segment, from, span),
        .frame = segment->frame,
        .flow = segment->flow,
        .psn = (uint32_t)from,
        .fetched = span,
        .segment = number,
        .point = segment->point,
        .traffic_class = segment->tcp.traffic_class,
        .hop_limit = segment->tcp.hop_limit,
    };
    points->paths[points->flows[segment->flow].path].seen[segment->point]++;
}

/* Cuts the segment with the index `number` into parts, so that equal bytes are equal parts at all
 * points. A segment stays whole if it or the capture has too many parts. A segment without data,
 * SYN and FIN is one part of length 0. */
static void
cut_segment(cutting_t *cutting, uint32_t number)
{
    smcr_points_t *points = cutting->points;
    const smcr_observed_segment_t *segment = &points->segments[number];
    const GArray *cuts = cutting->cuts[segment->flow];
    uint64_t from = cutting->from[number];
    uint32_t span = span_of(&segment->tcp);

    if (!span) {
        add_part(points, number, from, 0);
        return;
    }
    unsigned begin = cut_at(cuts, from), end = cut_at(cuts, from + span);
    bool is_too_much = end - begin > PARTS_OF_SEGMENT || points->count > cutting->most;
    for (unsigned i = begin; i < end && !is_too_much; i++) {
        uint64_t at = g_array_index(cuts, uint64_t, i);
        add_part(points, number, at, (uint32_t)(g_array_index(cuts, uint64_t, i + 1) - at));
    }
    if (is_too_much)
        add_part(points, number, from, span);
}

/* ---- which points show the same traffic ---- */

/* The parts with one identity, at one point. */
typedef struct {
    uint32_t count;               /* their number */
    const smcr_observed_t *first; /* the first of them; set if `count` */
} equal_parts_t;

/* Compares indexes of observations for sorting, by identity. Equal parts then stand side by
 * side. */
static int
compare_identities(const void *one, const void *other, void *context)
{
    const smcr_observed_t *observed = context;
    uint64_t a = observed[*(const uint32_t *)one].identity;
    uint64_t b = observed[*(const uint32_t *)other].identity;

    return a < b ? -1 : a > b;
}

/* Whether two equal parts at two points are certainly one transmission, and not a retransmission
 * over another interface: a retransmission has another time stamp or another identification, and a
 * router lowers the hop limit. */
static bool
is_proven(const smcr_points_t *points, const smcr_observed_t *one, const smcr_observed_t *other)
{
    const smcr_points_tcp_t *a = &points->segments[one->segment].tcp;
    const smcr_points_tcp_t *b = &points->segments[other->segment].tcp;

    return a->has_timestamps || a->hop_limit != b->hop_limit ||
           (a->seq == b->seq && a->ip_id > 0 && a->ip_id == b->ip_id);
}

/* Counts the transmissions that the points `one` and `other` have in common, of the parts with one
 * identity. `one` is lower than `other`. `alike`: by point: these parts. */
static void
note_shared(smcr_points_t *points, const equal_parts_t alike[SMCR_POINTS_MOST], uint32_t one,
            uint32_t other)
{
    uint32_t common = MIN(alike[one].count, alike[other].count);

    if (!common)
        return;
    smcr_observed_path_t *path = &points->paths[points->flows[alike[one].first->flow].path];
    path->shared[one][other] += common;
    if (is_proven(points, alike[one].first, alike[other].first))
        path->proven[one][other] += common;
}

/* Counts what each pair of points has in common, of the parts with one identity. `alike`: by point:
 * these parts. */
static void
note_all_shared(smcr_points_t *points, const equal_parts_t alike[SMCR_POINTS_MOST])
{
    for (uint32_t one = 0; one < points->point_count; one++)
        for (uint32_t other = one + 1; other < points->point_count; other++)
            note_shared(points, alike, one, other);
}

/* Counts the parts that points have in common: sorted by identity, equal parts of all points lie
 * side by side. */
static void
count_shared(smcr_points_t *points)
{
    uint32_t *order = g_new(uint32_t, points->count + 1);
    const smcr_observed_t *observed = points->observed;

    for (uint32_t i = 0; i < points->count; i++)
        order[i] = i + 1;
    if (points->count)
        g_qsort_with_data(order, (int)points->count, sizeof *order, compare_identities,
                          points->observed);
    for (uint32_t at = 0, end; at < points->count; at = end) {
        equal_parts_t alike[SMCR_POINTS_MOST] = {{0, NULL}};
        uint64_t identity = observed[order[at]].identity;
        for (end = at; end < points->count && observed[order[end]].identity == identity; end++) {
            equal_parts_t *here = &alike[observed[order[end]].point];
            here->first = here->count++ ? here->first : &observed[order[end]];
        }
        note_all_shared(points, alike);
    }
    g_free(order);
}

/* ---- all of it ---- */

/* Copies the points from `all`, and removes all parts and counts of the last comparison. */
static void
begin_parts(smcr_points_t *points, const smcr_points_t *all)
{
    memcpy(points->places, all->places, sizeof points->places);
    memcpy(points->is_found, all->is_found, sizeof points->is_found);
    memcpy(points->begin, all->begin, sizeof points->begin);
    memcpy(points->end, all->end, sizeof points->end);
    points->point_count = all->point_count;
    points->count = 0;
    for (uint32_t i = 0; i < points->path_count; i++) {
        smcr_observed_path_t *path = &points->paths[i];
        memset(path->seen, 0, sizeof path->seen);
        memset(path->shared, 0, sizeof path->shared);
        memset(path->proven, 0, sizeof path->proven);
    }
}

/* All cuts are found before the first segment is cut, since a part has to be the same at each
 * point. */
void
smcr_observed_cut(smcr_points_t *points, const smcr_points_t *all)
{
    cutting_t cutting = {
        .points = points,
        .from = g_new(uint64_t, points->segment_count + 1),
        .cuts = g_new0(GArray *, points->flow_count + 1),
        .most = (uint64_t)points->segment_count * PARTS_FACTOR,
    };

    move_translated(points);
    begin_parts(points, all);
    find_cuts(&cutting);
    for (uint32_t i = 0; i < points->segment_count; i++)
        cut_segment(&cutting, i);
    count_shared(points);
    for (uint32_t i = 0; i < points->flow_count; i++)
        if (cutting.cuts[i])
            g_array_free(cutting.cuts[i], TRUE);
    g_free(cutting.from);
    g_free(cutting.cuts);
}
