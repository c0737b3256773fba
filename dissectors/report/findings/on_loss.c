/* Findings about packets that were lost on the network, and packets that were not captured.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "subjects.h"

#include "report/findings/finder/causes.h"
#include "report/findings/finder/trouble.h"
#include "report/words/words.h"
#include "wire/wire.h"

/* ---- lost packets ---- */

/* Whether other findings explain the retransmissions of the flow: packets with wrong ICRCs, a link
 * that never came up, packets that are too big for the path, or a peer of which nothing is
 * captured. */
static bool
is_explained_elsewhere(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    return smcr_finding_flow_is_damaged(finder, flow) ||
           smcr_finding_flow_is_dead_end(finder, flow) ||
           smcr_finding_flow_is_too_big(finder, flow) ||
           smcr_finding_flow_is_unheard(finder, flow);
}

/* Returns the number of retransmissions of the flow by a timer or for an unknown cause. The
 * retransmissions that the finding of a silent peer counts (on_silence.c) are not included. */
static uint64_t
unproven_packets_of(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_causes_t *causes = &flow->repeated_after;
    uint64_t count = smcr_figure_or_zero(causes->timeout) + smcr_figure_or_zero(causes->unknown);
    uint64_t silent = smcr_figure_or_zero(flow->silent_repeated);

    if (!smcr_finding_flow_silence(finder, flow))
        return count;
    return count > silent ? count - silent : 0;
}

/* Returns the number of packets that were retransmitted since a READ was requested anew. Those in
 * silences that the finding of a silent peer counts are not included: these silences have more
 * retransmissions than timeouts and unknown causes. */
static uint64_t
requested_anew(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_causes_t *causes = &flow->repeated_after;
    uint64_t unproven = smcr_figure_or_zero(causes->timeout) + smcr_figure_or_zero(causes->unknown);
    uint64_t silent = smcr_figure_or_zero(flow->silent_repeated);
    uint64_t count = smcr_figure_or_zero(causes->read);

    if (!smcr_finding_flow_silence(finder, flow) || silent <= unproven)
        return count;
    return count - MIN(count, silent - unproven);
}

/* Returns the number of packets of the flow that were lost upstream of the capture point, and each
 * retransmitted alone after a NAK (selective repeat); 0 if the sender mostly goes back (go-back-N).
 * With go-back-N, the packets after the lost one come a second time, and count as retransmitted. */
static uint64_t
alone_of(const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_recovery_t *recovery = flow->recovery;

    return recovery && recovery->selective > recovery->go_back_n ? recovery->refilled : 0;
}

/* Whether the capture distinguishes duplicates of the flow's packets from retransmissions. */
static bool
knows_copies(const smcr_entry_rdma_t *flow)
{
    return flow && flow->knows_copies == SMCR_FIGURE_YES;
}

/* Whether the retransmissions of the flow are probably no duplicates: identifications prove it, or
 * no duplicate of the flow is known. Over IPv6, which has no identifications, only hop limits and
 * times show duplicates. */
static bool
has_no_copies(const smcr_entry_rdma_t *flow)
{
    return flow && (knows_copies(flow) || !smcr_figure_or_zero(flow->copies));
}

/* Whether NAKs ask for packets of the flow, or READs or atomics of either flow were retransmitted
 * since responses were missing. `peer`: the reverse flow, or NULL. */
static bool
was_asked_for(const smcr_entry_rdma_t *flow, const smcr_entry_rdma_t *peer)
{
    uint64_t asked = smcr_figure_or_zero(flow->repeated_after.nak) +
                     smcr_figure_or_zero(flow->repeated_after.read);

    if (peer)
        asked += smcr_figure_or_zero(peer->nak.psn_sequence) +
                 smcr_figure_or_zero(peer->repeated_after.read);
    return asked != 0;
}

/* Returns the number of packets of the flow that were retransmitted although they had arrived: the
 * receiver acknowledged the packet before the retransmission, or it acknowledged both
 * transmissions. Returns 0 if the flow has lost packets, or if duplicates may explain the second
 * acknowledgement. Retransmissions in silences of the peer are subtracted: the receiver
 * acknowledges their packets only after the silence, perhaps each transmission of them. */
static uint64_t
needless_packets_of(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
    bool is_known = flow->recovery && has_no_copies(flow) && has_no_copies(peer);

    if (!is_known || was_asked_for(flow, peer))
        return 0;
    uint64_t unproven = unproven_packets_of(finder, flow), twice = flow->recovery->answered_twice;
    uint64_t silent =
        smcr_finding_flow_silence(finder, flow) ? smcr_figure_or_zero(flow->silent_repeated) : 0;
    return MIN(unproven, flow->recovery->needless + (twice > silent ? twice - silent : 0));
}

/* Returns the frame of an occurrence. A function of type smcr_sorted_key_t. */
static uint64_t
frame_of(const void *occurrences, uint32_t index)
{
    return ((const smcr_figure_occurrence_t *)occurrences)[index].frame;
}

/* Returns the index of the first occurrence of the notice in `frame` or a later frame; the number
 * of occurrences: there is none. */
static uint32_t
first_from(const smcr_figure_notice_t *notice, uint32_t frame)
{
    return smcr_sorted_first(notice->occurrences, notice->occurrence_count, frame_of, frame);
}

/* Returns how many of the frames that the notice counts are packets of the link group, from the end
 * of the group up to the flow's last packet. If the notice has no frames, returns its count: the
 * packets may be of this group; or 0 if the first of them came after the flow's last packet. */
static uint64_t
count_in_group(const smcr_figure_notice_t *notice, const smcr_entry_link_group_t *group,
               const smcr_entry_rdma_t *flow)
{
    uint64_t count = 0;

    if (!notice->occurrence_count)
        return flow->last_frame.frame < notice->first.frame ? 0 : notice->count;
    for (uint32_t i = first_from(notice, group->ended_frame.frame); i < notice->occurrence_count;
         i++) {
        if (notice->occurrences[i].frame > flow->last_frame.frame)
            break;
        count += notice->occurrences[i].group == group->index;
    }
    return count;
}

/* Returns how often packets of the flow were retransmitted after its link group had ended
 * (find_group_end()). */
static uint64_t
ended_packets_of(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_link_group_t *group = smcr_finding_flow_owner(finder, flow).group;
    uint64_t count = 0;

    for (uint32_t i = 0; group && group->ended_frame.frame && i < finder->notice_count; i++)
        if (strcmp(finder->notices[i].filter, "smcr.packet_retransmitted.ended") == 0)
            count += count_in_group(&finder->notices[i], group, flow);
    return count;
}

/* Returns the number of packets of the flow that were retransmitted because of a loss; 0 if
 * other findings explain the retransmissions. Retransmissions after RNR NAKs, in silences of the
 * peer (on_silence.c), of the last packets of a link group that has ended (find_group_end()),
 * and of packets that had arrived (find_needless()) are not included. */
static uint64_t
lost_packets_of(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_causes_t *causes = &flow->repeated_after;
    uint64_t needless = ended_packets_of(finder, flow) + needless_packets_of(finder, flow);
    uint64_t repeats = smcr_figure_or_zero(causes->nak) + requested_anew(finder, flow) +
                       unproven_packets_of(finder, flow) + alone_of(flow);

    if (is_explained_elsewhere(finder, flow))
        return 0;
    return repeats > needless ? repeats - needless : 0;
}

/* Adds the lost packets of one flow to the sum, and the time of its slowest message, unless a
 * silence has delayed that message: the silence has a finding of its own. */
static void
add_lost(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
         smcr_finding_trouble_t *trouble)
{
    uint64_t slowest = trouble->slowest;

    smcr_finding_trouble_add(trouble, flow, lost_packets_of(finder, flow), 0);
    if (smcr_finding_flow_silence(finder, flow)) /* the silence delays the slowest message */
        trouble->slowest = slowest;
}

/* Subtracts from `causes` the retransmissions that another finding counts, `count` in number. They
 * are subtracted from timeouts first, since most of them have this cause, and from READs last. */
static void
subtract(smcr_entry_causes_t *causes, uint64_t count)
{
    uint64_t *const in_order[] = {&causes->timeout, &causes->unknown, &causes->read};

    for (unsigned i = 0; i < G_N_ELEMENTS(in_order); i++) {
        uint64_t part = MIN(count, smcr_figure_or_zero(*in_order[i]));
        *in_order[i] -= part;
        count -= part;
    }
}

/* Returns the sum of all flows that have lost packets. Adds the number of NAKs for a PSN sequence
 * error to `*naks`: the receiver of a flow sends these NAKs on the reverse flow. */
static smcr_entry_rdma_t
sum_lossy_flows(const smcr_finder_t *finder, uint64_t *naks)
{
    smcr_entry_rdma_t sum = {0};

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows) {
        const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
        if (!lost_packets_of(finder, flow))
            continue;
        smcr_entry_join(&sum, flow, &smcr_entry_rdma_description, finder->scope);
        if (smcr_finding_flow_silence(finder, flow))
            subtract(&sum.repeated_after, smcr_figure_or_zero(flow->silent_repeated));
        subtract(&sum.repeated_after, needless_packets_of(finder, flow));
        sum.repeated_after.nak += alone_of(flow);
        *naks += peer ? smcr_figure_or_zero(peer->nak.psn_sequence) : 0;
    }
    return sum;
}

/* Whether the causes of retransmissions prove that a packet was lost or out of order. Two causes
 * do: a NAK for a PSN sequence error, and a READ that the requester retransmitted because responses
 * were missing. */
static bool
is_proven(const smcr_entry_causes_t *causes)
{
    return causes->nak || causes->read;
}

#define FEW_PACKETS 3                       /* number of retransmitted packets from which on an
                                               unproven loss may be a note; fewer cost little */
#define STALL (100 * SMCR_TIME_MILLISECOND) /* shortest delay that a user notices, nanoseconds */

/* Whether 0.2 % or more of the packets were lost. Users of RoCE regard such a rate of losses as a
 * fault. */
static bool
are_many(const smcr_finding_trouble_t *trouble)
{
    return trouble->count * 500 >= trouble->packets;
}

/* Returns the severity if no loss is proven (is_proven()): the retransmission may be needless, and
 * then costs little if it delays no message.
 * 1. After a timeout: a warning if a message took STALL or longer, else for information.
 * 2. For an unknown cause: a note if FEW_PACKETS or more, and many, were retransmitted, unless the
 *    times of messages are known and all are shorter than STALL; else for information. */
static smcr_figure_severity_t
severity_of_unproven(const smcr_finding_trouble_t *trouble, const smcr_entry_causes_t *causes)
{
    bool is_measured = trouble->slowest != 0;

    if (causes->timeout)
        return trouble->slowest >= STALL ? SMCR_FIGURE_WARN : SMCR_FIGURE_INFO;
    if (is_measured && trouble->slowest < STALL) /* no message took as long as STALL */
        return SMCR_FIGURE_INFO;
    return trouble->count >= FEW_PACKETS && are_many(trouble) ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO;
}

/* Returns the severity of the finding of lost packets. A proven loss of 0.2 % or more is a warning,
 * any other proven loss is a note. */
static smcr_figure_severity_t
severity_of_loss(const smcr_finding_trouble_t *trouble, const smcr_entry_causes_t *causes)
{
    if (!is_proven(causes))
        return severity_of_unproven(trouble, causes);
    return are_many(trouble) ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE;
}

/* Whether packets were lost upstream of the capture point. Some packets are missing in the capture
 * only: the receiver acknowledged them, and nobody retransmitted them. The other missing packets
 * must be at least as many as the `naks` NAKs, and at least one. If there were more NAKs, one of
 * them would ask for a captured packet, which may have been out of order downstream. */
static bool
are_lost_upstream(const smcr_entry_rdma_t *sum, uint64_t naks)
{
    uint64_t missing = smcr_figure_or_zero(sum->missing);

    return missing >= smcr_figure_or_zero(sum->not_captured) + MAX(naks, 1);
}

/* Returns the beginning of the sentence, which says where packets were lost:
 * 1. No packet ever was missing in the capture (`missing` also counts packets that came later, out
 *    of order). So it has all packets in the order of their PSNs. What
 *    the receiver missed was lost or out of order downstream of the capture point, or the packet is
 *    damaged. Packets whose ICRC is known to be wrong have a finding of their own.
 * 2. All packets that NAKs ask for were lost upstream, and none came later out of order: packets
 *    were lost.
 * 3. All NAKs ask for packets that were captured out of order: packets were out of order.
 * 4. Otherwise packets were lost or out of order, or damaged if none is missing and ICRCs are not
 *    checked.
 * Retransmitted READs rule out cases 1 and 2, since missing READ responses are not counted. */
static const char *
place_of_loss(const smcr_finder_t *finder, const smcr_entry_rdma_t *sum, uint64_t naks)
{
    bool is_in_order = !smcr_finder_notice(finder, "smcr.out_of_order").count ||
                       (alone_of(sum) && !sum->recovery->reordered);

    if (!sum->missing && !sum->repeated_after.read)
        return wmem_strdup_printf(finder->scope,
                                  "Packets lost or out of order downstream of the capture point%s",
                                  smcr_finder_or_damaged(finder, ", or "));
    if (is_in_order && are_lost_upstream(sum, naks) && !sum->repeated_after.read)
        return "Packets lost";
    if (naks && naks == sum->late_naks)
        return "Packets out of order";
    const char *damaged = sum->missing ? "" : smcr_finder_or_damaged(finder, " or ");
    return *damaged ? wmem_strdup_printf(finder->scope, "Packets lost, out of order%s", damaged)
                    : "Packets lost or out of order";
}

/* A function that returns how many packets of the flow a finding counts. */
typedef uint64_t count_of_flow_t(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow);

/* Whether a flow of which a finding counts retransmissions has no identifications that distinguish
 * duplicates from retransmissions: IPv6 has none, and in IPv4 the sender may set them all to 0.
 * Then the packets may be captured twice. `count`: packets of a flow that the finding counts. */
static bool
may_be_copies(const smcr_finder_t *finder, count_of_flow_t *count)
{
    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (count(finder, flow) && flow->knows_copies != SMCR_FIGURE_YES)
            return true;
    return false;
}

/* Returns "after timeouts" for a count of retransmissions, or the same of one. */
static const char *
after_timeouts(uint64_t count)
{
    return count == 1 ? "after a timeout" : "after timeouts";
}

/* Returns text about the causes of the retransmissions, if no loss is proven (is_proven()). If only
 * some have come after timeouts, the text has the number of each cause. */
static const char *
unproven_cause(const smcr_finder_t *finder, const smcr_entry_causes_t *causes)
{
    const char *cause = " (cause unknown)";

    if (causes->timeout && !causes->unknown)
        cause = wmem_strdup_printf(finder->scope, " without a NAK (%s)",
                                   after_timeouts(causes->timeout));
    if (causes->timeout && causes->unknown)
        cause = wmem_strdup_printf(finder->scope, " without a NAK (%s)",
                                   SMCR_WORDS_COUNTS(finder->scope,
                                                     {causes->timeout,
                                                      after_timeouts(causes->timeout)},
                                                     {causes->unknown, "with unknown cause"}));
    return wmem_strdup_printf(finder->scope, "%s%s", cause,
                              may_be_copies(finder, lost_packets_of) ? ", or captured twice" : "");
}

/* Returns the silences that findings of silent peers report (on_silence.c), as
 * const smcr_entry_flow_silence_t *. */
static wmem_array_t *
gather_silences(const smcr_finder_t *finder)
{
    wmem_array_t *silences =
        wmem_array_new(finder->scope, sizeof(const smcr_entry_flow_silence_t *));

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows) {
        const smcr_entry_flow_silence_t *silence = smcr_finding_flow_silence(finder, flow);
        if (silence)
            wmem_array_append_one(silences, silence);
    }
    return silences;
}

/* Whether one of the silences has time in common with the wait. */
static bool
is_of_silence(wmem_array_t *silences, const smcr_entry_conn_wait_t *wait)
{
    for (unsigned i = 0; i < wmem_array_get_count(silences); i++) {
        const smcr_entry_flow_silence_t *silence =
            *(const smcr_entry_flow_silence_t **)wmem_array_index(silences, i);
        if (wait->begin_frame.time < silence->end_frame.time &&
            wait->end_frame.time > silence->begin_frame.time)
            return true;
    }
    return false;
}

/* Whether the writer waited for a retransmission, and not for a silent peer, of which another
 * finding reports. */
static bool
is_for_retransmission(wmem_array_t *silences, const smcr_entry_conn_wait_t *wait)
{
    return wait->kind == SMCR_FIGURE_WAIT_RETRANSMISSION && !is_of_silence(silences, wait);
}

/* Returns the longest wait for retransmissions, of all connections; NULL: no writer waited STALL or
 * more. */
static const smcr_entry_conn_wait_t *
longest_wait(const smcr_finder_t *finder)
{
    wmem_array_t *silences = gather_silences(finder);
    const smcr_entry_conn_wait_t *longest = NULL;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections)
        SMCR_FIGURE_EACH(conn_wait, wait, conn->longest_waits)
            if (is_for_retransmission(silences, wait) &&
                (!longest || wait->lasted_s > longest->lasted_s))
                longest = wait;
    return longest && longest->lasted_s >= STALL ? longest : NULL;
}

/* Returns how long retransmissions took: "; longest wait for retransmissions 3.93 s (from frame
 * 1942)"; without such a wait (longest_wait()), the slowest message. */
static const char *
duration_text(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble)
{
    const smcr_entry_conn_wait_t *longest = longest_wait(finder);

    if (!longest)
        return smcr_finding_trouble_slowest(finder, trouble);
    return wmem_strdup_printf(finder->scope,
                              "; longest wait for retransmissions %s (from frame %" PRIu32 ")",
                              smcr_words_duration(finder->scope, longest->lasted_s),
                              longest->begin_frame.frame);
}

/* Returns how many silences findings of silent peers report, which count the retransmissions in
 * them. */
static uint64_t
count_silences(const smcr_finder_t *finder)
{
    uint64_t count = 0;

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (smcr_finding_flow_silence(finder, flow))
            count += flow->silences;
    return count;
}

/* Returns which frames of notices a finding on losses rests on: if other findings report silences
 * of peers, the frames in these silences belong to them. */
static smcr_finder_part_t
part_of_losses(const smcr_finder_t *finder)
{
    return count_silences(finder) ? SMCR_FINDER_OUTSIDE_SILENCES : SMCR_FINDER_ALL;
}

/* Returns "apart from the silence, " if another finding counts the retransmissions in silences of a
 * peer; "" if there are none. */
static const char *
outside_text(const smcr_finder_t *finder)
{
    uint64_t count = count_silences(finder);

    if (!count)
        return "";
    return count == 1 ? "apart from the silence, " : "apart from the silences, ";
}

/* Returns the first retransmission of the flows of which a finding counts packets; the first one of
 * the capture if that of the flows is not known. */
static smcr_when_t
first_repeated(const smcr_finder_t *finder, count_of_flow_t *count)
{
    smcr_when_t first = {0, 0};

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (count(finder, flow))
            first = smcr_figure_when_earlier(first, flow->repeated_frame);
    return first.frame ? first : smcr_finder_notice(finder, "smcr.packet_retransmitted").first;
}

/* Returns the frame to look at: the first retransmission that the finding counts, or an earlier
 * first NAK, if NAKs ask for packets that it counts. */
static smcr_when_t
first_trouble(const smcr_finder_t *finder, uint64_t naks)
{
    smcr_when_t first = first_repeated(finder, lost_packets_of);

    if (!naks)
        return first;
    return smcr_figure_when_earlier(smcr_finder_notice(finder, "smcr.nak").first, first);
}

/* Returns why packets were retransmitted that a requester has requested anew: a READ after a
 * response with a later PSN, since a response is missing; otherwise its timer may have run out, and
 * the request may have been lost. */
static const char *
anew_text(const smcr_entry_rdma_t *sum)
{
    const smcr_entry_flow_recovery_t *recovery = sum->recovery;
    bool are_responses_lost = recovery && recovery->implied_naks && !recovery->read_timeouts;

    return are_responses_lost ? "after lost responses" : "re-requested";
}

/* Adds the worst time to the facts: the longest wait for retransmissions, if the sentence has it
 * (duration_text()). The finding then shows in the frame with which this wait begins, and still
 * rests on the first frame with trouble. */
static void
add_worst_time(const smcr_finder_t *finder, smcr_finder_facts_t *facts)
{
    const smcr_entry_conn_wait_t *longest = longest_wait(finder);

    if (!longest)
        return;
    facts->frames = SMCR_FINDER_FRAMES(finder, facts->when, longest->end_frame);
    facts->begin = longest->begin_frame;
    facts->end = longest->end_frame;
    facts->when = longest->begin_frame;
    facts->filter = smcr_finder_frame_or(finder, facts->when, facts->filter);
}

/* Returns the sentence of the finding of lost packets. `sum`: sum of the flows that have lost
 * packets. `naks`: number of NAKs for a PSN sequence error that ask for packets of these flows. */
static const char *
text_of_loss(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble,
             const smcr_entry_rdma_t *sum, uint64_t naks)
{
    const smcr_entry_causes_t *causes = &sum->repeated_after;
    const char *packets = wmem_strdup_printf(
        finder->scope, "%s%s of %s%s", outside_text(finder),
        smcr_words_number(finder->scope, trouble->count),
        smcr_words_things(finder->scope, trouble->packets, "packet"),
        smcr_finding_trouble_hosts(finder, trouble));

    if (is_proven(causes))
        return wmem_strdup_printf(finder->scope, "%s; %s retransmitted (%s)%s%s",
                                  place_of_loss(finder, sum, naks), packets,
                                  SMCR_WORDS_COUNTS(finder->scope, {causes->nak, "after NAKs"},
                                                    {causes->read, anew_text(sum)},
                                                    {causes->timeout,
                                                     after_timeouts(causes->timeout)},
                                                    {causes->unknown, "with unknown cause"}),
                                  alone_of(sum) ? ", each alone (selective repeat)" : "",
                                  duration_text(finder, trouble));
    return wmem_strdup_printf(
        finder->scope, "%s retransmitted%s%s", packets, unproven_cause(finder, causes),
        trouble->slowest >= STALL ? duration_text(finder, trouble) : "");
}

/* Returns the kind of the finding, by the causes of the retransmissions: proven loss, timeouts, or
 * unknown cause. */
static smcr_figure_finding_t
kind_of_loss(const smcr_entry_causes_t *causes)
{
    if (is_proven(causes))
        return SMCR_FIGURE_FOUND_LOSS;
    return causes->timeout ? SMCR_FIGURE_FOUND_TIMEOUTS : SMCR_FIGURE_FOUND_REPEATS;
}

/* Returns the connection's longest wait for retransmissions during a silence, nanoseconds. */
static uint64_t
wait_in_silence(wmem_array_t *silences, const smcr_entry_connection_t *conn)
{
    uint64_t longest = 0;

    SMCR_FIGURE_EACH(conn_wait, wait, conn->longest_waits)
        if (wait->kind == SMCR_FIGURE_WAIT_RETRANSMISSION && is_of_silence(silences, wait))
            longest = MAX(longest, wait->lasted_s);
    return longest;
}

/* Returns how long programs of SMC-R waited for retransmissions, nanoseconds, as far as frames
 * prove it. For each connection only the direction that waited longer counts, since both directions
 * may wait for the same packet. Waits for a silent peer do not count. Returns 0 if no such time is
 * known. */
static uint64_t
wait_for_retransmissions(const smcr_finder_t *finder)
{
    wmem_array_t *silences = gather_silences(finder);
    uint64_t cost = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_conn_time_t *up = conn->client_to_server.time;
        const smcr_entry_conn_time_t *down = conn->server_to_client.time;
        if (conn->outcome != SMCR_FIGURE_OUTCOME_SMCR)
            continue;
        uint64_t waited = MAX(up ? up->retransmission_s : 0, down ? down->retransmission_s : 0);
        uint64_t silent = waited ? wait_in_silence(silences, conn) : 0;
        cost += waited > silent ? waited - silent : 0;
    }
    return cost;
}

#define NOTICED (500 * SMCR_TIME_MILLISECOND) /* lowest cost of a proven loss of MANY_LOST percent
                                                 or more, nanoseconds: users notice such a loss */
#define MANY_LOST 1 /* percent of the packets that were retransmitted, for is_frequent() */

/* Whether MANY_LOST percent or more of the packets were retransmitted. */
static bool
is_frequent(const smcr_finding_trouble_t *trouble)
{
    return trouble->count * 100 >= trouble->packets * MANY_LOST;
}

/* Whether the retransmissions have cost no time that the capture shows: few packets were
 * retransmitted for an unknown cause, no program is known to have waited, and no message was
 * slow. */
static bool
has_no_known_cost(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble,
                  const smcr_entry_causes_t *causes)
{
    bool has_cause = is_proven(causes) || smcr_figure_or_zero(causes->timeout);

    return !has_cause && !is_frequent(trouble) && trouble->slowest < STALL &&
           !wait_for_retransmissions(finder);
}

/* Returns how long programs waited for retransmissions, nanoseconds. If the time of no connection
 * is known, it is the time in which packets of the flows in `sum` were being retransmitted, without
 * the silences of their peers. A proven loss of many packets counts NOTICED at least: it delays
 * programs in other ways, too. */
static uint64_t
cost_of_loss(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble,
             const smcr_entry_rdma_t *sum)
{
    uint64_t cost = wait_for_retransmissions(finder);
    uint64_t repeating = smcr_figure_or_zero(sum->retransmission_s);

    if (!cost)
        cost = repeating - MIN(repeating, smcr_figure_or_zero(sum->silent_s));
    return is_proven(&sum->repeated_after) && is_frequent(trouble) ? MAX(cost, NOTICED) : cost;
}

/* ---- NAKs without a retransmission ---- */

/* Returns the number of NAKs for a PSN sequence error that ask for packets of the flow. */
static uint64_t
naks_of(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);

    return peer ? smcr_figure_or_zero(peer->nak.psn_sequence) : 0;
}

/* Adds the NAKs that ask for packets of the flow, if no packet of it was captured twice. */
static void
add_naks(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
         smcr_finding_trouble_t *trouble)
{
    if (!smcr_figure_or_zero(flow->repeated) && !is_explained_elsewhere(finder, flow))
        smcr_finding_trouble_add(trouble, flow, naks_of(finder, flow), 0);
}

/* Finding: NAKs, and no packet that was captured twice. If a packet was lost upstream of the
 * capture point, a sender with selective repeat retransmits only this packet. In the capture it
 * looks like an out-of-order packet. Each NAK proves that the receiver got a packet with a higher
 * PSN before the missing one. */
static void
find_naks(smcr_finder_t *finder)
{
    smcr_finding_trouble_t trouble = smcr_finding_trouble_sum(finder, add_naks);

    if (!trouble.count)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_LOSS,
                                           .count = trouble.count,
                                           .when = smcr_finder_notice(finder, "smcr.nak").first,
                                           .filter = "smcr.nak || smcr.packet_ahead || "
                                                     "smcr.out_of_order"},
                    "Packets lost, out of order or damaged%s: %s, and no packet captured twice",
                    smcr_finding_trouble_hosts(finder, &trouble),
                    smcr_words_things(finder->scope, trouble.count, "NAK"));
}

/* Adds the NAKs of a flow whose reverse flow, with the packets that they ask for, is not captured.
 * The packets of a link of SMC-R have findings of their own. After an RNR NAK a receiver may refuse
 * later packets by NAKs: then nothing was lost. */
static void
add_naks_alone(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
               smcr_finding_trouble_t *trouble)
{
    bool is_alone = flow->kind != SMCR_FIGURE_FLOW_SMCR && !smcr_finding_flow_peer(finder, flow);

    if (is_alone && !smcr_figure_or_zero(flow->rnr_nak))
        smcr_finding_trouble_add(trouble, flow, smcr_figure_or_zero(flow->nak.psn_sequence), 0);
}

/* Finding: NAKs for packets that are not captured. Each NAK proves that its sender got a packet
 * with a higher PSN before the missing one. */
static void
find_naks_alone(smcr_finder_t *finder)
{
    if (smcr_finder_is_filtered(finder))
        return;
    smcr_finding_trouble_t trouble = smcr_finding_trouble_sum(finder, add_naks_alone);
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_NAKS_ALONE,
                                           .count = trouble.count,
                                           .when = smcr_finder_notice(finder, "smcr.nak").first,
                                           .filter = "smcr.nak.code == 0 && !smcr.rdma.peer"},
                    "%s%s for packets that are not captured: lost, out of order or damaged",
                    smcr_words_things(finder->scope, trouble.count, "NAK"),
                    smcr_finding_trouble_hosts(finder, &trouble));
}

/* ---- the finding of lost packets ---- */

/* Finding: packets were lost, so a reliable queue pair retransmitted them. There are three kinds of
 * this finding:
 * 1. NAKs or repeated READs prove a loss; from 0.2 % of the packets on, the finding is a warning.
 * 2. A timer of the sender ran out.
 * 3. The cause is not known. Without a known cost, the finding is a risk.
 * Flows whose retransmissions another finding explains are not counted
 * (is_explained_elsewhere()). */
static void
find_lost(smcr_finder_t *finder)
{
    smcr_finding_trouble_t trouble = smcr_finding_trouble_sum(finder, add_lost);
    uint64_t naks = 0;
    smcr_entry_rdma_t sum = sum_lossy_flows(finder, &naks);
    const smcr_entry_causes_t *causes = &sum.repeated_after;

    smcr_finder_facts_t facts = {
        .kind = kind_of_loss(causes),
        .count = trouble.count,
        .when = first_trouble(finder, naks),
        .part = part_of_losses(finder),
        .filter = "smcr.nak || smcr.retransmission"};

    if (!trouble.count) {
        find_naks(finder);
        return;
    }
    finder->has_rank[SMCR_FINDING_BY_LOSS] = true; /* explains expert items, whatever its rank */
    if (has_no_known_cost(finder, &trouble, causes))
        facts.rank = SMCR_FINDING_BY_DOUBTFUL_LOSS;
    else
        facts.cost = cost_of_loss(finder, &trouble, &sum);
    if (is_proven(causes) || trouble.slowest >= STALL)
        add_worst_time(finder, &facts);
    smcr_finder_add_as(finder, severity_of_loss(&trouble, causes), &facts, "%s",
                       text_of_loss(finder, &trouble, &sum, naks));
}

/* ---- needless retransmissions ---- */

/* Adds the retransmissions of packets of the flow that had arrived, and the time of its slowest
 * message. */
static void
add_needless(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
                   smcr_finding_trouble_t *trouble)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);

    if (!is_explained_elsewhere(finder, flow) &&
        !(peer && smcr_finding_flow_is_one_way(finder, peer)))
        smcr_finding_trouble_add(trouble, flow, needless_packets_of(finder, flow), 0);
}

/* Whether packets that the finding counts were acknowledged in the capture before they were
 * retransmitted. */
static bool
were_acked_before(const smcr_finder_t *finder)
{
    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        if (needless_packets_of(finder, flow) && flow->recovery->needless)
            return true;
    return false;
}

/* Returns why packets that had arrived were retransmitted, as the end of a sentence. If each packet
 * was acknowledged twice, the sender got the first acknowledgement late. An acknowledgement that
 * comes before the retransmission may be late or lost: the capture does not show what the sender
 * gets. */
static const char *
needless_text(uint64_t count, bool acked_before)
{
    if (!acked_before)
        return "retransmitted without need: the receiver acknowledged each packet and its "
               "retransmission, so no data was lost";
    return count == 1 ? "retransmitted although it had arrived: its acknowledgement came late to "
                        "the sender, or not at all"
                      : "retransmitted although they had arrived: acknowledgements came late to "
                        "the sender, or not at all";
}

/* Returns the end of the sentence: how long the slowest message took. If each packet was
 * acknowledged twice, the path or the receiver has taken that time. "" if it is not known. */
static const char *
slowest_text(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble, bool acked_before)
{
    if (acked_before)
        return smcr_finding_trouble_slowest(finder, trouble);
    if (smcr_finder_has_two_clocks(finder))
        return "";
    return wmem_strdup_printf(finder->scope, "; path or receiver took up to %s",
                              smcr_words_duration(finder->scope, trouble->slowest));
}

/* Finding: packets were retransmitted, and none of them was lost. The receiver acknowledged both
 * transmissions, or the first one before the retransmission. So acknowledgements took longer than
 * the timer of the sender, or were lost after the capture point. */
static void
find_needless(smcr_finder_t *finder)
{
    smcr_finding_trouble_t trouble = smcr_finding_trouble_sum(finder, add_needless);
    /* a silence that has delayed messages has a finding of its own */
    bool is_slow = trouble.slowest >= STALL && !count_silences(finder);
    wmem_allocator_t *scope = finder->scope;

    if (!trouble.count)
        return;
    bool acked_before = were_acked_before(finder);
    finder->has_rank[SMCR_FINDING_BY_LOSS] = true; /* explains the same expert items */
    smcr_finder_add_as(
        finder, is_slow ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_ANSWERED_TWICE,
                               .count = trouble.count,
                               .when = first_repeated(finder, needless_packets_of),
                               .part = part_of_losses(finder),
                               .rank = is_slow ? SMCR_FINDING_BY_LOSS : 0,
                               .cost = is_slow ? trouble.slowest : 0,
                               .filter = "smcr.retransmission"},
        "%s of %s%s %s%s%s", smcr_words_number(scope, trouble.count),
        smcr_words_things(scope, trouble.packets, "packet"),
        smcr_finding_trouble_hosts(finder, &trouble), needless_text(trouble.count, acked_before),
        may_be_copies(finder, needless_packets_of) ? "; or captured twice" : "",
        is_slow ? slowest_text(finder, &trouble, acked_before) : "");
}

/* ---- packets that are not captured ---- */

/* Whether the flow has packets of the unreliable connection service (UC): the receiver sends no
 * acknowledgements, and the sender retransmits nothing. */
static bool
is_unreliable(const smcr_entry_rdma_t *flow)
{
    for (unsigned i = 0; i < flow->opcodes.length; i++)
        if (flow->opcodes.counts[i].opcode >> 5 == 1) /* the upper three bits of the opcode are the
                                                         transport: 1 is UC */
            return true;
    return false;
}

/* Whether packets that are missing in the capture may have been lost on the network. This is so in
 * four cases:
 * 1. the reverse flow is not known;
 * 2. the sender retransmitted packets;
 * 3. the receiver sent a NAK for a PSN sequence error;
 * 4. a packet of either flow has a wrong ICRC. */
static bool
may_be_lost(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);

    return !peer || smcr_figure_or_zero(flow->repeated) ||
           smcr_figure_or_zero(peer->nak.psn_sequence) ||
           smcr_finding_flow_is_damaged(finder, flow);
}

/* Adds the flow's missing packets. If nothing shows a loss (may_be_lost() is false), and for UC,
 * all of them count. Otherwise those count that the receiver acknowledged and the sender did not
 * retransmit. A disordered flow adds none, and a damaged one only if all count. */
static void
add_missing(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
            smcr_finding_trouble_t *trouble)
{
    bool is_all = !may_be_lost(finder, flow) || is_unreliable(flow);
    if (smcr_finding_flow_is_disordered(finder, flow))
        return;
    uint64_t count = is_all ? flow->missing : flow->not_captured;

    if (is_all || !smcr_finding_flow_is_damaged(finder, flow))
        smcr_finding_trouble_add(trouble, flow, smcr_figure_or_zero(count), 0);
}

/* Returns, as the end of a sentence, why packets are missing in the capture. */
static const char *
cause_of_missing(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble)
{
    if (trouble->at && is_unreliable(trouble->at))
        return "lost or not captured; UC does not retransmit";
    if (!smcr_finder_notice(finder, "smcr.out_of_order").count)
        return "not captured, and not retransmitted: probably missed by the capture, not lost";
    return "not captured or out of order, and not retransmitted: probably not lost";
}

/* Returns the packet after the first gap of the flow with the most missing packets. If it is not
 * known, returns the first packet of the capture after a gap. */
static smcr_when_t
first_missing(const smcr_finder_t *finder, const smcr_finding_trouble_t *trouble)
{
    if (trouble->at && trouble->at->not_captured_frame.frame)
        return trouble->at->not_captured_frame;
    return smcr_finder_notice(finder, "smcr.packet_ahead").first;
}

/* Finding: packets were not captured. The capture has a sequence gap that is never filled, and
 * neither sender nor receiver reacts to the missing packets. So the receiver got these packets, and
 * only the capture does not have them. UC never reacts, so packets of UC may be lost or not
 * captured. No finding is made under a display filter of the report, since the filter itself hides
 * packets. */
static void
find_missing(smcr_finder_t *finder)
{
    smcr_finding_trouble_t trouble = smcr_finding_trouble_sum(finder, add_missing);

    if (smcr_finder_is_filtered(finder))
        return;
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_NOT_CAPTURED,
                               .count = trouble.count,
                               .when = first_missing(finder, &trouble),
                               .filter = "smcr.packet_ahead"},
        "Sequence gaps: %s%s %s", smcr_words_things(finder->scope, trouble.count, "RoCE packet"),
        smcr_finding_trouble_hosts(finder, &trouble), cause_of_missing(finder, &trouble));
}

void
smcr_finding_on_loss(smcr_finder_t *finder)
{
    find_lost(finder);
    find_naks_alone(finder);
    find_needless(finder);
    find_missing(finder);
}
