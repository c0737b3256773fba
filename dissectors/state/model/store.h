/* Knows what is kept of one capture file: link groups, links, queue pairs, RMBs, connections, byte
 * streams, records. Knows neither what a message changes nor what is right. Only the rooms of
 * state/ and show/ include it; a member belongs to the file named beside it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wsutil/ws_assert.h>

#include "fabric/fabric.h"

#define SMCR_STATE_FULL_UNKNOWN_QPS 256

struct smcr_state {
    wmem_allocator_t *scope;
    uint32_t last_frame; /* from which something was learned: frames come in order */
    uint64_t last_time;  /* of the latest packet that has a record, nanoseconds since the epoch */
    uint32_t interface;  /* from which the first packet came */
    bool has_interface, several_interfaces;
    bool is_disordered; /* a request has come behind its acknowledgement */
    smcr_slab_t entries; /* what smcr_state_alloc0() has allocated */
    /* record.c */
    smcr_slab_t records;
    uint32_t **pages; /* numbers of records by frame */
    uint32_t page_count;
    struct smcr_event **events; /* by kind: see smcr_event_add(); NULL: there have been none */
    wmem_map_t *held;    /* what packets hand on; NULL: nothing so far */
    uint64_t held_bytes; /* that are held, or were handed on */
    /* link.c */
    uint32_t lgr_count, link_count;
    wmem_list_t *lgrs;       /* smcr_lgr_t that have an index, the last ones */
    wmem_map_t *qps;         /* smcr_ib_qp_key_t -> smcr_qp_t */
    bool base_doubtful;      /* without CONFIRM LINK data may lie behind an eyecatcher */
    uint32_t deletions[256]; /* by link number: frame of the last DELETE LINK whose group may lack
                                the link; 0: of the last one for all links */
    wmem_list_t *half_known; /* smcr_link_t: one of the two queue pairs is not known yet */
    /* rmb.c */
    GHashTable *rkeys; /* smcr_rmb_rtoken_t, by the owner's queue pair and RKey */
    /* conn.c */
    uint32_t conn_count;
    GHashTable *tokens;        /* of connections, by link group, side and token */
    GHashTable *conversations; /* smcr_conn_t, by conversation */
    /* socket.c */
    struct smcr_sockets *sockets; /* that hosts have told of; NULL: none */
    /* outcome.c */
    struct smcr_rdma *rdma;   /* NULL: nobody has asked */
    wmem_array_t *cm_notes;   /* const smcr_record_cm_t *: of each connection the last, by index */
    /* orphan.c */
    wmem_map_t *unknown_qps; /* smcr_ib_qp_key_t -> WRITE packets on unknown queue pairs */
    uint64_t full_unknown_qps[SMCR_STATE_FULL_UNKNOWN_QPS]; /* some that are full */
    /* ../senders.c */
    wmem_map_t *senders; /* GID -> what its ICRCs were; NULL: none has been checked */
};

typedef struct smcr_state smcr_state_t;

/* Memory for what is never freed by itself: an entry of `entries`, of `size` bytes. All zeros;
 * lives as long as the capture file. */
static inline void *
smcr_state_alloc0(smcr_state_t *state, size_t size)
{
    return smcr_slab_new(&state->entries, (size + 7) & ~(size_t)7);
}

/* What `*kept` points to; such an entry, made where that is NULL. */
#define SMCR_STATE_MADE(state, kept) \
    (*(kept) ? *(kept) : (*(kept) = smcr_state_alloc0(state, sizeof **(kept))))

/* Called by whatever changes the state, with the number of the frame that it learns from: asserts
 * that this is the first pass, in which frames come in order. */
static inline void
smcr_state_learns(smcr_state_t *state, uint32_t frame)
{
    ws_assert(frame >= state->last_frame);
    state->last_frame = frame;
}
