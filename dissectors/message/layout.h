/* Message layouts as tables, and smcr_layout_walk(), which reads a message by its table (the walk).
 * The walk shows the fields of the message, and stores values in the caller's struct. The tables
 * are in the files of the messages. The smcr_say functions write texts and expert items of a
 * message.
 *
 * The rows of a table cover a message, or a part of it, without gaps and in wire order, including
 * reserved bytes. Parts whose offset or number depends on the message (prefixes, EIDs, lists of
 * RKeys) have tables of their own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "fields.h"

/* How a row is shown. */
typedef enum {
    SMCR_ROW_SHOW, /* an item with the value of the field */
    SMCR_ROW_BITS, /* an item for a field of one or two bytes, and below the item its bits */
    SMCR_ROW_TEXT, /* an item with ASCII text, which is padded with blanks or zeros on the wire */
    SMCR_ROW_PART, /* an item for the field, and below the item the rows of another table */
} smcr_row_kind_t;

/* How the bytes of a row are stored in the caller's struct. */
typedef enum {
    SMCR_KEEP_NOT,     /* not stored */
    SMCR_KEEP_INTEGER, /* stored as an integer in host order */
    SMCR_KEEP_BYTES,   /* stored as bytes in wire order */
} smcr_keep_t;

typedef struct smcr_layout smcr_layout_t;

/* A row of a layout: a field of the message. */
typedef struct {
    const int *hf;             /* the field that shows the bytes */
    const int *first_byte_hf;  /* for a reserved row: the field that shows the first byte if this
                                  byte is not 0, as ANCK (the kernel of Alibaba) sends it; NULL:
                                  no such field */
    const int *either_of_hf;   /* a second field, which the row adds as a hidden item with the same
                                  value, for display filters; NULL: none */
    uint16_t offset;           /* offset of the row's first byte from the base of the layout */
    uint16_t length;           /* length of the row in bytes */
    smcr_row_kind_t kind;      /* how the row is shown */
    bool peer_order;           /* the byte order of the integer is `peer_order` of
                                  smcr_layout_walk_t; false: big-endian */
    int *const *bits;          /* SMCR_ROW_BITS: list of fields whose masks together cover every bit
                                  of the row; NULL ends the list */
    const smcr_layout_t *part; /* SMCR_ROW_PART: layout of the rows below the field */
    const int *ett;            /* SMCR_ROW_PART: subtree in which these rows are shown */
    smcr_keep_t keep;          /* how the bytes are stored; with SMCR_KEEP_NOT, `member` and
                                  `member_size` are 0 */
    uint16_t member;           /* offset, in the caller's struct, of the member in which the bytes
                                  are stored */
    uint16_t member_size;      /* size of the struct's member in which the bytes are stored,
                                  bytes */
} smcr_row_t;

/* The layout of a message, or of a part of a message. */
struct smcr_layout {
    const char *title;      /* name of the layout, printed by a unit test */
    const smcr_row_t *rows; /* rows in wire order, without gaps */
    unsigned count;         /* number of rows */
    unsigned length;        /* number of bytes that the rows cover */
};

#define SMCR_LAYOUT_OF(title_, rows_, length_) \
    {.title = (title_), .rows = (rows_), .count = array_length(rows_), .length = (length_)}

/* SMCR_LAYOUT defines a static layout with the given rows. SMCR_LAYOUT_SHARED defines a layout that
 * a header declares for several files. */
#define SMCR_LAYOUT(name_, title_, length_, ...) \
    static const smcr_row_t name_##_rows[] = {__VA_ARGS__}; \
    static const smcr_layout_t name_ = SMCR_LAYOUT_OF(title_, name_##_rows, length_)
#define SMCR_LAYOUT_SHARED(name_, title_, length_, ...) \
    static const smcr_row_t name_##_rows[] = {__VA_ARGS__}; \
    const smcr_layout_t name_ = SMCR_LAYOUT_OF(title_, name_##_rows, length_)

/* The files that define layouts. Each of them has SMCR_LAYOUT_LIST, a list of its layouts: a unit
 * test checks all lists. NULL ends a list. */
#define SMCR_LAYOUT_FILES(DO) \
    DO(cdc) \
    DO(clc) \
    DO(clc_accept) \
    DO(clc_messages) \
    DO(clc_proposal) \
    DO(clc_proposal_v2) \
    DO(llc) \
    DO(llc_link) \
    DO(llc_messages) \
    DO(llc_rkey) \
    DO(option)
#define SMCR_LAYOUT_DECLARE(file_) extern const smcr_layout_t *const smcr_layout_list_##file_[];
SMCR_LAYOUT_FILES(SMCR_LAYOUT_DECLARE)
#define SMCR_LAYOUT_LIST(file_, ...) \
    const smcr_layout_t *const smcr_layout_list_##file_[] = {__VA_ARGS__, NULL}

/* Initializes `keep`, `member` and `member_size` of a row from the type of the struct's member: an
 * array of bytes is stored in wire order, an integer in host order. */
#define SMCR_LAYOUT_MEMBER(type_, member_) \
    .keep = _Generic(((type_ *)0)->member_, uint8_t *: SMCR_KEEP_BYTES, \
                     default: SMCR_KEEP_INTEGER), \
    .member = offsetof(type_, member_), .member_size = sizeof(((type_ *)0)->member_)

/* Rows of layouts. SHOW, BITS, TEXT and PART are kinds of rows (smcr_row_kind_t). A macro with KEEP
 * in its name also stores the bytes in `member_` of the struct `type_`; KEEP_RESERVED stores the
 * first byte only. */
#define SMCR_ROW_OF(kind_, hf_, offset_, length_) \
    .hf = &(hf_), .offset = (offset_), .length = (length_), .kind = SMCR_ROW_##kind_
#define SHOW(hf_, offset_, length_) {SMCR_ROW_OF(SHOW, hf_, offset_, length_)}
#define SHOW_RESERVED(offset_, length_) \
    {SMCR_ROW_OF(SHOW, hf_smcr_reserved, offset_, length_), .first_byte_hf = &hf_smcr_credits}
#define KEEP_RESERVED(offset_, length_, type_, member_) \
    {SMCR_ROW_OF(SHOW, hf_smcr_reserved, offset_, length_), .first_byte_hf = &hf_smcr_credits, \
     SMCR_LAYOUT_MEMBER(type_, member_)}
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

/* An entry in the list of items that the rows of a message have added to the tree, newest first. */
typedef struct smcr_shown smcr_layout_item_t;

/* The message that a walk reads, and the places where the walk shows the message. */
typedef struct {
    packet_info *pinfo; /* the frame that has the message */
    tvbuff_t *tvb;    /* the message; bytes after its reported length do not belong to the
                         message */
    proto_tree *tree; /* tree to which rows add their items; NULL: no item is added, but members are
                         stored */
    proto_item *top;  /* item of the whole message, to whose label texts are appended; NULL: none */
    unsigned peer_order; /* byte order of rows with `peer_order`: ENC_BIG_ENDIAN or
                            ENC_LITTLE_ENDIAN */
    bool *violation;  /* NULL: the walk shows the message. Not NULL: the walk only examines the
                         message. Nothing is shown, and `*violation` becomes true if the message
                         does not fit its layout, or has an impossible count or length. */
    smcr_layout_item_t **shown;  /* head of the message's list of items, for smcr_layout_item();
                                    NULL: no list is kept */
} smcr_layout_walk_t;

/* Shows the rows of `layout`, whose first byte is byte `base` of walk->tvb, and stores values in
 * the struct `keep`. `keep` may be NULL if no row stores a value. Reserved bits that are not zero
 * raise an expert item.
 *
 * Returns whether all bytes of the layout are captured; reserved rows at its end may be truncated
 * by snaplen. If the message or the capture ends before the end of the layout, the remaining bytes
 * are shown as bytes, with an expert item, and the members of the incomplete row and of later rows
 * do not change.
 *
 * If walk->violation is not NULL, `*violation` becomes true in two cases: the message ends before
 * the end of the layout, or reserved bits are not zero. */
bool smcr_layout_walk(const smcr_layout_t *layout, const smcr_layout_walk_t *walk, unsigned base,
                      void *keep);

/* Returns the last item of the field `hf` in the list of walk->shown. Returns the item of
 * walk->tree if there is no list or no such item: Wireshark does not make an item that nobody
 * needs. */
proto_item *smcr_layout_item(const smcr_layout_walk_t *walk, int hf);

/* Returns whether any of the captured bytes in [offset, offset + length) is not zero. */
bool smcr_layout_has_bits(tvbuff_t *tvb, unsigned offset, unsigned length);

/* Raises an expert item at `item`, because bytes before offset `end` of walk->tvb are missing. "Cut
 * short": the message has at least `end` bytes, but the capture is truncated. "Message short": the
 * message itself ends before offset `end`. If the walk only examines, no expert item is raised, and
 * a short message sets `*violation`. */
void smcr_layout_explain_missing(const smcr_layout_walk_t *walk, proto_item *item, unsigned end);

/* The smcr_say functions append text to the Info column and to the message's item walk->top
 * ("line"), and raise expert items. They show nothing if the walk only examines the message. */

/* Appends a text, made from `format` as printf() does, to two places: to the Info column, after the
 * words `info`, and to the label of walk->top, after the words `line`. If `info` or `line` is NULL,
 * the text is not appended to that place. */
void smcr_say_after(const smcr_layout_walk_t *walk, const char *info, const char *line,
                    const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Common cases of smcr_say_after(). smcr_say_info() appends to the Info column only,
 * smcr_say_line() to walk->top only, smcr_say_both() to both. smcr_say_name() appends "text" to the
 * Info column and ", text" to walk->top. smcr_say_remark() appends " text" to the Info column and
 * ", text" to walk->top. */
#define smcr_say_info(walk, ...) smcr_say_after(walk, "", NULL, __VA_ARGS__)
#define smcr_say_line(walk, ...) smcr_say_after(walk, NULL, "", __VA_ARGS__)
#define smcr_say_both(walk, ...) smcr_say_after(walk, "", "", __VA_ARGS__)
#define smcr_say_name(walk, ...) smcr_say_after(walk, "", ", ", __VA_ARGS__)
#define smcr_say_remark(walk, ...) smcr_say_after(walk, " ", ", ", __VA_ARGS__)

/* Appends a value, made from `format`: " key=value" to the Info column, ", words value" to
 * walk->top. */
void smcr_say(const smcr_layout_walk_t *walk, const char *key, const char *words,
              const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Puts "[text] " before all other text of the Info column. col_clear() keeps "[text] ". */
void smcr_say_trouble(const smcr_layout_walk_t *walk, const char *text);

/* Raise the expert item `expert` at the message's last item of the field `hf`. smcr_say_note() uses
 * the sentence in experts.def; smcr_say_note_format() makes the sentence from `format`. */
void smcr_say_note(const smcr_layout_walk_t *walk, int hf, expert_field *expert);
void smcr_say_note_format(const smcr_layout_walk_t *walk, int hf, expert_field *expert,
                          const char *format, ...) G_GNUC_PRINTF(4, 5);

/* Shows the bytes of `payload` from offset `from` on, which come after the message, and raises an
 * expert item. If the walk only examines the message, sets `*violation` instead. Does nothing if
 * the payload has no such bytes. */
void smcr_say_extra_bytes(const smcr_layout_walk_t *walk, tvbuff_t *payload, unsigned from);

/* ---- values of fields ---- */

/* Returns the length in bytes that the type of the field `hf` prescribes; 0: the type allows any
 * length. */
unsigned smcr_layout_width(int hf);

/* Returns the integer in `length` captured bytes, 8 at most. `order` is ENC_BIG_ENDIAN or
 * ENC_LITTLE_ENDIAN. */
uint64_t smcr_layout_number(tvbuff_t *tvb, unsigned offset, unsigned length, unsigned order);
