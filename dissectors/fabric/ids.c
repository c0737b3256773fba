/* ids.c
 * Compares the identifications of successive packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "ids.h"

void
smcr_ids_take(smcr_ids_t *ids, const smcr_sent_t *packet)
{
    uint16_t id = (uint16_t)packet->ip_id;

    if (packet->ip_id < 0)
        return;
    if (ids->started) {
        ids->differ |= ids->id != id;
        ids->same |= ids->id == id && (ids->psn != packet->psn || ids->opcode != packet->opcode);
    }
    ids->psn = packet->psn;
    ids->opcode = packet->opcode;
    ids->id = id;
    ids->started = true;
}

bool
smcr_ids_change(const smcr_ids_t *ids)
{
    return ids->differ && !ids->same;
}

bool
smcr_ids_tell_copies(const smcr_ids_t *ids)
{
    return !ids->same && (ids->differ || ids->id != 0);
}
