/* Remote memory buffers, and the RKeys and addresses by which they are written on each link
 * (RFC 7609 2.1, 4.2, A.3.3, A.3.5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "link.h"

#define SMCR_RMBS_MAX 255 /* RMBs of one side of a link group (2.1) */

/* The key of an RMB on one link: RKey and address (RToken). */
typedef struct smcr_rmb_rtoken {
    const smcr_qp_t *owner; /* queue pair of the RMB's owner on that link */
    uint32_t rkey;          /* in host byte order */
    uint32_t next;          /* slab number of the next key of the same RMB; 0: none */
    smcr_rmb_t *rmb;        /* the RMB that the key names */
    uint64_t va;            /* virtual address of the RMB's first byte */
    struct smcr_rmb_rtoken *before; /* what the RKey named before, at another address; NULL:
                                       nothing */
} smcr_rmb_rtoken_t;

/* Rarely set members of an RMB, allocated on demand. */
typedef struct {
    /* in the flow from the owner: when the peer agreed to withdraw the RMB; no queue pair: not,
     * or the request is missing */
    smcr_point_t deleted_at;
    struct smcr_element *elements; /* connections of elements other than the first; NULL: none */
    struct smcr_rules_rmb *rules;  /* what the rules remember of it; NULL: nothing */
} smcr_rmb_rare_t;

/* A remote memory buffer: its owner receives data in it. */
struct smcr_rmb {
    smcr_lgr_t *lgr;            /* its link group */
    smcr_rmb_t *older;          /* the RMB of the group that was announced before it; NULL: none */
    smcr_rmb_t *first;          /* the first announcement of the same memory, not withdrawn since;
                                   itself if there is no earlier one */
    smcr_rmb_rtoken_t *rtokens; /* keys that name it, or have named it; NULL: none */
    /* connection of element 1, the only element that Linux uses; NULL: not known */
    smcr_conn_t *first_element_conn;
    smcr_rmb_rare_t *more;      /* rarely set members; NULL: none */
    smcr_point_t valid_from;    /* in the flow to its owner: it was announced after this point */
    bool address_invalid;       /* its announced address cannot be right: the first WRITE tells
                                   it */
    bool address_guessed;       /* its address is known from one WRITE alone */
    uint32_t element_size;      /* of each element, bytes; 0: no CLC message has announced it */
    uint32_t confirm_frame;     /* in `first`: frame of the first CONFIRM RKEY request; 0: none */
    uint32_t delete_frame;      /* in `first`: frame of the DELETE RKEY request; 0: none */
    uint32_t deleted_frame;     /* frame in which the peer agreed to withdraw it; 0: not
                                   withdrawn */
    int8_t side;                /* side of its owner */
    bool superseded;            /* superseded: announced anew, or guessed wrong; it names nothing */
    bool confirmed;             /* a CONFIRM RKEY has named it */
    bool confirm_agreed;        /* the peer has agreed to that CONFIRM RKEY */
};

/* The rarely set members, for writing: allocated when they are first asked for. */
smcr_rmb_rare_t *smcr_rmb_make_rare(smcr_state_t *state, smcr_rmb_t *rmb);

/* The key that `rkey` is on the link of `owner`, a queue pair of the RMB's owner; NULL: it is
 * none. */
smcr_rmb_rtoken_t *smcr_rmb_find(const smcr_state_t *state, const smcr_qp_t *owner, uint32_t rkey);

/* The RMB that `rkey` names for `owner`, where it stands for that address; NULL: none. */
smcr_rmb_t *smcr_rmb_same(const smcr_state_t *state, const smcr_qp_t *owner, uint32_t rkey,
                          uint64_t va);

/* `owner` announces an RMB. Returns the known RMB with this key; a new one if there is none, if the
 * key now has another address, or if the known RMB is withdrawn or superseded. */
smcr_rmb_t *smcr_rmb_announce(smcr_state_t *state, smcr_qp_t *owner, uint32_t rkey, uint64_t va);

/* A new RMB with this key. The RMB that the key named before is superseded. */
smcr_rmb_t *smcr_rmb_renew(smcr_state_t *state, smcr_qp_t *owner, uint32_t rkey, uint64_t va);

/* Whether the RMB is neither withdrawn nor superseded. */
static inline bool
smcr_rmb_is_alive(const smcr_rmb_t *rmb)
{
    return !rmb->superseded && !rmb->deleted_frame;
}

/* The owner has withdrawn the RMB, and the peer has agreed in this frame. */
void smcr_rmb_delete(smcr_rmb_t *rmb, uint32_t frame);

/* The key of the RMB on the link of `owner`; NULL: not known. */
const smcr_rmb_rtoken_t *smcr_rmb_rtoken(const smcr_rmb_t *rmb, const smcr_qp_t *owner);

/* The next key of the same RMB; NULL: there is none. */
static inline const smcr_rmb_rtoken_t *
smcr_rmb_rtoken_next(const smcr_rmb_rtoken_t *entry)
{
    return smcr_slab_beside(entry, entry->next);
}

/* The first connection that uses the RMB and for which `test` is true; NULL: there is none. */
const smcr_conn_t *smcr_rmb_find_conn(const smcr_rmb_t *rmb,
                                      bool (*test)(const smcr_conn_t *conn, const void *data),
                                      const void *data);

/* The RMB also has this key and address on the link of `owner`. */
void smcr_rmb_add_rtoken(smcr_state_t *state, smcr_rmb_t *rmb, smcr_qp_t *owner, uint32_t rkey,
                         uint64_t va);

/* The connection that uses element `index` (1..255), NULL when none is known. */
smcr_conn_t *smcr_rmb_conn(const smcr_rmb_t *rmb, unsigned index);

/* The element `index` (1..255) is that of `conn` from now on; NULL: of no connection. Other indices
 * change nothing. */
void smcr_rmb_set_conn(smcr_state_t *state, smcr_rmb_t *rmb, unsigned index, smcr_conn_t *conn);

/* Makes the table of rmb.c in a new state. */
void smcr_rmb_table_new(smcr_state_t *state);
