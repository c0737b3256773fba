/* RoCE packets: their link, their order, and where an RDMA WRITE goes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#include <string.h>

enum { END, FIRST, MIDDLE, LAST, ONLY, ACK, NAK, RNR };

#define NEXT SMCR_FLOW_IS_NEXT
#define REPEAT SMCR_FLOW_IS_RETRANSMISSION
#define LATE SMCR_FLOW_IS_LATE
#define BEHIND SMCR_FLOW_IS_AFTER_GAP
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
    {.name = "ONLY",
     .steps = {
        {.type = ONLY, .rkey = KEY, .length = 100, .order = NEXT, .index = 1, .events = ""},
        {.type = ONLY, .psn = 1, .rkey = KEY, .at = 100, .length = 3, .order = NEXT, .index = 1,
         .offset = 100, .events = ""}}},
    {.name = "FIRST, MIDDLE, LAST",
     .steps = {
        {.type = FIRST, .rkey = KEY, .at = 50, .length = 1024, .request = 2500, .order = NEXT,
         .index = 1, .offset = 50, .events = ""},
        {.type = MIDDLE, .psn = 1, .length = 1024, .order = NEXT, .index = 1, .offset = 1074,
         .events = ""},
        {.type = LAST, .psn = 2, .length = 452, .order = NEXT, .index = 1, .offset = 2098,
         .events = ""},
        {.type = ONLY, .psn = 3, .rkey = KEY, .at = 2550, .length = 10, .order = NEXT, .index = 1,
         .offset = 2550, .events = ""}}},
    {.name = "over the wrap of PSNs", .first_psn = 0xfffffe,
     .steps = {
        {.type = FIRST, .rkey = KEY, .length = 1024, .request = 4096, .order = NEXT, .index = 1,
         .events = ""},
        {.type = MIDDLE, .psn = 1, .length = 1024, .order = NEXT, .index = 1, .offset = 1024,
         .events = ""},
        {.type = MIDDLE, .psn = 2, .length = 1024, .order = NEXT, .index = 1, .offset = 2048,
         .events = ""},
        {.type = LAST, .psn = 3, .length = 1024, .order = NEXT, .index = 1, .offset = 3072,
         .events = ""}}},
    {.name = "a MIDDLE lost by the capture",
     .steps = {
        {.type = FIRST, .rkey = KEY, .length = 1024, .request = 4096, .order = NEXT, .index = 1,
         .events = ""},
        {.type = MIDDLE, .psn = 2, .length = 1024, .order = NEXT, .index = 1, .offset = 2048,
         .events = "absent"},
        {.type = LAST, .psn = 3, .length = 1024, .order = NEXT, .index = 1, .offset = 3072,
         .events = ""}}},
    {.name = "retransmitted",
     .steps = {
        {.type = FIRST, .rkey = KEY, .length = 1024, .request = 2048, .order = NEXT, .index = 1,
         .events = ""},
        {.type = LAST, .psn = 1, .length = 1024, .order = NEXT, .index = 1, .offset = 1024,
         .events = ""},
        {.type = FIRST, .rkey = KEY, .length = 1024, .request = 2048, .order = REPEAT, .index = 1,
         .events = "retransmission"},
        {.type = LAST, .psn = 1, .length = 1024, .order = REPEAT, .index = 1, .offset = 1024,
         .events = "retransmission"},
        {.type = ONLY, .psn = 2, .rkey = KEY, .at = 2048, .length = 1, .order = NEXT, .index = 1,
         .offset = 2048, .events = ""},
        {.type = LAST, .psn = 1, .length = 1024, .order = REPEAT, .index = 1, .offset = 1024,
         .events = "retransmission"}}},
    {.name = "lost on the wire",
     .steps = {
        {.type = ONLY, .rkey = KEY, .length = 10, .order = NEXT, .index = 1, .events = ""},
        {.type = ACK, .events = ""},
        {.type = FIRST, .psn = 2, .rkey = KEY, .at = 20, .length = 1024, .request = 2048,
         .order = BEHIND, .index = 1, .offset = 20, .events = "absent"},
        {.type = LAST, .psn = 3, .length = 1024, .order = BEHIND, .index = 1, .offset = 1044,
         .events = ""},
        {.type = NAK, .psn = 1, .events = "nak"},
        {.type = ONLY, .psn = 1, .rkey = KEY, .at = 10, .length = 10, .order = LATE, .index = 1,
         .offset = 10, .events = ""},
        {.type = FIRST, .psn = 2, .rkey = KEY, .at = 20, .length = 1024, .request = 2048,
         .order = REPEAT, .index = 1, .offset = 20, .events = "retransmission"},
        {.type = LAST, .psn = 3, .length = 1024, .order = REPEAT, .index = 1, .offset = 1044,
         .events = "retransmission"}}},
    {.name = "a NAK acknowledges what is before",
     .steps = {
        {.type = ONLY, .rkey = KEY, .length = 10, .order = NEXT, .index = 1, .events = ""},
        {.type = ACK, .events = ""},
        {.type = ONLY, .psn = 2, .rkey = KEY, .at = 20, .length = 10, .order = BEHIND, .index = 1,
         .offset = 20, .events = "absent"},
        {.type = NAK, .psn = 3, .events = "nak"},
        {.type = ONLY, .psn = 3, .rkey = KEY, .at = 30, .length = 10, .order = NEXT, .index = 1,
         .offset = 30, .events = ""}}},
    {.name = "no receive buffer",
     .steps = {
        {.type = ONLY, .rkey = KEY, .length = 10, .order = NEXT, .index = 1, .events = ""},
        {.type = RNR, .events = "rnr_nak"},
        {.type = ONLY, .rkey = KEY, .length = 10, .order = REPEAT, .index = 1,
         .events = "retransmission"}}},
    {.name = "unknown RKey",
     .steps = {
        {.type = ONLY, .rkey = 0x999, .length = 10, .order = NEXT, .offset = NOT_PLACED,
         .conn = NO_CONN, .events = "write_unknown_rkey"}}},
    {.name = "the writer's own RKey",
     .steps = {
        {.type = ONLY, .rkey = SERVER_RKEY, .length = 10, .order = NEXT, .offset = NOT_PLACED,
         .conn = NO_CONN, .events = "write_unknown_rkey"}}},
    {.name = "element 2",
     .steps = {
        {.type = ONLY, .rkey = KEY, .at = ELEMENT, .length = 10, .order = NEXT, .index = 2,
         .conn = 1, .events = ""},
        {.type = FIRST, .psn = 1, .rkey = KEY, .at = ELEMENT + 10, .length = 1024, .request = 2048,
         .order = NEXT, .index = 2, .offset = 10, .conn = 1, .events = ""},
        {.type = LAST, .psn = 2, .length = 1024, .order = NEXT, .index = 2, .offset = 1034,
         .conn = 1, .events = ""}}},
    {.name = "up to the end of the element",
     .steps = {
        {.type = ONLY, .rkey = KEY, .at = ELEMENT - 10, .length = 10, .order = NEXT, .index = 1,
         .offset = ELEMENT - 10, .events = ""}}},
    {.name = "over the end of the element",
     .steps = {
        {.type = ONLY, .rkey = KEY, .at = ELEMENT - 10, .length = 11, .order = NEXT, .index = 1,
         .offset = ELEMENT - 10, .events = "write_outside"}}},
    {.name = "element without connection",
     .steps = {
        {.type = ONLY, .rkey = KEY, .at = 2 * ELEMENT, .length = 10, .order = NEXT, .index = 3,
         .conn = NO_CONN, .events = "write_outside"}}},
    {.name = "before the RMB",
     .steps = {
        {.type = ONLY, .rkey = KEY, .at = -1, .length = 10, .order = NEXT, .offset = NOT_PLACED,
         .conn = NO_CONN, .events = "write_outside"}}},
    {.name = "far behind the RMB",
     .steps = {
        {.type = ONLY, .rkey = KEY, .at = INT64_C(255) * ELEMENT, .length = 10, .order = NEXT,
         .offset = NOT_PLACED, .conn = NO_CONN, .events = "write_outside"},
        {.type = ONLY, .psn = 1, .rkey = KEY, .at = INT64_C(1) << 40, .length = 10, .order = NEXT,
         .offset = NOT_PLACED, .conn = NO_CONN, .events = "write_outside"}}},
    {.name = "MIDDLE without FIRST",
     .steps = {
        {.type = MIDDLE, .length = 1024, .order = NEXT, .offset = NOT_PLACED, .conn = NO_CONN,
         .events = "write_no_start"}}},
    {.name = "LAST behind its request",
     .steps = {
        {.type = FIRST, .rkey = KEY, .length = 1024, .request = 2048, .order = NEXT, .index = 1,
         .events = ""},
        {.type = LAST, .psn = 2, .length = 1024, .order = NEXT, .offset = NOT_PLACED,
         .conn = NO_CONN, .events = "absent write_no_start"}}},
    {.name = "LAST behind an ONLY",
     .steps = {
        {.type = ONLY, .rkey = KEY, .length = 1024, .order = NEXT, .index = 1, .events = ""},
        {.type = LAST, .psn = 1, .length = 1024, .order = NEXT, .offset = NOT_PLACED,
         .conn = NO_CONN, .events = "write_no_start"}}},
    {.name = "FIRST without payload",
     .steps = {
        {.type = FIRST, .rkey = KEY, .request = 2048, .order = NEXT, .index = 1, .events = ""}}},
    {.name = "another request with the same PSN",
     .steps = {
        {.type = ONLY, .rkey = KEY, .length = 10, .order = NEXT, .index = 1, .events = ""},
        {.type = ONLY, .rkey = KEY, .at = 70, .length = 10, .order = REPEAT, .index = 1,
         .offset = 70, .events = "retransmission"}}},
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
             (smcr_ib_headers_t){.opcode = opcodes[step->type],
                                 .has_reth = has_reth,
                                 .rkey = step->rkey,
                                 .virtual_address = CLIENT_VA + (uint64_t)step->at,
                                 .dma_length = step->type == FIRST ? step->request : step->length,
                                 .payload_length = (int)step->length});
}

static void
check_write(const smcr_record_t *packet, smcr_conn_t *const *conns, const step_t *step)
{
    const smcr_place_t *place = packet->write_location;

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
    smcr_link_activate(conns[0]->side[SERVER].link); /* as CONFIRM LINK does, before it is used */
    play_accept(&capture, conns[1], false, &accept);
    confirm.rmb_index = 2;
    confirm.token++;
    play_confirm(&capture, conns[1], &confirm);

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
                             .rtokens_in_message = &rkey};
    play_llc(&capture, CLIENT, withdrawal);
    play_write(&capture, SERVER, CLIENT_RKEY, CLIENT_VA + 10, 10); /* they cross */
    g_assert_cmpstr(events(&capture), ==, "");
    withdrawal.flags = SMCR_LLC_FLAG_RESPONSE | SMCR_LLC_FLAG_NEGATIVE;
    withdrawal.u.delete_rkey.error_mask = 0x80;
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

static const struct {
    uint8_t from, to;
    uint32_t qpn;
    uint8_t opcode;
    bool known;
    int sender;
} sources[] = {
    {.from = 1, .to = 2, .qpn = SERVER_QPN, .opcode = SMCR_RC_WRITE_ONLY, .known = true,
     .sender = CLIENT},
    {.from = 2, .to = 1, .qpn = CLIENT_QPN, .opcode = SMCR_RC_WRITE_ONLY, .known = true,
     .sender = SERVER},
    {.from = 3, .to = 2, .qpn = SERVER_QPN, .opcode = SMCR_RC_WRITE_ONLY}, /* another host */
    {.from = 2, .to = 2, .qpn = SERVER_QPN, .opcode = SMCR_RC_WRITE_ONLY},
    {.from = 1, .to = 3, .qpn = SERVER_QPN, .opcode = SMCR_RC_WRITE_ONLY},
    {.from = 1, .to = 2, .qpn = SERVER_QPN + 1, .opcode = SMCR_RC_WRITE_ONLY},
    {.from = 1, .to = 2, .qpn = SERVER_QPN, .opcode = SMCR_IB_CNP, .known = true,
     .sender = CLIENT},
    {.from = 1, .to = 2, .qpn = SERVER_QPN, .opcode = 0x64}, /* unreliable datagram */
    {.from = 1, .to = 2, .qpn = SERVER_QPN, .opcode = SMCR_RC_ACK, .known = true,
     .sender = CLIENT},
    {.from = 1, .to = 2, .qpn = SERVER_QPN, .opcode = SMCR_RC_READ_RESPONSE_FIRST,
     .known = true, .sender = CLIENT},
};

static void
test_sources(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(sources); i++) {
        capture_t capture;
        capture_open(&capture);
        const smcr_conn_t *conn = first_contact(&capture);
        play(&capture, sources[i].from, key_of(sources[i].to, sources[i].qpn),
             sources[i].sender == CLIENT ? CLIENT_PSN : SERVER_PSN,
             (smcr_ib_headers_t){.opcode = sources[i].opcode});
        g_assert_cmpint(capture.known, ==, sources[i].known);
        g_assert_true(capture.record.link == (sources[i].known ? conn->side[0].link : NULL));
        if (sources[i].known) {
            g_assert_cmpint(capture.record.sender, ==, sources[i].sender);
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
    {.name = "the last one", .from = 2, .to = 1, .psn = 501, .known = true},
    {.name = "the one before", .from = 2, .to = 1, .psn = 500, .known = true},
    {.name = "one that was not sent", .from = 2, .to = 1, .psn = 502},
    {.name = "long ago", .from = 2, .to = 1, .psn = 400},
    {.name = "of another host", .from = 3, .to = 1, .psn = 501},
    {.name = "to another host", .from = 2, .to = 3, .psn = 501},
    {.name = "one of two", .other_psn = 9000, .from = 2, .to = 1, .psn = 501, .known = true},
    {.name = "the other of two", .other_psn = 9000, .from = 2, .to = 1, .psn = 9000, .known = true},
    {.name = "may mean both", .other_psn = 501, .from = 2, .to = 1, .psn = 501},
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
