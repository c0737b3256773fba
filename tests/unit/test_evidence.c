/* What the capture lacks of the flows of a link group, and what that leaves in doubt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include <string.h>

/* A first contact with its link confirmed; then what happens to the server's flow to the client,
 * letter by letter: a packet that comes (.), one that is absent (x), one that comes too late (l),
 * and an acknowledgement of the last one (a). */
static const struct {
    const char *name, *flow;
    smcr_doubt_kind_t link, since; /* since the confirmation */
    bool holds;                    /* what had not come before the last two letters */
} cases[] = {
    {.name = "whole", .flow = "....", .link = SMCR_DOUBT_NONE, .since = SMCR_DOUBT_NONE,
     .holds = true},
    {.name = "absent", .flow = ".x...", .link = SMCR_DOUBT_ABSENT, .since = SMCR_DOUBT_ABSENT,
     .holds = true},
    {.name = "absent right behind", .flow = "..x.", .link = SMCR_DOUBT_ABSENT,
     .since = SMCR_DOUBT_ABSENT},
    {.name = "nothing behind", .flow = "", .link = SMCR_DOUBT_NONE, .since = SMCR_DOUBT_NONE},
    {.name = "too late", .flow = ".x.al..", .link = SMCR_DOUBT_ABSENT, .since = SMCR_DOUBT_ABSENT,
     .holds = true},
};

typedef struct {
    capture_t capture;
    smcr_conn_t *conn;
    smcr_link_t *link;
    uint32_t next, absent; /* PSNs of the server */
} scene_t;

static void
begin(scene_t *scene)
{
    capture_open(&scene->capture);
    scene->conn = first_contact(&scene->capture);
    confirm_first_link(&scene->capture);
    scene->link = scene->conn->side[0].link;
    scene->next = (uint32_t)(scene->link->qp[CLIENT].traffic.flow.highest & SMCR_PSN_MASK) + 1;
}

static void
send_test_link(scene_t *scene, uint32_t psn)
{
    smcr_llc_t test = {.type = SMCR_LLC_TEST_LINK, .length = 44, .complete = true};

    play_llc_on(&scene->capture, HOST(SERVER), qp_of_side(CLIENT), psn, test);
}

static void
play_letter(scene_t *scene, char letter)
{
    if (letter == '.')
        send_test_link(scene, scene->next++);
    else if (letter == 'x')
        scene->absent = scene->next++;
    else if (letter == 'l')
        send_test_link(scene, scene->absent);
    else
        play_ack(&scene->capture, CLIENT, scene->next - 1);
}

static bool
never(const smcr_doubt_proof_t *claim)
{
    (void)claim;
    return false;
}

static void
test_case(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    size_t length = strlen(cases[i].flow), last = length < 2 ? 0 : length - 2;
    scene_t scene;

    begin(&scene);
    smcr_point_t confirmed = smcr_point_now(&scene.link->qp[CLIENT]);
    for (size_t at = 0; at < last; at++)
        play_letter(&scene, cases[i].flow[at]);
    smcr_point_t before = smcr_point_now(&scene.link->qp[CLIENT]);
    smcr_doubt_proof_t later = {.has_come = never, .count = 1, .points = &before};
    for (size_t at = last; at < length; at++)
        play_letter(&scene, cases[i].flow[at]);
    const smcr_arrival_t *arrival = &scene.capture.arrival;
    g_assert_cmpint(smcr_doubt_link(arrival, scene.link).kind, ==, cases[i].link);
    g_assert_cmpint(smcr_doubt_group(arrival, scene.conn->lgr).kind, ==, cases[i].link);
    g_assert_cmpint(smcr_doubt_since(arrival, &confirmed).kind, ==, cases[i].since);
    g_assert_true(smcr_doubt_proof_holds(scene.capture.state, &later) == cases[i].holds);
    capture_close(&scene.capture);
}

/* A packet that was not taken in proves nothing; nor does a group without its beginning, or with a
 * link of which the capture has nothing. */
static void
test_other_doubts(void)
{
    scene_t scene;

    begin(&scene);
    smcr_lgr_t *lgr = scene.conn->lgr;
    const smcr_arrival_t *arrival = &scene.capture.arrival;
    g_assert_cmpuint(lgr->unfinished_clc_conns, ==, 0);
    smcr_link_t *second = smcr_link_new(scene.capture.state, lgr);
    g_assert_cmpint(smcr_doubt_group(arrival, lgr).kind, ==, SMCR_DOUBT_ABSENT);
    second->state = SMCR_LINK_REJECTED;
    g_assert_cmpint(smcr_doubt_group(arrival, lgr).kind, ==, SMCR_DOUBT_NONE);
    lgr->first_contact_captured = false;
    g_assert_cmpint(smcr_doubt_group(arrival, lgr).kind, ==, SMCR_DOUBT_START);
    smcr_conn_join(smcr_conn_new(scene.capture.state), lgr);
    g_assert_cmpuint(lgr->unfinished_clc_conns, !=, 0);
    g_assert_cmpint(smcr_doubt_message(arrival).kind, ==, SMCR_DOUBT_NONE);
    scene.capture.record.receiver_action = SMCR_FLOW_RECEIVER_WAITS;
    g_assert_cmpint(smcr_doubt_message(arrival).kind, ==, SMCR_DOUBT_FATE);
    capture_close(&scene.capture);
}

/* Two groups began before the capture: each host has sent a CDC message on the only link of each. A
 * third group has its first contact in the capture. A DELETE LINK is truncated, on one of them. */
static void
test_unread_deletion(void)
{
    static const struct {
        uint8_t host; /* of the receiver of DELETE LINK; the peer's is one lower */
        uint32_t qpn;
        bool is_known; /* whether the link of the second group is known to be active */
    } deletions[] = {{.host = HOST(SERVER), .qpn = SERVER_QPN, .is_known = true},
                     {.host = 0x32, .qpn = 9}, {.host = 0x42, .qpn = 9}};

    for (unsigned i = 0; i < G_N_ELEMENTS(deletions); i++) {
        smcr_ib_headers_t ack = {.opcode = SMCR_RC_ACK, .has_aeth = true, .syndrome = 0x1f};
        smcr_ib_qp_key_t target = key_of(deletions[i].host, deletions[i].qpn);
        smcr_qp_t *qp = NULL;
        scene_t scene;
        begin(&scene);
        capture_t *capture = &scene.capture;
        for (uint8_t host = 0x32; host <= 0x42; host += 0x10) {
            play_cdc_on(capture, host - 1, key_of(host, 9), 50,
                        (smcr_cdc_t){.seq = 1, .token = 5});
            play_cdc_on(capture, host, key_of(host - 1, 7), 61,
                        (smcr_cdc_t){.seq = 1, .token = 6});
            play(capture, host - 1, key_of(host, 9), 61, ack);
            qp = capture->arrival.qp;
        }
        g_assert_true(qp->link->state == SMCR_LINK_ACTIVE && smcr_evidence_knows_link(qp->link));
        smcr_llc_t deletion = {.type = SMCR_LLC_DELETE_LINK, .length = SMCR_LLC_LENGTH};
        uint32_t psn = (uint32_t)smcr_qp_find(capture->state, &target)->traffic.flow.highest + 1;
        play(capture, deletions[i].host - 1, target, psn & SMCR_PSN_MASK,
             (smcr_ib_headers_t){.opcode = SMCR_RC_SEND_ONLY});
        smcr_state_llc(&capture->arrival, &deletion);
        g_assert_true(smcr_evidence_knows_link(qp->link) == deletions[i].is_known);
        capture_close(capture);
    }
}

/* A reader has moved from the first link to another one. On the first link, one of its packets came
 * too late, before a retransmission of the writer on the other link. So the writer may have sent
 * this data first without what the reader's packet says: the time since then counts. */
static void
test_moved_reader(void)
{
    scene_t scene;

    begin(&scene);
    smcr_record_t record = {.link = smcr_link_new(scene.capture.state, scene.conn->lgr),
                            .conn = scene.conn,
                            .sender = CLIENT,
                            .order = SMCR_FLOW_IS_NEXT};
    scene.conn->side[SERVER].link = record.link;
    scene.conn->side[SERVER].moved_frame = 1;
    record.first_frame = scene.capture.arrival.when.frame;
    for (const char *letter = ".x.al."; *letter; letter++)
        play_letter(&scene, *letter);
    uint32_t frame = scene.capture.arrival.when.frame + 1;
    g_assert_true(smcr_evidence_hears_reader(&record, frame));
    record.order = SMCR_FLOW_IS_RETRANSMISSION;
    g_assert_false(smcr_evidence_hears_reader(&record, frame));
    capture_close(&scene.capture);
}

/* A breach is said where nothing is doubtful, with what has to bear it out. */
static void
test_breach(void)
{
    static const smcr_doubt_proof_t claim = {.has_come = never};
    scene_t scene;

    begin(&scene);
    next_frame(&scene.capture, NULL);
    const smcr_arrival_t *arrival = &scene.capture.arrival;
    smcr_breach_report_unless(arrival, SMCR_EVENT_write_unknown_rkey,
                              (smcr_doubt_t){SMCR_DOUBT_START, NULL}, "a");
    g_assert_cmpstr(events(&scene.capture), ==, "");
    smcr_breach_report_unless(arrival, SMCR_EVENT_write_unknown_rkey,
                              (smcr_doubt_t){SMCR_DOUBT_ABSENT, NULL}, "b");
    g_assert_cmpstr(events(&scene.capture), ==, "breach_doubtful");
    next_frame(&scene.capture, NULL);
    smcr_breach_report_unless(arrival, SMCR_EVENT_write_unknown_rkey,
                              (smcr_doubt_t){SMCR_DOUBT_NONE, &claim}, "c");
    g_assert_cmpstr(events(&scene.capture), ==, "write_unknown_rkey");
    g_assert_true(scene.capture.record.events->deferred_check == &claim);
    capture_close(&scene.capture);
}

/* A group with more links than there are numbers forgets the oldest: what is done for each link
 * does not grow. Then nobody is blamed any more; the newest is found by its number. */
static void
test_many_links(void)
{
    enum { LINKS = 5000, KEPT = 64 };
    scene_t scene;
    smcr_link_t *link = NULL;
    unsigned count = 0;

    begin(&scene);
    smcr_lgr_t *lgr = scene.conn->lgr;
    for (unsigned i = 0; i < LINKS; i++) {
        g_assert_cmpint(smcr_doubt_group(&scene.capture.arrival, lgr).kind, ==,
                        i < KEPT - 1 ? SMCR_DOUBT_NONE : SMCR_DOUBT_START);
        link = smcr_link_new(scene.capture.state, lgr);
        link->state = SMCR_LINK_REJECTED;
    }
    link->state = SMCR_LINK_ACTIVE;
    link->has_number = true;
    link->number = 7;
    g_assert_true(smcr_lgr_link(lgr, 7) == link);
    g_assert_true(lgr->newest_link == link);
    for (; link; link = smcr_link_older(link))
        count++;
    g_assert_cmpuint(count, <, KEPT);
    capture_close(&scene.capture);
}

/* Connections that have ended are not looked at again: what is done for each open one does not grow
 * with their number. */
static void
test_many_connections(void)
{
    enum { CONNECTIONS = 5000 };
    scene_t scene;
    unsigned count = 0;

    begin(&scene);
    smcr_lgr_t *lgr = scene.conn->lgr;
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        smcr_conn_t *conn = smcr_conn_new(scene.capture.state);
        smcr_conn_join(conn, lgr);
        g_assert_cmpuint(lgr->unfinished_clc_conns, !=, 0);
        conn->decline_frame = conn->side[i % 2].closed_frame = 1;
        smcr_conn_note_clc(conn);
        smcr_conn_note_clc(conn);
        g_assert_cmpuint(lgr->unfinished_clc_conns, ==, 0);
    }
    g_assert_true(smcr_conn_first_open(&lgr->newest_open_conn) == scene.conn);
    for (const smcr_conn_t *conn = lgr->newest_open_conn; conn; conn = conn->older_open)
        count++;
    g_assert_cmpuint(count, ==, 1);
    capture_close(&scene.capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/evidence/flow/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_case);
        g_free(path);
    }
    g_test_add_func("/evidence/others", test_other_doubts);
    g_test_add_func("/evidence/unread deletion", test_unread_deletion);
    g_test_add_func("/evidence/moved reader", test_moved_reader);
    g_test_add_func("/evidence/breach", test_breach);
    g_test_add_func("/evidence/many links", test_many_links);
    g_test_add_func("/evidence/many connections", test_many_connections);
    return g_test_run();
}
