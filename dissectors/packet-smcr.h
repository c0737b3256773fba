/* The three dissectors of SMC-R, which plugin.c registers. Each dissector has a file of its own,
 * packet-smcr-*.c. The comment at the head of the file says what the dissector dissects, by which
 * sections of RFC 7609, and what its limitations are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

/* Registration: each function is called once, after TCP and InfiniBand have registered. */
void smcr_dissector_tcpopt_register(void);
void smcr_dissector_roce_register(void);

/* Hand-off: each function is called once, after all protocols have registered. */
void smcr_dissector_tcpopt_handoff(void);
void smcr_dissector_clc_handoff(void);
void smcr_dissector_roce_handoff(void);
