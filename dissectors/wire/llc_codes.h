/* LLC messages: types, flags, lengths, reasons (RFC 7609 A.3, net/smc/smc_llc.c). CDC messages,
 * which have the same type and length fields: types and flags (A.4, net/smc/smc_cdc.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdbool.h>

#include "codes.h"

/* Bits of the type, the first byte of a message */
#define SMCR_LLC_TYPE_V2 0x20        /* version 2 (types 0x2x): the length field has 16 bits, and
                                        there are no continuation messages */
#define SMCR_LLC_CLASS 0xc0          /* bits that define what a receiver does with a message whose
                                        type it does not know (A.3) */
#define SMCR_LLC_CLASS_OPTIONAL 0x80 /* value of SMCR_LLC_CLASS: a receiver that does not know the
                                        type discards the message silently */
#define SMCR_LLC_CLASS_CDC 0xc0      /* value of SMCR_LLC_CLASS: the message is a CDC message */

/* Optional types of which only the names are known: Wireshark's packet-smc.c, commit 07d77dd5 */
#define SMCR_LLC_OPTIONAL_TYPES(V) \
    V(SMCR_LLC_OPT_CONTROL, 0x80, "OPT MESSAGE CONTROL") \
    V(SMCR_LLC_NWM_DATA, 0x8a, "NWM DATA")
/* The type of CDC messages (A.4) */
#define SMCR_CDC_TYPES(V) V(SMCR_LLC_CDC, 0xfe, "CDC")

/* Offsets in the first four bytes of an LLC message */
#define SMCR_LLC_LENGTH_AT 1
#define SMCR_LLC_REJECT_AT 2 /* version 1: offset of the reason in a rejecting ADD LINK response; in
                                other messages this byte is reserved. Version 2: second byte of the
                                length */
#define SMCR_LLC_FLAGS_AT 3

#define SMCR_LLC_HEADER 4    /* length of the header, bytes: up to the flags */
#define SMCR_LLC_LENGTH 44   /* length of every v1 message and of CDC messages (A.3, A.4) */
#define SMCR_LLC_RKEYS_MAX 8 /* highest number of RKeys in a DELETE RKEY of version 1 (A.3.7) */
#define SMCR_CDC_SMCD_LENGTH 32 /* length of a CDC message of SMC-D (net/smc/smc_cdc.h) */
#define SMCR_CDC_FLAGS_END 26 /* CDC message: offset of the first byte after the flags. The bytes
                                 from there on are reserved; ANCK has credits in the first */

/* Flags in byte 3 of an LLC message */
#define SMCR_LLC_FLAG_RESPONSE 0x80
#define SMCR_LLC_FLAG_REJECTED 0x40  /* flag of an ADD LINK response (both versions) or REQUEST ADD
                                        LINK response (version 2): the link is rejected */
#define SMCR_LLC_FLAG_ALL 0x40       /* DELETE LINK: all links of the group */
#define SMCR_LLC_FLAG_ORDERLY 0x20   /* DELETE LINK: the connections of the link get time to end */
#define SMCR_LLC_FLAG_NEGATIVE 0x20  /* flag of a response to CONFIRM RKEY, its continuation, or
                                        DELETE RKEY: the answer is negative */
#define SMCR_LLC_FLAG_RETRY 0x10     /* flag of a negative response to CONFIRM RKEY: the requester
                                        should repeat the request after the links have changed */
#define SMCR_MASK_REJECT_REASON 0x0f /* reason of a rejection; version 1: bits of the message's byte
                                        2; version 2: bits of its flags */
#define SMCR_MASK_NO_EYECATCHER 0x03 /* mask of the code enum smcr_llc_no_eyecatcher, in the flags
                                        of a CONFIRM LINK of Linux */

#define SMCR_LLC_ERROR_MASK_FIRST 0x80 /* bit of the first RKey in the error mask of a DELETE RKEY
                                          response (A.3.7); the next RKeys have the next lower
                                          bits */
#define SMCR_MASK_DIRECT 0x80          /* flag in an ADD LINK of version 2 and in the first contact
                                          extension: no router is between the two devices */

/* Reasons of a rejected ADD LINK (A.3.2) */
#define SMCR_LLC_REJECT_REASONS(V) \
    V(SMCR_LLC_REJECT_NOT_GIVEN, 0, "not given") \
    V(SMCR_LLC_REJECT_NO_ALTERNATE_PATH, 1, "no alternate path available") \
    V(SMCR_LLC_REJECT_INVALID_MTU, 2, "invalid MTU value")

/* Reasons in a DELETE LINK (A.3.4); 0x00200000 is a code of Linux */
#define SMCR_LLC_DELETE_REASONS(V) \
    V(SMCR_LLC_DELETE_NOT_GIVEN, 0x00000000, "not given") \
    V(SMCR_LLC_DELETE_LOST_PATH, 0x00010000, "lost path") \
    V(SMCR_LLC_DELETE_OPERATOR, 0x00020000, "operator initiated") \
    V(SMCR_LLC_DELETE_PROGRAM, 0x00030000, "program initiated (link group inactive)") \
    V(SMCR_LLC_DELETE_PROTOCOL, 0x00040000, "LLC protocol violation") \
    V(SMCR_LLC_DELETE_ASYMMETRIC, 0x00050000, "asymmetric link no longer needed") \
    V(SMCR_LLC_DELETE_UNKNOWN_LINK, 0x00100000, "unknown link ID") \
    V(SMCR_LLC_DELETE_UNKNOWN_GROUP, 0x00200000, "unknown link group")

/* Whether the sender's RMB elements have no eyecatcher (CONFIRM LINK; smc_llc.c,
 * SMC_LLC_FLAG_NO_RMBE_EYEC) */
#define SMCR_LLC_NO_EYECATCHER(V) \
    V(SMCR_LLC_EYECATCHER_IN_RMB, 0, "no, data begins at offset 4") \
    V(SMCR_LLC_EYECATCHER_NOT_IN_RMB, 3, "yes, data begins at offset 0")

/* Opcodes in the immediate data of RDMA WRITEs, sent by ANCK, the kernel of Alibaba (ANCK's
 * smc_wr.h) */
#define SMCR_CDC_IMMEDIATES(V) \
    V(SMCR_CDC_IMMEDIATE_DATA, 0, "DATA") \
    V(SMCR_CDC_IMMEDIATE_FLAGS, 1, "DATA_WITH_FLAGS") \
    V(SMCR_CDC_IMMEDIATE_CTRL, 2, "CTRL") \
    V(SMCR_CDC_IMMEDIATE_CREDITS, 6, "DATA_CR") \
    V(SMCR_CDC_IMMEDIATE_BOTH, 7, "DATA_WITH_FLAGS_CR")

/* Codes of exchanges, defined by the plugin. If a response ends the exchange, the code is the type
 * of the request. If the peer answers a request with a request of its own (3.5.5.3), the code is
 * SMCR_LLC_STEP_REQUEST | the type of the first request; the list has these exchanges. */
#define SMCR_LLC_STEP_REQUEST 0x40
#define SMCR_LLC_REQUEST_STEPS(V) \
    V(SMCR_LLC_STEP_ADD_LINK, 0x42, "ADD LINK -> ADD LINK") \
    V(SMCR_LLC_STEP_DELETE_LINK, 0x44, "DELETE LINK -> DELETE LINK") \
    V(SMCR_LLC_STEP_REQ_ADD_LINK, 0x45, "REQUEST ADD LINK -> ADD LINK") \
    V(SMCR_LLC_STEP_ADD_LINK_V2, 0x62, "ADD LINK v2 -> ADD LINK v2") \
    V(SMCR_LLC_STEP_DELETE_LINK_V2, 0x64, "DELETE LINK v2 -> DELETE LINK v2") \
    V(SMCR_LLC_STEP_REQ_ADD_LINK_V2, 0x65, "REQUEST ADD LINK v2 -> ADD LINK v2")

enum smcr_llc_type {
#define SMCR_LLC_MESSAGE(name, type, ...) SMCR_LLC_##name = (type),
#include "llc.def"
    SMCR_LLC_OPTIONAL_TYPES(SMCR_WIRE_ENUM_ROW)
    SMCR_CDC_TYPES(SMCR_WIRE_ENUM_ROW)
};
enum smcr_cdc_flag {
#define SMCR_CDC_FLAG(name, mask, field, words) SMCR_CDC_FLAG_##name = mask,
#define SMCR_CDC_STATE(name, mask, field, words) SMCR_CDC_STATE_##name = mask,
#include "cdc.def"
};
/* The state flags of a CDC message that end the sender's data or the connection. */
#define SMCR_CDC_STATE_ENDS \
    (SMCR_CDC_STATE_SENDING_DONE | SMCR_CDC_STATE_CLOSED | SMCR_CDC_STATE_ABORT)
enum smcr_cdc_immediate { SMCR_CDC_IMMEDIATES(SMCR_WIRE_ENUM_ROW) };
enum smcr_llc_reject_reason { SMCR_LLC_REJECT_REASONS(SMCR_WIRE_ENUM_ROW) };
enum smcr_llc_delete_reason { SMCR_LLC_DELETE_REASONS(SMCR_WIRE_ENUM_ROW) };
enum smcr_llc_request_step { SMCR_LLC_REQUEST_STEPS(SMCR_WIRE_ENUM_ROW) };
enum smcr_llc_no_eyecatcher { SMCR_LLC_NO_EYECATCHER(SMCR_WIRE_ENUM_ROW) };

/* Returns the code of an exchange. `asked`: type of the exchange's first request (enum
 * smcr_llc_type). `by_response`: true if a response ends the exchange, false if a request of the
 * peer ends the exchange. */
static inline uint8_t
smcr_wire_llc_step(uint8_t asked, bool by_response)
{
    return by_response ? asked : asked | SMCR_LLC_STEP_REQUEST;
}

/* Returns the version of an LLC message whose first byte is `type`: 1 or 2; 0: the type has a bit
 * of SMCR_LLC_CLASS, as optional types and CDC have. */
static inline uint8_t
smcr_wire_llc_version(uint8_t type)
{
    if (type & SMCR_LLC_CLASS)
        return 0;
    return type & SMCR_LLC_TYPE_V2 ? 2 : 1;
}

/* Whether a message whose first byte is `type` is a CDC message. */
static inline bool
smcr_wire_llc_type_is_cdc(uint8_t type)
{
    return (type & SMCR_LLC_CLASS) == SMCR_LLC_CLASS_CDC;
}
