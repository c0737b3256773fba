/* What hosts tell of their sockets, made from a few bytes of the input each: answers over netlink,
 * and lines of smcss, of connections whose few tokens and cursors the messages beside them have,
 * too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "input.h"

/* Once, behind session_start(): the preference smcr.smcss names a file of our own. */
void told_start(void);

/* Writes that file, before the capture with this number opens (session_next()). */
void told_write_file(input_t *input, unsigned generation);

/* Sends one or two answers about sockets, or the end of a dump. */
void told_send_answers(input_t *input);

/* Sends a CDC message with such a token and such cursors. */
void told_send_message(input_t *input);
