/* Findings about the beginning and the end of connections: TCP instead of RDMA, an abort, a TCP
 * reset, a handshake without result.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "finder.h"

#include "report/words/words.h"
#include "wire/wire.h"

#define MOST_REASONS 3 /* number of fallback reasons that get a finding of their own; all other
                          reasons share one finding */

/* A predicate: whether a connection has a certain property. gather_conns() takes one. */
typedef bool property_t(const smcr_entry_connection_t *conn);

/* Predicates for gather_conns(). IS(name, condition) defines is_<name>(). */
#define IS(name, condition) \
    static bool is_##name(const smcr_entry_connection_t *conn) \
    { \
        return condition; \
    }
#define CLOSE(word) (conn->close == SMCR_FIGURE_CLOSE_##word)
#define OUTCOME(word) (conn->outcome == SMCR_FIGURE_OUTCOME_##word)
#define ENDED (CLOSE(RESET) || CLOSE(NORMAL))
IS(over_too_soon, OUTCOME(TCP) && !conn->fallback && ENDED)
IS(not_offered, OUTCOME(TCP) && !conn->fallback && !ENDED)
IS(aborted, CLOSE(ABORT))
IS(reset, CLOSE(RESET) && OUTCOME(SMCR))
IS(unsure_reset, CLOSE(RESET) && OUTCOME(UNKNOWN))
/* A TCP reset of a connection that is not over SMC-R: over TCP, where programs that end in a hurry
 * reset connections; or of a connection whose outcome is not known. */
IS(tcp_reset, CLOSE(RESET) && !OUTCOME(SMCR) && !OUTCOME(NO_CONNECTION) && !OUTCOME(FAILED))
IS(refused, CLOSE(RESET) && OUTCOME(NO_CONNECTION))
IS(unanswered, !CLOSE(RESET) && OUTCOME(NO_CONNECTION))
IS(unfinished, OUTCOME(UNKNOWN) && conn->began_before == SMCR_FIGURE_NO &&
               conn->tcp_stream != SMCR_FIGURE_UNKNOWN)

/* Connections with the same trouble. */
typedef struct {
    uint32_t count;                       /* number of connections */
    const smcr_entry_connection_t *first; /* the connection with the lowest index; NULL: none */
    const char *streams;                  /* display filter of all these connections; NULL: too many
                                             connections for one filter */
    wmem_array_t *frames;                 /* frames of these connections that show the trouble */
} alike_conns_t;

/* Returns the connections that have a property. Their display filter selects tcp.stream if it is
 * known, so the filter also finds segments without SMC-R. */
static alike_conns_t
gather_conns(const smcr_finder_t *finder, property_t *has_property)
{
    alike_conns_t group = {.frames = smcr_finder_frames(finder)};

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!has_property(conn))
            continue;
        if (!group.first)
            group.first = conn;
        smcr_finder_frames_add_ends(group.frames, conn);
        const char *stream =
            conn->tcp_stream == SMCR_FIGURE_UNKNOWN
                ? smcr_words_connection_filter(finder->scope, conn)
                : wmem_strdup_printf(finder->scope, "tcp.stream == %" PRIu64, conn->tcp_stream);
        group.streams = smcr_finder_either(finder, group.streams, stream, group.count++);
    }
    return group;
}

/* Returns text about ICMP errors that quote packets of the group's first connection; "" if there
 * are none. */
static const char *
icmp_text(const smcr_finder_t *finder, const alike_conns_t *group)
{
    return smcr_finder_undelivered(finder, group->first->client.addr, group->first->server.addr);
}

/* Returns the name of the group's first connection, and the number of the other connections. */
static const char *
conns_text(const smcr_finder_t *finder, const alike_conns_t *group)
{
    return smcr_words_connections(finder->scope, group->first, group->count);
}

/* Returns the display filter `what`. If the group has exactly one connection, the filter is limited
 * to this connection. */
static const char *
filter_of_one(const smcr_finder_t *finder, const alike_conns_t *group, const char *what)
{
    if (group->count != 1)
        return what;
    return wmem_strdup_printf(finder->scope, "%s && %s",
                              smcr_words_connection_filter(finder->scope, group->first), what);
}

/* Returns the display filter `what`, limited to the connections of the group. If the group has too
 * many connections for one filter, returns `what` without a limit. */
static const char *
filter_of_all(const smcr_finder_t *finder, const alike_conns_t *group, const char *what)
{
    if (!group->streams)
        return what;
    return wmem_strdup_printf(finder->scope, group->count == 1 ? "%s && %s" : "(%s) && %s",
                              group->streams, what);
}

/* ---- fallback ---- */

/* End of a sentence: why the SMC-R option may be missing, or why no Proposal comes after the
 * option. Index: the sign that the SYN or SYN-ACK shows. Linux uses no SMC-R on a socket with
 * TCP_FASTOPEN (smc_setsockopt()). */
static const char *const signs[] = {
    [SMCR_FIGURE_SIGN_NONE] = "",
    [SMCR_FIGURE_SIGN_NOPS] = "; six NOPs in a row: a firewall may have removed it",
    [SMCR_FIGURE_SIGN_FAST_OPEN] =
        "; TCP Fast Open is in use, with which Linux does not use SMC-R",
};

/* Whether the peers may have no EID in common. There is no diagnosis code for this. A Linux server
 * then reports a missing device or, if the Proposal also offered v1, the code for a different IP
 * prefix, as for v1 (smc_listen_find_device()). */
static bool
may_lack_common_eid(const smcr_entry_conn_fallback_t *fallback)
{
    bool may_mean_eid =
        fallback->code == SMCR_CLC_DECLINE_NO_DEVICE || fallback->code == SMCR_CLC_DECLINE_PREFIX;

    return fallback->by == SMCR_FIGURE_ROLE_SERVER && fallback->offered_eids && may_mean_eid;
}

/* An EID on which a server has agreed. */
typedef struct {
    const char *eid;                     /* the EID */
    const smcr_entry_connection_t *conn; /* the connection over SMC-R, the first one with an EID */
} agreed_t;

/* Finds for each server the first connection over SMC-R whose link group has an EID. */
static void
gather_agreed(smcr_finder_t *finder)
{
    wmem_map_t *groups = wmem_map_new(finder->scope, g_direct_hash, g_direct_equal);

    finder->agreed = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);
    SMCR_FIGURE_EACH(link_group, group, finder->report->link_groups)
        if (group->eid)
            wmem_map_insert(groups, GSIZE_TO_POINTER(group->index + 1), (void *)group);
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_link_group_t *group =
            wmem_map_lookup(groups, GSIZE_TO_POINTER(conn->link_group + 1));
        bool is_new = group && OUTCOME(SMCR) && conn->server.addr &&
                      !wmem_map_lookup(finder->agreed, conn->server.addr);
        if (!is_new)
            continue;
        agreed_t *agreed = wmem_new(finder->scope, agreed_t);
        *agreed = (agreed_t){group->eid, conn};
        wmem_map_insert(finder->agreed, conn->server.addr, agreed);
    }
}

/* Whether the list of EIDs, "A, B", has this EID. */
static bool
has_eid(const char *list, const char *eid)
{
    char **eids = g_strsplit(list, ", ", -1);
    bool is_there = g_strv_contains((const char *const *)eids, eid);

    g_strfreev(eids);
    return is_there;
}

/* Returns text for a server without a device for this client, as the end of a sentence. Another
 * connection shows whether the server has a device, and on which EID it agrees. */
static const char *
device_or_eid(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_fallback_t *fallback = conn->fallback;
    bool no_device = fallback->code == SMCR_CLC_DECLINE_NO_DEVICE;
    const agreed_t *agreed =
        conn->server.addr ? wmem_map_lookup(finder->agreed, conn->server.addr) : NULL;

    if (agreed && no_device && !has_eid(fallback->offered_eids, agreed->eid))
        return wmem_strdup_printf(finder->scope,
                                  ", but no common EID: the client offers %s, and the server "
                                  "agreed on %s with %s (frame %" PRIu32 ")",
                                  fallback->offered_eids, agreed->eid,
                                  agreed->conn->client.addr, agreed->conn->first_frame.frame);
    if (agreed && no_device)
        return wmem_strdup_printf(finder->scope,
                                  "; the EID is common: the server agreed on %s in %s "
                                  "(frame %" PRIu32 ")",
                                  agreed->eid, smcr_words_connection(finder->scope, agreed->conn),
                                  agreed->conn->first_frame.frame);
    return wmem_strdup_printf(finder->scope, "%s common EID: the client offers %s",
                              no_device ? ", or no" : "; for SMC-Rv2 perhaps no",
                              fallback->offered_eids);
}

/* Returns another possible cause of the fallback, as the end of a sentence: another meaning of the
 * diagnosis code or, if there is no code, a sign in the SYN. A client that reports no device may
 * have a device that only SMC-Rv2 can use: Linux offers SMC-Rv2 over IPv4 only, and only with an
 * EID (smc_find_proposal_devices()). */
static const char *
other_cause(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_fallback_t *fallback = conn->fallback;
    bool no_device = fallback->code == SMCR_CLC_DECLINE_NO_DEVICE;

    if (fallback->code == SMCR_FIGURE_UNKNOWN)
        return signs[fallback->syn_sign];
    if (fallback->code == SMCR_CLC_DECLINE_INTERNAL)
        return smcr_finding_internal_error_text(finder, conn);
    if (may_lack_common_eid(fallback))
        return device_or_eid(finder, conn);
    if (!no_device || fallback->by != SMCR_FIGURE_ROLE_CLIENT)
        return "";
    bool is_ipv6 = conn->client.addr && strchr(conn->client.addr, ':');
    return is_ipv6 ? "; over IPv6 Linux offers no SMC-Rv2" : ", or no EID is defined there";
}

/* Adds the connection to the group of connections that fell back for the same reason: equal
 * diagnosis code, side, text and other cause (other_cause()). Makes the group if there is none. */
static void
add_fallback(const smcr_finder_t *finder, wmem_map_t *by_reason, wmem_array_t *groups,
             const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_fallback_t *fallback = conn->fallback;
    const char *side = fallback->by ? smcr_figure_role_words[fallback->by] : "";
    const char *reason = fallback->reason ? fallback->reason : "";
    const char *key = wmem_strdup_printf(finder->scope, "%" PRIu64 " %s %s%s", fallback->code, side,
                                         reason, other_cause(finder, conn));
    uintptr_t place = (uintptr_t)wmem_map_lookup(by_reason, key);

    if (!place) {
        alike_conns_t group = {.first = conn, .frames = smcr_finder_frames(finder)};
        wmem_array_append_one(groups, group);
        place = wmem_array_get_count(groups);
        wmem_map_insert(by_reason, key, (void *)place);
    }
    alike_conns_t *group = wmem_array_index(groups, (unsigned)place - 1);
    smcr_finder_frames_add(group->frames, fallback->frame);
    group->streams = smcr_finder_either(
        finder, group->streams, smcr_words_connection_filter(finder->scope, conn), group->count++);
}

/* Returns the severity of a fallback. It is a note, since a peer may decline SMC-R. It is a warning
 * if the peers had agreed on SMC-R and RoCE packets did not arrive (smcr_finding_is_timeout()). */
static smcr_figure_severity_t
severity_of_fallback(const smcr_entry_conn_fallback_t *fallback)
{
    return smcr_finding_is_timeout(fallback->code) ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE;
}

/* Returns the rank of a fallback: a failure if RoCE packets did not arrive, else a risk, since the
 * program gets its data over TCP. */
static smcr_finding_rank_t
rank_of_fallback(const smcr_entry_conn_fallback_t *fallback)
{
    return smcr_finding_is_timeout(fallback->code) ? SMCR_FINDING_BY_FALLBACK
                                                   : SMCR_FINDING_BY_DECLINE;
}

/* Returns "; RoCE had failed before (frame 74)", if RoCE between the hosts of the connection had a
 * trouble before `frame` that lasts: then the finding is a consequence. Else "". */
static const char *
earlier_failure_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn,
                     uint32_t frame)
{
    smcr_when_t failed =
        smcr_finding_failed_before(finder, conn->client.addr, conn->server.addr, frame);

    if (!failed.frame)
        return "";
    return wmem_strdup_printf(finder->scope, "; RoCE had failed before (frame %" PRIu32 ")",
                              failed.frame);
}

/* Returns the reason of the fallback of connections, as the rest of a sentence. A timeout, or RDMA
 * buffers that the peer does not confirm, may be the consequence of an earlier failure of RoCE,
 * which then stands for the remarks after the reason. */
static const char *
fallback_text(const smcr_finder_t *finder, const alike_conns_t *group)
{
    const smcr_entry_conn_fallback_t *fallback = group->first->fallback;
    bool needs_roce = smcr_finding_is_timeout(fallback->code) ||
                      fallback->code == SMCR_CLC_DECLINE_REGISTER;
    const char *reason = fallback->reason ? fallback->reason : "reason unknown";
    const char *failure =
        needs_roce ? earlier_failure_text(finder, group->first, fallback->frame.frame) : "";

    if (*failure)
        return wmem_strdup_printf(finder->scope, "%.*s%s", (int)strcspn(reason, ";"), reason,
                                  failure);
    return wmem_strdup_printf(
        finder->scope, "%s%s%s", reason, other_cause(finder, group->first),
        smcr_finding_is_timeout(fallback->code) ? icmp_text(finder, group) : "");
}

/* Finding: fallback to TCP for one reason. The option in the SYN offers SMC-R. Then one of three
 * events ends the negotiation (RFC 7609, 3.1 to 3.3): a Decline, a SYN-ACK without the option, or
 * TCP data instead of CLC messages. The sentence has the text of the diagnosis code, and another
 * possible cause. If RoCE packets did not arrive, the sentence also has ICMP errors. */
static void
find_fallback(smcr_finder_t *finder, const alike_conns_t *group)
{
    const smcr_entry_conn_fallback_t *fallback = group->first->fallback;
    bool stayed = group->first->outcome == SMCR_FIGURE_OUTCOME_TCP;

    smcr_finder_add_as(
        finder, severity_of_fallback(fallback),
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_FALLBACK,
                               .count = group->count,
                               .when = fallback->frame,
                               .frames = group->frames,
                               .rank = rank_of_fallback(fallback),
                               .filter = filter_of_all(finder, group, "smcr.fallback")},
        "%s %s: %s", conns_text(finder, group), stayed ? "stayed on TCP" : "fell back to TCP",
        fallback_text(finder, group));
}

/* Compares two reasons of fallbacks for sorting. The more severe reason comes first, then the
 * reason with more connections, then the reason with the earlier frame. Returns -1 if `one` comes
 * first. */
static int
compare_groups(const void *one, const void *other)
{
    const alike_conns_t *a = one, *b = other;
    smcr_figure_severity_t grave = severity_of_fallback(a->first->fallback);
    smcr_figure_severity_t other_grave = severity_of_fallback(b->first->fallback);

    if (grave != other_grave)
        return grave > other_grave ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->first->fallback->frame.frame < b->first->fallback->frame.frame ? -1 : 1;
}

/* Makes one finding for all reasons from index `from` of `groups` on. */
static void
find_other_fallbacks(smcr_finder_t *finder, wmem_array_t *groups, unsigned from)
{
    unsigned reasons = wmem_array_get_count(groups);
    smcr_when_t first = {0};
    uint32_t count = 0;

    for (unsigned i = from; i < reasons; i++) {
        const alike_conns_t *group = wmem_array_index(groups, i);
        first = smcr_figure_when_earlier(first, group->first->fallback->frame);
        count += group->count;
    }
    if (!count)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_FALLBACK,
                                           .count = count,
                                           .when = first,
                                           .rank = SMCR_FINDING_BY_DECLINE,
                                           .filter = "smcr.fallback"},
                    "%s fell back to TCP, for %s",
                    smcr_words_connections(finder->scope,
                                           ((alike_conns_t *)wmem_array_index(groups, from))->first,
                                           count),
                    smcr_words_things(finder->scope, reasons - from, "other reason"));
}

/* Makes a finding for each of the first MOST_REASONS reasons in the order of compare_groups(), and
 * one finding for all other reasons. If only one other reason is left, that finding names it. */
static void
find_fallbacks(smcr_finder_t *finder)
{
    wmem_map_t *by_reason = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);
    wmem_array_t *groups = wmem_array_new(finder->scope, sizeof(alike_conns_t));

    gather_agreed(finder);
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (conn->fallback)
            add_fallback(finder, by_reason, groups, conn);
    }
    wmem_array_sort(groups, compare_groups);
    unsigned reasons = wmem_array_get_count(groups);
    unsigned named = reasons > MOST_REASONS + 1 ? MOST_REASONS : reasons;
    for (unsigned i = 0; i < named; i++)
        find_fallback(finder, wmem_array_index(groups, i));
    find_other_fallbacks(finder, groups, named);
}

/* ---- ends ---- */

/* Bytes that the readers of a connection have lost, or may have lost. Such bytes were announced and
 * not reported as read, or written and never announced. */
typedef struct {
    uint64_t of_client; /* bytes that the client wrote */
    uint64_t of_server; /* bytes that the server wrote */
    bool is_least;      /* the lost bytes of at least one direction are not known */
} losses_t;

/* Adds the bytes of one direction to `*lost`. */
static void
add_losses(const smcr_entry_conn_direction_t *direction, uint64_t *lost, bool *is_least)
{
    *lost += smcr_figure_or_zero(direction->unreported_bytes) +
             smcr_figure_or_zero(direction->unannounced_bytes);
    *is_least |= direction->unreported_bytes == SMCR_FIGURE_UNKNOWN ||
                 direction->unannounced_bytes == SMCR_FIGURE_UNKNOWN;
}

/* Returns the lost bytes of a connection. */
static losses_t
losses_of(const smcr_entry_connection_t *conn)
{
    losses_t lost = {0};

    add_losses(&conn->client_to_server, &lost.of_client, &lost.is_least);
    add_losses(&conn->server_to_client, &lost.of_server, &lost.is_least);
    return lost;
}

/* Returns "; 12,000 bytes from the client not reported as read"; "" if there are none. The number
 * counts bytes of all connections with the property; the text says "in all" if there are several.
 * The text says "at least" if the bytes of one direction are not known, and no side if both sides
 * have lost bytes or the client's address is not known. */
static const char *
losses_text(const smcr_finder_t *finder, property_t *has_property)
{
    losses_t sum = {0};
    bool knows_roles = true;
    uint64_t conns = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        losses_t lost = has_property(conn) ? losses_of(conn) : (losses_t){0};
        conns += has_property(conn);
        sum.of_client += lost.of_client;
        sum.of_server += lost.of_server;
        sum.is_least |= lost.is_least;
        knows_roles &= !has_property(conn) || conn->client.addr;
    }
    if (!sum.of_client && !sum.of_server)
        return "";
    const char *from = sum.of_server ? " from the server" : " from the client";
    bool is_both = sum.of_client && sum.of_server;
    return wmem_strdup_printf(finder->scope, "; %s%s%s%s not reported as read",
                              conns > 1 ? "in all, " : "", sum.is_least ? "at least " : "",
                              smcr_words_bytes(finder->scope, sum.of_client + sum.of_server),
                              knows_roles && !is_both ? from : "");
}

/* Whether the connection was aborted, and its readers had read all but a small part of the data: a
 * sixteenth or less was lost. A program that stops a transfer ends its connections in this way. So
 * does a program that crashes. */
static bool
is_hasty_abort(const smcr_entry_connection_t *conn)
{
    losses_t lost = losses_of(conn);
    uint64_t bytes = smcr_figure_or_zero(conn->client_to_server.bytes) +
                     smcr_figure_or_zero(conn->server_to_client.bytes);
    uint64_t all_lost = lost.of_client + lost.of_server;

    return is_aborted(conn) && all_lost && !lost.is_least && all_lost * 16 <= bytes;
}

/* Whether the connection was aborted in another way than is_hasty_abort(). */
static bool
is_other_abort(const smcr_entry_connection_t *conn)
{
    return is_aborted(conn) && !is_hasty_abort(conn);
}

/* Which ends have aborted the connections of a group. */
typedef struct {
    uint32_t by[SMCR_FIGURE_ROLE_SERVER + 1]; /* number of connections; index: the side that aborted
                                                 first; SMCR_FIGURE_ROLE_NONE: not known */
    const char *aborter; /* the end that aborted each connection, by its role or address: "the
                            server", "10.0.0.2"; NULL: there are several, or one is not known */
    smcr_when_t first;   /* first abort of a known end; frame 0: none */
} aborts_t;

/* Returns the end that aborted the connection first: "the server"; "10.0.0.2" if it is not known
 * which end is the client; NULL if the end is not known. */
static const char *
aborter_of(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    if (!conn->end || !conn->end->aborted_by)
        return NULL;
    return smcr_words_end(finder->scope, conn, conn->end->aborted_by == SMCR_FIGURE_ROLE_SERVER);
}

/* Adds the abort of a connection. `is_first`: no connection has been added so far. */
static void
add_abort(aborts_t *aborts, const smcr_finder_t *finder, const smcr_entry_connection_t *conn,
          bool is_first)
{
    const char *aborter = aborter_of(finder, conn);
    bool knows_role = aborter && smcr_words_knows_roles(conn);

    aborts->by[knows_role ? conn->end->aborted_by : SMCR_FIGURE_ROLE_NONE]++;
    if (aborter)
        aborts->first = smcr_figure_when_earlier(aborts->first, conn->end->aborted_frame);
    if (is_first)
        aborts->aborter = aborter;
    else if (g_strcmp0(aborter, aborts->aborter) != 0)
        aborts->aborter = NULL;
}

/* Returns which ends have aborted the aborted connections. */
static aborts_t
sides_of_aborts(const smcr_finder_t *finder)
{
    aborts_t aborts = {0};
    bool is_first = true;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!is_aborted(conn))
            continue;
        add_abort(&aborts, finder, conn, is_first);
        is_first = false;
    }
    return aborts;
}

/* Returns the beginning of the sentence: "The server aborted 10.0.0.1:58724 → 10.0.0.2:8088 and 1
 * more connection"; "10.0.0.2 aborted connection 0" if it is not known which end is the client;
 * "... ended with an abort" if the aborting end is not known; with the number of each
 * side if both sides have aborted connections. `captured`: side whose message is the first captured
 * abort. If only the direction of `captured` is captured, the text says so: the other side may have
 * aborted first. */
static const char *
aborted_text(const smcr_finder_t *finder, const alike_conns_t *group, const aborts_t *aborts,
             smcr_figure_role_t captured)
{
    const uint32_t *sides = aborts->by;
    const char *name = conns_text(finder, group);

    if (aborts->aborter)
        return wmem_strdup_printf(finder->scope, "%s aborted %s", aborts->aborter, name);
    bool is_half = captured && smcr_finding_flow_one_sided(finder);
    if (sides[SMCR_FIGURE_ROLE_NONE] || group->count < 2)
        return wmem_strdup_printf(finder->scope, "%s ended with an abort%s%s%s", name,
                                  is_half ? "; only the abort by the " : "",
                                  is_half ? smcr_figure_role_words[captured] : "",
                                  is_half ? " is captured" : "");
    return wmem_strdup_printf(finder->scope,
                              "%s ended with an abort, %" PRIu32 " by the server and %" PRIu32
                              " by the client",
                              name, sides[SMCR_FIGURE_ROLE_SERVER],
                              sides[SMCR_FIGURE_ROLE_CLIENT]);
}

/* Whether the side that aborted the connection had closed it before, and the other side wrote after
 * this close. */
static bool
is_written_after_close(const smcr_entry_conn_end_t *end)
{
    bool is_same_end = end && end->aborted_by && end->by == end->aborted_by;

    return is_same_end && end->frame.frame != end->aborted_frame.frame &&
           end->written_after == SMCR_FIGURE_YES;
}

/* Returns text about a close before the abort of the group's connection: "; the server had closed
 * it in frame 7" if the side that did not abort had closed it; "; it had closed it in frame 7, and
 * the server wrote after that" if the side that aborted had closed it; else "". */
static const char *
earlier_close_text(const smcr_finder_t *finder, const alike_conns_t *group,
                   const smcr_figure_notice_t *abort)
{
    const smcr_entry_conn_end_t *end = group->first->end;

    if (is_written_after_close(end))
        return wmem_strdup_printf(
            finder->scope, ", which it had closed in frame %" PRIu32 "; %s wrote after this close",
            end->frame.frame,
            smcr_words_end(finder->scope, group->first, end->by == SMCR_FIGURE_ROLE_CLIENT));
    if (!abort->by || !abort->closed)
        return "";
    return wmem_strdup_printf(finder->scope, "; the %s had closed it in frame %" PRIu32,
                              abort->by == SMCR_FIGURE_ROLE_CLIENT ? "server" : "client",
                              abort->closed);
}

/* Returns the port of the connection's server as a key: "10.0.0.2 8080". */
static const char *
port_key(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    return wmem_strdup_printf(finder->scope, "%s %" PRIu64,
                              conn->server.addr ? conn->server.addr : "", conn->server.port);
}

/* Returns the first connection that the server of an aborted connection refused after its abort, at
 * the same port; NULL: none. A program that has ended listens no more. */
static const smcr_entry_connection_t *
refused_after_abort(const smcr_finder_t *finder)
{
    wmem_map_t *aborted = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_conn_end_t *end = is_aborted(conn) ? conn->end : NULL;
        if (end && end->aborted_by == SMCR_FIGURE_ROLE_SERVER)
            wmem_map_insert(aborted, port_key(finder, conn), (void *)conn);
    }
    if (!wmem_map_size(aborted))
        return NULL;
    SMCR_FIGURE_EACH(connection, refused, finder->report->connections) {
        const smcr_entry_connection_t *conn =
            is_refused(refused) ? wmem_map_lookup(aborted, port_key(finder, refused)) : NULL;
        if (conn && refused->first_frame.time >= conn->end->aborted_frame.time)
            return refused;
    }
    return NULL;
}

/* Returns smcr_finding_given_up_text() of the aborted connection that waited longest for an answer;
 * "" if no client gave up. */
static const char *
longest_given_up_text(const smcr_finder_t *finder)
{
    const char *text = "";
    uint64_t longest = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        const smcr_entry_conn_open_wait_t *wait = conn->client_to_server.open_wait;
        uint64_t lasted = wait ? smcr_figure_or_zero(smcr_figure_time_between(
                                     wait->begin_frame, wait->proven_frame))
                               : 0;
        if (!is_aborted(conn) || lasted <= longest)
            continue;
        longest = lasted;
        text = smcr_finding_given_up_text(finder, conn);
    }
    return text;
}

/* Returns "; after that, port 80 of the server refused a connection (frame 245): its program had
 * ended". */
static const char *
refused_text(const smcr_finder_t *finder, const smcr_entry_connection_t *refused)
{
    return wmem_strdup_printf(finder->scope,
                              "; after that, port %" PRIu64 " of the server refused a connection "
                              "(frame %" PRIu32 "): its program had ended",
                              refused->server.port, refused->first_frame.frame);
}

/* Returns text about the cause of the aborts of a group, of which the first is in the frame
 * `first`: RoCE had failed; or the server's program ended, or did not answer. */
static const char *
cause_of_abort(const smcr_finder_t *finder, const alike_conns_t *group, uint32_t first,
               const smcr_entry_connection_t *refused)
{
    const char *failure = earlier_failure_text(finder, group->first, first);

    if (*failure)
        return failure;
    return refused ? refused_text(finder, refused) : longest_given_up_text(finder);
}

/* Finding: aborted connections. A CDC message has the abort flag (RFC 7609, 4.8.2), so the reader
 * may have lost data. The finding names the side that aborted first if no message to this side is
 * missing in the capture: a missing one may be an earlier abort by the other side. If every abort
 * left a small part of the data unread (is_hasty_abort()), and the server's program did not end,
 * the finding counts as a second of lost time: it comes before findings that cost less time.
 * Otherwise the finding is a failure. */
static void
find_aborted(smcr_finder_t *finder)
{
    alike_conns_t group = gather_conns(finder, is_aborted);
    aborts_t aborts = sides_of_aborts(finder);
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "smcr.conn.aborted");
    const smcr_entry_connection_t *refused = refused_after_abort(finder);
    bool is_hasty = !refused && !gather_conns(finder, is_other_abort).count;

    if (!group.count)
        return;
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_ABORT,
                               .count = group.count,
                               .when = aborts.first.frame ? aborts.first : notice.first,
                               .frames = SMCR_FINDER_FRAMES(
                                   finder, (smcr_when_t){.frame = notice.closed}),
                               .filter = filter_of_one(finder, &group, "smcr.conn.aborted"),
                               .rank = is_hasty ? SMCR_FINDING_BY_HASTY_ABORT : 0,
                               .cost = is_hasty ? SMCR_TIME_SECOND : 0},
        "%s%s%s%s", aborted_text(finder, &group, &aborts, notice.by),
        group.count == 1 ? earlier_close_text(finder, &group, &notice) : "",
        losses_text(finder, is_aborted),
        cause_of_abort(finder, &group, aborts.first.frame, refused));
}

/* ---- a server closes an idle connection, and its client keeps the connection ---- */

#define LONG_IDLE SMCR_TIME_SECOND /* shortest time without data after which a connection is idle,
                                      and after which a client has not noticed a close */

#define MOST_EXAMINED 100 /* maximum number of connections whose pools are examined: each pool
                             needs a loop over all connections */

/* Whether the other end has closed the connection too, or may have done so, in a packet that is
 * missing or does not prove when. */
static bool
has_unknown_other_end(const smcr_entry_connection_t *conn)
{
    bool may_have_closed =
        conn->close == SMCR_FIGURE_CLOSE_NORMAL || conn->close == SMCR_FIGURE_CLOSE_UNKNOWN;

    return !conn->end->other_frame.frame && may_have_closed;
}

/* Returns how long the client kept the connection open after the server had closed it, nanoseconds:
 * up to the client's close, or to the end of the capture. Returns 0 if the server was not the first
 * to close, or if it is not known when the client closed. */
static uint64_t
kept_after_close(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_end_t *end = conn->end;
    uint64_t until = finder->report->capture.last_time;

    if (!end || end->by != SMCR_FIGURE_ROLE_SERVER || is_aborted(conn))
        return 0;
    if (has_unknown_other_end(conn))
        return 0;
    if (end->other_frame.frame)
        until = end->other_frame.time;
    return until != SMCR_FIGURE_UNKNOWN && until > end->frame.time ? until - end->frame.time : 0;
}

/* Returns how long neither side had written before the first close, nanoseconds; 0: not known. */
static uint64_t
idle_time(const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_end_t *end = conn->end;

    return smcr_figure_or_zero(smcr_figure_time_between(end->idle_frame, end->frame));
}

/* Whether the server closed the connection while it was idle, and the client kept it open for
 * LONG_IDLE or more. If only a netlink report shows the close, the idle time before the close is
 * not known, and is not examined. */
static bool
is_closed_while_idle(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    return kept_after_close(finder, conn) >= LONG_IDLE && conn->client.addr &&
           (conn->end->is_reported == SMCR_FIGURE_YES || idle_time(conn) >= LONG_IDLE);
}

/* A pool of a connection that the server has closed: all connections between the same hosts, to the
 * same port of the server. The closed connection is one of them. */
typedef struct {
    uint32_t open;   /* number of connections of the pool that were open at the close */
    uint32_t closed; /* number of these open connections that the server closed while idle */
    uint32_t later;  /* number of other connections in `open` that were used more than LONG_IDLE
                        after the client closed the connection of the pool */
} pool_t;

/* Whether both connections have the same client host, server host and server port. */
static bool
have_same_ends(const smcr_entry_connection_t *one, const smcr_entry_connection_t *other)
{
    return one->server.port == other->server.port &&
           g_strcmp0(one->server.addr, other->server.addr) == 0 &&
           g_strcmp0(one->client.addr, other->client.addr) == 0;
}

/* Returns the pool of `conn`, which the server has closed. */
static pool_t
pool_of(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    uint64_t closed = conn->end->frame.time;
    uint64_t given_up = closed + kept_after_close(finder, conn);
    pool_t pool = {0};

    SMCR_FIGURE_EACH(connection, other, finder->report->connections) {
        bool is_later =
            other->first_frame.time > closed && other->began_before != SMCR_FIGURE_YES;
        if (!have_same_ends(conn, other) || is_later || other->last_frame.time < closed)
            continue;
        pool.open++;
        pool.closed += is_closed_while_idle(finder, other);
        pool.later += other != conn && other->last_frame.time > given_up + LONG_IDLE;
    }
    return pool;
}

/* Whether the client still wanted to use the connection that the server closed. There are two
 * signs: 1. The client wrote to the connection after the close. 2. The client closed the
 * connection, and then used other connections to the same server. The server had closed less than
 * half of these. */
static bool
is_missed(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    if (conn->end->written_after == SMCR_FIGURE_YES)
        return true;
    if (!conn->end->other_frame.frame)
        return false;
    pool_t pool = pool_of(finder, conn);
    return pool.later && pool.closed * 2 < pool.open;
}

/* Returns "; 19 other connections to this port were open": a server that stops, or its host, would
 * have closed them, too. "" if there were none. `open`: number of open connections, this one
 * among them. */
static const char *
others_open_text(wmem_allocator_t *scope, uint64_t open)
{
    if (open < 2)
        return "";
    return wmem_strdup_printf(scope, "; %s to this port %s open",
                              smcr_words_things(scope, open - 1, "other connection"),
                              open == 2 ? "was" : "were");
}

/* Returns the sentence about a connection that the server closed while it was idle. `count`: number
 * of such connections. */
static const char *
idle_close_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn, uint32_t count)
{
    wmem_allocator_t *scope = finder->scope;
    bool is_reported = conn->end->is_reported == SMCR_FIGURE_YES;
    const char *when =
        is_reported
            ? wmem_strdup_printf(scope, "before the netlink report of frame %" PRIu32,
                                 conn->end->frame.frame)
            : wmem_strdup_printf(scope, "after %s without data",
                                 smcr_words_duration(scope, idle_time(conn)));
    const char *use =
        conn->end->written_after == SMCR_FIGURE_YES ? "wrote to" : "closed";

    return wmem_strdup_printf(
        scope,
        "The server closed %s %s%s; the client %s this connection %s %s",
        smcr_words_connections(scope, conn, count), when,
        others_open_text(scope, pool_of(finder, conn).open), use,
        smcr_words_duration(scope, kept_after_close(finder, conn)),
        is_reported ? "after the report" : "later");
}

/* Finding: the server closes an idle connection, for example after a timeout or because a user ends
 * the session. The client, which keeps connections in a pool, notices the close when it uses the
 * connection: the request fails. The finding names the connection that the client kept longest. */
static void
find_idle_closes(smcr_finder_t *finder)
{
    const smcr_entry_connection_t *worst = NULL;
    const char *filter = "";
    wmem_array_t *frames = smcr_finder_frames(finder);
    uint32_t count = 0, examined = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!is_closed_while_idle(finder, conn) || examined++ >= MOST_EXAMINED ||
            !is_missed(finder, conn))
            continue;
        filter = smcr_finder_either(finder, filter,
                                    smcr_words_connection_filter(finder->scope, conn), count++);
        smcr_finder_frames_add(frames, conn->end->idle_frame);
        smcr_finder_frames_add(frames, conn->end->frame);
        smcr_finder_frames_add(frames, conn->end->other_frame);
        if (!worst || kept_after_close(finder, conn) > kept_after_close(finder, worst))
            worst = conn;
    }
    if (!count)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_IDLE_CLOSE,
                                           .count = count,
                                           .when = worst->end->frame,
                                           .frames = frames,
                                           .filter = filter ? filter : "smcr"},
                    "%s", idle_close_text(finder, worst, count));
}

/* Returns a display filter of the segments with RST. If only one connection of SMC-R was reset, the
 * filter is limited to this connection. `notice`: counts all connections of SMC-R that were
 * reset. */
static const char *
reset_filter(const smcr_finder_t *finder, const alike_conns_t *group,
             const smcr_figure_notice_t *notice)
{
    if (group->count != 1 || notice->count != 1 || group->first->tcp_stream == SMCR_FIGURE_UNKNOWN)
        return "tcp.flags.reset == 1";
    return wmem_strdup_printf(finder->scope, "tcp.stream == %" PRIu64 " && tcp.flags.reset == 1",
                              group->first->tcp_stream);
}

/* Returns the end that has reset all connections with the property: "the server"; "10.0.0.2" if it
 * is not known which end is the client; NULL: there are several, or one is not known. */
static const char *
end_of_resets(const smcr_finder_t *finder, property_t *has_property)
{
    const char *common = NULL;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!has_property(conn))
            continue;
        if (!conn->reset_by)
            return NULL;
        const char *end =
            smcr_words_end(finder->scope, conn, conn->reset_by == SMCR_FIGURE_ROLE_SERVER);
        if (common && strcmp(common, end) != 0)
            return NULL;
        common = end;
    }
    return common;
}

/* Returns "X, over TCP: TCP reset by the server", or "X, over TCP, ended with a TCP reset" if the
 * end is not known. `over`: "" or ", over TCP". */
static const char *
reset_text(const smcr_finder_t *finder, property_t *has_property, const alike_conns_t *group,
           const char *over)
{
    const char *by = end_of_resets(finder, has_property);
    const char *conns = group->count ? conns_text(finder, group) : "";

    if (!by)
        return wmem_strdup_printf(finder->scope, "%s%s%s ended with a TCP reset", conns, over,
                                  over[0] ? "," : "");
    return wmem_strdup_printf(finder->scope, "%s%s: TCP reset by %s", conns, over, by);
}

/* Returns text about RoCE packets that continued after the resets; "" if they did so for less than
 * half a second. A host that resets TCP ends SMC-R, too. So a middlebox may have sent the RST. */
static const char *
after_reset_text(const smcr_finder_t *finder, const smcr_figure_notice_t *notice)
{
    if (notice->went_on < 500 * SMCR_TIME_MILLISECOND)
        return "";
    return wmem_strdup_printf(finder->scope,
                              "; RoCE packets%s continued for %s after it: perhaps a middlebox "
                              "sent the reset", notice->count > 1 ? " of one connection" : "",
                              smcr_words_duration(finder->scope, notice->went_on));
}

/* Findings: TCP resets. A reset of a connection over RDMA ends the connection without the close
 * flags of CDC, so data may be lost: the finding has a high rank. A reset of a connection over TCP
 * has a low rank, since programs that end in a hurry send one. The second sentence leaves out "over
 * TCP" if the outcome of one of the connections is not known. */
static void
find_resets(smcr_finder_t *finder)
{
    smcr_figure_notice_t notice = smcr_finder_notice(finder, "tcp.flags.reset == 1");
    alike_conns_t group = gather_conns(finder, is_reset),
                  over_tcp = gather_conns(finder, is_tcp_reset);

    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_RESET,
                                           .count = group.count,
                                           .when = notice.first,
                                           .filter = reset_filter(finder, &group, &notice)},
                    "%s, without a CDC close%s%s%s%s", reset_text(finder, is_reset, &group, ""),
                    losses_text(finder, is_reset), after_reset_text(finder, &notice),
                    group.count ? icmp_text(finder, &group) : "",
                    group.count ? earlier_failure_text(finder, group.first, notice.first.frame)
                                : "");
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_TCP_RESET,
                                           .count = over_tcp.count,
                                           .when = group.count ? (smcr_when_t){0} : notice.first,
                                           .filter = reset_filter(finder, &over_tcp, &notice)},
                    "%s",
                    reset_text(finder, is_tcp_reset, &over_tcp,
                               gather_conns(finder, is_unsure_reset).count ? "" : ", over TCP"));
}

/* ---- handshakes ---- */

/* Makes one finding for all connections that have a property. `what`: the rest of the sentence. No
 * finding is made under a display filter of the report, which may hide later segments of the
 * handshakes. */
static void
find_alike(smcr_finder_t *finder, property_t *has_property, smcr_figure_finding_t kind,
           const char *what)
{
    alike_conns_t group = gather_conns(finder, has_property);

    if (group.count && !smcr_finder_is_filtered(finder))
        smcr_finder_add(
            finder,
            &(smcr_finder_facts_t){
                .kind = kind,
                .count = group.count,
                .when = group.first->first_frame,
                .frames = group.frames,
                .filter = filter_of_all(finder, &group, "(smcr.clc || tcp.flags.syn == 1)")},
            "%s%s%s", conns_text(finder, &group), what, icmp_text(finder, &group));
}

/* Whether `flow` is a TCP connection to the server of `conn` that begins later than `conn`, and on
 * which the server sends segments. */
static bool
answers_later(const smcr_entry_tcp_t *flow, const smcr_entry_connection_t *conn)
{
    return flow->first_time > conn->first_frame.time && smcr_figure_or_zero(flow->down.packets) &&
           strcmp(flow->dst, conn->server.addr) == 0;
}

/* Returns why the first unanswered SYN gets no answer, as the rest of a sentence; "" if no SYN is
 * unanswered. If the server sends segments on a later TCP connection, the server is alive. Then a
 * firewall discards SYNs with the option, or the accept queue of the server is full. */
static const char *
cause_of_silence(const smcr_finder_t *finder)
{
    const smcr_entry_connection_t *first = gather_conns(finder, is_unanswered).first;

    if (!first)
        return "";
    SMCR_FIGURE_EACH(tcp, flow, finder->report->tcp_flows)
        if (answers_later(flow, first))
            return wmem_strdup_printf(finder->scope,
                                      ": no answer to SYNs with the SMC-R option; %s answers other "
                                      "connections: a firewall, or a full accept queue",
                                      flow->dst);
    return ": no answer to SYNs with the SMC-R option: host down, or a firewall";
}

#define SOON (2 * SMCR_TIME_SECOND) /* shorter than the timeouts of CLC: a handshake may go on */

/* Returns why the outcome of handshakes is not known, as the rest of a sentence, if all of them
 * have the same reason: no RoCE packet after the CLC Confirm is recognized; or the capture ends
 * soon after their last packet. Else "". */
static const char *
cause_of_unknown(const smcr_finder_t *finder)
{
    uint64_t end = finder->report->capture.last_time, longest = 0;
    bool are_confirmed = true;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!is_unfinished(conn))
            continue;
        are_confirmed &= conn->setup.confirm_s != SMCR_FIGURE_UNKNOWN;
        longest = MAX(longest, end > conn->last_frame.time ? end - conn->last_frame.time : 0);
    }
    if (are_confirmed)
        return "; no RoCE packet after the CLC Confirm is recognized";
    if (end == SMCR_FIGURE_UNKNOWN || longest >= SOON)
        return "";
    if (longest < SMCR_TIME_MILLISECOND)
        return "; the capture ends with the last packet";
    return wmem_strdup_printf(finder->scope, "; the capture ends %s after the last packet",
                              smcr_words_duration(finder->scope, longest));
}

void
smcr_finding_on_connections(smcr_finder_t *finder)
{
    find_aborted(finder);
    find_idle_closes(finder);
    find_resets(finder);
    find_fallbacks(finder);
    find_alike(finder, is_over_too_soon, SMCR_FIGURE_FOUND_NO_OPTION,
               " stayed on TCP: TCP ended before CLC");
    find_alike(finder, is_not_offered, SMCR_FIGURE_FOUND_NO_OPTION,
               " stayed on TCP: the client's SYN has no SMC-R option");
    find_alike(finder, is_refused, SMCR_FIGURE_FOUND_NO_CONNECTION,
               ": connection refused: no listener, or a firewall");
    find_alike(finder, is_unanswered, SMCR_FIGURE_FOUND_NO_CONNECTION, cause_of_silence(finder));
    find_alike(finder, is_unfinished, SMCR_FIGURE_FOUND_HANDSHAKE_UNFINISHED,
               wmem_strdup_printf(finder->scope, ": handshake outcome unknown%s",
                                  cause_of_unknown(finder)));
}
