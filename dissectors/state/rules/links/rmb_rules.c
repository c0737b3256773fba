/* RMBs: not too many, each in one link group, announced before CLC names it, and kept while a
 * connection uses it (RFC 7609 2.1, 3.5.2, 3.5.3, A.2.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define LATE (1000 * SMCR_TIME_MILLISECOND) /* RoCE may be captured later than TCP */

/* ---- RMBs in use ---- */

/* Whether the connection is open, as its side that owns the RMB `data` has shown. */
static bool
is_open(const smcr_conn_t *conn, const void *data)
{
    const smcr_rmb_t *rmb = data;

    return smcr_doubt_conn_is_open(conn, rmb->side);
}

const smcr_conn_t *
smcr_rules_find_rmb_user(const smcr_rmb_t *rmb)
{
    return smcr_rmb_is_alive(rmb) ? smcr_rmb_find_conn(rmb, is_open, rmb) : NULL;
}

/* The RKey of an RMB in use names no other RMB (R-A.2.3-10, R-A.3.3-6, R-A.3.5-8). The wire shows
 * the RKey with another address, or for another RMB, while an open connection uses the first one.
 * Nobody misses an RMB that no connection uses, which excuses the announcement. */
void
smcr_rules_check_rkey_in_use(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry,
                             const smcr_link_t *added)
{
    const smcr_conn_t *conn = smcr_rules_find_rmb_user(entry->rmb);

    if (conn)
        smcr_breach_report(arrival, SMCR_EVENT_rkey_in_use,
                           smcr_doubt_use(arrival, conn, entry->rmb->side, added),
                           "RKey 0x%08x is that of another RMB, which connection %u uses",
                           entry->rkey, conn->index);
}

/* ---- RMBs of other groups ---- */

/* Whether no connection uses the RMB any more, or its owner has not shown the use by a CDC
 * message. */
static bool
is_free(const smcr_doubt_proof_t *claim)
{
    const smcr_rmb_t *rmb = claim->about;
    const smcr_conn_t *conn = smcr_rules_find_rmb_user(rmb);

    return !conn || !conn->side[rmb->side].last_cdc_frame;
}

/* Whether an end of a link is at the device of `qp`. */
static bool
is_at_device(const smcr_qp_t *end, const smcr_qp_t *qp)
{
    return end->number_known && smcr_gid_is_same(end->key.gid, qp->key.gid);
}

/* What the RKey names in the group at the device of `qp`; NULL: nothing. */
static const smcr_rmb_rtoken_t *
find_at_device(const smcr_state_t *state, smcr_lgr_t *lgr, const smcr_qp_t *qp, uint32_t rkey)
{
    const smcr_rmb_rtoken_t *found = NULL;

    for (smcr_link_t *link = lgr->newest_link; link && !found; link = smcr_link_older(link))
        for (int side = 0; side < 2 && !found; side++)
            if (is_at_device(&link->qp[side], qp))
                found = smcr_rmb_find(state, &link->qp[side], rkey);
    return found;
}

/* Two link groups share no RMB (R-3.5.3-1): on one device an RKey and an address name one RMB. The
 * wire shows an RMB whose RKey and address are those of an RMB of another group. The other group
 * must live, and its connection must be open until the capture ends: a group may end without a
 * message, and then its memory is free. */
static void
check_shared(const smcr_arrival_t *arrival, const smcr_qp_t *qp, uint32_t rkey, uint64_t va)
{
    const smcr_state_t *state = arrival->state;

    SMCR_LIST_EACH(smcr_lgr_t *, lgr, state->lgrs) {
        const smcr_rmb_rtoken_t *entry =
            lgr == qp->link->lgr || lgr->ended_frame ? NULL : find_at_device(state, lgr, qp, rkey);
        if (!entry || entry->va != va || !smcr_rules_find_rmb_user(entry->rmb))
            continue;
        smcr_doubt_proof_t claim = {.has_come = is_free, .about = entry->rmb};
        smcr_breach_report(arrival, SMCR_EVENT_rkey_in_use,
                           smcr_doubt_later(arrival, lgr, entry->rmb->side, claim),
                           "RKey 0x%08x at this address is an RMB of link group %u as well", rkey,
                           lgr->index);
    }
}

/* ---- new RMBs ---- */

/* A side has at most 255 RMBs in a link group (R-2.1-1). The wire shows the announcement of one
 * more, while no DELETE RKEY is missing. */
bool
smcr_rules_check_new_rmb(const smcr_arrival_t *arrival, const smcr_qp_t *qp, uint32_t rkey,
                         uint64_t va)
{
    const smcr_rmb_rtoken_t *entry = smcr_rmb_find(arrival->state, qp, rkey);
    bool known = entry && smcr_rmb_is_alive(entry->rmb);

    if (known && entry->va != va)
        smcr_rules_check_rkey_in_use(arrival, entry, NULL);
    if (known)
        return entry->va != va || smcr_rules_of_rmb(entry->rmb)->refused_frame;
    check_shared(arrival, qp, rkey, va);
    if (qp->link->lgr->rmb_count[qp->side] >= SMCR_RMBS_MAX)
        smcr_breach_report(
            arrival, SMCR_EVENT_rkey_too_many,
            smcr_doubt_later_adding(arrival, qp->link->lgr, NULL, (smcr_doubt_proof_t){0}),
            "The sender has %u RMBs in the link group already", (unsigned)SMCR_RMBS_MAX);
    return true;
}

/* ---- CLC ---- */

/* Whether CONFIRM RKEY has announced the RMB by now, or the RMB is over. */
SMCR_DOUBT_CLAIM(is_confirmed, const smcr_rmb_t *rmb,
                 rmb->superseded || (rmb->confirmed && !smcr_rules_of_rmb(rmb)->refused_frame))

/* Whether the CONFIRM RKEY of the RMB had been answered by then, or has no answer at all. */
SMCR_DOUBT_CLAIM(was_agreed, const smcr_rules_rmb_t *early, early->agreed_time <= claim->bound)

/* CLC names a new RMB after the response to CONFIRM RKEY (R-3.5.5.2.1-2). The wire shows the
 * response later than the Accept or Confirm. TCP and RoCE are captured at two places of a host,
 * whose clocks may differ by SMCR_TIME_DISORDER. */
static void
check_agreed_before(const smcr_arrival_t *arrival, smcr_rmb_t *rmb)
{
    smcr_doubt_proof_t claim = {.has_come = was_agreed,
                                .about = smcr_rules_rmb(arrival, rmb),
                                .bound = arrival->when.time + SMCR_TIME_DISORDER};

    smcr_breach_report(
        arrival, SMCR_EVENT_rkey_clc_early, smcr_doubt_until(arrival, claim),
        "The CONFIRM RKEY of this RMB is answered later, in the time of the capture");
}

/* In a later contact CONFIRM RKEY announces a new RMB before CLC names it (R-3.5.2-2). The wire
 * shows an Accept or Confirm with a new RMB, and no CONFIRM RKEY up to LATE after it. RoCE may be
 * captured later than TCP, which LATE allows for. Where the capture may miss CONFIRM RKEY, the
 * flow gives a NOTE instead. */
static void
check_announced_by_llc(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    smcr_doubt_proof_t claim = {
        .has_come = is_confirmed, .about = rmb, .deadline = arrival->when.time + LATE};
    smcr_doubt_t doubt = smcr_doubt_later(arrival, rmb->lgr, rmb->side, claim);

    if (!doubt.kind)
        smcr_breach_report(arrival, SMCR_EVENT_rkey_not_announced, doubt,
                           "No CONFIRM RKEY announces the RMB");
}

/* An Accept or Confirm names an RMB. In a later contact its RKey has been announced before. It may
 * also be one RMB too many, or an RKey in use. */
SMCR_RULES_CLC(check_rmb)
{
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    smcr_lgr_t *lgr = message->qp->link->lgr;
    bool is_later_contact = lgr->first_contact_captured && !conn->first_contact;

    if (is_later_contact && !smcr_rmb_find(arrival->state, message->qp, accept->rkey))
        smcr_event_add(arrival, SMCR_EVENT_rkey_not_confirmed, NULL);
    smcr_rules_links(arrival, lgr)->rmb_is_new =
        smcr_rules_check_new_rmb(arrival, message->qp, accept->rkey, accept->va);
}

/* The two rules above, for an RMB that CLC names in a later contact. A known RMB was announced by
 * CONFIRM RKEY too late if the response to it is not there yet. */
SMCR_RULES_CLC(check_named_rmb)
{
    smcr_rmb_t *rmb = conn->side[message->qp->side].rmb;
    bool is_new = smcr_rules_of_links(rmb->lgr)->rmb_is_new;
    bool is_later_contact = rmb->lgr->first_contact_captured && !conn->first_contact;

    if (!is_later_contact || !conn->accept_frame)
        return;
    if (is_new)
        check_announced_by_llc(arrival, rmb);
    if ((is_new || rmb->confirmed) && !rmb->confirm_agreed)
        check_agreed_before(arrival, rmb);
}

/* Which messages a check is asked of; see check_rows.def. */
enum {
    WRONG_SENDER = 1,
    PROPOSAL = 1 << SMCR_CLC_PROPOSAL,
    ACCEPT = 1 << SMCR_CLC_ACCEPT,
    CONFIRM = 1 << SMCR_CLC_CONFIRM,
    DECLINE = 1 << SMCR_CLC_DECLINE,
    OTHER = 1 << (SMCR_CLC_DECLINE + 1),
    AGREE = ACCEPT | CONFIRM,
    ANY = PROPOSAL | AGREE | DECLINE | OTHER,
};

/* The kind of a message is a bit of each property that a row of check_rows.def may ask for. */
void
smcr_rules_check_clc(smcr_rules_when_t when, const smcr_arrival_t *arrival, smcr_conn_t *conn,
                     const smcr_rules_clc_t *message)
{
    unsigned type = message->clc ? message->clc->header.type : 0;
    bool known = type >= SMCR_CLC_PROPOSAL && type <= SMCR_CLC_DECLINE;
    unsigned kind = message->wrong_sender ? WRONG_SENDER : 0;

    if (message->clc)
        kind |= known ? 1U << type : OTHER;

#define SMCR_RULES_CLC_CHECK(step, types, check) \
    if (when == SMCR_RULES_##step && kind & (types)) \
        smcr_rules_clc_##check(arrival, conn, message);
#include "state/rules/check_rows.def"
}
