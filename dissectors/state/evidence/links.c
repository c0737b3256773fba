/* What the capture proves about links: whether a link may be unknown, and whether its state is
 * certain.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flows.h"

#include "state/model/store.h"

/* A part of the capture: from one frame to another. */
typedef struct {
    uint32_t from; /* frame at which the part begins */
    uint32_t to;   /* frame at which the part ends; UINT32_MAX: the end of the capture */
} period_t;

/* Whether a message that changes a link may be missing in the period, in the flow to the queue
 * pair. A packet that is no WRITE, and whose content is not known, since it came out of order or is
 * truncated, counts as missing, even if it came after the period. If later messages prove what all
 * missing packets of the flow were, they have changed no link (smcr_evidence_prove_missing()). */
static bool
may_miss(const smcr_qp_t *qp, period_t period)
{
    bool has_unknown = qp->last_late_frame && qp->last_late_frame >= period.from;

    return has_unknown ||
           (!smcr_evidence_has_proven_missing(qp) &&
            smcr_evidence_flow_misses(&qp->traffic.flow, period.from, period.to));
}

/* Whether packets may be missing before the first captured request of the flow: no message has
 * announced the first PSN of the flow. */
static bool
may_have_begun_before(const smcr_flow_t *flow)
{
    return flow->first && !flow->first_announced;
}

bool
smcr_evidence_never_saw(const smcr_link_t *link)
{
    return link->qp[0].number_known && link->qp[1].number_known && !link->packet_count;
}

/* Whether the capture has no packet of the link, and the link may be active. */
static bool
is_never_seen(const smcr_link_t *link)
{
    return link->state == SMCR_LINK_ANNOUNCED && smcr_evidence_never_saw(link);
}

/* Whether a packet to the side of the group may be missing in the period, on any link. `first`:
 * packets before the first captured request of a flow count, too. True also if no packet to the
 * side is captured. */
static bool
side_may_miss(const smcr_lgr_t *lgr, int side, period_t period, bool first)
{
    bool seen = false;

    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link)) {
        const smcr_qp_t *qp = &link->qp[side];
        if (is_never_seen(link) || may_miss(qp, period))
            return true;
        if (first && may_have_begun_before(&qp->traffic.flow))
            return true;
        seen |= smcr_evidence_has_packets_to(qp);
    }
    return !seen;
}

bool
smcr_evidence_never_confirmed(const smcr_lgr_t *lgr)
{
    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link))
        if (link->qp[0].traffic.flow.has_acks && link->qp[1].traffic.flow.has_acks)
            return false;
    return lgr->link_never_confirmed;
}

bool
smcr_evidence_was_unseen(const smcr_link_t *link)
{
    return link->state != SMCR_LINK_REJECTED && smcr_evidence_never_saw(link) &&
           !smcr_evidence_never_confirmed(link->lgr);
}

/* Every doubt gives true. */
bool
smcr_evidence_may_lack_link(const smcr_lgr_t *lgr)
{
    const period_t always = {0, UINT32_MAX};

    if (smcr_evidence_never_confirmed(lgr))
        return false;
    return !lgr->first_contact_captured || (side_may_miss(lgr, 0, always, false) &&
                                            side_may_miss(lgr, 1, always, false));
}

/* Whether the response to CONFIRM LINK may be missing. Two conditions: 1. the receiver of CONFIRM
 * LINK has acknowledged it; 2. no later packet of the receiver with a message on this link is
 * captured. */
static bool
may_be_confirmed(const smcr_link_t *link)
{
    const smcr_flow_t *flow = &link->qp[0].traffic.flow, *other = &link->qp[1].traffic.flow;
    const smcr_flow_t *asked = flow->highest_frame > other->highest_frame ? flow : other;

    return asked->highest_frame >= link->confirm_frame && asked->acked_psn >= asked->highest &&
           MIN(flow->highest_frame, other->highest_frame) < link->confirm_frame;
}

/* Whether a DELETE LINK that the state could not assign to a link (`uncertain_deletions`) may mean
 * this link: it came after `frame`, and has the number of this link, or no number of its own (entry
 * 0). If the number of this link is not known, any number fits. Only if the group may have a link
 * that is not known as its link. */
static bool
may_be_deleted(const smcr_link_t *link, uint32_t frame)
{
    const uint32_t *deletions = link->lgr->state->uncertain_deletions;
    unsigned number = link->number;

    while (!link->has_number && ++number < 256 && deletions[number] <= frame)
        continue;
    return (deletions[0] > frame || (number < 256 && deletions[number] > frame)) &&
           smcr_evidence_may_lack_link(link->lgr);
}

/* Whether a DELETE LINK may have ended the active link: it was captured in the frame `used` or
 * later, but it is not certain that it ends a link, or which one. `used`: last frame up to which
 * both sides have used the link. */
static bool
may_have_ended(const smcr_link_t *link, uint32_t used)
{
    return link->possible_end_frame >= MAX(used, 1) || may_be_deleted(link, used);
}

/* Whether the link may be the first one of a group that began before the capture. The messages that
 * set up such a link are missing. */
static bool
may_be_first(const smcr_link_t *link)
{
    const smcr_lgr_t *lgr = link->lgr;
    bool can_be_first = link->index == lgr->first_link_index || !link->has_number;

    return can_be_first && !lgr->first_contact_captured;
}

/* Whether a message to either side of the group may be missing in the period. `first`: as for
 * side_may_miss(). */
static bool
may_miss_message(const smcr_lgr_t *lgr, period_t period, bool first)
{
    return side_may_miss(lgr, 0, period, first) || side_may_miss(lgr, 1, period, first);
}

bool
smcr_evidence_may_miss_change(const smcr_link_t *link, uint32_t from, uint32_t to)
{
    return may_miss_message(link->lgr, (period_t){from, to}, false);
}

/* Whether the state of the link is certain, although no message has confirmed it since the link was
 * added: no message that confirms or rejects the link can be missing. */
static bool
knows_unconfirmed(const smcr_link_t *link)
{
    const smcr_lgr_t *lgr = link->lgr;
    bool is_announced = link->state == SMCR_LINK_ANNOUNCED;
    period_t since = {link->added_frame, link->state_frame ? link->state_frame : UINT32_MAX};

    if (may_be_first(link))
        return false;
    if (smcr_evidence_never_confirmed(lgr))
        return true;
    if (is_announced && may_be_confirmed(link))
        return false;
    return !lgr->state->is_out_of_order && !may_miss_message(lgr, since, true);
}

/* Every doubt gives false. */
bool
smcr_evidence_knows_link(const smcr_link_t *link)
{
    bool is_active = link->state == SMCR_LINK_ACTIVE;
    uint32_t used = smcr_link_last_use(link);

    if (is_active && may_have_ended(link, used))
        return false;
    if (link->state_uncertain || link->state == SMCR_LINK_ANNOUNCED)
        return knows_unconfirmed(link);
    return !is_active || !smcr_evidence_may_miss_change(link, used, UINT32_MAX);
}

/* Every doubt gives false. */
bool
smcr_evidence_knows_links(const smcr_lgr_t *lgr)
{
    const smcr_link_t *link = lgr->newest_link;

    while (link && smcr_evidence_knows_link(link))
        link = smcr_link_older(link);
    return !link && !smcr_evidence_may_lack_link(lgr);
}

