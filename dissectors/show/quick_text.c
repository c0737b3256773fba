/* Writes texts that the plugin makes for every frame; quick_text.h says why without printf().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "quick_text.h"

#include <glib.h>

#include "wire/wire.h"

/* If the bytes do not all fit, appends the whole UTF-8 characters that fit, and leaves no room for
 * later texts. */
void
smcr_quick_text_put_bytes(smcr_quick_text_t *text, const char *more, size_t length)
{
    if (length > text->room) {
        const char *cut = g_utf8_find_prev_char(more, more + text->room + 1);

        length = cut ? (size_t)(cut - more) : 0;
        text->room = length;
    }
    memcpy(text->end, more, length);
    text->end += length;
    text->room -= length;
    *text->end = '\0';
}

/* Appends a number with at least `width` digits, at most 20; leading zeros fill missing digits. */
static void
put_digits(smcr_quick_text_t *text, uint64_t number, unsigned width)
{
    char digits[20], *end = digits + sizeof digits, *at = end;

    for (; number >= 10; number /= 100) { /* one division for two digits */
        *--at = (char)('0' + number % 10);
        *--at = (char)('0' + number / 10 % 10);
    }
    if (number || at == end)
        *--at = (char)('0' + number);
    while (at > end - width)
        *--at = '0';
    smcr_quick_text_put_bytes(text, at, (size_t)(end - at));
}

void
smcr_quick_text_put_decimal(smcr_quick_text_t *text, uint32_t number)
{
    put_digits(text, number, 0);
}

void
smcr_quick_text_put_seconds(smcr_quick_text_t *text, uint64_t nanoseconds)
{
    put_digits(text, nanoseconds / SMCR_TIME_SECOND, 0);
    smcr_quick_text_put(text, ".");
    put_digits(text, nanoseconds % SMCR_TIME_SECOND, 9);
}

/* Always six digits, in lower case, as InfiniBand's dissector writes them. */
void
smcr_quick_text_put_qpn(smcr_quick_text_t *text, const char *before, uint32_t qpn)
{
    char hex[] = "0x000000";

    for (char *at = hex + sizeof hex - 2; qpn && *at != 'x'; at--, qpn >>= 4)
        *at = "0123456789abcdef"[qpn & 0xf];
    smcr_quick_text_put(text, before);
    smcr_quick_text_put(text, hex);
}
