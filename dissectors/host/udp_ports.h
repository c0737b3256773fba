/* udp_ports.h
 * RoCEv2 packets whose UDP source port belongs to another protocol: leads them to InfiniBand's
 * dissector.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_HOST_UDP_PORTS_H
#define SMCR_HOST_UDP_PORTS_H

/* Called once, when protocols register, after UDP. */
void smcr_udp_ports_register(void);

/* Called once, after all protocols have registered. */
void smcr_udp_ports_handoff(void);

/* The file has SMC-R: from now on, packets to its queue pairs are looked for. */
void smcr_udp_ports_watch(void);

#endif /* SMCR_HOST_UDP_PORTS_H */
