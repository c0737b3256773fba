/* peers.h
 * Who talks to whom over RoCE: what other rooms include.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_PEERS_PEERS_H
#define SMCR_FABRIC_PEERS_PEERS_H

#include "cm.h"
#include "cm_message.h"
#include "rdma.h"

#endif /* SMCR_FABRIC_PEERS_PEERS_H */
