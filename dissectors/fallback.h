/* fallback.h
 * Why a connection went back to TCP, in words (RFC 7609 3.6, C).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FALLBACK_H
#define SMCR_FALLBACK_H

#include "compat.h"
#include "state/conn.h"
#include "wire/messages.h"

/* First pass: this frame carries a Decline. Later ones change nothing. */
void smcr_fallback_declined(smcr_conn_t *conn, packet_info *pinfo, const smcr_clc_t *decline);

/* First pass: this frame carries bytes of the application on the TCP connection. */
void smcr_fallback_data(smcr_conn_t *conn, packet_info *pinfo);

/* First pass: this SYN-ACK answers a SYN with the option and has none itself. */
void smcr_fallback_no_option(smcr_conn_t *conn, packet_info *pinfo);

/* In the frame that decides it: the reason below `tree`, and its expert item. */
void smcr_fallback_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                        const smcr_conn_t *conn);

#endif /* SMCR_FALLBACK_H */
