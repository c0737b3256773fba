/* Four tables: links with their link groups, in the words of `smcr linkgroup show`; RMBs; RDMA
 * flows, which are the directions of links and the RoCE of other programs; broken rules and
 * formats. A link group without links also has a row.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "tables.h"

#include "report/words/words.h"

/* ---- a row for each link ---- */

/* Types of link groups, and states of links, in the words of smc-tools. smc-tools show the
 * present state of a host, so they have no words for links that were lost, rejected or deleted. */
static const char *const types[] = {
    [SMCR_FIGURE_GROUP_NONE] = "NONE",
    [SMCR_FIGURE_GROUP_SINGLE] = "SINGLE",
    [SMCR_FIGURE_GROUP_SYMMETRIC] = "SYM",
    [SMCR_FIGURE_GROUP_ASYMMETRIC_PEER] = "ASYMP",
    [SMCR_FIGURE_GROUP_ASYMMETRIC_LOCAL] = "ASYML",
};

static const char *const states[] = {
    [SMCR_FIGURE_STATUS_UNCONFIRMED] = "LINK_ACTIVATING",
    [SMCR_FIGURE_STATUS_ACTIVE] = "LINK_ACTIVE",
    [SMCR_FIGURE_STATUS_LOST] = "lost",
    [SMCR_FIGURE_STATUS_REJECTED] = "rejected",
    [SMCR_FIGURE_STATUS_DELETED] = "deleted",
};

/* The states as the page names them, in its table and in the heading of the table. */
static const char *const page_states[] = {
    [SMCR_FIGURE_STATUS_UNCONFIRMED] = "never confirmed",
    [SMCR_FIGURE_STATUS_ACTIVE] = "active",
    [SMCR_FIGURE_STATUS_LOST] = "lost",
    [SMCR_FIGURE_STATUS_REJECTED] = "rejected",
    [SMCR_FIGURE_STATUS_DELETED] = "deleted",
};

/* Returns the number of a queue pair in hexadecimal, as smc-tools show it; NULL: not known. */
static const char *
qpn_text(wmem_allocator_t *scope, uint64_t qpn)
{
    return qpn == SMCR_FIGURE_UNKNOWN ? NULL : smcr_figure_hex_text(scope, qpn, 3);
}

/* Returns the number of connections of each link group. The map has the index of the group as key,
 * and the number as value. */
static wmem_map_t *
count_conns(const smcr_table_row_sink_t *taker)
{
    wmem_map_t *counts = wmem_map_new(taker->scope, g_direct_hash, g_direct_equal);

    SMCR_FIGURE_EACH(connection, conn, taker->report->connections) {
        void *group = GSIZE_TO_POINTER(conn->link_group);
        size_t count = GPOINTER_TO_SIZE(wmem_map_lookup(counts, group));
        wmem_map_insert(counts, group, GSIZE_TO_POINTER(count + 1));
    }
    return counts;
}

/* Returns the state of the link, in the words of `names`: "LINK_ACTIVE"; "LINK_ACTIVE at frame
 * 31, later unknown" if the state is known up to this frame only; "never came up", see
 * smcr_words_link_never_came_up(); NULL: not known. `names`: a word for each state. */
static const char *
state_text(wmem_allocator_t *scope, const smcr_entry_link_t *link, const char *const *names)
{
    const char *state = smcr_words_link_never_came_up(link) ? "never came up" : names[link->state];

    if (link->index == SMCR_FIGURE_UNKNOWN)
        return NULL;
    if (!state || !link->state_frame.frame)
        return state;
    return wmem_strdup_printf(scope, "%s at frame %" PRIu32 ", later unknown", state,
                              link->state_frame.frame);
}

#define QUEUE_PAIR(end) smcr_words_queue_pair(taker->texts, link->end.gid, link->end.qpn)
#define QPN(end) qpn_text(taker->texts, link->end.qpn)
/* If the client is not known, the columns of the client show both ends. */
#define CLIENT(one, other) group->ends ? smcr_figure_ends(taker->texts, one, other) : one
#define LINK(X)                                                                                    \
    X(TEXT, NULL, "client → server", 0,                                                            \
      (group->ends ? smcr_figure_ends : smcr_words_hosts)(taker->texts, QUEUE_PAIR(client),        \
                                                          QUEUE_PAIR(server)))                     \
    X(NUMBER, "LG-ID", "group", 0, group->index)                                                   \
    X(NUMBER, "Linkid", "link", 0, link->number)                                                   \
    X(TEXT, NULL, "state", 0, state_text(taker->texts, link, page_states))                         \
    X(TEXT, "Link-State", NULL, 15, state_text(taker->texts, link, states))                        \
    X(TEXT, "Client-GID", NULL, 22, CLIENT(link->client.gid, link->server.gid))                    \
    X(TEXT, "Client-QP", NULL, 0, CLIENT(QPN(client), QPN(server)))                                \
    X(TEXT, "Server-GID", NULL, 22, group->ends ? NULL : link->server.gid)                         \
    X(TEXT, "Server-QP", NULL, 0, group->ends ? NULL : QPN(server))                                \
    X(COUNT, "#Conns", NULL, 0, conns)                                                             \
    X(COUNT, "Moved from", NULL, 0, link->moved_from)                                              \
    X(COUNT, "Moved to", NULL, 0, link->moved_to)                                                  \
    X(NUMBER, "Added in", NULL, 0, SMCR_TABLE_FRAME(link->added_frame))                            \
    X(NUMBER, "Deleted in", NULL, 0, SMCR_TABLE_FRAME(link->deleted_frame))                        \
    X(TEXT, "Reason", NULL, 20, smcr_figure_delete_reason_words[link->delete_reason])              \
    X(NUMBER, "MTU", NULL, 4, link->mtu_bytes)                                                     \
    X(TEXT, "LG-Type", NULL, 0, types[group->type])                                                \
    X(TEXT, "Version", NULL, 9, smcr_figure_version_words[group->version])                         \
    X(NUMBER, "VLAN", NULL, 0, group->vlan)                                                        \
    X(TEXT, "EID", NULL, 10, group->eid)

/* Returns the number of packets that the two flows of the link have carried: the rank `busy` of the
 * link's row, by which the page chooses its rows. */
static uint64_t
busy_rank_of(const smcr_entry_report_t *report, const smcr_entry_link_t *link)
{
    const smcr_figure_list_t *flows = &report->rdma_flows;
    uint64_t packets = 0;

    for (uint32_t i = 0; i < link->flows.length; i++)
        if (link->flows.numbers[i] < flows->length)
            packets += ((smcr_entry_rdma_t *)flows->entries[link->flows.numbers[i]])->packets;
    return packets;
}

/* Makes the row of a link. The macro LINK reads the arguments by their names. */
static void
add_link(const smcr_table_row_sink_t *taker, const smcr_entry_link_group_t *group, uint64_t conns,
         const smcr_entry_link_t *link)
{
    bool troubled = smcr_words_link_is_lost(link) || smcr_words_link_is_left(link) ||
                    link->state == SMCR_FIGURE_STATUS_UNCONFIRMED ||
                    link->state == SMCR_FIGURE_STATUS_LOST;

    SMCR_TABLE_ROW(taker, LINK, busy_rank_of(taker->report, link), troubled);
}

/* Adds a row for each link, and a row for each link group without links. In the latter row, the
 * cells that describe a link are not known. */
static void
fill_links(const smcr_table_row_sink_t *taker)
{
    wmem_map_t *counts = count_conns(taker);
    smcr_entry_link_t none;

    smcr_entry_clear(&none, &smcr_entry_link_description);
    none.moved_from = none.moved_to = SMCR_FIGURE_UNKNOWN;
    SMCR_FIGURE_EACH(link_group, group, taker->report->link_groups) {
        uint64_t conns = GPOINTER_TO_SIZE(wmem_map_lookup(counts, GSIZE_TO_POINTER(group->index)));
        for (uint32_t n = 0; n < group->links.length; n++)
            add_link(taker, group, conns, group->links.entries[n]);
        if (group->links.length == 0)
            add_link(taker, group, conns, &none);
    }
}

/* Whether the link is normal though it is rejected: it was never set up by both ends, and never
 * used, and its group has exactly one other link in the capture. A host without a second device
 * rejects the second link, so the type of the group is "single"; or it is not known, since a part
 * of the group's messages is missing. */
static bool
is_rejected_as_usual(const smcr_entry_link_group_t *group, const smcr_entry_link_t *link)
{
    bool may_be_single =
        group->type == SMCR_FIGURE_GROUP_SINGLE || group->type == SMCR_FIGURE_GROUP_UNKNOWN;

    return link->state == SMCR_FIGURE_STATUS_REJECTED && may_be_single &&
           group->links.length == 2 && smcr_words_link_is_unused(link) &&
           !smcr_words_link_was_set_up(link);
}

/* Whether the server has offered the link on the device that has another link of the group: it
 * offered no second device. False: the device of one of the links is not known, or it is another
 * one. */
static bool
is_of_same_device(const smcr_entry_link_group_t *group, const smcr_entry_link_t *link)
{
    SMCR_FIGURE_EACH(link, other, group->links)
        if (other != link && other->server.mac &&
            g_strcmp0(other->server.mac, link->server.mac) == 0)
            return true;
    return false;
}

/* Returns the number of links by state: "Links: 2 active, 1 deleted"; NULL: the report has no link,
 * so the page has no such table. Links that never came up, and those that are usually rejected,
 * count apart, since their state alone looks like trouble. */
static const char *
heading_of_links(const smcr_table_row_sink_t *taker)
{
    uint64_t counts[SMCR_FIGURE_STATUS_DELETED + 1] = {0}, normal[2] = {0}, never = 0, all = 0;
    bool knows_clients = true;

    SMCR_FIGURE_EACH(link_group, group, taker->report->link_groups) {
        SMCR_FIGURE_EACH(link, link, group->links) {
            if (smcr_words_link_never_came_up(link))
                never++;
            else if (is_rejected_as_usual(group, link))
                normal[is_of_same_device(group, link)]++;
            else
                counts[link->state]++;
            all++;
        }
        knows_clients &= !group->ends;
    }
    if (!all)
        return NULL;
    return wmem_strdup_printf(
        taker->scope, "Links: %s%s",
        SMCR_WORDS_COUNTS(taker->scope, {counts[SMCR_FIGURE_STATUS_ACTIVE],
                                          page_states[SMCR_FIGURE_STATUS_ACTIVE]},
                          {counts[SMCR_FIGURE_STATUS_UNCONFIRMED],
                           page_states[SMCR_FIGURE_STATUS_UNCONFIRMED]},
                          {never, "never came up"},
                          {counts[SMCR_FIGURE_STATUS_LOST],
                           page_states[SMCR_FIGURE_STATUS_LOST]},
                          {counts[SMCR_FIGURE_STATUS_DELETED],
                           page_states[SMCR_FIGURE_STATUS_DELETED]},
                          {counts[SMCR_FIGURE_STATUS_REJECTED],
                           page_states[SMCR_FIGURE_STATUS_REJECTED]},
                          {normal[true], "rejected (usual: no second RDMA device offered)"},
                          {normal[false], "rejected (normal if a host has one RDMA device)"},
                          {counts[SMCR_FIGURE_STATUS_UNKNOWN], "in unknown state"}),
        knows_clients ? "" : " (↔: client and server unknown)");
}

SMCR_TABLE(links, "SMC-R Links", LINK, heading_of_links);

/* ---- a row for each RMB of each side ---- */

/* Returns the RKeys of an RMB, each after the number of its link, if that is known: "1:0x00232a55
 * 2:0x00232a6a"; NULL: the RMB has no RKey. */
static const char *
rkeys_of(wmem_allocator_t *scope, const smcr_entry_rmb_t *rmb)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    for (uint32_t i = 0; i < rmb->rkeys.length; i++) {
        const smcr_entry_rmb_rkey_t *rkey = rmb->rkeys.entries[i];
        wmem_strbuf_append(text, i ? " " : "");
        if (rkey->link != SMCR_FIGURE_UNKNOWN)
            wmem_strbuf_append_printf(text, "%" PRIu64 ":", rkey->link);
        wmem_strbuf_append(text, rkey->rkey);
    }
    return rmb->rkeys.length ? wmem_strbuf_get_str(text) : NULL;
}

/* Returns the numbers of the connections that use the RMB: "0,3,4"; NULL: no connection is
 * known. */
static const char *
streams_of(wmem_allocator_t *scope, const smcr_entry_rmb_t *rmb)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    for (uint32_t i = 0; i < rmb->streams.length; i++)
        wmem_strbuf_append_printf(text, "%s%" PRIu64, i ? "," : "", rmb->streams.numbers[i]);
    return rmb->streams.length ? wmem_strbuf_get_str(text) : NULL;
}

#define RMB(X)                                                                                     \
    X(NUMBER, "LG-ID", NULL, 0, group->index)                                                      \
    X(TEXT, "Owner", NULL, 6, smcr_figure_role_words[rmb->owner])                                  \
    X(BYTES, "Size", NULL, 7, rmb->size_bytes)                                                     \
    X(TEXT, "VA", NULL, 18, rmb->va)                                                               \
    X(TEXT, "RKeys", NULL, 12, rkeys_of(taker->texts, rmb))                                        \
    X(NUMBER, "Confirmed in", NULL, 0, SMCR_TABLE_FRAME(rmb->confirmed_frame))                     \
    X(NUMBER, "Deleted in", NULL, 0, SMCR_TABLE_FRAME(rmb->deleted_frame))                         \
    X(COUNT, "#Conns", NULL, 0, rmb->streams.length)                                               \
    X(TEXT, "Streams", NULL, 0, streams_of(taker->texts, rmb))

/* Makes a row for each RMB, in the order of link groups. Both ranks are 0: the page of text does
 * not have this table. */
static void
fill_rmbs(const smcr_table_row_sink_t *taker)
{
    SMCR_FIGURE_EACH(link_group, group, taker->report->link_groups) {
        SMCR_FIGURE_EACH(rmb, rmb, group->rmbs)
            SMCR_TABLE_ROW(taker, RMB, 0, 0);
    }
}

SMCR_TABLE(rmbs, "SMC-R RMBs", RMB, NULL);

/* ---- a row for each flow ---- */

/* Returns the number of NAKs, RNR NAKs included. */
static uint64_t
naks_of(const smcr_entry_rdma_t *flow)
{
    return smcr_figure_sum(smcr_figure_naks_count(&flow->nak), flow->rnr_nak);
}

/* Returns the values of a header field as text: "26, 48"; NULL if there are none. */
static const char *
tally_text(wmem_allocator_t *scope, const smcr_figure_tally_t *tally)
{
    const char *text = NULL;

    for (uint32_t i = 0; i < tally->length; i++)
        text = wmem_strdup_printf(scope, "%s%s%" PRIu32, text ? text : "", text ? ", " : "",
                                  tally->counts[i].value);
    return text;
}

/* Returns the DSCPs of the flow's packets of all kinds, or their VLAN priorities, as text; NULL if
 * there are none. */
static const char *
classes_text(wmem_allocator_t *scope, const smcr_entry_flow_classes_t *classes, bool is_dscp)
{
    smcr_figure_tally_t all = {NULL, 0, 0};
    const smcr_entry_packet_class_t *const kinds[] = {classes->data, classes->acknowledgement,
                                                      classes->cnp};

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (kinds[i])
            smcr_figure_tally_join(&all, scope,
                                   is_dscp ? &kinds[i]->by_dscp : &kinds[i]->by_priority);
    return tally_text(scope, &all);
}

#define FLOW(X)                                                                                    \
    X(TEXT, NULL, "sender → receiver", 0, smcr_words_flow(taker->texts, flow))                     \
    X(COUNT, NULL, "packets", 0, flow->packets)                                                    \
    X(COUNT, NULL, "retrans.", 0, flow->repeated)                                                  \
    X(COUNT, NULL, "NAKs", 0, naks_of(flow))                                                       \
    X(COUNT, NULL, "CE", 0, smcr_figure_marks_count(flow))                                         \
    X(COUNT, NULL, "CNPs", 0, smcr_figure_cnps_count(flow))                                        \
    X(NUMBER, "Flow", NULL, 0, flow->index)                                                        \
    X(NUMBER, "LG-ID", NULL, 0, owner.group ? owner.group->index : SMCR_FIGURE_UNKNOWN)            \
    X(NUMBER, "Linkid", NULL, 0, owner.link ? owner.link->number : SMCR_FIGURE_UNKNOWN)            \
    X(TEXT, "Source", NULL, 22, flow->src)                                                         \
    X(TEXT, "Source QP", NULL, 0, qpn_text(taker->texts, flow->src_qpn))                           \
    X(TEXT, "Destination", NULL, 22, flow->dst)                                                    \
    X(TEXT, "Destination QP", NULL, 0, qpn_text(taker->texts, flow->dst_qpn))                      \
    X(COUNT, "Packets", NULL, 8, flow->packets)                                                    \
    X(BYTES, "Bytes", NULL, 12, flow->bytes)                                                       \
    X(COUNT, "Retransmitted", NULL, 0, flow->repeated)                                             \
    X(COUNT, "NAKs", NULL, 0, smcr_figure_naks_count(&flow->nak))                                  \
    X(COUNT, "RNR NAKs", NULL, 0, flow->rnr_nak)                                                   \
    X(COUNT, "CE", NULL, 5, flow->ecn.ce)                                                          \
    X(COUNT, "Outer CE", NULL, 0, flow->outer_ce)                                                  \
    X(COUNT, "CNPs", NULL, 5, smcr_figure_cnps_count(flow))                                        \
    X(COUNT, "Gaps", NULL, 0, flow->gaps)                                                          \
    X(COUNT, "Missing", NULL, 0, smcr_figure_missing_count(flow))                                  \
    X(COUNT, "Duplicates", NULL, 0, flow->copies)                                                  \
    X(BYTES, "Payload", NULL, 12, flow->payload_bytes)                                             \
    X(BYTES, "Goodput", NULL, 12, flow->goodput_bytes)                                             \
    SMCR_TABLE_SPREAD(X, "ACK", flow->ack_time_s)                                                  \
    SMCR_TABLE_SPREAD(X, "Latency", flow->completion_time_s)                                       \
    X(TEXT, "Kind", NULL, 5, smcr_figure_flow_kind_words[flow->kind])                              \
    X(TEXT, "DSCP", NULL, 0, classes_text(taker->texts, &flow->classes, true))                     \
    X(TEXT, "Priority", NULL, 0, classes_text(taker->texts, &flow->classes, false))                \
    X(NUMBER, "Ports", NULL, 0, flow->udp_ports.length)                                            \
    X(COUNT, "Wrong ICRC", NULL, 0, flow->icrc ? flow->icrc->bad : SMCR_FIGURE_UNKNOWN)

/* Returns the number of events that show trouble of the flow. */
static uint64_t
trouble_of(const smcr_entry_rdma_t *flow)
{
    return smcr_figure_or_zero(flow->repeated) + smcr_figure_or_zero(naks_of(flow)) +
           smcr_figure_or_zero(smcr_figure_missing_count(flow)) +
           smcr_figure_or_zero(smcr_figure_marks_count(flow)) +
           smcr_figure_cnps_count(flow) + (flow->icrc ? smcr_figure_or_zero(flow->icrc->bad) : 0);
}

/* Makes a row for each RDMA flow, those of SMC-R and others. The macro FLOW reads `flow` and
 * `owner`. */
static void
fill_fabric(const smcr_table_row_sink_t *taker)
{
    const smcr_figure_flow_owner_t *owners = smcr_figure_flow_owners(taker->report, taker->scope);

    SMCR_FIGURE_EACH(rdma, flow, taker->report->rdma_flows) {
        smcr_figure_flow_owner_t owner = owners[flow->index];
        SMCR_TABLE_ROW(taker, FLOW, smcr_figure_or_zero(flow->packets), trouble_of(flow));
    }
}

#define PLURAL(count, thing) ((count) == 1 ? thing : thing "s")

/* Returns text about RoCE packets that the report does not analyse; "" if there are none. A finding
 * has the signs of trouble in them. */
static const char *
others_text(const smcr_table_row_sink_t *taker)
{
    const smcr_entry_other_roce_t *others = taker->report->other_roce;

    if (!others)
        return "";
    return wmem_strdup_printf(taker->scope, "; %s not analysed (-o smcr.roce:TRUE)",
                              smcr_words_things(taker->scope, others->packets,
                                                "other RoCE packet"));
}

/* Returns the counts of all RDMA packets, including packets that belong to no flow, and how many
 * packets of RoCE are left out; NULL: there is neither. */
static const char *
heading_of_fabric(const smcr_table_row_sink_t *taker)
{
    const smcr_figure_list_t *flows = &taker->report->rdma_flows;
    smcr_entry_rdma_t sum = {0};
    uint64_t naks, cnps;

    if (!flows->length && !taker->report->other_roce)
        return NULL;
    if (!flows->length)
        return wmem_strdup_printf(taker->scope,
                                  "RDMA: %s, none known to be SMC-R: only counted, "
                                  "not analysed (-o smcr.roce:TRUE)",
                                  smcr_words_things(taker->scope,
                                                    taker->report->other_roce->packets,
                                                    "RoCE packet"));
    for (uint32_t i = 0; i < flows->length + flows->rest; i++)
        smcr_entry_join(&sum, flows->entries[i], &smcr_entry_rdma_description, taker->scope);
    naks = smcr_figure_naks_count(&sum.nak);
    cnps = smcr_figure_cnps_count(&sum);
    return wmem_strdup_printf(
        taker->scope, "RDMA: %s%s",
        SMCR_WORDS_COUNTS(taker->scope, {sum.packets, PLURAL(sum.packets, "packet")},
                          {sum.repeated, "retransmitted"},
                          {smcr_figure_missing_count(&sum), "missing"},
                          {sum.copies, PLURAL(sum.copies, "duplicate")},
                          {naks, PLURAL(naks, "NAK")},
                          {sum.rnr_nak, PLURAL(sum.rnr_nak, "RNR NAK")},
                          {smcr_figure_marks_count(&sum), "marked CE"},
                          {cnps, PLURAL(cnps, "CNP")},
                          {sum.icrc ? sum.icrc->bad : 0, "with a wrong ICRC"}),
        others_text(taker));
}

SMCR_TABLE_NOTED(fabric, "SMC-R Fabric", "NAKs, CNPs: those that the sender of the row has sent",
                 FLOW, heading_of_fabric);

/* ---- a row for each kind of broken rule or format, and who breaks it ---- */

#define BREACH(X)                                                                                  \
    X(TEXT, "Filter", "filter", 33, wmem_strdup_printf(taker->texts, "smcr.%s", breach->kind))     \
    X(TEXT, "By", "by", 6, smcr_figure_role_words[breach->by])                                     \
    X(COUNT, "Count", "count", 7, breach->count)                                                   \
    X(NUMBER, "First frame", "first frame", 0, SMCR_TABLE_FRAME(breach->frame))

static void
fill_breaches(const smcr_table_row_sink_t *taker)
{
    SMCR_FIGURE_EACH(breach, breach, taker->report->breaches)
        SMCR_TABLE_ROW(taker, BREACH, breach->count, 0);
}

/* Returns the heading; NULL: no breach was reported, so the page does not have the table. */
static const char *
heading_of_breaches(const smcr_table_row_sink_t *taker)
{
    return taker->report->breaches.length ? "Breaches of RFC 7609 and of formats" : NULL;
}

SMCR_TABLE(breaches, "SMC-R Breaches", BREACH, heading_of_breaches);
