/* Follows the LLC messages of a first contact: how long the setup of a connection takes after CLC,
 * and which of its steps is the slowest (RFC 7609, 3.5.1.5 and 3.5.1.6).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "counts.h"

#include "wire/wire.h"

bool
smcr_collect_contact_awaits(const smcr_collect_contact_t *contact, uint32_t frame)
{
    const smcr_exchange_t *asked = contact->last_request;
    bool has_no_response = asked && (!asked->response_frame || asked->response_frame >= frame);

    return contact->is_adding || has_no_response;
}

/* Whether a link is being added after the message. An ADD LINK that does not reject the link begins
 * an addition. Three messages end the addition: an ADD LINK that rejects the link, DELETE LINK, and
 * a CONFIRM LINK that is a response. Other messages change nothing: the function then returns
 * `before`. `before`: whether a link was being added before the message. */
static bool
adds_link(const smcr_llc_t *llc, const smcr_record_t *record, bool before)
{
    uint8_t type = llc->type & (uint8_t)~SMCR_LLC_TYPE_V2;

    if (type == SMCR_LLC_ADD_LINK)
        return !(llc->flags & SMCR_LLC_FLAG_REJECTED);
    if (type == SMCR_LLC_DELETE_LINK || (type == SMCR_LLC_CONFIRM_LINK && record->ends_exchange))
        return false;
    return before;
}

/* Returns the figures of the connection whose first contact may include the packet. This connection
 * made the first contact of the packet's link group, and the first contact is not over. Returns
 * NULL if there is no such connection. Also returns NULL for an acknowledgement and for TEST LINK:
 * neither is a step. */
static smcr_collect_conn_stats_t *
find_contact(const smcr_collect_t *collection, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_conn_stats_t *counted =
        record->link ? wmem_map_lookup(collection->contacts, record->link->lgr) : NULL;
    bool is_keepalive =
        packet->llc && (packet->llc->type & (uint8_t)~SMCR_LLC_TYPE_V2) == SMCR_LLC_TEST_LINK;

    if (!counted || counted->contact.is_over)
        return NULL;
    return record->kind == SMCR_RECORD_ACK || is_keepalive ? NULL : counted;
}

/* Compares the time since the last step with the longest time between two steps, and keeps the
 * longer time and the last request before it. If the response to this request came before the time
 * began, the peer's answer has not caused the time: `longest_step_after_response` is then set. */
static void
note_longest_step(smcr_collect_contact_t *contact, smcr_when_t when)
{
    const smcr_exchange_t *asked = contact->last_request;

    if (when.time - contact->step.time <= contact->longest_step)
        return;
    contact->longest_step = when.time - contact->step.time;
    contact->longest_step_request = asked;
    contact->longest_link = contact->last_request_link ? contact->last_request_link->number : 0;
    contact->longest_step_after_response =
        asked && asked->response_frame && asked->response_frame <= contact->step.frame;
}

/* Takes an LLC message as the next step of the first contact. A retransmission is no step; it only
 * moves the end of the first contact (`ready`). */
static void
take_step(smcr_collect_contact_t *contact, smcr_when_t when, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;

    contact->ready = when;
    if (record->order == SMCR_FLOW_IS_RETRANSMISSION)
        return;
    note_longest_step(contact, when);
    contact->step = when;
    contact->is_adding = adds_link(packet->llc, record, contact->is_adding);
    if (record->begins_exchange) {
        contact->last_request = record->begins_exchange;
        contact->last_request_link = record->link;
    }
}

/* The packet makes the durations of the first contact unsure in two cases:
 * 1. The packet was not decoded completely: the missing part may be an LLC message.
 * 2. The packet has an earlier time than the last step: the clock of the capture went back.
 * A duplicate that the network or the capture has made is no step. */
void
smcr_collect_contact_take(smcr_collect_t *collection, smcr_when_t when, const smcr_tap_t *packet)
{
    smcr_collect_conn_stats_t *counted = find_contact(collection, packet);

    if (!counted || packet->record->order == SMCR_FLOW_IS_COPY)
        return;
    smcr_collect_contact_t *contact = &counted->contact;
    bool is_whole = packet->llc && packet->llc->complete;
    contact->is_unread |= !is_whole || when.time < contact->step.time;
    contact->is_unsure |= contact->is_unread;
    if (!packet->llc)
        return;
    bool is_late = when.time > contact->ready.time + SMCR_TIME_SECOND;
    if (is_late && !smcr_collect_contact_awaits(contact, when.frame))
        contact->is_over = true;
    else
        take_step(contact, when, packet);
}

/* ---- CLC before it ---- */

/* If the messages are not in order, the two hosts' frames may have times of clocks that differ. */
bool
smcr_collect_conn_has_ordered_clc(const smcr_collect_conn_stats_t *counted)
{
    uint32_t last = 0;

    for (unsigned type = SMCR_CLC_PROPOSAL; type <= SMCR_CLC_CONFIRM; type++) {
        uint32_t frame = counted->clc[type].frame;
        if (frame && frame < last)
            return false;
        last = MAX(last, frame);
    }
    return true;
}
