/* Wireshark's dissection engine with our plugin in it, started once: a capture of few frames after
 * the other is dissected, each in two passes, with tree and columns, as tshark -2 -V does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

#include <epan/epan_dissect.h>

/* Starts the engine, once per process. */
void session_start(void);

/* Sets a preference, NAME:VALUE, for all captures. */
void session_prefer(const char *preference);

/* A new, empty capture; `tree`: its first pass makes a tree as the second does. What captures
 * before it have left in Wireshark is not seen as long as its addresses are others, so each has a
 * number to make them from: below 65536, and not that of a capture which may be remembered. */
unsigned session_open(bool tree);

/* The number of the capture that session_open() begins next. */
unsigned session_next(void);

/* The next frame of the capture, Ethernet: `length` bytes on the wire, the first `captured` of
 * them in `bytes`. First pass. */
void session_frame(const uint8_t *bytes, uint32_t captured, uint32_t length);

/* The frames so far are the same in every capture: the second pass begins behind them. */
void session_end_prelude(void);

/* The second pass; then the capture is closed. With `sound`, a frame that Wireshark calls malformed
 * is a finding: somebody has read beyond its end. */
void session_close(bool sound);

/* What dissects with a tree, between captures. */
epan_dissect_t *session_dissection(void);
