/* connections.c
 * Counts what the packets of a connection carry. Whatever names a role, an outcome or an end comes
 * from the state when the report is made (conn_entry.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "connections.h"

#include <stdlib.h>

#include "message/message.h"
#include "wire/wire.h"

struct smcr_connections {
    wmem_allocator_t *scope;
    wmem_map_t *by_conn; /* smcr_conn_t -> smcr_collect_counted_conn_t */
    smcr_collect_rewritten_t rewritten;
    uint32_t last_frame; /* that has been taken, of any connection or of none */
};

smcr_collect_connections_t *
smcr_collect_connections_new(wmem_allocator_t *scope)
{
    smcr_collect_connections_t *connections = wmem_new0(scope, smcr_collect_connections_t);

    connections->scope = scope;
    connections->by_conn = wmem_map_new(scope, g_direct_hash, g_direct_equal);
    return connections;
}

static smcr_collect_counted_conn_t *
get(smcr_collect_connections_t *connections, const smcr_conn_t *conn)
{
    smcr_collect_counted_conn_t *counted = wmem_map_lookup(connections->by_conn, conn);

    if (counted)
        return counted;
    counted = wmem_new0(connections->scope, smcr_collect_counted_conn_t);
    counted->conn = conn;
    wmem_map_insert(connections->by_conn, conn, counted);
    return counted;
}

/* ---- links ---- */

/* What `side` sends goes on this link now. */
static void
note_link(smcr_collect_connections_t *connections, smcr_collect_counted_conn_t *counted, int side,
          const smcr_link_t *link, smcr_when_t when)
{
    if (!link || counted->direction[side].link == link)
        return;
    counted->direction[side].link = link;
    if (counted->last_use && counted->last_use->link == link)
        return;
    smcr_collect_link_use_t *use = wmem_new0(connections->scope, smcr_collect_link_use_t);
    use->link = link;
    use->from = when;
    if (counted->last_use)
        counted->last_use->next = use;
    else
        counted->first_use = use;
    counted->last_use = use;
}

/* ---- WRITEs that wait for their acknowledgement ---- */

/* A list of few requests, the oldest first: where nobody acknowledges, old ones are given up.
 * Requests that are sent again before the acknowledgement comes are left out: nobody knows which of
 * their packets is acknowledged. */
#define UNACKED_MAX 256

typedef struct smcr_unacked_write {
    struct smcr_unacked_write *next; /* newer */
    const smcr_place_t *place;
    smcr_when_t sent;
    bool again; /* it was sent again */
} unacked_write_t;

static void
remove_oldest(smcr_collect_unacked_writes_t *writes, wmem_allocator_t *scope)
{
    unacked_write_t *oldest = writes->oldest;

    writes->oldest = oldest->next;
    if (!writes->oldest)
        writes->newest = NULL;
    writes->count--;
    wmem_free(scope, oldest);
}

/* The last packet of a request, which the state knows as `place`. */
static void
add_unacked(smcr_collect_unacked_writes_t *writes, wmem_allocator_t *scope, smcr_when_t when,
            const smcr_place_t *place)
{
    unacked_write_t *write = wmem_new(scope, unacked_write_t);

    *write = (unacked_write_t){.place = place, .sent = when};
    if (writes->newest)
        writes->newest->next = write;
    else
        writes->oldest = write;
    writes->newest = write;
    if (++writes->count > UNACKED_MAX)
        remove_oldest(writes, scope);
}

/* The packet of frame `first` is sent again. */
static void
repeat_unacked(smcr_collect_unacked_writes_t *writes, uint32_t first)
{
    for (unacked_write_t *write = writes->oldest; write; write = write->next)
        if (write->sent.frame == first)
            write->again = true;
}

/* Measures the requests that have been acknowledged before `now`. */
static void
settle_unacked(smcr_collect_unacked_writes_t *writes, wmem_allocator_t *scope, uint32_t now,
               smcr_distribution_t *times)
{
    while (writes->oldest) {
        const unacked_write_t *write = writes->oldest;
        const smcr_when_t *acked = write->place->acked;

        if (!acked || acked->frame >= now)
            return;
        if (!write->again && acked->time >= write->sent.time)
            smcr_distribution_add(times, acked->time - write->sent.time);
        remove_oldest(writes, scope);
    }
}

/* ---- packets ---- */

static void
note_rewritten(smcr_collect_connections_t *connections, smcr_when_t when, uint32_t bytes)
{
    if (bytes && !connections->rewritten.first.frame)
        connections->rewritten.first = when;
    connections->rewritten.bytes += bytes;
}

static void
count_wait(uint64_t *sum, const smcr_record_wait_t *wait, bool *known)
{
    if (!wait->frame)
        return;
    *sum += wait->time;
    *known = true;
}

static void
count_write(smcr_collect_connections_t *connections, smcr_collect_direction_t *direction,
            smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_place_t *place = packet->record->place;
    uint8_t opcode = packet->roce->opcode;

    direction->figures.writes += smcr_ib_begins_message(opcode);
    if (!place)
        return;
    note_rewritten(connections, when, smcr_place_piece(place).rewritten);
    if (place->length)
        direction->is_blocked = false;
    if (smcr_ib_ends_message(opcode))
        add_unacked(&direction->unacked, connections->scope, when, place);
}

static bool
has_event(const smcr_record_t *record, smcr_event_id_t id)
{
    for (const smcr_event_t *event = record->events; event; event = event->next)
        if (event->id == id)
            return true;
    return false;
}

static void
count_cdc(smcr_collect_direction_t *direction, const smcr_tap_t *packet)
{
    bool blocked = packet->cdc && packet->cdc->flags & SMCR_CDC_FLAG_BLOCKED;

    direction->figures.cdc++;
    if (packet->cdc && packet->cdc->complete) {
        direction->figures.blocked_count += blocked && !direction->is_blocked;
        direction->is_blocked = blocked;
    }
}

/* What the packet means for its receiver, once: if it came behind a gap, its repeat tells that.
 * `direction`: of the sender; `reverse`: whose data it says it has read. */
static void
count_meaning(smcr_collect_direction_t *direction, smcr_collect_direction_t *reverse,
              const smcr_record_t *record, uint32_t frame)
{
    const smcr_record_cdc_t *view = record->view;
    const smcr_place_rare_t *place = record->place ? smcr_place_rare(record->place) : NULL;
    const smcr_record_cdc_rare_t *rare = view ? smcr_record_cdc_rare(view) : NULL;

    if (place)
        count_wait(&direction->figures.blocked_s, &place->blocked, &direction->blocked_known);
    if (!view)
        return;
    direction->figures.window_full_count += has_event(record, SMCR_EVENT_WINDOW_FULL) &&
                                            smcr_evidence_hears_reader(record, frame);
    direction->figures.urgent_count += view->urgent;
    if (rare) {
        count_wait(&direction->figures.blocked_s, &rare->blocked, &direction->blocked_known);
        count_wait(&reverse->figures.window_full_s, &rare->full, &reverse->full_known);
    }
    bool ends = has_event(record, SMCR_EVENT_SENDING_DONE) ||
                has_event(record, SMCR_EVENT_CLOSED) || has_event(record, SMCR_EVENT_ABORTED);
    if (view->read_of && !ends) /* the reader may have been idle before it closed */
        smcr_distribution_add(&reverse->figures.read_reported_s, view->read_time);
}

static void
count_repeat(smcr_collect_direction_t *direction, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;

    direction->figures.repeated_packets++;
    direction->figures.repeated_bytes += (uint64_t)packet->roce->payload_length;
    repeat_unacked(&direction->unacked, record->first_frame);
}

static void
count_packet(smcr_collect_connections_t *connections, smcr_collect_counted_conn_t *counted,
             smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_direction_t *direction = &counted->direction[record->sender];

    settle_unacked(&direction->unacked, connections->scope, when.frame,
                   &direction->figures.ack_time_s);
    counted->on_roce = true;
    direction->figures.bytes +=
        smcr_collect_stream_bytes_take(&direction->bytes, connections->scope, record);
    if (record->order == SMCR_FLOW_IS_COPY)
        return;
    count_meaning(direction, &counted->direction[!record->sender], record, when.frame);
    if (record->order == SMCR_FLOW_IS_REPEAT) {
        count_repeat(direction, packet);
        return;
    }
    note_link(connections, counted, record->sender, record->link, when);
    if (record->kind == SMCR_RECORD_WRITE)
        count_write(connections, direction, when, packet);
    else if (record->kind == SMCR_RECORD_CDC)
        count_cdc(direction, packet);
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
count_clc(smcr_collect_counted_conn_t *counted, wmem_allocator_t *scope, smcr_when_t when,
          const smcr_clc_t *clc, bool from_server)
{
    counted->clc_bytes[from_server] += clc->header.length;
    if (clc->header.type == SMCR_CLC_PROPOSAL)
        counted->offered_eids = offered_eids(scope, &clc->u.proposal);
    if (!smcr_wire_clc_agrees(clc->header.type))
        return;
    counted->version = smcr_wire_bits(clc->header.flags, SMCR_MASK_VERSION);
    counted->is_smcd = clc->smcd;
    if (clc->header.type == SMCR_CLC_CONFIRM && !counted->confirm.frame)
        counted->confirm = when;
}

void
smcr_collect_connections_take(smcr_collect_connections_t *connections, smcr_when_t when,
                              const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_conn_t *conn = record->conn ? record->conn : packet->falls_back;

    connections->last_frame = when.frame;
    if (!conn)
        return;
    smcr_collect_counted_conn_t *counted = get(connections, conn);
    if (!counted->first.frame)
        counted->first = when;
    counted->last = when;
    if (packet->clc)
        count_clc(counted, connections->scope, when, packet->clc, record->direction == 1);
    else if (packet->roce && record->sender >= 0)
        count_packet(connections, counted, when, packet);
}

smcr_collect_rewritten_t
smcr_collect_connections_rewritten(const smcr_collect_connections_t *connections)
{
    return connections->rewritten;
}

/* ---- moves ---- */

typedef struct {
    void (*visit)(const smcr_link_t *from, const smcr_link_t *to, void *data);
    void *data;
} visitor_t;

static void
visit_moves(void *key, void *value, void *data)
{
    const smcr_collect_counted_conn_t *counted = value;
    const visitor_t *visitor = data;

    (void)key;
    for (const smcr_collect_link_use_t *use = counted->first_use; use && use->next; use = use->next)
        visitor->visit(use->link, use->next->link, visitor->data);
}

void
smcr_collect_connections_moves(const smcr_collect_connections_t *connections,
                               void (*visit)(const smcr_link_t *from, const smcr_link_t *to,
                                             void *data),
                               void *data)
{
    visitor_t visitor = {visit, data};

    wmem_map_foreach(connections->by_conn, visit_moves, &visitor);
}

/* ---- reporting ---- */

/* Connections are found by their TCP stream, too: one that falls back early is on no other tap. */
typedef struct {
    smcr_collect_connections_t *connections;
    const smcr_collect_sources_t *sources;
} finder_t;

static void
find_by_stream(const smcr_conn_t *conn, void *data)
{
    const finder_t *finder = data;

    if (smcr_collect_tcp_flows_facts(finder->sources->tcp, conn->tcp_stream))
        get(finder->connections, conn);
}

static int
compare(const void *one, const void *other)
{
    uint32_t a = (*(const smcr_collect_counted_conn_t *const *)one)->conn->index;
    uint32_t b = (*(const smcr_collect_counted_conn_t *const *)other)->conn->index;

    return (a > b) - (a < b);
}

typedef struct {
    smcr_collect_counted_conn_t **all;
    uint32_t count;
} gathered_t;

static void
gather(void *key, void *value, void *data)
{
    gathered_t *gathered = data;

    (void)key;
    gathered->all[gathered->count++] = value;
}

/* The last WRITEs of a direction are acknowledged behind its last packet. */
static void
settle(const smcr_collect_connections_t *connections, smcr_collect_counted_conn_t *counted)
{
    for (unsigned sender = 0; sender < 2; sender++) {
        smcr_collect_direction_t *direction = &counted->direction[sender];
        settle_unacked(&direction->unacked, connections->scope, connections->last_frame + 1,
                       &direction->figures.ack_time_s);
    }
}

void
smcr_collect_connections_report(smcr_collect_connections_t *connections,
                                const smcr_collect_sources_t *sources, smcr_figure_list_t *list,
                                wmem_allocator_t *scope)
{
    finder_t finder = {connections, sources};
    gathered_t gathered = {.count = 0};

    if (sources->state)
        smcr_conn_each(sources->state, find_by_stream, &finder);
    gathered.all = wmem_alloc_array(scope, smcr_collect_counted_conn_t *,
                                    wmem_map_size(connections->by_conn) + 1);
    wmem_map_foreach(connections->by_conn, gather, &gathered);
    qsort(gathered.all, gathered.count, sizeof *gathered.all, compare);
    for (uint32_t i = 0; i < gathered.count; i++) {
        settle(connections, gathered.all[i]);
        smcr_collect_conn_entry_fill(
            smcr_figure_list_add(list, scope, &smcr_entry_connection_description), gathered.all[i],
            sources, scope);
    }
}
