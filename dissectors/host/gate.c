/* gate.c
 * Disables the payload heuristics of InfiniBand, all but ours, for as long as the gate is closed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "gate.h"

/* Those that the gate keeps out, all but our own. Listed for each file, freed with Wireshark. */
static wmem_array_t *others; /* heur_dtbl_entry_t * */

static void
collect_other(const char *table _U_, heur_dtbl_entry_t *entry, void *own)
{
    if (entry != own && wmem_array_get_count(others) < SMCR_GATE_MAX)
        wmem_array_append_one(others, entry);
}

void
smcr_gate_list(heur_dtbl_entry_t *own)
{
    if (others)
        wmem_destroy_array(others);
    others = wmem_array_new(wmem_epan_scope(), sizeof(heur_dtbl_entry_t *));
    heur_dissector_table_foreach("infiniband.payload", collect_other, own);
}

void
smcr_gate_close(smcr_gate_t *gate)
{
    unsigned count = wmem_array_get_count(others);
    heur_dtbl_entry_t *const *entries = wmem_array_get_raw(others);

    gate->count = 0;
    for (unsigned i = 0; i < count; i++) {
        heur_dtbl_entry_t *entry = entries[i];
        if (!entry->enabled)
            continue;
        entry->enabled = false;
        gate->kept_out[gate->count++] = entry;
    }
}

void
smcr_gate_open(const smcr_gate_t *gate)
{
    for (unsigned i = 0; i < gate->count; i++)
        gate->kept_out[i]->enabled = true;
}

bool
smcr_gate_keeps_out(const smcr_gate_t *gate, const heur_dtbl_entry_t *heuristic)
{
    for (unsigned i = 0; i < gate->count; i++)
        if (gate->kept_out[i] == heuristic)
            return true;
    return false;
}
