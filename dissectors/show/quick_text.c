/* quick_text.c
 * Texts that every frame has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "quick_text.h"

#include <string.h>

#define SECOND 1000000000U /* nanoseconds */

char *
smcr_text_put(char *to, const char *text)
{
    size_t length = strlen(text);

    memcpy(to, text, length + 1);
    return to + length;
}

/* With leading zeros up to `width`. */
static char *
put_digits(char *to, uint64_t number, unsigned width)
{
    char digits[20];
    unsigned count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count < width)
        digits[count++] = '0';
    while (count)
        *to++ = digits[--count];
    *to = '\0';
    return to;
}

char *
smcr_text_put_number(char *to, uint32_t number)
{
    return put_digits(to, number, 0);
}

char *
smcr_text_put_seconds(char *to, uint64_t nanoseconds)
{
    to = put_digits(to, nanoseconds / SECOND, 0);
    *to++ = '.';
    return put_digits(to, nanoseconds % SECOND, 9);
}

char *
smcr_text_put_qpn(char *to, uint32_t qpn)
{
    to = smcr_text_put(to, "0x");
    for (int shift = 20; shift >= 0; shift -= 4)
        *to++ = "0123456789abcdef"[qpn >> shift & 0xf];
    *to = '\0';
    return to;
}
