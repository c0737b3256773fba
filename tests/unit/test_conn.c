/* Connections by their alert tokens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include "state/model/socket.h"
#include "state/rules/memory.h"

static smcr_conn_t *
new_conn(capture_t *capture, smcr_lgr_t *lgr)
{
    smcr_conn_t *conn = smcr_conn_new(capture->state);

    conn->lgr = lgr;
    return conn;
}

/* Tokens mean something only within a group and for one side. */
static void
test_tokens(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_lgr_t *lgrs[] = {smcr_lgr_new(capture.state), smcr_lgr_new(capture.state)};
    smcr_conn_t *conns[2][2];
    for (int group = 0; group < 2; group++)
        for (int side = 0; side < 2; side++) {
            conns[group][side] = new_conn(&capture, lgrs[group]);
            smcr_conn_set_token(capture.state, conns[group][side], side, 77);
        }
    for (int group = 0; group < 2; group++)
        for (int side = 0; side < 2; side++) {
            g_assert_true(smcr_conn_find(capture.state, lgrs[group], side, 77) ==
                          conns[group][side]);
            g_assert_cmpuint(conns[group][side]->index, ==, (unsigned)(2 * group + side));
            g_assert_true(conns[group][side]->side[side].has_token);
            g_assert_false(conns[group][side]->side[!side].has_token);
            g_assert_cmpuint(conns[group][side]->side[side].token, ==, 77);
        }
    g_assert_null(smcr_conn_find(capture.state, lgrs[0], 0, 78));
    g_assert_null(smcr_conn_find(capture.state, smcr_lgr_new(capture.state), 0, 77));
    capture_close(&capture);
}

static void
test_reuse(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_lgr_t *lgr = smcr_lgr_new(capture.state);
    smcr_conn_t *before = new_conn(&capture, lgr);
    smcr_conn_t *after = new_conn(&capture, lgr);
    smcr_conn_set_token(capture.state, before, CLIENT, 5);
    smcr_conn_set_token(capture.state, before, SERVER, 5);
    smcr_conn_set_token(capture.state, after, SERVER, 5);
    g_assert_true(smcr_conn_find(capture.state, lgr, CLIENT, 5) == before);
    g_assert_true(smcr_conn_find(capture.state, lgr, SERVER, 5) == after);
    capture_close(&capture);
}

/* More than the map begins with. */
static void
test_many(void)
{
    capture_t capture;
    enum { COUNT = 4000 };

    capture_open(&capture);
    smcr_lgr_t *lgr = smcr_lgr_new(capture.state);
    for (uint32_t i = 0; i < COUNT; i++)
        smcr_conn_set_token(capture.state, new_conn(&capture, lgr), i & 1, i / 2);
    for (uint32_t i = 0; i < COUNT; i++)
        g_assert_cmpuint(smcr_conn_find(capture.state, lgr, i & 1, i / 2)->index, ==, i);
    capture_close(&capture);
}

/* ---- connections that are released ---- */

enum { LATER = 4096 }; /* a frame after which the records of the connection are forgotten */

/* What may keep a connection that has ended from its release. */
typedef struct {
    const char *name;
    bool is_open;   /* one side has not closed */
    bool is_newest; /* it is the last one of its link group */
    bool is_kept;   /* somebody else points to it */
    bool is_needed; /* the caller has not finished with it */
    bool is_recent; /* the records of its packets are not forgotten */
} stay_t;

/* Whether the caller has finished: `data` is a connection that it still needs; NULL: none. */
static bool
is_finished(const smcr_conn_t *conn, const void *data)
{
    return conn != data;
}

static const smcr_conn_t *released; /* the connection that is released last */

static void
note_release(smcr_conn_t *conn)
{
    released = conn;
}

/* Makes the second connection of the group, which uses the elements of the first one. */
static void
play_next_conn(capture_t *capture)
{
    smcr_conn_t *next = new_conn(capture, NULL);
    smcr_clc_accept_t accept = announcement(SERVER), confirm = announcement(CLIENT);

    accept.token++;
    confirm.token++;
    play_accept(capture, next, false, &accept);
    play_confirm(capture, next, &confirm);
}

/* A connection has closed, and a later one of its group uses its RMB elements. It is released,
 * unless something keeps it. Then nothing names it any more, and its memory serves the next one. */
static void
test_release(gconstpointer data)
{
    const stay_t *stay = data;
    capture_t capture;
    int conversation;

    capture_open(&capture);
    smcr_conn_t *conn = first_contact(&capture);
    smcr_lgr_t *lgr = conn->lgr;
    smcr_conn_set_conversation(capture.state, conn, &conversation, 1);
    conn->ipv4 = true;
    confirm_first_link(&capture);
    for (int side = 0; side < 2 - stay->is_open; side++)
        play_cdc(&capture, side, (smcr_cdc_t){.token = side ? CLIENT_TOKEN : SERVER_TOKEN,
                                              .seq = 1, .state = SMCR_CDC_STATE_CLOSED});
    smcr_conn_note_activity(conn, capture.arrival.when);
    if (!stay->is_newest)
        play_next_conn(&capture);
    if (stay->is_kept)
        smcr_conn_keep(conn);
    const smcr_state_finished_t finished = {
        .has = is_finished, .data = stay->is_needed ? conn : NULL, .release = note_release};
    released = NULL;
    smcr_state_forget(capture.state, stay->is_recent ? 1 : LATER, &finished);
    bool stays =
        stay->is_open || stay->is_newest || stay->is_kept || stay->is_needed || stay->is_recent;
    g_assert_true(released == (stays ? NULL : conn));
    g_assert_cmpint(smcr_conn_of_conversation(capture.state, &conversation) == conn, ==, stays);
    g_assert_cmpint(smcr_conn_find(capture.state, lgr, SERVER, SERVER_TOKEN) == conn, ==, stays);
    g_assert_cmpint(smcr_conn_new(capture.state) != conn, ==, stays);
    g_assert_cmpint(smcr_lgr_has_one_conn(lgr), ==, stay->is_newest);
    capture_close(&capture);
}

/* A WRITE of a connection that is still open has its record forgotten. Its place, and its
 * acknowledgement, are freed with the connection, and not before. */
static void
test_forgotten_places(void)
{
    const smcr_state_finished_t finished = {.has = is_finished, .release = note_release};
    capture_t capture;

    capture_open(&capture);
    smcr_conn_t *conn = smcr_conn_new(capture.state);
    smcr_place_t *place = smcr_state_alloc0(capture.state, sizeof *place);
    smcr_ack_t *ack = smcr_state_alloc0(capture.state, sizeof *ack);
    smcr_record_t record;
    place->acked = smcr_ack_hold(ack);
    smcr_record_begin(&record);
    record.conn = conn;
    record.write_location = place;
    smcr_record_keep(&(smcr_arrival_t){.state = capture.state, .when = {1, 1}, .record = &record},
                     0);

    smcr_state_forget(capture.state, LATER, &finished);
    g_assert_true(place->acked == ack && ack->holders == 1);
    smcr_record_free_parts(capture.state, conn);
    g_assert_true(smcr_state_alloc0(capture.state, sizeof *place) == place);
    g_assert_true(smcr_state_alloc0(capture.state, sizeof *ack) == ack);
    capture_close(&capture);
}

/* The rules keep the offer of a Proposal with its EIDs. It is freed with the connection. */
static void
test_freed_offer(void)
{
    enum { EIDS = 8 };
    const size_t size = sizeof(smcr_rules_offer_t) + EIDS * sizeof(uint32_t);
    capture_t capture;

    capture_open(&capture);
    smcr_conn_t *conn = smcr_conn_new(capture.state);
    const smcr_arrival_t arrival = {.state = capture.state};
    smcr_rules_conn_t *kept = smcr_rules_conn(&arrival, conn);
    smcr_rules_offer_t *offer = kept->offer = smcr_state_alloc0(capture.state, size);
    offer->eid_count = EIDS;
    smcr_rules_free_conn(capture.state, conn);
    g_assert_true(smcr_state_alloc0(capture.state, size) == offer);
    capture_close(&capture);
}

/* A link was deleted long ago. Of the history of its flows only the highest PSNs stay: so many as a
 * new table has slots. Before, all stay. */
static void
test_history_of_deleted_link(void)
{
    enum { PSNS = 100, STAY = 4 };
    const smcr_state_finished_t finished = {.has = is_finished, .release = note_release};
    capture_t capture;

    capture_open(&capture);
    smcr_link_t *link = first_contact(&capture)->lgr->newest_link;
    smcr_seen_t *seen = &link->qp[SERVER].traffic.flow.psn_history;
    for (smcr_psn_t psn = 1; psn <= PSNS; psn++) {
        smcr_seen_packet_t *packet = smcr_seen_add(seen, capture.state->scope, psn, PSNS,
                                                   &(smcr_sent_t){.when = {1, psn}});
        smcr_seen_rare(packet, capture.state->scope);
    }
    smcr_state_forget(capture.state, LATER, &finished);
    g_assert_nonnull(smcr_seen_find(seen, 1));
    smcr_link_delete(link, capture.arrival.when.frame);
    smcr_state_forget(capture.state, 1, &finished);
    g_assert_nonnull(smcr_seen_find(seen, 1));
    smcr_state_forget(capture.state, LATER, &finished);
    for (smcr_psn_t psn = 1; psn <= PSNS; psn++)
        g_assert_cmpint(smcr_seen_find(seen, psn) != NULL, ==, psn > PSNS - STAY);
    g_assert_cmpuint(seen->used, ==, STAY);
    capture_close(&capture);
}

static void
test_direction(void)
{
    static const struct {
        int server, sender, direction;
    } cases[] = {{.server = 1}, {.server = 1, .sender = 1, .direction = 1}, {.direction = 1},
                 {.sender = 1}, {.server = -1, .direction = -1},
                 {.server = -1, .sender = 1, .direction = -1}};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        smcr_lgr_t lgr = {.server = cases[i].server};
        g_assert_cmpint(smcr_conn_direction(&lgr, cases[i].sender), ==, cases[i].direction);
    }
}

/* What a host tells of its end; the other end tells it the other way round. */
static smcr_told_socket_t
told_by(bool is_server, uint32_t written, uint32_t received)
{
    const uint16_t ports[] = {is_server ? 80 : 1000, is_server ? 1000 : 80};
    smcr_told_socket_t told = {.has_conn = true, .has_lgr = true, .is_server = is_server,
                               .token = is_server ? SERVER_TOKEN : CLIENT_TOKEN,
                               .size = {ELEMENT, ELEMENT}, .tx_prod = {0, written},
                               .rx_prod = {0, received}};

    for (unsigned end = 0; end < SMCR_TOLD_ENDS; end++) {
        bool of_server = (end == SMCR_TOLD_OWN) == is_server;
        told.port[end] = ports[end];
        memcpy(told.gid[end], key_of(HOST(of_server), 0).gid, SMCR_GID_LENGTH);
        memcpy(told.address[end], key_of(HOST(of_server), 0).gid, SMCR_GID_LENGTH);
    }
    return told;
}

/* Told again it is the same. The token with other ends is another socket, and finds that one. */
static void
test_sockets(void)
{
    capture_t capture;
    smcr_told_socket_t told = told_by(false, 100, 0), later = told_by(false, 200, 0);
    smcr_told_socket_t other = told_by(false, 200, 0);

    capture_open(&capture);
    smcr_socket_t *socket = smcr_socket_keep(capture.state, &told, 1, (smcr_when_t){1, 10});
    g_assert_true(smcr_socket_keep(capture.state, &later, 2, (smcr_when_t){2, 20}) == socket);
    g_assert_true(socket->first.frame == 1 && socket->dump == 2);
    g_assert_true(smcr_socket_of(capture.state, &told) == socket);
    other.port[SMCR_TOLD_PEER] = 81;
    smcr_socket_t *after = smcr_socket_keep(capture.state, &other, 3, (smcr_when_t){3, 30});
    g_assert_true(after != socket && after->older == socket);
    g_assert_true(smcr_socket_of_token(capture.state, told.gid[SMCR_TOLD_OWN], CLIENT_TOKEN) ==
                  after);
    g_assert_null(smcr_socket_of(capture.state, &told));
    g_assert_null(smcr_socket_of_token(capture.state, told.gid[SMCR_TOLD_PEER], CLIENT_TOKEN));
    g_assert_null(smcr_socket_of_cursor(capture.state, told.gid[SMCR_TOLD_OWN], other.tx_prod));
    after->dump_end_frame = 4;
    g_assert_true(smcr_socket_of_cursor(capture.state, told.gid[SMCR_TOLD_OWN], other.tx_prod) ==
                  after);
    capture_close(&capture);
}

/* The other end of the same connection, and not that of another one with the same ports. */
static void
test_mirrors(void)
{
    enum { CLIENT_FIRST = 1, NOW = 2, SAME_ROLE = 4, OTHER_SIZE = 8, OTHER_GID = 16 };
    static const struct {
        unsigned how;
        uint32_t written, received; /* by the server; the client has written 500, received 700 */
        bool is_one;
    } cases[] = {
        {.how = CLIENT_FIRST, .written = 700, .received = 500, .is_one = true},
        {.how = CLIENT_FIRST, .written = 900, .received = 600, .is_one = true},
        {.how = CLIENT_FIRST, .written = 700, .received = 499},
        {.how = CLIENT_FIRST, .written = 699, .received = 500},
        {.written = 700, .received = 500, .is_one = true}, {.written = 701, .received = 500},
        {.written = 600, .received = 400, .is_one = true},
        {.how = CLIENT_FIRST | NOW, .written = 600, .received = 400, .is_one = true},
        {.how = CLIENT_FIRST | SAME_ROLE, .written = 700, .received = 500},
        {.how = CLIENT_FIRST | OTHER_SIZE, .written = 700, .received = 500},
        {.how = CLIENT_FIRST | OTHER_GID, .written = 700, .received = 500},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        capture_t capture;
        smcr_told_socket_t client = told_by(false, 500, 700);
        smcr_told_socket_t server = told_by(true, cases[i].written, cases[i].received);
        bool first = cases[i].how & CLIENT_FIRST;
        const uint64_t later = (cases[i].how & NOW ? 50 : 500) * MILLISECOND;
        server.is_server = !(cases[i].how & SAME_ROLE);
        server.size[SMCR_TOLD_PEER] *= cases[i].how & OTHER_SIZE ? 2 : 1;
        server.gid[SMCR_TOLD_PEER][15] += cases[i].how & OTHER_GID ? 1 : 0;
        capture_open(&capture);
        smcr_socket_t *one = smcr_socket_keep(capture.state, first ? &client : &server, 1,
                                              (smcr_when_t){1, MILLISECOND});
        smcr_socket_t *two = smcr_socket_keep(capture.state, first ? &server : &client, 2,
                                              (smcr_when_t){2, MILLISECOND + later});
        g_assert_true(one->mirror == (cases[i].is_one ? two : NULL));
        g_assert_true(two->mirror == (cases[i].is_one ? one : NULL));
        capture_close(&capture);
    }
}

/* ---- two directions, one connection ---- */

enum { OTHER_LINK = 1, OTHER_TOKEN = 2 };

typedef struct {
    smcr_cursor_t prod, cons;
} message_t;

/* A message from `side` to a connection that nobody has announced; the links are those of the
 * hosts' queue pairs 0x10 and 0x20, or of others. */
static smcr_conn_t *
play_unknown(capture_t *capture, int side, uint32_t token, message_t message, unsigned how)
{
    smcr_ib_qp_key_t target = key_of(HOST(!side), how & OTHER_LINK ? 0x99 : side ? 0x10 : 0x20);

    play_cdc_on(capture, HOST(side), target, AUTO_PSN,
                (smcr_cdc_t){.seq = 1, .token = token, .prod = message.prod,
                             .cons = message.cons});
    return capture->record.conn;
}

static void
tell(capture_t *capture, const smcr_told_socket_t *socket, smcr_told_kind_t kind)
{
    smcr_told_t told = {.kind = kind, .dump = 1};

    if (socket)
        told.u.socket = *socket;
    next_frame(capture, NULL);
    smcr_state_report(&capture->arrival, &told);
}

/* What the host tells of its end after these messages. */
static smcr_told_socket_t
told_after(bool is_server, smcr_cursor_t by_client, smcr_cursor_t by_server)
{
    smcr_told_socket_t told = told_by(is_server, 0, 0);

    told.token = is_server ? 6 : CLIENT_TOKEN;
    told.size[is_server ? SMCR_TOLD_PEER : SMCR_TOLD_OWN] *= 2;
    told.rx_prod = is_server ? by_client : by_server;
    told.tx_prod = is_server ? by_server : by_client;
    return told;
}

/* The server's host tells of its socket: which direction goes out from there is proven by where the
 * socket has written to, and by what either end has read: not more than was written, and not a
 * whole element less. What the client's host tells proves nothing if CLC has told otherwise. */
static void
test_directions(void)
{
    static const struct {
        message_t to_server, to_client;
        unsigned how;
        bool is_one;
    } cases[] = {
        {.to_server = {{2, 1000}, {3, 500}}, .to_client = {{3, 500}, {2, 1000}}, .is_one = true},
        {.to_server = {{2, 1000}, {3, 501}}, .to_client = {{3, 500}, {2, 1000}}},
        {.to_server = {{2, 1000}, {3, 500}}, .to_client = {{3, 500}, {2, 1001}}},
        {.to_server = {{2, 1000}, {2, 500}}, .to_client = {{3, 500}, {1, 1000}}, .is_one = true},
        {.to_server = {{2, 1000}, {2, 499}}, .to_client = {{3, 500}, {1, 1000}}},
        {.to_server = {{2, 1000}, {2, 500}}, .to_client = {{3, 500}, {1, 999}}},
        {.to_server = {{2, 1000}, {3, 500}}, .to_client = {{3, 500}, {2, 1000}}, .how = OTHER_LINK},
        {.to_server = {{0, 1000}, {0, 0}}, .to_client = {{0, 0}, {0, 1000}}, .how = OTHER_TOKEN},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        capture_t capture;
        const smcr_cursor_t sent = cases[i].to_server.prod, got = cases[i].to_client.prod;
        const smcr_told_socket_t told = told_after(true, sent, got);
        const smcr_told_socket_t mirror = told_after(false, sent, got);
        uint32_t token = cases[i].how & OTHER_TOKEN ? CLIENT_TOKEN : 5;
        capture_open(&capture);
        first_contact(&capture);
        smcr_conn_t *one = play_unknown(&capture, CLIENT, 6, cases[i].to_server, 0);
        smcr_conn_t *other =
            play_unknown(&capture, SERVER, token, cases[i].to_client, cases[i].how);
        g_assert_true(one && other && one != other);
        if (cases[i].how & OTHER_TOKEN)
            tell(&capture, &mirror, SMCR_TOLD_SOCKET);
        tell(&capture, &told, SMCR_TOLD_SOCKET);
        tell(&capture, NULL, SMCR_TOLD_DONE);
        g_assert_cmpuint(one->port[1], ==, 80);
        g_assert_cmpint(smcr_conn_merged(other) == smcr_conn_merged(one), ==, cases[i].is_one);
        capture_close(&capture);
    }
}

/* A connection is in the lists of the group that it joined last, and in no list of an earlier
 * one. */
static void
test_groups(void)
{
    for (unsigned moves = 0; moves < 3; moves++) {
        capture_t capture;
        capture_open(&capture);
        smcr_lgr_t *lgr = smcr_lgr_new(capture.state), *later = smcr_lgr_new(capture.state);
        smcr_conn_t *conns[3];
        for (unsigned i = 0; i < 3; i++)
            smcr_conn_join(conns[i] = smcr_conn_new(capture.state), lgr);
        smcr_conn_join(conns[moves], later);
        smcr_conn_join(conns[moves], later);
        g_assert_true(later->newest_conn == conns[moves] && !conns[moves]->older_in_group);
        g_assert_true(later->newest_open_conn == conns[moves] && !conns[moves]->older_open);
        const smcr_conn_t *listed = lgr->newest_conn, *open = lgr->newest_open_conn;
        for (unsigned i = 3; i-- > 0;) {
            if (i == moves)
                continue;
            g_assert_true(listed == conns[i] && open == conns[i]);
            listed = listed->older_in_group;
            open = open->older_open;
        }
        g_assert_true(!listed && !open);
        g_assert_cmpuint(lgr->unfinished_clc_conns, ==, 2);
        g_assert_cmpuint(later->unfinished_clc_conns, ==, 1);
        capture_close(&capture);
    }
}

static const stay_t stays[] = {
    {.name = "released"},
    {.name = "open", .is_open = true},
    {.name = "newest", .is_newest = true},
    {.name = "kept", .is_kept = true},
    {.name = "needed", .is_needed = true},
    {.name = "recent", .is_recent = true},
};

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/conn/tokens", test_tokens);
    g_test_add_func("/conn/reuse", test_reuse);
    g_test_add_func("/conn/many", test_many);
    g_test_add_func("/conn/direction", test_direction);
    for (unsigned i = 0; i < G_N_ELEMENTS(stays); i++) {
        char *path = g_strdup_printf("/conn/release/%s", stays[i].name);
        g_test_add_data_func(path, &stays[i], test_release);
        g_free(path);
    }
    g_test_add_func("/conn/forgotten-places", test_forgotten_places);
    g_test_add_func("/conn/freed-offer", test_freed_offer);
    g_test_add_func("/conn/history-of-deleted-link", test_history_of_deleted_link);
    g_test_add_func("/conn/sockets", test_sockets);
    g_test_add_func("/conn/mirrors", test_mirrors);
    g_test_add_func("/conn/directions", test_directions);
    g_test_add_func("/conn/groups", test_groups);
    return g_test_run();
}
