/* LLC messages that add and delete links: CONFIRM LINK, ADD LINK and its continuation, DELETE LINK,
 * REQUEST ADD LINK (RFC 7609 A.3.1 to A.3.4, net/smc/smc_llc.c).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "llc_messages.h"

/* An ADD LINK of SMCv2 has an extension with RTokens after its 44 bytes: offsets in the message,
 * and the highest number of RTokens. */
#define EXTENSION_AT SMCR_LLC_LENGTH
#define EXTENSION_RTOKENS_AT 72
#define RKEYS_MAX 255 /* Linux: SMC_LLC_RKEYS_PER_MSG_V2 */

/* An ADD LINK CONTINUATION has room for two RTokens, and reserved bytes after them. */
#define CONT_RTOKENS_AT 8
#define CONT_RTOKENS 2
#define CONT_RESERVED_AT 40

#define GIDS_AT 28 /* offset of the GIDs in a REQUEST ADD LINK, bytes */
#define MAC_AT 4   /* offset of the MAC address in CONFIRM LINK and ADD LINK, bytes */

/* ---- layouts ---- */

/* A.3.1 */
#define CONFIRM_LINK_ROWS \
    KEEP(hf_smcr_mac, BODY(4), 6, smcr_llc_t, u.confirm_link.mac), \
    KEEP_ALSO(hf_smcr_llc_gid, hf_smcr_gid, BODY(10), 16, smcr_llc_t, u.confirm_link.gid), \
    KEEP_ALSO(hf_smcr_llc_qpn, hf_smcr_qpn, BODY(26), 3, smcr_llc_t, u.confirm_link.qpn), \
    KEEP(hf_smcr_llc_link_number, BODY(29), 1, smcr_llc_t, u.confirm_link.link), \
    KEEP(hf_smcr_link_user_id, BODY(30), 4, smcr_llc_t, u.confirm_link.user_id), \
    KEEP(hf_smcr_max_links, BODY(34), 1, smcr_llc_t, u.confirm_link.max_links)

SMCR_LAYOUT(confirm_link_v1, "CONFIRM LINK", BODY(SMCR_LLC_LENGTH),
    CONFIRM_LINK_ROWS,
    SHOW(hf_smcr_reserved, BODY(35), 9));

/* net/smc/smc_llc.c: struct smc_llc_msg_confirm_link; release 2.1 uses byte 35 */
SMCR_LAYOUT(confirm_link_v2, "CONFIRM LINK v2", BODY(SMCR_LLC_LENGTH),
    CONFIRM_LINK_ROWS,
    KEEP(hf_smcr_max_conns, BODY(35), 1, smcr_llc_t, u.confirm_link.max_conns),
    SHOW(hf_smcr_reserved, BODY(36), 8));

static int *const mtu_bits[] = {&hf_smcr_reserved_f0, &hf_smcr_mtu, NULL};

/* Rows of an ADD LINK whose GID is at byte `at`. */
#define ADD_LINK_ROWS(at) \
    KEEP_ALSO(hf_smcr_llc_gid, hf_smcr_gid, BODY(at), 16, smcr_llc_t, u.add_link.gid), \
    KEEP_ALSO(hf_smcr_llc_qpn, hf_smcr_qpn, BODY(at + 16), 3, smcr_llc_t, u.add_link.qpn), \
    KEEP(hf_smcr_llc_link_number, BODY(at + 19), 1, smcr_llc_t, u.add_link.link), \
    KEEP_BITS(hf_smcr_llc_mtu_byte, BODY(at + 20), 1, mtu_bits, smcr_llc_t, u.add_link.mtu), \
    KEEP(hf_smcr_psn, BODY(at + 21), 3, smcr_llc_t, u.add_link.psn), \
    KEEP_RESERVED(BODY(at + 24), SMCR_LLC_LENGTH - (at + 24), smcr_llc_t, u.add_link.credits)

/* ADD LINK as figure 32 of RFC 7609 (A.3.2) has it, without the two reserved bytes of Linux */
SMCR_LAYOUT(add_link_rfc, "ADD LINK of figure 32", BODY(SMCR_LLC_LENGTH),
    KEEP(hf_smcr_mac, BODY(4), 6, smcr_llc_t, u.add_link.mac),
    ADD_LINK_ROWS(10));

/* ADD LINK as Linux sends it: struct smc_llc_msg_add_link in net/smc/smc_llc.c, with two reserved
 * bytes more than in figure 32 */
SMCR_LAYOUT(add_link, "ADD LINK", BODY(SMCR_LLC_LENGTH),
    KEEP(hf_smcr_mac, BODY(4), 6, smcr_llc_t, u.add_link.mac),
    SHOW(hf_smcr_reserved, BODY(10), 2),
    ADD_LINK_ROWS(12));

static int *const extension_flags[] = {&hf_smcr_v2_direct, &hf_smcr_reserved_7f, NULL};

/* net/smc/smc_llc.c: struct smc_llc_msg_add_link_v2_ext, at EXTENSION_AT */
SMCR_LAYOUT(extension, "ADD LINK v2 extension", EXTENSION_RTOKENS_AT - EXTENSION_AT,
    BITS(hf_smcr_llc_v2_flags, 0, 1, extension_flags),
    SHOW(hf_smcr_reserved, 1, 1),
    SHOW(hf_smcr_llc_target_gid, 2, 16),
    SHOW(hf_smcr_reserved, 18, 8),
    KEEP_PEER_ORDER(hf_smcr_llc_rkey_count_v2, 26, 2, smcr_llc_t, u.add_link.rkey_count));

/* A.3.3 */
SMCR_LAYOUT(add_link_cont, "ADD LINK CONTINUATION", BODY(CONT_RTOKENS_AT),
    KEEP(hf_smcr_llc_link_number, BODY(4), 1, smcr_llc_t, u.add_link_cont.link),
    KEEP(hf_smcr_llc_rtokens_left, BODY(5), 1, smcr_llc_t, u.add_link_cont.rtokens_left),
    SHOW(hf_smcr_reserved, BODY(6), 2));

/* A.3.4 */
SMCR_LAYOUT(delete_link, "DELETE LINK", BODY(SMCR_LLC_LENGTH),
    KEEP(hf_smcr_llc_link_number, BODY(4), 1, smcr_llc_t, u.delete_link.link),
    KEEP(hf_smcr_llc_delete_reason, BODY(5), 4, smcr_llc_t, u.delete_link.reason),
    SHOW(hf_smcr_reserved, BODY(9), 35));

/* net/smc/smc_llc.c: struct smc_llc_msg_req_add_link_v2 */
SMCR_LAYOUT(req_add_link, "REQUEST ADD LINK", BODY(GIDS_AT),
    SHOW(hf_smcr_reserved, BODY(4), 20),
    KEEP(hf_smcr_gid_count, BODY(24), 1, smcr_llc_t, u.req_add_link.gid_count),
    SHOW(hf_smcr_reserved, BODY(25), 3));

SMCR_LAYOUT(listed_gid, "GID of REQUEST ADD LINK", 16, SHOW(hf_smcr_gid, 0, 16));

/* Writes the number of a link, and the number of the sender's queue pair on this link, into the
 * texts of the message. Raises an expert item in three cases: 1. the MAC address is a group address
 * (R-A.2.2-8); 2. the queue pair number is reserved for management; 3. the link number is 0. */
static void
say_link(const smcr_message_llc_t *message, uint8_t number, uint32_t qpn)
{
    const smcr_layout_walk_t *walk = &message->walk;

    smcr_say(walk, "Link", "link", "%u", number);
    smcr_say(walk, "QPN", "QPN", "0x%06x", qpn);
    if (tvb_get_uint8(walk->tvb, MAC_AT) & SMCR_WIRE_MAC_GROUP)
        smcr_say_note(walk, hf_smcr_mac, &ei_smcr_mac);
    if (qpn < SMCR_WIRE_QPN_MIN)
        smcr_say_note(walk, hf_smcr_llc_qpn, &ei_smcr_qpn);
    if (!number)
        smcr_say_note(walk, hf_smcr_llc_link_number, &ei_smcr_link_number_zero);
}

/* ---- CONFIRM LINK ---- */

/* Whether the sender's maximum number of links is allowed. The client's response may have 0: the
 * client accepts the maximum in the server's request (2.2.2). RFC 7609 asks for two links at least;
 * SMCv2 may agree on a single link. */
static bool
max_links_is_valid(const smcr_message_llc_t *message)
{
    uint8_t max_links = message->llc->u.confirm_link.max_links;
    unsigned least = message->v2 ? 1 : 2;

    if (message->response && max_links == 0)
        return true;
    return max_links >= least && max_links <= SMCR_WIRE_LINKS_MAX;
}

/* The layout of version 2 has the maximum number of connections, too. */
unsigned
smcr_llc_confirm_link(const smcr_message_llc_t *message)
{
    const smcr_llc_confirm_link_t *confirm = &message->llc->u.confirm_link;

    if (!smcr_llc_walk_body(message, message->v2 ? &confirm_link_v2 : &confirm_link_v1))
        return SMCR_MESSAGE_LLC_CUT;
    say_link(message, confirm->link, confirm->qpn);
    if (!max_links_is_valid(message))
        smcr_say_note(&message->walk, hf_smcr_max_links, &ei_smcr_max_links);
    return SMCR_LLC_LENGTH;
}

/* ---- ADD LINK ---- */

/* Whether the GID is at byte 10, as in figure 32. Peers send the GID at byte 12, after two reserved
 * bytes. If bytes 10 and 11 are not both zero, the GID begins at byte 10. If they are zero, only an
 * IPv4-mapped GID can begin at byte 10, since no other GID begins with 16 zero bits. Such a GID has
 * ten zero bytes and then ffff, which is at byte 20. */
static bool
gid_is_at_10(tvbuff_t *tvb)
{
    unsigned captured = tvb_captured_length(tvb);

    if (captured < 12)
        return false;
    if (smcr_layout_has_bits(tvb, 10, 2))
        return true;
    return captured >= 22 && !smcr_layout_has_bits(tvb, 10, 10) && tvb_get_ntohs(tvb, 20) == 0xffff;
}

/* Writes the reason with which a response rejects a link into the Info column and the line of the
 * message, and raises the expert item. */
static void
say_rejection(const smcr_message_llc_t *message)
{
    uint8_t reason = message->llc->u.add_link.reject_reason;

    if (reason == SMCR_LLC_REJECT_NOT_GIVEN)
        smcr_say_remark(&message->walk, "rejected");
    else
        smcr_say_remark(&message->walk, "rejected: %s",
                        val_to_str_const(reason, smcr_values_reject_reasons, "unknown reason"));
    smcr_say_note(&message->walk, hf_smcr_llc_flags, &ei_smcr_llc_rejected);
}

/* Writes the texts and raises the expert items of a response that rejects an ADD LINK. Such a
 * response repeats the values of its request, so the values are not checked a second time. */
static void
finish_rejection(const smcr_message_llc_t *message)
{
    uint8_t reason = message->llc->u.add_link.reject_reason;

    say_rejection(message);
    smcr_say(&message->walk, "Link", "link", "%u", message->llc->u.add_link.link);
    smcr_llc_show_echo(message);
    if (message->v2) /* Linux's messages of version 2 have no field for a reason */
        return;
    if (reason == SMCR_LLC_REJECT_NOT_GIVEN)
        smcr_say_note_format(&message->walk, hf_smcr_llc_reject_byte, &ei_smcr_llc_reason,
                             "The rejection has no reason");
    else if (!try_val_to_str(reason, smcr_values_reject_reasons))
        smcr_say_note(&message->walk, hf_smcr_llc_reject_byte, &ei_smcr_llc_reason);
}

/* Shows the extension of an ADD LINK of SMCv2: GID and RTokens. Returns the offset after it, or
 * SMCR_MESSAGE_LLC_CUT. */
static unsigned
show_extension(const smcr_message_llc_t *message)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    unsigned captured = tvb_captured_length(message->walk.tvb);
    smcr_message_llc_t below = *message;

    if (captured <= EXTENSION_AT) {
        smcr_layout_explain_missing(&message->walk, message->walk.tree, EXTENSION_RTOKENS_AT);
        return SMCR_MESSAGE_LLC_CUT;
    }
    proto_item *item = proto_tree_add_item(message->walk.tree, hf_smcr_llc_v2_extension,
                                           message->walk.tvb, EXTENSION_AT,
                                           (int)(captured - EXTENSION_AT), ENC_NA);
    below.walk.tree = proto_item_add_subtree(item, ett_smcr_v2_extension);
    if (!smcr_layout_walk(&extension, &below.walk, EXTENSION_AT, message->llc))
        return SMCR_MESSAGE_LLC_CUT;

    smcr_say(&message->walk, "RTokens", "RTokens:", "%u", add->rkey_count);
    if (add->rkey_count > RKEYS_MAX) /* (R-V2LLC-6) */
        smcr_llc_raise_fault(&below, hf_smcr_llc_rkey_count_v2, &ei_smcr_llc_limit);
    if (add->rkey_count >
        smcr_llc_rtoken_room(message, SMCR_MESSAGE_RTOKEN_PAIR, EXTENSION_RTOKENS_AT))
        smcr_llc_raise_fault(&below, hf_smcr_llc_rkey_count_v2, &ei_smcr_llc_count);
    unsigned next = smcr_llc_show_rtokens(&below, SMCR_MESSAGE_RTOKEN_PAIR, EXTENSION_RTOKENS_AT,
                                          add->rkey_count, add->link);
    if (next != SMCR_MESSAGE_LLC_CUT)
        proto_item_set_len(item, (int)(next - EXTENSION_AT));
    return next;
}

/* Whether the request offers no link but asks the peer to start an ADD LINK of its own. If a Linux
 * client wants a link, it sends its MAC and GID, but no queue pair (A.3.2, smc_llc_send_add_link()
 * without a link). A Linux server before 5.8 also sends an ADD LINK without a queue pair, and
 * expects a rejection. */
static bool
add_link_is_invitation(const smcr_message_llc_t *message)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;
    bool names_link = add->qpn != 0 || add->link != 0;
    bool names_parameters = add->mtu != 0 || add->psn != 0;

    return !message->response && !names_link && !names_parameters;
}

/* Writes and checks the link in an ADD LINK request that offers a link, or in a response that
 * accepts an offer. In both messages, the values describe the sender's own queue pair of the
 * link. */
static void
say_offered_link(const smcr_message_llc_t *message)
{
    const smcr_llc_add_link_t *add = &message->llc->u.add_link;

    say_link(message, add->link, add->qpn);
    if (!try_val_to_str(smcr_wire_bits(add->mtu, SMCR_MASK_MTU), smcr_values_mtus))
        smcr_say_note(&message->walk, hf_smcr_llc_mtu_byte, &ei_smcr_mtu);
}

/* Whether the extension of SMCv2 follows the 44 bytes. Linux sends the extension with each offer
 * and with each response that accepts an offer. Other messages have the extension only if they are
 * longer than 44 bytes. */
static bool
has_extension(const smcr_message_llc_t *message, bool offers_link)
{
    return message->v2 && (offers_link || message->end > SMCR_LLC_LENGTH);
}

/* Shows the extension. If its end is not captured, the message lacks RTokens, and its link is known
 * all the same. Returns the offset after the extension, or SMCR_MESSAGE_LLC_CUT. */
static unsigned
take_extension(const smcr_message_llc_t *message)
{
    bool is_truncated = tvb_captured_length(message->walk.tvb) < message->end;
    unsigned next = show_extension(message);

    message->llc->lacks_rtokens = is_truncated && next == SMCR_MESSAGE_LLC_CUT;
    return message->llc->lacks_rtokens ? message->end : next;
}

/* RFC 7609 has the GID at another offset than Linux. gid_is_at_10() decides by the bytes which of
 * the two layouts the message has. A rejection offers no link, nor does a request without a queue
 * pair (add_link_is_invitation()). */
unsigned
smcr_llc_add_link(const smcr_message_llc_t *message)
{
    bool rfc = gid_is_at_10(message->walk.tvb);

    if (!smcr_llc_walk_body(message, rfc ? &add_link_rfc : &add_link))
        return SMCR_MESSAGE_LLC_CUT;
    if (rfc)
        smcr_say_note(&message->walk, hf_smcr_llc_gid, &ei_smcr_llc_rfc_layout);

    bool invites = add_link_is_invitation(message);
    if (message->rejected)
        finish_rejection(message);
    else if (invites)
        smcr_say_remark(&message->walk, "request for link");
    else
        say_offered_link(message);
    bool offers_link = !message->rejected && !invites;
    return has_extension(message, offers_link) ? take_extension(message) : SMCR_LLC_LENGTH;
}

/* The message has room for CONT_RTOKENS RTokens. `rtokens_left` counts the RTokens of later
 * messages, too. */
unsigned
smcr_llc_add_link_cont(const smcr_message_llc_t *message)
{
    const smcr_llc_add_link_cont_t *cont = &message->llc->u.add_link_cont;

    if (!smcr_llc_walk_body(message, &add_link_cont))
        return SMCR_MESSAGE_LLC_CUT;
    smcr_say(&message->walk, "Link", "link", "%u", cont->link);
    smcr_say(&message->walk, "RTokensLeft", "RTokens left:", "%u", cont->rtokens_left);

    unsigned next = smcr_llc_show_rtokens(message, SMCR_MESSAGE_RTOKEN_PAIR, CONT_RTOKENS_AT,
                                          MIN(cont->rtokens_left, CONT_RTOKENS), cont->link);
    next = smcr_llc_show_unused(message, next, CONT_RESERVED_AT);
    return smcr_llc_show_reserved(message, next, SMCR_LLC_LENGTH);
}

/* ---- DELETE LINK ---- */

/* Returns the text of the reason in a DELETE LINK, such as " (lost path)"; "": no reason is given.
 * The text lives as long as the packet. */
static const char *
delete_reason_text(const smcr_message_llc_t *message)
{
    uint32_t reason = message->llc->u.delete_link.reason;
    const char *text = try_val_to_str(reason, smcr_values_delete_reasons);

    if (reason == SMCR_LLC_DELETE_NOT_GIVEN)
        return "";
    if (!text)
        return wmem_strdup_printf(message->walk.pinfo->pool, " (unknown reason 0x%08x)", reason);
    return wmem_strdup_printf(message->walk.pinfo->pool, " (%s)", text);
}

/* Checks reason and link number of a DELETE LINK. The reason has to be in enum
 * smcr_llc_delete_reason; only a response may give none. A message that deletes all links must not
 * contain a link number. */
static void
check_delete_link(const smcr_message_llc_t *message)
{
    const smcr_llc_delete_link_t *deleted = &message->llc->u.delete_link;
    bool all = message->llc->flags & SMCR_LLC_FLAG_ALL;

    if (all && deleted->link)
        smcr_say_note(&message->walk, hf_smcr_llc_link_number, &ei_smcr_llc_all_links);
    if (!message->response && deleted->reason == SMCR_LLC_DELETE_NOT_GIVEN)
        smcr_say_note(&message->walk, hf_smcr_llc_delete_reason, &ei_smcr_llc_no_reason);
    else if (!try_val_to_str(deleted->reason, smcr_values_delete_reasons))
        smcr_say_note(&message->walk, hf_smcr_llc_delete_reason, &ei_smcr_llc_reason);
}

/* With the reason "lost path", the Info column begins with "[Link lost]". Only in a request: a
 * response repeats the reason of its request. */
unsigned
smcr_llc_delete_link(const smcr_message_llc_t *message)
{
    const smcr_llc_delete_link_t *deleted = &message->llc->u.delete_link;
    bool all = message->llc->flags & SMCR_LLC_FLAG_ALL;

    if (!smcr_llc_walk_body(message, &delete_link))
        return SMCR_MESSAGE_LLC_CUT;
    if (all)
        smcr_say_remark(&message->walk, "all links%s", delete_reason_text(message));
    else
        smcr_say(&message->walk, "Link", "link", "%u%s", deleted->link,
                 delete_reason_text(message));
    if (deleted->reason == SMCR_LLC_DELETE_LOST_PATH && !message->response)
        smcr_say_trouble(&message->walk, "Link lost");
    check_delete_link(message);
    return SMCR_LLC_LENGTH;
}

/* ---- REQUEST ADD LINK ---- */

/* Checks the number of GIDs that the message announces, and returns how many of these GIDs fit into
 * the message. */
static unsigned
check_gid_count(const smcr_message_llc_t *message)
{
    unsigned count = message->llc->u.req_add_link.gid_count;
    unsigned room = message->end > GIDS_AT ? (message->end - GIDS_AT) / listed_gid.length : 0;

    if (count > SMCR_CLC_COUNT_MAX) /* the maximum of CLC messages also holds here (R-V2LLC-12) */
        smcr_llc_raise_fault(message, hf_smcr_gid_count, &ei_smcr_llc_limit);
    if (count > room)
        smcr_llc_raise_fault(message, hf_smcr_gid_count, &ei_smcr_llc_count);
    return MIN(count, room);
}

/* GIDs that the count announces, but for which the message has no room, are not shown. */
unsigned
smcr_llc_req_add_link(const smcr_message_llc_t *message)
{
    if (!smcr_llc_walk_body(message, &req_add_link))
        return SMCR_MESSAGE_LLC_CUT;
    unsigned announced = message->llc->u.req_add_link.gid_count;
    unsigned next = GIDS_AT;

    if (message->rejected)
        say_rejection(message);
    if (announced || !message->response) /* Linux's response has a count of zero, which the texts
                                            leave out */
        smcr_say(&message->walk, "GIDs", "GIDs:", "%u", announced);
    unsigned count = check_gid_count(message);
    for (unsigned i = 0; i < count; i++, next += listed_gid.length)
        if (!smcr_layout_walk(&listed_gid, &message->walk, next, NULL))
            return SMCR_MESSAGE_LLC_CUT;
    return next;
}

SMCR_LAYOUT_LIST(llc_link, &confirm_link_v1, &confirm_link_v2, &add_link_rfc, &add_link, &extension,
                 &add_link_cont, &delete_link, &req_add_link, &listed_gid);
