/* packet.h
 * What the first pass learns of one frame: pinned to it, read by every pass and by the taps.
 *
 * A record says what was known when its frame came by, so that it reads the same in every pass
 * and when the user clicks on an old frame. What points forward (the response to a request) is
 * reached through an object that the state completes later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SMCR_STATE_PACKET_H
#define SMCR_STATE_PACKET_H

#include "conn.h"

typedef enum {
    SMCR_PACKET_OTHER, /* on an SMC-R queue pair, but none of the below */
    SMCR_PACKET_LLC,
    SMCR_PACKET_CDC,
    SMCR_PACKET_WRITE,
    SMCR_PACKET_ACK, /* ACK, NAK, RNR NAK, CNP */
} smcr_packet_kind_t;

/* A request and its response: LLC, one step of the CLC exchange, or a cursor update that somebody
 * asked for. */
struct smcr_exchange {
    uint64_t request_time, response_time;   /* nanoseconds since the epoch */
    uint32_t request_frame, response_frame; /* 0: not seen */
};

/* How long somebody has waited, and since which frame; 0: nobody has. */
typedef struct {
    uint32_t frame;
    uint64_t time; /* nanoseconds */
} smcr_wait_t;

/* What few WRITE packets have. */
typedef struct {
    smcr_late_t *late;     /* where the capture begins late: the connection, once it is known */
    uint32_t within;       /* with `late`: offset of this packet in its request, bytes */
    uint32_t rewritten;    /* as in smcr_piece_t */
    uint64_t gap;
    smcr_wait_t blocked;   /* the writer was, until this packet */
} smcr_place_more_t;

/* Where an RDMA WRITE packet writes. */
struct smcr_place {
    uint64_t position;       /* of its first byte in the byte stream */
    smcr_place_t *next;      /* the next one that is not announced yet; after the last, the first */
    smcr_place_more_t *more; /* NULL: nothing */
    const smcr_when_t *acked; /* by the first acknowledgement that covers it; NULL: not known */
    uint32_t offset;         /* in the RMB element */
    uint32_t length;         /* application bytes in this packet */
    uint32_t frame;          /* this one */
    uint32_t announced_in;   /* the CDC message that covers it; 0: not known yet */
    uint32_t used;           /* of the element: bytes written, and not read yet */
    uint8_t index;           /* RMB element, from 1; 0: not known */
    bool positioned;         /* `position` is known */
};

/* The piece of the byte stream, as far as is known. */
smcr_piece_t smcr_place_piece(const smcr_place_t *place);

/* What turns out later about a packet that came too early; NULL: this one did not. */
smcr_late_t *smcr_place_late(const smcr_place_t *place);

#define SMCR_NOT_KNOWN UINT32_MAX

/* What few CDC messages have. */
typedef struct {
    smcr_wait_t blocked; /* the writer was, until this message */
    smcr_wait_t full;    /* the window was, until this message */
} smcr_cdc_more_t;

/* What a CDC message means for its connection. */
typedef struct {
    uint64_t announced; /* end of what the sender has announced, a position in the stream */
    uint64_t consumed;  /* end of what the sender has read of the other stream */
    uint32_t len;       /* bytes that this message announces */
    uint32_t read;      /* bytes that it says were read */
    uint32_t unread;    /* of the announced bytes, those that the receiver has not read yet */
    uint32_t size;      /* of the element, without an eyecatcher; 0: not known */
    uint32_t offered;   /* space that is left in the sender's own element; SMCR_NOT_KNOWN */
    uint32_t writes : 30; /* WRITE packets that it announces */
    bool urgent : 1;    /* urgent data end at `announced` */
    bool last : 1;      /* the sender is done with sending: the stream ends at `announced` */
    uint32_t first_write, last_write; /* their frames */
    uint32_t read_of;   /* what was read last had been announced in this frame; 0: none was read */
    uint64_t read_time; /* and so long before, nanoseconds */
    smcr_cdc_more_t *more; /* NULL: nothing */
} smcr_cdc_view_t;

/* Space that is left in the receiver's element, if its size is known. */
uint32_t smcr_cdc_free(const smcr_cdc_view_t *view);

typedef enum {
    SMCR_EVENT_NONE,
#define SMCR_EVENT(id, expert) id,
#include "events.def"
} smcr_event_id_t;

/* Something worth telling the user, with its sentence. */
typedef struct smcr_event {
    struct smcr_event *next;
    smcr_event_id_t id;
    const char *text; /* NULL: the sentence of the expert item says all */
} smcr_event_t;

typedef struct {
    uint8_t kind;      /* smcr_packet_kind_t */
    int8_t sender;     /* side of the link group */
    int8_t direction;  /* 0 client to server, 1 server to client, -1 not known */
    bool lgr_proven;   /* the link group has an index */
    bool sender_known; /* the queue pair that sent it is */
    bool receiver_known;
    bool has_number;   /* the link's number was known */
    smcr_psn_order_t order;
    uint32_t message_psn; /* SEND in several packets: PSN of its first one */
    uint32_t part;        /* and the number of this one, from 0 */
    bool has_part;        /* the two are known, and the packet counts */
    uint32_t first_frame; /* that had this PSN before; 0: none */
    uint32_t missing;     /* packets of the gap before this one */
    smcr_link_t *link;
    smcr_conn_t *conn;    /* NULL: belongs to no single connection, or not known */
    smcr_exchange_t *asks;    /* the exchange that this message begins */
    smcr_exchange_t *answers; /* the one that it ends; a message may do both */
    smcr_place_t *place;  /* SMCR_PACKET_WRITE */
    smcr_wait_t acks;     /* acknowledgement: the packet that it answers, and how long it took */
    smcr_cdc_view_t *view; /* SMCR_PACKET_CDC that was taken in; NULL: not known */
    smcr_event_t *events; /* in order */
} smcr_packet_t;

/* The connection, even if it has turned out later; NULL: it has not. */
smcr_conn_t *smcr_packet_conn(const smcr_packet_t *packet);

/* Completes the record with what is known of its link now; `sender` is a side of it. */
void smcr_packet_set_link(smcr_packet_t *packet, smcr_link_t *link, int sender);

#endif /* SMCR_STATE_PACKET_H */
