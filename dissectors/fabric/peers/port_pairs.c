/* port_pairs.c
 * Which flows have a port, and whether they answer each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "port_pairs.h"

#include <string.h>

#include "wire/wire.h"

#define PROOF 2 /* responses, one after the other, that answer what was just sent */

/* The flows between two addresses with one port. */
struct smcr_port_pair {
    uint8_t low[SMCR_GID_LENGTH], high[SMCR_GID_LENGTH]; /* the lower address, and the other */
    uint16_t port;
    bool ambiguous;             /* there are more than two, or two with one direction */
    uint8_t answers;            /* responses that answer, so far */
    uint32_t psn;               /* of the last one */
    smcr_rdma_flow_t *flows[2]; /* sent by the lower address, by the other; NULL: none */
};

struct smcr_port_pairs {
    wmem_allocator_t *scope;
    GHashTable *by_port; /* smcr_port_pair_t */
};

static unsigned
hash_pair(const void *data)
{
    const smcr_port_pair_t *pair = data;

    return (unsigned)smcr_gid_mix(smcr_gid_mix(pair->port, pair->low), pair->high);
}

static gboolean
equal_pairs(const void *one, const void *other)
{
    const smcr_port_pair_t *a = one, *b = other;

    return a->port == b->port && memcmp(a->low, b->low, SMCR_GID_LENGTH) == 0 &&
           memcmp(a->high, b->high, SMCR_GID_LENGTH) == 0;
}

smcr_port_pairs_t *
smcr_port_pairs_new(wmem_allocator_t *scope)
{
    smcr_port_pairs_t *pairs = wmem_new(scope, smcr_port_pairs_t);

    *pairs = (smcr_port_pairs_t){scope, g_hash_table_new(hash_pair, equal_pairs)};
    return pairs;
}

void
smcr_port_pairs_free(smcr_port_pairs_t *pairs)
{
    g_hash_table_destroy(pairs->by_port);
}

/* ---- who has which port ---- */

/* 0: the lower address sends the flow; 1: the other does. */
static int
direction(const smcr_rdma_flow_t *flow)
{
    return memcmp(flow->key.source, flow->key.target.gid, SMCR_GID_LENGTH) > 0;
}

static smcr_port_pair_t *
pair_of(smcr_port_pairs_t *pairs, const smcr_rdma_flow_t *flow)
{
    int from = direction(flow);
    smcr_port_pair_t sought = {.port = flow->port};

    memcpy(from ? sought.high : sought.low, flow->key.source, SMCR_GID_LENGTH);
    memcpy(from ? sought.low : sought.high, flow->key.target.gid, SMCR_GID_LENGTH);
    smcr_port_pair_t *pair = g_hash_table_lookup(pairs->by_port, &sought);
    if (!pair) {
        pair = wmem_memdup(pairs->scope, &sought, sizeof sought);
        g_hash_table_add(pairs->by_port, pair);
    }
    return pair;
}

/* The flows have no more in common than the port. */
static void
part(smcr_port_pair_t *pair)
{
    for (int i = 0; i < 2; i++) {
        smcr_rdma_flow_t *flow = pair->flows[i];
        if (!flow || flow->ground != SMCR_GROUND_PORT)
            continue;
        flow->ground = SMCR_GROUND_NONE;
        flow->peer = NULL;
    }
    pair->ambiguous = true;
}

static bool
has_same_key(const smcr_rdma_flow_t *one, const smcr_rdma_flow_t *other)
{
    return one->key.target.qpn == other->key.target.qpn;
}

void
smcr_port_pairs_leave(smcr_rdma_flow_t *flow)
{
    smcr_port_pair_t *pair = flow->pair;

    if (!pair)
        return;
    if (pair->flows[direction(flow)] == flow)
        pair->flows[direction(flow)] = NULL;
    pair->answers = 0;
    if (flow->ground == SMCR_GROUND_PORT) {
        flow->peer->ground = SMCR_GROUND_NONE;
        flow->peer->peer = NULL;
        flow->peer = NULL;
        flow->ground = SMCR_GROUND_NONE;
    }
    flow->pair = NULL;
}

smcr_rdma_flow_t *
smcr_port_pairs_join(smcr_port_pairs_t *pairs, smcr_rdma_flow_t *flow)
{
    smcr_port_pair_t *pair = flow->pair;
    int from = direction(flow);

    if (memcmp(flow->key.source, flow->key.target.gid, SMCR_GID_LENGTH) == 0)
        return NULL; /* a host talks to itself: the directions look alike */
    if (!pair || pair->port != flow->port) {
        smcr_port_pairs_leave(flow);
        pair = flow->pair = pair_of(pairs, flow);
    }
    if (pair->flows[from] && !has_same_key(pair->flows[from], flow))
        part(pair);
    if (pair->flows[from] != flow)
        pair->answers = 0;
    pair->flows[from] = flow;
    return pair->ambiguous ? NULL : pair->flows[!from];
}

/* ---- proof ---- */

/* The port that Linux gives to both flows of a connection that was made without a flow label. */
static uint16_t
port_of(uint32_t qpn, uint32_t other)
{
    uint64_t mixed = (uint64_t)qpn * other;

    mixed ^= mixed >> 20;
    mixed ^= mixed >> 40;
    uint32_t label = mixed & 0xfffff;
    return (uint16_t)(((label & 0x3fff) ^ ((label & 0xfc000) >> 14)) | 0xc000);
}

static bool
have_port_of_both(const smcr_rdma_flow_t *flow, const smcr_rdma_flow_t *opposite)
{
    return port_of(flow->key.target.qpn, opposite->key.target.qpn) == flow->port;
}

bool
smcr_port_pairs_prove(smcr_rdma_flow_t *flow, smcr_rdma_flow_t *opposite,
                      const smcr_sent_t *packet)
{
    smcr_port_pair_t *pair = flow->pair;
    const smcr_flow_t *requests = &opposite->traffic->flow;

    if (smcr_flow_seen(requests, packet->psn) == NULL &&
        !smcr_flow_is_within_read(requests, packet->psn)) {
        pair->answers = 0;
        return false;
    }
    bool is_other = !pair->answers || pair->psn != packet->psn;
    pair->answers += is_other;
    pair->psn = packet->psn;
    bool proven = is_other && (pair->answers >= PROOF || have_port_of_both(flow, opposite));
    if (!proven)
        smcr_traffic_skip(opposite->traffic, packet);
    return proven;
}
