/* Sizes of the packets of an RDMA flow: which sizes are acknowledged, and which are never
 * acknowledged, although the sender retransmits the packets. A path whose MTU is too small loses
 * packets above a certain size, and only these.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "collectors.h"

#include "wire/wire.h"

/* ---- acknowledgements ---- */

/* Notes that all requests before the PSN `expected` are acknowledged, and updates the longest
 * acknowledged length. If that PSN is the first known one, or higher than before, `stuck` begins
 * anew. */
static void
acknowledge(smcr_collect_flow_sizes_t *sizes, uint32_t expected)
{
    for (unsigned i = 0; i < sizes->sent_count; i++) {
        smcr_collect_sent_t *sent = &sizes->sent[i];
        if (!sent->length || smcr_psn_distance(sent->psn, expected) <= 0)
            continue;
        sizes->acked_longest = MAX(sizes->acked_longest, sent->length);
        sent->length = 0;
    }
    sizes->acked_longest = MAX(sizes->acked_longest, sizes->dropped_longest);
    sizes->dropped_longest = 0;
    if (sizes->is_known && smcr_psn_distance(sizes->expected, expected) <= 0)
        return;
    sizes->is_known = true;
    sizes->expected = expected;
    sizes->stuck = (smcr_collect_stuck_t){.next = expected};
}

/* Whether the packet is the response to an RDMA READ or to an atomic: it covers its own PSN. */
static bool
has_response_data(const smcr_ib_headers_t *roce)
{
    return roce->opcode < SMCR_RC_OPCODES && smcr_ib_operations[roce->opcode].is_response &&
           roce->opcode != SMCR_RC_ACK;
}

/* An acknowledgement covers the PSN that it names. An RNR NAK, and a NAK for a PSN sequence error,
 * cover only the PSNs before the named one. NAKs with other codes are ignored. */
static void
hear_ack(smcr_collect_flow_sizes_t *sizes, const smcr_ib_headers_t *roce)
{
    unsigned kind = smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_KIND);
    unsigned code = smcr_wire_bits(roce->syndrome, SMCR_MASK_SYNDROME_CODE);

    if (kind == SMCR_IB_SYNDROME_ACK)
        acknowledge(sizes, (roce->psn + 1) & SMCR_PSN_MASK);
    if (kind == SMCR_IB_SYNDROME_RNR_NAK) {
        acknowledge(sizes, roce->psn);
        sizes->stuck.rnr_naks += sizes->expected == roce->psn;
    }
    if (kind != SMCR_IB_SYNDROME_NAK || code != SMCR_IB_NAK_PSN_SEQUENCE)
        return;
    acknowledge(sizes, roce->psn);
    sizes->stuck.is_refused |= sizes->expected == roce->psn;
}

void
smcr_collect_flow_sizes_hear(smcr_collect_flow_sizes_t *sizes, const smcr_ib_headers_t *roce)
{
    if (has_response_data(roce))
        acknowledge(sizes, (roce->psn + 1) & SMCR_PSN_MASK);
    else if (roce->opcode == SMCR_RC_ACK && roce->has_aeth)
        hear_ack(sizes, roce);
}

/* ---- requests ---- */

/* Keeps the length of a request until the request is acknowledged. If the ring is full, the oldest
 * request leaves it, and counts as acknowledged with the next acknowledgement of any request. So a
 * size that arrives is never taken for a size that does not arrive. */
static void
keep_sent(smcr_collect_flow_sizes_t *sizes, const smcr_ib_headers_t *roce)
{
    smcr_collect_sent_t *sent = &sizes->sent[sizes->sent_next];

    sizes->dropped_longest = MAX(sizes->dropped_longest, sent->length);
    *sent = (smcr_collect_sent_t){.psn = roce->psn, .length = (uint32_t)roce->length};
    sizes->sent_count = MAX(sizes->sent_count, sizes->sent_next + 1);
    sizes->sent_next = (sizes->sent_next + 1) % SMCR_COLLECT_SENT_KEPT;
}

/* Notes the time between two tries, nanoseconds. */
static void
note_interval(smcr_collect_stuck_t *stuck, uint64_t interval)
{
    stuck->longest = MAX(stuck->longest, interval);
    stuck->shortest = stuck->shortest ? MIN(stuck->shortest, interval) : interval;
}

/* Takes in a request, unless it is acknowledged already. A try is a transmission of the expected
 * request. With each try the sender steps back to the expected request (go-back-N). If only later
 * requests are captured, the expected request is missing in the capture: then each transmission of
 * the first captured request after it is a try. */
static void
take_try(smcr_collect_flow_sizes_t *sizes, smcr_when_t when, const smcr_ib_headers_t *roce)
{
    smcr_collect_stuck_t *stuck = &sizes->stuck;
    int32_t ahead = smcr_psn_distance(sizes->expected, roce->psn);
    bool is_first = !stuck->begin.frame || smcr_psn_distance(roce->psn, stuck->next) > 0;

    if (ahead < 0)
        return;
    if (is_first) {
        *stuck = (smcr_collect_stuck_t){
            .begin = when, .next = roce->psn, .rnr_naks = stuck->rnr_naks,
            .is_refused = stuck->is_refused};
        stuck->length = ahead ? 0 : (uint32_t)roce->length;
        stuck->missing = (uint32_t)ahead;
    }
    stuck->last = when.time;
    if (roce->psn != stuck->next)
        return;
    if (stuck->tries)
        note_interval(stuck, when.time - MIN(stuck->end.time, when.time));
    stuck->tries++;
    stuck->end = when;
}

/* A retransmission is only a try: keep_sent() has its length since the first transmission. */
void
smcr_collect_flow_sizes_take(smcr_collect_flow_sizes_t *sizes, smcr_when_t when,
                             const smcr_tap_t *packet)
{
    const smcr_ib_headers_t *roce = packet->roce;
    bool is_request = roce->opcode < SMCR_RC_OPCODES &&
                      !smcr_ib_operations[roce->opcode].is_response;

    if (!is_request || packet->record->order == SMCR_FLOW_IS_COPY)
        return;
    if (packet->record->order != SMCR_FLOW_IS_RETRANSMISSION)
        keep_sent(sizes, roce);
    if (sizes->is_known)
        take_try(sizes, when, roce);
}

/* Packets of `from` before the expected PSN of `sizes` count as acknowledged. If the expected PSN
 * is not known, only packets count that `from` knows as acknowledged. */
void
smcr_collect_flow_sizes_join(smcr_collect_flow_sizes_t *sizes,
                             const smcr_collect_flow_sizes_t *from)
{
    sizes->acked_longest = MAX(sizes->acked_longest, from->acked_longest);
    if (!sizes->is_known)
        return;
    sizes->acked_longest = MAX(sizes->acked_longest, from->dropped_longest);
    for (unsigned i = 0; i < from->sent_count; i++)
        if (smcr_psn_distance(from->sent[i].psn, sizes->expected) > 0)
            sizes->acked_longest = MAX(sizes->acked_longest, from->sent[i].length);
}

/* ---- reporting ---- */

/* Whether the sender would have tried once more before `end`, the end of the capture, had it not
 * used up its retries. If the times between tries are equal, the next try comes after the same
 * time. If they grow, it comes after at most twice the longest time. A quarter is added to either
 * time. */
static bool
has_ended(const smcr_collect_stuck_t *stuck, uint64_t end)
{
    bool is_steady = stuck->longest <= stuck->shortest + stuck->shortest / 4;
    uint64_t next = stuck->longest * (is_steady ? 5 : 10) / 4;

    return end != SMCR_FIGURE_UNKNOWN && end > stuck->last && end - stuck->last > next;
}

/* Fills in the length of the longest acknowledged IP packet, and `stuck`: the expected request, if
 * the sender tried it SMCR_COLLECT_TRIES times or more without an acknowledgement. Fewer tries may
 * be usual losses, and make no entry `stuck`. Nor do RNR NAKs alone. figures/entries.def and
 * docs/json.md promise the three tries. */
void
smcr_collect_flow_sizes_fill(smcr_entry_rdma_t *entry, const smcr_collect_flow_sizes_t *sizes,
                             uint64_t end, wmem_allocator_t *scope)
{
    const smcr_collect_stuck_t *stuck = &sizes->stuck;
    uint32_t tries = MAX(stuck->tries, stuck->rnr_naks); /* the first RNR NAK shows which request is
                                                            expected; the try that it answers came
                                                            before, and is not in `stuck->tries` */

    entry->acked_longest = sizes->acked_longest ? sizes->acked_longest : SMCR_FIGURE_UNKNOWN;
    if (tries < SMCR_COLLECT_TRIES || !stuck->tries)
        return;
    entry->stuck = wmem_new(scope, smcr_entry_flow_stuck_t);
    *entry->stuck = (smcr_entry_flow_stuck_t){
        .begin_frame = stuck->begin,
        .end_frame = stuck->end,
        .tries = tries,
        .length = stuck->length ? stuck->length : SMCR_FIGURE_UNKNOWN,
        .missing = stuck->missing,
        .is_refused = smcr_figure_truth(stuck->is_refused),
        .rnr_naks = stuck->rnr_naks,
        .has_ended = smcr_figure_truth(has_ended(stuck, end))};
}
