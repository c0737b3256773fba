/* Adds up the bytes that the end of a connection or of a link group costs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cost.h"

#include <stdio.h>

#include "state/model/store.h"

/* Number of bytes from the position `from` of a stream to the position `to`; 0 if `to` is not after
 * `from`. */
static uint64_t
bytes_between(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

/* Bytes are counted up to now: a later packet may still show them as read. */
smcr_cost_t
smcr_cost_of_direction(const smcr_conn_t *conn, int side)
{
    const smcr_stream_t *in = &conn->side[side].in;

    return (smcr_cost_t){
        .known = in->positions_known && smcr_evidence_is_current(conn, side),
        .reader_known = smcr_evidence_is_current(conn, !side),
        .unread = bytes_between(in->consumed, in->announced),
        .unannounced = bytes_between(in->announced, in->written),
    };
}

/* Adds the bytes of `cost` to `sum`. The sum is known only if `sum` and `cost` are both known. */
static void
add_cost(smcr_cost_t *sum, smcr_cost_t cost)
{
    sum->known &= cost.known;
    sum->unread += cost.unread;
    sum->unannounced += cost.unannounced;
}

/* Both directions are added, also of a connection that has ended. */
smcr_cost_t
smcr_cost_of_conn(const smcr_conn_t *conn)
{
    smcr_cost_t sum = {.known = true};

    sum.open_conns = !smcr_conn_side_has_ended(&conn->side[0]) &&
               !smcr_conn_side_has_ended(&conn->side[1]);
    for (int side = 0; side < 2; side++)
        add_cost(&sum, smcr_cost_of_direction(conn, side));
    return sum;
}

/* Connections that have closed are taken out of the list on the way. */
smcr_cost_t
smcr_cost_of_group(smcr_lgr_t *lgr)
{
    smcr_cost_t sum = {.known = true};
    smcr_conn_t *conn = smcr_conn_first_open(&lgr->newest_open_conn);

    for (; conn; conn = smcr_conn_first_open(&conn->older_open)) {
        smcr_cost_t cost = smcr_cost_of_conn(conn);
        if (conn->lgr != lgr || !cost.open_conns)
            continue;
        sum.open_conns++;
        add_cost(&sum, cost);
    }
    return sum;
}

/* A sentence never has "0 bytes": without a loss it ends after `what`. */
smcr_event_t *
smcr_cost_report(const smcr_arrival_t *arrival, smcr_event_id_t event, const char *what,
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

/* Counts the connections that no message has closed so far, also if their links are deleted. */
void
smcr_cost_report_group_end(const smcr_arrival_t *arrival, smcr_lgr_t *lgr)
{
    smcr_cost_t cost = smcr_cost_of_group(lgr);
    char what[64];

    if (!cost.open_conns)
        return;
    snprintf(what, sizeof what, "The link group ends with %u open connection%s", cost.open_conns,
               cost.open_conns == 1 ? "" : "s");
    smcr_cost_report(arrival, SMCR_EVENT_lgr_lost, what, &cost);
}
