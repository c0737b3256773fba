/* Wrappers before Wireshark's InfiniBand dissector, through which RoCE and InfiniBand packets come
 * to us first; and how the built-in dissector `smc` is called or kept out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "heuristic.h"

/* Defines a dissector of Wireshark's form, dissect_<name>(), that calls `function` with one more
 * argument, `value`, before its own. */
#define SMCR_HOOKS_WRAPPER(name, function, value)                                                  \
    static int dissect_##name(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)     \
    {                                                                                              \
        return function(value, tvb, pinfo, tree, data);                                            \
    }

/* Which header a packet begins with. */
typedef enum {
    SMCR_HOOKS_BTH, /* RoCEv2: UDP carries the base transport header */
    SMCR_HOOKS_GRH, /* RoCEv1: Ethernet carries the global route header */
    SMCR_HOOKS_LRH, /* InfiniBand: local route header */
    SMCR_HOOKS_STARTS
} smcr_hooks_start_t;

/* Keeps the wrappers of InfiniBand's dissectors, one for each start; called once, when protocols
 * register. */
void smcr_hooks_register(const dissector_t wrappers[SMCR_HOOKS_STARTS]);

/* Registers our payload heuristic `own`, and replaces the heuristic of the built-in dissector `smc`
 * by `in_front`; called once, after all protocols have registered. */
void smcr_hooks_handoff(heur_dissector_t own, heur_dissector_t in_front);

/* Replaces all handles of a protocol in one table of dissectors by `with`. Returns the last handle
 * that was replaced; NULL: the protocol has none there. */
dissector_handle_t smcr_hooks_replace(const char *table, int protocol, dissector_handle_t with);

/* Returns whether the user has disabled neither SMC-R nor our heuristic. Fixed while a file is
 * open. */
bool smcr_hooks_enabled(void);

/* Returns whether InfiniBand's dissector offers payloads to its heuristics first: the user has not
 * chosen another dissector for them. Fixed while a file is open. */
bool smcr_hooks_offer_first(void);

/* Reports a sign of SMC-R: the wrappers come back if they have stepped aside. */
void smcr_hooks_restore_wrappers(void);

/* Reports a packet of no interest. After many the wrappers step aside. */
void smcr_hooks_count_ignored(const packet_info *pinfo);

/* Returns whether the wrappers had stepped aside before this frame, and have seen no packet of
 * it. */
bool smcr_hooks_have_stepped_aside(const packet_info *pinfo);

/* Reports a packet that the capture may have cut. Our heuristic would not see such packets, so the
 * wrappers stay if one is cut. */
void smcr_hooks_note_cut(const packet_info *pinfo);

/* Calls InfiniBand's dissector for packets that begin with `start`. Returns its result. */
int smcr_hooks_original(smcr_hooks_start_t start, tvbuff_t *tvb, packet_info *pinfo,
                        proto_tree *tree, void *data);

/* Returns whether the handle is that of InfiniBand's dissector for RoCEv2, or of our wrapper. */
bool smcr_hooks_is_bth_dissector(dissector_handle_t handle);

/* Calls the original heuristic of the built-in dissector. Returns its result. */
ws_bool smcr_hooks_builtin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Shows a message by the built-in dissector, too, if the preference smcr.builtin_too is set and the
 * user has not disabled that dissector. `gate` is closed. */
void smcr_hooks_show_builtin(tvbuff_t *message, packet_info *pinfo, proto_tree *tree,
                             const smcr_gate_t *gate);

/* ---- RoCEv2 packets whose UDP source port belongs to another protocol: udp_ports.c leads them to
 * InfiniBand's dissector ---- */

/* Registers the wrapper of UDP's dissector; called once, when protocols register, after UDP. */
void smcr_udp_ports_register(void);

/* Looks up UDP's table of ports; called once, after all protocols have registered. */
void smcr_udp_ports_handoff(void);

/* Reports that the file has SMC-R: from now on, packets to its queue pairs are led to
 * InfiniBand. */
void smcr_udp_ports_watch(void);
