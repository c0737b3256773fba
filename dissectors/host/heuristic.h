/* Our heuristics in Wireshark's lists, almost without cost for packets that they decline; and the
 * gate that keeps other heuristics out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* Adds a heuristic of protocol SMC-R to the list `table`; called once for each heuristic, after all
 * protocols have registered. The user sees both names, and enables or disables the heuristic by the
 * short one. Returns its entry in the list.
 *
 * `dissect` has to ask smcr_heuristic_enabled() itself. It passes the packets that it accepts to a
 * dissector handle, which makes its protocol a layer of the packet. */
heur_dtbl_entry_t *smcr_heuristic_add(const char *table, heur_dissector_t dissect,
                                      const char *display_name, const char *short_name);

/* Returns whether the user has disabled neither the heuristic nor SMC-R. */
bool smcr_heuristic_enabled(const heur_dtbl_entry_t *entry);

/* Gives the entry its protocol back until the packet has been dissected. Needed if the owner of the
 * list asks for the protocol of the heuristic that accepted the packet, as TCP does to export
 * PDUs. */
void smcr_heuristic_restore_protocol(heur_dtbl_entry_t *entry, const packet_info *pinfo);

/* The gate keeps other payload heuristics of InfiniBand out while a packet of ours is dissected.
 * Wireshark moves a heuristic that has matched to the front of its list. Without the gate, earlier
 * packets would decide which heuristic gets a packet. The gate is closed for one call only; the
 * user's settings are never changed. */

#define SMCR_GATE_MAX 256u /* largest number of heuristics that are kept out; any more stay
                              enabled */

/* A closed gate. */
typedef struct {
    heur_dtbl_entry_t *kept_out[SMCR_GATE_MAX]; /* the heuristics that the gate has disabled */
    unsigned count;                             /* number of `kept_out` */
} smcr_gate_t;

/* Lists the payload heuristics of InfiniBand except our `own`; called for each file. */
void smcr_gate_list(heur_dtbl_entry_t *own);

/* smcr_gate_close() disables the listed heuristics that the user has enabled, and writes them to
 * `gate`. smcr_gate_open() enables them again. Gates nest. */
void smcr_gate_close(smcr_gate_t *gate);
void smcr_gate_open(const smcr_gate_t *gate);

/* Returns whether the gate has disabled this heuristic. False: the user has disabled it, or it is
 * enabled. */
bool smcr_gate_keeps_out(const smcr_gate_t *gate, const heur_dtbl_entry_t *heuristic);
