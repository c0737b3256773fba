/* state.c
 * Owns what the first pass learns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "state_private.h"

#include <stdarg.h>
#include <string.h>

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
    state->lgrs = wmem_list_new(scope);
    state->ends = wmem_map_new(scope, qp_hash, qp_equal);
    state->rkeys = g_hash_table_new(smcr_rkey_hash, smcr_rkey_equal);
    state->tokens = g_hash_table_new(smcr_token_hash, smcr_token_equal);
    state->conversations = g_hash_table_new(smcr_conversation_hash, smcr_conversation_equal);
    state->strangers = wmem_map_new(scope, qp_hash, qp_equal);
    state->half_known = wmem_list_new(scope);
    return state;
}

void
smcr_state_free(smcr_state_t *state)
{
    g_hash_table_destroy(state->rkeys);
    g_hash_table_destroy(state->tokens);
    g_hash_table_destroy(state->conversations);
}

void
smcr_event_add(smcr_state_t *state, smcr_packet_t *packet, smcr_event_id_t id,
               const char *format, ...)
{
    smcr_event_t *event = smcr_state_alloc0(state, sizeof(smcr_event_t));
    smcr_event_t **last = &packet->events;

    event->id = id;
    if (format) {
        va_list arguments;
        va_start(arguments, format);
        event->text = wmem_strdup_vprintf(state->scope, format, arguments);
        va_end(arguments);
    }
    while (*last)
        last = &(*last)->next;
    *last = event;
}
