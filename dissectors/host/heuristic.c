/* Before Wireshark asks a heuristic, it adds the heuristic's protocol as a layer of the packet, and
 * removes the layer if the heuristic declines. That takes several hundred instructions for every
 * packet that no other dissector accepts. Wireshark calls a heuristic without a protocol directly.
 * So the plugin's heuristics have no protocol while a file is open.
 *
 * A closed gate disables all payload heuristics of InfiniBand except the plugin's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "heuristic.h"

#include <wsutil/ws_assert.h>

#include "fields.h"

/* The plugin's heuristics. */
static struct {
    heur_dtbl_entry_t *entry[3]; /* their entries in Wireshark's lists */
    unsigned count;              /* number of entries used in `entry` */
    bool file_is_open;           /* a file is open, so the entries have no protocol */
} ours;

/* Called when a file is opened: removes the protocols of the plugin's heuristics. */
static void
start_file(void)
{
    ours.file_is_open = true;
    for (unsigned i = 0; i < ours.count; i++)
        ours.entry[i]->protocol = NULL;
}

/* Called when the file is closed: gives the plugin's heuristics their protocol back. */
static void
end_file(void)
{
    ours.file_is_open = false;
    for (unsigned i = 0; i < ours.count; i++)
        ours.entry[i]->protocol = find_protocol_by_id(proto_smcr);
}

/* Called by wmem at the end of a packet: removes the protocol that
 * smcr_heuristic_restore_protocol() has set. */
static compat_pool_bool
end_packet(wmem_allocator_t *pool _U_, wmem_cb_event_t event _U_, void *entry)
{
    if (ours.file_is_open)
        ((heur_dtbl_entry_t *)entry)->protocol = NULL;
    return false; /* false: wmem shall not call this function once more at the end of the next
                     packet */
}

bool
smcr_heuristic_enabled(const heur_dtbl_entry_t *entry)
{
    return entry->enabled && proto_is_protocol_enabled(find_protocol_by_id(proto_smcr));
}

void
smcr_heuristic_restore_protocol(heur_dtbl_entry_t *entry, const packet_info *pinfo)
{
    entry->protocol = find_protocol_by_id(proto_smcr);
    wmem_register_callback(pinfo->pool, end_packet, entry);
}

/* The list has room for the heuristics of the plugin only: one more needs more room. */
heur_dtbl_entry_t *
smcr_heuristic_add(const char *table, heur_dissector_t dissect, const char *display_name,
                   const char *short_name)
{
    heur_dissector_add(table, dissect, display_name, short_name, proto_smcr, HEURISTIC_ENABLE);
    heur_dtbl_entry_t *entry = find_heur_dissector_by_unique_short_name(short_name);

    ws_assert(ours.count < array_length(ours.entry));
    if (ours.count == 0) {
        register_init_routine(start_file);
        register_cleanup_routine(end_file);
    }
    ours.entry[ours.count++] = entry;
    return entry;
}

/* ---- the gate ---- */

/* The heuristics that a gate disables: InfiniBand's payload heuristics except the plugin's own. The
 * list is made for each file; Wireshark owns the entries. */
static wmem_array_t *others; /* heur_dtbl_entry_t * */

/* Adds a heuristic to `others`, except the plugin's own heuristic, and those after the first
 * SMCR_GATE_MAX. */
static void
collect_other(const char *table _U_, heur_dtbl_entry_t *entry, void *own)
{
    if (entry != own && wmem_array_get_count(others) < SMCR_GATE_MAX)
        wmem_array_append_one(others, entry);
}

void
smcr_gate_list(heur_dtbl_entry_t *own)
{
    if (others)
        wmem_destroy_array(others);
    others = wmem_array_new(wmem_epan_scope(), sizeof(heur_dtbl_entry_t *));
    heur_dissector_table_foreach("infiniband.payload", collect_other, own);
}

/* Only heuristics that are enabled are listed, so smcr_gate_open() enables none that the user has
 * disabled. */
void
smcr_gate_close(smcr_gate_t *gate)
{
    unsigned count = wmem_array_get_count(others);
    heur_dtbl_entry_t *const *entries = wmem_array_get_raw(others);

    gate->count = 0;
    for (unsigned i = 0; i < count; i++) {
        heur_dtbl_entry_t *entry = entries[i];
        if (!entry->enabled)
            continue;
        entry->enabled = false;
        gate->kept_out[gate->count++] = entry;
    }
}

void
smcr_gate_open(const smcr_gate_t *gate)
{
    for (unsigned i = 0; i < gate->count; i++)
        gate->kept_out[i]->enabled = true;
}

bool
smcr_gate_keeps_out(const smcr_gate_t *gate, const heur_dtbl_entry_t *heuristic)
{
    for (unsigned i = 0; i < gate->count; i++)
        if (gate->kept_out[i] == heuristic)
            return true;
    return false;
}
