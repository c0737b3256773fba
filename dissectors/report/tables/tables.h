/* tables.h
 * Knows Wireshark's tables with rows made of a report (Statistics > SMC-R ..., -z
 * smcr,connections): connections, links, RMBs, fallbacks, fabric. Counts nothing itself. Called
 * when protocols register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

/* Called once, while Wireshark registers protocols. */
void smcr_tables_register(void);
