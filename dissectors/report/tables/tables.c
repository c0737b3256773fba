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
#define KIND(name) &smcr_table_of_##name,
    static const smcr_table_kind_t *const kinds[] = {SMCR_TABLES(KIND)};
    static smcr_table_t tables[G_N_ELEMENTS(kinds)];

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++)
        smcr_table_register(&tables[i], kinds[i]);
}
