/* tcp_flows.c
 * Keeps the TCP connections of a capture by Wireshark's number of the stream.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp_flows.h"

#include "host/host.h"
#include "tcp_segment.h"

enum { UP, DOWN };       /* directions */
enum { CLIENT, SERVER }; /* ends */

typedef struct {
    smcr_collect_tcp_facts_t facts;
    address end[2]; /* who sends up and down */
    uint16_t port[2];
    smcr_figure_maybe_t ecn_initiated, ecn_accepted;
    smcr_collect_tcp_offsets_t offsets[2];
    smcr_congestion_tcp_direction_t direction[2];
} tcp_conn_t;

struct smcr_tcp_flows {
    wmem_allocator_t *scope;
    tcp_conn_t **flows; /* by number of the stream; NULL: no segment of it */
    uint32_t count, room;
};

smcr_collect_tcp_flows_t *
smcr_collect_tcp_flows_new(wmem_allocator_t *scope)
{
    smcr_collect_tcp_flows_t *flows = wmem_new0(scope, smcr_collect_tcp_flows_t);

    flows->scope = scope;
    return flows;
}

/* ---- finding ---- */

/* A connection whose first segment this is. */
static tcp_conn_t *
new_flow(wmem_allocator_t *scope, const struct tcpheader *tcp, smcr_when_t when)
{
    tcp_conn_t *flow = wmem_new0(scope, tcp_conn_t);

    copy_address_wmem(scope, &flow->end[UP], &tcp->ip_src);
    copy_address_wmem(scope, &flow->end[DOWN], &tcp->ip_dst);
    flow->port[UP] = tcp->th_sport;
    flow->port[DOWN] = tcp->th_dport;
    flow->facts.first = when;
    flow->facts.client_is_up = true;
    flow->facts.up_port = tcp->th_sport;
    flow->facts.isn[CLIENT] = flow->facts.isn[SERVER] = SMCR_FIGURE_UNKNOWN;
    return flow;
}

static tcp_conn_t *
get_flow(smcr_collect_tcp_flows_t *flows, const struct tcpheader *tcp, smcr_when_t when)
{
    uint32_t room = MAX(flows->room, 16);

    if (tcp->th_stream > UINT32_MAX / 4)
        return NULL;
    while (room <= tcp->th_stream)
        room *= 2;
    if (room > flows->room)
        flows->flows = wmem_realloc(flows->scope, flows->flows, room * sizeof(tcp_conn_t *));
    flows->room = room;
    while (flows->count <= tcp->th_stream)
        flows->flows[flows->count++] = NULL;
    tcp_conn_t **flow = &flows->flows[tcp->th_stream];
    if (!*flow)
        *flow = new_flow(flows->scope, tcp, when);
    return *flow;
}

/* Which way a segment goes: the ports say so, but where they are the same. */
static unsigned
direction_of(const tcp_conn_t *flow, const struct tcpheader *tcp)
{
    if (flow->port[UP] != flow->port[DOWN])
        return tcp->th_sport == flow->port[UP] ? UP : DOWN;
    return addresses_equal(&tcp->ip_src, &flow->end[UP]) ? UP : DOWN;
}

/* ---- facts ---- */

static unsigned
end_of(const smcr_collect_tcp_facts_t *facts, unsigned direction)
{
    return (direction == UP) == facts->client_is_up ? CLIENT : SERVER;
}

/* It has become known which way the client sends. What was seen before stands with its end. */
static void
set_client(smcr_collect_tcp_facts_t *facts, unsigned direction)
{
    if (!facts->client_known && direction != UP) {
        smcr_when_t fin = facts->fin[CLIENT];
        facts->fin[CLIENT] = facts->fin[SERVER];
        facts->fin[SERVER] = fin;
        facts->client_is_up = false;
    }
    facts->client_known = true;
}

/* A SYN that asks for ECN has ECE and CWR, one that agrees has ECE alone (RFC 3168, 6.1.1). */
static void
take_syn(tcp_conn_t *flow, unsigned direction, const smcr_congestion_tcp_segment_t *segment,
         smcr_when_t when)
{
    uint16_t flags = segment->flags;
    bool ece = flags & SMCR_CONGESTION_TCP_ECE, cwr = flags & SMCR_CONGESTION_TCP_CWR;
    smcr_collect_tcp_facts_t *facts = &flow->facts;

    if (flags & SMCR_CONGESTION_TCP_ACK) {
        set_client(facts, direction == UP ? DOWN : UP);
        flow->ecn_accepted =
            MAX(flow->ecn_accepted, ece && !cwr ? SMCR_FIGURE_YES : SMCR_FIGURE_NO);
    } else {
        set_client(facts, direction);
        flow->ecn_initiated =
            MAX(flow->ecn_initiated, ece && cwr ? SMCR_FIGURE_YES : SMCR_FIGURE_NO);
        if (!facts->syn.frame)
            facts->syn = when;
        facts->syns++;
    }
    if (facts->isn[end_of(facts, direction)] == SMCR_FIGURE_UNKNOWN)
        facts->isn[end_of(facts, direction)] = segment->seq;
    facts->syn_sign[(flags & SMCR_CONGESTION_TCP_ACK) != 0] = segment->sign;
}

static void
take_facts(tcp_conn_t *flow, unsigned direction, const smcr_congestion_tcp_segment_t *segment,
           smcr_when_t when)
{
    smcr_collect_tcp_facts_t *facts = &flow->facts;

    facts->last = when;
    facts->lacks_end = smcr_congestion_tcp_direction_lacks_end(&flow->direction[UP]) ||
                       smcr_congestion_tcp_direction_lacks_end(&flow->direction[DOWN]);
    facts->lacks = smcr_congestion_tcp_direction_lacks(&flow->direction[UP]) ||
                   smcr_congestion_tcp_direction_lacks(&flow->direction[DOWN]);
    facts->payload[direction] = flow->direction[direction].payload;
    if (!facts->ce.frame && flow->direction[direction].counts.ce)
        facts->ce = when;
    if (segment->flags & SMCR_CONGESTION_TCP_RST) {
        facts->reset = facts->reset.frame ? facts->reset : when;
        facts->is_connected |= end_of(facts, direction) == CLIENT; /* it may have had an answer */
        return;
    }
    facts->is_connected |= (segment->flags & (SMCR_CONGESTION_TCP_SYN | SMCR_CONGESTION_TCP_ACK)) !=
                           SMCR_CONGESTION_TCP_SYN;
    if (segment->flags & SMCR_CONGESTION_TCP_SYN)
        take_syn(flow, direction, segment, when);
    if (segment->flags & SMCR_CONGESTION_TCP_FIN && !facts->fin[end_of(facts, direction)].frame)
        facts->fin[end_of(facts, direction)] = when;
}

void
smcr_collect_tcp_flows_take(smcr_collect_tcp_flows_t *flows, const packet_info *pinfo,
                            const struct tcpheader *tcp)
{
    smcr_when_t when = smcr_capture_when(pinfo);
    tcp_conn_t *flow = get_flow(flows, tcp, when);
    smcr_congestion_tcp_segment_t segment;
    unsigned direction;

    if (!flow)
        return;
    direction = direction_of(flow, tcp);
    segment = smcr_collect_tcp_segment(pinfo, tcp, &flow->offsets[direction]);
    smcr_congestion_tcp_direction_take(&flow->direction[direction], &flow->direction[!direction],
                                       flows->scope, &segment);
    take_facts(flow, direction, &segment, when);
}

/* ---- reporting ---- */

uint32_t
smcr_collect_tcp_flows_count(const smcr_collect_tcp_flows_t *flows)
{
    return flows->count;
}

static const tcp_conn_t *
find_flow(const smcr_collect_tcp_flows_t *flows, uint32_t stream)
{
    return stream < flows->count ? flows->flows[stream] : NULL;
}

const smcr_collect_tcp_facts_t *
smcr_collect_tcp_flows_facts(const smcr_collect_tcp_flows_t *flows, uint32_t tcp_stream)
{
    const tcp_conn_t *flow = find_flow(flows, tcp_stream);

    return flow ? &flow->facts : NULL;
}

static void
report_flow(const tcp_conn_t *flow, smcr_entry_tcp_t *entry, wmem_allocator_t *scope)
{
    entry->tcp_isn.client = flow->facts.isn[CLIENT];
    entry->tcp_isn.server = flow->facts.isn[SERVER];
    entry->src = address_to_str(scope, &flow->end[UP]);
    entry->dst = address_to_str(scope, &flow->end[DOWN]);
    entry->src_port = flow->port[UP];
    entry->dst_port = flow->port[DOWN];
    entry->first_time = flow->facts.first.time;
    entry->last_frame = flow->facts.last;
    entry->ecn_initiated = flow->ecn_initiated;
    entry->ecn_accepted = flow->ecn_accepted;
    smcr_congestion_tcp_direction_report(&flow->direction[UP], &entry->up);
    smcr_congestion_tcp_direction_report(&flow->direction[DOWN], &entry->down);
}

void
smcr_collect_tcp_flows_report(const smcr_collect_tcp_flows_t *flows, smcr_figure_list_t *list,
                              wmem_allocator_t *scope)
{
    for (uint32_t stream = 0; stream < flows->count; stream++) {
        const tcp_conn_t *flow = find_flow(flows, stream);
        smcr_entry_tcp_t *entry;

        if (!flow)
            continue;
        entry = smcr_figure_list_add(list, scope, &smcr_entry_tcp_description);
        entry->tcp_stream = stream;
        report_flow(flow, entry, scope);
    }
}
