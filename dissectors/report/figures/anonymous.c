/* Replaces what identifies hosts in the texts of a report. Addresses are found by their form, so
 * that a text may have several; other names are replaced as a whole.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "figures.h"

/* Replacements are numbered in the order in which the report has the replaced texts. No host should
 * have such an address: the replacements are from 0.0.0.0/8, from the IPv6 addresses for
 * documentation (RFC 3849), and from a range of locally administered MAC addresses. */

/* Kinds of replacements. */
typedef enum { NAME, PEER_ID, IPV4, IPV6, MAC, KINDS } name_kind_t;

struct smcr_figure_names {
    wmem_allocator_t *scope; /* memory pool that owns the replacements */
    wmem_map_t *replacement; /* text -> its replacement */
    uint32_t count[KINDS];   /* number of replacements so far; index: name_kind_t */
};

/* One list serves a whole report, so that a name has the same replacement everywhere in it. */
smcr_figure_names_t *
smcr_figure_names_new(wmem_allocator_t *scope)
{
    smcr_figure_names_t *names = wmem_new0(scope, smcr_figure_names_t);

    names->scope = scope;
    names->replacement = wmem_map_new(scope, wmem_str_hash, g_str_equal);
    return names;
}

/* Returns a replacement that no other text has. Those of IPv4 and MAC addresses have 24 bits for
 * the number, so they repeat after 16,777,216 addresses of one kind. */
static char *
new_replacement(smcr_figure_names_t *names, name_kind_t kind)
{
    uint32_t number = ++names->count[kind];
    unsigned low = number & 0xff, middle = number >> 8 & 0xff, high = number >> 16 & 0xff;

    switch (kind) {
    case IPV4:
        return wmem_strdup_printf(names->scope, "0.%u.%u.%u", high, middle, low);
    case IPV6:
        return number >> 16 ? wmem_strdup_printf(names->scope, "2001:db8::%x:%x", number >> 16,
                                                 number & 0xffff)
                            : wmem_strdup_printf(names->scope, "2001:db8::%x", number);
    case MAC:
        return wmem_strdup_printf(names->scope, "02:00:00:%02x:%02x:%02x", high, middle, low);
    case PEER_ID:
        return wmem_strdup_printf(names->scope, "0x%016x", number);
    default:
        return wmem_strdup_printf(names->scope, "name-%u", number);
    }
}

/* Returns the replacement of a text. Equal texts have the same replacement in the whole report, so
 * that a reader can still recognise a host. */
static const char *
replacement_of(smcr_figure_names_t *names, const char *text, name_kind_t kind)
{
    char *found = wmem_map_lookup(names->replacement, text);

    if (!found) {
        found = new_replacement(names, kind);
        wmem_map_insert(names->replacement, wmem_strdup(names->scope, text), found);
    }
    return found;
}

/* ---- addresses in a text ---- */

/* Returns the length of the IPv4 address at the beginning of the text; 0: there is none. */
static size_t
ipv4_length(const char *text)
{
    const char *at = text;

    for (unsigned part = 0; part < 4; part++) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 3)
            return 0;
        at += digits;
        if (part < 3 && *at++ != '.')
            return 0;
    }
    return *at == '.' && g_ascii_isdigit(at[1]) ? 0 : (size_t)(at - text);
}

/* Counts the groups of hexadecimal digits between colons in the first `length` characters. If a
 * group has more than `most` digits, returns 0. */
static unsigned
count_groups(const char *text, size_t length, size_t most)
{
    unsigned groups = 0;

    for (const char *at = text; at < text + length; at++) {
        size_t digits = strspn(at, "0123456789abcdefABCDEF");
        if (digits > most)
            return 0;
        groups += digits > 0;
        at += digits;
    }
    return groups;
}

/* Returns the length of the IPv6 address or MAC address at the beginning of the text, and stores
 * its kind; 0: there is none. An IPv6 address may end with an IPv4 address. */
static size_t
colon_length(const char *text, name_kind_t *kind)
{
    size_t length = strspn(text, "0123456789abcdefABCDEF:");
    const char *last = g_strrstr_len(text, (gssize)length, ":");
    const char *pair = g_strstr_len(text, (gssize)length, "::");

    if (!last)
        return 0;
    *kind = !pair && count_groups(text, length, 2) == 6 ? MAC : IPV6;
    if (text[length] == '.' && ipv4_length(last + 1))
        return (size_t)(last + 1 - text) + ipv4_length(last + 1);
    while (length > 1 && text[length - 1] == ':' && (!pair || text[length - 2] != ':'))
        length--;
    if (*kind == MAC)
        return length;
    return pair || count_groups(text, length, 4) == 8 ? length : 0;
}

/* Returns the length of the address at the beginning of the text, and stores its kind; 0: there is
 * none. */
static size_t
address_length(const char *text, name_kind_t *kind)
{
    size_t length = ipv4_length(text);

    *kind = IPV4;
    return length ? length : colon_length(text, kind);
}

/* Equal addresses get equal replacements, wherever they are in a text. A run of letters, digits and
 * colons is examined at its start only: a part of a word is no address. */
const char *
smcr_figure_names_replace(smcr_figure_names_t *names, wmem_allocator_t *scope, const char *text)
{
    name_kind_t kind_of_all;
    size_t length_of_all = address_length(text, &kind_of_all);
    GString *made;

    if (length_of_all && !text[length_of_all])
        return replacement_of(names, text, kind_of_all);
    made = g_string_new(NULL);
    for (const char *at = text; *at;) {
        name_kind_t kind;
        size_t word = strspn(at, "0123456789abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ:");
        size_t length = address_length(at, &kind);
        if (length) {
            char *address = g_strndup(at, length);
            g_string_append(made, replacement_of(names, address, kind));
            g_free(address);
        } else {
            length = MAX(word, 1);
            g_string_append_len(made, at, (gssize)length);
        }
        at += length;
    }
    const char *result = wmem_strdup(scope, made->str);
    g_string_free(made, TRUE);
    return result;
}

/* ---- the report ---- */

/* Members whose whole text is replaced. All other texts may have addresses. */
static const struct {
    const char *name; /* name of the member */
    name_kind_t kind; /* kind of its replacements */
} whole_members[] = {
    {"host_name", NAME}, {"eid", NAME}, {"offered_eids", NAME}, {"filter", NAME},
    {"peer_id", PEER_ID}};

/* Replaces the text of a member: the whole text if whole_members[] has the member; else only the
 * parts that identify hosts. A member without text stays NULL. */
static void
replace_member(smcr_figure_names_t *names, wmem_allocator_t *scope,
               const smcr_figure_member_t *member, const char **text)
{
    if (!*text)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(whole_members); i++) {
        if (strcmp(whole_members[i].name, member->name) == 0) {
            *text = replacement_of(names, *text, whole_members[i].kind);
            return;
        }
    }
    *text = smcr_figure_names_replace(names, scope, *text);
}

/* Replaces the texts of all entries of a list. If a list makes its entries one by one
 * (smcr_figure_maker_t), each entry is replaced when it is made. The entries are made once here, so
 * that the replacements are numbered in the order of the report. */
static void
replace_list(smcr_figure_names_t *names, wmem_allocator_t *scope, smcr_figure_list_t *list,
             const smcr_figure_description_t *description)
{
    if (list->maker) {
        list->maker->names = names;
        list->maker->replace = smcr_figure_names_apply;
    }
    for (uint32_t i = 0; i < list->length + list->rest; i++) {
        void *entry = smcr_figure_list_entry(list, &list->entries[i]);
        if (!list->maker)
            smcr_figure_names_apply(names, scope, entry, description);
    }
}

/* Goes down into all entries, so a new kind of entry is anonymous without a change here. */
void
smcr_figure_names_apply(smcr_figure_names_t *names, wmem_allocator_t *scope, void *entry,
                        const smcr_figure_description_t *description)
{
    for (unsigned i = 0; i < description->count; i++) {
        const smcr_figure_member_t *member = &description->members[i];
        void *value = (uint8_t *)entry + member->offset;

        if (member->kind == SMCR_FIGURE_KIND_TEXT)
            replace_member(names, scope, member, value);
        else if (member->kind == SMCR_FIGURE_KIND_OBJECT)
            smcr_figure_names_apply(names, scope, value, member->of);
        else if (member->kind == SMCR_FIGURE_KIND_MAYBE && *(void **)value)
            smcr_figure_names_apply(names, scope, *(void **)value, member->of);
        else if (member->kind == SMCR_FIGURE_KIND_LIST)
            replace_list(names, scope, value, member->of);
    }
}
