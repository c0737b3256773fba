/* completion.c
 * A queue of messages in the order of PSNs. Where the capture lacks the acknowledgements it is full
 * one day, and the oldest message is given up for each new one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "completion.h"

#include "wire/wire.h"

#define WAITING_MAX 8192
#define UNANSWERED_MAX 8 /* as long as nobody responds: the first responses tell who does */

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

static void
append(smcr_messages_t *messages, wmem_allocator_t *scope, smcr_psn_t last, bool read,
       uint32_t most)
{
    smcr_message_t *message = wmem_new0(scope, smcr_message_t);

    *message = (smcr_message_t){.last = last, .begin = messages->begin, .read = read};
    if (messages->newest)
        messages->newest->next = message;
    else
        messages->oldest = message;
    messages->newest = message;
    if (++messages->count > most)
        wmem_free(scope, take_oldest(messages));
}

void
smcr_messages_sent(smcr_messages_t *messages, wmem_allocator_t *scope, const smcr_sent_t *packet,
                   smcr_psn_t psn, bool answered)
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
        append(messages, scope, psn, packet->opcode == SMCR_RC_READ_REQUEST,
               answered ? WAITING_MAX : UNANSWERED_MAX);
    messages->begin = (smcr_when_t){0, 0};
}

const smcr_message_t *
smcr_messages_settle(smcr_messages_t *messages, wmem_allocator_t *scope, smcr_psn_t taken,
                     smcr_psn_t read, bool ends)
{
    smcr_message_t *complete = NULL, **end = &complete;

    while (messages->oldest && messages->oldest->last <= taken) {
        bool is_answered = messages->oldest->read && messages->oldest->last == read;
        if (is_answered && !ends)
            break;
        smcr_message_t *message = take_oldest(messages);
        if (message->read && !is_answered) {
            wmem_free(scope, message);
            continue;
        }
        *end = message;
        end = &message->next;
    }
    return complete;
}
