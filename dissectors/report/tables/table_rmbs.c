/* table_rmbs.c
 * A row for each RMB of each side.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "table_kinds.h"

/* "1:0x00232a55 2:0x00232a6a": link and RKey. */
static const char *
rkeys_of(wmem_allocator_t *scope, const smcr_entry_rmb_t *rmb)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    for (uint32_t i = 0; i < rmb->rkeys.length; i++) {
        const smcr_entry_rmb_rkey_t *rkey = rmb->rkeys.entries[i];
        wmem_strbuf_append(text, i ? " " : "");
        if (rkey->link != SMCR_FIGURE_UNKNOWN)
            wmem_strbuf_append_printf(text, "%" PRIu64 ":", rkey->link);
        wmem_strbuf_append(text, rkey->rkey);
    }
    return rmb->rkeys.length ? wmem_strbuf_get_str(text) : NULL;
}

/* "0,3,4": numbers of connections. */
static const char *
streams_of(wmem_allocator_t *scope, const smcr_entry_rmb_t *rmb)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, "");

    for (uint32_t i = 0; i < rmb->streams.length; i++)
        wmem_strbuf_append_printf(text, "%s%" PRIu64, i ? "," : "", rmb->streams.numbers[i]);
    return rmb->streams.length ? wmem_strbuf_get_str(text) : NULL;
}

#define COLUMNS(TEXT, NUMBER, SECONDS, FRAME, QPN) \
    NUMBER("LG-ID", 0, group->index) \
    TEXT("Owner", 6, smcr_figure_role_words[rmb->owner]) \
    NUMBER("Size", 7, rmb->size_bytes) \
    TEXT("VA", 18, rmb->va) \
    TEXT("RKeys", 12, rkeys_of(rows->scope, rmb)) \
    FRAME("Confirmed in", 0, rmb->confirmed_frame) \
    FRAME("Deleted in", 0, rmb->deleted_frame) \
    NUMBER("#Conns", 0, rmb->streams.length) \
    TEXT("Streams", 0, streams_of(rows->scope, rmb))

static void
fill(smcr_table_rows_t *rows, const smcr_entry_report_t *report)
{
    SMCR_FIGURE_EACH(link_group, group, report->link_groups) {
        SMCR_FIGURE_EACH(rmb, rmb, group->rmbs) {
            SMCR_TABLE_CELLS(COLUMNS)
            smcr_table_row_end(rows);
        }
    }
}

SMCR_TABLE(rmbs, "SMC-R RMBs");
