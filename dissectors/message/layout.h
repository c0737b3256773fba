/* Message layouts as tables, and the walker over them. The walker shows a message and keeps the
 * members that `state` needs, so that both come from the same bytes. The walker knows no message.
 * The end of this header declares how texts and expert items of a message are written.
 *
 * A table has a row for every byte of its message, also for reserved ones, in wire order. Parts
 * whose place or number depends on the message (prefixes, EIDs, RKey lists) are tables of their
 * own. Ordinary code walks them with their base offset.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fields.h"

/* How a row is shown. */
typedef enum {
    SMCR_ROW_SHOW, /* the value of the field */
    SMCR_ROW_BITS, /* a field of one or two bytes, and below it its bits */
    SMCR_ROW_TEXT, /* ASCII, padded with blanks or zeros */
    SMCR_ROW_PART, /* the field, and below it the rows of another table */
} smcr_row_kind_t;

/* How the bytes of a row are stored in the caller's struct. */
typedef enum {
    SMCR_KEEP_NOT,
    SMCR_KEEP_INTEGER, /* in host order */
    SMCR_KEEP_BYTES,   /* the bytes in wire order */
} smcr_keep_t;

typedef struct smcr_layout smcr_layout_t;

/* A row of a layout: a field of the message. */
typedef struct {
    const int *hf;             /* the field that shows the bytes */
    const int *first_byte_hf;  /* of a reserved row: field of the first byte if that byte is set, as
                                  ANCK, Alibaba's kernel, sets it; NULL: none */
    const int *either_of_hf;   /* another field that gets the same value, hidden: filters by it find
                                  either; NULL: none */
    uint16_t offset;           /* offset from the base of the layout, bytes */
    uint16_t length;           /* bytes */
    smcr_row_kind_t kind;      /* how the row is shown */
    bool peer_order;           /* the integer has the byte order `peer_order` of the walk; false:
                                  big-endian */
    int *const *bits;          /* SMCR_ROW_BITS: fields whose masks cover every bit, then NULL */
    const smcr_layout_t *part; /* SMCR_ROW_PART: the rows below the field */
    const int *ett;            /* SMCR_ROW_PART: the subtree of these rows */
    smcr_keep_t keep;          /* how the bytes are stored; SMCR_KEEP_NOT: not, and the next two
                                  members are 0 */
    uint16_t member;           /* offset of the member in the caller's struct, bytes */
    uint16_t member_size;      /* bytes */
} smcr_row_t;

struct smcr_layout {
    const char *title;      /* name, for the messages of a unit test */
    const smcr_row_t *rows; /* in wire order, without gaps */
    unsigned count;         /* number of rows */
    unsigned length;        /* bytes that the rows cover */
    smcr_layout_t *next;    /* next layout in the list of all; NULL: this is the last one */
};

#define SMCR_LAYOUT_OF(title_, rows_, length_) \
    {.title = (title_), .rows = (rows_), .count = array_length(rows_), .length = (length_)}

/* List of all layouts, which a unit test checks. Constructors fill the list when the plugin is
 * loaded. */
extern smcr_layout_t *smcr_layouts;

/* SMCR_LAYOUT defines a layout by its rows, for one file. SMCR_LAYOUT_SHARED defines one that a
 * header declares for several files. */
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

/* The type of the member decides how it is stored: an array keeps the bytes in wire order, an
 * integer is in host order. */
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

/* An item that a row has added, or the item of one of the row's bits. A message has a list of them,
 * the newest first. */
typedef struct smcr_shown smcr_layout_item_t;

/* The bytes from which a message is read, and the places where it is shown. */
typedef struct {
    packet_info *pinfo;
    tvbuff_t *tvb;    /* the message alone: its reported length is the length of the message */
    proto_tree *tree; /* rows are added below this tree; NULL: nothing is shown, members are stored
                         all the same */
    proto_item *top;  /* line of the message, to which texts are appended; NULL: none */
    unsigned peer_order; /* byte order of rows with `peer_order`: ENC_BIG_ENDIAN or
                            ENC_LITTLE_ENDIAN */
    bool *violation;  /* NULL: the message is shown. Else the message is only examined: nothing is
                         shown, and `*violation` becomes true if the message does not fit its
                         layout */
    smcr_layout_item_t **shown;  /* head of the message's list of items, for smcr_layout_item();
                                    NULL: no list is kept */
} smcr_layout_walk_t;

/* Shows the rows of `layout`, whose first byte is byte `base` of walk->tvb, and stores their kept
 * members in the struct `keep`. `keep` may be NULL if no row keeps a member. Members that are not
 * reached do not change. Reserved bits that are not zero raise an expert item.
 *
 * Returns false if the message or the capture ends before the layout does. The rest is then shown
 * as bytes, with an expert item. The function never reads after the captured bytes.
 *
 * A message that is only examined is flawed if it ends before the layout does, or if captured
 * reserved bits are not zero. */
bool smcr_layout_walk(const smcr_layout_t *layout, const smcr_layout_walk_t *walk, unsigned base,
                      void *keep);

/* Returns the item of field `hf` that a row of the message has added last, for checks and texts
 * that need more than one row. If there is no such item, or if no filter, column or tree needs the
 * field, returns the item of walk->tree. */
proto_item *smcr_layout_item(const smcr_layout_walk_t *walk, int hf);

/* Returns whether any of the captured bytes in [offset, offset + length) is not zero. */
bool smcr_layout_has_bits(tvbuff_t *tvb, unsigned offset, unsigned length);

/* Raises an expert item for missing bytes of walk->tvb: "cut short" if the message has `end` bytes
 * or more, and the capture truncates them; "message short" if the message ends before byte `end`. A
 * message that is only examined becomes flawed in the second case. */
void smcr_layout_explain_missing(const smcr_layout_walk_t *walk, proto_item *item, unsigned end);

/* A message has a text in the Info column, a text in its line of the tree, and expert items. New
 * text is appended. Nothing is written if the walk only examines the message. */

/* Appends a text, made of `format`: to the Info column after the words `info`, and to the line
 * after the words `line`. NULL: the text does not go to that place. */
void smcr_say_after(const smcr_layout_walk_t *walk, const char *info, const char *line,
                    const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Common cases of smcr_say_after(). _info, _line, _both: the text goes to the Info column only, to
 * the line only, to both. _name: a message's name, "text" in the Info column and ", text" in the
 * line. _remark: " text" in the Info column and ", text" in the line. */
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

/* Raise an expert item at the item of field `hf` that the message has added last. The sentence is
 * that of experts.def; with _format it is made of `format`. */
void smcr_say_note(const smcr_layout_walk_t *walk, int hf, expert_field *expert);
void smcr_say_note_format(const smcr_layout_walk_t *walk, int hf, expert_field *expert,
                          const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Shows the bytes of the payload from byte `from` on, which follow the message, and raises an
 * expert item. Does nothing if the payload has no such bytes. A message that is only examined
 * becomes flawed. */
void smcr_say_extra_bytes(const smcr_layout_walk_t *walk, tvbuff_t *payload, unsigned from);

/* ---- values of fields ---- */

/* Returns the number of bytes that a field has by its type; 0: any number. */
unsigned smcr_layout_width(int hf);

/* Returns the integer in `length` captured bytes, 8 at most. `order` is ENC_BIG_ENDIAN or
 * ENC_LITTLE_ENDIAN. */
uint64_t smcr_layout_number(tvbuff_t *tvb, unsigned offset, unsigned length, unsigned order);
