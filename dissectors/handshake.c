/* handshake.c
 * Hangs our connection on Wireshark's TCP conversation, and claims the conversation for CLC.
 *
 * The claim is what makes CLC visible on port 80: Wireshark asks heuristics only after the
 * dissectors of well-known ports. It costs nothing where no CLC follows, since the CLC dissector
 * hands back whatever is not CLC.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "handshake.h"

#include "fields.h"

dissector_handle_t smcr_clc_handle;

smcr_conn_t *
smcr_handshake_find(packet_info *pinfo)
{
    conversation_t *conversation = find_conversation_pinfo(pinfo, 0);

    return conversation ? conversation_get_proto_data(conversation, proto_smcr) : NULL;
}

smcr_conn_t *
smcr_handshake_claim(packet_info *pinfo)
{
    conversation_t *conversation = find_or_create_conversation(pinfo);
    smcr_conn_t *conn = conversation_get_proto_data(conversation, proto_smcr);

    if (!conn) {
        conn = wmem_new0(wmem_file_scope(), smcr_conn_t);
        conversation_add_proto_data(conversation, proto_smcr, conn);
        conversation_set_dissector_from_frame_number(conversation, pinfo->num, smcr_clc_handle);
    }
    return conn;
}
