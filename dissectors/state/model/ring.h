/* ring.h
 * An RMB element as a ring: offsets and cursors to positions in the byte stream, which never
 * wrap (RFC 7609 4.5, A.4; net/smc/smc_cdc.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_MODEL_RING_H
#define SMCR_STATE_MODEL_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

typedef struct {
    uint32_t size; /* bytes of the element; 0: not known */
    uint32_t base; /* offset of its first byte of data: 0, or 4 behind an eyecatcher */
} smcr_ring_t;

/* Bytes that the ring holds; 0 when its size is not known. */
uint32_t smcr_ring_room(const smcr_ring_t *ring);

/* How far `to` is ahead of `from`, in bytes; negative when it is behind. Wrap counts that differ
 * by more than half their range count as behind. */
int64_t smcr_ring_distance(const smcr_ring_t *ring, smcr_cursor_t from, smcr_cursor_t to);

/* The first position that is not before `position` and lies at `offset` of the element. */
uint64_t smcr_ring_next(const smcr_ring_t *ring, uint64_t position, uint32_t offset);

#endif /* SMCR_STATE_MODEL_RING_H */
