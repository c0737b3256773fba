/* Connections with the same trouble, which share one finding.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "finder.h"

/* A predicate: whether a connection has a certain property. */
typedef bool smcr_finding_property_t(const smcr_entry_connection_t *conn);

/* Whether the connection `conn` was closed in this way; whether it has this outcome. */
#define SMCR_FINDING_CLOSE(word) (conn->close == SMCR_FIGURE_CLOSE_##word)
#define SMCR_FINDING_OUTCOME(word) (conn->outcome == SMCR_FIGURE_OUTCOME_##word)

/* Defines the predicate is_<name>(): whether the connection `conn` has the property `condition`. */
#define SMCR_FINDING_IS(name, condition) \
    static bool is_##name(const smcr_entry_connection_t *conn) \
    { \
        return condition; \
    }

/* Connections with the same trouble. */
typedef struct {
    uint32_t count;                       /* number of connections */
    const smcr_entry_connection_t *first; /* the first of the connections in the order of the
                                             report; NULL: none */
    const char *streams;                  /* display filter of all these connections; NULL: there
                                             are none, or too many for one filter */
    wmem_array_t *frames;                 /* frames for the finding (smcr_finder_facts_t.frames) */
} smcr_finding_alike_t;

/* Returns the connections that have a property, with the first and the last frame of each. Their
 * display filter selects tcp.stream if it is known, so the filter also finds segments without
 * SMC-R. */
smcr_finding_alike_t smcr_finding_alike_gather(const smcr_finder_t *finder,
                                               smcr_finding_property_t *has_property);

/* Returns text about ICMP errors that quote packets between the hosts of the group's first
 * connection; "" if there are none. */
const char *smcr_finding_alike_icmp_text(const smcr_finder_t *finder,
                                         const smcr_finding_alike_t *group);

/* Returns the name of the group's first connection and, if there are others, their number. */
const char *smcr_finding_alike_text(const smcr_finder_t *finder, const smcr_finding_alike_t *group);

/* Returns the display filter `what`, limited to the connections of the group. If the group has too
 * many connections for one filter, returns `what` without a limit. */
const char *smcr_finding_alike_filter(const smcr_finder_t *finder,
                                      const smcr_finding_alike_t *group, const char *what);

/* Whether the TCP connection was refused: a SYN was answered with a reset (RST). */
static inline bool
smcr_finding_is_refused(const smcr_entry_connection_t *conn)
{
    return SMCR_FINDING_CLOSE(RESET) && SMCR_FINDING_OUTCOME(NO_CONNECTION);
}

/* Whether the sides of a connection that fell back without a Decline may not agree whether SMC-R is
 * in use: NOPs stand in the place of an option, or no side is known to have begun the fallback.
 * NULL: false. */
static inline bool
smcr_finding_are_at_odds(const smcr_entry_conn_fallback_t *fallback)
{
    return fallback && fallback->code == SMCR_FIGURE_UNKNOWN &&
           (fallback->syn_sign == SMCR_FIGURE_SIGN_NOPS || !fallback->by);
}

/* Whether the connection failed since its sides do not agree whether SMC-R is in use: the server's
 * host waits for CLC, gets none, and resets the connection; its program sends no data. */
static inline bool
smcr_finding_is_broken_by_option(const smcr_entry_connection_t *conn)
{
    bool is_reset = SMCR_FINDING_CLOSE(RESET) && conn->reset_by == SMCR_FIGURE_ROLE_SERVER;

    return SMCR_FINDING_OUTCOME(TCP) && smcr_finding_are_at_odds(conn->fallback) && is_reset &&
           conn->server_to_client.bytes == 0;
}
