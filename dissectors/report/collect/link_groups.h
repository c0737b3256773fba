/* link_groups.h
 * Link groups with their links and what became of these, and the remote memory buffers that
 * messages announce and withdraw.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_COLLECT_LINK_GROUPS_H
#define SMCR_REPORT_COLLECT_LINK_GROUPS_H

#include "connections.h"

typedef struct smcr_link_groups smcr_collect_link_groups_t; /* of one report */

/* No groups. They live as long as the scope. */
smcr_collect_link_groups_t *smcr_collect_link_groups_new(wmem_allocator_t *scope);

/* A packet or message of a link. `vlan`: of its frame; 0: none. */
void smcr_collect_link_groups_take(smcr_collect_link_groups_t *groups, smcr_when_t when,
                                   const smcr_tap_t *packet, uint32_t vlan);

/* Adds the groups to `list`, in the order of their indices. What is added lives as long as
 * `scope`. */
void smcr_collect_link_groups_report(const smcr_collect_link_groups_t *groups,
                                     const smcr_collect_sources_t *sources,
                                     smcr_figure_list_t *list, wmem_allocator_t *scope);

#endif /* SMCR_REPORT_COLLECT_LINK_GROUPS_H */
