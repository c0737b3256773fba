/* GIDs, the addresses of RoCE devices, and hash functions for GIDs and other keys. An IPv4 address
 * a.b.c.d is written as the GID ::ffff:a.b.c.d
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SMCR_GID_LENGTH 16  /* bytes */
#define SMCR_GID_IPV4_AT 12 /* offset of the IPv4 address in a GID */
#define SMCR_GID_IPV4_LENGTH 4

/* Writes an IPv4 address (4 bytes in network order) as a GID. */
static inline void
smcr_gid_map_ipv4(uint8_t gid[SMCR_GID_LENGTH], const void *ipv4)
{
    memset(gid, 0, SMCR_GID_LENGTH);
    memset(gid + SMCR_GID_IPV4_AT - 2, 0xff, 2);
    memcpy(gid + SMCR_GID_IPV4_AT, ipv4, SMCR_GID_IPV4_LENGTH);
}

/* Whether the GID is a mapped IPv4 address. */
static inline bool
smcr_gid_is_ipv4(const uint8_t gid[SMCR_GID_LENGTH])
{
    uint8_t mapped[SMCR_GID_LENGTH];

    smcr_gid_map_ipv4(mapped, gid + SMCR_GID_IPV4_AT);
    return memcmp(gid, mapped, SMCR_GID_LENGTH) == 0;
}

/* Whether two GIDs are equal. */
static inline bool
smcr_gid_is_same(const uint8_t one[SMCR_GID_LENGTH], const uint8_t other[SMCR_GID_LENGTH])
{
    return memcmp(one, other, SMCR_GID_LENGTH) == 0;
}

/* Returns a hash of the key at `key`, of `size` bytes. The hash depends on all bits of the key,
 * because GIDs of different networks may end with the same bytes. */
static inline unsigned
smcr_wire_hash(const void *key, size_t size)
{
    uint64_t hash = 0, part = 0;
    size_t width = size < sizeof part ? size : sizeof part; /* bytes of a part; a pointer is a key,
                                                               too, and may have four bytes */

    for (size_t at = 0; at < size; at += width) {
        size_t last = size - width; /* offset of the last part of the key; the last part may overlap
                                       the previous one */
        memcpy(&part, (const uint8_t *)key + (at < last ? at : last), width);
        hash = (hash ^ part) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return (unsigned)hash;
}

/* Defines two static functions for a GHashTable: `hash` and `is_equal`. Each entry of the table
 * begins with its key, which has `size` bytes and no padding. */
#define SMCR_WIRE_KEY(hash, is_equal, size) \
    static unsigned hash(const void *key) \
    { \
        return smcr_wire_hash(key, size); \
    } \
    static int is_equal(const void *one, const void *other) \
    { \
        return memcmp(one, other, size) == 0; \
    }
