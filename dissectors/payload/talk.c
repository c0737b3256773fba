/* Where the TCP connection is not known, positions may not be known, either: of a stream that has
 * gone round its RMB element, whose size nobody has told. Its bytes follow each other in the
 * element, and behind its end from its beginning on. The user can tell the protocol, also for one
 * alone among those of a port: Decode As by the number of a connection (`-d smcr.stream==0,http`).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "talk.h"

#include <epan/decode_as.h>

#include "payload.h"

/* ---- Decode As ---- */

#define TABLE "smcr.stream"

static dissector_table_t table; /* from registration until Wireshark ends */

/* Of the packet that is selected in the window. */
static void *
value_of(packet_info *pinfo)
{
    const smcr_conn_t *conn = smcr_selected_conn(pinfo);

    return GUINT_TO_POINTER(conn ? conn->index : 0);
}

static void
prompt_of(packet_info *pinfo, char *prompt)
{
    snprintf(prompt, MAX_DECODE_AS_PROMPT_LEN, "SMC-R connection %u as",
             GPOINTER_TO_UINT(value_of(pinfo)));
}

static void
offer(const char *name _U_, void *handle, void *data _U_)
{
    dissector_add_for_decode_as(TABLE, handle);
}

/* What can be chosen for a port of TCP. */
static void
offer_all(void)
{
    dissector_table_foreach_handle("tcp.port", offer, NULL);
}

void
smcr_decode_as_register(int proto)
{
    static build_valid_func value[] = {value_of};
    static decode_as_value_t choice = {prompt_of, 1, value};
    static decode_as_t by_number = {"smcr", TABLE, 1, 0, &choice, NULL, NULL,
                                    decode_as_default_populate_list, decode_as_default_reset,
                                    decode_as_default_change, NULL};

    table = register_dissector_table(TABLE, "SMC-R connection", proto, FT_UINT32, BASE_DEC);
    register_decode_as(&by_number);
    register_final_registration_routine(offer_all);
}

/* ---- what TCP remembers ---- */

int
smcr_payload_sender(const smcr_record_t *record)
{
    const smcr_conn_t *conn = record->conn;

    if (conn->conversation)
        return record->direction;
    return conn->lgr && record->sender >= 0 ? record->sender ^ conn->flips : SMCR_LGR_SIDE_UNKNOWN;
}

/* The dissector that the user has chosen learns who is the server by the port, as over TCP: where
 * that is not known, it is who is spoken to first. */
static const smcr_handshake_ends_t *
new_ends(const packet_info *pinfo, const smcr_conn_t *conn, unsigned sender)
{
    smcr_handshake_ends_t *ends = smcr_handshake_ends(pinfo, conn);
    dissector_handle_t chosen = dissector_get_uint_handle(table, conn->index);
    int server = conn->conversation ? 1 : conn->lgr->server;

    if (!conn->conversation)
        server = server < 0 ? !sender : server ^ conn->flips;
    if (chosen)
        wmem_tree_insert32(ends->dissectors, 0, (void *)chosen);
    if (chosen || !conn->conversation)
        ends->server_port = ends->port[server];
    return ends;
}

struct smcr_payload_flow *
smcr_payload_find_flow(const smcr_conn_t *conn, unsigned sender)
{
    struct smcr_payload_flow *flow = conn->flow[sender];
    bool fits = flow && (conn->conversation ? flow->ends->conversation == conn->conversation
                                            : flow->ends->stream >= SMCR_HANDSHAKE_STAND_IN);

    return fits ? flow : NULL;
}

struct smcr_payload_flow *
smcr_payload_flow(const packet_info *pinfo, smcr_conn_t *conn, unsigned sender)
{
    struct smcr_payload_flow *flow = smcr_payload_find_flow(conn, sender);

    if (flow)
        return flow;
    const struct smcr_payload_flow *other = smcr_payload_find_flow(conn, !sender);
    flow = wmem_new0(wmem_file_scope(), struct smcr_payload_flow);
    flow->ends = other ? other->ends : new_ends(pinfo, conn, sender);
    flow->messages = wmem_tree_new(wmem_file_scope());
    smcr_conn_set_flow(conn, sender, flow);
    return flow;
}

/* Whether nothing is absent between what came last and `offset`, in the same round of the element
 * or the next one. Sizes of elements are powers of two, 16 KiB and more. (4.4.2) */
static bool
goes_on(const struct smcr_payload_flow *flow, uint32_t offset)
{
    uint32_t end = flow->offset;
    bool may_be_size = end >= smcr_bsize_bytes(SMCR_BSIZE_16K) && (end & (end - 1)) == 0;

    return end == 0 || offset == end || (offset <= SMCR_WIRE_EYECATCHER_LENGTH && may_be_size);
}

bool
smcr_payload_is_taped(const packet_info *pinfo, const smcr_record_t *record)
{
    smcr_place_t *place = record->place;
    const smcr_place_rare_t *rare = smcr_place_rare(place);
    smcr_stream_piece_t piece = smcr_place_piece(place);
    smcr_conn_t *conn = record->conn;

    if (pinfo->fd->visited || (rare && rare->is_taped))
        return rare && rare->is_taped;
    if (!conn || conn->conversation || smcr_payload_sender(record) < 0 || !place->index ||
        record->fate != SMCR_FLOW_FATE_TAKE ||
        (!piece.known && smcr_ring_room(&conn->side[!record->sender].in.ring)))
        return false;
    unsigned sender = (unsigned)smcr_payload_sender(record);
    struct smcr_payload_flow *flow = smcr_payload_flow(pinfo, conn, sender);
    if (!piece.known) {
        smcr_place_rare_t *more = smcr_place_make_rare(smcr_capture_learn(pinfo), place);
        more->is_taped = true;
        more->taped = piece.position =
            flow->next + !goes_on(flow, place->offset); /* one is absent, or more */
    }
    flow->next = piece.position + place->length;
    flow->offset = place->offset + place->length;
    return !piece.known;
}
