/* Our heuristics in Wireshark's lists, at next to no cost for the packets that they decline; and
 * the gate that keeps others out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* Adds a heuristic of protocol SMC-R to the list `table`; called once for each, after all protocols
 * have registered. The names are what the user sees, and the short one is what turns it on and off.
 * Returns its entry.
 *
 * `dissect` has to ask smcr_heuristic_enabled() itself. What it does not decline it hands to a
 * dissector handle, which makes its protocol a layer of the packet. */
heur_dtbl_entry_t *smcr_heuristic_add(const char *table, heur_dissector_t dissect,
                                      const char *display_name, const char *short_name);

/* Whether the user has disabled neither the heuristic nor SMC-R. */
bool smcr_heuristic_enabled(const heur_dtbl_entry_t *entry);

/* For lists whose owner looks at the protocol of who took the packet, as TCP does to export PDUs:
 * gives the protocol back until the packet is done with. */
void smcr_heuristic_takes(heur_dtbl_entry_t *entry, const packet_info *pinfo);

/* ---- the gate ----
 *
 * Keeps other payload heuristics of InfiniBand out while a packet of ours is dissected. Wireshark
 * moves a heuristic that matched to the front of its list, so who gets a packet would depend on
 * what came before. The gate is closed for one call only; the user's settings are never changed. */

#define SMCR_GATE_MAX 256u /* heuristics on the list; any more stay enabled */

/* Which heuristics a closed gate has disabled. */
typedef struct {
    heur_dtbl_entry_t *kept_out[SMCR_GATE_MAX];
    unsigned count;
} smcr_gate_t;

/* Lists the payload heuristics but our `own`. */
void smcr_gate_list(heur_dtbl_entry_t *own);

/* Disables those on the list. `gate` is written, and opens them again. Gates nest. */
void smcr_gate_close(smcr_gate_t *gate);
void smcr_gate_open(const smcr_gate_t *gate);

/* Whether the gate has disabled this heuristic, which the user has not. */
bool smcr_gate_keeps_out(const smcr_gate_t *gate, const heur_dtbl_entry_t *heuristic);
