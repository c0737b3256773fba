/* gid.h
 * GIDs, the addresses of RoCE devices. An IPv4 address is mapped: ::ffff:a.b.c.d
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_WIRE_GID_H
#define SMCR_WIRE_GID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SMCR_GID_LENGTH 16
#define SMCR_GID_IPV4_AT 12 /* the address in a mapped one */
#define SMCR_GID_IPV4_LENGTH 4

/* Writes the bytes of an IPv4 address as a GID. */
static inline void
smcr_gid_map_ipv4(uint8_t gid[SMCR_GID_LENGTH], const void *ipv4)
{
    memset(gid, 0, SMCR_GID_LENGTH);
    memset(gid + SMCR_GID_IPV4_AT - 2, 0xff, 2);
    memcpy(gid + SMCR_GID_IPV4_AT, ipv4, SMCR_GID_IPV4_LENGTH);
}

static inline bool
smcr_gid_is_ipv4(const uint8_t gid[SMCR_GID_LENGTH])
{
    uint8_t mapped[SMCR_GID_LENGTH];

    smcr_gid_map_ipv4(mapped, gid + SMCR_GID_IPV4_AT);
    return memcmp(gid, mapped, SMCR_GID_LENGTH) == 0;
}

#endif /* SMCR_WIRE_GID_H */
