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

/* All that is known of one capture file. The heading of a group of members names the file that they
 * belong to. */
struct smcr_state {
    wmem_allocator_t *scope; /* lives as long as the capture file */
    uint32_t last_frame;     /* last frame from which something was learned: frames come in order */
    uint64_t last_time;      /* latest time of a packet with a record, nanoseconds since the
                                epoch */
    uint32_t interface;      /* interface of the first packet; see `has_interface` */
    bool has_interface;      /* `interface` is known */
    bool several_interfaces; /* packets have come from more than one interface */
    bool is_out_of_order;    /* a request has come after its acknowledgement */
    smcr_slab_t entries;     /* what smcr_state_alloc0() has allocated */
    /* record.c */
    smcr_slab_t records;     /* the packed records */
    uint32_t **pages;        /* slab numbers of records, by frame */
    uint32_t page_count;     /* of `pages` */
    struct smcr_event **events; /* by kind: the event that many packets share (smcr_event_add());
                                   NULL: none so far */
    wmem_map_t *buffered_payload; /* buffered payload that packets hand on; NULL: none so far */
    uint64_t buffered_bytes; /* bytes that are held, or that were handed on */
    /* link.c */
    uint32_t lgr_count;      /* link groups that have an index */
    uint32_t link_count;     /* links */
    wmem_list_t *lgrs;       /* smcr_lgr_t: the newest link groups that have an index */
    wmem_map_t *qps;         /* smcr_ib_qp_key_t -> smcr_qp_t: queue pairs that are known */
    bool base_uncertain;     /* an eyecatcher was seen: where CONFIRM LINK is missing, nobody knows
                                whether data lies after one */
    /* by link number: frame of the last DELETE LINK for a link that its group may not know;
     * entry 0: of the last one for all links; 0: none */
    uint32_t uncertain_deletions[256];
    wmem_list_t *half_known_links; /* smcr_link_t: links of which only one queue pair is known */
    /* rmb.c */
    GHashTable *rkeys;       /* smcr_rmb_rtoken_t, by the owner's queue pair and RKey */
    /* conn.c */
    uint32_t conn_count;       /* connections */
    GHashTable *tokens;        /* tokens of connections, by link group, side and token */
    GHashTable *conversations; /* smcr_conn_t, by TCP conversation */
    /* socket.c */
    struct smcr_sockets *sockets; /* what hosts have reported; NULL: nothing */
    /* ../flow/outcome.c */
    struct smcr_rdma *rdma;  /* RDMA traffic that is not SMC-R; NULL: none so far */
    wmem_array_t *cm_notes;  /* const smcr_record_cm_t *: the last one of each RDMA-CM connection,
                                by index; with `rdma` */
    /* ../flow/orphan.c */
    wmem_map_t *unknown_qps; /* smcr_ib_qp_key_t -> WRITE packets on queue pairs that are not
                                known */
    uint64_t full_unknown_qps[SMCR_STATE_FULL_UNKNOWN_QPS]; /* hashes of unknown queue pairs that
                                                               have had too many packets */
    /* ../senders.c */
    wmem_map_t *senders;     /* GID -> results of its ICRCs; NULL: none was checked */
};

typedef struct smcr_state smcr_state_t;

/* Memory for what is never freed by itself: an entry of `entries`, of `size` bytes. All zeros;
 * lives as long as the capture file. */
static inline void *
smcr_state_alloc0(smcr_state_t *state, size_t size)
{
    return smcr_slab_new(&state->entries, (size + 7) & ~(size_t)7);
}

/* What `*kept` points to. Where that is NULL, makes it: an entry of zeros. */
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
