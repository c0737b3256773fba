/* flow.h
 * How the packets of a flow fared: what one queue pair sends to its peer (reliable and unreliable
 * connections; InfiniBand Architecture Specification, volume 1, 9.7 and 9.8).
 *
 * docs/fabric.md defines every verdict, and says what proves it. A reliable connection delivers in
 * the order of PSNs: a packet behind a gap is thrown away by the receiver and sent again. So what
 * the receiver has taken in is not what the capture shows, and everything that depends on order
 * asks here first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "ranges.h"
#include "seen.h"
#include "sent.h"
#include "step_back.h"

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
    uint32_t silent_at;  /* packets of the reverse flow when its silence was told */
    uint32_t mtu;        /* of the path, bytes; 0: not known */
    uint32_t newest;     /* frame that first had the highest PSN */
    smcr_ranges_t gaps;  /* PSNs that no packet has had, with the packets before and behind */
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

/* Whether a READ of the flow takes `psn`. */
bool smcr_flow_is_within_read(const smcr_flow_t *flow, uint32_t psn);
