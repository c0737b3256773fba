/* Shared by the files that decode CLC messages: the message while it is decoded, and functions for
 * its parts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "layout.h"
#include "wire/wire.h"

/* The rows of the CLC header, with which the layout of every CLC message begins (RFC 7609 A.2).
 * `bits_`: fields for the bits of byte 7, whose meaning depends on type and version of the
 * message. */
#define SMCR_MESSAGE_CLC_HEADER_ROWS(bits_) \
    SHOW(hf_smcr_eyecatcher, 0, SMCR_WIRE_EYECATCHER_LENGTH), \
    SHOW(hf_smcr_clc_type, SMCR_CLC_TYPE_AT, 1), \
    SHOW(hf_smcr_clc_length, SMCR_CLC_LENGTH_AT, 2), \
    BITS(hf_smcr_clc_flags, SMCR_CLC_FLAGS_AT, 1, bits_)

/* Number of entries in smcr_message_clc_t.parts. A message has fewer parts that are not
 * contiguous. */
#define SMCR_MESSAGE_CLC_PARTS_MAX 8

/* A CLC message while it is decoded. */
typedef struct {
    smcr_layout_walk_t walk;    /* the walk of the fixed part; `walk.tvb` is the message without its
                                   trailer */
    smcr_layout_item_t *shown;  /* head of the list of items that `walk` fills */
    smcr_clc_t *clc;            /* the decoded values, for the caller */
    unsigned format;            /* version whose layouts are used: 1 or 2 */
    unsigned release;           /* release of SMC version 2 that the link group has agreed on in its
                                   first contact; 0: release 0, or not known */
    bool reached_end;           /* no part decoded so far is incomplete, in the message or in the
                                   capture; false: no further part is decoded */
    bool consistent;            /* all counts and offsets so far are possible; false: one of them is
                                   wrong, so the right length of the message is not known */
    unsigned required_length;   /* length in bytes that follows from the type and the counts of the
                                   message, with its trailer */
    bool length_is_exact;       /* the message has to have exactly `required_length` bytes; false:
                                   at least as many */
    unsigned part_count;        /* number of entries used in `parts` */
    struct {
        unsigned start; /* offset of the part's first byte in the message */
        unsigned end;   /* offset after the part's last byte */
    } parts[SMCR_MESSAGE_CLC_PARTS_MAX]; /* parts of the message that have been decoded, in the
                                            order of their decoding; contiguous parts share an
                                            entry */
} smcr_message_clc_t;

/* Layout of a peer ID (A.2.1): the parts of its 8 bytes. */
extern const smcr_layout_t smcr_message_clc_peer_id;

/* Walks `layout` from offset `base` of the message, shows its rows in walk->tree, and marks its
 * bytes as decoded. Does nothing if message->reached_end is false. Returns message->reached_end. */
bool smcr_clc_walk(smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
                   const smcr_layout_t *layout, unsigned base, void *keep);

/* The vendor options of an Accept or Confirm, in host byte order. */
static inline uint32_t
smcr_clc_vendor_options(const smcr_clc_accept_t *accept)
{
    const uint8_t *options = accept->vendor_options;

    return (uint32_t)options[0] << 24 | (uint32_t)options[1] << 16 | (uint32_t)options[2] << 8 |
           options[3];
}

/* Appends the meaning of the vendor options to the item of the walked part, if they have the form
 * that ANCK (the kernel of Alibaba) gives them: the bit "valid" is set, and no reserved bit
 * (smc_clc.h, struct smc_clc_vendor_opt_ali). `options`: the four bytes, in host byte order. */
void smcr_clc_say_vendor_options(const smcr_layout_walk_t *walk, uint32_t options);

/* Adds the bytes from offset `start` to `end` - 1 to message->parts. */
void smcr_clc_mark_decoded(smcr_message_clc_t *message, unsigned start, unsigned end);

/* Shows the bytes of the message that are in none of message->parts. If no part is incomplete
 * (message->reached_end), these are extra bytes, and an expert item is raised; message->reached_end
 * becomes false if they are not captured. If a part is incomplete, the bytes may belong to a part
 * that was not decoded, and no expert item is raised. */
void smcr_clc_show_other_bytes(smcr_message_clc_t *message);

/* Adds the item of a part: field `hf` with the subtree `ett`, for `length` bytes from offset
 * `start` of the message. Returns a walk that adds its rows below this item. If none of the bytes
 * is captured, no item is added, and the returned walk adds its rows to parent->tree. */
smcr_layout_walk_t smcr_clc_subtree(const smcr_layout_walk_t *parent, int hf, int ett,
                                    unsigned start, unsigned length);

/* Sets the length of the item of `walk`, which smcr_clc_subtree() has added, so that the item ends
 * before offset `end` of the message. Does nothing if there is no such item. */
void smcr_clc_subtree_end(const smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
                          unsigned end);

/* A list in a message: entries of equal size, whose number a field announces. */
typedef struct {
    int hf_count;      /* the field that announces the number */
    unsigned count;    /* the number of entries that the field announces */
    unsigned start;    /* offset of the first entry in the message */
    unsigned length;   /* bytes of an entry */
} smcr_message_clc_list_t;

/* Returns how many of the announced entries of the list fit between list->start and the next
 * decoded part or the end of the message. Raises an expert item if not all announced entries fit
 * (message->consistent becomes false), or if their number is above SMCR_CLC_COUNT_MAX. */
unsigned smcr_clc_check_list(smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
                             const smcr_message_clc_list_t *list);

/* Appends a remark if `peer_id`, of 8 bytes (A.2.1), is the peer ID that older Linux kernels send
 * as long as the host has no active RDMA port. */
void smcr_clc_explain_peer_id(const smcr_message_clc_t *message, const uint8_t *peer_id);

/* Whether all `length` bytes are zero. `length`: at most SMCR_GID_LENGTH. */
static inline bool
smcr_clc_is_zero(const uint8_t *bytes, unsigned length)
{
    static const uint8_t zeros[SMCR_GID_LENGTH];

    return memcmp(bytes, zeros, length) == 0;
}

/* Raises an expert item if the MAC address is all zeros or a group address, so that it cannot be
 * the address of a device. (R-A.2.2-8) */
static inline void
smcr_clc_check_mac(const smcr_message_clc_t *message, const uint8_t *mac)
{
    if ((mac[0] & SMCR_WIRE_MAC_GROUP) || smcr_clc_is_zero(mac, SMCR_WIRE_MAC_LENGTH))
        smcr_say_note(&message->walk, hf_smcr_mac, &ei_smcr_mac);
}

/* Raises an expert item at field `hf` if `release` is above the highest release that this plugin
 * knows. */
static inline void
smcr_clc_check_release(const smcr_layout_walk_t *walk, int hf, unsigned release)
{
    if (release > SMCR_CLC_RELEASE_1)
        smcr_say_note(walk, hf, &ei_smcr_clc_release);
}

/* Raises an expert item if `code`, a code of an operating system, is not in enum
 * smcr_clc_os_type. */
static inline void
smcr_clc_check_os(const smcr_layout_walk_t *walk, unsigned code)
{
    if (!try_val_to_str(code, smcr_values_os_types))
        smcr_say_note(walk, hf_smcr_clc_os, &ei_smcr_clc_os);
}

/* Return the types of SMC (enum smcr_clc_smc_type) that a Proposal offers: smcr_clc_offered_v1()
 * for version 1, smcr_clc_offered_v2() for version 2. In a Proposal of version 1, the bits for
 * version 2 are reserved. */
static inline unsigned
smcr_clc_offered_v1(const smcr_message_clc_t *message)
{
    return smcr_wire_bits(message->clc->header.flags, SMCR_MASK_TYPE_V1);
}

static inline unsigned
smcr_clc_offered_v2(const smcr_message_clc_t *message)
{
    uint8_t flags = message->clc->header.flags;

    return message->format == 1 ? SMCR_CLC_TYPE_NONE : smcr_wire_bits(flags, SMCR_MASK_TYPE_V2);
}

static inline bool
smcr_clc_offers_smcr(unsigned type)
{
    return type == SMCR_CLC_TYPE_R || type == SMCR_CLC_TYPE_BOTH;
}

static inline bool
smcr_clc_offers_smcd(unsigned type)
{
    return type == SMCR_CLC_TYPE_D || type == SMCR_CLC_TYPE_BOTH;
}

/* Returns the release of SMC version 2 in a Proposal; 0 for release 0, or if the Proposal has no
 * SMCv2 extension. */
static inline unsigned
smcr_clc_release(const smcr_clc_proposal_t *proposal)
{
    return smcr_wire_bits(proposal->v2_flags, SMCR_MASK_V2_RELEASE);
}

/* Checks an offset in the message, which field `hf` shows and which says that a part of `length`
 * bytes begins at `start`. Returns true if these bytes lie within the message and outside of
 * message->parts. Otherwise raises an expert item, sets message->consistent to false, and returns
 * false. */
bool smcr_clc_place_is_possible(smcr_message_clc_t *message, const smcr_layout_walk_t *walk, int hf,
                                unsigned start, unsigned length);

/* Dissects the SMC-D area of a Proposal, which begins at offset SMCR_CLC_BASE_LENGTH. */
void smcr_clc_smcd_area_dissect(smcr_message_clc_t *message, smcr_clc_proposal_t *proposal);

/* Dissects the SMCv2 extension of a Proposal, and the SMC-Dv2 extension, whose offset is in the
 * SMCv2 extension. Returns the length in bytes that both extensions together should have, by the
 * counts in the message. An extension that is missing, incomplete or at an impossible place counts
 * as 0. */
unsigned smcr_clc_v2_extension_dissect(smcr_message_clc_t *message, smcr_clc_proposal_t *proposal);

/* A function that shows, checks and decodes one type of message, including the header (A.2.2 to
 * A.2.5). */
typedef void smcr_message_clc_body_t(smcr_message_clc_t *message);
DIAG_OFF(redundant-decls) /* messages share bodies */
#define SMCR_CLC_MESSAGE(name, type, text, body) smcr_message_clc_body_t smcr_clc_##body;
#include "wire/clc.def"
DIAG_ON(redundant-decls)
