/* segment.c
 * Acknowledgements, FIN, RST and whatever else of a connection's TCP has no message of ours: a
 * filter for the connection finds them, and its rows count them. Nothing hands such a segment on to
 * a dissector, so that of TCP is wrapped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcp.h"

#include "fields.h"
#include "host/host.h"
#include "message/message.h"
#include "show/show.h"

#define TCP_FLAGS 13 /* where they are in its header */

static int
dissect_segment(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, void *data)
{
    unsigned shown = smcr_annotate_count();
    int used = smcr_handshake_original(tvb, pinfo, tree, data);
    bool is_wanted = tree && (proto_field_is_referenced(tree, hf_smcr_stream) ||
                             smcr_show_ends_are_wanted(tree));
    bool asked = (is_wanted || smcr_tap_is_heard()) && !pinfo->flags.in_error_pkt &&
                 pinfo->ptype == PT_TCP;
    const smcr_conn_t *conn = asked ? smcr_handshake_find(pinfo) : NULL;

    if (!conn || pinfo->num < conn->known_from)
        return used;
    smcr_tap_segment(pinfo, &(smcr_tap_segment_t){
                                .conn = conn,
                                .from_server = !smcr_handshake_from_client(pinfo, conn),
                                .flags = tvb_get_uint8(tvb, TCP_FLAGS)});
    if (is_wanted && shown == smcr_annotate_count())
        smcr_item_hide(smcr_annotate_segment(tvb, pinfo, tree, conn));
    return used;
}

void
smcr_tcp_segment_register(void)
{
    smcr_handshake_wrap(dissect_segment);
}
