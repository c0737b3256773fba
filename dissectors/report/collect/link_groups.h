/* link_groups.h
 * Link groups with their links, and what became of these.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_LINK_GROUPS_H
#define SMCR_REPORT_COLLECT_LINK_GROUPS_H

#include "connections.h"
#include "frame_times.h"
#include "rdma_flows.h"
#include "report/figures/figures.h"
#include "rmbs.h"
#include "show/show.h"

typedef struct smcr_link_groups smcr_collect_link_groups_t; /* of one report */

/* No groups. They live as long as the scope. */
smcr_collect_link_groups_t *smcr_collect_link_groups_new(wmem_allocator_t *scope);

/* A packet or message of a link. `vlan`: of its frame; 0: none. */
void smcr_collect_link_groups_take(smcr_collect_link_groups_t *groups, smcr_when_t when,
                                   const smcr_tap_t *packet, uint32_t vlan);

/* What else tells of link groups. The flows have been reported before. */
typedef struct {
    const smcr_state_t *state;
    const smcr_collect_connections_t *connections;
    const smcr_collect_rdma_flows_t *flows;
    const smcr_collect_frame_times_t *times;
} smcr_collect_link_group_sources_t;

/* Adds the groups to `list`, in the order of their indices. What is added lives as long as
 * `scope`. */
void smcr_collect_link_groups_report(const smcr_collect_link_groups_t *groups,
                                     const smcr_collect_link_group_sources_t *sources,
                                     smcr_figure_list_t *list, wmem_allocator_t *scope);

#endif /* SMCR_REPORT_COLLECT_LINK_GROUPS_H */
