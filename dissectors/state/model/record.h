/* The record of a packet: what the first pass learns of it. It is pinned to the frame, and read by
 * every pass and by the taps.
 *
 * A record says what was known when its packet went by, so that it reads the same in every pass
 * and when the user clicks on an old frame. What points forward (the response to a request) is
 * reached through an object that the state completes later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#pragma once

#include "conn.h"
#include "fabric/peers/rdma.h"

typedef enum {
    SMCR_RECORD_OTHER, /* on an SMC-R queue pair, but none of the below; or a CLC message */
    SMCR_RECORD_LLC,
    SMCR_RECORD_CDC,
    SMCR_RECORD_WRITE,
    SMCR_RECORD_ACK, /* ACK, NAK, RNR NAK */
    SMCR_RECORD_CNP, /* congestion notification */
    SMCR_RECORD_CM,  /* message of RDMA-CM */
    SMCR_RECORD_CORRUPT, /* any of these, but its ICRC is wrong: it was sent, but not received */
} smcr_record_kind_t;

/* ---- what records lead to ---- */

/* A request and its response: LLC, one step of the CLC exchange, or a requested cursor update. */
struct smcr_exchange {
    uint64_t request_time, response_time;   /* nanoseconds since the epoch */
    uint32_t request_frame, response_frame; /* 0: not seen */
    bool is_doubtful; /* what its response is will never be known */
    uint8_t llc_type; /* of the request: enum smcr_llc_type; 0: it is none of LLC */
    uint8_t step; /* answered: enum smcr_clc_step, or smcr_wire_llc_step() of LLC; else 0 */
    bool is_optional; /* a correct peer may give none */
    bool sent_before; /* the request: the capture does not tell when */
};

/* How long somebody has waited, and since which frame; 0: nobody has. */
typedef struct {
    uint32_t frame;
    bool is_ambiguous; /* of an acknowledgement: what it answers was sent more than once */
    uint64_t time; /* nanoseconds; SMCR_RECORD_NO_TIME: not known */
} smcr_record_wait_t;

#define SMCR_RECORD_NO_TIME UINT64_MAX

/* What turns out later about a WRITE that came before anything named its connection. */
typedef struct {
    smcr_conn_t *conn; /* NULL: still not known */
    smcr_link_t *link; /* NULL: the record has it, or it is not known */
    int sender;        /* side of the link */
    bool placed;       /* `position` is known */
    bool announced;    /* `end` and `before` are */
    uint64_t position; /* of the request's first byte in the byte stream */
    smcr_cursor_t end; /* of the CDC message that announces it */
    uint32_t before;   /* bytes from the request's first one to that */
} smcr_place_late_t;

typedef struct smcr_held smcr_held_t;

/* Rarely set members of the place of a WRITE packet, allocated on demand. */
typedef struct {
    smcr_place_late_t *late; /* where the capture begins late */
    uint32_t within;       /* with `late`: offset of this packet in its request, bytes */
    uint32_t rewritten;    /* as in smcr_stream_piece_t */
    uint64_t gap;
    uint64_t taped;        /* with `is_taped`: the position, where only order is known */
    bool is_taped;
    bool fills;            /* a gap: it may have been sent before what is behind it */
    bool gap_is_seen;      /* its bytes are in packets whose place was not known when they came */
    smcr_held_t *held;     /* its bytes are (held.h); NULL: they are not */
    uint8_t order;         /* these as in smcr_record_t: its queue pair was not known before */
    uint32_t first_frame;
    struct smcr_event *events;
} smcr_place_rare_t;

#define SMCR_PLACE_LENGTH_MASK 0x1fffff

/* Where an RDMA WRITE packet writes. */
struct smcr_place {
    uint64_t position;        /* of its first byte in the byte stream */
    const smcr_when_t *acked; /* by the first acknowledgement that covers it; NULL: not known */
    uint32_t more;            /* number of an entry: smcr_place_rare_t; 0: nothing */
    uint32_t offset;          /* in the RMB element */
    uint32_t length : 21;     /* application bytes in this packet */
    uint32_t index : 8;       /* RMB element, from 1; 0: not known */
    uint32_t positioned : 1;  /* `position` is known */
    uint32_t waits : 1;       /* for the CDC message that announces it */
    uint32_t is_unasked : 1;  /* the heuristics are not asked about its bytes */
    uint32_t frame;           /* this one */
    uint32_t used;            /* of the element: bytes written, and not read yet */
    union {
        uint32_t next;         /* while it waits: the entry of the next one that does; after the
                                  last, the first */
        uint32_t announced_in; /* else: the CDC message; 0: not known */
    };
};

#define SMCR_RECORD_NOT_KNOWN UINT32_MAX

/* Rarely set members of the view of a CDC message, allocated on demand. */
typedef struct smcr_record_cdc_rare {
    smcr_when_t waits;   /* the writer does, for space, since this message; frame 0: not known */
    smcr_when_t goes_on; /* it does; frame 0: not yet */
    const smcr_when_t *const *freed; /* the acknowledgement of what freed space; NULL: nothing */
    struct smcr_record_cdc_rare *before; /* a wait of which nothing had, either; NULL: none */
} smcr_record_cdc_rare_t;

/* What a CDC message means for its connection. */
typedef struct {
    uint64_t announced; /* end of what the sender has announced, a position in the stream */
    uint64_t consumed;  /* end of what the sender has read of the other stream */
    uint64_t read_time; /* so long before, what was read last had been announced, nanoseconds */
    uint32_t len;       /* bytes that this message announces */
    uint32_t read;      /* bytes that it says were read */
    uint32_t unread;    /* of the announced bytes, those that the receiver has not read yet */
    uint32_t size;      /* of the element, without an eyecatcher; 0: not known */
    uint32_t offered;   /* space that is left in the sender's own element; SMCR_RECORD_NOT_KNOWN */
    uint32_t writes : 26; /* WRITE packets that it announces */
    bool has_len : 1;   /* the message before is known: so is `len` */
    bool has_read : 1;  /* and so is `read` */
    bool has_announced : 1, has_consumed : 1; /* they are known: cursors do not go back */
    bool has_unread : 1; /* all messages of the peer are known: so are `unread` and what is free */
    bool urgent : 1;    /* urgent data end at `announced` */
    bool last : 1;      /* the sender is done with sending: the stream ends at `announced` */
    uint32_t first_write, last_write; /* their frames */
    uint32_t read_of;   /* in which that was; 0: nothing was read */
    uint32_t more;      /* number of an entry: smcr_record_cdc_rare_t; 0: nothing */
    const smcr_when_t *acked; /* NULL: not known */
} smcr_record_cdc_t;

/* Which part of its message a SEND packet has. */
typedef struct {
    uint32_t message_psn; /* of the message's first packet */
    uint32_t number;      /* of this one, from 0 */
} smcr_record_part_t;

/* A message of RDMA-CM, and the state of its connection after it. */
typedef smcr_cm_verdict_t smcr_record_cm_t;

/* What the state tells the user: an expert item of the same name is made of it. */
typedef enum {
    SMCR_EVENT_NONE,
#define EXPERT(ei, filter, group, severity, sentence) SMCR_EVENT_##ei,
#include "experts.def"
    SMCR_EVENTS,
} smcr_event_id_t;

typedef struct smcr_doubt_proof smcr_doubt_proof_t;

/* Something worth telling the user, with its sentence. */
typedef struct smcr_event {
    struct smcr_event *next;
    smcr_event_id_t id;
    const char *text; /* NULL: the sentence of the expert item says all */
    const smcr_doubt_proof_t *claim; /* that what comes later has to bear out; NULL: none */
} smcr_event_t;

/* ---- the record ---- */

/* Its members, listed once: the struct, the value that means "not known", and what is kept all come
 * from these lists (record.c).
 *
 * MEMBER(type, name, width, value): every record keeps it. `width` is empty or that of a bit-field.
 */
#define SMCR_RECORD_ALWAYS(MEMBER) \
    MEMBER(uint8_t, kind, : 3, SMCR_RECORD_OTHER)       /* smcr_record_kind_t */ \
    MEMBER(uint8_t, order, : 3, SMCR_FLOW_IS_NEXT)      /* smcr_flow_order_t */ \
    MEMBER(bool, taken, : 1, false)                     /* a repeat of what was acknowledged */ \
    MEMBER(bool, refused, : 1, false)                   /* a repeat of what was discarded */ \
    MEMBER(int8_t, sender, , SMCR_LGR_SIDE_UNKNOWN)     /* side of the link group */ \
    MEMBER(int8_t, direction, , SMCR_LGR_SIDE_UNKNOWN)  /* 0 client to server, 1 the reverse */ \
    MEMBER(uint8_t, fate, : 2, SMCR_FLOW_FATE_TAKE)     /* smcr_flow_fate_t */ \
    MEMBER(bool, lgr_proven, : 1, false)                /* the link group has an index */ \
    MEMBER(bool, sender_known, : 1, false)              /* the queue pair that sent it is */ \
    MEMBER(bool, receiver_known, : 1, false)            /* the one that receives it is */ \
    MEMBER(bool, has_number, : 1, false)                /* the link's number was known */ \
    MEMBER(bool, has_part, : 1, false)                  /* `part` is known */ \
    MEMBER(bool, is_late, : 1, false)                   /* see smcr_record_complete() */

/* MEMBER(type, name): a record keeps it only where it is not NULL. What it points to is an entry
 * that smcr_state_alloc0() has made. */
#define SMCR_RECORD_ENTRIES(MEMBER) \
    MEMBER(smcr_link_t *, link) \
    MEMBER(smcr_conn_t *, conn)         /* NULL: of no single connection, or not known */ \
    MEMBER(smcr_place_t *, place)       /* SMCR_RECORD_WRITE */ \
    MEMBER(smcr_record_cdc_t *, view)   /* SMCR_RECORD_CDC that was taken in; NULL: not known */ \
    MEMBER(smcr_exchange_t *, asks)     /* the exchange that this message begins */ \
    MEMBER(smcr_exchange_t *, answers)  /* the one that it ends; a message may do both */ \
    MEMBER(smcr_event_t *, events)      /* in order */ \
    MEMBER(const smcr_completion_t *, completes) /* response: messages that it completes */ \
    MEMBER(const smcr_ecn_cnp_t *, cnp) /* SMCR_RECORD_CNP */ \
    MEMBER(const smcr_record_cm_t *, cm) /* with `rdma`: of its connection, so far */

/* MEMBER(type, name): a record keeps it only where it is not zero. */
#define SMCR_RECORD_SOMETIMES(MEMBER) \
    MEMBER(uint32_t, refuses)           /* NAK, RNR NAK: frame that first had its PSN */ \
    MEMBER(smcr_step_back_t *, step)    /* that the packet belongs to */ \
    MEMBER(uint32_t *, discarded)       /* behind a gap: see smcr_flow_verdict_t */ \
    MEMBER(uint32_t, first_frame)       /* that had this PSN before; late: that overtook it; \
                                           0: none */ \
    MEMBER(uint32_t, missing)           /* packets that are absent before this one */ \
    MEMBER(uint32_t, gap_frame)         /* behind a gap: the first packet behind it */ \
    MEMBER(smcr_record_part_t, part)    /* SEND in several packets */ \
    MEMBER(const smcr_ecn_ce_t *, ce)   /* the packet has the ECN codepoint CE */ \
    MEMBER(const smcr_rdma_flow_t *, rdma) /* not of a link: the flow that the packet is in */

#define SMCR_RECORD_DECLARE_ALWAYS(type, name, width, value) type name width;
#define SMCR_RECORD_DECLARE_SOMETIMES(type, name) type name;
#define SMCR_RECORD_VALUE(type, name, width, value) .always.name = (value),

typedef struct {
    SMCR_RECORD_ALWAYS(SMCR_RECORD_DECLARE_ALWAYS)
} smcr_record_always_t;

typedef struct {
    union {
        smcr_record_always_t always;
        struct {
            SMCR_RECORD_ALWAYS(SMCR_RECORD_DECLARE_ALWAYS)
        };
    };
    SMCR_RECORD_ENTRIES(SMCR_RECORD_DECLARE_SOMETIMES)
    SMCR_RECORD_SOMETIMES(SMCR_RECORD_DECLARE_SOMETIMES)
    smcr_record_wait_t acks; /* ACK: the packet that it answers; how long that took, unless it was
                                acknowledged before. A record keeps of it what is not zero */
    uint64_t since; /* of one of a connection: as smcr_conn_pass() says, likewise */
} smcr_record_t;

/* A record that knows nothing; made in place, since it is large. */
static inline void
smcr_record_begin(smcr_record_t *record)
{
    *record = (smcr_record_t){SMCR_RECORD_ALWAYS(SMCR_RECORD_VALUE)};
}

static inline smcr_record_t
smcr_record_new(void)
{
    smcr_record_t record;

    smcr_record_begin(&record);
    return record;
}

static inline bool
smcr_record_has_event(const smcr_record_t *record, smcr_event_id_t id)
{
    const smcr_event_t *event = record->events;

    while (event && event->id != id)
        event = event->next;
    return event != NULL;
}

/* The network has overtaken the packet: it comes late, and its sender did not retransmit it. */
static inline bool
smcr_record_is_out_of_order(const smcr_record_t *record)
{
    return record->order == SMCR_FLOW_IS_LATE &&
           !(record->step && record->step->cause != SMCR_CAUSE_NONE);
}

/* How long the answer took, nanoseconds; 0 where the capture's clock goes back in between. The
 * exchange must be answered, and its request not `sent_before`. */
static inline uint64_t
smcr_exchange_time(const smcr_exchange_t *exchange)
{
    return exchange->response_time > exchange->request_time
               ? exchange->response_time - exchange->request_time : 0;
}

/* Adds what is known of the link now; `sender` is a side of it. */
static inline void
smcr_record_set_link(smcr_record_t *record, smcr_link_t *link, int sender)
{
    record->link = link;
    record->sender = (int8_t)sender;
    record->direction = (int8_t)smcr_conn_direction(link->lgr, sender);
    record->lgr_proven = link->lgr->index != SMCR_LGR_NO_INDEX;
    record->sender_known = link->qp[sender].known;
    record->receiver_known = link->qp[!sender].known;
    record->has_number = link->has_number;
}

#define SMCR_RECORD_OUTERMOST UINT16_MAX

/* The record that was kept, or the first one of the frame. Returns false when there is none;
 * `record` is then not changed. */
bool smcr_record_find(const smcr_state_t *state, uint32_t frame, uint16_t layer,
                      smcr_record_t *record);

/* Completes the record with what has turned out since its packet went by: the connection, and which
 * link it is, of a WRITE that came before anything named them, and so of its acknowledgement.
 * `is_late` says that the connection was not known then. Late answers are looked up here and in
 * smcr_place_piece() only. */
void smcr_record_complete(const smcr_state_t *state, smcr_record_t *record);

/* The heuristics are not asked about the bytes of this WRITE packet, in no pass. */
static inline void
smcr_place_set_unasked(smcr_place_t *place)
{
    place->is_unasked = true;
}

/* The piece of the byte stream that a WRITE packet carries, as far as is known now. */
smcr_stream_piece_t smcr_place_piece(const smcr_place_t *place);

/* The rarely set members; NULL: none is set. */
static inline const smcr_place_rare_t *
smcr_place_rare(const smcr_place_t *place)
{
    return smcr_slab_beside(place, place->more);
}

static inline const smcr_record_cdc_rare_t *
smcr_record_cdc_rare(const smcr_record_cdc_t *view)
{
    return smcr_slab_beside(view, view->more);
}

/* What turns out later about a packet that came too early; NULL: this one did not. */
static inline smcr_place_late_t *
smcr_place_late(const smcr_place_t *place)
{
    const smcr_place_rare_t *more = smcr_place_rare(place);

    return more ? more->late : NULL;
}

/* Space that is left in the receiver's element, if its size is known. */
static inline uint32_t
smcr_record_cdc_free(const smcr_record_cdc_t *view)
{
    return view->unread < view->size ? view->size - view->unread : 0;
}

/* ---- what makes records ---- */

/* Where bytes of a TCP connection are, in numbers as Wireshark counts them. */
typedef struct {
    uint32_t first, end; /* of the first byte, and of the one behind the last */
    uint32_t taken;      /* the sender had taken in what is before it, of the other direction */
    bool has_syns;       /* the capture has SYN and SYN-ACK */
    bool has_fin;        /* the FIN of the other direction has come; it has a number, too */
} smcr_arrival_span_t;

/* A packet, or a message of TCP's byte stream, on its way through the state. */
typedef struct {
    smcr_state_t *state;
    const smcr_ib_headers_t *roce; /* headers of the packet; NULL: of TCP, or the packet has gone
                                      by */
    const smcr_arrival_span_t *span; /* of TCP: its bytes; NULL: not known */
    smcr_qp_t *qp;         /* the queue pair that receives it; NULL: none that is known */
    smcr_psn_t psn;          /* with `qp` */
    smcr_when_t when;
    bool replaces;           /* its PSN was sent before, but with wrong ICRCs only */
    smcr_when_t sent;        /* first of all; frame 0 where that is not known */
    uint16_t vlan;           /* 0: none, or not known */
    uint16_t layer;          /* tells the packets of a frame apart */
    smcr_record_t *record;   /* gets what is found out about the packet */
} smcr_arrival_t;

/* Who sends a CLC message, or the bytes behind CLC: 0 client, 1 server. */
static inline unsigned
smcr_arrival_role(const smcr_arrival_t *arrival)
{
    return arrival->record->direction == 1;
}

/* A message is sent with what arrives: says so, and will say when it is acknowledged. */
void smcr_arrival_track(const smcr_arrival_t *arrival, smcr_link_sent_message_t *message);

/* Keeps the record, once the first pass has learned the packet: `layer` of its frame. */
void smcr_record_keep(const smcr_arrival_t *arrival, uint16_t layer);

/* Tells the user something about the packet; `format` may be NULL. Returns what it has kept. */
smcr_event_t *smcr_event_add(const smcr_arrival_t *arrival, smcr_event_id_t id,
                             const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* How long the reader's buffer was full since this message, and the frame that ends it: part
 * `buffer_full_s` of docs/report.md. Known in the second pass. */
smcr_record_wait_t smcr_record_cdc_wait(const smcr_record_cdc_t *view);

/* The rarely set members, allocated when they are first asked for. */
smcr_place_rare_t *smcr_place_make_rare(smcr_state_t *state, smcr_place_t *place);
smcr_record_cdc_rare_t *smcr_record_cdc_make_rare(smcr_state_t *state, smcr_record_cdc_t *view);

/* ---- LLC requests of a link group, and what their responses are found by (RFC 7609 3.3, 3.5.5,
 * A.3) ---- */

/* An LLC message, and the link that carries it. */
typedef struct {
    const smcr_arrival_t *arrival;
    const smcr_llc_t *llc;
    uint8_t type;    /* enum smcr_llc_type, of version 1 */
    uint32_t key;    /* that the response repeats; 0 where the message has none, or is taken in */
    smcr_qp_t *from, *to;
    int side;        /* that sends it: of `from` */
    smcr_link_t *link;
    smcr_lgr_t *lgr;
    bool response;
    bool requested;  /* a response that is taken in: the capture has its request */
    bool by_server;  /* the server sends it, as far as was known when it came */
    bool all_links;  /* DELETE LINK: it says so */
    bool rejects;    /* a response to ADD LINK: it does */
} smcr_exchange_message_t;

/* A request of a link group. */
typedef struct {
    smcr_exchange_t exchange;
    const smcr_when_t *acked; /* by the adapter of its responder; NULL: the capture has no such
                                 acknowledgement so far */
    smcr_point_t asked;    /* in the flow to its responder: itself */
    smcr_point_t answered; /* in the flow of its responder, when it came */
    struct smcr_rules_links_exchange *rules; /* what rules remember of it; NULL: nothing */
    uint32_t key;      /* tells requests of one type apart: RKey, link number, hash of user data */
    uint8_t type;      /* enum smcr_llc_type, of version 1 */
    int8_t requester;  /* side */
    bool rejected;     /* its response says so */
    bool orderly;      /* DELETE LINK: there is no hurry */
} smcr_exchange_request_t;

/* Whether messages of the type, of version 1, change links of the group. */
static inline bool
smcr_exchange_changes_links(uint8_t type)
{
    return type == SMCR_LLC_ADD_LINK || type == SMCR_LLC_DELETE_LINK;
}

/* The same for keys of RMBs. */
static inline bool
smcr_exchange_changes_rkeys(uint8_t type)
{
    return type == SMCR_LLC_CONFIRM_RKEY || type == SMCR_LLC_DELETE_RKEY;
}

/* ---- bytes of RDMA WRITE packets that are held, until a later frame proves that their
 * receiver has taken them in, and whose they are. That frame hands them to the application's
 * dissectors: so these get each byte once, in the receiver's order, in every pass ---- */

/* A packet whose bytes are held. */
struct smcr_held {
    smcr_place_t *place;
    uint32_t frame;      /* that has the packet */
    uint32_t within;     /* offset of the packet in its request, bytes */
    uint32_t length;     /* of `bytes`; 0: the capture has cut them, or too many are held */
    uint8_t *bytes;
    uint32_t handed_in;  /* the frame that hands them on; 0: none yet */
    int8_t sender;       /* side of the link group; with `handed_in` */
    smcr_conn_t *conn;   /* with `handed_in` */
    bool flips;          /* as the connection did then: `sender` is a side of that */
    smcr_held_t *next;   /* of its request */
};

/* The packet's bytes are to be held, or are already. */
smcr_held_t *smcr_held_new(const smcr_arrival_t *arrival, uint32_t within);

/* Those of its request, the one with the highest offset first, since packets come in order; of two
 * with the same offset the newer one stays. */
void smcr_held_insert(smcr_held_t **request, smcr_held_t *held);

/* Turns these round: returns the one with the lowest offset; NULL: there are none. */
smcr_held_t *smcr_held_first(smcr_held_t *request);

/* These are the bytes. First pass, in the packet's own frame. */
void smcr_held_fill(smcr_state_t *state, smcr_held_t *held, const uint8_t *bytes, uint32_t length);

/* Nobody will ask for them: their packet was retransmitted. */
void smcr_held_drop(smcr_state_t *state, smcr_place_t *place);

/* The frame that is learned from hands them on, behind those that it has handed on before: they are
 * of `conn`, and the side `sender` has written them. */
void smcr_held_hand_on(const smcr_arrival_t *arrival, smcr_held_t *held, smcr_conn_t *conn,
                       int sender);

/* Those that a packet hands on, in order, as pointers to smcr_held_t; NULL: it hands on none. */
wmem_array_t *smcr_held_of(const smcr_state_t *state, uint32_t frame, uint16_t layer);
