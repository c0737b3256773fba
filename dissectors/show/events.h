/* events.h
 * What the state tells the user of a packet, as expert items.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_EVENTS_H
#define SMCR_SHOW_EVENTS_H

#include "compat.h"
#include "state/state.h"

/* The expert items of the record's events, at `item`. */
void smcr_show_events(packet_info *pinfo, proto_item *item, const smcr_record_t *record);

/* Whether the event is to be told: what comes later may have to bear it out, which is known in the
 * second pass only. */
bool smcr_show_event_holds(const packet_info *pinfo, const smcr_event_t *event);

/* The event's expert item. */
const expert_field *smcr_show_event_expert(const smcr_event_t *event);

#endif /* SMCR_SHOW_EVENTS_H */
