/* packet-smcr-roce.c
 * 3. RoCE and InfiniBand packets: reads their headers, has them learned, and has those that are
 * ours shown. A wrapper in front of InfiniBand's dissector does that; our payload heuristic shows
 * what the wrapper has decided, and decides where the wrapper has stepped aside or does not reach
 * (hooks.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet-smcr.h"

#include "host/host.h"
#include "roce/roce.h"

SMCR_DISSECTOR_WRAPPER(bth, smcr_carrier_dissect, SMCR_HOOKS_BTH)
SMCR_DISSECTOR_WRAPPER(grh, smcr_carrier_dissect, SMCR_HOOKS_GRH)
SMCR_DISSECTOR_WRAPPER(lrh, smcr_carrier_dissect, SMCR_HOOKS_LRH)

void
smcr_dissector_roce_register(void)
{
    static const dissector_t wrappers[SMCR_HOOKS_STARTS] = {dissect_bth, dissect_grh, dissect_lrh};

    smcr_hooks_register(wrappers);
    smcr_udp_ports_register();
}

void
smcr_dissector_roce_handoff(void)
{
    smcr_carrier_handoff();
    smcr_hooks_handoff(smcr_carrier_payload, smcr_carrier_builtin);
    smcr_udp_ports_handoff();
}
