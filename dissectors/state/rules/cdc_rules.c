/* cdc_rules.c
 * What CDC messages may say: cursors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cdc_rules.h"

#include "certain.h"

/* A message of a connection, with what its sender has said before. */
typedef struct {
    const smcr_arrival_t *arrival;
    const smcr_conn_side_t *sender, *receiver;
    const smcr_cdc_t *cdc;
    bool replayed; /* the connection has moved since: messages may come again (4.6.2) */
} said_t;

/* ---- cursors ---- */

static void
check_step(const said_t *said, const smcr_stream_t *stream, smcr_cursor_t before,
           smcr_cursor_t after, const char *which)
{
    bool back = stream->known && smcr_ring_distance(&stream->ring, before, after) < 0;

    if (back && said->sender->cdc_frame && !said->replayed)
        smcr_breach(said->arrival, SMCR_EVENT_CURSOR_BACKWARDS, smcr_doubt_message(said->arrival),
                    "The %s cursor is behind that of the message before", which);
}

/* No cursor goes back behind that of the message before. (R-A.4-9) */
static void
check_back(const said_t *said)
{
    check_step(said, &said->receiver->in, said->sender->prod, said->cdc->prod, "producer");
    check_step(said, &said->sender->in, said->sender->cons, said->cdc->cons, "consumer");
}

void
smcr_rules_cdc(const smcr_arrival_t *arrival, const smcr_conn_t *conn, const smcr_cdc_t *cdc)
{
    const smcr_conn_side_t *sender = &conn->side[!arrival->qp->side];
    said_t said = {
        .arrival = arrival,
        .sender = sender,
        .receiver = &conn->side[arrival->qp->side],
        .cdc = cdc,
        .replayed = sender->moved_frame > sender->cdc_frame,
    };

    check_back(&said);
}
