/* Writes the texts that the plugin makes for every frame, without printf(). For these texts,
 * printf() and Wireshark's functions based on it would need more time than all other work of the
 * plugin for a frame.
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

/* Begins an empty text at `to`. `size`: number of bytes available at `to`, including the zero byte;
 * at least 1. */
static inline smcr_quick_text_t
smcr_quick_text_begin(char *to, size_t size)
{
    *to = '\0';
    return (smcr_quick_text_t){to, size - 1};
}
#define SMCR_QUICK_TEXT(array) smcr_quick_text_begin(array, sizeof(array))

/* The smcr_quick_text_put functions append to the text. smcr_quick_text_put_number() and
 * smcr_quick_text_put_qpn() append `before` before the number. If the appended text is too long,
 * only the characters that fit are appended, and later calls append nothing. A number has at most
 * SMCR_QUICK_TEXT_NUMBER characters, a time at most SMCR_QUICK_TEXT_SECONDS, a queue pair number
 * always 8, as in 0x000101. */
#define SMCR_QUICK_TEXT_NUMBER 10
#define SMCR_QUICK_TEXT_SECONDS 21
void smcr_quick_text_put(smcr_quick_text_t *text, const char *more);
void smcr_quick_text_put_number(smcr_quick_text_t *text, const char *before, uint32_t number);
void smcr_quick_text_put_seconds(smcr_quick_text_t *text, uint64_t nanoseconds); /* 0.000200000 */
void smcr_quick_text_put_qpn(smcr_quick_text_t *text, const char *before, uint32_t qpn);
