/* Rules for what two peers agree on in SMC version 2: an Accept stays within the Proposal's offer,
 * the Confirm repeats the Accept, and their link group keeps its limit of connections
 * (net/smc/smc_clc.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

/* ---- CLC messages ---- */

/* The SMC version in byte 7 of a CLC message. */
static unsigned
version_in(uint8_t flags)
{
    return smcr_wire_bits(flags, SMCR_MASK_VERSION);
}

/* Whether `version`, from byte 7 of a CLC message, is a version of SMC: 1 or 2. The value 0, which
 * stands for a missing message, is not valid. */
static bool
is_valid_version(unsigned version)
{
    return version == 1 || version == 2;
}

/* Whether the Proposal offers the path SMC-R (with `smcd`: SMC-D) in the version `accepted` of the
 * Accept. `proposal`: byte 7 of the Proposal. */
static bool
is_offered(uint8_t proposal, unsigned accepted, bool smcd)
{
    uint8_t mask = accepted == 2 ? SMCR_MASK_TYPE_V2 : SMCR_MASK_TYPE_V1;
    unsigned offered = smcr_wire_bits(proposal, mask);

    return offered == SMCR_CLC_TYPE_BOTH || offered == (smcd ? SMCR_CLC_TYPE_D : SMCR_CLC_TYPE_R);
}

/* The versions of two messages that follow each other in the handshake. */
typedef struct {
    unsigned before, now;
} versions_t;

/* The Accept has a version that the Proposal offers, and a path (SMC-R or SMC-D) that the Proposal
 * offers in this version (R-A.2-5, R-V2ACC-4). An Accept with another version or path breaks the
 * rule. `proposal`: byte 7 of the Proposal. `versions`: of the Proposal and the Accept. */
static void
check_accepted_path(const smcr_arrival_t *arrival, const smcr_clc_t *clc, uint8_t proposal,
                    versions_t versions)
{
    if (versions.now > versions.before)
        smcr_breach_report(arrival, SMCR_EVENT_clc_not_negotiated,
                           "The Proposal has version %u, and the Accept %u", versions.before,
                           versions.now);
    else if (!is_offered(proposal, versions.now, clc->smcd))
        smcr_breach_report(arrival, SMCR_EVENT_clc_not_negotiated,
                           "The Proposal does not offer SMC-%cv%u", clc->smcd ? 'D' : 'R',
                           versions.now);
}

/* The Confirm has the version of the Accept, which is the lower one of the versions of both peers
 * (R-A.2-5). A Confirm with another version breaks the rule. `versions`: of the Accept and the
 * Confirm. */
static void
check_confirmed_version(const smcr_arrival_t *arrival, versions_t versions)
{
    if (versions.now != versions.before)
        smcr_breach_report(arrival, SMCR_EVENT_clc_not_negotiated,
                           "The Accept has version %u, and the Confirm %u", versions.before,
                           versions.now);
}

/* The rules of check_accepted_path() and check_confirmed_version(). An Accept is compared with its
 * Proposal, and a Confirm with its Accept, if this earlier message is captured. */
SMCR_RULES_CLC(check_path)
{
    const smcr_clc_t *clc = message->clc;
    bool confirm = clc->header.type == SMCR_CLC_CONFIRM;
    uint8_t before = confirm ? conn->accept_flags : smcr_rules_of_conn(conn)->proposal_flags;
    const versions_t versions = {version_in(before), version_in(clc->header.flags)};

    if (!is_valid_version(versions.before) || !is_valid_version(versions.now))
        return;
    if (confirm)
        check_confirmed_version(arrival, versions);
    else
        check_accepted_path(arrival, clc, before, versions);
}

/* Whether the Proposal offers the EID whose smcr_wire_eid_sum() is `eid`. */
static bool
has_eid(const smcr_rules_offer_t *offer, uint32_t eid)
{
    for (unsigned i = 0; i < offer->eid_count; i++)
        if (offer->eid[i] == eid)
            return true;
    return false;
}

/* Checks a value of a CLC message. `now`: the value in the message. `before`: the value in the
 * message that this one answers. With `repeats` both have to be equal, otherwise `now` must not be
 * higher than `before`. `what`: name of the value in the text of the event. Returns whether `now`
 * is right. */
static bool
check_value(const smcr_arrival_t *arrival, const char *what, unsigned before, unsigned now,
            bool repeats)
{
    bool right = now <= before && (!repeats || now == before);

    if (!right)
        smcr_breach_report(arrival, SMCR_EVENT_clc_not_negotiated,
                           "The message has %s %u, but the previous one %u", what, now, before);
    return right;
}

/* Checks the terms `now` of an Accept against the terms `before` of its Proposal. With `repeats`:
 * the terms of a Confirm against those of its Accept. 1. The release of an Accept is at most the
 * release of the Proposal, and the Confirm repeats the release of the Accept (R-V2ACC-8). 2. The
 * limits of connections and links in the Accept are at most those of the Proposal (R-V2ACC-9), and
 * the Confirm repeats the limits of the Accept (R-V2ACC-10). 3. No message adds a feature
 * (R-V2ACC-11). With release 0 there are no limits and features. A limit is not checked if the
 * earlier message has 0, which means not known. Returns whether all values are right.
 *
 * Example: the Proposal offers 32 connections and the Accept takes 16. The Confirm must repeat
 * 16. */
static bool
check_terms(const smcr_arrival_t *arrival, const smcr_rules_terms_t *before,
            const smcr_rules_terms_t *now, bool repeats)
{
    bool right = check_value(arrival, "release", before->release, now->release, repeats);

    if (!before->release || !now->release)
        return right;
    right &= !before->max_conns ||
             check_value(arrival, "most connections", before->max_conns, now->max_conns, repeats);
    right &= !before->max_links ||
             check_value(arrival, "most links", before->max_links, now->max_links, repeats);
    if (!(now->features & ~before->features))
        return right;
    smcr_breach_report(arrival, SMCR_EVENT_clc_not_negotiated,
                       "The message has features 0x%04x, but the previous one "
                       "0x%04x", now->features,
                       before->features);
    return false;
}

/* If one side has a route to the other side without a gateway, the other side has a direct route,
 * too (R-V2ACC-16). A Confirm breaks the rule if its flag for a direct route differs from that of
 * the Accept. Linux declines if the flags differ (smc_connect_rdma_v2_prepare()). */
static void
check_direct(const smcr_arrival_t *arrival, const smcr_rules_terms_t *accept,
             const smcr_rules_terms_t *confirm)
{
    if (accept->direct == confirm->direct)
        return;
    smcr_breach_report(arrival, SMCR_EVENT_clc_direct_differs, "%s",
                       accept->direct ? "The server has a direct route, but the client has not"
                       : "The client has a direct route, but the server has not");
}

/* The terms in the first contact extension of an Accept or Confirm. */
static smcr_rules_terms_t
terms_of(const smcr_clc_accept_t *accept)
{
    return (smcr_rules_terms_t){
        .release = (uint8_t)smcr_wire_bits(accept->os_release, SMCR_MASK_RELEASE),
        .max_conns = accept->max_conns,
        .max_links = accept->max_links,
        .features = accept->features,
        .direct = (accept->fce_flags & SMCR_MASK_DIRECT) != 0,
    };
}

/* The offer in the SMCv2 extension of a Proposal. A Proposal with more EIDs than allowed is kept as
 * an offer without EIDs. A limit of connections that is lower than allowed is kept as 0, which
 * means not known. */
static smcr_rules_offer_t *
make_offer(const smcr_arrival_t *arrival, const smcr_clc_proposal_t *proposal)
{
    unsigned eids = proposal->eid_count <= SMCR_CLC_COUNT_MAX ? proposal->eids_kept : 0;
    smcr_rules_offer_t *offer =
        smcr_state_alloc0(arrival->state, sizeof *offer + eids * sizeof *offer->eid);

    offer->terms = (smcr_rules_terms_t){
        .release = (uint8_t)smcr_wire_bits(proposal->v2_flags, SMCR_MASK_V2_RELEASE),
        .max_conns = proposal->max_conns < SMCR_CLC_CONNS_MIN ? 0 : proposal->max_conns,
        .max_links = proposal->max_links,
        .features = proposal->features,
    };
    offer->eid_count = (uint8_t)eids;
    for (unsigned i = 0; i < eids; i++)
        offer->eid[i] = smcr_wire_eid_sum(proposal->eid_list[i]);
    return offer;
}

/* Remembers byte 7 of the Proposal and, if the Proposal is not truncated by snaplen, its offer and
 * peer ID. */
SMCR_RULES_CLC(note_offer)
{
    const smcr_clc_t *clc = message->clc;
    const smcr_clc_proposal_t *proposal = &clc->u.proposal;
    smcr_rules_conn_t *kept = smcr_rules_conn(arrival, conn);

    kept->proposal_flags = clc->header.flags;
    kept->offer = clc->complete && proposal->has_v2 ? make_offer(arrival, proposal) : NULL;
    if (clc->complete)
        memcpy(kept->proposed_id, proposal->peer_id, SMCR_WIRE_PEER_ID_LENGTH);
}

/* Whether the message is an Accept or Confirm of SMC-Rv2 that is not truncated by snaplen. */
static bool
is_complete_v2(const smcr_clc_t *clc)
{
    return clc->complete && !clc->smcd && version_in(clc->header.flags) == 2;
}

/* The server chooses one of the EIDs that the Proposal offers (R-V2ACC-5). The terms of the Accept
 * do not exceed those of the Proposal (check_terms()). An Accept breaks the rule if it has another
 * EID or higher terms. The EID or the terms of the Confirm are not compared with an EID or terms
 * that break the rule (`eid_is_wrong`, `has_terms`). */
SMCR_RULES_CLC(check_offered)
{
    const smcr_clc_accept_t *accept = &message->clc->u.accept;

    if (!is_complete_v2(message->clc))
        return;
    smcr_rules_conn_t *kept = smcr_rules_conn(arrival, conn);
    const smcr_rules_offer_t *offer = kept->offer;
    smcr_rules_terms_t now = terms_of(accept);

    kept->eid_is_wrong = offer && offer->eid_count &&
                         !has_eid(offer, smcr_wire_eid_sum(accept->eid));
    if (kept->eid_is_wrong)
        smcr_breach_report(arrival, SMCR_EVENT_clc_eid_wrong, "The EID is none of the Proposal");
    kept->has_terms = smcr_wire_clc_is_first_contact(message->clc);
    if (offer && kept->has_terms)
        kept->has_terms = check_terms(arrival, &offer->terms, &now, false);
    kept->terms = now;
}

/* The Confirm repeats the terms of the Accept. Calls check_terms() and check_direct(). */
SMCR_RULES_CLC(check_repeated)
{
    const smcr_rules_conn_t *kept = smcr_rules_of_conn(conn);
    smcr_rules_terms_t now = terms_of(&message->clc->u.accept);

    if (!is_complete_v2(message->clc) || !smcr_wire_clc_is_first_contact(message->clc) ||
        !kept->has_terms)
        return;
    check_terms(arrival, &kept->terms, &now, true);
    check_direct(arrival, &kept->terms, &now);
}

/* Remembers the terms of a first contact as the terms of the new link group. */
SMCR_RULES_CLC(note_terms)
{
    const smcr_rules_conn_t *kept = smcr_rules_of_conn(conn);

    if (conn->first_contact && kept->has_terms)
        smcr_rules_lgr(arrival, message->qp->link->lgr)->terms = kept->terms;
}

/* ---- connections of a group ---- */

/* The subject of a claim: a link group has more connections than its terms allow. */
typedef struct smcr_crowd {
    smcr_lgr_t *lgr;
    uint64_t since; /* time at which the group got one connection too many, nanoseconds since the
                       epoch */
    uint64_t end;   /* first time after `since` at which a connection of the group ended,
                       nanoseconds since the epoch; 0: none has ended */
} smcr_crowd_t;

/* True if the report of check_limit() has to be withdrawn later: a connection of the group has
 * ended within a second, or the CLC messages of a connection of the group are incomplete. */
SMCR_DOUBT_CLAIM(has_ended, const smcr_crowd_t *crowd,
                 (crowd->end && crowd->end <= crowd->since + SMCR_TIME_SECOND) ||
                 crowd->lgr->unfinished_clc_conns)

/* Whether both sides have agreed on a maximum number of connections for the group. */
static bool
limits_conns(const smcr_lgr_t *lgr)
{
    const smcr_rules_terms_t *terms = &smcr_rules_of_lgr(lgr)->terms;

    return terms->release && terms->max_conns;
}

/* A link group has at most as many connections as both sides have agreed on (R-V2ACC-12). An Accept
 * breaks the rule if the group already has this number of open connections. A connection is open if
 * it has had a CDC message, and no side has closed or aborted it. The message that ends one of the
 * open connections may be under way, so the event counts only if none of them ends within a second
 * (has_ended()). If such a message may be missing in the capture, the report has a doubt. */
SMCR_RULES_CLC(check_limit)
{
    smcr_lgr_t *lgr = message->qp->link->lgr;
    smcr_rules_lgr_t *kept = lgr->rules;
    uint64_t now = arrival->when.time;

    if (!lgr->first_contact_captured || !limits_conns(lgr) ||
        kept->open_conns < kept->terms.max_conns || kept->excess)
        return;
    kept->excess = smcr_state_alloc0(arrival->state, sizeof *kept->excess);
    *kept->excess = (smcr_crowd_t){.lgr = lgr, .since = now};
    smcr_doubt_proof_t claim = {
        .has_come = has_ended, .about = kept->excess, .deadline = now + SMCR_TIME_SECOND};
    smcr_breach_report_unless(arrival, SMCR_EVENT_lgr_too_many_conns,
                              smcr_doubt_later_of_both(arrival, lgr, NULL, claim),
                              "The link group already has %u connections, the maximum is %u",
                              kept->open_conns, kept->terms.max_conns);
}

/* Subtracts the connection from the open connections of its group, since the connection has ended.
 * If too many connections were reported (check_limit()), the end is noted: within a second it
 * withdraws the report (has_ended()). */
static void
close_conn(const smcr_arrival_t *arrival, smcr_conn_t *conn)
{
    smcr_rules_lgr_t *kept = conn->lgr->rules;

    conn->rules->ended = true;
    kept->open_conns--;
    if (kept->excess)
        kept->excess->end = arrival->when.time;
    kept->excess = NULL;
}

/* Whether the message adds the connection to the open connections of its group. Three conditions:
 * 1. the connection is not counted yet; 2. both sides have agreed on the connection; 3. the message
 *    does not close or abort the connection (`ends`). */
static bool
opens_conn(const smcr_conn_t *conn, bool ends)
{
    return !smcr_rules_of_conn(conn)->is_counted && !ends && conn->accept_frame &&
           conn->confirm_frame;
}

/* Counts the open connections of a group. A connection counts from its first CDC message after
 * Accept and Confirm until one side closes or aborts it. A failover validation does not begin or
 * end a connection: only its sequence number and token have a meaning (A.4). */
SMCR_RULES_CDC(count_open_conns)
{
    const smcr_cdc_t *cdc = message->cdc;
    bool ends = (cdc->state & (SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT)) != 0;

    if (cdc->flags & SMCR_CDC_FLAG_FAILOVER || !limits_conns(conn->lgr))
        return;
    const smcr_rules_conn_t *kept = smcr_rules_of_conn(conn);
    if (opens_conn(conn, ends)) {
        smcr_rules_conn(arrival, conn)->is_counted = true;
        conn->lgr->rules->open_conns++;
    } else if (kept->is_counted && !kept->ended && ends) {
        close_conn(arrival, conn);
    }
}
