/* entries.h
 * What a report says: one struct for each JSON object, smcr_connection_entry_t and so on, with the
 * members that entries.def lists, and a description of each.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_FIGURES_ENTRIES_H
#define SMCR_REPORT_FIGURES_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#include "distribution.h"
#include "fabric/fabric.h"

#define SMCR_UNKNOWN UINT64_MAX /* a number that is not known */

typedef enum { SMCR_MAYBE = 0, SMCR_NO, SMCR_YES } smcr_maybe_t; /* all zeros: not known */

/* Counts by opcode of the BTH; what has not been seen takes no room. */
typedef struct {
    uint8_t opcode;
    uint64_t count;
} smcr_opcode_count_t;

typedef struct {
    smcr_opcode_count_t *counts; /* in the order in which they came; NULL: none */
    uint8_t length, room;
} smcr_opcodes_t;

typedef struct {
    uint64_t *numbers;
    uint32_t length;
} smcr_numbers_t;

/* Pointers to entries. */
typedef struct {
    void **entries;
    uint32_t length, room;
    unsigned rest; /* 1: one more entry behind the last, of what is in none: only sums count it */
} smcr_list_t;

#define ENTRY(entry) typedef struct {
#define COUNT(entry, name) uint64_t name;
#define SECONDS(entry, name) uint64_t name;
#define SAMPLE(entry, name) uint64_t name;
#define SPREAD(entry, name) smcr_distribution_t name;
#define LENGTHS(entry, name) smcr_distribution_t name;
#define NUMBER(entry, name) uint64_t name;
#define TEXT(entry, name) const char *name;
#define BOOL(entry, name) smcr_maybe_t name;
#define WHEN(entry, name, time) smcr_when_t name;
#define TIME(entry, name) uint64_t name;
#define RATIO(entry, name) double name;
#define OPCODES(entry, name) smcr_opcodes_t name;
#define NUMBERS(entry, name) smcr_numbers_t name;
#define OBJECT(entry, name, of) smcr_##of##_entry_t name;
#define MAYBE(entry, name, of) smcr_##of##_entry_t *name;
#define LIST(entry, name, of) smcr_list_t name;
#define SUMMARY(entry, name)
#define END(entry) } smcr_##entry##_entry_t;
#include "entries.def"

/* ---- descriptions ---- */

typedef enum {
    SMCR_KIND_COUNT,
    SMCR_KIND_SECONDS,
    SMCR_KIND_SAMPLE,
    SMCR_KIND_SPREAD,
    SMCR_KIND_LENGTHS,
    SMCR_KIND_NUMBER,
    SMCR_KIND_TEXT,
    SMCR_KIND_BOOL,
    SMCR_KIND_WHEN,
    SMCR_KIND_TIME,
    SMCR_KIND_RATIO,
    SMCR_KIND_OPCODES,
    SMCR_KIND_NUMBERS,
    SMCR_KIND_OBJECT,
    SMCR_KIND_MAYBE,
    SMCR_KIND_LIST,
    SMCR_KIND_SUMMARY, /* of the lists of the entry; it has no member of its own */
} smcr_member_kind_t;

typedef struct smcr_description smcr_description_t;

typedef struct {
    const char *name;
    const char *time_name;        /* WHEN */
    smcr_member_kind_t kind;
    size_t offset;                /* bytes, in the entry */
    const smcr_description_t *of; /* OBJECT, MAYBE, LIST */
} smcr_member_t;

struct smcr_description {
    size_t size; /* of the entry, bytes */
    unsigned count;
    const smcr_member_t *members;
};

/* smcr_connection_description and so on */
#define ENTRY(entry) extern const smcr_description_t smcr_##entry##_description;
#define COUNT(entry, name)
#define SECONDS(entry, name)
#define SAMPLE(entry, name)
#define SPREAD(entry, name)
#define LENGTHS(entry, name)
#define NUMBER(entry, name)
#define TEXT(entry, name)
#define BOOL(entry, name)
#define WHEN(entry, name, time)
#define TIME(entry, name)
#define RATIO(entry, name)
#define OPCODES(entry, name)
#define NUMBERS(entry, name)
#define OBJECT(entry, name, of)
#define MAYBE(entry, name, of)
#define LIST(entry, name, of)
#define SUMMARY(entry, name)
#define END(entry)
#include "entries.def"

/* ---- building ---- */

/* An entry of which nothing is known: its NUMBER, TIME, SAMPLE and RATIO members, and those of the
 * entries within it, become unknown, all others zero. */
void smcr_entry_clear(void *entry, const smcr_description_t *description);

/* A cleared entry at the end of the list. */
void *smcr_list_add(smcr_list_t *list, wmem_allocator_t *scope,
                    const smcr_description_t *description);

/* One more packet with this opcode. */
void smcr_opcodes_count(smcr_opcodes_t *opcodes, wmem_allocator_t *scope, uint8_t opcode);

/* The packets of `other`, too. */
void smcr_opcodes_join(smcr_opcodes_t *opcodes, const smcr_opcodes_t *other,
                       wmem_allocator_t *scope);

/* A number at the end of the list. */
void smcr_numbers_add(smcr_numbers_t *numbers, wmem_allocator_t *scope, uint64_t number);

/* A count that may be unknown, as a number: unknown is none. */
uint64_t smcr_known(uint64_t count);

/* Of all codes. RNR NAKs are none of them. */
uint64_t smcr_naks_count(const smcr_naks_entry_t *naks);

/* A count or sum that may be unknown, and one that is added to it. Unknown ones do not count. */
uint64_t smcr_sum(uint64_t one, uint64_t other);

/* The earlier one of two; frame 0 is none. */
smcr_when_t smcr_when_earlier(smcr_when_t one, smcr_when_t other);

/* Nanoseconds from one frame to the other. SMCR_UNKNOWN: one of them is none, or the clock of the
 * capture goes back in between. */
uint64_t smcr_time_between(smcr_when_t from, smcr_when_t to);

/*
 * Adds to `into` what can be added up of `from`: counts, sums, distributions, also those of entries
 * within it, but not those of lists.
 */
void smcr_entry_join(void *into, const void *from, const smcr_description_t *description,
                     wmem_allocator_t *scope);

#endif /* SMCR_REPORT_FIGURES_ENTRIES_H */
