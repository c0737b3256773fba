/* fallback.c
 * Decides, in the frame that proves it, that a connection does not use SMC-R, and says why.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "fallback.h"

#include "fields.h"
#include "follow.h"
#include "handshake.h"
#include "values.h"
#include "wire/clc_codes.h"

static void
fall_back(smcr_conn_t *conn, packet_info *pinfo, smcr_fallback_t kind, const char *reason)
{
    if (conn->fallback)
        return;
    conn->fallback = (uint8_t)kind;
    conn->fallback_frame = pinfo->num;
    conn->fallback_reason = reason;
}

/* Which step of the handshake was the last one before. */
static const char *
step(const smcr_conn_t *conn)
{
    if (conn->confirm_frame)
        return "after the Confirm";
    if (conn->accept_frame)
        return "after the Accept";
    return conn->proposal_frame ? "after the Proposal" : "before any Proposal";
}

/* Network order, as 32 bits. */
static uint32_t
ipv4(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Words when the Proposal proves that the server is not in the client's IPv4 subnet, else "". */
static const char *
subnet_mismatch(const smcr_conn_t *conn)
{
    unsigned bits = conn->subnet_length;

    if (!conn->has_subnet || !conn->ipv4 || bits == 0 || bits > 32)
        return "";
    uint32_t mask = UINT32_MAX << (32 - bits);
    uint32_t client = ipv4(conn->addr.ipv4[0]) & mask;
    uint32_t server = ipv4(conn->addr.ipv4[1]) & mask;
    return client == server ? "" : "; the server's address is not in the client's subnet";
}

/* Words when the handshake was complete, but the link has not shown itself, else "". */
static const char *
no_roce(const smcr_conn_t *conn)
{
    const smcr_link_t *link = conn->confirm_frame ? conn->side[0].link : NULL;

    return link && link->packet_count == 0 ? "; the capture has no RoCE frame of the link" : "";
}

void
smcr_fallback_declined(smcr_conn_t *conn, packet_info *pinfo, const smcr_clc_t *decline)
{
    unsigned version = smcr_bits(decline->header.flags, SMCR_MASK_VERSION);
    unsigned os = version >= 2 ? smcr_bits(decline->u.decline.os, SMCR_MASK_OS) : 0;
    uint32_t code = decline->u.decline.diagnosis;
    const char *who = smcr_handshake_from_client(pinfo, conn) ? "client" : "server";

    if (conn->fallback)
        return;
    fall_back(conn, pinfo, SMCR_FALLBACK_DECLINED,
              wmem_strdup_printf(wmem_file_scope(), "the %s declined %s: %s (0x%08x)%s%s", who,
                                 step(conn), smcr_decline_text(code, os), code,
                                 subnet_mismatch(conn), no_roce(conn)));
}

void
smcr_fallback_data(smcr_conn_t *conn, packet_info *pinfo)
{
    if (conn->confirm_frame || conn->fallback)
        return;
    if (conn->accept_frame)
        fall_back(conn, pinfo, SMCR_FALLBACK_NO_ANSWER,
                  "data follows the Accept; no Confirm or Decline is in the capture");
    else if (conn->proposal_frame)
        fall_back(conn, pinfo, SMCR_FALLBACK_NO_ANSWER,
                  "data follows the Proposal; no Accept or Decline is in the capture");
    else if (conn->option_syn && conn->option_synack)
        fall_back(conn, pinfo, SMCR_FALLBACK_NO_CLC,
                  "both sides sent the SMC-R option, but no CLC message follows; a server or "
                  "middlebox may only echo the option");
    else
        fall_back(conn, pinfo, SMCR_FALLBACK_NO_CLC,
                  "no CLC message is in the capture, only one side's SMC-R option");
}

void
smcr_fallback_no_option(smcr_conn_t *conn, packet_info *pinfo)
{
    fall_back(conn, pinfo, SMCR_FALLBACK_NO_OPTION, "the server's SYN-ACK has no SMC-R option");
}

void
smcr_fallback_show(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
{
    proto_item *reason = proto_tree_add_string(tree, hf_smcr_fallback_reason, tvb, 0, 0,
                                               conn->fallback_reason);

    proto_item_set_generated(reason);
    expert_add_info_format(pinfo, reason, &ei_smcr_fallback,
                           "The connection falls back to TCP: %s", conn->fallback_reason);
    smcr_follow_fell_back(pinfo, conn);
}
