/* Knows when records and connections are old enough to be forgotten while a file is read.
 *
 * A program that reads the file in one pass, such as tshark without the option -2, never asks for a
 * frame again. So old records are forgotten, and connections that ended long ago are released:
 * memory does not grow with them. A program that comes back to a frame keeps everything.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "host/host.h"

/* Forgets the records of packets that came long ago, and releases connections that ended then. Does
 * so only if 65,536 frames and ten seconds have passed since records were last forgotten, or since
 * the first call for the file; the seconds do not matter if the clock of the capture went back.
 * `now`: number and time of the current frame. `finished`: as for smcr_capture_forget(). */
void smcr_listener_forget_old(smcr_when_t now, const smcr_state_finished_t *finished);

/* As smcr_listener_forget_old(), for a capture of which nobody makes a report. Does nothing while
 * somebody makes one (smcr_listener_forget_allow()), in a program with windows, and unless it is
 * known that the program reads the file in one pass. */
void smcr_listener_forget_unread(const packet_info *pinfo);

/* Sets whether smcr_listener_forget_unread() may forget: true, as at start, if no listeners of a
 * report exist; false while one does, since it points to connections until it is drawn. */
void smcr_listener_forget_allow(bool is_allowed);

/* Begins anew for the next file. */
void smcr_listener_forget_end_file(void);
