/* source_port.h
 * The source port that Wireshark shows of a RoCE packet: columns, flow graphs, conversations.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_SOURCE_PORT_H
#define SMCR_SHOW_SOURCE_PORT_H

#include "compat.h"
#include "state/state.h"

/* Called when InfiniBand's dissector has no more use for it: the source port becomes the number of
 * the queue pair that sends the packet, and 0 where that is not known. InfiniBand's dissector says
 * 4294967295 then, which others cut to 65535. */
void smcr_show_source_port(packet_info *pinfo, const smcr_record_t *record,
                           const smcr_ib_headers_t *roce);

/* The same of an unknown packet: 0, unless InfiniBand's dissector knows. */
void smcr_show_no_source_port(packet_info *pinfo);

#endif /* SMCR_SHOW_SOURCE_PORT_H */
