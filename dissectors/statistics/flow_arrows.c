/* flow_arrows.c
 * Fills in the items of a graph. The hosts of a connection are those of TCP, so that its RoCE
 * addresses make no columns of their own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flow_arrows.h"

#include "host/host.h"

/* ---- ends ---- */

/* Wireshark's graph has 16 bits for it, and says 65535 where it does not know. */
static uint16_t
fitting(uint32_t port)
{
    return port < UINT16_MAX ? (uint16_t)port : 0;
}

static const address *
known(const address *host)
{
    return host->type != AT_NONE ? host : NULL;
}

smcr_arrow_ends_t
smcr_arrow_of_conn(const smcr_conversation_row_t *row, unsigned sender)
{
    smcr_arrow_ends_t ends = {
        known(&row->host[sender]), known(&row->host[!sender]), {0, 0}, (uint16_t)row->conn->index};

    for (unsigned i = 0; i < 2; i++) {
        address host;
        uint32_t port = 0;
        if (smcr_endpoint_address(row->conn, i ? !sender : sender, &host, &port))
            ends.ports[i] = fitting(port);
    }
    return ends;
}

smcr_arrow_ends_t
smcr_arrow_of_link(const smcr_conversation_row_t *row, const smcr_record_t *record)
{
    const smcr_link_t *link = record->link;
    smcr_arrow_ends_t ends = {.from = NULL};

    if (record->sender < 0)
        return ends;
    for (unsigned i = 0; i < 2; i++) {
        const smcr_qp_t *qp = &link->qp[i ? !record->sender : record->sender];
        ends.ports[i] = qp->known ? fitting(qp->key.qpn) : 0;
    }
    if (!row)
        return ends;
    ends.from = known(&row->host[row->role[record->sender]]);
    ends.to = known(&row->host[row->role[!record->sender]]);
    ends.conv = (uint16_t)row->conn->index;
    return ends;
}

/* ---- arrows ---- */

static void
set_host(address *host, const address *to)
{
    if (!to)
        return;
    free_address(host);
    copy_address(host, to);
}

void
smcr_arrow_say(seq_analysis_item_t *arrow, const char *label, const char *sentence)
{
    g_free(arrow->frame_label);
    g_free(arrow->comment);
    arrow->frame_label = g_strdup(label);
    arrow->comment = g_strdup(sentence);
}

/* With addresses of any kind Wireshark makes an arrow only of a packet that has network addresses.
 * One of RoCEv1 has none: those that the packet list shows take their place. */
static seq_analysis_item_t *
make_arrow(packet_info *pinfo, seq_analysis_info_t *graph)
{
    const address of_network[] = {pinfo->net_src, pinfo->net_dst};

    if (of_network[0].type == AT_NONE)
        copy_address_shallow(&pinfo->net_src, &pinfo->src);
    if (of_network[1].type == AT_NONE)
        copy_address_shallow(&pinfo->net_dst, &pinfo->dst);
    seq_analysis_item_t *arrow = sequence_analysis_create_sai_with_addresses(pinfo, graph);
    pinfo->net_src = of_network[0];
    pinfo->net_dst = of_network[1];
    return arrow;
}

seq_analysis_item_t *
smcr_arrow_draw(const smcr_arrow_drawing_t *drawing, const smcr_arrow_ends_t *ends,
                const char *label, const char *sentence)
{
    seq_analysis_item_t *arrow = make_arrow(drawing->pinfo, drawing->graph);

    if (!arrow)
        return NULL;
    arrow->frame_number = drawing->pinfo->num;
    set_host(&arrow->src_addr, ends->from);
    set_host(&arrow->dst_addr, ends->to);
    arrow->port_src = ends->ports[0];
    arrow->port_dst = ends->ports[1];
    arrow->conv_num = ends->conv;
    arrow->line_style = 1;
    sequence_analysis_use_color_filter(drawing->pinfo, arrow);
    arrow->display = true;
    smcr_arrow_say(arrow, label, sentence);
    g_queue_push_tail(drawing->graph->items, arrow);
    return arrow;
}

void
smcr_arrow_remove(seq_analysis_info_t *graph, GList *link)
{
    seq_analysis_item_t *arrow = link->data;

    g_queue_delete_link(graph->items, link);
    g_free(arrow->frame_label);
    g_free(arrow->time_str);
    g_free(arrow->comment);
    free_address(&arrow->src_addr);
    free_address(&arrow->dst_addr);
    g_free(arrow);
}
