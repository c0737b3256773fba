/* LLC messages, by which two peers manage their link group: header, choice of the function of each
 * message, and what all messages have in common (RFC 7609 A.3, net/smc/smc_llc.c).
 *
 * A message has 44 bytes in version 1. In version 2 it has the number of bytes in its length field,
 * which Linux writes in its own byte order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "message.h"

#include "llc_messages.h"

/* ---- headers: each message has other flags, and version 2 has a longer length field ---- */

#define V1_START \
    KEEP(hf_smcr_llc_type, 0, 1, smcr_llc_t, type), \
    KEEP(hf_smcr_llc_length_v1, SMCR_LLC_LENGTH_AT, 1, smcr_llc_t, length)
#define V2_START \
    KEEP(hf_smcr_llc_type, 0, 1, smcr_llc_t, type), \
    KEEP_PEER_ORDER(hf_smcr_llc_length, SMCR_LLC_LENGTH_AT, 2, smcr_llc_t, length)
#define RESERVED SHOW(hf_smcr_reserved, SMCR_LLC_REJECT_AT, 1)
#define FLAGS(bits_) KEEP_BITS(hf_smcr_llc_flags, SMCR_LLC_FLAGS_AT, 1, bits_, smcr_llc_t, flags)

static int *const plain_flags[] = {&hf_smcr_llc_response, &hf_smcr_reserved_7f, NULL};
static int *const confirm_link_flags[] = {&hf_smcr_llc_response, &hf_smcr_reserved_7c,
                                          &hf_smcr_llc_no_eyecatcher, NULL};
static int *const add_link_flags[] = {&hf_smcr_llc_response, &hf_smcr_llc_rejected,
                                      &hf_smcr_reserved_3f, NULL};
static int *const rejection_v2_flags[] = {&hf_smcr_llc_response, &hf_smcr_llc_rejected,
                                          &hf_smcr_reserved_30, &hf_smcr_llc_reject_reason, NULL};
static int *const delete_link_flags[] = {&hf_smcr_llc_response, &hf_smcr_llc_all_links,
                                         &hf_smcr_llc_orderly, &hf_smcr_reserved_1f, NULL};
static int *const confirm_rkey_flags[] = {&hf_smcr_llc_response, &hf_smcr_reserved_40,
                                          &hf_smcr_llc_negative, &hf_smcr_llc_retry,
                                          &hf_smcr_reserved_0f, NULL};
static int *const rkey_flags[] = {&hf_smcr_llc_response, &hf_smcr_reserved_40,
                                  &hf_smcr_llc_negative, &hf_smcr_reserved_1f, NULL};
static int *const reject_bits[] = {&hf_smcr_reserved_f0, &hf_smcr_llc_reject_reason, NULL};

/* The layouts that the header of one type of messages may have. llc.def names the objects of this
 * type without the prefix "header_". */
typedef struct {
    const smcr_layout_t *usual; /* layout of the header of a message that rejects nothing */
    const smcr_layout_t *rejection; /* layout of a rejecting response; NULL: no response rejects */
} header_t;

#define HEADER_V1(name_, title_, flags_, rejection_) \
    SMCR_LAYOUT(name_##_v1, title_ " header", SMCR_LLC_HEADER, V1_START, RESERVED, FLAGS(flags_)); \
    static const header_t header_##name_##_v1 = {&name_##_v1, rejection_}
#define HEADER_V2(name_, title_, flags_, rejection_) \
    SMCR_LAYOUT(name_##_v2, title_ " v2 header", SMCR_LLC_HEADER, V2_START, FLAGS(flags_)); \
    static const header_t header_##name_##_v2 = {&name_##_v2, rejection_}
#define HEADERS(name_, title_, flags_) \
    HEADER_V1(name_, title_, flags_, NULL); \
    HEADER_V2(name_, title_, flags_, NULL)

SMCR_LAYOUT(rejection_v1, "ADD LINK rejection header", SMCR_LLC_HEADER, V1_START,
    KEEP_BITS(hf_smcr_llc_reject_byte, SMCR_LLC_REJECT_AT, 1, reject_bits, smcr_llc_t,
              u.add_link.reject_reason),
    FLAGS(add_link_flags));
SMCR_LAYOUT(rejection_v2, "ADD LINK v2 rejection header", SMCR_LLC_HEADER, V2_START,
    FLAGS(rejection_v2_flags));
HEADER_V1(add_link, "ADD LINK", add_link_flags, &rejection_v1);
HEADER_V2(add_link, "ADD LINK", add_link_flags, &rejection_v2);
HEADERS(plain, "LLC", plain_flags);
HEADERS(confirm_link, "CONFIRM LINK", confirm_link_flags);
HEADERS(delete_link, "DELETE LINK", delete_link_flags);
HEADERS(confirm_rkey, "CONFIRM RKEY", confirm_rkey_flags);
HEADERS(rkey, "RKey message", rkey_flags);

/* Layout of a message of unknown type: only the type is known. */
SMCR_LAYOUT(unknown, "unknown LLC message", 1, KEEP(hf_smcr_llc_type, 0, 1, smcr_llc_t, type));

/* ---- TEST LINK ---- */

/* A.3.8 */
SMCR_LAYOUT(test_link, "TEST LINK", BODY(SMCR_LLC_LENGTH),
    KEEP(hf_smcr_llc_user_data, BODY(4), 16, smcr_llc_t, u.test_link.user_data),
    SHOW(hf_smcr_reserved, BODY(20), 24));

/* A message of ANCK, Alibaba's kernel: net/smc/smc_llc.c, struct smc_llc_msg_announce_credits */
SMCR_LAYOUT(announce_credits, "ANNOUNCE CREDITS", BODY(SMCR_LLC_LENGTH),
    KEEP(hf_smcr_credits, BODY(4), 1, smcr_llc_t, u.announce_credits.credits),
    SHOW(hf_smcr_reserved, BODY(5), 39));

unsigned
smcr_llc_announce_credits(const smcr_message_llc_t *message)
{
    return smcr_llc_walk_body(message, &announce_credits) ? SMCR_LLC_LENGTH : SMCR_MESSAGE_LLC_CUT;
}

unsigned
smcr_llc_test_link(const smcr_message_llc_t *message)
{
    return smcr_llc_walk_body(message, &test_link) ? SMCR_LLC_LENGTH : SMCR_MESSAGE_LLC_CUT;
}

/* ---- the table of messages ---- */

/* A row of llc.def, as far as a message is shown by it. */
typedef struct {
    uint8_t type; /* type of the message, byte 0 */
    uint8_t response_flags; /* flags that only responses have */
    const header_t *header; /* layouts of its header */
    smcr_message_llc_body_t *dissect_body; /* function that shows and checks its body */
} llc_kind_t;

static const llc_kind_t kinds[] = {
#define SMCR_LLC_MESSAGE(name, type, text, header, body, response_flags, ...) \
    {SMCR_LLC_##name, response_flags, &header_##header, smcr_llc_##body},
#include "wire/llc.def"
};

/* ---- length ---- */

/* Returns the length field of a message of version 2, read in the byte order `order`. */
static int
length_v2(tvbuff_t *payload, unsigned order)
{
    return order == ENC_BIG_ENDIAN ? tvb_get_ntohs(payload, SMCR_LLC_LENGTH_AT)
                                   : tvb_get_letohs(payload, SMCR_LLC_LENGTH_AT);
}

/* Returns the byte order of the sender's integers in version 2, which each host may choose. The
 * length field shows it: it is the order in which the field is equal to the length of the payload.
 * If the field is wrong in both orders, returns the order in which its value is closer to the
 * length of the payload. If both values are equally close, or the field is not captured, returns
 * big-endian. */
static unsigned
length_order(tvbuff_t *payload)
{
    int present = (int)tvb_reported_length(payload);

    if (tvb_captured_length(payload) < SMCR_LLC_FLAGS_AT)
        return ENC_BIG_ENDIAN;
    return ABS(length_v2(payload, ENC_LITTLE_ENDIAN) - present) <
                   ABS(length_v2(payload, ENC_BIG_ENDIAN) - present)
               ? ENC_LITTLE_ENDIAN : ENC_BIG_ENDIAN;
}

/* Returns how many bytes of the payload belong to the message. Version 1: 44 bytes. Version 2: the
 * length field decides, but at least 44 bytes; if the field is not captured, all bytes. In both
 * versions at most the bytes of the payload. */
static unsigned
message_length(tvbuff_t *payload, bool v2, unsigned order)
{
    unsigned present = tvb_reported_length(payload);
    unsigned length = SMCR_LLC_LENGTH;

    if (v2 && tvb_captured_length(payload) >= SMCR_LLC_FLAGS_AT)
        length = MAX(length, (unsigned)length_v2(payload, order));
    else if (v2)
        length = present;
    return MIN(length, present);
}

/* Stores the byte order in which the length field of version 2 is equal to the length of the
 * payload. Stores none if the field is equal in both orders or in neither. */
static void
keep_byte_order(const smcr_message_llc_t *message, tvbuff_t *payload)
{
    int present = (int)tvb_reported_length(payload);
    bool little = length_v2(payload, ENC_LITTLE_ENDIAN) == present;
    bool big = length_v2(payload, ENC_BIG_ENDIAN) == present;

    message->llc->little_endian = little && !big;
    message->llc->big_endian = big && !little;
}

/* Whether the length field is right. In version 1 it is 44; in version 2 it is the number of bytes
 * of the SEND, at least 44. */
static bool
length_is_right(const smcr_message_llc_t *message, tvbuff_t *payload)
{
    unsigned length = message->llc->length;

    if (message->v2)
        return length >= SMCR_LLC_LENGTH && length == tvb_reported_length(payload);
    return length == SMCR_LLC_LENGTH;
}

/* Checks the length and returns whether it is right. A wrong length is a fault
 * (smcr_llc_raise_fault()). Of a message of version 2, also stores the byte order that the length
 * shows (keep_byte_order()). */
static bool
check_length(const smcr_message_llc_t *message, tvbuff_t *payload)
{
    bool right = length_is_right(message, payload);

    if (message->v2 && tvb_captured_length(payload) >= SMCR_LLC_FLAGS_AT)
        keep_byte_order(message, payload);
    if (!right)
        smcr_llc_raise_fault(message, message->v2 ? hf_smcr_llc_length : hf_smcr_llc_length_v1,
                             &ei_smcr_llc_length);
    return right;
}

/* ---- one message ---- */

/* Shows a message whose type is not known. A receiver may ignore a message of the optional class,
 * so it gets another expert item. The message is complete if all its bytes are captured. */
static void
dissect_unknown(const smcr_message_llc_t *message)
{
    unsigned captured = tvb_captured_length(message->walk.tvb);

    smcr_layout_walk(&unknown, &message->walk, 0, message->llc);
    bool optional = (message->llc->type & SMCR_LLC_CLASS) == SMCR_LLC_CLASS_OPTIONAL;
    smcr_say_name(&message->walk, "LLC message of unknown type 0x%02x%s", message->llc->type,
                  optional ? " (optional)" : "");
    smcr_say_note(&message->walk, hf_smcr_llc_type,
                  optional ? &ei_smcr_llc_optional : &ei_smcr_llc_type);
    if (captured > 1)
        smcr_item_bytes(message->walk.tree, hf_smcr_llc_body, message->walk.tvb, 1, captured - 1);
    if (captured < message->end)
        smcr_layout_explain_missing(&message->walk, message->walk.tree, message->end);
    message->llc->complete = captured == message->end;
}

/* Sets `response` and `rejected` of the message from its flags. Only messages whose header has a
 * layout for a rejection can reject. */
static void
read_flags(smcr_message_llc_t *message, const llc_kind_t *kind, uint8_t flags)
{
    message->response = flags & SMCR_LLC_FLAG_RESPONSE;
    message->rejected =
        message->response && kind->header->rejection && (flags & SMCR_LLC_FLAG_REJECTED);
}

/* Writes the name of the message, such as "LLC ADD LINK response". If the flags are not captured,
 * the name does not say whether the message is a request or a response. */
static void
say_message_name(const smcr_message_llc_t *message, bool has_flags)
{
    const char *direction = message->response ? " response" : " request";

    smcr_say_name(&message->walk, "LLC %s%s",
                  val_to_str_const(message->llc->type, smcr_values_llc_types, "message"),
                  has_flags ? direction : "");
}

/* Keeps the reason why a link is rejected. Version 1 has a byte for the reason, version 2 the lower
 * four bits of the flags. */
static void
keep_reject_reason(const smcr_message_llc_t *message, tvbuff_t *payload, uint8_t flags)
{
    uint8_t byte = message->v2 ? flags : tvb_get_uint8(payload, SMCR_LLC_REJECT_AT);

    message->llc->u.add_link.reject_reason = smcr_wire_bits(byte, SMCR_MASK_REJECT_REASON);
}

/* Shows the body, then all bytes after the body: padding up to 44 bytes, and bytes that no format
 * defines. Returns whether all bytes of the body are in the message and in the capture. Reserved
 * bytes at its end, padding and bytes without a format may be truncated by snaplen, since they
 * carry no value. */
static bool
dissect_body(const smcr_message_llc_t *message, const llc_kind_t *kind, tvbuff_t *payload)
{
    unsigned next = kind->dissect_body(message);
    bool whole = next != SMCR_MESSAGE_LLC_CUT;

    next = smcr_llc_show_unused(message, whole ? next : message->end,
                                MIN(message->end, SMCR_LLC_LENGTH));
    smcr_say_extra_bytes(&message->walk, payload, next);
    return whole;
}

/* Decodes and shows a message of known type: header, length, flags, body. */
static void
dissect_known(smcr_message_llc_t *message, const llc_kind_t *kind, tvbuff_t *payload)
{
    smcr_llc_t *llc = message->llc;
    bool has_flags = tvb_captured_length(payload) >= SMCR_LLC_HEADER;
    uint8_t flags = has_flags ? tvb_get_uint8(payload, SMCR_LLC_FLAGS_AT) : 0;

    llc->type = kind->type;
    read_flags(message, kind, flags);
    say_message_name(message, has_flags);
    if (!smcr_layout_walk(message->rejected ? kind->header->rejection : kind->header->usual,
                          &message->walk, 0, llc))
        return;

    bool right_length = check_length(message, payload);
    if (!message->response && (flags & kind->response_flags))
        smcr_say_note(&message->walk, hf_smcr_llc_flags, &ei_smcr_llc_flags);
    if (message->rejected)
        keep_reject_reason(message, payload, flags);

    llc->complete = dissect_body(message, kind, payload) && right_length;
}

/* Returns the row of the LLC type; NULL: the type is not known. */
static const llc_kind_t *
find_kind(uint8_t type)
{
    for (unsigned i = 0; i < array_length(kinds); i++)
        if (kinds[i].type == type)
            return &kinds[i];
    return NULL;
}

/* Decodes one message. Also shows the message, if `violation` of its walk is NULL. Returns whether
 * the type of the message is known. */
static bool
dissect_message(smcr_message_llc_t *message, tvbuff_t *payload)
{
    uint8_t type = tvb_get_uint8(payload, 0);
    const llc_kind_t *kind = find_kind(type);

    memset(message->llc, 0, sizeof *message->llc);
    message->walk.tvb = payload;
    message->walk.peer_order = ENC_BIG_ENDIAN;
    message->end = tvb_reported_length(payload);
    message->llc->type = type;
    if (!kind && !message->walk.violation)
        dissect_unknown(message);
    if (!kind)
        return false;
    message->v2 = kind->type & SMCR_LLC_TYPE_V2;
    if (message->v2)
        message->walk.peer_order = length_order(payload);
    message->end = message_length(payload, message->v2, message->walk.peer_order);
    message->walk.tvb = tvb_new_subset_length(payload, 0, (int)message->end);
    dissect_known(message, kind, payload);
    return true;
}

proto_tree *
smcr_llc_dissect(tvbuff_t *tvb, packet_info *pinfo, proto_tree *tree, smcr_llc_t *llc)
{
    proto_item *top = smcr_item_top(tree, tvb, "SMC-R");
    smcr_message_llc_t message = {
        .walk = {.pinfo = pinfo, .top = top, .shown = &message.shown}, .llc = llc};

    message.walk.tree = proto_item_add_subtree(top, ett_smcr);
    smcr_item_kind(message.walk.tree, hf_smcr_llc, tvb, "LLC");
    dissect_message(&message, tvb);
    return message.walk.tree;
}

bool
smcr_llc_decode(tvbuff_t *tvb, packet_info *pinfo, smcr_llc_t *llc)
{
    bool flawed = false;
    smcr_message_llc_t message = {.walk = {.pinfo = pinfo, .violation = &flawed}, .llc = llc};

    return dissect_message(&message, tvb) && !flawed;
}

SMCR_LAYOUT_LIST(llc, &rejection_v1, &rejection_v2, &add_link_v1, &add_link_v2, &plain_v1,
                 &plain_v2, &confirm_link_v1, &confirm_link_v2, &delete_link_v1, &delete_link_v2,
                 &confirm_rkey_v1, &confirm_rkey_v2, &rkey_v1, &rkey_v2, &unknown,
                 &announce_credits, &test_link);
