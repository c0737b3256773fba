/* The packets that capture points have shown (observations), their flows and paths. Only files of
 * this room include this header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "points.h"

/* A packet, or a part of a TCP segment, at a capture point. Numbers of observations begin with
 * 1. */
typedef struct {
    uint64_t time;      /* time of the packet, nanoseconds since the epoch */
    uint64_t identity;  /* hash of the values by which packets at two points are compared */
    uint32_t frame;     /* frame number of the packet */
    uint32_t flow;      /* index of the flow */
    uint32_t previous;  /* number of the previous observation in the same bucket of the hash table;
                           0: none */
    uint32_t transmission; /* number of the transmission in the chain of its path, from 1; 0:
                              none */
    uint32_t psn;       /* PSN, 24 bits. TCP: first sequence number of the part */
    uint32_t fetched;   /* bytes that an RDMA READ request asks for; 0 for other packets, or if not
                           captured. TCP: number of sequence numbers of the part */
    uint32_t segment;   /* index of the TCP segment (smcr_points.segments), of which this is a part,
                           from 0; not used for RoCE */
    uint16_t ip_id;     /* identification of IPv4; also 0 for IPv6, for TCP, and if not known */
    uint8_t point;      /* index of the capture point */
    uint8_t opcode;     /* opcode of the BTH */
    uint8_t syndrome;   /* syndrome of the AETH; set if `has_aeth` */
    uint8_t traffic_class; /* traffic class of the IP header: DSCP and ECN */
    uint8_t hop_limit;  /* TTL or hop limit of the IP header; 0: not known */
    bool has_aeth : 1;  /* the packet has an AETH */
    bool asks_ack : 1;  /* the packet asks for an acknowledgement */
    bool was_fragmented : 1; /* the packet came in IP fragments */
    bool is_copy : 1;   /* the packet is a copy, so that it does not count */
    bool is_damaged : 1; /* the packet was kept by smcr_points_take_damaged(): its ICRC is wrong, so
                            any other value may be wrong, too */
    bool is_checked : 1; /* the ICRC of the packet was checked, though perhaps in vain: it may be
                            truncated, or not filled in yet */
    bool is_right : 1;   /* the ICRC of the packet is right */
} smcr_observed_t;

/* A TCP segment at a capture point. */
typedef struct {
    smcr_points_tcp_t tcp; /* header of the segment */
    uint64_t time;   /* time of the segment, nanoseconds since the epoch */
    uint32_t frame;  /* frame number of the segment */
    uint32_t flow;   /* index of the flow */
    uint8_t point;   /* index of the capture point */
} smcr_observed_segment_t;

/* The packets that a host sends to a queue pair. TCP: the segments that an end of a connection
 * sends; the numbers of both queue pairs are then the number of the connection, plus 1. */
typedef struct {
    smcr_ib_qp_key_t destination;    /* address and queue pair of the receiver */
    uint8_t source[SMCR_GID_LENGTH]; /* address of the sender */
    uint32_t source_qpn; /* queue pair that sends the flow; 0: not known */
    uint32_t path;       /* index of the path */
    uint32_t points;     /* bit n: the point with the index n has packets of the flow */
    uint32_t resent_next; /* PSN, 24 bits, after the last packet that counts as a retransmission
                             although another point has shown an equal packet before */
    uint8_t resent_at;   /* index of the point that has shown this retransmission, plus 1; 0: there
                            is none */
    bool is_known;       /* packets of the flow are analysed (smcr_points_know()); TCP: true */
    uint32_t mtu;        /* payload of a packet that is not the last one of its message: the path
                            MTU, bytes; 0: not known */
    uint32_t original; /* TCP: index, plus 1, of the flow of which this one is a copy behind NAT; 0:
                          none is known */
} smcr_observed_flow_t;

/* A path: the traffic between two hosts, in both directions. Way 0 leads from the host with the
 * lower GID to the other host, way 1 back. If one point shows equal addresses in two networks, they
 * are two paths, between hosts of two tenants. */
typedef struct {
    uint8_t gid[2][SMCR_GID_LENGTH]; /* the hosts, the lower GID first */
    uint32_t next;                   /* number of the next path between these addresses; 0: none */
    bool has_network[SMCR_POINTS_MOST]; /* `network` of the point is known */
    smcr_ib_network_t network[SMCR_POINTS_MOST]; /* by point: the network in which it shows the
                                                    path; set if `has_network` */
    uint8_t ways[SMCR_POINTS_MOST];  /* by point: bit 0: it has packets of way 0; bit 1: of way 1 */
    bool is_known;                   /* one of its flows is analysed */
    uint8_t preferred;               /* index of the preferred point (observed.c); SMCR_POINTS_MOST:
                                        no packet so far */
    uint64_t seen[SMCR_POINTS_MOST]; /* by point: number of packets, or of parts of TCP segments */
    uint32_t shared[SMCR_POINTS_MOST][SMCR_POINTS_MOST]; /* by lower and higher index of two points:
                                                            number of transmissions that both points
                                                            have */
    uint32_t proven[SMCR_POINTS_MOST][SMCR_POINTS_MOST]; /* as `shared`: number of those that are
                                                            certainly no retransmissions over
                                                            another interface */
    uint32_t turns[SMCR_POINTS_MOST][SMCR_POINTS_MOST]; /* as `shared`: how often the next packet of
                                                           the path came at the other one of the two
                                                           points */
    uint8_t last_point; /* point of the last packet, plus 1; 0: no packet so far */
    uint64_t refused[2]; /* by way of the NAK: time of the last NAK or RNR NAK, nanoseconds since
                            the epoch; 0: none */
} smcr_observed_path_t;

#define SMCR_POINTS_DAMAGED 16 /* highest number of packets with a wrong ICRC that are compared with
                                  each other */

/* A packet with a wrong ICRC. */
typedef struct {
    uint64_t identity; /* as smcr_observed_t.identity */
    uint32_t point;    /* index of the point that has shown the packet; SMCR_POINTS_MOST: its place
                          is no point */
} smcr_observed_damaged_t;

/* Everything that is known of the capture points of one file. */
struct smcr_points {
    wmem_allocator_t *scope;         /* scope of all lists */
    uint32_t list[SMCR_POINTS_MOST]; /* the user's list of points, see smcr_points_new() */
    uint32_t list_length;            /* number of entries in `list`; 0: there is no list */
    smcr_points_place_t places[SMCR_POINTS_MOST]; /* by point: its place. Points have the order of
                                                     the list; without a list, the order of their
                                                     first packets */
    bool is_found[SMCR_POINTS_MOST]; /* by point: a packet has come, so the element of `places` is
                                        set */
    uint32_t point_count;            /* number of points; with a list: its length */
    smcr_observed_t *observed;  /* all observations; the element 0 is not used */
    uint32_t count;             /* number of observations, and so the number of the last one */
    uint32_t room;              /* number of elements that `observed` has memory for */
    uint32_t *heads;            /* hash table by identity: number of the last observation in each
                                   bucket; 0: none */
    uint32_t head_bits;         /* the table has 2 ^ head_bits buckets; 0: no table yet */
    smcr_observed_flow_t *flows; /* all flows */
    uint32_t flow_count;         /* number of flows */
    uint32_t flow_room;          /* number of elements that `flows` has memory for */
    smcr_observed_path_t *paths; /* all paths */
    uint32_t path_count;         /* number of paths */
    uint32_t path_room;          /* number of elements that `paths` has memory for */
    GHashTable *flow_numbers;   /* hash of a flow's key -> index of the flow, plus 1, or REFUSED
                                   (observed_tcp.c) */
    GHashTable *path_numbers;   /* hash of two addresses -> index of their first path, plus 1 */
    uint64_t begin[SMCR_POINTS_MOST]; /* by point: time of its earliest packet, nanoseconds since
                                         the epoch; 0: none */
    uint64_t end[SMCR_POINTS_MOST];   /* by point: time of its latest packet */
    struct smcr_points *tcp;    /* the struct for TCP segments, which has flows and paths of its
                                   own; NULL: no segment so far */
    bool is_tcp;                /* the struct is the one for TCP segments, a `tcp`: `observed` has
                                   parts of segments, and is made anew for each comparison */
    smcr_observed_segment_t *segments; /* all TCP segments; NULL: none */
    uint32_t segment_count;     /* number of TCP segments */
    uint32_t segment_room;      /* number of elements that `segments` has memory for */
    bool takes_plain;           /* smcr_points_take_plain() was called */
    bool is_in_vain;            /* many packets have come without enough common traffic of two
                                   points: no further packets are kept */
    smcr_observed_damaged_t damaged[SMCR_POINTS_DAMAGED]; /* the last packets with a wrong ICRC that
                                                             were no copies; the oldest one is
                                                             overwritten next */
    uint32_t damaged_count;     /* number of these packets, also of those overwritten since */
    bool has_damaged;           /* `observed` has a packet with a wrong ICRC */
    uint32_t compared;          /* `count` at the last comparison */
    struct smcr_compared *result; /* result of the last comparison; NULL: none */
};

/* ---- for RoCE and TCP ---- */

/* Returns the hash `hash` with a further value mixed in. */
uint64_t smcr_observed_mix(uint64_t hash, uint64_t value);

/* Returns the hash `hash` with a GID mixed in. */
uint64_t smcr_observed_mix_gid(uint64_t hash, const uint8_t *gid);

/* Returns the number that the table has for `key`, a hash; 0: none. */
uint32_t smcr_observed_find(GHashTable *table, uint64_t key);

/* Sets the number of `key`, a hash, in the table. `scope`: scope of the copy of the key. */
void smcr_observed_set(GHashTable *table, wmem_allocator_t *scope, uint64_t key, uint32_t number);

/* Enlarges the array, whose elements have `size` bytes, sets `*room` to its new number of elements,
 * and returns it. The new elements are all zeros. The array may move. */
void *smcr_observed_grow(wmem_allocator_t *scope, void *array, uint32_t *room, size_t size);

/* Returns the index of the point at this place, which becomes a point if it is new, and notes that
 * a packet has come there at `time`, nanoseconds since the epoch. SMCR_POINTS_MOST: the place is
 * not in the user's list, or there are too many points. */
uint32_t smcr_observed_point(smcr_points_t *points, const smcr_points_place_t *place,
                             uint64_t time);

/* Returns the number (index + 1) of the first path between two hosts, the sender and the receiver
 * of a packet. Adds a path if there is none. */
uint32_t smcr_observed_path(smcr_points_t *points, const uint8_t *source,
                            const uint8_t *destination);

/* Whether there is a path between the two hosts. */
bool smcr_observed_has_path(const smcr_points_t *points, const uint8_t *source,
                            const uint8_t *destination);

/* ---- what has been observed ---- */

/* Whether the flow is of way 1: its sender is the second host of its path. */
bool smcr_observed_is_back(const smcr_points_t *points, const smcr_observed_flow_t *flow);

/* Whether two points, given by their indexes, have the same clock: they are devices of one
 * interface in the file. */
bool smcr_observed_share_clock(const smcr_points_t *points, uint32_t one, uint32_t other);

/* Whether the point has packets of the flow. With a bond of two links, a point at one link may have
 * no packet of a flow. */
static inline bool
smcr_observed_has_flow(const smcr_observed_flow_t *flow, uint32_t point)
{
    return flow->points >> point & 1;
}

/* Whether the point has packets of one direction of the path. `is_back`: the direction from the
 * host with the higher GID to the other host. */
static inline bool
smcr_observed_has_way(const smcr_observed_path_t *path, uint32_t point, bool is_back)
{
    return path->ways[point] & (is_back ? 2U : 1U);
}

/* Whether two points of the path show the same traffic: they have enough packets in common. */
bool smcr_observed_share(const smcr_observed_path_t *path, uint32_t one, uint32_t other);
