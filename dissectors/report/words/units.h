/* units.h
 * Numbers with their units, for people. Nothing depends on a locale or a time zone. All texts are
 * of the scope.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_WORDS_UNITS_H
#define SMCR_REPORT_WORDS_UNITS_H

#include <stdint.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

/* 1,234,567 */
const char *smcr_words_number(wmem_allocator_t *scope, uint64_t number);

/* "1 packet", "1,234 packets": `thing` in the singular, the plural has an s. */
const char *smcr_words_things(wmem_allocator_t *scope, uint64_t number, const char *thing);

/* Bytes in a sentence: exact below 100,000 ("20,000 bytes"), else "1.5 MiB". */
const char *smcr_words_bytes(wmem_allocator_t *scope, uint64_t bytes);

/* Bytes in a column: "500 B", "19.5 KiB". */
const char *smcr_words_size(wmem_allocator_t *scope, uint64_t bytes);

/* Nanoseconds as a duration: "850 µs", "4.2 ms", "1.24 s", "10 min 30 s". */
const char *smcr_words_duration(wmem_allocator_t *scope, uint64_t time);

/* Nanoseconds since 1970 as date and time of day: "2026-11-20 13:45:09.646000 UTC". */
const char *smcr_words_moment(wmem_allocator_t *scope, uint64_t time);

/* Bytes within nanoseconds as a rate: "8.4 Mbit/s"; NULL where no time went by. */
const char *smcr_words_rate(wmem_allocator_t *scope, uint64_t bytes, uint64_t time);

/* A part of a whole: "95 %", "0.3 %", "below 0.1 %"; `whole` above 0. */
const char *smcr_words_share(wmem_allocator_t *scope, uint64_t part, uint64_t whole);

#endif /* SMCR_REPORT_WORDS_UNITS_H */
