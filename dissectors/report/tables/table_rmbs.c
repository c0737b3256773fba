/* table_rmbs.c
 * A row for each RMB of each side.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "table_kinds.h"

/* "1:0x00232a55 2:0x00232a6a": link and RKey. */
static const char *
rkeys_of(wmem_allocator_t *scope, const smcr_rmb_entry_t *rmb)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    for (uint32_t i = 0; i < rmb->rkeys.length; i++) {
        const smcr_rmb_rkey_entry_t *rkey = rmb->rkeys.entries[i];
        wmem_strbuf_append(text, i ? " " : "");
        if (rkey->link != SMCR_UNKNOWN)
            wmem_strbuf_append_printf(text, "%" PRIu64 ":", rkey->link);
        wmem_strbuf_append(text, rkey->rkey);
    }
    return rmb->rkeys.length ? wmem_strbuf_get_str(text) : NULL;
}

/* "0,3,4": numbers of connections. */
static const char *
streams_of(wmem_allocator_t *scope, const smcr_rmb_entry_t *rmb)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    for (uint32_t i = 0; i < rmb->streams.length; i++)
        wmem_strbuf_append_printf(text, "%s%" PRIu64, i ? "," : "", rmb->streams.numbers[i]);
    return rmb->streams.length ? wmem_strbuf_get_str(text) : NULL;
}

#define COLUMNS(TEXT, NUMBER, SECONDS, FRAME, QPN) \
    NUMBER("LG-ID", 0, group->index) \
    TEXT("Owner", 6, smcr_role_words[rmb->owner]) \
    NUMBER("Size", 7, rmb->size_bytes) \
    TEXT("VA", 18, rmb->va) \
    TEXT("RKeys", 12, rkeys_of(rows->scope, rmb)) \
    FRAME("Confirmed in", 0, rmb->confirmed_frame) \
    FRAME("Deleted in", 0, rmb->deleted_frame) \
    NUMBER("#Conns", 0, rmb->streams.length) \
    TEXT("Streams", 0, streams_of(rows->scope, rmb))

static void
fill(smcr_rows_t *rows, const smcr_report_entry_t *report)
{
    for (uint32_t i = 0; i < report->link_groups.length; i++) {
        const smcr_link_group_entry_t *group = report->link_groups.entries[i];
        for (uint32_t n = 0; n < group->rmbs.length; n++) {
            const smcr_rmb_entry_t *rmb = group->rmbs.entries[n];
            SMCR_CELLS(COLUMNS)
            smcr_row_end(rows);
        }
    }
}

static const smcr_column_t columns[] = {SMCR_COLUMNS(COLUMNS)};

const smcr_table_kind_t smcr_table_of_rmbs = {"smcr,rmbs", "SMC-R RMBs", columns,
                                              G_N_ELEMENTS(columns), fill};
