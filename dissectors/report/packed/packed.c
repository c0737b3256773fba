/* Packs objects word by word. A word has 8 bytes. A packed word is a head and the low bytes of the
 * word, the lowest first, up to its highest byte that is not 0. The head has two numbers of four
 * bits: how many words of zeros come before this word, and how many bytes follow. Zeros at the end
 * of the object have no head.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packed.h"

#include "wire/wire.h"

/* ---- packed bytes ---- */

enum {
    WORD = sizeof(uint64_t),
    ZEROS_MOST = 15, /* words of zeros that a head can count */
    ROUND = 16,      /* packed bytes are allocated in multiples of this number */
};

/* Writes a head and `count` low bytes of a word. Returns where the next head goes. The 8 bytes
 * after the head are overwritten. */
static uint8_t *
write_word(uint8_t *to, unsigned zeros, unsigned count, uint64_t word)
{
    const uint64_t ordered = GUINT64_TO_LE(word);

    *to++ = (uint8_t)(zeros << 4 | count);
    memcpy(to, &ordered, WORD);
    return to + count;
}

/* Returns the number of bytes of a word, which is not 0, up to its highest byte that is not 0. */
static unsigned
significant_bytes(uint64_t word)
{
    unsigned count = 1;

    for (unsigned half = WORD / 2; half; half /= 2) {
        if (word >> 8 * half) {
            word >>= 8 * half;
            count += half;
        }
    }
    return count;
}

/* Packs the object into `bytes`, and returns how many bytes it took. */
static size_t
pack(uint8_t *bytes, const uint8_t *object, size_t size)
{
    uint8_t *to = bytes;
    unsigned zeros = 0;

    for (size_t at = 0; at < size; at += WORD) {
        uint64_t word;
        memcpy(&word, object + at, WORD);
        if (!word) {
            zeros++;
            continue;
        }
        for (; zeros > ZEROS_MOST; zeros -= ZEROS_MOST)
            to = write_word(to, ZEROS_MOST, 0, 0);
        to = write_word(to, zeros, significant_bytes(word), word);
        zeros = 0;
    }
    return (size_t)(to - bytes);
}

/* Packs the object of `size` bytes, in place of what `packed` had before. */
static void
keep(smcr_packed_t *packed, wmem_allocator_t *scope, const void *object, size_t size)
{
    uint8_t bytes[SMCR_PACKED_MOST / WORD * (1 + WORD) + WORD];
    size_t length = pack(bytes, object, size);

    if (length > packed->room) {
        wmem_free(scope, packed->bytes);
        packed->room = (uint16_t)((length + ROUND - 1) / ROUND * ROUND);
        packed->bytes = wmem_alloc(scope, packed->room);
    }
    if (length)
        memcpy(packed->bytes, bytes, length);
    packed->length = (uint16_t)length;
}

/* Unpacks: writes the object of `size` bytes, with the values that it had when it was packed, into
 * `object`. */
static void
restore(const smcr_packed_t *packed, void *object, size_t size)
{
    memset(object, 0, size);
    if (!packed->length) /* all zeros: there may be no `bytes` */
        return;
    const uint8_t *from = packed->bytes, *end = from + packed->length;
    uint8_t *to = object;
    while (from < end) {
        unsigned head = *from++, count = head & ZEROS_MOST;
        uint64_t word = 0;
        memcpy(&word, from, count);
        word = GUINT64_FROM_LE(word);
        to += (head >> 4) * WORD;
        from += count;
        if (!count) /* the head counts zeros only */
            continue;
        memcpy(to, &word, WORD);
        to += WORD;
    }
}

/* ---- memory ---- */

/* Frees the pool of packed bytes. Called when the memory of the desk is freed. */
static SMCR_WIRE_TYPEOF(((wmem_user_cb_t)NULL)(NULL, WMEM_CB_FREE_EVENT, NULL))
free_pool(wmem_allocator_t *scope, wmem_cb_event_t event, void *pool)
{
    (void)scope, (void)event;
    wmem_destroy_allocator(pool);
    return false;
}

/* Returns the memory pool for the packed bytes of an object that `scope` owns. Packed bytes grow
 * often, and leave holes. Objects that live as long as the desk share a pool in which nothing else
 * separates these holes, so that they join, and are used again. */
static wmem_allocator_t *
pool_of(smcr_packed_desk_t *desk, wmem_allocator_t *desk_scope, wmem_allocator_t *scope)
{
    if (scope != desk_scope)
        return scope;
    if (!desk->pool) {
        desk->pool = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK);
        wmem_register_callback(desk_scope, free_pool, desk->pool);
    }
    return desk->pool;
}

/* ---- open objects ---- */

/* Packs the object that is open in the slot, if there is one. */
static void
clear_slot(smcr_packed_desk_t *desk, unsigned slot)
{
    smcr_packed_object_t *object = desk->open[slot];

    if (!object)
        return;
    keep(&object->packed, object->scope, desk->slots + slot * desk->size, desk->size);
    object->slot = 0;
}

/* The object that was opened longest ago is packed, and its slot is given to this one. Pointers
 * into a slot are valid until another object gets the slot. */
void *
smcr_packed_open(smcr_packed_desk_t *desk, wmem_allocator_t *desk_scope,
                 smcr_packed_object_t *object, wmem_allocator_t *scope)
{
    unsigned slot = desk->next;

    if (object->slot)
        return desk->slots + (object->slot - 1) * desk->size;
    if (!desk->slots)
        desk->slots = wmem_alloc(desk_scope, SMCR_PACKED_OPEN * desk->size);
    clear_slot(desk, slot);
    desk->open[slot] = object;
    desk->next = (slot + 1) % SMCR_PACKED_OPEN;
    object->slot = slot + 1;
    object->scope = pool_of(desk, desk_scope, scope);
    restore(&object->packed, desk->slots + slot * desk->size, desk->size);
    return desk->slots + slot * desk->size;
}

void
smcr_packed_copy(const smcr_packed_desk_t *desk, const smcr_packed_object_t *object, void *copy)
{
    if (object->slot)
        memcpy(copy, desk->slots + (object->slot - 1) * desk->size, desk->size);
    else
        restore(&object->packed, copy, desk->size);
}

void
smcr_packed_forget(smcr_packed_desk_t *desk, smcr_packed_object_t *object)
{
    if (object->slot)
        desk->open[object->slot - 1] = NULL;
    object->slot = 0;
}
