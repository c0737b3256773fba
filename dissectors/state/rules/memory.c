/* memory.c
 * Makes what rules remember.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "memory.h"

#include "state/model/store.h"

smcr_rules_conn_t *
smcr_rules_conn(const smcr_arrival_t *arrival, smcr_conn_t *conn)
{
    return SMCR_RULES_MADE(arrival, &conn->rules);
}

smcr_rules_side_t *
smcr_rules_side(const smcr_arrival_t *arrival, smcr_conn_t *conn, int side)
{
    return SMCR_RULES_MADE(arrival, &smcr_rules_conn(arrival, conn)->side[side]);
}

smcr_rules_lgr_t *
smcr_rules_lgr(const smcr_arrival_t *arrival, smcr_lgr_t *lgr)
{
    return SMCR_RULES_MADE(arrival, &lgr->rules);
}

smcr_rules_rmb_t *
smcr_rules_rmb(const smcr_arrival_t *arrival, smcr_rmb_t *rmb)
{
    return SMCR_RULES_MADE(arrival, &smcr_rmb_rare(arrival->state, rmb)->rules);
}

const smcr_rules_goal_t *
smcr_rules_goal(const smcr_arrival_t *arrival, smcr_conn_t *conn, int side, bool announced,
                uint64_t end)
{
    smcr_rules_side_t *kept = smcr_rules_side(arrival, conn, side);
    smcr_rules_goal_t **goal = announced ? &kept->announced : &kept->consumed;

    if (!*goal || (*goal)->when) { /* else the first one will do */
        *goal = smcr_state_alloc0(arrival->state, sizeof **goal);
        (*goal)->end = end;
    }
    return *goal;
}
