/* summary.c
 * The Info column, the message's line and its expert items, for CLC, LLC and CDC alike.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "summary.h"

/* Adds `text` to both, each with its own beginning. */
static void
add(const smcr_walk_t *walk, const char *info, const char *line, const char *text)
{
    if (info)
        col_append_fstr(walk->pinfo->cinfo, COL_INFO, "%s%s", info, text);
    if (line)
        proto_item_append_text(walk->top, "%s%s", line, text);
}

/* The text of the caller's format and arguments; returns where nothing is to be said. */
#define TEXT_OF(walk_, format_, text_) \
    if ((walk_)->flawed) \
        return; \
    va_list arguments; \
    va_start(arguments, format_); \
    const char *text_ = wmem_strdup_vprintf((walk_)->pinfo->pool, format_, arguments); \
    va_end(arguments)

void
smcr_say_info(const smcr_walk_t *walk, const char *format, ...)
{
    TEXT_OF(walk, format, text);
    add(walk, "", NULL, text);
}

void
smcr_say_line(const smcr_walk_t *walk, const char *format, ...)
{
    TEXT_OF(walk, format, text);
    add(walk, NULL, "", text);
}

void
smcr_say_both(const smcr_walk_t *walk, const char *format, ...)
{
    TEXT_OF(walk, format, text);
    add(walk, "", "", text);
}

void
smcr_say(const smcr_walk_t *walk, const char *key, const char *words, const char *format, ...)
{
    TEXT_OF(walk, format, text);
    add(walk, wmem_strdup_printf(walk->pinfo->pool, " %s=", key),
        wmem_strdup_printf(walk->pinfo->pool, ", %s ", words), text);
}

void
smcr_remark(const smcr_walk_t *walk, const char *format, ...)
{
    TEXT_OF(walk, format, text);
    add(walk, " ", ", ", text);
}

void
smcr_note(const smcr_walk_t *walk, proto_item *item, expert_field *expert)
{
    if (!walk->flawed)
        expert_add_info(walk->pinfo, item, expert);
}

void
smcr_note_format(const smcr_walk_t *walk, proto_item *item, expert_field *expert,
                 const char *format, ...)
{
    TEXT_OF(walk, format, text);
    expert_add_info_format(walk->pinfo, item, expert, "%s", text);
}
