/* One direction of a tapped connection: what its sender has sent, as the tap of a host shows it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "packets.h"
#include "state/model/store.h"

#define SMCR_TAPPED_CURSORS 64u /* number of producer cursors that are kept */
#define SMCR_TAPPED_KEPT 32u    /* number of messages that are kept; as many data packets are */

/* A CDC message. A copy of the message is recognised by cursors, number, flags and state. */
typedef struct {
    smcr_cursor_t prod, cons; /* producer and consumer cursor, as on the wire */
    uint16_t seq;             /* sequence number; 0 in all messages of a direction: the tap shows no
                                 numbers */
    uint8_t flags, state;     /* producer flags, and connection state flags (A.4) */
    uint64_t missing;    /* if both ends are on one host: number of bytes that the message
                            announces, that are missing in the capture, and of which no copy has
                            come so far */
    uint64_t awaited_in; /* `awaited_in` of the direction when the message came */
    uint32_t frame;      /* frame of the message */
    uint16_t layer;      /* layer of its record in the frame */
} smcr_tapped_message_t;

/* A packet with data that has a place in the stream. */
typedef struct {
    uint64_t position;  /* position of its first byte in the stream: assumed, until a message shows
                           the right one */
    uint64_t same_at;   /* set with `is_same`: position of the earlier packet with the same bytes */
    uint64_t time;      /* time of the packet, nanoseconds since the epoch */
    uint32_t frame;     /* frame of the packet */
    uint32_t length;    /* number of bytes that the tap has copied */
    uint32_t hash;      /* hash of the captured bytes */
    uint16_t layer;     /* layer of the record of its first part */
    uint8_t part_count; /* number of its parts */
    bool is_same;       /* an earlier packet has the same bytes */
    bool has_copy;      /* a later packet counts as the copy of this one */
} smcr_tapped_piece_t;

/* One direction of a tapped connection. A batch is the data since the sender's last message. */
typedef struct {
    bool has_interface;     /* `interface` is set: a packet has come */
    uint32_t interface;     /* interface of the first packet */
    bool has_message;       /* `last` is set: a message has come */
    smcr_tapped_message_t last; /* last message that was learned, as on the wire */
    uint32_t unannounced;   /* number of data bytes that came and that no message has announced */
    uint64_t announced;     /* position up to which messages have announced data */
    smcr_psn_t psn;         /* made-up PSN of the last packet in this direction */
    uint16_t seq;           /* sequence number with which the state has learned the last message */
    smcr_cursor_t cons;     /* if the size of the element is not known: consumer cursor with which
                               the state has learned the last message, a position; otherwise
                               zeros */
    struct {
        smcr_cursor_t wire; /* producer cursor of a message, as on the wire */
        uint32_t position;  /* position of the cursor */
        unsigned assumed;   /* `assumed` of the direction at this position */
    } cursors[SMCR_TAPPED_CURSORS]; /* circular list of the last producer cursors, if the size of
                                       the element is not known */
    unsigned assumed;       /* number of messages that did not show how many bytes they announce */
    unsigned cons_assumed;  /* `assumed` of the opposite direction at the position `cons` */
    unsigned cursor_count;  /* number of producer cursors so far */

    /* ---- order (order.c) ---- */
    smcr_tapped_message_t messages[SMCR_TAPPED_KEPT]; /* circular list of the last messages that
                                                         were learned */
    unsigned message_count; /* number of messages that were learned so far */
    smcr_tapped_piece_t pieces[SMCR_TAPPED_KEPT]; /* circular list of the last data packets */
    unsigned piece_count;   /* number of data packets so far */
    unsigned batch_count;   /* number of data packets in the batch */
    unsigned past_count;    /* number of messages in a row that were before the last one */
    uint64_t hole_at;       /* position of the missing data `hole`; set with `hole` */
    uint64_t hole;          /* number of bytes that the last message with missing data has
                               announced, if no data was captured for it; 0: data was captured for
                               it, no data is missing, or missing data has come since */
    uint64_t owed;          /* number of bytes that messages have announced, and that have not
                               come */
    bool lacks_cons;        /* the position of the consumer cursor `cons` is not known */
    bool has_left;          /* the batch begins with data that the last message has not announced */
    bool lacks_message;     /* a message of the peer shows that a message of this direction is
                               missing, or comes later (note_missing_of_peer()); false again with
                               the next message of this direction */

    /* ---- copies, if both ends are on one host (host_copies.c) ---- */
    wmem_array_t *awaited_bytes;    /* data of which the copy has not come; NULL: none so far */
    uint64_t copied;                /* bytes of copies since the last message */
    uint64_t awaited_in;            /* number of bytes that were ever appended to `awaited_bytes` */
    wmem_array_t *awaited_messages; /* smcr_tapped_message_t: messages of which the copy has not
                                       come */
} smcr_tapped_direction_t;

/* What is kept of a tapped connection. */
struct smcr_tapped {
    smcr_link_t *link;        /* made-up link of the connection; NULL: the RoCE packets of the
                                 connection are captured, so the state learns those */
    bool shows_twice;         /* both ends are on one host, so the tap shows each packet twice;
                                 false if the capture has refuted this */
    bool has_copies;          /* copies of messages, or of data, have come, as far as no later
                                 message has refuted this */
    bool repeats_data;        /* the program has sent the same bytes twice: equal data proves no
                                 copy */
    uint64_t last_time;       /* time of the last packet, nanoseconds since the epoch */
    smcr_tapped_direction_t direction[2]; /* by role of the sender */
};
