/* deferred.c
 * What comes behind a PSN gap. A real receiver throws it away and gets it again; but when only the
 * capture lacks the packets before, its acknowledgement shows that it took it in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "state_private.h"

#define DEFERRED_MAX 8192 /* of one queue pair: what a sender may have under way */

/* A packet that is kept, with messages of its own. */
typedef struct {
    smcr_deferred_t received;
    smcr_llc_t *llc; /* those of `received`, to be freed */
    smcr_cdc_t *cdc;
} kept_t;

static void
free_kept(smcr_state_t *state, kept_t *kept)
{
    if (kept->llc)
        wmem_free(state->scope, kept->llc->rtokens);
    wmem_free(state->scope, kept->llc);
    wmem_free(state->scope, kept->cdc);
    wmem_free(state->scope, kept);
}

static int
compare(const void *one, const void *other)
{
    return smcr_psn_distance(((const kept_t *)other)->received.psn,
                             ((const kept_t *)one)->received.psn);
}

/* In the order of PSNs, which mostly is that of their coming. */
static void
insert(wmem_list_t *list, kept_t *kept)
{
    wmem_list_frame_t *last = wmem_list_tail(list);

    if (last && compare(kept, wmem_list_frame_data(last)) < 0)
        wmem_list_insert_sorted(list, kept, compare);
    else
        wmem_list_append(list, kept);
}

void
smcr_deferred_add(smcr_state_t *state, smcr_end_t *end, const smcr_deferred_t *received)
{
    if (!end->deferred)
        end->deferred = wmem_list_new(state->scope);
    if (wmem_list_count(end->deferred) >= DEFERRED_MAX)
        return;
    kept_t *kept = wmem_new0(state->scope, kept_t);
    kept->received = *received;
    if (received->cdc)
        kept->received.cdc = kept->cdc =
            wmem_memdup(state->scope, received->cdc, sizeof *received->cdc);
    if (received->llc) {
        const smcr_llc_t *llc = received->llc;
        kept->received.llc = kept->llc = wmem_memdup(state->scope, llc, sizeof *llc);
        kept->llc->rtokens =
            wmem_memdup(state->scope, llc->rtokens, llc->rtoken_count * sizeof *llc->rtokens);
    }
    insert(end->deferred, kept);
}

static void
apply(smcr_state_t *state, smcr_end_t *end, const smcr_deferred_t *received)
{
    smcr_packet_t unseen = {.kind = SMCR_PACKET_OTHER}; /* its frame has gone by */
    smcr_stream_t *stream;

    if (received->cdc)
        smcr_cdc_apply(state, end, received->conn, received->psn, received->cdc, received->when,
                       &unseen);
    else if (received->llc)
        smcr_llc_apply(state, end, received->llc, received->when, &unseen);
    else if ((stream = smcr_conn_stream(received->conn, end->side, received->place->offset)))
        smcr_write_apply(state, stream, received->place, received->when, &unseen);
}

void
smcr_deferred_settle(smcr_state_t *state, smcr_end_t *end, bool forget)
{
    wmem_list_frame_t *at;
    uint32_t before = SMCR_PSN_MASK + 1; /* PSN of the one before: what came twice counts once */

    while (end->deferred && (at = wmem_list_head(end->deferred)) != NULL) {
        kept_t *kept = wmem_list_frame_data(at);
        uint32_t psn = kept->received.psn;
        if (smcr_psn_distance(psn, end->order.next) <= 0)
            return;
        if (!forget && psn != before)
            apply(state, end, &kept->received);
        before = psn;
        wmem_list_remove_frame(end->deferred, at);
        free_kept(state, kept);
    }
}
