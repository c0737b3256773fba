/* ends.c
 * Addresses of connections: those of TCP, else those of RoCE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "ends.h"

#include <string.h>

static void
from_gid(const uint8_t *gid, bool ipv4, address *addr)
{
    if (ipv4)
        set_address(addr, AT_IPv4, SMCR_GID_IPV4_LENGTH, gid + SMCR_GID_IPV4_AT);
    else
        set_address(addr, AT_IPv6, SMCR_GID_LENGTH, gid);
}

void
smcr_end_tcp_address(const smcr_conn_t *conn, unsigned role, address *addr)
{
    if (conn->ipv4)
        set_address(addr, AT_IPv4, 4, conn->addr.ipv4[role]);
    else
        set_address(addr, AT_IPv6, SMCR_GID_LENGTH, conn->addr.ipv6[role]);
}

unsigned
smcr_end_role(const smcr_conn_t *conn, int side)
{
    int direction = conn->lgr ? smcr_conn_direction(conn->lgr, side) : SMCR_SIDE_UNKNOWN;

    return (unsigned)(direction < 0 ? side : direction);
}

bool
smcr_end_address(const smcr_conn_t *conn, unsigned role, address *addr, uint32_t *port)
{
    if (conn->conversation) {
        smcr_end_tcp_address(conn, role, addr);
        *port = conn->port[role];
        return true;
    }
    unsigned side = smcr_end_role(conn, 0) == role ? 0 : 1;
    const smcr_link_t *link = conn->side[side].link ? conn->side[side].link
                                                    : conn->side[!side].link;
    if (!link || !(link->end[side].known || link->end[side].gid_known))
        return false;
    const smcr_end_t *end = &link->end[side];
    from_gid(end->qp.gid, smcr_gid_is_ipv4(end->qp.gid), addr);
    *port = end->known ? end->qp.qpn : 0;
    return true;
}
