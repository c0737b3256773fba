/* Knows how a report describes capture points: an entry for each direction between two neighbouring
 * points of a path. Knows neither Wireshark nor how points are compared. Called by the room that
 * counts packets (report/collect/).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "points/points.h"
#include "report/figures/figures.h"

/* Returns the name of an interface; NULL: it has none. */
typedef const char *smcr_way_name_t(uint32_t interface);

/* Compares the points, and adds the entries to `list`. Memory is allocated in `scope`. `points` may
 * be NULL: nothing is added. */
void smcr_ways_report(smcr_points_t *points, smcr_way_name_t *name, smcr_figure_list_t *list,
                      wmem_allocator_t *scope);
