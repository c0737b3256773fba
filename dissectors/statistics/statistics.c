/* statistics.c
 * Registers each of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "statistics.h"

#include "compat.h"

#include <epan/conversation_table.h>

#include "conversations.h"
#include "endpoint_rows.h"
#include "flow_graph.h"
#include "kept.h"

void
smcr_statistics_register(int proto)
{
    smcr_kept_register();
    register_conversation_table(proto, true, smcr_conversations_take, smcr_endpoint_rows_take);
    smcr_flow_graph_register(proto);
}

void
smcr_statistics_handoff(void)
{
}
