/* Makes fields of the record of a packet: connection, link, order of packets, requests and
 * responses. Values that are in no byte of the frame are generated fields.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include "generated.h"

/* Whether `frame` is known (not 0) and comes before the frame that is being dissected. */
static bool
is_earlier_frame(const packet_info *pinfo, uint32_t frame)
{
    return frame && frame < pinfo->num;
}

/* ---- the ends of connections, and links: hidden fields for filters ---- */

/* Returns the sender of a packet of the connection: the role, 0 client or 1 server; if roles are
 * not known, the side. SMCR_LGR_SIDE_UNKNOWN: not known. */
static int
sender_role(const smcr_conn_t *conn, const smcr_record_t *record)
{
    if (record->direction >= 0)
        return record->direction;
    return record->sender >= 0 ? (int)smcr_endpoint_role(conn, record->sender)
                               : SMCR_LGR_SIDE_UNKNOWN;
}

/* The list must have all fields that show_ends() and show_ports() add: otherwise a filter by a
 * field that is missing here finds nothing. */
bool
smcr_show_ends_are_wanted(proto_tree *tree)
{
    static const int *const fields[] = {
        &hf_smcr_endpoint,  &hf_smcr_endpoint_src, &hf_smcr_endpoint_dst,
        &hf_smcr_addr,      &hf_smcr_ip_addr,      &hf_smcr_ipv6_addr,
        &hf_smcr_port,      &hf_smcr_srcport,      &hf_smcr_dstport};

    return smcr_generated_any_wanted(tree, fields, array_length(fields));
}

/* Adds the address of an end as hidden fields, so that filters find the connection by any host.
 * Wireshark filters addresses of IPv4 and IPv6 by two fields. */
static void
show_host(proto_tree *tree, const smcr_show_ends_t *ends, int role)
{
    const address *host = &ends->host[role];

    if (host->type == AT_NONE)
        return;
    smcr_generated_hidden_string(tree, hf_smcr_addr, ends->address[role]);
    if (host->type == AT_IPv6)
        smcr_item_hide(proto_tree_add_ipv6(tree, hf_smcr_ipv6_addr, NULL, 0, 0, host->data));
    else
        smcr_item_hide(proto_tree_add_ipv4(tree, hf_smcr_ip_addr, NULL, 0, 0,
                                           *(const ws_in4_addr *)host->data));
}

/* Adds names and addresses of both ends of a connection as hidden fields. `sender`: role of the
 * packet's sender, or SMCR_LGR_SIDE_UNKNOWN. */
static void
show_ends(proto_tree *tree, const smcr_show_ends_t *ends, int sender)
{
    for (int role = 0; role < 2; role++) {
        smcr_generated_hidden_string(tree, hf_smcr_endpoint, ends->name[role]);
        if (sender != SMCR_LGR_SIDE_UNKNOWN)
            smcr_generated_hidden_string(
                tree, role == sender ? hf_smcr_endpoint_src : hf_smcr_endpoint_dst,
                ends->name[role]);
    }
    for (int role = 0; role < 2; role++)
        show_host(tree, ends, role);
}

/* Adds the TCP ports of a connection as hidden fields. The TCP connection must be known. `sender`:
 * role of the packet's sender, or SMCR_LGR_SIDE_UNKNOWN. */
static void
show_ports(proto_tree *tree, const smcr_conn_t *conn, int sender)
{
    smcr_generated_hidden_uint(tree, hf_smcr_port, conn->port[0]);
    smcr_generated_hidden_uint(tree, hf_smcr_port, conn->port[1]);
    if (sender == SMCR_LGR_SIDE_UNKNOWN)
        return;
    smcr_generated_hidden_uint(tree, hf_smcr_srcport, conn->port[sender]);
    smcr_generated_hidden_uint(tree, hf_smcr_dstport, conn->port[!sender]);
}

/* Adds the name of a link as the hidden field smcr.endpoint, if a shown tree, filter or table needs
 * this field. */
static void
show_link_name(packet_info *pinfo, proto_tree *tree, const smcr_link_t *link)
{
    if (proto_field_is_referenced(tree, hf_smcr_endpoint))
        smcr_generated_hidden_string(tree, hf_smcr_endpoint,
                                     smcr_show_name_of_link(pinfo->pool, link));
}

/* ---- connections ---- */

/* Returns number and ends of a connection, such as "0 (10.0.0.1:54558 to 10.0.0.2:8080, TCP stream
 * 3)". */
static const char *
tcp_text(packet_info *pinfo, const smcr_conn_t *conn, const smcr_show_ends_t *ends)
{
    const char *client = ends->name[0], *server = ends->name[1];
    size_t size = 2 * SMCR_QUICK_TEXT_NUMBER + strlen(client) + strlen(server) +
                  sizeof " ( to , TCP stream )";
    char *text = wmem_alloc(pinfo->pool, size);
    smcr_quick_text_t to = smcr_quick_text_begin(text, size);

    smcr_quick_text_put_number(&to, "", conn->index);
    smcr_quick_text_put(&to, " (");
    smcr_quick_text_put(&to, client);
    smcr_quick_text_put(&to, " to ");
    smcr_quick_text_put(&to, server);
    smcr_quick_text_put_number(&to, ", TCP stream ", conn->tcp_stream);
    smcr_quick_text_put(&to, ")");
    return text;
}

/* Adds the item of the connection. Its label has the number of the connection and, if it is known
 * which end is the client, the ends of its TCP connection. `ends` is NULL if nobody sees the label;
 * the label then has only the number. */
static proto_tree *
begin_conn(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn,
           const smcr_show_ends_t *ends)
{
    bool shows_ends = ends && conn->conversation && !conn->roles_unknown;
    proto_item *top = shows_ends ? smcr_generated_text(tree, hf_smcr_stream, conn->index,
                                                       tcp_text(pinfo, conn, ends))
                                 : smcr_generated_uint(tree, hf_smcr_stream, conn->index);

    return proto_item_add_subtree(top, ett_smcr_connection);
}

/* Adds number, addresses and ports of the TCP connection as hidden fields for filters. Fields of
 * client and server are added only if it is known which end is the client. */
static void
show_tcp(proto_tree *tree, const smcr_conn_t *conn, const smcr_show_ends_t *ends, int sender)
{
    const int hf_addr[2] = {hf_smcr_client_addr, hf_smcr_server_addr};
    const int hf_port[2] = {hf_smcr_client_port, hf_smcr_server_port};

    smcr_generated_hidden_uint(tree, hf_smcr_tcp_stream, conn->tcp_stream);
    for (unsigned role = 0; role < 2 && !conn->roles_unknown; role++) {
        smcr_generated_hidden_string(tree, hf_addr[role], ends->address[role]);
        smcr_generated_hidden_uint(tree, hf_port[role], conn->port[role]);
    }
    show_ports(tree, conn, sender);
}

/* Shows the frames of the earlier CLC messages of the connection. Only the frame of the last
 * message is a visible field: the user finds the other frames from there. */
static void
show_handshake(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
{
    const struct {
        int hf;         /* field with the frame of the message */
        uint32_t frame; /* frame of the message; 0: none is captured */
    } messages[] = {{hf_smcr_confirm_in, conn->confirm_frame},
                    {hf_smcr_accept_in, conn->accept_frame},
                    {hf_smcr_proposal_in, conn->proposal_frame}};
    bool is_last = true;

    for (unsigned i = 0; i < array_length(messages); i++) {
        if (!is_earlier_frame(pinfo, messages[i].frame))
            continue;
        if (is_last)
            smcr_generated_uint(tree, messages[i].hf, messages[i].frame);
        else
            smcr_generated_hidden_uint(tree, messages[i].hf, messages[i].frame);
        is_last = false;
    }
}

/* Returns the bits of smcr.completeness: the kinds of messages that the connection has had so far;
 * in the second pass, the kinds of messages in the whole capture. */
static unsigned
completeness(const smcr_conn_t *conn)
{
    const smcr_conn_side_t *a = &conn->side[0], *b = &conn->side[1];
    const bool bits[] = {
        conn->option_syn,   conn->option_synack,         conn->proposal_frame,
        conn->accept_frame, conn->confirm_frame,         a->first_cdc_frame || b->first_cdc_frame,
        a->closed_frame || b->closed_frame, a->abort_frame || b->abort_frame, conn->decline_frame};
    unsigned sum = 0;

    for (unsigned i = 0; i < array_length(bits); i++)
        sum |= (unsigned)bits[i] << i;
    return sum;
}

/* Shows which report names the ends of the connection: a host's report over netlink, or the file of
 * the preference `smcss`. */
static void
show_naming(proto_tree *tree, const smcr_socket_t *socket)
{
    if (socket->first.frame)
        smcr_generated_uint(tree, hf_smcr_named_in, socket->first.frame);
    else
        proto_item_set_generated(
            proto_tree_add_item(tree, hf_smcr_named_by_file, NULL, 0, 0, ENC_NA));
}

/* Shows all fields of a connection below its line. A field that is added here must also be in the
 * list of smcr_annotate_conn() or smcr_show_ends_are_wanted(): otherwise a filter by this field
 * alone finds nothing. */
static void
show_conn(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn, int sender)
{
    smcr_show_ends_t ends = smcr_show_ends_of(pinfo->pool, conn);
    proto_tree *below = begin_conn(pinfo, tree, conn, &ends);

    show_ends(below, &ends, sender);
    if (conn->conversation)
        show_tcp(below, conn, &ends, sender);
    show_handshake(pinfo, below, conn);
    smcr_generated_hidden_uint(below, hf_smcr_completeness, completeness(conn));
    const nstime_t *rtt = smcr_handshake_initial_rtt(conn);
    if (rtt)
        smcr_item_hide(proto_tree_add_time(below, hf_smcr_initial_rtt, NULL, 0, 0, rtt));
    if (conn->socket)
        show_naming(below, conn->socket);
    if (conn->fallback.kind && conn->fallback.frame < pinfo->num)
        proto_item_set_generated(
            proto_tree_add_string(below, hf_smcr_fallback_reason, NULL, 0, 0,
                                  smcr_show_fallback_reason(pinfo->pool, &conn->fallback)));
}

static unsigned conns_shown; /* see smcr_annotate_conns_shown() */

unsigned
smcr_annotate_conns_shown(void)
{
    return conns_shown;
}

/* `fields` must have all fields that show_conn() adds, except those of smcr_show_ends_are_wanted():
 * otherwise a filter by a field that is missing here finds nothing. The item of the connection is
 * added in either case. */
void
smcr_annotate_conn(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn, int sender)
{
    static const int *const fields[] = {
        &hf_smcr_tcp_stream,  &hf_smcr_client_addr, &hf_smcr_client_port, &hf_smcr_server_addr,
        &hf_smcr_server_port, &hf_smcr_proposal_in, &hf_smcr_accept_in,   &hf_smcr_confirm_in,
        &hf_smcr_named_in,    &hf_smcr_completeness, &hf_smcr_initial_rtt,
        &hf_smcr_named_by_file, &hf_smcr_fallback_reason};

    conns_shown++;
    if (smcr_show_ends_are_wanted(tree) ||
        smcr_generated_any_wanted(tree, fields, array_length(fields)))
        show_conn(pinfo, tree, conn, sender);
    else
        begin_conn(pinfo, tree, conn, NULL);
}

/* The reason is shown only in the frame that has decided the fallback. */
void
smcr_show_socket(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_socket_t *socket)
{
    const smcr_conn_t *conn = socket ? smcr_conn_merged(socket->conn) : NULL;

    if (!conn)
        return;
    smcr_annotate_conn(pinfo, tree, conn, SMCR_LGR_SIDE_UNKNOWN);
    if (conn->fallback.kind != SMCR_FALLBACK_TOLD || conn->fallback.frame != pinfo->num)
        return;
    const char *reason = smcr_show_fallback_reason(pinfo->pool, &conn->fallback);
    proto_item *item = proto_tree_add_string(tree, hf_smcr_fallback_reason, tvb, 0, 0, reason);
    proto_item_set_generated(item);
    smcr_item_raise(pinfo, item, &ei_smcr_fallback);
}

/* Marks an item as generated. `in_headers`: the packet's headers already show its value, so the
 * item is hidden, too. */
static void
hide_if(bool in_headers, proto_item *item)
{
    proto_item_set_generated(item);
    if (in_headers)
        proto_item_set_hidden(item);
}

/* Shows the GID of a queue pair. Also adds number and GID as the hidden fields smcr.qpn and
 * smcr.gid, which both ends have: a filter by one of them finds the queue pair as sender or
 * receiver. */
static void
show_end(proto_tree *tree, const smcr_ib_qp_key_t *key, int hf_gid, bool in_headers)
{
    ws_in6_addr gid;

    memcpy(&gid, key->gid, sizeof gid);
    hide_if(in_headers, proto_tree_add_ipv6(tree, hf_gid, NULL, 0, 0, &gid));
    smcr_generated_hidden_uint(tree, hf_smcr_qpn, key->qpn);
    smcr_item_hide(proto_tree_add_ipv6(tree, hf_smcr_gid, NULL, 0, 0, &gid));
}

/* Runs for many packets, so the text is made without an allocation. */
void
smcr_annotate_source(proto_tree *tree, const smcr_ib_qp_key_t *key, enum smcr_ground ground,
                     bool in_headers)
{
    char text[80];
    smcr_quick_text_t to = SMCR_QUICK_TEXT(text);

    smcr_quick_text_put_qpn(&to, "", key->qpn);
    if (ground) {
        smcr_quick_text_put(&to, ", known from ");
        smcr_quick_text_put(&to, val_to_str_const(ground, smcr_values_grounds, ""));
    }
    smcr_generated_text(tree, hf_smcr_src_qpn, key->qpn, text);
    show_end(tree, key, hf_smcr_src_gid, in_headers);
    if (ground)
        smcr_generated_hidden_uint(tree, hf_smcr_src_qpn_from, ground);
}

void
smcr_annotate_target(proto_tree *tree, const smcr_ib_qp_key_t *key, bool in_headers)
{
    hide_if(in_headers, proto_tree_add_uint(tree, hf_smcr_dst_qpn, NULL, 0, 0, key->qpn));
    show_end(tree, key, hf_smcr_dst_gid, in_headers);
}

/* Adds the item of the link. Its label has the link number of LLC messages or, if that number is
 * not known, the index of the link; then the index of the link group, if it is known. */
static proto_tree *
begin_link(proto_tree *tree, const smcr_record_t *record)
{
    const smcr_link_t *link = record->link;
    int hf = record->has_number ? hf_smcr_link_number : hf_smcr_link_index;
    uint32_t value = record->has_number ? link->number : link->index;
    const char *of = record->has_number ? " of link group " : " within the capture, in link group ";
    char text[2 * SMCR_QUICK_TEXT_NUMBER + sizeof " within the capture, in link group "];
    smcr_quick_text_t to = SMCR_QUICK_TEXT(text);

    smcr_quick_text_put_number(&to, "", value);
    if (record->lgr_proven)
        smcr_quick_text_put_number(&to, of, link->lgr->index);
    proto_item *top = smcr_generated_text(tree, hf, value, text);
    return proto_item_add_subtree(top, ett_smcr_link);
}

/* Shows the queue pairs of the packet. Values that InfiniBand's headers have, the receiver's number
 * and both GIDs, are hidden. TCP has no such headers. */
static void
show_queue_pairs(proto_tree *tree, const smcr_record_t *record, const smcr_ib_headers_t *roce)
{
    const smcr_qp_t *qps = record->link->qp;

    if (record->sender_known)
        smcr_annotate_source(tree, &qps[record->sender].key, qps[record->sender].ground, roce);
    if (record->receiver_known)
        smcr_annotate_target(tree, &qps[!record->sender].key, roce);
}

/* Shows the link of a packet: the line of the link, and below this line the fields that a tree,
 * filter or column needs. */
static void
show_link(packet_info *pinfo, proto_tree *tree, const smcr_record_t *record,
          const smcr_ib_headers_t *roce)
{
    static const int *const fields[] = {
        &hf_smcr_link_index,   &hf_smcr_lgr,     &hf_smcr_src_qpn, &hf_smcr_src_qpn_from,
        &hf_smcr_dst_qpn,      &hf_smcr_src_gid, &hf_smcr_dst_gid, &hf_smcr_gid,
        &hf_smcr_qpn,          &hf_smcr_confirm_link_in};
    const smcr_link_t *link = record->link;
    proto_tree *below = begin_link(tree, record);

    if (roce)
        show_link_name(pinfo, below, link);
    if (!smcr_generated_any_wanted(tree, fields, array_length(fields)))
        return;
    /* without a number of the link, the line itself has the index (begin_link()) */
    if (record->has_number)
        smcr_generated_hidden_uint(below, hf_smcr_link_index, link->index);
    if (record->lgr_proven)
        smcr_generated_hidden_uint(below, hf_smcr_lgr, link->lgr->index);
    show_queue_pairs(below, record, roce);
    if (is_earlier_frame(pinfo, link->confirm_frame))
        smcr_generated_uint(below, hf_smcr_confirm_link_in, link->confirm_frame);
}

/* Shows the time since the SYN of the connection, and since its last frame before this frame, for
 * filters and columns, each if it is known. Shows nothing if the connection starts mid-connection,
 * or was learned after this packet, because earlier frames of the connection may not be known. */
static void
show_times(const packet_info *pinfo, proto_tree *tree, const smcr_record_t *record)
{
    uint64_t begin = record->conn->begin_time, now = smcr_capture_when(pinfo).time;

    if (smcr_conn_began_before_capture(record->conn) || record->conn_learned_late)
        return;
    if (record->conn->option_syn && now >= begin)
        proto_item_set_hidden(smcr_generated_time(tree, hf_smcr_time_relative, now - begin));
    if (record->conn_idle_time)
        proto_item_set_hidden(
            smcr_generated_time(tree, hf_smcr_time_delta, record->conn_idle_time - 1));
}

/* The fields of the ends are hidden: TCP shows the ends of the segment itself. */
proto_item *
smcr_annotate_segment(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
{
    proto_item *stream = proto_tree_add_uint(tree, hf_smcr_stream, tvb, 0, 0, conn->index);

    conns_shown++;
    if (smcr_show_ends_are_wanted(tree)) {
        smcr_show_ends_t ends = smcr_show_ends_of(pinfo->pool, conn);
        int sender = !smcr_handshake_from_client(pinfo, conn);
        show_ends(tree, &ends, sender);
        show_ports(tree, conn, sender);
    }
    return stream;
}

/* Shows the request that a response answers, and the time from the request to the response. If the
 * request is or may be a retransmission, shows no time. Adds the kind of request and response
 * (clc.step, llc.step) as a hidden field, for filters. */
static void
show_response(proto_tree *tree, const smcr_exchange_t *answers)
{
    int hf_step = answers->llc_type ? hf_smcr_llc_step : hf_smcr_clc_step;

    smcr_generated_uint(tree, hf_smcr_request_in, answers->request_frame);
    if (!answers->request_resent)
        smcr_generated_time(tree, hf_smcr_response_time, smcr_exchange_time(answers));
    if (answers->step)
        smcr_generated_hidden_uint(tree, hf_step, answers->step);
}

/* Shows the response of a request, and the request of a response. The response is known only in the
 * second pass. */
static void
show_exchanges(proto_tree *tree, const smcr_record_t *record)
{
    if (record->ends_exchange && record->ends_exchange->response_frame)
        show_response(tree, record->ends_exchange);
    if (record->begins_exchange && record->begins_exchange->response_frame)
        smcr_generated_uint(tree, hf_smcr_response_in, record->begins_exchange->response_frame);
}

/* ---- all fields of a record ---- */

/* Adds the fields of the packet's connection, link and exchanges, and the analysis of the
 * packet. */
static void
show_fields(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_record_t *record,
            const smcr_ib_headers_t *roce)
{
    if (record->conn) {
        smcr_annotate_conn(pinfo, tree, record->conn, sender_role(record->conn, record));
        show_times(pinfo, tree, record);
    }
    if (record->direction >= 0)
        smcr_generated_text(tree, hf_smcr_dir, (uint32_t)record->direction,
                            smcr_values_directions[record->direction].strptr);
    if (record->link && !smcr_record_tapped(record))
        show_link(pinfo, tree, record, roce);
    show_exchanges(tree, record);
    smcr_analysis_show(tvb, pinfo, tree, record, roce);
}

/* Writes into the Info column how many bytes a CDC message announces (Len), and how much free space
 * it offers (Win), each if it is known. If the message is the immediate data of an RDMA WRITE,
 * smcr_info_begin() has already written the length of the WRITE. */
static void
say_cdc(packet_info *pinfo, const smcr_record_t *record)
{
    const smcr_record_cdc_t *view = record->cdc_analysis;

    if (view->has_announced_bytes && record->kind == SMCR_RECORD_CDC)
        col_append_str_uint(pinfo->cinfo, COL_INFO, "Len", view->announced_bytes, " ");
    if (view->own_free_bytes != SMCR_RECORD_NOT_KNOWN &&
        smcr_evidence_hears_reader(record, pinfo->num))
        col_append_str_uint(pinfo->cinfo, COL_INFO, "Win", view->own_free_bytes, " ");
}

/* Whether the packet is a request that nobody has answered. Known in the second pass only, because
 * a response comes after its request. */
static bool
is_unanswered(const packet_info *pinfo, const smcr_record_t *record)
{
    return record->begins_exchange && pinfo->fd->visited &&
           smcr_evidence_is_unanswered(smcr_capture_state(), record->begins_exchange);
}

/* Whether the packet is the Confirm of a connection, and the capture has no RoCE packet of its
 * link. False in the first pass, and for a connection that fell back to TCP, since it has no RoCE
 * packets. */
static bool
is_confirm_without_roce(const packet_info *pinfo, const smcr_conn_t *conn)
{
    return conn->confirm_frame == pinfo->num && pinfo->fd->visited &&
           smcr_evidence_leaves_out_roce(conn);
}

/* Expert items are raised whether or not fields are shown, since statistics count them. */
void
smcr_annotate_packet(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                     const smcr_record_t *record, const smcr_ib_headers_t *roce)
{
    proto_item *item = proto_tree_get_parent(tree);

    if (record->cdc_analysis)
        say_cdc(pinfo, record);
    if (proto_field_is_referenced(tree, proto_smcr)) /* true if a filter, column or tree needs any
                                                        field of the protocol */
        show_fields(tvb, pinfo, tree, record, roce);
    if (is_unanswered(pinfo, record))
        smcr_item_raise(pinfo, item, &ei_smcr_no_response);
    smcr_show_events(pinfo, item, record);
    if (record->conn && is_confirm_without_roce(pinfo, record->conn))
        smcr_item_raise(pinfo, item, &ei_smcr_no_roce);
}
