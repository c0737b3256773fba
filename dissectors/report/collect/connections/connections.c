/* Counts packets, messages and bytes of connections, while packets come. Roles, outcomes and ends
 * of connections are read from the state when the report is made (conn_entry.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "connections.h"

#include "counts.h"
#include "message/message.h"
#include "wire/wire.h"

/* Does nothing if the sides are as they were. */
void
smcr_collect_conn_follow_sides(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
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

/* Brings the sides of both halves up to date before it adds one half to the other. */
smcr_collect_conn_stats_t *
smcr_collect_conn_of(smcr_collect_t *collection, const smcr_conn_t *conn)
{
    smcr_collect_conn_stats_t *counted = wmem_map_lookup(collection->conns, conn);
    smcr_collect_conn_stats_t *half =
        conn->merged_half ? wmem_map_lookup(collection->conns, conn->merged_half) : NULL;

    if (!counted)
        counted = new_conn(collection, conn);
    smcr_collect_conn_follow_sides(collection, counted);
    if (half && half->scope == counted->scope) { /* figures stay in their pool */
        wmem_map_remove(collection->conns, conn->merged_half);
        smcr_collect_conn_follow_sides(collection, half);
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

/* ---- packets ---- */

/* Counts an error that the application's protocol reports at the beginning of the WRITE packet's
 * data. */
static void
count_application_error(smcr_collect_t *collection, smcr_when_t when, const smcr_tap_t *packet)
{
    smcr_host_bytes_t bytes = smcr_host_bytes_of(packet->data);
    const smcr_application_error_t *error = smcr_application_error_of(bytes.bytes, bytes.length);

    if (error)
        smcr_collect_notices_count_error(collection, error->filter, when, packet->record->conn);
}

/* Counts an RDMA WRITE request once, at its first packet. Counts rewritten bytes
 * (smcr.stream.rewritten): bytes at a position of the stream that the sender had written before, in
 * a packet that the receiver accepts. Data that an earlier packet has, too (`is_copy`), count
 * nothing. */
static void
count_write(smcr_collect_t *collection, smcr_collect_direction_t *direction,
            smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_place_t *place = packet->record->write_location;
    const smcr_place_rare_t *rare = place ? smcr_place_rare(place) : NULL;

    if (rare && rare->is_copy)
        return;
    direction->figures.writes += smcr_ib_operations[packet->roce->opcode].begins;
    count_application_error(collection, when, packet);
    if (!place)
        return;
    uint32_t rewritten = smcr_place_range(place).rewritten;
    if (rewritten && packet->record->receiver_action == SMCR_FLOW_RECEIVER_TAKES)
        smcr_collect_notices_count(collection, "smcr.stream.rewritten", when, rewritten);
}

/* Returns the sequence number of a direction's first captured CDC message. A failover validation
 * has the number of the message before it, 0 if there is none, and counts with the number of the
 * next one (RFC 7609, 4.6.1). */
static uint16_t
number_of_first(const smcr_cdc_t *cdc)
{
    return (uint16_t)(cdc->seq + (cdc->flags & SMCR_CDC_FLAG_FAILOVER ? 1 : 0));
}

/* Counts a CDC message, and the wait of its writer. A CDC message with the flag "writer blocked"
 * (RFC 7609, 4.5.1) reports a wait. Messages with equal producer cursors report the same wait: the
 * producer cursor of a writer that is not blocked advances. Messages may come out of order, so the
 * cursor is compared with the last SMCR_COLLECT_BLOCKED_KEPT cursors. `cdc`: NULL: the message is
 * not decoded, and only counts as a message. */
static void
count_cdc(smcr_collect_direction_t *direction, wmem_allocator_t *scope, const smcr_cdc_t *cdc)
{
    uint64_t *count = &direction->figures.blocked_count;

    if (!direction->figures.cdc++ && cdc)
        direction->first_cdc_seq = number_of_first(cdc);
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

/* Whether the capture has a CLC message of the connection before its RoCE packets: the Confirm, or,
 * if times of TCP and RoCE can be compared, any other. */
static bool
began_in_capture(const smcr_collect_conn_stats_t *counted)
{
    return counted->clc[SMCR_CLC_CONFIRM].frame || smcr_evidence_first_frame(counted->conn);
}

/* Counts a RoCE packet in the figures of its direction. A duplicate made by the network counts only
 * in the timeline. A retransmission counts as a retransmission, and never as another WRITE or CDC
 * message. But if the receiver had discarded the first transmission, the retransmission brings new
 * bytes, and brings a CDC message into effect. */
static void
count_packet(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
             smcr_when_t when, const smcr_tap_t *packet, const smcr_collect_link_flows_t *flows)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_conn_open(collection, counted);
    smcr_collect_direction_t *direction = &counted->counts->direction[record->sender];

    if (!counted->on_roce && smcr_collect_contact_awaits(&counted->contact, when.frame))
        counted->contact.ready = when; /* the first data ends the setup, even if LLC messages follow
                                          later */
    counted->contact.is_over |= !counted->on_roce;
    counted->on_roce = true;
    const smcr_collect_gaps_t gaps = {flows->gaps, flows->gap, flows->whole_since,
                                      began_in_capture(counted)};
    smcr_collect_times_take(&counted->counts->times, counted->scope, when, packet, &gaps);
    direction->figures.bytes +=
        smcr_collect_stream_bytes_take(&direction->bytes, counted->scope, record);
    if (record->order == SMCR_FLOW_IS_COPY)
        return;
    direction->unowned_write =
        MAX(direction->unowned_write, smcr_collect_link_flows_last_unowned(flows, record));
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

/* Counts the bytes of a CLC message. Keeps the time of the first message of each type, of a
 * Decline for each sender; the EIDs of the last Proposal; and the version of the last Accept or
 * Confirm. A Confirm that is captured in one piece begins the setup after CLC, unless it comes
 * after the first RoCE packet of the connection: then this setup was over before. */
static void
count_clc(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
          smcr_when_t when, const smcr_clc_t *clc, bool from_server)
{
    uint8_t type = clc->header.type;

    counted->clc_bytes[from_server] += clc->length;
    counted->has_cut_clc[from_server] |= !clc->complete && !clc->malformed;
    if (type < G_N_ELEMENTS(counted->clc) && !counted->clc[type].frame) {
        counted->clc[type] = when;
        counted->clc_continues[type] = clc->continues;
        if (type == SMCR_CLC_CONFIRM && !counted->on_roce && !clc->continues)
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

/* Returns the connection in whose figures the packet counts: its own, or the one that falls back to
 * TCP with this packet; NULL: none. An acknowledgement counts for no connection, since it may cover
 * packets of several connections. */
static const smcr_conn_t *
conn_of(const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    bool is_ack = record->kind == SMCR_RECORD_ACK;

    return record->conn && !is_ack ? record->conn : packet->falls_back;
}

/* Whether the collection has let go of the connection after its end. Then its packet comes late,
 * and is counted in `late_packets`. Called once for a packet. */
static bool
is_gone_and_counts(smcr_collect_t *collection, const smcr_conn_t *conn)
{
    bool is_late = smcr_collect_bits_has(collection->gone_conns, conn->index);

    collection->late_packets += is_late;
    return is_late;
}

void
smcr_collect_connections_take_segment(smcr_collect_t *collection, const smcr_conn_t *conn)
{
    if (!smcr_collect_bits_has(collection->gone_conns, conn->index))
        smcr_collect_conn_of(collection, conn);
}

/* The flows of the link take every packet of the link, also one of no connection, or of a
 * connection that is gone. */
void
smcr_collect_connections_take(smcr_collect_t *collection, smcr_when_t when,
                              const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_conn_t *conn = conn_of(packet);
    const smcr_collect_link_flows_t *flows =
        record->link ? smcr_collect_link_flows_take(collection, packet, when) : NULL;

    collection->last_taken_frame = when.frame;
    if (!conn) {
        smcr_collect_contact_take(collection, when, packet);
        return;
    }
    if (is_gone_and_counts(collection, conn))
        return;
    smcr_collect_conn_stats_t *counted = smcr_collect_conn_of(collection, conn);
    if (!counted->first.frame)
        counted->first = when;
    counted->last = when;
    if (packet->clc)
        count_clc(collection, counted, when, packet->clc, record->direction == 1);
    else if (flows && packet->roce && record->sender >= 0)
        count_packet(collection, counted, when, packet, flows);
}

smcr_when_t
smcr_collect_connections_gap_begin(const smcr_collect_t *collection, const smcr_record_t *record)
{
    const smcr_collect_link_flows_t *flows = wmem_map_lookup(collection->link_flows, record->link);

    return flows ? flows->gap[record->sender == 1].begin : (smcr_when_t){0, 0};
}

void
smcr_collect_connections_begin(smcr_collect_t *collection)
{
    collection->open_conns.size = sizeof(smcr_collect_conn_counts_t);
}
