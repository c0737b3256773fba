/* endpoint_rows.h
 * Statistics > Endpoints, and `tshark -z endpoints,smcr`: hosts and links.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATISTICS_ENDPOINT_ROWS_H
#define SMCR_STATISTICS_ENDPOINT_ROWS_H

#include "compat.h"

/* A packet of the tap, for the table `hash` (conv_hash_t), as Wireshark calls it. */
tap_packet_status smcr_conversation_endpoints_take(void *hash, packet_info *pinfo,
                                                   epan_dissect_t *edt, const void *data,
                                                   tap_flags_t flags);

#endif /* SMCR_STATISTICS_ENDPOINT_ROWS_H */
