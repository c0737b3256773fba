/* Message layouts as tables, and the one walker over them. The walker shows a message and keeps the
 * members that `state` needs, so that both read the same bytes. It knows no message. At the end:
 * how a message's texts and expert items are written.
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

/* How a row's bytes are kept in the caller's struct. */
typedef enum {
    SMCR_KEEP_NOT,
    SMCR_KEEP_INTEGER, /* in host order */
    SMCR_KEEP_BYTES,   /* as they are */
} smcr_keep_t;

typedef struct smcr_layout smcr_layout_t;

/* A field of a message. */
typedef struct {
    const int *hf;             /* the field that shows the bytes */
    const int *first_byte_hf;  /* reserved row: the field of its first byte, which ANCK, Alibaba's
                                  kernel, sets; NULL: none */
    const int *either_of_hf;   /* either-of field that gets the same value, hidden; NULL: none */
    uint16_t offset;           /* from the base of the layout, bytes */
    uint16_t length;           /* bytes */
    smcr_row_kind_t kind;
    bool peer_order;           /* integer in the order of the walk's `order`; else big-endian */
    int *const *bits;          /* SMCR_ROW_BITS: fields whose masks cover every bit, then NULL */
    const smcr_layout_t *part; /* SMCR_ROW_PART: the rows below the field */
    const int *ett;            /* SMCR_ROW_PART: the subtree that has them */
    smcr_keep_t keep;          /* the members below are set unless this is SMCR_KEEP_NOT */
    uint16_t member;           /* offset of the member in the caller's struct, bytes */
    uint16_t member_size;      /* bytes */
} smcr_row_t;

struct smcr_layout {
    const char *title;      /* for messages of the unit test */
    const smcr_row_t *rows; /* in wire order, without gaps */
    unsigned count;         /* of rows */
    unsigned length;        /* bytes that the rows cover */
    smcr_layout_t *next;    /* in the list of all layouts; NULL: the last one */
};

#define SMCR_LAYOUT_OF(title_, rows_, length_) \
    {.title = (title_), .rows = (rows_), .count = array_length(rows_), .length = (length_)}

/* List of all layouts, which a unit test checks. Constructors fill it when the plugin is loaded. */
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
    {SMCR_ROW_OF(SHOW, hf_smcr_reserved, offset_, length_), .first_byte_hf = &hf_smcr_credits}
#define KEEP(hf_, offset_, length_, type_, member_) \
    {SMCR_ROW_OF(SHOW, hf_, offset_, length_), SMCR_LAYOUT_MEMBER(type_, member_)}
#define KEEP_ALSO(hf_, also_, offset_, length_, type_, member_) \
    {SMCR_ROW_OF(SHOW, hf_, offset_, length_), .either_of_hf = &(also_), \
     SMCR_LAYOUT_MEMBER(type_, member_)}
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

/* An item that a row has added, or the item of one of its bits. A message lists them, the newest
 * first. */
typedef struct smcr_shown smcr_layout_item_t;

/* What a message is read from, and where it is shown. */
typedef struct {
    packet_info *pinfo;
    tvbuff_t *tvb;    /* exactly the message: its reported length is the end of the message */
    proto_tree *tree; /* rows go below it; NULL: members are kept, nothing is shown */
    proto_item *top;  /* the message's line, which gets its texts; NULL: none */
    unsigned peer_order; /* of rows in the peer's order: ENC_BIG_ENDIAN or ENC_LITTLE_ENDIAN */
    bool *violation;  /* NULL: the message is shown. Else the message is only examined: nothing is
                       * shown, and this becomes true where it does not fit its layout */
    smcr_layout_item_t **shown;  /* head of the message's list of items, for smcr_layout_item();
                                    NULL: no list is kept */
} smcr_layout_walk_t;

/* Shows the rows of `layout`, whose first byte is byte `base` of walk->tvb, and stores their kept
 * members in the struct `keep`. `keep` may be NULL where no row keeps a member. Members that are
 * not reached do not change. Reserved bits that are not zero raise an expert item.
 *
 * Returns false if the message or the capture ends before the layout does. The rest is then shown
 * as bytes, with an expert item. Never reads past the captured bytes.
 *
 * A message that is only examined is flawed if it ends before the layout does, or if captured
 * reserved bits are not zero. */
bool smcr_layout_walk(const smcr_layout_t *layout, const smcr_layout_walk_t *walk, unsigned base,
                      void *keep);

/* Returns the item of field `hf` that a row of the message has added last, for checks and texts
 * that need more than one row. Returns the item of walk->tree if there is no such item, or if
 * nobody asks for the field. */
proto_item *smcr_layout_item(const smcr_layout_walk_t *walk, int hf);

/* Returns whether any of the captured bytes in [offset, offset + length) is not zero. */
bool smcr_layout_has_bits(tvbuff_t *tvb, unsigned offset, unsigned length);

/* Raises the expert item for missing bytes of walk->tvb: "cut short" where the message has `end`
 * bytes or more, and the capture cuts them; "message short" where the message ends before byte
 * `end`. A message that is only examined becomes flawed in the second case. */
void smcr_layout_explain_missing(const smcr_layout_walk_t *walk, proto_item *item, unsigned end);

/* ---- texts of a message ----
 *
 * The text of the Info column, the text of the message's line in the tree, and expert items. New
 * text goes to the end. Nothing is written where the walk only examines the message. */

/* Appends a text to the Info column after the words `info`, and to the line after the words `line`.
 * NULL: not there. */
void smcr_say_after(const smcr_layout_walk_t *walk, const char *info, const char *line,
                    const char *format, ...) G_GNUC_PRINTF(4, 5);

/* The same for common cases: a text for the Info column alone, for the line alone, or for both. The
 * name of the message is "text" in the Info column and ", text" in the line. A remark is " text" in
 * the Info column and ", text" in the line. */
#define smcr_say_info(walk, ...) smcr_say_after(walk, "", NULL, __VA_ARGS__)
#define smcr_say_line(walk, ...) smcr_say_after(walk, NULL, "", __VA_ARGS__)
#define smcr_say_both(walk, ...) smcr_say_after(walk, "", "", __VA_ARGS__)
#define smcr_say_name(walk, ...) smcr_say_after(walk, "", ", ", __VA_ARGS__)
#define smcr_say_remark(walk, ...) smcr_say_after(walk, " ", ", ", __VA_ARGS__)

/* Appends a value: " key=value" to the Info column, ", words value" to the line. */
void smcr_say(const smcr_layout_walk_t *walk, const char *key, const char *words,
              const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Puts "[text] " before all other text of the Info column, where no later text removes it. */
void smcr_say_trouble(const smcr_layout_walk_t *walk, const char *text);

/* Raises an expert item at the item of field `hf` that the message has added last. Its sentence is
 * that of experts.def, or one of its own. */
void smcr_say_note(const smcr_layout_walk_t *walk, int hf, expert_field *expert);
void smcr_say_note_format(const smcr_layout_walk_t *walk, int hf, expert_field *expert,
                          const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Shows the bytes of the payload from byte `from` on, which follow the message, and raises an
 * expert item. Does nothing where the payload ends before. An examined message becomes flawed. */
void smcr_say_extra_bytes(const smcr_layout_walk_t *walk, tvbuff_t *payload, unsigned from);

/* ---- layouts themselves ---- */

/* Returns the bytes that a field has by its type; 0: any number. */
unsigned smcr_layout_width(int hf);

/* Returns the integer in `length` captured bytes, 8 at most. `order` is ENC_BIG_ENDIAN or
 * ENC_LITTLE_ENDIAN. */
uint64_t smcr_layout_number(tvbuff_t *tvb, unsigned offset, unsigned length, unsigned order);
