/* Remote memory buffers, and the RKeys and addresses by which they are written on each link
 * (RFC 7609 2.1, 4.2, A.3.3, A.3.5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "link.h"

#define SMCR_RMBS_MAX 255 /* maximum number of RMBs of one side of a link group (2.1) */

/* An RToken: the key of an RMB on one link, made of RKey and address. */
typedef struct smcr_rmb_rtoken {
    const smcr_qp_t *owner; /* queue pair of the RMB's owner, on the link on which the key is
                               valid */
    uint32_t rkey;          /* RKey, in host byte order */
    uint32_t next;          /* next key of this RMB, by its slab number (smcr_slab_entry()); 0:
                               none */
    smcr_rmb_t *rmb;        /* RMB that the key names */
    uint64_t va;            /* virtual address of the RMB's first byte */
    struct smcr_rmb_rtoken *before; /* earlier RToken for the same RKey on this link, which had
                                       another address when this one was made; NULL: none */
} smcr_rmb_rtoken_t;

/* Members of an RMB that are rarely set, allocated on demand. */
typedef struct {
    /* point at which the peer agreed to withdraw the RMB, in the flow from the owner to the peer;
     * no queue pair: the RMB is not withdrawn, or the request DELETE RKEY is missing */
    smcr_point_t deleted_at;
    struct smcr_element *elements; /* connections of all elements but the first; NULL: none */
    struct smcr_rules_rmb *rules;  /* what state/rules/ keeps of the RMB; NULL: nothing */
} smcr_rmb_rare_t;

/* A remote memory buffer: its owner receives data in it. */
struct smcr_rmb {
    smcr_lgr_t *lgr;            /* link group of the RMB's owner */
    smcr_rmb_t *older;          /* RMB that came into the group before this one; NULL: none */
    smcr_rmb_t *first;          /* oldest RMB object for the same memory: a further object may be
                                   made if the owner announces the RMB once more, without a
                                   withdrawal in between. The RMB itself if it is the oldest
                                   object */
    smcr_rmb_rtoken_t *rtokens; /* newest RToken of the RMB, valid or not; its `next` leads to the
                                   older ones; NULL: none */
    /* connection of element 1, which is the only element that Linux uses; NULL: not known */
    smcr_conn_t *first_element_conn;
    smcr_rmb_rare_t *more;      /* rarely set members; NULL: none */
    smcr_point_t valid_from;    /* point of the last packet before the RMB was announced, in the
                                   flow to the RMB's owner */
    bool address_invalid;       /* the announced address cannot be right; the first WRITE to the RMB
                                   will show the right address */
    bool address_guessed;       /* the address is inferred from one WRITE only */
    uint32_t element_size;      /* size of each element, with its eyecatcher, bytes; 0: not known */
    uint32_t confirm_frame;     /* frame of the first CONFIRM RKEY request, set in `first` only; 0:
                                   none */
    uint32_t delete_frame;      /* frame of the DELETE RKEY request, set in `first` only; 0: none,
                                   or the peer has refused it, or the RMB was announced once
                                   more since */
    uint32_t deleted_frame;     /* frame in which the peer agreed to withdraw the RMB; 0: not
                                   withdrawn */
    int8_t side;                /* side of the RMB's owner */
    bool superseded;            /* the object does not count any more: a new announcement has
                                   replaced it, or its inferred address was wrong */
    bool confirmed;             /* a CONFIRM RKEY has announced the RMB */
    bool confirm_agreed;        /* the peer has agreed to the CONFIRM RKEY */
};

/* The rarely set members of the RMB, for writing. The first call allocates them. */
smcr_rmb_rare_t *smcr_rmb_make_rare(smcr_state_t *state, smcr_rmb_t *rmb);

/* The newest RToken for `rkey` on the link of `owner`, a queue pair of the RMB's owner; NULL: there
 * is none. `rkey`: in host byte order, here and below. */
smcr_rmb_rtoken_t *smcr_rmb_find(const smcr_state_t *state, const smcr_qp_t *owner, uint32_t rkey);

/* The RMB that `rkey` names on the link of `owner`, if the RMB is alive and has the address `va`;
 * NULL: none. */
smcr_rmb_t *smcr_rmb_same(const smcr_state_t *state, const smcr_qp_t *owner, uint32_t rkey,
                          uint64_t va);

/* Notes that the host of the queue pair `owner` announces an RMB. Returns the RMB that `rkey` names
 * on the link of `owner`. Makes a new RMB in three cases: 1. `rkey` names no RMB; 2. it names an
 * RMB at another address than `va`; 3. that RMB is withdrawn or superseded. An RMB that is not new
 * is announced once more, so its peer has not agreed to an earlier DELETE RKEY (`delete_frame`).
 * `va`: virtual address of the RMB. */
smcr_rmb_t *smcr_rmb_announce(smcr_state_t *state, smcr_qp_t *owner, uint32_t rkey, uint64_t va);

/* Makes a new RMB, which `rkey` names on the link of `owner`. `va`: virtual address of the RMB. An
 * RMB that `rkey` has named there so far is superseded. */
smcr_rmb_t *smcr_rmb_renew(smcr_state_t *state, smcr_qp_t *owner, uint32_t rkey, uint64_t va);

/* Whether the RMB is alive: it was not withdrawn and not superseded. */
static inline bool
smcr_rmb_is_alive(const smcr_rmb_t *rmb)
{
    return !rmb->superseded && !rmb->deleted_frame;
}

/* Notes that the owner has withdrawn the RMB, and that the peer has agreed in this frame. */
void smcr_rmb_delete(smcr_rmb_t *rmb, uint32_t frame);

/* The RToken of the RMB on the link of `owner`; NULL: not known. */
const smcr_rmb_rtoken_t *smcr_rmb_rtoken(const smcr_rmb_t *rmb, const smcr_qp_t *owner);

/* The next older RToken of the same RMB; NULL: none. */
static inline const smcr_rmb_rtoken_t *
smcr_rmb_rtoken_next(const smcr_rmb_rtoken_t *entry)
{
    return entry->next ? smcr_slab_beside(entry, entry->next) : NULL;
}

/* The first connection that uses the RMB and for which `test` is true; NULL: there is none. */
const smcr_conn_t *smcr_rmb_find_conn(const smcr_rmb_t *rmb,
                                      bool (*test)(const smcr_conn_t *conn, const void *data),
                                      const void *data);

/* Adds an RToken to the RMB: RKey and address on the link of `owner`. If the RKey names this RMB
 * there already, only the address of the RToken is set. */
void smcr_rmb_add_rtoken(smcr_state_t *state, smcr_rmb_t *rmb, smcr_qp_t *owner, uint32_t rkey,
                         uint64_t va);

/* The connection that uses element `index` (1..255); NULL: none is known. */
smcr_conn_t *smcr_rmb_conn(const smcr_rmb_t *rmb, unsigned index);

/* Notes that the connection `conn` uses the element `index` (1..255); NULL: no connection uses it.
 * Any other `index` changes nothing. */
void smcr_rmb_set_conn(smcr_state_t *state, smcr_rmb_t *rmb, unsigned index, smcr_conn_t *conn);

/* Notes that no connection uses the elements of connections for which `test` is true. */
void smcr_rmb_forget_conns(smcr_rmb_t *rmb, bool (*test)(const smcr_conn_t *conn));

/* Takes RMBs whose life ended before `frame` out of the list of the group: they were withdrawn, or
 * the group has ended. `needed`: the set of smcr_rmb_t to which something points. These RMBs stay,
 * and so do their `first` RMBs, `claimed_rmb`, and all RMBs older than `claimed_rmb`; the function
 * adds all that stay to the set. Returns, of the RMBs that were taken out, the one that was
 * announced last; `older` leads to the others; NULL: none. */
smcr_rmb_t *smcr_rmb_take_ended(smcr_lgr_t *lgr, uint32_t frame, GHashTable *needed);

/* Frees the RMB, which smcr_rmb_take_ended() has taken out of its list, and its RTokens. Nobody may
 * point to it any more. */
void smcr_rmb_free(smcr_state_t *state, smcr_rmb_t *rmb);

/* Makes the table of RTokens (`rkeys` of smcr_state) for a new state. */
void smcr_rmb_table_new(smcr_state_t *state);
