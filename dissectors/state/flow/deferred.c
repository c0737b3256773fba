/* deferred.c
 * Keeps for each queue pair what came behind a gap, in the order of PSNs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "deferred.h"

#include "state/model/store.h"

#define DEFERRED_MAX 8192 /* of one queue pair: what a sender may have under way */

static int
compare(const void *one, const void *other)
{
    smcr_psn_t a = ((const smcr_deferred_t *)one)->psn, b = ((const smcr_deferred_t *)other)->psn;

    return (a > b) - (a < b);
}

/* In the order of PSNs, which mostly is that of their coming. */
static void
insert(wmem_list_t *list, smcr_deferred_t *deferred)
{
    wmem_list_frame_t *last = wmem_list_tail(list);

    if (last && compare(deferred, wmem_list_frame_data(last)) < 0)
        wmem_list_insert_sorted(list, deferred, compare);
    else
        wmem_list_append(list, deferred);
}

static void
copy_message(wmem_allocator_t *scope, smcr_deferred_t *deferred)
{
    smcr_deferred_content_t *content = &deferred->content;

    if (content->cdc) {
        deferred->copy.cdc = *content->cdc;
        content->cdc = &deferred->copy.cdc;
    }
    if (content->llc) {
        smcr_llc_t *llc = &deferred->copy.llc;
        *llc = *content->llc;
        llc->rtokens = wmem_memdup(scope, llc->rtokens, llc->rtoken_count * sizeof *llc->rtokens);
        content->llc = llc;
    }
}

void
smcr_deferred_add(const smcr_arrival_t *arrival, const smcr_deferred_content_t *content)
{
    wmem_allocator_t *scope = arrival->state->scope;
    smcr_qp_t *qp = arrival->qp;

    if (!qp->deferred)
        qp->deferred = wmem_list_new(scope);
    if (wmem_list_count(qp->deferred) >= DEFERRED_MAX)
        return;
    smcr_deferred_t *deferred = wmem_new(scope, smcr_deferred_t);
    deferred->content = *content;
    deferred->psn = arrival->psn;
    deferred->when = arrival->when;
    deferred->sent = arrival->sent;
    copy_message(scope, deferred);
    insert(qp->deferred, deferred);
}

smcr_deferred_t *
smcr_deferred_take(smcr_qp_t *qp, smcr_psn_t end)
{
    wmem_list_frame_t *first = qp->deferred ? wmem_list_head(qp->deferred) : NULL;
    smcr_deferred_t *deferred = first ? wmem_list_frame_data(first) : NULL;

    if (!deferred || deferred->psn >= end)
        return NULL;
    wmem_list_remove_frame(qp->deferred, first);
    return deferred;
}

void
smcr_deferred_free(smcr_state_t *state, smcr_deferred_t *deferred)
{
    if (deferred->content.llc)
        wmem_free(state->scope, deferred->copy.llc.rtokens);
    wmem_free(state->scope, deferred);
}
