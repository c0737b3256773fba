/* payload.h
 * Knows the application's bytes: dissected as over TCP, Follow Stream, Export Objects. Does not
 * know what carried them. Called by packet/ only.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_PAYLOAD_PAYLOAD_H
#define SMCR_PAYLOAD_PAYLOAD_H

#include "as_tcp.h"
#include "heuristic_policy.h"
#include "export_streams.h"
#include "follow.h"

#endif /* SMCR_PAYLOAD_PAYLOAD_H */
