/* show.h
 * Knows how a record becomes fields, expert items, the Info column and the tap. Learns nothing: it
 * reads. Called by packet/ and the transports; listeners include it for the tap.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_SHOW_SHOW_H
#define SMCR_SHOW_SHOW_H

#include "annotate.h"
#include "end_names.h"
#include "events.h"
#include "fallback.h"
#include "info.h"
#include "rdma_connection.h"
#include "rdma_write.h"
#include "source_port.h"
#include "tap.h"

#endif /* SMCR_SHOW_SHOW_H */
