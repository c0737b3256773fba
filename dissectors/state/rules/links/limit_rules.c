/* Rules for the number of links of a group: the group's maximum counts symmetric links only, and
 * there is at most one asymmetric link (RFC 7609 2.2.1, 2.2.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define CHANGED_IN (5 * SMCR_TIME_SECOND) /* time within which a host deletes a link if there are
                                             too many */
#define LINKS_KNOWN 32                    /* count_distinct() counts at most this many links of a
                                             group, and ignores further ones */

/* Whether the two links use the same device of `side`: their queue pairs on this side have the same
 * GID or the same MAC address. */
static bool
share_device(const smcr_link_t *one, const smcr_link_t *other, int side)
{
    const smcr_rules_qp_t *a = &smcr_rules_of_link(one)->qp[side];
    const smcr_rules_qp_t *b = &smcr_rules_of_link(other)->qp[side];

    return smcr_gid_is_same(one->qp[side].key.gid, other->qp[side].key.gid) ||
           (a->has_mac && b->has_mac && memcmp(a->mac, b->mac, SMCR_WIRE_MAC_LENGTH) == 0);
}

/* Whether the link was confirmed by the time `until` (nanoseconds since the epoch), and in use at
 * this time. False if one of its queue pairs is not known, or if a side has reported the link as
 * lost. */
static bool
was_active_at(const smcr_link_t *link, uint64_t until)
{
    const smcr_rules_link_t *memory = smcr_rules_of_link(link);
    bool was_confirmed = memory->confirmed_time && memory->confirmed_time <= until;
    bool has_ends = link->qp[0].number_known && link->qp[1].number_known;
    bool stays = link->state == SMCR_LINK_ACTIVE || memory->end_of_use.sent > until;

    return was_confirmed && has_ends && stays && !link->lost_frame;
}

/* Adds the link to the list `links`, if it shares no device with a link that is already in the
 * list. Only devices on sides with `sides[side]` are compared. */
static void
add_distinct(const smcr_link_t *links[LINKS_KNOWN], unsigned *count, const smcr_link_t *link,
             const bool sides[2])
{
    for (unsigned i = 0; i < *count; i++)
        for (int side = 0; side < 2; side++)
            if (sides[side] && share_device(links[i], link, side))
                return;
    if (*count < LINKS_KNOWN)
        links[(*count)++] = link;
}

/* The number of links that were active at the time `until`. Links that share a device on a selected
 * side (`client`, `server`) count as one. */
static unsigned
count_distinct(const smcr_lgr_t *lgr, uint64_t until, bool client, bool server)
{
    const smcr_link_t *links[LINKS_KNOWN];
    bool sides[2] = {client, server};
    unsigned count = 0;

    if (!lgr->server) {
        sides[0] = server;
        sides[1] = client;
    }
    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link))
        if (was_active_at(link, until))
            add_distinct(links, &count, link, sides);
    return count;
}

/* A lower bound for the number of symmetric links at the time `until`: no two of the counted links
 * share a device on either side. */
static unsigned
count_symmetric(const smcr_lgr_t *lgr, uint64_t until)
{
    return count_distinct(lgr, until, true, true);
}

/* A lower bound for the number of asymmetric links at the time `until`: the number of active links
 * minus the number of devices of one side. The side with fewer devices is taken. */
static unsigned
count_asymmetric(const smcr_lgr_t *lgr, uint64_t until)
{
    unsigned devices = MIN(count_distinct(lgr, until, true, false),
                           count_distinct(lgr, until, false, true));

    return MIN(count_distinct(lgr, until, false, false), LINKS_KNOWN) - devices;
}

/* True if a report that depends on doubt_excess() has to be withdrawn: at the deadline the group
 * has fewer than `key` symmetric (asymmetric) links. */
SMCR_DOUBT_CLAIM(has_fewer_symmetric, const smcr_lgr_t *lgr,
                 count_symmetric(lgr, claim->deadline) < claim->key)
SMCR_DOUBT_CLAIM(has_fewer_asymmetric, const smcr_lgr_t *lgr,
                 count_asymmetric(lgr, claim->deadline) < claim->key)

/* The doubt whether the group still has at least `limit` links of a kind, symmetric or asymmetric,
 * when CHANGED_IN has passed. `has_fewer`: function that returns whether the group has fewer links
 * of this kind at that time. */
static smcr_doubt_t
doubt_excess(const smcr_arrival_t *arrival, bool (*has_fewer)(const smcr_doubt_proof_t *claim),
             unsigned limit)
{
    smcr_lgr_t *lgr = arrival->qp->link->lgr;

    return smcr_doubt_later(arrival, lgr, lgr->server,
                            (smcr_doubt_proof_t){.has_come = has_fewer,
                                                 .about = lgr,
                                                 .key = limit,
                                                 .deadline = arrival->when.time + CHANGED_IN});
}

/* Without the server's maximum there is no limit to break. */
unsigned
smcr_rules_max_links(const smcr_lgr_t *lgr)
{
    bool known = lgr->server != SMCR_LGR_SIDE_UNKNOWN;
    const uint8_t *max_links = smcr_rules_of_links(lgr)->max_links;
    uint8_t server = known ? max_links[lgr->server] : 0;
    uint8_t client = known ? max_links[!lgr->server] : 0;

    if (!server)
        return UINT_MAX;
    return client ? MIN(server, client) : server;
}

/* Three rules limit the links of a group: 1. There are at most as many symmetric links as the
 * group's maximum (R-2.2.2-6). 2. There is at most one asymmetric link, which does not count for
 * the maximum (R-2.2.2-7). 3. The asymmetric link is deleted when the symmetric link that replaces
 * it is active (R-2.2.1-2). A rule is broken if the number of links exceeds a limit when a link is
 * confirmed, and is not reduced within CHANGED_IN. A breach of rule 3 is harmless. */
void
smcr_rules_check_link_limits(const smcr_arrival_t *arrival)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;
    uint64_t now = arrival->when.time;
    unsigned maximum = smcr_rules_max_links(lgr), symmetric = count_symmetric(lgr, now),
             asymmetric = count_asymmetric(lgr, now);

    if (symmetric > maximum)
        smcr_breach_report_unless(arrival, SMCR_EVENT_link_too_many,
                                  doubt_excess(arrival, has_fewer_symmetric, maximum + 1),
                                  "The group has %u symmetric links, but its maximum is %u",
                                  symmetric, maximum);
    if (asymmetric > 1)
        smcr_breach_report_unless(arrival, SMCR_EVENT_link_too_many,
                                  doubt_excess(arrival, has_fewer_asymmetric, 2),
                                  "The group has %u asymmetric links, but may have one",
                                  asymmetric);
    else if (asymmetric && symmetric > 1)
        smcr_breach_report_unless(arrival, SMCR_EVENT_link_asymmetric_kept,
                                  doubt_excess(arrival, has_fewer_asymmetric, 1),
                                  "An asymmetric link stays beside %u symmetric ones", symmetric);
}

/* A client asks for no symmetric link if the group has the maximum (R-2.2.2-5). An ADD LINK of the
 * client breaks the rule if the group has as many symmetric links as its maximum, and still has
 * them when CHANGED_IN has passed. Not judged is an ADD LINK for a device of the client that a link
 * already uses: the new link would be asymmetric. Its caller knows which side is the server. */
void
smcr_rules_check_link_wish(const smcr_arrival_t *arrival, const smcr_llc_add_link_t *wish)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;
    unsigned maximum = smcr_rules_max_links(lgr);

    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link))
        if (smcr_gid_is_same(link->qp[!lgr->server].key.gid, wish->gid))
            return;
    if (count_symmetric(lgr, arrival->when.time) >= maximum)
        smcr_breach_report_unless(arrival, SMCR_EVENT_link_too_many,
                                  doubt_excess(arrival, has_fewer_symmetric, maximum),
                                  "The client requests a link, but the group has the maximum of %u",
                                  maximum);
}
