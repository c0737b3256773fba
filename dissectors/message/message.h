/* message.h
 * Bytes of messages to fields and to structs: what other rooms include.
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
