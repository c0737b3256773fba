/* Finds the flow of a packet, begins new flows, and finds which two flows are opposite.
 *
 * In captures with many flows, most flows have few packets. To save memory, the first packet of a
 * flow gets its verdict only when the second packet comes, or when the flow gets a peer. A first
 * packet with a congestion mark gets its verdict at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "rdma.h"

#define PROOF 2 /* number of successive responses with PSNs of opposite requests that prove that two
                   flows with one port are opposite flows */

#define PROOF_BY_PSN 4 /* likewise, for two flows whose ports prove nothing */

#define OPPOSITE_MOST 64 /* maximum number of flows in a direction that find_answered() searches */

#define NEAR 0x1000 /* a request continues the flow if its PSN is less than this number above the
                       highest PSN of the flow, or at most this number below it */

/* The flows between two addresses of a network with one UDP source port. The first four members are
 * the key. */
struct smcr_port_pair {
    uint8_t low[SMCR_GID_LENGTH];  /* the lower of the two addresses */
    uint8_t high[SMCR_GID_LENGTH]; /* the higher of the two addresses */
    smcr_ib_network_t network;     /* VLAN and tunnel of the packets */
    uint16_t port;                 /* UDP source port */
    bool ambiguous;             /* the pair has had two flows, to different queue pairs, in the same
                                   direction: then the port proves nothing */
    uint8_t answers;            /* number of successive responses so far whose PSNs belong to
                                   requests of the opposite flow, each with another PSN than the
                                   response before */
    uint32_t psn;               /* PSN of the last response counted in `answers`, 24 bits */
    smcr_rdma_flow_t *flows[2]; /* [0]: flow that the lower address sends; [1]: flow that the higher
                                   address sends; NULL: none */
};

/* The flows and connections of one capture. */
struct smcr_rdma {
    wmem_allocator_t *scope; /* memory for flows, connections and tables */
    GHashTable *flows;  /* smcr_rdma_flow_t by the key of a flow: the newest flow with each key */
    GHashTable *pairs;  /* smcr_port_pair_t by addresses and port */
    GHashTable *newest; /* one_way_t by addresses: the newest flow of each direction */
    smcr_cm_t *cm;      /* connections of communication management */
    uint32_t messages;  /* number of messages of communication management so far */
    uint32_t count;     /* number of flows */
};

/* The flows from one address to another in a network. The first three members are the key. */
typedef struct {
    uint8_t source[SMCR_GID_LENGTH]; /* address of the sender */
    uint8_t target[SMCR_GID_LENGTH]; /* address of the receiver */
    smcr_ib_network_t network;       /* VLAN and tunnel of the packets */
    uint32_t count;           /* number of flows */
    smcr_rdma_flow_t *newest; /* newest flow; its member `before` leads to the earlier ones */
} one_way_t;

SMCR_WIRE_KEY(hash_direction, equal_directions, offsetof(one_way_t, count))
SMCR_WIRE_KEY(hash_flow, equal_flows, sizeof((smcr_rdma_flow_t *)NULL)->key)
SMCR_WIRE_KEY(hash_pair, equal_pairs, offsetof(smcr_port_pair_t, ambiguous))

/* All tables live as long as `scope`. */
smcr_rdma_t *
smcr_rdma_new(wmem_allocator_t *scope)
{
    smcr_rdma_t *rdma = wmem_new0(scope, smcr_rdma_t);

    rdma->scope = scope;
    rdma->flows = smcr_slab_table(scope, hash_flow, equal_flows);
    rdma->pairs = smcr_slab_table(scope, hash_pair, equal_pairs);
    rdma->newest = smcr_slab_table(scope, hash_direction, equal_directions);
    rdma->cm = smcr_cm_new(scope);
    return rdma;
}

/* ---- flows ---- */

/* Returns the newest flow from the address `source` to the queue pair `target` in a network; NULL:
 * there is none. */
static smcr_rdma_flow_t *
find_flow(const smcr_rdma_t *rdma, const uint8_t source[SMCR_GID_LENGTH],
          const smcr_ib_qp_key_t *target, smcr_ib_network_t network)
{
    smcr_rdma_flow_t sought = {.key = {.target = *target, .network = network}};

    memcpy(sought.key.source, source, SMCR_GID_LENGTH);
    return g_hash_table_lookup(rdma->flows, &sought);
}

smcr_rdma_flow_t *
smcr_rdma_find(const smcr_rdma_t *rdma, const smcr_ib_headers_t *roce)
{
    return find_flow(rdma, roce->source, &roce->destination, roce->outer.network);
}

/* Returns the flows from one address to another in a network; NULL: there is none. */
static one_way_t *
find_direction(const smcr_rdma_t *rdma, const uint8_t source[SMCR_GID_LENGTH],
               const uint8_t target[SMCR_GID_LENGTH], smcr_ib_network_t network)
{
    one_way_t sought = {.network = network};

    memcpy(sought.source, source, SMCR_GID_LENGTH);
    memcpy(sought.target, target, SMCR_GID_LENGTH);
    return g_hash_table_lookup(rdma->newest, &sought);
}

/* Adds the flow to those between the same two GIDs in this direction: the newest is first, and
 * `before` leads to the earlier ones. */
static void
list_flow(smcr_rdma_t *rdma, smcr_rdma_flow_t *flow)
{
    one_way_t *all =
        find_direction(rdma, flow->key.source, flow->key.target.gid, flow->key.network);

    if (!all) {
        all = wmem_new0(rdma->scope, one_way_t);
        memcpy(all->source, flow->key.source, SMCR_GID_LENGTH);
        memcpy(all->target, flow->key.target.gid, SMCR_GID_LENGTH);
        all->network = flow->key.network;
        g_hash_table_add(rdma->newest, all);
    }
    flow->before = all->newest;
    all->newest = flow;
    all->count++;
}

/* Begins a new flow with its first packet, and adds it to all tables. A flow with the same key
 * leaves the table `flows`, but is not freed. */
static smcr_rdma_flow_t *
begin_flow(smcr_rdma_t *rdma, const smcr_ib_headers_t *roce, const smcr_sent_t *packet)
{
    smcr_rdma_flow_t *flow = wmem_new0(rdma->scope, smcr_rdma_flow_t);

    memcpy(flow->key.source, roce->source, SMCR_GID_LENGTH);
    flow->key.target = roce->destination;
    flow->key.network = roce->outer.network;
    flow->index = rdma->count++;
    flow->first = *packet;
    flow->conn_looked_up_at = UINT32_MAX;
    g_hash_table_replace(rdma->flows, flow, flow);
    list_flow(rdma, flow);
    return flow;
}

/* Whether the fabric judges packets of this service: RC and UC, whose PSNs have an order. */
static bool
is_judged(const smcr_sent_t *packet)
{
    return packet->opcode < SMCR_RD;
}

/* If the flow has no traffic yet, allocates the traffic and judges the first packet of the flow.
 * `has_come`: the first packet came before the packet that is being taken in. If false, the first
 * packet is not judged now. */
static void
judge_first(smcr_rdma_t *rdma, smcr_rdma_flow_t *flow, bool has_come)
{
    const smcr_cm_conn_t *conn = flow->conn;
    int side = conn ? smcr_cm_side_of_qp(conn, flow->key.target.gid, flow->key.target.qpn) : -1;

    if (flow->traffic)
        return;
    flow->traffic = wmem_new0(rdma->scope, smcr_traffic_t);
    if (side >= 0 && conn->ends[!side].psn_known)
        smcr_flow_announce(&flow->traffic->flow, conn->ends[!side].psn);
    if (has_come && is_judged(&flow->first))
        smcr_traffic_judge(flow->traffic, NULL, rdma->scope, &flow->first);
}

smcr_traffic_t *
smcr_rdma_reverse(const smcr_rdma_flow_t *flow)
{
    return flow->peer ? flow->peer->traffic : NULL;
}

/* ---- opposite flows with one port ---- */

/* Linux gives both flows of a connection the same UDP source port. Linux computes the port from the
 * flow label or, without a flow label, from the numbers of the two queue pairs
 * (include/rdma/ib_verbs.h, rdma_get_udp_sport()). Several connections may have the same port. */

/* Returns the index of the flow in smcr_port_pair.flows. 0: the lower address sends the flow. 1:
 * the higher address sends the flow. */
static int
direction(const smcr_rdma_flow_t *flow)
{
    return memcmp(flow->key.source, flow->key.target.gid, SMCR_GID_LENGTH) > 0;
}

/* Returns the pair of the flow's addresses and port. Makes the pair if it does not exist yet. */
static smcr_port_pair_t *
pair_of(smcr_rdma_t *rdma, const smcr_rdma_flow_t *flow)
{
    int from = direction(flow);
    smcr_port_pair_t sought = {.network = flow->key.network, .port = flow->port};

    memcpy(from ? sought.high : sought.low, flow->key.source, SMCR_GID_LENGTH);
    memcpy(from ? sought.low : sought.high, flow->key.target.gid, SMCR_GID_LENGTH);
    smcr_port_pair_t *pair = g_hash_table_lookup(rdma->pairs, &sought);
    if (!pair) {
        pair = wmem_memdup(rdma->scope, &sought, sizeof sought);
        g_hash_table_add(rdma->pairs, pair);
    }
    return pair;
}

/* The port that Linux gives to both flows of a connection without a flow label. It is computed from
 * the numbers of the two queue pairs (rdma_calc_flow_label(), rdma_flow_label_to_udp_sport()). */
static uint16_t
port_of(uint32_t qpn, uint32_t other)
{
    uint64_t mixed = (uint64_t)qpn * other;

    mixed ^= mixed >> 20;
    mixed ^= mixed >> 40;
    uint32_t label = mixed & 0xfffff;
    return (uint16_t)(((label & 0x3fff) ^ ((label & 0xfc000) >> 14)) | 0xc000);
}

/* Whether the flow and its peer, which their port has paired, belong together even if a third flow
 * has the port. Either PROOF_BY_PSN responses answered requests before the third flow began, or the
 * port is the one that Linux computes from the numbers of the two queue pairs. */
static bool
has_lasting_peer(const smcr_rdma_flow_t *flow)
{
    const smcr_rdma_flow_t *peer = flow->peer;

    return MAX(flow->answers, peer->answers) >= PROOF_BY_PSN ||
           port_of(flow->key.target.qpn, peer->key.target.qpn) == flow->port;
}

/* Called if the port has paired the flow and its peer, and proves nothing from now on. The two stay
 * peers, but with PSNs as their ground: check_peer() may part them. */
static void
keep_peer(smcr_rdma_flow_t *flow)
{
    flow->ground = flow->peer->ground = SMCR_GROUND_ACK;
    flow->answers = flow->peer->answers = 0;
}

/* Handles a third flow with the port of the pair: from now on the port does not prove that two
 * flows of the pair belong together. Flows that only the port has paired lose their peers. */
static void
part_flows(smcr_port_pair_t *pair)
{
    for (int i = 0; i < 2; i++) {
        smcr_rdma_flow_t *flow = pair->flows[i];
        if (!flow || flow->ground != SMCR_GROUND_PORT)
            continue;
        if (has_lasting_peer(flow)) {
            keep_peer(flow);
            continue;
        }
        flow->ground = flow->peer->ground = SMCR_GROUND_NONE;
        flow->peer->peer = NULL;
        flow->peer = NULL;
    }
    pair->ambiguous = true;
}

/* Removes the flow from its pair, if it has one. Called if the flow's source queue pair has another
 * ground than the port, or if the flow's port has changed. The remaining flow of the pair has no
 * opposite flow now: `answers` of the pair, which prove that two flows belong together, begin at 0
 * again. If only the port has paired the flow, the two flows lose their peers. */
static void
leave_pair(smcr_rdma_flow_t *flow)
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

/* Puts the flow into the pair as the flow of its direction. If the flow replaces another flow,
 * `answers` of the pair begins at 0 again. If the flow and the replaced flow go to different queue
 * pairs, the pair becomes ambiguous. */
static void
enter_pair(smcr_port_pair_t *pair, smcr_rdma_flow_t *flow)
{
    int from = direction(flow);
    const smcr_rdma_flow_t *before = pair->flows[from];

    if (before && before->key.target.qpn != flow->key.target.qpn)
        part_flows(pair);
    if (before != flow)
        pair->answers = 0;
    pair->flows[from] = flow;
}

/* Puts the flow into the pair of its port. Returns the opposite flow of the pair; NULL: the pair is
 * ambiguous, there is no opposite flow, or sender and receiver have one address. */
static smcr_rdma_flow_t *
join_pair(smcr_rdma_t *rdma, smcr_rdma_flow_t *flow)
{
    smcr_port_pair_t *pair = flow->pair;

    if (smcr_gid_is_same(flow->key.source, flow->key.target.gid))
        return NULL; /* the flow is within one host: the addresses do not distinguish the
                        directions */
    if (!pair || pair->port != flow->port) {
        leave_pair(flow);
        pair = flow->pair = pair_of(rdma, flow);
    }
    enter_pair(pair, flow);
    return pair->ambiguous ? NULL : pair->flows[!direction(flow)];
}

/* Whether `psn`, of 24 bits, is the PSN of a request in `requests`, or one of the PSNs that a READ
 * in `requests` takes. */
static bool
has_taken_psn(const smcr_flow_t *requests, uint32_t psn)
{
    return smcr_flow_psn_history(requests, psn) ||
           smcr_reads_find(requests->reads, smcr_psn_near(requests->highest, psn));
}

/* Whether the packet is a response from within a READ. Before the next request it is not known how
 * many PSNs the READ takes. So this response may answer a READ even if no request has taken its
 * PSN. */
static bool
is_within_read(const smcr_sent_t *packet)
{
    return packet->opcode == SMCR_RC_READ_RESPONSE_MIDDLE ||
           packet->opcode == SMCR_RC_READ_RESPONSE_LAST;
}

/* Whether the response `packet` of `flow` proves that `flow` and `opposite` are the two directions
 * of one connection. `traffic` of `opposite` is not NULL. Two successive responses have to name two
 * different PSNs of requests in `opposite`. One response is enough if the flows' port is equal to
 * the port that Linux computes from the numbers of the two queue pairs. Messages of `opposite` that
 * a response completes before the proof count as complete, but no record of a packet reports their
 * completion. */
static bool
proves_pair(smcr_rdma_flow_t *flow, smcr_rdma_flow_t *opposite, const smcr_sent_t *packet)
{
    smcr_port_pair_t *pair = flow->pair;
    const smcr_flow_t *requests = &opposite->traffic->flow;

    if (!has_taken_psn(requests, packet->psn)) {
        pair->answers = is_within_read(packet) ? pair->answers : 0;
        return false;
    }
    bool is_other = !pair->answers || pair->psn != packet->psn;
    uint16_t port_of_both = port_of(flow->key.target.qpn, opposite->key.target.qpn);
    pair->answers += is_other;
    pair->psn = packet->psn;
    bool proven = is_other && (pair->answers >= PROOF || port_of_both == flow->port);
    smcr_psn_t *completed = &opposite->traffic->completed_psn;
    if (!proven) /* no pair is proven yet: the messages that this response completes count as
                    reported */
        *completed = MAX(*completed, smcr_flow_coverage(requests, packet).acked_psn);
    return proven;
}

/* ---- source queue pairs ---- */

/* Makes the two flows peers of each other. */
static void
make_peers(smcr_rdma_flow_t *flow, smcr_rdma_flow_t *opposite)
{
    flow->peer = opposite;
    opposite->peer = flow;
    if (flow->traffic && opposite->traffic)
        smcr_ecn_join(&flow->traffic->marks, &opposite->traffic->marks);
}

/* Notes that the queue pair `qpn` sends the flow, and that `ground` proves this. Then looks for the
 * opposite flow, from the receiver's address to `qpn`. If `ground` also proves the source of the
 * opposite flow, the two flows become peers of each other. */
static void
set_source(smcr_rdma_t *rdma, smcr_rdma_flow_t *flow, uint32_t qpn, enum smcr_ground ground)
{
    smcr_ib_qp_key_t sender = {.qpn = qpn};

    memcpy(sender.gid, flow->key.source, SMCR_GID_LENGTH);
    flow->src_qpn = qpn;
    flow->ground = (uint8_t)ground;
    smcr_rdma_flow_t *opposite =
        find_flow(rdma, flow->key.target.gid, &sender, flow->key.network);
    if (!opposite || opposite->ground != ground || opposite->conn != flow->conn ||
        opposite->src_qpn != flow->key.target.qpn)
        return;
    make_peers(flow, opposite);
}

/* Ends the pairing of the flow and its peer, if the flow has a peer. */
static void
forget_peer(smcr_rdma_flow_t *flow)
{
    if (flow->peer)
        flow->peer->peer = NULL;
    flow->peer = NULL;
}

/* Takes in a datagram, whose header names the queue pair that sends it. If two packets of a flow
 * have different senders, the flow as a whole has no source queue pair. */
static void
take_datagram(smcr_rdma_t *rdma, smcr_rdma_flow_t *flow, uint32_t qpn)
{
    if (flow->ground == SMCR_GROUND_DETH && flow->src_qpn != qpn) {
        flow->several_sources = true;
        flow->ground = SMCR_GROUND_NONE;
        forget_peer(flow);
    }
    if (flow->ground == SMCR_GROUND_NONE && !flow->several_sources) {
        leave_pair(flow);
        set_source(rdma, flow, qpn, SMCR_GROUND_DETH);
    }
}

/* ---- communication management ---- */

/* The frame of the newest message `attribute` of either side; 0: there is none. */
static uint32_t
frame_of(const smcr_cm_conn_t *conn, uint8_t attribute)
{
    return MAX(smcr_cm_first_frame(conn, SMCR_CM_CLIENT, attribute),
               smcr_cm_first_frame(conn, SMCR_CM_SERVER, attribute));
}

/* Whether the connection had ended before the frame. */
static bool
was_over(const smcr_cm_conn_t *conn, uint32_t frame)
{
    uint32_t ended = MAX(frame_of(conn, SMCR_IB_CM_DREQ), frame_of(conn, SMCR_IB_CM_REJ));

    return ended && ended < frame;
}

/* Returns the connection, between the two addresses of the packet in its network, that the target
 * queue pair of the packet belongs to; NULL: no such connection is known. */
static smcr_cm_conn_t *
find_conn(const smcr_rdma_t *rdma, const smcr_ib_headers_t *roce)
{
    const smcr_ib_qp_key_t *target = &roce->destination;
    smcr_cm_conn_t *conn = smcr_cm_find_by_qp(rdma->cm, target, roce->outer.network);
    int side = conn && !conn->sidr ? smcr_cm_side_of_qp(conn, target->gid, target->qpn) : -1;

    if (side < 0 || !smcr_gid_is_same(conn->ends[!side].gid, roce->source))
        return NULL;
    return conn;
}

/* Assigns the connection `conn` of communication management to the flow. `conn` proves the flow's
 * source queue pair. Does nothing if the flow already has a connection, or if `conn` had ended
 * before the flow began. */
static void
take_conn(smcr_rdma_t *rdma, smcr_rdma_flow_t *flow, smcr_cm_conn_t *conn)
{
    if (!conn || (flow->conn && flow->conn != conn) || was_over(conn, flow->first.when.frame))
        return;
    int side = smcr_cm_side_of_qp(conn, flow->key.target.gid, flow->key.target.qpn);
    const smcr_cm_end_t *sender = &conn->ends[!side];

    flow->conn = conn;
    if (sender->qpn_known && flow->ground != SMCR_GROUND_CM) {
        leave_pair(flow);
        forget_peer(flow);
        set_source(rdma, flow, sender->qpn, SMCR_GROUND_CM);
    }
}

smcr_cm_verdict_t
smcr_rdma_take_cm(smcr_rdma_t *rdma, const smcr_cm_packet_t *packet)
{
    rdma->messages++;
    return smcr_cm_judge(rdma->cm, packet);
}

/* ---- opposite flows of which only PSNs are known ---- */

/* Whether only the port or PSNs can prove the source queue pair of the flow: no other ground is
 * known, no connection of communication management, and no datagrams of several queue pairs. */
static bool
needs_port(const smcr_rdma_flow_t *flow)
{
    return flow->ground == SMCR_GROUND_NONE && !flow->conn && !flow->several_sources;
}

/* Makes the two flows peers of each other: the target queue pair of each is the source of the
 * other. `ground`: what proves it. */
static void
connect_flows(smcr_rdma_flow_t *flow, smcr_rdma_flow_t *opposite, enum smcr_ground ground)
{
    make_peers(flow, opposite);
    flow->src_qpn = opposite->key.target.qpn;
    opposite->src_qpn = flow->key.target.qpn;
    flow->ground = opposite->ground = (uint8_t)ground;
}

/* Whether no flow of the opposite direction has the port of the flow: some adapters give the two
 * flows of a connection ports of their own. */
static bool
has_port_alone(const smcr_rdma_flow_t *flow)
{
    return flow->pair && !flow->pair->flows[!direction(flow)];
}

/* Whether the port of the flow proves nothing: it is sprayed, several flows have the port, no
 * opposite flow has it, or the packets have no port. */
static bool
has_no_port(const smcr_rdma_flow_t *flow)
{
    return flow->is_sprayed || !flow->port || has_port_alone(flow) ||
           (flow->pair && flow->pair->ambiguous);
}

/* Returns the only flow of the opposite direction in which a request has the PSN of the response;
 * NULL: there is none, or several, or more flows than are looked at. */
static smcr_rdma_flow_t *
find_answered(const smcr_rdma_t *rdma, const smcr_rdma_flow_t *flow, uint32_t psn)
{
    const one_way_t *opposite =
        find_direction(rdma, flow->key.target.gid, flow->key.source, flow->key.network);
    smcr_rdma_flow_t *found = NULL;

    if (!opposite || opposite->count > OPPOSITE_MOST)
        return NULL;
    for (smcr_rdma_flow_t *each = opposite->newest; each; each = each->before) {
        if (!each->traffic || !has_taken_psn(&each->traffic->flow, psn))
            continue;
        if (found)
            return NULL;
        found = each;
    }
    return found && needs_port(found) ? found : NULL;
}

/* Called when PSNs make two flows peers. Messages that responses completed before count as
 * reported, since it is not known which packet completed them. In `answered`, these are the
 * messages up to the PSN `before`, 24 bits, for which responses of `flow` have come. In `flow`,
 * these are all messages, since it is not known for which of them responses have come. */
static void
leave_out_completed(smcr_rdma_flow_t *flow, smcr_rdma_flow_t *answered, uint32_t before)
{
    smcr_traffic_t *requests = answered->traffic, *own = flow->traffic;
    smcr_psn_t up_to = smcr_psn_near(requests->flow.highest, before);

    requests->completed_psn = MAX(requests->completed_psn, up_to);
    if (own)
        own->completed_psn = MAX(own->completed_psn, own->flow.highest);
}

/* Takes a response of a flow whose ports prove nothing. Makes the flow and the one that it answers
 * peers of each other if PROOF_BY_PSN successive responses have different PSNs of its requests. */
static void
take_answer(smcr_rdma_t *rdma, smcr_rdma_flow_t *flow, const smcr_sent_t *packet)
{
    uint32_t psn = packet->psn, before = flow->answered_psn;
    smcr_rdma_flow_t *answered = find_answered(rdma, flow, psn);

    if (!answered && is_within_read(packet))
        return;
    if (answered != flow->answered)
        flow->answers = 0;
    else if (flow->answered_psn == psn)
        return;
    flow->answered = answered;
    flow->answered_psn = psn;
    flow->answers = (uint8_t)(answered ? flow->answers + 1 : 0);
    if (flow->answers < PROOF_BY_PSN)
        return;
    flow->answers = 0;
    leave_pair(answered);
    leave_pair(flow);
    connect_flows(flow, answered, SMCR_GROUND_ACK);
    leave_out_completed(flow, answered, before);
}

/* Takes a response of a flow that PSNs have paired. If PROOF_BY_PSN successive responses answer no
 * request of the peer, one of the queue pairs has a new connection, and the flows lose their
 * peers. */
static void
check_peer(smcr_rdma_flow_t *flow, const smcr_sent_t *packet)
{
    smcr_rdma_flow_t *peer = flow->peer;

    if (!peer->traffic || has_taken_psn(&peer->traffic->flow, packet->psn)) {
        flow->answers = 0;
        return;
    }
    if (is_within_read(packet) || ++flow->answers < PROOF_BY_PSN)
        return;
    flow->answers = 0;
    forget_peer(flow);
    flow->ground = peer->ground = SMCR_GROUND_NONE;
}

/* Takes a response of a flow that the port has paired. Counts successive responses with different
 * PSNs of requests of the peer: PROOF_BY_PSN of them prove the pair even if another flow gets the
 * port. */
static void
confirm_peer(smcr_rdma_flow_t *flow, const smcr_sent_t *packet)
{
    const smcr_traffic_t *answered = smcr_rdma_reverse(flow);
    uint32_t psn = packet->psn;

    if (flow->answers >= PROOF_BY_PSN || (flow->answers && flow->answered_psn == psn))
        return;
    if (answered && has_taken_psn(&answered->flow, psn))
        flow->answers++;
    else if (!is_within_read(packet))
        flow->answers = 0;
    flow->answered_psn = psn;
}

/* Takes a response: PSNs may prove which flow it answers, or that it does not answer the peer. */
static void
take_response(smcr_rdma_t *rdma, smcr_rdma_flow_t *flow, const smcr_sent_t *packet)
{
    if (flow->ground == SMCR_GROUND_ACK)
        check_peer(flow, packet);
    else if (flow->ground == SMCR_GROUND_PORT)
        confirm_peer(flow, packet);
    else if (needs_port(flow) && has_no_port(flow))
        take_answer(rdma, flow, packet);
}

/* ---- packets ---- */

/* Whether the UDP source port of the packet differs from that of the flow's earlier packets. False
 * if one of the two ports is not known, or if the packet is of no judged service (is_judged()). */
static bool
changes_port(const smcr_rdma_flow_t *flow, const smcr_ib_headers_t *roce,
             const smcr_sent_t *packet)
{
    return is_judged(packet) && roce->udp_port && flow->port && roce->udp_port != flow->port;
}

/* Whether the PSN of the packet goes on after those of the flow, or answers a request of its peer;
 * that of a response from within a READ, whether it is near those of the peer's requests. */
static bool
continues(const smcr_rdma_flow_t *flow, const smcr_sent_t *packet)
{
    bool is_response = smcr_ib_operations[packet->opcode].is_response;
    const smcr_traffic_t *requests = is_response ? smcr_rdma_reverse(flow) : flow->traffic;

    if (!requests || !requests->flow.first)
        return false;
    if (is_response && !is_within_read(packet))
        return has_taken_psn(&requests->flow, packet->psn);
    uint32_t ahead = (packet->psn - (uint32_t)requests->flow.highest) & SMCR_PSN_MASK;
    return ahead < NEAR || ahead > SMCR_PSN_MASK - NEAR;
}

/* Whether a new connection reuses the queue pair number, so that the packet begins a new flow. The
 * packets of a connection have one UDP source port, unless its sender sprays. So the port must have
 * changed. If the port is the flow's ground, the PSN must not continue the flow, either
 * (continues()). Otherwise the flow's connection must have ended since the flow began. `conn`: the
 * connection of the queue pair; NULL: not known. */
static bool
is_number_reused(const smcr_rdma_flow_t *flow, const smcr_cm_conn_t *conn,
                 const smcr_ib_headers_t *roce, const smcr_sent_t *packet)
{
    const smcr_cm_conn_t *own = flow->conn ? flow->conn : conn;

    if (!changes_port(flow, roce, packet))
        return false;
    if (flow->ground == SMCR_GROUND_PORT)
        return !continues(flow, packet);
    return own && was_over(own, packet->when.frame) && !was_over(own, flow->first.when.frame);
}

/* Whether the connection of the queue pair began after the flow had its first packet, so that the
 * queue pair number is reused. `conn` NULL: no connection is known. */
static bool
is_of_newer_conn(const smcr_rdma_flow_t *flow, const smcr_cm_conn_t *conn)
{
    if (!conn || conn == flow->conn)
        return false;
    return MAX(smcr_cm_first_frame(conn, SMCR_CM_CLIENT, SMCR_IB_CM_REQ),
               smcr_cm_first_frame(conn, SMCR_CM_SERVER, SMCR_IB_CM_REP)) > flow->first.when.frame;
}

/* Finds the flow of a packet, or begins one. The connection is looked up only if there have been
 * messages of communication management since the flow's last packet. */
static smcr_rdma_flow_t *
flow_of(smcr_rdma_t *rdma, const smcr_ib_headers_t *roce, const smcr_sent_t *packet)
{
    smcr_rdma_flow_t *flow = smcr_rdma_find(rdma, roce);
    bool is_known = flow && flow->conn_looked_up_at == rdma->messages;
    smcr_cm_conn_t *conn = is_known ? flow->conn : find_conn(rdma, roce);

    if (!flow || is_of_newer_conn(flow, conn) || is_number_reused(flow, conn, roce, packet))
        flow = begin_flow(rdma, roce, packet);
    if (flow->conn_looked_up_at != rdma->messages)
        take_conn(rdma, flow, conn);
    flow->conn_looked_up_at = rdma->messages;
    return flow;
}

/* Learns the UDP source port of a packet. A flow whose port changes keeps a proven peer, and leaves
 * the pair of the old port. If no other ground proves the source queue pair, a response may prove
 * which flow is the opposite one. */
static void
take_port(smcr_rdma_t *rdma, smcr_rdma_flow_t *flow, const smcr_ib_headers_t *roce,
          const smcr_sent_t *packet)
{
    if (!roce->udp_port || !is_judged(packet))
        return;
    if (flow->port != roce->udp_port) {
        flow->is_sprayed |= flow->port != 0;
        if (flow->ground == SMCR_GROUND_PORT)
            keep_peer(flow);
        leave_pair(flow);
    }
    flow->port = roce->udp_port;
    if (!needs_port(flow))
        return;
    smcr_rdma_flow_t *opposite = join_pair(rdma, flow);
    if (!opposite || !smcr_ib_operations[packet->opcode].is_response)
        return;
    judge_first(rdma, opposite, true);
    if (!proves_pair(flow, opposite, packet))
        return;
    connect_flows(flow, opposite, SMCR_GROUND_PORT);
    flow->answers = flow->pair->answers;
    flow->answered_psn = packet->psn;
}

/* To save memory, a flow has no `traffic` until its peer, a mark of congestion or a second packet
 * has come. If the first packet came earlier, it is judged here, before the caller judges this
 * one. */
smcr_rdma_flow_t *
smcr_rdma_take_packet(smcr_rdma_t *rdma, const smcr_ib_headers_t *roce, const smcr_sent_t *packet)
{
    smcr_rdma_flow_t *flow = flow_of(rdma, roce, packet);
    bool is_first = flow->first.when.frame == packet->when.frame;
    bool has_mark = smcr_ib_has_mark(roce) || roce->opcode == SMCR_IB_CNP;
    bool is_second = !is_first && is_judged(packet);

    if (roce->has_src_qpn)
        take_datagram(rdma, flow, roce->src_qpn);
    take_port(rdma, flow, roce, packet);
    if (is_judged(packet) && smcr_ib_operations[packet->opcode].is_response)
        take_response(rdma, flow, packet);
    if (flow->peer || has_mark || is_second)
        judge_first(rdma, flow, !is_first);
    if (flow->peer)
        judge_first(rdma, flow->peer, true);
    return flow;
}
