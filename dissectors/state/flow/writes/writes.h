/* Knows what RDMA WRITEs show: their requests and places, the space that their writer has, and what
 * waits and losses cost the connections. Does not know LLC or CDC messages. Called by state/flow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "cost.h"
#include "orphan.h"
#include "window.h"
#include "write.h"
