/* How RoCE and InfiniBand packets come to us before Wireshark's own dissector gets them, and how
 * that dissector is kept from asking others about packets that are ours.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "heuristic.h"

/* A dissector of Wireshark's form, dissect_<name>(), that is called with a value before. */
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

/* Called once, when protocols register: what is put in front of InfiniBand's dissectors. */
void smcr_hooks_register(const dissector_t wrappers[SMCR_HOOKS_STARTS]);

/* Called once, after all protocols have registered. `own` is our payload heuristic, `in_front` is
 * asked in the place of the one of the built-in dissector `smc`. */
void smcr_hooks_handoff(heur_dissector_t own, heur_dissector_t in_front);

/* Puts `with` in the places of all handles of a protocol in one table. Returns the last of what was
 * there, NULL when there was none. */
dissector_handle_t smcr_hooks_replace(const char *table, int protocol, dissector_handle_t with);

/* Whether the user has disabled neither SMC-R nor our heuristic. Fixed while a file is open. */
bool smcr_hooks_enabled(void);

/* Whether InfiniBand's dissector offers payloads to its heuristics before anybody else: the user
 * has not chosen another dissector for them. Fixed while a file is open. */
bool smcr_hooks_offer_first(void);

/* There is a sign of SMC-R: the wrappers come back if they have stepped aside. */
void smcr_hooks_watch(void);

/* A packet is of no interest. After many the wrappers step aside. */
void smcr_hooks_ignore(const packet_info *pinfo);

/* Whether no wrapper can have seen a packet of this frame. */
bool smcr_hooks_stand_aside(const packet_info *pinfo);

/* The packet may have been cut by the capture: then our heuristic would not see it. */
void smcr_hooks_note_cut(const packet_info *pinfo);

/* Calls the dissector of InfiniBand's that a wrapper stands in front of. */
int smcr_hooks_original(smcr_hooks_start_t start, tvbuff_t *tvb, packet_info *pinfo,
                        proto_tree *tree, void *data);

/* Whether it is the dissector of InfiniBand's for RoCEv2, or our wrapper in front of it. */
bool smcr_hooks_takes_bth(dissector_handle_t handle);

/* Asks the built-in's heuristic, as it was before us. */
ws_bool smcr_hooks_builtin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Shows a message in the built-in dissector as well, if the user wants that. `gate` is closed. */
void smcr_hooks_show_builtin(tvbuff_t *message, packet_info *pinfo, proto_tree *tree,
                             const smcr_gate_t *gate);

/* ---- RoCEv2 packets whose UDP source port belongs to another protocol: led to InfiniBand ---- */

/* Called once, when protocols register, after UDP. */
void smcr_udp_ports_register(void);

/* Called once, after all protocols have registered. */
void smcr_udp_ports_handoff(void);

/* The file has SMC-R: from now on, packets to its queue pairs are looked for. */
void smcr_udp_ports_watch(void);
