/* seen.h
 * Which frame had a PSN first, and what became of the PSN since: for as many of the newest PSNs as
 * a sender may send again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdbool.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "sent.h"

/* Rarely set members: of packets that came behind a gap, or were sent again. */
typedef struct {
    uint32_t *proof;     /* see smcr_flow_verdict_t.discarded; NULL: it came in order */
    uint32_t last_frame; /* of its last packet that is not corrupt */
    uint64_t last_time;  /* and its time, nanoseconds since the epoch */
    uint32_t step;       /* number of the step back in which it was sent last; 0: in none */
    uint32_t candidate_step; /* the step it belongs to if the open candidate proves to be one */
    uint32_t reverse_packets_before; /* packets of the reverse flow when `repeats` began to count */
    uint16_t last_id;    /* IPv4 identification of the last packet */
    uint8_t repeats;     /* since the reverse flow was heard last */
} smcr_seen_rare_t;

typedef struct {
    smcr_psn_t psn;         /* 0: the slot is free */
    uint64_t time;          /* of its first packet, nanoseconds since the epoch */
    smcr_seen_rare_t *more; /* NULL: nothing */
    uint32_t frame;         /* of its first packet */
    uint16_t id;            /* IPv4 identification of that */
    bool late : 1;          /* its first packet in the capture was: others may have gone before */
    bool corrupt : 1;       /* its first packet has a wrong ICRC */
    bool arrived : 1;       /* one with a right ICRC has come */
    bool begins : 1;        /* it is the first packet of a message */
    bool ends : 1;          /* it is the last packet of one that an acknowledgement completes */
    bool fetches : 1;       /* it is a READ or an atomic: its own response completes it */
} smcr_seen_packet_t;

typedef struct {
    smcr_seen_packet_t *slots; /* by the low bits of the PSN */
    uint32_t size;             /* of them: a power of two */
    uint32_t used;
} smcr_seen_t;

/* The packet with `psn`; NULL when it has not been seen, or was long ago. */
smcr_seen_packet_t *smcr_seen_find(const smcr_seen_t *seen, smcr_psn_t psn);

/* The rarely set members, allocated when they are first asked for. */
smcr_seen_rare_t *smcr_seen_rare(smcr_seen_packet_t *packet, wmem_allocator_t *scope);

/* The last packet that is not corrupt, and its IPv4 identification. */
smcr_when_t smcr_seen_last(const smcr_seen_packet_t *packet);
uint16_t smcr_seen_last_id(const smcr_seen_packet_t *packet);

/* Another packet with the PSN has come, which is not corrupt. */
void smcr_seen_again(smcr_seen_packet_t *seen, wmem_allocator_t *scope, const smcr_sent_t *packet);

/* Whether `now` is so soon behind `before` that nobody sends the same again of his own accord. */
bool smcr_seen_is_soon(smcr_when_t before, smcr_when_t now);

/* A slot for `psn`, which `packet` is the first to have; NULL when a newer PSN has it. What the
 * last `needed` PSNs had is kept. */
smcr_seen_packet_t *smcr_seen_add(smcr_seen_t *seen, wmem_allocator_t *scope, smcr_psn_t psn,
                                  uint64_t needed, const smcr_sent_t *packet);

/* ---- responses ---- */

#define SMCR_RESPONSES_KEPT 16

/* What one queue pair answers. Responses have the PSNs of the requests that they answer. */
typedef struct {
    smcr_seen_t seen;   /* READ responses and Atomic ACKs */
    smcr_psn_t highest; /* of these; 0: there has been none */
    uint32_t heard;     /* packets of the reverse flow before the last of these */
    struct {
        uint32_t frame, psn;
        uint16_t id;
    } kept[SMCR_RESPONSES_KEPT]; /* ACKs and NAKs */
    unsigned newest;
} smcr_responses_t;

/* What tells whether a response is a copy. */
typedef struct {
    bool by_id;     /* its identification does; else, of one with data, that it comes soon again */
    uint32_t heard; /* packets of the reverse flow so far */
} smcr_response_grounds_t;

/* The frame of the earlier response that this one copies or repeats; 0: neither. `*copy`: it is a
 * copy. */
uint32_t smcr_responses_take(smcr_responses_t **responses, wmem_allocator_t *scope,
                             const smcr_sent_t *packet, smcr_response_grounds_t grounds,
                             bool *copy);

/* ---- READs ----
 *
 * A request takes one PSN for each packet of its response (InfiniBand Architecture Specification,
 * volume 1, 9.4.4). The number of packets depends on the path MTU, which headers do not tell. */

#define SMCR_READS_KEPT 32

typedef struct {
    smcr_psn_t first, last;
    smcr_when_t sent; /* first of all; frame 0: not known, since it came late */
} smcr_read_t;

typedef struct {
    smcr_read_t *kept; /* ring */
    uint32_t size;     /* of it: grows up to SMCR_READS_KEPT */
    uint32_t count;    /* of all READs so far; the newest is at (count - 1) % size */
    uint32_t open;     /* length of the newest, bytes, while its last PSN is not known; 0: it is */
} smcr_reads_t;

/* A new READ. Returns its last PSN, as far as that is known: `mtu` is in bytes, 0 where it is not
 * known. */
smcr_psn_t smcr_reads_add(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
                          const smcr_sent_t *packet, uint32_t mtu);

/* The same of one that has come late: another one is still the newest. */
smcr_psn_t smcr_reads_add_late(smcr_reads_t **reads, wmem_allocator_t *scope, smcr_psn_t psn,
                               const smcr_sent_t *packet, uint32_t mtu);

/* The path MTU is known now. Returns the last PSN of the newest READ, 0 when nothing changes. */
smcr_psn_t smcr_reads_settle(smcr_reads_t *reads, uint32_t mtu);

/* The next request has the PSN `next`: the last PSN that the newest READ can have, 0 when that
 * changes nothing. */
smcr_psn_t smcr_reads_end(smcr_reads_t *reads, smcr_psn_t next);

/* The first PSN of the READ that has `psn`; 0: none is known. */
smcr_psn_t smcr_reads_find(const smcr_reads_t *reads, smcr_psn_t psn);

/* When the READ whose first PSN is `psn` was first sent; frame 0: not known. */
smcr_when_t smcr_reads_sent(const smcr_reads_t *reads, smcr_psn_t psn);
