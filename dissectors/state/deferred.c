/* deferred.c
 * Messages behind a PSN gap. A real receiver throws them away and gets them again; but when only
 * the capture lacks the packets before, its acknowledgement shows that it took them in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "state_private.h"

#define DEFERRED_MAX 1024 /* of one queue pair */

typedef struct {
    uint32_t psn;
    bool is_cdc;
    smcr_llc_t llc; /* with RTokens of its own */
    smcr_cdc_t cdc;
    smcr_conn_t *conn;
    smcr_when_t when;
} deferred_t;

static int
compare(const void *one, const void *other)
{
    return smcr_psn_distance(((const deferred_t *)other)->psn, ((const deferred_t *)one)->psn);
}

void
smcr_deferred_add(smcr_state_t *state, smcr_end_t *end, uint32_t psn, const smcr_llc_t *llc,
                  const smcr_cdc_t *cdc, smcr_conn_t *conn, smcr_when_t when)
{
    if (!end->deferred)
        end->deferred = wmem_list_new(state->scope);
    if (wmem_list_count(end->deferred) >= DEFERRED_MAX)
        return;
    deferred_t *kept = wmem_new0(state->scope, deferred_t);
    kept->psn = psn;
    kept->is_cdc = cdc != NULL;
    kept->conn = conn;
    kept->when = when;
    if (cdc)
        kept->cdc = *cdc;
    if (llc) {
        kept->llc = *llc;
        kept->llc.rtokens = wmem_memdup(state->scope, llc->rtokens,
                                        llc->rtoken_count * sizeof *llc->rtokens);
    }
    wmem_list_insert_sorted(end->deferred, kept, compare); /* in the order of PSNs */
}

static void
apply(smcr_state_t *state, smcr_end_t *end, const deferred_t *kept)
{
    smcr_packet_t unseen = {.kind = SMCR_PACKET_OTHER}; /* its frame has gone by */

    if (kept->is_cdc)
        smcr_cdc_apply(state, end, kept->conn, &kept->cdc, kept->when, &unseen);
    else
        smcr_llc_apply(state, end, &kept->llc, kept->when, &unseen);
}

void
smcr_deferred_settle(smcr_state_t *state, smcr_end_t *end, bool forget)
{
    const wmem_list_frame_t *at;
    uint32_t before = SMCR_PSN_MASK + 1; /* PSN of the one before: what came twice counts once */

    while (end->deferred && (at = wmem_list_head(end->deferred)) != NULL) {
        deferred_t *kept = wmem_list_frame_data(at);
        if (smcr_psn_distance(kept->psn, end->order.next) <= 0)
            return;
        if (!forget && kept->psn != before)
            apply(state, end, kept);
        before = kept->psn;
        wmem_list_remove(end->deferred, kept);
        wmem_free(state->scope, kept->llc.rtokens);
        wmem_free(state->scope, kept);
    }
}
