/* What the messages of the communication management tell of a connection, and which connection has
 * a queue pair.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "cm_mad.h"
#include "fabric/peers/rdma.h"
#include "wire/wire.h"

/* The connection of a queue pair, without VLAN and tunnel. */
static smcr_cm_conn_t *
find_by_qp(const smcr_cm_t *cm, char device, uint32_t qpn)
{
    smcr_ib_qp_key_t key = {.qpn = qpn};

    memcpy(key.gid, gid_of(device), SMCR_GID_LENGTH);
    return smcr_cm_find_by_qp(cm, &key, (smcr_ib_network_t){0});
}

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* ---- what messages tell ---- */

/* A connection from a to b, and the verdict on its last message. */
static smcr_cm_conn_t *
open_conn(smcr_cm_t *cm, uint32_t frame, uint32_t id, uint32_t qpn)
{
    mad_fields_t req = {.attribute = SMCR_IB_CM_REQ, .tid = id, .local_id = id, .qpn = qpn,
                        .psn = 0x123456, .service_id = 0x0000000001061234};
    mad_fields_t rep = {.attribute = SMCR_IB_CM_REP, .tid = id, .local_id = ~id, .remote_id = id,
                        .qpn = qpn + 1, .psn = 0x654321};
    mad_fields_t rtu = {.attribute = SMCR_IB_CM_RTU, .tid = id, .local_id = id, .remote_id = ~id};

    take(cm, frame, "ab", &req, true);
    take(cm, frame + 1, "ba", &rep, true);
    return take(cm, frame + 2, "ab", &rtu, true).conn;
}

static void
test_told(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_cm_t *cm = smcr_cm_new(scope);
    smcr_cm_conn_t *conn = open_conn(cm, 1, 77, 0x100);

    g_assert_true(conn->roles_known && conn->service_known && conn->port_known);
    g_assert_cmphex(conn->service_id, ==, 0x0000000001061234);
    g_assert_cmpuint(conn->port, ==, 0x1234);
    g_assert_cmpuint(conn->ends[0].id, ==, 77);
    g_assert_cmpuint(conn->ends[1].id, ==, ~77U);
    g_assert_cmphex(conn->ends[0].qpn, ==, 0x100);
    g_assert_cmphex(conn->ends[1].qpn, ==, 0x101);
    g_assert_cmphex(conn->ends[0].psn, ==, 0x654321); /* what the server asked for */
    g_assert_cmphex(conn->ends[1].psn, ==, 0x123456);
    g_assert_cmpuint(smcr_cm_first_frame(conn, 0, SMCR_IB_CM_REQ), ==, 1);
    g_assert_cmpuint(smcr_cm_first_frame(conn, 1, SMCR_IB_CM_REP), ==, 2);
    g_assert_cmpuint(smcr_cm_first_frame(conn, 0, SMCR_IB_CM_REP), ==, 0);
    g_assert_cmpuint(smcr_cm_first_frame(conn, 0, SMCR_IB_CM_RTU), ==, 3);
    g_assert_cmpuint(smcr_cm_first_frame(conn, 0, SMCR_IB_CM_SIDR_REQ), ==, 0);
    g_assert_cmpuint(smcr_cm_first_frame(conn, 1, SMCR_IB_CM_DREQ), ==, 0);
    wmem_destroy_allocator(scope);
}

static void
test_rejected(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_cm_t *cm = smcr_cm_new(scope);
    mad_fields_t req = {.attribute = SMCR_IB_CM_REQ, .tid = 1, .local_id = 5, .qpn = 6,
                        .service_id = 7};
    mad_fields_t rej = {.attribute = SMCR_IB_CM_REJ, .tid = 1, .remote_id = 5, .reason = 8};

    g_assert_false(take(cm, 1, "ab", &req, true).conn->rejected);
    smcr_cm_conn_t *conn = take(cm, 2, "ba", &rej, true).conn;
    g_assert_true(conn->rejected && !conn->port_known);
    g_assert_cmpuint(conn->reason, ==, SMCR_IB_CM_REASON_INVALID_SERVICE_ID);
    g_assert_cmpuint(conn->ends[1].id, ==, 0);
    wmem_destroy_allocator(scope);
}

static void
test_sidr(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_cm_t *cm = smcr_cm_new(scope);
    mad_fields_t req = {.attribute = SMCR_IB_CM_SIDR_REQ, .tid = 1, .local_id = 5,
                        .service_id = 0x1111234};
    mad_fields_t rep = {.attribute = SMCR_IB_CM_SIDR_REP, .tid = 1, .local_id = 5, .qpn = 0x77};
    mad_fields_t none = {.attribute = SMCR_IB_CM_SIDR_REP, .tid = 2, .local_id = 6, .status = 1};

    take(cm, 1, "ab", &req, true);
    smcr_cm_conn_t *conn = take(cm, 2, "ba", &rep, true).conn;
    g_assert_true(conn->sidr && conn->port_known);
    g_assert_true(find_by_qp(cm, 'b', 0x77) == conn);
    g_assert_cmpuint(smcr_cm_first_frame(conn, 1, SMCR_IB_CM_SIDR_REP), ==, 2);
    req.local_id = 6;
    req.tid = 2;
    take(cm, 3, "ab", &req, true);
    conn = take(cm, 4, "ba", &none, true).conn;
    g_assert_cmpuint(conn->index, ==, 1);
    g_assert_false(conn->ends[1].qpn_known);
    wmem_destroy_allocator(scope);
}

static void
test_nobody(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_cm_t *cm = smcr_cm_new(scope);
    mad_fields_t rej = {.attribute = SMCR_IB_CM_REJ}, req = {.attribute = SMCR_IB_CM_REQ, .qpn = 5};

    g_assert_null(take(cm, 1, "ab", &rej, true).conn);
    g_assert_null(take(cm, 2, "ab", &req, true).conn);
    rej.remote_id = 5;
    g_assert_cmpuint(take(cm, 3, "ab", &rej, true).conn->index, ==, 0);
    wmem_destroy_allocator(scope);
}

/* ---- queue pairs ---- */

static void
test_queue_pairs(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_cm_t *cm = smcr_cm_new(scope);
    smcr_cm_conn_t *conn = open_conn(cm, 1, 77, 0x100);

    g_assert_true(find_by_qp(cm, 'a', 0x100) == conn);
    g_assert_true(find_by_qp(cm, 'b', 0x101) == conn);
    g_assert_null(find_by_qp(cm, 'b', 0x100));
    g_assert_null(find_by_qp(cm, 'A', 0x100));
    g_assert_cmpint(smcr_cm_side_of_qp(conn, gid_of('b'), 0x101), ==, 1);
    g_assert_cmpint(smcr_cm_side_of_qp(conn, gid_of('b'), 0x100), ==, -1);
    smcr_cm_conn_t *next = open_conn(cm, 10, 78, 0x101); /* other numbers of a, but 0x101 of b */
    g_assert_true(next != conn);
    g_assert_true(find_by_qp(cm, 'a', 0x100) == conn);
    g_assert_true(find_by_qp(cm, 'b', 0x101) == conn);
    next = open_conn(cm, 20, 79, 0x100);
    g_assert_true(find_by_qp(cm, 'a', 0x100) == next);
    g_assert_true(find_by_qp(cm, 'b', 0x101) == next);
    wmem_destroy_allocator(scope);
}

/* A DREQ tells of a queue pair, but takes it from no connection that lives. */
static void
test_queue_pair_of_dreq(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_STRICT);
    smcr_cm_t *cm = smcr_cm_new(scope);
    mad_fields_t dreq = {.attribute = SMCR_IB_CM_DREQ, .tid = 1, .local_id = 5, .remote_id = 6,
                         .qpn = 0x101};
    smcr_cm_conn_t *late = take(cm, 1, "ab", &dreq, true).conn;

    g_assert_false(late->roles_known);
    g_assert_true(find_by_qp(cm, 'b', 0x101) == late);
    smcr_cm_conn_t *conn = open_conn(cm, 2, 77, 0x100);
    g_assert_true(find_by_qp(cm, 'b', 0x101) == conn);
    dreq.local_id = 8;
    late = take(cm, 9, "ab", &dreq, true).conn;
    g_assert_true(late != conn && find_by_qp(cm, 'b', 0x101) == conn);
    wmem_destroy_allocator(scope);
}

/* ---- many ---- */

/* Each has its own memory and is found in a table: nothing grows with those before it. */
static void
test_many(void)
{
    wmem_allocator_t *scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
    smcr_cm_t *cm = smcr_cm_new(scope);
    uint32_t count = 100000;

    for (uint32_t i = 0; i < count; i++)
        g_assert_cmpuint(open_conn(cm, 3 * i + 1, i + 1, 2 * i + 2)->index, ==, i);
    for (uint32_t i = 0; i < count; i++) {
        const smcr_cm_conn_t *conn = find_by_qp(cm, 'a', 2 * i + 2);
        g_assert_cmpuint(conn->index, ==, i);
        g_assert_true(find_by_qp(cm, 'b', 2 * i + 3) == conn);
    }
    g_assert_cmpuint(sizeof(smcr_cm_conn_t), <=, 240);
    wmem_destroy_allocator(scope);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cm_conn/told", test_told);
    g_test_add_func("/cm_conn/rejected", test_rejected);
    g_test_add_func("/cm_conn/SIDR", test_sidr);
    g_test_add_func("/cm_conn/nobody", test_nobody);
    g_test_add_func("/cm_conn/queue pairs", test_queue_pairs);
    g_test_add_func("/cm_conn/queue pair of a DREQ", test_queue_pair_of_dreq);
    g_test_add_func("/cm_conn/many", test_many);
    return g_test_run();
}
