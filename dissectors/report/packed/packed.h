/* Knows how an object that is not in use takes little memory: most members of an object are 0, or
 * small numbers, and these take no bytes or few. Knows neither what the members are nor Wireshark.
 * Called by the room that counts packets (report/collect/).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <wireshark.h>

#include <wsutil/wmem/wmem.h>

#define SMCR_PACKED_MOST 4096 /* largest size of an object, bytes */

/* The bytes of a packed object. All zeros: all bytes of the object are 0. */
typedef struct {
    uint8_t *bytes;  /* the packed bytes (packed.c); NULL: none */
    uint16_t length; /* number of `bytes` in use */
    uint16_t room;   /* number of `bytes` that are allocated */
} smcr_packed_t;

#define SMCR_PACKED_OPEN 64 /* number of objects that are open at the same time */

/* An object that is open while it is used, or packed. It may have pointers, but none to itself. All
 * zeros: all bytes of the object are 0. */
typedef struct {
    smcr_packed_t packed;    /* the object, as of when it was packed last */
    uint32_t slot;           /* 1 + index of the object among those that are open; 0: packed */
    wmem_allocator_t *scope; /* memory pool that owns `packed`; NULL: the object was never opened */
} smcr_packed_object_t;

/* The open objects of one kind. All zeros but `size`: none. */
typedef struct {
    size_t size;    /* size of an object: a multiple of 8, and SMCR_PACKED_MOST at most */
    uint8_t *slots; /* memory for SMCR_PACKED_OPEN open objects; NULL: none so far */
    unsigned next;  /* index of the slot that the next object gets */
    wmem_allocator_t *pool; /* memory pool of the packed bytes of objects that live as long as the
                               desk; NULL: none so far */
    smcr_packed_object_t *open[SMCR_PACKED_OPEN]; /* the open object of each slot; NULL: none */
} smcr_packed_desk_t;

/* Opens the object, and returns it. It stays open until SMCR_PACKED_OPEN packed objects have been
 * opened after it. `scope`: memory pool that owns the object, and `desk_scope` the one that owns
 * the open objects. */
void *smcr_packed_open(smcr_packed_desk_t *desk, wmem_allocator_t *desk_scope,
                       smcr_packed_object_t *object, wmem_allocator_t *scope);

/* Copies the object, open or packed, to `copy`. */
void smcr_packed_copy(const smcr_packed_desk_t *desk, const smcr_packed_object_t *object,
                      void *copy);

/* Forgets the object, whose memory will be freed. */
void smcr_packed_forget(smcr_packed_desk_t *desk, smcr_packed_object_t *object);
