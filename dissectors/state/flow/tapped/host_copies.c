/* Recognises copies, if both ends of a tapped connection are on one host: its tap shows each packet
 * twice, when it is sent and when it is received.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "host_copies.h"

#include "order.h"

#define MESSAGES_MAX 1024u         /* maximum number of messages that are kept to recognise
                                      copies */
#define AWAITED_MAX (4u << 20)     /* maximum number of bytes that are kept to recognise copies */
#define COPY_MIN 256u              /* minimum number of bytes of a copy that is recognised although
                                      copies before it are missing: shorter data may be equal by
                                      chance */

/* Number of bytes whose copy has still to come. */
static unsigned
awaited_count(const smcr_tapped_direction_t *direction)
{
    return direction->awaited_bytes ? wmem_array_get_count(direction->awaited_bytes) : 0;
}

/* Removes the first `count` bytes from `awaited_bytes`. There must be so many. `awaited_in`, which
 * counts all bytes so far, stays. */
static void
drop_awaited_bytes(smcr_state_t *state, smcr_tapped_direction_t *direction, unsigned count)
{
    wmem_array_t *awaited = direction->awaited_bytes;
    unsigned rest = awaited_count(direction) - count;

    if (!count)
        return;
    direction->awaited_bytes = wmem_array_new(state->scope, 1);
    if (rest)
        wmem_array_append(direction->awaited_bytes,
                          (uint8_t *)wmem_array_get_raw(awaited) + count, rest);
    wmem_destroy_array(awaited);
}

/* Appends the data to the bytes whose copy has still to come (`awaited_bytes`). Bytes that are not
 * captured are zeros. If there are too many bytes, all of them are forgotten, so their copies are
 * not recognised. Returns whether this is so. */
static bool
await_copy(smcr_state_t *state, smcr_tapped_direction_t *direction, smcr_tapped_data_t data)
{
    const uint8_t missing = 0;
    bool forgets = awaited_count(direction) + (uint64_t)data.length > AWAITED_MAX;

    if (forgets)
        drop_awaited_bytes(state, direction, awaited_count(direction));
    if (!direction->awaited_bytes)
        direction->awaited_bytes = wmem_array_new(state->scope, 1);
    direction->awaited_in += data.length;
    if (data.captured)
        wmem_array_append(direction->awaited_bytes, data.bytes, data.captured);
    for (uint32_t i = data.captured; i < data.length; i++)
        wmem_array_append(direction->awaited_bytes, &missing, 1);
    return forgets;
}

/* Whether the data is equal to the bytes of `awaited_bytes` that begin at `at`. */
static bool
is_awaited_at(const smcr_tapped_direction_t *direction, int64_t at, smcr_tapped_data_t data)
{
    if (at < 0 || (uint64_t)at + data.length > awaited_count(direction))
        return false;
    return memcmp((uint8_t *)wmem_array_get_raw(direction->awaited_bytes) + at, data.bytes,
                  data.captured) == 0;
}

/* Number of bytes of `awaited_bytes` that came before the message. Negative: they were all removed,
 * and so were this many bytes that came after the message. */
static int64_t
awaited_before(const smcr_tapped_direction_t *direction, const smcr_tapped_message_t *message)
{
    return (int64_t)(message->awaited_in - (direction->awaited_in - awaited_count(direction)));
}

/* The n-th message whose copy has still to come; NULL: there are fewer. */
static smcr_tapped_message_t *
awaited_message(const smcr_tapped_direction_t *direction, unsigned n)
{
    wmem_array_t *awaited = direction->awaited_messages;

    return awaited && n < wmem_array_get_count(awaited) ? wmem_array_index(awaited, n) : NULL;
}

/* Whether the data is a copy. If so, its bytes, and all bytes before them, are removed from
 * `awaited_bytes`. The receiver's kernel copies the data of a message in one packet, or in several
 * if the data wraps or is long. So a copy is equal to the first awaited bytes, or, if copies before
 * it are missing in the capture, to the last awaited bytes before a message. Data of less than
 * COPY_MIN bytes is compared with the first awaited bytes only. */
static bool
is_awaited(smcr_state_t *state, smcr_tapped_direction_t *direction, smcr_tapped_data_t data)
{
    int64_t at = is_awaited_at(direction, 0, data) ? 0 : -1;
    const smcr_tapped_message_t *message;

    for (unsigned n = data.length < COPY_MIN ? MESSAGES_MAX : 0;
         at < 0 && (message = awaited_message(direction, n)) != NULL; n++) {
        int64_t before = awaited_before(direction, message) - data.length;
        at = is_awaited_at(direction, before, data) ? before : -1;
    }
    if (at < 0 || !data.length)
        return false;
    drop_awaited_bytes(state, direction, (unsigned)at + data.length);
    return true;
}

/* Whether the data may be the copy of data that is missing in the capture: a message whose copy has
 * still to come announces as many missing bytes. If so, these bytes count as found. */
static bool
is_copy_of_missing(smcr_tapped_direction_t *direction, smcr_tapped_data_t data)
{
    smcr_tapped_message_t *message;

    for (unsigned n = 0; (message = awaited_message(direction, n)) != NULL; n++)
        if (message->missing && message->missing >= data.length) {
            message->missing -= data.length;
            return true;
        }
    return false;
}

/* Removes the first `count` messages from `awaited_messages`. */
static void
drop_awaited_messages(smcr_state_t *state, smcr_tapped_direction_t *direction, unsigned count)
{
    wmem_array_t *awaited = direction->awaited_messages;
    unsigned rest = wmem_array_get_count(awaited) - count;

    direction->awaited_messages = wmem_array_new(state->scope, sizeof(smcr_tapped_message_t));
    if (rest)
        wmem_array_append(direction->awaited_messages, wmem_array_index(awaited, count), rest);
    wmem_destroy_array(awaited);
}

/* `copied` counts the bytes of one batch, so it becomes 0 here. */
void
smcr_tapped_note_missing(struct smcr_tapped *tapped, smcr_tapped_direction_t *direction,
                         uint64_t missing)
{
    unsigned count = wmem_array_get_count(direction->awaited_messages);

    awaited_message(direction, count - 1)->missing = missing;
    if (missing && missing <= direction->copied && !tapped->has_copies)
        tapped->shows_twice = false;
    direction->copied = 0;
}

/* Removes the first `count` messages from `awaited_messages`. Removes from `awaited_bytes` the data
 * before the last one of them: the receiver's kernel copies data before the message, so a copy that
 * has not come is missing in the capture. */
static void
drop_copied(smcr_state_t *state, smcr_tapped_direction_t *direction, unsigned count)
{
    int64_t bytes = awaited_before(direction, awaited_message(direction, count - 1));

    if (bytes > 0)
        drop_awaited_bytes(state, direction, (unsigned)bytes);
    drop_awaited_messages(state, direction, count);
}

/* Copies come in the order of the originals, so copies of messages before this one are not awaited
 * any more. */
bool
smcr_tapped_is_message_copied(smcr_state_t *state, smcr_tapped_direction_t *direction,
                              const smcr_tapped_message_t *message)
{
    if (!direction->awaited_messages)
        direction->awaited_messages = wmem_array_new(state->scope, sizeof *message);
    wmem_array_t *awaited = direction->awaited_messages;
    unsigned count = wmem_array_get_count(awaited), i = 0;

    while (i < count && !smcr_tapped_messages_are_same(wmem_array_index(awaited, i), message))
        i++;
    if (i < count) {
        drop_copied(state, direction, i + 1);
        return true;
    }
    if (count == MESSAGES_MAX)
        drop_awaited_messages(state, direction, MESSAGES_MAX / 2);
    wmem_array_append(direction->awaited_messages, message, 1);
    return false;
}

/* The order matters: only data that is no copy awaits a copy of its own. */
bool
smcr_tapped_is_data_copied(smcr_state_t *state, const struct smcr_tapped *tapped,
                           smcr_tapped_direction_t *direction, smcr_tapped_data_t data,
                           smcr_tapped_notice_t *notice)
{
    if (is_awaited(state, direction, data)) {
        direction->copied += data.length;
        return true;
    }
    if (tapped->has_copies && is_copy_of_missing(direction, data)) {
        *notice = SMCR_TAPPED_COPY_OF_MISSING;
        return true;
    }
    if (await_copy(state, direction, data))
        *notice = SMCR_TAPPED_COPIES_FORGOTTEN;
    return false;
}

bool
smcr_tapped_awaits_message(const smcr_tapped_direction_t *direction)
{
    return direction->awaited_messages && wmem_array_get_count(direction->awaited_messages);
}

