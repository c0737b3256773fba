/* cursor.h
 * Cursors: where a byte is in an RMB element that is used as a ring (RFC 7609 4.5, A.4).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_WIRE_CURSOR_H
#define SMCR_WIRE_CURSOR_H

#include <stdint.h>

/* As a CDC message carries it. */
typedef struct {
    uint16_t wrap;  /* counts the wraps, and wraps itself */
    uint32_t count; /* offset in the RMB element */
} smcr_cursor_t;

#endif /* SMCR_WIRE_CURSOR_H */
