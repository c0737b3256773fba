/* cost.c
 * What the end of a connection or of a link group costs. A connection that ends abnormally loses
 * what its reader has not read yet, and what its writer has not announced.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cost.h"

#include <stdio.h>

#include "state/evidence/evidence.h"

smcr_cost_t
smcr_cost_of_direction(const smcr_conn_t *conn, int side)
{
    const smcr_stream_t *in = &conn->side[side].in;

    return (smcr_cost_t){
        .known = in->known && smcr_evidence_is_current(conn, side),
        .reader_known = smcr_evidence_is_current(conn, !side),
        .unread = in->announced > in->consumed ? in->announced - in->consumed : 0,
        .unannounced = in->written > in->announced ? in->written - in->announced : 0,
    };
}

static void
add_cost(smcr_cost_t *sum, const smcr_cost_t *cost)
{
    sum->known &= cost->known;
    sum->unread += cost->unread;
    sum->unannounced += cost->unannounced;
}

smcr_cost_t
smcr_cost_of_conn(const smcr_conn_t *conn)
{
    smcr_cost_t sum = {.known = true};

    sum.open = !smcr_conn_side_has_ended(&conn->side[0]) &&
               !smcr_conn_side_has_ended(&conn->side[1]);
    for (int side = 0; side < 2; side++) {
        smcr_cost_t cost = smcr_cost_of_direction(conn, side);
        add_cost(&sum, &cost);
    }
    return sum;
}

smcr_cost_t
smcr_cost_of_group(smcr_lgr_t *lgr)
{
    smcr_cost_t sum = {.known = true};
    smcr_conn_t *conn = smcr_conn_open(&lgr->open);

    for (; conn; conn = smcr_conn_open(&conn->next_open)) {
        smcr_cost_t cost = smcr_cost_of_conn(conn);
        if (conn->lgr != lgr || !cost.open)
            continue;
        sum.open++;
        add_cost(&sum, &cost);
    }
    return sum;
}

smcr_event_t *
smcr_cost_tell(const smcr_arrival_t *arrival, smcr_event_id_t event, const char *what,
               const smcr_cost_t *cost)
{
    if (!smcr_cost_is_loss(cost))
        return smcr_event_add(arrival, event, "%s", what);
    return smcr_event_add(arrival, event,
                          "%s: %" G_GUINT64_FORMAT
                          " bytes announced and not reported as read so far, "
                          "%" G_GUINT64_FORMAT " written and not announced",
                          what, cost->unread, cost->unannounced);
}

void
smcr_cost_tell_end(const smcr_arrival_t *arrival, smcr_lgr_t *lgr)
{
    smcr_cost_t cost = smcr_cost_of_group(lgr);
    char what[64];

    if (!cost.open)
        return;
    snprintf(what, sizeof what, "The link group ends with %u open connection%s", cost.open,
               cost.open == 1 ? "" : "s");
    smcr_cost_tell(arrival, SMCR_EVENT_lgr_lost, what, &cost);
}
