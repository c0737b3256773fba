/* annotate.c
 * From the record of a frame to fields: connection, link, order of packets, requests and
 * responses. Whatever the frame does not carry itself is a generated field.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "annotate.h"

#include <string.h>

#include "analysis.h"
#include "cdc_view.h"
#include "end_names.h"
#include "events.h"
#include "fallback.h"
#include "fields.h"
#include "generated.h"
#include "host/host.h"
#include "info.h"
#include "message/message.h"
#include "values.h"

static void
hidden(proto_item *item)
{
    proto_item_set_generated(item);
    proto_item_set_hidden(item);
}

static void
frame_link(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, int hf, uint32_t frame)
{
    if (frame && frame < pinfo->num)
        smcr_generated_uint(tree, hf, tvb, frame);
}

/* Whether somebody sees the tree, or asks for one of the fields, as a filter does. */
static bool
any_wanted(proto_tree *tree, const int *const fields[], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (proto_field_is_referenced(tree, *fields[i]))
            return true;
    return false;
}

static const char *
address_text(packet_info *pinfo, const smcr_conn_t *conn, unsigned role)
{
    address addr;

    smcr_endpoint_tcp_address(conn, role, &addr);
    return address_to_str(pinfo->pool, &addr);
}

static void
show_tcp(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, proto_item *top,
         const smcr_conn_t *conn)
{
    const char *client = address_text(pinfo, conn, 0);
    const char *server = address_text(pinfo, conn, 1);

    proto_item_append_text(top, " (%s:%u to %s:%u)", client, conn->port[0], server, conn->port[1]);
    smcr_generated_uint(tree, hf_smcr_tcp_stream, tvb, conn->tcp_stream);
    proto_item_set_generated(
        proto_tree_add_string(tree, hf_smcr_client_addr, tvb, 0, 0, client));
    smcr_generated_uint(tree, hf_smcr_client_port, tvb, conn->port[0]);
    proto_item_set_generated(
        proto_tree_add_string(tree, hf_smcr_server_addr, tvb, 0, 0, server));
    smcr_generated_uint(tree, hf_smcr_server_port, tvb, conn->port[1]);
    hidden(proto_tree_add_uint(tree, hf_smcr_port, tvb, 0, 0, conn->port[0]));
    hidden(proto_tree_add_uint(tree, hf_smcr_port, tvb, 0, 0, conn->port[1]));
}

void
smcr_annotate_conn(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn,
                   int sender)
{
    static const int *const fields[] = {
        &hf_smcr_tcp_stream,  &hf_smcr_client_addr, &hf_smcr_client_port,    &hf_smcr_server_addr,
        &hf_smcr_server_port, &hf_smcr_addr,        &hf_smcr_ip_addr,        &hf_smcr_ipv6_addr,
        &hf_smcr_port,        &hf_smcr_proposal_in,
        &hf_smcr_accept_in,   &hf_smcr_confirm_in,  &hf_smcr_fallback_reason};
    proto_item *top = smcr_generated_uint(tree, hf_smcr_stream, tvb, conn->index);
    proto_tree *below = proto_item_add_subtree(top, ett_smcr_connection);

    smcr_show_end_names(tvb, pinfo, below, conn, sender);
    if (!any_wanted(tree, fields, array_length(fields)))
        return;
    smcr_show_host_addresses(tvb, pinfo, below, conn);
    if (conn->conversation)
        show_tcp(tvb, pinfo, below, top, conn);
    frame_link(tvb, pinfo, below, hf_smcr_proposal_in, conn->proposal_frame);
    frame_link(tvb, pinfo, below, hf_smcr_accept_in, conn->accept_frame);
    frame_link(tvb, pinfo, below, hf_smcr_confirm_in, conn->confirm_frame);
    if (conn->fallback.kind && conn->fallback.frame < pinfo->num)
        proto_item_set_generated(
            proto_tree_add_string(below, hf_smcr_fallback_reason, tvb, 0, 0,
                                  smcr_fallback_reason(pinfo->pool, &conn->fallback)));
}

/* One end of an RDMA connection: its own fields, and the either-of ones, hidden. Returns the item
 * of the queue pair. */
static proto_item *
show_qp(tvbuff_t *tvb, proto_tree *tree, const smcr_qp_key_t *key, int hf_qpn, int hf_gid)
{
    ws_in6_addr gid;

    memcpy(&gid, key->gid, sizeof gid);
    proto_item *item = smcr_generated_uint(tree, hf_qpn, tvb, key->qpn);
    proto_item_set_generated(proto_tree_add_ipv6(tree, hf_gid, tvb, 0, 0, &gid));
    hidden(proto_tree_add_uint(tree, hf_smcr_qpn, tvb, 0, 0, key->qpn));
    hidden(proto_tree_add_ipv6(tree, hf_smcr_gid, tvb, 0, 0, &gid));
    return item;
}

void
smcr_annotate_source(tvbuff_t *tvb, proto_tree *tree, const smcr_qp_key_t *key,
                     enum smcr_ground ground)
{
    proto_item *item = show_qp(tvb, tree, key, hf_smcr_src_qpn, hf_smcr_src_gid);

    if (!ground)
        return;
    proto_item_append_text(item, ", known from %s", val_to_str_const(ground, smcr_grounds, ""));
    hidden(proto_tree_add_uint(tree, hf_smcr_src_qpn_from, tvb, 0, 0, ground));
}

void
smcr_annotate_target(tvbuff_t *tvb, proto_tree *tree, const smcr_qp_key_t *key)
{
    show_qp(tvb, tree, key, hf_smcr_dst_qpn, hf_smcr_dst_gid);
}

/* The link's line: its number on the wire, or, as long as that is not known, its index. */
static proto_tree *
begin_link(tvbuff_t *tvb, proto_tree *tree, const smcr_record_t *record)
{
    const smcr_link_t *link = record->link;
    proto_item *top = record->has_number
                          ? smcr_generated_uint(tree, hf_smcr_link_number, tvb, link->number)
                          : smcr_generated_uint(tree, hf_smcr_link_index, tvb, link->index);

    return proto_item_add_subtree(top, ett_smcr_link);
}

static void
show_link(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_record_t *record,
          const smcr_roce_t *roce)
{
    static const int *const fields[] = {
        &hf_smcr_link_index, &hf_smcr_lgr, &hf_smcr_src_qpn, &hf_smcr_dst_qpn, &hf_smcr_src_gid,
        &hf_smcr_dst_gid,    &hf_smcr_gid, &hf_smcr_qpn,     &hf_smcr_confirm_link_in};
    const smcr_link_t *link = record->link;
    proto_tree *below = begin_link(tvb, tree, record);

    if (roce)
        smcr_show_link_name(tvb, pinfo, below, link);
    if (!any_wanted(tree, fields, array_length(fields)))
        return;
    if (record->has_number)
        smcr_generated_uint(below, hf_smcr_link_index, tvb, link->index);
    if (record->lgr_proven)
        smcr_generated_uint(below, hf_smcr_lgr, tvb, link->lgr->index);
    if (record->sender_known)
        smcr_annotate_source(tvb, below, &link->qp[record->sender].key,
                             link->qp[record->sender].ground);
    if (record->receiver_known)
        smcr_annotate_target(tvb, below, &link->qp[!record->sender].key);
    frame_link(tvb, pinfo, below, hf_smcr_confirm_link_in, link->confirm_frame);
}

/* The step is there for filters: the message itself says what it is. */
static void
show_answers(tvbuff_t *tvb, proto_tree *tree, const smcr_exchange_t *answers)
{
    int hf_step = answers->llc_type ? hf_smcr_llc_step : hf_smcr_clc_step;

    smcr_generated_uint(tree, hf_smcr_request_in, tvb, answers->request_frame);
    smcr_item_time(tree, hf_smcr_response_time, tvb, smcr_exchange_time(answers));
    if (answers->step)
        hidden(proto_tree_add_uint(tree, hf_step, tvb, 0, 0, answers->step));
}

/* Second pass, at the Confirm: did the connection ever appear on RoCE? One that fell back says so
 * there. */
static void
check_roce(packet_info *pinfo, proto_item *item, const smcr_conn_t *conn)
{
    const smcr_link_t *link = conn->side[0].link;

    if (pinfo->fd->visited && link && link->packet_count == 0 && !conn->fallback.kind)
        smcr_raise(pinfo, item, &ei_smcr_no_roce);
}

static void
show_fields(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_record_t *record,
            const smcr_roce_t *roce)
{
    if (record->conn)
        smcr_annotate_conn(tvb, pinfo, tree, record->conn,
                           smcr_sender_role(record->conn, record));
    if (record->direction >= 0)
        smcr_generated_uint(tree, hf_smcr_dir, tvb, (uint32_t)record->direction);
    if (record->link)
        show_link(tvb, pinfo, tree, record, roce);
    if (record->answers)
        show_answers(tvb, tree, record->answers);
    if (record->asks && record->asks->response_frame)
        smcr_generated_uint(tree, hf_smcr_response_in, tvb, record->asks->response_frame);
    if (record->view)
        smcr_cdc_view_show(tvb, pinfo, tree, record);
    smcr_analysis_show(tvb, pinfo, tree, record, roce);
}

void
smcr_annotate_packet(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                     const smcr_record_t *record, const smcr_roce_t *roce)
{
    proto_item *item = proto_tree_get_parent(tree);

    if (record->view)
        smcr_cdc_view_summarize(pinfo, record->view);
    if (proto_field_is_referenced(tree, proto_smcr)) /* by any field of it */
        show_fields(tvb, pinfo, tree, record, roce);
    /* What answers this message is known in the second pass only. */
    if (record->asks && pinfo->fd->visited &&
        smcr_exchange_is_unanswered(smcr_capture_state(), record->asks))
        smcr_raise(pinfo, item, &ei_smcr_no_response);
    smcr_events_show(pinfo, item, record);
    if (record->conn && record->conn->confirm_frame == pinfo->num)
        check_roce(pinfo, item, record->conn);
}
