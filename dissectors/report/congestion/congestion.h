/* Knows what scetrace measures of ordinary TCP: acknowledgements, retransmissions, gaps, delays and
 * marks of congestion, of each direction, and the bytes of its stream. Knows neither packets nor
 * SMC-R: a segment comes with its numbers. Called by who reads the segments of a capture.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fabric/fabric.h"
#include "report/figures/figures.h"
#include "wire/wire.h"

/* ---- when something was sent that waits for its answer: a table from numbers that rise (sequence
 * numbers, time stamps) to times. It keeps the newest ---- */

#define SMCR_CONGESTION_SENT_TIMES_KEPT 4096

/* All zeros: nothing waits. */
typedef struct {
    struct smcr_sent_time *list; /* in ascending order; NULL: there has been none */
    uint32_t count, room;
} smcr_congestion_sent_times_t;

/* `number` is sent at `time`, nanoseconds since the epoch; an earlier time of it is forgotten.
 * Numbers below `answered` need not be kept. */
void smcr_congestion_sent_times_set(smcr_congestion_sent_times_t *times, wmem_allocator_t *scope,
                                    uint64_t number, uint64_t time, uint64_t answered);

/* The answer to `number` has come. Returns whether its time was known, and puts it into `time`. It
 * is forgotten then. */
bool smcr_congestion_sent_times_take(smcr_congestion_sent_times_t *times, uint64_t number,
                                     uint64_t *time);

/* ---- segments, and their direction ---- */

/* Flags of TCP's header (RFC 9293, 3.1; RFC 3168, 6.1; RFC 3540, 9). */
#define SMCR_CONGESTION_TCP_FIN 0x001
#define SMCR_CONGESTION_TCP_SYN 0x002
#define SMCR_CONGESTION_TCP_RST 0x004
#define SMCR_CONGESTION_TCP_ACK 0x010
#define SMCR_CONGESTION_TCP_ECE 0x040
#define SMCR_CONGESTION_TCP_CWR 0x080
#define SMCR_CONGESTION_TCP_NS 0x100

#define SMCR_CONGESTION_TCP_RECENT 16 /* segments among which a copy is looked for */
#define SMCR_CONGESTION_TCP_SACKS 4 /* as many blocks as TCP's options can hold */

/* A segment. Sequence numbers as they are on the wire, in host byte order. */
typedef struct {
    uint64_t time;     /* nanoseconds since the epoch */
    uint32_t seq, ack;
    uint32_t length;   /* of its data, bytes */
    uint32_t ip_bytes; /* total length of its IP packet */
    uint32_t tsval, tsecr;
    int32_t ip_id;     /* identification of IPv4; -1: not known */
    uint16_t flags;    /* SMCR_TCP_... */
    uint8_t ecn;       /* enum smcr_wire_ecn */
    uint8_t sacks;     /* blocks in `sack` */
    smcr_figure_syn_sign_t sign; /* what its options tell, if it is a SYN */
    bool no_length;    /* an IP fragment: `length` is not known, and 0 */
    bool no_ecn;       /* the IP header has not been found: `ecn` is not known, and 0 */
    bool ace;          /* NS, CWR and ECE are a counter (Accurate ECN, RFC 9768) */
    bool timestamps;   /* it has the option: `tsval`, `tsecr` */
    struct {
        uint32_t left, right;
    } sack[SMCR_CONGESTION_TCP_SACKS];
} smcr_congestion_tcp_segment_t;

/* One of the newest segments, and what tells it from others. */
typedef struct {
    uint64_t time, identity;
} smcr_congestion_tcp_recent_t;

/* What is known of the data of one sender. Its numbers are unwrapped sequence numbers and time
 * stamps: they never come again; 0: none yet. All zeros: nothing has been sent. */
typedef struct {
    smcr_entry_tcp_direction_t counts; /* but what smcr_congestion_tcp_direction_report() adds */
    uint64_t payload;             /* bytes of the stream, each once */

    uint64_t syn, fin;            /* sequence numbers of these */
    uint64_t next;                /* the number behind the highest that was sent */
    bool lacks_newest;            /* the numbers right before `next`; they may be a FIN's */
    uint64_t acked;               /* everything below has been acknowledged */
    uint64_t tsval;               /* the highest */
    uint64_t echoed;              /* the highest TSval that the peer has echoed */
    smcr_ranges_t seen;           /* numbers whose bytes have come */
    smcr_ranges_t sacked;         /* numbers that SACK blocks have acknowledged, from `acked` on */
    smcr_congestion_sent_times_t sent; /* segments, by their first sequence number */
    smcr_congestion_sent_times_t stamped; /* segments, by TSval */

    uint64_t last_time, last_sce_time, first_ack_time; /* nanoseconds since the epoch */
    smcr_congestion_tcp_recent_t recent[SMCR_CONGESTION_TCP_RECENT]; /* a ring */
    uint32_t newest;              /* so many have been put there */
    uint32_t sce_run;             /* the newest segments that have the mark one behind another */
    bool next_unknown;            /* a segment without known length was the last */
    bool data_late;               /* data came behind their acknowledgement */
    bool any_ecn, any_timestamps; /* a segment told */
    bool any_identity;            /* one can be told from others */
} smcr_congestion_tcp_direction_t;

/* `direction` sends a segment; `reverse` is the other direction. What is kept lives as long as
 * `scope`. */
void smcr_congestion_tcp_direction_take(smcr_congestion_tcp_direction_t *direction,
                                        smcr_congestion_tcp_direction_t *reverse,
                                        wmem_allocator_t *scope,
                                        const smcr_congestion_tcp_segment_t *segment);

/* Whether the capture may lack bytes of the stream: it lacks the SYN, or bytes that were
 * acknowledged or have others behind them. So it does where they came behind their acknowledgement:
 * Wireshark's TCP does not hand on such bytes. */
bool smcr_congestion_tcp_direction_lacks(const smcr_congestion_tcp_direction_t *direction);

/* Whether it lacks the newest: bytes that were acknowledged, or all; or what answers a FIN. */
bool smcr_congestion_tcp_direction_lacks_end(const smcr_congestion_tcp_direction_t *direction);

/* What the report says of it, as of now. */
void smcr_congestion_tcp_direction_report(const smcr_congestion_tcp_direction_t *direction,
                                          smcr_entry_tcp_direction_t *entry);
