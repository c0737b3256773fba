/* Finds the RMB that an RKey names on a link.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "rmb.h"

#include "store.h"

SMCR_WIRE_KEY(hash_rkey, equal_rkeys, offsetof(smcr_rmb_rtoken_t, next))

void
smcr_rmb_table_new(smcr_state_t *state)
{
    state->rkeys = smcr_slab_table(state->scope, hash_rkey, equal_rkeys);
}

smcr_rmb_rtoken_t *
smcr_rmb_find(const smcr_state_t *state, const smcr_qp_t *owner, uint32_t rkey)
{
    smcr_rmb_rtoken_t key = {.owner = owner, .rkey = rkey};

    return g_hash_table_lookup(state->rkeys, &key);
}

/* The newest RToken of an RKey is the one that is found (`rkeys`); `before` leads to older ones
 * with another address. */
void
smcr_rmb_add_rtoken(smcr_state_t *state, smcr_rmb_t *rmb, smcr_qp_t *owner, uint32_t rkey,
                    uint64_t va)
{
    smcr_rmb_rtoken_t *before = smcr_rmb_find(state, owner, rkey), *entry = before;

    if (!entry || entry->rmb != rmb) { /* the RToken of an older RMB with this RKey is not
                                          changed */
        entry = smcr_state_alloc0(state, sizeof(smcr_rmb_rtoken_t));
        if (before && before->va == va)
            before = before->before;
        *entry = (smcr_rmb_rtoken_t){owner, rkey, smcr_slab_number(rmb->rtokens), rmb, va, before};
        rmb->rtokens = entry;
        g_hash_table_replace(state->rkeys, entry, entry);
    }
    entry->va = va;
}

smcr_rmb_t *
smcr_rmb_same(const smcr_state_t *state, const smcr_qp_t *owner, uint32_t rkey, uint64_t va)
{
    const smcr_rmb_rtoken_t *entry = smcr_rmb_find(state, owner, rkey);
    bool same = entry && entry->va == va && smcr_rmb_is_alive(entry->rmb);

    return same ? entry->rmb : NULL;
}

/* An announcement with the RKey and address of an RMB that is alive means the same RMB: CLC
 * messages of several connections may announce it. */
smcr_rmb_t *
smcr_rmb_announce(smcr_state_t *state, smcr_qp_t *owner, uint32_t rkey, uint64_t va)
{
    smcr_rmb_t *rmb = smcr_rmb_same(state, owner, rkey, va);

    if (!rmb)
        return smcr_rmb_renew(state, owner, rkey, va);
    rmb->first->delete_frame = 0; /* a new announcement shows that the peer has not agreed to an
                                     earlier DELETE RKEY */
    return rmb;
}

/* Subtracts the RMB, whose life ends now, from the number of alive RMBs of its side (`rmb_count`).
 * An RMB that was not alive any more changes nothing. */
static void
end_life(const smcr_rmb_t *rmb)
{
    rmb->lgr->rmb_count[rmb->side] -= smcr_rmb_is_alive(rmb);
}

/* If the RMB at this address is announced again, without a DELETE RKEY in between, `first` of the
 * new object is the oldest object: CONFIRM RKEY and DELETE RKEY are noted there.
 * smcr_rmb_add_rtoken() is called last, since it replaces the RToken that smcr_rmb_find() has
 * found. */
smcr_rmb_t *
smcr_rmb_renew(smcr_state_t *state, smcr_qp_t *owner, uint32_t rkey, uint64_t va)
{
    const smcr_rmb_rtoken_t *entry = smcr_rmb_find(state, owner, rkey);
    smcr_rmb_t *rmb = smcr_state_alloc0(state, sizeof(smcr_rmb_t));

    rmb->first = rmb;
    if (entry) {
        end_life(entry->rmb);
        entry->rmb->superseded = true;
        if (entry->va == va && !entry->rmb->first->delete_frame && !entry->rmb->deleted_frame)
            rmb->first = entry->rmb->first;
    }
    rmb->lgr = owner->link->lgr;
    rmb->side = (int8_t)owner->side;
    rmb->valid_from = smcr_point_now(owner);
    rmb->older = rmb->lgr->newest_rmb;
    rmb->lgr->newest_rmb = rmb;
    rmb->lgr->rmb_count[rmb->side]++;
    smcr_rmb_add_rtoken(state, rmb, owner, rkey, va);
    return rmb;
}

smcr_rmb_rare_t *
smcr_rmb_make_rare(smcr_state_t *state, smcr_rmb_t *rmb)
{
    return SMCR_STATE_MADE(state, &rmb->more);
}

void
smcr_rmb_delete(smcr_rmb_t *rmb, uint32_t frame)
{
    end_life(rmb);
    rmb->deleted_frame = frame;
}

/* The list begins with the newest RToken: if the RMB has had two RKeys on the link of `owner`, the
 * result is the newer one. */
const smcr_rmb_rtoken_t *
smcr_rmb_rtoken(const smcr_rmb_t *rmb, const smcr_qp_t *owner)
{
    const smcr_rmb_rtoken_t *entry = rmb->rtokens;

    while (entry && entry->owner != owner)
        entry = smcr_rmb_rtoken_next(entry);
    return entry;
}

/* ---- elements ---- */

/* The connection that uses an RMB element with another number than 1. The elements of an RMB are a
 * list. */
struct smcr_element {
    struct smcr_element *next; /* next element of the RMB; NULL: none */
    smcr_conn_t *conn;         /* connection that uses the element; NULL: none */
    unsigned index;            /* number of the element, 2 to 255 */
};

/* Returns the element with this number; NULL: the list does not have it. Not for element 1, whose
 * connection is in `first_element_conn`. */
static struct smcr_element *
find_element(const smcr_rmb_t *rmb, unsigned index)
{
    struct smcr_element *element = rmb->more ? rmb->more->elements : NULL;

    while (element && element->index != index)
        element = element->next;
    return element;
}

smcr_conn_t *
smcr_rmb_conn(const smcr_rmb_t *rmb, unsigned index)
{
    if (index == 1)
        return rmb->first_element_conn;
    const struct smcr_element *element = find_element(rmb, index);
    return element ? element->conn : NULL;
}

/* Element 1 needs no memory of its own, since most RMBs have one connection. Elements are numbered
 * from 1 (A.2.3). */
void
smcr_rmb_set_conn(smcr_state_t *state, smcr_rmb_t *rmb, unsigned index, smcr_conn_t *conn)
{
    struct smcr_element *element = find_element(rmb, index);

    if (index == 1) {
        rmb->first_element_conn = conn;
        return;
    }
    if (index == 0 || index > SMCR_WIRE_RMB_INDEX_MAX)
        return;
    if (!element) {
        element = smcr_state_alloc0(state, sizeof *element);
        element->index = index;
        smcr_rmb_rare_t *more = smcr_rmb_make_rare(state, rmb);
        element->next = more->elements;
        more->elements = element;
    }
    element->conn = conn;
}

/* Tests element 1 first, then the others, the newest first. */
const smcr_conn_t *
smcr_rmb_find_conn(const smcr_rmb_t *rmb, bool (*test)(const smcr_conn_t *conn, const void *data),
                   const void *data)
{
    const struct smcr_element *element = rmb->more ? rmb->more->elements : NULL;

    if (rmb->first_element_conn && test(rmb->first_element_conn, data))
        return rmb->first_element_conn;
    while (element && !(element->conn && test(element->conn, data)))
        element = element->next;
    return element ? element->conn : NULL;
}

/* The objects of the elements stay in the list, for the next connections that use the elements. */
void
smcr_rmb_forget_conns(smcr_rmb_t *rmb, bool (*test)(const smcr_conn_t *conn))
{
    struct smcr_element *element = rmb->more ? rmb->more->elements : NULL;

    if (rmb->first_element_conn && test(rmb->first_element_conn))
        rmb->first_element_conn = NULL;
    for (; element; element = element->next)
        if (element->conn && test(element->conn))
            element->conn = NULL;
}

/* ---- RMBs that are released ---- */

/* Whether the life of the RMB ended before `frame`: it was withdrawn, or its link group has
 * ended. */
static bool
has_ended(const smcr_rmb_t *rmb, uint32_t frame)
{
    uint32_t withdrawn = rmb->deleted_frame, group = rmb->lgr->ended_frame;

    return (withdrawn && withdrawn < frame) || (group && group < frame);
}

/* Makes the RToken unknown: an earlier one with the same RKey takes its place, if there is one. */
static void
forget_rtoken(smcr_state_t *state, const smcr_rmb_rtoken_t *gone)
{
    smcr_rmb_rtoken_t *newest = smcr_rmb_find(state, gone->owner, gone->rkey);

    if (newest == gone && gone->before) {
        g_hash_table_replace(state->rkeys, gone->before, gone->before);
    } else if (newest == gone) {
        g_hash_table_remove(state->rkeys, gone);
    } else {
        for (smcr_rmb_rtoken_t *later = newest; later; later = later->before)
            if (later->before == gone)
                later->before = gone->before;
    }
}

/* Frees the rarely set members of an RMB, and its elements. Connections stay. */
static void
free_rare(smcr_state_t *state, smcr_rmb_rare_t *more)
{
    struct smcr_element *next;

    for (struct smcr_element *element = more->elements; element; element = next) {
        next = element->next;
        smcr_state_free(state, element, sizeof *element);
    }
    smcr_state_free(state, more, sizeof *more);
}

/* An RMB that was not withdrawn, since its whole group has ended, may still count as alive:
 * end_life() subtracts it from `rmb_count`. */
void
smcr_rmb_free(smcr_state_t *state, smcr_rmb_t *rmb)
{
    smcr_rmb_rtoken_t *next;

    end_life(rmb);
    for (smcr_rmb_rtoken_t *entry = rmb->rtokens; entry; entry = next) {
        next = entry->next ? smcr_slab_beside(entry, entry->next) : NULL;
        forget_rtoken(state, entry);
        smcr_state_free(state, entry, sizeof *entry);
    }
    if (rmb->more)
        free_rare(state, rmb->more);
    smcr_state_free(state, rmb, sizeof *rmb);
}

/* The first loop adds all RMBs that stay to `needed`, and the second loop takes out all others. The
 * first loop begins with the newest RMB. An RMB stays in four cases: 1. it is in `needed` already;
 * 2. it has not ended before `frame`; 3. it is the `first` of a newer RMB that stays; 4. it is
 * `claimed_rmb`, or older than that one. */
smcr_rmb_t *
smcr_rmb_take_ended(smcr_lgr_t *lgr, uint32_t frame, GHashTable *needed)
{
    smcr_rmb_t **at = &lgr->newest_rmb, *taken = NULL, **end = &taken;
    bool is_claimed = false;

    for (smcr_rmb_t *rmb = lgr->newest_rmb; rmb; rmb = rmb->older) {
        is_claimed |= rmb == lgr->claimed_rmb;
        if (!is_claimed && has_ended(rmb, frame) && !g_hash_table_contains(needed, rmb))
            continue;
        g_hash_table_add(needed, rmb);
        g_hash_table_add(needed, rmb->first);
    }
    while (*at) {
        smcr_rmb_t *rmb = *at;
        if (g_hash_table_contains(needed, rmb)) {
            at = &rmb->older;
            continue;
        }
        *at = rmb->older;
        rmb->older = NULL;
        *end = rmb;
        end = &rmb->older;
    }
    return taken;
}
