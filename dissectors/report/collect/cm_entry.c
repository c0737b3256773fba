/* Describes the RDMA-CM connection of a flow: its roles, and the states of its ends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "collectors.h"

/* Returns the RDMA-CM state of one end, as a word of smcr_figure_cm_state_words; 0: not known.
 * `side`: SMCR_CM_CLIENT or SMCR_CM_SERVER. */
static smcr_figure_cm_state_t
state_of(const smcr_cm_conn_t *conn, unsigned side)
{
    const smcr_cm_end_t *end = &conn->ends[side];

    return end->state_known ? SMCR_FIGURE_CM_STATE_KNOWN(end->state) : 0;
}

smcr_entry_flow_cm_t *
smcr_collect_cm_entry(const smcr_cm_conn_t *conn, wmem_allocator_t *scope)
{
    smcr_entry_flow_cm_t *entry = wmem_new(scope, smcr_entry_flow_cm_t);

    smcr_entry_clear(entry, &smcr_entry_flow_cm_description);
    if (conn->roles_known) {
        entry->client_state = state_of(conn, SMCR_CM_CLIENT);
        entry->server_state = state_of(conn, SMCR_CM_SERVER);
    }
    if (conn->service_known)
        entry->service_id = smcr_figure_hex_text(scope, conn->service_id, 8);
    if (conn->port_known)
        entry->port = conn->port;
    if (conn->rejected)
        entry->reject_reason = conn->reason;
    return entry;
}
