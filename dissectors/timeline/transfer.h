/* Transfers: how long data were under way, and which acknowledgements may be missing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "in_flight.h"

/* Notes that acknowledgements are missing in the capture, if the packet `sent` proves this.
 *
 * A writer retransmits a packet that is not acknowledged in time, except on a lost or deleted link.
 * If a packet without its own acknowledgement is not retransmitted in time, its acknowledgement is
 * missing in the capture. `ack`: acknowledgement that covers the packet, at `end`. NULL: no
 * acknowledgement covers the packet up to `end`. */
void smcr_timeline_look_for_missing_ack(const smcr_timeline_step_t *step,
                                        const smcr_timeline_sent_t *sent, const smcr_ack_t *ack,
                                        smcr_when_t end);

/* Notes that packets of `sender` are missing after the packet `since`. Acknowledgements that
 * `sender` has sent for its peer's packets may be missing, too. After one gap, acknowledgements may
 * be missing only in this gap. If a second gap follows, they may be missing anywhere. */
void smcr_timeline_begin_missing_acks(const smcr_timeline_step_t *step, int sender,
                                      smcr_when_t since);

/* Ends the time in which acknowledgements of the packets of the writer `side` may be missing. The
 * acknowledgement of a packet that was sent in this time may be missing up to `end`: the first
 * acknowledgement after this time, or the end of the divided time. */
void smcr_timeline_end_missing_acks(const smcr_timeline_step_t *step, int side, smcr_when_t end);

/* Adds the intervals in which the packet `sent` was under way, up to `end`.
 *
 * `names_packet`: the packet was certainly under way up to `end`: the acknowledgement at `end`
 * names its PSN, or the writer wrote its data once more at `end`. Otherwise an earlier
 * acknowledgement of the packet may be missing. The last acknowledgement so far on the packet's
 * link (`last_acked`) did not cover the packet. So the packet was certainly under way up to
 * `last_acked`, and the rest of the time is SMCR_INTERVAL_MAYBE_TRANSFER. With `may_be_no_data`,
 * all of the time is in doubt. */
void smcr_timeline_add_transfer(const smcr_timeline_step_t *step, int side,
                                const smcr_timeline_sent_t *sent, smcr_when_t end,
                                bool names_packet);

/* Adds the intervals in which the packet `sent` was under way, if no acknowledgement covers it. If
 * the writer wrote its data once more, the packet was under way up to the packet that did so.
 * Otherwise it was under way up to `end` at the latest, or up to the message that reports its data
 * as read; its own acknowledgement may be missing, and only the time up to `last_acked` is
 * certain. */
void smcr_timeline_add_transfer_without_ack(const smcr_timeline_step_t *step, int side,
                                            const smcr_timeline_sent_t *sent, smcr_when_t end);

/* Takes in the acknowledgement of the packet `acked`, which the writer `side` has sent. The
 * acknowledgement also covers all packets of the writer with earlier PSNs on the same link. */
void smcr_timeline_take_ack(const smcr_timeline_step_t *step, int side,
                            const smcr_timeline_sent_t acked);

/* Whether it is known that all data has arrived that the writer `side` had sent before the capture
 * began. If the start of the connection is not captured, this is known after the first
 * acknowledgement of the writer's packets, or after its peer has read all its data. */
bool smcr_timeline_knows_arrival(const smcr_timeline_t *timeline, int side);

/* Takes in that the peer of the writer `side` has read all data of the writer, as its CDC message
 * in the packet of `step` reports. If the start of the connection is not captured, and no packet of
 * the writer was acknowledged so far, this ends the time in which it is not known what has
 * arrived. */
void smcr_timeline_take_all_read(const smcr_timeline_step_t *step, int side);

/* Adds the packet of `step` to the packets in flight of its sender, and forgets the oldest one if
 * there are too many. `packet`: what is kept of the packet of `step`. */
void smcr_timeline_send(const smcr_timeline_step_t *step, smcr_timeline_sent_t packet);
