/* payload.h
 * Knows the application's bytes: dissected as over TCP, Follow Stream, Export Objects, Export PDUs.
 * Does not know what carried them. Called by packet/ only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "heuristic_policy.h"
#include "show/show.h"

/* ---- dissected as over TCP ---- */

/* Bytes of an RDMA WRITE packet that are new in the stream. */
typedef struct {
    tvbuff_t *data;
    uint64_t position; /* of the first one, in the stream */
    uint64_t gap;      /* bytes before them that the capture lacks */
    bool waits;        /* these may still come: the capture has them */
} smcr_payload_fresh_t;

/* Which of the captured bytes `data` of a packet are new. Returns false when none is, or when their
 * place is not known. */
bool smcr_payload_fresh_bytes(tvbuff_t *data, const smcr_record_t *record,
                              smcr_payload_fresh_t *fresh);

/* Has those bytes of an RDMA WRITE packet dissected that are new in the stream. Where none is, all
 * bytes are shown as data.
 *
 * data: all its bytes, as far as they were captured. tree: of the frame, for the protocol above.
 * below: of the packet, for what is said of it. */
void smcr_payload_dissect(tvbuff_t *data, packet_info *pinfo, proto_tree *tree, proto_tree *below,
                          const smcr_record_t *record);

/* First pass: keeps the bytes of an RDMA WRITE packet that a later frame may hand on. */
void smcr_payload_hold(tvbuff_t *data, const packet_info *pinfo, const smcr_record_t *record);

/* Has the bytes of earlier RDMA WRITEs dissected that this packet hands on, `held`, and then, in
 * the same way, those of its own, if it is a WRITE: `data`, else NULL.
 *
 * tvb: the packet. tree, below: as above. */
void smcr_payload_hand_on(wmem_array_t *held, tvbuff_t *tvb, tvbuff_t *data, packet_info *pinfo,
                          proto_tree *tree, proto_tree *below, const smcr_record_t *record);

/* The bytes of an earlier packet that are told now, from the `*next`th that this one hands on, and
 * in `*record` what is known of it; NULL: there are no more. The others were told when they came,
 * or will be. The caller frees what is returned with tvb_free(). */
tvbuff_t *smcr_payload_next_held(const smcr_tap_t *packet, unsigned *next, smcr_record_t *record);

/* A CDC message that may end the stream of its sender: whatever waits for the end (such as an HTTP
 * response without a length) is dissected here.
 *
 * message: its bytes. tree, below: as above. */
void smcr_payload_end(tvbuff_t *message, packet_info *pinfo, proto_tree *tree, proto_tree *below,
                      const smcr_record_t *record);

/* ---- Decode As ---- */

/* The dissector that the user has chosen for the connection's data, NULL: none. */
dissector_handle_t smcr_decode_as_chosen(const smcr_conn_t *conn);

/* Called once, when protocols register. */
void smcr_decode_as_register(int proto);

/* ---- Export Objects ---- */

/* A file for each direction of each connection, with the bytes that the program sent
 * (`--export-objects smcr,FOLDER`, File > Export Objects > SMC-R). Registers the type of object;
 * called once, when protocols register. */
void smcr_export_register(int proto);

/* ---- Export PDUs ---- */

/* The connections as segments of TCP (`-U "SMC-R as TCP" -w FILE`, File > Export PDUs to File).
 * Called once, behind smcr_tap_register(). */
void smcr_export_segments_register(void);

/* ---- Follow Stream ---- */

/* `-z follow,smcr,ascii,N`, and the Follow menu. Called once, when protocols register. */
void smcr_follow_register(int proto);

/* Follow of TLS, HTTP and their like takes RoCE frames. Called once, behind all registrations. */
void smcr_follow_handoff(void);
