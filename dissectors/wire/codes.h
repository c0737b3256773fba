/* Macros for the lists of codes, and codes, sizes and limits that CLC, LLC and CDC messages share
 * (RFC 7609 A.2, A.3); also units of time. A list of codes is an X macro whose rows are V(name,
 * value, text). From a list come an enum and texts for the user, so that both have the same
 * entries.
 *
 * Comments at the lists name the source of the codes: "A.2.3" is a section of RFC 7609, "smc_clc.h"
 * is a header of Linux, net/smc.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdint.h>

/* The type of an expression. gcc and clang have it as __typeof__ in C11, MSVC from 17.9 on (Visual
 * Studio 2022); C23 names it typeof. Any other compiler needs its own word here. */
#define SMCR_WIRE_TYPEOF(expression) __typeof__(expression)

#define SMCR_WIRE_ENUM_ROW(name, value, text) name = (value),
#define SMCR_WIRE_TEXT_ROW(name, value, text) [value] = (text),

/* Returns the number in `length` bytes, at most 8, in network order. */
static inline uint64_t
smcr_wire_number(const uint8_t *bytes, unsigned length)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < length; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* Returns the number in two bytes in network order. */
static inline uint16_t
smcr_wire_number16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

/* Returns the number in four bytes in network order. */
static inline uint32_t
smcr_wire_number32(const uint8_t *bytes)
{
    return (uint32_t)smcr_wire_number(bytes, 4);
}

/* Returns the number in the bits of `byte` that `mask` selects, shifted down to bit 0. `mask` has
 * one bit, or several adjacent bits. */
static inline uint8_t
smcr_wire_bits(uint8_t byte, uint8_t mask)
{
    return (uint8_t)((byte & mask) / (mask & -mask));
}

/* Lengths in bytes */
#define SMCR_WIRE_MAC_LENGTH 6
#define SMCR_WIRE_MAC_GROUP 0x01 /* not a length: bit of a MAC address's first byte, set in a group
                                    address */
#define SMCR_WIRE_PEER_ID_LENGTH 8
#define SMCR_WIRE_PREFIX_LENGTH 17 /* an IPv6 prefix: 16 bytes of the address, 1 byte with the
                                      number of bits */
#define SMCR_WIRE_PREFIXES_MAX 8 /* not a length: highest number of IPv6 prefixes in a Proposal */
#define SMCR_WIRE_EID_LENGTH 32
#define SMCR_WIRE_HOST_NAME_LENGTH 32
#define SMCR_WIRE_EYECATCHER_LENGTH 4 /* eyecatcher of a CLC message or of an RMB element */

#define SMCR_WIRE_LINKS_MAX 8  /* highest number of links in a link group (A.3.5) */
#define SMCR_WIRE_QPN_MIN 2    /* lowest queue pair number of a link; InfiniBand reserves 0 and 1
                                  for management */
#define SMCR_WIRE_RMB_INDEX_MAX 255 /* highest number of an RMB element; numbers begin with 1 */
#define SMCR_WIRE_PAGE_MASK 0xfffU /* mask of the address bits that are zero in the address of an
                                      RMB: RMBs begin at a multiple of the page size, which is 4 KiB
                                      or more */

/* Units of time, in nanoseconds. */
#define SMCR_TIME_MICROSECOND UINT64_C(1000)
#define SMCR_TIME_MILLISECOND UINT64_C(1000000)
#define SMCR_TIME_SECOND UINT64_C(1000000000)
/* 100 milliseconds. The order of two packets of different hosts may be wrong in the capture if the
 * time between them is less than this. */
#define SMCR_TIME_DISORDER UINT64_C(100000000)

/* Masks of a byte with the code of the size of the RMB element, or of the MTU, or with both (A.2.3,
 * A.3.2) */
#define SMCR_MASK_BUFFER_SIZE 0xf0
#define SMCR_MASK_MTU 0x0f

/* Sizes of an RMB element (A.2.3). Codes above 5 come from Linux, which uses codes up to 15 for
 * SMC-R since Linux 6.11. */
#define SMCR_BSIZES(V) \
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

/* Path MTUs (A.2.3) */
#define SMCR_MTUS(V) \
    V(SMCR_MTU_256, 1, "256 bytes") \
    V(SMCR_MTU_512, 2, "512 bytes") \
    V(SMCR_MTU_1024, 3, "1024 bytes") \
    V(SMCR_MTU_2048, 4, "2048 bytes") \
    V(SMCR_MTU_4096, 5, "4096 bytes")

enum smcr_bsize { SMCR_BSIZES(SMCR_WIRE_ENUM_ROW) };
enum smcr_mtu { SMCR_MTUS(SMCR_WIRE_ENUM_ROW) };

/* The tap of ANCK: modes, and what packets contain (net/smc/smc_stats.c of ANCK) */
#define SMCR_WIRE_ANCK_MAGIC 0xcfd3e7a5U
#define SMCR_WIRE_ANCK_MODES(V) \
    V(SMCR_WIRE_ANCK_SMCR, 1, "SMC-R") \
    V(SMCR_WIRE_ANCK_SMCD, 2, "SMC-D")
#define SMCR_WIRE_ANCK_KINDS(V) \
    V(SMCR_WIRE_ANCK_UNKNOWN, 0, "not known") \
    V(SMCR_WIRE_ANCK_MESSAGE, 1, "CDC message") \
    V(SMCR_WIRE_ANCK_DATA, 2, "data")

enum smcr_wire_anck_mode { SMCR_WIRE_ANCK_MODES(SMCR_WIRE_ENUM_ROW) };
enum smcr_wire_anck_kind { SMCR_WIRE_ANCK_KINDS(SMCR_WIRE_ENUM_ROW) };

/* Returns the size of an RMB element in bytes. `code` is 0 to 15 (enum smcr_bsize, A.2.3). */
static inline uint32_t
smcr_bsize_to_bytes(unsigned code)
{
    return UINT32_C(16384) << code;
}

/* Returns the MTU in bytes; 0: the code (enum smcr_mtu, A.2.3) is not defined. */
static inline int
smcr_mtu_bytes(unsigned code)
{
    return code >= SMCR_MTU_256 && code <= SMCR_MTU_4096 ? 128 << code : 0;
}
