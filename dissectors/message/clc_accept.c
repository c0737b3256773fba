/* CLC Accept and Confirm, which have almost the same layout: RFC 7609 A.2.3 and A.2.4 for SMC-R,
 * net/smc/smc_clc.h for SMC-D and for version 2.
 *
 * The two low bits of byte 7 are the type: SMC-R or SMC-D. RFC 7609, which has SMC-R only, sends
 * zero there. Bit 0x08 announces a first contact. RFC 7609 has this bit in the Accept only, Linux
 * sets it in the Confirm, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "clc_messages.h"

#include "items.h"

#define SIZES_AT 50 /* offset of the byte with the codes of buffer size and MTU, SMC-R */
#define DMB_SIZE_AT 25     /* offset of the byte with the code of the buffer size, SMC-D */
#define FCE_LENGTH 52      /* length of the first contact extension of SMC-R, bytes */
#define GID_COUNT_LENGTH 4 /* length of the GID count and the reserved bytes after it */

/* ---- layouts ---- */

static int *const flag_bits[] = {&hf_smcr_clc_version, &hf_smcr_clc_first_contact,
                                 &hf_smcr_reserved_04, &hf_smcr_clc_path, NULL};
static int *const size_bits[] = {&hf_smcr_rmb_bsize, &hf_smcr_mtu, NULL};

/* Layout of an Accept or Confirm of SMC-R: RFC 7609 A.2.3, A.2.4; struct
 * smcr_clc_msg_accept_confirm */
#define SMCR_ROWS \
    SMCR_MESSAGE_CLC_HEADER_ROWS(flag_bits), \
    KEEP_PART(hf_smcr_peer_id, 8, 8, smcr_message_clc_peer_id, ett_smcr_peer_id, \
              smcr_clc_accept_t, peer_id), \
    KEEP_ALSO(hf_smcr_clc_gid, hf_smcr_gid, 16, 16, smcr_clc_accept_t, gid), \
    KEEP(hf_smcr_mac, 32, SMCR_WIRE_MAC_LENGTH, smcr_clc_accept_t, mac), \
    KEEP_ALSO(hf_smcr_clc_qpn, hf_smcr_qpn, 38, 3, smcr_clc_accept_t, qpn), \
    KEEP(hf_smcr_rkey, 41, 4, smcr_clc_accept_t, rkey), \
    KEEP(hf_smcr_rmb_index, 45, 1, smcr_clc_accept_t, rmb_index), \
    KEEP(hf_smcr_token, 46, 4, smcr_clc_accept_t, token), \
    KEEP_BITS(hf_smcr_clc_sizes, SIZES_AT, 1, size_bits, smcr_clc_accept_t, sizes), \
    KEEP_RESERVED(51, 1, smcr_clc_accept_t, credits), \
    KEEP(hf_smcr_rmb_va, 52, 8, smcr_clc_accept_t, va), \
    SHOW(hf_smcr_reserved, 60, 1), \
    KEEP(hf_smcr_psn, 61, 3, smcr_clc_accept_t, psn)

SMCR_LAYOUT(smcr_v1, "SMC Accept", 64, SMCR_ROWS);
SMCR_LAYOUT(smcr_v2, "SMC Accept v2", 104,
    SMCR_ROWS,
    KEEP_TEXT(hf_smcr_eid, 64, SMCR_WIRE_EID_LENGTH, smcr_clc_accept_t, eid),
    SHOW(hf_smcr_reserved, 96, 8));

/* The values of an Accept or Confirm of SMC-D, apart from those of SMC-R in smcr_clc_t. */
typedef struct {
    uint64_t gid;   /* GID of the sender's ISM device */
    uint64_t token; /* token of the sender's buffer (DMB) */
    uint8_t size; /* the byte of the message that has the size code */
    smcr_clc_accept_t first_contact; /* only members from the first contact extension are set */
} smcd_accept_t;

/* Layout of an Accept or Confirm of SMC-D: struct smcd_clc_msg_accept_confirm_common, and the
 * members that follow in each version */
static int *const dmb_size_bits[] = {&hf_smcr_rmb_bsize, &hf_smcr_reserved_0f, NULL};

#define SMCD_ROWS \
    SMCR_MESSAGE_CLC_HEADER_ROWS(flag_bits), \
    KEEP(hf_smcr_smcd_gid, 8, 8, smcd_accept_t, gid), \
    KEEP(hf_smcr_smcd_token, 16, 8, smcd_accept_t, token), \
    SHOW(hf_smcr_smcd_index, 24, 1), \
    KEEP_BITS(hf_smcr_smcd_size, DMB_SIZE_AT, 1, dmb_size_bits, smcd_accept_t, size), \
    SHOW(hf_smcr_reserved, 26, 2), \
    SHOW(hf_smcr_smcd_link_id, 28, 4)

SMCR_LAYOUT(smcd_v1, "SMC-D Accept", 44,
    SMCD_ROWS,
    SHOW(hf_smcr_reserved, 32, 12));
SMCR_LAYOUT(smcd_v2, "SMC-D Accept v2", 74,
    SMCD_ROWS,
    SHOW(hf_smcr_smcd_chid, 32, 2),
    TEXT(hf_smcr_eid, 34, 32),
    SHOW(hf_smcr_smcd_ext_gid, 66, 8));

/* Layout of the first contact extension: struct smc_clc_first_contact_ext. Only SMC-R has the flag
 * for a direct route */
static int *const fce_smcr_bits[] = {&hf_smcr_v2_direct, &hf_smcr_reserved_7f, NULL};
static int *const os_bits[] = {&hf_smcr_clc_os, &hf_smcr_clc_release_0f, NULL};

#define FCE_ROWS(first_byte_) \
    first_byte_, \
    KEEP_BITS(hf_smcr_clc_os_release, 1, 1, os_bits, smcr_clc_accept_t, os_release), \
    SHOW(hf_smcr_reserved, 2, 2), \
    KEEP_TEXT(hf_smcr_clc_hostname, 4, SMCR_WIRE_HOST_NAME_LENGTH, smcr_clc_accept_t, host_name)

SMCR_LAYOUT(fce_smcr, "First contact extension", 36,
    FCE_ROWS(KEEP_BITS(hf_smcr_clc_fce_flags, 0, 1, fce_smcr_bits, smcr_clc_accept_t, fce_flags)));
SMCR_LAYOUT(fce_smcd, "First contact extension SMC-D", 36, FCE_ROWS(SHOW(hf_smcr_reserved, 0, 1)));

/* Layout of the bytes after the first 36 bytes of the first contact extension. Version 2.0: struct
 * smc_clc_fce_gid_ext up to the count. Version 2.1: struct smc_clc_first_contact_ext_v2x, at the
 * same offset */
SMCR_LAYOUT(fce_v20, "First contact extension v2.0", 16, SHOW(hf_smcr_reserved, 0, 16));
static int *const feature_bits[] = {&hf_smcr_reserved_fffe, &hf_smcr_clc_feature_emulated_ism,
                                    NULL};
SMCR_LAYOUT(fce_v21, "First contact extension v2.1", 16,
    KEEP(hf_smcr_max_conns, 0, 1, smcr_clc_accept_t, max_conns),
    KEEP(hf_smcr_max_links, 1, 1, smcr_clc_accept_t, max_links),
    KEEP_BITS(hf_smcr_clc_features, 2, 2, feature_bits, smcr_clc_accept_t, features),
    KEEP(hf_smcr_clc_vendor_options, 4, 4, smcr_clc_accept_t, vendor_options),
    SHOW(hf_smcr_reserved, 8, 8));

/* Layout of the GID list in a Confirm: struct smc_clc_fce_gid_ext from the count on */
SMCR_LAYOUT(gid_count, "GID list", GID_COUNT_LENGTH,
    KEEP(hf_smcr_gid_count, 0, 1, smcr_clc_accept_t, gid_count),
    SHOW(hf_smcr_reserved, 1, 3));

/* An entry of the GID list, as on the wire. */
typedef struct {
    uint8_t gid[SMCR_GID_LENGTH]; /* the GID */
} listed_gid_t;

SMCR_LAYOUT(gid_layout, "GID", SMCR_GID_LENGTH, KEEP(hf_smcr_gid, 0, 16, listed_gid_t, gid));

/* ---- checks ---- */

static bool
is_first_contact(const smcr_message_clc_t *message)
{
    return message->clc->header.flags & SMCR_CLC_FLAG_FIRST_CONTACT;
}

/* Whether the length field is possible for an Accept of SMC-R in the version of the message.
 * Version 1 has exactly one length. Version 2 has a minimum length, which includes the first
 * contact extension if the first contact flag is set. */
static bool
has_length_of_smcr(const smcr_clc_header_t *header)
{
    unsigned fixed = ((header->flags & SMCR_CLC_FLAG_FIRST_CONTACT) ? FCE_LENGTH : 0) +
                     smcr_v2.length + SMCR_CLC_TRAILER_LENGTH;

    return smcr_wire_bits(header->flags, SMCR_MASK_VERSION) == 1
               ? header->length == SMCR_CLC_ACCEPT_LENGTH : header->length >= fixed;
}

/* Whether the message is of SMC-D. As in Linux, the type in byte 7 of the message decides. In two
 * cases the eyecatcher decides: 1. the type is not SMC-R and not SMC-D; 2. the type is SMC-D, but
 * the length is that of an SMC-R message. */
static bool
is_of_smcd(const smcr_message_clc_t *message)
{
    const smcr_clc_header_t *header = &message->clc->header;
    unsigned type = smcr_wire_bits(header->flags, SMCR_MASK_TYPE_V1);

    if (type == SMCR_CLC_TYPE_R || (type == SMCR_CLC_TYPE_D && !has_length_of_smcr(header)))
        return type == SMCR_CLC_TYPE_D;
    return header->eyecatcher == SMCR_CLC_EYECATCHER_D;
}

/* Raises an expert item if the type in byte 7 contradicts the eyecatcher. */
static void
check_path(const smcr_message_clc_t *message)
{
    const smcr_clc_header_t *header = &message->clc->header;
    unsigned expected =
        header->eyecatcher == SMCR_CLC_EYECATCHER_D ? SMCR_CLC_TYPE_D : SMCR_CLC_TYPE_R;

    if (smcr_wire_bits(header->flags, SMCR_MASK_TYPE_V1) != expected)
        smcr_say_note(&message->walk, hf_smcr_clc_path, &ei_smcr_clc_path);
}

/* Checks the values of an Accept or Confirm of SMC-R. The MTU counts only in a first contact; in
 * later messages the field has no meaning (RFC 7609 A.2.3). All bytes of the RMB element have to be
 * below the end of the address space (R-A.2.3-8). */
static void
check_smcr(const smcr_message_clc_t *message, const smcr_clc_accept_t *accept)
{
    const smcr_layout_walk_t *walk = &message->walk;

    if (accept->qpn < SMCR_WIRE_QPN_MIN)
        smcr_say_note(walk, hf_smcr_clc_qpn, &ei_smcr_qpn);
    if (accept->rmb_index == 0)
        smcr_say_note(walk, hf_smcr_rmb_index, &ei_smcr_rmb_index);
    if (smcr_wire_bits(accept->sizes, SMCR_MASK_BUFFER_SIZE) > SMCR_BSIZE_512K)
        smcr_say_note(walk, hf_smcr_rmb_bsize, &ei_smcr_rmb_bsize);
    if (is_first_contact(message) &&
        !try_val_to_str(smcr_wire_bits(accept->sizes, SMCR_MASK_MTU), smcr_values_mtus))
        smcr_say_note(walk, hf_smcr_mtu, &ei_smcr_mtu);
    smcr_clc_check_mac(message, accept->mac);
    if (smcr_wire_clc_element_overflows(accept))
        smcr_say_note(walk, hf_smcr_rmb_va, &ei_smcr_rmb_address);
}

/* Shows the buffer size for the size code in the field `hf`, a byte at `offset`. */
static void
show_buffer_size(const smcr_message_clc_t *message, int hf, int offset, uint8_t byte)
{
    const smcr_layout_walk_t *walk = &message->walk;
    unsigned code = smcr_wire_bits(byte, SMCR_MASK_BUFFER_SIZE);
    proto_item *item = proto_tree_add_uint(smcr_layout_item(walk, hf), hf_smcr_rmb_size, walk->tvb,
                                           offset, 1, smcr_bsize_to_bytes(code));

    proto_item_set_generated(item);
}

/* ---- first contact ---- */

/* Raises an expert item if the GID with the index `number` in the list is all zeros or equal to an
 * earlier GID of the list. (R-V2ACC-14) */
static void
check_gid(const smcr_layout_walk_t *walk, const listed_gid_t *gids, unsigned number)
{
    if (smcr_clc_is_zero(gids[number].gid, SMCR_GID_LENGTH))
        smcr_say_note_format(walk, hf_smcr_gid, &ei_smcr_clc_gid, "The GID is not set");
    for (unsigned i = 0; i < number; i++)
        if (memcmp(&gids[number], &gids[i], sizeof *gids) == 0) {
            smcr_say_note_format(walk, hf_smcr_gid, &ei_smcr_clc_gid,
                                 "The list already has this GID");
            return;
        }
}

/* Dissects the list of GIDs of a Confirm, which begins at `start` with their count. */
static void
dissect_gid_list(smcr_message_clc_t *message, unsigned start, smcr_clc_accept_t *accept)
{
    listed_gid_t list[SMCR_CLC_COUNT_MAX + 1] = {{{0}}};
    unsigned gids = start + GID_COUNT_LENGTH;
    smcr_layout_walk_t walk = smcr_clc_subtree(&message->walk, hf_smcr_clc_gid_list,
                                               ett_smcr_gid_list, start, GID_COUNT_LENGTH);

    if (!smcr_clc_walk(message, &walk, &gid_count, start, accept))
        return;
    unsigned count = smcr_clc_check_list(
        message, &walk,
        &(smcr_message_clc_list_t){.hf_count = hf_smcr_gid_count, .count = accept->gid_count,
                                   .start = gids, .length = SMCR_GID_LENGTH});
    for (unsigned i = 0; i < count && message->reached_end; i++) {
        unsigned place = MIN(i, SMCR_CLC_COUNT_MAX); /* GIDs above SMCR_CLC_COUNT_MAX share the last
                                                        place: an expert item has reported that
                                                        there are too many */
        if (smcr_clc_walk(message, &walk, &gid_layout, gids + i * SMCR_GID_LENGTH, &list[place]) &&
            place < SMCR_CLC_COUNT_MAX)
            check_gid(&walk, list, place);
    }
    smcr_clc_subtree_end(message, &walk, gids + count * SMCR_GID_LENGTH);
    proto_item_append_text(walk.tree, ": %u GID%s", count, count == 1 ? "" : "s");
    message->required_length += GID_COUNT_LENGTH + SMCR_GID_LENGTH * (unsigned)accept->gid_count;
}

/* Appends host, operating system and release to the line of the first contact extension. Checks
 * operating system and release. Does nothing if the message is only examined. */
static void
describe_fce(const smcr_layout_walk_t *walk, const smcr_clc_accept_t *accept)
{
    if (walk->violation)
        return;
    unsigned os = smcr_wire_bits(accept->os_release, SMCR_MASK_OS);
    unsigned release = smcr_wire_bits(accept->os_release, SMCR_MASK_RELEASE);
    const char *name = val_to_str_const(os, smcr_values_os_types, "unknown");
    const char *host =
        smcr_item_peer_text(walk->pinfo->pool, accept->host_name, sizeof accept->host_name);

    proto_item_append_text(walk->tree, ": host %s, operating system %s, SMCv2.%u",
                           host, name, release);
    smcr_clc_check_os(walk, os);
    smcr_clc_check_release(walk, hf_smcr_clc_release_0f, release);
}

/* Returns the layout of the bytes after the first 36 bytes of the first contact extension. From
 * release 1 on, these bytes are negotiated values; in release 0 of SMC-R, reserved bytes. NULL: the
 * message is SMC-D of release 0, whose extension ends after 36 bytes. */
static const smcr_layout_t *
fce_tail(const smcr_message_clc_t *message, const smcr_clc_accept_t *accept)
{
    if (smcr_wire_bits(accept->os_release, SMCR_MASK_RELEASE) >= SMCR_CLC_RELEASE_1)
        return &fce_v21;
    return message->clc->smcd ? NULL : &fce_v20;
}

/* Dissects the first contact extension at `start`. In a Confirm of SMC-R, a list of GIDs follows.
 * `required_length` grows by the lengths of the parts, as far as they are known. */
static void
dissect_fce(smcr_message_clc_t *message, unsigned start, smcr_clc_accept_t *accept)
{
    bool smcd = message->clc->smcd;
    const smcr_layout_t *head = smcd ? &fce_smcd : &fce_smcr;
    unsigned end = start + head->length;
    smcr_layout_walk_t walk =
        smcr_clc_subtree(&message->walk, hf_smcr_clc_fce, ett_smcr_fce, start, head->length);

    message->length_is_exact = false;
    message->required_length += head->length;
    if (!smcr_clc_walk(message, &walk, head, start, accept))
        return;
    accept->has_fce = true;
    describe_fce(&walk, accept);

    const smcr_layout_t *tail = fce_tail(message, accept);
    if (tail) {
        message->required_length += tail->length;
        smcr_clc_walk(message, &walk, tail, end, accept);
        smcr_clc_say_vendor_options(&walk, smcr_clc_vendor_options(accept));
        end += tail->length;
    }
    smcr_clc_subtree_end(message, &walk, end);
    if (message->reached_end && !smcd && message->clc->header.type == SMCR_CLC_CONFIRM)
        dissect_gid_list(message, end, accept);
    message->length_is_exact = message->reached_end && message->consistent;
}

/* ---- the messages ---- */

/* Walks the fixed part of the message. Returns false if the fixed part is not complete. Sets the
 * required length to that of a message without extension: the fixed part and the trailer. */
static bool
dissect_fixed(smcr_message_clc_t *message, const smcr_layout_t *layout, void *keep)
{
    message->required_length = layout->length + SMCR_CLC_TRAILER_LENGTH;
    message->length_is_exact = true;
    return smcr_clc_walk(message, &message->walk, layout, 0, keep);
}

/* Dissects and checks the fixed part of an SMC-R message. A message that is only examined is not
 * checked: nobody sees the result. Returns false if the fixed part is not complete. */
static bool
dissect_smcr(smcr_message_clc_t *message)
{
    smcr_clc_accept_t *accept = &message->clc->u.accept;

    if (!dissect_fixed(message, message->format == 1 ? &smcr_v1 : &smcr_v2, accept))
        return false;
    if (message->walk.violation)
        return true;
    smcr_clc_explain_peer_id(message, accept->peer_id);
    show_buffer_size(message, hf_smcr_clc_sizes, SIZES_AT, accept->sizes);
    check_smcr(message, accept);
    return true;
}

/* Decodes an Accept or Confirm of SMC-D into `accept` and `clc`, and shows it if there is a tree.
 * Returns false if the fixed part is not complete. */
static bool
dissect_smcd(smcr_message_clc_t *message, smcd_accept_t *accept)
{
    const smcr_layout_walk_t *walk = &message->walk;

    if (!dissect_fixed(message, message->format == 1 ? &smcd_v1 : &smcd_v2, accept))
        return false;
    message->clc->dmb_size =
        smcr_bsize_to_bytes(smcr_wire_bits(accept->size, SMCR_MASK_BUFFER_SIZE));
    show_buffer_size(message, hf_smcr_smcd_size, DMB_SIZE_AT, accept->size);
    if (smcr_wire_bits(accept->size, SMCR_MASK_BUFFER_SIZE) > SMCR_BSIZE_1M)
        smcr_say_note_format(walk, hf_smcr_rmb_bsize, &ei_smcr_rmb_bsize,
                             "The buffer size is above the 1 MiB that SMC-D uses");
    return true;
}

/* Returns the release of SMC version 2; 0: not known, or release 0. The first contact extension
 * states the release for all messages of the link group. */
static unsigned
release_of(const smcr_message_clc_t *message, const smcr_clc_accept_t *first_contact)
{
    unsigned stated = smcr_wire_bits(first_contact->os_release, SMCR_MASK_RELEASE);
    bool joins_group = message->format == 2 && !is_first_contact(message);

    if (stated)
        return stated;
    return joins_group ? message->release : 0;
}

/* Returns the kind of SMC as text, such as "SMC-Rv2.1". */
static const char *
kind_text(const smcr_message_clc_t *message, const smcr_clc_accept_t *first_contact)
{
    wmem_allocator_t *pool = message->walk.pinfo->pool;
    unsigned release = release_of(message, first_contact);
    char kind = message->clc->smcd ? 'D' : 'R';

    return release ? wmem_strdup_printf(pool, "SMC-%cv%u.%u", kind, message->format, release)
                   : wmem_strdup_printf(pool, "SMC-%cv%u", kind, message->format);
}

/* Dissects the fixed part, then the first contact extension of version 2. `first_contact`: gets the
 * values of the extension. Returns whether the fixed part is complete. */
static bool
dissect_parts(smcr_message_clc_t *message, smcd_accept_t *smcd_accept,
              smcr_clc_accept_t *first_contact)
{
    bool smcd = message->clc->smcd;
    bool has_fce = message->format == 2 && is_first_contact(message);
    bool fixed = smcd ? dissect_smcd(message, smcd_accept) : dissect_smcr(message);

    check_path(message);
    if (has_fce && fixed)
        dissect_fce(message, smcd ? smcd_v2.length : smcr_v2.length, first_contact);
    else if (has_fce)
        message->length_is_exact = false;
    return fixed;
}

/* Writes GID and token of SMC-D into the Info column, and the GID into the line of the message. */
static void
say_smcd_ids(const smcr_layout_walk_t *walk, const smcd_accept_t *accept)
{
    smcr_say(walk, "GID", "ISM GID", "0x%016" PRIx64, accept->gid);
    smcr_say_info(walk, " Token=0x%016" PRIx64, accept->token);
}

/* Writes queue pair, RKey and alert token into the Info column, and the first two into the line of
 * the message. */
static void
say_smcr_ids(const smcr_layout_walk_t *walk, const smcr_clc_accept_t *accept)
{
    smcr_say(walk, "QPN", "queue pair", "0x%06x", accept->qpn);
    smcr_say(walk, "RKey", "RKey", "0x%08x", accept->rkey);
    smcr_say_info(walk, " Token=0x%08x", accept->token);
}

void
smcr_clc_accept(smcr_message_clc_t *message)
{
    const smcr_layout_walk_t *walk = &message->walk;
    bool smcd = is_of_smcd(message);
    smcd_accept_t smcd_accept = {0}; /* values of an SMC-D message */
    smcr_clc_accept_t *first_contact = smcd ? &smcd_accept.first_contact : &message->clc->u.accept;

    message->clc->smcd = smcd;
    bool fixed = dissect_parts(message, &smcd_accept, first_contact);
    if (walk->violation)
        return;
    smcr_say_after(walk, " ", ": ", "%s", kind_text(message, first_contact));
    if (fixed && smcd)
        say_smcd_ids(walk, &smcd_accept);
    else if (fixed)
        say_smcr_ids(walk, first_contact);
    if (is_first_contact(message)) {
        smcr_say_info(walk, " First contact");
        smcr_say_line(walk, ", first contact");
    }
}

SMCR_LAYOUT_LIST(clc_accept, &smcr_v1, &smcr_v2, &smcd_v1, &smcd_v2, &fce_smcr, &fce_smcd, &fce_v20,
                 &fce_v21, &gid_count, &gid_layout);
