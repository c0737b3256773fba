/* Knows the frames that findings rest on, and shows these frames as smcr.finding.
 *
 * Findings are found at the end of a pass, so only later passes show them:
 * - Wireshark calls no listeners in the first of two passes (tshark -2). So the first pass feeds a
 *   collection itself, if somebody asks for smcr.finding: a display filter or a colour rule names
 *   the field, or the preference smcr.findings is on. A page asks for the report of the first pass
 *   only, and for no marks.
 * - In a program with windows, every report of all packets sets the marks, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "report/collect/assembly/collection.h"

/* Returns a report of the collection, with its findings, allocated in `scope`; valid as long as a
 * report of smcr_collection_report(). Stores the frames of the findings in `*frames`: as
 * smcr_findings_find() returns them. `filter`: as for smcr_collection_report(). */
smcr_entry_report_t *smcr_listener_report(smcr_collection_t *collection, const char *filter,
                                          wmem_allocator_t *scope, wmem_array_t **frames);

/* Marks the frames of a report's findings; replaces all marks. `frames`: from smcr_findings_find().
 * Texts are copied. */
void smcr_listener_marks_set(const smcr_entry_report_t *report, wmem_array_t *frames);

/* Collects each first pass from now on, and passes its report to `watch` after the last frame. */
void smcr_listener_marks_watch(void (*watch)(const smcr_entry_report_t *report, void *context),
                               void *context);

/* Whether the first pass has begun to collect: somebody asks for smcr.finding, or watches the first
 * pass. The collection points to connections. */
bool smcr_listener_marks_collect(void);

/* Registers the postdissector that shows marks, and the functions by which the first pass is
 * collected. Called once, at start. */
void smcr_listener_marks_register(void);
