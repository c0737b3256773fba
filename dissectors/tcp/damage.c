/* TCP segments that were damaged on the way. A receiver discards a segment with a wrong checksum
 * (RFC 9293, 3.1; RFC 791, 3.1), and its sender retransmits it. So nothing is learned from a
 * damaged SYN or CLC message, and the retransmission counts.
 *
 * Nothing counts as damaged without Wireshark's preferences tcp.check_checksum and
 * ip.check_checksum, which are off by default (smcr_host_tcp_checksums()). Wireshark's TCP passes
 * no retransmission to a dissector, so this file passes that of a damaged segment to the CLC
 * dissector itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp.h"

#include <epan/exceptions.h>

#include "message/message.h"
#include "show/show.h"
#include "fields.h"

/* Offsets in the header of TCP (RFC 9293 3.1). */
enum { TCP_SEQ = 4, TCP_ACK = 8 };

static bool
is_first_pass(const packet_info *pinfo)
{
    return !pinfo->fd->visited;
}

/* ---- whether a segment is damaged ---- */

/* A segment in the first pass, whose checksums are checked and counted. */
typedef struct {
    packet_info *pinfo;
    smcr_state_t *state;
    uint32_t interface;          /* interface of the frame, as the capture numbers interfaces */
    smcr_host_checksums_t found; /* results of its checksums */
    smcr_tcp_carried_t contents; /* what it carries */
} checked_t;

/* Counts a checksum, if it is known whether it is right. Returns whether it is wrong, and wrong
 * checksums of this sender mean damage (smcr_senders_mean_damage()). */
static bool
count_checksum(const checked_t *segment, const smcr_sender_t *sender, smcr_host_checksum_t found)
{
    bool is_right = found == SMCR_HOST_CHECKSUM_RIGHT;

    if (found == SMCR_HOST_CHECKSUM_UNKNOWN)
        return false;
    smcr_senders_count_checksum(segment->state, sender, is_right, segment->pinfo->num);
    return !is_right && smcr_senders_mean_damage(segment->state, sender);
}

/* Returns the key of the checksums of one kind, of all senders at an interface. */
static smcr_sender_t
all_senders(uint32_t interface, smcr_sender_checksum_t checksum)
{
    return (smcr_sender_t){.interface = interface, .checksum = checksum};
}

/* Returns the key of the TCP checksums of the segment's sender at an interface. */
static smcr_sender_t
sender_of(const packet_info *pinfo, uint32_t interface)
{
    smcr_sender_t sender = all_senders(interface, SMCR_SENDER_TCP);

    smcr_endpoint_gid(&pinfo->src, sender.address);
    return sender;
}

/* Whether the checksums of TCP in segments with CLC messages mean nothing. Counts that of this
 * segment. */
static bool
are_messages_rewritten(const checked_t *segment)
{
    smcr_sender_t all = all_senders(segment->interface, SMCR_SENDER_CLC);

    count_checksum(segment, &all, segment->found.tcp);
    return smcr_senders_mean_nothing(segment->state, &all);
}

/* Whether a segment with a wrong checksum has an address that may be wrong itself: nothing else is
 * known of its sender, and its connection is not known either. */
static bool
has_doubtful_sender(const checked_t *segment, const smcr_sender_t *sender)
{
    return smcr_senders_are_new(segment->state, sender) &&
           !smcr_handshake_find_conn(segment->pinfo);
}

/* Checks and counts the checksum of TCP. A client sends its SYN before anything else, so a new
 * sender is no reason to doubt it. Returns whether the segment is damaged. */
static bool
check_tcp(const checked_t *segment)
{
    smcr_sender_t sender = sender_of(segment->pinfo, segment->interface);
    smcr_sender_t all = all_senders(segment->interface, SMCR_SENDER_TCP);
    bool is_wrong = count_checksum(segment, &sender, segment->found.tcp);
    bool is_wrong_for_all = count_checksum(segment, &all, segment->found.tcp);

    if (segment->contents == SMCR_TCP_CLC && are_messages_rewritten(segment))
        return false;
    return is_wrong || (segment->contents != SMCR_TCP_SYN && is_wrong_for_all &&
                        has_doubtful_sender(segment, &sender));
}

/* Checks and counts the checksums of the segment. The addresses of a packet with a wrong IP header
 * may be wrong, so the IP headers of all senders are judged together, and its TCP checksum is not
 * counted. */
static bool
check_segment(packet_info *pinfo, smcr_tcp_carried_t carried)
{
    checked_t segment = {.pinfo = pinfo, .state = smcr_capture_learn(pinfo),
                         .interface = smcr_capture_interface(pinfo),
                         .found = smcr_host_tcp_checksums(pinfo), .contents = carried};
    smcr_sender_t all = all_senders(segment.interface, SMCR_SENDER_IP);

    return count_checksum(&segment, &all, segment.found.ip) || check_tcp(&segment);
}

/* The result is kept with the frame if the segment is damaged. Within the first pass it is also
 * kept for this dissection, so that no checksum is counted twice. */
bool
smcr_tcp_is_damaged(packet_info *pinfo, smcr_tcp_carried_t carried)
{
    static char damaged, intact; /* only their addresses are used */

    if (!is_first_pass(pinfo))
        return smcr_host_tcp_is_damaged(pinfo);
    if (smcr_capture_is_quoted(pinfo))
        return false;
    void *known = p_get_proto_data(pinfo->pool, pinfo, proto_smcr, SMCR_TCP_CHECKED);
    if (known)
        return known == &damaged;
    bool is_damaged = check_segment(pinfo, carried);
    p_add_proto_data(pinfo->pool, pinfo, proto_smcr, SMCR_TCP_CHECKED,
                     is_damaged ? &damaged : &intact);
    if (is_damaged)
        smcr_host_tcp_set_damaged(pinfo);
    return is_damaged;
}

/* Whether the checksum is wrong, and no earlier checksums of the sender show that wrong ones mean
 * nothing. The sender may be new, as a server is that sends its SYN-ACK. */
static bool
may_mean_damage(const smcr_sender_t *sender, smcr_host_checksum_t found)
{
    return found == SMCR_HOST_CHECKSUM_WRONG &&
           !smcr_senders_mean_nothing(smcr_capture_state(), sender);
}

bool
smcr_tcp_may_be_damaged(const packet_info *pinfo)
{
    smcr_host_checksums_t found = smcr_host_tcp_checksums(pinfo);
    uint32_t interface = smcr_capture_interface(pinfo);
    smcr_sender_t all = all_senders(interface, SMCR_SENDER_IP);
    smcr_sender_t sender = sender_of(pinfo, interface);

    return may_mean_damage(&all, found.ip) || may_mean_damage(&sender, found.tcp);
}

/* ---- what is known of a connection with damaged segments ---- */

/* First pass: returns what is known of the damaged segments of the TCP connection. */
static smcr_state_damage_t *
damage_of(packet_info *pinfo)
{
    smcr_handshake_watch_segments();
    return smcr_state_damage_of(smcr_capture_learn(pinfo), find_or_create_conversation(pinfo));
}

void
smcr_tcp_learn_damaged_syn(packet_info *pinfo, const struct tcpheader *tcp)
{
    bool is_answer = tcp->th_flags & TH_ACK;
    smcr_state_damage_t *damage = damage_of(pinfo);

    damage->has_syn[is_answer] = true;
    damage->is_absolute = tcp->th_seq == tcp->th_rawseq;
}

void
smcr_tcp_learn_right_syn(packet_info *pinfo, const struct tcpheader *tcp)
{
    bool is_answer = tcp->th_flags & TH_ACK;
    smcr_state_damage_t *damage =
        smcr_state_damage(smcr_capture_state(), find_or_create_conversation(pinfo));

    if (damage)
        damage->has_syn[is_answer] = false;
}

void
smcr_tcp_learn_damaged(packet_info *pinfo, const struct tcpinfo *tcp)
{
    struct tcpheader header;

    if (is_first_pass(pinfo) && tcp && smcr_host_tcp_segment(pinfo, &header))
        damage_of(pinfo)->is_absolute = tcp->seq == header.th_rawseq;
}

/* ---- retransmissions of damaged segments ---- */

/* A segment that retransmits a whole CLC message, or the last part of one. */
typedef struct {
    struct tcpinfo *info;          /* what TCP's dissector would pass with the message */
    const smcr_tcp_begun_t *begun; /* the first part, from earlier segments; NULL: none */
} retransmission_t;

/* Returns the payload of the segment `tvb`; NULL: none is captured. */
static tvbuff_t *
payload_of(tvbuff_t *tvb)
{
    int header = smcr_tcp_header_length(tvb);

    return tvb_captured_length_remaining(tvb, header) > 0 ? tvb_new_subset_remaining(tvb, header)
                                                          : NULL;
}

/* Returns the bytes of `begun`, and after them those of `payload`. They live as long as the frame
 * is dissected. */
static tvbuff_t *
join(const smcr_tcp_begun_t *begun, tvbuff_t *payload, packet_info *pinfo)
{
    unsigned more = tvb_captured_length(payload), length = begun->length + more;
    uint8_t *bytes = wmem_alloc(pinfo->pool, length);

    memcpy(bytes, begun->bytes, begun->length);
    tvb_memcpy(payload, bytes + begun->length, 0, more);
    return tvb_new_child_real_data(payload, bytes, length, (int)length);
}

/* Returns the message of which `payload` has the whole, or of which it has the part after
 * `begun`. */
static tvbuff_t *
message_of(const smcr_tcp_begun_t *begun, tvbuff_t *payload, packet_info *pinfo)
{
    return begun ? join(begun, payload, pinfo) : payload;
}

/* Whether the bytes begin with a whole CLC message. */
static bool
has_whole_message(tvbuff_t *bytes, packet_info *pinfo)
{
    return tvb_captured_length(bytes) >= SMCR_CLC_HEADER_LENGTH &&
           smcr_tcp_clc_begins(bytes, 0, pinfo) &&
           tvb_get_ntohs(bytes, SMCR_CLC_LENGTH_AT) <= tvb_captured_length(bytes);
}

/* First pass: returns the incomplete CLC message that the segment continues; NULL: it continues
 * none. */
static const smcr_tcp_begun_t *
begun_before(tvbuff_t *tvb, packet_info *pinfo)
{
    const smcr_conn_t *conn = smcr_handshake_find_conn(pinfo);

    if (!conn)
        return NULL;
    const smcr_tcp_begun_t *begun = conn->partial_clc[!smcr_handshake_from_client(pinfo, conn)];
    return begun && begun->next_seq == tvb_get_ntohl(tvb, TCP_SEQ) ? begun : NULL;
}

/* Whether the connection of the segment has had a CLC message of this type. */
static bool
has_had_message(packet_info *pinfo, uint8_t type)
{
    const smcr_conn_t *conn = smcr_handshake_find_conn(pinfo);

    return conn && conn->clc_types_received & 1U << MIN(type, SMCR_CLC_DECLINE);
}

/* Fills in the struct that TCP's dissector would pass with the message. */
static void
describe_message(const retransmission_t *found, tvbuff_t *tvb, packet_info *pinfo, bool is_relative)
{
    const struct tcp_analysis *tcp =
        get_tcp_conversation_data(find_conversation_pinfo(pinfo, 0), pinfo);
    struct tcpinfo *info = found->info;
    uint32_t seq = tvb_get_ntohl(tvb, TCP_SEQ) - (is_relative ? tcp->fwd->base_seq : 0);

    info->seq = seq - (found->begun ? found->begun->length : 0);
    info->nxtseq = seq + tvb_reported_length(tvb) - (unsigned)smcr_tcp_header_length(tvb);
    info->lastackseq = tvb_get_ntohl(tvb, TCP_ACK) - (is_relative ? tcp->rev->base_seq : 0);
    info->is_reassembled = found->begun != NULL;
    compat_tcpinfo_set_stream(info, tcp->stream);
}

/* First pass: whether TCP's dissector has not passed the CLC message to the CLC dissector, because
 * of a damaged segment before. */
static bool
is_new(tvbuff_t *message, packet_info *pinfo)
{
    return has_whole_message(message, pinfo) &&
           !has_had_message(pinfo, tvb_get_uint8(message, SMCR_CLC_TYPE_AT)) &&
           !smcr_tcp_is_damaged(pinfo, SMCR_TCP_CLC);
}

/* First pass: if the segment retransmits a message that is_new(), or the last part of one, returns
 * it, and keeps it with the frame. NULL: it does not. */
static retransmission_t *
learn_retransmission(tvbuff_t *tvb, packet_info *pinfo)
{
    conversation_t *conversation = find_conversation_pinfo(pinfo, 0);
    const smcr_state_damage_t *damage =
        conversation ? smcr_state_damage(smcr_capture_state(), conversation) : NULL;
    tvbuff_t *payload = damage ? payload_of(tvb) : NULL;

    if (!payload)
        return NULL;
    const smcr_tcp_begun_t *begun = begun_before(tvb, pinfo);
    if (!is_new(message_of(begun, payload, pinfo), pinfo))
        return NULL;
    retransmission_t *found = wmem_new(wmem_file_scope(), retransmission_t);
    *found = (retransmission_t){wmem_new0(wmem_file_scope(), struct tcpinfo), begun};
    describe_message(found, tvb, pinfo, !damage->is_absolute);
    p_add_proto_data(wmem_file_scope(), pinfo, proto_smcr, SMCR_TCP_RETRANSMISSION, found);
    return found;
}

/* Returns what the first pass finds; NULL: nothing. */
static retransmission_t *
find_retransmission(tvbuff_t *tvb, packet_info *pinfo)
{
    if (!is_first_pass(pinfo))
        return p_get_proto_data(wmem_file_scope(), pinfo, proto_smcr, SMCR_TCP_RETRANSMISSION);
    bool is_segment = pinfo->ptype == PT_TCP && !smcr_capture_is_quoted(pinfo);
    return is_segment && smcr_state_has_damage(smcr_capture_state())
               ? learn_retransmission(tvb, pinfo)
               : NULL;
}

/* The first pass decides; later passes find its decision. */
void
smcr_tcp_dissect_retransmission(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree)
{
    retransmission_t *found = find_retransmission(tvb, pinfo);

    if (!found)
        return;
    tvbuff_t *message = message_of(found->begun, payload_of(tvb), pinfo);
    if (found->begun)
        add_new_data_source(pinfo, message, "CLC message");
    smcr_tcp_clc_call(message, pinfo, tree, found->info);
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

/* Shows the connection of a damaged segment, and reports the expert item of the segment as one of
 * the connection. */
static void
show_conn(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_conn_t *conn)
{
    smcr_record_t record = smcr_record_new();

    record.conn = conn;
    record.direction = !smcr_handshake_from_client(pinfo, conn);
    smcr_annotate_segment(tvb, pinfo, tree, conn);
    smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &record});
}

/* Any byte may be wrong, so no message is put together from this segment and later ones. The
 * connection is shown only where an earlier frame has made it. */
int
smcr_tcp_show_damaged(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_conn_t *conn)
{
    smcr_tcp_show_wrong_checksum(tvb, pinfo, tree);
    if (conn && pinfo->num >= conn->conversation_from)
        show_conn(tvb, pinfo, tree, conn);
    return smcr_tcp_clc_begins(tvb, 0, pinfo) ? show_messages(tvb, pinfo, tree) : 0;
}

/* First pass: checks a segment with FIN or RST of a connection with a sign of SMC. If the segment
 * is damaged, notes that the connection may not have ended. No host sends a SYN together with FIN
 * or RST. */
static void
learn_end(packet_info *pinfo, uint8_t flags)
{
    if (!smcr_handshake_find_conn(pinfo))
        return;
    bool is_damaged = smcr_tcp_is_damaged(pinfo, SMCR_TCP_BYTES);
    if (is_damaged || (flags & TH_SYN && smcr_tcp_may_be_damaged(pinfo)))
        damage_of(pinfo)->has_end = true;
}

/* TCP's dissector passes the payload of a RST, or of a segment without payload, to no dissector
 * that would show the damage. */
bool
smcr_tcp_take_end(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, uint8_t flags)
{
    bool is_hidden = flags & TH_RST || (int)tvb_reported_length(tvb) <= smcr_tcp_header_length(tvb);

    if (is_first_pass(pinfo) && flags & (TH_FIN | TH_RST))
        learn_end(pinfo, flags);
    if (!smcr_host_tcp_is_damaged(pinfo))
        return false;
    if (is_hidden && !(flags & TH_SYN))
        smcr_tcp_show_wrong_checksum(tvb, pinfo, tree);
    return true;
}
