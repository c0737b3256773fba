/* Knows what packets show of an adapter: how soon it sends NAKs and CNPs, how it retransmits, which
 * timer it has, and what limits its CNPs. Knows neither Wireshark nor how RDMA flows are found.
 * Called by report/collect/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/figures/figures.h"

/* Adds to `list` an entry for each address and network of which the flows show how its adapter
 * sends NAKs or CNPs, or how it retransmits. `flows` are the flows of the report. Memory is
 * allocated in `scope`. */
void smcr_adapters_report(const smcr_figure_list_t *flows, smcr_figure_list_t *list,
                          wmem_allocator_t *scope);
