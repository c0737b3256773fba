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

#endif /* SMCR_HOST_GATE_H */
