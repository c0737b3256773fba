/* Dissects one CLC message (RFC 7609 A.2): header, trailer and length of every type, and the
 * Decline (A.2.5). Proposal, Accept and Confirm are in clc_proposal.c and clc_accept.c.
 *
 * A message is decoded part by part; each part marks its bytes. Bytes that no part has marked are
 * shown, too. So every captured byte is shown, whatever the offsets are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "message.h"

#include "clc_messages.h"

/* ---- layouts ---- */

static int *const unknown_bits[] = {&hf_smcr_clc_version, &hf_smcr_clc_other_flags, NULL};
SMCR_LAYOUT(unknown_layout, "CLC message", SMCR_CLC_HEADER_LENGTH,
    SMCR_MESSAGE_CLC_HEADER_ROWS(unknown_bits));

/* Trailer of a CLC message (RFC 7609 A.2) */
SMCR_LAYOUT(trailer_layout, "CLC trailer", SMCR_CLC_TRAILER_LENGTH,
    KEEP(hf_smcr_clc_trailer, 0, SMCR_CLC_TRAILER_LENGTH, smcr_clc_header_t, eyecatcher));

/* Layouts of a Decline without its trailer: RFC 7609 A.2.5, struct smc_clc_msg_decline */
static int *const decline_bits[] = {&hf_smcr_clc_version, &hf_smcr_clc_out_of_sync,
                                    &hf_smcr_reserved_07, NULL};
static int *const decline_os_bits[] = {&hf_smcr_clc_os, &hf_smcr_reserved_0f, NULL};

#define DECLINE_ROWS \
    SMCR_MESSAGE_CLC_HEADER_ROWS(decline_bits), \
    KEEP_PART(hf_smcr_peer_id, 8, 8, smcr_message_clc_peer_id, ett_smcr_peer_id, \
              smcr_clc_decline_t, peer_id), \
    KEEP(hf_smcr_clc_diagnosis, 16, 4, smcr_clc_decline_t, diagnosis)

SMCR_LAYOUT(decline_v1, "SMC Decline", 24,
    DECLINE_ROWS,
    SHOW(hf_smcr_reserved, 20, 4));

SMCR_LAYOUT(decline_v2, "SMC Decline v2", 24,
    DECLINE_ROWS,
    KEEP_BITS(hf_smcr_clc_decline_os, 20, 1, decline_os_bits, smcr_clc_decline_t, os),
    SHOW(hf_smcr_reserved, 21, 3));

/* Layout of the end of a Decline of version 2, from byte 24: struct smc_clc_msg_decline_v2 */
SMCR_LAYOUT(decline_words, "SMC Decline v2 words", 16,
    SHOW(hf_smcr_clc_diagnosis_v2, 0, 4),
    SHOW(hf_smcr_clc_diagnosis_v2, 4, 4),
    SHOW(hf_smcr_clc_diagnosis_v2, 8, 4),
    SHOW(hf_smcr_clc_diagnosis_v2, 12, 4));

/* ---- Decline ---- */

/* Shows the text of the diagnosis code, after its item and in the summary. */
static void
explain_diagnosis(smcr_message_clc_t *message, const smcr_clc_decline_t *decline)
{
    const smcr_layout_walk_t *walk = &message->walk;
    const char *text =
        smcr_value_decline_text(decline->diagnosis, smcr_wire_bits(decline->os, SMCR_MASK_OS));
    proto_item *diagnosis = smcr_layout_item(walk, hf_smcr_clc_diagnosis);
    proto_item *item = proto_tree_add_string(walk->tree, hf_smcr_clc_diagnosis_text, walk->tvb, 16,
                                             4, text);

    proto_item_set_generated(item);
    if (diagnosis != walk->tree)
        proto_tree_move_item(walk->tree, diagnosis, item);
    smcr_say_both(walk, ": %s (0x%08x)", text, decline->diagnosis);
}

/* Shows the parts of a Decline; returns whether the first part, which has the diagnosis, is
 * complete. Linux 5.10 to 5.15 sends version 2 in the length of version 1, without the words at the
 * end. */
static bool
dissect_decline_parts(smcr_message_clc_t *message, smcr_clc_decline_t *decline)
{
    const smcr_layout_walk_t *walk = &message->walk;
    const smcr_layout_t *first = message->format == 1 ? &decline_v1 : &decline_v2;
    unsigned length = message->clc->header.length;
    bool has_words = message->format == 2 && length != SMCR_CLC_DECLINE_LENGTH;

    message->required_length = has_words ? SMCR_CLC_DECLINE_V2_LENGTH : SMCR_CLC_DECLINE_LENGTH;
    message->length_is_exact = true;
    if (!smcr_clc_walk(message, walk, first, 0, decline))
        return false;
    smcr_clc_explain_peer_id(message, decline->peer_id);
    if (message->format == 2)
        smcr_clc_check_os(walk, smcr_wire_bits(decline->os, SMCR_MASK_OS));
    if (has_words)
        smcr_clc_walk(message, walk, &decline_words, decline_v2.length, NULL);
    return true;
}

/* If the message is only examined, no text is made. */
void
smcr_clc_decline(smcr_message_clc_t *message)
{
    const smcr_layout_walk_t *walk = &message->walk;
    smcr_clc_decline_t *decline = &message->clc->u.decline;

    if (!dissect_decline_parts(message, decline))
        return;
    if (!walk->violation)
        explain_diagnosis(message, decline);
    if (decline->diagnosis == 0) /* (R-A.2.5-3) */
        smcr_say_note_format(walk, hf_smcr_clc_diagnosis, &ei_smcr_clc_unusual,
                             "The Decline has no diagnosis code");
    if (message->clc->header.flags & SMCR_CLC_FLAG_OUT_OF_SYNC) {
        smcr_say_note(walk, hf_smcr_clc_out_of_sync, &ei_smcr_clc_out_of_sync);
        smcr_say_info(walk, " Out of sync");
        smcr_say_line(walk, ", out of sync");
    }
}

/* ---- every message ---- */

/* Shows a message of unknown type: its header, and all other bytes as its body. */
static void
dissect_unknown(smcr_message_clc_t *message)
{
    const smcr_layout_walk_t *walk = &message->walk;
    unsigned captured = tvb_captured_length(walk->tvb);
    unsigned end = tvb_reported_length(walk->tvb);
    proto_item *body = walk->tree;

    message->required_length = SMCR_CLC_HEADER_LENGTH + SMCR_CLC_TRAILER_LENGTH;
    smcr_clc_walk(message, walk, &unknown_layout, 0, NULL);
    smcr_say_note(walk, hf_smcr_clc_type, &ei_smcr_clc_type);
    if (captured > SMCR_CLC_HEADER_LENGTH)
        body = smcr_item_bytes(walk->tree, hf_smcr_clc_body, walk->tvb,
                               SMCR_CLC_HEADER_LENGTH, captured - SMCR_CLC_HEADER_LENGTH);
    smcr_clc_mark_decoded(message, SMCR_CLC_HEADER_LENGTH, end);
    if (captured < end) {
        message->reached_end = false;
        smcr_layout_explain_missing(walk, body, end);
    }
    smcr_say_both(walk, " of unknown type %u", message->clc->header.type);
}

/* Returns the number of bytes before the trailer. A message without room for header and trailer has
 * no trailer. If the length field is right, or the message is truncated, the trailer is the last
 * four bytes. If the length field is wrong, the last four bytes are the trailer only if they are an
 * eyecatcher; if not, the message has no trailer. */
static unsigned
body_length(tvbuff_t *tvb, const smcr_clc_header_t *header)
{
    unsigned length = tvb_reported_length(tvb);
    unsigned body = length - MIN(length, SMCR_CLC_TRAILER_LENGTH);

    if (body < SMCR_CLC_HEADER_LENGTH)
        return length;
    if (header->length == length || tvb_captured_length(tvb) < length)
        return body;
    return smcr_wire_is_eyecatcher(tvb_get_ntohl(tvb, (int)body)) ? body : length;
}

/* Checks the four bytes of the trailer and returns whether they are an eyecatcher. A message ends
 * with the eyecatcher that it begins with (R-A.2-2). Linux accepts either eyecatcher in all
 * messages. */
static bool
check_trailer(const smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
              uint32_t eyecatcher)
{
    if (!smcr_wire_is_eyecatcher(eyecatcher)) {
        smcr_say_note(walk, hf_smcr_clc_trailer, &ei_smcr_clc_trailer);
        return false;
    }
    if (eyecatcher != message->clc->header.eyecatcher)
        smcr_say_note_format(walk, hf_smcr_clc_trailer, &ei_smcr_clc_unusual,
                             "The message does not begin with this eyecatcher; Linux takes either "
                             "(smc_clc_msg_hdr_valid())");
    return true;
}

/* Shows the trailer after the body, and returns whether it is an eyecatcher; false if it is
 * missing. If the message is truncated within the body, an expert item of the body has already
 * reported this. If the trailer is incomplete, `message->reached_end` becomes false. */
static bool
dissect_trailer(smcr_message_clc_t *message, tvbuff_t *tvb)
{
    unsigned offset = tvb_reported_length(message->walk.tvb);
    bool body_is_captured = tvb_captured_length(tvb) >= offset;
    bool has_trailer = offset != tvb_reported_length(tvb);
    unsigned stated_length = message->clc->header.length;
    smcr_clc_header_t trailer;
    smcr_layout_walk_t walk = message->walk;

    walk.tvb = tvb;
    if (message->reached_end && !has_trailer && offset < stated_length)
        smcr_layout_explain_missing(&walk, walk.top, stated_length);
    if (!body_is_captured || !has_trailer)
        return false;
    if (!smcr_layout_walk(&trailer_layout, &walk, offset, &trailer)) {
        message->reached_end = false;
        return false;
    }
    return check_trailer(message, &walk, trailer.eyecatcher);
}

/* Whether the length field contradicts the contents of the message. */
static bool
length_is_wrong(const smcr_message_clc_t *message)
{
    unsigned length = message->clc->header.length;

    return message->length_is_exact ? length != message->required_length
                                    : length < message->required_length;
}

/* Raises an expert item if the length field is wrong, or above SMCR_CLC_LENGTH_MAX. */
static void
check_length(const smcr_message_clc_t *message)
{
    const smcr_layout_walk_t *walk = &message->walk;
    unsigned length = message->clc->header.length;

    if (length_is_wrong(message))
        smcr_say_note_format(walk, hf_smcr_clc_length, &ei_smcr_clc_length,
                             "The length is %u, but this message needs %s%u bytes", length,
                             message->length_is_exact ? "" : "at least ", message->required_length);
    else if (length > SMCR_CLC_LENGTH_MAX)
        smcr_say_note_format(walk, hf_smcr_clc_length, &ei_smcr_clc_length,
                             "The length is %u, more than any CLC message has", length);
}

/* Returns the function that decodes a message of this type, without its trailer. */
static smcr_message_clc_body_t *
body_of(uint8_t of_type)
{
    switch (of_type) {
#define SMCR_CLC_MESSAGE(name, type, text, body) \
    case SMCR_CLC_##name: \
        return smcr_clc_##body;
#include "wire/clc.def"
    default:
        return dissect_unknown;
    }
}

/* Returns the version whose layout the message has. A version above 2 is unknown: then a Decline
 * that is longer than in version 1, or another message that is longer than an Accept of version 1,
 * counts as version 2. */
static unsigned
format_of(const smcr_clc_header_t *header)
{
    unsigned version = smcr_wire_bits(header->flags, SMCR_MASK_VERSION);
    unsigned longest = header->type == SMCR_CLC_DECLINE ? SMCR_CLC_DECLINE_LENGTH
                                                        : SMCR_CLC_ACCEPT_LENGTH;

    return version == 2 || (version > 2 && header->length > longest) ? 2 : 1;
}

/* Sets the members of smcr_clc_t that say whether the message is complete and right. `captured`:
 * number of captured bytes. `bytes`: number of bytes on the wire. `trailer_right`: the message ends
 * with an eyecatcher.
 *
 * A truncated message is never malformed, because the missing bytes may be right. */
static void
keep_verdict(const smcr_message_clc_t *message, unsigned captured, unsigned bytes,
             bool trailer_right)
{
    smcr_clc_t *clc = message->clc;
    bool has_right_bytes = message->length_is_exact && message->required_length == bytes;
    bool states_other_length =
        message->length_is_exact && !(has_right_bytes && clc->header.length == bytes);
    bool contents_are_right = message->reached_end && message->consistent;

    clc->complete = message->reached_end && trailer_right && has_right_bytes;
    clc->malformed = captured == bytes &&
                     (!contents_are_right || states_other_length || !trailer_right);
    clc->length = bytes;
    clc->expected_length = message->required_length;
    clc->has_exact_length = message->length_is_exact;
    clc->usable = captured >= SMCR_CLC_CORE_LENGTH;
    clc->lacks_psn = captured < SMCR_CLC_PSN_LENGTH;
    clc->lacks_diagnosis = captured < MIN(SMCR_CLC_CODE_LENGTH, bytes);
}

/* Decodes a message whose header is captured. The body is read within the bytes of `tvb`, so a
 * wrong count or offset in it cannot reach the next message. */
static void
dissect_message(smcr_message_clc_t *message, tvbuff_t *tvb)
{
    const smcr_clc_header_t *header = &message->clc->header;
    unsigned captured = tvb_captured_length(tvb), bytes = tvb_reported_length(tvb);
    unsigned length = body_length(tvb, header);
    unsigned version = smcr_wire_bits(header->flags, SMCR_MASK_VERSION);

    message->format = format_of(header);
    message->walk.tvb =
        tvb_new_subset_length_caplen(tvb, 0, (int)MIN(length, captured), (int)length);
    smcr_say_name(&message->walk, "CLC %s",
                  val_to_str_const(header->type, smcr_values_clc_types, "message"));
    body_of(header->type)(message);
    smcr_clc_show_other_bytes(message);
    bool trailer_right = dissect_trailer(message, tvb);
    check_length(message);
    if (version < 1 || version > 2)
        smcr_say_note(&message->walk, hf_smcr_clc_version, &ei_smcr_clc_version);
    keep_verdict(message, captured, bytes, trailer_right);
    if (!message->reached_end)
        smcr_say_both(&message->walk, " (incomplete)");
}

/* Reads the header without showing it (RFC 7609 A.2). Returns false if the header is not
 * captured. */
static bool
read_header(tvbuff_t *tvb, smcr_clc_t *clc)
{
    memset(clc, 0, sizeof *clc);
    if (tvb_captured_length(tvb) < SMCR_CLC_HEADER_LENGTH)
        return false;
    clc->header = (smcr_clc_header_t){.eyecatcher = tvb_get_ntohl(tvb, 0),
                                      .type = tvb_get_uint8(tvb, SMCR_CLC_TYPE_AT),
                                      .length = tvb_get_ntohs(tvb, SMCR_CLC_LENGTH_AT),
                                      .flags = tvb_get_uint8(tvb, SMCR_CLC_FLAGS_AT)};
    return true;
}

/* Without a whole header the message has no type: its bytes are shown as those of an unknown
 * message. */
proto_tree *
smcr_clc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, unsigned release,
                 smcr_clc_t *clc)
{
    bool has_header = read_header(tvb, clc);
    const char *name = clc->header.eyecatcher == SMCR_CLC_EYECATCHER_D ? "SMC-D" : "SMC-R";
    proto_item *item = smcr_item_top(tree, tvb, name);
    proto_tree *below = proto_item_add_subtree(item, ett_smcr);
    smcr_message_clc_t message = {
        .walk = {.pinfo = pinfo,
                 .tvb = tvb,
                 .tree = below,
                 .top = item,
                 .peer_order = ENC_BIG_ENDIAN,
                 .shown = &message.shown},
        .clc = clc,
        .release = release,
        .reached_end = true,
        .consistent = true,
    };

    smcr_item_kind(below, hf_smcr_clc, tvb, "CLC");
    col_set_str(pinfo->cinfo, COL_PROTOCOL, name);
    if (has_header) {
        dissect_message(&message, tvb);
    } else {
        smcr_say_name(&message.walk, "CLC message");
        smcr_layout_walk(&unknown_layout, &message.walk, 0, NULL);
        smcr_say_both(&message.walk, " (incomplete)");
    }
    return below;
}

/* Uses the functions of smcr_clc_dissect(), so that the first pass learns the values that users
 * see. They show nothing, since the walk has `violation`. */
void
smcr_clc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_clc_t *clc)
{
    bool flawed = false;
    smcr_message_clc_t message = {
        .walk = {.pinfo = pinfo, .tvb = tvb, .peer_order = ENC_BIG_ENDIAN, .violation = &flawed},
        .clc = clc, .reached_end = true, .consistent = true,
    };

    if (read_header(tvb, clc))
        dissect_message(&message, tvb);
}

SMCR_LAYOUT_LIST(clc, &unknown_layout, &trailer_layout, &decline_v1, &decline_v2, &decline_words);
