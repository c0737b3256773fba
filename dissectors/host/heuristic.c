/* heuristic.c
 * Before Wireshark asks a heuristic it makes the heuristic's protocol a layer of the packet, and
 * takes that away again when the answer is no: several hundred instructions, for every packet that
 * no other dissector knows. A heuristic without a protocol is asked at once. So ours are without
 * one as long as a file is open.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "heuristic.h"

#include <wsutil/ws_assert.h>

#include "fields.h"

static struct {
    heur_dtbl_entry_t *entry[2];
    unsigned count;
    bool file_is_open;
} own;

static void
start_file(void)
{
    own.file_is_open = true;
    for (unsigned i = 0; i < own.count; i++)
        own.entry[i]->protocol = NULL;
}

static void
end_file(void)
{
    own.file_is_open = false;
    for (unsigned i = 0; i < own.count; i++)
        own.entry[i]->protocol = find_protocol_by_id(proto_smcr);
}

static compat_pool_bool
end_packet(wmem_allocator_t *pool _U_, wmem_cb_event_t event _U_, void *entry)
{
    if (own.file_is_open)
        ((heur_dtbl_entry_t *)entry)->protocol = NULL;
    return false; /* not at the end of the next packet */
}

bool
smcr_heuristic_enabled(const heur_dtbl_entry_t *entry)
{
    return entry->enabled && proto_is_protocol_enabled(find_protocol_by_id(proto_smcr));
}

void
smcr_heuristic_takes(heur_dtbl_entry_t *entry, const packet_info *pinfo)
{
    entry->protocol = find_protocol_by_id(proto_smcr);
    wmem_register_callback(pinfo->pool, end_packet, entry);
}

heur_dtbl_entry_t *
smcr_heuristic_add(const char *table, heur_dissector_t dissect, const char *display_name,
                   const char *short_name)
{
    heur_dissector_add(table, dissect, display_name, short_name, proto_smcr, HEURISTIC_ENABLE);
    heur_dtbl_entry_t *entry = find_heur_dissector_by_unique_short_name(short_name);

    ws_assert(own.count < array_length(own.entry));
    if (own.count == 0) {
        register_init_routine(start_file);
        register_cleanup_routine(end_file);
    }
    own.entry[own.count++] = entry;
    return entry;
}
