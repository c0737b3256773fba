/* Rules for RMBs: not too many, each in one link group, announced before CLC names it, and kept
 * while a connection uses it (RFC 7609 2.1, 3.5.2, 3.5.3, A.2.3).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define LATE (1000 * SMCR_TIME_MILLISECOND) /* maximum time by which RoCE packets may be later in a
                                               capture than TCP packets that were sent at the same
                                               time */

/* ---- RMBs in use ---- */

/* Whether the connection is open for the owner of the RMB `data`, as far as the capture shows. */
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

/* The RKey of an RMB in use names no other RMB (R-A.2.3-10, R-A.3.3-6, R-A.3.5-8). A message breaks
 * the rule if it gives the RKey to another address or another RMB, while an open connection uses
 * the RMB that the RKey has named so far. If no connection uses this RMB, the RKey is free. */
void
smcr_rules_check_rkey_in_use(const smcr_arrival_t *arrival, const smcr_rmb_rtoken_t *entry,
                             const smcr_link_t *added)
{
    const smcr_conn_t *conn = smcr_rules_find_rmb_user(entry->rmb);

    if (conn)
        smcr_breach_report_unless(arrival, SMCR_EVENT_rkey_in_use,
                                  smcr_doubt_use(arrival, conn, entry->rmb->side, added),
                                  "RKey 0x%08x is that of another RMB, which connection %u uses",
                                  entry->rkey, conn->index);
}

/* ---- RMBs of other groups ---- */

/* True if the report of check_shared() has to be withdrawn later: no connection uses the RMB any
 * more, or its owner has not proven the use by a CDC message. */
static bool
is_free(const smcr_doubt_proof_t *claim)
{
    const smcr_rmb_t *rmb = claim->about;
    const smcr_conn_t *conn = smcr_rules_find_rmb_user(rmb);

    return !conn || !conn->side[rmb->side].last_cdc_frame;
}

/* Whether the queue pair `end` is on the same device as the queue pair `qp`. */
static bool
is_at_device(const smcr_qp_t *end, const smcr_qp_t *qp)
{
    return end->number_known && smcr_gid_is_same(end->key.gid, qp->key.gid);
}

/* The RToken of `rkey` on any link of the group that uses the device of `qp`; NULL: none. */
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

/* Two link groups share no RMB (R-3.5.3-1). On one device, an RKey with an address names one RMB.
 * An announcement breaks the rule if an RMB of another group has its RKey and its address. The
 * other group must not have ended, and its connection must be open until the end of the capture: a
 * group may end without a message, and its memory is then free. */
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
        smcr_breach_report_unless(arrival, SMCR_EVENT_rkey_in_use,
                                  smcr_doubt_later(arrival, lgr, entry->rmb->side, claim),
                                  "RKey 0x%08x at this address is an RMB of link group %u as well",
                                  rkey, lgr->index);
    }
}

/* ---- new RMBs ---- */

/* A side has at most 255 RMBs in a link group (R-2.1-1). An announcement of one more breaks the
 * rule, if no DELETE RKEY is missing. The function also checks whether the RKey is in use
 * (smcr_rules_check_rkey_in_use()), and whether the RMB belongs to another group
 * (check_shared()). */
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
        smcr_breach_report_unless(
            arrival, SMCR_EVENT_rkey_too_many,
            smcr_doubt_later_adding(arrival, qp->link->lgr, NULL, (smcr_doubt_proof_t){0}),
            "The sender already has %u RMBs in the link group", (unsigned)SMCR_RMBS_MAX);
    return true;
}

/* ---- RMBs in CLC messages ---- */

/* True if the report of check_announced_by_llc() has to be withdrawn later: CONFIRM RKEY has
 * announced the RMB, or the RMB is superseded, so that no RKey names it any more. */
SMCR_DOUBT_CLAIM(is_confirmed, const smcr_rmb_t *rmb,
                 rmb->superseded || (rmb->confirmed && !smcr_rules_of_rmb(rmb)->refused_frame))

/* True if the NOTE of check_unconfirmed() has to be withdrawn later: CONFIRM RKEY announces the RMB
 * after the CLC message, so that the two are in the wrong order, or times of two clocks. A CONFIRM
 * RKEY for an RMB that a connection may have used makes a new object, without a withdrawal. */
SMCR_DOUBT_CLAIM(is_confirmed_late, const smcr_rmb_t *rmb,
                 rmb->confirmed || (rmb->superseded && !rmb->deleted_frame))

/* True if the report of check_agreed_before() has to be withdrawn later: the response to CONFIRM
 * RKEY came in time, or no response has come. `bound`: latest time for the response, nanoseconds
 * since the epoch. */
SMCR_DOUBT_CLAIM(was_agreed, const smcr_rules_rmb_t *early, early->agreed_time <= claim->bound)

/* CLC names a new RMB only after the response to CONFIRM RKEY (R-3.5.5.2.1-2). An Accept or Confirm
 * breaks the rule if the response comes later. A difference of up to SMCR_TIME_DISORDER is allowed,
 * since TCP and RoCE may be captured at two places with two clocks. */
static void
check_agreed_before(const smcr_arrival_t *arrival, smcr_rmb_t *rmb)
{
    smcr_doubt_proof_t claim = {.has_come = was_agreed,
                                .about = smcr_rules_rmb(arrival, rmb),
                                .bound = arrival->when.time + SMCR_TIME_DISORDER};

    smcr_breach_report_unless(
        arrival, SMCR_EVENT_rkey_clc_early, smcr_doubt_until(arrival, claim),
        "The CONFIRM RKEY of this RMB is answered later, by the time stamps of the capture");
}

/* In a later contact CONFIRM RKEY announces a new RMB before CLC names it (R-3.5.2-2). An Accept or
 * Confirm with a new RMB breaks the rule if no CONFIRM RKEY announces the RMB by the time LATE
 * after this CLC message. LATE is for captures whose RoCE packets come later than TCP. If CONFIRM
 * RKEY may be missing in the capture, this check reports nothing: the room state/flow adds an event
 * of severity NOTE. */
static void
check_announced_by_llc(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    smcr_doubt_proof_t claim = {
        .has_come = is_confirmed, .about = rmb, .deadline = arrival->when.time + LATE};
    smcr_doubt_t doubt = smcr_doubt_later(arrival, rmb->lgr, rmb->side, claim);

    if (!doubt.kind)
        smcr_breach_report_unless(arrival, SMCR_EVENT_rkey_not_announced, doubt,
                                  "No CONFIRM RKEY announces the RMB");
}

/* Notes that no captured CONFIRM RKEY announces the RMB, unless a later one does. */
static void
check_unconfirmed(const smcr_arrival_t *arrival, const smcr_rmb_t *rmb)
{
    smcr_doubt_proof_t claim = {.has_come = is_confirmed_late, .about = rmb};

    smcr_event_add_claim(arrival, SMCR_EVENT_rkey_not_confirmed,
                         wmem_memdup(arrival->state->scope, &claim, sizeof claim));
}

/* Checks the RMB that an Accept or Confirm names, by smcr_rules_check_new_rmb(). */
SMCR_RULES_CLC(check_rmb)
{
    const smcr_clc_accept_t *accept = &message->clc->u.accept;
    smcr_rules_links_t *memory = smcr_rules_links(arrival, message->qp->link->lgr);

    memory->rkey_is_new = !smcr_rmb_find(arrival->state, message->qp, accept->rkey);
    memory->rmb_is_new =
        smcr_rules_check_new_rmb(arrival, message->qp, accept->rkey, accept->va);
}

/* The rules of check_announced_by_llc() and check_agreed_before(), for an RMB that CLC names in a
 * later contact, whose RKey must have been announced before. The RMB was announced too late if the
 * response to its CONFIRM RKEY has not come yet. Not judged if the capture does not have the
 * group's first contact; only check_unconfirmed() judges if it does not have the Accept. */
SMCR_RULES_CLC(check_named_rmb)
{
    smcr_rmb_t *rmb = conn->side[message->qp->side].rmb;
    bool is_new = smcr_rules_of_links(rmb->lgr)->rmb_is_new;
    bool is_later_contact = rmb->lgr->first_contact_captured && !conn->first_contact;

    if (!is_later_contact)
        return;
    if (smcr_rules_of_links(rmb->lgr)->rkey_is_new)
        check_unconfirmed(arrival, rmb);
    if (!conn->accept_frame)
        return;
    if (is_new)
        check_announced_by_llc(arrival, rmb);
    if ((is_new || rmb->confirmed) && !rmb->confirm_agreed)
        check_agreed_before(arrival, rmb);
}

/* The kinds of CLC messages, one bit each. The column `types` of check_rows.def combines these
 * bits: the check of the row is called for these kinds of messages. */
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

/* Calls the checks of the rows of check_rows.def whose step is `when`, and whose `types` have a bit
 * of the message. A message has up to two bits: WRONG_SENDER, and the bit of its type. */
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

/* ---- RMBs that are released ---- */

void
smcr_rules_free_rmb(smcr_state_t *state, smcr_rmb_t *rmb)
{
    if (rmb->more)
        smcr_state_free(state, rmb->more->rules, sizeof *rmb->more->rules);
}
