/* Shows the subtree "RDMA connection": its queue pairs, the state of its communication management
 * (InfiniBand 12), and the analysis of the packet.
 *
 * The states of communication management are those at the time of the packet. Reverse flow and
 * source queue pair are taken from the flow, which later packets may complete.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "show.h"

#include "generated.h"

/* Whether the packet is a message of communication management whose connection is known. */
static bool
is_cm_message(const smcr_record_t *record)
{
    return record->kind == SMCR_RECORD_CM && record->cm;
}

/* Returns the label of the subtree: the queue pairs of the packet. A message of communication
 * management goes from queue pair 1 to queue pair 1. So its label has the connection and the type
 * of the message instead. */
static const char *
subtree_title(packet_info *pinfo, const smcr_record_t *record, const smcr_ib_headers_t *roce,
         const smcr_show_source_t *source)
{
    if (is_cm_message(record))
        return wmem_strdup_printf(
            pinfo->pool, "RDMA-CM connection %u, %s", record->cm->conn->index,
            val_to_str_const(record->cm->attribute, smcr_values_cm_attributes, "unknown message"));
    if (source->known)
        return wmem_strdup_printf(pinfo->pool, "RDMA connection, queue pair 0x%06x to 0x%06x",
                                  source->qpn, roce->destination.qpn);
    return wmem_strdup_printf(pinfo->pool, "RDMA connection, to queue pair 0x%06x",
                              roce->destination.qpn);
}

/* Shows the flow of a packet that is not of SMC-R, its reverse flow, and the queue pairs of its
 * ends, if they are known. */
static void
show_peers(proto_tree *tree, const smcr_record_t *record, const smcr_ib_headers_t *roce,
           const smcr_show_source_t *source)
{
    const smcr_rdma_flow_t *flow = record->rdma;
    smcr_ib_qp_key_t sender = {.qpn = source->qpn};

    memcpy(sender.gid, roce->source, SMCR_GID_LENGTH);
    smcr_generated_uint(tree, hf_smcr_rdma_flow, flow->index);
    if (flow->peer)
        smcr_generated_uint(tree, hf_smcr_rdma_peer, flow->peer->index);
    if (source->known)
        smcr_annotate_source(tree, &sender, source->known_from, true);
    smcr_annotate_target(tree, &roce->destination, true);
}

/* ---- communication management ---- */

/* Shows the frame of a message, if `frame` is known (not 0) and comes before the current frame. */
static void
show_earlier_frame(packet_info *pinfo, proto_tree *tree, int hf, uint32_t frame)
{
    if (frame && frame < pinfo->num)
        smcr_generated_uint(tree, hf, frame);
}

/* Shows the states of client and server. If the capture does not show which end is the client,
 * shows the states of sender and receiver of the message. */
static void
show_states(proto_tree *tree, const smcr_record_cm_t *note)
{
    bool roles = note->conn->roles_known;
    unsigned one = roles ? SMCR_CM_CLIENT : note->sender;

    if (note->known[one])
        smcr_generated_uint(tree, roles ? hf_smcr_cm_client_state : hf_smcr_cm_sender_state,
                            note->states[one]);
    if (note->known[!one])
        smcr_generated_uint(tree, roles ? hf_smcr_cm_server_state : hf_smcr_cm_receiver_state,
                            note->states[!one]);
}

/* Shows the fields of a message of communication management. */
static void
show_message_fields(proto_tree *tree, const smcr_record_cm_t *note)
{
    smcr_generated_uint(tree, hf_smcr_cm_message, note->attribute);
    if (note->retransmission_of)
        smcr_generated_uint(tree, hf_smcr_cm_repeat_of, note->retransmission_of);
    if (note->attribute == SMCR_IB_CM_REJ)
        smcr_generated_uint(tree, hf_smcr_cm_reason, note->reason);
    if (note->attribute == SMCR_IB_CM_SIDR_REP)
        smcr_generated_uint(tree, hf_smcr_cm_status, note->status);
}

/* Shows the connection of RDMA-CM to which the packet belongs. States are shown if the roles of the
 * ends are known, or the packet is a message of RDMA-CM itself. */
static void
show_management(packet_info *pinfo, proto_tree *tree, const smcr_record_t *record)
{
    const smcr_record_cm_t *note = record->cm;
    const smcr_cm_conn_t *conn = note->conn;
    proto_tree *below = proto_item_add_subtree(
        smcr_generated_uint(tree, hf_smcr_cm_connection, conn->index), ett_smcr_cm);

    if (record->kind == SMCR_RECORD_CM)
        show_message_fields(below, note);
    if (conn->roles_known || record->kind == SMCR_RECORD_CM)
        show_states(below, note);
    if (conn->service_known)
        smcr_generated_uint64(below, hf_smcr_cm_service_id, conn->service_id);
    if (conn->port_known)
        smcr_generated_uint(below, hf_smcr_cm_port, conn->port);
    show_earlier_frame(pinfo, below, hf_smcr_cm_req_in,
                       smcr_cm_first_frame(conn, SMCR_CM_CLIENT, SMCR_IB_CM_REQ));
    show_earlier_frame(pinfo, below, hf_smcr_cm_rep_in,
                       smcr_cm_first_frame(conn, SMCR_CM_SERVER, SMCR_IB_CM_REP));
}

/* A REJ refuses by its reason, a SIDR_REP by its status. The two have different codes. */
const char *
smcr_show_rejection(const smcr_record_cm_t *note)
{
    if (note->attribute == SMCR_IB_CM_REJ)
        return val_to_str_const(note->reason, smcr_values_cm_reasons, "unknown reason");
    if (note->attribute == SMCR_IB_CM_SIDR_REP && note->status != SMCR_IB_CM_SIDR_SUCCESS)
        return val_to_str_const(note->status, smcr_values_cm_sidr_statuses, "unknown status");
    return NULL;
}

/* Adds the connection of the message to the Info column, since several connections may be set up at
 * the same time. If the message refuses the connection and is no retransmission, raises an expert
 * item, and writes the reason into the Info column. */
static void
show_message(packet_info *pinfo, proto_item *item, const smcr_record_cm_t *note)
{
    const smcr_cm_conn_t *conn = note->conn;
    bool asks = note->attribute == SMCR_IB_CM_REQ || note->attribute == SMCR_IB_CM_SIDR_REQ;
    const char *reason = smcr_show_rejection(note);

    col_append_fstr(pinfo->cinfo, COL_INFO, " Connection=%u", conn->index);
    if (asks && conn->port_known)
        col_append_fstr(pinfo->cinfo, COL_INFO, " Port=%u", conn->port);
    if (!reason || note->retransmission_of)
        return;
    smcr_item_raise(pinfo, item, &ei_smcr_cm_rejected);
    col_prepend_fence_fstr(pinfo->cinfo, COL_INFO, "[Rejected: %s] ", reason);
}

/* ---- the whole subtree ---- */

/* Expert items and the Info column are made for each packet, the fields only if a filter, column or
 * tree needs one. */
void
smcr_show_rdma_connection(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                          const smcr_record_t *record, const smcr_ib_headers_t *roce)
{
    const char *protocol = pinfo->current_proto; /* protocol name under which expert items are
                                                    listed */
    smcr_show_source_t source = smcr_show_source(record, roce);
    proto_tree *below = smcr_generated_tree(tree, hf_smcr_rdma, ett_smcr_rdma,
                                            subtree_title(pinfo, record, roce, &source));

    pinfo->current_proto = "SMC-R";
    if (proto_field_is_referenced(tree, proto_smcr)) {
        show_peers(below, record, roce, &source);
        if (record->cm)
            show_management(pinfo, below, record);
        smcr_analysis_show(tvb, pinfo, below, record, roce);
    }
    smcr_show_events(pinfo, proto_tree_get_parent(below), record);
    if (is_cm_message(record))
        show_message(pinfo, proto_tree_get_parent(below), record->cm);
    pinfo->current_proto = protocol;
    smcr_info_answer(pinfo, record, roce);
    smcr_info_trouble(pinfo, record);
}
