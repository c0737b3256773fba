/* Knows how the connections of SMC-R become entries of a report: what each has carried, how it
 * began and ended, and where its time went. Does not know which entries are bad, nor what other
 * collectors count. Called by report/collect/assembly/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/collect/collectors.h"

/* Prepares an empty collection. */
void smcr_collect_connections_begin(smcr_collect_t *collection);

/* Counts a packet or message in the figures of its connection. A packet without connection may be a
 * step of a first contact. */
void smcr_collect_connections_take(smcr_collect_t *collection, smcr_when_t when,
                                   const smcr_tap_t *packet);

/* Returns the last packet before the sequence gap that ends with the packet of `record`: of the
 * earlier packets of its sender on its link, the one with the highest PSN. Frame 0: none is
 * captured. `record`: that of the last packet given to smcr_collect_connections_take(); packets are
 * missing before it on its link. */
smcr_when_t smcr_collect_connections_gap_begin(const smcr_collect_t *collection,
                                               const smcr_record_t *record);

/* Adds an entry for each connection to `list`, in the order of their indices. `only_over`: only for
 * those that have ended or are given up (smcr_collect_connections_find_over()). Memory is allocated
 * in `scope`. */
void smcr_collect_connections_report(smcr_collect_t *collection, bool only_over,
                                     smcr_figure_list_t *list, wmem_allocator_t *scope);

/* Returns the longest time for which RoCE packets of a connection certainly went on after the RST
 * of its TCP connection, nanoseconds; 0: none did. The receiver has acknowledged packets of the
 * link up to then, so a host that retransmits to a dead peer does not count. */
uint64_t smcr_collect_connections_after_reset(const smcr_collect_t *collection);

/* Makes the figures of a connection that a TCP segment shows, unless the collection has them, or
 * has let go of the connection after its end. */
void smcr_collect_connections_take_segment(smcr_collect_t *collection, const smcr_conn_t *conn);

/* Finds out which connections, of SMC-R and of TCP, have ended or are given up. Returns whether
 * there is one. */
bool smcr_collect_connections_find_over(smcr_collect_t *collection,
                                        const smcr_collection_patience_t *patience);

/* Lets go of the connections that the last smcr_collect_connections_find_over() has found, of SMC-R
 * and of TCP. */
void smcr_collect_connections_let_go(smcr_collect_t *collection);

/* Frees the memory of all connections that have a pool of their own. */
void smcr_collect_connections_free(smcr_collect_t *collection);
