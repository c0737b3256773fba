/* wire.h
 * What messages and transport headers are on the wire: what other rooms include.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_WIRE_WIRE_H
#define SMCR_WIRE_WIRE_H

#include "cdc_codes.h"
#include "clc_codes.h"
#include "cm_codes.h"
#include "gid.h"
#include "llc_codes.h"
#include "messages.h"
#include "roce_codes.h"
#include "sizes.h"

#endif /* SMCR_WIRE_WIRE_H */
