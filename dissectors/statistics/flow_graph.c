/* Decides which packets have an arrow in the flow graph. These are packets that begin, change,
 * delay or end a connection, and messages of its link group. Data share few arrows, so that a long
 * connection fits a screen. The columns of the graph are the hosts of TCP. RoCE addresses have
 * columns only if the hosts are not known.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "statistics.h"

#include "conversations.h"
#include "host/host.h"
#include "report/figures/figures.h"
#include "report/words/words.h"

/* Maximum number of connections of a link group that row_of_group() examines, the newest first. */
#define CONNS_SEARCHED_MAX 64

/* A packet while it is added to the graph. */
typedef struct {
    seq_analysis_info_t *graph;      /* Wireshark's graph, with the list of arrows */
    packet_info *pinfo;              /* frame of the packet, as Wireshark passes it to the tap */
    smcr_statistics_memory_t *kept;  /* memory of the graph from one packet to the next; its `data`
                                        is a graph_t */
    const smcr_tap_t *packet;        /* the packet */
    smcr_conversation_update_t row_update; /* row of the packet's connection, and the frames and
                                              bytes that the packet adds to this row */
    struct runs *runs;               /* data of the packet's connection so far, two runs_t; index:
                                        role of the sender; NULL: the packet has no connection */
    const char *subject;             /* sender of the packet, as the subject of a sentence */
} tap_context_t;

/* ---- ends of an arrow ---- */

/* The two ends of an arrow. */
typedef struct {
    const address *from, *to; /* hosts at both ends; NULL: the address of the packet */
    uint16_t ports[2];        /* TCP ports of source and destination, or numbers of their queue
                                 pairs; 0: not known, or too large */
    uint16_t conv;            /* low 16 bits of smcr.stream. In the flow graph of TCP, this member
                                 has the low 16 bits of tcp.stream */
} ends_t;

/* Returns the port for an arrow; 0 if the port is too large. Wireshark's graph has 16 bits for a
 * port, and 65535 stands for an unknown port. `port` may be the number of a queue pair, of 24
 * bits. */
static uint16_t
port_that_fits(uint32_t port)
{
    return port < UINT16_MAX ? (uint16_t)port : 0;
}

/* Returns the host; NULL if its address is not known (AT_NONE). */
static const address *
known_host(const address *host)
{
    return host->type != AT_NONE ? host : NULL;
}

/* Returns the ends of an arrow for a packet of a connection. The arrow leads from the sender to the
 * other end. `sender`: role of the sender. */
static ends_t
ends_of_conn(const smcr_conversation_row_t *row, unsigned sender)
{
    ends_t ends = {
        .from = known_host(&row->host[sender]),
        .to = known_host(&row->host[!sender]),
        .conv = (uint16_t)row->conn->index,
    };

    for (unsigned i = 0; i < 2; i++) {
        address host;
        uint32_t port = 0;
        if (smcr_endpoint_address(row->conn, i ? !sender : sender, &host, &port))
            ends.ports[i] = port_that_fits(port);
    }
    return ends;
}

/* Returns the ends of an arrow for a packet of a link. `row`: the row of a connection of the link
 * group; the TCP hosts of this connection take the place of the RoCE addresses. NULL: no such
 * connection is known. */
static ends_t
ends_of_link(const smcr_conversation_row_t *row, const smcr_record_t *record)
{
    const smcr_link_t *link = record->link;
    ends_t ends = {.from = NULL};

    if (record->sender < 0)
        return ends;
    for (unsigned i = 0; i < 2; i++) {
        const smcr_qp_t *qp = &link->qp[i ? !record->sender : record->sender];
        ends.ports[i] = qp->number_known ? port_that_fits(qp->key.qpn) : 0;
    }
    if (!row)
        return ends;
    ends.from = known_host(&row->host[row->role[record->sender]]);
    ends.to = known_host(&row->host[row->role[!record->sender]]);
    ends.conv = (uint16_t)row->conn->index;
    return ends;
}

/* ---- arrows ---- */

/* Replaces the host at one end of an arrow. If `to` is NULL, the host stays unchanged. */
static void
set_host(address *host, const address *to)
{
    if (!to)
        return;
    free_address(host);
    copy_address(host, to);
}

/* Replaces the texts of an arrow. */
static void
set_text(seq_analysis_item_t *arrow, smcr_arrow_text_t said)
{
    g_free(arrow->frame_label);
    g_free(arrow->comment);
    arrow->frame_label = g_strdup(said.label);
    arrow->comment = g_strdup(said.sentence);
}

/* Makes an arrow for the packet; NULL: the packet has no addresses. Wireshark makes an arrow only
 * for a packet with network addresses, which a packet of RoCEv1 does not have. So the addresses of
 * the packet list replace missing network addresses during the call. */
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

/* Adds an arrow to the graph, which then owns the arrow. Returns the arrow; NULL if the packet has
 * no addresses. */
static seq_analysis_item_t *
add_arrow(const tap_context_t *tap_context, ends_t ends, smcr_arrow_text_t said)
{
    seq_analysis_item_t *arrow = make_arrow(tap_context->pinfo, tap_context->graph);

    if (!arrow)
        return NULL;
    arrow->frame_number = tap_context->pinfo->num;
    set_host(&arrow->src_addr, ends.from);
    set_host(&arrow->dst_addr, ends.to);
    arrow->port_src = ends.ports[0];
    arrow->port_dst = ends.ports[1];
    arrow->conv_num = ends.conv;
    arrow->line_style = 1;
    sequence_analysis_use_color_filter(tap_context->pinfo, arrow);
    arrow->display = true;
    set_text(arrow, said);
    g_queue_push_tail(tap_context->graph->items, arrow);
    return arrow;
}

/* Removes an arrow from the graph, and frees it with all texts and addresses that it owns. */
static void
remove_arrow(seq_analysis_info_t *graph, GList *link)
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

/* The first data of a direction have an arrow of their own. Later data of the direction share one
 * arrow (a run), which stands at the last packet of the run. An arrow of the connection that is not
 * for data ends the runs of both directions. The data after it begin a new run. */

/* The data of one arrow: a run, or the first data. */
typedef struct {
    uint64_t bytes; /* number of new bytes of the application */
    uint64_t packets; /* number of packets that carry the bytes */
    uint32_t from; /* frame of the first packet that carries the bytes */
} run_t;

/* The data of one direction of a connection. All zeros: no data yet. */
typedef struct runs {
    seq_analysis_item_t *arrow; /* the last arrow of the direction's data; NULL: none */
    GList *link;                /* place of `arrow` in the list of arrows; NULL: the run has ended,
                                   or has not begun */
    run_t run;                  /* the data of `arrow` */
    uint64_t total;             /* number of bytes that the direction has sent so far */
    uint64_t end;               /* highest stream position after data so far; 0: not known */
    bool is_first;              /* `arrow` is the arrow of the first data */
    bool from_start;            /* the first data are at the beginning of the stream */
    bool over_tcp;              /* the last data of the direction came over TCP, not over RDMA */
} runs_t;

/* Returns the sentence for a run of data: "The client sends its last data: 2,000 bytes in 2 packets
 * since frame 5, 8,000 in all, over TCP". `is_last`: the stream ends with this data. */
static const char *
further_data_sentence(const runs_t *runs, const tap_context_t *tap_context, bool is_last)
{
    wmem_allocator_t *scope = tap_context->pinfo->pool;
    const char *bytes = smcr_words_number(scope, runs->run.bytes);
    const char *packets = smcr_words_things(scope, runs->run.packets, "packet");
    const char *total = smcr_words_number(scope, runs->total);
    const char *over_tcp = runs->over_tcp ? ", over TCP" : "";

    if (is_last)
        return wmem_strdup_printf(
            scope, "%s sends its last data: %s bytes in %s since frame %u, %s in all%s",
            tap_context->subject, bytes, packets, runs->run.from, total, over_tcp);
    return wmem_strdup_printf(scope, "%s sends %s bytes more in %s since frame %u, %s so far%s",
                              tap_context->subject, bytes, packets, runs->run.from, total,
                              over_tcp);
}

/* Returns the sentence for the first data of a direction: "The client sends its first data: 100
 * bytes". Data that are not at the beginning of the stream are not called first data: earlier data
 * may have been sent before the capture began. */
static const char *
first_data_sentence(const runs_t *runs, const tap_context_t *tap_context, bool is_last)
{
    wmem_allocator_t *scope = tap_context->pinfo->pool;
    const char *which;

    if (runs->from_start)
        which = is_last ? "its first and last data" : "its first data";
    else
        which = is_last ? "its last data" : "data, the first of this direction in the capture";
    return wmem_strdup_printf(scope, "%s sends %s%s: %s", tap_context->subject, which,
                              runs->over_tcp ? " over TCP" : "",
                              smcr_words_things(scope, runs->run.bytes, "byte"));
}

/* Returns label and sentence of the direction's last arrow. */
static smcr_arrow_text_t
data_text(const runs_t *runs, const tap_context_t *tap_context, bool is_last)
{
    const char *label = runs->is_first ? "First data" : "Data";
    const char *sentence = runs->is_first ? first_data_sentence(runs, tap_context, is_last)
                                          : further_data_sentence(runs, tap_context, is_last);

    return (smcr_arrow_text_t){is_last ? "Last data" : label, sentence};
}

/* Counts the packet's data. If there is a run, the data continue the run, else they begin one. */
static void
count_data(runs_t *runs, const tap_context_t *tap_context)
{
    const smcr_conversation_update_t *share = &tap_context->row_update;
    const smcr_tap_t *packet = tap_context->packet;
    smcr_stream_range_t piece = {.known = false};

    if (packet->record->write_location)
        piece = smcr_place_range(packet->record->write_location);
    if (!runs->link)
        runs->run = (run_t){.from = tap_context->pinfo->num};
    if (!runs->arrow)
        runs->from_start = packet->segment || (piece.known && piece.position == 0);
    runs->is_first = !runs->arrow;
    runs->run.bytes += (uint64_t)share->bytes;
    runs->run.packets++;
    runs->total += (uint64_t)share->bytes;
    runs->over_tcp = packet->segment != NULL;
    if (piece.known)
        runs->end = MAX(runs->end, piece.position + packet->record->write_location->length);
}

/* Adds the packet's new data to the graph. The arrow of a run moves to the last packet of the run,
 * so the number of arrows does not grow with the data. */
static void
add_data(runs_t *runs, const tap_context_t *tap_context)
{
    GList *before = runs->link;

    count_data(runs, tap_context);
    seq_analysis_item_t *arrow = add_arrow(
        tap_context, ends_of_conn(tap_context->row_update.row, tap_context->row_update.sender),
        data_text(runs, tap_context, false));
    if (!arrow)
        return;
    if (before)
        remove_arrow(tap_context->graph, before);
    runs->arrow = arrow;
    runs->link = runs->is_first ? NULL : g_queue_peek_tail_link(tap_context->graph->items);
}

/* ---- memory of the graph ---- */

/* The memory of a graph. */
typedef struct {
    smcr_conversation_rows_t rows; /* rows of connections; must be the first member */
    wmem_map_t *runs;   /* data of connections: smcr_conn_t -> two runs_t; index: role of the
                           sender */
    wmem_map_t *groups; /* hosts of link groups: smcr_lgr_t -> smcr_conversation_row_t, the row of a
                           connection that has the hosts of the group */
    wmem_map_t *steps;  /* steps back that have an arrow: the keys are smcr_step_back_t * */
} graph_t;

/* Makes the maps of a new graph. */
static void
make_maps(const smcr_statistics_memory_t *kept)
{
    graph_t *graph = kept->data;

    if (graph->runs)
        return;
    graph->runs = wmem_map_new(kept->scope, g_direct_hash, g_direct_equal);
    graph->groups = wmem_map_new(kept->scope, g_direct_hash, g_direct_equal);
    graph->steps = wmem_map_new(kept->scope, g_direct_hash, g_direct_equal);
}

static bool
knows_both_hosts(const smcr_conversation_row_t *row)
{
    return row->host[0].type != AT_NONE && row->host[1].type != AT_NONE;
}

/* Notes that the row of the packet's connection has the hosts of its link group, unless the hosts
 * are not known, or another row was noted before. */
static void
note_group(const tap_context_t *tap_context)
{
    graph_t *graph = tap_context->kept->data;
    smcr_conversation_row_t *row = tap_context->row_update.row;
    const smcr_lgr_t *lgr = row->conn->lgr;

    if (lgr && knows_both_hosts(row) && !wmem_map_lookup(graph->groups, lgr))
        wmem_map_insert(graph->groups, lgr, row);
}

/* Returns the row of a connection that has the hosts of the link group. If the graph has no such
 * row yet, takes a connection of the group that has a TCP conversation. NULL: none is found. */
static smcr_conversation_row_t *
row_of_group(const tap_context_t *tap_context, const smcr_lgr_t *lgr)
{
    graph_t *graph = tap_context->kept->data;
    smcr_conversation_row_t *row = wmem_map_lookup(graph->groups, lgr);
    const smcr_conn_t *conn = lgr->newest_conn;

    for (unsigned i = 0; !row && conn && i < CONNS_SEARCHED_MAX; i++, conn = conn->older_in_group)
        if (conn->conversation) {
            row = smcr_conversation_find_row(tap_context->kept, conn);
            wmem_map_insert(graph->groups, lgr, row);
        }
    return row;
}

/* ---- arrows ---- */

/* Draws an arrow with this text. The arrow is between the ends of the packet's connection or, if
 * the packet has no connection, of its link. It ends the runs of data of the connection. Without
 * text, or without connection and link, nothing is drawn. */
static void
draw_arrow(const tap_context_t *tap_context, smcr_arrow_text_t said)
{
    const smcr_record_t *record = tap_context->packet->record;
    ends_t ends;

    if (!said.sentence || (!tap_context->runs && !record->link))
        return;
    if (tap_context->runs) {
        ends = ends_of_conn(tap_context->row_update.row, tap_context->row_update.sender);
        tap_context->runs[0].link = tap_context->runs[1].link = NULL;
    } else {
        ends = ends_of_link(row_of_group(tap_context, record->link->lgr), record);
    }
    add_arrow(tap_context, ends, said);
}

/* ---- packets ---- */

/* Returns the link group of the packet's link; if the packet has no link, the link group of its
 * connection. NULL: not known. */
static const smcr_lgr_t *
group_of(const tap_context_t *tap_context)
{
    const smcr_record_t *record = tap_context->packet->record;

    if (record->link)
        return record->link->lgr;
    return tap_context->row_update.row ? tap_context->row_update.row->conn->lgr : NULL;
}

/* Whether it is known which side is the client. Always true for packets on TCP. */
static bool
knows_roles(const tap_context_t *tap_context)
{
    return !tap_context->packet->roce || smcr_evidence_knows_server(group_of(tap_context));
}

/* Whether the server has sent the packet. If it is not known which side is the server: whether side
 * 1 has sent the packet. */
static bool
is_by_server(const tap_context_t *tap_context)
{
    const smcr_record_t *record = tap_context->packet->record;

    if (tap_context->row_update.row)
        return tap_context->row_update.sender;
    if (!record->link || record->sender < 0)
        return false;
    return knows_roles(tap_context) ? record->sender == record->link->lgr->server
                                    : record->sender == 1;
}

/* Draws the arrow of a retransmission. Only the first packet of a step back has an arrow. Packets
 * whose step back has no cause (SMCR_CAUSE_NONE) have no arrow: they came out of order, and were
 * not retransmitted. */
static void
draw_retransmission(const tap_context_t *tap_context)
{
    graph_t *graph = tap_context->kept->data;
    const smcr_record_t *record = tap_context->packet->record;
    const smcr_step_back_t *step = record->step;

    if (step && (step->cause == SMCR_CAUSE_NONE || wmem_map_lookup(graph->steps, step)))
        return;
    if (step)
        wmem_map_insert(graph->steps, step, graph);
    draw_arrow(tap_context,
               smcr_arrow_text_resent(tap_context->pinfo->pool, record, tap_context->subject));
}

/* Draws the packet's data. If the packet is a CDC message that ends the stream, and all data that
 * the message has announced are in the graph, the text of the direction's last arrow becomes "Last
 * data". */
static void
draw_data(const tap_context_t *tap_context)
{
    const smcr_record_cdc_t *view = tap_context->packet->record->cdc_analysis;

    if (!tap_context->runs)
        return;
    runs_t *runs = &tap_context->runs[tap_context->row_update.sender];
    if (tap_context->row_update.bytes > 0)
        add_data(runs, tap_context);
    if (view && view->ends_stream && runs->arrow && runs->end == view->announced)
        set_text(runs->arrow, data_text(runs, tap_context, true));
}

/* Draws the arrow of an LLC message. Its text depends on the role of the sender, if the role is
 * known. */
static void
draw_llc(const tap_context_t *tap_context)
{
    int role = knows_roles(tap_context) ? is_by_server(tap_context) : SMCR_LGR_SIDE_UNKNOWN;

    draw_arrow(tap_context, smcr_arrow_text_llc(tap_context->pinfo->pool, tap_context->packet->llc,
                                                tap_context->subject, role));
}

/* Draws the arrows of a RoCE packet: retransmission, data, LLC message, events. A duplicate made by
 * the network has no arrow. */
static void
draw_roce(const tap_context_t *tap_context)
{
    const smcr_tap_t *packet = tap_context->packet;
    uint8_t order = packet->record->order;

    if (order == SMCR_FLOW_IS_COPY)
        return;
    if (packet->record->step || order == SMCR_FLOW_IS_RETRANSMISSION)
        draw_retransmission(tap_context);
    draw_data(tap_context);
    if (packet->llc && order != SMCR_FLOW_IS_RETRANSMISSION)
        draw_llc(tap_context);
    for (const smcr_event_t *event = packet->record->events; event; event = event->next)
        draw_arrow(tap_context, smcr_arrow_text_event(tap_context->pinfo->pool, event, packet,
                                                      tap_context->subject));
}

/* Whether the packet has the Decline that makes the connection fall back to TCP. The fallback has
 * an arrow, so the Decline needs no arrow. */
static bool
has_deciding_decline(const tap_context_t *tap_context)
{
    const smcr_clc_t *clc = tap_context->packet->clc;
    const smcr_fallback_t *fallback = &tap_context->row_update.row->conn->fallback;

    return clc->header.type == SMCR_CLC_DECLINE && fallback->kind == SMCR_FALLBACK_DECLINED &&
           fallback->frame == tap_context->pinfo->num;
}

/* Draws the arrow of a packet on TCP. If the packet has several of these facts, the arrow is for
 * the first one in this order: fallback, SMC-R option in a SYN or SYN-ACK, data, CLC message. */
static void
draw_tcp(const tap_context_t *tap_context)
{
    const smcr_tap_t *packet = tap_context->packet;
    wmem_allocator_t *scope = tap_context->pinfo->pool;
    const smcr_conn_t *conn = tap_context->row_update.row->conn;
    bool has_option = packet->segment && packet->segment->has_option;
    bool has_data = packet->segment && packet->segment->length;

    if (packet->falls_back)
        draw_arrow(tap_context, smcr_arrow_text_fallback(scope, conn));
    else if (has_option)
        draw_arrow(tap_context, smcr_arrow_text_segment(scope, packet->segment));
    else if (has_data)
        draw_data(tap_context);
    else if (packet->clc && !has_deciding_decline(tap_context))
        draw_arrow(tap_context,
                   smcr_arrow_text_clc(scope, packet->clc, tap_context->row_update.sender,
                                       smcr_lgr_release(conn->lgr)));
}

/* ---- through the tap ---- */

/* Draws the arrows of a packet. Called by Wireshark for each packet of the tap `smcr`. `graph`:
 * Wireshark's graph. */
static tap_packet_status
draw_packet(void *graph, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
            tap_flags_t flags)
{
    seq_analysis_info_t *info = graph;
    tap_context_t tap_context = {
        .graph = info,
        .pinfo = pinfo,
        .kept = smcr_statistics_find_memory(info, g_queue_is_empty(info->items), sizeof(graph_t)),
        .packet = data,
    };
    unsigned before = g_queue_get_length(info->items);

    make_maps(tap_context.kept);
    tap_context.row_update = smcr_conversation_count_packet(tap_context.kept, pinfo, data, flags);
    if (tap_context.row_update.row) {
        tap_context.runs =
            smcr_figure_of(((graph_t *)tap_context.kept->data)->runs, tap_context.kept->scope,
                           tap_context.row_update.row->conn, 2 * sizeof(runs_t));
        note_group(&tap_context);
    }
    tap_context.subject = smcr_arrow_subject(knows_roles(&tap_context), is_by_server(&tap_context));
    if (tap_context.packet->roce)
        draw_roce(&tap_context);
    else if (tap_context.row_update.row)
        draw_tcp(&tap_context);
    return g_queue_get_length(info->items) != before ? TAP_PACKET_REDRAW : TAP_PACKET_DONT_REDRAW;
}

void
smcr_graph_register(int proto)
{
    register_seq_analysis("smcr", "SMC-R Flows", proto, SMCR_TAP, 0, draw_packet);
}
