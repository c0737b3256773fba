/* fallback.h
 * Why a connection went back to TCP, in words (RFC 7609 3.6, C).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_FALLBACK_H
#define SMCR_SHOW_FALLBACK_H

#include "compat.h"
#include "state/state.h"
#include "wire/wire.h"

/* The reason, a phrase that lives at least as long as `scope`. */
const char *smcr_show_fallback_reason(wmem_allocator_t *scope, const smcr_fallback_t *fallback);

/* In the frame that decides it: the reason below `tree`, and its expert item. */
void smcr_show_fallback(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn);

#endif /* SMCR_SHOW_FALLBACK_H */
