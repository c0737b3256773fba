/* The packets that capture points have shown, and the transmissions that they are copies of: the
 * inner door of this room.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "points.h"

/* A packet at a capture point. Numbers of observations begin with 1. */
typedef struct {
    uint64_t time;      /* nanoseconds since the epoch */
    uint64_t identity;  /* hash of all that is the same at each point */
    uint32_t frame;
    uint32_t flow;      /* index of the flow */
    uint32_t previous;  /* number of the previous observation with this identity; 0: none */
    uint32_t transmission; /* number of the transmission (compare.c); 0: none */
    uint32_t psn;       /* 24 bits */
    uint8_t point;      /* index of the capture point */
    uint8_t opcode;
    uint8_t syndrome;   /* of the AETH; see `has_aeth` */
    uint8_t traffic_class;
    uint8_t hop_limit;  /* TTL; 0: not known */
    bool has_aeth : 1;
    bool was_fragmented : 1; /* it came in IP fragments */
    bool is_copy : 1;   /* smcr_points_take() has returned true */
} smcr_observed_t;

/* The packets that a host sends to a queue pair. */
typedef struct {
    smcr_ib_qp_key_t destination;
    uint8_t source[SMCR_GID_LENGTH];
    uint32_t source_qpn; /* queue pair that sends; 0: not known */
    uint32_t path;       /* index of the path */
    uint32_t points;     /* bit for each point that has packets of the flow */
    bool is_known;       /* packets of the flow are analysed */
    bool fetches;        /* it has RDMA READs or atomics, whose PSNs are not followed */
} smcr_observed_flow_t;

/* The traffic between two hosts. Equal addresses in two networks at one point are two paths: hosts
 * of two tenants. */
typedef struct {
    uint8_t gid[2][SMCR_GID_LENGTH]; /* the hosts, the lower GID first */
    uint32_t next;                   /* number of the next path between these addresses; 0: none */
    bool has_network[SMCR_POINTS_MOST]; /* `network` of the point is known */
    smcr_ib_network_t network[SMCR_POINTS_MOST]; /* network in which each point shows the path */
    uint8_t ways[SMCR_POINTS_MOST];  /* bit 0: the point has packets of way 0; bit 1: of way 1 */
    bool is_known;                   /* one of its flows is analysed */
    uint8_t preferred;               /* point on which the analysis runs */
    uint64_t seen[SMCR_POINTS_MOST]; /* packets at each point */
    uint64_t shared[SMCR_POINTS_MOST][SMCR_POINTS_MOST]; /* copies that two points have in common */
} smcr_observed_path_t;

struct smcr_points {
    wmem_allocator_t *scope;
    uint32_t list[SMCR_POINTS_MOST]; /* see smcr_points_new() */
    uint32_t list_length;
    smcr_points_place_t places[SMCR_POINTS_MOST]; /* the points, in the order of their first
                                                     packets, or of the list */
    bool is_found[SMCR_POINTS_MOST]; /* the place of the point is known: a packet has come */
    uint32_t point_count;
    smcr_observed_t *observed;  /* all observations; the first one is not used */
    uint32_t count;             /* number of the last observation */
    uint32_t room;              /* observations that are allocated */
    uint32_t *heads;            /* hash table by identity: number of the last observation */
    uint32_t head_bits;         /* number of `heads` is 2 to this power */
    smcr_observed_flow_t *flows;
    uint32_t flow_count;
    uint32_t flow_room;
    smcr_observed_path_t *paths;
    uint32_t path_count;
    uint32_t path_room;
    GHashTable *flow_numbers;   /* hash of a flow's key -> its index plus 1 */
    GHashTable *path_numbers;   /* hash of a path's key -> its index plus 1 */
    bool is_in_vain;            /* the interfaces have no common traffic: nothing more is kept */
    uint32_t compared;          /* `count` when the points were compared last */
    struct smcr_compared *result; /* result of the comparison; NULL: none */
};

/* Whether the host that sends the flow's packets is the second one of its path. */
bool smcr_observed_is_back(const smcr_points_t *points, const smcr_observed_flow_t *flow);

/* Whether the clock of two points, by their indexes, is one: it is that of one file's interface. */
bool smcr_observed_share_clock(const smcr_points_t *points, uint32_t one, uint32_t other);

/* Whether the point has packets of the flow. A bond of two links shows each flow on one of them. */
static inline bool
smcr_observed_has_flow(const smcr_observed_flow_t *flow, uint32_t point)
{
    return flow->points >> point & 1;
}

/* Whether the point has packets of this way of the path. `is_back`: way 1. */
static inline bool
smcr_observed_has_way(const smcr_observed_path_t *path, uint32_t point, bool is_back)
{
    return path->ways[point] & (is_back ? 2U : 1U);
}

/* Whether two points of the path show the same traffic: they have enough packets in common. */
bool smcr_observed_share(const smcr_observed_path_t *path, uint32_t one, uint32_t other);
