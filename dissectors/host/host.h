/* Knows Wireshark, as the host of the plugin: the open file, preferences, hooks, IP headers, TCP
 * conversations. Does not know how packets are shown. Called by rooms on higher floors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "capture.h"
#include "clock.h"
#include "encapsulation.h"
#include "handshake.h"
#include "heuristic.h"
#include "hooks.h"
#include "ip_packet.h"
#include "preferences.h"
#include "tcp_segment.h"
#include "translation.h"
