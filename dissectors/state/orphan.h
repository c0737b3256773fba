/* orphan.h
 * RDMA WRITE packets that come before anything that names their connection: on a queue pair that
 * nobody has announced yet, or without the first packet of their request. What is found out later
 * completes their place, so that a second pass shows them where they belong.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_ORPHAN_H
#define SMCR_STATE_ORPHAN_H

#include "packet.h"

/*
 * A WRITE packet on an unknown queue pair. Gives the record its place, to be completed when the
 * queue pair turns out to carry SMC-R. Returns false when it is no WRITE, or when this queue pair
 * has had so many packets that it will hardly be SMC-R.
 */
bool smcr_orphan_stranger(smcr_state_t *state, const smcr_roce_t *roce, smcr_when_t when,
                          smcr_packet_t *packet);

/* The queue pair of `end` has just become known: takes in the packets that came before. */
void smcr_orphan_adopt(smcr_state_t *state, smcr_end_t *end);

/* A MIDDLE or LAST packet whose FIRST has not come. */
void smcr_orphan_add(smcr_state_t *state, smcr_end_t *end, const smcr_roce_t *roce,
                     smcr_when_t when, smcr_place_t *place);

/* The request of some orphans has come: they find their places in it. */
void smcr_orphan_settle(smcr_state_t *state, smcr_end_t *end, const smcr_write_t *write);

/*
 * The CDC message with `psn` of a connection announces data up to `position` in `stream`, which
 * `end` receives: what came right before it, of a request whose FIRST is missing, ends there.
 */
void smcr_orphan_end(smcr_state_t *state, smcr_end_t *end, smcr_conn_t *conn,
                     smcr_stream_t *stream, uint32_t psn, uint64_t position);

#endif /* SMCR_STATE_ORPHAN_H */
