/* Shared by the files that decode LLC messages. llc.c shows the header of a message and calls the
 * function smcr_llc_<body>() of its type (llc.def). That function shows and checks the body, the
 * bytes after the header, and writes the texts of the message.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <limits.h>

#include "layout.h"
#include "wire/wire.h"

/* Offset in the body of an LLC message, from an offset in the message. The layouts of bodies begin
 * after the header, but RFC 7609 gives offsets from the beginning of the message. */
#define BODY(offset) ((offset) - SMCR_LLC_HEADER)

/* A message while its body is decoded. Its header has been shown, and its values are in `llc`. */
typedef struct {
    smcr_layout_walk_t walk;    /* the walk of the message; `walk.tvb` has the bytes of the message
                                   alone */
    smcr_layout_item_t *shown;  /* head of the list of items that `walk` fills */
    unsigned end;               /* number of bytes of the message, captured or not */
    smcr_llc_t *llc;            /* the decoded values, for the caller */
    bool v2;                    /* the message is of SMC version 2 */
    bool response;              /* the message has SMCR_LLC_FLAG_RESPONSE */
    bool rejected;              /* the message is a response that rejects a link
                                   (SMCR_LLC_FLAG_REJECTED, which means something else in a DELETE
                                   LINK) */
} smcr_message_llc_t;

/* Result of a function of this header if bytes of a value are missing in the message or in the
 * capture, or if reserved bytes are missing in the message. */
#define SMCR_MESSAGE_LLC_CUT UINT_MAX

/* A function that shows and checks the body of one type of message. Returns the offset of the first
 * byte after the shown bytes, or SMCR_MESSAGE_LLC_CUT. */
typedef unsigned smcr_message_llc_body_t(const smcr_message_llc_t *message);
DIAG_OFF(redundant-decls) /* messages of both versions share bodies, so llc.def declares some
                             functions twice */
#define SMCR_LLC_MESSAGE(name, type, text, header, body, ...) \
    smcr_message_llc_body_t smcr_llc_##body;
#include "wire/llc.def"
DIAG_ON(redundant-decls)

/* Walks the layout of the message's body, and stores values in message->llc. Returns the result of
 * smcr_layout_walk(). */
static inline bool
smcr_llc_walk_body(const smcr_message_llc_t *message, const smcr_layout_t *layout)
{
    return smcr_layout_walk(layout, &message->walk, SMCR_LLC_HEADER, message->llc);
}

/* Raises an expert item at field `hf`, because a count or a length is impossible in this message or
 * in the protocol. If the walk only examines the message, sets `*walk.violation` instead. */
void smcr_llc_raise_fault(const smcr_message_llc_t *message, int hf, expert_field *expert);

/* Adds the field smcr.llc.echo, which says that the response repeats the values of its request. */
void smcr_llc_show_echo(const smcr_message_llc_t *message);

/* Show the bytes from offset `from` to `to` - 1 of the message, and raise an expert item if a byte
 * is not zero. smcr_llc_show_reserved() shows reserved bytes. smcr_llc_show_unused() shows entries
 * of a list that the message does not use. Both do nothing and return `from` if `from` >= `to`. So
 * a `from` that is SMCR_MESSAGE_LLC_CUT is also returned, and callers pass the result of one
 * function to the next without a check. Otherwise both return the offset after the bytes, even if
 * the capture has truncated them; or SMCR_MESSAGE_LLC_CUT if the message itself ends before
 * `to`. */
unsigned smcr_llc_show_reserved(const smcr_message_llc_t *message, unsigned from, unsigned to);
unsigned smcr_llc_show_unused(const smcr_message_llc_t *message, unsigned from, unsigned to);

/* The two formats of an RToken: with the link's number (CONFIRM RKEY), or with the RMB's RKey on
 * the link that carries the message (ADD LINK). */
typedef enum { SMCR_MESSAGE_RTOKEN_OF_LINK, SMCR_MESSAGE_RTOKEN_PAIR } smcr_message_rtoken_format_t;

/* Shows `count` RTokens from offset `base` on, or fewer if the message has no room for all, and
 * stores them in llc->rtokens_in_message. `link`: number of the link of the RTokens in the format
 * SMCR_MESSAGE_RTOKEN_PAIR, which contains no link number. Returns the offset after the last
 * RToken, or SMCR_MESSAGE_LLC_CUT. (A.3.3, A.3.5) */
unsigned smcr_llc_show_rtokens(const smcr_message_llc_t *message,
                               smcr_message_rtoken_format_t format, unsigned base, unsigned count,
                               uint8_t link);

/* Removes RTokens whose RKeys and address are zero from the end of llc->rtokens_in_message, up to
 * the last RToken that has one of them. A message may end with such entries if it announces more
 * RTokens than it has. */
void smcr_llc_drop_empty_rtokens(smcr_llc_t *llc);

/* Returns how many RTokens fit between offset `base` and the end of the message. */
unsigned smcr_llc_rtoken_room(const smcr_message_llc_t *message,
                              smcr_message_rtoken_format_t format, unsigned base);
