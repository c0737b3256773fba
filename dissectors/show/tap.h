/* tap.h
 * The tap `smcr`: what is known of each packet, for whoever counts, collects or lists. Nothing of
 * ours counts in the dissection path. Without a listener a tap costs a comparison.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_TAP_H
#define SMCR_SHOW_TAP_H

#include "compat.h"
#include "state/state.h"

#define SMCR_TAP "smcr" /* its name, for register_tap_listener() */

/* A segment of TCP that is no CLC message: of the handshake, with our option, or with data after
 * the connection has gone back to TCP. */
typedef struct {
    const smcr_conn_t *conn;
    bool from_server;
    bool has_option;
    uint32_t seq;    /* of the application's data, as TCP's dissector tells it */
    uint32_t length; /* of them, bytes; TCP may have put together what came in several segments */
} smcr_tap_segment_t;

/* What listeners get. It lives until the frame is done with. Listeners change nothing. */
typedef struct {
    const smcr_record_t *record; /* never NULL */
    const smcr_ib_headers_t *roce; /* headers of the packet; NULL: TCP carries it */
    const smcr_clc_t *clc;       /* the message, if it is one of CLC */
    const smcr_llc_t *llc;       /* the message, if it is one of LLC; it may have come before */
    const smcr_cdc_t *cdc;       /* the message, if it is one of CDC */
    tvbuff_t *data;              /* RDMA WRITE: the application's bytes, as far as captured */
    wmem_array_t *hands_on;      /* smcr_held_t *: bytes of earlier packets; NULL: none */
    const smcr_tap_segment_t *segment; /* the record is then smcr_record_new() */
    const smcr_conn_t *falls_back; /* goes back to TCP in this frame; NULL: none does */
    uint8_t stray_icrc; /* as smcr_ib_headers_t.icrc, of a packet in no flow; 0: it is none */
    bool first_pass; /* over the capture, which knows nothing of later packets; set by the tap */
} smcr_tap_t;

/* Called once, when protocols register. */
void smcr_tap_register(void);

/* Export Objects has a tap whose name Wireshark chooses; it gets the same. */
void smcr_tap_add(int tap);

/* Hands it to all listeners. */
void smcr_tap_packet(packet_info *pinfo, const smcr_tap_t *packet);

/* The same of such a segment. */
void smcr_tap_segment(packet_info *pinfo, const smcr_tap_segment_t *segment);

#endif /* SMCR_SHOW_TAP_H */
