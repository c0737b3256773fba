/* Judges the order of what a tap shows of one direction: messages that come twice or too late, and
 * data that is missing, comes twice, or comes after the message that announces it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "direction.h"

/* Whether two messages are the same. */
bool smcr_tapped_messages_are_same(const smcr_tapped_message_t *one,
                                   const smcr_tapped_message_t *other);

/* Whether the messages of the direction have sequence numbers. `message`: message of the direction
 * that comes next. */
bool smcr_tapped_is_numbered(const smcr_tapped_direction_t *direction,
                             const smcr_tapped_message_t *message);

/* Returns SMCR_TAPPED_DUPLICATE if the message is the same as one of the last messages that the
 * direction keeps; SMCR_TAPPED_OUT_OF_ORDER if it is earlier than the last message, unless too many
 * in a row are; else SMCR_TAPPED_NO_NOTICE. Called once for each message, since it counts. */
smcr_tapped_notice_t smcr_tapped_judge_order(smcr_tapped_direction_t *direction,
                                             const smcr_tapped_message_t *message);

/* Adds a message that the state learns to the last messages of the direction. */
void smcr_tapped_keep_message(smcr_tapped_direction_t *direction,
                              const smcr_tapped_message_t *message);

/* Called if the message `late` has come after a message that its sender sent later. Makes unknown,
 * in the record of the first such message, how many bytes it announces and reports as read, and
 * which data it announces. */
void smcr_tapped_withdraw(const smcr_state_t *state, smcr_tapped_direction_t *direction,
                          const smcr_tapped_message_t *late);

/* Whether the data is probably the copy of an earlier packet of the direction. There are two cases:
 * 1. copies of messages have come; 2. no message has come since the earlier packet, and less than
 * 100 microseconds have passed. If so, the next data with these bytes is no copy of the earlier
 * packet. */
bool smcr_tapped_is_probable_copy(const struct smcr_tapped *tapped,
                                  smcr_tapped_direction_t *direction, smcr_tapped_data_t data,
                                  uint64_t time);

/* Keeps a data packet of the batch, with its position. `piece`: frame, time and parts of the
 * packet. */
void smcr_tapped_keep_piece(smcr_tapped_direction_t *direction, smcr_tapped_data_t data,
                            smcr_tapped_piece_t piece);

/* What a message shows of the batch before it. */
typedef struct {
    uint64_t missing;    /* number of announced bytes that are missing in the capture */
    bool is_doubtful;    /* data or messages are missing before the message, or out of order */
    bool is_late_data;   /* data has come after the message that announced it */
} smcr_tapped_batch_t;

/* Ends the batch with a message that announces `announced` bytes. If the batch has other bytes than
 * these, the positions of its data are corrected, or, if nothing shows the right ones, they count
 * as not known. `room`: number of data bytes in the element; 0: not known. */
smcr_tapped_batch_t smcr_tapped_end_batch(smcr_state_t *state, struct smcr_tapped *tapped,
                                          smcr_tapped_direction_t *direction, uint64_t announced,
                                          uint32_t room);
