/* Counts the links of a group: symmetric ones, which keep to the maximum, and asymmetric ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_checks.h"

#define CHANGED_IN (5 * SMCR_TIME_SECOND) /* a link that is too much is deleted */
#define LINKS_KNOWN 32 /* of a group, that are counted */

static bool
share(const smcr_link_t *one, const smcr_link_t *other, int side)
{
    const smcr_rules_qp_t *a = &smcr_rules_of_link(one)->qp[side];
    const smcr_rules_qp_t *b = &smcr_rules_of_link(other)->qp[side];

    return smcr_gid_is_same(one->qp[side].key.gid, other->qp[side].key.gid) ||
           (a->has_mac && b->has_mac && memcmp(a->mac, b->mac, SMCR_WIRE_MAC_LENGTH) == 0);
}

/* Whether the link was active, and nobody had said by then that it goes. */
static bool
is_alive(const smcr_link_t *link, uint64_t until)
{
    const smcr_rules_link_t *memory = smcr_rules_of_link(link);

    return memory->confirmed && memory->confirmed <= until && !link->lost &&
           link->qp[0].known && link->qp[1].known &&
           (link->state == SMCR_LINK_ACTIVE || memory->gone.sent > until);
}

/* Adds the link, unless it shares a device of one of the sides with one of the others. */
static void
add_distinct(const smcr_link_t *links[LINKS_KNOWN], unsigned *count, const smcr_link_t *link,
             const bool sides[2])
{
    for (unsigned i = 0; i < *count; i++)
        for (int side = 0; side < 2; side++)
            if (sides[side] && share(links[i], link, side))
                return;
    if (*count < LINKS_KNOWN)
        links[(*count)++] = link;
}

static unsigned
count_distinct(const smcr_lgr_t *lgr, uint64_t until, bool client, bool server)
{
    const smcr_link_t *links[LINKS_KNOWN];
    const bool sides[2] = {lgr->server ? client : server, lgr->server ? server : client};
    unsigned count = 0;

    for (const smcr_link_t *link = lgr->all_links; link; link = smcr_link_older(link))
        if (is_alive(link, until))
            add_distinct(links, &count, link, sides);
    return count;
}

/* At least as many links are symmetric: no two of them share a device. */
static unsigned
count_symmetric(const smcr_lgr_t *lgr, uint64_t until)
{
    return count_distinct(lgr, until, true, true);
}

/* At least as many links are asymmetric: more than each side has devices. */
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

/* The server may be about to delete one of the links: then the group has fewer than `limit`. */
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
smcr_rules_maximum(const smcr_lgr_t *lgr)
{
    bool known = lgr->server != SMCR_LGR_SIDE_UNKNOWN;
    const uint8_t *max_links = smcr_rules_of_links(lgr)->max_links;
    uint8_t server = known ? max_links[lgr->server] : 0;
    uint8_t client = known ? max_links[!lgr->server] : 0;

    if (!server)
        return UINT_MAX;
    return client ? MIN(server, client) : server;
}

/* Symmetric links keep to the maximum; of asymmetric ones, which do not count there, a group has
 * one. It goes when the symmetric link that replaces it is up; that it stays does no harm.
 * (R-2.2.2-6, R-2.2.2-7, R-2.2.1-2) */
void
smcr_rules_count(const smcr_arrival_t *arrival)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;
    uint64_t now = arrival->when.time;
    unsigned maximum = smcr_rules_maximum(lgr), symmetric = count_symmetric(lgr, now),
             asymmetric = count_asymmetric(lgr, now);

    if (symmetric > maximum)
        smcr_breach(arrival, SMCR_EVENT_link_too_many,
                    doubt_excess(arrival, has_fewer_symmetric, maximum + 1),
                    "The group has %u symmetric links, but its maximum is %u", symmetric, maximum);
    if (asymmetric > 1)
        smcr_breach(arrival, SMCR_EVENT_link_too_many,
                    doubt_excess(arrival, has_fewer_asymmetric, 2),
                    "The group has %u asymmetric links, but may have one", asymmetric);
    else if (asymmetric && symmetric > 1)
        smcr_breach(arrival, SMCR_EVENT_link_asymmetric_kept,
                    doubt_excess(arrival, has_fewer_asymmetric, 1),
                    "An asymmetric link stays beside %u symmetric ones", symmetric);
}

/* A client asks for no symmetric link at the maximum. The device that it names may be one in use:
 * that would make an asymmetric link. (R-2.2.2-5) */
void
smcr_rules_wish(const smcr_arrival_t *arrival, const smcr_llc_add_link_t *wish)
{
    const smcr_lgr_t *lgr = arrival->qp->link->lgr;
    unsigned maximum = smcr_rules_maximum(lgr);

    for (const smcr_link_t *link = lgr->all_links; link; link = smcr_link_older(link))
        if (smcr_gid_is_same(link->qp[!lgr->server].key.gid, wish->gid))
            return;
    if (count_symmetric(lgr, arrival->when.time) >= maximum)
        smcr_breach(arrival, SMCR_EVENT_link_too_many,
                    doubt_excess(arrival, has_fewer_symmetric, maximum),
                    "The client asks for a link, but the group has the maximum of %u", maximum);
}
