/* The receive buffer of a direction: unread data in the buffer, and the writer's waits for space in
 * it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "directions.h"

/* Notes, from the event `when` on, whether the reader of the data of the writer `side` may have
 * reported more bytes as read than is known (`is_doubtful`). */
void smcr_timeline_doubt_reading(const smcr_timeline_step_t *step, int side, bool is_doubtful,
                                 smcr_when_t when);

/* Handles the acknowledgement, at the time `acked`, of a CDC message of the writer `side` by the
 * reader's host. The reader's program can read the announced data from this time on. `view`: what
 * the message means. */
void smcr_timeline_take_announcement(const smcr_timeline_step_t *step, int side,
                                     const smcr_record_cdc_t *view, smcr_when_t acked);

/* The event that ends the wait of a writer: the earlier one of two events. 1. The writer sends
 * data, or reports that it is not blocked, in `frame` or earlier. 2. The writer's host acknowledges
 * the message that frees space, before `frame`. Frame 0: neither event has come. */
smcr_when_t smcr_timeline_end_of_wait(const smcr_record_cdc_rare_t *wait, uint32_t frame);

/* Ends the current wait of the writer `side` for space at `end`. */
void smcr_timeline_end_wait(const smcr_timeline_step_t *step, int side, smcr_when_t end);

/* Begins a wait of the writer `side`, if the state has found that the writer waits for space from
 * the CDC message of `step` on (smcr_record_cdc_rare_t). */
void smcr_timeline_take_wait(const smcr_timeline_step_t *step, int side);

/* Handles a CDC message that aborts the connection (RFC 7609, 4.8.2): both writers stop waiting for
 * space, and never wait again. */
void smcr_timeline_take_abort(const smcr_timeline_step_t *step);

/* Ends the current wait of the writer `side`, since the writer sends new data, also if no update of
 * the reader is captured. Data on another link do not end the wait: after a failover the writer may
 * send data of the old link once more (RFC 7609, 4.6.1). Also notes since when the writer's data
 * find no space in the buffer, as far as this is known (`no_space_since`). `end`: position in the
 * stream after the data; 0: not known. */
void smcr_timeline_take_new_data(const smcr_timeline_step_t *step, int side, uint64_t end);

/* Handles what a CDC message reports as read. `side`: the writer of the read data, which is the
 * receiver of the message. `view`: what the message means. */
void smcr_timeline_take_reading(const smcr_timeline_step_t *step, int side,
                                const smcr_record_cdc_t *view);
