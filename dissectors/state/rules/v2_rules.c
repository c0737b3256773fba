/* What two peers agree on: an Accept takes what the Proposal offers, the Confirm repeats it, and
 * their link group has no more connections.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "checks.h"

/* ---- CLC ---- */

static unsigned
version_in(uint8_t flags)
{
    return smcr_wire_bits(flags, SMCR_MASK_VERSION);
}

/* Whether the Proposal offers SMC-R, or SMC-D, in the version of the Accept. */
static bool
is_offered(uint8_t proposal, uint8_t accept, bool smcd)
{
    bool v2 = version_in(accept) == 2;
    unsigned offered = smcr_wire_bits(proposal, v2 ? SMCR_MASK_TYPE_V2 : SMCR_MASK_TYPE_V1);

    return offered == SMCR_CLC_TYPE_BOTH || offered == (smcd ? SMCR_CLC_TYPE_D : SMCR_CLC_TYPE_R);
}

/* The Accept has a version that the client speaks, and takes a path of the Proposal; the Confirm
 * has the version of the Accept. (R-A.2-5, R-V2ACC-4) */
SMCR_RULES_CLC(path)
{
    const smcr_clc_t *clc = message->clc;
    bool confirm = clc->header.type == SMCR_CLC_CONFIRM;
    uint8_t flags = clc->header.flags;
    uint8_t before = confirm ? conn->accept_flags : smcr_rules_of_conn(conn)->proposal_flags;
    unsigned version = version_in(flags), other = version_in(before); /* 0: not captured */
    smcr_doubt_t doubt = smcr_doubt_message(arrival);

    if (other < 1 || other > 2 || version < 1 || version > 2)
        return;
    if (confirm ? version != other : version > other)
        smcr_breach(arrival, SMCR_EVENT_clc_not_negotiated, doubt,
                    "The %s has version %u, and the %s %u", confirm ? "Accept" : "Proposal", other,
                    confirm ? "Confirm" : "Accept", version);
    else if (!confirm && !is_offered(before, flags, clc->smcd))
        smcr_breach(arrival, SMCR_EVENT_clc_not_negotiated, doubt,
                    "The Proposal does not offer SMC-%cv%u", clc->smcd ? 'D' : 'R', version);
}

static bool
has_eid(const smcr_rules_offer_t *offer, uint32_t eid)
{
    for (unsigned i = 0; i < offer->eid_count; i++)
        if (offer->eid[i] == eid)
            return true;
    return false;
}

/* Returns whether the value is right. */
static bool
check_value(const smcr_arrival_t *arrival, const char *what, unsigned before, unsigned now,
            bool repeats)
{
    bool right = now <= before && (!repeats || now == before);

    if (!right)
        smcr_breach(arrival, SMCR_EVENT_clc_not_negotiated, smcr_doubt_message(arrival),
                    "The message has %s %u, but the one before %u", what, now, before);
    return right;
}

/* Release, connections and links of an Accept do not exceed the Proposal's, and the Confirm repeats
 * them. Nobody adds a feature. (R-V2ACC-8, R-V2ACC-9, R-V2ACC-10, R-V2ACC-11) */
static bool
check_terms(const smcr_arrival_t *arrival, const smcr_rules_terms_t *before,
            const smcr_rules_terms_t *now, bool repeats)
{
    bool right = check_value(arrival, "release", before->release, now->release, repeats);

    if (!before->release || !now->release) /* the others are of release 1 */
        return right;
    right &= !before->max_conns ||
             check_value(arrival, "most connections", before->max_conns, now->max_conns, repeats);
    right &= !before->max_links ||
             check_value(arrival, "most links", before->max_links, now->max_links, repeats);
    if (!(now->features & ~before->features))
        return right;
    smcr_breach(arrival, SMCR_EVENT_clc_not_negotiated, smcr_doubt_message(arrival),
                "The message has features 0x%04x, but the one before 0x%04x", now->features,
                before->features);
    return false;
}

/* Both sides have a direct route to each other, or neither has. Linux declines where it sees a
 * difference (smc_connect_rdma_v2_prepare()). (R-V2ACC-16) */
static void
check_direct(const smcr_arrival_t *arrival, const smcr_rules_terms_t *accept,
             const smcr_rules_terms_t *confirm)
{
    if (accept->direct != confirm->direct)
        smcr_breach(arrival, SMCR_EVENT_clc_direct_differs, smcr_doubt_message(arrival),
                    "The %s has a direct route, but the %s has not",
                    accept->direct ? "server" : "client", accept->direct ? "client" : "server");
}

/* What the first contact extension of an Accept or Confirm says. */
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

/* What an SMCv2 extension offers: without EIDs where it has more than a Proposal may have. */
static const smcr_rules_offer_t *
offer_of(const smcr_arrival_t *arrival, const smcr_clc_proposal_t *proposal)
{
    unsigned eids = proposal->eid_count <= SMCR_CLC_COUNT_MAX ? proposal->eids : 0;
    smcr_rules_offer_t *offer =
        smcr_state_alloc0(arrival->state, sizeof *offer + eids * sizeof *offer->eid);

    offer->terms = (smcr_rules_terms_t){
        .release = (uint8_t)smcr_wire_bits(proposal->v2_flags, SMCR_MASK_V2_RELEASE),
        /* 0: not known, where nobody may offer so few */
        .max_conns = proposal->max_conns < SMCR_CLC_CONNS_MIN ? 0 : proposal->max_conns,
        .max_links = proposal->max_links,
        .features = proposal->features,
    };
    offer->eid_count = (uint8_t)eids;
    for (unsigned i = 0; i < eids; i++)
        offer->eid[i] = smcr_wire_eid_sum(proposal->eid[i]);
    return offer;
}

/* What the Proposal offers; the connection has nothing else so far. */
SMCR_RULES_CLC(note_offer)
{
    const smcr_clc_t *clc = message->clc;
    const smcr_clc_proposal_t *proposal = &clc->u.proposal;
    smcr_rules_conn_t *kept = smcr_rules_conn(arrival, conn);

    kept->proposal_flags = clc->header.flags;
    kept->offer = clc->complete && proposal->has_v2 ? offer_of(arrival, proposal) : NULL;
    if (clc->complete)
        memcpy(kept->proposed_id, proposal->peer_id, SMCR_WIRE_PEER_ID_LENGTH);
}

/* Whether all of an Accept or Confirm of SMC-Rv2 is there. */
static bool
is_v2(const smcr_clc_t *clc)
{
    return clc->complete && !clc->smcd && version_in(clc->header.flags) == 2;
}

/* The Accept keeps to the Proposal's offer: the server chooses one of its EIDs. (R-V2ACC-5) */
SMCR_RULES_CLC(offered)
{
    const smcr_clc_accept_t *accept = &message->clc->u.accept;

    if (!is_v2(message->clc))
        return;
    smcr_rules_conn_t *kept = smcr_rules_conn(arrival, conn);
    const smcr_rules_offer_t *offer = kept->offer;
    smcr_rules_terms_t now = terms_of(accept);

    kept->eid_is_wrong = offer && offer->eid_count &&
                         !has_eid(offer, smcr_wire_eid_sum(accept->eid));
    if (kept->eid_is_wrong)
        smcr_breach(arrival, SMCR_EVENT_clc_eid_wrong, smcr_doubt_message(arrival),
                    "The EID is none of the Proposal");
    kept->has_terms = smcr_wire_clc_is_first_contact(message->clc);
    if (offer && kept->has_terms) /* what is wrong in the Accept counts no further */
        kept->has_terms = check_terms(arrival, &offer->terms, &now, false);
    kept->terms = now;
}

/* The Confirm repeats what the Accept takes. */
SMCR_RULES_CLC(repeated)
{
    const smcr_rules_conn_t *kept = smcr_rules_of_conn(conn);
    smcr_rules_terms_t now = terms_of(&message->clc->u.accept);

    if (!is_v2(message->clc) || !smcr_wire_clc_is_first_contact(message->clc) || !kept->has_terms)
        return;
    check_terms(arrival, &kept->terms, &now, true);
    check_direct(arrival, &kept->terms, &now);
}

/* A first contact makes its terms those of the group. */
SMCR_RULES_CLC(note_terms)
{
    const smcr_rules_conn_t *kept = smcr_rules_of_conn(conn);

    if (conn->first_contact && kept->has_terms)
        smcr_rules_lgr(arrival, message->qp->link->lgr)->terms = kept->terms;
}

/* ---- connections of a group ---- */

/* A group that has too many. */
typedef struct smcr_crowd {
    smcr_lgr_t *lgr;
    uint64_t since; /* nanoseconds since the epoch */
    uint64_t end;   /* of the next connection that ended, since the epoch, too; 0: none */
} smcr_crowd_t;

/* Whether a connection has ended at about that time, or the capture lacks the beginning of one. */
SMCR_DOUBT_CLAIM(has_ended, const smcr_crowd_t *crowd,
                 (crowd->end && crowd->end <= crowd->since + SMCR_TIME_SECOND) ||
                 crowd->lgr->lacking_clc)

/* Whether both sides have agreed on how many connections the group may have. */
static bool
limits_conns(const smcr_lgr_t *lgr)
{
    const smcr_rules_terms_t *terms = &smcr_rules_of_lgr(lgr)->terms;

    return terms->release && terms->max_conns;
}

/* No more connections are in a group than both sides have agreed on. One that has sent CDC messages
 * and not said its end is in it. What tells its end may be under way, or absent. (R-V2ACC-12) */
SMCR_RULES_CLC(limit)
{
    smcr_lgr_t *lgr = message->qp->link->lgr;
    smcr_rules_lgr_t *kept = lgr->rules;
    uint64_t now = arrival->when.time;

    if (!lgr->from_start || !limits_conns(lgr) || kept->open_conns < kept->terms.max_conns ||
        kept->crowd)
        return;
    kept->crowd = smcr_state_alloc0(arrival->state, sizeof *kept->crowd);
    *kept->crowd = (smcr_crowd_t){.lgr = lgr, .since = now};
    smcr_doubt_proof_t claim = {
        .has_come = has_ended, .about = kept->crowd, .deadline = now + SMCR_TIME_SECOND};
    smcr_breach(arrival, SMCR_EVENT_lgr_too_many_conns,
                smcr_doubt_later_of_both(arrival, lgr, NULL, claim),
                "The link group has %u connections already, of %u that it may have",
                kept->open_conns, kept->terms.max_conns);
}

static void
close_conn(const smcr_arrival_t *arrival, smcr_conn_t *conn)
{
    smcr_rules_lgr_t *kept = conn->lgr->rules;

    conn->rules->ended = true;
    kept->open_conns--;
    if (kept->crowd)
        kept->crowd->end = arrival->when.time;
    kept->crowd = NULL;
}

/* A connection is counted from its first message to its first end. */
SMCR_RULES_CDC(count_open)
{
    const smcr_cdc_t *cdc = message->cdc;
    bool ends = (cdc->state & (SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT)) != 0;

    if (cdc->flags & SMCR_CDC_FLAG_FAILOVER || !limits_conns(conn->lgr))
        return; /* of the first nothing else counts (A.4) */
    const smcr_rules_conn_t *kept = smcr_rules_of_conn(conn);
    if (!kept->opened && !ends && conn->accept_frame && conn->confirm_frame) {
        smcr_rules_conn(arrival, conn)->opened = true;
        conn->lgr->rules->open_conns++;
    } else if (kept->opened && !kept->ended && ends) {
        close_conn(arrival, conn);
    }
}
