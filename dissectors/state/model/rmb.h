/* Remote memory buffers, and the RKeys and addresses by which they are written on each link
 * (RFC 7609 2.1, 4.2, A.3.3, A.3.5).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "link.h"

#define SMCR_RMBS_MAX 255     /* of a side of a link group (2.1) */

/* An RMB on one link. */
typedef struct smcr_rmb_rtoken {
    const smcr_qp_t *owner;
    uint32_t rkey;
    uint32_t next; /* of the same RMB: number of the entry */
    smcr_rmb_t *rmb;
    uint64_t va; /* of the RMB's first byte */
    struct smcr_rmb_rtoken *before; /* what the key stood for at another address; NULL: nothing */
} smcr_rmb_rtoken_t;

/* Rarely set members, allocated on demand. */
typedef struct {
    smcr_point_t deleted;   /* when it was, in the owner's flow; none where its request is absent */
    struct smcr_element *elements; /* but for the first, those that a connection uses */
    struct smcr_rules_rmb *rules; /* what rules remember of it; NULL: nothing */
} smcr_rmb_rare_t;

struct smcr_rmb {
    smcr_lgr_t *lgr;
    smcr_rmb_t *older;            /* of the group */
    smcr_rmb_t *first; /* the same memory, announced before and not withdrawn since; or itself */
    smcr_rmb_rtoken_t *rtokens; /* that name it, or have done so */
    smcr_conn_t *only;      /* the connection of element 1, the only one that Linux uses */
    smcr_rmb_rare_t *more;  /* NULL: nothing */
    smcr_point_t since;     /* it was announced behind this point of the flow to its owner */
    bool misplaced; /* its address cannot be right: the first WRITE tells it */
    bool guessed;   /* its address is told by one WRITE alone */
    uint32_t element_size;  /* bytes; 0 while no CLC message has told it */
    uint32_t confirm_frame; /* of `first`: the first CONFIRM RKEY request; 0: none */
    uint32_t delete_frame;  /* of `first`: the DELETE RKEY request; 0: none */
    uint32_t deleted_frame; /* its response; 0: not deleted */
    int8_t side;            /* of the owner, who receives data in it */
    bool over;              /* announced again, or guessed wrong: it means nothing any more */
    bool confirmed;         /* by CONFIRM RKEY */
    bool agreed;            /* and the peer has agreed */
};

/* To be changed. */
smcr_rmb_rare_t *smcr_rmb_rare(smcr_state_t *state, smcr_rmb_t *rmb);

/* The RMB that `rkey` names on the link of `owner`, a queue pair of its owner; NULL: none. */
smcr_rmb_rtoken_t *smcr_rmb_find(const smcr_state_t *state, const smcr_qp_t *owner, uint32_t rkey);

/* The RMB that `rkey` names for `owner`, where it stands for that address; NULL: none. */
smcr_rmb_t *smcr_rmb_same(const smcr_state_t *state, const smcr_qp_t *owner, uint32_t rkey,
                          uint64_t va);

/* The RMB that `rkey` names for `owner`; a new one when there is none, or when the key now stands
 * for another address or the old RMB was deleted. */
smcr_rmb_t *smcr_rmb_announce(smcr_state_t *state, smcr_qp_t *owner, uint32_t rkey, uint64_t va);

/* A new RMB, whatever `rkey` named before: that is over. */
smcr_rmb_t *smcr_rmb_renew(smcr_state_t *state, smcr_qp_t *owner, uint32_t rkey, uint64_t va);

/* Whether the owner has announced it, and has not withdrawn it. */
static inline bool
smcr_rmb_is_alive(const smcr_rmb_t *rmb)
{
    return !rmb->over && !rmb->deleted_frame;
}

/* Its owner has withdrawn it, and the peer has agreed in this frame. */
void smcr_rmb_delete(smcr_rmb_t *rmb, uint32_t frame);

/* Its RKey and address on the link of `owner`; NULL: none has been told. */
const smcr_rmb_rtoken_t *smcr_rmb_rtoken(const smcr_rmb_t *rmb, const smcr_qp_t *owner);

/* The next one that names the same RMB; NULL: there is none. */
static inline const smcr_rmb_rtoken_t *
smcr_rmb_rtoken_next(const smcr_rmb_rtoken_t *entry)
{
    return smcr_slab_beside(entry, entry->next);
}

/* The first connection that uses the RMB of which `test` is true; NULL: there is none. */
const smcr_conn_t *smcr_rmb_any(const smcr_rmb_t *rmb,
                                bool (*test)(const smcr_conn_t *conn, const void *data),
                                const void *data);

/* `rmb` has this key and address on the link of `owner` as well. */
void smcr_rmb_add_rtoken(smcr_state_t *state, smcr_rmb_t *rmb, smcr_qp_t *owner, uint32_t rkey,
                         uint64_t va);

/* The connection that uses element `index` (1..255), NULL when none is known. */
smcr_conn_t *smcr_rmb_conn(const smcr_rmb_t *rmb, unsigned index);
void smcr_rmb_set_conn(smcr_state_t *state, smcr_rmb_t *rmb, unsigned index, smcr_conn_t *conn);

/* The table of rmb.c in a new state. */
void smcr_rmb_start(smcr_state_t *state);
