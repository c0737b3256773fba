/* infiniband.h
 * Wireshark's InfiniBand dissector: the handles by which packets come to it, and the heuristics
 * that it offers payload to.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_INFINIBAND_H
#define SMCR_INFINIBAND_H

#include "compat.h"
#include "roce.h"

/* Puts `wrapper` in front of InfiniBand's handles, wherever they are now; `original` gets what they
 * are. By what the packet begins with. */
void smcr_infiniband_wrap(const dissector_handle_t wrapper[SMCR_ROCE_STARTS],
                          dissector_handle_t original[SMCR_ROCE_STARTS]);

/* The reverse. Both may be called while one of these handles is at work. */
void smcr_infiniband_unwrap(const dissector_handle_t wrapper[SMCR_ROCE_STARTS],
                            const dissector_handle_t original[SMCR_ROCE_STARTS]);

/* Lists the payload heuristics but our `own`. */
void smcr_infiniband_list_others(heur_dtbl_entry_t *own);

/* A gate that is closed: the heuristics that it keeps out. */
typedef struct {
    heur_dtbl_entry_t **kept_out;
    unsigned count;
} smcr_gate_t;

/* Keeps out those heuristics on the list that are enabled. Gates nest: an inner one keeps out what
 * has been enabled behind the outer one, and only that comes back when the inner one opens. `scope`
 * holds the gate until it opens. */
smcr_gate_t smcr_infiniband_close_gate(wmem_allocator_t *scope);

/* Lets in again what this gate keeps out. */
void smcr_infiniband_open_gate(const smcr_gate_t *gate);

#endif /* SMCR_INFINIBAND_H */
