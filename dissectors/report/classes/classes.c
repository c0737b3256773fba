/* Counts packets of RDMA flows by class, and makes entries of the VLANs, the tunnels and the UDP
 * source ports of flows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "classes.h"

/* ---- classes ---- */

/* Returns the counts of the kind of packet with this opcode: data, acknowledgements or CNPs. Makes
 * the counts if there are none. */
static smcr_entry_packet_class_t *
counts_of(smcr_entry_flow_classes_t *classes, wmem_allocator_t *scope, uint8_t opcode)
{
    bool acknowledges = opcode == SMCR_RC_ACK || opcode == SMCR_RC_ATOMIC_ACK;
    smcr_entry_packet_class_t **kind =
        acknowledges ? &classes->acknowledgement : &classes->data;

    if (opcode == SMCR_IB_CNP)
        kind = &classes->cnp;
    if (!*kind) {
        *kind = wmem_new(scope, smcr_entry_packet_class_t);
        smcr_entry_clear(*kind, &smcr_entry_packet_class_description);
    }
    return *kind;
}

/* A packet whose ECN codepoint is not known is left out of the counts by DSCP and ECN, and one
 * without a VLAN tag is left out of the counts by priority: it does not count as 0. */
void
smcr_classes_count(smcr_entry_flow_classes_t *classes, wmem_allocator_t *scope, smcr_when_t when,
                   const smcr_ib_headers_t *roce)
{
    smcr_entry_packet_class_t *counts = counts_of(classes, scope, roce->opcode);
    const smcr_ib_outer_t *outer = &roce->outer;

    counts->packets++;
    if (roce->has_ecn) {
        smcr_figure_tally_count(&counts->by_dscp, scope, (roce->traffic_class >> 2), when);
        smcr_figure_codepoints_count(&counts->ecn, roce->ecn);
    }
    if (outer->has_priority)
        smcr_figure_tally_count(&counts->by_priority, scope, outer->priority, when);
    if (!outer->has_ecn)
        return;
    if (!counts->outer_ecn) {
        counts->outer_ecn = wmem_new(scope, smcr_entry_codepoints_t);
        smcr_entry_clear(counts->outer_ecn, &smcr_entry_codepoints_description);
    }
    smcr_figure_codepoints_count(counts->outer_ecn, outer->ecn);
}

/* ---- networks ---- */

/* `tunnel_id` of the kind "IP" means nothing. VLAN 0 means that there is no tag. */
smcr_entry_flow_network_t *
smcr_classes_network(smcr_ib_network_t network, wmem_allocator_t *scope)
{
    static const smcr_figure_tunnel_t kinds[] = {
        [SMCR_IB_TUNNEL_NONE] = SMCR_FIGURE_TUNNEL_NONE,
        [SMCR_IB_TUNNEL_VXLAN] = SMCR_FIGURE_TUNNEL_VXLAN,
        [SMCR_IB_TUNNEL_GENEVE] = SMCR_FIGURE_TUNNEL_GENEVE,
        [SMCR_IB_TUNNEL_GRE] = SMCR_FIGURE_TUNNEL_GRE,
        [SMCR_IB_TUNNEL_IP] = SMCR_FIGURE_TUNNEL_IP,
    };
    bool has_id = network.tunnel && network.tunnel != SMCR_IB_TUNNEL_IP;

    if (!network.tunnel && !network.vlan)
        return NULL;
    smcr_entry_flow_network_t *entry = wmem_new(scope, smcr_entry_flow_network_t);
    *entry = (smcr_entry_flow_network_t){
        .tunnel = kinds[network.tunnel],
        .tunnel_id = has_id ? network.tunnel_id : SMCR_FIGURE_UNKNOWN,
        .vlan = network.vlan ? network.vlan : SMCR_FIGURE_UNKNOWN,
        .outer_vlan = network.outer_vlan ? network.outer_vlan : SMCR_FIGURE_UNKNOWN,
    };
    return entry;
}

/* ---- UDP source ports ---- */

/* Adds a port of the flow to the entry of the port between the flow's addresses. `ports`: these
 * entries, by addresses and port as text. */
static void
add_port(wmem_map_t *ports, smcr_figure_list_t *list, const smcr_entry_rdma_t *flow,
         const smcr_entry_flow_port_t *used, wmem_allocator_t *scope)
{
    const char *src = flow->src ? flow->src : "", *dst = flow->dst ? flow->dst : "";
    char *key = wmem_strdup_printf(scope, "%s %s %" PRIu64, src, dst, used->port);
    smcr_entry_udp_port_t *port = wmem_map_lookup(ports, key);

    if (!port) {
        port = SMCR_FIGURE_ADD(udp_port, list, scope);
        port->src = flow->src;
        port->dst = flow->dst;
        port->port = used->port;
        wmem_map_insert(ports, key, port);
    }
    port->packets += used->packets;
    smcr_figure_numbers_add(&port->flows, scope, flow->index);
}

/* Flows without known addresses share the entry of their port. Entries come in the order of the
 * first flow that has the port. */
void
smcr_classes_ports(const smcr_figure_list_t *flows, smcr_figure_list_t *list,
                   wmem_allocator_t *scope)
{
    wmem_map_t *ports = wmem_map_new(scope, g_str_hash, g_str_equal);

    SMCR_FIGURE_EACH(rdma, flow, *flows)
        SMCR_FIGURE_EACH(flow_port, used, flow->udp_ports)
            add_port(ports, list, flow, used, scope);
}
