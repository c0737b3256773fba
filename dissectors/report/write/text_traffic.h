/* What the page of text says about traffic as a whole.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "text_lines.h"

/* Writes which ends of connections the capture shows with other addresses or ports, too. "..." at
 * the end: there are more than those that are named. */
void smcr_text_write_translations(const smcr_text_page_t *page);

/* Writes a line with the classes of RDMA packets, if any of them has another class than the default
 * one. */
void smcr_text_write_classes(const smcr_text_page_t *page);

/* Writes a line about marks over time, the pace of CNPs, and the rates before and after them, as
 * far as they are known. */
void smcr_text_write_congestion(const smcr_text_page_t *page);

/* Writes the ports that send PAUSE and PFC frames, and the classes that they pause. */
void smcr_text_write_pauses(const smcr_text_page_t *page);

/* Writes a line about TCP, if any segment was retransmitted, came twice, or has a mark or a flag of
 * congestion. */
void smcr_text_write_tcp(const smcr_text_page_t *page);
