/* tables.c
 * All tables that there are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tables.h"

#include "table_kinds.h"

void
smcr_tables_register(void)
{
    static smcr_table_t connections, links, rmbs, fallbacks, fabric;

    smcr_table_register(&connections, &smcr_table_of_connections);
    smcr_table_register(&links, &smcr_table_of_links);
    smcr_table_register(&rmbs, &smcr_table_of_rmbs);
    smcr_table_register(&fallbacks, &smcr_table_of_fallbacks);
    smcr_table_register(&fabric, &smcr_table_of_fabric);
}
