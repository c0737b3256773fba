/* The state that Wireshark's TCP dissector needs for the application's bytes in RDMA WRITEs. It is
 * kept apart from the state that TCP has for the TCP segments of the same connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"
#include "state/state.h"

/* The state of Wireshark's TCP dissector for the bytes of one direction of an SMC-R connection.
 * Kept with the connection, in file scope. */
struct smcr_payload_flow {
    smcr_handshake_ends_t *ends; /* client and server of the TCP connection that dissectors see */
    wmem_tree_t *messages; /* messages of several packets, by sequence number: the member
                              `multisegment_pdus` of Wireshark's tcp_flow_t; NULL: none so far */
    uint32_t last_frame; /* last frame in which dissectors have got bytes; 0: none yet */
    uint64_t last_stamp; /* time stamp of `last_frame` in the file, nanoseconds since 1970 */
    wmem_map_t *guests;  /* frame number -> array of smcr_held_t *: packets of earlier frames whose
                            bytes come in the stream after the bytes of this frame, and are shown in
                            this frame; NULL: none */
    uint16_t flags;        /* the member `flags` of Wireshark's tcp_flow_t */
    /* Stream position of the first byte that dissectors got only in a later pass, since the byte is
     * belated (smcr_payload_is_belated()). */
    uint64_t belated_begin;
    uint64_t belated_end; /* stream position after the last byte that dissectors got only in a later
                             pass; equal to `belated_begin`: there is no such byte */
    uint64_t next_position; /* stream position after the last byte that TCP has got; used if the
                               TCP connection is not known */
    uint32_t next_offset; /* offset in the RMB element that belongs to `next_position`; 0: TCP has
                             got no byte */
};

/* Returns which end of the record's connection sends the bytes. If the TCP connection is known, the
 * result is a role: 0 client, 1 server. If not, the result is a side of the link group, 0 or 1.
 * SMCR_LGR_SIDE_UNKNOWN: the sender is not known. The record must have a connection. */
int smcr_payload_sender(const smcr_record_t *record);

/* Returns the state for the bytes that the end `sender` of the connection sends, within the
 * conversation that the connection has now; NULL: TCP has got no byte of this direction yet. */
struct smcr_payload_flow *smcr_payload_find_flow(const smcr_conn_t *conn, unsigned sender);

/* Returns the same state as smcr_payload_find_flow(). Makes the state if it does not exist yet, or
 * if the connection has another conversation since the state was made (netlink has named its
 * ports); the new state replaces the old one. Both directions of one conversation share `ends`.
 * Never NULL. The connection owns the state until smcr_payload_release(). */
struct smcr_payload_flow *smcr_payload_flow(const packet_info *pinfo, smcr_conn_t *conn,
                                            unsigned sender);

/* First pass: adds a held packet to the list of packets whose bytes are shown in flow->last_frame
 * (`guests`). */
void smcr_payload_add_guest(struct smcr_payload_flow *flow, smcr_held_t *held);

/* Returns the held packets whose bytes are shown in the frame, as smcr_held_t *, in the order of
 * the stream; NULL: none. */
wmem_array_t *smcr_payload_guests(const struct smcr_payload_flow *flow, uint32_t frame);

/* Trees that Wireshark's TCP writes to while it dissects the bytes of a direction. */
typedef struct {
    wmem_tree_t *messages;   /* as smcr_payload_flow.messages */
    wmem_tree_t *dissectors; /* as smcr_handshake_ends_t.dissectors */
} smcr_payload_trees_t;

/* Returns the trees of the flow and of its ends for a call of Wireshark's TCP. If the flow or its
 * ends have no tree of their own, the returned tree is a spare one. The caller passes both trees to
 * smcr_payload_return_trees() after the call. */
smcr_payload_trees_t smcr_payload_lend_trees(const struct smcr_payload_flow *flow);

/* Called after the call of Wireshark's TCP. If TCP has put something into a spare tree, the flow or
 * its ends keep the tree. Otherwise it becomes the spare tree again. */
void smcr_payload_return_trees(struct smcr_payload_flow *flow, smcr_payload_trees_t trees);

/* Returns true if the stream position of an RDMA WRITE packet's bytes is not known. The bytes then
 * get the position after the last bytes that TCP has got. The first pass assigns this position in
 * this function, so the first pass must call it directly before TCP gets the bytes. */
bool smcr_payload_is_arrival_ordered(const packet_info *pinfo, const smcr_record_t *record);
