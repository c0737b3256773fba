/* peers.h
 * Knows who talks to whom where no CLC says so: flows, source queue pairs and their grounds,
 * RDMA-CM and its states. Knows nothing of SMC-R or Wireshark. Called by the state only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_PEERS_PEERS_H
#define SMCR_FABRIC_PEERS_PEERS_H

#include "cm.h"
#include "rdma.h"

#endif /* SMCR_FABRIC_PEERS_PEERS_H */
