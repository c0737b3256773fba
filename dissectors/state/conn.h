/* conn.h
 * A connection that offers or uses SMC-R.
 *
 * Lives as long as the capture file; written in the first pass only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_CONN_H
#define SMCR_STATE_CONN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t option_syn;    /* frame of the SYN with the option; 0: none seen */
    uint32_t option_synack; /* frame of the SYN-ACK with the option; 0: none seen */
    uint32_t clc_end[2];    /* per direction: frame in which CLC ended; 0: not yet. What comes
                               after it belongs to the application */
} smcr_conn_t;

#endif /* SMCR_STATE_CONN_H */
