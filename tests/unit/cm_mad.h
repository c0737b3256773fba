/* Makes MADs of communication management by hand, from the tables of the specification, and sends
 * them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <glib.h>

#include "fabric/peers/rdma.h"
#include "wire/wire.h"

typedef struct {
    uint8_t attribute;
    uint64_t tid;
    uint32_t local_id, remote_id;
    uint32_t qpn, psn; /* of the message; DREQ, LAP: `qpn` is the receiver's */
    uint64_t service_id;
    uint8_t answered;
    uint16_t reason;
    uint8_t status;
} mad_fields_t;

static inline void
put_number(uint8_t *bytes, unsigned length, uint64_t value)
{
    while (length-- > 0) {
        bytes[length] = (uint8_t)value;
        value >>= 8;
    }
}

static inline void
put_req(uint8_t *body, const mad_fields_t *fields)
{
    put_number(body + 8, 8, fields->service_id);
    put_number(body + 32, 3, fields->qpn);
    put_number(body + 44, 3, fields->psn);
}

static inline void
put_rep(uint8_t *body, const mad_fields_t *fields)
{
    put_number(body + 12, 3, fields->qpn);
    put_number(body + 20, 3, fields->psn);
}

static inline void
put_reason(uint8_t *body, const mad_fields_t *fields)
{
    body[8] = (uint8_t)(fields->answered << 6 | 0x3f);
    if (fields->attribute == SMCR_IB_CM_REJ)
        put_number(body + 10, 2, fields->reason);
}

static inline void
put_sidr_rep(uint8_t *body, const mad_fields_t *fields)
{
    body[4] = fields->status;
    put_number(body + 8, 3, fields->qpn);
    put_number(body + 12, 8, fields->service_id);
}

/* What follows the IDs. */
static inline void
put_body(uint8_t *body, const mad_fields_t *fields)
{
    switch (fields->attribute) {
    case SMCR_IB_CM_REQ:
        put_req(body, fields);
        break;
    case SMCR_IB_CM_MRA:
    case SMCR_IB_CM_REJ:
        put_reason(body, fields);
        break;
    case SMCR_IB_CM_REP:
        put_rep(body, fields);
        break;
    case SMCR_IB_CM_DREQ:
        put_number(body + 8, 3, fields->qpn);
        break;
    case SMCR_IB_CM_SIDR_REQ:
        put_number(body + 8, 8, fields->service_id);
        break;
    case SMCR_IB_CM_SIDR_REP:
        put_sidr_rep(body, fields);
        break;
    case SMCR_IB_CM_LAP:
        put_number(body + 12, 3, fields->qpn);
        break;
    }
}

/* Writes the 256 bytes of a MAD. */
static inline void
put_mad(uint8_t mad[256], const mad_fields_t *fields)
{
    uint8_t *body = mad + 24;
    bool pair = fields->attribute != SMCR_IB_CM_REQ && fields->attribute != SMCR_IB_CM_SIDR_REQ &&
                fields->attribute != SMCR_IB_CM_SIDR_REP;

    memset(mad, 0, 256);
    put_number(mad, 4, 0x01070203); /* base version, class, class version, Send */
    put_number(mad + 8, 8, fields->tid);
    put_number(mad + 16, 2, fields->attribute);
    put_number(body, 4, fields->local_id);
    if (pair)
        put_number(body + 4, 4, fields->remote_id);
    put_body(body, fields);
}

/* The GID of a device, which has the name of a character; from x on those of IPv6. */
static inline const uint8_t *
gid_of(char device)
{
    static uint8_t gids[128][SMCR_GID_LENGTH];
    uint8_t ipv4[] = {10, 0, 0, (uint8_t)device};
    uint8_t *gid = gids[(unsigned)device & 0x7f];

    smcr_gid_map_ipv4(gid, ipv4);
    if (device >= 'x')
        gid[0] = 0xfd;
    return gid;
}

/* Sends a message in a frame; `route` names two devices. */
static inline smcr_cm_verdict_t
take_at(smcr_cm_t *cm, smcr_when_t when, const char *route, const mad_fields_t *fields,
        bool received)
{
    uint8_t mad[SMCR_IB_MAD_LENGTH];
    smcr_cm_message_t message;
    smcr_cm_packet_t packet = {
        .when = when, .source = gid_of(route[0]), .target = gid_of(route[1]),
        .message = &message, .has_good_icrc = received};

    put_mad(mad, fields);
    g_assert_true(smcr_cm_message_parse(&message, mad, sizeof mad));
    return smcr_cm_judge(cm, &packet);
}

/* Sends a message in a frame, a second after that in the frame before. */
static inline smcr_cm_verdict_t
take(smcr_cm_t *cm, uint32_t frame, const char *route, const mad_fields_t *fields, bool received)
{
    return take_at(cm, (smcr_when_t){frame, frame * UINT64_C(1000000000)}, route, fields,
                   received);
}
