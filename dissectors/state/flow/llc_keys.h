/* llc_keys.h
 * What an LLC message is about, and what a response repeats of its request (RFC 7609 A.3;
 * net/smc/smc_llc.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_FLOW_LLC_KEYS_H
#define SMCR_STATE_FLOW_LLC_KEYS_H

#include "state/rules/links/links.h"
#include "state/rules/rules.h"
#include "wire/wire.h"

/* What the message to the queue pair is about. Its key is a number made of what a response repeats
 * of its request. Requests of a type that has no such thing have 0: they follow each other. */
smcr_topic_t smcr_llc_topic(const smcr_qp_t *qp, const smcr_llc_t *llc);

#endif /* SMCR_STATE_FLOW_LLC_KEYS_H */
