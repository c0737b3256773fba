/* State of Wireshark's TCP for the bytes of a connection, and positions of bytes on connections
 * whose TCP connection is not known. If the stream has wrapped in its RMB element, and the size of
 * the element is not known, the positions of the bytes are not known. But the order of the bytes is
 * known: they follow each other in the element, and continue at the beginning of the element after
 * its end.
 *
 * The user can choose the protocol of a connection without known ports, or of a single connection
 * among those of a port: Decode As by the number of the connection (`-d smcr.stream==0,http`).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp_state.h"

#include <epan/decode_as.h>

#include "payload.h"

/* ---- Decode As ---- */

#define TABLE "smcr.stream"

static dissector_table_t table; /* set at registration */

/* Spare trees for calls of Wireshark's TCP, for connections that have no trees of their own: most
 * connections never put anything into a tree. The trees are in file scope. NULL: there is no spare
 * tree, or a call is using it. */
static struct {
    wmem_tree_t *messages;   /* for smcr_payload_flow.messages; empty */
    wmem_tree_t *dissectors; /* for smcr_handshake_ends_t.dissectors: has the CLC dissector only */
} spare;

/* Returns the number of the selected packet's connection. */
static void *
selected_number(packet_info *pinfo)
{
    const smcr_conn_t *conn = smcr_selected_conn(pinfo);

    return GUINT_TO_POINTER(conn ? conn->index : 0);
}

/* Called by Wireshark: writes the question of the Decode As window for the selected packet. */
static void
write_prompt(packet_info *pinfo, char *prompt)
{
    snprintf(prompt, MAX_DECODE_AS_PROMPT_LEN, "SMC-R connection %u as",
             GPOINTER_TO_UINT(selected_number(pinfo)));
}

/* Callback for each dissector of the table of TCP ports: appends it to the GPtrArray
 * `dissectors`. */
static void
collect_dissector(const char *name _U_, void *handle, void *dissectors)
{
    g_ptr_array_add(dissectors, handle);
}

/* Returns the filter name of the dissector's protocol; "": it has no protocol. */
static const char *
filter_name(const void *handle)
{
    int proto = dissector_handle_get_protocol_index(*(dissector_handle_t const *)handle);

    return proto < 0 ? "" : proto_get_protocol_filter_name(proto);
}

/* Comparison for g_ptr_array_sort(): dissectors in descending order of their filter names. */
static int
descending(const void *one, const void *other)
{
    return strcmp(filter_name(other), filter_name(one));
}

/* Offers every dissector that can be chosen for a port of TCP in Decode As by the number of a
 * connection. Wireshark keeps the dissectors of a table in ascending order, and searches the place
 * of a new one from the beginning of its list. In descending order, the place of each dissector is
 * the first one. */
static void
offer_dissectors_of_ports(void)
{
    GPtrArray *dissectors = g_ptr_array_new();

    dissector_table_foreach_handle("tcp.port", collect_dissector, dissectors);
    g_ptr_array_sort(dissectors, descending);
    for (unsigned i = 0; i < dissectors->len; i++)
        dissector_add_for_decode_as(TABLE, g_ptr_array_index(dissectors, i));
    g_ptr_array_free(dissectors, TRUE);
}

/* Called by Wireshark before a first pass begins: trees that an earlier first pass has made are
 * freed with its file scope. */
static void
forget_spares(void)
{
    spare.messages = spare.dissectors = NULL;
}

/* The name of the table is part of users' command lines and profiles. */
void
smcr_decode_as_register(int proto)
{
    static build_valid_func value[] = {selected_number};
    static decode_as_value_t choice = {write_prompt, 1, value};
    static decode_as_t by_number = {"smcr", TABLE, 1, 0, &choice, NULL, NULL,
                                    decode_as_default_populate_list, decode_as_default_reset,
                                    decode_as_default_change, NULL};

    table = register_dissector_table(TABLE, "SMC-R connection", proto, FT_UINT32, BASE_DEC);
    register_decode_as(&by_number);
    register_final_registration_routine(offer_dissectors_of_ports);
    register_init_routine(forget_spares);
}

/* ---- state of a direction ---- */

/* `sides_swapped` is applied, so that an end keeps its number in all frames. */
int
smcr_payload_sender(const smcr_record_t *record)
{
    const smcr_conn_t *conn = record->conn;

    if (conn->conversation)
        return record->direction;
    if (!conn->lgr || record->sender < 0)
        return SMCR_LGR_SIDE_UNKNOWN;
    return record->sender ^ conn->sides_swapped;
}

/* Returns which end is the server, 0 or 1. If the TCP connection is not known, returns the server
 * of the link group. If that server is not known either, returns the receiver of the first
 * bytes. */
static int
server_of(const smcr_conn_t *conn, unsigned sender)
{
    if (conn->conversation)
        return 1;
    return conn->lgr->server < 0 ? !sender : conn->lgr->server ^ conn->sides_swapped;
}

/* Makes the two ends of the connection, client and server, that dissectors above TCP get to see. If
 * the user has chosen a dissector, the dissector recognises the server by its port, as over TCP. */
static smcr_handshake_ends_t *
new_ends(const packet_info *pinfo, const smcr_conn_t *conn, unsigned sender)
{
    smcr_handshake_ends_t *ends = smcr_handshake_ends(pinfo, conn);
    dissector_handle_t chosen = dissector_get_uint_handle(table, conn->index);

    if (chosen)
        wmem_tree_insert32(smcr_handshake_dissectors(ends), 0, (void *)chosen);
    if (chosen || !conn->conversation)
        ends->server_port = ends->port[server_of(conn, sender)];
    return ends;
}

/* Whether the flow was made for the conversation that the connection has now. A connection without
 * a conversation has a stand-in conversation, whose stream number is higher than all stream numbers
 * of TCP. */
static bool
fits_conversation(const struct smcr_payload_flow *flow, const smcr_conn_t *conn)
{
    if (conn->conversation)
        return flow->ends->conversation == conn->conversation;
    return flow->ends->stream >= SMCR_HANDSHAKE_STAND_IN;
}

struct smcr_payload_flow *
smcr_payload_find_flow(const smcr_conn_t *conn, unsigned sender)
{
    struct smcr_payload_flow *flow = conn->flow[sender];

    return flow && fits_conversation(flow, conn) ? flow : NULL;
}

/* The direction that comes second gets the ends of the first one. */
struct smcr_payload_flow *
smcr_payload_flow(const packet_info *pinfo, smcr_conn_t *conn, unsigned sender)
{
    struct smcr_payload_flow *flow = smcr_payload_find_flow(conn, sender);

    if (flow)
        return flow;
    const struct smcr_payload_flow *other = smcr_payload_find_flow(conn, !sender);
    flow = wmem_new0(wmem_file_scope(), struct smcr_payload_flow);
    flow->ends = other ? other->ends : new_ends(pinfo, conn, sender);
    smcr_conn_set_flow(conn, sender, flow);
    return flow;
}

/* The two flows may share their ends, which are freed once. */
void
smcr_payload_release(smcr_conn_t *conn)
{
    smcr_handshake_ends_t *ends = NULL;

    for (unsigned sender = 0; sender < 2; sender++) {
        struct smcr_payload_flow *flow = conn->flow[sender];
        if (!flow)
            continue;
        bool is_same = flow->ends == ends;
        if (ends && !is_same)
            wmem_free(wmem_file_scope(), ends);
        ends = flow->ends;
        wmem_free(wmem_file_scope(), flow);
        smcr_conn_set_flow(conn, sender, NULL);
    }
    if (ends)
        wmem_free(wmem_file_scope(), ends);
}

/* ---- held packets that a later frame of the stream shows ---- */

wmem_array_t *
smcr_payload_guests(const struct smcr_payload_flow *flow, uint32_t frame)
{
    return flow->guests ? wmem_map_lookup(flow->guests, GUINT_TO_POINTER(frame)) : NULL;
}

/* A guest is a held packet whose bytes a later frame shows. The guests of one frame stay in the
 * order of adding, in which later passes show them (held.c). */
void
smcr_payload_add_guest(struct smcr_payload_flow *flow, smcr_held_t *held)
{
    wmem_array_t *guests = smcr_payload_guests(flow, flow->last_frame);

    if (!flow->guests)
        flow->guests = wmem_map_new(wmem_file_scope(), g_direct_hash, g_direct_equal);
    if (!guests) {
        guests = wmem_array_new(wmem_file_scope(), sizeof held);
        wmem_map_insert(flow->guests, GUINT_TO_POINTER(flow->last_frame), guests);
    }
    wmem_array_append_one(guests, held);
}

/* ---- trees that most connections do not need ---- */

/* A spare tree is lent to one caller at a time. */
smcr_payload_trees_t
smcr_payload_lend_trees(const struct smcr_payload_flow *flow)
{
    smcr_payload_trees_t trees = {flow->messages, flow->ends->dissectors};

    if (!trees.messages) {
        trees.messages = spare.messages ? spare.messages : wmem_tree_new(wmem_file_scope());
        spare.messages = NULL;
    }
    if (!trees.dissectors) {
        trees.dissectors = spare.dissectors ? spare.dissectors : smcr_handshake_no_dissectors();
        spare.dissectors = NULL;
    }
    return trees;
}

/* A tree of dissectors with one entry has only the CLC dissector, with which each tree begins. */
void
smcr_payload_return_trees(struct smcr_payload_flow *flow, smcr_payload_trees_t trees)
{
    if (!flow->messages && wmem_tree_is_empty(trees.messages))
        spare.messages = trees.messages;
    else
        flow->messages = trees.messages;
    if (!flow->ends->dissectors && wmem_tree_count(trees.dissectors) == 1)
        spare.dissectors = trees.dissectors;
    else
        flow->ends->dissectors = trees.dissectors;
}

/* ---- bytes of which only the order is known ---- */

/* Whether bytes at `offset` in the RMB element directly continue the earlier bytes. Three cases: 1.
 * there are no earlier bytes; 2. `offset` is the end of the earlier bytes; 3. `offset` is the
 * beginning of the element (after the eyecatcher, if there is one), and the earlier bytes may have
 * ended at the end of the element. The size of an element is a power of two, at least 16 KiB.
 * (4.4.2) */
static bool
continues_flow(const struct smcr_payload_flow *flow, uint32_t offset)
{
    uint32_t end = flow->next_offset;
    bool may_be_size = end >= smcr_bsize_to_bytes(SMCR_BSIZE_16K) && (end & (end - 1)) == 0;

    return end == 0 || offset == end || (offset <= SMCR_WIRE_EYECATCHER_LENGTH && may_be_size);
}

/* Whether TCP gets the packet's bytes although the TCP connection is not known. */
static bool
is_without_tcp(const smcr_record_t *record)
{
    const smcr_conn_t *conn = record->conn;

    if (!conn || conn->conversation || smcr_payload_sender(record) < 0)
        return false;
    return record->write_location->index && record->receiver_action == SMCR_FLOW_RECEIVER_TAKES;
}

/* Whether the size of the receiver's RMB element is known. If it is known, the stream position of
 * each byte becomes known, at the latest with a later packet. */
static bool
is_element_size_known(const smcr_record_t *record)
{
    return smcr_ring_room(&record->conn->side[!record->sender].in.ring) != 0;
}

/* Moves the end of the flow (`next_position`, `next_offset`) to the end of the packet's bytes. No
 * byte is copied. If the stream position of the bytes is not known, first gives them a position,
 * which is pinned to the frame: directly after the earlier bytes, or one byte higher if bytes are
 * missing before the packet, since it is not known how many are missing. */
static void
advance_flow(const packet_info *pinfo, const smcr_record_t *record, smcr_stream_range_t piece)
{
    smcr_place_t *place = record->write_location;
    unsigned sender = (unsigned)smcr_payload_sender(record);
    struct smcr_payload_flow *flow = smcr_payload_flow(pinfo, record->conn, sender);

    if (!piece.known) {
        smcr_place_rare_t *rare = smcr_place_make_rare(smcr_capture_learn(pinfo), place);
        piece.position = flow->next_position + !continues_flow(flow, place->offset);
        rare->is_arrival_ordered = true;
        rare->arrival_position = piece.position;
    }
    flow->next_position = piece.position + place->length;
    flow->next_offset = place->offset + place->length;
}

/* Later passes only read what the first one has decided. */
bool
smcr_payload_is_arrival_ordered(const packet_info *pinfo, const smcr_record_t *record)
{
    const smcr_place_rare_t *rare = smcr_place_rare(record->write_location);
    bool is_arrival_ordered = rare && rare->is_arrival_ordered;

    if (pinfo->fd->visited || is_arrival_ordered)
        return is_arrival_ordered;
    smcr_stream_range_t piece = smcr_place_range(record->write_location);
    if (!is_without_tcp(record) || (!piece.known && is_element_size_known(record)))
        return false;
    advance_flow(pinfo, record, piece);
    return !piece.known;
}
