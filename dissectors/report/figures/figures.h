/* Knows the contents of a report: tables (entries.def, lines.def) of all entries and their members,
 * with the words that members choose among (choices.def, finding_kinds.def), of which structs,
 * JSON, schema and sums are made. Knows neither Wireshark nor where a figure comes from. The rooms
 * of report/ that make, read or write entries include it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fabric/fabric.h"
#include "report/histogram/histogram.h"
#include "wire/wire.h"

/* ---- words: for each list of choices.def an enum, such as smcr_figure_outcome_t, and its texts
 * ---- */

#define CHOICE(list) typedef enum {
#define WORD(constant, text) SMCR_FIGURE_##constant,
#define END(list) } smcr_figure_##list##_t; extern const char *const smcr_figure_##list##_words[];
#include "choices.def"

/* Returns the role of an end of which it is known whether it is the server. */
static inline smcr_figure_role_t
smcr_figure_role(bool is_server)
{
    return is_server ? SMCR_FIGURE_ROLE_SERVER : SMCR_FIGURE_ROLE_CLIENT;
}

/* States of RDMA-CM, in the words of Linux; 0: not known. */
typedef unsigned smcr_figure_cm_state_t;
#define SMCR_FIGURE_CM_STATE_KNOWN(state) ((state) + 1) /* constant of a known state; `state`: enum
                                                           smcr_ib_cm_state */
extern const char *const smcr_figure_cm_state_words[];

/* Why a link was deleted: the reason codes of DELETE LINK. SMCR_FIGURE_FOR_NO_REASON: not known, or
 * not deleted. SMCR_FIGURE_FOR_UNKNOWN_REASON: a code that enum smcr_llc_delete_reason does not
 * have. */
#define REASON(name, code, text) SMCR_FIGURE_FOR_##name,
typedef enum {
    SMCR_FIGURE_FOR_NO_REASON,
    SMCR_LLC_DELETE_REASONS(REASON)
    SMCR_FIGURE_FOR_UNKNOWN_REASON
} smcr_figure_delete_reason_t;
#undef REASON
extern const char *const smcr_figure_delete_reason_words[];

/* Returns the reason of a code in DELETE LINK; SMCR_FIGURE_FOR_UNKNOWN_REASON if it is not in enum
 * smcr_llc_delete_reason. */
smcr_figure_delete_reason_t smcr_figure_delete_reason_of(uint32_t code);

/* Kinds of findings. The word of a kind is its name in the report; two kinds may have the same
 * word. */
#define FINDING(constant, ...) SMCR_FIGURE_FOUND_##constant,
typedef enum {
#include "finding_kinds.def"
} smcr_figure_finding_t;
extern const char *const smcr_figure_finding_words[];

/* ---- distributions: enough of a measured quantity to compute mean and variance, and of times also
 * quantiles ---- */

/* A distribution. Times are in nanoseconds. A pointer to it is NULL if nothing has been measured:
 * most connections have most of their distributions empty. */
typedef struct {
    uint64_t count;        /* number of measurements */
    uint64_t sum;          /* sum of all measured values */
    uint64_t min;          /* smallest value; after smcr_entry_take_away() the middle of its bucket,
                              or SMCR_FIGURE_UNKNOWN: not known */
    uint64_t max;          /* largest value, likewise */
    double sum_of_squares; /* sum of the squares of all values, for the variance */
    smcr_histogram_t *histogram; /* counts of the values by size; NULL: all values are in the bucket
                                    of `max`, or smcr_distribution_add() has added them */
} smcr_distribution_t;

/* Adds a measured value to the distribution, which has no histogram and so no quantiles. If there
 * is none, makes it in `scope`. */
void smcr_distribution_add(smcr_distribution_t **distribution, wmem_allocator_t *scope,
                           uint64_t value);

/* Adds a measured time to the distribution, whose quantiles are then known. All values of a
 * distribution are added by this function, or all by smcr_distribution_add(). */
void smcr_distribution_add_time(smcr_distribution_t **distribution, wmem_allocator_t *scope,
                                uint64_t time);

/* Adds all times of `other`, which may be NULL, to a distribution of times. */
void smcr_distribution_join_times(smcr_distribution_t **distribution, wmem_allocator_t *scope,
                                  const smcr_distribution_t *other);

/* Returns the time that `per_mille` thousandths of the times do not exceed: the time with this rank
 * in ascending order, the rank rounded up. `per_mille`: 1000 at most. It is `min` or `max` of the
 * distribution if it is the smallest or the largest time, else within 4.4 %. SMCR_FIGURE_UNKNOWN:
 * no time was added. */
uint64_t smcr_distribution_quantile(const smcr_distribution_t *distribution, unsigned per_mille);

/* Returns the histogram of a distribution of times, allocated in `scope`. */
smcr_histogram_t smcr_distribution_histogram(const smcr_distribution_t *distribution,
                                             wmem_allocator_t *scope);

/* Adds a measured value as smcr_distribution_add() does, to a distribution that other entries
 * share: makes a copy of it in `scope` first. */
void smcr_distribution_add_to_copy(smcr_distribution_t **distribution, wmem_allocator_t *scope,
                                   uint64_t value);

/* Returns the distribution itself; if `distribution` is NULL, one whose members are 0. */
const smcr_distribution_t *smcr_distribution_get(const smcr_distribution_t *distribution);

/* ---- entries: a struct for each kind of JSON object, such as smcr_entry_connection_t ---- */

#define SMCR_FIGURE_UNKNOWN UINT64_MAX /* value of a number that is not known */

/* A truth value. SMCR_FIGURE_MAYBE: not known. */
typedef enum { SMCR_FIGURE_MAYBE = 0, SMCR_FIGURE_NO, SMCR_FIGURE_YES } smcr_figure_maybe_t;

/* Returns the value of a member of an entry for a truth that is known. */
static inline smcr_figure_maybe_t
smcr_figure_truth(bool is_true)
{
    return is_true ? SMCR_FIGURE_YES : SMCR_FIGURE_NO;
}

/* The number of packets with one opcode. */
typedef struct {
    uint8_t opcode; /* opcode of the BTH, as on the wire */
    uint64_t count; /* number of packets */
} smcr_figure_opcode_count_t;

/* Counts by opcode. An opcode that has not occurred has no entry. */
typedef struct {
    smcr_figure_opcode_count_t *counts; /* counts, in the order in which they were added; NULL:
                                           none */
    uint8_t length;                     /* number of entries of `counts` in use */
    uint8_t room;                       /* number of entries of `counts` that are allocated */
} smcr_figure_opcodes_t;

/* The number of packets with one value of a header field. */
typedef struct {
    uint32_t value;    /* the value */
    uint64_t count;    /* number of packets with this value */
    smcr_when_t first; /* the first of these packets */
} smcr_figure_value_count_t;

/* Counts by the values of a header field that has few values. A value that has not occurred has no
 * entry. */
typedef struct {
    smcr_figure_value_count_t *counts; /* counts, in the order in which they were added; NULL:
                                          none */
    uint32_t length;                   /* number of entries of `counts` in use */
    uint32_t room;                     /* number of entries of `counts` that are allocated */
} smcr_figure_tally_t;

/* A list of numbers. */
typedef struct {
    uint64_t *numbers; /* the numbers; NULL: none */
    uint32_t length;   /* how many numbers the list has */
} smcr_figure_numbers_t;

/* A list of texts. */
typedef struct {
    const char **texts; /* the texts; NULL: none */
    uint32_t length;    /* how many texts the list has */
} smcr_figure_texts_t;

typedef struct smcr_figure_description smcr_figure_description_t;
typedef struct smcr_figure_maker smcr_figure_maker_t;
typedef struct smcr_figure_names smcr_figure_names_t;

/* Fills in the cleared entry from its source. Memory is allocated in `maker->scope`. */
typedef void smcr_figure_make_t(const smcr_figure_maker_t *maker, void *entry, const void *source);

/* Makes the entries of a list one by one, each in the place of the one before. So a list of many
 * entries takes little memory. Pointers to such an entry must not be kept, nor to its texts and
 * lists. */
struct smcr_figure_maker {
    smcr_figure_make_t *make; /* fills in an entry from its source */
    const smcr_figure_description_t *description; /* kind of the entries */
    const void *context;     /* what `make` needs besides the source; NULL: nothing */
    void *entry;             /* the entry that was made last */
    wmem_allocator_t *scope; /* memory pool of this entry; emptied before the next one is made */
    smcr_figure_names_t *names; /* replacements of what identifies hosts; NULL: none */
    /* smcr_figure_names_apply(); set with `names` */
    void (*replace)(smcr_figure_names_t *names, wmem_allocator_t *scope, void *entry,
                    const smcr_figure_description_t *description);
};

/* Returns a maker, allocated in `scope`. */
smcr_figure_maker_t *smcr_figure_maker_new(wmem_allocator_t *scope,
                                           const smcr_figure_description_t *description,
                                           smcr_figure_make_t *make, const void *context);

/* Returns the entry that the maker makes of the source. */
void *smcr_figure_make(const smcr_figure_maker_t *maker, const void *source);

/* A list of entries. */
typedef struct {
    void **entries;  /* pointers to the entries, or to the sources of `maker`; NULL: none */
    smcr_figure_maker_t *maker; /* makes the entries; NULL: the list has all its entries */
    uint32_t length;    /* number of entries, without the entry that `rest` announces */
    uint32_t room : 31; /* number of pointers that are allocated */
    uint32_t rest : 1;  /* 1: one more entry, after the last one, has what belongs to no other
                           entry; only sums include it. 0: there is no such entry */
} smcr_figure_list_t;

/* Returns the entry at `at`, which points to an element of `entries` of the list. */
static inline void *
smcr_figure_list_entry(const smcr_figure_list_t *list, const void *at)
{
    void *element = *(void *const *)at;

    return list->maker ? smcr_figure_make(list->maker, element) : element;
}

/* Head of a loop over the entries of a list. `entry` is declared as an smcr_entry_<kind>_t *. The
 * loop must not add entries to the list. */
#define SMCR_FIGURE_EACH(kind, entry, list)                                                        \
    for (smcr_entry_##kind##_t **at_##entry = (void *)(list).entries, *entry;                      \
         (list).length && (void *)at_##entry < (void *)((list).entries + (list).length) &&         \
         (entry = smcr_figure_list_entry(&(list), at_##entry));                                    \
         at_##entry++)

/* Kinds of figures, and their types in C. "Not known" is SMCR_FIGURE_UNKNOWN for a number. A sum of
 * entries includes COUNT, SECONDS, TIMES, SPREAD, LENGTHS, OPCODES and TALLY, and no other
 * kind. */
#define SMCR_FIGURE_KINDS(X)                                                                       \
    X(COUNT, uint64_t) /* a number; sums add it up */                                              \
    X(SECONDS, uint64_t)            /* nanoseconds, written as seconds; sums add them up */        \
    X(SAMPLE, uint64_t)             /* nanoseconds; the summary has the distribution */            \
    X(SPREAD, smcr_distribution_t *)  /* a distribution of nanoseconds, written as seconds */      \
    X(TIMES, smcr_distribution_t *)   /* as SPREAD, and with a histogram */                        \
    X(LENGTHS, smcr_distribution_t *) /* a distribution without unit */                            \
    X(NUMBER, uint64_t) /* a number that sums leave out: an index, a port */                       \
    X(TEXT, const char *)           /* a text; NULL: not known */                                  \
    X(CHOICE, unsigned)             /* a word of a list of choices.def */                          \
    X(BOOL, smcr_figure_maybe_t)                                                                   \
    X(WHEN, smcr_when_t)            /* a frame: x_frame; JSON adds its time as x_time */           \
    X(TIME, uint64_t)               /* a time, nanoseconds since 1970 */                           \
    X(RATIO, double)                /* a quotient; sums leave it out; NAN: not known */            \
    X(OPCODES, smcr_figure_opcodes_t) /* counts of packets by opcode */                            \
    X(TALLY, smcr_figure_tally_t)   /* counts of packets by the value of a header field */         \
    X(NUMBERS, smcr_figure_numbers_t) /* a list of numbers */                                      \
    X(TEXTS, smcr_figure_texts_t)   /* a list of texts */                                          \
    X(SUMMARY, char)                /* sums of the entry's lists, made when it is written */

/* Kinds of parts: members that are entries of kind `of`, or lists of such entries. OBJECT: an entry
 * within the entry. MAYBE: a pointer to an entry; NULL: there is no entry. LIST: a list of
 * entries. */
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

#define ENTRY(entry, text) typedef struct {
#define FIGURE(entry, kind, name, ...) smcr_figure_##kind##_t name;
#define CHOICE(entry, name, list, ...) smcr_figure_##list##_t name;
#define PART(entry, kind, name, of, ...) SMCR_FIGURE_PART_##kind(of) name;
#define END(entry) \
    } smcr_entry_##entry##_t; \
    extern const smcr_figure_description_t smcr_entry_##entry##_description;
#include "lines.def"

/* Describes one member of an entry. */
typedef struct {
    const char *name;                    /* name of the member, in C and in JSON */
    /* kind of the figure or part */
    smcr_figure_member_kind_t kind;
    size_t offset;                       /* offset of the member in the struct of the entry,
                                            bytes */
    const smcr_figure_description_t *of; /* kind of the entries of a part; NULL: the member is no
                                            part */
    const char *const *words;            /* words among which a CHOICE chooses; NULL: the member is
                                            no CHOICE */
    bool is_known_with_entry;            /* the value is known if any value of the entry is:
                                            entries.def has "always" or "together" for it, not
                                            "or_null"; false: a part, or the value may be unknown
                                            alone */
} smcr_figure_member_t;

/* Describes a kind of entry. */
struct smcr_figure_description {
    size_t size;                         /* size of the entry, bytes */
    unsigned count;                      /* number of members */
    const smcr_figure_member_t *members; /* the members, in the order of their table */
};

/* ---- building ---- */

/* Defines a comparison function `name` for qsort(), which sorts by `key` in ascending order. `key`
 * is an expression of the variable `each`, which is a pointer to `type`. */
#define SMCR_FIGURE_ORDER(name, type, each, key)                                                   \
    static int name(const void *one, const void *other)                                            \
    {                                                                                              \
        const type *each = one;                                                                    \
        uint32_t a = key;                                                                          \
        each = other;                                                                              \
        return (a > (key)) - (a < (key));                                                          \
    }

/* Clears an entry. Members of the kinds NUMBER, TIME, SAMPLE and RATIO become not known, all other
 * members zero. The entries within the entry (OBJECT) are cleared, too. */
void smcr_entry_clear(void *entry, const smcr_figure_description_t *description);

/* Does the same as smcr_entry_clear(), and also makes COUNT and SECONDS members not known. */
void smcr_entry_forget(void *entry, const smcr_figure_description_t *description);

/* Returns the value that `map` has for `key`. If the map has none, adds a value of `size` zero
 * bytes, allocated in `scope`. */
void *smcr_figure_of(wmem_map_t *map, wmem_allocator_t *scope, const void *key, size_t size);

/* Returns the values of the map, pointers, as an array that is sorted by `compare`, which compares
 * two elements of the array. The array is allocated in `scope`. */
wmem_array_t *smcr_figure_values(wmem_map_t *map, int (*compare)(const void *, const void *),
                                 wmem_allocator_t *scope);

/* Appends a cleared entry to the list, allocated in `scope`, and returns it. */
void *smcr_figure_list_add(smcr_figure_list_t *list, wmem_allocator_t *scope,
                           const smcr_figure_description_t *description);
/* Does the same for an entry of this kind: SMCR_FIGURE_ADD(link, ...) returns an
 * smcr_entry_link_t *. */
#define SMCR_FIGURE_ADD(kind, list, scope)                                                         \
    ((smcr_entry_##kind##_t *)smcr_figure_list_add(list, scope, &smcr_entry_##kind##_description))

/* Appends an entry, which belongs to the caller, to the list, whose own memory is allocated in
 * `scope`. */
void smcr_figure_list_append(smcr_figure_list_t *list, wmem_allocator_t *scope, void *entry);

/* Adds `count` packets to the count of this opcode. */
void smcr_figure_opcodes_count(smcr_figure_opcodes_t *opcodes, wmem_allocator_t *scope,
                               uint8_t opcode, uint64_t count);

/* Counts a packet with this value, if the tally has less than SMCR_FIGURE_TALLY_MOST values or has
 * this one. Returns false if the packet is not counted. */
bool smcr_figure_tally_count(smcr_figure_tally_t *tally, wmem_allocator_t *scope, uint32_t value,
                             smcr_when_t when);
#define SMCR_FIGURE_TALLY_MOST 64 /* a DSCP has as many values */

/* Adds the counts of `from` to those of `tally`. Values for which the tally has no room are left
 * out (SMCR_FIGURE_TALLY_MOST). */
void smcr_figure_tally_join(smcr_figure_tally_t *tally, wmem_allocator_t *scope,
                            const smcr_figure_tally_t *from);

/* Appends a number to the list. */
void smcr_figure_numbers_add(smcr_figure_numbers_t *numbers, wmem_allocator_t *scope,
                             uint64_t number);

/* Appends a text to the list. */
void smcr_figure_texts_add(smcr_figure_texts_t *texts, wmem_allocator_t *scope, const char *text);

/* Returns a count; 0 if it is not known. */
static inline uint64_t
smcr_figure_or_zero(uint64_t count)
{
    return count == SMCR_FIGURE_UNKNOWN ? 0 : count;
}

/* Counts a packet with the ECN codepoint `ecn`, of which only the lowest two bits count. */
void smcr_figure_codepoints_count(smcr_entry_codepoints_t *codepoints, uint8_t ecn);

/* Returns the number of NAKs of all codes, without RNR NAKs. */
uint64_t smcr_figure_naks_count(const smcr_entry_naks_t *naks);

/* Returns the number of packets of the flow that are marked CE, on their own IP header or on that
 * of a tunnel, without duplicates. SMCR_FIGURE_UNKNOWN: not known. */
uint64_t smcr_figure_marks_count(const smcr_entry_rdma_t *flow);

/* Returns the number of packets of the flow that are missing where later ones came, without those
 * that came out of order. SMCR_FIGURE_UNKNOWN: not known. */
uint64_t smcr_figure_missing_count(const smcr_entry_rdma_t *flow);

/* Returns the number of CNPs of the flow, without duplicates. */
uint64_t smcr_figure_cnps_count(const smcr_entry_rdma_t *flow);

/* Returns the sum of two counts. A count that is SMCR_FIGURE_UNKNOWN (not known) adds nothing. If
 * both counts are not known, the sum is not known. */
static inline uint64_t
smcr_figure_sum(uint64_t one, uint64_t other)
{
    if (one == SMCR_FIGURE_UNKNOWN)
        return other;
    return other == SMCR_FIGURE_UNKNOWN ? one : one + other;
}

/* The link to which an RDMA flow belongs, and its link group. A link has two flows, one for each
 * direction. */
typedef struct {
    const smcr_entry_link_group_t *group; /* link group of `link`; NULL: `link` is NULL */
    const smcr_entry_link_t *link;        /* the link; NULL: not known, or the flow belongs to no
                                             link */
} smcr_figure_flow_owner_t;

/* Returns link and link group of each RDMA flow of a report: an array, whose index is the index of
 * the flow. The array is allocated in `scope`. */
const smcr_figure_flow_owner_t *smcr_figure_flow_owners(const smcr_entry_report_t *report,
                                                        wmem_allocator_t *scope);

/* Returns the direction from client to server if `to_server`, else the direction from server to
 * client. */
static inline const smcr_entry_conn_direction_t *
smcr_figure_direction(const smcr_entry_connection_t *conn, bool to_server)
{
    return to_server ? &conn->client_to_server : &conn->server_to_client;
}

/* Returns how long the receive buffer of a direction was full, nanoseconds; 0 if the time is not
 * known. */
static inline uint64_t
smcr_figure_buffer_full_time(const smcr_entry_conn_direction_t *direction)
{
    return direction->time ? direction->time->buffer_full_s : 0;
}

/* Returns the time that the writer of a direction lost, nanoseconds: the receive buffer was full,
 * packets were retransmitted, or data that the peer already had were retransmitted while other data
 * were under way. If the times are not known, each retransmitted packet counts as one millisecond,
 * so that the direction can be compared with others, whose times are known. */
static inline uint64_t
smcr_figure_lost_time(const smcr_entry_conn_direction_t *direction)
{
    if (!direction->time)
        return smcr_figure_or_zero(direction->repeated_packets) * SMCR_TIME_MILLISECOND;
    return direction->time->buffer_full_s + direction->time->retransmission_s +
           direction->time->needless_s;
}

/* Returns the earlier of two frames. Frame 0 stands for no frame. */
static inline smcr_when_t
smcr_figure_when_earlier(smcr_when_t one, smcr_when_t other)
{
    if (!one.frame || (other.frame && other.frame < one.frame))
        return other;
    return one;
}

/* Returns the nanoseconds from frame `from` to frame `to`. Returns SMCR_FIGURE_UNKNOWN if one of
 * the frames is 0, or if `to` has an earlier time than `from`. */
static inline uint64_t
smcr_figure_time_between(smcr_when_t from, smcr_when_t to)
{
    return from.frame && to.frame && to.time >= from.time ? to.time - from.time
                                                          : SMCR_FIGURE_UNKNOWN;
}

/* Adds the members COUNT, SECONDS, TIMES, SPREAD, LENGTHS, OPCODES and TALLY of `from` to the same
 * members of `into`. Entries within the entry (OBJECT, MAYBE) are added, too; lists are not. */
void smcr_entry_join(void *into, const void *from, const smcr_figure_description_t *description,
                     wmem_allocator_t *scope);

/* Adds the entry `from` to the entry `into` (smcr_entry_join()), and returns `into`. Each of them
 * may be NULL. If `from` is NULL, nothing is added. If only `into` is NULL, the entry is made in
 * `scope` first, with members that are not known. */
void *smcr_entry_join_maybe(void *into, const void *from,
                            const smcr_figure_description_t *description, wmem_allocator_t *scope);

/* Subtracts `before` from `into`, member by member, for those kinds of members that
 * smcr_entry_join() adds. `into` then has what has come since `before`. `before` is a sum that
 * smcr_entry_join() made earlier of the same entries. The smallest and the largest value of the
 * distribution that remains are not known, or of the kind TIMES known up to their buckets. */
void smcr_entry_take_away(void *into, const void *before,
                          const smcr_figure_description_t *description, wmem_allocator_t *scope);

/* ---- expert items of the plugin, as counted over a capture ---- */

/* The subject of an expert item, as far as it is known. */
typedef struct {
    uint64_t stream; /* number of the connection (smcr.stream); SMCR_FIGURE_UNKNOWN: not known, or
                        the item has none */
    uint64_t group;  /* index of the link group; SMCR_FIGURE_UNKNOWN: not known, or the item has
                        none */
    uint64_t link;   /* number of the link; SMCR_FIGURE_UNKNOWN: not known, or the item has none */
    const char *src; /* host that sent the frame; NULL: not known */
    const char *dst; /* host that receives the frame; NULL: not known */
} smcr_figure_subject_t;

/* A frame that a notice counts, and the connection and the link of the frame. */
typedef struct {
    uint32_t frame;  /* number of the frame */
    uint64_t stream; /* as in smcr_figure_subject_t */
    uint64_t group;  /* as in smcr_figure_subject_t */
    uint64_t link;   /* as in smcr_figure_subject_t */
    bool is_in_silence; /* the notice is of retransmitted packets, and the frame retransmits one in
                           a long silence of the peer (smcr_entry_rdma_t.silences) */
} smcr_figure_occurrence_t;

/* Display filter of frames before which the clock of the capture was set back. */
#define SMCR_FIGURE_CLOCK_FILTER "frame.time_delta < -1"

/* Display filter of frames whose time is before that of the frame before. */
#define SMCR_FIGURE_UNSORTED_FILTER "frame.time_delta < 0"

/* Display filter of TCP's retransmissions after timeouts. */
#define SMCR_FIGURE_TCP_WAIT_FILTER "tcp.analysis.rto"

/* A notice counts one of two things: the expert items of one kind in packets of one sender, or
 * the packets that a display filter selects. */
typedef struct {
    const char *filter;    /* name of the expert item, such as "smcr.conn.aborted", or the display
                              filter of the packets. The text of an ICMP error begins with "icmp" */
    int severity;          /* Wireshark's severity, PI_NOTE and so on; 0: no expert item */
    int group;             /* Wireshark's group, PI_SEQUENCE and so on; 0: no expert item */
    smcr_figure_role_t by; /* sender of the packets with the items; SMCR_FIGURE_ROLE_NONE: not
                              known */
    uint64_t count;        /* number of items or packets */
    smcr_when_t first;     /* frame of the first item or packet; frame 0: not known */
    uint32_t last;         /* number of the frame with the last item; 0: the frame of `first`, or
                              the notice counts packets */
    uint32_t closed;       /* frame before `first` in which the other side closed the connection; 0:
                              none */
    uint64_t went_on;      /* longest time for which RoCE packets of a connection went on after
                              its RST, nanoseconds, if the notice counts tcp.flags.reset; 0: none
                              did, or another notice */
    uint64_t back;         /* how far time goes back at `first`, nanoseconds, if the notice counts
                              frames before which the clock was set back, or which are not sorted;
                              0: another notice */
    uint64_t waited;       /* sum of the waits for retransmissions of one TCP connection: the one
                              with the largest sum, nanoseconds; 0: another notice */
    uint64_t longest;      /* longest wait in this sum, nanoseconds; it begins at `first` */
    const char *kind;      /* sentence of the expert item. If the notice counts an ICMP error: its
                              sender and its reason. NULL: a count of packets */
    const smcr_figure_subject_t *subject; /* subject of the first item; NULL: not known */
    bool has_other_conns;  /* the items are of several connections */
    const char *reason;    /* why RDMA-CM rejected the connection of the first item; NULL: not
                              known, or it was not rejected */
    const smcr_figure_occurrence_t *occurrences; /* the frames that the notice counts; NULL: none
                                                    was kept */
    uint32_t occurrence_count; /* number of `occurrences` */
} smcr_figure_notice_t;

/* ---- what identifies hosts ---- */

/* Returns an empty list of replacements, allocated in `scope`. */
smcr_figure_names_t *smcr_figure_names_new(wmem_allocator_t *scope);

/* Replaces addresses, MAC addresses, host names, EIDs, peer IDs and the user's filter in an entry
 * and all entries within it. Equal texts have equal replacements. Texts are allocated in `scope`,
 * or live as long as `names`. */
void smcr_figure_names_apply(smcr_figure_names_t *names, wmem_allocator_t *scope, void *entry,
                             const smcr_figure_description_t *description);

/* Returns the text with each IP and MAC address replaced by an invented one. The text is allocated
 * in `scope`, or lives as long as `names`. */
const char *smcr_figure_names_replace(smcr_figure_names_t *names, wmem_allocator_t *scope,
                                      const char *text);

/* ---- addresses and numbers as a report writes them ---- */

/* Returns a GID as text: an IPv4 address if the GID is IPv4-mapped, else an IPv6 address. Returns
 * NULL if the GID is all zeros. */
const char *smcr_figure_gid_text(wmem_allocator_t *scope, const uint8_t gid[SMCR_GID_LENGTH]);

/* Returns "one ↔ other": the name of a connection whose client is not known. An end that is NULL or
 * "" is not known, and becomes "?". */
const char *smcr_figure_ends(wmem_allocator_t *scope, const char *one, const char *other);

/* Returns "0x" and all hexadecimal digits of a number of `bytes` bytes, 8 at most. */
const char *smcr_figure_hex_text(wmem_allocator_t *scope, uint64_t number, unsigned bytes);

/* Returns the word for a version of SMC-R. `version` 0: not known. `release` below 0: not known. */
smcr_figure_version_t smcr_figure_version_of(unsigned version, int release);
