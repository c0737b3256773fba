/* Findings about the classes in which packets of RDMA flows go: DSCP, VLAN priority and ECN; and
 * about PAUSE and PFC frames, which stop classes.
 *
 * A class decides which queue of a switch a packet gets, whether PFC stops it, and whether it gets
 * a mark CE. Data and acknowledgements of a queue pair have one class, which the application or the
 * administrator chooses. CNPs should have a class of their own with a higher priority, as they are
 * to arrive when data waits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "subjects.h"

#include "report/pause/pause.h"
#include "report/findings/finder/causes.h"
#include "report/words/words.h"

/* Packets of several flows in a class that does not fit: the odd packets. Which packets these are
 * depends on the finding. */
typedef struct {
    uint64_t flows;                /* number of flows with odd packets */
    uint64_t packets;              /* number of odd packets, of all these flows */
    smcr_when_t when;              /* the first odd packet of the flow `at` */
    const smcr_entry_rdma_t *at;   /* the flow with the most odd packets; NULL: none */
    uint64_t most;                 /* number of odd packets of `at` */
    const char *odd;               /* class of the odd packets of `at`, as text */
    const char *data;              /* class of the packets that the odd ones of `at` are compared
                                      with, as text */
} odd_class_t;

/* ---- classes ---- */

/* Returns the value that most packets have; NULL: none. */
static const smcr_figure_value_count_t *
most_frequent(const smcr_figure_tally_t *tally)
{
    const smcr_figure_value_count_t *most = NULL;

    for (uint32_t i = 0; i < tally->length; i++)
        if (!most || tally->counts[i].count > most->count)
            most = &tally->counts[i];
    return most;
}

/* Whether the tally has the value. */
static bool
has_value(const smcr_figure_tally_t *tally, uint32_t value)
{
    for (uint32_t i = 0; i < tally->length; i++)
        if (tally->counts[i].value == value)
            return true;
    return false;
}

/* Returns the count of the first value in `these` that no packet of `those` has; NULL: there is
 * none, or `those` has no values, so nothing is known to differ. */
static const smcr_figure_value_count_t *
other_value(const smcr_figure_tally_t *these, const smcr_figure_tally_t *those)
{
    for (uint32_t i = 0; i < these->length && those->length; i++)
        if (!has_value(those, these->counts[i].value))
            return &these->counts[i];
    return NULL;
}

/* Returns the count of the first value that is not the most frequent value of the tally; NULL: all
 * packets have one value. */
static const smcr_figure_value_count_t *
rare_value(const smcr_figure_tally_t *tally)
{
    const smcr_figure_value_count_t *most = most_frequent(tally);

    for (uint32_t i = 0; i < tally->length; i++)
        if (&tally->counts[i] != most)
            return &tally->counts[i];
    return NULL;
}

/* ---- sums ---- */

/* Adds the odd packets of a flow. The flow with most of them is the one that a finding names.
 * `field`: header field that distinguishes the classes: "DSCP". `packets`: the odd packets, and the
 * packets that they are compared with. */
static void
add_odd(const smcr_finder_t *finder, odd_class_t *odd, const smcr_entry_rdma_t *flow,
        const char *field, const smcr_figure_value_count_t *const packets[2])
{
    odd->flows++;
    odd->packets += packets[0]->count;
    if (packets[0]->count <= odd->most)
        return;
    odd->most = packets[0]->count;
    odd->at = flow;
    odd->when = packets[0]->first;
    odd->odd = wmem_strdup_printf(finder->scope, "%s %" PRIu32, field, packets[0]->value);
    odd->data = wmem_strdup_printf(finder->scope, "%s %" PRIu32, field, packets[1]->value);
}

/* Adds the packets that go in another class than most of the flow's data. `apart`: packets with
 * another DSCP, and packets with another priority; NULL: none. If both are known, the DSCP
 * counts. */
static void
add_apart(const smcr_finder_t *finder, odd_class_t *odd, const smcr_entry_rdma_t *flow,
          const smcr_figure_value_count_t *const apart[2])
{
    const smcr_entry_packet_class_t *data = flow->classes.data;

    if (apart[0])
        add_odd(finder, odd, flow, "DSCP",
                (const smcr_figure_value_count_t *[]){apart[0], most_frequent(&data->by_dscp)});
    else if (apart[1])
        add_odd(finder, odd, flow, "priority",
                (const smcr_figure_value_count_t *[]){apart[1],
                                                      most_frequent(&data->by_priority)});
}

/* Adds the data packets of the flow in the first class that is not the class of most of them.
 * Datagrams are not counted: they may go in several classes, since each datagram may have a
 * class of its own. */
static void
add_mixed_data(const smcr_finder_t *finder, odd_class_t *odd, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_packet_class_t *data = flow->classes.data;
    bool is_of_datagrams = flow->copies == SMCR_FIGURE_UNKNOWN;

    if (!data || is_of_datagrams)
        return;
    const smcr_figure_value_count_t *dscp = rare_value(&data->by_dscp);
    const smcr_figure_value_count_t *priority = rare_value(&data->by_priority);
    add_apart(finder, odd, flow, (const smcr_figure_value_count_t *[]){dscp, priority});
}

/* Adds the acknowledgements of the flow's data in the first class that the data does not have. */
static void
add_other_acks(const smcr_finder_t *finder, odd_class_t *odd, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
    const smcr_entry_packet_class_t *data = flow->classes.data;
    const smcr_entry_packet_class_t *acks = peer ? peer->classes.acknowledgement : NULL;

    if (!data || !acks)
        return;
    const smcr_figure_value_count_t *dscp = other_value(&acks->by_dscp, &data->by_dscp);
    const smcr_figure_value_count_t *priority = other_value(&acks->by_priority, &data->by_priority);
    add_apart(finder, odd, flow, (const smcr_figure_value_count_t *[]){dscp, priority});
}

/* Whether some of `these` packets are in a class in which none of `those` is. */
static bool
is_class_of_other(const smcr_entry_packet_class_t *these, const smcr_entry_packet_class_t *those)
{
    return other_value(&these->by_dscp, &those->by_dscp) ||
           other_value(&these->by_priority, &those->by_priority);
}

/* Adds the flow to the sum if the CNPs that its sender gets have the class of its data: the most
 * frequent DSCP of the CNPs is a DSCP of the data, and no CNP has a DSCP or VLAN priority that no
 * data packet has. */
static void
add_slow_cnps(const smcr_finder_t *finder, odd_class_t *odd, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
    const smcr_entry_packet_class_t *data = flow->classes.data;
    const smcr_entry_packet_class_t *cnps = peer ? peer->classes.cnp : NULL;

    const smcr_figure_value_count_t *dscp = cnps ? most_frequent(&cnps->by_dscp) : NULL;
    if (data && dscp && has_value(&data->by_dscp, dscp->value) && !is_class_of_other(cnps, data))
        add_odd(finder, odd, flow, "DSCP", (const smcr_figure_value_count_t *[]){dscp, dscp});
}

/* A function that adds the odd packets of one flow to the sum `odd`. */
typedef void add_odd_class_t(const smcr_finder_t *finder, odd_class_t *odd,
                             const smcr_entry_rdma_t *flow);

/* Returns the sum that `add` makes over all flows. */
static odd_class_t
sum_of(const smcr_finder_t *finder, add_odd_class_t *add)
{
    odd_class_t odd = {.flows = 0};

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        add(finder, &odd, flow);
    return odd;
}

/* Returns the number of further flows: " (and 2 more flows)"; "" if there are none. */
static const char *
others_text(const smcr_finder_t *finder, const odd_class_t *odd)
{
    return smcr_words_others(finder->scope, odd->flows - 1, "flow");
}

/* ---- findings ---- */

/* Returns the facts of a finding about odd packets. */
static smcr_finder_facts_t
facts_of(const smcr_finder_t *finder, smcr_figure_finding_t kind, const odd_class_t *odd)
{
    return (smcr_finder_facts_t){.kind = kind, .count = odd->packets, .when = odd->when,
                                 .frames = SMCR_FINDER_FRAMES(finder, odd->when)};
}

/* Finding: data of one flow goes in several classes. Packets of two classes overtake each other,
 * and a receiver takes that for loss. */
static void
find_mixed_data(smcr_finder_t *finder)
{
    odd_class_t odd = sum_of(finder, add_mixed_data);
    smcr_finder_facts_t facts = facts_of(finder, SMCR_FIGURE_FOUND_CLASSES_OF_DATA, &odd);

    if (odd.at)
        smcr_finder_add(finder, &facts, "%s%s: %s of data have %s, the others %s",
                        smcr_words_flow(finder->scope, odd.at), others_text(finder, &odd),
                        smcr_words_things(finder->scope, odd.most, "packet"), odd.odd, odd.data);
}

/* Finding: acknowledgements go in another class than the data that they acknowledge. */
static void
find_other_acks(smcr_finder_t *finder)
{
    odd_class_t odd = sum_of(finder, add_other_acks);
    smcr_finder_facts_t facts = facts_of(finder, SMCR_FIGURE_FOUND_CLASS_OF_ACKS, &odd);

    if (odd.at)
        smcr_finder_add(finder, &facts, "%s%s: data packets have %s, their acknowledgements %s",
                        smcr_words_flow(finder->scope, odd.at), others_text(finder, &odd), odd.data,
                        odd.odd);
}

/* Finding: CNPs go in the class of data. */
static void
find_slow_cnps(smcr_finder_t *finder)
{
    odd_class_t odd = sum_of(finder, add_slow_cnps);
    smcr_finder_facts_t facts = facts_of(finder, SMCR_FIGURE_FOUND_CLASS_OF_CNPS, &odd);

    if (odd.at)
        smcr_finder_add(finder, &facts,
                        "%s%s: CNPs have %s, as the data has, and wait in the queues of the data",
                        smcr_words_flow(finder->scope, odd.at), others_text(finder, &odd), odd.odd);
}

/* Whether packets of the flow may have come out of order: some did, or not all packets of the flow
 * are captured. */
static bool
may_be_late(const smcr_entry_rdma_t *flow)
{
    bool is_late = smcr_figure_or_zero(flow->late_naks) ||
                   (flow->recovery && smcr_figure_or_zero(flow->recovery->reordered));

    return is_late || smcr_figure_or_zero(flow->not_captured);
}

/* Returns the number of retransmissions after packets that congestion may have discarded: those
 * that NAKs ask for. A timeout does not show this: the acknowledgement may be lost, or the path or
 * the host is dead. Returns 0 in four cases, in which something else explains the NAKs:
 * 1. Packets came out of order. A path that reorders packets of the reverse flow may reorder those
 *    of this flow, too: an out-of-order packet that is not captured seems to be lost if its
 *    retransmission is captured.
 * 2. A display filter may hide packets and NAKs.
 * 3. Packets of the flow have a wrong ICRC: the receiver discards damaged packets.
 * 4. The path discards packets above a certain size. */
static uint64_t
perhaps_discarded(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
    bool is_disordered = may_be_late(flow) || (peer && may_be_late(peer));
    bool is_damaged = flow->icrc && flow->icrc->bad;
    bool is_explained = is_damaged || smcr_finding_flow_is_too_big(finder, flow);

    if (smcr_finder_is_filtered(finder) || is_disordered || is_explained)
        return 0;
    return smcr_figure_or_zero(flow->repeated_after.nak);
}

/* Adds a flow whose data may have been discarded, and whose data packets are all Not-ECT. */
static void
add_not_ect(const smcr_finder_t *finder, odd_class_t *odd, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_packet_class_t *data = flow->classes.data;
    uint64_t lost = perhaps_discarded(finder, flow);

    if (!data || !lost || !data->by_dscp.length || data->ecn.not_ect < data->packets)
        return;
    odd->flows++;
    odd->packets += lost;
    if (lost <= odd->most)
        return;
    odd->most = lost;
    odd->at = flow;
    odd->when = flow->first_frame;
}

/* Finding: data that NAKs ask for was Not-ECT. A switch that is full cannot mark such packets, and
 * discards them (RFC 3168, 5): the sender never slows down before packets are lost. */
static void
find_not_ect(smcr_finder_t *finder)
{
    odd_class_t odd = sum_of(finder, add_not_ect);
    smcr_finder_facts_t facts = facts_of(finder, SMCR_FIGURE_FOUND_NOT_ECT, &odd);

    if (odd.at)
        smcr_finder_add(finder, &facts,
                        "%s%s: all data packets are Not-ECT: a congested switch can only drop "
                        "them, not mark them; NAKs do not show whether a switch dropped packets",
                        smcr_words_flow(finder->scope, odd.at), others_text(finder, &odd));
}

/* ---- pauses ---- */

/* Time of pauses that makes the finding a warning, nanoseconds. Common pauses last some
 * microseconds. */
#define LONG_PAUSE (10 * SMCR_TIME_MILLISECOND)

#define LARGE_PART 10 /* pauses that cover at least 1 / LARGE_PART of a time take a large part of
                         it */

/* Whether the pauses of `one` weigh more than those of `other`: they lasted longer or, if the time
 * is equal, have more frames. */
static bool
is_heavier(const smcr_entry_pause_t *one, const smcr_entry_pause_t *other)
{
    if (one->paused_most_s != other->paused_most_s)
        return one->paused_most_s > other->paused_most_s;
    return one->frames > other->frames;
}

/* Returns the port and class that was paused longest; NULL: the capture has no pauses. */
static const smcr_entry_pause_t *
heaviest_pause(const smcr_finder_t *finder)
{
    const smcr_entry_pause_t *heaviest = NULL;

    SMCR_FIGURE_EACH(pause, pause, finder->report->pauses)
        if (!heaviest || is_heavier(pause, heaviest))
            heaviest = pause;
    return heaviest;
}

/* Returns how long the flow stood still at most, nanoseconds: after its last packet, or else
 * between its packets. */
static uint64_t
still_most(const smcr_entry_flow_pause_t *pause)
{
    return pause->stopped ? pause->stopped->still_most_s : pause->still_most_s;
}

/* Whether a flow stood still longer than another one. A flow that stopped for good comes before
 * those that went on. */
static bool
is_stiller(const smcr_entry_flow_pause_t *pause, const smcr_entry_flow_pause_t *than)
{
    bool stops = pause->stopped, other_stops = than->stopped;

    return stops == other_stops ? still_most(pause) > still_most(than) : stops;
}

/* Returns the flow that stood still longest while a port paused its class (is_stiller()); NULL:
 * none did. */
static const smcr_entry_rdma_t *
stillest_flow(const smcr_finder_t *finder)
{
    const smcr_entry_rdma_t *stillest = NULL;

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (flow->pause && (!stillest || is_stiller(flow->pause, stillest->pause)))
            stillest = flow;
    return stillest;
}

/* Whether the class was, or may have been, paused for a large part of the capture, or for a time
 * without a break that is far longer than a common pause. `paused_most_s` is an upper bound: a
 * frame pauses for a time that depends on the speed of the link, which may not be known. So one
 * frame proves no storm, however long its pause may be. */
static bool
is_storm(const smcr_finder_t *finder, const smcr_entry_pause_t *pause)
{
    uint64_t covered = smcr_words_covered(&finder->report->capture);
    uint64_t paused = MIN(pause->paused_most_s, covered);
    bool is_large_part = paused >= LONG_PAUSE && paused >= covered / LARGE_PART;

    SMCR_FIGURE_EACH(pause_interval, interval, pause->intervals)
        if (interval->frames > 1 && interval->paused_most_s >= LONG_PAUSE * LARGE_PART)
            return true;
    return is_large_part && pause->frames > 1;
}

/* Returns what the frames pause, and for how much of the capture: "class 3 for 101 ms of 2.0 s";
 * without the speed of the link at most: "all classes for ≤34 ms of 2.0 s". If they pause no class,
 * the text has no time; frames of 0 quanta pause "for no time". */
static const char *
paused_text(const smcr_finder_t *finder, const smcr_entry_pause_t *pause)
{
    const smcr_entry_capture_t *capture = &finder->report->capture;
    wmem_allocator_t *scope = finder->scope;

    if (!smcr_words_pauses_a_class(pause))
        return smcr_words_paused_class(scope, pause);
    if (!pause->paused_most_s)
        return wmem_strdup_printf(scope, "%s for no time", smcr_words_paused_class(scope, pause));
    return wmem_strdup_printf(scope, "%s for %s of %s", smcr_words_paused_class(scope, pause),
                              smcr_words_paused_time(scope, pause, capture),
                              smcr_words_duration(scope, smcr_words_covered(capture)));
}

/* Whether all frames have 0 quanta: they end pauses, and begin none. */
static bool
only_resumes(const smcr_entry_pause_t *pause)
{
    return !pause->paused_most_s && pause->resumes == pause->frames;
}

/* Whether the flow may be of the class that PFC frames pause, since its packets have no VLAN tag.
 * It may have stopped before the first of these frames came. */
static bool
may_be_paused(const smcr_entry_pause_t *pause, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_packet_class_t *data = flow->classes.data;

    return pause->kind != SMCR_FIGURE_PAUSE_ALL && data && data->packets &&
           !data->by_priority.length;
}

/* Whether flows may be of the paused class: packets without a VLAN tag came after the frames, or
 * before them (may_be_paused()). */
static bool
may_pause_flows(const smcr_finder_t *finder, const smcr_entry_pause_t *pause)
{
    if (pause->has_flow == SMCR_FIGURE_MAYBE)
        return true;
    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (may_be_paused(pause, flow))
            return true;
    return false;
}

/* Returns what is known of flows in the paused class, if none of them is known to have stood
 * still. */
static const char *
flows_text(const smcr_finder_t *finder, const smcr_entry_pause_t *pause)
{
    const smcr_entry_capture_t *capture = &finder->report->capture;
    bool ignores_roce = capture->smcr_roce != SMCR_FIGURE_YES && capture->roce_frames;

    if (!smcr_words_pauses_a_class(pause))
        return "no effect on senders";
    if (only_resumes(pause))
        return "all have 0 quanta: they only end pauses";
    if (pause->has_flow == SMCR_FIGURE_YES)
        return "no flow is seen to stand still";
    if (may_pause_flows(finder, pause))
        return "which flows are of this class is not known without VLAN tags";
    return ignores_roce ? "flows are not analysed without -o smcr.roce:TRUE"
                        : "no RDMA flow of this class comes after these frames";
}

/* Returns how long the flow was paused: "598 ms"; without the speed of the link "6.3 to 632 ms", or
 * with two units "6.3 ms to 1.2 s". `at_least`, `at_most`: nanoseconds. */
static const char *
still_time(const smcr_finder_t *finder, uint64_t at_least, uint64_t at_most)
{
    const char *least = smcr_words_duration(finder->scope, at_least);
    const char *most = smcr_words_duration(finder->scope, at_most);
    const char *unit = strchr(least, ' '), *other_unit = strchr(most, ' ');

    if (g_str_equal(least, most))
        return most;
    bool have_one_unit = unit && !g_strcmp0(unit, other_unit) && !strchr(unit + 1, ' ');
    int length = have_one_unit ? (int)(unit - least) : (int)strlen(least);
    return wmem_strdup_printf(finder->scope, "%.*s to %s", length, least, most);
}

/* Returns the number of further flows that stopped for good: ", and 2 others"; "": none. */
static const char *
other_stops_text(const smcr_finder_t *finder)
{
    uint64_t stops = 0;

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        stops += flow->pause && flow->pause->stopped;
    if (stops < 2)
        return "";
    return wmem_strdup_printf(finder->scope, ", and %s",
                              smcr_words_things(finder->scope, stops - 1, "other"));
}

/* Returns how the flow stopped for good: "A → B stopped for the last 3.2 s (3.1 s paused)"; without
 * the speed of the link "(≤3.1 s paused)". */
static const char *
stop_text(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_stop_t *stop = flow->pause->stopped;
    bool is_bound = stop->still_s != stop->still_most_s;

    return wmem_strdup_printf(finder->scope, "%s stopped for the last %s (%s%s paused)%s",
                              smcr_words_flow(finder->scope, flow),
                              smcr_words_duration(finder->scope, stop->silent_s),
                              is_bound ? "≤" : "",
                              smcr_words_duration(finder->scope, stop->still_most_s),
                              other_stops_text(finder));
}

/* Returns how the flow stood still: "A → B sent nothing for 650 ms (598 ms paused)"; "A → B
 * stood still 12 times, for 240 µs". A flow that stopped for good is described by stop_text(). */
static const char *
still_text(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_pause_t *pause = flow->pause;
    wmem_allocator_t *scope = finder->scope;
    const char *name = smcr_words_flow(scope, flow);
    const char *still = still_time(finder, pause->still_s, pause->still_most_s);

    if (pause->stopped)
        return stop_text(finder, flow);
    uint64_t gap = smcr_figure_time_between(pause->longest->begin_frame,
                                            pause->longest->end_frame);

    if (pause->standstills > 1 || gap == SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(scope, "%s stood still %s times, for %s", name,
                                  smcr_words_number(scope, pause->standstills), still);
    return wmem_strdup_printf(scope, "%s sent nothing for %s (%s paused)", name,
                              smcr_words_duration(scope, gap), still);
}

/* Adds to the facts the time in which a flow stood still: from its last packet, if it stopped for
 * good; otherwise between the packets before and after its longest standstill. */
static void
add_still_time(const smcr_finder_t *finder, const smcr_entry_flow_pause_t *pause,
               smcr_finder_facts_t *facts)
{
    if (pause->stopped) {
        facts->begin = pause->stopped->since_frame;
    } else {
        facts->begin = pause->longest->begin_frame;
        facts->end = pause->longest->end_frame;
    }
    facts->frames = SMCR_FINDER_FRAMES(finder, facts->begin, facts->end);
}

/* Returns the number of other entries of ports and classes that are paused: " (and 2 more)"; "" if
 * there are none. `said`: the entry that the sentence names. The sentence has no room for it if it
 * also names a flow. */
static const char *
other_pauses_text(const smcr_finder_t *finder, const smcr_entry_pause_t *said)
{
    uint32_t others = 0;

    SMCR_FIGURE_EACH(pause, pause, finder->report->pauses)
        others += pause != said && pause->paused_most_s;
    if (!others)
        return "";
    return wmem_strdup_printf(finder->scope, " (and %" PRIu32 " more)", others);
}

/* Finding: a port sends PAUSE or PFC frames. They ask the peer of the link to stop sending: the
 * port, or what lies after it, takes in packets more slowly than they come. The finding is a
 * warning if the pauses are long, or take a large part of the time. If a flow stood still, or
 * stopped for good, the finding has this time as its cost. The frames prove that a flow of the
 * class sent nothing meanwhile. They do not prove that it had something to send. */
static void
find_pauses(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, SMCR_PAUSE_FILTER);
    const smcr_entry_pause_t *pause = heaviest_pause(finder);
    const smcr_entry_rdma_t *flow = stillest_flow(finder);
    wmem_allocator_t *scope = finder->scope;

    if (!pause)
        return;
    uint64_t still = flow ? still_most(flow->pause) : 0;
    uint64_t paused = smcr_figure_or_zero(pause->paused_s);
    bool is_long = MAX(paused, still) >= LONG_PAUSE || is_storm(finder, pause);
    const char *kind = pause->kind == SMCR_FIGURE_PAUSE_ALL ? "PAUSE frame" : "PFC frame";
    smcr_finder_facts_t facts = {.kind = SMCR_FIGURE_FOUND_PAUSE,
                                 .count = notice.count,
                                 .when = notice.first,
                                 .filter = SMCR_PAUSE_FILTER,
                                 .rank = still ? SMCR_FINDING_BY_STANDSTILL : 0,
                                 .cost = still};
    if (flow)
        add_still_time(finder, flow->pause, &facts);
    smcr_finder_add_as(
        finder, is_long ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE, &facts,
        "Port %s paused %s%s with %s; %s", pause->port_mac ? pause->port_mac : "?",
        paused_text(finder, pause), flow ? "" : other_pauses_text(finder, pause),
        smcr_words_things(scope, pause->frames, kind),
        flow ? still_text(finder, flow) : flows_text(finder, pause));
}

/* The order of the calls matters only for findings that compare_found() cannot order otherwise. */
void
smcr_finding_on_classes(smcr_finder_t *finder)
{
    find_pauses(finder);
    find_mixed_data(finder);
    find_other_acks(finder);
    find_slow_cnps(finder);
    find_not_ect(finder);
}
