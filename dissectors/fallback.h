/* fallback.h
 * Why a connection went back to TCP, in words (RFC 7609 3.6, C).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FALLBACK_H
#define SMCR_FALLBACK_H

#include "compat.h"
#include "state/conn.h"
#include "state/messages.h"

/* First pass: this frame carries a Decline. Later ones change nothing. */
void smcr_fallback_declined(smcr_conn_t *conn, packet_info *pinfo, const smcr_clc_t *decline);

/* First pass: this frame carries bytes of the application on the TCP connection. */
void smcr_fallback_data(smcr_conn_t *conn, packet_info *pinfo);

#endif /* SMCR_FALLBACK_H */
