/* Texts for the reasons of fallbacks to TCP. The state decides whether a connection has fallen back
 * to TCP, and for which reason.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */

#include "show.h"

#include "generated.h"

/* Names of the last handshake step before a Decline, by the type of the last CLC message. */
static const char *const steps[] = {
    "before any Proposal",
    [SMCR_CLC_PROPOSAL] = "after the Proposal",
    [SMCR_CLC_ACCEPT] = "after the Accept",
    [SMCR_CLC_CONFIRM] = "after the Confirm",
};

/* Returns which side sent the Decline: "one side" if it is not known which end is the client. */
static const char *
decliner(const smcr_fallback_t *fallback)
{
    if (fallback->roles_unknown)
        return "one side";
    return fallback->by_server ? "the server" : "the client";
}

/* Returns the diagnosis of the Decline as text, such as "IPsec is in use (0x03020000)". If the
 * diagnosis was not captured, the text says so. */
static const char *
decline_code_text(wmem_allocator_t *scope, const smcr_fallback_t *fallback)
{
    if (fallback->code_cut)
        return "reason truncated by snaplen";
    return wmem_strdup_printf(scope, "%s (0x%08x)",
                              smcr_value_decline_text(fallback->code, fallback->os),
                              fallback->code);
}

/* Returns a text such as "the server declined after the Proposal: reason", with other possible
 * causes after it. If CLC messages may be missing, the last step before the Decline is not
 * known. */
static const char *
decline_reason(wmem_allocator_t *scope, const smcr_fallback_t *fallback)
{
    wmem_strbuf_t *text = wmem_strbuf_new(scope, decliner(fallback));

    wmem_strbuf_append(text, " declined");
    if (!fallback->clc_may_be_missing)
        wmem_strbuf_append_printf(text, " %s", steps[fallback->step]);
    wmem_strbuf_append_printf(text, ": %s", decline_code_text(scope, fallback));
    if (fallback->outside_subnet)
        wmem_strbuf_append(text, "; the server is outside the subnet of the client");
    if (fallback->roce_missing)
        wmem_strbuf_append(text, "; no RoCE packet of the link is captured");
    if (fallback->clc_may_be_missing)
        wmem_strbuf_append(text, "; earlier CLC messages may be missing");
    return wmem_strbuf_get_str(text);
}

/* Returns the text for a fallback without a Decline: no answer to a CLC message is captured, and
 * application data follows on TCP. */
static const char *
no_answer_reason(const smcr_fallback_t *fallback)
{
    if (fallback->clc_may_be_missing)
        return "data follows on TCP; the CLC messages with the reason may be missing";
    if (fallback->step == SMCR_CLC_ACCEPT)
        return "data follows the Accept; no Confirm or Decline is captured";
    return "data follows the Proposal; no Accept or Decline is captured";
}

/* Returns the text for a fallback without CLC: the SMC-R option of a SYN is captured, but no CLC
 * message. */
static const char *
no_clc_reason(const smcr_fallback_t *fallback)
{
    if (fallback->clc_may_be_missing)
        return "data follows on TCP; earlier CLC messages may be missing";
    if (fallback->both_options)
        return "both sides sent the SMC-R option, but no CLC message follows; a server or "
               "middlebox may only reflect it, or a firewall may remove it after the capture point";
    return "no CLC message is captured, only the SMC-R option of one side";
}

/* Returns the text for a fallback that a host reports over netlink: its reason, and the reason of
 * its peer if the host reports this reason, too. */
static const char *
told_reason(wmem_allocator_t *scope, const smcr_fallback_t *fallback)
{
    const char *why = smcr_value_decline_text(fallback->code, 0);

    if (!fallback->peer_code)
        return wmem_strdup_printf(scope, "%s (0x%08x), as a host reports", why, fallback->code);
    return wmem_strdup_printf(scope,
                              "%s (0x%08x), and the peer's reason: %s (0x%08x), as a host reports",
                              why, fallback->code, smcr_value_decline_text(fallback->peer_code, 0),
                              fallback->peer_code);
}

/* The texts name the evidence of the fallback, and no cause that the capture does not prove.
 * SMCR_FALLBACK_NO_CLC is the default. */
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
        return no_answer_reason(fallback);
    default:
        return no_clc_reason(fallback);
    }
}

/* The tap gets an empty record with the direction of the frame, since TCP carries the frame. */
void
smcr_show_fallback(packet_info *pinfo, proto_tree *tree, const smcr_conn_t *conn)
{
    const char *reason = smcr_show_fallback_reason(pinfo->pool, &conn->fallback);
    proto_item *item = proto_tree_add_string(tree, hf_smcr_fallback_reason, NULL, 0, 0, reason);

    proto_item_set_generated(item);
    /* The remark is put before the text of TCP or of the application. A Decline gets no remark,
     * since its own text shows the fallback. */
    if (conn->fallback.kind == SMCR_FALLBACK_NO_OPTION)
        col_prepend_fence_fstr(pinfo->cinfo, COL_INFO, "[No SMC-R option] ");
    else if (conn->fallback.kind != SMCR_FALLBACK_DECLINED)
        col_prepend_fence_fstr(pinfo->cinfo, COL_INFO, "[Falls back to TCP] ");
    smcr_item_raise(pinfo, item, &ei_smcr_fallback);
    smcr_record_t none = smcr_record_new();
    none.direction = smcr_handshake_from_client(pinfo, conn) ? 0 : 1;
    smcr_tap_packet(pinfo, &(smcr_tap_t){.record = &none, .falls_back = conn});
}
