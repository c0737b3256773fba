/* Says in words why a connection does not use SMC-R. The state decides it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "show.h"

#include "generated.h"

/* Which step of the handshake was the last one before a Decline. */
static const char *const steps[] = {
    "before any Proposal",
    [SMCR_CLC_PROPOSAL] = "after the Proposal",
    [SMCR_CLC_ACCEPT] = "after the Accept",
    [SMCR_CLC_CONFIRM] = "after the Confirm",
};

static const char *
decline_reason(wmem_allocator_t *scope, const smcr_fallback_t *fallback)
{
    const char *who = fallback->no_roles ? "one side" : fallback->by_server ? "the server"
                                                                            : "the client";

    const char *why = fallback->no_code
                          ? "the capture has cut off the reason"
                          : wmem_strdup_printf(scope, "%s (0x%08x)",
                                               smcr_value_decline_text(fallback->code,
                                                                       fallback->os),
                                               fallback->code);

    return wmem_strdup_printf(
        scope, "%s declined%s%s: %s%s%s%s", who, fallback->lacks_clc ? "" : " ",
        fallback->lacks_clc ? "" : steps[fallback->step], why,
        fallback->other_subnet ? "; the client has reached the server outside its own subnet" : "",
        fallback->no_roce ? "; the capture has no RoCE frame of the link" : "",
        fallback->lacks_clc ? "; the capture may lack CLC messages before that" : "");
}

static const char *
told_reason(wmem_allocator_t *scope, const smcr_fallback_t *fallback)
{
    const char *why = smcr_value_decline_text(fallback->code, 0);

    if (!fallback->peer_code)
        return wmem_strdup_printf(scope, "its host tells: %s (0x%08x)", why, fallback->code);
    return wmem_strdup_printf(scope,
                              "its host tells: %s (0x%08x), and the peer's reason: %s (0x%08x)",
                              why, fallback->code, smcr_value_decline_text(fallback->peer_code, 0),
                              fallback->peer_code);
}

const char *
smcr_show_fallback_reason(wmem_allocator_t *scope, const smcr_fallback_t *fallback)
{
    switch (fallback->kind) {
    case SMCR_FALLBACK_NO_OPTION:
        return "the server's SYN-ACK has no SMC-R option";
    case SMCR_FALLBACK_DECLINED:
        return decline_reason(scope, fallback);
    case SMCR_FALLBACK_TOLD:
        return told_reason(scope, fallback);
    case SMCR_FALLBACK_NO_ANSWER:
        if (fallback->lacks_clc)
            return "data follows on TCP; the capture may lack CLC messages that say why";
        return fallback->step == SMCR_CLC_ACCEPT
                   ? "data follows the Accept; no Confirm or Decline is in the capture"
                   : "data follows the Proposal; no Accept or Decline is in the capture";
    default:
        if (fallback->lacks_clc)
            return "data follows on TCP; the capture may lack CLC messages before it";
        return fallback->both_options
                   ? "both sides sent the SMC-R option, but no CLC message follows; a server or "
                     "middlebox may only echo the option"
                   : "no CLC message is in the capture, only one side's SMC-R option";
    }
}

void
smcr_show_fallback(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
{
    const char *reason = smcr_show_fallback_reason(pinfo->pool, &conn->fallback);
    proto_item *item = proto_tree_add_string(tree, hf_smcr_fallback_reason, NULL, 0, 0, reason);

    proto_item_set_generated(item);
    /* In front of what TCP or the application says of the frame. A Decline says it all itself. */
    if (conn->fallback.kind == SMCR_FALLBACK_NO_OPTION)
        col_prepend_fence_fstr(pinfo->cinfo, COL_INFO, "[No SMC-R option] ");
    else if (conn->fallback.kind != SMCR_FALLBACK_DECLINED)
        col_prepend_fence_fstr(pinfo->cinfo, COL_INFO, "[Falls back to TCP] ");
    smcr_item_raise(pinfo, item, &ei_smcr_fallback);
    smcr_record_t none = smcr_record_new();
    none.direction = smcr_handshake_from_client(pinfo, conn) ? 0 : 1;
    smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &none, .falls_back = conn});
}
