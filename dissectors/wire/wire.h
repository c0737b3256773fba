/* Knows what is on the wire: codes, sizes, decoded structs, the rows of all messages (llc.def,
 * clc.def) and flags (cdc.def). Does not know the state or Wireshark. Every room may include this
 * header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "clc_codes.h"
#include "gid.h"
#include "immediate.h"
#include "llc_codes.h"
#include "messages.h"
#include "roce_codes.h"
