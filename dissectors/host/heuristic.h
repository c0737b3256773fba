/* Adds the plugin's heuristics to Wireshark's lists, so that packets that they decline cost little
 * time. Also has the gate, which keeps other heuristics from packets of SMC-R.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* Adds a heuristic of protocol SMC-R to the list `table`. Called once for each heuristic, after all
 * protocols have registered. The user enables or disables the heuristic by `short_name`; Wireshark
 * shows both names. Returns the heuristic's entry in the list.
 *
 * `dissect` has to call smcr_heuristic_enabled() itself. `dissect` passes the packets that it
 * accepts to a dissector handle, so that the protocol of the handle becomes a layer of the
 * packet. */
heur_dtbl_entry_t *smcr_heuristic_add(const char *table, heur_dissector_t dissect,
                                      const char *display_name, const char *short_name);

/* Returns true if the heuristic and the protocol SMC-R are both enabled by the user. */
bool smcr_heuristic_enabled(const heur_dtbl_entry_t *entry);

/* Sets the protocol of the entry until the packet has been dissected. While a file is open, the
 * heuristics of the plugin have no protocol, which saves time. But TCP needs the protocol of the
 * heuristic that has accepted a packet, to export PDUs. */
void smcr_heuristic_restore_protocol(heur_dtbl_entry_t *entry, const packet_info *pinfo);

/* The gate disables all other payload heuristics of InfiniBand while InfiniBand's dissector
 * dissects a packet of SMC-R. Wireshark moves a heuristic that has accepted a packet to the front
 * of its list, so without the gate the heuristic that gets a packet would depend on earlier
 * packets. The gate is closed during one call of InfiniBand's dissector, and opened after it, so
 * the user's settings do not change. */

#define SMCR_GATE_MAX 256u /* highest number of heuristics that the gate disables; if the list has
                              more, the others stay enabled */

/* A closed gate. */
typedef struct {
    heur_dtbl_entry_t *kept_out[SMCR_GATE_MAX]; /* the heuristics that the gate has disabled */
    unsigned count;                             /* number of entries used in `kept_out` */
} smcr_gate_t;

/* Makes the list of InfiniBand's payload heuristics that a gate disables: all except `own`, the
 * plugin's heuristic. Each call makes the list anew. */
void smcr_gate_list(heur_dtbl_entry_t *own);

/* smcr_gate_close() disables the listed heuristics that the user has enabled, and writes them to
 * `gate`. smcr_gate_open() enables them again. Gates nest. */
void smcr_gate_close(smcr_gate_t *gate);
void smcr_gate_open(const smcr_gate_t *gate);

/* Returns whether the gate has disabled this heuristic. Returns false if the heuristic is enabled,
 * or if the user has disabled it. */
bool smcr_gate_keeps_out(const smcr_gate_t *gate, const heur_dtbl_entry_t *heuristic);
