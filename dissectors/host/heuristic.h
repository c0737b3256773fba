/* heuristic.h
 * Our heuristics in Wireshark's lists, at next to no cost for the packets that they decline.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_HOST_HEURISTIC_H
#define SMCR_HOST_HEURISTIC_H

#include "compat.h"

/*
 * Adds a heuristic of protocol SMC-R to the list `table`; called once for each, after all protocols
 * have registered. The names are what the user sees, and the short one is what turns it on and off.
 * Returns its entry.
 *
 * `dissect` has to ask smcr_heuristic_enabled() itself. What it does not decline it hands to a
 * dissector handle, which makes its protocol a layer of the packet.
 */
heur_dtbl_entry_t *smcr_heuristic_add(const char *table, heur_dissector_t dissect,
                                      const char *display_name, const char *short_name);

/* Whether the user has disabled neither the heuristic nor SMC-R. */
bool smcr_heuristic_enabled(const heur_dtbl_entry_t *entry);

/* For lists whose owner looks at the protocol of who took the packet, as TCP does to export PDUs:
 * gives the protocol back until the packet is done with. */
void smcr_heuristic_takes(heur_dtbl_entry_t *entry, const packet_info *pinfo);

#endif /* SMCR_HOST_HEURISTIC_H */
