/* Findings about RDMA packets: damaged, refused, without receive buffer, marked for congestion;
 * about connections of RDMA-CM; and about RoCE that is not analysed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "subjects.h"

#include "report/others/others.h"
#include "report/findings/finder/causes.h"
#include "report/findings/finder/trouble.h"
#include "report/findings/finder/waits.h"
#include "report/words/words.h"
#include "wire/wire.h"

/* ---- damaged packets ---- */

/* Adds the packets of the flow that have a wrong ICRC. If a packet of the flow or of its reverse
 * flow has a wrong ICRC, also adds all retransmissions of the flow. */
static void
add_damaged(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
            smcr_finding_trouble_t *trouble)
{
    if (flow->icrc)
        smcr_finding_trouble_add(trouble, flow, smcr_figure_or_zero(flow->icrc->bad), 0);
    if (smcr_finding_flow_has_wrong_icrc(finder, flow))
        trouble->retransmitted += smcr_figure_or_zero(flow->repeated);
    trouble->answered += smcr_figure_or_zero(flow->repeated_after.icrc);
}

/* Returns text about the consequences of the damage. A receiver discards a packet with a wrong
 * ICRC, so the sender has to retransmit the packet. If nothing was retransmitted, the receiver
 * perhaps got the packet undamaged, and only the captured packet is damaged. A display filter
 * of the report may hide retransmissions: then both are possible. */
static const char *
effect_of_damage(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble)
{
    const char *them = trouble->count == 1 ? "it" : "them";
    bool checks_all = finder->report->capture.check_icrc == SMCR_FIGURE_YES;

    if (trouble->retransmitted && !checks_all)
        return wmem_strdup_printf(finder->scope, "the receiver discards %s", them);
    if (trouble->retransmitted)
        return wmem_strdup_printf(
            finder->scope, "the receiver discards %s%s, %s after NAKs for %s", them,
            smcr_finding_trouble_retransmitted(finder, trouble->retransmitted),
            smcr_words_number(finder->scope, trouble->answered), them);
    if (smcr_finder_is_filtered(finder))
        return "damaged upstream of the capture point, or by the capture";
    return "no packet was retransmitted: perhaps damaged by the capture only";
}

/* Finding: damaged packets. The ICRC of a packet does not match its bytes. Without the preference
 * smcr.check_icrc the plugin checks messages and doubtful packets only, and other packets may be
 * damaged, too. With it, retransmissions in flows with damaged packets are consequences of the
 * damage. So they do not count as lost packets (on_loss.c). */
static void
find_damaged(smcr_finder_t *finder)
{
    smcr_finding_trouble_t trouble = smcr_finding_trouble_sum(finder, add_damaged);
    const char *filter = "smcr.icrc.bad";
    bool checks_all = finder->report->capture.check_icrc == SMCR_FIGURE_YES;

    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_WRONG_ICRC,
                               .count = trouble.count,
                               .when = smcr_finder_notice(finder, filter).first,
                               .filter = filter},
        "%s with a wrong ICRC%s: %s%s",
        smcr_words_things(finder->scope, trouble.count, "packet"),
        smcr_finding_trouble_hosts(finder, &trouble), effect_of_damage(finder, &trouble),
        checks_all ? "" : "; not all packets are checked (-o smcr.check_icrc:TRUE)");
}

/* ---- refused packets ---- */

/* Adds the NAKs of the flow that end a queue pair. These are the NAKs with any code other than PSN
 * sequence error, as in nak_codes_text() and in the filter of find_refused(). */
static void
add_refused(const smcr_finder_t *finder _U_, const smcr_entry_rdma_t *flow,
            smcr_finding_trouble_t *trouble)
{
    uint64_t count =
        smcr_figure_naks_count(&flow->nak) - smcr_figure_or_zero(flow->nak.psn_sequence);

    smcr_finding_trouble_add(trouble, flow, count, 0);
    trouble->flows += count != 0;
}

/* Returns text with the number of NAKs for each code, over all flows. The code PSN sequence error
 * is left out, since such a NAK asks for a retransmission and does not end the queue pair. */
static const char *
nak_codes_text(const smcr_finder_t *finder)
{
    smcr_entry_naks_t sum = {0};

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        smcr_entry_join(&sum, &flow->nak, &smcr_entry_naks_description, finder->scope);
    return SMCR_WORDS_COUNTS(finder->scope, {sum.invalid_request, "for an invalid request"},
                             {sum.remote_access, "for a remote access error"},
                             {sum.remote_operational, "for a remote operational error"},
                             {sum.invalid_rd, "for an invalid RD request"});
}

/* Finding: refused requests. A NAK has a code other than PSN sequence error. Then the queue pair of
 * the requester changes to the error state, so no connection can go on over its link. */
static void
find_refused(smcr_finder_t *finder)
{
    smcr_finding_trouble_t trouble = smcr_finding_trouble_sum(finder, add_refused);
    const char *filter = "smcr.nak.code > 0";
    const char *fail = "the queue pair failed";

    if (trouble.flows > 1)
        fail = wmem_strdup_printf(finder->scope, "%s failed",
                                  smcr_words_things(finder->scope, trouble.flows, "queue pair"));
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_REFUSED,
                               .count = trouble.count,
                               .when = smcr_finder_notice(finder, filter).first,
                               .filter = filter},
        "%s refused %s (%s); %s", smcr_finding_trouble_sender(&trouble, "A receiver"),
        smcr_words_things(finder->scope, trouble.count, "request"), nak_codes_text(finder), fail);
}

/* ---- receive buffers ---- */

/* Adds the RNR NAKs of the flow, and the packets of the reverse flow that were retransmitted after
 * RNR NAKs, with the time of the slowest retransmitted message. */
static void
add_rnr_naks(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
             smcr_finding_trouble_t *trouble)
{
    const smcr_entry_rdma_t *data = smcr_finding_flow_peer(finder, flow);

    smcr_finding_trouble_add(trouble, flow, smcr_figure_or_zero(flow->rnr_nak),
                             data ? smcr_figure_or_zero(data->repeated_after.rnr) : 0);
    if (!data || !smcr_figure_or_zero(flow->rnr_nak))
        return;
    const smcr_distribution_t *times = smcr_distribution_get(data->repeated_completion_time_s);
    trouble->slowest = MAX(trouble->slowest, times->max);
}

/* Returns the time that the flow which waited longest has waited after RNR NAKs, nanoseconds. */
static uint64_t
longest_rnr_wait(const smcr_finder_t *finder)
{
    uint64_t longest = 0;

    SMCR_FIGURE_EACH (rdma, flow, finder->report->rdma_flows)
        longest = MAX(longest, smcr_figure_or_zero(flow->rnr_wait_s));
    return longest;
}

/* Finding: no receive buffer. A SEND needs a receive request that the receiver has posted. Without
 * one, the receiver answers with an RNR NAK, and the sender waits and retransmits the SEND. The
 * finding names the receiver: its host is too slow, or has posted too few receive requests. */
static void
find_rnr_naks(smcr_finder_t *finder)
{
    smcr_finding_trouble_t trouble = smcr_finding_trouble_sum(finder, add_rnr_naks);
    const char *filter = "smcr.rnr_nak";

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_NO_RECEIVE_BUFFER,
                                           .count = trouble.count,
                                           .when = smcr_finder_notice(finder, filter).first,
                                           .filter = filter,
                                           .cost = longest_rnr_wait(finder)},
                    "%s had no receive buffer: %s%s%s",
                    smcr_finding_trouble_sender(&trouble, "Receivers"),
                    smcr_words_things(finder->scope, trouble.count, "RNR NAK"),
                    smcr_finding_trouble_retransmitted(finder, trouble.retransmitted),
                    smcr_finding_trouble_slowest(finder, &trouble));
}

/* ---- congestion ---- */

/* Shortest time for which a user notices that writers wait, nanoseconds. */
#define NOTICED_WAIT (500 * SMCR_TIME_MILLISECOND)

/* Adds the packets of the flow that are marked CE, and the CNPs that answer these marks. A packet
 * that was captured twice counts once. */
static void
add_marked(const smcr_finder_t *finder _U_, const smcr_entry_rdma_t *flow,
           smcr_finding_trouble_t *trouble)
{
    uint64_t marks = smcr_figure_or_zero(smcr_figure_marks_count(flow));

    smcr_finding_trouble_add(trouble, flow, marks, 0);
    trouble->answered += smcr_distribution_get(flow->ce_to_cnp_s)->count;
}

/* Returns the number of frames with a mark, and with a CNP: those that the finding's filter finds,
 * duplicates among them. */
static uint64_t
count_frames(const smcr_finder_t *finder)
{
    uint64_t count = 0;

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        count += smcr_figure_or_zero(flow->ecn.ce) + smcr_figure_or_zero(flow->outer_ce) +
                 smcr_figure_or_zero(flow->cnp);
    return count;
}

/* Returns the name of a queue pair and of the host with which it talks, allocated in `scope`. */
static const char *
name_of_talk(wmem_allocator_t *scope, const char *host, uint64_t qpn, const char *peer)
{
    return wmem_strdup_printf(scope, "%s %" PRIu64 " %s", host ? host : "", qpn,
                              peer ? peer : "");
}

/* Returns the queue pairs that have sent packets, each with the host that has received them: names
 * as of name_of_talk() -> a value other than NULL. */
static wmem_map_t *
gather_senders(const smcr_finder_t *finder)
{
    wmem_map_t *senders = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (flow->src_qpn != SMCR_FIGURE_UNKNOWN)
            wmem_map_insert(senders,
                            name_of_talk(finder->scope, flow->src, flow->src_qpn, flow->dst),
                            finder->report);
    return senders;
}

/* Returns how many CNPs are in flows whose reverse direction is not known. `if_heard` true: only
 * those for a queue pair of which the capture has packets to the sender of the CNPs, such as
 * datagrams, which belong to no pair of flows. The CNPs may answer marks of these packets. False:
 * only the other ones: the capture has no packet whose mark they may answer. */
static uint64_t
count_cnps_alone(const smcr_finder_t *finder, bool if_heard)
{
    wmem_map_t *senders = NULL; /* made for the first of these CNPs */
    uint64_t count = 0;

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows) {
        if (!smcr_figure_cnps_count(flow) || smcr_finding_flow_peer(finder, flow))
            continue;
        senders = senders ? senders : gather_senders(finder);
        const char *slowed = name_of_talk(finder->scope, flow->dst, flow->dst_qpn, flow->src);
        bool is_heard = wmem_map_contains(senders, slowed);
        if (is_heard == if_heard)
            count += smcr_figure_cnps_count(flow);
    }
    return count;
}

/* Returns text with the number of CNPs: "80 CNPs"; "72 to 80 CNPs" if 8 of them may be
 * duplicates. */
static const char *
number_of_cnps(const smcr_finder_t *finder, const smcr_finding_trouble_t *notified)
{
    const char *all = smcr_words_things(finder->scope, notified->count, "CNP");
    uint64_t undecided = 0;

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        undecided += smcr_figure_or_zero(flow->cnp_undecided);
    if (!undecided)
        return all;
    uint64_t least = notified->count - MIN(notified->count, undecided);
    return wmem_strdup_printf(finder->scope, "%s to %s", smcr_words_number(finder->scope, least),
                              all);
}

/* Returns text with the number of CNPs, and with the number of CNPs that answer a captured mark. */
static const char *
cnps_text(const smcr_finder_t *finder, const smcr_finding_trouble_t *marked,
          const smcr_finding_trouble_t *notified)
{
    const char *all = number_of_cnps(finder, notified);

    if (!notified->count)
        return "no CNP";
    if (marked->answered >= notified->count)
        return wmem_strdup_printf(finder->scope, "%s in answer", all);
    if (count_cnps_alone(finder, false) == notified->count)
        return wmem_strdup_printf(finder->scope, "%s for packets that are not captured", all);
    if (!marked->answered && count_cnps_alone(finder, true) == notified->count)
        return all;
    return wmem_strdup_printf(finder->scope, "%s, %s of them in answer to a captured mark", all,
                              smcr_words_number(finder->scope, marked->answered));
}

/* Adds the CNPs of the flow. */
static void
add_notified(const smcr_finder_t *finder _U_, const smcr_entry_rdma_t *flow,
             smcr_finding_trouble_t *trouble)
{
    smcr_finding_trouble_add(trouble, flow, smcr_figure_cnps_count(flow), 0);
}

/* Whether all packets of the flow are Not-ECT on their own IP header. */
static bool
is_not_ect(const smcr_entry_rdma_t *flow)
{
    const smcr_entry_codepoints_t *ecn = &flow->ecn;

    return smcr_figure_or_zero(ecn->not_ect) && !smcr_figure_or_zero(ecn->ect0) &&
           !smcr_figure_or_zero(ecn->ect1) && !smcr_figure_or_zero(ecn->ce);
}

/* Returns text about marks that only the outer IP header of a tunnel has: " (12 on the tunnel)"; "
 * (on the tunnel)" for all of them; "" for none. The end of the tunnel copies such a mark to the
 * packet within, so the receiver answers it, too; but it discards a packet that is Not-ECT within
 * (RFC 6040, 4.2). */
static const char *
tunnel_text(const smcr_finder_t *finder, const smcr_finding_trouble_t *marked)
{
    uint64_t outside = 0, discarded = 0;

    SMCR_FIGURE_EACH (rdma, flow, finder->report->rdma_flows) {
        outside += smcr_figure_or_zero(flow->outer_ce);
        discarded += is_not_ect(flow) ? smcr_figure_or_zero(flow->outer_ce) : 0;
    }
    if (!outside)
        return "";
    if (discarded == marked->count)
        return " (on the tunnel; its end has to discard them: they are Not-ECT within)";
    if (outside == marked->count)
        return " (on the tunnel)";
    return wmem_strdup_printf(finder->scope, " (%s on the tunnel)",
                              smcr_words_number(finder->scope, outside));
}

/* Whether 1 % or more of the packets of the flows in trouble are in trouble. */
static bool
is_frequent(const smcr_finding_trouble_t *trouble)
{
    return trouble->count && trouble->count * 100 >= trouble->packets;
}

/* Returns the counts of the finding: marks and their CNPs, or CNPs without marks. */
static const char *
congestion_text(const smcr_finder_t *finder, const smcr_finding_trouble_t *marked,
                const smcr_finding_trouble_t *notified)
{
    if (marked->count)
        return wmem_strdup_printf(finder->scope, "%s of %s%s marked CE%s; %s",
                                  smcr_words_number(finder->scope, marked->count),
                                  smcr_words_things(finder->scope, marked->packets, "packet"),
                                  smcr_finding_trouble_hosts(finder, marked),
                                  tunnel_text(finder, marked), cnps_text(finder, marked, notified));
    return wmem_strdup_printf(finder->scope, "%s%s, %s", number_of_cnps(finder, notified),
                              smcr_finding_trouble_hosts(finder, notified),
                              count_cnps_alone(finder, false) == notified->count
                                  ? "for packets that are not captured"
                                  : "and no packet marked CE");
}

/* The direction whose writer waited longest for space because of the path: its receive buffer was
 * full, and the reader's program had nothing to read. All zeros: there is none. */
typedef struct {
    uint64_t time;                         /* sum of its waits, nanoseconds */
    const smcr_entry_conn_wait_t *longest; /* its longest wait; NULL: not known */
} path_wait_t;

/* Returns the direction whose writer waited longest for the path. Returns all zeros if no user
 * notices so short a wait. */
static path_wait_t
longest_path_wait(const smcr_finder_t *finder)
{
    path_wait_t longest = {0};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        for (int to_server = 0; to_server <= 1; to_server++) {
            const smcr_entry_conn_direction_t *figures = smcr_figure_direction(conn, to_server);
            uint64_t full = smcr_figure_buffer_full_time(figures);
            uint64_t by_reader = figures->time ? figures->time->reader_s : 0;
            if (by_reader * 2 >= full || full <= longest.time)
                continue;
            longest = (path_wait_t){
                full, smcr_finding_wait_longest(conn, to_server, SMCR_FIGURE_WAIT_SPACE)};
        }
    }
    return longest.time >= NOTICED_WAIT ? longest : (path_wait_t){0};
}

/* Finding: congestion. A switch marks packets (ECN CE), and the receiver of the packets sends CNPs,
 * so that the sender slows down (InfiniBand, annex A17). Few marks are normal for ECN: the finding
 * is a note. If 1 % or more of the packets are marked, or are CNPs, the finding is a warning. CNPs
 * without a captured mark prove marks downstream of the capture point. If writers waited for the
 * path, heavy congestion is the reason: the finding gets this time as its cost, and comes before
 * the finding of the full receive buffer. */
static void
find_congestion(smcr_finder_t *finder)
{
    smcr_finding_trouble_t marked = smcr_finding_trouble_sum(finder, add_marked);
    smcr_finding_trouble_t notified = smcr_finding_trouble_sum(finder, add_notified);
    bool is_heavy = is_frequent(&marked) || is_frequent(&notified);
    path_wait_t wait = is_heavy ? longest_path_wait(finder) : (path_wait_t){0};
    const char *waited = !wait.time ? ""
                                    : wmem_strdup_printf(
                                          finder->scope, "; a writer waited %s",
                                          smcr_words_duration(finder->scope, wait.time));

    smcr_when_t marked_outside = smcr_finder_notice(finder, "smcr.ecn.outer == 3").first;
    smcr_when_t when = smcr_figure_when_earlier(
        smcr_finder_first(finder, "smcr.ecn == 3", "smcr.congestion"), marked_outside);
    bool is_any = marked.count + notified.count > 0;
    const char *filter = marked_outside.frame
                             ? "smcr.ecn == 3 || smcr.ecn.outer == 3 || smcr.congestion"
                             : "smcr.ecn == 3 || smcr.congestion";

    smcr_finder_facts_t facts = {.kind = SMCR_FIGURE_FOUND_CONGESTION,
                                 .count = is_any ? count_frames(finder) : 0,
                                 .when = when,
                                 .filter = filter,
                                 .rank = wait.time ? SMCR_FINDING_BY_BOTTLENECK : 0,
                                 .cost = wait.time};
    if (wait.longest) {
        facts.begin = wait.longest->begin_frame;
        facts.end = wait.longest->end_frame;
        facts.when = facts.begin;
        facts.filter = smcr_finder_frame_or(finder, facts.when, filter);
        facts.frames = SMCR_FINDER_FRAMES(finder, when, facts.end);
    }
    smcr_finder_add_as(finder, is_heavy ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE, &facts,
                       "Congestion: %s%s", congestion_text(finder, &marked, &notified), waited);
}

/* ---- several paths ---- */

/* Whether the sender of the flow chooses another UDP source port again and again, so that switches
 * send its packets on several paths (packet spraying). A queue pair that has been set up anew may
 * have another port, too, but does not return to the one before. */
static bool
is_sprayed(const smcr_entry_rdma_t *flow)
{
    uint32_t ports = flow->udp_ports.length;
    uint64_t changes = smcr_figure_or_zero(flow->port_changes);

    return ports > 1 && changes >= ports && changes * 16 >= smcr_figure_or_zero(flow->packets);
}

/* Returns ", from 8 UDP source ports in turn (packet spraying)"; "" if the flow is not sprayed. */
static const char *
spraying_text(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    uint32_t ports = flow->udp_ports.length;
    bool may_be_more = ports >= SMCR_FIGURE_TALLY_MOST;

    if (!is_sprayed(flow))
        return "";
    return wmem_strdup_printf(finder->scope,
                              ", from %s%" PRIu32 " UDP source ports in turn (packet spraying)",
                              may_be_more ? "≥" : "", ports);
}

/* Returns how far out of order packets of the flow came: "43 of 200 packets out of order, up to 3
 * PSNs and 9 µs late". */
static const char *
disorder_text(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_recovery_t *recovery = flow->recovery;
    wmem_allocator_t *scope = finder->scope;

    return wmem_strdup_printf(scope, "%s of %s out of order, up to %s and %s late",
                              smcr_words_number(scope, recovery->reordered),
                              smcr_words_things(scope, flow->packets, "packet"),
                              smcr_words_things(scope, recovery->reorder_depth->max, "PSN"),
                              smcr_words_duration(scope, recovery->late_s->max));
}

/* Finding: packets of flows come out of order, but all packets come, and the sender retransmits
 * none. So the network sends them on several paths, or a mirror port has changed their order. If no
 * other flow misses packets, the disorder explains all sequence gaps. */
static void
find_disorder(smcr_finder_t *finder)
{
    const smcr_entry_rdma_t *at = NULL;
    uint64_t flows = 0;
    bool is_all = true;

    SMCR_FIGURE_EACH (rdma, flow, finder->report->rdma_flows) {
        bool is_disorder = smcr_finding_flow_is_disordered(finder, flow);
        is_all &= is_disorder || !smcr_figure_or_zero(flow->missing);
        if (!is_disorder)
            continue;
        flows++;
        if (!at || flow->recovery->reordered > at->recovery->reordered)
            at = flow;
    }
    if (!at)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_REORDERED,
                                           .count = flows,
                                           .when = at->reordered_frame,
                                           .filter = "smcr.out_of_order",
                                           .rank = is_all ? SMCR_FINDING_BY_DISORDER
                                                          : SMCR_FINDING_BY_NOTICE},
                    "%s%s: %s; all arrived, none was retransmitted%s",
                    smcr_words_flow(finder->scope, at),
                    smcr_words_others(finder->scope, flows - 1, "flow"), disorder_text(finder, at),
                    spraying_text(finder, at));
}

/* Finding: senders choose UDP source ports in turn (is_sprayed()). Flows whose disorder
 * find_disorder() reports are not counted. */
static void
find_spraying(smcr_finder_t *finder)
{
    const smcr_entry_rdma_t *at = NULL;
    uint64_t flows = 0;

    SMCR_FIGURE_EACH (rdma, flow, finder->report->rdma_flows) {
        if (!is_sprayed(flow) || smcr_finding_flow_is_disordered(finder, flow))
            continue;
        flows++;
        if (!at || flow->port_changes > at->port_changes)
            at = flow;
    }
    if (!at)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_SPRAYED,
                                           .count = flows,
                                           .when = at->first_frame,
                                           .frames = SMCR_FINDER_FRAMES(finder, at->first_frame)},
                    "%s%s: packets%s", smcr_words_flow(finder->scope, at),
                    smcr_words_others(finder->scope, flows - 1, "flow"),
                    spraying_text(finder, at) + 1);
}

/* ---- RDMA-CM ---- */

/* Finding: RDMA-CM rejects connections (ConnectReject). The sentence has the reason of the first
 * rejection. */
static void
find_cm_rejects(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.cm.rejected");

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_CM_REJECTED,
                                           .count = notice.count,
                                           .when = notice.first,
                                           .filter = notice.filter},
                    "RDMA-CM, %s: %s rejected%s%s", smcr_finder_subject(finder, notice.subject),
                    smcr_words_things(finder->scope, notice.count, "connection"),
                    notice.count > 1 ? "; first one: " : ": ", notice.reason);
}

/* Whether the flow shows that the host which sends the RDMA-CM messages `messages` got an answer,
 * or may have got one. There are two cases: 1. the flow leads from the other host to this host; 2.
 * the flow carries data from this host to the other host. In case 2 the hosts are connected, and
 * the capture may have one direction only. Queue pair 1 receives no data. */
static bool
shows_answer(const smcr_entry_rdma_t *flow, const smcr_figure_subject_t *messages)
{
    bool is_back = smcr_finding_flow_leads(flow, messages->dst, messages->src);
    bool is_there = smcr_finding_flow_leads(flow, messages->src, messages->dst);

    return is_back || (is_there && flow->dst_qpn != SMCR_IB_GSI_QPN);
}

/* Whether the capture shows no answer to the messages of RDMA-CM of two hosts. False if the report
 * may not have all flows: under a display filter, and if flows were left out (`rest`). */
static bool
is_unanswered(const smcr_finder_t *finder, const smcr_figure_subject_t *messages)
{
    bool are_known = messages && messages->src && messages->dst;

    if (!are_known || smcr_finder_is_filtered(finder) || finder->report->rdma_flows.rest)
        return false;
    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (shows_answer(flow, messages))
            return false;
    return true;
}

/* Returns how many connection requests got no answer, as text: "no answer captured to 2
 * connection requests (first one: port 7174)"; NULL: all got one, or a display filter may hide
 * the answers. */
static const char *
unanswered_text(const smcr_finder_t *finder)
{
    const smcr_entry_rdma_t *first = NULL;
    uint64_t count = 0;

    if (smcr_finder_is_filtered(finder))
        return NULL;
    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows) {
        count += smcr_figure_or_zero(flow->cm_unanswered);
        if (!first && smcr_figure_or_zero(flow->cm_unanswered))
            first = flow;
    }
    if (!first)
        return NULL;
    const char *requests = smcr_words_things(finder->scope, count, "connection request");
    if (first->cm_unanswered_port == SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(finder->scope, "no answer captured to %s", requests);
    return wmem_strdup_printf(finder->scope, "no answer captured to %s (%sport %" PRIu64 ")",
                              requests, count > 1 ? "first one: " : "", first->cm_unanswered_port);
}

/* Finding: RDMA-CM retransmits messages. The messages or their answers were lost, or the answers
 * came after the timeout. A connection whose request gets no answer does not come about, which is a
 * failure; the host may answer other requests. */
static void
find_cm_retransmissions(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.cm.repeat");
    const char *unanswered = unanswered_text(finder);
    const char *why = unanswered ? unanswered : "messages lost, or answers delayed";
    bool is_silent = is_unanswered(finder, notice.subject);
    bool is_failure = is_silent || unanswered;

    smcr_finder_add_as(finder, is_failure ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE,
                       &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_CM_REPEAT,
                                              .count = notice.count,
                                              .when = notice.first,
                                              .filter = notice.filter},
                       "RDMA-CM, %s: %s retransmitted%s: %s",
                       smcr_finder_subject(finder, notice.subject),
                       smcr_words_things(finder->scope, notice.count, "message"),
                       notice.count > 1 ? " (first one in this frame)" : "",
                       is_silent ? "no RoCE packet came back" : why);
}

/* ---- RoCE that is not analysed ---- */

/* Finding: headers of RoCE packets that are not analysed show trouble. The counts come from single
 * headers, without analysis. So the finding blames no host, and names the preference that shows
 * more. */
static void
find_other_roce(smcr_finder_t *finder)
{
    const smcr_entry_other_roce_t *others = finder->report->other_roce;
    const char *trouble = smcr_words_other_roce(finder->scope, others);

    if (!*trouble)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_OTHER_ROCE,
                                           .count = others->packets,
                                           .when = others->first_frame,
                                           .filter = SMCR_OTHERS_FILTER},
                    "RoCE not known to be SMC-R (%s): %s; analyse it with -o smcr.roce:TRUE",
                    smcr_words_things(finder->scope, others->packets, "packet"), trouble);
}

/* The order of the calls matters only for findings that compare_found() cannot order otherwise. */
void
smcr_finding_on_fabric(smcr_finder_t *finder)
{
    find_damaged(finder);
    find_refused(finder);
    find_rnr_naks(finder);
    find_congestion(finder);
    find_disorder(finder);
    find_spraying(finder);
    find_cm_rejects(finder);
    find_cm_retransmissions(finder);
    find_other_roce(finder);
}
