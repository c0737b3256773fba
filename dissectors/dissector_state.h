/* dissector_state.h
 * The state of the capture file that Wireshark has open.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_DISSECTOR_STATE_H
#define SMCR_DISSECTOR_STATE_H

#include "state/state.h"

/* Made anew for each file; changed in the first pass only. */
extern smcr_state_t *smcr_state;

/* Called once at start. */
void smcr_state_register(void);

#endif /* SMCR_DISSECTOR_STATE_H */
