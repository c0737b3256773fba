/* Names of connections and links that do not depend on the file: the same connection has the same
 * name in the files of a ring and at several capture points.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "report/collect/assembly/collection.h"

/* Fills in uid, uid_partial and community_id of a line with a connection. If other files may have a
 * part of the connection, also fills in `client_keys` and `server_keys`: GID, queue pair and alert
 * token of each side, as far as they are known. The line has `connection` and `ended`. `scope` owns
 * the texts. */
void smcr_lines_name_connection(smcr_entry_line_t *line, const smcr_collection_subject_t *subject,
                                wmem_allocator_t *scope);

/* Fills in uid, uid_partial and community_id of a line with a TCP connection. `is_up`: the client
 * sent the first captured segment of the connection, as far as is known. */
void smcr_lines_name_tcp(smcr_entry_line_t *line, bool is_up, wmem_allocator_t *scope);

/* Returns the name of a link, which is made of the GIDs and numbers of its two queue pairs. If one
 * of these is not known, sets `*is_partial`, which otherwise stays as it is. */
const char *smcr_lines_link_uid(wmem_allocator_t *scope, const smcr_entry_link_t *link,
                                bool *is_partial);
