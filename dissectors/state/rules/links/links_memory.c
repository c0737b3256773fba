/* links_memory.c
 * Makes the memory of rules for links.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "links_memory.h"

#include "state/model/store.h"

const smcr_rules_link_t *
smcr_rules_of_link(const smcr_link_t *link)
{
    static const smcr_rules_link_t nothing;

    return link->rules ? link->rules : &nothing;
}

const smcr_rules_links_t *
smcr_rules_of_links(const smcr_lgr_t *lgr)
{
    static const smcr_rules_links_t nothing;

    return lgr->links_rules ? lgr->links_rules : &nothing;
}

smcr_rules_link_t *
smcr_rules_link(const smcr_arrival_t *arrival, smcr_link_t *link)
{
    return SMCR_RULES_MADE(arrival, &link->rules);
}

smcr_rules_links_t *
smcr_rules_links(const smcr_arrival_t *arrival, smcr_lgr_t *lgr)
{
    return SMCR_RULES_MADE(arrival, &lgr->links_rules);
}
