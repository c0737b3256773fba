/* statistics.c
 * Registers each of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "statistics.h"

#include "conversation_filters.h"
#include "message_tree.h"
#include "response_times.h"

void
smcr_statistics_register(int proto)
{
    smcr_response_times_register(proto);
    smcr_conversation_filters_register();
}

void
smcr_statistics_handoff(void)
{
    smcr_message_tree_handoff();
}
