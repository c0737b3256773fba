/* llc_keys.h
 * What an LLC response repeats of its request (RFC 7609 A.3; net/smc/smc_llc.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_FLOW_LLC_KEYS_H
#define SMCR_STATE_FLOW_LLC_KEYS_H

#include "wire/wire.h"

/* What a response repeats of its request, or a request gives to repeat, as a number. Requests of a
 * type that has no such thing have 0: they follow each other. */
uint32_t smcr_llc_key(const smcr_llc_t *llc);

#endif /* SMCR_STATE_FLOW_LLC_KEYS_H */
