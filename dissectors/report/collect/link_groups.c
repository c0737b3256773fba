/* Keeps facts of link groups that the state does not keep: identity of the peers, VLAN, version,
 * EID. All other facts of a link group are read from the state when the report is made. An RMB is
 * reported if a message names it in a frame that the report has counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include <stdlib.h>

#include "followed.h"
#include "message/message.h"
#include "fields.h"
#include "report/words/words.h"
#include "wire/wire.h"

/* The identity of a peer, as its Accept or Confirm states it. */
typedef struct {
    /* an Accept or Confirm of SMC-R from this peer has come */
    bool known;
    uint8_t peer_id[SMCR_WIRE_PEER_ID_LENGTH]; /* peer ID, as on the wire */
    uint8_t host_name[SMCR_WIRE_HOST_NAME_LENGTH]; /* host name, as on the wire; all zeros: not
                                                      stated */
    uint8_t os; /* operating system of the peer, enum smcr_clc_os_type; SMCR_CLC_OS_UNSET: not
                   stated */
    uint8_t gid[SMCR_GID_LENGTH];      /* GID of the device that CLC named last */
    uint8_t mac[SMCR_WIRE_MAC_LENGTH]; /* MAC address of this device; all zeros: not stated */
} peer_identity_t;

/* Facts of a link group that are kept while packets come. */
typedef struct {
    const smcr_lgr_t *lgr; /* the link group in the state */
    smcr_when_t first;     /* first frame of the link group that was counted */
    uint32_t vlan;   /* VLAN ID of the last RoCE packet whose VLAN ID is known; 0: none */
    uint8_t version; /* SMC version; 0: not known */
    uint8_t eid[SMCR_WIRE_EID_LENGTH]; /* EID that Accept or Confirm states; all zeros: not
                                          stated */
    peer_identity_t identity[2]; /* identity of the host on each side; index: side of the link
                                    group */
    bool is_over; /* smcr_collect_link_groups_find_over() has found it */
    bool stays;   /* it stays until the end of the capture, since a finding is about it, or about
                     a group that was found with it */
} gathered_group_t;

/* ---- gathering ---- */

/* Returns the facts of a link group; makes them if there are none. */
static gathered_group_t *
group_of(smcr_collect_t *collection, const smcr_lgr_t *lgr, smcr_when_t when)
{
    static const smcr_figure_description_t size = {sizeof(gathered_group_t), 0, NULL};
    gathered_group_t *group = wmem_map_lookup(collection->groups, lgr);

    if (group)
        return group;
    group = smcr_figure_list_add(&collection->group_list, collection->scope, &size);
    group->lgr = lgr;
    group->first = when;
    wmem_map_insert(collection->groups, lgr, group);
    return group;
}

/* Keeps version, EID and identity of the peer from an Accept or Confirm of SMC-R. A message of
 * version 2 has an EID. Only a first contact message of version 2 has operating system and host
 * name (net/smc/smc_clc.h). */
static void
take_clc(smcr_collect_t *collection, gathered_group_t *group, const smcr_tap_t *packet)
{
    const smcr_clc_accept_t *accept = &packet->clc->u.accept;
    uint8_t flags = packet->clc->header.flags;
    peer_identity_t *identity = &group->identity[packet->record->sender];

    if (!smcr_wire_clc_agrees(packet->clc->header.type) || packet->clc->smcd)
        return;
    group->version = smcr_wire_bits(flags, SMCR_MASK_VERSION);
    identity->known = true;
    memcpy(identity->peer_id, accept->peer_id, sizeof identity->peer_id);
    memcpy(identity->gid, accept->gid, sizeof identity->gid);
    memcpy(identity->mac, accept->mac, sizeof identity->mac);
    if (smcr_wire_states_mac(accept->mac))
        smcr_collect_heard_name_device(collection, accept->gid, accept->mac);
    if (group->version < 2)
        return;
    memcpy(group->eid, accept->eid, sizeof group->eid);
    if (!(flags & SMCR_CLC_FLAG_FIRST_CONTACT))
        return;
    identity->os = smcr_wire_bits(accept->os_release, SMCR_MASK_OS);
    memcpy(identity->host_name, accept->host_name, sizeof identity->host_name);
}

/* Packets that a tap in the kernel of a host has copied were not on a network, and show nothing of
 * the group. */
void
smcr_collect_link_groups_take(smcr_collect_t *collection, const packet_info *pinfo,
                              const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;

    if (!record->link || smcr_record_tapped(record))
        return;
    gathered_group_t *group = group_of(collection, record->link->lgr, smcr_capture_when(pinfo));
    uint32_t vlan = packet->roce ? smcr_capture_vlan(pinfo) : 0;
    if (vlan)
        group->vlan = vlan;
    if (packet->clc && record->sender >= 0)
        take_clc(collection, group, packet);
    if (packet->llc && !group->version)
        group->version = smcr_wire_llc_version(packet->llc->type);
}

/* ---- links ---- */

/* Shortest silence at the end of the capture, in nanoseconds, after which a link counts as lost, or
 * is not known to be active any more. */
#define LOST_AFTER SMCR_TIME_SECOND

/* Whether all known connections of the group were closed before `frame`. Then RDMA requests without
 * an acknowledgement do not show that a link is lost: Linux ends an idle group after some
 * minutes. */
static bool
was_group_idle(const smcr_lgr_t *lgr, uint32_t frame)
{
    const smcr_conn_t *conn = lgr->newest_conn;

    while (conn && smcr_conn_has_closed(conn) && conn->last_activity.frame < frame)
        conn = conn->older_in_group;
    return !conn && lgr->released_until < frame;
}

/* Whether the link has ended by a message, so that it does not count as lost: a side has deleted
 * it, or has rejected it before both ends had set it up; or its group has ended. */
static bool
has_ended(const smcr_link_t *link)
{
    bool was_set_up = link->qp[0].number_known && link->qp[1].number_known;

    if (link->state == SMCR_LINK_DELETED || link->lgr->ended_frame)
        return true;
    return link->state == SMCR_LINK_REJECTED && !was_set_up;
}

/* Returns since when requests to `side` of the link get no answer, up to the end of the capture.
 * Returns frame 0 in each of these cases: the side is not silent; less than LOST_AFTER passed from
 * the begin of its silence to the last retransmission; no packet was retransmitted
 * SMCR_COLLECT_LONG_SILENCE times; the group was idle when the silence began; or the flow has no
 * figures. */
static smcr_when_t
silent_since(const smcr_link_t *link, unsigned side, const smcr_collect_t *collection)
{
    const smcr_collect_silence_t *silence =
        smcr_collect_rdma_flows_silence(collection, &link->qp[side]);

    if (!silence || smcr_interval_length(silence->time) < LOST_AFTER)
        return (smcr_when_t){0, 0};
    if (was_group_idle(link->lgr, silence->time.begin.frame))
        return (smcr_when_t){0, 0};
    return silence->time.begin;
}

/* Returns since when the link is lost; frame 0: it is not lost, this is not known, or the link has
 * ended by a message (has_ended()). A link is lost if a side reports that its path is lost, or if
 * requests on it get no answer up to the end of the capture (silent_since()). Missing answers prove
 * nothing if a message that is not captured may have ended the link. A link that both ends have set
 * up, and that then was rejected after a side had reported it as lost, is lost, too. */
static smcr_when_t
lost_since(const smcr_link_t *link, const smcr_collect_t *collection)
{
    if (has_ended(link))
        return (smcr_when_t){0, 0};
    if (link->lost_frame)
        return smcr_collect_when(collection, link->lost_frame);
    if (!smcr_evidence_knows_link(link))
        return (smcr_when_t){0, 0};
    smcr_when_t since = silent_since(link, 0, collection);
    return since.frame ? since : silent_since(link, 1, collection);
}

/* Returns the last packet in which both ends of the link are known to use it: the earlier one of
 * the last packets of both directions. If the capture has only one direction, the last
 * acknowledgement in it: the other end has sent the acknowledged packet. Frame 0: there is none. */
static smcr_when_t
last_use(const smcr_link_t *link, const smcr_collect_t *collection)
{
    smcr_when_t one = smcr_collect_rdma_flows_last(collection, &link->qp[0]);
    smcr_when_t other = smcr_collect_rdma_flows_last(collection, &link->qp[1]);

    if (!one.frame || !other.frame)
        return smcr_collect_rdma_flows_ack(collection, &link->qp[!one.frame]);
    return one.frame < other.frame ? one : other;
}

/* Whether the last requests on the link got no answer for LOST_AFTER or longer, up to the end of
 * the capture: no acknowledgement, and no other packet of their receiver. */
static bool
is_unanswered(const smcr_link_t *link, const smcr_collect_t *collection)
{
    for (unsigned side = 0; side < 2; side++) {
        const smcr_flow_t *flow = &link->qp[side].traffic.flow;
        smcr_when_t asked = smcr_collect_rdma_flows_asked(collection, &link->qp[side]);
        if (asked.frame && flow->acked_psn < flow->highest &&
            asked.time + LOST_AFTER <= collection->capture.last_time)
            return true;
    }
    return false;
}

/* Returns the state of the link at the end of the capture; SMCR_FIGURE_STATUS_UNKNOWN if packets
 * that were not captured may have changed the state. */
static smcr_figure_link_status_t
known_state(const smcr_link_t *link)
{
    static const smcr_figure_link_status_t states[] = {
        [SMCR_LINK_ANNOUNCED] = SMCR_FIGURE_STATUS_UNCONFIRMED,
        [SMCR_LINK_ACTIVE] = SMCR_FIGURE_STATUS_ACTIVE,
        [SMCR_LINK_REJECTED] = SMCR_FIGURE_STATUS_REJECTED,
        [SMCR_LINK_DELETED] = SMCR_FIGURE_STATUS_DELETED};

    return smcr_evidence_knows_link(link) ? states[link->state] : SMCR_FIGURE_STATUS_UNKNOWN;
}

/* Whether a side may have reported the lost path in a missing message before `lost_frame`. */
static bool
may_be_lost_before(const smcr_link_t *link)
{
    return link->lost_frame &&
           smcr_evidence_may_miss_change(link, link->used_before_loss, link->lost_frame);
}

/* Whether a missing message may have deleted the link before its group ended with it. The packets
 * between the link's last use and the end may show the gap only after the end. */
static bool
may_have_ended_before(const smcr_link_t *link)
{
    uint32_t used = link->used_before_end;

    return link->may_have_ended_before ||
           (used && smcr_evidence_may_miss_change(link, used, link->deleted_frame));
}

/* Fills in the state of the link. An active link is known to be active only up to its last use by
 * both ends (last_use()) if packets that were not captured may have changed the state, or if its
 * last requests got no answer. `lost`: since when the link is lost (lost_since()). */
static void
fill_state(smcr_entry_link_t *entry, const smcr_link_t *link, const smcr_collect_t *collection,
           smcr_when_t lost)
{
    smcr_when_t used = last_use(link, collection);
    bool was_used = link->state == SMCR_LINK_ACTIVE && used.frame;

    entry->state = known_state(link);
    if (lost.frame) {
        entry->state = SMCR_FIGURE_STATUS_LOST;
    } else if (was_used && (!entry->state || is_unanswered(link, collection))) {
        entry->state = SMCR_FIGURE_STATUS_ACTIVE;
        entry->state_frame = used;
    }
    if (!link->lost_frame)
        return;
    entry->lost_frame = smcr_collect_when(collection, link->lost_frame);
    if (smcr_evidence_knows_server(link->lgr))
        entry->lost_by = smcr_figure_role(link->lost_by_server);
}

/* Returns the MAC address of the device of a queue pair as text, as CLC states it; NULL: not known.
 * An Accept or Confirm has the GID and the MAC address of one device of its sender: those of the
 * last one of each side are kept. So the device is found if its GID is one of these two. Devices
 * that only LLC messages name are not found. */
static const char *
mac_text(const gathered_group_t *group, const smcr_qp_t *qp, wmem_allocator_t *scope)
{
    for (unsigned side = 0; group && side < 2; side++) {
        const peer_identity_t *identity = &group->identity[side];
        address mac = ADDRESS_INIT(AT_ETHER, SMCR_WIRE_MAC_LENGTH, identity->mac);
        if (smcr_gid_is_same(identity->gid, qp->key.gid) && smcr_wire_states_mac(identity->mac))
            return address_to_str(scope, &mac);
    }
    return NULL;
}

/* Fills in GID, MAC address and number of a queue pair, as far as they are known. */
static void
fill_queue_pair(smcr_entry_queue_pair_t *entry, const smcr_qp_t *qp, const gathered_group_t *group,
                wmem_allocator_t *scope)
{
    if (qp->gid_known) {
        entry->gid = smcr_figure_gid_text(scope, qp->key.gid);
        entry->mac = mac_text(group, qp, scope);
    }
    if (qp->number_known)
        entry->qpn = qp->key.qpn;
}

/* The arguments that the functions which fill in entries of link groups have in common. */
typedef struct {
    const smcr_collect_t *collection; /* the collection of which the report is made */
    bool has_rmbs;          /* the report has the RMBs of link groups */
    wmem_array_t *uses; /* uses of RMBs; element rmb_use_t; sorted by RMB, then by frame
                           (by_rmb()) */
    smcr_figure_maker_t *rmb_maker; /* makes the entries of RMBs */
    wmem_allocator_t *scope; /* memory pool of the report */
} reporter_t;

/* Adds the indices of the link's RDMA flows in the report. */
static void
fill_flows(smcr_entry_link_t *entry, const smcr_link_t *link, const reporter_t *reporter)
{
    for (unsigned side = 0; side < 2; side++) {
        uint64_t flow = smcr_collect_rdma_flows_index(reporter->collection, &link->qp[side]);
        if (flow != SMCR_FIGURE_UNKNOWN)
            smcr_figure_numbers_add(&entry->flows, reporter->scope, flow);
    }
}

/* Fills in when and why the link was deleted. If the state of the link is not known, the deletion
 * stays not known, too. */
static void
fill_deletion(smcr_entry_link_t *entry, const smcr_link_t *link, const reporter_t *reporter)
{
    if (!entry->state || may_have_ended_before(link))
        return;
    entry->deleted_frame = smcr_collect_when(reporter->collection, link->deleted_frame);
    if (link->deleted_frame && link->delete_reason)
        entry->delete_reason = smcr_figure_delete_reason_of(link->delete_reason);
}

/* Fills in why the client rejected the link. If the state of the link is not known, the reason
 * stays not known, too. */
static void
fill_rejection(smcr_entry_link_t *entry, const smcr_link_t *link)
{
    if (entry->state == SMCR_FIGURE_STATUS_REJECTED)
        entry->reject_reason =
            val_to_str_const(link->reject_reason, smcr_values_reject_reasons, "unknown reason");
}

/* Adds a state of the link, with the frames in which the state begins and ends; frame 0: not
 * known. */
static void
add_state(smcr_entry_link_t *entry, const reporter_t *reporter, smcr_figure_link_status_t state,
          smcr_when_t begin, smcr_when_t end)
{
    smcr_entry_link_state_t *added = SMCR_FIGURE_ADD(link_state, &entry->states, reporter->scope);

    added->state = state;
    added->begin_frame = begin;
    added->end_frame = end;
}

/* How a link ended. Frame 0: not known. */
typedef struct {
    bool was_lost;    /* the link has been in the state "lost" */
    bool is_over;     /* the link was deleted or rejected, and is not lost */
    smcr_when_t gone; /* frame since which the link is lost, deleted or rejected */
    smcr_when_t lost; /* frame since which it is lost */
    smcr_when_t over; /* frame in which it was deleted or rejected */
} link_end_t;

/* Whether the silence by which the link is lost may have begun before its first captured request
 * without an answer, `lost`: requests before it are missing, or came out of order. */
static bool
may_be_silent_before(const smcr_link_t *link, smcr_when_t lost)
{
    return !link->lost_frame && lost.frame &&
           smcr_evidence_lacks_between(link->lgr, smcr_link_last_use(link), lost.frame);
}

/* Returns the frame since which the link is lost, or was lost before it was deleted or rejected.
 * Frame 0: never lost, or not known. `lost`: the result of lost_since(). */
static smcr_when_t
lost_from(const smcr_link_t *link, const smcr_collect_t *collection, smcr_when_t lost)
{
    if (may_be_lost_before(link) || may_be_silent_before(link, lost))
        return (smcr_when_t){0, 0};
    return lost.frame ? lost : smcr_collect_when(collection, link->lost_frame);
}

/* Whether the link was deleted or rejected, as far as this is known. */
static bool
has_been_removed(const smcr_entry_link_t *entry, const smcr_link_t *link)
{
    return entry->state &&
           (link->state == SMCR_LINK_REJECTED || link->state == SMCR_LINK_DELETED);
}

/* Whether a host reported the path of the link as lost before the link ended. */
static bool
was_lost_before_end(const smcr_link_t *link)
{
    return link->lost_frame && link->lost_frame < link->state_frame;
}

/* Returns how the link ended. `lost`: as for fill_states(). */
static link_end_t
end_of(const smcr_entry_link_t *entry, const smcr_link_t *link, const smcr_collect_t *collection,
       smcr_when_t lost)
{
    link_end_t end = {.is_over = !lost.frame && has_been_removed(entry, link)};

    end.was_lost = lost.frame || (end.is_over && was_lost_before_end(link));
    if (end.was_lost)
        end.lost = lost_from(link, collection, lost);
    if (end.is_over && !may_have_ended_before(link))
        end.over = smcr_collect_when(collection, link->state_frame);
    if (!may_be_lost_before(link))
        end.gone = end.was_lost ? end.lost : end.over;
    return end;
}

/* Whether the link may have been in use, although the capture has no packet of it. A link that the
 * hosts gave up in its setup was never in use. */
static bool
was_unseen(const smcr_collect_t *collection, const smcr_link_t *link)
{
    uint32_t over = link->lost_frame ? link->lost_frame : link->deleted_frame;

    return smcr_evidence_was_unseen(link) &&
           !smcr_words_link_wait_ran_out(smcr_collect_when(collection, link->added_frame),
                                         smcr_collect_when(collection, over));
}

/* Whether the capture shows nothing of the link but the request to confirm it: then nothing proves
 * that the link became active. */
static bool
was_only_asked(const smcr_link_t *link)
{
    const smcr_flow_t *flow = &link->qp[0].traffic.flow, *other = &link->qp[1].traffic.flow;
    const smcr_flow_t *asked = flow->packet_count ? flow : other;

    if (!link->confirm_frame || link->active_frame)
        return false;
    return MIN(flow->packet_count, other->packet_count) == 0 && asked->first == asked->highest;
}

/* Whether the capture shows that the link was unconfirmed once. An Accept without the flag first
 * contact names a link that was confirmed before. If nothing else shows the link, its number is not
 * known. */
static bool
was_unconfirmed(const smcr_link_t *link)
{
    return link->is_announced || link->active_frame || (!link->was_active && link->has_number);
}

/* Fills in the states that the link had, each with the frames in which the state begins and ends. A
 * link is unconfirmed until its CONFIRM LINK is answered, then active, then lost, and at last
 * rejected or deleted.
 * Frame 0: not captured, or not known, since an earlier message may be missing. While entry->state
 * is not known, the states "rejected" and "deleted" are left out. `lost`: since when the link is
 * lost (lost_since()). */
static void
fill_states(smcr_entry_link_t *entry, const smcr_link_t *link, const reporter_t *reporter,
            smcr_when_t lost)
{
    const smcr_collect_t *collection = reporter->collection;
    smcr_when_t none = {0, 0}, active = smcr_collect_when(collection, link->active_frame);
    link_end_t end = end_of(entry, link, collection, lost);
    smcr_when_t unconfirmed_until = was_unseen(collection, link) ? none : end.gone;

    if (was_unconfirmed(link))
        add_state(entry, reporter, SMCR_FIGURE_STATUS_UNCONFIRMED,
                  link->is_announced ? smcr_collect_when(collection, link->added_frame) : none,
                  link->was_active ? active : unconfirmed_until);
    if (link->was_active && !was_only_asked(link))
        add_state(entry, reporter, SMCR_FIGURE_STATUS_ACTIVE, active, end.gone);
    if (end.was_lost)
        add_state(entry, reporter, SMCR_FIGURE_STATUS_LOST, end.lost, end.over);
    if (end.is_over)
        add_state(entry, reporter, (smcr_figure_link_status_t)entry->state, end.over, none);
}

/* Fills in the entry of a link from the state, and the moves of connections from the collection. */
static void
fill_link(smcr_entry_link_t *entry, const smcr_link_t *link, const reporter_t *reporter)
{
    const smcr_collect_t *collection = reporter->collection;
    const smcr_collect_moves_t *moves = wmem_map_lookup(collection->moves, link);
    const gathered_group_t *group = wmem_map_lookup(collection->groups, link->lgr);
    int client = smcr_lgr_client_side(link->lgr);
    int mtu = smcr_link_mtu(link);
    smcr_when_t lost = lost_since(link, collection);

    entry->index = link->index;
    if (link->has_number)
        entry->number = link->number;
    fill_state(entry, link, collection, lost);
    if (mtu)
        entry->mtu_bytes = (uint64_t)mtu;
    fill_queue_pair(&entry->client, &link->qp[client], group, reporter->scope);
    fill_queue_pair(&entry->server, &link->qp[!client], group, reporter->scope);
    entry->added_frame = smcr_collect_when(collection, link->added_frame);
    fill_deletion(entry, link, reporter);
    fill_rejection(entry, link);
    fill_states(entry, link, reporter, lost);
    if (moves) {
        entry->moved_from = moves->from;
        entry->moved_to = moves->to;
    }
    fill_flows(entry, link, reporter);
}

/* Adds the entries of all links of the group, the oldest link first. (The list of the state has the
 * newest link first.) */
static void
fill_links(smcr_entry_link_group_t *entry, const smcr_lgr_t *lgr, const reporter_t *reporter)
{
    wmem_array_t *links = wmem_array_new(reporter->scope, sizeof(const smcr_link_t *));

    for (const smcr_link_t *link = lgr->newest_link; link; link = link->older_in_group)
        wmem_array_append_one(links, link);
    for (unsigned i = wmem_array_get_count(links); i > 0; i--)
        fill_link(SMCR_FIGURE_ADD(link, &entry->links, reporter->scope),
                  *(const smcr_link_t **)wmem_array_index(links, i - 1), reporter);
}

/* ---- RMBs: RFC 7609 4.2, A.3.3, A.3.5 to A.3.7 ---- */

/* The use of an RMB by a connection, as an Accept or Confirm states it. */
typedef struct {
    const smcr_rmb_t *rmb; /* the RMB, in the state */
    /* frame of the Accept or Confirm that names the RMB */
    uint32_t frame;
    uint32_t stream; /* number of the connection (smcr.stream) */
    uint32_t size; /* size of the connection's RMB element, bytes */
} rmb_use_t;

/* Whether the report has counted the frame. A display filter of the report may exclude the frame.
 * Returns false for frame 0, which stands for no frame. */
static bool
has_seen(const reporter_t *reporter, uint32_t frame)
{
    return frame && smcr_collect_when(reporter->collection, frame).frame;
}

/* Compares two uses: by the addresses of their RMBs, then by their frames. uses_of() searches in
 * this order, and the last use of an RMB gives its size. */
static int
by_rmb(const void *one, const void *other)
{
    const rmb_use_t *a = one, *b = other;
    uintptr_t first = (uintptr_t)a->rmb, second = (uintptr_t)b->rmb;

    if (first != second)
        return (first > second) - (first < second);
    return (a->frame > b->frame) - (a->frame < b->frame);
}

/* Adds the uses of the RMBs of the link group. The server names its RMB in CLC Accept, the client
 * in CLC Confirm. */
static void
add_uses(const reporter_t *reporter, const smcr_lgr_t *lgr)
{
    if (!lgr->newest_link) /* the state has joined it to another group */
        return;
    for (const smcr_conn_t *conn = lgr->newest_conn; conn; conn = conn->older_in_group) {
        for (int side = 0; side < 2; side++) {
            uint32_t frame = side == lgr->server ? conn->accept_frame : conn->confirm_frame;
            const smcr_conn_side_t *named = &conn->side[side];
            if (named->rmb && named->rmb->lgr == lgr && has_seen(reporter, frame))
                wmem_array_append_one(
                    reporter->uses,
                    ((rmb_use_t){named->rmb->first, frame, conn->index, named->size}));
        }
    }
}

/* Returns the address of the RMB of a use: the key by which smcr_sorted_first() searches. */
static uint64_t
rmb_of(const void *uses, uint32_t index)
{
    return (uintptr_t)((const rmb_use_t *)uses)[index].rmb;
}

/* Returns the first use of the RMB; its other uses follow it in memory. Stores in `*count` how many
 * uses the RMB has; if it has none, the returned pointer must not be read. */
static const rmb_use_t *
uses_of(const reporter_t *reporter, const smcr_rmb_t *rmb, unsigned *count)
{
    const rmb_use_t *all = wmem_array_get_raw(reporter->uses);
    unsigned length = wmem_array_get_count(reporter->uses);
    unsigned first = smcr_sorted_first(all, length, rmb_of, (uintptr_t)rmb);

    for (*count = 0; first + *count < length && all[first + *count].rmb == rmb; ++*count)
        continue;
    return all + first;
}

/* Adds the RKeys of an RMB in the order in which messages announced the RKeys, without those of
 * rejected links. The list of the state has the newest RKey first, so the function calls itself for
 * the rest of the list first. */
static void
report_rkeys(wmem_allocator_t *scope, const smcr_rmb_rtoken_t *rtoken, smcr_entry_rmb_t *entry)
{
    if (!rtoken)
        return;
    report_rkeys(scope, smcr_rmb_rtoken_next(rtoken), entry);
    const smcr_link_t *link = rtoken->owner->link;
    if (!entry->va)
        entry->va = smcr_figure_hex_text(scope, rtoken->va, 8);
    if (link->state == SMCR_LINK_REJECTED)
        return; /* a rejected link carries no RDMA WRITEs */
    smcr_entry_rmb_rkey_t *rkey = SMCR_FIGURE_ADD(rmb_rkey, &entry->rkeys, scope);
    rkey->link = link->has_number ? link->number : SMCR_FIGURE_UNKNOWN;
    rkey->rkey = smcr_figure_hex_text(scope, rtoken->rkey, 4);
}

/* Makes the entry of an RMB. `source`: its smcr_rmb_t. What the entry points to is allocated in the
 * maker's pool, which is emptied before the next entry is made. */
static void
make_rmb(const smcr_figure_maker_t *maker, void *made, const void *source)
{
    const reporter_t *reporter = maker->context;
    const smcr_rmb_t *rmb = source;
    unsigned count;
    const rmb_use_t *uses = uses_of(reporter, rmb, &count);
    smcr_entry_rmb_t *entry = made;

    if (smcr_evidence_knows_server(rmb->lgr))
        entry->owner = smcr_figure_role(rmb->side == rmb->lgr->server);
    entry->confirmed_frame = smcr_collect_when(reporter->collection, rmb->confirm_frame);
    entry->deleted_frame = smcr_collect_when(reporter->collection, rmb->delete_frame);
    for (unsigned i = 0; i < count; i++) {
        entry->size_bytes = uses[i].size; /* if the messages differ, the last one counts */
        smcr_figure_numbers_add(&entry->streams, maker->scope, uses[i].stream);
    }
    report_rkeys(maker->scope, rmb->rtokens, entry);
}

/* Whether the report has the RMB: a CLC message or a CONFIRM RKEY names it in a frame that the
 * report has counted. Of several objects for the same memory, only the oldest one is in the report
 * (smcr_rmb_t.first). */
static bool
is_named(const reporter_t *reporter, const smcr_rmb_t *rmb)
{
    unsigned count;

    if (rmb->first != rmb)
        return false;
    uses_of(reporter, rmb, &count);
    return count || has_seen(reporter, rmb->confirm_frame);
}

/* Adds the RMBs of a link group, the oldest first. Their entries are made one by one
 * (smcr_figure_maker_t). */
static void
report_rmbs(const smcr_lgr_t *lgr, const reporter_t *reporter, smcr_figure_list_t *list)
{
    uint32_t at;

    for (const smcr_rmb_t *rmb = lgr->newest_rmb; rmb; rmb = rmb->older)
        list->length += is_named(reporter, rmb);
    list->maker = reporter->rmb_maker;
    list->entries = wmem_alloc_array(reporter->scope, void *, list->length + 1);
    at = list->length;
    for (smcr_rmb_t *rmb = lgr->newest_rmb; rmb; rmb = rmb->older)
        if (is_named(reporter, rmb))
            list->entries[--at] = rmb;
}

/* ---- groups ---- */

/* Looks at all links of the group, also at deleted ones. */
bool
smcr_collect_link_groups_has_unseen(const smcr_collect_t *collection, const smcr_lgr_t *lgr)
{
    const smcr_link_t *link = lgr->newest_link;

    while (link && !was_unseen(collection, link))
        link = smcr_link_older(link);
    return link;
}

/* Whether the link is active, or was active when its link group ended. The latter holds for a link
 * that has carried packets and was deleted in the frame in which its group ended. */
static bool
was_active(const smcr_link_t *link)
{
    const smcr_lgr_t *lgr = link->lgr;

    return link->state == SMCR_LINK_ACTIVE ||
           (lgr->ended_frame && link->deleted_frame == lgr->ended_frame && link->packet_count);
}

/* Whether both ends had announced their queue pairs of the link, the capture has no packet of it,
 * and it ended together with its group: nothing shows whether the link was active at the end. */
static bool
may_have_ended_with_group(const smcr_link_t *link)
{
    const smcr_lgr_t *lgr = link->lgr;

    return lgr->ended_frame && link->deleted_frame == lgr->ended_frame &&
           smcr_evidence_never_saw(link);
}

/* Whether the link may be active without a packet in the capture that shows it. There are three
 * cases:
 * 1. the state of the link is not known;
 * 2. the link was announced, has no packets yet, and its CONFIRM LINK may still come;
 * 3. nothing shows whether the link was active when its group ended (may_have_ended_with_group()).
 * Cases 2 and 3 do not hold if the setup of the group's links is known to have failed
 * (smcr_evidence_never_confirmed()). */
static bool
may_be_in_use(const smcr_link_t *link)
{
    bool is_waiting = link->state == SMCR_LINK_ANNOUNCED && !link->packet_count;
    bool is_unseen = is_waiting || may_have_ended_with_group(link);

    return !smcr_evidence_knows_link(link) ||
           (is_unseen && !smcr_evidence_never_confirmed(link->lgr));
}

/* Stores the two oldest active links of the group (was_active()) in `active`; NULL: there is none.
 * Returns true if the capture proves that no other link of the group is active, or that two links
 * are active. Returns false if a link may be active that is not in `active`. */
static bool
find_active_links(const smcr_lgr_t *lgr, const smcr_collect_t *collection,
                  const smcr_link_t *active[2])
{
    for (const smcr_link_t *link = lgr->newest_link; link; link = link->older_in_group) {
        if (may_be_in_use(link))
            return false;
        if (!was_active(link))
            continue;
        active[1] = active[0];
        active[0] = link;
    }
    return active[1] || !(smcr_evidence_may_lack_link(lgr) ||
                          smcr_collect_link_groups_has_unseen(collection, lgr));
}

/* Returns the type of the link group (RFC 7609, 2.2); SMCR_FIGURE_GROUP_UNKNOWN: not known. The
 * type follows from the number of active links, and from the side on which two links share an RNIC.
 * A group that has ended has the type that it had at its end. If the capture starts after the first
 * contact, a second link may not be captured, and the type is not known. */
static smcr_figure_group_type_t
type_of(const smcr_lgr_t *lgr, const smcr_collect_t *collection)
{
    const smcr_link_t *active[2] = {NULL, NULL};
    int client = smcr_lgr_client_side(lgr);

    if (!find_active_links(lgr, collection, active))
        return SMCR_FIGURE_GROUP_UNKNOWN;
    if (!active[1])
        return active[0] ? SMCR_FIGURE_GROUP_SINGLE : SMCR_FIGURE_GROUP_NONE;
    if (smcr_link_shares_device(active[0], active[1], client))
        return SMCR_FIGURE_GROUP_ASYMMETRIC_LOCAL;
    return smcr_link_shares_device(active[0], active[1], !client)
               ? SMCR_FIGURE_GROUP_ASYMMETRIC_PEER
               : SMCR_FIGURE_GROUP_SYMMETRIC;
}

/* Returns a name from a CLC message as text; NULL: the name is empty, its bytes are only
 * padding. */
static const char *
name_of(wmem_allocator_t *scope, const uint8_t *bytes, unsigned length)
{
    const char *name = smcr_item_peer_text(scope, bytes, length);

    return *name ? name : NULL;
}

/* Fills in what CLC messages state about a peer. If no Accept or Confirm was captured, the members
 * stay not known. */
static void
fill_peer(smcr_entry_peer_t *entry, const peer_identity_t *identity, wmem_allocator_t *scope)
{
    if (!identity->known)
        return;
    entry->peer_id = wmem_strdup_printf(
        scope, "0x%s", bytes_to_str(scope, identity->peer_id, SMCR_WIRE_PEER_ID_LENGTH));
    entry->host_name = name_of(scope, identity->host_name, SMCR_WIRE_HOST_NAME_LENGTH);
    if (identity->os != SMCR_CLC_OS_UNSET)
        entry->system = val_to_str_const(identity->os, smcr_values_os_types, "unknown");
}

/* Returns the type of the link group that a host reports over netlink, as the client sees the type.
 * Returns SMCR_FIGURE_GROUP_UNKNOWN if the reported number stands for no type. A host reports
 * "asymmetric local" and "asymmetric peer" from its own point of view, so the types in a server's
 * report are swapped. */
static smcr_figure_group_type_t
netlink_type(const smcr_told_lgr_t *reported, bool by_server)
{
    static const smcr_figure_group_type_t types[2][5] = {
        {[1] = SMCR_FIGURE_GROUP_SINGLE, SMCR_FIGURE_GROUP_SYMMETRIC,
         SMCR_FIGURE_GROUP_ASYMMETRIC_PEER, SMCR_FIGURE_GROUP_ASYMMETRIC_LOCAL},
        {[1] = SMCR_FIGURE_GROUP_SINGLE, SMCR_FIGURE_GROUP_SYMMETRIC,
         SMCR_FIGURE_GROUP_ASYMMETRIC_LOCAL, SMCR_FIGURE_GROUP_ASYMMETRIC_PEER}};
    bool is_type = reported->type > 0 && reported->type < 5;

    return is_type ? types[by_server][reported->type] : SMCR_FIGURE_GROUP_UNKNOWN;
}

/* Fills in the host name of a peer from a netlink report, if CLC has not shown the name. */
static void
name_peer(smcr_entry_peer_t *peer, const smcr_told_lgr_t *reported)
{
    if (!peer->host_name && *reported->peer_host)
        peer->host_name = reported->peer_host;
}

/* Fills in facts that hosts report over netlink, if CLC and LLC messages have not shown them: type,
 * EID, host names. A host reports the name of its peer, so the client's report has the server's
 * name. */
static void
fill_from_netlink(smcr_entry_link_group_t *entry, const smcr_lgr_t *lgr, int client)
{
    for (int side = 0; side < 2; side++) {
        const smcr_told_lgr_t *reported = lgr->netlink_reported[side];
        bool by_client = side == client;

        if (!reported)
            continue;
        if (entry->type == SMCR_FIGURE_GROUP_UNKNOWN)
            entry->type = netlink_type(reported, !by_client);
        name_peer(by_client ? &entry->peers.server : &entry->peers.client, reported);
        if (!entry->eid && *reported->eid)
            entry->eid = reported->eid;
    }
}

/* Adds the entry of a link group with its links and RMBs, unless the state has joined the group to
 * another one, whose entry then has its links. If it is not known which side is the server, side 0
 * counts as the client, and `ends` names both sides without roles. */
static void
report_group(const gathered_group_t *group, const reporter_t *reporter, smcr_figure_list_t *list)
{
    wmem_allocator_t *scope = reporter->scope;
    const smcr_lgr_t *lgr = group->lgr;

    if (!lgr->newest_link) /* the state has joined it to another group */
        return;
    smcr_entry_link_group_t *entry = SMCR_FIGURE_ADD(link_group, list, scope);
    int client = smcr_lgr_client_side(lgr);

    entry->index = smcr_collect_lgr_number(lgr);
    entry->version = smcr_figure_version_of(group->version ? group->version : lgr->version,
                                            smcr_lgr_release(lgr));
    entry->type = type_of(lgr, reporter->collection);
    fill_peer(&entry->peers.client, &group->identity[client], scope);
    fill_peer(&entry->peers.server, &group->identity[!client], scope);
    entry->eid = name_of(scope, group->eid, SMCR_WIRE_EID_LENGTH);
    fill_from_netlink(entry, lgr, client);
    if (group->vlan)
        entry->vlan = group->vlan;
    entry->first_frame = group->first;
    entry->ended_frame = smcr_collect_when(reporter->collection, lgr->ended_frame);
    fill_links(entry, lgr, reporter);
    const smcr_entry_link_t *link = entry->links.entries[0];
    if (!smcr_evidence_knows_server(lgr))
        entry->ends = smcr_figure_ends(scope, link->client.gid, link->server.gid);
    if (reporter->has_rmbs)
        report_rmbs(lgr, reporter, &entry->rmbs);
}

SMCR_FIGURE_ORDER(by_index, gathered_group_t *const, group, (*group)->lgr->index)

/* If the report has RMBs, lists which connections used which RMB, for all groups, and sorts the
 * list once, before the first group is reported. */
void
smcr_collect_link_groups_report(const smcr_collect_t *collection, smcr_collect_groups_t groups,
                                smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    uint32_t count = collection->group_list.length;
    bool has_rmbs = groups == SMCR_COLLECT_GROUPS_WITH_RMBS;
    reporter_t *reporter = wmem_new(scope, reporter_t); /* the maker needs it as long as there is
                                                           the report */

    if (!count)
        return;
    *reporter = (reporter_t){
        .collection = collection,
        .has_rmbs = has_rmbs,
        .uses = wmem_array_new(scope, sizeof(rmb_use_t)),
        .rmb_maker = smcr_figure_maker_new(scope, &smcr_entry_rmb_description, make_rmb, reporter),
        .scope = scope,
    };
    void **sorted = wmem_memdup(scope, collection->group_list.entries, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_index);
    for (uint32_t i = 0; has_rmbs && i < count; i++) {
        const gathered_group_t *group = sorted[i];
        add_uses(reporter, group->lgr);
    }
    wmem_array_sort(reporter->uses, by_rmb);
    for (uint32_t i = 0; i < count; i++) {
        const gathered_group_t *group = sorted[i];
        if (group->is_over || groups != SMCR_COLLECT_GROUPS_OVER)
            report_group(group, reporter, list);
    }
}

/* ---- letting go ---- */

/* Whether the time `patience->idle` has passed since the last packet, `when`. Also true if there
 * has been no packet (frame 0). */
static bool
is_long_ago(smcr_when_t when, const smcr_collection_patience_t *patience)
{
    return !when.frame ||
           (patience->now >= when.time && patience->now - when.time >= patience->idle);
}

/* Whether no packet of the flow to `to` has come for long, and nothing has happened to its
 * packets. */
static bool
is_flow_over(const smcr_collect_t *collection, const smcr_qp_t *to,
             const smcr_collection_patience_t *patience)
{
    return is_long_ago(smcr_collect_rdma_flows_last(collection, to), patience) &&
           smcr_collect_followed_is_calm(wmem_map_lookup(collection->rdma, to));
}

/* Whether the collection has a connection of the link group: lines about it name the group. */
static bool
has_connection(const smcr_collect_t *collection, const smcr_lgr_t *lgr)
{
    const smcr_conn_t *conn = lgr->newest_conn;

    while (conn && !wmem_map_contains(collection->conns, conn))
        conn = conn->older_in_group;
    return conn;
}

/* Whether no flow of the group's links is expected to go on (is_flow_over()). */
static bool
are_flows_over(const smcr_collect_t *collection, const smcr_lgr_t *lgr,
               const smcr_collection_patience_t *patience)
{
    for (const smcr_link_t *link = lgr->newest_link; link; link = link->older_in_group)
        for (unsigned side = 0; side < 2; side++)
            if (!is_flow_over(collection, &link->qp[side], patience))
                return false;
    return true;
}

/* Whether the link group is over, as smcr_collect_link_groups_find_over() says. In a second pass
 * the state knows the end of a group before the frame comes that ends it. */
static bool
is_group_over(const smcr_collect_t *collection, const smcr_lgr_t *lgr,
              const smcr_collection_patience_t *patience)
{
    smcr_when_t ended = smcr_collect_when(collection, lgr->ended_frame);
    bool is_past = ended.frame && ended.frame <= patience->frame;

    if (!is_past || !is_long_ago(ended, patience) || !lgr->first_contact_captured)
        return false;
    return are_flows_over(collection, lgr, patience) && !has_connection(collection, lgr);
}

/* Sets `is_over` of the flows of link groups that are over. */
static void
mark_flows(smcr_collect_t *collection)
{
    for (uint32_t i = 0; i < collection->rdma_list.length; i++) {
        smcr_collect_followed_t *flow = collection->rdma_list.entries[i];
        const gathered_group_t *group =
            flow->to ? wmem_map_lookup(collection->groups, flow->to->link->lgr) : NULL;
        flow->is_over = group && group->is_over;
    }
}

bool
smcr_collect_link_groups_find_over(smcr_collect_t *collection,
                                   const smcr_collection_patience_t *patience)
{
    const smcr_figure_list_t *list = &collection->group_list;
    bool found = false;

    for (uint32_t i = 0; i + 1 < list->length; i++) {
        gathered_group_t *group = list->entries[i];
        group->is_over = !group->stays && is_group_over(collection, group->lgr, patience);
        found |= group->is_over;
    }
    if (found)
        mark_flows(collection);
    return found;
}

/* Frees what the maps have of the links of a group. */
static void
forget_links(smcr_collect_t *collection, const smcr_lgr_t *lgr)
{
    for (const smcr_link_t *link = lgr->newest_link; link; link = link->older_in_group) {
        wmem_free(collection->scope, wmem_map_remove(collection->link_flows, link));
        wmem_free(collection->scope, wmem_map_remove(collection->moves, link));
    }
}

/* Frees the facts of a link group that is over. */
static void
free_group(smcr_collect_t *collection, gathered_group_t *group)
{
    smcr_collect_bits_set(collection->gone_groups, group->lgr->index);
    forget_links(collection, group->lgr);
    wmem_map_remove(collection->groups, group->lgr);
    wmem_free(collection->scope, group);
}

bool
smcr_collect_link_groups_has_gone(const smcr_collect_t *collection, const smcr_tap_t *packet)
{
    const smcr_link_t *link = packet->record->link;

    return link && smcr_collect_bits_has(collection->gone_groups, link->lgr->index);
}

void
smcr_collect_link_groups_let_go(smcr_collect_t *collection, bool may_go)
{
    smcr_figure_list_t *list = &collection->group_list;
    uint32_t kept = 0;

    if (may_go)
        smcr_collect_followed_let_go(collection);
    for (uint32_t i = 0; i < list->length; i++) {
        gathered_group_t *group = list->entries[i];
        if (group->is_over && may_go) {
            free_group(collection, group);
            continue;
        }
        group->stays |= group->is_over;
        list->entries[kept++] = group;
    }
    list->length = kept;
}
