/* Builds display filters for the selected packet. The filters select:
 * - connection: packets of the connection on RoCE, its CLC messages, and all segments of its TCP
 *   connection. FIN, RST and bare acknowledgements have no field of SMC-R, so tcp.stream selects
 *   them.
 * - link: packets of the link's two queue pairs, and CLC messages that name the link. If a segment
 *   of TCP is selected, the filter has the links on which the connection's two sides have sent
 *   last.
 * - link group: packets and CLC messages of all links of the group
 * - RMB: RDMA WRITEs into the RMB, and CLC and LLC messages that name RKeys of the RMB
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "statistics.h"

#include <epan/conversation_filter.h>

#include "host/host.h"

/* Defines the two functions that Wireshark calls for a kind of filter: has_<name>() returns whether
 * the packet has such a filter, <name>_filter() returns the filter. */
#define FILTER(name, filter) \
    static char *name##_filter(compat_conversation_filter_arguments) \
    { \
        return filter; \
    } \
    static compat_filter_bool has_##name(compat_conversation_filter_arguments) \
    { \
        return is_there(filter); \
    }

/* Returns whether `filter` is not NULL, and frees the text. */
static bool
is_there(char *filter)
{
    bool there = filter != NULL;

    g_free(filter);
    return there;
}

/* ---- connection ---- */

FILTER(conn, smcr_selected_conn_filter(pinfo))

/* ---- link and link group ---- */

/* The links of the selected packet: one link, or the links of both directions of a connection. */
typedef struct {
    const smcr_link_t *link[2]; /* the links; NULL: no link, or the second link is the same as the
                                   first */
} links_t;

/* Returns the links of the two sides of the connection (`link` of smcr_conn_side_t). */
static links_t
links_of_conn(const smcr_conn_t *conn)
{
    const smcr_link_t *one = conn->side[0].link, *other = conn->side[1].link;

    if (!one || one == other)
        return (links_t){{other, NULL}};
    return (links_t){{one, other}};
}

/* Returns the links of the selected packet: the link in its record or, if there is none, the links
 * of its connection. A connection that fell back to TCP has no link. */
static links_t
links_of(packet_info *pinfo)
{
    smcr_record_t record;

    if (smcr_selected_record(pinfo, &record) && record.link)
        return (links_t){{record.link, NULL}};
    const smcr_conn_t *conn = smcr_selected_conn(pinfo);
    if (!conn || conn->fallback.kind)
        return (links_t){{NULL, NULL}};
    return links_of_conn(conn);
}

/* Returns the filter of the packet's links; NULL: the packet has no link. */
static char *
filter_of_link(packet_info *pinfo)
{
    links_t links = links_of(pinfo);

    if (!links.link[0])
        return NULL;
    if (!links.link[1])
        return g_strdup_printf("smcr.link.index eq %u", links.link[0]->index);
    return g_strdup_printf("smcr.link.index eq %u || smcr.link.index eq %u", links.link[0]->index,
                           links.link[1]->index);
}

FILTER(link, filter_of_link(pinfo))

/* Returns the filter of the packet's link group; NULL: the packet has none, or the number of the
 * group is not known. */
static char *
filter_of_group(packet_info *pinfo)
{
    const smcr_link_t *link = links_of(pinfo).link[0];

    return link && link->lgr->index != SMCR_LGR_NO_INDEX
               ? g_strdup_printf("smcr.lgr eq %u", link->lgr->index) : NULL;
}

FILTER(group, filter_of_group(pinfo))

/* ---- RMBs ---- */

#define STREAMS_MAX 256 /* maximum number of connections in a filter */

/* Returns the RMB in which the client (`role` 0) or the server (`role` 1) of a connection receives
 * data. NULL: the RMB, its side or its link group is not known, or the connection fell back to
 * TCP. */
static const smcr_rmb_t *
rmb_of(const smcr_conn_t *conn, int role)
{
    const smcr_lgr_t *lgr = conn && !conn->fallback.kind ? conn->lgr : NULL;

    if (!smcr_evidence_knows_server(lgr) || lgr->index == SMCR_LGR_NO_INDEX)
        return NULL;
    return conn->side[role ? lgr->server : !lgr->server].rmb;
}

/* Whether two RTokens have the same RKey and the same address on the same link. */
static bool
is_same_rtoken(const smcr_rmb_rtoken_t *one, const smcr_rmb_rtoken_t *other)
{
    return one->owner == other->owner && one->rkey == other->rkey && one->va == other->va;
}

/* Whether two RMBs of the state are the same memory. They are if they share an RToken: the host has
 * announced the RMB once more, after a withdrawal or without one. Returns false if `other` is
 * NULL. */
static bool
is_same_memory(const smcr_rmb_t *one, const smcr_rmb_t *other)
{
    if (one == other || !other)
        return other != NULL;
    for (const smcr_rmb_rtoken_t *a = one->rtokens; a; a = smcr_rmb_rtoken_next(a))
        for (const smcr_rmb_rtoken_t *b = other->rtokens; b; b = smcr_rmb_rtoken_next(b))
            if (is_same_rtoken(a, b))
                return true;
    return false;
}

/* Adds the numbers of all connections that receive data in the RMB, as a list. If there are more
 * than STREAMS_MAX such connections, adds only the number of the selected connection. */
static void
add_streams(GString *filter, const smcr_rmb_t *rmb, const smcr_conn_t *selected)
{
    const smcr_conn_t *found[STREAMS_MAX];
    unsigned count = 0;

    for (const smcr_conn_t *conn = rmb->lgr->newest_conn; conn; conn = conn->older_in_group) {
        if (conn->fallback.kind || !is_same_memory(rmb, conn->side[rmb->side].rmb))
            continue;
        if (count == STREAMS_MAX) {
            g_string_append_printf(filter, "%u", selected->index);
            return;
        }
        found[count++] = conn;
    }
    for (unsigned i = count; i > 0; i--) /* backwards, since the newest connection was found
                                            first */
        g_string_append_printf(filter, "%s%u", i < count ? ", " : "", found[i - 1]->index);
}

/* Adds the RKeys of the RMB on all its links, as a list. */
static void
add_rkeys(GString *filter, const smcr_rmb_t *rmb)
{
    const char *separator = "";

    for (const smcr_rmb_rtoken_t *entry = rmb->rtokens; entry;
         entry = smcr_rmb_rtoken_next(entry)) {
        g_string_append_printf(filter, "%s0x%08x", separator, entry->rkey);
        separator = ", ";
    }
}

/* Whether both sides use the same RKey: an RMB of the other side has an RKey of this RMB, on any
 * link of the group. Then the RKey alone does not select the RMB. */
static bool
has_twin(const smcr_rmb_t *rmb)
{
    const smcr_state_t *state = smcr_capture_state();

    for (const smcr_rmb_rtoken_t *entry = rmb->rtokens; entry; entry = smcr_rmb_rtoken_next(entry))
        for (const smcr_link_t *link = rmb->lgr->newest_link; link; link = link->older_in_group)
            if (smcr_rmb_find(state, &link->qp[!rmb->side], entry->rkey))
                return true;
    return false;
}

/* Limits the filter to messages that the RMB's owner sends. Leaves out responses that repeat an
 * RKey of the peer. Needed if both sides use the same RKey. `role`: role of the owner. */
static void
add_owner(GString *filter, int role)
{
    g_string_append_printf(filter,
                           " && smcr.dir == %d && !(smcr.llc.response == 1 && smcr.llc.type in "
                           "{0x%02x, 0x%02x, 0x%02x, 0x%02x, 0x%02x})",
                           role, (unsigned)SMCR_LLC_CONFIRM_RKEY,
                           (unsigned)SMCR_LLC_CONFIRM_RKEY_CONT, (unsigned)SMCR_LLC_DELETE_RKEY,
                           (unsigned)SMCR_LLC_CONFIRM_RKEY_V2, (unsigned)SMCR_LLC_DELETE_RKEY_V2);
}

/* Returns the filter of an RMB; NULL: rmb_of() finds none. `role`: role of the RMB's owner. Only
 * the first packet of an RDMA WRITE has an RKey, so the filter selects WRITEs by the numbers of
 * their connections. */
static char *
filter_of_rmb(packet_info *pinfo, int role)
{
    const smcr_conn_t *conn = smcr_selected_conn(pinfo);
    const smcr_rmb_t *rmb = rmb_of(conn, role);

    if (!rmb)
        return NULL;
    GString *filter = g_string_new("(smcr.write && ");
    g_string_append_printf(filter, "smcr.dir == %d && smcr.stream in {", !role);
    add_streams(filter, rmb, conn);
    g_string_append_printf(filter, "}) || (!smcr.write && smcr.lgr == %u && smcr.rkey in {",
                           rmb->lgr->index);
    add_rkeys(filter, rmb);
    g_string_append(filter, "}");
    if (has_twin(rmb))
        add_owner(filter, role);
    g_string_append(filter, ")");
    return g_string_free(filter, FALSE);
}

FILTER(client_rmb, filter_of_rmb(pinfo, 0))
FILTER(server_rmb, filter_of_rmb(pinfo, 1))

/* Wireshark shows the names in its menus, in the order of registration. */
void
smcr_conversation_filters_register(void)
{
    compat_register_conversation_filter("smcr", "SMC-R Connection", has_conn, conn_filter);
    compat_register_conversation_filter("smcr", "SMC-R Link", has_link, link_filter);
    compat_register_conversation_filter("smcr", "SMC-R Link Group", has_group, group_filter);
    compat_register_conversation_filter("smcr", "SMC-R RMB of the Client", has_client_rmb,
                                        client_rmb_filter);
    compat_register_conversation_filter("smcr", "SMC-R RMB of the Server", has_server_rmb,
                                        server_rmb_filter);
}
