/* seen.h
 * Which frame had a PSN first, and what became of the PSN since: for as many of the newest PSNs as
 * a sender may send again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_SEEN_H
#define SMCR_FABRIC_SEEN_H

#include <stdbool.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "psn.h"

typedef struct {
    smcr_psn_t psn;        /* 0: the slot is free */
    uint64_t time;         /* of its first packet, nanoseconds since the epoch */
    uint32_t *proof;       /* see smcr_verdict_t.discarded; NULL: it came in order */
    uint32_t frame;        /* of its first packet */
    uint32_t step : 23;    /* number of the step back in which it was sent last; 0: in none */
    uint32_t late : 1;     /* its first packet in the capture was: others may have gone before */
    uint32_t corrupt : 1;  /* its first packet has a wrong ICRC */
    uint32_t arrived : 1;  /* one with a right ICRC has come */
    uint32_t repeats : 6;  /* since the reverse flow was heard last */
    uint32_t heard;        /* packets of the reverse flow at that time */
    uint16_t ids[2];       /* IPv4 identification of its first packet, and of its last
                              that is not corrupt */
    uint32_t last_frame;   /* of the latter */
    uint32_t guess;        /* number of the step in which it was sent last, if that is one */
} smcr_seen_packet_t;

typedef struct {
    smcr_seen_packet_t *slots; /* by the low bits of the PSN */
    uint32_t size;             /* of them: a power of two */
    uint32_t used;
} smcr_seen_t;

/* The packet with `psn`; NULL when it has not been seen, or was long ago. */
smcr_seen_packet_t *smcr_seen_find(const smcr_seen_t *seen, smcr_psn_t psn);

/* A slot for `psn`, all zeros but for the PSN; NULL when a newer PSN has it. What the last `needed`
 * PSNs had is kept. */
smcr_seen_packet_t *smcr_seen_add(smcr_seen_t *seen, wmem_allocator_t *scope, smcr_psn_t psn,
                                  uint64_t needed);

#endif /* SMCR_FABRIC_SEEN_H */
