/* statistics.c
 * Registers each of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "statistics.h"

void
smcr_statistics_register(int proto)
{
    (void)proto;
}

void
smcr_statistics_handoff(void)
{
}
