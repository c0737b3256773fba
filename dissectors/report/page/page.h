/* Knows the page: a report as one HTML file that needs no network, with tables, and with pictures
 * over time. Adds no figure: the page embeds the report's JSON, and the pictures. Called by
 * report/.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

#include "report/figures/figures.h"
#include "report/series/series.h"

/* Appends the page to `html`: the figures of `report`, and the pictures of `series`. */
void smcr_html_append(GString *html, const smcr_entry_report_t *report, smcr_series_t *series);

/* Chooses the connections of which the next page has pictures: half of them by the time that they
 * lost, the others by the bytes that they carried, as an earlier `report` of the file has it. */
void smcr_html_choose(smcr_series_t *series, const smcr_entry_report_t *report);
