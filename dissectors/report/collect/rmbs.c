/* rmbs.c
 * Reads from CLC and LLC messages which RMBs there are (RFC 7609 4.2, A.3.3, A.3.5 to A.3.7). An
 * RMB that is withdrawn and announced again is listed again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "rmbs.h"

#include "report/figures/figures.h"
#include "wire/wire.h"

/* An RKey on the link of the owner's queue pair. */
typedef struct rkey {
    struct rkey *next; /* of the RMB, the one after */
    const smcr_qp_t *owner;
    uint32_t rkey;
} rkey_t;

typedef struct announced {
    struct announced *next; /* of the group, the one after */
    int side;               /* of the owner */
    uint64_t va;
    uint64_t size;          /* bytes of an element; SMCR_UNKNOWN */
    smcr_when_t confirmed, deleted;
    rkey_t *first_rkey, *last_rkey;
    smcr_numbers_t streams;
} announced_t;

typedef struct {
    announced_t *first, *last;
    announced_t *confirmed[2]; /* by side: of the last CONFIRM RKEY, for its continuations */
} group_t;

struct smcr_announced_rmbs {
    wmem_allocator_t *scope;
    wmem_map_t *rkeys;  /* rkey_t -> announced_t, the last one with that key */
    wmem_map_t *groups; /* smcr_lgr_t -> group_t */
};

static unsigned
hash_rkey(const void *data)
{
    const rkey_t *key = data;

    return (key->rkey * 2654435761U) ^ g_direct_hash(key->owner);
}

static gboolean
equal_rkeys(const void *one, const void *other)
{
    const rkey_t *a = one, *b = other;

    return a->owner == b->owner && a->rkey == b->rkey;
}

smcr_announced_rmbs_t *
smcr_announced_rmbs_new(wmem_allocator_t *scope)
{
    smcr_announced_rmbs_t *rmbs = wmem_new0(scope, smcr_announced_rmbs_t);

    rmbs->scope = scope;
    rmbs->rkeys = wmem_map_new(scope, hash_rkey, equal_rkeys);
    rmbs->groups = wmem_map_new(scope, g_direct_hash, g_direct_equal);
    return rmbs;
}

/* ---- finding and adding ---- */

/* The RMB that the key names on the link; NULL: none that is announced. */
static announced_t *
find(const smcr_announced_rmbs_t *rmbs, const smcr_qp_t *owner, uint32_t number)
{
    rkey_t key = {NULL, owner, number};
    announced_t *buffer = wmem_map_lookup(rmbs->rkeys, &key);

    return buffer && !buffer->deleted.frame ? buffer : NULL;
}

static void
add_rkey(smcr_announced_rmbs_t *rmbs, announced_t *buffer, const smcr_qp_t *owner, uint32_t number)
{
    if (find(rmbs, owner, number) == buffer)
        return;
    rkey_t *key = wmem_new(rmbs->scope, rkey_t);
    *key = (rkey_t){NULL, owner, number};
    if (buffer->last_rkey)
        buffer->last_rkey->next = key;
    else
        buffer->first_rkey = key;
    buffer->last_rkey = key;
    wmem_map_insert(rmbs->rkeys, key, buffer);
}

static group_t *
group_of(smcr_announced_rmbs_t *rmbs, const smcr_lgr_t *lgr)
{
    group_t *group = wmem_map_lookup(rmbs->groups, lgr);

    if (!group) {
        group = wmem_new0(rmbs->scope, group_t);
        wmem_map_insert(rmbs->groups, lgr, group);
    }
    return group;
}

/* The RMB that a message announces: a new one, unless it is announced with that address. */
static announced_t *
announce(smcr_announced_rmbs_t *rmbs, const smcr_qp_t *owner, uint32_t number, uint64_t va)
{
    announced_t *buffer = find(rmbs, owner, number);
    group_t *group = group_of(rmbs, owner->link->lgr);

    if (buffer && buffer->va == va)
        return buffer;
    buffer = wmem_new0(rmbs->scope, announced_t);
    buffer->side = owner->side;
    buffer->va = va;
    buffer->size = SMCR_UNKNOWN;
    if (group->last)
        group->last->next = buffer;
    else
        group->first = buffer;
    group->last = buffer;
    add_rkey(rmbs, buffer, owner, number);
    return buffer;
}

/* ---- messages ---- */

static void
take_clc(smcr_announced_rmbs_t *rmbs, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    const smcr_clc_t *clc = packet->clc;
    const smcr_clc_accept_t *accept = &clc->u.accept;

    if (!smcr_clc_agrees(clc->header.type) || clc->smcd ||
        !(clc->complete || clc->cut_usable) || !record->link || record->sender < 0)
        return;
    const smcr_qp_t *owner = &record->link->qp[record->sender];
    announced_t *buffer = announce(rmbs, owner, accept->rkey, accept->va);
    buffer->size = smcr_buffer_size_bytes(smcr_bits(accept->sizes, SMCR_MASK_BUFFER_SIZE));
    smcr_numbers_add(&buffer->streams, rmbs->scope, record->conn->index);
}

/* The link that the number named in that frame; NULL: none. */
static const smcr_link_t *
link_at(const smcr_lgr_t *lgr, uint8_t number, uint32_t frame)
{
    const smcr_link_t *link = lgr->all_links;

    while (link && !(link->has_number && link->number == number && link->added_frame <= frame &&
                     (!link->deleted_frame || link->deleted_frame >= frame)))
        link = smcr_link_older(link);
    return link;
}

/* RTokens of an RMB on other links of the group. */
static void
take_others(smcr_announced_rmbs_t *rmbs, announced_t *buffer, const smcr_lgr_t *lgr,
            smcr_when_t when, const smcr_llc_t *llc)
{
    for (unsigned i = 0; buffer && i < llc->rtoken_count; i++) {
        const smcr_link_t *link = link_at(lgr, llc->rtokens[i].link, when.frame);
        if (link)
            add_rkey(rmbs, buffer, &link->qp[buffer->side], llc->rtokens[i].rkey);
    }
}

/* RTokens of the sender's RMBs on a link that is being added. */
static void
take_new_link(smcr_announced_rmbs_t *rmbs, const smcr_qp_t *owner, uint8_t number,
              smcr_when_t when, const smcr_llc_t *llc)
{
    const smcr_link_t *link = link_at(owner->link->lgr, number, when.frame);

    for (unsigned i = 0; link && i < llc->rtoken_count; i++) {
        announced_t *buffer = find(rmbs, owner, llc->rtokens[i].ref_rkey);
        if (buffer)
            add_rkey(rmbs, buffer, &link->qp[owner->side], llc->rtokens[i].rkey);
    }
}

static void
take_confirm_rkey(smcr_announced_rmbs_t *rmbs, const smcr_qp_t *owner, smcr_when_t when,
                  const smcr_llc_t *llc)
{
    const smcr_llc_confirm_rkey_t *confirm = &llc->u.confirm_rkey;
    announced_t *buffer = announce(rmbs, owner, confirm->rkey, confirm->va);

    if (!buffer->confirmed.frame)
        buffer->confirmed = when;
    group_of(rmbs, owner->link->lgr)->confirmed[owner->side] = buffer;
    take_others(rmbs, buffer, owner->link->lgr, when, llc);
}

static void
take_delete_rkey(const smcr_announced_rmbs_t *rmbs, const smcr_qp_t *owner, smcr_when_t when,
                 const smcr_llc_t *llc)
{
    for (unsigned i = 0; i < llc->rtoken_count; i++) {
        announced_t *buffer = find(rmbs, owner, llc->rtokens[i].rkey);
        if (buffer)
            buffer->deleted = when;
    }
}

/* Owners tell of their RMBs in requests; both sides do when a link is added. */
static void
take_llc(smcr_announced_rmbs_t *rmbs, smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_llc_t *llc = packet->llc;
    const smcr_qp_t *owner = &packet->record->link->qp[packet->record->sender];
    bool response = (llc->flags & SMCR_LLC_FLAG_RESPONSE) != 0;
    uint8_t type = llc->type & (uint8_t)~SMCR_LLC_TYPE_V2;

    if (type == SMCR_LLC_ADD_LINK)
        take_new_link(rmbs, owner, llc->u.add_link.link, when, llc);
    else if (type == SMCR_LLC_ADD_LINK_CONT)
        take_new_link(rmbs, owner, llc->u.add_link_cont.link, when, llc);
    if (response)
        return;
    if (type == SMCR_LLC_CONFIRM_RKEY)
        take_confirm_rkey(rmbs, owner, when, llc);
    else if (type == SMCR_LLC_CONFIRM_RKEY_CONT)
        take_others(rmbs, group_of(rmbs, owner->link->lgr)->confirmed[owner->side],
                    owner->link->lgr, when, llc);
    else if (type == SMCR_LLC_DELETE_RKEY)
        take_delete_rkey(rmbs, owner, when, llc);
}

void
smcr_announced_rmbs_take(smcr_announced_rmbs_t *rmbs, smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;

    if (packet->clc)
        take_clc(rmbs, packet);
    else if (packet->llc && record->link && record->sender >= 0 &&
             record->order != SMCR_PACKET_IS_REPEAT && record->order != SMCR_PACKET_IS_COPY)
        take_llc(rmbs, when, packet);
}

/* ---- reporting ---- */

static void
report_rmb(const announced_t *buffer, const smcr_lgr_t *lgr, smcr_list_t *list,
           wmem_allocator_t *scope)
{
    smcr_rmb_entry_t *entry = smcr_list_add(list, scope, &smcr_rmb_description);

    if (lgr->server != SMCR_SIDE_UNKNOWN)
        entry->owner = buffer->side == lgr->server ? SMCR_ROLE_SERVER : SMCR_ROLE_CLIENT;
    entry->size_bytes = buffer->size;
    entry->va = smcr_hex_text(scope, buffer->va, 8);
    entry->confirmed_frame = buffer->confirmed;
    entry->deleted_frame = buffer->deleted;
    entry->streams = buffer->streams;
    for (const rkey_t *key = buffer->first_rkey; key; key = key->next) {
        const smcr_link_t *link = key->owner->link;
        if (link->state == SMCR_LINK_REJECTED)
            continue; /* it never was one */
        smcr_rmb_rkey_entry_t *rkey =
            smcr_list_add(&entry->rkeys, scope, &smcr_rmb_rkey_description);
        rkey->link = link->has_number ? link->number : SMCR_UNKNOWN;
        rkey->rkey = smcr_hex_text(scope, key->rkey, 4);
    }
}

void
smcr_announced_rmbs_report(const smcr_announced_rmbs_t *rmbs, const smcr_lgr_t *lgr,
                           smcr_list_t *list, wmem_allocator_t *scope)
{
    const group_t *group = wmem_map_lookup(rmbs->groups, lgr);

    for (const announced_t *buffer = group ? group->first : NULL; buffer; buffer = buffer->next)
        report_rmb(buffer, lgr, list, scope);
}
