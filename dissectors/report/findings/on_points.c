/* Findings about packets that several capture points show, or should show: where packets are lost,
 * come out of order, or are marked; and points that contradict each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "subjects.h"

#include "report/words/words.h"

/* Display filters of the verdicts on packets that several capture points show (points/): of RoCE,
 * and of TCP. */
#define VERDICT_FILTERS(verdict)                                                                   \
    {"smcr.point.verdict == " verdict, "tcp && smcr.point.verdict == " verdict}
static const char *const lost_filters[] = VERDICT_FILTERS("1");
static const char *const after_filters[] = {
    "smcr.point.verdict == 2 || smcr.point.verdict == 3",
    "tcp && (smcr.point.verdict == 2 || smcr.point.verdict == 3)"};
static const char *const not_captured_filters[] = VERDICT_FILTERS("4");
static const char *const reordered_filters[] = VERDICT_FILTERS("5");
static const char *const marked_filters[] = VERDICT_FILTERS("6");
static const char *const damaged_filters[] = VERDICT_FILTERS("12");

/* Whether the way is of TCP segments; false: of RoCE packets. */
static bool
is_of_tcp(const smcr_entry_way_t *way)
{
    return way->transport == SMCR_FIGURE_TRANSPORT_TCP;
}

/* Returns "1 packet" or "3 packets", or for TCP "1 TCP segment" or "3 TCP segments". */
static const char *
packets_of(const smcr_finder_t *finder, const smcr_entry_way_t *way, uint64_t count)
{
    return smcr_words_things(finder->scope, count, is_of_tcp(way) ? "TCP segment" : "packet");
}

/* Returns the hosts of the way: "10.0.0.1 → 10.0.0.2". */
static const char *
hosts_of(const smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    return smcr_words_hosts(finder->scope, way->src, way->dst);
}

/* Whether two ways are of the same path, in whatever direction, and both of RoCE or both of TCP. */
static bool
is_of_path(const smcr_entry_way_t *way, const smcr_entry_way_t *other)
{
    bool is_same = g_strcmp0(way->src, other->src) == 0 && g_strcmp0(way->dst, other->dst) == 0;

    if (way->transport != other->transport)
        return false;
    return is_same ||
           (g_strcmp0(way->src, other->dst) == 0 && g_strcmp0(way->dst, other->src) == 0);
}

/* Returns how many packets were lost between all points of the path of which `way` is a part, in
 * both directions. */
static uint64_t
lost_on_path(const smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    uint64_t lost = 0;

    SMCR_FIGURE_EACH(way, other, finder->report->points)
        if (is_of_path(way, other))
            lost += other->lost;
    return lost;
}

/* Returns "17 of 41 lost packets vanish". */
static const char *
vanishing(const smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    uint64_t all = lost_on_path(finder, way);

    const char *lost = is_of_tcp(way) ? "lost TCP segment" : "lost packet";

    if (all == 1)
        return wmem_strdup_printf(finder->scope, "1 %s vanishes", lost);
    return wmem_strdup_printf(finder->scope, "%s of %s vanish",
                              smcr_words_number(finder->scope, way->lost),
                              smcr_words_things(finder->scope, all, lost));
}

/* Returns text about packets of the way's direction that are captured with a wrong ICRC, and are
 * not known to be damaged between the two points: "; 3 packets of this direction have a wrong
 * ICRC"; "": there are none. Each may be a packet that counts as lost: if the headers of a packet
 * are damaged, no value shows that it is the same packet. */
static const char *
damaged_text(const smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    uint64_t bad = 0;

    if (is_of_tcp(way))
        return "";
    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (flow->icrc && g_strcmp0(flow->src, way->src) == 0 &&
            g_strcmp0(flow->dst, way->dst) == 0)
            bad += smcr_figure_or_zero(flow->icrc->bad);
    if (bad <= way->damaged)
        return "";
    bad -= way->damaged;
    return wmem_strdup_printf(finder->scope, "; %s of this direction %s a wrong ICRC",
                              smcr_words_things(finder->scope, bad, "packet"),
                              bad == 1 ? "has" : "have");
}

/* Finding: packets were lost between two capture points. */
static void
find_between(smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    smcr_finder_facts_t facts = {.kind = SMCR_FIGURE_FOUND_LOST_BETWEEN,
                                 .count = way->lost,
                                 .when = way->lost_frame,
                                 .filter = lost_filters[is_of_tcp(way)]};

    smcr_finder_add(finder, &facts, "%s between %s and %s, %s%s", vanishing(finder, way),
                    way->from, way->to, hosts_of(finder, way), damaged_text(finder, way));
}

/* Finding: packets were damaged between two capture points. */
static void
find_damaged(smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    smcr_finder_facts_t facts = {.kind = SMCR_FIGURE_FOUND_DAMAGED_BETWEEN,
                                 .count = way->damaged,
                                 .when = way->damaged_frame,
                                 .filter = damaged_filters[is_of_tcp(way)]};

    smcr_finder_add(finder, &facts,
                    "%s of %s damaged between %s and %s, %s: the %s is right at the first, wrong "
                    "at the second",
                    smcr_words_number(finder->scope, facts.count),
                    packets_of(finder, way, way->packets), way->from, way->to,
                    hosts_of(finder, way), is_of_tcp(way) ? "TCP checksum" : "ICRC");
}

/* Finding: the last capture point has packets that their receiver did not get, or got out of order.
 * A NAK does not distinguish the two. If ICRCs are not checked, the last point may also have a
 * packet that was damaged before it. */
static void
find_after(smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    uint64_t count = way->lost_after + way->unanswered;
    smcr_finder_facts_t facts = {.kind = SMCR_FIGURE_FOUND_LOST_AFTER,
                                 .count = count,
                                 .when = way->lost_after_frame,
                                 .filter = after_filters[is_of_tcp(way)]};
    const char *answers = "";

    if (way->unanswered)
        answers = wmem_strdup_printf(finder->scope,
                                     "; for %s, perhaps only the acknowledgement was lost",
                                     smcr_words_number(finder->scope, way->unanswered));
    smcr_finder_add(finder, &facts, "%s lost or out of order after %s, which captured %s%s, %s%s",
                    packets_of(finder, way, count), way->to, count == 1 ? "it" : "them",
                    is_of_tcp(way) ? "" : smcr_finder_or_damaged(finder, ", or "),
                    hosts_of(finder, way), answers);
}

/* Returns "; eth0@B missed 3": packets that the other point of the way did not capture; "" if it
 * captured all. */
static const char *
missed_by_other_text(const smcr_finder_t *finder, const char *point, uint64_t count)
{
    if (!count)
        return "";
    return wmem_strdup_printf(finder->scope, "; %s missed %s", point,
                              smcr_words_number(finder->scope, count));
}

/* Finding: a capture point did not capture packets that passed it. Of the two points of the way,
 * the finding is about the one that missed more packets, and names the other one after it. */
static void
find_not_captured(smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    bool is_from = way->not_captured_from > way->not_captured_to;
    uint64_t count = is_from ? way->not_captured_from : way->not_captured_to;
    const char *other = is_from ? missed_by_other_text(finder, way->to, way->not_captured_to)
                                : missed_by_other_text(finder, way->from, way->not_captured_from);
    smcr_finder_facts_t facts = {.kind = SMCR_FIGURE_FOUND_POINT_MISSED,
                                 .count = count,
                                 .when = way->not_captured_frame,
                                 .filter = not_captured_filters[is_of_tcp(way)]};

    smcr_finder_add(finder, &facts,
                    "Capture point %s did not capture %s of %s that passed it, %s%s",
                    is_from ? way->from : way->to, smcr_words_number(finder->scope, count),
                    packets_of(finder, way, way->packets), hosts_of(finder, way), other);
}

/* Adds a finding about packets that change between two points: "3 of 120 packets marked CE between
 * eth1@A and eth0@B, 10.0.0.1 → 10.0.0.2". `what`: the change: "marked CE". */
static void
add_between(smcr_finder_t *finder, const smcr_finder_facts_t *facts, const smcr_entry_way_t *way,
            const char *what)
{
    smcr_finder_add(finder, facts, "%s of %s %s between %s and %s, %s",
                    smcr_words_number(finder->scope, facts->count),
                    packets_of(finder, way, way->packets), what, way->from, way->to,
                    hosts_of(finder, way));
}

/* Finding: packets came in order at one point, and out of order at the next point. */
static void
find_reordered(smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    smcr_finder_facts_t facts = {.kind = SMCR_FIGURE_FOUND_REORDERED_BETWEEN,
                                 .count = way->reordered,
                                 .when = way->reordered_frame,
                                 .filter = reordered_filters[is_of_tcp(way)]};

    add_between(finder, &facts, way, "out of order");
}

/* Finding: the network between two points marks packets. */
static void
find_marked(smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    smcr_finder_facts_t facts = {.kind = SMCR_FIGURE_FOUND_MARKED_BETWEEN,
                                 .count = way->marked_ce,
                                 .when = way->marked_frame,
                                 .filter = marked_filters[is_of_tcp(way)]};

    add_between(finder, &facts, way, "marked CE");
}

/* Finding: a router or firewall between two points changes or removes TCP options. Without its
 * option a connection does not use SMC-R. */
static void
find_options(smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    smcr_finder_facts_t facts = {.kind = SMCR_FIGURE_FOUND_OPTIONS_CHANGED,
                                 .count = way->options_changed,
                                 .when = way->options_frame,
                                 .filter = "smcr.point.verdict == 11"};

    smcr_finder_add(finder, &facts,
                    "TCP options of %s differ between %s and %s, %s: a device between the points "
                    "changes them",
                    smcr_words_things(finder->scope, facts.count, "handshake segment"), way->from,
                    way->to, hosts_of(finder, way));
}

/* Finding: the packets of two capture points contradict each other: their times show that both
 * points are one capture, or that a clock was set. The finding is made for one of the two
 * directions between the points: the one whose first point has the interface with the lower
 * number. */
static void
find_contradiction(smcr_finder_t *finder, const smcr_entry_way_t *way)
{
    smcr_finder_facts_t facts = {.kind = SMCR_FIGURE_FOUND_POINTS_CONTRADICT,
                                 .count = way->at_both};

    if (way->from_interface > way->to_interface)
        return;
    if (way->same_capture == SMCR_FIGURE_YES)
        smcr_finder_add(finder, &facts,
                        "Capture points %s and %s have the same packets at the same times: is it "
                        "one capture?",
                        way->from, way->to);
    else if (way->clocks_agree == SMCR_FIGURE_NO)
        smcr_finder_add(finder, &facts,
                        "The clocks of %s and %s contradict each other: one of them was set",
                        way->from, way->to);
}

/* Adds the findings about each way between two capture points. Each rule is called for each way,
 * also for a way without trouble: smcr_finder_add() adds no finding whose count is 0. The rules do
 * not depend on each other. findings.c sorts the findings later. */
void
smcr_finding_on_points(smcr_finder_t *finder)
{
    SMCR_FIGURE_EACH(way, way, finder->report->points) {
        find_between(finder, way);
        find_damaged(finder, way);
        find_after(finder, way);
        find_not_captured(finder, way);
        find_reordered(finder, way);
        find_marked(finder, way);
        find_options(finder, way);
        find_contradiction(finder, way);
    }
}
