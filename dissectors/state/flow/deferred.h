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
    smcr_place_t *place;           /* place of the WRITE packet's bytes, which may be found later if
                                      the packet comes after a PSN gap; NULL: no WRITE, or the
                                      position of its bytes is not known, or it has no bytes */
    const smcr_ib_headers_t *roce; /* headers of the WRITE packet; set with `place` */
    smcr_conn_t *conn;             /* connection of `cdc` or `place`; NULL: not certain */
    bool requested;                /* `llc` is a response, and the capture has a request that it may
                                      answer. Also true of any LLC message that was sent before */
    smcr_state_immediate_t message; /* message in the immediate data of the WRITE packet; its `conn`
                                       is NULL if there is no message */
} smcr_state_content_t;

/* Takes in the content of the packet if its receiver takes the packet in now. Keeps the content if
 * the packet comes after a PSN gap, unless too many packets are deferred. Does nothing if the
 * receiver discards the packet, or had taken it in before. */
void smcr_state_take_in_or_defer(const smcr_arrival_t *arrival,
                               const smcr_state_content_t *content);

/* Takes in the deferred packets of the receiver `qp` whose unwrapped PSN is less than `end`: the
 * packet that arrives proves that `qp` has taken them in. Of several packets with one PSN, one is
 * taken in. If the packet that arrives is an acknowledgement, the deferred packets that it covers
 * are marked as acknowledged in its frame. */
void smcr_state_take_in_deferred(const smcr_arrival_t *arrival, smcr_qp_t *qp, smcr_psn_t end);

/* Forgets the deferred packet with the PSN of the packet that arrives, if there is one: the
 * receiver has discarded it, and takes in the packet that arrives. Called after
 * smcr_state_take_in_deferred() for this PSN, so that no packet with a lower PSN is deferred. */
void smcr_state_drop_deferred(const smcr_arrival_t *arrival);
