/* endpoints.c
 * Addresses of connections: those of TCP, else those of RoCE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "endpoints.h"

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

bool
smcr_endpoint_address(const smcr_conn_t *conn, unsigned role, address *addr, uint32_t *port)
{
    if (conn->conversation) {
        smcr_endpoint_tcp_address(conn, role, addr);
        *port = conn->port[role];
        return true;
    }
    unsigned side = smcr_endpoint_role(conn, 0) == role ? 0 : 1;
    const smcr_link_t *link = conn->side[side].link ? conn->side[side].link
                                                    : conn->side[!side].link;
    if (!link || !(link->qp[side].known || link->qp[side].gid_known))
        return false;
    const smcr_qp_t *qp = &link->qp[side];
    smcr_endpoint_of_gid(qp->key.gid, addr);
    *port = qp->known ? qp->key.qpn : 0;
    return true;
}

void
smcr_endpoint_gid(const address *from, uint8_t gid[SMCR_GID_LENGTH])
{
    memset(gid, 0, SMCR_GID_LENGTH);
    if (from->type == AT_IPv4 && from->len == SMCR_GID_IPV4_LENGTH)
        smcr_gid_map_ipv4(gid, from->data);
    else if (from->len == SMCR_GID_LENGTH)
        memcpy(gid, from->data, SMCR_GID_LENGTH);
}
