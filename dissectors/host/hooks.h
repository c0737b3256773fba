/* Wrappers in the place of Wireshark's InfiniBand dissector, by which we get RoCE and InfiniBand
 * packets first; and how the built-in dissector `smc` is called or kept out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "heuristic.h"

/* Defines a dissector, dissect_<name>(), that calls `function` with a further first argument,
 * `value`. */
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

/* Registers the wrappers of InfiniBand's dissectors, one for each start of a packet; called once,
 * when protocols register. */
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

/* Returns whether InfiniBand's dissector offers payloads to its heuristics first. It does not if
 * the user has chosen another dissector for payloads. Fixed while a file is open. */
bool smcr_hooks_offer_first(void);

/* Reports a sign of SMC-R: if the wrappers have stepped aside, they are put back. */
void smcr_hooks_restore_wrappers(void);

/* Reports a packet of no interest. After many such packets the wrappers step aside. */
void smcr_hooks_count_ignored(const packet_info *pinfo);

/* Returns whether the wrappers had stepped aside before this frame, so that they get no packet of
 * the frame. */
bool smcr_hooks_have_stepped_aside(const packet_info *pinfo);

/* Reports a packet that the capture may have truncated. Our heuristic does not get truncated
 * packets, so the wrappers do not step aside if one is truncated. */
void smcr_hooks_note_cut(const packet_info *pinfo);

/* Calls InfiniBand's original dissector for packets that begin with `start`. Returns its result. */
int smcr_hooks_original(smcr_hooks_start_t start, tvbuff_t *tvb, packet_info *pinfo,
                        proto_tree *tree, void *data);

/* Returns whether the handle is that of InfiniBand's dissector for RoCEv2, or of our wrapper. */
bool smcr_hooks_is_bth_dissector(dissector_handle_t handle);

/* Calls the original heuristic of the built-in dissector. Returns its result. */
ws_bool smcr_hooks_builtin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Has the built-in dissector show a message, too, if the preference smcr.builtin_too is set and the
 * user has not disabled that dissector. `gate` is closed. */
void smcr_hooks_show_builtin(tvbuff_t *message, packet_info *pinfo, proto_tree *tree,
                             const smcr_gate_t *gate);

/* ---- RoCEv2 packets whose UDP source port belongs to another protocol: udp_ports.c passes them to
 * InfiniBand's dissector ---- */

/* Registers the wrapper of UDP's dissector; called once, when protocols register, after UDP. */
void smcr_udp_ports_register(void);

/* Looks up UDP's table of ports; called once, after all protocols have registered. */
void smcr_udp_ports_handoff(void);

/* Reports that the file has SMC-R: from now on, packets to queue pairs of SMC-R are passed to
 * InfiniBand's dissector. */
void smcr_udp_ports_watch(void);
