/* Findings about TCP, with SMC-R and without: retransmitted segments, marks of congestion.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "subjects.h"

#include "report/words/words.h"

#define FEW_SEGMENTS 3 /* number of retransmitted segments from which on the finding is a note.
                          Fewer retransmissions may be needless: a timer that is too short makes a
                          host retransmit segments that had arrived */

#define LONG_TCP_WAIT (500 * SMCR_TIME_MILLISECOND) /* lowest time, nanoseconds, for which a
                                                       connection waits for retransmissions, that
                                                       counts as cost */

/* Sums over all TCP connections. */
typedef struct {
    bool has_points;                         /* TCP is captured at several points */
    uint64_t all;                            /* segments of all directions that have
                                                retransmissions */
    uint64_t segments;                       /* segments with data, of all connections */
    uint64_t congested;                      /* segments with data of the directions that are
                                                marked, or whose receiver echoes marks */
    uint64_t retransmitted;                  /* segments that were retransmitted */
    uint64_t twice;                          /* of these, segments that arrived twice, as D-SACKs
                                                report */
    uint64_t marked;                         /* segments marked CE */
    uint64_t echoed;                         /* segments with the echo of a mark (ECE) */
    unsigned congested_directions;           /* number of directions with marks or echoes */
    uint64_t answered;                       /* segments of the receivers of these directions */
    unsigned lossy_flows;                    /* number of connections with retransmissions */
    unsigned lossy_directions;               /* number of their directions with retransmissions */
    smcr_entry_tcp_t first_congested; /* connection whose `src` sends in the first direction with
                                         marks or echoes; set with `congested_directions` */
    smcr_entry_tcp_t first_lossy;            /* first connection with retransmissions, whose `src`
                                                has retransmitted; set with `lossy_flows` */
} tcp_sum_t;

/* Returns the connection, with the sender of the direction as `src`. */
static smcr_entry_tcp_t
ends_of(const smcr_entry_tcp_t *flow, bool is_up)
{
    return (smcr_entry_tcp_t){.src = is_up ? flow->src : flow->dst,
                              .src_port = is_up ? flow->src_port : flow->dst_port,
                              .dst = is_up ? flow->dst : flow->src,
                              .dst_port = is_up ? flow->dst_port : flow->src_port};
}

/* Returns how many retransmitted segments of the direction arrived twice, as D-SACKs report. A
 * receiver also sends a D-SACK for a duplicate made by the network, so these are subtracted. If the
 * capture has several points, the second point shows each segment once more; such duplicates are
 * not of the network. With three or more points too many are subtracted: then fewer segments count
 * as arrived twice than did. */
static uint64_t
came_twice(const tcp_sum_t *sum, const smcr_entry_tcp_direction_t *direction)
{
    uint64_t copies = smcr_figure_or_zero(direction->copies);
    uint64_t dsacks = smcr_figure_or_zero(direction->dsacks);
    uint64_t of_points = sum->has_points ? smcr_figure_or_zero(direction->segments) : 0;
    uint64_t of_network = copies > of_points ? copies - of_points : 0;

    return dsacks > of_network ? dsacks - of_network : 0;
}

/* Adds the segments of one direction to the sums. `all` counts those of the directions with
 * retransmissions. */
static void
add_segments(tcp_sum_t *sum, const smcr_entry_tcp_t *flow, bool is_up)
{
    const smcr_entry_tcp_direction_t *direction = is_up ? &flow->up : &flow->down;
    uint64_t retransmitted = smcr_figure_or_zero(direction->repeated_segments);

    sum->retransmitted += retransmitted;
    sum->twice += MIN(retransmitted, came_twice(sum, direction));
    sum->segments += smcr_figure_or_zero(direction->data_segments);
    if (!retransmitted)
        return;
    if (!sum->lossy_directions++)
        sum->first_lossy = ends_of(flow, is_up);
    sum->all += smcr_figure_or_zero(direction->segments);
}

/* Adds the marks of one direction of the connection `flow` to the sums. The receiver of the
 * direction echoes its marks: `echo` is the other direction. */
static void
add_marks(tcp_sum_t *sum, const smcr_entry_tcp_t *flow, bool is_up)
{
    const smcr_entry_tcp_direction_t *direction = is_up ? &flow->up : &flow->down;
    const smcr_entry_tcp_direction_t *echo = is_up ? &flow->down : &flow->up;
    uint64_t marked = smcr_figure_or_zero(direction->ce);
    uint64_t echoed = smcr_figure_or_zero(echo->ece);

    if (!marked && !echoed)
        return;
    sum->marked += marked;
    sum->echoed += echoed;
    sum->congested += smcr_figure_or_zero(direction->data_segments);
    sum->answered += smcr_figure_or_zero(echo->segments);
    if (sum->congested_directions++)
        return;
    sum->first_congested = ends_of(flow, is_up);
}

/* Returns the sums over all TCP connections, the first connection with retransmissions, and the
 * first connection with marks or echoes. */
static tcp_sum_t
sum_tcp_flows(const smcr_finder_t *finder)
{
    tcp_sum_t sum = {0};

    SMCR_FIGURE_EACH (way, way, finder->report->points)
        sum.has_points |= way->transport == SMCR_FIGURE_TRANSPORT_TCP;
    SMCR_FIGURE_EACH (tcp, flow, finder->report->tcp_flows) {
        uint64_t before = sum.retransmitted;
        add_segments(&sum, flow, true);
        add_segments(&sum, flow, false);
        add_marks(&sum, flow, true);
        add_marks(&sum, flow, false);
        sum.lossy_flows += sum.retransmitted > before;
    }
    return sum;
}

/* Returns the name of a direction of a connection: "10.0.0.1:46464 → 10.0.0.2:80". */
static const char *
name_of_flow(const smcr_finder_t *finder, const smcr_entry_tcp_t *flow)
{
    smcr_entry_connection_t conn = {.client = {flow->src, flow->src_port},
                                    .server = {flow->dst, flow->dst_port}};

    return smcr_words_connection(finder->scope, &conn);
}

/* Returns the counts of marks and echoes. If the capture has no data segments of the marked
 * directions, or no segments of their receivers, the text says so. */
static const char *
congestion_text(const smcr_finder_t *finder, const tcp_sum_t *sum)
{
    const char *echoes = wmem_strdup_printf(
        finder->scope, "the receiver sent %s with ECE",
        smcr_words_things(finder->scope, sum->echoed, "segment"));

    if (!sum->answered)
        echoes = "the segments of the receiver are not captured";
    if (!sum->congested)
        return wmem_strdup_printf(finder->scope, "%s; the marked segments are not captured",
                                  echoes);
    return wmem_strdup_printf(finder->scope, "%s of %s marked CE; %s",
                              smcr_words_number(finder->scope, sum->marked),
                              smcr_words_things(finder->scope, sum->congested, "data segment"),
                              echoes);
}

/* Finding: congestion of TCP. Routers mark segments with CE, and the receiver echoes the mark with
 * ECE (RFC 3168). An echo without a captured mark proves that a router downstream of the capture
 * point has marked a segment. */
static void
find_tcp_congestion(smcr_finder_t *finder, const tcp_sum_t *sum)
{
    wmem_array_t *frames = smcr_finder_frames(finder);
    smcr_when_t marked = smcr_finder_notice(finder, "ip.dsfield.ecn == 3 && tcp").first;
    const char *name;

    if (!sum->congested_directions)
        return;
    smcr_finder_frames_add_notices(finder, frames, "ip.dsfield.ecn == 3 && tcp");
    if (!marked.frame)
        smcr_finder_frames_add_notices(finder, frames, "tcp.flags.ece == 1");
    name = name_of_flow(finder, &sum->first_congested);
    if (sum->congested_directions > 1)
        name = wmem_strdup_printf(
            finder->scope, "%s and %s", name,
            smcr_words_things(finder->scope, sum->congested_directions - 1, "more direction"));
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){
                        .kind = SMCR_FIGURE_FOUND_TCP_CONGESTION,
                        .count = sum->marked + sum->echoed,
                        .when = marked.frame
                                    ? marked
                                    : smcr_finder_notice(finder, "tcp.flags.ece == 1").first,
                        .frames = frames,
                        .filter =
                            "tcp.flags.syn == 0 && tcp.flags.fin == 0 && "
                            "(ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3 || tcp.flags.ece == 1)"},
                    "TCP congestion, %s: %s", name, congestion_text(finder, sum));
}

/* Returns whose segments were retransmitted: "from 10.0.0.1:46464 to 10.0.0.2:80" if only one
 * direction of a connection has retransmissions; else "between 10.0.0.1:46464 and 10.0.0.2:80 and
 * on 2 more connections". */
static const char *
lossy_text(const smcr_finder_t *finder, const tcp_sum_t *sum)
{
    wmem_allocator_t *scope = finder->scope;
    const smcr_entry_tcp_t *first = &sum->first_lossy;
    const char *src = smcr_words_endpoint(
        scope, &(smcr_entry_endpoint_t){first->src, first->src_port});
    const char *dst = smcr_words_endpoint(
        scope, &(smcr_entry_endpoint_t){first->dst, first->dst_port});

    if (sum->lossy_directions == 1)
        return wmem_strdup_printf(scope, "from %s to %s", src, dst);
    if (sum->lossy_flows == 1)
        return wmem_strdup_printf(scope, "between %s and %s", src, dst);
    return wmem_strdup_printf(
        scope, "between %s and %s and on %s", src, dst,
        smcr_words_things(scope, sum->lossy_flows - 1, "more connection"));
}

/* Returns "; waited 7.00 s in all, at most 800 ms for a retransmission (frame 21)"; "" if no
 * connection waited for LONG_TCP_WAIT in all. `is_only`: no other connection has
 * retransmissions. */
static const char *
wait_text(const smcr_finder_t *finder, const smcr_figure_notice_t *wait, bool is_only)
{
    if (wait->waited < LONG_TCP_WAIT)
        return "";
    return wmem_strdup_printf(finder->scope,
                              "; %s %s in all, at most %s for a retransmission "
                              "(frame %" PRIu32 ")",
                              is_only ? "waited" : "one connection waited",
                              smcr_words_duration(finder->scope, wait->waited),
                              smcr_words_duration(finder->scope, wait->longest),
                              wait->first.frame);
}

/* Returns text about retransmitted segments that arrived twice: "; each arrived twice, as D-SACKs
 * report: none was lost"; "" if D-SACKs report none. */
static const char *
twice_text(const smcr_finder_t *finder, const tcp_sum_t *sum)
{
    if (!sum->twice)
        return "";
    if (sum->twice == sum->retransmitted)
        return "; each arrived twice, as D-SACKs report: none was lost";
    return wmem_strdup_printf(finder->scope, "; %s of them arrived twice, as D-SACKs report",
                              smcr_words_number(finder->scope, sum->twice));
}

/* Finding: losses of TCP. The finding is made if 0.2 % or more of the data segments were
 * retransmitted, since a lower rate is normal for TCP. The finding is a note; below FEW_SEGMENTS
 * retransmitted segments it is for information, unless a connection waited for LONG_TCP_WAIT. With
 * such a wait the finding is of the class of lost time, otherwise it is a risk. Segments that
 * arrived twice are not lost, and do not count for FEW_SEGMENTS. */
static void
find_tcp_losses(smcr_finder_t *finder, const tcp_sum_t *sum)
{
    smcr_figure_notice_t wait = smcr_finder_notice(finder, SMCR_FIGURE_TCP_WAIT_FILTER);
    smcr_when_t first = smcr_finder_notice(finder, "tcp.analysis.retransmission").first;
    bool is_long = wait.waited >= LONG_TCP_WAIT;
    const char *filter =
        "tcp.analysis.retransmission || tcp.analysis.fast_retransmission || "
        "tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order";

    if (!sum->lossy_flows || sum->retransmitted * 500 < sum->segments) /* `retransmitted` includes
                                                                          SYNs and FINs, `segments`
                                                                          only has segments with
                                                                          data */
        return;
    bool is_note = is_long || sum->retransmitted >= sum->twice + FEW_SEGMENTS;
    smcr_finder_add_as(
        finder, is_note ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO,
        &(smcr_finder_facts_t){
            .kind = SMCR_FIGURE_FOUND_TCP_LOSS,
            .count = sum->retransmitted,
            .when = is_long ? wait.first : first,
            .rank = is_long ? SMCR_FINDING_BY_TCP_WAIT : 0,
            .cost = is_long ? wait.waited : 0,
            .frames = SMCR_FINDER_FRAMES(finder, first, wait.first),
            .filter = is_long ? smcr_finder_frame_or(finder, wait.first, filter) : filter},
        "%s of %s %s retransmitted%s%s", smcr_words_number(finder->scope, sum->retransmitted),
        smcr_words_things(finder->scope, sum->all, "TCP segment"), lossy_text(finder, sum),
        twice_text(finder, sum), wait_text(finder, &wait, sum->lossy_flows == 1));
}

void
smcr_finding_on_tcp(smcr_finder_t *finder)
{
    tcp_sum_t sum = sum_tcp_flows(finder);

    find_tcp_losses(finder, &sum);
    find_tcp_congestion(finder, &sum);
}
