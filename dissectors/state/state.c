/* state.c
 * Owns what the first pass learns, and finds queue pairs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "state.h"

#include <string.h>

struct smcr_state {
    wmem_allocator_t *scope;
    wmem_map_t *qps; /* smcr_qp_key_t -> smcr_qp_key_t */
};

static unsigned
qp_hash(const void *data)
{
    const smcr_qp_key_t *key = data;
    uint32_t tail;

    memcpy(&tail, key->gid + SMCR_GID_LENGTH - sizeof tail, sizeof tail);
    return (key->qpn * 2654435761U) ^ tail;
}

static gboolean
qp_equal(const void *one, const void *other)
{
    const smcr_qp_key_t *a = one;
    const smcr_qp_key_t *b = other;

    return a->qpn == b->qpn && memcmp(a->gid, b->gid, SMCR_GID_LENGTH) == 0;
}

smcr_state_t *
smcr_state_new(wmem_allocator_t *scope)
{
    smcr_state_t *state = wmem_new0(scope, smcr_state_t);

    state->scope = scope;
    state->qps = wmem_map_new(scope, qp_hash, qp_equal);
    return state;
}

void
smcr_state_learn_qp(smcr_state_t *state, const smcr_qp_key_t *key)
{
    if (smcr_state_knows_qp(state, key))
        return;
    smcr_qp_key_t *kept = wmem_new(state->scope, smcr_qp_key_t);
    *kept = *key;
    wmem_map_insert(state->qps, kept, kept);
}

bool
smcr_state_knows_qp(const smcr_state_t *state, const smcr_qp_key_t *key)
{
    return wmem_map_contains(state->qps, key);
}
