/* dissector_state.h
 * The state of the capture file that Wireshark has open.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_DISSECTOR_STATE_H
#define SMCR_DISSECTOR_STATE_H

#include "compat.h"
#include "state/state.h"

/* Made anew for each file; changed in the first pass only. */
extern smcr_state_t *smcr_state;

/* Number and time of this frame, for the state. */
smcr_when_t smcr_when(const packet_info *pinfo);

/* Called once at start. */
void smcr_state_register(void);

#endif /* SMCR_DISSECTOR_STATE_H */
