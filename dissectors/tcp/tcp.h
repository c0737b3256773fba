/* tcp.h
 * SMC-R on Wireshark's TCP: what other rooms include.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_TCP_TCP_H
#define SMCR_TCP_TCP_H

#include "clc_stream.h"
#include "option.h"

#endif /* SMCR_TCP_TCP_H */
