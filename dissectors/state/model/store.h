/* Knows what is kept of one capture file: link groups, links, queue pairs, RMBs, connections, byte
 * streams, records. Does not know the changes and breaches that a message causes. Most rooms above
 * state/ include state.h, and read the state through it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

/* A heading in the struct smcr_state names the file or the room to whose subject the members after
 * the heading belong. */

#pragma once

#include <wsutil/ws_assert.h>

#include "fabric/fabric.h"

#define SMCR_STATE_FULL_UNKNOWN_QPS 256

/* All that is known of one capture file. */
struct smcr_state {
    wmem_allocator_t *scope; /* memory that lives as long as the capture file */
    uint32_t last_frame;     /* last frame from which something was learned; frames come in order */
    uint64_t last_time;      /* latest time of a packet with a record, nanoseconds since the
                                epoch */
    uint32_t interface;      /* number of the interface of the last learned packet; see
                                `has_interface` */
    bool has_interface;      /* `interface` is known */
    bool several_interfaces; /* packets have come from more than one interface */
    uint32_t captured_late;  /* number of requests that came in the order of PSNs, but long after
                                their acknowledgement (../flow/packet_flow.c) */
    smcr_when_t disordered;  /* first request that is captured after its acknowledgement; frame 0:
                                there is none */
    uint64_t disorder_most;  /* how long after its acknowledgement a request was captured at most,
                                nanoseconds */
    uint64_t disorder_widest; /* how far the time of such a request is from that of its
                                 acknowledgement at most, nanoseconds; it is earlier only in a file
                                 that is not sorted */
    bool has_trouble;        /* a packet of a link had a wrong ICRC, or was retransmitted: later
                                packets may be damaged, so their ICRC is checked
                                (smcr_state_packet_is_doubtful()) */
    bool is_out_of_order;    /* the capture is out of order: a request has come after its own
                                acknowledgement, or a tap has shown messages or data out of order */
    smcr_slab_t entries;     /* entries that smcr_state_alloc0() has made */
    /* record.c */
    smcr_slab_t records;     /* the packed records */
    uint32_t **pages;        /* table by frame: slab numbers of the records (record.c) */
    uint32_t page_count;     /* number of `pages` */
    uint32_t first_page;     /* index of the first page that is not forgotten */
    struct smcr_event **events; /* shared events, by kind of event (smcr_event_add()); NULL: none so
                                   far */
    wmem_map_t *buffered_payload; /* held bytes of WRITE packets (struct smcr_held), by frame and
                                     layer of the packet that hands the bytes on to the
                                     application's dissectors; NULL: none so far */
    uint64_t buffered_bytes; /* number of bytes that are copied for smcr_held_t, and neither handed
                                on nor dropped */
    wmem_list_t *released_payload; /* smcr_held_t: packets whose copied bytes are not needed after
                                      `handed_on_frame` (smcr_held_release()); NULL: none so far */
    wmem_map_t *forgotten_parts; /* smcr_conn_t -> what its forgotten records pointed to (record.c);
                                    NULL: none so far */
    /* link.c */
    uint32_t lgr_count;      /* index that the next link group gets */
    uint32_t link_count;     /* number of links that were made so far */
    uint32_t tapped_qps;     /* number of queue pairs that were made for connections of a tap
                                (state/flow/tapped/tapped.c) */
    wmem_list_t *lgrs;       /* smcr_lgr_t: link groups that have an index, oldest first; of more
                                than LGRS_MAX (link.c) only the newest ones */
    wmem_map_t *qps;         /* smcr_ib_qp_key_t -> smcr_qp_t: known queue pairs */
    bool base_uncertain;     /* an RMB element somewhere in the capture has, or may have, an
                                eyecatcher before its data. So data of other elements is not assumed
                                to begin at offset 0 */
    /* by link number: last frame with a DELETE LINK which may mean a link that the state does not
     * know as one of the message's group; 0: none. Entry 0: the DELETE LINK is for all links, or
     * its content was not taken in */
    uint32_t uncertain_deletions[256];
    wmem_list_t *deleted_links; /* smcr_link_t: deleted links whose history is still in memory
                                   (state/flow/release.c) */
    wmem_list_t *half_known_links; /* smcr_link_t: links of which only one queue pair was known when
                                      they were made; the newest ones, at most HALF_KNOWN_MAX
                                      (link.c) */
    /* rmb.c */
    GHashTable *rkeys;       /* smcr_rmb_rtoken_t, by queue pair of the owner and RKey */
    /* conn.c */
    uint32_t conn_count;       /* number of connections */
    GHashTable *tokens;        /* connections, by link group, side and token */
    GHashTable *conversations; /* smcr_conn_t, by TCP conversation */
    /* socket.c */
    struct smcr_sockets *sockets; /* what hosts have reported; NULL: no report so far */
    /* state/flow/outcome.c */
    struct smcr_rdma *rdma;  /* RDMA traffic that is not SMC-R; NULL: none so far */
    wmem_array_t *cm_notes;  /* const smcr_record_cm_t *: last verdict of each RDMA-CM connection,
                                by its index; allocated together with `rdma` */
    /* state/flow/writes/orphan.c */
    wmem_map_t *unknown_qps; /* smcr_ib_qp_key_t -> WRITE packets that have come to a queue pair
                                which no message has announced */
    uint64_t full_unknown_qps[SMCR_STATE_FULL_UNKNOWN_QPS]; /* numbers of unknown queue pairs whose
                                                               further packets are not kept
                                                               (full_qp_key()); 0: entry not used */
    /* points/ */
    struct smcr_points *points; /* packets at several capture points; NULL: only one point is known
                                   so far, or the preference `points` turns them off */
    /* state/state.c */
    wmem_map_t *senders;     /* address of a sender, interface and kind of checksum -> how many of
                                its checksums are right and wrong; NULL: none was counted */
    wmem_map_t *damage;      /* Wireshark's TCP conversation -> smcr_state_damage_t; NULL: no
                                segment is known to be damaged, or may be */
};

typedef struct smcr_state smcr_state_t;

/* Memory of `size` bytes for an object: an entry of `entries`. All zeros; lives as long as the
 * capture file, or until smcr_state_free(). */
static inline void *
smcr_state_alloc0(smcr_state_t *state, size_t size)
{
    return smcr_slab_new(&state->entries, (size + 7) & ~(size_t)7);
}

/* Frees the memory of an object that smcr_state_alloc0() has made with this size. Nobody may have a
 * pointer to the object, or its number, any more. NULL changes nothing. */
static inline void
smcr_state_free(smcr_state_t *state, void *object, size_t size)
{
    if (object)
        smcr_slab_free(&state->entries, object, (size + 7) & ~(size_t)7);
}

/* The object that `*kept` points to. If `*kept` is NULL, makes the object first: an entry of
 * zeros. */
#define SMCR_STATE_MADE(state, kept) \
    (*(kept) ? *(kept) : (*(kept) = smcr_state_alloc0(state, sizeof **(kept))))

/* Notes that the state learns from `frame`. Asserts that frames come in order, which is so in the
 * first pass only. */
static inline void
smcr_state_learns(smcr_state_t *state, uint32_t frame)
{
    ws_assert(frame >= state->last_frame);
    state->last_frame = frame;
}
