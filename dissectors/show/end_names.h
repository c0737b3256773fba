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

/* The two ends of a connection, by role (see smcr_endpoint_address()). */
typedef struct {
    address host[2];        /* of type AT_NONE: not known */
    const char *address[2]; /* the same as text; "": not known */
    const char *name[2];    /* "10.0.0.1:54558", "[fd00::1]:54558" of TCP. Where that is not known:
                               the address of its queue pair, as far as known, and which end of
                               which connection it is. The two differ */
} smcr_show_ends_t;

/* The texts live as long as `scope`, the addresses as long as the capture file. */
smcr_show_ends_t smcr_show_ends_of(wmem_allocator_t *scope, const smcr_conn_t *conn);

/* A link: "link 1 of group 0". Where its number or the group's is not known: "link index 3". Lives
 * as long as `scope`. */
const char *smcr_show_name_of_link(wmem_allocator_t *scope, const smcr_link_t *link);

/* Who sends a packet of the connection: 0 client, 1 server, as far as that is known; else side 0 or
 * 1. SMCR_LGR_SIDE_UNKNOWN: not known. */
int smcr_show_sender_role(const smcr_conn_t *conn, const smcr_record_t *record);

/* Whether somebody asks for a field of smcr_show_ends(). */
bool smcr_show_ends_are_wanted(proto_tree *tree);

/* Names and addresses of both ends, hidden, for filters. `sender`: a role, or
 * SMCR_LGR_SIDE_UNKNOWN. */
void smcr_show_ends(proto_tree *tree, const smcr_show_ends_t *ends, int sender);

/* The link's name, hidden, for filters. */
void smcr_show_link_name(packet_info *pinfo, proto_tree *tree, const smcr_link_t *link);

#endif /* SMCR_SHOW_END_NAMES_H */
