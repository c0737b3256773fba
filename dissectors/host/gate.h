/* gate.h
 * Keeps other payload heuristics of InfiniBand out while a packet of ours is dissected. Wireshark
 * moves a heuristic that matched to the front of its list, so who gets a packet would depend on
 * what came before. The gate is closed for one call only; the user's settings are never changed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_HOST_GATE_H
#define SMCR_HOST_GATE_H

#include "compat.h"

/* Which heuristics a closed gate has disabled. */
typedef struct {
    heur_dtbl_entry_t **kept_out;
    unsigned count;
} smcr_gate_t;

/* Lists the payload heuristics but our `own`. */
void smcr_gate_list(heur_dtbl_entry_t *own);

/* Disables those on the list. What this returns lives as long as `scope`, and opens the gate again.
 * Gates nest. */
smcr_gate_t smcr_gate_close(wmem_allocator_t *scope);
void smcr_gate_open(const smcr_gate_t *gate);

/* Whether the gate has disabled this heuristic, which the user has not. */
bool smcr_gate_keeps_out(const smcr_gate_t *gate, const heur_dtbl_entry_t *heuristic);

#endif /* SMCR_HOST_GATE_H */
