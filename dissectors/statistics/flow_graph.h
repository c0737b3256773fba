/* flow_graph.h
 * Statistics > Flow Graph, and `tshark -z flow,smcr,standard`: the life of connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATISTICS_FLOW_GRAPH_H
#define SMCR_STATISTICS_FLOW_GRAPH_H

/* Called once, while Wireshark registers protocols. `proto`: SMC-R. */
void smcr_graph_register(int proto);

#endif /* SMCR_STATISTICS_FLOW_GRAPH_H */
