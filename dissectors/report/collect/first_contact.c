/* Follows the LLC messages of a first contact: how long the setup of a connection takes after CLC,
 * and which of its steps is the slowest (RFC 7609, 3.5.1.5 and 3.5.1.6).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "collectors.h"

#include "wire/wire.h"

bool
smcr_collect_contact_awaits(const smcr_collect_contact_t *contact, uint32_t frame)
{
    const smcr_exchange_t *asked = contact->last_request;
    bool has_no_response = asked && (!asked->response_frame || asked->response_frame >= frame);

    return contact->is_adding || has_no_response;
}

/* Whether a link is being added after the message. ADD LINK begins an addition unless the message
 * rejects the link. DELETE LINK ends the addition, and so does a CONFIRM LINK that is a response.
 * Other messages change nothing: the result is then `before`, whether a link was being added before
 * the message. */
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

/* Returns the connection whose first contact may include the packet: it made the first contact of
 * the packet's link group, and the first contact is not over. NULL: there is none, or the packet is
 * an acknowledgement or TEST LINK, which are no steps. */
static smcr_collect_conn_stats_t *
find_contact(const smcr_collect_t *collection, const smcr_tap_t *packet)
{
    const smcr_record_t *record = packet->record;
    smcr_collect_conn_stats_t *counted =
        record->link ? wmem_map_lookup(collection->contacts, record->link->lgr) : NULL;
    bool is_keepalive = packet->llc && packet->llc->type == SMCR_LLC_TEST_LINK;

    if (!counted || counted->contact.is_over)
        return NULL;
    return record->kind == SMCR_RECORD_ACK || is_keepalive ? NULL : counted;
}

/* Keeps the longest time between two steps, and the request that came last before it. If the
 * response of that request came before the time began, the peer has not caused the time by
 * answering late (`longest_step_after_response`). */
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

/* Takes an LLC message of the first contact as its next step. A retransmission is no step, but
 * moves the end of the first contact. */
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

/* A packet that was not decoded may be an LLC message, so the durations of the first contact become
 * unsure. A complete message with an earlier time than the last step does the same: the clock of
 * the capture went back. */
void
smcr_collect_contact_take(smcr_collect_t *collection, smcr_when_t when, const smcr_tap_t *packet)
{
    smcr_collect_conn_stats_t *counted = find_contact(collection, packet);

    if (!counted)
        return;
    smcr_collect_contact_t *contact = &counted->contact;
    bool is_whole = packet->llc && packet->llc->complete;
    contact->is_unsure |= !is_whole || when.time < contact->step.time;
    if (!packet->llc)
        return;
    bool is_late = when.time > contact->ready.time + SMCR_TIME_SECOND;
    if (is_late && !smcr_collect_contact_awaits(contact, when.frame))
        contact->is_over = true;
    else
        take_step(contact, when, packet);
}
