/* selected.c
 * Looks up the selected packet, as it was learned in the first pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "selected.h"

#include "capture.h"
#include "handshake.h"

bool
smcr_selected_record(const packet_info *pinfo, smcr_record_t *record)
{
    const smcr_state_t *state = smcr_capture_state();

    if (!state || !smcr_record_find(state, pinfo->num, SMCR_RECORD_OUTERMOST, record))
        return false;
    *record = smcr_record_now(record);
    return true;
}

/* An error of ICMP leaves the ports of what it quotes behind. */
static bool
is_error(const packet_info *pinfo)
{
    return proto_is_frame_protocol(pinfo->layers, "icmp") ||
           proto_is_frame_protocol(pinfo->layers, "icmpv6");
}

const smcr_conn_t *
smcr_selected_conn(packet_info *pinfo)
{
    bool of_file = smcr_capture_state() && !is_error(pinfo);
    const smcr_conn_t *conn = of_file ? smcr_handshake_find(pinfo) : NULL;
    smcr_record_t record;

    if (!conn && smcr_selected_record(pinfo, &record))
        conn = record.conn;
    return conn;
}
