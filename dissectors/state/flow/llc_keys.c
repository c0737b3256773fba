/* llc_keys.c
 * Makes a number of what a response repeats, and says what a message is about.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "llc_keys.h"

#include <glib.h>

static uint32_t
key_none(const smcr_llc_t *llc)
{
    (void)llc;
    return 0;
}

/* All that the message says (R-A.3.5-2, R-A.3.6-3). */
static uint32_t
key_rkey(const smcr_llc_t *llc)
{
    const smcr_llc_confirm_rkey_t *confirm = &llc->u.confirm_rkey;
    uint64_t key = (confirm->other_links * 31U + confirm->rkey) * UINT64_C(31) + confirm->va;

    for (unsigned i = 0; i < llc->rtoken_count; i++)
        key = ((key * 31 + llc->rtokens[i].link) * 31 + llc->rtokens[i].rkey) * 31 +
              llc->rtokens[i].va;
    return (uint32_t)(key ^ key >> 32);
}

/* Responses of version 2 repeat the number of RKeys only. */
static uint32_t
key_rkeys(const smcr_llc_t *llc)
{
    uint32_t key = llc->u.delete_rkey.count;

    for (unsigned i = 0; i < llc->rtoken_count && !(llc->type & SMCR_LLC_TYPE_V2); i++)
        key = key * 31 + llc->rtokens[i].rkey;
    return key;
}

static uint32_t
key_link(const smcr_llc_t *llc)
{
    switch (llc->type & ~SMCR_LLC_TYPE_V2) {
    case SMCR_LLC_CONFIRM_LINK:
        return llc->u.confirm_link.link;
    case SMCR_LLC_ADD_LINK_CONT:
        return llc->u.add_link_cont.link;
    case SMCR_LLC_DELETE_LINK:
        return llc->u.delete_link.link;
    default:
        return llc->u.add_link.link;
    }
}

static uint32_t
key_user_data(const smcr_llc_t *llc)
{
    const uint8_t *data = llc->u.test_link.user_data;
    uint32_t key = 0;

    for (unsigned i = 0; i < sizeof llc->u.test_link.user_data; i++)
        key = key * 31 + data[i];
    return key;
}

/* ---- by type ---- */

static uint32_t
key_of(const smcr_llc_t *llc)
{
    switch (llc->type) {
#define SMCR_LLC_MESSAGE(name, type, text, header, body, response_flags, handler, key, ...) \
    case SMCR_LLC_##name: \
        return key_##key(llc);
#include "wire/llc.def"
    default:
        return 0;
    }
}

smcr_topic_t
smcr_llc_topic(const smcr_qp_t *qp, const smcr_llc_t *llc)
{
    uint8_t type = llc->type & (uint8_t)~SMCR_LLC_TYPE_V2; /* both versions share the exchanges */

    return (smcr_topic_t){
        .type = type,
        .llc_type = llc->type,
        .side = !qp->side,
        .link = qp->link,
        .key = key_of(llc),
        .all_links = type == SMCR_LLC_DELETE_LINK && llc->flags & SMCR_LLC_FLAG_ALL,
        .rejects = type == SMCR_LLC_ADD_LINK && llc->flags & SMCR_LLC_FLAG_REJECTED,
        .llc = llc,
    };
}
