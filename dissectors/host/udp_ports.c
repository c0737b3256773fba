/* Some adapters use the number of their queue pair as UDP source port. UDP's dissector asks the
 * owner of the lower port first: port 69 is TFTP's. But before any port, it asks the dissector of
 * the conversation. So a wrapper before UDP's dissector looks for such packets, and sets a
 * dissector of ours for the conversation that UDP is about to find. Our dissector passes marked
 * frames to the owner of the destination port. Other packets of the conversation go to the
 * dissector that UDP would have asked.
 *
 * The conversation has both addresses and both ports. With wildcards, UDP would take it for the
 * stream of all RoCE packets to an address.
 *
 * The wrapper is there only while it is needed: in a file with SMC-R from the first sign of SMC-R
 * on, or with the preference smcr.roce. It works in the first pass only. The second pass finds the
 * conversations and the marked frames.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hooks.h"

#include "capture.h"
#include "handshake.h"
#include "preferences.h"
#include "wire/wire.h"

#define UDP_LENGTH 8
#define SEEN_LENGTH (UDP_LENGTH + SMCR_IB_BTH_LENGTH) /* bytes that have to be captured */

/* Handles live as long as the process. */
static struct {
    int udp;                         /* protocol UDP */
    int observer;                    /* protocol in name only, below UDP: owns the wrapper and the
                                        marks of frames */
    dissector_table_t table;         /* table udp.port */
    dissector_handle_t wrapper;      /* wrapper of UDP's dissector */
    dissector_handle_t original;     /* UDP's dissector */
    dissector_handle_t conversation; /* dissector of claimed conversations */
    bool is_wrapped;                 /* the wrapper is active in the open file */
} ports;

/* ---- is it a RoCE packet? ---- */

/* UDP's header and the base transport header after it. */
typedef struct {
    uint16_t source, destination;
    int length; /* length of UDP's payload, bytes */
    const uint8_t *bth;
} datagram_t;

/* Reads the headers of a datagram. Returns false if they are not captured, or if the length is
 * wrong. */
static bool
read_datagram(tvbuff_t *tvb, datagram_t *datagram)
{
    if (tvb_captured_length(tvb) < SEEN_LENGTH)
        return false;
    const uint8_t *bytes = tvb_get_ptr(tvb, 0, SEEN_LENGTH);
    *datagram = (datagram_t){
        .source = (uint16_t)(bytes[0] << 8 | bytes[1]),
        .destination = (uint16_t)(bytes[2] << 8 | bytes[3]),
        .length = (bytes[4] << 8 | bytes[5]) - UDP_LENGTH,
        .bth = bytes + UDP_LENGTH,
    };
    return datagram->length <= (int)tvb_reported_length(tvb) - UDP_LENGTH;
}

/* Whether the opcode is one of the services that RoCE has. */
static bool
is_opcode(uint8_t opcode)
{
    uint8_t operation = opcode % SMCR_RC_OPCODES;

    switch (opcode & SMCR_MASK_SERVICE) {
    case SMCR_RC:
    case SMCR_XRC:
        return operation <= SMCR_RC_SEND_ONLY_INVALIDATE && operation != SMCR_RC_UNUSED;
    case SMCR_UC:
        return operation <= SMCR_RC_WRITE_ONLY_IMMEDIATE;
    case SMCR_UD:
        return operation == SMCR_RC_SEND_ONLY || operation == SMCR_RC_SEND_ONLY_IMMEDIATE;
    }
    return opcode == SMCR_IB_CNP;
}

/* Whether the base transport header has version 0, and its reserved bits are zero. */
static bool
is_bth(const uint8_t *bth)
{
    bool version_is_0 = !(bth[1] & SMCR_MASK_BTH_VERSION);
    bool reserved_is_0 =
        !(bth[4] & SMCR_MASK_BTH_RESERVED) && !(bth[8] & SMCR_MASK_BTH_RESERVED_8);

    return version_is_0 && reserved_is_0;
}

/* Whether the payload begins with a base transport header. The bytes after the header, with the
 * padding, are a multiple of four. */
static bool
is_roce(const datagram_t *datagram)
{
    int padding = smcr_wire_bits(datagram->bth[1], SMCR_MASK_BTH_PAD);
    int shortest = SMCR_IB_BTH_LENGTH + padding + SMCR_IB_ICRC_LENGTH;

    return is_bth(datagram->bth) && is_opcode(datagram->bth[0]) && datagram->length % 4 == 0 &&
           datagram->length >= shortest;
}

/* ---- would UDP pass it to another protocol? ---- */

/* Whether the user has chosen a protocol for one of the ports. */
static bool
user_has_chosen(const datagram_t *datagram)
{
    return dissector_is_uint_changed(ports.table, datagram->source) ||
           dissector_is_uint_changed(ports.table, datagram->destination);
}

/* Whether UDP would ask another protocol first, although the destination port is InfiniBand's. UDP
 * asks the protocol that the user has chosen for one of the ports, else the owner of the lower
 * port. The user's choice is respected. */
static bool
would_be_lost(const datagram_t *datagram)
{
    if (datagram->source >= datagram->destination)
        return false;
    dissector_handle_t owner = dissector_get_uint_handle(ports.table, datagram->source);
    return owner && !smcr_hooks_is_bth_dissector(owner) &&
           smcr_hooks_is_bth_dissector(
               dissector_get_uint_handle(ports.table, datagram->destination)) &&
           !user_has_chosen(datagram);
}

/* ---- the conversation ---- */

/* Whether another protocol than ours has claimed the conversation. */
static bool
is_claimed_by_other(conversation_t *conversation, uint32_t frame)
{
    dissector_handle_t owner =
        conversation ? conversation_get_dissector(conversation, frame) : NULL;

    return owner && owner != ports.conversation;
}

/* Has UDP pass the packet to InfiniBand's dissector: claims its conversation, and marks the frame.
 * If the queue pair is not one of SMC-R, a conversation that another protocol has claimed is left
 * alone. */
static void
lead_to_infiniband(packet_info *pinfo, const datagram_t *datagram, bool is_smcr)
{
    conversation_t *conversation =
        find_conversation(pinfo->num, &pinfo->dst, &pinfo->src, CONVERSATION_UDP,
                          datagram->destination, datagram->source, 0);

    if (!is_smcr && is_claimed_by_other(conversation, pinfo->num))
        return;
    if (!conversation || (conversation->options & (NO_ADDR2 | NO_PORT2)))
        conversation = conversation_new(pinfo->num, &pinfo->src, &pinfo->dst, CONVERSATION_UDP,
                                        datagram->source, datagram->destination, 0);
    if (conversation_get_dissector(conversation, pinfo->num) != ports.conversation)
        conversation_set_dissector_from_frame_number(conversation, pinfo->num, ports.conversation);
    /* the mark is for UDP's layer, which comes next */
    p_add_proto_data(wmem_file_scope(), pinfo, ports.observer, pinfo->curr_layer_num + 1, &ports);
}

/* Dissects a packet of a claimed conversation. A marked packet goes to the owner of the destination
 * port. Any other packet goes to the dissector that UDP would have asked: other protocols claim a
 * conversation for all of its frames, so frame 0 has their claim. If there is no conversation, the
 * packet was exported from another file under our name, and goes to the owner of the port. */
static int
dissect_conversation(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    bool marked =
        p_get_proto_data(wmem_file_scope(), pinfo, ports.observer, pinfo->curr_layer_num) != NULL;
    conversation_t *conversation =
        marked ? NULL
               : find_conversation(pinfo->num, &pinfo->dst, &pinfo->src, CONVERSATION_UDP,
                                   pinfo->destport, pinfo->srcport, 0);

    if (!conversation)
        return dissector_try_uint(ports.table, pinfo->destport, tvb, pinfo, tree);
    dissector_handle_t other = conversation_get_dissector(conversation, 0);
    if (!other || other == ports.conversation)
        return 0;
    return call_dissector_only(other, tvb, pinfo, tree, data);
}

/* ---- the wrapper ---- */

/* Whether the UDP datagram is a RoCE packet to a queue pair of SMC-R: then InfiniBand's dissector
 * has to get it, whatever its source port. */
static bool
goes_to_smcr(const packet_info *pinfo, const datagram_t *datagram)
{
    smcr_ib_qp_key_t key = {.qpn = smcr_ib_bth_qpn(datagram->bth)};

    smcr_endpoint_gid(&pinfo->dst, key.gid);
    return smcr_qp_find(smcr_capture_state(), &key) != NULL;
}

/* Whether the header has the default partition. Devices for RoCE have no other. Other protocols
 * hardly ever have this value in these bytes. */
static bool
has_default_partition(const datagram_t *datagram)
{
    int partition = datagram->bth[2] << 8 | datagram->bth[3];

    return (partition & SMCR_IB_PKEY_DEFAULT) == SMCR_IB_PKEY_DEFAULT;
}

/* First pass, before UDP's dissector: passes the packet to InfiniBand's dissector if UDP would not
 * do so. The cheap checks come first. */
static void
watch_datagram(tvbuff_t *tvb, packet_info *pinfo)
{
    datagram_t datagram;

    if (!smcr_hooks_enabled() || !read_datagram(tvb, &datagram))
        return;
    if (!is_roce(&datagram) || !would_be_lost(&datagram))
        return;
    bool is_smcr = goes_to_smcr(pinfo, &datagram);
    if (is_smcr || (smcr_preferences.roce && has_default_partition(&datagram)))
        lead_to_infiniband(pinfo, &datagram, is_smcr);
}

/* The wrapper. A packet that an ICMP error quotes was not on the wire here, and is not looked
 * at. */
static int
dissect_udp(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (!pinfo->fd->visited && !pinfo->flags.in_error_pkt)
        watch_datagram(tvb, pinfo);
    return call_dissector_only(ports.original, tvb, pinfo, tree, data);
}

static void
wrap_udp(void)
{
    dissector_handle_t replaced = smcr_hooks_replace("ip.proto", ports.udp, ports.wrapper);

    if (replaced)
        ports.original = replaced;
    ports.is_wrapped = true;
}

void
smcr_udp_ports_watch(void)
{
    if (!ports.is_wrapped)
        wrap_udp();
}

/* Called before a file is dissected, also once more after a change of a preference. */
static void
start_file(void)
{
    if (ports.is_wrapped)
        smcr_hooks_replace("ip.proto", ports.observer, ports.original);
    ports.is_wrapped = false;
    if (smcr_preferences.roce)
        wrap_udp();
}

/* The dissector of conversations has a name, since Export PDU writes that name. */
void
smcr_udp_ports_register(void)
{
    ports.udp = proto_get_id_by_filter_name("udp");
    ports.observer = proto_register_protocol_in_name_only(
        "UDP (observed by SMC-R)", "UDP/SMC-R", "smcr.udp", ports.udp, FT_BYTES);
    proto_set_cant_toggle(ports.observer);
    ports.wrapper = create_dissector_handle(dissect_udp, ports.observer);
    ports.conversation = register_dissector("smcr.udp", dissect_conversation, ports.observer);
}

void
smcr_udp_ports_handoff(void)
{
    ports.table = find_dissector_table("udp.port");
    register_init_routine(start_file);
}
