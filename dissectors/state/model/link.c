/* Finds and makes link groups, links and queue pairs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "link.h"

#include "store.h"

#define LGRS_MAX 256  /* maximum number of link groups in the list `lgrs` of smcr_state, which keeps
                         the newest ones */
#define LINKS_MAX 32 /* number of the newest links of a group that are never forgotten: four times
                        as many as a group may have at one time (A.3.5) */
#define HALF_KNOWN_MAX 256 /* maximum number of links in `half_known_links` of smcr_state */
#define ACK_TIME SMCR_TIME_SECOND /* an acknowledgement that comes this long after a packet does not
                                     show the link of the packet, nanoseconds */

#define LITTLE_DISORDER (10 * SMCR_TIME_MILLISECOND) /* a disorder below this hides no wait of a
                                                        tenth of a second */

/* ---- queue pairs ---- */

SMCR_WIRE_KEY(hash_qp, equal_qps, sizeof(smcr_ib_qp_key_t))

wmem_map_t *
smcr_qp_map_new(wmem_allocator_t *scope)
{
    return wmem_map_new(scope, hash_qp, equal_qps);
}

smcr_qp_t *
smcr_qp_find(const smcr_state_t *state, const smcr_ib_qp_key_t *key)
{
    return wmem_map_lookup(state->qps, key);
}

/* As long as it is not known which side is the server, either queue pair fits. */
smcr_qp_t *
smcr_qp_of_role(const smcr_state_t *state, const smcr_ib_qp_key_t *key, bool server)
{
    smcr_qp_t *qp = smcr_qp_find(state, key);

    if (!qp || qp->link->state == SMCR_LINK_DELETED || qp->link->state == SMCR_LINK_REJECTED)
        return NULL;
    int known = qp->link->lgr->server;
    return known == SMCR_LGR_SIDE_UNKNOWN || (known == qp->side) == server ? qp : NULL;
}

/* The result is an upper bound: if packets to the queue pair were larger than the agreed MTU, their
 * MTU counts. */
uint32_t
smcr_qp_mtu(const smcr_qp_t *qp)
{
    enum { MTU_MAX = 4096 };
    const smcr_qp_t *peer = &qp->link->qp[!qp->side];
    uint32_t agreed = (uint32_t)smcr_mtu_bytes(MIN(qp->mtu, peer->mtu));

    return agreed ? MAX(agreed, qp->traffic.flow.mtu) : MTU_MAX;
}

/* ---- link groups and links ---- */

bool
smcr_lgr_has_base(const smcr_lgr_t *lgr, int side)
{
    bool is_like_peer = lgr->base_known[!side] && lgr->base[!side] != 0;

    return lgr->base_known[side] || !(lgr->state->base_uncertain || is_like_peer);
}

/* The group has no index yet (smcr_lgr_give_index()). */
smcr_lgr_t *
smcr_lgr_new(smcr_state_t *state)
{
    smcr_lgr_t *lgr = smcr_state_alloc0(state, sizeof *lgr);

    lgr->index = SMCR_LGR_NO_INDEX;
    lgr->server = SMCR_LGR_SIDE_UNKNOWN;
    lgr->single_side = SMCR_LGR_SIDE_UNKNOWN;
    lgr->links = wmem_list_new(state->scope);
    lgr->pending = wmem_list_new(state->scope);
    lgr->answered = wmem_list_new(state->scope);
    lgr->one_direction_conns = wmem_list_new(state->scope);
    lgr->state = state;
    return lgr;
}

bool
smcr_lgr_is_in_disorder(const smcr_lgr_t *lgr)
{
    return lgr->state->is_out_of_order;
}

uint64_t
smcr_lgr_disorder(const smcr_lgr_t *lgr)
{
    const smcr_state_t *state = lgr->state;

    if (!state->is_out_of_order)
        return 0;
    bool is_little = state->disordered.frame && state->disorder_widest < LITTLE_DISORDER;
    return is_little ? state->disorder_widest : UINT64_MAX;
}

uint32_t
smcr_lgr_count(const smcr_state_t *state)
{
    return state->lgr_count;
}

void
smcr_lgr_give_index(smcr_state_t *state, smcr_lgr_t *lgr)
{
    if (lgr->index == SMCR_LGR_NO_INDEX) {
        lgr->index = state->lgr_count++;
        smcr_list_keep(state->lgrs, lgr, LGRS_MAX);
    }
}

void
smcr_lgr_set_server(smcr_lgr_t *lgr, int side)
{
    if (lgr->server != SMCR_LGR_SIDE_UNKNOWN && !lgr->role_source_file)
        return;
    lgr->server = side;
    lgr->role_source_file = NULL;
}

/* Adds the link to the lists of its group, as its newest link. When the group has 2 * LINKS_MAX
 * links, the oldest half is forgotten, to bound the lists. From then on no breach is reported
 * that a forgotten link may explain (smcr_doubt_group()). */
static void
list_link(smcr_link_t *link)
{
    smcr_lgr_t *lgr = link->lgr;

    if (!lgr->newest_link)
        lgr->first_link_index = link->index;
    link->older_in_group = lgr->newest_link;
    lgr->newest_link = link;
    if (++lgr->link_count == 2 * LINKS_MAX) {
        lgr->oldest_kept_link = link;
        for (lgr->link_count = 1; lgr->link_count < LINKS_MAX; lgr->link_count++)
            lgr->oldest_kept_link = lgr->oldest_kept_link->older_in_group;
    }
    smcr_list_keep(lgr->links, link, LINKS_MAX);
}

/* The index is the number of the link in the capture, and is never reused. */
smcr_link_t *
smcr_link_new(smcr_state_t *state, smcr_lgr_t *lgr)
{
    smcr_link_t *link = smcr_state_alloc0(state, sizeof *link);

    link->index = state->link_count++;
    link->lgr = lgr;
    link->added_frame = state->last_frame;
    for (int side = 0; side < 2; side++) {
        link->qp[side].link = link;
        link->qp[side].side = side;
    }
    list_link(link);
    return link;
}

void
smcr_link_move(smcr_link_t *link, smcr_lgr_t *lgr)
{
    wmem_list_remove(link->lgr->links, link);
    link->lgr->newest_link = NULL;
    link->lgr = lgr;
    list_link(link);
}

/* Removes a queue pair from the table of queue pairs: smcr_qp_find() does not find it any more. */
static void
forget_qp(smcr_state_t *state, const smcr_qp_t *qp)
{
    if (qp->number_known && smcr_qp_find(state, &qp->key) == qp)
        wmem_map_remove(state->qps, &qp->key);
}

/* A known number is not replaced: tables and records rely on it. Only smcr_qp_forget_announced()
 * takes a number back. */
void
smcr_qp_set(smcr_state_t *state, smcr_link_t *link, int side, const smcr_ib_qp_key_t *key,
            enum smcr_ground ground)
{
    smcr_qp_t *qp = &link->qp[side];
    smcr_qp_t *before = smcr_qp_find(state, key);

    if (qp->number_known || (before && before->link == link))
        return;
    if (before)
        forget_qp(state, smcr_qp_peer(before));
    qp->number_known = true;
    qp->gid_known = true;
    qp->key = *key;
    qp->ground = (uint8_t)ground;
    wmem_map_insert(state->qps, &qp->key, qp);
    /* Until now the queue pair was not known, so acknowledgements that it has received were not
     * noted. So all packets that its peer has received so far count as acknowledged, and all
     * messages to the peer as completed. */
    smcr_qp_peer(qp)->unacked.count = 0;
    smcr_traffic_t *requests = &smcr_qp_peer(qp)->traffic;
    requests->completed_psn = MAX(requests->completed_psn, requests->flow.highest);
}

void
smcr_qp_forget_announced(smcr_state_t *state, smcr_qp_t *qp)
{
    forget_qp(state, qp);
    qp->number_known = qp->gid_known = false;
}

void
smcr_link_forget_qps(smcr_state_t *state, smcr_link_t *link)
{
    forget_qp(state, &link->qp[0]);
    forget_qp(state, &link->qp[1]);
}

/* ---- links of a group ---- */

bool
smcr_link_shares_device(const smcr_link_t *one, const smcr_link_t *other, int side)
{
    return one->qp[side].number_known && other->qp[side].number_known &&
           smcr_gid_is_same(one->qp[side].key.gid, other->qp[side].key.gid);
}

/* The side on which `link` uses the same device as the oldest active link of the group that shares
 * a device with it; 1 if it shares the devices of both sides. Only links older than `link` count.
 * SMCR_LGR_SIDE_UNKNOWN: there is none. */
static int
find_single_side(const smcr_link_t *link)
{
    int found = SMCR_LGR_SIDE_UNKNOWN;

    SMCR_LIST_EACH(const smcr_link_t *, other, link->lgr->links) {
        if (other == link || found != SMCR_LGR_SIDE_UNKNOWN)
            return found;
        if (other->state != SMCR_LINK_ACTIVE)
            continue;
        for (int side = 0; side < 2; side++)
            if (smcr_link_shares_device(other, link, side))
                found = side;
    }
    return found;
}

/* Sets the type of a group by its active links. A group with at most one active link is SINGLE. A
 * group with several active links is ASYMMETRIC if two of them share a device, and otherwise
 * SYMMETRIC. Returns whether the type has changed. (net/smc/smc_core.h) */
static bool
update_type(smcr_lgr_t *lgr)
{
    smcr_lgr_type_t before = lgr->type;

    lgr->single_side = SMCR_LGR_SIDE_UNKNOWN;
    SMCR_LIST_EACH(const smcr_link_t *, link, lgr->links) {
        int shared = link->state == SMCR_LINK_ACTIVE ? find_single_side(link)
                                                     : SMCR_LGR_SIDE_UNKNOWN;
        if (shared != SMCR_LGR_SIDE_UNKNOWN)
            lgr->single_side = shared;
    }
    if (lgr->active_links < 2)
        lgr->type = SMCR_LGR_SINGLE;
    else if (lgr->single_side == SMCR_LGR_SIDE_UNKNOWN)
        lgr->type = SMCR_LGR_SYMMETRIC;
    else
        lgr->type = SMCR_LGR_ASYMMETRIC;
    return lgr->type != before;
}

/* Only an announced link can become active: a deleted one stays deleted. */
bool
smcr_link_activate(smcr_link_t *link)
{
    if (link->state != SMCR_LINK_ANNOUNCED)
        return false;
    link->state = SMCR_LINK_ACTIVE;
    link->was_active = true;
    link->lgr->active_links++;
    return update_type(link->lgr);
}

/* `ended_frame` keeps the first frame, unless a link has become active since. The link stays in
 * `deleted_links` until release.c forgets its history. */
bool
smcr_link_delete(smcr_link_t *link, uint32_t frame)
{
    bool is_over = true, was_active = link->state == SMCR_LINK_ACTIVE;

    if (link->state == SMCR_LINK_DELETED || link->state == SMCR_LINK_REJECTED)
        return false;
    link->lgr->active_links -= was_active;
    link->state = SMCR_LINK_DELETED;
    link->deleted_frame = frame;
    wmem_list_append(link->lgr->state->deleted_links, link);
    wmem_list_remove(link->lgr->links, link);
    SMCR_LIST_EACH(const smcr_link_t *, other, link->lgr->links) /* an announced link with packets
                                                                    is in use, and its CONFIRM LINK
                                                                    is missing */
        is_over &= other->state != SMCR_LINK_ANNOUNCED || other->packet_count == 0;
    if (link->lgr->active_links == 0 && is_over && (was_active || !link->lgr->ended_frame))
        link->lgr->ended_frame = frame;
    return update_type(link->lgr);
}

/* ---- links that began before the capture ---- */

/* Side 1 is the receiver of this packet: which side is the server is not known. */
smcr_qp_t *
smcr_link_new_of_packet(smcr_state_t *state, const smcr_ib_headers_t *roce)
{
    smcr_link_t *link = smcr_link_new(state, smcr_lgr_new(state));
    smcr_qp_t *sender = &link->qp[0];

    smcr_qp_set(state, link, 1, &roce->destination, SMCR_GROUND_LLC);
    memcpy(sender->key.gid, roce->source, SMCR_GID_LENGTH);
    sender->gid_known = true;
    smcr_link_activate(link);
    smcr_list_keep(state->half_known_links, link, HALF_KNOWN_MAX);
    return &link->qp[1];
}

/* The known queue pair of a link of which only one queue pair is known. */
static smcr_qp_t *
known_qp(smcr_link_t *link)
{
    return link->qp[0].number_known ? &link->qp[0] : &link->qp[1];
}

/* Whether the acknowledgement may belong to the link, of which only one queue pair is known. The
 * known queue pair must have received the acknowledged PSN within ACK_TIME before. The
 * acknowledgement must go from the device of the known queue pair to the device of the unknown
 * one. */
static bool
acknowledges(smcr_link_t *link, const smcr_ib_headers_t *roce, smcr_when_t when)
{
    smcr_qp_t *known = known_qp(link);
    const smcr_qp_t *missing = smcr_qp_peer(known);

    if (missing->number_known || !missing->gid_known)
        return false;
    const smcr_seen_packet_t *sent = smcr_flow_psn_history(&known->traffic.flow, roce->psn);
    return sent && when.time - sent->time < ACK_TIME &&
           smcr_qp_is_at(missing, roce->destination.gid) && smcr_qp_is_at(known, roce->source);
}

/* Two candidates prove nothing. */
smcr_link_t *
smcr_link_of_ack(const smcr_state_t *state, const smcr_ib_headers_t *roce, smcr_when_t when)
{
    smcr_link_t *found = NULL;

    SMCR_LIST_EACH(smcr_link_t *, link, state->half_known_links) {
        if (!acknowledges(link, roce, when))
            continue;
        if (found)
            return NULL;
        found = link;
    }
    return found;
}

/* The link is in `half_known_links`: exactly one of its queue pairs is known. */
smcr_qp_t *
smcr_link_learn_qp_of_ack(smcr_state_t *state, smcr_link_t *link, const smcr_ib_headers_t *roce)
{
    smcr_qp_t *missing = smcr_qp_peer(known_qp(link));

    smcr_qp_set(state, link, missing->side, &roce->destination, SMCR_GROUND_ACK);
    wmem_list_remove(state->half_known_links, link);
    return missing;
}
