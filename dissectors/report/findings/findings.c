/* findings.c
 * Asks each of those who find.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "findings.h"

#include "finder.h"
#include "flows.h"

void
smcr_findings_find(smcr_report_entry_t *report, const smcr_notice_t *notices, uint32_t notice_count,
                   wmem_allocator_t *scope)
{
    smcr_finder_t finder = {.report = report,
                            .notices = notices,
                            .notice_count = notice_count,
                            .scope = scope,
                            .found = wmem_array_new(scope, sizeof(smcr_found_t))};

    smcr_flows_find_homes(&finder);
    smcr_find_on_links(&finder);
    smcr_find_on_fabric(&finder);
    smcr_find_on_connections(&finder);
    smcr_find_on_readers(&finder);
    smcr_find_on_tcp(&finder);
    smcr_find_on_capture(&finder);
    smcr_find_on_notices(&finder);
    smcr_finder_close(&finder);
}
