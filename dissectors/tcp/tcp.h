/* tcp.h
 * Knows SMC-R on Wireshark's TCP: the option, CLC within the byte stream. Does not know RoCE.
 * Called by the entries for the option and CLC.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_TCP_TCP_H
#define SMCR_TCP_TCP_H

#include "clc_stream.h"
#include "option.h"

#endif /* SMCR_TCP_TCP_H */
