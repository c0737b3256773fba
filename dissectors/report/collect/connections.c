/* Counts packets, messages and bytes of connections, while packets come. Roles, outcomes and ends
 * of connections are read from the state when the report is made (conn_entry.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "collectors.h"

#include <stdlib.h>

#include "message/message.h"
#include "wire/wire.h"

/* How often the time for late packets a connection is kept of which one end, that of TCP or that of
 * SMC-R, is missing. */
#define END_MISSING 5

/* Facts of the two flows of a link. Index: 1 for packets whose sender is side 1 of the link group,
 * 0 for all other packets. */
typedef struct {
    uint32_t gaps[2]; /* number of sequence gaps in the flow so far */
    uint32_t last[2]; /* frame of the last packet other than an acknowledgement or a CNP; 0: none */
    bool unowned[2];  /* a WRITE has come whose connection is not known */
    /* packet from which on no packet of the flow is missing: its first packet, or its packet after
     * the last sequence gap; frame 0: none so far */
    smcr_when_t whole_since[2];
    uint32_t first_psn[2]; /* PSN of the first request, 24 bits; set with `last` */
    /* first acknowledgement of a captured request by this side; frame 0: none so far */
    smcr_when_t acked[2];
    bool is_disordered; /* a request came out of order, or its first transmission is not captured */
    smcr_interval_union_t repeated; /* times from the first transmission of a packet to its
                                       retransmission, of both flows */
} flows_t;

/* Swaps the figures of both sides if the state has swapped the sides of the connection. The state
 * does so when it learns which half links belong together. The figures then stay with their
 * hosts. */
static void
follow_sides(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
{
    if (counted->sides_swapped == counted->conn->sides_swapped)
        return;
    smcr_collect_conn_open(collection, counted);
    const smcr_collect_direction_t direction = counted->counts->direction[0];
    counted->sides_swapped = counted->conn->sides_swapped;
    counted->counts->direction[0] = counted->counts->direction[1];
    counted->counts->direction[1] = direction;
    smcr_collect_times_flip(&counted->counts->times);
}

/* Adds the figures of `half` to `counted`: `half` was counted as a connection of its own, and
 * turned out to be one direction of this connection. */
static void
add_half(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
         smcr_collect_conn_stats_t *half)
{
    smcr_collect_conn_open(collection, half);
    smcr_collect_conn_open(collection, counted);
    for (int side = 0; side < 2; side++) {
        if (!half->counts->direction[side].link)
            continue;
        counted->counts->direction[side] = half->counts->direction[side];
        smcr_collect_times_move(&counted->counts->times, &half->counts->times, side);
    }
    if (!counted->first.frame || half->first.frame < counted->first.frame) {
        counted->first = half->first;
        counted->counts->times.timeline.begun = half->counts->times.timeline.begun;
        counted->counts->times.first_sender = half->counts->times.first_sender;
        counted->counts->times.whole_since = half->counts->times.whole_since;
    }
    if (half->last.frame > counted->last.frame)
        counted->last = half->last;
    if (!counted->first_use) {
        counted->first_use = half->first_use;
        counted->last_use = half->last_use;
    }
    counted->on_roce |= half->on_roce;
}

/* Makes the figures of a connection. Two directions of a connection that began before the capture
 * may be joined later, so they have no pools of their own. */
static smcr_collect_conn_stats_t *
new_conn(smcr_collect_t *collection, const smcr_conn_t *conn)
{
    wmem_allocator_t *scope =
        smcr_conn_began_before_capture(conn) ? collection->scope : smcr_collect_pool(collection);
    smcr_collect_conn_stats_t *counted = wmem_new0(scope, smcr_collect_conn_stats_t);

    counted->scope = scope;
    counted->conn = conn;
    counted->interface = collection->interface;
    wmem_map_insert(collection->conns, conn, counted);
    return counted;
}

/* Returns the figures of a connection; makes them if there are none. The state may have counted the
 * other half of the connection as a connection of its own, and joined both later (`merged_half`).
 * Then the figures of that half are added. */
static smcr_collect_conn_stats_t *
get_conn(smcr_collect_t *collection, const smcr_conn_t *conn)
{
    smcr_collect_conn_stats_t *counted = wmem_map_lookup(collection->conns, conn);
    smcr_collect_conn_stats_t *half =
        conn->merged_half ? wmem_map_lookup(collection->conns, conn->merged_half) : NULL;

    if (!counted)
        counted = new_conn(collection, conn);
    follow_sides(collection, counted);
    if (half && half->scope == counted->scope) { /* figures stay in their pool */
        wmem_map_remove(collection->conns, conn->merged_half);
        follow_sides(collection, half);
        add_half(collection, counted, half);
    }
    return counted;
}

/* ---- links ---- */

/* Returns the moves from and to a link; adds zeros if the link has no entry yet. */
static smcr_collect_moves_t *
moves_of(smcr_collect_t *collection, const smcr_link_t *link)
{
    return smcr_figure_of(collection->moves, collection->scope, link, sizeof(smcr_collect_moves_t));
}

/* Whether the connection begins to use the packet's link with this packet. There are two cases:
 * 1. The packet is the first one of its sender, and the connection has used at most one link.
 * 2. A CDC message has moved the connection to this link (RFC 7609, 4.6.2).
 * Any other packet on another link than the last one is an older packet that arrives late: the
 * connection has not moved back. The first packet of a sender begins no use after the peer has
 * moved: the capture may miss earlier packets of this sender. */
static bool
begins_link_use(const smcr_collect_conn_stats_t *counted, const smcr_record_t *record)
{
    bool is_first_of_sender = !counted->counts->direction[record->sender].link;
    bool has_never_moved = counted->first_use == counted->last_use;

    return (is_first_of_sender && has_never_moved) ||
           smcr_record_has_event(record, SMCR_EVENT_conn_moved);
}

/* Appends the link to the links that the connection has used, and counts a move between two
 * links. */
static void
add_link_use(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
             const smcr_record_t *record, smcr_when_t when)
{
    const smcr_link_t *last = counted->last_use ? counted->last_use->link : NULL;
    smcr_collect_link_use_t *use = wmem_new0(counted->scope, smcr_collect_link_use_t);

    use->link = record->link;
    use->from = when;
    if (last)
        counted->last_use->next = use;
    else
        counted->first_use = use;
    if (last && smcr_record_has_event(record, SMCR_EVENT_conn_moved)) {
        moves_of(collection, last)->from++;
        moves_of(collection, record->link)->to++;
    }
    counted->last_use = use;
}

/* Notes the link of a packet, and whether the connection begins to use that link. */
static void
note_link(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
          const smcr_record_t *record, smcr_when_t when)
{
    const smcr_link_t *link = record->link;
    const smcr_link_t *last = counted->last_use ? counted->last_use->link : NULL;

    if (!link)
        return;
    bool begins = link != last && begins_link_use(counted, record);
    counted->counts->direction[record->sender].link = link;
    if (begins)
        add_link_use(collection, counted, record, when);
}

/* ---- setup ---- */

/* Counts a sequence gap before the packet. If packets are missing during a first contact, the
 * durations of the first contact are unsure: a missing packet may be an LLC message, or the first
 * data. But if the sender has sent a request after the last LLC message, the first contact was over
 * before the gap, and its durations stay certain. */
static void
note_gap(smcr_collect_t *collection, const smcr_record_t *record, flows_t *flows)
{
    smcr_collect_conn_stats_t *counted = wmem_map_lookup(collection->contacts, record->link->lgr);
    unsigned sender = record->sender == 1;

    if (!record->missing_before)
        return;
    flows->gaps[sender] += record->missing_before > 0;
    if (counted && flows->last[sender] <= counted->contact.ready.frame)
        counted->contact.is_unsure = true;
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

/* Notes a request: its place in the order of its flow, and how long it took if it is a
 * retransmission. */
static void
note_request(const smcr_collect_t *collection, flows_t *flows, const smcr_tap_t *packet,
             smcr_when_t when)
{
    const smcr_record_t *record = packet->record;
    unsigned sender = record->sender == 1;

    if (!flows->last[sender])
        flows->first_psn[sender] = packet->roce->psn;
    flows->last[sender] = when.frame;
    flows->is_disordered |= record->order == SMCR_FLOW_IS_LATE || smcr_record_misses_first(record);
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION)
        smcr_interval_union_add(&flows->repeated, collection->scope,
                                (smcr_interval_t){{record->first_frame, record->first_time}, when});
}

/* Notes an acknowledgement, if it is the first one that covers a captured request of the peer. */
static void
note_ack(flows_t *flows, const smcr_tap_t *packet, smcr_when_t when)
{
    unsigned sender = packet->record->sender == 1;
    bool is_one = packet->roce && packet->roce->has_aeth && packet->record->sender >= 0 &&
                  !smcr_wire_bits(packet->roce->syndrome, SMCR_MASK_SYNDROME_KIND);

    if (!is_one || !flows->last[!sender] || flows->acked[sender].frame)
        return;
    if (smcr_psn_distance(flows->first_psn[!sender], packet->roce->psn) >= 0)
        flows->acked[sender] = when;
}

/* Counts a packet in the facts of its link, for the packet's sender. Returns the facts of both
 * flows of the link. */
static const flows_t *
take_link(smcr_collect_t *collection, const smcr_tap_t *packet, smcr_when_t when)
{
    const smcr_record_t *record = packet->record;
    flows_t *flows =
        smcr_figure_of(collection->link_flows, collection->scope, record->link, sizeof *flows);
    unsigned sender = record->sender == 1;

    note_gap(collection, record, flows);
    if (is_request(packet))
        note_request(collection, flows, packet, when);
    else if (record->kind == SMCR_RECORD_ACK)
        note_ack(flows, packet, when);
    if (!flows->whole_since[sender].frame || record->missing_before)
        flows->whole_since[sender] = when;
    flows->unowned[sender] |= is_unowned_write(record);
    return flows;
}

/* Whether the capture has every packet of both flows of the link, in order, and acknowledgements of
 * both, if both have requests. */
static bool
are_whole(const flows_t *flows)
{
    bool have_gaps = flows->gaps[0] || flows->gaps[1] || flows->is_disordered;

    for (unsigned side = 0; side < 2; side++)
        if (!flows->whole_since[side].frame || (flows->last[side] && !flows->acked[!side].frame))
            return false;
    return !have_gaps;
}

/* Returns how long retransmissions may have held up the connection at most, nanoseconds: up to the
 * acknowledgements of the first requests on its link, since packets from before the capture may
 * have been retransmitted; and from the first transmission of each retransmitted packet of the link
 * to its retransmission. SMCR_FIGURE_UNKNOWN: not known, since packets of the link may be missing,
 * or the connection has used several links. */
static uint64_t
retransmitted_most(const smcr_collect_t *collection, const smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_link_use_t *use = counted->first_use;
    const flows_t *flows = use ? wmem_map_lookup(collection->link_flows, use->link) : NULL;
    uint64_t begun = counted->counts->times.timeline.begun.time, most = 0;

    if (!flows || use->next || !are_whole(flows) || smcr_lgr_is_in_disorder(use->link->lgr))
        return SMCR_FIGURE_UNKNOWN;
    for (unsigned side = 0; side < 2; side++)
        if (flows->acked[side].time > begun)
            most = MAX(most, flows->acked[side].time - begun);
    return most + smcr_interval_union_length(&flows->repeated);
}

/* ---- packets ---- */

/* Counts an error that the application's protocol reports at the beginning of the WRITE. */
static void
count_application_error(smcr_collect_t *collection, smcr_when_t when, const smcr_tap_t *packet)
{
    smcr_host_bytes_t bytes = smcr_host_bytes_of(packet->data);
    const smcr_application_error_t *error = smcr_application_error_of(bytes.bytes, bytes.length);

    if (error)
        smcr_collect_notices_count_error(collection, error->filter, when, packet->record->conn);
}

/* Counts an RDMA WRITE request once, at its first packet. Counts rewritten bytes: bytes that the
 * sender writes at a position of the stream that it had written before. */
static void
count_write(smcr_collect_t *collection, smcr_collect_direction_t *direction,
            smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_place_t *place = packet->record->write_location;

    direction->figures.writes += smcr_ib_begins_message(packet->roce->opcode);
    count_application_error(collection, when, packet);
    if (!place)
        return;
    uint32_t rewritten = smcr_place_range(place).rewritten;
    if (rewritten)
        smcr_collect_notices_count(collection, "smcr.stream.rewritten", when, rewritten);
}

/* Counts a CDC message, and the wait of its writer. A CDC message with the flag "writer blocked"
 * (RFC 7609, 4.5.1) reports a wait. Messages with equal producer cursors report the same wait: the
 * producer cursor of a writer that is not blocked advances. Messages may come out of order, so the
 * cursor is compared with the last SMCR_COLLECT_BLOCKED_KEPT cursors. */
static void
count_cdc(smcr_collect_direction_t *direction, wmem_allocator_t *scope, const smcr_cdc_t *cdc)
{
    uint64_t *count = &direction->figures.blocked_count;

    if (!direction->figures.cdc++ && cdc)
        direction->first_cdc_seq = cdc->seq;
    if (!cdc || !cdc->complete || !(cdc->flags & SMCR_CDC_FLAG_BLOCKED))
        return;
    for (unsigned i = 0; i < MIN(*count, SMCR_COLLECT_BLOCKED_KEPT); i++)
        if (smcr_ring_cursors_are_same(direction->wait_cursors[i], cdc->prod))
            return;
    if (!direction->wait_cursors)
        direction->wait_cursors =
            wmem_alloc_array(scope, smcr_cursor_t, SMCR_COLLECT_BLOCKED_KEPT);
    direction->wait_cursors[(*count)++ % SMCR_COLLECT_BLOCKED_KEPT] = cdc->prod;
}

/* Whether the packet brings a CDC message, or immediate data in its place. */
static bool
brings_message(const smcr_tap_t *packet)
{
    return packet->record->kind == SMCR_RECORD_CDC || packet->cdc;
}

/* Whether the CDC message ends the connection, or one direction of the connection. */
static bool
ends_connection(const smcr_record_t *record)
{
    return smcr_record_has_event(record, SMCR_EVENT_conn_sending_done) ||
           smcr_record_has_event(record, SMCR_EVENT_conn_closed) ||
           smcr_record_has_event(record, SMCR_EVENT_conn_aborted);
}

/* Counts the effects of a CDC message: the window is full, urgent data is announced, data is
 * reported as read. A record has `cdc_analysis` only if its packet brings the message into effect.
 * A message after a sequence gap takes effect with its retransmission.
 * `direction`: the direction of the message's sender. `reverse`: the direction whose data the
 * message reports as read. A message that ends the connection adds no read time: its sender may
 * have read the data long before. */
static void
count_meaning(smcr_collect_direction_t *direction, smcr_collect_direction_t *reverse,
              wmem_allocator_t *scope, const smcr_record_t *record, uint32_t frame)
{
    const smcr_record_cdc_t *view = record->cdc_analysis;

    if (!view)
        return;
    direction->figures.window_full_count += smcr_collect_times_fills(record, frame);
    direction->figures.urgent_count += view->urgent;
    if (view->read_announced_frame && !ends_connection(record))
        smcr_distribution_add_time(&reverse->figures.read_reported_s, scope, view->read_time);
}

/* Counts each position of the stream once, so retransmissions and rewritten bytes add nothing.
 * `bytes` has the positions that were counted before. */
uint32_t
smcr_collect_stream_bytes_take(smcr_collect_stream_bytes_t *bytes, wmem_allocator_t *scope,
                               const smcr_record_t *record)
{
    const smcr_place_t *place = record->write_location;

    if (record->kind != SMCR_RECORD_WRITE || !place || record->order == SMCR_FLOW_IS_COPY)
        return 0;
    smcr_stream_range_t piece = smcr_place_range(place);
    /* A retransmission adds bytes only if all positions so far are known. If a position is not
     * known, the first transmission may have been counted without a position, and the same bytes
     * would count twice. */
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION && (bytes->has_unpositioned || !piece.known))
        return 0;
    bytes->has_unpositioned |= !piece.known;
    if (!piece.known)
        return place->length;
    return (uint32_t)smcr_ranges_add(&bytes->positions, scope, SMCR_RANGES_OF_STREAM,
                                     piece.position, piece.position + place->length);
}

/* Counts a RoCE packet in the figures of its direction. A duplicate made by the network counts only
 * in the timeline. A retransmission counts as a retransmission, and never as another WRITE or CDC
 * message. But if the receiver had discarded the first transmission, the retransmission brings new
 * bytes, and brings a CDC message into effect. */
static void
count_packet(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
             smcr_when_t when, const smcr_tap_t *packet, const flows_t *flows)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_conn_open(collection, counted);
    smcr_collect_direction_t *direction = &counted->counts->direction[record->sender];

    if (!counted->on_roce && smcr_collect_contact_awaits(&counted->contact, when.frame))
        counted->contact.ready = when; /* the first data ends the setup, even if LLC messages follow
                                          later */
    counted->contact.is_over |= !counted->on_roce;
    counted->on_roce = true;
    const smcr_collect_gaps_t gaps = {flows->gaps, flows->whole_since,
                                      counted->clc[SMCR_CLC_CONFIRM].frame != 0};
    smcr_collect_times_take(&counted->counts->times, counted->scope, when, packet, &gaps);
    direction->figures.bytes +=
        smcr_collect_stream_bytes_take(&direction->bytes, counted->scope, record);
    if (record->order == SMCR_FLOW_IS_COPY)
        return;
    direction->has_unowned_writes |= flows->unowned[record->sender];
    count_meaning(direction, &counted->counts->direction[!record->sender], counted->scope, record,
                  when.frame);
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION) {
        direction->figures.repeated_packets++;
        direction->figures.repeated_bytes += (uint64_t)packet->roce->payload_length;
        return;
    }
    note_link(collection, counted, record, when);
    if (record->kind == SMCR_RECORD_WRITE)
        count_write(collection, direction, when, packet);
    if (brings_message(packet))
        count_cdc(direction, counted->scope, packet->cdc);
}

/* ---- CLC ---- */

/* Returns the user EIDs of the Proposal, separated by commas; NULL: the Proposal has none. The text
 * does not include the system EID. */
static const char *
offered_eids(wmem_allocator_t *scope, const smcr_clc_proposal_t *proposal)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, NULL);

    for (unsigned i = 0; i < MIN(proposal->eids_kept, proposal->eid_count); i++)
        wmem_strbuf_append_printf(
            text, "%s%s", i ? ", " : "",
            smcr_item_peer_text(scope, proposal->eid_list[i], SMCR_WIRE_EID_LENGTH));
    return wmem_strbuf_get_len(text) ? wmem_strbuf_finalize(text) : NULL;
}

/* Begins the setup after CLC with the Confirm. In a first contact, LLC messages set up the link
 * group next (RFC 7609, 3.5.1). */
static void
begin_contact(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted, smcr_when_t confirm)
{
    counted->contact.ready = confirm;
    counted->contact.step = confirm;
    if (counted->conn->first_contact && counted->conn->lgr)
        wmem_map_insert(collection->contacts, counted->conn->lgr, counted);
}

/* Counts a CLC message, and keeps its time, its EIDs and its version. If a Confirm comes after the
 * first RoCE packet of the connection, the setup was over before, so the Confirm does not begin
 * it. */
static void
count_clc(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
          smcr_when_t when, const smcr_clc_t *clc, bool from_server)
{
    uint8_t type = clc->header.type;

    counted->clc_bytes[from_server] += clc->length;
    counted->has_cut_clc[from_server] |= !clc->complete && !clc->malformed;
    if (type < G_N_ELEMENTS(counted->clc) && !counted->clc[type].frame) {
        counted->clc[type] = when;
        if (type == SMCR_CLC_CONFIRM && !counted->on_roce)
            begin_contact(collection, counted, when);
    }
    if (type == SMCR_CLC_DECLINE && !counted->decline[from_server].frame)
        counted->decline[from_server] = when;
    if (type == SMCR_CLC_PROPOSAL)
        counted->offered_eids = offered_eids(counted->scope, &clc->u.proposal);
    if (!smcr_wire_clc_agrees(type))
        return;
    counted->version = smcr_wire_bits(clc->header.flags, SMCR_MASK_VERSION);
    counted->is_smcd = clc->smcd;
}

/* Returns the connection in whose figures the packet counts; NULL: none. An acknowledgement counts
 * for no connection, since it may cover packets of several connections. */
static const smcr_conn_t *
conn_of(const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    bool is_ack = record->kind == SMCR_RECORD_ACK;

    return record->conn && !is_ack ? record->conn : packet->falls_back;
}

/* Whether the collection has let go of the connection after its end. Then its packet is late, and
 * counted as that. */
static bool
is_gone(smcr_collect_t *collection, const smcr_conn_t *conn)
{
    bool is_late = smcr_collect_bits_has(collection->gone_conns, conn->index);

    collection->late_packets += is_late;
    return is_late;
}

void
smcr_collect_connections_take_segment(smcr_collect_t *collection, const smcr_conn_t *conn)
{
    if (!smcr_collect_bits_has(collection->gone_conns, conn->index))
        get_conn(collection, conn);
}

void
smcr_collect_connections_take(smcr_collect_t *collection, smcr_when_t when,
                              const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_conn_t *conn = conn_of(packet);
    const flows_t *flows = record->link ? take_link(collection, packet, when) : NULL;

    collection->last_taken_frame = when.frame;
    if (!conn) {
        smcr_collect_contact_take(collection, when, packet);
        return;
    }
    if (is_gone(collection, conn))
        return;
    smcr_collect_conn_stats_t *counted = get_conn(collection, conn);
    if (!counted->first.frame)
        counted->first = when;
    counted->last = when;
    if (packet->clc)
        count_clc(collection, counted, when, packet->clc, record->direction == 1);
    else if (flows && packet->roce && record->sender >= 0)
        count_packet(collection, counted, when, packet, flows);
}

/* ---- reporting ---- */

/* Adds the figures of a connection whose TCP segments were counted. A connection that falls back to
 * TCP before the first CLC message has no packet on the tap `smcr`, so only its TCP segments show
 * it. */
static void
add_by_stream(const smcr_conn_t *conn, void *collection)
{
    const smcr_collect_t *all = collection;

    if (smcr_collect_tcp_flows_facts(all, conn->tcp_stream) &&
        !smcr_collect_bits_has(all->gone_conns, conn->index))
        get_conn(collection, conn);
}

SMCR_FIGURE_ORDER(by_index, smcr_collect_conn_stats_t *const, counted, (*counted)->conn->index)

/* Appends the figures of a connection to the array `all`. Called for each entry of a map. */
static void
gather(void *key _U_, void *value, void *all)
{
    wmem_array_append_one((wmem_array_t *)all, value);
}

/* Returns the figures of all connections, as smcr_collect_conn_stats_t *, in the order of the
 * indices of connections. */
static wmem_array_t *
all_conns(const smcr_collect_t *collection, wmem_allocator_t *scope)
{
    wmem_array_t *all = wmem_array_new(scope, sizeof(smcr_collect_conn_stats_t *));

    wmem_map_foreach(collection->conns, gather, all);
    wmem_array_sort(all, by_index);
    return all;
}

/* Returns the facts of the TCP connection. They are used only if the state has the connection's TCP
 * conversation; else NULL. */
static const smcr_collect_tcp_facts_t *
facts_of(const smcr_collect_t *collection, const smcr_collect_conn_stats_t *counted)
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
    const smcr_collect_tcp_facts_t *tcp = facts_of(collection, counted);

    if (counted->partner && !counted->conn->conversation)
        return;
    smcr_entry_connection_t *entry = SMCR_FIGURE_ADD(connection, list, scope);
    smcr_collect_conn_open(collection, counted);
    smcr_collect_conn_open(collection, roce);
    smcr_collect_times_advance(&roce->counts->times, roce->scope, collection->last_taken_frame);
    roce->retransmitted_most = retransmitted_most(collection, roce);
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
            get_conn(collection, conn->merged_into);
    }
}

/* Returns the gaps of the capture. Three kinds of gaps count:
 * 1. sequence gaps of RoCE of two packets and more;
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

/* Makes sure that each connection has its figures once, and finds the halves that belong
 * together. Returns the figures of all connections. */
static wmem_array_t *
complete_conns(smcr_collect_t *collection, wmem_allocator_t *scope)
{
    wmem_array_t *all = all_conns(collection, scope);

    join_conns(collection, all);
    all = all_conns(collection, scope);
    for (unsigned i = 0; i < wmem_array_get_count(all); i++)
        follow_sides(collection, *(smcr_collect_conn_stats_t **)wmem_array_index(all, i));
    smcr_collect_halves_pair(collection, all, scope);
    return all;
}

void
smcr_collect_connections_report(smcr_collect_t *collection, bool only_over,
                                smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    const smcr_state_t *state = smcr_capture_state();

    if (state && !only_over)
        smcr_conn_each(state, add_by_stream, collection);
    wmem_array_t *all = complete_conns(collection, scope);
    collection->gaps = find_gaps(collection);
    collection->subjects = wmem_array_new(scope, sizeof(smcr_collection_subject_t));
    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        smcr_collect_conn_stats_t *counted =
            *(smcr_collect_conn_stats_t **)wmem_array_index(all, i);
        if (only_over && counted->end == SMCR_COLLECTION_OPEN)
            continue;
        uint32_t before = list->length;
        report_conn(collection, counted, list, scope);
        if (list->length > before)
            add_subject(collection, counted, scope);
    }
}

/* ---- letting go ---- */

/* Returns the time since a packet, nanoseconds; 0 if the clock of the capture went back. */
static uint64_t
since(smcr_when_t packet, uint64_t now)
{
    return packet.frame && now > packet.time ? now - packet.time : 0;
}

/* Whether the frame of an event has come; frame 0: there is no such event. */
static bool
is_past(uint32_t frame, const smcr_collection_patience_t *patience)
{
    return frame && frame <= patience->frame;
}

/* Whether SMC-R has ended: one side has aborted, or both have closed. */
static bool
has_smc_ended(const smcr_conn_t *conn, const smcr_collection_patience_t *patience)
{
    const smcr_conn_side_t *one = &conn->side[0], *other = &conn->side[1];

    if (is_past(one->abort_frame, patience) || is_past(other->abort_frame, patience))
        return true;
    return is_past(one->closed_frame, patience) && is_past(other->closed_frame, patience);
}

/* What is known of the end of a connection. */
typedef enum {
    END_IS_OPEN,   /* neither TCP nor SMC-R has ended */
    END_OF_GROUP,  /* its link group has ended */
    END_OF_ONE,    /* only one has ended of TCP and SMC-R, which it both used */
    END_OF_ALL,    /* all that it used has ended */
} known_end_t;

static known_end_t
known_end(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
          const smcr_collection_patience_t *patience)
{
    const smcr_lgr_t *lgr = counted->on_roce ? counted->conn->lgr : NULL;
    bool tcp_ended = tcp && smcr_collect_tcp_flows_has_closed(tcp);
    bool smc_ended = has_smc_ended(counted->conn, patience);
    bool tcp_lasts = tcp && !tcp_ended, smc_lasts = counted->on_roce && !smc_ended;

    if (tcp_ended || smc_ended)
        return tcp_lasts || smc_lasts ? END_OF_ONE : END_OF_ALL;
    return lgr && is_past(lgr->ended_frame, patience) ? END_OF_GROUP : END_IS_OPEN;
}

/* Returns whether a connection of SMC-R has ended, or is given up: by what is known of its end, and
 * by the time since its last packet. */
static smcr_collection_end_t
end_of(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
       const smcr_collection_patience_t *patience)
{
    const uint64_t waits[] = {[END_IS_OPEN] = patience->idle,
                              [END_OF_GROUP] = END_MISSING * patience->late,
                              [END_OF_ONE] = END_MISSING * patience->late,
                              [END_OF_ALL] = patience->late};
    smcr_when_t last = tcp && tcp->last.frame > counted->last.frame ? tcp->last : counted->last;
    known_end_t end = known_end(counted, tcp, patience);

    if (since(last, patience->now) < waits[end])
        return SMCR_COLLECTION_OPEN;
    return end < END_OF_ONE ? SMCR_COLLECTION_GIVEN_UP : SMCR_COLLECTION_ENDED;
}

/* Finds out whether a connection, or both halves of it, have ended. */
static void
find_end(const smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
         const smcr_collection_patience_t *patience)
{
    const smcr_collect_tcp_facts_t *tcp = facts_of(collection, counted);
    smcr_collect_conn_stats_t *partner = counted->partner;

    counted->end = end_of(counted, tcp, patience);
    if (partner && !end_of(partner, facts_of(collection, partner), patience))
        counted->end = SMCR_COLLECTION_OPEN;
    if (tcp)
        smcr_collect_tcp_flows_own(collection, counted->conn->tcp_stream,
                                   counted->end != SMCR_COLLECTION_OPEN);
}

/* Finds out whether a TCP connection that is not one of SMC-R has ended. */
static void
find_end_of_tcp(smcr_collect_tcp_facts_t *tcp, const smcr_collection_patience_t *patience)
{
    bool has_closed = smcr_collect_tcp_flows_has_closed(tcp);

    if (!tcp->is_owned)
        tcp->is_over = since(tcp->last, patience->now) >=
                       (has_closed ? patience->late : patience->idle);
}

bool
smcr_collect_connections_find_over(smcr_collect_t *collection,
                                   const smcr_collection_patience_t *patience)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    wmem_array_t *conns = complete_conns(collection, scope);
    wmem_array_t *tcp = smcr_collect_tcp_flows_all(collection, scope);
    bool found = false;

    for (unsigned i = 0; i < wmem_array_get_count(tcp); i++)
        (*(smcr_collect_tcp_facts_t **)wmem_array_index(tcp, i))->is_owned = false;
    for (unsigned i = 0; i < wmem_array_get_count(conns); i++) {
        smcr_collect_conn_stats_t *counted =
            *(smcr_collect_conn_stats_t **)wmem_array_index(conns, i);
        find_end(collection, counted, patience);
        found |= counted->end != SMCR_COLLECTION_OPEN;
    }
    for (unsigned i = 0; i < wmem_array_get_count(tcp); i++) {
        smcr_collect_tcp_facts_t *flow = *(smcr_collect_tcp_facts_t **)wmem_array_index(tcp, i);
        find_end_of_tcp(flow, patience);
        found |= flow->is_over;
    }
    wmem_destroy_allocator(scope);
    return found;
}

/* Lets go of a connection. The first contact of its link group needs it no more. */
static void
let_go(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;

    if (counted->end == SMCR_COLLECTION_ENDED)
        smcr_collect_bits_set(collection->gone_conns, conn->index);
    else
        wmem_map_insert(collection->given_up, conn, GINT_TO_POINTER(TRUE));
    if (conn->lgr && wmem_map_lookup(collection->contacts, conn->lgr) == counted)
        wmem_map_remove(collection->contacts, conn->lgr);
    wmem_map_remove(collection->conns, conn);
    smcr_packed_forget(&collection->open_conns, &counted->kept);
    smcr_collect_pool_free(collection, counted->scope);
}

void
smcr_collect_connections_let_go(smcr_collect_t *collection)
{
    wmem_array_t *all = all_conns(collection, NULL);
    uint32_t oldest = UINT32_MAX, quietest = UINT32_MAX; /* first frame, and lowest last frame, of
                                                            those that stay */

    smcr_collect_tcp_flows_let_go(collection);
    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        smcr_collect_conn_stats_t *counted =
            *(smcr_collect_conn_stats_t **)wmem_array_index(all, i);
        if (counted->end != SMCR_COLLECTION_OPEN) {
            let_go(collection, counted);
            continue;
        }
        oldest = MIN(oldest, counted->first.frame);
        quietest = MIN(quietest, counted->last.frame);
    }
    wmem_destroy_array(all);
    smcr_collect_gaps_forget(&collection->roce_gaps, MIN(quietest, collection->last_taken_frame));
    smcr_collect_times_forget(collection, MIN(oldest, collection->last_taken_frame));
}

/* Frees the figures of a connection. Called for each entry of a map. */
static void
free_conn(void *key _U_, void *counted, void *collection)
{
    smcr_collect_pool_free(collection, ((smcr_collect_conn_stats_t *)counted)->scope);
}

void
smcr_collect_connections_free(smcr_collect_t *collection)
{
    wmem_map_foreach(collection->conns, free_conn, collection);
}
