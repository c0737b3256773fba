/* notices.c
 * Counts expert items. They come before the packet that they are about, in the same frame.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "notices.h"

#include <string.h>

#include "message/message.h"

#define PREFIX "smcr."

/* An item of the frame whose packet has not come yet. */
typedef struct {
    const char *filter, *text;
    int severity, group;
    const char *by;
    bool blamed;
    smcr_when_t when;
} pending_t;

struct smcr_notices {
    wmem_allocator_t *scope;
    wmem_array_t *kinds; /* smcr_notice_t */
    pending_t *pending;
    unsigned pending_count, pending_room;
};

smcr_notices_t *
smcr_notices_new(wmem_allocator_t *scope)
{
    smcr_notices_t *notices = wmem_new0(scope, smcr_notices_t);

    notices->scope = scope;
    notices->kinds = wmem_array_new(scope, sizeof(smcr_notice_t));
    return notices;
}

void
smcr_notices_take(smcr_notices_t *notices, smcr_when_t when, const expert_info_t *item)
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
        .filter = field->abbrev,
        .text = item->summary,
        .severity = item->severity,
        .group = item->group,
        .when = when,
    };
}

/* The role of who has sent the packet; NULL: not known. */
static const char *
sender_of(const smcr_record_t *record)
{
    const smcr_lgr_t *lgr = record->link ? record->link->lgr : NULL;

    if (record->direction >= 0)
        return record->direction ? "server" : "client";
    if (!lgr || lgr->server == SMCR_SIDE_UNKNOWN || record->sender < 0)
        return NULL;
    return record->sender == lgr->server ? "server" : "client";
}

void
smcr_notices_blame(smcr_notices_t *notices, const smcr_tap_t *packet)
{
    const char *by = sender_of(packet->record);

    for (unsigned i = notices->pending_count; i > 0 && !notices->pending[i - 1].blamed; i--) {
        notices->pending[i - 1].by = by;
        notices->pending[i - 1].blamed = true;
    }
}

static smcr_notice_t *
find(const smcr_notices_t *notices, const pending_t *pending)
{
    for (unsigned i = 0; i < wmem_array_get_count(notices->kinds); i++) {
        smcr_notice_t *notice = wmem_array_index(notices->kinds, i);
        if (strcmp(notice->filter, pending->filter) == 0 &&
            notice->severity == pending->severity && g_strcmp0(notice->by, pending->by) == 0)
            return notice;
    }
    return NULL;
}

static void
count(smcr_notices_t *notices, const pending_t *pending)
{
    smcr_notice_t *notice = find(notices, pending);

    if (notice) {
        notice->count++;
        return;
    }
    smcr_notice_t first = {
        .filter = pending->filter,
        .severity = pending->severity,
        .group = pending->group,
        .by = pending->by,
        .text = wmem_strdup(notices->scope, pending->text),
        .count = 1,
        .first = pending->when,
    };
    wmem_array_append_one(notices->kinds, first);
}

void
smcr_notices_end_frame(smcr_notices_t *notices)
{
    for (unsigned i = 0; i < notices->pending_count; i++)
        count(notices, &notices->pending[i]);
    notices->pending_count = 0;
}

const smcr_notice_t *
smcr_notices_all(const smcr_notices_t *notices, uint32_t *number)
{
    *number = wmem_array_get_count(notices->kinds);
    return wmem_array_get_raw(notices->kinds);
}

void
smcr_notices_report_breaches(const smcr_notices_t *notices, smcr_list_t *list,
                             wmem_allocator_t *scope)
{
    for (unsigned i = 0; i < wmem_array_get_count(notices->kinds); i++) {
        const smcr_notice_t *notice = wmem_array_index(notices->kinds, i);

        if (!smcr_is_breach(notice->group, notice->severity))
            continue;
        smcr_breach_entry_t *entry = smcr_list_add(list, scope, &smcr_breach_description);
        entry->kind = notice->filter + strlen(PREFIX);
        entry->by = notice->by;
        entry->count = notice->count;
        entry->frame = notice->first;
    }
}
