/* cm_message.h
 * A message of communication management, taken out of its MAD (InfiniBand Architecture
 * Specification, volume 1, 12.6 and 12.11; the layouts are those of tables 106 to 120).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_PEERS_CM_MESSAGE_H
#define SMCR_FABRIC_PEERS_CM_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

/* All numbers in host byte order. What a message does not have is zero. */
typedef struct {
    uint8_t attribute;    /* enum smcr_ib_cm_attribute: which message it is */
    uint64_t tid;         /* transaction ID */
    uint32_t local_id;    /* communication ID of the sender; SIDR: the request ID. 0: not told */
    uint32_t remote_id;   /* of the receiver; 0: not told */
    uint32_t digest;      /* of the whole MAD: equal in messages of equal bytes */

    bool has_qpn;         /* REQ, REP, SIDR_REP (unless 0): queue pair of the sender */
    uint32_t qpn;         /* 24 bits. REP of an XRC connection: from the field of the EE context */
    bool has_remote_qpn;  /* DREQ, LAP: queue pair of the *receiver* */
    uint32_t remote_qpn;  /* 24 bits */
    bool has_psn;         /* REQ, REP */
    uint32_t starting_psn; /* 24 bits: first PSN that the *receiver* of the message sends with */

    bool has_service;     /* REQ, SIDR_REQ, SIDR_REP */
    uint64_t service_id;
    bool has_port;        /* the service ID is one of RDMA-CM */
    uint16_t port;

    uint8_t answered;     /* MRA, REJ: enum smcr_ib_cm_answered, or 3 */
    uint16_t reason;      /* REJ: enum smcr_ib_cm_reason, or another */
    uint8_t status;       /* SIDR_REP: enum smcr_ib_cm_sidr_status, or another */
} smcr_cm_message_t;

/*
 * Parses `length` bytes at `mad`, the payload of a UD SEND Only to queue pair 1; what is behind the
 * 256 bytes of a MAD is not looked at. Returns whether it is a known message of communication
 * management that is long enough (the table of layouts tells); what follows, private data for
 * instance, may be cut. All messages are sent with the method Send: with any other it is none.
 * `message` is all zeros when it is none.
 */
bool smcr_cm_message_parse(smcr_cm_message_t *message, const uint8_t *mad, size_t length);

#endif /* SMCR_FABRIC_PEERS_CM_MESSAGE_H */
