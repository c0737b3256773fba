/* sent_times.h
 * When something was sent that waits for its answer: a table from numbers that rise (sequence
 * numbers, time stamps) to times. It keeps the newest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_CONGESTION_SENT_TIMES_H
#define SMCR_REPORT_CONGESTION_SENT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

#define SMCR_CONGESTION_SENT_TIMES_KEPT 4096

/* All zeros: nothing waits. */
typedef struct {
    struct smcr_sent_time *list; /* in ascending order; NULL: there has been none */
    uint32_t count, room;
} smcr_congestion_sent_times_t;

/* `number` is sent at `time`, nanoseconds since the epoch; an earlier time of it is forgotten.
 * Numbers below `answered` need not be kept. */
void smcr_congestion_sent_times_set(smcr_congestion_sent_times_t *times, wmem_allocator_t *scope,
                                    uint64_t number, uint64_t time, uint64_t answered);

/* The answer to `number` has come. Returns whether its time was known, and puts it into `time`. It
 * is forgotten then. */
bool smcr_congestion_sent_times_take(smcr_congestion_sent_times_t *times, uint64_t number,
                                     uint64_t *time);

#endif /* SMCR_REPORT_CONGESTION_SENT_TIMES_H */
