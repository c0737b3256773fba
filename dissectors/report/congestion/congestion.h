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

/* The table. All zeros: nothing waits. */
typedef struct {
    struct smcr_sent_time *list; /* in ascending order of numbers; NULL: nothing was ever sent */
    uint32_t count;              /* entries in use */
    uint32_t room;               /* entries that are allocated */
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

/* A segment. Sequence numbers as on the wire, in host byte order. */
typedef struct {
    uint64_t time;     /* nanoseconds since the epoch */
    uint32_t seq;      /* sequence number of its first byte, or of its SYN */
    uint32_t ack;      /* acknowledgement number; means nothing without the flag ACK */
    uint32_t length;   /* of its data, bytes */
    uint32_t ip_bytes; /* total length of its IP packet */
    uint32_t tsval;    /* time stamp of the sender (RFC 7323); set if `timestamps` */
    uint32_t tsecr;    /* time stamp that it echoes; set if `timestamps` */
    int32_t ip_id;     /* identification of IPv4; -1: not known */
    uint16_t flags;    /* SMCR_CONGESTION_TCP_... */
    uint8_t ecn;       /* enum smcr_wire_ecn */
    uint8_t sacks;     /* blocks in `sack` */
    smcr_figure_syn_sign_t sign; /* what its options show, if it is a SYN */
    bool no_length;    /* an IP fragment: `length` is not known, and 0 */
    bool no_ecn;       /* the IP header has not been found: `ecn` is not known, and 0 */
    bool ace;          /* NS, CWR and ECE are a counter (Accurate ECN, RFC 9768) */
    bool timestamps;   /* it has the time stamps option */
    struct {
        uint32_t left;  /* first sequence number of the block */
        uint32_t right; /* sequence number after its last byte */
    } sack[SMCR_CONGESTION_TCP_SACKS]; /* SACK blocks (RFC 2018) */
} smcr_congestion_tcp_segment_t;

/* One of the newest segments, among which copies are looked for. */
typedef struct {
    uint64_t time;     /* nanoseconds since the epoch */
    uint64_t identity; /* a hash of what only copies of the segment share; 0: none */
} smcr_congestion_tcp_recent_t;

/* What is known of the data of one sender. Its numbers are unwrapped sequence numbers and time
 * stamps: each number occurs once in a connection; 0: none yet. All zeros: nothing has been sent.
 */
typedef struct {
    smcr_entry_tcp_direction_t counts; /* without what the report adds */
    uint64_t payload;             /* bytes of the stream, each byte once */

    uint64_t syn;                 /* sequence number of the SYN */
    uint64_t fin;                 /* sequence number of the FIN */
    uint64_t next_seq;            /* the number after the highest that was sent */
    bool newest_missing;          /* the numbers right before `next` are missing; maybe a FIN */
    uint64_t acked;               /* the acknowledgement number: all below are acknowledged */
    uint64_t tsval;               /* the highest TSval that was sent */
    uint64_t echoed;              /* the highest TSval that the peer has echoed */
    smcr_ranges_t captured;       /* numbers whose bytes were captured */
    smcr_ranges_t sacked;         /* numbers that SACK blocks acknowledge, from `acked` on */
    smcr_congestion_sent_times_t sent; /* times of segments, by their first sequence number */
    smcr_congestion_sent_times_t sent_by_tsval; /* times of segments, by TSval */

    uint64_t last_time;           /* of the last segment, nanoseconds since the epoch */
    uint64_t last_sce_time;       /* of the last segment marked ECT(1), likewise */
    uint64_t first_ack_time;      /* of the first acknowledgement of these data, likewise */
    smcr_congestion_tcp_recent_t recent[SMCR_CONGESTION_TCP_RECENT]; /* a circular list */
    uint32_t newest;              /* how many segments were put into the list */
    uint32_t sce_run;             /* length of the run of segments marked ECT(1) */
    bool next_unknown;            /* the last segment had no known length */
    bool has_late_data;           /* data was captured after its acknowledgement */
    bool any_ecn;                 /* a segment had an IP header, so ECN is known */
    bool any_timestamps;          /* a segment had the time stamps option */
    bool any_identity;            /* a segment could be told from others */
} smcr_congestion_tcp_direction_t;

/* `direction` sends a segment; `reverse` is the other direction. What is kept lives as long as
 * `scope`. */
void smcr_congestion_tcp_direction_take(smcr_congestion_tcp_direction_t *direction,
                                        smcr_congestion_tcp_direction_t *reverse,
                                        wmem_allocator_t *scope,
                                        const smcr_congestion_tcp_segment_t *segment);

/* Whether bytes of the stream may be missing from the capture: its SYN is missing, or bytes that
 * were acknowledged, or bytes before captured ones. Also where bytes were captured after their
 * acknowledgement: Wireshark's TCP does not hand on such bytes. */
bool smcr_congestion_tcp_direction_may_lack_bytes(const smcr_congestion_tcp_direction_t *direction);

/* Whether the end of the stream may be missing: bytes that were acknowledged, all bytes, or the
 * answer to a FIN. */
bool smcr_congestion_tcp_direction_may_lack_end(const smcr_congestion_tcp_direction_t *direction);

/* Fills in the entry of the report with the figures so far. */
void smcr_congestion_tcp_direction_report(const smcr_congestion_tcp_direction_t *direction,
                                          smcr_entry_tcp_direction_t *entry);
