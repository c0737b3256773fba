/* completion.c
 * A queue of messages in the order of PSNs. Where the capture lacks the acknowledgements it is full
 * one day, and the oldest message is given up for each new one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "completion.h"

#include "wire/wire.h"

#define WAITING_MAX 8192

static smcr_message_t *
take_oldest(smcr_messages_t *messages)
{
    smcr_message_t *oldest = messages->oldest;

    messages->oldest = oldest->next;
    if (!messages->oldest)
        messages->newest = NULL;
    messages->count--;
    oldest->next = NULL;
    return oldest;
}

/* Requests that are answered with data. */
static bool
fetches(uint8_t opcode)
{
    return opcode == SMCR_RC_READ_REQUEST || opcode == SMCR_RC_CMP_SWAP ||
           opcode == SMCR_RC_FETCH_ADD;
}

static void
append(smcr_messages_t *messages, wmem_allocator_t *scope, smcr_psn_t last, bool fetch)
{
    smcr_message_t *message = wmem_new0(scope, smcr_message_t);

    *message = (smcr_message_t){.last = last, .begin = messages->begin, .fetch = fetch};
    if (messages->newest)
        messages->newest->next = message;
    else
        messages->oldest = message;
    messages->newest = message;
    if (++messages->count > WAITING_MAX)
        wmem_free(scope, take_oldest(messages));
}

void
smcr_messages_sent(smcr_messages_t *messages, wmem_allocator_t *scope, const smcr_sent_t *packet,
                   smcr_psn_t psn)
{
    bool goes_on = messages->begin.frame && psn == messages->expected;

    if (smcr_begins_message(packet->opcode))
        messages->begin = packet->when;
    else if (!goes_on)
        messages->begin = (smcr_when_t){0, 0};
    messages->expected = psn + 1;
    if (!smcr_ends_message(packet->opcode))
        return;
    if (messages->begin.frame)
        append(messages, scope, psn, fetches(packet->opcode));
    messages->begin = (smcr_when_t){0, 0};
}

const smcr_message_t *
smcr_messages_settle(smcr_messages_t *messages, wmem_allocator_t *scope, smcr_psn_t taken,
                     smcr_psn_t fetch, bool ends)
{
    smcr_message_t *complete = NULL, **end = &complete;

    while (messages->oldest && messages->oldest->last <= taken) {
        bool is_answered = messages->oldest->fetch && messages->oldest->last == fetch;
        if (is_answered && !ends)
            break;
        smcr_message_t *message = take_oldest(messages);
        if (message->fetch && !is_answered) {
            wmem_free(scope, message);
            continue;
        }
        *end = message;
        end = &message->next;
    }
    return complete;
}
