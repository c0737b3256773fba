/* RDMA WRITEs that come before anything that names their connection: they find it later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "traffic.h"

#define VA UINT64_C(0x70000000)
#define RKEY 0x77

static const smcr_ib_headers_t only = {.opcode = SMCR_RC_WRITE_ONLY,
                                       .has_reth = true,
                                       .rkey = RKEY,
                                       .virtual_address = VA,
                                       .dma_length = 100,
                                       .payload_length = 100};
static const smcr_ib_headers_t first = {.opcode = SMCR_RC_WRITE_FIRST,
                                        .has_reth = true,
                                        .rkey = RKEY,
                                        .virtual_address = VA,
                                        .dma_length = 2500,
                                        .payload_length = 1024};
static const smcr_ib_headers_t middle = {.opcode = SMCR_RC_WRITE_MIDDLE, .payload_length = 1024};
static const smcr_ib_headers_t last = {.opcode = SMCR_RC_WRITE_LAST, .payload_length = 452};

/* A WRITE on a queue pair that nobody has named; then a message proves that it is SMC-R's. */
static void
test_stranger(void)
{
    static const struct {
        uint8_t source; /* of the WRITE; the message comes from host 1 */
        bool adopted;
    } cases[] = {{1, true}, {3, false}};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        capture_t capture;
        capture_open(&capture);
        play(&capture, cases[i].source, key_of(2, 9), 50, only);
        g_assert_false(capture.known);
        const smcr_place_t *place = capture.record.write_location;
        const smcr_place_late_t *late = smcr_place_late(place);
        g_assert_cmpuint(place->length, ==, 100);
        g_assert_null(smcr_place_late(place)->link);
        play_cdc_on(&capture, 1, key_of(2, 9), 51,
                    (smcr_cdc_t){.seq = 1, .token = 5, .prod = {0, 100}});
        g_assert_true(late->link == (cases[i].adopted ? capture.record.link : NULL));
        g_assert_true(late->conn == (cases[i].adopted ? capture.record.conn : NULL));
        capture_close(&capture);
    }
}

/* Of a queue pair with too many WRITEs nothing is learned any more. A queue pair with the same
 * number, at a host whose address ends with the same bytes, is another one. */
static void
check_full(smcr_ib_qp_key_t full, smcr_ib_qp_key_t other)
{
    capture_t capture;

    capture_open(&capture);
    for (uint32_t i = 0; i < 65; i++)
        play(&capture, 1, full, 50 + i, only);
    g_assert_true(smcr_state_can_skip_packet(capture.state, SMCR_RC_WRITE_ONLY, full.gid,
                                             SMCR_GID_LENGTH, full.qpn));
    g_assert_cmpint(smcr_state_can_skip_packet(capture.state, SMCR_RC_WRITE_ONLY,
                                               full.gid + SMCR_GID_IPV4_AT, SMCR_GID_IPV4_LENGTH,
                                               full.qpn), ==, smcr_gid_is_ipv4(full.gid));
    g_assert_false(smcr_state_can_skip_packet(capture.state, SMCR_RC_WRITE_ONLY, other.gid,
                                              SMCR_GID_LENGTH, other.qpn));
    capture_close(&capture);
}

/* Other traffic on another queue pair is kept for a while only. */
static void
test_limit(void)
{
    capture_t capture;
    unsigned kept = 0;

    capture_open(&capture);
    for (uint32_t i = 0; i < 1000; i++) {
        play(&capture, 1, key_of(2, 9), 50 + i, only);
        kept += capture.record.write_location != NULL;
    }
    g_assert_cmpuint(kept, ==, 64);
    for (uint32_t i = 0; i < 5000; i++) {
        play(&capture, 1, key_of(2, 100 + i), 50, only);
        kept += capture.record.write_location != NULL;
    }
    g_assert_cmpuint(kept, ==, 64 + 1023);
    capture_close(&capture);
    check_full(key_of(2, 9), key_of(2, 10));
    check_full((smcr_ib_qp_key_t){{0xfd, [15] = 2}, 9}, (smcr_ib_qp_key_t){{0xfd, 1, [15] = 2}, 9});
}

static void
test_no_write(void)
{
    capture_t capture;

    capture_open(&capture);
    play(&capture, 1, key_of(2, 9), 50, (smcr_ib_headers_t){.opcode = SMCR_RC_SEND_ONLY});
    g_assert_null(capture.record.write_location);
    capture_close(&capture);
}

/* MIDDLE and LAST before FIRST, which the network or the capture has put last. */
static void
test_before_first(void)
{
    capture_t capture;

    capture_open(&capture);
    const smcr_conn_t *conn = first_contact(&capture);
    smcr_rmb_announce(capture.state, &conn->side[SERVER].link->qp[SERVER], RKEY, VA);
    smcr_link_activate(conn->side[SERVER].link);
    play(&capture, HOST(CLIENT), qp_of_side(SERVER), CLIENT_PSN + 1, middle);
    g_assert_cmpstr(events(&capture), ==, "absent write_no_start");
    const smcr_place_t *second = capture.record.write_location;
    play(&capture, HOST(CLIENT), qp_of_side(SERVER), CLIENT_PSN + 2, last);
    const smcr_place_t *third = capture.record.write_location;
    g_assert_cmpuint(second->index, ==, 0);
    play(&capture, HOST(CLIENT), qp_of_side(SERVER), CLIENT_PSN, first);
    g_assert_true(second->index && second->index == capture.record.write_location->index);
    g_assert_true(third->index == second->index);
    g_assert_cmpuint(second->offset, ==, 1024);
    g_assert_cmpuint(third->offset, ==, 2048);
    capture_close(&capture);
}

/* The FIRST is missing. The CDC message right behind the LAST tells where the rest belongs; not so
 * when another packet is missing between, or when more bytes came than it announces. */
static void
test_first_missing(void)
{
    static const struct {
        uint32_t gap; /* packets between the LAST and the CDC message */
        uint32_t prod;
        bool placed;
    } cases[] = {{.prod = 2500, .placed = true}, {.gap = 1, .prod = 2500}, {.prod = 1000}};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        capture_t capture;
        capture_open(&capture);
        smcr_conn_t *conn = first_contact(&capture);
        confirm_first_link(&capture);
        const smcr_flow_t *flow = &conn->side[SERVER].link->qp[SERVER].traffic.flow;
        uint32_t psn = flow->expected_psn % (SMCR_PSN_MASK + 1) + 1;
        play(&capture, HOST(CLIENT), qp_of_side(SERVER), psn, middle);
        const smcr_place_t *second = capture.record.write_location;
        play(&capture, HOST(CLIENT), qp_of_side(SERVER), psn + 1, last);
        const smcr_place_t *third = capture.record.write_location;
        g_assert_false(second->has_position || third->has_position);
        play_cdc_on(&capture, HOST(CLIENT), qp_of_side(SERVER), psn + 2 + cases[i].gap,
                    (smcr_cdc_t){.seq = 1, .token = conn->side[SERVER].token,
                                 .prod = {0, cases[i].prod}});
        g_assert_true(second->has_position == cases[i].placed);
        g_assert_true(third->has_position == cases[i].placed);
        g_assert_true(smcr_place_late(third)->conn == (cases[i].placed ? conn : NULL));
        if (cases[i].placed) {
            g_assert_cmpuint(second->position, ==, 1024);
            g_assert_cmpuint(smcr_place_range(second).gap, ==, 1024);
            g_assert_cmpuint(third->position, ==, 2048);
            g_assert_cmpuint(third->offset, ==, 2048);
            g_assert_cmpuint(smcr_place_range(third).gap, ==, 0);
        }
        capture_close(&capture);
    }
}

/* Host 2 tells of its end of a connection with host 1, after two rounds of the element. */
static void
play_told(capture_t *capture)
{
    smcr_told_t told = {.u.socket = {.has_conn = true, .has_lgr = true, .port = {80, 1000},
                                     .token = 6, .size = {ELEMENT, ELEMENT}, .rx_prod = {2, 1000},
                                     .is_server = true}};

    for (uint8_t end = 0; end < SMCR_TOLD_ENDS; end++) {
        smcr_gid_map_ipv4(told.u.socket.address[end], (const uint8_t[]){10, 0, 0, end});
        memcpy(told.u.socket.gid[end], key_of(end ? 1 : 2, 0).gid, SMCR_GID_LENGTH);
    }
    next_frame(capture, NULL);
    smcr_state_report(&capture->arrival, &told);
}

/* A host has told how far the stream had come. The first message
 * of the connection places the WRITE before it if that ends where the message says; the connection
 * has no name if the message stands before what the host has told. */
static void
test_claim(void)
{
    static const struct {
        uint32_t count; /* of the message's producer cursor, in the third round */
        bool placed;
        uint16_t port; /* of the server */
    } cases[] = {{.count = 3500, .placed = true, .port = 80}, {.count = 3600, .port = 80},
                 {.count = 900}};
    const smcr_ib_headers_t parts[] = {first, middle, last};

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        capture_t capture;
        const smcr_place_t *places[G_N_ELEMENTS(parts)];
        capture_open(&capture);
        play_cdc_on(&capture, 1, key_of(2, 9), 50, (smcr_cdc_t){.seq = 1, .token = 5});
        play_told(&capture);
        for (uint32_t part = 0; part < G_N_ELEMENTS(parts); part++) {
            smcr_ib_headers_t roce = parts[part];
            roce.virtual_address += roce.has_reth ? 1000 : 0;
            play(&capture, 1, key_of(2, 9), 51 + part, roce);
            places[part] = capture.record.write_location;
            g_assert_false(places[part]->has_position);
        }
        play_cdc_on(&capture, 1, key_of(2, 9), 54,
                    (smcr_cdc_t){.seq = 1, .token = 6, .prod = {2, cases[i].count}});
        for (unsigned part = 0; part < G_N_ELEMENTS(parts); part++) {
            const smcr_place_late_t *late = smcr_place_late(places[part]);
            g_assert_true((late->conn && late->has_position) == cases[i].placed);
            if (cases[i].placed) /* of the request */
                g_assert_cmpuint(late->position, ==, 2 * ELEMENT + 1000);
        }
        g_assert_cmpuint(capture.record.conn->port[1], ==, cases[i].port);
        g_assert_true((strstr(events(&capture), "told_otherwise") == NULL) == !!cases[i].port);
        capture_close(&capture);
    }
}

/* As the dissector does after a packet has been learned: copies the bytes that are held of it. */
static void
fill(const capture_t *capture)
{
    static const uint8_t bytes[1024];
    const smcr_place_t *place = capture->record.write_location;
    const smcr_place_rare_t *rare = place ? smcr_place_rare(place) : NULL;

    if (rare && rare->buffered_payload)
        smcr_held_fill(capture->state, rare->buffered_payload, bytes, place->length);
}

static void
play_and_fill(capture_t *capture, uint8_t host, smcr_ib_qp_key_t target, uint32_t psn,
              smcr_ib_headers_t roce)
{
    play(capture, host, target, psn, roce);
    fill(capture);
}

/* Bytes that dissectors cannot get any more are not counted among those that are held: WRITEs of
 * another sender to the number of the queue pair. */
static void
test_bytes_of_strangers(void)
{
    capture_t capture;

    capture_open(&capture);
    play_and_fill(&capture, 3, key_of(2, 9), 50, only);
    g_assert_cmpuint(capture.state->buffered_bytes, ==, 100);
    play_cdc_on(&capture, 1, key_of(2, 9), 51,
                (smcr_cdc_t){.seq = 1, .token = 5, .prod = {0, 100}});
    g_assert_cmpuint(capture.state->buffered_bytes, ==, 0);
    capture_close(&capture);
}

/* Two packets of a request whose FIRST is missing come twice. The message places both once. */
static void
test_bytes_of_duplicates(void)
{
    capture_t capture;

    capture_open(&capture);
    smcr_conn_t *conn = first_contact(&capture);
    confirm_first_link(&capture);
    const smcr_flow_t *flow = &conn->side[SERVER].link->qp[SERVER].traffic.flow;
    uint32_t psn = flow->expected_psn % (SMCR_PSN_MASK + 1) + 1;
    for (unsigned nth = 0; nth < 2; nth++) {
        play_and_fill(&capture, HOST(CLIENT), qp_of_side(SERVER), psn, middle);
        play_and_fill(&capture, HOST(CLIENT), qp_of_side(SERVER), psn + 1, last);
    }
    g_assert_cmpuint(capture.state->buffered_bytes, ==, 2 * (1024 + 452));
    play_cdc_on(&capture, HOST(CLIENT), qp_of_side(SERVER), psn + 2,
                (smcr_cdc_t){.seq = 1, .token = conn->side[SERVER].token, .prod = {0, 2500}});
    g_assert_cmpuint(capture.state->buffered_bytes, ==, 0);
    capture_close(&capture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/orphan/stranger", test_stranger);
    g_test_add_func("/orphan/limit", test_limit);
    g_test_add_func("/orphan/no WRITE", test_no_write);
    g_test_add_func("/orphan/before its FIRST", test_before_first);
    g_test_add_func("/orphan/its FIRST is missing", test_first_missing);
    g_test_add_func("/orphan/a host has told where", test_claim);
    g_test_add_func("/orphan/bytes of strangers", test_bytes_of_strangers);
    g_test_add_func("/orphan/bytes of duplicates", test_bytes_of_duplicates);
    return g_test_run();
}
