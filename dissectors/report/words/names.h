/* names.h
 * What a report calls connections, links and flows, and which display filter selects their frames.
 * All texts are of the scope.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_WORDS_NAMES_H
#define SMCR_REPORT_WORDS_NAMES_H

#include "report/figures/figures.h"

/* What the user has typed, made fit for a line of text: valid UTF-8 without control characters.
 * `text`: not NULL. What a peer says has been smcr_item_peer_text() before. */
const char *smcr_words_clean(wmem_allocator_t *scope, const char *text);

/* "10.0.0.1:46464", "[fd00::1]:46464", "?" where it is not known. */
const char *smcr_words_endpoint(wmem_allocator_t *scope, const smcr_entry_endpoint_t *endpoint);

/* "10.0.0.1:46464 → 10.0.0.2:8080"; "connection 3" where the addresses are not known. */
const char *smcr_words_connection(wmem_allocator_t *scope, const smcr_entry_connection_t *conn);

/* The same, from the writer to the reader: `to_server` or the other direction. */
const char *
smcr_words_direction(wmem_allocator_t *scope, const smcr_entry_connection_t *conn, bool to_server);

/* "smcr.stream == 3", "tcp.stream == 3". */
const char *
smcr_words_connection_filter(wmem_allocator_t *scope, const smcr_entry_connection_t *conn);

/* "link 2 of link group 0" */
const char *smcr_words_link(wmem_allocator_t *scope, const smcr_entry_link_group_t *group,
                            const smcr_entry_link_t *link);

#endif /* SMCR_REPORT_WORDS_NAMES_H */
