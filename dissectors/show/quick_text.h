/* Writes texts that every frame has, without printf(). For such a text, printf() and the functions
 * of Wireshark that call it would take longer than the rest of the dissector takes for a frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stddef.h>
#include <stdint.h>

/* A text while it is written. It always ends with a zero byte. */
typedef struct {
    char *end;   /* the zero byte */
    size_t room; /* bytes that still fit before the zero byte */
} smcr_quick_text_t;

/* Begins a text at `to`. `size`: bytes at `to`, including one for the zero byte; 1 at least. */
static inline smcr_quick_text_t
smcr_quick_text_begin(char *to, size_t size)
{
    *to = '\0';
    return (smcr_quick_text_t){to, size - 1};
}
#define SMCR_QUICK_TEXT(array) smcr_quick_text_begin(array, sizeof(array))

/* Each function appends to the text. _number and _qpn append `before` first. If an addition is too
 * long, only the characters that fit are appended, and later calls append nothing. A number takes
 * SMCR_QUICK_TEXT_NUMBER bytes at most, seconds SMCR_QUICK_TEXT_SECONDS, a queue pair 8 bytes:
 * 0x000101. */
#define SMCR_QUICK_TEXT_NUMBER 10
#define SMCR_QUICK_TEXT_SECONDS 21
void smcr_quick_text_put(smcr_quick_text_t *text, const char *more);
void smcr_quick_text_put_number(smcr_quick_text_t *text, const char *before, uint32_t number);
void smcr_quick_text_put_seconds(smcr_quick_text_t *text, uint64_t nanoseconds); /* 0.000200000 */
void smcr_quick_text_put_qpn(smcr_quick_text_t *text, const char *before, uint32_t qpn);
