/* The history of a flow's PSNs. For each PSN: the frame of the first packet that had it, and the
 * retransmissions after that. The history keeps as many of the newest PSNs as a sender may still
 * retransmit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "sent.h"

/* The steps back (step_back.h) in which one PSN was sent. The steps of a flow are numbered from
 * 1. */
typedef struct {
    uint32_t last;      /* number of the last step in which the PSN was sent; 0: none */
    uint32_t tentative; /* number of the last tentative step in which the PSN was sent; 0: none */
} smcr_seen_steps_t;

/* Members of the history that most PSNs do not need. They exist if the first packet with the PSN
 * came after a gap, if the PSN was retransmitted, or if a packet with it belongs to a step back. */
typedef struct {
    uint32_t *discard_proof; /* see smcr_flow_verdict_t.discard_proof; NULL: the first packet did
                                not come after a gap */
    uint32_t last_frame;     /* frame of the last packet with the PSN and a right ICRC; if none has
                                come so far, of the first packet with the PSN */
    uint64_t last_time;      /* time of the packet in `last_frame`, nanoseconds since the epoch */
    smcr_seen_steps_t steps; /* the steps back in which the PSN was sent */
    uint32_t reverse_packets_before; /* number of packets of the reverse flow when `retransmissions`
                                        was last set to 0: a higher number now means that the peer
                                        has sent something since */
    uint16_t last_id;        /* IPv4 identification of the packet in `last_frame` */
    uint8_t last_hop_limit;  /* TTL or hop limit of the packet in `last_frame`; 0: not known */
    uint8_t retransmissions; /* number of retransmissions of the PSN since the last packet of the
                                reverse flow; not counted beyond 3 */
} smcr_seen_rare_t;

/* The history of one PSN. "The first packet" is the first one in the capture that has the PSN. */
typedef struct {
    smcr_psn_t psn;         /* the unwrapped PSN; 0: the slot is free */
    uint64_t time;          /* time of the first packet, nanoseconds since the epoch */
    smcr_seen_rare_t *rare; /* rarely needed members; NULL: none of them has been set */
    uint32_t frame;         /* frame of the first packet */
    uint16_t id;            /* IPv4 identification of the first packet */
    uint8_t hop_limit;      /* TTL or hop limit of the first packet; 0: not known */
    bool late : 1;          /* packets with higher PSNs came before the first packet: an earlier
                               packet with this PSN may be missing in the capture */
    bool corrupt : 1;       /* the ICRC of the first packet is wrong */
    bool had_good_icrc : 1; /* a packet with the PSN and a right ICRC has come */
    bool begins : 1;        /* the first packet begins a message: its opcode is FIRST or ONLY */
    bool ends : 1;          /* the first packet ends a SEND or WRITE message, which an
                               acknowledgement completes */
    bool fetches : 1;       /* the first packet is a READ or atomic, which only its own response
                               completes */
} smcr_seen_packet_t;

/* A hash table by PSN. All zeros: the table has no PSN. */
typedef struct {
    smcr_seen_packet_t *slots; /* the slots; the low bits of a PSN are the index of its slot; NULL:
                                  no slots yet */
    uint32_t size;             /* number of slots: 0 or a power of two */
    uint32_t used;             /* slots that are not free */
} smcr_seen_t;

/* Keeps the newest PSNs only, as few as a new table has slots, and frees the other ones. Used when
 * no packet of the flow is expected any more. */
void smcr_seen_shrink(smcr_seen_t *seen, wmem_allocator_t *scope);

/* The entry of `psn`. NULL: no packet had this PSN, or its slot has been given to a newer PSN. */
smcr_seen_packet_t *smcr_seen_find(const smcr_seen_t *seen, smcr_psn_t psn);

/* Returns the rarely needed members of a PSN. The first call for the PSN allocates these members
 * from `scope`, and sets `last_frame`, `last_time`, `last_id` and `last_hop_limit` to the values
 * of the first packet. */
smcr_seen_rare_t *smcr_seen_rare(smcr_seen_packet_t *packet, wmem_allocator_t *scope);

/* Whether it is proven that the receiver has discarded the first packet with the PSN, which came
 * after a gap. */
static inline bool
smcr_seen_was_discarded(const smcr_seen_packet_t *packet)
{
    const smcr_seen_rare_t *rare = packet->rare;

    return rare && rare->discard_proof && *rare->discard_proof;
}

/* Whether the first packet with a PSN came after a gap, and no frame so far proves that the
 * receiver has discarded that packet. `seen`: the history of the PSN; NULL: there is none, and the
 * result is false. */
static inline bool
smcr_seen_awaits_proof(const smcr_seen_packet_t *seen)
{
    return seen && seen->rare && seen->rare->discard_proof && !*seen->rare->discard_proof;
}

/* Returns time and frame of the last packet with the PSN and a right ICRC. If no packet with the
 * PSN had a right ICRC, returns time and frame of the first packet with the PSN. */
smcr_when_t smcr_seen_last(const smcr_seen_packet_t *packet);

/* The IPv4 identification of the packet that smcr_seen_last() finds. */
uint16_t smcr_seen_last_id(const smcr_seen_packet_t *packet);

/* TTL or hop limit of the packet that smcr_seen_last() finds; 0: not known. */
uint8_t smcr_seen_last_hop_limit(const smcr_seen_packet_t *packet);

/* Notes in `seen` that `packet` is the last packet with the PSN of `seen`. `packet` has a right
 * ICRC. */
void smcr_seen_retransmit(smcr_seen_packet_t *seen, wmem_allocator_t *scope,
                          const smcr_sent_t *packet);

/* Nanoseconds. A sender retransmits a packet within this time only if a response gives it a reason,
 * such as a NAK (docs/fabric.md, "Requests"). */
#define SMCR_SEEN_SOON 100000

/* Whether `now` is at most `limit` nanoseconds after `before`. */
static inline bool
smcr_seen_is_within(smcr_when_t before, smcr_when_t now, uint64_t limit)
{
    return now.time >= before.time && now.time - before.time <= limit;
}

/* Whether the packet has another hop limit than an earlier one with `hop_limit`; both are known. */
static inline bool
smcr_seen_has_other_limit(uint8_t hop_limit, const smcr_sent_t *now)
{
    return hop_limit && now->hop_limit && hop_limit != now->hop_limit;
}

/* Whether a packet at `before` with `hop_limit` and the packet `now` were captured before and after
 * a router, or after and before it: the limits are known and differ, and at most 2 milliseconds lie
 * between. A sender gives all its packets the same limit. */
bool smcr_seen_is_beyond_router(smcr_when_t before, uint8_t hop_limit, const smcr_sent_t *now);

/* Adds `psn`, whose first packet is `packet`, and returns its entry. The table grows to keep the
 * last `needed` PSNs, up to 8192 slots. Returns NULL and adds nothing if the slot has a newer
 * PSN. */
smcr_seen_packet_t *smcr_seen_add(smcr_seen_t *seen, wmem_allocator_t *scope, smcr_psn_t psn,
                                  uint64_t needed, const smcr_sent_t *packet);
