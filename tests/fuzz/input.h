/* Takes the fuzzer's bytes apart: when they are used up, everything is zero.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What has to hold whatever comes; works in every build. */
#define require(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

typedef struct {
    const uint8_t *bytes;
    size_t left;
} input_t;

static inline uint8_t
input_byte(input_t *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->bytes++;
}

static inline uint32_t
input_number(input_t *input, unsigned length)
{
    uint32_t value = 0;

    while (length-- > 0)
        value = value << 8 | input_byte(input);
    return value;
}

/* One of `count` values. */
static inline unsigned
input_pick(input_t *input, unsigned count)
{
    return input_byte(input) % count;
}

/* A number that is rather small, or near an end of its range: what breaks arithmetic. */
static inline uint32_t
input_extreme(input_t *input)
{
    uint8_t how = input_byte(input);
    uint8_t delta = how & 0x0f;

    switch (how >> 4) {
    case 0:
        return delta;
    case 1:
        return UINT32_MAX - delta;
    case 2:
        return 0x7fffffffU + delta;
    case 3:
        return 0x00ffffffU - delta;
    case 4:
        return 0x007ffff8U + delta;
    case 5:
        return input_number(input, 4);
    case 6:
        return input_number(input, 3);
    default:
        return input_number(input, 2);
    }
}

/* Takes the next `length` bytes, or as many as there are. */
static inline input_t
input_part(input_t *input, size_t length)
{
    input_t part = {input->bytes, length < input->left ? length : input->left};

    input->bytes += part.left;
    input->left -= part.left;
    return part;
}
