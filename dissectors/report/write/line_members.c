/* Decides what a line has of an entry: no member that is not known, no empty list, nothing that
 * other members of the line say, and no value that a reader assumes. line_members.def names the
 * members.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "line_members.h"

#include <math.h>

#define MOST "_most_s" /* end of the name of an upper bound */
#define UNKNOWN_TIME "unknown_s" /* name of the member with the time that may belong to any part of
                                    the entry's time */

/* A member of an entry, or an entry as a whole (`offset` 0). */
typedef struct {
    const smcr_figure_description_t *entry; /* kind of the entry; NULL: the list of members ends */
    size_t offset;    /* offset of the member in the entry, bytes */
    size_t companion; /* offset of the companion, bytes; used by `assumed` and `lasted` only. Of
                         `assumed`: if a line has the companion and not the member, a reader takes
                         the member for 0 or false. Of `lasted`: the time from which the line
                         counts */
} line_place_t;

#define OF(entry) &smcr_entry_##entry##_description
#define AT(entry, member) offsetof(smcr_entry_##entry##_t, member)

/* Members that no line has. */
static const line_place_t left_out[] = {
#define LEFT_OUT(entry, member) {OF(entry), AT(entry, member), 0},
#include "report/figures/line_members.def"
    {NULL, 0, 0}};

/* Members that only full lines have. */
static const line_place_t only_full[] = {
#define FULL(entry, member) {OF(entry), AT(entry, member), 0},
#include "report/figures/line_members.def"
    {NULL, 0, 0}};

/* Members that a reader assumes to be 0 or false if their companion is in the line. */
static const line_place_t assumed[] = {
#define ASSUMED(entry, member, with) {OF(entry), AT(entry, member), AT(entry, with)},
#include "report/figures/line_members.def"
    {NULL, 0, 0}};

/* Entries whose frames have numbers in lines. */
static const line_place_t with_frames[] = {
#define WITH_FRAMES(entry) {OF(entry), 0, 0},
#include "report/figures/line_members.def"
    {NULL, 0, 0}};

/* The names of members in lines, where they are others than in the report. */
static const struct {
    line_place_t place; /* the member */
    const char *name;   /* its name in lines */
} named[] = {
#define NAMED(entry, member, name) {{OF(entry), AT(entry, member), 0}, #name},
#include "report/figures/line_members.def"
};

/* Frames in whose place lines have the time since another time of the entry, the companion. */
static const line_place_t lasted[] = {
#define LASTED(entry, member, begin) {OF(entry), AT(entry, member), AT(entry, begin)},
#include "report/figures/line_members.def"
    {NULL, 0, 0}};

/* Returns the place of the member in the list; NULL: the list does not have it. */
static const line_place_t *
find_place(const line_place_t *list, size_t offset, const smcr_figure_description_t *description)
{
    for (; list->entry; list++) {
        if (list->entry == description && list->offset == offset)
            return list;
    }
    return NULL;
}

bool
smcr_json_line_has_frames(const smcr_figure_description_t *description)
{
    return find_place(with_frames, 0, description) != NULL;
}

/* A member is found by its entry and its offset: the same name may mean different things in two
 * entries. */
const char *
smcr_json_line_name(const smcr_figure_member_t *member,
                    const smcr_figure_description_t *description)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(named); i++) {
        const line_place_t *place = &named[i].place;
        if (place->entry == description && place->offset == member->offset)
            return named[i].name;
    }
    return member->name;
}

const uint64_t *
smcr_json_line_begin(const smcr_figure_member_t *member, const void *entry,
                     const smcr_figure_description_t *description)
{
    const line_place_t *place = find_place(lasted, member->offset, description);

    return place ? (const void *)((const uint8_t *)entry + place->companion) : NULL;
}

/* ---- what is known ---- */

static bool has_value_in(const void *entry, const smcr_figure_description_t *description);

/* Whether a single value is known. Each kind has its own value that stands for "not known"; a
 * number 0 is known. */
static bool
is_plain_known(const smcr_figure_member_t *member, const void *value)
{
    switch (member->kind) {
    case SMCR_FIGURE_KIND_TEXT:
    case SMCR_FIGURE_KIND_MAYBE:
        return *(void *const *)value != NULL;
    case SMCR_FIGURE_KIND_CHOICE:
        return member->words[*(const unsigned *)value] != NULL;
    case SMCR_FIGURE_KIND_BOOL:
        return *(const smcr_figure_maybe_t *)value != SMCR_FIGURE_MAYBE;
    case SMCR_FIGURE_KIND_WHEN:
        return ((const smcr_when_t *)value)->frame != 0;
    case SMCR_FIGURE_KIND_RATIO:
        return !isnan(*(const double *)value);
    default:
        return *(const uint64_t *)value != SMCR_FIGURE_UNKNOWN;
    }
}

/* Whether the value is known, the list has an entry, the distribution has a sample. */
static bool
has_value(const smcr_figure_member_t *member, const void *value)
{
    switch (member->kind) {
    case SMCR_FIGURE_KIND_SPREAD:
    case SMCR_FIGURE_KIND_TIMES:
    case SMCR_FIGURE_KIND_LENGTHS:
        return smcr_distribution_get(*(smcr_distribution_t *const *)value)->count > 0;
    case SMCR_FIGURE_KIND_OPCODES:
        return ((const smcr_figure_opcodes_t *)value)->length > 0;
    case SMCR_FIGURE_KIND_TALLY:
        return ((const smcr_figure_tally_t *)value)->length > 0;
    case SMCR_FIGURE_KIND_NUMBERS:
        return ((const smcr_figure_numbers_t *)value)->length > 0;
    case SMCR_FIGURE_KIND_TEXTS:
        return ((const smcr_figure_texts_t *)value)->length > 0;
    case SMCR_FIGURE_KIND_LIST:
        return ((const smcr_figure_list_t *)value)->length > 0;
    case SMCR_FIGURE_KIND_SUMMARY:
        return false;
    case SMCR_FIGURE_KIND_OBJECT:
        return has_value_in(value, member->of);
    default:
        return is_plain_known(member, value);
    }
}

/* Whether any member of the entry has a value (has_value()). */
static bool
has_value_in(const void *entry, const smcr_figure_description_t *description)
{
    for (unsigned i = 0; i < description->count; i++) {
        const smcr_figure_member_t *member = &description->members[i];
        if (has_value(member, (const uint8_t *)entry + member->offset))
            return true;
    }
    return false;
}

/* ---- what a reader assumes ---- */

/* Returns the number that the entry has under the name that begins with `length` characters of
 * `begin` and ends with `end`; 0 if it has no such member. */
static uint64_t
number_of(const void *entry, const smcr_figure_description_t *description, const char *begin,
          size_t length, const char *end)
{
    for (unsigned i = 0; i < description->count; i++) {
        const char *name = description->members[i].name;
        if (strncmp(name, begin, length) == 0 && strcmp(name + length, end) == 0)
            return *(const uint64_t *)(const void *)((const uint8_t *)entry +
                                                     description->members[i].offset);
    }
    return 0;
}

/* Returns the number that a reader assumes for a missing number of an entry: 0; for the upper bound
 * of a time, xy_most_s, the sum of the time itself, xy_s, and of the time that may belong to it,
 * unknown_s. */
static uint64_t
default_of(const smcr_figure_member_t *member, const void *entry,
           const smcr_figure_description_t *description)
{
    size_t length = strlen(member->name);

    if (!g_str_has_suffix(member->name, MOST))
        return 0;
    return number_of(entry, description, member->name, length - strlen(MOST), "_s") +
           number_of(entry, description, "", 0, UNKNOWN_TIME);
}

/* Whether the member has the value that a reader assumes: 0, false, the sum of other members. */
static bool
is_default(const smcr_figure_member_t *member, const void *entry,
           const smcr_figure_description_t *description)
{
    const void *value = (const uint8_t *)entry + member->offset;

    switch (member->kind) {
    case SMCR_FIGURE_KIND_COUNT:
    case SMCR_FIGURE_KIND_SECONDS:
        return *(const uint64_t *)value == default_of(member, entry, description);
    case SMCR_FIGURE_KIND_BOOL:
        return *(const smcr_figure_maybe_t *)value == SMCR_FIGURE_NO;
    default:
        return false;
    }
}

/* Whether a reader assumes a value of this member of this entry if the line does not have it. A
 * member in `assumed`: if the line has the companion of the member. Any other member: if
 * entries.def promises its value, and lines that are not full may have it. */
static bool
is_assumed(const smcr_figure_member_t *member, const void *entry,
           const smcr_figure_description_t *description)
{
    const line_place_t *place = find_place(assumed, member->offset, description);

    if (!place)
        return member->is_known_with_entry && !find_place(only_full, member->offset, description);
    for (unsigned i = 0; i < description->count; i++) {
        const smcr_figure_member_t *companion = &description->members[i];
        if (companion->offset == place->companion)
            return !smcr_json_line_leaves_out(companion, entry, description, true);
    }
    return false;
}

/* A reader of the line has to be able to restore each member that is left out although it is known,
 * by docs/lines.md alone. */
bool
smcr_json_line_leaves_out(const smcr_figure_member_t *member, const void *entry,
                          const smcr_figure_description_t *description, bool is_full)
{
    if (find_place(left_out, member->offset, description))
        return true;
    if (!is_full && find_place(only_full, member->offset, description))
        return true;
    if (is_assumed(member, entry, description) && is_default(member, entry, description))
        return true;
    return !has_value(member, (const uint8_t *)entry + member->offset);
}

bool
smcr_json_line_is_unknown(const smcr_figure_member_t *member, const void *entry,
                          const smcr_figure_description_t *description)
{
    return find_place(assumed, member->offset, description) &&
           is_assumed(member, entry, description) &&
           !has_value(member, (const uint8_t *)entry + member->offset);
}
