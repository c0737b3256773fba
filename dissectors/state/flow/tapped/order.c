/* Judges the order of what a tap shows of one direction.
 *
 * A kernel copies data before the message that announces the data. So the data since the last
 * message, the batch, has as many bytes as the next message announces. If it has other bytes:
 *
 *     fewer bytes   data is missing before or after the captured data of the batch
 *     more bytes    1. data of the batch is the copy of an earlier packet
 *                   2. an earlier message has announced data of the batch: it comes too late
 *                   3. otherwise the message is missing that announces the rest, or comes later
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "order.h"


/* if two packets with the same bytes come within this time, nanoseconds, the second one is a copy
 * of the first one */
#define COPIED_SOON (100 * SMCR_TIME_MICROSECOND)
#define PAST_MAX 16u /* maximum number of messages in a row that count as out of order. If more
                        messages are earlier than the last one, the last one was wrong */

/* ---- messages ---- */

/* All that the sender writes into a message is compared. */
bool
smcr_tapped_messages_are_same(const smcr_tapped_message_t *one, const smcr_tapped_message_t *other)
{
    bool same_cursors = smcr_ring_cursors_are_same(one->prod, other->prod) &&
                        smcr_ring_cursors_are_same(one->cons, other->cons);

    return same_cursors && one->seq == other->seq && one->flags == other->flags &&
           one->state == other->state;
}

bool
smcr_tapped_is_numbered(const smcr_tapped_direction_t *direction,
                        const smcr_tapped_message_t *message)
{
    return message->seq || direction->last.seq;
}

/* Whether the cursor `now` is before the cursor `before`. */
static bool
goes_back(smcr_cursor_t before, smcr_cursor_t now)
{
    const smcr_ring_t any = {0, 0};

    return smcr_ring_fault(&any, before, now) == SMCR_RING_FAULT_BACK;
}

/* Whether the message is earlier than `other`: by its number, or, if messages have no numbers, by
 * its cursors and its state, whose flags stay set. */
static bool
precedes(const smcr_tapped_message_t *message, const smcr_tapped_message_t *other,
         bool is_numbered)
{
    if (is_numbered)
        return (int16_t)(uint16_t)(message->seq - other->seq) < 0;
    return goes_back(other->prod, message->prod) || goes_back(other->cons, message->cons) ||
           (other->state & ~message->state);
}

/* The kept message that was learned as the `back`-th last one: 1 is the last message. NULL: there
 * are fewer, or it is too old to be kept. */
static smcr_tapped_message_t *
recent_message(smcr_tapped_direction_t *direction, unsigned back)
{
    return back <= MIN(direction->message_count, SMCR_TAPPED_KEPT)
               ? &direction->messages[(direction->message_count - back) % SMCR_TAPPED_KEPT]
               : NULL;
}

/* A duplicate is looked for first, since a duplicate is earlier than the last message, too. After
 * PAST_MAX messages in a row that are earlier than the last message, the last message was wrong, so
 * further ones count as in order. */
smcr_tapped_notice_t
smcr_tapped_judge_order(smcr_tapped_direction_t *direction, const smcr_tapped_message_t *message)
{
    bool is_numbered = smcr_tapped_is_numbered(direction, message);
    const smcr_tapped_message_t *kept;

    for (unsigned back = 1; (kept = recent_message(direction, back)) != NULL; back++)
        if (smcr_tapped_messages_are_same(kept, message))
            return SMCR_TAPPED_DUPLICATE;
    bool is_past = direction->has_message && precedes(message, &direction->last, is_numbered);
    direction->past_count = is_past ? direction->past_count + 1 : 0;
    return is_past && direction->past_count <= PAST_MAX ? SMCR_TAPPED_OUT_OF_ORDER
                                                        : SMCR_TAPPED_NO_NOTICE;
}

void
smcr_tapped_keep_message(smcr_tapped_direction_t *direction, const smcr_tapped_message_t *message)
{
    direction->messages[direction->message_count++ % SMCR_TAPPED_KEPT] = *message;
}

/* ---- data ---- */

/* The kept data packet that came as the `back`-th last one: 1 is the last packet. NULL: there are
 * fewer, or it is too old to be kept. */
static smcr_tapped_piece_t *
recent_piece(smcr_tapped_direction_t *direction, unsigned back)
{
    return back <= MIN(direction->piece_count, SMCR_TAPPED_KEPT)
               ? &direction->pieces[(direction->piece_count - back) % SMCR_TAPPED_KEPT]
               : NULL;
}

/* Number of data packets of the batch that are kept. */
static unsigned
kept_of_batch(const smcr_tapped_direction_t *direction)
{
    return MIN(direction->batch_count, SMCR_TAPPED_KEPT);
}

/* The place of the n-th part of a data packet; NULL: its record is forgotten. */
static smcr_place_t *
place_of(const smcr_state_t *state, const smcr_tapped_piece_t *piece, unsigned nth)
{
    smcr_record_t record;

    return smcr_record_find(state, piece->frame, (uint16_t)(piece->layer + nth), &record)
               ? record.write_location : NULL;
}

/* If the message in `frame` announces the data packet, it is not known any more which message
 * does. */
static void
withdraw_announcement(const smcr_state_t *state, const smcr_tapped_piece_t *piece, uint32_t frame)
{
    for (unsigned nth = 0; nth < piece->part_count; nth++) {
        smcr_place_t *place = place_of(state, piece, nth);
        if (place && !place->is_unannounced && place->announced_in == frame)
            place->announced_in = 0;
    }
}

/* The message that should have come after `late` was compared with the message before `late`. So
 * the bytes in its record are those of both messages together, and count as not known from now on.
 * Records are changed in the first pass only. */
void
smcr_tapped_withdraw(const smcr_state_t *state, smcr_tapped_direction_t *direction,
                     const smcr_tapped_message_t *late)
{
    bool is_numbered = smcr_tapped_is_numbered(direction, late);
    const smcr_tapped_message_t *next = NULL, *kept;
    const smcr_tapped_piece_t *piece;
    smcr_record_t record;

    for (unsigned back = 1; (kept = recent_message(direction, back)) != NULL &&
                            precedes(late, kept, is_numbered); back++)
        next = kept;
    if (!next || !smcr_record_find(state, next->frame, next->layer, &record) ||
        !record.cdc_analysis)
        return;
    record.cdc_analysis->has_announced_bytes = record.cdc_analysis->has_read_bytes = false;
    record.cdc_analysis->writes = 0;
    record.cdc_analysis->first_write = record.cdc_analysis->last_write = 0;
    record.cdc_analysis->read_announced_frame = 0;
    for (unsigned back = 1; (piece = recent_piece(direction, back)) != NULL; back++)
        withdraw_announcement(state, piece, next->frame);
}

/* The last kept data packet with these bytes of which no copy has come; NULL: there is none, or no
 * byte of the data is captured. */
static smcr_tapped_piece_t *
find_same(smcr_tapped_direction_t *direction, smcr_tapped_data_t data, uint32_t hash)
{
    smcr_tapped_piece_t *piece;
    unsigned back = 1;

    while ((piece = recent_piece(direction, back)) != NULL &&
           (piece->has_copy || piece->length != data.length || piece->hash != hash))
        back++;
    return data.captured ? piece : NULL;
}

/* If the program is known to send the same bytes twice (`repeats_data`), equal data is no copy. The
 * bytes of copies are counted in `copied`: if smcr_tapped_end_batch() misses as many bytes, they
 * were no copies. */
bool
smcr_tapped_is_probable_copy(const struct smcr_tapped *tapped, smcr_tapped_direction_t *direction,
                             smcr_tapped_data_t data, uint64_t time)
{
    smcr_tapped_piece_t *same =
        find_same(direction, data, wmem_strong_hash(data.bytes, data.captured));

    if (!same || tapped->repeats_data)
        return false;
    bool is_in_batch = direction->message_count == 0 ||
                       same->frame > recent_message(direction, 1)->frame;
    bool is_soon = is_in_batch && time < same->time + COPIED_SOON;
    same->has_copy = tapped->has_copies || is_soon;
    if (same->has_copy)
        direction->copied += data.length;
    return same->has_copy;
}

/* The circular list `pieces` has the last SMCR_TAPPED_KEPT pieces. find_same() is called before the
 * new piece is in the list, so it does not find this piece itself. */
void
smcr_tapped_keep_piece(smcr_tapped_direction_t *direction, smcr_tapped_data_t data,
                       smcr_tapped_piece_t piece)
{
    piece.hash = wmem_strong_hash(data.bytes, data.captured);
    const smcr_tapped_piece_t *same = find_same(direction, data, piece.hash);

    piece.length = data.length;
    piece.is_same = same != NULL;
    piece.same_at = same ? same->position : 0;
    direction->pieces[direction->piece_count++ % SMCR_TAPPED_KEPT] = piece;
    direction->batch_count++;
}

/* ---- the end of a batch ---- */

/* A batch that a message ends. */
typedef struct {
    smcr_state_t *state;        /* state of the capture file */
    struct smcr_tapped *tapped; /* connection of the batch */
    smcr_tapped_direction_t *direction; /* direction of the batch; its `announced` is that before
                                           the message */
    uint32_t room;   /* number of data bytes in the element; 0: not known */
    uint32_t excess; /* number of bytes of the batch that the message does not announce */
} batch_end_t;

/* Sets the right position of a data packet, and the offset that follows from it. `is_copy`: an
 * earlier packet has the same data. */
static void
correct_piece(const batch_end_t *ending, smcr_tapped_piece_t *piece, uint64_t position,
              bool is_copy)
{
    piece->position = position;
    for (unsigned nth = 0; nth < piece->part_count; nth++) {
        smcr_place_t *place = place_of(ending->state, piece, nth);
        if (!place)
            continue;
        smcr_place_rare_t *rare = smcr_place_make_rare(ending->state, place);
        rare->is_corrected = true;
        rare->corrected = position;
        rare->is_copy = is_copy;
        place->offset = (uint32_t)(ending->room ? position % ending->room : position);
        place->element_fill = 0;
        position += place->length;
    }
}

/* Corrects the positions of a batch that has as many bytes as the message announces. The state
 * found other positions from the offsets if earlier messages have announced more than one round: an
 * offset does not show the round. */
static void
prove_batch(const batch_end_t *ending)
{
    for (unsigned back = kept_of_batch(ending->direction); back > 0; back--) {
        smcr_tapped_piece_t *piece = recent_piece(ending->direction, back);
        const smcr_place_t *place = place_of(ending->state, piece, 0);
        if (place && place->has_position && place->position != piece->position)
            correct_piece(ending, piece, piece->position, false);
    }
}

/* Makes the positions of all data of the batch unknown, and the fill of the element with them. Only
 * data that is still kept can change (SMCR_TAPPED_KEPT). */
static void
doubt_batch(smcr_state_t *state, smcr_tapped_direction_t *direction)
{
    for (unsigned back = kept_of_batch(direction); back > 0; back--) {
        const smcr_tapped_piece_t *piece = recent_piece(direction, back);
        for (unsigned nth = 0; nth < piece->part_count; nth++) {
            smcr_place_t *place = place_of(state, piece, nth);
            if (place) {
                smcr_place_make_rare(state, place)->is_doubtful = true;
                place->element_fill = 0;
            }
        }
    }
}

/* Data packets of a batch that are elsewhere in the stream than the others. */
typedef struct {
    bool is_chosen[SMCR_TAPPED_KEPT]; /* by the number of the packet in the batch, from the last
                                         one */
    uint64_t bytes;                   /* bytes of the chosen packets */
} chosen_t;

/* Chooses data packets of the batch, the first ones first, up to `bytes` bytes together. `copies`:
 * only packets whose bytes an earlier packet has. */
static chosen_t
choose(smcr_tapped_direction_t *direction, uint64_t bytes, bool copies)
{
    chosen_t chosen = {{false}, 0};

    for (unsigned back = kept_of_batch(direction); back > 0; back--) {
        const smcr_tapped_piece_t *piece = recent_piece(direction, back);
        bool fits = chosen.bytes + piece->length <= bytes;
        if (!fits || (copies && !piece->is_same))
            continue;
        chosen.is_chosen[back - 1] = true;
        chosen.bytes += piece->length;
    }
    return chosen;
}

/* Gives the data of the batch its right positions. The chosen packets are where an earlier packet
 * has the same bytes, or, if `at` is not NULL, at `*at`. The others follow the data that the last
 * message has announced. */
static void
correct_batch(const batch_end_t *ending, const chosen_t *chosen, uint64_t *at)
{
    smcr_tapped_direction_t *direction = ending->direction;
    uint64_t next = direction->announced;

    for (unsigned back = kept_of_batch(direction); back > 0; back--) {
        smcr_tapped_piece_t *piece = recent_piece(direction, back);
        uint64_t *position = chosen->is_chosen[back - 1] ? at : &next;
        correct_piece(ending, piece, position ? *position : piece->same_at, !position);
        if (position)
            *position += piece->length;
    }
}

/* Whether all data packets of the batch are kept. */
static bool
keeps_batch(const smcr_tapped_direction_t *direction)
{
    return direction->batch_count <= SMCR_TAPPED_KEPT;
}

/* Whether the excess of the batch consists of copies of earlier packets. If so, corrects the
 * positions of the batch. */
static bool
explain_by_copies(const batch_end_t *ending)
{
    smcr_tapped_direction_t *direction = ending->direction;
    chosen_t copies = choose(direction, ending->excess, true);

    if (!keeps_batch(direction) || copies.bytes != ending->excess || ending->tapped->repeats_data)
        return false;
    ending->tapped->has_copies = true;
    correct_batch(ending, &copies, NULL);
    return true;
}

/* Whether the excess of the batch is data that an earlier message has announced. If so, corrects
 * the positions of the batch, or makes them unknown. */
static bool
explain_by_late_data(const batch_end_t *ending)
{
    smcr_tapped_direction_t *direction = ending->direction;
    chosen_t late = choose(direction, ending->excess, false);

    if (direction->owed < ending->excess)
        return false;
    if (keeps_batch(direction) && direction->hole == ending->excess &&
        late.bytes == ending->excess)
        correct_batch(ending, &late, &direction->hole_at);
    else
        doubt_batch(ending->state, direction);
    direction->owed -= ending->excess;
    direction->hole = 0;
    return true;
}

/* Ends a batch that has fewer bytes than the message announces. `missing`: number of missing
 * bytes. */
static void
end_short_batch(const batch_end_t *ending, uint64_t missing)
{
    smcr_tapped_direction_t *direction = ending->direction;

    if (missing == direction->copied) { /* data that counted as a copy was none */
        ending->tapped->has_copies = false;
        ending->tapped->repeats_data = true;
    }
    doubt_batch(ending->state, direction);
    direction->hole_at = direction->announced;
    direction->hole = direction->unannounced ? 0 : missing;
    direction->owed += missing;
    direction->unannounced = 0;
}

/* Ends a batch that has more bytes than the message announces. Returns whether data has come after
 * the message that announced it. */
static bool
end_long_batch(const batch_end_t *ending)
{
    smcr_tapped_direction_t *direction = ending->direction;
    bool has_copies = explain_by_copies(ending);
    bool is_late = !has_copies && explain_by_late_data(ending);
    bool is_explained = has_copies || is_late;

    if (!is_explained)
        doubt_batch(ending->state, direction);
    direction->unannounced = is_explained ? 0 : ending->excess;
    return is_late;
}

/* The order matters: end_short_batch() and end_long_batch() read `announced` as it was before this
 * message, and set `unannounced`, on which `has_left` depends. */
smcr_tapped_batch_t
smcr_tapped_end_batch(smcr_state_t *state, struct smcr_tapped *tapped,
                      smcr_tapped_direction_t *direction, uint64_t announced, uint32_t room)
{
    uint32_t seen = direction->unannounced;
    batch_end_t ending = {state, tapped, direction, room, 0};
    smcr_tapped_batch_t batch = {.is_doubtful = direction->has_left || announced != seen};

    if (announced > seen) {
        batch.missing = announced - seen;
        end_short_batch(&ending, batch.missing);
    } else if (announced < seen) {
        ending.excess = (uint32_t)(seen - announced);
        batch.is_late_data = end_long_batch(&ending);
    } else {
        if (direction->has_left)
            doubt_batch(state, direction);
        else
            prove_batch(&ending);
        direction->unannounced = 0;
    }
    direction->announced += announced;
    direction->has_left = direction->unannounced != 0;
    direction->batch_count = 0;
    return batch;
}
