/* MADs of communication management, whole and cut, and what is none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "cm_mad.h"
#include "fabric/peers/rdma.h"
#include "wire/wire.h"

/* Rows name only what is not zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define TID UINT64_C(0x0102030405060708)

/* Bytes that a message needs at least. */
static const struct {
    uint8_t attribute;
    size_t needed;
} lengths[] = {
    {SMCR_IB_CM_REQ, 120}, {SMCR_IB_CM_MRA, 34},      {SMCR_IB_CM_REJ, 36},
    {SMCR_IB_CM_REP, 52},  {SMCR_IB_CM_RTU, 32},      {SMCR_IB_CM_DREQ, 35},
    {SMCR_IB_CM_DREP, 32}, {SMCR_IB_CM_SIDR_REQ, 40}, {SMCR_IB_CM_SIDR_REP, 48},
    {SMCR_IB_CM_LAP, 39},  {SMCR_IB_CM_APR, 32},
};

static smcr_cm_message_t
parse(mad_fields_t fields)
{
    uint8_t mad[SMCR_IB_MAD_LENGTH];
    smcr_cm_message_t message;

    fields.tid = TID;
    fields.local_id = 0x11121314;
    fields.remote_id = 0x21222324;
    put_mad(mad, &fields);
    g_assert_true(smcr_cm_message_parse(&message, mad, sizeof mad));
    g_assert_cmphex(message.tid, ==, TID);
    g_assert_cmphex(message.local_id, ==, 0x11121314);
    g_assert_cmphex(message.attribute, ==, fields.attribute);
    bool pair = fields.attribute != SMCR_IB_CM_REQ && fields.attribute != SMCR_IB_CM_SIDR_REQ &&
                fields.attribute != SMCR_IB_CM_SIDR_REP;
    g_assert_cmphex(message.remote_id, ==, pair ? 0x21222324 : 0);
    return message;
}

static void
test_req(void)
{
    smcr_cm_message_t message = parse((mad_fields_t){.attribute = SMCR_IB_CM_REQ, .qpn = 0x313233,
        .psn = 0x414243, .service_id = 0x00000000013f5152});

    g_assert_true(message.has_qpn && message.has_psn && message.has_service);
    g_assert_true(message.has_port && !message.has_remote_qpn);
    g_assert_cmphex(message.qpn, ==, 0x313233);
    g_assert_cmphex(message.starting_psn, ==, 0x414243);
    g_assert_cmphex(message.service_id, ==, 0x00000000013f5152);
    g_assert_cmphex(message.port, ==, 0x5152);
}

static void
test_rep(void)
{
    uint8_t mad[SMCR_IB_MAD_LENGTH];
    smcr_cm_message_t message = parse((mad_fields_t){.attribute = SMCR_IB_CM_REP, .qpn = 0xfffffe,
                                                     .psn = 0x800001});

    g_assert_true(message.has_qpn && message.has_psn && !message.has_service);
    g_assert_cmphex(message.qpn, ==, 0xfffffe);
    g_assert_cmphex(message.starting_psn, ==, 0x800001);
    put_mad(mad, &(mad_fields_t){.attribute = SMCR_IB_CM_REP}); /* of an XRC connection */
    put_number(mad + 24 + 16, 3, 0x778899);
    g_assert_true(smcr_cm_message_parse(&message, mad, sizeof mad));
    g_assert_cmphex(message.qpn, ==, 0x778899);
}

static void
test_others(void)
{
    smcr_cm_message_t message = parse((mad_fields_t){.attribute = SMCR_IB_CM_MRA, .answered = 1});

    g_assert_cmpuint(message.answered, ==, SMCR_IB_CM_ANSWERS_REP);
    message = parse((mad_fields_t){.attribute = SMCR_IB_CM_REJ, .answered = 2, .reason = 0x010a});
    g_assert_cmpuint(message.answered, ==, SMCR_IB_CM_ANSWERS_OTHER);
    g_assert_cmphex(message.reason, ==, 0x010a);
    message = parse((mad_fields_t){.attribute = SMCR_IB_CM_DREQ, .qpn = 0xabcdef});
    g_assert_true(message.has_remote_qpn && !message.has_qpn);
    g_assert_cmphex(message.remote_qpn, ==, 0xabcdef);
    message = parse((mad_fields_t){.attribute = SMCR_IB_CM_LAP, .qpn = 0xabcdef});
    g_assert_cmphex(message.remote_qpn, ==, 0xabcdef);
    message = parse((mad_fields_t){.attribute = SMCR_IB_CM_SIDR_REQ,
                                     .service_id = 0x0100000001061234});
    g_assert_true(message.has_service && !message.has_port && !message.has_qpn);
    message = parse((mad_fields_t){.attribute = SMCR_IB_CM_SIDR_REP, .qpn = 0x123456, .status = 5});
    g_assert_true(message.has_qpn);
    g_assert_cmphex(message.qpn, ==, 0x123456);
    g_assert_cmpuint(message.status, ==, SMCR_IB_CM_SIDR_UNSUPPORTED_VERSION);
}

/* Cut at every length; the bytes are where a tool sees each that is read behind the end. */
static void
test_cut(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(lengths); i++) {
        uint8_t mad[SMCR_IB_MAD_LENGTH];
        smcr_cm_message_t message;
        put_mad(mad, &(mad_fields_t){.attribute = lengths[i].attribute, .tid = TID, .qpn = 1});
        for (size_t length = 0; length <= sizeof mad; length++) {
            uint8_t *cut = g_memdup(mad, (guint)length);
            bool whole = length >= lengths[i].needed;
            g_assert_cmpint(smcr_cm_message_parse(&message, cut, length), ==, whole);
            g_assert_cmphex(message.tid, ==, whole ? TID : 0);
            g_free(cut);
        }
    }
}

static void
test_none(void)
{
    static const struct {
        uint8_t at, value;
    } bytes[] = {
        {0, 0}, {0, 2}, {0, 0x80}, {1, 0x03}, {1, 0x08}, {2, 1}, {2, 3}, {3, 0x01}, {3, 0x02},
        {3, 0x81}, {3, 0x83}, {16, 0x10}, {17, 0x0f}, {17, 0x1b}, {17, 0x01},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(bytes); i++) {
        uint8_t mad[SMCR_IB_MAD_LENGTH];
        smcr_cm_message_t message;
        put_mad(mad, &(mad_fields_t){.attribute = SMCR_IB_CM_RTU});
        g_assert_true(smcr_cm_message_parse(&message, mad, sizeof mad));
        mad[bytes[i].at] = bytes[i].value;
        g_assert_false(smcr_cm_message_parse(&message, mad, sizeof mad));
        g_assert_cmpuint(message.attribute, ==, 0);
    }
}

/* Equal bytes have equal digests; one other byte makes another, but not behind the MAD. */
static void
test_digest(void)
{
    uint8_t mad[SMCR_IB_MAD_LENGTH + 1];
    smcr_cm_message_t message, other;

    put_mad(mad, &(mad_fields_t){.attribute = SMCR_IB_CM_DREP, .tid = TID});
    mad[SMCR_IB_MAD_LENGTH] = 0;
    g_assert_true(smcr_cm_message_parse(&message, mad, SMCR_IB_MAD_LENGTH));
    for (unsigned i = SMCR_IB_MAD_HEADER_LENGTH; i < sizeof mad; i++) {
        mad[i] ^= 1;
        g_assert_true(smcr_cm_message_parse(&other, mad, sizeof mad));
        g_assert_cmpint(other.digest == message.digest, ==, i == SMCR_IB_MAD_LENGTH);
        mad[i] ^= 1;
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cm_message/REQ", test_req);
    g_test_add_func("/cm_message/REP", test_rep);
    g_test_add_func("/cm_message/others", test_others);
    g_test_add_func("/cm_message/cut", test_cut);
    g_test_add_func("/cm_message/none", test_none);
    g_test_add_func("/cm_message/digest", test_digest);
    return g_test_run();
}
