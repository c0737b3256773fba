/* Message layouts as tables, and the one walker that shows a message and stores what the state
 * needs of it, so that both read the same bytes; and what is said of a message. The walker knows no
 * message.
 *
 * A table has a row for every byte of its message, reserved ones too, in wire order. Parts whose
 * place or number depends on the message (prefixes, EIDs, RKey lists) are tables of their own,
 * walked from ordinary code with their base offset.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fields.h"

typedef enum {
    SMCR_ROW_SHOW, /* the field as it is */
    SMCR_ROW_BITS, /* one or two bytes, and below them their bits */
    SMCR_ROW_TEXT, /* ASCII, padded with blanks or zeros */
    SMCR_ROW_PART, /* the field, and below it a table of its own */
} smcr_row_kind_t;

typedef enum { SMCR_KEEP_NOT, SMCR_KEEP_INTEGER, SMCR_KEEP_BYTES } smcr_keep_t;

typedef struct smcr_layout smcr_layout_t;

typedef struct {
    const int *hf;
    const int *first;        /* of a reserved row: the field of its first byte, which ANCK,
                                Alibaba's kernel, sets; NULL: none */
    const int *also;         /* an either-of field that has the value, too: hidden; NULL: none */
    uint16_t offset; /* from the base of the layout */
    uint16_t length;
    smcr_row_kind_t kind;
    bool peer_order;         /* integer in the order of smcr_layout_walk_t.order, not big-endian */
    int *const *bits;        /* SMCR_ROW_BITS: fields whose masks cover every bit, then NULL */
    const smcr_layout_t *part; /* SMCR_ROW_PART */
    const int *ett;          /* SMCR_ROW_PART */
    smcr_keep_t keep;
    uint16_t member;      /* offset of the member in the caller's struct */
    uint16_t member_size; /* bytes */
} smcr_row_t;

struct smcr_layout {
    const char *title;
    const smcr_row_t *rows;
    unsigned count;
    unsigned length;     /* bytes that the rows cover */
    smcr_layout_t *next; /* of all layouts */
};

#define SMCR_LAYOUT_OF(title_, rows_, length_) \
    {.title = (title_), .rows = (rows_), .count = array_length(rows_), .length = (length_)}

/* All layouts, since the plugin was loaded: a unit test checks them. */
extern smcr_layout_t *smcr_layouts;

/* Defines a layout by its rows, for one file or, with SHARED, for several. */
#define SMCR_LAYOUT_ENLIST(name_, ...) \
    static const smcr_row_t name_##_rows[] = {__VA_ARGS__}; \
    __attribute__((constructor)) static void enlist_##name_(void) \
    { \
        name_.next = smcr_layouts; \
        smcr_layouts = &name_; \
    }
#define SMCR_LAYOUT(name_, title_, length_, ...) \
    static smcr_layout_t name_; \
    SMCR_LAYOUT_ENLIST(name_, __VA_ARGS__) \
    static smcr_layout_t name_ = SMCR_LAYOUT_OF(title_, name_##_rows, length_)
#define SMCR_LAYOUT_SHARED(name_, title_, length_, ...) \
    SMCR_LAYOUT_ENLIST(name_, __VA_ARGS__) \
    smcr_layout_t name_ = SMCR_LAYOUT_OF(title_, name_##_rows, length_)

/* The member's type decides what is stored: arrays of bytes as they are, integers in host order. */
#define SMCR_LAYOUT_MEMBER(type_, member_) \
    .keep = _Generic(((type_ *)0)->member_, uint8_t *: SMCR_KEEP_BYTES, \
                     default: SMCR_KEEP_INTEGER), \
    .member = offsetof(type_, member_), .member_size = sizeof(((type_ *)0)->member_)

#define SMCR_ROW_OF(kind_, hf_, offset_, length_) \
    .hf = &(hf_), .offset = (offset_), .length = (length_), .kind = SMCR_ROW_##kind_
#define SHOW(hf_, offset_, length_) {SMCR_ROW_OF(SHOW, hf_, offset_, length_)}
#define SHOW_RESERVED(offset_, length_) \
    {SMCR_ROW_OF(SHOW, hf_smcr_reserved, offset_, length_), .first = &hf_smcr_credits}
#define KEEP(hf_, offset_, length_, type_, member_) \
    {SMCR_ROW_OF(SHOW, hf_, offset_, length_), SMCR_LAYOUT_MEMBER(type_, member_)}
#define KEEP_ALSO(hf_, also_, offset_, length_, type_, member_) \
    {SMCR_ROW_OF(SHOW, hf_, offset_, length_), .also = &(also_), SMCR_LAYOUT_MEMBER(type_, member_)}
#define KEEP_PEER_ORDER(hf_, offset_, length_, type_, member_) \
    {SMCR_ROW_OF(SHOW, hf_, offset_, length_), .peer_order = true, \
     SMCR_LAYOUT_MEMBER(type_, member_)}
#define BITS(hf_, offset_, length_, bits_) \
    {SMCR_ROW_OF(BITS, hf_, offset_, length_), .bits = (bits_)}
#define KEEP_BITS(hf_, offset_, length_, bits_, type_, member_) \
    {SMCR_ROW_OF(BITS, hf_, offset_, length_), .bits = (bits_), SMCR_LAYOUT_MEMBER(type_, member_)}
#define TEXT(hf_, offset_, length_) {SMCR_ROW_OF(TEXT, hf_, offset_, length_)}
#define KEEP_TEXT(hf_, offset_, length_, type_, member_) \
    {SMCR_ROW_OF(TEXT, hf_, offset_, length_), SMCR_LAYOUT_MEMBER(type_, member_)}
#define KEEP_PART(hf_, offset_, length_, part_, ett_, type_, member_) \
    {SMCR_ROW_OF(PART, hf_, offset_, length_), .part = &(part_), .ett = &(ett_), \
     SMCR_LAYOUT_MEMBER(type_, member_)}

/* An item that a row has added, or one of its bits. A message lists them, the newest first. */
typedef struct smcr_shown smcr_layout_shown_t;

/* Where a message is read from and shown. */
typedef struct {
    packet_info *pinfo;
    tvbuff_t *tvb;    /* exactly the message: its reported length is what the message may use */
    proto_tree *tree; /* NULL: only store */
    proto_item *top;  /* the message's line; NULL: nobody shows one */
    unsigned order;   /* ENC_BIG_ENDIAN or ENC_LITTLE_ENDIAN, for rows in the peer's order */
    bool *flawed;     /* NULL: the message is shown. Else it is only examined: nothing is shown,
                       * and this becomes true where the message does not fit its layout */
    smcr_layout_shown_t **shown; /* head of the message's list of items, for smcr_layout_item();
                                    NULL where nobody asks for one */
} smcr_layout_walk_t;

/* Shows the rows of `layout`, whose first byte is at `base` of walk->tvb, and stores their kept
 * members in `keep` (may be NULL when no row keeps anything; members that were not reached are
 * left alone). Reserved bits that are not zero get a note.
 *
 * Returns false when the message or the capture ends before the layout does: the rest is shown
 * as bytes, with an expert item. Never reads past the captured bytes.
 *
 * A message that is only examined is flawed when it ends before the layout does, or when reserved
 * bits that the capture holds are not zero. */
bool smcr_layout_walk(const smcr_layout_t *layout, const smcr_layout_walk_t *walk, unsigned base,
                      void *keep);

/* The item of field `hf` that a row of the message has added last, for checks and texts that need
 * more than a row. The item of walk->tree when there is none, or when nobody wants that field. */
proto_item *smcr_layout_item(const smcr_layout_walk_t *walk, int hf);

/* Whether any of the captured bytes of [offset, offset + length) is not zero. */
bool smcr_layout_has_bits(tvbuff_t *tvb, unsigned offset, unsigned length);

/* Adds the expert item for bytes [.., end) of walk->tvb that are not there: cut off by the
 * capture, or not in the message. */
void smcr_layout_explain_missing(const smcr_layout_walk_t *walk, proto_item *item, unsigned end);

/* ---- what is said of a message ----
 *
 * Its text in the Info column, that of its line in the tree, and expert items. Texts are added to
 * the end. Where the walk only examines the message nothing is said. */

/* A text, in the Info column behind `info`, in the line behind `line`; NULL: it is not there. */
void smcr_say_behind(const smcr_layout_walk_t *walk, const char *info, const char *line,
                     const char *format, ...) G_GNUC_PRINTF(4, 5);

/* A text for the Info column alone, one for the line alone, and the same text for both. The name of
 * the message: "text" in the Info column, ", text" in the line. A remark: " text" in the Info
 * column, ", text" in the line. */
#define smcr_say_info(walk, ...) smcr_say_behind(walk, "", NULL, __VA_ARGS__)
#define smcr_say_line(walk, ...) smcr_say_behind(walk, NULL, "", __VA_ARGS__)
#define smcr_say_both(walk, ...) smcr_say_behind(walk, "", "", __VA_ARGS__)
#define smcr_say_name(walk, ...) smcr_say_behind(walk, "", ", ", __VA_ARGS__)
#define smcr_say_remark(walk, ...) smcr_say_behind(walk, " ", ", ", __VA_ARGS__)

/* A value: " key=value" in the Info column, ", words value" in the line. */
void smcr_say(const smcr_layout_walk_t *walk, const char *key, const char *words,
              const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Trouble: "[text] " before all else in the Info column, where no later text removes it. */
void smcr_say_trouble(const smcr_layout_walk_t *walk, const char *text);

/* An expert item at what the message has last shown of field `hf`; with the sentence of the table
 * of expert items, or with one of its own. */
void smcr_say_note(const smcr_layout_walk_t *walk, int hf, expert_field *expert);
void smcr_say_note_format(const smcr_layout_walk_t *walk, int hf, expert_field *expert,
                          const char *format, ...) G_GNUC_PRINTF(4, 5);

/* What follows the message in the payload, from a byte on, and an expert item, if anything does. */
void smcr_say_extra_bytes(const smcr_layout_walk_t *walk, tvbuff_t *payload, unsigned from);

/* ---- layouts themselves ---- */

/* Bytes that a field has by its type; 0: any number. */
unsigned smcr_layout_width(int hf);

/* The integer of `length` bytes; `order` is ENC_BIG_ENDIAN or ENC_LITTLE_ENDIAN. */
uint64_t smcr_layout_number(tvbuff_t *tvb, unsigned offset, unsigned length, unsigned order);
