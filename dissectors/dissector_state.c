/* dissector_state.c
 * Makes a new state whenever Wireshark opens a file or dissects it anew.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "dissector_state.h"

smcr_state_t *smcr_state;

static void
start_file(void)
{
    smcr_state = smcr_state_new(wmem_file_scope());
}

static void
end_file(void)
{
    smcr_state_free(smcr_state);
    smcr_state = NULL;
}

smcr_when_t
smcr_when(const packet_info *pinfo)
{
    uint64_t seconds = (uint64_t)MAX(pinfo->abs_ts.secs, 0);

    return (smcr_when_t){pinfo->num, seconds * 1000000000U + (uint64_t)pinfo->abs_ts.nsecs};
}

void
smcr_state_register(void)
{
    register_init_routine(start_file);
    register_cleanup_routine(end_file);
}
