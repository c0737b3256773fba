/* packet-smcr-roce.c: SMC-R on RoCE
 *
 * SMC-R on RDMA over Converged Ethernet (RoCE): LLC messages, CDC messages and RDMA WRITEs on
 * reliably connected queue pairs (RFC 7609 4, A.3, A.4; InfiniBand Architecture Specification,
 * volume 1, chapter 9; SMCv2 as in Linux, net/smc/smc_llc.h, smc_cdc.h).
 *
 * What is dissected:
 * - Packets of RoCEv2 (UDP), RoCEv1 (Ethernet) and InfiniBand. A wrapper runs before InfiniBand's
 * dissector: it reads the headers, and lets packet/ learn the packet. InfiniBand's dissector then
 * shows the headers, and offers the payload to the heuristic smcr_roce_dissect_payload(), which
 * shows the message.
 * - Queue pairs of SMC-R are those that CLC and LLC name. On other queue pairs a SEND that keeps
 * every rule of LLC or CDC proves SMC-R.
 * - The data of RDMA WRITEs goes to the dissectors that would get it over TCP (payload/).
 * - RoCE of other programs with the preference smcr.roce (docs/roce.md).
 *
 * Rooms: roce/carrier.c decides which packets are SMC-R, roce/headers.c reads their headers,
 * host/hooks.c has the wrappers, packet/ learns and shows. Preferences, all registered in
 * host/preferences.c: smcr.check_icrc, smcr.roce, smcr.builtin_too.
 *
 * Limitations: - After 1000 packets of no interest the wrapper may step aside (host/hooks.c). Then
 * only the heuristic is called, until the first sign of SMC-R. The heuristic sees no
 * acknowledgement. - An RDMA WRITE proves nothing by itself. Without CLC, its data belongs to no
 * connection until a CDC message comes. - A message of several packets is not reassembled if the
 * snaplen truncates one of the packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "packet-smcr.h"

#include "host/host.h"
#include "roce/roce.h"

SMCR_HOOKS_WRAPPER(bth, smcr_roce_dissect, SMCR_HOOKS_BTH)
SMCR_HOOKS_WRAPPER(grh, smcr_roce_dissect, SMCR_HOOKS_GRH)
SMCR_HOOKS_WRAPPER(lrh, smcr_roce_dissect, SMCR_HOOKS_LRH)

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
    smcr_roce_handoff();
    smcr_hooks_handoff(smcr_roce_dissect_payload, smcr_roce_dissect_builtin);
    smcr_udp_ports_handoff();
}
