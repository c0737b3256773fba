/* response_times.h
 * Service Response Time: how long the steps of the CLC handshake take, LLC requests, and cursor
 * updates that somebody has asked for in CDC.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATISTICS_RESPONSE_TIMES_H
#define SMCR_STATISTICS_RESPONSE_TIMES_H

/* Called once, while Wireshark registers protocols. `proto`: SMC-R. */
void smcr_statistics_response_times_register(int proto);

#endif /* SMCR_STATISTICS_RESPONSE_TIMES_H */
