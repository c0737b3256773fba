/* Lines of the page of text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "text_lines.h"

#include <stdarg.h>

glong
smcr_text_width(const char *text)
{
    return g_utf8_strlen(text, -1);
}

void
smcr_text_pad(GString *text, glong columns)
{
    for (; columns > 0; columns--)
        g_string_append_c(text, ' ');
}

/* Returns how many bytes of the text fit into a line of `columns` characters, at least 1. A text
 * that does not fit is broken before a space; if it has no space there, it is broken within a word.
 * `columns`: 1 at least. */
static size_t
that_fits(const char *text, glong columns)
{
    const char *end = NULL, *at = text;

    if (smcr_text_width(text) <= columns)
        return strlen(text);
    for (glong column = 0; column <= columns; column++, at += g_utf8_skip[(uint8_t)*at])
        if (*at == ' ' && at != text)
            end = at;
    return (size_t)((end ? end : g_utf8_prev_char(at)) - text);
}

/* The mark is never broken. Spaces at which a line ends are left out. An empty text does not end
 * the line. */
void
smcr_text_item(const smcr_text_page_t *page, const char *mark, glong indent, const char *text)
{
    glong before = smcr_text_width(mark);

    g_string_append(page->text, mark);
    while (*text) {
        size_t length = that_fits(text, page->width - before);
        g_string_append_len(page->text, text, (gssize)length);
        g_string_append_c(page->text, '\n');
        text += length;
        text += strspn(text, " ");
        if (*text)
            smcr_text_pad(page->text, indent);
        before = indent;
    }
}

/* Text that does not fit into one line continues in indented ones (smcr_text_item()). The mark is
 * SMCR_TEXT_INDENT blanks. The text is not empty: an empty text would not end the line. */
void
smcr_text_line(const smcr_text_page_t *page, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    smcr_text_item(page, "  ", SMCR_TEXT_INDENT,
                   wmem_strdup_vprintf(page->scope, format, arguments));
    va_end(arguments);
}
