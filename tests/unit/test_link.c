/* Queue pairs, links and link groups: which is which, and how they live.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#define A 1 /* hosts, and their second devices */
#define A2 0x11
#define B 2
#define B2 0x12
#define B3 0x13

static smcr_link_t *
new_link(capture_t *capture, smcr_lgr_t *lgr, smcr_ib_qp_key_t client, smcr_ib_qp_key_t server)
{
    smcr_link_t *link = smcr_link_new(capture->state, lgr);

    smcr_qp_set(capture->state, link, CLIENT, &client, SMCR_GROUND_CLC);
    smcr_qp_set(capture->state, link, SERVER, &server, SMCR_GROUND_CLC);
    return link;
}

static smcr_qp_t *
find(const capture_t *capture, smcr_ib_qp_key_t key)
{
    return smcr_qp_find(capture->state, &key);
}

static void
test_ends(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_lgr_t *lgr = smcr_lgr_new(capture.state);
    smcr_link_t *link = new_link(&capture, lgr, key_of(A, 7), key_of(B, 7)); /* equal numbers */
    smcr_link_t *second = new_link(&capture, lgr, key_of(A2, 7), key_of(B, 8));

    g_assert_true(find(&capture, key_of(A, 7)) == &link->qp[CLIENT]);
    g_assert_true(find(&capture, key_of(B, 7)) == &link->qp[SERVER]);
    g_assert_true(find(&capture, key_of(A2, 7)) == &second->qp[CLIENT]);
    g_assert_true(find(&capture, key_of(B, 8)) == &second->qp[SERVER]);
    g_assert_null(find(&capture, key_of(A, 8)));
    g_assert_null(find(&capture, key_of(3, 7)));
    g_assert_true(smcr_qp_peer(&link->qp[CLIENT]) == &link->qp[SERVER]);
    g_assert_true(smcr_qp_peer(&link->qp[SERVER]) == &link->qp[CLIENT]);
    g_assert_cmpuint(link->index, ==, 0);
    g_assert_cmpuint(second->index, ==, 1);
    capture_close(&capture);
}

/* Both ends have the same GID: a host that talks to itself. */
static void
test_loopback(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_link_t *link = new_link(&capture, smcr_lgr_new(capture.state), key_of(A, 1), key_of(A, 2));
    g_assert_true(find(&capture, key_of(A, 1)) == &link->qp[CLIENT]);
    g_assert_true(find(&capture, key_of(A, 2)) == &link->qp[SERVER]);
    capture_close(&capture);
}

/* One queue pair cannot be both ends of a link. */
static void
test_loopback_same(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_link_t *link = new_link(&capture, smcr_lgr_new(capture.state), key_of(A, 1), key_of(A, 1));
    g_assert_true(find(&capture, key_of(A, 1)) == &link->qp[CLIENT]);
    g_assert_false(link->qp[SERVER].number_known);
    capture_close(&capture);
}

/* A queue pair that is set up again belongs to the new link, and its old peer to nobody. */
static void
test_reuse(void)
{
    capture_t capture;

    capture_open(&capture);
    new_link(&capture, smcr_lgr_new(capture.state), key_of(A, 1), key_of(B, 1));
    smcr_link_t *link = smcr_link_new(capture.state, smcr_lgr_new(capture.state));
    smcr_ib_qp_key_t again = key_of(B, 1);
    smcr_qp_set(capture.state, link, SERVER, &again, SMCR_GROUND_CLC);
    g_assert_true(find(&capture, key_of(B, 1)) == &link->qp[SERVER]);
    g_assert_null(find(&capture, key_of(A, 1)));

    again = key_of(A, 1);
    smcr_qp_set(capture.state, link, CLIENT, &again, SMCR_GROUND_CLC);
    g_assert_true(find(&capture, key_of(A, 1)) == &link->qp[CLIENT]);
    g_assert_true(find(&capture, key_of(B, 1)) == &link->qp[SERVER]);
    capture_close(&capture);
}

/* What is known of an end stays. */
static void
test_end_stays(void)
{
    capture_t capture;
    smcr_ib_qp_key_t other = key_of(B, 9);

    capture_open(&capture);
    smcr_link_t *link = new_link(&capture, smcr_lgr_new(capture.state), key_of(A, 1), key_of(B, 1));
    smcr_qp_set(capture.state, link, SERVER, &other, SMCR_GROUND_CLC);
    g_assert_cmpuint(link->qp[SERVER].key.qpn, ==, 1);
    g_assert_null(find(&capture, other));
    capture_close(&capture);
}

/* ---- numbers ---- */

static void
test_numbers(void)
{
    static const struct {
        smcr_link_state_t state;
        uint8_t number;
    } links[] = {
        {SMCR_LINK_ACTIVE, 1},   {SMCR_LINK_DELETED, 2},   {SMCR_LINK_ANNOUNCED, 2},
        {SMCR_LINK_REJECTED, 2}, {SMCR_LINK_ACTIVE, 3},    {SMCR_LINK_ANNOUNCED, 3},
        {SMCR_LINK_DELETED, 4},
    };
    static const int by_number[] = {-1, 0, 2, 5, -1, -1};
    capture_t capture;

    capture_open(&capture);
    smcr_lgr_t *lgr = smcr_lgr_new(capture.state);
    for (unsigned i = 0; i < G_N_ELEMENTS(links); i++) {
        smcr_link_t *link = smcr_link_new(capture.state, lgr);
        link->has_number = true;
        link->number = links[i].number;
        link->state = links[i].state;
    }
    smcr_link_new(capture.state, lgr); /* without number: no link 0 */
    for (unsigned i = 0; i < G_N_ELEMENTS(by_number); i++) {
        const smcr_link_t *link = smcr_lgr_link(lgr, (uint8_t)i);
        g_assert_cmpint(link ? (int)link->index : -1, ==, by_number[i]);
    }
    capture_close(&capture);
}

/* ---- life ---- */

static const struct {
    smcr_link_state_t before, activated, deleted;
} lives[] = {
    {.before = SMCR_LINK_ANNOUNCED, .activated = SMCR_LINK_ACTIVE, .deleted = SMCR_LINK_DELETED},
    {.before = SMCR_LINK_ACTIVE, .activated = SMCR_LINK_ACTIVE, .deleted = SMCR_LINK_DELETED},
    {.before = SMCR_LINK_REJECTED, .activated = SMCR_LINK_REJECTED, .deleted = SMCR_LINK_REJECTED},
    {.before = SMCR_LINK_DELETED, .activated = SMCR_LINK_DELETED, .deleted = SMCR_LINK_DELETED},
};

static void
test_life(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(lives); i++) {
        capture_t capture;
        capture_open(&capture);
        smcr_lgr_t *lgr = smcr_lgr_new(capture.state);
        for (int delete = 0; delete < 2; delete++) {
            smcr_link_t *link = new_link(&capture, lgr, key_of(A, 1), key_of(B, 1));
            if (lives[i].before == SMCR_LINK_ACTIVE)
                smcr_link_activate(link);
            link->state = lives[i].before;
            if (delete)
                smcr_link_delete(link, 7);
            else
                smcr_link_activate(link);
            g_assert_cmpint(link->state, ==, delete ? lives[i].deleted : lives[i].activated);
            if (delete && link->state != lives[i].before)
                g_assert_cmpuint(link->deleted_frame, ==, 7);
            smcr_link_delete(link, 8);
            g_assert_cmpuint(lgr->active_links, ==, 0);
        }
        capture_close(&capture);
    }
}

static void
test_end_of_group(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_lgr_t *lgr = smcr_lgr_new(capture.state);
    smcr_link_t *one = new_link(&capture, lgr, key_of(A, 1), key_of(B, 1));
    smcr_link_t *two = new_link(&capture, lgr, key_of(A2, 1), key_of(B2, 1));
    smcr_link_activate(one);
    smcr_link_activate(two);
    smcr_link_delete(one, 4);
    g_assert_cmpuint(lgr->ended_frame, ==, 0);
    smcr_link_delete(two, 5);
    g_assert_cmpuint(lgr->ended_frame, ==, 5);
    g_assert_null(smcr_lgr_link(lgr, 0));
    smcr_link_delete(new_link(&capture, lgr, key_of(A, 2), key_of(B, 2)), 6); /* never active */
    g_assert_cmpuint(lgr->ended_frame, ==, 5);
    capture_close(&capture);
}

/* The type of a group by its active links, each {device of the client, of the server}. */
static const struct {
    const char *name;
    uint8_t links[3][2];
    smcr_lgr_type_t type;
    int single; /* side */
} types[] = {
    {.name = "one link", .links = {{A, B}}, .type = SMCR_LGR_SINGLE, .single = -1},
    {.name = "symmetric", .links = {{A, B}, {A2, B2}}, .type = SMCR_LGR_SYMMETRIC, .single = -1},
    {.name = "client has one device", .links = {{A, B}, {A, B2}}, .type = SMCR_LGR_ASYMMETRIC,
     .single = CLIENT},
    {.name = "server has one device", .links = {{A, B}, {A2, B}}, .type = SMCR_LGR_ASYMMETRIC,
     .single = SERVER},
    {.name = "third link", .links = {{A, B}, {A2, B2}, {A2, B}}, .type = SMCR_LGR_ASYMMETRIC,
     .single = SERVER},
    {.name = "two links after the oldest one share a device", .links = {{A, B}, {A2, B2}, {A2, B3}},
     .type = SMCR_LGR_ASYMMETRIC, .single = CLIENT},
};

static void
test_type(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    capture_t capture;
    smcr_link_t *last = NULL;

    capture_open(&capture);
    smcr_lgr_t *lgr = smcr_lgr_new(capture.state);
    for (unsigned n = 0; n < 3 && types[i].links[n][0]; n++) {
        smcr_lgr_type_t before = lgr->type;
        last = new_link(&capture, lgr, key_of(types[i].links[n][0], 10 + n),
                        key_of(types[i].links[n][1], 20 + n));
        bool changed = smcr_link_activate(last);
        g_assert_cmpint(changed, ==, lgr->type != before);
    }
    g_assert_cmpint(lgr->type, ==, types[i].type);
    g_assert_cmpint(lgr->single_side, ==, types[i].single);

    /* The last link goes: two remain of three, and they are symmetric; else one, or none. */
    bool changed = smcr_link_delete(last, 9);
    bool two_remain = types[i].links[2][0] != 0;
    smcr_lgr_type_t after = two_remain ? SMCR_LGR_SYMMETRIC : SMCR_LGR_SINGLE;
    g_assert_cmpint(lgr->type, ==, after);
    g_assert_cmpint(changed, ==, types[i].type != after);
    g_assert_cmpint(lgr->single_side, ==, -1);
    capture_close(&capture);
}

/* A group has at most 255 links, whatever it is told: the list of them must not grow for ever. */
static void
test_many_links(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_lgr_t *lgr = smcr_lgr_new(capture.state);
    for (uint32_t i = 0; i < 1000; i++) {
        smcr_link_t *link = new_link(&capture, lgr, key_of(A, i), key_of(B, i));
        smcr_link_activate(link);
        if (i % 2)
            smcr_link_delete(link, i + 2);
    }
    g_assert_cmpuint(wmem_list_count(lgr->links), <=, 256);
    capture_close(&capture);
}

/* Nor must that of the groups. */
static void
test_many_groups(void)
{
    capture_t capture;

    capture_open(&capture);
    for (uint32_t i = 0; i < 1000; i++) {
        smcr_lgr_t *lgr = smcr_lgr_new(capture.state);
        g_assert_cmpuint(lgr->index, ==, SMCR_LGR_NO_INDEX);
        smcr_lgr_give_index(capture.state, lgr);
        smcr_lgr_give_index(capture.state, lgr);
        g_assert_cmpuint(lgr->index, ==, i);
    }
    g_assert_cmpuint(wmem_list_count(capture.state->lgrs), <=, 256);
    capture_close(&capture);
}

/* Hosts of different networks may have the same last bytes, and the same queue pair number: their
 * places in hash tables differ nevertheless. Of 4096 in as many places, some 2590 are taken. */
static void
test_networks(void)
{
    enum { NETWORKS = 4096 };
    bool taken[NETWORKS] = {false};
    uint8_t gid[SMCR_GID_LENGTH] = {0x20, 0x01, [15] = 1};
    unsigned count = 0;

    for (unsigned i = 0; i < NETWORKS; i++) {
        gid[6] = (uint8_t)(i >> 8);
        gid[7] = (uint8_t)i;
        bool *place = &taken[smcr_wire_hash(gid, SMCR_GID_LENGTH) % NETWORKS];
        count += !*place;
        *place = true;
    }
    g_assert_cmpuint(count, >, NETWORKS / 2);
}

/* Host A sends the first message of a connection on a half-known link. The RMB of host B has 300
 * bytes. */
static smcr_rmb_t *
play_half(capture_t *capture)
{
    play_cdc_on(capture, A, key_of(B, 9), 50, (smcr_cdc_t){.seq = 1, .token = 5});
    smcr_conn_t *conn = capture->record.conn;
    smcr_rmb_t *rmb = smcr_rmb_announce(capture->state, capture->arrival.qp, 0x77, 0x70000000);
    smcr_rmb_set_conn(capture->state, rmb, 1, conn);
    smcr_stream_start(&conn->side[1].in, ELEMENT, 0);
    smcr_stream_announce(&conn->side[1].in, (smcr_cursor_t){0, 300});
    return rmb;
}

/* Two links of which one queue pair each is known. An acknowledgement of what the second has sent
 * names the first: both are one, with all that they have; the sides of the first flip. */
static void
test_join(void)
{
    static const struct {
        uint32_t psn; /* that is acknowledged */
        uint32_t qpn; /* of the queue pair that it is sent to */
        bool joined;
    } cases[] = {{.psn = 61, .qpn = 9, .joined = true}, {.psn = 70, .qpn = 9},
                 {.psn = 61, .qpn = 8}};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        capture_t capture;
        capture_open(&capture);
        smcr_rmb_t *rmb = play_half(&capture);
        smcr_conn_t *one = capture.record.conn;
        smcr_link_t *before = capture.arrival.qp->link;
        play_cdc_on(&capture, B, key_of(A, 7), 61, (smcr_cdc_t){.seq = 1, .token = 6});
        smcr_conn_t *other = capture.record.conn;
        smcr_lgr_t *lgr = other->lgr;
        g_assert_true(one->lgr != lgr && one != other);
        play(&capture, A, key_of(B, cases[i].qpn), cases[i].psn,
             (smcr_ib_headers_t){.opcode = SMCR_RC_ACK, .has_aeth = true, .syndrome = 0x1f});
        smcr_qp_t *qp = find(&capture, key_of(B, 9));
        g_assert_true((one->lgr == lgr) == cases[i].joined);
        g_assert_true((qp->link == find(&capture, key_of(A, 7))->link) == cases[i].joined);
        g_assert_true(one->sides_swapped == cases[i].joined && !other->sides_swapped);
        g_assert_true((before->merged_into == qp->link) == cases[i].joined);
        const int side = cases[i].joined ? 0 : 1; /* of host B */
        g_assert_true(qp->side == side && smcr_qp_peer(qp)->gid_known);
        g_assert_true(smcr_conn_find(capture.state, one->lgr, side, 5) == one);
        g_assert_true(smcr_conn_find(capture.state, lgr, 1, 6) == other);
        g_assert_false(one->side[!side].has_token);
        g_assert_true(one->side[side].last_confirmed_use.qp == qp);
        g_assert_cmpuint(one->side[side].in.announced, ==, 300);
        g_assert_false(one->side[!side].in.positions_known);
        g_assert_true(rmb->lgr == one->lgr && rmb->side == side);
        g_assert_true(smcr_rmb_same(capture.state, qp, 0x77, 0x70000000) == rmb);
        g_assert_true(smcr_rmb_conn(rmb, 1) == one);
        capture_close(&capture);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/link/ends", test_ends);
    g_test_add_func("/link/loopback", test_loopback);
    g_test_add_func("/link/loopback, same queue pair", test_loopback_same);
    g_test_add_func("/link/reuse", test_reuse);
    g_test_add_func("/link/end stays", test_end_stays);
    g_test_add_func("/link/numbers", test_numbers);
    g_test_add_func("/link/life", test_life);
    g_test_add_func("/link/end of group", test_end_of_group);
    g_test_add_func("/link/many", test_many_links);
    g_test_add_func("/link/many groups", test_many_groups);
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++) {
        char *path = g_strdup_printf("/link/type/%s", types[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_type);
        g_free(path);
    }
    g_test_add_func("/link/networks", test_networks);
    g_test_add_func("/link/two are one", test_join);
    return g_test_run();
}
