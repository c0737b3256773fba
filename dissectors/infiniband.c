/* infiniband.c
 * Wraps the handles of Wireshark's InfiniBand dissector, and gates its heuristics.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "infiniband.h"

/* ---- handles ---- */

/* The tables that lead to InfiniBand's dissectors, and what a packet begins with there. */
static const struct {
    const char *table;
    smcr_roce_start_t start;
} ways_in[] = {
    {"udp.port", SMCR_ROCE_BTH},
    {"ip.proto", SMCR_ROCE_BTH},
    {"ethertype", SMCR_ROCE_GRH},
    {"wtap_encap", SMCR_ROCE_LRH},
    {"erf.types.type", SMCR_ROCE_LRH},
};

typedef struct {
    uint32_t key;
    bool decode_as; /* the user's choice, not the default */
    dissector_handle_t handle;
} hook_t;

/* Which entries of a table to find, and those found. */
typedef struct {
    int protocol;
    wmem_array_t *hooks; /* hook_t */
} search_t;

static void
collect_hook(const char *table _U_, ftenum_t type, void *key, void *value, void *data)
{
    const search_t *search = data;
    dtbl_entry_t *entry = value;
    dissector_handle_t handle = dtbl_entry_get_handle(entry);

    if (!handle || type > FT_UINT32 || type < FT_UINT8 ||
        dissector_handle_get_protocol_index(handle) != search->protocol)
        return;
    hook_t hook = {GPOINTER_TO_UINT(key), dtbl_entry_get_initial_handle(entry) != handle, handle};
    wmem_array_append_one(search->hooks, hook);
}

/* Puts `with` in the places of all handles of a protocol; `replaced` gets what they were. */
static void
replace_handles(int protocol, const dissector_handle_t with[SMCR_ROCE_STARTS],
                dissector_handle_t replaced[SMCR_ROCE_STARTS])
{
    for (unsigned i = 0; i < array_length(ways_in); i++) {
        search_t search = {protocol, wmem_array_new(NULL, sizeof(hook_t))};
        const char *table = ways_in[i].table;
        smcr_roce_start_t start = ways_in[i].start;

        if (find_dissector_table(table))
            dissector_table_foreach(table, collect_hook, &search);
        for (unsigned n = 0; n < wmem_array_get_count(search.hooks); n++) {
            const hook_t *hook = wmem_array_index(search.hooks, n);
            replaced[start] = hook->handle;
            if (hook->decode_as)
                dissector_change_uint(table, hook->key, with[start]);
            else
                dissector_add_uint(table, hook->key, with[start]);
        }
        wmem_destroy_array(search.hooks);
    }
}

void
smcr_infiniband_wrap(const dissector_handle_t wrapper[SMCR_ROCE_STARTS],
                     dissector_handle_t original[SMCR_ROCE_STARTS])
{
    replace_handles(proto_get_id_by_filter_name("infiniband"), wrapper, original);
}

void
smcr_infiniband_unwrap(const dissector_handle_t wrapper[SMCR_ROCE_STARTS],
                       const dissector_handle_t original[SMCR_ROCE_STARTS])
{
    dissector_handle_t replaced[SMCR_ROCE_STARTS]; /* by now known */

    replace_handles(dissector_handle_get_protocol_index(wrapper[0]), original, replaced);
}

/* ---- heuristics ---- */

/* Those that the gate keeps out, all but our own. Listed for each file, freed with Wireshark. */
static wmem_array_t *others; /* heur_dtbl_entry_t * */

static void
collect_other(const char *table _U_, heur_dtbl_entry_t *entry, void *own)
{
    if (entry != own)
        wmem_array_append_one(others, entry);
}

void
smcr_infiniband_list_others(heur_dtbl_entry_t *own)
{
    if (others)
        wmem_destroy_array(others);
    others = wmem_array_new(wmem_epan_scope(), sizeof(heur_dtbl_entry_t *));
    heur_dissector_table_foreach("infiniband.payload", collect_other, own);
}

smcr_gate_t
smcr_infiniband_close_gate(wmem_allocator_t *scope)
{
    unsigned count = wmem_array_get_count(others);
    smcr_gate_t gate = {.kept_out = wmem_alloc_array(scope, heur_dtbl_entry_t *, count)};

    for (unsigned i = 0; i < count; i++) {
        heur_dtbl_entry_t *entry = *(heur_dtbl_entry_t **)wmem_array_index(others, i);
        if (!entry->enabled)
            continue;
        entry->enabled = false;
        gate.kept_out[gate.count++] = entry;
    }
    return gate;
}

void
smcr_infiniband_open_gate(const smcr_gate_t *gate)
{
    for (unsigned i = 0; i < gate->count; i++)
        gate->kept_out[i]->enabled = true;
}
