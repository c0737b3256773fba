/* psn.h
 * Packet sequence numbers (InfiniBand Architecture Specification, volume 1, 9.7).
 *
 * PSNs have 24 bits and wrap. Everything that compares them counts in unwrapped numbers instead,
 * which never come again in a capture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_PSN_H
#define SMCR_FABRIC_PSN_H

#include <stdint.h>

#define SMCR_PSN_MASK 0xffffffU

/* A PSN that does not wrap: its low 24 bits are the PSN on the wire. 0 is none. */
typedef uint64_t smcr_psn_t;

/* How far `to` is ahead of `from`; negative when it is behind. 24-bit arithmetic. */
int32_t smcr_psn_distance(uint32_t from, uint32_t to);

/* The unwrapped number of the first PSN of a flow. */
smcr_psn_t smcr_psn_begin(uint32_t psn);

/* The unwrapped number of `psn` that is nearest to `from`. */
smcr_psn_t smcr_psn_near(smcr_psn_t from, uint32_t psn);

#endif /* SMCR_FABRIC_PSN_H */
