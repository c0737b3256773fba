/* Findings about silence: packets are retransmitted, and nothing comes back. A dead host, a dead
 * path and a queue pair in error look the same on one queue pair. Packets that the same host sends
 * elsewhere distinguish these causes, so each sentence names other packets of the host that were
 * captured. This file also has the finding of packets that are too big for the path, which get no
 * answer, either.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "subjects.h"

#include "report/findings/finder/causes.h"
#include "report/words/words.h"
#include "wire/wire.h"

/* A silence that ended before this time, in nanoseconds, is a note: applications survive it. A host
 * that is silent for a shorter time at the end of the capture has not stopped answering. */
#define SHORT_SILENCE SMCR_TIME_SECOND

/* All flows to one host that got no answer. The side of a link group counts as one host, even if it
 * has several addresses. */
typedef struct {
    const smcr_entry_rdma_t *flow;            /* the flow that got no answer for the longest
                                                 time */
    const smcr_entry_flow_silence_t *silence; /* the longest time without an answer */
    const smcr_entry_rdma_t *other;           /* another flow, to another address of the host, that
                                                 got no answer at the same time; NULL: none */
    const smcr_entry_flow_silence_t *other_silence; /* its time without an answer; set with
                                                       `other` */
    uint64_t count;                           /* number of long silences, of all flows */
    uint32_t flows;                           /* number of flows that have them */
} silent_host_t;

/* Returns how long the silence lasted, nanoseconds; 0 if the clock of the capture went back. */
static uint64_t
length_of(const smcr_entry_flow_silence_t *silence)
{
    uint64_t begin = silence->begin_frame.time, end = silence->end_frame.time;

    return end > begin ? end - begin : 0;
}

/* ---- packets that are too big for the path ---- */

/* RoCE packets are never fragmented (DF), so a switch or router with a smaller MTU discards them.
 * It may send an ICMP error, or nothing. */

/* Size of an IP packet, bytes, that each path of IPv6 carries (RFC 8200, 5), and each Ethernet path
 * of IPv4, too. */
#define EVERY_PATH_CARRIES 1280

/* Returns text that advises to check the path MTU, if a request that is never acknowledged is
 * larger than all packets that have arrived at the destination host. Returns "" if no request is
 * stuck, if its size is not known, if every path carries such a size, if RNR NAKs refuse the
 * request, if no packet was acknowledged, and under a display filter of the report, which may hide
 * larger packets. Nothing proves that a smaller packet would have arrived at that time
 * (smcr_finding_flow_is_too_big() does). */
static const char *
flow_size_hint(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_stuck_t *stuck = flow->stuck;
    uint64_t arrived = smcr_figure_or_zero(flow->acked_longest);

    if (!stuck || stuck->length == SMCR_FIGURE_UNKNOWN || smcr_finder_is_filtered(finder))
        return "";
    if (stuck->length <= EVERY_PATH_CARRIES)
        return "";
    if (!arrived || stuck->rnr_naks ||
        stuck->length <= smcr_finding_flow_longest_arrived(finder, flow))
        return "";
    return wmem_strdup_printf(finder->scope,
                              "; the receiver acknowledged packets up to %s bytes, and none above: "
                              "check the path MTU, too", smcr_words_number(finder->scope, arrived));
}

/* Returns the beginning of the sentence: "a packet of 4,156 bytes did not arrive". If these
 * packets are missing in the capture: "16 packets before frame 74 are not captured, and did not
 * arrive". */
static const char *
subject_text(const smcr_finder_t *finder, const smcr_entry_flow_stuck_t *stuck)
{
    if (stuck->length != SMCR_FIGURE_UNKNOWN)
        return wmem_strdup_printf(finder->scope, "a packet of %s did not arrive",
                                  smcr_words_things(finder->scope, stuck->length, "byte"));
    return wmem_strdup_printf(finder->scope, "%s before frame %" PRIu32
                              " %s not captured, and did not arrive",
                              smcr_words_things(finder->scope, stuck->missing, "packet"),
                              stuck->begin_frame.frame, stuck->missing == 1 ? "is" : "are");
}

/* Returns "check the path MTU (RoCE MTU: 4,096 bytes)"; "check the path MTU" if the RoCE MTU
 * is not known. */
static const char *
question_text(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    uint64_t mtu = smcr_finding_flow_mtu(finder, flow);

    if (!mtu)
        return "check the path MTU";
    return wmem_strdup_printf(finder->scope, "check the path MTU (RoCE MTU: %s bytes)",
                              smcr_words_number(finder->scope, mtu));
}

/* Finding: only packets above a certain size are lost. The sender retransmits one request many
 * times. A NAK of the receiver proves that a later, smaller request arrived. No packet as large as
 * the request has ever been acknowledged between the two hosts in this direction. */
static void
find_too_big(smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_stuck_t *stuck = flow->stuck;
    uint64_t lasted = smcr_figure_or_zero(
        smcr_figure_time_between(stuck->begin_frame, stuck->end_frame));

    smcr_finder_add(
        finder,
        &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_PATH_MTU,
                               .count = stuck->tries,
                               .when = stuck->begin_frame,
                               .begin = stuck->begin_frame,
                               .end = stuck->end_frame,
                               .frames = SMCR_FINDER_FRAMES(finder, stuck->end_frame),
                               .filter = "smcr.nak || smcr.retransmission",
                               .cost = lasted},
        "%s: %s in %" PRIu64 " tries over %s; packets up to %s bytes arrived: %s%s",
        smcr_words_hosts(finder->scope, flow->src, flow->dst), subject_text(finder, stuck),
        stuck->tries, smcr_words_duration(finder->scope, lasted),
        smcr_words_number(finder->scope, smcr_finding_flow_longest_arrived(finder, flow)),
        question_text(finder, flow), smcr_finder_undelivered(finder, flow->src, flow->dst));
}

/* Finds the flow whose packet that is too big for the path was tried most often. */
static void
find_worst_size(smcr_finder_t *finder)
{
    const smcr_entry_rdma_t *worst = NULL;

    SMCR_FIGURE_EACH (rdma, flow, finder->report->rdma_flows)
        if (smcr_finding_flow_is_too_big(finder, flow) &&
            (!worst || flow->stuck->tries > worst->stuck->tries))
            worst = flow;
    if (worst)
        find_too_big(finder, worst);
}

/* ---- are connections affected? ---- */

/* Whether the connection was closed before `frame`. */
static bool
had_ended(const smcr_entry_connection_t *conn, uint32_t frame)
{
    return conn->close != SMCR_FIGURE_CLOSE_OPEN && conn->close != SMCR_FIGURE_CLOSE_UNKNOWN &&
           conn->last_frame.frame < frame;
}

/* Whether all known connections of the flow's link group were closed before `frame`. Then no
 * program is known to wait for an answer on the flow. False for a flow of no link group. */
static bool
had_connections_ended(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow, uint32_t frame)
{
    const smcr_entry_link_group_t *group = smcr_finding_flow_owner(finder, flow).group;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        if (!group || conn->link_group != group->index)
            continue;
        if (!had_ended(conn, frame))
            return false;
    }
    return group != NULL;
}

/* ---- gathering the silent hosts ---- */

/* Returns a text that identifies the host to which the flow goes. Flow of a link: link group and
 * side of the host. Flow of no link: both addresses. */
static const char *
key_of(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    smcr_figure_flow_owner_t owner = smcr_finding_flow_owner(finder, flow);
    bool to_client = owner.link && g_strcmp0(owner.link->client.gid, flow->dst) == 0 &&
                     owner.link->client.qpn == flow->dst_qpn;

    if (owner.group && owner.link)
        return wmem_strdup_printf(finder->scope, "%" PRIu64 " %d", owner.group->index, to_client);
    return smcr_words_hosts(finder->scope, flow->src, flow->dst);
}

/* Whether two silences have a time in common. */
static bool
overlap(const smcr_entry_flow_silence_t *one, const smcr_entry_flow_silence_t *other)
{
    return MAX(one->begin_frame.time, other->begin_frame.time) <
           MIN(one->end_frame.time, other->end_frame.time);
}

/* Keeps a flow as the other one of the silent host, if it is to another address than the flow of
 * the longest silence, and got no answer at the same time. `flow` NULL: changes nothing. */
static void
take_other(silent_host_t *host, const smcr_entry_rdma_t *flow,
           const smcr_entry_flow_silence_t *silence)
{
    if (!flow || !overlap(host->silence, silence) || g_strcmp0(host->flow->dst, flow->dst) == 0)
        return;
    host->other = flow;
    host->other_silence = silence;
}

/* Adds a flow to its silent host. The host keeps the longest silence of all its flows, which the
 * sentence of the finding describes. `silence`: longest silence of the flow. */
static void
add_flow(silent_host_t *host, const smcr_entry_rdma_t *flow,
         const smcr_entry_flow_silence_t *silence)
{
    const silent_host_t before = *host;

    host->count += flow->silences;
    host->flows++;
    if (before.flow && length_of(silence) <= length_of(before.silence)) {
        take_other(host, flow, silence);
        return;
    }
    host->flow = flow;
    host->silence = silence;
    host->other = NULL;
    take_other(host, before.other, before.other_silence);
    take_other(host, before.flow, before.silence);
}

/* Whether the sender tried the request that nobody acknowledged (`stuck`) in the silence. */
static bool
is_stuck_in(const smcr_entry_rdma_t *flow, const smcr_entry_flow_silence_t *silence)
{
    const smcr_entry_flow_stuck_t *stuck = flow->stuck;

    return stuck && silence->begin_frame.time <= stuck->end_frame.time &&
           silence->end_frame.time >= stuck->begin_frame.time;
}

/* Whether packets that are too big for the path explain the silence; another finding reports them
 * (find_too_big()). The receiver has sent one NAK for the packets after the lost ones, and answers
 * nothing until the lost ones arrive. So the receiver is not silent. */
static bool
is_of_big_packets(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow,
                  const smcr_entry_flow_silence_t *silence)
{
    return smcr_finding_flow_is_too_big(finder, flow) && is_stuck_in(flow, silence);
}

/* Returns all silent hosts: an array of silent_host_t. Two kinds of silences are left out: those of
 * packets that are too big for the path, and those after the end of all connections of the link
 * group, which are harmless. */
static wmem_array_t *
gather_hosts(const smcr_finder_t *finder)
{
    wmem_array_t *hosts = wmem_array_new(finder->scope, sizeof(silent_host_t));
    wmem_map_t *by_key = wmem_map_new(finder->scope, wmem_str_hash, g_str_equal);

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows) {
        const smcr_entry_flow_silence_t *silence = smcr_finding_flow_silence(finder, flow);
        if (!silence || is_of_big_packets(finder, flow, silence) ||
            had_connections_ended(finder, flow, silence->begin_frame.frame))
            continue;
        const char *key = key_of(finder, flow);
        uintptr_t place = (uintptr_t)wmem_map_lookup(by_key, key);
        if (!place) {
            wmem_array_append_one(hosts, ((silent_host_t){.flow = NULL}));
            place = wmem_array_get_count(hosts);
            wmem_map_insert(by_key, key, (void *)place);
        }
        add_flow(wmem_array_index(hosts, (unsigned)place - 1), flow, silence);
    }
    return hosts;
}

/* Compares two silent hosts for sorting: the host with the longer silence comes first; of equal
 * silences, that of the flow which stands first in the report. */
static int
compare_hosts(const void *one, const void *other)
{
    const silent_host_t *a = one, *b = other;

    if (length_of(a->silence) != length_of(b->silence))
        return length_of(a->silence) > length_of(b->silence) ? -1 : 1;
    return (a->flow->index > b->flow->index) - (a->flow->index < b->flow->index);
}

/* ---- hosts that were restarted ---- */

/* Returns the peer ID that the host has in the link group; NULL: the host is not a peer of the link
 * group, or the peer ID is not known. */
static const char *
peer_id_in(const smcr_entry_link_group_t *group, const char *host)
{
    SMCR_FIGURE_EACH (link, link, group->links) {
        if (g_strcmp0(link->client.gid, host) == 0)
            return group->peers.client.peer_id;
        if (g_strcmp0(link->server.gid, host) == 0)
            return group->peers.server.peer_id;
    }
    return NULL;
}

/* Whether two peer IDs are of one device, but differ in the instance ID before the MAC address.
 * Linux chooses this instance ID at random when the SMC module is loaded
 * (smc_ib_define_local_systemid()). */
static bool
is_other_instance(const char *one, const char *other)
{
    enum { MAC_DIGITS = 12 };
    size_t length = strlen(one);

    if (length != strlen(other) || length < MAC_DIGITS || strcmp(one, other) == 0)
        return false;
    return strcmp(one + length - MAC_DIGITS, other + length - MAC_DIGITS) == 0;
}

/* Returns text about a host that got another peer ID after `frame`: "; since frame 140,
 * 10.0.0.2 has another peer ID: the host was restarted, or its SMC module reloaded"; "" if it
 * did not, or the capture does not show it. `host`: the GID of the host's queue pair as text, or
 * NULL. */
static const char *
restart_text(const smcr_finder_t *finder, const char *host, uint32_t frame)
{
    const char *before = NULL;

    if (!host)
        return "";
    SMCR_FIGURE_EACH (link_group, group, finder->report->link_groups) {
        const char *peer_id = peer_id_in(group, host);
        if (!peer_id)
            continue;
        if (group->first_frame.frame <= frame)
            before = peer_id;
        else if (before && is_other_instance(before, peer_id))
            return wmem_strdup_printf(finder->scope,
                                      "; since frame %" PRIu32 ", %s has another peer ID: the host "
                                      "was restarted, or its SMC module reloaded",
                                      group->first_frame.frame, host);
    }
    return "";
}

/* ---- the sentence ---- */

/* Returns the link of the flow: " (link 1)", " (link 1 of group 2)" if there are several link
 * groups; "" if the flow has no link. */
static const char *
link_text(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    smcr_figure_flow_owner_t owner = smcr_finding_flow_owner(finder, flow);
    const char *group = "";

    if (!owner.link || owner.link->number == SMCR_FIGURE_UNKNOWN)
        return "";
    if (finder->report->link_groups.length > 1)
        group = wmem_strdup_printf(finder->scope, " of group %" PRIu64, owner.group->index);
    return wmem_strdup_printf(finder->scope, " (link %" PRIu64 "%s)", owner.link->number, group);
}

/* Returns the last packet that the silent host has sent to another queue pair; without one, that
 * on another link, or else over TCP, or else any other packet; frame 0: there is none. `*way` gets
 * the text that says where. */
static smcr_when_t
heard_elsewhere(const smcr_finder_t *finder, const smcr_entry_flow_silence_t *silence,
                const char **way)
{
    *way = "packets to other queue pairs";
    if (silence->other_queue_pair_frame.frame)
        return silence->other_queue_pair_frame;
    *way = silence->other_link == SMCR_FIGURE_UNKNOWN
               ? "packets on another link"
               : wmem_strdup_printf(finder->scope, "packets on link %" PRIu64, silence->other_link);
    if (silence->other_link_frame.frame)
        return silence->other_link_frame;
    *way = "TCP segments";
    if (silence->tcp_frame.frame)
        return silence->tcp_frame;
    *way = "other packets";
    return silence->host_frame;
}

/* Returns text about packets that the silent host has sent elsewhere, and what they prove. Packets
 * from the same address to another queue pair, sent during the silence, prove that host and path
 * are alive. Other packets prove the host. A packet after the silence proves that the host is
 * alive then. */
static const char *
elsewhere_text(const smcr_finder_t *finder, const silent_host_t *host)
{
    const smcr_entry_flow_silence_t *silence = host->silence;
    const char *way;
    smcr_when_t when = heard_elsewhere(finder, silence, &way);
    const char *cause = silence->other_queue_pair_frame.frame
                            ? "this queue pair failed, or only its packets are lost"
                            : "the path or the queue pair failed, not the host";

    bool is_tcp = when.frame == silence->tcp_frame.frame && !silence->other_link_frame.frame;

    if (when.frame > silence->end_frame.frame)
        return wmem_strdup_printf(finder->scope,
                                  "; afterwards %s sent %s (last in frame %" PRIu32
                                  "), but nothing %s", host->flow->dst, way, when.frame,
                                  is_tcp ? "over RoCE" : "to this queue pair");
    return wmem_strdup_printf(finder->scope,
                              "; during the silence %s sent %s (frame %" PRIu32 "): %s",
                              host->flow->dst, way, when.frame, cause);
}

/* Whether the silent host has sent a packet elsewhere, during the silence or after the silence. */
static bool
was_heard(const smcr_entry_flow_silence_t *silence)
{
    return silence->other_queue_pair_frame.frame || silence->tcp_frame.frame ||
           silence->other_link_frame.frame || silence->host_frame.frame;
}

/* Whether a message that was not captured may have ended the link of the flow before the silence.
 * Then the host may have destroyed its queue pair, which is harmless. False for a flow of no link,
 * and after a silence that is over: then the host has used the link again. */
static bool
may_have_ended(const smcr_finder_t *finder, const silent_host_t *host)
{
    const smcr_entry_link_t *link = smcr_finding_flow_owner(finder, host->flow).link;

    if (!link || host->silence->is_over == SMCR_FIGURE_YES)
        return false;
    return !link->state || link->state_frame.frame;
}

/* Whether the receiver has answered each retransmission of the flow in the end: both transmissions
 * arrived, so the path lost none of them. Without identifications that tell duplicates from
 * retransmissions, an answer may be one to a duplicate. */
static bool
answered_all(const smcr_entry_rdma_t *flow)
{
    const smcr_entry_flow_recovery_t *recovery = flow->recovery;
    bool is_known = recovery && flow->knows_copies == SMCR_FIGURE_YES;

    return is_known && recovery->answered_twice >= smcr_figure_or_zero(flow->repeated);
}

/* Returns what a silence that has ended was, in which the host sent no packet at all. If the host
 * has answered all retransmissions, they were waiting for it: in its adapter, or on the path. */
static const char *
past_cause_text(const smcr_entry_rdma_t *flow)
{
    return answered_all(flow)
               ? "until it answered all retransmissions, so all packets arrived: the host stood "
                 "still, or the path held them back"
               : "until the silence ended: the host or the path was down";
}

/* Returns text about the causes of a silence in which the host has sent no other packet after the
 * second retransmission. If the host has sent a packet between the beginning of the silence and the
 * second retransmission (`early_frame`), it was alive then. Otherwise it has sent none since the
 * silence began. */
static const char *
unheard_text(const smcr_finder_t *finder, const silent_host_t *host)
{
    const smcr_entry_flow_silence_t *silence = host->silence;
    uint64_t after = smcr_figure_or_zero(
        smcr_figure_time_between(silence->begin_frame, silence->early_frame));

    if (silence->early_frame.frame)
        return wmem_strdup_printf(finder->scope,
                                  "; the host lived after the silence began: its last other packet "
                                  "(frame %" PRIu32 ") came %s later: path or queue pair down, or "
                                  "host since then",
                                  silence->early_frame.frame,
                                  smcr_words_duration(finder->scope, after));
    return wmem_strdup_printf(
        finder->scope, "; after frame %" PRIu32 ", the host %s sent no other packet %s",
        silence->begin_frame.frame, host->flow->dst,
        silence->is_over == SMCR_FIGURE_YES
            ? past_cause_text(host->flow)
            : "either: host, path or queue pair down");
}

/* Returns the end of the sentence: other packets of the silent host, and the causes of the silence
 * that remain possible. */
static const char *
cause_text(const smcr_finder_t *finder, const silent_host_t *host)
{
    const char *icmp = smcr_finder_undelivered(finder, host->flow->src, host->flow->dst);

    if (*icmp)
        return icmp;
    if (may_have_ended(finder, host))
        return "; perhaps a DELETE LINK that is not captured had ended the link before";
    if (was_heard(host->silence))
        return elsewhere_text(finder, host);
    if (host->other)
        return wmem_strdup_printf(finder->scope,
                                  "; no packet from %s at the same time: host or all paths down",
                                  host->other->dst);
    return unheard_text(finder, host);
}

/* Returns text about a receiver that has sent a NAK for the request of the silence. It sends one
 * NAK for a gap, and answers no later request until the gap is filled. So a path that loses this
 * one request each time explains the silence, too. "" if no NAK requests it. */
static const char *
refused_text(const smcr_finder_t *finder, const smcr_entry_flow_stuck_t *stuck)
{
    if (stuck->is_refused != SMCR_FIGURE_YES || stuck->length == SMCR_FIGURE_UNKNOWN)
        return "";
    return wmem_strdup_printf(finder->scope,
                              "; it had sent a NAK for a packet of %s (frame %" PRIu32 "), and a "
                              "receiver answers nothing until that packet arrives: perhaps only "
                              "this packet is lost each time",
                              smcr_words_things(finder->scope, stuck->length, "byte"),
                              stuck->begin_frame.frame);
}

/* Returns text about a request that is stuck in the silence: text that asks for the path MTU if
 * only packets that are larger than all acknowledged ones got no answer, else text about a NAK for
 * the request (refused_text()). Returns "" if no request is stuck in the silence, and if an ICMP
 * error, or the end of the link, explains it. */
static const char *
size_text(const smcr_finder_t *finder, const silent_host_t *host)
{
    const smcr_entry_rdma_t *flow = host->flow;

    if (!is_stuck_in(flow, host->silence) || may_have_ended(finder, host) ||
        *smcr_finder_undelivered(finder, flow->src, flow->dst))
        return "";
    const char *hint = flow_size_hint(finder, flow);
    return *hint ? hint : refused_text(finder, flow->stuck);
}

/* Returns "; the first after frame 34, at 868 ms", a time since the first frame of the capture; ""
 * if the longest silence is the first one. */
static const char *
first_silence_text(const smcr_finder_t *finder, const smcr_entry_flow_silence_t *longest)
{
    const smcr_entry_flow_silent_time_t *first =
        longest->others.length ? longest->others.entries[0] : NULL;
    uint64_t begin = finder->report->capture.first_time;

    if (!first || first->begin_frame.frame > longest->begin_frame.frame)
        return "";
    return wmem_strdup_printf(finder->scope, "; the first after frame %" PRIu32 ", at %s",
                              first->begin_frame.frame,
                              smcr_words_duration(finder->scope, first->begin_frame.time - begin));
}

/* Returns " (the longest of 5 such silences, 3.59 s in all; the first after frame 34, at 868 ms)";
 * "" if there is one silence. Silences of several flows may be at the same time, so their sum is
 * left out. */
static const char *
silences_text(const smcr_finder_t *finder, const silent_host_t *host)
{
    wmem_allocator_t *scope = finder->scope;
    const smcr_entry_flow_silence_t *longest = host->silence;
    const char *count = smcr_words_number(scope, host->count);

    if (host->count < 2)
        return "";
    if (host->flows > 1)
        return wmem_strdup_printf(scope, " (the longest of %s such silences)", count);
    return wmem_strdup_printf(
        scope, " (the longest of %s such silences, %s in all%s)", count,
        smcr_words_duration(scope, length_of(longest) + longest->others_s),
        first_silence_text(finder, longest));
}

/* Returns "for 3.93 s despite 210 retransmissions", with the number of silences if there are
 * several. If no packet has ended the silence: "for at least 31.7 s despite 947
 * retransmissions". */
static const char *
length_text(const smcr_finder_t *finder, const silent_host_t *host)
{
    wmem_allocator_t *scope = finder->scope;
    bool is_over = host->silence->is_over == SMCR_FIGURE_YES;

    return wmem_strdup_printf(
        scope, is_over ? "for %s despite %s%s" : "for at least %s despite %s%s",
        smcr_words_duration(scope, length_of(host->silence)),
        smcr_words_things(scope, host->silence->repeated, "retransmission"),
        silences_text(finder, host));
}

/* Whether the host has probably failed: it has sent no packet at all since the silence began, for
 * SHORT_SILENCE or longer. No ICMP error explains the silence, and no end of the link. */
static bool
is_dead(const smcr_finder_t *finder, const silent_host_t *host)
{
    const smcr_entry_flow_silence_t *silence = host->silence;
    bool is_over = silence->is_over == SMCR_FIGURE_YES;

    if (is_over || length_of(silence) < SHORT_SILENCE || silence->early_frame.frame)
        return false;
    return !was_heard(silence) && !may_have_ended(finder, host) &&
           !*smcr_finder_undelivered(finder, host->flow->src, host->flow->dst);
}

/* Returns the sentence of the finding. It names the host if the host has probably failed
 * (is_dead()), otherwise one of its queue pairs. */
static const char *
silence_text(const smcr_finder_t *finder, const silent_host_t *host)
{
    const smcr_entry_rdma_t *flow = host->flow;
    const char *length = length_text(finder, host), *size = size_text(finder, host);
    const char *restart =
        restart_text(finder, flow->dst, host->silence->begin_frame.frame);

    if (is_dead(finder, host))
        return wmem_strdup_printf(finder->scope,
                                  "%s stopped answering %s%s: no packet %s%s%s%s",
                                  flow->dst, flow->src, link_text(finder, flow), length,
                                  cause_text(finder, host), size, restart);
    return wmem_strdup_printf(
        finder->scope, "No packet from %s%s to %s %s%s%s%s",
        smcr_words_queue_pair(finder->scope, flow->dst, flow->dst_qpn), link_text(finder, flow),
        flow->src, length, cause_text(finder, host), size, restart);
}

/* ---- the findings ---- */

/* Returns NOTE for a short silence that is over. Returns NOTE also if a message that is not
 * captured may have ended the link before, and no ICMP error reports packets as undelivered.
 * Otherwise returns WARN. */
static smcr_figure_severity_t
severity_of(const smcr_finder_t *finder, const silent_host_t *host)
{
    bool is_short = host->silence->is_over == SMCR_FIGURE_YES &&
                    length_of(host->silence) < SHORT_SILENCE;
    bool is_harmless = may_have_ended(finder, host) &&
                       !*smcr_finder_undelivered(finder, host->flow->src, host->flow->dst);

    return is_short || is_harmless ? SMCR_FIGURE_NOTE : SMCR_FIGURE_WARN;
}

/* Whether a connection of the flow's link group was aborted or reset during the silence. */
static bool
ended_connection(const smcr_finder_t *finder, const silent_host_t *host)
{
    const smcr_entry_link_group_t *group = smcr_finding_flow_owner(finder, host->flow).group;
    const smcr_entry_flow_silence_t *silence = host->silence;

    if (!group)
        return false;
    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        bool has_failed = conn->link_group == group->index &&
                          (conn->close == SMCR_FIGURE_CLOSE_RESET ||
                           conn->close == SMCR_FIGURE_CLOSE_ABORT);
        if (has_failed && conn->last_frame.frame > silence->begin_frame.frame &&
            conn->last_frame.frame <= silence->end_frame.frame)
            return true;
    }
    return false;
}

/* Whether a TCP connection of the host's link group was reset before the first retransmission of
 * the silence. A reset of another host's connection says nothing of this host, nor does one that
 * comes later: a host resets connections because its peer is silent. */
static bool
was_reset_before(const smcr_finder_t *finder, const silent_host_t *host)
{
    const smcr_entry_link_group_t *group = smcr_finding_flow_owner(finder, host->flow).group;
    const smcr_figure_notice_t resets = smcr_finder_notice(finder, "tcp.flags.reset == 1");

    for (uint32_t i = 0; group && i < resets.occurrence_count; i++) {
        const smcr_figure_occurrence_t *reset = &resets.occurrences[i];
        if (reset->group == group->index &&
            reset->frame < host->silence->first_repeated_frame.frame)
            return true;
    }
    return false;
}

/* Returns the rank of the finding: SMCR_FINDING_BY_PAST_SILENCE for a silence that is over and has
 * cost only time. 0: the rank of the finding's kind. `after_reset`: TCP connections had
 * been reset before. */
static smcr_finding_rank_t
rank_of(const smcr_finder_t *finder, const silent_host_t *host, bool after_reset)
{
    bool is_over = host->silence->is_over == SMCR_FIGURE_YES;
    bool is_only_past = is_over && !after_reset && !ended_connection(finder, host);

    return is_only_past ? SMCR_FINDING_BY_PAST_SILENCE : 0;
}

/* Finding: nothing came back from a host for a time, although packets were retransmitted to it. The
 * time begins with the host's last packet, or with the first request after it, and ends with the
 * host's next packet, or with the last retransmission if no packet follows or the sender had given
 * up. If TCP connections were reset before the first retransmission of the silence, the host may
 * have left the network: the resets are then the cause, and the finding has a lower rank. */
static void
find_silent_host(smcr_finder_t *finder, const silent_host_t *host)
{
    static const smcr_figure_finding_t kinds[2][2] = {
        {SMCR_FIGURE_FOUND_NO_ANSWER, SMCR_FIGURE_FOUND_NO_ANSWER_AFTER},
        {SMCR_FIGURE_FOUND_DEAD_PEER, SMCR_FIGURE_FOUND_DEAD_AFTER}};
    const smcr_entry_flow_silence_t *silence = host->silence;
    bool after_reset = was_reset_before(finder, host);
    const char *filter = wmem_strdup_printf(
        finder->scope, "frame.number == %" PRIu32 " || smcr.retransmission",
        silence->begin_frame.frame);

    smcr_finder_add_as(finder, severity_of(finder, host),
                       &(smcr_finder_facts_t){.kind = kinds[is_dead(finder, host)][after_reset],
                                              .count = host->count,
                                              .when = silence->begin_frame,
                                              .begin = silence->begin_frame,
                                              .end = silence->end_frame,
                                              .frames = SMCR_FINDER_FRAMES(
                                                  finder, silence->first_repeated_frame,
                                                  silence->end_frame, silence->tcp_frame,
                                                  silence->other_queue_pair_frame,
                                                  silence->other_link_frame),
                                              .filter = filter,
                                              .part = SMCR_FINDER_IN_SILENCES,
                                              .rank = rank_of(finder, host, after_reset),
                                              .cost = length_of(silence)},
                       "%s", silence_text(finder, host));
}

/* Whether the flow is left from before the capture: no connection that began in the capture used
 * its link group. Its trouble is not that of the connections which the capture shows from their
 * begin. A flow without a known link group counts as left over. */
static bool
is_left_over(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    const smcr_entry_link_group_t *group = smcr_finding_flow_owner(finder, flow).group;

    SMCR_FIGURE_EACH(connection, conn, finder->report->connections) {
        bool is_of_group = group && conn->link_group == group->index;
        if (is_of_group && conn->began_before == SMCR_FIGURE_NO)
            return false;
    }
    return true;
}

/* Flows that one finding is about. */
typedef struct {
    const smcr_entry_rdma_t *worst; /* the flow with the most retransmissions; NULL: none */
    uint64_t repeated;              /* retransmissions of all these flows */
} repeated_flows_t;

/* Returns the flows that a finding is about, as `is_about` says. */
static repeated_flows_t
find_repeated_flows(const smcr_finder_t *finder,
                    bool (*is_about)(const smcr_finder_t *, const smcr_entry_rdma_t *))
{
    repeated_flows_t found = {NULL, 0};

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows) {
        if (!is_about(finder, flow))
            continue;
        found.repeated += flow->repeated;
        if (!found.worst || flow->repeated > found.worst->repeated)
            found.worst = flow;
    }
    return found;
}

/* Finding: most packets of a flow are retransmissions, and the capture has no packet of the reverse
 * direction at all. The capture may have only one direction, so nothing proves that the peer was
 * silent. The finding describes the flow with the most retransmissions. If the flow is left over
 * from before the capture, the finding has a low rank: it comes after the troubles of later
 * connections. */
static void
find_unheard(smcr_finder_t *finder)
{
    const repeated_flows_t found = find_repeated_flows(finder, smcr_finding_flow_is_unheard);
    const smcr_entry_rdma_t *worst = found.worst;

    if (!worst)
        return;
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){
                        .kind = SMCR_FIGURE_FOUND_NOT_HEARD,
                        .count = found.repeated,
                        .when = smcr_finder_notice(finder, "smcr.packet_retransmitted").first,
                        .filter = "smcr.retransmission",
                        .rank = is_left_over(finder, worst) ? SMCR_FINDING_BY_LATE_START : 0},
                    "No packet from %s%s to %s is captured; %s of %s to this queue pair are "
                    "retransmissions: %s%s",
                    smcr_words_queue_pair(finder->scope, worst->dst, worst->dst_qpn),
                    link_text(finder, worst), worst->src,
                    smcr_words_number(finder->scope, worst->repeated),
                    smcr_words_things(finder->scope, worst->packets, "packet"),
                    smcr_finding_host_sends_elsewhere(finder, worst)
                        ? "the host sent to other queue pairs: this one failed, or only its "
                          "packets are missing"
                        : "path down, or one direction not captured",
                    smcr_finder_undelivered(finder, worst->src, worst->dst));
}

/* Whether the sender of the flow, which is of no link of SMC-R, has used up its retries. A link has
 * findings of its own: connections move to another link, or end. */
static bool
has_used_up_retries(const smcr_finder_t *finder, const smcr_entry_rdma_t *flow)
{
    return flow->stuck && flow->stuck->has_ended == SMCR_FIGURE_YES &&
           flow->kind != SMCR_FIGURE_FLOW_SMCR && !smcr_finding_flow_is_too_big(finder, flow);
}

/* Of the flows whose sender has reached its retry limit, returns the one with the most tries; NULL:
 * there is none. The number of such flows is added to `*count`. */
static const smcr_entry_rdma_t *
most_tried(const smcr_finder_t *finder, uint64_t *count)
{
    const smcr_entry_rdma_t *worst = NULL;

    SMCR_FIGURE_EACH(rdma, flow, finder->report->rdma_flows) {
        if (!has_used_up_retries(finder, flow))
            continue;
        (*count)++;
        if (!worst || flow->stuck->tries > worst->stuck->tries)
            worst = flow;
    }
    return worst;
}

/* Finding: a sender has sent a request several times, and no request since. InfiniBand's senders
 * retransmit a request as often as their retry count (or, after RNR NAKs, their RNR retry count)
 * says. Then their queue pair is in error. The finding describes the request with the most tries.
 * After RNR NAKs the receiver, which has no buffers, is the cause: its finding comes before. */
static void
find_used_up_retries(smcr_finder_t *finder)
{
    wmem_allocator_t *scope = finder->scope;
    uint64_t count = 0;
    const smcr_entry_rdma_t *worst = most_tried(finder, &count);

    if (!worst || smcr_finder_is_filtered(finder))
        return;
    const smcr_entry_flow_stuck_t *stuck = worst->stuck;
    uint64_t lasted = smcr_figure_or_zero(
        smcr_figure_time_between(stuck->begin_frame, stuck->end_frame));
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = stuck->rnr_naks
                                                       ? SMCR_FIGURE_FOUND_RETRIES_AFTER_RNR
                                                       : SMCR_FIGURE_FOUND_RETRIES_USED_UP,
                                           .count = count,
                                           .when = stuck->begin_frame,
                                           .begin = stuck->begin_frame,
                                           .end = stuck->end_frame,
                                           .frames = SMCR_FINDER_FRAMES(finder, stuck->end_frame),
                                           .filter = "smcr.nak || smcr.retransmission",
                                           .cost = lasted},
                    "%s: the sender sent a request %" PRIu64 " times in %s and got no "
                    "acknowledgement%s. It sent no later request: retry limit reached%s%s",
                    smcr_words_hosts(scope,
                                     smcr_words_queue_pair(scope, worst->src, worst->src_qpn),
                                     smcr_words_queue_pair(scope, worst->dst, worst->dst_qpn)),
                    stuck->tries, smcr_words_duration(scope, lasted),
                    stuck->rnr_naks ? wmem_strdup_printf(
                                          scope, ", but %s",
                                          smcr_words_things(scope, stuck->rnr_naks, "RNR NAK"))
                                    : "",
                    count > 1 ? wmem_strdup_printf(scope, "; %s in all",
                                                   smcr_words_things(scope, count, "flow"))
                              : "",
                    flow_size_hint(finder, worst));
}

/* Finding: nothing that a host sends over RoCE arrives at its peer, and the packets of the peer
 * arrive. A firewall or a path of one direction does this. The finding describes the flow with the
 * most retransmissions. */
static void
find_one_way(smcr_finder_t *finder)
{
    wmem_allocator_t *scope = finder->scope;
    const smcr_entry_rdma_t *worst =
        find_repeated_flows(finder, smcr_finding_flow_is_one_way).worst;

    if (!worst)
        return;
    const smcr_entry_rdma_t *peer = smcr_finding_flow_peer(finder, worst);
    smcr_finder_add(finder,
                    &(smcr_finder_facts_t){.kind = SMCR_FIGURE_FOUND_ONE_WAY,
                                           .count = worst->repeated,
                                           .when = worst->first_frame,
                                           .begin = worst->first_frame,
                                           .end = worst->last_frame,
                                           .filter = "smcr.retransmission"},
                    "Nothing from %s arrives at %s over RoCE%s: no answer to %s, and %s "
                    "retransmitted %s that %s had acknowledged: only this direction of the path "
                    "fails",
                    worst->src, worst->dst, link_text(finder, worst),
                    smcr_words_things(scope, worst->repeated, "retransmission"), worst->dst,
                    smcr_words_things(scope, peer->recovery->needless, "packet"), worst->src);
}

/* Findings are made of the SMCR_FINDINGS_MOST longest silences only. */
void
smcr_finding_on_silence(smcr_finder_t *finder)
{
    wmem_array_t *hosts = gather_hosts(finder);
    unsigned count = wmem_array_get_count(hosts);

    wmem_array_sort(hosts, compare_hosts);
    for (unsigned i = 0; i < MIN(count, SMCR_FINDINGS_MOST); i++)
        find_silent_host(finder, wmem_array_index(hosts, i));
    find_unheard(finder);
    find_one_way(finder);
    find_used_up_retries(finder);
    find_worst_size(finder);
}
