/* join.h
 * What turns out to be one: two links of which a late capture has shown one queue pair each, and
 * two directions of a connection. Records of before lead to what they are now.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "conn.h"

/* Two directions of a late connection of a group are one: `other` is the direction that goes to
 * `side`, and means `conn` from now on. */
void smcr_join_directions(smcr_state_t *state, smcr_conn_t *conn, smcr_conn_t *other, int side);

/* A message, or an acknowledgement, names the queue pair of `link` that is not known. Where that is
 * known of another link which began before the capture, and nothing else of it is, both links are
 * one; so are their groups. */
void smcr_join_links(smcr_state_t *state, smcr_link_t *link, const smcr_ib_qp_key_t *key);
