/* Findings about the beginning of connections: TCP without the SMC-R option, a refused connection,
 * no answer, a handshake whose outcome is not known; TCP ends a handshake of CLC that has begun
 * (RFC 7609, 3.5.1); and what a fallback cost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "subjects.h"

#include "report/findings/finder/alike.h"
#include "report/words/words.h"
#include "wire/wire.h"

/* ---- connections that are alike ---- */

/* Predicates for smcr_finding_alike_gather(). */
#define ENDED (SMCR_FINDING_CLOSE(RESET) || SMCR_FINDING_CLOSE(NORMAL))
SMCR_FINDING_IS(over_too_soon, SMCR_FINDING_OUTCOME(TCP) && !conn->fallback && ENDED)
SMCR_FINDING_IS(not_offered, SMCR_FINDING_OUTCOME(TCP) && !conn->fallback && !ENDED)
SMCR_FINDING_IS(unanswered, !SMCR_FINDING_CLOSE(RESET) && SMCR_FINDING_OUTCOME(NO_CONNECTION))
SMCR_FINDING_IS(unfinished, SMCR_FINDING_OUTCOME(UNKNOWN) && conn->began_before == SMCR_FIGURE_NO &&
                                conn->tcp_stream != SMCR_FIGURE_UNKNOWN)

/* Returns the frame to look at: the RST of a refused connection, which is its last frame; the SYN
 * of any other connection. */
static smcr_when_t
when_of(const smcr_entry_connection_t *conn)
{
    return smcr_finding_is_refused(conn) ? conn->last_frame : conn->first_frame;
}

/* Makes one finding for all connections that have a property. `what`: the rest of the sentence. No
 * finding is made under a display filter of the report, which may hide later segments of the
 * handshakes. */
static void
find_alike(smcr_finder_t *finder, smcr_finding_property_t *has_property, smcr_figure_finding_t kind,
           const char *what)
{
    smcr_finding_alike_t group = smcr_finding_alike_gather(finder, has_property);

    if (group.count && !smcr_finder_is_filtered(finder))
        smcr_finder_add(
            finder,
            &(smcr_finder_facts_t){.kind = kind,
                                   .count = group.count,
                                   .when = when_of(group.first),
                                   .frames = group.frames,
                                   .filter = smcr_finding_alike_filter(
                                       finder, &group, "(smcr.clc || tcp.flags.syn == 1)")},
            "%s%s%s", smcr_finding_alike_text(finder, &group), what,
            smcr_finding_alike_icmp_text(finder, &group));
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
    const smcr_entry_connection_t *first = smcr_finding_alike_gather(finder, is_unanswered).first;

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

/* Whether only RoCE packets of the connection are known, and it may have begun in the capture:
 * then its CLC messages are missing or truncated. */
static bool
is_unnamed(const smcr_entry_connection_t *conn)
{
    bool is_of_roce = conn->outcome == SMCR_FIGURE_OUTCOME_SMCR && !conn->client.addr &&
                      conn->tcp_stream == SMCR_FIGURE_UNKNOWN;

    return is_of_roce && conn->began_before != SMCR_FIGURE_YES;
}

/* Returns text about unnamed connections (is_unnamed()): they are probably the connections of which
 * only the handshake is known. Returns "" if there is no unnamed connection. Returns "" also if the
 * CLC messages of an unfinished handshake have alert tokens: they are not truncated then, and the
 * tokens would have assigned the RoCE packets to the connection. */
static const char *
unnamed_text(const smcr_finder_t *finder)
{
    const smcr_entry_connection_t *first = NULL;
    uint64_t count = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (is_unfinished(conn) && (conn->tokens.client || conn->tokens.server))
            return "";
        if (is_unnamed(conn) && !count++)
            first = conn;
    }
    if (!count)
        return "";
    return wmem_strdup_printf(finder->scope,
                              ", since CLC messages are truncated; probably the same as %s",
                              smcr_words_connections(finder->scope, first, count));
}

/* Whether only one direction of the TCP connection is captured. */
static bool
has_one_direction(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    SMCR_FIGURE_EACH(tcp, flow, finder->report->tcp_flows)
        if (flow->tcp_stream == conn->tcp_stream)
            return !smcr_figure_or_zero(flow->up.packets) ||
                   !smcr_figure_or_zero(flow->down.packets);
    return false;
}

#define SOON (2 * SMCR_TIME_SECOND) /* nanoseconds; shorter than the timeouts of CLC: if the capture
                                       ends sooner after the last packet of a handshake, the
                                       handshake may have continued */

/* Returns "; the capture ends 39 ms after the last packet": `longest`, nanoseconds, from the last
 * packet of a handshake to the end of the capture. If this is less than a millisecond: "; the
 * capture ends with the last packet". "" if `longest` is SOON or more: then the end of the capture
 * does not explain the unknown outcome. "" also if the end of the capture is not known. */
static const char *
end_of_capture_text(const smcr_finder_t *finder, uint64_t longest)
{
    if (finder->report->capture.last_time == SMCR_FIGURE_UNKNOWN || longest >= SOON)
        return "";
    if (longest < SMCR_TIME_MILLISECOND)
        return "; the capture ends with the last packet";
    return wmem_strdup_printf(finder->scope, "; the capture ends %s after the last packet",
                              smcr_words_duration(finder->scope, longest));
}

/* Returns why the outcome of handshakes is not known, as the rest of a sentence, if all of them
 * have the same reason: no RoCE packet after the CLC Confirm is recognised; only one direction of
 * TCP is captured; or the capture ends soon after their last packet. Else "". */
static const char *
cause_of_unknown(const smcr_finder_t *finder)
{
    uint64_t end = finder->report->capture.last_time, longest = 0;
    bool are_confirmed = true, are_halves = true;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!is_unfinished(conn))
            continue;
        are_halves = are_halves && has_one_direction(finder, conn);
        are_confirmed &= conn->setup.confirm_s != SMCR_FIGURE_UNKNOWN;
        longest = MAX(longest, end > conn->last_frame.time ? end - conn->last_frame.time : 0);
    }
    if (are_confirmed)
        return wmem_strdup_printf(finder->scope,
                                  "; no RoCE packet after the CLC Confirm is recognised%s",
                                  unnamed_text(finder));
    if (are_halves)
        return "; only one direction of TCP is captured";
    return end_of_capture_text(finder, longest);
}

/* ---- TCP ends the handshake ---- */

/* Connections whose handshakes ended in the same way. */
typedef struct {
    const char *key;                      /* the way in which the handshakes ended, as text */
    uint32_t count;                       /* number of connections */
    const smcr_entry_connection_t *first; /* the connection with the lowest index */
    const char *streams;                  /* display filter of all these connections; NULL: too many
                                             connections for one filter */
    wmem_array_t *frames;                 /* of each connection: its first frame, the frame of its
                                             last CLC message, and the frame in which its handshake
                                             ended */
} failed_conns_t;

/* Returns the side that sent the last CLC message: the server sends the Accept. */
static smcr_figure_role_t
sender_of_step(const smcr_entry_conn_handshake_end_t *end)
{
    return end->step == SMCR_FIGURE_STEP_ACCEPT ? SMCR_FIGURE_ROLE_SERVER
                                                : SMCR_FIGURE_ROLE_CLIENT;
}

/* Returns the time from the last CLC message to the end of the handshake, as text. */
static const char *
waited_text(const smcr_finder_t *finder, const smcr_entry_conn_handshake_end_t *end)
{
    uint64_t waited = smcr_figure_or_zero(smcr_figure_time_between(end->from_frame, end->frame));

    return smcr_words_duration(finder->scope, waited);
}

/* Returns the last CLC message with its sender: "the client's CLC Proposal (frame 4)"; "its CLC
 * Proposal (frame 4)" if the sender is the subject of the sentence. */
static const char *
step_text(const smcr_finder_t *finder, const smcr_entry_conn_handshake_end_t *end)
{
    smcr_figure_role_t sender = sender_of_step(end);
    const char *whose = sender == SMCR_FIGURE_ROLE_CLIENT ? "the client's" : "the server's";

    if (end->by == sender)
        whose = "its";

    return wmem_strdup_printf(finder->scope, "%s CLC %s (frame %" PRIu32 ")", whose,
                              smcr_figure_clc_step_words[end->step], end->from_frame.frame);
}

/* Returns why a server may end the connection after the Proposal without any answer, although its
 * SYN-ACK has the option; "" in all other cases. */
static const char *
doubt_of_server(const smcr_entry_conn_handshake_end_t *end)
{
    bool by_server = end->by == SMCR_FIGURE_ROLE_SERVER && !end->answer;

    return by_server && end->step == SMCR_FIGURE_STEP_PROPOSAL
               ? ": the server only reflects the SMC-R option, or a firewall ended the connection"
               : "";
}

/* Whether the server of `conn` sends segments on a TCP connection that began after the first
 * transmission of the last CLC message of `conn`. */
static bool
answers_elsewhere(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    uint64_t since = conn->handshake_end->from_frame.time;

    SMCR_FIGURE_EACH(tcp, flow, finder->report->tcp_flows) {
        bool answers = smcr_figure_or_zero(flow->down.packets) && flow->first_time > since;
        if (answers && conn->server.addr && strcmp(flow->dst, conn->server.addr) == 0)
            return true;
    }
    return false;
}

/* Whether the server of `conn` has retransmitted a segment. If the server acknowledged nothing,
 * this segment is the SYN-ACK. */
static bool
repeats_syn_ack(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    SMCR_FIGURE_EACH(tcp, flow, finder->report->tcp_flows) {
        if (flow->tcp_stream != conn->tcp_stream)
            continue;
        bool is_dst = conn->server.addr && strcmp(flow->dst, conn->server.addr) == 0;
        return smcr_figure_or_zero((is_dst ? &flow->down : &flow->up)->repeated_segments) != 0;
    }
    return false;
}

/* Returns why the receiver may never have acknowledged the last CLC message. The Proposal is the
 * client's first data. A server does not acknowledge it if the server's accept queue is full: the
 * program does not accept connections as fast as they come. Linux then discards the ACK of TCP's
 * handshake and the client's data, and retransmits its SYN-ACK, unless it has sent a SYN cookie. So
 * a host that does not answer may be alive, and have received the Proposal each time. */
static const char *
why_unacknowledged(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    if (conn->handshake_end->step == SMCR_FIGURE_STEP_PROPOSAL && repeats_syn_ack(finder, conn))
        return "the server retransmitted its SYN-ACK, so its accept queue is full, or the client's "
               "segments are lost on the path";
    if (!answers_elsewhere(finder, conn))
        return "lost on the path, or host down";
    return conn->handshake_end->step == SMCR_FIGURE_STEP_PROPOSAL
               ? "lost on the path, or the accept queue of the server's program is full, since "
                 "this host answers other connections"
               : "lost on the path, since this host answers other connections";
}

/* Returns text that says how often the CLC message was sent without an acknowledgement, and which
 * cause this shows. */
static const char *
unacknowledged_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_handshake_end_t *end = conn->handshake_end;

    return wmem_strdup_printf(
        finder->scope, "the %s never acknowledged %s, sent %" PRIu64 " times in %s: %s",
        smcr_figure_role_words[end->by], step_text(finder, end), end->sent,
        waited_text(finder, end), why_unacknowledged(finder, conn));
}

/* Returns the part of the sentence that says whether the last CLC message was acknowledged and
 * answered. */
static const char *
fate_text(const smcr_finder_t *finder, const smcr_entry_conn_handshake_end_t *end)
{
    if (end->acknowledged != SMCR_FIGURE_YES)
        return "TCP did not acknowledge the message";
    return end->answer ? wmem_strdup_printf(finder->scope, "the answer to it was %s", end->answer)
                       : "TCP acknowledged the message, but no CLC answer came";
}

/* Returns the rest of the sentence: how the handshake ended. */
static const char *
end_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_handshake_end_t *end = conn->handshake_end;
    const char *by = smcr_figure_role_words[end->by];

    switch (end->kind) {
    case SMCR_FIGURE_HANDSHAKE_UNACKNOWLEDGED:
        return unacknowledged_text(finder, conn);
    case SMCR_FIGURE_HANDSHAKE_OTHER_DATA:
        return wmem_strdup_printf(finder->scope,
                                  "the server answered %s with %s: it has no SMC-R, and its "
                                  "SYN-ACK only reflects the option of the SYN",
                                  step_text(finder, end), end->answer ? end->answer : "other data");
    default:
        return wmem_strdup_printf(
            finder->scope, "the %s %s the connection %s after %s; %s%s", by,
            end->kind == SMCR_FIGURE_HANDSHAKE_RESET ? "reset" : "closed",
            waited_text(finder, end), step_text(finder, end), fate_text(finder, end),
            doubt_of_server(end));
    }
}

/* Returns the group of connections whose handshakes ended in the same way as the handshake of
 * `conn`: equal kind of end, side, last CLC message, acknowledgement and answer. Makes the group if
 * there is none. */
static failed_conns_t *
group_of(const smcr_finder_t *finder, wmem_array_t *groups, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_handshake_end_t *end = conn->handshake_end;
    const char *key = wmem_strdup_printf(finder->scope, "%u %u %u %d %s", end->kind, end->by,
                                         end->step, end->acknowledged,
                                         end->answer ? end->answer : "");

    for (unsigned i = 0; i < wmem_array_get_count(groups); i++) {
        failed_conns_t *group = wmem_array_index(groups, i);
        if (strcmp(group->key, key) == 0)
            return group;
    }
    failed_conns_t group = {.key = key, .first = conn, .frames = smcr_finder_frames(finder)};
    wmem_array_append_one(groups, group);
    return wmem_array_index(groups, wmem_array_get_count(groups) - 1);
}

/* Finding: handshakes of CLC that TCP has ended. The connections fail: neither SMC-R nor TCP
 * carries data. Each way of ending has a finding of its own. */
static void
find_failed(smcr_finder_t *finder)
{
    wmem_array_t *groups = wmem_array_new(finder->scope, sizeof(failed_conns_t));

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!conn->handshake_end)
            continue;
        failed_conns_t *group = group_of(finder, groups, conn);
        const char *stream =
            wmem_strdup_printf(finder->scope, "tcp.stream == %" PRIu64, conn->tcp_stream);
        group->streams = smcr_finder_either(finder, group->streams, stream, group->count++);
        smcr_finder_frames_add(group->frames, conn->first_frame);
        smcr_finder_frames_add(group->frames, conn->handshake_end->from_frame);
        smcr_finder_frames_add(group->frames, conn->handshake_end->frame);
    }
    for (unsigned i = 0; i < wmem_array_get_count(groups); i++) {
        const failed_conns_t *group = wmem_array_index(groups, i);
        uint32_t frame = group->first->handshake_end->frame.frame;
        const char *filter = group->streams;
        if (!filter)
            filter = wmem_strdup_printf(finder->scope, "smcr.clc || frame.number == %" PRIu32,
                                        frame);
        smcr_finder_add(
            finder,
            &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_HANDSHAKE_FAILED,
                                   .count = group->count,
                                   .when = group->first->handshake_end->frame,
                                   .frames = group->frames,
                                   .filter = filter},
            "%s failed: %s%s",
            smcr_words_connections(finder->scope, group->first, group->count),
            end_text(finder, group->first),
            smcr_finder_undelivered(finder, group->first->client.addr, group->first->server.addr));
    }
}

/* ---- the cost of a fallback ---- */

uint64_t
smcr_finding_fallback_time(const smcr_entry_connection_t *conn)
{
    return smcr_figure_or_zero(conn->setup.fallback_s);
}

/* Steps after the first one that is not known are not named: their time counts as one step, up to
 * the fallback. The fallback took more than 0 ns. */
const char *
smcr_finding_step_before_fallback(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    const smcr_entry_conn_setup_t *setup = &conn->setup;
    uint64_t all = smcr_finding_fallback_time(conn);
    const struct {
        uint64_t time;       /* time of the step, nanoseconds */
        const char *name;    /* the step */
        const char *end;     /* the CLC message that ends the step */
    } steps[] = {{setup->tcp_s, "from the SYN to the CLC Proposal", "Proposal"},
                 {setup->accept_s, "from the CLC Proposal to the Accept", "Accept"},
                 {setup->confirm_s, "from the CLC Accept to the Confirm", "Confirm"}};
    const char *longest = NULL, *last = NULL;
    uint64_t time = 0, rest = all;

    for (unsigned i = 0; i < G_N_ELEMENTS(steps) && steps[i].time != SMCR_FIGURE_UNKNOWN; i++) {
        if (steps[i].time > time)
            longest = steps[i].name;
        time = MAX(time, steps[i].time);
        rest -= MIN(rest, steps[i].time);
        last = steps[i].end;
    }
    if (!last)
        return "longest step not known";
    if (rest > time)
        longest = wmem_strdup_printf(finder->scope, "from the CLC %s to the fallback", last);
    return wmem_strdup_printf(finder->scope, "longest step: %s, %s", longest,
                              smcr_words_duration(finder->scope, MAX(time, rest)));
}

/* Finding: both sides declined. Linux sends no Decline after it has read one. So each side sent its
 * Decline before it read the peer's Decline, and continues with TCP. The next bytes on TCP are the
 * peer's Decline: the program gets it as application data. */
static void
find_two_declines(smcr_finder_t *finder)
{
    const smcr_entry_connection_t *first = NULL;
    const char *filter = NULL;
    wmem_array_t *frames = smcr_finder_frames(finder);
    uint32_t count = 0;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!conn->fallback || !conn->fallback->crossed_frame.frame)
            continue;
        first = first ? first : conn;
        smcr_finder_frames_add(frames, conn->fallback->frame);
        smcr_finder_frames_add(frames, conn->fallback->crossed_frame);
        filter = smcr_finder_either(finder, filter,
                                    smcr_words_connection_filter(finder->scope, conn), count++);
    }
    if (!count)
        return;
    const smcr_entry_conn_fallback_t *fallback = first->fallback;
    bool by_client = fallback->by == SMCR_FIGURE_ROLE_CLIENT;
    uint64_t later = smcr_figure_or_zero(
        smcr_figure_time_between(fallback->frame, fallback->crossed_frame));
    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_TWO_DECLINES,
                               .count = count,
                               .when = fallback->crossed_frame,
                               .frames = frames,
                               .filter = filter ? filter : "smcr.clc.type == 4"},
        "%s: the %s declined, and %s later the %s (frame %" PRIu32 "): each program gets the "
        "peer's Decline as application data",
        smcr_words_connections(finder->scope, first, count), by_client ? "client" : "server",
        smcr_words_duration(finder->scope, later), by_client ? "server" : "client",
        fallback->crossed_frame.frame);
}

/* Maximum number of connections in a link group of Linux (SMC_RMBS_PER_LGR_MAX, smc_core.h). */
#define CONNS_PER_GROUP 255

/* Whether `other` has the same client and the same server as `conn`, and is open when `conn` falls
 * back. False if an address of `conn` is not known. */
static bool
is_open_at_fallback(const smcr_entry_connection_t *conn, const smcr_entry_connection_t *other)
{
    uint32_t frame = conn->fallback->frame.frame;
    bool is_open = other->first_frame.frame < frame && other->last_frame.frame > frame;

    return is_open && conn->server.addr && conn->client.addr &&
           g_strcmp0(conn->server.addr, other->server.addr) == 0 &&
           g_strcmp0(conn->client.addr, other->client.addr) == 0;
}

/* Returns the largest number of connections that a link group between the hosts of `conn` has when
 * `conn` falls back. */
static unsigned
most_open_at_fallback(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    unsigned most = 0;

    SMCR_FIGURE_EACH(link_group, group, finder->report->link_groups) {
        unsigned open = 0;
        SMCR_FIGURE_EACH(connection, other, finder->report->connections)
            open += other->link_group == group->index && is_open_at_fallback(conn, other);
        most = MAX(most, open);
    }
    return most;
}

/* Whether the capture has a connection with an address that is not known: it may be a connection
 * between any hosts. */
static bool
has_unnamed_connection(const smcr_finder_t *finder)
{
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections)
        if (!conn->server.addr || !conn->client.addr)
            return true;
    return false;
}

/* Linux reports an internal error if it cannot create a link group or the first link of one, unless
 * memory is missing (smc_lgr_create(), net/smc/smc_core.c). It creates a link group if the two
 * hosts have none, or if their link group is full. A full link group may have more connections than
 * the capture shows. */
const char *
smcr_finding_internal_error_text(const smcr_finder_t *finder, const smcr_entry_connection_t *conn)
{
    unsigned open = most_open_at_fallback(finder, conn);

    if (open >= CONNS_PER_GROUP)
        return "; the link group is full (255 connections): perhaps no queue pair is left for "
               "a new one";
    if (open || has_unnamed_connection(finder))
        return "; perhaps no queue pair is left";
    return "; perhaps no queue pair is left for a new link group";
}

/* The order of the calls matters only for findings that compare_found() cannot order otherwise. */
void
smcr_finding_on_handshakes(smcr_finder_t *finder)
{
    find_alike(finder, is_over_too_soon, SMCR_FIGURE_FOUND_NO_OPTION,
               " stayed on TCP: TCP ended before CLC");
    find_alike(finder, is_not_offered, SMCR_FIGURE_FOUND_NO_OPTION,
               " stayed on TCP: the client's SYN has no SMC-R option");
    find_alike(finder, smcr_finding_is_refused, SMCR_FIGURE_FOUND_NO_CONNECTION,
               ": connection refused: no listener, or a firewall");
    find_alike(finder, is_unanswered, SMCR_FIGURE_FOUND_NO_CONNECTION, cause_of_silence(finder));
    find_alike(finder, is_unfinished, SMCR_FIGURE_FOUND_HANDSHAKE_UNFINISHED,
               wmem_strdup_printf(finder->scope, ": handshake outcome unknown%s",
                                  cause_of_unknown(finder)));
    find_failed(finder);
    find_two_declines(finder);
}
