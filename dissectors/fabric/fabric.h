/* fabric.h
 * How packets fared, and which RDMA connections there are: what other rooms include.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_FABRIC_FABRIC_H
#define SMCR_FABRIC_FABRIC_H

#include "cm.h"
#include "cm_message.h"
#include "rdma.h"
#include "traffic.h"
#include "unacked.h"

#endif /* SMCR_FABRIC_FABRIC_H */
