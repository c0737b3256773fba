/* Knows numbers with units, and the names of connections and flows, as a report writes them. Does
 * not know Wireshark. Called by the rooms of report/ that make text, and by statistics/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/figures/figures.h"

/* A text that a function with `scope` returns lives as long as `scope` and the entry of which it
 * is: it may be a new text, a constant or a text of the entry, so the caller frees nothing. No text
 * depends on the locale or on the time zone. */

/* ---- numbers with their units ---- */

/* Returns a number with commas: "1,234,567". */
const char *smcr_words_number(wmem_allocator_t *scope, uint64_t number);

/* Returns a number with `decimals` decimals, at most 6: "-3.7". */
const char *smcr_words_decimal(wmem_allocator_t *scope, double number, unsigned decimals);

/* "1 packet", "1,234 packets". `thing` is the singular; the plural has an "s". */
const char *smcr_words_things(wmem_allocator_t *scope, uint64_t number, const char *thing);

/* Returns the number of further things: " (and 1,234 more flows)"; "" if `number` is 0. `thing` is
 * the singular. */
const char *smcr_words_others(wmem_allocator_t *scope, uint64_t number, const char *thing);

/* Several counts, each with its words: "12 after a NAK, 1,234 after a timeout". Counts that are 0
 * or not known are left out; "" if none remains. */
typedef struct {
    uint64_t count; /* the number; 0 or SMCR_FIGURE_UNKNOWN: this count is left out */
    const char *what; /* words after the number: "after a NAK" */
} smcr_words_count_t;
const char *smcr_words_counts(wmem_allocator_t *scope, const smcr_words_count_t *counts,
                              size_t length);
#define SMCR_WORDS_COUNTS(scope, ...)                                                              \
    smcr_words_counts(scope, (const smcr_words_count_t[]){__VA_ARGS__},                            \
                      G_N_ELEMENTS(((const smcr_words_count_t[]){__VA_ARGS__})))

/* The signs of trouble in RoCE that is not analysed: "12 retransmitted, duplicate or out-of-order
 * packets, 2 NAKs". "": none. `others` may be NULL. */
const char *smcr_words_other_roce(wmem_allocator_t *scope, const smcr_entry_other_roce_t *others);

/* Bytes in a sentence: exact below 100,000 ("20,000 bytes"), else "1.5 MiB". */
const char *smcr_words_bytes(wmem_allocator_t *scope, uint64_t bytes);

/* Bytes in a column: "500 B", "19.5 KiB". */
const char *smcr_words_size(wmem_allocator_t *scope, uint64_t bytes);

/* Nanoseconds as a duration: "850 µs", "4.2 ms", "1.24 s", "10 min 30 s". */
const char *smcr_words_duration(wmem_allocator_t *scope, uint64_t time);

/* Nanoseconds since 1970 as date and time: "2026-11-20 13:45:09.646000 UTC". */
const char *smcr_words_moment(wmem_allocator_t *scope, uint64_t time);

/* A part of a whole: "95 %", "0.3 %", "below 0.1 %". `whole` must not be 0. */
const char *smcr_words_share(wmem_allocator_t *scope, uint64_t part, uint64_t whole);

/* ---- names of connections and links, and the display filters that select them ---- */

/* A text that the user has typed, made fit for a line: valid UTF-8, with '?' in the place of
 * characters that cannot be printed. `text` is not NULL. A text that a peer has sent does not need
 * this: smcr_item_peer_text() has made it harmless. */
const char *smcr_words_clean(wmem_allocator_t *scope, const char *text);

/* "10.0.0.1:46464", "[fd00::1]:46464"; "10.0.0.1" if the port is not known; "?" stands for an
 * address that is not known. */
const char *smcr_words_endpoint(wmem_allocator_t *scope, const smcr_entry_endpoint_t *endpoint);

/* "10.0.0.1:46464 → 10.0.0.2:8080", after "probably " if the ports are inferred
 * (smcr_words_is_inferred()). If no address is known: both ends, as in `conn->ends`, else
 * "connection 3", else "a connection". */
const char *smcr_words_connection(wmem_allocator_t *scope, const smcr_entry_connection_t *conn);

/* Returns the name of the first of `count` connections, and the number of the other ones:
 * "10.0.0.1:46464 → 10.0.0.2:8080 and 2 more connections". `first` NULL: "no connection". In
 * smcr_words_and_more(), `first` is the name of the first connection. */
const char *smcr_words_connections(wmem_allocator_t *scope, const smcr_entry_connection_t *first,
                                   uint64_t count);
const char *smcr_words_and_more(wmem_allocator_t *scope, const char *first, uint64_t count);

/* A queue pair: "10.0.0.1 QP 17"; "10.0.0.1" if `qpn` is SMCR_FIGURE_UNKNOWN. An `address` that is
 * NULL is written as "?". */
const char *smcr_words_queue_pair(wmem_allocator_t *scope, const char *address, uint64_t qpn);

/* Returns the class that PAUSE or PFC frames pause: "class 3", "all classes", or "no class" for PFC
 * frames that name none. */
const char *smcr_words_paused_class(wmem_allocator_t *scope, const smcr_entry_pause_t *pause);

/* Whether the frames pause a class, or all classes. If false, they name no class, as far as they
 * were captured. */
bool smcr_words_pauses_a_class(const smcr_entry_pause_t *pause);

/* Whether truncated frames may hide that RoCE packets are SMC-R: the capture has truncated frames,
 * and RoCE packets that are not known to be SMC-R. */
bool smcr_words_may_hide_smcr(const smcr_entry_report_t *report);

/* Returns the time from the first frame of the capture to the last one, nanoseconds. Returns 0 if
 * the capture has fewer than two frames, or if these times are not known. */
uint64_t smcr_words_covered(const smcr_entry_capture_t *capture);

/* Returns for how much of the capture the class was paused: "101 ms"; without the speed of the link
 * at most: "≤33.6 ms"; "no time" if no frame has asked for a pause. A pause may still be in force
 * after the last frame of the capture. */
const char *smcr_words_paused_time(wmem_allocator_t *scope, const smcr_entry_pause_t *pause,
                                   const smcr_entry_capture_t *capture);

/* Returns the direction from host `src` to host `dst`: "src → dst". */
const char *smcr_words_hosts(wmem_allocator_t *scope, const char *src, const char *dst);

/* Returns the name of an RDMA flow: "10.0.0.1 QP 17 → 10.0.0.2 QP 18", and its VLAN and its tunnel
 * if it has any: " (VLAN 7, VNI 100)". */
const char *smcr_words_flow(wmem_allocator_t *scope, const smcr_entry_rdma_t *flow);

/* Whether the name of the connection begins with "probably": its TCP ports are inferred, from TCP
 * and RoCE packets that fit together, and not proven. */
bool smcr_words_is_inferred(const smcr_entry_connection_t *conn);

/* Whether both directions of the connection have the same name, which names both ends: a host has
 * reported that the connection fell back to TCP, and it is not known which end is the client. */
bool smcr_words_names_both_ends(const smcr_entry_connection_t *conn);

/* Whether it is known which end of the connection is the client. If not, `ends` is set. */
static inline bool
smcr_words_knows_roles(const smcr_entry_connection_t *conn)
{
    return !conn->ends;
}

/* Returns the name of one end of a connection whose client is not known: "10.0.0.2". Returns "the
 * client" or "the server" if the client is known (`conn->ends` is NULL). `is_server`: the end that
 * the report writes in the server's place. */
const char *smcr_words_end(wmem_allocator_t *scope, const smcr_entry_connection_t *conn,
                           bool is_server);

/* Name of one direction of a connection, from the writer to the reader. `to_server`: the client
 * writes. */
const char *
smcr_words_direction(wmem_allocator_t *scope, const smcr_entry_connection_t *conn, bool to_server);

/* The same after "on": "on 10.0.0.2:80 → 10.0.0.1:50274". "probably" comes before "on": the ports
 * are inferred. */
const char *smcr_words_on_direction(wmem_allocator_t *scope, const smcr_entry_connection_t *conn,
                                    bool to_server);

/* Display filter of a connection: "smcr.stream == 3"; "(smcr.stream == 3 || smcr.stream == 5)" if
 * its RoCE packets have another number; "tcp.stream == 3" if it has no number of SMC-R; "smcr", all
 * of SMC-R, if no number is known. */
const char *
smcr_words_connection_filter(wmem_allocator_t *scope, const smcr_entry_connection_t *conn);

/* Name of a link: "link 2 of link group 0", "link group 0", "link 2", "a link". `group`: index of
 * the group; `link`: number of the link. Either may be SMCR_FIGURE_UNKNOWN. */
const char *smcr_words_link(wmem_allocator_t *scope, uint64_t group, uint64_t link);

/* ---- the end of a link ---- */

/* Whether a DELETE LINK reports that the link's path is lost. */
static inline bool
smcr_words_link_is_lost(const smcr_entry_link_t *link)
{
    return link->delete_reason == SMCR_FIGURE_FOR_SMCR_LLC_DELETE_LOST_PATH ||
           link->lost_frame.frame;
}

/* Whether the link is known to have been active. */
static inline bool
smcr_words_link_was_active(const smcr_entry_link_t *link)
{
    SMCR_FIGURE_EACH(link_state, state, link->states)
        if (state->state == SMCR_FIGURE_STATUS_ACTIVE)
            return true;
    return false;
}

/* How long after ADD LINK Linux gives up a link that does not come up, nanoseconds: it
 * waits 2 seconds for ADD LINK and for the response to it (SMC_LLC_WAIT_TIME), and 5 seconds for
 * CONFIRM LINK of a further link (SMC_LLC_WAIT_FIRST_TIME, both in net/smc/smc_llc.h). Up to a
 * second more passes until Linux reports the lost link. */
#define SMCR_WORDS_LINK_WAIT_LEAST (2 * SMCR_TIME_SECOND)
#define SMCR_WORDS_LINK_WAIT_MOST  (6 * SMCR_TIME_SECOND)

/* Whether a link ended as long after ADD LINK as Linux waits for it to come up. `over`: the frame
 * with which it ended, or in which a host reported its path as lost; frame 0: it did not end. */
static inline bool
smcr_words_link_wait_ran_out(smcr_when_t added, smcr_when_t over)
{
    uint64_t waited = over.time > added.time ? over.time - added.time : 0;

    return over.frame && added.frame && waited >= SMCR_WORDS_LINK_WAIT_LEAST &&
           waited <= SMCR_WORDS_LINK_WAIT_MOST;
}

/* Whether the hosts gave up the link in its setup: it ended, or its path was reported as lost, as
 * long after ADD LINK as Linux waits. If the capture has no packet of the link, nothing else shows
 * this: the link may have been in use on a path that the capture point does not see. */
static inline bool
smcr_words_link_was_given_up(const smcr_entry_link_t *link)
{
    return smcr_words_link_wait_ran_out(
        link->added_frame, link->lost_frame.frame ? link->lost_frame : link->deleted_frame);
}

/* Whether the link never came up: it is lost, its announcement is captured, it was not active since
 * then, and the capture has no packet of one of its directions at least. If the capture has no
 * packet of the link at all, smcr_words_link_was_given_up() has to be true as well. */
static inline bool
smcr_words_link_never_came_up(const smcr_entry_link_t *link)
{
    const smcr_entry_link_state_t *first = link->states.length ? link->states.entries[0] : NULL;
    bool is_announced = first && first->state == SMCR_FIGURE_STATUS_UNCONFIRMED;
    bool is_without_packets = !link->flows.length;

    if (link->state != SMCR_FIGURE_STATUS_LOST || !is_announced)
        return false;
    if (smcr_words_link_was_active(link))
        return false;
    return is_without_packets ? smcr_words_link_was_given_up(link) : link->flows.length == 1;
}

/* Whether both ends have announced their queue pairs of the link. The client announces none if it
 * rejects the link at once. */
static inline bool
smcr_words_link_was_set_up(const smcr_entry_link_t *link)
{
    return link->client.qpn != SMCR_FIGURE_UNKNOWN && link->server.qpn != SMCR_FIGURE_UNKNOWN;
}

/* Whether connections have moved from this link to another one (failover). */
static inline bool
smcr_words_link_is_left(const smcr_entry_link_t *link)
{
    return link->moved_from && link->moved_from != SMCR_FIGURE_UNKNOWN;
}

/* Whether the capture has no packet of the link, and no connection has moved from this link to
 * another one. */
static inline bool
smcr_words_link_is_unused(const smcr_entry_link_t *link)
{
    return !link->flows.length && !smcr_words_link_is_left(link);
}
