/* kept.h
 * What a table or a graph of Wireshark needs to remember between two packets. Wireshark owns the
 * table, and tells us neither that it is emptied nor that it is gone: each packet finds by the
 * table's address what is kept of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATISTICS_KEPT_H
#define SMCR_STATISTICS_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include <wireshark.h>
#include <wsutil/wmem/wmem.h>

typedef struct {
    wmem_allocator_t *scope; /* of what `data` leads to */
    void *data;              /* all zeros in the beginning */
} smcr_statistics_kept_t;

/* What is kept of a table; it is forgotten when the file is closed. `is_empty`: nothing is in the
 * table yet, or it has been emptied: then nothing is kept of it, either. `size`: of `data`, the
 * same for each table of a kind, bytes. */
smcr_statistics_kept_t *smcr_statistics_kept_of(const void *table, bool is_empty, size_t size);

/* Called once, while Wireshark registers protocols. */
void smcr_statistics_kept_register(void);

#endif /* SMCR_STATISTICS_KEPT_H */
