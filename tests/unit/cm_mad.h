/* cm_mad.h
 * Makes MADs of communication management by hand, from the tables of the specification, and sends
 * them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_TEST_CM_MAD_H
#define SMCR_TEST_CM_MAD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <glib.h>

#include "fabric/peers/peers.h"
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
    put_number(body + 28, 4, 0x11223344);   /* Q_Key */
    put_number(body + 32, 3, fields->qpn);
    body[43] = 20 << 3 | 1 << 1 | 1;        /* remote response timeout, UC, flow control */
    put_number(body + 44, 3, fields->psn);
    body[47] = 21 << 3 | 6;                 /* local response timeout, retry count */
    body[50] = 3 << 4 | 1 << 3 | 5;         /* MTU 1024, RDC exists, RNR retry count */
    body[51] = 15 << 4 | 1 << 3 | 0;        /* CM retries, SRQ, extended transport type */
    memset(body + 56, 0xaa, 16);
    memset(body + 72, 0xbb, 16);
    put_number(body + 88, 4, 0xabcdeU << 12 | 0x3f); /* flow label, packet rate */
    body[95] = 19 << 3 | 7;                 /* local ACK timeout, reserved */
}

static inline void
put_rep(uint8_t *body, const mad_fields_t *fields)
{
    put_number(body + 8, 4, 0x55667788); /* Q_Key */
    put_number(body + 12, 3, fields->qpn);
    put_number(body + 20, 3, fields->psn);
    body[27] = 4 << 5 | 1 << 4;          /* RNR retry count, SRQ */
}

/* Writes the 256 bytes of a MAD. */
static inline void
put_mad(uint8_t mad[256], const mad_fields_t *fields)
{
    uint8_t *body = mad + 24;

    memset(mad, 0, 256);
    put_number(mad, 4, 0x01070203); /* base version, class, class version, Send */
    put_number(mad + 8, 8, fields->tid);
    put_number(mad + 16, 2, fields->attribute);
    put_number(body, 4, fields->local_id);
    if (fields->attribute != 0x10 && fields->attribute < 0x17)
        put_number(body + 4, 4, fields->remote_id);
    switch (fields->attribute) {
    case 0x10:
        put_req(body, fields);
        break;
    case 0x11:
        body[8] = (uint8_t)(fields->answered << 6 | 0x3f);
        body[9] = 17 << 3 | 7;
        break;
    case 0x12:
        body[8] = (uint8_t)(fields->answered << 6 | 0x3f);
        put_number(body + 10, 2, fields->reason);
        break;
    case 0x13:
        put_rep(body, fields);
        break;
    case 0x15:
        put_number(body + 8, 3, fields->qpn);
        break;
    case 0x17:
        put_number(body + 8, 8, fields->service_id);
        break;
    case 0x18:
        body[4] = fields->status;
        put_number(body + 8, 3, fields->qpn);
        put_number(body + 12, 8, fields->service_id);
        put_number(body + 20, 4, 0x01234567);
        break;
    case 0x19:
        put_number(body + 4, 4, fields->remote_id);
        put_number(body + 12, 3, fields->qpn);
        break;
    case 0x1a:
        put_number(body + 4, 4, fields->remote_id);
        break;
    }
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
take(smcr_cm_t *cm, uint32_t frame, const char *route, const mad_fields_t *fields, bool received)
{
    uint8_t mad[SMCR_MAD_LENGTH];
    smcr_cm_message_t message;
    smcr_cm_packet_t packet = {
        {frame, frame}, gid_of(route[0]), gid_of(route[1]), &message, received};

    put_mad(mad, fields);
    g_assert_true(smcr_cm_message_parse(&message, mad, sizeof mad));
    return smcr_cm_take(cm, &packet);
}

#endif /* SMCR_TEST_CM_MAD_H */
