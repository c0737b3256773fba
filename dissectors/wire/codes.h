/* codes.h
 * What the lists of codes share. A list is an X macro whose rows are V(name, value, text): one list
 * makes the enum here and the texts that Wireshark shows (values.c), so that neither can have an
 * entry that the other lacks.
 *
 * Sections are those of RFC 7609; lists with the name of a header come from Linux net/smc.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdint.h>

#define SMCR_WIRE_ENUM_ROW(name, value, text) name = (value),

/* The number in `length` bytes, at most 8, in network order. */
static inline uint64_t
smcr_wire_number(const uint8_t *bytes, unsigned length)
{
    uint64_t number = 0;

    for (unsigned i = 0; i < length; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* The value of the bits in `mask`, which are next to each other. */
static inline uint8_t
smcr_wire_bits(uint8_t byte, uint8_t mask)
{
    return (uint8_t)((byte & mask) / (mask & -mask));
}
