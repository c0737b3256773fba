/* RoCE packets: their link, their order, and where an RDMA WRITE goes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include <string.h>

enum { END, FIRST, MIDDLE, LAST, ONLY, ACK, NAK, RNR };

#define NEXT SMCR_FLOW_IS_NEXT
#define REPEAT SMCR_FLOW_IS_REPEAT
#define LATE SMCR_FLOW_IS_LATE
#define BEHIND SMCR_FLOW_IS_BEHIND
#define NO_CONN (-1)
#define NOT_PLACED UINT32_MAX

/* A packet of the server to the client's RMB, or the client's answer to it. */
typedef struct {
    int type;
    int32_t psn;         /* from the first one on */
    uint32_t rkey;       /* FIRST, ONLY */
    int64_t at;          /* FIRST, ONLY: from the beginning of the RMB */
    uint32_t length;     /* of the payload */
    uint32_t request;    /* FIRST: bytes of the whole request */
    smcr_flow_order_t order;
    unsigned index;      /* element; 0: none */
    uint32_t offset;     /* NOT_PLACED: none */
    int conn;            /* 0 has element 1, 1 element 2 */
    const char *events;
} step_t;

#define KEY CLIENT_RKEY

static const struct {
    const char *name;
    uint32_t first_psn;
    step_t steps[10];
} cases[] = {
    {"ONLY", 0, {
        {ONLY, 0, KEY, 0, 100, 0, NEXT, 1, 0, 0, ""},
        {ONLY, 1, KEY, 100, 3, 0, NEXT, 1, 100, 0, ""}}},
    {"FIRST, MIDDLE, LAST", 0, {
        {FIRST, 0, KEY, 50, 1024, 2500, NEXT, 1, 50, 0, ""},
        {MIDDLE, 1, 0, 0, 1024, 0, NEXT, 1, 1074, 0, ""},
        {LAST, 2, 0, 0, 452, 0, NEXT, 1, 2098, 0, ""},
        {ONLY, 3, KEY, 2550, 10, 0, NEXT, 1, 2550, 0, ""}}},
    {"over the wrap of PSNs", 0xfffffe, {
        {FIRST, 0, KEY, 0, 1024, 4096, NEXT, 1, 0, 0, ""},
        {MIDDLE, 1, 0, 0, 1024, 0, NEXT, 1, 1024, 0, ""},
        {MIDDLE, 2, 0, 0, 1024, 0, NEXT, 1, 2048, 0, ""},
        {LAST, 3, 0, 0, 1024, 0, NEXT, 1, 3072, 0, ""}}},
    {"a MIDDLE lost by the capture", 0, {
        {FIRST, 0, KEY, 0, 1024, 4096, NEXT, 1, 0, 0, ""},
        {MIDDLE, 2, 0, 0, 1024, 0, NEXT, 1, 2048, 0, "absent"},
        {LAST, 3, 0, 0, 1024, 0, NEXT, 1, 3072, 0, ""}}},
    {"retransmitted", 0, {
        {FIRST, 0, KEY, 0, 1024, 2048, NEXT, 1, 0, 0, ""},
        {LAST, 1, 0, 0, 1024, 0, NEXT, 1, 1024, 0, ""},
        {FIRST, 0, KEY, 0, 1024, 2048, REPEAT, 1, 0, 0, "retransmission"},
        {LAST, 1, 0, 0, 1024, 0, REPEAT, 1, 1024, 0, "retransmission"},
        {ONLY, 2, KEY, 2048, 1, 0, NEXT, 1, 2048, 0, ""},
        {LAST, 1, 0, 0, 1024, 0, REPEAT, 1, 1024, 0, "retransmission"}}},
    {"lost on the wire", 0, {
        {ONLY, 0, KEY, 0, 10, 0, NEXT, 1, 0, 0, ""},
        {ACK, 0, 0, 0, 0, 0, 0, 0, 0, 0, ""},
        {FIRST, 2, KEY, 20, 1024, 2048, BEHIND, 1, 20, 0, "absent"},
        {LAST, 3, 0, 0, 1024, 0, BEHIND, 1, 1044, 0, ""},
        {NAK, 1, 0, 0, 0, 0, 0, 0, 0, 0, "nak"},
        {ONLY, 1, KEY, 10, 10, 0, LATE, 1, 10, 0, ""},
        {FIRST, 2, KEY, 20, 1024, 2048, REPEAT, 1, 20, 0, "retransmission"},
        {LAST, 3, 0, 0, 1024, 0, REPEAT, 1, 1044, 0, "retransmission"}}},
    {"a NAK acknowledges what is before", 0, {
        {ONLY, 0, KEY, 0, 10, 0, NEXT, 1, 0, 0, ""},
        {ACK, 0, 0, 0, 0, 0, 0, 0, 0, 0, ""},
        {ONLY, 2, KEY, 20, 10, 0, BEHIND, 1, 20, 0, "absent"},
        {NAK, 3, 0, 0, 0, 0, 0, 0, 0, 0, "nak"},
        {ONLY, 3, KEY, 30, 10, 0, NEXT, 1, 30, 0, ""}}},
    {"no receive buffer", 0, {
        {ONLY, 0, KEY, 0, 10, 0, NEXT, 1, 0, 0, ""},
        {RNR, 0, 0, 0, 0, 0, 0, 0, 0, 0, "rnr_nak"},
        {ONLY, 0, KEY, 0, 10, 0, REPEAT, 1, 0, 0, "retransmission"}}},
    {"unknown RKey", 0, {
        {ONLY, 0, 0x999, 0, 10, 0, NEXT, 0, NOT_PLACED, NO_CONN, "write_unknown_rkey"}}},
    {"the writer's own RKey", 0, {
        {ONLY, 0, SERVER_RKEY, 0, 10, 0, NEXT, 0, NOT_PLACED, NO_CONN, "write_unknown_rkey"}}},
    {"element 2", 0, {
        {ONLY, 0, KEY, ELEMENT, 10, 0, NEXT, 2, 0, 1, ""},
        {FIRST, 1, KEY, ELEMENT + 10, 1024, 2048, NEXT, 2, 10, 1, ""},
        {LAST, 2, 0, 0, 1024, 0, NEXT, 2, 1034, 1, ""}}},
    {"up to the end of the element", 0, {
        {ONLY, 0, KEY, ELEMENT - 10, 10, 0, NEXT, 1, ELEMENT - 10, 0, ""}}},
    {"over the end of the element", 0, {
        {ONLY, 0, KEY, ELEMENT - 10, 11, 0, NEXT, 1, ELEMENT - 10, 0,
         "write_outside"}}},
    {"element without connection", 0, {
        {ONLY, 0, KEY, 2 * ELEMENT, 10, 0, NEXT, 3, 0, NO_CONN, "write_outside"}}},
    {"before the RMB", 0, {
        {ONLY, 0, KEY, -1, 10, 0, NEXT, 0, NOT_PLACED, NO_CONN, "write_outside"}}},
    {"far behind the RMB", 0, {
        {ONLY, 0, KEY, INT64_C(255) * ELEMENT, 10, 0, NEXT, 0, NOT_PLACED, NO_CONN,
         "write_outside"},
        {ONLY, 1, KEY, INT64_C(1) << 40, 10, 0, NEXT, 0, NOT_PLACED, NO_CONN, "write_outside"}}},
    {"MIDDLE without FIRST", 0, {
        {MIDDLE, 0, 0, 0, 1024, 0, NEXT, 0, NOT_PLACED, NO_CONN, "write_no_start"}}},
    {"LAST behind its request", 0, {
        {FIRST, 0, KEY, 0, 1024, 2048, NEXT, 1, 0, 0, ""},
        {LAST, 2, 0, 0, 1024, 0, NEXT, 0, NOT_PLACED, NO_CONN, "absent write_no_start"}}},
    {"LAST behind an ONLY", 0, {
        {ONLY, 0, KEY, 0, 1024, 0, NEXT, 1, 0, 0, ""},
        {LAST, 1, 0, 0, 1024, 0, NEXT, 0, NOT_PLACED, NO_CONN, "write_no_start"}}},
    {"FIRST without payload", 0, {
        {FIRST, 0, KEY, 0, 0, 2048, NEXT, 1, 0, 0, ""}}},
    {"another request with the same PSN", 0, {
        {ONLY, 0, KEY, 0, 10, 0, NEXT, 1, 0, 0, ""},
        {ONLY, 0, KEY, 70, 10, 0, REPEAT, 1, 70, 0, "retransmission"}}},
};

static void
play_step(capture_t *capture, uint32_t first_psn, const step_t *step)
{
    static const uint8_t opcodes[] = {
        [FIRST] = SMCR_RC_WRITE_FIRST, [MIDDLE] = SMCR_RC_WRITE_MIDDLE,
        [LAST] = SMCR_RC_WRITE_LAST,   [ONLY] = SMCR_RC_WRITE_ONLY,
    };
    uint32_t psn = (first_psn + (uint32_t)step->psn) & SMCR_PSN_MASK;
    bool has_reth = step->type == FIRST || step->type == ONLY;
    static const uint8_t syndromes[] = {[ACK] = 0x1f, [NAK] = 0x60, [RNR] = 0x20};

    if (step->type >= ACK)
        play(capture, HOST(CLIENT), qp_of_side(SERVER), psn,
             (smcr_ib_headers_t){.opcode = SMCR_RC_ACK, .has_aeth = true,
                                 .syndrome = syndromes[step->type]});
    else
        play(capture, HOST(SERVER), qp_of_side(CLIENT), psn,
             (smcr_ib_headers_t){.opcode = opcodes[step->type], .has_reth = has_reth,
                                 .rkey = step->rkey, .va = CLIENT_VA + (uint64_t)step->at,
                                 .dma_length = step->type == FIRST ? step->request : step->length,
                                 .payload_length = (int)step->length});
}

static void
check_write(const smcr_record_t *packet, smcr_conn_t *const *conns, const step_t *step)
{
    const smcr_place_t *place = packet->place;

    g_assert_cmpint(packet->kind, ==, SMCR_RECORD_WRITE);
    g_assert_cmpint(packet->order, ==, step->order);
    g_assert_cmpint(packet->sender, ==, SERVER);
    g_assert_cmpint(packet->direction, ==, 1);
    g_assert_nonnull(place);
    g_assert_cmpuint(place->length, ==, step->length);
    g_assert_cmpuint(place->index, ==, step->index);
    if (step->offset != NOT_PLACED)
        g_assert_cmpuint(place->offset, ==, step->offset);
    g_assert_true(packet->conn == (step->conn < 0 ? NULL : conns[step->conn]));
}

static void
test_write(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    capture_t capture;
    smcr_conn_t *conns[2];
    smcr_clc_accept_t accept = announcement(SERVER);
    smcr_clc_accept_t confirm = announcement(CLIENT);

    capture_open(&capture);
    conns[0] = smcr_conn_new(capture.state);
    conns[1] = smcr_conn_new(capture.state);
    accept.psn = cases[i].first_psn;
    play_accept(&capture, conns[0], true, &accept);
    play_confirm(&capture, conns[0], &confirm);
    play_accept(&capture, conns[1], false, &accept);
    confirm.rmb_index = 2;
    confirm.token++;
    play_confirm(&capture, conns[1], &confirm);
    smcr_link_activate(conns[0]->side[SERVER].link);

    for (const step_t *step = cases[i].steps; step->type != END; step++) {
        play_step(&capture, cases[i].first_psn, step);
        g_assert_true(capture.known);
        g_assert_cmpstr(events(&capture), ==, step->events);
        if (step->type < ACK)
            check_write(&capture.record, conns, step);
        else
            g_assert_cmpint(capture.record.kind, ==, SMCR_RECORD_ACK);
    }
    capture_close(&capture);
}

static void
test_deleted_rmb(void)
{
    capture_t capture;
    smcr_rtoken_t rkey = {.rkey = CLIENT_RKEY};

    capture_open(&capture);
    first_contact(&capture);
    confirm_first_link(&capture);
    play_write(&capture, SERVER, CLIENT_RKEY, CLIENT_VA, 10);
    g_assert_cmpstr(events(&capture), ==, "link_no_second");
    smcr_llc_t withdrawal = {.type = SMCR_LLC_DELETE_RKEY,
                             .u.delete_rkey = {.count = 1},
                             .rtoken_count = 1,
                             .rtokens = &rkey};
    play_llc(&capture, CLIENT, withdrawal);
    play_write(&capture, SERVER, CLIENT_RKEY, CLIENT_VA + 10, 10); /* they cross */
    g_assert_cmpstr(events(&capture), ==, "");
    withdrawal.flags = SMCR_LLC_FLAG_RESPONSE | SMCR_LLC_FLAG_NEGATIVE;
    withdrawal.u.delete_rkey.errors = 0x80;
    play_llc(&capture, SERVER, withdrawal);
    play_write(&capture, SERVER, CLIENT_RKEY, CLIENT_VA + 20, 10); /* it was refused */
    g_assert_cmpstr(events(&capture), ==, "");
    withdrawal.flags = 0;
    play_llc(&capture, CLIENT, withdrawal);
    withdrawal.flags = SMCR_LLC_FLAG_RESPONSE;
    play_llc(&capture, SERVER, withdrawal);
    play_write(&capture, SERVER, CLIENT_RKEY, CLIENT_VA + 30, 10);
    g_assert_cmpstr(events(&capture), ==, "write_deleted");
    capture_close(&capture);
}

/* ---- which queue pair ---- */

static void
test_sources(void)
{
    static const struct {
        uint8_t from, to;
        uint32_t qpn;
        uint8_t opcode;
        bool known;
        int sender;
    } packets[] = {
        {1, 2, SERVER_QPN, SMCR_RC_WRITE_ONLY, true, CLIENT},
        {2, 1, CLIENT_QPN, SMCR_RC_WRITE_ONLY, true, SERVER},
        {3, 2, SERVER_QPN, SMCR_RC_WRITE_ONLY, false, 0}, /* another host */
        {2, 2, SERVER_QPN, SMCR_RC_WRITE_ONLY, false, 0},
        {1, 3, SERVER_QPN, SMCR_RC_WRITE_ONLY, false, 0},
        {1, 2, SERVER_QPN + 1, SMCR_RC_WRITE_ONLY, false, 0},
        {1, 2, SERVER_QPN, SMCR_IB_CNP, true, CLIENT},
        {1, 2, SERVER_QPN, 0x64, false, 0}, /* unreliable datagram */
        {1, 2, SERVER_QPN, SMCR_RC_ACK, true, CLIENT},
        {1, 2, SERVER_QPN, SMCR_RC_READ_RESPONSE_FIRST, true, CLIENT},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(packets); i++) {
        capture_t capture;
        capture_open(&capture);
        const smcr_conn_t *conn = first_contact(&capture);
        play(&capture, packets[i].from, key_of(packets[i].to, packets[i].qpn),
             packets[i].sender == CLIENT ? CLIENT_PSN : SERVER_PSN,
             (smcr_ib_headers_t){.opcode = packets[i].opcode});
        g_assert_cmpint(capture.known, ==, packets[i].known);
        g_assert_true(capture.record.link == (packets[i].known ? conn->side[0].link : NULL));
        if (packets[i].known) {
            g_assert_cmpint(capture.record.sender, ==, packets[i].sender);
            g_assert_true(capture.record.sender_known);
        }
        capture_close(&capture);
    }
}

/* ---- acknowledgements that name the other end of a late link ---- */

/* Two SENDs with PSN 500 and 501 go to queue pair 7 of host 2, and `more` to its queue pair 8. */
static const struct {
    const char *name;
    uint32_t other_psn;       /* 0: there is no other */
    uint8_t from, to;         /* of the acknowledgement */
    uint32_t psn;
    bool known;
} late[] = {
    {"the last one", 0, 2, 1, 501, true},
    {"the one before", 0, 2, 1, 500, true},
    {"one that was not sent", 0, 2, 1, 502, false},
    {"long ago", 0, 2, 1, 400, false},
    {"of another host", 0, 3, 1, 501, false},
    {"to another host", 0, 2, 3, 501, false},
    {"one of two", 9000, 2, 1, 501, true},
    {"the other of two", 9000, 2, 1, 9000, true},
    {"may mean both", 501, 2, 1, 501, false},
};

static void
test_late(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data);
    capture_t capture;
    smcr_cdc_t cdc = {.seq = 1, .token = 5};
    smcr_ib_headers_t ack = {.opcode = SMCR_RC_ACK, .has_aeth = true, .syndrome = 0x1f};

    capture_open(&capture);
    play_cdc_on(&capture, 1, key_of(2, 7), 500, cdc);
    play_cdc_on(&capture, 1, key_of(2, 7), 501, cdc);
    if (late[i].other_psn)
        play_cdc_on(&capture, 1, key_of(2, 8), late[i].other_psn, cdc);
    play(&capture, late[i].from, key_of(late[i].to, 3), late[i].psn, ack);
    smcr_ib_qp_key_t target = key_of(late[i].to, 3);
    g_assert_cmpint(capture.known, ==, late[i].known);
    g_assert_cmpint(smcr_qp_find(capture.state, &target) != NULL, ==, late[i].known);
    if (late[i].known) {
        smcr_ib_qp_key_t receiver = key_of(2, late[i].psn == late[i].other_psn ? 8 : 7);
        smcr_qp_t *qp = smcr_qp_find(capture.state, &receiver);
        g_assert_true(capture.record.link == qp->link);
        g_assert_cmpuint(smcr_qp_peer(qp)->key.qpn, ==, 3);
        play(&capture, 2, key_of(1, 3), 1, (smcr_ib_headers_t){.opcode = SMCR_RC_WRITE_ONLY});
        g_assert_true(capture.known);
    }
    capture_close(&capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        char *path = g_strdup_printf("/rdma/write/%s", cases[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_write);
        g_free(path);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(late); i++) {
        char *path = g_strdup_printf("/rdma/late/%s", late[i].name);
        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_late);
        g_free(path);
    }
    g_test_add_func("/rdma/write/deleted RMB", test_deleted_rmb);
    g_test_add_func("/rdma/sources", test_sources);
    return g_test_run();
}
