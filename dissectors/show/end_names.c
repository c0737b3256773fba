/* end_names.c
 * Names the ends of connections, and links, in hidden fields.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "end_names.h"

#include <string.h>

#include "fields.h"
#include "host/host.h"
#include "message/message.h"
#include "quick_text.h"

/* ---- names ---- */

static const char *
tcp_name(wmem_allocator_t *scope, const smcr_conn_t *conn, const char *addr, unsigned role)
{
    char *name = wmem_alloc(scope, strlen(addr) + sizeof "[]:" + SMCR_TEXT_NUMBER);
    char *end = smcr_text_put(name, conn->ipv4 ? "" : "[");

    end = smcr_text_put(end, addr);
    end = smcr_text_put(end, conn->ipv4 ? ":" : "]:");
    smcr_text_put_number(end, conn->port[role]);
    return name;
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
    char *name = wmem_alloc(scope, sizeof "link  of group " + 2 * SMCR_TEXT_NUMBER);
    char *end = smcr_text_put(name, "link ");

    end = smcr_text_put_number(end, link->number);
    end = smcr_text_put(end, " of group ");
    smcr_text_put_number(end, link->lgr->index);
    return name;
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

void
smcr_show_end_names(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn, int sender)
{
    if (!proto_field_is_referenced(tree, hf_smcr_endpoint) &&
        !proto_field_is_referenced(tree, hf_smcr_endpoint_src) &&
        !proto_field_is_referenced(tree, hf_smcr_endpoint_dst))
        return;
    for (int role = 0; role < 2; role++) {
        const char *name = smcr_end_name(pinfo->pool, conn, (unsigned)role);
        int hf = role == sender ? hf_smcr_endpoint_src : hf_smcr_endpoint_dst;
        smcr_item_hide(proto_tree_add_string(tree, hf_smcr_endpoint, NULL, 0, 0, name));
        if (sender != SMCR_SIDE_UNKNOWN)
            smcr_item_hide(proto_tree_add_string(tree, hf, NULL, 0, 0, name));
    }
}

void
smcr_show_host_addresses(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
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
        smcr_item_hide(proto_tree_add_string(tree, hf_smcr_addr, NULL, 0, 0,
                                             address_to_str(pinfo->pool, &addr)));
        if (addr.type == AT_IPv6)
            smcr_item_hide(proto_tree_add_ipv6(tree, hf_smcr_ipv6_addr, NULL, 0, 0, addr.data));
        else
            smcr_item_hide(proto_tree_add_ipv4(tree, hf_smcr_ip_addr, NULL, 0, 0,
                                               *(const ws_in4_addr *)addr.data));
    }
}

void
smcr_show_link_name(packet_info *pinfo, proto_tree *tree, const smcr_link_t *link)
{
    if (proto_field_is_referenced(tree, hf_smcr_endpoint))
        smcr_item_hide(proto_tree_add_string(tree, hf_smcr_endpoint, NULL, 0, 0,
                                             smcr_link_name(pinfo->pool, link)));
}
