/* Knows how a user asks for a report: -z smcr,report, -z smcr,json, -z smcr,html, the window.
 * Counts nothing itself. Called by the plugin.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#pragma once

/* Called once, while Wireshark registers protocols. */
void smcr_report_register(void);

/* Called once, after all protocols have registered. */
void smcr_report_handoff(void);

/* ---- called by smcr_report_register() ---- */

/* Registers the tables of a report as Wireshark's tables (Statistics > SMC-R ..., -z
 * smcr,connections). Called once, while Wireshark registers protocols. */
void smcr_report_register_tables(void);
