/* Waits of programs on connections: which end a wait is about, and whether the host that made its
 * peer wait was waiting itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "finder.h"

/* Shortest wait that a user notices, nanoseconds: all waits of a writer, one stop of a reader, one
 * answer. */
#define SMCR_FINDING_LONG_WAIT (500 * SMCR_TIME_MILLISECOND)

/* Maximum number of slow readers, and of slow servers, that have a finding of their own. */
#define SMCR_FINDING_PROGRAMS_MOST 3

/* A wait of a host on another connection. It explains why a program of this host does nothing
 * meanwhile: a proxy does not answer before its server has answered the proxy, and does not read
 * before its client reads. All zeros: there is none. */
typedef struct {
    const smcr_entry_connection_t *conn; /* the other connection; the host is its writer */
    const smcr_entry_conn_wait_t *wait;  /* the wait: for an answer, or for space */
    bool to_server;                      /* direction that the host writes */
    uint64_t overlap;                    /* part of the explained wait, nanoseconds */
} smcr_finding_own_wait_t;

/* Returns the mean of a distribution; 0 if nothing was measured. */
uint64_t smcr_finding_wait_mean(const smcr_distribution_t *times);

/* Returns the longest wait of the writer of one direction, of one kind (space, answer, ...); NULL:
 * the writer had no such wait. */
const smcr_entry_conn_wait_t *smcr_finding_wait_longest(const smcr_entry_connection_t *conn,
                                                        bool to_server, smcr_figure_wait_t kind);

/* Appends beginning and end of the longest wait of one kind to the list: of the writer of one
 * direction. A frame that is not known is left out. */
void smcr_finding_wait_add(wmem_array_t *frames, const smcr_entry_connection_t *conn,
                           bool to_server, smcr_figure_wait_t kind);

/* Returns the time from the beginning of the wait to the last packet that proves that the wait
 * continues, nanoseconds; 0: not known. */
uint64_t smcr_finding_wait_proven(const smcr_entry_conn_open_wait_t *wait);

/* Returns the address of one end: that of TCP; if this is not captured, that of the first link of
 * the link group; NULL: neither is known. */
const char *smcr_finding_wait_address(const smcr_finder_t *finder,
                                      const smcr_entry_connection_t *conn, bool is_server);

/* Returns an end of the connection with its role: "server 10.0.0.2", or "the server" if the address
 * is not known. If it is not known who is the client: as smcr_words_end(). */
const char *smcr_finding_wait_program(const smcr_finder_t *finder,
                                      const smcr_entry_connection_t *conn, bool is_server);

/* Returns the size of a buffer as text. A size below 1 MiB that is a multiple of 1024 bytes is
 * written in whole KiB. */
const char *smcr_finding_wait_size(const smcr_finder_t *finder, uint64_t size);

/* Returns the size of the reader's receive buffer in one direction, bytes; SMCR_FIGURE_UNKNOWN: not
 * known. */
uint64_t smcr_finding_wait_buffer(const smcr_entry_connection_t *conn, bool to_server);

/* Returns " (64 KiB buffer)" for the reader's receive buffer; "" if its size is not known. */
const char *smcr_finding_wait_buffer_text(const smcr_finder_t *finder,
                                          const smcr_entry_connection_t *conn, bool to_server);

/* Returns "; 2 more directions with long waits" for 3 directions; "" if `count` is 0 or 1. */
const char *smcr_finding_wait_more(const smcr_finder_t *finder, uint32_t count);

/* Returns the wait of the host `host` on another connection than `conn` that explains the wait
 * `outer`, for which this host is responsible; all zeros: there is none. */
smcr_finding_own_wait_t smcr_finding_wait_own(const smcr_finder_t *finder,
                                              const smcr_entry_connection_t *conn,
                                              const char *host,
                                              const smcr_entry_conn_wait_t *outer);

/* Returns "; meanwhile 10.0.0.2 waited 5.00 s for an answer on 10.0.0.2:51000 → 10.0.0.9:5432
 * (frames 136 to 141)"; "" if the host did not wait itself. */
const char *smcr_finding_wait_own_text(const smcr_finder_t *finder,
                                       const smcr_finding_own_wait_t *own);

/* Returns text about the aborted connection whose program had read nothing for the longest time
 * when the connection was aborted: "; before that, the program of client 10.0.0.1 had read nothing
 * for 11.1 s (since frame 180)". Returns "" if there is no such connection, if the time is below
 * half a second (SMCR_FINDING_LONG_WAIT), or if an earlier stop of that program was longer. */
const char *smcr_finding_wait_stop_text(const smcr_finder_t *finder);
