/* CLC messages that Wireshark's TCP withholds from all dissectors: bytes that come after their own
 * acknowledgement in the capture. TCP takes them for a retransmission. They are none if the frames
 * of the two hosts have times of clocks that differ, or if the first transmission is missing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp.h"

#include "message/message.h"
#include "packet/packet.h"
#include "show/show.h"
#include "fields.h"

/* How often Wireshark's TCP has called the CLC dissector. The number only shows whether it has done
 * so during a call of TCP's dissector. */
static unsigned offers;

/* The dissector of CLC, set at hand-off. */
static dissector_handle_t clc;

void
smcr_tcp_note_offer(void)
{
    offers++;
}

unsigned
smcr_tcp_offers(void)
{
    return offers;
}

/* Returns the length of the whole CLC message at the beginning of the payload, if its header is
 * complete and the segment has all of its bytes; 0: it is not so. */
static int
whole_message(tvbuff_t *payload, const packet_info *pinfo)
{
    if (tvb_captured_length(payload) < SMCR_CLC_HEADER_LENGTH ||
        !smcr_tcp_clc_begins(payload, 0, pinfo) || !smcr_tcp_clc_is_plausible(payload))
        return 0;
    int stated = tvb_get_ntohs(payload, SMCR_CLC_LENGTH_AT);
    bool is_whole = stated >= SMCR_CLC_HEADER_LENGTH &&
                    stated <= tvb_reported_length_remaining(payload, 0);
    return is_whole ? stated : 0;
}

/* First pass: whether the connection has not had this message. A message is sent once, so another
 * one of its type is a retransmission. `from_server`: the server has sent the message. */
static bool
is_new(const smcr_conn_t *conn, uint8_t type, bool from_server)
{
    bool has_had_it = conn->clc_types_received & 1U << type;

    return type <= SMCR_CLC_DECLINE && !has_had_it && !conn->partial_clc[from_server];
}

/* Whether this frame has a CLC message that TCP has withheld: in the first pass, one that is new;
 * in later passes, one that was learned. */
static bool
is_withheld(tvbuff_t *message, packet_info *pinfo)
{
    const smcr_conn_t *conn = smcr_handshake_find_conn(pinfo);
    smcr_record_t record;

    if (!conn || smcr_tcp_clc_has_ended(pinfo, conn))
        return false;
    if (pinfo->fd->visited)
        return smcr_packet_find_record(pinfo, SMCR_PACKET_CLC, 0, &record);
    return is_new(conn, tvb_get_uint8(message, SMCR_CLC_TYPE_AT),
                  !smcr_handshake_from_client(pinfo, conn));
}

/* Returns the CLC message at the beginning of the segment's payload; NULL: the segment does not
 * begin with one, or does not have all of it. `tvb` begins with the TCP header. */
static tvbuff_t *
message_of(tvbuff_t *tvb, const packet_info *pinfo)
{
    if (tvb_captured_length(tvb) <= SMCR_TCP_OFFSET)
        return NULL;
    int header = smcr_tcp_header_length(tvb);
    if (tvb_captured_length_remaining(tvb, header) <= 0)
        return NULL;
    tvbuff_t *payload = tvb_new_subset_remaining(tvb, header);
    int length = whole_message(payload, pinfo);
    return length ? tvb_new_subset_length(payload, 0, length) : NULL;
}

/* TCP's sequence numbers are not handed on, since they would say that the message is old. So the
 * state takes the message without a proof that none is missing before it. */
void
smcr_tcp_dissect_withheld(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, unsigned before)
{
    if (offers != before || smcr_capture_is_quoted(pinfo) || pinfo->ptype != PT_TCP)
        return;
    tvbuff_t *message = message_of(tvb, pinfo);
    if (!message || !is_withheld(message, pinfo))
        return;
    pinfo->can_desegment = 0; /* TCP does not wait for more bytes */
    call_dissector_only(clc, message, pinfo, tree, NULL);
}

void
smcr_tcp_withheld_handoff(dissector_handle_t handle)
{
    clc = handle;
}
