/* Knows which packets of a capture are the same transmission at several capture points, what
 * happened to a transmission between the points, and how far their clocks are apart. Does not know
 * SMC-R or Wireshark. Called when packets are learned, and by all that shows or reports them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "clocks.h"
#include "fabric/fabric.h"

#define SMCR_POINTS_MOST 16 /* capture points of a file; packets of further ones are not compared */
#define SMCR_POINTS_OF_PATH 8 /* capture points of a path that are compared */

/* Where a packet was captured: a capture point. */
typedef struct {
    uint32_t interface; /* number of the interface in the file */
    uint32_t device;    /* index of the host's network device, of which a Linux cooked capture
                           (SLL2) has several on one interface; 0: the interface is one device */
} smcr_points_place_t;

/* The capture points of one file. A transmission is known by what routers leave alone: addresses,
 * queue pair, opcode, PSN, IPv4 identification and the values of the transport headers. The snap
 * lengths of two points may differ, so no payload and no ICRC counts. */
typedef struct smcr_points smcr_points_t;

/* A packet at a capture point. */
typedef struct {
    smcr_when_t when;              /* its frame and time */
    smcr_points_place_t place;
    const smcr_ib_headers_t *roce; /* its headers */
} smcr_points_packet_t;

/* How long the packets of one direction took between two points, nanoseconds. */
typedef struct {
    uint64_t count;  /* number of packets; 0: the members below are not set */
    int64_t least;   /* shortest delay */
    int64_t median;  /* median */
    int64_t nearly;  /* 99th percentile */
} smcr_points_delay_t;

/* The transmissions of one direction of a segment. */
typedef struct {
    uint64_t packets;                        /* transmissions that one of its points has */
    uint64_t at_both;                        /* transmissions that both points have */
    uint64_t verdicts[SMCR_VERDICT_COUNT]; /* transmissions with this verdict; a transmission may
                                                count in several */
    smcr_when_t first[SMCR_VERDICT_COUNT]; /* first of them; frame 0: none */
    uint64_t inferred;        /* of the lost ones: no answer proves it, but the point that does not
                                 have them captured all packets that certainly passed it */
    uint64_t not_captured_at[2]; /* of those not captured: at the point that they pass first, at the
                                    other one */
    smcr_points_delay_t delay;
} smcr_points_way_t;

/* A segment: the part of a path between two neighbouring capture points. */
typedef struct {
    uint8_t gid[2][SMCR_GID_LENGTH]; /* the two hosts. Way 0 leads from the first to the second */
    smcr_points_place_t place[2];    /* the points: way 0 passes them in this order */
    bool order_known;    /* the order of the points is known */
    bool clock_agrees;   /* the clocks do not contradict each other */
    smcr_clock_line_t clock; /* offset of the second point's clock; set with `clock_agrees` */
    smcr_points_way_t way[2];
} smcr_points_segment_t;

/* What is known of the transmission of one frame. */
typedef struct {
    enum smcr_verdict verdict;     /* what happened to it at this point or after it */
    uint32_t copies[SMCR_POINTS_OF_PATH]; /* frames of the same transmission at the other points, in
                                             the order in which it passes them; 0: no more */
    bool has_delay;                /* `delay` is set: the point before has the transmission */
    int64_t delay;                 /* time since the point before, nanoseconds */
    bool has_time;                 /* `time` is set */
    uint64_t time;                 /* time by the clock of the path's first point, nanoseconds since
                                      the epoch */
} smcr_points_note_t;

/* Returns the capture points of a file, of which nothing is known. `list`: numbers of the
 * interfaces that are points, in a Linux cooked capture of the devices, the preferred first,
 * `count` of them; 0: found out from copies. */
smcr_points_t *smcr_points_new(wmem_allocator_t *scope, const uint32_t *list, uint32_t count);

/* Takes a packet, in the order of the file. Returns true if the packet is the copy of a packet that
 * counts: another point has shown the transmission before, or another point is that on which the
 * analysis of the path runs. */
bool smcr_points_take(smcr_points_t *points, const smcr_points_packet_t *packet);

/* Notes that the packet of this frame, if it was taken last, belongs to a flow that is analysed.
 * `source`: number of the queue pair that sends it; 0: not known. */
void smcr_points_know(smcr_points_t *points, uint32_t frame, uint32_t source);

/* Compares the points, if packets have come since they were compared last. Called when all packets
 * have been taken, or when somebody asks meanwhile. */
void smcr_points_compare(smcr_points_t *points);

/* Returns the segments that were found; `*count` of them. */
const smcr_points_segment_t *smcr_points_segments(const smcr_points_t *points, uint32_t *count);

/* Receives the delay of a packet between two points, nanoseconds. `when`: frame and time of the
 * packet at the point where it counts, if that is one of the two; else at the first. */
typedef void smcr_points_take_delay_t(void *context, smcr_when_t when, int64_t delay);

/* Passes the delays of all packets of a way, in the order of their times. `number`: that of its
 * segment; `is_back`: way 1 of it. Passes nothing if the offset of the two clocks is not known. */
void smcr_points_delays(const smcr_points_t *points, uint32_t number, bool is_back,
                        smcr_points_take_delay_t *take, void *context);

/* Whether the frame's packet is a copy, as smcr_points_take() has returned. `points` may be
 * NULL. */
bool smcr_points_is_copy(const smcr_points_t *points, uint32_t frame);

/* Finds what is known of the frame's packet. Returns false if nothing is. */
bool smcr_points_note(const smcr_points_t *points, uint32_t frame, smcr_points_note_t *note);
