/* notices.c
 * Counts expert items. They come before the packet that they are about, in the same frame.
 *
 * In the first pass over a capture an item that later packets have to bear out does not come. What
 * claims it is kept, and asked when the report is drawn.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "notices.h"

#include <string.h>

#include "host/host.h"
#include "message/message.h"

#define PREFIX "smcr."

/* An item of the frame whose packet has not come yet. */
typedef struct {
    smcr_figure_notice_t notice;
    bool blamed;
} pending_t;

/* An event that later packets have to bear out. */
typedef struct {
    const smcr_event_t *event;
    smcr_figure_role_t by;
    smcr_when_t when;
} claimed_t;

struct smcr_notices {
    wmem_allocator_t *scope;
    wmem_array_t *kinds;   /* smcr_figure_notice_t */
    wmem_array_t *claimed; /* claimed_t */
    pending_t *pending;
    unsigned pending_count, pending_room;
};

smcr_collect_notices_t *
smcr_collect_notices_new(wmem_allocator_t *scope)
{
    smcr_collect_notices_t *notices = wmem_new0(scope, smcr_collect_notices_t);

    notices->scope = scope;
    notices->kinds = wmem_array_new(scope, sizeof(smcr_figure_notice_t));
    notices->claimed = wmem_array_new(scope, sizeof(claimed_t));
    return notices;
}

void
smcr_collect_notices_take(smcr_collect_notices_t *notices, smcr_when_t when,
                          const expert_info_t *item)
{
    const header_field_info *field =
        item->hf_index > 0 ? proto_registrar_get_nth((unsigned)item->hf_index) : NULL;

    if (!field || strncmp(field->abbrev, PREFIX, strlen(PREFIX)) != 0)
        return;
    if (notices->pending_count == notices->pending_room) {
        notices->pending_room = 2 * notices->pending_room + 4;
        notices->pending = wmem_realloc(notices->scope, notices->pending,
                                        notices->pending_room * sizeof(pending_t));
    }
    notices->pending[notices->pending_count++] = (pending_t){
        {field->abbrev, item->severity, item->group, SMCR_FIGURE_ROLE_NONE, item->summary, 1, when},
        false};
}

/* The role of who has sent the packet. */
static smcr_figure_role_t
sender_of(const smcr_record_t *record)
{
    const smcr_lgr_t *lgr = record->link ? record->link->lgr : NULL;

    if (record->direction >= 0)
        return record->direction ? SMCR_FIGURE_ROLE_SERVER : SMCR_FIGURE_ROLE_CLIENT;
    if (!smcr_evidence_knows_server(lgr) || record->sender < 0)
        return SMCR_FIGURE_ROLE_NONE;
    return record->sender == lgr->server ? SMCR_FIGURE_ROLE_SERVER : SMCR_FIGURE_ROLE_CLIENT;
}

void
smcr_collect_notices_blame(smcr_collect_notices_t *notices, const smcr_tap_t *packet)
{
    smcr_figure_role_t by = sender_of(packet->record);

    for (unsigned i = notices->pending_count; i > 0 && !notices->pending[i - 1].blamed; i--) {
        notices->pending[i - 1].notice.by = by;
        notices->pending[i - 1].blamed = true;
    }
}

void
smcr_collect_notices_claim(smcr_collect_notices_t *notices, smcr_when_t when,
                           const smcr_tap_t *packet)
{
    for (const smcr_event_t *event = packet->record->events; event; event = event->next)
        if (event->claim)
            wmem_array_append_one(notices->claimed,
                                  ((claimed_t){event, sender_of(packet->record), when}));
}

/* ---- counting ---- */

static smcr_figure_notice_t *
find(wmem_array_t *kinds, const smcr_figure_notice_t *wanted)
{
    for (unsigned i = 0; i < wmem_array_get_count(kinds); i++) {
        smcr_figure_notice_t *kind = wmem_array_index(kinds, i);
        if (strcmp(kind->filter, wanted->filter) == 0 && kind->severity == wanted->severity &&
            kind->by == wanted->by)
            return kind;
    }
    return NULL;
}

/* One more: its text lives as long as `scope`. */
static void
count(wmem_array_t *kinds, wmem_allocator_t *scope, smcr_figure_notice_t one)
{
    smcr_figure_notice_t *kind = find(kinds, &one);

    if (!kind) {
        one.text = wmem_strdup(scope, one.text);
        wmem_array_append_one(kinds, one);
        return;
    }
    kind->count += one.count;
    if (one.first.frame < kind->first.frame) {
        kind->first = one.first;
        kind->text = wmem_strdup(scope, one.text);
    }
}

void
smcr_collect_notices_end_frame(smcr_collect_notices_t *notices)
{
    for (unsigned i = 0; i < notices->pending_count; i++)
        count(notices->kinds, notices->scope, notices->pending[i].notice);
    notices->pending_count = 0;
}

/* ---- reporting ---- */

static void
count_claimed(wmem_array_t *kinds, wmem_allocator_t *scope, const claimed_t *claimed)
{
    const smcr_item_expert_row_t *row =
        smcr_item_expert_row(smcr_show_event_expert(claimed->event));

    if (row->strict && !smcr_items_strict)
        return;
    if (smcr_doubt_proof_holds(smcr_capture_state(), claimed->event->claim))
        count(kinds, scope,
              (smcr_figure_notice_t){row->filter, row->severity, row->group, claimed->by,
                                     claimed->event->text, 1, claimed->when});
}

static int
by_frame(const void *one, const void *other)
{
    const smcr_figure_notice_t *a = one, *b = other;

    return (a->first.frame > b->first.frame) - (a->first.frame < b->first.frame);
}

const smcr_figure_notice_t *
smcr_collect_notices_all(const smcr_collect_notices_t *notices, wmem_allocator_t *scope,
                         uint32_t *number)
{
    wmem_array_t *kinds = wmem_array_new(scope, sizeof(smcr_figure_notice_t));
    unsigned claims = wmem_array_get_count(notices->claimed);

    if (wmem_array_get_count(notices->kinds))
        wmem_array_append(kinds, wmem_array_get_raw(notices->kinds),
                          wmem_array_get_count(notices->kinds));
    for (unsigned i = 0; i < claims; i++)
        count_claimed(kinds, scope, wmem_array_index(notices->claimed, i));
    if (claims)
        wmem_array_sort(kinds, by_frame);
    *number = wmem_array_get_count(kinds);
    return wmem_array_get_raw(kinds);
}

void
smcr_collect_notices_report_breaches(const smcr_collect_notices_t *notices,
                                     smcr_figure_list_t *list, wmem_allocator_t *scope)
{
    uint32_t number;
    const smcr_figure_notice_t *notice = smcr_collect_notices_all(notices, scope, &number);

    for (uint32_t i = 0; i < number; i++, notice++) {
        if (!smcr_item_is_breach(notice->group, notice->severity))
            continue;
        smcr_entry_breach_t *entry =
            smcr_figure_list_add(list, scope, &smcr_entry_breach_description);
        entry->kind = notice->filter + strlen(PREFIX);
        entry->by = notice->by;
        entry->count = notice->count;
        entry->frame = notice->first;
    }
}
