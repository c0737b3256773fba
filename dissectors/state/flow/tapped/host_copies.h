/* Recognises copies, if both ends of a tapped connection are on one host: its tap shows each packet
 * twice, when it is sent and when it is received.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "direction.h"

/* Whether the data is a copy. If not, its bytes are kept, so that their copy is recognised later.
 * Sets `*notice` if the copy is only likely, or if kept bytes were forgotten. */
bool smcr_tapped_is_data_copied(smcr_state_t *state, const struct smcr_tapped *tapped,
                                smcr_tapped_direction_t *direction, smcr_tapped_data_t data,
                                smcr_tapped_notice_t *notice);

/* Whether the message is a copy: an equal message is in `awaited_messages`. If so, this message and
 * all earlier ones are removed from the list. Otherwise the message is appended, so that its copy
 * is recognised; if the list is full, its older half is removed first. */
bool smcr_tapped_is_message_copied(smcr_state_t *state, smcr_tapped_direction_t *direction,
                                   const smcr_tapped_message_t *message);

/* Called at the end of a batch, for the message that smcr_tapped_is_message_copied() has appended.
 * `missing`: number of bytes that this message announces and that are not captured. Data of the
 * batch may have counted as copies. If there is enough such data to be the missing bytes, and no
 * message has come twice, the data was no copy: the program has sent the same bytes twice. Then the
 * tap shows each packet once (`shows_twice` becomes false). */
void smcr_tapped_note_missing(struct smcr_tapped *tapped, smcr_tapped_direction_t *direction,
                              uint64_t missing);

/* Whether the copy of a message of this direction has still to come. */
bool smcr_tapped_awaits_message(const smcr_tapped_direction_t *direction);
