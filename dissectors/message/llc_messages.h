/* Shared by the files that decode LLC messages. llc.c shows the header and calls one function for
 * each message, which shows the body, checks it and writes the texts of the message.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <limits.h>

#include "layout.h"
#include "wire/wire.h"

/* Bodies are walked from the end of the header. BODY() lets their layouts state offsets in the
 * message, as the RFC does. */
#define BODY(offset) ((offset) - SMCR_LLC_HEADER)

/* A message while it is decoded. Its header has been shown and kept. */
typedef struct {
    smcr_layout_walk_t walk;    /* the walk of the message; its tvb has the bytes of the message
                                   alone */
    smcr_layout_item_t *shown;  /* head of the list of items that `walk` fills */
    unsigned end;               /* number of bytes of the message, captured or not */
    smcr_llc_t *llc;            /* the decoded values, for the caller */
    bool v2;                    /* the message is of SMC version 2 */
    bool response;              /* the message has SMCR_LLC_FLAG_RESPONSE */
    bool rejected;              /* the message is a response with SMCR_LLC_FLAG_REJECTED */
} smcr_message_llc_t;

/* Result of the functions of this header if the message or the capture ends too early. They have
 * then raised an expert item and shown all bytes. */
#define SMCR_MESSAGE_LLC_CUT UINT_MAX

/* Each function shows and checks the body of one message. It returns the offset of the first byte
 * after the bytes that it has shown, or SMCR_MESSAGE_LLC_CUT. */
typedef unsigned smcr_message_llc_body_t(const smcr_message_llc_t *message);
DIAG_OFF(redundant-decls) /* messages of both versions share bodies */
#define SMCR_LLC_MESSAGE(name, type, text, header, body, ...) \
    smcr_message_llc_body_t smcr_llc_##body;
#include "wire/llc.def"
DIAG_ON(redundant-decls)

/* Walks the layout of the message's body, and keeps members of smcr_llc_t. Returns false if the
 * message or the capture ends too early. */
static inline bool
smcr_llc_walk_body(const smcr_message_llc_t *message, const smcr_layout_t *layout)
{
    return smcr_layout_walk(layout, &message->walk, SMCR_LLC_HEADER, message->llc);
}

/* Raises an expert item at field `hf`, for a count or a length that does not fit the message or the
 * protocol. A message that is only examined becomes flawed. */
void smcr_llc_raise_fault(const smcr_message_llc_t *message, int hf, expert_field *expert);

/* Adds the field smcr.llc.echo: the values of this response are those of the request. */
void smcr_llc_show_echo(const smcr_message_llc_t *message);

/* Show the bytes [from, to). _reserved: reserved bytes; _unused: places of a list that the message
 * does not use. The bytes should be zero; an expert item reports if they are not. Nothing happens
 * if `from` is not below `to`. Each returns the offset after the bytes, or SMCR_MESSAGE_LLC_CUT. */
unsigned smcr_llc_show_reserved(const smcr_message_llc_t *message, unsigned from, unsigned to);
unsigned smcr_llc_show_unused(const smcr_message_llc_t *message, unsigned from, unsigned to);

/* The two formats of an RToken: with the link's number (CONFIRM RKEY), or with the RMB's RKey on
 * the link that carries the message (ADD LINK). */
typedef enum { SMCR_MESSAGE_RTOKEN_OF_LINK, SMCR_MESSAGE_RTOKEN_PAIR } smcr_message_rtoken_format_t;

/* Shows `count` RTokens from byte `base` on, no more than the message has room for, and keeps them
 * as llc->rtokens_in_message. `link`: number of the link to which RTokens without a link number
 * belong. Returns the offset after the last RToken, or SMCR_MESSAGE_LLC_CUT. (A.3.3, A.3.5) */
unsigned smcr_llc_show_rtokens(const smcr_message_llc_t *message,
                               smcr_message_rtoken_format_t format, unsigned base, unsigned count,
                               uint8_t link);

/* Removes RTokens that are all zero from the end of the list: the message announces more RTokens
 * than it has. */
void smcr_llc_drop_empty_rtokens(smcr_llc_t *llc);

/* Returns how many RTokens fit between byte `base` and the end of the message. */
unsigned smcr_llc_rtoken_room(const smcr_message_llc_t *message,
                              smcr_message_rtoken_format_t format, unsigned base);
