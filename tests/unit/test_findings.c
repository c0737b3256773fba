/* What is found in a report, and in which order: a cause before what follows from it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "scene.h"

#include "report/findings/findings.h"

/* ---- scenes ---- */

static void
nothing(scene_t *scene)
{
    connection(scene);
    pair(scene);
    notice(scene, "smcr.link.activated", 0x00200000, 12);
}

static void
fallback(scene_t *scene)
{
    fall_back(scene, 0x03030002, 5); /* less than half a second after the SYN */
    fall_back(scene, 0x03030002, 5);
    notice(scene, "smcr.clc.declined", NOTE, 6);
    notice(scene, "smcr.fallback", NOTE, 6);
}

/* A setup of 2.9 s costs less than a wait of 9 s. */
static void
slow_fallback_and_reader(scene_t *scene)
{
    fall_back(scene, 0x03030002, 30);
    wait_for_space(scene, connection(scene), 9 * SECOND, 9 * SECOND);
}

static void
no_option(scene_t *scene)
{
    connection(scene)->outcome = SMCR_FIGURE_OUTCOME_TCP;
}

static void
confirm_link_timeout(scene_t *scene)
{
    smcr_entry_fallback_t *sum;

    fallback(scene);
    for (unsigned i = 0; i < 2; i++)
        ((smcr_entry_connection_t *)scene->report.connections.entries[i])->fallback->code = TIMEOUT;
    sum = smcr_figure_list_add(&scene->report.fallbacks, scene->scope,
                               &smcr_entry_fallback_description);
    sum->code = TIMEOUT;
    sum->count = 2;
    notice(scene, "smcr.no_response", NOTE, 9);
}

static void
loss(scene_t *scene)
{
    pair_t flows = pair(scene);

    lose(flows.data);
    flows.answers->nak.psn_sequence = 4;
    notice(scene, "smcr.packet_retransmitted", NOTE, 21);
    notice(scene, "smcr.nak", WARN, 20);
    notice(scene, "smcr.packet_ahead", NOTE, 19);
}

/* The sender retransmits only what is missing, which was lost before the capture point. */
static void
naks_alone(scene_t *scene)
{
    pair(scene).answers->nak.psn_sequence = 5;
    notice(scene, "smcr.nak", NOTE, 4);
    notice(scene, "smcr.packet_ahead", NOTE, 3);
}

/* One in a hundred thousand. */
static void
rare_loss(scene_t *scene)
{
    loss(scene);
    ((smcr_entry_rdma_t *)scene->report.rdma_flows.entries[0])->packets = 3000000;
}

/* Nobody asked for it, and no timer ran out. */
static void
lone_repeat(scene_t *scene)
{
    pair_t flows = pair(scene);

    flows.data->repeated = flows.data->repeated_after.unknown = 1;
    notice(scene, "smcr.packet_retransmitted", NOTE, 21);
}

static void
slow_reader(scene_t *scene)
{
    wait_for_space(scene, connection(scene), 9 * SECOND, 8 * SECOND);
    notice(scene, "smcr.window.full", NOTE, 33);
    notice(scene, "smcr.window.writer_blocked", NOTE, 33);
    notice(scene, "smcr.window.late_update", WARN, 40);
}

static void
short_wait(scene_t *scene)
{
    wait_for_space(scene, connection(scene), SECOND / 100, SECOND / 100);
    notice(scene, "smcr.window.full", NOTE, 33);
}

static void
lost_link(scene_t *scene)
{
    smcr_entry_connection_t *conn = connection(scene);
    smcr_entry_link_t *lost;

    link_of_group(scene, 1);
    lost = link_of_group(scene, 2);
    lost->state = SMCR_FIGURE_STATUS_DELETED;
    lost->delete_reason = SMCR_FIGURE_FOR_SMCR_LLC_DELETE_LOST_PATH;
    lost->deleted_frame = at(50);
    lost->moved_from = 1;
    use_link(scene, conn, 2, 12);
    use_link(scene, conn, 1, 49);
    notice(scene, "smcr.conn.moved", NOTE, 49);
    notice(scene, "smcr.link.deleted", NOTE, 50);
    notice(scene, "smcr.link.lost", WARN, 50);
}

/* A new link has the number of a deleted one: only the connection that left the new one counts. */
static void
left_link_of_old_number(scene_t *scene)
{
    smcr_entry_link_t *link = link_of_group(scene, 2);

    link->state = SMCR_FIGURE_STATUS_DELETED;
    link->deleted_frame = at(8);
    link_of_group(scene, 1);
    link = link_of_group(scene, 2);
    link->added_frame = at(10);
    link->moved_from = 1;
    for (uint32_t frame = 4; frame <= 12; frame += 8) {
        smcr_entry_connection_t *conn = connection(scene);
        use_link(scene, conn, 2, frame);
        use_link(scene, conn, 1, frame + 3);
    }
}

static void
dead_peer(scene_t *scene)
{
    pair_t flows = pair(scene);

    flows.data->repeated = flows.data->repeated_after.timeout = 900;
    flows.data->silences = 1;
    flows.data->silent_repeated = 900;
    flows.data->longest_silence = wmem_new0(scene->scope, smcr_entry_flow_silence_t);
    *flows.data->longest_silence = (smcr_entry_flow_silence_t){
        .begin_frame = {20, SECOND},
        .end_frame = {60, 31 * SECOND},
        .first_repeated_frame = {25, SECOND + SECOND / 10},
        .is_over = SMCR_FIGURE_NO,
        .attempts = 900,
        .repeated = 900,
        .other_link = SMCR_FIGURE_UNKNOWN,
    };
    notice(scene, "smcr.packet_retransmitted", NOTE, 25);
    notice(scene, "smcr.peer_silent", WARN, 30);
    connection(scene)->close = SMCR_FIGURE_CLOSE_RESET;
}

/* The reset comes before the silence, and is that of a connection of no link group: it says nothing
 * of the silent host. */
static void
dead_peer_after_other_reset(scene_t *scene)
{
    dead_peer(scene);
    notice(scene, "tcp.flags.reset == 1", 0, 3);
}

/* Returns the silence of the scene dead_peer(). */
static smcr_entry_flow_silence_t *
silence_of_dead_peer(scene_t *scene)
{
    dead_peer(scene);
    return ((smcr_entry_rdma_t *)scene->report.rdma_flows.entries[0])->longest_silence;
}

/* It has acknowledged packets up to 1,084 bytes, and got one of 4,156 bytes in the silence. */
static void
big_packet_to_dead_peer(scene_t *scene)
{
    dead_peer(scene);
    smcr_entry_rdma_t *flow = scene->report.rdma_flows.entries[0];

    flow->acked_longest = 1084;
    flow->stuck = wmem_new(scene->scope, smcr_entry_flow_stuck_t);
    *flow->stuck = (smcr_entry_flow_stuck_t){.begin_frame = {21, SECOND},
                                             .end_frame = {60, 31 * SECOND},
                                             .tries = 900,
                                             .length = 4156,
                                             .is_refused = SMCR_FIGURE_NO};
}

/* A packet as large has arrived before. */
static void
usual_packet_to_dead_peer(scene_t *scene)
{
    big_packet_to_dead_peer(scene);
    ((smcr_entry_rdma_t *)scene->report.rdma_flows.entries[0])->acked_longest = 4156;
}

/* The peer goes on after half a minute: host or path. */
static void
peer_heard_again(scene_t *scene)
{
    silence_of_dead_peer(scene)->is_over = SMCR_FIGURE_YES;
}

/* Meanwhile the host answers on another link, over TCP, or other queue pairs: it is alive. */
static void
peer_on_other_link(scene_t *scene)
{
    silence_of_dead_peer(scene)->other_link_frame = at(50);
}

static void
peer_over_tcp(scene_t *scene)
{
    silence_of_dead_peer(scene)->tcp_frame = at(50);
}

static void
peer_on_other_queue_pair(scene_t *scene)
{
    silence_of_dead_peer(scene)->other_queue_pair_frame = at(50);
}

/* The capture ends soon. */
static void
peer_silent_for_a_moment(scene_t *scene)
{
    silence_of_dead_peer(scene)->end_frame.time = SECOND + SECOND / 2;
}

/* Returns the link of the silent host. A connection of the link is open when the silence begins. */
static smcr_entry_link_t *
link_of_dead_peer(scene_t *scene)
{
    smcr_entry_link_t *link = link_of_group(scene, 1);

    dead_peer(scene);
    smcr_figure_numbers_add(&link->flows, scene->scope, 0);
    smcr_figure_numbers_add(&link->flows, scene->scope, 1);
    ((smcr_entry_connection_t *)scene->report.connections.entries[0])->link_group = 0;
    return link;
}

static void
dead_peer_of_link(scene_t *scene)
{
    link_of_dead_peer(scene)->state = SMCR_FIGURE_STATUS_LOST;
}

/* TCP connections of two link groups were reset. `frame`: the reset of a connection of the dead
 * peer's group. */
static void
resets_and_dead_peer(scene_t *scene, uint32_t frame, uint32_t other_frame)
{
    const smcr_figure_occurrence_t resets[] = {
        {.frame = frame, .group = 0}, {.frame = other_frame, .group = 9}};

    dead_peer_of_link(scene);
    notice(scene, "tcp.flags.reset == 1", 0, MIN(frame, other_frame));
    smcr_figure_notice_t *last = &scene->notices[scene->notice_count - 1];
    last->count = last->occurrence_count = G_N_ELEMENTS(resets);
    last->occurrences = wmem_memdup(scene->scope, resets, sizeof resets);
}

static void
reset_then_dead_peer(scene_t *scene)
{
    resets_and_dead_peer(scene, 3, 70);
}

static void
dead_peer_then_reset(scene_t *scene)
{
    resets_and_dead_peer(scene, 70, 3);
}

/* A message that is missing may have ended the link: then the host need not answer. */
static void
peer_may_have_ended(scene_t *scene)
{
    link_of_dead_peer(scene)->state_frame = at(19);
}

static void
peer_of_unknown_link(scene_t *scene)
{
    link_of_dead_peer(scene)->state = SMCR_FIGURE_STATUS_UNKNOWN;
}

/* That the host answers elsewhere does not tell that it still uses the link. */
static void
peer_ended_and_over_tcp(scene_t *scene)
{
    peer_may_have_ended(scene);
    ((smcr_entry_rdma_t *)scene->report.rdma_flows.entries[0])->longest_silence->tcp_frame = at(50);
}

/* It has used the link after the silence, whatever came then. */
static void
peer_back_on_unknown_link(scene_t *scene)
{
    peer_of_unknown_link(scene);
    ((smcr_entry_rdma_t *)scene->report.rdma_flows.entries[0])->longest_silence->is_over =
        SMCR_FIGURE_YES;
}

/* ICMP proves that the packets were not delivered. */
static void
peer_behind_icmp(scene_t *scene)
{
    static const smcr_figure_subject_t hosts = {.src = "10.0.0.1", .dst = "10.0.0.2"};

    peer_may_have_ended(scene);
    notice(scene, "icmp.type == 3", 0, 30);
    scene->notices[scene->notice_count - 1].subject = &hosts;
}

/* A NOTE that Linux brings about does no harm; a WARN of the same name does. */
static void
harmless(scene_t *scene)
{
    notice(scene, "smcr.cdc.after_close", NOTE, 30);
    notice(scene, "smcr.llc.collision", NOTE, 31);
}

static void
aborted(scene_t *scene)
{
    smcr_entry_connection_t *conn = connection(scene);

    conn->close = SMCR_FIGURE_CLOSE_ABORT;
    conn->client_to_server.unreported_bytes = 20000;
    notice(scene, "smcr.conn.aborted", WARN, 49);
}

static void
loss_aborts(scene_t *scene)
{
    aborted(scene);
    loss(scene);
}

static void
no_buffer(scene_t *scene)
{
    pair_t flows = pair(scene);

    flows.answers->rnr_nak = 16;
    flows.answers->nak.psn_sequence = 16; /* with the same PSN */
    flows.data->repeated = flows.data->repeated_after.rnr = 48;
    notice(scene, "smcr.nak", WARN, 22);
    notice(scene, "smcr.rnr_nak", WARN, 21);
    notice(scene, "smcr.packet_retransmitted", NOTE, 23);
}

/* Without smcr.check_icrc: only doubtful messages are checked, so packets may be lost, too. */
static void
damaged_messages(scene_t *scene)
{
    pair_t flows = pair(scene);

    lose(flows.data);
    flows.answers->nak.psn_sequence = 4;
    flows.data->icrc = wmem_new0(scene->scope, smcr_entry_icrcs_t);
    flows.data->icrc->bad = 4;
    notice(scene, "smcr.nak", WARN, 20);
    notice(scene, "smcr.packet_retransmitted", NOTE, 21);
    notice(scene, "smcr.icrc.bad", ERROR, 19);
}

static void
damaged(scene_t *scene)
{
    damaged_messages(scene);
    scene->report.capture.check_icrc = SMCR_FIGURE_YES;
}

static void
refused(scene_t *scene)
{
    pair(scene).answers->nak.remote_access = 1;
    notice(scene, "smcr.nak", WARN, 20);
}

static void
congested(scene_t *scene)
{
    pair_t flows = pair(scene);

    flows.data->ecn.ce = 100;
    flows.answers->cnp = 10;
    notice(scene, "smcr.ecn == 3", 0, 20);
    notice(scene, "smcr.congestion", NOTE, 21);
}

/* A port pauses class 3 for a millisecond. */
static void
paused(scene_t *scene)
{
    smcr_entry_pause_t *pause = SMCR_FIGURE_ADD(pause, &scene->report.pauses, scene->scope);

    pause->port_mac = "02:00:00:00:00:02";
    pause->kind = SMCR_FIGURE_PAUSE_PFC;
    pause->priority = 3;
    pause->frames = 1;
    pause->paused_s = pause->paused_most_s = SECOND / 1000;
    notice(scene, "macc.opcode == 0x0001 || macc.opcode == 0x0101", 0, 20);
}

/* A flow stands still for 20 ms of it. */
static void
paused_flow(scene_t *scene)
{
    smcr_entry_flow_pause_t *pause = wmem_new0(scene->scope, smcr_entry_flow_pause_t);

    paused(scene);
    pause->standstills = 1;
    pause->still_s = pause->still_most_s = SECOND / 50;
    pause->longest = wmem_new0(scene->scope, smcr_entry_flow_standstill_t);
    *pause->longest = (smcr_entry_flow_standstill_t){at(19), at(21)};
    pair(scene).data->pause = pause;
}

/* What cost more time comes first; what cost none comes later. */
static void
paused_flow_and_reader(scene_t *scene)
{
    paused_flow(scene);
    slow_reader(scene);
    congested(scene);
}

static void
congestion_stops_writer(scene_t *scene)
{
    smcr_entry_connection_t *conn = connection(scene);

    congested(scene);
    wait_for_space(scene, conn, 3 * SECOND, 2 * SECOND);
}

static void
late_start(scene_t *scene)
{
    connection(scene)->began_before = SMCR_FIGURE_YES;
    notice(scene, "smcr.conn.began_before", NOTE, 2);
    notice(scene, "smcr.cdc.token_unknown", NOTE, 2);
    notice(scene, "smcr.llc.no_request", NOTE, 3);
}

static void
late_start_and_loss(scene_t *scene)
{
    late_start(scene);
    loss(scene);
}

static void
lacking(scene_t *scene)
{
    pair(scene).data->missing = 7;
    notice(scene, "smcr.packet_ahead", NOTE, 30);
    notice(scene, "smcr.cdc.sequence_gap", NOTE, 31);
}

static void
rule_and_format(scene_t *scene)
{
    notice(scene, "smcr.cdc.after_close", WARN, 30);
    notice(scene, "smcr.clc.trailer_invalid", ERROR, 40);
    scene->notices[0].group = PROTOCOL;
    scene->notices[0].by = SMCR_FIGURE_ROLE_SERVER;
    scene->notices[1].group = MALFORMED;
}

static void
one_notice_of_two_sides(scene_t *scene)
{
    rule_and_format(scene);
    scene->notices[1] = scene->notices[0];
    scene->notices[1].by = SMCR_FIGURE_ROLE_CLIENT;
}

static void
rejected(scene_t *scene)
{
    notice(scene, "smcr.cm.rejected", WARN, 3);
}

static void
unfinished(scene_t *scene)
{
    connection(scene)->outcome = SMCR_FIGURE_OUTCOME_UNKNOWN;
}

/* CONFIRM LINK goes out again and again. */
static void
failed_link(scene_t *scene)
{
    smcr_entry_rdma_t *data = flow(scene, "10.0.0.2", "10.0.1.1");
    smcr_entry_link_t *link = link_of_group(scene, 2);

    data->packets = 39;
    data->repeated = data->repeated_after.unknown = 38;
    link->index = 1;
    link->state = SMCR_FIGURE_STATUS_REJECTED;
    link->added_frame = at(9);
    smcr_figure_numbers_add(&link->flows, scene->scope, 0);
    notice(scene, "smcr.packet_retransmitted", NOTE, 29);
    notice(scene, "smcr.link.delete_asked", NOTE, 30);
    notice(scene, "smcr.no_response", NOTE, 31);
}

/* Link 1 of the group, and its two flows. */
static pair_t
first_link(scene_t *scene)
{
    pair_t flows = pair(scene);
    smcr_entry_link_t *link = link_of_group(scene, 1);

    smcr_figure_numbers_add(&link->flows, scene->scope, flows.data->index);
    smcr_figure_numbers_add(&link->flows, scene->scope, flows.answers->index);
    return flows;
}

static smcr_entry_link_t *
link_given_up(scene_t *scene)
{
    if (!scene->report.link_groups.length)
        first_link(scene);
    smcr_entry_link_t *link = link_of_group(scene, 2);

    link->state = SMCR_FIGURE_STATUS_DELETED;
    link->delete_reason = SMCR_FIGURE_FOR_SMCR_LLC_DELETE_LOST_PATH;
    link->added_frame = at(9);
    link->deleted_frame = (smcr_when_t){36, at(9).time + 5 * SECOND};
    notice(scene, "smcr.link.delete_asked", NOTE, 36);
    notice(scene, "smcr.llc.second_answer", NOTE, 38);
    return link;
}

static void
unused_link(scene_t *scene)
{
    link_given_up(scene);
}

/* The hosts delete the link an hour later: it may have been in use where nothing is captured. */
static void
unseen_link(scene_t *scene)
{
    smcr_entry_link_t *link = link_given_up(scene);

    link->deleted_frame.time = link->added_frame.time + 3600 * SECOND;
}

/* The capture misses single packets of link 1, so it does not miss all packets of link 2. */
static void
unused_link_beside_a_gap(scene_t *scene)
{
    first_link(scene).data->missing = 3;
    unused_link(scene);
}

/* The capture misses many packets of link 1, perhaps all packets of link 2, too. */
static void
unused_link_beside_many_gaps(scene_t *scene)
{
    first_link(scene).data->missing = 300;
    unused_link(scene);
}

static void
sent_to_nobody(scene_t *scene)
{
    pair_t flows = pair(scene);
    smcr_entry_link_t *link = link_of_group(scene, 1);

    ((smcr_entry_link_group_t *)scene->report.link_groups.entries[0])->ended_frame = at(83);
    smcr_figure_numbers_add(&link->flows, scene->scope, flows.data->index);
    flows.data->repeated = flows.data->repeated_after.timeout = 1;
    notice(scene, "smcr.packet_retransmitted.ended", 0x00200000, 90);
}

static void
early_timer(scene_t *scene)
{
    pair_t flows = pair(scene);

    flows.data->packets = 31;
    flows.data->repeated = flows.data->repeated_after.timeout = 6;
    /* an acknowledgement that came late, of a message that was not retransmitted */
    smcr_distribution_add(&flows.data->completion_time_s, scene->scope, SECOND);
    notice(scene, "smcr.packet_retransmitted", NOTE, 34);
}

static void
late_message(scene_t *scene)
{
    early_timer(scene);
    smcr_entry_rdma_t *flow = scene->report.rdma_flows.entries[0];

    smcr_distribution_add(&flow->repeated_completion_time_s, scene->scope, SECOND);
}

static void
cm_repeats(scene_t *scene)
{
    notice(scene, "smcr.cm.repeat", NOTE, 8);
}

/* Host 1 repeats messages of RDMA-CM to queue pair 1 of host 2. */
static smcr_entry_rdma_t *
cm_repeats_of_host(scene_t *scene)
{
    static const smcr_figure_subject_t hosts = {.src = "10.0.0.1", .dst = "10.0.0.2"};
    smcr_entry_rdma_t *messages = flow(scene, hosts.src, hosts.dst);

    messages->dst_qpn = 1;
    cm_repeats(scene);
    scene->notices[scene->notice_count - 1].subject = &hosts;
    return messages;
}

static void
cm_unanswered(scene_t *scene)
{
    cm_repeats_of_host(scene);
    flow(scene, "10.0.0.3", "10.0.0.1"); /* another host answers something else */
}

static void
cm_answered(scene_t *scene)
{
    cm_repeats_of_host(scene);
    flow(scene, "10.0.0.2", "10.0.0.1")->dst_qpn = 1;
}

/* Data show that they are connected: the capture has one direction only. */
static void
cm_one_direction(scene_t *scene)
{
    cm_repeats_of_host(scene);
    flow(scene, "10.0.0.1", "10.0.0.2")->dst_qpn = 17;
}

static void
fallback_and_reset(scene_t *scene)
{
    confirm_link_timeout(scene);
    ((smcr_entry_connection_t *)scene->report.connections.entries[0])->close =
        SMCR_FIGURE_CLOSE_RESET;
    notice(scene, "tcp.flags.reset == 1", 0, 20);
}

static void
reset(scene_t *scene)
{
    connection(scene)->close = SMCR_FIGURE_CLOSE_RESET;
    notice(scene, "tcp.flags.reset == 1", 0, 20);
}

static void
many_reasons(scene_t *scene)
{
    static const uint64_t codes[] = {0x03000000, 0x03010000, 0x03020000, TIMEOUT, 0x03030000};

    for (unsigned i = 0; i < G_N_ELEMENTS(codes); i++)
        fall_back(scene, codes[i], 1 + i);
}

static void
few_marks(scene_t *scene)
{
    pair(scene).data->ecn.ce = 2;
    notice(scene, "smcr.ecn == 3", 0, 20);
}

static void
silent_end(scene_t *scene)
{
    connection(scene)->close = SMCR_FIGURE_CLOSE_OPEN;
    scene->report.capture.last_time = 300 * SECOND / 10;
}

static void
no_roce(scene_t *scene)
{
    notice(scene, "smcr.no_roce", NOTE, 9);
}

/* Two connections gave up, and a third one has its RoCE elsewhere. */
static void
timeout_and_no_roce(scene_t *scene)
{
    confirm_link_timeout(scene);
    no_roce(scene);
}

static void
cut(scene_t *scene)
{
    scene->report.capture.cut_frames = 12;
}

/* A request of 4,156 bytes is sent ten times in vain; packets up to 1,084 bytes arrive. */
static smcr_entry_flow_stuck_t *
get_stuck(scene_t *scene, pair_t *flows)
{
    *flows = pair(scene);
    lose(flows->data);
    flows->answers->nak.psn_sequence = 1;
    flows->data->acked_longest = 1084;
    flows->data->stuck = wmem_new(scene->scope, smcr_entry_flow_stuck_t);
    *flows->data->stuck = (smcr_entry_flow_stuck_t){.begin_frame = at(20),
                                                    .end_frame = at(40),
                                                    .tries = 10,
                                                    .length = 4156,
                                                    .is_refused = SMCR_FIGURE_YES};
    return flows->data->stuck;
}

static void
too_big(scene_t *scene)
{
    pair_t flows;

    get_stuck(scene, &flows);
}

/* No NAK proves that a later request arrives: nothing may pass. */
static void
stuck_alone(scene_t *scene)
{
    pair_t flows;

    get_stuck(scene, &flows)->is_refused = SMCR_FIGURE_NO;
}

/* A packet as large has arrived on another queue pair. */
static void
large_arrive(scene_t *scene)
{
    pair_t flows;

    get_stuck(scene, &flows);
    pair(scene).data->acked_longest = 4156;
}

/* The capture lacks the request, and nobody knows the MTU of its link. */
static void
stuck_unseen(scene_t *scene)
{
    pair_t flows;

    get_stuck(scene, &flows)->length = SMCR_FIGURE_UNKNOWN;
}

/* A connection that both sides close, `idle` seconds after the last data, and the client `kept`
 * seconds after the server. */
static smcr_entry_connection_t *
close_idle(scene_t *scene, unsigned idle, unsigned kept)
{
    smcr_entry_connection_t *conn = connection(scene);

    conn->end = wmem_new(scene->scope, smcr_entry_conn_end_t);
    *conn->end = (smcr_entry_conn_end_t){.by = SMCR_FIGURE_ROLE_SERVER,
                                         .idle_frame = at(10),
                                         .frame = at(10 + idle * 10),
                                         .other_frame = at(10 + (idle + kept) * 10),
                                         .written_after = SMCR_FIGURE_NO};
    return conn;
}

static void
idle_close(scene_t *scene)
{
    close_idle(scene, 1, 1);
    connection(scene);
    connection(scene);
}

static void
idle_close_soon(scene_t *scene)
{
    close_idle(scene, 1, 0);
    connection(scene);
    connection(scene);
}

/* The server closes half of the connections: a timeout, and the client has no use for them. */
static void
idle_closes(scene_t *scene)
{
    close_idle(scene, 1, 1);
    connection(scene);
}

static void
client_closes(scene_t *scene)
{
    close_idle(scene, 1, 1)->end->by = SMCR_FIGURE_ROLE_CLIENT;
    connection(scene);
    connection(scene);
}

static void
idle_close_then_data(scene_t *scene)
{
    close_idle(scene, 1, 1)->end->written_after = SMCR_FIGURE_YES;
}

/* When the client closed is not known: a packet is missing. It may have closed at once. */
static void
idle_close_then_unknown(scene_t *scene)
{
    smcr_entry_connection_t *conn = close_idle(scene, 1, 1);

    conn->close = SMCR_FIGURE_CLOSE_UNKNOWN;
    conn->end->written_after = SMCR_FIGURE_YES;
    conn->end->other_frame = (smcr_when_t){0, 0};
}

/* Nearly all data were read, and the aborts follow from what cost more time. */
static void
hasty_abort(scene_t *scene)
{
    smcr_entry_connection_t *conn = connection(scene);

    conn->close = SMCR_FIGURE_CLOSE_ABORT;
    conn->client_to_server.bytes = 16000;
    conn->client_to_server.unreported_bytes = 1000;
    conn->client_to_server.unannounced_bytes = 0;
    conn->server_to_client.unreported_bytes = conn->server_to_client.unannounced_bytes = 0;
    wait_for_space(scene, connection(scene), 2 * SECOND, 0);
}

/* One byte more is unread. */
static void
other_abort(scene_t *scene)
{
    hasty_abort(scene);
    ((smcr_entry_connection_t *)scene->report.connections.entries[0])
        ->client_to_server.unreported_bytes++;
}

static void
tcp_marks(scene_t *scene)
{
    smcr_entry_tcp_t *tcp =
        smcr_figure_list_add(&scene->report.tcp_flows, scene->scope, &smcr_entry_tcp_description);

    tcp->up.data_segments = 100;
    tcp->up.ce = 7;
}

static void
many(scene_t *scene)
{
    static const char *const filters[] = {"smcr.a", "smcr.b", "smcr.c", "smcr.d",
                                          "smcr.e", "smcr.f", "smcr.g", "smcr.h",
                                          "smcr.i", "smcr.j", "smcr.k"};

    for (unsigned i = 0; i < G_N_ELEMENTS(filters); i++)
        notice(scene, filters[i], i < 10 ? NOTE : WARN, 9 + i);
}

/* ---- cases ---- */

/* `found`: severity and kind of each finding, in their order. */
static const scene_case_t cases[] = {
    {.name = "healthy", .play = nothing, .found = ""},
    {.name = "slow fallback, and a slow reader", .play = slow_fallback_and_reader,
     .found = "warn slow_reader 1, note slow_setup 1, note fallback 1"},
    {.name = "fallback", .play = fallback, .found = "note fallback 2"},
    {.name = "no option", .play = no_option, .found = "note no_option 1"},
    {.name = "RoCE does not get through", .play = confirm_link_timeout, .found = "warn fallback 2"},
    {.name = "loss", .play = loss, .found = "warn loss 30"},
    {.name = "NAKs, and nothing twice", .play = naks_alone, .found = "note loss 5"},
    {.name = "rare loss", .play = rare_loss, .found = "note loss 30"},
    {.name = "repeat without a cause", .play = lone_repeat, .found = "info repeats 1"},
    {.name = "slow reader", .play = slow_reader, .found = "warn slow_reader 1"},
    {.name = "window full for a moment", .play = short_wait, .found = ""},
    {.name = "lost link", .play = lost_link, .found = "warn link_lost 1"},
    {.name = "left link, with the number of an older one", .play = left_link_of_old_number,
     .found = "note failover 1"},
    {.name = "dead peer, then a reset", .play = dead_peer,
     .found = "warn dead_peer 1, warn reset 1"},
    {.name = "reset of another host, then a dead peer", .play = dead_peer_after_other_reset,
     .found = "warn dead_peer 1, warn reset 1"},
    {.name = "peer that is heard again", .play = peer_heard_again,
     .found = "warn reset 1, warn no_answer 1"},
    {.name = "peer that answers on another link", .play = peer_on_other_link,
     .found = "warn no_answer 1, warn reset 1"},
    {.name = "peer that answers over TCP", .play = peer_over_tcp,
     .found = "warn no_answer 1, warn reset 1"},
    {.name = "peer that answers other queue pairs", .play = peer_on_other_queue_pair,
     .found = "warn no_answer 1, warn reset 1"},
    {.name = "peer that is silent when the capture ends", .play = peer_silent_for_a_moment,
     .found = "warn no_answer 1, warn reset 1"},
    {.name = "dead peer of a link", .play = dead_peer_of_link,
     .found = "warn dead_peer 1, warn reset 1"},
    {.name = "reset, then a dead peer", .play = reset_then_dead_peer,
     .found = "warn reset 1, warn dead_peer 1"},
    {.name = "dead peer between a reset of another host and its own", .play = dead_peer_then_reset,
     .found = "warn dead_peer 1, warn reset 1"},
    {.name = "peer that may have ended the link", .play = peer_may_have_ended,
     .found = "warn reset 1, note no_answer 1"},
    {.name = "peer of a link of unknown state", .play = peer_of_unknown_link,
     .found = "warn reset 1, note no_answer 1"},
    {.name = "peer that may have ended the link, and answers over TCP",
     .play = peer_ended_and_over_tcp, .found = "warn reset 1, note no_answer 1"},
    {.name = "peer that is heard again on a link of unknown state",
     .play = peer_back_on_unknown_link, .found = "warn reset 1, warn no_answer 1"},
    {.name = "peer that may have ended the link, and ICMP", .play = peer_behind_icmp,
     .found = "warn no_answer 1, warn reset 1"},
    {.name = "what does no harm", .play = harmless, .found = ""},
    {.name = "abort", .play = aborted, .found = "warn abort 1"},
    {.name = "loss, then an abort", .play = loss_aborts, .found = "warn abort 1, warn loss 30"},
    {.name = "RNR NAKs, NAKs with the same PSN", .play = no_buffer,
     .found = "warn no_receive_buffer 16"},
    {.name = "wrong ICRC, then NAKs", .play = damaged, .found = "error wrong_icrc 4"},
    {.name = "wrong ICRC of messages", .play = damaged_messages,
     .found = "error wrong_icrc 4, warn loss 30"},
    {.name = "refusal", .play = refused, .found = "warn refused 1"},
    {.name = "congestion", .play = congested, .found = "warn congestion 110"},
    {.name = "pause", .play = paused, .found = "note pause 1"},
    {.name = "pause, and a flow stands still", .play = paused_flow, .found = "warn pause 1"},
    {.name = "pause, reader, congestion", .play = paused_flow_and_reader,
     .found = "warn slow_reader 1, warn pause 1, warn congestion 110"},
    {.name = "congestion, then a blocked writer", .play = congestion_stops_writer,
     .found = "note slow_reader 1, warn congestion 110"},
    {.name = "late start", .play = late_start, .found = "note late_start 1"},
    {.name = "late start, but loss", .play = late_start_and_loss,
     .found = "warn loss 30, note late_start 1"},
    {.name = "capture lacks packets", .play = lacking, .found = "note not_captured 7"},
    {.name = "rule and format", .play = rule_and_format,
     .found = "error clc_trailer_invalid 1, warn cdc_after_close 1"},
    {.name = "a rule that both sides break", .play = one_notice_of_two_sides,
     .found = "warn cdc_after_close 2"},
    {.name = "rejected by RDMA-CM", .play = rejected, .found = "warn cm_rejected 1"},
    {.name = "handshake without an end", .play = unfinished,
     .found = "note handshake_unfinished 1"},
    {.name = "link that never comes up", .play = failed_link, .found = "warn link_failed 39"},
    {.name = "link that is given up unused", .play = unused_link, .found = "note link_failed 1"},
    {.name = "link that is never seen, and deleted", .play = unseen_link,
     .found = "note llc_second_answer 1"},
    {.name = "link that is given up beside a gap", .play = unused_link_beside_a_gap,
     .found = "note link_failed 1, note not_captured 3"},
    {.name = "link that is given up beside many gaps", .play = unused_link_beside_many_gaps,
     .found = "note not_captured 300, note llc_second_answer 1"},
    {.name = "repeats after the end of a link group", .play = sent_to_nobody,
     .found = "info link_group_ended 1"},
    {.name = "timer that ran out too early", .play = early_timer, .found = "info timeouts 6"},
    {.name = "timer that ran out, message late", .play = late_message, .found = "warn timeouts 6"},
    {.name = "repeated messages of RDMA-CM", .play = cm_repeats, .found = "note cm_repeat 1"},
    {.name = "that nobody answers", .play = cm_unanswered, .found = "warn cm_repeat 1"},
    {.name = "that are answered", .play = cm_answered, .found = "note cm_repeat 1"},
    {.name = "of one direction", .play = cm_one_direction, .found = "note cm_repeat 1"},
    {.name = "fallback, then a reset", .play = fallback_and_reset,
     .found = "warn fallback 2, note tcp_reset 1"},
    {.name = "reset", .play = reset, .found = "warn reset 1"},
    {.name = "five reasons to fall back", .play = many_reasons,
     .found = "warn fallback 1, note fallback 1, note fallback 1, note fallback 2"},
    {.name = "few marks", .play = few_marks, .found = "note congestion 2"},
    {.name = "open and silent", .play = silent_end, .found = "info silent_end 1"},
    {.name = "connections without RoCE", .play = no_roce, .found = "note no_roce 1"},
    {.name = "timeouts, and a connection without RoCE", .play = timeout_and_no_roce,
     .found = "warn fallback 2, note no_roce 1"},
    {.name = "cut frames", .play = cut, .found = "info cut_frames 12"},
    {.name = "congestion of TCP", .play = tcp_marks, .found = "note tcp_congestion 7"},
    {.name = "too big for the path", .play = too_big, .found = "warn path_mtu 10"},
    {.name = "nothing passes", .play = stuck_alone, .found = "warn loss 30"},
    {.name = "packets as large pass", .play = large_arrive, .found = "warn loss 30"},
    {.name = "missing, and no MTU is known", .play = stuck_unseen, .found = "warn loss 30"},
    {.name = "idle close", .play = idle_close, .found = "note idle_close 1"},
    {.name = "idle close, and the client closes at once", .play = idle_close_soon, .found = ""},
    {.name = "idle closes of a timeout", .play = idle_closes, .found = ""},
    {.name = "the client closes first", .play = client_closes, .found = ""},
    {.name = "idle close, and a close that may be missing", .play = idle_close_then_unknown,
     .found = ""},
    {.name = "idle close, then data", .play = idle_close_then_data, .found = "note idle_close 1"},
    {.name = "a wait, and a hasty abort", .play = hasty_abort,
     .found = "note buffer_full 1, warn abort 1"},
    {.name = "a wait, and an abort", .play = other_abort,
     .found = "warn abort 1, note buffer_full 1"},
    {.name = "more than ten", .play = many,
     .found = "warn k 1, note a 1, note b 1, note c 1, note d 1, note e 1, note f 1, "
     "note g 1, note h 1, note i 1"},
};

/* Where nobody knows what the readers of one connection had read, the sum is a lower bound. */
static void
test_lower_bound(void)
{
    for (unsigned known = 0; known < 2; known++) {
        scene_t scene;
        scene_open(&scene);
        aborted(&scene);
        aborted(&scene);
        SMCR_FIGURE_EACH(connection, conn, scene.report.connections) {
            conn->server_to_client.unreported_bytes = 0;
            conn->client_to_server.unannounced_bytes = conn->server_to_client.unannounced_bytes = 0;
        }
        if (!known)
            ((smcr_entry_connection_t *)scene.report.connections.entries[0])
                ->client_to_server.unreported_bytes = SMCR_FIGURE_UNKNOWN;
        smcr_findings_find(&scene.report, scene.notices, scene.notice_count, scene.scope);
        const smcr_entry_finding_t *finding = scene.report.findings.entries[0];
        const char *sum = known ? "; in all, 40,000 bytes from the client not reported as read"
                                : "; in all, at least 20,000 bytes from the client";
        g_assert_nonnull(strstr(finding->text, sum));
        scene_close(&scene);
    }
}

/* Only packets that are larger than all acknowledged ones got no answer: the size may be why. */
static void
test_size_hint(void)
{
    static void (*const plays[])(scene_t *) = {usual_packet_to_dead_peer, big_packet_to_dead_peer};

    for (unsigned is_big = 0; is_big < 2; is_big++) {
        scene_t scene;
        scene_open(&scene);
        plays[is_big](&scene);
        smcr_findings_find(&scene.report, scene.notices, scene.notice_count, scene.scope);
        const smcr_entry_finding_t *finding = scene.report.findings.entries[0];
        const char *hint = strstr(finding->text, "; the receiver acknowledged packets up to 1,084 "
                                                 "bytes, and none above: check the path MTU, too");
        g_assert_cmpstr(finding->kind, ==, "dead_peer");
        g_assert_cmpint(hint != NULL, ==, is_big);
        g_assert_true(is_big || !strstr(finding->text, "MTU"));
        scene_close(&scene);
    }
}

/* Truncated frames do not have their ICRC: the preference does not show which packets are
 * damaged. */
static void
test_damage_hint(void)
{
    static const struct {
        bool checks_all;
        uint64_t cut_frames;
        const char *text;
    } hints[] = {
        {false, 0, " downstream of the capture point, or damaged (-o smcr.check_icrc:TRUE); "},
        {false, 9, " downstream of the capture point, or damaged; "},
        {true, 0, " downstream of the capture point; "},
        {true, 9, " downstream of the capture point, or damaged; "},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(hints); i++) {
        scene_t scene;
        scene_open(&scene);
        pair_t flows = pair(&scene);
        lose(flows.data);
        flows.answers->nak.psn_sequence = 4;
        scene.report.capture.cut_frames = hints[i].cut_frames;
        scene.report.capture.check_icrc = hints[i].checks_all ? SMCR_FIGURE_YES : SMCR_FIGURE_NO;
        smcr_findings_find(&scene.report, scene.notices, scene.notice_count, scene.scope);
        const smcr_entry_finding_t *finding = scene.report.findings.entries[0];
        g_assert_nonnull(strstr(finding->text, hints[i].text));
        scene_close(&scene);
    }
}

/* A snap length that hides all SMC-R has advice, also if CLC shows connections without an end. */
static void
test_snaplen_hint(void)
{
    static const smcr_figure_outcome_t outcomes[] = {SMCR_FIGURE_OUTCOME_UNKNOWN,
                                                     SMCR_FIGURE_OUTCOME_FALLBACK};

    for (unsigned i = 0; i < G_N_ELEMENTS(outcomes); i++) {
        scene_t scene;
        scene_open(&scene);
        connection(&scene)->outcome = outcomes[i];
        scene.report.capture.cut_frames = 9;
        scene.report.other_roce = wmem_new0(scene.scope, smcr_entry_other_roce_t);
        smcr_findings_find(&scene.report, scene.notices, scene.notice_count, scene.scope);
        const smcr_entry_finding_t *finding = NULL;
        SMCR_FIGURE_EACH(finding, each, scene.report.findings)
            finding = strcmp(each->kind, "cut_frames") ? finding : each;
        g_assert_nonnull(finding);
        g_assert_cmpint(strstr(finding->text, "128 bytes or more") != NULL, ==, i == 0);
        scene_close(&scene);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/findings/lower_bound", test_lower_bound);
    g_test_add_func("/findings/size_hint", test_size_hint);
    g_test_add_func("/findings/damage_hint", test_damage_hint);
    g_test_add_func("/findings/snaplen_hint", test_snaplen_hint);
    scene_add_cases("/findings", cases, G_N_ELEMENTS(cases));
    return g_test_run();
}
