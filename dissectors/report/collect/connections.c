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
    uint32_t gaps[2]; /* places where packets of each sender are absent, so far */
    uint32_t last[2]; /* frame of the last request, by sender; 0: none */
    bool unowned[2]; /* a WRITE of each sender has no connection */
} flows_t;

/* The sides of the connection may have changed places since. */
static void
follow_sides(smcr_collect_counted_conn_t *counted)
{
    const smcr_collect_direction_t direction = counted->direction[0];

    if (counted->flips == counted->conn->flips)
        return;
    counted->flips = counted->conn->flips;
    counted->direction[0] = counted->direction[1];
    counted->direction[1] = direction;
    smcr_collect_times_flip(&counted->times);
}

/* What has turned out to be one direction of the connection. */
static void
add_half(smcr_collect_counted_conn_t *counted, const smcr_collect_counted_conn_t *half)
{
    for (int side = 0; side < 2; side++) {
        if (!half->direction[side].link)
            continue;
        counted->direction[side] = half->direction[side];
        smcr_collect_times_move(&counted->times, &half->times, side);
    }
    if (!counted->first.frame || half->first.frame < counted->first.frame) {
        counted->first = half->first;
        counted->times.timeline.begun = half->times.timeline.begun;
    }
    if (half->last.frame > counted->last.frame)
        counted->last = half->last;
    if (!counted->first_use) {
        counted->first_use = half->first_use;
        counted->last_use = half->last_use;
    }
    counted->on_roce |= half->on_roce;
}

static smcr_collect_counted_conn_t *
get(smcr_collect_t *collection, const smcr_conn_t *conn)
{
    smcr_collect_counted_conn_t *counted =
        smcr_figure_of(collection->conns, collection->scope, conn, sizeof *counted);
    smcr_collect_counted_conn_t *half =
        conn->half ? wmem_map_remove(collection->conns, conn->half) : NULL;

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

/* Each side begins on a link, and CDC moves it. Other packets on another link come late. Where the
 * peer has moved before a side begins, its messages before may be absent. */
static void
note_link(smcr_collect_t *collection, smcr_collect_counted_conn_t *counted,
          const smcr_record_t *record, smcr_when_t when)
{
    const smcr_link_t *link = record->link;
    const smcr_link_t *last = counted->last_use ? counted->last_use->link : NULL;
    bool begins = !counted->direction[record->sender].link &&
                  counted->first_use == counted->last_use;
    bool moves = smcr_record_has_event(record, SMCR_EVENT_conn_moved);

    if (link)
        counted->direction[record->sender].link = link;
    if (!link || link == last || !(begins || moves))
        return;
    smcr_collect_link_use_t *use = wmem_new0(collection->scope, smcr_collect_link_use_t);
    use->link = link;
    use->from = when;
    if (last)
        counted->last_use->next = use;
    else
        counted->first_use = use;
    if (last && moves) {
        moves_of(collection, last)->from++;
        moves_of(collection, link)->to++;
    }
    counted->last_use = use;
}

/* ---- setup ---- */

/* Whether a step of LLC has no answer so far, or is still to come. */
static bool
is_asked(const smcr_collect_contact_t *contact, uint32_t frame)
{
    const smcr_exchange_t *asked = contact->asked;

    return contact->is_adding ||
           (asked && (!asked->response_frame || asked->response_frame >= frame));
}

/* Whether a link is being added behind the message. */
static bool
adds_link(const smcr_llc_t *llc, const smcr_record_t *record, bool before)
{
    uint8_t type = llc->type & (uint8_t)~SMCR_LLC_TYPE_V2;

    if (type == SMCR_LLC_ADD_LINK)
        return !(llc->flags & SMCR_LLC_FLAG_REJECTED);
    return before && type != SMCR_LLC_DELETE_LINK &&
           !(type == SMCR_LLC_CONFIRM_LINK && record->answers);
}

/* A message of LLC belongs to the first contact if it comes soon after the one before, or while a
 * request waits for its response. */
static void
take_llc(smcr_collect_t *collection, smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_counted_conn_t *counted =
        record->link ? wmem_map_lookup(collection->contacts, record->link->lgr) : NULL;

    if (!counted || counted->contact.is_over || record->kind == SMCR_RECORD_ACK ||
        (packet->llc && packet->llc->type == SMCR_LLC_TEST_LINK))
        return;
    smcr_collect_contact_t *contact = &counted->contact;
    bool is_whole = packet->llc && packet->llc->complete;
    contact->is_unsure |= !is_whole || when.time < contact->step.time;
    if (!packet->llc)
        return;
    if (when.time > contact->ready.time + SMCR_TIME_SECOND && !is_asked(contact, when.frame)) {
        contact->is_over = true;
        return;
    }
    contact->ready = when;
    if (record->order == SMCR_FLOW_IS_REPEAT)
        return;
    if (when.time - contact->step.time > contact->longest) {
        contact->longest = when.time - contact->step.time;
        contact->longest_of = contact->asked;
        contact->longest_link = contact->asked_on ? contact->asked_on->number : 0;
        contact->longest_behind = contact->asked && contact->asked->response_frame &&
                                  contact->asked->response_frame <= contact->step.frame;
    }
    contact->step = when;
    contact->is_adding = adds_link(packet->llc, record, contact->is_adding);
    if (record->asks) {
        contact->asked = record->asks;
        contact->asked_on = record->link;
    }
}

/* A packet of a link. What is absent before it may belong to a first contact, or may be the first
 * data, unless a request of its flow came in between. Returns both flows so far. */
static const flows_t *
take_link(smcr_collect_t *collection, const smcr_tap_t *packet, uint32_t frame)
{
    const smcr_record_t *record = packet->record;
    flows_t *flows =
        smcr_figure_of(collection->link_flows, collection->scope, record->link, sizeof *flows);
    smcr_collect_counted_conn_t *counted = wmem_map_lookup(collection->contacts, record->link->lgr);
    uint32_t *last = &flows->last[record->sender == 1];

    flows->gaps[record->sender == 1] += record->missing > 0;
    if (record->missing && counted && *last <= counted->contact.ready.frame)
        counted->contact.is_unsure = true;
    if (packet->roce && record->kind != SMCR_RECORD_ACK && record->kind != SMCR_RECORD_CNP)
        *last = frame;
    flows->unowned[record->sender == 1] |= record->kind == SMCR_RECORD_WRITE && !record->conn &&
                                           smcr_capture_is_read();
    return flows;
}

/* ---- packets ---- */

static void
count_write(smcr_collect_t *collection, smcr_collect_direction_t *direction,
            smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_place_t *place = packet->record->place;

    direction->figures.writes += smcr_ib_begins_message(packet->roce->opcode);
    if (!place)
        return;
    uint32_t rewritten = smcr_place_piece(place).rewritten;
    if (rewritten)
        smcr_collect_notices_note(collection, "smcr.stream.rewritten", when, rewritten);
}

/* A writer that has announced more has gone on since it waited. Messages may come late. */
static void
count_cdc(smcr_collect_direction_t *direction, const smcr_cdc_t *cdc)
{
    uint64_t *count = &direction->figures.blocked_count;

    direction->figures.cdc++;
    if (!cdc || !cdc->complete || !(cdc->flags & SMCR_CDC_FLAG_BLOCKED))
        return;
    for (unsigned i = 0; i < MIN(*count, SMCR_COLLECT_BLOCKED_KEPT); i++)
        if (smcr_ring_cursors_are_same(direction->blocked[i], cdc->prod))
            return;
    direction->blocked[(*count)++ % SMCR_COLLECT_BLOCKED_KEPT] = cdc->prod;
}

/* What the packet means for its receiver, once: if it came behind a gap, its repeat tells that.
 * `direction`: of the sender; `reverse`: whose data it says it has read. */
static void
count_meaning(smcr_collect_direction_t *direction, smcr_collect_direction_t *reverse,
              const smcr_record_t *record, uint32_t frame)
{
    const smcr_record_cdc_t *view = record->view;

    if (!view)
        return;
    direction->figures.window_full_count += smcr_collect_times_fills(record, frame);
    direction->figures.urgent_count += view->urgent;
    bool ends = smcr_record_has_event(record, SMCR_EVENT_conn_sending_done) ||
                smcr_record_has_event(record, SMCR_EVENT_conn_closed) ||
                smcr_record_has_event(record, SMCR_EVENT_conn_aborted);
    if (view->read_of && !ends) /* the reader may have been idle before it closed */
        smcr_distribution_add(&reverse->figures.read_reported_s, view->read_time);
}

uint32_t
smcr_collect_stream_bytes_take(smcr_collect_stream_bytes_t *bytes, wmem_allocator_t *scope,
                               const smcr_record_t *record)
{
    const smcr_place_t *place = record->place;

    if (record->kind != SMCR_RECORD_WRITE || !place || record->order == SMCR_FLOW_IS_COPY)
        return 0;
    smcr_stream_piece_t piece = smcr_place_piece(place);
    /* A repeat counts only where all places are known: else its first packet may have been counted
     * without one. */
    if (record->order == SMCR_FLOW_IS_REPEAT && (bytes->has_unplaced || !piece.known))
        return 0;
    bytes->has_unplaced |= !piece.known;
    if (!piece.known)
        return place->length;
    return (uint32_t)smcr_ranges_add(&bytes->positions, scope, SMCR_RANGES_OF_STREAM,
                                     piece.position, piece.position + place->length);
}

static void
count_packet(smcr_collect_t *collection, smcr_collect_counted_conn_t *counted,
             smcr_when_t when, const smcr_tap_t *packet, const flows_t *flows)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_direction_t *direction = &counted->direction[record->sender];

    if (!counted->on_roce && is_asked(&counted->contact, when.frame))
        counted->contact.ready = when; /* for data, whatever LLC is still at */
    counted->contact.is_over |= !counted->on_roce;
    counted->on_roce = true;
    const smcr_collect_gaps_t gaps = {flows->gaps, counted->clc[SMCR_CLC_CONFIRM].frame != 0};
    smcr_collect_times_take(&counted->times, collection->scope, when, packet, &gaps);
    direction->figures.bytes +=
        smcr_collect_stream_bytes_take(&direction->bytes, collection->scope, record);
    if (record->order == SMCR_FLOW_IS_COPY)
        return;
    direction->has_unowned |= flows->unowned[record->sender];
    count_meaning(direction, &counted->direction[!record->sender], record, when.frame);
    if (record->order == SMCR_FLOW_IS_REPEAT) {
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

    for (unsigned i = 0; i < MIN(proposal->eids, proposal->eid_count); i++)
        wmem_strbuf_append_printf(
            text, "%s%s", i ? ", " : "",
            smcr_item_peer_text(scope, proposal->eid[i], SMCR_WIRE_EID_LENGTH));
    return wmem_strbuf_get_len(text) ? wmem_strbuf_finalize(text) : NULL;
}

static void
count_clc(smcr_collect_t *collection, smcr_collect_counted_conn_t *counted,
          smcr_when_t when, const smcr_clc_t *clc, bool from_server)
{
    uint8_t type = clc->header.type;

    counted->clc_bytes[from_server] += clc->bytes;
    if (type < G_N_ELEMENTS(counted->clc) && !counted->clc[type].frame) {
        counted->clc[type] = when;
        if (type == SMCR_CLC_CONFIRM && !counted->on_roce) {
            counted->contact.ready = counted->contact.step = when;
            if (counted->conn->first_contact && counted->conn->lgr)
                wmem_map_insert(collection->contacts, counted->conn->lgr, counted);
        }
    }
    if (type == SMCR_CLC_PROPOSAL)
        counted->offered_eids = offered_eids(collection->scope, &clc->u.proposal);
    if (!smcr_wire_clc_agrees(type))
        return;
    counted->version = smcr_wire_bits(clc->header.flags, SMCR_MASK_VERSION);
    counted->is_smcd = clc->smcd;
}

void
smcr_collect_connections_take(smcr_collect_t *collection, smcr_when_t when,
                              const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    bool is_ack = record->kind == SMCR_RECORD_ACK; /* which the figures of its link count */
    const smcr_conn_t *conn = record->conn && !is_ack ? record->conn : packet->falls_back;
    const flows_t *flows = record->link ? take_link(collection, packet, when.frame) : NULL;

    collection->now = when.frame;
    if (!conn) {
        take_llc(collection, when, packet);
        return;
    }
    smcr_collect_counted_conn_t *counted = get(collection, conn);
    if (!counted->first.frame)
        counted->first = when;
    counted->last = when;
    if (packet->clc)
        count_clc(collection, counted, when, packet->clc, record->direction == 1);
    else if (flows && packet->roce && record->sender >= 0)
        count_packet(collection, counted, when, packet, flows);
}

/* ---- reporting ---- */

/* Connections are found by their TCP stream, too: one that falls back early is on no other tap. */
static void
find_by_stream(const smcr_conn_t *conn, void *collection)
{
    if (smcr_collect_tcp_flows_facts(collection, conn->tcp_stream))
        get(collection, conn);
}

SMCR_FIGURE_ORDER(by_index, smcr_collect_counted_conn_t *const, counted, (*counted)->conn->index)

static void
gather(void *key _U_, void *value, void *all)
{
    wmem_array_append_one((wmem_array_t *)all, value);
}

/* smcr_collect_counted_conn_t *, in the order of their indices. */
static wmem_array_t *
all_of(const smcr_collect_t *collection, wmem_allocator_t *scope)
{
    wmem_array_t *all = wmem_array_new(scope, sizeof(smcr_collect_counted_conn_t *));

    wmem_map_foreach(collection->conns, gather, all);
    wmem_array_sort(all, by_index);
    return all;
}

static void
report_conn(smcr_collect_t *collection, smcr_collect_counted_conn_t *counted, uint32_t lacking,
            smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    const smcr_conn_t *conn = counted->conn;
    const smcr_collect_tcp_facts_t *tcp =
        conn->conversation ? smcr_collect_tcp_flows_facts(collection, conn->tcp_stream) : NULL;

    follow_sides(counted);
    smcr_collect_times_advance(&counted->times, collection->scope, collection->now);
    smcr_collect_conn_entry_fill(SMCR_FIGURE_ADD(connection, list, scope), counted, tcp, lacking,
                                 collection, scope);
}

void
smcr_collect_connections_report(smcr_collect_t *collection, smcr_figure_list_t *list,
                                wmem_allocator_t *scope)
{
    wmem_array_t *all = all_of(collection, scope);
    const smcr_state_t *state = smcr_capture_state();

    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        const smcr_conn_t *conn = (*(smcr_collect_counted_conn_t **)wmem_array_index(all, i))->conn;
        if (conn->joined)
            get(collection, conn->joined);
    }
    if (state)
        smcr_conn_each(state, find_by_stream, collection);
    all = all_of(collection, scope);
    uint32_t lacking = collection->lacking; /* and what TCP lacks as of now */
    for (unsigned i = 0; i < wmem_array_get_count(collection->tcp); i++) {
        const smcr_collect_tcp_facts_t *tcp = smcr_collect_tcp_flows_facts(collection, i);
        if (tcp && tcp->lacks && tcp->is_connected)
            lacking = MAX(lacking, tcp->syn.frame ? tcp->last.frame : tcp->first.frame);
    }
    for (unsigned i = 0; i < wmem_array_get_count(all); i++)
        report_conn(collection, *(smcr_collect_counted_conn_t **)wmem_array_index(all, i), lacking,
                    list, scope);
}
