/* A message of communication management, parsed from its MAD (InfiniBand Architecture
 * Specification, volume 1, 12.6 and 12.11; the layouts are those of tables 106 to 120).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "wire/wire.h"

/* A parsed message. All numbers are in host byte order. A member that the message does not have is
 * zero. */
typedef struct {
    uint8_t attribute;     /* enum smcr_ib_cm_attribute: which message it is */
    uint64_t tid;          /* transaction ID */
    uint32_t local_id;     /* communication ID of the sender, or the request ID of SIDR; 0: the
                              message names no such ID */
    uint32_t remote_id;    /* communication ID of the receiver; 0: the message names no such ID */
    uint32_t digest;       /* digest of the whole MAD: messages of equal bytes have equal digests */

    bool has_qpn;          /* `qpn` is set: the message is a REQ, REP or SIDR_REP, and its number is
                              not 0 */
    uint32_t qpn;          /* queue pair of the sender, 24 bits; in a REP of an XRC connection, the
                              number in the field of the EE context */
    bool has_remote_qpn;   /* `remote_qpn` is set: the message is a DREQ or LAP, and its number is
                              not 0 */
    uint32_t remote_qpn;   /* queue pair of the *receiver*, 24 bits */
    bool has_psn;          /* `starting_psn` is set: the message is a REQ or REP */
    uint32_t starting_psn; /* first PSN that the *receiver* of the message sends with, 24 bits */

    bool has_service;      /* `service_id` is set: the message is a REQ, SIDR_REQ or SIDR_REP */
    uint64_t service_id;   /* service ID: what the connection or the UD queue pair is for */
    bool has_port;         /* `port` is set: the service ID is one of RDMA-CM */
    uint16_t port;         /* port number of RDMA-CM, which applications use like a TCP port */

    uint8_t answered;      /* message that an MRA or REJ answers: enum smcr_ib_cm_answered, or the
                              reserved value 3 */
    uint16_t reason;       /* reason of a REJ: enum smcr_ib_cm_reason, or another number */
    uint8_t status;        /* status of a SIDR_REP: enum smcr_ib_cm_sidr_status, or another
                              number */
} smcr_cm_message_t;

/* Parses `length` bytes at `mad`, the payload of a UD SEND Only to queue pair 1. Bytes after the
 * 256 bytes of a MAD are ignored. Returns whether the bytes are a known message of communication
 * management with the method Send, and include all members; the private data may be truncated. If
 * the function returns false, `message` is all zeros. */
bool smcr_cm_message_parse(smcr_cm_message_t *message, const uint8_t *mad, size_t length);
