/* TCP segments that were damaged on the way. A receiver discards a segment with a wrong checksum
 * (RFC 9293, 3.1; RFC 791, 3.1), and its sender retransmits it. So nothing is learned from a damaged
 * SYN or CLC message, and the retransmission counts.
 *
 * Wireshark's TCP does not check the checksums by default, and it passes no retransmission to a
 * dissector. So this file checks the checksums of the few segments that matter, and passes the
 * retransmission of a damaged segment to the CLC dissector itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp.h"

#include <epan/exceptions.h>

#include "message/message.h"
#include "show/show.h"
#include "fields.h"

/* Offsets in the header of TCP (RFC 9293 3.1). */
enum { TCP_SEQ = 4, TCP_ACK = 8, TCP_OFFSET = 12 };

/* ---- whether a segment is damaged ---- */

/* Counts a checksum. Returns whether it is wrong, and most checksums of the sender are right. */
static bool
count_checksum(const packet_info *pinfo, const smcr_sender_t *sender, smcr_host_checksum_t found)
{
    smcr_state_t *state = smcr_capture_learn(pinfo);

    if (found == SMCR_HOST_CHECKSUM_UNKNOWN)
        return false;
    smcr_senders_count_checksum(state, sender, found == SMCR_HOST_CHECKSUM_RIGHT, pinfo->num);
    return found == SMCR_HOST_CHECKSUM_WRONG && smcr_senders_mean_damage(state, sender);
}

/* Whether the checksums of CLC messages mean nothing. Counts that of this segment, `found`. */
static bool
are_messages_rewritten(const packet_info *pinfo, smcr_host_checksum_t found)
{
    smcr_state_t *state = smcr_capture_learn(pinfo);
    smcr_sender_t all = {.interface = smcr_capture_interface(pinfo), .checksum = SMCR_SENDER_CLC};

    count_checksum(pinfo, &all, found);
    return smcr_senders_are_always_wrong(state, &all);
}

/* Checks and counts the checksums of the segment. The addresses of a packet with a wrong IP header
 * may be wrong, so the IP headers of all senders are judged together. */
static bool
check_segment(const packet_info *pinfo, bool has_clc)
{
    smcr_host_checksums_t found = smcr_host_tcp_checksums(pinfo);
    smcr_sender_t all = {.interface = smcr_capture_interface(pinfo), .checksum = SMCR_SENDER_IP};
    smcr_sender_t sender = {.interface = all.interface, .checksum = SMCR_SENDER_TCP};

    smcr_endpoint_gid(&pinfo->src, sender.address);
    if (count_checksum(pinfo, &all, found.ip))
        return true;
    bool is_wrong = count_checksum(pinfo, &sender, found.tcp);
    return !(has_clc && are_messages_rewritten(pinfo, found.tcp)) && is_wrong;
}

/* The result is kept with the frame if the segment is damaged. Within the first pass it is also kept
 * for this dissection, so that no checksum is counted twice. */
bool
smcr_tcp_is_damaged(packet_info *pinfo, bool has_clc)
{
    static char damaged, intact; /* only their addresses are used */

    if (pinfo->fd->visited)
        return p_get_proto_data(wmem_file_scope(), pinfo, proto_smcr, SMCR_TCP_DAMAGED) != NULL;
    if (smcr_capture_is_quoted(pinfo))
        return false;
    void *known = p_get_proto_data(pinfo->pool, pinfo, proto_smcr, SMCR_TCP_DAMAGED);
    if (known)
        return known == &damaged;
    bool is_damaged = check_segment(pinfo, has_clc);
    p_add_proto_data(pinfo->pool, pinfo, proto_smcr, SMCR_TCP_DAMAGED,
                     is_damaged ? &damaged : &intact);
    if (is_damaged)
        p_add_proto_data(wmem_file_scope(), pinfo, proto_smcr, SMCR_TCP_DAMAGED, &damaged);
    return is_damaged;
}

bool
smcr_tcp_has_wrong_checksum(const packet_info *pinfo)
{
    smcr_host_checksums_t found = smcr_host_tcp_checksums(pinfo);

    return found.ip == SMCR_HOST_CHECKSUM_WRONG || found.tcp == SMCR_HOST_CHECKSUM_WRONG;
}

/* ---- SYN and SYN-ACK ---- */

void
smcr_tcp_learn_damaged_syn(packet_info *pinfo)
{
    smcr_state_damage_of(smcr_capture_learn(pinfo), find_or_create_conversation(pinfo))->has_syn =
        true;
}

void
smcr_tcp_learn_right_syn(packet_info *pinfo)
{
    smcr_state_damage_t *damage =
        smcr_state_damage(smcr_capture_state(), find_or_create_conversation(pinfo));

    if (damage)
        damage->has_syn = false;
}

/* ---- the bytes of a damaged segment, and their retransmission ---- */

/* Returns the direction of the segment: 0 `flow1` of Wireshark's TCP, 1 `flow2`. */
static unsigned
direction_of(packet_info *pinfo, conversation_t *conversation)
{
    const struct tcp_analysis *tcp = get_tcp_conversation_data(conversation, pinfo);

    return tcp->fwd == &tcp->flow2;
}

/* The retransmission comes with the same sequence numbers. */
void
smcr_tcp_learn_damaged(tvbuff_t *tvb, packet_info *pinfo, const struct tcpinfo *tcp)
{
    struct tcpheader header;
    conversation_t *conversation = find_or_create_conversation(pinfo);

    if (!tcp || tcp->is_reassembled || !smcr_host_tcp_segment(pinfo, &header))
        return;
    smcr_state_damage_t *damage =
        smcr_state_damage_of(smcr_capture_learn(pinfo), conversation);
    unsigned direction = direction_of(pinfo, conversation);
    damage->has_data[direction] = true;
    damage->first[direction] = tcp->seq;
    damage->end[direction] = tcp->seq + tvb_reported_length(tvb);
    damage->offset[direction] = header.th_rawseq - tcp->seq;
    smcr_handshake_watch_segments();
}

/* Whether the bytes from `seq` on, `length` of them, have the first of the damaged bytes. */
static bool
has_damaged_bytes(const smcr_state_damage_t *damage, unsigned direction, uint32_t seq,
                  uint32_t length)
{
    return damage->has_data[direction] && damage->first[direction] - seq < length;
}

void
smcr_tcp_learn_right(tvbuff_t *tvb, packet_info *pinfo, const struct tcpinfo *tcp)
{
    conversation_t *conversation = find_or_create_conversation(pinfo);
    smcr_state_damage_t *damage = smcr_state_damage(smcr_capture_state(), conversation);

    if (!damage || !tcp)
        return;
    unsigned direction = direction_of(pinfo, conversation);
    if (has_damaged_bytes(damage, direction, tcp->seq, tvb_reported_length(tvb)))
        damage->has_data[direction] = false;
}

/* Returns the payload of the segment `tvb`; NULL: it has none, or is truncated. */
static tvbuff_t *
payload_of(tvbuff_t *tvb)
{
    int header = (tvb_get_uint8(tvb, TCP_OFFSET) >> 4) * 4;
    bool is_whole = tvb_captured_length(tvb) == tvb_reported_length(tvb);

    return is_whole && header < (int)tvb_reported_length(tvb)
               ? tvb_new_subset_remaining(tvb, header) : NULL;
}

/* First pass: if the segment is the retransmission of a damaged one, and TCP has not passed its
 * bytes to the CLC dissector, returns the struct that TCP would have passed with them; NULL:
 * otherwise. */
static struct tcpinfo *
find_retransmission(tvbuff_t *tvb, packet_info *pinfo, tvbuff_t *payload)
{
    conversation_t *conversation = find_conversation_pinfo(pinfo, 0);
    smcr_state_damage_t *damage =
        conversation ? smcr_state_damage(smcr_capture_state(), conversation) : NULL;

    if (!damage)
        return NULL;
    unsigned direction = direction_of(pinfo, conversation);
    uint32_t seq = tvb_get_ntohl(tvb, TCP_SEQ) - damage->offset[direction];
    if (!has_damaged_bytes(damage, direction, seq, tvb_reported_length(payload)) ||
        smcr_tcp_is_damaged(pinfo, true))
        return NULL;
    const struct tcp_analysis *tcp = get_tcp_conversation_data(conversation, pinfo);
    uint32_t base = tvb_get_ntohl(tvb, TCP_SEQ) == seq ? 0 : tcp->rev->base_seq;
    struct tcpinfo *info = wmem_new0(wmem_file_scope(), struct tcpinfo);
    info->seq = seq;
    info->nxtseq = seq + tvb_reported_length(payload);
    info->lastackseq = tvb_get_ntohl(tvb, TCP_ACK) - base;
    compat_tcpinfo_set_stream(info, tcp->stream);
    damage->has_data[direction] = false;
    return info;
}

/* The first pass decides, and keeps the decision with the frame. */
void
smcr_tcp_dissect_retransmission(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    bool is_first_pass = !pinfo->fd->visited;
    struct tcpinfo *info =
        p_get_proto_data(wmem_file_scope(), pinfo, proto_smcr, SMCR_TCP_RETRANSMISSION);

    if (is_first_pass ? !smcr_state_has_damage(smcr_capture_state()) : !info)
        return;
    tvbuff_t *payload = payload_of(tvb);
    bool is_clc = payload && smcr_tcp_clc_begins(payload, 0, pinfo);
    if (is_first_pass && is_clc) {
        info = find_retransmission(tvb, pinfo, payload);
        if (info)
            p_add_proto_data(wmem_file_scope(), pinfo, proto_smcr, SMCR_TCP_RETRANSMISSION, info);
    }
    if (info && is_clc)
        smcr_tcp_clc_call(payload, pinfo, tree, info);
}

/* ---- what is shown ---- */

/* Shows the CLC messages of a damaged segment, without the expert items of their contents. */
static int
show_messages(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    volatile int used = 0;

    pinfo->can_desegment = 0;
    smcr_items_raise_of_messages(false);
    TRY {
        used = smcr_tcp_clc_show(tvb, pinfo, tree, NULL);
    }
    FINALLY {
        smcr_items_raise_of_messages(true);
    }
    ENDTRY;
    return used;
}

void
smcr_tcp_show_wrong_checksum(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    proto_item *item = proto_tree_add_boolean(tree, hf_smcr_tcp_damaged, tvb, 0, 0, true);

    proto_item_set_generated(item);
    smcr_item_raise_unconditionally(pinfo, item, &ei_smcr_tcp_checksum);
}

/* Any byte may be wrong, so no message is put together from this segment and later ones. The
 * connection is shown only where an earlier frame has made it. */
int
smcr_tcp_show_damaged(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
{
    smcr_tcp_show_wrong_checksum(tvb, pinfo, tree);
    if (conn && pinfo->num >= conn->conversation_from)
        smcr_annotate_segment(tvb, pinfo, tree, conn);
    return smcr_tcp_clc_begins(tvb, 0, pinfo) ? show_messages(tvb, pinfo, tree) : 0;
}
