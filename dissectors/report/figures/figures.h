/* Knows what a report says: one table (entries.def) of all entries and their members, with the
 * words that they choose among (choices.def, finding_kinds.def): structs, JSON, schema and sums
 * come from it. Knows neither Wireshark nor where a figure comes from. Every room of report/
 * includes it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fabric/fabric.h"
#include "wire/wire.h"

/* ---- words: an enum for each list, smcr_figure_outcome_t and so on, and their texts ---- */

#define CHOICE(list) typedef enum {
#define WORD(constant, text) SMCR_FIGURE_##constant,
#define END(list) } smcr_figure_##list##_t; extern const char *const smcr_figure_##list##_words[];
#include "choices.def"

/* What Linux calls the states of RDMA-CM; 0: not known. */
typedef unsigned smcr_figure_cm_state_t;
#define SMCR_FIGURE_CM_STATE_KNOWN(state) ((state) + 1) /* enum smcr_ib_cm_state */
extern const char *const smcr_figure_cm_state_words[];

/* Why a link is deleted, in the words of the wire. */
#define REASON(name, code, text) SMCR_FIGURE_FOR_##name,
typedef enum {
    SMCR_FIGURE_FOR_NO_REASON,
    SMCR_LLC_DELETE_REASONS(REASON)
    SMCR_FIGURE_FOR_UNKNOWN_REASON
} smcr_figure_delete_reason_t;
#undef REASON
extern const char *const smcr_figure_delete_reason_words[];

/* `code`: enum smcr_llc_delete_reason, or what else a message has. */
smcr_figure_delete_reason_t smcr_figure_delete_reason_of(uint32_t code);

/* Kinds of findings; two may have the same word. */
#define FINDING(constant, ...) SMCR_FIGURE_FOUND_##constant,
typedef enum {
#include "finding_kinds.def"
} smcr_figure_finding_t;
extern const char *const smcr_figure_finding_words[];

/* ---- how a measured quantity is spread: what its mean and its variance take ---- */

/* All zeros: nothing has been measured. Times are in nanoseconds. */
typedef struct {
    uint64_t count;        /* measurements */
    uint64_t sum;          /* of all values */
    uint64_t min;          /* smallest value; means nothing where `count` is 0 */
    uint64_t max;          /* largest value; 0 where `count` is 0 */
    double sum_of_squares; /* of all values: gives the variance */
} smcr_distribution_t;

/* One more measurement. */
void smcr_distribution_add(smcr_distribution_t *distribution, uint64_t value);

/* ---- entries: a struct for each JSON object, smcr_entry_connection_t and so on ---- */

#define SMCR_FIGURE_UNKNOWN UINT64_MAX /* a number that is not known */

/* all zeros: not known */
typedef enum { SMCR_FIGURE_MAYBE = 0, SMCR_FIGURE_NO, SMCR_FIGURE_YES } smcr_figure_maybe_t;

/* Packets with one opcode. */
typedef struct {
    uint8_t opcode; /* of the BTH, as on the wire */
    uint64_t count; /* packets */
} smcr_figure_opcode_count_t;

/* Counts by opcode. An opcode that has not occurred has no entry. */
typedef struct {
    smcr_figure_opcode_count_t *counts; /* in the order of their first packets; NULL: none */
    uint8_t length;                     /* entries in use */
    uint8_t room;                       /* entries that are allocated */
} smcr_figure_opcodes_t;

/* A list of numbers. */
typedef struct {
    uint64_t *numbers; /* NULL: none */
    uint32_t length;
} smcr_figure_numbers_t;

/* A list of entries. */
typedef struct {
    void **entries;  /* pointers to them; NULL: none */
    uint32_t length; /* entries of the list */
    uint32_t room;   /* pointers that are allocated */
    unsigned rest;   /* 1: one more entry after the last, which only sums count: what is in no
                        other entry; else 0 */
} smcr_figure_list_t;

/* Head of a loop over a list; `entry` is an smcr_entry_<kind>_t *. The loop must not add to it. */
#define SMCR_FIGURE_EACH(kind, entry, list)                                                        \
    for (smcr_entry_##kind##_t **at_##entry = (void *)(list).entries, *entry;                      \
         (list).length && (void *)at_##entry < (void *)((list).entries + (list).length) &&         \
         (entry = *at_##entry);                                                                    \
         at_##entry++)

typedef struct smcr_figure_description smcr_figure_description_t;

/* Kinds of figures, and what C has for them. */
#define SMCR_FIGURE_KINDS(X)                                                                       \
    X(COUNT, uint64_t) /* a number that is added up; SMCR_FIGURE_UNKNOWN: not known */             \
    X(SECONDS, uint64_t)            /* the same, in nanoseconds, written as seconds */             \
    X(SAMPLE, uint64_t)             /* the same; the summary has the distribution of all */        \
    X(SPREAD, smcr_distribution_t)  /* a distribution of nanoseconds, written as seconds */        \
    X(LENGTHS, smcr_distribution_t) /* a distribution without unit */                              \
    X(NUMBER, uint64_t) /* that means nothing when added; SMCR_FIGURE_UNKNOWN: not known */        \
    X(TEXT, const char *)           /* NULL: not known */                                          \
    X(CHOICE, unsigned)             /* a word of a list of choices.def */                          \
    X(BOOL, smcr_figure_maybe_t)                                                                   \
    X(WHEN, smcr_when_t)            /* xy_frame; its time stands beside it as xy_time */           \
    X(TIME, uint64_t)               /* nanoseconds since 1970; SMCR_FIGURE_UNKNOWN: not known */   \
    X(RATIO, double)                /* a quotient, never added up; not a number: not known */      \
    X(OPCODES, smcr_figure_opcodes_t) /* counts by opcode */                                       \
    X(NUMBERS, smcr_figure_numbers_t) /* a list of numbers */                                      \
    X(SUMMARY, char)                /* the lists of the entry, added up; nothing is kept for it */

/* Kinds of parts, and what C has for an entry `of`. MAYBE: or NULL. */
#define SMCR_FIGURE_PART_KINDS(X) X(OBJECT) X(MAYBE) X(LIST)
#define SMCR_FIGURE_PART_OBJECT(of) smcr_entry_##of##_t
#define SMCR_FIGURE_PART_MAYBE(of) smcr_entry_##of##_t *
#define SMCR_FIGURE_PART_LIST(of) smcr_figure_list_t

#define KIND(kind, ...) SMCR_FIGURE_KIND_##kind,
typedef enum { SMCR_FIGURE_KINDS(KIND) SMCR_FIGURE_PART_KINDS(KIND) } smcr_figure_member_kind_t;
#undef KIND

#define KIND(kind, type) typedef type smcr_figure_##kind##_t;
SMCR_FIGURE_KINDS(KIND)
#undef KIND

#define ENTRY(entry, text) typedef struct {
#define FIGURE(entry, kind, name, ...) smcr_figure_##kind##_t name;
#define CHOICE(entry, name, list, ...) smcr_figure_##list##_t name;
#define PART(entry, kind, name, of, ...) SMCR_FIGURE_PART_##kind(of) name;
#define END(entry) \
    } smcr_entry_##entry##_t; \
    extern const smcr_figure_description_t smcr_entry_##entry##_description;
#include "entries.def"

/* Describes one member of an entry. */
typedef struct {
    const char *name;                    /* as in JSON */
    smcr_figure_member_kind_t kind;
    size_t offset;                       /* bytes, in the entry */
    const smcr_figure_description_t *of; /* entry that a part has; NULL: it is no part */
    const char *const *words;            /* words of a choice; NULL: it is none */
} smcr_figure_member_t;

/* Describes a kind of entry. */
struct smcr_figure_description {
    size_t size;                         /* of the entry, bytes */
    unsigned count;                      /* members */
    const smcr_figure_member_t *members; /* in the order of entries.def */
};

/* ---- building ---- */

/* A function for qsort() and its like: in ascending order of `key`, an expression of `each`, which
 * points to the type. */
#define SMCR_FIGURE_ORDER(name, type, each, key)                                                   \
    static int name(const void *one, const void *other)                                            \
    {                                                                                              \
        const type *each = one;                                                                    \
        uint32_t a = key;                                                                          \
        each = other;                                                                              \
        return (a > (key)) - (a < (key));                                                          \
    }

/* Makes an entry unknown: its NUMBER, TIME, SAMPLE and RATIO members, and those of the
 * entries within it, become unknown, all others zero. */
void smcr_entry_clear(void *entry, const smcr_figure_description_t *description);

/* The same; its COUNT and SECONDS members become unknown, too. */
void smcr_entry_forget(void *entry, const smcr_figure_description_t *description);

/* What the map has for the key; where it had nothing, `size` zeros that it has from now on. */
void *smcr_figure_of(wmem_map_t *map, wmem_allocator_t *scope, const void *key, size_t size);

/* A cleared entry at the end of the list. */
void *smcr_figure_list_add(smcr_figure_list_t *list, wmem_allocator_t *scope,
                           const smcr_figure_description_t *description);
#define SMCR_FIGURE_ADD(kind, list, scope)                                                         \
    ((smcr_entry_##kind##_t *)smcr_figure_list_add(list, scope, &smcr_entry_##kind##_description))

/* So many more packets with this opcode. */
void smcr_figure_opcodes_count(smcr_figure_opcodes_t *opcodes, wmem_allocator_t *scope,
                               uint8_t opcode, uint64_t count);

/* A number at the end of the list. */
void smcr_figure_numbers_add(smcr_figure_numbers_t *numbers, wmem_allocator_t *scope,
                             uint64_t number);

/* A count that may be unknown, as a number: unknown is none. */
static inline uint64_t
smcr_figure_or_zero(uint64_t count)
{
    return count == SMCR_FIGURE_UNKNOWN ? 0 : count;
}

/* Of all codes. RNR NAKs are none of them. */
uint64_t smcr_figure_naks_count(const smcr_entry_naks_t *naks);

/* A count or sum that may be unknown, and one that is added to it. Unknown ones do not count. */
static inline uint64_t
smcr_figure_sum(uint64_t one, uint64_t other)
{
    if (one == SMCR_FIGURE_UNKNOWN)
        return other;
    return other == SMCR_FIGURE_UNKNOWN ? one : one + other;
}

/* The link whose direction a flow is; NULL: none is known. */
typedef struct {
    const smcr_entry_link_group_t *group; /* of the link; NULL: none is known */
    const smcr_entry_link_t *link;        /* NULL: none is known */
} smcr_figure_flow_owner_t;

/* Those of all flows of a report, by the index of the flow. */
const smcr_figure_flow_owner_t *smcr_figure_flow_owners(const smcr_entry_report_t *report,
                                                        wmem_allocator_t *scope);

/* What the client of a connection sends, or the server. */
static inline const smcr_entry_conn_direction_t *
smcr_figure_direction(const smcr_entry_connection_t *conn, bool to_server)
{
    return to_server ? &conn->client_to_server : &conn->server_to_client;
}

/* How long the receive buffer of a direction was full, nanoseconds; 0 where nobody knows. */
static inline uint64_t
smcr_figure_buffer_full_time(const smcr_entry_conn_direction_t *direction)
{
    return direction->time ? direction->time->buffer_full_s : 0;
}

/* The earlier one of two; frame 0 is none. */
static inline smcr_when_t
smcr_figure_when_earlier(smcr_when_t one, smcr_when_t other)
{
    if (!one.frame || (other.frame && other.frame < one.frame))
        return other;
    return one;
}

/* Nanoseconds from one frame to the other. SMCR_FIGURE_UNKNOWN: one of them is none, or the clock
 * of the capture goes back in between. */
static inline uint64_t
smcr_figure_time_between(smcr_when_t from, smcr_when_t to)
{
    return from.frame && to.frame && to.time >= from.time ? to.time - from.time
                                                          : SMCR_FIGURE_UNKNOWN;
}

/* Adds to `into` what can be added up of `from`: counts, sums, distributions, also those of entries
 * within it, but not those of lists. */
void smcr_entry_join(void *into, const void *from, const smcr_figure_description_t *description,
                     wmem_allocator_t *scope);

/* ---- expert items of the plugin, as counted over a capture ---- */

/* What an item is about, as far as it is known. */
typedef struct {
    uint64_t stream; /* index of the connection; SMCR_FIGURE_UNKNOWN: none */
    uint64_t group;  /* index of the link group; SMCR_FIGURE_UNKNOWN: none */
    uint64_t link;   /* number of its link; SMCR_FIGURE_UNKNOWN: none */
    const char *src; /* host that sent the frame; NULL: not known */
    const char *dst; /* host that it was sent to; NULL: not known */
} smcr_figure_subject_t;

/* Expert items of one kind, by the side that caused them; or packets that a filter selects. */
typedef struct {
    const char *filter;    /* "smcr.conn.aborted" */
    int severity;          /* of Wireshark: PI_NOTE and so on; 0: no expert item */
    int group;             /* of Wireshark: PI_SEQUENCE and so on; 0: no expert item */
    smcr_figure_role_t by; /* side that caused them; SMCR_FIGURE_ROLE_NONE: not known */
    uint64_t count;        /* items or packets */
    smcr_when_t first;     /* frame of the first one */
    uint32_t last;         /* frame of the last one; 0: that of the first */
    uint32_t closed;       /* frame in which the other side had closed before the first; 0: none */
    const char *kind;      /* sentence of the item; NULL: it is no expert item */
    const smcr_figure_subject_t *subject; /* of the first one; NULL: not known */
    const char *reason;    /* smcr.cm.rejected: why, of the first one; NULL: not known */
} smcr_figure_notice_t;

/* ---- addresses and numbers as a report writes them ---- */

/* A GID: an IPv4 address where it maps one, else as an IPv6 address. NULL where it is all zeros. */
const char *smcr_figure_gid_text(wmem_allocator_t *scope, const uint8_t gid[SMCR_GID_LENGTH]);

/* "one ↔ other": two ends, and nobody knows which is the client. NULL, "": not known. */
const char *smcr_figure_ends(wmem_allocator_t *scope, const char *one, const char *other);

/* "0x" and all digits of a number of `bytes` bytes, at most 8. */
const char *smcr_figure_hex_text(wmem_allocator_t *scope, uint64_t number, unsigned bytes);

/* A version of SMC-R; none where `version` is 0: not known. Nor is a release < 0. */
smcr_figure_version_t smcr_figure_version_of(unsigned version, int release);
