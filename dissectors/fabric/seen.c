/* A table by PSN that grows with what a sender has under way; ranges of PSNs of the last READs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "flow.h"

#define SOON 100000 /* nanoseconds: no timer of a sender is that short */
#define SIZE_FIRST 4
#define SIZE_ENOUGH 128 /* unless more is under way */
#define SIZE_MAX_KEPT 8192 /* more than a sender has under way */

static smcr_seen_packet_t *
slot_of(const smcr_seen_t *seen, smcr_psn_t psn)
{
    return seen->size ? &seen->slots[psn & (seen->size - 1)] : NULL;
}

smcr_seen_packet_t *
smcr_seen_find(const smcr_seen_t *seen, smcr_psn_t psn)
{
    smcr_seen_packet_t *slot = slot_of(seen, psn);

    return slot && slot->psn == psn ? slot : NULL;
}

static void
grow(smcr_seen_t *seen, wmem_allocator_t *scope)
{
    smcr_seen_t before = *seen;

    seen->size = before.size ? before.size * 2 : SIZE_FIRST;
    seen->slots = wmem_alloc0_array(scope, smcr_seen_packet_t, seen->size);
    for (uint32_t i = 0; i < before.size; i++)
        if (before.slots[i].psn)
            *slot_of(seen, before.slots[i].psn) = before.slots[i];
    wmem_free(scope, before.slots);
}

/* Where there are many, PSNs that are far apart push each other out; only as many as half fill the
 * slots get more. */
static bool
want_more(const smcr_seen_t *seen, uint64_t needed)
{
    if (seen->size < SIZE_ENOUGH)
        return true;
    return seen->used >= seen->size / 2 && seen->size < SIZE_MAX_KEPT && needed >= seen->size;
}

smcr_seen_packet_t *
smcr_seen_add(smcr_seen_t *seen, wmem_allocator_t *scope, smcr_psn_t psn, uint64_t needed,
              const smcr_sent_t *packet)
{
    smcr_seen_packet_t *slot = slot_of(seen, psn);

    while (!slot || (slot->psn && slot->psn != psn && want_more(seen, needed))) {
        grow(seen, scope);
        slot = slot_of(seen, psn);
    }
    if (slot->psn > psn)
        return NULL;
    seen->used += !slot->psn;
    wmem_free(scope, slot->more);
    *slot = (smcr_seen_packet_t){
        .psn = psn,
        .time = packet->when.time,
        .frame = packet->when.frame,
        .id = (uint16_t)packet->ip_id,
        .corrupt = packet->corrupt,
        .arrived = !packet->corrupt,
        .fetches = smcr_ib_is_fetch(packet->opcode),
        .begins = smcr_ib_begins_message(packet->opcode),
        .ends = smcr_ib_ends_message(packet->opcode),
    };
    return slot;
}

smcr_seen_rare_t *
smcr_seen_rare(smcr_seen_packet_t *packet, wmem_allocator_t *scope)
{
    if (!packet->more) {
        packet->more = wmem_new0(scope, smcr_seen_rare_t);
        packet->more->last_frame = packet->frame;
        packet->more->last_time = packet->time;
        packet->more->last_id = packet->id;
    }
    return packet->more;
}

smcr_when_t
smcr_seen_last(const smcr_seen_packet_t *packet)
{
    return packet->more ? (smcr_when_t){packet->more->last_frame, packet->more->last_time}
                        : (smcr_when_t){packet->frame, packet->time};
}

uint16_t
smcr_seen_last_id(const smcr_seen_packet_t *packet)
{
    return packet->more ? packet->more->last_id : packet->id;
}

void
smcr_seen_again(smcr_seen_packet_t *seen, wmem_allocator_t *scope, const smcr_sent_t *packet)
{
    smcr_seen_rare_t *more = smcr_seen_rare(seen, scope);

    more->last_id = (uint16_t)packet->ip_id;
    more->last_frame = packet->when.frame;
    more->last_time = packet->when.time;
}

bool
smcr_seen_is_soon(smcr_when_t before, smcr_when_t now)
{
    return now.time >= before.time && now.time - before.time <= SOON;
}

/* ---- responses ---- */

/* Time tells nothing: each of many packets that come again is acknowledged with the same. */
static uint32_t
take_acknowledgement(smcr_responses_t *responses, const smcr_sent_t *packet,
                     smcr_response_grounds_t grounds, bool *copy)
{
    for (unsigned i = 0; grounds.by_id && i < SMCR_RESPONSES_KEPT; i++)
        if (responses->kept[i].frame && responses->kept[i].psn == packet->psn &&
            responses->kept[i].id == packet->ip_id) {
            *copy = true;
            return responses->kept[i].frame;
        }
    responses->newest = (responses->newest + 1) % SMCR_RESPONSES_KEPT;
    responses->kept[responses->newest].frame = packet->when.frame;
    responses->kept[responses->newest].psn = packet->psn;
    responses->kept[responses->newest].id = (uint16_t)packet->ip_id;
    return 0;
}

/* The frame of which the response with data is a copy; 0: none. */
static uint32_t
copied_data(const smcr_responses_t *responses, const smcr_seen_packet_t *seen,
            const smcr_sent_t *packet, smcr_response_grounds_t grounds)
{
    if (!grounds.by_id)
        return responses->heard == grounds.heard &&
                       smcr_seen_is_soon(smcr_seen_last(seen), packet->when)
                   ? smcr_seen_last(seen).frame : 0;
    if (seen->id == packet->ip_id)
        return seen->frame;
    return smcr_seen_last_id(seen) == packet->ip_id ? smcr_seen_last(seen).frame : 0;
}

static uint32_t
take_data(smcr_responses_t *responses, wmem_allocator_t *scope, const smcr_sent_t *packet,
          smcr_response_grounds_t grounds, bool *copy)
{
    if (!responses->highest)
        responses->highest = smcr_psn_begin(packet->psn);
    smcr_psn_t psn = smcr_psn_near(responses->highest, packet->psn);
    smcr_seen_packet_t *seen = smcr_seen_find(&responses->seen, psn);
    uint32_t copied = seen ? copied_data(responses, seen, packet, grounds) : 0;

    responses->highest = MAX(responses->highest, psn);
    responses->heard = grounds.heard;
    *copy = copied != 0;
    if (seen && !copied)
        smcr_seen_again(seen, scope, packet);
    else if (!seen)
        smcr_seen_add(&responses->seen, scope, psn, 0, packet);
    return copied ? copied : seen ? seen->frame : 0;
}

uint32_t
smcr_responses_take(smcr_responses_t **responses, wmem_allocator_t *scope,
                    const smcr_sent_t *packet, smcr_response_grounds_t grounds, bool *copy)
{
    if (!*responses)
        *responses = wmem_new0(scope, smcr_responses_t);
    *copy = false;
    return packet->opcode == SMCR_RC_ACK
               ? take_acknowledgement(*responses, packet, grounds, copy)
               : take_data(*responses, scope, packet, grounds, copy);
}

/* ---- READs ---- */

#define MTU_MIN 256
#define MTU_MAX 4096

static uint32_t
packets(uint32_t length, uint32_t mtu)
{
    return length ? length / mtu + (length % mtu != 0) : 1;
}

static smcr_read_t *
newest(smcr_reads_t *reads)
{
    return &reads->kept[(reads->count - 1) % reads->size];
}

smcr_psn_t
smcr_reads_add(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
               const smcr_sent_t *packet, uint32_t mtu)
{
    uint32_t length = packet->dma_length;

    if (!*reads)
        *reads = wmem_new0(scope, smcr_reads_t);
    smcr_reads_t *all = *reads;

    if (all->count == all->size && all->size < SMCR_READS_KEPT) { /* it has not come round yet */
        all->size = all->size ? 2 * all->size : SIZE_FIRST;
        all->kept = wmem_realloc(scope, all->kept, all->size * sizeof *all->kept);
    }
    all->count++;
    all->open = mtu || length <= MTU_MIN ? 0 : length;
    *newest(all) = (smcr_read_t){
        .first = psn,
        .last = psn + packets(length, mtu ? mtu : MTU_MAX) - 1,
        .sent = packet->when,
    };
    return newest(all)->last;
}

smcr_psn_t
smcr_reads_add_late(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
                    const smcr_sent_t *packet, uint32_t mtu)
{
    bool is_only = !*reads;
    uint32_t open = is_only ? 0 : (*reads)->open;
    smcr_read_t before = is_only ? (smcr_read_t){.first = 0} : *newest(*reads);
    smcr_psn_t last = smcr_reads_add(reads, scope, psn, packet, mtu);
    smcr_reads_t *all = *reads;

    newest(all)->sent = (smcr_when_t){0, 0};
    if (!is_only) {
        all->kept[(all->count - 2) % all->size] = *newest(all);
        *newest(all) = before;
    }
    all->open = open;
    return last;
}

smcr_psn_t
smcr_reads_settle(smcr_reads_t *reads, uint32_t mtu)
{
    if (!reads || !reads->open)
        return 0;
    smcr_psn_t last = newest(reads)->first + packets(reads->open, mtu) - 1;
    newest(reads)->last = last;
    reads->open = 0;
    return last;
}

smcr_psn_t
smcr_reads_end(smcr_reads_t *reads, smcr_psn_t next)
{
    smcr_psn_t last = 0;

    if (!reads || !reads->open)
        return 0;
    for (uint32_t mtu = MTU_MAX; mtu >= MTU_MIN; mtu /= 2) {
        smcr_psn_t end = newest(reads)->first + packets(reads->open, mtu);
        if (end <= next)
            last = end - 1;
    }
    newest(reads)->last = MAX(newest(reads)->last, last);
    reads->open = 0;
    return last;
}

/* The READ that has `psn`, NULL: none is known. */
static const smcr_read_t *
find(const smcr_reads_t *reads, smcr_psn_t psn)
{
    uint32_t count = reads ? MIN(reads->count, reads->size) : 0;

    for (uint32_t i = 0; i < count; i++)
        if (reads->kept[i].first <= psn && psn <= reads->kept[i].last)
            return &reads->kept[i];
    return NULL;
}

smcr_psn_t
smcr_reads_find(const smcr_reads_t *reads, smcr_psn_t psn)
{
    const smcr_read_t *read = find(reads, psn);

    return read ? read->first : 0;
}

smcr_when_t
smcr_reads_sent(const smcr_reads_t *reads, smcr_psn_t psn)
{
    const smcr_read_t *read = find(reads, psn);

    return read && read->first == psn ? read->sent : (smcr_when_t){0, 0};
}
