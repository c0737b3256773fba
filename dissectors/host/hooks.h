/* Wrappers that Wireshark calls instead of its InfiniBand dissector, so that the plugin gets RoCE
 * and InfiniBand packets first. Also calls Wireshark's own SMC-R dissector `smc` ("the built-in
 * dissector"), or keeps it from packets of the plugin.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "heuristic.h"
#include "ip_packet.h"

/* Defines a dissector, dissect_<name>(), that calls `function` with `value` as additional first
 * argument. */
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
    SMCR_HOOKS_STARTS /* number of these kinds */
} smcr_hooks_start_t;

/* Registers the wrappers of InfiniBand's dissectors, one for each start of a packet; called once,
 * when protocols register. */
void smcr_hooks_register(const dissector_t wrappers[SMCR_HOOKS_STARTS]);

/* Registers `own`, the plugin's heuristic for InfiniBand payloads, and puts `in_front` in the place
 * of the built-in dissector's heuristic. Called once, after all protocols have registered. */
void smcr_hooks_handoff(heur_dissector_t own, heur_dissector_t in_front);

/* Replaces all handles of the protocol `protocol` in the dissector table `table` by `with`. Returns
 * the last handle that was replaced; NULL: the protocol has no handle in the table. */
dissector_handle_t smcr_hooks_replace(const char *table, int protocol, dissector_handle_t with);

/* Returns true if the protocol SMC-R and the plugin's heuristic for InfiniBand payloads are both
 * enabled by the user. The result does not change while a file is open. */
bool smcr_hooks_enabled(void);

/* Returns whether InfiniBand's dissector offers payloads to its heuristics: those of packets that
 * are not truncated. Returns false if the user has chosen a dissector for payloads (Decode As):
 * then the heuristics get no payload. The result does not change while a file is open. */
bool smcr_hooks_offer_first(void);

/* Begins the count of smcr_hooks_count_ignored() anew. If the wrappers have stepped aside
 * (InfiniBand's dissector is called directly), and the user has not disabled the plugin
 * (smcr_hooks_enabled()), puts the wrappers back. */
void smcr_hooks_restore_wrappers(void);

/* Counts a packet in which the plugin has no interest. After many such packets, of 200 captured
 * bytes or more each, the wrappers step aside: Wireshark calls InfiniBand's dissector directly,
 * which saves time. They never do in a file with truncated packets (smcr_hooks_note_cut()). */
void smcr_hooks_count_ignored(const packet_info *pinfo);

/* Returns whether Wireshark does not call the wrappers for the packets of this frame: the wrappers
 * had stepped aside before this frame, or the user has disabled the plugin
 * (smcr_hooks_enabled()). */
bool smcr_hooks_have_stepped_aside(const packet_info *pinfo);

/* Notes whether the packet is truncated by snaplen. InfiniBand's dissector does not offer truncated
 * packets to heuristics. So after a truncated packet, the wrappers never step aside in this
 * file. */
void smcr_hooks_note_cut(const packet_info *pinfo);

/* Calls InfiniBand's original dissector for packets that begin with `start`. Returns its result. */
int smcr_hooks_original(smcr_hooks_start_t start, tvbuff_t *tvb, packet_info *pinfo,
                        proto_tree *tree, void *data);

/* Returns whether `handle` is InfiniBand's dissector for RoCEv2, or the plugin's wrapper for it. */
bool smcr_hooks_is_bth_dissector(dissector_handle_t handle);

/* Calls the heuristic of the built-in dissector that `in_front` of smcr_hooks_handoff() has
 * replaced. Returns its result. */
ws_bool smcr_hooks_builtin(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data);

/* Lets the built-in dissector show a message that the plugin has already shown. Does nothing if the
 * preference smcr.builtin_too is not set, or if the user has disabled the built-in dissector.
 * `gate`: the closed gate. */
void smcr_hooks_show_builtin(tvbuff_t *message, packet_info *pinfo, proto_tree *tree,
                             const smcr_gate_t *gate);

/* ---- RoCEv2 packets whose UDP source port belongs to another protocol: udp_ports.c passes them to
 * InfiniBand's dissector ---- */

/* Registers the wrapper of UDP's dissector; called once, when protocols register, after UDP. */
void smcr_udp_ports_register(void);

/* Looks up the dissector table udp.port. Called once, after all protocols have registered. */
void smcr_udp_ports_handoff(void);

/* Whether a UDP datagram is a RoCEv2 packet that UDP's dissector passes to the protocol of its
 * source port. `captured`: the captured bytes from the UDP header on; `reported`: the number of
 * bytes on the wire from there on. Returns false if the user has chosen a protocol for one of the
 * ports. */
bool smcr_udp_ports_hides(smcr_host_bytes_t captured, uint32_t reported);

/* Whether a datagram that Wireshark has passed to InfiniBand's dissector is of another protocol:
 * only its source port is that of RoCE, or it answers such a datagram, which came before. Returns
 * false if the user has chosen InfiniBand for the source port. `source`, `destination`: UDP
 * ports. */
bool smcr_udp_ports_is_other(const packet_info *pinfo, uint16_t source, uint16_t destination);

/* While the wrapper is in the place of UDP's dissector (smcr_udp_ports_watch()), datagrams that
 * begin with the four bytes `magic`, in network order, are passed to `to`, even if their ports
 * belong to other protocols. Called once, after all protocols have registered. */
void smcr_udp_ports_lead(uint32_t magic, dissector_handle_t to);

/* Puts the wrapper of UDP's dissector in its place. From now on in the open file, RoCEv2 packets to
 * queue pairs of SMC-R are passed to InfiniBand's dissector, even if their UDP source port belongs
 * to another protocol; and smcr_udp_ports_lead() takes effect. */
void smcr_udp_ports_watch(void);
