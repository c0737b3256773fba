/* values.h
 * Message types, reason codes and enumerations: each list below is both the enum and the texts
 * that Wireshark shows, so that neither can have an entry that the other lacks.
 *
 * A row is V(name, value, text). Sections are those of RFC 7609; lists with the name of a header
 * come from Linux net/smc.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_VALUES_H
#define SMCR_VALUES_H

#include "compat.h"

/* A.2: "SMCR" and "SMCD" in EBCDIC */
#define SMCR_EYECATCHERS(V) \
    V(SMCR_EYECATCHER_R, 0xe2d4c3d9, "SMC-R") \
    V(SMCR_EYECATCHER_D, 0xe2d4c3c4, "SMC-D")

/* A.2 */
#define SMCR_CLC_TYPES(V) \
    V(SMCR_CLC_PROPOSAL, 1, "Proposal") \
    V(SMCR_CLC_ACCEPT, 2, "Accept") \
    V(SMCR_CLC_CONFIRM, 3, "Confirm") \
    V(SMCR_CLC_DECLINE, 4, "Decline")

/* smc_clc.h: what a Proposal offers, and what an Accept or Confirm speaks of */
#define SMCR_SMC_TYPES(V) \
    V(SMCR_TYPE_R, 0, "SMC-R") \
    V(SMCR_TYPE_D, 1, "SMC-D") \
    V(SMCR_TYPE_NONE, 2, "none") \
    V(SMCR_TYPE_BOTH, 3, "SMC-R and SMC-D")

/* A.2.3; codes above 5 are Linux's (SMC-R: to 15, since 6.11) */
#define SMCR_BUFFER_SIZES(V) \
    V(SMCR_BSIZE_16K, 0, "16 KiB") \
    V(SMCR_BSIZE_32K, 1, "32 KiB") \
    V(SMCR_BSIZE_64K, 2, "64 KiB") \
    V(SMCR_BSIZE_128K, 3, "128 KiB") \
    V(SMCR_BSIZE_256K, 4, "256 KiB") \
    V(SMCR_BSIZE_512K, 5, "512 KiB") \
    V(SMCR_BSIZE_1M, 6, "1 MiB") \
    V(SMCR_BSIZE_2M, 7, "2 MiB") \
    V(SMCR_BSIZE_4M, 8, "4 MiB") \
    V(SMCR_BSIZE_8M, 9, "8 MiB") \
    V(SMCR_BSIZE_16M, 10, "16 MiB") \
    V(SMCR_BSIZE_32M, 11, "32 MiB") \
    V(SMCR_BSIZE_64M, 12, "64 MiB") \
    V(SMCR_BSIZE_128M, 13, "128 MiB") \
    V(SMCR_BSIZE_256M, 14, "256 MiB") \
    V(SMCR_BSIZE_512M, 15, "512 MiB")

/* A.2.3 */
#define SMCR_MTUS(V) \
    V(SMCR_MTU_256, 1, "256 bytes") \
    V(SMCR_MTU_512, 2, "512 bytes") \
    V(SMCR_MTU_1024, 3, "1024 bytes") \
    V(SMCR_MTU_2048, 4, "2048 bytes") \
    V(SMCR_MTU_4096, 5, "4096 bytes")

/* smc_clc.h */
#define SMCR_OS_TYPES(V) \
    V(SMCR_OS_UNSET, 0, "not given") \
    V(SMCR_OS_ZOS, 1, "z/OS") \
    V(SMCR_OS_LINUX, 2, "Linux") \
    V(SMCR_OS_AIX, 3, "AIX") \
    V(SMCR_OS_UNKNOWN, 15, "unknown")

/* smc_clc.h */
#define SMCR_RELEASES(V) \
    V(SMCR_RELEASE_0, 0, "SMCv2.0") \
    V(SMCR_RELEASE_1, 1, "SMCv2.1")

/* smc_clc.h, of every kernel that had codes of its own; the RFC leaves them to the peers. A code
 * whose lower half is not in the list is explained by its upper half. */
#define SMCR_DECLINE_CODES(V) \
    V(SMCR_DECLINE_MEMORY, 0x01010000, "insufficient memory") \
    V(SMCR_DECLINE_TIMEOUT, 0x02000000, "timeout") \
    V(SMCR_DECLINE_TIMEOUT_CL, 0x02010000, "timeout waiting for CONFIRM LINK") \
    V(SMCR_DECLINE_TIMEOUT_AL, 0x02020000, "timeout waiting for ADD LINK") \
    V(SMCR_DECLINE_TIMEOUT_CL_OLD, 0x02040000, "timeout waiting for CONFIRM LINK (older kernels)") \
    V(SMCR_DECLINE_CONFIGURATION, 0x03000000, "configuration error") \
    V(SMCR_DECLINE_PEER_NO_SMC, 0x03010000, "peer did not indicate SMC") \
    V(SMCR_DECLINE_IPSEC, 0x03020000, "IPsec is in use") \
    V(SMCR_DECLINE_NO_DEVICE, 0x03030000, "no SMC device") \
    V(SMCR_DECLINE_NO_SMCD_DEVICE, 0x03030001, "no SMC-D device") \
    V(SMCR_DECLINE_NO_SMCR_DEVICE, 0x03030002, "no RDMA device for SMC-R") \
    V(SMCR_DECLINE_NO_ISMV2, 0x03030003, "hardware has no ISMv2") \
    V(SMCR_DECLINE_NO_V2_EXT, 0x03030004, "peer sent no SMCv2 extension") \
    V(SMCR_DECLINE_NO_V2D_EXT, 0x03030005, "peer sent no SMC-Dv2 extension") \
    V(SMCR_DECLINE_NO_SEID, 0x03030006, "peer sent no system EID") \
    V(SMCR_DECLINE_NO_SMCD2_DEVICE, 0x03030007, "no SMC-Dv2 device") \
    V(SMCR_DECLINE_NO_UEID, 0x03030008, "peer sent no user EID") \
    V(SMCR_DECLINE_RELEASE, 0x03030009, "release negotiation failed") \
    V(SMCR_DECLINE_MAX_CONNS, 0x0303000a, "negotiation of the maximum connections failed") \
    V(SMCR_DECLINE_MAX_LINKS, 0x0303000b, "negotiation of the maximum links failed") \
    V(SMCR_DECLINE_LGR_REQUEST, 0x0303000c, "link group request failed (ANCK kernels)") \
    V(SMCR_DECLINE_MODE, 0x03040000, "SMC modes do not match") \
    V(SMCR_DECLINE_EYECATCHER, 0x03050000, "peer has an eyecatcher in its RMB elements") \
    V(SMCR_DECLINE_SOCKET_OPTION, 0x03060000, "socket option not supported (TCP Fast Open)") \
    V(SMCR_DECLINE_PREFIX, 0x03070000, "IP prefix or subnet mismatch") \
    V(SMCR_DECLINE_VLAN_GET, 0x03080000, "could not get the VLAN ID of the IP device") \
    V(SMCR_DECLINE_VLAN_ISM, 0x03090000, "could not register the VLAN ID with the ISM device") \
    V(SMCR_DECLINE_NO_ACTIVE_LINK, 0x030a0000, "no active link in the link group") \
    V(SMCR_DECLINE_NO_SERVER_LINK, 0x030b0000, "link named by the server not found") \
    V(SMCR_DECLINE_VERSION, 0x030c0000, "SMC version mismatch") \
    V(SMCR_DECLINE_DMB_LIMIT, 0x030d0000, "limit of SMC-D buffers exceeded") \
    V(SMCR_DECLINE_NO_ROUTE, 0x030e0000, "no route to the peer for SMC-Rv2") \
    V(SMCR_DECLINE_INDIRECT, 0x030f0000, \
      "one peer of SMC-Rv2 has a direct route, the other one has not") \
    V(SMCR_DECLINE_SYNC, 0x04000000, "synchronization error") \
    V(SMCR_DECLINE_PEER, 0x05000000, "peer declined during the handshake") \
    V(SMCR_DECLINE_REPLY, 0x06000000, "reply error (older kernels)") \
    V(SMCR_DECLINE_SEND, 0x07000000, "send error (older kernels)") \
    V(SMCR_DECLINE_INTERNAL, 0x09990000, "internal error") \
    V(SMCR_DECLINE_RTOKEN, 0x09990001, "internal error: RToken handling failed") \
    V(SMCR_DECLINE_READY_LINK, 0x09990002, "internal error: link did not become ready") \
    V(SMCR_DECLINE_REGISTER, 0x09990003, "internal error: registration of RDMA buffers failed") \
    V(SMCR_DECLINE_INTERNAL_OLD, 0x99990000, "internal error (older kernels)")

/* A.3, A.4; smc_llc.h for the messages of version 2 and REQUEST ADD LINK */
#define SMCR_LLC_TYPES(V) \
    V(SMCR_LLC_CONFIRM_LINK, 0x01, "CONFIRM LINK") \
    V(SMCR_LLC_ADD_LINK, 0x02, "ADD LINK") \
    V(SMCR_LLC_ADD_LINK_CONT, 0x03, "ADD LINK CONTINUATION") \
    V(SMCR_LLC_DELETE_LINK, 0x04, "DELETE LINK") \
    V(SMCR_LLC_REQ_ADD_LINK, 0x05, "REQUEST ADD LINK") \
    V(SMCR_LLC_CONFIRM_RKEY, 0x06, "CONFIRM RKEY") \
    V(SMCR_LLC_TEST_LINK, 0x07, "TEST LINK") \
    V(SMCR_LLC_CONFIRM_RKEY_CONT, 0x08, "CONFIRM RKEY CONTINUATION") \
    V(SMCR_LLC_DELETE_RKEY, 0x09, "DELETE RKEY") \
    V(SMCR_LLC_CONFIRM_LINK_V2, 0x21, "CONFIRM LINK v2") \
    V(SMCR_LLC_ADD_LINK_V2, 0x22, "ADD LINK v2") \
    V(SMCR_LLC_DELETE_LINK_V2, 0x24, "DELETE LINK v2") \
    V(SMCR_LLC_REQ_ADD_LINK_V2, 0x25, "REQUEST ADD LINK v2") \
    V(SMCR_LLC_CONFIRM_RKEY_V2, 0x26, "CONFIRM RKEY v2") \
    V(SMCR_LLC_TEST_LINK_V2, 0x27, "TEST LINK v2") \
    V(SMCR_LLC_DELETE_RKEY_V2, 0x29, "DELETE RKEY v2") \
    V(SMCR_LLC_CDC, 0xfe, "CDC")

/* A.3.2 */
#define SMCR_REJECT_REASONS(V) \
    V(SMCR_REJECT_NOT_GIVEN, 0, "not given") \
    V(SMCR_REJECT_NO_ALTERNATE_PATH, 1, "no alternate path available") \
    V(SMCR_REJECT_INVALID_MTU, 2, "invalid MTU value")

/* A.3.4; 0x00200000 is Linux's */
#define SMCR_DELETE_REASONS(V) \
    V(SMCR_DELETE_NOT_GIVEN, 0x00000000, "not given") \
    V(SMCR_DELETE_LOST_PATH, 0x00010000, "lost path") \
    V(SMCR_DELETE_OPERATOR, 0x00020000, "operator initiated") \
    V(SMCR_DELETE_PROGRAM, 0x00030000, "program initiated (link group inactive)") \
    V(SMCR_DELETE_PROTOCOL, 0x00040000, "LLC protocol violation") \
    V(SMCR_DELETE_ASYMMETRIC, 0x00050000, "asymmetric link no longer needed") \
    V(SMCR_DELETE_UNKNOWN_LINK, 0x00100000, "unknown link ID") \
    V(SMCR_DELETE_UNKNOWN_GROUP, 0x00200000, "unknown link group")

/* smc_llc.c: SMC_LLC_FLAG_NO_RMBE_EYEC */
#define SMCR_NO_EYECATCHER(V) \
    V(SMCR_EYECATCHER_IN_RMB, 0, "no: data begins at offset 4") \
    V(SMCR_EYECATCHER_NOT_IN_RMB, 3, "yes: data begins at offset 0")

/* Who sends, as the TCP connection has it */
#define SMCR_DIRECTIONS(V) \
    V(SMCR_TO_SERVER, 0, "client to server") \
    V(SMCR_TO_CLIENT, 1, "server to client")

#define SMCR_ENUM_ROW(name, value, text) name = (value),
enum smcr_eyecatcher { SMCR_EYECATCHERS(SMCR_ENUM_ROW) };
enum smcr_clc_type { SMCR_CLC_TYPES(SMCR_ENUM_ROW) };
enum smcr_smc_type { SMCR_SMC_TYPES(SMCR_ENUM_ROW) };
enum smcr_buffer_size { SMCR_BUFFER_SIZES(SMCR_ENUM_ROW) };
enum smcr_mtu { SMCR_MTUS(SMCR_ENUM_ROW) };
enum smcr_os_type { SMCR_OS_TYPES(SMCR_ENUM_ROW) };
enum smcr_release { SMCR_RELEASES(SMCR_ENUM_ROW) };
enum smcr_decline_code { SMCR_DECLINE_CODES(SMCR_ENUM_ROW) };
enum smcr_llc_type { SMCR_LLC_TYPES(SMCR_ENUM_ROW) };
enum smcr_reject_reason { SMCR_REJECT_REASONS(SMCR_ENUM_ROW) };
enum smcr_delete_reason { SMCR_DELETE_REASONS(SMCR_ENUM_ROW) };
enum smcr_no_eyecatcher { SMCR_NO_EYECATCHER(SMCR_ENUM_ROW) };
enum smcr_direction { SMCR_DIRECTIONS(SMCR_ENUM_ROW) };
#undef SMCR_ENUM_ROW

extern const value_string smcr_eyecatchers[];
extern const value_string smcr_clc_types[];
extern const value_string smcr_smc_types[];
extern const value_string smcr_buffer_sizes[];
extern const value_string smcr_mtus[];
extern const value_string smcr_os_types[];
extern const value_string smcr_releases[];
extern const value_string smcr_llc_types[];
extern const value_string smcr_reject_reasons[];
extern const value_string smcr_delete_reasons[];
extern const value_string smcr_no_eyecatcher[];
extern const value_string smcr_directions[];
extern const true_false_string smcr_tfs_direct;

/* Bits that several decoders test */
#define SMCR_LLC_FLAG_RESPONSE 0x80
#define SMCR_LLC_TYPE_V2 0x20      /* types 0x2x: 16-bit length, no continuations */
#define SMCR_LLC_LENGTH 44         /* of every v1 LLC message and of CDC (A.3, A.4) */

/*
 * The words for a Decline's diagnosis.
 *
 * code: as on the wire, host order. os: the sender's operating system (enum smcr_os_type), 0
 * when it does not say. Codes are known for Linux only; other systems define their own.
 * Returns a static text, never NULL. (RFC 7609 A.2.5, net/smc/smc_clc.h)
 */
const char *smcr_decline_text(uint32_t code, unsigned os);

/* Size in bytes of an RMB element whose size code is `code` (0..15): 2^(code + 4) KiB (A.2.3). */
uint32_t smcr_bsize_bytes(unsigned code);

#endif /* SMCR_VALUES_H */
