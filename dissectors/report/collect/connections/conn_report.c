/* Adds the connections to a report: each once, with the figures of both its halves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "connections.h"

#include <stdlib.h>

#include "counts.h"

/* Adds the figures of a connection whose TCP segments were counted, unless the collection has let
 * go of it after its end. A connection that falls back to TCP before the first CLC message may have
 * no packet on the tap `smcr`. */
static void
add_by_stream(const smcr_conn_t *conn, void *collection)
{
    const smcr_collect_t *all = collection;

    if (smcr_collect_tcp_flows_facts(all, conn->tcp_stream) &&
        !smcr_collect_bits_has(all->gone_conns, conn->index))
        smcr_collect_conn_of(collection, conn);
}

SMCR_FIGURE_ORDER(by_index, smcr_collect_conn_stats_t *const, counted, (*counted)->conn->index)

wmem_array_t *
smcr_collect_conns_all(const smcr_collect_t *collection, wmem_allocator_t *scope)
{
    return smcr_figure_values(collection->conns, by_index, scope);
}

const smcr_collect_tcp_facts_t *
smcr_collect_conn_tcp_facts(const smcr_collect_t *collection,
                            const smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;

    return conn->conversation ? smcr_collect_tcp_flows_facts(collection, conn->tcp_stream) : NULL;
}

/* Adds the entry of a connection to the report. Of two halves that probably are one connection, the
 * half of TCP has the entry, with the figures of both. */
static void
report_conn(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
            smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    smcr_collect_conn_stats_t *roce = counted->partner ? counted->partner : counted;
    const smcr_collect_tcp_facts_t *tcp = smcr_collect_conn_tcp_facts(collection, counted);

    if (counted->partner && !counted->conn->conversation)
        return;
    smcr_entry_connection_t *entry = SMCR_FIGURE_ADD(connection, list, scope);
    smcr_collect_conn_open(collection, counted);
    smcr_collect_conn_open(collection, roce);
    smcr_collect_times_advance(&roce->counts->times, roce->scope, collection->last_taken_frame);
    roce->retransmission_most = smcr_collect_link_flows_retransmission_most(collection, roce);
    for (int sender = 0; sender < 2; sender++)
        roce->missing_since[sender] =
            smcr_collect_link_flows_missing_since(collection, roce, sender);
    smcr_collect_conn_entry_fill(entry, roce, tcp, collection, scope);
    if (!counted->partner)
        return;
    smcr_entry_connection_t clc;
    smcr_entry_clear(&clc, &smcr_entry_connection_description);
    smcr_collect_conn_entry_fill(&clc, counted, tcp, collection, scope);
    smcr_collect_halves_join(entry, &clc);
}

/* Moves figures of connections that the state has joined (`merged_into`): the state has found that
 * a counted connection is a part of another one. The figures of the part move to that other
 * connection, so that one entry has both. */
static void
join_conns(smcr_collect_t *collection, wmem_array_t *all)
{
    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        const smcr_conn_t *conn =
            (*(smcr_collect_conn_stats_t **)wmem_array_index(all, i))->conn;
        if (conn->merged_into)
            smcr_collect_conn_of(collection, conn->merged_into);
    }
}

/* Returns the gaps of the capture. Three kinds of gaps count:
 * 1. sequence gaps of RDMA flows in which two packets or more are missing;
 * 2. gaps of a TCP connection with a captured SYN, from the segment before the first missing bytes
 *    to its last frame: the bytes may be missing anywhere between these frames;
 * 3. the beginning of a TCP connection without a captured SYN. */
static smcr_collect_gap_list_t
find_gaps(const smcr_collect_t *collection)
{
    smcr_collect_gap_list_t gaps = collection->roce_gaps;
    wmem_array_t *all = smcr_collect_tcp_flows_all(collection, NULL);

    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        smcr_collect_gap_t gap = smcr_collect_tcp_flows_gap(
            *(smcr_collect_tcp_facts_t **)wmem_array_index(all, i));
        if (gap.until)
            smcr_collect_gaps_add(&gaps, gap);
    }
    wmem_destroy_array(all);
    return gaps;
}

/* Whether the array has the link. */
static bool
has_link(wmem_array_t *links, const smcr_link_t *link)
{
    for (unsigned i = 0; i < wmem_array_get_count(links); i++)
        if (*(const smcr_link_t **)wmem_array_index(links, i) == link)
            return true;
    return false;
}

/* Keeps the subject of a connection: what its entry does not have. */
static void
add_subject(smcr_collect_t *collection, const smcr_collect_conn_stats_t *counted,
            wmem_allocator_t *scope)
{
    const smcr_collect_conn_stats_t *roce = counted->partner ? counted->partner : counted;
    smcr_collection_subject_t subject = {
        .conn = roce->conn,
        .client = smcr_collect_conn_client_side(roce),
        .interface = counted->interface,
        .end = counted->end,
        .is_part = collection->given_up && wmem_map_contains(collection->given_up, counted->conn),
        .links = wmem_array_new(scope, sizeof(smcr_link_t *)),
    };

    for (const smcr_collect_link_use_t *use = roce->first_use; use; use = use->next) {
        const smcr_link_t *link = smcr_link_merged(use->link);
        if (!has_link(subject.links, link))
            wmem_array_append_one(subject.links, link);
    }
    wmem_array_append_one(collection->subjects, subject);
}

/* The list is made anew after joining, which adds and removes figures. */
wmem_array_t *
smcr_collect_conns_complete(smcr_collect_t *collection, wmem_allocator_t *scope)
{
    wmem_array_t *all = smcr_collect_conns_all(collection, scope);

    join_conns(collection, all);
    all = smcr_collect_conns_all(collection, scope);
    for (unsigned i = 0; i < wmem_array_get_count(all); i++)
        smcr_collect_conn_follow_sides(collection,
                                       *(smcr_collect_conn_stats_t **)wmem_array_index(all, i));
    smcr_collect_halves_pair(collection, all, scope);
    return all;
}

/* Returns for how long RoCE packets of the connection went on after the RST of its TCP connection,
 * nanoseconds: up to its last packet, and at most to the last acknowledgement on its last link. 0:
 * none did, or this is not certain. */
static uint64_t
time_after_reset(const smcr_collect_t *collection, const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_tcp_facts_t *tcp = smcr_collect_conn_tcp_facts(collection, counted);
    const smcr_link_t *link = counted->last_use ? counted->last_use->link : NULL;
    const smcr_conn_side_t *sides = counted->conn->side;
    bool has_ended = smcr_conn_side_has_ended(&sides[0]) || smcr_conn_side_has_ended(&sides[1]);

    if (!tcp || !tcp->reset.frame || has_ended)
        return 0;
    if (!link || link->lgr->clocks_differ)
        return 0;
    smcr_when_t ack = smcr_collect_rdma_flows_ack(collection, &link->qp[0]);
    smcr_when_t other_ack = smcr_collect_rdma_flows_ack(collection, &link->qp[1]);
    uint64_t acked = MAX(ack.frame ? ack.time : 0, other_ack.frame ? other_ack.time : 0);
    uint64_t last = MIN(counted->last.time, acked);
    return last > tcp->reset.time ? last - tcp->reset.time : 0;
}

/* A connection counts as 0 if no packet of its link is acknowledged after the RST. */
uint64_t
smcr_collect_connections_after_reset(const smcr_collect_t *collection)
{
    wmem_array_t *all = smcr_collect_conns_all(collection, NULL);
    uint64_t longest = 0;

    for (unsigned i = 0; i < wmem_array_get_count(all); i++)
        longest = MAX(longest, time_after_reset(collection, *(smcr_collect_conn_stats_t **)
                                                                wmem_array_index(all, i)));
    wmem_destroy_array(all);
    return longest;
}

/* Connections of which only TCP segments were counted are added first, unless only ended ones are
 * wanted. The gaps are found once, for all entries. */
void
smcr_collect_connections_report(smcr_collect_t *collection, bool only_over,
                                smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    const smcr_state_t *state = smcr_capture_state();

    if (state && !only_over)
        smcr_conn_each(state, add_by_stream, collection);
    wmem_array_t *all = smcr_collect_conns_complete(collection, scope);
    collection->gaps = find_gaps(collection);
    collection->subjects = wmem_array_new(scope, sizeof(smcr_collection_subject_t));
    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        smcr_collect_conn_stats_t *counted =
            *(smcr_collect_conn_stats_t **)wmem_array_index(all, i);
        if (only_over && counted->end == SMCR_COLLECTION_OPEN)
            continue;
        uint32_t before = list->length;
        report_conn(collection, counted, list, scope);
        if (collection->lets_go && list->length > before)
            add_subject(collection, counted, scope);
    }
}
