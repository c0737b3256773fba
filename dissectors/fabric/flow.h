/* How the packets of a flow fared: what one queue pair sends to its peer (reliable and unreliable
 * connections; InfiniBand Architecture Specification, volume 1, 9.7 and 9.8).
 *
 * docs/fabric.md defines every verdict, and says what proves it. A reliable connection delivers in
 * the order of PSNs: a packet behind a gap is discarded by the receiver, and retransmitted. So what
 * the receiver has taken in is not what the capture shows, and everything that depends on order
 * asks here first.
 *
 * PSNs have 24 bits and wrap. Everything that compares them counts in unwrapped numbers instead,
 * which never come again in a capture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "ranges.h"
#include "wire/wire.h"

/* ---- a packet, as its headers say, and its packet sequence number ---- */

/* When something happens in a capture. */
typedef struct {
    uint32_t frame; /* number, from 1; 0: never */
    uint64_t time;  /* nanoseconds since the epoch */
} smcr_when_t;

#define SMCR_SENT_NO_IP_ID (-1)

typedef struct {
    smcr_when_t when;
    uint8_t opcode;          /* of the BTH */
    uint8_t syndrome;        /* of the AETH, with `has_aeth` */
    bool has_aeth;
    uint32_t psn;            /* 24 bits */
    uint32_t payload_length; /* bytes, without padding */
    uint32_t dma_length;     /* of the RETH, bytes; 0: it has none */
    int32_t ip_id;           /* IPv4 identification, or SMCR_SENT_NO_IP_ID */
    bool corrupt;            /* its ICRC is wrong: it was sent, but not received */
} smcr_sent_t;

#define SMCR_PSN_MASK 0xffffffU

/* A PSN that does not wrap: its low 24 bits are the PSN on the wire. 0 is none. */
typedef uint64_t smcr_psn_t;

/* How far `to` is ahead of `from`; negative when it is behind. 24-bit arithmetic. */
static inline int32_t
smcr_psn_distance(uint32_t from, uint32_t to)
{
    uint32_t ahead = (to - from) & SMCR_PSN_MASK;

    return ahead < (SMCR_PSN_MASK + 1) / 2 ? (int32_t)ahead
                                           : (int32_t)ahead - (int32_t)(SMCR_PSN_MASK + 1);
}

/* The unwrapped number of the first PSN of a flow: there is room before it. */
static inline smcr_psn_t
smcr_psn_begin(uint32_t psn)
{
    return UINT64_C(0x100000000) + (psn & SMCR_PSN_MASK);
}

/* The unwrapped number of `psn` that is nearest to `from`. */
static inline smcr_psn_t
smcr_psn_near(smcr_psn_t from, uint32_t psn)
{
    return from + (smcr_psn_t)(int64_t)smcr_psn_distance((uint32_t)(from & SMCR_PSN_MASK), psn);
}

/* ---- which frame had a PSN first, and what became of the PSN since: for as many of the newest
 * PSNs as a sender may retransmit them (seen.c) ---- */

/* Rarely set members: of packets that came behind a gap, or were retransmitted. */
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

/* Whether `now` is so soon behind `before` that nobody retransmits of his own accord. */
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

/* The frame of the earlier response that this one copies (`*copy`) or repeats; 0: neither. */
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

/* A new READ. Returns its last PSN as far as it is known; `mtu`: bytes, 0 where it is not known. */
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

/* ---- steps back: a sender goes back to a PSN and retransmits all from there on (go-back-N,
 * InfiniBand Architecture Specification, volume 1, 9.7.5.1; step_back.c). docs/fabric.md defines
 * what belongs to a step and what its cause is ---- */

typedef enum smcr_cause smcr_step_cause_t;

/* What records point to: the cause may be found out later. */
typedef struct {
    uint32_t frame;  /* of the first packet */
    uint8_t cause;   /* smcr_step_cause_t */
    smcr_when_t nak; /* that named the PSN of the first packet: the last RNR NAK, or else the last
                        NAK; frame 0: none did */
} smcr_step_back_t;

/* A NAK that the sender has not followed yet. */
#define SMCR_STEP_NAKS_KEPT 4
typedef struct {
    smcr_psn_t psn;     /* 0: none */
    uint32_t step;      /* number of the step in which it came */
    bool rnr;           /* an RNR NAK was among them */
    smcr_when_t when;   /* the last RNR NAK, or, if there is none, the last NAK */
    bool fresh;         /* it came behind the flow's last request */
} smcr_step_nak_t;

/* A packet from which the sender may go on. */
typedef struct {
    smcr_step_back_t *lone;  /* what is said of the packet itself; NULL: there is no such packet */
    smcr_step_back_t *step;  /* what is said of those behind it */
    smcr_psn_t last;         /* PSN that was sent last since */
    /* the step, if the sender does go on */
    smcr_psn_t begin;
    uint32_t number;
    uint32_t naks;           /* that had come before it */
    uint8_t cause;
} smcr_step_candidate_t;

/* The steps back of a flow. */
typedef struct {
    smcr_step_nak_t *naks; /* SMCR_STEP_NAKS_KEPT, the newest comes last; NULL: there has been
                              none */
    uint32_t arrivals;       /* NAKs so far */
    uint32_t numbers;        /* of steps and guesses so far */
    smcr_step_back_t *step;  /* the last one; NULL: there has been none */
    uint32_t number;         /* of it, from 1 */
    smcr_psn_t first, end;   /* of it */
    smcr_psn_t position;     /* its highest packet, which has `position_id` */
    bool passed, hopeful, disorder; /* a request above its end has come; it is late, but its first
                                       packet has not come; the flow has had a late packet */
    smcr_psn_t before;       /* the last request of all */
    bool waited;             /* one of the last repeats had, with this identification: */
    uint16_t id, position_id;
    uint64_t busy, rnr_timer; /* time of the last request or NAK; what the last RNR NAK told, ns */
    smcr_step_candidate_t candidate;
} smcr_steps_t;

/* A request that is no copy. */
typedef struct {
    smcr_psn_t psn;
    smcr_psn_t highest;  /* of the requests before it */
    smcr_psn_t taken;    /* covered by acknowledgements */
    smcr_when_t when;
    uint16_t id;         /* IPv4 identification */
    uint32_t step, candidate_step; /* numbers of steps in which the PSN was sent last; 0: in none */
    bool repeat, late;   /* both false: new, above the highest PSN */
    bool proven;         /* its identification tells when it was sent, and that it is no copy */
    bool read;           /* an RDMA READ, of a PSN that an RDMA READ had before */
    bool within;         /* and not as its first one */
    bool reverse_has_carried; /* the reverse flow has carried something */
    bool before, waited; /* set by smcr_steps_take(): sent before one that did; too long for NAKs */
} smcr_step_request_t;

/* A NAK (`rnr`: an RNR NAK; `sequence`: a NAK with code PSN sequence error) names `psn`. */
void smcr_steps_nak(smcr_steps_t *steps, wmem_allocator_t *scope, smcr_psn_t psn, bool rnr,
                    bool sequence, smcr_when_t when);

/* The step back that the request belongs to; NULL: to none. The numbers in the request become those
 * of the step in which it is sent, and of the one that this may turn out to be. */
smcr_step_back_t *smcr_steps_take(smcr_steps_t *steps, wmem_allocator_t *scope,
                                  smcr_step_request_t *request);

/* ---- flows ---- */

typedef enum {
    SMCR_FLOW_IS_NEXT,
    SMCR_FLOW_IS_REPEAT,   /* the flow had the PSN before */
    SMCR_FLOW_IS_LATE,     /* it was absent until now */
    SMCR_FLOW_IS_BEHIND,   /* a gap */
    SMCR_FLOW_IS_COPY,     /* made by the network */
} smcr_flow_order_t;

/* What becomes of a request at the receiver, as far as the capture tells. */
typedef enum {
    SMCR_FLOW_FATE_TAKE, /* it is taken in, after all before it that wait */
    SMCR_FLOW_FATE_WAIT, /* until what is before it comes, or an acknowledgement covers it */
    SMCR_FLOW_FATE_DROP, /* it changes nothing: the same was taken in before, or waits */
    SMCR_FLOW_FATE_TOO_LATE, /* it was taken in before, but the capture has it only now */
} smcr_flow_fate_t;

/* What is said of a packet. */
typedef struct {
    smcr_flow_order_t order;
    smcr_flow_fate_t fate;   /* of a request */
    smcr_psn_t psn;          /* unwrapped */
    smcr_when_t first;       /* repeat, copy: its first packet, frame 0 when that is forgotten;
                                else the packet itself */
    bool original;           /* `first` is when it was sent first of all */
    uint32_t gap_frame;      /* behind a gap: the first packet behind it */
    uint32_t overtaken_by;   /* late: the first packet behind the gap that it was in; 0: in none */
    uint32_t absent;         /* packets that the capture lacks before this one, said once */
    bool taken;              /* repeat: an acknowledgement had covered it before */
    bool refused;            /* repeat: the first packet came behind a gap, and was discarded */
    bool replaces;           /* repeat: all packets with the PSN so far had wrong ICRCs */
    bool silent;             /* the peer has stopped answering; said once */
    smcr_step_back_t *step;  /* to which it belongs; NULL: to none */
    uint32_t *discarded;     /* behind a gap: frame that proves that the receiver discarded it; 0
                                until then. NULL: it is not behind one */
} smcr_flow_verdict_t;

/* An acknowledgement that the capture has before the first request. */
typedef struct {
    bool known;
    uint8_t syndrome;
    uint32_t psn;
    smcr_when_t when;
} smcr_flow_early_t;

/* IPv4 identifications of the packets of a flow so far: where they change from packet to packet,
 * one that comes again tells a copy. All zeros: there has been none. */
typedef struct {
    uint32_t psn; /* of the last packet, as are the next two */
    uint8_t opcode;
    uint16_t id;
    bool started, differ, same; /* two successive packets had different ones, or the same */
} smcr_ids_t;

#define SMCR_FLOW_GAPS_KEPT 32
#define SMCR_FLOW_LACKED_KEPT 1024

/* All zeros: nothing has been sent. Its four PSNs, where the capture lacks 106:
 *
 *     100   101   102   103   104   105    .    107   108
 *    first       taken                 in_order      highest
 */
typedef struct {
    smcr_psn_t first;    /* PSN of the first request; 0: there has been none */
    smcr_psn_t highest;  /* that requests have taken */
    smcr_psn_t taken;    /* covered by acknowledgements; 0: there has been none */
    smcr_psn_t in_order; /* all requests before it are taken in, or the capture lacks them */
    bool announced;      /* `first` is what the sender announced */
    bool acknowledged;   /* the reverse flow has carried acknowledgements */
    uint32_t carried;    /* packets, of any kind */
    uint32_t refused_at; /* frame of the last NAK or RNR NAK; 0: there has been none */
    uint32_t answered_at; /* frame of the last response; 0: there has been none */
    uint32_t silent_at;  /* packets of the reverse flow when its silence was told */
    uint32_t mtu;        /* of the path, bytes; 0: not known */
    uint32_t newest;     /* frame that first had the highest PSN */
    smcr_ranges_t gaps;  /* PSNs that no packet has had, with the packets before and behind */
    smcr_ranges_t lacked; /* late ones, or told by CDC, and frames between which they were absent */
    smcr_ranges_t unheard; /* frames at which what the capture had was lost on its way */
    smcr_psn_t corrupt;  /* from here on all requests had wrong ICRCs; 0: the last one had not */
    smcr_seen_t seen;
    smcr_steps_t steps;
    smcr_ids_t ids;
    smcr_flow_early_t early;
    smcr_psn_t asked;    /* by the last NAK or RNR NAK; 0: there has been none */
    smcr_psn_t refused;  /* what came behind a gap up to here was thrown away; 0: nothing */
    smcr_psn_t unproven; /* first packet behind a gap that nothing proves discarded; 0: none */
    smcr_reads_t *reads;         /* NULL: there has been none */
    smcr_responses_t *responses; /* NULL: there has been none */
} smcr_flow_t;

/* The sender announced `psn` as its first. Ignored when requests have been seen. */
void smcr_flow_start(smcr_flow_t *flow, uint32_t psn);

/* The next packet of a flow in the capture. `reverse` is what the peer sends, NULL when that is not
 * known; an acknowledgement changes it. A corrupt packet was sent, but is not received. What the
 * verdict points to lives as long as `scope`. */
smcr_flow_verdict_t smcr_flow_take(smcr_flow_t *flow, smcr_flow_t *reverse, wmem_allocator_t *scope,
                                   const smcr_sent_t *packet);

/* Whether a request with `psn` begins a new life of the queue pair: it is far from all others. */
bool smcr_flow_begins_anew(const smcr_flow_t *flow, uint32_t psn);

/* What a response says of requests. */
typedef struct {
    smcr_psn_t psn;   /* that it names; 0: it says nothing */
    smcr_psn_t taken; /* everything up to here has been taken in: a NAK covers what is before it */
    uint8_t kind;     /* enum smcr_ib_syndrome_kind */
} smcr_flow_coverage_t;

/* What the response says of the requests of `flow`. */
smcr_flow_coverage_t smcr_flow_coverage(const smcr_flow_t *flow, const smcr_sent_t *packet);

/* The request with `psn` as it was first sent, NULL when it has not been seen or was long ago. */
const smcr_seen_packet_t *smcr_flow_seen(const smcr_flow_t *flow, uint32_t psn);
