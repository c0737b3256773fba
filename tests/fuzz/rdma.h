/* RoCE packets that are not SMC-R, made from a few bytes of the input each: between three hosts,
 * whose few queue pairs, ports and PSNs are used again all the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "input.h"

/* A new capture begins. */
void rdma_begin(void);

/* Sends the next packet. */
void rdma_send(input_t *input);
