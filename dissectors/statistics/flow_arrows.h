/* flow_arrows.h
 * What the arrows of Wireshark's flow graph say.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "show/show.h"

/* All texts are of the scope. */

/* A label of 18 characters or less, and a sentence. NULL: there is nothing to say. */
typedef struct {
    const char *label, *sentence;
} smcr_arrow_text_t;

/* "The client", "The server"; "Side 0", "Side 1" where `knows_roles` is not set. */
const char *smcr_arrow_subject(bool knows_roles, unsigned role);

/* A segment of the handshake. */
smcr_arrow_text_t smcr_arrow_text_segment(wmem_allocator_t *scope,
                                          const smcr_tap_segment_t *segment);

/* A CLC message; `release`: of SMC version 2 that the link group has agreed on, -1: not known. */
smcr_arrow_text_t smcr_arrow_text_clc(wmem_allocator_t *scope, const smcr_clc_t *clc,
                                      bool from_server, int release);

/* An LLC message (RFC 7609 A.3) that `subject` sends, whose role is 0 (client), 1 (server) or
 * SMCR_LGR_SIDE_UNKNOWN. */
smcr_arrow_text_t smcr_arrow_text_llc(wmem_allocator_t *scope, const smcr_llc_t *llc,
                                      const char *subject, int role);

/* The connection goes back to TCP. */
smcr_arrow_text_t smcr_arrow_text_fallback(wmem_allocator_t *scope, const smcr_conn_t *conn);

/* An event of a packet. */
smcr_arrow_text_t smcr_arrow_text_event(wmem_allocator_t *scope, const smcr_event_t *event,
                                        const smcr_tap_t *packet, const char *subject);

/* The first packet of those that the sender sends again. */
smcr_arrow_text_t smcr_arrow_text_resent(wmem_allocator_t *scope, const smcr_record_t *record,
                                         const char *subject);
