/* Keeps PSNs in a hash table without chains. The low bits of a PSN are the index of its slot. If
 * two PSNs have one slot, the newer PSN overwrites the older PSN. The table grows with the number
 * of PSNs that are sent and not acknowledged yet ("under way").
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "seen.h"

#define BEYOND_ROUTER 2000000 /* nanoseconds: a router forwards sooner */

/* Sizes of the table: numbers of slots. */
#define SIZE_FIRST 4
#define SIZE_ENOUGH 128    /* number of slots; a table with so many slots, or more, grows only if
                              the PSNs under way need it */
#define SIZE_MAX_KEPT 8192 /* number of slots; no sender has more PSNs under way */

/* Returns the slot for `psn`, which may contain `psn`, another PSN or none; NULL: the table has no
 * slots. */
static smcr_seen_packet_t *
slot_at(const smcr_seen_t *seen, smcr_psn_t psn)
{
    return seen->size ? &seen->slots[psn & (seen->size - 1)] : NULL;
}

smcr_seen_packet_t *
smcr_seen_find(const smcr_seen_t *seen, smcr_psn_t psn)
{
    smcr_seen_packet_t *slot = slot_at(seen, psn);

    return slot && slot->psn == psn ? slot : NULL;
}

/* Doubles the number of slots, and moves the entries to their new slots. */
static void
grow_table(smcr_seen_t *seen, wmem_allocator_t *scope)
{
    smcr_seen_t before = *seen;

    seen->size = before.size ? before.size * 2 : SIZE_FIRST;
    seen->slots = wmem_alloc0_array(scope, smcr_seen_packet_t, seen->size);
    for (uint32_t i = 0; i < before.size; i++)
        if (before.slots[i].psn)
            *slot_at(seen, before.slots[i].psn) = before.slots[i];
    wmem_free(scope, before.slots);
}

/* Of two PSNs with one slot, the higher one stays. The rarely needed members of the other one are
 * freed with it. */
void
smcr_seen_shrink(smcr_seen_t *seen, wmem_allocator_t *scope)
{
    smcr_seen_t before = *seen;

    if (before.size <= SIZE_FIRST)
        return;
    *seen = (smcr_seen_t){.size = SIZE_FIRST};
    seen->slots = wmem_alloc0_array(scope, smcr_seen_packet_t, seen->size);
    for (uint32_t i = 0; i < before.size; i++) {
        smcr_seen_packet_t packet = before.slots[i], *slot = slot_at(seen, packet.psn);
        if (packet.psn > slot->psn) {
            seen->used += !slot->psn;
            before.slots[i] = *slot;
            *slot = packet;
        }
        wmem_free(scope, before.slots[i].rare);
    }
    wmem_free(scope, before.slots);
}

/* Called if two PSNs have the same slot. Returns true if the table has to grow, false if the newer
 * PSN has to overwrite the older one. A small table always grows. A large table grows only if at
 * least as many PSNs are under way as the table has slots, and half of the slots are in use.
 * Without the second condition, a few PSNs far apart would make the table grow. */
static bool
is_worth_growing(const smcr_seen_t *seen, uint64_t needed)
{
    if (seen->size < SIZE_ENOUGH)
        return true;
    return seen->used >= seen->size / 2 && seen->size < SIZE_MAX_KEPT && needed >= seen->size;
}

/* Whether `slot` has a PSN other than `psn`. */
static bool
is_taken_by_other(const smcr_seen_packet_t *slot, smcr_psn_t psn)
{
    return slot->psn && slot->psn != psn;
}

/* The entry of a newer PSN is never replaced. */
smcr_seen_packet_t *
smcr_seen_add(smcr_seen_t *seen, wmem_allocator_t *scope, smcr_psn_t psn, uint64_t needed,
              const smcr_sent_t *packet)
{
    const smcr_ib_operation_t *operation = &smcr_ib_operations[packet->opcode];
    smcr_seen_packet_t *slot = slot_at(seen, psn);

    while (!slot || (is_taken_by_other(slot, psn) && is_worth_growing(seen, needed))) {
        grow_table(seen, scope);
        slot = slot_at(seen, psn);
    }
    if (slot->psn > psn)
        return NULL;
    seen->used += !slot->psn;
    wmem_free(scope, slot->rare);
    *slot = (smcr_seen_packet_t){
        .psn = psn,
        .time = packet->when.time,
        .frame = packet->when.frame,
        .id = (uint16_t)packet->ip_id,
        .hop_limit = packet->hop_limit,
        .corrupt = packet->corrupt,
        .had_good_icrc = !packet->corrupt,
        .fetches = operation->fetches_data,
        .begins = operation->begins,
        .ends = operation->ends,
    };
    return slot;
}

/* So far, the first packet with the PSN is also the last one, so its values are copied. */
smcr_seen_rare_t *
smcr_seen_rare(smcr_seen_packet_t *packet, wmem_allocator_t *scope)
{
    if (!packet->rare) {
        packet->rare = wmem_new0(scope, smcr_seen_rare_t);
        packet->rare->last_frame = packet->frame;
        packet->rare->last_time = packet->time;
        packet->rare->last_id = packet->id;
        packet->rare->last_hop_limit = packet->hop_limit;
    }
    return packet->rare;
}

smcr_when_t
smcr_seen_last(const smcr_seen_packet_t *packet)
{
    return packet->rare ? (smcr_when_t){packet->rare->last_frame, packet->rare->last_time}
                        : (smcr_when_t){packet->frame, packet->time};
}

uint16_t
smcr_seen_last_id(const smcr_seen_packet_t *packet)
{
    return packet->rare ? packet->rare->last_id : packet->id;
}

uint8_t
smcr_seen_last_hop_limit(const smcr_seen_packet_t *packet)
{
    return packet->rare ? packet->rare->last_hop_limit : packet->hop_limit;
}

/* Only `rare` changes: the members of the first packet are needed for `first` of verdicts. */
void
smcr_seen_retransmit(smcr_seen_packet_t *seen, wmem_allocator_t *scope, const smcr_sent_t *packet)
{
    smcr_seen_rare_t *more = smcr_seen_rare(seen, scope);

    more->last_id = (uint16_t)packet->ip_id;
    more->last_hop_limit = packet->hop_limit;
    more->last_frame = packet->when.frame;
    more->last_time = packet->when.time;
}

bool
smcr_seen_is_beyond_router(smcr_when_t before, uint8_t hop_limit, const smcr_sent_t *now)
{
    return smcr_seen_has_other_limit(hop_limit, now) &&
           smcr_seen_is_within(before, now->when, BEYOND_ROUTER);
}
