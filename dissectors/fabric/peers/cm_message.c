/* cm_message.c
 * Takes the members of a message out of its MAD. Offsets are those of the tables: behind the
 * header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cm_message.h"

#include "wire/wire.h"

#define AT_CLASS 1 /* of the header */
#define AT_VERSION 2
#define AT_METHOD 3
#define AT_TID 8
#define AT_ATTRIBUTE 16

#define BITS_ANSWERED 0xc0 /* of the byte behind the IDs: MRA, REJ */

static uint32_t
number24(const uint8_t *bytes)
{
    return (uint32_t)smcr_wire_number(bytes, 3);
}

static uint32_t
number32(const uint8_t *bytes)
{
    return (uint32_t)smcr_wire_number(bytes, 4);
}

/* FNV-1a: no more is asked of it than that other bytes hardly ever have the same. */
static uint32_t
digest_of(const uint8_t *bytes, size_t length)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        digest = (digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(digest ^ digest >> 32);
}

/* ---- members that several messages have ---- */

static void
take_qpn(smcr_cm_message_t *message, uint32_t qpn)
{
    message->has_qpn = qpn != 0;
    message->qpn = qpn;
}

static void
take_psn(smcr_cm_message_t *message, uint32_t psn)
{
    message->has_psn = true;
    message->starting_psn = psn;
}

static void
take_remote_qpn(smcr_cm_message_t *message, uint32_t qpn)
{
    message->has_remote_qpn = qpn != 0;
    message->remote_qpn = qpn;
}

static void
take_service(smcr_cm_message_t *message, uint64_t service)
{
    message->has_service = true;
    message->service_id = service;
    message->has_port = service >> 24 == SMCR_IB_CM_IP_SERVICE;
    if (message->has_port)
        message->port = (uint16_t)service;
}

/* ---- messages; `body` is what follows the header ---- */

static void
take_req(smcr_cm_message_t *message, const uint8_t *body)
{
    take_service(message, smcr_wire_number(body + 8, 8));
    take_qpn(message, number24(body + 32));
    take_psn(message, number24(body + 44));
}

static void
take_rep(smcr_cm_message_t *message, const uint8_t *body)
{
    uint32_t qpn = number24(body + 12), context = number24(body + 16);

    take_qpn(message, qpn ? qpn : context);
    take_psn(message, number24(body + 20));
}

static void
take_mra(smcr_cm_message_t *message, const uint8_t *body)
{
    message->answered = smcr_wire_bits(body[8], BITS_ANSWERED);
}

static void
take_rej(smcr_cm_message_t *message, const uint8_t *body)
{
    take_mra(message, body);
    message->reason = (uint16_t)smcr_wire_number(body + 10, 2);
}

static void
take_dreq(smcr_cm_message_t *message, const uint8_t *body)
{
    take_remote_qpn(message, number24(body + 8));
}

static void
take_lap(smcr_cm_message_t *message, const uint8_t *body)
{
    take_remote_qpn(message, number24(body + 12));
}

static void
take_sidr_req(smcr_cm_message_t *message, const uint8_t *body)
{
    take_service(message, smcr_wire_number(body + 8, 8));
}

static void
take_sidr_rep(smcr_cm_message_t *message, const uint8_t *body)
{
    message->status = body[4];
    take_qpn(message, number24(body + 8));
    take_service(message, smcr_wire_number(body + 12, 8));
}

/* In the order of the attributes. */
static const struct {
    uint8_t needed; /* bytes behind the header */
    bool names_receiver; /* its communication ID is behind the sender's */
    void (*take)(smcr_cm_message_t *message, const uint8_t *body); /* NULL: there is no more */
} layouts[] = {
    [SMCR_IB_CM_REQ - SMCR_IB_CM_REQ] = {96, false, take_req},
    [SMCR_IB_CM_MRA - SMCR_IB_CM_REQ] = {10, true, take_mra},
    [SMCR_IB_CM_REJ - SMCR_IB_CM_REQ] = {12, true, take_rej},
    [SMCR_IB_CM_REP - SMCR_IB_CM_REQ] = {28, true, take_rep},
    [SMCR_IB_CM_RTU - SMCR_IB_CM_REQ] = {8, true, NULL},
    [SMCR_IB_CM_DREQ - SMCR_IB_CM_REQ] = {11, true, take_dreq},
    [SMCR_IB_CM_DREP - SMCR_IB_CM_REQ] = {8, true, NULL},
    [SMCR_IB_CM_SIDR_REQ - SMCR_IB_CM_REQ] = {16, false, take_sidr_req},
    [SMCR_IB_CM_SIDR_REP - SMCR_IB_CM_REQ] = {24, false, take_sidr_rep},
    [SMCR_IB_CM_LAP - SMCR_IB_CM_REQ] = {15, true, take_lap},
    [SMCR_IB_CM_APR - SMCR_IB_CM_REQ] = {8, true, NULL},
};

static bool
is_cm(const uint8_t *mad)
{
    uint64_t attribute = smcr_wire_number(mad + AT_ATTRIBUTE, 2);

    return mad[0] == SMCR_IB_MAD_BASE_VERSION && mad[AT_CLASS] == SMCR_IB_MAD_CLASS_CM &&
           mad[AT_VERSION] == SMCR_IB_MAD_CM_VERSION && mad[AT_METHOD] == SMCR_IB_MAD_METHOD_SEND &&
           attribute >= SMCR_IB_CM_REQ && attribute <= SMCR_IB_CM_APR;
}

bool
smcr_cm_message_parse(smcr_cm_message_t *message, const uint8_t *mad, size_t length)
{
    *message = (smcr_cm_message_t){.attribute = 0};
    if (length < SMCR_IB_MAD_HEADER_LENGTH || !is_cm(mad))
        return false;
    uint8_t attribute = mad[AT_ATTRIBUTE + 1];
    const uint8_t *body = mad + SMCR_IB_MAD_HEADER_LENGTH;

    if (length - SMCR_IB_MAD_HEADER_LENGTH < layouts[attribute - SMCR_IB_CM_REQ].needed)
        return false;
    message->attribute = attribute;
    message->tid = smcr_wire_number(mad + AT_TID, 8);
    message->local_id = number32(body);
    message->digest = digest_of(mad, length < SMCR_IB_MAD_LENGTH ? length : SMCR_IB_MAD_LENGTH);
    if (layouts[attribute - SMCR_IB_CM_REQ].names_receiver)
        message->remote_id = number32(body + 4);
    if (layouts[attribute - SMCR_IB_CM_REQ].take)
        layouts[attribute - SMCR_IB_CM_REQ].take(message, body);
    return true;
}
