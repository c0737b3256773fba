/* Wireshark's InfiniBand dissector offers payloads to heuristics. The order of the heuristics
 * changes whenever one of them accepts a payload. InfiniBand's dissector does not offer truncated
 * packets and acknowledgements. So the plugin replaces the handles of InfiniBand's dissector by
 * wrappers, in the dissector tables of `ways_in`. The wrapper gets each packet before any heuristic
 * does.
 *
 * This file keeps the replaced handles, one for each start of a packet, and the original function
 * of the built-in dissector's heuristic. If `ways_in` misses a table with InfiniBand's dissector,
 * only the plugin's heuristic gets packets of that table, and so no acknowledgement and no
 * truncated packet.
 *
 * The wrappers step aside after IGNORED_MAX RoCE packets of no interest, so that traffic without
 * SMC-R takes no longer than without the plugin. Only packets of at least TELLING_LENGTH bytes
 * count, because they show whether the capture is truncated by snaplen. In a truncated capture the
 * wrappers do not step aside. While the wrappers are aside, only the plugin's heuristic finds
 * SMC-R. The built-in dissector's heuristic declines packets that the plugin's heuristic
 * recognises, whichever Wireshark calls first.
 *
 * The wrappers are put back at a CLC message, at a packet that the plugin's heuristic
 * recognises, and when a file is opened. The last is needed because any change of InfiniBand's
 * preferences restores the original handles.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "hooks.h"

#include "preferences.h"
#include "wire/wire.h"

#define IGNORED_MAX 1000   /* number of packets of no interest after which the wrappers step
                              aside */
#define TELLING_LENGTH 200 /* number of captured bytes; a frame with so many bytes is longer than
                              any frame with an LLC or CDC message that the plugin has to find */

/* The wrappers and handles of this file. Handles and heuristics live as long as the process. The
 * members from `is_wrapped` on belong to the open file. */
static struct {
    dissector_handle_t wrapper[SMCR_HOOKS_STARTS];  /* the plugin's wrappers */
    dissector_handle_t original[SMCR_HOOKS_STARTS]; /* the handles that the wrappers replace */
    heur_dtbl_entry_t *own;     /* the plugin's heuristic for InfiniBand payloads */
    heur_dtbl_entry_t *builtin; /* heuristic of Wireshark's own dissector `smc`; NULL: this version
                                   of Wireshark has none */
    heur_dissector_t builtin_dissect; /* original function of `builtin`, which the plugin has
                                         replaced; set if `builtin` is */
    bool is_wrapped;   /* the wrappers are in the tables */
    bool enabled;      /* the user has enabled the plugin's heuristic and the protocol */
    bool offer_first;  /* the user has chosen no dissector for payloads, so InfiniBand's dissector
                          offers payloads to heuristics */
    bool has_cut;      /* a packet of the file is truncated by snaplen */
    unsigned ignored;  /* number of packets of no interest since the wrappers were last restored */
    uint32_t aside;    /* frame in which the wrappers stepped aside last, in this file or an earlier
                          one; 0: never. Only used while they are aside */
} hooks;

/* ---- wrapping ---- */

/* The tables that lead to InfiniBand's dissectors, and how the packets of each table begin. */
static const struct {
    const char *table;        /* name of the dissector table */
    smcr_hooks_start_t start; /* header with which its packets begin */
} ways_in[] = {
    {"udp.port", SMCR_HOOKS_BTH},
    {"ip.proto", SMCR_HOOKS_BTH},
    {"ethertype", SMCR_HOOKS_GRH},
    {"wtap_encap", SMCR_HOOKS_LRH},
    {"erf.types.type", SMCR_HOOKS_LRH},
};

/* An entry of a dissector table. */
typedef struct {
    uint32_t key;   /* key of the entry, such as a port */
    bool decode_as; /* the user has chosen the dissector (Decode As); false: it is the default */
    dissector_handle_t handle; /* the dissector */
} entry_t;

/* A search for the entries of a protocol in a table. */
typedef struct {
    int protocol;          /* number of the protocol */
    wmem_array_t *entries; /* entry_t: the entries found so far */
} entry_search_t;

/* Called with each entry of a table of dissectors: notes entries with a number as key whose
 * dissector is of the wanted protocol. */
static void
collect_entry(const char *table _U_, ftenum_t type, void *key, void *value, void *data)
{
    const entry_search_t *search = data;
    dtbl_entry_t *found = value;
    dissector_handle_t handle = dtbl_entry_get_handle(found);

    if (!handle || type > FT_UINT32 || type < FT_UINT8 ||
        dissector_handle_get_protocol_index(handle) != search->protocol)
        return;
    entry_t entry = {GPOINTER_TO_UINT(key), dtbl_entry_get_initial_handle(found) != handle, handle};
    wmem_array_append_one(search->entries, entry);
}

/* The entries are gathered first, since Wireshark's table must not change while it is walked. An
 * entry of "Decode As" stays one. */
dissector_handle_t
smcr_hooks_replace(const char *table, int protocol, dissector_handle_t with)
{
    entry_search_t search = {protocol, wmem_array_new(NULL, sizeof(entry_t))};
    dissector_handle_t replaced = NULL;

    if (find_dissector_table(table))
        dissector_table_foreach(table, collect_entry, &search);
    for (unsigned i = 0; i < wmem_array_get_count(search.entries); i++) {
        const entry_t *entry = wmem_array_index(search.entries, i);
        replaced = entry->handle;
        if (entry->decode_as)
            dissector_change_uint(table, entry->key, with);
        else
            dissector_add_uint(table, entry->key, with);
    }
    wmem_destroy_array(search.entries);
    return replaced;
}

/* Puts the wrappers in the place of InfiniBand's dissectors. Keeps the replaced dissectors, which
 * the wrappers call. Must not be called while the wrappers are in the tables (`is_wrapped`): a
 * wrapper would then call itself. */
static void
wrap_infiniband(void)
{
    int infiniband = proto_get_id_by_filter_name("infiniband");

    for (unsigned i = 0; i < array_length(ways_in); i++) {
        smcr_hooks_start_t start = ways_in[i].start;
        dissector_handle_t replaced =
            smcr_hooks_replace(ways_in[i].table, infiniband, hooks.wrapper[start]);
        if (replaced)
            hooks.original[start] = replaced;
    }
    hooks.is_wrapped = true;
}

/* Puts InfiniBand's dissectors back in the place of the wrappers. */
static void
step_aside(void)
{
    int observer = dissector_handle_get_protocol_index(hooks.wrapper[0]);

    for (unsigned i = 0; i < array_length(ways_in); i++)
        smcr_hooks_replace(ways_in[i].table, observer, hooks.original[ways_in[i].start]);
    hooks.is_wrapped = false;
}

void
smcr_hooks_restore_wrappers(void)
{
    hooks.ignored = 0;
    if (hooks.enabled && !hooks.is_wrapped)
        wrap_infiniband();
}

void
smcr_hooks_note_cut(const packet_info *pinfo)
{
    if (pinfo->fd->cap_len < pinfo->fd->pkt_len)
        hooks.has_cut = true;
}

void
smcr_hooks_count_ignored(const packet_info *pinfo)
{
    if (pinfo->fd->cap_len < TELLING_LENGTH || ++hooks.ignored < IGNORED_MAX || hooks.has_cut)
        return;
    step_aside();
    hooks.aside = pinfo->num;
}

bool
smcr_hooks_have_stepped_aside(const packet_info *pinfo)
{
    return !hooks.is_wrapped && pinfo->num != hooks.aside;
}

int
smcr_hooks_original(smcr_hooks_start_t start, tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree,
                    void *data)
{
    return call_dissector_only(hooks.original[start], tvb, pinfo, tree, data);
}

bool
smcr_hooks_is_bth_dissector(dissector_handle_t handle)
{
    return handle && (handle == hooks.wrapper[SMCR_HOOKS_BTH] ||
                      handle == hooks.original[SMCR_HOOKS_BTH]);
}

/* ---- the built-in dissector ---- */

ws_bool
smcr_hooks_builtin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    return hooks.builtin_dissect(tvb, pinfo, tree, data);
}

/* The closed gate has disabled the built-in dissector. This function enables it for one call only;
 * the gate's owner restores the user's choice. */
void
smcr_hooks_show_builtin(tvbuff_t *message, packet_info *pinfo, proto_tree *tree,
                        const smcr_gate_t *gate)
{
    struct infinibandinfo infiniband = {.opCode = SMCR_RC_SEND_ONLY};

    if (!smcr_preferences.builtin_too || !smcr_gate_keeps_out(gate, hooks.builtin))
        return;
    col_append_str(pinfo->cinfo, COL_INFO, " ");
    col_set_fence(pinfo->cinfo, COL_INFO);
    hooks.builtin->enabled = true;
    call_heur_dissector_direct(hooks.builtin, message, pinfo, tree, &infiniband);
    hooks.builtin->enabled = false;
}

/* ---- registration ---- */

bool
smcr_hooks_enabled(void)
{
    return hooks.enabled;
}

bool
smcr_hooks_offer_first(void)
{
    return hooks.offer_first;
}

/* Called before a file is dissected, for the first time or anew after a change of a preference. */
static void
start_file(void)
{
    hooks.enabled = smcr_heuristic_enabled(hooks.own);
    hooks.offer_first = !dissector_get_payload_handle(find_dissector_table("infiniband"));
    hooks.has_cut = false;
    step_aside();
    smcr_hooks_restore_wrappers();
    smcr_gate_list(hooks.own);
}

/* The wrappers belong to an internal protocol (PINO) of InfiniBand. So frame.protocols does not
 * change, and disabling InfiniBand or SMC-R has the same effect as without wrappers. The user
 * cannot disable the internal protocol, because that would have no effect. */
void
smcr_hooks_register(const dissector_t wrappers[SMCR_HOOKS_STARTS])
{
    int observer = proto_register_protocol_in_name_only(
        "InfiniBand (observed by SMC-R)", "InfiniBand/SMC-R", "smcr.roce",
        proto_get_id_by_filter_name("infiniband"), FT_BYTES);

    proto_set_cant_toggle(observer);
    for (unsigned i = 0; i < SMCR_HOOKS_STARTS; i++)
        hooks.wrapper[i] = create_dissector_handle(wrappers[i], observer);
}

/* The built-in heuristic keeps its entry, its name and the user's choice: only its function is
 * replaced. */
void
smcr_hooks_handoff(heur_dissector_t own, heur_dissector_t in_front)
{
    hooks.own = smcr_heuristic_add("infiniband.payload", own, "SMC-R over RoCE", "smcr_roce");
    hooks.builtin = find_heur_dissector_by_unique_short_name("smcr_infiniband");
    if (hooks.builtin) {
        hooks.builtin_dissect = hooks.builtin->dissector;
        hooks.builtin->dissector = in_front;
    }
    register_init_routine(start_file);
    start_file(); /* called at this time, too, so that Decode As finds the wrappers in the dissector
                     tables */
}
