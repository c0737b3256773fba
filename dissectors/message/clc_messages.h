/* Shared by the files that decode CLC messages: the message while it is decoded, and functions for
 * its parts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "layout.h"
#include "wire/wire.h"

/* The rows of a header, with which the layout of every message begins (RFC 7609 A.2). `bits_`: bits
 * of byte 7, whose meaning depends on type and version. */
#define SMCR_MESSAGE_CLC_HEADER_ROWS(bits_) \
    SHOW(hf_smcr_eyecatcher, 0, SMCR_WIRE_EYECATCHER_LENGTH), \
    SHOW(hf_smcr_clc_type, SMCR_CLC_TYPE_AT, 1), \
    SHOW(hf_smcr_clc_length, SMCR_CLC_LENGTH_AT, 2), \
    BITS(hf_smcr_clc_flags, SMCR_CLC_FLAGS_AT, 1, bits_)

/* Room for parts of a message that are not contiguous; a message has five at most. */
#define SMCR_MESSAGE_CLC_PARTS_MAX 8

/* A message while it is decoded. */
typedef struct {
    smcr_layout_walk_t walk;    /* the walk of the fixed part; its tvb is the message without its
                                   trailer */
    smcr_layout_item_t *shown;  /* head of the list of items that `walk` fills */
    smcr_clc_t *clc;            /* the decoded values, for the caller */
    unsigned format;            /* version whose layouts are used: 1 or 2 */
    unsigned release;           /* release of version 2 that the link group has agreed on before; 0:
                                   not known */
    bool reached_end;           /* false: bytes are missing, and nothing after them is decoded */
    bool consistent;            /* false: a count or an offset is wrong, so the right length of the
                                   message is not known */
    unsigned required_length;   /* number of bytes that the message has to have, with its trailer */
    bool length_is_exact;       /* `required_length` is the only right length; false: the least
                                   right length */
    unsigned part_count;        /* number of `parts` */
    struct {
        unsigned start; /* offset of the first byte in the message */
        unsigned end;   /* offset after the last byte */
    } parts[SMCR_MESSAGE_CLC_PARTS_MAX]; /* bytes that have been decoded, in order of decoding */
} smcr_message_clc_t;

/* Layout of a peer ID (A.2.1): the parts of its 8 bytes. */
extern smcr_layout_t smcr_message_clc_peer_id;

/* Walks `layout` from byte `base` of the message, shows it in walk->tree, and marks its bytes as
 * decoded. Does nothing after missing bytes. Returns message->reached_end. */
bool smcr_clc_walk(smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
                   const smcr_layout_t *layout, unsigned base, void *keep);

/* Marks bytes [start, end) as decoded. */
void smcr_clc_mark_decoded(smcr_message_clc_t *message, unsigned start, unsigned end);

/* Shows the bytes that no part has marked as decoded. In a whole message they are extra bytes, with
 * an expert item. In a truncated message they may belong to a part that was not reached. */
void smcr_clc_show_other_bytes(smcr_message_clc_t *message);

/* Adds the item of a part: field `hf`, bytes [start, start + length) of the message, subtree `ett`.
 * Returns a walk whose rows are added below that item. If none of the bytes is captured, there is
 * no item, and the rows are added where those of `parent` are. */
smcr_layout_walk_t smcr_clc_subtree(const smcr_layout_walk_t *parent, int hf, int ett,
                                    unsigned start, unsigned length);

/* Lets the item of `walk` end at byte `end` of the message, once its length is known. */
void smcr_clc_subtree_end(const smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
                          unsigned end);

/* A list in a message: entries of equal size, whose number a field announces. */
typedef struct {
    int hf_count;      /* the field that announces the number */
    unsigned count;    /* the number of entries that the field announces */
    unsigned start;    /* offset of the first entry in the message */
    unsigned length;   /* bytes of an entry */
} smcr_message_clc_list_t;

/* Returns how many announced entries of the list have room, up to the next decoded part or the end
 * of the message. Raises an expert item if that is fewer than announced, and if more are announced
 * than the protocol allows (SMCR_CLC_COUNT_MAX). */
unsigned smcr_clc_check_list(smcr_message_clc_t *message, const smcr_layout_walk_t *walk,
                             const smcr_message_clc_list_t *list);

/* Appends a remark to a peer ID that Linux sends as long as the host has no active RDMA port.
 * `peer_id` has 8 bytes (A.2.1). */
void smcr_clc_explain_peer_id(const smcr_message_clc_t *message, const uint8_t *peer_id);

/* Whether all `length` bytes are zero. `length`: at most that of a GID. */
static inline bool
smcr_clc_is_zero(const uint8_t *bytes, unsigned length)
{
    static const uint8_t zeros[SMCR_GID_LENGTH];

    return memcmp(bytes, zeros, length) == 0;
}

/* Raises an expert item if a MAC is not that of one host: it is zero, or of a group. (R-A.2.2-8) */
static inline void
smcr_clc_check_mac(const smcr_message_clc_t *message, const uint8_t *mac)
{
    if ((mac[0] & SMCR_WIRE_MAC_GROUP) || smcr_clc_is_zero(mac, SMCR_WIRE_MAC_LENGTH))
        smcr_say_note(&message->walk, hf_smcr_mac, &ei_smcr_mac);
}

/* Raises an expert item if the release is newer than this dissector. */
static inline void
smcr_clc_check_release(const smcr_layout_walk_t *walk, int hf, unsigned release)
{
    if (release > SMCR_CLC_RELEASE_1)
        smcr_say_note(walk, hf, &ei_smcr_clc_release);
}

/* Raises an expert item if the operating system is not in enum smcr_clc_os_type. */
static inline void
smcr_clc_check_os(const smcr_layout_walk_t *walk, unsigned code)
{
    if (!try_val_to_str(code, smcr_values_os_types))
        smcr_say_note(walk, hf_smcr_clc_os, &ei_smcr_clc_os);
}

/* Return what a Proposal offers in version 1, and in version 2 (enum smcr_clc_smc_type). In a
 * Proposal of version 1, the bits of version 2 are reserved. */
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

/* Returns the release of SMC version 2 in a Proposal; 0 if it has no SMCv2 extension. */
static inline unsigned
smcr_clc_release(const smcr_clc_proposal_t *proposal)
{
    return smcr_wire_bits(proposal->v2_flags, SMCR_MASK_V2_RELEASE);
}

/* Returns whether a part may have the `length` bytes at `start`, which the offset in field `hf`
 * states: they lie within the message and outside of decoded parts. If not, an expert item says
 * why, and the message is no longer consistent. */
bool smcr_clc_place_is_possible(smcr_message_clc_t *message, const smcr_layout_walk_t *walk, int hf,
                                unsigned start, unsigned length);

/* Dissects the SMC-D area, right after the first 40 bytes. */
void smcr_clc_smcd_area_dissect(smcr_message_clc_t *message, smcr_clc_proposal_t *proposal);

/* Dissects the SMCv2 extension, and the SMC-Dv2 extension, whose offset is in the SMCv2 extension.
 * Returns the number of bytes that both should have by their counts. */
unsigned smcr_clc_v2_extension_dissect(smcr_message_clc_t *message, smcr_clc_proposal_t *proposal);

/* Each shows, checks and decodes one type of message, header included (A.2.2 to A.2.5). */
typedef void smcr_message_clc_body_t(smcr_message_clc_t *message);
DIAG_OFF(redundant-decls) /* messages share bodies */
#define SMCR_CLC_MESSAGE(name, type, text, body) smcr_message_clc_body_t smcr_clc_##body;
#include "wire/clc.def"
DIAG_ON(redundant-decls)
