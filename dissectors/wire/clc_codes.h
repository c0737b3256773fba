/* CLC messages: types, flags, lengths, reasons (RFC 7609 A.2, net/smc/smc_clc.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdbool.h>

#include "codes.h"

/* The first four bytes of every CLC message (A.2): "SMCR" or "SMCD" in EBCDIC. Codes above INT_MAX
 * are macros: an enumerator of C11 is an int. */
#define SMCR_CLC_EYECATCHER_R 0xe2d4c3d9U
#define SMCR_CLC_EYECATCHER_D 0xe2d4c3c4U
#define SMCR_CLC_EYECATCHERS(V) \
    V(SMCR_CLC_EYECATCHER_R, SMCR_CLC_EYECATCHER_R, "SMC-R") \
    V(SMCR_CLC_EYECATCHER_D, SMCR_CLC_EYECATCHER_D, "SMC-D")

/* Offsets in the header of every CLC message */
#define SMCR_CLC_TYPE_AT 4
#define SMCR_CLC_LENGTH_AT 5
#define SMCR_CLC_FLAGS_AT 7

/* Lengths in bytes, of messages and of parts of messages */
#define SMCR_CLC_HEADER_LENGTH 8
#define SMCR_CLC_TRAILER_LENGTH 4
#define SMCR_CLC_BASE_LENGTH 40      /* length of a Proposal up to the end of the IP area offset */
#define SMCR_CLC_SMCD_AREA_LENGTH 40 /* length of the optional SMC-D area of a Proposal, which
                                        begins after the first SMCR_CLC_BASE_LENGTH bytes */
#define SMCR_CLC_CONNS_MIN 16         /* not a length: a peer of release 1 (SMCv2.1) has to allow at
                                         least 16 connections in a link group; Linux:
                                         SMC_CONN_PER_LGR_MIN */
#define SMCR_CLC_ACCEPT_LENGTH 68    /* length of an Accept or Confirm of version 1 */
#define SMCR_CLC_CORE_LENGTH 60      /* length of an Accept or Confirm up to the end of the RMB's
                                        address */
#define SMCR_CLC_PSN_LENGTH 64       /* length of an Accept or Confirm up to the end of the initial
                                        PSN */
#define SMCR_CLC_CODE_LENGTH 20      /* length of a Decline up to the end of the diagnosis */
#define SMCR_CLC_DECLINE_LENGTH 28   /* length of a Decline of version 1; Linux 5.10 to 5.15 sends
                                        this length in version 2, too */
#define SMCR_CLC_DECLINE_V2_LENGTH 44 /* length of a Decline of version 2 */
#define SMCR_CLC_LENGTH_MAX 1024     /* upper bound: no valid message is longer */
#define SMCR_CLC_COUNT_MAX 8         /* not a length: highest number of EIDs, of prefixes, of ISM
                                        GIDs and of GIDs in one message */

/* Masks of the bits in byte 7 of a CLC message */
#define SMCR_MASK_VERSION 0xf0
#define SMCR_MASK_TYPE_V1 0x03           /* Proposal: the offer of version 1; Accept, Confirm: SMC-R
                                            or SMC-D */
#define SMCR_MASK_TYPE_V2 0x0c           /* Proposal: the offer of version 2 */
#define SMCR_CLC_FLAG_FIRST_CONTACT 0x08 /* Accept, Confirm: the connection begins a link group */
#define SMCR_CLC_FLAG_OUT_OF_SYNC 0x08   /* Decline: the sender's state of the link group is out of
                                            sync, so the receiver ends the group (A.2.5) */

/* Masks of bytes with an operating system or a release of version 2 */
#define SMCR_MASK_OS 0xf0         /* high nibble of a byte of the first contact extension or of a
                                     Decline: operating system */
#define SMCR_MASK_RELEASE 0x0f    /* first contact extension */
#define SMCR_MASK_V2_RELEASE 0xf0 /* high nibble of a byte of the SMCv2 extension of a Proposal:
                                     release */
#define SMCR_CLC_FLAG_SEID 0x01   /* flag in the SMCv2 extension: the SMC-Dv2 extension has a system
                                     EID */

#define SMCR_CLC_FEATURE_EMULATED_ISM 0x0001 /* bit of the feature mask, which has 16 bits */
/* Bits of the first byte of vendor options (ANCK's smc_clc.h, struct smc_clc_vendor_opt_ali) */
#define SMCR_CLC_VENDOR_VALID 0x80   /* the other bits mean something */
#define SMCR_CLC_VENDOR_CREDITS 0x40 /* credits limit the number of messages under way */
#define SMCR_CLC_VENDOR_RWWI 0x20    /* immediate data of WRITEs in place of CDC messages */
#define SMCR_CLC_VENDOR_IMMEDIATE (SMCR_CLC_VENDOR_VALID | SMCR_CLC_VENDOR_RWWI)

/* Types of SMC that a Proposal offers, or that an Accept or Confirm accepts (smc_clc.h) */
#define SMCR_CLC_SMC_TYPES(V) \
    V(SMCR_CLC_TYPE_R, 0, "SMC-R") \
    V(SMCR_CLC_TYPE_D, 1, "SMC-D") \
    V(SMCR_CLC_TYPE_NONE, 2, "none") \
    V(SMCR_CLC_TYPE_BOTH, 3, "SMC-R and SMC-D")

/* Operating systems (smc_clc.h) */
#define SMCR_CLC_OS_TYPES(V) \
    V(SMCR_CLC_OS_UNSET, 0, "not given") \
    V(SMCR_CLC_OS_ZOS, 1, "z/OS") \
    V(SMCR_CLC_OS_LINUX, 2, "Linux") \
    V(SMCR_CLC_OS_AIX, 3, "AIX") \
    V(SMCR_CLC_OS_UNKNOWN, 15, "unknown")

/* Releases of version 2 of SMC (smc_clc.h) */
#define SMCR_CLC_RELEASES(V) \
    V(SMCR_CLC_RELEASE_0, 0, "SMCv2.0") \
    V(SMCR_CLC_RELEASE_1, 1, "SMCv2.1")

/* Steps of the handshake: a message and its answer. The plugin defines these codes. */
#define SMCR_CLC_STEPS(V) \
    V(SMCR_CLC_STEP_ACCEPT, 1, "Proposal -> Accept") \
    V(SMCR_CLC_STEP_CONFIRM, 2, "Accept -> Confirm") \
    V(SMCR_CLC_STEP_PROPOSAL_DECLINED, 3, "Proposal -> Decline") \
    V(SMCR_CLC_STEP_ACCEPT_DECLINED, 4, "Accept -> Decline")

#define SMCR_CLC_DECLINE_CLASS 0xffff0000 /* mask of the upper half of a diagnosis, its class */

/* Diagnoses in a Decline. RFC 7609 does not define them; the list has codes of smc_clc.h in older
 * and newer kernels and in ANCK. A code whose lower half is 0 is the name of a class. If a
 * diagnosis is not in the list, its class may be there. */
#define SMCR_CLC_DECLINE_CODES_OF_INT(V) \
    V(SMCR_CLC_DECLINE_MEMORY, 0x01010000, "insufficient memory") \
    V(SMCR_CLC_DECLINE_TIMEOUT, 0x02000000, "timeout") \
    V(SMCR_CLC_DECLINE_TIMEOUT_CL, 0x02010000, "timeout waiting for CONFIRM LINK") \
    V(SMCR_CLC_DECLINE_TIMEOUT_AL, 0x02020000, "timeout waiting for ADD LINK") \
    V(SMCR_CLC_DECLINE_TIMEOUT_CL_OLD, 0x02040000, \
      "timeout waiting for CONFIRM LINK (older kernels)") \
    V(SMCR_CLC_DECLINE_CONFIGURATION, 0x03000000, "configuration error") \
    V(SMCR_CLC_DECLINE_PEER_NO_SMC, 0x03010000, "peer did not indicate SMC") \
    V(SMCR_CLC_DECLINE_IPSEC, 0x03020000, "IPsec is in use") \
    V(SMCR_CLC_DECLINE_NO_DEVICE, 0x03030000, "no SMC device") \
    V(SMCR_CLC_DECLINE_NO_SMCD_DEVICE, 0x03030001, "no SMC-D device") \
    V(SMCR_CLC_DECLINE_NO_SMCR_DEVICE, 0x03030002, "no RDMA device for SMC-R") \
    V(SMCR_CLC_DECLINE_NO_ISMV2, 0x03030003, "hardware has no ISMv2") \
    V(SMCR_CLC_DECLINE_NO_V2_EXT, 0x03030004, "peer sent no SMCv2 extension") \
    V(SMCR_CLC_DECLINE_NO_V2D_EXT, 0x03030005, "peer sent no SMC-Dv2 extension") \
    V(SMCR_CLC_DECLINE_NO_SEID, 0x03030006, "peer sent no system EID") \
    V(SMCR_CLC_DECLINE_NO_SMCD2_DEVICE, 0x03030007, "no SMC-Dv2 device") \
    V(SMCR_CLC_DECLINE_NO_UEID, 0x03030008, "peer sent no user EID") \
    V(SMCR_CLC_DECLINE_RELEASE, 0x03030009, "release negotiation failed") \
    V(SMCR_CLC_DECLINE_MAX_CONNS, 0x0303000a, "negotiation of the maximum connections failed") \
    V(SMCR_CLC_DECLINE_MAX_LINKS, 0x0303000b, "negotiation of the maximum links failed") \
    V(SMCR_CLC_DECLINE_VENDOR, 0x0303000c, "vendor options not agreed (ANCK kernels)") \
    V(SMCR_CLC_DECLINE_LGR_REQUEST, 0x0303000d, "link group request failed (ANCK kernels)") \
    V(SMCR_CLC_DECLINE_MODE, 0x03040000, "SMC modes do not match") \
    V(SMCR_CLC_DECLINE_EYECATCHER, 0x03050000, "peer has an eyecatcher in its RMB elements") \
    V(SMCR_CLC_DECLINE_SOCKET_OPTION, 0x03060000, "socket option not supported (TCP Fast Open)") \
    V(SMCR_CLC_DECLINE_PREFIX, 0x03070000, "IP prefix or subnet mismatch") \
    V(SMCR_CLC_DECLINE_VLAN_GET, 0x03080000, "could not get the VLAN ID of the IP device") \
    V(SMCR_CLC_DECLINE_VLAN_ISM, 0x03090000, "could not register the VLAN ID with the ISM device") \
    V(SMCR_CLC_DECLINE_NO_ACTIVE_LINK, 0x030a0000, "no active link in the link group") \
    V(SMCR_CLC_DECLINE_NO_SERVER_LINK, 0x030b0000, "link named by the server not found") \
    V(SMCR_CLC_DECLINE_VERSION, 0x030c0000, "SMC version mismatch") \
    V(SMCR_CLC_DECLINE_DMB_LIMIT, 0x030d0000, "limit of SMC-D buffers exceeded") \
    V(SMCR_CLC_DECLINE_NO_ROUTE, 0x030e0000, "no route to the peer for SMC-Rv2") \
    V(SMCR_CLC_DECLINE_INDIRECT, 0x030f0000, \
      "one peer of SMC-Rv2 has a direct route, the other one has not") \
    V(SMCR_CLC_DECLINE_SYNC, 0x04000000, "synchronization error") \
    V(SMCR_CLC_DECLINE_PEER, 0x05000000, "peer declined during the handshake") \
    V(SMCR_CLC_DECLINE_REPLY, 0x06000000, "reply error (older kernels)") \
    V(SMCR_CLC_DECLINE_SEND, 0x07000000, "send error (older kernels)") \
    V(SMCR_CLC_DECLINE_INTERNAL, 0x09990000, "internal error") \
    V(SMCR_CLC_DECLINE_RTOKEN, 0x09990001, "internal error: RToken handling failed") \
    V(SMCR_CLC_DECLINE_READY_LINK, 0x09990002, "internal error: link did not become ready") \
    V(SMCR_CLC_DECLINE_REGISTER, 0x09990003, \
      "internal error: registration of RDMA buffers failed") \
    V(SMCR_CLC_DECLINE_CREDITS, 0x09990004, \
      "internal error: credits could not be announced (ANCK kernels)")

/* Above INT_MAX, so no enumerator */
#define SMCR_CLC_DECLINE_INTERNAL_OLD 0x99990000U
#define SMCR_CLC_DECLINE_CODES(V) \
    SMCR_CLC_DECLINE_CODES_OF_INT(V) \
    V(SMCR_CLC_DECLINE_INTERNAL_OLD, SMCR_CLC_DECLINE_INTERNAL_OLD, \
      "internal error (older kernels)")

enum smcr_clc_type {
#define SMCR_CLC_MESSAGE(name, type, ...) SMCR_CLC_##name = (type),
#include "clc.def"
};
enum smcr_clc_smc_type { SMCR_CLC_SMC_TYPES(SMCR_WIRE_ENUM_ROW) };
enum smcr_clc_os_type { SMCR_CLC_OS_TYPES(SMCR_WIRE_ENUM_ROW) };
enum smcr_clc_release_code { SMCR_CLC_RELEASES(SMCR_WIRE_ENUM_ROW) };
enum smcr_clc_step { SMCR_CLC_STEPS(SMCR_WIRE_ENUM_ROW) };
enum smcr_clc_decline_code { SMCR_CLC_DECLINE_CODES_OF_INT(SMCR_WIRE_ENUM_ROW) };

/* Returns a hash of an EID (SMCR_WIRE_EID_LENGTH bytes, padded). The rules compare EIDs by their
 * hashes. */
static inline uint32_t
smcr_wire_eid_sum(const uint8_t *eid)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < 32; i++)
        sum = sum * 31 + eid[i];
    return sum;
}

/* Whether the sender of a message of this type (enum smcr_clc_type) agrees to use SMC: the type is
 * Accept or Confirm. */
static inline bool
smcr_wire_clc_agrees(uint8_t type)
{
    return type == SMCR_CLC_ACCEPT || type == SMCR_CLC_CONFIRM;
}

/* Returns the step (enum smcr_clc_step) of a message and its answer. `asked`: type of the message,
 * Proposal or Accept. `answer`: type of the answer. Both are enum smcr_clc_type. */
static inline uint8_t
smcr_wire_clc_step(uint8_t asked, uint8_t answer)
{
    bool declined = answer == SMCR_CLC_DECLINE;

    if (asked == SMCR_CLC_PROPOSAL)
        return declined ? SMCR_CLC_STEP_PROPOSAL_DECLINED : SMCR_CLC_STEP_ACCEPT;
    return declined ? SMCR_CLC_STEP_ACCEPT_DECLINED : SMCR_CLC_STEP_CONFIRM;
}
