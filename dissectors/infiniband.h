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
void smcr_infiniband_list_others(const heur_dtbl_entry_t *own);

/* Keeps those on the list out. Returns which of them were enabled, for the call that lets them in
 * again. */
uint64_t smcr_infiniband_close_gate(void);
void smcr_infiniband_open_gate(uint64_t were_enabled);

#endif /* SMCR_INFINIBAND_H */
