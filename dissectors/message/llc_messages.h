/* What the files that decode LLC messages share: llc.c shows the header and calls one function
 * per message, which shows the body, checks it and says what the message is about.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include <limits.h>

#include "layout.h"
#include "wire/wire.h"

/* Bodies are walked from the end of the header; BODY() lets their tables say offsets in the
 * message, as the RFC does. */
#define BODY(offset) ((offset) - SMCR_LLC_HEADER)

/* The header has been shown and kept. Where walk.flawed is set these functions only show. */
typedef struct {
    smcr_layout_walk_t walk; /* tvb: the message without what follows it in the payload */
    smcr_layout_shown_t *shown; /* head of the list that `walk` writes */
    unsigned end;     /* its bytes, captured or not */
    smcr_llc_t *llc;
    bool v2;
    bool response;
    bool rejected; /* a response with SMCR_LLC_FLAG_REJECTED */
} smcr_message_llc_t;

/* Where a function below got to when the message or the capture was too short, which it has then
 * said: nothing is left to show. */
#define SMCR_MESSAGE_LLC_CUT UINT_MAX

/* Each shows and checks one message's body and returns the offset of the first byte that it has
 * not accounted for, or SMCR_MESSAGE_LLC_CUT. */
typedef unsigned smcr_message_llc_body_t(const smcr_message_llc_t *message);
DIAG_OFF(redundant-decls) /* messages of both versions share bodies */
#define SMCR_LLC_MESSAGE(name, type, text, header, body, ...) \
    smcr_message_llc_body_t smcr_llc_##body;
#include "wire/llc.def"
DIAG_ON(redundant-decls)

/* Walks the layout of the message's body, keeping members of smcr_llc_t. False: cut short. */
static inline bool
smcr_llc_walk_body(const smcr_message_llc_t *message, const smcr_layout_t *layout)
{
    return smcr_layout_walk(layout, &message->walk, SMCR_LLC_HEADER, message->llc);
}

/* As smcr_say_note(), for a count that does not fit the message or the protocol. */
void smcr_llc_count_fault(const smcr_message_llc_t *message, int hf, expert_field *expert);

/* Says that the values of this response are those of the request. */
void smcr_llc_show_echo(const smcr_message_llc_t *message);

/* Show bytes [from, to): reserved ones, and places of a list that the message does not use.
 * Either should be zero. Nothing happens when `from` is not below `to`. */
unsigned smcr_llc_show_reserved(const smcr_message_llc_t *message, unsigned from, unsigned to);
unsigned smcr_llc_show_unused(const smcr_message_llc_t *message, unsigned from, unsigned to);

/* The two formats of an RToken: with the link's number (CONFIRM RKEY), or with the RMB's RKey on
 * the link that carries the message (ADD LINK). */
typedef enum { SMCR_MESSAGE_RTOKEN_OF_LINK, SMCR_MESSAGE_RTOKEN_PAIR } smcr_message_rtoken_format_t;

/* Shows `count` RTokens from `base` on, clamped to what the message holds, and keeps them as
 * llc->rtokens. `link`: the link of RTokens that do not name one. */
unsigned smcr_llc_show_rtokens(const smcr_message_llc_t *message,
                               smcr_message_rtoken_format_t format, unsigned base, unsigned count,
                               uint8_t link);

/* Leaves out what is empty at the end of the list: its count is too high. */
void smcr_llc_drop_empty(smcr_llc_t *llc);

/* RTokens that fit between `base` and the end of the message. */
unsigned smcr_llc_rtoken_room(const smcr_message_llc_t *message,
                              smcr_message_rtoken_format_t format, unsigned base);
