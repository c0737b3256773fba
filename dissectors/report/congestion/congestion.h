/* Knows the figures of ordinary TCP that scetrace measures, for each direction: acknowledgements,
 * retransmissions, gaps, delays, marks of congestion, bytes of the stream. Knows neither packets
 * nor SMC-R: a segment is a struct of numbers. Called by report/collect/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "fabric/fabric.h"
#include "report/figures/figures.h"
#include "wire/wire.h"

/* ---- when segments were sent: a table from rising numbers (sequence numbers, time stamps) to
 * times. A time is used once, when the answer to its number comes. A full table drops the entries
 * with the lowest numbers ---- */

#define SMCR_CONGESTION_SENT_TIMES_KEPT 4096 /* maximum number of entries of a table */

/* A table of send times. All zeros: the table is empty. */
typedef struct {
    struct smcr_sent_time *list; /* entries in ascending order of their numbers; NULL: none yet */
    uint32_t count;              /* number of entries in use */
    uint32_t room;               /* number of entries that are allocated */
} smcr_congestion_sent_times_t;

/* Stores that `number` was sent at `time`, nanoseconds since 1970. An earlier time of the number is
 * replaced. Entries below `answered` may be dropped: their answers have come. */
void smcr_congestion_sent_times_set(smcr_congestion_sent_times_t *times, wmem_allocator_t *scope,
                                    uint64_t number, uint64_t time, uint64_t answered);

/* Takes the answer to `number`: stores in `*time` when the number was sent, marks the entry as
 * answered, and returns true. Returns false if the table does not have the number, or if the number
 * was answered before. */
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

#define SMCR_CONGESTION_TCP_RECENT 16 /* number of last segments that are compared to find a
                                         duplicate */
#define SMCR_CONGESTION_TCP_SACKS 4 /* maximum number of SACK blocks that fit into TCP's options */

/* A TCP segment. Its sequence numbers are those on the wire, in host byte order. */
typedef struct {
    uint64_t time;     /* time of the segment, nanoseconds since 1970 */
    uint32_t place;    /* capture point of the segment: equal numbers are equal points */
    uint32_t seq;      /* sequence number of the first byte, or of the SYN */
    uint32_t ack;      /* acknowledgement number; means nothing without the flag ACK */
    uint32_t length;   /* number of bytes of data */
    uint32_t ip_bytes; /* total length of the segment's IP packet, bytes */
    uint32_t tsval;    /* TSval, the time stamp of the sender (RFC 7323); only valid if
                          `timestamps` */
    uint32_t tsecr;    /* TSecr, the time stamp of the peer that the segment echoes; only valid if
                          `timestamps` */
    int32_t ip_id;     /* identification in the IPv4 header; -1: not known */
    uint16_t flags;    /* flags of the TCP header: SMCR_CONGESTION_TCP_... */
    uint8_t ecn;       /* ECN codepoint: enum smcr_wire_ecn; 0 if `no_ecn` */
    uint8_t sacks;     /* number of blocks in `sack` */
    smcr_figure_syn_sign_t sign; /* if the segment is a SYN: NOPs that replace the SMC-R option, or
                                    Fast Open */
    bool no_length;    /* `length` is not known, and 0: the segment is in an IP fragment, for
                          example */
    bool no_ecn;       /* the IP header has not been found: `ecn` is not known, and 0 */
    bool ace;          /* NS, CWR and ECE are a counter of 3 bits (Accurate ECN, RFC 9768), and not
                          three flags */
    bool timestamps;   /* the segment has the time stamps option */
    struct {
        uint32_t left;  /* sequence number of the first byte of the block */
        uint32_t right; /* sequence number after the last byte of the block */
    } sack[SMCR_CONGESTION_TCP_SACKS]; /* SACK blocks (RFC 2018) */
} smcr_congestion_tcp_segment_t;

/* One of the last segments, with which a new segment is compared to find duplicates. */
typedef struct {
    uint64_t time;     /* time of the segment, nanoseconds since 1970 */
    uint64_t identity; /* hash of the header members that are equal in duplicates of the segment,
                          and differ in most other segments; 0: there is no such hash, so a
                          comparison with this segment finds no duplicates */
    uint64_t requests; /* member `requests` of the peer's direction when the segment came */
    uint32_t place;    /* capture point of the segment */
} smcr_congestion_tcp_recent_t;

/* The segment that ends at the highest sequence number of a direction. */
typedef struct {
    uint64_t time;   /* time of the segment, nanoseconds since 1970 */
    uint64_t from;   /* sequence number of its first byte, or of its SYN or FIN; without any of
                        them, the number of the next byte */
    uint64_t requests; /* member `requests` of the other direction when the segment came */
    uint32_t tsval;  /* TSval of the segment; only valid if `timestamps` */
    int32_t ip_id;   /* identification in the IPv4 header; -1: not known */
    bool timestamps; /* the segment has the time stamps option */
} smcr_congestion_tcp_newest_t;

/* One direction of a TCP connection: the data of one sender, and the peer's acknowledgements of
 * these data. Sequence numbers and time stamps are unwrapped to 64 bits, so that each number occurs
 * once in a connection; 0: none yet. All zeros: no segment has come. */
typedef struct {
    smcr_entry_tcp_direction_t counts; /* figures so far, without those that the report derives from
                                          others */
    uint64_t payload;             /* bytes of data, each byte of the stream counted once */

    uint64_t syn;                 /* sequence number of the SYN; 0: no SYN yet */
    uint64_t fin;                 /* sequence number of the FIN; 0: no FIN yet */
    uint64_t next_seq;            /* number after the highest sequence number that was sent; after a
                                     segment farther away than TCP's largest window, the number
                                     after that segment */
    bool newest_missing;          /* the bytes right before `next_seq` were not captured; a FIN may
                                     have been there */
    smcr_congestion_tcp_newest_t newest_segment; /* segment that ends at `next_seq` */
    uint64_t acked;               /* highest acknowledgement number that the peer has sent; after a
                                     number farther away than TCP's largest window, that number */
    uint64_t first_acked;         /* first acknowledgement number that the peer has sent; after a
                                     number farther away than TCP's largest window, that number */
    uint64_t tsval;               /* highest TSval that was sent in this direction */
    uint64_t echoed;              /* highest captured TSval that the peer has echoed */
    smcr_ranges_t captured;       /* sequence numbers of bytes that were captured */
    smcr_ranges_t sacked;         /* sequence numbers, `acked` or higher, that SACK blocks
                                     acknowledge */
    smcr_congestion_sent_times_t sent; /* send times of segments; number: sequence number of the
                                          first byte */
    smcr_congestion_sent_times_t sent_by_tsval; /* send times of segments; number: TSval of the
                                                   segment */

    uint64_t last_time;           /* time of the last counted segment, nanoseconds since 1970 */
    uint64_t last_sce_time;       /* time of the last segment marked ECT(1), nanoseconds since
                                     1970 */
    uint64_t first_ack_time;      /* time of the first acknowledgement that the peer sent,
                                     nanoseconds since 1970 */
    smcr_congestion_tcp_recent_t *recent; /* last segments, to find duplicates: a circular list of
                                             SMCR_CONGESTION_TCP_RECENT segments; NULL: none */
    uint32_t newest;              /* number of segments put into `recent` so far */
    uint32_t recent_room;         /* number of segments for which `recent` has memory; grows up to
                                     SMCR_CONGESTION_TCP_RECENT */
    uint64_t requests;            /* number of segments by which the sender of this direction may
                                     have asked the peer for a retransmission: duplicate
                                     acknowledgements without data, and segments with SACK blocks */
    uint32_t sce_run;             /* number of consecutive segments marked ECT(1), the last segment
                                     included */
    bool next_unknown;            /* the length of `newest_segment` is not known */
    bool has_late_data;           /* bytes of data were captured after their acknowledgement */
    bool any_ecn;                 /* the IP header of a segment was found, so its ECN codepoint was
                                     counted */
    bool any_timestamps;          /* at least one segment had the time stamps option */
    bool any_identity;            /* a segment had an `identity`, so duplicates can be found */
} smcr_congestion_tcp_direction_t;

/* Counts a segment that `direction` sends. `reverse` is the other direction. Memory is allocated in
 * `scope`. */
void smcr_congestion_tcp_direction_take(smcr_congestion_tcp_direction_t *direction,
                                        smcr_congestion_tcp_direction_t *reverse,
                                        wmem_allocator_t *scope,
                                        const smcr_congestion_tcp_segment_t *segment);

/* Whether bytes of the stream may be missing in the capture. There are three reasons:
 * 1. the SYN was not captured;
 * 2. bytes below the highest sequence number that was sent or acknowledged were not captured;
 * 3. bytes were captured after their acknowledgement: Wireshark's TCP does not pass on such
 *    bytes. */
bool smcr_congestion_tcp_direction_may_lack_bytes(const smcr_congestion_tcp_direction_t *direction);

/* Whether the end of the stream may be missing in the capture. There are four reasons:
 * 1. no segment was captured;
 * 2. the peer has acknowledged bytes after the last captured one;
 * 3. a later segment without data shows that bytes before it were not captured;
 * 4. the FIN has no acknowledgement. */
bool smcr_congestion_tcp_direction_may_lack_end(const smcr_congestion_tcp_direction_t *direction);

/* Fills in the entry with the figures so far. The entry shares the distributions of `direction`, or
 * has its own, allocated in `scope`. */
void smcr_congestion_tcp_direction_report(const smcr_congestion_tcp_direction_t *direction,
                                          smcr_entry_tcp_direction_t *entry,
                                          wmem_allocator_t *scope);
