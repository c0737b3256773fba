/* LLC messages that announce and withdraw RMBs: CONFIRM RKEY and its continuation, DELETE RKEY (RFC
 * 7609 A.3.5 to A.3.7, net/smc/smc_llc.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "llc_messages.h"

#define MAX_OTHER_LINKS (SMCR_WIRE_LINKS_MAX - 1)

/* Offset and number of the RTokens for other links in a CONFIRM RKEY, and offset of the reserved
 * byte after them. */
#define CONFIRM_RTOKENS_AT 17
#define CONFIRM_RTOKENS 2
#define CONFIRM_RESERVED_AT 43

/* Offset and number of the RTokens in a CONFIRM RKEY CONTINUATION. */
#define CONT_RTOKENS_AT 5
#define CONT_RTOKENS 3

/* Offset of the RKeys in a DELETE RKEY, and offset of the reserved bytes after them (version 1
 * only). */
#define DELETE_RKEYS_AT 8
#define DELETE_RESERVED_AT 40

/* A.3.5 */
SMCR_LAYOUT(confirm_rkey, "CONFIRM RKEY", BODY(CONFIRM_RTOKENS_AT),
    KEEP(hf_smcr_llc_other_links, BODY(4), 1, smcr_llc_t, u.confirm_rkey.other_links),
    KEEP(hf_smcr_rkey, BODY(5), 4, smcr_llc_t, u.confirm_rkey.rkey),
    KEEP(hf_smcr_rmb_va, BODY(9), 8, smcr_llc_t, u.confirm_rkey.va));

/* CONFIRM RKEY CONTINUATION (A.3.6). In figure 38 the first RToken is a byte too short, and a
 * reserved byte is at the end, for which there is no room. */
SMCR_LAYOUT(confirm_rkey_cont, "CONFIRM RKEY CONTINUATION", BODY(CONT_RTOKENS_AT),
    KEEP(hf_smcr_llc_rtokens_left, BODY(4), 1, smcr_llc_t, u.confirm_rkey.other_links));

/* A.3.7 */
SMCR_LAYOUT(delete_rkey_v1, "DELETE RKEY", BODY(DELETE_RKEYS_AT),
    KEEP(hf_smcr_llc_rkey_count, BODY(4), 1, smcr_llc_t, u.delete_rkey.count),
    KEEP(hf_smcr_llc_error_mask, BODY(5), 1, smcr_llc_t, u.delete_rkey.error_mask),
    SHOW(hf_smcr_reserved, BODY(6), 2));

/* net/smc/smc_llc.c: struct smc_llc_msg_delete_rkey_v2 */
SMCR_LAYOUT(delete_rkey_v2, "DELETE RKEY v2", BODY(DELETE_RKEYS_AT),
    KEEP(hf_smcr_llc_rkey_count, BODY(4), 1, smcr_llc_t, u.delete_rkey.count),
    KEEP(hf_smcr_llc_invalid_rkeys, BODY(5), 1, smcr_llc_t, u.delete_rkey.error_mask),
    SHOW(hf_smcr_reserved, BODY(6), 2));

SMCR_LAYOUT(deleted_rkey, "RKey of DELETE RKEY", 4,
    KEEP(hf_smcr_rkey, 0, 4, smcr_rtoken_t, rkey));

static bool
is_negative(const smcr_message_llc_t *message)
{
    return message->response && (message->llc->flags & SMCR_LLC_FLAG_NEGATIVE);
}

/* Writes the text of a negative response, and raises its expert item. Does nothing for other
 * messages. */
static void
say_negative(const smcr_message_llc_t *message)
{
    if (!is_negative(message))
        return;
    smcr_say_remark(&message->walk, "negative");
    smcr_say_note(&message->walk, hf_smcr_llc_flags, &ei_smcr_llc_negative);
}

/* ---- CONFIRM RKEY ---- */

/* Checks flags and count of a CONFIRM RKEY: 1. only a negative response has the flag "retry"; 2.
 * the number of other links is possible in a link group; 3. in version 2, all RTokens have to fit
 * into the message, because there is no continuation. Case 1 is a note. Cases 2 and 3 are faults
 * (smcr_llc_raise_fault()): such bytes do not prove that a SEND is an LLC message. */
static void
check_confirm_rkey(const smcr_message_llc_t *message)
{
    uint8_t other_links = message->llc->u.confirm_rkey.other_links;

    if (message->response && (message->llc->flags & SMCR_LLC_FLAG_RETRY) && !is_negative(message))
        smcr_say_note_format(&message->walk, hf_smcr_llc_flags, &ei_smcr_llc_flags,
                             "Configuration retry is valid in negative responses only");
    if (other_links > MAX_OTHER_LINKS)
        smcr_llc_raise_fault(message, hf_smcr_llc_other_links, &ei_smcr_llc_limit);
    else if (message->v2 && other_links > CONFIRM_RTOKENS) /* version 2 has no continuation for
                                                              further RTokens */
        smcr_llc_raise_fault(message, hf_smcr_llc_other_links, &ei_smcr_llc_count);
}

/* RTokens that do not fit are in CONFIRM RKEY CONTINUATION, so the count may be more than the
 * number of RTokens here. */
unsigned
smcr_llc_confirm_rkey(const smcr_message_llc_t *message)
{
    const smcr_llc_confirm_rkey_t *confirm = &message->llc->u.confirm_rkey;

    if (!smcr_llc_walk_body(message, &confirm_rkey))
        return SMCR_MESSAGE_LLC_CUT;
    say_negative(message);
    smcr_say(&message->walk, "RKey", "RKey", "0x%08x", confirm->rkey);
    if (confirm->other_links)
        smcr_say(&message->walk, "OtherLinks", "RTokens for other links:", "%u",
                 confirm->other_links);
    check_confirm_rkey(message);
    if (message->response)
        smcr_llc_show_echo(message);

    unsigned next = smcr_llc_show_rtokens(message, SMCR_MESSAGE_RTOKEN_OF_LINK, CONFIRM_RTOKENS_AT,
                                          MIN(confirm->other_links, CONFIRM_RTOKENS), 0);
    next = smcr_llc_show_unused(message, next, CONFIRM_RESERVED_AT);
    return smcr_llc_show_reserved(message, next, SMCR_LLC_LENGTH);
}

/* The count includes the RTokens of this message and of later messages. */
unsigned
smcr_llc_confirm_rkey_cont(const smcr_message_llc_t *message)
{
    const smcr_llc_confirm_rkey_t *confirm = &message->llc->u.confirm_rkey;

    if (!smcr_llc_walk_body(message, &confirm_rkey_cont))
        return SMCR_MESSAGE_LLC_CUT;
    say_negative(message);
    smcr_say(&message->walk, "RTokensLeft", "RTokens left:", "%u", confirm->other_links);
    if (confirm->other_links == 0 || confirm->other_links > MAX_OTHER_LINKS)
        smcr_llc_raise_fault(message, hf_smcr_llc_rtokens_left, &ei_smcr_llc_limit);
    if (message->response)
        smcr_llc_show_echo(message);
    return smcr_llc_show_rtokens(message, SMCR_MESSAGE_RTOKEN_OF_LINK, CONT_RTOKENS_AT,
                                 MIN(confirm->other_links, CONT_RTOKENS), 0);
}

/* ---- DELETE RKEY ---- */

/* Returns how many RKeys fit into the message. A DELETE RKEY of version 1 has room for 8 RKeys at
 * most; in version 2 the length of the message decides. 0: the message ends within its first RKey,
 * or before it. */
static unsigned
rkey_room(const smcr_message_llc_t *message)
{
    unsigned end = message->v2 ? message->end : MIN(message->end, DELETE_RESERVED_AT);

    return end > DELETE_RKEYS_AT ? (end - DELETE_RKEYS_AT) / deleted_rkey.length : 0;
}

/* Whether a DELETE RKEY response of version 2 has zeros instead of RKeys, as far as it is captured.
 * Linux repeats the count of the request, but sets the RKeys to zero and shortens the message to 44
 * bytes. */
static bool
rkeys_are_zeroed(const smcr_message_llc_t *message)
{
    return message->v2 && message->response && message->end > DELETE_RKEYS_AT &&
           !smcr_layout_has_bits(message->walk.tvb, DELETE_RKEYS_AT,
                                 message->end - DELETE_RKEYS_AT);
}

/* Whether the message reports more RKeys as invalid than it has. Version 2 has a number of invalid
 * RKeys. Version 1 has a mask, whose highest bit is for the first RKey: with 3 RKeys the lower 5
 * bits have to be 0. */
static bool
errors_exceed_rkeys(const smcr_message_llc_t *message)
{
    const smcr_llc_delete_rkey_t *rkeys = &message->llc->u.delete_rkey;

    if (message->v2)
        return rkeys->error_mask > rkeys->count;
    return rkeys->count < SMCR_LLC_RKEYS_MAX && (rkeys->error_mask & 0xff >> rkeys->count);
}

/* Returns what is wrong with the error mask (v1) or the number of invalid RKeys (v2); NULL:
 * nothing. */
static const char *
errors_fault(const smcr_message_llc_t *message)
{
    const smcr_llc_delete_rkey_t *rkeys = &message->llc->u.delete_rkey;

    if (rkeys->error_mask && !is_negative(message))
        return "RKeys are reported as invalid, but this is not a negative response";
    if (errors_exceed_rkeys(message))
        return "More RKeys are reported as invalid than the message has";
    if (is_negative(message) && !rkeys->error_mask)
        return "The response is negative, but reports no RKey as invalid";
    return NULL;
}

/* Checks count and error mask of a DELETE RKEY. */
static void
check_delete_rkey(const smcr_message_llc_t *message)
{
    unsigned count = message->llc->u.delete_rkey.count;
    int hf_errors = message->v2 ? hf_smcr_llc_invalid_rkeys : hf_smcr_llc_error_mask;
    const char *fault = errors_fault(message);

    if (count == 0)
        smcr_llc_raise_fault(message, hf_smcr_llc_rkey_count, &ei_smcr_llc_limit);
    else if (count > rkey_room(message) && !rkeys_are_zeroed(message))
        smcr_llc_raise_fault(message, hf_smcr_llc_rkey_count, &ei_smcr_llc_count);
    if (fault)
        smcr_say_note_format(&message->walk, hf_errors, &ei_smcr_llc_error_mask, "%s", fault);
}

/* Whether the peer could not delete RKey number `i`, counted from 0. Only version 1 has a mask that
 * shows this. (A.3.7) */
static bool
rkey_is_not_deleted(const smcr_message_llc_t *message, unsigned i)
{
    uint8_t errors = message->llc->u.delete_rkey.error_mask;

    return !message->v2 && is_negative(message) && (errors & SMCR_LLC_ERROR_MASK_FIRST >> i);
}

/* Shows `count` RKeys, and stores them in llc->rtokens_in_message. They begin at DELETE_RKEYS_AT.
 * Returns the offset after them, or SMCR_MESSAGE_LLC_CUT. */
static unsigned
show_rkeys(const smcr_message_llc_t *message, unsigned count)
{
    smcr_llc_t *llc = message->llc;
    unsigned next = DELETE_RKEYS_AT;

    llc->rtokens_in_message = wmem_alloc0_array(message->walk.pinfo->pool, smcr_rtoken_t, count);
    for (unsigned i = 0; i < count; i++, next += deleted_rkey.length) {
        if (!smcr_layout_walk(&deleted_rkey, &message->walk, next, &llc->rtokens_in_message[i]))
            return SMCR_MESSAGE_LLC_CUT;
        llc->rtoken_count++;
        if (rkey_is_not_deleted(message, i))
            proto_item_append_text(smcr_layout_item(&message->walk, hf_smcr_rkey),
                                   " (not deleted)");
    }
    return next;
}

/* Writes the RKey if the message has exactly one RKey; if not, the number of RKeys. `count`: number
 * of RKeys that the message announces, which may be more than fit into the message; 0 if its RKeys
 * are zeros. */
static void
say_deleted_rkeys(const smcr_message_llc_t *message, unsigned count)
{
    const smcr_llc_t *llc = message->llc;

    if (llc->rtoken_count == 1 && count == 1)
        smcr_say(&message->walk, "RKey", "RKey", "0x%08x", llc->rtokens_in_message[0].rkey);
    else
        smcr_say(&message->walk, "RKeys", "RKeys:", "%u", llc->u.delete_rkey.count);
}

/* Shows the bytes after the RKeys, from offset `next` on. In version 2, these bytes are RKeys that
 * Linux has set to zero. In version 1, they are unused entries of the list, and reserved bytes. */
static unsigned
show_after_rkeys(const smcr_message_llc_t *message, unsigned next)
{
    unsigned announced_end =
        DELETE_RKEYS_AT + deleted_rkey.length * message->llc->u.delete_rkey.count;

    if (message->v2)
        return smcr_llc_show_unused(message, next, MIN(announced_end, message->end));
    next = smcr_llc_show_unused(message, next, DELETE_RESERVED_AT);
    return smcr_llc_show_reserved(message, next, SMCR_LLC_LENGTH);
}

/* If the RKeys of a response are all zeros (rkeys_are_zeroed()), they are not shown as RKeys. */
unsigned
smcr_llc_delete_rkey(const smcr_message_llc_t *message)
{
    if (!smcr_llc_walk_body(message, message->v2 ? &delete_rkey_v2 : &delete_rkey_v1))
        return SMCR_MESSAGE_LLC_CUT;
    say_negative(message);
    check_delete_rkey(message);
    bool zeroed = rkeys_are_zeroed(message);
    if (message->response && !zeroed)
        smcr_llc_show_echo(message);

    unsigned count = zeroed ? 0 : message->llc->u.delete_rkey.count;
    unsigned next = show_rkeys(message, MIN(count, rkey_room(message)));
    if (count > rkey_room(message))
        smcr_llc_drop_empty_rtokens(message->llc);
    say_deleted_rkeys(message, count);
    return show_after_rkeys(message, next);
}

SMCR_LAYOUT_LIST(llc_rkey, &confirm_rkey, &confirm_rkey_cont, &delete_rkey_v1, &delete_rkey_v2,
                 &deleted_rkey);
