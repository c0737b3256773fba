/* Knows which packets of a capture are the same transmission at several capture points, what
 * happened to a transmission between the points, and how far their clocks are apart. Does not know
 * the messages of SMC-R. Called by rooms that learn, show or report packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "clocks.h"
#include "fabric/fabric.h"

#define SMCR_POINTS_MOST 16 /* highest number of capture points of a file; packets of further points
                               are not compared */
#define SMCR_POINTS_OF_PATH 8 /* highest number of capture points of a path that are compared */

/* Where a packet was captured: a capture point. */
typedef struct {
    uint32_t interface; /* number of the interface in the file */
    uint32_t device;    /* index of the host's network device, of which a Linux cooked capture
                           (SLL2) has several on one interface; 0: the interface counts as one
                           device */
} smcr_points_place_t;

/* The capture points of one file. A transmission is one sending of a packet. RoCE packets at two
 * points may be the same transmission if all values are equal that routers do not change:
 * addresses, queue pair, opcode, PSN, IPv4 identification, UDP source port, length, and the values
 * of RETH, AETH and immediate data. The snap lengths of two points may differ, so payload and ICRC
 * are not compared. */
typedef struct smcr_points smcr_points_t;

/* A packet at a capture point. */
typedef struct {
    smcr_when_t when;              /* frame and time of the packet */
    smcr_points_place_t place;     /* the capture point */
    const smcr_ib_headers_t *roce; /* headers of the packet */
} smcr_points_packet_t;

#define SMCR_POINTS_SACKS 3 /* highest number of SACK blocks of a TCP segment that are kept */

/* Flags of TCP's header (RFC 9293, 3.1). */
#define SMCR_POINTS_TCP_FIN 0x01
#define SMCR_POINTS_TCP_SYN 0x02
#define SMCR_POINTS_TCP_RST 0x04
#define SMCR_POINTS_TCP_ACK 0x10

/* Whether a TCP checksum is right. */
enum {
    SMCR_POINTS_CHECKSUM_UNKNOWN, /* not known: the segment is truncated or a fragment, or an
                                     adapter computes the checksum after the capture */
    SMCR_POINTS_CHECKSUM_RIGHT,
    SMCR_POINTS_CHECKSUM_WRONG, /* the receiver discards the segment */
};

/* The header of a TCP segment. All numbers are in host byte order. */
typedef struct {
    uint32_t seq;     /* sequence number of the first byte, or of the SYN */
    uint32_t ack;     /* acknowledgement number; means nothing without the flag ACK */
    uint32_t length;  /* bytes of data */
    uint32_t tsval;   /* TSval (RFC 7323); set if `has_timestamps` */
    uint32_t tsecr;   /* TSecr; set if `has_timestamps` */
    struct {
        uint32_t left;  /* sequence number of the first byte of the block */
        uint32_t right; /* sequence number after the last byte of the block */
    } sack[SMCR_POINTS_SACKS]; /* SACK blocks (RFC 2018); both numbers 0: no more */
    int32_t ip_id;    /* identification of IPv4; negative or 0: it does not distinguish packets, or
                         there is none */
    uint32_t options; /* hash of the options of a SYN or SYN-ACK, if all of them are captured;
                         otherwise 0 */
    uint16_t window;  /* window as in the header, not scaled */
    uint8_t checksum; /* whether the checksum is right, SMCR_POINTS_CHECKSUM_... */
    uint8_t flags;    /* the lower 8 flags: SMCR_POINTS_TCP_... */
    uint8_t traffic_class; /* traffic class of the IP header: DSCP and ECN; 0 also if not known */
    uint8_t hop_limit; /* TTL or hop limit of the IP header; 0: not known */
    bool has_timestamps; /* the segment has the option with the time stamps */
} smcr_points_tcp_t;

/* A TCP segment at a capture point. If the connection is known as the copy of another one behind
 * NAT, addresses and ports are those of the other one. */
typedef struct {
    smcr_when_t when;              /* frame and time of the segment */
    smcr_points_place_t place;     /* the capture point */
    uint8_t gid[2][SMCR_GID_LENGTH]; /* address of the sender, of the receiver */
    uint16_t port;                 /* port of the sender */
    uint32_t connection;           /* number of the TCP connection */
    bool is_plain;                 /* the connection has shown no sign of SMC-R so far */
    const smcr_points_tcp_t *tcp;  /* header of the segment */
} smcr_points_tcp_segment_t;

/* How long the packets of one direction took between two points, nanoseconds. */
typedef struct {
    uint64_t count;  /* number of packets; 0: the members below are not set */
    int64_t least;   /* shortest delay */
    int64_t median;  /* median of the delays */
    int64_t nearly;  /* 99th percentile of the delays */
    int64_t most;    /* longest delay */
} smcr_points_delay_t;

/* The transmissions of one direction between two neighbouring capture points of a path, which form
 * a segment. */
typedef struct {
    uint64_t packets;                        /* number of transmissions that both points have, or
                                                that one point has and the other one should have
                                                captured */
    uint64_t at_both;                        /* number of transmissions that both points have */
    uint64_t verdicts[SMCR_VERDICT_COUNT]; /* by verdict: number of transmissions. A transmission
                                              may count in several */
    smcr_when_t first[SMCR_VERDICT_COUNT]; /* by verdict: frame and time of the first transmission
                                              that got it; frame 0: none did */
    uint64_t inferred;        /* number of lost transmissions whose loss no answer of the receiver
                                 proves: it is inferred from other transmissions between the two
                                 points (judge.c, compare.c) */
    uint64_t not_captured_at[2]; /* [0]: number of transmissions that the point that they pass first
                                    did not capture; [1]: number of those that the other point did
                                    not capture */
    smcr_points_delay_t delay;   /* delays between the two points */
} smcr_points_way_t;

/* A segment: the part of a path between two neighbouring capture points. */
typedef struct {
    uint8_t gid[2][SMCR_GID_LENGTH]; /* the two hosts: way 0 leads from [0] to [1], way 1 back */
    bool is_tcp;         /* the transmissions are TCP segments; false: RoCE packets */
    smcr_points_place_t place[2];    /* the two points, in the order in which way 0 passes them */
    bool order_known;    /* the order of the points is known; false: `place` has any order */
    bool clock_agrees;   /* the two points have one clock, or the packets of both ways do not
                            contradict each other about the offset of the clocks */
    smcr_clock_line_t clock; /* offset of the second point's clock from the first point's clock;
                                without `clock_agrees`, an estimate */
    smcr_points_way_t way[2]; /* the transmissions of way 0 and way 1 */
} smcr_points_segment_t;

/* What is known of the transmission of one frame. */
typedef struct {
    enum smcr_verdict verdict;     /* what happened to the transmission on its way, reported at the
                                      last point that has it. SMCR_VERDICT_AT_ALL: nothing did, or
                                      another point is the last one */
    uint32_t copies[SMCR_POINTS_OF_PATH]; /* frames of the same transmission at the other points;
                                             for a TCP segment, of its parts. 0: no more */
    bool has_delay;                /* `delay` is set: an earlier point of the way has the
                                      transmission, and the offset between the two clocks is
                                      known */
    int64_t delay;                 /* time since the last earlier point that has the transmission,
                                      nanoseconds */
    bool has_time;                 /* `time` is set */
    uint64_t time;                 /* time of the frame by the clock of the path's first point,
                                      nanoseconds since the epoch */
} smcr_points_note_t;

/* Makes a struct of capture points, without packets. It lives as long as `scope`. `list`: the
 * points, as numbers of interfaces or, in a Linux cooked capture, as indexes of devices; the
 * preferred point first. `count`: length of `list`, of which the first SMCR_POINTS_MOST are taken;
 * 0: the points are found from the packets. */
smcr_points_t *smcr_points_new(wmem_allocator_t *scope, const uint32_t *list, uint32_t count);

/* Takes a packet, in the order of the file. Returns true if the packet is a copy, so that it does
 * not count. There are two cases: 1. another point has shown the transmission before; 2. the
 * analysis of the path runs on another point, which has packets of this flow. */
bool smcr_points_take(smcr_points_t *points, const smcr_points_packet_t *packet);

/* Takes a packet with a wrong ICRC, in the order of the file. Returns true if the packet is a copy,
 * so that it does not count. Any byte of the packet may be wrong. */
bool smcr_points_take_damaged(smcr_points_t *points, const smcr_points_packet_t *packet);

/* Notes that the flow of the last packet is analysed. Does nothing if the last packet that was kept
 * is of another frame, or damaged. `source`: number of the queue pair that sends the packet; 0: not
 * known. */
void smcr_points_know(smcr_points_t *points, uint32_t frame, uint32_t source);

/* Takes a TCP segment, in the order of the file. Returns whether the segment was taken, and no
 * other point has shown the flow so far. Each point may show a connection in other segments, since
 * adapters and kernels divide and merge them. Not every segment is taken: none between equal
 * addresses, and, before smcr_points_take_plain(), none of a connection that has shown no sign of
 * SMC-R and began before all SMC-R connections and RoCE packets between its two hosts. */
bool smcr_points_take_tcp(smcr_points_t *points, const smcr_points_tcp_segment_t *segment);

/* Notes that two TCP connections are one, which the points show before and after NAT. `copy`: a
 * segment of the second connection that was taken; `original`: the same segment as the first
 * connection has it. All segments of the second connection count as those of the first one. Does
 * nothing if no segment of one of the connections was taken, or if they are one already. */
void smcr_points_join_tcp(smcr_points_t *points, const smcr_points_tcp_segment_t *copy,
                          const smcr_points_tcp_segment_t *original);

/* From now on, smcr_points_take_tcp() also takes all new connections that have shown no sign of
 * SMC-R. Connections that it has refused before stay refused until they show such a sign. */
void smcr_points_take_plain(smcr_points_t *points);

/* Compares the points, unless the last comparison had all the packets and segments taken so far. */
void smcr_points_compare(smcr_points_t *points);

/* Returns the segments that the last comparison has found, and sets `*count` to their number. NULL:
 * there are none. */
const smcr_points_segment_t *smcr_points_segments(const smcr_points_t *points, uint32_t *count);

/* Whether two segments lie between the same two points. Their hosts may differ. */
bool smcr_points_are_same(const smcr_points_segment_t *one, const smcr_points_segment_t *other);

/* A function that gets the delay of a packet between two points, nanoseconds. `when`: a frame of
 * the packet, and its time, nanoseconds since the epoch, by the clock of one point, which is the
 * same for all packets of the path. */
typedef void smcr_points_take_delay_t(void *context, smcr_when_t when, int64_t delay);

/* Calls `take` for each packet of one direction that both points have, in the order of time.
 * `number`: index of the segment in smcr_points_segments(). `is_back`: way 1 of the segment; false:
 * way 0. Does not call `take` if the offset between the two clocks is not known. */
void smcr_points_delays(const smcr_points_t *points, uint32_t number, bool is_back,
                        smcr_points_take_delay_t *take, void *context);

/* Whether the frame has a RoCE packet that was kept as a copy. `points` may be NULL: false. */
bool smcr_points_is_copy(const smcr_points_t *points, uint32_t frame);

/* Fills in `note` with the result of the last comparison for the frame's packet or TCP segment.
 * Returns false if nothing is known of it. */
bool smcr_points_note(const smcr_points_t *points, uint32_t frame, smcr_points_note_t *note);
