/* How packets of RDMA fared: damaged, refused, without receive buffer, lost, not captured, marked.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include "report/words/words.h"

/* What one kind of trouble adds up to over the flows that it concerns. */
typedef struct {
    uint64_t count;              /* packets in trouble */
    uint64_t packets;            /* all of these flows */
    uint64_t again;              /* packets retransmitted for it */
    uint64_t slowest;            /* of the messages retransmitted, nanoseconds */
    uint64_t answered;           /* CNPs that answer marks; repeats after NAKs for damage */
    const smcr_entry_rdma_t *at; /* the flow with most of it */
    uint64_t most;
    uint64_t flows;    /* that have it; only where somebody asks */
    bool both, others; /* the other direction has it too; other hosts have */
} trouble_t;

static bool
is_from_to(const smcr_entry_rdma_t *flow, const char *src, const char *dst)
{
    return g_strcmp0(flow->src, src) == 0 && g_strcmp0(flow->dst, dst) == 0;
}

static void
add_trouble(trouble_t *trouble, const smcr_entry_rdma_t *flow, uint64_t count, uint64_t again)
{
    const smcr_entry_rdma_t *at = trouble->at;

    if (!count)
        return;
    if (at && flow->src && !is_from_to(flow, at->src, at->dst)) {
        bool back = is_from_to(flow, at->dst, at->src);
        trouble->both |= back;
        trouble->others |= !back;
    }
    if (!at || count > trouble->most) {
        trouble->at = flow;
        trouble->most = count;
    }
    trouble->count += count;
    trouble->packets += smcr_figure_known(flow->packets);
    trouble->again += again;
    trouble->slowest = MAX(trouble->slowest, flow->repeated_completion_time_s.max);
}

/* " from A to B", " between A and B" */
static const char *
between(const smcr_finder_t *finder, const trouble_t *trouble)
{
    const smcr_entry_rdma_t *flow = trouble->at;

    if (!flow || !flow->src || !flow->dst)
        return "";
    if (trouble->others)
        return wmem_strdup_printf(finder->scope, " of several hosts, most from %s to %s", flow->src,
                                  flow->dst);
    return wmem_strdup_printf(finder->scope,
                              trouble->both ? " between %s and %s" : " from %s to %s", flow->src,
                              flow->dst);
}

/* Who sends the packets; `several` where not one host does, or it is not known. */
static const char *
source(const trouble_t *trouble, const char *several)
{
    bool known = trouble->at && trouble->at->src && !trouble->both && !trouble->others;

    return known ? trouble->at->src : several;
}

static const char *
slowest(const smcr_finder_t *finder, const trouble_t *trouble)
{
    if (trouble->slowest < 10000000)
        return "";
    return wmem_strdup_printf(finder->scope, "; their slowest message took %s",
                              smcr_words_duration(finder->scope, trouble->slowest));
}

typedef void add_flow_t(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
                        trouble_t *trouble);

static trouble_t
sum_up(const smcr_finder_t *finder, add_flow_t *add)
{
    const smcr_figure_list_t *flows = &finder->report->rdma_flows;
    trouble_t trouble = {0};

    for (uint32_t i = 0; i < flows->length + flows->rest; i++)
        add(finder, flows->entries[i], &trouble);
    return trouble;
}

static const char *
again(const smcr_finder_t *finder, uint64_t packets)
{
    if (!packets)
        return "";
    return wmem_strdup_printf(finder->scope, "; %s retransmitted",
                              smcr_words_things(finder->scope, packets, "packet"));
}

/* ---- damaged packets ---- */

static void
add_damaged(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow, trouble_t *trouble)
{
    if (flow->icrc)
        add_trouble(trouble, flow, smcr_figure_known(flow->icrc->bad), 0);
    if (smcr_finding_flow_is_damaged(finder, flow))
        trouble->again += smcr_figure_known(flow->repeated);
    trouble->answered += smcr_figure_known(flow->repeated_after.icrc);
}

/* A receiver that drops a packet gets it again. */
static const char *
effect_of_damage(const smcr_finder_t *finder, const trouble_t *trouble)
{
    if (trouble->again)
        return wmem_strdup_printf(finder->scope, "the receiver drops %s%s, %s after NAKs for %s",
                                  trouble->count == 1 ? "it" : "them",
                                  again(finder, trouble->again),
                                  smcr_words_number(finder->scope, trouble->answered),
                                  trouble->count == 1 ? "it" : "them");
    if (smcr_finder_is_filtered(finder))
        return "damaged on the way, or in the capture alone";
    return "nothing was retransmitted, so perhaps damaged in the capture alone";
}

static void
find_damaged(smcr_finder_t *finder)
{
    trouble_t trouble = sum_up(finder, add_damaged);
    const char *filter = "smcr.icrc.bad";

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_WRONG_ICRC,
                                           .count = trouble.count,
                                           .when = smcr_finder_notice(finder, filter).first,
                                           .filter = filter},
                    "%s with a wrong ICRC%s: %s",
                    smcr_words_things(finder->scope, trouble.count, "packet"),
                    between(finder, &trouble), effect_of_damage(finder, &trouble));
}

/* ---- refused packets ---- */

static void
add_refused(const smcr_finder_t *finder _U_, const smcr_entry_rdma_t *flow, trouble_t *trouble)
{
    uint64_t count = smcr_figure_naks_count(&flow->nak) - smcr_figure_known(flow->nak.psn_sequence);

    add_trouble(trouble, flow, count, 0);
    trouble->flows += count != 0;
}

/* A PSN sequence error is none of them: it ends no queue pair. */
static const char *
reasons(const smcr_finder_t *finder)
{
    smcr_entry_naks_t sum = {0};

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows)
        smcr_entry_join(&sum, &flow->nak, &smcr_entry_naks_description, finder->scope);
    return SMCR_WORDS_COUNTS(finder->scope, {sum.invalid_request, "for an invalid request"},
                             {sum.remote_access, "for a remote access error"},
                             {sum.remote_operational, "for a remote operational error"},
                             {sum.invalid_rd, "for an invalid RD request"});
}

static void
find_refused(smcr_finder_t *finder)
{
    trouble_t trouble = sum_up(finder, add_refused);
    const char *filter = "smcr.nak.code > 0";
    const char *fail = "the queue pair fails";

    if (trouble.flows > 1)
        fail = wmem_strdup_printf(finder->scope, "%s fail",
                                  smcr_words_things(finder->scope, trouble.flows, "queue pair"));
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_REFUSED,
                                           .count = trouble.count,
                                           .when = smcr_finder_notice(finder, filter).first,
                                           .filter = filter},
                    "%s refuses %s, and %s: %s", source(&trouble, "A receiver"),
                    smcr_words_things(finder->scope, trouble.count, "request"), fail,
                    reasons(finder));
}

/* ---- receive buffers ---- */

static void
add_waited(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow, trouble_t *trouble)
{
    const smcr_entry_rdma_t *data = smcr_finding_flow_peer(finder, flow);

    add_trouble(trouble, flow, smcr_figure_known(flow->rnr_nak),
                data ? smcr_figure_known(data->repeated_after.rnr) : 0);
    if (data && smcr_figure_known(flow->rnr_nak))
        trouble->slowest = MAX(trouble->slowest, data->repeated_completion_time_s.max);
}

static void
find_waited(smcr_finder_t *finder)
{
    trouble_t trouble = sum_up(finder, add_waited);
    const char *filter = "smcr.rnr_nak";

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_NO_RECEIVE_BUFFER,
                                           .count = trouble.count,
                                           .when = smcr_finder_notice(finder, filter).first,
                                           .filter = filter},
                    "%s had no receive buffer: %s%s%s", source(&trouble, "Receivers"),
                    smcr_words_things(finder->scope, trouble.count, "RNR NAK"),
                    again(finder, trouble.again), slowest(finder, &trouble));
}

/* ---- lost packets ---- */

/* Packets retransmitted, but for causes that findings of their own explain: receive buffers, wrong
 * ICRCs, a peer or a link that is dead, a link group that has ended. */
static uint64_t
repeats_of(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_causes_t *causes = &flow->repeated_after;
    /* after the end of a link group its last packets are retransmitted: nobody takes them now */
    smcr_figure_notice_t ended = smcr_finder_notice(finder, "smcr.packet_retransmitted.ended");
    uint64_t needless = flow->last_frame.frame >= ended.first.frame ? ended.count : 0;
    uint64_t repeats = smcr_figure_known(causes->nak) + smcr_figure_known(causes->read) +
                       smcr_figure_known(causes->timeout) + smcr_figure_known(causes->unknown);

    if (smcr_finding_flow_is_damaged(finder, flow) || smcr_finding_flow_is_dead_end(finder, flow))
        return 0;
    if (smcr_finding_flow_unanswered(finder, flow) && !smcr_figure_known(causes->nak))
        return 0;
    return repeats > needless ? repeats - needless : 0;
}

static void
add_repeats(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow, trouble_t *trouble)
{
    add_trouble(trouble, flow, repeats_of(finder, flow), 0);
}

/* The flows that have repeats, added up; `*naks`: for a PSN sequence error, that answer them. */
static smcr_entry_rdma_t
sum_repeated(const smcr_finder_t *finder, uint64_t *naks)
{
    smcr_entry_rdma_t sum = {0};

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows) {
        const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
        if (!repeats_of(finder, flow))
            continue;
        smcr_entry_join(&sum, flow, &smcr_entry_rdma_description, finder->scope);
        *naks += peer ? smcr_figure_known(peer->nak.psn_sequence) : 0;
    }
    return sum;
}

/* Somebody missed a packet: the receiver said so, or the reader did. It was lost or overtaken. */
static bool
is_proven(const smcr_entry_causes_t *causes)
{
    return causes->nak || causes->read;
}

#define A_FEW 3
#define STALL UINT64_C(100000000) /* nanoseconds that a user notices */

/* Above 0.2 percent, users of RoCE call it trouble. */
static bool
are_many(const trouble_t *trouble)
{
    return trouble->count * 500 >= trouble->packets;
}

/* A repeat that nobody asked for may be needless, and costs little unless a message was late. */
static smcr_figure_severity_t
severity_of_repeats(const trouble_t *trouble, const smcr_entry_causes_t *causes)
{
    if (is_proven(causes))
        return are_many(trouble) ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE;
    if (causes->timeout && trouble->slowest >= STALL)
        return SMCR_FIGURE_WARN;
    if (causes->timeout || (trouble->slowest && trouble->slowest < STALL)) /* nobody had to wait */
        return SMCR_FIGURE_INFO;
    return trouble->count >= A_FEW && are_many(trouble) ? SMCR_FIGURE_NOTE : SMCR_FIGURE_INFO;
}

/* Where the capture has all packets in order, the receivers have missed them behind its place. Of
 * the others, those that came behind later ones were out of order; those that never came, lost. */
static const char *
missed(const smcr_finder_t *finder, const smcr_entry_rdma_t *sum, uint64_t naks)
{
    if (!sum->missing && !sum->repeated_after.read) /* of responses nobody counts what is absent */
        return finder->report->capture.check_icrc == SMCR_FIGURE_YES
                   ? "Packets lost behind the capture point"
                   : "Packets lost behind the capture point, or damaged (-o smcr.check_icrc:TRUE)";
    if (!smcr_finder_notice(finder, "smcr.out_of_order").count && !sum->repeated_after.read)
        return "Packets lost";
    return naks && naks == sum->late_naks ? "Packets out of order" : "Packets lost or out of order";
}

static const char *
text_of_repeats(const smcr_finder_t *finder, const trouble_t *trouble, const smcr_entry_rdma_t *sum,
                uint64_t naks)
{
    const char *what = wmem_strdup_printf(
        finder->scope, "%s of %s%s", smcr_words_number(finder->scope, trouble->count),
        smcr_words_things(finder->scope, trouble->packets, "packet"), between(finder, trouble));

    if (is_proven(&sum->repeated_after)) {
        const smcr_entry_causes_t *causes = &sum->repeated_after; /* how the senders came to know */
        return wmem_strdup_printf(
            finder->scope, "%s; %s retransmitted (%s)%s", missed(finder, sum, naks), what,
            SMCR_WORDS_COUNTS(finder->scope, {causes->nak, "after NAKs"},
                              {causes->read, "after lost READ responses"},
                              {causes->timeout, "after timeouts"},
                              {causes->unknown, "for an unknown cause"}), slowest(finder, trouble));
    }
    return wmem_strdup_printf(finder->scope, "%s retransmitted %s%s", what,
                              !sum->repeated_after.timeout ? "for a cause that is not known"
                              /* the identification of IPv4 tells copies, however late */
                              : trouble->at->src && strchr(trouble->at->src, ':')
                                  ? "without a NAK, as when a timer runs out, or captured twice"
                                  : "without a NAK, as when a timer runs out",
                              trouble->slowest >= STALL ? slowest(finder, trouble) : "");
}

static void
find_repeats(smcr_finder_t *finder)
{
    trouble_t trouble = sum_up(finder, add_repeats);
    uint64_t naks = 0;
    smcr_entry_rdma_t sum = sum_repeated(finder, &naks);
    const smcr_entry_causes_t *causes = &sum.repeated_after;

    smcr_finder_add_as(finder, severity_of_repeats(&trouble, causes),
                       &(smcr_finder_facts_t){.kind = is_proven(causes) ? SMCR_FIGURE_FOUND_LOSS
                                                      : causes->timeout ? SMCR_FIGURE_FOUND_TIMEOUTS
                                                                        : SMCR_FIGURE_FOUND_REPEATS,
                                              .count = trouble.count,
                                              .when = smcr_finder_first(
                                                  finder, "smcr.nak", "smcr.packet_retransmitted"),
                                              .filter = "smcr.nak || smcr.retransmission"},
                       "%s", text_of_repeats(finder, &trouble, &sum, naks));
}

/* ---- packets that the capture lacks ---- */

/* Unreliable: nobody acknowledges its packets, and nobody repeats them. */
static bool
is_unreliable(const smcr_entry_rdma_t *flow)
{
    for (unsigned i = 0; i < flow->opcodes.length; i++)
        if (flow->opcodes.counts[i].opcode >> 5 == 1) /* UC */
            return true;
    return false;
}

/* Missing packets whose retransmission no peer asked for. */
static void
add_missing(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow, trouble_t *trouble)
{
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, flow);
    bool repaired = !peer || smcr_figure_known(flow->repeated) ||
                    smcr_figure_known(peer->nak.psn_sequence) ||
                    smcr_finding_flow_is_damaged(finder, flow);

    if (!repaired || is_unreliable(flow))
        add_trouble(trouble, flow, smcr_figure_known(flow->missing), 0);
}

static void
find_missing(smcr_finder_t *finder)
{
    trouble_t trouble = sum_up(finder, add_missing);
    bool late = smcr_finder_notice(finder, "smcr.out_of_order").count;
    const char *them = trouble.count == 1 ? "it" : "them";
    const char *why =
        trouble.at && is_unreliable(trouble.at)
            ? " of UC, which retransmits none: lost, or not captured"
            : wmem_strdup_printf(finder->scope, "%s that nobody retransmitted%s%s",
                                 trouble.others ? "," : "",
                                 late ? wmem_strdup_printf(finder->scope, ", or has %s", them) : "",
                                 late ? " out of order" : "");

    if (!smcr_finder_is_filtered(finder))
        smcr_finder_add(
            finder,
            &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_NOT_CAPTURED,
                                   .count = trouble.count,
                                   .when = smcr_finder_notice(finder, "smcr.packet_ahead").first,
                                   .filter = "smcr.packet_ahead"},
            "The capture lacks %s%s%s",
            smcr_words_things(finder->scope, trouble.count, "RoCE packet"),
            between(finder, &trouble), why);
}

/* ---- congestion ---- */

static void
add_marked(const smcr_finder_t *finder _U_, const smcr_entry_rdma_t *flow, trouble_t *trouble)
{
    add_trouble(trouble, flow, smcr_figure_known(flow->ecn.ce), 0);
    trouble->answered += flow->ce_to_cnp_s.count;
}

static const char *
cnps(const smcr_finder_t *finder, const trouble_t *marked, const trouble_t *notified)
{
    const char *all = smcr_words_things(finder->scope, notified->count, "CNP");

    if (!notified->count)
        return "no CNP";
    if (marked->answered >= notified->count)
        return wmem_strdup_printf(finder->scope, "%s in answer", all);
    return wmem_strdup_printf(finder->scope, "%s, %s of them in answer to a mark", all,
                              smcr_words_number(finder->scope, marked->answered));
}

static void
add_notified(const smcr_finder_t *finder _U_, const smcr_entry_rdma_t *flow, trouble_t *trouble)
{
    add_trouble(trouble, flow, smcr_figure_known(flow->cnp), 0);
}

static void
find_congestion(smcr_finder_t *finder)
{
    trouble_t marked = sum_up(finder, add_marked);
    trouble_t notified = sum_up(finder, add_notified);
    bool many = (marked.count && marked.count * 100 >= marked.packets) ||
                (notified.count && notified.count * 100 >= notified.packets);
    const char *text;

    if (marked.count)
        text = wmem_strdup_printf(finder->scope, "%s of %s%s marked CE, %s",
                                  smcr_words_number(finder->scope, marked.count),
                                  smcr_words_things(finder->scope, marked.packets, "packet"),
                                  between(finder, &marked), cnps(finder, &marked, &notified));
    else
        text = wmem_strdup_printf(finder->scope, "%s%s, and no packet marked CE",
                                  smcr_words_things(finder->scope, notified.count, "CNP"),
                                  between(finder, &notified));
    smcr_finder_add_as(finder, many ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE,
                       &(smcr_finder_facts_t){
                           .kind = SMCR_FIGURE_FOUND_CONGESTION,
                           .count = /* a few are what ECN is for */
                           marked.count + notified.count,
                           .when = smcr_finder_first(finder, "smcr.ecn == 3", "smcr.congestion"),
                           .filter = "smcr.ecn == 3 || smcr.congestion"},
                       "Congestion: %s", text);
}

/* ---- RDMA-CM ---- */

static void
find_rejected(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.cm.rejected");

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_CM_REJECTED,
                                           .count = notice.count,
                                           .when = notice.first,
                                           .filter = notice.filter},
                    "RDMA-CM, %s: %s rejected%s%s", smcr_finder_subject(finder, notice.subject),
                    smcr_words_things(finder->scope, notice.count, "connection"),
                    notice.count > 1 ? ", the first one here: " : ": ", notice.reason);
}

static void
find_unanswered_cm(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.cm.repeat");

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_CM_REPEAT,
                                           .count = notice.count,
                                           .when = notice.first,
                                           .filter = notice.filter},
                    "RDMA-CM, %s: %s retransmitted%s: messages are lost, or answers are late",
                    smcr_finder_subject(finder, notice.subject),
                    smcr_words_things(finder->scope, notice.count, "message"),
                    notice.count > 1 ? ", the first one here" : "");
}

void
smcr_finding_on_fabric(smcr_finder_t *finder)
{
    find_damaged(finder);
    find_refused(finder);
    find_waited(finder);
    find_repeats(finder);
    find_missing(finder);
    find_congestion(finder);
    find_rejected(finder);
    find_unanswered_cm(finder);
}
