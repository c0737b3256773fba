/* Searches sorted lists.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <stdint.h>

/* Returns the key of entry `index` of the list. */
typedef uint64_t smcr_sorted_key_t(const void *list, uint32_t index);

/* Returns the index of the first entry whose key is `least` or higher; `count` if there is none.
 * `list`: argument of `key_of`; its `count` entries are in ascending order of their keys. */
static inline uint32_t
smcr_sorted_first(const void *list, uint32_t count, smcr_sorted_key_t *key_of, uint64_t least)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (key_of(list, middle) < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
