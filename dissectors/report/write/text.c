/* text.c
 * Puts the sections of the page together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "text.h"

#include "text_page.h"

void
smcr_text_write(GString *text, const smcr_entry_report_t *report)
{
    smcr_page_t page = {
        .text = text, .report = report, .scope = wmem_allocator_new(WMEM_ALLOCATOR_BLOCK)};

    smcr_text_capture(&page);
    smcr_text_connections(&page);
    smcr_text_links(&page);
    smcr_text_waits(&page);
    smcr_text_fabric(&page);
    smcr_text_tcp(&page);
    smcr_text_findings(&page);
    wmem_destroy_allocator(page.scope);
}
