/* Which connections have ended, of those that a collection has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "state/state.h"

/* Whether a connection has ended. */
typedef enum {
    SMCR_COLLECTION_OPEN = 0, /* it is open, or its end is too recent: late packets may come */
    SMCR_COLLECTION_ENDED,    /* it has ended */
    SMCR_COLLECTION_GIVEN_UP, /* its end is not captured, and no packet has come for long */
} smcr_collection_end_t;

/* How long a collection waits for packets of a connection. */
typedef struct {
    uint64_t now;  /* time of the current frame, nanoseconds since 1970 */
    uint32_t frame; /* number of the current frame: in a second pass the state also knows what
                       comes after it */
    uint64_t late; /* time for late packets after the end of a connection, nanoseconds */
    uint64_t idle; /* time without packets after which a connection is given up, nanoseconds */
} smcr_collection_patience_t;

/* What the entry of a connection does not have. */
typedef struct {
    const smcr_conn_t *conn; /* the connection, or the half of it that is known from RoCE */
    const char *interface;   /* interface that captured its first packet; NULL: not known */
    smcr_collection_end_t end; /* whether it has ended, is given up, or is open */
    int client;              /* side of the client in the link group; 0 if it is not known */
    bool is_part;            /* the figures lack earlier packets: the collection had given the
                                connection up, and let go of it */
    wmem_array_t *links;     /* links that carried it, each once, in the order of their first use;
                                element smcr_link_t * */
} smcr_collection_subject_t;
