/* on_tcp.c
 * How TCP fared: segments sent again, marks of congestion.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include "report/words/words.h"

#define A_FEW 3 /* a timer that was early sends again what had arrived */

typedef struct {
    uint64_t all, segments, again, marked, echoed; /* `segments`: with data */
    unsigned flows, repeaters;                     /* with congestion; with repeats */
    const smcr_entry_tcp_t *first, *repeats;       /* with congestion; with repeats */
} tcp_sum_t;

static void
add_direction(tcp_sum_t *sum, const smcr_entry_tcp_direction_t *direction)
{
    uint64_t again = smcr_figure_known(direction->repeated_segments);

    /* what has an older time stamp was sent before what came before it: it is only late */
    sum->again += again - MIN(again, smcr_figure_known(direction->late_segments));
    sum->segments += smcr_figure_known(direction->data_segments);
    sum->marked += smcr_figure_known(direction->ce);
    sum->echoed += smcr_figure_known(direction->ece);
}

static tcp_sum_t
sum_up(const smcr_finder_t *finder)
{
    tcp_sum_t sum = {0};

    SMCR_FIGURE_EACH(tcp, flow, finder->report->tcp_flows) {
        uint64_t before = sum.marked + sum.echoed, again = sum.again;
        add_direction(&sum, &flow->up);
        add_direction(&sum, &flow->down);
        if (sum.again > again) {
            sum.repeats = sum.repeats ? sum.repeats : flow;
            sum.repeaters++;
            sum.all += smcr_figure_known(smcr_figure_sum(flow->up.segments, flow->down.segments));
        }
        if (sum.marked + sum.echoed == before)
            continue;
        sum.flows++;
        if (!sum.first)
            sum.first = flow;
    }
    return sum;
}

/* "10.0.0.1:46464 → 10.0.0.2:80 and 2 more connections" */
static const char *
name(const smcr_finder_t *finder, const smcr_entry_tcp_t *flow, uint64_t count)
{
    smcr_entry_connection_t conn = {.client = {flow->src, flow->src_port},
                                    .server = {flow->dst, flow->dst_port}};

    return smcr_words_connections(finder->scope, &conn, count);
}

static void
find_congestion(smcr_finder_t *finder, const tcp_sum_t *sum)
{
    if (!sum->first)
        return;
    smcr_finder_add(finder, SMCR_FIGURE_FOUND_TCP_CONGESTION, sum->marked + sum->echoed,
                    smcr_finder_notice(finder, "ip.dsfield.ecn == 3 && tcp").first,
                    "tcp.flags.syn == 0 && tcp.flags.fin == 0 && "
                    "(ip.dsfield.ecn == 3 || ipv6.tclass.ecn == 3 || tcp.flags.ece == 1)",
                    "Congestion of TCP, %s: of %s, %s marked CE, %s with its echo (ECE)",
                    name(finder, sum->first, sum->flows),
                    smcr_words_things(finder->scope, sum->segments, "data segment"),
                    smcr_words_things(finder->scope, sum->marked, "segment"),
                    smcr_words_things(finder->scope, sum->echoed, "segment"));
}

static void
find_repeats(smcr_finder_t *finder, const tcp_sum_t *sum)
{
    if (!sum->repeats || sum->again * 500 < sum->segments) /* SYN and FIN count, too */
        return;
    smcr_finder_add_as(finder, SMCR_FIGURE_FOUND_TCP_LOSS,
                       sum->again < A_FEW ? SMCR_FIGURE_INFO : SMCR_FIGURE_NOTE, sum->again,
                       smcr_finder_notice(finder, "tcp.analysis.retransmission").first,
                       "tcp.analysis.retransmission || tcp.analysis.fast_retransmission || "
                       "tcp.analysis.spurious_retransmission || tcp.analysis.out_of_order",
                       "TCP, %s: %s of %s retransmitted",
                       name(finder, sum->repeats, sum->repeaters),
                       smcr_words_number(finder->scope, sum->again),
                       smcr_words_things(finder->scope, sum->all, "segment"));
}

void
smcr_finding_on_tcp(smcr_finder_t *finder)
{
    tcp_sum_t sum = sum_up(finder);

    find_repeats(finder, &sum);
    find_congestion(finder, &sum);
}
