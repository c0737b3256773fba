/* ids.h
 * IPv4 identifications: where they change from packet to packet, one that comes again tells a copy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_IDS_H
#define SMCR_FABRIC_IDS_H

#include "sent.h"

/* Of the packets of a flow so far. All zeros: there has been none. */
typedef struct {
    uint32_t psn; /* of the last packet, as are the next two */
    uint8_t opcode;
    uint16_t id;
    bool started, differ, same; /* two successive packets had different ones, or the same */
} smcr_ids_t;

/* The next packet of the flow. */
void smcr_ids_take(smcr_ids_t *ids, const smcr_sent_t *packet);

/* Whether they change. */
bool smcr_ids_change(const smcr_ids_t *ids);

/* Whether a packet with the PSN and the identification of one before is a copy of it: they change,
 * or the flow has had nothing but its first packet, and that has one other than 0. */
bool smcr_ids_tell_copies(const smcr_ids_t *ids);

#endif /* SMCR_FABRIC_IDS_H */
