/* Passes RoCEv2 packets to InfiniBand's dissector even if their UDP source port belongs to another
 * protocol. Some adapters use the number of their queue pair as UDP source port. UDP's dissector
 * calls the dissector of the lower port first; for port 69, that is TFTP's. But UDP's dissector
 * calls the dissector of the conversation before the dissectors of ports.
 *
 * So a wrapper of UDP's dissector looks for such packets. For the conversation of such a packet it
 * sets a dissector of the plugin (it claims the conversation), and it marks the frame. The plugin's
 * dissector passes marked frames to the dissector of the destination port. It passes other packets
 * of the conversation to the dissector that UDP would have called.
 *
 * The conversation has both addresses and both ports. If it had wildcards, UDP would use it for all
 * RoCE packets to an address.
 *
 * Wireshark also calls InfiniBand's dissector for a datagram whose source port only is that of
 * RoCE: a client of another protocol may have any source port. The destination port decides, so the
 * plugin takes no such datagram for RoCE, nor the answers to it.
 *
 * The wrapper is active in a file from the first sign of SMC-R on, or with the preference
 * smcr.roce. The wrapper works in the first pass only. Later passes find the conversations and the
 * marked frames.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hooks.h"

#include "capture.h"
#include "handshake.h"
#include "preferences.h"
#include "wire/wire.h"

#define UDP_LENGTH 8 /* length of the UDP header, bytes */
#define SEEN_LENGTH (UDP_LENGTH + SMCR_IB_BTH_LENGTH) /* number of bytes of a datagram that the
                                                         wrapper reads; these bytes have to be
                                                         captured */

/* The handles of this file, which live as long as the process, and the state of the wrapper. */
static struct {
    int udp;                         /* protocol UDP */
    int observer;                    /* internal protocol (PINO) of UDP, to which the wrapper and
                                        the marks of frames belong */
    dissector_table_t table;         /* table udp.port */
    dissector_handle_t wrapper;      /* wrapper of UDP's dissector */
    dissector_handle_t original;     /* UDP's dissector */
    dissector_handle_t conversation; /* dissector of claimed conversations */
    uint32_t magic;                  /* first four bytes of datagrams for `by_magic` */
    dissector_handle_t by_magic;     /* dissector of datagrams with these bytes; NULL: none */
    bool is_wrapped;                 /* the wrapper is active in the open file */
    uint16_t roce;                   /* a destination port of RoCE; 0: none found so far in the open
                                        file */
    wmem_map_t *talks;               /* talks of clients of other protocols in the open file: talk_t
                                        -> number of its first frame; NULL: none so far */
} ports;

/* ---- is it a RoCE packet? ---- */

/* UDP's header and the base transport header after it. */
typedef struct {
    uint16_t source, destination; /* ports */
    int length; /* length of UDP's payload, bytes */
    const uint8_t *bth; /* base transport header, SMCR_IB_BTH_LENGTH bytes */
} datagram_t;

/* Reads the headers of a datagram, which is `reported` bytes long. Returns false if the headers are
 * not captured, or if their length is wrong. */
static bool
read_datagram(smcr_host_bytes_t captured, uint32_t reported, datagram_t *datagram)
{
    const uint8_t *bytes = captured.bytes;

    if (captured.length < SEEN_LENGTH)
        return false;
    *datagram = (datagram_t){
        .source = smcr_wire_number16(bytes),
        .destination = smcr_wire_number16(bytes + 2),
        .length = (bytes[4] << 8 | bytes[5]) - UDP_LENGTH,
        .bth = bytes + UDP_LENGTH,
    };
    return datagram->length <= (int)reported - UDP_LENGTH;
}

/* Whether RoCE has the opcode. The high bits name the service, the others the operation, and each
 * service has other operations. */
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

/* Whether the payload may be a RoCE packet: it begins with a base transport header of version 0
 * with an opcode of RoCE, and its length is a multiple of four and has room for padding and ICRC.
 * Two fields of the header prove nothing and are not checked: 1. the reserved bits, which receivers
 * ignore and some senders set; 2. the partition key, which administrators choose. */
static bool
is_roce(const datagram_t *datagram)
{
    int padding = smcr_wire_bits(datagram->bth[1], SMCR_MASK_BTH_PAD);
    int shortest = SMCR_IB_BTH_LENGTH + padding + SMCR_IB_ICRC_LENGTH;

    bool version_is_0 = !(datagram->bth[1] & SMCR_MASK_BTH_VERSION);

    return version_is_0 && is_opcode(datagram->bth[0]) && datagram->length % 4 == 0 &&
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

/* Whether UDP would call another protocol's dissector first, although the destination port is
 * InfiniBand's. UDP calls the dissector that the user has chosen for one of the ports; without such
 * a choice, the dissector of the lower port. Returns false if the user has chosen a dissector. */
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

bool
smcr_udp_ports_hides(smcr_host_bytes_t captured, uint32_t reported)
{
    datagram_t datagram;

    return read_datagram(captured, reported, &datagram) && is_roce(&datagram) &&
           would_be_lost(&datagram);
}

/* ---- does it have RoCE's port as source only? ---- */

/* The datagrams between a client whose port is that of RoCE and the port of a server: key of
 * `talks`, without padding. */
typedef struct {
    uint8_t client[SMCR_GID_LENGTH], server[SMCR_GID_LENGTH]; /* addresses as GIDs, network byte
                                                                 order */
    uint32_t server_port; /* UDP port of the server, host byte order */
} talk_t;

SMCR_WIRE_KEY(hash_talk, equal_talks, sizeof(talk_t))

/* Whether datagrams to the port are RoCE's. */
static bool
is_port_of_roce(uint16_t port)
{
    if (port == ports.roce)
        return true;
    if (!smcr_hooks_is_bth_dissector(dissector_get_uint_handle(ports.table, port)))
        return false;
    ports.roce = port;
    return true;
}

#define TALKS_MOST 65536 /* number of talks that are kept; answers in further ones count as RoCE */

/* Keeps the talk of a datagram that a client has sent. Only its first frame matters. */
static void
keep_talk(const talk_t *talk, uint32_t frame)
{
    if (!ports.talks)
        ports.talks = wmem_map_new(wmem_file_scope(), hash_talk, equal_talks);
    if (wmem_map_size(ports.talks) < TALKS_MOST && !wmem_map_contains(ports.talks, talk))
        wmem_map_insert(ports.talks, wmem_memdup(wmem_file_scope(), talk, sizeof *talk),
                        GUINT_TO_POINTER(frame));
}

/* Reads the talk of a datagram into `talk`. `is_answer`: the server has sent it. `server_port`: its
 * port. */
static void
read_talk(const packet_info *pinfo, bool is_answer, uint16_t server_port, talk_t *talk)
{
    smcr_endpoint_gid(is_answer ? &pinfo->net_dst : &pinfo->net_src, talk->client);
    smcr_endpoint_gid(is_answer ? &pinfo->net_src : &pinfo->net_dst, talk->server);
    talk->server_port = server_port;
}

/* Whether a datagram to the port of RoCE answers a client of another protocol. Passes may differ in
 * the frame that they show first, so it is an answer only after the first frame of its talk. */
static bool
answers_client(const packet_info *pinfo, uint16_t source, uint16_t destination)
{
    talk_t talk;

    if (!ports.talks || source == destination)
        return false;
    read_talk(pinfo, true, source, &talk);
    uint32_t first = GPOINTER_TO_UINT(wmem_map_lookup(ports.talks, &talk));
    return first && first < pinfo->num;
}

bool
smcr_udp_ports_is_other(const packet_info *pinfo, uint16_t source, uint16_t destination)
{
    talk_t talk;

    if (is_port_of_roce(destination))
        return answers_client(pinfo, source, destination);
    if (dissector_is_uint_changed(ports.table, source))
        return false;
    read_talk(pinfo, false, destination, &talk);
    keep_talk(&talk, pinfo->num);
    return true;
}

/* ---- does it begin with the magic number? ---- */

/* Whether the payload of a datagram, which begins at `at` of `tvb`, begins with the magic
 * number. */
static bool
has_magic(tvbuff_t *tvb, unsigned at)
{
    return ports.by_magic && tvb_captured_length(tvb) >= at + sizeof ports.magic &&
           tvb_get_ntohl(tvb, (int)at) == ports.magic;
}

/* ---- the conversation ---- */

/* The conversation of a packet that goes between the ports `source` and `destination`; NULL: none.
 * `wildcards`: 0 or NO_ADDR_B, NO_PORT_B, as find_conversation() has them. */
static conversation_t *
find_by_ports(const packet_info *pinfo, uint16_t source, uint16_t destination, unsigned wildcards)
{
    return find_conversation(pinfo->num, &pinfo->dst, &pinfo->src, CONVERSATION_UDP, destination,
                             source, wildcards);
}

/* The dissector that UDP would call for the conversation of the packet, as set from `frame` or
 * earlier on; NULL: none. Like UDP, the function looks first for the conversation of both addresses
 * and both ports, then for conversations with wildcards: TFTP sets its dissector for all ports of
 * the server. From Wireshark 4.6 on, the first packet of two ports adds a conversation without a
 * dissector, beside the conversation with the wildcard. */
static dissector_handle_t
find_owner(const packet_info *pinfo, uint16_t source, uint16_t destination, uint32_t frame)
{
    static const unsigned wildcards[] = {0, NO_ADDR_B, NO_PORT_B, NO_ADDR_B | NO_PORT_B};
    dissector_handle_t owner = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(wildcards) && !owner; i++) {
        conversation_t *conversation = find_by_ports(pinfo, source, destination, wildcards[i]);
        owner = conversation ? conversation_get_dissector(conversation, frame) : NULL;
    }
    return owner;
}

/* Whether UDP would call a dissector other than the plugin's for the conversation of the packet. */
static bool
is_claimed_by_other(const packet_info *pinfo, uint16_t source, uint16_t destination)
{
    dissector_handle_t owner = find_owner(pinfo, source, destination, pinfo->num);

    return owner && owner != ports.conversation;
}

/* Claims the conversation of the packet, which goes between the ports `source` and `destination`.
 * Does nothing if another protocol has claimed it and `is_smcr` is false. Returns whether the
 * conversation is claimed. */
static bool
claim(packet_info *pinfo, uint16_t source, uint16_t destination, bool is_smcr)
{
    if (!is_smcr && is_claimed_by_other(pinfo, source, destination))
        return false;
    conversation_t *conversation = find_by_ports(pinfo, source, destination, 0);
    if (!conversation || (conversation->options & (NO_ADDR2 | NO_PORT2)))
        conversation = conversation_new(pinfo->num, &pinfo->src, &pinfo->dst, CONVERSATION_UDP,
                                        source, destination, 0);
    if (conversation_get_dissector(conversation, pinfo->num) != ports.conversation)
        conversation_set_dissector_from_frame_number(conversation, pinfo->num, ports.conversation);
    return true;
}

/* Makes UDP's dissector pass the packet to InfiniBand's dissector: claims the conversation of the
 * packet, and marks the frame. Does nothing if another protocol has claimed the conversation and
 * the queue pair is not one of SMC-R (`is_smcr` is false). */
static void
lead_to_infiniband(packet_info *pinfo, const datagram_t *datagram, bool is_smcr)
{
    if (!claim(pinfo, datagram->source, datagram->destination, is_smcr))
        return;
    /* the mark is for the layer of UDP, which is added next */
    p_add_proto_data(wmem_file_scope(), pinfo, ports.observer, pinfo->curr_layer_num + 1, &ports);
}

/* Dissects a packet of a claimed conversation. A packet that begins with the magic number of a
 * kernel's copy of messages (room anck) goes to the dissector given to smcr_udp_ports_lead(). A
 * packet of a marked frame goes to the dissector of the destination port. Any other packet goes to
 * the dissector that UDP would have called: the dissector that another protocol has set for the
 * conversation from frame 0 on; if there is none, returns 0, and UDP calls the dissectors of the
 * ports. If there is no conversation, the file was written by Export PDU, with the name of this
 * dissector; then the packet goes to the dissector of the destination port. */
static int
dissect_conversation(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (has_magic(tvb, 0))
        return call_dissector_only(ports.by_magic, tvb, pinfo, tree, data);
    bool marked =
        p_get_proto_data(wmem_file_scope(), pinfo, ports.observer, pinfo->curr_layer_num) != NULL;
    conversation_t *conversation =
        marked ? NULL
               : find_by_ports(pinfo, (uint16_t)pinfo->srcport, (uint16_t)pinfo->destport, 0);

    if (!conversation)
        return dissector_try_uint(ports.table, pinfo->destport, tvb, pinfo, tree);
    dissector_handle_t other =
        find_owner(pinfo, (uint16_t)pinfo->srcport, (uint16_t)pinfo->destport, 0);
    if (!other || other == ports.conversation)
        return 0;
    return call_dissector_only(other, tvb, pinfo, tree, data);
}

/* ---- the wrapper ---- */

/* Whether the UDP datagram is a RoCE packet to a queue pair of SMC-R. If so, InfiniBand's dissector
 * has to get the datagram, whatever the source port is. */
static bool
goes_to_smcr(const packet_info *pinfo, const datagram_t *datagram)
{
    smcr_ib_qp_key_t key = {.qpn = smcr_ib_bth_qpn(datagram->bth)};

    smcr_endpoint_gid(&pinfo->dst, key.gid);
    return smcr_qp_find(smcr_capture_state(), &key) != NULL;
}

/* First pass, before UDP's dissector is called: if UDP would not pass the packet to InfiniBand's
 * dissector, calls lead_to_infiniband(). */
static void
watch_datagram(tvbuff_t *tvb, packet_info *pinfo)
{
    datagram_t datagram;

    if (!smcr_hooks_enabled() ||
        !read_datagram(smcr_host_bytes_of(tvb), tvb_reported_length(tvb), &datagram))
        return;
    if (has_magic(tvb, UDP_LENGTH)) {
        claim(pinfo, datagram.source, datagram.destination, true);
        return;
    }
    if (!is_roce(&datagram) || !would_be_lost(&datagram))
        return;
    bool is_smcr = goes_to_smcr(pinfo, &datagram);
    if (is_smcr || smcr_preferences.roce)
        lead_to_infiniband(pinfo, &datagram, is_smcr);
}

/* The wrapper of UDP's dissector. Ignores a packet that an ICMP error quotes, because the quoted
 * packet did not pass the capture point in this frame. */
static int
dissect_udp(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    if (!pinfo->fd->visited && !pinfo->flags.in_error_pkt)
        watch_datagram(tvb, pinfo);
    return call_dissector_only(ports.original, tvb, pinfo, tree, data);
}

/* Puts the wrapper in the place of UDP's dissector. */
static void
wrap_udp(void)
{
    dissector_handle_t replaced = smcr_hooks_replace("ip.proto", ports.udp, ports.wrapper);

    if (replaced)
        ports.original = replaced;
    ports.is_wrapped = true;
}

void
smcr_udp_ports_lead(uint32_t magic, dissector_handle_t to)
{
    ports.magic = magic;
    ports.by_magic = to;
}

void
smcr_udp_ports_watch(void)
{
    if (!ports.is_wrapped)
        wrap_udp();
}

/* Called before a file is dissected, for the first time or anew after a change of a preference. */
static void
start_file(void)
{
    if (ports.is_wrapped)
        smcr_hooks_replace("ip.proto", ports.observer, ports.original);
    ports.is_wrapped = false;
    ports.roce = 0;
    ports.talks = NULL;
    if (smcr_preferences.roce)
        wrap_udp();
}

/* The dissector of claimed conversations has a name, since Export PDU writes this name into the
 * file. */
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
