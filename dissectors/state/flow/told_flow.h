/* What hosts tell over netlink.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "state/model/record.h"

/* ---- what hosts tell over netlink (<linux/smc_diag.h>, <linux/smc.h>) ---- */

/* The connection that has fallen back, as its host tells, is that of the same TCP connection which
 * CLC has made `known`. */
void smcr_state_told_fallback(smcr_conn_t *conn, smcr_conn_t *known);

/* A host tells of a socket, a link group or a link, or ends its dump. */
void smcr_state_told(const smcr_arrival_t *arrival, const smcr_told_t *told);
