/* on_fabric.c
 * How packets of RDMA fared: damaged, refused, without receive buffer, lost, marked.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include <inttypes.h>
#include <string.h>

#include "flows.h"
#include "report/words/words.h"

/* What one kind of trouble adds up to over the flows that it concerns. */
typedef struct {
    uint64_t count;              /* packets in trouble */
    uint64_t packets;            /* all of these flows */
    uint64_t again;              /* packets sent again for it */
    uint64_t slowest;            /* message, nanoseconds */
    const smcr_rdma_entry_t *at; /* the flow with most of it */
    uint64_t most;
    bool several;                /* more hosts than two */
} trouble_t;

static bool
same_hosts(const smcr_rdma_entry_t *one, const smcr_rdma_entry_t *other)
{
    if (!one->src || !one->dst || !other->src || !other->dst)
        return false;
    return strcmp(one->src, other->src) == 0 && strcmp(one->dst, other->dst) == 0;
}

static void
add_trouble(trouble_t *trouble, const smcr_rdma_entry_t *flow, uint64_t count, uint64_t again)
{
    if (!count)
        return;
    trouble->several |= trouble->at && !same_hosts(trouble->at, flow);
    if (!trouble->at || count > trouble->most) {
        trouble->at = flow;
        trouble->most = count;
    }
    trouble->count += count;
    trouble->packets += smcr_known(flow->packets);
    trouble->again += again;
    trouble->slowest = MAX(trouble->slowest, flow->completion_time_s.max);
}

/* "from A to B", or the pair with most of it */
static const char *
between(const smcr_finder_t *finder, const trouble_t *trouble)
{
    const smcr_rdma_entry_t *flow = trouble->at;

    if (!flow || !flow->src || !flow->dst)
        return "";
    return smcr_finder_text(finder, " %s%s", trouble->several ? "in several directions, most of them " : "",
                            smcr_words_flow(finder->scope, flow));
}

static const char *
slowest(const smcr_finder_t *finder, const trouble_t *trouble)
{
    if (trouble->slowest < 10000000)
        return "";
    return smcr_finder_text(finder, "; a message took up to %s",
                            smcr_words_duration(finder->scope, trouble->slowest));
}

typedef void add_t(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow,
                   trouble_t *trouble);

static trouble_t
sum_up(const smcr_finder_t *finder, add_t *add)
{
    const smcr_list_t *flows = &finder->report->rdma_flows;
    trouble_t trouble = {0};

    for (uint32_t i = 0; i < flows->length; i++)
        add(finder, flows->entries[i], &trouble);
    return trouble;
}

static const char *
again(const smcr_finder_t *finder, uint64_t packets)
{
    if (!packets)
        return "";
    return smcr_finder_text(finder, "; %s sent again",
                            smcr_finder_things(finder, packets, "packet"));
}

/* ---- damaged packets ---- */

static void
add_damaged(const smcr_finder_t *finder _U_, const smcr_rdma_entry_t *flow, trouble_t *trouble)
{
    if (flow->icrc)
        add_trouble(trouble, flow, smcr_known(flow->icrc->bad), smcr_known(flow->repeated));
}

static void
find_damaged(smcr_finder_t *finder)
{
    trouble_t trouble = sum_up(finder, add_damaged);
    smcr_notice_t notice = smcr_finder_notice(finder, "smcr.icrc.bad");
    smcr_finding_entry_t *finding;

    if (!trouble.count)
        return;
    finding = smcr_finder_add(finder, SMCR_ERROR, SMCR_BY_ICRC, "wrong_icrc", trouble.count,
                              notice.first);
    finding->text = smcr_finder_text(
        finder, "%s with a wrong ICRC%s: the receiver drops %s%s",
        smcr_finder_things(finder, trouble.count, "packet"), between(finder, &trouble),
        trouble.count == 1 ? "it" : "them", again(finder, trouble.again));
    finding->filter = "smcr.icrc.bad";
}

/* ---- refused packets ---- */

static void
add_refused(const smcr_finder_t *finder _U_, const smcr_rdma_entry_t *flow, trouble_t *trouble)
{
    const smcr_naks_entry_t *nak = &flow->nak;

    add_trouble(trouble, flow,
                smcr_known(nak->invalid_request) + smcr_known(nak->remote_access) +
                    smcr_known(nak->remote_operational) + smcr_known(nak->invalid_rd),
                0);
}

static void
add_reason(const smcr_finder_t *finder, uint64_t count, const char *name, const char **names)
{
    if (smcr_known(count))
        *names = **names ? smcr_finder_text(finder, "%s, %s", *names, name) : name;
}

static const char *
reasons(const smcr_finder_t *finder)
{
    const smcr_list_t *flows = &finder->report->rdma_flows;
    smcr_naks_entry_t sum = {0};
    const char *names = "";

    for (uint32_t i = 0; i < flows->length; i++)
        smcr_entry_join(&sum, &((const smcr_rdma_entry_t *)flows->entries[i])->nak,
                        &smcr_naks_description, finder->scope);
    add_reason(finder, sum.invalid_request, "invalid request", &names);
    add_reason(finder, sum.remote_access, "remote access error", &names);
    add_reason(finder, sum.remote_operational, "remote operational error", &names);
    add_reason(finder, sum.invalid_rd, "invalid RD request", &names);
    return names;
}

static void
find_refused(smcr_finder_t *finder)
{
    trouble_t trouble = sum_up(finder, add_refused);
    smcr_notice_t notice = smcr_finder_notice(finder, "smcr.nak");
    smcr_finding_entry_t *finding;

    if (!trouble.count)
        return;
    if (notice.text && strstr(notice.text, "sequence")) /* the first NAK is another one */
        notice.first = (smcr_when_t){0};
    finding = smcr_finder_add(finder, SMCR_WARN, SMCR_BY_REFUSAL, "refused", trouble.count,
                              notice.first);
    finding->text = smcr_finder_text(finder, "%s refuses %s: NAK with %s. The queue pair fails",
                                     trouble.several || !trouble.at->src ? "A receiver" : trouble.at->src,
                                     smcr_finder_things(finder, trouble.count, "request"),
                                     reasons(finder));
    finding->filter = "smcr.nak.code > 0";
}

/* ---- receive buffers ---- */

static void
add_waited(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow, trouble_t *trouble)
{
    const smcr_rdma_entry_t *data = smcr_flow_peer(finder, flow);

    add_trouble(trouble, flow, smcr_known(flow->rnr_nak),
                data ? smcr_known(data->repeated_after.rnr) : 0);
    if (data && smcr_known(flow->rnr_nak))
        trouble->slowest = MAX(trouble->slowest, data->completion_time_s.max);
}

static void
find_waited(smcr_finder_t *finder)
{
    trouble_t trouble = sum_up(finder, add_waited);
    smcr_notice_t notice = smcr_finder_notice(finder, "smcr.rnr_nak");
    smcr_finding_entry_t *finding;

    if (!trouble.count)
        return;
    finding = smcr_finder_add(finder, SMCR_WARN, SMCR_BY_RNR, "no_receive_buffer", trouble.count,
                              notice.first);
    finding->text = smcr_finder_text(finder, "%s had no receive buffer: %s%s%s",
                                     trouble.several || !trouble.at->src ? "Receivers" : trouble.at->src,
                                     smcr_finder_things(finder, trouble.count, "RNR NAK"),
                                     again(finder, trouble.again), slowest(finder, &trouble));
    finding->filter = "smcr.rnr_nak";
}

/* ---- lost packets ---- */

static void
add_lost(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow, trouble_t *trouble)
{
    add_trouble(trouble, flow, smcr_flow_lost(finder, flow), 0);
}

/* How the senders came to know. */
static const char *
causes(const smcr_finder_t *finder)
{
    const smcr_list_t *flows = &finder->report->rdma_flows;
    smcr_causes_entry_t sum = {0};
    const char *names = "";

    for (uint32_t i = 0; i < flows->length; i++) {
        const smcr_rdma_entry_t *flow = flows->entries[i];
        if (smcr_flow_lost(finder, flow))
            smcr_entry_join(&sum, &flow->repeated_after, &smcr_causes_description, finder->scope);
    }
    if (sum.nak)
        names = smcr_finder_text(finder, "%s after NAKs", smcr_words_number(finder->scope, sum.nak));
    if (sum.timeout)
        names = smcr_finder_text(finder, "%s%s%s after timeouts", names, *names ? ", " : "",
                                 smcr_words_number(finder->scope, sum.timeout));
    if (sum.read)
        names = smcr_finder_text(finder, "%s%s%s after lost READ responses", names,
                                 *names ? ", " : "", smcr_words_number(finder->scope, sum.read));
    return *names ? smcr_finder_text(finder, " (%s)", names) : "";
}

/* Above 0.2 percent, users of RoCE call it trouble. Repeats without a known cause may be none. */
static smcr_severity_t
severity_of_loss(const smcr_finder_t *finder, const trouble_t *trouble)
{
    if (trouble->count * 500 >= trouble->packets)
        return SMCR_WARN;
    return *causes(finder) ? SMCR_NOTE : SMCR_CHAT;
}

static void
find_lost(smcr_finder_t *finder)
{
    trouble_t trouble = sum_up(finder, add_lost);
    smcr_notice_t nak = smcr_finder_notice(finder, "smcr.nak");
    smcr_notice_t repeat = smcr_finder_notice(finder, "smcr.packet_retransmitted");
    smcr_finding_entry_t *finding;

    if (!trouble.count)
        return;
    finding = smcr_finder_add(finder, severity_of_loss(finder, &trouble), SMCR_BY_LOSS, "loss",
                              trouble.count, smcr_when_earlier(nak.first, repeat.first));
    finding->text = smcr_finder_text(
        finder, "Packets are lost%s: %s of %s sent again%s%s", between(finder, &trouble),
        smcr_words_number(finder->scope, trouble.count),
        smcr_finder_things(finder, trouble.packets, "packet"), causes(finder),
        slowest(finder, &trouble));
    finding->filter = "smcr.nak || smcr.packet_retransmitted";
}

/* ---- congestion ---- */

static void
add_marked(const smcr_finder_t *finder, const smcr_rdma_entry_t *flow, trouble_t *trouble)
{
    const smcr_rdma_entry_t *peer = smcr_flow_peer(finder, flow);

    add_trouble(trouble, flow, smcr_known(flow->ecn.ce), peer ? smcr_known(peer->cnp) : 0);
}

static void
add_notified(const smcr_finder_t *finder _U_, const smcr_rdma_entry_t *flow, trouble_t *trouble)
{
    add_trouble(trouble, flow, smcr_known(flow->cnp), 0);
}

static void
find_congestion(smcr_finder_t *finder)
{
    trouble_t marked = sum_up(finder, add_marked);
    trouble_t notified = sum_up(finder, add_notified);
    smcr_when_t ce = smcr_finder_notice(finder, "smcr.ecn == 3").first;
    smcr_when_t cnp = smcr_finder_notice(finder, "smcr.congestion").first;
    const char *cnps = smcr_finder_things(finder, notified.count, "congestion notification");
    smcr_finding_entry_t *finding;

    if (!marked.count && !notified.count)
        return;
    finding = smcr_finder_add(finder, SMCR_WARN, SMCR_BY_CONGESTION, "congestion",
                              marked.count + notified.count, smcr_when_earlier(ce, cnp));
    if (marked.count)
        finding->text = smcr_finder_text(finder, "Congestion%s: %s of %s marked CE, %s",
                                         between(finder, &marked),
                                         smcr_words_number(finder->scope, marked.count),
                                         smcr_finder_things(finder, marked.packets, "packet"), cnps);
    else
        finding->text = smcr_finder_text(finder, "Congestion%s: the sender of the data gets %s",
                                         between(finder, &notified), cnps);
    finding->filter = "smcr.ecn == 3 || smcr.congestion";
}

/* ---- RDMA-CM ---- */

static void
find_rejected(smcr_finder_t *finder)
{
    smcr_notice_t notice = smcr_finder_notice(finder, "smcr.cm.rejected");
    smcr_finding_entry_t *finding;

    if (!notice.count)
        return;
    finding = smcr_finder_add(finder, SMCR_WARN, SMCR_BY_CM_REJECT, "cm_rejected", notice.count,
                              notice.first);
    finding->text = smcr_finder_text(finder, "%s rejected: %s",
                                     smcr_finder_things(finder, notice.count, "RDMA-CM connection"),
                                     notice.text);
    finding->filter = "smcr.cm.rejected";
}

void
smcr_find_on_fabric(smcr_finder_t *finder)
{
    find_damaged(finder);
    find_refused(finder);
    find_waited(finder);
    find_lost(finder);
    find_congestion(finder);
    find_rejected(finder);
}
