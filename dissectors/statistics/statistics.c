/* statistics.c
 * Registers what stands in the menus.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "statistics.h"

#include "conn_rows.h"

void
smcr_statistics_register(int proto)
{
    smcr_statistics_kept_register();
    smcr_conversations_register(proto);
    smcr_graph_register(proto);
    smcr_statistics_response_times_register(proto);
    smcr_conversation_filters_register();
}
