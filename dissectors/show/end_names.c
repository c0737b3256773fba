/* end_names.c
 * Names the ends of connections, and links, in hidden fields. They cost nothing unless somebody
 * filters by them, or sees the tree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "end_names.h"

#include "fields.h"
#include "host/host.h"

/* ---- names ---- */

static const char *
tcp_name(wmem_allocator_t *scope, const smcr_conn_t *conn, const char *addr, unsigned role)
{
    return wmem_strdup_printf(scope, conn->ipv4 ? "%s:%u" : "[%s]:%u", addr, conn->port[role]);
}

const char *
smcr_end_name(wmem_allocator_t *scope, const smcr_conn_t *conn, unsigned role)
{
    bool knows_roles = conn->lgr && conn->lgr->server != SMCR_SIDE_UNKNOWN;
    const char *addr = "";
    address end;
    uint32_t port;

    if (smcr_endpoint_address(conn, role, &end, &port))
        addr = address_to_str(scope, &end);
    if (conn->conversation)
        return tcp_name(scope, conn, addr, role);
    const char *which = knows_roles ? role ? "server" : "client" : role ? "side 1" : "side 0";
    return wmem_strdup_printf(scope, "%s%s(%s, stream %u)", addr, *addr ? " " : "", which,
                              conn->index);
}

const char *
smcr_link_name(wmem_allocator_t *scope, const smcr_link_t *link)
{
    if (!link->has_number || link->lgr->index == SMCR_NO_INDEX)
        return wmem_strdup_printf(scope, "link index %u", link->index);
    return wmem_strdup_printf(scope, "link %u of group %u", link->number, link->lgr->index);
}

int
smcr_sender_role(const smcr_conn_t *conn, const smcr_record_t *record)
{
    if (record->direction >= 0)
        return record->direction;
    return record->sender >= 0 ? (int)smcr_endpoint_role(conn, record->sender)
                               : SMCR_SIDE_UNKNOWN;
}

/* ---- fields ---- */

static void
hide(proto_item *item)
{
    proto_item_set_generated(item);
    proto_item_set_hidden(item);
}

void
smcr_show_end_names(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn,
                    int sender)
{
    if (!proto_field_is_referenced(tree, hf_smcr_endpoint) &&
        !proto_field_is_referenced(tree, hf_smcr_endpoint_src) &&
        !proto_field_is_referenced(tree, hf_smcr_endpoint_dst))
        return;
    for (int role = 0; role < 2; role++) {
        const char *name = smcr_end_name(pinfo->pool, conn, (unsigned)role);
        int hf = role == sender ? hf_smcr_endpoint_src : hf_smcr_endpoint_dst;
        hide(proto_tree_add_string(tree, hf_smcr_endpoint, tvb, 0, 0, name));
        if (sender != SMCR_SIDE_UNKNOWN)
            hide(proto_tree_add_string(tree, hf, tvb, 0, 0, name));
    }
}

void
smcr_show_host_addresses(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                         const smcr_conn_t *conn)
{
    address addr;
    uint32_t port;

    if (!proto_field_is_referenced(tree, hf_smcr_addr) &&
        !proto_field_is_referenced(tree, hf_smcr_ip_addr) &&
        !proto_field_is_referenced(tree, hf_smcr_ipv6_addr))
        return;
    for (unsigned role = 0; role < 2; role++) {
        if (!smcr_endpoint_address(conn, role, &addr, &port))
            continue;
        hide(proto_tree_add_string(tree, hf_smcr_addr, tvb, 0, 0,
                                   address_to_str(pinfo->pool, &addr)));
        if (addr.type == AT_IPv6)
            hide(proto_tree_add_ipv6(tree, hf_smcr_ipv6_addr, tvb, 0, 0, addr.data));
        else
            hide(proto_tree_add_ipv4(tree, hf_smcr_ip_addr, tvb, 0, 0,
                                     *(const ws_in4_addr *)addr.data));
    }
}

void
smcr_show_link_name(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_link_t *link)
{
    if (proto_field_is_referenced(tree, hf_smcr_endpoint))
        hide(proto_tree_add_string(tree, hf_smcr_endpoint, tvb, 0, 0,
                                   smcr_link_name(pinfo->pool, link)));
}
