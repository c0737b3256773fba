/* links_checks.h
 * The checks of LLC messages, and what those of this room share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "links.h"
#include "links_memory.h"
#include "wire/wire.h"

/* What a check is given: its definition begins with SMCR_RULES_LLC(check). */
#define SMCR_RULES_LLC(check) void smcr_rules_##check(const smcr_exchange_message_t *message)
#define SMCR_RULES_LLC_CHECK(when, kind, types, check) SMCR_RULES_LLC(check);
#include "llc_checks.def"

#define SMCR_RULES_CLC_CHECK(when, types, check) SMCR_RULES_CLC(check);
#include "links_clc_checks.def"

/* ---- links ---- */

/* The maximum of links that both sides have agreed on; UINT_MAX: it is not known. */
unsigned smcr_rules_maximum(const smcr_lgr_t *lgr);

/* A response to CONFIRM LINK has confirmed a link. */
void smcr_rules_count(const smcr_arrival_t *arrival);

/* The client asks for a link, by ADD LINK. */
void smcr_rules_wish(const smcr_arrival_t *arrival, const smcr_llc_add_link_t *wish);

/* An RDMA WRITE or a CDC message arrives; its sender may wait for a response. Asked by
 * smcr_rules_use(). */
void smcr_rules_waits(const smcr_arrival_t *arrival);

/* ---- RMBs in use (RFC 7609 2.1, 3.5.2, 3.5.3, A.2.3) ---- */

/* A connection that uses the RMB for sure, as its owner has shown by a CDC message; NULL: there is
 * none. */
const smcr_conn_t *smcr_rules_rmb_user(const smcr_rmb_t *rmb);

/* The message that arrives gives the RKey of the entry to another RMB. `added`: as in
 * smcr_doubt_later_adding(). */
void smcr_rules_in_use(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry,
                       const smcr_link_t *added);

/* The owner of `qp` announces an RMB there, before that is learned. Returns whether it is a new
 * one. */
bool smcr_rules_new_rmb(const smcr_arrival_t *arrival, const smcr_qp_t *qp, uint32_t rkey,
                        uint64_t va);
