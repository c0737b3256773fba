/* Packets in flight of a writer: WRITE packets and CDC messages that are not known to be
 * acknowledged.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "directions.h"

/* Maximum number of packets in flight that are kept for a writer. If there are more, the oldest
 * packet is forgotten, since its acknowledgement is probably missing in the capture. */
#define SMCR_TIMELINE_IN_FLIGHT_MOST 256

/* A packet in flight: a WRITE packet or CDC message that is not known to be acknowledged. */
typedef struct smcr_timeline_sent {
    struct smcr_timeline_sent *next; /* next newer packet in flight; NULL: none */
    const smcr_ack_t *const *acked; /* points to the packet's acknowledgement. No acknowledgement is
                                       known in two cases: 1. `acked` is NULL; 2. `*acked` is
                                       NULL */
    const smcr_record_cdc_t *view;   /* what the CDC message means for its connection; NULL: the
                                        packet is a WRITE, or the meaning is not known */
    const smcr_link_t *link; /* link that carries the packet */
    smcr_when_t when;        /* frame and time of the packet */
    uint64_t end;            /* position in the stream after the data that the packet carries or
                                announces; 0: not known */
    smcr_when_t read;        /* the peer's first CDC message that reports the data as read, so the
                                data have arrived; frame 0: none so far */
    smcr_when_t rewritten;   /* after a move to another link, the last packet that writes data of
                                this packet once more. A writer writes only data once more that was
                                not acknowledged, so no acknowledgement of this packet came before.
                                Frame 0: the data were not written once more */
    uint32_t psn;            /* PSN of the packet, 24 bits */
    bool is_data;          /* the packet is a WRITE with data, or a CDC message that announces
                              data */
    bool may_be_no_data;   /* the announced data may already have been announced by an earlier
                              message that is missing; set with `is_data` */
    bool ends_request;     /* the packet is the last one of a WRITE request; not set with
                              `is_after_gap` */
    bool is_retransmitted; /* the packet was retransmitted, or is itself a retransmission */
    bool is_after_gap;     /* the packet came after a sequence gap: its receiver may discard it, and
                              then never acknowledges it */
} smcr_timeline_sent_t;

/* Adds the packet of `step` to the packets in flight of its sender. `packet`: what is kept of the
 * packet. */
void smcr_timeline_add_sent(const smcr_timeline_step_t *step, smcr_timeline_sent_t packet);

/* Removes the packet `*at` from the packets in flight, and frees it. */
void smcr_timeline_remove_sent(const smcr_timeline_step_t *step, smcr_timeline_writer_t *writer,
                               smcr_timeline_sent_t **at);

/* The oldest packet in flight that was acknowledged before `frame`, as far as is known; NULL: none
 * was found. */
const smcr_timeline_sent_t *smcr_timeline_find_acked(const smcr_timeline_writer_t *writer,
                                                     uint32_t frame);

/* The newest packet in flight of the writer that was sent in `frame` or earlier. Packets between
 * the first and the last packet of a request are mostly not kept: for such a packet, the result is
 * an earlier packet. NULL: there is none. */
smcr_timeline_sent_t *smcr_timeline_find_sent(const smcr_timeline_writer_t *writer, uint32_t frame);

/* Notes that the WRITE packet of `step` writes the data from `position` on. A packet in flight on
 * another link that carries or announces these data was not acknowledged, so `rewritten` is set for
 * it. */
void smcr_timeline_note_rewritten(const smcr_timeline_step_t *step, uint64_t position);

/* Notes that the data of packets in flight of the writer `side` have arrived: the message of `step`
 * reports all data up to the position `consumed` as read. */
void smcr_timeline_note_read(const smcr_timeline_step_t *step, int side, uint64_t consumed);
