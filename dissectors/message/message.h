/* message.h
 * Knows how bytes become fields and structs: layouts, their walker, CLC, LLC, CDC, and which SENDs
 * prove themselves. Does not know connections. Called by every room that learns or shows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_MESSAGE_MESSAGE_H
#define SMCR_MESSAGE_MESSAGE_H

#include "cdc.h"
#include "clc.h"
#include "items.h"
#include "layout.h"
#include "llc.h"
#include "recognise.h"

#endif /* SMCR_MESSAGE_MESSAGE_H */
