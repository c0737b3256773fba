/* Frames that come before the CLC messages that announce them: TCP and RoCE, or the frames of the
 * two hosts, have times of clocks that differ. Included by clc_flow.c and llc_flow.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/evidence/evidence.h"

/* Notes in the link group that clocks differ, if the CLC message of this type shows it. `link`:
 * link that the message names. `conn`: connection of the message. `time`: time of the message,
 * nanoseconds since the epoch. (3.5.1) */
void smcr_state_early_judge(const smcr_conn_t *conn, smcr_link_t *link, uint8_t type,
                            uint64_t time);

/* Called when CONFIRM LINK has come on the link, so that its setup begins only now. If it is the
 * first link of its group, and a CLC message of a later contact has come before (`clocks_differ`),
 * this proves that clocks differ. Otherwise nothing changes. */
void smcr_state_early_begin(const smcr_arrival_t *arrival, smcr_link_t *link);

/* Reports once for the link group that its clocks differ (`clocks_proven`), with the message that
 * arrives. `lgr`: NULL changes nothing. */
void smcr_state_early_tell(const smcr_arrival_t *arrival, smcr_lgr_t *lgr);

/* If packets that came before the Accept were sent by the client on the link of the Confirm `clc`,
 * joins what they have shown with that link. `server`: queue pair of the server on this link. */
void smcr_state_early_confirm(const smcr_arrival_t *arrival, smcr_qp_t *server,
                              const smcr_clc_t *clc);

/* Returns the server's queue pair that the Accept `clc` of `conn` names, if earlier frames have
 * shown that link. There are two cases: 1. the Confirm came before the Accept; 2. packets of the
 * link came before the Accept of a first contact. The group of the link becomes that of the Accept,
 * and its clocks differ. NULL: no earlier frame proves that the Accept names the link. */
smcr_qp_t *smcr_state_early_server_qp(const smcr_arrival_t *arrival, smcr_conn_t *conn,
                                      const smcr_clc_t *clc);

/* Joins the connection that CDC messages to `qp` name by the token of `accept` with `conn`, if both
 * are one connection: the messages came before CLC announced the token. `accept`: contents of the
 * Accept or Confirm of `conn`, whose sender owns `qp`. Returns whether they were joined. */
bool smcr_state_early_join(const smcr_arrival_t *arrival, smcr_conn_t *conn, smcr_qp_t *qp,
                           const smcr_clc_accept_t *accept);
