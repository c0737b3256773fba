/* events.c
 * From the events of a record to expert items.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "events.h"

#include "fields.h"
#include "host/host.h"
#include "message/message.h"

/* The expert item of each event. */
#define SMCR_EVENT(id, expert, info) [id] = &(expert),
static expert_field *const experts[] = {
#include "state/model/events.def"
};

bool
smcr_show_event_holds(const packet_info *pinfo, const smcr_event_t *event)
{
    return !event->claim ||
           (pinfo->fd->visited && smcr_doubt_proof_holds(smcr_capture_state(), event->claim));
}

const expert_field *
smcr_show_event_expert(const smcr_event_t *event)
{
    return experts[event->id];
}

void
smcr_show_events(packet_info *pinfo, proto_item *item, const smcr_record_t *record)
{
    for (const smcr_event_t *event = record->events; event; event = event->next) {
        if (!smcr_show_event_holds(pinfo, event))
            continue;
        if (event->text)
            smcr_item_raise_text(pinfo, item, experts[event->id], "%s", event->text);
        else
            smcr_item_raise(pinfo, item, experts[event->id]);
    }
}
