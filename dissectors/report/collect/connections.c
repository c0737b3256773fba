/* Counts what the packets of a connection carry. Whatever names a role, an outcome or an end comes
 * from the state when the report is made (conn_entry.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "collectors.h"

#include <stdlib.h>

#include "message/message.h"
#include "wire/wire.h"

/* Both flows of a link. */
typedef struct {
    uint32_t gaps[2]; /* places where packets are missing so far, by sender */
    uint32_t last[2]; /* frame of the last request, by sender; 0: none */
    bool unowned[2];  /* a WRITE is of no known connection, by sender */
} flows_t;

/* Swaps what was counted of both sides where the state has swapped the sides of the connection. */
static void
follow_sides(smcr_collect_conn_stats_t *counted)
{
    const smcr_collect_direction_t direction = counted->direction[0];
    const smcr_collect_writer_t writer = counted->division.writer[0];

    if (counted->sides_swapped == counted->conn->sides_swapped)
        return;
    counted->sides_swapped = counted->conn->sides_swapped;
    counted->direction[0] = counted->direction[1];
    counted->direction[1] = direction;
    counted->division.writer[0] = counted->division.writer[1];
    counted->division.writer[1] = writer;
}

/* Takes over what was counted of a connection that turned out to be one direction of this one. */
static void
add_half(smcr_collect_conn_stats_t *counted, const smcr_collect_conn_stats_t *half)
{
    for (int side = 0; side < 2; side++) {
        if (!half->direction[side].link)
            continue;
        counted->direction[side] = half->direction[side];
        counted->division.writer[side] = half->division.writer[side];
    }
    if (!counted->first.frame || half->first.frame < counted->first.frame) {
        counted->first = half->first;
        counted->division.begun = half->division.begun;
    }
    if (half->last.frame > counted->last.frame)
        counted->last = half->last;
    if (!counted->first_use) {
        counted->first_use = half->first_use;
        counted->last_use = half->last_use;
    }
    counted->on_roce |= half->on_roce;
}

static smcr_collect_conn_stats_t *
get_conn(smcr_collect_t *collection, const smcr_conn_t *conn)
{
    smcr_collect_conn_stats_t *counted =
        smcr_figure_of(collection->conns, collection->scope, conn, sizeof *counted);
    smcr_collect_conn_stats_t *half =
        conn->merged_half ? wmem_map_remove(collection->conns, conn->merged_half) : NULL;

    counted->conn = conn;
    follow_sides(counted);
    if (half) {
        follow_sides(half);
        add_half(counted, half);
    }
    return counted;
}

/* ---- links ---- */

static smcr_collect_moves_t *
moves_of(smcr_collect_t *collection, const smcr_link_t *link)
{
    return smcr_figure_of(collection->moves, collection->scope, link, sizeof(smcr_collect_moves_t));
}

/* The packet is the first one that shows the connection on this link: the first of its sender, or
 * the first after a CDC message has moved the connection (RFC 7609, 4.6.2). Other packets on
 * another link are late. If the peer had moved before this sender's first packet, the sender's
 * earlier messages may be missing. */
static bool
begins_link_use(const smcr_collect_conn_stats_t *counted, const smcr_record_t *record)
{
    bool is_first_of_sender = !counted->direction[record->sender].link;
    bool has_never_moved = counted->first_use == counted->last_use;

    return (is_first_of_sender && has_never_moved) ||
           smcr_record_has_event(record, SMCR_EVENT_conn_moved);
}

/* Appends the link to those that the connection has used, and counts a move between links. */
static void
add_link_use(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
             const smcr_record_t *record, smcr_when_t when)
{
    const smcr_link_t *last = counted->last_use ? counted->last_use->link : NULL;
    smcr_collect_link_use_t *use = wmem_new0(collection->scope, smcr_collect_link_use_t);

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

/* Notes on which link the sender's packet went. */
static void
note_link(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
          const smcr_record_t *record, smcr_when_t when)
{
    const smcr_link_t *link = record->link;
    const smcr_link_t *last = counted->last_use ? counted->last_use->link : NULL;

    if (!link)
        return;
    bool begins = link != last && begins_link_use(counted, record);
    counted->direction[record->sender].link = link;
    if (begins)
        add_link_use(collection, counted, record, when);
}

/* ---- setup ---- */

/* Missing packets make the first contact unsure: they may be LLC messages, or the first data. If
 * the sender had sent a request since the last LLC message, they were after the first contact. */
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

/* A packet of RoCE that is neither an acknowledgement nor a CNP. */
static bool
is_request(const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;

    return packet->roce && record->kind != SMCR_RECORD_ACK && record->kind != SMCR_RECORD_CNP;
}

/* A WRITE whose connection is not known, although the whole capture has been read. */
static bool
is_unowned_write(const smcr_record_t *record)
{
    return record->kind == SMCR_RECORD_WRITE && !record->conn && smcr_capture_is_read();
}

/* Counts a packet of a link. Returns both flows so far. */
static const flows_t *
take_link(smcr_collect_t *collection, const smcr_tap_t *packet, uint32_t frame)
{
    const smcr_record_t *record = packet->record;
    flows_t *flows =
        smcr_figure_of(collection->link_flows, collection->scope, record->link, sizeof *flows);
    unsigned sender = record->sender == 1;

    note_gap(collection, record, flows);
    if (is_request(packet))
        flows->last[sender] = frame;
    flows->unowned[sender] |= is_unowned_write(record);
    return flows;
}

/* ---- packets ---- */

static void
count_write(smcr_collect_t *collection, smcr_collect_direction_t *direction,
            smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_place_t *place = packet->record->write_location;

    direction->figures.writes += smcr_ib_begins_message(packet->roce->opcode);
    if (!place)
        return;
    uint32_t rewritten = smcr_place_range(place).rewritten;
    if (rewritten)
        smcr_collect_notices_count(collection, "smcr.stream.rewritten", when, rewritten);
}

/* Counts waits of a writer: CDC messages with the flag "writer blocked" (RFC 7609, 4.5.1), one wait
 * for each producer cursor: a writer that has announced more was not blocked meanwhile. The last
 * cursors are kept, since messages may come late. */
static void
count_cdc(smcr_collect_direction_t *direction, const smcr_cdc_t *cdc)
{
    uint64_t *count = &direction->figures.blocked_count;

    direction->figures.cdc++;
    if (!cdc || !cdc->complete || !(cdc->flags & SMCR_CDC_FLAG_BLOCKED))
        return;
    for (unsigned i = 0; i < MIN(*count, SMCR_COLLECT_BLOCKED_KEPT); i++)
        if (smcr_ring_cursors_are_same(direction->wait_cursors[i], cdc->prod))
            return;
    direction->wait_cursors[(*count)++ % SMCR_COLLECT_BLOCKED_KEPT] = cdc->prod;
}

/* Whether the message ends the connection, or one direction. */
static bool
ends_connection(const smcr_record_t *record)
{
    return smcr_record_has_event(record, SMCR_EVENT_conn_sending_done) ||
           smcr_record_has_event(record, SMCR_EVENT_conn_closed) ||
           smcr_record_has_event(record, SMCR_EVENT_conn_aborted);
}

/* Counts what a CDC message means for its receiver, once: if the message came after a gap, its
 * retransmission has the meaning. `direction`: of the sender; `reverse`: whose data the message
 * reports as read. The message that ends a connection reports no read time: the reader may have
 * been idle before. */
static void
count_meaning(smcr_collect_direction_t *direction, smcr_collect_direction_t *reverse,
              const smcr_record_t *record, uint32_t frame)
{
    const smcr_record_cdc_t *view = record->cdc_analysis;

    if (!view)
        return;
    direction->figures.window_full_count += smcr_collect_division_fills(record, frame);
    direction->figures.urgent_count += view->urgent;
    if (view->read_announced_frame && !ends_connection(record))
        smcr_distribution_add(&reverse->figures.read_reported_s, view->read_time);
}

uint32_t
smcr_collect_stream_bytes_take(smcr_collect_stream_bytes_t *bytes, wmem_allocator_t *scope,
                               const smcr_record_t *record)
{
    const smcr_place_t *place = record->write_location;

    if (record->kind != SMCR_RECORD_WRITE || !place || record->order == SMCR_FLOW_IS_COPY)
        return 0;
    smcr_stream_range_t piece = smcr_place_range(place);
    /* A retransmission counts only if all positions are known: else its first transmission may have
     * been counted without a position. */
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION && (bytes->has_unpositioned || !piece.known))
        return 0;
    bytes->has_unpositioned |= !piece.known;
    if (!piece.known)
        return place->length;
    return (uint32_t)smcr_ranges_add(&bytes->positions, scope, SMCR_RANGES_OF_STREAM,
                                     piece.position, piece.position + place->length);
}

static void
count_packet(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
             smcr_when_t when, const smcr_tap_t *packet, const flows_t *flows)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_direction_t *direction = &counted->direction[record->sender];

    if (!counted->on_roce && smcr_collect_contact_awaits(&counted->contact, when.frame))
        counted->contact.ready = when; /* for data, whatever LLC is still at */
    counted->contact.is_over |= !counted->on_roce;
    counted->on_roce = true;
    smcr_collect_division_take(&counted->division, collection->scope, when, packet, flows->gaps,
                               counted->clc[SMCR_CLC_CONFIRM].frame != 0);
    direction->figures.bytes +=
        smcr_collect_stream_bytes_take(&direction->bytes, collection->scope, record);
    if (record->order == SMCR_FLOW_IS_COPY)
        return;
    direction->has_unowned_writes |= flows->unowned[record->sender];
    count_meaning(direction, &counted->direction[!record->sender], record, when.frame);
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION) {
        direction->figures.repeated_packets++;
        direction->figures.repeated_bytes += (uint64_t)packet->roce->payload_length;
        return;
    }
    note_link(collection, counted, record, when);
    if (record->kind == SMCR_RECORD_WRITE)
        count_write(collection, direction, when, packet);
    else if (record->kind == SMCR_RECORD_CDC)
        count_cdc(direction, packet->cdc);
}

/* ---- CLC ---- */

/* The user EIDs that the Proposal offers: an EID of the system is none of them. */
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

/* The Confirm ends CLC. In a first contact, LLC sets up the link group then (RFC 7609, 3.5.1). */
static void
begin_contact(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted, smcr_when_t confirm)
{
    counted->contact.ready = confirm;
    counted->contact.step = confirm;
    if (counted->conn->first_contact && counted->conn->lgr)
        wmem_map_insert(collection->contacts, counted->conn->lgr, counted);
}

static void
count_clc(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
          smcr_when_t when, const smcr_clc_t *clc, bool from_server)
{
    uint8_t type = clc->header.type;

    counted->clc_bytes[from_server] += clc->length;
    if (type < G_N_ELEMENTS(counted->clc) && !counted->clc[type].frame) {
        counted->clc[type] = when;
        if (type == SMCR_CLC_CONFIRM && !counted->on_roce)
            begin_contact(collection, counted, when);
    }
    if (type == SMCR_CLC_PROPOSAL)
        counted->offered_eids = offered_eids(collection->scope, &clc->u.proposal);
    if (!smcr_wire_clc_agrees(type))
        return;
    counted->version = smcr_wire_bits(clc->header.flags, SMCR_MASK_VERSION);
    counted->is_smcd = clc->smcd;
}

/* The connection that counts the packet; NULL: none. Acknowledgements are figures of their link. */
static const smcr_conn_t *
conn_of(const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    bool is_ack = record->kind == SMCR_RECORD_ACK;

    return record->conn && !is_ack ? record->conn : packet->falls_back;
}

void
smcr_collect_connections_take(smcr_collect_t *collection, smcr_when_t when,
                              const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_conn_t *conn = conn_of(packet);
    const flows_t *flows = record->link ? take_link(collection, packet, when.frame) : NULL;

    collection->last_taken_frame = when.frame;
    if (!conn) {
        smcr_collect_contact_take(collection, when, packet);
        return;
    }
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

/* Adds a connection whose TCP segments were counted: one that falls back early is on no other tap.
 */
static void
add_by_stream(const smcr_conn_t *conn, void *collection)
{
    if (smcr_collect_tcp_flows_facts(collection, conn->tcp_stream))
        get_conn(collection, conn);
}

SMCR_FIGURE_ORDER(by_index, smcr_collect_conn_stats_t *const, counted, (*counted)->conn->index)

static void
gather(void *key _U_, void *value, void *all)
{
    wmem_array_append_one((wmem_array_t *)all, value);
}

/* smcr_collect_conn_stats_t *, in the order of their indices. */
static wmem_array_t *
all_conns(const smcr_collect_t *collection, wmem_allocator_t *scope)
{
    wmem_array_t *all = wmem_array_new(scope, sizeof(smcr_collect_conn_stats_t *));

    wmem_map_foreach(collection->conns, gather, all);
    wmem_array_sort(all, by_index);
    return all;
}

static void
report_conn(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted, uint32_t lacking,
            smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;
    const smcr_collect_tcp_facts_t *tcp =
        conn->conversation ? smcr_collect_tcp_flows_facts(collection, conn->tcp_stream) : NULL;

    follow_sides(counted);
    smcr_collect_division_end(&counted->division, collection->scope,
                              MAX(counted->last.frame, tcp ? tcp->last.frame : 0),
                              collection->last_taken_frame);
    smcr_collect_conn_entry_fill(SMCR_FIGURE_ADD(connection, list, scope), counted, tcp, lacking,
                                 collection, scope);
}

/* Connections that were counted, and are known as another one now: both are reported as that one.
 */
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

/* The last frame that shows missing packets, of RoCE or of TCP. Where the capture has no SYN of a
 * TCP connection, its first frame shows that. */
static uint32_t
last_frame_of_gaps(const smcr_collect_t *collection)
{
    uint32_t last = collection->last_gap_frame;

    for (unsigned i = 0; i < wmem_array_get_count(collection->tcp); i++) {
        const smcr_collect_tcp_facts_t *tcp = smcr_collect_tcp_flows_facts(collection, i);
        if (tcp && tcp->may_lack_bytes && tcp->is_connected)
            last = MAX(last, tcp->syn.frame ? tcp->last.frame : tcp->first.frame);
    }
    return last;
}

void
smcr_collect_connections_report(smcr_collect_t *collection, smcr_figure_list_t *list,
                                wmem_allocator_t *scope)
{
    wmem_array_t *all = all_conns(collection, scope);
    const smcr_state_t *state = smcr_capture_state();

    join_conns(collection, all);
    if (state)
        smcr_conn_each(state, add_by_stream, collection);
    all = all_conns(collection, scope);
    uint32_t lacking = last_frame_of_gaps(collection);
    for (unsigned i = 0; i < wmem_array_get_count(all); i++)
        report_conn(collection, *(smcr_collect_conn_stats_t **)wmem_array_index(all, i), lacking,
                    list, scope);
}
