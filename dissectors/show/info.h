/* info.h
 * The Info column: trouble in brackets first, as TCP has it, then whose the packet is, then what it
 * is. The message itself is named in between, by those who show it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_INFO_H
#define SMCR_SHOW_INFO_H

#include "compat.h"
#include "state/state.h"

/* Begins the columns with whose the packet is: the ports of its connection, as TCP's Info has them,
 * else the number of its link. Of an RDMA WRITE also what it writes, and where. What stands there
 * already is replaced. */
void smcr_info_begin(packet_info *pinfo, const smcr_record_t *record);

/* As smcr_info_begin(), for CLC messages, which TCP carries. */
void smcr_info_begin_tcp(packet_info *pinfo);

/* Puts the trouble that the record tells of before everything else. It stays when the application's
 * dissector writes its own text. */
void smcr_info_trouble(packet_info *pinfo, const smcr_record_t *record);

/* Begins the columns as InfiniBand's dissector does, of an acknowledgement that it does not get. */
void smcr_info_begin_answer(packet_info *pinfo, const smcr_ib_headers_t *roce);

/* Behind that text: which packet an acknowledgement answers. */
void smcr_info_answer(packet_info *pinfo, const smcr_record_t *record,
                      const smcr_ib_headers_t *roce);

#endif /* SMCR_SHOW_INFO_H */
