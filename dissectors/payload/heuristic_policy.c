/* Decides for which bytes of the application TCP's heuristics are called (payload.h has the rules).
 * The connection counts how often the heuristics have declined the bytes of a direction. Other
 * state (asking_t) is kept only after SMCR_POLICY_REFUSALS packets were declined, or after a
 * heuristic has accepted one, so most connections have none. The decision of the first pass is kept
 * with the packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

#include <epan/exported_pdu.h>

#include "fields.h"

/* The newest bytes of one direction. */
typedef struct {
    uint64_t when;   /* time of the bytes, nanoseconds since 1970 */
    uint64_t end;    /* stream position after the bytes */
    uint32_t frame;  /* frame of the bytes; 0: none yet */
    uint8_t skipped; /* number of packets, since heuristics were called last, for which they were
                        not called */
} last_t;

/* State of a connection, kept with Wireshark's conversation. It exists once a heuristic has
 * accepted bytes, or once the protocol of a direction counts as unknown. */
typedef struct {
    last_t last[2]; /* last bytes, by sender */
    bool accepted;  /* a heuristic has accepted bytes of either direction */
} asking_t;

/* Table and tap of Wireshark; set at hand-off. */
static struct {
    dissector_table_t ports; /* TCP's table of ports */
    int export_tap;          /* tap of File > Export PDUs to File */
} known;

void
smcr_policy_handoff(void)
{
    known.ports = find_dissector_table("tcp.port");
    known.export_tap = find_tap_id(EXPORT_PDU_TAP_NAME_LAYER_7);
}

/* Returns the state of a connection; NULL: there is none. */
static asking_t *
find_asking(smcr_policy_stretch_t bytes)
{
    return conversation_get_proto_data(bytes.ends->conversation, proto_smcr);
}

/* Whether the bytes begin right after the bytes that a CDC message has announced. */
static bool
begins_announced(const smcr_record_t *record, smcr_policy_stretch_t bytes)
{
    const smcr_stream_t *stream = &record->conn->side[!record->sender].in;

    return bytes.begin == stream->announced;
}

/* Whether the heuristics have to be called once more, because they were not called for
 * SMCR_POLICY_SELDOM packets. If the bytes begin directly after announced bytes,
 * SMCR_POLICY_ANNOUNCED packets are enough. */
static bool
is_due(const last_t *last, const smcr_record_t *record, smcr_policy_stretch_t bytes)
{
    return last->skipped >= SMCR_POLICY_SELDOM ||
           (last->skipped >= SMCR_POLICY_ANNOUNCED && begins_announced(record, bytes));
}

/* Whether a message of the application may begin with these bytes. Any of four conditions is
 * enough: 1. the bytes come after a gap; 2. they come after bytes of the other direction; 3. they
 * come after a pause; 4. is_due() holds, because a stream without pauses has messages, too. */
static bool
may_begin_message(const asking_t *asking, const smcr_record_t *record, smcr_policy_stretch_t bytes)
{
    const last_t *last = &asking->last[bytes.sender];
    const last_t *other = &asking->last[!bytes.sender];
    bool follows_gap = bytes.begin != last->end;
    bool follows_other_direction = other->frame > last->frame;

    if (follows_gap || follows_other_direction)
        return true;
    return bytes.time >= last->when + SMCR_POLICY_IDLE ||
           is_due(last, record, bytes);
}

/* Notes time, end and frame of the newest bytes of a direction. */
static void
note_last_bytes(last_t *last, const packet_info *pinfo, smcr_policy_stretch_t bytes)
{
    last->when = bytes.time;
    last->end = bytes.end;
    last->frame = pinfo->num;
}

/* First pass: decides whether the heuristics are called for these bytes. They are not called if
 * they have declined SMCR_POLICY_REFUSALS packets of the direction in a row, and the bytes cannot
 * begin a message (may_begin_message()). Then this function counts the packet as skipped, and notes
 * its bytes. The caller pins this decision to the frame, so that later passes decide likewise. */
static bool
decide_to_ask(const packet_info *pinfo, const smcr_record_t *record, smcr_policy_stretch_t bytes)
{
    asking_t *asking = find_asking(bytes);

    if (!asking || asking->accepted)
        return true;
    last_t *last = &asking->last[bytes.sender];
    if (record->conn->side[!record->sender].heuristic_declines < SMCR_POLICY_REFUSALS ||
        may_begin_message(asking, record, bytes))
        return true;
    last->skipped++;
    note_last_bytes(last, pinfo, bytes);
    return false;
}

dissector_handle_t
smcr_policy_dissector_of_port(uint16_t port)
{
    return port ? dissector_get_uint_handle(known.ports, port) : NULL; /* tsdns has port 0 */
}

bool
smcr_policy_has_dissector(const packet_info *pinfo, const smcr_conn_t *conn,
                          const smcr_handshake_ends_t *ends)
{
    return smcr_handshake_app_dissector(ends->dissectors, pinfo->num) ||
           smcr_policy_dissector_of_port(conn->port[0]) ||
           smcr_policy_dissector_of_port(conn->port[1]);
}

/* Later passes must decide as the first pass did, whatever is known by then. Therefore the decision
 * is in the record of the packet. */
smcr_policy_ask_t
smcr_policy_decide_asking(packet_info *pinfo, const smcr_record_t *record,
                          smcr_policy_stretch_t bytes)
{
    bool is_off = smcr_preferences.heuristics == SMCR_HEURISTICS_ALWAYS;

    if (is_off || have_tap_listener(known.export_tap)) /* Export PDUs needs all bytes, so the policy
                                                          does not apply */
        return SMCR_POLICY_ASK_AS_TCP;
    if (pinfo->fd->visited) /* in a later pass; a dissector may have claimed the conversation since
                               the first pass */
        return record->write_location->skips_heuristics ? SMCR_POLICY_ASK_NOT
                                                        : SMCR_POLICY_ASK_AS_TCP;
    if (bytes.has_dissector)
        return SMCR_POLICY_ASK_AS_TCP;
    if (decide_to_ask(pinfo, record, bytes))
        return SMCR_POLICY_ASK_NOW;
    smcr_place_set_unasked(record->write_location);
    return SMCR_POLICY_ASK_NOT;
}

/* The heuristics' answer is noted in asking_t, which is made only if they have declined
 * SMCR_POLICY_REFUSALS packets, or accept this one. `accepted` counts for both directions. */
void
smcr_policy_note_answer(const packet_info *pinfo, const smcr_record_t *record,
                        smcr_policy_stretch_t bytes, bool declined)
{
    asking_t *asking = find_asking(bytes);

    if (declined && !smcr_conn_note_decline(record->conn, !record->sender, SMCR_POLICY_REFUSALS) &&
        !asking)
        return;
    if (!asking) {
        asking = wmem_new0(wmem_file_scope(), asking_t);
        conversation_add_proto_data(bytes.ends->conversation, proto_smcr, asking);
    }
    last_t *last = &asking->last[bytes.sender];
    asking->accepted |= !declined;
    last->skipped = 0;
    note_last_bytes(last, pinfo, bytes);
}
