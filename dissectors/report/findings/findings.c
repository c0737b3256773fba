/* findings.c
 * Asks each of those who find.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "findings.h"

#include "finder.h"

void
smcr_findings_find(smcr_entry_report_t *report, const smcr_figure_notice_t *notices,
                   uint32_t notice_count, wmem_allocator_t *scope)
{
    smcr_finder_t finder = {.report = report,
                            .notices = notices,
                            .notice_count = notice_count,
                            .scope = scope,
                            .found = wmem_array_new(scope, sizeof(smcr_finding_t)),
                            .owners = smcr_figure_flow_owners(report, scope)};

    smcr_finding_on_links(&finder);
    smcr_finding_on_fabric(&finder);
    smcr_finding_on_capture(&finder);
    smcr_finding_on_connections(&finder);
    smcr_finding_on_times(&finder);
    smcr_finding_on_tcp(&finder);
    smcr_finding_on_notices(&finder);
    smcr_finder_close(&finder);
}
