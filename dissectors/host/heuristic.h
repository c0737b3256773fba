/* Our heuristics in Wireshark's lists, almost without cost for the packets that they decline; and
 * the gate that keeps other heuristics out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* Adds a heuristic of protocol SMC-R to the list `table`; called once for each, after all protocols
 * have registered. The user sees both names, and turns the heuristic on and off by the short one.
 * Returns its entry in the list.
 *
 * `dissect` has to ask smcr_heuristic_enabled() itself. It hands the packets that it does not
 * decline to a dissector handle, which makes its protocol a layer of the packet. */
heur_dtbl_entry_t *smcr_heuristic_add(const char *table, heur_dissector_t dissect,
                                      const char *display_name, const char *short_name);

/* Returns whether the user has disabled neither the heuristic nor SMC-R. */
bool smcr_heuristic_enabled(const heur_dtbl_entry_t *entry);

/* Gives the entry its protocol back until the packet has been dissected. For lists whose owner
 * needs the protocol of the heuristic that took the packet, as TCP does to export PDUs. */
void smcr_heuristic_restore_protocol(heur_dtbl_entry_t *entry, const packet_info *pinfo);

/* ---- the gate ----
 *
 * Keeps other payload heuristics of InfiniBand out while a packet of ours is dissected. Wireshark
 * moves a heuristic that matched to the front of its list, so who gets a packet would depend on
 * what came before. The gate is closed for one call only; the user's settings are never changed. */

#define SMCR_GATE_MAX 256u /* heuristics on the list; any more stay enabled */

/* A closed gate. */
typedef struct {
    heur_dtbl_entry_t *kept_out[SMCR_GATE_MAX]; /* the heuristics that it has disabled */
    unsigned count;                             /* of these */
} smcr_gate_t;

/* Lists the payload heuristics of InfiniBand except our `own`; called for each file. */
void smcr_gate_list(heur_dtbl_entry_t *own);

/* Disables the listed heuristics that the user has enabled, and writes them to `gate`; then enables
 * them again. Gates nest. */
void smcr_gate_close(smcr_gate_t *gate);
void smcr_gate_open(const smcr_gate_t *gate);

/* Returns whether the gate has disabled this heuristic. False: the user has, or nobody. */
bool smcr_gate_keeps_out(const smcr_gate_t *gate, const heur_dtbl_entry_t *heuristic);
