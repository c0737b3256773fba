/* Finds out which connections have ended, and lets go of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "connections.h"

#include "counts.h"

/* Factor of the time for late packets (smcr_collection_patience_t), if only one of the two ends of
 * a connection is captured, that of TCP or that of SMC-R, or only the end of its link group. */
#define END_MISSING 5

/* Returns the time since a packet, nanoseconds; 0 if there is no packet, or the clock of the
 * capture went back. */
static uint64_t
since(smcr_when_t packet, uint64_t now)
{
    return packet.frame && now > packet.time ? now - packet.time : 0;
}

/* Whether the frame of an event has come; frame 0: there is no such event. */
static bool
is_past(uint32_t frame, const smcr_collection_patience_t *patience)
{
    return frame && frame <= patience->frame;
}

/* Whether SMC-R has ended: one side has aborted, or both have closed. */
static bool
has_smc_ended(const smcr_conn_t *conn, const smcr_collection_patience_t *patience)
{
    const smcr_conn_side_t *one = &conn->side[0], *other = &conn->side[1];

    if (is_past(one->abort_frame, patience) || is_past(other->abort_frame, patience))
        return true;
    return is_past(one->closed_frame, patience) && is_past(other->closed_frame, patience);
}

/* What is known of the end of a connection. The order matters to end_of(): from END_OF_ONE on, the
 * connection has ended; with a lower value it is given up. */
typedef enum {
    END_IS_OPEN,   /* neither TCP nor SMC-R has ended */
    END_OF_GROUP,  /* the link group of the connection has ended, and no message shows the end of
                      the connection */
    END_OF_ONE,    /* the connection used both TCP and SMC-R, and only one of the two has ended */
    END_OF_ALL,    /* TCP and SMC-R have ended, as far as the connection used them */
} known_end_t;

/* Returns what is known of the connection's end when the frame `patience->frame` has come. `tcp`
 * NULL: the capture has no segment of the connection. */
static known_end_t
known_end(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
          const smcr_collection_patience_t *patience)
{
    const smcr_lgr_t *lgr = counted->on_roce ? counted->conn->lgr : NULL;
    bool tcp_ended = tcp && smcr_collect_tcp_flows_has_closed(tcp);
    bool smc_ended = has_smc_ended(counted->conn, patience);
    bool tcp_lasts = tcp && !tcp_ended, smc_lasts = counted->on_roce && !smc_ended;

    if (tcp_ended || smc_ended)
        return tcp_lasts || smc_lasts ? END_OF_ONE : END_OF_ALL;
    return lgr && is_past(lgr->ended_frame, patience) ? END_OF_GROUP : END_IS_OPEN;
}

/* Returns whether a connection of SMC-R has ended, or is given up: by what is known of its end, and
 * by the time since its last packet. */
static smcr_collection_end_t
end_of(const smcr_collect_conn_stats_t *counted, const smcr_collect_tcp_facts_t *tcp,
       const smcr_collection_patience_t *patience)
{
    const uint64_t waits[] = {[END_IS_OPEN] = patience->idle,
                              [END_OF_GROUP] = END_MISSING * patience->late,
                              [END_OF_ONE] = END_MISSING * patience->late,
                              [END_OF_ALL] = patience->late};
    smcr_when_t last = tcp && tcp->last.frame > counted->last.frame ? tcp->last : counted->last;
    known_end_t end = known_end(counted, tcp, patience);

    if (since(last, patience->now) < waits[end])
        return SMCR_COLLECTION_OPEN;
    return end < END_OF_ONE ? SMCR_COLLECTION_GIVEN_UP : SMCR_COLLECTION_ENDED;
}

/* Finds out whether a connection has ended or is given up, and sets `counted->end`. A connection of
 * two halves (`partner`) is open as long as one half is open. */
static void
find_end(const smcr_collect_t *collection, smcr_collect_conn_stats_t *counted,
         const smcr_collection_patience_t *patience)
{
    const smcr_collect_tcp_facts_t *tcp = smcr_collect_conn_tcp_facts(collection, counted);
    smcr_collect_conn_stats_t *partner = counted->partner;

    counted->end = end_of(counted, tcp, patience);
    if (partner && !end_of(partner, smcr_collect_conn_tcp_facts(collection, partner), patience))
        counted->end = SMCR_COLLECTION_OPEN;
    if (tcp)
        smcr_collect_tcp_flows_own(collection, counted->conn->tcp_stream,
                                   counted->end != SMCR_COLLECTION_OPEN);
}

/* Finds out whether a TCP connection that no connection of SMC-R owns has ended or is given up. */
static void
find_end_of_tcp(smcr_collect_tcp_facts_t *tcp, const smcr_collection_patience_t *patience)
{
    bool has_closed = smcr_collect_tcp_flows_has_closed(tcp);

    if (!tcp->is_owned)
        tcp->is_over = since(tcp->last, patience->now) >=
                       (has_closed ? patience->late : patience->idle);
}

/* Owners are found anew in each call: a TCP connection that a connection of SMC-R owns ends with
 * it. */
bool
smcr_collect_connections_find_over(smcr_collect_t *collection,
                                   const smcr_collection_patience_t *patience)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_SIMPLE);
    wmem_array_t *conns = smcr_collect_conns_complete(collection, scope);
    wmem_array_t *tcp = smcr_collect_tcp_flows_all(collection, scope);
    bool found = false;

    for (unsigned i = 0; i < wmem_array_get_count(tcp); i++)
        (*(smcr_collect_tcp_facts_t **)wmem_array_index(tcp, i))->is_owned = false;
    for (unsigned i = 0; i < wmem_array_get_count(conns); i++) {
        smcr_collect_conn_stats_t *counted =
            *(smcr_collect_conn_stats_t **)wmem_array_index(conns, i);
        find_end(collection, counted, patience);
        found |= counted->end != SMCR_COLLECTION_OPEN;
    }
    for (unsigned i = 0; i < wmem_array_get_count(tcp); i++) {
        smcr_collect_tcp_facts_t *flow = *(smcr_collect_tcp_facts_t **)wmem_array_index(tcp, i);
        find_end_of_tcp(flow, patience);
        found |= flow->is_over;
    }
    wmem_destroy_allocator(scope);
    return found;
}

/* Lets go of a connection: frees its figures, and notes that it has ended or was given up. */
static void
let_go(smcr_collect_t *collection, smcr_collect_conn_stats_t *counted)
{
    const smcr_conn_t *conn = counted->conn;

    if (counted->end == SMCR_COLLECTION_ENDED)
        smcr_collect_bits_set(collection->gone_conns, conn->index);
    else
        wmem_map_insert(collection->given_up, conn, GINT_TO_POINTER(TRUE));
    if (conn->lgr && wmem_map_lookup(collection->contacts, conn->lgr) == counted)
        wmem_map_remove(collection->contacts, conn->lgr);
    wmem_map_remove(collection->conns, conn);
    smcr_packed_forget(&collection->open_conns, &counted->kept);
    smcr_collect_pool_free(collection, counted->scope);
}

/* Gaps and times are kept as far back as the connections that stay need them. */
void
smcr_collect_connections_let_go(smcr_collect_t *collection)
{
    wmem_array_t *all = smcr_collect_conns_all(collection, NULL);
    uint32_t oldest = UINT32_MAX, quietest = UINT32_MAX; /* of the connections that stay: lowest
                                                            number of a first frame, and lowest
                                                            number of a last frame */

    smcr_collect_tcp_flows_let_go(collection);
    for (unsigned i = 0; i < wmem_array_get_count(all); i++) {
        smcr_collect_conn_stats_t *counted =
            *(smcr_collect_conn_stats_t **)wmem_array_index(all, i);
        if (counted->end != SMCR_COLLECTION_OPEN) {
            let_go(collection, counted);
            continue;
        }
        oldest = MIN(oldest, counted->first.frame);
        quietest = MIN(quietest, counted->last.frame);
    }
    wmem_destroy_array(all);
    smcr_collect_gaps_forget(&collection->roce_gaps, MIN(quietest, collection->last_taken_frame));
    smcr_collect_times_forget(collection, MIN(oldest, collection->last_taken_frame));
}

/* Frees the figures of a connection. Called for each entry of a map. */
static void
free_conn(void *key _U_, void *counted, void *collection)
{
    smcr_collect_pool_free(collection, ((smcr_collect_conn_stats_t *)counted)->scope);
}

void
smcr_collect_connections_free(smcr_collect_t *collection)
{
    wmem_map_foreach(collection->conns, free_conn, collection);
}
