/* Knows SMC-R on Wireshark's TCP: the option, CLC within the byte stream. Does not know RoCE.
 * Called when dissectors register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"
#include "host/host.h"

#define SMCR_TCP_BEGUN 1 /* key of p_add_proto_data() */

/* A CLC message of which TCP has brought the first bytes only; that of the frame with the last. */
typedef struct smcr_tcp_begun {
    const uint8_t *bytes;
    unsigned length;    /* of `bytes` */
    unsigned whole;     /* bytes that the message has at least */
    bool goes_on;       /* TCP has brought more of it */
    uint32_t next;      /* sequence number of the byte behind them, as in TCP's header */
    uint32_t end_frame; /* in which the connection ends before that byte; 0: it has not */
} smcr_tcp_begun_t;

/* What rules say of the first bytes of the application, if this frame has them. */
void smcr_tcp_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn);

/* Called once, when protocols register, after TCP. */
void smcr_tcp_segment_register(void);

/* Each hooks its dissector in; called once, after all protocols have registered. */
void smcr_tcp_option_handoff(void);
void smcr_tcp_clc_handoff(void);
