/* Parses a message from its MAD. Offsets are those of the tables in the specification, which count
 * from the end of the MAD header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "cm_message.h"

#define AT_CLASS 1 /* offsets in the MAD header */
#define AT_VERSION 2
#define AT_METHOD 3
#define AT_TID 8
#define AT_ATTRIBUTE 16

#define BITS_ANSWERED 0xc0 /* bits of the byte after the IDs, in an MRA or REJ, that say which
                              message it answers */

/* Returns the number in three bytes in network order. */
static uint32_t
number24(const uint8_t *bytes)
{
    return (uint32_t)smcr_wire_number(bytes, 3);
}

/* Returns the FNV-1a hash of the bytes. Different messages have equal digests so rarely that an
 * equal digest counts as a retransmission. */
static uint32_t
digest_of(const uint8_t *bytes, size_t length)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        digest = (digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(digest ^ digest >> 32);
}

/* ---- messages ---- */

/* Offsets of the members of a message, in bytes after the MAD header; 0: the message has no such
 * member. */
typedef struct {
    uint8_t needed;      /* number of bytes from the end of the MAD header to the end of the last
                            member */
    bool names_receiver; /* the receiver's communication ID comes after the sender's ID in the
                            message */
    uint8_t service;    /* service ID, 8 bytes */
    uint8_t qpn;        /* queue pair of the sender, 3 bytes */
    uint8_t psn;        /* first PSN, 3 bytes */
    uint8_t remote_qpn; /* queue pair of the receiver, 3 bytes */
    uint8_t context;    /* end-to-end context, 3 bytes, which has the queue pair if the field `qpn`
                           is 0 (XRC) */
    uint8_t answered;   /* byte that says which message an MRA or REJ answers */
    uint8_t reason;     /* reason of a REJ, 2 bytes */
    uint8_t status;     /* status of a SIDR_REP, 1 byte */
} layout_t;

static const layout_t layouts[] = {
    [SMCR_IB_CM_REQ - SMCR_IB_CM_REQ] = {96, false, .service = 8, .qpn = 32, .psn = 44},
    [SMCR_IB_CM_MRA - SMCR_IB_CM_REQ] = {10, true, .answered = 8},
    [SMCR_IB_CM_REJ - SMCR_IB_CM_REQ] = {12, true, .answered = 8, .reason = 10},
    [SMCR_IB_CM_REP - SMCR_IB_CM_REQ] = {28, true, .qpn = 12, .context = 16, .psn = 20},
    [SMCR_IB_CM_RTU - SMCR_IB_CM_REQ] = {8, true, .qpn = 0},
    [SMCR_IB_CM_DREQ - SMCR_IB_CM_REQ] = {11, true, .remote_qpn = 8},
    [SMCR_IB_CM_DREP - SMCR_IB_CM_REQ] = {8, true, .qpn = 0},
    [SMCR_IB_CM_SIDR_REQ - SMCR_IB_CM_REQ] = {16, false, .service = 8},
    [SMCR_IB_CM_SIDR_REP - SMCR_IB_CM_REQ] = {24, false, .status = 4, .qpn = 8, .service = 12},
    [SMCR_IB_CM_LAP - SMCR_IB_CM_REQ] = {15, true, .remote_qpn = 12},
    [SMCR_IB_CM_APR - SMCR_IB_CM_REQ] = {8, true, .qpn = 0},
};

/* Reads the service ID of a message, if its kind has one. `body`: the bytes after the MAD
 * header. */
static void
take_service(smcr_cm_message_t *message, const layout_t *at, const uint8_t *body)
{
    if (!at->service)
        return;
    message->has_service = true;
    message->service_id = smcr_wire_number(body + at->service, 8);
    message->has_port = message->service_id >> 24 == SMCR_IB_CM_IP_SERVICE;
    message->port = message->has_port ? (uint16_t)message->service_id : 0;
}

/* Reads the queue pairs and the first PSN that the message names. The sender's queue pair is in one
 * of two places; 0 there means that the message names none. */
static void
take_queue_pairs(smcr_cm_message_t *message, const layout_t *at, const uint8_t *body)
{
    message->qpn = at->qpn ? number24(body + at->qpn) : 0;
    if (at->context && !message->qpn)
        message->qpn = number24(body + at->context);
    message->has_qpn = message->qpn != 0;
    message->has_psn = at->psn != 0;
    message->starting_psn = at->psn ? number24(body + at->psn) : 0;
    message->remote_qpn = at->remote_qpn ? number24(body + at->remote_qpn) : 0;
    message->has_remote_qpn = message->remote_qpn != 0;
}

/* Reads the ID of the receiver, and what an answer says: the answered message, the reason of a REJ,
 * the status of a SIDR_REP. Members that the message does not have stay as they are. */
static void
take_answer(smcr_cm_message_t *message, const layout_t *at, const uint8_t *body)
{
    if (at->names_receiver)
        message->remote_id = smcr_wire_number32(body + 4);
    if (at->answered)
        message->answered = smcr_wire_bits(body[at->answered], BITS_ANSWERED);
    if (at->reason)
        message->reason = (uint16_t)smcr_wire_number(body + at->reason, 2);
    if (at->status)
        message->status = body[at->status];
}

/* Whether the MAD header is one of communication management, with the method Send. */
static bool
is_cm_header(const uint8_t *mad)
{
    return mad[0] == SMCR_IB_MAD_BASE_VERSION && mad[AT_CLASS] == SMCR_IB_MAD_CLASS_CM &&
           mad[AT_VERSION] == SMCR_IB_MAD_CM_VERSION && mad[AT_METHOD] == SMCR_IB_MAD_METHOD_SEND;
}

/* Whether the MAD is a message of communication management with a known attribute. */
static bool
is_known_message(const uint8_t *mad)
{
    uint64_t attribute = smcr_wire_number(mad + AT_ATTRIBUTE, 2);

    return is_cm_header(mad) && attribute >= SMCR_IB_CM_REQ && attribute <= SMCR_IB_CM_APR;
}

/* The attribute selects the layout. No member is set unless all members of the layout are
 * captured. */
bool
smcr_cm_message_parse(smcr_cm_message_t *message, const uint8_t *mad, size_t length)
{
    *message = (smcr_cm_message_t){.attribute = 0};
    if (length < SMCR_IB_MAD_HEADER_LENGTH || !is_known_message(mad))
        return false;
    uint8_t attribute = mad[AT_ATTRIBUTE + 1];
    const uint8_t *body = mad + SMCR_IB_MAD_HEADER_LENGTH;
    const layout_t *at = &layouts[attribute - SMCR_IB_CM_REQ];

    if (length - SMCR_IB_MAD_HEADER_LENGTH < at->needed)
        return false;
    message->attribute = attribute;
    message->tid = smcr_wire_number(mad + AT_TID, 8);
    message->local_id = smcr_wire_number32(body);
    message->digest = digest_of(mad, length < SMCR_IB_MAD_LENGTH ? length : SMCR_IB_MAD_LENGTH);
    take_service(message, at, body);
    take_queue_pairs(message, at, body);
    take_answer(message, at, body);
    return true;
}
