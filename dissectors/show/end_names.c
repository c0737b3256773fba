/* end_names.c
 * Names the ends of connections, and links, in hidden fields; and who sends a packet: RoCE does not
 * name the queue pair, the record does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include "generated.h"

/* ---- names ---- */

static const char *
tcp_name(wmem_allocator_t *scope, const smcr_conn_t *conn, const char *addr, unsigned role)
{
    size_t size = strlen(addr) + sizeof "[]:" + SMCR_QUICK_TEXT_NUMBER;
    char *name = wmem_alloc(scope, size);
    smcr_quick_text_t text = smcr_quick_text_begin(name, size);

    smcr_quick_text_put(&text, conn->ipv4 ? "" : "[");
    smcr_quick_text_put(&text, addr);
    smcr_quick_text_put_number(&text, conn->ipv4 ? ":" : "]:", conn->port[role]);
    return name;
}

static const char *
late_name(wmem_allocator_t *scope, const smcr_conn_t *conn, const char *addr, unsigned role)
{
    bool knows_roles = smcr_evidence_knows_server(conn->lgr);
    const char *which = knows_roles ? role ? "server" : "client" : role ? "side 1" : "side 0";

    return wmem_strdup_printf(scope, "%s%s(%s, stream %u)", addr, *addr ? " " : "", which,
                              conn->index);
}

smcr_show_ends_t
smcr_show_ends_of(wmem_allocator_t *scope, const smcr_conn_t *conn)
{
    smcr_show_ends_t ends;
    uint32_t port;

    for (unsigned role = 0; role < 2; role++) {
        clear_address(&ends.host[role]);
        ends.address[role] = "";
        if (smcr_endpoint_address(conn, role, &ends.host[role], &port))
            ends.address[role] = address_to_str(scope, &ends.host[role]);
        ends.name[role] = (conn->conversation ? tcp_name : late_name)(scope, conn,
                                                                      ends.address[role], role);
    }
    return ends;
}

const char *
smcr_show_name_of_link(wmem_allocator_t *scope, const smcr_link_t *link)
{
    if (!link->has_number || link->lgr->index == SMCR_LGR_NO_INDEX)
        return wmem_strdup_printf(scope, "link index %u", link->index);
    char name[sizeof "link  of group " + 2 * SMCR_QUICK_TEXT_NUMBER];
    smcr_quick_text_t text = SMCR_QUICK_TEXT(name);

    smcr_quick_text_put_number(&text, "link ", link->number);
    smcr_quick_text_put_number(&text, " of group ", link->lgr->index);
    return wmem_strdup(scope, name);
}

int
smcr_show_sender_role(const smcr_conn_t *conn, const smcr_record_t *record)
{
    if (record->direction >= 0)
        return record->direction;
    return record->sender >= 0 ? (int)smcr_endpoint_role(conn, record->sender)
                               : SMCR_LGR_SIDE_UNKNOWN;
}

/* ---- fields ---- */

bool
smcr_show_ends_are_wanted(proto_tree *tree)
{
    static const int *const fields[] = {
        &hf_smcr_endpoint,  &hf_smcr_endpoint_src, &hf_smcr_endpoint_dst,
        &hf_smcr_addr,      &hf_smcr_ip_addr,      &hf_smcr_ipv6_addr,
        &hf_smcr_port,      &hf_smcr_srcport,      &hf_smcr_dstport};

    return smcr_generated_any_wanted(tree, fields, array_length(fields));
}

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

void
smcr_show_ends(proto_tree *tree, const smcr_show_ends_t *ends, int sender)
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

void
smcr_show_ports(proto_tree *tree, const smcr_conn_t *conn, int sender)
{
    smcr_generated_hidden_uint(tree, hf_smcr_port, conn->port[0]);
    smcr_generated_hidden_uint(tree, hf_smcr_port, conn->port[1]);
    if (sender == SMCR_LGR_SIDE_UNKNOWN)
        return;
    smcr_generated_hidden_uint(tree, hf_smcr_srcport, conn->port[sender]);
    smcr_generated_hidden_uint(tree, hf_smcr_dstport, conn->port[!sender]);
}

void
smcr_show_link_name(packet_info *pinfo, proto_tree *tree, const smcr_link_t *link)
{
    if (proto_field_is_referenced(tree, hf_smcr_endpoint))
        smcr_generated_hidden_string(tree, hf_smcr_endpoint,
                                     smcr_show_name_of_link(pinfo->pool, link));
}

/* ---- the queue pair that sends a packet ---- */

#define NOBODY UINT32_MAX /* what InfiniBand's dissector begins with */

smcr_show_source_t
smcr_show_source(const smcr_record_t *record, const smcr_ib_headers_t *roce)
{
    const smcr_rdma_flow_t *flow = record->rdma;

    if (roce->has_src_qpn)
        return (smcr_show_source_t){true, roce->src_qpn, SMCR_GROUND_DETH};
    if (record->link && record->sender_known) {
        const smcr_qp_t *qp = &record->link->qp[record->sender];
        return (smcr_show_source_t){true, qp->key.qpn, qp->ground};
    }
    if (flow && flow->ground)
        return (smcr_show_source_t){true, flow->src_qpn, flow->ground};
    return (smcr_show_source_t){.known = false};
}

void
smcr_show_no_source_port(packet_info *pinfo)
{
    if (pinfo->srcport == NOBODY)
        pinfo->srcport = 0;
}

void
smcr_show_source_port(packet_info *pinfo, const smcr_record_t *record,
                      const smcr_ib_headers_t *roce)
{
    smcr_show_source_t source = smcr_show_source(record, roce);

    if (source.known)
        pinfo->srcport = source.qpn;
    else
        smcr_show_no_source_port(pinfo);
}
