/* Listens as Follow Stream, Export Objects, the report and the statistics do, but to all
 * connections of a capture at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "compat.h"

/* Once per process. */
void taps_start(void);

/* As if the user had selected the packet: menus ask for its filters. */
void taps_select(packet_info *pinfo);

/* Forgets what has come, after a look at it. `draw`: reports and tables are made of it, too. */
void taps_reset(bool draw);

/* From now on reports are drawn as JSON only, or as text only; before the first call, as both. */
void taps_draw_either(bool json);
