/* The connection counts how often the bytes of a direction were declined. What else the policy
 * needs is kept from the last of these refusals on, so that short connections have nothing of it.
 * What the first pass decides is kept with the packet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "payload.h"

#include <epan/exported_pdu.h>

#include "fields.h"

/* Bytes that went by last in a direction. */
typedef struct {
    uint64_t when;    /* nanoseconds since the epoch */
    uint64_t end;     /* position in the stream behind them */
    uint32_t frame;
    uint8_t skipped; /* packets since somebody was asked */
} last_t;

/* What is kept with Wireshark's conversation, of a connection that a heuristic has accepted or that
 * has a direction which counts as unknown. */
typedef struct {
    last_t last[2]; /* by sender */
    bool accepted;  /* by a heuristic, in some direction */
} asking_t;

/* What others have registered, from handoff until Wireshark ends. */
static struct {
    dissector_table_t ports;
    int export_tap;
} known;

void
smcr_policy_handoff(void)
{
    known.ports = find_dissector_table("tcp.port");
    known.export_tap = find_tap_id(EXPORT_PDU_TAP_NAME_LAYER_7);
}

static asking_t *
find(smcr_policy_stretch_t bytes)
{
    return conversation_get_proto_data(bytes.ends->conversation, proto_smcr);
}

/* Whether a message of the application may begin with these bytes, for all that is known. */
static bool
may_begin(const asking_t *asking, const packet_info *pinfo, const smcr_record_t *record,
          smcr_policy_stretch_t bytes)
{
    const last_t *last = &asking->last[bytes.sender];
    const last_t *other = &asking->last[!bytes.sender];
    const smcr_stream_t *stream = &record->conn->side[!record->sender].in;

    return bytes.begin != last->end || other->frame > last->frame ||
           smcr_capture_when(pinfo).time >= last->when + SMCR_POLICY_IDLE ||
           (last->skipped >= SMCR_POLICY_ANNOUNCED && bytes.begin == stream->announced) ||
           last->skipped >= SMCR_POLICY_SELDOM;
}

static void
note(last_t *last, const packet_info *pinfo, smcr_policy_stretch_t bytes)
{
    last->when = smcr_capture_when(pinfo).time;
    last->end = bytes.end;
    last->frame = pinfo->num;
}

/* First pass. */
static bool
is_worth_asking(const packet_info *pinfo, const smcr_record_t *record, smcr_policy_stretch_t bytes)
{
    asking_t *asking = find(bytes);

    if (!asking || asking->accepted)
        return true;
    last_t *last = &asking->last[bytes.sender];
    if (record->conn->side[!record->sender].declined < SMCR_POLICY_REFUSALS ||
        may_begin(asking, pinfo, record, bytes))
        return true;
    last->skipped++;
    note(last, pinfo, bytes);
    return false;
}

smcr_policy_ask_t
smcr_policy_decide(packet_info *pinfo, const smcr_record_t *record, smcr_policy_stretch_t bytes)
{
    if (smcr_preferences.heuristics == SMCR_HEURISTICS_ALWAYS ||
        have_tap_listener(known.export_tap)) /* all bytes go to TCP */
        return SMCR_POLICY_ASK_AS_TCP;
    if (pinfo->fd->visited) /* a dissector may have claimed the conversation since then */
        return record->place->is_unasked ? SMCR_POLICY_ASK_NOT : SMCR_POLICY_ASK_AS_TCP;
    if (smcr_handshake_other(bytes.ends->dissectors, pinfo->num) ||
        dissector_get_uint_handle(known.ports, record->conn->port[0]) ||
        dissector_get_uint_handle(known.ports, record->conn->port[1]))
        return SMCR_POLICY_ASK_AS_TCP; /* it has somebody to give them to before heuristics */
    if (is_worth_asking(pinfo, record, bytes))
        return SMCR_POLICY_ASK_NOW;
    smcr_place_set_unasked(record->place);
    return SMCR_POLICY_ASK_NOT;
}

void
smcr_policy_answer(const packet_info *pinfo, const smcr_record_t *record,
                   smcr_policy_stretch_t bytes, bool declined)
{
    asking_t *asking = find(bytes);

    if (declined && !smcr_conn_decline(record->conn, !record->sender, SMCR_POLICY_REFUSALS) &&
        !asking)
        return;
    if (!asking) {
        asking = wmem_new0(wmem_file_scope(), asking_t);
        conversation_add_proto_data(bytes.ends->conversation, proto_smcr, asking);
    }
    last_t *last = &asking->last[bytes.sender];
    asking->accepted |= !declined;
    last->skipped = 0;
    note(last, pinfo, bytes);
}
