/* The check of layouts, for the unit test and the harness of libFuzzer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "message/layout.h"

static const char *
bits_fault(const smcr_row_t *row)
{
    uint64_t covered = 0;

    for (int *const *bit = row->bits; *bit; bit++) {
        uint64_t mask = proto_registrar_get_nth((unsigned)**bit)->bitmask;
        if (covered & mask)
            return "bits overlap";
        covered |= mask;
    }
    return covered == UINT64_MAX >> (64 - 8 * row->length) ? NULL : "bits are not covered";
}

/* What is wrong with a layout: a hole, an overlap, a length that is not its field's width, or bits
 * that are not covered. `width` gives a field's width in bytes, 0 when any will do. NULL: nothing
 * is. */
static const char *
layout_fault(const smcr_layout_t *layout, unsigned (*width)(int hf))
{
    unsigned next = 0;

    for (unsigned i = 0; i < layout->count; i++) {
        const smcr_row_t *row = &layout->rows[i];
        unsigned field_width = width(*row->hf);
        const char *fault = NULL;

        if (row->offset != next)
            return row->offset > next ? "hole between rows" : "rows overlap";
        if (row->length == 0 || (field_width && field_width != row->length))
            return "length is not the field's width";
        if (row->keep == SMCR_KEEP_BYTES && row->member_size != row->length)
            return "kept array has another length than its row";
        if (row->first_byte_hf && row->keep != SMCR_KEEP_NOT && row->member_size != 1)
            return "kept member of the first byte is no byte";
        if (row->keep == SMCR_KEEP_INTEGER && !row->first_byte_hf &&
            row->member_size < row->length)
            return "kept integer is too narrow";
        if (row->kind == SMCR_ROW_BITS)
            fault = bits_fault(row);
        else if (row->kind == SMCR_ROW_PART)
            fault = row->part->length == row->length ? layout_fault(row->part, width)
                                                     : "part has another length than its row";
        if (fault)
            return fault;
        next += row->length;
    }
    return next == layout->length ? NULL : "rows do not cover the layout";
}
