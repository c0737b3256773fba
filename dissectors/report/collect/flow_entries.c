/* Makes the entries of RDMA flows: names and figures. Sets figures that the packets of a flow
 * cannot show to "not known".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fields.h"
#include "followed.h"

/* Whether the silent host has sent any packet during the silence. */
static bool
was_heard(const smcr_collect_silence_t *silence)
{
    return silence->other_qp.frame || silence->other_link.frame || silence->tcp.frame ||
           silence->host.frame;
}

/* Fills in the queue pair that sends the flow, and the ground on which its number is known.
 * SMCR_GROUND_NONE: the number is not known. */
static void
name_source(smcr_entry_rdma_t *entry, uint32_t qpn, unsigned ground)
{
    if (ground == SMCR_GROUND_NONE)
        return;
    entry->src_qpn = qpn;
    entry->src_qpn_from = (smcr_figure_source_t)ground;
}

/* Fills in kind, addresses and queue pairs of a flow of a link. */
static void
name_link_flow(smcr_entry_rdma_t *entry, const smcr_collect_followed_t *flow,
               wmem_allocator_t *scope)
{
    const smcr_qp_t *to = flow->to, *from = &to->link->qp[!to->side];

    entry->kind = SMCR_FIGURE_FLOW_SMCR;
    entry->src = smcr_figure_gid_text(scope, flow->source);
    entry->dst = smcr_figure_gid_text(scope, to->key.gid);
    entry->dst_qpn = to->number_known ? to->key.qpn : SMCR_FIGURE_UNKNOWN;
    if (from->number_known)
        name_source(entry, from->key.qpn, from->ground);
}

/* Returns the RDMA-CM state of one end, as a word of smcr_figure_cm_state_words; 0: not known.
 * `side`: SMCR_CM_CLIENT or SMCR_CM_SERVER. */
static smcr_figure_cm_state_t
cm_state_of(const smcr_cm_conn_t *conn, unsigned side)
{
    const smcr_cm_end_t *end = &conn->ends[side];

    return end->state_known ? SMCR_FIGURE_CM_STATE_KNOWN(end->state) : 0;
}

/* Returns an entry that describes the RDMA-CM connection of a flow: the states of its ends, if it
 * is known which end is the client; service ID, port and the reason of a REJ, each if it is known.
 * The entry is allocated in `scope`. */
static smcr_entry_flow_cm_t *
cm_entry(const smcr_cm_conn_t *conn, wmem_allocator_t *scope)
{
    smcr_entry_flow_cm_t *entry = wmem_new(scope, smcr_entry_flow_cm_t);

    smcr_entry_clear(entry, &smcr_entry_flow_cm_description);
    if (conn->roles_known) {
        entry->client_state = cm_state_of(conn, SMCR_CM_CLIENT);
        entry->server_state = cm_state_of(conn, SMCR_CM_SERVER);
    }
    if (conn->service_known)
        entry->service_id = smcr_figure_hex_text(scope, conn->service_id, 8);
    if (conn->port_known)
        entry->port = conn->port;
    if (conn->rejected)
        entry->reject_reason = conn->reason;
    return entry;
}

/* Fills in kind, addresses and queue pairs of a flow that is not SMC-R. The kind is RDMA-CM if
 * RDMA-CM has set up the flow's connection, or if the flow carries messages of RDMA-CM. */
static void
name_foreign_flow(smcr_entry_rdma_t *entry, const smcr_collect_followed_t *flow,
                  wmem_allocator_t *scope)
{
    const smcr_rdma_flow_t *foreign = flow->foreign;
    bool managed = foreign->conn || flow->cm || foreign->key.target.qpn == SMCR_IB_GSI_QPN;

    entry->kind = managed ? SMCR_FIGURE_FLOW_CM : SMCR_FIGURE_FLOW_OTHER;
    entry->src = smcr_figure_gid_text(scope, foreign->key.source);
    entry->dst = smcr_figure_gid_text(scope, foreign->key.target.gid);
    entry->dst_qpn = foreign->key.target.qpn;
    if (!foreign->several_sources)
        name_source(entry, foreign->src_qpn, foreign->ground);
    if (flow->cm && foreign->key.target.qpn != SMCR_IB_GSI_QPN)
        entry->cm = cm_entry(flow->cm->conn, scope);
}

/* Returns the queue pair of a link that receives the flow `foreign`, if the first packets of the
 * link may have been counted as this flow: the capture starts after the first contact, so nothing
 * proved that these packets are SMC-R, before later packets proved the link. NULL: no link has the
 * two ends of the flow, RDMA-CM has set up the flow's connection, or the first contact of the link
 * group is captured. */
static const smcr_qp_t *
link_of_foreign(const smcr_rdma_flow_t *foreign)
{
    const smcr_state_t *state = smcr_capture_state();
    const smcr_qp_t *to = state ? smcr_qp_find(state, &foreign->key.target) : NULL;

    if (!to || foreign->conn || to->link->lgr->first_contact_captured)
        return NULL;
    const smcr_qp_t *from = &to->link->qp[!to->side];
    return smcr_gid_is_same(from->key.gid, foreign->key.source) ? to : NULL;
}

/* Returns the figures of the link's flow, if `flow` is a foreign flow that turns out to be the flow
 * of a link (link_of_foreign()). NULL: `flow` is not, or the link's flow has no figures. */
static smcr_collect_followed_t *
link_flow_of(const smcr_collect_t *collection, const smcr_collect_followed_t *flow)
{
    const smcr_qp_t *to = flow->foreign ? link_of_foreign(flow->foreign) : NULL;

    return to ? wmem_map_lookup(collection->rdma, to) : NULL;
}

/* Moves the figures of a foreign flow to the flow of a link, if both are the same flow
 * (link_flow_of()). */
static void
merge_into_link(smcr_collect_t *collection, smcr_collect_followed_t *flow)
{
    smcr_collect_followed_t *into = link_flow_of(collection, flow);

    flow->merged = flow->merged || into;
    if (!into || !flow->figures.packets)
        return;
    smcr_entry_join(&into->figures, &flow->figures, &smcr_entry_rdma_description,
                    collection->scope);
    into->figures.first_frame = smcr_figure_when_earlier(into->figures.first_frame,
                                                         flow->figures.first_frame);
    smcr_entry_join(&into->icrc, &flow->icrc, &smcr_entry_icrcs_description, collection->scope);
    smcr_collect_flow_times_move(&into->times, collection->scope, &flow->times);
    smcr_collect_flow_sizes_join(&into->sizes, &flow->sizes);
    smcr_pause_flow_join(&into->pause, collection->scope, &flow->pause);
    smcr_figure_tally_join(&into->ports, collection->scope, &flow->ports);
    into->lacks_ecn |= flow->lacks_ecn;
    for (unsigned i = 0; i < SMCR_COLLECT_STEPS_KEPT && flow->steps[i].step; i++)
        smcr_collect_followed_count_cause(&into->figures.repeated_after, flow, &flow->steps[i]);
    smcr_recovery_join(&into->recovery, collection->scope, &flow->recovery);
    smcr_entry_clear(&flow->figures, &smcr_entry_rdma_description);
    memset(flow->steps, 0, sizeof flow->steps);
    memset(&flow->icrc, 0, sizeof flow->icrc);
    memset(&flow->pause, 0, sizeof flow->pause);
    memset(&flow->recovery, 0, sizeof flow->recovery);
    memset(&flow->ports, 0, sizeof flow->ports);
    memset(&flow->sizes, 0, sizeof flow->sizes);
}

/* Returns a copy of the counts, allocated in `scope`; NULL: all counts are 0, so no ICRC was
 * checked. */
static smcr_entry_icrcs_t *
icrcs_of(const smcr_entry_icrcs_t *icrc, wmem_allocator_t *scope)
{
    return icrc->good || icrc->bad || icrc->unverified ? wmem_memdup(scope, icrc, sizeof *icrc)
                                                       : NULL;
}

/* Adds an entry with the ICRCs of packets that belong to no flow, or to a flow without figures. The
 * entry comes after the last entry of the list, and only sums include it (`rest`). */
static void
report_stray(const smcr_entry_icrcs_t *icrc, smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    smcr_entry_rdma_t *rest = SMCR_FIGURE_ADD(rdma, list, scope);

    rest->copies = SMCR_FIGURE_UNKNOWN;
    smcr_entry_forget(&rest->ecn, &smcr_entry_codepoints_description);
    rest->icrc = icrcs_of(icrc, scope);
    list->rest = rest->icrc != NULL;
    list->length--;
}

/* Fills in what the order of the flow's packets shows: whether IP identifications distinguish
 * duplicates from retransmissions, and how many packets the receiver has acknowledged although the
 * capture has neither them nor a retransmission. */
static void
fill_from_order(smcr_entry_rdma_t *entry, const smcr_collect_followed_t *flow,
                const smcr_collect_t *collection)
{
    const smcr_traffic_t *traffic = flow->to ? &flow->to->traffic : flow->foreign->traffic;

    if (traffic)
        entry->knows_copies = smcr_figure_truth(smcr_flow_knows_copies(&traffic->flow));
    smcr_flow_lack_t lack = smcr_flow_lack(traffic ? &traffic->flow : NULL);
    entry->not_captured = lack.is_known ? lack.packets : SMCR_FIGURE_UNKNOWN;
    entry->not_captured_frame = smcr_collect_when(collection, lack.frame);
}

/* Adds to `list`, the member `udp_ports` of a flow's entry, an entry for each UDP source port from
 * which packets of the flow came, with their number. smcr_classes_ports() makes of these lists the
 * table of ports that several flows have. */
static void
report_ports(const smcr_figure_tally_t *ports, smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    for (uint32_t i = 0; i < ports->length; i++) {
        smcr_entry_flow_port_t *entry = SMCR_FIGURE_ADD(flow_port, list, scope);
        entry->port = ports->counts[i].value;
        entry->packets = ports->counts[i].count;
    }
}

/* Whether the client of the connection still waits for an answer to its REQ: neither an answer is
 * captured nor a message that the client sends after one. */
static bool
is_unanswered(const smcr_cm_conn_t *conn)
{
    const smcr_cm_end_t *client = &conn->ends[SMCR_CM_CLIENT];

    return conn->roles_known && client->state_known && client->state == SMCR_IB_CM_STATE_REQ_SENT;
}

/* Counts the connections of RDMA-CM whose retransmitted REQ has no answer. The entry gets the port
 * of the first of them, if it is known. */
static void
count_unanswered(smcr_entry_rdma_t *entry, const smcr_collect_followed_t *flow)
{
    unsigned count = flow->asked ? wmem_array_get_count(flow->asked) : 0;

    for (unsigned i = 0; i < count; i++) {
        const smcr_cm_conn_t *conn = *(const smcr_cm_conn_t **)wmem_array_index(flow->asked, i);
        if (!is_unanswered(conn))
            continue;
        if (!entry->cm_unanswered++ && conn->port_known)
            entry->cm_unanswered_port = conn->port;
    }
}

/* Returns the entry of the flow's standstills, and of the time after its last packet; NULL: no port
 * stopped the flow. */
static smcr_entry_flow_pause_t *
pause_of(const smcr_collect_t *collection, const smcr_collect_followed_t *flow,
         wmem_allocator_t *scope)
{
    const smcr_pause_gap_t gap = {.from = flow->figures.last_frame,
                                  .to = {.time = collection->capture.last_time},
                                  .first = flow->figures.first_frame,
                                  .packets = flow->figures.packets};

    return smcr_pause_flow_report(collection->pauses, &flow->pause, &gap, scope);
}

/* Adds the entry of a flow: its figures, durations, names. A figure that the flow's packets cannot
 * show is set to not known. */
static void
report_flow(const smcr_collect_t *collection, smcr_collect_followed_t *flow,
            smcr_figure_list_t *list,
            wmem_allocator_t *scope)
{
    smcr_entry_rdma_t *entry = SMCR_FIGURE_ADD(rdma, list, scope);

    *entry = flow->figures;
    entry->network = smcr_classes_network(flow->network, scope);
    report_ports(&flow->ports, &entry->udp_ports, scope);
    entry->index = flow->index = list->length - 1;
    if (collection->series)
        smcr_series_number_flow(collection->series, flow, flow->index);
    for (unsigned i = 0; i < SMCR_COLLECT_STEPS_KEPT && flow->steps[i].step; i++)
        smcr_collect_followed_count_cause(&entry->repeated_after, flow, &flow->steps[i]);
    if (!flow->to && !flow->foreign->traffic) /* datagrams have no PSN order, so a duplicate looks
                                                 like a retransmission */
        entry->copies = SMCR_FIGURE_UNKNOWN;
    if (flow->times.silent.time.end.frame && !was_heard(&flow->times.silent))
        smcr_collect_followed_note_elsewhere(collection, flow);
    smcr_collect_flow_times_fill(entry, &flow->times, scope);
    smcr_collect_flow_sizes_fill(entry, &flow->sizes, collection->capture.last_time, scope);
    fill_from_order(entry, flow, collection);
    count_unanswered(entry, flow);
    entry->pause = pause_of(collection, flow, scope);
    entry->recovery = smcr_recovery_report(&flow->recovery, scope);
    entry->reordered_frame = smcr_recovery_reordered(&flow->recovery);
    if (flow->lacks_ecn)
        smcr_entry_forget(&entry->ecn, &smcr_entry_codepoints_description);
    entry->icrc = icrcs_of(&flow->icrc, scope);
    if (flow->to)
        name_link_flow(entry, flow, scope);
    else
        name_foreign_flow(entry, flow, scope);
}

/* Whether the report has an entry for the flow. `flow` may be NULL. A flow without packets has no
 * entry: it was made only because a response belongs to its requests. `only_over`: the report has
 * only flows of link groups that are over. */
static bool
is_reported(const smcr_collect_followed_t *flow, bool only_over)
{
    return flow && !flow->merged && flow->figures.packets > 0 && (flow->is_over || !only_over);
}

/* Keeps the numbers of the `count` flows that the report has. */
static void
number_flows(smcr_collect_t *collection, bool only_over, uint32_t count, wmem_allocator_t *scope)
{
    uint32_t *numbers = wmem_alloc_array(scope, uint32_t, count + 1);

    for (uint32_t i = 0; i < collection->rdma_list.length; i++) {
        const smcr_collect_followed_t *flow = collection->rdma_list.entries[i];
        if (is_reported(flow, only_over))
            numbers[flow->index] = flow->index + flow->gone_before;
    }
    collection->flow_numbers = numbers;
}

/* The flows of a link are merged before any entry is made. All entries have their index before the
 * index of a peer is written. */
void
smcr_collect_rdma_flows_report(smcr_collect_t *collection, bool only_over,
                               smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    for (uint32_t i = 0; i < collection->rdma_list.length; i++)
        merge_into_link(collection, collection->rdma_list.entries[i]);
    for (uint32_t i = 0; i < collection->rdma_list.length && collection->pauses; i++) {
        const smcr_collect_followed_t *flow = collection->rdma_list.entries[i];
        smcr_pause_flow_note_ends(collection->pauses, &flow->pause);
    }
    for (uint32_t i = 0; i < collection->rdma_list.length; i++)
        if (is_reported(collection->rdma_list.entries[i], only_over))
            report_flow(collection, collection->rdma_list.entries[i], list, scope);
    for (uint32_t i = 0; i < collection->rdma_list.length; i++) {
        const smcr_collect_followed_t *flow = collection->rdma_list.entries[i];
        const smcr_collect_followed_t *peer =
            is_reported(flow, only_over) ? smcr_collect_followed_peer(collection, flow) : NULL;
        if (is_reported(peer, only_over))
            ((smcr_entry_rdma_t *)list->entries[flow->index])->peer = peer->index;
    }
    if (!only_over)
        report_stray(&collection->stray_icrcs, list, scope);
    number_flows(collection, only_over, list->length, scope);
}

uint64_t
smcr_collect_rdma_flows_number(const smcr_collect_t *collection, uint64_t index)
{
    return index == SMCR_FIGURE_UNKNOWN ? index : collection->flow_numbers[index];
}

uint64_t
smcr_collect_rdma_flows_index(const smcr_collect_t *collection, const smcr_qp_t *to)
{
    const smcr_collect_followed_t *flow = wmem_map_lookup(collection->rdma, to);

    return is_reported(flow, false) ? flow->index : SMCR_FIGURE_UNKNOWN;
}
