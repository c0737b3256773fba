/* Fuzzes the walker: tables of the fuzzer's own, sound ones and others, over messages that end or
 * are cut anywhere. It never throws, stores what the bytes say and nothing beside it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "message/layout.h"

#include <epan/epan_dissect.h>
#include <epan/exceptions.h>
#include <wiretap/wtap.h>

#include "../unit/layout_fault.h"
#include "input.h"
#include "session.h"

#define ROWS_MAX 24
#define MESSAGE_MAX 256
#define BASE_MAX 0x30000U /* offsets in messages have 16 bits, and few are added up */
#define GUARD 0xa5
#define KEEP_SLOT 32 /* bytes of the kept struct for each row */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int *const flag_bits[] = {&hf_smcr_cdc_sending_done, &hf_smcr_cdc_closed, &hf_smcr_cdc_abort,
                                 &hf_smcr_reserved_1f, NULL};

/* Fields that rows may have, and their widths; 0: any. */
static const struct {
    const int *hf;
    unsigned width;
    smcr_row_kind_t kind;
} fields[] = {
    {&hf_smcr_max_conns, 1, SMCR_ROW_SHOW}, {&hf_smcr_clc_length, 2, SMCR_ROW_SHOW},
    {&hf_smcr_qpn, 3, SMCR_ROW_SHOW},       {&hf_smcr_rkey, 4, SMCR_ROW_SHOW},
    {&hf_smcr_mac, 6, SMCR_ROW_SHOW},       {&hf_smcr_rmb_va, 8, SMCR_ROW_SHOW},
    {&hf_smcr_gid, 16, SMCR_ROW_SHOW},      {&hf_smcr_reserved, 0, SMCR_ROW_SHOW},
    {&hf_smcr_eid, 0, SMCR_ROW_TEXT},       {&hf_smcr_cdc_state, 1, SMCR_ROW_BITS},
};

static epan_dissect_t *dissection;

static unsigned
width_of(int hf)
{
    for (unsigned i = 0; i < array_length(fields); i++)
        if (*fields[i].hf == hf)
            return fields[i].width;
    return 0;
}

static smcr_row_t
pick_row(input_t *input, unsigned number, unsigned offset)
{
    uint8_t how = input_byte(input);
    unsigned field = how % array_length(fields), width = fields[field].width;
    smcr_row_t row = {
        .hf = fields[field].hf,
        .offset = (uint16_t)(how == 0xff ? input_byte(input) : offset),
        .length = (uint16_t)(width ? width : 1U + input_byte(input) % 40),
        .kind = fields[field].kind,
        .bits = flag_bits,
        .member = (uint16_t)(number * KEEP_SLOT),
    };

    if (how & 0x40 && row.length <= KEEP_SLOT) {
        row.keep = SMCR_KEEP_BYTES;
        row.member_size = row.length;
    } else if (how & 0x20 && row.length <= 8) {
        unsigned size = 1;
        while (size < row.length || (size < 8 && (input_byte(input) & 1)))
            size *= 2;
        row.keep = SMCR_KEEP_INTEGER;
        row.member_size = (uint16_t)size;
        row.peer_order = (how & 0x80) != 0;
    }
    return row;
}

static smcr_layout_t
pick_layout(input_t *input, smcr_row_t rows[ROWS_MAX])
{
    unsigned count = 1U + input_byte(input) % ROWS_MAX, length = 0;

    for (unsigned i = 0; i < count; i++) {
        rows[i] = pick_row(input, i, length);
        length += rows[i].length;
    }
    return (smcr_layout_t){.title = "fuzzed", .rows = rows, .count = count, .length = length};
}

/* What the row has to leave in the kept struct. */
static void
expect(const smcr_row_t *row, const uint8_t *bytes, bool little, uint8_t *kept)
{
    uint64_t value = 0;

    if (row->keep == SMCR_KEEP_BYTES)
        memcpy(kept + row->member, bytes, row->length);
    if (row->keep != SMCR_KEEP_INTEGER)
        return;
    for (unsigned i = 0; i < row->length; i++)
        value = value << 8 | bytes[little && row->peer_order ? row->length - 1U - i : i];
    uint8_t as[] = {(uint8_t)value};
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;
    const void *from = row->member_size == 1   ? (const void *)as
                       : row->member_size == 2 ? (const void *)&two
                       : row->member_size == 4 ? (const void *)&four
                                               : (const void *)&value;
    memcpy(kept + row->member, from, row->member_size);
}

/* Whether the message has all bytes of the layout, and all that were captured but for reserved rows
 * at its end. */
static bool
is_whole(const smcr_layout_t *layout, const smcr_layout_walk_t *walk, unsigned base,
         unsigned captured)
{
    unsigned needed = layout->count; /* rows before the reserved ones at the end */

    while (needed > 0 && layout->rows[needed - 1].hf == &hf_smcr_reserved)
        needed--;
    if (base + layout->length <= captured)
        return true;
    if (base + layout->length > tvb_reported_length(walk->tvb))
        return false;
    return needed == 0 || base + layout->rows[needed - 1].offset +
                                  layout->rows[needed - 1].length <= captured;
}

static void
check(const smcr_layout_t *layout, const smcr_layout_walk_t *walk, unsigned base,
      const uint8_t *bytes, unsigned captured)
{
    static uint8_t kept[ROWS_MAX * KEEP_SLOT], expected[sizeof kept];
    bool little = walk->peer_order == ENC_LITTLE_ENDIAN;
    volatile bool whole = false, threw = false;

    memset(kept, GUARD, sizeof kept);
    memset(expected, GUARD, sizeof expected);
    TRY {
        whole = smcr_layout_walk(layout, walk, base, kept);
    }
    CATCH_ALL {
        threw = true;
    }
    ENDTRY;
    require(!threw);
    require(whole == is_whole(layout, walk, base, captured));
    for (unsigned i = 0; i < layout->count; i++) {
        const smcr_row_t *row = &layout->rows[i];
        if (base + row->offset + row->length > captured)
            break;
        expect(row, bytes + base + row->offset, little, expected);
    }
    require(memcmp(kept, expected, sizeof kept) == 0);
}

int
LLVMFuzzerInitialize(int *argc _U_, char ***argv _U_)
{
    session_start();
    session_open(true);
    dissection = session_dissection();
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static smcr_row_t rows[ROWS_MAX];
    static frame_data frame = {.visited = 1}; /* the report has taken its items */
    input_t input = {data, size};
    uint8_t how = input_byte(&input);
    smcr_layout_t layout = pick_layout(&input, rows);
    unsigned base = how & 1 ? input_number(&input, 3) % BASE_MAX : how >> 4;
    input_t message = input_part(&input, MESSAGE_MAX);
    unsigned captured = (unsigned)message.left, reported = captured + (how & 2 ? how : 0U);

    if (layout_fault(&layout, width_of))
        return 0;
    uint8_t *bytes = g_malloc(captured ? captured : 1);
    memcpy(bytes, message.bytes, captured);
    tvbuff_t *tvb = tvb_new_real_data(bytes, captured, (int)reported);
    packet_info *pinfo = &dissection->pi;
    pinfo->fd = &frame;
    proto_item *top = proto_tree_add_item(dissection->tree, hf_smcr_reserved, tvb, 0, -1, ENC_NA);
    bool flawed = false;
    smcr_layout_walk_t walk = {
        .pinfo = pinfo,
        .tvb = tvb,
        .tree = how & 4 ? NULL : proto_item_add_subtree(top, ett_smcr),
        .peer_order = how & 8 ? ENC_LITTLE_ENDIAN : ENC_BIG_ENDIAN,
        .violation = how & 16 ? &flawed : NULL,
    };

    check(&layout, &walk, base, bytes, captured);
    static wtap_rec record;
    dissection->tvb = tvb; /* to be freed with the tree */
    dissection->pi.rec = &record;
    epan_dissect_reset(dissection);
    g_free(bytes);
    return 0;
}
