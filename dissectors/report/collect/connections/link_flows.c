/* Follows both flows of a link as far as its connections need: whether packets are missing, and how
 * long retransmissions took.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "counts.h"

#include "wire/wire.h"

/* Notes that packets are missing in the first contact. `before`: last captured packet of their
 * sender before the missing ones; frame 0: there is none, and the CLC Confirm takes its place. A
 * missing packet may have ended the first contact. So only up to `before` is it certain that the
 * connection could not carry data (`sure_until`). `until`: event before which they were sent. */
static void
doubt_contact(smcr_collect_conn_stats_t *counted, smcr_when_t before, smcr_when_t until)
{
    smcr_collect_contact_t *contact = &counted->contact;
    smcr_when_t sure = contact->is_unsure ? contact->sure_until : contact->ready;

    if (!before.frame)
        before = counted->clc[SMCR_CLC_CONFIRM];
    contact->sure_until = before.frame < sure.frame ? before : sure;
    contact->is_unsure = true;
    contact->missing_until = until;
}

/* Returns the acknowledgement so far that covers all packets that are missing before `packet`;
 * frame 0: none. */
static smcr_when_t
find_covering_ack(const smcr_collect_link_flows_t *flows, const smcr_tap_t *packet)
{
    const smcr_ack_t *acked = &flows->acked_newest[packet->record->sender == 1];
    bool covers = acked->frame && packet->roce &&
                  smcr_psn_distance(packet->roce->psn, acked->psn) >= -1;

    return covers ? smcr_ack_when(acked) : (smcr_when_t){0, 0};
}

/* Counts a sequence gap before the packet. If packets are missing during a first contact, the
 * durations of the first contact are unsure: a missing packet may be an LLC message, or the first
 * data. But if the sender has sent a request after the last LLC message, the first contact was over
 * before the gap, and its durations stay certain. */
static void
note_gap(smcr_collect_t *collection, smcr_collect_link_flows_t *flows, const smcr_tap_t *packet,
         smcr_when_t when)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_conn_stats_t *counted = wmem_map_lookup(collection->contacts, record->link->lgr);
    unsigned sender = record->sender == 1;

    if (!record->missing_before)
        return;
    flows->gaps[sender] += record->missing_before > 0;
    flows->gap[sender] =
        (smcr_interval_t){flows->newest[sender], find_covering_ack(flows, packet)};
    if (!flows->open_gap[sender].frame)
        flows->open_gap[sender] = flows->newest[sender];
    flows->open_psn[sender] = packet->roce ? packet->roce->psn : 0;
    smcr_when_t acked = flows->gap[sender].end;
    if (counted && flows->last[sender] <= counted->contact.ready.frame)
        doubt_contact(counted, flows->newest[sender], acked.frame ? acked : when);
}

/* Whether the packet is a RoCE packet other than an acknowledgement or a CNP. */
static bool
is_request(const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;

    return packet->roce && record->kind != SMCR_RECORD_ACK && record->kind != SMCR_RECORD_CNP;
}

/* Whether the packet is a WRITE whose connection is not known after the whole capture has been
 * read. False while the capture is being read for the first time. */
static bool
is_unowned_write(const smcr_record_t *record)
{
    return record->kind == SMCR_RECORD_WRITE && !record->conn && smcr_capture_is_read();
}

/* Notes a WRITE whose connection is not known, by whether its RKey was announced. Only the first
 * packet of a request has the RKey. */
static void
note_unowned_write(smcr_collect_link_flows_t *flows, const smcr_tap_t *packet, smcr_when_t when)
{
    const smcr_record_t *record = packet->record;
    unsigned sender = record->sender == 1;
    const smcr_qp_t *owner = &record->link->qp[!sender];
    const smcr_state_t *state = record->link->lgr->state;

    if (!is_unowned_write(record)) {
        flows->has_unannounced_rkey[sender] = false;
        return;
    }
    if (packet->roce->has_reth)
        flows->has_unannounced_rkey[sender] = !smcr_rmb_find(state, owner, packet->roce->rkey);
    else if (record->order != SMCR_FLOW_IS_NEXT)
        flows->has_unannounced_rkey[sender] = false;
    if (flows->has_unannounced_rkey[sender])
        flows->unannounced_rkey[sender] = when.frame;
    else
        flows->unowned[sender] = when.frame;
}

/* A WRITE with an RKey that nothing announced can be of this connection only if the connection's
 * own RKey is not known. */
uint32_t
smcr_collect_link_flows_last_unowned(const smcr_collect_link_flows_t *flows,
                                     const smcr_record_t *record)
{
    unsigned sender = record->sender == 1;
    const smcr_rmb_t *rmb = record->conn->side[!sender].rmb;
    bool knows_rkey = rmb && smcr_rmb_rtoken(rmb, &record->link->qp[!sender]);

    return knows_rkey ? flows->unowned[sender]
                      : MAX(flows->unowned[sender], flows->unannounced_rkey[sender]);
}

/* Notes a request: whether it is the newest of its flow or out of order and, if it is a
 * retransmission, the time since its first transmission. */
static void
note_request(const smcr_collect_t *collection, smcr_collect_link_flows_t *flows,
             const smcr_tap_t *packet, smcr_when_t when)
{
    const smcr_record_t *record = packet->record;
    unsigned sender = record->sender == 1;

    if (!flows->last[sender])
        flows->first_psn[sender] = packet->roce->psn;
    flows->last[sender] = when.frame;
    if (smcr_record_is_new(record))
        flows->newest[sender] = when;
    flows->is_disordered |= record->order == SMCR_FLOW_IS_LATE || smcr_record_misses_first(record);
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION)
        smcr_interval_union_add(&flows->repeated, collection->scope,
                                (smcr_interval_t){{record->first_frame, record->first_time}, when});
}

/* Whether the packet is a positive acknowledgement whose sender is known. */
static bool
is_ack(const smcr_tap_t *packet)
{
    return packet->roce && packet->roce->has_aeth && packet->record->sender >= 0 &&
           !smcr_wire_bits(packet->roce->syndrome, SMCR_MASK_SYNDROME_KIND);
}

/* Ends the open sequence gaps of `sender` if the acknowledgement of `psn`, at `when`, covers all of
 * them: up to then the missing packets may have been retransmitted. */
static void
close_gap(const smcr_collect_t *collection, smcr_collect_link_flows_t *flows, unsigned sender,
          smcr_when_t when, uint32_t psn)
{
    if (!flows->open_gap[sender].frame || smcr_psn_distance(flows->open_psn[sender], psn) < -1)
        return;
    smcr_interval_union_add(&flows->repeated, collection->scope,
                            (smcr_interval_t){flows->open_gap[sender], when});
    if (!flows->gap[sender].end.frame)
        flows->gap[sender].end = when;
    flows->open_gap[sender].frame = 0;
}

/* If the packet is an acknowledgement, ends the open sequence gaps if it covers all of them, and
 * notes it if it has the highest PSN so far, or is the first one that covers a captured request of
 * the peer. */
static void
note_ack(const smcr_collect_t *collection, smcr_collect_link_flows_t *flows,
         const smcr_tap_t *packet, smcr_when_t when)
{
    unsigned sender = packet->record->sender == 1;

    if (!is_ack(packet))
        return;
    close_gap(collection, flows, !sender, when, packet->roce->psn);
    smcr_ack_t *newest = &flows->acked_newest[!sender];
    if (!newest->frame || smcr_psn_distance(newest->psn, packet->roce->psn) > 0)
        *newest = smcr_ack_new(when, packet->roce->psn);
    if (!flows->last[!sender] || flows->acked[sender].frame)
        return;
    if (smcr_psn_distance(flows->first_psn[!sender], packet->roce->psn) >= 0)
        flows->acked[sender] = when;
}

/* The gap before the packet is noted before the packet itself becomes the newest one. */
const smcr_collect_link_flows_t *
smcr_collect_link_flows_take(smcr_collect_t *collection, const smcr_tap_t *packet, smcr_when_t when)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_link_flows_t *flows =
        smcr_figure_of(collection->link_flows, collection->scope, record->link, sizeof *flows);
    unsigned sender = record->sender == 1;

    note_gap(collection, flows, packet, when);
    if (is_request(packet))
        note_request(collection, flows, packet, when);
    else if (record->kind == SMCR_RECORD_ACK)
        note_ack(collection, flows, packet, when);
    if (!flows->whole_since[sender].frame || record->missing_before)
        flows->whole_since[sender] = when;
    if (record->kind == SMCR_RECORD_WRITE)
        note_unowned_write(flows, packet, when);
    return flows;
}

/* Whether the capture has packets of both flows of the link, their requests came in order, and it
 * has an acknowledgement for each flow that has requests. */
static bool
are_in_order(const smcr_collect_link_flows_t *flows)
{
    for (unsigned side = 0; side < 2; side++)
        if (!flows->whole_since[side].frame || (flows->last[side] && !flows->acked[!side].frame))
            return false;
    return !flows->is_disordered;
}

/* Returns the flows of the only link that the connection has used; NULL: there are several or none,
 * the connection may have used a link of which the capture has no packet, or the capture of the
 * link group is out of order. */
static const smcr_collect_link_flows_t *
flows_of(const smcr_collect_t *collection, const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_link_use_t *use = counted->first_use;

    if (!use || use->next || smcr_lgr_is_in_disorder(use->link->lgr))
        return NULL;
    if (smcr_collect_link_groups_has_unseen(collection, use->link->lgr))
        return NULL;
    return wmem_map_lookup(collection->link_flows, use->link);
}

/* Whether a sequence gap of the link that is still open began before `end`: its missing packets may
 * have been retransmitted before `end`. */
static bool
has_open_gap(const smcr_collect_link_flows_t *flows, smcr_when_t end)
{
    for (unsigned side = 0; side < 2; side++)
        if (flows->open_gap[side].frame && flows->open_gap[side].time < end.time)
            return true;
    return false;
}

/* An upper bound: what is added may overlap, and nothing that may have delayed the connection is
 * left out. */
uint64_t
smcr_collect_link_flows_retransmission_most(const smcr_collect_t *collection,
                                            const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_link_flows_t *flows = flows_of(collection, counted);
    smcr_interval_t span = {counted->counts->times.timeline.begun, counted->last};
    uint64_t most = 0;

    if (!flows || !are_in_order(flows) || has_open_gap(flows, span.end))
        return SMCR_FIGURE_UNKNOWN;
    for (unsigned side = 0; side < 2; side++)
        if (flows->acked[side].time > span.begin.time)
            most = MAX(most, flows->acked[side].time - span.begin.time);
    return most + smcr_interval_union_length_most(&flows->repeated, span);
}

/* Only one gap since the connection's last packet has a known begin: with two, the first of them is
 * no longer kept. */
smcr_when_t
smcr_collect_link_flows_missing_since(const smcr_collect_t *collection,
                                      const smcr_collect_conn_stats_t *counted, int sender)
{
    const smcr_collect_link_flows_t *flows = flows_of(collection, counted);
    const smcr_timeline_t *timeline = &counted->counts->times.timeline;
    uint32_t seen = timeline->gaps[sender];

    if (!flows || flows->is_disordered || flows->gaps[sender] > seen + 1)
        return (smcr_when_t){0, 0};
    return flows->gaps[sender] == seen ? flows->newest[sender] : flows->gap[sender].begin;
}
