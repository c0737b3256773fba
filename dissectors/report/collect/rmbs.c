/* rmbs.c
 * Reads the RMBs of a link group from the state: what a message that the report has seen tells of
 * them (RFC 7609 4.2, A.3.3, A.3.5 to A.3.7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "rmbs.h"

#include <stdlib.h>

/* A connection that names an RMB in a CLC message. */
typedef struct {
    const smcr_rmb_t *rmb;
    uint32_t frame;
    uint32_t stream;
    uint32_t size; /* of its element, bytes */
} rmb_use_t;

/* What CLC messages say of an RMB. */
typedef struct {
    smcr_figure_numbers_t streams;
    uint32_t size;
} named_t;

typedef struct {
    const smcr_collect_frame_times_t *times;
    wmem_allocator_t *scope;
    wmem_map_t *named; /* smcr_rmb_t -> named_t */
} rmb_reporter_t;

static bool
has_seen(const rmb_reporter_t *reporter, uint32_t frame)
{
    return frame && smcr_collect_frame_times_find(reporter->times, frame).frame;
}

/* ---- connections ---- */

static int
by_frame(const void *one, const void *other)
{
    const rmb_use_t *a = one, *b = other;

    return (a->frame > b->frame) - (a->frame < b->frame);
}

static void
add_stream(const rmb_reporter_t *reporter, const rmb_use_t *use)
{
    named_t *named = wmem_map_lookup(reporter->named, use->rmb);

    if (!named) {
        named = wmem_new0(reporter->scope, named_t);
        wmem_map_insert(reporter->named, use->rmb, named);
    }
    named->size = use->size;
    smcr_figure_numbers_add(&named->streams, reporter->scope, use->stream);
}

/* The server names its RMB in CLC Accept, the client in CLC Confirm. */
static void
find_streams(const rmb_reporter_t *reporter, const smcr_lgr_t *lgr)
{
    wmem_array_t *uses = wmem_array_new(reporter->scope, sizeof(rmb_use_t));

    for (const smcr_conn_t *conn = lgr->conns; conn; conn = conn->next_of_group) {
        for (int side = 0; side < 2; side++) {
            uint32_t frame = side == lgr->server ? conn->accept_frame : conn->confirm_frame;
            const smcr_conn_side_t *named = &conn->side[side];
            if (named->rmb && has_seen(reporter, frame))
                wmem_array_append_one(
                    uses, ((rmb_use_t){named->rmb->first, frame, conn->index, named->size}));
        }
    }
    wmem_array_sort(uses, by_frame);
    for (unsigned i = 0; i < wmem_array_get_count(uses); i++)
        add_stream(reporter, wmem_array_index(uses, i));
}

/* ---- RMBs ---- */

/* In the order in which they were told. */
static void
report_rkeys(const rmb_reporter_t *reporter, const smcr_rmb_rtoken_t *rtoken,
             smcr_entry_rmb_t *entry)
{
    if (!rtoken)
        return;
    report_rkeys(reporter, smcr_rmb_rtoken_next(rtoken), entry);
    const smcr_link_t *link = rtoken->owner->link;
    if (!entry->va)
        entry->va = smcr_figure_hex_text(reporter->scope, rtoken->va, 8);
    if (link->state == SMCR_LINK_REJECTED)
        return; /* it never was one */
    smcr_entry_rmb_rkey_t *rkey =
        smcr_figure_list_add(&entry->rkeys, reporter->scope, &smcr_entry_rmb_rkey_description);
    rkey->link = link->has_number ? link->number : SMCR_FIGURE_UNKNOWN;
    rkey->rkey = smcr_figure_hex_text(reporter->scope, rtoken->rkey, 4);
}

static void
report_rmb(const rmb_reporter_t *reporter, const smcr_rmb_t *rmb, smcr_figure_list_t *list)
{
    const named_t *named = wmem_map_lookup(reporter->named, rmb);

    if (!named && !has_seen(reporter, rmb->confirm_frame))
        return;
    smcr_entry_rmb_t *entry =
        smcr_figure_list_add(list, reporter->scope, &smcr_entry_rmb_description);
    if (rmb->lgr->server != SMCR_LGR_SIDE_UNKNOWN)
        entry->owner =
            rmb->side == rmb->lgr->server ? SMCR_FIGURE_ROLE_SERVER : SMCR_FIGURE_ROLE_CLIENT;
    entry->confirmed_frame = smcr_collect_frame_times_find(reporter->times, rmb->confirm_frame);
    entry->deleted_frame = smcr_collect_frame_times_find(reporter->times, rmb->delete_frame);
    if (named) {
        entry->size_bytes = named->size;
        entry->streams = named->streams;
    }
    report_rkeys(reporter, rmb->rtokens, entry);
}

void
smcr_collect_rmbs_report(const smcr_lgr_t *lgr, const smcr_collect_frame_times_t *times,
                         smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    rmb_reporter_t reporter = {times, scope, wmem_map_new(scope, g_direct_hash, g_direct_equal)};
    wmem_array_t *rmbs = wmem_array_new(scope, sizeof(const smcr_rmb_t *));

    find_streams(&reporter, lgr);
    for (const smcr_rmb_t *rmb = lgr->rmbs; rmb; rmb = rmb->older)
        if (rmb->first == rmb)
            wmem_array_append_one(rmbs, rmb);
    for (unsigned i = wmem_array_get_count(rmbs); i > 0; i--)
        report_rmb(&reporter, *(const smcr_rmb_t **)wmem_array_index(rmbs, i - 1), list);
}
