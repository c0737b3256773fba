/* texts.c
 * Writes addresses and numbers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "figures.h"

#include <inttypes.h>
#include <string.h>

#include <wsutil/inet_addr.h>

const char *
smcr_figure_gid_text(wmem_allocator_t *scope, const uint8_t gid[SMCR_GID_LENGTH])
{
    static const uint8_t zeros[SMCR_GID_LENGTH];
    static const uint8_t mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    char *text = wmem_alloc(scope, WS_INET6_ADDRSTRLEN);

    if (memcmp(gid, zeros, sizeof zeros) == 0)
        return NULL;
    if (memcmp(gid, mapped, sizeof mapped) == 0)
        return ws_inet_ntop4(gid + sizeof mapped, text, WS_INET6_ADDRSTRLEN);
    return ws_inet_ntop6(gid, text, WS_INET6_ADDRSTRLEN);
}

const char *
smcr_figure_hex_text(wmem_allocator_t *scope, uint64_t number, unsigned bytes)
{
    return wmem_strdup_printf(scope, "0x%0*" PRIx64, (int)(2 * bytes), number);
}

const char *
smcr_figure_bytes_text(wmem_allocator_t *scope, const uint8_t *bytes, unsigned length)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < length; i++)
        number = number << 8 | bytes[i];
    return smcr_figure_hex_text(scope, number, length);
}

smcr_figure_version_t
smcr_figure_version_of(unsigned version, int release)
{
    if (version == 1)
        return SMCR_FIGURE_IS_SMCR_V1;
    if (version == 0 || release < 0)
        return SMCR_FIGURE_IS_OF_NO_VERSION;
    return release ? SMCR_FIGURE_IS_SMCR_V2_1 : SMCR_FIGURE_IS_SMCR_V2;
}
