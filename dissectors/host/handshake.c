/* Attaches a connection of the state to Wireshark's TCP conversation, and claims the conversation:
 * TCP then calls the CLC dissector first for the bytes of the conversation.
 *
 * Without the claim, CLC on port 80 would not be found, because Wireshark calls heuristics only
 * after the dissectors of well-known ports. Bytes that are not CLC are dissected as without the
 * claim, because the CLC dissector passes them on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "handshake.h"

#include <cfile.h>
#include <epan/epan_dissect.h>
#include <epan/plugin_if.h>

#include "capture.h"
#include "clock.h"
#include "fields.h"
#include "hooks.h"

/* Bits of tcp.completeness; Wireshark's header has no names for them. */
#define COMPLETENESS_SYNS 0x03 /* SYN and SYN-ACK */
#define COMPLETENESS_RST 0x20  /* RST */

/* Ids of other protocols, and the dissector of CLC. Set at hand-off, and valid until Wireshark
 * ends. */
static struct {
    smcr_handshake_tcp_ids_t tcp; /* ids of TCP and of "data" */
    dissector_handle_t clc;       /* dissector of CLC, `smcr` */
} known;

/* The wrapper of TCP's dissector. Handles live as long as the process. */
static struct {
    int observer;                /* internal protocol (PINO) of TCP, to which the wrapper belongs */
    dissector_handle_t wrapper;  /* the plugin's wrapper */
    dissector_handle_t original; /* TCP's dissector; set while the wrapper is active */
    bool is_wrapped;             /* the wrapper is active in the open file */
} segments;

const smcr_handshake_tcp_ids_t *
smcr_handshake_tcp_ids(void)
{
    return &known.tcp;
}

/* ---- bytes that are no CLC ---- */

/* The bypass: the conversation whose bytes the CLC dissector passes on during the current call of
 * TCP's dissector; NULL: none. The bypass is a variable, because TCP's dissector cannot pass an
 * argument from the plugin to the CLC dissector. */
static conversation_t *bypassed;

conversation_t *
smcr_handshake_set_bypass(conversation_t *conversation)
{
    conversation_t *outer = bypassed;

    bypassed = conversation;
    return outer;
}

conversation_t *
smcr_handshake_bypass(void)
{
    return bypassed;
}

/* The entry of frame 0 is the dissector of the bytes unless another one claims them later: the one
 * that was set when the plugin claimed the conversation or made its ends (smcr_handshake_ends()),
 * or the user's choice (payload/tcp_state.c). */
dissector_handle_t
smcr_handshake_app_dissector(wmem_tree_t *dissectors, uint32_t frame)
{
    dissector_handle_t other = dissectors ? wmem_tree_lookup32_le(dissectors, frame) : NULL;

    if (other == known.clc)
        other = wmem_tree_lookup32_le(dissectors, 0);
    return other == known.clc ? NULL : other;
}

/* ---- addresses of a connection's ends: of TCP, else of RoCE ---- */

void
smcr_endpoint_tcp_address(const smcr_conn_t *conn, unsigned role, address *addr)
{
    if (conn->ipv4)
        set_address(addr, AT_IPv4, 4, conn->addr.ipv4[role]);
    else
        set_address(addr, AT_IPv6, SMCR_GID_LENGTH, conn->addr.ipv6[role]);
}

unsigned
smcr_endpoint_role(const smcr_conn_t *conn, int side)
{
    int direction = conn->lgr ? smcr_conn_direction(conn->lgr, side) : SMCR_LGR_SIDE_UNKNOWN;

    return (unsigned)(direction < 0 ? side : direction);
}

void
smcr_endpoint_of_gid(const uint8_t gid[SMCR_GID_LENGTH], address *addr)
{
    if (smcr_gid_is_ipv4(gid))
        set_address(addr, AT_IPv4, SMCR_GID_IPV4_LENGTH, gid + SMCR_GID_IPV4_AT);
    else
        set_address(addr, AT_IPv6, SMCR_GID_LENGTH, gid);
}

/* Returns the link on which the side sends; if that link is not known, the link on which the other
 * side sends; NULL: neither link is known. */
static const smcr_link_t *
link_of_side(const smcr_conn_t *conn, unsigned side)
{
    const smcr_link_t *own = conn->side[side].link;

    return own ? own : conn->side[!side].link;
}

/* Fills in GID and number of the side's queue pair on the link; the number is 0 if only the GID is
 * known. Returns false if neither GID nor number is known. */
static bool
queue_pair_address(const smcr_link_t *link, unsigned side, address *addr, uint32_t *port)
{
    const smcr_qp_t *qp = &link->qp[side];

    if (!qp->number_known && !qp->gid_known)
        return false;
    smcr_endpoint_of_gid(qp->key.gid, addr);
    *port = qp->number_known ? qp->key.qpn : 0;
    return true;
}

/* TCP comes first: users search for addresses and ports of TCP. */
bool
smcr_endpoint_address(const smcr_conn_t *conn, unsigned role, address *addr, uint32_t *port)
{
    if (conn->conversation) {
        smcr_endpoint_tcp_address(conn, role, addr);
        *port = conn->port[role];
        return true;
    }
    unsigned side = smcr_endpoint_role(conn, 0) == role ? 0 : 1;
    const smcr_link_t *link = link_of_side(conn, side);
    return link && queue_pair_address(link, side, addr, port);
}

/* ---- ends ---- */

#define PORTS_OF_TCP 0x10000u /* number of ports that TCP can have */

/* Makes the stand-in conversation and its struct tcp_analysis. If TCP's dissector made the struct,
 * TCP would count one stream more. The conversation begins with the capture, since dissectors get
 * held bytes in the name of an earlier frame. */
static void
make_stand_in(smcr_handshake_ends_t *ends)
{
    struct tcp_analysis *tcp = wmem_new0(wmem_file_scope(), struct tcp_analysis);

    tcp->flow1.multisegment_pdus = wmem_tree_new(wmem_file_scope());
    tcp->flow2.multisegment_pdus = wmem_tree_new(wmem_file_scope());
    tcp->acked_table = wmem_tree_new(wmem_file_scope());
    tcp->stream = ends->stream;
    ends->conversation = conversation_new(1, &ends->addr[0], &ends->addr[1],
                                          CONVERSATION_TCP, ends->port[0], ends->port[1], 0);
    conversation_add_proto_data(ends->conversation, known.tcp.proto, tcp);
}

/* The ports of a stand-in lie above those of TCP, so no connection of the capture has them.
 * Addresses that the connection does not keep are copied, since they must live as long as the
 * file. */
smcr_handshake_ends_t *
smcr_handshake_ends(const packet_info *pinfo, const smcr_conn_t *conn)
{
    smcr_handshake_ends_t *ends = wmem_new0(wmem_file_scope(), smcr_handshake_ends_t);
    bool has_tcp = conn->conversation != NULL;

    ends->conversation = conn->conversation;
    ends->stream = has_tcp ? conn->tcp_stream : SMCR_HANDSHAKE_STAND_IN + conn->index;
    for (unsigned end = 0; end < 2; end++) {
        address addr = ADDRESS_INIT_NONE;
        unsigned role = has_tcp ? end : smcr_endpoint_role(conn, (int)end ^ conn->sides_swapped);
        smcr_endpoint_address(conn, role, &addr, &ends->port[end]);
        if (has_tcp) {
            ends->addr[end] = addr; /* its bytes are kept with the connection */
            continue;
        }
        copy_address_wmem(wmem_file_scope(), &ends->addr[end], &addr);
        ends->port[end] = PORTS_OF_TCP + 2 * conn->index + end;
    }
    if (!has_tcp)
        make_stand_in(ends);
    dissector_handle_t before =
        smcr_handshake_app_dissector(ends->conversation->dissector_tree, pinfo->num);
    if (!has_tcp)
        ends->dissectors = wmem_tree_new(wmem_file_scope());
    if (before)
        wmem_tree_insert32(smcr_handshake_dissectors(ends), 0, (void *)before);
    return ends;
}

wmem_tree_t *
smcr_handshake_no_dissectors(void)
{
    wmem_tree_t *dissectors = wmem_tree_new(wmem_file_scope());

    wmem_tree_insert32(dissectors, 1, (void *)known.clc);
    return dissectors;
}

wmem_tree_t *
smcr_handshake_dissectors(smcr_handshake_ends_t *ends)
{
    if (!ends->dissectors)
        ends->dissectors = smcr_handshake_no_dissectors();
    return ends->dissectors;
}

/* ---- TCP's dissector ---- */

int
smcr_handshake_original(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return call_dissector_only(segments.original, tvb, pinfo, tree, data);
}

void
smcr_handshake_watch_segments(void)
{
    if (!segments.is_wrapped)
        segments.original = smcr_hooks_replace("ip.proto", known.tcp.proto, segments.wrapper);
    segments.is_wrapped = true;
}

bool
smcr_handshake_watches_segments(void)
{
    return segments.is_wrapped;
}

/* Called before a file is dissected, for the first time or anew: puts TCP's dissector back in the
 * place of the wrapper. If all of TCP is compared, the wrapper stays or comes. */
static void
start_file(void)
{
    if (segments.is_wrapped)
        smcr_hooks_replace("ip.proto", segments.observer, segments.original);
    segments.is_wrapped = false;
    if (smcr_capture_compares_all_tcp())
        smcr_handshake_watch_segments();
}

/* ---- the claim ---- */

/* Returns the connection of the conversation. A conversation that goes on with the connection of an
 * earlier one (smcr_handshake_rejoin()) has this earlier one as protocol data of ours. NULL: there
 * is no connection, or `conversation` is NULL. */
static smcr_conn_t *
conn_of(conversation_t *conversation)
{
    const smcr_state_t *state = smcr_capture_state();
    smcr_conn_t *conn = conversation ? smcr_conn_of_conversation(state, conversation) : NULL;
    void *before = NULL;

    if (conversation && !conn)
        before = conversation_get_proto_data(conversation, proto_smcr);
    return before ? smcr_conn_of_conversation(state, before) : conn;
}

smcr_conn_t *
smcr_handshake_find_conn(packet_info *pinfo)
{
    return conn_of(find_conversation_pinfo(pinfo, 0));
}

/* Whether an end of the TCP connection has begun to close the connection. */
static bool
is_closing(const struct tcp_analysis *tcp)
{
    return tcp->flow1.closing_initiator || tcp->flow2.closing_initiator;
}

/* Returns the facts about a TCP connection that the state needs. Ports and GIDs have the index of
 * the role: 0 client, 1 server. */
static smcr_state_tcp_t
describe_tcp(packet_info *pinfo, conversation_t *conversation, bool from_client)
{
    const struct tcp_analysis *tcp = get_tcp_conversation_data(conversation, pinfo);
    unsigned sender = !from_client;
    smcr_state_tcp_t described = {
        .conversation = conversation,
        .stream = tcp->stream,
        .frame = pinfo->num,
        .ipv4 = pinfo->src.type == AT_IPv4 && pinfo->dst.type == AT_IPv4,
        .has_ended = (tcp->conversation_completeness & COMPLETENESS_RST) || is_closing(tcp),
    };

    described.port[sender] = (uint16_t)pinfo->srcport;
    described.port[!sender] = (uint16_t)pinfo->destport;
    smcr_endpoint_gid(&pinfo->src, described.gid[sender]);
    smcr_endpoint_gid(&pinfo->dst, described.gid[!sender]);
    return described;
}

/* Makes a conversation between the packet's addresses and ports that begins with `frame`. */
static conversation_t *
new_conversation(const packet_info *pinfo, uint32_t frame)
{
    return conversation_new(frame, &pinfo->src, &pinfo->dst, CONVERSATION_TCP, pinfo->srcport,
                            pinfo->destport, 0);
}

/* A connection that is known from a host's report only, and began before the capture, has ended
 * when a handshake with the same ports comes. */
smcr_conn_t *
smcr_handshake_claim_conversation(packet_info *pinfo, bool from_client)
{
    conversation_t *conversation = find_or_create_conversation(pinfo);
    smcr_conn_t *conn = conn_of(conversation);

    if (conn && conn->socket && smcr_conn_began_before_capture(conn)) {
        conversation = new_conversation(pinfo, pinfo->num); /* new connection with the same ports:
                                                               the earlier connection is over */
        conn = NULL;
    }
    if (!conn) {
        smcr_state_tcp_t tcp = describe_tcp(pinfo, conversation, from_client);
        smcr_handshake_watch_segments();
        conn = smcr_state_tcp(smcr_capture_learn(pinfo), &tcp);
        conversation_set_dissector_from_frame_number(conversation, pinfo->num, known.clc);
    }
    return conn;
}

void
smcr_handshake_claim_translated(packet_info *pinfo)
{
    conversation_set_dissector_from_frame_number(find_or_create_conversation(pinfo), pinfo->num,
                                                 known.clc);
}

/* Returns a copy of `pinfo` with the addresses and ports of the connection's TCP ends: source is
 * the client. The copy is valid as long as `conn` and `pinfo` are. */
static packet_info
as_tcp_packet(const packet_info *pinfo, const smcr_conn_t *conn)
{
    packet_info as_tcp = *pinfo;

    smcr_endpoint_tcp_address(conn, 0, &as_tcp.src);
    smcr_endpoint_tcp_address(conn, 1, &as_tcp.dst);
    as_tcp.srcport = conn->port[0];
    as_tcp.destport = conn->port[1];
    return as_tcp;
}

/* The conversation of another connection is not taken over: a new one begins at this frame. If the
 * host reports a fallback, the connection of that conversation gets the fallback instead. */
void
smcr_handshake_set_conversation(packet_info *pinfo, smcr_conn_t *conn)
{
    packet_info as_tcp = as_tcp_packet(pinfo, conn);
    smcr_state_t *state = smcr_capture_learn(pinfo);

    smcr_handshake_watch_segments();
    conversation_t *conversation = find_conversation(pinfo->num, &as_tcp.src, &as_tcp.dst,
                                                     CONVERSATION_TCP, as_tcp.srcport,
                                                     as_tcp.destport, 0);
    smcr_conn_t *other = conversation ? smcr_conn_of_conversation(state, conversation) : NULL;
    if (!conversation || (other && !conn->fallback.kind)) /* the new conversation begins at frame 1
                                                             if no earlier one exists */
        conversation = new_conversation(&as_tcp, conversation ? pinfo->num : 1);
    if (other && conn->fallback.kind)
        smcr_state_report_fallback(conn, other);
    else
        smcr_conn_set_conversation(state, conn, conversation,
                                   get_tcp_conversation_data(conversation, &as_tcp)->stream);
}

/* Returns Wireshark's analysis of the TCP connection; NULL: there is none. */
static const struct tcp_analysis *
analysis_of(const smcr_conn_t *conn)
{
    return conn->conversation ? conversation_get_proto_data(conn->conversation, known.tcp.proto)
                              : NULL;
}

/* Whether the capture has had all kinds of segments of the TCP connection that the bits of
 * `completeness` select. */
static bool
has_had_segments(const smcr_conn_t *conn, unsigned completeness)
{
    const struct tcp_analysis *tcp = analysis_of(conn);

    return tcp && (tcp->conversation_completeness & completeness) == completeness;
}

/* Returns the damaged segments of the TCP connection; NULL: none. */
static const smcr_state_damage_t *
damage_of(const smcr_conn_t *conn)
{
    return conn->conversation ? smcr_state_damage(smcr_capture_state(), conn->conversation) : NULL;
}

/* Whether an end of the TCP connection that TCP's dissector has seen may be none. */
static bool
has_damaged_end(const smcr_conn_t *conn)
{
    const smcr_state_damage_t *damage = damage_of(conn);

    return damage && damage->has_end;
}

bool
smcr_handshake_was_reset(const smcr_conn_t *conn)
{
    return !conn->reuses_ports && !has_damaged_end(conn) &&
           has_had_segments(conn, COMPLETENESS_RST);
}

bool
smcr_handshake_has_syns(const smcr_conn_t *conn)
{
    const smcr_state_damage_t *damage = damage_of(conn);

    bool is_damaged = damage && (damage->has_syn[0] || damage->has_syn[1]);

    return has_had_segments(conn, COMPLETENESS_SYNS) && !is_damaged;
}

const nstime_t *
smcr_handshake_initial_rtt(const smcr_conn_t *conn)
{
    const struct tcp_analysis *tcp = analysis_of(conn);

    return tcp && !nstime_is_zero(&tcp->ts_first_rtt) ? &tcp->ts_first_rtt : NULL;
}

/* Returns Wireshark's tcp_flow_t for the bytes that the end `role` sends: `flow1` if this end has
 * the higher address or, if the addresses are equal, the higher port; `flow2` otherwise. */
static const tcp_flow_t *
flow_from(const struct tcp_analysis *tcp, const smcr_conn_t *conn, unsigned role)
{
    address own, peer;

    smcr_endpoint_tcp_address(conn, role, &own);
    smcr_endpoint_tcp_address(conn, !role, &peer);
    int above = cmp_address(&own, &peer);
    if (above == 0)
        above = conn->port[role] > conn->port[!role] ? 1 : -1;
    return above >= 0 ? &tcp->flow1 : &tcp->flow2;
}

/* Whether the SYN or SYN-ACK that the earlier conversation lacks begins this connection. `first`:
 * the client's initial sequence number, which the segment has or acknowledges. */
static bool
begins_half(const smcr_conn_t *conn, bool from_client, uint32_t first)
{
    const struct tcp_analysis *tcp = analysis_of(conn);
    bool has_had_it = from_client ? conn->option_syn : conn->has_synack;

    return tcp && !has_had_it && flow_from(tcp, conn, 0)->base_seq == first;
}

/* Wireshark keeps the client's initial sequence number in the first conversation: from the SYN, or
 * from the acknowledgement in the SYN-ACK. */
void
smcr_handshake_rejoin(packet_info *pinfo, bool from_client, uint32_t first)
{
    conversation_t *now = find_conversation_pinfo(pinfo, 0);
    conversation_t *before =
        find_conversation(pinfo->num - 1, &pinfo->src, &pinfo->dst, CONVERSATION_TCP,
                          pinfo->srcport, pinfo->destport, 0);

    if (!now || !before || now == before || conn_of(now))
        return;
    const smcr_conn_t *conn = smcr_conn_of_conversation(smcr_capture_state(), before);
    if (!conn || !begins_half(conn, from_client, first))
        return;
    conversation_add_proto_data(now, proto_smcr, before);
    conversation_set_dissector_from_frame_number(now, pinfo->num, known.clc);
}

/* Whether the FIN of the flow may belong to this connection, and not to a later connection with the
 * same ports. The sequence number of the FIN decides; it may be relative or absolute, as the user
 * has chosen. Returns true if sequence numbers are not known. */
static bool
fin_may_be_own(const tcp_flow_t *flow, const smcr_conn_t *conn, unsigned role)
{
    const tcp_analyze_seq_flow_info_t *seen = flow->tcp_analyze_seq_info;

    return !seen || smcr_evidence_tcp_is_end(conn, role, seen->nextseq) ||
           smcr_evidence_tcp_is_end(conn, role, seen->nextseq - flow->base_seq);
}

/* Wireshark keeps one analysis for a conversation. If another connection reuses the ports,
 * `closing_initiator` may be of that connection, so the result is false. */
bool
smcr_handshake_began_to_close(const smcr_conn_t *conn, unsigned role)
{
    const struct tcp_analysis *tcp = analysis_of(conn);

    bool is_unknown = !tcp || conn->reuses_ports || has_damaged_end(conn);

    if (is_unknown || !is_closing(tcp))
        return false;
    const tcp_flow_t *flow = flow_from(tcp, conn, role);
    return flow->closing_initiator && fin_may_be_own(flow, conn, role);
}

/* Both ends may have the same port, so the addresses are compared, too. */
bool
smcr_handshake_from_client(const packet_info *pinfo, const smcr_conn_t *conn)
{
    uint8_t source[SMCR_GID_LENGTH], client[SMCR_GID_LENGTH];
    address end;

    if (pinfo->srcport != conn->port[0])
        return false;
    smcr_endpoint_tcp_address(conn, 0, &end);
    smcr_endpoint_gid(&end, client);
    smcr_endpoint_gid(&pinfo->src, source); /* all zeros if the address is not captured */
    return smcr_gid_is_same(source, client);
}

/* ---- packets of a tap in the kernel of a host ---- */

/* The ports only suggest which end is the server, so the state is told that the roles are not
 * known. */
smcr_conn_t *
smcr_handshake_claim_tapped(packet_info *pinfo, bool may_begin)
{
    conversation_t *conversation =
        find_conversation(pinfo->num, &pinfo->src, &pinfo->dst, CONVERSATION_TCP, pinfo->srcport,
                          pinfo->destport, 0);
    smcr_conn_t *conn =
        conversation ? smcr_conn_of_conversation(smcr_capture_state(), conversation) : NULL;

    if (conn && (!may_begin || !smcr_tapped_has_ended(
                                   conn, !smcr_handshake_from_client(pinfo, conn),
                                   smcr_capture_interface(pinfo),
                                   smcr_capture_when(pinfo).time)))
        return conn;
    if (!conversation || conn)
        conversation = new_conversation(pinfo, pinfo->num);
    smcr_handshake_watch_segments();
    smcr_state_tcp_t tcp = describe_tcp(pinfo, conversation, pinfo->srcport > pinfo->destport);
    tcp.roles_unknown = true;
    return smcr_state_tcp(smcr_capture_learn(pinfo), &tcp);
}

/* ---- the packet that the user has selected ---- */

/* The record is completed here: what later packets have shown is in it. */
bool
smcr_selected_record(const packet_info *pinfo, smcr_record_t *record)
{
    const smcr_state_t *state = smcr_capture_state();

    if (!state || !smcr_record_find(state, pinfo->num, SMCR_RECORD_OUTERMOST, record))
        return false;
    smcr_record_complete(state, record);
    return true;
}

/* An ICMP error is not a packet of the connection that it quotes. */
const smcr_conn_t *
smcr_selected_conn(packet_info *pinfo)
{
    /* in the frame of an ICMP error, `pinfo` has the ports of the quoted packet, which would lead
     * to the connection of that packet */
    bool is_error = proto_is_frame_protocol(pinfo->layers, "icmp") ||
                    proto_is_frame_protocol(pinfo->layers, "icmpv6");
    const smcr_conn_t *conn =
        smcr_capture_state() && !is_error ? smcr_handshake_find_conn(pinfo) : NULL;
    smcr_record_t record;

    if (!conn && smcr_selected_record(pinfo, &record))
        conn = record.conn;
    return conn;
}

/* The text is a filter of Wireshark: users may change and keep it. */
char *
smcr_selected_conn_filter(packet_info *pinfo)
{
    const smcr_conn_t *conn = smcr_selected_conn(pinfo);

    if (!conn)
        return NULL;
    if (!conn->conversation)
        return g_strdup_printf("smcr.stream eq %u", conn->index);
    return g_strdup_printf("smcr.stream eq %u || tcp.stream eq %u", conn->index, conn->tcp_stream);
}

/* Returns the packet that the main window has dissected for its details; NULL: none is selected. */
static void *
packet_of(capture_file *file, void *unused _U_)
{
    return file && file->edt ? &file->edt->pi : NULL;
}

packet_info *
smcr_selected_packet(void)
{
    return plugin_if_get_capture_file(packet_of, NULL);
}

/* ---- registration ---- */

/* The wrapper is owned by a protocol in name only, so that frame.protocols does not change; see
 * smcr_hooks_register(). */
void
smcr_handshake_wrap(dissector_t wrapper)
{
    segments.observer = proto_register_protocol_in_name_only(
        "TCP (observed by SMC-R)", "TCP/SMC-R", "smcr.tcp", proto_get_id_by_filter_name("tcp"),
        FT_BYTES);
    proto_set_cant_toggle(segments.observer);
    segments.wrapper = create_dissector_handle(wrapper, segments.observer);
    register_init_routine(start_file);
}

/* Called after smcr_dissector_clc_handoff(), which gives the CLC dissector its name. */
void
smcr_handshake_handoff(void)
{
    known.tcp.proto = proto_get_id_by_filter_name("tcp");
    known.tcp.hf_stream = proto_registrar_get_id_byname("tcp.stream");
    known.tcp.proto_data = proto_get_id_by_filter_name("data");
    known.tcp.hf_payload = proto_registrar_get_id_byname("tcp.payload");
    known.clc = find_dissector("smcr");
}
