/* Names of the ends of connections, and of links. Also the queue pair that sends a packet: RoCE
 * headers do not contain this queue pair, but the record may.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include "generated.h"

/* ---- names ---- */

/* Returns a name such as "10.0.0.1:54558" or "[fd00::1]:54558". */
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

/* Returns a name such as "fe80::1 (server, stream 3)", for an end of a connection whose TCP
 * connection is not known. If it is not known which end is the server, the name has the side. */
static const char *
roce_name(wmem_allocator_t *scope, const smcr_conn_t *conn, const char *addr, unsigned role)
{
    static const char *const roles[] = {"client", "server"}, *const sides[] = {"side 0", "side 1"};
    const char *which = smcr_evidence_knows_server(conn->lgr) ? roles[role] : sides[role];

    return wmem_strdup_printf(scope, "%s%s(%s, stream %u)", addr, *addr ? " " : "", which,
                              conn->index);
}

/* The text of a host whose address is not known is "", and not NULL. */
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
        ends.name[role] = conn->conversation ? tcp_name(scope, conn, ends.address[role], role)
                                             : roce_name(scope, conn, ends.address[role], role);
    }
    return ends;
}

/* The number of a link is unique only in its group. */
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

/* ---- the queue pair that sends a packet ---- */

#define NOBODY UINT32_MAX /* source port that InfiniBand's dissector sets if it does not know the
                             sender */

/* The most certain source comes first: the headers, then the link, then the flow that fabric/ has
 * found. */
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

/* Has to be called in every pass, since pinfo is new in each. */
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
