/* tables.h
 * Tables of connections, links, RMBs, fallbacks and flows: Statistics > SMC-R ... in the window,
 * -z smcr,connections and so on in tshark, nstat:smcr,connections in sharkd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_REPORT_TABLES_TABLES_H
#define SMCR_REPORT_TABLES_TABLES_H

/* Called once, while Wireshark registers protocols. */
void smcr_tables_register(void);

#endif /* SMCR_REPORT_TABLES_TABLES_H */
