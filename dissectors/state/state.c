/* state.c
 * Begins and ends the state of a capture file.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "state.h"

#include "state/model/store.h"

smcr_state_t *
smcr_state_new(wmem_allocator_t *scope)
{
    smcr_state_t *state = wmem_new0(scope, smcr_state_t);

    state->scope = state->entries.scope = state->records.scope = scope;
    state->lgrs = wmem_list_new(scope);
    state->half_known = wmem_list_new(scope);
    state->qps = smcr_qp_map_new(scope);
    state->unknown_qps = smcr_qp_map_new(scope);
    smcr_rmb_start(state);
    smcr_conn_start(state);
    return state;
}

void
smcr_state_place(smcr_state_t *state, uint32_t interface)
{
    state->several_interfaces |= state->has_interface && state->interface != interface;
    state->has_interface = true;
    state->interface = interface;
}

void
smcr_state_free(smcr_state_t *state)
{
    smcr_rmb_end(state);
    smcr_conn_end(state);
    if (state->rdma)
        smcr_rdma_free(state->rdma);
}
