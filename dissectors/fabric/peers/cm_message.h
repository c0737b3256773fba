/* A message of communication management, taken out of its MAD (InfiniBand Architecture
 * Specification, volume 1, 12.6 and 12.11; the layouts are those of tables 106 to 120).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "wire/wire.h"

/* All numbers are in host byte order. A member that the message does not have is zero. */
typedef struct {
    uint8_t attribute;     /* enum smcr_ib_cm_attribute: which message it is */
    uint64_t tid;          /* transaction ID */
    uint32_t local_id;     /* communication ID of the sender; SIDR: the request ID. 0: not named */
    uint32_t remote_id;    /* communication ID of the receiver; 0: not named */
    uint32_t digest;       /* of the whole MAD: equal in messages of equal bytes */

    bool has_qpn;          /* REQ, REP, SIDR_REP (unless 0): `qpn` is set */
    uint32_t qpn;          /* queue pair of the sender, 24 bits. REP of an XRC connection: from the
                              field of the EE context */
    bool has_remote_qpn;   /* DREQ, LAP: `remote_qpn` is set */
    uint32_t remote_qpn;   /* queue pair of the *receiver*, 24 bits */
    bool has_psn;          /* REQ, REP: `starting_psn` is set */
    uint32_t starting_psn; /* first PSN that the *receiver* of the message sends with, 24 bits */

    bool has_service;      /* REQ, SIDR_REQ, SIDR_REP: `service_id` is set */
    uint64_t service_id;
    bool has_port;         /* the service ID is one of RDMA-CM: `port` is set */
    uint16_t port;         /* port number of RDMA-CM, as applications use it */

    uint8_t answered;      /* MRA, REJ: enum smcr_ib_cm_answered, or 3 */
    uint16_t reason;       /* REJ: enum smcr_ib_cm_reason, or another */
    uint8_t status;        /* SIDR_REP: enum smcr_ib_cm_sidr_status, or another */
} smcr_cm_message_t;

/* Parses `length` bytes at `mad`, the payload of a UD SEND Only to queue pair 1. Bytes after the
 * 256 bytes of a MAD do not count. Returns whether the bytes are a known message of communication
 * management, with the method Send, of which all members are there; the capture may have cut the
 * private data. `message` is all zeros when the function returns false. */
bool smcr_cm_message_parse(smcr_cm_message_t *message, const uint8_t *mad, size_t length);
