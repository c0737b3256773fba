/* quick_text.h
 * Texts that every frame has. printf() and Wireshark's functions, which call it, take longer to
 * write them than the rest of the dissector takes for a frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_QUICK_TEXT_H
#define SMCR_SHOW_QUICK_TEXT_H

#include <stdint.h>

/*
 * Each writes at `to`, with a zero behind it, and returns where that is. There has to be room: a
 * number takes SMCR_TEXT_NUMBER bytes at most, seconds SMCR_TEXT_SECONDS, and the zero one more.
 */
#define SMCR_TEXT_NUMBER 10
#define SMCR_TEXT_SECONDS 21
char *smcr_text_put(char *to, const char *text);
char *smcr_text_put_number(char *to, uint32_t number);
char *smcr_text_put_seconds(char *to, uint64_t nanoseconds); /* 0.000200000 */
char *smcr_text_put_qpn(char *to, uint32_t qpn); /* 0x000101; 24 bits */

#endif /* SMCR_SHOW_QUICK_TEXT_H */
