/* stat_table.h
 * The tables of a report as Wireshark's tables (Statistics > SMC-R ..., -z smcr,connections).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

/* Called once, while Wireshark registers protocols. */
void smcr_report_register_tables(void);
