/* Counts the links of a group: symmetric ones, which the maximum limits, and asymmetric ones (RFC
 * 7609 2.2.1, 2.2.2).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define CHANGED_IN (5 * SMCR_TIME_SECOND) /* within which a host deletes a link too many */
#define LINKS_KNOWN 32                    /* the most links of a group that are counted */

/* Whether the two links use one device of this side: they have one GID or one MAC there. */
static bool
share_device(const smcr_link_t *one, const smcr_link_t *other, int side)
{
    const smcr_rules_qp_t *a = &smcr_rules_of_link(one)->qp[side];
    const smcr_rules_qp_t *b = &smcr_rules_of_link(other)->qp[side];

    return smcr_gid_is_same(one->qp[side].key.gid, other->qp[side].key.gid) ||
           (a->has_mac && b->has_mac && memcmp(a->mac, b->mac, SMCR_WIRE_MAC_LENGTH) == 0);
}

/* Whether the link was active at `until` (nanoseconds since the epoch), and no message had begun
 * its end by then. */
static bool
was_active_at(const smcr_link_t *link, uint64_t until)
{
    const smcr_rules_link_t *memory = smcr_rules_of_link(link);
    bool was_confirmed = memory->confirmed_time && memory->confirmed_time <= until;
    bool has_ends = link->qp[0].number_known && link->qp[1].number_known;
    bool stays = link->state == SMCR_LINK_ACTIVE || memory->end_of_use.sent > until;

    return was_confirmed && has_ends && stays && !link->reported_lost;
}

/* Adds the link to `links`, unless it shares a device with one of them on a side that `sides`
 * selects. */
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

/* The number of links, active at `until`, of which no two share a device on the selected sides. */
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

/* A lower bound of the symmetric links at `until`: no two of them share a device on any side. */
static unsigned
count_symmetric(const smcr_lgr_t *lgr, uint64_t until)
{
    return count_distinct(lgr, until, true, true);
}

/* A lower bound of the asymmetric links at `until`: the links beyond the number of devices of the
 * side that has fewer. */
static unsigned
count_asymmetric(const smcr_lgr_t *lgr, uint64_t until)
{
    unsigned devices = MIN(count_distinct(lgr, until, true, false),
                           count_distinct(lgr, until, false, true));

    return MIN(count_distinct(lgr, until, false, false), LINKS_KNOWN) - devices;
}

SMCR_DOUBT_CLAIM(has_fewer_symmetric, const smcr_lgr_t *lgr,
                 count_symmetric(lgr, claim->deadline) < claim->key)
SMCR_DOUBT_CLAIM(has_fewer_asymmetric, const smcr_lgr_t *lgr,
                 count_asymmetric(lgr, claim->deadline) < claim->key)

/* The doubt whether the server deletes one of the links within CHANGED_IN, so that the group has
 * fewer than `limit` links of the kind that `has_fewer` counts. */
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

/* A group has at most as many symmetric links as its maximum says (R-2.2.2-6), and one asymmetric
 * link, which does not count there (R-2.2.2-7). The wire shows that a link is confirmed that
 * exceeds a limit, and that no link is deleted within CHANGED_IN. The asymmetric link goes when
 * the symmetric link that replaces it is up (R-2.2.1-2); if it stays, this does no harm. */
void
smcr_rules_check_link_limits(const smcr_arrival_t *arrival)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;
    uint64_t now = arrival->when.time;
    unsigned maximum = smcr_rules_max_links(lgr), symmetric = count_symmetric(lgr, now),
             asymmetric = count_asymmetric(lgr, now);

    if (symmetric > maximum)
        smcr_breach_report(arrival, SMCR_EVENT_link_too_many,
                           doubt_excess(arrival, has_fewer_symmetric, maximum + 1),
                           "The group has %u symmetric links, but its maximum is %u", symmetric,
                           maximum);
    if (asymmetric > 1)
        smcr_breach_report(arrival, SMCR_EVENT_link_too_many,
                           doubt_excess(arrival, has_fewer_asymmetric, 2),
                           "The group has %u asymmetric links, but may have one", asymmetric);
    else if (asymmetric && symmetric > 1)
        smcr_breach_report(arrival, SMCR_EVENT_link_asymmetric_kept,
                           doubt_excess(arrival, has_fewer_asymmetric, 1),
                           "An asymmetric link stays beside %u symmetric ones", symmetric);
}

/* A client asks for no symmetric link at the maximum (R-2.2.2-5). The wire shows ADD LINK of the
 * client in a group that has as many symmetric links as its maximum. A device in use excuses it:
 * this makes an asymmetric link. */
void
smcr_rules_check_link_wish(const smcr_arrival_t *arrival, const smcr_llc_add_link_t *wish)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;
    unsigned maximum = smcr_rules_max_links(lgr);

    for (const smcr_link_t *link = lgr->newest_link; link; link = smcr_link_older(link))
        if (smcr_gid_is_same(link->qp[!lgr->server].key.gid, wish->gid))
            return;
    if (count_symmetric(lgr, arrival->when.time) >= maximum)
        smcr_breach_report(
            arrival, SMCR_EVENT_link_too_many, doubt_excess(arrival, has_fewer_symmetric, maximum),
            "The client asks for a link, but the group has the maximum of %u", maximum);
}
