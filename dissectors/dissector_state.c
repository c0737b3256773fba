/* dissector_state.c
 * Makes a new state whenever Wireshark opens a file or dissects it anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "dissector_state.h"

#include "compat.h"

smcr_state_t *smcr_state;

static void
start_file(void)
{
    smcr_state = smcr_state_new(wmem_file_scope());
}

void
smcr_state_register(void)
{
    register_init_routine(start_file);
}
