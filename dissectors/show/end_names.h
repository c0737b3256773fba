/* end_names.h
 * What the ends of connections and the links are called in Wireshark's Conversations and Endpoints,
 * and by the filters that are made there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_END_NAMES_H
#define SMCR_SHOW_END_NAMES_H

#include "compat.h"
#include "state/state.h"

/*
 * The end of a connection: "10.0.0.1:54558", "[fd00::1]:54558" of TCP. Where that is not known: the
 * address of its queue pair, as far as known, and which end of which connection it is. The two
 * names of a connection differ. `role`: as in smcr_endpoint_address(). Lives as long as `scope`.
 */
const char *smcr_end_name(wmem_allocator_t *scope, const smcr_conn_t *conn, unsigned role);

/* A link: "link 1 of group 0". Where its number or the group's is not known: "link index 3". Lives
 * as long as `scope`. */
const char *smcr_link_name(wmem_allocator_t *scope, const smcr_link_t *link);

/* Who sends a packet of the connection: 0 client, 1 server, as far as that is known; else side 0 or
 * 1. SMCR_SIDE_UNKNOWN: not known. */
int smcr_sender_role(const smcr_conn_t *conn, const smcr_record_t *record);

/* The names of both ends, hidden, for filters. `sender`: a role, or SMCR_SIDE_UNKNOWN. */
void smcr_show_end_names(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn, int sender);

/* The address of both ends, hidden, for filters. */
void smcr_show_host_addresses(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn);

/* The link's name, likewise. */
void smcr_show_link_name(packet_info *pinfo, proto_tree *tree, const smcr_link_t *link);

#endif /* SMCR_SHOW_END_NAMES_H */
