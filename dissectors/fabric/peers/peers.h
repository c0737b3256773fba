/* peers.h
 * Knows who talks to whom where no CLC says so: flows, source queue pairs and their grounds,
 * RDMA-CM and its states. Knows nothing of SMC-R or Wireshark. Called by the state only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "cm.h"
#include "rdma.h"
