/* Writes the texts that the plugin makes for every frame, without printf(). For these texts,
 * printf() and Wireshark's functions based on it take too much time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A text while it is written. It always ends with a zero byte. */
typedef struct {
    char *end;   /* the zero byte */
    size_t room; /* bytes that still fit before the zero byte */
} smcr_quick_text_t;

/* Begins an empty text at `to`. `size`: number of bytes available at `to`, including the zero byte;
 * at least 1. */
static inline smcr_quick_text_t
smcr_quick_text_begin(char *to, size_t size)
{
    *to = '\0';
    return (smcr_quick_text_t){to, size - 1};
}
#define SMCR_QUICK_TEXT(array) smcr_quick_text_begin(array, sizeof(array))

/* Appends the first `length` bytes of `more`. Like the functions below: if the appended text is too
 * long, only the characters that fit are appended, and later calls append nothing. */
void smcr_quick_text_put_bytes(smcr_quick_text_t *text, const char *more, size_t length);

/* Appends `number` in decimal digits, at most SMCR_QUICK_TEXT_NUMBER. */
#define SMCR_QUICK_TEXT_NUMBER 10
void smcr_quick_text_put_decimal(smcr_quick_text_t *text, uint32_t number);

/* Appends `more`. Inline, as the next function is: the compiler knows the length of a string in the
 * source. */
static inline void
smcr_quick_text_put(smcr_quick_text_t *text, const char *more)
{
    smcr_quick_text_put_bytes(text, more, strlen(more));
}

/* Appends `before`, then `number` in decimal digits. */
static inline void
smcr_quick_text_put_number(smcr_quick_text_t *text, const char *before, uint32_t number)
{
    smcr_quick_text_put(text, before);
    smcr_quick_text_put_decimal(text, number);
}

/* Appends a time in seconds, as in 0.000200000: at most SMCR_QUICK_TEXT_SECONDS characters. */
#define SMCR_QUICK_TEXT_SECONDS 21
void smcr_quick_text_put_seconds(smcr_quick_text_t *text, uint64_t nanoseconds);

/* Appends `before`, then the number of a queue pair, always 8 characters, as in 0x000101. */
void smcr_quick_text_put_qpn(smcr_quick_text_t *text, const char *before, uint32_t qpn);
