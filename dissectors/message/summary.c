/* summary.c
 * The Info column, the message's line and its expert items, for CLC, LLC and CDC alike.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "summary.h"

#include "items.h"

/* The text of the caller's format and arguments; returns where nobody is to see it. */
#define TEXT_OF(walk_, format_, text_, seen_) \
    if ((walk_)->flawed || !(seen_)) \
        return; \
    va_list arguments; \
    va_start(arguments, format_); \
    const char *text_ = wmem_strdup_vprintf((walk_)->pinfo->pool, format_, arguments); \
    va_end(arguments)

void
smcr_say_behind(const smcr_layout_walk_t *walk, const char *info, const char *line,
                const char *format, ...)
{
    column_info *cinfo = walk->pinfo->cinfo;
    TEXT_OF(walk, format, text, (info && cinfo) || (line && walk->top));

    if (info && *info)
        col_append_str(cinfo, COL_INFO, info);
    if (info)
        col_append_str(cinfo, COL_INFO, text);
    if (line && walk->top)
        proto_item_append_text(walk->top, "%s%s", line, text);
}

void
smcr_say(const smcr_layout_walk_t *walk, const char *key, const char *words, const char *format,
         ...)
{
    column_info *cinfo = walk->pinfo->cinfo;
    TEXT_OF(walk, format, text, true);

    col_append_str(cinfo, COL_INFO, " ");
    col_append_str(cinfo, COL_INFO, key);
    col_append_str(cinfo, COL_INFO, "=");
    col_append_str(cinfo, COL_INFO, text);
    if (walk->top)
        proto_item_append_text(walk->top, ", %s %s", words, text);
}

void
smcr_say_trouble(const smcr_layout_walk_t *walk, const char *text)
{
    if (!walk->flawed)
        col_prepend_fence_fstr(walk->pinfo->cinfo, COL_INFO, "[%s] ", text);
}

void
smcr_say_note(const smcr_layout_walk_t *walk, int hf, expert_field *expert)
{
    if (!walk->flawed)
        smcr_item_raise(walk->pinfo, smcr_layout_item(walk, hf), expert);
}

void
smcr_say_note_format(const smcr_layout_walk_t *walk, int hf, expert_field *expert,
                     const char *format, ...)
{
    TEXT_OF(walk, format, text, true);
    smcr_item_raise_text(walk->pinfo, smcr_layout_item(walk, hf), expert, text);
}

void
smcr_say_extra_bytes(const smcr_layout_walk_t *walk, tvbuff_t *payload, unsigned from)
{
    unsigned captured = tvb_captured_length(payload);
    proto_item *item = walk->tree;

    if (from >= tvb_reported_length(payload))
        return;
    if (walk->flawed) {
        *walk->flawed = true;
        return;
    }
    if (captured > from)
        item = smcr_item_bytes(walk->pinfo, walk->tree, hf_smcr_extra_bytes, payload, from,
                               captured - from);
    smcr_item_raise(walk->pinfo, item, &ei_smcr_extra_bytes);
}
