/* The content of packets, and packets that came after a PSN gap: they are deferred, which means
 * that their content waits until the receiver acknowledges them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "immediate_flow.h"

/* The content of a packet: an LLC message, a CDC message, or the bytes of a WRITE packet. So at
 * most one of `llc`, `cdc` and `place` is set, and the others are NULL. A WRITE packet may also
 * have a message in its immediate data. */
typedef struct {
    const smcr_llc_t *llc;         /* the LLC message; NULL: none */
    const smcr_cdc_t *cdc;         /* the CDC message; NULL: none */
    smcr_place_t *place;           /* place of the WRITE packet's bytes, which may be found
                                      later if the packet comes after a gap; NULL: no WRITE,
                                      or only the message in its immediate data counts */
    const smcr_ib_headers_t *roce; /* headers of the WRITE packet; NULL: no WRITE packet */
    smcr_conn_t *conn;             /* connection of `cdc` or `place`; NULL: not certain */
    bool requested;                /* `llc` is a response, and the capture has its request */
    smcr_state_immediate_t message; /* message in the immediate data of the WRITE packet */
} smcr_state_content_t;

/* Takes in the content of the packet if its receiver takes the packet in now. Keeps the content if
 * the packet comes after a PSN gap. Does nothing if the receiver discards the packet, or had taken
 * it in before. */
void smcr_state_take_in_or_defer(const smcr_arrival_t *arrival,
                               const smcr_state_content_t *content);

/* Takes in all deferred packets of the receiver `qp` whose PSN is less than `end`: the packet that
 * arrives proves that `qp` has taken them in. If this packet is an acknowledgement, the deferred
 * packets that it covers are marked as acknowledged in its frame. */
void smcr_state_take_in_deferred(const smcr_arrival_t *arrival, smcr_qp_t *qp, smcr_psn_t end);

/* Forgets the deferred packet with the PSN of the packet that arrives, if there is one: the
 * receiver has discarded it, and takes in the packet that arrives. Called after
 * smcr_state_take_in_deferred() for this PSN, so that no packet with a lower PSN is deferred. */
void smcr_state_drop_deferred(const smcr_arrival_t *arrival);
