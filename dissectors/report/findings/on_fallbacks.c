/* Findings about fallbacks to TCP: a Decline, a SYN-ACK without the SMC-R option, or TCP data
 * instead of CLC messages (RFC 7609, 3.5.1).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "subjects.h"

#include "report/findings/finder/alike.h"
#include "report/findings/finder/causes.h"
#include "report/words/words.h"
#include "wire/wire.h"

#define MOST_REASONS 3 /* number of fallback reasons that get a finding of their own; all other
                          reasons share one finding */

/* End of a sentence: why the SMC-R option may be missing, or why no Proposal comes after the
 * option. Index: the sign of the cause in the SYN or SYN-ACK. Linux uses no SMC-R on a socket with
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
        bool is_new = group && conn->outcome == SMCR_FIGURE_OUTCOME_SMCR && conn->server.addr &&
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
                                  "; likely cause: no common EID; the client offers %s, the server "
                                  "uses %s (agreed with %s in frame %" PRIu32 ")",
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
 * diagnosis code or, if there is no code, a sign in the SYN; "" if none is known. A client that
 * reports no device may have a device that only SMC-Rv2 can use: Linux offers SMC-Rv2 over IPv4
 * only, and only with an EID (smc_find_proposal_devices()). */
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
    return is_ipv6 ? "; over IPv6 Linux offers no SMC-Rv2" : ", or no EID is defined on the client";
}

/* Adds the connection to the group of connections that fell back for the same reason: equal
 * diagnosis code, side, text, other cause (other_cause()) and consequence
 * (smcr_finding_is_broken_by_option()). Makes the group if there is none. compare_groups() asks
 * only the first connection of a group for its severity, so whatever decides the severity has to be
 * a part of the key. */
static void
add_fallback(const smcr_finder_t *finder, wmem_map_t *by_reason, wmem_array_t *groups,
             const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_fallback_t *fallback = conn->fallback;
    const char *side = fallback->by ? smcr_figure_role_words[fallback->by] : "";
    const char *reason = fallback->reason ? fallback->reason : "";
    const char *key = wmem_strdup_printf(finder->scope, "%" PRIu64 " %d %s %s%s", fallback->code,
                                         smcr_finding_is_broken_by_option(conn), side, reason,
                                         other_cause(finder, conn));
    uintptr_t place = (uintptr_t)wmem_map_lookup(by_reason, key);

    if (!place) {
        smcr_finding_alike_t group = {.first = conn, .frames = smcr_finder_frames(finder)};
        wmem_array_append_one(groups, group);
        place = wmem_array_get_count(groups);
        wmem_map_insert(by_reason, key, (void *)place);
    }
    smcr_finding_alike_t *group = wmem_array_index(groups, (unsigned)place - 1);
    smcr_finder_frames_add(group->frames, fallback->frame);
    group->streams = smcr_finder_either(
        finder, group->streams, smcr_words_connection_filter(finder->scope, conn), group->count++);
}

/* Whether something failed with the fallback of the connection: RoCE packets did not arrive
 * although the peers had agreed on SMC-R (smcr_finding_is_timeout()), or the connection failed
 * (smcr_finding_is_broken_by_option()). Else a peer may have declined SMC-R, and the program gets
 * its data over TCP. */
static bool
is_failure(const smcr_entry_connection_t *conn)
{
    return smcr_finding_is_timeout(conn->fallback->code) || smcr_finding_is_broken_by_option(conn);
}

/* Returns the severity of a fallback. */
static smcr_figure_severity_t
severity_of_fallback(const smcr_entry_connection_t *conn)
{
    return is_failure(conn) ? SMCR_FIGURE_WARN : SMCR_FIGURE_NOTE;
}

/* Returns the rank of a fallback: a failure (is_failure()) or a risk. */
static smcr_finding_rank_t
rank_of_fallback(const smcr_entry_connection_t *conn)
{
    return is_failure(conn) ? SMCR_FINDING_BY_FALLBACK : SMCR_FINDING_BY_DECLINE;
}

/* Returns "; the server reset it and sent no data: the connection failed"; "" if the connections of
 * the group did not fail (smcr_finding_is_broken_by_option()). */
static const char *
broken_text(const smcr_finding_alike_t *group)
{
    if (!smcr_finding_is_broken_by_option(group->first))
        return "";
    return group->count == 1
               ? "; the server reset it and sent no data: the connection failed"
               : "; the server reset all of them and sent no data: the connections failed";
}

/* Returns the reason of the fallback of connections, as the rest of a sentence. A timeout, or RDMA
 * buffers that the peer does not confirm, may be the consequence of an earlier failure of RoCE.
 * Then the text has this failure in place of other causes. */
static const char *
fallback_text(const smcr_finder_t *finder, const smcr_finding_alike_t *group)
{
    const smcr_entry_conn_fallback_t *fallback = group->first->fallback;
    bool needs_roce = smcr_finding_is_timeout(fallback->code) ||
                      fallback->code == SMCR_CLC_DECLINE_REGISTER;
    const char *reason = fallback->reason ? fallback->reason : "reason unknown";
    const char *failure =
        needs_roce ? smcr_finding_flow_failed_text(finder, group->first, fallback->frame.frame)
                   : "";

    if (*failure)
        return wmem_strdup_printf(finder->scope, "%.*s%s", (int)strcspn(reason, ";"), reason,
                                  failure);
    return wmem_strdup_printf(
        finder->scope, "%s%s%s", reason, other_cause(finder, group->first),
        smcr_finding_is_timeout(fallback->code) ? smcr_finding_alike_icmp_text(finder, group) : "");
}

/* Finding: fallback to TCP for one reason. The option in the SYN offers SMC-R. Then one of three
 * events ends the negotiation (RFC 7609, 3.5.1): a Decline, a SYN-ACK without the option, or TCP
 * data instead of CLC messages. If none of them is captured, a host may have reported the
 * fallback over netlink. The sentence has the text of the diagnosis code, and another possible
 * cause. If RoCE packets did not arrive, the sentence also has ICMP errors. */
static void
find_fallback(smcr_finder_t *finder, const smcr_finding_alike_t *group)
{
    const smcr_entry_conn_fallback_t *fallback = group->first->fallback;
    bool stayed = group->first->outcome == SMCR_FIGURE_OUTCOME_TCP;

    smcr_finder_add_as(
        finder, severity_of_fallback(group->first),
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_FALLBACK,
                               .count = group->count,
                               .when = fallback->frame,
                               .frames = group->frames,
                               .rank = rank_of_fallback(group->first),
                               .filter = smcr_finding_alike_filter(finder, group, "smcr.fallback")},
        "%s %s: %s%s", smcr_finding_alike_text(finder, group),
        stayed ? "stayed on TCP" : "fell back to TCP", fallback_text(finder, group),
        broken_text(group));
}

/* Compares two reasons of fallbacks for sorting. The more severe reason comes first, then the
 * reason with more connections, then the reason with the earlier frame. Returns -1 if `one` comes
 * first. */
static int
compare_groups(const void *one, const void *other)
{
    const smcr_finding_alike_t *a = one, *b = other;
    smcr_figure_severity_t grave = severity_of_fallback(a->first);
    smcr_figure_severity_t other_grave = severity_of_fallback(b->first);

    if (grave != other_grave)
        return grave > other_grave ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->first->fallback->frame.frame < b->first->fallback->frame.frame ? -1 : 1;
}

/* Makes one finding for all reasons from index `from` of `groups` on; none if there are no such
 * reasons. */
static void
find_other_fallbacks(smcr_finder_t *finder, wmem_array_t *groups, unsigned from)
{
    unsigned reasons = wmem_array_get_count(groups);
    smcr_when_t first = {0};
    uint32_t count = 0;

    for (unsigned i = from; i < reasons; i++) {
        const smcr_finding_alike_t *group = wmem_array_index(groups, i);
        first = smcr_figure_when_earlier(first, group->first->fallback->frame);
        count += group->count;
    }
    if (!count)
        return;
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_FALLBACK,
                               .count = count,
                               .when = first,
                               .rank = SMCR_FINDING_BY_DECLINE,
                               .filter = "smcr.fallback"},
        "%s fell back to TCP, for %s",
        smcr_words_connections(
            finder->scope, ((smcr_finding_alike_t *)wmem_array_index(groups, from))->first, count),
        smcr_words_things(finder->scope, reasons - from, "other reason"));
}

/* Makes a finding for each of the first MOST_REASONS reasons in the order of compare_groups(), and
 * one finding for all other reasons. If only one other reason is left, it gets a finding of its
 * own, too. */
void
smcr_finding_on_fallbacks(smcr_finder_t *finder)
{
    wmem_map_t *by_reason = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);
    wmem_array_t *groups = wmem_array_new(finder->scope, sizeof(smcr_finding_alike_t));

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
